/* QR by Householder's reflections; diagonals of whole tensors; products of vectors. */
#include "train/ops/linalg/gradients.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* The last two dimensions are matrices; those before them count them. */
static int64_t matrices_of(hr_shape shape) { return hr_values_before_axis(shape, shape.rank - 2); }

/* ---- QR: A = QR, by reflections I - tau v v' that zero a column each; R's diagonal has the sign that Eigen gives it,
 * the opposite of the column's first value ---- */

/* One matrix in columns: `a` [n][m] becomes R above and the v below the diagonal, v[0] = 1 left out; `q` [columns][m].
 */
#define QR(T, U, D, S)                                                                                                 \
    static void reflect_##S(T *column, const T *v, T tau, int64_t rows)                                                \
    {                                                                                                                  \
        T dot = column[0];                                                                                             \
        for (int64_t i = 1; i < rows; i++) dot += v[i] * column[i];                                                    \
        dot *= tau;                                                                                                    \
        column[0] -= dot;                                                                                              \
        for (int64_t i = 1; i < rows; i++) column[i] -= dot * v[i];                                                    \
    }                                                                                                                  \
    static T reflection_##S(T *v, int64_t rows, T least)                                                               \
    {                                                                                                                  \
        T tail = 0;                                                                                                    \
        for (int64_t i = 1; i < rows; i++) tail += v[i] * v[i];                                                        \
        if (tail <= least) {                                                                                           \
            for (int64_t i = 1; i < rows; i++) v[i] = 0;                                                               \
            return 0;                                                                                                  \
        }                                                                                                              \
        const T first = v[0], norm = (T)sqrt((double)(first * first + tail)), beta = first >= 0 ? -norm : norm;        \
        for (int64_t i = 1; i < rows; i++) v[i] /= first - beta;                                                       \
        v[0] = beta;                                                                                                   \
        return (beta - first) / beta;                                                                                  \
    }                                                                                                                  \
    static void qr_##S(T *a, T *q, T *tau, int64_t m, int64_t n, int64_t columns)                                      \
    {                                                                                                                  \
        const int64_t k = m < n ? m : n;                                                                               \
        for (int64_t j = 0; j < k; j++) {                                                                              \
            tau[j] = reflection_##S(a + j * m + j, m - j, D == HR_FLOAT ? (T)FLT_MIN : (T)DBL_MIN);                    \
            for (int64_t c = j + 1; c < n; c++) reflect_##S(a + c * m + j, a + j * m + j, tau[j], m - j);              \
        }                                                                                                              \
        memset(q, 0, (size_t)(columns * m) * sizeof(T));                                                               \
        for (int64_t c = 0; c < columns; c++) q[c * m + c] = 1;                                                        \
        for (int64_t j = k - 1; j >= 0; j--)                                                                           \
            for (int64_t c = j; c < columns; c++) reflect_##S(q + c * m + j, a + j * m + j, tau[j], m - j);            \
    }                                                                                                                  \
    static void qr_matrix_##S(const void *in, void *out_q, void *out_r, void *work, int64_t m, int64_t n,              \
                              int64_t full)                                                                            \
    {                                                                                                                  \
        const int64_t k = m < n ? m : n, columns = full ? m : k;                                                       \
        T *a = work, *q = a + m * n, *tau = q + m * columns, *r = out_r, *q_rows = out_q;                              \
        for (int64_t i = 0; i < m; i++)                                                                                \
            for (int64_t j = 0; j < n; j++) a[j * m + i] = ((const T *)in)[i * n + j];                                 \
        qr_##S(a, q, tau, m, n, columns);                                                                              \
        for (int64_t i = 0; i < m; i++)                                                                                \
            for (int64_t j = 0; j < columns; j++) q_rows[i * columns + j] = q[j * m + i];                              \
        for (int64_t i = 0; i < columns; i++)                                                                          \
            for (int64_t j = 0; j < n; j++) r[i * n + j] = j >= i ? a[j * m + i] : 0;                                  \
    }
HR_FLOAT_TYPES(QR)

static hr_status qr_outputs(hr_shape in, bool full, hr_shape *q, hr_shape *r)
{
    const int64_t m = in.dims[in.rank - 2], n = in.dims[in.rank - 1];
    const int64_t k = m < 0 || n < 0 ? -1 : m < n ? m : n;
    *q = *r = in;
    q->dims[in.rank - 1] = full ? m : k;
    r->dims[in.rank - 2] = full ? m : k;
    return HR_OK;
}

static hr_status qr_shape(hr_infer *s, hr_error *err)
{
    if (s->input[0].rank < 0) return HR_OK;
    if (s->input[0].rank < 2) return hr_infer_refuse(s, err, "matrices");
    return qr_outputs(s->input[0], hr_attr_bool(s->node, "full_matrices"), &s->output[0], &s->output[1]);
}

