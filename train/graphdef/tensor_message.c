/* TensorProto and TensorShapeProto. Fewer values than the shape has places: the last one is repeated; none: zeros. */
#include "train/graphdef/graphdef_internal.h"

#include <string.h>

/* ---- shapes ---- */

hr_status hr__shape_of_message(const proto_shape *message, hr_shape *out, hr_error *err)
{
    *out = HR_UNKNOWN_SHAPE;
    if (!message || message->unknown_rank) return HR_OK;
    if (message->n_dim > HR_MAX_RANK)
        return hr_fail(err, HR_UNIMPLEMENTED, "graphdef.rank", "expected a shape of at most %d dimensions, got %zu",
                       HR_MAX_RANK, message->n_dim);
    out->rank = (int)message->n_dim;
    for (int i = 0; i < out->rank; i++) {
        out->dims[i] = message->dim[i]->size;
        if (out->dims[i] < -1)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected dimensions from -1 on, got %lld",
                           (long long)out->dims[i]);
    }
    return HR_OK;
}

proto_shape *hr__shape_message(hr__arena *arena, hr_shape shape)
{
    proto_shape *message = hr__arena_get(arena, sizeof *message);
    if (!message) return NULL;
    headrace__proto__tensor_shape__init(message);
    message->unknown_rank = shape.rank < 0;
    if (shape.rank <= 0) return message;
    message->dim = hr__arena_get(arena, sizeof *message->dim * (size_t)shape.rank);
    Headrace__Proto__TensorShape__Dim *dim = hr__arena_get(arena, sizeof *dim * (size_t)shape.rank);
    if (!message->dim || !dim) return NULL;
    for (int i = 0; i < shape.rank; i++) {
        headrace__proto__tensor_shape__dim__init(&dim[i]);
        dim[i].size = shape.dims[i];
        message->dim[i] = &dim[i];
    }
    message->n_dim = (size_t)shape.rank;
    return message;
}

/* ---- values of a message ---- */

/* The field that holds values of a type: how many, and where. */
typedef struct typed_values {
    size_t count, width; /* width: bytes of one as the message has it */
    const void *values;
} typed_values;

static typed_values values_of(const proto_tensor *m)
{
    switch ((int)m->dtype) {
    case HR_FLOAT:
        return (typed_values){m->n_float_val, 4, m->float_val};
    case HR_DOUBLE:
        return (typed_values){m->n_double_val, 8, m->double_val};
    case HR_COMPLEX64:
        return (typed_values){m->n_scomplex_val / 2, 8, m->scomplex_val};
    case HR_COMPLEX128:
        return (typed_values){m->n_dcomplex_val / 2, 16, m->dcomplex_val};
    case HR_INT64:
        return (typed_values){m->n_int64_val, 8, m->int64_val};
    case HR_UINT64:
        return (typed_values){m->n_uint64_val, 8, m->uint64_val};
    case HR_UINT32:
        return (typed_values){m->n_uint32_val, 4, m->uint32_val};
    case HR_BOOL:
        return (typed_values){m->n_bool_val, sizeof(protobuf_c_boolean), m->bool_val};
    case HR_HALF:
    case HR_BFLOAT16:
        return (typed_values){m->n_half_val, 4, m->half_val};
    case HR_STRING:
        return (typed_values){m->n_string_val, sizeof(ProtobufCBinaryData), m->string_val};
    default:
        return (typed_values){m->n_int_val, 4, m->int_val};
    }
}

/* One value as it lies in a tensor: the low bytes of a whole number, a string's view. */
static void put_value(hr_dtype dtype, const typed_values *from, size_t at, char *to)
{
    const char *value = (const char *)from->values + at * from->width;
    const ProtobufCBinaryData *bytes = (const void *)value;
    if (dtype == HR_STRING)
        *(hr_view *)(void *)to = (hr_view){(const char *)bytes->data, (int64_t)bytes->len};
    else if (dtype == HR_BOOL)
        *to = *(const protobuf_c_boolean *)(const void *)value != 0;
    else
        memcpy(to, value, hr_dtype_size(dtype)); /* little-endian */
}

static void fill_values(const proto_tensor *m, const hr_tensor *t, char *data)
{
    const size_t size = hr_dtype_size(t->dtype);
    const typed_values from = values_of(m);
    for (size_t i = 0; i < (size_t)t->count && from.count > 0; i++)
        put_value(t->dtype, &from, i < from.count ? i : from.count - 1, data + i * size);
}

