/* Writes JSON to a text; encodes and decodes base64. */
#include "io/json/json_writer.h"
#include "base/number.h"
#include <headrace/examples.h>
#include <math.h>
#include <string.h>

static void json_writer_separate(hr__json_writer *w)
{
    if (w->follows) hr__text_add(w->to, w->compact ? "," : ", ");
    w->follows = true;
}

void hr__json_begin(hr__json_writer *w, char bracket)
{
    json_writer_separate(w);
    hr__text_byte(w->to, bracket);
    w->follows = false;
}

void hr__json_end(hr__json_writer *w, char bracket)
{
    hr__text_byte(w->to, bracket);
    w->follows = true;
}

void hr__json_key_view(hr__json_writer *w, hr_view key)
{
    json_writer_separate(w);
    hr__text_json(w->to, key.data, (size_t)key.size);
    hr__text_add(w->to, w->compact ? ":" : ": ");
    w->follows = false;
}

void hr__json_key(hr__json_writer *w, const char *key) { hr__json_key_view(w, (hr_view){key, (int64_t)strlen(key)}); }

void hr__json_literal(hr__json_writer *w, const char *literal)
{
    json_writer_separate(w);
    hr__text_add(w->to, literal);
}

void hr__json_string(hr__json_writer *w, hr_view text)
{
    json_writer_separate(w);
    hr__text_json(w->to, text.data, (size_t)text.size);
}

void hr__json_int64(hr__json_writer *w, int64_t value)
{
    char text[HR__NUMBER_TEXT];
    json_writer_separate(w);
    hr__text_bytes(w->to, text, (size_t)hr__format_int64(value, text));
}

static void put_real(hr__json_writer *w, const char *digits, double value)
{
    if (!isfinite(value)) {
        hr__json_literal(w, isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
        return;
    }
    hr__json_literal(w, digits);
    if (!strpbrk(digits, ".e")) hr__text_add(w->to, ".0");
}

void hr__json_float(hr__json_writer *w, float value)
{
    char text[HR__NUMBER_TEXT];
    hr__format_float(value, text);
    put_real(w, text, (double)value);
}

hr_status hr_json_quote(hr_view text, char **json, hr_error *err)
{
    hr__text to = {0};
    if (!json)
        return hr_fail(err, HR_INVALID_ARGUMENT, "json.argument",
                       "hr_json_quote: expected where to put the text, got NULL");
    hr__text_json(&to, text.data, (size_t)text.size);
    *json = hr__text_take(&to);
    return *json ? HR_OK : hr_no_memory(err, "a text as JSON");
}

bool hr_is_utf8(hr_view text) { return hr__is_utf8(text.data, (size_t)text.size); }

/* ---- base64 ---- */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void hr__base64_encode(hr_view bytes, hr__text *to)
{
    const unsigned char *p = (const unsigned char *)bytes.data;
    for (int64_t i = 0; i < bytes.size; i += 3) {
        const int64_t left = bytes.size - i;
        uint32_t bits = (uint32_t)p[i] << 16 | (left > 1 ? (uint32_t)p[i + 1] << 8 : 0) | (left > 2 ? p[i + 2] : 0);
        char four[4];
        for (int k = 0; k < 4; k++) four[k] = k <= left ? letters[bits >> (18 - 6 * k) & 63] : '=';
        hr__text_bytes(to, four, sizeof four);
    }
}

void hr__json_base64(hr__json_writer *w, hr_view bytes)
{
    json_writer_separate(w);
    hr__text_byte(w->to, '"');
    hr__base64_encode(bytes, w->to);
    hr__text_byte(w->to, '"');
}

static int letter_value(char c)
{
    if (c == '-') c = '+';
    if (c == '_') c = '/';
    const char *at = c ? strchr(letters, c) : NULL;
    return at ? (int)(at - letters) : -1;
}

bool hr__base64_decode(hr_view text, hr__text *to)
{
    int64_t size = text.size;
    for (int i = 0; i < 2 && size > 0 && size % 4 == (i ? 3 : 0) && text.data[size - 1] == '='; i++) size--;
    if (size % 4 == 1 || (size < text.size && text.size % 4 != 0)) return false;
    uint32_t bits = 0;
    for (int64_t i = 0; i < size; i++) {
        const int value = letter_value(text.data[i]);
        if (value < 0) return false;
        bits = bits << 6 | (uint32_t)value;
        if (i % 4 > 0) hr__text_byte(to, (char)(bits >> (6 - 2 * (i % 4))));
    }
    /* Bits that belong to no byte are zero, so that one text means one sequence of bytes. */
    return size % 4 == 0 || (bits & (size % 4 == 2 ? 0xf : 0x3)) == 0;
}
