/* Looking at a graph: nodes by name, their inputs, outputs and attributes; ops by name. */
#include "base/descriptor.h"
#include "train/graph/graph_internal.h"

#include <stdlib.h>
#include <string.h>

hr__node *hr__node_of(hr_node node)
{
    return node.graph && node.id >= 0 && node.id < node.graph->node_count ? node.graph->nodes[node.id] : NULL;
}

hr_node hr_graph_node(hr_graph *g, const char *name)
{
    if (!g || !name) return (hr_node){0};
    const char *colon = strrchr(name, ':');
    const size_t size = colon ? (size_t)(colon - name) : strlen(name);
    const int64_t *id = hr__map_find(&g->by_name, name, size);
    if (!id) return (hr_node){0};
    const hr__node *n = g->nodes[*id];
    const int output = colon ? atoi(colon + 1) : n->outputs > 0 ? 0 : -1;
    if (colon && (output < 0 || output >= n->outputs)) return (hr_node){0};
    return (hr_node){g, (int32_t)*id, output};
}

int32_t hr_graph_size(const hr_graph *g) { return g ? g->node_count : 0; }
bool hr_node_exists(hr_node node) { return hr__node_of(node) != NULL; }

const char *hr_node_name(hr_node node)
{
    const hr__node *n = hr__node_of(node);
    return n ? n->name : "";
}

const char *hr_node_op(hr_node node)
{
    const hr__node *n = hr__node_of(node);
    return n ? n->op->name : "";
}

hr_dtype hr_node_dtype(hr_node node)
{
    const hr__node *n = hr__node_of(node);
    return n && node.output >= 0 && node.output < n->outputs ? n->type[node.output] : HR_INVALID_DTYPE;
}

hr_shape hr_node_shape(hr_node node)
{
    const hr__node *n = hr__node_of(node);
    return n && node.output >= 0 && node.output < n->outputs ? n->shape[node.output] : HR_UNKNOWN_SHAPE;
}

int hr_node_inputs(hr_node node)
{
    const hr__node *n = hr__node_of(node);
    return n ? n->inputs : 0;
}

int hr_node_outputs(hr_node node)
{
    const hr__node *n = hr__node_of(node);
    return n ? n->outputs : 0;
}

int hr_node_controls(hr_node node)
{
    const hr__node *n = hr__node_of(node);
    return n ? n->controls : 0;
}

hr_node hr_node_input(hr_node node, int i)
{
    const hr__node *n = hr__node_of(node);
    return n && i >= 0 && i < n->inputs ? n->input[i] : (hr_node){0};
}

hr_node hr_node_control(hr_node node, int i)
{
    const hr__node *n = hr__node_of(node);
    return n && i >= 0 && i < n->controls ? n->control[i] : (hr_node){0};
}

hr_node hr_node_output(hr_node node, int i)
{
    const hr__node *n = hr__node_of(node);
    if (!n) return node;
    return i >= 0 && i < n->outputs ? (hr_node){node.graph, node.id, i} : (hr_node){0};
}

/* ---- attributes ---- */

hr_view hr_text_view(const char *text) { return (hr_view){text, text ? (int64_t)strlen(text) : 0}; }

const hr_attr *hr_node_attr(hr_node node, const char *name)
{
    const hr__node *n = hr__node_of(node);
    const int at = n ? hr__signature_attr(n->sig, name, strlen(name)) : -1;
    return at >= 0 ? &n->attr[at] : NULL;
}

int hr_node_attrs(hr_node node)
{
    const hr__node *n = hr__node_of(node);
    return n ? n->sig->attrs : 0;
}

const hr_attr *hr_node_attr_at(hr_node node, int i)
{
    const hr__node *n = hr__node_of(node);
    return n && i >= 0 && i < n->sig->attrs ? &n->attr[i] : NULL;
}

static const hr_attr *attr_of(hr_node node, const char *name, hr_attr_kind kind)
{
    const hr_attr *a = hr_node_attr(node, name);
    return a && a->kind == kind ? a : NULL;
}

