/* The op kit, second half: what kernels of many ops need besides graph_op.h. Types as C has them, integers and axes as
 * inputs, loops over broadcast shapes, outputs that may hold strings, and constructors of one node.
 *
 *     #include <headrace/kernels.h>
 *
 * Versioned with the descriptor: what is declared here belongs to HR_GRAPH_OP_ABI. Messages state the fact alone; the
 * graph and the session put the op and the node before them. Every `err` may be NULL. */
#ifndef HR_KERNELS_H
#define HR_KERNELS_H

#include <headrace/graph_op.h>
#include <headrace/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- element types ----
 *
 * X(T, U, DTYPE, SUFFIX) for each type of numbers: its C type, the type to compute in so that integers wrap without
 * undefined behaviour, its hr_dtype, and a word for names. One loop is so written once:
 *
 *     #define NEGATE(T, U, DTYPE, SUFFIX)                                                    \
 *         static void negate_##SUFFIX(const T *x, T *out, int64_t n)                         \
 *         {                                                                                  \
 *             for (int64_t i = 0; i < n; i++) out[i] = (T)((U)0 - (U)x[i]);                  \
 *         }
 *     HR_NUMBER_TYPES(NEGATE)
 */
#define HR_FLOAT_TYPES(X)                                                                                              \
    X(float, float, HR_FLOAT, f32)                                                                                     \
    X(double, double, HR_DOUBLE, f64)
#define HR_SIGNED_TYPES(X)                                                                                             \
    X(int32_t, uint32_t, HR_INT32, i32)                                                                                \
    X(int64_t, uint64_t, HR_INT64, i64)                                                                                \
    X(int8_t, uint32_t, HR_INT8, i8)                                                                                   \
    X(int16_t, uint32_t, HR_INT16, i16)
#define HR_UNSIGNED_TYPES(X)                                                                                           \
    X(uint8_t, uint32_t, HR_UINT8, u8)                                                                                 \
    X(uint16_t, uint32_t, HR_UINT16, u16)                                                                              \
    X(uint32_t, uint32_t, HR_UINT32, u32)                                                                              \
    X(uint64_t, uint64_t, HR_UINT64, u64)
#define HR_INTEGER_TYPES(X) HR_SIGNED_TYPES(X) HR_UNSIGNED_TYPES(X)
#define HR_NUMBER_TYPES(X) HR_FLOAT_TYPES(X) HR_INTEGER_TYPES(X)

/* ---- inputs that are indices, axes, or shapes ---- */

/* Value i of an int32 or int64 tensor. */
static inline int64_t hr_int_at(const hr_tensor *t, int64_t i)
{
    return t->dtype == HR_INT32 ? ((const int32_t *)t->data)[i] : ((const int64_t *)t->data)[i];
}

/* Sets value i of an int32 or int64 tensor. A value that int32 does not hold is refused, "graph.shape". */
HR_API hr_status hr_put_int(hr_tensor *t, int64_t i, int64_t value, hr_error *err);

/* Reads a whole shape from a vector of int32 or int64, for a tensor that is to be made: all dimensions are known, and
 * their product is at most HR_MAX_VALUES. Else "graph.shape". */
HR_API hr_status hr_shape_input(const hr_tensor *t, hr_shape *out, hr_error *err);

/* Turns `axis`, which counts from the end if it is negative, into one of 0 ... rank - 1. Else "graph.axis". */
HR_API hr_status hr_axis(int64_t axis, int rank, int *out, hr_error *err);
/* The same of an input, which must be a scalar. */
HR_API hr_status hr_axis_input(const hr_tensor *axis, int rank, int *out, hr_error *err);
/* The same of an input of one value, whatever its shape: ConcatV2 and SplitV accept that. */
HR_API hr_status hr_axis_of_one(const hr_tensor *axis, int rank, int *out, hr_error *err);

/* Refuses a known shape of another rank than 0 or 1, "graph.shape". `what` begins the message: "perm", "the axis". */
HR_API hr_status hr_expect_rank(const char *what, hr_shape shape, int rank, hr_error *err);

