/* Headrace, ops of arrays, the second half of ops.h: values in other shapes and orders, parts of them, by index and by
 * segment. An error stays with the graph: of shapes "graph.shape", of a number such as an axis "graph.axis", and of what
 * the values themselves decide only when the node runs. Several outputs are those of hr_node_output. */
#ifndef HR_ARRAYS_H
#define HR_ARRAYS_H

#include <headrace/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- shapes ---- */

HR_UNARY_OP_(hr_shape_of) /* Shape */
HR_UNARY_OP_(hr_size_of)
HR_UNARY_OP_(hr_rank_of)
HR_BINARY_OP_(hr_reshape)     /* y: the shape, int32 or int64, for example by hr_shape_const */
HR_BINARY_OP_(hr_expand_dims) /* y: the axis */
HR_BINARY_OP_(hr_broadcast_to)
HR_BINARY_OP_(hr_broadcast_shapes) /* BroadcastArgs: the shape to which shapes x and y broadcast, both as vectors */
#define hr_shape_of(...) HR_UNARY_CALL_(hr_shape_of, __VA_ARGS__)
#define hr_size_of(...) HR_UNARY_CALL_(hr_size_of, __VA_ARGS__)
#define hr_rank_of(...) HR_UNARY_CALL_(hr_rank_of, __VA_ARGS__)
#define hr_reshape(...) HR_BINARY_CALL_(hr_reshape, __VA_ARGS__)
#define hr_expand_dims(...) HR_BINARY_CALL_(hr_expand_dims, __VA_ARGS__)
#define hr_broadcast_to(...) HR_BINARY_CALL_(hr_broadcast_to, __VA_ARGS__)
#define hr_broadcast_shapes(...) HR_BINARY_CALL_(hr_broadcast_shapes, __VA_ARGS__)
/* Without these axes, of length 1; no axes: without all of that length. */
HR_API hr_node hr_squeeze(hr_node x, const int64_t *axes, int axis_count);
/* ShapeN: of each its shape, `count` outputs. */
HR_API hr_node hr_shape_n(const hr_node *values, int count);
#define hr_squeeze(...) HR_MADE_(hr_squeeze(__VA_ARGS__))
#define hr_shape_n(...) HR_MADE_(hr_shape_n(__VA_ARGS__))

/* ---- values that are repeated or counted up ---- */

HR_UNARY_OP_(hr_zeros_like)
HR_UNARY_OP_(hr_ones_like)
HR_BINARY_OP_(hr_fill)          /* x: the shape, y: the value */
HR_BINARY_OP_(hr_tile)          /* y: how often in each dimension */
HR_TERNARY_OP_(hr_range_values) /* Range: x, x + z, x + 2 z, ... up to y, which is out. Scalars of one type */
#define hr_zeros_like(...) HR_UNARY_CALL_(hr_zeros_like, __VA_ARGS__)
#define hr_ones_like(...) HR_UNARY_CALL_(hr_ones_like, __VA_ARGS__)
#define hr_fill(...) HR_BINARY_CALL_(hr_fill, __VA_ARGS__)
#define hr_tile(...) HR_BINARY_CALL_(hr_tile, __VA_ARGS__)
#define hr_range_values(...) HR_TERNARY_CALL_(hr_range_values, __VA_ARGS__)
/* The slices of x along `axis`, slice i as often as repeats[i] says, or all as often as a scalar does. */
HR_API hr_node hr_repeat_values(hr_node x, hr_node repeats, int axis);
/* `count` values at equal distances from `start` to `stop`, both of them in: scalars of one floating type. `count` is
 * at least 1, else "graph.argument"; 1: `start` alone. */
HR_API hr_node hr_linspace(hr_node start, hr_node stop, int64_t count);
/* A matrix [rows, columns] with 1 on the diagonal. hr_eye is the initializer of variables. */
HR_API hr_node hr_eye_matrix(hr_graph *g, hr_dtype dtype, int64_t rows, int64_t columns);
/* The grid that vectors span: out[i] has xs[i] along dimension i and one dimension for each vector; in the order "xy" of
 * tf.meshgrid the first two dimensions are exchanged, unless `matrix_order` ("ij"). */
