/* See tensor_wire.h. */
#include "io/example/tensor_wire.h"
#include "io/example/example_wire.h"
#include <string.h>

/* Fields of TensorProto, TensorShapeProto and its Dim. */
enum { TENSOR_DTYPE = 1, TENSOR_SHAPE = 2, TENSOR_CONTENT = 4, TENSOR_STRINGS = 8 };
enum { SHAPE_DIM = 2, SHAPE_UNKNOWN = 3, DIM_SIZE = 1 };
enum { TAG_DTYPE = 0x08, TAG_CONTENT = 0x22, TAG_STRINGS = 0x42, TAG_DIM_SIZE = 0x08 };

/* ---- reading: type and shape ---- */

static bool read_dim(hr__scan s, int64_t *size)
{
    hr__field f;
    *size = 0;
    while (s.p < s.end) {
        if (!hr__scan_field(&s, &f)) return false;
        if (f.number == DIM_SIZE && f.type == HR__WIRE_VARINT) *size = (int64_t)f.varint;
    }
    return *size >= 0;
}

static bool read_shape(hr__scan s, hr_shape *shape)
{
    hr__field f;
    while (s.p < s.end) {
        if (!hr__scan_field(&s, &f)) return false;
        if (f.number == SHAPE_UNKNOWN && f.type == HR__WIRE_VARINT && f.varint) return false;
        if (f.number != SHAPE_DIM || f.type != HR__WIRE_BYTES) continue;
        if (shape->rank == HR_MAX_RANK || !read_dim(f.bytes, &shape->dims[shape->rank++])) return false;
    }
    return true;
}

bool hr__tensor_wire_read(hr_view message, hr__tensor_wire *out)
{
    hr__field f;
    *out = (hr__tensor_wire){.whole = {(const uint8_t *)message.data, (const uint8_t *)message.data + message.size}};
    for (hr__scan s = out->whole; s.p < s.end;) {
        if (!hr__scan_field(&s, &f)) return false;
        if (f.number == TENSOR_DTYPE && f.type == HR__WIRE_VARINT) out->dtype = (hr_dtype)(f.varint & 0xff);
        if (f.number == TENSOR_CONTENT && f.type == HR__WIRE_BYTES) out->content = f.bytes;
        if (f.number == TENSOR_SHAPE && f.type == HR__WIRE_BYTES && !read_shape(f.bytes, &out->shape)) return false;
    }
    out->count = hr_shape_count(out->shape);
    const size_t width = hr_dtype_size(out->dtype), content = (size_t)(out->content.end - out->content.p);
    if (width == 0 || out->count < 0) return false;
    return content == 0 || (out->dtype != HR_STRING && content == (size_t)out->count * width);
}

/* ---- reading: values in fields ---- */

/* The field that has the values of a type, how wide a value is on the wire (0: a varint), and how many make one. */
typedef struct value_field {
    uint32_t number;
    size_t width;
    int parts;
} value_field;

static value_field field_of(hr_dtype dtype)
{
    switch (dtype) {
    case HR_FLOAT:
        return (value_field){5, 4, 1};
    case HR_DOUBLE:
        return (value_field){6, 8, 1};
    case HR_COMPLEX64:
        return (value_field){9, 4, 2};
    case HR_COMPLEX128:
        return (value_field){12, 8, 2};
    case HR_INT64:
        return (value_field){10, 0, 1};
    case HR_BOOL:
        return (value_field){11, 0, 1};
    case HR_HALF:
    case HR_BFLOAT16:
        return (value_field){13, 0, 1};
    case HR_UINT32:
        return (value_field){16, 0, 1};
    case HR_UINT64:
        return (value_field){17, 0, 1};
    default:
        return (value_field){7, 0, 1};
    }
}

/* Where the next part of a value goes; parts beyond the last value are dropped. */
typedef struct value_sink {
    char *to;
    size_t size; /* of a part */
    int64_t parts, max;
} value_sink;

static void put_part(value_sink *sink, const void *part)
{
    if (sink->parts < sink->max) memcpy(sink->to + (size_t)sink->parts++ * sink->size, part, sink->size);
}

static bool put_varint(value_sink *sink, uint64_t varint, hr_dtype dtype)
{
    if (dtype == HR_BOOL) varint = varint != 0;
    put_part(sink, &varint); /* little endian: the low bytes come first */
    return true;
}

