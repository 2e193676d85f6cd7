/* What the nodes of a run took. A recorder copies names, so that what it gives outlives session and graph. */
#include "base/text.h"
#include "train/graph/graph_internal.h"

#include <headrace/io.h>
#include <inttypes.h>
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

static void write_text(hr__text *to, const char *key, const char *text)
{
    hr__text_printf(to, ",\"%s\":", key);
    hr__text_json(to, text, strlen(text));
}

static void write_node(hr__text *to, const hr_node_stats *node)
{
    hr__text_printf(to, "{\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f", node->thread,
                    (double)node->begin / 1e3, (double)(node->end - node->begin) / 1e3);
    write_text(to, "name", node->op);
    hr__text_printf(to, ",\"cat\":\"Op\",\"args\":{\"bytes\":%" PRId64, node->bytes);
    write_text(to, "name", node->name);
    if (*node->calls) write_text(to, "calls", node->calls);
    if (*node->function) write_text(to, "function", node->function);
    hr__text_add(to, "}},\n");
}

static void write_threads(hr__text *to, const hr_run_stats *stats)
{
    int threads = 1;
    for (int64_t i = 0; i < stats->count; i++)
        if (stats->nodes[i].thread >= threads) threads = stats->nodes[i].thread + 1;
    for (int i = 0; i < threads; i++)
        hr__text_printf(to,
                        "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":%d,\"args\":{\"name\":\"%s %d\"}},\n",
                        i, i == 0 ? "caller" : "worker", i);
    hr__text_printf(to,
                    "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,\"args\":{\"name\":\"headrace\"}}],\n"
                    "\"otherData\":{\"nodes_left_out\":%" PRId64 "}}\n",
                    stats->left_out);
}

hr_status hr_run_stats_trace(const hr_run_stats *stats, const char *path, hr_error *err)
{
    hr__text text = {0};
    hr_output *out = NULL;
    if (!stats || !path)
        return hr_fail(err, HR_INVALID_ARGUMENT, "session.stats",
                       "a trace: expected what a run took and a path, got %s", stats ? "no path" : "NULL");
    hr__text_add(&text, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
    for (int64_t i = 0; i < stats->count; i++) write_node(&text, &stats->nodes[i]);
    write_threads(&text, stats);
    hr_status st = hr__text_status(&text, "a trace", err);
    if (st == HR_OK)
        st = hr_output_open_with(path, &(hr_output_opts){.no_sync = true, .compression = HR_NONE}, &out, err);
    if (st == HR_OK) st = hr_output_write(out, text.data, text.size, err);
    if (st == HR_OK)
        st = hr_output_commit(out, err);
    else if (out)
        hr_output_discard(out);
    hr__text_free(&text);
    return st;
}
