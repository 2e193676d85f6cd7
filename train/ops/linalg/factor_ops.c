/* Matrices as products of triangular ones, by LAPACK: Cholesky, LU, and what follows from them: solutions, inverses,
 * determinants. What C holds in rows, LAPACK sees in columns: the transposed matrix. */
#include "train/ops/linalg/gradients.h"
#include "train/ops/linalg/matrices.h"
#include <tgmath.h>

/* A column block of getri. */
enum { INVERSE_BLOCK = 64 };

/* Memory of a kernel for LU: pivots first, then matrices. */
static size_t pivot_bytes(int64_t n) { return ((size_t)n * sizeof(blasint) + 63) / 64 * 64; }

static double factor_cost(int64_t n, int64_t columns)
{
    return 500 + (double)n * (double)n * (double)(n + 2 * columns) / 8;
}

/* A = L L': the lower part of A alone counts. What has no such L gives NaN. LAPACK sees the upper part of conj(A), and
 * its U is L transposed. */
#define CHOLESKY(T, V, U, D, S, A, B)                                                                                  \
    static bool cholesky_##S(const hr__matrices *m, int64_t i, void *work)                                             \
    {                                                                                                                  \
        const blasint n = (blasint)m->rows, lda = n > 0 ? n : 1;                                                       \
        const int64_t size = m->rows * m->rows;                                                                        \
        T *a = (T *)(void *)m->out[0] + i * size;                                                                      \
        blasint info = 0;                                                                                              \
        (void)work;                                                                                                    \
        if (size) memcpy(a, (const T *)(const void *)m->in[0] + i * size, (size_t)size * sizeof *a);                   \
        m->lapack->potrf("U", &n, a, &lda, &info, 1);                                                                  \
        for (int64_t r = 0; r < n; r++)                                                                                \
            for (int64_t c = 0; c < n; c++)                                                                            \
                if (c > r || info) a[r * n + c] = c > r ? (T)0 : (T)NAN;                                               \
        return true;                                                                                                   \
    }
HR_EACH_TYPE(CHOLESKY, ~, ~, floats, complexes)

/* What flows to A from L, in[0], and what flows to it, in[1]: of M = L' g below the diagonal and half of it on the
 * diagonal, the symmetric part of L'^-1 M L^-1. */
#define CHOLESKY_GRAD(T, V, U, D, S, A, B)                                                                             \
    static bool cholesky_grad_##S(const hr__matrices *m, int64_t i, void *work)                                        \
    {                                                                                                                  \
        const blasint n = (blasint)m->rows;                                                                            \
        const int64_t size = m->rows * m->rows;                                                                        \
        const T *l = (const T *)(const void *)m->in[0] + i * size, *g = (const T *)(const void *)m->in[1] + i * size;  \
        T *y = work, *out = (T *)(void *)m->out[0] + i * size, one = 1;                                                \
        if (size == 0) return true;                                                                                    \
        for (int64_t p = 0; p < size; p++) {                                                                           \
            const int64_t r = p / n, c = p % n;                                                                        \
            T sum = 0;                                                                                                 \
            for (int64_t k = r; k < n && c <= r; k++) sum += l[k * n + r] * g[k * n + c];                              \
            y[p] = r == c ? sum / 2 : sum;                                                                             \
        }                                                                                                              \
        m->lapack->trsm("R", "U", "C", "N", &n, &n, &one, l, &n, y, &n, 1, 1, 1, 1);                                   \
        m->lapack->trsm("L", "U", "N", "N", &n, &n, &one, l, &n, y, &n, 1, 1, 1, 1);                                   \
        for (int64_t p = 0; p < size; p++) out[p] = (y[p] + y[p % n * n + p / n]) / 2;                                 \
        return true;                                                                                                   \
    }
HR_EACH_TYPE(CHOLESKY_GRAD, ~, ~, floats)

HR_EACH_TYPE(HR__TURN, ~, ~, floats, complexes)

