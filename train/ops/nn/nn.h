/* Headrace, ops of layers: constructors of what neural networks are made of. As in ops.h: those with options take .name,
 * and an error stays with the graph (hr_graph_error). */
#ifndef HR_NN_H
#define HR_NN_H

#include <headrace/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- softmax and losses ---- */

HR_UNARY_OP_(hr_softmax)
HR_UNARY_OP_(hr_log_softmax)
/* x: logits [n, k], y: labels [n], int32 or int64. Output 0: the loss [n], output 1: its gradient. */
HR_BINARY_OP_(hr_sparse_softmax_cross_entropy)
HR_BINARY_OP_(hr_softmax_cross_entropy) /* x: logits, y: labels, both [n, k] */
/* max(x, 0) - x * y + log1p(exp(-|x|)), in one node; x: logits, y: labels. */
HR_BINARY_OP_(hr_sigmoid_cross_entropy)
#define hr_softmax(...) HR_UNARY_CALL_(hr_softmax, __VA_ARGS__)
#define hr_log_softmax(...) HR_UNARY_CALL_(hr_log_softmax, __VA_ARGS__)
#define hr_sparse_softmax_cross_entropy(...) HR_BINARY_CALL_(hr_sparse_softmax_cross_entropy, __VA_ARGS__)
#define hr_softmax_cross_entropy(...) HR_BINARY_CALL_(hr_softmax_cross_entropy, __VA_ARGS__)
#define hr_sigmoid_cross_entropy(...) HR_BINARY_CALL_(hr_sigmoid_cross_entropy, __VA_ARGS__)

/* ---- candidates: some classes in the place of all, for losses that are sampled (layers.h) ---- */

typedef enum hr_sampler {
    HR_LOG_UNIFORM_SAMPLER, /* class i with log((i + 2) / (i + 1)) / log(range_max + 1): classes sorted by frequency */
    HR_UNIFORM_SAMPLER,     /* all with the same */
    HR_LEARNED_UNIGRAM_SAMPLER, /* as often as it was true in the runs before, plus 1 */
    HR_ALL_SAMPLER,             /* num_sampled classes in order; range_max is not used */
} hr_sampler;
typedef struct hr_sampler_opts {
    size_t struct_size;
    const char *name;
    bool repeats; /* a class may be drawn again; default: all differ */
    int64_t seed; /* 0: from the graph's seed */
} hr_sampler_opts;
/* The classes, int64 [num_sampled], and how often each true class [n, k] and each of them is expected in a draw. */
typedef struct hr_candidates {
    hr_node sampled, true_expected, sampled_expected;
} hr_candidates;
/* Draws classes below range_max, each run anew, TensorFlow's with the same seeds. `labels`: the true classes [n, k],
 * int64 or int32. The run fails for one that is out of range, and where more classes are to differ than there are. */
HR_API hr_candidates hr_sample_candidates(hr_node labels, hr_sampler sampler, int64_t num_sampled, int64_t range_max,
                                          const hr_sampler_opts *opts);

/* ---- rows of ids: `ids` int64 [nnz], `splits` int32 [n + 1]; row r: ids[splits[r]] to ids[splits[r + 1] - 1] ---- */

/* How rows are spread over the shards of a table: in order, the first ones having one more if there is a rest; or row i
 * in shard i % shards. */
typedef enum hr_partition_strategy { HR_PARTITION_DIV, HR_PARTITION_MOD } hr_partition_strategy;
typedef struct hr_lookup_opts {
    size_t struct_size;
    const char *name;
    hr_combiner combiner;           /* default: mean */
    hr_node weights;                /* float [nnz]; default: 1 each */
    float max_norm;                 /* rows of the table are first clipped to this norm; default: not clipped */
    hr_partition_strategy strategy; /* of hr_sharded_lookup_sparse (layers.h) */
} hr_lookup_opts;
/* Looks up the ids of each row in a variable float [buckets, dim] and combines their values: float [n, dim]. Ids below
 * 0 are ignored; with a combiner other than HR_SUM, so are ids with weights <= 0. A row without ids gives zeros. An id
 * >= buckets fails the run. */
HR_API hr_node hr_embedding_lookup_sparse_with(hr_node table, hr_node ids, hr_node splits, const hr_lookup_opts *opts);
#define hr_embedding_lookup_sparse(...)                                                                                \
    HR_MADE_(HR_CALL3_(hr_embedding_lookup_sparse_with, hr_lookup_opts, __VA_ARGS__,                                   \
                       .struct_size = sizeof(hr_lookup_opts)))

/* ---- images [n, height, width, channels], or with .channels_first [n, channels, height, width] ---- */

