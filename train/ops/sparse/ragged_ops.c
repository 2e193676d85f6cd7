/* Ragged tensors as nested row splits and values: ranges, rows taken by index, sparse forms. */
#include "train/ops/sparse/ragged.h"
#include <math.h>

/* ---- RaggedRange ---- */

/* How many numbers each range has, and the numbers; -1: too many, -2: the step is 0. */
typedef struct ranges {
    int64_t (*count)(const void *start, const void *limit, const void *delta);
    void (*fill)(const void *start, const void *delta, int64_t count, void *out);
} ranges;

#define FILL_RANGE(T, V, U, D, S, A, B)                                                                                \
    static void fill_range_##S(const void *start, const void *delta, int64_t count, void *out)                         \
    {                                                                                                                  \
        U value = (U) * (const T *)start;                                                                              \
        for (int64_t i = 0; i < count; i++, value += (U) * (const T *)delta) ((T *)out)[i] = (T)value;                 \
    }
#define COUNT_FLOATS(T, V, U, D, S, A, B)                                                                              \
    static int64_t count_range_##S(const void *start, const void *limit, const void *delta)                            \
    {                                                                                                                  \
        const T from = *(const T *)start, to = *(const T *)limit, by = *(const T *)delta;                              \
        if (by == 0) return -2;                                                                                        \
        if ((by > 0 && to < from) || (by < 0 && to > from)) return 0;                                                  \
        const double count = ceil(fabs((double)((to - from) / by)));                                                   \
        return count <= (double)INT32_MAX ? (int64_t)count : -1;                                                       \
    }
#define COUNT_INTS(T, V, U, D, S, A, B)                                                                                \
    static int64_t count_range_##S(const void *start, const void *limit, const void *delta)                            \
    {                                                                                                                  \
        const int64_t from = *(const T *)start, to = *(const T *)limit, by = *(const T *)delta;                        \
        if (by == 0) return -2;                                                                                        \
        if (from == to || (by > 0) != (to > from)) return 0;                                                           \
        const uint64_t way = by > 0 ? (uint64_t)to - (uint64_t)from : (uint64_t)from - (uint64_t)to;                   \
        const uint64_t step = by > 0 ? (uint64_t)by : 0 - (uint64_t)by, count = (way - 1) / step + 1;                  \
        return count <= INT32_MAX ? (int64_t)count : -1;                                                               \
    }
#define RANGES(T, V, U, D, S, A, B) static const ranges ranges_##S = {count_range_##S, fill_range_##S};
HR_EACH_TYPE(COUNT_FLOATS, ~, ~, floats)
HR_EACH_TYPE(COUNT_INTS, ~, ~, signed_ints)
HR_EACH_TYPE(FILL_RANGE, ~, ~, floats, signed_ints)
HR_EACH_TYPE(RANGES, ~, ~, floats, signed_ints)

static const void *range_input(const hr_kernel *k, int input, int64_t row)
{
    const hr_tensor *t = k->input[input];
    return (const char *)t->data + (t->shape.rank == 0 ? 0 : (size_t)row * hr_dtype_size(t->dtype));
}

/* Scalars go with all rows. */
static hr_status range_rows(const hr_kernel *k, int64_t *rows, hr_error *err)
{
    *rows = -1;
    for (int i = 0; i < 3; i++) {
        const hr_shape shape = k->input[i]->shape;
        if (shape.rank > 1 || (shape.rank == 1 && *rows >= 0 && shape.dims[0] != *rows))
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                           "starts, limits, and deltas must have the same shape: scalars or vectors, got %lld values "
                           "beside %lld",
                           (long long)k->input[i]->count, (long long)*rows);
        if (shape.rank == 1) *rows = shape.dims[0];
    }
    if (*rows < 0) *rows = 1;
    return HR_OK;
}

static hr_status range_compute(hr_kernel *k, hr_error *err)
{
    const ranges *of = hr_kernel_chosen(k)->more;
    const size_t size = hr_dtype_size(k->input[0]->dtype);
    int64_t rows, all = 0;
    hr_tensor *splits, *values;
    HR_TRY(range_rows(k, &rows, err));
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(rows + 1), &splits, err));
    HR_TRY(hr_put_int(splits, 0, 0, err));
    for (int64_t i = 0; i < rows; i++) {
        const int64_t count = of->count(range_input(k, 0, i), range_input(k, 1, i), range_input(k, 2, i));
        if (count < 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "Requires %s in row %lld",
                           count == -2 ? "delta != 0" : "fewer numbers", (long long)i);
        HR_TRY(hr_dim_add(all, count, &all, err));
        HR_TRY(hr_put_int(splits, i + 1, all, err));
    }
    HR_TRY(hr_kernel_output(k, 1, HR_SHAPE(all), &values, err));
    for (int64_t i = 0; i < rows; i++) {
        const int64_t first = hr_int_at(splits, i);
        of->fill(range_input(k, 0, i), range_input(k, 2, i), hr_int_at(splits, i + 1) - first,
                 (char *)values->data + (size_t)first * size);
    }
    return HR_OK;
}

