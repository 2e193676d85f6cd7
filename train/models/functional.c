/* Models: the object, inputs, calls of layers, outputs; models of a part of another, and as a layer of another. */
#include "train/models/models_internal.h"

#include <stdio.h>
#include <string.h>

/* ---- inputs are layers, too ---- */

typedef struct input_config {
    hr_shape shape; /* with the batch */
    hr_dtype dtype;
} input_config;

static hr_node input_call(hr_layer_call *c, void *config)
{
    const input_config *o = config;
    return hr_placeholder(c->graph, o->dtype, o->shape, .name = hr_layer_name(c->layer));
}

static const hr_layer_kind input_kind = {
    .head = HR_LAYER_HEAD, .name = "InputLayer", .config_size = sizeof(input_config), .call = input_call};

/* ---- the object ---- */

hr_model *hr_model_new_with(const hr_model_opts *opts)
{
    const hr_model_opts o = HR_OPTIONS(hr_model_opts, opts);
    hr_model *m = hr_calloc(1, sizeof *m);
    if (!m) return NULL;
    m->body = hr__body_new(o.seed);
    m->name = hr_strdup(o.name && *o.name ? o.name : "model");
    m->functional = true;
    m->input_shape.rank = -1;
    if (m->body && m->name) return m;
    hr_model_free(m);
    return NULL;
}

void hr_model_free(hr_model *m)
{
    if (!m) return;
    hr__compiled_clear(&m->compiled);
    hr__function_free(m->train);
    hr__function_free(m->test);
    hr__function_free(m->predict);
    hr__logs_free(m->logs);
    hr__history_free(m->history);
    for (int i = 0; i < m->pending.count; i++) hr__layer_free(m->pending.at[i]);
    for (int i = 0; i < m->output_names.count; i++) hr_free(m->output_names.at[i]);
    hr_free(m->pending.at);
    hr_free(m->inputs.at);
    hr_free(m->outputs.at);
    hr_free(m->output_names.at);
    hr_free(m->order.at);
    hr__body_unref(m->body);
    hr_free(m->name);
    hr_free(m);
}

/* ---- construction ---- */

static hr_symbol symbol_failed(hr_model *m) { return (hr_symbol){m, -1, -1}; }

static hr_symbol symbol_fail(hr_model *m, const char *kind, const char *text)
{
    if (m && m->body->error.code == HR_OK) (void)hr_fail(&m->body->error, HR_INVALID_ARGUMENT, kind, "%s", text);
    return symbol_failed(m);
}

static bool symbol_is(hr_symbol s) { return s.model && s.value >= 0 && s.value < s.model->body->values.count; }

/* The error of the call that did not give the value; HR_OK: there is none. */
static hr_status symbol_lacks(hr_symbol s, hr_error *err)
{
    if (!s.model || s.value >= 0 || s.model->error.code == HR_OK) return HR_OK;
    *err = s.model->error;
    return err->code;
}

hr_symbol hr_model_input_with(hr_model *m, hr_shape shape, const hr_model_input_opts *opts)
{
    const hr_model_input_opts o = HR_OPTIONS(hr_model_input_opts, opts);
    input_config config = {.dtype = o.dtype ? o.dtype : HR_FLOAT};
    if (!m || m->body->error.code != HR_OK) return symbol_failed(m);
    if (shape.rank < 0 || shape.rank >= HR_MAX_RANK || o.batch_size < 0)
        return symbol_fail(m, "models.shape",
                           "model_input: expected a shape of a row, of a known rank, and a batch_size of 0 or more");
    if (m->built) return symbol_fail(m, "models.built", "model_input: the model has its outputs already");
    config.shape.rank = shape.rank + 1;
    config.shape.dims[0] = o.batch_size ? o.batch_size : -1;
    for (int i = 0; i < shape.rank; i++) config.shape.dims[i + 1] = shape.dims[i];
    hr_layer *layer = hr_layer_new(&input_kind, &config, &(hr_layer_common){.name = o.name});
    layer->input = layer->error.code == HR_OK;
    if (hr__body_take(m->body, layer) != HR_OK) return symbol_failed(m);
    const int value = hr__body_call(m->body, layer, NULL, 0);
    int *place = value >= 0 ? HR__LIST_ADD(&m->inputs) : NULL;
    if (!place) return symbol_failed(m);
    *place = value;
    return (hr_symbol){m, value, value};
}

