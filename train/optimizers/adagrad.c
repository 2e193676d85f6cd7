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

/* Of Keras since 2.11. Numbers: rate, epsilon. */
HR_RULE(keras_adagrad, 1, 0.7, {
    const T rate = p[0], epsilon = p[1];
    for (int64_t i = 0; i < n; i++) {
        a[i] += g[i] * g[i];
        w[i] -= rate * g[i] / sqrt(a[i] + epsilon);
    }
})

static const hr_rule *const adagrad_rules[] = {&adagrad_rule, &adagrad_v2_rule, &keras_adagrad_rule, NULL};

/* ---- ops ---- */

HR_UPDATE(adagrad_dense, &adagrad_rule, .from = {2}, .grad = 3, .flag = "update_slots", .flag_to = 1)
HR_UPDATE(adagrad_sparse, &adagrad_rule, .from = {2}, .grad = 3, .indices = 4, .flag = "update_slots", .flag_to = 1)
HR_UPDATE(adagrad_dense_v2, &adagrad_v2_rule, .from = {2, 3}, .grad = 4, .flag = "update_slots", .flag_to = 2)
HR_UPDATE(adagrad_sparse_v2, &adagrad_v2_rule, .from = {2, 3}, .grad = 4, .indices = 5, .flag = "update_slots",
          .flag_to = 2)

HR_UPDATE(keras_adagrad_dense, &keras_adagrad_rule, .from = {2, 3}, .grad = 4)
HR_UPDATE(keras_adagrad_sparse, &keras_adagrad_rule, .from = {2, 3}, .grad = 4, .indices = 5)

/* Of many variables: the same inputs, all variables before all slots and so on; lr and epsilon come last. */
static hr_status adagrad_many(hr_kernel *k, hr_error *err)
{
    const int many = (int)hr_attr_int(k->node, "N");
    const hr_update update = {&adagrad_v2_rule, .from = {4 * many, 4 * many + 1}, .flag = "update_slots", .flag_to = 2};
    return hr_update_many(k, &update, many, err);
}

#define KERAS_INPUTS "var:resource, accum:resource, lr:float, epsilon:double, grad:T"
const hr_graph_op hr_graph_ops_adagrad[] = {
    HR_UPDATE_OPS("Adagrad", adagrad_dense),
    HR_UPDATE_OPS("AdagradV2", adagrad_dense_v2),
    HR_SPARSE_UPDATE_OPS("Adagrad", adagrad_sparse),
    HR_SPARSE_UPDATE_OPS("AdagradV2", adagrad_sparse_v2),
    HR_OWN_UPDATE_OP("KerasAdagrad", KERAS_INPUTS, keras_adagrad_dense),
    HR_OWN_SPARSE_UPDATE_OP("SparseKerasAdagrad", KERAS_INPUTS ", indices:Tindices", keras_adagrad_sparse),
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>SparseApplyAdagradMany",
        .inputs = "var:N*resource, accum:N*resource, grad:N*float, indices:N*int64, lr:float, epsilon:float",
        .attrs = "N:int>=1; update_slots:bool=true",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .compute = adagrad_many,
    },
    HR_GRAPH_OPS_END,
};
#undef KERAS_INPUTS

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
    static const hr_slot all[] = {{.name = "accumulator", .initial = INITIAL_ACCUMULATOR_VALUE}};
    (void)o;
    *slot = all;
    return 1;
}

/* TensorFlow 1 divides by the accumulator as it is. */
static hr_status adagrad_check(const hr_optimizer *o, hr_error *err)
{
    if (!hr_optimizer_is_v1(o) || hr_optimizer_value(o, INITIAL_ACCUMULATOR_VALUE) > 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "optimizer.parameter",
                   "Adagrad: expected initial_accumulator_value above 0 with v1, got 0");
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

static hr_node keras_adagrad_update(hr_minimizer *t, const hr_minimize_target *v)
{
    const hr_node rate = hr_minimizer_float(t, HR_LEARNING_RATE);
    const hr_node epsilon = hr_scalar(t->g, HR_DOUBLE, hr_optimizer_value(t->optimizer, EPSILON));
    if (!hr_target_is_sparse(v))
        return hr_new_node(t->g, "Headrace>KerasAdagrad",
                           HR_INPUTS(v->variable, v->slot[0], rate, epsilon, v->gradient.values));
    return hr_new_node(t->g, "Headrace>SparseKerasAdagrad",
                       HR_INPUTS(v->variable, v->slot[0], rate, epsilon, v->gradient.values, v->gradient.indices),
                       HR_ATTRS(HR_BOOL_ATTR("_sum_duplicates", true)));
}

static hr_node adagrad_update(hr_minimizer *t, const hr_minimize_target *v)
{
    if (hr_optimizer_is_keras(t->optimizer)) return keras_adagrad_update(t, v);
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
    .check = adagrad_check,
    .keras = true,
};

hr_optimizer *hr_adagrad_with(float learning_rate, const hr_adagrad_opts *opts)
{
    opts = &HR_OPTIONS(hr_adagrad_opts, opts);
    double initial, epsilon;
    const double rate = (double)learning_rate, decay = (double)opts->decay;
    const double *given[HR_MAX_PARAMETERS] = {&rate, &decay,
                                              hr_parameter_given(opts->initial_accumulator_value, &initial),
                                              hr_parameter_given(opts->epsilon, &epsilon)};
    return hr_optimizer_new(&hr_optimizer_kind_adagrad, given, HR_OPTIMIZER_COMMON(opts));
}
