/* Sum, Mean, Prod, Max, Min, EuclideanNorm, All, Any over axes. Dimensions that are treated alike are joined; the
 * last of them is a loop over neighbouring values, into one result or into as many. The order of the additions
 * follows from the shape alone. */
#include <headrace/kernels.h>
#include <math.h>
#include <string.h>

/* Values of the accumulator: doubles or 64-bit integers where a type is too narrow for its sum. */
typedef struct reducer {
    const char *op;
    hr_dtype dtype;
    size_t size; /* of an accumulator */
    void (*begin)(void *acc, int64_t n);
    void (*fold)(void *acc, const void *in, int64_t n);                  /* n values into one */
    void (*add)(void *acc, const void *in, int64_t n);                   /* n values into n */
    void (*end)(const void *acc, void *out, int64_t n, int64_t reduced); /* of so many values each */
} reducer;

#define BEGIN(NAME, A, S, INIT)                                                                                        \
    static void NAME##_begin_##S(void *acc, int64_t n)                                                                 \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) ((A *)acc)[i] = (A)(INIT);                                                     \
    }
#define ADD(NAME, T, A, S, EXPR)                                                                                       \
    static void NAME##_add_##S(void *acc, const void *in, int64_t n)                                                   \
    {                                                                                                                  \
        A *to = acc;                                                                                                   \
        const T *from = in;                                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const A a = to[i];                                                                                         \
            const T x = from[i];                                                                                       \
            to[i] = (A)(EXPR);                                                                                         \
        }                                                                                                              \
    }
#define FOLD(NAME, T, A, S, EXPR)                                                                                      \
    static void NAME##_fold_##S(void *acc, const void *in, int64_t n)                                                  \
    {                                                                                                                  \
        A a = *(A *)acc;                                                                                               \
        const T *from = in;                                                                                            \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const T x = from[i];                                                                                       \
            a = (A)(EXPR);                                                                                             \
        }                                                                                                              \
        *(A *)acc = a;                                                                                                 \
    }
#define END(NAME, T, A, S, EXPR)                                                                                       \
    static void NAME##_end_##S(const void *acc, void *out, int64_t n, int64_t reduced)                                 \
    {                                                                                                                  \
        (void)reduced;                                                                                                 \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const A a = ((const A *)acc)[i];                                                                           \
            ((T *)out)[i] = (T)(EXPR);                                                                                 \
        }                                                                                                              \
    }
#define REDUCER(NAME, T, A, S, INIT, EXPR, RESULT)                                                                     \
    BEGIN(NAME, A, S, INIT) ADD(NAME, T, A, S, EXPR) FOLD(NAME, T, A, S, EXPR) END(NAME, T, A, S, RESULT)

/* Sums of neighbours go through 16 lanes: quicker, and closer to the true sum than one after the other. */
#define LANES_FOLD(NAME, T, S, TERM)                                                                                   \
    static void NAME##_fold_##S(void *acc, const void *in, int64_t n)                                                  \
    {                                                                                                                  \
        const T *from = in;                                                                                            \
        T lane[16] = {0};                                                                                              \
        int64_t i = 0;                                                                                                 \
        for (; i + 16 <= n; i += 16) {                                                                                 \
            for (int j = 0; j < 16; j++) {                                                                             \
                const T x = from[i + j];                                                                               \
                lane[j] += TERM;                                                                                       \
            }                                                                                                          \
        }                                                                                                              \
        for (int j = 0; i < n; i++, j++) {                                                                             \
            const T x = from[i];                                                                                       \
            lane[j] += TERM;                                                                                           \
        }                                                                                                              \
        for (int half = 8; half > 0; half /= 2)                                                                        \
            for (int j = 0; j < half; j++) lane[j] += lane[j + half];                                                  \
        *(T *)acc += lane[0];                                                                                          \
    }

/* A NaN stays: no x compares above it. */
#define FLOAT_REDUCERS(T, U, D, S)                                                                                     \
    BEGIN(sum, T, S, 0)                                                                                                \
    ADD(sum, T, T, S, a + x)                                                                                           \
    LANES_FOLD(sum, T, S, x)                                                                                           \
    END(sum, T, T, S, a)                                                                                               \
    END(mean, T, T, S, a / (T)reduced)                                                                                 \
    ADD(norm, T, T, S, a + x * x)                                                                                      \
    LANES_FOLD(norm, T, S, (x * x))                                                                                    \
    END(norm, T, T, S, sqrt((double)a))                                                                                \
    REDUCER(prod, T, T, S, 1, a *x, a)                                                                                 \
    REDUCER(max, T, T, S, -INFINITY, x > a || x != x ? x : a, a)                                                       \
    REDUCER(min, T, T, S, INFINITY, x <= a || x != x ? x : a, a)
