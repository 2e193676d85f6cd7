/* A layer: its kind, arguments and variables; what the kit gives to kinds; one call of a layer in a graph. */
#include "base/constructor.h"
#include "base/descriptor.h"
#include "base/text.h"
#include "train/models/models_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LAYER_CONSTRAINTS = 16, LAYER_ATTRIBUTES = 64, LAYER_TEXT = 512 };

/* A call with what only the library knows of it. */
typedef struct hr_layer_placing {
    hr_layer_call call;
    hr_layer *owner;                            /* has the variables: of a layer within another one, that one */
    char around[LAYER_TEXT], scope[LAYER_TEXT]; /* the scopes around the layer's own, and that */
    bool recording;                             /* the first call: its variables are noted */
    struct {
        char name[64];
        hr_constraint constraint;
    } constrained[LAYER_CONSTRAINTS];
    int constraints;
    struct {
        char scope[LAYER_TEXT / 2]; /* within the layer's own */
        char name[64];
    } attribute[LAYER_ATTRIBUTES];
    int attributes;
} placing;

static placing *placing_of(hr_layer_call *c) { return c ? c->placing : NULL; }

void *hr__list_add(void *list, size_t size)
{
    HR__LIST(char) *l = list;
    if (l->count == l->capacity) {
        const int capacity = l->capacity ? 2 * l->capacity : 4;
        char *grown = hr_realloc(l->at, (size_t)capacity * size);
        if (!grown) return NULL;
        l->at = grown;
        l->capacity = capacity;
    }
    return memset(l->at + (size_t)l->count++ * size, 0, size);
}

/* ---- the object ---- */

static const hr__descriptor_kind layer_kinds = {
    .what = "layer",
    .status = HR_FAILED_PRECONDITION,
    .error = "models.layer_abi",
    .version = HR_LAYER_ABI,
    .size = sizeof(hr_layer_kind),
    .min_size = offsetof(hr_layer_kind, traits),
};

/* What stands in for a layer that there is no memory for. */
static hr_layer lost = {.error = HR__NO_MEMORY_FOR("a layer")};

/* A model has layers with weights of their own, which most wrappers do not know. */
static const hr_error not_within = {.code = HR_UNIMPLEMENTED,
                                    .kind = "models.layer",
                                    .record = -1,
                                    .line = -1,
                                    .offset = -1,
                                    .length = -1,
                                    .compressed_offset = -1,
                                    .column = -1,
                                    .text = "layer: a model cannot be within this wrapper"};

static void layer_drop_config(const hr_layer_kind *kind, const void *config)
{
    if (config && kind && kind->release) kind->release((void *)config);
}

void hr__layer_free(hr_layer *layer)
{
    if (!layer || layer == &lost) return;
    layer_drop_config(layer->kind, layer->config);
    hr_free(layer->config);
    for (int i = 0; i < layer->inner.count; i++) hr__layer_free(layer->inner.at[i]);
    hr_free(layer->inner.at);
    for (int i = 0; i < layer->variables.count; i++) {
        hr_free(layer->variables.at[i].name);
        hr_free(layer->variables.at[i].title);
        hr_free(layer->variables.at[i].path);
    }
    hr_free(layer->variables.at);
    hr_free(layer->name);
    hr_free(layer->scope);
    hr_free(layer);
}

static hr_status layer_check(hr_layer *layer, const hr_layer_kind *given, const hr_layer_common *common)
{
    const void *fits;
    hr_error *err = &layer->error;
    HR_TRY(hr__descriptor_fit(&layer_kinds, given, &layer->own_kind, &fits, err));
    layer->kind = fits;
    if (!layer->kind->name || !layer->kind->call)
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.layer_abi", "layer: expected a kind with a name and a call");
    if (common && common->name && !*common->name)
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.name", "layer: expected a name, got \"\"");
    return HR_OK;
}

/* Names the layer in its error. It may have no name yet: that comes from its model. */
static hr_status layer_fails(hr_layer *layer, hr_status st)
{
    if (layer->name)
        hr_error_prefix(&layer->error, "layer '%.60s' (%.60s): ", layer->name, layer->kind->name);
    else
        hr_error_prefix(&layer->error, "layer (%.60s): ", layer->kind->name);
    return st;
}

