/* A graph on its way through transforms. */
#include "train/transforms/transform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hr_status hr__draft_no_memory(hr_error *err) { return hr_no_memory(err, "a transform"); }

/* ---- nodes of the source ---- */

static hr_status append_node(hr__draft *d, draft_node *n, hr_error *err)
{
    if (!n) return hr__draft_no_memory(err);
    HR_TRY(hr__grow(&d->node, d->count, &d->capacity, sizeof *d->node, err));
    HR_TRY(hr__map_add(&d->names, n->name, strlen(n->name), d->count, err));
    d->node[d->count++] = n;
    return HR_OK;
}

static hr_status take_node(hr__draft *d, const proto_node *from, hr_error *err)
{
    draft_node *n = hr__arena_get(&d->arena, sizeof *n);
    if (!n) return hr__draft_no_memory(err);
    *n = (draft_node){.name = from->name, .op = from->op, .device = from->device, .attrs = (int)from->n_attr};
    n->attr = hr__arena_copy(&d->arena, from->attr, sizeof(proto_entry *) * from->n_attr);
    n->input = hr__arena_get(&d->arena, sizeof *n->input * (from->n_input + 1));
    n->inputs = (int)from->n_input;
    if (!n->attr || !n->input) return hr__draft_no_memory(err);
    return append_node(d, n, err);
}

/* "node", "node:1", "^node", as the graph was written. */
static void take_inputs(hr__draft *d, draft_node *n, const proto_node *from)
{
    for (int i = 0; i < n->inputs; i++) {
        const char *text = from->input[i], *colon = strrchr(text, ':');
        const bool control = *text == '^';
        const char *name = text + control;
        const size_t size = colon && !control ? (size_t)(colon - name) : strlen(name);
        const int64_t *found = hr__map_find(&d->names, name, size);
        n->input[i] = (draft_edge){found ? (int)*found : -1, control ? -1 : colon ? atoi(colon + 1) : 0};
    }
}

static hr_status take_edges(hr__draft *d, const hr_node *from, int count, draft_edge **out, hr_error *err)
{
    *out = hr__arena_get(&d->arena, sizeof **out * ((size_t)count + 1));
    if (!*out) return hr__draft_no_memory(err);
    for (int i = 0; i < count; i++) {
        if (!hr_node_exists(from[i]) || from[i].graph != d->source)
            return hr_fail(err, HR_INVALID_ARGUMENT, "transform.output",
                           "expected outputs and inputs that are nodes of the graph, got '%s'", hr_node_name(from[i]));
        (*out)[i] = (draft_edge){hr__draft_named(d, hr_node_name(from[i])), from[i].output};
    }
    return HR_OK;
}

hr_status hr__draft_begin(hr__draft *d, hr_graph *g, const hr_node *outputs, int output_count, const hr_node *inputs,
                          int input_count, hr_error *err)
{
    static const hr_graph_export_opts opts = {.struct_size = sizeof opts};
    proto_graph *message;
    *d = (hr__draft){.source = g, .outputs = output_count, .feds = input_count};
    if (!g) return hr__draft_no_memory(err);
    if (g->error.code != HR_OK) {
        if (err) *err = g->error;
        return g->error.code;
    }
    HR_TRY(hr__graph_message(&d->arena, &opts, g, &message, err));
    d->message = message;
    for (size_t i = 0; i < message->n_node; i++) HR_TRY(take_node(d, message->node[i], err));
    for (int i = 0; i < d->count; i++) take_inputs(d, d->node[i], message->node[i]);
    HR_TRY(take_edges(d, outputs, output_count, &d->output, err));
    return take_edges(d, inputs, input_count, &d->fed, err);
}

void hr__draft_end(hr__draft *d)
{
    for (int i = 0; i < d->kept_count; i++) hr_tensor_clear(&d->kept[i]);
    hr_free(d->kept);
    hr_free(d->node);
    hr__map_free(&d->names);
    hr__arena_free(&d->arena);
}

/* ---- looking at nodes ---- */

int hr__draft_named(const hr__draft *d, const char *name)
{
    const int64_t *found = hr__map_find(&d->names, name, strlen(name));
    return found && !d->node[*found]->gone ? (int)*found : -1;
}

const proto_attr *hr__draft_attr(const hr__draft *d, int node, const char *name)
{
    const draft_node *n = d->node[node];
    for (int i = 0; i < n->attrs; i++)
        if (strcmp(n->attr[i]->key, name) == 0) return n->attr[i]->value;
    return NULL;
}

hr_dtype hr__draft_type(const hr__draft *d, int node, const char *name)
{
    const proto_attr *a = hr__draft_attr(d, node, name);
    return a && a->value_case == HEADRACE__PROTO__ATTR_VALUE__VALUE_TYPE ? (hr_dtype)a->type : HR_INVALID_DTYPE;
}