/* The transposed matrix is inverted in place: its inverse is the inverse transposed. */
#define INVERSE(T, V, U, D, S, A, B)                                                                                   \
    static bool inverse_##S(const hr__matrices *m, int64_t i, void *work)                                              \
    {                                                                                                                  \
        const blasint n = (blasint)m->rows, lda = n > 0 ? n : 1, work_size = (n + 1) * INVERSE_BLOCK;                  \
        const int64_t size = m->rows * m->rows;                                                                        \
        const T *in = (const T *)(const void *)m->in[0] + i * size;                                                    \
        T *a = (T *)(void *)m->out[0] + i * size;                                                                      \
        blasint *pivots = work, info = 0;                                                                              \
        if (size == 0) return true;                                                                                    \
        if (m->flag)                                                                                                   \
            turn_##S(in, a, n, n, true);                                                                               \
        else                                                                                                           \
            memcpy(a, in, (size_t)size * sizeof *a);                                                                   \
        m->lapack->getrf(&n, &n, a, &lda, pivots, &info);                                                              \
        if (info == 0) m->lapack->getri(&n, a, &lda, pivots, (char *)work + pivot_bytes(n), &work_size, &info);        \
        return info == 0;                                                                                              \
    }
HR_EACH_TYPE(INVERSE, ~, ~, floats, complexes)

/* Half floats are inverted as floats, which lie before the other memory. */
static bool inverse_f16(const hr__matrices *m, int64_t i, void *work)
{
    const int64_t size = m->rows * m->rows;
    float *in = work, *out = in + size;
    hr__matrices wide = *m;
    wide.in[0] = (const char *)in;
    wide.out[0] = (char *)out;
    for (int64_t p = 0; p < size; p++) in[p] = hr_half_get(((const hr_half *)(const void *)m->in[0])[i * size + p]);
    if (!inverse_f32(&wide, 0, (char *)work + pivot_bytes(2 * size))) return false;
    for (int64_t p = 0; p < size; p++) ((hr_half *)(void *)m->out[0])[i * size + p] = hr_half_put(out[p]);
    return true;
}

#define SOLVE(T, V, U, D, S, A, B)                                                                                     \
    static bool solve_##S(const hr__matrices *m, int64_t i, void *work)                                                \
    {                                                                                                                  \
        const blasint n = (blasint)m->rows, columns = (blasint)m->right, lda = n > 0 ? n : 1;                          \
        const int64_t size = m->rows * m->rows, right = m->rows * m->right;                                            \
        blasint *pivots = work, info = 0;                                                                              \
        T *a = (T *)(void *)((char *)work + pivot_bytes(n)), *b = a + size;                                            \
        turn_##S((const T *)(const void *)m->in[0] + i * size, a, n, n, false);                                        \
        turn_##S((const T *)(const void *)m->in[1] + i * right, b, n, columns, false);                                 \
        m->lapack->getrf(&n, &n, a, &lda, pivots, &info);                                                              \
        if (info) return false;                                                                                        \
        m->lapack->getrs(m->flag ? "C" : "N", &n, &columns, a, &lda, pivots, b, &lda, &info, 1);                       \
        turn_##S(b, (T *)(void *)m->out[0] + i * right, columns, n, false);                                            \
        return true;                                                                                                   \
    }
HR_EACH_TYPE(SOLVE, ~, ~, floats, complexes)

/* LAPACK sees X' A' = B', solved from the right in place. */
#define TRIANGULAR(T, V, U, D, S, A, B)                                                                                \
    static bool triangular_##S(const hr__matrices *m, int64_t i, void *work)                                           \
    {                                                                                                                  \
        const blasint n = (blasint)m->rows, columns = (blasint)m->right;                                               \
        const int64_t size = m->rows * m->rows, right = m->rows * m->right;                                            \
        const T *a = (const T *)(const void *)m->in[0] + hr__matrix_in(m, 0, i) * size, one = 1;                       \
        T *x = (T *)(void *)m->out[0] + i * right;                                                                     \
        (void)work;                                                                                                    \
        if (right == 0) return true;                                                                                   \
        memcpy(x, (const T *)(const void *)m->in[1] + hr__matrix_in(m, 1, i) * right, (size_t)right * sizeof *x);      \
        m->lapack->trsm("R", hr_attr_bool(m->node, "lower") ? "U" : "L", m->flag ? "C" : "N", "N", &columns, &n, &one, \
                        a, &n, x, &columns, 1, 1, 1, 1);                                                               \
        return true;                                                                                                   \
    }
HR_EACH_TYPE(TRIANGULAR, ~, ~, floats, complexes)

