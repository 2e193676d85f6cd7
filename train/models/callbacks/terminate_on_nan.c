/* TerminateOnNaN: the training ends after a batch whose loss is no number. */
#include <headrace/models.h>
#include <math.h>

static hr_status nan_batch_end(void *state, const hr_callback_call *call, hr_error *err)
{
    (void)state, (void)err;
    if (hr_logs_has(call->logs, "loss") && !isfinite(hr_logs_get(call->logs, "loss"))) {
        hr_log_message(HR_WARNING, "terminate_on_nan: the loss of batch %lld is no number; the training ends",
                       (long long)call->number);
        hr_model_stop(call->model);
    }
    return HR_OK;
}

static const hr_callback_kind terminate_on_nan_kind = {
    .head = HR_CALLBACK_HEAD, .name = "terminate_on_nan", .train_batch_end = nan_batch_end};

hr_callback *hr_terminate_on_nan(void) { return hr_callback_new(&terminate_on_nan_kind, NULL, NULL); }
