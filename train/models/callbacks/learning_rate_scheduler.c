/* LearningRateScheduler: the learning rate of each epoch, by a function of its number and the rate before it. */
#include "train/models/callbacks/rate.h"

#include <math.h>

typedef struct rate_scheduler {
    hr_rate_fn *fn;
    void *user;
    bool kept; /* the optimizer has a schedule of its own */
} rate_scheduler;

static hr_status scheduler_train_begin(void *state, const hr_callback_call *call, hr_error *err)
{
    (void)call, (void)err;
    ((rate_scheduler *)state)->kept = false;
    return HR_OK;
}

static hr_status scheduler_epoch_begin(void *state, const hr_callback_call *call, hr_error *err)
{
    rate_scheduler *s = state;
    double rate;
    if (call->resumed) return HR_OK; /* it is the rate of this epoch already */
    HR_TRY(rate_get(call->model, &rate, err));
    const double next = s->fn(call->number, rate, s->user);
    if (!(next >= 0 && isfinite(next)))
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument",
                       "learning_rate_scheduler: expected a rate of 0 or more for epoch %lld, got %g",
                       (long long)call->number, next);
    return rate_set(call->model, "learning_rate_scheduler", next, &s->kept, err);
}

static hr_status scheduler_epoch_end(void *state, const hr_callback_call *call, hr_error *err)
{
    (void)state;
    return rate_log(call, err);
}

static const hr_callback_kind learning_rate_scheduler_kind = {
    .head = HR_CALLBACK_HEAD,
    .name = "learning_rate_scheduler",
    .state_size = sizeof(rate_scheduler),
    .train_begin = scheduler_train_begin,
    .epoch_begin = scheduler_epoch_begin,
    .epoch_end = scheduler_epoch_end,
};

hr_callback *hr_learning_rate_scheduler(hr_rate_fn *fn, void *user)
{
    const rate_scheduler s = {.fn = fn, .user = user};
    hr_error refused = {0};
    if (!fn)
        (void)hr_fail(&refused, HR_INVALID_ARGUMENT, "models.argument",
                      "learning_rate_scheduler: expected a function, got NULL");
    return hr_callback_new(&learning_rate_scheduler_kind, &s, &refused);
}
