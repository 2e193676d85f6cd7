/* Parts of a variable changed in place, or of a value, by index: rows, or slices that several indices name. The updates
 * follow in order; as in TensorFlow, those before an index that is out of range have been done. */
#include <headrace/kernels.h>
#include <string.h>

typedef void apply_fn(void *to, const void *from, int64_t count, int64_t step);

/* a[i] = a[i] OP b[i]; step 0: of one b. Integers wrap. */
#define APPLY(NAME, T, V, U_, S, EXPRESSION)                                                                           \
    static void NAME##_##S(void *to, const void *from, int64_t count, int64_t step)                                    \
    {                                                                                                                  \
        typedef U_ U;                                                                                                  \
        T *out = to;                                                                                                   \
        for (int64_t i = 0; i < count; i++) {                                                                          \
            const V a = HR_GET(S, out[i]), b = HR_GET(S, ((const T *)from)[i * step]);                                 \
            (void)sizeof(U);                                                                                           \
            out[i] = HR_PUT(S, T, EXPRESSION);                                                                         \
        }                                                                                                              \
    }
#define SUMS(T, V, U_, DTYPE, S, A, B)                                                                                 \
    APPLY(add, T, V, U_, S, (U)a + (U)b)                                                                               \
    APPLY(sub, T, V, U_, S, (U)a - (U)b)                                                                               \
    APPLY(mul, T, V, U_, S, (U)a *(U)b)
#define EXTREMES(T, V, U_, DTYPE, S, A, B)                                                                             \
    APPLY(min, T, V, U_, S, b < a ? b : a)                                                                             \
    APPLY(max, T, V, U_, S, b > a ? b : a)
#define QUOTIENTS(T, V, U_, DTYPE, S, A, B) APPLY(divide, T, V, U_, S, a / b)
#define WHOLE_QUOTIENTS(T, V, U_, DTYPE, S, A, B)                                                                      \
    APPLY(divide, T, V, U_, S, (V)-1 < (V)1 && b == (V)-1 ? (V)(-(U)a) : a / b)
HR_EACH_TYPE(SUMS, ~, ~, floats, halves, ints, complexes)
HR_EACH_TYPE(EXTREMES, ~, ~, floats, halves, ints)
HR_EACH_TYPE(QUOTIENTS, ~, ~, floats, halves, complexes)
HR_EACH_TYPE(WHOLE_QUOTIENTS, ~, ~, ints)
APPLY(add, bool, bool, bool, bit, a || b)

/* What goes where: `count` slices of `slice` values, each named by `depth` indices. */
typedef struct scatter {
    hr_tensor *to;
    const hr_tensor *indices, *updates;
    apply_fn *apply; /* NULL: the update takes the place of what was there */
    int64_t count, slice;
    int depth;
    bool one; /* a single update for all */
} scatter;

static hr_status wrong_updates(const scatter *s, hr_error *err)
{
    char variable[128], indices[128], updates[128];
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                   "expected updates of a slice for each index, got a variable %s, indices %s and updates %s",
                   hr_shape_text(s->to->shape, variable, sizeof variable),
                   hr_shape_text(s->indices->shape, indices, sizeof indices),
                   hr_shape_text(s->updates->shape, updates, sizeof updates));
}

/* updates: the shape of the indices (of slices, without their last dimension), then that of a slice. A vector of
 * indices of slices names rows. */
static hr_status measure(scatter *s, bool nd, hr_error *err)
{
    const hr_shape in = s->indices->shape, to = s->to->shape;
    hr_shape expected = in;
    s->depth = nd && in.rank > 1 ? (int)in.dims[in.rank - 1] : 1;
    if (nd && (in.rank == 0 || (in.rank > 1 && in.dims[in.rank - 1] > to.rank))) return wrong_updates(s, err);
    if (nd && in.rank > 1) expected.rank--;
    if (to.rank < s->depth || expected.rank + to.rank - s->depth > HR_MAX_RANK) return wrong_updates(s, err);
    s->count = hr_shape_count(expected);
    s->slice = 1;
    for (int i = s->depth; i < to.rank; i++) {
        expected.dims[expected.rank++] = to.dims[i];
        s->slice *= to.dims[i];
    }
    s->one = !nd && s->updates->shape.rank == 0;
    if (!s->one && !hr_shape_equal(expected, s->updates->shape)) return wrong_updates(s, err);
    const bool nothing = s->indices->count == 0 || s->updates->count == 0 || s->to->count == 0;
    if (!nd || !nothing || (s->indices->count == 0 && s->updates->count == 0)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "Indices and updates specified for empty output");
}