static hr_status qr_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    hr_shape q_shape, r_shape;
    hr_tensor *q, *r;
    if (in->shape.rank < 2)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected matrices, got rank %d", in->shape.rank);
    const bool full = hr_attr_bool(k->node, "full_matrices");
    HR_TRY(qr_outputs(in->shape, full, &q_shape, &r_shape));
    HR_TRY(hr_kernel_output(k, 0, q_shape, &q, err));
    HR_TRY(hr_kernel_output(k, 1, r_shape, &r, err));
    const int64_t m = in->shape.dims[in->shape.rank - 2], n = in->shape.dims[in->shape.rank - 1];
    const int64_t columns = q_shape.dims[in->shape.rank - 1], matrices = matrices_of(in->shape);
    const size_t size = hr_dtype_size(in->dtype);
    void *work = hr_kernel_temp(k, (size_t)(m * n + m * columns + columns + 1) * size);
    if (!work) return hr_no_memory(err, "a matrix");
    for (int64_t i = 0; i < matrices; i++) {
        const char *from = (const char *)in->data + (size_t)(i * m * n) * size;
        char *to_q = (char *)q->data + (size_t)(i * m * columns) * size;
        char *to_r = (char *)r->data + (size_t)(i * columns * n) * size;
        if (hr_kernel_cancelled(k)) return hr_fail(err, HR_CANCELLED, "session.cancelled", "the run was cancelled");
        (in->dtype == HR_FLOAT ? qr_matrix_f32 : qr_matrix_f64)(from, to_q, to_r, work, m, n, full);
    }
    return HR_OK;
}

/* x times the inverse of r turned, of an upper triangle r. */
static hr_node times_inverse(hr_node x, hr_node r)
{
    return hr_matrix_transpose(hr_matrix_triangular_solve(r, hr_matrix_transpose(x), .upper = true));
}

/* Of matrices with at least as many rows as columns, as TensorFlow's linalg_grad.py has it. */
static hr_node deep_qr_gradient(hr_node q, hr_node r, hr_node gq, hr_node gr)
{
    const hr_node by_q = product(q, gq, true, false), by_r = product(r, gr, false, true);
    const hr_node skew = hr_add(hr_sub(by_q, hr_matrix_transpose(by_q)), hr_sub(by_r, hr_matrix_transpose(by_r)));
    const hr_node within = product(q, hr_add(gr, times_inverse(band(skew, -1, 0), r)), false, false);
    return hr_add(within, times_inverse(hr_sub(gq, product(q, by_q, false, false)), r));
}

/* Of others, the columns beyond the square part are products of Q. */
static void qr_gradient(hr_backward *b)
{
    const hr_node q = b->output[0], r = b->output[1], gq = hr_backward_grad(b, 0), gr = hr_backward_grad(b, 1);
    int64_t m, n;
    matrix_size(b->input[0], &m, &n);
    if (m < 0 || n < 0 || (m > n && hr_attr_bool(b->node, "full_matrices"))) {
        (void)hr_node_fail(
            b->graph, HR_UNIMPLEMENTED, "graph.gradient",
            "the gradient of Qr needs known rows and columns, and not full_matrices where there are more "
            "rows, got %lld and %lld",
            (long long)m, (long long)n);
        return;
    }
    if (m >= n) {
        hr_backward_give(b, 0, deep_qr_gradient(q, r, gq, gr));
        return;
    }
    const hr_node right = columns(gr, m, n), rest = columns(b->input[0], m, n);
    const hr_node sides[] = {
        deep_qr_gradient(q, columns(r, 0, m), hr_add(gq, product(rest, right, false, true)), columns(gr, 0, m)),
        product(q, right, false, false)};
    hr_backward_give(b, 0, hr_concat(sides, 2, -1));
}

/* ---- a tensor's diagonal: its dimensions are those of the diagonal twice ---- */

static hr_status diag_part_shape(hr_infer *s, hr_error *err)
{
    const hr_shape in = s->input[0];
    hr_shape first = {in.rank / 2, {0}}, second = {in.rank / 2, {0}};
    if (in.rank < 0) return HR_OK;
    if (in.rank == 0 || in.rank % 2) return hr_infer_refuse(s, err, "an even number of dimensions");
    memcpy(first.dims, in.dims, sizeof *in.dims * (size_t)first.rank);
    memcpy(second.dims, in.dims + first.rank, sizeof *in.dims * (size_t)first.rank);
    if (!hr_shape_merge(first, second, &s->output[0])) return hr_infer_refuse(s, err, "the same dimensions twice");
    return HR_OK;
}

