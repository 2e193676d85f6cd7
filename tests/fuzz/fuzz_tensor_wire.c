/* Any bytes as a serialized tensor: refused, or its values; what is written of them again has the same ones. */
#include "io/example/tensor_wire.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 1 << 16 };

static bool same_values(hr_dtype dtype, const void *a, const void *b, int64_t count)
{
    const hr_view *one = a, *other = b;
    if (dtype != HR_STRING) return memcmp(a, b, (size_t)count * hr_dtype_size(dtype)) == 0;
    for (int64_t i = 0; i < count; i++)
        if (one[i].size != other[i].size || memcmp(one[i].data, other[i].data, (size_t)one[i].size) != 0) return false;
    return true;
}

/* Aborts where the values are not those that are read again. */
static void write_again(const hr__tensor_wire *t, const void *values)
{
    hr__tensor_wire again;
    const size_t width = hr_dtype_size(t->dtype), size = hr__tensor_wire_size(t->dtype, t->shape, values);
    char *bytes = malloc(size + 1);
    void *read = calloc((size_t)t->count + 1, width);
    if (!bytes || !read) abort();
    hr__tensor_wire_put(t->dtype, t->shape, values, bytes);
    if (!hr__tensor_wire_read((hr_view){bytes, (int64_t)size}, &again)) abort();
    if (again.dtype != t->dtype || !hr_shape_equal(again.shape, t->shape)) abort();
    if (!hr__tensor_wire_values(&again, read) || !same_values(t->dtype, values, read, t->count)) abort();
    free(bytes);
    free(read);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hr__tensor_wire t;
    if (!hr__tensor_wire_read((hr_view){(const char *)data, (int64_t)size}, &t) || t.count > MOST) return 0;
    void *values = calloc((size_t)t.count + 1, hr_dtype_size(t.dtype));
    if (!values) abort();
    if (hr__tensor_wire_values(&t, values)) write_again(&t, values);
    free(values);
    return 0;
}
