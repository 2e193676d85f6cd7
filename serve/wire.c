/* Protobuf's wire format, written. */
#include "serve/internal.h"

#include <string.h>

void hr__say_varint(hr__text *to, uint64_t value)
{
    char bytes[10];
    int size = 0;
    for (; value >= 0x80; value >>= 7) bytes[size++] = (char)(value | 0x80);
    bytes[size++] = (char)value;
    hr__text_bytes(to, bytes, (size_t)size);
}

void hr__say_bytes(hr__text *to, int field, const char *bytes, size_t size)
{
    hr__say_varint(to, (uint64_t)field << 3 | 2);
    hr__say_varint(to, size);
    hr__text_bytes(to, bytes, size);
}

void hr__say_string(hr__text *to, int field, const char *text)
{
    if (*text) hr__say_bytes(to, field, text, strlen(text));
}

void hr__say_number(hr__text *to, int field, uint64_t value)
{
    if (!value) return;
    hr__say_varint(to, (uint64_t)field << 3);
    hr__say_varint(to, value);
}

void hr__say_message(hr__text *to, int field, hr__text *message)
{
    hr__say_bytes(to, field, message->data ? message->data : "", message->size);
    to->failed |= message->failed;
    hr__text_free(message);
}