/* Where slice i begins, in values; -1: out of range. */
static int64_t place(const scatter *s, int64_t i)
{
    int64_t at = 0;
    for (int d = 0; d < s->depth; d++) {
        const int64_t index = hr_int_at(s->indices, i * s->depth + d), length = s->to->shape.dims[d];
        if (index < 0 || index >= length) return -1;
        at = at * length + index;
    }
    return at * s->slice;
}

static bool divides_by_zero(const hr_tensor *updates)
{
#define CASE(T, U, D, S)                                                                                               \
    for (int64_t i = 0; updates->dtype == D && i < updates->count; i++)                                                \
        if (((const T *)updates->data)[i] == 0) return true;
    HR_INTEGER_TYPES(CASE)
#undef CASE
    return false;
}

static hr_status out_of_range(const scatter *s, int64_t i, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index", "indices[%lld] = %lld%s is not in [0, %lld)", (long long)i,
                   (long long)hr_int_at(s->indices, i * s->depth), s->depth > 1 ? ", ..." : "",
                   (long long)s->to->shape.dims[0]);
}

static hr_status scatter_all(const scatter *s, hr_error *err)
{
    const size_t size = hr_dtype_size(s->to->dtype);
    for (int64_t i = 0; i < s->count; i++) {
        const int64_t at = place(s, i);
        if (at < 0) return out_of_range(s, i, err);
        char *to = (char *)s->to->data + (size_t)at * size;
        const char *from = (const char *)s->updates->data + (s->one ? 0 : (size_t)(i * s->slice) * size);
        if (s->apply)
            s->apply(to, from, s->slice, !s->one);
        else if (!s->one)
            memcpy(to, from, (size_t)s->slice * size);
        else
            for (int64_t j = 0; j < s->slice; j++) memcpy(to + (size_t)j * size, from, size);
    }
    return HR_OK;
}

/* ---- into variables ---- */

static hr_status scatter_compute(hr_kernel *k, bool nd, hr_error *err)
{
    const hr_type_kernel *chosen = hr_kernel_chosen(k);
    scatter s = {.indices = k->input[1], .updates = k->input[2], .apply = chosen ? (apply_fn *)chosen->run : NULL};
    HR_TRY(hr_kernel_update(k, 0, &s.to, err));
    if (s.to->dtype != s.updates->dtype)
        return hr_fail(err, HR_INVALID_ARGUMENT, "variable.shape", "expected updates of %s, got %s",
                       hr_dtype_name(s.to->dtype), hr_dtype_name(s.updates->dtype));
    HR_TRY(measure(&s, nd, err));
    return scatter_all(&s, err);
}

static hr_status rows_compute(hr_kernel *k, hr_error *err) { return scatter_compute(k, false, err); }
static hr_status slices_compute(hr_kernel *k, hr_error *err) { return scatter_compute(k, true, err); }

static hr_status quotients_compute(hr_kernel *k, hr_error *err)
{
    if (divides_by_zero(k->input[2]))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "Integer division by zero");
    return rows_compute(k, err);
}

/* ---- into values ---- */

static hr_status into_zeros_compute(hr_kernel *k, hr_error *err)
{
    hr_shape shape;
    scatter s = {.indices = k->input[0], .updates = k->input[1], .apply = (apply_fn *)hr_kernel_chosen(k)->run};
    HR_TRY(hr_shape_input(k->input[2], &shape, err));
    HR_TRY(hr_kernel_output(k, 0, shape, &s.to, err));
    HR_TRY(measure(&s, true, err));
    if (s.to->count) memset(s.to->data, 0, hr_bytes_from_axis(s.to, 0));
    return scatter_all(&s, err);
}

static hr_status into_copy_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *from = k->input[0];
    const hr_type_kernel *chosen = hr_kernel_chosen(k);
    scatter s = {.indices = k->input[1], .updates = k->input[2], .apply = chosen ? (apply_fn *)chosen->run : NULL};
    HR_TRY(hr_kernel_output_over(k, 0, 0, from->shape, &s.to, err));
    HR_TRY(measure(&s, true, err));
    if (s.to->count && s.to->data != from->data) memcpy(s.to->data, from->data, hr_bytes_from_axis(from, 0));
    return scatter_all(&s, err);
}

/* What flows to the updates: the slices of `g` in their places, where GatherNd takes a vector as one index. */
static hr_node scattered(hr_node g, hr_node indices)
{
    const bool vector = hr_node_shape(indices).rank == 1;
    const hr_node at = vector ? hr_reshape(indices, hr_ints(g.graph, HR_I64(-1, 1), 2)) : indices;
    return hr_new_node(g.graph, "GatherNd", HR_INPUTS(g, at));
}

