/* Headrace, ops: constructors of nodes. Those with options take .name. An error stays with the graph (hr_graph_error).
 * A variable as an input stands for its value. Each op computes what TensorFlow documents for the op of its name, of the
 * types that TensorFlow takes; another type fails, "graph.type". This half has sources, arithmetic, random values and
 * what is run for its effect; arrays.h has shapes, parts and orders; nn.h what layers are made of. */
#ifndef HR_OPS_H
#define HR_OPS_H

#include <headrace/feature_columns.h> /* hr_combiner */
#include <headrace/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_name_opts {
    size_t struct_size;
    const char *name; /* default: the op's name */
} hr_name_opts;
#define HR_NAMED_ .struct_size = sizeof(hr_name_opts)

/* ---- sources ---- */

typedef struct hr_placeholder_opts {
    size_t struct_size;
    const char *name;
} hr_placeholder_opts;
/* A value that each run is fed with. A dimension of -1 may vary. */
HR_API hr_node hr_placeholder_with(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_placeholder_opts *opts);
#define hr_placeholder(...)                                                                                            \
    HR_MADE_(                                                                                                          \
        HR_CALL3_(hr_placeholder_with, hr_placeholder_opts, __VA_ARGS__, .struct_size = sizeof(hr_placeholder_opts)))

/* What `value` computes, unless a run feeds it: a value of this shape. */
HR_API hr_node hr_placeholder_with_default(hr_node value, hr_shape shape);
#define hr_placeholder_with_default(...) HR_MADE_(hr_placeholder_with_default(__VA_ARGS__))

/* A constant; copies the tensor. */
HR_API hr_node hr_const_with(hr_graph *g, const hr_tensor *value, const hr_name_opts *opts);
#define hr_const(...) HR_MADE_(HR_CALL2_(hr_const_with, hr_name_opts, __VA_ARGS__, HR_NAMED_))
/* Short forms for common constants. */
HR_API hr_node hr_scalar(hr_graph *g, hr_dtype dtype, double value);   /* `value` must be in the range of the type */
HR_API hr_node hr_scalar_like(hr_node x, double value);                /* of the type of x */
HR_API hr_node hr_ints(hr_graph *g, const int64_t *values, int count); /* int32 vector; int64 if a value needs it */
HR_API hr_node hr_shape_const(hr_graph *g, hr_shape shape);            /* such a vector; the rank must be known */

/* ---- one input ---- */

