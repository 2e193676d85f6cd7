/* Rows summed, multiplied or compared by index: SegmentSum and its kin, of ids in order, and UnsortedSegmentSum and its
 * kin, which drop rows of negative ids; SparseSegmentSum and its kin, of rows that are taken by index. */
#include <float.h>
#include <headrace/kernels.h>
#include <math.h>
#include <stdio.h>

/* ---- loops ---- */

/* For the `n` values of a row of the output. A segment of one row begins with that row, as all do whose rows are taken by
 * index. */
typedef struct segment {
    void (*begin)(void *out, int64_t n);                 /* before the first row of another segment */
    void (*fold)(void *out, const void *row, int64_t n); /* one row more */
    void (*gap)(void *out, int64_t n);                   /* of a segment without rows, between others */
    void (*end)(void *out, int64_t n, int64_t rows);     /* after the last row; NULL: nothing to do */
} segment;

#define SET(NAME, T, S, VALUE)                                                                                         \
    static void NAME##_##S(void *out, int64_t n)                                                                       \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) ((T *)out)[i] = HR_PUT(S, T, VALUE);                                           \
    }
#define FOLD(NAME, T, V, U_, S, EXPR)                                                                                  \
    static void NAME##_fold_##S(void *out, const void *row, int64_t n)                                                 \
    {                                                                                                                  \
        typedef U_ U;                                                                                                  \
        (void)sizeof(U);                                                                                               \
        HR_EACH_VALUE                                                                                                  \
        {                                                                                                              \
            const V x = HR_GET(S, ((const T *)row)[i]), a = HR_GET(S, ((const T *)out)[i]);                            \
            ((T *)out)[i] = HR_PUT(S, T, EXPR);                                                                        \
        }                                                                                                              \
    }
#define SUMS(T, V, U, D, S, A, B)                                                                                      \
    SET(zero, T, S, 0)                                                                                                 \
    SET(one, T, S, 1)                                                                                                  \
    FOLD(sum, T, V, U, S, (U)a + (U)x)                                                                                 \
    FOLD(prod, T, V, U, S, (U)a *(U)x)                                                                                 \
    static void divide_##S(void *out, int64_t n, int64_t rows)                                                         \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) ((T *)out)[i] = HR_PUT(S, T, HR_GET(S, ((T *)out)[i]) / (DIVISOR_##S)rows);    \
    }                                                                                                                  \
    static const segment sum_##S = {zero_##S, sum_fold_##S, zero_##S, NULL};                                           \
    static const segment mean_##S = {zero_##S, sum_fold_##S, zero_##S, divide_##S};                                    \
    static const segment prod_##S = {one_##S, prod_fold_##S, one_##S, NULL};
#define DIVISOR_f32 float
#define DIVISOR_f64 double
#define DIVISOR_f16 float
#define DIVISOR_bf16 float
#define DIVISOR_c64 float
#define DIVISOR_c128 double
#define DIVISOR_i8 int64_t
#define DIVISOR_i16 int64_t
#define DIVISOR_i32 int64_t
#define DIVISOR_i64 int64_t
#define DIVISOR_u8 uint64_t
#define DIVISOR_u16 uint64_t
#define DIVISOR_u32 uint64_t
#define DIVISOR_u64 uint64_t
HR_EACH_TYPE(SUMS, ~, ~, floats, halves, complexes, ints)

#define ROOTS(T, V, U, D, S, A, B)                                                                                     \
    static void root_##S(void *out, int64_t n, int64_t rows)                                                           \
    {                                                                                                                  \
        const V root = (V)sqrt((double)rows);                                                                          \
        for (int64_t i = 0; i < n; i++) ((T *)out)[i] = HR_PUT(S, T, HR_GET(S, ((T *)out)[i]) / root);                 \
    }                                                                                                                  \
    static const segment root_of_##S = {zero_##S, sum_fold_##S, zero_##S, root_##S};
HR_EACH_TYPE(ROOTS, ~, ~, floats, halves)

