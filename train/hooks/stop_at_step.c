/* StopAtStepHook: asks to stop once global_step has reached a number, or has grown by one. */
#include <headrace/hooks.h>

typedef struct stop_at_step {
    int64_t num_steps, last_step; /* last_step 0: not known before the session is there */
    int64_t before;               /* global_step before this run */
} stop_at_step;

static hr_status stop_begin(void *state, hr_graph *g, hr_error *err)
{
    const stop_at_step *s = state;
    hr_global_step(g);
    if ((s->num_steps > 0) != (s->last_step > 0)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "hooks.stop_at_step",
                   "stop_at_step: expected one of num_steps and last_step above 0, got %lld and %lld",
                   (long long)s->num_steps, (long long)s->last_step);
}

/* Once only: a session that begins again after a failure has the same end. */
static hr_status stop_after_create_session(void *state, hr_monitored_session *m, hr_error *err)
{
    stop_at_step *s = state;
    int64_t step;
    if (s->last_step > 0) return HR_OK;
    HR_TRY(hr_monitored_step(m, &step, err));
    s->last_step = step + s->num_steps;
    return HR_OK;
}

static hr_status stop_before_run(void *state, hr_monitored_session *m, hr_run_request *request, hr_error *err)
{
    (void)request;
    return hr_monitored_step(m, &((stop_at_step *)state)->before, err);
}

/* As TensorFlow: one step on is looked at first, then the true one, which is that or more. */
static hr_status stop_after_run(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    const stop_at_step *s = state;
    int64_t step;
    (void)results;
    if (s->before + 1 < s->last_step) return HR_OK;
    HR_TRY(hr_monitored_step(m, &step, err));
    if (step >= s->last_step) hr_request_stop(m);
    return HR_OK;
}

static const hr_hook_kind stop_at_step_kind = {
    .head = HR_HOOK_HEAD,
    .name = "stop_at_step",
    .state_size = sizeof(stop_at_step),
    .begin = stop_begin,
    .after_create_session = stop_after_create_session,
    .before_run = stop_before_run,
    .after_run = stop_after_run,
};

hr_hook *hr_stop_at_step_hook_with(const hr_stop_at_step_hook_opts *opts)
{
    opts = &HR_OPTIONS(hr_stop_at_step_hook_opts, opts);
    return hr_hook_new(&stop_at_step_kind, &(stop_at_step){.num_steps = opts->num_steps, .last_step = opts->last_step});
}
