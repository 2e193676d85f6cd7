/* Ops of two inputs, value by value, broadcast as numpy does. Each is a loop by types, a gradient and a line of the
 * list. Integers wrap; dividing them by zero is an error. */
#include <complex.h>
#include <headrace/kernels.h>
#include <math.h>
#include <string.h>
#include <tgmath.h>

/* ---- loops ---- */

/* The quotient that overflows (the least integer by -1) wraps. */
static int64_t quotient(int64_t x, int64_t y) { return y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y; }
static int64_t rest(int64_t x, int64_t y) { return y == -1 ? 0 : x % y; }

static int64_t floor_quotient(int64_t x, int64_t y) { return quotient(x, y) - (rest(x, y) != 0 && (x < 0) != (y < 0)); }

static int64_t floor_rest(int64_t x, int64_t y)
{
    const int64_t r = rest(x, y);
    return r != 0 && (x < 0) != (y < 0) ? r + y : r;
}

static double floor_rest_of_floats(double x, double y)
{
    const double r = fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

/* By squaring; wraps. */
static uint64_t power(uint64_t x, uint64_t y)
{
    uint64_t z = 1;
    for (; y; y >>= 1, x *= x)
        if (y & 1) z *= x;
    return z;
}

static bool same_string(hr_view x, hr_view y)
{
    return x.size == y.size && (x.size == 0 || memcmp(x.data, y.data, (size_t)x.size) == 0);
}

/* log(1 + y), by which near 0 no digits are lost. */
static double _Complex log1p_complex(double _Complex y)
{
    const double _Complex sum = 1 + y;
    return sum == 1 ? y : isfinite(creal(y)) && isfinite(cimag(y)) ? log(sum) * (y / (sum - 1)) : log(sum);
}

HR_BINARY(add, x + y, floats, halves, complexes)
HR_BINARY(add, (U)x + (U)y, ints)
HR_BINARY(sub, x - y, floats, halves, complexes)
HR_BINARY(sub, (U)x - (U)y, ints)
HR_BINARY(mul, x *y, floats, halves, complexes)
HR_BINARY(mul, (U)x *(U)y, ints)
HR_BINARY(div, x / y, floats, halves, complexes, unsigned_ints)
HR_BINARY(div, quotient(x, y), signed_ints)
HR_BINARY(div_no_nan, y == 0 ? 0 : x / y, floats, halves, complexes)
HR_BINARY(mul_no_nan, y == 0 ? 0 : x * y, floats, halves, complexes)
HR_BINARY(squared_difference, (x - y) * (x - y), floats, halves)
HR_BINARY(squared_difference, (x - y) * conj(x - y), complexes)
HR_BINARY(squared_difference, ((U)x - (U)y) * ((U)x - (U)y), ints)
HR_BINARY(maximum, x != x ? x : x > y ? x : y, floats, halves)
HR_BINARY(maximum, x > y ? x : y, ints)
HR_BINARY(minimum, x != x ? x : x < y ? x : y, floats, halves)
HR_BINARY(minimum, x < y ? x : y, ints)
HR_BINARY(floor_div, floor(x / y), floats, halves)
HR_BINARY(floor_div, x / y, unsigned_ints)
HR_BINARY(floor_div, floor_quotient(x, y), signed_ints)
HR_BINARY(floor_mod, floor_rest_of_floats(x, y), floats, halves)
HR_BINARY(floor_mod, x % y, unsigned_ints)
HR_BINARY(floor_mod, floor_rest(x, y), signed_ints)
HR_BINARY(truncate_mod, fmod(x, y), floats)
HR_BINARY(truncate_mod, rest(x, y), signed_ints)
HR_BINARY(truncate_div, trunc(x / y), floats, halves)
HR_BINARY(truncate_div, x / y, unsigned_ints)
HR_BINARY(truncate_div, quotient(x, y), signed_ints)
HR_BINARY(next_after, nextafter(x, y), floats)
HR_BINARY(pow, pow(x, y), floats, halves, complexes)
HR_BINARY(pow, power((uint64_t)x, (uint64_t)y), signed_ints)
HR_BINARY(xlogy, x == 0 ? 0 : x * log(y), floats, halves, complexes)
HR_BINARY(xlog1py, x == 0 ? 0 : x * log1p(y), floats, halves)
HR_BINARY(xlog1py, x == 0 ? 0 : x * (T)log1p_complex(y), complexes)
HR_BINARY(xdivy, x == 0 ? 0 : x / y, floats, halves, complexes)
HR_COMPARISON(equal, x == y, floats, halves, complexes, ints, bools)
HR_COMPARISON(equal, same_string(x, y), strings)
HR_COMPARISON(not_equal, x != y, floats, halves, complexes, ints, bools)
HR_COMPARISON(not_equal, !same_string(x, y), strings)
HR_COMPARISON(less, x < y, floats, halves, ints)
HR_COMPARISON(less_equal, x <= y, floats, halves, ints)
HR_COMPARISON(greater, x > y, floats, halves, ints)
HR_COMPARISON(greater_equal, x >= y, floats, halves, ints)
HR_COMPARISON(approximate_equal, fabs(x - y) < (T) * (const float *)user, floats)
HR_COMPARISON(logical_and, x &&y, bools)
HR_COMPARISON(logical_or, x || y, bools)

/* ---- integers that cannot be divided by, or be a power: asked before a loop runs ---- */

typedef bool any_fn(const void *values, int64_t n);
#define ANY(T, V, U, DTYPE, SUFFIX, NAME, EXPR)                                                                        \
    static bool NAME##_##SUFFIX(const void *values, int64_t n)                                                         \
    {                                                                                                                  \
        bool found = false;                                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const T y = ((const T *)values)[i];                                                                        \
            found |= EXPR;                                                                                             \
        }                                                                                                              \
        return found;                                                                                                  \
    }
