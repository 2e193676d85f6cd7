/* Rows of a sparse gradient that come twice become one, which is their sum: one pass through a small hash table of the
 * rows seen. Rows keep the order of their first occurrence and sums are taken in order, so that nothing depends on the
 * table. */
#include "train/optimizers/rules.h"

#include <string.h>

typedef struct seen_rows {
    int32_t *place; /* of a row in `rows`, plus one; 0: free */
    int64_t *rows;
    uint32_t mask;
    int64_t count;
} seen_rows;

static inline int64_t index_at(const hr_tensor *indices, int64_t i)
{
    return indices->dtype == HR_INT32 ? ((const int32_t *)indices->data)[i] : ((const int64_t *)indices->data)[i];
}

/* Where the row stands; *fresh: it was not there before. */
static inline int64_t find(seen_rows *s, int64_t row, bool *fresh)
{
    uint32_t at = (uint32_t)(((uint64_t)row * 0x9e3779b97f4a7c15u) >> 32) & s->mask;
    while (s->place[at] && s->rows[s->place[at] - 1] != row) at = (at + 1) & s->mask;
    *fresh = s->place[at] == 0;
    if (*fresh) {
        s->rows[s->count++] = row;
        s->place[at] = (int32_t)s->count;
    }
    return s->place[at] - 1;
}

static hr_status seen_begin(seen_rows *s, hr_kernel *k, int64_t count, hr_error *err)
{
    uint32_t slots = 16;
    while (slots < 2 * (uint64_t)count) slots *= 2;
    s->mask = slots - 1;
    s->place = hr_kernel_temp(k, slots * sizeof *s->place);
    s->rows = hr_kernel_temp(k, (size_t)count * sizeof *s->rows + 1);
    if (!s->place || !s->rows) return hr_no_memory(err, "the rows of a sparse gradient");
    memset(s->place, 0, slots * sizeof *s->place);
    return HR_OK;
}

static void sum_f32(seen_rows *s, const hr_tensor *indices, const float *g, int64_t width, float *sums)
{
    for (int64_t i = 0; i < indices->count; i++, g += width) {
        bool fresh;
        float *sum = sums + find(s, index_at(indices, i), &fresh) * width;
        if (fresh)
            for (int64_t j = 0; j < width; j++) sum[j] = g[j];
        else
            for (int64_t j = 0; j < width; j++) sum[j] += g[j];
    }
}

static void sum_f64(seen_rows *s, const hr_tensor *indices, const double *g, int64_t width, double *sums)
{
    for (int64_t i = 0; i < indices->count; i++, g += width) {
        bool fresh;
        double *sum = sums + find(s, index_at(indices, i), &fresh) * width;
        for (int64_t j = 0; j < width; j++) sum[j] = fresh ? g[j] : sum[j] + g[j];
    }
}

hr_status hr__sum_rows(hr_kernel *k, const hr_tensor *indices, const hr_tensor *grad, int64_t width,
                       const int64_t **rows, const void **sums, int64_t *count, hr_error *err)
{
    seen_rows seen = {0};
    if (indices->count > INT32_MAX / 4)
        return hr_fail(err, HR_INVALID_ARGUMENT, "optimizer.rows",
                       "expected fewer than %d rows in a gradient, got %lld", INT32_MAX / 4, (long long)indices->count);
    HR_TRY(seen_begin(&seen, k, indices->count, err));
    void *to = hr_kernel_temp(k, (size_t)(indices->count * width) * hr_dtype_size(grad->dtype) + 1);
    if (!to) return hr_no_memory(err, "the rows of a sparse gradient");
    if (grad->dtype == HR_DOUBLE)
        sum_f64(&seen, indices, grad->data, width, to);
    else
        sum_f32(&seen, indices, grad->data, width, to);
    *rows = seen.rows;
    *sums = to;
    *count = seen.count;
    return HR_OK;
}
