/* Looking at a graph: nodes by name, their inputs, outputs and attributes. */
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

bool hr_node_hidden(hr_node node)
{
    const hr__node *n = hr__node_of(node);
    return n && n->hidden;
}

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

const hr_graph_op *hr_node_descriptor(hr_node node)
{
    const hr__node *n = hr__node_of(node);
    return n ? n->op : NULL;
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
    if (!n || !name) return NULL;
    const int at = hr__signature_attr(n->sig, name, strlen(name));
    if (at >= 0) return &n->attr[at];
    for (int i = n->sig->attrs; i < n->attrs; i++)
        if (strcmp(n->attr[i].name, name) == 0) return &n->attr[i];
    return NULL;
}

int hr_node_attrs(hr_node node)
{
    const hr__node *n = hr__node_of(node);
    return n ? n->attrs : 0;
}

const hr_attr *hr_node_attr_at(hr_node node, int i)
{
    const hr__node *n = hr__node_of(node);
    return n && i >= 0 && i < n->attrs ? &n->attr[i] : NULL;
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

bool hr_node_is(hr_node node, const char *op) { return strcmp(hr_node_op(node), op) == 0; }

const hr_tensor *hr_node_constant(hr_node node)
{
    const hr_attr *value = hr_node_is(node, "Const") ? hr_node_attr(node, "value") : NULL;
    return value ? value->tensor : NULL;
}

bool hr_attr_is(hr_node node, const char *name, const char *text)
{
    const hr_view v = hr_attr_string(node, name);
    const size_t size = strlen(text);
    return (size_t)v.size == size && memcmp(v.data, text, size) == 0;
}

const char *hr_attr_or_name(hr_node node, const char *name)
{
    const hr_view v = hr_attr_string(node, name);
    return v.size > 0 ? v.data : hr_node_name(node);
}

hr_shape hr_attr_shape(hr_node node, const char *name)
{
    const hr_attr *a = attr_of(node, name, HR_ATTR_SHAPE);
    return a ? a->shape : HR_UNKNOWN_SHAPE;
}

const int64_t *hr_attr_ints(hr_node node, const char *name, int *count)
{
    const hr_attr *a = attr_of(node, name, HR_ATTR_INTS);
    if (count) *count = a ? a->count : 0;
    return a ? a->ints : NULL;
}

const char *hr_attr_func(hr_node node, const char *name)
{
    const hr_attr *a = attr_of(node, name, HR_ATTR_FUNC);
    return a ? a->func->name : "";
}
