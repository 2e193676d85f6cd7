/* Sparse tensors over axes, the result dense: SparseReduceSum, SparseReduceMax; and two of them together: SparseAdd. */
#include "train/ops/sparse/sparse.h"
#include <complex.h>
#include <math.h>
#include <stdlib.h>

/* ---- over axes, which may be named twice ---- */

static hr_status reduced_shape(hr_shape in, const hr_tensor *axes, bool keep_dims, hr_shape *out, bool *reduced,
                               hr_error *err)
{
    int64_t own[HR_MAX_RANK];
    bool seen[HR_MAX_RANK] = {false};
    int64_t count = 0;
    for (int64_t i = 0; i < axes->count; i++) {
        int axis;
        HR_TRY(hr_axis(hr_int_at(axes, i), in.rank, &axis, err));
        if (!seen[axis]) own[count++] = axis;
        seen[axis] = true;
    }
    const hr_tensor once = hr_tensor_of(HR_INT64, HR_SHAPE(count), own);
    return hr_shape_reduce(in, &once, keep_dims, out, reduced, err);
}

static hr_status sparse_reduce_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *axes = hr_infer_value(s, 3);
    hr_shape in;
    if (!axes || !hr_infer_numbers(s, 2, &in)) return HR_OK;
    return reduced_shape(in, axes, hr_attr_bool(s->node, "keep_dims"), &s->output[0], NULL, err);
}

/* Joins a value with what its place has; of the greatest, the place's first value stays. */
typedef void join_fn(void *to, const void *from);
#define ADD(T, V, U, D, S, A, B)                                                                                       \
    static void add_##S(void *to, const void *from)                                                                    \
    {                                                                                                                  \
        *(T *)to = HR_PUT(S, T, (U)HR_GET(S, *(const T *)to) + (U)HR_GET(S, *(const T *)from));                        \
    }
#define MAX(T, V, U, D, S, A, B)                                                                                       \
    static void max_##S(void *to, const void *from)                                                                    \
    {                                                                                                                  \
        const V x = HR_GET(S, *(const T *)from);                                                                       \
        if (!(HR_GET(S, *(const T *)to) > x)) *(T *)to = *(const T *)from;                                             \
    }
HR_EACH_TYPE(ADD, ~, ~, floats, halves, complexes, ints)
HR_EACH_TYPE(MAX, ~, ~, floats, halves, ints)

static hr_status sparse_reduce(hr_kernel *k, bool first_stays, hr_error *err)
{
    const size_t size = hr_dtype_size(k->input[1]->dtype);
    join_fn *const join = (join_fn *)hr_kernel_chosen(k)->run;
    bool reduced[HR_MAX_RANK];
    sparse s = {0};
    hr_shape in, shape;
    hr_tensor *out;
    HR_TRY(sparse_read(k->input[0], k->input[1], k->input[2], &s, err));
    HR_TRY(hr_shape_input(k->input[2], &in, err));
    HR_TRY(reduced_shape(in, k->input[3], hr_attr_bool(k->node, "keep_dims"), &shape, reduced, err));
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    bool *seen = hr_kernel_temp(k, (size_t)out->count + 1);
    if (!seen) return hr_no_memory(err, "a sparse tensor");
    memset(seen, !first_stays, (size_t)out->count);
    if (out->count) memset(out->data, 0, (size_t)out->count * size);
    for (int64_t i = 0; i < s.count; i++) {
        int64_t place = 0;
        for (int d = 0; d < s.rank; d++)
            if (!reduced[d]) place = place * s.shape[d] + s.at[i * s.rank + d];
        if (seen[place])
            join((char *)out->data + (size_t)place * size, (const char *)s.values->data + (size_t)i * size);
        else
            sparse_copy(out, place, s.values, i);
        seen[place] = true;
    }
    return HR_OK;
}

static hr_status sparse_sum_compute(hr_kernel *k, hr_error *err) { return sparse_reduce(k, false, err); }
static hr_status sparse_max_compute(hr_kernel *k, hr_error *err) { return sparse_reduce(k, true, err); }

/* Each value gets what its place of the sum got: that at the index with 0 along the axes that went. */
static void sparse_sum_gradient(hr_backward *b)
{
    const hr_node shape = b->input[2], one = hr_scalar_like(shape, 1);
    const hr_node rank = hr_reshape(hr_shape_of(shape), hr_ints(b->graph, NULL, 0));
    const hr_node axes = hr_new_node(b->graph, "FloorMod", HR_INPUTS(hr_add(b->input[3], rank), rank));
    const hr_node flat = hr_reshape(axes, hr_ints(b->graph, HR_I64(-1), 1));
    const hr_node gone = hr_new_node(b->graph, "UnsortedSegmentMax",
                                     HR_INPUTS(hr_add(hr_zeros_like(flat), hr_scalar_like(flat, 1)), flat, rank));
    const hr_node reduced = hr_greater(gone, hr_scalar_like(gone, 0));
    const hr_node kept = hr_where(reduced, hr_add(hr_zeros_like(shape), one), shape);
    const hr_node index =
        hr_mul(b->input[0], hr_where(reduced, hr_zeros_like(shape), hr_add(hr_zeros_like(shape), one)));
    hr_backward_give(b, 1, hr_new_node(b->graph, "GatherNd", HR_INPUTS(hr_reshape(b->grad[0], kept), index)));
}

