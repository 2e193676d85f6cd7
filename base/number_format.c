/* Numbers as text: enough digits to read back as the same number, under any locale. */
#include "base/digits.h"
#include "base/number.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

/* How many bytes stand before the exponent; *zero: no digit is other than 0. */
static size_t mantissa_of(const char *text, size_t size, bool *zero)
{
    size_t n = 0;
    *zero = true;
    for (; n < size && text[n] != 'e' && text[n] != 'E'; n++)
        if (text[n] >= '1' && text[n] <= '9') *zero = false;
    return n;
}

/* Six digits never are rounded, but for what only an exponent makes so small. */
bool hr__float_rounds(const char *text, size_t size)
{
    enum { EXACT = 7 /* six digits, and a point or not; seven of a whole number */ };
    float single;
    double written, kept;
    char again[HR__NUMBER_TEXT];
    bool zero;
    if (mantissa_of(text, size, &zero) == size && size <= EXACT) return false;
    if (hr__parse_float(text, size, HR__NUMBER_DEFAULT, &single) != HR__PARSED) return false;
    if (single == 0) return !zero;
    if (!isfinite(single) || hr__parse_double(text, size, HR__NUMBER_DEFAULT, &written) != HR__PARSED) return false;
    const size_t length = (size_t)hr__format_float(single, again);
    return hr__parse_double(again, length, HR__NUMBER_DEFAULT, &kept) == HR__PARSED && kept != written;
}