#define HR_UNARY_OP_(fn) HR_API hr_node fn##_with(hr_node x, const hr_name_opts *opts);
HR_UNARY_OP_(hr_identity)
HR_UNARY_OP_(hr_stop_gradient)
HR_UNARY_OP_(hr_neg)
HR_UNARY_OP_(hr_abs) /* of complex numbers, too */
HR_UNARY_OP_(hr_sign)
HR_UNARY_OP_(hr_square)
HR_UNARY_OP_(hr_sqrt)
HR_UNARY_OP_(hr_rsqrt)
HR_UNARY_OP_(hr_reciprocal)
HR_UNARY_OP_(hr_exp)
HR_UNARY_OP_(hr_expm1)
HR_UNARY_OP_(hr_log)
HR_UNARY_OP_(hr_log1p)
HR_UNARY_OP_(hr_floor)
HR_UNARY_OP_(hr_ceil)
HR_UNARY_OP_(hr_round) /* halves to the even number */
HR_UNARY_OP_(hr_rint)
HR_UNARY_OP_(hr_is_nan)
HR_UNARY_OP_(hr_is_inf)
HR_UNARY_OP_(hr_is_finite)
HR_UNARY_OP_(hr_sigmoid)
HR_UNARY_OP_(hr_log_sigmoid) /* -softplus(-x) */
HR_UNARY_OP_(hr_tanh)
HR_UNARY_OP_(hr_relu)
HR_UNARY_OP_(hr_relu6)
HR_UNARY_OP_(hr_elu)
HR_UNARY_OP_(hr_selu)
HR_UNARY_OP_(hr_softplus)
HR_UNARY_OP_(hr_softsign)
HR_UNARY_OP_(hr_erf)
HR_UNARY_OP_(hr_sin)
HR_UNARY_OP_(hr_cos)
HR_UNARY_OP_(hr_tan)
HR_UNARY_OP_(hr_asin)
HR_UNARY_OP_(hr_acos)
HR_UNARY_OP_(hr_atan)
HR_UNARY_OP_(hr_sinh)
HR_UNARY_OP_(hr_cosh)
HR_UNARY_OP_(hr_asinh)
HR_UNARY_OP_(hr_acosh)
HR_UNARY_OP_(hr_atanh)
HR_UNARY_OP_(hr_erfc)
HR_UNARY_OP_(hr_lgamma)           /* the logarithm of the gamma function's size; of floating types, as the next two */
HR_UNARY_OP_(hr_digamma)          /* its derivative */
HR_UNARY_OP_(hr_erfinv)           /* of float and double, as ndtri */
HR_UNARY_OP_(hr_ndtri)            /* the quantile of the standard normal distribution */
HR_UNARY_OP_(hr_invert)           /* the other bits, of integers */
HR_UNARY_OP_(hr_population_count) /* how many bits are set, uint8 */
HR_UNARY_OP_(hr_real)             /* the real part; x if it is not complex */
HR_UNARY_OP_(hr_imag)             /* the imaginary part */
HR_UNARY_OP_(hr_angle)            /* of complex numbers, in (-pi, pi] */
HR_UNARY_OP_(hr_conj)
HR_UNARY_OP_(hr_logical_not)
#define HR_UNARY_CALL_(fn, ...) HR_MADE_(HR_CALL1_(fn##_with, hr_name_opts, __VA_ARGS__, HR_NAMED_))
#define hr_identity(...) HR_UNARY_CALL_(hr_identity, __VA_ARGS__)
#define hr_stop_gradient(...) HR_UNARY_CALL_(hr_stop_gradient, __VA_ARGS__)
#define hr_neg(...) HR_UNARY_CALL_(hr_neg, __VA_ARGS__)
#define hr_abs(...) HR_UNARY_CALL_(hr_abs, __VA_ARGS__)
#define hr_sign(...) HR_UNARY_CALL_(hr_sign, __VA_ARGS__)
#define hr_square(...) HR_UNARY_CALL_(hr_square, __VA_ARGS__)
#define hr_sqrt(...) HR_UNARY_CALL_(hr_sqrt, __VA_ARGS__)
#define hr_rsqrt(...) HR_UNARY_CALL_(hr_rsqrt, __VA_ARGS__)
#define hr_reciprocal(...) HR_UNARY_CALL_(hr_reciprocal, __VA_ARGS__)
#define hr_exp(...) HR_UNARY_CALL_(hr_exp, __VA_ARGS__)
#define hr_expm1(...) HR_UNARY_CALL_(hr_expm1, __VA_ARGS__)
#define hr_log(...) HR_UNARY_CALL_(hr_log, __VA_ARGS__)
#define hr_log1p(...) HR_UNARY_CALL_(hr_log1p, __VA_ARGS__)
#define hr_floor(...) HR_UNARY_CALL_(hr_floor, __VA_ARGS__)
#define hr_ceil(...) HR_UNARY_CALL_(hr_ceil, __VA_ARGS__)
#define hr_round(...) HR_UNARY_CALL_(hr_round, __VA_ARGS__)
#define hr_rint(...) HR_UNARY_CALL_(hr_rint, __VA_ARGS__)
#define hr_is_nan(...) HR_UNARY_CALL_(hr_is_nan, __VA_ARGS__)
#define hr_is_inf(...) HR_UNARY_CALL_(hr_is_inf, __VA_ARGS__)
#define hr_is_finite(...) HR_UNARY_CALL_(hr_is_finite, __VA_ARGS__)
#define hr_sigmoid(...) HR_UNARY_CALL_(hr_sigmoid, __VA_ARGS__)
#define hr_log_sigmoid(...) HR_UNARY_CALL_(hr_log_sigmoid, __VA_ARGS__)
#define hr_tanh(...) HR_UNARY_CALL_(hr_tanh, __VA_ARGS__)
#define hr_relu(...) HR_UNARY_CALL_(hr_relu, __VA_ARGS__)
#define hr_relu6(...) HR_UNARY_CALL_(hr_relu6, __VA_ARGS__)
#define hr_elu(...) HR_UNARY_CALL_(hr_elu, __VA_ARGS__)
#define hr_selu(...) HR_UNARY_CALL_(hr_selu, __VA_ARGS__)
#define hr_softplus(...) HR_UNARY_CALL_(hr_softplus, __VA_ARGS__)
#define hr_softsign(...) HR_UNARY_CALL_(hr_softsign, __VA_ARGS__)
#define hr_erf(...) HR_UNARY_CALL_(hr_erf, __VA_ARGS__)
#define hr_sin(...) HR_UNARY_CALL_(hr_sin, __VA_ARGS__)
#define hr_cos(...) HR_UNARY_CALL_(hr_cos, __VA_ARGS__)
#define hr_tan(...) HR_UNARY_CALL_(hr_tan, __VA_ARGS__)
#define hr_asin(...) HR_UNARY_CALL_(hr_asin, __VA_ARGS__)
#define hr_acos(...) HR_UNARY_CALL_(hr_acos, __VA_ARGS__)
#define hr_atan(...) HR_UNARY_CALL_(hr_atan, __VA_ARGS__)
#define hr_sinh(...) HR_UNARY_CALL_(hr_sinh, __VA_ARGS__)
#define hr_cosh(...) HR_UNARY_CALL_(hr_cosh, __VA_ARGS__)
#define hr_asinh(...) HR_UNARY_CALL_(hr_asinh, __VA_ARGS__)
#define hr_acosh(...) HR_UNARY_CALL_(hr_acosh, __VA_ARGS__)
#define hr_atanh(...) HR_UNARY_CALL_(hr_atanh, __VA_ARGS__)
#define hr_erfc(...) HR_UNARY_CALL_(hr_erfc, __VA_ARGS__)
#define hr_lgamma(...) HR_UNARY_CALL_(hr_lgamma, __VA_ARGS__)
#define hr_digamma(...) HR_UNARY_CALL_(hr_digamma, __VA_ARGS__)
#define hr_erfinv(...) HR_UNARY_CALL_(hr_erfinv, __VA_ARGS__)
#define hr_ndtri(...) HR_UNARY_CALL_(hr_ndtri, __VA_ARGS__)
#define hr_invert(...) HR_UNARY_CALL_(hr_invert, __VA_ARGS__)
#define hr_population_count(...) HR_UNARY_CALL_(hr_population_count, __VA_ARGS__)
#define hr_real(...) HR_UNARY_CALL_(hr_real, __VA_ARGS__)
#define hr_imag(...) HR_UNARY_CALL_(hr_imag, __VA_ARGS__)
#define hr_angle(...) HR_UNARY_CALL_(hr_angle, __VA_ARGS__)
#define hr_conj(...) HR_UNARY_CALL_(hr_conj, __VA_ARGS__)
#define hr_logical_not(...) HR_UNARY_CALL_(hr_logical_not, __VA_ARGS__)

