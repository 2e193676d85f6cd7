/* The arithmetic of embeddings. The order of the additions is that of TensorFlow's SparseSegment kernels, so that
 * float32 results are the same bits: up to 9 rows from the first to the last; of more, the odd ones first, then blocks
 * of 8, each summed by itself. */
#include "feature_columns/dense_rows.h"
#include "feature_columns/internal.h"

#include <math.h>
#include <string.h>

enum { STACK_FLOATS = 1024, AHEAD = 24 };

/* One row of ids, and memory for a clipped table row and for a block's sum. */
typedef struct segment {
    const hr_lookup *lookup;
    const int64_t *ids;
    const float *weights; /* NULL: none */
    int64_t next, end;
    float *clipped, *block;
} segment;

static bool weighs(const hr_lookup *lookup, const float *weights, int64_t i)
{
    return !weights || lookup->combiner == HR_SUM || weights[i] > 0;
}

static bool counts(const segment *s, int64_t i) { return s->ids[i] >= 0 && weighs(s->lookup, s->weights, i); }

static int64_t count_kept(const segment *s)
{
    int64_t kept = 0;
    for (int64_t i = s->next; i < s->end; i++) kept += counts(s, i);
    return kept;
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

/* The table row of the next id that counts, and that id's place. */
static const float *next_row(segment *s, int64_t *place)
{
    while (!counts(s, s->next)) s->next++;
    *place = s->next++;
    const float *row = s->lookup->table + s->ids[*place] * s->lookup->dimension;
    return s->lookup->max_norm > 0 ? clip(s->lookup, row, s->clipped) : row;
}

static void sum_rows(segment *s, int64_t count, float *restrict sum)
{
    const int64_t dimension = s->lookup->dimension;
    int64_t place;
    memcpy(sum, next_row(s, &place), (size_t)dimension * sizeof *sum);
    for (int64_t i = 1; i < count; i++) {
        const float *row = next_row(s, &place);
        for (int64_t d = 0; d < dimension; d++) sum[d] += row[d];
    }
}

static void divide(float *sum, int64_t dimension, float by)
{
    for (int64_t d = 0; d < dimension; d++) sum[d] /= by;
}

static int64_t first_block(int64_t count)
{
    if (count < 10) return count;
    int64_t odd = count % 8;
    return odd < 2 ? odd + 8 : odd;
}

static void combine_plain(segment *s, int64_t count, float *out)
{
    const int64_t dimension = s->lookup->dimension;
    int64_t done = first_block(count);
    sum_rows(s, done, out);
    for (; done < count; done += 8) {
        sum_rows(s, 8, s->block);
        for (int64_t d = 0; d < dimension; d++) out[d] += s->block[d];
    }
    if (count == 1 || s->lookup->combiner == HR_SUM) return;
    divide(out, dimension, s->lookup->combiner == HR_MEAN ? (float)count : sqrtf((float)count));
}

static void combine_weighted(segment *s, int64_t count, float *out)
{
    const int64_t dimension = s->lookup->dimension;
    float total = 0, squares = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t place;
        const float *row = next_row(s, &place), weight = s->weights[place];
        for (int64_t d = 0; d < dimension; d++) out[d] = i == 0 ? row[d] * weight : out[d] + row[d] * weight;
        total += weight;
        squares += weight * weight;
    }
    if (s->lookup->combiner == HR_MEAN) divide(out, dimension, total);
    if (s->lookup->combiner == HR_SQRTN) divide(out, dimension, sqrtf(squares));
}

/* Almost always all are in range: that is asked without looking at rows. An id without weight is not looked up, and may
 * lie outside. */
static hr_status check_ids(const hr_lookup *lookup, const int64_t *ids, const float *weights, const int32_t *splits,
                           int64_t rows, hr_error *err)
{
    int64_t largest = -1;
    for (int64_t i = rows > 0 ? splits[0] : 0; rows > 0 && i < splits[rows]; i++)
        largest = ids[i] > largest ? ids[i] : largest;
    for (int64_t r = 0; largest >= lookup->buckets && r < rows; r++)
        for (int64_t i = splits[r]; i < splits[r + 1]; i++)
            if (ids[i] >= lookup->buckets && weighs(lookup, weights, i))
                return hr_fail(err, HR_INVALID_ARGUMENT, "column.id_range",
                               "embedding lookup: expected ids below %lld, got %lld in row %lld of the batch",
                               (long long)lookup->buckets, (long long)ids[i], (long long)r);
    return HR_OK;
}

/* Large tables lie outside of the caches: the rows of ids further on are fetched meanwhile. */
static void prefetch_row(const hr_lookup *lookup, const int64_t *ids, int64_t at, int64_t end)
{
    if (at >= end || ids[at] < 0 || ids[at] >= lookup->buckets) return;
    const float *row = lookup->table + ids[at] * lookup->dimension;
    for (int64_t d = 0; d < lookup->dimension && d < 64; d += 16) __builtin_prefetch(row + d);
}

/* Most rows have one id, and its table row is the result. */
static bool copy_single(const segment *s, float *out)
{
    if (s->end - s->next != 1 || s->weights || s->lookup->max_norm > 0 || s->ids[s->next] < 0) return false;
    const float *row = s->lookup->table + s->ids[s->next] * s->lookup->dimension;
    for (int64_t d = 0; d < s->lookup->dimension; d++) out[d] = row[d];
    return true;
}

static void combine_row(segment *s, float *out)
{
    if (copy_single(s, out)) return;
    int64_t count = count_kept(s);
    if (count == 0)
        memset(out, 0, (size_t)s->lookup->dimension * sizeof *out);
    else if (s->weights)
        combine_weighted(s, count, out);
    else
        combine_plain(s, count, out);
}

/* Every row has one id that counts, and its table row is the result. */
static bool is_gather(const hr_lookup *lookup, const int64_t *ids, const float *weights, const int32_t *splits,
                      int64_t rows)
{
    return !weights && lookup->max_norm <= 0 && rows > 0 && hr__one_each(splits, rows) &&
           hr__ids_fit(ids + splits[0], rows, lookup->buckets);
}

hr_status hr_combine_rows(const hr_lookup *lookup, const int64_t *ids, const float *weights, const int32_t *splits,
                          int64_t rows, float *out, hr_error *err)
{
    const int64_t dimension = lookup->dimension, stride = lookup->stride ? lookup->stride : dimension;
    if (is_gather(lookup, ids, weights, splits, rows)) {
        hr__gather_rows(lookup->table, dimension, ids + splits[0], rows, out, stride);
        return HR_OK;
    }
    HR_TRY(check_ids(lookup, ids, weights, splits, rows, err));
    float stack[STACK_FLOATS], *memory = stack;
    if (dimension > STACK_FLOATS / 2) memory = hr_calloc((size_t)dimension, 2 * sizeof *memory);
    if (!memory) return hr_no_memory(err, "an embedding lookup");
    segment s = {lookup, ids, weights, 0, 0, memory, memory + dimension};
    for (int64_t r = 0; r < rows; r++, out += stride) {
        s.next = splits[r];
        s.end = splits[r + 1];
        prefetch_row(lookup, ids, s.next + AHEAD, splits[rows]);
        combine_row(&s, out);
    }
    if (memory != stack) hr_free(memory);
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
