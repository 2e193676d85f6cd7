/* Adam. v1 keeps the powers of both betas in variables, multiplied after each step; v2 takes them from the
 * iterations. */
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

/* Moves w alone, of m and v as they are. Numbers: bias-corrected rate, epsilon. */
HR_RULE(adam_move, 2, 0.7, {
    const T rate = p[0], epsilon = p[1];
    for (int64_t i = 0; i < n; i++) w[i] -= rate * a[i] / (sqrt(b[i]) + epsilon);
})

static const hr_rule *const adam_rules[] = {&adam_rule, &adam_move_rule, NULL};

/* ---- ops ---- */

/* Inputs: var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad [, indices]. */
enum { IN_BETA1_POWER = 3, IN_BETA2_POWER, IN_RATE, IN_BETA1, IN_BETA2, IN_EPSILON, IN_GRAD, IN_INDICES };

static hr_status adam_numbers(hr_kernel *k, hr_update *apply, hr_error *err)
{
    double beta1_power, beta2_power, rate;
    HR_TRY(hr_update_number(k, IN_BETA1_POWER, &beta1_power, err));
    HR_TRY(hr_update_number(k, IN_BETA2_POWER, &beta2_power, err));
    HR_TRY(hr_update_number(k, IN_RATE, &rate, err));
    HR_TRY(hr_update_number(k, IN_BETA1, &apply->p[1], err));
    HR_TRY(hr_update_number(k, IN_BETA2, &apply->p[2], err));
    HR_TRY(hr_update_number(k, IN_EPSILON, &apply->p[3], err));
    apply->p[0] = k->input[IN_RATE]->dtype == HR_DOUBLE
                      ? rate * sqrt(1 - beta2_power) / (1 - beta1_power)
                      : (double)((float)rate * sqrtf(1 - (float)beta2_power) / (1 - (float)beta1_power));
    return HR_OK;
}

static hr_status apply_adam_dense_compute(hr_kernel *k, hr_error *err)
{
    hr_update apply = {&adam_rule, .grad = IN_GRAD};
    HR_TRY(adam_numbers(k, &apply, err));
    apply.p[4] = hr_attr_bool(k->node, "use_nesterov");
    return hr_update_run(k, &apply, err);
}

/* ---- sparse: decay both averages, add the rows, move everything ---- */

typedef struct sweep {
    const hr_update *apply;
    hr_dtype dtype;
    hr_rule_f32 *f32;
    void *w, *m, *v;
} sweep;

#define PIECES(T, S, MOVE)                                                                                             \
    static void decay_##S(int64_t first, int64_t last, void *user)                                                     \
    {                                                                                                                  \
        const sweep *s = user;                                                                                         \
        const T beta1 = (T)s->apply->p[1], beta2 = (T)s->apply->p[2];                                                  \
        T *m = s->m, *v = s->v;                                                                                        \
        for (int64_t i = first; i < last; i++) m[i] *= beta1, v[i] *= beta2;                                           \
    }                                                                                                                  \
    static void add_rows_##S(const sweep *s, const hr_tensor *indices, const T *g, int64_t width)                      \
    {                                                                                                                  \
        const T rest1 = 1 - (T)s->apply->p[1], rest2 = 1 - (T)s->apply->p[2];                                          \
        for (int64_t i = 0; i < indices->count; i++) {                                                                 \
            const int64_t row = ((const int64_t *)indices->data)[i];                                                   \
            T *m = (T *)s->m + row * width, *v = (T *)s->v + row * width;                                              \
            for (int64_t j = 0; j < width; j++, g++) m[j] += *g * rest1, v[j] += *g * *g * rest2;                      \
        }                                                                                                              \
    }                                                                                                                  \
    static void move_##S(int64_t first, int64_t last, void *user)                                                      \
    {                                                                                                                  \
        const sweep *s = user;                                                                                         \
        const T p[HR_MAX_RULE_NUMBERS] = {(T)s->apply->p[0], (T)s->apply->p[3]};                                       \
        (MOVE)((T *)s->w + first, (T *)s->m + first, (T *)s->v + first, NULL, last - first, p);                        \
    }
