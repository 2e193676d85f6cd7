/* Sums of rows of a table, bit for bit as TensorFlow's SparseSegment kernels add: up to 9 rows from the first to the
 * last; of more, the odd ones first, then blocks of 8, each summed by itself. Weighted ones are added from the first to
 * the last. Not a public header. */
#ifndef HR_SUM_ROWS_H
#define HR_SUM_ROWS_H

#include <headrace/base.h>

/* count > 0 rows of `dimension` floats; weights: NULL, or one each. */
typedef void hr__sum_rows_fn(const float *const *row, const float *weights, int64_t count, int64_t dimension,
                             float *out);
/* The fastest one that this processor has; all give the same bits. */
hr__sum_rows_fn *hr__sum_rows_choose(void);

#endif
