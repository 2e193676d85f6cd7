/* Proximal Adagrad: after each step of Adagrad values move towards 0 by their rate * l1, and shrink by rate * l2. */
#include <headrace/optimizer.h>
#include <tgmath.h>

/* Numbers: rate, l1, l2. */
HR_RULE(proximal_adagrad, 1, 1, {
    const T rate = p[0], l1 = p[1], l2 = p[2];
    for (int64_t i = 0; i < n; i++) {
        a[i] += g[i] * g[i];
        const T own = rate * (1 / sqrt(a[i])), moved = w[i] - g[i] * own;
        const T size = fabs(moved) - own * l1, left = size > 0 ? size : 0, kept = moved < 0 ? -left : left;
        w[i] = (l1 > 0 ? kept : moved) / (1 + l2 * own);
    }
})
static const hr_rule *const proximal_adagrad_rules[] = {&proximal_adagrad_rule, NULL};

/* Inputs: var, accum, lr, l1, l2, grad [, indices]. */
HR_UPDATE(proximal_adagrad_dense, &proximal_adagrad_rule, .from = {2, 3, 4}, .grad = 5)
HR_UPDATE(proximal_adagrad_sparse, &proximal_adagrad_rule, .from = {2, 3, 4}, .grad = 5, .indices = 6)

const hr_graph_op hr_graph_ops_proximal_adagrad[] = {
    HR_UPDATE_OPS("ProximalAdagrad", proximal_adagrad_dense),
    HR_SPARSE_UPDATE_OPS("ProximalAdagrad", proximal_adagrad_sparse),
    HR_GRAPH_OPS_END,
};

/* ---- the kind ---- */

enum { INITIAL_ACCUMULATOR_VALUE = HR_OWN_PARAMETER, L1, L2 };

static const char *const proximal_adagrad_parameters[] = {"learning_rate",
                                                          "decay",
                                                          "initial_accumulator_value",
                                                          "l1_regularization_strength",
                                                          "l2_regularization_strength",
                                                          NULL};
static const hr_parameter_spec proximal_adagrad_specs[] = {
    {NULL, 0.001, 0.001, -HUGE_VAL, HUGE_VAL},
    {NULL, 0, 0, 0, HUGE_VAL},
    {NULL, 0.1, 0.1, HR_ABOVE_ZERO, HUGE_VAL},
    {NULL, 0, 0, 0, HUGE_VAL},
    {NULL, 0, 0, 0, HUGE_VAL},
};

static const char *proximal_adagrad_title(const hr_optimizer *o)
{
    (void)o;
    return "ProximalAdagrad";
}

static int proximal_adagrad_slots(const hr_optimizer *o, const hr_slot **slot)
{
    static const hr_slot all[] = {{.name = "accumulator", .initial = INITIAL_ACCUMULATOR_VALUE}};
    (void)o;
    *slot = all;
    return 1;
}

static hr_node proximal_adagrad_update(hr_minimizer *t, const hr_minimize_target *v)
{
    const hr_node rate = hr_minimizer_number(t, v, HR_LEARNING_RATE), l1 = hr_minimizer_number(t, v, L1),
                  l2 = hr_minimizer_number(t, v, L2);
    if (!hr_target_is_sparse(v))
        return hr_new_node(t->g, "ResourceApplyProximalAdagrad",
                           HR_INPUTS(v->variable, v->slot[0], rate, l1, l2, v->gradient.values));
    return hr_new_node(t->g, "ResourceSparseApplyProximalAdagrad",
                       HR_INPUTS(v->variable, v->slot[0], rate, l1, l2, v->gradient.values, v->gradient.indices),
                       HR_ATTRS(HR_BOOL_ATTR("_sum_duplicates", true)));
}

const hr_optimizer_kind hr_optimizer_kind_proximal_adagrad = {
    .head = HR_OPTIMIZER_HEAD,
    .name = "proximal_adagrad",
    .parameters = proximal_adagrad_parameters,
    .parameter = proximal_adagrad_specs,
    .ops = hr_graph_ops_proximal_adagrad,
    .rules = proximal_adagrad_rules,
    .title = proximal_adagrad_title,
    .slots = proximal_adagrad_slots,
    .update = proximal_adagrad_update,
    .v1_only = true,
};

hr_optimizer *hr_proximal_adagrad_with(float learning_rate, const hr_proximal_opts *opts)
{
    opts = &HR_OPTIONS(hr_proximal_opts, opts);
    double initial;
    const double rate = (double)learning_rate, decay = (double)opts->decay,
                 l1 = (double)opts->l1_regularization_strength, l2 = (double)opts->l2_regularization_strength;
    const double *given[HR_MAX_PARAMETERS] = {&rate, &decay,
                                              hr_parameter_given(opts->initial_accumulator_value, &initial), &l1, &l2};
    return hr_optimizer_new(&hr_optimizer_kind_proximal_adagrad, given, HR_OPTIMIZER_COMMON(opts));
}
