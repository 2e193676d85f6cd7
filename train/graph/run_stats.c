/* What the nodes of a run took. A recorder copies names, so that what it gives outlives session and graph. */
#include "base/text.h"
#include "io/trace.h"
#include "train/graph/graph_internal.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 20 /* nodes */ };

/* All memory is the arena's but for the list of nodes. */
struct hr__recorder {
    hr_run_stats stats; /* first: it is what the user gets */
    hr__arena arena;
    hr_node_stats *nodes;
    int capacity;
    uint64_t started;
    uv_mutex_t lock; /* over all of it, until it ends */
    bool failed;
};

hr__recorder *hr__recorder_new(void)
{
    uv_timeval64_t now = {0};
    hr__recorder *r = hr_calloc(1, sizeof *r);
    if (!r) return NULL;
    if (uv_mutex_init(&r->lock) != 0) {
        hr_free(r);
        return NULL;
    }
    uv_gettimeofday(&now);
    r->stats.started = now.tv_sec * 1000000 + now.tv_usec;
    r->started = uv_hrtime();
    return r;
}

static const char *recorder_text(hr__recorder *r, const char *text)
{
    const char *copy = hr__arena_text(&r->arena, text, strlen(text));
    r->failed |= !copy;
    return copy;
}

/* What has no value has no type either. */
static int64_t output_bytes(const hr__frame *frame, const hr__step *step)
{
    int64_t bytes = 0;
    for (int i = 0; i < step->node->outputs; i++) {
        const hr_tensor *t = &frame->slots[step->first_output + i];
        if (t->data && t->dtype != HR_RESOURCE) bytes += t->count * (int64_t)hr_dtype_size(t->dtype);
    }
    return bytes;
}

void hr__recorder_add(hr__recorder *r, const hr__frame *frame, const hr__step *step, uint64_t begin, uint64_t end)
{
    const hr_function *function = frame->plan->function;
    uv_mutex_lock(&r->lock);
    if (r->stats.count == MOST) {
        r->stats.left_out++;
    } else if (!r->failed) {
        r->failed = hr__grow(&r->nodes, (int)r->stats.count, &r->capacity, sizeof *r->nodes, NULL) != HR_OK;
        const hr_node_stats node = {.name = recorder_text(r, step->node->name),
                                    .op = recorder_text(r, step->node->op->name),
                                    .function = recorder_text(r, function ? function->name : ""),
                                    .calls = frame->path,
                                    .begin = (int64_t)(begin - r->started),
                                    .end = (int64_t)(end - r->started),
                                    .thread = hr__pool_thread(),
                                    .bytes = output_bytes(frame, step)};
        if (!r->failed) r->nodes[r->stats.count++] = node;
    }
    uv_mutex_unlock(&r->lock);
}

const char *hr__recorder_path(hr__recorder *r, const hr__frame *caller, const hr__step *step)
{
    const size_t before = strlen(caller->path), name = strlen(step->node->name);
    uv_mutex_lock(&r->lock);
    char *path = hr__arena_get(&r->arena, before + name + 2);
    r->failed |= !path;
    uv_mutex_unlock(&r->lock);
    if (!path) return "";
    memcpy(path, caller->path, before);
    if (before) path[before] = ';';
    memcpy(path + before + (before > 0), step->node->name, name + 1);
    return path;
}

static int by_begin(const void *a, const void *b)
{
    const hr_node_stats *x = a, *y = b;
    return x->begin != y->begin ? (x->begin > y->begin) - (x->begin < y->begin) : (x->end < y->end) - (x->end > y->end);
}

hr_status hr__recorder_end(hr__recorder *r, hr_run_stats **stats, hr_error *err)
{
    r->stats.nanoseconds = (int64_t)(uv_hrtime() - r->started);
    r->stats.nodes = r->nodes;
    uv_mutex_destroy(&r->lock);
    const hr_status st = r->failed ? hr_no_memory(err, "the times of a run's nodes") : HR_OK;
    if (r->failed || !stats) {
        hr_run_stats_free(&r->stats);
        return st;
    }
    if (r->stats.count > 0) qsort(r->nodes, (size_t)r->stats.count, sizeof *r->nodes, by_begin);
    *stats = &r->stats;
    return HR_OK;
}

void hr_run_stats_free(hr_run_stats *stats)
{
    hr__recorder *r = (hr__recorder *)stats;
    if (!r) return;
    hr_free(r->nodes);
    hr__arena_free(&r->arena);
    hr_free(r);
}

/* ---- Chrome's trace format ---- */

static void write_argument(hr__text *to, const char *key, const char *text)
{
    hr__text_printf(to, "%s\"%s\":", to->size ? "," : "", key);
    hr__text_json(to, text, strlen(text));
}

/* Without memory it counts as dropped. */
static void trace_node(hr_trace *t, const hr_node_stats *node)
{
    hr__text args = {0};
    int32_t kind = -1;
    write_argument(&args, "name", node->name);
    if (*node->calls) write_argument(&args, "calls", node->calls);
    if (*node->function) write_argument(&args, "function", node->function);
    if (hr__text_status(&args, "a trace", NULL) == HR_OK)
        kind = hr__trace_kind(t, &(hr__span_kind){node->op, "Op", args.data, "bytes", NULL});
    hr__text_free(&args);
    hr__trace_add(t, kind, node->thread, (uint64_t)node->begin, (uint64_t)node->end, node->bytes, 0);
}

hr_status hr_run_stats_trace(const hr_run_stats *stats, const char *path, hr_error *err)
{
    if (!stats || !path)
        return hr_fail(err, HR_INVALID_ARGUMENT, "session.stats",
                       "a trace: expected what a run took and a path, got %s", stats ? "no path" : "NULL");
    hr_trace *t = hr__trace_begin(0);
    if (!t) return hr_no_memory(err, "a trace");
    for (int64_t i = 0; i < stats->count; i++) trace_node(t, &stats->nodes[i]);
    hr__trace_dropped(t, stats->left_out);
    const hr_status st = hr_trace_write(t, path, err);
    hr_trace_free(t);
    return st;
}
