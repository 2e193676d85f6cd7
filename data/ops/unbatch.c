/* unbatch: makes the parts of each element elements again. Of a batch it drops the outermost level of splits, so what
 * is in it, dense, ragged or sparse, does not matter; of single elements it counts the first dimension of their values
 * as rows. It moves no byte but where a batch pads its rows: they come out as wide as they were in it.
 *
 * rebatch is batch over unbatch: a function, no operator of its own. */
#include <headrace/data.h>
#include <inttypes.h>
#include <string.h>

typedef struct unbatch_spec {
    int64_t parts; /* of every element; 0: not known */
} unbatch_spec;

/* ---- the schema ---- */

static hr_status drop_dimension(hr_field *f, hr_error *err)
{
    if (f->layout == HR_DENSE && f->shape.rank == 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "unbatch.scalar",
                       "unbatch: component '%.60s': expected batches, got a scalar; put a batch below", f->name);
    if (f->layout == HR_SPARSE || (f->layout == HR_RAGGED && f->shape.rank > 1) || f->shape.rank < 1)
        return hr_fail(err, HR_UNIMPLEMENTED, "unbatch.rows",
                       "unbatch: component '%.60s': expected dense rows, got ragged or sparse ones that no batch below "
                       "has made",
                       f->name);
    f->layout = HR_DENSE;
    f->pad = NULL;
    memmove(f->shape.dims, f->shape.dims + 1, (size_t)--f->shape.rank * sizeof *f->shape.dims);
    return HR_OK;
}

static hr_status unbatch_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)spec;
    hr_schema parts = *in[0];
    if (parts.levels-- > 0) return hr_schema_set(out, &parts, err);
    hr_schema_clear(out);
    for (int i = 0; i < parts.fields; i++) {
        hr_field field = parts.field[i];
        HR_TRY(drop_dimension(&field, err));
        HR_TRY(hr_schema_add(out, field, err));
    }
    return HR_OK;
}

/* ---- single elements ---- */

static int64_t parts_of(const hr_columns *rows, int field, int64_t row)
{
    const hr_field *f = &rows->schema->field[field];
    if (hr_field_fixed(f)) return f->shape.dims[0];
    int64_t inner = 1;
    for (int d = 1; d < f->shape.rank; d++) inner *= f->shape.dims[d];
    const int32_t *splits = rows->column[field].splits[0];
    return inner ? (splits[row + 1] - splits[row]) / inner : 0;
}

/* How many parts all rows have together; *uneven is the first row whose components differ, or the number of rows. */
static int64_t count_parts(const hr_columns *rows, int64_t *uneven)
{
    int64_t total = 0;
    for (*uneven = 0; *uneven < rows->rows; ++*uneven) {
        const int64_t parts = parts_of(rows, 0, *uneven);
        for (int i = 1; i < rows->schema->fields; i++)
            if (parts_of(rows, i, *uneven) != parts) return total;
        total += parts;
    }
    return total;
}

/* Rows are cut off there, even below ignore_errors: what follows cannot be told apart. */
static hr_status refuse_uneven(hr_work *w, hr_columns *rows, int64_t row, hr_error *err)
{
    hr_fail(err, HR_INVALID_ARGUMENT, "unbatch.uneven",
            "unbatch: expected as many parts of every component of an element as of the first one, %" PRId64,
            parts_of(rows, 0, row));
    hr_fail_at(w, rows, row, err);
    return rows->rows > row ? err->code : HR_OK;
}

/* Where each part was read, and its number: a random draw above must not be the same for all parts of an element. */
static hr_status copy_heads(hr_work *w, hr_columns *rows, int64_t total, hr_error *err)
{
    hr_origin *origin = rows->origin ? hr_row_bytes(w, rows, (size_t)total * sizeof *origin) : NULL;
    int64_t *number = rows->number ? hr_row_bytes(w, rows, (size_t)total * sizeof *number) : NULL;
    if ((rows->origin && !origin) || (rows->number && !number)) return hr_no_memory(err, "unbatch");
    for (int64_t r = 0, n = 0; r < rows->rows; r++) {
        const int64_t parts = parts_of(rows, 0, r);
        for (int64_t i = 0; i < parts; i++, n++) {
            if (origin) origin[n] = rows->origin[r];
            if (number) number[n] = (int64_t)hr_random((uint64_t)rows->number[r], (uint64_t)i);
        }
    }
    rows->origin = origin;
    rows->number = number;
    return HR_OK;
}

