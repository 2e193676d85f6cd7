/* Allocations that fail, one in each trial: what lacks memory says so, or gives the same; nothing leaks. */
#include "train/conformance/trial.h"

#include "conformance/allocations.h"

enum { MOST_FAILURES = 1000 };

/* The class of what failed; HR_OK: the results are in `digest`. */
static hr_status starve(trial *t, int64_t n, uint64_t *digest)
{
    hr_tensor out[MAX_FETCHES] = {{0}};
    hr_error err = {0};
    hr_status st = HR_RESOURCE_EXHAUSTED;
    hr__conformance_fail_allocation(n);
    const bool begun = hr__trial_begin(t, &t->plan);
    if (begun && hr_graph_error(t->g)) err = *hr_graph_error(t->g), st = err.code;
    if (begun && t->node.graph && !hr_graph_error(t->g))
        st = hr_session_run(t->s, t->feed, t->feeds, t->fetch, t->fetches, out, &err);
    hr__conformance_allocations();
    if (t->lacks_memory && n >= 0) {
        hr__trial_clear(t, out);
        return HR_RESOURCE_EXHAUSTED;
    }
    if (st == HR_OK) {
        hr__trial_digest(t, out, digest);
        hr__trial_clear(t, out);
    } else if (st != HR_RESOURCE_EXHAUSTED) {
        hr__trial_wrong(t, "conformance.memory", "expected ResourceExhausted where allocation %lld fails, got %s: %s",
                        (long long)n, hr_status_name(st), err.text);
    }
    return st;
}

hr_status hr__trial_starvation(const trial_plan *plan, int step, hr_error *err)
{
    trial t = {.plan = *plan};
    uint64_t want[MAX_FETCHES] = {0}, got[MAX_FETCHES] = {0};
    const int64_t before = hr__conformance_alive();
    t.plan.starving = true;
    bool works = starve(&t, -1, want) == HR_OK && hr__trial_is_repeatable(&t);
    const int64_t most = hr__conformance_allocations();
    HR_TRY(hr__trial_answer(&t, err));
    for (int64_t n = 0; works && n < most && n < (int64_t)MOST_FAILURES * step; n += step) {
        const hr_status st = starve(&t, n, got);
        for (int i = 0; st == HR_OK && i < t.fetches; i++)
            if (got[i] != want[i])
                hr__trial_wrong(&t, "conformance.memory",
                                "expected an error or the same result %d where allocation %lld fails, got another", i,
                                (long long)n);
        HR_TRY(hr__trial_answer(&t, err));
        if (hr__conformance_alive() == before) continue;
        return hr_fail(err, HR_INTERNAL, "conformance.leak",
                       "%s: trial %lld: expected all memory to be freed where allocation %lld fails, got %lld "
                       "allocations that are left",
                       plan->op->name, (long long)plan->number, (long long)n,
                       (long long)(hr__conformance_alive() - before));
    }
    return HR_OK;
}
