/* Ops of two inputs, value by value, broadcast as numpy does: one loop a type, written once. Integers wrap; dividing
 * them by zero is an error. */
#include <headrace/kernels.h>
#include <math.h>
#include <string.h>

/* `n` values of a, moving on by sa = 0 or 1, and of b; false: division by zero. */
typedef bool loop_fn(const void *a, const void *b, int sa, int sb, void *out, int64_t n);

#define LOOP(NAME, T, R, S, EXPR)                                                                                      \
    static bool NAME##_##S(const void *va, const void *vb, int sa, int sb, void *out, int64_t n)                       \
    {                                                                                                                  \
        const T *a = va, *b = vb;                                                                                      \
        R *z = out;                                                                                                    \
        if (sa && sb) {                                                                                                \
            for (int64_t i = 0; i < n; i++) {                                                                          \
                const T x = a[i], y = b[i];                                                                            \
                z[i] = (R)(EXPR);                                                                                      \
            }                                                                                                          \
        } else if (sa) {                                                                                               \
            const T y = *b;                                                                                            \
            for (int64_t i = 0; i < n; i++) {                                                                          \
                const T x = a[i];                                                                                      \
                z[i] = (R)(EXPR);                                                                                      \
            }                                                                                                          \
        } else {                                                                                                       \
            const T x = *a;                                                                                            \
            for (int64_t i = 0; i < n; i++) {                                                                          \
                const T y = b[i * sb];                                                                                 \
                z[i] = (R)(EXPR);                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        return true;                                                                                                   \
    }

/* The same, where an integer y = 0 ends it. */
#define DIVIDING_LOOP(NAME, T, S, EXPR)                                                                                \
    static bool NAME##_##S(const void *va, const void *vb, int sa, int sb, void *out, int64_t n)                       \
    {                                                                                                                  \
        const T *a = va, *b = vb;                                                                                      \
        T *z = out;                                                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const T x = a[i * sa], y = b[i * sb];                                                                      \
            if (y == 0) return false;                                                                                  \
            z[i] = (T)(EXPR);                                                                                          \
        }                                                                                                              \
        return true;                                                                                                   \
    }

/* The quotient that overflows (the least integer by -1) wraps. */
static int64_t quotient(int64_t x, int64_t y) { return y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y; }
static int64_t rest(int64_t x, int64_t y) { return y == -1 ? 0 : x % y; }

static int64_t floor_quotient(int64_t x, int64_t y) { return quotient(x, y) - (rest(x, y) != 0 && (x < 0) != (y < 0)); }

static int64_t floor_rest(int64_t x, int64_t y)
{
    const int64_t r = rest(x, y);
    return r != 0 && (x < 0) != (y < 0) ? r + y : r;
}

#define FLOAT_LOOPS(T, U, D, S)                                                                                        \
    LOOP(add, T, T, S, x + y)                                                                                          \
    LOOP(sub, T, T, S, x - y)                                                                                          \
    LOOP(mul, T, T, S, x *y)                                                                                           \
    LOOP(div, T, T, S, x / y)                                                                                          \
    LOOP(div_no_nan, T, T, S, y == 0 ? 0 : x / y)                                                                      \
    LOOP(mul_no_nan, T, T, S, y == 0 ? 0 : x * y)                                                                      \
    LOOP(squared_difference, T, T, S, (x - y) * (x - y))                                                               \
    LOOP(maximum, T, T, S, x != x ? x : x > y ? x : y)                                                                 \
    LOOP(minimum, T, T, S, x != x ? x : x < y ? x : y)
HR_FLOAT_TYPES(FLOAT_LOOPS)

#define INT_LOOPS(T, U, D, S)                                                                                          \
    LOOP(add, T, T, S, (U)x + (U)y)                                                                                    \
    LOOP(sub, T, T, S, (U)x - (U)y)                                                                                    \
    LOOP(mul, T, T, S, (U)x *(U)y)                                                                                     \
    LOOP(squared_difference, T, T, S, ((U)x - (U)y) * ((U)x - (U)y))                                                   \
    LOOP(maximum, T, T, S, x > y ? x : y)                                                                              \
    LOOP(minimum, T, T, S, x < y ? x : y)
HR_INTEGER_TYPES(INT_LOOPS)

/* By squaring; wraps. A negative exponent is no integer power. */
static uint64_t power(uint64_t x, uint64_t y)
{
    uint64_t z = 1;
    for (; y; y >>= 1, x *= x)
        if (y & 1) z *= x;
    return z;
}

#define POWERS(T, U, D, S)                                                                                             \
    static bool pow_##S(const void *va, const void *vb, int sa, int sb, void *out, int64_t n)                          \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const int64_t x = ((const T *)va)[i * sa], y = ((const T *)vb)[i * sb];                                    \
            if (y < 0) return false;                                                                                   \
            ((T *)out)[i] = (T)power((uint64_t)x, (uint64_t)y);                                                        \
        }                                                                                                              \
        return true;                                                                                                   \
    }
