/* Rows of a sparse gradient that come twice become one, which is their sum: one pass through a small hash table of the
 * rows seen. Rows keep the order of their first occurrence and sums are taken in order, so that nothing depends on the
 * table. */
#include "train/optimizers/optimizers_internal.h"

#include <string.h>

/* The values of the tables that will be needed are on their way meanwhile. */
static inline void duplicates_fetch(const hr_sparse_update *of, int64_t row)
{
    for (int i = 0; i < of->tables; i++)
        __builtin_prefetch((const char *)of->table[i] + (size_t)row * of->row_bytes, 1);
}

static void sum_scalars(hr_distinct_rows *s, const hr_sparse_update *of, const float *g, float *sums)
{
    for (int64_t i = 0; i < of->indices->count; i++) {
        const int64_t row = hr_int_at(of->indices, i);
        duplicates_fetch(of, row);
        sums[hr_distinct_rows_find(s, row)] += g[i];
    }
}

#define SUM(T, S)                                                                                                      \
    static void sum_##S(hr_distinct_rows *s, const hr_sparse_update *of, const T *g, T *sums)                          \
    {                                                                                                                  \
        const int64_t width = of->width;                                                                               \
        for (int64_t i = 0; i < of->indices->count; i++, g += width) {                                                 \
            const int64_t row = hr_int_at(of->indices, i);                                                             \
            T *sum = sums + hr_distinct_rows_find(s, row) * width;                                                     \
            duplicates_fetch(of, row);                                                                                 \
            for (int64_t j = 0; j < width; j++) sum[j] += g[j];                                                        \
        }                                                                                                              \
    }
SUM(float, f32)
SUM(double, f64)

bool hr__rows_are_distinct(hr_node indices)
{
    static const char *const ops[] = {"Headrace>EmbeddingLookupSparseGrad", "Headrace>LookupMatMulGrad",
                                      "Headrace>LookupSumGrad"};
    const char *op = hr_node_op(indices);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (strcmp(op, ops[i]) == 0) return true;
    return false;
}

/* The op gives each row once. Indices that are fed in its place come from another one. */
static bool rows_are_distinct(const hr_kernel *k, const hr_sparse_update *of)
{
    int i = 0;
    while (i < k->inputs && k->input[i] != of->indices) i++;
    if (i == k->inputs) return false;
    return hr__rows_are_distinct(hr_node_input(k->node, i));
}

hr_status hr_sparse_sum_rows(hr_kernel *k, const hr_sparse_update *of, const int64_t **rows, const void **sums,
                             int64_t *count, hr_error *err)
{
    hr_distinct_rows seen = {0};
    const int64_t n = of->indices->count;
    if (rows_are_distinct(k, of)) {
        *rows = of->indices->data;
        *sums = of->grad->data;
        *count = n;
        for (int64_t i = 0; i < n; i++) duplicates_fetch(of, (*rows)[i]);
        return HR_OK;
    }
    HR_TRY(hr_distinct_rows_begin(k, n, of->rows, &seen, err));
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