HR_EACH_TYPE(ANY, any_zero, y == 0, ints)
HR_EACH_TYPE(ANY, any_negative, y < 0, signed_ints)
static const hr_type_kernel *const zeros = HR_KERNELS(any_zero, ints);
static const hr_type_kernel *const negatives = HR_KERNELS(any_negative, signed_ints);

/* Whether the values of input 1 are used, and any of them is what `table` looks for. */
static bool any_in_second(const hr_kernel *k, const hr_type_kernel *table)
{
    const hr_tensor *y = k->input[1];
    const hr_type_kernel *found = hr_kernel_of_type(table, y->dtype);
    return found && k->input[0]->count > 0 && ((any_fn *)found->run)(y->data, y->count);
}

static hr_status divide_compute(hr_kernel *k, hr_error *err)
{
    hr_shape shape;
    HR_TRY(hr_broadcast_inputs(k, &shape, err));
    if (!any_in_second(k, zeros)) return hr_compute_broadcast(k, err);
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.division", "Integer division by zero");
}

static hr_status truncate_compute(hr_kernel *k, hr_error *err)
{
    const hr_status st = divide_compute(k, err);
    if (st != HR_INVALID_ARGUMENT || !err || strcmp(err->kind, "graph.division") != 0) return st;
    return err->code = HR_INTERNAL; /* as TensorFlow */
}

static hr_status pow_compute(hr_kernel *k, hr_error *err)
{
    hr_shape shape;
    HR_TRY(hr_broadcast_inputs(k, &shape, err));
    if (!any_in_second(k, negatives)) return hr_compute_broadcast(k, err);
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.division", "Integers to negative integer powers are not allowed");
}

/* ---- Equal and NotEqual may be asked to take shapes that do not go together as different ---- */

static hr_status equality_shape(hr_infer *s, hr_error *err)
{
    hr_shape both;
    if (hr_shape_broadcast(s->input[0], s->input[1], &both)) {
        const bool open = !hr_attr_bool(s->node, "incompatible_shape_error") &&
                          (hr_shape_count(s->input[0]) < 0 || hr_shape_count(s->input[1]) < 0);
        s->output[0] = open ? HR_UNKNOWN_SHAPE : both;
        return HR_OK;
    }
    s->output[0] = HR_SCALAR;
    return hr_attr_bool(s->node, "incompatible_shape_error")
               ? hr_infer_refuse(s, err, "shapes that broadcast against each other")
               : HR_OK;
}

static hr_status equality_compute(hr_kernel *k, bool different, hr_error *err)
{
    hr_shape both;
    hr_tensor *out;
    if (hr_attr_bool(k->node, "incompatible_shape_error") ||
        hr_shape_broadcast(k->input[0]->shape, k->input[1]->shape, &both))
        return hr_compute_broadcast(k, err);
    HR_TRY(hr_kernel_output(k, 0, HR_SCALAR, &out, err));
    *(bool *)out->data = different;
    return HR_OK;
}

