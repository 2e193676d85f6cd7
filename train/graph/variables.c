/* Variables of a graph: the nodes that make, begin and read one, under TensorFlow's names; scopes and reuse. */
#include "train/graph/graph_internal.h"

#include <stdio.h>
#include <string.h>

enum { MAX_NAME = 1024 };

int hr_graph_variables(const hr_graph *g) { return g ? g->variable_count : 0; }

const hr_variable_info *hr_graph_variable(const hr_graph *g, int i)
{
    return g && i >= 0 && i < g->variable_count ? g->variables[i] : NULL;
}

const hr_variable_info *hr_variable_named(const hr_graph *g, const char *name)
{
    const int i = g && name ? hr__map_index(&g->variable_names, name) : -1;
    return i >= 0 ? g->variables[i] : NULL;
}

/* From any node that only passes the variable on: its handle, reads, identities, inputs of functions. */
static hr_node trace(hr_node node)
{
    for (;;) {
        node = hr__capture_origin(node);
        const bool passes =
            strcmp(hr_node_op(node), "ReadVariableOp") == 0 || strcmp(hr_node_op(node), "Identity") == 0;
        if (!passes || hr_node_inputs(node) != 1) return node;
        node = hr_node_input(node, 0);
    }
}

const hr_variable_info *hr_variable_of(hr_node node)
{
    const hr_node origin = trace(node);
    const hr__node *n = hr__node_of(origin);
    return n && n->variable > 0 ? origin.graph->variables[n->variable - 1] : NULL;
}

hr_node hr__node_value(hr_node node)
{
    if (hr_node_dtype(node) != HR_RESOURCE) return node;
    const hr_variable_info *info = hr_variable_of(node);
    if (!info) return node;
    bool ordered = false;
    for (int i = 0; i < node.graph->control_count; i++) ordered |= node.graph->controls[i].count > 0;
    if (!ordered && hr_node_exists(info->read) && info->read.graph == node.graph) return info->read;
    return hr_new_node(node.graph, "ReadVariableOp", HR_INPUTS(node), HR_ATTRS(HR_TYPE_ATTR("dtype", info->dtype)));
}

/* ---- making one ---- */

static hr_node variables_make_value(hr_graph *g, const hr_variable_opts *opts, hr_dtype dtype, hr_shape shape,
                                    const char *name)
{
    char scope[MAX_NAME];
    const bool real = dtype == HR_FLOAT || dtype == HR_DOUBLE;
    const hr_initializer usual = real ? hr_glorot_uniform(0) : hr_zeros();
    const hr_initializer *initializer = opts->initializer.make ? &opts->initializer : &usual;
    snprintf(scope, sizeof scope, "%s/Initializer/", name);
    hr_name_scope(g, scope);
    hr_node value = initializer->make(g, dtype, shape, initializer);
    hr_scope_end(g);
    return value;
}

static void make_nodes(hr_graph *g, hr_variable_info *v, const hr_variable_opts *opts)
{
    char scope[MAX_NAME];
    snprintf(scope, sizeof scope, "%s/", v->name);
    v->handle = hr_new_node(g, "VarHandleOp", .name = scope,
                            HR_ATTRS(HR_TYPE_ATTR("dtype", v->dtype), HR_SHAPE_ATTR("shape", v->shape),
                                     HR_STRING_ATTR("shared_name", v->name)));
    if (hr_node_exists(v->handle)) hr__node_of(v->handle)->variable = g->variable_count;
    v->initial_value = variables_make_value(g, opts, v->dtype, v->shape, v->name);
    hr_name_scope(g, scope);
    v->is_initialized =
        hr_new_node(g, "VarIsInitializedOp", .name = "IsInitialized/VarIsInitializedOp", HR_INPUTS(v->handle));
    v->initializer = hr_new_node(g, "AssignVariableOp", .name = "Assign", HR_INPUTS(v->handle, v->initial_value));
    v->read = hr_new_node(g, "ReadVariableOp", .name = "Read/ReadVariableOp", HR_INPUTS(v->handle),
                          HR_ATTRS(HR_TYPE_ATTR("dtype", v->dtype)));
    hr_scope_end(g);
}

