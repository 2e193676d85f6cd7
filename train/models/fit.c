/* Training over epochs. */
#include "train/models/models_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static hr_status fit_split(hr__fitting *t, hr_dataset *data, hr_error *err)
{
    const hr_fit_opts *o = t->o;
    int64_t count = hr_cardinality(data);
    t->rows = hr_dataset_schema(data)->levels == 0;
    t->train = data;
    t->validation = o->validation_data;
    if (o->validation_split < 0 || o->validation_split >= 1 || isnan(o->validation_split))
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.validation_split",
                       "fit: expected a validation_split from 0 to less than 1, got %g", o->validation_split);
    if (o->validation_split > 0 && !t->validation) {
        if (!t->rows || count < 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "models.validation_split",
                           "fit: .validation_split is for single rows of a known number, such as those of "
                           "hr_from_tensor_slices; give .validation_data");
        const int64_t first = (int64_t)floor((double)count * (1 - o->validation_split));
        if (first == 0 || first == count)
            return hr_fail(err, HR_INVALID_ARGUMENT, "models.validation_split",
                           "fit: %lld rows are too few to split them by %g; give .validation_data", (long long)count,
                           o->validation_split);
        t->validation = hr_skip(hr_dataset_ref(data), first);
        t->train = hr_take(data, first);
        count = first;
    }
    if (t->rows && !o->no_shuffle && count < 0)
        hr_log_message(HR_INFO, "model '%s': the number of rows is not known, so they keep their order; use hr_shuffle",
                       t->m->name);
    if (t->rows && !o->no_shuffle && count > 1)
        t->train = o->seed ? hr_shuffle(t->train, count, .seed = o->seed) : hr_shuffle(t->train, count);
    t->train = hr__batched(t->train, o->batch_size);
    if (t->validation)
        t->validation = hr__batched(t->validation, o->validation_batch_size ? o->validation_batch_size : o->batch_size);
    return HR_OK;
}

/* Data that begin anew in an epoch draw as hr_repeat would have them: it counts from 1, Keras from 0. */
static int64_t epoch_of_data(int64_t epoch) { return epoch + 1; }

/* Data of a known length, and those of steps_per_epoch, run on from epoch to epoch. As in Keras, batches of which
 * steps_per_epoch are all begin again. */
static hr_status fit_open(hr__fitting *t, hr_error *err)
{
    const hr_fit_opts *o = t->o;
    const int64_t count = hr_cardinality(t->train), epochs = o->epochs - o->initial_epoch;
    const bool repeats = o->steps_per_epoch > 0 ? t->rows || count == o->steps_per_epoch : count >= 0;
    hr_dataset *ds = t->train;
    t->train = NULL;
    t->d.steps = o->steps_per_epoch > 0 ? o->steps_per_epoch : count >= 0 ? count : -1;
    const int64_t first = t->d.steps < 0 ? epoch_of_data(o->initial_epoch) : o->initial_epoch;
    HR_TRY(hr__feed_open(&t->d, ds, repeats ? epochs : 1, (uint64_t)t->m->body->seed, first, err));
    t->call.steps = t->d.steps;
    return hr__class_weights(t->m, o->class_weight, &t->d.class_weights, err);
}

static hr_status fit_batch(hr__fitting *t, hr_error *err)
{
    t->call.number = t->batches;
    t->call.logs = NULL;
    HR_TRY(hr__callbacks_call(t->o->callbacks, HR__TRAIN_BATCH_BEGIN, &t->call, err));
    HR_TRY(hr__step_run(t->f, t->d.values, &t->d.class_weights, t->batch_logs, err));
    t->next_batch = t->batches + 1;
    t->call.logs = t->batch_logs;
    return hr__callbacks_call(t->o->callbacks, HR__TRAIN_BATCH_END, &t->call, err);
}

static hr_status fit_batches(hr__fitting *t, hr_error *err)
{
    for (t->batches = t->next_batch; (t->d.steps < 0 || t->batches < t->d.steps) && !t->m->stop; t->batches++) {
        const hr_status st = hr__feed_next(&t->d, err);
        if (st == HR_END) {
            t->ended = t->d.steps >= 0;
            break;
        }
        HR_TRY(st);
        HR_TRY(fit_batch(t, err));
    }
    if (t->ended)
        hr_log_message(
            HR_WARNING,
            "model '%s': the data ended after %lld batches of epoch %lld, which wants %lld; the training ends",
            t->m->name, (long long)t->batches, (long long)t->call.epoch, (long long)t->d.steps);
    return HR_OK;
}

