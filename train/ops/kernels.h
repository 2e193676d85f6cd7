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

#include <string.h>

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

/* *text: a C string like `from`, until compute returns. */
HR_API hr_status hr_kernel_text(hr_kernel *k, hr_view from, char **text, hr_error *err);
/* Memory of `count` values of `size` bytes until compute returns, at least one byte; *out is its address, so that `out`
 * is that of a pointer: hr_kernel_array(k, n, sizeof *sums, "sums", &sums, err). `what` names it where there is none;
 * more than HR_MAX_VALUES bytes are refused, "graph.shape". */
HR_API hr_status hr_kernel_array(hr_kernel *k, int64_t count, size_t size, const char *what, void *out, hr_error *err);

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

/* Compute of a node that is a resource: output 0 is the handle of the one with which its state begins, an
 * hr_resource *. */
HR_API hr_status hr_compute_handle(hr_kernel *k, hr_error *err);

/* ---- distinct rows ----
 * Numbers of rows are put into a small hash table as they come: the first one has place 0, the next other one place 1.
 * hr_distinct_rows_begin takes memory of the kernel for `count` of them, none of which may be negative or reach
 * `table_rows`; hr_distinct_rows_find tells the place of a row, old or new. */
typedef struct hr_distinct_rows {
    int32_t *slot; /* the place of a row in `rows`, plus one; 0: free */
    int64_t *rows; /* by place */
    uint32_t mask; /* of the slots; 0: a small table's, found by the row itself */
    int64_t count;
} hr_distinct_rows;

/* "graph.rows": more than INT32_MAX / 8. No memory. */
HR_API hr_status hr_distinct_rows_begin(hr_kernel *k, int64_t count, int64_t table_rows, hr_distinct_rows *out,
                                        hr_error *err);

/* Whether another row has the slot. */
static inline bool hr_distinct_rows_taken(const hr_distinct_rows *s, size_t slot, int64_t row)
{
    const int32_t found = s->slot[slot];
    return (found != 0) & (s->rows[found - (found != 0)] != row);
}

/* Whether the row was there before is as good as random, so there is no branch on it. */
static inline int64_t hr_distinct_rows_find(hr_distinct_rows *s, int64_t row)
{
    size_t at = (size_t)row;
    if (s->mask) {
        at = (uint32_t)(((uint64_t)row * 0x9e3779b97f4a7c15u) >> 32) & s->mask;
        while (hr_distinct_rows_taken(s, at, row)) at = (at + 1) & s->mask;
    }
    const int64_t found = s->slot[at], old = -(int64_t)(found != 0); /* all bits or none: else compilers branch */
    const int64_t place = ((found - 1) & old) | (s->count & ~old);
    s->rows[place] = row;
    s->slot[at] = (int32_t)place + 1;
    s->count += found == 0;
    return place;
}

/* ---- walks over tensors along strides ----
 *
 * A walk goes through all indices of a space and, for each tensor that takes part (an operand), to the value that
 * belongs to the index: operand 0 is the output. Dimensions that all operands go on through evenly are joined; the last
 * one is a run, which a loop does in one call. So do element-wise ops, reductions and copies:
 *
 *     hr_walk w;
 *     hr_walk_begin(&w, out->shape);
 *     hr_walk_add(&w, out);
 *     hr_walk_add(&w, k->input[0]);
 *     hr_walk_add(&w, k->input[1]);
 *     hr_walk_run(k, &w, 1, loop, NULL);
 */
enum { HR_WALK_OPERANDS = 8, HR_WALK_RANK = 2 * HR_MAX_RANK };

/* A walk in the making: see above. */
typedef struct hr_walk {
    int rank, operands;
    int64_t dims[HR_WALK_RANK];
    char *at[HR_WALK_OPERANDS];                   /* where each operand begins */
    int64_t step[HR_WALK_RANK][HR_WALK_OPERANDS]; /* by dimension, in bytes; 0: broadcast, or reduced */
} hr_walk;

/* A run of `n` values: at[i] is where operand i begins, step[i] how many bytes it goes on for each value. */
typedef void hr_loop(char *const *at, const int64_t *step, int64_t n, const void *user);

/* HR_LOOP(NAME, SUFFIX) { ... } defines the loop NAME_SUFFIX with the parameters of hr_loop; SUFFIX is that of the type
 * (kernels by type, below). Of the types of most work, long runs take a copy of it for AVX2 or AVX-512 on processors that
 * have these. All copies give the same bits: AVX2 alone has no fused products and sums, and a program that keeps the
 * compiler from making such, by -ffp-contract=off, defines HR_NO_CONTRACTION to have copies for AVX-512, too. */
#define HR_LOOP(NAME, SUFFIX) HR_LOOP_##SUFFIX(NAME##_##SUFFIX)
enum { HR_LONG_RUN = 64 };
/* Bytes that a vector of this processor takes, as far as HEADRACE_CPU allows: 64, 32 or 16. */
HR_API int hr_vector_bytes(void);