static void into_zeros_gradient(hr_backward *b) { hr_backward_give(b, 1, scattered(b->grad[0], b->input[0])); }

static void added_gradient(hr_backward *b)
{
    hr_backward_give(b, 0, b->grad[0]);
    hr_backward_give(b, 2, scattered(b->grad[0], b->input[1]));
}

static void subtracted_gradient(hr_backward *b)
{
    hr_backward_give(b, 0, b->grad[0]);
    hr_backward_give(b, 2, hr_neg(scattered(b->grad[0], b->input[1])));
}

static void replaced_gradient(hr_backward *b)
{
    const hr_node none = hr_gradient_zeros(b->input[2]);
    hr_backward_give(b, 0, hr_new_node(b->graph, "TensorScatterUpdate", HR_INPUTS(b->grad[0], b->input[1], none)));
    hr_backward_give(b, 2, scattered(b->grad[0], b->input[1]));
}

/* updates: the dimensions of the indices but the last one, then those of `into` that they do not name. */
static hr_status scatter_nd_shape(hr_infer *s, hr_error *err)
{
    const bool zeros = hr_node_is(s->node, "ScatterNd");
    const hr_shape at = s->input[zeros ? 0 : 1], updates = s->input[zeros ? 1 : 2];
    const hr_shape into = zeros ? s->output[0] : s->input[0];
    if (at.rank == 0 || updates.rank == 0)
        return hr_infer_refuse(s, err, "indices and updates of one dimension or more");
    if (at.rank < 2 || updates.rank < 0) return HR_OK;
    hr_shape named = at, first = updates, rest = HR_UNKNOWN_SHAPE, last = {0, {0}};
    named.rank = first.rank = at.rank - 1;
    const int64_t depth = at.dims[at.rank - 1];
    if (updates.rank < named.rank || !hr_shape_merge(named, first, &first) || (into.rank >= 0 && depth > into.rank))
        return hr_infer_refuse(s, err, "updates of the shape of the indices, then that of a slice");
    if (into.rank < 0 || depth < 0) return HR_OK;
    rest.rank = 0;
    for (int i = (int)depth; i < into.rank; i++) rest.dims[rest.rank++] = into.dims[i];
    for (int i = named.rank; i < updates.rank; i++) last.dims[last.rank++] = updates.dims[i];
    return hr_shape_merge(rest, last, &last) ? HR_OK : hr_infer_refuse(s, err, "updates of the shape of a slice");
}

#define COPIED "{numbers,bool,float16,bfloat16,complex64,complex128}"
#define SCATTER(NAME, SHAPE, COMPUTE, ...)                                                                             \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .traits = HR_STATEFUL | HR_NO_GRADIENT, .shape = SHAPE,                \
        .compute = COMPUTE, __VA_ARGS__                                                                                \
    }
#define BOTH(NAME, COMPUTE, ...)                                                                                       \
    SCATTER("Resource" NAME, NULL, COMPUTE, __VA_ARGS__), SCATTER(NAME, hr_infer_unchanged, COMPUTE, __VA_ARGS__)
#define INTO_VALUES(NAME, SHAPES, COMPUTE, ...)                                                                        \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .shapes = SHAPES, .shape = scatter_nd_shape, .compute = COMPUTE,       \
        __VA_ARGS__                                                                                                    \
    }
#define NUMBERS(NAME) .kernels = HR_KERNELS(NAME, floats, halves, ints, complexes)
#define ORDERED(NAME) .kernels = HR_KERNELS(NAME, floats, halves, ints)

