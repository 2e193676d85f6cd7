/* Datasets as batches for a model: what a call needs of one, and the steps over it. */
#include "train/models/models_internal.h"

#include <math.h>
#include <string.h>

enum { USUAL_BATCH = 32 };

/* ---- reading batches ---- */

void hr__feed_close(hr__feed *f)
{
    hr_iterator_free(f->it);
    hr_free(f->values);
    hr_tensor_clear(&f->class_weights);
}

hr_status hr__feed_next(hr__feed *f, hr_error *err)
{
    const hr_element *e;
    const hr_status st = hr_next(f->it, &e);
    if (st == HR_END) return st;
    if (st != HR_OK) {
        const hr_error *of = hr_iterator_error(f->it);
        if (of) *err = *of;
        return of ? of->code : st;
    }
    for (int i = 0; i < f->fields; i++) f->values[i] = hr_get_at(e, i);
    return HR_OK;
}

static void number_of(const hr_tensor *t, double *out)
{
    *out = NAN;
    if (t->dtype == HR_FLOAT && t->count >= 1) *out = (double)*(const float *)t->data;
    if (t->dtype == HR_DOUBLE && t->count >= 1) *out = *(const double *)t->data;
}

/* One step on the values of the feed; the running results go to the logs. */
hr_status hr__step_run(hr__function *f, const hr_tensor *const *values, const hr_tensor *class_weights, hr_logs *logs,
                       hr_error *err)
{
    enum { FEW = 32 };
    hr_tensor few[FEW], *out = f->results > FEW ? hr_calloc((size_t)f->results, sizeof *out) : few;
    if (!out) return hr_no_memory(err, "a batch");
    hr_status st = hr__function_run(f, values, class_weights, out, err);
    const bool ran = st == HR_OK;
    for (int i = 0; i < f->results && ran; i++) {
        double value;
        number_of(&out[i], &value);
        if (st == HR_OK) st = hr_logs_set(logs, f->keys.at[i], value, err);
        hr_tensor_clear(&out[i]);
    }
    if (out != few) hr_free(out);
    return st;
}

/* ---- data of a call ---- */

/* A dataset of batches; single rows are batched. Takes `ds`. */
hr_dataset *hr__batched(hr_dataset *ds, int64_t batch_size)
{
    const hr_schema *schema = hr_dataset_schema(ds);
    return schema && schema->levels == 0 ? hr_batch(ds, batch_size ? batch_size : USUAL_BATCH) : ds;
}

hr_status hr__data_schema(hr_model *m, hr_dataset *ds, const hr_schema **out, hr_error *err)
{
    if (!ds)
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.data", "model '%.60s': expected a dataset, got NULL", m->name);
    *out = hr_dataset_schema(ds);
    if (!*out) {
        const hr_error *of = hr_dataset_error(ds);
        if (of) *err = *of;
        return of ? of->code : HR_INVALID_ARGUMENT;
    }
    if ((*out)->levels <= 1 && (*out)->fields > 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.data",
                   "model '%.60s': expected a dataset of rows or of batches of rows, got batches of batches", m->name);
}

/* A model in a row is built for the first component that is no label. */
static hr_status build_for(hr_model *m, const hr_schema *schema, hr_error *err)
{
    hr_shape shape = m->input_shape.rank > 0 ? m->input_shape : (hr_shape){.rank = -1};
    hr_dtype dtype = HR_FLOAT;
    for (int i = 0; i < schema->fields && !m->built && shape.rank < 0; i++) {
        const hr_field *field = &schema->field[i];
        if (field->label || field->layout != HR_DENSE) continue;
        shape = field->shape.rank == 0 ? HR_SHAPE(1) : field->shape;
        dtype = field->dtype;
    }
    const bool ids =
        m->pending.count > 0 && m->pending.at[0]->kind && (m->pending.at[0]->kind->traits & HR_LAYER_TAKES_IDS);
    if (!ids || (dtype != HR_INT32 && dtype != HR_INT64)) dtype = dtype == HR_DOUBLE ? HR_DOUBLE : HR_FLOAT;
    if (dtype == HR_DOUBLE) dtype = HR_FLOAT;
    return hr__model_built(m, shape, dtype, err);
}