#define EXTREMES(T, V, U, D, S, A, B)                                                                                  \
    SET(least, T, S, LEAST_##S)                                                                                        \
    SET(most, T, S, MOST_##S)                                                                                          \
    FOLD(max, T, V, U, S, x > a || x != x ? x : a)                                                                     \
    FOLD(min, T, V, U, S, x < a || x != x ? x : a)                                                                     \
    static const segment max_##S = {least_##S, max_fold_##S, zero_##S, NULL};                                          \
    static const segment min_##S = {most_##S, min_fold_##S, zero_##S, NULL};
#define MOST_f32 FLT_MAX
#define LEAST_f32 -FLT_MAX
#define MOST_f64 DBL_MAX
#define LEAST_f64 -DBL_MAX
#define MOST_f16 65504.0f
#define LEAST_f16 -65504.0f
#define MOST_bf16 3.3895313892515355e38f
#define LEAST_bf16 -3.3895313892515355e38f
#define MOST_i8 INT8_MAX
#define LEAST_i8 INT8_MIN
#define MOST_i16 INT16_MAX
#define LEAST_i16 INT16_MIN
#define MOST_i32 INT32_MAX
#define LEAST_i32 INT32_MIN
#define MOST_i64 INT64_MAX
#define LEAST_i64 INT64_MIN
#define MOST_u8 UINT8_MAX
#define LEAST_u8 0
#define MOST_u16 UINT16_MAX
#define LEAST_u16 0
#define MOST_u32 UINT32_MAX
#define LEAST_u32 0
#define MOST_u64 UINT64_MAX
#define LEAST_u64 0
HR_EACH_TYPE(EXTREMES, ~, ~, floats, halves, ints)

/* ---- ids in order ---- */

/* Inputs are data, ids; or data, indices of its rows, ids, and maybe the number of segments. */
static hr_status segment_check(const hr_kernel *k, const hr_tensor *rows, const hr_tensor *ids, hr_error *err)
{
    const hr_tensor *data = k->input[0];
    const int64_t height = data->shape.rank > 0 ? data->shape.dims[0] : 0;
    if (ids->shape.rank != 1 || data->shape.rank < 1 || (rows && rows->shape.rank != 1) ||
        ids->count != (rows ? rows->count : height))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected an id for each row of data");
    for (int64_t i = 0; i < ids->count; i++) {
        if (hr_int_at(ids, i) < (i ? hr_int_at(ids, i - 1) : 0))
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index", "expected segment ids >= 0 that rise, got %lld",
                           (long long)hr_int_at(ids, i));
        if (rows && (hr_int_at(rows, i) < 0 || hr_int_at(rows, i) >= height))
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index", "indices[%lld] = %lld is out of range [0, %lld)",
                           (long long)i, (long long)hr_int_at(rows, i), (long long)height);
    }
    return HR_OK;
}

static hr_status segment_compute(hr_kernel *k, hr_error *err)
{
    const segment *s = hr_kernel_chosen(k)->more;
    const hr_tensor *data = k->input[0], *rows = k->inputs > 2 ? k->input[1] : NULL, *ids = k->input[rows ? 2 : 1];
    hr_tensor *out;
    HR_TRY(segment_check(k, rows, ids, err));
    hr_shape shape = data->shape;
    int64_t needed = 0;
    if (ids->count) HR_TRY(hr_dim_add(hr_int_at(ids, ids->count - 1), 1, &needed, err));
    shape.dims[0] = k->inputs < 4 ? needed : k->input[3]->count == 1 ? hr_int_at(k->input[3], 0) : -1;
    if (shape.dims[0] < needed)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index", "expected segment ids below num_segments");
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    const size_t row = hr_bytes_from_axis(data, 1);
    const int64_t width = (int64_t)(row / hr_dtype_size(data->dtype));
    char *to = out->data;
    int64_t next = 0;
    for (int64_t i = 0; i < ids->count && width;) {
        const int64_t id = hr_int_at(ids, i), first = i;
        const bool copies = rows || first + 1 == ids->count || hr_int_at(ids, first + 1) != id; /* so -0 stays */
        const char *row_first = (const char *)data->data + (size_t)(rows ? hr_int_at(rows, i) : i) * row;
        for (; next < id; next++) s->gap(to + (size_t)next * row, width);
        if (copies)
            memcpy(to + (size_t)id * row, row_first, row);
        else
            s->begin(to + (size_t)id * row, width);
        for (i += copies; i < ids->count && hr_int_at(ids, i) == id; i++)
            s->fold(to + (size_t)id * row, (const char *)data->data + (size_t)(rows ? hr_int_at(rows, i) : i) * row,
                    width);
        if (s->end) s->end(to + (size_t)id * row, width, i - first);
        next = id + 1;
    }
    for (; next < shape.dims[0] && width; next++) s->gap(to + (size_t)next * row, width);
    return HR_OK;
}

