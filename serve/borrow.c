/* Strings of a TensorProto, as views into its bytes: serialized Examples are most of what a request has, and nobody
 * changes them. */
#include "serve/internal.h"

typedef struct scan {
    const char *at, *end;
} scan;

static bool scan_varint(scan *s, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; s->at < s->end && shift < 64; shift += 7) {
        const unsigned char byte = (unsigned char)*s->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

static bool scan_bytes(scan *s, scan *inner)
{
    uint64_t size;
    if (!scan_varint(s, &size) || size > (uint64_t)(s->end - s->at)) return false;
    *inner = (scan){s->at, s->at + size};
    s->at += size;
    return true;
}

enum { DTYPE = 1 << 3, SHAPE = 2 << 3 | 2, STRING = 8 << 3 | 2, DIM = 2 << 3 | 2, SIZE = 1 << 3 };

/* TensorShapeProto {dim = 2 {size = 1}}. */
static bool scan_shape(scan s, hr_shape *shape)
{
    uint64_t tag, size;
    scan dim;
    *shape = HR_SCALAR;
    while (s.at < s.end) {
        if (shape->rank == HR_MAX_RANK || !scan_varint(&s, &tag) || tag != DIM || !scan_bytes(&s, &dim)) return false;
        size = 0;
        if (dim.at < dim.end && (!scan_varint(&dim, &tag) || tag != SIZE || !scan_varint(&dim, &size))) return false;
        if (dim.at < dim.end || size > INT64_MAX) return false;
        shape->dims[shape->rank++] = (int64_t)size;
    }
    return true;
}

/* Puts the strings into `to`, unless it is NULL, and counts them. */
static bool scan_tensor(scan s, hr_shape *shape, hr_view *to, int64_t *count)
{
    uint64_t tag, dtype = 0;
    bool shaped = false;
    scan part;
    for (*count = 0; s.at < s.end;) {
        if (!scan_varint(&s, &tag)) return false;
        if (tag == DTYPE) {
            if (!scan_varint(&s, &dtype)) return false;
        } else if (tag == SHAPE && !shaped) {
            if (!scan_bytes(&s, &part) || !scan_shape(part, shape)) return false;
            shaped = true;
        } else if (tag == STRING && scan_bytes(&s, &part)) {
            if (to) to[*count] = (hr_view){part.at, part.end - part.at};
            ++*count;
        } else {
            return false;
        }
    }
    return shaped && dtype == HR_STRING;
}

bool hr__borrow_strings(hr_view message, hr__pool_memory *memory, hr_tensor *out)
{
    const scan whole = {message.data, message.data + message.size};
    hr_shape shape;
    int64_t count;
    if (!scan_tensor(whole, &shape, NULL, &count) || hr_shape_count(shape) != count) return false;
    hr_view *strings = hr__memory_take(memory, (size_t)count * sizeof *strings);
    if (!strings) return false;
    scan_tensor(whole, &shape, strings, &count);
    *out = hr_tensor_of(HR_STRING, shape, strings);
    return true;
}
