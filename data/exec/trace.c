/* A run as a Chrome trace: what each thread planned and worked on, and when the caller waited. Kept in memory, a few
 * words a unit, and written when the iterator is freed: chrome://tracing and Perfetto read it. */
#include "data/exec/trace.h"
#include "base/text.h"
#include <headrace/io.h>
#include <inttypes.h>
#include <string.h>

enum { MAX_EVENTS = 1 << 20 /* what comes later is counted only */, NAME = 120 };

typedef struct event {
    uint64_t start, end;
    int64_t unit, rows;
    int32_t name; /* -1: the caller waits */
    int16_t thread;
    bool work; /* not plan */
} event;

struct trace {
    char *path;
    uint64_t started;
    event *event;
    int64_t events, capacity, dropped;
    char (*name)[NAME];
    int32_t names;
};

trace *hr__trace_new(const char *path, uint64_t started)
{
    trace *t = hr_calloc(1, sizeof *t);
    if (!t) return NULL;
    t->started = started;
    t->path = hr_strdup(path);
    if (t->path) return t;
    hr_free(t);
    return NULL;
}

static int32_t number_of(trace *t, const char *name)
{
    int32_t n = 0;
    while (n < t->names && strcmp(t->name[n], name) != 0) n++;
    if (n < t->names) return n;
    char(*grown)[NAME] = hr_realloc(t->name, ((size_t)n + 1) * sizeof *grown);
    if (!grown) return -1;
    t->name = grown;
    strncpy(t->name[n], name, NAME - 1);
    t->name[n][NAME - 1] = '\0';
    t->names++;
    return n;
}

static void trace_add(trace *t, event e)
{
    if (t->events == t->capacity) {
        const int64_t capacity = t->capacity ? 2 * t->capacity : 1024;
        event *grown = capacity > MAX_EVENTS ? NULL : hr_realloc(t->event, (size_t)capacity * sizeof *grown);
        t->dropped += grown == NULL;
        if (!grown) return;
        t->event = grown;
        t->capacity = capacity;
    }
    t->event[t->events++] = e;
}

void hr__trace_unit(trace *t, const trace_unit *u)
{
    const int32_t name = number_of(t, u->stage);
    if (name < 0) return;
    const int16_t thread = (int16_t)u->thread;
    trace_add(t, (event){u->start, u->planned, u->number, u->rows, name, thread, false});
    trace_add(t, (event){u->planned, u->done, u->number, u->rows, name, thread, true});
}

void hr__trace_wait(trace *t, uint64_t from, uint64_t to) { trace_add(t, (event){from, to, 0, 0, -1, 0, false}); }

/* ---- writing ---- */

static void write_event(hr__text *to, const trace *t, const event *e)
{
    const char *what = e->name < 0 ? "wait" : e->work ? "work" : "plan";
    hr__text_printf(to, "{\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"name\":\"%s\"", e->thread,
                    (double)(e->start - t->started) / 1e3, (double)(e->end - e->start) / 1e3, what);
    if (e->name >= 0) {
        hr__text_add(to, ",\"cat\":");
        hr__text_json(to, t->name[e->name], strlen(t->name[e->name]));
        hr__text_printf(to, ",\"args\":{\"stage\":");
        hr__text_json(to, t->name[e->name], strlen(t->name[e->name]));
        hr__text_printf(to, ",\"unit\":%" PRId64 ",\"rows\":%" PRId64 "}", e->unit, e->rows);
    }
    hr__text_add(to, "},\n");
}

static void write_all(hr__text *to, const trace *t)
{
    int threads = 1;
    for (int64_t i = 0; i < t->events; i++)
        if (t->event[i].thread >= threads) threads = t->event[i].thread + 1;
    hr__text_add(to, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
    for (int64_t i = 0; i < t->events; i++) write_event(to, t, &t->event[i]);
    for (int thread = 0; thread < threads; thread++) {
        hr__text_printf(to, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":%d,\"args\":{\"name\":\"",
                        thread);
        if (thread == 0) hr__text_add(to, "caller");
        if (thread != 0) hr__text_printf(to, "worker %d", thread);
        hr__text_add(to, "\"}},\n");
    }
    hr__text_printf(to,
                    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"headrace\"}}],\n"
                    "\"otherData\":{\"events_dropped\":%" PRId64 "}}\n",
                    t->dropped);
}

static hr_status save(const char *path, const hr__text *text, hr_error *err)
{
    hr_output *out;
    HR_TRY(hr_output_open_with(path, &(hr_output_opts){.no_sync = true, .compression = HR_NONE}, &out, err));
    hr_status st = hr_output_write(out, text->data, text->size, err);
    if (st == HR_OK) return hr_output_commit(out, err);
    hr_output_discard(out);
    return st;
}

void hr__trace_close(trace *t)
{
    if (!t) return;
    hr_error err;
    hr__text text = {0};
    write_all(&text, t);
    hr_status st = hr__text_status(&text, "a trace", &err);
    if (st == HR_OK) st = save(t->path, &text, &err);
    if (st != HR_OK) hr_log_message(HR_WARNING, "the trace was not written: %s", err.text);
    hr__text_free(&text);
    hr_free(t->path);
    hr_free(t->event);
    hr_free(t->name);
    hr_free(t);
}