static bool validation_due(const hr_fit_opts *o, int64_t epoch)
{
    for (int i = 0; i < o->validation_epoch_count; i++)
        if (o->validation_epochs[i] == epoch + 1) return true;
    return o->validation_epoch_count == 0 && (epoch + 1) % (o->validation_freq > 0 ? o->validation_freq : 1) == 0;
}

static hr_status fit_validate(hr__fitting *t, hr_error *err)
{
    char key[320];
    hr_logs *logs = hr__logs_new();
    hr__evaluation e = {.ds = hr_dataset_ref(t->validation),
                        .steps = t->o->validation_steps,
                        .seed = hr_iterator_seed(t->d.it),
                        .epoch = epoch_of_data(t->call.epoch),
                        .sample_weight = hr__component_named(t->validation, t->o->sample_weight),
                        .callbacks = t->o->callbacks,
                        .call = t->call};
    e.call.logs = NULL;
    if (!logs) {
        hr_dataset_unref(e.ds);
        return hr_no_memory(err, "logs");
    }
    hr_status st = hr__evaluate(t->m, &e, logs, err);
    for (int i = 0; i < hr_logs_count(logs) && st == HR_OK; i++) {
        (void)snprintf(key, sizeof key, "val_%s", hr_logs_key(logs, i));
        st = hr_logs_set(t->logs, key, hr_logs_value(logs, i), err);
    }
    hr__logs_free(logs);
    return st;
}

/* No data at all are an error; data that can be read only once, or ran out, end the training. */
static hr_status fit_without_data(hr__fitting *t, hr_error *err)
{
    if (t->call.epoch == t->o->initial_epoch)
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.empty", "model '%.60s': expected data to train on, got no row",
                       t->m->name);
    if (!t->ended)
        hr_log_message(HR_WARNING, "model '%s': the data gave nothing in epoch %lld; the training ends", t->m->name,
                       (long long)t->call.epoch);
    t->ended = true;
    return HR_OK;
}

static hr_status fit_epoch(hr__fitting *t, int64_t epoch, hr_error *err)
{
    if (t->next_batch == 0) HR_TRY(hr__function_reset(t->f, err));
    if (t->next_batch == 0) hr__logs_clear(t->batch_logs);
    t->next_epoch = t->call.epoch = t->call.number = epoch;
    t->call.logs = NULL;
    t->call.resumed = t->next_batch > 0;
    HR_TRY(hr__callbacks_call(t->o->callbacks, HR__EPOCH_BEGIN, &t->call, err));
    t->call.resumed = false;
    HR_TRY(fit_batches(t, err));
    if (t->m->stop == HR__INTERRUPTED) return HR_OK;
    if (t->batches == 0 && !t->m->stop) return fit_without_data(t, err);
    hr__logs_clear(t->logs);
    for (int i = 0; i < hr_logs_count(t->batch_logs); i++)
        HR_TRY(hr_logs_set(t->logs, hr_logs_key(t->batch_logs, i), hr_logs_value(t->batch_logs, i), err));
    if (t->validation && validation_due(t->o, epoch)) HR_TRY(fit_validate(t, err));
    t->call.number = epoch;
    t->call.logs = t->logs;
    t->next_epoch = epoch + 1;
    t->next_batch = 0;
    t->closing = true;
    HR_TRY(hr__callbacks_call(t->o->callbacks, HR__EPOCH_END, &t->call, err));
    t->closing = false;
    return hr__history_add(t->m->history, epoch, t->logs, err);
}

/* Data of an unknown length begin anew with each epoch. */
static hr_status fit_restart(hr__fitting *t, int64_t epoch, hr_error *err)
{
    const bool read = t->read;
    t->read = true;
    if (t->d.steps >= 0 || t->next_batch > 0 || !read) return HR_OK;
    return hr__feed_restart(&t->d, epoch_of_data(epoch), err);
}

static hr_status fit_epochs(hr__fitting *t, hr_error *err)
{
    const hr_fit_opts *o = t->o;
    t->next_epoch = o->initial_epoch;
    HR_TRY(hr__callbacks_call(o->callbacks, HR__TRAIN_BEGIN, &t->call, err));
    for (int64_t epoch = t->next_epoch; epoch < o->epochs && !t->m->stop && !t->ended; epoch++) {
        HR_TRY(fit_restart(t, epoch, err));
        HR_TRY(fit_epoch(t, epoch, err));
    }
    t->call.interrupted = t->m->stop == HR__INTERRUPTED;
    if (!t->call.interrupted) HR_TRY(hr__optimizer_end(t->f, err));
    t->call.logs = t->logs;
    return hr__callbacks_call(o->callbacks, HR__TRAIN_END, &t->call, err);
}

