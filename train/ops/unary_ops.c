/* Ops of one input, value by value, and the ops of their gradients: one loop a type, written once. */
#include <headrace/kernels.h>
#include <math.h>
#include <string.h>

typedef void loop_fn(const void *a, const void *b, void *out, int64_t n);

/* x of the first input, and y of the second where there is one. */
#define LOOP(NAME, T, R, S, EXPR)                                                                                      \
    static void NAME##_##S(const void *va, const void *vb, void *out, int64_t n)                                       \
    {                                                                                                                  \
        const T *a = va;                                                                                               \
        R *z = out;                                                                                                    \
        (void)vb;                                                                                                      \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const T x = a[i];                                                                                          \
            z[i] = (R)(EXPR);                                                                                          \
        }                                                                                                              \
    }
#define LOOP2(NAME, T, S, EXPR)                                                                                        \
    static void NAME##_##S(const void *va, const void *vb, void *out, int64_t n)                                       \
    {                                                                                                                  \
        const T *a = va, *b = vb;                                                                                      \
        T *z = out;                                                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const T x = a[i], y = b[i];                                                                                \
            z[i] = (T)(EXPR);                                                                                          \
        }                                                                                                              \
    }

/* From log(eps) + 2 on, softplus is x or e^x to within rounding. */
static float softplus_of_f32(float x)
{
    const float t = -13.942385f;
    return x > -t ? x : x < t ? expf(x) : logf(expf(x) + 1);
}

static double softplus_of_f64(double x)
{
    const double t = -34.04365338911715;
    return x > -t ? x : x < t ? exp(x) : log(exp(x) + 1);
}

static const double SELU_SCALE = 1.0507009873554804934193349852946,
                    SELU_SCALE_ALPHA = 1.7580993408473768599402175208123;