int64_t hr_attr_int(hr_node node, const char *name)
{
    const hr_attr *a = attr_of(node, name, HR_ATTR_INT);
    return a ? a->i : 0;
}

float hr_attr_float(hr_node node, const char *name)
{
    const hr_attr *a = attr_of(node, name, HR_ATTR_FLOAT);
    return a ? a->f : 0;
}

bool hr_attr_bool(hr_node node, const char *name)
{
    const hr_attr *a = attr_of(node, name, HR_ATTR_BOOL);
    return a && a->b;
}

hr_dtype hr_attr_type(hr_node node, const char *name)
{
    const hr_attr *a = attr_of(node, name, HR_ATTR_TYPE);
    return a ? a->type : HR_INVALID_DTYPE;
}

hr_view hr_attr_string(hr_node node, const char *name)
{
    const hr_attr *a = attr_of(node, name, HR_ATTR_STRING);
    return a ? a->s : hr_text_view("");
}

hr_shape hr_attr_shape(hr_node node, const char *name)
{
    const hr_attr *a = attr_of(node, name, HR_ATTR_SHAPE);
    return a ? a->shape : HR_UNKNOWN_SHAPE;
}

/* ---- copies of attributes ---- */

static bool copy_view(hr__arena *arena, hr_view *view)
{
    view->data = hr__arena_text(arena, view->data, (size_t)view->size);
    return view->data != NULL;
}

static bool find_node_copy_tensor(hr__arena *arena, int64_t count, const hr_tensor **tensor)
{
    hr_tensor *copy = hr__arena_copy(arena, *tensor, sizeof **tensor);
    if (!copy) return false;
    copy->count = count;
    const size_t bytes = (size_t)copy->count * hr_dtype_size(copy->dtype);
    /* A slack as buffers have it: kernels may read past the end. */
    void *data = hr__arena_get(arena, bytes + 64);
    if (!data) return false;
    if (bytes) memcpy(data, copy->data, bytes);
    copy->data = data;
    copy->buffer = NULL;
    for (int64_t i = 0; copy->dtype == HR_STRING && i < copy->count; i++)
        if (!copy_view(arena, &((hr_view *)data)[i])) return false;
    *tensor = copy;
    return true;
}

static bool find_node_copy_list(hr__arena *arena, const void **list, size_t bytes)
{
    *list = hr__arena_copy(arena, *list, bytes);
    return *list != NULL;
}

static bool copy_strings(hr__arena *arena, hr_attr *a)
{
    hr_view *copy = hr__arena_copy(arena, a->strings, sizeof *copy * (size_t)a->count);
    for (int i = 0; copy && i < a->count; i++)
        if (!copy_view(arena, &copy[i])) return false;
    a->strings = copy;
    return copy != NULL;
}

static hr_status refuse_attr(const hr_attr *a, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr",
                   "attribute '%s': expected a list or string of as many values as its count says, or a shape that a "
                   "tensor can have",
                   a->name);
}

static bool is_list(hr_attr_kind kind) { return kind >= HR_ATTR_INTS && kind <= HR_ATTR_SHAPES; }

/* What comes from outside is looked at once, here. *count: values of a tensor. */
static hr_status check_attr(const hr_attr *a, int64_t *count, hr_error *err)
{
    bool fits = !is_list(a->kind) || (a->count >= 0 && (a->count == 0 || a->ints));
    if (a->kind == HR_ATTR_STRING) fits = a->s.size >= 0 && (a->s.size == 0 || a->s.data);
    if (a->kind == HR_ATTR_SHAPE) fits = hr__shape_possible(a->shape);
    for (int i = 0; fits && a->kind == HR_ATTR_SHAPES && i < a->count; i++) fits = hr__shape_possible(a->shapes[i]);
    for (int i = 0; fits && a->kind == HR_ATTR_STRINGS && i < a->count; i++)
        fits = a->strings[i].size >= 0 && (a->strings[i].size == 0 || a->strings[i].data);
    if (!fits) return refuse_attr(a, err);
    return a->kind == HR_ATTR_TENSOR ? hr__check_tensor(a->tensor, "graph.attr", count, err) : HR_OK;
}