typedef struct hr_leaky_relu_opts {
    size_t struct_size;
    const char *name;
    const float *alpha; /* default: 0.2 */
} hr_leaky_relu_opts;
/* LeakyRelu: x, and alpha x below 0. */
HR_API hr_node hr_leaky_relu_with(hr_node x, const hr_leaky_relu_opts *opts);
#define hr_leaky_relu(...)                                                                                             \
    HR_MADE_(HR_CALL1_(hr_leaky_relu_with, hr_leaky_relu_opts, __VA_ARGS__, .struct_size = sizeof(hr_leaky_relu_opts)))
/* Cast; gives `x` if it has this type. */
HR_API hr_node hr_cast_to(hr_node x, hr_dtype dtype);

/* ---- two inputs; those from hr_add to hr_logical_xor broadcast as in NumPy ---- */

#define HR_BINARY_OP_(fn) HR_API hr_node fn##_with(hr_node x, hr_node y, const hr_name_opts *opts);
HR_BINARY_OP_(hr_add) /* AddV2 */
HR_BINARY_OP_(hr_sub)
HR_BINARY_OP_(hr_mul)
HR_BINARY_OP_(hr_div) /* RealDiv */
HR_BINARY_OP_(hr_floor_div)
HR_BINARY_OP_(hr_floor_mod)
HR_BINARY_OP_(hr_truncate_mod) /* of the sign of x */
HR_BINARY_OP_(hr_div_no_nan)
HR_BINARY_OP_(hr_mul_no_nan)
HR_BINARY_OP_(hr_xdivy) /* 0 where x is, else x / y */
HR_BINARY_OP_(hr_xlogy) /* 0 where x is, else x log(y) */
HR_BINARY_OP_(hr_pow)
HR_BINARY_OP_(hr_atan2)
HR_BINARY_OP_(hr_squared_difference)
HR_BINARY_OP_(hr_maximum)
HR_BINARY_OP_(hr_minimum)
HR_BINARY_OP_(hr_equal)
HR_BINARY_OP_(hr_not_equal)
HR_BINARY_OP_(hr_less)
HR_BINARY_OP_(hr_less_equal)
HR_BINARY_OP_(hr_greater)
HR_BINARY_OP_(hr_greater_equal)
HR_BINARY_OP_(hr_logical_and)
HR_BINARY_OP_(hr_logical_or)
HR_BINARY_OP_(hr_truncate_div) /* rounded to 0; of integers, too */
HR_BINARY_OP_(hr_xlog1py)      /* 0 where x is, else x log(1 + y) */
HR_BINARY_OP_(hr_next_after)   /* the next number from x towards y */
HR_BINARY_OP_(hr_complex)      /* of real and imaginary parts, float or double */
HR_BINARY_OP_(hr_zeta)         /* Hurwitz's; of float and double, as the next three */
HR_BINARY_OP_(hr_polygamma)    /* derivative number x of digamma at y */
HR_BINARY_OP_(hr_igamma)       /* the lower regularized incomplete gamma function of a = x at y */
HR_BINARY_OP_(hr_igammac)      /* 1 - that */
HR_BINARY_OP_(hr_bitwise_and)  /* of integers, as the next four */
HR_BINARY_OP_(hr_bitwise_or)
HR_BINARY_OP_(hr_bitwise_xor)
HR_BINARY_OP_(hr_left_shift)  /* by 0 to all bits but one: what is beyond is taken as the nearest */
HR_BINARY_OP_(hr_right_shift) /* negative numbers stay negative */
HR_BINARY_OP_(hr_logical_xor)
HR_BINARY_OP_(hr_bias_add)                /* x [..., n] + y [n] */
HR_BINARY_OP_(hr_bias_add_channels_first) /* x [n, channels, ...] + y [channels] */
#define HR_BINARY_CALL_(fn, ...) HR_MADE_(HR_CALL2_(fn##_with, hr_name_opts, __VA_ARGS__, HR_NAMED_))
#define hr_add(...) HR_BINARY_CALL_(hr_add, __VA_ARGS__)
#define hr_sub(...) HR_BINARY_CALL_(hr_sub, __VA_ARGS__)
#define hr_mul(...) HR_BINARY_CALL_(hr_mul, __VA_ARGS__)
#define hr_div(...) HR_BINARY_CALL_(hr_div, __VA_ARGS__)
#define hr_floor_div(...) HR_BINARY_CALL_(hr_floor_div, __VA_ARGS__)
#define hr_floor_mod(...) HR_BINARY_CALL_(hr_floor_mod, __VA_ARGS__)
#define hr_truncate_mod(...) HR_BINARY_CALL_(hr_truncate_mod, __VA_ARGS__)
#define hr_div_no_nan(...) HR_BINARY_CALL_(hr_div_no_nan, __VA_ARGS__)
#define hr_mul_no_nan(...) HR_BINARY_CALL_(hr_mul_no_nan, __VA_ARGS__)
#define hr_xdivy(...) HR_BINARY_CALL_(hr_xdivy, __VA_ARGS__)
#define hr_xlogy(...) HR_BINARY_CALL_(hr_xlogy, __VA_ARGS__)
#define hr_pow(...) HR_BINARY_CALL_(hr_pow, __VA_ARGS__)
#define hr_atan2(...) HR_BINARY_CALL_(hr_atan2, __VA_ARGS__)
#define hr_squared_difference(...) HR_BINARY_CALL_(hr_squared_difference, __VA_ARGS__)
#define hr_maximum(...) HR_BINARY_CALL_(hr_maximum, __VA_ARGS__)
#define hr_minimum(...) HR_BINARY_CALL_(hr_minimum, __VA_ARGS__)
#define hr_equal(...) HR_BINARY_CALL_(hr_equal, __VA_ARGS__)
#define hr_not_equal(...) HR_BINARY_CALL_(hr_not_equal, __VA_ARGS__)
#define hr_less(...) HR_BINARY_CALL_(hr_less, __VA_ARGS__)
#define hr_less_equal(...) HR_BINARY_CALL_(hr_less_equal, __VA_ARGS__)
#define hr_greater(...) HR_BINARY_CALL_(hr_greater, __VA_ARGS__)
#define hr_greater_equal(...) HR_BINARY_CALL_(hr_greater_equal, __VA_ARGS__)
#define hr_logical_and(...) HR_BINARY_CALL_(hr_logical_and, __VA_ARGS__)
#define hr_logical_or(...) HR_BINARY_CALL_(hr_logical_or, __VA_ARGS__)
#define hr_truncate_div(...) HR_BINARY_CALL_(hr_truncate_div, __VA_ARGS__)
#define hr_xlog1py(...) HR_BINARY_CALL_(hr_xlog1py, __VA_ARGS__)
#define hr_next_after(...) HR_BINARY_CALL_(hr_next_after, __VA_ARGS__)
#define hr_complex(...) HR_BINARY_CALL_(hr_complex, __VA_ARGS__)
#define hr_zeta(...) HR_BINARY_CALL_(hr_zeta, __VA_ARGS__)
#define hr_polygamma(...) HR_BINARY_CALL_(hr_polygamma, __VA_ARGS__)
#define hr_igamma(...) HR_BINARY_CALL_(hr_igamma, __VA_ARGS__)
#define hr_igammac(...) HR_BINARY_CALL_(hr_igammac, __VA_ARGS__)
#define hr_bitwise_and(...) HR_BINARY_CALL_(hr_bitwise_and, __VA_ARGS__)
#define hr_bitwise_or(...) HR_BINARY_CALL_(hr_bitwise_or, __VA_ARGS__)
#define hr_bitwise_xor(...) HR_BINARY_CALL_(hr_bitwise_xor, __VA_ARGS__)
#define hr_left_shift(...) HR_BINARY_CALL_(hr_left_shift, __VA_ARGS__)
#define hr_right_shift(...) HR_BINARY_CALL_(hr_right_shift, __VA_ARGS__)
#define hr_logical_xor(...) HR_BINARY_CALL_(hr_logical_xor, __VA_ARGS__)
#define hr_bias_add(...) HR_BINARY_CALL_(hr_bias_add, __VA_ARGS__)
#define hr_bias_add_channels_first(...) HR_BINARY_CALL_(hr_bias_add_channels_first, __VA_ARGS__)

