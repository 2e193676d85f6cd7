/* The body of a model: layers, what they were called with, the graph of predictions and the session with the weights. */
#include "train/models/models_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { BODY_NAME = 256 };

hr__body *hr__body_new(int64_t seed)
{
    hr__body *b = hr_calloc(1, sizeof *b);
    if (!b) return NULL;
    b->refs = 1;
    b->seed = seed;
    b->graph = hr_graph_new();
    if (!b->graph) {
        hr_free(b);
        return NULL;
    }
    if (seed) hr_set_random_seed(b->graph, seed);
    return b;
}

void hr__body_unref(hr__body *b)
{
    if (!b || --b->refs > 0) return;
    hr_session_free(b->session);
    hr_graph_free(b->graph);
    for (int i = 0; i < b->layers.count; i++) hr__layer_free(b->layers.at[i]);
    for (int i = 0; i < b->calls.count; i++) hr_free(b->calls.at[i].input);
    hr_free(b->layers.at);
    hr_free(b->calls.at);
    hr_free(b->values.at);
    hr__map_free(&b->names);
    hr_free(b);
}

/* ---- names ---- */

/* "PReLU" is p_re_lu, "Conv1DTranspose" conv1d_transpose. */
void hr__snake_case(const char *class, char *out, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; class[i] && n + 2 < size; i++) {
        const unsigned char c = (unsigned char)class[i], next = (unsigned char)class[i + 1];
        if (i > 0 && isupper(c) && (islower(next) || isdigit(next) || islower((unsigned char)class[i - 1])))
            out[n++] = '_';
        out[n++] = (char)tolower(c);
    }
    out[n] = '\0';
}

/* Layers within others have names, too: they count as those of the same kind that stand alone, but may be equal to them.
 * Their keys begin with '/'. */
static bool body_has(hr__body *b, const char *name)
{
    char inner[BODY_NAME + 32];
    const int length = snprintf(inner, sizeof inner, "/%s", name);
    return hr__map_find(&b->names, name, strlen(name)) || hr__map_find(&b->names, inner, (size_t)length);
}

/* "dense", "dense_1", ...; inputs from "input_1" on. */
static hr_status body_give_name(hr__body *b, hr_layer *layer, hr_error *err)
{
    char base[BODY_NAME], name[BODY_NAME + 16];
    if (layer->name) return HR_OK;
    if (layer->input)
        (void)snprintf(base, sizeof base, "input");
    else
        hr__snake_case(layer->kind->name, base, sizeof base);
    (void)snprintf(name, sizeof name, "%s", base);
    for (int i = 1; layer->input || body_has(b, name); i++) {
        (void)snprintf(name, sizeof name, "%s_%d", base, i);
        if (!body_has(b, name)) break;
    }
    layer->name = hr_strdup(name);
    return layer->name ? HR_OK : hr_no_memory(err, "a layer");
}

static hr_status body_name_inner(hr__body *b, const hr_layer *layer, hr_error *err)
{
    for (int i = 0; i < layer->inner.count; i++) {
        hr_layer *inner = layer->inner.at[i];
        char key[2 * BODY_NAME];
        HR_TRY(body_give_name(b, inner, err));
        const int length = snprintf(key, sizeof key, "/%.*s", BODY_NAME, inner->name);
        if (!hr__map_find(&b->names, key, (size_t)length))
            HR_TRY(hr__map_add(&b->names, key, (size_t)length, b->layers.count, err));
        HR_TRY(body_name_inner(b, inner, err));
    }
    return HR_OK;
}

static hr_status body_name(hr__body *b, hr_layer *layer, hr_error *err)
{
    HR_TRY(body_name_inner(b, layer, err));
    HR_TRY(body_give_name(b, layer, err));
    const hr_status st = hr__map_add(&b->names, layer->name, strlen(layer->name), b->layers.count, err);
    if (st != HR_ALREADY_EXISTS) return st;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.name",
                   "layer '%.60s' (%.60s): expected a name that no other layer of the model has; give it another .name",
                   layer->name, layer->kind->name);
}

/* ---- layers ---- */