/* Strings in one field: a varint for the length of each, then their bytes, which views are made of. */
static hr_status strings_of_content(const proto_tensor *m, int64_t count, hr_view *value, hr_error *err)
{
    const uint8_t *at = m->tensor_content.data, *end = at + m->tensor_content.len;
    uint64_t total = 0;
    bool fits = true;
    for (int64_t i = 0; i < count; i++) {
        uint64_t size = 0;
        int shift = 0;
        for (fits &= at < end; fits && at < end && *at >= 0x80 && shift < 28; shift += 7)
            size |= (uint64_t)(*at++ & 0x7f) << shift;
        fits = fits && at < end && *at < 0x80;
        if (!fits) break;
        size |= (uint64_t)*at++ << shift;
        total += size;
        value[i].size = (int64_t)size;
    }
    if (!fits || total != (uint64_t)(end - at))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.tensor",
                       "a tensor: expected the lengths and bytes of %lld strings, got %zu bytes of content",
                       (long long)count, m->tensor_content.len);
    for (int64_t i = 0; i < count; at += value[i++].size) value[i].data = (const char *)at;
    return HR_OK;
}

static hr_status check_content(const proto_tensor *m, const hr_tensor *t, size_t bytes, hr_error *err)
{
    const uint8_t *content = m->tensor_content.data;
    if (m->tensor_content.len != bytes)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.tensor",
                       "a tensor: expected %zu bytes of content for its shape, got %zu", bytes, m->tensor_content.len);
    for (size_t i = 0; t->dtype == HR_BOOL && i < bytes; i++)
        if (content[i] > 1)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.tensor", "a tensor: expected bools of 0 or 1, got %d",
                           content[i]);
    return HR_OK;
}

hr_status hr__tensor_of_message(hr__import_memory *memory, const proto_tensor *m, hr_tensor *out, hr_error *err)
{
    hr_shape shape;
    const hr_dtype dtype = (hr_dtype)m->dtype;
    HR_TRY(hr__shape_of_message(m->tensor_shape, &shape, err));
    if (!m->tensor_shape) shape = HR_SCALAR;
    const int64_t count = hr_shape_count(shape);
    const size_t size = hr_dtype_size(dtype);
    if (count < 0 || size == 0 || dtype == HR_RESOURCE || dtype == HR_VARIANT)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.tensor",
                       "a tensor: expected a type of values and a whole shape, got %s", hr_dtype_name(dtype));
    if ((uint64_t)count > memory->left / size)
        return hr_fail(err, HR_RESOURCE_EXHAUSTED, "graphdef.tensor",
                       "a tensor: expected at most %zu bytes for a file of this size, got %lld values of %zu bytes",
                       memory->left, (long long)count, size);
    const size_t bytes = (size_t)count * size;
    memory->left -= bytes;
    void *data = hr__arena_get(&memory->arena, bytes + 1);
    if (!data) return hr_no_memory(err, "a tensor");
    *out = hr_tensor_of(dtype, shape, data);
    if (m->tensor_content.len > 0 && dtype == HR_STRING) {
        HR_TRY(strings_of_content(m, count, data, err));
    } else if (m->tensor_content.len > 0) {
        HR_TRY(check_content(m, out, bytes, err));
        memcpy(data, m->tensor_content.data, bytes);
    } else {
        fill_values(m, out, data);
    }
    return HR_OK;
}

/* ---- messages of values ---- */

static bool put_strings(hr__arena *arena, const hr_tensor *t, proto_tensor *m)
{
    const hr_view *value = t->data;
    m->n_string_val = (size_t)t->count;
    m->string_val = hr__arena_get(arena, sizeof *m->string_val * (m->n_string_val + 1));
    for (int64_t i = 0; m->string_val && i < t->count; i++)
        m->string_val[i] = (ProtobufCBinaryData){(size_t)value[i].size, (uint8_t *)(uintptr_t)value[i].data};
    return m->string_val != NULL;
}

/* Scalars as a typed value, as TensorFlow writes them: readable as text. */
static bool put_scalar(hr__arena *arena, const hr_tensor *t, proto_tensor *m)
{
    int64_t *value = hr__arena_get(arena, sizeof *value);
    if (!value) return false;
    switch (t->dtype) {
    case HR_FLOAT:
        memcpy(value, t->data, 4);
        m->n_float_val = 1;
        m->float_val = (float *)(void *)value;
        return true;
    case HR_DOUBLE:
        memcpy(value, t->data, 8);
        m->n_double_val = 1;
        m->double_val = (double *)(void *)value;
        return true;
    case HR_INT64:
        memcpy(value, t->data, 8);
        m->n_int64_val = 1;
        m->int64_val = value;
        return true;
    case HR_INT32:
        memcpy(value, t->data, 4);
        m->n_int_val = 1;
        m->int_val = (int32_t *)(void *)value;
        return true;
    case HR_BOOL:
        *(protobuf_c_boolean *)(void *)value = *(const bool *)t->data;
        m->n_bool_val = 1;
        m->bool_val = (protobuf_c_boolean *)(void *)value;
        return true;
    default:
        m->tensor_content = (ProtobufCBinaryData){hr_dtype_size(t->dtype), t->data};
        return true;
    }
}

