/* Sum, Mean, Prod, Max, Min, EuclideanNorm, All, Any over axes: a walk over the input, along which the accumulators
 * stand still in the reduced dimensions. The order of the additions follows from the shape alone. */
#include <headrace/kernels.h>
#include <math.h>
#include <string.h>

/* Of each type and op: accumulators are wider than the values where a type is too narrow for its sum. */
typedef struct reducer {
    size_t size; /* of an accumulator */
    void (*begin)(void *acc, int64_t n);
    hr_loop *loop;                                                       /* from operand 1 into operand 0 */
    void (*end)(const void *acc, void *out, int64_t n, int64_t reduced); /* of so many values each */
    bool even_of_one; /* over no axes, the result is not the value itself */
} reducer;

/* An accumulator `a` of type A begins as INIT, becomes STEP by each value `x`, and RESULT at the end. Values go into one
 * accumulator by FOLD, or each into its own. */
#define REDUCER(NAME, T, V, A, S, INIT, STEP, FOLD, RESULT, EVEN_OF_ONE)                                               \
    static void NAME##_begin_##S(void *acc, int64_t n)                                                                 \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) ((A *)acc)[i] = (A)(INIT);                                                     \
    }                                                                                                                  \
    HR_LOOP(NAME##_loop, S)                                                                                            \
    {                                                                                                                  \
        A *to = (A *)(void *)at[0];                                                                                    \
        const T *from = (const T *)(const void *)at[1];                                                                \
        (void)user;                                                                                                    \
        if (step[0] == 0) {                                                                                            \
            A a = *to;                                                                                                 \
            FOLD(T, V, A, S, STEP)                                                                                     \
            *to = a;                                                                                                   \
            return;                                                                                                    \
        }                                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const A a = to[i];                                                                                         \
            const V x = HR_GET(S, from[i]);                                                                            \
            to[i] = (A)(STEP);                                                                                         \
        }                                                                                                              \
    }                                                                                                                  \
    static void NAME##_end_##S(const void *acc, void *out, int64_t n, int64_t reduced)                                 \
    {                                                                                                                  \
        (void)reduced;                                                                                                 \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const A a = ((const A *)acc)[i];                                                                           \
            ((T *)out)[i] = HR_PUT(S, T, RESULT);                                                                      \
        }                                                                                                              \
    }                                                                                                                  \
    static const reducer NAME##_##S = {sizeof(A), NAME##_begin_##S, NAME##_loop_##S, NAME##_end_##S, EVEN_OF_ONE};

#define IN_ORDER(T, V, A, S, STEP)                                                                                     \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        const V x = HR_GET(S, from[i]);                                                                                \
        a = (A)(STEP);                                                                                                 \
    }
/* Sums go through 16 lanes: quicker, and closer to the true sum than one after the other. */
#define IN_LANES(T, V, A, S, STEP)                                                                                     \
    A lane[16] = {0};                                                                                                  \
    int64_t i = 0;                                                                                                     \
    for (; i + 16 <= n; i += 16) {                                                                                     \
        for (int j = 0; j < 16; j++) LANE(V, A, S, STEP, i + j)                                                        \
    }                                                                                                                  \
    for (int j = 0; i < n; i++, j++) LANE(V, A, S, STEP, i)                                                            \
    for (int half = 8; half > 0; half /= 2)                                                                            \
        for (int j = 0; j < half; j++) lane[j] += lane[j + half];                                                      \
    a += lane[0];
#define LANE(V, A, S, STEP, AT)                                                                                        \
    {                                                                                                                  \
        const V x = HR_GET(S, from[AT]);                                                                               \
        const A a = lane[j];                                                                                           \
        lane[j] = (A)(STEP);                                                                                           \
    }
/* The greatest value of a long run is found by lanes. Which of two zeros it is, their order says. */
#define EXTREME_LANES 32
#define EXTREME(T, V, A, S, STEP)                                                                                      \
    if (n >= 2 * EXTREME_LANES) {                                                                                      \
        A lane[EXTREME_LANES];                                                                                         \
        int64_t i = EXTREME_LANES;                                                                                     \
        for (int j = 0; j < EXTREME_LANES; j++) lane[j] = HR_GET(S, from[j]);                                          \
        for (; i + EXTREME_LANES <= n; i += EXTREME_LANES) {                                                           \
            for (int j = 0; j < EXTREME_LANES; j++) LANE(V, A, S, STEP, i + j)                                         \
        }                                                                                                              \
        for (int j = 0; i < n; i++, j++) LANE(V, A, S, STEP, i)                                                        \
        for (int j = 0; j < EXTREME_LANES; j++) {                                                                      \
            const V x = lane[j];                                                                                       \
            a = (A)(STEP);                                                                                             \
        }                                                                                                              \
    }                                                                                                                  \
    if (n < 2 * EXTREME_LANES || a == 0) {                                                                             \
        a = *to;                                                                                                       \
        IN_ORDER(T, V, A, S, STEP)                                                                                     \
    }

