/* Floats from text. A decimal of at most 53 bits with a power of ten up to 22 needs one exact product or quotient,
 * which rounds once (Clinger); all others go to strtod as digits and an exponent, without a point, which some
 * locales write differently. */
#include "base/digits.h"
#include "base/number.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Those that a double holds exactly. */
static const double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* What the text says: +-mantissa x 10^exponent, or a special. `exact` is false where the mantissa holds only the first
 * 19 digits; `digits` to `digits_end` are all of them, with the point in between. */
typedef struct decimal {
    bool negative, exact;
    uint64_t mantissa;
    int64_t exponent;
    const char *digits, *digits_end;
} decimal;

enum { MAX_EXPONENT = 100000 }; /* beyond, all is infinity or zero, even with the digits of a long text in front */

static const char *scan_exponent(const char *p, const char *end, int64_t *exponent)
{
    const char *begin = p;
    if (p == end || (*p != 'e' && *p != 'E')) return p;
    p++;
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    if (p == end || !hr__is_digit(*p)) return begin;
    int64_t value = 0;
    for (; p < end && hr__is_digit(*p); p++)
        if (value < INT64_MAX / 16) value = value * 10 + (*p - '0');
    *exponent += negative ? -value : value;
    return p;
}

/* Digits beyond the nineteenth significant one: they only count. */
static void scan_rest(const char *p, const char *end, decimal *d)
{
    bool after_point = false;
    int significant = 0;
    d->mantissa = 0;
    d->exponent = 0;
    for (; p < end; p++) {
        if (*p == '.') {
            after_point = true;
            continue;
        }
        if (significant > 0 || *p != '0') significant++;
        if (significant <= 19)
            d->mantissa = d->mantissa * 10 + (uint64_t)(*p - '0');
        else if (*p != '0')
            d->exact = false;
        d->exponent += (significant > 19 ? 1 : 0) - (after_point ? 1 : 0);
        if (significant > 19) significant = 20;
    }
}

/* digits . digits e digits, to the end of the text. */
static bool scan_decimal(const char *p, const char *end, decimal *d)
{
    d->digits = p;
    d->exact = true;
    d->exponent = 0;
    const char *point = hr__digits_19(p, end, &d->mantissa);
    const char *q = point;
    while (q < end && hr__is_digit(*q)) q++;
    bool many = q > point;
    int64_t count = q - p;
    if (q < end && *q == '.') {
        uint64_t fraction;
        const char *begin = ++q;
        q = hr__digits_19(q, end, &fraction);
        while (q < end && hr__is_digit(*q)) q++;
        const int64_t decimals = q - begin;
        count += decimals;
        many |= count > 19;
        if (!many) {
            d->mantissa = d->mantissa * (uint64_t)powers_of_ten[decimals] + fraction;
            d->exponent = -decimals;
        }
    }
    if (count == 0) return false;
    d->digits_end = q;
    if (many) scan_rest(p, q, d);
    return scan_exponent(q, end, &d->exponent) == end;
}

enum { DIGITS_KEPT = 780 }; /* more than any double's midpoint has; what lies beyond is one more digit, if not zero */

/* The digits as "123e-45" for strtod and strtof. */
static const char *plain_text(const decimal *d, char text[DIGITS_KEPT + 32])
{
    size_t used = 0;
    int64_t exponent = d->exponent;
    if (d->exact) {
        used = (size_t)snprintf(text, 24, "%llu", (unsigned long long)d->mantissa);
    } else {
        int64_t dropped = 0;
        bool sticky = false;
        for (const char *p = d->digits; p < d->digits_end; p++) {
            if (*p == '.' || (used == 0 && *p == '0')) continue;
            if (used < DIGITS_KEPT) {
                text[used++] = *p;
            } else {
                sticky |= *p != '0';
                dropped++;
            }
        }
        /* d->exponent is that of the first 19 digits. */
        exponent -= (int64_t)used - 19;
        if (sticky) {
            text[used++] = '1';
            exponent--;
        }
    }
    if (exponent > MAX_EXPONENT) exponent = MAX_EXPONENT;
    if (exponent < -MAX_EXPONENT) exponent = -MAX_EXPONENT;
    snprintf(text + used, 32, "e%d", (int)exponent);
    return text;
}

/* The magnitude, if one rounding gives it. */
static inline bool by_one_rounding(const decimal *d, double *out)
{
    if (!d->exact || d->mantissa > UINT64_C(1) << 53 || d->exponent < -22 || d->exponent > 22) return false;
    double m = (double)d->mantissa;
    *out = d->exponent < 0 ? m / powers_of_ten[-d->exponent] : m * powers_of_ten[d->exponent];
    return true;
}

static double double_of(const decimal *d)
{
    double value;
    if (d->mantissa == 0) return 0;
    if (by_one_rounding(d, &value)) return value;
    char text[DIGITS_KEPT + 32];
    return strtod(plain_text(d, text), NULL);
}

/* Rounding to double first is right unless the double lies in the middle between two floats. */
static float float_of(const decimal *d)
{
    double value;
    if (d->mantissa == 0) return 0;
    if (by_one_rounding(d, &value) && value >= (double)FLT_MIN && value <= (double)FLT_MAX) {
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        if ((bits & 0x1fffffff) != 0x10000000) return (float)value;
    }
    char text[DIGITS_KEPT + 32];
    return strtof(plain_text(d, text), NULL);
}

/* mantissa x 2^exponent, rounded once to `precision` bits, of which fewer are left below 2^least. The mantissa's last
 * bit is set if anything below it was lost. */
