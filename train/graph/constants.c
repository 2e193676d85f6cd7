/* Constants of numbers, as nodes: nothing is narrowed. */
#include "train/graph/graph_internal.h"

#include <math.h>
#include <string.h>

static hr_node constant(hr_graph *g, hr_dtype dtype, hr_shape shape, const void *data, const char *name)
{
    const hr_tensor value = hr_tensor_of(dtype, shape, data);
    return hr_new_node(g, "Const", .name = name,
                       HR_ATTRS(HR_TENSOR_ATTR("value", &value), HR_TYPE_ATTR("dtype", dtype)));
}

hr_node hr_const_ints(hr_graph *g, const int64_t *values, int count, const char *name)
{
    bool wide = false;
    if (count < 0 || (!values && count > 0))
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.attr", "constant: expected %s, got %s%d",
                            count < 0 ? "a count of numbers >= 0" : "numbers", values ? "" : "NULL and ", count);
    for (int i = 0; i < count; i++) wide |= values[i] < INT32_MIN || values[i] > INT32_MAX;
    if (wide) return constant(g, HR_INT64, HR_SHAPE(count), values, name);
    int32_t few[HR_MAX_RANK], *narrow = count <= HR_MAX_RANK ? few : hr_malloc((size_t)count * sizeof *narrow);
    if (!narrow) return hr__graph_no_memory(g, "a constant");
    for (int i = 0; i < count; i++) narrow[i] = (int32_t)values[i];
    const hr_node node = constant(g, HR_INT32, HR_SHAPE(count), narrow, name);
    if (narrow != few) hr_free(narrow);
    return node;
}

/* The bits of a float16, the nearest one, ties to even. */
static uint16_t half_of(double value)
{
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent;
    if (value != value) return 0x7e00;
    const double fraction = frexp(fabs(value), &exponent); /* 0.5 <= fraction < 1 */
    if (value == 0) return sign;
    if (fabs(value) >= 65520) return sign | 0x7c00;
    if (exponent < -13) return (uint16_t)(sign | (uint16_t)nearbyint(ldexp(fabs(value), 24))); /* subnormal */
    /* A mantissa that is rounded up to 2048 carries into the exponent, as it should. */
    return (uint16_t)(sign | (((exponent + 13) << 10) + (int)nearbyint(ldexp(fraction, 11))));
}

static uint16_t bfloat16_of(double value)
{
    const float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    if (narrow != narrow) return 0x7fc0;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* LOW <= value < HIGH is what the type reaches once the fraction is cut off. */
#define INTEGER(D, T, LOW, HIGH)                                                                                       \
    case D:                                                                                                            \
        if (!(value > (LOW)-1.0 && value < (HIGH)) && value != (LOW)) return false;                                    \
        memcpy(bytes, &(T){(T)value}, sizeof(T));                                                                      \
        return true;
#define FLOATING(D, T, VALUE)                                                                                          \
    case D:                                                                                                            \
        memcpy(bytes, &(T){VALUE}, sizeof(T));                                                                         \
        return true;

bool hr__number_as(hr_dtype dtype, double value, char bytes[8])
{
    switch (dtype) {
        FLOATING(HR_FLOAT, float, (float)value)
        FLOATING(HR_DOUBLE, double, value)
        FLOATING(HR_HALF, uint16_t, half_of(value))
        FLOATING(HR_BFLOAT16, uint16_t, bfloat16_of(value))
        FLOATING(HR_BOOL, bool, value != 0)
        INTEGER(HR_INT8, int8_t, -128.0, 128.0)
        INTEGER(HR_INT16, int16_t, -32768.0, 32768.0)
        INTEGER(HR_INT32, int32_t, -2147483648.0, 2147483648.0)
        INTEGER(HR_INT64, int64_t, -9223372036854775808.0, 9223372036854775808.0)
        INTEGER(HR_UINT8, uint8_t, 0.0, 256.0)
        INTEGER(HR_UINT16, uint16_t, 0.0, 65536.0)
        INTEGER(HR_UINT32, uint32_t, 0.0, 4294967296.0)
        INTEGER(HR_UINT64, uint64_t, 0.0, 18446744073709551616.0)
    default:
        return false;
    }
}

hr_node hr_const_number(hr_graph *g, hr_dtype dtype, double value, const char *name)
{
    union {
        double align;
        char bytes[8];
    } data = {0};
    if (dtype == HR_COMPLEX64) return constant(g, dtype, HR_SCALAR, (const float[]){(float)value, 0}, name);
    if (dtype == HR_COMPLEX128) return constant(g, dtype, HR_SCALAR, (const double[]){value, 0}, name);
    if (hr__number_as(dtype, value, data.bytes)) return constant(g, dtype, HR_SCALAR, data.bytes, name);
    if (hr__number_as(dtype, 0, data.bytes))
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.attr", "constant: expected a number of type %s, got %.17g",
                            hr_dtype_name(dtype), value);
    return hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.type", "constant: expected a type of numbers, got %s",
                        hr_dtype_name(dtype));
}
