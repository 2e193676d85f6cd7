/* Rows of a matrix that have one id each: the table row of the id, or a one in its place. Not a public header. */
#ifndef HR_DENSE_ROWS_H
#define HR_DENSE_ROWS_H

#include <headrace/base.h>

/* Row r has the one value splits[0] + r. */
bool hr__one_each(const int32_t *splits, int64_t rows);
/* All of them are in 0 .. buckets - 1. */
bool hr__ids_fit(const int64_t *ids, int64_t count, int64_t buckets);

/* Table row ids[r] into row r of `out`, whose rows begin `stride` floats apart. The ids fit. */
void hr__gather_rows(const float *table, int64_t dimension, const int64_t *ids, int64_t rows, float *out,
                     int64_t stride);
/* Row r: 1 in place ids[r], 0 in the others; an id that does not fit is nowhere. */
void hr__one_hot_rows(const int64_t *ids, int64_t rows, int64_t buckets, float *out, int64_t stride);

#endif
