/* StepCounterHook: global_step/sec, into the log and the event file. The first trigger only arms it. */
#include "train/hooks/internal.h"

typedef struct step_counter {
    hr_timer timer;
    hr_summary_writer *writer; /* its own reference; NULL: logged only */
    int warned;
} step_counter;

static hr_status count_after_run(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    step_counter *s = state;
    int64_t step, steps;
    double seconds;
    (void)results;
    HR_TRY(hr_monitored_step(m, &step, err));
    if (!hr_timer_due(&s->timer, step, hr_monitored_now(m))) return HR_OK;
    if (!hr_timer_update(&s->timer, step, hr_monitored_now(m), &seconds, &steps)) return HR_OK;
    if (steps <= 0 && s->warned++ < 5) hr_log(HR_WARNING, "global_step has not risen between two runs");
    if (seconds <= 0) return HR_OK;
    double rate = (double)steps / seconds;
    hr_log(HR_DEBUG, "global_step/sec: %g", rate);
    if (!s->writer) return HR_OK;
    hr_event_writer *events;
    HR_TRY(hr__summary_writer_open(s->writer, &events, err));
    return hr_event_scalar(events, "global_step/sec", (float)rate, step, err);
}

static void count_release(void *state) { hr_summary_writer_unref(((step_counter *)state)->writer); }

static const hr_hook_kind step_counter_kind = {
    .head = HR_HOOK_HEAD,
    .name = "step_counter",
    .state_size = sizeof(step_counter),
    .after_run = count_after_run,
    .release = count_release,
};

hr_hook *hr_step_counter_hook_with(const hr_step_counter_hook_opts *opts)
{
    step_counter s = {.writer = hr_summary_writer_ref(opts->writer)};
    s.timer.every_secs = opts->every_n_secs;
    s.timer.every_steps = opts->every_n_secs > 0 ? 0 : opts->every_n_steps > 0 ? opts->every_n_steps : 100;
    return hr_hook_new(&step_counter_kind, &s);
}
