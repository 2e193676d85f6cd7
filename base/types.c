/* Names and sizes of the types; shapes. */
#include <headrace/base.h>
#include <stdio.h>
#include <string.h>

static const struct {
    hr_dtype dtype;
    size_t size;
    const char *name;
} types[] = {
    {HR_FLOAT, 4, "float32"},
    {HR_DOUBLE, 8, "float64"},
    {HR_INT32, 4, "int32"},
    {HR_UINT8, 1, "uint8"},
    {HR_INT16, 2, "int16"},
    {HR_INT8, 1, "int8"},
    {HR_STRING, sizeof(hr_view), "string"},
    {HR_COMPLEX64, 8, "complex64"},
    {HR_INT64, 8, "int64"},
    {HR_BOOL, 1, "bool"},
    {HR_BFLOAT16, 2, "bfloat16"},
    {HR_UINT16, 2, "uint16"},
    {HR_COMPLEX128, 16, "complex128"},
    {HR_HALF, 2, "float16"},
    {HR_RESOURCE, sizeof(void *), "resource"},
    {HR_VARIANT, sizeof(void *), "variant"},
    {HR_QINT8, 1, "qint8"},
    {HR_QUINT8, 1, "quint8"},
    {HR_QINT16, 2, "qint16"},
    {HR_QUINT16, 2, "quint16"},
    {HR_QINT32, 4, "qint32"},
    {HR_UINT32, 4, "uint32"},
    {HR_UINT64, 8, "uint64"},
    {HR_FLOAT, 4, "float"},
    {HR_DOUBLE, 8, "double"},
};
enum { TYPES = sizeof types / sizeof *types };

size_t hr_dtype_size(hr_dtype dtype)
{
    for (int i = 0; i < TYPES; i++)
        if (types[i].dtype == dtype) return types[i].size;
    return 0;
}

const char *hr_dtype_name(hr_dtype dtype)
{
    for (int i = 0; i < TYPES; i++)
        if (types[i].dtype == dtype) return types[i].name;
    return "invalid";
}

hr_dtype hr_dtype_named(const char *name)
{
    for (int i = 0; i < TYPES; i++)
        if (strcmp(types[i].name, name) == 0) return types[i].dtype;
    return HR_INVALID_DTYPE;
}

int64_t hr_shape_count(hr_shape shape)
{
    if (shape.rank < 0 || shape.rank > HR_MAX_RANK) return -1;
    int64_t max = 1;
    bool empty = false;
    for (int i = 0; i < shape.rank; i++) {
        const int64_t length = shape.dims[i] ? shape.dims[i] : 1;
        if (length < 0 || __builtin_mul_overflow(max, length, &max) || max > HR_MAX_VALUES) return -1;
        empty |= shape.dims[i] == 0;
    }
    return empty ? 0 : max;
}

bool hr_shape_equal(hr_shape a, hr_shape b)
{
    if (a.rank != b.rank || a.rank > HR_MAX_RANK) return false;
    for (int i = 0; i < a.rank; i++)
        if (a.dims[i] != b.dims[i]) return false;
    return true;
}

char *hr_shape_text(hr_shape shape, char *text, size_t size)
{
    if (shape.rank > HR_MAX_RANK) {
        snprintf(text, size, "<rank %d>", shape.rank);
        return text;
    }
    size_t used = (size_t)snprintf(text, size, shape.rank < 0 ? "<unknown>" : "[");
    for (int i = 0; i < shape.rank && used < size; i++) {
        const char *comma = i ? "," : "";
        used +=
            (size_t)(shape.dims[i] < 0 ? snprintf(text + used, size - used, "%s?", comma)
                                       : snprintf(text + used, size - used, "%s%lld", comma, (long long)shape.dims[i]));
    }
    if (shape.rank >= 0 && used < size) snprintf(text + used, size - used, "]");
    return text;
}
