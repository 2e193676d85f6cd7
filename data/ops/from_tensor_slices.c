/* from_tensor_slices: rows of tensors in memory; element i is row i of each. The dataset holds copies. Rows are also
 * found by their numbers, so that a shuffle moves these and each row is copied once, into its batch. */
#include <headrace/data.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct slices_spec {
    const hr_tensor *tensor; /* borrowed until spec_copy */
    const char *const *name; /* NULL, also for one of them: its number */
    int count;
    bool no_memory, wide; /* of hr_from_tensors: there was none; a tensor has too many dimensions */
    hr_tensor *own;
    char **own_name;
} slices_spec;

typedef struct slices_state {
    int64_t given; /* saved */
} slices_state;

/* ---- the dataset's own copy ---- */

static hr_status copy_tensor(const hr_tensor *from, hr_tensor *to, hr_error *err)
{
    if (from->layout != HR_DENSE)
        return hr_fail(err, HR_INVALID_ARGUMENT, "from_tensor_slices.layout",
                       "from_tensor_slices: expected dense tensors, got a ragged or sparse one");
    if (!from->data && hr_shape_count(from->shape) > 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "from_tensor_slices.data",
                       "from_tensor_slices: expected the values of a tensor, got NULL");
    if (from->dtype == HR_STRING) return hr_tensor_strings(to, from->shape, from->data, err);
    HR_TRY(hr_tensor_new(to, from->dtype, from->shape, err));
    const size_t size = (size_t)to->count * hr_dtype_size(to->dtype);
    if (size) memcpy(to->data, from->data, size);
    return HR_OK;
}

static hr_status copy_name(const slices_spec *sp, int i, hr_error *err)
{
    char number[16];
    snprintf(number, sizeof number, "%d", i);
    sp->own_name[i] = hr_strdup(sp->name && sp->name[i] ? sp->name[i] : number);
    return sp->own_name[i] ? HR_OK : hr_no_memory(err, "from_tensor_slices");
}

static hr_status slices_copy(void *spec, hr_error *err)
{
    slices_spec *sp = spec;
    if (sp->no_memory) return hr_no_memory(err, "from_tensors");
    if (sp->wide)
        return hr_fail(err, HR_INVALID_ARGUMENT, "from_tensor_slices.shape",
                       "from_tensors: expected tensors of at most %d dimensions", HR_MAX_RANK - 1);
    if (sp->count < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "from_tensor_slices.count",
                       "from_tensor_slices: expected at least one tensor, got %d", sp->count);
    sp->own = hr_calloc((size_t)sp->count, sizeof *sp->own);
    sp->own_name = hr_calloc((size_t)sp->count, sizeof *sp->own_name);
    if (!sp->own || !sp->own_name) return hr_no_memory(err, "from_tensor_slices");
    for (int i = 0; i < sp->count; i++) {
        HR_TRY(copy_tensor(&sp->tensor[i], &sp->own[i], err));
        HR_TRY(copy_name(sp, i, err));
    }
    return HR_OK;
}

static void slices_free(void *spec)
{
    slices_spec *sp = spec;
    for (int i = 0; sp->own && i < sp->count; i++) hr_tensor_clear(&sp->own[i]);
    for (int i = 0; sp->own_name && i < sp->count; i++) hr_free(sp->own_name[i]);
    hr_free(sp->own);
    hr_free(sp->own_name);
}

static hr_status slices_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)in;
    const slices_spec *sp = spec;
    for (int i = 0; i < sp->count; i++) {
        const hr_shape *shape = &sp->own[i].shape;
        if (shape->rank < 1 || shape->dims[0] != sp->own[0].shape.dims[0])
            return hr_fail(err, HR_INVALID_ARGUMENT, "from_tensor_slices.shape",
                           "from_tensor_slices: component '%.60s': expected %" PRId64 " rows as in the first one, got "
                           "%" PRId64,
                           sp->own_name[i], sp->own[0].shape.rank ? sp->own[0].shape.dims[0] : 0,
                           shape->rank ? shape->dims[0] : 0);
        hr_field field = {.name = sp->own_name[i], .dtype = sp->own[i].dtype};
        field.shape.rank = shape->rank - 1;
        memcpy(field.shape.dims, shape->dims + 1, (size_t)field.shape.rank * sizeof *shape->dims);
        HR_TRY(hr_schema_add(out, field, err));
    }
    return HR_OK;
}