HR_API void hr_meshgrid(const hr_node *xs, int count, bool matrix_order, hr_node *out);
#define hr_repeat_values(...) HR_MADE_(hr_repeat_values(__VA_ARGS__))
#define hr_linspace(...) HR_MADE_(hr_linspace(__VA_ARGS__))
#define hr_eye_matrix(...) HR_MADE_(hr_eye_matrix(__VA_ARGS__))
#define hr_meshgrid(...) HR_MADE_VOID_(hr_meshgrid(__VA_ARGS__))

typedef struct hr_one_hot_opts {
    size_t struct_size;
    const char *name;
    const int *axis; /* of the new dimension; default: after all others */
    hr_node on, off; /* scalars of one type; default: 1 and 0 */
    hr_dtype dtype;  /* where neither is given; default: float */
} hr_one_hot_opts;
/* OneHot: `depth` values for each index, `on` at its place and `off` elsewhere; all `off` for an index out of range. */
HR_API hr_node hr_one_hot_with(hr_node indices, int64_t depth, const hr_one_hot_opts *opts);
#define hr_one_hot(...)                                                                                                \
    HR_MADE_(HR_CALL2_(hr_one_hot_with, hr_one_hot_opts, __VA_ARGS__, .struct_size = sizeof(hr_one_hot_opts)))

typedef struct hr_sequence_mask_opts {
    size_t struct_size;
    const char *name;
    const int64_t *max_length; /* default: the greatest of the lengths */
    hr_dtype dtype;            /* default: bool */
} hr_sequence_mask_opts;
/* Of lengths [...] of whole numbers: [..., max_length], true at the first `length` places. */
HR_API hr_node hr_sequence_mask_with(hr_node lengths, const hr_sequence_mask_opts *opts);
#define hr_sequence_mask(...)                                                                                          \
    HR_MADE_(HR_CALL1_(hr_sequence_mask_with, hr_sequence_mask_opts, __VA_ARGS__,                                      \
                       .struct_size = sizeof(hr_sequence_mask_opts)))

/* ---- pieces put together and taken apart ---- */

/* ConcatV2: along an axis. */
HR_API hr_node hr_concat(const hr_node *values, int count, int axis);
/* Pack: values of one shape along a new axis. */
HR_API hr_node hr_stack(const hr_node *values, int count, int axis);
/* Unpack: the `count` slices along an axis, which goes; 0: as many as it has, which must be known, else "graph.shape". */
HR_API hr_node hr_unstack(hr_node x, int count, int axis);
/* Split: `count` equal pieces along an axis. SplitV: pieces of these sizes, of which one may be -1, the rest. */
HR_API hr_node hr_split(hr_node x, int count, int axis);
HR_API hr_node hr_split_sizes(hr_node x, const int64_t *sizes, int count, int axis);
#define hr_concat(...) HR_MADE_(hr_concat(__VA_ARGS__))
#define hr_stack(...) HR_MADE_(hr_stack(__VA_ARGS__))
#define hr_unstack(...) HR_MADE_(hr_unstack(__VA_ARGS__))
#define hr_split(...) HR_MADE_(hr_split(__VA_ARGS__))
#define hr_split_sizes(...) HR_MADE_(hr_split_sizes(__VA_ARGS__))

/* Slice: in each dimension i, size[i] values from begin[i] on; a size of -1: up to the end. */
HR_API hr_node hr_slice(hr_node x, hr_node begin, hr_node size);
#define hr_slice(...) HR_MADE_(hr_slice(__VA_ARGS__))
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

/* What is put around values: one value, or those inside mirrored at the edge, the edge itself left out or repeated. */
typedef enum hr_pad_mode { HR_PAD_CONSTANT, HR_PAD_REFLECT, HR_PAD_SYMMETRIC } hr_pad_mode;
typedef struct hr_pad_opts {
    size_t struct_size;
    const char *name;
    hr_pad_mode mode;
    hr_node value; /* of HR_PAD_CONSTANT, a scalar of the type of x; default: 0 */
} hr_pad_opts;
/* Pad, PadV2, MirrorPad. `paddings`: int32 or int64 [rank, 2], how many values before and after each dimension. */
HR_API hr_node hr_pad_with(hr_node x, hr_node paddings, const hr_pad_opts *opts);
#define hr_pad(...) HR_MADE_(HR_CALL2_(hr_pad_with, hr_pad_opts, __VA_ARGS__, .struct_size = sizeof(hr_pad_opts)))

