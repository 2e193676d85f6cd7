/* One pass over the ids and one over the floats that are written: no row is zeroed first, and a mask cuts the last
 * vector of a row. Large tables do not fit in the cache, so the rows of later ids are prefetched. */
#include "feature_columns/kernels/dense_rows.h"

#include "base/cpu.h"
#include <string.h>

enum { LANES = 16, AHEAD = 64, MAX_FETCHED = 64 /* floats of a row */ };

bool hr__one_each(const int32_t *splits, int64_t rows)
{
    int32_t other = 0;
    for (int64_t r = 1; r <= rows; r++) other |= (splits[r] - splits[0]) ^ (int32_t)r;
    return other == 0;
}

bool hr__ids_fit(const int64_t *ids, int64_t count, int64_t buckets)
{
    int64_t negative = 0;
    for (int64_t i = 0; i < count; i++) negative |= ids[i] | (int64_t)((uint64_t)buckets - 1 - (uint64_t)ids[i]);
    return negative >= 0;
}

static inline __attribute__((always_inline)) void dense_rows_fetch(const float *table, int64_t dimension,
                                                                   const int64_t *ids, int64_t at, int64_t rows)
{
    if (at >= rows) return;
    const float *row = table + ids[at] * dimension;
    for (int64_t d = 0; d < dimension && d < MAX_FETCHED; d += LANES) __builtin_prefetch(row + d);
}

/* Blocks of a size that the compiler knows: dimensions are mostly multiples of it. */
static void gather_portable(const float *table, int64_t dimension, const int64_t *ids, int64_t rows, float *out,
                            int64_t stride)
{
    for (int64_t r = 0; r < rows; r++, out += stride) {
        const float *row = table + ids[r] * dimension;
        int64_t d = 0;
        dense_rows_fetch(table, dimension, ids, r + AHEAD, rows);
        for (; d + LANES <= dimension; d += LANES) memcpy(out + d, row + d, LANES * sizeof *out);
        for (; d < dimension; d++) out[d] = row[d];
    }
}

static void one_hot_portable(const int64_t *ids, int64_t rows, int64_t buckets, float *out, int64_t stride)
{
    for (int64_t r = 0; r < rows; r++, out += stride) {
        memset(out, 0, (size_t)buckets * sizeof *out);
        if (ids[r] >= 0 && ids[r] < buckets) out[ids[r]] = 1;
    }
}

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX512 __attribute__((target("avx512f")))
#define AVX2 __attribute__((target("avx2")))

/* The lanes of a row's last vector, where that is not full. */
static inline unsigned tail_lanes(int64_t size) { return (1u << size % LANES) - 1; }

AVX512 static void gather_avx512(const float *table, int64_t dimension, const int64_t *ids, int64_t rows, float *out,
                                 int64_t stride)
{
    const __mmask16 tail = (__mmask16)tail_lanes(dimension);
    for (int64_t r = 0; r < rows; r++, out += stride) {
        const float *row = table + ids[r] * dimension;
        int64_t d = 0;
        dense_rows_fetch(table, dimension, ids, r + AHEAD, rows);
        for (; d + LANES <= dimension; d += LANES) _mm512_storeu_ps(out + d, _mm512_loadu_ps(row + d));
        if (tail) _mm512_mask_storeu_ps(out + d, tail, _mm512_maskz_loadu_ps(tail, row + d));
    }
}

AVX2 static void gather_avx2(const float *table, int64_t dimension, const int64_t *ids, int64_t rows, float *out,
                             int64_t stride)
{
    enum { HALF = LANES / 2 };
    for (int64_t r = 0; r < rows; r++, out += stride) {
        const float *row = table + ids[r] * dimension;
        int64_t d = 0;
        dense_rows_fetch(table, dimension, ids, r + AHEAD, rows);
        for (; d + HALF <= dimension; d += HALF) _mm256_storeu_ps(out + d, _mm256_loadu_ps(row + d));
        for (; d < dimension; d++) out[d] = row[d];
    }
}

/* Each place is compared with the id: whatever does not fit equals none. */
AVX512 static void one_hot_avx512(const int64_t *ids, int64_t rows, int64_t buckets, float *out, int64_t stride)
{
    const __m512i first = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __mmask16 tail = (__mmask16)tail_lanes(buckets);
    const __m512 one = _mm512_set1_ps(1);
    for (int64_t r = 0; r < rows; r++, out += stride) {
        const int id = ids[r] >= 0 && ids[r] < buckets ? (int)ids[r] : -1;
        int64_t b = 0;
        for (; b + LANES <= buckets; b += LANES) {
            const __mmask16 here = _mm512_cmpeq_epi32_mask(first, _mm512_set1_epi32(id - (int)b));
            _mm512_storeu_ps(out + b, _mm512_maskz_mov_ps(here, one));
        }
        const __mmask16 here = _mm512_cmpeq_epi32_mask(first, _mm512_set1_epi32(id - (int)b));
        if (tail) _mm512_mask_storeu_ps(out + b, tail, _mm512_maskz_mov_ps(here, one));
    }
}

AVX2 static void one_hot_avx2(const int64_t *ids, int64_t rows, int64_t buckets, float *out, int64_t stride)
{
    enum { HALF = LANES / 2 };
    const __m256i first = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i tail = _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(buckets % HALF)), first);
    const __m256 one = _mm256_set1_ps(1);
    for (int64_t r = 0; r < rows; r++, out += stride) {
        const int id = ids[r] >= 0 && ids[r] < buckets ? (int)ids[r] : -1;
        int64_t b = 0;
        for (; b + HALF <= buckets; b += HALF) {
            const __m256i here = _mm256_cmpeq_epi32(first, _mm256_set1_epi32(id - (int)b));
            _mm256_storeu_ps(out + b, _mm256_and_ps(_mm256_castsi256_ps(here), one));
        }
        const __m256i here = _mm256_cmpeq_epi32(first, _mm256_set1_epi32(id - (int)b));
        if (b < buckets) _mm256_maskstore_ps(out + b, tail, _mm256_and_ps(_mm256_castsi256_ps(here), one));
    }
}
#endif

/* The weights of a linear model. */
static void gather_scalars(const float *table, const int64_t *ids, int64_t rows, float *out, int64_t stride)
{
    for (int64_t r = 0; r < rows; r++) {
        dense_rows_fetch(table, 1, ids, r + AHEAD, rows);
        out[r * stride] = table[ids[r]];
    }
}

void hr__gather_rows(const float *table, int64_t dimension, const int64_t *ids, int64_t rows, float *out,
                     int64_t stride)
{
    if (dimension == 1) {
        gather_scalars(table, ids, rows, out, stride);
        return;
    }
#if defined(__x86_64__)
    if (hr__cpu_has(HR__AVX512)) {
        gather_avx512(table, dimension, ids, rows, out, stride);
        return;
    }
    if (hr__cpu_has(HR__AVX2)) {
        gather_avx2(table, dimension, ids, rows, out, stride);
        return;
    }
#endif
    gather_portable(table, dimension, ids, rows, out, stride);
}

void hr__one_hot_rows(const int64_t *ids, int64_t rows, int64_t buckets, float *out, int64_t stride)
{
#if defined(__x86_64__)
    if (buckets <= INT32_MAX && hr__cpu_has(HR__AVX512)) {
        one_hot_avx512(ids, rows, buckets, out, stride);
        return;
    }
    if (buckets <= INT32_MAX && hr__cpu_has(HR__AVX2)) {
        one_hot_avx2(ids, rows, buckets, out, stride);
        return;
    }
#endif
    one_hot_portable(ids, rows, buckets, out, stride);
}
