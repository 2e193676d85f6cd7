/* Adam: moving averages of the gradient and of its square, whose quotient moves the variable. With a sparse gradient
 * the averages of all rows decay and all rows move, as in TensorFlow (LazyAdam is another optimizer). */
#include "train/optimizers/rules.h"

#include <math.h>

/* Inputs: var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad [, indices]. */
enum { BETA1_POWER = 3, BETA2_POWER, RATE, BETA1, BETA2, EPSILON, GRAD, INDICES };

static hr_status numbers(hr_kernel *k, hr__apply *apply, hr_error *err)
{
    double beta1_power, beta2_power, rate;
    HR_TRY(hr__apply_number(k, BETA1_POWER, &beta1_power, err));
    HR_TRY(hr__apply_number(k, BETA2_POWER, &beta2_power, err));
    HR_TRY(hr__apply_number(k, RATE, &rate, err));
    HR_TRY(hr__apply_number(k, BETA1, &apply->p[1], err));
    HR_TRY(hr__apply_number(k, BETA2, &apply->p[2], err));
    HR_TRY(hr__apply_number(k, EPSILON, &apply->p[3], err));
    apply->p[0] = k->input[RATE]->dtype == HR_DOUBLE
                      ? rate * sqrt(1 - beta2_power) / (1 - beta1_power)
                      : (double)((float)rate * sqrtf(1 - (float)beta2_power) / (1 - (float)beta1_power));
    return HR_OK;
}

static hr_status apply_adam_dense_compute(hr_kernel *k, hr_error *err)
{
    hr__apply apply = {&hr__rule_adam, .grad = GRAD};
    HR_TRY(numbers(k, &apply, err));
    apply.p[4] = hr_attr_bool(k->node, "use_nesterov");
    return hr__apply_run(k, &apply, err);
}

/* ---- sparse: decay both averages, add the rows, move everything ---- */

typedef struct sweep {
    const hr__apply *apply;
    hr_dtype dtype;
    hr__rule_f32 *f32;
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
        const T p[HR__RULE_NUMBERS] = {(T)s->apply->p[0], (T)s->apply->p[3]};                                          \
        (MOVE)((T *)s->w + first, (T *)s->m + first, (T *)s->v + first, NULL, last - first, p);                        \
    }
PIECES(float, f32, s->f32)
PIECES(double, f64, hr__rule_adam_move.f64)

static hr_status sum_rows(hr_kernel *k, const hr__sparse *of, hr_tensor *rows, const void **grad, hr_error *err)
{
    const int64_t *summed;
    HR_TRY(hr__sum_rows(k, of, &summed, grad, &rows->count, err));
    *rows = hr_tensor_of(HR_INT64, HR_SHAPE(rows->count), summed);
    return HR_OK;
}

static hr_status variables(hr_kernel *k, sweep *s, const hr_tensor **variable, hr_error *err)
{
    hr_tensor *value[3];
    for (int i = 0; i < 3; i++) {
        HR_TRY(hr_kernel_update(k, i, &value[i], err));
        if (value[i]->dtype != k->input[GRAD]->dtype || !hr_shape_equal(value[i]->shape, value[0]->shape))
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
    hr__apply apply = {.rule = &hr__rule_adam_move, .grad = GRAD, .indices = INDICES};
    sweep s = {.apply = &apply, .f32 = hr__rule_choose(&hr__rule_adam_move)};
    const hr_tensor *variable = NULL;
    hr_tensor rows = {0};
    const void *grad;
    hr__sparse sparse;
    HR_TRY(numbers(k, &apply, err));
    HR_TRY(variables(k, &s, &variable, err));
    HR_TRY(hr__sparse_check(variable, k->input[GRAD], k->input[INDICES], &sparse, err));
    HR_TRY(sum_rows(k, &sparse, &rows, &grad, err));
    const bool narrow = s.dtype == HR_FLOAT;
    hr_kernel_parallel(k, variable->count, 0.3, narrow ? decay_f32 : decay_f64, &s);
    if (narrow)
        add_rows_f32(&s, &rows, grad, sparse.width);
    else
        add_rows_f64(&s, &rows, grad, sparse.width);
    hr_kernel_parallel(k, variable->count, hr__rule_adam_move.nanoseconds, narrow ? move_f32 : move_f64, &s);
    return HR_OK;
}

#define NUMBERS "beta1_power:T, beta2_power:T, lr:T, beta1:T, beta2:T, epsilon:T, grad:T"

const hr_graph_op hr_graph_ops_apply_adam[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ResourceApplyAdam",
        .inputs = "var:resource, m:resource, v:resource, " NUMBERS,
        .attrs = "T:floats; use_locking:bool=false; use_nesterov:bool=false",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .shape = hr__apply_shape,
        .compute = apply_adam_dense_compute,
    },
    {
        /* In TensorFlow a chain of assignments and scatters, each of them a pass over the whole table. */
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>ResourceSparseApplyAdam",
        .inputs = "var:resource, m:resource, v:resource, " NUMBERS ", indices:Tindices",
        .attrs = "T:floats; Tindices:indices; use_locking:bool=false",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .shape = hr__apply_shape,
        .compute = apply_adam_sparse_compute,
    },
    HR_GRAPH_OPS_END,
};
