/* Eigenvalues of symmetric matrices, and singular values, by LAPACK. What C holds in rows, LAPACK sees in columns: the
 * transposed matrix. */
#include "train/ops/linalg/gradients.h"
#include "train/ops/linalg/matrices.h"
#include <tgmath.h>

/* LAPACK tells of numbers that are not finite on standard error, or goes on for long: they are not given to it. */
#define FINITE(T, V, U, D, S, A, B)                                                                                    \
    static bool finite_##S(const T *x, int64_t count)                                                                  \
    {                                                                                                                  \
        for (int64_t i = 0; i < count; i++)                                                                            \
            if (!isfinite(creal(x[i])) || !isfinite(cimag(x[i]))) return false;                                        \
        return true;                                                                                                   \
    }
HR_EACH_TYPE(FINITE, ~, ~, floats, complexes)
HR_EACH_TYPE(HR__TURN, ~, ~, floats, complexes)

/* Values in rising order. LAPACK's real numbers, float or double, become numbers of the type. */
#define PUT_VALUES(T, V, U, D, S, A, B)                                                                                \
    static void put_values_##S(const void *real, T *out, int64_t count)                                                \
    {                                                                                                                  \
        for (int64_t i = 0; i < count; i++)                                                                            \
            out[i] = D == HR_FLOAT || D == HR_COMPLEX64 ? (T)((const float *)real)[i] : (T)((const double *)real)[i];  \
    }
HR_EACH_TYPE(PUT_VALUES, ~, ~, floats, complexes)

/* ---- the memory of a kernel: pieces of 64 bytes ---- */

static size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

static void *piece(char **work, size_t values, size_t size)
{
    void *at = *work;
    *work += rounded(values * size);
    return at;
}

/* ---- symmetric matrices: the lower half counts; LAPACK sees the upper half of the conjugated matrix ---- */

static size_t eigen_work_values(int64_t n) { return (size_t)(34 * n + 2); }

#define EIGEN(T, V, U, D, S, A, B)                                                                                     \
    static bool eigen_##S(const hr__matrices *m, int64_t i, void *memory)                                              \
    {                                                                                                                  \
        const blasint n = (blasint)m->rows, lda = n > 0 ? n : 1, work_size = (blasint)eigen_work_values(n);            \
        const int64_t size = m->rows * m->rows;                                                                        \
        const T *in = (const T *)(const void *)m->in[0] + i * size;                                                    \
        char *left = memory;                                                                                           \
        T *a = piece(&left, (size_t)size, sizeof(T));                                                                  \
        void *values = piece(&left, (size_t)n, sizeof(double));                                                        \
        void *work = piece(&left, eigen_work_values(n), sizeof(T));                                                    \
        blasint info = 0;                                                                                              \
        if (!finite_##S(in, size)) return false;                                                                       \
        if (size) memcpy(a, in, (size_t)size * sizeof(T));                                                             \
        if (m->lapack->is_complex)                                                                                     \
            m->lapack->heev(m->flag ? "V" : "N", "U", &n, a, &lda, values, work, &work_size,                           \
                            piece(&left, 3 * (size_t)n + 1, sizeof(double)), &info, 1, 1);                             \
        else                                                                                                           \
            m->lapack->syev(m->flag ? "V" : "N", "U", &n, a, &lda, values, work, &work_size, &info, 1, 1);             \
        put_values_##S(values, (T *)(void *)m->out[0] + i * n, n);                                                     \
        if (m->flag) turn_##S(a, (T *)(void *)m->out[1] + i * size, n, n, true);                                       \
        return info == 0;                                                                                              \
    }
HR_EACH_TYPE(EIGEN, ~, ~, floats, complexes)

static hr_status eigen_compute(hr_kernel *k, hr_error *err)
{
    hr__matrices m;
    hr_tensor *out;
    const size_t size = hr_dtype_size(k->input[0]->dtype);
    HR_TRY(hr__matrices_begin(k, true, &m, err));
    hr_shape values = m.batch;
    values.dims[values.rank++] = m.rows;
    m.flag = hr_attr_bool(k->node, "compute_v");
    HR_TRY(hr_kernel_output(k, 0, values, &out, err));
    m.out[0] = out->data;
    HR_TRY(hr_kernel_output(k, 1, m.flag ? k->input[0]->shape : HR_SHAPE(0), &out, err));
    m.out[1] = out->data;
    m.work = rounded((size_t)(m.rows * m.rows) * size) + rounded(eigen_work_values(m.rows) * size) +
             rounded((size_t)m.rows * sizeof(double)) + rounded((3 * (size_t)m.rows + 1) * sizeof(double));
    m.refusal = "Self-adjoint eigen decomposition was not successful. The input might not be valid.";
    return hr__matrices_run(k, &m, 1000 + 4 * pow((double)m.rows, 3), err);
}

static hr_status eigen_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    if (!hr_attr_bool(s->node, "compute_v")) s->output[1] = HR_SHAPE(0);
    return HR_OK;
}

