/* Spans of time of threads, kept in memory, some words each, and written as Chrome's trace format: chrome://tracing and
 * Perfetto show a lane for each thread. All times are of one clock, so what several parts of a program did lies side by
 * side. */
#include "io/trace.h"
#include "base/hash_map.h"
#include "base/text.h"

#include <inttypes.h>
#include <uv.h>

enum { MOST = 1 << 20 /* spans; what comes later is counted only */ };

typedef struct span {
    uint64_t begin, end;
    int64_t number, number2;
    int32_t kind;
    int16_t thread;
} span;

typedef struct span_kind {
    char *head; /* the fields of all its spans, and the beginning of their arguments */
    const char *key, *key2;
    bool first; /* its number is the first argument */
} span_kind;

struct hr_trace {
    uv_mutex_t lock;
    uint64_t started;
    span *spans;
    int64_t count, capacity, dropped;
    span_kind *kinds;
    int32_t kind_count, kind_capacity;
    hr__map by_head; /* of kinds: to the index */
    bool failed;     /* for lack of memory */
};

hr_trace *hr__trace_begin(uint64_t started)
{
    hr_trace *t = hr_calloc(1, sizeof *t);
    if (!t) return NULL;
    t->started = started;
    if (uv_mutex_init(&t->lock) == 0) return t;
    hr_free(t);
    return NULL;
}

hr_trace *hr_trace_new(void) { return hr__trace_begin(uv_hrtime()); }

void hr_trace_free(hr_trace *t)
{
    if (!t) return;
    for (int32_t i = 0; i < t->kind_count; i++) hr_free(t->kinds[i].head);
    hr__map_free(&t->by_head);
    hr_free(t->kinds);
    hr_free(t->spans);
    uv_mutex_destroy(&t->lock);
    hr_free(t);
}

/* ---- adding ---- */

static char *kind_head(const hr__span_kind *kind)
{
    hr__text text = {0};
    hr__text_add(&text, "\"name\":");
    hr__text_json(&text, kind->name, strlen(kind->name));
    hr__text_add(&text, ",\"cat\":");
    hr__text_json(&text, kind->category, strlen(kind->category));
    hr__text_printf(&text, ",\"args\":{%s", kind->args);
    if (hr__text_status(&text, "a trace", NULL) == HR_OK) return hr__text_take(&text);
    hr__text_free(&text);
    return NULL;
}

/* Takes `head`. Under the lock. */
static int32_t new_kind(hr_trace *t, char *head, const hr__span_kind *kind)
{
    if (t->kind_count == t->kind_capacity) {
        const int32_t capacity = t->kind_capacity ? 2 * t->kind_capacity : 32;
        span_kind *grown = hr_realloc(t->kinds, (size_t)capacity * sizeof *grown);
        if (grown) t->kinds = grown;
        if (grown) t->kind_capacity = capacity;
    }
    if (t->kind_count == t->kind_capacity ||
        hr__map_add(&t->by_head, head, strlen(head), t->kind_count, NULL) != HR_OK) {
        hr_free(head);
        return -1;
    }
    t->kinds[t->kind_count] = (span_kind){head, kind->key, kind->key2, kind->args[0] == '\0'};
    return t->kind_count++;
}

int32_t hr__trace_kind(hr_trace *t, const hr__span_kind *kind)
{
    char *head = kind_head(kind);
    if (!head) return -1;
    uv_mutex_lock(&t->lock);
    int32_t number = hr__map_index(&t->by_head, head);
    if (number >= 0)
        hr_free(head);
    else
        number = new_kind(t, head, kind);
    uv_mutex_unlock(&t->lock);
    return number;
}

/* Under the lock. */
static bool trace_grow(hr_trace *t)
{
    if (t->count < t->capacity) return true;
    const int64_t capacity = t->capacity ? 2 * t->capacity : 1024;
    span *grown = hr_realloc(t->spans, (size_t)capacity * sizeof *grown);
    t->failed |= !grown;
    if (!grown) return false;
    t->spans = grown;
    t->capacity = capacity;
    return true;
}

void hr__trace_add(hr_trace *t, int32_t kind, int thread, uint64_t begin, uint64_t end, int64_t number, int64_t number2)
{
    uv_mutex_lock(&t->lock);
    t->failed |= kind < 0;
    if (t->count == MOST)
        t->dropped++;
    else if (kind >= 0 && trace_grow(t))
        t->spans[t->count++] = (span){begin, end, number, number2, kind, (int16_t)thread};
    uv_mutex_unlock(&t->lock);
}

void hr__trace_dropped(hr_trace *t, int64_t count)
{
    uv_mutex_lock(&t->lock);
    t->dropped += count;
    uv_mutex_unlock(&t->lock);
}

/* ---- writing ---- */

static void write_span(hr__text *to, const hr_trace *t, const span *s)
{
    const span_kind *kind = &t->kinds[s->kind];
    hr__text_printf(to, "{\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,%s", s->thread,
                    (double)(int64_t)(s->begin - t->started) / 1e3, (double)(s->end - s->begin) / 1e3, kind->head);
    if (kind->key) hr__text_printf(to, "%s\"%s\":%" PRId64, kind->first ? "" : ",", kind->key, s->number);
    if (kind->key2) hr__text_printf(to, ",\"%s\":%" PRId64, kind->key2, s->number2);
    hr__text_add(to, "}},\n");
}

static void write_threads(hr__text *to, const hr_trace *t)
{
    int threads = 1;
    for (int64_t i = 0; i < t->count; i++)
        if (t->spans[i].thread >= threads) threads = t->spans[i].thread + 1;
    for (int i = 0; i < threads; i++) {
        hr__text_printf(to, "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":%d,\"args\":{\"name\":\"", i);
        if (i == 0) hr__text_add(to, "caller");
        if (i != 0) hr__text_printf(to, "worker %d", i);
        hr__text_add(to, "\"}},\n");
    }
    hr__text_printf(to,
                    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"headrace\"}}],\n"
                    "\"otherData\":{\"events_dropped\":%" PRId64 "}}\n",
                    t->dropped);
}

static hr_status trace_save(const char *path, const hr__text *text, hr_error *err)
{
    hr_output *out;
    HR_TRY(hr_output_open_with(path, &(hr_output_opts){.no_sync = true, .compression = HR_NONE}, &out, err));
    hr_status st = hr_output_write(out, text->data, text->size, err);
    if (st == HR_OK) return hr_output_commit(out, err);
    hr_output_discard(out);
    return st;
}

hr_status hr_trace_write(hr_trace *t, const char *path, hr_error *err)
{
    hr__text text = {0};
    if (!t || !path)
        return hr_fail(err, HR_INVALID_ARGUMENT, "trace.argument", "a trace: expected a trace and a path, got %s",
                       t ? "no path" : "NULL");
    uv_mutex_lock(&t->lock);
    hr__text_add(&text, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
    for (int64_t i = 0; i < t->count; i++) write_span(&text, t, &t->spans[i]);
    write_threads(&text, t);
    hr_status st = t->failed ? hr_no_memory(err, "a trace") : hr__text_status(&text, "a trace", err);
    uv_mutex_unlock(&t->lock);
    if (st == HR_OK) st = trace_save(path, &text, err);
    hr__text_free(&text);
    return st;
}
