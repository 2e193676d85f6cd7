/* Evaluation and predictions over a dataset, and single batches. */
#include "train/models/models_internal.h"

#include <stdio.h>
#include <string.h>

/* ---- evaluation ---- */

static hr_status evaluate_steps(hr_model *m, hr__evaluation *e, hr__function *f, hr__feed *d, hr_logs *logs,
                                hr_error *err)
{
    int64_t batch = 0;
    HR_TRY(hr__function_reset(f, err));
    for (; e->steps <= 0 || batch < e->steps; batch++) {
        const hr_status st = hr__feed_next(d, err);
        if (st == HR_END) break;
        HR_TRY(st);
        e->call.number = batch;
        e->call.logs = NULL;
        HR_TRY(hr__callbacks_call(e->callbacks, HR__TEST_BATCH_BEGIN, &e->call, err));
        HR_TRY(hr__step_run(f, d->values, NULL, logs, err));
        e->call.logs = logs;
        HR_TRY(hr__callbacks_call(e->callbacks, HR__TEST_BATCH_END, &e->call, err));
    }
    if (batch == 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.empty", "model '%.60s': expected data to evaluate, got no row",
                       m->name);
    if (e->steps > 0 && batch < e->steps)
        hr_log_message(HR_WARNING, "model '%s': the data to evaluate ended after %lld of %lld steps", m->name,
                       (long long)batch, (long long)e->steps);
    return HR_OK;
}

hr_status hr__evaluate(hr_model *m, hr__evaluation *e, hr_logs *logs, hr_error *err)
{
    const hr_schema *schema;
    hr__function *f = NULL;
    hr__feed d = {0};
    hr_status st = hr__data_schema(m, e->ds, &schema, err);
    if (st == HR_OK) st = hr__prepare(m, HR__TEST, schema, e->sample_weight, false, &f, err);
    if (st != HR_OK) {
        hr_dataset_unref(e->ds);
        return st;
    }
    st = hr__feed_open(&d, e->ds, 1, e->seed, e->epoch, err);
    if (st == HR_OK) st = hr__callbacks_call(e->callbacks, HR__TEST_BEGIN, &e->call, err);
    if (st == HR_OK) st = evaluate_steps(m, e, f, &d, logs, err);
    e->call.logs = logs;
    if (st == HR_OK) st = hr__callbacks_call(e->callbacks, HR__TEST_END, &e->call, err);
    hr__feed_close(&d);
    return st;
}

static hr_logs *fresh_logs(hr_model *m, hr_error *err)
{
    if (!m->logs) m->logs = hr__logs_new();
    if (m->logs)
        hr__logs_clear(m->logs);
    else
        hr_no_memory(err, "logs");
    return m->logs;
}

/* The number of batches, -1: not known. */
static int64_t known_steps(const hr_dataset *ds)
{
    const int64_t count = ds ? hr_cardinality(ds) : -1;
    return count >= 0 ? count : -1;
}

static hr_status check_arguments(const char *call, int64_t batch_size, int64_t steps, hr_callback_list callbacks,
                                 hr_error *err)
{
    HR_TRY(hr__number_check(call, "batch_size", batch_size, err));
    HR_TRY(hr__number_check(call, "steps", steps, err));
    return hr__list_check(call, "callbacks", callbacks.callback, callbacks.count, err);
}

const hr_logs *hr_model_evaluate_with(hr_model *m, hr_dataset *data, const hr_model_evaluate_opts *opts)
{
    const hr_model_evaluate_opts o = HR_OPTIONS(hr_model_evaluate_opts, opts);
    hr_error err = {0};
    hr_status st = m ? hr__model_begin(m, &err) : HR_INVALID_ARGUMENT;
    if (st == HR_OK) st = check_arguments("evaluate", o.batch_size, o.steps, o.callbacks, &err);
    hr__evaluation e = {.ds = data ? hr__batched(data, o.batch_size) : NULL,
                        .steps = o.steps,
                        .seed = m ? (uint64_t)m->body->seed : 0,
                        .sample_weight = o.sample_weight,
                        .callbacks = o.callbacks,
                        .call = {.model = m, .tf_compat = m && m->compiled.tf_compat}};
    e.call.steps = o.steps > 0 ? o.steps : known_steps(e.ds);
    if (st == HR_OK) st = hr__ends_check("evaluate", "steps", e.ds, o.steps, &err);
    hr_logs *logs = st == HR_OK ? fresh_logs(m, &err) : NULL;
    if (logs)
        st = hr__evaluate(m, &e, logs, &err);
    else
        hr_dataset_unref(e.ds);
    hr__callbacks_free(o.callbacks);
    if (m && st != HR_OK) hr__model_failed(m, &err);
    return st == HR_OK ? logs : NULL;
}

/* ---- predictions ---- */