/* A walk through `space`, without operands yet. */
HR_API void hr_walk_begin(hr_walk *w, hr_shape space);
/* An operand that broadcasts to the space: the output, with the space's shape, or an input. */
HR_API void hr_walk_add(hr_walk *w, const hr_tensor *t);
/* An operand that goes `step[d]` bytes on for each step along dimension d. */
HR_API void hr_walk_add_strided(hr_walk *w, const void *first, const int64_t *step);
/* Bytes from one index of each dimension to the next in a dense tensor. */
HR_API void hr_walk_steps(const hr_tensor *t, int64_t *step);
/* Runs `loop` for all runs, each value about `nanoseconds`, on several threads where it pays. Pieces follow from the
 * space alone, and a value of operand 0 is written by one thread only: loops along which operand 0 stands still, as in
 * a reduction, are not shared out. `k` NULL: all in order, on the calling thread. */
HR_API void hr_walk_run(hr_kernel *k, hr_walk *w, double nanoseconds, hr_loop *loop, const void *user);
/* Copies values of `size` bytes from operand 1 to operand 0, in blocks where one of them lies across the other. */
HR_API void hr_walk_copy(hr_kernel *k, hr_walk *w, size_t size);

/* ---- kernels by type ----
 *
 * HR_UNARY(square, x * x, floats, halves) writes square_f32, square_f64, square_f16, square_bf16: a loop for each type
 * of the sets, in which `x` is the input. HR_BINARY has `x` and `y`, HR_COMPARISON the same and a result of bool, and
 * HR_UNARY_TEST `x` alone. `T` is the type of the values, `U` the one in which integers wrap. An expression that is a
 * sum or the like of float16 or bfloat16 is computed in float32. Where sets need other expressions, a second line has
 * them. Math is written as in <tgmath.h>, so that fabs(x) has the type of x. `user` is the node's state.
 * HR_KERNELS(square, floats, halves) is the table of these loops for a descriptor:
 *
 *     HR_UNARY(square, x * x, floats, halves)
 *     HR_UNARY(square, (U)x * (U)x, ints)
 *     HR_UNARY_GRADIENT(square, hr_mul(g, hr_mul(hr_scalar_like(x, 2), x)))
 *     ...
 *     HR_SAME_SHAPE_OP("Square", 0, .3, .kernels = HR_KERNELS(square, floats, halves, ints), .gradient = square_gradient),
 *
 * The sets: floats (float, double), float32, float64, halves (float16, bfloat16), signed_ints, unsigned_ints, ints
 * (both), complexes, bools, quantised, strings; any (all types of values, of which `widths` has one loop a size: _w1,
 * _w2, _w4, _w8, _w16). A set calls X(T, V, U, DTYPE, SUFFIX, ...): V is T as a value to compute with. */
typedef struct hr_half {
    uint16_t bits;
} hr_half;
typedef struct hr_bfloat16 {
    uint16_t bits;
} hr_bfloat16;

/* The float of these bits, and the other way. */
static inline float hr_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
/* The bits of a float. */
static inline uint32_t hr_bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* A float16 as float: the exponent is put right by a product, which takes subnormals, too. */
static inline float hr_half_get(hr_half h)
{
    const uint32_t rest = (uint32_t)(h.bits & 0x7fff) << 13, sign = (uint32_t)(h.bits & 0x8000) << 16;
    const float scaled = hr_from_bits(rest) * 5.192296858534828e33f /* 2^112 */;
    return hr_from_bits(sign | ((h.bits & 0x7c00) == 0x7c00 ? rest | 0x7f800000 : hr_bits_of(scaled)));
}

/* The nearest float16, ties to even. */
static inline hr_half hr_half_put(float value)
{
    const uint32_t bits = hr_bits_of(value), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    uint32_t out;
    if (rest > 0x7f800000)
        out = 0x7e00;
    else if (rest >= 0x477ff000) /* 65520 */
        out = 0x7c00;
    else if (rest < 0x38800000) /* 2^-14: the sum rounds to a multiple of 2^-24 */
        out = hr_bits_of(hr_from_bits(rest) + 0.5f) - 0x3f000000;
    else
        out = (rest - 0x38000000 + 0xfff + (rest >> 13 & 1)) >> 13;
    const hr_half half = {(uint16_t)(sign | out)};
    return half;
}

/* A bfloat16 as float, and the nearest bfloat16, ties to even. */
static inline float hr_bfloat16_get(hr_bfloat16 b) { return hr_from_bits((uint32_t)b.bits << 16); }
/* The nearest bfloat16, ties to even. */
static inline hr_bfloat16 hr_bfloat16_put(float value)
{
    const uint32_t bits = hr_bits_of(value);
    const hr_bfloat16 out = {
        (uint16_t)(value != value ? (bits >> 16 & 0x8000) | 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16)};
    return out;
}

/* Float and double. */
#define HR_SET_floats(X, ...)                                                                                          \
    X(float, float, float, HR_FLOAT, f32, __VA_ARGS__) X(double, double, double, HR_DOUBLE, f64, __VA_ARGS__)
/* Float16 and bfloat16. */
#define HR_SET_halves(X, ...)                                                                                          \
    X(hr_half, float, float, HR_HALF, f16, __VA_ARGS__) X(hr_bfloat16, float, float, HR_BFLOAT16, bf16, __VA_ARGS__)