/* ---- rows by index: their derivatives ---- */

static hr_status chosen_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *count = s->inputs > 3 ? hr_infer_value(s, 3) : NULL;
    if (count && (count->count != 1 || hr_int_at(count, 0) < 0)) return hr_infer_refuse(s, err, "one number >= 0");
    if (count && s->output[0].rank > 0 && s->outputs == 1) s->output[0].dims[0] = hr_int_at(count, 0);
    return HR_OK;
}

/* Row indices[i] of the output gets row ids[i] of the gradient, by 1, 1 / n or 1 / sqrt(n) of a segment of n rows. Of the
 * second version the output has those rows alone that the indices name, and says which. */
typedef struct chosen_work {
    const hr_tensor *grad, *rows, *ids;
    const int64_t *place, *counts; /* of a row in the output; of a segment */
    hr_tensor *out;
} chosen_work;

#define CHOSEN(T, V, U, D, S, NAME, SCALE)                                                                             \
    static void NAME##_##S(const chosen_work *w)                                                                       \
    {                                                                                                                  \
        const int64_t width = (int64_t)(hr_bytes_from_axis(w->grad, 1) / sizeof(T));                                   \
        for (int64_t i = 0; i < w->rows->count; i++) {                                                                 \
            const int64_t id = hr_int_at(w->ids, i);                                                                   \
            const V n = (V)w->counts[id], scale = (V)(SCALE);                                                          \
            const T *from = (const T *)w->grad->data + id * width;                                                     \
            T *to = (T *)w->out->data + w->place[hr_int_at(w->rows, i)] * width;                                       \
            (void)n;                                                                                                   \
            for (int64_t j = 0; j < width; j++) to[j] = HR_PUT(S, T, HR_GET(S, to[j]) + HR_GET(S, from[j]) * scale);   \
        }                                                                                                              \
    }
HR_EACH_TYPE(CHOSEN, by_sum, 1, floats, halves)
HR_EACH_TYPE(CHOSEN, by_mean, 1 / n, floats, halves)
HR_EACH_TYPE(CHOSEN, by_sqrt, (1 / sqrt((double)n)), floats, halves)

static hr_status chosen_compute(hr_kernel *k, hr_error *err)
{
    chosen_work w = {.grad = k->input[0], .rows = k->input[1], .ids = k->input[2]};
    const int64_t height = k->input[3]->count == 1 ? hr_int_at(k->input[3], 0) : -1;
    if (height < 0 || w.grad->shape.rank < 1 || w.rows->shape.rank != 1 || w.ids->shape.rank != 1 ||
        w.rows->count != w.ids->count || height > HR_MAX_VALUES)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected an id for each index, and output_dim0 >= 0");
    const int64_t segments = w.grad->shape.dims[0];
    int64_t *place = hr_kernel_temp(k, sizeof *place * (size_t)(height + 1));
    int64_t *counts = hr_kernel_temp(k, sizeof *counts * (size_t)(segments + 1));
    if (!place || !counts) return hr_no_memory(err, "segments");
    for (int64_t i = 0; i < height; i++) place[i] = k->outputs == 1 ? i : -1;
    memset(counts, 0, sizeof *counts * (size_t)segments);
    for (int64_t i = 0; i < w.ids->count; i++) {
        const int64_t id = hr_int_at(w.ids, i), row = hr_int_at(w.rows, i);
        if (id < 0 || id >= segments || row < 0 || row >= height)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index", "expected an id below %lld and an index below %lld",
                           (long long)segments, (long long)height);
        counts[id]++;
        place[row] = row;
    }
    hr_shape shape = w.grad->shape;
    hr_tensor *chosen;
    shape.dims[0] = height;
    if (k->outputs == 2) {
        int64_t rows = 0;
        for (int64_t i = 0; i < height; i++) rows += place[i] >= 0;
        HR_TRY(hr_kernel_output(k, 1, HR_SHAPE(rows), &chosen, err));
        shape.dims[0] = rows;
        rows = 0;
        for (int64_t i = 0; i < height; i++) {
            if (place[i] < 0) continue;
            HR_TRY(hr_put_int(chosen, rows, i, err));
            place[i] = rows++;
        }
    }
    HR_TRY(hr_kernel_output(k, 0, shape, &w.out, err));
    if (w.out->count) memset(w.out->data, 0, (size_t)w.out->count * hr_dtype_size(w.out->dtype));
    w.place = place;
    w.counts = counts;
    ((void (*)(const chosen_work *))hr_kernel_chosen(k)->run)(&w);
    return HR_OK;
}

