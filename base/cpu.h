/* What this processor can do: the one place where that is asked. Every SIMD kernel has a portable twin, and a test that
 * holds both equal. */
#ifndef HR_CPU_H
#define HR_CPU_H

#include <headrace/base.h>

typedef enum hr__cpu_feature {
    HR__SSE42 = 1,        /* crc32, and PCLMULQDQ */
    HR__AVX2 = 2,         /* and BMI1, BMI2, FMA */
    HR__AVX512 = 4,       /* F, BW, VL, DQ, VBMI2 */
    HR__VPCLMUL = 8,      /* with AVX512 */
    HR__AVX512_BF16 = 16, /* with AVX512 */
} hr__cpu_feature;

/* All features of the set are there, and HEADRACE_CPU (portable, sse42, avx2, avx512) does not forbid them. */
HR_API bool hr__cpu_has(unsigned features);
/* For tests: forbids all but these until the next call; ~0u allows all. Kernels choose again at their next call. */
void hr__cpu_limit(unsigned features);

/* In a loop that waits for another thread: leaves the core's other half more to do. */
static inline void hr__cpu_pause(void)
{
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}

#endif