bool hr__draft_bool(const hr__draft *d, int node, const char *name)
{
    const proto_attr *a = hr__draft_attr(d, node, name);
    return a && a->value_case == HEADRACE__PROTO__ATTR_VALUE__VALUE_B && a->b;
}

bool hr__draft_is(const hr__draft *d, int node, const char *op)
{
    return node >= 0 && !d->node[node]->gone && strcmp(d->node[node]->op, op) == 0;
}

int hr__draft_data_inputs(const draft_node *n)
{
    int count = 0;
    while (count < n->inputs && n->input[count].output >= 0) count++;
    return count;
}

int hr__draft_uses(const hr__draft *d, int node)
{
    int uses = 0;
    for (int i = 0; i < d->count; i++)
        for (int j = 0; !d->node[i]->gone && j < d->node[i]->inputs; j++) uses += d->node[i]->input[j].node == node;
    for (int i = 0; i < d->outputs; i++) uses += d->output[i].node == node;
    return uses;
}

bool hr__draft_is_output(const hr__draft *d, int node)
{
    for (int i = 0; i < d->outputs; i++)
        if (d->output[i].node == node) return true;
    return false;
}

bool hr__draft_is_fed(const hr__draft *d, int node)
{
    for (int i = 0; i < d->feds; i++)
        if (d->fed[i].node == node) return true;
    return false;
}

hr_status hr__draft_value(hr__draft *d, int node, bool *is, hr_tensor *value, hr_error *err)
{
    hr__import_memory memory = {.left = SIZE_MAX / 2};
    const proto_attr *a =
        hr__draft_is(d, node, "Const") && !hr__draft_is_fed(d, node) ? hr__draft_attr(d, node, "value") : NULL;
    *is = a && a->value_case == HEADRACE__PROTO__ATTR_VALUE__VALUE_TENSOR && d->node[node]->inputs == 0;
    if (!*is) return HR_OK;
    memory.arena = d->arena;
    const hr_status st = hr__tensor_of_message(&memory, a->tensor, value, err);
    d->arena = memory.arena;
    return st;
}

/* ---- changing nodes ---- */

int hr__draft_add(hr__draft *d, const char *name, const char *op, const char *device, int inputs)
{
    const size_t size = strlen(name) + 16;
    char *own = hr__arena_get(&d->arena, size);
    draft_node *n = hr__arena_get(&d->arena, sizeof *n);
    if (!own || !n) return -1;
    snprintf(own, size, "%s", name);
    for (int i = 1; hr__map_find(&d->names, own, strlen(own)); i++) snprintf(own, size, "%s_%d", name, i);
    *n = (draft_node){.name = own, .op = op, .device = device, .inputs = inputs};
    n->input = hr__arena_get(&d->arena, sizeof *n->input * ((size_t)inputs + 1));
    return n->input && append_node(d, n, NULL) == HR_OK ? d->count - 1 : -1;
}

void hr__draft_unset(draft_node *n, const char *name)
{
    int kept = 0;
    for (int i = 0; i < n->attrs; i++)
        if (strcmp(n->attr[i]->key, name) != 0) n->attr[kept++] = n->attr[i];
    n->attrs = kept;
}

hr_status hr__draft_set(hr__draft *d, int node, const hr_attr *attr, hr_error *err)
{
    draft_node *n = d->node[node];
    hr_attr own = *attr;
    HR_TRY(hr__attr_copy(&d->arena, &own, err));
    proto_entry *entry = hr__attr_message(&d->arena, &own);
    proto_entry **grown = hr__arena_get(&d->arena, sizeof(proto_entry *) * ((size_t)n->attrs + 1));
    if (!entry || !grown) return hr__draft_no_memory(err);
    hr__draft_unset(n, attr->name);
    if (n->attrs) memcpy(grown, n->attr, sizeof(proto_entry *) * (size_t)n->attrs);
    grown[n->attrs++] = entry;
    n->attr = grown;
    return HR_OK;
}

