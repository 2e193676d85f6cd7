/* What every call of a model needs: its error, name, layers, inputs and outputs, its graph; states of layers. */
#include "train/models/models_internal.h"

#include <stdio.h>
#include <string.h>

const char *hr_model_name(const hr_model *m) { return m ? m->name : ""; }

const hr_error *hr_model_error(const hr_model *m)
{
    if (!m) return NULL;
    if (m->body->error.code != HR_OK) return &m->body->error;
    return m->error.code != HR_OK ? &m->error : NULL;
}

hr_status hr__model_failed(hr_model *m, const hr_error *err)
{
    m->error = *err;
    return err->code;
}

hr_status hr__number_check(const char *call, const char *name, int64_t value, hr_error *err)
{
    if (value >= 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "%s: %s: expected 0 (the default) or more, got %lld",
                   call, name, (long long)value);
}

hr_status hr__list_check(const char *call, const char *name, const void *list, int count, hr_error *err)
{
    if (count == 0 || (count > 0 && list)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "%s: %s: expected a list, got %s with a count of %d",
                   call, name, list ? "one" : "NULL", count);
}

hr_status hr__model_begin(hr_model *m, hr_error *err)
{
    memset(&m->error, 0, sizeof m->error);
    if (m->body->error.code == HR_OK) return HR_OK;
    *err = m->body->error;
    return err->code;
}

int hr_model_layers(const hr_model *m) { return m ? m->built ? m->order.count : m->pending.count : 0; }

hr_layer *hr_model_layer_at(const hr_model *m, int i)
{
    if (i < 0 || i >= hr_model_layers(m)) return NULL;
    return m->built ? m->order.at[i] : m->pending.at[i];
}

hr_layer *hr_get_layer(hr_model *m, const char *name)
{
    char known[256] = "";
    hr_error err = {0};
    if (!m) return NULL;
    for (int i = 0; i < hr_model_layers(m) && name; i++) {
        const char *own = hr_layer_name(hr_model_layer_at(m, i));
        const size_t n = strlen(known);
        if (strcmp(own, name) == 0) return hr_model_layer_at(m, i);
        (void)snprintf(known + n, sizeof known - n, "%s\"%.40s\"", i ? ", " : "", own);
    }
    (void)hr_fail(&err, HR_INVALID_ARGUMENT, "models.layer", "model '%.60s': there is no layer \"%.60s\"; it has %s",
                  m->name, name ? name : "", known);
    hr__model_failed(m, &err);
    return NULL;
}

hr_graph *hr_model_graph(hr_model *m) { return m ? m->body->graph : NULL; }

hr_session *hr_model_session(hr_model *m)
{
    hr_error err = {0};
    if (!m || hr__body_session(m->body, &err) != HR_OK) return NULL;
    return m->body->session;
}

int hr_model_inputs(const hr_model *m) { return m ? m->inputs.count : 0; }
int hr_model_output_count(const hr_model *m) { return m ? m->outputs.count : 0; }

static hr_node value_node(const hr_model *m, const int *values, int count, int i)
{
    return m && i >= 0 && i < count ? m->body->values.at[values[i]].node : (hr_node){0};
}

hr_node hr_model_input_node(hr_model *m, int i)
{
    return m ? value_node(m, m->inputs.at, m->inputs.count, i) : (hr_node){0};
}
hr_node hr_model_output_node(hr_model *m, int i)
{
    return m ? value_node(m, m->outputs.at, m->outputs.count, i) : (hr_node){0};
}

const char *hr_model_input_name(const hr_model *m, int i)
{
    if (!m || i < 0 || i >= m->inputs.count) return "";
    return hr_layer_name(m->body->calls.at[m->body->values.at[m->inputs.at[i]].call].layer);
}

const char *hr_model_output_name(const hr_model *m, int i)
{
    return m && i >= 0 && i < m->output_names.count ? m->output_names.at[i] : "";
}

/* ---- states ---- */

static hr_status reset_states(hr_model *m, hr__body *b, hr_error *err)
{
    for (int i = 0; i < m->body->layers.count; i++) {
        const hr_layer *layer = m->body->layers.at[i];
        if (layer->model) HR_TRY(reset_states(layer->model, b, err));
        for (int k = 0; k < layer->variables.count; k++) {
            const hr_variable_info *v = hr_variable_named(b->graph, layer->variables.at[k].name);
            if (!layer->variables.at[k].state || !v) continue;
            const hr_node init = hr_target(v->initializer);
            HR_TRY(hr_session_run(b->session, NULL, 0, &init, 1, NULL, err));
        }
    }
    return HR_OK;
}

hr_status hr_reset_states(hr_model *m)
{
    hr_error err = {0};
    if (!m) return HR_INVALID_ARGUMENT;
    hr_status st = hr__model_begin(m, &err);
    if (st == HR_OK && m->built) st = hr__body_session(m->body, &err);
    if (st == HR_OK && m->built) st = reset_states(m, m->body, &err);
    return st == HR_OK ? st : hr__model_failed(m, &err);
}
