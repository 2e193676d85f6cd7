/* Values of sparse tensors: with dense ones that broadcast to them, with each other, softmax of their rows; pieces along
 * a dimension. */
#include "train/ops/sparse/sparse.h"
#include <math.h>

static hr_status read_sparse(const hr_kernel *k, int first, sparse *s, hr_error *err)
{
    return sparse_read(k->input[first], k->input[first + 1], k->input[first + 2], s, err);
}

/* ---- values with those of a dense tensor at their places ---- */

HR_BINARY(add, x + y, floats, halves, complexes)
HR_BINARY(add, (U)x + (U)y, ints)
HR_BINARY(mul, (x)*y, floats, halves, complexes)
HR_BINARY(mul, (U)(x) * (U)y, ints)
HR_BINARY(div, x / y, floats, halves, complexes)
HR_BINARY(div, x / y, unsigned_ints)
HR_BINARY(div, y == -1 ? (T)((U)0 - (U)x) : (T)(x / y), signed_ints)

/* Which value of the dense tensor stands at each place, or "graph.shape". */
static hr_status dense_steps(const sparse *s, const hr_tensor *dense, int64_t *step, hr_error *err)
{
    const int missing = s->rank - dense->shape.rank;
    int64_t next = 1;
    bool fits = missing >= 0;
    for (int d = s->rank - 1; fits && d >= 0; d--) {
        const int64_t length = d < missing ? 1 : dense->shape.dims[d - missing];
        fits = length == 1 || length == s->shape[d];
        step[d] = length == 1 ? 0 : next;
        next *= length;
    }
    char text[128];
    if (fits) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                   "expected a dense tensor that broadcasts to a sparse one of %d dimensions, got %s", s->rank,
                   hr_shape_text(dense->shape, text, sizeof text));
}

/* Bytes of the part of a number that ends in the bit of its sign; more than the number has: zeros have no signs. */
static size_t signed_part(hr_dtype dtype)
{
    const size_t size = hr_dtype_size(dtype);
    switch (dtype) {
    case HR_HALF:
    case HR_BFLOAT16:
    case HR_FLOAT:
    case HR_DOUBLE:
        return size;
    case HR_COMPLEX64:
    case HR_COMPLEX128:
        return size / 2;
    default:
        return size + 1;
    }
}

static bool is_zero(const char *number, size_t size, size_t part)
{
    for (size_t i = 0; i < size; i++)
        if (number[i] & (i % part == part - 1 ? 0x7f : 0xff)) return false;
    return true;
}

/* Of the dense numbers at the places of the sparse ones. */
static hr_status check_divisor(const hr_kernel *k, const hr_tensor *dense, hr_error *err)
{
    const size_t size = hr_dtype_size(dense->dtype), part = signed_part(dense->dtype);
    if (!hr_node_is(k->node, "SparseDenseCwiseDiv")) return HR_OK;
    for (int64_t i = 0; i < dense->count; i++)
        if (is_zero((const char *)dense->data + (size_t)i * size, size, part))
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.division",
                           "SparseDenseCwiseDiv cannot divide by zero, but input dense tensor contains zero");
    return HR_OK;
}

static hr_status with_dense_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *dense = k->input[3];
    const int64_t size = (int64_t)hr_dtype_size(dense->dtype), steps[] = {size, size, size};
    sparse s = {0};
    int64_t step[HR_MAX_RANK];
    hr_tensor *out;
    HR_TRY(read_sparse(k, 0, &s, err));
    HR_TRY(dense_steps(&s, dense, step, err));
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(s.count), &out, err));
    for (int64_t i = 0; i < s.count; i++) {
        int64_t from = 0;
        for (int d = 0; d < s.rank; d++) from += s.at[i * s.rank + d] * step[d];
        sparse_copy(out, i, dense, from);
    }
    HR_TRY(check_divisor(k, out, err));
    char *const at[] = {out->data, (char *)(uintptr_t)s.values->data, out->data};
    if (s.count) ((hr_loop *)hr_kernel_chosen(k)->run)(at, steps, s.count, NULL);
    return HR_OK;
}

/* The dense values at the places: of zeros and the dense tensor, the sum. By the dense tensor, sums of what flows to its
 * places, which a value may share with others. */