/* LU of one matrix, in columns: the sign of the order of its rows; 0 if it has no order. */
#define FACTOR(T, V, U, D, S, A, B)                                                                                    \
    static int factor_##S(const hr__matrices *m, int64_t i, T *a, blasint *pivots, blasint *info)                      \
    {                                                                                                                  \
        const blasint n = (blasint)m->rows, lda = n > 0 ? n : 1;                                                       \
        int sign = 1;                                                                                                  \
        turn_##S((const T *)(const void *)m->in[0] + i * m->rows * m->rows, a, n, n, false);                           \
        *info = 0;                                                                                                     \
        m->lapack->getrf(&n, &n, a, &lda, pivots, info);                                                               \
        for (blasint j = 0; j < n; j++)                                                                                \
            if (pivots[j] != j + 1) sign = -sign;                                                                      \
        return sign;                                                                                                   \
    }                                                                                                                  \
    static bool determinant_##S(const hr__matrices *m, int64_t i, void *work)                                          \
    {                                                                                                                  \
        T *a = (T *)(void *)((char *)work + pivot_bytes(m->rows));                                                     \
        blasint info;                                                                                                  \
        T product = (T)factor_##S(m, i, a, work, &info);                                                               \
        for (int64_t j = 0; j < m->rows; j++) product *= a[j * m->rows + j];                                           \
        ((T *)(void *)m->out[0])[i] = product;                                                                         \
        return true;                                                                                                   \
    }                                                                                                                  \
    static bool log_determinant_##S(const hr__matrices *m, int64_t i, void *work)                                      \
    {                                                                                                                  \
        T *a = (T *)(void *)((char *)work + pivot_bytes(m->rows));                                                     \
        blasint info;                                                                                                  \
        T sign = (T)factor_##S(m, i, a, work, &info), sum = 0;                                                         \
        for (int64_t j = 0; j < m->rows; j++) {                                                                        \
            const T on = a[j * m->rows + j];                                                                           \
            const double size = (double)fabs(on);                                                                      \
            sign *= size == 0 ? (T)0 : on / (T)size;                                                                   \
            sum += (T)log(size);                                                                                       \
        }                                                                                                              \
        ((T *)(void *)m->out[0])[i] = sign;                                                                            \
        ((T *)(void *)m->out[1])[i] = sum;                                                                             \
        return true;                                                                                                   \
    }                                                                                                                  \
    static bool lu_##S(const hr__matrices *m, int64_t i, void *work)                                                   \
    {                                                                                                                  \
        const int64_t n = m->rows;                                                                                     \
        T *a = (T *)(void *)((char *)work + pivot_bytes(n));                                                           \
        blasint info, *pivots = work;                                                                                  \
        (void)factor_##S(m, i, a, pivots, &info);                                                                      \
        turn_##S(a, (T *)(void *)m->out[0] + i * n * n, n, n, false);                                                  \
        put_order(m, i, pivots);                                                                                       \
        return info == 0;                                                                                              \
    }

/* LAPACK says which rows it exchanged one after the other; the op, where each row of the product comes from. */
static void put_order(const hr__matrices *m, int64_t i, const blasint *pivots)
{
    const bool wide = hr_attr_type(m->node, "output_idx_type") == HR_INT64;
    int32_t *narrow = (int32_t *)(void *)m->out[1] + i * m->rows;
    int64_t *order = (int64_t *)(void *)m->out[1] + i * m->rows;
    for (int64_t j = 0; j < m->rows; j++) {
        if (wide)
            order[j] = j;
        else
            narrow[j] = (int32_t)j;
    }
    for (int64_t j = 0; j < m->rows; j++) {
        const int64_t other = pivots[j] - 1;
        if (wide) {
            const int64_t moved = order[j];
            order[j] = order[other], order[other] = moved;
        } else {
            const int32_t moved = narrow[j];
            narrow[j] = narrow[other], narrow[other] = moved;
        }
    }
}
HR_EACH_TYPE(FACTOR, ~, ~, floats, complexes)

/* ---- compute ---- */

static hr_status matrix_output(hr_kernel *k, hr__matrices *m, int i, hr_shape shape, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, i, shape, &out, err));
    m->out[i] = out->data;
    return HR_OK;
}

/* Of one matrix, a matrix as large. */
static hr_status cholesky_compute(hr_kernel *k, hr_error *err)
{
    hr__matrices m;
    HR_TRY(hr__matrices_begin(k, true, &m, err));
    HR_TRY(matrix_output(k, &m, 0, k->input[0]->shape, err));
    return hr__matrices_run(k, &m, factor_cost(m.rows, 0), err);
}

static hr_status cholesky_grad_compute(hr_kernel *k, hr_error *err)
{
    hr__matrices m;
    HR_TRY(hr__matrices_begin(k, true, &m, err));
    if (!hr_shape_equal(k->input[1]->shape, k->input[0]->shape))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a gradient shaped as the factor");
    HR_TRY(matrix_output(k, &m, 0, k->input[0]->shape, err));
    m.in[1] = k->input[1]->data;
    m.work = (size_t)(m.rows * m.rows) * hr_dtype_size(k->input[0]->dtype);
    return hr__matrices_run(k, &m, 4 * factor_cost(m.rows, 0), err);
}