static hr_status fit_check(const hr_fit_opts *o, hr_error *err)
{
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {{"epochs", o->epochs},
                   {"initial_epoch", o->initial_epoch},
                   {"batch_size", o->batch_size},
                   {"steps_per_epoch", o->steps_per_epoch},
                   {"validation_steps", o->validation_steps},
                   {"validation_batch_size", o->validation_batch_size},
                   {"validation_freq", o->validation_freq}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        HR_TRY(hr__number_check("fit", numbers[i].name, numbers[i].value, err));
    if (o->initial_epoch >= HR_LARGEST_COUNT)
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument",
                       "fit: expected an initial_epoch below 2^52, got %lld", (long long)o->initial_epoch);
    HR_TRY(hr__list_check("fit", "callbacks", o->callbacks.callback, o->callbacks.count, err));
    HR_TRY(hr__list_check("fit", "class_weight", o->class_weight.weight, o->class_weight.count, err));
    return hr__list_check("fit", "validation_epochs", o->validation_epochs, o->validation_epoch_count, err);
}

/* Takes `data`. */
static hr_status fit(hr__fitting *t, hr_dataset *data, hr_error *err)
{
    hr_model *m = t->m;
    const hr_schema *schema;
    hr_status st = hr__model_begin(m, err);
    if (st == HR_OK) st = fit_check(t->o, err);
    if (st == HR_OK) st = hr__ends_check("fit", "steps_per_epoch", data, t->o->steps_per_epoch, err);
    if (st == HR_OK) st = hr__ends_check("fit", "validation_steps", t->o->validation_data, t->o->validation_steps, err);
    if (st == HR_OK) st = hr__data_schema(m, data, &schema, err);
    if (st == HR_OK && hr_cardinality(data) == 0)
        st = hr_fail(err, HR_INVALID_ARGUMENT, "models.empty", "model '%.60s': expected data to train on, got no row",
                     m->name);
    if (st == HR_OK)
        st = hr__prepare(m, HR__TRAIN, schema, t->o->sample_weight, t->o->class_weight.count > 0, &t->f, err);
    if (st == HR_OK && m->compiled.tf_compat && t->o->class_weight.count > 0)
        for (int i = 0; i < t->f->signature.part.count && st == HR_OK; i++)
            if (t->f->signature.part.at[i].role == HR__WEIGHT)
                st = hr_fail(
                    err, HR_INVALID_ARGUMENT, "models.class_weight",
                    "fit: class_weight and sample weights together fail in Keras; without .tf_compat they multiply");
    if (st != HR_OK) {
        hr_dataset_unref(data);
        return st;
    }
    st = fit_split(t, data, err);
    if (st == HR_OK) st = fit_open(t, err);
    return st == HR_OK ? fit_epochs(t, err) : st;
}

const hr_history *hr_fit_with(hr_model *m, hr_dataset *data, const hr_fit_opts *opts)
{
    hr_fit_opts o = HR_OPTIONS(hr_fit_opts, opts);
    hr_error err = {0};
    if (o.epochs == 0) o.epochs = 1;
    hr__fitting t = {.m = m, .o = &o, .logs = hr__logs_new(), .batch_logs = hr__logs_new()};
    hr_status st = m ? HR_OK : HR_INVALID_ARGUMENT;
    t.call = (hr_callback_call){.model = m, .epochs = o.epochs, .steps = -1};
    if (m) {
        t.call.tf_compat = m->compiled.tf_compat;
        m->fitting = &t;
        hr__history_free(m->history);
        m->history = hr__history_new();
        m->stop = 0;
        if (!m->history || !t.logs || !t.batch_logs) st = hr_no_memory(&err, "a training");
    }
    if (st == HR_OK)
        st = fit(&t, data, &err);
    else
        hr_dataset_unref(data);
    hr__feed_close(&t.d);
    hr_dataset_unref(t.train);
    hr_dataset_unref(t.validation ? t.validation : o.validation_data);
    hr__callbacks_free(o.callbacks);
    hr__logs_free(t.logs);
    hr__logs_free(t.batch_logs);
    if (m) m->fitting = NULL;
    if (m && st != HR_OK) hr__model_failed(m, &err);
    if (st != HR_OK) return NULL;
    return hr__history_show(m->history, m->stop != 0);
}

void hr_model_stop(hr_model *m)
{
    if (m) m->stop = HR__STOPPED;
}

void hr_model_interrupt(hr_model *m)
{
    if (m) m->stop = HR__INTERRUPTED;
}