/* What lies beyond an image's edges: nothing, so that windows stay within it; as much as gives ceil(size / stride)
 * windows, the odd one at the end; or as .paddings says. Padding is 0 to convolutions and does not count in pools. */
typedef enum hr_padding { HR_VALID, HR_SAME, HR_EXPLICIT } hr_padding;
typedef struct hr_image_opts {
    size_t struct_size;
    const char *name;
    int64_t strides[2];      /* over height and width; {2} is {2, 2}; default 1, of a pool its window */
    int64_t dilations[2];    /* likewise, of the places of a filter; not of pools; default 1 */
    hr_padding padding;      /* default HR_VALID */
    const int64_t *paddings; /* of HR_EXPLICIT: before and after the height, before and after the width */
    bool channels_first;
} hr_image_opts;
#define HR_IMAGE_ .struct_size = sizeof(hr_image_opts)
/* Conv2D (the layer is hr_conv2d): filter [height, width, depth, channels]. Where the depth of x is a multiple of the
 * filter's, its channels are taken in groups, each for its share of the output's channels. Wrong shapes: "graph.shape";
 * wrong options: "graph.attr". */
HR_API hr_node hr_convolution_with(hr_node x, hr_node filter, const hr_image_opts *opts);
/* DepthwiseConv2dNative: filter [height, width, depth, multiplier]; channel c of x gives the channels from
 * c * multiplier on. Strides over height and width are equal. */
HR_API hr_node hr_depthwise_convolution_with(hr_node x, hr_node filter, const hr_image_opts *opts);
/* Conv2DBackpropInput, also called deconvolution: what hr_convolution with these options sends back from an output `x`
 * to an input of `shape`, an int32 vector of 4; filter [height, width, channels of the result, channels of x]. */
HR_API hr_node hr_transposed_convolution_with(hr_node x, hr_node filter, hr_node shape, const hr_image_opts *opts);
/* MaxPool and AvgPool: the greatest value, or the mean, of each window of height * width values of a channel. Means take
 * no HR_EXPLICIT. */
HR_API hr_node hr_max_pool_with(hr_node x, int64_t height, int64_t width, const hr_image_opts *opts);
HR_API hr_node hr_avg_pool_with(hr_node x, int64_t height, int64_t width, const hr_image_opts *opts);
/* The same over rows [n, width, channels]; of strides, the first counts, and there is no HR_EXPLICIT. */
HR_API hr_node hr_max_pool1d_with(hr_node x, int64_t width, const hr_image_opts *opts);
HR_API hr_node hr_avg_pool1d_with(hr_node x, int64_t width, const hr_image_opts *opts);
#define hr_convolution(...) HR_MADE_(HR_CALL2_(hr_convolution_with, hr_image_opts, __VA_ARGS__, HR_IMAGE_))
#define hr_depthwise_convolution(...)                                                                                  \
    HR_MADE_(HR_CALL2_(hr_depthwise_convolution_with, hr_image_opts, __VA_ARGS__, HR_IMAGE_))
#define hr_transposed_convolution(...)                                                                                 \
    HR_MADE_(HR_CALL3_(hr_transposed_convolution_with, hr_image_opts, __VA_ARGS__, HR_IMAGE_))
#define hr_max_pool(...) HR_MADE_(HR_CALL3_(hr_max_pool_with, hr_image_opts, __VA_ARGS__, HR_IMAGE_))
#define hr_avg_pool(...) HR_MADE_(HR_CALL3_(hr_avg_pool_with, hr_image_opts, __VA_ARGS__, HR_IMAGE_))
#define hr_max_pool1d(...) HR_MADE_(HR_CALL2_(hr_max_pool1d_with, hr_image_opts, __VA_ARGS__, HR_IMAGE_))
#define hr_avg_pool1d(...) HR_MADE_(HR_CALL2_(hr_avg_pool1d_with, hr_image_opts, __VA_ARGS__, HR_IMAGE_))

/* ---- volumes [n, depth, height, width, channels] ---- */

typedef struct hr_volume_opts {
    size_t struct_size;
    const char *name;
    int64_t strides[3];   /* over depth, height and width; {2} is {2, 2, 2}; default 1, of a pool its window */
    int64_t dilations[3]; /* likewise, of the places of a filter; not of pools; default 1 */
    hr_padding padding;   /* default HR_VALID; no HR_EXPLICIT */
} hr_volume_opts;
/* Conv3D: filter [depth, height, width, channels of x, channels]. Its transposed form, Conv3DBackpropInputV2: filter
 * [depth, height, width, channels of the result, channels of x], shape an int32 or int64 vector of 5. */
