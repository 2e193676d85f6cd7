#include "data/rows/narrow.h"
#include <string.h>

/* Bits that differ from the one below say how long a number is, of either sign. */
static int narrow_bytes_of(uint64_t bits) { return bits >> 8 == 0 ? 1 : bits >> 16 == 0 ? 2 : bits >> 32 == 0 ? 4 : 8; }

static int narrow_64(const uint64_t *value, int64_t count)
{
    uint64_t bits = 0;
    for (int64_t i = 0; i < count; i++) bits |= value[i] ^ value[i] << 1;
    return narrow_bytes_of(bits);
}

static int narrow_32(const uint32_t *value, int64_t count)
{
    uint32_t bits = 0;
    for (int64_t i = 0; i < count; i++) bits |= value[i] ^ value[i] << 1;
    return narrow_bytes_of(bits);
}

int hr__narrow_width(hr_dtype dtype, const void *values, int64_t count)
{
    if (dtype == HR_INT64) return narrow_64(values, count);
    if (dtype == HR_INT32) return narrow_32(values, count);
    return (int)hr_dtype_size(dtype);
}

/* ---- kernels ---- */

typedef void kernel(const void *from, void *to, int64_t count);

#define HR_CONVERT(name, source, target)                                                                               \
    static void name(const void *from, void *to, int64_t count)                                                        \
    {                                                                                                                  \
        const source *f = from;                                                                                        \
        target *t = to;                                                                                                \
        for (int64_t i = 0; i < count; i++) t[i] = (target)f[i];                                                       \
    }
HR_CONVERT(narrow_8_1, int64_t, int8_t)
HR_CONVERT(narrow_8_2, int64_t, int16_t)
HR_CONVERT(narrow_8_4, int64_t, int32_t)
HR_CONVERT(narrow_4_1, int32_t, int8_t)
HR_CONVERT(narrow_4_2, int32_t, int16_t)
HR_CONVERT(widen_1_8, int8_t, int64_t)
HR_CONVERT(widen_2_8, int16_t, int64_t)
HR_CONVERT(widen_4_8, int32_t, int64_t)
HR_CONVERT(widen_1_4, int8_t, int32_t)
HR_CONVERT(widen_2_4, int16_t, int32_t)

typedef struct pair {
    int value, width;
    kernel *narrow, *widen;
} pair;

/* NULL: as it is. */
static const pair *pair_of(int value, int width)
{
    static const pair all[] = {
        {8, 1, narrow_8_1, widen_1_8}, {8, 2, narrow_8_2, widen_2_8}, {8, 4, narrow_8_4, widen_4_8},
        {4, 1, narrow_4_1, widen_1_4}, {4, 2, narrow_4_2, widen_2_4},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].value == value && all[i].width == width) return &all[i];
    return NULL;
}

void hr__narrow(const void *from, int value, int width, int64_t count, void *to)
{
    const pair *p = pair_of(value, width);
    if (p)
        p->narrow(from, to, count);
    else if (count > 0)
        memcpy(to, from, (size_t)count * (size_t)value);
}

void hr__widen(const void *from, int width, int value, int64_t count, void *to)
{
    const pair *p = pair_of(value, width);
    if (p)
        p->widen(from, to, count);
    else if (count > 0)
        memcpy(to, from, (size_t)count * (size_t)value);
}
