/* ReduceLROnPlateau: a smaller learning rate when what is monitored has not become better for some epochs. */
#include "train/models/callbacks/rate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct plateau {
    char *monitor;
    double factor, min_delta, min_lr;
    int64_t patience, cooldown;
    bool greater;
    /* Of the training that is under way. */
    double best;
    int64_t wait, cooling;
    bool warned, kept;
} plateau;

static void plateau_release(void *state) { hr_free(((plateau *)state)->monitor); }

static hr_status plateau_train_begin(void *state, const hr_callback_call *call, hr_error *err)
{
    plateau *p = state;
    (void)call, (void)err;
    p->best = p->greater ? -INFINITY : INFINITY;
    p->wait = p->cooling = 0;
    p->warned = p->kept = false;
    return HR_OK;
}

static hr_status plateau_reduce(plateau *p, hr_model *m, hr_error *err)
{
    double rate;
    HR_TRY(rate_get(m, &rate, err));
    if (!(rate > (double)(float)p->min_lr)) return HR_OK;
    const double product = rate * p->factor, next = product > p->min_lr ? product : p->min_lr;
    HR_TRY(rate_set(m, "reduce_lr_on_plateau", next, &p->kept, err));
    if (!p->kept)
        hr_log_message(HR_INFO, "reduce_lr_on_plateau: '%.100s' has not become better; the learning rate is now %g",
                       p->monitor, next);
    p->cooling = p->cooldown;
    p->wait = 0;
    return HR_OK;
}

static hr_status plateau_epoch_end(void *state, const hr_callback_call *call, hr_error *err)
{
    plateau *p = state;
    HR_TRY(rate_log(call, err));
    if (!hr_logs_has(call->logs, p->monitor)) {
        if (!p->warned)
            hr_log_message(HR_WARNING, "reduce_lr_on_plateau: it waits for '%.100s', which is not there", p->monitor);
        p->warned = true;
        return HR_OK;
    }
    const double value = hr_logs_get(call->logs, p->monitor);
    if (p->cooling > 0) {
        p->cooling--;
        p->wait = 0;
    }
    if (p->greater ? value > p->best + p->min_delta : value < p->best - p->min_delta) {
        p->best = value;
        p->wait = 0;
        return HR_OK;
    }
    if (p->cooling > 0 || ++p->wait < p->patience) return HR_OK;
    return plateau_reduce(p, call->model, err);
}

static hr_status plateau_save(void *state, hr_bundle_writer *to, const char *prefix, hr_error *err)
{
    const plateau *p = state;
    const double numbers[] = {p->best, (double)p->wait, (double)p->cooling};
    return hr_callback_save_numbers(to, prefix, numbers, 3, err);
}

static hr_status plateau_restore(void *state, hr_bundle *from, const char *prefix, hr_error *err)
{
    plateau *p = state;
    double numbers[3];
    HR_TRY(hr_callback_restore_numbers(from, prefix, numbers, 3, err));
    p->best = numbers[0];
    p->wait = (int64_t)numbers[1];
    p->cooling = (int64_t)numbers[2];
    return HR_OK;
}

static const hr_callback_kind reduce_lr_on_plateau_kind = {
    .head = HR_CALLBACK_HEAD,
    .name = "reduce_lr_on_plateau",
    .state_size = sizeof(plateau),
    .release = plateau_release,
    .train_begin = plateau_train_begin,
    .epoch_end = plateau_epoch_end,
    .save = plateau_save,
    .restore = plateau_restore,
};

hr_callback *hr_reduce_lr_on_plateau_with(const char *monitor, const hr_reduce_lr_on_plateau_opts *opts)
{
    const hr_reduce_lr_on_plateau_opts o = HR_OPTIONS(hr_reduce_lr_on_plateau_opts, opts);
    hr_error refused = {0};
    if (!monitor) monitor = "val_loss";
    const plateau p = {.monitor = hr_strdup(monitor),
                       .factor = o.factor ? *o.factor : 0.1,
                       .min_delta = o.min_delta ? *o.min_delta : 1e-4,
                       .min_lr = o.min_lr,
                       .patience = o.patience ? *o.patience : 10,
                       .cooldown = o.cooldown,
                       .greater = o.mode == HR_MAX_MODE || (o.mode == HR_AUTO_MODE && strstr(monitor, "acc"))};
    if (!p.monitor) (void)hr_no_memory(&refused, "a callback");
    if (!(p.factor >= 0 && p.factor < 1) || !(p.min_lr >= 0 && isfinite(p.min_lr)) || isnan(p.min_delta) ||
        p.patience < 0 || p.cooldown < 0 || o.mode < HR_AUTO_MODE || o.mode > HR_MAX_MODE)
        (void)hr_fail(&refused, HR_INVALID_ARGUMENT, "models.argument",
                      "reduce_lr_on_plateau: expected a factor from 0 to less than 1, and a patience, a cooldown and a "
                      "min_lr of 0 or more, got %g, %lld, %lld and %g",
                      p.factor, (long long)p.patience, (long long)p.cooldown, p.min_lr);
    return hr_callback_new(&reduce_lr_on_plateau_kind, &p, &refused);
}