/* The number of values before an axis: the product of dims[0] ... dims[axis - 1], all known. */
static inline int64_t hr_values_before_axis(hr_shape shape, int axis)
{
    int64_t n = 1;
    for (int i = 0; i < axis; i++) n *= shape.dims[i];
    return n;
}

/* The bytes of what lies along an axis and after it. */
static inline size_t hr_bytes_from_axis(const hr_tensor *t, int axis)
{
    size_t n = hr_dtype_size(t->dtype);
    for (int i = axis; i < t->shape.rank; i++) n *= (size_t)t->shape.dims[i];
    return n;
}

/* Checks that `splits`, int32 [n + 1], rises from 0 to the number of `ids`, and that `weights` (NULL: none) are as
 * many as the ids. Else "graph.splits". */
HR_API hr_status hr_check_splits(const hr_tensor *ids, const hr_tensor *splits, const hr_tensor *weights,
                                 hr_error *err);

/* ---- two inputs broadcast together ----
 *
 * The output is `outer` runs of `inner` values. Within a run, each input advances by its step, 0 or 1, for each value.
 * Adjacent dimensions that both inputs walk alike are joined, so equal shapes make one run:
 *
 *     for (int64_t i = 0; i < plan.outer; i++) {
 *         int64_t a, b;
 *         hr_broadcast_run(&plan, i, &a, &b);
 *         for (int64_t j = 0; j < plan.inner; j++)
 *             out[i * plan.inner + j] = x[a + j * plan.step_a] + y[b + j * plan.step_b];
 *     }
 */
typedef struct hr_broadcast {
    hr_shape shape;                                            /* of the output */
    int rank;                                                  /* of the loops around the runs */
    int64_t dims[HR_MAX_RANK], a[HR_MAX_RANK], b[HR_MAX_RANK]; /* their lengths; strides in values */
    int64_t outer, inner;
    int step_a, step_b;
} hr_broadcast;

/* Plans the walk. Shapes that numpy would not broadcast are refused, "graph.shape". */
HR_API hr_status hr_broadcast_plan(hr_shape a, hr_shape b, hr_broadcast *out, hr_error *err);

/* Where run number `i` begins in a and in b, in values. */
static inline void hr_broadcast_run(const hr_broadcast *p, int64_t i, int64_t *a, int64_t *b)
{
    *a = *b = 0;
    for (int d = p->rank - 1; d >= 0; d--) {
        const int64_t at = i % p->dims[d];
        i /= p->dims[d];
        *a += at * p->a[d];
        *b += at * p->b[d];
    }
}

/* ---- outputs of kernels that move values of any type ---- */

/* Begins output i, of any type. Numbers are written into the output itself. Of strings, *out is `scratch`: views are
 * gathered there, which may point into inputs, and hr_kernel_end_output makes an output that owns copies of them. Write
 * to *out, then call the end with the same two. */
HR_API hr_status hr_kernel_begin_output(hr_kernel *k, int i, hr_shape shape, hr_tensor *scratch, hr_tensor **out,
                                        hr_error *err);
HR_API hr_status hr_kernel_end_output(hr_kernel *k, int i, const hr_tensor *scratch, const hr_tensor *out,
                                      hr_error *err);

/* Copies a block of shape `block` between two tensors of one type, from and to the index at which it begins in each,
 * one number for each dimension. The block must lie within both. */
HR_API void hr_copy_block(const hr_tensor *from, const int64_t *from_at, hr_tensor *to, const int64_t *to_at,
                          hr_shape block);

/* ---- constructors ---- */

/* The body of a constructor with one input, and with two: a node of `op`, named by `opts` (NULL: after the op). */
HR_API hr_node hr_unary_node(const char *op, hr_node x, const hr_name_opts *opts);
HR_API hr_node hr_binary_node(const char *op, hr_node x, hr_node y, const hr_name_opts *opts);

#ifdef __cplusplus
}
#endif
#endif
