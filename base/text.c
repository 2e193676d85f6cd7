/* A growing text, doubled when it is full, or grown by a quarter if it is long; always NUL-terminated. After a failure
 * nothing more is appended. */
#include "base/text.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LONG = 4 << 20 };

char *hr__text_reserve(hr__text *text, size_t size)
{
    if (text->failed) return NULL;
    if (size < text->capacity - text->size) return text->data + text->size;
    size_t capacity = text->capacity ? text->capacity : 64;
    while (capacity - text->size <= size && capacity <= SIZE_MAX / 4)
        capacity += capacity < LONG ? capacity : capacity / 4;
    char *data = capacity - text->size > size ? hr_realloc(text->data, capacity) : NULL;
    if (!data) {
        text->failed = true;
        return NULL;
    }
    text->data = data;
    text->capacity = capacity;
    data[text->size] = '\0';
    return data + text->size;
}

void hr__text_bytes(hr__text *text, const void *data, size_t size)
{
    char *end = hr__text_reserve(text, size);
    if (!end) return;
    if (size) memcpy(end, data, size);
    end[size] = '\0';
    text->size += size;
}

void hr__text_add(hr__text *text, const char *string) { hr__text_bytes(text, string, strlen(string)); }

void hr__text_byte(hr__text *text, char byte) { hr__text_bytes(text, &byte, 1); }

void hr__text_printf(hr__text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *end = size < 0 ? NULL : hr__text_reserve(text, (size_t)size);
    if (!end) return;
    va_start(args, format);
    vsnprintf(end, (size_t)size + 1, format, args);
    va_end(args);
    text->size += (size_t)size;
}

static uint32_t code_point(const unsigned char *p, size_t length)
{
    uint32_t point = length == 1 ? p[0] : p[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) point = point << 6 | (p[i] & 0x3f);
    return point;
}

/* Bytes of the UTF-8 character at `p`; 0: there is none. Overlong forms and surrogates are none. */
static size_t utf8_length(const unsigned char *p, size_t size)
{
    static const uint32_t min[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = p[0] < 0x80 ? 1 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : p[0] >= 0xe0 && p[0] < 0xf0 ? 3 : 4;
    if (length == 1) return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4 || length > size) return 0;
    for (size_t i = 1; i < length; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    const uint32_t point = code_point(p, length);
    return point < min[length] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000) ? 0 : length;
}

size_t hr__utf8_sound(const char *text, size_t size)
{
    const uint64_t high = UINT64_C(0x8080808080808080);
    size_t at = 0;
    while (at < size) {
        uint64_t eight = high;
        if (size - at >= 8) memcpy(&eight, text + at, 8);
        size_t length = eight & high ? utf8_length((const unsigned char *)text + at, size - at) : 8;
        if (length == 0) break;
        at += length;
    }
    return at;
}

bool hr__is_utf8(const char *data, size_t size) { return hr__utf8_sound(data, size) == size; }

/* Controls, and what YAML, of which JSON is a part, takes for the end of a line or does not take at all. */
static bool is_unprintable(uint32_t point)
{
    return point < 0x20 || (point >= 0x7f && point < 0xa0) || point == 0x2028 || point == 0x2029 || point == 0xfeff ||
           point == 0xfffe || point == 0xffff;
}

static void json_character(hr__text *text, const unsigned char *p, size_t length)
{
    static const char plain[] = "\"\\\b\f\n\r\t", letter[] = "\"\\bfnrt";
    const char *at = length == 1 && p[0] ? strchr(plain, p[0]) : NULL;
    if (length == 0)
        hr__text_add(text, "\xef\xbf\xbd");
    else if (at)
        hr__text_bytes(text, (char[]){'\\', letter[at - plain]}, 2);
    else if (is_unprintable(code_point(p, length)))
        hr__text_printf(text, "\\u%04x", code_point(p, length));
    else
        hr__text_bytes(text, p, length);
}

void hr__text_json(hr__text *text, const char *data, size_t size)
{
    hr__text_byte(text, '"');
    for (size_t i = 0; i < size;) {
        const unsigned char *p = (const unsigned char *)data + i;
        size_t length = utf8_length(p, size - i);
        json_character(text, p, length);
        i += length ? length : 1;
    }
    hr__text_byte(text, '"');
}

void hr__text_clear(hr__text *text)
{
    if (text->capacity > LONG) hr__text_free(text);
    text->size = 0;
    text->failed = false;
    if (text->data) text->data[0] = '\0';
}

hr_status hr__text_status(const hr__text *text, const char *what, hr_error *err)
{
    return text->failed ? hr_no_memory(err, what) : HR_OK;
}

char *hr__text_take(hr__text *text)
{
    hr__text_reserve(text, 0);
    char *data = text->failed ? NULL : text->data;
    if (!data) hr_free(text->data);
    *text = (hr__text){0};
    return data;
}

void hr__text_free(hr__text *text)
{
    hr_free(text->data);
    *text = (hr__text){0};
}

char *hr__path_in(const char *folder, const char *name)
{
    if (!name || name[0] == '/' || !folder || !folder[0]) return hr_strdup(name);
    size_t length = strlen(folder);
    while (length > 0 && folder[length - 1] == '/') length--;
    const size_t rest = strlen(name) + 2;
    char *path = hr_malloc(length + rest);
    if (!path) return NULL;
    memcpy(path, folder, length);
    snprintf(path + length, rest, "/%s", name);
    return path;
}