/* Int8 to int64. */
#define HR_SET_signed_ints(X, ...)                                                                                     \
    X(int8_t, int8_t, uint32_t, HR_INT8, i8, __VA_ARGS__)                                                              \
    X(int16_t, int16_t, uint32_t, HR_INT16, i16, __VA_ARGS__)                                                          \
    X(int32_t, int32_t, uint32_t, HR_INT32, i32, __VA_ARGS__)                                                          \
    X(int64_t, int64_t, uint64_t, HR_INT64, i64, __VA_ARGS__)
/* Float alone, where TensorFlow has no other type. */
#define HR_SET_float32(X, ...) X(float, float, float, HR_FLOAT, f32, __VA_ARGS__)
/* Double alone, where float is computed in another way. */
#define HR_SET_float64(X, ...) X(double, double, double, HR_DOUBLE, f64, __VA_ARGS__)
/* Int32 alone, where TensorFlow has no other integers. */
#define HR_SET_int32(X, ...) X(int32_t, int32_t, uint32_t, HR_INT32, i32, __VA_ARGS__)
/* Uint8 to uint64. */
#define HR_SET_unsigned_ints(X, ...)                                                                                   \
    X(uint8_t, uint8_t, uint32_t, HR_UINT8, u8, __VA_ARGS__)                                                           \
    X(uint16_t, uint16_t, uint32_t, HR_UINT16, u16, __VA_ARGS__)                                                       \
    X(uint32_t, uint32_t, uint32_t, HR_UINT32, u32, __VA_ARGS__)                                                       \
    X(uint64_t, uint64_t, uint64_t, HR_UINT64, u64, __VA_ARGS__)
/* All integers. */
#define HR_SET_ints(X, ...) HR_SET_signed_ints(X, __VA_ARGS__) HR_SET_unsigned_ints(X, __VA_ARGS__)
/* Complex64 and complex128. */
#define HR_SET_complexes(X, ...)                                                                                       \
    X(float _Complex, float _Complex, float _Complex, HR_COMPLEX64, c64, __VA_ARGS__)                                  \
    X(double _Complex, double _Complex, double _Complex, HR_COMPLEX128, c128, __VA_ARGS__)
/* Bool. */
#define HR_SET_bools(X, ...) X(bool, bool, bool, HR_BOOL, bit, __VA_ARGS__)
/* Quantised whole numbers. */
#define HR_SET_quantised(X, ...)                                                                                       \
    X(int8_t, int8_t, uint32_t, HR_QINT8, q8, __VA_ARGS__)                                                             \
    X(uint8_t, uint8_t, uint32_t, HR_QUINT8, qu8, __VA_ARGS__)                                                         \
    X(int16_t, int16_t, uint32_t, HR_QINT16, q16, __VA_ARGS__)                                                         \
    X(uint16_t, uint16_t, uint32_t, HR_QUINT16, qu16, __VA_ARGS__)                                                     \
    X(int32_t, int32_t, uint32_t, HR_QINT32, q32, __VA_ARGS__)
/* String. */
#define HR_SET_strings(X, ...) X(hr_view, hr_view, hr_view, HR_STRING, text, __VA_ARGS__)
/* A value of 16 bytes, to be copied. */
typedef struct hr_16_bytes {
    uint64_t part[2];
} hr_16_bytes;
/* A type for each size of values. */
#define HR_SET_widths(X, ...)                                                                                          \
    X(uint8_t, uint8_t, uint8_t, HR_UINT8, w1, __VA_ARGS__)                                                            \
    X(uint16_t, uint16_t, uint16_t, HR_UINT16, w2, __VA_ARGS__)                                                        \
    X(uint32_t, uint32_t, uint32_t, HR_UINT32, w4, __VA_ARGS__)                                                        \
    X(uint64_t, uint64_t, uint64_t, HR_UINT64, w8, __VA_ARGS__)                                                        \
    X(hr_16_bytes, hr_16_bytes, hr_16_bytes, HR_STRING, w16, __VA_ARGS__)
