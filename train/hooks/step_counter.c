/* StepCounterHook: global_step/sec, into the log and the event file. The first trigger only arms it. */
#include <headrace/hooks.h>

typedef struct step_counter {
    hr_timer timer;
    hr_summary_writer *writer; /* its own reference; NULL: logged only */
    int64_t before;            /* global_step before this run */
    int64_t last_before;       /* before the run before; -1: there was none */
    int warned;
} step_counter;

static hr_status record_rate(step_counter *s, double rate, int64_t step, hr_error *err)
{
    hr_event_writer *events;
    hr_log_message(HR_INFO, "global_step/sec: %g", rate);
    if (!s->writer) return HR_OK;
    HR_TRY(hr_summary_writer_open(s->writer, &events, err));
    return hr_event_scalar(events, "global_step/sec", (float)rate, step, err);
}

static hr_status count_before_run(void *state, hr_monitored_session *m, hr_run_request *request, hr_error *err)
{
    (void)request;
    return hr_monitored_step(m, &((step_counter *)state)->before, err);
}

/* As TensorFlow: one step on is looked at first, then the true one, which is that or more. */
static hr_status count_after_run(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    step_counter *s = state;
    double seconds, now = hr_monitored_now(m);
    int64_t step, steps;
    (void)results;
    if (s->before == s->last_before && s->warned++ < 5)
        hr_log_message(HR_WARNING, "global_step has not risen, it is still %lld; give it to hr_minimize (.global_step)",
                       (long long)s->before);
    s->last_before = s->before;
    if (!hr_timer_due(&s->timer, s->before + 1, now)) return HR_OK;
    HR_TRY(hr_monitored_step(m, &step, err));
    if (!hr_timer_due(&s->timer, step, now) || !hr_timer_update(&s->timer, step, now, &seconds, &steps)) return HR_OK;
    return record_rate(s, (double)steps / seconds, step, err);
}

static hr_status count_begin(void *state, hr_graph *g, hr_error *err)
{
    hr_global_step(g);
    return hr_timer_check(&((step_counter *)state)->timer, "step_counter", err);
}

static hr_status count_after_create_session(void *state, hr_monitored_session *m, hr_error *err)
{
    const step_counter *s = state;
    return s->writer ? hr_summary_writer_begin(s->writer, hr_monitored_graph(m), err) : HR_OK;
}

static void count_release(void *state) { hr_summary_writer_unref(((step_counter *)state)->writer); }

static const hr_hook_kind step_counter_kind = {
    .head = HR_HOOK_HEAD,
    .name = "step_counter",
    .state_size = sizeof(step_counter),
    .begin = count_begin,
    .after_create_session = count_after_create_session,
    .before_run = count_before_run,
    .after_run = count_after_run,
    .release = count_release,
};

hr_hook *hr_step_counter_hook_with(const hr_step_counter_hook_opts *opts)
{
    opts = &HR_OPTIONS(hr_step_counter_hook_opts, opts);
    step_counter s = {.writer = hr_summary_writer_ref(opts->writer), .last_before = -1};
    s.timer.every_secs = opts->every_n_secs;
    s.timer.every_steps = opts->every_n_steps || opts->every_n_secs > 0 ? opts->every_n_steps : 100;
    return hr_hook_new(&step_counter_kind, &s);
}