PIECES(float, f32, s->f32)
PIECES(double, f64, adam_move_rule.f64)

static hr_status adam_sum_rows(hr_kernel *k, const hr_sparse_update *of, hr_tensor *rows, const void **grad,
                               hr_error *err)
{
    const int64_t *summed;
    HR_TRY(hr_sparse_sum_rows(k, of, &summed, grad, &rows->count, err));
    *rows = hr_tensor_of(HR_INT64, HR_SHAPE(rows->count), summed);
    return HR_OK;
}

static hr_status adam_variables(hr_kernel *k, sweep *s, const hr_tensor **variable, hr_error *err)
{
    hr_tensor *value[3];
    for (int i = 0; i < 3; i++) {
        HR_TRY(hr_kernel_update(k, i, &value[i], err));
        if (value[i]->dtype != k->input[IN_GRAD]->dtype || !hr_shape_equal(value[i]->shape, value[0]->shape))
            return hr_fail(err, HR_INVALID_ARGUMENT, "optimizer.shape",
                           "expected m and v of the variable's type and shape");
    }
    *variable = value[0];
    s->dtype = value[0]->dtype;
    s->w = value[0]->data, s->m = value[1]->data, s->v = value[2]->data;
    return HR_OK;
}

static hr_status apply_adam_sparse_compute(hr_kernel *k, hr_error *err)
{
    hr_update apply = {.rule = &adam_move_rule, .grad = IN_GRAD, .indices = IN_INDICES};
    sweep s = {.apply = &apply, .f32 = hr_rule_choose(&adam_move_rule)};
    const hr_tensor *variable = NULL;
    hr_tensor rows = {0};
    const void *grad;
    hr_sparse_update sparse;
    HR_TRY(adam_numbers(k, &apply, err));
    HR_TRY(adam_variables(k, &s, &variable, err));
    HR_TRY(hr_sparse_check(variable, k->input[IN_GRAD], k->input[IN_INDICES], &sparse, err));
    HR_TRY(adam_sum_rows(k, &sparse, &rows, &grad, err));
    const bool narrow = s.dtype == HR_FLOAT;
    hr_kernel_parallel(k, variable->count, 0.3, narrow ? decay_f32 : decay_f64, &s);
    if (narrow)
        add_rows_f32(&s, &rows, grad, sparse.width);
    else
        add_rows_f64(&s, &rows, grad, sparse.width);
    hr_kernel_parallel(k, variable->count, adam_move_rule.nanoseconds, narrow ? move_f32 : move_f64, &s);
    return HR_OK;
}

const hr_graph_op hr_graph_ops_adam[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ResourceApplyAdam",
        .types = "T:floats",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .compute = apply_adam_dense_compute,
    },
    {
        /* In TensorFlow a chain of assignments and scatters, each of them a pass over the whole table. */
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>ResourceSparseApplyAdam",
        .inputs = "var:resource, m:resource, v:resource, beta1_power:T, beta2_power:T, lr:T, beta1:T, beta2:T, "
                  "epsilon:T, grad:T, indices:Tindices",
        .attrs = "T:floats; Tindices:indices; use_locking:bool=false",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .compute = apply_adam_sparse_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ApplyAdam",
        .types = "T:floats",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .compute = apply_adam_dense_compute,
    },
    HR_GRAPH_OPS_END,
};

/* ---- the kind ---- */

enum { BETA1 = HR_OWN_PARAMETER, BETA2, EPSILON };
/* Shared nodes: the powers of both betas for this step; in v1 the variables that keep them. */
enum { POWER_VARIABLE = 2 };