#define HR_OF_WIDTH_(X, T, DTYPE, W, ...) X(T, T, T, DTYPE, W, __VA_ARGS__)
/* All types of values, by size. */
#define HR_SET_any(X, ...)                                                                                             \
    HR_OF_WIDTH_(X, uint32_t, HR_FLOAT, w4, __VA_ARGS__)                                                               \
    HR_OF_WIDTH_(X, uint64_t, HR_DOUBLE, w8, __VA_ARGS__)                                                              \
    HR_OF_WIDTH_(X, uint32_t, HR_INT32, w4, __VA_ARGS__)                                                               \
    HR_OF_WIDTH_(X, uint8_t, HR_UINT8, w1, __VA_ARGS__)                                                                \
    HR_OF_WIDTH_(X, uint16_t, HR_INT16, w2, __VA_ARGS__)                                                               \
    HR_OF_WIDTH_(X, uint8_t, HR_INT8, w1, __VA_ARGS__)                                                                 \
    HR_OF_WIDTH_(X, hr_16_bytes, HR_STRING, w16, __VA_ARGS__)                                                          \
    HR_OF_WIDTH_(X, uint64_t, HR_COMPLEX64, w8, __VA_ARGS__)                                                           \
    HR_OF_WIDTH_(X, uint64_t, HR_INT64, w8, __VA_ARGS__)                                                               \
    HR_OF_WIDTH_(X, uint8_t, HR_BOOL, w1, __VA_ARGS__)                                                                 \
    HR_OF_WIDTH_(X, uint8_t, HR_QINT8, w1, __VA_ARGS__)                                                                \
    HR_OF_WIDTH_(X, uint8_t, HR_QUINT8, w1, __VA_ARGS__)                                                               \
    HR_OF_WIDTH_(X, uint32_t, HR_QINT32, w4, __VA_ARGS__)                                                              \
    HR_OF_WIDTH_(X, uint16_t, HR_BFLOAT16, w2, __VA_ARGS__)                                                            \
    HR_OF_WIDTH_(X, uint16_t, HR_QINT16, w2, __VA_ARGS__)                                                              \
    HR_OF_WIDTH_(X, uint16_t, HR_QUINT16, w2, __VA_ARGS__)                                                             \
    HR_OF_WIDTH_(X, uint16_t, HR_UINT16, w2, __VA_ARGS__)                                                              \
    HR_OF_WIDTH_(X, hr_16_bytes, HR_COMPLEX128, w16, __VA_ARGS__)                                                      \
    HR_OF_WIDTH_(X, uint16_t, HR_HALF, w2, __VA_ARGS__)                                                                \
    HR_OF_WIDTH_(X, uint32_t, HR_UINT32, w4, __VA_ARGS__)                                                              \
    HR_OF_WIDTH_(X, uint64_t, HR_UINT64, w8, __VA_ARGS__)

/* X for each type of one to six sets, with two arguments of its own. */
#define HR_EACH_TYPE(X, A, B, ...)                                                                                     \
    HR_PICK_(__VA_ARGS__, HR_SETS_6_, HR_SETS_5_, HR_SETS_4_, HR_SETS_3_, HR_SETS_2_, HR_SETS_1_, ~)                   \
    (X, A, B, __VA_ARGS__)
#define HR_PICK_(a, b, c, d, e, f, PICKED, ...) PICKED
#define HR_SETS_1_(X, A, B, a) HR_SET_##a(X, A, B)
#define HR_SETS_2_(X, A, B, a, b) HR_SETS_1_(X, A, B, a) HR_SET_##b(X, A, B)
#define HR_SETS_3_(X, A, B, a, b, c) HR_SETS_2_(X, A, B, a, b) HR_SET_##c(X, A, B)
#define HR_SETS_4_(X, A, B, a, b, c, d) HR_SETS_3_(X, A, B, a, b, c) HR_SET_##d(X, A, B)
#define HR_SETS_5_(X, A, B, a, b, c, d, e) HR_SETS_4_(X, A, B, a, b, c, d) HR_SET_##e(X, A, B)
#define HR_SETS_6_(X, A, B, a, b, c, d, e, f) HR_SETS_5_(X, A, B, a, b, c, d, e) HR_SET_##f(X, A, B)

/* Values as they are computed with, and as they are stored. */
#define HR_GET(SUFFIX, v) HR_GET_##SUFFIX(v)
#define HR_PUT(SUFFIX, T, v) HR_PUT_##SUFFIX(T, v)
#define HR_GET_f16(v) hr_half_get(v)
#define HR_PUT_f16(T, v) hr_half_put((float)(v))
#define HR_GET_bf16(v) hr_bfloat16_get(v)
#define HR_PUT_bf16(T, v) hr_bfloat16_put((float)(v))
#define HR_GET_f32(v) (v)
#define HR_PUT_f32(T, v) ((T)(v))
#define HR_GET_f64(v) (v)
#define HR_PUT_f64(T, v) ((T)(v))
#define HR_GET_i8(v) (v)
#define HR_PUT_i8(T, v) ((T)(v))
#define HR_GET_i16(v) (v)
#define HR_PUT_i16(T, v) ((T)(v))
#define HR_GET_i32(v) (v)
#define HR_PUT_i32(T, v) ((T)(v))
#define HR_GET_i64(v) (v)
#define HR_PUT_i64(T, v) ((T)(v))
#define HR_GET_u8(v) (v)
#define HR_PUT_u8(T, v) ((T)(v))
#define HR_GET_u16(v) (v)
#define HR_PUT_u16(T, v) ((T)(v))
#define HR_GET_u32(v) (v)
#define HR_PUT_u32(T, v) ((T)(v))
#define HR_GET_u64(v) (v)
#define HR_PUT_u64(T, v) ((T)(v))
#define HR_GET_c64(v) (v)
#define HR_PUT_c64(T, v) ((T)(v))
#define HR_GET_c128(v) (v)
#define HR_PUT_c128(T, v) ((T)(v))
#define HR_GET_bit(v) (v)
#define HR_PUT_bit(T, v) ((T)(v))
#define HR_GET_text(v) (v)
#define HR_PUT_text(T, v) (v)
#define HR_GET_w1(v) (v)
#define HR_PUT_w1(T, v) (v)
#define HR_GET_w2(v) (v)
#define HR_PUT_w2(T, v) (v)
#define HR_GET_w4(v) (v)
#define HR_PUT_w4(T, v) (v)
#define HR_GET_w8(v) (v)
#define HR_PUT_w8(T, v) (v)
#define HR_GET_w16(v) (v)
#define HR_PUT_w16(T, v) (v)

