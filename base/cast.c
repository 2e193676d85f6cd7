/* See cast.h. */
#include "base/cast.h"
#include <string.h>

bool hr__integer_of(const void *values, hr_dtype dtype, int64_t i, int64_t *value)
{
    *value = 0;
    switch (dtype) {
    case HR_INT64:
        *value = ((const int64_t *)values)[i];
        return true;
    case HR_INT32:
        *value = ((const int32_t *)values)[i];
        return true;
    case HR_INT16:
        *value = ((const int16_t *)values)[i];
        return true;
    case HR_INT8:
        *value = ((const int8_t *)values)[i];
        return true;
    case HR_BOOL:
    case HR_UINT8:
        *value = ((const uint8_t *)values)[i];
        return true;
    case HR_UINT16:
        *value = ((const uint16_t *)values)[i];
        return true;
    case HR_UINT32:
        *value = ((const uint32_t *)values)[i];
        return true;
    case HR_UINT64:
        if (((const uint64_t *)values)[i] > INT64_MAX) return false;
        *value = (int64_t)((const uint64_t *)values)[i];
        return true;
    default:
        return false;
    }
}

static bool in_range(int64_t value, hr_dtype dtype)
{
    switch (dtype) {
    case HR_INT32:
        return value >= INT32_MIN && value <= INT32_MAX;
    case HR_INT16:
        return value >= INT16_MIN && value <= INT16_MAX;
    case HR_INT8:
        return value >= INT8_MIN && value <= INT8_MAX;
    case HR_BOOL:
        return value == 0 || value == 1;
    case HR_UINT8:
        return value >= 0 && value <= UINT8_MAX;
    case HR_UINT16:
        return value >= 0 && value <= UINT16_MAX;
    case HR_UINT32:
        return value >= 0 && value <= (int64_t)UINT32_MAX;
    case HR_UINT64:
        return value >= 0;
    default:
        return dtype == HR_INT64;
    }
}

#define STORE(type)                                                                                                    \
    do {                                                                                                               \
        const type own_ = (type)value;                                                                                 \
        memcpy(to, &own_, sizeof own_);                                                                                \
    } while (0)

bool hr__store_integer(int64_t value, hr_dtype dtype, void *to)
{
    const bool real = dtype == HR_FLOAT || dtype == HR_DOUBLE, fits = real || in_range(value, dtype);
    if (!fits) value = 0;
    if (dtype == HR_FLOAT)
        STORE(float);
    else if (dtype == HR_DOUBLE)
        STORE(double);
    else
        switch (hr_dtype_size(dtype)) { /* of the low bytes signed and unsigned are alike */
        case 1:
            STORE(uint8_t);
            break;
        case 2:
            STORE(uint16_t);
            break;
        case 4:
            STORE(uint32_t);
            break;
        case 8:
            STORE(uint64_t);
            break;
        }
    return fits;
}
