/* dense_to_sparse_batch: a batch of rows that may differ in shape, as a sparse tensor in which every value has its
 * place. The values are copied once; places are told apart only where rows have several dimensions. */
#include <headrace/data.h>
#include <inttypes.h>
#include <string.h>

typedef struct sparse_spec {
    hr_shape row_shape;
} sparse_spec;

static bool is_possible(const hr_shape *row, const hr_field *f)
{
    if (row->rank < 1 || row->rank != f->shape.rank || f->layout != HR_DENSE) return false;
    for (int d = 0; d < row->rank; d++)
        if (row->dims[d] < 0 && row->rank > 1) return false;
    return true;
}

static hr_status sparse_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    const hr_shape *row = &((const sparse_spec *)spec)->row_shape;
    if (in[0]->fields != 1 || in[0]->levels > 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "dense_to_sparse_batch.component",
                       "dense_to_sparse_batch: expected single elements of one component");
    hr_field field = in[0]->field[0];
    if (!is_possible(row, &field))
        return hr_fail(err, HR_INVALID_ARGUMENT, "dense_to_sparse_batch.shape",
                       "dense_to_sparse_batch: expected the shape of a row: %d dimensions as the component has, of "
                       "known size if there are several, got %d",
                       field.shape.rank, row->rank);
    field.layout = HR_SPARSE;
    field.shape = *row;
    field.pad = NULL;
    hr_schema_clear(out);
    return hr_schema_add(out, field, err);
}

/* ---- one row ---- */

/* The shape of this row: its first dimension may be its own. */
static hr_shape shape_of_row(const hr_field *f, const hr_column *c, int64_t row)
{
    hr_shape shape = f->shape;
    int64_t inner = 1;
    for (int d = 1; d < shape.rank; d++) inner *= shape.dims[d];
    if (shape.dims[0] < 0) shape.dims[0] = inner ? (c->splits[0][row + 1] - c->splits[0][row]) / inner : 0;
    return shape;
}

/* The first dimension that is larger than that of `into`; the rank: none is. */
static int first_too_large(const hr_shape *shape, const hr_shape *into)
{
    int d = 0;
    while (d < shape->rank && (into->dims[d] < 0 || shape->dims[d] <= into->dims[d])) d++;
    return d;
}

/* The place of value `i` of a row of `shape` in one of shape `into`. */
static int64_t sparse_batch_place_of(int64_t i, const hr_shape *shape, const hr_shape *into)
{
    int64_t place = 0, step = 1;
    for (int d = shape->rank - 1; d >= 0; d--) {
        place += i % shape->dims[d] * step;
        i /= shape->dims[d];
        step *= into->dims[d];
    }
    return place;
}

static hr_status add_row(hr_work *w, hr_columns *rows, const void *values, int64_t row, const hr_shape *shape,
                         hr_error *err)
{
    hr_column *to = &rows->column[0];
    const hr_field *f = rows->schema->field;
    const size_t size = hr_dtype_size(f->dtype);
    const int64_t first = to->splits[0][row], count = hr_shape_count(*shape);
    if (first + count > INT32_MAX) return hr_no_memory(err, "a sparse batch");
    HR_TRY(hr_grow_column(w, rows, 0, first + count + 1, err));
    if (count) memcpy((char *)to->values + (size_t)first * size, values, (size_t)count * size);
    for (int64_t i = 0; to->inner && i < count; i++) to->inner[first + i] = sparse_batch_place_of(i, shape, &f->shape);
    to->count = to->splits[0][row + 1] = (int32_t)(first + count);
    return HR_OK;
}

static hr_status sparse_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)spec, (void)unit;
    hr_columns before;
    const hr_field was = rows->schema->field[0];
    HR_TRY(hr_new_columns(w, rows, &before, err));
    const hr_column *from = &before.column[0];
    const size_t size = hr_dtype_size(was.dtype);
    const hr_shape *into = &rows->schema->field[0].shape;
    static int64_t first_place; /* says that there are places: the array grows with the values */
    rows->column[0].inner = was.shape.rank > 1 ? &first_place : NULL;
    for (int64_t r = 0; r < rows->rows; r++) {
        hr_shape shape = shape_of_row(&was, from, r);
        const size_t at = was.shape.dims[0] < 0 ? (size_t)from->splits[0][r] * size : (size_t)r * hr_field_width(&was);
        const int d = first_too_large(&shape, into);
        if (d < shape.rank) {
            hr_error bad;
            hr_fail(&bad, HR_DATA_LOSS, "dense_to_sparse_batch.too_large",
                    "dense_to_sparse_batch: expected at most %" PRId64 " in dimension %d of a row, got %" PRId64,
                    into->dims[d], d, shape.dims[d]);
            hr_fail_at(w, rows, r, &bad);
            shape.dims[0] = 0; /* below ignore_errors the row stays until this returns */
        }
        if (r < rows->rows) HR_TRY(add_row(w, rows, (const char *)from->values + at, r, &shape, err));
    }
    return HR_OK;
}

static void sparse_identity(const void *spec, uint64_t *sum)
{
    const hr_shape *row = &((const sparse_spec *)spec)->row_shape;
    for (int d = 0; d < row->rank; d++) hr_identify_i64(sum, row->dims[d]);
}

static void sparse_describe(const void *spec, hr_description *to)
{
    const sparse_spec *sp = spec;
    for (int i = 0; i < sp->row_shape.rank; i++) hr_describe_number(to, i ? NULL : "row_shape", sp->row_shape.dims[i]);
}

const hr_op hr_op_dense_to_sparse_batch = {
    .head = HR_OP_HEAD,
    .name = "dense_to_sparse_batch",
    .spec_size = sizeof(sparse_spec),
    .traits = HR_ROW_BY_ROW,
    .check = sparse_check,
    .work = sparse_work,
    .identity = sparse_identity,
    .describe = sparse_describe,
};

hr_dataset *hr_dense_to_sparse_batch_with(hr_dataset *in, int64_t batch_size, hr_shape row_shape,
                                          const hr_batch_opts *opts)
{
    const sparse_spec spec = {row_shape};
    return hr_batch_with(hr_dataset_new(&hr_op_dense_to_sparse_batch, &spec, &in, 1), batch_size, opts);
}
