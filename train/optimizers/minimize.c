/* minimize: the gradients of a loss by the variables, one update a variable, then the steps are counted. */
#include "train/optimizers/optimizers_internal.h"

#include <stdio.h>
#include <string.h>

/* ---- which variables ---- */

static bool minimize_in_scope(const hr_variable_info *info, const char *scope)
{
    if (!(info->sets & HR_TRAINABLE_VARIABLES)) return false;
    if (!scope || !*scope) return true;
    const size_t size = strlen(scope);
    if (strncmp(info->name, scope, size) != 0) return false;
    return scope[size - 1] == '/' || info->name[size] == '/' || info->name[size] == 0;
}

static int minimize_choose(hr_graph *g, const hr_minimize_opts *opts, hr_node *out)
{
    int count = 0;
    for (int i = 0; i < opts->var_count; i++) out[count++] = opts->var_list[i];
    if (opts->var_list) return count;
    for (int i = 0; i < hr_graph_variables(g); i++) {
        const hr_variable_info *info = hr_graph_variable(g, i);
        if (minimize_in_scope(info, opts->var_scope)) out[count++] = info->handle;
    }
    return count;
}

hr_status hr_compute_gradients(hr_node loss, const hr_minimize_opts *opts, hr_variable_gradient **out, int *count)
{
    opts = &HR_OPTIONS(hr_minimize_opts, opts);
    hr_graph *g = loss.graph;
    *count = 0;
    *out = NULL;
    if (!g) return HR_INVALID_ARGUMENT;
    const size_t max = (size_t)(opts->var_list ? opts->var_count : hr_graph_variables(g)) + 1;
    hr_node *x = hr_malloc(max * sizeof *x);
    hr_gradient *gradient = hr_malloc(max * sizeof *gradient);
    *out = hr_malloc(max * sizeof **out);
    if (!x || !gradient || !*out) {
        hr_node_fail(g, HR_RESOURCE_EXHAUSTED, "memory", "no memory for gradients");
        hr_free(*out);
        *out = NULL;
    } else {
        *count = minimize_choose(g, opts, x);
        hr_gradients(&loss, 1, x, *count, gradient);
        for (int i = 0; i < *count; i++) (*out)[i] = (hr_variable_gradient){x[i], gradient[i]};
    }
    hr_free(x);
    hr_free(gradient);
    return hr_graph_error(g) ? hr_graph_error(g)->code : HR_OK;
}

/* ---- applying ---- */

/* Counts the step, lets the kind finish, and gives the one op that stands for all of it. */
static hr_node minimize_finish(hr_minimizer *t, const hr_minimize_opts *opts, hr_node *updates, int count)
{
    const hr_optimizer *o = t->optimizer;
    enum { MOST = 2 }; /* nodes of finish */
    hr_node last[MOST + 1];
    int lasts = 0;
    char scope[HR_MAX_SCOPE + 1];
    snprintf(scope, sizeof scope, "%.510s/", t->scope);
    hr_name_scope(t->g, scope);
    hr_control_dependencies(t->g, updates, count);
    if (o->kind->finish) lasts = o->kind->finish(t, last);
    if (lasts < 0 || lasts > MOST) {
        hr_node_fail(t->g, HR_INVALID_ARGUMENT, "optimizer.kind", "%s: expected finish to give 0 to %d nodes, got %d",
                     hr__optimizer_title(o), MOST, lasts);
        lasts = 0;
    }
    if (t->iterations.graph) last[lasts++] = hr_target(hr_assign_add(t->iterations, hr_scalar(t->g, HR_INT64, 1)));
    hr_control_end(t->g);
    hr_scope_end(t->g);
    for (int i = 0; i < lasts; i++) updates[count++] = last[i];
    return hr_group(t->g, updates, count, opts->name ? opts->name : t->scope);
}

static hr_node no_gradients(hr_graph *g, const hr_optimizer *o)
{
    return hr_node_fail(g, HR_INVALID_ARGUMENT, "optimizer.no_gradients",
                        "%s: expected a loss that depends on at least one of the variables to train, but it depends on "
                        "none of them",
                        hr__optimizer_title(o));
}

/* `gradients` are changed: they are clipped. */
static hr_node apply(const hr_optimizer *o, hr_graph *g, hr_variable_gradient *gradients, int count,
                     const hr_minimize_opts *opts)
{
    hr_minimizer t = {.g = g, .optimizer = o};
    char prefix[HR_MAX_SCOPE] = "";
    int updates = 0;
    for (int i = 0; i < count; i++) updates += gradients[i].gradient.values.graph != NULL;
    if (updates == 0) return hr_graph_error(g) ? hr_failed_node(g) : no_gradients(g, o);
    hr_node *update = hr_malloc(((size_t)updates + 3) * sizeof *update);
    if (!update) return hr_node_fail(g, HR_RESOURCE_EXHAUSTED, "memory", "no memory for an optimizer");
    if (opts->name_prefix && *opts->name_prefix) snprintf(prefix, sizeof prefix, "%.400s/", opts->name_prefix);
    t.prefix = prefix;
    hr__minimizer_begin(&t, opts);
    hr__minimizer_clip(&t, gradients, count);
    updates = 0;
    for (int i = 0; i < count; i++)
        if (gradients[i].gradient.values.graph) update[updates++] = hr_target(hr__minimizer_update(&t, &gradients[i]));
    hr_node done = minimize_finish(&t, opts, update, updates);
    hr_free(update);
    return done;
}

static hr_node apply_copy(const hr_optimizer *o, hr_graph *g, const hr_variable_gradient *gradients, int count,
                          const hr_minimize_opts *opts)
{
    hr_variable_gradient *copy = hr_malloc(((size_t)count + 1) * sizeof *copy);
    if (!copy) return hr_node_fail(g, HR_RESOURCE_EXHAUSTED, "memory", "no memory for gradients");
    if (count > 0) memcpy(copy, gradients, (size_t)count * sizeof *copy);
    const hr_node done = apply(o, g, copy, count, opts);
    hr_free(copy);
    return done;
}

hr_node hr_apply_gradients(hr_optimizer *optimizer, hr_graph *g, const hr_variable_gradient *gradients, int count,
                           const hr_minimize_opts *opts)
{
    opts = &HR_OPTIONS(hr_minimize_opts, opts);
    const hr_error *error = hr_optimizer_error(optimizer);
    const bool there = gradients || count <= 0;
    hr_node done = error    ? hr_node_fail(g, error->code, error->kind, "%s", error->text)
                   : !there ? hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.argument",
                                           "hr_apply_gradients: expected %d gradients, got NULL", count)
                            : apply_copy(optimizer, g, gradients, count > 0 ? count : 0, opts);
    hr_optimizer_free(optimizer);
    return done;
}

hr_node hr_minimize_with(hr_optimizer *optimizer, hr_node loss, const hr_minimize_opts *opts)
{
    opts = &HR_OPTIONS(hr_minimize_opts, opts);
    hr_variable_gradient *gradients = NULL;
    int count = 0;
    if (!loss.graph) {
        hr_optimizer_free(optimizer);
        return loss;
    }
    hr_compute_gradients(loss, opts, &gradients, &count);
    hr_node done = hr_apply_gradients(optimizer, loss.graph, gradients, count, opts);
    hr_free(gradients);
    return done;
}