/* By data: the op's own name, and "Grad" in place of "WithNumSegments"; slices where the op asks for them. */
static void chosen_gradient(hr_backward *b)
{
    const char *op = hr_node_op(b->node);
    const bool slices = hr_attr_bool(b->node, "sparse_gradient");
    char name[64];
    snprintf(name, sizeof name, "%.*sGrad%s", (int)strcspn(op, "W"), op, slices ? "V2" : "");
    const hr_node one = hr_ints(b->graph, HR_I64(1), 1), shape = hr_shape_of(b->input[0]);
    const hr_node height =
        hr_reshape(hr_slice(shape, hr_ints(b->graph, HR_I64(0), 1), one), hr_ints(b->graph, NULL, 0));
    const hr_node by = hr_new_node(b->graph, name, HR_INPUTS(b->grad[0], b->input[1], b->input[2], height));
    b->out[0] = slices ? (hr_gradient){by, hr_node_output(by, 1), shape} : hr_dense_gradient(by);
}

/* ---- ids in any order ---- */

static hr_status unsorted_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *count = hr_infer_value(s, 2);
    const hr_shape data = s->input[0], ids = s->input[1];
    if (count && (count->count != 1 || hr_int_at(count, 0) < 0))
        return hr_infer_refuse(s, err, "one num_segments >= 0");
    if (data.rank < 0 || ids.rank < 0) return HR_OK;
    if (ids.rank > data.rank || data.rank - ids.rank >= HR_MAX_RANK)
        return hr_infer_refuse(s, err, "segment_ids shaped as the first dimensions of data");
    for (int i = 0; i < ids.rank; i++)
        if (ids.dims[i] >= 0 && data.dims[i] >= 0 && ids.dims[i] != data.dims[i])
            return hr_infer_refuse(s, err, "segment_ids shaped as the first dimensions of data");
    s->output[0].rank = data.rank - ids.rank + 1;
    s->output[0].dims[0] = count ? hr_int_at(count, 0) : -1;
    for (int i = ids.rank; i < data.rank; i++) s->output[0].dims[i - ids.rank + 1] = data.dims[i];
    return HR_OK;
}

static hr_status unsorted_output(hr_kernel *k, hr_tensor **out, hr_error *err)
{
    const hr_tensor *data = k->input[0], *ids = k->input[1];
    const int64_t segments = k->input[2]->count == 1 ? hr_int_at(k->input[2], 0) : -1;
    hr_shape shape = {data->shape.rank - ids->shape.rank + 1, {segments}};
    char a[128], b[128];
    bool fits = shape.rank >= 1 && shape.rank <= HR_MAX_RANK;
    for (int i = 0; fits && i < ids->shape.rank; i++) fits = ids->shape.dims[i] == data->shape.dims[i];
    if (!fits)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected segment_ids shaped as the first dimensions of data, got %s and %s",
                       hr_shape_text(ids->shape, a, sizeof a), hr_shape_text(data->shape, b, sizeof b));
    for (int i = 1; i < shape.rank; i++) shape.dims[i] = data->shape.dims[i - 1 + ids->shape.rank];
    for (int64_t i = 0; i < ids->count; i++)
        if (hr_int_at(ids, i) >= segments)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index",
                           "segment_ids[%lld] = %lld is out of range [0, %lld)", (long long)i,
                           (long long)hr_int_at(ids, i), (long long)segments);
    return hr_kernel_output(k, 0, shape, out, err);
}

