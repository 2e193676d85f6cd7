/* Adamax: Adam with the greatest of the decayed absolute gradients in place of the root of squares. */
#include <headrace/optimizer.h>
#include <tgmath.h>

/* Numbers: bias-corrected rate, beta1, beta2, epsilon. */
HR_RULE(adamax, 2, 0.8, {
    const T rate = p[0], rest1 = 1 - p[1], beta2 = p[2], epsilon = p[3];
    for (int64_t i = 0; i < n; i++) {
        const T decayed = b[i] * beta2, size = fabs(g[i]);
        a[i] += (g[i] - a[i]) * rest1;
        b[i] = decayed > size ? decayed : size;
        w[i] -= rate * (a[i] / (b[i] + epsilon));
    }
})

/* Of Keras since 2.11. Numbers: rate, 1 - beta1, beta2, epsilon, 1 - beta1^t. */
HR_RULE(keras_adamax, 2, 0.8, {
    const T rate = p[0], rest1 = p[1], beta2 = p[2], epsilon = p[3], corrected = p[4];
    for (int64_t i = 0; i < n; i++) {
        const T decayed = beta2 * b[i], size = fabs(g[i]);
        a[i] += (g[i] - a[i]) * rest1;
        b[i] = decayed > size ? decayed : size;
        w[i] -= rate * a[i] / (corrected * (b[i] + epsilon));
    }
})
/* Rows of a sparse gradient, of slots that have decayed everywhere; then everything moves. */
HR_RULE(keras_adamax_add, 2, 0.4, {
    const T rest1 = p[1];
    for (int64_t i = 0; i < n; i++) {
        const T size = fabs(g[i]);
        a[i] += g[i] * rest1;
        b[i] = b[i] > size ? b[i] : size;
    }
})
HR_RULE(keras_adamax_move, 2, 0.6, {
    const T rate = p[0], epsilon = p[3], corrected = p[4];
    for (int64_t i = 0; i < n; i++) w[i] -= rate * a[i] / (corrected * (b[i] + epsilon));
})
static const hr_rule *const adamax_rules[] = {&adamax_rule, &keras_adamax_rule, &keras_adamax_add_rule,
                                              &keras_adamax_move_rule, NULL};

/* Inputs: var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad [, indices]. */
static hr_status adamax_run(hr_kernel *k, int indices, hr_error *err)
{
    hr_update update = {&adamax_rule, .from = {[1] = 5, 6, 7}, .grad = 8, .indices = indices};
    double power, rate;
    HR_TRY(hr_update_number(k, 3, &power, err));
    HR_TRY(hr_update_number(k, 4, &rate, err));
    update.p[0] = k->input[4]->dtype == HR_DOUBLE ? rate / (1 - power) : (double)((float)rate / (1 - (float)power));
    return hr_update_run(k, &update, err);
}

static hr_status adamax_dense(hr_kernel *k, hr_error *err) { return adamax_run(k, 0, err); }
static hr_status adamax_sparse(hr_kernel *k, hr_error *err) { return adamax_run(k, 9, err); }

/* Inputs: var, m, u, lr, iterations, beta1, beta2, epsilon, grad [, indices]. */
static hr_status keras_adamax_run(hr_kernel *k, hr_update update, hr_error *err)
{
    double iterations, beta1;
    HR_TRY(hr_update_number(k, 4, &iterations, err));
    HR_TRY(hr_update_number(k, 5, &beta1, err));
    update.from[0] = 3;
    update.from[2] = 6;
    update.from[3] = 7;
    update.grad = 8;
    update.p[1] = 1 - beta1;
    update.p[4] = k->input[8]->dtype == HR_DOUBLE ? 1 - pow((double)(float)beta1, iterations + 1)
                                                  : (double)(1 - powf((float)beta1, (float)iterations + 1));
    update.p[5] = beta1;
    return hr_update_run(k, &update, err);
}

static hr_status keras_adamax_dense(hr_kernel *k, hr_error *err)
{
    return keras_adamax_run(k, (hr_update){.rule = &keras_adamax_rule}, err);
}

static hr_status keras_adamax_sparse(hr_kernel *k, hr_error *err)
{
    return keras_adamax_run(
        k,
        (hr_update){.rule = &keras_adamax_add_rule, .indices = 9, .decays = {5, 2}, .sweep = &keras_adamax_move_rule},
        err);
}

#define KERAS_INPUTS                                                                                                   \
    "var:resource, m:resource, u:resource, lr:float, iterations:int64, beta1:double, beta2:double, epsilon:double, "   \
    "grad:T"