HR_API hr_node hr_convolution3d_with(hr_node x, hr_node filter, const hr_volume_opts *opts);
HR_API hr_node hr_transposed_convolution3d_with(hr_node x, hr_node filter, hr_node shape, const hr_volume_opts *opts);
/* MaxPool3D and AvgPool3D. */
HR_API hr_node hr_max_pool3d_with(hr_node x, int64_t depth, int64_t height, int64_t width, const hr_volume_opts *opts);
HR_API hr_node hr_avg_pool3d_with(hr_node x, int64_t depth, int64_t height, int64_t width, const hr_volume_opts *opts);
#define HR_VOLUME_ .struct_size = sizeof(hr_volume_opts)
#define hr_convolution3d(...) HR_MADE_(HR_CALL2_(hr_convolution3d_with, hr_volume_opts, __VA_ARGS__, HR_VOLUME_))
#define hr_transposed_convolution3d(...)                                                                               \
    HR_MADE_(HR_CALL3_(hr_transposed_convolution3d_with, hr_volume_opts, __VA_ARGS__, HR_VOLUME_))
#define hr_max_pool3d(...) HR_MADE_(HR_CALL4_(hr_max_pool3d_with, hr_volume_opts, __VA_ARGS__, HR_VOLUME_))
#define hr_avg_pool3d(...) HR_MADE_(HR_CALL4_(hr_avg_pool3d_with, hr_volume_opts, __VA_ARGS__, HR_VOLUME_))

/* ---- normalization ---- */

typedef struct hr_fused_batch_norm_opts {
    size_t struct_size;
    const char *name;
    hr_node mean, variance; /* [channels]: what is used with .inference; default: those of x */
    float epsilon;          /* default 0.001 */
    bool inference, channels_first;
} hr_fused_batch_norm_opts;
/* FusedBatchNormV3: (x - mean) / sqrt(variance + epsilon) * scale + offset, for each channel of x, of rank 4 or 5.
 * Output 0: y, 1: the mean of the batch, 2: its variance, as of a sample. */
HR_API hr_node hr_fused_batch_norm_with(hr_node x, hr_node scale, hr_node offset, const hr_fused_batch_norm_opts *opts);
#define hr_fused_batch_norm(...)                                                                                       \
    HR_MADE_(HR_CALL3_(hr_fused_batch_norm_with, hr_fused_batch_norm_opts, __VA_ARGS__,                                \
                       .struct_size = sizeof(hr_fused_batch_norm_opts)))
/* x * m + (offset - mean * m), where m = scale / sqrt(variance + epsilon), of anything that broadcasts to x. No node as
 * the offset is 0, as the scale 1. */
HR_API hr_node hr_batch_normalize(hr_node x, hr_node mean, hr_node variance, hr_node offset, hr_node scale,
                                  double epsilon);
/* Mean and variance, over axes as in hr_reduce_mean. Halves are computed in float. */
typedef struct hr_moments_of {
    hr_node mean, variance;
} hr_moments_of;
HR_API hr_moments_of hr_moments_with(hr_node x, const hr_reduce_opts *opts);
#define hr_moments(...) HR_CALL1_(hr_moments_with, hr_reduce_opts, __VA_ARGS__, .struct_size = sizeof(hr_reduce_opts))
/* x / sqrt(max(sum(x^2) along `axis`, epsilon)); TensorFlow's epsilon is 1e-12. */
HR_API hr_node hr_l2_normalize(hr_node x, int axis, double epsilon);
HR_UNARY_OP_(hr_l2_loss) /* L2Loss: sum(x^2) / 2 */
#define hr_l2_loss(...) HR_UNARY_CALL_(hr_l2_loss, __VA_ARGS__)
typedef struct hr_lrn_opts {
    size_t struct_size;
    const char *name;
    const int64_t *depth_radius;      /* default 5 */
    const float *bias, *alpha, *beta; /* default 1, 1, 0.5 */
} hr_lrn_opts;
/* LRN: x / (bias + alpha * sum of x^2 in the channels up to depth_radius beside)^beta; x [n, height, width, channels]. */
HR_API hr_node hr_local_response_normalization_with(hr_node x, const hr_lrn_opts *opts);
#define hr_local_response_normalization(...)                                                                           \
    HR_MADE_(                                                                                                          \
        HR_CALL1_(hr_local_response_normalization_with, hr_lrn_opts, __VA_ARGS__, .struct_size = sizeof(hr_lrn_opts)))

/* The same calls, which tell the line that they are in (graph.h). */
#define hr_batch_normalize(...) HR_MADE_(hr_batch_normalize(__VA_ARGS__))
#define hr_l2_normalize(...) HR_MADE_(hr_l2_normalize(__VA_ARGS__))

#ifdef __cplusplus
}
#endif
#endif