/* ---- SparseAdd: entries in order; a sum of two is left out whose size is below a bound ---- */

/* What a type needs: a sum, and whether it reaches the bound, whose type is `bound`. */
typedef struct add_kernel {
    void (*sum)(const void *a, const void *b, void *out);
    bool (*reaches)(const void *value, const void *bound);
    hr_dtype bound;
} add_kernel;
#define SPARSE_ADD(T, V, U, D, S, A, B)                                                                                \
    static void sum_##S(const void *a, const void *b, void *out)                                                       \
    {                                                                                                                  \
        *(T *)out = (T)((U) * (const T *)a + (U) * (const T *)b);                                                      \
    }                                                                                                                  \
    static bool reaches_##S(const void *value, const void *bound)                                                      \
    {                                                                                                                  \
        const T x = *(const T *)value;                                                                                 \
        return SIZE_##S >= *(const BOUND_##S *)bound;                                                                  \
    }                                                                                                                  \
    static const add_kernel sparse_add_##S = {sum_##S, reaches_##S, BOUND_TYPE_##S};
#define SIZE_f32 fabsf(x)
#define BOUND_f32 float
#define BOUND_TYPE_f32 HR_FLOAT
#define SIZE_f64 fabs(x)
#define BOUND_f64 double
#define BOUND_TYPE_f64 HR_DOUBLE
#define SIZE_c64 cabsf(x)
#define BOUND_c64 float
#define BOUND_TYPE_c64 HR_FLOAT
#define SIZE_c128 cabs(x)
#define BOUND_c128 double
#define BOUND_TYPE_c128 HR_DOUBLE
#define SIZE_i8 (x < 0 ? -x : x)
#define BOUND_i8 int8_t
#define BOUND_TYPE_i8 HR_INT8
#define SIZE_i16 (x < 0 ? -x : x)
#define BOUND_i16 int16_t
#define BOUND_TYPE_i16 HR_INT16
#define SIZE_i32 (x < 0 ? -(int64_t)x : x)
#define BOUND_i32 int32_t
#define BOUND_TYPE_i32 HR_INT32
#define SIZE_i64 (x < 0 ? (int64_t)(0 - (uint64_t)x) : x)
#define BOUND_i64 int64_t
#define BOUND_TYPE_i64 HR_INT64
HR_EACH_TYPE(SPARSE_ADD, ~, ~, floats, complexes, signed_ints)

static hr_status sparse_add_read(const hr_kernel *k, const add_kernel *by, sparse *a, sparse *b, hr_error *err)
{
    HR_TRY(sparse_read(k->input[0], k->input[1], k->input[2], a, err));
    HR_TRY(sparse_read(k->input[3], k->input[4], k->input[5], b, err));
    HR_TRY(hr_expect_rank("thresh", k->input[6]->shape, 0, err));
    if (k->input[6]->dtype != by->bound)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.type", "expected a thresh of type %s, got %s",
                       hr_dtype_name(by->bound), hr_dtype_name(k->input[6]->dtype));
    if (a->rank != b->rank)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "Ranks of input tensors must match, but saw %d != %d",
                       a->rank, b->rank);
    for (int d = 0; d < a->rank; d++)
        if (a->shape[d] != b->shape[d])
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                           "Input shapes must match: got %lld and %lld for dimension %d", (long long)a->shape[d],
                           (long long)b->shape[d], d);
    return HR_OK;
}

