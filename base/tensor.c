/* Reference-counted buffers, and the tensors around them. */
#include "base/buffer.h"
#include <stdatomic.h>
#include <string.h>

enum { ALIGN = 64, SLACK = 64 /* readable after the end, so that kernels may load past it */ };

struct hr_buffer {
    atomic_int references;
    size_t size;
    void *data;
    hr__recycle_fn *recycle; /* NULL: freed at the last unref */
    void *user, *owner;
};

_Static_assert(sizeof(hr_buffer) == HR__BUFFER_HEAD, "data begin right after what is known of a buffer");

hr_buffer *hr_buffer_new(size_t size)
{
    if (size > SIZE_MAX / 2) return NULL;
    hr_buffer *buffer = hr_malloc(sizeof *buffer + size + ALIGN + SLACK);
    if (!buffer) return NULL;
    atomic_init(&buffer->references, 1);
    buffer->size = size;
    buffer->recycle = NULL;
    buffer->data = (void *)(((uintptr_t)(buffer + 1) + ALIGN - 1) / ALIGN * ALIGN);
    memset((char *)buffer->data + size, 0, SLACK);
    return buffer;
}

hr_buffer *hr_buffer_ref(hr_buffer *buffer)
{
    if (buffer) atomic_fetch_add_explicit(&buffer->references, 1, memory_order_relaxed);
    return buffer;
}

void hr_buffer_unref(hr_buffer *buffer)
{
    if (!buffer || atomic_fetch_sub_explicit(&buffer->references, 1, memory_order_acq_rel) != 1) return;
    if (buffer->recycle) {
        buffer->recycle(buffer, buffer->owner, buffer->user);
    } else {
        hr_free(buffer);
    }
}

void hr__buffer_recycle_by(hr_buffer *buffer, hr__recycle_fn *recycle, void *user)
{
    buffer->recycle = recycle;
    buffer->user = user;
}

hr_buffer *hr__buffer_new_recycled(size_t size, hr__recycle_fn *recycle, void *user)
{
    hr_buffer *buffer = hr_buffer_new(size);
    if (!buffer) return NULL;
    hr__buffer_recycle_by(buffer, recycle, user);
    buffer->owner = NULL;
    return buffer;
}

hr_buffer *hr__buffer_in(void *memory, size_t size, hr__recycle_fn *recycle, void *user)
{
    hr_buffer *buffer = memory;
    *buffer = (hr_buffer){.size = size, .data = buffer + 1, .recycle = recycle, .user = user};
    memset((char *)buffer->data + size, 0, SLACK);
    return buffer;
}

void hr__buffer_renew(hr_buffer *buffer, void *owner)
{
    buffer->owner = owner;
    atomic_store_explicit(&buffer->references, 1, memory_order_relaxed);
}

void hr__buffer_free(hr_buffer *buffer) { hr_free(buffer); }

void *hr_buffer_data(hr_buffer *buffer) { return buffer->data; }
size_t hr_buffer_size(const hr_buffer *buffer) { return buffer->size; }

bool hr_buffer_is_shared(const hr_buffer *buffer)
{
    return atomic_load_explicit(&buffer->references, memory_order_acquire) > 1;
}

hr_status hr_tensor_new(hr_tensor *out, hr_dtype dtype, hr_shape shape, hr_error *err)
{
    char text[128];
    *out = (hr_tensor){0};
    int64_t count = hr_shape_count(shape);
    size_t width = hr_dtype_size(dtype);
    if (count < 0 || width == 0 || (uint64_t)count > SIZE_MAX / 2 / width)
        return hr_fail(err, HR_INVALID_ARGUMENT, "tensor.shape",
                       "tensor: expected a known shape and type, got %s of %s", hr_shape_text(shape, text, sizeof text),
                       hr_dtype_name(dtype));
    hr_buffer *buffer = hr_buffer_new((size_t)count * width);
    if (!buffer) return hr_no_memory(err, "a tensor");
    *out = hr_tensor_of(dtype, shape, buffer->data);
    out->buffer = buffer;
    if (dtype == HR_STRING) memset(out->data, 0, buffer->size);
    return HR_OK;
}

hr_status hr_tensor_strings(hr_tensor *out, hr_shape shape, const hr_view *values, hr_error *err)
{
    char text[128];
    *out = (hr_tensor){0};
    int64_t count = hr_shape_count(shape);
    size_t bytes = 0;
    if (count < 0 || (uint64_t)count > SIZE_MAX / 4 / sizeof *values)
        return hr_fail(err, HR_INVALID_ARGUMENT, "tensor.shape", "tensor: expected a known shape, got %s of strings",
                       hr_shape_text(shape, text, sizeof text));
    for (int64_t i = 0; i < count; i++) bytes += (size_t)values[i].size;
    hr_buffer *buffer = hr_buffer_new((size_t)count * sizeof *values + bytes);
    if (!buffer) return hr_no_memory(err, "a string tensor");
    *out = hr_tensor_of(HR_STRING, shape, buffer->data);
    out->buffer = buffer;
    hr_view *view = out->data;
    char *at = (char *)(view + count);
    for (int64_t i = 0; i < count; i++) {
        if (values[i].size) memcpy(at, values[i].data, (size_t)values[i].size);
        view[i] = (hr_view){at, values[i].size};
        at += values[i].size;
    }
    return HR_OK;
}

void hr_tensor_clear(hr_tensor *tensor)
{
    hr_buffer_unref(tensor->buffer);
    *tensor = (hr_tensor){0};
}

hr_tensor hr_tensor_of(hr_dtype dtype, hr_shape shape, const void *data)
{
    return (hr_tensor){.dtype = dtype, .shape = shape, .count = hr_shape_count(shape), .data = (void *)data};
}