/* What HR_LOOP makes of a body: one function; or several, of which the first one chooses. */
#define HR_LOOP_PARAMETERS_ char *const *at, const int64_t *step, int64_t n, const void *user
#define HR_LOOP_ONCE_(NAME) static void NAME(HR_LOOP_PARAMETERS_)
#define HR_LOOP_COPY_(NAME, COPY, TARGET)                                                                              \
    __attribute__((target(TARGET))) static void NAME##_##COPY(HR_LOOP_PARAMETERS_) { NAME##_body(at, step, n, user); }
#define HR_LOOP_COPIES_(NAME)                                                                                          \
    __attribute__((always_inline)) static inline void NAME##_body(HR_LOOP_PARAMETERS_);                                \
    HR_LOOP_COPY_(NAME, avx2, "avx2")                                                                                  \
    HR_LOOP_AVX512_(NAME)                                                                                              \
    static void NAME(HR_LOOP_PARAMETERS_)                                                                              \
    {                                                                                                                  \
        const int bytes = n < HR_LONG_RUN ? 0 : hr_vector_bytes();                                                     \
        if (bytes >= 64)                                                                                               \
            HR_LOOP_WIDEST_(NAME)(at, step, n, user);                                                                  \
        else if (bytes >= 32)                                                                                          \
            NAME##_avx2(at, step, n, user);                                                                            \
        else                                                                                                           \
            NAME##_body(at, step, n, user);                                                                            \
    }                                                                                                                  \
    static inline void NAME##_body(HR_LOOP_PARAMETERS_)
#if defined(HR_NO_CONTRACTION) && defined(__clang__)
#define HR_LOOP_AVX512_(NAME) HR_LOOP_COPY_(NAME, avx512, "avx512f,avx512vl,avx512dq,avx512bw")
#define HR_LOOP_WIDEST_(NAME) NAME##_avx512
#elif defined(HR_NO_CONTRACTION)
#define HR_LOOP_AVX512_(NAME) HR_LOOP_COPY_(NAME, avx512, "avx512f,avx512vl,avx512dq,avx512bw,prefer-vector-width=512")
#define HR_LOOP_WIDEST_(NAME) NAME##_avx512
#else
#define HR_LOOP_AVX512_(NAME)
#define HR_LOOP_WIDEST_(NAME) NAME##_avx2
#endif
#if defined(__x86_64__) && defined(__GNUC__)
#define HR_LOOP_OFTEN_(NAME) HR_LOOP_COPIES_(NAME)
#else
#define HR_LOOP_OFTEN_(NAME) HR_LOOP_ONCE_(NAME)
#endif
#define HR_LOOP_f32(NAME) HR_LOOP_OFTEN_(NAME)
#define HR_LOOP_f64(NAME) HR_LOOP_OFTEN_(NAME)
#define HR_LOOP_f16(NAME) HR_LOOP_ONCE_(NAME)
#define HR_LOOP_bf16(NAME) HR_LOOP_ONCE_(NAME)
#define HR_LOOP_i32(NAME) HR_LOOP_OFTEN_(NAME)
#define HR_LOOP_i64(NAME) HR_LOOP_OFTEN_(NAME)
#define HR_LOOP_w4(NAME) HR_LOOP_OFTEN_(NAME)
#define HR_LOOP_w8(NAME) HR_LOOP_OFTEN_(NAME)
#define HR_LOOP_i8(NAME) HR_LOOP_ONCE_(NAME)
#define HR_LOOP_i16(NAME) HR_LOOP_ONCE_(NAME)
#define HR_LOOP_u8(NAME) HR_LOOP_ONCE_(NAME)
#define HR_LOOP_u16(NAME) HR_LOOP_ONCE_(NAME)
#define HR_LOOP_u32(NAME) HR_LOOP_ONCE_(NAME)
#define HR_LOOP_u64(NAME) HR_LOOP_ONCE_(NAME)
#define HR_LOOP_c64(NAME) HR_LOOP_ONCE_(NAME)
#define HR_LOOP_c128(NAME) HR_LOOP_ONCE_(NAME)
#define HR_LOOP_bit(NAME) HR_LOOP_ONCE_(NAME)
#define HR_LOOP_text(NAME) HR_LOOP_ONCE_(NAME)
#define HR_LOOP_w1(NAME) HR_LOOP_ONCE_(NAME)
#define HR_LOOP_w2(NAME) HR_LOOP_ONCE_(NAME)
#define HR_LOOP_w16(NAME) HR_LOOP_ONCE_(NAME)

