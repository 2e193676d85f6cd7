/* One run of a session: among those under way, where a cancel finds it, with its time and memory. A run looks at the
 * clock itself, before each step and each call of a function: a time-out needs no thread. */
#include "train/graph/graph_internal.h"

#include <math.h>
#include <time.h>

enum { LONGEST = 1000000000 /* seconds; more is as much as no time-out */ };

static hr_status check_options(double timeout, int64_t memory_limit, hr_error *err)
{
    if (!(timeout >= 0))
        return hr_fail(err, HR_INVALID_ARGUMENT, "session.options",
                       "session: expected .timeout >= 0, in seconds, got %g; for none where the session has one, "
                       "give INFINITY",
                       timeout);
    if (memory_limit >= 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "session.options", "session: expected .memory_limit >= 0, got %lld",
                   (long long)memory_limit);
}

static hr_status equip(hr__run *run, int64_t memory_limit, bool stats, hr_error *err)
{
    if (run->timeout > 0 && run->timeout < LONGEST) run->deadline = uv_hrtime() + (uint64_t)(run->timeout * 1e9);
    if (memory_limit > 0) run->budget = hr__budget_new((size_t)memory_limit);
    if (stats) run->recorder = hr__recorder_new();
    if ((memory_limit == 0 || run->budget) && (!stats || run->recorder)) return HR_OK;
    hr__budget_drop(run->budget);
    if (run->recorder) hr__recorder_end(run->recorder, NULL, NULL);
    return hr_no_memory(err, "a run");
}

hr_status hr__run_begin(hr__run *run, hr_session *s, const hr_run_opts *opts, hr_error *err)
{
    *run = (hr__run){.session = s, .alone = opts->alone, .timeout = opts->timeout != 0 ? opts->timeout : s->timeout};
    const int64_t memory_limit = opts->memory_limit ? opts->memory_limit : s->memory_limit;
    HR_TRY(check_options(run->timeout, memory_limit, err));
    HR_TRY(equip(run, memory_limit, opts->stats, err));
    run->profile = opts->profile;
    if (run->profile) run->began = uv_hrtime();
    uv_mutex_lock(&s->lock);
    run->cancelled = s->cancel_next;
    atomic_init(&run->stop, s->cancel_next);
    s->cancel_next = false;
    run->next = s->runs;
    s->runs = run;
    uv_mutex_unlock(&s->lock);
    return HR_OK;
}

/* The clock that only ticks takes a fifth of the time: asked before each node, it tells when there is time enough. */
static bool is_far(uint64_t deadline)
{
    enum { TICK = 20 * 1000 * 1000 };
    struct timespec t;
    if (clock_gettime(CLOCK_MONOTONIC_COARSE, &t) != 0) return false;
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec + TICK < deadline;
}

bool hr__run_is_late(hr__run *run)
{
    if (is_far(run->deadline) || uv_hrtime() < run->deadline) return false;
    atomic_store_explicit(&run->late, true, memory_order_relaxed);
    atomic_store_explicit(&run->stop, true, memory_order_release);
    return true;
}

/* What happened before the run was cancelled, or late, stays; nothing is given. */
static hr_status why_it_ended(hr__run *run, hr_error *err)
{
    if (run->cancelled) return hr_fail(err, HR_CANCELLED, "session.cancelled", "session: the run was cancelled");
    if (!run->deadline || !(atomic_load(&run->late) || hr__run_is_late(run))) return HR_OK;
    return hr_fail(err, HR_DEADLINE_EXCEEDED, "session.timeout", "session: the run took longer than its %g seconds",
                   run->timeout);
}

hr_status hr__run_end(hr__run *run, const hr_run_opts *opts, hr_status st, hr_error *err)
{
    hr_session *s = run->session;
    hr__run **at = &s->runs;
    uv_mutex_lock(&s->lock);
    while (*at != run) at = &(*at)->next;
    *at = run->next;
    uv_mutex_unlock(&s->lock);
    if (st == HR_OK) st = why_it_ended(run, err);
    hr__budget_drop(run->budget);
    if (run->profile) hr__profile_run(run->profile, s, run->began);
    if (!run->recorder) return st;
    const hr_status recorded = hr__recorder_end(run->recorder, opts->stats, st == HR_OK ? err : NULL);
    return st == HR_OK ? recorded : st;
}