static void layer_refuse(hr_layer *layer)
{
    if (layer && !layer->body && !layer->wrapped) hr__layer_free(layer);
}

hr_symbol hr_connect_all(hr_layer *layer, const hr_symbol *inputs, int count)
{
    int values[HR_MAX_LAYER_INPUTS];
    hr_model *m = inputs && count > 0 ? inputs[0].model : NULL;
    const char *wrong = NULL;
    if (!layer || !m) {
        layer_refuse(layer);
        return symbol_fail(m, "models.layer", "connect: expected a layer and its inputs, got NULL");
    }
    if (count > HR_MAX_LAYER_INPUTS) wrong = "connect: expected at most 64 inputs";
    for (int i = 0; i < count && !wrong; i++) {
        if (inputs[i].model && inputs[i].model->body != m->body)
            wrong = "connect: expected inputs of one model, got those of two";
        else if (!symbol_is(inputs[i])) {
            if (m->body->error.code == HR_OK) (void)symbol_lacks(inputs[i], &m->body->error);
            wrong = "connect: expected inputs that are values of a model";
        }
        values[i] = inputs[i].value;
    }
    if (wrong || m->body->error.code != HR_OK) {
        layer_refuse(layer);
        return wrong ? symbol_fail(m, "models.inputs", wrong) : symbol_failed(m);
    }
    if (hr__body_take(m->body, layer) != HR_OK) return symbol_failed(m);
    const int value = hr__body_call(m->body, layer, values, count);
    return value >= 0 ? (hr_symbol){m, value, value} : symbol_failed(m);
}

hr_symbol hr_symbol_output(hr_symbol s, int i)
{
    if (!symbol_is(s)) return s;
    const hr__call *c = &s.model->body->calls.at[s.model->body->values.at[s.value].call];
    if (i < 0 || i >= c->outputs)
        return symbol_fail(s.model, "models.outputs", "symbol_output: expected the number of an output of the layer");
    return (hr_symbol){s.model, c->first + i, c->first};
}

hr_shape hr_symbol_shape(hr_symbol s)
{
    return symbol_is(s) ? hr_node_shape(s.model->body->values.at[s.value].node) : (hr_shape){.rank = -1};
}

static hr_status model_add_values(hr_model *m, const hr_symbol *symbols, int count, bool outputs, hr_error *err)
{
    for (int i = 0; i < count; i++) {
        if (symbols) HR_TRY(symbol_lacks(symbols[i], err));
        if (!symbols || symbols[i].model == NULL || symbols[i].model->body != m->body || !symbol_is(symbols[i]))
            return hr_fail(err, HR_INVALID_ARGUMENT, "models.outputs",
                           "model '%.60s': expected values of this model as its %s", m->name,
                           outputs ? "outputs" : "inputs");
        int *place = outputs ? HR__LIST_ADD(&m->outputs) : HR__LIST_ADD(&m->inputs);
        if (!place) return hr_no_memory(err, "a model");
        *place = symbols[i].value;
    }
    if (count > 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.outputs", "model '%.60s': expected one %s or more, got none",
                   m->name, outputs ? "output" : "input");
}

static hr_status model_finish(hr_model *m, hr_error *err)
{
    bool *needed = hr_calloc((size_t)m->body->calls.count + 1, sizeof *needed);
    hr_status st = needed ? HR_OK : hr_no_memory(err, "a model");
    if (st == HR_OK)
        st = hr__body_needed(m->body, m->inputs.at, m->inputs.count, m->outputs.at, m->outputs.count, needed, err);
    hr_free(needed);
    HR_TRY(st);
    HR_TRY(hr__model_order(m, err));
    m->built = true;
    return HR_OK;
}