/* A NaN stays: no x compares above it. */
#define OF_FLOATS(T, V, U, D, S, NAME, B)                                                                              \
    REDUCER(sum, T, V, V, S, 0, a + x, IN_LANES, a, false)                                                             \
    REDUCER(mean, T, V, V, S, 0, a + x, IN_LANES, a / (V)reduced, false)                                               \
    REDUCER(norm, T, V, V, S, 0, a + x * x, IN_LANES, sqrt((double)a), true)                                           \
    REDUCER(prod, T, V, V, S, 1, a *x, IN_ORDER, a, false)                                                             \
    REDUCER(max, T, V, V, S, -INFINITY, x > a || x != x ? x : a, EXTREME, a, false)                                    \
    REDUCER(min, T, V, V, S, INFINITY, x <= a || x != x ? x : a, EXTREME, a, false)
HR_EACH_TYPE(OF_FLOATS, ~, ~, floats, halves)

#define OF_COMPLEXES(T, V, U, D, S, NAME, B)                                                                           \
    REDUCER(sum, T, V, V, S, 0, a + x, IN_LANES, a, false)                                                             \
    REDUCER(mean, T, V, V, S, 0, a + x, IN_LANES, a / (double)reduced, false)                                          \
    REDUCER(prod, T, V, V, S, 1, a *x, IN_ORDER, a, false)
HR_EACH_TYPE(OF_COMPLEXES, ~, ~, complexes)

