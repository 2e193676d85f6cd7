/* Matrices as wholes: QR by Householder's reflections, diagonals. */
#include <headrace/kernels.h>
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

/* ---- bands of diagonals low ... high of matrices, packed: a row for each, those above first; shorter ones stand at the
 * beginning or the end of their row ---- */

typedef struct band {
    int64_t low, high, longest;
    bool above_at_end, below_at_end;
} band;

static hr_status band_of(hr_node node, const hr_tensor *numbers, band *b, hr_error *err)
{
    const hr_view align = hr_attr_string(node, "align"); /* "RIGHT_LEFT": those above, those below */
    if (numbers->shape.rank > 1 || numbers->count < 1 || numbers->count > 2)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected one or two numbers of diagonals, got %lld",
                       (long long)numbers->count);
    b->low = hr_int_at(numbers, 0);
    b->high = hr_int_at(numbers, numbers->count - 1);
    if (b->low > b->high)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "expected k[0] <= k[1], got %lld > %lld",
                       (long long)b->low, (long long)b->high);
    b->above_at_end = align.size > 5 && align.data[0] == 'R';
    b->below_at_end = align.size > 5 && align.data[align.size - 5] == 'R';
    return HR_OK;
}

/* The packed place of element (row, column) of a matrix of that size; -1: it lies outside of the band. */
static int64_t band_place(const band *b, int64_t rows, int64_t columns, int64_t row, int64_t column)
{
    const int64_t d = column - row;
    if (d < b->low || d > b->high) return -1;
    const int64_t below = d < 0 ? d : 0, above = d > 0 ? d : 0;
    const int64_t length = rows + below < columns - above ? rows + below : columns - above;
    const bool at_beginning = (d >= 0 && !b->above_at_end) || (d <= 0 && !b->below_at_end);
    return (b->high - d) * b->longest + column - above + (at_beginning ? 0 : b->longest - length);
}

/* The diagonals that are given: [..., high - low + 1, longest], or [..., longest] of one. *before: what stands in front.
 */
static hr_status band_measure(band *b, const hr_tensor *diagonal, hr_shape *before, hr_error *err)
{
    const int own = b->low < b->high ? 2 : 1;
    const hr_shape given = diagonal->shape;
    if (given.rank < own || (own == 2 && given.dims[given.rank - 2] != b->high - b->low + 1))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected %lld diagonals in rows",
                       (long long)(b->high - b->low + 1));
    *before = given;
    before->rank -= own;
    b->longest = given.dims[given.rank - 1];
    return HR_OK;
}

/* Rows and columns as asked for, or as few as hold the diagonals; a square one if neither is said. */
static hr_status band_matrix(const band *b, const hr_tensor *rows_in, const hr_tensor *columns_in, int64_t *rows,
                             int64_t *columns, hr_error *err)
{
    const int64_t least_rows = b->longest - (b->high < 0 ? b->high : 0);
    const int64_t least_columns = b->longest + (b->low > 0 ? b->low : 0);
    if (rows_in->count != 1 || columns_in->count != 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected scalars num_rows and num_cols");
    *rows = hr_int_at(rows_in, 0);
    *columns = hr_int_at(columns_in, 0);
    if (*rows == -1 && *columns == -1) *rows = *columns = least_rows > least_columns ? least_rows : least_columns;
    if (*rows == -1) *rows = least_rows;
    if (*columns == -1) *columns = least_columns;
    const bool fits = *rows >= least_rows && *columns >= least_columns &&
                      (*rows == least_rows || *columns == least_columns) && b->low > -*rows && b->high < *columns;
    if (fits || b->longest == 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                   "expected a matrix that diagonals of length %lld fit exactly, got [%lld, %lld]",
                   (long long)b->longest, (long long)*rows, (long long)*columns);
}

/* All matrices: where the band is, its values, elsewhere those of `other`, of which there may be one alone. */
static void band_fill(const band *b, const hr_tensor *diagonal, const hr_tensor *other, hr_tensor *out)
{
    const size_t size = hr_dtype_size(out->dtype);
    const int64_t rows = out->shape.dims[out->shape.rank - 2], columns = out->shape.dims[out->shape.rank - 1];
    const int64_t packed = (b->high - b->low + 1) * b->longest;
    for (int64_t i = 0; i < out->count; i++) {
        const int64_t place = band_place(b, rows, columns, i / columns % rows, i % columns);
        const int64_t at = place < 0 ? (other->count == 1 ? 0 : i) : i / columns / rows * packed + place;
        const char *from = (place < 0 ? other : diagonal)->data;
        memcpy((char *)out->data + (size_t)i * size, from + (size_t)at * size, size);
    }
}

static hr_status matrix_diag_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *k = hr_infer_value(s, 1), *rows = hr_infer_value(s, 2), *columns = hr_infer_value(s, 3);
    const hr_tensor diagonal = {.shape = s->input[0]};
    band b;
    if (!k || !rows || !columns || s->input[0].rank < 0) return HR_OK;
    HR_TRY(band_of(s->node, k, &b, err));
    HR_TRY(band_measure(&b, &diagonal, &s->output[0], err));
    int64_t *dims = s->output[0].dims + s->output[0].rank;
    if (s->output[0].rank + 2 > HR_MAX_RANK) return hr_infer_refuse(s, err, "fewer dimensions");
    s->output[0].rank += 2;
    dims[0] = dims[1] = -1;
    return b.longest < 0 ? HR_OK : band_matrix(&b, rows, columns, &dims[0], &dims[1], err);
}