/* The layers within it are its own from here on, and their errors, too. */
static hr_status layer_take_inner(hr_layer *layer, const void *config)
{
    hr_status st = HR_OK;
    hr_layer *inner;
    for (int i = 0; layer->kind->inner && (inner = layer->kind->inner(config, i)); i++) {
        if (inner->body || inner->wrapped) {
            if (st == HR_OK)
                st = layer_fails(layer, hr_fail(&layer->error, HR_INVALID_ARGUMENT, "models.shared",
                                                "expected layers that are in no model and in no other layer"));
            continue;
        }
        const bool holds = (layer->kind->traits & HR_LAYER_HOLDS_MODEL) && i == 0;
        const hr_error *of = inner->model && !holds ? &not_within : &inner->error;
        if (holds) layer->model = inner->model;
        if (st == HR_OK && of->code != HR_OK) st = (layer->error = *of).code;
        hr_layer **place = inner == &lost ? NULL : HR__LIST_ADD(&layer->inner);
        if (place) {
            *place = inner;
            inner->wrapped = true;
            continue;
        }
        hr__layer_free(inner);
        if (st == HR_OK) st = hr_no_memory(&layer->error, "a layer");
    }
    return st;
}

static hr_status layer_take_config(hr_layer *layer, const void *config)
{
    if (layer->kind->config_size) {
        layer->config = hr_memdup(config, layer->kind->config_size);
        if (!layer->config) layer_drop_config(layer->kind, config);
    }
    const hr_status st = layer_take_inner(layer, config);
    if (layer->kind->config_size && !layer->config) return hr_no_memory(&layer->error, "a layer");
    return st;
}

static hr_status layer_check_config(hr_layer *layer)
{
    if (!layer->kind->check) return HR_OK;
    const hr_status st = hr__descriptor_answer(layer->kind->name, "models.layer",
                                               layer->kind->check(layer->config, &layer->error), &layer->error);
    return st == HR_OK ? st : layer_fails(layer, st);
}

static hr_layer *layer_lost(const hr_layer_kind *kind, const void *config)
{
    hr_layer *inner;
    if (!kind || kind->head.abi_version != HR_LAYER_ABI || kind->head.struct_size != sizeof *kind) return &lost;
    for (int i = 0; kind->inner && (inner = kind->inner(config, i)); i++)
        if (!inner->body && !inner->wrapped) hr__layer_free(inner);
    layer_drop_config(kind, config);
    return &lost;
}

hr_layer *hr_layer_new(const hr_layer_kind *kind, const void *config, const hr_layer_common *common)
{
    hr_layer *layer = hr_calloc(1, sizeof *layer);
    if (!layer) return layer_lost(kind, config);
    layer->output_shape.rank = -1;
    hr_status st = layer_check(layer, kind, common);
    if (common) {
        layer->frozen = common->not_trainable;
        layer->activity = common->activity_regularizer;
        layer->name = hr_strdup(common->name);
        if (common->name && !layer->name && st == HR_OK) st = hr_no_memory(&layer->error, "a layer");
    }
    if (layer->kind) {
        const hr_status taken = layer_take_config(layer, config);
        if (st == HR_OK) st = taken;
    }
    if (st == HR_OK) st = layer_check_config(layer);
    if (st != HR_OK) layer->error.code = st;
    return layer;
}

const char *hr_layer_name(const hr_layer *layer) { return layer && layer->name ? layer->name : ""; }
const hr_layer_kind *hr_layer_kind_of(const hr_layer *layer) { return layer ? layer->kind : NULL; }
const void *hr_layer_config(const hr_layer *layer) { return layer ? layer->config : NULL; }

hr_shape hr_layer_output_shape(const hr_layer *layer) { return layer ? layer->output_shape : (hr_shape){.rank = -1}; }

void hr_layer_freeze(hr_layer *layer, bool frozen)
{
    if (layer && layer != &lost) layer->frozen = frozen;
}