/* int64 wraps, narrower types are summed in 64 bits: of uint64 the same bits. */
#define OF_INTS(T, V, U, D, S, MEAN, B)                                                                                \
    REDUCER(sum, T, V, uint64_t, S, 0, a + (uint64_t)x, IN_ORDER, a, false)                                            \
    REDUCER(mean, T, V, uint64_t, S, 0, a + (uint64_t)x, IN_ORDER, MEAN, false)                                        \
    REDUCER(prod, T, V, uint64_t, S, 1, a *(uint64_t)x, IN_ORDER, a, false)                                            \
    REDUCER(max, T, V, V, S, MIN_##S, x > a ? x : a, IN_ORDER, a, false)                                               \
    REDUCER(min, T, V, V, S, MAX_##S, x < a ? x : a, IN_ORDER, a, false)                                               \
    REDUCER(norm, T, V, uint64_t, S, 0, a + (uint64_t)x * (uint64_t)x, IN_ORDER, (uint64_t)sqrt((double)a), true)
#define MIN_i8 INT8_MIN
#define MIN_i16 INT16_MIN
#define MIN_i32 INT32_MIN
#define MIN_i64 INT64_MIN
#define MIN_u8 0
#define MIN_u16 0
#define MIN_u32 0
#define MIN_u64 0
#define MAX_i8 INT8_MAX
#define MAX_i16 INT16_MAX
#define MAX_i32 INT32_MAX
#define MAX_i64 INT64_MAX
#define MAX_u8 UINT8_MAX
#define MAX_u16 UINT16_MAX
#define MAX_u32 UINT32_MAX
#define MAX_u64 UINT64_MAX
HR_EACH_TYPE(OF_INTS, (reduced ? (int64_t)a / reduced : 0), ~, signed_ints)
HR_EACH_TYPE(OF_INTS, (reduced ? a / (uint64_t)reduced : 0), ~, unsigned_ints)

REDUCER(all, bool, bool, bool, bit, true, a &&x, IN_ORDER, a, false)
REDUCER(any, bool, bool, bool, bit, false, a || x, IN_ORDER, a, false)

/* ---- compute ---- */

/* Bytes that an array of `size` bytes a result moves on along each dimension of the input. */
static void result_steps(hr_shape in, const bool *reduced, size_t size, int64_t *step)
{
    int64_t next = (int64_t)size;
    for (int d = in.rank - 1; d >= 0; d--) {
        step[d] = reduced[d] ? 0 : next;
        if (!reduced[d]) next *= in.dims[d];
    }
}

static hr_status reduce_compute(hr_kernel *k, hr_error *err)
{
    const reducer *r = hr_kernel_chosen(k)->more;
    const hr_tensor *in = k->input[0];
    int64_t step[HR_MAX_RANK], each = 1;
    bool reduced[HR_MAX_RANK];
    hr_shape shape;
    hr_tensor *out;
    hr_walk w;
    HR_TRY(hr_shape_reduce(in->shape, k->input[1], hr_attr_bool(k->node, "keep_dims"), &shape, reduced, err));
    if (k->input[1]->count == 0 && !r->even_of_one) return hr_kernel_pass(k, 0, 0, shape, err);
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    const bool direct = r->size == hr_dtype_size(out->dtype);
    void *acc = direct ? out->data : hr_kernel_temp(k, (size_t)out->count * r->size);
    if (!acc) return hr_no_memory(err, "a reduction");
    r->begin(acc, out->count);
    result_steps(in->shape, reduced, r->size, step);
    hr_walk_begin(&w, in->shape);
    hr_walk_add_strided(&w, acc, step);
    hr_walk_add(&w, in);
    hr_walk_run(k, &w, hr_kernel_op(k)->nanoseconds, r->loop, NULL);
    for (int i = 0; i < in->shape.rank; i++)
        if (reduced[i]) each *= in->shape.dims[i];
    r->end(acc, out->data, out->count, each);
    return HR_OK;
}

/* ---- gradients ---- */

static hr_node spread(const hr_backward *b, hr_node g)
{
    return hr_broadcast_to(hr_backward_keep_dims(b, g), hr_shape_of(b->input[0]));
}

HR_UNARY_GRADIENT(sum, spread(b, g))

/* How many values went into each mean, as a scalar of g's type. */
static hr_node values_each(const hr_backward *b)
{
    const hr_dtype dtype = hr_node_dtype(b->grad[0]);
    const int64_t x = hr_shape_count(hr_node_shape(b->input[0])), y = hr_shape_count(hr_node_shape(b->output[0]));
    if (x > 0 && y > 0) return hr_scalar(b->graph, dtype, (double)(x / y));
    const hr_node results = hr_maximum(hr_size_of(b->output[0]), hr_scalar(b->graph, HR_INT32, 1));
    return hr_cast_to(hr_floor_div(hr_size_of(b->input[0]), results), dtype);
}

HR_UNARY_GRADIENT(mean, spread(b, hr_div(g, values_each(b))))

/* Ties share alike. */
static hr_node share_of_ties(const hr_backward *b)
{
    const hr_node y = hr_backward_keep_dims(b, b->output[0]);
    const hr_node ties = hr_cast_to(hr_equal(y, b->input[0]), hr_node_dtype(b->grad[0]));
    return hr_div(
        ties, hr_new_node(b->graph, "Sum", HR_INPUTS(ties, b->input[1]), HR_ATTRS(HR_BOOL_ATTR("keep_dims", true))));
}
HR_UNARY_GRADIENT(extreme, hr_mul(share_of_ties(b), hr_backward_keep_dims(b, g)))
HR_UNARY_GRADIENT(norm, hr_mul(x, hr_div(hr_backward_keep_dims(b, g), hr_backward_keep_dims(b, y))))

/* ---- gradient of Prod: the product of all others, also where values are 0 ---- */

/* The first walk counts zeros and multiplies the others; the second one divides by each. */
#define OTHERS(T, V, U, D, S, NAME, B)                                                                                 \
    HR_LOOP(factors, S)                                                                                                \
    {                                                                                                                  \
        (void)user;                                                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            T *product = (T *)(void *)(at[0] + i * step[0]);                                                           \
            int64_t *zeros = (int64_t *)(void *)(at[1] + i * step[1]);                                                 \
            const T x = *(const T *)(const void *)(at[2] + i * step[2]);                                               \
            *zeros += x == 0;                                                                                          \
            *product *= x == 0 ? 1 : x;                                                                                \
        }                                                                                                              \
    }                                                                                                                  \
    HR_LOOP(others, S)                                                                                                 \
    {                                                                                                                  \
        (void)user;                                                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const T product = *(const T *)(const void *)(at[1] + i * step[1]);                                         \
            const int64_t zeros = *(const int64_t *)(const void *)(at[2] + i * step[2]);                               \
            const T x = *(const T *)(const void *)(at[3] + i * step[3]);                                               \
            const T g = *(const T *)(const void *)(at[4] + i * step[4]);                                               \
            *(T *)(void *)(at[0] + i * step[0]) = zeros > (x == 0) ? 0 : x == 0 ? g * product : g * (product / x);     \
        }                                                                                                              \
    }                                                                                                                  \
    static const prod_grad prod_grad_##S = {prod_begin_##S, factors_##S, others_##S};

