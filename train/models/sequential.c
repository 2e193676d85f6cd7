/* Models of layers in a row, which are built as soon as the shape of a row is known. */
#include "train/models/models_internal.h"

#include <string.h>

static void sequential_take(hr_model *m, hr_layer *layer, int at)
{
    hr_error *err = &m->body->error;
    bool used = layer && (layer->body || layer->wrapped);
    for (int i = 0; i < m->pending.count; i++) used |= m->pending.at[i] == layer;
    hr_layer **place = layer && !used ? HR__LIST_ADD(&m->pending) : NULL;
    if (place) {
        *place = layer;
        return;
    }
    if (layer && !used) hr__layer_free(layer);
    if (err->code != HR_OK) return;
    if (!layer)
        (void)hr_fail(err, HR_INVALID_ARGUMENT, "models.layer", "model '%.60s': expected a layer in place %d, got NULL",
                      m->name, at);
    else if (used)
        (void)hr_fail(err, HR_INVALID_ARGUMENT, "models.shared",
                      "model '%.60s': the layer in place %d is used already; hr_connect shares layers within a model",
                      m->name, at);
    else
        (void)hr_no_memory(err, "a layer");
}

hr_model *hr_sequential_with(hr_layer_list layers, const hr_sequential_opts *opts)
{
    const hr_sequential_opts o = HR_OPTIONS(hr_sequential_opts, opts);
    hr_model *m = hr_model_new(.name = o.name && *o.name ? o.name : "sequential", .seed = o.seed);
    if (m) (void)hr__list_check("sequential", "layers", layers.layer, layers.count, &m->body->error);
    for (int i = 0; i < layers.count && layers.layer; i++)
        if (m)
            sequential_take(m, layers.layer[i], i);
        else if (layers.layer[i] && !layers.layer[i]->body && !layers.layer[i]->wrapped)
            hr__layer_free(layers.layer[i]);
    if (!m) return NULL;
    m->functional = false;
    m->input_dtype = o.input_dtype;
    m->batch_size = o.batch_size;
    for (int i = 0; i < m->pending.count && m->body->error.code == HR_OK; i++) {
        if (m->pending.at[i]->error.code == HR_OK) continue;
        m->body->error = m->pending.at[i]->error;
        if (!m->pending.at[i]->name) hr_error_prefix(&m->body->error, "model '%.60s': place %d: ", m->name, i);
    }
    m->input_shape = o.input_shape;
    if (o.input_shape.rank > 0) (void)hr_model_build(m, o.input_shape);
    return m;
}

/* The input, then one layer after the other. */
static hr_status sequential_build(hr_model *m, hr_shape shape, hr_dtype dtype)
{
    hr_symbol last = hr_model_input(m, shape, .dtype = dtype, .batch_size = m->batch_size);
    for (int i = 0; i < m->pending.count; i++) {
        hr_layer *layer = m->pending.at[i];
        m->pending.at[i] = NULL;
        last = hr_connect(layer, last);
    }
    m->pending.count = 0;
    return m->body->error.code == HR_OK ? hr_model_outputs(m, last) : m->body->error.code;
}

hr_status hr__model_built(hr_model *m, hr_shape shape, hr_dtype dtype, hr_error *err)
{
    if (m->body->error.code != HR_OK || m->built) {
        if (m->body->error.code != HR_OK) *err = m->body->error;
        return m->body->error.code;
    }
    if (m->functional)
        return hr_fail(err, HR_FAILED_PRECONDITION, "models.not_built",
                       "model '%.60s': it has no outputs yet; end its construction by hr_model_outputs", m->name);
    if (shape.rank < 0)
        return hr_fail(
            err, HR_FAILED_PRECONDITION, "models.not_built",
            "model '%.60s': it is not built yet; give .input_shape, or a first batch, or call hr_model_build", m->name);
    const hr_layer_kind *first = m->pending.count > 0 ? m->pending.at[0]->kind : NULL;
    if (dtype == HR_FLOAT && first && (first->traits & HR_LAYER_TAKES_IDS)) dtype = HR_INT64;
    const hr_status st = sequential_build(m, shape, m->input_dtype ? m->input_dtype : dtype);
    if (st != HR_OK) *err = m->body->error;
    return st;
}

hr_status hr_model_build(hr_model *m, hr_shape input_shape)
{
    hr_error err = {0};
    if (!m) return HR_INVALID_ARGUMENT;
    if (input_shape.rank < 0) input_shape = m->input_shape.rank > 0 ? m->input_shape : input_shape;
    const hr_status st = hr__model_built(m, input_shape, HR_FLOAT, &err);
    return st == HR_OK ? st : hr__model_failed(m, &err);
}
