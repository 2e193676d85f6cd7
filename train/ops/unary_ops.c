/* Ops of one input, value by value, and the ops of their gradients. Each is a loop by types, a gradient and a line of
 * the list. */
#include <headrace/float_math.h>
#include <headrace/kernels.h>
#include <math.h>
#include <tgmath.h>

/* ---- loops ---- */

HR_UNARY(neg, -x, floats, halves, complexes)
HR_UNARY(neg, (U)0 - (U)x, signed_ints)
HR_UNARY(abs, fabs(x), floats, halves)
HR_UNARY(abs, x < 0 ? (U)0 - (U)x : (U)x, signed_ints)
HR_UNARY(sign, x != x ? x : (T)((x > 0) - (x < 0)), floats, halves)
HR_UNARY(sign, (x > 0) - (x < 0), signed_ints)
HR_UNARY(square, x *x, floats, halves, complexes)
HR_UNARY(square, (U)x *(U)x, ints)
HR_UNARY(sqrt, sqrt(x), floats, halves, complexes)
HR_UNARY(rsqrt, 1 / sqrt(x), floats, halves, complexes)
HR_UNARY(reciprocal, 1 / x, floats, halves, complexes)
HR_UNARY(exp, hr_float_exp(x), float32, halves)
HR_UNARY(exp, exp(x), float64, complexes)
HR_UNARY(expm1, hr_float_expm1(x), float32, halves)
HR_UNARY(expm1, expm1(x), float64)
HR_UNARY(log, hr_float_log(x), float32, halves)
HR_UNARY(log, log(x), float64, complexes)
HR_UNARY(log1p, hr_float_log1p(x), float32, halves)
HR_UNARY(log1p, log1p(x), float64)
HR_UNARY(floor, floor(x), floats, halves)
HR_UNARY(ceil, ceil(x), floats, halves)
HR_UNARY(round, nearbyint(x), floats, halves)
HR_UNARY(round, x, ints)
HR_UNARY_TEST(is_nan, x != x, floats, halves)
HR_UNARY_TEST(is_inf, isinf(x) != 0, floats, halves)
HR_UNARY_TEST(is_finite, isfinite(x) != 0, floats, halves)
HR_UNARY(logical_not, !x, bools)
HR_UNARY(sigmoid, hr_float_sigmoid(x), float32, halves)
HR_UNARY(sigmoid, 1 / (1 + exp(-x)), float64, complexes)
HR_UNARY(tanh, hr_float_tanh(x), float32, halves)
HR_UNARY(tanh, tanh(x), float64, complexes)
HR_UNARY(erf, erf(x), floats, halves)
HR_UNARY(relu, x > 0 || x != x ? x : 0, floats)
HR_UNARY(relu, x < 0 ? 0 : x, halves) /* -0 stays, as in TensorFlow */
HR_UNARY(relu, x > 0 ? x : 0, ints)
HR_UNARY(relu6, x > 6 ? 6 : x > 0 || x != x ? x : 0, floats)
HR_UNARY(relu6, x > 6 ? 6 : x < 0 ? 0 : x, halves)
HR_UNARY(relu6, x > 6 ? 6 : x > 0 ? x : 0, ints)
HR_UNARY(elu, x < 0 ? hr_float_expm1(x) : x, float32, halves)
HR_UNARY(elu, x < 0 ? expm1(x) : x, float64)
HR_UNARY(softsign, x / (1 + fabs(x)), floats, halves)

static const double SELU_SCALE = 1.0507009873554804934193349852946,
                    SELU_SCALE_ALPHA = 1.7580993408473768599402175208123;
HR_UNARY(selu, x < 0 ? (T)SELU_SCALE_ALPHA * hr_float_expm1(x) : (T)SELU_SCALE * x, float32, halves)
HR_UNARY(selu, x < 0 ? SELU_SCALE_ALPHA * expm1(x) : SELU_SCALE * x, float64)

/* From log(eps) + 2 on, softplus is x or e^x to within rounding. */
static const double SOFTPLUS_END = 34.04365338911715;
HR_UNARY(softplus, hr_float_softplus(x), float32, halves)
HR_UNARY(softplus, x > SOFTPLUS_END ? x : x < -SOFTPLUS_END ? exp(x) : log(exp(x) + 1), float64)