hr_status hr__prepare(hr_model *m, hr__phase phase, const hr_schema *schema, const char *sample_weight, bool classes,
                      hr__function **out, hr_error *err)
{
    hr__data_signature s = {0};
    HR_TRY(build_for(m, schema, err));
    if (phase != HR__PREDICT) HR_TRY(hr__compiled_resolve(m, err));
    hr_status st = hr__signature_of(m, schema, sample_weight, phase != HR__PREDICT, &s, err);
    if (st == HR_OK) st = hr__function_for(m, phase, &s, classes, out, err);
    hr__signature_clear(&s);
    return st;
}

hr_status hr__ends_check(const char *call, const char *option, const hr_dataset *ds, int64_t steps, hr_error *err)
{
    if (!ds || steps > 0 || hr_cardinality(ds) != HR_INFINITE_CARDINALITY) return HR_OK;
    return hr_fail(
        err, HR_INVALID_ARGUMENT, "models.endless",
        "%s: expected data with an end, or .%s, got endless data without; leave out hr_repeat, or say how many "
        "batches to take",
        call, option);
}

hr_status hr__feed_open(hr__feed *f, hr_dataset *ds, int64_t repeat, uint64_t seed, int64_t epoch, hr_error *err)
{
    const hr_schema *schema = hr_dataset_schema(ds);
    if (!schema) {
        *err = *hr_dataset_error(ds);
        hr_dataset_unref(ds);
        return err->code;
    }
    f->fields = schema->fields;
    f->values = hr_calloc((size_t)f->fields, sizeof *f->values);
    if (repeat != 1) ds = hr_repeat(ds, .count = &repeat);
    f->it = hr_iterate(ds, .seed = seed, .epoch = epoch, .warm_start = true);
    return f->values && f->it ? HR_OK : hr_no_memory(err, "data");
}

static hr_status feed_reset(hr__feed *f, const hr_iterate_opts *opts, hr_error *err)
{
    if (hr_iterator_reset_with(f->it, NULL, opts) == HR_OK) return HR_OK;
    const hr_error *why = hr_iterator_error(f->it);
    if (!why) return hr_no_memory(err, "data");
    *err = *why;
    return err->code;
}

hr_status hr__feed_resume(hr__feed *f, const void *state, size_t size, hr_error *err)
{
    const hr_iterate_opts opts = {.struct_size = sizeof opts, .state = state, .state_size = size, .warm_start = true};
    return feed_reset(f, &opts, err);
}

hr_status hr__feed_restart(hr__feed *f, int64_t epoch, hr_error *err)
{
    const hr_iterate_opts opts = {
        .struct_size = sizeof opts, .seed = hr_iterator_seed(f->it), .epoch = epoch, .warm_start = true};
    return feed_reset(f, &opts, err);
}

hr_status hr__class_weights(hr_model *m, hr_class_weight_list list, hr_tensor *out, hr_error *err)
{
    HR_TRY(hr__list_check("on_batch", "class_weight", list.weight, list.count, err));
    if (list.count == 0) return HR_OK;
    if (m->outputs.count > 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.class_weight",
                       "model '%.60s': class_weight is for models of one output, this one has %d", m->name,
                       m->outputs.count);
    HR_TRY(hr_tensor_new(out, HR_FLOAT, HR_SHAPE(list.count), err));
    float *values = out->data;
    for (int i = 0; i < list.count; i++) values[i] = NAN;
    for (int i = 0; i < list.count; i++) {
        const int64_t label = list.weight[i].label;
        if (label < 0 || label >= list.count || !isnan(values[label]))
            return hr_fail(err, HR_INVALID_ARGUMENT, "models.class_weight",
                           "class_weight: expected the classes 0 to %d, each once, got class %lld", list.count - 1,
                           (long long)label);
        values[label] = list.weight[i].weight;
    }
    return HR_OK;
}