static hr_status diag_part_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    const int rank = in->shape.rank / 2;
    hr_shape shape = {rank, {0}};
    hr_tensor scratch, *out;
    bool twice = in->shape.rank > 0 && in->shape.rank % 2 == 0;
    for (int i = 0; twice && i < rank; i++) {
        shape.dims[i] = in->shape.dims[i];
        twice = shape.dims[i] == in->shape.dims[rank + i];
    }
    if (!twice)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected the same dimensions twice, got others");
    HR_TRY(hr_kernel_begin_output(k, 0, shape, &scratch, &out, err));
    const size_t size = hr_dtype_size(in->dtype);
    for (int64_t i = 0; i < out->count; i++)
        memcpy((char *)out->data + (size_t)i * size, (const char *)in->data + (size_t)(i * out->count + i) * size,
               size);
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

static void diag_part_gradient(hr_backward *b) { hr_backward_give(b, 0, hr_unary_node("Diag", b->grad[0], NULL)); }

static hr_status diag_shape(hr_infer *s, hr_error *err)
{
    const hr_shape in = s->input[0];
    if (in.rank < 0) return HR_OK;
    if (in.rank == 0 || 2 * in.rank > HR_MAX_RANK) return hr_infer_refuse(s, err, "1 to 4 dimensions");
    s->output[0].rank = 2 * in.rank;
    for (int i = 0; i < 2 * in.rank; i++) s->output[0].dims[i] = in.dims[i % in.rank];
    return HR_OK;
}

static hr_status diag_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    const int rank = in->shape.rank;
    const size_t size = hr_dtype_size(in->dtype);
    hr_shape shape = {2 * rank, {0}};
    hr_tensor *out;
    if (rank == 0 || 2 * rank > HR_MAX_RANK)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected 1 to 4 dimensions, got %d", rank);
    for (int i = 0; i < 2 * rank; i++) shape.dims[i] = in->shape.dims[i % rank];
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    if (out->count) memset(out->data, 0, (size_t)out->count * size);
    for (int64_t i = 0; i < in->count; i++)
        memcpy((char *)out->data + (size_t)(i * in->count + i) * size, (const char *)in->data + (size_t)i * size, size);
    return HR_OK;
}

static void diag_gradient(hr_backward *b) { hr_backward_give(b, 0, hr_unary_node("DiagPart", b->grad[0], NULL)); }

/* ---- products of vectors in space ---- */

#define CROSS(T, V, U, D, S, A, B)                                                                                     \
    static void cross_##S(const void *left, const void *right, void *product, int64_t vectors)                         \
    {                                                                                                                  \
        for (int64_t i = 0; i < 3 * vectors; i++) {                                                                    \
            const int64_t first = i / 3 * 3, p = first + (i + 1) % 3, q = first + (i + 2) % 3;                         \
            const T *x = left, *y = right;                                                                             \
            ((T *)product)[i] =                                                                                        \
                HR_PUT(S, T, (U)HR_GET(S, x[p]) * (U)HR_GET(S, y[q]) - (U)HR_GET(S, x[q]) * (U)HR_GET(S, y[p]));       \
        }                                                                                                              \
    }
HR_EACH_TYPE(CROSS, ~, ~, floats, halves, ints)

static hr_status cross_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *x = k->input[0], *y = k->input[1];
    const int rank = x->shape.rank;
    hr_tensor *out;
    if (rank < 1 || x->shape.dims[rank - 1] != 3 || !hr_shape_equal(x->shape, y->shape))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected vectors of 3 in two equal shapes, got others");
    HR_TRY(hr_kernel_output(k, 0, x->shape, &out, err));
    ((void (*)(const void *, const void *, void *, int64_t))hr_kernel_chosen(k)->run)(x->data, y->data, out->data,
                                                                                      x->count / 3);
    return HR_OK;
}

HR_BINARY_GRADIENT(cross, hr_cross(y, g), hr_cross(g, x))

const hr_graph_op hr_graph_ops_linalg_ops[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Qr",
        .types = "T:floats",
        .shape = qr_shape,
        .compute = qr_compute,
        .gradient = qr_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Diag",
        .shape = diag_shape,
        .compute = diag_compute,
        .gradient = diag_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "DiagPart",
        .shape = diag_part_shape,
        .compute = diag_part_compute,
        .gradient = diag_part_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Cross",
        .shapes = "merge",
        .compute = cross_compute,
        .gradient = cross_gradient,
        .kernels = HR_KERNELS(cross, floats, halves, ints),
    },
    HR_GRAPH_OPS_END,
};

hr_node hr_cross_with(hr_node x, hr_node y, const hr_name_opts *opts) { return hr_binary_node("Cross", x, y, opts); }