/* ---- for kinds ---- */

const char *hr_layer_scope(const hr_layer_call *c) { return c && c->placing ? c->placing->scope : ""; }

hr_node hr_layer_fail(hr_layer_call *c, const char *kind, const char *format, ...)
{
    char text[LAYER_TEXT];
    va_list args;
    if (!c || !format) return (hr_node){0};
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return hr_node_fail(c->graph, HR_INVALID_ARGUMENT, kind, "%s", text);
}

static hr_dtype layer_type(const hr_layer_call *c)
{
    const hr_dtype type = c->inputs > 0 ? hr_node_dtype(c->input[0]) : HR_FLOAT;
    return type == HR_DOUBLE || type == HR_HALF || type == HR_BFLOAT16 ? type : HR_FLOAT;
}

hr_node hr_layer_weight_with(hr_layer_call *c, const char *name, hr_shape shape, const hr_layer_weight_opts *opts)
{
    const hr_layer_weight_opts o = HR_OPTIONS(hr_layer_weight_opts, opts);
    if (!placing_of(c) || !name) return hr_layer_fail(c, "models.argument", "a weight: expected a name, got NULL");
    hr_variable_scope(c->graph, hr_layer_scope(c));
    const int before = hr_graph_variables(c->graph);
    const hr_node weight = hr_get_variable(c->graph, name, layer_type(c), shape, .initializer = o.initializer,
                                           .not_trainable = o.not_trainable);
    const bool costs = (o.regularizer.l1 != 0 || o.regularizer.l2 != 0) && hr_graph_variables(c->graph) > before;
    if (costs) hr_layer_loss(c, hr_regularization_loss(weight, o.regularizer));
    hr_scope_end(c->graph);
    if (o.constraint.apply) hr_layer_constrain(c, name, o.constraint);
    return weight;
}

void hr_layer_constrain(hr_layer_call *c, const char *name, hr_constraint constraint)
{
    placing *p = placing_of(c);
    if (!p || !name || !p->recording || !constraint.apply) return;
    if (p->constraints == LAYER_CONSTRAINTS) {
        hr_layer_fail(c, "models.layer", "expected at most %d weights with a constraint", LAYER_CONSTRAINTS);
        return;
    }
    (void)snprintf(p->constrained[p->constraints].name, sizeof p->constrained->name, "%s", name);
    p->constrained[p->constraints++].constraint = constraint;
}

void hr_layer_attribute(hr_layer_call *c, const char *scope, const char *attribute)
{
    placing *p = placing_of(c);
    if (!p || !scope || !attribute || !p->recording) return;
    const size_t size = strlen(scope), name = strlen(attribute);
    if (p->attributes == LAYER_ATTRIBUTES || size >= sizeof p->attribute->scope || name >= sizeof p->attribute->name) {
        hr_layer_fail(c, "models.layer",
                      "attribute \"%.60s\" of scope \"%.60s\": expected at most %d attributes, and shorter names",
                      attribute, scope, LAYER_ATTRIBUTES);
        return;
    }
    memcpy(p->attribute[p->attributes].scope, scope, size + 1);
    memcpy(p->attribute[p->attributes++].name, attribute, name + 1);
}

static const char *layer_attribute_of(const placing *p, const char *scope, size_t size)
{
    for (int i = 0; i < p->attributes; i++)
        if (strlen(p->attribute[i].scope) == size && memcmp(p->attribute[i].scope, scope, size) == 0)
            return p->attribute[i].name;
    return NULL;
}

/* The place of a variable in files. An attribute of "a" stands for that part of the name, one of "a/" and of "" comes
 * between the parts. Gives; NULL: no memory. */
