/* TensorFlow's way to read a record's bytes: a stream with a limit that only ever narrows. A length that reaches
 * beyond the enclosing message is ignored, and reading goes on to the end of that. Every read is bounded by the
 * scan's end. */
#ifndef HR_EXAMPLE_STREAM_H
#define HR_EXAMPLE_STREAM_H

#include "io/example/example_decode.h"

enum { HR__TAG_1 = 0x0a, HR__TAG_2 = 0x12, HR__TAG_3 = 0x1a, HR__TAG_FLOAT = 0x0d, HR__TAG_INT64 = 0x08 };

/* Lengths are read as 64 bits and cut to 32. */
static inline bool hr__stream_length(hr__scan *s, uint32_t *length)
{
    uint64_t v;
    if (!hr__scan_varint(s, 10, &v)) return false;
    *length = (uint32_t)v;
    return true;
}

/* Only the tag's shortest form is recognised. */
static inline bool hr__stream_tag(hr__scan *s, uint8_t tag)
{
    if (s->p == s->end || *s->p != tag) return false;
    s->p++;
    return true;
}

/* The message of that length, or what is left of the one around it. */
static inline hr__scan hr__stream_narrowed(const hr__scan *s, uint32_t length)
{
    hr__scan inner = *s;
    if (length <= INT32_MAX && length < (uint64_t)(s->end - s->p)) inner.end = s->p + length;
    return inner;
}

static inline bool hr__stream_skip(hr__scan *s, uint32_t count)
{
    if (count > INT32_MAX || count > (uint64_t)(s->end - s->p)) return false;
    s->p += count;
    return true;
}

static inline bool hr__stream_bytes(hr__scan *s, hr__scan *bytes)
{
    uint32_t length;
    if (!hr__stream_length(s, &length)) return false;
    bytes->p = s->p;
    if (!hr__stream_skip(s, length)) return false;
    bytes->end = s->p;
    return true;
}

/* Skips an unknown field of the record. Groups are refused. A field that reaches beyond the record ends it, and nothing
 * is skipped for a length that is negative in 32 bits. */
static inline bool hr__stream_unknown(hr__scan *s)
{
    uint64_t tag, number;
    uint32_t length;
    if (!hr__scan_varint(s, 10, &tag)) return false;
    switch (tag & 7) {
    case HR__WIRE_VARINT:
        return hr__scan_varint(s, 10, &number);
    case HR__WIRE_64:
        return hr__stream_skip(s, 8);
    case HR__WIRE_BYTES:
        if (!hr__stream_length(s, &length)) return false;
        if (length <= INT32_MAX) s->p = hr__stream_narrowed(s, length).end;
        return true;
    case HR__WIRE_32:
        return hr__stream_skip(s, 4);
    default:
        return false;
    }
}

#endif