const hr_graph_op hr_graph_ops_scatter_ops[] = {
    BOTH("ScatterAdd", rows_compute, NUMBERS(add)),
    BOTH("ScatterSub", rows_compute, NUMBERS(sub)),
    BOTH("ScatterMul", rows_compute, NUMBERS(mul)),
    BOTH("ScatterDiv", quotients_compute, NUMBERS(divide)),
    BOTH("ScatterMin", rows_compute, ORDERED(min)),
    BOTH("ScatterMax", rows_compute, ORDERED(max)),
    SCATTER("ResourceScatterUpdate", NULL, rows_compute, .types = "dtype:" COPIED),
    SCATTER("ScatterUpdate", hr_infer_unchanged, rows_compute, .types = "T:" COPIED),
    BOTH("ScatterNdAdd", slices_compute, NUMBERS(add)),
    BOTH("ScatterNdSub", slices_compute, NUMBERS(sub)),
    BOTH("ScatterNdMin", slices_compute, ORDERED(min)),
    BOTH("ScatterNdMax", slices_compute, ORDERED(max)),
    SCATTER("ResourceScatterNdUpdate", NULL, slices_compute, .types = "T:" COPIED),
    SCATTER("ScatterNdUpdate", hr_infer_unchanged, slices_compute, .types = "T:" COPIED),
    INTO_VALUES("ScatterNd", "?, ?, [?] -> shape(2)", into_zeros_compute, .gradient = into_zeros_gradient,
                .types = "Tindices:indices", .kernels = HR_KERNELS(add, floats, halves, ints, complexes, bools)),
    INTO_VALUES("ScatterNdNonAliasingAdd", "=0", into_copy_compute, .gradient = added_gradient,
                .kernels = HR_KERNELS(add, floats, halves, ints, complexes, bools)),
    INTO_VALUES("TensorScatterAdd", "=0", into_copy_compute, .gradient = added_gradient, NUMBERS(add)),
    INTO_VALUES("TensorScatterSub", "=0", into_copy_compute, .gradient = subtracted_gradient, NUMBERS(sub)),
    INTO_VALUES("TensorScatterMin", "=0", into_copy_compute, ORDERED(min)),
    INTO_VALUES("TensorScatterMax", "=0", into_copy_compute, ORDERED(max)),
    INTO_VALUES("TensorScatterUpdate", "=0", into_copy_compute, .gradient = replaced_gradient,
                .types = "T:" COPIED "; Tindices:indices"),
    HR_GRAPH_OPS_END,
};

HR_TERNARY_CONSTRUCTOR(hr_scatter_nd, "ScatterNd")
HR_TERNARY_CONSTRUCTOR(hr_tensor_scatter_update, "TensorScatterUpdate")
HR_TERNARY_CONSTRUCTOR(hr_tensor_scatter_add, "TensorScatterAdd")
HR_TERNARY_CONSTRUCTOR(hr_tensor_scatter_sub, "TensorScatterSub")
HR_TERNARY_CONSTRUCTOR(hr_tensor_scatter_max, "TensorScatterMax")
HR_TERNARY_CONSTRUCTOR(hr_tensor_scatter_min, "TensorScatterMin")
HR_TERNARY_CONSTRUCTOR(hr_scatter_update, "ResourceScatterUpdate")
HR_TERNARY_CONSTRUCTOR(hr_scatter_add, "ResourceScatterAdd")
HR_TERNARY_CONSTRUCTOR(hr_scatter_sub, "ResourceScatterSub")
HR_TERNARY_CONSTRUCTOR(hr_scatter_mul, "ResourceScatterMul")
HR_TERNARY_CONSTRUCTOR(hr_scatter_div, "ResourceScatterDiv")
HR_TERNARY_CONSTRUCTOR(hr_scatter_max, "ResourceScatterMax")
HR_TERNARY_CONSTRUCTOR(hr_scatter_min, "ResourceScatterMin")
HR_TERNARY_CONSTRUCTOR(hr_scatter_nd_update, "ResourceScatterNdUpdate")
HR_TERNARY_CONSTRUCTOR(hr_scatter_nd_add, "ResourceScatterNdAdd")
HR_TERNARY_CONSTRUCTOR(hr_scatter_nd_sub, "ResourceScatterNdSub")
HR_TERNARY_CONSTRUCTOR(hr_scatter_nd_max, "ResourceScatterNdMax")
HR_TERNARY_CONSTRUCTOR(hr_scatter_nd_min, "ResourceScatterNdMin")

hr_node hr_confusion_matrix_with(hr_node labels, hr_node predictions, int64_t classes, const hr_count_opts *opts)
{
    const hr_count_opts o = HR_OPTIONS(hr_count_opts, opts);
    hr_graph *g = labels.graph;
    if (!hr_node_exists(labels) || !hr_node_exists(predictions)) return hr_failed_node(g);
    if (classes < 1)
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.argument",
                            "hr_confusion_matrix: expected 1 class or more, got %lld", (long long)classes);
    hr_name_scope(g, o.name ? o.name : "confusion_matrix");
    const int64_t sizes[] = {classes, classes};
    const hr_tensor shape = hr_tensor_of(HR_INT64, HR_SHAPE(2), sizes);
    const hr_node pair[] = {hr_cast_to(labels, HR_INT64), hr_cast_to(predictions, HR_INT64)};
    const hr_node ones = hr_cast_to(hr_ones_like(pair[1]), o.dtype ? o.dtype : HR_INT32);
    const hr_node made = hr_scatter_nd(hr_stack(pair, 2, 1), o.weights.graph ? o.weights : ones, hr_const(g, &shape));
    hr_scope_end(g);
    return made;
}
