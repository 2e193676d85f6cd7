/* What a graph knows of variables: by name, and from any node that hands a variable on, along the edges of its handle. */
#include "train/graph/graph_internal.h"

#include <string.h>

static const char *resource_name(hr_node origin)
{
    const hr_attr *shared = hr_node_attr(origin, "shared_name");
    return shared && shared->kind == HR_ATTR_STRING && shared->s.size > 0 ? shared->s.data : hr_node_name(origin);
}

bool hr_handle_of(hr_node node, hr_handle_info *out)
{
    const hr__node *n = hr__node_of(node);
    hr_handle_info unwanted;
    if (!out) out = &unwanted;
    *out = (hr_handle_info){.dtype = HR_INVALID_DTYPE, .shape = HR_UNKNOWN_SHAPE, .name = ""};
    if (!n || !n->handle || node.output < 0 || n->handle[node.output].dtype == HR_INVALID_DTYPE) return false;
    *out = n->handle[node.output];
    out->name = resource_name(out->origin);
    return true;
}

void hr__know_handle(hr_node node, hr_node like)
{
    hr_handle_info info;
    hr__node *n = hr__node_of(node);
    if (n && n->handle && node.output >= 0 && hr_handle_of(like, &info)) n->handle[node.output] = info;
}

hr_status hr__handle_join(hr_node handle, hr_node like, hr_error *err)
{
    hr__node *n = hr__node_of(handle);
    const hr_view name = hr_text_view(resource_name(like));
    for (int i = 0; n && i < n->attrs; i++) {
        if (strcmp(n->attr[i].name, "shared_name") != 0) continue;
        const char *copy = hr__arena_text(&handle.graph->arena, name.data, (size_t)name.size);
        if (!copy) return hr_no_memory(err, "the name of a variable");
        n->attr[i].s = (hr_view){copy, name.size};
        return HR_OK;
    }
    return hr_fail(err, HR_INVALID_ARGUMENT, "variable.unknown", "expected a variable, got node '%s'",
                   hr_node_name(handle));
}

hr_node hr__handle_read(hr_node node)
{
    for (;;) {
        const char *op = hr_node_op(node);
        const bool read = strcmp(op, "ReadVariableOp") == 0;
        const bool passes = strcmp(op, "Identity") == 0 && hr_node_dtype(node) != HR_RESOURCE;
        if ((!read && !passes) || hr_node_inputs(node) != 1) return node;
        node = hr_node_input(node, 0);
    }
}

/* ---- captures: what stands for a node of a graph around ---- */

hr_node hr__capture_outer(hr_node inner)
{
    for (int i = 0; inner.graph && i < inner.graph->capture_count; i++)
        if (inner.graph->captures[i].inner.id == inner.id) return inner.graph->captures[i].outer;
    return inner;
}

hr_node hr__capture_origin(hr_node inner)
{
    for (;;) {
        const hr_node outer = hr__capture_outer(inner);
        if (outer.graph == inner.graph) return inner;
        inner = outer;
    }
}

/* By a function's input, what it stands for. */
bool hr__handle_known(hr_node node, hr_handle_info *out)
{
    node = hr__handle_read(node);
    return hr_handle_of(node, out) || hr_handle_of(hr__handle_read(hr__capture_origin(node)), out);
}

/* ---- variables that the graph knows ---- */

/* A function's variables are those of the outermost graph. */
static const hr_graph *owner(const hr_graph *g)
{
    while (g && g->outer) g = g->outer;
    return g;
}

int hr_graph_variables(const hr_graph *g) { return g ? owner(g)->variable_count : 0; }

const hr_variable_info *hr_graph_variable(const hr_graph *g, int i)
{
    g = owner(g);
    return g && i >= 0 && i < g->variable_count ? g->variables[i] : NULL;
}

const hr_variable_info *hr_variable_named(const hr_graph *g, const char *name)
{
    g = owner(g);
    const int i = g && name ? hr__map_index(&g->variable_names, name) : -1;
    return i >= 0 ? g->variables[i] : NULL;
}

/* A handle that a function takes was made in a graph around it. */
const hr_variable_info *hr_variable_of(hr_node node)
{
    hr_handle_info info;
    hr_node handle = hr__handle_read(node);
    if (hr_handle_of(handle, &info)) return hr_variable_named(hr__root(info.origin.graph), info.name);
    handle = hr__capture_origin(handle);
    if (handle.graph == node.graph) return NULL;
    return hr_handle_of(hr__handle_read(handle), &info) ? hr_variable_named(hr__root(info.origin.graph), info.name)
                                                        : NULL;
}
