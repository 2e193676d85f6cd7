/* Whole numbers in as few bytes as the largest of them needs, two's complement. */
#ifndef HR_NARROW_H
#define HR_NARROW_H

#include <headrace/base.h>

/* 1, 2, 4 or 8 for HR_INT64 and HR_INT32, by what the values are; of other types their size. */
int hr__narrow_width(hr_dtype dtype, const void *values, int64_t count);
/* From `value` bytes each to `width`, and back. Equal sizes are copied. */
void hr__narrow(const void *from, int value, int width, int64_t count, void *to);
void hr__widen(const void *from, int width, int value, int64_t count, void *to);

#endif
