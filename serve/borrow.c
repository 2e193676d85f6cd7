/* Strings of a TensorProto, as views into its bytes: serialized Examples are most of what a request has, and nobody
 * changes them. */
#include "io/example/example_decode.h"
#include "serve/internal.h"

static bool scan_number(hr__scan *s, uint64_t *value) { return hr__scan_varint(s, 10, value); }

static bool scan_bytes(hr__scan *s, hr__scan *inner)
{
    uint64_t size;
    if (!scan_number(s, &size) || size > (uint64_t)(s->end - s->p)) return false;
    *inner = (hr__scan){s->p, s->p + size};
    s->p += size;
    return true;
}

enum { DTYPE = 1 << 3, SHAPE = 2 << 3 | 2, STRING = 8 << 3 | 2, DIM = 2 << 3 | 2, SIZE = 1 << 3 };

/* TensorShapeProto {dim = 2 {size = 1}}. */
static bool scan_shape(hr__scan s, hr_shape *shape)
{
    uint64_t tag, size;
    hr__scan dim;
    *shape = HR_SCALAR;
    while (s.p < s.end) {
        if (shape->rank == HR_MAX_RANK || !scan_number(&s, &tag) || tag != DIM || !scan_bytes(&s, &dim)) return false;
        size = 0;
        if (dim.p < dim.end && (!scan_number(&dim, &tag) || tag != SIZE || !scan_number(&dim, &size))) return false;
        if (dim.p < dim.end || size > INT64_MAX) return false;
        shape->dims[shape->rank++] = (int64_t)size;
    }
    return true;
}

/* Puts the strings into `to`, unless it is NULL, and counts them. */
static bool scan_tensor(hr__scan s, hr_shape *shape, hr_view *to, int64_t *count)
{
    uint64_t tag, dtype = 0;
    bool shaped = false;
    hr__scan part;
    for (*count = 0; s.p < s.end;) {
        if (!scan_number(&s, &tag)) return false;
        if (tag == DTYPE) {
            if (!scan_number(&s, &dtype)) return false;
        } else if (tag == SHAPE && !shaped) {
            if (!scan_bytes(&s, &part) || !scan_shape(part, shape)) return false;
            shaped = true;
        } else if (tag == STRING && scan_bytes(&s, &part)) {
            if (to) to[*count] = (hr_view){(const char *)part.p, part.end - part.p};
            ++*count;
        } else {
            return false;
        }
    }
    return shaped && dtype == HR_STRING;
}

bool hr__borrow_strings(hr_view message, hr__pool_memory *memory, hr_tensor *out)
{
    const uint8_t *bytes = (const uint8_t *)message.data;
    const hr__scan whole = {bytes, bytes + message.size};
    hr_shape shape;
    int64_t count;
    if (!scan_tensor(whole, &shape, NULL, &count) || hr_shape_count(shape) != count) return false;
    hr_view *strings = hr__memory_take(memory, (size_t)count * sizeof *strings);
    if (!strings) return false;
    scan_tensor(whole, &shape, strings, &count);
    *out = hr_tensor_of(HR_STRING, shape, strings);
    return true;
}
