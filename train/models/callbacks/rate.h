/* The learning rate for callbacks that change it. Not a public header. */
#ifndef HR_CALLBACK_RATE_H
#define HR_CALLBACK_RATE_H

#include <headrace/models.h>

static inline hr_status rate_failed(hr_model *m, hr_status st, hr_error *err)
{
    const hr_error *why = hr_model_error(m);
    if (why && err) *err = *why;
    return st;
}

static inline hr_status rate_get(hr_model *m, double *rate, hr_error *err)
{
    const hr_status st = hr_model_learning_rate(m, rate);
    return st == HR_OK ? st : rate_failed(m, st, err);
}

/* Sets it. *kept becomes true, and the log says so, where the optimizer has a schedule. */
static inline hr_status rate_set(hr_model *m, const char *who, double rate, bool *kept, hr_error *err)
{
    double now;
    const hr_status st = *kept ? HR_OK : hr_model_set_learning_rate(m, rate);
    if (st == HR_OK) return st;
    if (st != HR_FAILED_PRECONDITION) return rate_failed(m, st, err);
    *kept = true;
    hr_log_message(HR_WARNING,
                   "%s: the optimizer of model '%s' has a schedule of its learning rate and keeps it: nothing changes",
                   who, hr_model_name(m));
    return rate_get(m, &now, err); /* which forgets the refusal */
}

/* Whether the optimizer has a schedule: then not even the same rate can be set. */
static inline bool rate_is_scheduled(hr_model *m)
{
    double now;
    if (hr_model_learning_rate(m, &now) != HR_OK) return false;
    const bool scheduled = hr_model_set_learning_rate(m, now) == HR_FAILED_PRECONDITION;
    return scheduled && hr_model_learning_rate(m, &now) == HR_OK; /* which forgets the refusal */
}

/* Keras's key `lr`, the rate of the epoch that ends. */
static inline hr_status rate_log(const hr_callback_call *call, hr_error *err)
{
    double rate;
    HR_TRY(rate_get(call->model, &rate, err));
    return hr_logs_set(call->logs, "lr", rate, err);
}

#endif