static char *layer_path(const placing *p, const char *name)
{
    const size_t scope = strlen(p->owner->scope);
    hr__text path = {0};
    if (strncmp(name, p->owner->scope, scope) == 0 && name[scope] == '/') name += scope + 1;
    for (size_t at = 0, end; name[at]; at = end) {
        const char *between = layer_attribute_of(p, name, at);
        end = at + strcspn(name + at, "/");
        const char *own = name[end] ? layer_attribute_of(p, name, end) : NULL;
        if (between) hr__text_printf(&path, "%s/", between);
        hr__text_bytes(&path, own ? own : name + at, own ? strlen(own) : end - at);
        if (name[end]) {
            hr__text_byte(&path, '/');
            end++;
        }
    }
    return hr__text_take(&path);
}

static hr_status layer_note(const placing *p, const hr_variable_info *variable, bool state)
{
    hr__layer_variable *v = HR__LIST_ADD(&p->owner->variables);
    if (!v) return HR_RESOURCE_EXHAUSTED;
    v->maker = p->call.layer;
    v->name = hr_strdup(variable->name);
    v->title = hr_strdup(variable->name);
    v->trainable = (variable->sets & HR_TRAINABLE_VARIABLES) != 0;
    v->state = state;
    return v->name && v->title ? HR_OK : HR_RESOURCE_EXHAUSTED;
}

hr_node hr_layer_state(hr_layer_call *c, const char *name, hr_dtype dtype, hr_shape shape)
{
    placing *p = placing_of(c);
    if (!placing_of(c) || !name) return hr_layer_fail(c, "models.argument", "a state: expected a name, got NULL");
    hr_variable_scope(c->graph, p->scope);
    const hr_node state =
        hr_get_variable(c->graph, name, dtype, shape, .initializer = hr_zeros(), .not_trainable = true);
    hr_scope_end(c->graph);
    const hr_variable_info *info = hr_variable_of(state);
    if (p->recording && info && layer_note(p, info, true) != HR_OK)
        return hr_node_fail(c->graph, HR_RESOURCE_EXHAUSTED, "memory", "no memory for a layer");
    return state;
}

void hr_layer_update(hr_layer_call *c, hr_node op)
{
    if (c) hr_add_to_collection(c->graph, "update_ops", op);
}

void hr_layer_loss(hr_layer_call *c, hr_node loss)
{
    if (c) hr_add_to_collection(c->graph, "regularization_losses", loss);
}

hr_node hr_layer_shape(hr_node x, hr_shape shape)
{
    hr_node dims[HR_MAX_RANK];
    const hr_shape of = hr_node_shape(x);
    bool known = true;
    if (!hr_node_exists(x)) return x;
    if (shape.rank != of.rank || shape.rank < 1)
        return hr_node_fail(x.graph, HR_INVALID_ARGUMENT, "models.rank",
                            "layer_shape: expected %d dimensions, as the input has, got %d", of.rank, shape.rank);
    for (int i = 0; i < shape.rank; i++) {
        if (shape.dims[i] < 0) shape.dims[i] = of.dims[i];
        known &= shape.dims[i] >= 0;
    }
    if (known) return hr_shape_const(x.graph, shape);
    const hr_node all = hr_shape_of(x);
    for (int i = 0; i < shape.rank; i++)
        dims[i] = shape.dims[i] >= 0 ? hr_scalar(x.graph, HR_INT32, (double)shape.dims[i])
                                     : hr_strided_slice(all, {.at = HR_I64(i)});
    return hr_stack(dims, shape.rank, 0);
}

const char *hr_activation_kept(const char *activation)
{
    for (int i = 0; activation && hr_activation_name_at(i); i++)
        if (strcmp(hr_activation_name_at(i), activation) == 0) return hr_activation_name_at(i);
    return activation;
}

