/* The greatest values of rows: TopKV2, InTopK; and where values lie among boundaries: Bucketize. */
#include <headrace/kernels.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* ---- TopKV2 ---- */

/* The k greatest of `n` values in order, of equal ones the first: `index` is a heap whose root is the least of those that
 * are kept, then it is sorted. */
typedef void top_fn(const void *row, int64_t n, int64_t k, int64_t *index);

#define TOP(T, V, U, DTYPE, SUFFIX, A, B)                                                                              \
    static bool before_##SUFFIX(const T *row, int64_t i, int64_t j)                                                    \
    {                                                                                                                  \
        const V x = HR_GET(SUFFIX, row[i]), y = HR_GET(SUFFIX, row[j]);                                                \
        return x > y || (!(y > x) && i < j);                                                                           \
    }                                                                                                                  \
    static void sift_##SUFFIX(const T *row, int64_t *index, int64_t at, int64_t count)                                 \
    {                                                                                                                  \
        for (int64_t child; (child = 2 * at + 1) < count; at = child) {                                                \
            if (child + 1 < count && before_##SUFFIX(row, index[child], index[child + 1])) child++;                    \
            if (before_##SUFFIX(row, index[child], index[at])) return;                                                 \
            const int64_t moved = index[at];                                                                           \
            index[at] = index[child];                                                                                  \
            index[child] = moved;                                                                                      \
        }                                                                                                              \
    }                                                                                                                  \
    static void top_##SUFFIX(const void *values, int64_t n, int64_t k, int64_t *index)                                 \
    {                                                                                                                  \
        const T *row = values;                                                                                         \
        for (int64_t i = 0; i < k; i++) index[i] = i;                                                                  \
        for (int64_t i = k / 2; i-- > 0;) sift_##SUFFIX(row, index, i, k);                                             \
        for (int64_t i = k; i < n && k > 0; i++) {                                                                     \
            if (!before_##SUFFIX(row, i, index[0])) continue;                                                          \
            index[0] = i;                                                                                              \
            sift_##SUFFIX(row, index, 0, k);                                                                           \
        }                                                                                                              \
        for (int64_t last = k - 1; last > 0; last--) {                                                                 \
            const int64_t least = index[0];                                                                            \
            index[0] = index[last];                                                                                    \
            index[last] = least;                                                                                       \
            sift_##SUFFIX(row, index, 0, last);                                                                        \
        }                                                                                                              \
    }
HR_EACH_TYPE(TOP, ~, ~, floats, halves, ints)

static hr_status top_k_expect(hr_shape in, int64_t k, hr_error *err)
{
    if (in.rank == 0) return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "input must be >= 1-D, got shape []");
    if (k < 0) return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "Need k >= 0, got %lld", (long long)k);
    const int64_t columns = in.rank > 0 ? in.dims[in.rank - 1] : -1;
    if (columns < 0 || k <= columns) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "input must have at least k columns. Had %lld, needed %lld",
                   (long long)columns, (long long)k);
}

static hr_status top_k_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *value = hr_infer_value(s, 1);
    HR_TRY(hr_expect_rank("k", s->input[1], 0, err));
    const int64_t k = value ? hr_int_at(value, 0) : -1;
    HR_TRY(top_k_expect(s->input[0], k < 0 && !value ? 0 : k, err));
    hr_shape shape = s->input[0];
    if (shape.rank > 0) shape.dims[shape.rank - 1] = k;
    s->output[0] = s->output[1] = shape;
    return HR_OK;
}

