/* Headrace, ops: constructors of nodes. Those with options take .name. An error stays with the graph (hr_graph_error).
 * A variable as an input stands for its value. Each op computes what TensorFlow documents for the op of its name. */
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
HR_UNARY_OP_(hr_zeros_like)
HR_UNARY_OP_(hr_ones_like)
HR_UNARY_OP_(hr_shape_of) /* Shape */
HR_UNARY_OP_(hr_size_of)
HR_UNARY_OP_(hr_rank_of)
HR_UNARY_OP_(hr_neg)
HR_UNARY_OP_(hr_abs)
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
HR_UNARY_OP_(hr_round)
HR_UNARY_OP_(hr_is_nan)
HR_UNARY_OP_(hr_is_inf)
HR_UNARY_OP_(hr_is_finite)
HR_UNARY_OP_(hr_sigmoid)
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
HR_UNARY_OP_(hr_logical_not)
HR_UNARY_OP_(hr_softmax)
HR_UNARY_OP_(hr_log_softmax)
#define HR_UNARY_CALL_(fn, ...) HR_MADE_(HR_CALL1_(fn##_with, hr_name_opts, __VA_ARGS__, HR_NAMED_))
#define hr_identity(...) HR_UNARY_CALL_(hr_identity, __VA_ARGS__)
#define hr_stop_gradient(...) HR_UNARY_CALL_(hr_stop_gradient, __VA_ARGS__)
#define hr_zeros_like(...) HR_UNARY_CALL_(hr_zeros_like, __VA_ARGS__)
#define hr_ones_like(...) HR_UNARY_CALL_(hr_ones_like, __VA_ARGS__)
#define hr_shape_of(...) HR_UNARY_CALL_(hr_shape_of, __VA_ARGS__)
#define hr_size_of(...) HR_UNARY_CALL_(hr_size_of, __VA_ARGS__)
#define hr_rank_of(...) HR_UNARY_CALL_(hr_rank_of, __VA_ARGS__)
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
#define hr_is_nan(...) HR_UNARY_CALL_(hr_is_nan, __VA_ARGS__)
#define hr_is_inf(...) HR_UNARY_CALL_(hr_is_inf, __VA_ARGS__)
#define hr_is_finite(...) HR_UNARY_CALL_(hr_is_finite, __VA_ARGS__)
#define hr_sigmoid(...) HR_UNARY_CALL_(hr_sigmoid, __VA_ARGS__)
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
#define hr_logical_not(...) HR_UNARY_CALL_(hr_logical_not, __VA_ARGS__)
#define hr_softmax(...) HR_UNARY_CALL_(hr_softmax, __VA_ARGS__)
#define hr_log_softmax(...) HR_UNARY_CALL_(hr_log_softmax, __VA_ARGS__)

/* ---- two inputs; those from hr_add to hr_logical_or broadcast as in NumPy ---- */