/* F(fn) is expf or exp. */
#define FLOAT_LOOPS(T, S, F)                                                                                           \
    LOOP(neg, T, T, S, -x)                                                                                             \
    LOOP(abs, T, T, S, F(fabs)(x))                                                                                     \
    LOOP(sign, T, T, S, x != x ? x : (x > 0) - (x < 0))                                                                \
    LOOP(square, T, T, S, x *x)                                                                                        \
    LOOP(sqrt, T, T, S, F(sqrt)(x))                                                                                    \
    LOOP(rsqrt, T, T, S, 1 / F(sqrt)(x))                                                                               \
    LOOP(reciprocal, T, T, S, 1 / x)                                                                                   \
    LOOP(exp, T, T, S, F(exp)(x))                                                                                      \
    LOOP(expm1, T, T, S, F(expm1)(x))                                                                                  \
    LOOP(log, T, T, S, F(log)(x))                                                                                      \
    LOOP(log1p, T, T, S, F(log1p)(x))                                                                                  \
    LOOP(floor, T, T, S, F(floor)(x))                                                                                  \
    LOOP(ceil, T, T, S, F(ceil)(x))                                                                                    \
    LOOP(round, T, T, S, F(nearbyint)(x))                                                                              \
    LOOP(is_nan, T, bool, S, x != x)                                                                                   \
    LOOP(is_inf, T, bool, S, isinf(x) != 0)                                                                            \
    LOOP(is_finite, T, bool, S, isfinite(x) != 0)                                                                      \
    LOOP(sigmoid, T, T, S, 1 / (1 + F(exp)(-x)))                                                                       \
    LOOP(tanh, T, T, S, F(tanh)(x))                                                                                    \
    LOOP(erf, T, T, S, F(erf)(x))                                                                                      \
    LOOP(relu, T, T, S, x > 0 || x != x ? x : 0)                                                                       \
    LOOP(relu6, T, T, S, x > 6 ? 6 : x > 0 || x != x ? x : 0)                                                          \
    LOOP(elu, T, T, S, x < 0 ? F(expm1)(x) : x)                                                                        \
    LOOP(selu, T, T, S, x < 0 ? (T)SELU_SCALE_ALPHA * F(expm1)(x) : (T)SELU_SCALE * x)                                 \
    LOOP(softplus, T, T, S, softplus_of_##S(x))                                                                        \
    LOOP(softsign, T, T, S, x / (1 + F(fabs)(x)))                                                                      \
    LOOP2(sigmoid_grad, T, S, y *x *(1 - x))                                                                           \
    LOOP2(tanh_grad, T, S, y *(1 - x * x))                                                                             \
    LOOP2(sqrt_grad, T, S, y == 0 ? 0 : y * (T)0.5 / x)                                                                \
    LOOP2(rsqrt_grad, T, S, y == 0 ? 0 : y * (T)-0.5 * x * x * x)                                                      \
    LOOP2(reciprocal_grad, T, S, y == 0 ? 0 : -y * x * x)                                                              \
    LOOP2(relu_grad, T, S, y > 0 ? x : 0)                                                                              \
    LOOP2(relu6_grad, T, S, x *(T)(y > 0 && y < 6))                                                                    \
    LOOP2(elu_grad, T, S, y < 0 ? x * (y + 1) : x)                                                                     \
    LOOP2(selu_grad, T, S, y < 0 ? x * (y + (T)SELU_SCALE_ALPHA) : x * (T)SELU_SCALE)                                  \
    LOOP2(softplus_grad, T, S, x / (1 + F(exp)(-y)))                                                                   \
    LOOP2(softsign_grad, T, S, x / ((1 + F(fabs)(y)) * (1 + F(fabs)(y))))
#define F32(fn) fn##f
#define F64(fn) fn
FLOAT_LOOPS(float, f32, F32)
FLOAT_LOOPS(double, f64, F64)

#define INT_LOOPS(T, U, D, S) LOOP(square, T, T, S, (U)x *(U)x)
HR_INTEGER_TYPES(INT_LOOPS)
#define SIGNED_LOOPS(T, U, D, S)                                                                                       \
    LOOP(neg, T, T, S, 0 - (U)x)                                                                                       \
    LOOP(abs, T, T, S, x < 0 ? 0 - (U)x : (U)x)                                                                        \
    LOOP(sign, T, T, S, (x > 0) - (x < 0))                                                                             \
    LOOP(relu, T, T, S, x > 0 ? x : 0)                                                                                 \
    LOOP(relu6, T, T, S, x > 6 ? 6 : x > 0 ? x : 0)                                                                    \
    LOOP(same, T, T, S, x)                                                                                             \
    LOOP2(relu_grad, T, S, y > 0 ? x : 0)                                                                              \
    LOOP2(relu6_grad, T, S, y > 0 && y < 6 ? x : 0)
HR_SIGNED_TYPES(SIGNED_LOOPS)
#define UNSIGNED_LOOPS(T, U, D, S)                                                                                     \
    LOOP(same, T, T, S, x)                                                                                             \
    LOOP(relu6, T, T, S, x > 6 ? 6 : x)                                                                                \
    LOOP2(relu_grad, T, S, y > 0 ? x : 0)                                                                              \
    LOOP2(relu6_grad, T, S, y > 0 && y < 6 ? x : 0)
HR_UNSIGNED_TYPES(UNSIGNED_LOOPS)
LOOP(logical_not, bool, bool, bit, !x)

/* ---- which loop ---- */

typedef struct loop_of {
    const char *op;
    hr_dtype dtype;
    loop_fn *loop;
    double nanoseconds;
} loop_of;

#define FLOAT_ENTRIES(T, U, D, S)                                                                                      \
    {"Neg", D, neg_##S, .3}, {"Abs", D, abs_##S, .3}, {"Sign", D, sign_##S, .5}, {"Square", D, square_##S, .3},        \
        {"Sqrt", D, sqrt_##S, 1}, {"Rsqrt", D, rsqrt_##S, 1.5}, {"Reciprocal", D, reciprocal_##S, .6},                 \
        {"Inv", D, reciprocal_##S, .6}, {"Exp", D, exp_##S, 3}, {"Expm1", D, expm1_##S, 8}, {"Log", D, log_##S, 3},    \
        {"Log1p", D, log1p_##S, 8}, {"Floor", D, floor_##S, .5}, {"Ceil", D, ceil_##S, .5},                            \
        {"Round", D, round_##S, .5}, {"Rint", D, round_##S, .5}, {"IsNan", D, is_nan_##S, .3},                         \
        {"IsInf", D, is_inf_##S, .3}, {"IsFinite", D, is_finite_##S, .3}, {"Sigmoid", D, sigmoid_##S, 4},              \
        {"Tanh", D, tanh_##S, 8}, {"Erf", D, erf_##S, 8}, {"Relu", D, relu_##S, .3}, {"Relu6", D, relu6_##S, .3},      \
        {"Elu", D, elu_##S, 6}, {"Selu", D, selu_##S, 6}, {"Softplus", D, softplus_##S, 8},                            \
        {"Softsign", D, softsign_##S, 1}, {"SigmoidGrad", D, sigmoid_grad_##S, .3},                                    \
        {"TanhGrad", D, tanh_grad_##S, .3}, {"SqrtGrad", D, sqrt_grad_##S, .6}, {"RsqrtGrad", D, rsqrt_grad_##S, .3},  \
        {"ReciprocalGrad", D, reciprocal_grad_##S, .3}, {"ReluGrad", D, relu_grad_##S, .3},                            \
        {"Relu6Grad", D, relu6_grad_##S, .3}, {"EluGrad", D, elu_grad_##S, .3}, {"SeluGrad", D, selu_grad_##S, .3},    \
        {"SoftplusGrad", D, softplus_grad_##S, 4}, {"SoftsignGrad", D, softsign_grad_##S, .6},
#define INT_ENTRIES(T, U, D, S)                                                                                        \
    {"Square", D, square_##S, .3}, {"Relu6", D, relu6_##S, .3}, {"Round", D, same_##S, .3},                            \
        {"ReluGrad", D, relu_grad_##S, .3}, {"Relu6Grad", D, relu6_grad_##S, .3},
#define SIGNED_ENTRIES(T, U, D, S)                                                                                     \
    {"Neg", D, neg_##S, .3}, {"Abs", D, abs_##S, .3}, {"Sign", D, sign_##S, .3}, {"Relu", D, relu_##S, .3},
#define UNSIGNED_ENTRIES(T, U, D, S) {"Relu", D, same_##S, .3},

static const loop_of loops[] = {
    HR_FLOAT_TYPES(FLOAT_ENTRIES) HR_INTEGER_TYPES(INT_ENTRIES) HR_SIGNED_TYPES(SIGNED_ENTRIES)
        HR_UNSIGNED_TYPES(UNSIGNED_ENTRIES){"LogicalNot", HR_BOOL, logical_not_bit, .3},
};

typedef struct unary_state {
    const loop_of *found;
} unary_state;

static hr_status unary_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    (void)session;
    const hr_dtype dtype = hr_node_dtype(hr_node_input(node, 0));
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        if (loops[i].dtype != dtype || strcmp(loops[i].op, hr_node_op(node)) != 0) continue;
        ((unary_state *)state)->found = &loops[i];
        return HR_OK;
    }
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.kernel", "no kernel for T = %s", hr_dtype_name(dtype));
}

typedef struct walk {
    const char *a, *b;
    char *out;
    size_t in_size, out_size;
    loop_fn *loop;
} walk;

static void some(int64_t first, int64_t last, void *user)
{
    const walk *w = user;
    const size_t in = (size_t)first * w->in_size;
    w->loop(w->a + in, w->b + in, w->out + (size_t)first * w->out_size, last - first);
}

static hr_status unary_compute(hr_kernel *k, hr_error *err)
{
    const loop_of *found = ((const unary_state *)k->state)->found;
    const hr_tensor *a = k->input[0], *b = k->input[k->inputs - 1];
    hr_tensor *out;
    char x[128], y[128];
    if (!hr_shape_equal(a->shape, b->shape))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected inputs of one shape, got %s and %s",
                       hr_shape_text(a->shape, x, sizeof x), hr_shape_text(b->shape, y, sizeof y));
    if (hr_node_dtype(k->node) == a->dtype)
        HR_TRY(hr_kernel_output_over(k, 0, hr_kernel_may_write(k, 0) ? 0 : k->inputs - 1, a->shape, &out, err));
    else
        HR_TRY(hr_kernel_output(k, 0, a->shape, &out, err));
    walk w = {a->data, b->data, out->data, hr_dtype_size(a->dtype), hr_dtype_size(out->dtype), found->loop};
    hr_kernel_parallel(k, a->count, found->nanoseconds, some, &w);
    return HR_OK;
}

static hr_status pair_shape(hr_infer *s, hr_error *err)
{
    return hr_shape_merge(s->input[0], s->input[1], &s->output[0]) ? HR_OK
                                                                   : hr_infer_refuse(s, err, "two inputs of one shape");
}

/* ---- gradients ---- */

static void unary_give(hr_backward *b, hr_node gradient) { b->out[0] = hr_dense_gradient(gradient); }
static hr_node grad_op(const hr_backward *b, const char *op, hr_node x, hr_node y)
{
    return hr_new_node(b->graph, op, HR_INPUTS(x, y));
}

static void neg_gradient(hr_backward *b) { unary_give(b, hr_neg(b->grad[0])); }
static void abs_gradient(hr_backward *b) { unary_give(b, hr_mul(b->grad[0], hr_sign(b->input[0]))); }
static void sign_gradient(hr_backward *b) { unary_give(b, hr_zeros_like(b->input[0])); }
static void exp_gradient(hr_backward *b) { unary_give(b, hr_mul(b->grad[0], b->output[0])); }
static void expm1_gradient(hr_backward *b) { unary_give(b, hr_mul(b->grad[0], hr_exp(b->input[0]))); }
static void log_gradient(hr_backward *b) { unary_give(b, hr_mul(b->grad[0], hr_reciprocal(b->input[0]))); }

static void square_gradient(hr_backward *b)
{
    unary_give(b, hr_mul(b->grad[0], hr_mul(hr_scalar_like(b->input[0], 2), b->input[0])));
}

static void log1p_gradient(hr_backward *b)
{
    unary_give(b, hr_mul(b->grad[0], hr_reciprocal(hr_add(hr_scalar_like(b->input[0], 1), b->input[0]))));
}

static void erf_gradient(hr_backward *b)
{
    const hr_node slope =
        hr_mul(hr_scalar_like(b->grad[0], 1.1283791670955126), hr_exp(hr_neg(hr_square(b->input[0]))));
    unary_give(b, hr_mul(b->grad[0], slope));
}

/* TensorFlow's ops of a gradient take (output, gradient), those of activations (gradient, features or output). */
static void sqrt_gradient(hr_backward *b) { unary_give(b, grad_op(b, "SqrtGrad", b->output[0], b->grad[0])); }
static void rsqrt_gradient(hr_backward *b) { unary_give(b, grad_op(b, "RsqrtGrad", b->output[0], b->grad[0])); }
static void reciprocal_gradient(hr_backward *b)
{
    unary_give(b, grad_op(b, "ReciprocalGrad", b->output[0], b->grad[0]));
}
static void sigmoid_gradient(hr_backward *b) { unary_give(b, grad_op(b, "SigmoidGrad", b->output[0], b->grad[0])); }
static void tanh_gradient(hr_backward *b) { unary_give(b, grad_op(b, "TanhGrad", b->output[0], b->grad[0])); }
static void relu_gradient(hr_backward *b) { unary_give(b, grad_op(b, "ReluGrad", b->grad[0], b->output[0])); }
static void relu6_gradient(hr_backward *b) { unary_give(b, grad_op(b, "Relu6Grad", b->grad[0], b->output[0])); }
static void elu_gradient(hr_backward *b) { unary_give(b, grad_op(b, "EluGrad", b->grad[0], b->output[0])); }
static void selu_gradient(hr_backward *b) { unary_give(b, grad_op(b, "SeluGrad", b->grad[0], b->output[0])); }
static void softplus_gradient(hr_backward *b) { unary_give(b, grad_op(b, "SoftplusGrad", b->grad[0], b->input[0])); }
static void softsign_gradient(hr_backward *b) { unary_give(b, grad_op(b, "SoftsignGrad", b->grad[0], b->input[0])); }

/* Second derivatives. */
static void relu_grad_gradient(hr_backward *b)
{
    unary_give(b, grad_op(b, "ReluGrad", b->grad[0], b->input[1]));
    b->out[1] = hr_dense_gradient(hr_zeros_like(b->input[1]));
}

static void sigmoid_grad_gradient(hr_backward *b)
{
    const hr_node y = b->input[0], scaled = hr_mul(b->grad[0], b->input[1]);
    const hr_node two = hr_scalar_like(y, 2);
    unary_give(b, hr_sub(scaled, hr_mul(hr_mul(two, scaled), y)));
    b->out[1] = hr_dense_gradient(grad_op(b, "SigmoidGrad", y, b->grad[0]));
}

static void tanh_grad_gradient(hr_backward *b)
{
    const hr_node y = b->input[0], two = hr_scalar_like(y, -2);
    unary_give(b, hr_mul(hr_mul(hr_mul(two, b->grad[0]), b->input[1]), y));
    b->out[1] = hr_dense_gradient(grad_op(b, "TanhGrad", y, b->grad[0]));
}

/* ---- descriptors ---- */

#define KERNEL .state_size = sizeof(unary_state), .prepare = unary_prepare, .compute = unary_compute
#define UNARY(NAME, TYPES, TRAITS, GRADIENT)                                                                           \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .types = "T:" TYPES, .traits = HR_ELEMENT_WISE | (TRAITS),             \
        .shape = hr_infer_unchanged, KERNEL, .gradient = GRADIENT,                                                     \
    }
#define QUESTION(NAME)                                                                                                 \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .types = "T:floats", .traits = HR_ELEMENT_WISE | HR_NO_GRADIENT,       \
        .shape = hr_infer_unchanged, KERNEL,                                                                           \
    }
#define PAIR(NAME, TYPES, GRADIENT)                                                                                    \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .types = "T:" TYPES, .traits = HR_ELEMENT_WISE, .shape = pair_shape,   \
        KERNEL, .gradient = GRADIENT,                                                                                  \
    }
#define SIGNED "{float,double,int32,int64,int8,int16}"

const hr_graph_op hr_graph_ops_unary_ops[] = {
    UNARY("Neg", SIGNED, 0, neg_gradient),
    UNARY("Abs", SIGNED, 0, abs_gradient),
    UNARY("Sign", SIGNED, 0, sign_gradient),
    UNARY("Square", "numbers", 0, square_gradient),
    UNARY("Sqrt", "floats", 0, sqrt_gradient),
    UNARY("Rsqrt", "floats", 0, rsqrt_gradient),
    UNARY("Reciprocal", "floats", 0, reciprocal_gradient),
    UNARY("Inv", "floats", 0, reciprocal_gradient),
    UNARY("Exp", "floats", 0, exp_gradient),
    UNARY("Expm1", "floats", 0, expm1_gradient),
    UNARY("Log", "floats", 0, log_gradient),
    UNARY("Log1p", "floats", 0, log1p_gradient),
    UNARY("Floor", "floats", HR_NO_GRADIENT, NULL),
    UNARY("Ceil", "floats", HR_NO_GRADIENT, NULL),
    UNARY("Round", "numbers", HR_NO_GRADIENT, NULL),
    UNARY("Rint", "floats", HR_NO_GRADIENT, NULL),
    UNARY("Sigmoid", "floats", 0, sigmoid_gradient),
    UNARY("Tanh", "floats", 0, tanh_gradient),
    UNARY("Erf", "floats", 0, erf_gradient),
    UNARY("Relu", "numbers", 0, relu_gradient),
    UNARY("Relu6", "numbers", 0, relu6_gradient),
    UNARY("Elu", "floats", 0, elu_gradient),
    UNARY("Selu", "floats", 0, selu_gradient),
    UNARY("Softplus", "floats", 0, softplus_gradient),
    UNARY("Softsign", "floats", 0, softsign_gradient),
    QUESTION("IsNan"),
    QUESTION("IsInf"),
    QUESTION("IsFinite"),
    PAIR("SigmoidGrad", "floats", sigmoid_grad_gradient),
    PAIR("TanhGrad", "floats", tanh_grad_gradient),
    PAIR("SqrtGrad", "floats", NULL),
    PAIR("RsqrtGrad", "floats", NULL),
    PAIR("ReciprocalGrad", "floats", NULL),
    PAIR("ReluGrad", "numbers", relu_grad_gradient),
    PAIR("Relu6Grad", "numbers", NULL),
    PAIR("EluGrad", "floats", NULL),
    PAIR("SeluGrad", "floats", NULL),
    PAIR("SoftplusGrad", "floats", NULL),
    PAIR("SoftsignGrad", "floats", NULL),
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "LogicalNot",
        .traits = HR_ELEMENT_WISE | HR_NO_GRADIENT,
        .shape = hr_infer_unchanged,
        KERNEL,
    },
    HR_GRAPH_OPS_END,
};

#define CONSTRUCTOR(fn, op)                                                                                            \
    hr_node fn##_with(hr_node x, const hr_name_opts *opts) { return hr_unary_node(op, x, opts); }
CONSTRUCTOR(hr_neg, "Neg")
CONSTRUCTOR(hr_abs, "Abs")
CONSTRUCTOR(hr_sign, "Sign")
CONSTRUCTOR(hr_square, "Square")
CONSTRUCTOR(hr_sqrt, "Sqrt")
CONSTRUCTOR(hr_rsqrt, "Rsqrt")
CONSTRUCTOR(hr_reciprocal, "Reciprocal")
CONSTRUCTOR(hr_exp, "Exp")
CONSTRUCTOR(hr_expm1, "Expm1")
CONSTRUCTOR(hr_log, "Log")
CONSTRUCTOR(hr_log1p, "Log1p")
CONSTRUCTOR(hr_floor, "Floor")
CONSTRUCTOR(hr_ceil, "Ceil")
CONSTRUCTOR(hr_round, "Round")
CONSTRUCTOR(hr_is_nan, "IsNan")
CONSTRUCTOR(hr_is_inf, "IsInf")
CONSTRUCTOR(hr_is_finite, "IsFinite")
CONSTRUCTOR(hr_sigmoid, "Sigmoid")
CONSTRUCTOR(hr_tanh, "Tanh")
CONSTRUCTOR(hr_relu, "Relu")
CONSTRUCTOR(hr_relu6, "Relu6")
CONSTRUCTOR(hr_elu, "Elu")
CONSTRUCTOR(hr_selu, "Selu")
CONSTRUCTOR(hr_softplus, "Softplus")
CONSTRUCTOR(hr_softsign, "Softsign")
CONSTRUCTOR(hr_erf, "Erf")
CONSTRUCTOR(hr_logical_not, "LogicalNot")
