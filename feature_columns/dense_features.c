/* An input layer without a graph: the dense forms of a batch's columns, side by side in one matrix. Each form is
 * written directly into its part of the matrix. */
#include "feature_columns/columns_internal.h"

#include <string.h>

/* A part of the matrix: where its first row begins, and the floats from there to the next one. */
typedef struct part {
    float *out;
    int64_t rows, stride;
} part;

int64_t hr_dense_width(const hr_feature_column *const *sorted, int count)
{
    int64_t width = 0;
    for (int i = 0; i < count; i++) width += hr_feature_column_info(sorted[i])->width;
    return width;
}

static hr_status wrong_batch(const char *component, const char *expected, const hr_tensor *t, hr_error *err)
{
    char shape[128];
    return hr_fail(err, HR_INVALID_ARGUMENT, "column.batch",
                   "dense_features: expected a component \"%.60s\" with %s, got %s%s; give it a batch that "
                   "hr_transform_features made for these columns",
                   component, expected, t ? "one of shape " : "none",
                   t ? hr_shape_text(t->shape, shape, sizeof shape) : "");
}

/* The ids of a column, or their weights: one list a row. */
static hr_status find_lists(const hr_element *batch, const char *component, const hr_tensor **out, hr_error *err)
{
    *out = hr_get(batch, component);
    const bool fits = *out && (*out)->layout == HR_RAGGED && (*out)->ragged_rank == 1 && (*out)->shape.rank == 2;
    return fits ? HR_OK : wrong_batch(component, "a list a row", *out, err);
}

static hr_status dense_features_copy_values(const hr_column_info *info, const hr_element *batch, part to, hr_error *err)
{
    const hr_tensor *t = hr_get(batch, info->component);
    if (!t || t->layout != HR_DENSE || t->dtype != HR_FLOAT || t->count != to.rows * info->width)
        return wrong_batch(info->component, "as many numbers a row as the column has", t, err);
    const float *from = t->data;
    for (int64_t r = 0; r < to.rows; r++, from += info->width)
        memcpy(to.out + r * to.stride, from, (size_t)info->width * sizeof *from);
    return HR_OK;
}

static hr_status fill_from_ids(const hr_column_info *info, const hr_element *batch, const float *table, part to,
                               hr_error *err)
{
    const hr_tensor *ids, *weights = NULL;
    HR_TRY(find_lists(batch, info->component, &ids, err));
    if (info->weights) HR_TRY(find_lists(batch, info->weights, &weights, err));
    const float *weight = weights ? weights->data : NULL;
    if (info->dense == HR_COLUMN_COUNTS) {
        hr_count_ids(ids->data, weight, ids->splits[0], to.rows, info->num_buckets, to.out, to.stride);
        return HR_OK;
    }
    if (!table)
        return hr_fail(err, HR_INVALID_ARGUMENT, "column.table", "dense_features: expected a table for the %s '%s'",
                       info->kind, info->name);
    const hr_lookup lookup = {
        table, info->num_buckets, info->table.dimension, info->table.combiner, info->table.max_norm, to.stride};
    return hr_combine_rows(&lookup, ids->data, weight, ids->splits[0], to.rows, to.out, err);
}

hr_status hr_dense_features(const hr_feature_column *const *sorted, int count, const hr_element *batch,
                            const float *const *tables, float *out, hr_error *err)
{
    part to = {.out = out, .stride = hr_dense_width(sorted, count)};
    for (int i = 0; i < count; i++) {
        const hr_column_info *info = hr_feature_column_info(sorted[i]);
        const hr_tensor *first = hr_get(batch, info->component);
        if (!first || first->shape.rank < 2) return wrong_batch(info->component, "rows", first, err);
        to.rows = first->shape.dims[0];
        HR_TRY(info->dense == HR_COLUMN_VALUES ? dense_features_copy_values(info, batch, to, err)
                                               : fill_from_ids(info, batch, tables ? tables[i] : NULL, to, err));
        to.out += info->width;
    }
    return HR_OK;
}
