/* Nadam: Adam with Nesterov's momentum, whose decay follows a schedule: u_t = beta1 (1 - 0.5 * 0.96^(t * schedule decay)).
 * The product of all u so far is kept in the variable "momentum_cache". Since 2.11 Keras has no schedule decay, which is
 * 1, and calls the variable "u_product". */
#include <headrace/optimizer.h>
#include <stdio.h>
#include <tgmath.h>

/* Numbers: rate, beta1, beta2, epsilon, what the gradient and m are multiplied by in the step, 1 - beta2^t. */
HR_RULE(nadam, 2, 1.1, {
    const T rate = p[0], beta1 = p[1], beta2 = p[2], rest1 = 1 - p[1], rest2 = 1 - p[2], epsilon = p[3];
    const T of_g = p[4], of_m = p[5], corrected = p[6];
    for (int64_t i = 0; i < n; i++) {
        a[i] = beta1 * a[i] + rest1 * g[i];
        b[i] = beta2 * b[i] + rest2 * (g[i] * g[i]);
        w[i] -= rate * (of_g * g[i] + of_m * a[i]) / (sqrt(b[i] / corrected) + epsilon);
    }
})

/* Rows of a sparse gradient, of m and v that have decayed everywhere. */
HR_RULE(nadam_rows, 2, 1.1, {
    const T rate = p[0], rest1 = 1 - p[1], rest2 = 1 - p[2], epsilon = p[3];
    const T of_g = p[4], of_m = p[5], corrected = p[6];
    for (int64_t i = 0; i < n; i++) {
        a[i] += rest1 * g[i];
        b[i] += rest2 * (g[i] * g[i]);
        w[i] -= rate * (of_g * g[i] + of_m * a[i]) / (sqrt(b[i] / corrected) + epsilon);
    }
})

/* Of Keras since 2.11: the same numbers and formula, in another order. */
HR_RULE(keras_nadam, 2, 1.1, {
    const T rate = p[0], rest1 = 1 - p[1], rest2 = 1 - p[2], epsilon = p[3];
    const T of_g = p[4], of_m = p[5], corrected = p[6];
    for (int64_t i = 0; i < n; i++) {
        a[i] += (g[i] - a[i]) * rest1;
        b[i] += (g[i] * g[i] - b[i]) * rest2;
        w[i] -= (of_m * a[i] + of_g * g[i]) * rate / (sqrt(b[i] / corrected) + epsilon);
    }
})
static const hr_rule *const nadam_rules[] = {&nadam_rule, &nadam_rows_rule, &keras_nadam_rule, NULL};

HR_UPDATE(nadam_dense, &nadam_rule, .from = {3, 4, 5, 6, 7, 8, 9}, .grad = 10)
HR_UPDATE(nadam_sparse, &nadam_rows_rule, .from = {3, 4, 5, 6, 7, 8, 9}, .grad = 10, .indices = 11, .decays = {1, 2})

/* Keeps what the variable's type can. */
static double rounded(double x, hr_dtype dtype) { return dtype == HR_FLOAT ? (double)(float)x : x; }

static double u_of(double beta1, double step, hr_dtype dtype)
{
    const double fading = rounded(pow((double)0.96f, step), dtype);
    return rounded(beta1 * (1 - 0.5 * fading), dtype);
}

/* Inputs: var, m, v, lr, iterations, beta1, beta2, epsilon, u_product, grad. The product has this step's u. */
static hr_status keras_nadam_dense(hr_kernel *k, hr_error *err)
{
    const hr_dtype dtype = k->input[9]->dtype;
    double iterations, beta1, beta2, product;
    HR_TRY(hr_update_number(k, 4, &iterations, err));
    HR_TRY(hr_update_number(k, 5, &beta1, err));
    HR_TRY(hr_update_number(k, 6, &beta2, err));
    HR_TRY(hr_update_number(k, 8, &product, err));
    const double step = iterations + 1, now = u_of(beta1, step, dtype), next = u_of(beta1, step + 1, dtype);
    hr_update update = {&keras_nadam_rule, .from = {3, 5, 6, 7}, .grad = 9};
    update.p[4] = (1 - now) / (1 - product);
    update.p[5] = next / (1 - product * next);
    update.p[6] = 1 - pow(beta2, step);
    return hr_update_run(k, &update, err);
}

/* In TensorFlow chains of element-wise ops. */
#define INPUTS                                                                                                         \
    "var:resource, m:resource, v:resource, lr:T, beta1:T, beta2:T, epsilon:T, of_grad:T, of_m:T, corrected:T, grad:T"
const hr_graph_op hr_graph_ops_nadam[] = {
    HR_OWN_UPDATE_OP("ResourceApplyNadam", INPUTS, nadam_dense),
    HR_OWN_SPARSE_UPDATE_OP("ResourceSparseApplyNadam", INPUTS ", indices:Tindices", nadam_sparse),
    HR_OWN_UPDATE_OP("KerasNadam",
                     "var:resource, m:resource, v:resource, lr:float, iterations:int64, beta1:float, beta2:float, "
                     "epsilon:double, u_product:T, grad:T",
                     keras_nadam_dense),
    HR_GRAPH_OPS_END,
};
#undef INPUTS

