/* HistogramFixedWidth: how many values there are in each of several bins of one width. */
#include <headrace/kernels.h>
#include <string.h>

/* Counts the values by bin: what is below the range is in the first one, what is above in the last one. False: one is
 * not a number. */
typedef bool histogram_fn(const hr_tensor *in, const void *range, int64_t bins, int64_t *count);

/* Floating numbers differ in their own type, as TensorFlow has it; whole ones would not all fit. */
#define OF_FLOATS(T, a, b) ((double)(T)((a) - (b)))
#define OF_INTS(T, a, b) ((double)(a) - (double)(b))
#define HISTOGRAM(T, V, U, DTYPE, SUFFIX, DIFFERENCE, B)                                                               \
    static bool histogram_##SUFFIX(const hr_tensor *in, const void *range, int64_t bins, int64_t *count)               \
    {                                                                                                                  \
        const T *x = in->data, low = ((const T *)range)[0], high = ((const T *)range)[1];                              \
        const double step = DIFFERENCE(T, high, low) / (double)bins;                                                   \
        for (int64_t i = 0; i < in->count; i++) {                                                                      \
            const double at = x[i] > low ? DIFFERENCE(T, x[i], low) / step : 0;                                        \
            if (x[i] != x[i]) return false;                                                                            \
            count[at < (double)bins - 1 ? (int64_t)at : bins - 1]++;                                                   \
        }                                                                                                              \
        return true;                                                                                                   \
    }
#define HR_SET_histogram_ints(X, ...)                                                                                  \
    X(int32_t, int32_t, uint32_t, HR_INT32, i32, __VA_ARGS__) X(int64_t, int64_t, uint64_t, HR_INT64, i64, __VA_ARGS__)
HR_EACH_TYPE(HISTOGRAM, OF_FLOATS, ~, floats)
HR_EACH_TYPE(HISTOGRAM, OF_INTS, ~, histogram_ints)

#define IS_RANGE(T, V, U, DTYPE, SUFFIX, A, B)                                                                         \
    case DTYPE:                                                                                                        \
        return ((const T *)range)[0] < ((const T *)range)[1];

static bool is_range(hr_dtype dtype, const void *range)
{
    switch (dtype) {
        HR_EACH_TYPE(IS_RANGE, ~, ~, floats, histogram_ints)
    default:
        return false;
    }
}

static hr_status histogram_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *bins = hr_infer_value(s, 2);
    if (bins && hr_int_at(bins, 0) < 1) return hr_infer_refuse(s, err, "nbins of 1 or more");
    s->output[0] = HR_SHAPE(bins ? hr_int_at(bins, 0) : -1);
    return HR_OK;
}

static hr_status histogram_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0], *range = k->input[1];
    hr_tensor *out;
    int64_t *count;
    HR_TRY(hr_expect_rank("nbins", k->input[2]->shape, 0, err));
    HR_TRY(hr_expect_rank("value_range", range->shape, 1, err));
    if (range->count != 2)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "value_range should be a vector of 2 elements, not %lld", (long long)range->count);
    const int64_t bins = hr_int_at(k->input[2], 0);
    if (bins < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "nbins should be a positive number, but got '%lld'",
                       (long long)bins);
    if (!is_range(range->dtype, range->data))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range",
                       "value_range should satisfy value_range[0] < value_range[1]");
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(bins), &out, err));
    HR_TRY(hr_kernel_array(k, bins, sizeof *count, "bins", &count, err));
    memset(count, 0, sizeof *count * (size_t)bins);
    if (!((histogram_fn *)hr_kernel_chosen(k)->run)(in, range->data, bins, count))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "Histogram values must not contain NaN");
    for (int64_t i = 0; i < bins; i++) HR_TRY(hr_put_int(out, i, count[i], err));
    return HR_OK;
}

const hr_graph_op hr_graph_ops_histogram_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "HistogramFixedWidth",
        .traits = HR_NO_GRADIENT,
        .kernels = HR_KERNELS(histogram, floats, histogram_ints),
        .shapes = "?, [2], [] -> [?]",
        .shape = histogram_shape,
        .compute = histogram_compute,
    },
    HR_GRAPH_OPS_END,
};