/* TensorFlow's ops of a gradient: x is the output and y the gradient, or, of activations, x the gradient. Of complex
 * numbers the output is conjugated. */
HR_BINARY(sigmoid_grad, y *x *(1 - x), floats, halves)
HR_BINARY(sigmoid_grad, y *conj(x) * (1 - conj(x)), complexes)
HR_BINARY(tanh_grad, y *(1 - x * x), floats, halves)
HR_BINARY(tanh_grad, y *(1 - conj(x) * conj(x)), complexes)
HR_BINARY(sqrt_grad, y == 0 ? 0 : y * (T)0.5 / x, floats, halves)
HR_BINARY(sqrt_grad, y == 0 ? 0 : y * (T)0.5 / conj(x), complexes)
HR_BINARY(rsqrt_grad, y == 0 ? 0 : y * (T)-0.5 * x * x * x, floats, halves)
HR_BINARY(rsqrt_grad, y == 0 ? 0 : y * (T)-0.5 * conj(x) * conj(x) * conj(x), complexes)
HR_BINARY(reciprocal_grad, y == 0 ? 0 : -y * x * x, floats, halves)
HR_BINARY(reciprocal_grad, y == 0 ? 0 : -y * conj(x) * conj(x), complexes)
HR_BINARY(relu_grad, x *(T)(y > 0), floats, halves)
HR_BINARY(relu_grad, y > 0 ? x : 0, ints)
HR_BINARY(relu6_grad, x *(T)(y > 0 && y < 6), floats, halves)
HR_BINARY(relu6_grad, y > 0 && y < 6 ? x : 0, ints)
HR_BINARY(elu_grad, y < 0 ? x * (y + 1) : x, floats, halves)
HR_BINARY(selu_grad, y < 0 ? x * (y + (T)SELU_SCALE_ALPHA) : x * (T)SELU_SCALE, floats, halves)
HR_BINARY(softplus_grad, x / (1 + hr_float_exp(-y)), float32, halves)
HR_BINARY(softplus_grad, x / (1 + exp(-y)), float64)
HR_BINARY(softsign_grad, x / ((1 + fabs(y)) * (1 + fabs(y))), floats, halves)

/* With an attribute: it is read once, and `user` is the node's state. */
typedef struct leaky_state {
    float alpha;
} leaky_state;
#define ALPHA ((T)((const leaky_state *)user)->alpha)
HR_UNARY(leaky_relu, x > 0 ? x : x * ALPHA, floats, halves)
HR_BINARY(leaky_relu_grad, y > 0 ? x : x * ALPHA, floats, halves)

static hr_status leaky_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    (void)session, (void)err;
    ((leaky_state *)state)->alpha = hr_attr_float(node, "alpha");
    return HR_OK;
}

/* ---- gradients ---- */

static hr_node of_two(const char *op, hr_node a, hr_node b) { return hr_binary_node(op, a, b, NULL); }

HR_UNARY_GRADIENT(neg, hr_neg(g))
HR_UNARY_GRADIENT(abs, hr_mul(g, hr_sign(x)))
HR_UNARY_GRADIENT(sign, hr_zeros_like(x))
HR_UNARY_GRADIENT(square, hr_mul(g, hr_mul(hr_scalar_like(x, 2), x)))
HR_UNARY_GRADIENT(sqrt, of_two("SqrtGrad", y, g))
HR_UNARY_GRADIENT(rsqrt, of_two("RsqrtGrad", y, g))
HR_UNARY_GRADIENT(reciprocal, of_two("ReciprocalGrad", y, g))
HR_UNARY_GRADIENT(exp, hr_mul(g, y))
HR_UNARY_GRADIENT(expm1, hr_mul(g, hr_exp(x)))
HR_UNARY_GRADIENT(log, hr_mul(g, hr_reciprocal(x)))
HR_UNARY_GRADIENT(log1p, hr_mul(g, hr_reciprocal(hr_add(hr_scalar_like(x, 1), x))))
HR_UNARY_GRADIENT(sigmoid, of_two("SigmoidGrad", y, g))
HR_UNARY_GRADIENT(tanh, of_two("TanhGrad", y, g))
HR_UNARY_GRADIENT(erf, hr_mul(g, hr_mul(hr_scalar_like(g, 1.1283791670955126), hr_exp(hr_neg(hr_square(x))))))
HR_UNARY_GRADIENT(relu, of_two("ReluGrad", g, y))
HR_UNARY_GRADIENT(relu6, of_two("Relu6Grad", g, y))
HR_UNARY_GRADIENT(elu, of_two("EluGrad", g, y))
HR_UNARY_GRADIENT(selu, of_two("SeluGrad", g, y))
HR_UNARY_GRADIENT(softplus, of_two("SoftplusGrad", g, x))
HR_UNARY_GRADIENT(softsign, of_two("SoftsignGrad", g, x))