/* ---- plan ---- */

static void copy_rows(const slices_spec *sp, hr_columns *rows, int64_t first, int64_t count)
{
    for (int i = 0; i < sp->count; i++) {
        const size_t width = hr_field_width(&rows->schema->field[i]);
        if (width)
            memcpy(rows->column[i].values, (const char *)sp->own[i].data + (size_t)first * width,
                   (size_t)count * width);
    }
}

static hr_status slices_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    const slices_spec *sp = spec;
    slices_state *st = state;
    const int64_t left = sp->own[0].shape.dims[0] - st->given;
    if (left <= 0) return HR_END;

    const int64_t count = left < hr_room(p) ? left : hr_room(p);
    hr_columns *rows = hr_unit_rows(p, count);
    if (!rows) return hr_no_memory(err, "from_tensor_slices");
    copy_rows(sp, rows, st->given, count);
    rows->origin = NULL;
    rows->rows = count;
    st->given += count;
    return HR_OK;
}

static void identify_strings(const hr_tensor *t, uint64_t *sum)
{
    const hr_view *view = t->data;
    for (int64_t i = 0; i < t->count; i++) {
        hr_identify_i64(sum, view[i].size);
        hr_identify(sum, view[i].data, (size_t)view[i].size);
    }
}

static void slices_identity(const void *spec, uint64_t *sum)
{
    const slices_spec *sp = spec;
    for (int i = 0; i < sp->count; i++) {
        const hr_tensor *t = &sp->own[i];
        hr_identify_text(sum, sp->own_name[i]);
        hr_identify_i64(sum, t->dtype);
        hr_identify_i64(sum, t->count);
        if (t->dtype == HR_STRING)
            identify_strings(t, sum);
        else
            hr_identify(sum, t->data, (size_t)t->count * hr_dtype_size(t->dtype));
    }
}

static int64_t slices_cardinality(const void *spec, const int64_t *in)
{
    (void)in;
    return ((const slices_spec *)spec)->own[0].shape.dims[0];
}

static void slices_describe(const void *spec, hr_description *to)
{
    const slices_spec *sp = spec;
    hr_describe_number(to, "tensors", sp->count);
}

/* ---- rows by their numbers ---- */

typedef struct numbered_spec {
    hr_dataset *ds;            /* borrowed until spec_copy, then shared */
    const slices_spec *slices; /* its own */
} numbered_spec;

static hr_status numbered_copy(void *spec, hr_error *err)
{
    (void)err;
    hr_dataset_ref(((numbered_spec *)spec)->ds);
    return HR_OK;
}

static void numbered_free(void *spec) { hr_dataset_unref(((numbered_spec *)spec)->ds); }

static hr_status numbered_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    const hr_schema *rows = hr_dataset_schema(((const numbered_spec *)spec)->ds);
    if (hr_schema_equal(in[0], &hr_int64_schema)) return hr_schema_set(out, rows, err);
    return hr_fail(err, HR_INVALID_ARGUMENT, "from_tensor_slices.number",
                   "from_tensor_slices: expected numbers of rows, of type int64");
}

static bool is_row(const slices_spec *sp, int64_t number) { return number >= 0 && number < sp->own[0].shape.dims[0]; }

/* A row that fails is cut off with all after it, or stays for ignore_errors to drop. */
static void check_numbers(const slices_spec *sp, const int64_t *number, hr_work *w, hr_columns *rows)
{
    hr_error err;
    for (int64_t r = 0; r < rows->rows; r++) {
        if (is_row(sp, number[r])) continue;
        hr_fail(&err, HR_OUT_OF_RANGE, "from_tensor_slices.number",
                "from_tensor_slices: expected the number of one of %" PRId64 " rows, got %" PRId64,
                sp->own[0].shape.dims[0], number[r]);
        hr_fail_at(w, rows, r, &err);
    }
}

