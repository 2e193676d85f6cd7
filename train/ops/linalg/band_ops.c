/* Bands of diagonals low ... high of matrices, packed: a row for each, those above first; shorter ones stand at the
 * beginning or the end of their row. MatrixDiag and its kin of
 * version 1 take the diagonal alone; of version 2, shorter ones stand at the beginning. */
#include <headrace/kernels.h>
#include <headrace/linalg.h>
#include <stdio.h>
#include <string.h>

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
    const int64_t rows = given.rank < own || own == 1 ? -1 : given.dims[given.rank - 2];
    if (given.rank < own || (rows >= 0 && rows != b->high - b->low + 1))
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

/* What an op of version 1 has no inputs for: the diagonal itself, any number of rows and columns, zeros around it. */
static const int32_t zero = 0, any = -1;
static const char zeros[16];
static hr_tensor default_of(int32_t const *number) { return hr_tensor_of(HR_INT32, HR_SCALAR, number); }

static hr_status matrix_diag_shape(hr_infer *s, hr_error *err)
{
    const bool first = s->inputs == 1;
    const hr_tensor main = default_of(&zero), size = default_of(&any);
    const hr_tensor *k = first ? &main : hr_infer_value(s, 1), *rows = first ? &size : hr_infer_value(s, 2);
    const hr_tensor *columns = first ? &size : hr_infer_value(s, 3);
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
    const bool first = k->inputs == 1;
    const hr_tensor main = default_of(&zero), size = default_of(&any),
                    none = hr_tensor_of(k->input[0]->dtype, HR_SCALAR, zeros);
    const hr_tensor *padding = first ? &none : k->input[4];
    HR_TRY(band_of(k->node, first ? &main : k->input[1], &b, err));
    HR_TRY(band_measure(&b, k->input[0], &shape, err));
    if (padding->count != 1) return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a scalar padding_value");
    if (shape.rank + 2 > HR_MAX_RANK)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected fewer dimensions, got %d", shape.rank);
    HR_TRY(band_matrix(&b, first ? &size : k->input[2], first ? &size : k->input[3], &shape.dims[shape.rank],
                       &shape.dims[shape.rank + 1], err));
    shape.rank += 2;
    HR_TRY(hr_kernel_begin_output(k, 0, shape, &scratch, &out, err));
    if (b.longest > 0) band_fill(&b, k->input[0], padding, out);
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
    const hr_tensor main = default_of(&zero);
    HR_TRY(band_of(k->node, k->inputs == 2 ? &main : k->input[2], &b, err));
    HR_TRY(set_diag_check(k->input[0], k->input[1], &b, err));
    HR_TRY(hr_kernel_begin_output(k, 0, k->input[0]->shape, &scratch, &out, err));
    band_fill(&b, k->input[1], k->input[0], out);
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

/* ---- diagonals taken out of matrices: those that are shorter are padded ---- */

static hr_status diag_part_outputs(hr_node node, const hr_tensor *numbers, hr_shape in, band *b, hr_shape *out,
                                   hr_error *err)
{
    HR_TRY(band_of(node, numbers, b, err));
    if (in.rank < 2) return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected matrices, got rank %d", in.rank);
    const int64_t rows = in.dims[in.rank - 2], columns = in.dims[in.rank - 1];
    const int64_t height = rows + (b->high < 0 ? b->high : 0), width = columns - (b->low > 0 ? b->low : 0);
    b->longest = rows < 0 || columns < 0 ? -1 : height < width ? height : width;
    if (rows >= 0 && columns >= 0 && (b->low != 0 || b->high != 0) && (b->low <= -rows || b->high >= columns))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range",
                       "expected diagonals of [%lld, %lld] matrices, got %lld to %lld", (long long)rows,
                       (long long)columns, (long long)b->low, (long long)b->high);
    *out = in;
    out->rank -= 2;
    if (b->low < b->high) out->dims[out->rank++] = b->high - b->low + 1;
    out->dims[out->rank++] = b->longest;
    return HR_OK;
}

static hr_status matrix_diag_part_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor main = default_of(&zero), *k = s->inputs == 1 ? &main : hr_infer_value(s, 1);
    band b;
    return k && s->input[0].rank >= 0 ? diag_part_outputs(s->node, k, s->input[0], &b, &s->output[0], err) : HR_OK;
}

