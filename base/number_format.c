/* Numbers as text: enough digits to read back as the same number, under any locale. */
#include "base/digits.h"
#include "base/number.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The digits of "%.*e", whatever the locale's point is, and the exponent of the first one; gives their number. */
static int digits_of(double value, int precision, char digits[24], int *exponent)
{
    char text[64];
    snprintf(text, sizeof text, "%.*e", precision - 1, value);
    int count = 0;
    const char *p = text;
    for (; *p && *p != 'e'; p++)
        if (hr__is_digit(*p)) digits[count++] = *p;
    *exponent = *p ? atoi(p + 1) : 0;
    while (count > 1 && digits[count - 1] == '0') count--;
    digits[count] = '\0';
    return count;
}

/* As %g lays digits out: plain for 1e-4 <= value < 1e16, with an exponent otherwise. */
static int number_format_lay_out(bool negative, const char *digits, int count, int exponent, char text[HR__NUMBER_TEXT])
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
        length = number_format_lay_out(value < 0, digits, count, exponent, text);
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
        length = number_format_lay_out(value < 0, digits, count, exponent, text);
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

/* How many bytes stand before the exponent; *zero: no digit is other than 0. */
static size_t mantissa_of(const char *text, size_t size, bool *zero)
{
    size_t n = 0;
    *zero = true;
    for (; n < size && text[n] != 'e' && text[n] != 'E'; n++)
        if (text[n] >= '1' && text[n] <= '9') *zero = false;
    return n;
}

/* Digits with a point or without one: digits / 10^decimals, of which double takes both without loss. */
static bool plain_decimal(const char *text, size_t size, uint64_t *digits, int *decimals)
{
    enum { MAX = 16 };
    size_t point = size;
    uint64_t sum = 0;
    if (size > 0 && *text == '-') text++, size--, point--;
    if (size - 1 >= MAX) return false;
    for (size_t i = 0; i < size; i++) {
        const unsigned digit = (unsigned char)text[i] - (unsigned)'0';
        if (digit < 10)
            sum = sum * 10 + digit;
        else if (text[i] == '.' && point == size)
            point = i;
        else
            return false;
    }
    *digits = sum;
    *decimals = point == size ? 0 : (int)(size - point - 1);
    return size - (point != size) > 0 && !(sum >> 53);
}

/* The distance of a normal float to the next one. */
static double float_step(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits & 0x7f800000) - (23U << 23);
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static bool is_power_of_two(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (bits & 0x7fffff) == 0;
}

/* Whether a plain decimal rounds, where that is certain without the shortest text of its float; -1: it is not. Decimals
 * of so many places that lie further apart than floats are all different floats. Where floats lie further apart, the
 * one of these places that is nearest to the float is kept, unless one place less says the same float. */
static int plain_rounds(uint64_t digits, int decimals)
{
    static const double power[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    while (decimals > 0 && digits % 10 == 0) digits /= 10, decimals--;
    if (digits < 1000000) return false;
    if (digits % 10 == 0) return -1;
    if (digits >= 1000000000) return true; /* a float's text has nine digits at most */
    const float kept = (float)((double)digits / power[decimals]);
    /* Both in units of the last digit. */
    const double step = float_step(kept) * power[decimals], scaled = (double)kept * power[decimals];
    const double away = fabs(scaled - (double)digits);
    if (step < 1) return false;
    const double shorter = 10 * (double)(int64_t)(scaled * 0.1 + 0.5), off = fabs(shorter - scaled) * 2;
    const bool is_close = (fabs(away - 0.5) < 1e-3) | (fabs(off - step) < 1e-3);
    if (is_close || decimals == 0 || is_power_of_two(kept)) return -1; /* floats below a power of two lie closer */
    return (away > 0.5) | (off < step);
}

/* Six digits never are rounded, but for what only an exponent makes so small. */
bool hr__float_rounds(const char *text, size_t size)
{
    uint64_t digits;
    int decimals;
    const int certain = plain_decimal(text, size, &digits, &decimals) ? plain_rounds(digits, decimals) : -1;
    if (certain >= 0) return certain;
    float single;
    double written, kept;
    char again[HR__NUMBER_TEXT];
    bool zero;
    if (mantissa_of(text, size, &zero) == size && size <= HR__NEVER_ROUNDED) return false;
    if (hr__parse_float(text, size, HR__NUMBER_DEFAULT, &single) != HR__PARSED) return false;
    if (single == 0) return !zero;
    if (!isfinite(single) || hr__parse_double(text, size, HR__NUMBER_DEFAULT, &written) != HR__PARSED) return false;
    const size_t length = (size_t)hr__format_float(single, again);
    return hr__parse_double(again, length, HR__NUMBER_DEFAULT, &kept) == HR__PARSED && kept != written;
}

void hr__note_rounded(hr__rounded *to, const char *text, size_t size, int64_t record)
{
    const bool rounds = hr__float_rounds(text, size), is_first = to->count == 0 || record < to->record;
    to->count += rounds; /* about every second one of many: not worth a jump */
    if (!(rounds & is_first)) return;
    to->record = record;
    snprintf(to->first, sizeof to->first, "%.*s", size < sizeof to->first ? (int)size : (int)sizeof to->first - 1,
             text);
}

bool hr__has_decimal_comma(const char *text, size_t size)
{
    const char *comma = size > 0 ? memchr(text, ',', size) : NULL;
    if (size > 0 && (*text == '-' || *text == '+')) text++, size--;
    if (!comma || comma == text || comma + 1 == text + size) return false;
    for (size_t i = 0; i < size; i++)
        if (!hr__is_digit(text[i]) && text + i != comma) return false;
    return true;
}