hr_status hr__draft_make_const(hr__draft *d, int node, hr_tensor value, hr_error *err)
{
    draft_node *n = d->node[node];
    const hr_status st = hr__grow(&d->kept, d->kept_count, &d->kept_capacity, sizeof *d->kept, err);
    if (st != HR_OK) hr_tensor_clear(&value);
    HR_TRY(st);
    d->kept[d->kept_count++] = value;
    proto_tensor *tensor = hr__tensor_message(&d->arena, &value);
    proto_entry *entry = hr__arena_get(&d->arena, sizeof *entry);
    proto_attr *is = hr__arena_get(&d->arena, sizeof *is);
    n->op = "Const";
    n->inputs = n->attrs = 0;
    n->attr = NULL;
    HR_TRY(hr__draft_set(d, node, &HR_TYPE_ATTR("dtype", value.dtype), err));
    proto_entry **attrs = hr__arena_get(&d->arena, sizeof(proto_entry *) * 2);
    if (!tensor || !entry || !is || !attrs) return hr__draft_no_memory(err);
    headrace__proto__attr_entry__init(entry);
    headrace__proto__attr_value__init(is);
    is->value_case = HEADRACE__PROTO__ATTR_VALUE__VALUE_TENSOR;
    is->tensor = tensor;
    entry->key = (char *)(uintptr_t) "value";
    entry->value = is;
    attrs[0] = n->attr[0];
    attrs[1] = entry;
    n->attr = attrs;
    n->attrs = 2;
    return HR_OK;
}

void hr__draft_drop_unused(hr__draft *d, int node)
{
    if (hr__draft_uses(d, node) == 0 && !hr__draft_is_fed(d, node)) d->node[node]->gone = true;
}

void hr__draft_redirect(hr__draft *d, int old, int by)
{
    for (int i = 0; i < d->count; i++)
        for (int j = 0; !d->node[i]->gone && j < d->node[i]->inputs; j++)
            if (d->node[i]->input[j].node == old) d->node[i]->input[j].node = by;
}

hr_status hr__draft_sweep(hr__draft *d, hr_error *err)
{
    int *stack = hr_malloc(sizeof *stack * ((size_t)d->count + 1)), depth = 0;
    uint8_t *needed = hr_calloc((size_t)d->count + 1, 1);
    hr_status st = stack && needed ? HR_OK : hr__draft_no_memory(err);
    if (st == HR_OK && d->outputs == 0)
        st = hr_fail(err, HR_INVALID_ARGUMENT, "transform.output", "expected the outputs of the graph, got none");
    for (int i = 0; st == HR_OK && i < d->outputs; i++) {
        if (!needed[d->output[i].node]) stack[depth++] = d->output[i].node;
        needed[d->output[i].node] = 1;
    }
    while (st == HR_OK && depth > 0) {
        const draft_node *n = d->node[stack[--depth]];
        for (int i = 0; i < n->inputs; i++) {
            const int next = n->input[i].node;
            if (!needed[next]) stack[depth++] = next;
            needed[next] = 1;
        }
    }
    for (int i = 0; st == HR_OK && i < d->count; i++) d->node[i]->gone |= !needed[i];
    hr_free(stack);
    hr_free(needed);
    return st;
}

/* ---- order ---- */

hr_status hr__draft_order(const hr__draft *d, int **out, int *count, hr_error *err)
{
    const size_t nodes = (size_t)d->count;
    int *order = hr_malloc(sizeof *order * (nodes + 1)), *next = hr_calloc(nodes + 1, sizeof *next);
    int *stack = hr_malloc(sizeof *stack * (nodes + 1));
    uint8_t *state = hr_calloc(nodes + 1, 1); /* 1: on the stack, 2: in order */
    hr_status st = order && next && stack && state ? HR_OK : hr__draft_no_memory(err);
    *count = 0;
    for (int start = 0; st == HR_OK && start < d->count; start++) {
        int depth = 0;
        if (d->node[start]->gone || state[start]) continue;
        stack[depth++] = start;
        state[start] = 1;
        while (depth > 0) {
            const int at = stack[depth - 1];
            const draft_node *n = d->node[at];
            if (next[at] == n->inputs) {
                order[(*count)++] = at;
                state[at] = 2;
                depth--;
                continue;
            }
            const int input = n->input[next[at]++].node;
            if (state[input] == 0) stack[depth++] = input, state[input] = 1; /* 1: a loop's edge back */
        }
    }
    hr_free(next);
    hr_free(stack);
    hr_free(state);
    if (st == HR_OK)
        *out = order;
    else
        hr_free(order);
    return st;
}

/* ---- the new graph ---- */

/* Names of nodes that went do not stay in "_class". */
static hr_status drop_places(hr__draft *d, int node, hr_error *err)
{
    const proto_attr *a = hr__draft_attr(d, node, "_class");
    if (!a || a->value_case != HEADRACE__PROTO__ATTR_VALUE__VALUE_LIST || a->list->n_s == 0) return HR_OK;
    hr_view *kept = hr__arena_get(&d->arena, sizeof *kept * (a->list->n_s + 1));
    int count = 0;
    if (!kept) return hr__draft_no_memory(err);
    for (size_t i = 0; i < a->list->n_s; i++) {
        const hr_view s = {(const char *)a->list->s[i].data, (int64_t)a->list->s[i].len};
        const bool place = s.size > 5 && memcmp(s.data, "loc:@", 5) == 0;
        const int64_t *found = place ? hr__map_find(&d->names, s.data + 5, (size_t)s.size - 5) : NULL;
        if (!place || (found && !d->node[*found]->gone)) kept[count++] = s;
    }
    if (count == (int)a->list->n_s) return HR_OK;
    if (count == 0) {
        hr__draft_unset(d->node[node], "_class");
        return HR_OK;
    }
    return hr__draft_set(d, node,
                         &(hr_attr){.name = "_class", .kind = HR_ATTR_STRINGS, .count = count, .strings = kept}, err);
}

