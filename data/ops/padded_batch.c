/* padded_batch: a batch of rows that are padded to one shape. Here each row gets its width, where that is known, and
 * what else is padded gets its value; a batch on top then pads to its longest row. */
#include <headrace/data.h>
#include <inttypes.h>

typedef struct padded_spec {
    const hr_shape *shape;  /* borrowed until spec_copy, as `value`; NULL: the rows' own */
    const hr_tensor *value; /* NULL: zeros */
    int shapes, values;
    hr_shape *own_shape;
    hr_tensor *own_value;
} padded_spec;

/* ---- the spec ---- */

static hr_status copy_value(const hr_tensor *from, hr_tensor *to, hr_error *err)
{
    if (from->count != 1 || from->layout != HR_DENSE)
        return hr_fail(err, HR_INVALID_ARGUMENT, "padded_batch.value",
                       "padded_batch: expected one value to pad a component with, got %" PRId64, from->count);
    if (from->dtype == HR_STRING) return hr_tensor_strings(to, HR_SCALAR, from->data, err);
    HR_TRY(hr_tensor_new(to, from->dtype, HR_SCALAR, err));
    memcpy(to->data, from->data, hr_dtype_size(from->dtype));
    return HR_OK;
}

static hr_status padded_copy(void *spec, hr_error *err)
{
    padded_spec *sp = spec;
    sp->own_shape = hr_calloc((size_t)sp->shapes + 1, sizeof *sp->own_shape);
    sp->own_value = hr_calloc((size_t)sp->values + 1, sizeof *sp->own_value);
    if (!sp->own_shape || !sp->own_value) return hr_no_memory(err, "padded_batch");
    for (int i = 0; i < sp->shapes; i++) sp->own_shape[i] = sp->shape[i];
    for (int i = 0; i < sp->values; i++) HR_TRY(copy_value(&sp->value[i], &sp->own_value[i], err));
    return HR_OK;
}

static void padded_free(void *spec)
{
    const padded_spec *sp = spec;
    for (int i = 0; sp->own_value && i < sp->values; i++) hr_tensor_clear(&sp->own_value[i]);
    hr_free(sp->own_value);
    hr_free(sp->own_shape);
}

/* ---- the schema ---- */

/* The padded shape of one component: what is not said is the rows' own, and -1 the longest of the batch. */
static hr_status padded_batch_pad_shape(const padded_spec *sp, int i, hr_field *field, hr_error *err)
{
    if (sp->shapes == 0) return HR_OK;
    const hr_shape *asked = &sp->own_shape[i];
    hr_shape *shape = &field->shape;
    bool fits = asked->rank == shape->rank;
    for (int d = 0; fits && d < shape->rank; d++) {
        fits = asked->dims[d] < 0 || asked->dims[d] >= shape->dims[d];
        if (asked->dims[d] >= 0) shape->dims[d] = asked->dims[d];
    }
    if (fits) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "padded_batch.shape",
                   "padded_batch: component '%.60s': expected a padded shape of %d dimensions, none below the "
                   "component's own, got one of %d dimensions",
                   field->name, shape->rank, asked->rank);
}

static hr_status pad_field(const padded_spec *sp, int i, hr_field *field, hr_error *err)
{
    if (field->layout != HR_DENSE)
        return hr_fail(err, HR_INVALID_ARGUMENT, "padded_batch.layout",
                       "padded_batch: component '%.60s': expected a dense one, got a ragged or sparse one",
                       field->name);
    HR_TRY(padded_batch_pad_shape(sp, i, field, err));
    field->pad = sp->values ? sp->own_value[i].data : hr_zero_value(field->dtype);
    if (!sp->values || sp->own_value[i].dtype == field->dtype) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "padded_batch.value",
                   "padded_batch: component '%.60s': expected a value of %s to pad with, got one of %s", field->name,
                   hr_dtype_name(field->dtype), hr_dtype_name(sp->own_value[i].dtype));
}