#define HR_BINARY_OP_(fn) HR_API hr_node fn##_with(hr_node x, hr_node y, const hr_name_opts *opts);
HR_BINARY_OP_(hr_add) /* AddV2 */
HR_BINARY_OP_(hr_sub)
HR_BINARY_OP_(hr_mul)
HR_BINARY_OP_(hr_div) /* RealDiv */
HR_BINARY_OP_(hr_floor_div)
HR_BINARY_OP_(hr_floor_mod)
HR_BINARY_OP_(hr_div_no_nan)
HR_BINARY_OP_(hr_mul_no_nan)
HR_BINARY_OP_(hr_pow)
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
HR_BINARY_OP_(hr_bias_add)    /* x [..., n] + y [n] */
HR_BINARY_OP_(hr_reshape)     /* y: the shape, int32 or int64, for example by hr_shape_const */
HR_BINARY_OP_(hr_expand_dims) /* y: the axis */
HR_BINARY_OP_(hr_fill)        /* x: the shape, y: the value */
HR_BINARY_OP_(hr_tile)
HR_BINARY_OP_(hr_transpose) /* y: the permutation */
HR_BINARY_OP_(hr_broadcast_to)
/* x: logits [n, k], y: labels [n], int32 or int64. Output 0: the loss [n], output 1: its gradient. */
HR_BINARY_OP_(hr_sparse_softmax_cross_entropy)
HR_BINARY_OP_(hr_softmax_cross_entropy) /* x: logits, y: labels, both [n, k] */
/* max(x, 0) - x * y + log1p(exp(-|x|)), in one node; x: logits, y: labels. */
HR_BINARY_OP_(hr_sigmoid_cross_entropy)
#define HR_BINARY_CALL_(fn, ...) HR_MADE_(HR_CALL2_(fn##_with, hr_name_opts, __VA_ARGS__, HR_NAMED_))
#define hr_add(...) HR_BINARY_CALL_(hr_add, __VA_ARGS__)
#define hr_sub(...) HR_BINARY_CALL_(hr_sub, __VA_ARGS__)
#define hr_mul(...) HR_BINARY_CALL_(hr_mul, __VA_ARGS__)
#define hr_div(...) HR_BINARY_CALL_(hr_div, __VA_ARGS__)
#define hr_floor_div(...) HR_BINARY_CALL_(hr_floor_div, __VA_ARGS__)
#define hr_floor_mod(...) HR_BINARY_CALL_(hr_floor_mod, __VA_ARGS__)
#define hr_div_no_nan(...) HR_BINARY_CALL_(hr_div_no_nan, __VA_ARGS__)
#define hr_mul_no_nan(...) HR_BINARY_CALL_(hr_mul_no_nan, __VA_ARGS__)
#define hr_pow(...) HR_BINARY_CALL_(hr_pow, __VA_ARGS__)
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
#define hr_bias_add(...) HR_BINARY_CALL_(hr_bias_add, __VA_ARGS__)
#define hr_reshape(...) HR_BINARY_CALL_(hr_reshape, __VA_ARGS__)
#define hr_expand_dims(...) HR_BINARY_CALL_(hr_expand_dims, __VA_ARGS__)
#define hr_fill(...) HR_BINARY_CALL_(hr_fill, __VA_ARGS__)
#define hr_tile(...) HR_BINARY_CALL_(hr_tile, __VA_ARGS__)
#define hr_transpose(...) HR_BINARY_CALL_(hr_transpose, __VA_ARGS__)
#define hr_broadcast_to(...) HR_BINARY_CALL_(hr_broadcast_to, __VA_ARGS__)
#define hr_sparse_softmax_cross_entropy(...) HR_BINARY_CALL_(hr_sparse_softmax_cross_entropy, __VA_ARGS__)
#define hr_softmax_cross_entropy(...) HR_BINARY_CALL_(hr_softmax_cross_entropy, __VA_ARGS__)
#define hr_sigmoid_cross_entropy(...) HR_BINARY_CALL_(hr_sigmoid_cross_entropy, __VA_ARGS__)

/* ---- matrices ---- */

/* Products of float and double are computed by OpenBLAS, in blocks that run in parallel on the pool. OpenBLAS is loaded
 * when the first of them is planned (HR_NOT_FOUND, "matmul.blas": it is not installed) and set to one thread. This
 * setting holds for the whole process: a program that calls OpenBLAS itself may set another number later. */
typedef struct hr_matmul_opts {
    size_t struct_size;
    const char *name;
    bool transpose_a, transpose_b;
} hr_matmul_opts;
/* MatMul: the product a b of two matrices. */
HR_API hr_node hr_matmul_with(hr_node a, hr_node b, const hr_matmul_opts *opts);
#define hr_matmul(...)                                                                                                 \
    HR_MADE_(HR_CALL2_(hr_matmul_with, hr_matmul_opts, __VA_ARGS__, .struct_size = sizeof(hr_matmul_opts)))