static hr_status unbatch_rows(hr_work *w, hr_columns *rows, hr_error *err)
{
    int64_t uneven;
    const int64_t total = count_parts(rows, &uneven);
    if (uneven < rows->rows) HR_TRY(refuse_uneven(w, rows, uneven, err));
    if (total > INT32_MAX)
        return hr_fail(err, HR_OUT_OF_RANGE, "unbatch.rows", "unbatch: a unit of %" PRId64 " rows is too large", total);
    HR_TRY(copy_heads(w, rows, total, err));
    hr_adopt_schema(w, rows);
    for (int i = 0; i < rows->schema->fields; i++) rows->column[i].splits[0] = NULL;
    rows->rows = rows->elements = total;
    return HR_OK;
}

/* ---- batches ---- */

static int64_t longest_row(const int32_t *splits, int64_t first, int64_t end)
{
    int64_t longest = 0;
    for (int64_t r = first; r < end; r++)
        if (splits[r + 1] - splits[r] > longest) longest = splits[r + 1] - splits[r];
    return longest;
}

/* Where each row ends once all rows of a batch are as long as its longest; *values of them all together. */
static bool even_splits(const hr_columns *rows, const int32_t *splits, int32_t *to, int64_t *values)
{
    int64_t end = to[0] = 0;
    bool even = true;
    for (int64_t e = 0; e < rows->elements && end <= INT32_MAX; e++) {
        const int64_t first = rows->splits[0][e], next = rows->splits[0][e + 1];
        const int64_t width = longest_row(splits, first, next);
        for (int64_t r = first; r < next; r++) {
            even &= splits[r + 1] - splits[r] == width;
            to[r + 1] = (int32_t)(end += width);
        }
    }
    *values = end;
    return even;
}

static hr_status pad_rows(hr_work *w, hr_columns *rows, int field, hr_error *err)
{
    const hr_field *f = &rows->schema->field[field];
    hr_column *c = &rows->column[field];
    const size_t size = hr_dtype_size(f->dtype);
    const int32_t *from = c->splits[0];
    int64_t values;
    int32_t *splits = hr_row_bytes(w, rows, ((size_t)rows->rows + 1) * sizeof *splits);
    if (!splits) return hr_no_memory(err, "padded rows");
    if (even_splits(rows, from, splits, &values)) return HR_OK;
    char *to = values > INT32_MAX ? NULL : hr_row_bytes(w, rows, (size_t)values * size + 1);
    if (!to) return hr_no_memory(err, "padded rows");
    const char *at = c->values;
    c->values = to;
    for (int64_t r = 0; r < rows->rows; r++) {
        const int64_t own = from[r + 1] - from[r], width = splits[r + 1] - splits[r];
        if (own) memcpy(to, at + (size_t)from[r] * size, (size_t)own * size);
        for (int64_t i = own; i < width; i++) memcpy(to + (size_t)i * size, f->pad, size);
        to += (size_t)width * size;
    }
    c->splits[0] = splits;
    c->count = values;
    return HR_OK;
}

static bool is_padded(const hr_field *f) { return f->pad && f->layout == HR_DENSE && !hr_field_fixed(f); }

static hr_status unbatch_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)spec, (void)unit;
    if (rows->levels == 0) return unbatch_rows(w, rows, err);
    for (int i = 0; rows->levels == 1 && i < rows->schema->fields; i++)
        if (is_padded(&rows->schema->field[i])) HR_TRY(pad_rows(w, rows, i, err));
    rows->elements = rows->splits[0][rows->elements];
    rows->levels--;
    memmove(rows->splits, rows->splits + 1, (size_t)rows->levels * sizeof *rows->splits);
    return HR_OK;
}

static int64_t unbatch_cardinality(const void *spec, const int64_t *in)
{
    const int64_t parts = ((const unbatch_spec *)spec)->parts;
    if (in[0] <= 0) return in[0];
    return parts > 0 && in[0] <= INT64_MAX / parts ? in[0] * parts : HR_UNKNOWN_CARDINALITY;
}

const hr_op hr_op_unbatch = {
    .head = HR_OP_HEAD,
    .name = "unbatch",
    .spec_size = sizeof(unbatch_spec),
    .cardinality = unbatch_cardinality,
    .check = unbatch_check,
    .work = unbatch_work,
};

/* Parts of single elements are their first dimension. */
static int64_t parts_of_all(const hr_dataset *in)
{
    const hr_schema *schema = hr_dataset_schema(in);
    if (!schema) return 0;
    if (schema->levels > 0) return hr_full_batch_size(in);
    return schema->fields > 0 && hr_field_fixed(&schema->field[0]) && schema->field[0].shape.rank > 0
               ? schema->field[0].shape.dims[0]
               : 0;
}

hr_dataset *hr_unbatch(hr_dataset *in)
{
    const unbatch_spec spec = {.parts = parts_of_all(in)};
    return hr_dataset_new(&hr_op_unbatch, &spec, &in, 1);
}

hr_dataset *hr_rebatch_with(hr_dataset *in, int64_t batch_size, const hr_batch_opts *opts)
{
    return hr_batch_with(hr_unbatch(in), batch_size, opts);
}