/* A table for `.kernels` of functions NAME_f32 and so on, or of structs NAME_f32 that compute finds in `more`. */
#define HR_KERNELS(NAME, ...)                                                                                          \
    (const hr_type_kernel[])                                                                                           \
    {                                                                                                                  \
        HR_EACH_TYPE(HR_KERNEL_LINE_, NAME, ~, __VA_ARGS__) { HR_INVALID_DTYPE, NULL, NULL }                           \
    }
#define HR_KERNEL_LINE_(T, V, U, DTYPE, SUFFIX, NAME, B) {DTYPE, (void (*)(void))NAME##_##SUFFIX, NULL},
#define HR_KERNEL_STRUCTS(NAME, ...)                                                                                   \
    (const hr_type_kernel[])                                                                                           \
    {                                                                                                                  \
        HR_EACH_TYPE(HR_KERNEL_STRUCT_, NAME, ~, __VA_ARGS__) { HR_INVALID_DTYPE, NULL, NULL }                         \
    }
#define HR_KERNEL_STRUCT_(T, V, U, DTYPE, SUFFIX, NAME, B) {DTYPE, NULL, &NAME##_##SUFFIX},

/* The line of a table for a type; NULL: it has none. */
static inline const hr_type_kernel *hr_kernel_of_type(const hr_type_kernel *table, hr_dtype dtype)
{
    for (; table->dtype != HR_INVALID_DTYPE; table++)
        if (table->dtype == dtype) return table;
    return NULL;
}

/* Values of a run do not depend on each other, also where the output is made over an input. */
#if defined(__GNUC__) && !defined(__clang__)
#define HR_EACH_VALUE _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++)
#else
#define HR_EACH_VALUE for (int64_t i = 0; i < n; i++)
#endif
#define HR_LOOP_TYPES_(T_, U_)                                                                                         \
    typedef T_ T;                                                                                                      \
    typedef U_ U;                                                                                                      \
    (void)user, (void)step, (void)sizeof(T), (void)sizeof(U)

#define HR_UNARY_LOOP_(T_, V_, U_, SUFFIX, R_, R_SUFFIX, NAME, EXPR)                                                   \
    HR_LOOP(NAME, SUFFIX)                                                                                              \
    {                                                                                                                  \
        HR_LOOP_TYPES_(V_, U_);                                                                                        \
        const T_ *a = (const T_ *)(const void *)at[1];                                                                 \
        R_ *z = (R_ *)(void *)at[0];                                                                                   \
        HR_EACH_VALUE                                                                                                  \
        {                                                                                                              \
            const V_ x = HR_GET(SUFFIX, a[i]);                                                                         \
            z[i] = HR_PUT(R_SUFFIX, R_, EXPR);                                                                         \
        }                                                                                                              \
    }
/* Both inputs go on, one stands still, or any steps: each has a loop that the compiler vectorises as it is. */
#define HR_BINARY_LOOP_(T_, V_, U_, SUFFIX, R_, R_SUFFIX, NAME, EXPR)                                                  \
    HR_LOOP(NAME, SUFFIX)                                                                                              \
    {                                                                                                                  \
        HR_LOOP_TYPES_(V_, U_);                                                                                        \
        const T_ *a = (const T_ *)(const void *)at[1], *b = (const T_ *)(const void *)at[2];                           \
        R_ *z = (R_ *)(void *)at[0];                                                                                   \
        const int64_t size = (int64_t)sizeof(T_);                                                                      \
        if (step[1] == size && step[2] == size) {                                                                      \
            HR_EACH_VALUE                                                                                              \
            {                                                                                                          \
                const V_ x = HR_GET(SUFFIX, a[i]), y = HR_GET(SUFFIX, b[i]);                                           \
                z[i] = HR_PUT(R_SUFFIX, R_, EXPR);                                                                     \
            }                                                                                                          \
        } else if (step[1] == size && step[2] == 0) {                                                                  \
            const V_ y = HR_GET(SUFFIX, *b);                                                                           \
            HR_EACH_VALUE                                                                                              \
            {                                                                                                          \
                const V_ x = HR_GET(SUFFIX, a[i]);                                                                     \
                z[i] = HR_PUT(R_SUFFIX, R_, EXPR);                                                                     \
            }                                                                                                          \
        } else if (step[1] == 0 && step[2] == size) {                                                                  \
            const V_ x = HR_GET(SUFFIX, *a);                                                                           \
            HR_EACH_VALUE                                                                                              \
            {                                                                                                          \
                const V_ y = HR_GET(SUFFIX, b[i]);                                                                     \
                z[i] = HR_PUT(R_SUFFIX, R_, EXPR);                                                                     \
            }                                                                                                          \
        } else {                                                                                                       \
            const int64_t go_a = step[1] / size, go_b = step[2] / size;                                                \
            for (int64_t i = 0; i < n; i++) {                                                                          \
                const V_ x = HR_GET(SUFFIX, a[i * go_a]), y = HR_GET(SUFFIX, b[i * go_b]);                             \
                z[i] = HR_PUT(R_SUFFIX, R_, EXPR);                                                                     \
            }                                                                                                          \
        }                                                                                                              \
    }