/* Outputs of batches, one below the other. */
typedef struct collected {
    HR__LIST(hr_tensor) parts; /* batch by batch, of all outputs */
    int outputs;
} collected;

static void collected_clear(collected *c)
{
    for (int i = 0; i < c->parts.count; i++) hr_tensor_clear(&c->parts.at[i]);
    hr_free(c->parts.at);
}

static hr_status collected_join(const collected *c, int output, hr_tensor *out, hr_error *err)
{
    const hr_tensor *first = &c->parts.at[output];
    hr_shape shape = first->shape;
    size_t at = 0;
    for (int i = output + c->outputs; i < c->parts.count; i += c->outputs) {
        const hr_tensor *part = &c->parts.at[i];
        for (int k = 1; k < shape.rank; k++)
            if (part->shape.rank != shape.rank || part->shape.dims[k] != shape.dims[k])
                return hr_fail(err, HR_INVALID_ARGUMENT, "models.outputs",
                               "predict: expected outputs of batches of one shape; pad the rows of all batches alike");
        shape.dims[0] += part->shape.dims[0];
    }
    HR_TRY(hr_tensor_new(out, first->dtype, shape, err));
    for (int i = output; i < c->parts.count; i += c->outputs) {
        const size_t bytes = (size_t)c->parts.at[i].count * hr_dtype_size(first->dtype);
        if (bytes) memcpy((char *)out->data + at, c->parts.at[i].data, bytes);
        at += bytes;
    }
    return HR_OK;
}

static hr_status predict_steps(const hr_model_predict_opts *o, hr__function *f, hr__feed *d, hr_callback_call *call,
                               collected *c, hr_error *err)
{
    for (int64_t batch = 0; o->steps <= 0 || batch < o->steps; batch++) {
        const hr_status st = hr__feed_next(d, err);
        if (st == HR_END) return HR_OK;
        HR_TRY(st);
        call->number = batch;
        HR_TRY(hr__callbacks_call(o->callbacks, HR__PREDICT_BATCH_BEGIN, call, err));
        const int first = c->parts.count;
        for (int i = 0; i < f->results; i++)
            if (!HR__LIST_ADD(&c->parts)) return hr_no_memory(err, "predictions");
        HR_TRY(hr__function_run(f, d->values, NULL, &c->parts.at[first], err));
        HR_TRY(hr__callbacks_call(o->callbacks, HR__PREDICT_BATCH_END, call, err));
    }
    return HR_OK;
}

/* Takes `ds`. */
static hr_status predict(hr_model *m, hr_dataset *ds, const hr_model_predict_opts *o, hr_tensor *out, hr_error *err)
{
    const hr_schema *schema;
    hr__function *f = NULL;
    hr__feed d = {0};
    collected c = {0};
    hr_callback_call call = {
        .model = m, .tf_compat = m->compiled.tf_compat, .steps = o->steps > 0 ? o->steps : known_steps(ds)};
    hr_status st = hr__data_schema(m, ds, &schema, err);
    if (st == HR_OK) st = hr__prepare(m, HR__PREDICT, schema, NULL, false, &f, err);
    if (st != HR_OK) {
        hr_dataset_unref(ds);
        return st;
    }
    c.outputs = f->results;
    st = hr__feed_open(&d, ds, 1, (uint64_t)m->body->seed, 0, err);
    if (st == HR_OK) st = hr__callbacks_call(o->callbacks, HR__PREDICT_BEGIN, &call, err);
    if (st == HR_OK) st = predict_steps(o, f, &d, &call, &c, err);
    if (st == HR_OK && c.parts.count == 0)
        st = hr_fail(err, HR_INVALID_ARGUMENT, "models.empty",
                     "model '%.60s': expected data to predict for, got no row", m->name);
    for (int i = 0; i < c.outputs && st == HR_OK; i++) st = collected_join(&c, i, &out[i], err);
    if (st == HR_OK) st = hr__callbacks_call(o->callbacks, HR__PREDICT_END, &call, err);
    for (int i = 0; i < c.outputs && st != HR_OK; i++) hr_tensor_clear(&out[i]);
    hr__feed_close(&d);
    collected_clear(&c);
    return st;
}

hr_status hr_model_predict_with(hr_model *m, hr_dataset *data, hr_tensor *out, const hr_model_predict_opts *opts)
{
    const hr_model_predict_opts o = HR_OPTIONS(hr_model_predict_opts, opts);
    hr_error err = {0};
    hr_status st = m && out ? hr__model_begin(m, &err) : HR_INVALID_ARGUMENT;
    if (st == HR_OK) st = check_arguments("predict", o.batch_size, o.steps, o.callbacks, &err);
    if (st == HR_OK) st = hr__ends_check("predict", "steps", data, o.steps, &err);
    if (st == HR_OK) {
        for (int i = 0; i < m->outputs.count; i++) out[i] = (hr_tensor){0};
        st = predict(m, data ? hr__batched(data, o.batch_size) : NULL, &o, out, &err);
    } else {
        hr_dataset_unref(data);
    }
    hr__callbacks_free(o.callbacks);
    if (m && st != HR_OK) hr__model_failed(m, &err);
    return st;
}