static hr_status equal_compute(hr_kernel *k, hr_error *err) { return equality_compute(k, false, err); }
static hr_status not_equal_compute(hr_kernel *k, hr_error *err) { return equality_compute(k, true, err); }

/* ---- Add of strings: they are put one after the other ---- */

static void add_text(char *const *at, const int64_t *step, int64_t n, const void *user)
{
    hr_strings *out = *(hr_strings *const *)user;
    for (int64_t i = 0; i < n; i++) {
        hr_strings_add(out, *(const hr_view *)(const void *)(at[1] + i * step[1]));
        hr_strings_add(out, *(const hr_view *)(const void *)(at[2] + i * step[2]));
        hr_strings_end(out);
    }
}

static hr_status add_compute(hr_kernel *k, hr_error *err)
{
    hr_walk w;
    hr_shape shape;
    hr_strings strings = {0}, *out = &strings;
    if (k->input[0]->dtype != HR_STRING) return hr_compute_broadcast(k, err);
    HR_TRY(hr_broadcast_inputs(k, &shape, err));
    const hr_tensor place = {.dtype = HR_STRING, .shape = shape};
    hr_walk_begin(&w, shape);
    hr_walk_add(&w, &place);
    hr_walk_add(&w, k->input[0]);
    hr_walk_add(&w, k->input[1]);
    hr_walk_run(NULL, &w, 0, add_text, &out);
    return hr_strings_give(out, k, 0, shape, err);
}

/* ---- ApproximateEqual: by less than the tolerance, which is the state ---- */

static hr_status tolerance_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    (void)session, (void)err;
    *(float *)state = hr_attr_float(node, "tolerance");
    return HR_OK;
}

/* ---- gradients: those with HR_COMPLEX_GRADIENT are of complex numbers what TensorFlow makes of them ---- */

HR_BINARY_GRADIENT(add, g, g)
HR_BINARY_GRADIENT(sub, g, hr_neg(g))
HR_BINARY_GRADIENT(mul, hr_mul(g, y), hr_mul(x, g))
HR_BINARY_GRADIENT(div, hr_div(g, y), hr_mul(g, hr_div(hr_div(hr_neg(x), y), y)))
HR_BINARY_GRADIENT(div_no_nan, hr_div_no_nan(g, y), hr_mul(g, hr_div_no_nan(hr_div_no_nan(hr_neg(x), y), y)))
HR_BINARY_GRADIENT(mul_no_nan, hr_mul_no_nan(g, y), hr_mul_no_nan(x, g))
HR_BINARY_GRADIENT(floor_mod, g, hr_mul(g, hr_neg(hr_floor_div(x, y))))

/* 2 g (x - y) for x, its negative for y. */
static hr_node squared_slope(hr_node g, hr_node x, hr_node y)
{
    return hr_mul(hr_mul(hr_scalar_like(g, 2), g), hr_sub(x, y));
}
HR_BINARY_GRADIENT(squared_difference, squared_slope(g, x, y), hr_neg(squared_slope(g, x, y)))

/* Ties go to x alone. */
HR_BINARY_GRADIENT(maximum, hr_where(hr_greater_equal(x, y), g, hr_zeros_like(g)),
                   hr_where(hr_greater_equal(x, y), hr_zeros_like(g), g))
HR_BINARY_GRADIENT(minimum, hr_where(hr_less_equal(x, y), g, hr_zeros_like(g)),
                   hr_where(hr_less_equal(x, y), hr_zeros_like(g), g))

/* Where g is 0, so are the products, whatever the power rule makes of x <= 0. A complex number has a logarithm anyway. */
static hr_node log_of_positive(hr_node x)
{
    const bool of_all = hr_node_dtype(x) == HR_COMPLEX64 || hr_node_dtype(x) == HR_COMPLEX128;
    const hr_node zero = hr_scalar_like(x, 0), positive = of_all ? hr_not_equal(x, zero) : hr_greater(x, zero);
    return hr_where(positive, hr_log(hr_where(positive, x, hr_ones_like(x))), hr_zeros_like(x));
}
HR_BINARY_GRADIENT(pow, hr_mul_no_nan(hr_mul(y, hr_pow(x, hr_sub(y, hr_scalar_like(y, 1)))), g),
                   hr_mul_no_nan(hr_mul(z, log_of_positive(x)), g))