static hr_status top_k_compute(hr_kernel *k, hr_error *err)
{
    top_fn *const top = (top_fn *)hr_kernel_chosen(k)->run;
    const hr_tensor *in = k->input[0];
    hr_shape shape = in->shape;
    hr_tensor *values, *indices;
    HR_TRY(hr_expect_rank("k", k->input[1]->shape, 0, err));
    const int64_t count = hr_int_at(k->input[1], 0);
    HR_TRY(top_k_expect(shape, count, err));
    const int64_t columns = shape.dims[shape.rank - 1];
    shape.dims[shape.rank - 1] = count;
    HR_TRY(hr_kernel_output(k, 0, shape, &values, err));
    HR_TRY(hr_kernel_output(k, 1, shape, &indices, err));
    int64_t *index;
    HR_TRY(hr_kernel_array(k, count, sizeof *index, "indices", &index, err));
    const size_t size = hr_dtype_size(in->dtype);
    for (int64_t at = 0; at < values->count; at += count) {
        const char *row = (const char *)in->data + (size_t)(at / count * columns) * size;
        top(row, columns, count, index);
        for (int64_t i = 0; i < count; i++) {
            memcpy((char *)values->data + (size_t)(at + i) * size, row + (size_t)index[i] * size, size);
            if (indices->dtype == HR_INT16)
                ((int16_t *)indices->data)[at + i] = (int16_t)index[i];
            else
                HR_TRY(hr_put_int(indices, at + i, index[i], err));
        }
    }
    return HR_OK;
}

/* What flows to each place that was taken; places are counted over all rows. */
static void top_k_gradient(hr_backward *b)
{
    hr_graph *g = b->graph;
    const hr_node x = b->input[0], minus = hr_ints(g, HR_I64(-1), 1), zero = hr_scalar(g, HR_INT32, 0);
    const hr_node shape = hr_shape_of(x), size = hr_size_of(x), columns = hr_strided_slice(shape, {.at = HR_I64(-1)});
    const hr_node starts =
        hr_new_node(g, "Range", HR_INPUTS(zero, size, hr_maximum(columns, hr_scalar(g, HR_INT32, 1))));
    const hr_node taken = hr_reshape(hr_cast_to(b->output[1], HR_INT32),
                                     hr_new_node(g, "Pack", HR_INPUTS(hr_size_of(starts), hr_scalar(g, HR_INT32, -1))));
    const hr_node places = hr_reshape(hr_add(taken, hr_expand_dims(starts, hr_scalar(g, HR_INT32, 1))), minus);
    const hr_node sum = hr_new_node(g, "UnsortedSegmentSum", HR_INPUTS(hr_reshape(b->grad[0], minus), places, size));
    hr_backward_give(b, 0, hr_reshape(sum, shape));
}

/* ---- InTopK: whether a class is among the k of the greatest predictions; without a finite row it is not ---- */

static bool among_top(const float *row, int64_t classes, int64_t target, int64_t k)
{
    int64_t greater = 0;
    if (target < 0 || target >= classes || !isfinite(row[target])) return false;
    for (int64_t i = 0; i < classes && greater <= k; i++) {
        if (!isfinite(row[i])) return false;
        greater += row[i] > row[target];
    }
    return greater < k;
}

static hr_status in_top_k_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0], *targets = k->input[1];
    hr_tensor *out;
    if (in->shape.rank != 2)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "predictions must be 2-dimensional, got rank %d",
                       in->shape.rank);
    HR_TRY(hr_expect_rank("targets", targets->shape, 1, err));
    if (in->shape.dims[0] != targets->count)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "First dimension of predictions %lld must match length of targets %lld",
                       (long long)in->shape.dims[0], (long long)targets->count);
    if (k->inputs > 2) HR_TRY(hr_expect_rank("k", k->input[2]->shape, 0, err));
    const int64_t most = k->inputs > 2 ? hr_int_at(k->input[2], 0) : hr_attr_int(k->node, "k");
    HR_TRY(hr_kernel_output(k, 0, targets->shape, &out, err));
    for (int64_t i = 0; i < out->count; i++)
        ((bool *)out->data)[i] =
            among_top((const float *)in->data + i * in->shape.dims[1], in->shape.dims[1], hr_int_at(targets, i), most);
    return HR_OK;
}

/* ---- Bucketize: how many boundaries are not above a value ---- */

