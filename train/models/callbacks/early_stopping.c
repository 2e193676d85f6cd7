/* EarlyStopping: the training ends when what is monitored has not become better for some epochs. */
#include <headrace/models.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct early_stopping {
    char *monitor;
    double min_delta, baseline;
    bool greater, has_baseline, restore, only_if_stopped;
    int64_t patience, start;
    int64_t *best_epoch_to, *stopped_epoch_to;
    /* Of the training that is under way. */
    double best;
    int64_t wait, best_epoch, stopped_epoch;
    bool warned;
    hr_tensor *weights; /* of the best epoch; NULL: there is none yet */
    int count;
} early_stopping;

static void stopping_drop_weights(early_stopping *s)
{
    for (int i = 0; i < s->count; i++) hr_tensor_clear(&s->weights[i]);
    hr_free(s->weights);
    s->weights = NULL;
    s->count = 0;
}

static void stopping_release(void *state)
{
    early_stopping *s = state;
    stopping_drop_weights(s);
    hr_free(s->monitor);
}

static void stopping_tell(const early_stopping *s)
{
    if (s->best_epoch_to) *s->best_epoch_to = s->best_epoch;
    if (s->stopped_epoch_to) *s->stopped_epoch_to = s->stopped_epoch;
}

static hr_status stopping_train_begin(void *state, const hr_callback_call *call, hr_error *err)
{
    early_stopping *s = state;
    (void)call, (void)err;
    stopping_drop_weights(s);
    s->best = s->greater ? -INFINITY : INFINITY;
    s->wait = s->best_epoch = s->stopped_epoch = 0;
    s->warned = false;
    stopping_tell(s);
    return HR_OK;
}

static hr_status stopping_keep_weights(early_stopping *s, hr_model *m, int64_t epoch, hr_error *err)
{
    const int count = hr_model_weights(m);
    stopping_drop_weights(s);
    s->weights = hr_calloc((size_t)count + 1, sizeof *s->weights);
    if (!s->weights) return hr_no_memory(err, "the best weights");
    for (; s->count < count; s->count++) HR_TRY(hr_get_weight(m, s->count, &s->weights[s->count], err));
    s->best_epoch = epoch;
    return HR_OK;
}

static hr_status stopping_restore(const early_stopping *s, hr_model *m, hr_error *err)
{
    if (!s->weights) return HR_OK;
    hr_log_message(HR_INFO, "early_stopping: the weights are those of the end of epoch %lld again",
                   (long long)s->best_epoch + 1);
    return hr_set_weights(m, s->weights, s->count, err);
}

static bool stopping_is_better(const early_stopping *s, double value, double than)
{
    return s->greater ? value - s->min_delta > than : value + s->min_delta < than;
}

static void stopping_miss(early_stopping *s, const hr_logs *logs)
{
    char keys[512] = "";
    size_t n = 0;
    for (int i = 0; i < hr_logs_count(logs) && n < sizeof keys - 130; i++) {
        const char *key = hr_logs_key(logs, i);
        const size_t size = strlen(key) < 120 ? strlen(key) : 120;
        if (n) keys[n++] = ',';
        memcpy(keys + n, key, size);
        n += size;
    }
    keys[n] = '\0';
    if (!s->warned)
        hr_log_message(HR_WARNING, "early_stopping: it waits for '%.100s', which is not there; there are: %s",
                       s->monitor, keys);
    s->warned = true;
}

static hr_status stopping_look(early_stopping *s, const hr_callback_call *call, hr_error *err)
{
    const int64_t epoch = call->number;
    const double value = hr_logs_get(call->logs, s->monitor);
    if (s->restore && !s->weights) HR_TRY(stopping_keep_weights(s, call->model, epoch, err));
    s->wait++;
    if (stopping_is_better(s, value, s->best)) {
        s->best = value;
        s->best_epoch = epoch;
        if (!s->has_baseline || stopping_is_better(s, value, s->baseline)) s->wait = 0;
        return s->restore ? stopping_keep_weights(s, call->model, epoch, err) : HR_OK;
    }
    if (s->wait < s->patience || epoch == 0) return HR_OK;
    s->stopped_epoch = epoch;
    hr_log_message(HR_INFO, "early_stopping: '%.100s' has not become better; the training ends after epoch %lld",
                   s->monitor, (long long)epoch + 1);
    hr_model_stop(call->model);
    return s->restore && s->only_if_stopped ? stopping_restore(s, call->model, err) : HR_OK;
}

static hr_status stopping_epoch_end(void *state, const hr_callback_call *call, hr_error *err)
{
    early_stopping *s = state;
    if (call->tf_compat) s->only_if_stopped = true;
    if (!hr_logs_has(call->logs, s->monitor)) {
        stopping_miss(s, call->logs);
        return HR_OK;
    }
    if (call->number < s->start) return HR_OK;
    const hr_status st = stopping_look(s, call, err);
    stopping_tell(s);
    return st;
}

