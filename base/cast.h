/* Integers of one type as those of another, and never another number: for parsers, columns, and other libraries'
 * arrays. Not a public header. */
#ifndef HR_CAST_H
#define HR_CAST_H

#include <headrace/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Value `i` of an array of integers or booleans. False: int64 does not hold it, or it is of another type; *value is 0
 * then. */
HR_API bool hr__integer_of(const void *values, hr_dtype dtype, int64_t i, int64_t *value);
/* As one value of any type of number; float and double may round. False: it does not fit; zero is stored then. To
 * bool only 0 and 1 fit. */
bool hr__store_integer(int64_t value, hr_dtype dtype, void *to);

#ifdef __cplusplus
}
#endif
#endif