static void give_by_dense(hr_backward *b, hr_node by_values, hr_node by_dense)
{
    hr_graph *g = b->graph;
    const hr_node indices = b->input[0], shape = b->input[2], dense = b->input[3];
    const int rank = hr_node_shape(dense).rank;
    const hr_shape all = hr_node_shape(shape);
    const int64_t missing = all.rank == 1 && rank >= 0 && all.dims[0] >= rank ? all.dims[0] - rank : -1;
    hr_backward_give(b, 1, by_values);
    if (rank == 0) {
        hr_backward_give(b, 3, hr_reduce_sum(by_dense));
        return;
    }
    if (missing < 0) {
        (void)hr_node_fail(g, HR_UNIMPLEMENTED, "graph.gradient", "the gradient by a dense tensor needs known ranks");
        return;
    }
    const int64_t begin = missing;
    const hr_node one = hr_scalar(g, HR_INT64, 1);
    const hr_node shape_of_dense = hr_cast_to(hr_shape_of(dense), HR_INT64);
    const hr_node own = hr_strided_slice(shape, {.begin = &begin});
    const hr_node places = hr_strided_slice(indices, {0}, {.begin = &begin});
    const hr_node scale = hr_maximum(hr_floor_div(own, hr_maximum(shape_of_dense, one)), one);
    hr_backward_give(b, 3,
                     hr_new_node(g, "ScatterNd", HR_INPUTS(hr_floor_div(places, scale), by_dense, shape_of_dense)));
}

static hr_node dense_at(const hr_backward *b)
{
    return hr_new_node(b->graph, "SparseDenseCwiseAdd",
                       HR_INPUTS(b->input[0], hr_zeros_like(b->input[1]), b->input[2], b->input[3]));
}

static void with_mul_gradient(hr_backward *b)
{
    give_by_dense(b, hr_mul(b->grad[0], dense_at(b)), hr_mul(b->grad[0], b->input[1]));
}

static void with_div_gradient(hr_backward *b)
{
    const hr_node y = dense_at(b);
    give_by_dense(b, hr_div(b->grad[0], y), hr_mul(b->grad[0], hr_neg(hr_div(b->input[1], hr_square(y)))));
}

/* ---- softmax of the rows of matrices: of what is there of each ---- */

typedef void row_softmax_fn(const void *x, void *out, int64_t count);
#define ROW_SOFTMAX(T, V, U, D, S, A, B)                                                                               \
    static void row_softmax_##S(const void *in, void *out, int64_t count)                                              \
    {                                                                                                                  \
        const T *x = in;                                                                                               \
        V most = HR_GET(S, x[0]), sum = 0;                                                                             \
        for (int64_t i = 1; i < count; i++) most = HR_GET(S, x[i]) > most ? HR_GET(S, x[i]) : most;                    \
        for (int64_t i = 0; i < count; i++) sum += (V)exp((double)(HR_GET(S, x[i]) - most));                           \
        for (int64_t i = 0; i < count; i++)                                                                            \
            ((T *)out)[i] = HR_PUT(S, T, (V)exp((double)(HR_GET(S, x[i]) - most)) / sum);                              \
    }
HR_EACH_TYPE(ROW_SOFTMAX, ~, ~, floats, halves)

static hr_status sparse_softmax_compute(hr_kernel *k, hr_error *err)
{
    sparse s = {0};
    hr_tensor *out;
    HR_TRY(read_sparse(k, 0, &s, err));
    if (s.rank < 2)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "Input should have rank >= 2, but received shape of rank %d", s.rank);
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(s.count), &out, err));
    const size_t size = hr_dtype_size(out->dtype);
    for (int64_t first = 0, end; first < s.count; first = end) {
        for (end = first + 1;
             end < s.count && sparse_order(s.at + first * s.rank, s.at + end * s.rank, s.rank - 1) == 0;)
            end++;
        ((row_softmax_fn *)hr_kernel_chosen(k)->run)((const char *)s.values->data + (size_t)first * size,
                                                     (char *)out->data + (size_t)first * size, end - first);
    }
    return HR_OK;
}

/* (g - sum of g y in the row) y. */
static void sparse_softmax_gradient(hr_backward *b)
{
    const hr_node indices = b->input[0], shape = b->input[2], g = b->grad[0], y = b->output[0];
    const hr_node last = hr_ints(b->graph, (const int64_t[]){-1}, 1);
    const hr_node sums = hr_new_node(b->graph, "SparseReduceSum", HR_INPUTS(indices, hr_mul(g, y), shape, last),
                                     HR_ATTRS(HR_BOOL_ATTR("keep_dims", true)));
    hr_backward_give(
        b, 1, hr_mul(y, hr_new_node(b->graph, "SparseDenseCwiseAdd", HR_INPUTS(indices, g, shape, hr_neg(sums)))));
}

/* ---- the greater or lesser of two sparse tensors: where one has no value, 0 ---- */

