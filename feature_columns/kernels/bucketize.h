/* Bucket numbers of many floats at once. Not a public header. */
#ifndef HR__BUCKETIZE_H
#define HR__BUCKETIZE_H

#include <headrace/base.h>

/* out[i] = number of boundaries <= x[i]; NaN lies above all of them, and denormals count as 0, as in TensorFlow's
 * kernels. `boundaries` rise and hold no denormals: hr__no_denormal. */
void hr__bucketize(const float *x, int64_t n, const float *boundaries, int count, int64_t *out);
float hr__no_denormal(float x);

#endif