typedef struct prod_grad {
    void (*begin)(void *acc, int64_t n);
    hr_loop *factors, *others;
} prod_grad;
HR_EACH_TYPE(OTHERS, ~, ~, floats, complexes)

static hr_status others_compute(hr_kernel *k, hr_error *err)
{
    const prod_grad *r = hr_kernel_chosen(k)->more;
    const hr_tensor *x = k->input[0], *g = k->input[2];
    int64_t step[HR_MAX_RANK], count_step[HR_MAX_RANK];
    bool reduced[HR_MAX_RANK];
    hr_shape shape;
    hr_tensor *out;
    hr_walk w;
    HR_TRY(hr_shape_reduce(x->shape, k->input[1], false, &shape, reduced, err));
    HR_TRY(hr_kernel_output(k, 0, x->shape, &out, err));
    if (g->count != hr_shape_count(shape))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a gradient of the shape of the product");
    void *product = hr_kernel_temp(k, (size_t)g->count * hr_dtype_size(x->dtype));
    int64_t *zeros = hr_kernel_temp(k, (size_t)g->count * sizeof *zeros);
    if (!product || !zeros) return hr_no_memory(err, "a gradient");
    if (g->count) memset(zeros, 0, (size_t)g->count * sizeof *zeros);
    r->begin(product, g->count);
    result_steps(x->shape, reduced, hr_dtype_size(x->dtype), step);
    result_steps(x->shape, reduced, sizeof *zeros, count_step);
    hr_walk_begin(&w, x->shape);
    hr_walk_add_strided(&w, product, step);
    hr_walk_add_strided(&w, zeros, count_step);
    hr_walk_add(&w, x);
    hr_walk_run(k, &w, 1, r->factors, NULL);
    hr_walk_begin(&w, x->shape);
    hr_walk_add(&w, out);
    hr_walk_add_strided(&w, product, step);
    hr_walk_add_strided(&w, zeros, count_step);
    hr_walk_add(&w, x);
    hr_walk_add_strided(&w, g->data, step);
    hr_walk_run(k, &w, 1, r->others, NULL);
    return HR_OK;
}

HR_UNARY_GRADIENT(prod, hr_new_node(b->graph, "Headrace>ProdGrad", HR_INPUTS(x, b->input[1], g)))

/* ---- the shape with 1 for each reduced dimension, where axes or rank are known only at run time ---- */

static hr_status kept_compute(hr_kernel *k, hr_error *err)
{
    hr_shape shape, kept;
    hr_tensor *out;
    if (!hr_shape_from_tensor(k->input[0], &shape))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a shape");
    HR_TRY(hr_shape_reduce(shape, k->input[1], true, &kept, NULL, err));
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(shape.rank), &out, err));
    for (int i = 0; i < shape.rank; i++) HR_TRY(hr_put_int(out, i, kept.dims[i], err));
    return HR_OK;
}

#define REDUCE(NAME, TRAITS, GRADIENT, ...)                                                                            \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .kernels = HR_KERNEL_STRUCTS(__VA_ARGS__), .types = "Tidx:indices",    \
        .traits = TRAITS, .shapes = "reduce(0,1)", .nanoseconds = .3, .compute = reduce_compute, .gradient = GRADIENT, \
    }

const hr_graph_op hr_graph_ops_reduce_ops[] = {
    REDUCE("Sum", 0, sum_gradient, sum, floats, halves, complexes, ints),
    REDUCE("Mean", 0, mean_gradient, mean, floats, halves, complexes, ints),
    REDUCE("Prod", 0, prod_gradient, prod, floats, halves, complexes, ints),
    REDUCE("Max", 0, extreme_gradient, max, floats, halves, ints),
    REDUCE("Min", 0, extreme_gradient, min, floats, halves, ints),
    REDUCE("EuclideanNorm", 0, norm_gradient, norm, floats, halves, ints),
    REDUCE("All", HR_NO_GRADIENT, NULL, all, bools),
    REDUCE("Any", HR_NO_GRADIENT, NULL, any, bools),
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>ProdGrad",
        .inputs = "x:T, reduction_indices:Tidx, gradient:T",
        .outputs = "output:T",
        .attrs = "T:{floats,complex64,complex128}; Tidx:indices=int32",
        .kernels = HR_KERNEL_STRUCTS(prod_grad, floats, complexes),
        .shapes = "=0",
        .compute = others_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>ReducedShape",
        .inputs = "shape:int32, reduction_indices:Tidx",
        .outputs = "output:int32",
        .attrs = "Tidx:indices",
        .traits = HR_CHEAP | HR_NO_GRADIENT,
        .compute = kept_compute,
    },
    HR_GRAPH_OPS_END,
};

