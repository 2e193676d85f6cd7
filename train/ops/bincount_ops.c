/* How often each number occurs, or the sum of its weights: Bincount, and DenseBincount and RaggedBincount, also of each
 * row alone. */
#include <headrace/kernels.h>

/* Adds the weights of `count` numbers below `size` to their bins; NULL: each weighs 1. `once`: a number that occurs is 1,
 * whatever it weighs. */
typedef void bin_fn(const hr_tensor *numbers, int64_t from, int64_t count, const void *weights, int64_t size, bool once,
                    void *bins);

#define BIN(T, V, U, DTYPE, SUFFIX, A, B)                                                                              \
    static void bin_##SUFFIX(const hr_tensor *numbers, int64_t from, int64_t count, const void *weights, int64_t size, \
                             bool once, void *bins)                                                                    \
    {                                                                                                                  \
        T *bin = bins;                                                                                                 \
        for (int64_t i = from; i < from + count; i++) {                                                                \
            const int64_t at = hr_int_at(numbers, i);                                                                  \
            if (at < 0 || at >= size) continue;                                                                        \
            bin[at] = once ? 1 : (T)((U)bin[at] + (U)(weights ? ((const T *)weights)[i] : 1));                         \
        }                                                                                                              \
    }
#define HR_SET_bin_ints(X, ...)                                                                                        \
    X(int32_t, int32_t, uint32_t, HR_INT32, i32, __VA_ARGS__) X(int64_t, int64_t, uint64_t, HR_INT64, i64, __VA_ARGS__)
HR_EACH_TYPE(BIN, ~, ~, floats, bin_ints)

static hr_status bincount_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *size = hr_infer_value(s, 1);
    const bool dense = hr_node_is(s->node, "DenseBincount");
    HR_TRY(hr_expect_rank("size", s->input[1], 0, err));
    if (dense && (s->input[0].rank < 0 || s->input[0].rank > 2))
        return s->input[0].rank < 0 ? HR_OK : hr_infer_refuse(s, err, "a vector of numbers, or rows of them");
    const int64_t count = size ? hr_int_at(size, 0) : -1;
    if (size && count < 0) return hr_infer_refuse(s, err, "a size of 0 or more");
    s->output[0] = dense && s->input[0].rank == 2 ? HR_SHAPE(s->input[0].dims[0], count) : HR_SHAPE(count);
    return HR_OK;
}

static hr_status bincount_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0], *weights = k->input[2];
    const bool dense = hr_node_is(k->node, "DenseBincount"), once = hr_attr_bool(k->node, "binary_output");
    bin_fn *const bin = (bin_fn *)hr_kernel_chosen(k)->run;
    hr_tensor *out;
    HR_TRY(hr_expect_rank("size", k->input[1]->shape, 0, err));
    const int64_t size = hr_int_at(k->input[1], 0);
    if (size < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "size (%lld) must be non-negative", (long long)size);
    if (dense && in->shape.rank > 2)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "Shape must be at most rank 2 but is rank %d",
                       in->shape.rank);
    const bool fits = dense ? hr_shape_equal(weights->shape, in->shape) : weights->count == in->count;
    if (weights->count > 0 && !fits)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a weight for each of %lld numbers, got %lld",
                       (long long)in->count, (long long)weights->count);
    const int64_t rows = dense && in->shape.rank == 2 ? in->shape.dims[0] : 1;
    const bool by_row = dense && in->shape.rank == 2;
    for (int64_t i = 0; !by_row && i < in->count; i++)
        if (hr_int_at(in, i) < 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "Input arr must be non-negative! Got %lld",
                           (long long)hr_int_at(in, i));
    HR_TRY(hr_kernel_output(k, 0, by_row ? HR_SHAPE(rows, size) : HR_SHAPE(size), &out, err));
    const size_t row_bytes = (size_t)size * hr_dtype_size(out->dtype);
    if (out->count) memset(out->data, 0, (size_t)rows * row_bytes);
    for (int64_t row = 0; size > 0 && row < rows; row++)
        bin(in, row * (in->count / rows), in->count / rows, weights->count ? weights->data : NULL, size, once,
            (char *)out->data + (size_t)row * row_bytes);
    return HR_OK;
}

/* ---- rows of any length ---- */