/* ---- by index ---- */

/* GatherV2; for a variable and axis 0: ResourceGather. */
HR_API hr_node hr_gather(hr_node params, hr_node indices, int axis);
/* SelectV2: x where the condition is true, else y; all three broadcast together. */
HR_API hr_node hr_where(hr_node condition, hr_node x, hr_node y);
/* The values of x, or its rows along the axes of the mask, where the mask is true: bool, of a known rank above 0, else
 * "graph.shape". The mask has the shape of x from dimension `axis` on. */
HR_API hr_node hr_boolean_mask(hr_node x, hr_node mask, int axis);
#define hr_gather(...) HR_MADE_(hr_gather(__VA_ARGS__))
#define hr_where(...) HR_MADE_(hr_where(__VA_ARGS__))
#define hr_boolean_mask(...) HR_MADE_(hr_boolean_mask(__VA_ARGS__))
HR_UNARY_OP_(hr_where_true) /* Where: the indices int64 [n, rank] of what is true, or not 0 */
HR_BINARY_OP_(hr_gather_nd) /* y: indices [..., k], of slices of x, which may be a variable: [..., rest of x's shape] */
HR_TERNARY_OP_(hr_scatter_nd) /* zeros of shape z with y added at the indices x */
/* The value x, with the slices at the indices y [..., k] changed by z [..., rest of x's shape]. */
HR_TERNARY_OP_(hr_tensor_scatter_update)
HR_TERNARY_OP_(hr_tensor_scatter_add)
HR_TERNARY_OP_(hr_tensor_scatter_sub)
HR_TERNARY_OP_(hr_tensor_scatter_max)
HR_TERNARY_OP_(hr_tensor_scatter_min)
/* For their effect on the variable x: its rows y [...] are changed by z [..., shape of a row], or by one scalar. */
HR_TERNARY_OP_(hr_scatter_update)
HR_TERNARY_OP_(hr_scatter_add)
HR_TERNARY_OP_(hr_scatter_sub)
HR_TERNARY_OP_(hr_scatter_mul)
HR_TERNARY_OP_(hr_scatter_div)
HR_TERNARY_OP_(hr_scatter_max)
HR_TERNARY_OP_(hr_scatter_min)
/* For their effect on the variable x: as hr_tensor_scatter_update and its kin. */
HR_TERNARY_OP_(hr_scatter_nd_update)
HR_TERNARY_OP_(hr_scatter_nd_add)
HR_TERNARY_OP_(hr_scatter_nd_sub)
HR_TERNARY_OP_(hr_scatter_nd_max)
HR_TERNARY_OP_(hr_scatter_nd_min)
#define hr_where_true(...) HR_UNARY_CALL_(hr_where_true, __VA_ARGS__)
#define hr_gather_nd(...) HR_BINARY_CALL_(hr_gather_nd, __VA_ARGS__)
#define hr_scatter_nd(...) HR_TERNARY_CALL_(hr_scatter_nd, __VA_ARGS__)
#define hr_tensor_scatter_update(...) HR_TERNARY_CALL_(hr_tensor_scatter_update, __VA_ARGS__)
#define hr_tensor_scatter_add(...) HR_TERNARY_CALL_(hr_tensor_scatter_add, __VA_ARGS__)
#define hr_tensor_scatter_sub(...) HR_TERNARY_CALL_(hr_tensor_scatter_sub, __VA_ARGS__)
#define hr_tensor_scatter_max(...) HR_TERNARY_CALL_(hr_tensor_scatter_max, __VA_ARGS__)
#define hr_tensor_scatter_min(...) HR_TERNARY_CALL_(hr_tensor_scatter_min, __VA_ARGS__)
#define hr_scatter_update(...) HR_TERNARY_CALL_(hr_scatter_update, __VA_ARGS__)
#define hr_scatter_add(...) HR_TERNARY_CALL_(hr_scatter_add, __VA_ARGS__)
#define hr_scatter_sub(...) HR_TERNARY_CALL_(hr_scatter_sub, __VA_ARGS__)
#define hr_scatter_mul(...) HR_TERNARY_CALL_(hr_scatter_mul, __VA_ARGS__)
#define hr_scatter_div(...) HR_TERNARY_CALL_(hr_scatter_div, __VA_ARGS__)
#define hr_scatter_max(...) HR_TERNARY_CALL_(hr_scatter_max, __VA_ARGS__)
#define hr_scatter_min(...) HR_TERNARY_CALL_(hr_scatter_min, __VA_ARGS__)
#define hr_scatter_nd_update(...) HR_TERNARY_CALL_(hr_scatter_nd_update, __VA_ARGS__)
#define hr_scatter_nd_add(...) HR_TERNARY_CALL_(hr_scatter_nd_add, __VA_ARGS__)
#define hr_scatter_nd_sub(...) HR_TERNARY_CALL_(hr_scatter_nd_sub, __VA_ARGS__)
#define hr_scatter_nd_max(...) HR_TERNARY_CALL_(hr_scatter_nd_max, __VA_ARGS__)
#define hr_scatter_nd_min(...) HR_TERNARY_CALL_(hr_scatter_nd_min, __VA_ARGS__)