/* All axes: of a known rank a constant, as TensorFlow makes it; otherwise Range(0, Rank(x), 1). */
static hr_node all_axes(hr_node x)
{
    hr_handle_info variable;
    const int rank = hr_handle_of(x, &variable) ? variable.shape.rank : hr_node_shape(x).rank;
    int64_t axes[HR_MAX_RANK];
    for (int i = 0; i < rank; i++) axes[i] = i;
    if (rank >= 0) return hr_ints(x.graph, axes, rank);
    hr_node zero = hr_scalar(x.graph, HR_INT32, 0), one = hr_scalar(x.graph, HR_INT32, 1);
    return hr_new_node(x.graph, "Range", HR_INPUTS(zero, hr_rank_of(x), one));
}

static hr_node reduce(const char *op, hr_node x, const hr_reduce_opts *opts)
{
    if (!hr_node_exists(x)) return x;
    const hr_reduce_opts o = HR_OPTIONS(hr_reduce_opts, opts);
    const hr_node axes = o.axes ? hr_ints(x.graph, o.axes, o.axis_count) : all_axes(x);
    return hr_new_node(x.graph, op, .name = o.name, HR_INPUTS(x, axes),
                       HR_ATTRS(HR_BOOL_ATTR("keep_dims", o.keep_dims)));
}

#define CONSTRUCTOR(fn, op)                                                                                            \
    hr_node fn##_with(hr_node x, const hr_reduce_opts *opts) { return reduce(op, x, opts); }
CONSTRUCTOR(hr_reduce_sum, "Sum")
CONSTRUCTOR(hr_reduce_mean, "Mean")
CONSTRUCTOR(hr_reduce_prod, "Prod")
CONSTRUCTOR(hr_reduce_max, "Max")
CONSTRUCTOR(hr_reduce_min, "Min")
CONSTRUCTOR(hr_reduce_all, "All")
CONSTRUCTOR(hr_reduce_any, "Any")
CONSTRUCTOR(hr_reduce_euclidean_norm, "EuclideanNorm")

/* One of those, of all that `o` says but the name and whether the axes stay. */
static hr_node part(const char *op, hr_node x, hr_reduce_opts o, bool keep_dims)
{
    o.name = NULL;
    o.keep_dims = keep_dims;
    return reduce(op, x, &o);
}

/* What is made of several nodes, in a scope. */
static hr_node composed(hr_node (*make)(hr_node x, hr_reduce_opts o), const char *name, hr_node x,
                        const hr_reduce_opts *opts)
{
    const hr_reduce_opts o = HR_OPTIONS(hr_reduce_opts, opts);
    if (!hr_node_exists(x)) return x;
    hr_name_scope(x.graph, o.name ? o.name : name);
    const hr_node made = make(hr_node_value(x), o);
    hr_scope_end(x.graph);
    return made;
}

/* The greatest value is taken out and added again, unless it is infinite. */
static hr_node logsumexp(hr_node x, hr_reduce_opts o)
{
    const hr_node max = part("Max", x, o, true);
    const hr_node by = hr_stop_gradient(hr_where(hr_is_finite(max), max, hr_zeros_like(max)));
    const hr_node result = hr_log(part("Sum", hr_exp(hr_sub(x, by)), o, o.keep_dims));
    return hr_add(result, o.keep_dims ? by : hr_reshape(by, hr_shape_of(result)));
}
static hr_node variance(hr_node x, hr_reduce_opts o)
{
    return part("Mean", hr_square(hr_sub(x, part("Mean", x, o, true))), o, o.keep_dims);
}
static hr_node deviation(hr_node x, hr_reduce_opts o) { return hr_sqrt(variance(x, o)); }
static hr_node nonzeros(hr_node x, hr_reduce_opts o)
{
    return part("Sum", hr_cast_to(hr_not_equal(x, hr_scalar_like(x, 0)), HR_INT64), o, o.keep_dims);
}

#define COMPOSED(fn, make, name)                                                                                       \
    hr_node fn##_with(hr_node x, const hr_reduce_opts *opts) { return composed(make, name, x, opts); }
COMPOSED(hr_reduce_logsumexp, logsumexp, "ReduceLogSumExp")
COMPOSED(hr_reduce_variance, variance, "reduce_variance")
COMPOSED(hr_reduce_std, deviation, "reduce_std")
COMPOSED(hr_count_nonzero, nonzeros, "count_nonzero")