/* ---- three inputs, and several ---- */

#define HR_TERNARY_OP_(fn) HR_API hr_node fn##_with(hr_node x, hr_node y, hr_node z, const hr_name_opts *opts);
#define HR_TERNARY_CALL_(fn, ...) HR_MADE_(HR_CALL3_(fn##_with, hr_name_opts, __VA_ARGS__, HR_NAMED_))
HR_TERNARY_OP_(hr_clip_by_value) /* the values of x, at least y and at most z: scalars, or of the shape of x */
HR_TERNARY_OP_(hr_betainc)       /* the regularized incomplete beta function of a = x and b = y at z; floats */
#define hr_betainc(...) HR_TERNARY_CALL_(hr_betainc, __VA_ARGS__)
#define hr_clip_by_value(...) HR_TERNARY_CALL_(hr_clip_by_value, __VA_ARGS__)
/* AddN: the sum of nodes of one shape. */
HR_API hr_node hr_add_n(const hr_node *values, int count);

/* ---- matrices ---- */

/* Products of double, and of floats where neither matrix is small, are computed by OpenBLAS, in blocks that run in
 * parallel on the pool. OpenBLAS is loaded when the first of them is computed (HR_UNAVAILABLE, "matmul.blas": it is not
 * installed) and set to one thread. This setting holds for the whole process: a program that calls OpenBLAS itself may
 * set another number later. */