static hr_status stopping_train_end(void *state, const hr_callback_call *call, hr_error *err)
{
    early_stopping *s = state;
    hr_status st = HR_OK;
    if (s->restore && !s->only_if_stopped && !call->interrupted) st = stopping_restore(s, call->model, err);
    if (!call->interrupted) stopping_drop_weights(s); /* a callback after this one may save the training */
    return st;
}

/* ---- a training that goes on later ---- */

static hr_status stopping_save(void *state, hr_bundle_writer *to, const char *prefix, hr_error *err)
{
    const early_stopping *s = state;
    char name[256];
    const double numbers[] = {s->best, (double)s->wait, (double)s->best_epoch, (double)s->stopped_epoch, s->count};
    HR_TRY(hr_callback_save_numbers(to, prefix, numbers, 5, err));
    for (int i = 0; i < s->count; i++) {
        (void)snprintf(name, sizeof name, "%s/weights/%d", prefix, i);
        HR_TRY(hr_bundle_add(to, name, &s->weights[i], err));
    }
    return HR_OK;
}

static hr_status stopping_read(void *state, hr_bundle *from, const char *prefix, hr_error *err)
{
    early_stopping *s = state;
    char name[256];
    double numbers[5];
    HR_TRY(hr_callback_restore_numbers(from, prefix, numbers, 5, err));
    if (!(numbers[4] >= 0 && numbers[4] < INT32_MAX))
        return hr_fail(err, HR_FAILED_PRECONDITION, "models.training",
                       "early_stopping: expected a number of weights in the checkpoint, got %g", numbers[4]);
    const int count = (int)numbers[4];
    s->best = numbers[0];
    s->wait = (int64_t)numbers[1];
    s->best_epoch = (int64_t)numbers[2];
    s->stopped_epoch = (int64_t)numbers[3];
    stopping_tell(s);
    stopping_drop_weights(s);
    if (count == 0) return HR_OK;
    s->weights = hr_calloc((size_t)count, sizeof *s->weights);
    if (!s->weights) return hr_no_memory(err, "the best weights");
    for (; s->count < count; s->count++) {
        (void)snprintf(name, sizeof name, "%s/weights/%d", prefix, s->count);
        HR_TRY(hr_bundle_read(from, name, &s->weights[s->count], err));
    }
    return HR_OK;
}

static const hr_callback_kind early_stopping_kind = {
    .head = HR_CALLBACK_HEAD,
    .name = "early_stopping",
    .state_size = sizeof(early_stopping),
    .release = stopping_release,
    .train_begin = stopping_train_begin,
    .epoch_end = stopping_epoch_end,
    .train_end = stopping_train_end,
    .save = stopping_save,
    .restore = stopping_read,
};

static bool ends_in(const char *text, const char *end)
{
    const size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

hr_callback *hr_early_stopping_with(const char *monitor, const hr_early_stopping_opts *opts)
{
    const hr_early_stopping_opts o = HR_OPTIONS(hr_early_stopping_opts, opts);
    hr_error refused = {0};
    if (!monitor) monitor = "val_loss";
    early_stopping s = {.monitor = hr_strdup(monitor),
                        .min_delta = fabs(o.min_delta),
                        .has_baseline = o.baseline != NULL,
                        .baseline = o.baseline ? *o.baseline : 0,
                        .restore = o.restore_best_weights,
                        .only_if_stopped = o.only_if_stopped,
                        .patience = o.patience,
                        .start = o.start_from_epoch,
                        .best_epoch_to = o.best_epoch,
                        .stopped_epoch_to = o.stopped_epoch};
    s.greater =
        o.mode == HR_MAX_MODE ||
        (o.mode != HR_MIN_MODE && (ends_in(monitor, "acc") || ends_in(monitor, "accuracy") || ends_in(monitor, "auc")));
    if (!s.monitor) (void)hr_no_memory(&refused, "early stopping");
    if (o.patience < 0 || o.start_from_epoch < 0 || isnan(o.min_delta) || o.mode < HR_AUTO_MODE || o.mode > HR_MAX_MODE)
        (void)hr_fail(&refused, HR_INVALID_ARGUMENT, "models.argument",
                      "early_stopping: expected a patience and a start_from_epoch of 0 or more, a number as min_delta "
                      "and a mode, got %lld, %lld, %g and %d",
                      (long long)o.patience, (long long)o.start_from_epoch, o.min_delta, (int)o.mode);
    return hr_callback_new(&early_stopping_kind, &s, &refused);
}
