/* The weights of a model: listed, read, set. */
#include "train/models/models_internal.h"

#include <string.h>

typedef struct weight_find {
    int wanted, count;
    hr_layer *layer;
    hr__layer_variable *weight;
    bool frozen;
} weight_find;

static hr_status weight_step(void *user, hr_layer *layer, hr__layer_variable *weight, bool frozen)
{
    weight_find *f = user;
    if (f->count++ != f->wanted) return HR_OK;
    f->layer = layer;
    f->weight = weight;
    f->frozen = frozen;
    return HR_END;
}

static bool weight_at(hr_model *m, int i, weight_find *f)
{
    *f = (weight_find){.wanted = i};
    return m && hr__each_weight(m, weight_step, f) == HR_END;
}

int hr_model_weights(hr_model *m)
{
    weight_find f = {.wanted = -1};
    if (m) (void)hr__each_weight(m, weight_step, &f);
    return f.count;
}

hr_weight_info hr_model_weight(hr_model *m, int i)
{
    weight_find f;
    if (!weight_at(m, i, &f)) return (hr_weight_info){.name = ""};
    const hr_variable_info *v = hr_variable_named(m->body->graph, f.weight->name);
    return (hr_weight_info){.name = f.weight->title,
                            .dtype = v ? v->dtype : HR_FLOAT,
                            .shape = v ? v->shape : (hr_shape){.rank = -1},
                            .trainable = f.weight->trainable && !f.frozen,
                            .layer = f.layer};
}

hr_status hr__weights_ready(hr_model *m, hr_error *err)
{
    const hr_error *of = m ? hr_model_error(m) : NULL;
    if (!m) return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "model: expected one, got NULL");
    if (m->body->error.code != HR_OK) {
        if (err) *err = *of;
        return of->code;
    }
    /* A scalar as the shape says that it is not known yet. */
    const hr_shape shape = m->input_shape.rank > 0 ? m->input_shape : (hr_shape){.rank = -1};
    HR_TRY(hr__model_built(m, shape, HR_FLOAT, err));
    return hr__body_session(m->body, err);
}

hr_status hr_get_weight(hr_model *m, int i, hr_tensor *out, hr_error *err)
{
    weight_find f;
    if (!out) return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "get_weight: expected a place, got NULL");
    *out = (hr_tensor){0};
    HR_TRY(hr__weights_ready(m, err));
    if (!weight_at(m, i, &f))
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.weights",
                       "model '%.60s': expected a weight from 0 to %d, got %d", m->name, f.count - 1, i);
    return hr_session_get(m->body->session, hr_variable_named(m->body->graph, f.weight->name)->handle, out, err);
}

typedef struct weight_set {
    hr_model *m;
    const hr_tensor *values;
    int at;
    bool write;
    hr_error *err;
} weight_set;

/* All are checked before the first is written. */
static hr_status weight_set_step(void *user, hr_layer *layer, hr__layer_variable *weight, bool frozen)
{
    weight_set *s = user;
    const hr_variable_info *v = hr_variable_named(s->m->body->graph, weight->name);
    const hr_tensor *value = &s->values[s->at++];
    char found[128], wanted[128];
    (void)layer, (void)frozen;
    if (s->write) return hr_session_set(s->m->body->session, v->handle, value, s->err);
    if (value->dtype == v->dtype && hr_shape_equal(value->shape, v->shape)) return HR_OK;
    return hr_fail(s->err, HR_INVALID_ARGUMENT, "models.weights",
                   "model '%.60s': weight %d, '%.60s': expected %s %s, got %s %s", s->m->name, s->at - 1, weight->title,
                   hr_dtype_name(v->dtype), hr_shape_text(v->shape, wanted, sizeof wanted), hr_dtype_name(value->dtype),
                   hr_shape_text(value->shape, found, sizeof found));
}

hr_status hr_set_weights(hr_model *m, const hr_tensor *weights, int count, hr_error *err)
{
    HR_TRY(hr__weights_ready(m, err));
    const int expected = hr_model_weights(m);
    if (count != expected || (count > 0 && !weights))
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.weights", "model '%.60s': expected %d weights, got %d",
                       m->name, expected, count);
    HR_TRY(hr__each_weight(m, weight_set_step, &(weight_set){.m = m, .values = weights, .err = err}));
    return hr__each_weight(m, weight_set_step, &(weight_set){.m = m, .values = weights, .write = true, .err = err});
}