POWERS(int32_t, uint32_t, HR_INT32, i32)
POWERS(int64_t, uint64_t, HR_INT64, i64)

#define SIGNED_DIVISIONS(T, U, D, S)                                                                                   \
    DIVIDING_LOOP(div, T, S, quotient(x, y))                                                                           \
    DIVIDING_LOOP(floor_div, T, S, floor_quotient(x, y))                                                               \
    DIVIDING_LOOP(floor_mod, T, S, floor_rest(x, y))
HR_SIGNED_TYPES(SIGNED_DIVISIONS)

#define UNSIGNED_DIVISIONS(T, U, D, S)                                                                                 \
    DIVIDING_LOOP(div, T, S, x / y)                                                                                    \
    DIVIDING_LOOP(floor_div, T, S, x / y)                                                                              \
    DIVIDING_LOOP(floor_mod, T, S, x % y)
HR_UNSIGNED_TYPES(UNSIGNED_DIVISIONS)

static float floor_rest_f32(float x, float y)
{
    const float r = fmodf(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

static double floor_rest_f64(double x, double y)
{
    const double r = fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}

LOOP(floor_div, float, float, f32, floorf(x / y))
LOOP(floor_div, double, double, f64, floor(x / y))
LOOP(floor_mod, float, float, f32, floor_rest_f32(x, y))
LOOP(floor_mod, double, double, f64, floor_rest_f64(x, y))
LOOP(pow, float, float, f32, powf(x, y))
LOOP(pow, double, double, f64, pow(x, y))

#define COMPARISONS(T, U, D, S)                                                                                        \
    LOOP(equal, T, bool, S, x == y)                                                                                    \
    LOOP(not_equal, T, bool, S, x != y)                                                                                \
    LOOP(less, T, bool, S, x < y)                                                                                      \
    LOOP(less_equal, T, bool, S, x <= y)                                                                               \
    LOOP(greater, T, bool, S, x > y)                                                                                   \
    LOOP(greater_equal, T, bool, S, x >= y)
HR_NUMBER_TYPES(COMPARISONS)

LOOP(equal, bool, bool, bit, x == y)
LOOP(not_equal, bool, bool, bit, x != y)
LOOP(logical_and, bool, bool, bit, x &&y)
LOOP(logical_or, bool, bool, bit, x || y)

static bool same_string(hr_view x, hr_view y)
{
    return x.size == y.size && (x.size == 0 || memcmp(x.data, y.data, (size_t)x.size) == 0);
}
LOOP(equal, hr_view, bool, text, same_string(x, y))
LOOP(not_equal, hr_view, bool, text, !same_string(x, y))

/* ---- which loop ---- */

typedef struct loop_of {
    const char *op;
    hr_dtype dtype;
    loop_fn *loop;
    double nanoseconds; /* a value */
    bool equality;
} loop_of;

#define ENTRIES(T, U, D, S)                                                                                            \
    {"AddV2", D, add_##S, .3, false}, {"Add", D, add_##S, .3, false}, {"Sub", D, sub_##S, .3, false},                  \
        {"Mul", D, mul_##S, .3, false}, {"Div", D, div_##S, .6, false}, {"FloorDiv", D, floor_div_##S, 2, false},      \
        {"FloorMod", D, floor_mod_##S, 4, false}, {"Maximum", D, maximum_##S, .3, false},                              \
        {"Minimum", D, minimum_##S, .3, false}, {"SquaredDifference", D, squared_difference_##S, .3, false},           \
        {"Equal", D, equal_##S, .3, true}, {"NotEqual", D, not_equal_##S, .3, true}, {"Less", D, less_##S, .3, false}, \
        {"LessEqual", D, less_equal_##S, .3, false}, {"Greater", D, greater_##S, .3, false},                           \
        {"GreaterEqual", D, greater_equal_##S, .3, false},
#define FLOAT_ENTRIES(T, U, D, S)                                                                                      \
    {"RealDiv", D, div_##S, .6, false}, {"DivNoNan", D, div_no_nan_##S, .6, false},                                    \
        {"MulNoNan", D, mul_no_nan_##S, .4, false}, {"Pow", D, pow_##S, 20, false},

static const loop_of loops[] = {
    HR_NUMBER_TYPES(ENTRIES) HR_FLOAT_TYPES(FLOAT_ENTRIES){"Add", HR_STRING, NULL, 0, false},
    {"Pow", HR_INT32, pow_i32, 5, false},
    {"Pow", HR_INT64, pow_i64, 5, false},
    {"Equal", HR_BOOL, equal_bit, .3, true},
    {"NotEqual", HR_BOOL, not_equal_bit, .3, true},
    {"LogicalAnd", HR_BOOL, logical_and_bit, .3, false},
    {"LogicalOr", HR_BOOL, logical_or_bit, .3, false},
    {"Equal", HR_STRING, equal_text, 5, true},
    {"NotEqual", HR_STRING, not_equal_text, 5, true},
};

typedef struct binary_state {
    const loop_of *found;
} binary_state;

static hr_status binary_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    (void)session;
    const hr_dtype dtype = hr_node_dtype(hr_node_input(node, 0));
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        if (loops[i].dtype != dtype || strcmp(loops[i].op, hr_node_op(node)) != 0) continue;
        ((binary_state *)state)->found = &loops[i];
        return HR_OK;
    }
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.kernel", "no kernel for T = %s", hr_dtype_name(dtype));
}

/* ---- compute ---- */

typedef struct walk {
    hr_broadcast plan;
    const char *a, *b;
    char *out;
    size_t in_size, out_size;
    loop_fn *loop;
    bool *zero_division;
} walk;

/* Values [first, last) of one long run. */
static void part_of_run(int64_t first, int64_t last, void *user)
{
    const walk *w = user;
    const int sa = w->plan.step_a, sb = w->plan.step_b;
    if (!w->loop(w->a + (size_t)(sa ? first : 0) * w->in_size, w->b + (size_t)(sb ? first : 0) * w->in_size, sa, sb,
                 w->out + (size_t)first * w->out_size, last - first))
        __atomic_store_n(w->zero_division, true, __ATOMIC_RELAXED);
}

static void some_runs(int64_t first, int64_t last, void *user)
{
    const walk *w = user;
    for (int64_t i = first; i < last; i++) {
        int64_t a, b;
        hr_broadcast_run(&w->plan, i, &a, &b);
        if (!w->loop(w->a + (size_t)a * w->in_size, w->b + (size_t)b * w->in_size, w->plan.step_a, w->plan.step_b,
                     w->out + (size_t)(i * w->plan.inner) * w->out_size, w->plan.inner))
            __atomic_store_n(w->zero_division, true, __ATOMIC_RELAXED);
    }
}

/* Over an input of the output's size, if that is free. */
static hr_status binary_output(hr_kernel *k, hr_shape shape, hr_tensor **out, hr_error *err)
{
    const int over = hr_kernel_may_write(k, 0) ? 0 : 1;
    if (hr_node_dtype(k->node) != k->input[0]->dtype || k->input[over]->count != hr_shape_count(shape))
        return hr_kernel_output(k, 0, shape, out, err);
    return hr_kernel_output_over(k, 0, over, shape, out, err);
}

/* Equal and NotEqual may be asked to take shapes that do not go together as different. */
static bool tolerates(const hr_kernel *k)
{
    const hr_attr *strict = hr_node_attr(k->node, "incompatible_shape_error");
    hr_shape both;
    return strict && !strict->b && !hr_shape_broadcast(k->input[0]->shape, k->input[1]->shape, &both);
}

static hr_status different(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, HR_SCALAR, &out, err));
    *(bool *)out->data = strcmp(hr_node_op(k->node), "NotEqual") == 0;
    return HR_OK;
}

static hr_status equality_shape(hr_infer *s, hr_error *err)
{
    if (hr_attr_bool(s->node, "incompatible_shape_error")) return hr_infer_broadcast(s, err);
    hr_shape both;
    const bool known = hr_shape_count(s->input[0]) >= 0 && hr_shape_count(s->input[1]) >= 0;
    if (known) s->output[0] = hr_shape_broadcast(s->input[0], s->input[1], &both) ? both : HR_SCALAR;
    return HR_OK;
}

/* Strings are put one after the other. */
static hr_status add_strings(hr_kernel *k, hr_error *err)
{
    hr_broadcast plan;
    hr_tensor owned;
    const hr_view *a = k->input[0]->data, *b = k->input[1]->data;
    size_t bytes = 0, used = 0;
    HR_TRY(hr_broadcast_plan(k->input[0]->shape, k->input[1]->shape, &plan, err));
    const int64_t count = hr_shape_count(plan.shape);
    for (int pass = 0; pass < 2; pass++) {
        hr_view *views = pass ? hr_kernel_temp(k, (size_t)count * sizeof *views) : NULL;
        char *text = pass ? hr_kernel_temp(k, bytes) : NULL;
        if (pass && (!views || !text)) return hr_no_memory(err, "strings");
        for (int64_t i = 0; i < count; i++) {
            int64_t at, bt;
            hr_broadcast_run(&plan, i / plan.inner, &at, &bt);
            const hr_view x = a[at + i % plan.inner * plan.step_a], y = b[bt + i % plan.inner * plan.step_b];
            bytes += pass ? 0 : (size_t)(x.size + y.size);
            if (!pass) continue;
            views[i] = (hr_view){text + used, x.size + y.size};
            if (x.size) memcpy(text + used, x.data, (size_t)x.size);
            if (y.size) memcpy(text + used + x.size, y.data, (size_t)y.size);
            used += (size_t)(x.size + y.size);
        }
        if (pass) HR_TRY(hr_tensor_strings(&owned, plan.shape, views, err));
    }
    hr_kernel_give(k, 0, owned);
    return HR_OK;
}

static hr_status binary_compute(hr_kernel *k, hr_error *err)
{
    const loop_of *found = ((const binary_state *)k->state)->found;
    const hr_tensor *a = k->input[0], *b = k->input[1];
    bool zero_division = false;
    if (found->equality && tolerates(k)) return different(k, err);
    if (!found->loop) return add_strings(k, err);
    walk w = {.a = a->data, .b = b->data, .loop = found->loop, .zero_division = &zero_division};
    HR_TRY(hr_broadcast_plan(a->shape, b->shape, &w.plan, err));
    w.in_size = hr_dtype_size(a->dtype);
    hr_tensor *out;
    HR_TRY(binary_output(k, w.plan.shape, &out, err));
    w.out = out->data;
    w.out_size = hr_dtype_size(out->dtype);
    if (out->count == 0) return HR_OK;
    if (w.plan.outer == 1)
        hr_kernel_parallel(k, w.plan.inner, found->nanoseconds, part_of_run, &w);
    else
        hr_kernel_parallel(k, w.plan.outer, found->nanoseconds * (double)w.plan.inner + 10, some_runs, &w);
    if (!zero_division) return HR_OK;
    if (strcmp(found->op, "Pow") == 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.division",
                       "Integers to negative integer powers are not allowed");
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.division", "Integer division by zero");
}

/* ---- gradients ---- */

static void binary_give(hr_backward *b, int i, hr_node gradient)
{
    b->out[i] = hr_dense_gradient(hr_gradient_unbroadcast(gradient, b->input[i], b->input[1 - i]));
}

static void add_gradient(hr_backward *b)
{
    binary_give(b, 0, b->grad[0]);
    binary_give(b, 1, b->grad[0]);
}

static void sub_gradient(hr_backward *b)
{
    binary_give(b, 0, b->grad[0]);
    binary_give(b, 1, hr_neg(b->grad[0]));
}

static void mul_gradient(hr_backward *b)
{
    binary_give(b, 0, hr_mul(b->grad[0], b->input[1]));
    binary_give(b, 1, hr_mul(b->input[0], b->grad[0]));
}

static void div_gradient(hr_backward *b)
{
    const hr_node g = b->grad[0], x = b->input[0], y = b->input[1];
    binary_give(b, 0, hr_div(g, y));
    binary_give(b, 1, hr_mul(g, hr_div(hr_div(hr_neg(x), y), y)));
}

static void div_no_nan_gradient(hr_backward *b)
{
    const hr_node g = b->grad[0], x = b->input[0], y = b->input[1];
    binary_give(b, 0, hr_div_no_nan(g, y));
    binary_give(b, 1, hr_mul(g, hr_div_no_nan(hr_div_no_nan(hr_neg(x), y), y)));
}

static void mul_no_nan_gradient(hr_backward *b)
{
    binary_give(b, 0, hr_mul_no_nan(b->grad[0], b->input[1]));
    binary_give(b, 1, hr_mul_no_nan(b->input[0], b->grad[0]));
}

static void floor_mod_gradient(hr_backward *b)
{
    binary_give(b, 0, b->grad[0]);
    binary_give(b, 1, hr_mul(b->grad[0], hr_neg(hr_floor_div(b->input[0], b->input[1]))));
}

static void squared_difference_gradient(hr_backward *b)
{
    const hr_node two = hr_scalar_like(b->grad[0], 2);
    const hr_node slope = hr_mul(hr_mul(two, b->grad[0]), hr_sub(b->input[0], b->input[1]));
    binary_give(b, 0, slope);
    binary_give(b, 1, hr_neg(slope));
}

/* Ties go to x alone. */
static void binary_extreme_gradient(hr_backward *b, hr_node to_x)
{
    const hr_node zeros = hr_zeros_like(b->grad[0]);
    binary_give(b, 0, hr_where(to_x, b->grad[0], zeros));
    binary_give(b, 1, hr_where(to_x, zeros, b->grad[0]));
}

static void maximum_gradient(hr_backward *b) { binary_extreme_gradient(b, hr_greater_equal(b->input[0], b->input[1])); }
static void minimum_gradient(hr_backward *b) { binary_extreme_gradient(b, hr_less_equal(b->input[0], b->input[1])); }

/* Where g is 0, so are the products, whatever the power rule makes of x <= 0. */
static void pow_gradient(hr_backward *b)
{
    const hr_node g = b->grad[0], x = b->input[0], y = b->input[1], z = b->output[0];
    const hr_node positive = hr_greater(x, hr_scalar_like(x, 0));
    const hr_node log_x = hr_where(positive, hr_log(hr_where(positive, x, hr_ones_like(x))), hr_zeros_like(x));
    const hr_node by_x = hr_mul(y, hr_pow(x, hr_sub(y, hr_scalar_like(y, 1))));
    binary_give(b, 0, hr_mul_no_nan(by_x, g));
    binary_give(b, 1, hr_mul_no_nan(hr_mul(z, log_x), g));
}

/* ---- descriptors ---- */

#define BINARY(NAME, TYPES, TRAITS, GRADIENT)                                                                          \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .types = "T:" TYPES, .traits = HR_ELEMENT_WISE | (TRAITS),             \
        .state_size = sizeof(binary_state), .shape = hr_infer_broadcast, .prepare = binary_prepare,                    \
        .compute = binary_compute, .gradient = GRADIENT,                                                               \
    }
#define COMPARISON(NAME, TYPES, TRAITS, SHAPE)                                                                         \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .types = "T:" TYPES,                                                   \
        .traits = HR_ELEMENT_WISE | HR_NO_GRADIENT | (TRAITS), .state_size = sizeof(binary_state), .shape = SHAPE,     \
        .prepare = binary_prepare, .compute = binary_compute,                                                          \
    }
#define LOGICAL(NAME)                                                                                                  \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .traits = HR_ELEMENT_WISE | HR_NO_GRADIENT | HR_COMMUTATIVE,           \
        .state_size = sizeof(binary_state), .shape = hr_infer_broadcast, .prepare = binary_prepare,                    \
        .compute = binary_compute,                                                                                     \
    }

const hr_graph_op hr_graph_ops_binary_ops[] = {
    BINARY("AddV2", "numbers", HR_COMMUTATIVE, add_gradient),
    BINARY("Add", "{numbers,string}", 0, add_gradient),
    BINARY("Sub", "numbers", 0, sub_gradient),
    BINARY("Mul", "numbers", HR_COMMUTATIVE, mul_gradient),
    BINARY("RealDiv", "floats", 0, div_gradient),
    BINARY("Div", "numbers", 0, div_gradient),
    BINARY("FloorDiv", "numbers", HR_NO_GRADIENT, NULL),
    BINARY("FloorMod", "numbers", 0, floor_mod_gradient),
    BINARY("DivNoNan", "floats", 0, div_no_nan_gradient),
    BINARY("MulNoNan", "floats", 0, mul_no_nan_gradient),
    BINARY("Pow", "{floats,int32,int64}", 0, pow_gradient),
    BINARY("SquaredDifference", "numbers", HR_COMMUTATIVE, squared_difference_gradient),
    BINARY("Maximum", "numbers", HR_COMMUTATIVE, maximum_gradient),
    BINARY("Minimum", "numbers", HR_COMMUTATIVE, minimum_gradient),
    COMPARISON("Equal", "{numbers,bool,string}", HR_COMMUTATIVE, equality_shape),
    COMPARISON("NotEqual", "{numbers,bool,string}", HR_COMMUTATIVE, equality_shape),
    COMPARISON("Less", "numbers", 0, hr_infer_broadcast),
    COMPARISON("LessEqual", "numbers", 0, hr_infer_broadcast),
    COMPARISON("Greater", "numbers", 0, hr_infer_broadcast),
    COMPARISON("GreaterEqual", "numbers", 0, hr_infer_broadcast),
    LOGICAL("LogicalAnd"),
    LOGICAL("LogicalOr"),
    HR_GRAPH_OPS_END,
};

#define CONSTRUCTOR(fn, op)                                                                                            \
    hr_node fn##_with(hr_node x, hr_node y, const hr_name_opts *opts) { return hr_binary_node(op, x, y, opts); }
CONSTRUCTOR(hr_add, "AddV2")
CONSTRUCTOR(hr_sub, "Sub")
CONSTRUCTOR(hr_mul, "Mul")
CONSTRUCTOR(hr_div, "RealDiv")
CONSTRUCTOR(hr_floor_div, "FloorDiv")
CONSTRUCTOR(hr_floor_mod, "FloorMod")
CONSTRUCTOR(hr_div_no_nan, "DivNoNan")
CONSTRUCTOR(hr_mul_no_nan, "MulNoNan")
CONSTRUCTOR(hr_pow, "Pow")
CONSTRUCTOR(hr_squared_difference, "SquaredDifference")
CONSTRUCTOR(hr_maximum, "Maximum")
CONSTRUCTOR(hr_minimum, "Minimum")
CONSTRUCTOR(hr_equal, "Equal")
CONSTRUCTOR(hr_not_equal, "NotEqual")
CONSTRUCTOR(hr_less, "Less")
CONSTRUCTOR(hr_less_equal, "LessEqual")
CONSTRUCTOR(hr_greater, "Greater")
CONSTRUCTOR(hr_greater_equal, "GreaterEqual")
CONSTRUCTOR(hr_logical_and, "LogicalAnd")
CONSTRUCTOR(hr_logical_or, "LogicalOr")
