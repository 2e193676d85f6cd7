/* Variables that functions read: loops, branches and calls take the value in place of the handle. */
#ifndef HR_FREEZE_CALLS_H
#define HR_FREEZE_CALLS_H

#include "train/transforms/transform.h"

/* What a variable is from now on. */
typedef struct hr__frozen {
    const char *name;
    hr_dtype dtype;
    hr_shape shape;
} hr__frozen;

/* What calls functions: the list of their inputs' types begins with the node's input `first`. */
typedef struct hr__calling_op hr__calling_op;
const hr__calling_op *hr__calling_op_named(const char *op); /* NULL: it calls none */

/* Input `input` of a node of such an op is a value now: it calls copies of its functions, which take that. `attr`: the
 * node's, which may be changed. *output: by which of its outputs a loop hands the value on; -1: it does not.
 * HR_UNIMPLEMENTED, "transform.variable": a function does more than read it. */
hr_status hr__freeze_call(hr__draft *d, const hr__frozen *v, const hr__calling_op *op, proto_entry **attr, int attrs,
                          int input, int *output, hr_error *err);

#endif