/* DynamicPartition: the rows of x by their parts, int32 from 0 to count - 1; `count` outputs. */
HR_API hr_node hr_dynamic_partition(hr_node x, hr_node parts, int count);
/* DynamicStitch: row indices[i][...] of the result is values[i][...], of `count` pairs; the later one where two meet. */
HR_API hr_node hr_dynamic_stitch(const hr_node *indices, const hr_node *values, int count);
#define hr_dynamic_partition(...) HR_MADE_(hr_dynamic_partition(__VA_ARGS__))
#define hr_dynamic_stitch(...) HR_MADE_(hr_dynamic_stitch(__VA_ARGS__))

/* For each row, the number of occurrences of each id from 0 to depth - 1, or the sum of its weights: float [n, depth].
 * `ids`: int64 [nnz]; `splits`: int32 [n + 1], row r has ids[splits[r]] to ids[splits[r + 1] - 1]; `weights`: float
 * [nnz], or no node. */
HR_API hr_node hr_multi_hot(hr_node ids, hr_node splits, hr_node weights, int64_t depth);
#define hr_multi_hot(...) HR_MADE_(hr_multi_hot(__VA_ARGS__))

/* ---- by segment ---- */

/* Rows of x with the same id together. y: the ids [n], rising; an id that is missing gives zeros, or ones of a product. */
HR_BINARY_OP_(hr_segment_sum)
HR_BINARY_OP_(hr_segment_mean)
HR_BINARY_OP_(hr_segment_prod)
HR_BINARY_OP_(hr_segment_max)
HR_BINARY_OP_(hr_segment_min)
/* The same in any order. y: ids of the first dimensions of x, those below 0 count nothing; z: how many segments. The
 * max and min of none are the least and greatest number of the type; sqrt_n divides sums by the root of the count. */
HR_TERNARY_OP_(hr_unsorted_segment_sum)
HR_TERNARY_OP_(hr_unsorted_segment_prod)
HR_TERNARY_OP_(hr_unsorted_segment_max)
HR_TERNARY_OP_(hr_unsorted_segment_min)
HR_TERNARY_OP_(hr_unsorted_segment_mean)
HR_TERNARY_OP_(hr_unsorted_segment_sqrt_n)
#define hr_segment_sum(...) HR_BINARY_CALL_(hr_segment_sum, __VA_ARGS__)
#define hr_segment_mean(...) HR_BINARY_CALL_(hr_segment_mean, __VA_ARGS__)
#define hr_segment_prod(...) HR_BINARY_CALL_(hr_segment_prod, __VA_ARGS__)
#define hr_segment_max(...) HR_BINARY_CALL_(hr_segment_max, __VA_ARGS__)
#define hr_segment_min(...) HR_BINARY_CALL_(hr_segment_min, __VA_ARGS__)
#define hr_unsorted_segment_sum(...) HR_TERNARY_CALL_(hr_unsorted_segment_sum, __VA_ARGS__)
#define hr_unsorted_segment_prod(...) HR_TERNARY_CALL_(hr_unsorted_segment_prod, __VA_ARGS__)
#define hr_unsorted_segment_max(...) HR_TERNARY_CALL_(hr_unsorted_segment_max, __VA_ARGS__)
#define hr_unsorted_segment_min(...) HR_TERNARY_CALL_(hr_unsorted_segment_min, __VA_ARGS__)
#define hr_unsorted_segment_mean(...) HR_TERNARY_CALL_(hr_unsorted_segment_mean, __VA_ARGS__)
#define hr_unsorted_segment_sqrt_n(...) HR_TERNARY_CALL_(hr_unsorted_segment_sqrt_n, __VA_ARGS__)