/* Layers of a model within this one are now in its scope. */
static hr_status body_rescope(hr_layer *layer, const char *around)
{
    hr_model *inner = layer->model;
    char text[2 * BODY_NAME];
    if (!inner) return HR_OK;
    for (int i = 0; i < inner->body->layers.count; i++) {
        hr_layer *in = inner->body->layers.at[i];
        (void)snprintf(text, sizeof text, "%s/%s", around, in->scope);
        hr_free(in->scope);
        in->scope = hr_strdup(text);
        if (!in->scope) return HR_RESOURCE_EXHAUSTED;
        for (int k = 0; k < in->variables.count; k++) {
            (void)snprintf(text, sizeof text, "%s/%s", around, in->variables.at[k].name);
            hr_free(in->variables.at[k].name);
            in->variables.at[k].name = hr_strdup(text);
            if (!in->variables.at[k].name) return HR_RESOURCE_EXHAUSTED;
        }
        HR_TRY(body_rescope(in, around));
    }
    return HR_OK;
}

hr_status hr__body_take(hr__body *b, hr_layer *layer)
{
    if (layer->body == b) return HR_OK;
    if (layer->body || layer->wrapped)
        return hr_fail(
            &b->error, HR_INVALID_ARGUMENT, "models.shared",
            "layer '%.60s' (%.60s): it belongs to another model, or to a layer; make a layer of that model, or "
            "a submodel of it",
            hr_layer_name(layer), layer->kind->name);
    hr_layer **place = layer->error.code == HR_OK ? HR__LIST_ADD(&b->layers) : NULL;
    if (!place) {
        if (layer->error.code == HR_OK)
            hr_no_memory(&b->error, "a layer");
        else
            b->error = layer->error;
        hr__layer_free(layer);
        return b->error.code;
    }
    *place = layer; /* from here on the body frees it */
    b->layers.count--;
    const hr_status named = body_name(b, layer, &b->error);
    b->layers.count++;
    layer->body = b;
    layer->index = b->layers.count - 1;
    HR_TRY(named);
    layer->scope = hr_strdup(layer->name);
    if (!layer->scope || body_rescope(layer, layer->name) != HR_OK) return hr_no_memory(&b->error, "a layer");
    return HR_OK;
}

static void body_fail_of_graph(hr__body *b, const hr_layer *layer)
{
    const hr_error *of = hr_graph_error(b->graph);
    if (!of) {
        hr_no_memory(&b->error, "a layer");
        return;
    }
    b->error = *of;
    hr_error_prefix(&b->error, "layer '%.60s' (%.60s): ", layer->name, layer->kind->name);
}

int hr__body_call(hr__body *b, hr_layer *layer, const int *inputs, int count)
{
    hr__at in[HR_MAX_LAYER_INPUTS], out[HR_MAX_LAYER_OUTPUTS];
    for (int i = 0; i < count; i++) in[i] = (hr__at){b->values.at[inputs[i]].node, b->values.at[inputs[i]].mask};
    const int outputs = hr__layer_place(layer, b->graph, in, count, false, out);
    if (outputs < 0) {
        body_fail_of_graph(b, layer);
        return -1;
    }
    hr__call *call = HR__LIST_ADD(&b->calls);
    const int number = b->calls.count - 1, first = b->values.count;
    if (call) *call = (hr__call){layer, count, hr_memdup(inputs, (size_t)count * sizeof *inputs), first, outputs};
    for (int i = 0; i < outputs && call; i++) {
        hr__value *value = HR__LIST_ADD(&b->values);
        if (!value) call = NULL;
        if (value) *value = (hr__value){number, out[i].node, out[i].mask};
    }
    if (call && b->calls.at[number].input) return first;
    hr_no_memory(&b->error, "a layer");
    return -1;
}

/* ---- the same calls in other graphs ---- */

hr_status hr__body_needed(hr__body *b, const int *inputs, int input_count, const int *outputs, int output_count,
                          bool *call, hr_error *err)
{
    bool *value = hr_calloc((size_t)b->values.count + 1, sizeof *value);
    hr_status st = value ? HR_OK : hr_no_memory(err, "a model");
    for (int i = 0; i < output_count && value; i++) value[outputs[i]] = true;
    for (int i = 0; i < input_count && value; i++) value[inputs[i]] = false;
    for (int i = b->calls.count - 1; i >= 0 && st == HR_OK; i--) {
        const hr__call *c = &b->calls.at[i];
        for (int k = 0; k < c->outputs; k++) call[i] |= value[c->first + k];
        if (call[i] && c->layer->input)
            st = hr_fail(err, HR_INVALID_ARGUMENT, "models.disconnected",
                         "model: the outputs depend on the input '%.60s', which is not among the model's inputs",
                         c->layer->name);
        for (int k = 0; k < c->inputs && call[i]; k++) {
            bool given = false;
            for (int n = 0; n < input_count; n++) given |= inputs[n] == c->input[k];
            value[c->input[k]] |= !given;
        }
    }
    hr_free(value);
    return st;
}

