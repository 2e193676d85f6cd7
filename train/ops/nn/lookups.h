/* Rows of ids that are looked up in a table: what the ops of embeddings share. Not a public header. */
#ifndef HR_LOOKUPS_H
#define HR_LOOKUPS_H

#include <headrace/kernels.h>
#include <math.h>

typedef struct lookup {
    hr_lookup table;
    const int64_t *ids;
    const int32_t *splits;
    const float *weights; /* NULL: 1 each */
} lookup;

static inline bool lookup_counts(const lookup *l, int32_t i)
{
    return l->ids[i] >= 0 && (!l->weights || l->table.combiner == HR_SUM || l->weights[i] > 0);
}

/* What the sum of a row was divided by. */
static inline float lookup_divisor(const lookup *l, int32_t first, int32_t last, int32_t count)
{
    const hr_combiner combiner = l->table.combiner;
    if (combiner == HR_SUM) return 1;
    if (!l->weights) return combiner == HR_MEAN ? (float)count : sqrtf((float)count);
    float sum = 0;
    for (int32_t i = first; i < last; i++)
        if (lookup_counts(l, i)) sum += combiner == HR_MEAN ? l->weights[i] : l->weights[i] * l->weights[i];
    return combiner == HR_MEAN ? sum : sqrtf(sum);
}

static inline hr_status lookup_refuse(const lookup *l, int64_t id, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index", "expected ids below %lld, got %lld",
                   (long long)l->table.buckets, (long long)id);
}

/* The place of each id among the distinct ones; -1: it does not count. TensorFlow looks up row 0 for a row without ids
 * and then discards it: the optimizer sees row 0 with a gradient of zeros, at which Ftrl, for one, still moves it. */
static inline hr_status lookup_find_places(const lookup *l, int64_t rows, hr_distinct_rows *found, int32_t *place,
                                           hr_error *err)
{
    for (int64_t r = 0; r < rows; r++) {
        bool empty = true;
        for (int32_t i = l->splits[r]; i < l->splits[r + 1]; i++) {
            place[i] = -1;
            if (!lookup_counts(l, i)) continue;
            if (l->ids[i] >= l->table.buckets) return lookup_refuse(l, l->ids[i], err);
            place[i] = (int32_t)hr_distinct_rows_find(found, l->ids[i]);
            empty = false;
        }
        if (empty && l->table.buckets > 0) hr_distinct_rows_find(found, 0);
    }
    return HR_OK;
}

/* Each id is a row of its own and counts, with nothing to weigh. `nnz`: ids. */
static inline bool lookup_is_one_a_row(const lookup *l, int64_t nnz, int64_t rows)
{
    if (nnz != rows || l->weights) return false;
    int64_t min = 0, odd = 0;
    for (int64_t i = 0; i < nnz; i++) {
        min |= l->ids[i];
        odd |= l->splits[i] ^ i;
    }
    return min >= 0 && odd == 0;
}

/* Adds row r's share, by its gradient, of each table row that went into it. */
static inline void lookup_spread_row(const lookup *l, int64_t r, const float *grad, const int32_t *place, float *values)
{
    const int32_t first = l->splits[r], last = l->splits[r + 1];
    const int64_t dim = l->table.dimension;
    int32_t n = 0;
    for (int32_t i = first; i < last; i++) n += place[i] >= 0;
    const float by = lookup_divisor(l, first, last, n);
    for (int32_t i = first; i < last; i++) {
        if (place[i] < 0) continue;
        const float scale = by == 0 ? 0 : (l->weights ? l->weights[i] : 1) / by;
        float *to = values + place[i] * dim;
        for (int64_t j = 0; j < dim; j++) to[j] += grad[r * dim + j] * scale;
    }
}

/* The same, if each row has one id. */
static inline void lookup_sum_rows(int64_t rows, int64_t dim, const float *grad, const int32_t *place, float *sums)
{
    if (dim == 1) {
        for (int64_t r = 0; r < rows; r++) sums[place[r]] += grad[r];
        return;
    }
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < dim; j++) sums[place[r] * dim + j] += grad[r * dim + j];
}

#endif
