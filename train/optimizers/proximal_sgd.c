/* Proximal gradient descent: after each step values move towards 0 by rate * l1, and shrink by rate * l2. */
#include <headrace/optimizer.h>
#include <tgmath.h>

/* Numbers: rate, l1, l2. */
HR_RULE(proximal_sgd, 0, 0.4, {
    const T rate = p[0], shift = p[0] * p[1], divisor = 1 + p[0] * p[2];
    if (p[1] > 0) {
        for (int64_t i = 0; i < n; i++) {
            const T moved = w[i] - g[i] * rate, size = fabs(moved) - shift, left = size > 0 ? size : 0;
            w[i] = (moved < 0 ? -left : left) / divisor;
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) w[i] = (w[i] - g[i] * rate) / divisor;
})
static const hr_rule *const proximal_sgd_rules[] = {&proximal_sgd_rule, NULL};

/* Inputs: var, alpha, l1, l2, delta [, indices]. */
HR_UPDATE(proximal_sgd_dense, &proximal_sgd_rule, .from = {1, 2, 3}, .grad = 4)
HR_UPDATE(proximal_sgd_sparse, &proximal_sgd_rule, .from = {1, 2, 3}, .grad = 4, .indices = 5)

const hr_graph_op hr_graph_ops_proximal_sgd[] = {
    HR_UPDATE_OPS("ProximalGradientDescent", proximal_sgd_dense),
    HR_SPARSE_UPDATE_OPS("ProximalGradientDescent", proximal_sgd_sparse),
    HR_GRAPH_OPS_END,
};

/* ---- the kind ---- */

enum { L1 = HR_OWN_PARAMETER, L2 };

static const char *const proximal_sgd_parameters[] = {"learning_rate", "decay", "l1_regularization_strength",
                                                      "l2_regularization_strength", NULL};
static const hr_parameter_spec proximal_sgd_specs[] = {
    {NULL, 0.001, 0.001, -HUGE_VAL, HUGE_VAL},
    {NULL, 0, 0, 0, HUGE_VAL},
    {NULL, 0, 0, 0, HUGE_VAL},
    {NULL, 0, 0, 0, HUGE_VAL},
};

static const char *proximal_sgd_title(const hr_optimizer *o)
{
    (void)o;
    return "ProximalGradientDescent";
}

static hr_node proximal_sgd_update(hr_minimizer *t, const hr_minimize_target *v)
{
    const hr_node rate = hr_minimizer_number(t, v, HR_LEARNING_RATE), l1 = hr_minimizer_number(t, v, L1),
                  l2 = hr_minimizer_number(t, v, L2);
    if (!hr_target_is_sparse(v))
        return hr_new_node(t->g, "ResourceApplyProximalGradientDescent",
                           HR_INPUTS(v->variable, rate, l1, l2, v->gradient.values));
    return hr_new_node(t->g, "ResourceSparseApplyProximalGradientDescent",
                       HR_INPUTS(v->variable, rate, l1, l2, v->gradient.values, v->gradient.indices),
                       HR_ATTRS(HR_BOOL_ATTR("_sum_duplicates", true)));
}

const hr_optimizer_kind hr_optimizer_kind_proximal_sgd = {
    .head = HR_OPTIMIZER_HEAD,
    .name = "proximal_sgd",
    .parameters = proximal_sgd_parameters,
    .parameter = proximal_sgd_specs,
    .ops = hr_graph_ops_proximal_sgd,
    .rules = proximal_sgd_rules,
    .title = proximal_sgd_title,
    .update = proximal_sgd_update,
    .v1_only = true,
};

hr_optimizer *hr_proximal_sgd_with(float learning_rate, const hr_proximal_opts *opts)
{
    opts = &HR_OPTIONS(hr_proximal_opts, opts);
    const double rate = (double)learning_rate, decay = (double)opts->decay,
                 l1 = (double)opts->l1_regularization_strength, l2 = (double)opts->l2_regularization_strength;
    const double *given[HR_MAX_PARAMETERS] = {&rate, &decay, &l1, &l2};
    return hr_optimizer_new(&hr_optimizer_kind_proximal_sgd, given, HR_OPTIMIZER_COMMON(opts));
}