/* ---- singular values: A = U diag(S) V' ---- */

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t greatest(int64_t a, int64_t b) { return a > b ? a : b; }
static size_t svd_work_values(int64_t m, int64_t n)
{
    const int64_t k = least(m, n);
    return (size_t)(4 * k * k + 7 * k + greatest(m, n) + 64);
}
static size_t svd_real_values(int64_t m, int64_t n)
{
    const int64_t k = least(m, n);
    return (size_t)(7 * k * k + 5 * k + 2 * greatest(m, n) * k + 1);
}

/* U and V' of LAPACK's decomposition of the transposed matrix are V conjugated and U transposed. What is not finite has
 * values that are none; a matrix without values has the unit as U and V. */
#define SVD(T, V, U, D, S, A, B)                                                                                       \
    static bool svd_##S(const hr__matrices *x, int64_t i, void *memory)                                                \
    {                                                                                                                  \
        const blasint m = (blasint)x->rows, n = (blasint)x->columns, k = (blasint)least(m, n);                         \
        const blasint of_u = x->full ? m : k, of_v = x->full ? n : k, work_size = (blasint)svd_work_values(m, n);      \
        const char *job = !x->flag ? "N" : x->full ? "A" : "S";                                                        \
        const T *in = (const T *)(const void *)x->in[0] + i * x->rows * x->columns;                                    \
        char *left = memory;                                                                                           \
        T *a = piece(&left, (size_t)m * (size_t)n, sizeof(T)), *v = piece(&left, (size_t)n * (size_t)of_v, sizeof(T)); \
        void *values = piece(&left, (size_t)k, sizeof(double)), *ints = piece(&left, 8 * (size_t)k, sizeof(blasint));  \
        void *work = piece(&left, svd_work_values(m, n), sizeof(T));                                                   \
        T *s = (T *)(void *)x->out[0] + i * k, *u = (T *)(void *)x->out[1] + (x->flag ? (int64_t)i * m * of_u : 0);    \
        T *v_out = (T *)(void *)x->out[2] + (x->flag ? (int64_t)i * n * of_v : 0);                                     \
        blasint info = 0;                                                                                              \
        const bool finite = finite_##S(in, (int64_t)m * n);                                                            \
        for (int64_t j = 0; x->flag && j < (int64_t)m * of_u; j++) u[j] = finite ? j / of_u == j % of_u : (T)NAN;      \
        for (int64_t j = 0; x->flag && j < (int64_t)n * of_v; j++) v_out[j] = finite ? j / of_v == j % of_v : (T)NAN;  \
        for (int64_t j = 0; j < k; j++) s[j] = (T)NAN;                                                                 \
        if (!finite || k == 0) return true;                                                                            \
        memcpy(a, in, (size_t)m *(size_t)n * sizeof(T));                                                               \
        if (x->lapack->is_complex)                                                                                     \
            x->lapack->complex_gesdd(job, &n, &m, a, &n, values, v, &n, u, &of_u, work, &work_size,                    \
                                     piece(&left, svd_real_values(m, n), sizeof(double)), ints, &info, 1);             \
        else                                                                                                           \
            x->lapack->gesdd(job, &n, &m, a, &n, values, v, &n, u, &of_u, work, &work_size, ints, &info, 1);           \
        put_values_##S(values, s, k);                                                                                  \
        if (x->flag) turn_##S(v, v_out, of_v, n, true);                                                                \
        return info == 0;                                                                                              \
    }
HR_EACH_TYPE(SVD, ~, ~, floats, complexes)

