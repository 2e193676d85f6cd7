/* exp, log, tanh and their kin of floats, without branches, calls or tables: compilers make vectors of loops with them.
 * They compute in double and round once, so a result is within 0.51 units of its last place, and the same bits on every
 * processor, if the compiler makes no fused products and sums (-ffp-contract=off). NaN gives NaN. */
#ifndef HR_FLOAT_MATH_H
#define HR_FLOAT_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HR_LN2_ 0.69314718055994530942

/* The double of these bits, and the other way. */
static inline double hr_double_of_bits_(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The bits of a double. */
static inline uint64_t hr_bits_of_double_(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* e^x, for x beyond +-200 as at +-200. With n the integer next to x / ln 2, it is 2^n e^r; |r| <= ln(2) / 2, whose series
 * to r^9 / 9! is within 1e-11 of e^r. A sum with 1.5 2^52 has n in its lowest bits. */
static inline double hr_double_exp_(double x)
{
    const double shift = 6755399441055744.0, below = x > 200 ? 200 : x, in = below < -200 ? -200 : below;
    const double shifted = in * (1 / HR_LN2_) + shift, r = in - (shifted - shift) * HR_LN2_;
    double sum = 1.0 / 362880;
    sum = sum * r + 1.0 / 40320;
    sum = sum * r + 1.0 / 5040;
    sum = sum * r + 1.0 / 720;
    sum = sum * r + 1.0 / 120;
    sum = sum * r + 1.0 / 24;
    sum = sum * r + 1.0 / 6;
    sum = sum * r + 0.5;
    sum = sum * r + 1;
    sum = sum * r + 1;
    return sum * hr_double_of_bits_((hr_bits_of_double_(shifted) << 52) + (UINT64_C(1023) << 52));
}

/* Of a normal x > 0. x is 2^n m with m from sqrt(1/2) to sqrt(2), and log m = 2 (s + s^3 / 3 + s^5 / 5 ...) with
 * s = (m - 1) / (m + 1). */
static inline double hr_double_log_(double x)
{
    const uint64_t root = UINT64_C(0x3fe6a09e667f3bcd) /* sqrt(1/2) */, bits = hr_bits_of_double_(x);
    const uint64_t biased = (bits - root + (UINT64_C(1023) << 52)) >> 52; /* n + 1023 */
    const double n = hr_double_of_bits_(biased | UINT64_C(0x4330000000000000)) - (4503599627370496.0 + 1023);
    const double m = hr_double_of_bits_(bits - (biased << 52) + (UINT64_C(1023) << 52));
    const double s = (m - 1) / (m + 1), z = s * s;
    double sum = 2.0 / 13;
    sum = sum * z + 2.0 / 11;
    sum = sum * z + 2.0 / 9;
    sum = sum * z + 2.0 / 7;
    sum = sum * z + 2.0 / 5;
    sum = sum * z + 2.0 / 3;
    sum = sum * z + 2;
    return sum * s + n * HR_LN2_;
}

/* e^x */
static inline float hr_float_exp(float x) { return (float)hr_double_exp_((double)x); }

/* e^x - 1 */
static inline float hr_float_expm1(float x)
{
    const double v = (double)x, small = v * (1 + 0.5 * v), other = hr_double_exp_(v) - 1;
    return (float)(fabs(v) < 1e-5 ? small : other);
}

/* log(x); -infinity of 0, NaN below */
static inline float hr_float_log(float x)
{
    const float y = (float)hr_double_log_((double)x), edge = x == 0 ? -HUGE_VALF : x < 0 ? NAN : x;
    return x > 0 && x < HUGE_VALF ? y : edge;
}

/* log(1 + x) */
static inline float hr_float_log1p(float x)
{
    const double v = (double)x, small = v * (1 - 0.5 * v), other = hr_double_log_(1 + v);
    const float y = (float)(fabs(v) < 1e-5 ? small : other), edge = x == -1 ? -HUGE_VALF : x < -1 ? NAN : x;
    return x > -1 && x < HUGE_VALF ? y : edge;
}

/* tanh(x) */
static inline float hr_float_tanh(float x)
{
    const double v = fabs((double)x), y = 1 - 2 / (hr_double_exp_(2 * v) + 1);
    const float signed_y = (float)(x < 0 ? -y : y);
    return v < 1.0 / 4096 ? x : signed_y;
}

/* 1 / (1 + e^-x) */
static inline float hr_float_sigmoid(float x) { return (float)(1 / (1 + hr_double_exp_(-(double)x))); }

/* log(1 + e^x) */
static inline float hr_float_softplus(float x)
{
    const double e = hr_double_exp_((double)x), small = e * (1 - 0.5 * e), other = hr_double_log_(1 + e);
    return x > 20 || x != x ? x : (float)(e < 1e-5 ? small : other);
}

#undef HR_LN2_

#ifdef __cplusplus
}
#endif
#endif
