/* Batches as columns see them: fields of parsed rows brought into one form, missing values left out. */
#include "feature_columns/internal.h"

#include <string.h>

int64_t hr_column_row_of(const hr_column_values *values, int64_t i)
{
    if (!values->splits) return values->width > 0 ? i / values->width : 0;
    int64_t low = 0, high = values->rows;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (values->splits[middle] <= i)
            low = middle;
        else
            high = middle;
    }
    return low;
}

hr_status hr__raw_field(const hr_field *field, hr_column_values *out, hr_error *err)
{
    *out = (hr_column_values){.dtype = field->dtype, .rank = field->shape.rank};
    if (field->layout != HR_DENSE) {
        static const int32_t none[1] = {0};
        out->splits = none; /* says that it is ragged; the batch's own come with the data */
        return HR_OK;
    }
    out->width = hr_shape_count(field->shape);
    out->dense_steps = field->shape.rank > 1 ? field->shape.dims[0] : 0;
    if (out->width >= 0) return HR_OK;
    char text[128];
    return hr_fail(err, HR_INVALID_ARGUMENT, "column.layout", "feature '%s': expected a known shape of one row, got %s",
                   field->name, hr_shape_text(field->shape, text, sizeof text));
}

/* A bit for each value of a dense feature: it is there. TensorFlow's missing values are "", -1 and 0. */
static bool is_present(const hr_column_values *in, int64_t i)
{
    if (in->dtype == HR_STRING) return ((const hr_view *)in->values)[i].size > 0;
    if (in->dtype == HR_FLOAT) return ((const float *)in->values)[i] != 0;
    if (in->dtype == HR_DOUBLE) return ((const double *)in->values)[i] != 0;
    return hr__integer_at(in, i) != -1;
}

static int64_t keep_present(const hr_column_values *in, char *values, size_t size, int64_t *inner, int32_t *splits)
{
    int64_t kept = 0;
    for (int64_t r = 0; r < in->rows; r++) {
        for (int64_t i = 0; i < in->width; i++) {
            int64_t at = r * in->width + i;
            if (!is_present(in, at)) continue;
            memcpy(values + (size_t)kept * size, (const char *)in->values + (size_t)at * size, size);
            inner[kept++] = i;
        }
        splits[r + 1] = (int32_t)kept;
    }
    return kept;
}

static hr_status copy_splits(hr_column_work *w, const hr_column_values *in, hr_column_values *out, hr_error *err)
{
    int32_t *splits = hr_column_splits(w);
    if (!splits) return hr_no_memory(err, "a categorical column");
    memcpy(splits, in->splits, ((size_t)in->rows + 1) * sizeof *splits);
    *out = *in;
    out->splits = splits;
    return HR_OK;
}

hr_status hr_column_present(hr_column_work *w, const hr_column_values *in, hr_column_values *out, hr_error *err)
{
    if (in->splits) return copy_splits(w, in, out, err);
    const size_t size = hr_dtype_size(in->dtype);
    const int64_t count = in->rows * in->width;
    int32_t *splits = hr_column_splits(w);
    char *values = hr_column_scratch(w, (size_t)count * size);
    int64_t *inner = hr_column_scratch(w, (size_t)count * sizeof *inner);
    if (!splits || !values || !inner) return hr_no_memory(err, "a categorical column");
    *out = *in;
    out->count = keep_present(in, values, size, inner, splits);
    out->values = values;
    out->splits = splits;
    out->inner = out->count == count ? NULL : inner;
    out->dense_width = in->width;
    out->width = 0;
    return HR_OK;
}
