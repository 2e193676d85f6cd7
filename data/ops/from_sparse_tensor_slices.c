/* from_sparse_tensor_slices: the rows of a sparse tensor in memory, as sparse elements: element i has the values whose
 * first index is i. The dataset holds a copy, with the place of each value in its row. */
#include <headrace/data.h>
#include <inttypes.h>
#include <string.h>

typedef struct sparse_slices_spec {
    const hr_tensor *tensor; /* borrowed until spec_copy */
    hr_tensor values;        /* dense, of one dimension */
    hr_shape shape;          /* of the whole tensor */
    int64_t *place;          /* of each value, in its row */
    int64_t *first;          /* value of each row, and the end */
} sparse_slices_spec;

typedef struct sparse_slices_state {
    int64_t given; /* saved */
} sparse_slices_state;

/* ---- the dataset's own copy ---- */

static hr_status check_tensor(const hr_tensor *t, hr_error *err)
{
    char text[96];
    if (t && t->layout == HR_SPARSE && t->shape.rank >= 2 && hr_shape_count(t->shape) >= 0 && t->count >= 0 &&
        (t->count == 0 || (t->data && t->indices)))
        return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "from_sparse_tensor_slices.tensor",
                   "from_sparse_tensor_slices: expected a sparse tensor of at least 2 known dimensions, with indices "
                   "and values, got %s",
                   t ? hr_shape_text(t->shape, text, sizeof text) : "NULL");
}

/* Where value `i` lies in its row; its indices are in the shape, and do not lie before those of the value before. */
static hr_status place_value(const sparse_slices_spec *sp, const hr_tensor *t, int64_t i, hr_error *err)
{
    const int rank = t->shape.rank;
    const int64_t *index = t->indices + i * rank;
    int64_t place = 0;
    bool fits = index[0] >= 0 && index[0] < t->shape.dims[0];
    for (int d = 1; d < rank; d++) {
        fits &= index[d] >= 0 && index[d] < t->shape.dims[d];
        if (fits) place = place * t->shape.dims[d] + index[d];
    }
    const bool follows = i == 0 || index[0] > index[-rank] || (index[0] == index[-rank] && place > sp->place[i - 1]);
    if (!fits || !follows)
        return hr_fail(err, HR_INVALID_ARGUMENT, "from_sparse_tensor_slices.indices",
                       "from_sparse_tensor_slices: expected indices within the dense shape, each after the one before, "
                       "got others for value %" PRId64,
                       i);
    sp->place[i] = place;
    return HR_OK;
}

static hr_status copy_values(sparse_slices_spec *sp, const hr_tensor *t, hr_error *err)
{
    if (t->dtype == HR_STRING) return hr_tensor_strings(&sp->values, HR_SHAPE(t->count), t->data, err);
    HR_TRY(hr_tensor_new(&sp->values, t->dtype, HR_SHAPE(t->count), err));
    if (t->count > 0) memcpy(sp->values.data, t->data, (size_t)t->count * hr_dtype_size(t->dtype));
    return HR_OK;
}

static hr_status sparse_slices_copy(void *spec, hr_error *err)
{
    sparse_slices_spec *sp = spec;
    const hr_tensor *t = sp->tensor;
    sp->tensor = NULL;
    HR_TRY(check_tensor(t, err));
    sp->shape = t->shape;
    sp->place = hr_malloc(((size_t)t->count + 1) * sizeof *sp->place);
    sp->first =
        t->shape.dims[0] < INT64_MAX / 16 ? hr_malloc(((size_t)t->shape.dims[0] + 1) * sizeof *sp->first) : NULL;
    if (!sp->place || !sp->first) return hr_no_memory(err, "from_sparse_tensor_slices");
    for (int64_t i = 0; i < t->count; i++) HR_TRY(place_value(sp, t, i, err));
    for (int64_t row = 0, i = 0; row <= t->shape.dims[0]; row++) {
        while (i < t->count && t->indices[i * t->shape.rank] < row) i++;
        sp->first[row] = i;
    }
    return copy_values(sp, t, err);
}

static void sparse_slices_free(void *spec)
{
    sparse_slices_spec *sp = spec;
    hr_tensor_clear(&sp->values);
    hr_free(sp->place);
    hr_free(sp->first);
}

static hr_status sparse_slices_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out,
                                     hr_error *err)
{
    (void)in;
    const sparse_slices_spec *sp = spec;
    hr_field field = {.name = "value", .dtype = sp->values.dtype, .layout = HR_SPARSE};
    field.shape.rank = sp->shape.rank - 1;
    memcpy(field.shape.dims, sp->shape.dims + 1, (size_t)field.shape.rank * sizeof *field.shape.dims);
    return hr_schema_add(out, field, err);
}

