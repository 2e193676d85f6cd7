/* NanTensorHook: looks at the loss after every run. */
#include <headrace/hooks.h>
#include <math.h>

typedef struct nan_tensor {
    hr_node loss;
    bool stop_only;
} nan_tensor;

static hr_status nan_before_run(void *state, hr_monitored_session *m, hr_run_request *request, hr_error *err)
{
    (void)m;
    return hr_request_fetch(request, ((const nan_tensor *)state)->loss, err);
}

static bool has_nan(const hr_tensor *t)
{
    for (int64_t i = 0; i < t->count; i++) {
        double v = t->dtype == HR_DOUBLE  ? ((const double *)t->data)[i]
                   : t->dtype == HR_FLOAT ? (double)((const float *)t->data)[i]
                                          : 0;
        if (isnan(v)) return true;
    }
    return false;
}

static hr_status nan_after_run(void *state, hr_monitored_session *m, const hr_tensor *results, hr_error *err)
{
    const nan_tensor *s = state;
    int64_t step = -1;
    if (!has_nan(&results[0])) return HR_OK;
    hr_monitored_step(m, &step, NULL);
    if (!s->stop_only)
        return hr_fail(err, HR_INVALID_ARGUMENT, "hooks.nan",
                       "step %lld: the loss '%s' is not a number (NaN); a smaller learning rate may help",
                       (long long)step, hr_node_name(s->loss));
    hr_log_message(HR_WARNING, "step %lld: the loss is not a number (NaN): stopping", (long long)step);
    hr_request_stop(m);
    return HR_OK;
}

static const hr_hook_kind nan_tensor_kind = {
    .head = HR_HOOK_HEAD,
    .name = "nan_tensor",
    .state_size = sizeof(nan_tensor),
    .before_run = nan_before_run,
    .after_run = nan_after_run,
};

hr_hook *hr_nan_tensor_hook_with(hr_node loss, const hr_nan_tensor_hook_opts *opts)
{
    opts = &HR_OPTIONS(hr_nan_tensor_hook_opts, opts);
    return hr_hook_new(&nan_tensor_kind, &(nan_tensor){loss, opts->stop_only});
}
