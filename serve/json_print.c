/* Numbers, strings and values as TensorFlow Serving writes them. */
#include "serve/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SHOWN = 64 << 10 };

const char *hr__doc_type_name(const hr__doc *value)
{
    static const char *const names[] = {"Null", "False", "True", "Object", "Array", "String", "Number"};
    return names[value->type];
}

/* ---- numbers ---- */

static void add_real(hr__text *to, const char *text, int size)
{
    hr__text_bytes(to, text, (size_t)size);
    if (strcspn(text, ".e") == (size_t)size) hr__text_bytes(to, ".0", 2);
}

static bool add_special(double value, hr__text *to)
{
    if (isfinite(value)) return false;
    hr__text_add(to, isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
    return true;
}

/* Writes a number, of `places` digits after the point, without zeros at its end. */
static int put_fixed(char *text, bool minus, uint32_t whole, uint32_t fraction, int places)
{
    char *p = text, digits[12];
    int count = 0;
    if (minus) *p++ = '-';
    do digits[count++] = (char)('0' + whole % 10);
    while (whole /= 10);
    while (count) *p++ = digits[--count];
    while (places > 0 && fraction % 10 == 0) fraction /= 10, places--;
    *p++ = '.';
    if (places == 0) *p++ = '0';
    for (int i = places - 1; i >= 0; i--, fraction /= 10) p[i] = (char)('0' + fraction % 10);
    p += places;
    *p = 0;
    return (int)(p - text);
}

/* What %g, or else %.9g, prints of numbers in [1e-4, 1e6), from integers: a float times a power of ten up to 10^13 is
 * rounded once in a double. False: not such a number, or too close to call. */
static bool add_plain_float(float value, hr__text *to)
{
    static const double power[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13};
    const float size = fabsf(value);
    if (!(size >= 1e-4f && size < 1e6f)) return false;
    const double half = (double)(nextafterf(size, INFINITY) - size) / 2;
    int whole = -4; /* digits before the point, or less by the zeros after it */
    while (whole < 6 && (double)size >= (whole < 0 ? 1 / power[-whole] : power[whole])) whole++;
    for (int digits = 6; digits <= 9; digits += 3) {
        const int places = digits - whole;
        const double scaled = (double)size * power[places], nearest = rint(scaled);
        if (fabs(scaled - nearest) > 0.4999) return false;
        const double off = fabs(nearest / power[places] - (double)size);
        if (digits == 6 && off > half * 1.001) continue;
        const uint64_t n = (uint64_t)nearest, unit = (uint64_t)power[places];
        if ((digits == 6 && off > half * 0.499) || n / unit >= 1000000) return false;
        char text[40];
        hr__text_bytes(to, text,
                       (size_t)put_fixed(text, value < 0, (uint32_t)(n / unit), (uint32_t)(n % unit), places));
        return true;
    }
    return false;
}

void hr__doc_add_float(float value, hr__text *to)
{
    char text[40];
    if (add_special((double)value, to)) return;
    if (add_plain_float(value, to)) return;
    int size = snprintf(text, sizeof text, "%g", (double)value);
    if (strtof(text, NULL) != value) size = snprintf(text, sizeof text, "%.9g", (double)value);
    add_real(to, text, size);
}

void hr__doc_add_double(double value, hr__text *to)
{
    char text[40];
    if (add_special(value, to)) return;
    int size = snprintf(text, sizeof text, "%g", value);
    if (strtod(text, NULL) != value) size = snprintf(text, sizeof text, "%.17g", value);
    add_real(to, text, size);
}

void hr__doc_add_int(int64_t value, hr__text *to)
{
    char text[24], *p = text + sizeof text;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do *--p = (char)('0' + left % 10);
    while (left /= 10);
    if (value < 0) *--p = '-';
    hr__text_bytes(to, p, (size_t)(text + sizeof text - p));
}

/* ---- strings ---- */

void hr__doc_quote(hr_view text, hr__text *to)
{
    static const char letter[] = "btn?fr";
    const char *p = text.data, *end = p + text.size, *plain = p;
    hr__text_byte(to, '"');
    for (; p < end; p++) {
        const unsigned char c = (unsigned char)*p;
        if (c >= 0x20 && c != '"' && c != '\\') continue;
        hr__text_bytes(to, plain, (size_t)(p - plain));
        plain = p + 1;
        if (c == '"' || c == '\\')
            hr__text_bytes(to, (char[]){'\\', (char)c}, 2);
        else if (c >= '\b' && c <= '\r' && c != '\v')
            hr__text_bytes(to, (char[]){'\\', letter[c - '\b']}, 2);
        else
            hr__text_printf(to, "\\u%04X", c);
    }
    hr__text_bytes(to, plain, (size_t)(p - plain));
    hr__text_byte(to, '"');
}

void hr__doc_add_base64_bytes(hr_view bytes, hr__text *to)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)bytes.data;
    for (int64_t i = 0; i < bytes.size; i += 3) {
        const int64_t left = bytes.size - i;
        const unsigned three =
            (unsigned)p[i] << 16 | (left > 1 ? (unsigned)p[i + 1] << 8 : 0) | (left > 2 ? p[i + 2] : 0);
        const char four[4] = {letters[three >> 18], letters[three >> 12 & 63],
                              left > 1 ? letters[three >> 6 & 63] : '=', left > 2 ? letters[three & 63] : '='};
        hr__text_bytes(to, four, 4);
    }
}