HR_FLOAT_TYPES(FLOAT_REDUCERS)

/* int64 wraps, narrower types are summed in 64 bits: of uint64 the same bits. */
#define INT_REDUCERS(T, U, D, S)                                                                                       \
    REDUCER(sum, T, uint64_t, S, 0, a + (uint64_t)x, a)                                                                \
    REDUCER(prod, T, uint64_t, S, 1, a *(uint64_t)x, a)                                                                \
    REDUCER(max, T, T, S, MIN_##S, x > a ? x : a, a)                                                                   \
    REDUCER(min, T, T, S, MAX_##S, x < a ? x : a, a)                                                                   \
    REDUCER(norm, T, uint64_t, S, 0, a + (uint64_t)x * (uint64_t)x, (uint64_t)sqrt((double)a))
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
HR_INTEGER_TYPES(INT_REDUCERS)
#define SIGNED_MEAN(T, U, D, S) END(mean, T, uint64_t, S, reduced ? (int64_t)a / reduced : 0)
#define UNSIGNED_MEAN(T, U, D, S) END(mean, T, uint64_t, S, reduced ? a / (uint64_t)reduced : 0)
HR_SIGNED_TYPES(SIGNED_MEAN)
HR_UNSIGNED_TYPES(UNSIGNED_MEAN)

REDUCER(all, bool, bool, bit, true, a &&x, a)
REDUCER(any, bool, bool, bit, false, a || x, a)

#define ENTRY(OP, NAME, LAST, D, A, S)                                                                                 \
    {OP, D, sizeof(A), NAME##_begin_##S, NAME##_fold_##S, NAME##_add_##S, LAST##_end_##S},
#define FLOAT_ENTRIES(T, U, D, S)                                                                                      \
    ENTRY("Sum", sum, sum, D, T, S)                                                                                    \
    ENTRY("Mean", sum, mean, D, T, S)                                                                                  \
    ENTRY("Prod", prod, prod, D, T, S)                                                                                 \
    ENTRY("Max", max, max, D, T, S)                                                                                    \
    ENTRY("Min", min, min, D, T, S){"EuclideanNorm", D,           sizeof(T), sum_begin_##S, norm_fold_##S,             \
                                    norm_add_##S,    norm_end_##S},
#define INT_ENTRIES(T, U, D, S)                                                                                        \
    ENTRY("Sum", sum, sum, D, uint64_t, S)                                                                             \
    ENTRY("Mean", sum, mean, D, uint64_t, S)                                                                           \
    ENTRY("Prod", prod, prod, D, uint64_t, S)                                                                          \
    ENTRY("Max", max, max, D, T, S)                                                                                    \
    ENTRY("Min", min, min, D, T, S)                                                                                    \
    ENTRY("EuclideanNorm", norm, norm, D, uint64_t, S)

static const reducer reducers[] = {HR_FLOAT_TYPES(FLOAT_ENTRIES) HR_INTEGER_TYPES(INT_ENTRIES) ENTRY(
    "All", all, all, HR_BOOL, bool, bit) ENTRY("Any", any, any, HR_BOOL, bool, bit)};

typedef struct reduce_state {
    const reducer *found;
    bool keep_dims;
} reduce_state;

static hr_status reduce_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    (void)session;
    reduce_state *st = state;
    const hr_dtype dtype = hr_node_dtype(node);
    st->keep_dims = hr_attr_bool(node, "keep_dims");
    for (size_t i = 0; i < sizeof reducers / sizeof *reducers; i++)
        if (reducers[i].dtype == dtype && strcmp(reducers[i].op, hr_node_op(node)) == 0) st->found = &reducers[i];
    if (st->found) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.kernel", "no kernel for T = %s", hr_dtype_name(dtype));
}

/* ---- axes ---- */

static hr_status read_axes(const hr_tensor *axes, int rank, bool *reduced, hr_error *err)
{
    memset(reduced, 0, HR_MAX_RANK);
    for (int64_t i = 0; i < axes->count; i++) {
        int axis;
        HR_TRY(hr_axis(hr_int_at(axes, i), rank, &axis, err));
        if (reduced[axis])
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.axis", "expected different axes, got %d twice", axis);
        reduced[axis] = true;
    }
    return HR_OK;
}

static hr_shape reduced_shape(hr_shape in, const bool *reduced, bool keep_dims)
{
    hr_shape out = {0, {0}};
    for (int i = 0; i < in.rank; i++) {
        if (!reduced[i])
            out.dims[out.rank++] = in.dims[i];
        else if (keep_dims)
            out.dims[out.rank++] = 1;
    }
    return out;
}

static hr_status reduce_shape(hr_infer *s, hr_error *err)
{
    bool reduced[HR_MAX_RANK];
    const bool keep = hr_attr_bool(s->node, "keep_dims");
    const hr_tensor *axes = hr_infer_value(s, 1);
    if (s->input[0].rank < 0) return HR_OK;
    if (axes) {
        HR_TRY(read_axes(axes, s->input[0].rank, reduced, err));
        s->output[0] = reduced_shape(s->input[0], reduced, keep);
    } else if (keep) {
        s->output[0].rank = s->input[0].rank;
        for (int i = 0; i < s->output[0].rank; i++) s->output[0].dims[i] = -1;
    }
    return HR_OK;
}

/* ---- compute ---- */

/* The loops around the innermost one: lengths, and how far each step moves the accumulator. */
typedef struct nest {
    int rank;
    int64_t dims[HR_MAX_RANK], step[HR_MAX_RANK];
    int64_t outer, inner;
    bool fold; /* the innermost loop goes into one accumulator */
} nest;

static nest make_nest(hr_shape in, const bool *reduced)
{
    int64_t dims[HR_MAX_RANK];
    bool fold[HR_MAX_RANK];
    int n = 0;
    for (int i = 0; i < in.rank; i++) {
        if (in.dims[i] == 1) continue;
        if (n > 0 && fold[n - 1] == reduced[i]) {
            dims[n - 1] *= in.dims[i];
        } else {
            dims[n] = in.dims[i];
            fold[n++] = reduced[i];
        }
    }
    nest t = {.outer = 1, .inner = n ? dims[n - 1] : 1, .fold = n && fold[n - 1], .rank = n ? n - 1 : 0};
    int64_t at = t.fold ? 1 : t.inner;
    for (int i = t.rank - 1; i >= 0; i--) {
        t.dims[i] = dims[i];
        t.step[i] = fold[i] ? 0 : at;
        if (!fold[i]) at *= dims[i];
        t.outer *= dims[i];
    }
    return t;
}

static void reduce_walk(const reducer *r, const nest *t, const char *in, size_t in_size, char *acc)
{
    int64_t at[HR_MAX_RANK] = {0}, offset = 0;
    for (int64_t o = 0; o < t->outer; o++, in += (size_t)t->inner * in_size) {
        (t->fold ? r->fold : r->add)(acc + (size_t)offset * r->size, in, t->inner);
        for (int d = t->rank - 1; d >= 0; d--) {
            offset += t->step[d];
            if (++at[d] < t->dims[d]) break;
            offset -= t->step[d] * t->dims[d];
            at[d] = 0;
        }
    }
}

static hr_status reduce_compute(hr_kernel *k, hr_error *err)
{
    const reduce_state *st = k->state;
    const hr_tensor *in = k->input[0];
    bool reduced[HR_MAX_RANK];
    hr_tensor *out;
    HR_TRY(read_axes(k->input[1], in->shape.rank, reduced, err));
    const hr_shape shape = reduced_shape(in->shape, reduced, st->keep_dims);
    const bool nothing = k->input[1]->count == 0 && strcmp(st->found->op, "EuclideanNorm") != 0;
    if (nothing) return hr_kernel_pass(k, 0, 0, shape, err);
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    const bool direct = st->found->size == hr_dtype_size(out->dtype);
    void *acc = direct ? out->data : hr_kernel_temp(k, (size_t)out->count * st->found->size);
    if (!acc) return hr_no_memory(err, "a reduction");
    st->found->begin(acc, out->count);
    const nest t = make_nest(in->shape, reduced);
    if (in->count) reduce_walk(st->found, &t, in->data, hr_dtype_size(in->dtype), acc);
    int64_t each = 1;
    for (int i = 0; i < in->shape.rank; i++)
        if (reduced[i]) each *= in->shape.dims[i];
    st->found->end(acc, out->data, out->count, each);
    return HR_OK;
}

/* ---- gradients ---- */

/* y, or its gradient, with the reduced dimensions back as 1, so that it broadcasts to x. */
static hr_node with_kept_dims(const hr_backward *b, hr_node y)
{
    const hr_attr *axes = strcmp(hr_node_op(b->input[1]), "Const") == 0 ? hr_node_attr(b->input[1], "value") : NULL;
    const int rank = hr_node_shape(b->input[0]).rank;
    bool reduced[HR_MAX_RANK];
    if (hr_attr_bool(b->node, "keep_dims")) return y;
    if (!axes || rank < 0 || read_axes(axes->tensor, rank, reduced, NULL) != HR_OK)
        return hr_reshape(
            y, hr_new_node(b->graph, "Headrace>ReducedShape", HR_INPUTS(hr_shape_of(b->input[0]), b->input[1])));
    int64_t dims[HR_MAX_RANK];
    const hr_shape x = hr_node_shape(b->input[0]);
    bool known = true;
    for (int i = 0; i < rank; i++) {
        dims[i] = reduced[i] ? 1 : x.dims[i];
        known &= dims[i] >= 0;
    }
    if (known) return hr_reshape(y, hr_ints(b->graph, dims, rank));
    for (int i = 0; i < rank; i++)
        if (reduced[i]) y = hr_expand_dims(y, hr_scalar(b->graph, HR_INT32, i));
    return y;
}

static hr_node reduce_spread(const hr_backward *b, hr_node g)
{
    return hr_broadcast_to(with_kept_dims(b, g), hr_shape_of(b->input[0]));
}

static void sum_gradient(hr_backward *b) { b->out[0] = hr_dense_gradient(reduce_spread(b, b->grad[0])); }

/* How many values went into each mean, as a scalar of g's type. */
static hr_node values_each(const hr_backward *b)
{
    const hr_dtype dtype = hr_node_dtype(b->grad[0]);
    const int64_t x = hr_shape_count(hr_node_shape(b->input[0])), y = hr_shape_count(hr_node_shape(b->output[0]));
    if (x > 0 && y > 0) return hr_scalar(b->graph, dtype, (double)(x / y));
    const hr_node results = hr_maximum(hr_size_of(b->output[0]), hr_scalar(b->graph, HR_INT32, 1));
    return hr_cast_to(hr_floor_div(hr_size_of(b->input[0]), results), dtype);
}

static void mean_gradient(hr_backward *b)
{
    b->out[0] = hr_dense_gradient(reduce_spread(b, hr_div(b->grad[0], values_each(b))));
}

/* Ties share alike. */
static void extreme_gradient(hr_backward *b)
{
    const hr_node g = with_kept_dims(b, b->grad[0]), y = with_kept_dims(b, b->output[0]);
    const hr_node ties = hr_cast_to(hr_equal(y, b->input[0]), hr_node_dtype(b->grad[0]));
    const hr_node count =
        hr_new_node(b->graph, "Sum", HR_INPUTS(ties, b->input[1]), HR_ATTRS(HR_BOOL_ATTR("keep_dims", true)));
    b->out[0] = hr_dense_gradient(hr_mul(hr_div(ties, count), g));
}

static void norm_gradient(hr_backward *b)
{
    const hr_node g = with_kept_dims(b, b->grad[0]), y = with_kept_dims(b, b->output[0]);
    b->out[0] = hr_dense_gradient(hr_mul(b->input[0], hr_div(g, y)));
}

/* ---- gradient of Prod: the product of all others, also where values are 0 ---- */

#define OTHERS(T, U, D, S)                                                                                             \
    static void others_##S(const nest *t, const T *x, const T *g, T *product, int64_t *zeros, T *out)                  \
    {                                                                                                                  \
        for (int pass = 0; pass < 2; pass++) {                                                                         \
            int64_t at[HR_MAX_RANK] = {0}, offset = 0;                                                                 \
            for (int64_t o = 0; o < t->outer; o++) {                                                                   \
                for (int64_t i = 0; i < t->inner; i++) {                                                               \
                    const int64_t to = offset + (t->fold ? 0 : i), from = o * t->inner + i;                            \
                    if (!pass && x[from] == 0)                                                                         \
                        zeros[to]++;                                                                                   \
                    else if (!pass)                                                                                    \
                        product[to] *= x[from];                                                                        \
                    else if (x[from] == 0)                                                                             \
                        out[from] = zeros[to] == 1 ? g[to] * product[to] : 0;                                          \
                    else                                                                                               \
                        out[from] = zeros[to] == 0 ? g[to] * (product[to] / x[from]) : 0;                              \
                }                                                                                                      \
                for (int d = t->rank - 1; d >= 0; d--) {                                                               \
                    offset += t->step[d];                                                                              \
                    if (++at[d] < t->dims[d]) break;                                                                   \
                    offset -= t->step[d] * t->dims[d];                                                                 \
                    at[d] = 0;                                                                                         \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }
HR_FLOAT_TYPES(OTHERS)

static hr_status others_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *x = k->input[0], *g = k->input[2];
    bool reduced[HR_MAX_RANK];
    hr_tensor *out;
    HR_TRY(read_axes(k->input[1], x->shape.rank, reduced, err));
    HR_TRY(hr_kernel_output(k, 0, x->shape, &out, err));
    if (g->count != hr_shape_count(reduced_shape(x->shape, reduced, false)))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a gradient of the shape of the product");
    void *product = hr_kernel_temp(k, (size_t)g->count * hr_dtype_size(x->dtype));
    int64_t *zeros = hr_kernel_temp(k, (size_t)g->count * sizeof *zeros);
    if (!product || !zeros) return hr_no_memory(err, "a gradient");
    if (g->count) memset(zeros, 0, (size_t)g->count * sizeof *zeros);
    const nest t = make_nest(x->shape, reduced);
    if (out->count == 0) return HR_OK;
    if (x->dtype == HR_FLOAT) {
        prod_begin_f32(product, g->count);
        others_f32(&t, x->data, g->data, product, zeros, out->data);
    } else {
        prod_begin_f64(product, g->count);
        others_f64(&t, x->data, g->data, product, zeros, out->data);
    }
    return HR_OK;
}

static void prod_gradient(hr_backward *b)
{
    b->out[0] =
        hr_dense_gradient(hr_new_node(b->graph, "Headrace>ProdGrad", HR_INPUTS(b->input[0], b->input[1], b->grad[0])));
}

/* ---- the shape with 1 for each reduced dimension, where axes or rank are known only at run time ---- */

static hr_status kept_compute(hr_kernel *k, hr_error *err)
{
    bool reduced[HR_MAX_RANK];
    hr_shape shape;
    hr_tensor *out;
    if (!hr_shape_from_tensor(k->input[0], &shape))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a shape");
    HR_TRY(read_axes(k->input[1], shape.rank, reduced, err));
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(shape.rank), &out, err));
    for (int i = 0; i < shape.rank; i++) HR_TRY(hr_put_int(out, i, reduced[i] ? 1 : shape.dims[i], err));
    return HR_OK;
}

#define REDUCE(NAME, TYPES, GRADIENT)                                                                                  \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .types = "T:" TYPES "; Tidx:indices",                                  \
        .state_size = sizeof(reduce_state), .shape = reduce_shape, .prepare = reduce_prepare,                          \
        .compute = reduce_compute, .gradient = GRADIENT,                                                               \
    }
#define TEST(NAME)                                                                                                     \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .types = "Tidx:indices", .traits = HR_NO_GRADIENT,                     \
        .state_size = sizeof(reduce_state), .shape = reduce_shape, .prepare = reduce_prepare,                          \
        .compute = reduce_compute,                                                                                     \
    }

const hr_graph_op hr_graph_ops_reduce_ops[] = {
    REDUCE("Sum", "numbers", sum_gradient),
    REDUCE("Mean", "numbers", mean_gradient),
    REDUCE("Prod", "numbers", prod_gradient),
    REDUCE("Max", "numbers", extreme_gradient),
    REDUCE("Min", "numbers", extreme_gradient),
    REDUCE("EuclideanNorm", "numbers", norm_gradient),
    TEST("All"),
    TEST("Any"),
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>ProdGrad",
        .inputs = "x:T, reduction_indices:Tidx, gradient:T",
        .outputs = "output:T",
        .attrs = "T:floats; Tidx:indices=int32",
        .shape = hr_infer_unchanged,
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
