/* Adagrad: each value's rate falls with the sum of its squared gradients. */
#include <headrace/optimizer.h>
#include <tgmath.h>

/* ---- rules; operations come in the order in which TensorFlow's kernels write them ---- */

/* Without the last number the accumulator is used as it is. */
#define ADAGRAD(DIVISOR, UPDATE)                                                                                       \
    if (UPDATE) {                                                                                                      \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            a[i] += g[i] * g[i];                                                                                       \
            w[i] -= g[i] * rate / (DIVISOR);                                                                           \
        }                                                                                                              \
        return;                                                                                                        \
    }                                                                                                                  \
    for (int64_t i = 0; i < n; i++) w[i] -= g[i] * rate / (DIVISOR);

/* Numbers: rate, update_slots. w -= rate * g / sqrt(a). */
HR_RULE(adagrad, 1, 0.7, {
    const T rate = p[0];
    ADAGRAD(sqrt(a[i]), p[1] != 0)
})

/* Numbers: rate, epsilon, update_slots. w -= rate * g / (sqrt(a) + epsilon). */
HR_RULE(adagrad_v2, 1, 0.7, {
    const T rate = p[0], epsilon = p[1];
    ADAGRAD(sqrt(a[i]) + epsilon, p[2] != 0)
})

#undef ADAGRAD

static const hr_rule *const adagrad_rules[] = {&adagrad_rule, &adagrad_v2_rule, NULL};

/* ---- ops ---- */

static hr_status apply_adagrad_compute(hr_kernel *k, bool second, bool sparse, hr_error *err)
{
    const int grad = second ? 4 : 3;
    hr_update apply = {second ? &adagrad_v2_rule : &adagrad_rule, .grad = grad, .indices = sparse ? grad + 1 : 0};
    apply.p[second ? 2 : 1] = hr_attr_bool(k->node, "update_slots");
    HR_TRY(hr_update_number(k, 2, &apply.p[0], err));
    if (second) HR_TRY(hr_update_number(k, 3, &apply.p[1], err));
    return hr_update_run(k, &apply, err);
}

static hr_status apply_adagrad_dense(hr_kernel *k, hr_error *err)
{
    return apply_adagrad_compute(k, false, false, err);
}
static hr_status apply_adagrad_sparse(hr_kernel *k, hr_error *err)
{
    return apply_adagrad_compute(k, false, true, err);
}
static hr_status adagrad_dense_v2(hr_kernel *k, hr_error *err) { return apply_adagrad_compute(k, true, false, err); }
static hr_status adagrad_sparse_v2(hr_kernel *k, hr_error *err) { return apply_adagrad_compute(k, true, true, err); }

const hr_graph_op hr_graph_ops_adagrad[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ResourceApplyAdagrad",
        .types = "T:floats",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .compute = apply_adagrad_dense,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ResourceApplyAdagradV2",
        .types = "T:floats",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .compute = adagrad_dense_v2,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ResourceSparseApplyAdagrad",
        .types = "T:floats; Tindices:indices",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .compute = apply_adagrad_sparse,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ResourceSparseApplyAdagradV2",
        .types = "T:floats; Tindices:indices",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .compute = adagrad_sparse_v2,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ApplyAdagrad",
        .types = "T:floats",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .compute = apply_adagrad_dense,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ApplyAdagradV2",
        .types = "T:floats",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .compute = adagrad_dense_v2,
    },
    HR_GRAPH_OPS_END,
};

/* ---- the kind ---- */

enum { INITIAL_ACCUMULATOR_VALUE = HR_OWN_PARAMETER, EPSILON };

static const char *const adagrad_parameters[] = {"learning_rate", "decay", "initial_accumulator_value", "epsilon",
                                                 NULL};
static const hr_parameter_spec adagrad_specs[] = {
    {"learning_rate", 0.001, 0.001, -HUGE_VAL, HUGE_VAL},
    {"decay", 0, 0, 0, HUGE_VAL},
    {NULL, 0.1, 0.1, 0, HUGE_VAL},
    {NULL, 1e-7, 0, 0, HUGE_VAL},
};

static const char *adagrad_title(const hr_optimizer *o)
{
    (void)o;
    return "Adagrad";
}

static int adagrad_slots(const hr_optimizer *o, const hr_slot **slot)
{
    static const hr_slot all[] = {{"accumulator", INITIAL_ACCUMULATOR_VALUE}};
    (void)o;
    *slot = all;
    return 1;
}

static hr_node update_v1(hr_minimizer *t, const hr_minimize_target *v)
{
    hr_node rate = hr_minimizer_number(t, v, HR_LEARNING_RATE);
    if (!hr_target_is_sparse(v))
        return hr_new_node(t->g, "ResourceApplyAdagrad", HR_INPUTS(v->variable, v->slot[0], rate, v->gradient.values));
    return hr_new_node(t->g, "ResourceSparseApplyAdagrad",
                       HR_INPUTS(v->variable, v->slot[0], rate, v->gradient.values, v->gradient.indices),
                       HR_ATTRS(HR_BOOL_ATTR("_sum_duplicates", true)));
}

static hr_node adagrad_update(hr_minimizer *t, const hr_minimize_target *v)
{
    if (hr_optimizer_is_v1(t->optimizer)) return update_v1(t, v);
    hr_node rate = hr_minimizer_number(t, v, HR_LEARNING_RATE), epsilon = hr_minimizer_number(t, v, EPSILON);
    if (!hr_target_is_sparse(v))
        return hr_new_node(t->g, "ResourceApplyAdagradV2",
                           HR_INPUTS(v->variable, v->slot[0], rate, epsilon, v->gradient.values));
    return hr_new_node(t->g, "ResourceSparseApplyAdagradV2",
                       HR_INPUTS(v->variable, v->slot[0], rate, epsilon, v->gradient.values, v->gradient.indices),
                       HR_ATTRS(HR_BOOL_ATTR("_sum_duplicates", true)));
}

const hr_optimizer_kind hr_optimizer_kind_adagrad = {
    .head = HR_OPTIMIZER_HEAD,
    .name = "adagrad",
    .parameters = adagrad_parameters,
    .parameter = adagrad_specs,
    .ops = hr_graph_ops_adagrad,
    .rules = adagrad_rules,
    .title = adagrad_title,
    .slots = adagrad_slots,
    .update = adagrad_update,
};

hr_optimizer *hr_adagrad_with(float learning_rate, const hr_adagrad_opts *opts)
{
    opts = &HR_OPTIONS(hr_adagrad_opts, opts);
    double initial, epsilon;
    const double rate = (double)learning_rate, decay = (double)opts->decay;
    const double *given[HR_MAX_PARAMETERS] = {&rate, &decay,
                                              hr_parameter_given(opts->initial_accumulator_value, &initial),
                                              hr_parameter_given(opts->epsilon, &epsilon)};
    return hr_optimizer_new(&hr_optimizer_kind_adagrad, given, opts->v1, opts->learning_rate_node);
}
