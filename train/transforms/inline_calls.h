/* Calls in a draft that become the nodes of their functions. */
#ifndef HR_INLINE_CALLS_H
#define HR_INLINE_CALLS_H

#include "train/transforms/transform.h"

/* All calls, also those in functions that were called; `of_handles`: only of functions that take handles of variables or
 * tables. HR_UNIMPLEMENTED, "transform.function": a function has a loop of TensorFlow 1, or calls itself. */
hr_status hr__inline_calls(hr__draft *d, bool of_handles, hr_error *err);

#endif