/* What a variable is made of lies outside of whatever control scope the caller is in. */
static hr_node add_variable(hr_graph *g, const char *name, hr_dtype dtype, hr_shape shape, const hr_variable_opts *opts)
{
    hr_variable_info *v = hr__arena_get(&g->arena, sizeof *v);
    char *copy = hr__arena_text(&g->arena, name, strlen(name));
    if (!v || !copy || hr__grow(&g->variables, g->variable_count, &g->variable_capacity, sizeof v, NULL) != HR_OK)
        return hr__graph_no_memory(g, "a variable");
    *v = (hr_variable_info){.name = copy, .dtype = dtype, .shape = shape};
    v->sets = opts->sets ? opts->sets : HR_GLOBAL_VARIABLES | (opts->not_trainable ? 0u : HR_TRAINABLE_VARIABLES);
    g->variables[g->variable_count++] = v;
    const int controls = g->control_count;
    g->control_count = 0;
    make_nodes(g, v, opts);
    g->control_count = controls;
    const bool made = hr_node_exists(v->handle) && hr_node_exists(v->initializer) && hr_node_exists(v->read);
    if (made && hr__map_add(&g->variable_names, name, strlen(name), g->variable_count - 1, NULL) == HR_OK)
        return v->handle;
    if (hr_node_exists(v->handle)) hr__node_of(v->handle)->variable = 0;
    g->variable_count--;
    return made ? hr__graph_no_memory(g, "a variable") : hr_failed_node(g);
}

static hr_node found(hr_graph *g, hr_reuse reuse, const hr_variable_info *v, hr_dtype dtype, hr_shape shape)
{
    hr__shape_name had, wanted;
    if (reuse == HR_REUSE_NEVER)
        return hr_node_fail(g, HR_ALREADY_EXISTS, "variable.exists",
                            "variable '%s' exists already; use hr_variable_scope(g, name, .reuse = HR_AUTO_REUSE) to "
                            "share it",
                            v->name);
    if (v->dtype == dtype && hr_shape_equal(v->shape, shape)) return v->handle;
    return hr_node_fail(g, HR_INVALID_ARGUMENT, "variable.shape",
                        "variable '%s': expected %s %s as when it was made, got %s %s", v->name,
                        hr_dtype_name(v->dtype), hr__shape_in(&had, v->shape), hr_dtype_name(dtype),
                        hr__shape_in(&wanted, shape));
}

hr_node hr_get_variable_with(hr_graph *g, const char *name, hr_dtype dtype, hr_shape shape,
                             const hr_variable_opts *opts)
{
    const hr_variable_opts o = HR_OPTIONS(hr_variable_opts, opts);
    char full[MAX_NAME];
    const hr_graph *scope = hr__innermost(g);
    g = hr__root(g); /* a function's variables are its callers', too */
    if (!g || !name) return hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.name", "variable: expected a name, got NULL");
    const int n = snprintf(full, sizeof full, "%s%s", scope->variable_scope, name);
    if (n < 0 || n > MAX_NAME - 64)
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.name", "variable: expected a shorter name than \"%.60s\"",
                            name);
    const hr_variable_info *v = hr_variable_named(g, full);
    if (v) return found(g, scope->reuse, v, dtype, shape);
    if (scope->reuse == HR_REUSE)
        return hr_node_fail(g, HR_NOT_FOUND, "variable.unknown",
                            "variable '%s' does not exist, and the scope says HR_REUSE; use HR_AUTO_REUSE to make it",
                            full);
    if (hr_shape_count(shape) < 0)
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "variable.shape",
                            "variable '%s': expected a shape without unknown dimensions", full);
    hr_graph *building = g->building;
    g->building = NULL;
    const hr_node variable = add_variable(g, full, dtype, shape, &o);
    g->building = building;
    return variable;
}

/* ---- all of them ---- */

hr_node hr_variables_initializer(hr_graph *g, unsigned sets, const char *name)
{
    hr_node *all = g ? hr_malloc(sizeof *all * (size_t)(g->variable_count + 1)) : NULL;
    if (!all) return hr__graph_no_memory(g, "an initializer");
    int count = 0;
    for (int i = 0; i < g->variable_count; i++)
        if (g->variables[i]->sets & sets) all[count++] = g->variables[i]->initializer;
    hr_node init = hr_new_node(g, "NoOp", .name = name, .controls = all, .control_count = count);
    hr_free(all);
    return init;
}

hr_node hr_global_variables_initializer(hr_graph *g)
{
    return hr_variables_initializer(g, HR_GLOBAL_VARIABLES, "init");
}

hr_node hr_local_variables_initializer(hr_graph *g)
{
    return hr_variables_initializer(g, HR_LOCAL_VARIABLES, "init_local");
}

hr_node hr_global_step(hr_graph *g)
{
    const hr_variable_info *v = hr_variable_named(g, "global_step");
    if (v) return v->handle;
    if (!g) return hr_failed_node(g);
    const hr_variable_opts opts = {.not_trainable = true};
    hr_node step = add_variable(g, "global_step", HR_INT64, HR_SCALAR, &opts);
    hr_add_to_collection(g, "global_step", step);
    return step;
}