typedef struct hr_sparse_segment_opts {
    size_t struct_size;
    const char *name;
    hr_node num_segments; /* a scalar; default: one more than the last id */
} hr_sparse_segment_opts;
/* The same of the rows indices[i] of x, with rising ids. */
#define HR_SPARSE_SEGMENT_(fn)                                                                                         \
    HR_API hr_node fn##_with(hr_node x, hr_node indices, hr_node ids, const hr_sparse_segment_opts *opts);
#define HR_SPARSE_SEGMENT_CALL_(fn, ...)                                                                               \
    HR_MADE_(HR_CALL3_(fn##_with, hr_sparse_segment_opts, __VA_ARGS__, .struct_size = sizeof(hr_sparse_segment_opts)))
HR_SPARSE_SEGMENT_(hr_sparse_segment_sum)
HR_SPARSE_SEGMENT_(hr_sparse_segment_mean)
HR_SPARSE_SEGMENT_(hr_sparse_segment_sqrt_n)
#define hr_sparse_segment_sum(...) HR_SPARSE_SEGMENT_CALL_(hr_sparse_segment_sum, __VA_ARGS__)
#define hr_sparse_segment_mean(...) HR_SPARSE_SEGMENT_CALL_(hr_sparse_segment_mean, __VA_ARGS__)
#define hr_sparse_segment_sqrt_n(...) HR_SPARSE_SEGMENT_CALL_(hr_sparse_segment_sqrt_n, __VA_ARGS__)

/* ---- orders ---- */

HR_BINARY_OP_(hr_transpose) /* y: the permutation */
HR_BINARY_OP_(hr_reverse)   /* y: the axes, a vector */
HR_TERNARY_OP_(hr_roll)     /* by y places along the axes z; what falls out at the end comes in at the beginning */
HR_UNARY_OP_(hr_invert_permutation) /* result[x[i]] = i */
#define hr_transpose(...) HR_BINARY_CALL_(hr_transpose, __VA_ARGS__)
#define hr_reverse(...) HR_BINARY_CALL_(hr_reverse, __VA_ARGS__)
#define hr_roll(...) HR_TERNARY_CALL_(hr_roll, __VA_ARGS__)
#define hr_invert_permutation(...) HR_UNARY_CALL_(hr_invert_permutation, __VA_ARGS__)
/* In each row b along batch_axis, the first lengths[b] values along seq_axis in the opposite order. */
HR_API hr_node hr_reverse_sequence(hr_node x, hr_node lengths, int seq_axis, int batch_axis);
#define hr_reverse_sequence(...) HR_MADE_(hr_reverse_sequence(__VA_ARGS__))

typedef struct hr_cumulative_opts {
    size_t struct_size;
    const char *name;
    bool exclusive; /* of the values before, without the value itself: begins with 0, or 1 */
    bool reverse;   /* from the end */
} hr_cumulative_opts;
/* Sums and products of the values so far along an axis. */
HR_API hr_node hr_cumsum_with(hr_node x, int axis, const hr_cumulative_opts *opts);
HR_API hr_node hr_cumprod_with(hr_node x, int axis, const hr_cumulative_opts *opts);
#define HR_CUMULATIVE_CALL_(fn, ...)                                                                                   \
    HR_MADE_(HR_CALL2_(fn##_with, hr_cumulative_opts, __VA_ARGS__, .struct_size = sizeof(hr_cumulative_opts)))
#define hr_cumsum(...) HR_CUMULATIVE_CALL_(hr_cumsum, __VA_ARGS__)
#define hr_cumprod(...) HR_CUMULATIVE_CALL_(hr_cumprod, __VA_ARGS__)

typedef struct hr_top_k_opts {
    size_t struct_size;
    const char *name;
    bool not_sorted; /* in any order; default: the greatest first */
} hr_top_k_opts;
/* TopKV2: the k greatest of each row; of equal ones the first. Output 0: [..., k], output 1: their places, int32. */
HR_API hr_node hr_top_k_with(hr_node x, int64_t k, const hr_top_k_opts *opts);
#define hr_top_k(...)                                                                                                  \
    HR_MADE_(HR_CALL2_(hr_top_k_with, hr_top_k_opts, __VA_ARGS__, .struct_size = sizeof(hr_top_k_opts)))

typedef struct hr_sort_opts {
    size_t struct_size;
    const char *name;
    const int *axis; /* default: the last one */
    bool descending;
} hr_sort_opts;
/* The values of each row in order, and their places, int32; equal ones stay in order. Of an axis other than the last one
 * the rank of x must be known, else "graph.shape". */
HR_API hr_node hr_sort_with(hr_node x, const hr_sort_opts *opts);
HR_API hr_node hr_argsort_with(hr_node x, const hr_sort_opts *opts);
#define HR_SORT_CALL_(fn, ...)                                                                                         \
    HR_MADE_(HR_CALL1_(fn##_with, hr_sort_opts, __VA_ARGS__, .struct_size = sizeof(hr_sort_opts)))
#define hr_sort(...) HR_SORT_CALL_(hr_sort, __VA_ARGS__)
#define hr_argsort(...) HR_SORT_CALL_(hr_argsort, __VA_ARGS__)

/* ---- which values there are ---- */

typedef struct hr_count_opts {
    size_t struct_size;
    const char *name;
    hr_node weights; /* of the shape of what is counted; default: 1 each */
    hr_dtype dtype;  /* of the counts without weights: int32 (the default), int64, float or double */
    /* Of hr_bincount: the result has at least and at most so many places; 0: as many as the greatest number needs. */
    int64_t min_length, max_length;
} hr_count_opts;
/* How often each whole number from 0 comes, or the sums of its weights: a vector. Numbers beyond the length count
 * nothing; one below 0 fails the run. */
HR_API hr_node hr_bincount_with(hr_node x, const hr_count_opts *opts);
/* How often class i of `labels` meets class j of `predictions`, vectors of one length: [classes, classes]. Classes are
 * known, else "graph.argument"; one beyond them fails the run. */
HR_API hr_node hr_confusion_matrix_with(hr_node labels, hr_node predictions, int64_t classes,
                                        const hr_count_opts *opts);
#define hr_bincount(...)                                                                                               \
    HR_MADE_(HR_CALL1_(hr_bincount_with, hr_count_opts, __VA_ARGS__, .struct_size = sizeof(hr_count_opts)))
#define hr_confusion_matrix(...)                                                                                       \
    HR_MADE_(HR_CALL3_(hr_confusion_matrix_with, hr_count_opts, __VA_ARGS__, .struct_size = sizeof(hr_count_opts)))
/* Bucketize: how many of the `count` rising boundaries are not above each value, int32. */
HR_API hr_node hr_bucketize_values(hr_node x, const float *boundaries, int count);
#define hr_bucketize_values(...) HR_MADE_(hr_bucketize_values(__VA_ARGS__))
HR_UNARY_OP_(hr_unique_values) /* of a vector. Output 0: each once, as they come; output 1: for each its place, int32 */
HR_UNARY_OP_(hr_unique_with_counts) /* the same; output 2: how often each comes, int32 */
HR_BINARY_OP_(hr_list_diff) /* Output 0: what is in the vector x and not in y; output 1: its places in x, int32 */
#define hr_unique_values(...) HR_UNARY_CALL_(hr_unique_values, __VA_ARGS__)
#define hr_unique_with_counts(...) HR_UNARY_CALL_(hr_unique_with_counts, __VA_ARGS__)
#define hr_list_diff(...) HR_BINARY_CALL_(hr_list_diff, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