static hr_node leaky_grad(const hr_backward *b, hr_node g, hr_node x)
{
    return hr_new_node(b->graph, "LeakyReluGrad", HR_INPUTS(g, x),
                       HR_ATTRS(HR_FLOAT_ATTR("alpha", hr_attr_float(b->node, "alpha"))));
}
HR_UNARY_GRADIENT(leaky_relu, leaky_grad(b, g, x))

/* As hr_conj, which lies in a file that is made of ops of this one. */
static hr_node conjugate(hr_node x)
{
    const bool real = hr_node_dtype(x) != HR_COMPLEX64 && hr_node_dtype(x) != HR_COMPLEX128;
    return real ? x : hr_unary_node("Conj", x, NULL);
}

/* Second derivatives, where TensorFlow has them. */
static hr_node below_zero(hr_node x, hr_node value)
{
    return hr_where(hr_less(x, hr_scalar_like(x, 0)), value, hr_zeros_like(x));
}
HR_BINARY_GRADIENT(relu_grad, of_two("ReluGrad", g, y), hr_zeros_like(y))
HR_BINARY_GRADIENT(leaky_relu_grad, leaky_grad(b, g, y), hr_zeros_like(y))
static hr_node sigmoid_slope(hr_node gy, hr_node x) { return hr_sub(gy, hr_mul(hr_mul(hr_scalar_like(x, 2), gy), x)); }
HR_BINARY_GRADIENT(sigmoid_grad, sigmoid_slope(hr_mul(g, conjugate(y)), conjugate(x)),
                   of_two("SigmoidGrad", conjugate(x), g))
HR_BINARY_GRADIENT(sqrt_grad, hr_neg(hr_mul(conjugate(hr_div(g, x)), z)), hr_mul(hr_scalar_like(g, .5), hr_div(g, x)))
HR_BINARY_GRADIENT(rsqrt_grad,
                   hr_mul(hr_mul(hr_mul(hr_scalar_like(g, -1.5), conjugate(g)), y), hr_square(conjugate(x))),
                   of_two("RsqrtGrad", conjugate(x), g))
HR_BINARY_GRADIENT(reciprocal_grad, hr_mul(hr_mul(hr_mul(conjugate(g), hr_scalar_like(g, -2)), y), conjugate(x)),
                   of_two("ReciprocalGrad", conjugate(x), g))
HR_BINARY_GRADIENT(relu6_grad, of_two("Relu6Grad", g, y), hr_zeros_like(y))
HR_BINARY_GRADIENT(elu_grad, of_two("EluGrad", g, y), below_zero(y, hr_mul(g, x)))
HR_BINARY_GRADIENT(selu_grad, of_two("SeluGrad", g, y), below_zero(y, hr_mul(g, x)))
HR_BINARY_GRADIENT(softplus_grad, of_two("SoftplusGrad", g, y),
                   hr_div(hr_mul(g, x), hr_add(hr_add(hr_exp(hr_neg(y)), hr_scalar_like(y, 2)), hr_exp(y))))
HR_BINARY_GRADIENT(tanh_grad, hr_mul(hr_mul(hr_mul(hr_scalar_like(x, -2), g), conjugate(y)), conjugate(x)),
                   of_two("TanhGrad", conjugate(x), g))

/* ---- descriptors ---- */