static size_t factor_work(const hr_kernel *k, int64_t n, int64_t columns)
{
    return pivot_bytes(n) + (size_t)(n * columns + INVERSE_BLOCK) * hr_dtype_size(k->input[0]->dtype);
}

static hr_status inverse_compute(hr_kernel *k, hr_error *err)
{
    hr__matrices m;
    HR_TRY(hr__matrices_begin(k, true, &m, err));
    HR_TRY(matrix_output(k, &m, 0, k->input[0]->shape, err));
    m.flag = hr_attr_bool(k->node, "adjoint");
    m.work = factor_work(k, m.rows, INVERSE_BLOCK);
    if (k->input[0]->dtype == HR_HALF) m.work = 2 * m.work + pivot_bytes(2 * m.rows * m.rows);
    m.refusal = "Input is not invertible.";
    return hr__matrices_run(k, &m, factor_cost(m.rows, m.rows), err);
}

static hr_status right_side(hr_kernel *k, bool broadcasts, hr__matrices *m, hr_error *err)
{
    const hr_shape a = k->input[0]->shape, b = k->input[1]->shape;
    hr_shape before = b, out;
    char x[128], y[128];
    before.rank -= 2;
    bool fits = b.rank >= 2 && b.dims[b.rank - 2] == m->rows && b.dims[b.rank - 1] <= INT16_MAX;
    if (fits) fits = broadcasts ? hr_shape_broadcast(m->batch, before, &out) : hr_shape_equal(m->batch, before);
    if (!fits)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected as many right sides of as many rows as matrices, got %s and %s",
                       hr_shape_text(a, x, sizeof x), hr_shape_text(b, y, sizeof y));
    if (broadcasts) m->in_batch[1] = before, m->batch = out;
    m->right = b.dims[b.rank - 1];
    m->in[1] = k->input[1]->data;
    m->flag = hr_attr_bool(k->node, "adjoint");
    out = m->batch;
    out.dims[out.rank++] = m->rows;
    out.dims[out.rank++] = m->right;
    return matrix_output(k, m, 0, out, err);
}

static hr_status solve_compute(hr_kernel *k, hr_error *err)
{
    hr__matrices m;
    HR_TRY(hr__matrices_begin(k, true, &m, err));
    HR_TRY(right_side(k, false, &m, err));
    m.work = factor_work(k, m.rows, m.rows + m.right);
    m.refusal = "Input matrix is not invertible.";
    return hr__matrices_run(k, &m, factor_cost(m.rows, m.right), err);
}

static hr_status triangular_compute(hr_kernel *k, hr_error *err)
{
    hr__matrices m;
    HR_TRY(hr__matrices_begin(k, true, &m, err));
    HR_TRY(right_side(k, true, &m, err));
    return hr__matrices_run(k, &m, factor_cost(m.rows, m.right) / 4, err);
}

static hr_status determinant_compute(hr_kernel *k, hr_error *err)
{
    hr__matrices m;
    HR_TRY(hr__matrices_begin(k, true, &m, err));
    for (int i = 0; i < k->outputs; i++) HR_TRY(matrix_output(k, &m, i, m.batch, err));
    m.work = factor_work(k, m.rows, m.rows);
    return hr__matrices_run(k, &m, factor_cost(m.rows, 0), err);
}

static hr_status lu_compute(hr_kernel *k, hr_error *err)
{
    hr__matrices m;
    HR_TRY(hr__matrices_begin(k, true, &m, err));
    hr_shape rows = m.batch;
    rows.dims[rows.rank++] = m.rows;
    HR_TRY(matrix_output(k, &m, 0, k->input[0]->shape, err));
    HR_TRY(matrix_output(k, &m, 1, rows, err));
    m.work = factor_work(k, m.rows, m.rows);
    m.refusal = "Input is not invertible.";
    return hr__matrices_run(k, &m, factor_cost(m.rows, 0), err);
}