#define HR_UNARY_OF_(T, V, U, DTYPE, SUFFIX, NAME, EXPR) HR_UNARY_LOOP_(T, V, U, SUFFIX, T, SUFFIX, NAME, EXPR)
#define HR_UNARY_TEST_OF_(T, V, U, DTYPE, SUFFIX, NAME, EXPR) HR_UNARY_LOOP_(T, V, U, SUFFIX, bool, bit, NAME, EXPR)
#define HR_BINARY_OF_(T, V, U, DTYPE, SUFFIX, NAME, EXPR) HR_BINARY_LOOP_(T, V, U, SUFFIX, T, SUFFIX, NAME, EXPR)
#define HR_COMPARISON_OF_(T, V, U, DTYPE, SUFFIX, NAME, EXPR) HR_BINARY_LOOP_(T, V, U, SUFFIX, bool, bit, NAME, EXPR)
#define HR_UNARY(NAME, EXPR, ...) HR_EACH_TYPE(HR_UNARY_OF_, NAME, EXPR, __VA_ARGS__)
#define HR_UNARY_TEST(NAME, EXPR, ...) HR_EACH_TYPE(HR_UNARY_TEST_OF_, NAME, EXPR, __VA_ARGS__)
#define HR_BINARY(NAME, EXPR, ...) HR_EACH_TYPE(HR_BINARY_OF_, NAME, EXPR, __VA_ARGS__)
#define HR_COMPARISON(NAME, EXPR, ...) HR_EACH_TYPE(HR_COMPARISON_OF_, NAME, EXPR, __VA_ARGS__)

/* Complete compute functions for loops of .kernels and output 0, made over an input where that is free: of inputs that
 * broadcast together, and of inputs of one shape, which loops of HR_UNARY need. Others are refused, "graph.shape". The
 * loop's `user` is the node's state, and the op's `nanoseconds` say what a value takes. */
HR_API hr_status hr_compute_broadcast(hr_kernel *k, hr_error *err);
HR_API hr_status hr_compute_same_shape(hr_kernel *k, hr_error *err);
/* The same for inputs in the caller's own shapes, one for each input of the node, and a shape that all broadcast to. */
HR_API hr_status hr_compute_walk(hr_kernel *k, const hr_tensor *const *inputs, hr_shape shape, hr_error *err);
/* The shape to which all inputs broadcast; else "graph.shape": "Incompatible shapes: [2] vs. [3]". */
HR_API hr_status hr_broadcast_inputs(const hr_kernel *k, hr_shape *out, hr_error *err);

/* Descriptors of element-wise ops, before the designators that are given: of inputs of one shape, and of two inputs
 * that broadcast. TRAITS: beyond HR_ELEMENT_WISE, or 0; NANOSECONDS: what a value takes, about. */
#define HR_SAME_SHAPE_OP(NAME, TRAITS, NANOSECONDS, ...)                                                               \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .traits = HR_ELEMENT_WISE | (TRAITS), .shapes = "merge",             \
        .compute = hr_compute_same_shape, .nanoseconds = (NANOSECONDS), __VA_ARGS__                                    \
    }
#define HR_BROADCAST_OP(NAME, TRAITS, NANOSECONDS, ...)                                                                \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .traits = HR_ELEMENT_WISE | (TRAITS), .shapes = "bcast",             \
        .compute = hr_compute_broadcast, .nanoseconds = (NANOSECONDS), __VA_ARGS__                                     \
    }

/* Gradients of one expression an input, as functions NAME_gradient. `g` is what flows in, `x` the input, `y` the
 * output; of two inputs x and y, `z` is the output, and what was broadcast is summed. */
#define HR_UNARY_GRADIENT(NAME, EXPR)                                                                                  \
    static void NAME##_gradient(hr_backward *b)                                                                        \
    {                                                                                                                  \
        const hr_node g = b->grad[0], x = b->input[0], y = b->output[0];                                               \
        (void)g, (void)x, (void)y;                                                                                     \
        hr_backward_give(b, 0, EXPR);                                                                                  \
    }
#define HR_BINARY_GRADIENT(NAME, BY_X, BY_Y)                                                                           \
    static void NAME##_gradient(hr_backward *b)                                                                        \
    {                                                                                                                  \
        const hr_node g = b->grad[0], x = b->input[0], y = b->input[1], z = b->output[0];                              \
        (void)g, (void)x, (void)y, (void)z;                                                                            \
        hr_backward_give_unbroadcast(b, 0, BY_X);                                                                      \
        hr_backward_give_unbroadcast(b, 1, BY_Y);                                                                      \
    }

/* ---- what a fused op does to its result ----
 *
 * TensorFlow's _FusedMatMul and _FusedConv2D add a bias to each row of channels, and may apply an element-wise op then.
 * The loops are those of the ops themselves, so the bits are the same. */
typedef struct hr_epilogue {
    hr_loop *add, *then; /* `then` NULL: the sum is the result */
    float alpha;         /* of LeakyRelu */
    size_t size;         /* of a value */
} hr_epilogue;

/* Reads a node's fused_ops, of which the first is BiasAdd and the second, if there is one, Relu, Relu6, Elu, LeakyRelu,
 * Tanh or Sigmoid, and `leakyrelu_alpha`: for `prepare`. Others are HR_UNIMPLEMENTED, "graph.kernel". */