#define UNARY(NAME, NANOSECONDS, GRADIENT, ...)                                                                        \
    HR_SAME_SHAPE_OP(NAME, 0, NANOSECONDS, .gradient = GRADIENT, .kernels = HR_KERNELS(__VA_ARGS__))
/* TensorFlow's ops of these gradients conjugate on their own. */
#define CONJUGATING(NAME, NANOSECONDS, GRADIENT, ...)                                                                  \
    HR_SAME_SHAPE_OP(NAME, HR_COMPLEX_GRADIENT, NANOSECONDS, .gradient = GRADIENT, .kernels = HR_KERNELS(__VA_ARGS__))
#define CONSTANT(NAME, NANOSECONDS, ...)                                                                               \
    HR_SAME_SHAPE_OP(NAME, HR_NO_GRADIENT, NANOSECONDS, .kernels = HR_KERNELS(__VA_ARGS__))

const hr_graph_op hr_graph_ops_unary_ops[] = {
    UNARY("Neg", .3, neg_gradient, neg, floats, halves, complexes, signed_ints),
    UNARY("Abs", .3, abs_gradient, abs, floats, halves, signed_ints),
    UNARY("Sign", .5, sign_gradient, sign, floats, halves, signed_ints),
    UNARY("Square", .3, square_gradient, square, floats, halves, complexes, ints),
    CONJUGATING("Sqrt", 1, sqrt_gradient, sqrt, floats, halves, complexes),
    CONJUGATING("Rsqrt", 1.5, rsqrt_gradient, rsqrt, floats, halves, complexes),
    CONJUGATING("Reciprocal", .6, reciprocal_gradient, reciprocal, floats, halves, complexes),
    CONJUGATING("Inv", .6, reciprocal_gradient, reciprocal, floats, halves, complexes),
    UNARY("Exp", 3, exp_gradient, exp, floats, halves, complexes),
    UNARY("Expm1", 8, expm1_gradient, expm1, floats, halves),
    UNARY("Log", 3, log_gradient, log, floats, halves, complexes),
    UNARY("Log1p", 8, log1p_gradient, log1p, floats, halves),
    CONJUGATING("Sigmoid", 4, sigmoid_gradient, sigmoid, floats, halves, complexes),
    CONJUGATING("Tanh", 8, tanh_gradient, tanh, floats, halves, complexes),
    UNARY("Erf", 8, erf_gradient, erf, floats, halves),
    UNARY("Relu", .3, relu_gradient, relu, floats, halves, ints),
    UNARY("Relu6", .3, relu6_gradient, relu6, floats, halves, ints),
    UNARY("Elu", 6, elu_gradient, elu, floats, halves),
    UNARY("Selu", 6, selu_gradient, selu, floats, halves),
    UNARY("Softplus", 8, softplus_gradient, softplus, floats, halves),
    UNARY("Softsign", 1, softsign_gradient, softsign, floats, halves),
    CONSTANT("Floor", .5, floor, floats, halves),
    CONSTANT("Ceil", .5, ceil, floats, halves),
    HR_SAME_SHAPE_OP("Round", HR_NO_GRADIENT, .5, .types = "T:{floats,indices,float16,bfloat16}",
                     .kernels = HR_KERNELS(round, floats, halves, ints)),
    CONSTANT("Rint", .5, round, floats),
    CONSTANT("IsNan", .3, is_nan, floats, halves),
    CONSTANT("IsInf", .3, is_inf, floats, halves),
    CONSTANT("IsFinite", .3, is_finite, floats, halves),
    CONSTANT("LogicalNot", .3, logical_not, bools),
    CONJUGATING("SigmoidGrad", .3, sigmoid_grad_gradient, sigmoid_grad, floats, halves, complexes),
    CONJUGATING("TanhGrad", .3, tanh_grad_gradient, tanh_grad, floats, halves, complexes),
    CONJUGATING("SqrtGrad", .6, sqrt_grad_gradient, sqrt_grad, floats, halves, complexes),
    CONJUGATING("RsqrtGrad", .3, rsqrt_grad_gradient, rsqrt_grad, floats, halves, complexes),
    CONJUGATING("ReciprocalGrad", .3, reciprocal_grad_gradient, reciprocal_grad, floats, halves, complexes),
    CONJUGATING("InvGrad", .3, reciprocal_grad_gradient, reciprocal_grad, floats, halves, complexes),
    UNARY("ReluGrad", .3, relu_grad_gradient, relu_grad, floats, halves, ints),
    UNARY("Relu6Grad", .3, relu6_grad_gradient, relu6_grad, floats, halves, ints),
    UNARY("EluGrad", .3, elu_grad_gradient, elu_grad, floats, halves),
    UNARY("SeluGrad", .3, selu_grad_gradient, selu_grad, floats, halves),
    UNARY("SoftplusGrad", 4, softplus_grad_gradient, softplus_grad, floats, halves),
    UNARY("SoftsignGrad", .6, NULL, softsign_grad, floats, halves),
    HR_SAME_SHAPE_OP("LeakyRelu", 0, .3, .kernels = HR_KERNELS(leaky_relu, floats, halves),
                     .state_size = sizeof(leaky_state), .prepare = leaky_prepare, .gradient = leaky_relu_gradient),
    HR_SAME_SHAPE_OP("LeakyReluGrad", 0, .3, .kernels = HR_KERNELS(leaky_relu_grad, floats, halves),
                     .state_size = sizeof(leaky_state), .prepare = leaky_prepare, .gradient = leaky_relu_grad_gradient),
    HR_GRAPH_OPS_END,
};

