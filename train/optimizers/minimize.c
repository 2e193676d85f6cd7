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
    if (count) *count = 0;
    if (out) *out = NULL;
    if (!g || !count || !out) return HR_INVALID_ARGUMENT;
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

/* ---- both halves ---- */

static hr_node apply_copy(const hr_optimizer *o, hr_graph *g, const hr_variable_gradient *gradients, int count,
                          const hr_minimize_opts *opts)
{
    if (opts->accumulate < 0)
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "optimizer.accumulate",
                            "accumulate: expected a number of steps, 0 or more, got %lld", (long long)opts->accumulate);
    hr_variable_gradient *copy = hr_malloc(((size_t)count + 1) * sizeof *copy);
    int given = 0;
    for (int i = 0; i < count; i++) given += gradients[i].gradient.values.graph != NULL;
    if (!copy) return hr_node_fail(g, HR_RESOURCE_EXHAUSTED, "memory", "no memory for gradients");
    if (count > 0) memcpy(copy, gradients, (size_t)count * sizeof *copy);
    const hr_node done =
        (opts->accumulate > 1 && given > 0 ? hr__accumulate : hr__apply_gradients)(o, g, copy, count, opts);
    hr_free(copy);
    return done;
}

hr_node hr_apply_gradients(hr_optimizer *optimizer, hr_graph *g, const hr_variable_gradient *gradients, int count,
                           const hr_minimize_opts *opts)
{
    opts = &HR_OPTIONS(hr_minimize_opts, opts);
    if (opts->variables) *opts->variables = (hr_optimizer_variables){0};
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
        if (opts->variables) *opts->variables = (hr_optimizer_variables){0};
        hr_optimizer_free(optimizer);
        return loss;
    }
    hr_compute_gradients(loss, opts, &gradients, &count);
    hr_node done = hr_apply_gradients(optimizer, loss.graph, gradients, count, opts);
    hr_free(gradients);
    return done;
}