static hr_status padded_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    const padded_spec *sp = spec;
    if (sp->shapes && in[0]->levels > 0)
        return hr_fail(err, HR_UNIMPLEMENTED, "padded_batch.levels",
                       "padded_batch: expected single elements, got batches; pad before batch");
    hr_schema_clear(out);
    for (int i = 0; i < in[0]->fields; i++) {
        hr_field field = in[0]->field[i];
        HR_TRY(pad_field(sp, i, &field, err));
        HR_TRY(hr_schema_add(out, field, err));
    }
    return HR_OK;
}

/* ---- rows to a new width ---- */

typedef struct block {
    const int64_t *dims;
    int rank;
    size_t size; /* of a value */
} block;

/* How far apart the parts of dimension `d` lie. */
static size_t stride(const block *b, int d)
{
    size_t bytes = b->size;
    for (int i = d + 1; i < b->rank; i++) bytes *= (size_t)b->dims[i];
    return bytes;
}

/* `count` parts of dimension `d`; the target is as large or larger. */
static void copy_block(const block *to, const block *from, int d, int64_t count, char *at, const char *of)
{
    if (d == from->rank - 1) {
        if (count) memcpy(at, of, (size_t)count * from->size);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        copy_block(to, from, d + 1, from->dims[d + 1], at + (size_t)i * stride(to, d),
                   of + (size_t)i * stride(from, d));
}

static void padded_batch_fill(char *to, const hr_field *f, int64_t count)
{
    const size_t size = hr_dtype_size(f->dtype);
    for (int64_t i = 0; i < count; i++) memcpy(to + (size_t)i * size, f->pad, size);
}

static int64_t inner_values(const hr_field *f)
{
    int64_t count = 1;
    for (int d = 1; d < f->shape.rank; d++) count *= f->shape.dims[d];
    return count;
}

static int64_t steps_of_row(const hr_field *f, const hr_column *c, int64_t row)
{
    if (f->shape.rank == 0) return 1;
    if (f->shape.dims[0] >= 0) return f->shape.dims[0];
    const int64_t inner = inner_values(f);
    return inner ? (c->splits[0][row + 1] - c->splits[0][row]) / inner : 0;
}

static void too_long(hr_work *w, hr_columns *rows, int64_t row, const hr_field *f, int64_t steps)
{
    hr_error err;
    hr_fail(&err, HR_DATA_LOSS, "padded_batch.too_long",
            "padded_batch: component '%.60s': expected at most %" PRId64 " values to pad, got %" PRId64
            "; the padded shape is too small",
            f->name, f->shape.dims[0], steps);
    hr_fail_at(w, rows, row, &err);
}

/* Where row `row` of the column goes: `steps` of it are there. NULL: no memory. */
static char *padded_batch_place(hr_work *w, hr_columns *rows, int i, int64_t row, int64_t steps)
{
    const hr_field *f = &rows->schema->field[i];
    hr_column *c = &rows->column[i];
    const size_t size = hr_dtype_size(f->dtype);
    if (hr_field_fixed(f)) return (char *)c->values + (size_t)row * hr_field_width(f);
    const int64_t first = c->splits[0][row], count = steps * inner_values(f);
    if (first + count > INT32_MAX || hr_grow_column(w, rows, i, first + count + 1, NULL) != HR_OK) return NULL;
    c->count = c->splits[0][row + 1] = (int32_t)(first + count);
    return (char *)c->values + (size_t)first * size;
}

static hr_status widen_column(hr_work *w, hr_columns *rows, const hr_columns *before, int i, hr_error *err)
{
    const hr_field *f = &rows->schema->field[i], *was = &before->schema->field[i];
    const hr_column *from = &before->column[i];
    const size_t size = hr_dtype_size(f->dtype);
    const block to = {f->shape.dims, f->shape.rank, size}, of = {was->shape.dims, was->shape.rank, size};
    const bool fixed = hr_field_fixed(f), own = hr_field_fixed(was);
    for (int64_t r = 0; r < rows->rows; r++) {
        const int64_t steps = steps_of_row(was, from, r), wide = fixed ? f->shape.dims[0] : steps;
        if (steps > wide) too_long(w, rows, r, f, steps);
        if (r >= rows->rows) break;
        char *at = padded_batch_place(w, rows, i, r, wide);
        if (!at) return hr_no_memory(err, "padded rows");
        const char *values =
            (const char *)from->values + (own ? (size_t)r * hr_field_width(was) : (size_t)from->splits[0][r] * size);
        padded_batch_fill(at, f, wide * inner_values(f));
        copy_block(&to, &of, 0, steps < wide ? steps : wide, at, values);
    }
    return HR_OK;
}

static bool padded_batch_same_shape(const hr_columns *rows, const hr_columns *before, int i)
{
    return hr_shape_equal(rows->schema->field[i].shape, before->schema->field[i].shape);
}

static hr_status padded_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)spec, (void)unit;
    hr_columns before = *rows;
    bool same = true;
    hr_adopt_schema(w, rows);
    for (int i = 0; i < rows->schema->fields; i++) same &= padded_batch_same_shape(rows, &before, i);
    if (same) return HR_OK;

    const hr_schema *was = before.schema;
    HR_TRY(hr_new_columns(w, rows, &before, err));
    before.schema = was;
    for (int i = 0; i < rows->schema->fields; i++) {
        if (padded_batch_same_shape(rows, &before, i))
            rows->column[i] = before.column[i];
        else
            HR_TRY(widen_column(w, rows, &before, i, err));
    }
    return HR_OK;
}

