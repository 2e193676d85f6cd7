/* The rules, compiled for plain C, AVX2 and AVX-512. All three come from the same lines, and no operation is fused or
 * reordered (-ffp-contract=off), so that they give the same bits. */
#include "train/optimizers/rules.h"

#include "base/cpu.h"

#include <math.h>

#define INLINE inline __attribute__((always_inline))

#define T float
#define R(name) name##_body_f32
#define SQRT sqrtf
#define POW powf
#define ABS fabsf
#include "train/optimizers/rules_body.h"
#undef T
#undef R
#undef SQRT
#undef POW
#undef ABS

#define T double
#define R(name) name##_body_f64
#define SQRT sqrt
#define POW pow
#define ABS fabs
#include "train/optimizers/rules_body.h"

#if defined(__x86_64__)
#if defined(__clang__)
#define WIDE "avx512f,avx512vl,avx512dq,avx512bw"
#else
#define WIDE "avx512f,avx512vl,avx512dq,avx512bw,prefer-vector-width=512"
#endif
#define FOR_AVX2(NAME)                                                                                                 \
    __attribute__((target("avx2"))) static void NAME##_avx2(float *w, float *a, float *b, const float *g, int64_t n,   \
                                                            const float *p)                                            \
    {                                                                                                                  \
        NAME##_body_f32(w, a, b, g, n, p);                                                                             \
    }
#define FOR_AVX512(NAME)                                                                                               \
    __attribute__((target(WIDE))) static void NAME##_avx512(float *w, float *a, float *b, const float *g, int64_t n,   \
                                                            const float *p)                                            \
    {                                                                                                                  \
        NAME##_body_f32(w, a, b, g, n, p);                                                                             \
    }
#define AVX(NAME) NAME##_avx2, NAME##_avx512
#else
#define FOR_AVX2(NAME)
#define FOR_AVX512(NAME)
#define AVX(NAME) NULL, NULL
#endif

#define RULE(NAME, SLOTS, NANOSECONDS)                                                                                 \
    static void NAME##_f32(float *w, float *a, float *b, const float *g, int64_t n, const float *p)                    \
    {                                                                                                                  \
        NAME##_body_f32(w, a, b, g, n, p);                                                                             \
    }                                                                                                                  \
    static void NAME##_f64(double *w, double *a, double *b, const double *g, int64_t n, const double *p)               \
    {                                                                                                                  \
        NAME##_body_f64(w, a, b, g, n, p);                                                                             \
    }                                                                                                                  \
    FOR_AVX2(NAME)                                                                                                     \
    FOR_AVX512(NAME)                                                                                                   \
    const hr__rule hr__rule_##NAME = {SLOTS, NANOSECONDS, NAME##_f32, AVX(NAME), NAME##_f64};

RULE(descent, 0, 0.2)
RULE(momentum, 1, 0.3)
RULE(keras_momentum, 1, 0.3)
RULE(adagrad, 1, 0.7)
RULE(adagrad_v2, 1, 0.7)
RULE(adam, 2, 0.9)
RULE(adam_move, 2, 0.7)
RULE(ftrl, 2, 2)
RULE(ftrl_power, 2, 60)

hr__rule_f32 *hr__rule_choose(const hr__rule *rule)
{
    if (rule->avx512 && hr__cpu_has(HR__AVX512)) return rule->avx512;
    if (rule->avx2 && hr__cpu_has(HR__AVX2)) return rule->avx2;
    return rule->portable;
}
