/* What the processor can do is asked once, by CPUID; the operating system must save the wide registers, too (XGETBV,
 * which __builtin_cpu_supports looks at). HEADRACE_CPU can only restrict the answer: it disables kernels, and
 * never enables one. */
#include "base/cpu.h"
#include "base/crc32c.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { ASKED = 1 << 30 };

static atomic_uint found;       /* features and ASKED; 0: not asked yet */
static atomic_uint limit = ~0u; /* a test's */

#if defined(__x86_64__)
static unsigned ask_processor(void)
{
    unsigned features = 0;
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("pclmul")) return 0;
    features |= HR__SSE42;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2") ||
        !__builtin_cpu_supports("fma"))
        return features;
    features |= HR__AVX2;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vbmi2"))
        return features;
    features |= HR__AVX512;
    if (__builtin_cpu_supports("vpclmulqdq")) features |= HR__VPCLMUL;
    if (__builtin_cpu_supports("avx512bf16")) features |= HR__AVX512_BF16;
    return features;
}
#else
static unsigned ask_processor(void) { return 0; }
#endif

static unsigned allowed_by_environment(void)
{
    static const struct {
        const char *name;
        unsigned features;
    } levels[] = {
        {"portable", 0},
        {"sse42", HR__SSE42},
        {"avx2", HR__SSE42 | HR__AVX2},
        {"avx512", HR__SSE42 | HR__AVX2 | HR__AVX512 | HR__VPCLMUL | HR__AVX512_BF16},
    };
    const char *name = getenv("HEADRACE_CPU");
    for (size_t i = 0; name && i < sizeof levels / sizeof *levels; i++)
        if (strcmp(levels[i].name, name) == 0) return levels[i].features;
    return ~0u;
}

/* Two threads may both ask: they store the same answer. */
bool hr__cpu_has(unsigned features)
{
    unsigned have = atomic_load_explicit(&found, memory_order_relaxed);
    if (!have) {
        have = (ask_processor() & allowed_by_environment()) | ASKED;
        atomic_store_explicit(&found, have, memory_order_relaxed);
    }
    return (have & atomic_load_explicit(&limit, memory_order_relaxed) & features) == features;
}

void hr__cpu_limit(unsigned features)
{
    atomic_store(&limit, features);
    hr__crc32c_rechoose();
}