/* Not a number if one is not; of zeros, the first. */
HR_BINARY(maximum, isnan(y) || y > x ? y : x, floats, halves)
HR_BINARY(maximum, x > y ? x : y, ints)
HR_BINARY(minimum, isnan(y) || y < x ? y : x, floats, halves)
HR_BINARY(minimum, x < y ? x : y, ints)

/* A walk through the places that either of two sparse tensors has, both in order. */
typedef struct joint {
    const sparse *a, *b;
    int64_t i, j;       /* the next value of each */
    int64_t of_a, of_b; /* the values at this place; -1: none */
    const int64_t *place;
} joint;

static bool next_place(joint *p)
{
    const sparse *a = p->a, *b = p->b;
    const bool more_a = p->i < a->count, more_b = p->j < b->count;
    const int64_t *x = a->at + p->i * a->rank, *y = b->at + p->j * b->rank;
    const int order = !more_a ? 1 : !more_b ? -1 : sparse_order(x, y, a->rank);
    p->place = order <= 0 ? x : y;
    p->of_a = order <= 0 ? p->i++ : -1;
    p->of_b = order >= 0 ? p->j++ : -1;
    return more_a || more_b;
}

static void put_value(char *out, int64_t at, const hr_tensor *values, int64_t from)
{
    const size_t size = hr_dtype_size(values->dtype);
    if (from < 0)
        memset(out + (size_t)at * size, 0, size);
    else
        memcpy(out + (size_t)at * size, (const char *)values->data + (size_t)from * size, size);
}

static hr_status two_sparse_compute(hr_kernel *k, hr_error *err)
{
    sparse a = {0}, b = {0};
    hr_tensor *indices, *values;
    int64_t count = 0;
    HR_TRY(read_sparse(k, 0, &a, err));
    HR_TRY(read_sparse(k, 3, &b, err));
    bool same = a.rank == b.rank;
    for (int d = 0; same && d < a.rank; d++) same = a.shape[d] == b.shape[d];
    if (!same)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected two sparse tensors of one shape, got others of %d and %d dimensions", a.rank, b.rank);
    for (joint p = {.a = &a, .b = &b}; next_place(&p);) count++;
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(count, a.rank), &indices, err));
    HR_TRY(hr_kernel_output(k, 1, HR_SHAPE(count), &values, err));
    const int64_t size = (int64_t)hr_dtype_size(values->dtype), steps[] = {size, size, size};
    char *other = hr_kernel_temp(k, (size_t)(count + 1) * (size_t)size), *out = values->data;
    if (!other) return hr_no_memory(err, "a sparse tensor");
    joint p = {.a = &a, .b = &b};
    for (int64_t i = 0; next_place(&p); i++) {
        if (a.rank) memcpy((int64_t *)indices->data + i * a.rank, p.place, sizeof(int64_t) * (size_t)a.rank);
        put_value(out, i, a.values, p.of_a);
        put_value(other, i, b.values, p.of_b);
    }
    if (count) ((hr_loop *)hr_kernel_chosen(k)->run)((char *const[]){out, out, other}, steps, count, NULL);
    return HR_OK;
}

/* ---- pieces of a sparse tensor along a dimension: the first ones are longer by one where it does not divide ---- */

typedef struct pieces {
    int64_t whole, longer; /* their least length; how many are longer by one */
} pieces;

static int64_t piece_of(const pieces *p, int64_t at, int64_t *begin)
{
    const int64_t long_end = p->longer * (p->whole + 1);
    const int64_t piece = at < long_end ? at / (p->whole + 1) : p->longer + (at - long_end) / p->whole;
    *begin = piece * p->whole + (piece < p->longer ? piece : p->longer);
    return piece;
}

static hr_status split_begin(hr_kernel *k, sparse *s, int *axis, pieces *p, hr_error *err)
{
    const int64_t number = k->outputs / 3;
    HR_TRY(sparse_read(k->input[1], k->input[2], k->input[3], s, err));
    HR_TRY(hr_axis_of_one(k->input[0], s->rank, axis, err));
    if (number < 1 || number > s->shape[*axis])
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "Input num_split should be between 1 and the splitting dimension size (%lld), got %lld",
                       (long long)s->shape[*axis], (long long)number);
    *p = (pieces){s->shape[*axis] / number, s->shape[*axis] % number};
    return HR_OK;
}

