/* What sequences have in common: lengths, on which columns must agree, and the dense form of steps. */
#include "feature_columns/columns_internal.h"

#include <string.h>

int64_t hr_column_reach(const hr_column_values *v, int64_t row)
{
    int64_t last = -1;
    for (int32_t i = v->splits[row]; i < v->splits[row + 1]; i++) {
        if (hr_column_place(v, row, i) <= last) return -1;
        last = hr_column_place(v, row, i);
    }
    return last + 1;
}

hr_status hr_sequence_lengths(const int32_t *const *steps, const char *const *name, int columns, int64_t rows,
                              int64_t *lengths, hr_error *err)
{
    for (int64_t r = 0; r < rows; r++) {
        lengths[r] = steps[0][r + 1] - steps[0][r];
        for (int c = 1; c < columns; c++) {
            const int64_t other = steps[c][r + 1] - steps[c][r];
            if (other == lengths[r]) continue;
            return hr_fail(
                err, HR_INVALID_ARGUMENT, "column.sequence_length",
                "sequences: expected columns of equal lengths, got %lld steps of '%.60s' and %lld of '%.60s' "
                "in row %lld of the batch",
                (long long)lengths[r], name[0], (long long)other, name[c], (long long)r);
        }
    }
    return HR_OK;
}

void hr_pad_sequence(const void *values, size_t size, const int32_t *steps, int64_t rows, int64_t max_steps,
                     const void *padding, void *out)
{
    char *to = out;
    for (int64_t r = 0; r < rows; r++) {
        const int64_t length = steps[r + 1] - steps[r];
        const size_t own = (size_t)length * size;
        if (own > 0) memcpy(to, (const char *)values + (size_t)steps[r] * size, own);
        to += own;
        for (int64_t s = length; s < max_steps; s++, to += size) memcpy(to, padding, size);
    }
}
