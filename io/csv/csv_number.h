/* Plain numbers quickly: digits, perhaps a sign, perhaps a point. False: the text is anything else, and the full
 * grammar (base/number.h) decides. What is true here is exact. 64 bytes after the text can be read. */
#ifndef HR_CSV_NUMBER_H
#define HR_CSV_NUMBER_H

#include "base/bytes.h"
#include <float.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* 1 to 8 digits at once: they are moved to the end of a word of '0's, then joined in pairs, fours, eights. */
static inline bool hr__eight_digits(const char *p, size_t size, uint64_t *out)
{
    const uint64_t zeros = UINT64_C(0x3030303030303030);
    uint64_t v = hr__get64(p);
    if (size < 8) v = v << (64 - 8 * size) | zeros >> 8 * size;
    if (((v & UINT64_C(0xf0f0f0f0f0f0f0f0)) |
         ((v + UINT64_C(0x0606060606060606)) & UINT64_C(0xf0f0f0f0f0f0f0f0)) >> 4) != UINT64_C(0x3333333333333333))
        return false;
    v -= zeros;
    v = v * 10 + (v >> 8);
    *out = ((v & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x000f424000000064) +
            (v >> 16 & UINT64_C(0x000000ff000000ff)) * UINT64_C(0x0000271000000001)) >>
           32;
    return true;
}

/* 1 to 16 digits. */
static inline bool hr__quick_digits(const char *p, size_t size, uint64_t *out)
{
    static const uint32_t power[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    if (size - 1 < 8) return hr__eight_digits(p, size, out);
    if (size - 1 >= 16) return false;
    uint64_t high, low;
    if (!hr__eight_digits(p, 8, &high) || !hr__eight_digits(p + 8, size - 8, &low)) return false;
    *out = high * power[size - 8] + low;
    return true;
}

static inline bool hr__quick_int64(const char *p, size_t size, int64_t *out)
{
    uint64_t magnitude;
    const bool negative = size > 0 && *p == '-';
    if (!hr__quick_digits(p + negative, size - negative, &magnitude)) return false;
    *out = negative ? -(int64_t)magnitude : (int64_t)magnitude;
    return true;
}

static inline bool hr__quick_int32(const char *p, size_t size, int32_t *out)
{
    int64_t value;
    if (!hr__quick_int64(p, size, &value) || value < INT32_MIN || value > INT32_MAX) return false;
    *out = (int32_t)value;
    return true;
}

/* Digits with a point somewhere: both parts below 2^53 together, and a power of ten that a double holds exactly, so
 * that one division, which is correctly rounded, gives the nearest double. */
static inline bool hr__quick_double(const char *p, size_t size, double *out)
{
    static const double power[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const bool negative = size > 0 && *p == '-';
    p += negative;
    size -= negative;
    if (size - 1 >= 16) return false;
    uint64_t digits = 0;
    size_t point = size;
    for (size_t i = 0; i < size; i++) {
        const unsigned digit = (unsigned char)p[i] - (unsigned)'0';
        if (digit < 10)
            digits = digits * 10 + digit;
        else if (p[i] == '.' && point == size)
            point = i;
        else
            return false;
    }
    const size_t decimals = point == size ? 0 : size - point - 1;
    if (size - (point != size) == 0 || digits >> 53) return false;
    const double value = (double)digits / power[decimals];
    *out = negative ? -value : value;
    return true;
}

/* The nearest float is the float nearest to that double, unless the double lies half way between two floats, where the
 * text itself may lie to either side. */
static inline bool hr__quick_float(const char *p, size_t size, float *out)
{
    double value;
    uint64_t bits;
    if (!hr__quick_double(p, size, &value)) return false;
    memcpy(&bits, &value, sizeof bits);
    if ((bits & 0x1fffffff) == 0x10000000) return false;
    *out = (float)value;
    return true;
}

#endif
