/* A run as spans of a trace: what each thread planned and worked on, and when the caller waited. A file of its own is
 * written when the iterator is freed. */
#include "data/exec/trace.h"
#include "base/text.h"
#include "io/trace.h"
#include <string.h>

struct trace {
    hr_trace *spans;
    char *path; /* of a trace of its own; NULL: it is the caller's */
};

trace *hr__trace_open(const char *path, hr_trace *into, uint64_t started)
{
    trace *t = hr_calloc(1, sizeof *t);
    if (!t) return NULL;
    t->path = into ? NULL : hr_strdup(path);
    t->spans = into ? into : hr__trace_begin(started);
    if (t->spans && (into || t->path)) return t;
    if (!into) hr_trace_free(t->spans);
    hr_free(t->path);
    hr_free(t);
    return NULL;
}

static int32_t trace_kind_of(trace *t, const char *what, const char *stage)
{
    hr__text args = {0};
    int32_t kind = -1;
    hr__text_add(&args, "\"stage\":");
    hr__text_json(&args, stage, strlen(stage));
    if (hr__text_status(&args, "a trace", NULL) == HR_OK)
        kind = hr__trace_kind(t->spans, &(hr__span_kind){what, stage, args.data, "unit", "rows"});
    hr__text_free(&args);
    return kind;
}

void hr__trace_unit(trace *t, const trace_unit *u)
{
    const int32_t plan = trace_kind_of(t, "plan", u->stage), work = trace_kind_of(t, "work", u->stage);
    hr__trace_add(t->spans, plan, u->thread, u->start, u->planned, u->number, u->rows);
    hr__trace_add(t->spans, work, u->thread, u->planned, u->done, u->number, u->rows);
}

void hr__trace_wait(trace *t, uint64_t from, uint64_t to)
{
    const hr__span_kind wait = {.name = "wait", .category = "wait", .args = ""};
    hr__trace_add(t->spans, hr__trace_kind(t->spans, &wait), 0, from, to, 0, 0);
}

void hr__trace_close(trace *t)
{
    hr_error err;
    if (!t) return;
    if (t->path && hr_trace_write(t->spans, t->path, &err) != HR_OK)
        hr_log_message(HR_WARNING, "the trace was not written: %s", err.text);
    if (t->path) hr_trace_free(t->spans);
    hr_free(t->path);
    hr_free(t);
}