/* The shapes of the three outputs. */
static void svd_outputs(hr_node node, hr_shape in, hr_shape out[3])
{
    const bool full = hr_attr_bool(node, "full_matrices"), vectors = hr_attr_bool(node, "compute_uv");
    const int64_t m = in.dims[in.rank - 2], n = in.dims[in.rank - 1], k = m < 0 || n < 0 ? -1 : least(m, n);
    in.rank -= 2;
    for (int i = 0; i < 3; i++) out[i] = i > 0 && !vectors ? HR_SHAPE(0) : in;
    out[0].dims[out[0].rank++] = k;
    if (!vectors) return;
    out[1].dims[out[1].rank++] = m;
    out[1].dims[out[1].rank++] = full ? m : k;
    out[2].dims[out[2].rank++] = n;
    out[2].dims[out[2].rank++] = full ? n : k;
}

static hr_status svd_shape(hr_infer *s, hr_error *err)
{
    if (s->input[0].rank >= 0 && s->input[0].rank < 2) return hr_infer_refuse(s, err, "matrices");
    if (s->input[0].rank >= 2) svd_outputs(s->node, s->input[0], s->output);
    return HR_OK;
}

static hr_status svd_compute(hr_kernel *k, hr_error *err)
{
    hr__matrices m;
    hr_shape shape[3];
    hr_tensor *out;
    HR_TRY(hr__matrices_begin(k, false, &m, err));
    svd_outputs(k->node, k->input[0]->shape, shape);
    for (int i = 0; i < 3; i++) {
        HR_TRY(hr_kernel_output(k, i, shape[i], &out, err));
        m.out[i] = out->data;
    }
    m.flag = hr_attr_bool(k->node, "compute_uv");
    m.full = hr_attr_bool(k->node, "full_matrices");
    const int64_t of_v = m.full ? m.columns : least(m.rows, m.columns);
    const size_t size = hr_dtype_size(k->input[0]->dtype);
    m.work = rounded((size_t)(m.rows * m.columns) * size) + rounded((size_t)(m.columns * of_v) * size) +
             rounded(svd_work_values(m.rows, m.columns) * size) + 64 * (size_t)(least(m.rows, m.columns) + 4) +
             rounded(svd_real_values(m.rows, m.columns) * sizeof(double));
    m.refusal = "expected singular values to converge, they did not";
    return hr__matrices_run(k, &m, 1000 + 10 * (double)m.rows * (double)m.columns * (double)m.rows, err);
}

/* ---- gradients, as TensorFlow's linalg_grad.py has them; of real numbers ---- */

/* x / (x^2 + 1e-20), which is 0 for 0. */
static hr_node safe_reciprocal(hr_node x) { return hr_div(x, hr_add(hr_square(x), hr_scalar_like(x, 1e-20))); }

/* f[i][j] = 1 / (x[j] - x[i]), 0 where they are equal. */
static hr_node reciprocal_differences(hr_node x)
{
    const hr_node last = hr_scalar(x.graph, HR_INT32, -1), before = hr_scalar(x.graph, HR_INT32, -2);
    return safe_reciprocal(hr_sub(hr_expand_dims(x, before), hr_expand_dims(x, last)));
}

static bool is_refused(hr_backward *b)
{
    const hr_dtype dtype = hr_node_dtype(b->input[0]);
    if (dtype == HR_FLOAT || dtype == HR_DOUBLE) return false;
    (void)hr_node_fail(b->graph, HR_UNIMPLEMENTED, "graph.gradient",
                       "the gradient of %s is of float and double, not of complex numbers", hr_node_op(b->node));
    return true;
}

/* Only the lower half was read: it gets what flows to both. */
static void eigen_gradient(hr_backward *b)
{
    hr_node v = b->output[1];
    if (is_refused(b)) return;
    hr_node inner = hr_matrix_diag(hr_backward_grad(b, 0));
    if (hr_attr_bool(b->node, "compute_v"))
        inner = hr_add(inner,
                       hr_mul(reciprocal_differences(b->output[0]), product(v, hr_backward_grad(b, 1), true, false)));
    else
        v = hr_node_output(hr_self_adjoint_eig(b->input[0]), 1);
    const hr_node by = product(v, product(inner, v, false, true), false, false);
    const hr_node both = hr_add(by, hr_matrix_transpose(by));
    hr_backward_give(b, 0, hr_sub(band(both, -1, 0), hr_mul(band(both, 0, 0), hr_scalar_like(both, .5))));
}

