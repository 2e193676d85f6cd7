/* Fields of parsed rows as columns see them. A dense sequence feature, whose first dimension varies, is a list of the
 * row's own steps: columns never see the padding of a batch. */
#include "feature_columns/columns_internal.h"

static bool is_dense_sequence(const hr_field *field)
{
    return field->layout == HR_DENSE && field->shape.rank > 0 && field->shape.dims[0] < 0;
}

/* Values of one step; -1: not known. */
static int64_t step_width(const hr_field *field)
{
    int64_t width = 1;
    for (int i = 1; i < field->shape.rank && width >= 0; i++)
        width = field->shape.dims[i] < 0 ? -1 : width * field->shape.dims[i];
    return width;
}

hr_status hr__raw_field(const hr_field *field, hr_column_values *out, hr_error *err)
{
    static const int32_t none[1] = {0}; /* says that it is ragged; the batch's own come with the data */
    *out = (hr_column_values){.dtype = field->dtype, .rank = field->shape.rank};
    out->dense_sequence = is_dense_sequence(field);
    if (field->layout != HR_DENSE || out->dense_sequence) out->splits = none;
    if (field->layout != HR_DENSE) return HR_OK;
    out->width = out->dense_sequence ? step_width(field) : hr_shape_count(field->shape);
    if (out->dense_sequence && out->rank > 1) out->steps = none;
    out->dense_steps = field->shape.rank > 1 && !out->dense_sequence ? field->shape.dims[0] : 0;
    if (out->width >= 0) return HR_OK;
    char text[128];
    return hr_fail(err, HR_INVALID_ARGUMENT, "column.layout",
                   "feature '%s': expected a shape of one row that is known but for its first dimension, got %s",
                   field->name, hr_shape_text(field->shape, text, sizeof text));
}

/* Values of a feature list: its splits of rows into values, on top of those of its steps. */
static hr_status view_list(hr_work *w, hr_columns *rows, const hr_column *column, hr_column_values *out, hr_error *err)
{
    int32_t *splits = hr_row_bytes(w, rows, ((size_t)out->rows + 1) * sizeof *splits);
    if (!splits) return hr_no_memory(err, "transform_features");
    out->steps = column->splits[0];
    out->step_splits = column->splits[1];
    for (int64_t r = 0; r <= out->rows; r++) splits[r] = out->step_splits[out->steps[r]];
    out->splits = splits;
    out->count = splits[out->rows];
    return HR_OK;
}

/* Steps of `width` values each, where a step is more than a number. */
static hr_status view_steps(hr_work *w, hr_columns *rows, hr_column_values *out, hr_error *err)
{
    const int64_t count = out->width > 0 ? out->count / out->width : 0;
    int32_t *steps = hr_row_bytes(w, rows, ((size_t)out->rows + 1) * sizeof *steps);
    int32_t *step_splits = hr_row_bytes(w, rows, ((size_t)count + 1) * sizeof *step_splits);
    if (!steps || !step_splits) return hr_no_memory(err, "transform_features");
    for (int64_t r = 0; r <= out->rows; r++) steps[r] = count > 0 ? (int32_t)(out->splits[r] / out->width) : 0;
    for (int64_t s = 0; s <= count; s++) step_splits[s] = (int32_t)(s * out->width);
    out->steps = steps;
    out->step_splits = step_splits;
    return HR_OK;
}

static void view_dense(const hr_field *field, hr_column_values *out)
{
    out->width = hr_shape_count(field->shape);
    out->count = out->width * out->rows;
    out->dense_steps = field->shape.rank > 1 ? field->shape.dims[0] : 0;
}

hr_status hr__raw_values(hr_work *w, hr_columns *rows, const hr_columns *before, int field, hr_column_values *out,
                         hr_error *err)
{
    const hr_field *what = &before->schema->field[field];
    const hr_column *column = &before->column[field];
    *out = (hr_column_values){
        .dtype = what->dtype, .rows = before->rows, .values = column->values, .rank = what->shape.rank};
    out->dense_sequence = is_dense_sequence(what);
    if (what->layout == HR_DENSE && !out->dense_sequence) {
        view_dense(what, out);
        return HR_OK;
    }
    if (column->splits[1]) return view_list(w, rows, column, out, err);
    out->splits = column->splits[0];
    out->count = column->splits[0] ? column->splits[0][before->rows] : 0; /* none where memory ran out below */
    out->inner = column->inner;
    out->dense_width = column->dense_width;
    if (!out->dense_sequence) return HR_OK;
    out->width = step_width(what);
    return out->rank > 1 && out->splits ? view_steps(w, rows, out, err) : HR_OK;
}