/* Denormals are 0, as in TensorFlow's kernels, and in pipelines (hr_bucketize). */
static float bucket_normal(float x) { return fabsf(x) < FLT_MIN ? 0 : x; }

#define BUCKETS(T, V, U, DTYPE, SUFFIX, A, B)                                                                          \
    static int32_t bucket_##SUFFIX(const void *data, int64_t at, const float *boundary, int count)                     \
    {                                                                                                                  \
        const T x = ((const T *)data)[at];                                                                             \
        int low = 0;                                                                                                   \
        while (count > 0) {                                                                                            \
            const int half = count / 2;                                                                                \
            const bool above = x < (A)bucket_normal(boundary[low + half]);                                             \
            low += above ? 0 : half + 1;                                                                               \
            count = above ? half : count - half - 1;                                                                   \
        }                                                                                                              \
        return low;                                                                                                    \
    }
HR_EACH_TYPE(BUCKETS, double, ~, floats)

typedef int32_t bucket_fn(const void *data, int64_t at, const float *boundary, int count);

static int32_t bucket_float(const void *data, int64_t at, const float *boundary, int count)
{
    return bucket_f32(&(const float){bucket_normal(((const float *)data)[at])}, 0, boundary, count);
}
/* A whole number is compared as float, as C does it. */
static int32_t bucket_i32(const void *data, int64_t at, const float *boundary, int count)
{
    return bucket_f32(&(const float){(float)((const int32_t *)data)[at]}, 0, boundary, count);
}
static int32_t bucket_i64(const void *data, int64_t at, const float *boundary, int count)
{
    return bucket_f32(&(const float){(float)((const int64_t *)data)[at]}, 0, boundary, count);
}

static hr_status bucketize_compute(hr_kernel *k, hr_error *err)
{
    const hr_attr *boundaries = hr_node_attr(k->node, "boundaries");
    const hr_dtype type = k->input[0]->dtype;
    bucket_fn *const bucket = type == HR_FLOAT    ? bucket_float
                              : type == HR_DOUBLE ? bucket_f64
                              : type == HR_INT32  ? bucket_i32
                                                  : bucket_i64;
    hr_tensor *out;
    for (int i = 1; i < boundaries->count; i++)
        if (boundaries->floats[i] < boundaries->floats[i - 1])
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr", "Expected sorted boundaries, got %g after %g",
                           (double)boundaries->floats[i], (double)boundaries->floats[i - 1]);
    HR_TRY(hr_kernel_output(k, 0, k->input[0]->shape, &out, err));
    for (int64_t i = 0; i < out->count; i++)
        ((int32_t *)out->data)[i] = bucket(k->input[0]->data, i, boundaries->floats, boundaries->count);
    return HR_OK;
}

#define TOP_K_OP(NAME, COMPUTE, ...)                                                                                   \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .compute = (COMPUTE), __VA_ARGS__                                    \
    }

const hr_graph_op hr_graph_ops_top_k_ops[] = {
    TOP_K_OP("Bucketize", bucketize_compute, .traits = HR_NO_GRADIENT, .shapes = "=0"),
    TOP_K_OP("InTopK", in_top_k_compute, .traits = HR_NO_GRADIENT, .shapes = "[n,?], [n] -> [n]"),
    TOP_K_OP("InTopKV2", in_top_k_compute, .traits = HR_NO_GRADIENT, .shapes = "[n,?], [n], [] -> [n]"),
    TOP_K_OP("TopKV2", top_k_compute, .shape = top_k_shape, .kernels = HR_KERNELS(top, floats, halves, ints),
             .types = "Tk:indices", .gradient = top_k_gradient),
    HR_GRAPH_OPS_END,
};

static hr_node top_k_node(const char *name, hr_node x, hr_node k, bool sorted)
{
    return hr_new_node(x.graph, "TopKV2", .name = name, HR_INPUTS(x, k), HR_ATTRS(HR_BOOL_ATTR("sorted", sorted)));
}

