/* Variables by name: made, in pieces where a partitioner says so, or shared, as their scope says. */
#include "train/graph/graph_internal.h"

#include <stdio.h>

enum { MAX_NAME = 1024 };

/* One of that name is there: `v`, or the first of its pieces. */
static hr_node found(hr_graph *g, hr_reuse reuse, const hr_variable_info *v, bool pieces, hr_dtype dtype,
                     hr_shape shape)
{
    hr__shape_name had, wanted;
    const char *name = v->piece ? v->piece->full_name : v->name;
    const hr_shape whole = v->piece ? v->piece->full_shape : v->shape;
    if (reuse == HR_REUSE_NEVER)
        return hr_node_fail(g, HR_ALREADY_EXISTS, "variable.exists",
                            "variable '%s' exists already; use hr_variable_scope(g, name, .reuse = HR_AUTO_REUSE) to "
                            "share it",
                            name);
    if ((v->piece != NULL) != pieces)
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "variable.exists",
                            "variable '%s' was made %s a partitioner, and is asked for %s one", name,
                            pieces ? "without" : "with", pieces ? "with" : "without");
    if (v->dtype == dtype && hr_shape_equal(whole, shape)) return v->piece ? v->piece->whole : v->handle;
    return hr_node_fail(g, HR_INVALID_ARGUMENT, "variable.shape",
                        "variable '%s': expected %s %s as when it was made, got %s %s", name, hr_dtype_name(v->dtype),
                        hr__shape_in(&had, whole), hr_dtype_name(dtype), hr__shape_in(&wanted, shape));
}

hr_node hr_get_variable_with(hr_graph *g, const char *name, hr_dtype dtype, hr_shape shape,
                             const hr_variable_opts *opts)
{
    const hr_variable_opts o = HR_OPTIONS(hr_variable_opts, opts);
    char full[MAX_NAME];
    const hr_graph *scope = hr__innermost(g);
    g = hr__root(g); /* a function's variables are its callers', too */
    if (!g || !name) return hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.name", "variable: expected a name, got NULL");
    if (scope != g && scope->error.code != HR_OK) return hr_failed_node(g); /* its scope may not be what it should be */
    const int n = snprintf(full, sizeof full, "%s%s", scope->variable_scope, name);
    if (n < 0 || n > MAX_NAME - 64)
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.name", "variable: expected a shorter name than \"%.60s\"",
                            name);
    const hr_partitioner partitioner = o.partitioner.pieces ? o.partitioner : scope->partitioner;
    const bool pieces = partitioner.pieces && shape.rank > 0 && !o.whole;
    const hr_variable_info *v = hr_variable_named(g, full);
    if (!v) v = hr__first_piece(g, full);
    if (v) return found(g, scope->reuse, v, pieces, dtype, shape);
    if (scope->reuse == HR_REUSE)
        return hr_node_fail(g, HR_NOT_FOUND, "variable.unknown",
                            "variable '%s' does not exist, and the scope says HR_REUSE; use HR_AUTO_REUSE to make it",
                            full);
    if (hr_shape_count(shape) < 0)
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "variable.shape",
                            "variable '%s': expected a shape without unknown dimensions", full);
    hr_graph *building = g->building;
    g->building = NULL;
    const hr_node variable = pieces ? hr__add_pieces(g, full, dtype, shape, &partitioner, &o)
                                    : hr__add_variable(g, full, dtype, shape, NULL, &o);
    g->building = building;
    return variable;
}

hr_node hr_global_step(hr_graph *g)
{
    const hr_variable_info *v = hr_variable_named(g, "global_step");
    if (v) return v->handle;
    if (!g) return hr_failed_node(g);
    const hr_variable_opts opts = {.not_trainable = true};
    hr_node step = hr__add_variable(g, "global_step", HR_INT64, HR_SCALAR, NULL, &opts);
    hr_add_to_collection(g, "global_step", step);
    return step;
}