HR_UNARY_CONSTRUCTOR(hr_neg, "Neg")
HR_UNARY_CONSTRUCTOR(hr_sign, "Sign")
HR_UNARY_CONSTRUCTOR(hr_square, "Square")
HR_UNARY_CONSTRUCTOR(hr_sqrt, "Sqrt")
HR_UNARY_CONSTRUCTOR(hr_rsqrt, "Rsqrt")
HR_UNARY_CONSTRUCTOR(hr_reciprocal, "Reciprocal")
HR_UNARY_CONSTRUCTOR(hr_exp, "Exp")
HR_UNARY_CONSTRUCTOR(hr_expm1, "Expm1")
HR_UNARY_CONSTRUCTOR(hr_log, "Log")
HR_UNARY_CONSTRUCTOR(hr_log1p, "Log1p")
HR_UNARY_CONSTRUCTOR(hr_floor, "Floor")
HR_UNARY_CONSTRUCTOR(hr_ceil, "Ceil")
HR_UNARY_CONSTRUCTOR(hr_round, "Round")
HR_UNARY_CONSTRUCTOR(hr_rint, "Rint")
HR_UNARY_CONSTRUCTOR(hr_is_nan, "IsNan")
HR_UNARY_CONSTRUCTOR(hr_is_inf, "IsInf")
HR_UNARY_CONSTRUCTOR(hr_is_finite, "IsFinite")
HR_UNARY_CONSTRUCTOR(hr_sigmoid, "Sigmoid")
HR_UNARY_CONSTRUCTOR(hr_tanh, "Tanh")
HR_UNARY_CONSTRUCTOR(hr_relu, "Relu")
HR_UNARY_CONSTRUCTOR(hr_relu6, "Relu6")
HR_UNARY_CONSTRUCTOR(hr_elu, "Elu")
HR_UNARY_CONSTRUCTOR(hr_selu, "Selu")
HR_UNARY_CONSTRUCTOR(hr_softplus, "Softplus")
HR_UNARY_CONSTRUCTOR(hr_softsign, "Softsign")
HR_UNARY_CONSTRUCTOR(hr_erf, "Erf")
HR_UNARY_CONSTRUCTOR(hr_logical_not, "LogicalNot")

hr_node hr_log_sigmoid_with(hr_node x, const hr_name_opts *opts)
{
    return hr_unary_node("Neg", hr_softplus(hr_neg(x)), opts);
}

hr_node hr_leaky_relu_with(hr_node x, const hr_leaky_relu_opts *opts)
{
    const hr_leaky_relu_opts o = HR_OPTIONS(hr_leaky_relu_opts, opts);
    return hr_new_node(x.graph, "LeakyRelu", .name = o.name, HR_INPUTS(x),
                       HR_ATTRS(HR_FLOAT_ATTR("alpha", o.alpha ? *o.alpha : 0.2f)));
}