static hr_status matrix_diag_part_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0], main = default_of(&zero), none = hr_tensor_of(in->dtype, HR_SCALAR, zeros);
    const hr_tensor *padding = k->inputs == 1 ? &none : k->input[2];
    const size_t size = hr_dtype_size(in->dtype);
    hr_tensor scratch, *out;
    hr_shape shape;
    band b;
    HR_TRY(diag_part_outputs(k->node, k->inputs == 1 ? &main : k->input[1], in->shape, &b, &shape, err));
    if (padding->count != 1) return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a scalar padding_value");
    HR_TRY(hr_kernel_begin_output(k, 0, shape, &scratch, &out, err));
    for (int64_t i = 0; i < out->count; i++) memcpy((char *)out->data + (size_t)i * size, padding->data, size);
    const int64_t rows = in->shape.dims[in->shape.rank - 2], columns = in->shape.dims[in->shape.rank - 1];
    const int64_t packed = (b.high - b.low + 1) * b.longest;
    for (int64_t i = 0; i < in->count; i++) {
        const int64_t place = band_place(&b, rows, columns, i / columns % rows, i % columns);
        if (place >= 0)
            memcpy((char *)out->data + (size_t)(i / columns / rows * packed + place) * size,
                   (const char *)in->data + (size_t)i * size, size);
    }
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

/* ---- gradients: ops of the same version and alignment ---- */

/* `op` of x, and of `diagonal` if there is one. */
static hr_node of_band(const hr_backward *b, const char *op, hr_node x, hr_node diagonal, hr_node k)
{
    const char *own = hr_node_op(b->node);
    const size_t length = strlen(own);
    const hr_attr *align = hr_node_attr(b->node, "align");
    hr_node inputs[3] = {x};
    int count = 1;
    char name[32];
    const bool first = own[length - 2] != 'V';
    (void)snprintf(name, sizeof name, "%s%s", op, first ? "" : own + length - 2);
    if (hr_node_exists(diagonal)) inputs[count++] = diagonal;
    if (!first) inputs[count++] = k;
    if (!first && !hr_node_exists(diagonal)) inputs[count++] = hr_scalar_like(x, 0);
    return hr_new_node(b->graph, name, .inputs = inputs, .input_count = count, .attrs = align,
                       .attr_count = align != NULL);
}

static const hr_node no_node;

static void matrix_diag_gradient(hr_backward *b)
{
    hr_backward_give(b, 0, of_band(b, "MatrixDiagPart", b->grad[0], no_node, b->inputs > 1 ? b->input[1] : no_node));
}

static void matrix_diag_part_gradient(hr_backward *b)
{
    hr_backward_give(
        b, 0,
        of_band(b, "MatrixSetDiag", hr_zeros_like(b->input[0]), b->grad[0], b->inputs > 1 ? b->input[1] : no_node));
}

static void set_diag_gradient(hr_backward *b)
{
    const hr_node k = b->inputs > 2 ? b->input[2] : no_node;
    hr_backward_give(b, 0, of_band(b, "MatrixSetDiag", b->grad[0], hr_zeros_like(b->input[1]), k));
    hr_backward_give(b, 1, of_band(b, "MatrixDiagPart", b->grad[0], no_node, k));
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

#define BAND(NAME, SHAPES, SHAPE, COMPUTE, GRADIENT)                                                                   \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .types = "T:any", .shapes = SHAPES, .shape = SHAPE,                  \
        .compute = COMPUTE, .gradient = GRADIENT,                                                                      \
    }
#define VERSIONS(NAME, INPUTS, FROM, SHAPE, COMPUTE, GRADIENT)                                                         \
    BAND(NAME, FROM, SHAPE, COMPUTE, GRADIENT), BAND(NAME "V2", INPUTS, SHAPE, COMPUTE, GRADIENT),                     \
        BAND(NAME "V3", INPUTS, SHAPE, COMPUTE, GRADIENT)

const hr_graph_op hr_graph_ops_band_ops[] = {
    VERSIONS("MatrixDiag", "?, ?, [], [], [] -> ?", "? -> ?", matrix_diag_shape, matrix_diag_compute,
             matrix_diag_gradient),
    VERSIONS("MatrixDiagPart", "?, ?, [] -> ?", "? -> ?", matrix_diag_part_shape, matrix_diag_part_compute,
             matrix_diag_part_gradient),
    VERSIONS("MatrixSetDiag", "=0", "=0", NULL, set_diag_compute, set_diag_gradient),
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

hr_node hr_matrix_diag_with(hr_node x, const hr_name_opts *opts) { return hr_unary_node("MatrixDiag", x, opts); }
hr_node hr_matrix_diag_part_with(hr_node x, const hr_name_opts *opts)
{
    return hr_unary_node("MatrixDiagPart", x, opts);
}
