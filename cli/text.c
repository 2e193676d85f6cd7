/* See text.h. The memory is doubled when it is full. */
#include "cli/text.h"
#include <headrace/examples.h>
#include <string.h>

static bool text_reserve(text_buffer *t, size_t size)
{
    if (t->failed) return false;
    size_t capacity = t->capacity ? t->capacity : 256;
    while (capacity - t->size <= size && capacity <= SIZE_MAX / 4) capacity *= 2;
    if (capacity == t->capacity) return true;
    char *data = capacity - t->size > size ? hr_realloc(t->data, capacity) : NULL;
    t->failed = !data;
    if (!data) return false;
    t->data = data;
    t->capacity = capacity;
    return true;
}

static void text_bytes(text_buffer *t, const char *data, size_t size)
{
    if (!text_reserve(t, size)) return;
    if (size) memcpy(t->data + t->size, data, size);
    t->size += size;
    t->data[t->size] = '\0';
}

void text_add(text_buffer *t, const char *string) { text_bytes(t, string, strlen(string)); }

void text_byte(text_buffer *t, char byte) { text_bytes(t, &byte, 1); }

void text_quoted(text_buffer *t, hr_view bytes)
{
    char *json = NULL;
    if (hr_json_quote(bytes, &json, NULL) == HR_OK)
        text_add(t, json);
    else
        t->failed = true;
    hr_free(json);
}

void text_base64(text_buffer *t, hr_view bytes)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *p = (const unsigned char *)bytes.data;
    for (int64_t i = 0; i < bytes.size; i += 3) {
        const int64_t left = bytes.size - i;
        const unsigned bits =
            (unsigned)p[i] << 16 | (left > 1 ? (unsigned)p[i + 1] << 8 : 0) | (left > 2 ? (unsigned)p[i + 2] : 0);
        char four[4];
        for (int k = 0; k < 4; k++) four[k] = k <= left ? letters[bits >> (18 - 6 * k) & 63] : '=';
        text_bytes(t, four, sizeof four);
    }
}

void text_word(text_buffer *t, hr_view word)
{
    bool plain = word.size > 0;
    for (int64_t i = 0; i < word.size; i++) plain &= word.data[i] > ' ' && word.data[i] < 127 && word.data[i] != '"';
    if (plain)
        text_bytes(t, word.data, (size_t)word.size);
    else
        text_quoted(t, word);
}

void text_free(text_buffer *t)
{
    hr_free(t->data);
    *t = (text_buffer){0};
}
