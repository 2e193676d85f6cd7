/* A run as spans of a trace: what each thread planned and worked on, and when the caller waited. A file of its own is
 * written when the iterator is freed. */
#include "data/exec/trace.h"
#include "base/text.h"
#include "io/trace.h"
#include <string.h>

/* What the spans of a stage are called. */
typedef struct stage_kinds {
    char *stage;
    int32_t plan, work;
} stage_kinds;

struct trace {
    hr_trace *spans;
    char *path; /* of a trace of its own; NULL: it is the caller's */
    stage_kinds *kinds;
    int stages;
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

/* The same stage is met again and again: by its name, for stages come and go. */
static stage_kinds kinds_of(trace *t, const char *stage)
{
    for (int i = 0; i < t->stages; i++)
        if (strcmp(t->kinds[i].stage, stage) == 0) return t->kinds[i];
    const stage_kinds none = {NULL, -1, -1};
    stage_kinds *grown = hr_realloc(t->kinds, ((size_t)t->stages + 1) * sizeof *grown);
    if (!grown) return none;
    t->kinds = grown;
    grown[t->stages] =
        (stage_kinds){hr_strdup(stage), trace_kind_of(t, "plan", stage), trace_kind_of(t, "work", stage)};
    return grown[t->stages].stage ? grown[t->stages++] : none;
}

void hr__trace_unit(trace *t, const trace_unit *u)
{
    const stage_kinds kinds = kinds_of(t, u->stage);
    hr__trace_add(t->spans, kinds.plan, u->thread, u->start, u->planned, u->number, u->rows);
    hr__trace_add(t->spans, kinds.work, u->thread, u->planned, u->done, u->number, u->rows);
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
    for (int i = 0; i < t->stages; i++) hr_free(t->kinds[i].stage);
    hr_free(t->kinds);
    hr_free(t->path);
    hr_free(t);
}