hr_status hr_activation_check(const char *activation, hr_error *err)
{
    const char *names[64];
    int count = 0;
    if (!activation || hr_activation_named(activation)) return HR_OK;
    while (count < 64 && hr_activation_name_at(count)) {
        names[count] = hr_activation_name_at(count);
        count++;
    }
    const char *near = hr_suggest(activation, names, count);
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.activation", "activation: unknown name \"%.60s\"%s%s%s",
                   activation, near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

/* ---- a call ---- */

/* Whether it has as many inputs as the kind takes, of a rank that it takes; else the graph fails. */
static bool layer_inputs_fit(placing *p)
{
    const hr_layer_kind *kind = p->call.layer->kind;
    hr_layer_call *c = &p->call;
    const int most = c->layer->input ? 0 : kind->max_inputs ? kind->max_inputs : 1;
    char text[128];
    if ((kind->traits & HR_LAYER_MERGES) ? c->inputs < 2 : c->inputs > most) {
        hr_layer_fail(c, "models.inputs", "expected %s, got %d",
                      (kind->traits & HR_LAYER_MERGES) ? "2 inputs or more" : "fewer inputs", c->inputs);
        return false;
    }
    for (int i = 0; i < c->inputs; i++) {
        const hr_shape shape = hr_node_shape(c->input[i]);
        if (!hr_node_exists(c->input[i])) return false;
        if (shape.rank < 0 || (i > 0 && !(kind->traits & HR_LAYER_MERGES)) ||
            ((!kind->min_rank || shape.rank >= kind->min_rank) && (!kind->max_rank || shape.rank <= kind->max_rank)))
            continue;
        hr_layer_fail(c, "models.rank", "expected an input of rank %d%s, with the batch, got %s",
                      kind->min_rank ? kind->min_rank : kind->max_rank,
                      kind->min_rank == kind->max_rank ? ""
                      : kind->min_rank                 ? " or more"
                                                       : " or less",
                      hr_shape_text(shape, text, sizeof text));
        return false;
    }
    return true;
}

/* Runs the kind's call; its result is output[0]. */
static hr_node layer_run(placing *p)
{
    hr_layer_call *c = &p->call;
    const hr_layer_kind *kind = c->layer->kind;
    c->outputs = 1;
    if (!layer_inputs_fit(p)) return hr_failed_node(c->graph);
    if (kind->traits & HR_LAYER_KEEPS_MASK) c->output_mask[0] = c->mask[0];
    const hr_node result = kind->call(c, c->layer->config);
    c->output[0] = result;
    return result;
}

/* The variables that the first call has made; those that are states, or of layers within it, were noted before. */
static hr_status layer_note_variables(placing *p, int before)
{
    hr_layer *layer = p->owner;
    for (int i = before; i < hr_graph_variables(p->call.graph); i++) {
        const hr_variable_info *variable = hr_graph_variable(p->call.graph, i);
        const char *last = strrchr(variable->name, '/');
        bool known = false;
        for (int k = 0; k < layer->variables.count; k++)
            known |= strcmp(layer->variables.at[k].name, variable->name) == 0;
        if (known) continue;
        if (layer_note(p, variable, false) != HR_OK) return HR_RESOURCE_EXHAUSTED;
        for (int k = 0; k < p->constraints && last; k++)
            if (strcmp(last + 1, p->constrained[k].name) == 0)
                layer->variables.at[layer->variables.count - 1].constraint = p->constrained[k].constraint;
    }
    return HR_OK;
}

static void layer_add_activity(const hr_layer *layer, hr_layer_call *c)
{
    if (layer->activity.l1 == 0 && layer->activity.l2 == 0) return;
    const hr_node y = c->output[0];
    const hr_node rows = hr_cast_to(hr_gather(hr_shape_of(y), hr_scalar(c->graph, HR_INT32, 0), 0), hr_node_dtype(y));
    hr_layer_loss(c, hr_div(hr_regularization_loss(y, layer->activity), rows));
}

/* Runs a call and does what every layer does besides: notes its variables, adds the cost of its output. */
static hr_node layer_run_whole(placing *p)
{
    const int before = hr_graph_variables(p->call.graph);
    const hr_node result = layer_run(p);
    if (hr_graph_error(p->call.graph)) return result;
    layer_add_activity(p->call.layer, &p->call);
    if (p->recording && layer_note_variables(p, before) != HR_OK)
        return hr_node_fail(p->call.graph, HR_RESOURCE_EXHAUSTED, "memory", "no memory for a layer");
    return result;
}

hr_node hr_layer_inner_with(hr_layer_call *c, const hr_layer *inner, const hr_node *input, int inputs,
                            const hr_layer_inner_opts *opts)
{
    static const hr_node no_masks[HR_MAX_LAYER_INPUTS];
    const hr_layer_inner_opts o = HR_OPTIONS(hr_layer_inner_opts, opts);
    placing *outer = placing_of(c);
    if (!outer || !inner || !input || inputs < 1 || inputs > HR_MAX_LAYER_INPUTS)
        return hr_layer_fail(c, "models.inputs", "a layer within: expected it and 1 to %d inputs, got %d",
                             HR_MAX_LAYER_INPUTS, inner && input ? inputs : 0);
    placing p = {.call = {.graph = c->graph,
                          .layer = inner,
                          .config = inner->config,
                          .inputs = inputs,
                          .input = input,
                          .mask = o.masks ? o.masks : no_masks,
                          .training = c->training,
                          .frozen = c->frozen || inner->frozen_now,
                          .exported = c->exported,
                          .direction = o.direction},
                 .owner = outer->owner,
                 .recording = outer->recording};
    p.call.placing = &p;
    (void)snprintf(p.scope, sizeof p.scope, "%s", o.name ? o.name : outer->scope);
    if (o.name) hr_variable_scope(c->graph, outer->scope);
    const hr_node result = layer_run_whole(&p);
    if (o.name) hr_scope_end(c->graph);
    for (int i = 0; i < p.attributes; i++) {
        char scope[2 * sizeof p.attribute->scope];
        (void)snprintf(scope, sizeof scope, "%s%s%s", o.name ? o.name : "", o.name ? "/" : "", p.attribute[i].scope);
        hr_layer_attribute(c, scope, p.attribute[i].name);
    }
    p.call.placing = NULL;
    if (o.made) *o.made = p.call;
    return result;
}

/* After the call, when all attributes are known. */
static hr_status layer_note_paths(const placing *p)
{
    for (int k = 0; k < p->owner->variables.count; k++) {
        hr__layer_variable *v = &p->owner->variables.at[k];
        v->path = layer_path(p, v->name);
        if (!v->path) return HR_RESOURCE_EXHAUSTED;
    }
    return HR_OK;
}

/* The scope of a layer within models: "inner/a" is "a" within "inner". */
static void layer_split_scope(const hr_layer *layer, placing *p)
{
    const char *last = strrchr(layer->scope, '/');
    (void)snprintf(p->scope, sizeof p->scope, "%s", last ? last + 1 : layer->scope);
    (void)snprintf(p->around, sizeof p->around, "%.*s", last ? (int)(last - layer->scope) : 0, layer->scope);
}

int hr__layer_place(hr_layer *layer, hr_graph *g, const hr__at *inputs, int count, bool training, hr__at *out)
{
    hr_node nodes[HR_MAX_LAYER_INPUTS], masks[HR_MAX_LAYER_INPUTS];
    placing p = {.call = {.graph = g,
                          .layer = layer,
                          .config = layer->config,
                          .inputs = count,
                          .input = nodes,
                          .mask = masks,
                          .training = training,
                          .frozen = layer->frozen_now,
                          .exported = layer->body && layer->body->exporting},
                 .owner = layer,
                 .recording = !layer->called && !layer->model};
    p.call.placing = &p;
    for (int i = 0; i < count; i++) {
        nodes[i] = inputs[i].node;
        masks[i] = inputs[i].mask;
    }
    layer_split_scope(layer, &p);
    const bool scoped = !layer->model; /* the layers of a model have their own */
    if (scoped) hr_variable_scope(g, p.around, .reuse = HR_AUTO_REUSE);
    layer_run_whole(&p);
    if (scoped) hr_scope_end(g);
    if (hr_graph_error(g)) return -1;
    if (p.recording && layer_note_paths(&p) != HR_OK) return -1;
    layer->called = true;
    for (int i = 0; i < p.call.outputs; i++) out[i] = (hr__at){p.call.output[i], p.call.output_mask[i]};
    if (layer->output_shape.rank < 0) layer->output_shape = hr_node_shape(out[0].node);
    return p.call.outputs;
}