static int base64_value(unsigned char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool hr__doc_base64(hr_view text, hr__pool_memory *memory, hr_view *bytes)
{
    unsigned char *out = hr__memory_take(memory, (size_t)text.size / 4 * 3 + 4), *to = out;
    unsigned bits = 0;
    int held = 0, padding = 0;
    if (!out) return false;
    for (int64_t i = 0; i < text.size; i++) {
        const unsigned char c = (unsigned char)text.data[i];
        if (c == ' ' || (c >= '\t' && c <= '\r')) continue;
        if (c == '=') {
            padding++;
            continue;
        }
        const int value = base64_value(c);
        if (value < 0 || padding) return false;
        bits = bits << 6 | (unsigned)value;
        if (++held == 4) {
            *to++ = (unsigned char)(bits >> 16);
            *to++ = (unsigned char)(bits >> 8);
            *to++ = (unsigned char)bits;
            held = 0;
        }
    }
    if (held == 1 || (padding && held + padding != 4)) return false;
    if (held == 2) *to++ = (unsigned char)(bits >> 4);
    if (held == 3) {
        *to++ = (unsigned char)(bits >> 10);
        *to++ = (unsigned char)(bits >> 2);
    }
    *bytes = (hr_view){(const char *)out, to - out};
    return true;
}

bool hr__doc_is_base64(const hr__doc *value)
{
    if (value->type != HR__IS_OBJECT || value->count != 1) return false;
    const hr__doc *key = value->is.items;
    return key->size == 3 && memcmp(key->is.text, "b64", 3) == 0 && key[1].type == HR__IS_STRING;
}

/* ---- values over several lines ---- */

static void add_indent(hr__text *to, int level)
{
    hr__text_byte(to, '\n');
    for (int i = 0; i < level; i++) hr__text_bytes(to, "    ", 4);
}

static void print_value(const hr__doc *v, int level, size_t end, hr__text *to)
{
    if (to->size > end) return;
    switch ((hr__doc_type)v->type) {
    case HR__IS_NULL:
        hr__text_add(to, "null");
        return;
    case HR__IS_FALSE:
        hr__text_add(to, "false");
        return;
    case HR__IS_TRUE:
        hr__text_add(to, "true");
        return;
    case HR__IS_STRING:
        hr__doc_quote((hr_view){v->is.text, (int64_t)v->size}, to);
        return;
    case HR__IS_NUMBER:
        if (v->number == HR__IS_DOUBLE) hr__doc_add_float((float)v->is.d, to);
        if (v->number == HR__IS_INT) hr__doc_add_int(v->is.i, to);
        if (v->number == HR__IS_UINT) hr__text_printf(to, "%" PRIu64, v->is.u);
        return;
    case HR__IS_ARRAY:
        hr__text_byte(to, '[');
        for (uint32_t i = 0; i < v->count && to->size <= end; i++) {
            if (i) hr__text_byte(to, ',');
            add_indent(to, level + 1);
            print_value(&v->is.items[i], level + 1, end, to);
        }
        if (v->count) add_indent(to, level);
        hr__text_byte(to, ']');
        return;
    case HR__IS_OBJECT:
        hr__text_byte(to, '{');
        for (uint32_t i = 0; i < v->count && to->size <= end; i++) {
            if (i) hr__text_byte(to, ',');
            add_indent(to, level + 1);
            print_value(&v->is.items[2 * i], level + 1, end, to);
            hr__text_add(to, ": ");
            print_value(&v->is.items[2 * i + 1], level + 1, end, to);
        }
        if (v->count) add_indent(to, level);
        hr__text_byte(to, '}');
        return;
    }
}

void hr__doc_print(const hr__doc *value, hr__text *to)
{
    const size_t end = to->size + MOST_SHOWN;
    print_value(value, 0, end, to);
    if (to->size > end && to->data) {
        to->size = end;
        hr__text_add(to, "...TRUNCATED");
    }
}
