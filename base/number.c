/* Numbers from text and back. A decimal of at most 53 bits with a power of ten up to 22 needs one exact product or
 * quotient, which rounds once (Clinger); all others go to strtod as digits and an exponent, without the point that a
 * locale might spell otherwise. */
#include "base/number.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- pieces of text ---- */

static inline bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
static inline bool is_digit(char c) { return (unsigned char)(c - '0') < 10; }

static inline void trim(const char **p, const char **end)
{
    while (*p < *end && is_space(**p)) ++*p;
    while (*p < *end && is_space((*end)[-1])) --*end;
}

static inline uint64_t load8(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

static inline bool are_8_digits(uint64_t v)
{
    const uint64_t high = UINT64_C(0xf0f0f0f0f0f0f0f0);
    return ((v & high) | ((v + UINT64_C(0x0606060606060606)) & high) >> 4) == UINT64_C(0x3333333333333333);
}

/* Neighbours are joined: digits to pairs, pairs to fours, fours to the eight. */
static inline uint32_t value_of_8(uint64_t v)
{
    v = (v & UINT64_C(0x0f0f0f0f0f0f0f0f)) * 2561 >> 8;
    v = (v & UINT64_C(0x00ff00ff00ff00ff)) * 6553601 >> 16;
    return (uint32_t)((v & UINT64_C(0x0000ffff0000ffff)) * UINT64_C(42949672960001) >> 32);
}

/* Reads digits as far as they go, at most 19 of them: any 19 fit. */
static inline const char *digits_19(const char *p, const char *end, uint64_t *value)
{
    uint64_t v = 0;
    if (end - p > 19) end = p + 19;
    for (; end - p >= 8; p += 8) {
        uint64_t eight = load8(p);
        if (!are_8_digits(eight)) break;
        v = v * 100000000 + value_of_8(eight);
    }
    for (; p < end && is_digit(*p); p++) v = v * 10 + (uint64_t)(*p - '0');
    *value = v;
    return p;
}

/* ---- integers ---- */

static inline hr__parsed magnitude(const char *p, const char *end, uint64_t *out)
{
    const char *begin = p;
    while (end - p > 19 && *p == '0') p++;
    uint64_t value;
    p = digits_19(p, end, &value);
    if (p == begin) return HR__NO_NUMBER;
    bool overflow = false;
    for (; p < end && is_digit(*p); p++)
        overflow |=
            __builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, (uint64_t)(*p - '0'), &value);
    if (p < end) return HR__NO_NUMBER;
    *out = value;
    return overflow ? HR__OVERFLOW : HR__PARSED;
}

