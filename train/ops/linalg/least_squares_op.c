/* MatrixSolveLs: the x of the least |a x - b|^2 + l2 |x|^2, by Cholesky's factor of a' a + l2 I, or of a a' + l2 I where
 * a has more columns than rows; or, not `fast`, by LAPACK's QR, without l2. */
#include "train/ops/linalg/gradients.h"
#include "train/ops/linalg/matrices.h"
#include <tgmath.h>

enum { QR_BLOCK = 64 };

HR_EACH_TYPE(HR__TURN, ~, ~, floats, complexes)

/* x' y of matrices in rows, or x y' : both conjugate what is turned. */
#define PRODUCTS(T, V, U, D, S, A, B)                                                                                  \
    static void turned_product_##S(const T *x, const T *y, T *out, int64_t rows, int64_t m, int64_t n)                 \
    {                                                                                                                  \
        for (int64_t p = 0; p < m * n; p++) {                                                                          \
            T sum = 0;                                                                                                 \
            for (int64_t r = 0; r < rows; r++) sum += HR__CONJ_##S(x[r * m + p / n]) * y[r * n + p % n];               \
            out[p] = sum;                                                                                              \
        }                                                                                                              \
    }                                                                                                                  \
    static void square_##S(const T *x, T *out, int64_t rows, int64_t columns)                                          \
    {                                                                                                                  \
        for (int64_t p = 0; p < rows * rows; p++) {                                                                    \
            T sum = 0;                                                                                                 \
            for (int64_t c = 0; c < columns; c++)                                                                      \
                sum += x[p / rows * columns + c] * HR__CONJ_##S(x[p % rows * columns + c]);                            \
            out[p] = sum;                                                                                              \
        }                                                                                                              \
    }
HR_EACH_TYPE(PRODUCTS, ~, ~, floats, complexes)

#define LEAST_SQUARES(T, V, U, D, S, A, B)                                                                             \
    static bool by_cholesky_##S(const hr__matrices *m, const T *a, const T *b, T *x, T *gram)                          \
    {                                                                                                                  \
        const bool tall = m->rows >= m->columns;                                                                       \
        const blasint n = (blasint)(tall ? m->columns : m->rows), right = (blasint)m->right;                           \
        T *side = tall ? x : gram + (int64_t)n * n, one = 1;                                                           \
        blasint info = 0;                                                                                              \
        if (tall) {                                                                                                    \
            turned_product_##S(a, a, gram, m->rows, n, n);                                                             \
            turned_product_##S(a, b, side, m->rows, n, right);                                                         \
        } else {                                                                                                       \
            square_##S(a, gram, n, m->columns);                                                                        \
            memcpy(side, b, (size_t)n *(size_t)right * sizeof *side);                                                  \
        }                                                                                                              \
        for (int64_t j = 0; j < n; j++) gram[j * n + j] += (T)m->l2;                                                   \
        m->lapack->potrf("U", &n, gram, &n, &info, 1);                                                                 \
        if (info) return false;                                                                                        \
        m->lapack->trsm("R", "U", "N", "N", &right, &n, &one, gram, &n, side, &right, 1, 1, 1, 1);                     \
        m->lapack->trsm("R", "U", "C", "N", &right, &n, &one, gram, &n, side, &right, 1, 1, 1, 1);                     \
        if (!tall) turned_product_##S(a, side, x, n, m->columns, right);                                               \
        return true;                                                                                                   \
    }                                                                                                                  \
    static bool by_qr_##S(const hr__matrices *m, const T *a, const T *b, T *x, T *work)                                \
    {                                                                                                                  \
        const blasint rows = (blasint)m->rows, columns = (blasint)m->columns, right = (blasint)m->right;               \
        const blasint longer = rows > columns ? rows : columns, work_size = (longer + right) * QR_BLOCK;               \
        T *turned = work, *side = turned + m->rows * m->columns, *rest = side + (int64_t)longer * right;               \
        blasint info = 0;                                                                                              \
        turn_##S(a, turned, rows, columns, false);                                                                     \
        for (int64_t j = 0; j < right; j++)                                                                            \
            for (int64_t i = 0; i < longer; i++) side[j * longer + i] = i < rows ? b[i * right + j] : (T)0;            \
        m->lapack->gels("N", &rows, &columns, &right, turned, &rows, side, &longer, rest, &work_size, &info, 1);       \
        for (int64_t j = 0; j < right; j++)                                                                            \
            for (int64_t i = 0; i < columns; i++) x[i * right + j] = side[j * longer + i];                             \
        return info == 0;                                                                                              \
    }                                                                                                                  \
    static bool least_squares_##S(const hr__matrices *m, int64_t i, void *work)                                        \
    {                                                                                                                  \
        const T *a = (const T *)(const void *)m->in[0] + i * m->rows * m->columns;                                     \
        const T *b = (const T *)(const void *)m->in[1] + i * m->rows * m->right;                                       \
        T *x = (T *)(void *)m->out[0] + i * m->columns * m->right;                                                     \
        if (m->columns == 0 || m->right == 0) return true;                                                             \
        if (m->rows == 0) memset(x, 0, (size_t)(m->columns * m->right) * sizeof *x);                                   \
        return m->rows == 0 || (m->flag ? by_cholesky_##S : by_qr_##S)(m, a, b, x, work);                              \
    }
HR_EACH_TYPE(LEAST_SQUARES, ~, ~, floats, complexes)

static hr_status least_squares_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *right = k->input[1], *l2 = k->input[2];
    hr__matrices m;
    hr_tensor *out;
    HR_TRY(hr__matrices_begin(k, false, &m, err));
    hr_shape shape = k->input[0]->shape, before = right->shape;
    before.rank -= 2;
    if (right->shape.rank != shape.rank || !hr_shape_equal(before, m.batch) ||
        right->shape.dims[shape.rank - 2] != m.rows || right->shape.dims[shape.rank - 1] > INT16_MAX ||
        l2->count != 1 || !(*(const double *)l2->data >= 0))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected as many right sides of as many rows as matrices, and an l2_regularizer of 0 or more, "
                       "got ranks %d and %d",
                       shape.rank, right->shape.rank);
    m.right = right->shape.dims[shape.rank - 1];
    m.in[1] = right->data;
    m.flag = hr_attr_bool(k->node, "fast");
    m.l2 = *(const double *)l2->data;
    shape.dims[shape.rank - 2] = m.columns;
    shape.dims[shape.rank - 1] = m.right;
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    m.out[0] = out->data;
    const int64_t longer = m.rows > m.columns ? m.rows : m.columns;
    m.work = (size_t)(longer * longer + longer * m.right + (longer + m.right) * QR_BLOCK) * hr_dtype_size(out->dtype);
    m.refusal = "Input matrix was rank deficient or ill-conditioned. Try a larger l2_regularizer > 0.";
    const double n = (double)longer;
    return hr__matrices_run(k, &m, 1000 + n * n * (n + (double)m.right), err);
}