/* ---- plan ---- */

static hr_status sparse_slices_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    static int64_t some_place; /* says that there are places: their array grows with the values */
    const sparse_slices_spec *sp = spec;
    sparse_slices_state *st = state;
    const int64_t left = sp->shape.dims[0] - st->given, count = left < hr_room(p) ? left : hr_room(p);
    if (left <= 0) return HR_END;
    hr_columns *rows = hr_unit_rows(p, count);
    if (!rows) return hr_no_memory(err, "from_sparse_tensor_slices");

    hr_column *to = rows->column;
    const int64_t from = sp->first[st->given], values = sp->first[st->given + count] - from;
    const size_t width = hr_dtype_size(sp->values.dtype);
    to->inner = &some_place;
    if (values > INT32_MAX) return hr_no_memory(err, "from_sparse_tensor_slices");
    HR_TRY(hr_grow_column(NULL, rows, 0, values + 1, err));
    for (int64_t r = 0; r <= count; r++) to->splits[0][r] = (int32_t)(sp->first[st->given + r] - from);
    if (values > 0) memcpy(to->values, (const char *)sp->values.data + (size_t)from * width, (size_t)values * width);
    if (values > 0) memcpy(to->inner, sp->place + from, (size_t)values * sizeof *to->inner);
    to->count = values;
    to->dense_width = sp->shape.dims[sp->shape.rank - 1];
    rows->origin = NULL;
    rows->rows = count;
    st->given += count;
    return HR_OK;
}

static hr_status sparse_slices_load(const void *spec, void *state, hr_token_reader *token, hr_error *err)
{
    (void)token;
    const int64_t rows = ((const sparse_slices_spec *)spec)->shape.dims[0];
    return hr_saved_between("from_sparse_tensor_slices", ((const sparse_slices_state *)state)->given, 0, rows, err);
}

static void sparse_slices_identity(const void *spec, uint64_t *sum)
{
    const sparse_slices_spec *sp = spec;
    const hr_view *view = sp->values.data;
    hr_identify(sum, sp->shape.dims, (size_t)sp->shape.rank * sizeof *sp->shape.dims);
    if (!sp->first) return;
    hr_identify(sum, sp->first, ((size_t)sp->shape.dims[0] + 1) * sizeof *sp->first);
    hr_identify(sum, sp->place, (size_t)sp->values.count * sizeof *sp->place);
    if (sp->values.dtype != HR_STRING)
        hr_identify(sum, sp->values.data, (size_t)sp->values.count * hr_dtype_size(sp->values.dtype));
    for (int64_t i = 0; sp->values.dtype == HR_STRING && i < sp->values.count; i++) {
        hr_identify_i64(sum, view[i].size);
        hr_identify(sum, view[i].data, (size_t)view[i].size);
    }
}

static int64_t sparse_slices_cardinality(const void *spec, const int64_t *in)
{
    (void)in;
    return ((const sparse_slices_spec *)spec)->shape.dims[0];
}

static void sparse_slices_describe(const void *spec, hr_description *to)
{
    hr_describe_number(to, "values", ((const sparse_slices_spec *)spec)->values.count);
}

static hr_status sparse_slices_at(const void *spec, void *state, int64_t index, const int64_t *have, int64_t *in)
{
    (void)have, (void)in;
    const int64_t count = ((const sparse_slices_spec *)spec)->shape.dims[0];
    ((sparse_slices_state *)state)->given = index < count ? index : count;
    return HR_OK;
}

const hr_op hr_op_from_sparse_tensor_slices = {
    .head = HR_OP_HEAD,
    .name = "from_sparse_tensor_slices",
    .spec_size = sizeof(sparse_slices_spec),
    .state_size = sizeof(sparse_slices_state),
    .saved = 1, /* given */
    .spec_copy = sparse_slices_copy,
    .spec_free = sparse_slices_free,
    .check = sparse_slices_check,
    .plan = sparse_slices_plan,
    .load = sparse_slices_load,
    .identity = sparse_slices_identity,
    .cardinality = sparse_slices_cardinality,
    .describe = sparse_slices_describe,
    .at = sparse_slices_at,
};

hr_dataset *hr_from_sparse_tensor_slices(const hr_tensor *tensor)
{
    return hr_dataset_new(&hr_op_from_sparse_tensor_slices, &(sparse_slices_spec){.tensor = tensor}, NULL, 0);
}
