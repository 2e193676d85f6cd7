/* Adagrad with dual averaging: a value follows from the sums of all its gradients and of their squares, so that l1 keeps
 * most weights of a sparse linear model at 0. */
#include <headrace/optimizer.h>
#include <tgmath.h>

/* Slots: gradients, squares. Numbers: rate, l1, l2, steps. */
HR_RULE(adagrad_da, 2, 1, {
    const T rate = p[0], l1 = p[1] * p[3], l2 = p[2] * p[3] * p[0];
    for (int64_t i = 0; i < n; i++) {
        a[i] += g[i];
        b[i] += g[i] * g[i];
        const T size = fabs(a[i]) - l1, left = size > 0 ? size : 0, pull = a[i] < 0 ? -left : left;
        w[i] = -rate * (p[1] > 0 ? pull : a[i]) / (l2 + sqrt(b[i]));
    }
})
static const hr_rule *const adagrad_da_rules[] = {&adagrad_da_rule, NULL};

/* Inputs: var, gradient_accumulator, gradient_squared_accumulator, grad [, indices], lr, l1, l2, global_step. */
HR_UPDATE(adagrad_da_dense, &adagrad_da_rule, .from = {4, 5, 6, 7}, .grad = 3)
HR_UPDATE(adagrad_da_sparse, &adagrad_da_rule, .from = {5, 6, 7, 8}, .grad = 3, .indices = 4)

const hr_graph_op hr_graph_ops_adagrad_da[] = {
    HR_UPDATE_OPS("AdagradDA", adagrad_da_dense),
    HR_SPARSE_UPDATE_OPS("AdagradDA", adagrad_da_sparse),
    HR_GRAPH_OPS_END,
};

/* ---- the kind ---- */

enum { INITIAL_SQUARES = HR_OWN_PARAMETER, L1, L2 };

static const char *const adagrad_da_parameters[] = {"learning_rate",
                                                    "decay",
                                                    "initial_gradient_squared_accumulator_value",
                                                    "l1_regularization_strength",
                                                    "l2_regularization_strength",
                                                    NULL};
static const hr_parameter_spec adagrad_da_specs[] = {
    {NULL, 0.001, 0.001, -HUGE_VAL, HUGE_VAL},
    {NULL, 0, 0, 0, HUGE_VAL},
    {NULL, 0.1, 0.1, HR_ABOVE_ZERO, HUGE_VAL},
    {NULL, 0, 0, 0, HUGE_VAL},
    {NULL, 0, 0, 0, HUGE_VAL},
};

static const char *adagrad_da_title(const hr_optimizer *o)
{
    (void)o;
    return "AdagradDA";
}

static int adagrad_da_slots(const hr_optimizer *o, const hr_slot **slot)
{
    static const hr_slot all[] = {{.name = "gradient_accumulator"},
                                  {.name = "gradient_squared_accumulator", .initial = INITIAL_SQUARES}};
    (void)o;
    *slot = all;
    return 2;
}

/* The step that this one is. */
static void adagrad_da_begin(hr_minimizer *t)
{
    const hr_node one = hr_scalar(t->g, HR_INT64, 1);
    t->shared[0] = t->iterations.graph ? hr_add(t->iterations, one) : hr_minimizer_step(t);
}

static hr_node adagrad_da_update(hr_minimizer *t, const hr_minimize_target *v)
{
    const hr_node rate = hr_minimizer_number(t, v, HR_LEARNING_RATE), l1 = hr_minimizer_number(t, v, L1),
                  l2 = hr_minimizer_number(t, v, L2), step = t->shared[0];
    if (!hr_target_is_sparse(v))
        return hr_new_node(t->g, "ResourceApplyAdagradDA",
                           HR_INPUTS(v->variable, v->slot[0], v->slot[1], v->gradient.values, rate, l1, l2, step));
    return hr_new_node(
        t->g, "ResourceSparseApplyAdagradDA",
        HR_INPUTS(v->variable, v->slot[0], v->slot[1], v->gradient.values, v->gradient.indices, rate, l1, l2, step),
        HR_ATTRS(HR_BOOL_ATTR("_sum_duplicates", true)));
}

const hr_optimizer_kind hr_optimizer_kind_adagrad_da = {
    .head = HR_OPTIMIZER_HEAD,
    .name = "adagrad_da",
    .parameters = adagrad_da_parameters,
    .parameter = adagrad_da_specs,
    .ops = hr_graph_ops_adagrad_da,
    .rules = adagrad_da_rules,
    .title = adagrad_da_title,
    .slots = adagrad_da_slots,
    .begin = adagrad_da_begin,
    .update = adagrad_da_update,
    .v1_only = true,
};

hr_optimizer *hr_adagrad_da_with(float learning_rate, const hr_adagrad_da_opts *opts)
{
    opts = &HR_OPTIONS(hr_adagrad_da_opts, opts);
    double initial;
    const double rate = (double)learning_rate, decay = (double)opts->decay,
                 l1 = (double)opts->l1_regularization_strength, l2 = (double)opts->l2_regularization_strength;
    const double *given[HR_MAX_PARAMETERS] = {
        &rate, &decay, hr_parameter_given(opts->initial_gradient_squared_accumulator_value, &initial), &l1, &l2};
    return hr_optimizer_new(&hr_optimizer_kind_adagrad_da, given, HR_OPTIMIZER_COMMON(opts));
}
