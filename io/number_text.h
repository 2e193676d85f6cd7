/* What the text of a number means, the same in every way in: CSV and JSON, read by a schema or looked at for one.
 * docs/formats.md has the rules. TensorFlow's own (.tf_compat) are other ones. Not a public header. */
#ifndef HR_NUMBER_TEXT_H
#define HR_NUMBER_TEXT_H

#include "base/digits.h"
#include <stdbool.h>
#include <stddef.h>

/* Digits, and no word such as inf: where the type has no number but infinity for it, it is out of range. */
static inline bool hr__is_numeral(const char *text, size_t size)
{
    const char *p = text, *end = text + size;
    hr__trim(&p, &end);
    if (p < end && (*p == '-' || *p == '+')) p++;
    return p < end && (hr__is_digit(*p) || *p == '.');
}

/* The size without a fraction of zeros alone, as pandas writes whole numbers of a column with gaps: of "7.00", 1. */
static inline size_t hr__whole_size(const char *text, size_t size)
{
    const char *begin = text, *end = text + size;
    hr__trim(&begin, &end);
    const char *p = end;
    while (p > begin && p[-1] == '0') p--;
    if (p == end || p - begin < 2 || p[-1] != '.' || !hr__is_digit(p[-2])) return size;
    return (size_t)(p - 1 - text);
}

#endif