static bool put_field(value_sink *sink, const hr__field *f, value_field v, hr_dtype dtype)
{
    hr__scan s = f->bytes;
    uint64_t varint;
    if (f->type == HR__WIRE_GROUP) return true;
    if (f->type == HR__WIRE_VARINT) return v.width > 0 || put_varint(sink, f->varint, dtype);
    for (; v.width > 0 && (size_t)(s.end - s.p) >= v.width; s.p += v.width) put_part(sink, s.p);
    while (v.width == 0 && s.p < s.end) {
        if (!hr__scan_varint(&s, 10, &varint)) return false;
        put_varint(sink, varint, dtype);
    }
    return s.p == s.end;
}

static bool put_strings(const hr__tensor_wire *t, hr_view *values)
{
    static const char nothing[64];
    hr__field f;
    int64_t count = 0;
    for (hr__scan s = t->whole; s.p < s.end;) {
        if (!hr__scan_field(&s, &f)) return false;
        if (f.number == TENSOR_STRINGS && f.type == HR__WIRE_BYTES && count < t->count)
            values[count++] = (hr_view){(const char *)f.bytes.p, f.bytes.end - f.bytes.p};
    }
    for (int64_t i = count; i < t->count; i++) values[i] = count > 0 ? values[count - 1] : (hr_view){nothing, 0};
    return true;
}

bool hr__tensor_wire_values(const hr__tensor_wire *t, void *values)
{
    const size_t width = hr_dtype_size(t->dtype);
    const value_field v = field_of(t->dtype);
    hr__field f;
    if (t->dtype == HR_STRING) return put_strings(t, values);
    if (t->count == 0) return true;
    if (t->content.p < t->content.end) {
        memcpy(values, t->content.p, (size_t)t->count * width);
        unsigned char *truth = values;
        for (int64_t i = 0; t->dtype == HR_BOOL && i < t->count; i++) truth[i] = truth[i] != 0;
        return true;
    }
    value_sink sink = {.to = values, .size = width / (size_t)v.parts, .max = t->count * v.parts};
    for (hr__scan s = t->whole; s.p < s.end;) {
        if (!hr__scan_field(&s, &f)) return false;
        if (f.number == v.number && !put_field(&sink, &f, v, t->dtype)) return false;
    }
    const int64_t whole = sink.parts / v.parts;
    for (int64_t i = whole; i < t->count; i++) {
        char *to = (char *)values + (size_t)i * width;
        if (whole > 0)
            memcpy(to, (char *)values + (size_t)(whole - 1) * width, width);
        else
            memset(to, 0, width);
    }
    return true;
}

/* ---- writing ---- */

static size_t dim_size(int64_t dim) { return dim ? 1 + hr__varint_size((uint64_t)dim) : 0; }

static size_t shape_size(hr_shape shape)
{
    size_t size = 0;
    for (int d = 0; d < shape.rank; d++) size += hr__headed(dim_size(shape.dims[d]));
    return size;
}

size_t hr__tensor_wire_size(hr_dtype dtype, hr_shape shape, const void *values)
{
    const int64_t count = hr_shape_count(shape);
    const hr_view *text = values;
    size_t size = 2 + hr__headed(shape_size(shape));
    if (dtype != HR_STRING) return size + (count > 0 ? hr__headed((size_t)count * hr_dtype_size(dtype)) : 0);
    for (int64_t i = 0; i < count; i++) size += hr__headed((size_t)text[i].size);
    return size;
}

static char *put_bytes(char *to, int tag, const void *bytes, size_t size)
{
    to = hr__put_head(to, tag, size);
    if (size > 0) memcpy(to, bytes, size);
    return to + size;
}

void hr__tensor_wire_put(hr_dtype dtype, hr_shape shape, const void *values, char *to)
{
    const int64_t count = hr_shape_count(shape);
    const hr_view *text = values;
    *to++ = TAG_DTYPE;
    *to++ = (char)dtype;
    to = hr__put_head(to, HR__TAG_2, shape_size(shape));
    for (int d = 0; d < shape.rank; d++) {
        to = hr__put_head(to, HR__TAG_2, dim_size(shape.dims[d]));
        if (shape.dims[d] == 0) continue;
        *to++ = TAG_DIM_SIZE;
        to = hr__put_varint(to, (uint64_t)shape.dims[d]);
    }
    if (dtype != HR_STRING && count > 0) put_bytes(to, TAG_CONTENT, values, (size_t)count * hr_dtype_size(dtype));
    for (int64_t i = 0; dtype == HR_STRING && i < count; i++)
        to = put_bytes(to, TAG_STRINGS, text[i].data, (size_t)text[i].size);
}
