/* Profiles, the measuring: for each plan that runs, what each of its steps took, over all runs. A step is counted by the
 * thread that runs it, without the calls that it makes, whose steps count themselves, and without its loop over pieces,
 * which count each, whichever thread does them. Names are copied, so that a profile outlives sessions and graphs. */
#include "train/graph/profile_internal.h"
#include "base/text.h"
#include "io/trace.h"

#include <string.h>

hr_profile *hr_profile_new_with(const hr_profile_opts *given)
{
    const hr_profile_opts opts = HR_OPTIONS(hr_profile_opts, given);
    hr_profile *p = hr_calloc(1, sizeof *p);
    if (!p) return NULL;
    p->trace = opts.trace;
    p->started = uv_hrtime();
    if (uv_mutex_init(&p->lock) == 0) return p;
    hr_free(p);
    return NULL;
}

static void profile_forget(hr_profile *p)
{
    hr__arena_free(&p->arena);
    hr__arena_free(&p->reported);
    p->plans = NULL;
    p->stages = 0;
    p->runs = p->input_waits = 0;
    p->run_ns = p->ended = 0;
    p->input_seconds = p->input_wait_seconds = 0;
    p->failed = false;
    p->threads = 1;
}

void hr_profile_free(hr_profile *p)
{
    if (!p) return;
    profile_forget(p);
    uv_mutex_destroy(&p->lock);
    hr_free(p);
}

void hr_profile_begin(hr_profile *p)
{
    if (!p) return;
    profile_forget(p);
    p->started = uv_hrtime();
}

hr_trace *hr_profile_trace(const hr_profile *p) { return p ? p->trace : NULL; }

/* ---- plans ---- */

static const char *profile_copy(hr_profile *p, const char *text)
{
    const char *copy = hr__arena_text(&p->arena, text, strlen(text));
    p->failed |= !copy;
    return copy ? copy : "";
}

static void profile_add_kinds(hr_profile *p, hr__profiled_step *step, const hr_function *function)
{
    hr__text args = {0};
    step->kind = step->piece = -1;
    hr__text_add(&args, "\"name\":");
    hr__text_json(&args, step->name, strlen(step->name));
    if (function) hr__text_add(&args, ",\"function\":");
    if (function) hr__text_json(&args, function->name, strlen(function->name));
    if (hr__text_status(&args, "a trace", NULL) == HR_OK) {
        step->kind = hr__trace_kind(p->trace, &(hr__span_kind){step->op, "Op", args.data, NULL, NULL});
        step->piece = hr__trace_kind(p->trace, &(hr__span_kind){step->op, "piece", args.data, NULL, NULL});
    }
    p->failed |= step->kind < 0 || step->piece < 0;
    hr__text_free(&args);
}

/* Under the lock. NULL: no memory. */
static hr__profiled *profile_add_plan(hr_profile *p, const hr__plan *plan)
{
    hr__profiled *q = hr__arena_get(&p->arena, sizeof *q);
    if (q) q->step = hr__arena_get(&p->arena, ((size_t)plan->step_count + 1) * sizeof *q->step);
    p->failed |= !q || !q->step;
    if (p->failed) return NULL;
    q->profile = p;
    q->plan = plan->serial;
    q->steps = plan->step_count;
    q->function = plan->function ? profile_copy(p, plan->function->name) : NULL;
    for (int i = 0; i < plan->step_count; i++) {
        q->step[i].name = profile_copy(p, plan->steps[i].node->name);
        q->step[i].op = profile_copy(p, plan->steps[i].node->op->name);
        if (p->trace) profile_add_kinds(p, &q->step[i], plan->function);
    }
    q->next = p->plans;
    p->plans = q;
    return q;
}

hr__profiled *hr__profile_plan(hr_profile *p, const hr__plan *plan)
{
    uv_mutex_lock(&p->lock);
    hr__profiled *q = p->plans;
    while (q && q->plan != plan->serial) q = q->next;
    if (!q) q = profile_add_plan(p, plan);
    uv_mutex_unlock(&p->lock);
    return q;
}

/* ---- steps and runs ---- */

void hr__profile_step(hr__profiled *q, int32_t index, uint64_t begin, int64_t elsewhere)
{
    hr__profiled_step *step = &q->step[index];
    const uint64_t end = uv_hrtime();
    atomic_fetch_add_explicit(&step->ns, (int64_t)(end - begin) - elsewhere, memory_order_relaxed);
    atomic_fetch_add_explicit(&step->count, 1, memory_order_relaxed);
    if (q->profile->trace) hr__trace_add(q->profile->trace, step->kind, hr__pool_thread(), begin, end, 0, 0);
}

void hr__profile_piece(hr__profiled *q, int32_t index, int by, uint64_t begin)
{
    hr__profiled_step *step = &q->step[index];
    const uint64_t end = uv_hrtime();
    const int thread = hr__pool_thread();
    atomic_fetch_add_explicit(&step->ns, (int64_t)(end - begin), memory_order_relaxed);
    if (q->profile->trace && thread != by) hr__trace_add(q->profile->trace, step->piece, thread, begin, end, 0, 0);
}

static int profile_threads(const hr_session *s)
{
    const int pool = s->inline_only ? 0 : hr_threads(), asked = s->client.max_workers;
    return 1 + (asked >= 0 && asked < pool ? asked : pool);
}

void hr__profile_run(hr_profile *p, const hr_session *s, uint64_t begin)
{
    uv_mutex_lock(&p->lock);
    const int threads = profile_threads(s);
    p->ended = uv_hrtime();
    p->run_ns += p->ended - begin;
    p->runs++;
    if (threads > p->threads) p->threads = threads;
    uv_mutex_unlock(&p->lock);
}

/* ---- the input ---- */

static void profile_add_stage(hr_profile *p, const hr_stage_stats *stage)
{
    int i = 0;
    while (i < p->stages && strcmp(p->stage[i].name, stage->name) != 0) i++;
    if (i == HR_MAX_STAGE_STATS) return;
    if (i == p->stages) {
        p->stage[p->stages++] = *stage;
        return;
    }
    p->stage[i].units += stage->units, p->stage[i].rows += stage->rows, p->stage[i].waits += stage->waits;
    p->stage[i].plan_seconds += stage->plan_seconds, p->stage[i].work_seconds += stage->work_seconds;
}

void hr_profile_add_input(hr_profile *p, hr_iterator *it)
{
    hr_iterator_stats stats;
    if (!p || !it) return;
    hr_iterator_stats_of(it, &stats);
    uv_mutex_lock(&p->lock);
    for (int i = 0; i < stats.stages; i++) profile_add_stage(p, &stats.stage[i]);
    p->input_waits += stats.waits;
    p->input_wait_seconds += stats.wait_seconds;
    p->input_seconds += stats.caller_seconds;
    if (stats.threads > p->threads) p->threads = stats.threads;
    uv_mutex_unlock(&p->lock);
}