/* What flows to a matrix with at least as many columns as rows, [m, n]. */
static hr_node wide_svd_gradient(const hr_backward *b, hr_node u, hr_node v, hr_node gu, hr_node gv, int64_t m,
                                 int64_t n)
{
    const hr_node s = b->output[0], s_matrix = hr_matrix_diag(s), f = reciprocal_differences(hr_square(s));
    const hr_node v1 = columns(v, 0, m), gv1 = columns(gv, 0, m);
    const hr_node fu = hr_mul(f, product(u, gu, true, false)), fv = hr_mul(f, product(v1, gv1, true, false));
    hr_node inner = hr_matrix_diag(hr_backward_grad(b, 0));
    inner = hr_add(inner, product(hr_add(fu, hr_matrix_transpose(fu)), s_matrix, false, false));
    inner = hr_add(inner, product(s_matrix, hr_add(fv, hr_matrix_transpose(fv)), false, false));
    const hr_node by = product(u, product(inner, v1, false, true), false, false);
    if (m == n) return by;
    const hr_node turned = hr_matrix_transpose(gv1);
    hr_node rest = hr_sub(turned, product(product(gv1, v1, true, false), v1, false, true));
    if (hr_attr_bool(b->node, "full_matrices"))
        rest = hr_sub(rest, product(product(v1, columns(gv, m, n), true, false), columns(v, m, n), false, true));
    return hr_add(by, product(product(u, hr_matrix_diag(safe_reciprocal(s)), false, false), rest, false, false));
}

static void svd_gradient(hr_backward *b)
{
    int64_t m, n;
    matrix_size(b->input[0], &m, &n);
    if (is_refused(b)) return;
    if (!hr_attr_bool(b->node, "compute_uv")) {
        const hr_node all = hr_svd(b->input[0]), u = hr_node_output(all, 1), v = hr_node_output(all, 2);
        hr_backward_give(b, 0, product(u, product(hr_matrix_diag(b->grad[0]), v, false, true), false, false));
        return;
    }
    const bool full = hr_attr_bool(b->node, "full_matrices");
    if (m < 0 || n < 0 || (full && (m - n > 1 || n - m > 1))) {
        (void)hr_node_fail(
            b->graph, HR_UNIMPLEMENTED, "graph.gradient",
            "the gradient of Svd needs known rows and columns, and for full_matrices at most one more of "
            "one of them, got %lld and %lld",
            (long long)m, (long long)n);
        return;
    }
    const hr_node u = b->output[1], v = b->output[2], gu = hr_backward_grad(b, 1), gv = hr_backward_grad(b, 2);
    hr_backward_give(b, 0,
                     m <= n ? wide_svd_gradient(b, u, v, gu, gv, m, n)
                            : hr_matrix_transpose(wide_svd_gradient(b, v, u, gv, gu, n, m)));
}

const hr_graph_op hr_graph_ops_spectral_ops[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "SelfAdjointEigV2",
        .state_size = sizeof(hr__matrices_state),
        .shapes = "[...,n,n] -> [...,n], [...,n,n]",
        .shape = eigen_shape,
        .prepare = hr__matrices_prepare,
        .compute = eigen_compute,
        .traits = HR_REAL_GRADIENT,
        .gradient = eigen_gradient,
        .kernels = HR_KERNELS(eigen, floats, complexes),
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Svd",
        .state_size = sizeof(hr__matrices_state),
        .shape = svd_shape,
        .prepare = hr__matrices_prepare,
        .compute = svd_compute,
        .traits = HR_REAL_GRADIENT,
        .gradient = svd_gradient,
        .kernels = HR_KERNELS(svd, floats, complexes),
    },
    HR_GRAPH_OPS_END,
};

hr_node hr_self_adjoint_eig_with(hr_node x, const hr_name_opts *opts)
{
    return hr_unary_node("SelfAdjointEigV2", x, opts);
}

hr_node hr_svd_with(hr_node x, const hr_svd_opts *opts)
{
    const hr_svd_opts o = HR_OPTIONS(hr_svd_opts, opts);
    return hr_new_node(
        x.graph, "Svd", .name = o.name, HR_INPUTS(x),
        HR_ATTRS(HR_BOOL_ATTR("compute_uv", !o.values_only), HR_BOOL_ATTR("full_matrices", o.full_matrices)));
}
