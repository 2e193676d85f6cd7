/* Integers from text. */
#include "base/digits.h"
#include "base/number.h"

static inline hr__parsed magnitude(const char *p, const char *end, uint64_t *out)
{
    const char *begin = p;
    while (end - p > 19 && *p == '0') p++;
    uint64_t value;
    p = hr__digits_19(p, end, &value);
    if (p == begin) return HR__NO_NUMBER;
    bool overflow = false;
    for (; p < end && hr__is_digit(*p); p++)
        overflow |=
            __builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value);
    if (p < end) return HR__NO_NUMBER;
    *out = value;
    return overflow ? HR__OVERFLOW : HR__PARSED;
}

static inline hr__parsed signed_magnitude(const char *p, const char *end, hr__grammar grammar, bool *negative,
                                          uint64_t *out)
{
    hr__trim(&p, &end);
    *negative = p < end && *p == '-';
    if (*negative || (p < end && *p == '+' && grammar == HR__NUMBER_DEFAULT)) p++;
    return magnitude(p, end, out);
}

hr__parsed hr__parse_uint64(const char *text, size_t size, hr__grammar grammar, uint64_t *out)
{
    if (size == 0) return HR__NO_NUMBER;
    bool negative;
    uint64_t value = 0;
    hr__parsed parsed = signed_magnitude(text, text + size, grammar, &negative, &value);
    if (parsed == HR__NO_NUMBER) return parsed;
    if (parsed == HR__OVERFLOW || (negative && value)) return HR__OVERFLOW;
    *out = value;
    return HR__PARSED;
}

/* |most| is 2^n - 1 of the type; one more is allowed below zero. */
static inline hr__parsed parse_signed(const char *text, size_t size, hr__grammar grammar, uint64_t max, int64_t *out)
{
    if (size == 0) return HR__NO_NUMBER;
    bool negative;
    uint64_t value = 0;
    hr__parsed parsed = signed_magnitude(text, text + size, grammar, &negative, &value);
    if (parsed != HR__PARSED) return parsed;
    if (value > max + negative) return HR__OVERFLOW;
    *out = (int64_t)(negative ? -value : value);
    return HR__PARSED;
}

hr__parsed hr__parse_int64(const char *text, size_t size, hr__grammar grammar, int64_t *out)
{
    return parse_signed(text, size, grammar, INT64_MAX, out);
}

hr__parsed hr__parse_int32(const char *text, size_t size, hr__grammar grammar, int32_t *out)
{
    int64_t value;
    hr__parsed parsed = parse_signed(text, size, grammar, INT32_MAX, &value);
    if (parsed == HR__PARSED) *out = (int32_t)value;
    return parsed;
}