hr_status hr__attr_copy(hr__arena *arena, hr_attr *a, hr_error *err)
{
    int64_t values = 0;
    HR_TRY(check_attr(a, &values, err));
    const size_t count = (size_t)a->count;
    const void *list = a->ints;
    bool done = true;
    switch (a->kind) {
    case HR_ATTR_STRING:
        done = copy_view(arena, &a->s);
        break;
    case HR_ATTR_TENSOR:
        done = find_node_copy_tensor(arena, values, &a->tensor);
        break;
    case HR_ATTR_STRINGS:
        done = copy_strings(arena, a);
        break;
    case HR_ATTR_INTS:
        done = find_node_copy_list(arena, &list, count * sizeof *a->ints), a->ints = list;
        break;
    case HR_ATTR_FLOATS:
        done = find_node_copy_list(arena, &list, count * sizeof *a->floats), a->floats = list;
        break;
    case HR_ATTR_TYPES:
        done = find_node_copy_list(arena, &list, count * sizeof *a->types), a->types = list;
        break;
    case HR_ATTR_SHAPES:
        done = find_node_copy_list(arena, &list, count * sizeof *a->shapes), a->shapes = list;
        break;
    default:
        break;
    }
    return done ? HR_OK : hr_no_memory(err, "an attribute");
}

/* ---- ops ---- */

static const hr__descriptor_kind graph_ops = {
    .what = "op",
    .status = HR_FAILED_PRECONDITION,
    .error = "graph.abi",
    .version = HR_GRAPH_OP_ABI,
    .size = sizeof(hr_graph_op),
    .min_size = offsetof(hr_graph_op, gradient),
};

void hr_graph_use(hr_graph *g, const hr_graph_op *op)
{
    hr_error err;
    const void *fits = NULL;
    hr_graph_op *own = hr__arena_get(&g->arena, sizeof *own);
    if (!own || hr__grow(&g->foreign, g->foreign_count, &g->foreign_capacity, sizeof *g->foreign, NULL) != HR_OK) {
        hr__graph_no_memory(g, "an op");
        return;
    }
    const hr_status st = hr__descriptor_fit(&graph_ops, op, own, &fits, &err);
    if (st == HR_OK)
        g->foreign[g->foreign_count++] = fits;
    else
        hr_node_fail(g, st, err.kind, "%s", err.text);
}

static const hr_graph_op *op_named(const hr_graph *g, const char *name)
{
    for (int i = 0; i < g->foreign_count; i++)
        if (strcmp(g->foreign[i]->name, name) == 0) return g->foreign[i];
    return hr_graph_op_named(name);
}

static const hr__signature *find_node_parse(hr_graph *g, const hr_graph_op *op, hr_error *err)
{
    hr__signature *sig = hr__arena_get(&g->arena, sizeof *sig);
    if (!sig || hr__grow(&g->signatures, g->signature_count, &g->signature_capacity, sizeof sig, err) != HR_OK) {
        hr_no_memory(err, "a signature");
        return NULL;
    }
    if (hr__signature_parse(&g->arena, op, sig, err) != HR_OK) return NULL;
    g->signatures[g->signature_count++] = sig;
    return sig;
}

const hr__signature *hr__graph_signature(hr_graph *g, const char *name, hr_error *err)
{
    for (int i = 0; i < g->signature_count; i++)
        if (strcmp(g->signatures[i]->op->name, name) == 0) return g->signatures[i];
    const hr_graph_op *op = op_named(g, name);
    if (op) return find_node_parse(g, op, err);
    hr_fail(err, HR_NOT_FOUND, "graph.op", "expected an op that is built in or was given to hr_graph_use, got '%.60s'",
            name);
    return NULL;
}
