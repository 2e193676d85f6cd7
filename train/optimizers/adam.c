/* Adam. v1 keeps the powers of both betas in variables, multiplied after each step; v2 takes them from the iterations.
 * Keras since 2.11 rounds 1 - beta from double. */
#include <headrace/eager.h>
#include <headrace/optimizer.h>
#include <stdio.h>
#include <tgmath.h>

/* ---- rules; operations come in the order in which TensorFlow's kernels write them ---- */

/* Numbers: bias-corrected rate, beta1, beta2, epsilon, nesterov. */
HR_RULE(adam, 2, 0.9, {
    const T rate = p[0], beta1 = p[1], rest1 = 1 - p[1], rest2 = 1 - p[2], epsilon = p[3];
    if (p[4] != 0) {
        for (int64_t i = 0; i < n; i++) {
            a[i] += (g[i] - a[i]) * rest1;
            b[i] += (g[i] * g[i] - b[i]) * rest2;
            w[i] -= (g[i] * rest1 + beta1 * a[i]) * rate / (sqrt(b[i]) + epsilon);
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        a[i] += (g[i] - a[i]) * rest1;
        b[i] += (g[i] * g[i] - b[i]) * rest2;
        w[i] -= a[i] * rate / (sqrt(b[i]) + epsilon);
    }
})

/* The same, with the greatest v so far below the fraction. Numbers: bias-corrected rate, beta1, beta2, epsilon. */
HR_RULE(amsgrad, 3, 1.1, {
    const T rate = p[0], rest1 = 1 - p[1], rest2 = 1 - p[2], epsilon = p[3];
    for (int64_t i = 0; i < n; i++) {
        a[i] += (g[i] - a[i]) * rest1;
        b[i] += (g[i] * g[i] - b[i]) * rest2;
        c[i] = c[i] > b[i] ? c[i] : b[i];
        w[i] -= a[i] * rate / (sqrt(c[i]) + epsilon);
    }
})

/* Rows of a sparse gradient, of m and v that have decayed everywhere. */
HR_RULE(adam_add, 2, 0.5, {
    const T rest1 = 1 - p[1], rest2 = 1 - p[2];
    for (int64_t i = 0; i < n; i++) a[i] += g[i] * rest1, b[i] += g[i] * g[i] * rest2;
})

/* Then everything moves, of m and v as they are. */
HR_RULE(adam_move, 2, 0.7, {
    const T rate = p[0], epsilon = p[3];
    for (int64_t i = 0; i < n; i++) w[i] -= rate * a[i] / (sqrt(b[i]) + epsilon);
})
HR_RULE(amsgrad_move, 3, 0.9, {
    const T rate = p[0], epsilon = p[3];
    for (int64_t i = 0; i < n; i++) {
        c[i] = c[i] > b[i] ? c[i] : b[i];
        w[i] -= rate * a[i] / (sqrt(c[i]) + epsilon);
    }
})

/* Lazy: the rows of a sparse gradient alone, as if they were all. */
HR_RULE(adam_lazy, 2, 0.9, {
    const T rate = p[0], beta1 = p[1], beta2 = p[2], rest1 = 1 - p[1], rest2 = 1 - p[2], epsilon = p[3];
    for (int64_t i = 0; i < n; i++) {
        a[i] = beta1 * a[i] + rest1 * g[i];
        b[i] = beta2 * b[i] + rest2 * g[i] * g[i];
        w[i] -= rate * a[i] / (sqrt(b[i]) + epsilon);
    }
})

/* Of Keras since 2.11. Numbers: bias-corrected rate, 1 - beta1, 1 - beta2, epsilon. */
HR_RULE(keras_adam, 2, 0.9, {
    const T rate = p[0], rest1 = p[1], rest2 = p[2], epsilon = p[3];
    for (int64_t i = 0; i < n; i++) {
        a[i] += (g[i] - a[i]) * rest1;
        b[i] += (g[i] * g[i] - b[i]) * rest2;
        w[i] -= a[i] * rate / (sqrt(b[i]) + epsilon);
    }
})
HR_RULE(keras_amsgrad, 3, 1.1, {
    const T rate = p[0], rest1 = p[1], rest2 = p[2], epsilon = p[3];
    for (int64_t i = 0; i < n; i++) {
        a[i] += (g[i] - a[i]) * rest1;
        b[i] += (g[i] * g[i] - b[i]) * rest2;
        c[i] = c[i] > b[i] ? c[i] : b[i];
        w[i] -= a[i] * rate / (sqrt(c[i]) + epsilon);
    }
})
HR_RULE(keras_adam_add, 2, 0.5, {
    const T rest1 = p[1], rest2 = p[2];
    for (int64_t i = 0; i < n; i++) a[i] += g[i] * rest1, b[i] += g[i] * g[i] * rest2;
})

static const hr_rule *const adam_rules[] = {
    &adam_rule,      &amsgrad_rule,    &adam_add_rule,      &adam_move_rule,      &amsgrad_move_rule,
    &adam_lazy_rule, &keras_adam_rule, &keras_amsgrad_rule, &keras_adam_add_rule, NULL};

/* ---- ops ---- */

/* Inputs: var, m, v [, vhat], beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad [, indices]. `at`: where the
 * powers begin. */
static hr_status adam_run(hr_kernel *k, int at, hr_update update, hr_error *err)
{
    double beta1_power, beta2_power, rate;
    HR_TRY(hr_update_number(k, at, &beta1_power, err));
    HR_TRY(hr_update_number(k, at + 1, &beta2_power, err));
    HR_TRY(hr_update_number(k, at + 2, &rate, err));
    for (int i = 1; i <= 3; i++) update.from[i] = at + 2 + i;
    update.grad = at + 6;
    update.p[0] = k->input[at + 2]->dtype == HR_DOUBLE
                      ? rate * sqrt(1 - beta2_power) / (1 - beta1_power)
                      : (double)((float)rate * sqrtf(1 - (float)beta2_power) / (1 - (float)beta1_power));
    return hr_update_run(k, &update, err);
}

static hr_status adam_dense(hr_kernel *k, hr_error *err)
{
    return adam_run(k, 3, (hr_update){.rule = &adam_rule, .flag = "use_nesterov", .flag_to = 4}, err);
}

static hr_status amsgrad_dense(hr_kernel *k, hr_error *err)
{
    return adam_run(k, 4, (hr_update){.rule = &amsgrad_rule}, err);
}

static hr_status adam_sparse(hr_kernel *k, hr_error *err)
{
    return adam_run(
        k, 3, (hr_update){.rule = &adam_add_rule, .indices = 10, .decays = {1, 2}, .sweep = &adam_move_rule}, err);
}

static hr_status amsgrad_sparse(hr_kernel *k, hr_error *err)
{
    return adam_run(
        k, 4, (hr_update){.rule = &adam_add_rule, .indices = 11, .decays = {1, 2}, .sweep = &amsgrad_move_rule}, err);
}

static hr_status adam_lazy(hr_kernel *k, hr_error *err)
{
    return adam_run(k, 3, (hr_update){.rule = &adam_lazy_rule, .indices = 10}, err);
}

/* Keras casts betas to the variable's type by way of float32, but where it takes 1 - beta. Inputs: var, m, v [, vhat], lr,
 * iterations, beta1, beta2, epsilon, grad [, indices]. `at`: where lr is. */
static hr_status keras_adam_run(hr_kernel *k, int at, hr_update update, hr_error *err)
{
    double rate, iterations, beta1, beta2;
    HR_TRY(hr_update_number(k, at, &rate, err));
    HR_TRY(hr_update_number(k, at + 1, &iterations, err));
    HR_TRY(hr_update_number(k, at + 2, &beta1, err));
    HR_TRY(hr_update_number(k, at + 3, &beta2, err));
    update.from[3] = at + 4;
    update.grad = at + 5;
    if (update.indices) update.indices = at + 6;
    update.p[1] = 1 - beta1;
    update.p[2] = 1 - beta2;
    update.p[4] = beta1;
    update.p[5] = beta2;
    const double step = iterations + 1;
    if (k->input[at + 5]->dtype == HR_DOUBLE)
        update.p[0] = rate * sqrt(1 - pow((double)(float)beta2, step)) / (1 - pow((double)(float)beta1, step));
    else
        update.p[0] =
            (double)((float)rate * sqrtf(1 - powf((float)beta2, (float)step)) / (1 - powf((float)beta1, (float)step)));
    return hr_update_run(k, &update, err);
}

static hr_status keras_adam_dense(hr_kernel *k, hr_error *err)
{
    return keras_adam_run(k, 3, (hr_update){.rule = &keras_adam_rule}, err);
}

static hr_status keras_amsgrad_dense(hr_kernel *k, hr_error *err)
{
    return keras_adam_run(k, 4, (hr_update){.rule = &keras_amsgrad_rule}, err);
}

static hr_status keras_adam_sparse(hr_kernel *k, hr_error *err)
{
    return keras_adam_run(
        k, 3, (hr_update){.rule = &keras_adam_add_rule, .indices = 1, .decays = {4, 5}, .sweep = &adam_move_rule}, err);
}

static hr_status keras_amsgrad_sparse(hr_kernel *k, hr_error *err)
{
    return keras_adam_run(
        k, 4, (hr_update){.rule = &keras_adam_add_rule, .indices = 1, .decays = {4, 5}, .sweep = &amsgrad_move_rule},
        err);
}

#define KERAS_NUMBERS "lr:float, iterations:int64, beta1:double, beta2:double, epsilon:double, grad:T"
#define NUMBERS "beta1_power:T, beta2_power:T, lr:T, beta1:T, beta2:T, epsilon:T, grad:T, indices:Tindices"
const hr_graph_op hr_graph_ops_adam[] = {
    HR_UPDATE_OPS("Adam", adam_dense),
    HR_UPDATE_OP("ResourceApplyAdamWithAmsgrad", amsgrad_dense),
    /* In TensorFlow a chain of assignments and scatters, each of them a pass over the whole table. */
    HR_OWN_SPARSE_UPDATE_OP("ResourceSparseApplyAdam", "var:resource, m:resource, v:resource, " NUMBERS, adam_sparse),
    HR_OWN_SPARSE_UPDATE_OP("ResourceSparseApplyAdamWithAmsgrad",
                            "var:resource, m:resource, v:resource, vhat:resource, " NUMBERS, amsgrad_sparse),
    HR_OWN_SPARSE_UPDATE_OP("ResourceSparseApplyLazyAdam", "var:resource, m:resource, v:resource, " NUMBERS, adam_lazy),
    /* Of Keras since 2.11, where all of these are chains of element-wise ops, assignments and scatters. */
    HR_OWN_UPDATE_OP("KerasAdam", "var:resource, m:resource, v:resource, " KERAS_NUMBERS, keras_adam_dense),
    HR_OWN_UPDATE_OP("KerasAdamWithAmsgrad", "var:resource, m:resource, v:resource, vhat:resource, " KERAS_NUMBERS,
                     keras_amsgrad_dense),
    HR_OWN_SPARSE_UPDATE_OP("SparseKerasAdam",
                            "var:resource, m:resource, v:resource, " KERAS_NUMBERS ", indices:Tindices",
                            keras_adam_sparse),
    HR_OWN_SPARSE_UPDATE_OP("SparseKerasAdamWithAmsgrad",
                            "var:resource, m:resource, v:resource, vhat:resource, " KERAS_NUMBERS ", indices:Tindices",
                            keras_amsgrad_sparse),
    HR_GRAPH_OPS_END,
};
#undef NUMBERS
#undef KERAS_NUMBERS

/* ---- the kind ---- */

enum { BETA1 = HR_OWN_PARAMETER, BETA2, EPSILON, AMSGRAD, LAZY };
/* Shared nodes: the powers of both betas for this step; in v1 the variables that keep them. */
enum { POWER_VARIABLE = 2 };

static const char *const adam_parameters[] = {"learning_rate", "decay",   "beta1", "beta2",
                                              "epsilon",       "amsgrad", "lazy",  NULL};
static const hr_parameter_spec adam_specs[] = {
    {"learning_rate", 0.001, 0.001, -HUGE_VAL, HUGE_VAL},
    {"decay", 0, 0, 0, HUGE_VAL},
    {"beta_1", 0.9, 0.9, 0, 1},
    {"beta_2", 0.999, 0.999, 0, 1},
    {NULL, 1e-7, 1e-8, 0, HUGE_VAL},
    {NULL, 0, 0, 0, 1},
    {NULL, 0, 0, 0, 1},
};

static const char *adam_title(const hr_optimizer *o) { return hr_optimizer_value(o, LAZY) != 0 ? "LazyAdam" : "Adam"; }

static int adam_slots(const hr_optimizer *o, const hr_slot **slot)
{
    static const hr_slot all[] = {{.name = "m"}, {.name = "v"}, {.name = "vhat", .round = 1}};
    *slot = all;
    return hr_optimizer_value(o, AMSGRAD) != 0 ? 3 : 2;
}

static const hr_variable_info *power_variable_named(const hr_minimizer *t, const char *name)
{
    char full[3 * HR_MAX_SCOPE];
    snprintf(full, sizeof full, "%.500s%s", hr_variable_scope_name(t->g), name);
    return hr_variable_named(t->g, full);
}

/* "beta1_power", or what is free. */
static hr_node power_variable(hr_minimizer *t, const char *base, double initial)
{
    char name[HR_MAX_SCOPE];
    snprintf(name, sizeof name, "%.400s%s", t->prefix, base);
    const hr_variable_info *known = hr_graph_is_eager(t->g) ? power_variable_named(t, name) : NULL;
    if (known) return known->handle;
    for (int i = 1; power_variable_named(t, name); i++) snprintf(name, sizeof name, "%.400s%s_%d", t->prefix, base, i);
    return hr_get_variable(t->g, name, HR_FLOAT, HR_SCALAR, .initializer = hr_constant_value(initial),
                           .not_trainable = true);
}

static void adam_begin(hr_minimizer *t)
{
    if (hr_optimizer_is_keras(t->optimizer)) return;
    for (int i = 0; i < 2; i++) {
        if (hr_optimizer_is_v1(t->optimizer)) {
            t->shared[POWER_VARIABLE + i] =
                power_variable(t, i ? "beta2_power" : "beta1_power", hr_optimizer_value(t->optimizer, BETA1 + i));
            const hr_variable_info *info = hr_variable_of(t->shared[POWER_VARIABLE + i]);
            t->shared[i] = info && hr_node_exists(info->read) ? info->read : hr_identity(t->shared[POWER_VARIABLE + i]);
        } else {
            t->shared[i] = hr_pow(hr_minimizer_float(t, BETA1 + i), hr_minimizer_step(t));
        }
    }
}

static hr_node keras_adam_update(hr_minimizer *t, const hr_minimize_target *v)
{
    const bool amsgrad = hr_node_exists(v->slot[2]);
    hr_node in[12] = {v->variable, v->slot[0], v->slot[1]};
    int n = 3;
    if (amsgrad) in[n++] = v->slot[2];
    in[n++] = hr_minimizer_float(t, HR_LEARNING_RATE);
    in[n++] = t->iterations;
    for (int i = BETA1; i <= EPSILON; i++) in[n++] = hr_scalar(t->g, HR_DOUBLE, hr_optimizer_value(t->optimizer, i));
    in[n++] = v->gradient.values;
    if (!hr_target_is_sparse(v))
        return hr_new_node(t->g, amsgrad ? "Headrace>KerasAdamWithAmsgrad" : "Headrace>KerasAdam", .inputs = in,
                           .input_count = n);
    in[n++] = v->gradient.indices;
    return hr_new_node(t->g, amsgrad ? "Headrace>SparseKerasAdamWithAmsgrad" : "Headrace>SparseKerasAdam", .inputs = in,
                       .input_count = n, HR_ATTRS(HR_BOOL_ATTR("_sum_duplicates", true)));
}

static hr_node adam_update(hr_minimizer *t, const hr_minimize_target *v)
{
    if (hr_optimizer_is_keras(t->optimizer)) return keras_adam_update(t, v);
    const bool amsgrad = hr_node_exists(v->slot[2]), sparse = hr_target_is_sparse(v);
    const bool lazy = hr_optimizer_value(t->optimizer, LAZY) != 0;
    hr_node in[12] = {v->variable, v->slot[0], v->slot[1]};
    int n = 3;
    if (amsgrad) in[n++] = v->slot[2];
    in[n++] = hr_minimizer_cast(t->shared[0], v);
    in[n++] = hr_minimizer_cast(t->shared[1], v);
    in[n++] = hr_minimizer_number(t, v, HR_LEARNING_RATE);
    for (int i = BETA1; i <= EPSILON; i++) in[n++] = hr_minimizer_number(t, v, i);
    in[n++] = v->gradient.values;
    if (!sparse)
        return hr_new_node(t->g, amsgrad ? "ResourceApplyAdamWithAmsgrad" : "ResourceApplyAdam", .inputs = in,
                           .input_count = n);
    in[n++] = v->gradient.indices;
    return hr_new_node(t->g,
                       amsgrad ? "Headrace>ResourceSparseApplyAdamWithAmsgrad"
                       : lazy  ? "Headrace>ResourceSparseApplyLazyAdam"
                               : "Headrace>ResourceSparseApplyAdam",
                       .inputs = in, .input_count = n, HR_ATTRS(HR_BOOL_ATTR("_sum_duplicates", true)));
}

static int adam_finish(hr_minimizer *t, hr_node *out)
{
    if (!hr_optimizer_is_v1(t->optimizer)) return 0;
    for (int i = 0; i < 2; i++) {
        hr_node next = hr_mul(t->shared[i], hr_scalar(t->g, HR_FLOAT, hr_optimizer_value(t->optimizer, BETA1 + i)));
        out[i] = hr_target(hr_assign(t->shared[POWER_VARIABLE + i], next));
    }
    return 2;
}

static hr_status adam_check(const hr_optimizer *o, hr_error *err)
{
    if (!hr_optimizer_is_keras(o) || hr_optimizer_value(o, LAZY) == 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "optimizer.parameter", "Adam: expected no lazy with keras, got it");
}

const hr_optimizer_kind hr_optimizer_kind_adam = {
    .head = HR_OPTIMIZER_HEAD,
    .name = "adam",
    .parameters = adam_parameters,
    .parameter = adam_specs,
    .ops = hr_graph_ops_adam,
    .rules = adam_rules,
    .title = adam_title,
    .slots = adam_slots,
    .begin = adam_begin,
    .update = adam_update,
    .finish = adam_finish,
    .check = adam_check,
    .keras = true,
};

hr_optimizer *hr_adam_with(float learning_rate, const hr_adam_opts *opts)
{
    opts = &HR_OPTIONS(hr_adam_opts, opts);
    double beta1, beta2, epsilon;
    const double rate = (double)learning_rate, decay = (double)opts->decay, amsgrad = opts->amsgrad, lazy = opts->lazy;
    const double *given[HR_MAX_PARAMETERS] = {&rate,
                                              &decay,
                                              hr_parameter_given(opts->beta1, &beta1),
                                              hr_parameter_given(opts->beta2, &beta2),
                                              hr_parameter_given(opts->epsilon, &epsilon),
                                              &amsgrad,
                                              &lazy};
    return hr_optimizer_new(&hr_optimizer_kind_adam, given, HR_OPTIMIZER_COMMON(opts));
}
