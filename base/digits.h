/* Pieces of a number's text, inline: what the readers of all kinds of numbers share. Not a public header. */
#ifndef HR_DIGITS_H
#define HR_DIGITS_H

#include "base/bytes.h"
#include <stdbool.h>

static inline bool hr__is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static inline bool hr__is_digit(char c) { return (unsigned char)(c - '0') < 10; }

static inline void hr__trim(const char **p, const char **end)
{
    while (*p < *end && hr__is_space(**p)) ++*p;
    while (*p < *end && hr__is_space((*end)[-1])) --*end;
}

static inline bool hr__are_8_digits(uint64_t v)
{
    const uint64_t high = UINT64_C(0xf0f0f0f0f0f0f0f0);
    return ((v & high) | ((v + UINT64_C(0x0606060606060606)) & high) >> 4) == UINT64_C(0x3333333333333333);
}

/* Neighbours are joined: digits to pairs, pairs to fours, fours to the eight. */
static inline uint32_t hr__value_of_8(uint64_t v)
{
    v = (v & UINT64_C(0x0f0f0f0f0f0f0f0f)) * 2561 >> 8;
    v = (v & UINT64_C(0x00ff00ff00ff00ff)) * 6553601 >> 16;
    return (uint32_t)((v & UINT64_C(0x0000ffff0000ffff)) * UINT64_C(42949672960001) >> 32);
}

/* Reads digits as far as they go, at most 19 of them: any 19 fit. */
static inline const char *hr__digits_19(const char *p, const char *end, uint64_t *value)
{
    uint64_t v = 0;
    if (end - p > 19) end = p + 19;
    for (; end - p >= 8; p += 8) {
        uint64_t eight = hr__get64(p);
        if (!hr__are_8_digits(eight)) break;
        v = v * 100000000 + hr__value_of_8(eight);
    }
    for (; p < end && hr__is_digit(*p); p++) v = v * 10 + (uint64_t)(*p - '0');
    *value = v;
    return p;
}

#endif
