/* Leaves the missing values out of a batch, and gives it the ragged form that categorical columns work on. */
#include "feature_columns/columns_internal.h"

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

/* A bit for each value of a dense feature: it is there. TensorFlow's missing values are "", -1 and 0. */
static bool is_present(const hr_column_values *in, int64_t i)
{
    if (in->dtype == HR_STRING) return ((const hr_view *)in->values)[i].size > 0;
    if (in->dtype == HR_FLOAT) return ((const float *)in->values)[i] != 0;
    if (in->dtype == HR_DOUBLE) return ((const double *)in->values)[i] != 0;
    return hr_column_integer_at(in, i) != -1;
}

static int64_t present_values_first_of_row(const hr_column_values *in, int64_t row)
{
    return in->splits ? in->splits[row] : row * in->width;
}

static int64_t keep_present(const hr_column_values *in, char *values, size_t size, int64_t *inner, int32_t *splits)
{
    int64_t kept = 0;
    for (int64_t r = 0; r < in->rows; r++) {
        const int64_t first = present_values_first_of_row(in, r), end = present_values_first_of_row(in, r + 1);
        for (int64_t at = first; at < end; at++) {
            if (!is_present(in, at)) continue;
            memcpy(values + (size_t)kept * size, (const char *)in->values + (size_t)at * size, size);
            inner[kept++] = at - first;
        }
        splits[r + 1] = (int32_t)kept;
    }
    return kept;
}

/* Where each step ends among the values that are left. */
static int32_t *steps_left(hr_column_work *w, const hr_column_values *in, const hr_column_values *left)
{
    int32_t *step_splits = hr_column_scratch(w, ((size_t)in->steps[in->rows] + 1) * sizeof *step_splits);
    if (!step_splits) return NULL;
    step_splits[0] = 0;
    for (int64_t r = 0; r < in->rows; r++) {
        int32_t at = left->splits[r];
        for (int32_t s = in->steps[r]; s < in->steps[r + 1]; s++) {
            const int64_t end = in->step_splits[s + 1] - in->splits[r];
            while (at < left->splits[r + 1] && left->inner[at] < end) at++;
            step_splits[s + 1] = at;
        }
    }
    return step_splits;
}

static hr_status present_values_copy_splits(hr_column_work *w, const hr_column_values *in, hr_column_values *out,
                                            hr_error *err)
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
    if (in->splits && !in->dense_sequence) return present_values_copy_splits(w, in, out, err);
    const size_t size = hr_dtype_size(in->dtype);
    const int64_t count = in->splits ? in->count : in->rows * in->width;
    int32_t *splits = hr_column_splits(w);
    char *values = hr_column_scratch(w, (size_t)count * size);
    int64_t *inner = hr_column_scratch(w, (size_t)count * sizeof *inner);
    if (!splits || !values || !inner) return hr_no_memory(err, "a categorical column");
    *out = *in;
    out->count = keep_present(in, values, size, inner, splits);
    out->values = values;
    out->splits = splits;
    out->inner = inner;
    if (in->steps && !(out->step_splits = steps_left(w, in, out))) return hr_no_memory(err, "a categorical column");
    if (out->count == count) out->inner = NULL;
    out->dense_width = in->splits ? 0 : in->width;
    out->width = 0;
    out->dense_sequence = false;
    return HR_OK;
}