static hr_status sparse_add_compute(hr_kernel *k, hr_error *err)
{
    const add_kernel *by = hr_kernel_chosen(k)->more;
    sparse a = {0}, b = {0};
    hr_tensor *indices, *values, *shape;
    HR_TRY(sparse_add_read(k, by, &a, &b, err));
    const size_t size = hr_dtype_size(a.values->dtype);
    char *made = hr_kernel_temp(k, (size_t)(a.count + b.count + 1) * size), *next = made;
    const int64_t **at = hr_kernel_temp(k, sizeof *at * (size_t)(a.count + b.count + 1));
    if (!made || !at) return hr_no_memory(err, "a sparse tensor");
    int64_t count = 0;
    for (int64_t i = 0, j = 0; i < a.count || j < b.count;) {
        const int64_t *x = a.at + i * a.rank, *y = b.at + j * a.rank;
        const int order = i == a.count ? 1 : j == b.count ? -1 : sparse_order(x, y, a.rank);
        const char *from_a = (const char *)a.values->data + (size_t)i * size;
        const char *from_b = (const char *)b.values->data + (size_t)j * size;
        if (order == 0)
            by->sum(from_a, from_b, next);
        else
            memcpy(next, order < 0 ? from_a : from_b, size);
        i += order <= 0;
        j += order >= 0;
        if (order == 0 && !by->reaches(next, k->input[6]->data)) continue;
        at[count++] = order <= 0 ? x : y;
        next += size;
    }
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(count, a.rank), &indices, err));
    HR_TRY(hr_kernel_output(k, 1, HR_SHAPE(count), &values, err));
    HR_TRY(hr_kernel_output(k, 2, HR_SHAPE(a.rank), &shape, err));
    for (int64_t i = 0; i < count && a.rank; i++)
        memcpy((int64_t *)indices->data + i * a.rank, at[i], sizeof(int64_t) * (size_t)a.rank);
    if (count) memcpy(values->data, made, (size_t)count * size);
    if (a.rank) memcpy(shape->data, a.shape, sizeof(int64_t) * (size_t)a.rank);
    return HR_OK;
}

/* What flows to the values of one input: what its index of the sum got, or 0 if that was left out. */
static hr_status add_grad_side(hr_kernel *k, int side, hr_error *err)
{
    const hr_tensor *grad = k->input[0], *own = k->input[1 + side], *sum = k->input[3];
    const int64_t rank = sum->shape.dims[1], count = own->shape.dims[0], *at = own->data, *of = sum->data;
    const size_t size = hr_dtype_size(grad->dtype);
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, side, HR_SHAPE(count), &out, err));
    if (count) memset(out->data, 0, (size_t)count * size);
    for (int64_t i = 0, j = 0; i < count && j < grad->count;) {
        const int order = sparse_order(at + i * rank, of + j * rank, rank);
        if (order == 0) sparse_copy(out, i, grad, j);
        i += order <= 0;
        j += order >= 0;
    }
    return HR_OK;
}

static hr_status sparse_add_grad_compute(hr_kernel *k, hr_error *err)
{
    const hr_shape a = k->input[1]->shape, b = k->input[2]->shape, sum = k->input[3]->shape;
    if (k->input[0]->shape.rank != 1 || a.rank != 2 || b.rank != 2 || sum.rank != 2 || a.dims[1] != b.dims[1] ||
        a.dims[1] != sum.dims[1] || sum.dims[0] != k->input[0]->count)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected a gradient for each of the sum's indices, and three lists of indices of one rank");
    HR_TRY(add_grad_side(k, 0, err));
    return add_grad_side(k, 1, err);
}

static void sparse_add_gradient(hr_backward *b)
{
    const hr_node by =
        hr_new_node(b->graph, "SparseAddGrad", HR_INPUTS(b->grad[1], b->input[0], b->input[3], b->output[0]));
    hr_backward_give(b, 1, by);
    hr_backward_give(b, 4, hr_node_output(by, 1));
}

#define SPARSE_REDUCE_OP(NAME, SHAPES, COMPUTE, ...)                                                                   \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .shapes = (SHAPES), .compute = (COMPUTE), __VA_ARGS__                \
    }

const hr_graph_op hr_graph_ops_sparse_reduce_ops[] = {
    SPARSE_REDUCE_OP("SparseReduceSum", "[n,r], [n], [r], ? -> ?", sparse_sum_compute, .shape = sparse_reduce_shape,
                     .gradient = sparse_sum_gradient, .kernels = HR_KERNELS(add, floats, halves, complexes, ints)),
    SPARSE_REDUCE_OP("SparseReduceMax", "[n,r], [n], [r], ? -> ?", sparse_max_compute, .shape = sparse_reduce_shape,
                     .kernels = HR_KERNELS(max, floats, halves, ints)),
    SPARSE_REDUCE_OP("SparseAdd", "[n,r], [n], [r], [m,r], [m], [r], [] -> [?,r], [?], [r]", sparse_add_compute,
                     .gradient = sparse_add_gradient,
                     .kernels = HR_KERNEL_STRUCTS(sparse_add, floats, complexes, signed_ints)),
    SPARSE_REDUCE_OP("SparseAddGrad", "[s], [n,r], [m,r], [s,r] -> [n], [m]", sparse_add_grad_compute,
                     .traits = HR_NO_GRADIENT, .types = "T:{numbers,complex64,complex128}"),
    HR_GRAPH_OPS_END,
};