/* ---- the gradient, as TensorFlow's linalg_grad.py has it ---- */

/* Cholesky's factor of a' a + l2 I, or of a a' + l2 I. */
static hr_node gram_factor(hr_node a, hr_node l2, bool tall)
{
    const hr_node gram = product(a, a, tall, !tall);
    const hr_node on = hr_add(hr_matrix_diag_part(gram), hr_cast_to(l2, hr_node_dtype(a)));
    return hr_cholesky(hr_new_node(a.graph, "MatrixSetDiag", HR_INPUTS(gram, on)));
}

static hr_node factor_solve(hr_node factor, hr_node right)
{
    return hr_matrix_triangular_solve(factor, hr_matrix_triangular_solve(factor, right), .adjoint = true);
}

static void least_squares_gradient(hr_backward *b)
{
    const hr_node a = b->input[0], right = b->input[1], x = b->output[0], g = b->grad[0];
    const hr_dtype dtype = hr_node_dtype(a);
    int64_t m, n;
    matrix_size(a, &m, &n);
    if (m < 0 || n < 0 || !hr_attr_bool(b->node, "fast") || (dtype != HR_FLOAT && dtype != HR_DOUBLE)) {
        (void)hr_node_fail(b->graph, HR_UNIMPLEMENTED, "graph.gradient",
                           "the gradient of MatrixSolveLs needs known rows and columns, float or double, and fast");
        return;
    }
    const hr_node factor = gram_factor(a, b->input[2], m >= n);
    if (m >= n) {
        const hr_node z = factor_solve(factor, g), xz = product(x, z, false, true);
        const hr_node both = hr_add(xz, hr_matrix_transpose(xz));
        hr_backward_give(b, 0, hr_sub(product(right, z, false, true), product(a, both, false, false)));
        hr_backward_give(b, 1, product(a, z, false, false));
        return;
    }
    const hr_node by_right = factor_solve(factor, product(a, g, false, false)), inner = factor_solve(factor, right);
    const hr_node rest = hr_sub(g, product(a, by_right, true, false));
    hr_backward_give(
        b, 0,
        hr_sub(product(inner, rest, false, true), product(by_right, product(inner, a, true, false), false, false)));
    hr_backward_give(b, 1, by_right);
}

const hr_graph_op hr_graph_ops_least_squares_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "MatrixSolveLs",
        .state_size = sizeof(hr__matrices_state),
        .shapes = "[...,m,n], [...,m,k], [] -> [...,n,k]",
        .prepare = hr__matrices_prepare,
        .compute = least_squares_compute,
        .traits = HR_REAL_GRADIENT,
        .gradient = least_squares_gradient,
        .kernels = HR_KERNELS(least_squares, floats, complexes),
    },
    HR_GRAPH_OPS_END,
};

hr_node hr_matrix_solve_ls_with(hr_node a, hr_node b, const hr_solve_ls_opts *opts)
{
    const hr_solve_ls_opts o = HR_OPTIONS(hr_solve_ls_opts, opts);
    return hr_new_node(a.graph, "MatrixSolveLs", .name = o.name,
                       HR_INPUTS(a, b, hr_scalar(a.graph, HR_DOUBLE, o.l2_regularizer)),
                       HR_ATTRS(HR_BOOL_ATTR("fast", !o.by_qr)));
}