proto_tensor *hr__tensor_message(hr__arena *arena, const hr_tensor *t)
{
    proto_tensor *m = hr__arena_get(arena, sizeof *m);
    if (!m) return NULL;
    headrace__proto__tensor__init(m);
    m->dtype = (Headrace__Proto__DataType)t->dtype;
    m->tensor_shape = hr__shape_message(arena, t->shape);
    if (!m->tensor_shape) return NULL;
    if (t->dtype == HR_STRING) return put_strings(arena, t, m) ? m : NULL;
    if (t->shape.rank == 0) return put_scalar(arena, t, m) ? m : NULL;
    m->tensor_content = (ProtobufCBinaryData){(size_t)t->count * hr_dtype_size(t->dtype), t->data};
    return m;
}

/* ---- tensors as bytes ---- */

/* The strings of a tensor in one field. False: no memory. */
static bool put_packed_strings(hr__arena *arena, const hr_tensor *t, proto_tensor *m)
{
    const hr_view *value = t->data;
    size_t most = 1;
    for (int64_t i = 0; i < t->count; i++) most += (size_t)value[i].size + 10;
    uint8_t *at = hr__arena_get(arena, most);
    m->tensor_content.data = at;
    for (int64_t i = 0; at && i < t->count; i++) {
        uint64_t size = (uint64_t)value[i].size;
        for (; size >= 0x80; size >>= 7) *at++ = (uint8_t)(size | 0x80);
        *at++ = (uint8_t)size;
    }
    for (int64_t i = 0; at && i < t->count; at += value[i++].size)
        if (value[i].size) memcpy(at, value[i].data, (size_t)value[i].size);
    if (at) m->tensor_content.len = (size_t)(at - m->tensor_content.data);
    return at != NULL;
}

static hr_status tensor_as_message(hr__arena *arena, const hr_tensor *t, bool packed, proto_tensor *m)
{
    headrace__proto__tensor__init(m);
    m->dtype = (Headrace__Proto__DataType)t->dtype;
    m->tensor_shape = hr__shape_message(arena, t->shape);
    if (!m->tensor_shape) return HR_RESOURCE_EXHAUSTED;
    if (t->dtype == HR_STRING)
        return (packed ? put_packed_strings : put_strings)(arena, t, m) ? HR_OK : HR_RESOURCE_EXHAUSTED;
    m->tensor_content = (ProtobufCBinaryData){(size_t)t->count * hr_dtype_size(t->dtype), t->data};
    return HR_OK;
}

static hr_status no_place(hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.argument",
                   "a tensor: expected a place for the result, got NULL");
}

static hr_status tensor_export(const hr_tensor *t, bool packed, char **bytes, size_t *size, hr_error *err)
{
    hr__arena arena = {0};
    proto_tensor m;
    if (!bytes || !size) return no_place(err);
    *bytes = NULL;
    *size = 0;
    if (!t || t->layout != HR_DENSE || hr_dtype_size(t->dtype) == 0 || t->dtype == HR_RESOURCE ||
        t->dtype == HR_VARIANT || hr_shape_count(t->shape) != t->count)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.tensor", "a tensor: expected a dense one of values, got %s",
                       t ? hr_dtype_name(t->dtype) : "NULL");
    hr_status st = tensor_as_message(&arena, t, packed, &m);
    if (st == HR_OK) {
        *size = headrace__proto__tensor__get_packed_size(&m);
        *bytes = hr_malloc(*size + 1);
        if (*bytes)
            headrace__proto__tensor__pack(&m, (uint8_t *)*bytes);
        else
            st = HR_RESOURCE_EXHAUSTED;
    }
    hr__arena_free(&arena);
    return st == HR_OK ? HR_OK : hr_no_memory(err, "a tensor");
}

hr_status hr_tensor_export(const hr_tensor *t, char **bytes, size_t *size, hr_error *err)
{
    return tensor_export(t, false, bytes, size, err);
}

hr_status hr_tensor_export_packed(const hr_tensor *t, char **bytes, size_t *size, hr_error *err)
{
    return tensor_export(t, true, bytes, size, err);
}

hr_status hr_tensor_import(hr_view bytes, hr_tensor *out, hr_error *err)
{
    hr__import_memory memory = {0};
    ProtobufCMessage *message;
    hr_tensor read;
    if (!out) return no_place(err);
    *out = (hr_tensor){0};
    HR_TRY(hr__message_read(&headrace__proto__tensor__descriptor, bytes, &message, err));
    memory.left = ((size_t)bytes.size + (4 << 20)) * 64;
    hr_status st = hr__tensor_of_message(&memory, (const proto_tensor *)(const void *)message, &read, err);
    if (st == HR_OK && read.dtype == HR_STRING) st = hr_tensor_strings(out, read.shape, read.data, err);
    if (st == HR_OK && read.dtype != HR_STRING) {
        st = hr_tensor_new(out, read.dtype, read.shape, err);
        if (st == HR_OK && read.count) memcpy(out->data, read.data, (size_t)read.count * hr_dtype_size(read.dtype));
    }
    hr__arena_free(&memory.arena);
    hr__message_free(message);
    return st;
}