const hr_graph_op hr_graph_ops_adamax[] = {
    HR_UPDATE_OPS("AdaMax", adamax_dense),
    /* In TensorFlow a chain of gathers and scatters. */
    HR_OWN_SPARSE_UPDATE_OP("ResourceSparseApplyAdaMax",
                            "var:resource, m:resource, v:resource, beta1_power:T, lr:T, beta1:T, beta2:T, epsilon:T, "
                            "grad:T, indices:Tindices",
                            adamax_sparse),
    HR_OWN_UPDATE_OP("KerasAdamax", KERAS_INPUTS, keras_adamax_dense),
    HR_OWN_SPARSE_UPDATE_OP("SparseKerasAdamax", KERAS_INPUTS ", indices:Tindices", keras_adamax_sparse),
    HR_GRAPH_OPS_END,
};
#undef KERAS_INPUTS

/* ---- the kind ---- */

enum { BETA1 = HR_OWN_PARAMETER, BETA2, EPSILON };

static const char *const adamax_parameters[] = {"learning_rate", "decay", "beta1", "beta2", "epsilon", NULL};
static const hr_parameter_spec adamax_specs[] = {
    {"learning_rate", 0.001, 0.001, -HUGE_VAL, HUGE_VAL},
    {"decay", 0, 0, 0, HUGE_VAL},
    {"beta_1", 0.9, 0.9, 0, 1},
    {"beta_2", 0.999, 0.999, 0, 1},
    {NULL, 1e-7, 1e-7, 0, HUGE_VAL},
};

static const char *adamax_title(const hr_optimizer *o)
{
    (void)o;
    return "Adamax";
}

static int adamax_slots(const hr_optimizer *o, const hr_slot **slot)
{
    static const hr_slot all[] = {{.name = "m"}, {.name = "v"}}, keras[] = {{.name = "m"}, {.name = "u"}};
    *slot = hr_optimizer_is_keras(o) ? keras : all;
    return 2;
}

static void adamax_begin(hr_minimizer *t)
{
    if (hr_optimizer_is_keras(t->optimizer)) return;
    t->shared[0] = hr_pow(hr_minimizer_float(t, BETA1), hr_minimizer_step(t));
}

static hr_node keras_adamax_update(hr_minimizer *t, const hr_minimize_target *v)
{
    hr_node in[10] = {v->variable, v->slot[0], v->slot[1], hr_minimizer_float(t, HR_LEARNING_RATE), t->iterations};
    int n = 5;
    for (int i = BETA1; i <= EPSILON; i++) in[n++] = hr_scalar(t->g, HR_DOUBLE, hr_optimizer_value(t->optimizer, i));
    in[n++] = v->gradient.values;
    if (!hr_target_is_sparse(v)) return hr_new_node(t->g, "Headrace>KerasAdamax", .inputs = in, .input_count = n);
    in[n++] = v->gradient.indices;
    return hr_new_node(t->g, "Headrace>SparseKerasAdamax", .inputs = in, .input_count = n,
                       HR_ATTRS(HR_BOOL_ATTR("_sum_duplicates", true)));
}

static hr_node adamax_update(hr_minimizer *t, const hr_minimize_target *v)
{
    if (hr_optimizer_is_keras(t->optimizer)) return keras_adamax_update(t, v);
    hr_node in[10] = {v->variable, v->slot[0], v->slot[1], hr_minimizer_cast(t->shared[0], v),
                      hr_minimizer_number(t, v, HR_LEARNING_RATE)};
    int n = 5;
    for (int i = BETA1; i <= EPSILON; i++) in[n++] = hr_minimizer_number(t, v, i);
    in[n++] = v->gradient.values;
    if (!hr_target_is_sparse(v)) return hr_new_node(t->g, "ResourceApplyAdaMax", .inputs = in, .input_count = n);
    in[n++] = v->gradient.indices;
    return hr_new_node(t->g, "Headrace>ResourceSparseApplyAdaMax", .inputs = in, .input_count = n,
                       HR_ATTRS(HR_BOOL_ATTR("_sum_duplicates", true)));
}

const hr_optimizer_kind hr_optimizer_kind_adamax = {
    .head = HR_OPTIMIZER_HEAD,
    .name = "adamax",
    .parameters = adamax_parameters,
    .parameter = adamax_specs,
    .ops = hr_graph_ops_adamax,
    .rules = adamax_rules,
    .title = adamax_title,
    .slots = adamax_slots,
    .begin = adamax_begin,
    .update = adamax_update,
    .keras = true,
};

hr_optimizer *hr_adamax_with(float learning_rate, const hr_adamax_opts *opts)
{
    opts = &HR_OPTIONS(hr_adamax_opts, opts);
    double beta1, beta2, epsilon;
    const double rate = (double)learning_rate, decay = (double)opts->decay;
    const double *given[HR_MAX_PARAMETERS] = {&rate, &decay, hr_parameter_given(opts->beta1, &beta1),
                                              hr_parameter_given(opts->beta2, &beta2),
                                              hr_parameter_given(opts->epsilon, &epsilon)};
    return hr_optimizer_new(&hr_optimizer_kind_adamax, given, HR_OPTIMIZER_COMMON(opts));
}