static hr_node of_two(const char *op, hr_node x, hr_node y) { return hr_binary_node(op, x, y, NULL); }
static hr_node where_not_zero(hr_node x) { return hr_cast_to(hr_not_equal(x, hr_scalar_like(x, 0)), hr_node_dtype(x)); }
HR_BINARY_GRADIENT(xlogy, hr_mul(g, of_two("Xlogy", where_not_zero(x), y)), hr_mul(g, of_two("Xdivy", x, y)))
HR_BINARY_GRADIENT(xdivy, hr_mul(g, of_two("Xdivy", where_not_zero(x), y)),
                   hr_mul(g, of_two("Xdivy", hr_neg(x), hr_square(y))))

HR_BINARY_GRADIENT(xlog1py, hr_mul(g, of_two("Xlog1py", where_not_zero(x), y)),
                   hr_mul(g, of_two("Xdivy", x, hr_add(y, hr_scalar_like(y, 1)))))
HR_BINARY_GRADIENT(next_after, g, hr_zeros_like(g))

/* ---- descriptors ---- */

#define BINARY(NAME, TRAITS, NANOSECONDS, GRADIENT, ...)                                                               \
    HR_BROADCAST_OP(NAME, TRAITS, NANOSECONDS, .gradient = GRADIENT, .kernels = HR_KERNELS(__VA_ARGS__))
#define COMPARISON(NAME, TRAITS, ...)                                                                                  \
    HR_BROADCAST_OP(NAME, HR_NO_GRADIENT | (TRAITS), .3, .kernels = HR_KERNELS(__VA_ARGS__))
/* With a compute function of its own. */
#define OTHER(NAME, TRAITS, NANOSECONDS, SHAPES, COMPUTE, GRADIENT, ...)                                               \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .traits = HR_ELEMENT_WISE | (TRAITS), SHAPES, .compute = COMPUTE,      \
        .nanoseconds = NANOSECONDS, .gradient = GRADIENT, .kernels = HR_KERNELS(__VA_ARGS__),                          \
    }
#define BROADCAST .shapes = "bcast"
#define EQUALITY .shape = equality_shape

const hr_graph_op hr_graph_ops_binary_ops[] = {
    BINARY("AddV2", HR_COMMUTATIVE, .3, add_gradient, add, floats, halves, complexes, ints),
    OTHER("Add", 0, .3, BROADCAST, add_compute, add_gradient, add, floats, halves, complexes, ints, strings),
    BINARY("Sub", 0, .3, sub_gradient, sub, floats, halves, complexes, ints),
    BINARY("Mul", HR_COMMUTATIVE, .3, mul_gradient, mul, floats, halves, complexes, ints),
    BINARY("RealDiv", 0, .6, div_gradient, div, floats, halves, complexes),
    BINARY("DivNoNan", 0, .6, div_no_nan_gradient, div_no_nan, floats, halves, complexes),
    BINARY("MulNoNan", HR_COMPLEX_GRADIENT, .4, mul_no_nan_gradient, mul_no_nan, floats, halves, complexes),
    BINARY("SquaredDifference", HR_COMMUTATIVE | HR_COMPLEX_GRADIENT, .3, squared_difference_gradient,
           squared_difference, floats, halves, complexes, ints),
    BINARY("Maximum", 0, .3, maximum_gradient, maximum, floats, halves, ints),
    BINARY("Minimum", 0, .3, minimum_gradient, minimum, floats, halves, ints),
    BINARY("Xlogy", HR_COMPLEX_GRADIENT, 4, xlogy_gradient, xlogy, floats, halves, complexes),
    BINARY("Xlog1py", HR_COMPLEX_GRADIENT, 8, xlog1py_gradient, xlog1py, floats, halves, complexes),
    BINARY("NextAfter", 0, 2, next_after_gradient, next_after, floats),
    BINARY("Xdivy", HR_COMPLEX_GRADIENT, .6, xdivy_gradient, xdivy, floats, halves, complexes),
    OTHER("Div", 0, 1, BROADCAST, divide_compute, div_gradient, div, floats, halves, complexes, ints),
    OTHER("FloorDiv", HR_NO_GRADIENT, 2, BROADCAST, divide_compute, NULL, floor_div, floats, halves, ints),
    OTHER("FloorMod", 0, 4, BROADCAST, divide_compute, floor_mod_gradient, floor_mod, floats, halves, ints),
    OTHER("TruncateDiv", HR_NO_GRADIENT, 2, BROADCAST, truncate_compute, NULL, truncate_div, floats, halves, ints),
    OTHER("Mod", 0, 4, BROADCAST, divide_compute, NULL, truncate_mod, floats, signed_ints),
    OTHER("TruncateMod", 0, 4, BROADCAST, truncate_compute, NULL, truncate_mod, floats, signed_ints),
    OTHER("Pow", 0, 20, BROADCAST, pow_compute, pow_gradient, pow, floats, halves, complexes, signed_ints),
    OTHER("Equal", HR_NO_GRADIENT | HR_COMMUTATIVE, .3, EQUALITY, equal_compute, NULL, equal, floats, halves, complexes,
          ints, bools, strings),
    OTHER("NotEqual", HR_NO_GRADIENT | HR_COMMUTATIVE, .3, EQUALITY, not_equal_compute, NULL, not_equal, floats, halves,
          complexes, ints, bools, strings),
    COMPARISON("Less", 0, less, floats, halves, ints),
    COMPARISON("LessEqual", 0, less_equal, floats, halves, ints),
    COMPARISON("Greater", 0, greater, floats, halves, ints),
    COMPARISON("GreaterEqual", 0, greater_equal, floats, halves, ints),
    COMPARISON("LogicalAnd", HR_COMMUTATIVE, logical_and, bools),
    COMPARISON("LogicalOr", HR_COMMUTATIVE, logical_or, bools),
    HR_SAME_SHAPE_OP("ApproximateEqual", HR_NO_GRADIENT | HR_COMMUTATIVE, .3, .state_size = sizeof(float),
                     .prepare = tolerance_prepare, .kernels = HR_KERNELS(approximate_equal, floats)),
    HR_GRAPH_OPS_END,
};