static hr_status node_message(hr__draft *d, int node, proto_node **out, hr_error *err)
{
    const draft_node *n = d->node[node];
    HR_TRY(drop_places(d, node, err));
    proto_node *m = *out = hr__arena_get(&d->arena, sizeof *m);
    char **inputs = hr__arena_get(&d->arena, sizeof *inputs * ((size_t)n->inputs + 1));
    if (!m || !inputs) return hr__draft_no_memory(err);
    headrace__proto__node_def__init(m);
    m->name = (char *)(uintptr_t)n->name;
    m->op = (char *)(uintptr_t)n->op;
    m->device = (char *)(uintptr_t)n->device;
    m->attr = n->attr;
    m->n_attr = (size_t)n->attrs;
    m->input = inputs;
    m->n_input = (size_t)n->inputs;
    for (int i = 0; i < n->inputs; i++) {
        const char *name = d->node[n->input[i].node]->name;
        const size_t size = strlen(name) + 16;
        if (!(inputs[i] = hr__arena_get(&d->arena, size))) return hr__draft_no_memory(err);
        if (n->input[i].output > 0)
            snprintf(inputs[i], size, "%s:%d", name, n->input[i].output);
        else
            snprintf(inputs[i], size, "%s%s", n->input[i].output < 0 ? "^" : "", name);
    }
    return HR_OK;
}

/* Variables and collections whose nodes are all still there. */
static hr_node same_node(hr_graph *to, hr_node from)
{
    hr_node found = hr_node_exists(from) ? hr_graph_node(to, hr_node_name(from)) : (hr_node){0};
    if (hr_node_exists(found)) found.output = from.output;
    return found;
}

static hr_status carry_over(const hr_graph *from, hr_graph *to, hr_error *err)
{
    for (int i = 0; i < from->variable_count; i++) {
        hr_variable_info v = *from->variables[i];
        hr_handle_info known;
        v.handle = same_node(to, v.handle);
        v.initializer = same_node(to, v.initializer);
        if (!hr_handle_of(v.handle, &known) || !hr_node_exists(v.initializer)) continue;
        v.read = same_node(to, v.read);
        v.initial_value = same_node(to, v.initial_value);
        v.is_initialized = same_node(to, v.is_initialized);
        hr_variable_piece *piece = v.piece ? hr__arena_copy(&to->arena, v.piece, sizeof *piece) : NULL;
        if (v.piece &&
            (!piece || !(piece->full_name = hr__arena_text(&to->arena, piece->full_name, strlen(piece->full_name)))))
            return hr__draft_no_memory(err);
        if (piece) piece->whole = same_node(to, piece->whole);
        v.piece = piece;
        HR_TRY(hr__variable_register(to, &v, err));
    }
    for (int i = 0; i < from->collection_count; i++) {
        const hr__collection *c = &from->collections[i];
        bool all = true;
        for (int j = 0; j < c->count; j++) all = all && hr_node_exists(same_node(to, c->nodes[j]));
        for (int j = 0; all && j < c->count; j++) hr_add_to_collection(to, c->name, same_node(to, c->nodes[j]));
    }
    return HR_OK;
}

hr_status hr__draft_build(hr__draft *d, hr_graph **out, hr_error *err)
{
    static const hr_graph_import_opts opts = {.struct_size = sizeof opts};
    proto_graph message = *d->message;
    message.n_node = 0;
    message.node = hr__arena_get(&d->arena, sizeof *message.node * ((size_t)d->count + 1));
    if (!message.node) return hr__draft_no_memory(err);
    for (int i = 0; i < d->count; i++)
        if (!d->node[i]->gone) HR_TRY(node_message(d, i, &message.node[message.n_node++], err));
    hr_graph *g = hr_graph_new();
    if (!g) return hr__draft_no_memory(err);
    for (int i = 0; i < d->source->foreign_count; i++) hr_graph_use(g, d->source->foreign[i]);
    hr_status st = hr__import_graph_message(g, &message, SIZE_MAX / 256, &opts, err);
    if (st == HR_OK) st = carry_over(d->source, g, err);
    if (st == HR_OK && g->error.code != HR_OK) {
        st = g->error.code;
        if (err) *err = g->error;
    }
    if (st == HR_OK)
        *out = g;
    else
        hr_graph_free(g);
    return st;
}
