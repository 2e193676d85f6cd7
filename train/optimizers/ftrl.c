/* Ftrl-proximal, the usual optimizer of wide linear models. `beta` comes on top of l2: l2 + beta / (2 * learning
 * rate). */
#include <headrace/optimizer.h>
#include <tgmath.h>

/* ---- rules; operations come in the order in which TensorFlow's kernels write them ---- */

/* The accumulator takes the square of the plain gradient, z that of the one with shrinkage. SCALED: what z is kept in
 * multiples of; OVER: the other way round. */
#define FTRL(ROOT, SCALED, OVER)                                                                                       \
    const T rate = p[0], l1 = SCALED(p[1]), twice_l2 = SCALED(2 * p[2]), twice_shrinkage = 2 * p[3], power = p[4];     \
    (void)power, (void)rate;                                                                                           \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        const T more = a[i] + g[i] * g[i], root = ROOT(more);                                                          \
        const T z = b[i] + SCALED((g[i] + twice_shrinkage * w[i])) - OVER((root - ROOT(a[i]))) * w[i];                 \
        const T pull = z < 0 ? -l1 - z : l1 - z;                                                                       \
        const T moved = pull / (OVER(root) + twice_l2);                                                                \
        w[i] = fabs(z) > l1 ? moved : 0;                                                                               \
        a[i] = more;                                                                                                   \
        b[i] = z;                                                                                                      \
    }
#define PLAIN(x) (x)
#define BY_RATE(x) ((x)*rate)
#define OVER_RATE(x) ((x) / rate)
#define TO_POWER(x) pow(x, power)

/* Numbers: rate, l1, l2, shrinkage, -power, multiply_linear_by_lr; for power -0.5. */
HR_RULE(ftrl, 2, 2, {
    if (p[5] != 0) {
        FTRL(sqrt, BY_RATE, PLAIN)
        return;
    }
    FTRL(sqrt, PLAIN, OVER_RATE)
})

/* The same, for any power. */
HR_RULE(ftrl_power, 2, 60, {
    if (p[5] != 0) {
        FTRL(TO_POWER, BY_RATE, PLAIN)
        return;
    }
    FTRL(TO_POWER, PLAIN, OVER_RATE)
})

#undef FTRL
#undef PLAIN
#undef BY_RATE
#undef OVER_RATE
#undef TO_POWER

static const hr_rule *const ftrl_rules[] = {&ftrl_rule, &ftrl_power_rule, NULL};

/* ---- ops ---- */

/* Inputs: var, accum, linear, grad [, indices], lr, l1, l2 [, l2_shrinkage], lr_power. */
static hr_status apply_ftrl_compute(hr_kernel *k, bool second, bool sparse, hr_error *err)
{
    hr_update apply = {&ftrl_rule, .grad = 3, .indices = sparse ? 4 : 0};
    int at = sparse ? 5 : 4;
    double power;
    for (int i = 0; i < 3; i++) HR_TRY(hr_update_number(k, at++, &apply.p[i], err));
    if (second) HR_TRY(hr_update_number(k, at++, &apply.p[3], err));
    HR_TRY(hr_update_number(k, at, &power, err));
    apply.p[4] = -power;
    apply.p[5] = hr_attr_bool(k->node, "multiply_linear_by_lr");
    if (power != -0.5) apply.rule = &ftrl_power_rule;
    return hr_update_run(k, &apply, err);
}

static hr_status apply_ftrl_dense(hr_kernel *k, hr_error *err) { return apply_ftrl_compute(k, false, false, err); }
static hr_status apply_ftrl_sparse(hr_kernel *k, hr_error *err) { return apply_ftrl_compute(k, false, true, err); }
static hr_status ftrl_dense_v2(hr_kernel *k, hr_error *err) { return apply_ftrl_compute(k, true, false, err); }
static hr_status ftrl_sparse_v2(hr_kernel *k, hr_error *err) { return apply_ftrl_compute(k, true, true, err); }

/* Of many variables: the same inputs, all variables before all slots and so on; lr, l1, l2, lr_power are shared. */
static hr_status apply_ftrl_many(hr_kernel *k, hr_error *err)
{
    const int many = (int)hr_attr_int(k->node, "N"), at = 5 * many;
    hr_update apply = {&ftrl_rule, .from = {at, at + 1, at + 2}, .flag = "multiply_linear_by_lr", .flag_to = 5};
    double power;
    HR_TRY(hr_update_number(k, at + 3, &power, err));
    apply.p[4] = -power;
    if (power != -0.5) apply.rule = &ftrl_power_rule;
    return hr_update_many(k, &apply, many, err);
}

const hr_graph_op hr_graph_ops_ftrl[] = {
    HR_UPDATE_OPS("Ftrl", apply_ftrl_dense),
    HR_UPDATE_OPS("FtrlV2", ftrl_dense_v2),
    HR_SPARSE_UPDATE_OPS("Ftrl", apply_ftrl_sparse),
    HR_SPARSE_UPDATE_OPS("FtrlV2", ftrl_sparse_v2),
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>SparseApplyFtrlMany",
        .inputs = "var:N*resource, accum:N*resource, linear:N*resource, grad:N*float, indices:N*int64, lr:float, "
                  "l1:float, l2:float, lr_power:float",
        .attrs = "N:int>=1; multiply_linear_by_lr:bool=false",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .compute = apply_ftrl_many,
    },
    HR_GRAPH_OPS_END,
};

/* ---- the kind ---- */