/* ---- RaggedGather: inputs are splits, values, indices ---- */

static hr_status gather_check(const hr_kernel *k, int64_t levels, hr_error *err)
{
    const hr_tensor *values = k->input[levels], *ids = k->input[levels + 1];
    if (hr_attr_int(k->node, "OUTPUT_RAGGED_RANK") != ids->shape.rank + levels - 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected an OUTPUT_RAGGED_RANK of %lld, of indices of rank %d, got %d",
                       (long long)(ids->shape.rank + levels - 1), ids->shape.rank, k->outputs - 1);
    HR_TRY(ragged_check_nested(k->input, levels, values, false, err));
    for (int64_t i = 0; i < ids->count; i++)
        if (hr_int_at(ids, i) < 0 || hr_int_at(ids, i) >= k->input[0]->count - 1)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index", "indices[%lld] = %lld is not in [0, %lld)",
                           (long long)i, (long long)hr_int_at(ids, i), (long long)k->input[0]->count - 1);
    return HR_OK;
}

/* Splits of the dimensions of the indices but the first: rows of one length. */
static hr_status gather_outer(hr_kernel *k, hr_shape ids, hr_error *err)
{
    for (int d = 0; d + 1 < ids.rank; d++) {
        const int64_t rows = hr_values_before_axis(ids, d + 1);
        hr_tensor *out;
        HR_TRY(hr_kernel_output(k, d, HR_SHAPE(rows + 1), &out, err));
        for (int64_t i = 0; i <= rows; i++) HR_TRY(hr_put_int(out, i, i * ids.dims[d + 1], err));
    }
    return HR_OK;
}

typedef struct span {
    int64_t first, end;
} span;

/* The lengths of rows in all spans, as splits; each span becomes that of its rows. */
static hr_status gather_level(hr_kernel *k, const hr_tensor *splits, int output, span *spans, int64_t count,
                              hr_error *err)
{
    int64_t rows = 0, at = 0, sum = 0;
    hr_tensor *out = NULL;
    for (int64_t i = 0; i < count; i++) HR_TRY(hr_dim_add(rows, spans[i].end - spans[i].first, &rows, err));
    if (output >= 0) {
        HR_TRY(hr_kernel_output(k, output, HR_SHAPE(rows + 1), &out, err));
        HR_TRY(hr_put_int(out, at++, 0, err));
    }
    for (int64_t i = 0; i < count; i++) {
        for (int64_t row = spans[i].first; out && row < spans[i].end; row++) {
            HR_TRY(hr_dim_add(sum, hr_int_at(splits, row + 1) - hr_int_at(splits, row), &sum, err));
            HR_TRY(hr_put_int(out, at++, sum, err));
        }
        spans[i] = (span){hr_int_at(splits, spans[i].first), hr_int_at(splits, spans[i].end)};
    }
    return HR_OK;
}

static hr_status gather_values(hr_kernel *k, const hr_tensor *values, const span *spans, int64_t count, hr_error *err)
{
    const size_t row = hr_bytes_from_axis(values, 1);
    hr_shape shape = values->shape;
    hr_tensor scratch, *out;
    shape.dims[0] = 0;
    for (int64_t i = 0; i < count; i++)
        HR_TRY(hr_dim_add(shape.dims[0], spans[i].end - spans[i].first, &shape.dims[0], err));
    HR_TRY(hr_kernel_begin_output(k, k->outputs - 1, shape, &scratch, &out, err));
    char *to = out->data;
    for (int64_t i = 0; i < count; i++) {
        const size_t bytes = (size_t)(spans[i].end - spans[i].first) * row;
        if (bytes) memcpy(to, (const char *)values->data + (size_t)spans[i].first * row, bytes);
        to += bytes;
    }
    return hr_kernel_end_output(k, k->outputs - 1, &scratch, out, err);
}

static hr_status gather_compute(hr_kernel *k, hr_error *err)
{
    const int levels = k->inputs - 2;
    const hr_tensor *ids = k->input[levels + 1];
    HR_TRY(gather_check(k, levels, err));
    HR_TRY(gather_outer(k, ids->shape, err));
    span *spans;
    HR_TRY(hr_kernel_array(k, ids->count + 1, sizeof *spans, "rows of a ragged tensor", &spans, err));
    for (int64_t i = 0; i < ids->count; i++) spans[i] = (span){hr_int_at(ids, i), hr_int_at(ids, i) + 1};
    for (int i = 0; i < levels; i++)
        HR_TRY(gather_level(k, k->input[i], ids->shape.rank - 1 + i, spans, ids->count, err));
    return gather_values(k, k->input[levels], spans, ids->count, err);
}

