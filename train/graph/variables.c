/* Variables of a graph: the nodes that make, begin and read one, under TensorFlow's names. */
#include "train/graph/graph_internal.h"

#include <string.h>

static hr_node variables_make_value(hr_graph *g, const hr_variable_opts *opts, const hr_variable_info *v)
{
    const bool real = v->dtype == HR_FLOAT || v->dtype == HR_DOUBLE || v->dtype == HR_HALF || v->dtype == HR_BFLOAT16;
    hr_initializer initializer = opts->initializer;
    if (!initializer.make) initializer = real ? hr_glorot_uniform(0) : hr_zeros();
    initializer.piece = v->piece;
    hr_name_scope(g, "Initializer");
    hr_node value = initializer.make(g, v->dtype, v->shape, &initializer);
    hr_scope_end(g);
    return value;
}

/* In TensorFlow's order, under its names. */
static bool make_nodes(hr_graph *g, hr_variable_info *v, const hr_variable_opts *opts)
{
    hr__name_scope_at_root(g, v->name);
    v->initial_value = variables_make_value(g, opts, v);
    v->handle = hr_new_node(g, "VarHandleOp", .name = g->scope,
                            HR_ATTRS(HR_TYPE_ATTR("dtype", v->dtype), HR_SHAPE_ATTR("shape", v->shape),
                                     HR_STRING_ATTR("shared_name", v->name)));
    v->is_initialized =
        hr_new_node(g, "VarIsInitializedOp", .name = "IsInitialized/VarIsInitializedOp", HR_INPUTS(v->handle));
    v->initializer = hr_new_node(g, "AssignVariableOp", .name = "Assign", HR_INPUTS(v->handle, v->initial_value));
    v->read = hr_new_node(g, "ReadVariableOp", .name = "Read/ReadVariableOp", HR_INPUTS(v->handle),
                          HR_ATTRS(HR_TYPE_ATTR("dtype", v->dtype)));
    hr_scope_end(g);
    return hr_node_exists(v->handle) && hr_node_exists(v->initializer) && hr_node_exists(v->read);
}

/* In an eager graph it has its first value at once, unless a session that shares it gave it one. */
static bool begin_at_once(hr_graph *g, hr_variable_info *v, const hr_variable_opts *opts)
{
    hr_handle_info *known = hr__arena_get(&g->arena, sizeof *known);
    v->handle = hr_new_node(g, "VarHandleOp",
                            HR_ATTRS(HR_TYPE_ATTR("dtype", v->dtype), HR_SHAPE_ATTR("shape", v->shape),
                                     HR_STRING_ATTR("shared_name", v->name)));
    if (!known || !hr_node_exists(v->handle)) return false;
    *known = (hr_handle_info){.dtype = v->dtype, .shape = v->shape, .origin = v->handle};
    g->at_once->keep(v->handle, g->variable_count - 1);
    hr__node_of(v->handle)->handle = known;
    const hr_tensor *begun = g->at_once->value(hr_new_node(g, "VarIsInitializedOp", HR_INPUTS(v->handle)));
    if (!begun || *(const bool *)begun->data) return begun != NULL;
    const hr_node value = variables_make_value(g, opts, v);
    return hr_node_exists(hr_new_node(g, "AssignVariableOp", HR_INPUTS(v->handle, value)));
}

/* What a variable is made of lies outside of whatever control scope the caller is in. */
hr_node hr__add_variable(hr_graph *g, const char *name, hr_dtype dtype, hr_shape shape, const hr_variable_piece *piece,
                         const hr_variable_opts *opts)
{
    hr_variable_info *v = hr__arena_get(&g->arena, sizeof *v);
    char *copy = hr__arena_text(&g->arena, name, strlen(name));
    if (!v || !copy || hr__grow(&g->variables, g->variable_count, &g->variable_capacity, sizeof v, NULL) != HR_OK)
        return hr__graph_no_memory(g, "a variable");
    *v = (hr_variable_info){.name = copy, .dtype = dtype, .shape = shape, .piece = piece};
    v->sets = opts->sets ? opts->sets : HR_GLOBAL_VARIABLES | (opts->not_trainable ? 0u : HR_TRAINABLE_VARIABLES);
    g->variables[g->variable_count++] = v;
    const int controls = g->control_count;
    g->control_count = 0;
    const bool made = g->at_once ? begin_at_once(g, v, opts) : make_nodes(g, v, opts);
    g->control_count = controls;
    if (made && hr__map_add(&g->variable_names, name, strlen(name), g->variable_count - 1, NULL) == HR_OK)
        return v->handle;
    g->variable_count--;
    return made ? hr__graph_no_memory(g, "a variable") : hr_failed_node(g);
}