HR_API hr_status hr_epilogue_read(hr_node node, hr_epilogue *out, hr_error *err);
/* Refuses a bias that is no vector of `channels` values, "graph.shape". */
HR_API hr_status hr_epilogue_check(const hr_tensor *bias, int64_t channels, hr_error *err);
/* On `count` rows of as many values as the bias, in place. */
HR_API void hr_epilogue_run(const hr_epilogue *e, const hr_tensor *bias, void *rows, int64_t count);

/* ---- products of matrices, for fused ops ---- */

/* a b [rows, columns], over `inner`. Each matrix lies in rows, the next one of which begins a_row, b_row or out_row
 * values on, at least as many as a row has; a transposed one is [inner, rows] or [columns, inner] in memory. All of
 * these numbers are below INT32_MAX. */
typedef struct hr_product {
    const float *a, *b;
    float *out;
    int64_t rows, columns, inner, a_row, b_row, out_row;
    bool transpose_a, transpose_b;
    bool add; /* to what `out` holds */
} hr_product;
/* Loads OpenBLAS: in `prepare` of an op that multiplies. HR_UNAVAILABLE, "matmul.blas": it is not installed. */
HR_API hr_status hr_product_prepare(hr_error *err);
/* Multiplies on the thread that calls it. Pieces of a product may go to pieces of hr_kernel_parallel. */
HR_API void hr_product_run(const hr_product *p);

/* ---- outputs of kernels that copy values of any type ---- */

/* Begins output i, of any type; write its values to *out, then call hr_kernel_end_output with the same `scratch` and
 * *out. For numbers, *out is the output itself. For strings, *out is `scratch`, which holds views that may point into
 * inputs; hr_kernel_end_output then makes the output, with copies of the strings. */
HR_API hr_status hr_kernel_begin_output(hr_kernel *k, int i, hr_shape shape, hr_tensor *scratch, hr_tensor **out,
                                        hr_error *err);
HR_API hr_status hr_kernel_end_output(hr_kernel *k, int i, const hr_tensor *scratch, const hr_tensor *out,
                                      hr_error *err);

/* Output i is a copy of `data`, which has the values of its shape, row-major. Strings are copied, too. */
HR_API hr_status hr_kernel_copy(hr_kernel *k, int i, hr_shape shape, const void *data, hr_error *err);

/* Strings in the making, for outputs: pieces are added to the last one until it ends. Begins as {0}. What lacks memory
 * is told by hr_strings_give, which makes output i of them, as many as the shape has, and frees all. */
typedef struct hr_strings {
    char *bytes;
    size_t size, capacity;
    int64_t *end; /* of each string in `bytes` */
    int64_t count;
    size_t end_capacity;
    bool failed;
} hr_strings;
HR_API void hr_strings_add(hr_strings *s, hr_view piece);
HR_API void hr_strings_end(hr_strings *s);
HR_API hr_status hr_strings_give(hr_strings *s, hr_kernel *k, int i, hr_shape shape, hr_error *err);
HR_API void hr_strings_free(hr_strings *s); /* where they are not given */

/* Copies a block of shape `block` between two tensors of one type. `from_at` and `to_at` are the indices at which the
 * block begins in each, one number for each dimension. The block must lie within both tensors. */
HR_API void hr_copy_block(hr_kernel *k, const hr_tensor *from, const int64_t *from_at, hr_tensor *to,
                          const int64_t *to_at, hr_shape block);

/* ---- constructors ---- */

/* The body of a constructor with one input, with two and with three: makes a node of `op`, named by `opts` (NULL: after
 * the op). */
HR_API hr_node hr_unary_node(const char *op, hr_node x, const hr_name_opts *opts);
HR_API hr_node hr_binary_node(const char *op, hr_node x, hr_node y, const hr_name_opts *opts);
HR_API hr_node hr_ternary_node(const char *op, hr_node x, hr_node y, hr_node z, const hr_name_opts *opts);
/* Such constructors, FN_with. */
#define HR_UNARY_CONSTRUCTOR(FN, OP)                                                                                   \
    hr_node FN##_with(hr_node x, const hr_name_opts *opts) { return hr_unary_node(OP, x, opts); }
#define HR_BINARY_CONSTRUCTOR(FN, OP)                                                                                  \
    hr_node FN##_with(hr_node x, hr_node y, const hr_name_opts *opts) { return hr_binary_node(OP, x, y, opts); }
#define HR_TERNARY_CONSTRUCTOR(FN, OP)                                                                                 \
    hr_node FN##_with(hr_node x, hr_node y, hr_node z, const hr_name_opts *opts)                                       \
    {                                                                                                                  \
        return hr_ternary_node(OP, x, y, z, opts);                                                                     \
    }
/* A node whose inputs are `first` and then `second`; `opts` has all else. A list of NULL, or of fewer than no nodes, fails
 * with "graph.argument"; of nodes of no graph, it is no node. */
HR_API hr_node hr_node_of_lists(const char *op, const hr_node *first, int first_count, const hr_node *second,
                                int second_count, const hr_node_opts *opts);

#ifdef __cplusplus
}
#endif
#endif
