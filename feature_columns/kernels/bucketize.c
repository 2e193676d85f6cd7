/* Counts the boundaries at or below each value without a branch: 16 values are compared with one boundary at a time. A
 * NaN is below no boundary, so !(x < b) counts all of them. */
#include "base/cpu.h"
#include <headrace/column_kernels.h>

#include <float.h>
#include <math.h>

enum { MAX_BY_COUNTING = 64 }; /* with more boundaries, halving takes fewer steps */

static float bucketize_flush(float x) { return fabsf(x) < FLT_MIN ? 0.0f : x; }

static int64_t bucket_by_halving(float x, const float *boundaries, int count)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (x < boundaries[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void bucketize_portable(const float *x, int64_t n, const float *boundaries, int count, int64_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        float value = bucketize_flush(x[i]);
        if (count > MAX_BY_COUNTING) {
            out[i] = bucket_by_halving(value, boundaries, count);
            continue;
        }
        int64_t bucket = 0;
        for (int b = 0; b < count; b++) bucket += !(value < boundaries[b]);
        out[i] = bucket;
    }
}

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx512f,avx512dq,avx512bw,avx512vl"))) static int64_t
bucketize_avx512(const float *x, int64_t n, const float *boundaries, int count, int64_t *out)
{
    const __m512 min_normal = _mm512_set1_ps(FLT_MIN);
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
        __m512 v = _mm512_loadu_ps(x + i);
        __mmask16 tiny = _mm512_cmp_ps_mask(_mm512_abs_ps(v), min_normal, _CMP_LT_OQ);
        v = _mm512_mask_mov_ps(v, tiny, _mm512_setzero_ps());
        __m512i bucket = _mm512_setzero_si512();
        for (int b = 0; b < count; b++) {
            __mmask16 reached = _mm512_cmp_ps_mask(v, _mm512_set1_ps(boundaries[b]), _CMP_NLT_UQ);
            bucket = _mm512_mask_add_epi32(bucket, reached, bucket, _mm512_set1_epi32(1));
        }
        _mm512_storeu_si512(out + i, _mm512_cvtepi32_epi64(_mm512_castsi512_si256(bucket)));
        _mm512_storeu_si512(out + i + 8, _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(bucket, 1)));
    }
    return i;
}

__attribute__((target("avx2"))) static int64_t bucketize_avx2(const float *x, int64_t n, const float *boundaries,
                                                              int count, int64_t *out)
{
    const __m256 min_normal = _mm256_set1_ps(FLT_MIN), sign = _mm256_set1_ps(-0.0f);
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 v = _mm256_loadu_ps(x + i);
        __m256 tiny = _mm256_cmp_ps(_mm256_andnot_ps(sign, v), min_normal, _CMP_LT_OQ);
        v = _mm256_andnot_ps(tiny, v);
        __m256i bucket = _mm256_setzero_si256();
        for (int b = 0; b < count; b++) {
            __m256 reached = _mm256_cmp_ps(v, _mm256_set1_ps(boundaries[b]), _CMP_NLT_UQ);
            bucket = _mm256_sub_epi32(bucket, _mm256_castps_si256(reached));
        }
        _mm256_storeu_si256((__m256i *)(void *)(out + i), _mm256_cvtepi32_epi64(_mm256_castsi256_si128(bucket)));
        _mm256_storeu_si256((__m256i *)(void *)(out + i + 4),
                            _mm256_cvtepi32_epi64(_mm256_extracti128_si256(bucket, 1)));
    }
    return i;
}
#endif

void hr_bucketize_boundaries(float *boundaries, int count)
{
    for (int i = 0; i < count; i++) boundaries[i] = bucketize_flush(boundaries[i]);
}

void hr_bucketize(const float *x, int64_t n, const float *boundaries, int count, int64_t *out)
{
    int64_t done = 0;
#if defined(__x86_64__)
    if (count <= MAX_BY_COUNTING) {
        if (hr__cpu_has(HR__AVX512))
            done = bucketize_avx512(x, n, boundaries, count, out);
        else if (hr__cpu_has(HR__AVX2))
            done = bucketize_avx2(x, n, boundaries, count, out);
    }
#endif
    if (done < n) bucketize_portable(x + done, n - done, boundaries, count, out + done);
}