static hr_status unsorted_compute(hr_kernel *k, hr_error *err)
{
    const segment *s = hr_kernel_chosen(k)->more;
    const hr_tensor *ids = k->input[1];
    hr_tensor *out;
    HR_TRY(unsorted_output(k, &out, err));
    if (out->count == 0) return HR_OK;
    s->begin(out->data, out->count);
    const size_t row = hr_bytes_from_axis(out, 1);
    const int64_t width = (int64_t)(row / hr_dtype_size(out->dtype));
    const char *from = k->input[0]->data;
    for (int64_t i = 0; i < ids->count; i++, from += row)
        if (hr_int_at(ids, i) >= 0) s->fold((char *)out->data + (size_t)hr_int_at(ids, i) * row, from, width);
    return HR_OK;
}

/* ---- gradients ---- */

static bool unsorted(const hr_backward *b) { return b->inputs == 3; }

/* The op of the same ids, "Sum" or "Prod". */
static hr_node of_segments(const hr_backward *b, const char *sorted, const char *any, hr_node values)
{
    if (!unsorted(b)) return hr_new_node(b->graph, sorted, HR_INPUTS(values, b->input[1]));
    return hr_new_node(b->graph, any, HR_INPUTS(values, b->input[1], b->input[2]));
}

/* Rows by id; those of negative ids are the first one's. */
static hr_node rows_of_ids(const hr_backward *b, hr_node segments)
{
    const hr_node ids = b->input[1];
    return hr_gather(segments, unsorted(b) ? hr_maximum(ids, hr_scalar_like(ids, 0)) : ids, 0);
}

/* The shape of the ids and a 1 for each further dimension of data. */
static hr_node shape_of_rows(const hr_backward *b)
{
    const hr_node one_more = hr_scalar(b->graph, HR_INT32, 1);
    const hr_node more = hr_sub(hr_rank_of(b->input[0]), hr_rank_of(b->input[1]));
    const hr_node parts[] = {hr_shape_of(b->input[1]),
                             hr_fill(hr_reshape(more, hr_ints(b->graph, HR_I64(1), 1)), one_more)};
    return hr_concat(parts, 2, 0);
}

/* Of values by row, zeros where the id is negative. */
static hr_node drop_negative(const hr_backward *b, hr_node rows)
{
    if (!unsorted(b)) return rows;
    const hr_node kept = hr_greater_equal(b->input[1], hr_scalar_like(b->input[1], 0));
    return hr_where(hr_reshape(kept, shape_of_rows(b)), rows, hr_zeros_like(rows));
}

HR_UNARY_GRADIENT(sum, drop_negative(b, rows_of_ids(b, g)))

static hr_node row_counts(const hr_backward *b, hr_node g)
{
    const hr_node ones = hr_fill(shape_of_rows(b), hr_scalar_like(g, 1));
    return of_segments(b, "SegmentSum", "UnsortedSegmentSum", ones);
}
HR_UNARY_GRADIENT(mean, rows_of_ids(b, hr_div(g, row_counts(b, g))))

/* Ties share alike. */
static hr_node extreme_slope(const hr_backward *b, hr_node g, hr_node x, hr_node y)
{
    const hr_node chosen = hr_cast_to(hr_equal(x, drop_negative(b, rows_of_ids(b, y))), hr_node_dtype(g));
    const hr_node ties = of_segments(b, "SegmentSum", "UnsortedSegmentSum", chosen);
    const hr_node shares = drop_negative(b, rows_of_ids(b, hr_div(g, ties)));
    return hr_where(hr_not_equal(chosen, hr_scalar_like(chosen, 0)), shares, hr_zeros_like(shares));
}
HR_UNARY_GRADIENT(extreme, extreme_slope(b, g, x, y))