static hr_status matrix_diag_compute(hr_kernel *k, hr_error *err)
{
    band b;
    hr_shape shape;
    hr_tensor scratch, *out;
    HR_TRY(band_of(k->node, k->input[1], &b, err));
    HR_TRY(band_measure(&b, k->input[0], &shape, err));
    if (k->input[4]->count != 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a scalar padding_value");
    if (shape.rank + 2 > HR_MAX_RANK)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected fewer dimensions, got %d", shape.rank);
    HR_TRY(band_matrix(&b, k->input[2], k->input[3], &shape.dims[shape.rank], &shape.dims[shape.rank + 1], err));
    shape.rank += 2;
    HR_TRY(hr_kernel_begin_output(k, 0, shape, &scratch, &out, err));
    if (b.longest > 0) band_fill(&b, k->input[0], k->input[4], out);
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

static hr_status set_diag_check(const hr_tensor *in, const hr_tensor *diagonal, band *b, hr_error *err)
{
    hr_shape before, outer = in->shape;
    if (in->shape.rank < 2) return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected matrices");
    outer.rank -= 2;
    const int64_t rows = in->shape.dims[outer.rank], columns = in->shape.dims[outer.rank + 1];
    HR_TRY(band_measure(b, diagonal, &before, err));
    const int64_t height = rows + (b->high < 0 ? b->high : 0), width = columns - (b->low > 0 ? b->low : 0);
    const bool within = in->count == 0 || (b->low > -rows && b->high < columns);
    if (hr_shape_equal(before, outer) && within && b->longest == (height < width ? height : width)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                   "expected diagonals of [%lld, %lld] matrices and of their length, got others", (long long)rows,
                   (long long)columns);
}

static hr_status set_diag_compute(hr_kernel *k, hr_error *err)
{
    band b;
    hr_tensor scratch, *out;
    HR_TRY(band_of(k->node, k->input[2], &b, err));
    HR_TRY(set_diag_check(k->input[0], k->input[1], &b, err));
    HR_TRY(hr_kernel_begin_output(k, 0, k->input[0]->shape, &scratch, &out, err));
    band_fill(&b, k->input[1], k->input[0], out);
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

/* ---- MatrixBandPart: zeros outside of a band around the diagonal; a width below 0 is no bound ---- */

static hr_status band_width(const char *what, const hr_tensor *width, int64_t most, int64_t *out, hr_error *err)
{
    HR_TRY(hr_expect_rank(what, width->shape, 0, err));
    *out = hr_int_at(width, 0);
    if (*out <= most) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "%s must be negative or at most %lld, got %lld", what,
                   (long long)most, (long long)*out);
}

static hr_status band_part_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    const size_t size = hr_dtype_size(in->dtype);
    int64_t lower, upper;
    hr_tensor *out;
    if (in->shape.rank < 2)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "input must be at least 2-dim, got rank %d",
                       in->shape.rank);
    const int64_t rows = in->shape.dims[in->shape.rank - 2], columns = in->shape.dims[in->shape.rank - 1];
    HR_TRY(band_width("num_lower", k->input[1], rows, &lower, err));
    HR_TRY(band_width("num_upper", k->input[2], columns, &upper, err));
    HR_TRY(hr_kernel_output(k, 0, in->shape, &out, err));
    if (out->count) memset(out->data, 0, (size_t)out->count * size);
    for (int64_t r = 0; columns > 0 && r < out->count / columns; r++) {
        const int64_t row = r % rows;
        const int64_t first = lower < 0 || row < lower ? 0 : row - lower;
        const int64_t last = upper < 0 || columns - row <= upper ? columns : row + upper + 1;
        const size_t at = (size_t)(r * columns + first) * size;
        if (first < last) memcpy((char *)out->data + at, (const char *)in->data + at, (size_t)(last - first) * size);
    }
    return HR_OK;
}

static void band_part_gradient(hr_backward *b)
{
    hr_backward_give(b, 0, hr_new_node(b->graph, "MatrixBandPart", HR_INPUTS(b->grad[0], b->input[1], b->input[2])));
}

const hr_graph_op hr_graph_ops_linalg_ops[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Qr",
        .types = "T:floats",
        .shape = qr_shape,
        .compute = qr_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "DiagPart",
        .types = "T:any",
        .shape = diag_part_shape,
        .compute = diag_part_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "MatrixDiagV3",
        .types = "T:any",
        .shape = matrix_diag_shape,
        .compute = matrix_diag_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "MatrixSetDiagV3",
        .types = "T:any",
        .shape = hr_infer_unchanged,
        .compute = set_diag_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "MatrixBandPart",
        .types = "T:{numbers,bool,float16,bfloat16,complex64,complex128}; Tindex:indices",
        .shapes = "=0",
        .compute = band_part_compute,
        .gradient = band_part_gradient,
    },
    HR_GRAPH_OPS_END,
};