/* ---- variables of a file ---- */

hr_status hr__variable_register(hr_graph *g, const hr_variable_info *variable, hr_error *err)
{
    const size_t size = strlen(variable->name);
    const int known = hr__map_index(&g->variable_names, variable->name);
    if (known >= 0) {
        g->variables[known]->sets |= variable->sets;
        return HR_OK;
    }
    hr_variable_info *v = hr__arena_copy(&g->arena, variable, sizeof *v);
    if (!v || !(v->name = hr__arena_text(&g->arena, variable->name, size))) return hr_no_memory(err, "a variable");
    HR_TRY(hr__grow(&g->variables, g->variable_count, &g->variable_capacity, sizeof v, err));
    HR_TRY(hr__map_add(&g->variable_names, v->name, size, g->variable_count, err));
    g->variables[g->variable_count++] = v;
    return HR_OK;
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

/* ---- those without a value ---- */

/* Of those in `sets`: global ones first, each once. Gives how many. */
static int variables_in(const hr_graph *g, unsigned sets, hr_node *initialized, hr_view *names)
{
    int count = 0;
    for (unsigned set = 1; set != 0 && set <= sets; set *= 2) /* 0 beyond the last bit */
        for (int i = 0; i < g->variable_count; i++) {
            const hr_variable_info *v = g->variables[i];
            if (!(v->sets & sets & set) || v->sets & sets & (set - 1)) continue;
            initialized[count] = v->is_initialized;
            names[count++] = hr_text_view(v->name);
        }
    return count;
}

static hr_node names_without_value(hr_graph *g, hr_node *initialized, const hr_view *names, int count)
{
    hr_tensor text;
    hr_error err;
    if (hr_tensor_strings(&text, HR_SHAPE(count), names, &err) != HR_OK)
        return hr_node_fail(g, err.code, err.kind, "report_uninitialized_variables: %s", err.text);
    const hr_node all =
        hr_new_node(g, "Const", HR_ATTRS(HR_TENSOR_ATTR("value", &text), HR_TYPE_ATTR("dtype", HR_STRING)));
    hr_tensor_clear(&text);
    if (count == 0) return all;
    const hr_node stacked = hr_new_node(g, "Pack", .inputs = initialized, .input_count = count),
                  at = hr_new_node(g, "Where", HR_INPUTS(hr_new_node(g, "LogicalNot", HR_INPUTS(stacked)))),
                  rows = hr_new_node(g, "Squeeze", HR_INPUTS(at), HR_ATTRS(HR_INTS_ATTR("squeeze_dims", HR_I64(1), 1)));
    return hr_new_node(g, "GatherV2", HR_INPUTS(all, rows, hr_const_number(g, HR_INT32, 0, NULL)));
}

hr_node hr_report_uninitialized_variables(hr_graph *g, unsigned sets)
{
    if (!g) return hr_failed_node(g);
    hr_node *initialized = hr_malloc(sizeof *initialized * (size_t)(g->variable_count + 1));
    hr_view *names = hr_malloc(sizeof *names * (size_t)(g->variable_count + 1));
    hr_node out;
    if (initialized && names) {
        const int count = variables_in(g, sets ? sets : HR_GLOBAL_VARIABLES | HR_LOCAL_VARIABLES, initialized, names);
        hr_name_scope(g, "report_uninitialized_variables");
        out = names_without_value(g, initialized, names, count);
        hr_scope_end(g);
    } else {
        out = hr__graph_no_memory(g, "a report of variables");
    }
    hr_free(initialized);
    hr_free(names);
    return out;
}
