/* What kernels of this room share: the types as C has them, axes, and loops over broadcast shapes. */
#ifndef HR_OPS_KERNELS_H
#define HR_OPS_KERNELS_H

#include "train/graph/graph_op.h"
#include "train/ops/ops.h"

/* X(type, what it is computed with so that overflow wraps, HR_ name, short name). */
#define HR__FLOATS(X)                                                                                                  \
    X(float, float, HR_FLOAT, f32)                                                                                     \
    X(double, double, HR_DOUBLE, f64)
#define HR__SIGNED(X)                                                                                                  \
    X(int32_t, uint32_t, HR_INT32, i32)                                                                                \
    X(int64_t, uint64_t, HR_INT64, i64)                                                                                \
    X(int8_t, uint32_t, HR_INT8, i8)                                                                                   \
    X(int16_t, uint32_t, HR_INT16, i16)
#define HR__UNSIGNED(X)                                                                                                \
    X(uint8_t, uint32_t, HR_UINT8, u8)                                                                                 \
    X(uint16_t, uint32_t, HR_UINT16, u16)                                                                              \
    X(uint32_t, uint32_t, HR_UINT32, u32)                                                                              \
    X(uint64_t, uint64_t, HR_UINT64, u64)
#define HR__INTS(X) HR__SIGNED(X) HR__UNSIGNED(X)
#define HR__NUMBERS(X) HR__FLOATS(X) HR__INTS(X)

/* Value i of an int32 or int64 tensor. */
static inline int64_t hr__int_at(const hr_tensor *t, int64_t i)
{
    return t->dtype == HR_INT32 ? ((const int32_t *)t->data)[i] : ((const int64_t *)t->data)[i];
}

/* Sets value i of an int32 or int64 tensor; one that int32 does not hold is an error. */
hr_status hr__put_int(hr_tensor *t, int64_t i, int64_t value, hr_error *err);
/* An input that says a whole shape, of a tensor that is to be made. */
hr_status hr__shape_input(const hr_tensor *t, hr_shape *out, hr_error *err);

/* An axis, negative ones counted from the end, as 0 ... rank - 1; "ConcatV2 axis". */
hr_status hr__axis(int64_t axis, int rank, int *out, hr_error *err);
/* The same of an input that must be a scalar. */
hr_status hr__axis_input(const hr_tensor *axis, int rank, int *out, hr_error *err);
/* Refuses an input of another rank: `what` is "axis", "perm". */
hr_status hr__expect_rank(const char *what, hr_shape shape, int rank, hr_error *err);

/* Two inputs walked together: the output is `outer` runs of `inner` values; in a run each input moves on by its step,
 * 0 or 1. Dimensions that go alike are joined. */
typedef struct hr__broadcast {
    hr_shape shape;                                            /* of the output */
    int rank;                                                  /* of the loops around the runs */
    int64_t dims[HR_MAX_RANK], a[HR_MAX_RANK], b[HR_MAX_RANK]; /* lengths; strides in values */
    int64_t outer, inner;
    int step_a, step_b;
} hr__broadcast;
hr_status hr__broadcast_plan(hr_shape a, hr_shape b, hr__broadcast *out, hr_error *err);
/* Where run number `i` begins in a and in b. */
static inline void hr__broadcast_run(const hr__broadcast *p, int64_t i, int64_t *a, int64_t *b)
{
    *a = *b = 0;
    for (int d = p->rank - 1; d >= 0; d--) {
        const int64_t at = i % p->dims[d];
        i /= p->dims[d];
        *a += at * p->a[d];
        *b += at * p->b[d];
    }
}

/* Whether splits [n + 1] share out the ids, and the weights, if any, are as many. */
hr_status hr__check_splits(const hr_tensor *ids, const hr_tensor *splits, const hr_tensor *weights, hr_error *err);

/* Output i of a kernel that copies values around. Strings point into the buffers that they came from, so their views
 * are gathered in scratch memory first, and the end makes an output that owns copies. */
hr_status hr__begin_output(hr_kernel *k, int i, hr_shape shape, hr_tensor *scratch, hr_tensor **out, hr_error *err);
hr_status hr__end_output(hr_kernel *k, int i, const hr_tensor *scratch, const hr_tensor *out, hr_error *err);
/* Copies a block of shape `block` between two tensors, from its place in each. */
void hr__copy_block(const hr_tensor *from, const int64_t *from_at, hr_tensor *to, const int64_t *to_at, hr_shape block);

/* A constructor with one input, with two. */
hr_node hr__unary(const char *op, hr_node x, const hr_name_opts *opts);
hr_node hr__binary(const char *op, hr_node x, hr_node y, const hr_name_opts *opts);

#endif