static void padded_identity(const void *spec, uint64_t *sum)
{
    const padded_spec *sp = spec;
    for (int i = 0; i < sp->shapes; i++) hr_identify(sum, sp->own_shape[i].dims, sizeof sp->own_shape[i].dims);
    for (int i = 0; i < sp->values; i++) {
        const hr_tensor *t = &sp->own_value[i];
        const hr_view *view = t->data;
        if (t->dtype == HR_STRING)
            hr_identify(sum, view->data, (size_t)view->size);
        else
            hr_identify(sum, t->data, hr_dtype_size(t->dtype));
    }
}

static void padded_describe(const void *spec, hr_description *to)
{
    const padded_spec *sp = spec;
    hr_describe_flag(to, "padded_shapes", sp->shapes > 0);
    hr_describe_flag(to, "padding_values", sp->values > 0);
}

const hr_op hr_op_padded_batch = {
    .head = HR_OP_HEAD,
    .name = "padded_batch",
    .spec_size = sizeof(padded_spec),
    .traits = HR_ROW_BY_ROW,
    .spec_copy = padded_copy,
    .spec_free = padded_free,
    .check = padded_check,
    .work = padded_work,
    .identity = padded_identity,
    .describe = padded_describe,
};

hr_dataset *hr_padded_rows(hr_dataset *in, const hr_shape *padded_shapes, const hr_tensor *padding_values)
{
    const hr_schema *schema = hr_dataset_schema(in);
    const int components = schema ? schema->fields : 0;
    const padded_spec spec = {.shape = padded_shapes,
                              .value = padding_values,
                              .shapes = padded_shapes ? components : 0,
                              .values = padding_values ? components : 0};
    return hr_dataset_new(&hr_op_padded_batch, &spec, &in, 1);
}

hr_dataset *hr_padded_batch_with(hr_dataset *in, int64_t batch_size, const hr_padded_batch_opts *opts)
{
    const hr_padded_batch_opts o = HR_OPTIONS(hr_padded_batch_opts, opts);
    return hr_batch(hr_padded_rows(in, o.padded_shapes, o.padding_values), batch_size,
                    .drop_remainder = o.drop_remainder);
}