hr_status hr__body_replay(hr__body *b, hr_graph *g, const int *outputs, int count, bool training, hr__at *at,
                          hr_error *err)
{
    HR__LIST(int) given = {0};
    bool *call = hr_calloc((size_t)b->calls.count + 1, sizeof *call);
    hr_status st = call ? HR_OK : hr_no_memory(err, "a model");
    for (int i = 0; i < b->values.count && st == HR_OK; i++)
        if (at[i].node.graph) {
            int *number = HR__LIST_ADD(&given);
            if (number) *number = i;
            if (!number) st = hr_no_memory(err, "a model");
        }
    if (st == HR_OK) st = hr__body_needed(b, given.at, given.count, outputs, count, call, err);
    for (int i = 0; i < b->calls.count && st == HR_OK; i++) {
        const hr__call *c = &b->calls.at[i];
        hr__at in[HR_MAX_LAYER_INPUTS], out[HR_MAX_LAYER_OUTPUTS];
        if (!call[i]) continue;
        for (int k = 0; k < c->inputs; k++) in[k] = at[c->input[k]];
        const int made = hr__layer_place(c->layer, g, in, c->inputs, training, out);
        if (made < 0) {
            const hr_error *of = hr_graph_error(g);
            st = of ? of->code : hr_no_memory(err, "a model");
            if (of && err) *err = *of;
            hr_error_prefix(err, "layer '%.60s' (%.60s): ", c->layer->name, c->layer->kind->name);
        }
        for (int k = 0; k < made; k++) at[c->first + k] = out[k];
    }
    hr_free(given.at);
    hr_free(call);
    return st;
}

/* ---- the session ---- */

/* The values that `part`, a model within that of the session `from`, had before it became a part of `to`. Its names had
 * no prefix then. */
static hr_status move_values(hr__body *from, const hr__body *part, hr__body *to, size_t prefix, hr_error *err)
{
    hr_tensor value;
    for (int i = 0; i < part->layers.count; i++) {
        const hr_layer *layer = part->layers.at[i];
        if (layer->model) HR_TRY(move_values(from, layer->model->body, to, prefix, err));
        for (int k = 0; k < layer->variables.count; k++) {
            const char *name = layer->variables.at[k].name;
            const hr_variable_info *had = hr_variable_named(from->graph, name + prefix);
            const hr_variable_info *has = hr_variable_named(to->graph, name);
            if (!had || !has) continue;
            HR_TRY(hr_session_get(from->session, had->handle, &value, err));
            const hr_status st = hr_session_set(to->session, has->handle, &value, err);
            hr_tensor_clear(&value);
            HR_TRY(st);
        }
    }
    return HR_OK;
}

/* The weights that models within this one had before they were put into it. */
static hr_status body_move_weights(hr__body *b, hr_error *err)
{
    for (int i = 0; i < b->layers.count; i++) {
        const hr_layer *layer = b->layers.at[i];
        hr__body *inner = layer->model ? layer->model->body : NULL;
        if (!inner || !inner->session) continue;
        HR_TRY(move_values(inner, inner, b, strlen(layer->scope) + 1, err));
        hr_session_free(inner->session);
        inner->session = NULL;
    }
    return HR_OK;
}

hr_status hr__body_session(hr__body *b, hr_error *err)
{
    const int count = hr_graph_variables(b->graph);
    hr_node init;
    if (!b->session) b->session = hr_session_new(b->graph);
    if (!b->session) return hr_no_memory(err, "a session");
    for (; b->initialized < count; b->initialized++) {
        init = hr_target(hr_graph_variable(b->graph, b->initialized)->initializer);
        HR_TRY(hr_session_run(b->session, NULL, 0, &init, 1, NULL, err));
    }
    return body_move_weights(b, err);
}
