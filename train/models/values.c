/* Values of a model that is there: what its layers make, its inputs and outputs. */
#include "train/models/models_internal.h"

static hr_symbol symbol_lacking(hr_model *m, const hr_error *err)
{
    if (m) hr__model_failed(m, err);
    return (hr_symbol){m, -1, -1};
}

static hr_status symbols_ready(hr_model *m, hr_error *err)
{
    if (!m) return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "model: expected one, got NULL");
    HR_TRY(hr__model_begin(m, err));
    return hr__model_built(m, m->input_shape.rank > 0 ? m->input_shape : (hr_shape){.rank = -1}, HR_FLOAT, err);
}

static hr_status layer_call_of(hr_model *m, const hr_layer *layer, int *value, hr_error *err)
{
    int calls = 0;
    HR_TRY(symbols_ready(m, err));
    for (int i = 0; layer && i < m->body->calls.count; i++)
        if (m->body->calls.at[i].layer == layer && calls++ == 0) *value = m->body->calls.at[i].first;
    if (calls == 1) return HR_OK;
    if (calls > 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.layer",
                       "model '%.60s': layer '%.60s' is called %d times; take the value that hr_connect gave", m->name,
                       layer->name, calls);
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.layer", "model '%.60s': expected a layer of it, got %s%.60s%s",
                   m->name, layer ? "'" : "NULL", layer ? hr_layer_name(layer) : "", layer ? "'" : "");
}

hr_symbol hr_layer_output(hr_model *m, const hr_layer *layer)
{
    hr_error err = {0};
    int value = -1;
    return layer_call_of(m, layer, &value, &err) == HR_OK ? (hr_symbol){m, value, value} : symbol_lacking(m, &err);
}

static hr_symbol symbol_at(hr_model *m, int i, bool output)
{
    hr_error err = {0};
    hr_status st = symbols_ready(m, &err);
    const int count = st == HR_OK ? output ? m->outputs.count : m->inputs.count : 0;
    if (st == HR_OK && (i < 0 || i >= count))
        st = hr_fail(&err, HR_INVALID_ARGUMENT, "models.argument", "model '%.60s': expected an %s from 0 to %d, got %d",
                     m->name, output ? "output" : "input", count - 1, i);
    if (st != HR_OK) return symbol_lacking(m, &err);
    const int value = output ? m->outputs.at[i] : m->inputs.at[i];
    return (hr_symbol){m, value, m->body->calls.at[m->body->values.at[value].call].first};
}

hr_symbol hr_model_input_symbol(hr_model *m, int i) { return symbol_at(m, i, false); }
hr_symbol hr_model_output_symbol(hr_model *m, int i) { return symbol_at(m, i, true); }
