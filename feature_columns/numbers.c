/* Numbers of any type, as columns take them. */
#include "base/cast.h"
#include <headrace/column_kernels.h>
#include <string.h>

bool hr_dtype_is_integer(hr_dtype dtype)
{
    return dtype == HR_INT64 || dtype == HR_INT32 || dtype == HR_INT16 || dtype == HR_INT8 || dtype == HR_UINT8 ||
           dtype == HR_UINT16 || dtype == HR_UINT32 || dtype == HR_UINT64;
}

bool hr_dtype_is_number(hr_dtype dtype)
{
    return hr_dtype_is_integer(dtype) || dtype == HR_FLOAT || dtype == HR_DOUBLE;
}

int64_t hr_column_integer_at(const hr_column_values *values, int64_t i)
{
    int64_t value;
    /* Of an unsigned number beyond int64 the bits count: that is how a cross takes it. */
    if (values->dtype == HR_INT64 || values->dtype == HR_UINT64) return ((const int64_t *)values->values)[i];
    hr__integer_of(values->values, values->dtype, i, &value);
    return value;
}

bool hr_integer_to_number(int64_t value, hr_dtype dtype, void *to) { return hr__store_integer(value, dtype, to); }

#define CAST(type)                                                                                                     \
    do {                                                                                                               \
        const type *from_ = from;                                                                                      \
        for (int64_t i_ = 0; i_ < count; i_++) to[i_] = (float)from_[i_];                                              \
    } while (0)

void hr_numbers_to_float(const void *from, hr_dtype dtype, float *to, int64_t count)
{
    switch (dtype) {
    case HR_FLOAT:
        if (count > 0) memcpy(to, from, (size_t)count * sizeof *to);
        break;
    case HR_DOUBLE:
        CAST(double);
        break;
    case HR_INT64:
        CAST(int64_t);
        break;
    case HR_INT32:
        CAST(int32_t);
        break;
    case HR_INT16:
        CAST(int16_t);
        break;
    case HR_INT8:
        CAST(int8_t);
        break;
    case HR_UINT64:
        CAST(uint64_t);
        break;
    case HR_UINT32:
        CAST(uint32_t);
        break;
    case HR_UINT16:
        CAST(uint16_t);
        break;
    case HR_UINT8:
        CAST(uint8_t);
        break;
    case HR_BOOL:
        CAST(bool);
        break;
    default:
        break;
    }
}