static hr_status ragged_check(const hr_kernel *k, hr_error *err)
{
    const hr_tensor *splits = k->input[0], *in = k->input[1], *weights = k->input[3];
    const int64_t *split = splits->data;
    int64_t from = 0;
    for (int64_t i = 0; i < splits->count; i++) {
        if ((i == 0 && split[i] != 0) || split[i] < from || (i == splits->count - 1 && split[i] != in->count))
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range",
                           "expected splits from 0 up to the number of values, %lld, got %lld after %lld",
                           (long long)in->count, (long long)split[i], (long long)from);
        from = split[i];
    }
    if (weights->count > 0 && weights->count != in->count)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a weight for each of %lld numbers, got %lld",
                       (long long)in->count, (long long)weights->count);
    for (int64_t i = 0; i < in->count; i++)
        if (hr_int_at(in, i) < 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "Input must be non-negative, got %lld",
                           (long long)hr_int_at(in, i));
    return HR_OK;
}

static hr_status ragged_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[1], *weights = k->input[3];
    hr_tensor *out;
    HR_TRY(hr_expect_rank("splits", k->input[0]->shape, 1, err));
    HR_TRY(hr_expect_rank("size", k->input[2]->shape, 0, err));
    const int64_t *split = k->input[0]->data, size = hr_int_at(k->input[2], 0), rows = k->input[0]->count - 1;
    if (size < 0 || rows < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected a size of 0 or more, and splits, got %lld and %s", (long long)size,
                       rows < 0 ? "none" : "some");
    HR_TRY(ragged_check(k, err));
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(rows, size), &out, err));
    const size_t row_bytes = (size_t)size * hr_dtype_size(out->dtype);
    if (out->count) memset(out->data, 0, (size_t)rows * row_bytes);
    for (int64_t row = 0; size > 0 && row < rows; row++)
        ((bin_fn *)hr_kernel_chosen(k)->run)(
            in, split[row], split[row + 1] - split[row], weights->count ? weights->data : NULL, size,
            hr_attr_bool(k->node, "binary_output"), (char *)out->data + (size_t)row * row_bytes);
    return HR_OK;
}

static hr_status ragged_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *size = hr_infer_value(s, 2);
    const int64_t count = size ? hr_int_at(size, 0) : -1, splits = s->input[0].rank < 0 ? -1 : s->input[0].dims[0];
    if (size && count < 0) return hr_infer_refuse(s, err, "a size of 0 or more");
    if (splits == 0) return hr_infer_refuse(s, err, "splits, of which the first is 0");
    s->output[0] = HR_SHAPE(splits < 0 ? -1 : splits - 1, count);
    return HR_OK;
}

const hr_graph_op hr_graph_ops_bincount_ops[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Bincount",
        .traits = HR_NO_GRADIENT,
        .kernels = HR_KERNELS(bin, floats, bin_ints),
        .shape = bincount_shape,
        .compute = bincount_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "DenseBincount",
        .traits = HR_NO_GRADIENT,
        .kernels = HR_KERNELS(bin, floats, bin_ints),
        .shape = bincount_shape,
        .compute = bincount_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "RaggedBincount",
        .traits = HR_NO_GRADIENT,
        .kernels = HR_KERNELS(bin, floats, bin_ints),
        .shapes = "[?], ?, [], ? -> [?,?]",
        .shape = ragged_shape,
        .compute = ragged_compute,
    },
    HR_GRAPH_OPS_END,
};

hr_node hr_bincount_with(hr_node x, const hr_count_opts *opts)
{
    const hr_count_opts o = HR_OPTIONS(hr_count_opts, opts);
    hr_graph *g = x.graph;
    if (!hr_node_exists(x)) return x;
    hr_name_scope(g, o.name ? o.name : "bincount");
    const hr_node numbers = hr_cast_to(x, HR_INT32), one = hr_scalar(g, HR_INT32, 1);
    const hr_node any = hr_minimum(hr_size_of(numbers), one);
    hr_node size = hr_mul(any, hr_add(hr_reduce_max(numbers), one));
    if (o.min_length) size = hr_maximum(size, hr_scalar(g, HR_INT32, (double)o.min_length));
    if (o.max_length) size = hr_minimum(size, hr_scalar(g, HR_INT32, (double)o.max_length));
    const hr_node none = hr_cast_to(hr_ints(g, NULL, 0), o.dtype ? o.dtype : HR_INT32);
    const hr_node made = hr_new_node(g, "Bincount", HR_INPUTS(numbers, size, o.weights.graph ? o.weights : none));
    hr_scope_end(g);
    return made;
}