static hr_status sparse_split_compute(hr_kernel *k, hr_error *err)
{
    const int number = k->outputs / 3;
    sparse s = {0};
    int axis;
    pieces p = {1, 0};
    hr_tensor *out, scratch;
    int64_t begin;
    HR_TRY(split_begin(k, &s, &axis, &p, err));
    for (int piece = 0; piece < number; piece++) {
        int64_t count = 0, to = 0;
        for (int64_t i = 0; i < s.count; i++) count += piece_of(&p, s.at[i * s.rank + axis], &begin) == piece;
        HR_TRY(hr_kernel_output(k, piece, HR_SHAPE(count, s.rank), &out, err));
        for (int64_t i = 0; i < s.count; i++) {
            if (piece_of(&p, s.at[i * s.rank + axis], &begin) != piece) continue;
            for (int d = 0; d < s.rank; d++)
                ((int64_t *)out->data)[to * s.rank + d] = s.at[i * s.rank + d] - (d == axis ? begin : 0);
            to++;
        }
        HR_TRY(hr_kernel_begin_output(k, number + piece, HR_SHAPE(count), &scratch, &out, err));
        to = 0;
        for (int64_t i = 0; i < s.count; i++)
            if (piece_of(&p, s.at[i * s.rank + axis], &begin) == piece) sparse_copy(out, to++, s.values, i);
        HR_TRY(hr_kernel_end_output(k, number + piece, &scratch, out, err));
        HR_TRY(hr_kernel_output(k, 2 * number + piece, HR_SHAPE(s.rank), &out, err));
        for (int d = 0; d < s.rank; d++)
            ((int64_t *)out->data)[d] = d == axis ? p.whole + (piece < p.longer) : s.shape[d];
    }
    return HR_OK;
}

/* ---- what flows back to a tensor from its slice: both have their values in the same order ---- */

static hr_status slice_back_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *g = k->input[0], *in = k->input[1], *start = k->input[2], *sliced = k->input[3];
    hr_tensor *out;
    if (in->shape.rank != 2 || sliced->shape.rank != 2 || g->shape.rank != 1 || start->shape.rank != 1 ||
        in->shape.dims[1] != start->count || sliced->shape.dims[1] != start->count || sliced->shape.dims[0] != g->count)
        return hr_fail(
            err, HR_INVALID_ARGUMENT, "graph.shape",
            "expected values [m], indices [n, rank], a start [rank] and indices [m, rank], got ranks %d, %d, "
            "%d, %d",
            g->shape.rank, in->shape.rank, start->shape.rank, sliced->shape.rank);
    const int64_t *at = in->data, *from = start->data, *place = sliced->data, rank = start->count;
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(in->shape.dims[0]), &out, err));
    int64_t next = 0;
    for (int64_t i = 0; i < out->count; i++) {
        bool is = next < g->count;
        for (int64_t d = 0; is && d < rank; d++)
            is = (uint64_t)at[i * rank + d] - (uint64_t)from[d] == (uint64_t)place[next * rank + d];
        put_value(out->data, i, g, is ? next : -1);
        next += is;
    }
    if (next == g->count) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index", "expected %lld values in the slice, found %lld",
                   (long long)g->count, (long long)next);
}

#define WITH_DENSE(NAME, GRADIENT, LOOP)                                                                               \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .shapes = "[n,r], [n], [r], ? -> [n]", .gradient = GRADIENT,         \
        .compute = with_dense_compute, .kernels = HR_KERNELS(LOOP, floats, halves, complexes, ints),                   \
    }
#define TWO_SPARSE(NAME, LOOP)                                                                                         \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .shapes = "[n,r], [n], [r], [m,r], [m], [r] -> [?,r], [?]",          \
        .compute = two_sparse_compute, .kernels = HR_KERNELS(LOOP, floats, halves, ints),                              \
    }

const hr_graph_op hr_graph_ops_sparse_value_ops[] = {
    WITH_DENSE("SparseDenseCwiseAdd", NULL, add),
    WITH_DENSE("SparseDenseCwiseMul", with_mul_gradient, mul),
    WITH_DENSE("SparseDenseCwiseDiv", with_div_gradient, div),
    TWO_SPARSE("SparseSparseMaximum", maximum),
    TWO_SPARSE("SparseSparseMinimum", minimum),
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "SparseSoftmax",
        .shapes = "[n,r], [n], [r] -> [n]",
        .compute = sparse_softmax_compute,
        .gradient = sparse_softmax_gradient,
        .kernels = HR_KERNELS(row_softmax, floats, halves),
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "SparseSplit",
        .types = "T:any",
        .shapes = "?, [n,r], [n], [r] -> ?",
        .compute = sparse_split_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "SparseSliceGrad",
        .types = "T:{numbers,float16,bfloat16,complex64,complex128}",
        .shapes = "[m], [n,r], [r], [m,r] -> [n]",
        .compute = slice_back_compute,
    },
    HR_GRAPH_OPS_END,
};