static void gather_rows(const slices_spec *sp, int i, const int64_t *number, hr_columns *rows)
{
    const size_t width = hr_field_width(&rows->schema->field[i]);
    const char *from = sp->own[i].data;
    char *to = rows->column[i].values;
    for (int64_t r = 0; r < rows->rows && width; r++) {
        if (is_row(sp, number[r]))
            memcpy(to + (size_t)r * width, from + (size_t)number[r] * width, width);
        else
            memset(to + (size_t)r * width, 0, width);
    }
}

static hr_status numbered_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)unit;
    const slices_spec *sp = ((const numbered_spec *)spec)->slices;
    const int64_t *number = rows->column[0].values;
    hr_columns before;
    check_numbers(sp, number, w, rows);
    HR_TRY(hr_new_columns(w, rows, &before, err));
    for (int i = 0; i < sp->count; i++) gather_rows(sp, i, number, rows);
    return HR_OK;
}

static void numbered_identity(const void *spec, uint64_t *sum)
{
    slices_identity(((const numbered_spec *)spec)->slices, sum);
}

static void numbered_describe(const void *spec, hr_description *to)
{
    slices_describe(((const numbered_spec *)spec)->slices, to);
    hr_describe_flag(to, "by number", true);
}

static const hr_op numbered_op = {
    .head = HR_OP_HEAD,
    .name = "from_tensor_slices",
    .spec_size = sizeof(numbered_spec),
    .traits = HR_ROW_BY_ROW,
    .spec_copy = numbered_copy,
    .spec_free = numbered_free,
    .check = numbered_check,
    .work = numbered_work,
    .identity = numbered_identity,
    .describe = numbered_describe,
};

static hr_dataset *slices_by_number(hr_dataset *ds, hr_dataset *numbers)
{
    const numbered_spec spec = {.ds = ds, .slices = hr_dataset_spec(ds, hr_dataset_op(ds))};
    return hr_dataset_new(&numbered_op, &spec, &numbers, 1);
}

static hr_status slices_at(const void *spec, void *state, int64_t index, const int64_t *have, int64_t *in)
{
    (void)have, (void)in;
    const int64_t count = ((const slices_spec *)spec)->own[0].shape.dims[0];
    ((slices_state *)state)->given = index < count ? index : count;
    return HR_OK;
}

const hr_op hr_op_from_tensor_slices = {
    .head = HR_OP_HEAD,
    .name = "from_tensor_slices",
    .spec_size = sizeof(slices_spec),
    .state_size = sizeof(slices_state),
    .saved = 1, /* given */
    .spec_copy = slices_copy,
    .spec_free = slices_free,
    .check = slices_check,
    .plan = slices_plan,
    .identity = slices_identity,
    .cardinality = slices_cardinality,
    .describe = slices_describe,
    .by_number = slices_by_number,
    .at = slices_at,
};

hr_dataset *hr_from_tensor_slices(const hr_tensor *tensors, const char *const *names, int count)
{
    slices_spec spec = {.tensor = tensors, .name = names, .count = tensors ? count : 0};
    return hr_dataset_new(&hr_op_from_tensor_slices, &spec, NULL, 0);
}

/* ---- from_tensors: the slice of tensors with one more dimension of 1 in front ---- */

static bool in_one_row(const hr_tensor *from, hr_tensor *row)
{
    const int rank = from->shape.rank;
    *row = *from;
    if (rank >= HR_MAX_RANK) return false;
    row->shape = (hr_shape){rank + 1, {1}};
    memcpy(row->shape.dims + 1, from->shape.dims, (size_t)(rank > 0 ? rank : 0) * sizeof *from->shape.dims);
    return true;
}

hr_dataset *hr_from_tensors(const hr_tensor *tensors, const char *const *names, int count)
{
    hr_tensor *row = hr_calloc((size_t)(count > 0 ? count : 0) + 1, sizeof *row);
    int rows = 0;
    if (!tensors) count = 0;
    while (row && rows < count && in_one_row(&tensors[rows], &row[rows])) rows++;
    slices_spec spec = {.tensor = row, .name = names, .count = rows, .no_memory = !row, .wide = rows < count};
    hr_dataset *ds = hr_dataset_new(&hr_op_from_tensor_slices, &spec, NULL, 0);
    hr_free(row);
    return ds;
}