/* ---- one batch ---- */

enum { BATCH_PARTS = 64 };

/* A schema of the tensors of a batch. */
static hr_status batch_schema(const hr_tensor *tensors, const char *const *names, int count, hr_field *fields,
                              char (*numbers)[16], const hr_tensor **values, hr_error *err)
{
    if (!tensors || count < 1 || count > BATCH_PARTS)
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.data", "on_batch: expected 1 to %d tensors, got %d",
                       BATCH_PARTS, tensors ? count : 0);
    for (int i = 0; i < count; i++) {
        const hr_shape shape = tensors[i].shape;
        if (shape.rank < 1 || shape.dims[0] != tensors[0].shape.dims[0] || shape.dims[0] < 1)
            return hr_fail(err, HR_INVALID_ARGUMENT, "models.data",
                           "on_batch: expected tensors of the same number of rows, 1 or more; tensor %d has %lld, the "
                           "first %lld",
                           i, shape.rank < 1 ? 0LL : (long long)shape.dims[0],
                           tensors[0].shape.rank < 1 ? 0LL : (long long)tensors[0].shape.dims[0]);
        if (names && !names[i])
            return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument",
                           "on_batch: expected a name of each tensor, got NULL for tensor %d; without names they are "
                           "\"0\", \"1\", ...",
                           i);
        (void)snprintf(numbers[i], sizeof *numbers, "%d", i);
        fields[i] = (hr_field){.name = names ? names[i] : numbers[i], .dtype = tensors[i].dtype};
        fields[i].shape.rank = shape.rank - 1;
        for (int k = 1; k < shape.rank; k++) fields[i].shape.dims[k - 1] = shape.dims[k];
        values[i] = &tensors[i];
    }
    return HR_OK;
}

static hr_status one_batch(hr_model *m, hr__phase phase, const hr_tensor *tensors, const char *const *names, int count,
                           const hr_on_batch_opts *o, hr_tensor *out, hr_error *err)
{
    hr_field fields[BATCH_PARTS];
    char numbers[BATCH_PARTS][16];
    const hr_tensor *values[BATCH_PARTS];
    hr_tensor classes = {0};
    hr__function *f;
    HR_TRY(hr__model_begin(m, err));
    HR_TRY(batch_schema(tensors, names, count, fields, numbers, values, err));
    const hr_schema schema = {.levels = 1, .fields = count, .field = fields};
    HR_TRY(hr__prepare(m, phase, &schema, NULL, o->class_weight.count > 0, &f, err));
    if (phase == HR__PREDICT) return hr__function_run(f, values, NULL, out, err);
    hr_status st = fresh_logs(m, err) ? HR_OK : HR_RESOURCE_EXHAUSTED;
    if (st == HR_OK) st = hr__class_weights(m, o->class_weight, &classes, err);
    if (st == HR_OK && !o->keep_metrics) st = hr__function_reset(f, err);
    if (st == HR_OK) st = hr__step_run(f, values, &classes, m->logs, err);
    hr_tensor_clear(&classes);
    return st;
}

static const hr_logs *on_batch(hr_model *m, hr__phase phase, const hr_tensor *tensors, const char *const *names,
                               int count, const hr_on_batch_opts *opts)
{
    const hr_on_batch_opts o = HR_OPTIONS(hr_on_batch_opts, opts);
    hr_error err = {0};
    if (!m) return NULL;
    if (one_batch(m, phase, tensors, names, count, &o, NULL, &err) == HR_OK) return m->logs;
    hr__model_failed(m, &err);
    return NULL;
}

const hr_logs *hr_train_on_batch_with(hr_model *m, const hr_tensor *tensors, const char *const *names, int count,
                                      const hr_on_batch_opts *opts)
{
    return on_batch(m, HR__TRAIN, tensors, names, count, opts);
}

const hr_logs *hr_test_on_batch_with(hr_model *m, const hr_tensor *tensors, const char *const *names, int count,
                                     const hr_on_batch_opts *opts)
{
    return on_batch(m, HR__TEST, tensors, names, count, opts);
}

hr_status hr_predict_on_batch(hr_model *m, const hr_tensor *tensors, const char *const *names, int count,
                              hr_tensor *out)
{
    const hr_on_batch_opts o = {.struct_size = sizeof o};
    hr_error err = {0};
    const hr_status st =
        m && out ? one_batch(m, HR__PREDICT, tensors, names, count, &o, out, &err) : HR_INVALID_ARGUMENT;
    return st == HR_OK || !m ? st : hr__model_failed(m, &err);
}
