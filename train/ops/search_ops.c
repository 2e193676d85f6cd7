/* Where values lie in rows in order: LowerBound, UpperBound; indices as coordinates: UnravelIndex; numbers in even steps:
 * LinSpace; what passes a value on: EnsureShape, Snapshot. */
#include <headrace/kernels.h>

/* ---- LowerBound, UpperBound ---- */

/* How many values of the row are below y, and how many are not above it. */
typedef int64_t bound_fn(const void *row, int64_t n, const void *y, bool upper);
#define BOUND(T, V, U, DTYPE, SUFFIX, A, B)                                                                            \
    static int64_t bound_##SUFFIX(const void *row, int64_t n, const void *value, bool upper)                           \
    {                                                                                                                  \
        const V y = HR_GET(SUFFIX, *(const T *)value);                                                                 \
        int64_t first = 0;                                                                                             \
        while (n > 0) {                                                                                                \
            const int64_t half = n / 2;                                                                                \
            const V x = HR_GET(SUFFIX, ((const T *)row)[first + half]);                                                \
            const bool before = upper ? !(y < x) : x < y;                                                              \
            first += before ? half + 1 : 0;                                                                            \
            n = before ? n - half - 1 : half;                                                                          \
        }                                                                                                              \
        return first;                                                                                                  \
    }
HR_EACH_TYPE(BOUND, ~, ~, floats, halves, ints)

static hr_status bound_compute(hr_kernel *k, hr_error *err)
{
    bound_fn *const bound = (bound_fn *)hr_kernel_chosen(k)->run;
    const hr_tensor *rows = k->input[0], *values = k->input[1];
    const bool upper = hr_node_op(k->node)[0] == 'U';
    const size_t size = hr_dtype_size(rows->dtype);
    hr_tensor *out;
    if (rows->shape.rank != 2 || values->shape.rank != 2 || rows->shape.dims[0] != values->shape.dims[0])
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected two matrices of as many rows: sorted inputs and values");
    const int64_t length = rows->shape.dims[1], columns = values->shape.dims[1];
    HR_TRY(hr_kernel_output(k, 0, values->shape, &out, err));
    for (int64_t i = 0; i < values->count; i++) {
        const char *row = (const char *)rows->data + (size_t)(i / columns * length) * size;
        HR_TRY(hr_put_int(out, i, bound(row, length, (const char *)values->data + (size_t)i * size, upper), err));
    }
    return HR_OK;
}

/* ---- UnravelIndex ---- */

static hr_status unravel_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *at = k->input[0], *dims = k->input[1];
    int64_t size = 1;
    hr_tensor *out;
    HR_TRY(hr_expect_rank("dims", dims->shape, 1, err));
    if (at->shape.rank > 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "The indices can only be scalar or vector");
    for (int64_t d = 0; d < dims->count; d++) {
        if (hr_int_at(dims, d) <= 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "expected dims above 0, got %lld",
                           (long long)hr_int_at(dims, d));
        HR_TRY(hr_dim_mul(size, hr_int_at(dims, d), &size, err));
    }
    for (int64_t i = 0; i < at->count; i++)
        if (hr_int_at(at, i) <= -size || hr_int_at(at, i) >= size)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "index is out of bound as with dims: %lld",
                           (long long)hr_int_at(at, i));
    hr_shape shape = {.rank = at->shape.rank + 1, .dims = {dims->count, at->count}};
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    for (int64_t i = 0; i < at->count; i++) {
        int64_t rest = hr_int_at(at, i);
        for (int64_t d = dims->count; d-- > 0; rest /= hr_int_at(dims, d)) {
            const int64_t length = hr_int_at(dims, d);
            HR_TRY(hr_put_int(out, d * at->count + i, rest % length, err));
        }
    }
    return HR_OK;
}

/* ---- LinSpace ---- */

#define STEPS(T, V, U, DTYPE, SUFFIX, A, B)                                                                            \
    static void steps_##SUFFIX(const hr_kernel *k, hr_tensor *out)                                                     \
    {                                                                                                                  \
        const T start = *(const T *)k->input[0]->data, stop = *(const T *)k->input[1]->data;                           \
        const T step = out->count > 1 ? (stop - start) / (T)(out->count - 1) : 0;                                      \
        T *z = out->data;                                                                                              \
        for (int64_t i = 0; i < out->count; i++) z[i] = start + step * (T)i;                                           \
        if (out->count > 1) z[out->count - 1] = stop;                                                                  \
    }
HR_EACH_TYPE(STEPS, ~, ~, floats)

static hr_status linspace_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_expect_rank("start", k->input[0]->shape, 0, err));
    HR_TRY(hr_expect_rank("stop", k->input[1]->shape, 0, err));
    HR_TRY(hr_expect_rank("num", k->input[2]->shape, 0, err));
    int64_t count = hr_int_at(k->input[2], 0);
    if (count <= 0) return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "Requires num > 0: %lld", (long long)count);
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(count), &out, err));
    ((void (*)(const hr_kernel *, hr_tensor *))hr_kernel_chosen(k)->run)(k, out);
    return HR_OK;
}

/* ---- EnsureShape ---- */

static hr_status ensure(hr_node node, hr_shape in, hr_shape *out, hr_error *err)
{
    char a[128], b[128];
    const hr_shape expected = hr_attr_shape(node, "shape");
    if (hr_shape_merge(in, expected, out)) return HR_OK;
    return hr_fail(
        err, HR_INVALID_ARGUMENT, "graph.shape", "Shape of tensor %s %s is not compatible with expected shape %s",
        hr_node_name(hr_node_input(node, 0)), hr_shape_text(in, a, sizeof a), hr_shape_text(expected, b, sizeof b));
}

static hr_status ensure_shape(hr_infer *s, hr_error *err) { return ensure(s->node, s->input[0], &s->output[0], err); }

static hr_status ensure_compute(hr_kernel *k, hr_error *err)
{
    hr_shape shape;
    HR_TRY(ensure(k->node, k->input[0]->shape, &shape, err));
    return hr_kernel_pass(k, 0, 0, shape, err);
}

static hr_status snapshot_compute(hr_kernel *k, hr_error *err)
{
    return hr_kernel_pass(k, 0, 0, k->input[0]->shape, err);
}

HR_UNARY_GRADIENT(ensure, g)

#define SEARCH_OP(NAME, TRAITS, COMPUTE, ...)                                                                          \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .traits = (TRAITS), .compute = (COMPUTE), __VA_ARGS__                \
    }
const hr_graph_op hr_graph_ops_search_ops[] = {
    SEARCH_OP("EnsureShape", HR_CHEAP, ensure_compute, .types = "T:any", .shape = ensure_shape,
              .gradient = ensure_gradient),
    SEARCH_OP("LinSpace", HR_NO_GRADIENT, linspace_compute, .types = "Tidx:indices", .shapes = "[], [], [] -> [?]",
              .kernels = HR_KERNELS(steps, floats)),
    SEARCH_OP("LowerBound", 0, bound_compute, .shapes = "[n,?], [n,m] -> [n,m]",
              .kernels = HR_KERNELS(bound, floats, halves, ints)),
    SEARCH_OP("Snapshot", HR_CHEAP, snapshot_compute, .types = "T:any", .shapes = "=0"),
    SEARCH_OP("UnravelIndex", 0, unravel_compute, .types = "Tidx:indices"),
    SEARCH_OP("UpperBound", 0, bound_compute, .shapes = "[n,?], [n,m] -> [n,m]",
              .kernels = HR_KERNELS(bound, floats, halves, ints)),
    HR_GRAPH_OPS_END,
};