HR_BINARY_CONSTRUCTOR(hr_add, "AddV2")
HR_BINARY_CONSTRUCTOR(hr_sub, "Sub")
HR_BINARY_CONSTRUCTOR(hr_mul, "Mul")
HR_BINARY_CONSTRUCTOR(hr_div, "RealDiv")
HR_BINARY_CONSTRUCTOR(hr_floor_div, "FloorDiv")
HR_BINARY_CONSTRUCTOR(hr_floor_mod, "FloorMod")
HR_BINARY_CONSTRUCTOR(hr_truncate_mod, "TruncateMod")
HR_BINARY_CONSTRUCTOR(hr_div_no_nan, "DivNoNan")
HR_BINARY_CONSTRUCTOR(hr_mul_no_nan, "MulNoNan")
HR_BINARY_CONSTRUCTOR(hr_xdivy, "Xdivy")
HR_BINARY_CONSTRUCTOR(hr_xlogy, "Xlogy")
HR_BINARY_CONSTRUCTOR(hr_xlog1py, "Xlog1py")
HR_BINARY_CONSTRUCTOR(hr_next_after, "NextAfter")
HR_BINARY_CONSTRUCTOR(hr_truncate_div, "TruncateDiv")
HR_BINARY_CONSTRUCTOR(hr_pow, "Pow")
HR_BINARY_CONSTRUCTOR(hr_squared_difference, "SquaredDifference")
HR_BINARY_CONSTRUCTOR(hr_maximum, "Maximum")
HR_BINARY_CONSTRUCTOR(hr_minimum, "Minimum")
HR_BINARY_CONSTRUCTOR(hr_equal, "Equal")
HR_BINARY_CONSTRUCTOR(hr_not_equal, "NotEqual")
HR_BINARY_CONSTRUCTOR(hr_less, "Less")
HR_BINARY_CONSTRUCTOR(hr_less_equal, "LessEqual")
HR_BINARY_CONSTRUCTOR(hr_greater, "Greater")
HR_BINARY_CONSTRUCTOR(hr_greater_equal, "GreaterEqual")
HR_BINARY_CONSTRUCTOR(hr_logical_and, "LogicalAnd")
HR_BINARY_CONSTRUCTOR(hr_logical_or, "LogicalOr")

hr_node hr_logical_xor_with(hr_node x, hr_node y, const hr_name_opts *opts)
{
    return hr_binary_node("LogicalAnd", hr_logical_or(x, y), hr_logical_not(hr_logical_and(x, y)), opts);
}