/* The product of all others: where one value is 0, that of the others; where two are, 0. */
static hr_node prod_slope(const hr_backward *b, hr_node g, hr_node x, hr_node y)
{
    const hr_node zero = hr_equal(x, hr_scalar_like(x, 0)), one = hr_scalar(b->graph, HR_INT32, 1);
    const hr_node zeros = of_segments(b, "SegmentSum", "UnsortedSegmentSum", hr_cast_to(zero, HR_INT32));
    const hr_node others = of_segments(b, "SegmentProd", "UnsortedSegmentProd", hr_where(zero, hr_ones_like(x), x));
    const hr_node slope = hr_where(zero, rows_of_ids(b, others), hr_div(rows_of_ids(b, y), x));
    const hr_node flows = hr_where(hr_greater(zeros, one), hr_zeros_like(g), g);
    return hr_mul(drop_negative(b, rows_of_ids(b, flows)), slope);
}
HR_UNARY_GRADIENT(prod, prod_slope(b, g, x, y))

/* ---- descriptors ---- */

#define SORTED(NAME, GRADIENT, ...)                                                                                    \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .kernels = HR_KERNEL_STRUCTS(__VA_ARGS__),                             \
        .types = "Tindices:indices", .shapes = "[n,...], [n] -> [?,...]", .compute = segment_compute,                  \
        .gradient = GRADIENT,                                                                                          \
    }
#define UNSORTED(NAME, GRADIENT, ...)                                                                                  \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .kernels = HR_KERNEL_STRUCTS(__VA_ARGS__),                             \
        .types = "Tindices:indices; Tnumsegments:indices", .shape = unsorted_shape, .compute = unsorted_compute,       \
        .gradient = GRADIENT,                                                                                          \
    }

#define CHOSEN_OP(NAME, SHAPES, COMPUTE, GRADIENT, KERNELS)                                                            \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .kernels = KERNELS, .types = "Tidx:indices; Tsegmentids:indices",      \
        .shapes = SHAPES, .shape = chosen_shape, .compute = COMPUTE, .gradient = GRADIENT,                             \
    }
#define CHOSEN_OPS(NAME, SEGMENT, BACK, ...)                                                                           \
    CHOSEN_OP(NAME, "[?,...], [n], [n] -> [?,...]", segment_compute, chosen_gradient,                                  \
              HR_KERNEL_STRUCTS(SEGMENT, __VA_ARGS__)),                                                                \
        CHOSEN_OP(NAME "WithNumSegments", "[?,...], [n], [n], ? -> [?,...]", segment_compute, chosen_gradient,         \
                  HR_KERNEL_STRUCTS(SEGMENT, __VA_ARGS__)),                                                            \
        CHOSEN_OP(NAME "Grad", "[?,...], [n], [n], [] -> [?,...]", chosen_compute, NULL,                               \
                  HR_KERNELS(BACK, floats, halves)),                                                                   \
        CHOSEN_OP(NAME "GradV2", "[?,...], [n], [n], [] -> [?,...], [?]", chosen_compute, NULL,                        \
                  HR_KERNELS(BACK, floats, halves))

const hr_graph_op hr_graph_ops_segment_ops[] = {
    CHOSEN_OPS("SparseSegmentSum", sum, by_sum, floats, halves, ints),
    CHOSEN_OPS("SparseSegmentMean", mean, by_mean, floats, halves),
    CHOSEN_OPS("SparseSegmentSqrtN", root_of, by_sqrt, floats, halves),
    SORTED("SegmentSum", sum_gradient, sum, floats, halves, complexes, ints),
    SORTED("SegmentMean", mean_gradient, mean, floats, halves, complexes, ints),
    SORTED("SegmentProd", prod_gradient, prod, floats, halves, complexes, ints),
    SORTED("SegmentMax", extreme_gradient, max, floats, halves, ints),
    SORTED("SegmentMin", extreme_gradient, min, floats, halves, ints),
    UNSORTED("UnsortedSegmentSum", sum_gradient, sum, floats, halves, complexes, ints),
    UNSORTED("UnsortedSegmentProd", prod_gradient, prod, floats, halves, complexes, ints),
    UNSORTED("UnsortedSegmentMax", extreme_gradient, max, floats, halves, ints),
    UNSORTED("UnsortedSegmentMin", extreme_gradient, min, floats, halves, ints),
    HR_GRAPH_OPS_END,
};