hr_status hr_model_outputs_of(hr_model *m, const hr_symbol *outputs, int count)
{
    if (!m) return HR_INVALID_ARGUMENT;
    hr_error *err = &m->body->error;
    if (err->code != HR_OK) return err->code;
    if (m->built)
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.built", "model '%.60s': it has its outputs already", m->name);
    HR_TRY(model_add_values(m, outputs, count, true, err));
    return model_finish(m, err);
}

hr_model *hr_submodel(hr_model *of, const hr_symbol *inputs, int input_count, const hr_symbol *outputs,
                      int output_count)
{
    if (!of) return NULL;
    hr_model *m = hr_model_new(.name = of->name);
    if (!m) return NULL;
    hr__body_unref(m->body);
    m->body = of->body;
    m->body->refs++;
    hr_error err = {0};
    hr_status st = model_add_values(m, inputs, input_count, false, &err);
    if (st == HR_OK) st = model_add_values(m, outputs, output_count, true, &err);
    if (st == HR_OK) st = model_finish(m, &err);
    if (st != HR_OK) hr__model_failed(m, &err);
    return m;
}

/* ---- a model as a layer ---- */

static hr_node model_call(hr_layer_call *c, void *config)
{
    hr_model *inner = *(hr_model **)config;
    hr__body *b = inner->body;
    hr_error err = {0};
    hr__at *at = hr_calloc((size_t)b->values.count + 1, sizeof *at);
    if (!at) return hr_node_fail(c->graph, HR_RESOURCE_EXHAUSTED, "memory", "no memory for a model");
    if (c->inputs != inner->inputs.count) {
        hr_free(at);
        return hr_layer_fail(c, "models.inputs", "expected %d inputs, got %d", inner->inputs.count, c->inputs);
    }
    for (int i = 0; i < c->inputs; i++) at[inner->inputs.at[i]] = (hr__at){c->input[i], c->mask[i]};
    b->exporting = c->exported;
    const hr_status st = hr__body_replay(b, c->graph, inner->outputs.at, inner->outputs.count, c->training, at, &err);
    b->exporting = false;
    c->outputs = inner->outputs.count;
    for (int i = 0; i < c->outputs && st == HR_OK; i++) {
        c->output[i] = at[inner->outputs.at[i]].node;
        c->output_mask[i] = at[inner->outputs.at[i]].mask;
    }
    hr_free(at);
    return st == HR_OK ? c->output[0] : hr_node_fail(c->graph, err.code, err.kind, "%s", err.text);
}

static void model_release(void *config) { hr_model_free(*(hr_model **)config); }

static hr_status model_check(const void *config, hr_error *err)
{
    const hr_model *inner = *(hr_model *const *)config;
    const hr_error *of = hr_model_error(inner);
    if (of) {
        *err = *of;
        return of->code;
    }
    if (inner->built && inner->inputs.count <= HR_MAX_LAYER_INPUTS && inner->outputs.count <= HR_MAX_LAYER_OUTPUTS &&
        inner->body->refs == 1)
        return HR_OK;
    return hr_fail(
        err, HR_FAILED_PRECONDITION, "models.layer",
        "model '%.60s': expected a model that is built, of at most %d outputs, without submodels, to become a "
        "layer",
        inner->name, HR_MAX_LAYER_OUTPUTS);
}

static const hr_layer_kind model_kind = {
    .head = HR_LAYER_HEAD,
    .name = "Functional",
    .config_size = sizeof(hr_model *),
    .call = model_call,
    .max_inputs = HR_MAX_LAYER_INPUTS,
    .check = model_check,
    .release = model_release,
};

hr_layer *hr_model_layer(hr_model *inner, const char *name)
{
    if (!inner) return hr_layer_new(NULL, NULL, NULL);
    hr_layer *layer = hr_layer_new(&model_kind, &inner, &(hr_layer_common){.name = name ? name : inner->name});
    layer->model = layer->error.code == HR_OK ? inner : NULL;
    return layer;
}
