/* The op kit, second half: what the kernels of many ops need in addition to graph_op.h. C types of elements, integers
 * and axes as inputs, loops over broadcast shapes, outputs that may hold strings, and constructors of one node.
 *
 *     #include <headrace/kernels.h>
 *
 * HR_GRAPH_OP_ABI is the version of all declarations here, too. Messages state only the fact; the graph and the session
 * prepend the op and the node. Every `err` may be NULL. */
#ifndef HR_KERNELS_H
#define HR_KERNELS_H

#include <headrace/graph_op.h>
#include <headrace/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- element types ----
 *
 * The macros call X(T, U, DTYPE, SUFFIX) for each type of numbers: T is its C type, U the type to compute in, so that
 * integers wrap without undefined behaviour, DTYPE its hr_dtype, SUFFIX a suffix for names. So one loop is written once
 * for all types:
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

/* Sets value i of an int32 or int64 tensor. A value that does not fit into int32 is refused, "graph.shape". */
HR_API hr_status hr_put_int(hr_tensor *t, int64_t i, int64_t value, hr_error *err);

/* Reads the shape of a new tensor from a vector of int32 or int64. All dimensions must be known, and their product at
 * most HR_MAX_VALUES; else "graph.shape". */
HR_API hr_status hr_shape_input(const hr_tensor *t, hr_shape *out, hr_error *err);

/* Converts `axis`, which counts from the end if it is negative, to 0 ... rank - 1. An axis out of range is refused,
 * "graph.axis". */
HR_API hr_status hr_axis(int64_t axis, int rank, int *out, hr_error *err);
/* The same for an input, which must be a scalar, else "graph.shape". */
HR_API hr_status hr_axis_input(const hr_tensor *axis, int rank, int *out, hr_error *err);
/* The same for an input of one value and any shape, as ConcatV2 and SplitV accept it. */
HR_API hr_status hr_axis_of_one(const hr_tensor *axis, int rank, int *out, hr_error *err);

/* Refuses a known shape whose rank is not `rank`, 0 or 1, "graph.shape". `what` begins the message: "perm", "the
 * axis". */
HR_API hr_status hr_expect_rank(const char *what, hr_shape shape, int rank, hr_error *err);

/* The number of values before an axis: the product of dims[0] ... dims[axis - 1], all known. */
static inline int64_t hr_values_before_axis(hr_shape shape, int axis)
{
    int64_t n = 1;
    for (int i = 0; i < axis; i++) n *= shape.dims[i];
    return n;
}

/* The number of bytes in one block of the dimensions from `axis` on. */
static inline size_t hr_bytes_from_axis(const hr_tensor *t, int axis)
{
    size_t n = hr_dtype_size(t->dtype);
    for (int i = axis; i < t->shape.rank; i++) n *= (size_t)t->shape.dims[i];
    return n;
}

/* Checks that `splits`, int32 [n + 1], rises from 0 to the number of `ids` and may stay equal, and that there are as
 * many `weights` (NULL: none) as ids. Else "graph.splits". */
HR_API hr_status hr_check_splits(const hr_tensor *ids, const hr_tensor *splits, const hr_tensor *weights,
                                 hr_error *err);

/* ---- two inputs broadcast together ----
 *
 * The output consists of `outer` runs of `inner` values. Within a run, each input advances by its step, 0 or 1, for
 * each value. Adjacent dimensions are joined where both inputs continue with the same stride, so equal shapes make one
 * run:
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

/* Fills in *out for two known shapes. Shapes that NumPy would not broadcast are refused, "graph.shape". */
HR_API hr_status hr_broadcast_plan(hr_shape a, hr_shape b, hr_broadcast *out, hr_error *err);

/* The offsets, in values, at which run `i` begins in the two inputs. */
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

/* ---- outputs of kernels that copy values of any type ---- */

/* Begins output i, of any type; write its values to *out, then call hr_kernel_end_output with the same `scratch` and
 * *out. For numbers, *out is the output itself. For strings, *out is `scratch`, which holds views that may point into
 * inputs; hr_kernel_end_output then makes the output, with copies of the strings. */
HR_API hr_status hr_kernel_begin_output(hr_kernel *k, int i, hr_shape shape, hr_tensor *scratch, hr_tensor **out,
                                        hr_error *err);
HR_API hr_status hr_kernel_end_output(hr_kernel *k, int i, const hr_tensor *scratch, const hr_tensor *out,
                                      hr_error *err);

/* Copies a block of shape `block` between two tensors of one type. `from_at` and `to_at` are the indices at which the
 * block begins in each, one number for each dimension. The block must lie within both tensors. */
HR_API void hr_copy_block(const hr_tensor *from, const int64_t *from_at, hr_tensor *to, const int64_t *to_at,
                          hr_shape block);

/* ---- constructors ---- */

/* The body of a constructor with one input, and with two: makes a node of `op`, named by `opts` (NULL: after the
 * op). */
HR_API hr_node hr_unary_node(const char *op, hr_node x, const hr_name_opts *opts);
HR_API hr_node hr_binary_node(const char *op, hr_node x, hr_node y, const hr_name_opts *opts);

#ifdef __cplusplus
}
#endif
#endif
