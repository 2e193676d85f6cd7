/* The arithmetic of embeddings. The order of the additions is that of TensorFlow, so that float32 results are the same
 * bits (sum_rows.h). */
#include "feature_columns/kernels/dense_rows.h"
#include "feature_columns/columns_internal.h"
#include "feature_columns/kernels/sum_rows.h"

#include <math.h>
#include <string.h>

enum { STACK_VALUES = 64, STACK_FLOATS = 1024, AHEAD = 48, MAX_FETCHED = 64 /* floats of a table row */ };

/* What of a row of ids counts: their table rows, clipped if they must be, and weights. Memory for the longest row. */
typedef struct bag {
    const hr_lookup *lookup;
    hr__sum_rows_fn *sum;
    const float **row;
    float *weights, *clipped; /* NULL: none */
    int64_t count;
    const float *stack_row[STACK_VALUES];
    float stack_weights[STACK_VALUES], stack_clipped[STACK_FLOATS];
    void *memory;
} bag;

static bool weighs(const hr_lookup *lookup, const float *weights, int64_t i)
{
    return !weights || lookup->combiner == HR_SUM || weights[i] > 0;
}

/* Of an id that is none, the first one: it is not read. */
static const float *table_row(const hr_lookup *lookup, int64_t id)
{
    return lookup->table + ((uint64_t)id < (uint64_t)lookup->buckets ? id : 0) * lookup->dimension;
}

static hr_status open_bag(bag *b, const hr_lookup *lookup, const float *weights, const int32_t *splits, int64_t rows,
                          hr_error *err)
{
    int64_t longest = 0;
    for (int64_t r = 0; r < rows; r++)
        longest = splits[r + 1] - splits[r] > longest ? splits[r + 1] - splits[r] : longest;
    const int64_t clipped = lookup->max_norm > 0 ? longest * lookup->dimension : 0;
    b->lookup = lookup;
    b->sum = hr__sum_rows_choose();
    b->row = b->stack_row;
    b->weights = weights ? b->stack_weights : NULL;
    b->clipped = b->stack_clipped;
    b->memory = NULL;
    if (longest <= STACK_VALUES && clipped <= STACK_FLOATS) return HR_OK;
    b->memory =
        hr_malloc((size_t)longest * (sizeof *b->row + sizeof *b->weights) + (size_t)clipped * sizeof *b->clipped);
    if (!b->memory) return hr_no_memory(err, "an embedding lookup");
    b->row = b->memory;
    b->clipped = (float *)(b->row + longest);
    if (weights) b->weights = b->clipped + clipped;
    return HR_OK;
}

/* Times max_norm, by the larger of norm and max_norm: what clip_by_norm computes. */
static const float *clip(const hr_lookup *lookup, const float *row, float *clipped)
{
    float square = 0;
    for (int64_t d = 0; d < lookup->dimension; d++) square += row[d] * row[d];
    float norm = sqrtf(square), by = norm > lookup->max_norm ? norm : lookup->max_norm;
    for (int64_t d = 0; d < lookup->dimension; d++) clipped[d] = row[d] * lookup->max_norm / by;
    return clipped;
}

/* Large tables lie outside of the caches: the rows of ids further on are fetched meanwhile. Inline for certain: a call
 * that only prefetches counts as one without effect, and gcc drops it. */
static inline __attribute__((always_inline)) void lookup_fetch(const hr_lookup *lookup, const int64_t *ids,
                                                               int64_t from, int64_t to, int64_t end)
{
    if (to > end) to = end;
    for (int64_t i = from; i < to; i++) {
        const float *row = table_row(lookup, ids[i]);
        for (int64_t d = 0; d < lookup->dimension && d < MAX_FETCHED; d += 16) __builtin_prefetch(row + d);
    }
}

/* Without a branch: which ids count is not to be foreseen. */
static void lookup_collect(bag *b, const int64_t *ids, const float *weights, int64_t first, int64_t end)
{
    const hr_lookup *l = b->lookup;
    b->count = 0;
    for (int64_t i = first; i < end; i++) {
        b->row[b->count] = table_row(l, ids[i]);
        if (weights) b->weights[b->count] = weights[i];
        b->count += ids[i] >= 0 && weighs(l, weights, i);
    }
    for (int64_t i = 0; i < b->count && l->max_norm > 0; i++)
        b->row[i] = clip(l, b->row[i], b->clipped + i * l->dimension);
}

