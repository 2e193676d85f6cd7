/* TensorFlow's histogram: buckets that grow by a tenth, the same on both sides of zero. */
#ifndef HR_HISTOGRAM_H
#define HR_HISTOGRAM_H

#include "proto/event.pb-c.h"
#include <headrace/base.h>

typedef struct hr__histogram {
    double min, max, num, sum, sum_squares;
    double *limit, *bucket; /* parallel: bucket i counts values from limit[i - 1] up to, not including, limit[i] */
    size_t buckets;
} hr__histogram;

/* Runs of empty buckets are one entry. HR_INVALID_ARGUMENT for a value that is not finite. */
hr_status hr__histogram_of(const double *values, int64_t count, hr__histogram *out, hr_error *err);
void hr__histogram_message(const hr__histogram *h, Headrace__Proto__Histogram *out); /* borrows */
/* Fills `rows` with `buckets` rows of left edge, right edge and count, of one width, as TensorFlow 2. The last one has
 * all values if they are equal; zeros if there are none. Fails as hr__histogram_of. */
hr_status hr__histogram_rows(const double *values, int64_t count, int64_t buckets, double *rows, hr_error *err);
void hr__histogram_clear(hr__histogram *h);

#endif
