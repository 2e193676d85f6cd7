/* Rows of a sparse gradient that come twice become one, which is their sum: one pass through a small hash table of the
 * rows seen. Rows keep the order of their first occurrence and sums are taken in order, so that nothing depends on the
 * table. */
#include <headrace/optimizer.h>

#include <string.h>

typedef struct seen_rows {
    int32_t *place; /* of a row in `rows`, plus one; 0: free */
    int64_t *rows;
    uint32_t mask; /* of the table; 0: places are found by the row itself */
    int64_t count;
} seen_rows;

/* Where the row stands, or will. Whether it was there before is as good as random, so there is no branch on it: sums
 * begin as zeros. */
static inline int64_t duplicates_find(seen_rows *s, int64_t row)
{
    size_t at = (size_t)row;
    if (s->mask) {
        at = (uint32_t)(((uint64_t)row * 0x9e3779b97f4a7c15u) >> 32) & s->mask;
        while (s->place[at] && s->rows[s->place[at] - 1] != row) at = (at + 1) & s->mask;
    }
    const int32_t found = s->place[at];
    const int64_t place = found ? found - 1 : s->count;
    s->rows[place] = row;
    s->place[at] = (int32_t)place + 1;
    s->count += found == 0;
    return place;
}

/* Small tables of weights need no hashing. */
static hr_status seen_begin(seen_rows *s, hr_kernel *k, int64_t count, int64_t table_rows, hr_error *err)
{
    size_t slots = 16;
    while (slots < 4 * (uint64_t)count) slots *= 2;
    s->mask = (uint64_t)table_rows <= slots ? 0 : (uint32_t)(slots - 1);
    if (!s->mask) slots = (size_t)table_rows;
    s->place = hr_kernel_temp(k, slots * sizeof *s->place + 1);
    s->rows = hr_kernel_temp(k, (size_t)count * sizeof *s->rows + 1);
    if (!s->place || !s->rows) return hr_no_memory(err, "the rows of a sparse gradient");
    memset(s->place, 0, slots * sizeof *s->place);
    return HR_OK;
}

/* The values of the tables that will be needed are on their way meanwhile. */
static inline void duplicates_fetch(const hr_sparse_update *of, int64_t row)
{
    for (int i = 0; i < of->tables; i++)
        __builtin_prefetch((const char *)of->table[i] + (size_t)row * of->row_bytes, 1);
}

static void sum_scalars(seen_rows *s, const hr_sparse_update *of, const float *g, float *sums)
{
    for (int64_t i = 0; i < of->indices->count; i++) {
        const int64_t row = hr_int_at(of->indices, i);
        duplicates_fetch(of, row);
        sums[duplicates_find(s, row)] += g[i];
    }
}

#define SUM(T, S)                                                                                                      \
    static void sum_##S(seen_rows *s, const hr_sparse_update *of, const T *g, T *sums)                                 \
    {                                                                                                                  \
        const int64_t width = of->width;                                                                               \
        for (int64_t i = 0; i < of->indices->count; i++, g += width) {                                                 \
            const int64_t row = hr_int_at(of->indices, i);                                                             \
            T *sum = sums + duplicates_find(s, row) * width;                                                           \
            duplicates_fetch(of, row);                                                                                 \
            for (int64_t j = 0; j < width; j++) sum[j] += g[j];                                                        \
        }                                                                                                              \
    }
SUM(float, f32)
SUM(double, f64)

hr_status hr_sparse_sum_rows(hr_kernel *k, const hr_sparse_update *of, const int64_t **rows, const void **sums,
                             int64_t *count, hr_error *err)
{
    seen_rows seen = {0};
    const int64_t n = of->indices->count;
    if (n > INT32_MAX / 8)
        return hr_fail(err, HR_INVALID_ARGUMENT, "optimizer.rows",
                       "expected fewer than %d rows in a gradient, got %lld", INT32_MAX / 8, (long long)n);
    HR_TRY(seen_begin(&seen, k, n, of->rows, err));
    const size_t size = (size_t)(n * of->width) * hr_dtype_size(of->grad->dtype);
    void *to = hr_kernel_temp(k, size + 1);
    if (!to) return hr_no_memory(err, "the rows of a sparse gradient");
    memset(to, 0, size);
    if (of->grad->dtype == HR_DOUBLE)
        sum_f64(&seen, of, of->grad->data, to);
    else if (of->width == 1)
        sum_scalars(&seen, of, of->grad->data, to);
    else
        sum_f32(&seen, of, of->grad->data, to);
    *rows = seen.rows;
    *sums = to;
    *count = seen.count;
    return HR_OK;
}
