/* Gradients summed over several steps and applied by the last of them. Sums are variables of the shape of what they are
 * for; a sparse gradient has, beside it, which rows it has touched, so that what is applied is sparse as well. */
#include "train/optimizers/optimizers_internal.h"

#include <headrace/control_flow.h>
#include <headrace/eager.h>
#include <headrace/ops.h>
#include <stdio.h>
#include <string.h>

typedef struct kept_gradient {
    hr_node sum, rows; /* `rows`, of bools: none of a dense one */
} kept_gradient;

typedef struct accumulation {
    const hr_optimizer *optimizer;
    hr_graph *g;
    hr_variable_gradient *gradients; /* this step's; while the branch is made, those that it applies */
    kept_gradient *kept;
    int count;
    const hr_minimize_opts *opts;
    hr_node steps; /* an int64 variable: how many are summed */
} accumulation;

/* "NAME", or "NAME_1", ... where another optimizer sums for the same variable. */
static hr_node own_variable(const accumulation *a, const char *name, hr_dtype dtype, hr_shape shape)
{
    char full[2 * HR_MAX_SCOPE];
    snprintf(full, sizeof full, "%.900s", name);
    for (int i = 1; hr__variable_in_scope(a->g, full); i++) snprintf(full, sizeof full, "%.900s_%d", name, i);
    return hr_get_variable(a->g, full, dtype, shape, .initializer = hr_zeros(), .not_trainable = true, .whole = true);
}

static hr_node scatter(hr_node variable, const char *op, hr_node indices, hr_node values)
{
    return hr_target(hr_new_node(variable.graph, op, HR_INPUTS(variable, indices, values)));
}

static hr_node fill_like(hr_node indices, hr_node value) { return hr_fill(hr_shape_of(indices), value); }

static hr_node a_bool(hr_graph *g, bool value) { return hr_const_number(g, HR_BOOL, value, NULL); }

/* Adds this step's gradient of variable i to its sum. */
static hr_node add_up(accumulation *a, int i)
{
    const hr_gradient gradient = a->gradients[i].gradient;
    const hr_variable_info *info = hr_variable_of(a->gradients[i].variable);
    char name[HR_MAX_SCOPE + 32];
    if (!info)
        return hr_node_fail(a->g, HR_INVALID_ARGUMENT, "optimizer.variable",
                            "accumulate: expected a variable to train, got node '%s'",
                            hr_node_name(a->gradients[i].variable));
    snprintf(name, sizeof name, "%.500s/gradient_sum", info->name);
    a->kept[i].sum = own_variable(a, name, info->dtype, info->shape);
    if (!gradient.indices.graph) return hr_target(hr_assign_add(a->kept[i].sum, gradient.values));
    snprintf(name, sizeof name, "%.500s/gradient_rows", info->name);
    a->kept[i].rows = own_variable(a, name, HR_BOOL, HR_SHAPE(info->shape.rank > 0 ? info->shape.dims[0] : 0));
    const hr_node both[] = {scatter(a->kept[i].sum, "ResourceScatterAdd", gradient.indices, gradient.values),
                            scatter(a->kept[i].rows, "ResourceScatterUpdate", gradient.indices,
                                    fill_like(gradient.indices, a_bool(a->g, true)))};
    return hr_target(hr_group(a->g, both, 2, NULL));
}

/* What is applied for variable i: its sum, or the mean of the steps. */
static hr_gradient summed(const accumulation *a, int i)
{
    const kept_gradient *k = &a->kept[i];
    hr_gradient out = {.values = k->sum};
    if (k->rows.graph) {
        out.indices = hr_squeeze(hr_new_node(a->g, "Where", HR_INPUTS(k->rows)), HR_I64(1), 1);
        out.values = hr_gather(k->sum, out.indices, 0);
        out.dense_shape = hr_variable_shape(a->gradients[i].variable, HR_INT64);
    }
    const double share = a->opts->accumulate_sum ? 1 : 1 / (double)a->opts->accumulate;
    out.values = hr_identity(out.values);
    if (share != 1) out.values = hr_mul(out.values, hr_scalar_like(out.values, share));
    return out;
}

/* All of variable i begins at 0 again; of a sparse one, the rows that were touched. */
static void begin_again(const accumulation *a, int i, hr_gradient applied)
{
    const kept_gradient *k = &a->kept[i];
    if (!k->rows.graph) {
        hr_assign(k->sum, hr_zeros_like(applied.values));
        return;
    }
    scatter(k->sum, "ResourceScatterUpdate", applied.indices, hr_zeros_like(applied.values));
    scatter(k->rows, "ResourceScatterUpdate", applied.indices, fill_like(applied.indices, a_bool(a->g, false)));
}

static void apply_sums(hr_graph *body, hr_node *results, void *user)
{
    const accumulation *a = user;
    for (int i = 0; i < a->count; i++)
        if (a->kept[i].sum.graph) a->gradients[i].gradient = summed(a, i);
    const hr_node done = hr__apply_gradients(a->optimizer, a->g, a->gradients, a->count, a->opts);
    hr_control_dependencies(body, &done, 1);
    for (int i = 0; i < a->count; i++)
        if (a->kept[i].sum.graph) begin_again(a, i, a->gradients[i].gradient);
    hr_assign(a->steps, hr_scalar(a->g, HR_INT64, 0));
    hr_control_end(body);
    results[0] = a_bool(body, true);
}

static void apply_nothing(hr_graph *body, hr_node *results, void *user)
{
    (void)user;
    results[0] = a_bool(body, false);
}

/* Counts the step after its gradients were added; true: it is the last of its steps. */
static hr_node is_due(const accumulation *a, const hr_node *added, int count)
{
    hr_control_dependencies(a->g, added, count);
    const hr_node counted = hr_target(hr_assign_add(a->steps, hr_scalar(a->g, HR_INT64, 1)));
    hr_control_end(a->g);
    hr_control_dependencies(a->g, &counted, 1);
    const hr_node steps = hr_identity(a->steps);
    hr_control_end(a->g);
    return hr_greater_equal(steps, hr_scalar(a->g, HR_INT64, (double)a->opts->accumulate));
}

static hr_node accumulate(accumulation *a, hr_node *added)
{
    int count = 0;
    hr_node applied;
    for (int i = 0; i < a->count; i++)
        if (a->gradients[i].gradient.values.graph) added[count++] = add_up(a, i);
    a->steps = own_variable(a, "gradient_sum/steps", HR_INT64, HR_SCALAR);
    hr_cond(is_due(a, added, count), apply_sums, apply_nothing, a, &applied, 1);
    const char *name = a->opts->name ? a->opts->name : "accumulate";
    return hr_group(a->g, &applied, 1, name);
}

hr_node hr__accumulate(const hr_optimizer *o, hr_graph *g, hr_variable_gradient *gradients, int count,
                       const hr_minimize_opts *opts)
{
    accumulation a = {.optimizer = o, .g = g, .gradients = gradients, .count = count, .opts = opts};
    hr_node *added = hr_malloc(((size_t)count + 1) * sizeof *added), out;
    a.kept = hr_calloc((size_t)count + 1, sizeof *a.kept);
    if (hr_graph_is_eager(g))
        out = hr_node_fail(g, HR_UNIMPLEMENTED, "optimizer.accumulate",
                           "accumulate: expected a graph that is run in sessions, got an eager one");
    else if (added && a.kept)
        out = accumulate(&a, added);
    else
        out = hr_node_fail(g, HR_RESOURCE_EXHAUSTED, "memory", "no memory for gradients");
    hr_free(added);
    hr_free(a.kept);
    return out;
}