HR_BINARY_CONSTRUCTOR(hr_segment_sum, "SegmentSum")
HR_BINARY_CONSTRUCTOR(hr_segment_mean, "SegmentMean")
HR_BINARY_CONSTRUCTOR(hr_segment_prod, "SegmentProd")
HR_BINARY_CONSTRUCTOR(hr_segment_max, "SegmentMax")
HR_BINARY_CONSTRUCTOR(hr_segment_min, "SegmentMin")
HR_TERNARY_CONSTRUCTOR(hr_unsorted_segment_sum, "UnsortedSegmentSum")
HR_TERNARY_CONSTRUCTOR(hr_unsorted_segment_prod, "UnsortedSegmentProd")
HR_TERNARY_CONSTRUCTOR(hr_unsorted_segment_max, "UnsortedSegmentMax")
HR_TERNARY_CONSTRUCTOR(hr_unsorted_segment_min, "UnsortedSegmentMin")

/* Sums of segments over their counts, at least 1, or over the roots of these. */
static hr_node over_counts(hr_node x, hr_node ids, hr_node segments, const hr_name_opts *opts, bool roots)
{
    const hr_name_opts o = HR_OPTIONS(hr_name_opts, opts);
    hr_graph *g = x.graph;
    if (!hr_node_exists(x) || !hr_node_exists(ids) || !hr_node_exists(segments)) return hr_failed_node(g);
    x = hr_node_value(x), ids = hr_node_value(ids);
    hr_name_scope(g, o.name ? o.name : roots ? "UnsortedSegmentSqrtN" : "UnsortedSegmentMean");
    const hr_node ones = hr_fill(hr_shape_of(ids), hr_scalar_like(x, 1));
    const hr_node counts = hr_maximum(hr_unsorted_segment_sum(ones, ids, segments), hr_scalar_like(x, 1));
    /* As many dimensions of 1 as rows have. */
    const hr_node inner = hr_fill(hr_expand_dims(hr_sub(hr_rank_of(x), hr_rank_of(ids)), hr_scalar(g, HR_INT32, 0)),
                                  hr_scalar(g, HR_INT32, 1));
    const hr_node shape[] = {hr_shape_of(counts), inner};
    const hr_node by = hr_reshape(counts, hr_concat(shape, 2, 0));
    const hr_node made = hr_div(hr_unsorted_segment_sum(x, ids, segments), roots ? hr_sqrt(by) : by);
    hr_scope_end(g);
    return made;
}
hr_node hr_unsorted_segment_mean_with(hr_node x, hr_node y, hr_node z, const hr_name_opts *opts)
{
    return over_counts(x, y, z, opts, false);
}
hr_node hr_unsorted_segment_sqrt_n_with(hr_node x, hr_node y, hr_node z, const hr_name_opts *opts)
{
    return over_counts(x, y, z, opts, true);
}

#define SPARSE_SEGMENT(fn, op)                                                                                         \
    hr_node fn##_with(hr_node x, hr_node indices, hr_node ids, const hr_sparse_segment_opts *opts)                     \
    {                                                                                                                  \
        const hr_sparse_segment_opts o = HR_OPTIONS(hr_sparse_segment_opts, opts);                                     \
        const hr_node all[] = {x, indices, ids, o.num_segments};                                                       \
        return hr_new_node(x.graph, o.num_segments.graph ? op "WithNumSegments" : op, .name = o.name, .inputs = all,   \
                           .input_count = o.num_segments.graph ? 4 : 3);                                               \
    }
SPARSE_SEGMENT(hr_sparse_segment_sum, "SparseSegmentSum")
SPARSE_SEGMENT(hr_sparse_segment_mean, "SparseSegmentMean")
SPARSE_SEGMENT(hr_sparse_segment_sqrt_n, "SparseSegmentSqrtN")