/* What the sum is divided by; 1: the sum is the result. */
static float lookup_divisor(const bag *b)
{
    const hr_combiner combiner = b->lookup->combiner;
    if (combiner == HR_SUM) return 1;
    if (!b->weights) return combiner == HR_MEAN ? (float)b->count : sqrtf((float)b->count);
    float sum = 0;
    for (int64_t i = 0; i < b->count; i++) sum += combiner == HR_MEAN ? b->weights[i] : b->weights[i] * b->weights[i];
    return combiner == HR_MEAN ? sum : sqrtf(sum);
}

static void combine(const bag *b, float *out)
{
    const int64_t dimension = b->lookup->dimension;
    if (b->count == 0) {
        memset(out, 0, (size_t)dimension * sizeof *out);
        return;
    }
    b->sum(b->row, b->weights, b->count, dimension, out);
    const float by = lookup_divisor(b);
    /* As div_no_nan: the squares of tiny weights sum to 0. */
    for (int64_t d = 0; d < dimension && by != 1; d++) out[d] = by == 0 ? 0 : out[d] / by;
}

/* Almost always all are in range: that is asked without looking at rows. An id without weight is not looked up, and may
 * lie outside. */
static hr_status check_ids(const hr_lookup *lookup, const int64_t *ids, const float *weights, const int32_t *splits,
                           int64_t rows, hr_error *err)
{
    int64_t beyond = 0;
    for (int64_t i = splits[0]; i < splits[rows]; i++)
        beyond |= (int64_t)((uint64_t)lookup->buckets - 1 - (uint64_t)ids[i]) & ~ids[i];
    for (int64_t r = 0; beyond < 0 && r < rows; r++)
        for (int64_t i = splits[r]; i < splits[r + 1]; i++)
            if (ids[i] >= lookup->buckets && weighs(lookup, weights, i))
                return hr_fail(err, HR_INVALID_ARGUMENT, "column.id_range",
                               "embedding lookup: expected ids below %lld, got %lld in row %lld of the batch",
                               (long long)lookup->buckets, (long long)ids[i], (long long)r);
    return HR_OK;
}

/* Every row has one id that counts, and its table row is the result. */
static bool is_gather(const hr_lookup *lookup, const int64_t *ids, const float *weights, const int32_t *splits,
                      int64_t rows)
{
    return !weights && lookup->max_norm <= 0 && hr__one_each(splits, rows) &&
           hr__ids_fit(ids + splits[0], rows, lookup->buckets);
}

hr_status hr_combine_rows(const hr_lookup *lookup, const int64_t *ids, const float *weights, const int32_t *splits,
                          int64_t rows, float *out, hr_error *err)
{
    const int64_t dimension = lookup->dimension, stride = lookup->stride ? lookup->stride : dimension;
    if (rows < 1) return HR_OK;
    if (is_gather(lookup, ids, weights, splits, rows)) {
        hr__gather_rows(lookup->table, dimension, ids + splits[0], rows, out, stride);
        return HR_OK;
    }
    HR_TRY(check_ids(lookup, ids, weights, splits, rows, err));
    bag b;
    HR_TRY(open_bag(&b, lookup, weights, splits, rows, err));
    lookup_fetch(lookup, ids, splits[0], (int64_t)splits[0] + AHEAD, splits[rows]);
    for (int64_t r = 0; r < rows; r++, out += stride) {
        lookup_fetch(lookup, ids, (int64_t)splits[r] + AHEAD, (int64_t)splits[r + 1] + AHEAD, splits[rows]);
        lookup_collect(&b, ids, weights, splits[r], splits[r + 1]);
        combine(&b, out);
    }
    hr_free(b.memory);
    return HR_OK;
}

void hr_count_ids(const int64_t *ids, const float *weights, const int32_t *splits, int64_t rows, int64_t buckets,
                  float *out, int64_t stride)
{
    if (!weights && hr__one_each(splits, rows)) {
        hr__one_hot_rows(ids + splits[0], rows, buckets, out, stride);
        return;
    }
    for (int64_t r = 0; r < rows; r++) {
        float *row = out + r * stride;
        memset(row, 0, (size_t)buckets * sizeof *row);
        for (int64_t i = splits[r]; i < splits[r + 1]; i++)
            if (ids[i] >= 0 && ids[i] < buckets) row[ids[i]] += weights ? weights[i] : 1;
    }
}