enum { POWER = HR_OWN_PARAMETER, INITIAL_ACCUMULATOR_VALUE, L1, L2, L2_SHRINKAGE, BETA };

static const char *const ftrl_parameters[] = {"learning_rate",
                                              "decay",
                                              "learning_rate_power",
                                              "initial_accumulator_value",
                                              "l1_regularization_strength",
                                              "l2_regularization_strength",
                                              "l2_shrinkage_regularization_strength",
                                              "beta",
                                              NULL};
static const hr_parameter_spec ftrl_specs[] = {
    {"learning_rate", 0.001, 0.001, -HUGE_VAL, HUGE_VAL},
    {"decay", 0, 0, 0, HUGE_VAL},
    {"learning_rate_power", -0.5, -0.5, -HUGE_VAL, 0},
    {NULL, 0.1, 0.1, 0, HUGE_VAL},
    {"l1_regularization_strength", 0, 0, 0, HUGE_VAL},
    {"l2_regularization_strength", 0, 0, 0, HUGE_VAL},
    {NULL, 0, 0, 0, HUGE_VAL},
    {"beta", 0, 0, 0, HUGE_VAL},
};

static const char *ftrl_title(const hr_optimizer *o)
{
    (void)o;
    return "Ftrl";
}

static int ftrl_slots(const hr_optimizer *o, const hr_slot **slot)
{
    static const hr_slot all[] = {{.name = "accumulator", .initial = INITIAL_ACCUMULATOR_VALUE}, {.name = "linear"}};
    (void)o;
    *slot = all;
    return 2;
}

static hr_node adjusted_l2(hr_minimizer *t, const hr_minimize_target *v, hr_node rate)
{
    const hr_optimizer *o = t->optimizer;
    hr_node l2 = hr_minimizer_number(t, v, L2);
    if (hr_optimizer_value(o, BETA) == 0) return l2;
    /* v1 does this sum before it becomes float32. */
    if (hr_optimizer_is_v1(t->optimizer) && !hr_optimizer_learning_rate_node(t->optimizer).graph)
        return hr_minimizer_cast(
            hr_scalar(t->g, HR_FLOAT,
                      hr_optimizer_value(o, L2) +
                          hr_optimizer_value(o, BETA) / (2 * hr_optimizer_value(o, HR_LEARNING_RATE))),
            v);
    hr_node twice = hr_mul(hr_scalar(t->g, v->dtype, 2), rate);
    return hr_add(l2, hr_div(hr_minimizer_number(t, v, BETA), twice));
}

/* Since 2.11 Keras makes sparse gradients dense, so that rows never seen become 0. */
static hr_node ftrl_update(hr_minimizer *t, const hr_minimize_target *v)
{
    const bool keras = hr_optimizer_is_keras(t->optimizer), sparse = hr_target_is_sparse(v) && !keras;
    hr_node rate = hr_minimizer_number(t, v, HR_LEARNING_RATE);
    hr_node in[10] = {v->variable, v->slot[0], v->slot[1], keras ? hr_minimizer_dense(v) : v->gradient.values};
    int n = 4;
    const bool shrinks = hr_optimizer_value(t->optimizer, L2_SHRINKAGE) > 0;
    if (sparse) in[n++] = v->gradient.indices;
    in[n++] = rate;
    in[n++] = hr_minimizer_number(t, v, L1);
    in[n++] = adjusted_l2(t, v, rate);
    if (shrinks) in[n++] = hr_minimizer_number(t, v, L2_SHRINKAGE);
    in[n++] = hr_minimizer_number(t, v, POWER);
    if (!sparse)
        return hr_new_node(t->g, shrinks ? "ResourceApplyFtrlV2" : "ResourceApplyFtrl", .inputs = in, .input_count = n);
    return hr_new_node(t->g, shrinks ? "ResourceSparseApplyFtrlV2" : "ResourceSparseApplyFtrl", .inputs = in,
                       .input_count = n, HR_ATTRS(HR_BOOL_ATTR("_sum_duplicates", true)));
}

const hr_optimizer_kind hr_optimizer_kind_ftrl = {
    .head = HR_OPTIMIZER_HEAD,
    .name = "ftrl",
    .parameters = ftrl_parameters,
    .parameter = ftrl_specs,
    .ops = hr_graph_ops_ftrl,
    .rules = ftrl_rules,
    .title = ftrl_title,
    .slots = ftrl_slots,
    .update = ftrl_update,
    .keras = true,
};

hr_optimizer *hr_ftrl_with(float learning_rate, const hr_ftrl_opts *opts)
{
    opts = &HR_OPTIONS(hr_ftrl_opts, opts);
    double power, initial;
    const double rate = (double)learning_rate, decay = (double)opts->decay,
                 l1 = (double)opts->l1_regularization_strength, l2 = (double)opts->l2_regularization_strength,
                 shrinkage = (double)opts->l2_shrinkage_regularization_strength, beta = (double)opts->beta;
    const double *given[HR_MAX_PARAMETERS] = {&rate,
                                              &decay,
                                              hr_parameter_given(opts->learning_rate_power, &power),
                                              hr_parameter_given(opts->initial_accumulator_value, &initial),
                                              &l1,
                                              &l2,
                                              &shrinkage,
                                              &beta};
    hr_optimizer *o = hr_optimizer_new(&hr_optimizer_kind_ftrl, given, HR_OPTIMIZER_COMMON(opts));
    hr_optimizer_name_slot(o, 0, opts->accum_name);
    hr_optimizer_name_slot(o, 1, opts->linear_name);
    return o;
}