/* What flows to a row of values is the sum over all places that it was taken to. */
static void gather_gradient(hr_backward *b)
{
    const int levels = b->inputs - 2;
    const hr_node values = b->input[levels], ids = b->input[levels + 1], g = b->grad[b->outputs - 1];
    if (!hr_node_exists(g)) return;
    const hr_node flat = hr_reshape(ids, hr_ints(b->graph, (const int64_t[]){-1}, 1));
    hr_node first = hr_gather(b->input[0], flat, 0);
    hr_node end = hr_gather(b->input[0], hr_add(flat, hr_scalar_like(flat, 1)), 0);
    for (int i = 1; i < levels; i++) {
        first = hr_gather(b->input[i], first, 0);
        end = hr_gather(b->input[i], end, 0);
    }
    const hr_node places = hr_new_node(b->graph, "RaggedRange", HR_INPUTS(first, end, hr_scalar_like(first, 1)));
    const int64_t zero = 0;
    const hr_node rows = hr_strided_slice(hr_shape_of(values), {.at = &zero});
    hr_backward_give(b, levels,
                     hr_new_node(b->graph, "UnsortedSegmentSum", HR_INPUTS(g, hr_node_output(places, 1), rows)));
}

/* ---- RaggedTensorToSparse ---- */

static int64_t longest_row(const hr_tensor *splits)
{
    int64_t longest = 0;
    for (int64_t i = 1; i < splits->count; i++) {
        const int64_t length = hr_int_at(splits, i) - hr_int_at(splits, i - 1);
        if (length > longest) longest = length;
    }
    return longest;
}

/* The indices of all values: `at` is how far each level has come. */
static void sparse_places(const hr_kernel *k, int levels, const hr_tensor *values, int64_t *out)
{
    const int rank = levels + values->shape.rank;
    const int64_t each = values->shape.dims[0] ? values->count / values->shape.dims[0] : 0;
    int64_t at[HR_MAX_RANK] = {0};
    for (int64_t row = 0; row < values->shape.dims[0]; row++) {
        int64_t item = row, index[HR_MAX_RANK] = {0};
        for (int i = levels - 1; i >= 0; i--) { /* items of a level follow each other, so their rows only rise */
            while (hr_int_at(k->input[i], at[i] + 1) <= item) at[i]++;
            index[i + 1] = item - hr_int_at(k->input[i], at[i]);
            item = at[i];
        }
        index[0] = item;
        for (int64_t e = 0; e < each; e++) {
            int64_t left = e;
            for (int d = values->shape.rank - 1; d > 0; left /= values->shape.dims[d], d--)
                index[levels + d] = left % values->shape.dims[d];
            memcpy(out + (row * each + e) * rank, index, sizeof *out * (size_t)rank);
        }
    }
}

static hr_status to_sparse_compute(hr_kernel *k, hr_error *err)
{
    const int levels = k->inputs - 1, rank = levels + k->input[levels]->shape.rank;
    const hr_tensor *values = k->input[levels];
    hr_tensor *indices, *shape;
    HR_TRY(ragged_check_nested(k->input, levels, values, true, err));
    if (rank > HR_MAX_RANK)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected at most %d dimensions, got %d", HR_MAX_RANK,
                       rank);
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(values->count, rank), &indices, err));
    HR_TRY(hr_kernel_pass(k, 1, levels, HR_SHAPE(values->count), err));
    HR_TRY(hr_kernel_output(k, 2, HR_SHAPE(rank), &shape, err));
    int64_t *dims = shape->data;
    dims[0] = k->input[0]->count - 1;
    for (int i = 0; i < levels; i++) dims[i + 1] = longest_row(k->input[i]);
    for (int d = 1; d < values->shape.rank; d++) dims[levels + d] = values->shape.dims[d];
    sparse_places(k, levels, values, indices->data);
    return HR_OK;
}

static void to_sparse_gradient(hr_backward *b)
{
    if (hr_node_exists(b->grad[1]))
        hr_backward_give(b, b->inputs - 1, hr_reshape(b->grad[1], hr_shape_of(b->input[b->inputs - 1])));
}

static hr_status to_sparse_shape(hr_infer *s, hr_error *err)
{
    const hr_shape values = s->input[s->inputs - 1];
    const int64_t rank = values.rank < 0 ? -1 : values.rank + s->inputs - 1;
    (void)err;
    s->output[0] = HR_SHAPE(hr_shape_count(values), rank);
    s->output[1] = HR_SHAPE(hr_shape_count(values));
    s->output[2] = HR_SHAPE(rank);
    return HR_OK;
}

const hr_graph_op hr_graph_ops_ragged_ops[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "RaggedRange",
        .traits = HR_NO_GRADIENT,
        .shapes = "?, ?, ? -> [?], [?]",
        .compute = range_compute,
        .kernels = HR_KERNEL_STRUCTS(ranges, floats, signed_ints),
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "RaggedGather",
        .types = "Tvalues:any; Tindices:indices; Tsplits:indices",
        .compute = gather_compute,
        .gradient = gather_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "RaggedTensorToSparse",
        .types = "T:any; Tsplits:indices",
        .shape = to_sparse_shape,
        .compute = to_sparse_compute,
        .gradient = to_sparse_gradient,
    },
    HR_GRAPH_OPS_END,
};
