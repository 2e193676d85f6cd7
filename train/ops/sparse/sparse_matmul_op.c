/* SparseTensorDenseMatMul: a sparse matrix in coordinates times a dense one. */
#include <complex.h>
#include <headrace/kernels.h>
#include <string.h>

/* The product's shape, and by what dimension the two must agree; -1: unknown. */
static hr_shape sparse_product(hr_node node, hr_shape a, hr_shape b, int64_t *inner_a, int64_t *inner_b)
{
    const bool turn_a = hr_attr_bool(node, "adjoint_a"), turn_b = hr_attr_bool(node, "adjoint_b");
    *inner_a = a.rank == 2 ? a.dims[!turn_a] : -1;
    *inner_b = b.rank == 2 ? b.dims[turn_b] : -1;
    return HR_SHAPE(a.rank == 2 ? a.dims[turn_a] : -1, b.rank == 2 ? b.dims[!turn_b] : -1);
}

static hr_status sparse_shape(hr_infer *s, hr_error *err)
{
    hr_shape a;
    int64_t inner_a, inner_b;
    if (!hr_infer_numbers(s, 2, &a)) a = HR_UNKNOWN_SHAPE;
    s->output[0] = sparse_product(s->node, a, s->input[3], &inner_a, &inner_b);
    return inner_a < 0 || inner_b < 0 || inner_a == inner_b ? HR_OK
                                                            : hr_infer_refuse(s, err, "inner dimensions to agree");
}

typedef struct sparse_work {
    const hr_tensor *indices, *values, *b;
    hr_tensor *out;
    bool turn_a, turn_b;
} sparse_work;
typedef void sparse_fn(const sparse_work *w);

/* `out` is zeroed, and all indices are within the matrix. */
#define MULTIPLY(T, V, U_, D, S, CONJ, B)                                                                              \
    static void multiply_##S(const sparse_work *w)                                                                     \
    {                                                                                                                  \
        typedef U_ U;                                                                                                  \
        const int64_t width = w->out->shape.dims[1], stride = w->b->shape.dims[1];                                     \
        for (int64_t i = 0; i < w->values->count; i++) {                                                               \
            const int64_t row = hr_int_at(w->indices, 2 * i + w->turn_a);                                              \
            const int64_t column = hr_int_at(w->indices, 2 * i + !w->turn_a);                                          \
            const V value = HR_GET(S, ((const T *)w->values->data)[i]), a = w->turn_a ? CONJ(value) : value;           \
            const T *from = (const T *)w->b->data + (w->turn_b ? column : column * stride);                            \
            const int64_t step = w->turn_b ? stride : 1;                                                               \
            T *to = (T *)w->out->data + row * width;                                                                   \
            for (int64_t j = 0; j < width; j++) {                                                                      \
                const V b = HR_GET(S, from[j * step]), sum = HR_GET(S, to[j]);                                         \
                to[j] = HR_PUT(S, T, (U)sum + (U)a * (U)(w->turn_b ? CONJ(b) : b));                                    \
            }                                                                                                          \
        }                                                                                                              \
    }
#define SAME(x) x
HR_EACH_TYPE(MULTIPLY, SAME, ~, floats, halves)
HR_EACH_TYPE(MULTIPLY, conj, ~, complexes)
HR_SET_int32(MULTIPLY, SAME, ~)

    static hr_status sparse_check(const hr_kernel *k, hr_shape a, hr_error *err)
{
    const hr_tensor *indices = k->input[0], *values = k->input[1];
    if (indices->shape.rank != 2 || indices->shape.dims[1] != 2 || indices->shape.dims[0] != values->count ||
        values->shape.rank != 1 || k->input[3]->shape.rank != 2)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a row and a column for each value");
    for (int64_t i = 0; i < indices->count; i++)
        if (hr_int_at(indices, i) < 0 || hr_int_at(indices, i) >= a.dims[i % 2])
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index", "expected an index in [0, %lld), got %lld",
                           (long long)a.dims[i % 2], (long long)hr_int_at(indices, i));
    return HR_OK;
}

static hr_status sparse_compute(hr_kernel *k, hr_error *err)
{
    sparse_work w = {k->input[0],
                     k->input[1],
                     k->input[3],
                     NULL,
                     hr_attr_bool(k->node, "adjoint_a"),
                     hr_attr_bool(k->node, "adjoint_b")};
    hr_shape a;
    int64_t inner_a, inner_b;
    if (!hr_shape_from_tensor(k->input[2], &a) || a.rank != 2)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a_shape of a matrix");
    HR_TRY(sparse_check(k, a, err));
    const hr_shape shape = sparse_product(k->node, a, w.b->shape, &inner_a, &inner_b);
    if (inner_a != inner_b)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected inner dimensions to agree, got %lld and %lld",
                       (long long)inner_a, (long long)inner_b);
    HR_TRY(hr_kernel_output(k, 0, shape, &w.out, err));
    if (w.out->count) memset(w.out->data, 0, (size_t)w.out->count * hr_dtype_size(w.out->dtype));
    if (w.out->count) ((sparse_fn *)hr_kernel_chosen(k)->run)(&w);
    return HR_OK;
}

/* Row or column numbers of the values. */
static hr_node sparse_numbers(const hr_backward *b, int column)
{
    hr_graph *g = b->graph;
    const hr_node part = hr_slice(b->input[0], hr_ints(g, HR_I64(0, column), 2), hr_ints(g, HR_I64(-1, 1), 2));
    return hr_reshape(part, hr_ints(g, HR_I64(-1), 1));
}

/* By the value at (i, j): row i of g times row j of b. By b: A^T g. */
static void sparse_gradient(hr_backward *b)
{
    const hr_node g = b->grad[0], turned = hr_ints(b->graph, HR_I64(1, 0), 2);
    const bool turn_a = hr_attr_bool(b->node, "adjoint_a"), turn_b = hr_attr_bool(b->node, "adjoint_b");
    const hr_node dense = turn_b ? hr_transpose(b->input[3], turned) : b->input[3];
    const hr_node rows = hr_gather(g, sparse_numbers(b, turn_a), 0),
                  others = hr_gather(dense, sparse_numbers(b, !turn_a), 0);
    const hr_node by_b = hr_new_node(b->graph, hr_node_op(b->node), HR_INPUTS(b->input[0], b->input[1], b->input[2], g),
                                     HR_ATTRS(HR_BOOL_ATTR("adjoint_a", !turn_a)));
    hr_backward_give(b, 1, hr_reduce_sum(hr_mul(rows, others), .axes = HR_I64(1), .axis_count = 1));
    hr_backward_give(b, 3, turn_b ? hr_transpose(by_b, turned) : by_b);
}

const hr_graph_op hr_graph_ops_sparse_matmul_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "SparseTensorDenseMatMul",
        .kernels = HR_KERNELS(multiply, floats, halves, complexes, int32),
        .types = "Tindices:indices",
        .shapes = "[n,2], [n], [2], [?,?] -> [?,?]",
        .shape = sparse_shape,
        .compute = sparse_compute,
        .traits = HR_REAL_GRADIENT,
        .gradient = sparse_gradient,
    },
    HR_GRAPH_OPS_END,
};
