/* The sums for plain C, AVX2 and AVX-512, from the same lines. Nothing is fused (-ffp-contract=off) or reordered: lanes
 * are components of a row, and each is added up by itself. */
#include "feature_columns/kernels/sum_rows.h"

#include "base/cpu.h"

#define INLINE inline __attribute__((always_inline))

/* Some components of a row, wherever it lies. */
typedef float lanes16 __attribute__((vector_size(64), aligned(4), may_alias));
typedef float lanes8 __attribute__((vector_size(32), aligned(4), may_alias));
typedef float lanes4 __attribute__((vector_size(16), aligned(4), may_alias));
typedef float lanes1;

static INLINE int64_t first_block(int64_t count)
{
    if (count < 10) return count;
    const int64_t odd = count % 8;
    return odd < 2 ? odd + 8 : odd;
}

#define AT(LANES, i) (*(const LANES *)(const void *)(row[i] + d))

/* The components from d on. */
#define SUMS(LANES)                                                                                                    \
    static INLINE void plain_##LANES(const float *const *row, int64_t count, int64_t d, float *out)                    \
    {                                                                                                                  \
        int64_t done = first_block(count);                                                                             \
        LANES total = AT(LANES, 0);                                                                                    \
        for (int64_t i = 1; i < done; i++) total += AT(LANES, i);                                                      \
        for (; done < count; done += 8) {                                                                              \
            LANES block = AT(LANES, done);                                                                             \
            for (int k = 1; k < 8; k++) block += AT(LANES, done + k);                                                  \
            total += block;                                                                                            \
        }                                                                                                              \
        *(LANES *)(void *)(out + d) = total;                                                                           \
    }                                                                                                                  \
    static INLINE void weighted_##LANES(const float *const *row, const float *weights, int64_t count, int64_t d,       \
                                        float *out)                                                                    \
    {                                                                                                                  \
        LANES total = AT(LANES, 0) * weights[0];                                                                       \
        for (int64_t i = 1; i < count; i++) total += AT(LANES, i) * weights[i];                                        \
        *(LANES *)(void *)(out + d) = total;                                                                           \
    }

SUMS(lanes16)
SUMS(lanes8)
SUMS(lanes4)
SUMS(lanes1)

/* The widest lanes that a processor holds in a register, then narrower ones. */
#define KERNEL(NAME, LANES, SIZE)                                                                                      \
    static void NAME(const float *const *row, const float *weights, int64_t count, int64_t dimension, float *out)      \
    {                                                                                                                  \
        int64_t d = 0;                                                                                                 \
        if (weights) {                                                                                                 \
            for (; d + SIZE <= dimension; d += SIZE) weighted_##LANES(row, weights, count, d, out);                    \
            for (; d + 4 <= dimension; d += 4) weighted_lanes4(row, weights, count, d, out);                           \
            for (; d < dimension; d++) weighted_lanes1(row, weights, count, d, out);                                   \
        } else {                                                                                                       \
            for (; d + SIZE <= dimension; d += SIZE) plain_##LANES(row, count, d, out);                                \
            for (; d + 4 <= dimension; d += 4) plain_lanes4(row, count, d, out);                                       \
            for (; d < dimension; d++) plain_lanes1(row, count, d, out);                                               \
        }                                                                                                              \
    }

KERNEL(sum_portable, lanes16, 16)
#if defined(__x86_64__)
__attribute__((target("avx2"))) KERNEL(sum_avx2, lanes8, 8) __attribute__((target("avx512f")))
KERNEL(sum_avx512, lanes16, 16)
#endif

    hr__sum_rows_fn *hr__sum_rows_choose(void)
{
#if defined(__x86_64__)
    if (hr__cpu_has(HR__AVX512)) return sum_avx512;
    if (hr__cpu_has(HR__AVX2)) return sum_avx2;
#endif
    return sum_portable;
}