static inline hr__parsed signed_magnitude(const char *p, const char *end, hr__grammar grammar, bool *negative,
                                          uint64_t *out)
{
    trim(&p, &end);
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
static inline hr__parsed parse_signed(const char *text, size_t size, hr__grammar grammar, uint64_t most, int64_t *out)
{
    if (size == 0) return HR__NO_NUMBER;
    bool negative;
    uint64_t value = 0;
    hr__parsed parsed = signed_magnitude(text, text + size, grammar, &negative, &value);
    if (parsed != HR__PARSED) return parsed;
    if (value > most + negative) return HR__OVERFLOW;
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

/* ---- floats ---- */

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

enum { MOST_EXPONENT = 100000 }; /* beyond, all is infinity or zero, even with the digits of a long text in front */

static const char *scan_exponent(const char *p, const char *end, int64_t *exponent)
{
    const char *begin = p;
    if (p == end || (*p != 'e' && *p != 'E')) return p;
    p++;
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    if (p == end || !is_digit(*p)) return begin;
    int64_t value = 0;
    for (; p < end && is_digit(*p); p++)
        if (value < INT64_MAX / 16) value = value * 10 + (*p - '0');
    *exponent += negative ? -value : value;
    return p;
}

/* Digits beyond the nineteenth significant one: they only count. */
static void scan_rest(const char *p, const char *end, decimal *d)
{
    bool behind_point = false;
    int significant = 0;
    d->mantissa = 0;
    d->exponent = 0;
    for (; p < end; p++) {
        if (*p == '.') {
            behind_point = true;
            continue;
        }
        if (significant > 0 || *p != '0') significant++;
        if (significant <= 19)
            d->mantissa = d->mantissa * 10 + (uint64_t)(*p - '0');
        else if (*p != '0')
            d->exact = false;
        d->exponent += (significant > 19 ? 1 : 0) - (behind_point ? 1 : 0);
        if (significant > 19) significant = 20;
    }
}

/* digits . digits e digits, to the end of the text. */
static bool scan_decimal(const char *p, const char *end, decimal *d)
{
    d->digits = p;
    d->exact = true;
    d->exponent = 0;
    const char *point = digits_19(p, end, &d->mantissa);
    const char *q = point;
    while (q < end && is_digit(*q)) q++;
    bool many = q > point;
    int64_t count = q - p;
    if (q < end && *q == '.') {
        uint64_t fraction;
        const char *begin = ++q;
        q = digits_19(q, end, &fraction);
        while (q < end && is_digit(*q)) q++;
        int64_t behind = q - begin;
        count += behind;
        many |= count > 19;
        if (!many) {
            d->mantissa = d->mantissa * (uint64_t)powers_of_ten[behind] + fraction;
            d->exponent = -behind;
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
    if (exponent > MOST_EXPONENT) exponent = MOST_EXPONENT;
    if (exponent < -MOST_EXPONENT) exponent = -MOST_EXPONENT;
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
 * bit is set if anything was lost behind it. */
static double round_binary(uint64_t mantissa, int64_t exponent, int precision, int least)
{
    if (mantissa == 0) return 0;
    int shift = __builtin_clzll(mantissa);
    mantissa <<= shift; /* its first bit is worth 2^(exponent + 63) now */
    exponent -= shift;
    if (exponent > 2000) return HUGE_VAL;
    if (exponent < -2000) return 0;
    int drop = 64 - precision;
    if (exponent + drop < least) drop = (int)(least - exponent);
    if (drop > 64) return 0;
    uint64_t kept = drop == 64 ? 0 : mantissa >> drop, half = UINT64_C(1) << (drop - 1);
    uint64_t rest = drop == 64 ? mantissa : mantissa & (half * 2 - 1);
    if (rest > half || (rest == half && (kept & 1))) kept++;
    return ldexp((double)kept, (int)exponent + drop);
}

static int hex_value(char c)
{
    if (is_digit(c)) return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Behind "0x": digits . digits p exponent, to the end of the text. */
static bool scan_hex(const char *p, const char *end, hr__grammar grammar, uint64_t *mantissa, int64_t *exponent)
{
    bool any = false, behind_point = false;
    *mantissa = 0;
    *exponent = 0;
    for (; p < end; p++) {
        int digit = hex_value(*p);
        if (*p == '.' && !behind_point && grammar == HR__NUMBER_DEFAULT) {
            behind_point = true;
            continue;
        }
        if (digit < 0) break;
        any = true;
        bool full = *mantissa >> 60;
        *mantissa = full ? *mantissa | (digit != 0) : *mantissa << 4 | (uint64_t)digit;
        *exponent += (full ? 4 : 0) - (behind_point ? 4 : 0);
    }
    if (!any) return false;
    if (p == end) return true;
    if (grammar != HR__NUMBER_DEFAULT || (*p | 32) != 'p' || ++p == end) return false;
    bool negative = *p == '-';
    if (*p == '-' || *p == '+') p++;
    if (p == end) return false;
    int64_t value = 0;
    for (; p < end && is_digit(*p); p++)
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
        if (!is_digit(*p) && *p != '_' && !((*p | 32) >= 'a' && (*p | 32) <= 'z')) return false;
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
    trim(&p, &end);
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
    if (p < end && (is_digit(*p) || *p == '.')) {
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

/* ---- back to text ---- */

/* The digits of "%.*e", whatever the locale's point is, and the exponent of the first one; gives their number. */
static int digits_of(double value, int precision, char digits[24], int *exponent)
{
    char text[64];
    snprintf(text, sizeof text, "%.*e", precision - 1, value);
    int count = 0;
    const char *p = text;
    for (; *p && *p != 'e'; p++)
        if (is_digit(*p)) digits[count++] = *p;
    *exponent = *p ? atoi(p + 1) : 0;
    while (count > 1 && digits[count - 1] == '0') count--;
    digits[count] = '\0';
    return count;
}

/* As %g lays digits out: plain for 1e-4 <= value < 1e16, with an exponent otherwise. */
static int lay_out(bool negative, const char *digits, int count, int exponent, char text[HR__NUMBER_TEXT])
{
    const char *sign = negative ? "-" : "";
    if (exponent < -4 || exponent >= 16)
        return snprintf(text, HR__NUMBER_TEXT, "%s%c%s%.*se%+03d", sign, digits[0], count > 1 ? "." : "", count - 1,
                        digits + 1, exponent);
    if (exponent < 0) return snprintf(text, HR__NUMBER_TEXT, "%s0.%.*s%s", sign, -exponent - 1, "0000", digits);
    if (count <= exponent + 1)
        return snprintf(text, HR__NUMBER_TEXT, "%s%s%.*s", sign, digits, exponent + 1 - count, "0000000000000000");
    return snprintf(text, HR__NUMBER_TEXT, "%s%.*s.%s", sign, exponent + 1, digits, digits + exponent + 1);
}

static int format_special(double value, char text[HR__NUMBER_TEXT])
{
    const char *sign = signbit(value) ? "-" : "";
    if (isnan(value)) return snprintf(text, HR__NUMBER_TEXT, "nan");
    return snprintf(text, HR__NUMBER_TEXT, "%s%s", sign, value == 0 ? "0" : "inf");
}

int hr__format_double(double value, char text[HR__NUMBER_TEXT])
{
    if (!isfinite(value) || value == 0) return format_special(value, text);
    char digits[24];
    int exponent, length = 0;
    for (int precision = fabs(value) < DBL_MIN ? 1 : 15; precision <= 17; precision++) {
        double back;
        int count = digits_of(fabs(value), precision, digits, &exponent);
        length = lay_out(value < 0, digits, count, exponent, text);
        if (hr__parse_double(text, (size_t)length, HR__NUMBER_DEFAULT, &back) == HR__PARSED && back == value) break;
    }
    return length;
}

int hr__format_float(float value, char text[HR__NUMBER_TEXT])
{
    if (!isfinite(value) || value == 0) return format_special((double)value, text);
    char digits[24];
    int exponent, length = 0;
    for (int precision = fabsf(value) < FLT_MIN ? 1 : 6; precision <= 9; precision++) {
        float back;
        int count = digits_of(fabs((double)value), precision, digits, &exponent);
        length = lay_out(value < 0, digits, count, exponent, text);
        if (hr__parse_float(text, (size_t)length, HR__NUMBER_DEFAULT, &back) == HR__PARSED && back == value) break;
    }
    return length;
}

int hr__format_int64(int64_t value, char text[HR__NUMBER_TEXT])
{
    char reversed[HR__NUMBER_TEXT];
    int count = 0, length = 0;
    uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do {
        reversed[count++] = (char)('0' + left % 10);
        left /= 10;
    } while (left);
    if (value < 0) text[length++] = '-';
    while (count) text[length++] = reversed[--count];
    text[length] = '\0';
    return length;
}