typedef struct hr_matmul_opts {
    size_t struct_size;
    const char *name;
    bool transpose_a, transpose_b; /* turned */
    bool adjoint_a, adjoint_b;     /* turned and conjugated */
} hr_matmul_opts;
/* MatMul: the product a b of two matrices; of more dimensions, or of ranks that are not known, BatchMatMulV2: of the last
 * two, where those before broadcast. */
HR_API hr_node hr_matmul_with(hr_node a, hr_node b, const hr_matmul_opts *opts);
#define hr_matmul(...)                                                                                                 \
    HR_MADE_(HR_CALL2_(hr_matmul_with, hr_matmul_opts, __VA_ARGS__, .struct_size = sizeof(hr_matmul_opts)))
/* What computes products in this process, for people: kernels, library, version, processor. Of equal graphs, numbers and
 * texts the results have equal bits. OpenBLAS is named as soon as a session has loaded it. */
HR_API void hr_products_text(hr_products products, char *text, size_t size);
/* Whether this processor is made for them: without AVX512_BF16, products of bfloat16 are slow. */
HR_API bool hr_products_are_fast(hr_products products);

/* ---- reductions of whole axes ---- */

typedef struct hr_reduce_opts {
    size_t struct_size;
    const char *name;
    const int64_t *axes; /* axis_count of them; default: all */
    int axis_count;
    bool keep_dims; /* reduced axes stay, with length 1 */
} hr_reduce_opts;
#define HR_REDUCE_OP_(fn) HR_API hr_node fn##_with(hr_node x, const hr_reduce_opts *opts);
HR_REDUCE_OP_(hr_reduce_sum)
HR_REDUCE_OP_(hr_reduce_mean)
HR_REDUCE_OP_(hr_reduce_prod)
HR_REDUCE_OP_(hr_reduce_max)
HR_REDUCE_OP_(hr_reduce_min)
HR_REDUCE_OP_(hr_reduce_all)
HR_REDUCE_OP_(hr_reduce_any)
HR_REDUCE_OP_(hr_reduce_euclidean_norm)
HR_REDUCE_OP_(hr_reduce_logsumexp) /* log(sum(exp(x))), without overflow */
HR_REDUCE_OP_(hr_reduce_variance)  /* the mean square of what is left of x without its mean; of floating types */
HR_REDUCE_OP_(hr_reduce_std)       /* the root of that */
HR_REDUCE_OP_(hr_count_nonzero)    /* int64 */
#define HR_REDUCE_CALL_(fn, ...)                                                                                       \
    HR_MADE_(HR_CALL1_(fn##_with, hr_reduce_opts, __VA_ARGS__, .struct_size = sizeof(hr_reduce_opts)))
#define hr_reduce_sum(...) HR_REDUCE_CALL_(hr_reduce_sum, __VA_ARGS__)
#define hr_reduce_mean(...) HR_REDUCE_CALL_(hr_reduce_mean, __VA_ARGS__)
#define hr_reduce_prod(...) HR_REDUCE_CALL_(hr_reduce_prod, __VA_ARGS__)
#define hr_reduce_max(...) HR_REDUCE_CALL_(hr_reduce_max, __VA_ARGS__)
#define hr_reduce_min(...) HR_REDUCE_CALL_(hr_reduce_min, __VA_ARGS__)
#define hr_reduce_all(...) HR_REDUCE_CALL_(hr_reduce_all, __VA_ARGS__)
#define hr_reduce_any(...) HR_REDUCE_CALL_(hr_reduce_any, __VA_ARGS__)
#define hr_reduce_euclidean_norm(...) HR_REDUCE_CALL_(hr_reduce_euclidean_norm, __VA_ARGS__)
#define hr_reduce_logsumexp(...) HR_REDUCE_CALL_(hr_reduce_logsumexp, __VA_ARGS__)
#define hr_reduce_variance(...) HR_REDUCE_CALL_(hr_reduce_variance, __VA_ARGS__)
#define hr_reduce_std(...) HR_REDUCE_CALL_(hr_reduce_std, __VA_ARGS__)
#define hr_count_nonzero(...) HR_REDUCE_CALL_(hr_count_nonzero, __VA_ARGS__)
HR_API hr_node hr_argmax(hr_node x, int axis); /* int64: the first index of the max value */
/* The first index of the min value. */
HR_API hr_node hr_argmin(hr_node x, int axis);
/* InTopKV2: whether the target, a class, is among the k greatest of each row: bool [n] of float [n, classes] and int32
 * or int64 [n]. */
HR_API hr_node hr_in_top_k(hr_node predictions, hr_node targets, int64_t k);

/* ---- nodes that are run for their effect ---- */

HR_API hr_node hr_group(hr_graph *g, const hr_node *nodes, int count, const char *name); /* NoOp that runs after all */
/* Sets the variable to `value`, adds `value` to it, subtracts `value` from it. */
HR_API hr_node hr_assign(hr_node variable, hr_node value);
HR_API hr_node hr_assign_add(hr_node variable, hr_node value);
HR_API hr_node hr_assign_sub(hr_node variable, hr_node value);
/* IdentityN: the same values, `count` outputs, all of which are computed if one is. */
HR_API hr_node hr_identity_n(const hr_node *values, int count);

typedef struct hr_print_opts {
    size_t struct_size;
    const char *name;
    int64_t summarize;   /* of each value at most so many numbers; default: 3 */
    const char *message; /* of hr_print: stands before them */
    int64_t first_n;     /* of hr_print: so many times; default: always */
} hr_print_opts;
/* Assert: the run fails with "graph.assert" and the values, `count` nodes of any type, if the condition is false. */
HR_API hr_node hr_assert_with(hr_node condition, const hr_node *values, int count, const hr_print_opts *opts);
#define hr_assert(...)                                                                                                 \
    HR_MADE_(HR_CALL3_(hr_assert_with, hr_print_opts, __VA_ARGS__, .struct_size = sizeof(hr_print_opts)))
/* Print: gives x, and tells the log (HR_INFO) the values each time. */
HR_API hr_node hr_print_with(hr_node x, const hr_node *values, int count, const hr_print_opts *opts);
#define hr_print(...)                                                                                                  \
    HR_MADE_(HR_CALL3_(hr_print_with, hr_print_opts, __VA_ARGS__, .struct_size = sizeof(hr_print_opts)))
/* Gives x; the run fails with "graph.assert" and the message if a value is NaN or infinite. */
HR_API hr_node hr_check_numerics(hr_node x, const char *message);
/* The shape of a variable's value, int32 or int64: a constant if it is known. */
HR_API hr_node hr_variable_shape(hr_node variable, hr_dtype out_type);

/* ---- summaries: strings, for hr_event_summary_bytes ----
 *
 * As tf.summary of TensorFlow 1: each is a scope of the cleaned name (hr_summary_tag) made unique, and its tag is that
 * scope's whole name. With a family the scope is "family/name", and the tag "family/" and that scope. A name that no
 * node may have fails with "graph.name". */
typedef struct hr_summary_opts {
    size_t struct_size;
    const char *family;
    const char *collection;                 /* default: "summaries"; "": none */
    const char *display_name, *description; /* of hr_tensor_summary: for TensorBoard */
    const uint8_t *bad_color;               /* of hr_image_summary: 4 bytes; default: 255, 0, 0, 255 */
    int64_t max_outputs;                    /* of hr_image_summary: so many pictures; default: 3 */
} hr_summary_opts;
#define HR_SUMMARY_(fn, ...)                                                                                           \
    HR_MADE_(HR_CALL2_(fn, hr_summary_opts, __VA_ARGS__, .struct_size = sizeof(hr_summary_opts)))
HR_API hr_node hr_scalar_summary_with(const char *name, hr_node x, const hr_summary_opts *opts); /* one number */
/* Values of any shape; a run fails with "summary.histogram" if one is not finite. */
HR_API hr_node hr_histogram_summary_with(const char *name, hr_node x, const hr_summary_opts *opts);
/* Pictures [n, height, width, 1, 3 or 4], of bytes or floats. Floats are stretched: without negative values the largest
 * becomes 255, with some 0 becomes 128 and the largest magnitude an end. The tags end in "/image", or, if .max_outputs
 * is more than 1, in "/image/0", ... */
HR_API hr_node hr_image_summary_with(const char *name, hr_node x, const hr_summary_opts *opts);
HR_API hr_node hr_tensor_summary_with(const char *name, hr_node x, const hr_summary_opts *opts); /* as it is */
HR_API hr_node hr_text_summary_with(const char *name, hr_node x, const hr_summary_opts *opts);   /* strings, Markdown */
#define hr_scalar_summary(...) HR_SUMMARY_(hr_scalar_summary_with, __VA_ARGS__)
#define hr_histogram_summary(...) HR_SUMMARY_(hr_histogram_summary_with, __VA_ARGS__)
#define hr_image_summary(...) HR_SUMMARY_(hr_image_summary_with, __VA_ARGS__)
#define hr_tensor_summary(...) HR_SUMMARY_(hr_tensor_summary_with, __VA_ARGS__)
#define hr_text_summary(...) HR_SUMMARY_(hr_text_summary_with, __VA_ARGS__)
/* All of them as one; a run fails with "summary.merge" if a tag is there twice. `name` NULL: "Merge". */
HR_API hr_node hr_merge_summary(const hr_node *summaries, int count, const char *name);
/* Those of a collection, NULL: "summaries". No node (hr_node_exists) if it is empty. */
HR_API hr_node hr_merge_all_summaries(hr_graph *g, const char *collection);

/* ---- random values; `shape` is an int32 or int64 vector; seed 0: from the graph's seed ---- */

HR_API hr_node hr_uniform_values(hr_node shape, hr_dtype dtype, int64_t seed); /* [0, 1) */
HR_API hr_node hr_normal_values(hr_node shape, hr_dtype dtype, int64_t seed);  /* mean 0, standard deviation 1 */
/* The same, but values beyond two standard deviations are drawn again. */
HR_API hr_node hr_truncated_normal_values(hr_node shape, hr_dtype dtype, int64_t seed);
/* The same of the type of two scalars, or nodes that broadcast to the shape: from `low` up to `high`, which is out, int32
 * and int64 as well, and with a mean and a standard deviation. */
HR_API hr_node hr_uniform_between(hr_node shape, hr_node low, hr_node high, int64_t seed);
HR_API hr_node hr_normal_around(hr_node shape, hr_node mean, hr_node stddev, int64_t seed);
HR_API hr_node hr_truncated_normal_around(hr_node shape, hr_node mean, hr_node stddev, int64_t seed);
/* The rows of x in a random order. */
HR_API hr_node hr_random_shuffle(hr_node x, int64_t seed);
/* Multinomial: from each row of logits [n, classes] `count` classes, int64 [n, count]. */
HR_API hr_node hr_categorical(hr_node logits, int64_t count, int64_t seed);
/* The same as functions of `seeds`, two numbers int32 or int64: nothing else decides them. */
HR_API hr_node hr_stateless_uniform_values(hr_node shape, hr_node seeds, hr_dtype dtype);
HR_API hr_node hr_stateless_normal_values(hr_node shape, hr_node seeds, hr_dtype dtype);
HR_API hr_node hr_stateless_truncated_normal_values(hr_node shape, hr_node seeds, hr_dtype dtype);
HR_API hr_node hr_stateless_uniform_between(hr_node shape, hr_node seeds, hr_node low, hr_node high);
HR_API hr_node hr_stateless_categorical(hr_node logits, int64_t count, hr_node seeds);

/* The same calls, which tell the line that they are in (graph.h). */
#define hr_scalar(...) HR_MADE_(hr_scalar(__VA_ARGS__))
#define hr_scalar_like(...) HR_MADE_(hr_scalar_like(__VA_ARGS__))
#define hr_ints(...) HR_MADE_(hr_ints(__VA_ARGS__))
#define hr_shape_const(...) HR_MADE_(hr_shape_const(__VA_ARGS__))
#define hr_argmax(...) HR_MADE_(hr_argmax(__VA_ARGS__))
#define hr_argmin(...) HR_MADE_(hr_argmin(__VA_ARGS__))
#define hr_in_top_k(...) HR_MADE_(hr_in_top_k(__VA_ARGS__))
#define hr_cast_to(...) HR_MADE_(hr_cast_to(__VA_ARGS__))
#define hr_add_n(...) HR_MADE_(hr_add_n(__VA_ARGS__))
#define hr_group(...) HR_MADE_(hr_group(__VA_ARGS__))
#define hr_identity_n(...) HR_MADE_(hr_identity_n(__VA_ARGS__))
#define hr_check_numerics(...) HR_MADE_(hr_check_numerics(__VA_ARGS__))
#define hr_assign(...) HR_MADE_(hr_assign(__VA_ARGS__))
#define hr_assign_add(...) HR_MADE_(hr_assign_add(__VA_ARGS__))
#define hr_assign_sub(...) HR_MADE_(hr_assign_sub(__VA_ARGS__))
#define hr_variable_shape(...) HR_MADE_(hr_variable_shape(__VA_ARGS__))
#define hr_merge_summary(...) HR_MADE_(hr_merge_summary(__VA_ARGS__))
#define hr_merge_all_summaries(...) HR_MADE_(hr_merge_all_summaries(__VA_ARGS__))
#define hr_uniform_values(...) HR_MADE_(hr_uniform_values(__VA_ARGS__))
#define hr_normal_values(...) HR_MADE_(hr_normal_values(__VA_ARGS__))
#define hr_truncated_normal_values(...) HR_MADE_(hr_truncated_normal_values(__VA_ARGS__))
#define hr_uniform_between(...) HR_MADE_(hr_uniform_between(__VA_ARGS__))
#define hr_normal_around(...) HR_MADE_(hr_normal_around(__VA_ARGS__))
#define hr_truncated_normal_around(...) HR_MADE_(hr_truncated_normal_around(__VA_ARGS__))
#define hr_random_shuffle(...) HR_MADE_(hr_random_shuffle(__VA_ARGS__))
#define hr_categorical(...) HR_MADE_(hr_categorical(__VA_ARGS__))
#define hr_stateless_uniform_values(...) HR_MADE_(hr_stateless_uniform_values(__VA_ARGS__))
#define hr_stateless_normal_values(...) HR_MADE_(hr_stateless_normal_values(__VA_ARGS__))
#define hr_stateless_truncated_normal_values(...) HR_MADE_(hr_stateless_truncated_normal_values(__VA_ARGS__))
#define hr_stateless_uniform_between(...) HR_MADE_(hr_stateless_uniform_between(__VA_ARGS__))
#define hr_stateless_categorical(...) HR_MADE_(hr_stateless_categorical(__VA_ARGS__))

#ifdef __cplusplus
}
#endif

#include <headrace/arrays.h> /* the second half */
#endif
