/* SecondOrStepTimer: due at first, never twice at one step. */
#include <headrace/hooks.h>

bool hr_timer_due(const hr_timer *t, int64_t step, double now)
{
    if (!t) return false;
    if (!t->triggered) return true;
    if (step == t->last_step) return false;
    if (t->every_secs > 0) return now >= t->last_time + t->every_secs;
    return t->every_steps > 0 && step - t->last_step >= t->every_steps;
}

bool hr_timer_update(hr_timer *t, int64_t step, double now, double *seconds, int64_t *steps)
{
    if (!t) return false;
    bool again = t->triggered;
    if (again && seconds) *seconds = now - t->last_time;
    if (again && steps) *steps = step - t->last_step;
    t->triggered = true;
    t->last_step = step;
    t->last_time = now;
    return again;
}

hr_status hr_timer_check(const hr_timer *t, const char *hook, hr_error *err)
{
    if (!t) return hr_fail(err, HR_INVALID_ARGUMENT, "hooks.argument", "hook: expected a timer, got NULL");
    if (t->every_secs >= 0 && t->every_steps >= 0 && (t->every_secs > 0) != (t->every_steps > 0)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "hooks.interval",
                   "%s: expected an interval above 0, in steps or in seconds, got %lld steps and %g seconds",
                   hook ? hook : "hook", (long long)t->every_steps, t->every_secs);
}