static hr_status triangular_shape(hr_infer *s, hr_error *err)
{
    hr_shape a = s->input[0], b = s->input[1], out;
    if ((a.rank >= 0 && a.rank < 2) || (b.rank >= 0 && b.rank < 2)) return hr_infer_refuse(s, err, "matrices");
    if (a.rank < 0 || b.rank < 0) return HR_OK;
    int64_t rows = -1;
    const int64_t all[] = {a.dims[a.rank - 2], a.dims[a.rank - 1], b.dims[b.rank - 2]}, right = b.dims[b.rank - 1];
    for (int i = 0; i < 3; i++) {
        if (rows >= 0 && all[i] >= 0 && rows != all[i])
            return hr_infer_refuse(s, err, "square matrices, and as many rows");
        if (all[i] >= 0) rows = all[i];
    }
    a.rank -= 2, b.rank -= 2;
    if (!hr_shape_broadcast(a, b, &out)) return hr_infer_refuse(s, err, "matrices whose numbers broadcast");
    out.dims[out.rank++] = rows;
    out.dims[out.rank++] = right;
    s->output[0] = out;
    return HR_OK;
}

/* ---- gradients, as TensorFlow's linalg_grad.py has them ---- */

static hr_node half_of(hr_node x) { return hr_mul(x, hr_scalar_like(x, .5)); }

/* L'^-1 M L^-1, of M = L' dL below the diagonal and half of it on the diagonal; of that the symmetric part. */
static hr_node cholesky_back(hr_node l, hr_node g)
{
    const hr_node whole = product(l, g, true, false), middle = hr_sub(band(whole, -1, 0), half_of(band(whole, 0, 0)));
    const hr_node left = hr_matrix_triangular_solve(l, middle, .adjoint = true); /* L'^-1 M */
    const hr_node both = hr_matrix_triangular_solve(l, hr_matrix_transpose(left), .adjoint = true);
    return half_of(hr_add(both, hr_matrix_transpose(both)));
}

static void cholesky_gradient(hr_backward *b) { hr_backward_give(b, 0, cholesky_back(b->output[0], b->grad[0])); }

/* inverse(A)' comes out: -inverse' g inverse'. */
static void inverse_gradient(hr_backward *b)
{
    const hr_node y = b->output[0];
    const bool turned = hr_attr_bool(b->node, "adjoint");
    hr_backward_give(b, 0, hr_neg(product(y, product(b->grad[0], y, turned, !turned), !turned, false)));
}

/* By the right side, and by the matrix: minus the product of that and the solution. */
static void give_solution(hr_backward *b, hr_node by_right, hr_node (*part)(hr_node by, bool lower))
{
    const hr_node x = b->output[0];
    hr_node by =
        hr_attr_bool(b->node, "adjoint") ? product(x, by_right, false, true) : product(by_right, x, false, true);
    by = hr_neg(by);
    if (part) by = part(by, hr_attr_bool(b->node, "lower"));
    hr_backward_give(b, 0, part ? hr_gradient_unbroadcast(by, b->input[0], by) : by);
    hr_backward_give(b, 1, part ? hr_gradient_unbroadcast(by_right, b->input[1], by_right) : by_right);
}

static void solve_gradient(hr_backward *b)
{
    give_solution(b, hr_matrix_solve(b->input[0], b->grad[0], .adjoint = !hr_attr_bool(b->node, "adjoint")), NULL);
}

static hr_node triangle(hr_node x, bool lower) { return lower ? band(x, -1, 0) : band(x, 0, -1); }

static void triangular_gradient(hr_backward *b)
{
    const bool turned = hr_attr_bool(b->node, "adjoint"), lower = hr_attr_bool(b->node, "lower");
    give_solution(b, hr_matrix_triangular_solve(b->input[0], b->grad[0], .adjoint = !turned, .upper = !lower),
                  triangle);
}

/* What flows, as [..., 1, 1], times the inverse turned. */
static void give_by_inverse(hr_backward *b, hr_node flow)
{
    const hr_node last = hr_scalar(b->graph, HR_INT32, -1);
    hr_backward_give(
        b, 0,
        hr_mul(hr_expand_dims(hr_expand_dims(flow, last), last), hr_matrix_inverse(b->input[0], .adjoint = true)));
}

static void determinant_gradient(hr_backward *b) { give_by_inverse(b, hr_mul(b->grad[0], b->output[0])); }
static void log_determinant_gradient(hr_backward *b) { give_by_inverse(b, hr_backward_grad(b, 1)); }

#define MATRICES(NAME, KERNEL, SHAPES, COMPUTE, GRADIENT, ...)                                                         \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .state_size = sizeof(hr__matrices_state), .shapes = SHAPES,          \
        .prepare = hr__matrices_prepare, .compute = COMPUTE, .gradient = GRADIENT,                                     \
        .kernels = HR_KERNELS(KERNEL, floats, complexes), __VA_ARGS__                                                  \
    }