static const char *const adam_parameters[] = {"learning_rate", "decay", "beta1", "beta2", "epsilon", NULL};
static const hr_parameter_spec adam_specs[] = {
    {"learning_rate", 0.001, 0.001, -HUGE_VAL, HUGE_VAL},
    {"decay", 0, 0, 0, HUGE_VAL},
    {"beta_1", 0.9, 0.9, 0, 1},
    {"beta_2", 0.999, 0.999, 0, 1},
    {NULL, 1e-7, 1e-8, 0, HUGE_VAL},
};

static const char *adam_title(const hr_optimizer *o)
{
    (void)o;
    return "Adam";
}

static int adam_slots(const hr_optimizer *o, const hr_slot **slot)
{
    static const hr_slot all[] = {{"m", 0}, {"v", 0}};
    (void)o;
    *slot = all;
    return 2;
}

/* "beta1_power", or what is free. */
static hr_node power_variable(hr_minimizer *t, const char *base, double initial)
{
    char full[HR_MAX_SCOPE];
    snprintf(full, sizeof full, "%.400s%s", t->prefix, base);
    const hr_variable_info *known = hr_graph_is_eager(t->g) ? hr_variable_named(t->g, full) : NULL;
    if (known) return known->handle;
    for (int i = 1; hr_variable_named(t->g, full); i++) snprintf(full, sizeof full, "%.400s%s_%d", t->prefix, base, i);
    return hr_get_variable(t->g, full, HR_FLOAT, HR_SCALAR, .initializer = hr_constant_value(initial),
                           .not_trainable = true);
}

static void adam_begin(hr_minimizer *t)
{
    for (int i = 0; i < 2; i++) {
        if (hr_optimizer_is_v1(t->optimizer)) {
            t->shared[POWER_VARIABLE + i] =
                power_variable(t, i ? "beta2_power" : "beta1_power", hr_optimizer_value(t->optimizer, BETA1 + i));
            const hr_variable_info *info = hr_variable_of(t->shared[POWER_VARIABLE + i]);
            t->shared[i] = info && hr_node_exists(info->read) ? info->read : hr_identity(t->shared[POWER_VARIABLE + i]);
        } else {
            hr_node step = hr_cast_to(hr_add(t->iterations, hr_scalar(t->g, HR_INT64, 1)), HR_FLOAT);
            t->shared[i] = hr_pow(hr_minimizer_float(t, BETA1 + i), step);
        }
    }
}

static hr_node adam_update(hr_minimizer *t, const hr_minimize_target *v)
{
    hr_node number[] = {hr_minimizer_cast(t->shared[0], v),
                        hr_minimizer_cast(t->shared[1], v),
                        hr_minimizer_number(t, v, HR_LEARNING_RATE),
                        hr_minimizer_number(t, v, BETA1),
                        hr_minimizer_number(t, v, BETA2),
                        hr_minimizer_number(t, v, EPSILON)};
#define NUMBERS number[0], number[1], number[2], number[3], number[4], number[5]
    if (!hr_target_is_sparse(v))
        return hr_new_node(t->g, "ResourceApplyAdam",
                           HR_INPUTS(v->variable, v->slot[0], v->slot[1], NUMBERS, v->gradient.values));
    return hr_new_node(
        t->g, "Headrace>ResourceSparseApplyAdam",
        HR_INPUTS(v->variable, v->slot[0], v->slot[1], NUMBERS, v->gradient.values, v->gradient.indices));
#undef NUMBERS
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
};

hr_optimizer *hr_adam_with(float learning_rate, const hr_adam_opts *opts)
{
    opts = &HR_OPTIONS(hr_adam_opts, opts);
    double beta1, beta2, epsilon;
    const double rate = (double)learning_rate, decay = (double)opts->decay;
    const double *given[HR_MAX_PARAMETERS] = {&rate, &decay, hr_parameter_given(opts->beta1, &beta1),
                                              hr_parameter_given(opts->beta2, &beta2),
                                              hr_parameter_given(opts->epsilon, &epsilon)};
    return hr_optimizer_new(&hr_optimizer_kind_adam, given, opts->v1, opts->learning_rate_node);
}