/* ---- the kind ---- */

enum { BETA1 = HR_OWN_PARAMETER, BETA2, EPSILON, SCHEDULE_DECAY, TF_COMPAT };
/* Shared nodes; with .keras: the product, and u of this step. */
enum { OF_GRADIENT, OF_M, CORRECTED, NEW_CACHE };
enum { U_PRODUCT, U };

static const double SCHEDULE = 0.004;

static const char *const nadam_parameters[] = {"learning_rate", "decay",          "beta1",     "beta2",
                                               "epsilon",       "schedule_decay", "tf_compat", NULL};
static const hr_parameter_spec nadam_specs[] = {
    {"learning_rate", 0.001, 0.001, -HUGE_VAL, HUGE_VAL},
    {NULL, 0, 0, 0, HUGE_VAL}, /* counts for nothing; the name is the schedule's */
    {"beta_1", 0.9, 0.9, 0, 1},
    {"beta_2", 0.999, 0.999, 0, 1},
    {NULL, 1e-7, 1e-7, 0, HUGE_VAL},
    {"decay", SCHEDULE, SCHEDULE, 0, HUGE_VAL},
    {NULL, 0, 0, 0, 1},
};

static const char *nadam_title(const hr_optimizer *o)
{
    (void)o;
    return "Nadam";
}

static int nadam_slots(const hr_optimizer *o, const hr_slot **slot)
{
    static const hr_slot all[] = {{.name = "m"}, {.name = "v"}};
    (void)o;
    *slot = all;
    return 2;
}

static hr_status nadam_check(const hr_optimizer *o, hr_error *err)
{
    const double schedule = hr_optimizer_value(o, SCHEDULE_DECAY);
    const bool keras = hr_optimizer_is_keras(o);
    if (keras && schedule != SCHEDULE)
        return hr_fail(err, HR_INVALID_ARGUMENT, "optimizer.parameter",
                       "Nadam: expected no schedule_decay with keras, where it is 1, got %g", schedule);
    if (!keras && hr_optimizer_value(o, TF_COMPAT) != 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "optimizer.parameter",
                       "Nadam: expected keras with tf_compat, got none");
    return HR_OK;
}

/* ---- of Keras since 2.11 ---- */

/* Keras casts its numbers to the variable's type by way of float32. */
static hr_node number_of(hr_minimizer *t, const hr_minimize_target *v, double value)
{
    return hr_scalar(t->g, v->dtype, (double)(float)value);
}

static void keras_nadam_begin(hr_minimizer *t, const hr_minimize_target *v)
{
    const hr_node product = hr_minimizer_variable(t, t->scope, "u_product", v->dtype, HR_SCALAR, 1);
    const hr_node step = hr_cast_to(hr_add(t->iterations, hr_scalar(t->g, HR_INT64, 1)), v->dtype);
    const hr_node fading = hr_mul(number_of(t, v, 0.5), hr_pow(number_of(t, v, 0.96), step));
    t->made.u_product = product;
    t->shared[U] = hr_mul(number_of(t, v, hr_optimizer_value(t->optimizer, BETA1)), hr_sub(number_of(t, v, 1), fading));
    t->shared[U_PRODUCT] = hr_identity(product);
    if (hr_optimizer_value(t->optimizer, TF_COMPAT) == 0)
        t->shared[U_PRODUCT] = hr_mul(t->shared[U_PRODUCT], t->shared[U]);
}

/* What a graph of Keras does: of n variables, number i multiplies the product, too, but in step n + i - 1. */
static void multiply_as_a_graph(hr_minimizer *t)
{
    const hr_node left_out = hr_scalar(t->g, HR_INT64, t->updates + t->number - 1);
    const hr_node next = hr_mul(t->shared[U_PRODUCT], t->shared[U]);
    t->shared[U_PRODUCT] = hr_where(hr_equal(t->iterations, left_out), t->shared[U_PRODUCT], next);
}

static hr_node keras_nadam_update(hr_minimizer *t, const hr_minimize_target *v)
{
    hr_node in[10] = {v->variable, v->slot[0], v->slot[1], hr_minimizer_float(t, HR_LEARNING_RATE), t->iterations};
    int n = 5;
    if (t->number == 0) keras_nadam_begin(t, v);
    if (hr_optimizer_value(t->optimizer, TF_COMPAT) != 0) multiply_as_a_graph(t);
    in[n++] = hr_minimizer_float(t, BETA1);
    in[n++] = hr_minimizer_float(t, BETA2);
    in[n++] = hr_scalar(t->g, HR_DOUBLE, hr_optimizer_value(t->optimizer, EPSILON));
    in[n++] = hr_minimizer_cast(t->shared[U_PRODUCT], v);
    in[n++] = hr_minimizer_dense(v); /* all rows go on moving */
    return hr_new_node(t->g, "Headrace>KerasNadam", .inputs = in, .input_count = n);
}