static const hr_type_kernel inverses[] = {
    {HR_HALF, (void (*)(void))inverse_f16, NULL},        {HR_FLOAT, (void (*)(void))inverse_f32, NULL},
    {HR_DOUBLE, (void (*)(void))inverse_f64, NULL},      {HR_COMPLEX64, (void (*)(void))inverse_c64, NULL},
    {HR_COMPLEX128, (void (*)(void))inverse_c128, NULL}, {HR_INVALID_DTYPE, NULL, NULL}};

const hr_graph_op hr_graph_ops_factor_ops[] = {
    MATRICES("Cholesky", cholesky, "[...,n,n] -> [...,n,n]", cholesky_compute, cholesky_gradient,
             .traits = HR_REAL_GRADIENT),
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "CholeskyGrad",
        .state_size = sizeof(hr__matrices_state),
        .shapes = "[...,n,n], [...,n,n] -> [...,n,n]",
        .prepare = hr__matrices_prepare,
        .compute = cholesky_grad_compute,
        .kernels = HR_KERNELS(cholesky_grad, floats),
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "MatrixInverse",
        .state_size = sizeof(hr__matrices_state),
        .shapes = "[...,n,n] -> [...,n,n]",
        .prepare = hr__matrices_prepare,
        .compute = inverse_compute,
        .traits = HR_REAL_GRADIENT,
        .gradient = inverse_gradient,
        .kernels = inverses,
    },
    MATRICES("MatrixSolve", solve, "[...,n,n], [...,n,k] -> [...,n,k]", solve_compute, solve_gradient,
             .traits = HR_REAL_GRADIENT),
    MATRICES("MatrixTriangularSolve", triangular, "?, ? -> ?", triangular_compute, triangular_gradient,
             .traits = HR_REAL_GRADIENT, .shape = triangular_shape),
    MATRICES("MatrixDeterminant", determinant, "[...,n,n] -> [...]", determinant_compute, determinant_gradient,
             .traits = HR_REAL_GRADIENT),
    MATRICES("LogMatrixDeterminant", log_determinant, "[...,n,n] -> [...], [...]", determinant_compute,
             log_determinant_gradient, .traits = HR_REAL_GRADIENT),
    MATRICES("Lu", lu, "[...,n,n] -> [...,n,n], [...,n]", lu_compute, NULL, .traits = HR_REAL_GRADIENT),
    HR_GRAPH_OPS_END,
};

hr_node hr_cholesky_with(hr_node x, const hr_name_opts *opts) { return hr_unary_node("Cholesky", x, opts); }

hr_node hr_matrix_determinant_with(hr_node x, const hr_name_opts *opts)
{
    return hr_unary_node("MatrixDeterminant", x, opts);
}

hr_node hr_log_matrix_determinant_with(hr_node x, const hr_name_opts *opts)
{
    return hr_unary_node("LogMatrixDeterminant", x, opts);
}

hr_node hr_lu_with(hr_node x, const hr_name_opts *opts) { return hr_unary_node("Lu", x, opts); }

hr_node hr_matrix_inverse_with(hr_node x, const hr_matrix_opts *opts)
{
    const hr_matrix_opts o = HR_OPTIONS(hr_matrix_opts, opts);
    return hr_new_node(x.graph, "MatrixInverse", .name = o.name, HR_INPUTS(x),
                       HR_ATTRS(HR_BOOL_ATTR("adjoint", o.adjoint)));
}

hr_node hr_matrix_solve_with(hr_node a, hr_node b, const hr_matrix_opts *opts)
{
    const hr_matrix_opts o = HR_OPTIONS(hr_matrix_opts, opts);
    return hr_new_node(a.graph, "MatrixSolve", .name = o.name, HR_INPUTS(a, b),
                       HR_ATTRS(HR_BOOL_ATTR("adjoint", o.adjoint)));
}

hr_node hr_matrix_triangular_solve_with(hr_node a, hr_node b, const hr_matrix_opts *opts)
{
    const hr_matrix_opts o = HR_OPTIONS(hr_matrix_opts, opts);
    return hr_new_node(a.graph, "MatrixTriangularSolve", .name = o.name, HR_INPUTS(a, b),
                       HR_ATTRS(HR_BOOL_ATTR("adjoint", o.adjoint), HR_BOOL_ATTR("lower", !o.upper)));
}
