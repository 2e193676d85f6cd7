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

static hr_status check_content(const proto_tensor *m, const hr_tensor *t, size_t bytes, hr_error *err)
{
    const uint8_t *content = m->tensor_content.data;
    if (t->dtype == HR_STRING || m->tensor_content.len != bytes)
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
    if (m->tensor_content.len > 0) {
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