/* ---- of legacy Keras ---- */

/* u of a step. */
static hr_node momentum_at(hr_minimizer *t, hr_node step)
{
    const hr_node power = hr_mul(hr_minimizer_float(t, SCHEDULE_DECAY), step);
    const hr_node fading = hr_mul(hr_scalar(t->g, HR_FLOAT, 0.5), hr_pow(hr_scalar(t->g, HR_FLOAT, 0.96), power));
    return hr_mul(hr_minimizer_float(t, BETA1), hr_sub(hr_scalar(t->g, HR_FLOAT, 1), fading));
}

static hr_node momentum_cache(hr_minimizer *t)
{
    return hr_minimizer_variable(t, t->scope, "momentum_cache", HR_FLOAT, HR_SCALAR, 1);
}

/* Keras's Nadam takes a decay as all its optimizers do, but not into account. */
static hr_node rate_without_decay(hr_minimizer *t)
{
    const hr_node given = hr_optimizer_learning_rate_node(t->optimizer);
    return given.graph ? hr_cast_to(given, HR_FLOAT) : hr_minimizer_float(t, HR_LEARNING_RATE);
}

static void nadam_begin(hr_minimizer *t)
{
    if (hr_optimizer_is_keras(t->optimizer)) return;
    t->learning_rate = rate_without_decay(t);
    const hr_node one = hr_scalar(t->g, HR_FLOAT, 1), step = hr_minimizer_step(t);
    const hr_node now = momentum_at(t, step), next = momentum_at(t, hr_add(step, one));
    const hr_node product = hr_mul(momentum_cache(t), now);
    t->shared[OF_GRADIENT] = hr_div(hr_sub(one, now), hr_sub(one, product));
    t->shared[OF_M] = hr_div(next, hr_sub(one, hr_mul(product, next)));
    t->shared[CORRECTED] = hr_sub(one, hr_pow(hr_minimizer_float(t, BETA2), step));
    t->shared[NEW_CACHE] = product;
}

static hr_node nadam_update(hr_minimizer *t, const hr_minimize_target *v)
{
    if (hr_optimizer_is_keras(t->optimizer)) return keras_nadam_update(t, v);
    hr_node in[12] = {v->variable, v->slot[0], v->slot[1], hr_minimizer_number(t, v, HR_LEARNING_RATE)};
    int n = 4;
    for (int i = BETA1; i <= EPSILON; i++) in[n++] = hr_minimizer_number(t, v, i);
    for (int i = OF_GRADIENT; i <= CORRECTED; i++) in[n++] = hr_minimizer_cast(t->shared[i], v);
    in[n++] = v->gradient.values;
    if (!hr_target_is_sparse(v))
        return hr_new_node(t->g, "Headrace>ResourceApplyNadam", .inputs = in, .input_count = n);
    in[n++] = v->gradient.indices;
    return hr_new_node(t->g, "Headrace>ResourceSparseApplyNadam", .inputs = in, .input_count = n,
                       HR_ATTRS(HR_BOOL_ATTR("_sum_duplicates", true)));
}

static int nadam_finish(hr_minimizer *t, hr_node *out)
{
    if (hr_optimizer_is_keras(t->optimizer)) {
        out[0] = hr_target(hr_assign(t->made.u_product, t->shared[U_PRODUCT]));
        return 1;
    }
    char cache[HR_MAX_SCOPE + 32];
    snprintf(cache, sizeof cache, "%s/momentum_cache", t->scope);
    const hr_variable_info *info = hr_variable_named(t->g, cache);
    if (!info) return 0;
    out[0] = hr_target(hr_assign(info->handle, t->shared[NEW_CACHE]));
    return 1;
}

const hr_optimizer_kind hr_optimizer_kind_nadam = {
    .head = HR_OPTIMIZER_HEAD,
    .name = "nadam",
    .parameters = nadam_parameters,
    .parameter = nadam_specs,
    .ops = hr_graph_ops_nadam,
    .rules = nadam_rules,
    .title = nadam_title,
    .slots = nadam_slots,
    .begin = nadam_begin,
    .update = nadam_update,
    .finish = nadam_finish,
    .check = nadam_check,
    .keras = true,
};

hr_optimizer *hr_nadam_with(float learning_rate, const hr_nadam_opts *opts)
{
    opts = &HR_OPTIONS(hr_nadam_opts, opts);
    double beta1, beta2, epsilon, schedule;
    const double rate = (double)learning_rate, decay = (double)opts->decay, tf_compat = opts->tf_compat;
    const double *given[HR_MAX_PARAMETERS] = {&rate,
                                              &decay,
                                              hr_parameter_given(opts->beta1, &beta1),
                                              hr_parameter_given(opts->beta2, &beta2),
                                              hr_parameter_given(opts->epsilon, &epsilon),
                                              hr_parameter_given(opts->schedule_decay, &schedule),
                                              &tf_compat};
    return hr_optimizer_new(&hr_optimizer_kind_nadam, given, HR_OPTIMIZER_COMMON(opts));
}