static double round_binary(uint64_t mantissa, int64_t exponent, int precision, int min)
{
    if (mantissa == 0) return 0;
    int shift = __builtin_clzll(mantissa);
    mantissa <<= shift; /* its first bit is worth 2^(exponent + 63) now */
    exponent -= shift;
    if (exponent > 2000) return HUGE_VAL;
    if (exponent < -2000) return 0;
    int drop = 64 - precision;
    if (exponent + drop < min) drop = (int)(min - exponent);
    if (drop > 64) return 0;
    uint64_t kept = drop == 64 ? 0 : mantissa >> drop, half = UINT64_C(1) << (drop - 1);
    uint64_t rest = drop == 64 ? mantissa : mantissa & (half * 2 - 1);
    if (rest > half || (rest == half && (kept & 1))) kept++;
    return ldexp((double)kept, (int)exponent + drop);
}

static int hex_value(char c)
{
    if (hr__is_digit(c)) return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* After "0x": digits . digits p exponent, to the end of the text. */
static bool scan_hex(const char *p, const char *end, hr__grammar grammar, uint64_t *mantissa, int64_t *exponent)
{
    bool any = false, after_point = false;
    *mantissa = 0;
    *exponent = 0;
    for (; p < end; p++) {
        int digit = hex_value(*p);
        if (*p == '.' && !after_point && grammar == HR__NUMBER_DEFAULT) {
            after_point = true;
            continue;
        }
        if (digit < 0) break;
        any = true;
        bool full = *mantissa >> 60;
        *mantissa = full ? *mantissa | (digit != 0) : *mantissa << 4 | (uint64_t)digit;
        *exponent += (full ? 4 : 0) - (after_point ? 4 : 0);
    }
    if (!any) return false;
    if (p == end) return true;
    if (grammar != HR__NUMBER_DEFAULT || (*p | 32) != 'p' || ++p == end) return false;
    bool negative = *p == '-';
    if (*p == '-' || *p == '+') p++;
    if (p == end) return false;
    int64_t value = 0;
    for (; p < end && hr__is_digit(*p); p++)
        if (value < INT64_MAX / 16) value = value * 10 + (*p - '0');
    *exponent += negative ? -value : value;
    return p == end;
}

/* The text, in any case, begins with the word (which is in small letters). */
static bool has_word(const char *p, const char *end, const char *word)
{
    for (; *word; p++, word++)
        if (p == end || (*p | 32) != *word) return false;
    return true;
}

static bool is_nan_word(const char *p, const char *end, hr__grammar grammar)
{
    if (!has_word(p, end, "nan")) return false;
    p += 3;
    if (p == end) return true;
    if (grammar != HR__NUMBER_DEFAULT || *p != '(' || end[-1] != ')' || end - p < 2) return false;
    for (p++; p < end - 1; p++)
        if (!hr__is_digit(*p) && *p != '_' && !((*p | 32) >= 'a' && (*p | 32) <= 'z')) return false;
    return true;
}

static bool is_infinity_word(const char *p, const char *end, hr__grammar grammar)
{
    if (end - p == 3) return has_word(p, end, "inf");
    return grammar == HR__NUMBER_DEFAULT && end - p == 8 && has_word(p, end, "infinity");
}

/* What floats and doubles share: the magnitude as a decimal (true), or already as a number in *special. */
static inline hr__parsed scan_float(const char *text, size_t size, hr__grammar grammar, bool single, decimal *d,
                                    bool *is_special, double *special)
{
    const char *p = text, *end = text + size;
    *is_special = true;
    d->negative = false;
    if (grammar == HR__NUMBER_TF_COMPAT && size >= 32) return HR__NO_NUMBER;
    hr__trim(&p, &end);
    if (p == end) {
        *special = 0;
        return grammar == HR__NUMBER_TF_COMPAT ? HR__PARSED : HR__NO_NUMBER;
    }
    d->negative = *p == '-';
    if (*p == '-' || *p == '+') p++;
    if (end - p > 2 && p[0] == '0' && (p[1] | 32) == 'x') {
        uint64_t mantissa;
        int64_t exponent;
        if (!scan_hex(p + 2, end, grammar, &mantissa, &exponent)) return HR__NO_NUMBER;
        *special = round_binary(mantissa, exponent, single ? FLT_MANT_DIG : DBL_MANT_DIG, single ? -149 : -1074);
        return HR__PARSED;
    }
    if (p < end && (hr__is_digit(*p) || *p == '.')) {
        *is_special = false;
        return scan_decimal(p, end, d) ? HR__PARSED : HR__NO_NUMBER;
    }
    *special = is_nan_word(p, end, grammar) ? (double)NAN : HUGE_VAL;
    return isnan(*special) || is_infinity_word(p, end, grammar) ? HR__PARSED : HR__NO_NUMBER;
}

hr__parsed hr__parse_double(const char *text, size_t size, hr__grammar grammar, double *out)
{
    decimal d;
    bool is_special;
    double value;
    if (size == 0) return HR__NO_NUMBER;
    hr__parsed parsed = scan_float(text, size, grammar, false, &d, &is_special, &value);
    if (parsed != HR__PARSED) return parsed;
    if (!is_special) value = double_of(&d);
    *out = d.negative ? -value : value;
    return HR__PARSED;
}

hr__parsed hr__parse_float(const char *text, size_t size, hr__grammar grammar, float *out)
{
    decimal d;
    bool is_special;
    double special;
    if (size == 0) return HR__NO_NUMBER;
    hr__parsed parsed = scan_float(text, size, grammar, true, &d, &is_special, &special);
    if (parsed != HR__PARSED) return parsed;
    float value = !is_special ? float_of(&d) : special > (double)FLT_MAX ? HUGE_VALF : (float)special;
    if (grammar == HR__NUMBER_TF_COMPAT && value < FLT_MIN) value = 0;
    *out = d.negative ? -value : value;
    return HR__PARSED;
}