/* A number of TensorFlow's int32, or int64 where it is larger. */
static hr_node whole(hr_graph *g, int64_t k) { return hr_scalar(g, k == (int32_t)k ? HR_INT32 : HR_INT64, (double)k); }

hr_node hr_top_k_with(hr_node x, int64_t k, const hr_top_k_opts *opts)
{
    const hr_top_k_opts o = HR_OPTIONS(hr_top_k_opts, opts);
    return hr_node_exists(x) ? top_k_node(o.name, x, whole(x.graph, k), !o.not_sorted) : x;
}

hr_node hr_in_top_k(hr_node predictions, hr_node targets, int64_t k)
{
    return hr_new_node(predictions.graph, "InTopKV2",
                       HR_INPUTS(predictions, targets, hr_scalar_like(targets, (double)k)));
}

hr_node hr_bucketize_values(hr_node x, const float *boundaries, int count)
{
    const hr_attr rising = {.name = "boundaries", .kind = HR_ATTR_FLOATS, .count = count, .floats = boundaries};
    return hr_new_node(x.graph, "Bucketize", HR_INPUTS(x), HR_ATTRS(rising));
}

/* ---- sort: the greatest of all, or of all in the opposite order ---- */

/* The same numbers in the opposite order: -x, and of whole ones -1 - x, which always exists. */
static hr_node turned(hr_node x)
{
    const hr_dtype dtype = hr_node_dtype(x);
    const bool real = dtype == HR_FLOAT || dtype == HR_DOUBLE || dtype == HR_HALF || dtype == HR_BFLOAT16;
    return real ? hr_neg(x) : hr_sub(hr_sub(hr_zeros_like(x), hr_ones_like(x)), x);
}

/* An axis other than the last one changes places with it, there and back. */
static hr_node sort_rows(hr_node x, const hr_sort_opts *o, bool places)
{
    const hr_node size = hr_strided_slice(hr_shape_of(x), {.at = HR_I64(-1)});
    const hr_node top = top_k_node(NULL, o->descending ? x : turned(x), size, true);
    if (places) return hr_node_output(top, 1);
    return o->descending || !hr_node_exists(top) ? top : turned(top);
}

static hr_node sort_along(hr_node x, const hr_sort_opts *o, bool places)
{
    const int rank = hr_node_shape(x).rank;
    int axis = -1;
    hr_error err;
    if (!o->axis || *o->axis == -1 || *o->axis == rank - 1) return sort_rows(x, o, places);
    if (rank < 0)
        return hr_node_fail(x.graph, HR_INVALID_ARGUMENT, "graph.shape",
                            "hr_sort: expected values of known rank for axis %d, got an unknown one", *o->axis);
    if (hr_axis(*o->axis, rank, &axis, &err) != HR_OK)
        return hr_node_fail(x.graph, err.code, err.kind, "hr_sort: %s", err.text);
    int64_t order[HR_MAX_RANK];
    for (int i = 0; i < rank; i++) order[i] = i == axis ? rank - 1 : i == rank - 1 ? axis : i;
    const hr_node exchange = hr_ints(x.graph, order, rank);
    return hr_transpose(sort_rows(hr_transpose(x, exchange), o, places), exchange);
}

static hr_node sort_in_scope(hr_node x, const hr_sort_opts *opts, const char *name, bool places)
{
    const hr_sort_opts o = HR_OPTIONS(hr_sort_opts, opts);
    if (!hr_node_exists(x)) return x;
    hr_name_scope(x.graph, o.name ? o.name : name);
    const hr_node made = sort_along(hr_node_value(x), &o, places);
    hr_scope_end(x.graph);
    return made;
}
hr_node hr_sort_with(hr_node x, const hr_sort_opts *opts) { return sort_in_scope(x, opts, "sort", false); }
hr_node hr_argsort_with(hr_node x, const hr_sort_opts *opts) { return sort_in_scope(x, opts, "argsort", true); }