/* ---- reductions ---- */

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
#define HR_REDUCE_CALL_(fn, ...)                                                                                       \
    HR_MADE_(HR_CALL1_(fn##_with, hr_reduce_opts, __VA_ARGS__, .struct_size = sizeof(hr_reduce_opts)))
#define hr_reduce_sum(...) HR_REDUCE_CALL_(hr_reduce_sum, __VA_ARGS__)
#define hr_reduce_mean(...) HR_REDUCE_CALL_(hr_reduce_mean, __VA_ARGS__)
#define hr_reduce_prod(...) HR_REDUCE_CALL_(hr_reduce_prod, __VA_ARGS__)
#define hr_reduce_max(...) HR_REDUCE_CALL_(hr_reduce_max, __VA_ARGS__)
#define hr_reduce_min(...) HR_REDUCE_CALL_(hr_reduce_min, __VA_ARGS__)
#define hr_reduce_all(...) HR_REDUCE_CALL_(hr_reduce_all, __VA_ARGS__)
#define hr_reduce_any(...) HR_REDUCE_CALL_(hr_reduce_any, __VA_ARGS__)
HR_API hr_node hr_argmax(hr_node x, int axis); /* int64: the first index of the max value */
/* The first index of the min value. */
HR_API hr_node hr_argmin(hr_node x, int axis);

/* ---- shapes and pieces ---- */

HR_API hr_node hr_squeeze(hr_node x, const int64_t *axes, int axis_count); /* no axes: removes all of length 1 */
HR_API hr_node hr_cast_to(hr_node x, hr_dtype dtype);                      /* Cast; gives `x` if it has this type */
HR_API hr_node hr_concat(const hr_node *values, int count, int axis);      /* ConcatV2 */
/* Slice: in each dimension i, size[i] values from begin[i] on; a size of -1: up to the end. */
HR_API hr_node hr_slice(hr_node x, hr_node begin, hr_node size);
/* A subscript. {0} is ":", a whole dimension; numbers below 0 count from the end of the dimension. */
typedef struct hr_subscript {
    const int64_t *at;    /* one place: the dimension goes */
    const int64_t *begin; /* default: from the first place; with .step < 0, from the last */
    const int64_t *end;   /* default: to the last place; with .step < 0, to the first. The place itself is out */
    int64_t step;         /* default: 1 */
    bool new_axis;        /* a new dimension of 1 here: None */
    bool ellipsis;        /* as many whole dimensions as the other subscripts leave: "..."; at most once */
} hr_subscript;
/* StridedSlice: parts of some dimensions, with a step, as by subscripts in Python; dimensions after the last subscript
 * stay whole. x[2, 1:, ::-1, None, ...] is
 *
 *     hr_strided_slice(x, {.at = HR_I64(2)}, {.begin = HR_I64(1)}, {.step = -1}, {.new_axis = true},
 *                      {.ellipsis = true})
 *
 * Ranges are cut to the dimension; an `at` beyond it fails, "graph.slice". For bounds that a run computes, make the node
 * by hr_new_node. */
HR_API hr_node hr_strided_slice_with(hr_node x, const hr_subscript *subscripts, int count);
#define hr_strided_slice(x, ...)                                                                                       \
    HR_MADE_(hr_strided_slice_with((x), (const hr_subscript[]){__VA_ARGS__},                                           \
                                   (int)(sizeof((hr_subscript[]){__VA_ARGS__}) / sizeof(hr_subscript))))
HR_API hr_node hr_gather(hr_node params, hr_node indices,
                         int axis);                        /* GatherV2; for a variable and axis 0: ResourceGather */
HR_API hr_node hr_one_hot(hr_node indices, int64_t depth); /* float, 1 and 0, with a new last axis */
HR_API hr_node hr_where(hr_node condition, hr_node x, hr_node y); /* SelectV2 */
/* AddN: the sum of nodes of one shape. */
HR_API hr_node hr_add_n(const hr_node *values, int count);

/* ---- rows of ids: `ids` int64 [nnz], `splits` int32 [n + 1]; row r: ids[splits[r]] to ids[splits[r + 1] - 1] ---- */

typedef struct hr_lookup_opts {
    size_t struct_size;
    const char *name;
    hr_combiner combiner; /* default: mean */
    hr_node weights;      /* float [nnz]; default: 1 each */
    float max_norm;       /* rows of the table are first clipped to this norm; default: not clipped */
} hr_lookup_opts;
/* Looks up the ids of each row in a variable float [buckets, dim] and combines their values: float [n, dim]. Ids below
 * 0 are ignored; with a combiner other than HR_SUM, so are ids with weights <= 0. A row without ids gives zeros. An id
 * >= buckets fails the run. */
HR_API hr_node hr_embedding_lookup_sparse_with(hr_node table, hr_node ids, hr_node splits, const hr_lookup_opts *opts);
#define hr_embedding_lookup_sparse(...)                                                                                \
    HR_MADE_(HR_CALL3_(hr_embedding_lookup_sparse_with, hr_lookup_opts, __VA_ARGS__,                                   \
                       .struct_size = sizeof(hr_lookup_opts)))
/* For each row, the number of occurrences of each id from 0 to depth - 1, or the sum of its weights: float [n, depth].
 * `weights`: float [nnz], or no node. */
HR_API hr_node hr_multi_hot(hr_node ids, hr_node splits, hr_node weights, int64_t depth);

/* ---- nodes that are run for their effect ---- */

HR_API hr_node hr_group(hr_graph *g, const hr_node *nodes, int count, const char *name); /* NoOp that runs after all */
/* Sets the variable to `value`, adds `value` to it, subtracts `value` from it. */
HR_API hr_node hr_assign(hr_node variable, hr_node value);
HR_API hr_node hr_assign_add(hr_node variable, hr_node value);
HR_API hr_node hr_assign_sub(hr_node variable, hr_node value);
/* The shape of a variable's value, int32 or int64: a constant if it is known. */
HR_API hr_node hr_variable_shape(hr_node variable, hr_dtype out_type);

/* ---- random values; `shape` is an int32 or int64 vector; seed 0: from the graph's seed ---- */

HR_API hr_node hr_uniform_values(hr_node shape, hr_dtype dtype, int64_t seed); /* [0, 1) */
HR_API hr_node hr_normal_values(hr_node shape, hr_dtype dtype, int64_t seed);  /* mean 0, standard deviation 1 */
/* The same, but values beyond two standard deviations are drawn again. */
HR_API hr_node hr_truncated_normal_values(hr_node shape, hr_dtype dtype, int64_t seed);

/* The same calls, which tell the line that they are in (graph.h). */
#define hr_scalar(...) HR_MADE_(hr_scalar(__VA_ARGS__))
#define hr_scalar_like(...) HR_MADE_(hr_scalar_like(__VA_ARGS__))
#define hr_ints(...) HR_MADE_(hr_ints(__VA_ARGS__))
#define hr_shape_const(...) HR_MADE_(hr_shape_const(__VA_ARGS__))
#define hr_argmax(...) HR_MADE_(hr_argmax(__VA_ARGS__))
#define hr_argmin(...) HR_MADE_(hr_argmin(__VA_ARGS__))
#define hr_squeeze(...) HR_MADE_(hr_squeeze(__VA_ARGS__))
#define hr_cast_to(...) HR_MADE_(hr_cast_to(__VA_ARGS__))
#define hr_concat(...) HR_MADE_(hr_concat(__VA_ARGS__))
#define hr_slice(...) HR_MADE_(hr_slice(__VA_ARGS__))
#define hr_gather(...) HR_MADE_(hr_gather(__VA_ARGS__))
#define hr_one_hot(...) HR_MADE_(hr_one_hot(__VA_ARGS__))
#define hr_where(...) HR_MADE_(hr_where(__VA_ARGS__))
#define hr_add_n(...) HR_MADE_(hr_add_n(__VA_ARGS__))
#define hr_multi_hot(...) HR_MADE_(hr_multi_hot(__VA_ARGS__))
#define hr_group(...) HR_MADE_(hr_group(__VA_ARGS__))
#define hr_assign(...) HR_MADE_(hr_assign(__VA_ARGS__))
#define hr_assign_add(...) HR_MADE_(hr_assign_add(__VA_ARGS__))
#define hr_assign_sub(...) HR_MADE_(hr_assign_sub(__VA_ARGS__))
#define hr_variable_shape(...) HR_MADE_(hr_variable_shape(__VA_ARGS__))
#define hr_uniform_values(...) HR_MADE_(hr_uniform_values(__VA_ARGS__))
#define hr_normal_values(...) HR_MADE_(hr_normal_values(__VA_ARGS__))
#define hr_truncated_normal_values(...) HR_MADE_(hr_truncated_normal_values(__VA_ARGS__))

#ifdef __cplusplus
}
#endif
#endif
