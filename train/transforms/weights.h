/* Weights of a product or a convolution that are scaled by output channel: for transforms that fold what follows. */
#ifndef HR_TRANSFORM_WEIGHTS_H
#define HR_TRANSFORM_WEIGHTS_H

#include "train/transforms/transform.h"

/* The node is a Conv2D, DepthwiseConv2dNative or MatMul of float32 with constant weights, and only `taker` takes it. */
bool hr__weights_are_constant(hr__draft *d, int node, hr_tensor *weights, hr_error *err);
/* How many output channels weights of that node have. */
int64_t hr__weights_channels(const hr__draft *d, int node, const hr_tensor *weights);
/* The node gets weights of its own: those, times scale[channel]. */
hr_status hr__weights_scale(hr__draft *d, int node, const hr_tensor *weights, const double *scale, hr_error *err);
/* A constant vector of float32; count -1: it is none. */
int64_t hr__weights_vector(hr__draft *d, int node, hr_tensor *vector, hr_error *err);

#endif
