/* Fingerprint64 for hot loops: what columns hash is short, so the branches up to 16 bytes are inline. The same numbers
 * as hr_fingerprint64, bit for bit. Not a public header. */
#ifndef HR_FINGERPRINT_H
#define HR_FINGERPRINT_H

#include "base/bytes.h"
#include <headrace/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HR__FP_K0 UINT64_C(0xc3a5c85c97cb3127)
#define HR__FP_K1 UINT64_C(0xb492b66fbe98f273)
#define HR__FP_K2 UINT64_C(0x9ae16a3b2f90404f)

static inline uint64_t hr__rotate_right(uint64_t v, int by) { return v >> by | v << (64 - by); }
static inline uint64_t hr__shift_mix(uint64_t v) { return v ^ v >> 47; }

static inline uint64_t hr__fp_pair(uint64_t u, uint64_t v, uint64_t mul)
{
    uint64_t a = hr__shift_mix((u ^ v) * mul);
    return hr__shift_mix((v ^ a) * mul) * mul;
}

/* Beyond 16 bytes. */
HR_API uint64_t hr__fingerprint64_long(const char *s, size_t n);

static inline uint64_t hr__fingerprint64_inline(const char *s, size_t n)
{
    if (n > 16) return hr__fingerprint64_long(s, n);
    if (n >= 8) {
        uint64_t mul = HR__FP_K2 + n * 2, a = hr__get64(s) + HR__FP_K2, b = hr__get64(s + n - 8);
        return hr__fp_pair(hr__rotate_right(b, 37) * mul + a, (hr__rotate_right(a, 25) + b) * mul, mul);
    }
    if (n >= 4) return hr__fp_pair(n + ((uint64_t)hr__get32(s) << 3), hr__get32(s + n - 4), HR__FP_K2 + n * 2);
    if (n == 0) return HR__FP_K2;
    uint32_t first = (unsigned char)s[0], middle = (unsigned char)s[n >> 1], last = (unsigned char)s[n - 1];
    uint32_t y = first + (middle << 8), z = (uint32_t)n + (last << 2);
    return hr__shift_mix(y * HR__FP_K2 ^ z * HR__FP_K0) * HR__FP_K2;
}

static inline uint64_t hr__fingerprint_cat64_inline(uint64_t a, uint64_t b)
{
    const uint64_t mul = UINT64_C(0xc6a4a7935bd1e995);
    uint64_t r = (a ^ mul) ^ hr__shift_mix(b * mul) * mul;
    return hr__shift_mix(hr__shift_mix(r * mul) * mul);
}

#ifdef __cplusplus
}
#endif
#endif
