/* Headrace, layers of models: Keras's, with its names, defaults and arithmetic. Part of models.h. Each call gives a
 * layer, never NULL, for hr_sequential or hr_connect, which take it. Wrong arguments are its error, which comes out of
 * the model. Initializers, regularizers and constraints are those of graph.h, network.h and layer.h. */
#ifndef HR_MODEL_LAYERS_H
#define HR_MODEL_LAYERS_H

#include <headrace/layer.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HR_LAYER_CALL0_(fn, opts, ...) HR_CALL0_(fn, opts, .struct_size = sizeof(opts), __VA_ARGS__)
#define HR_LAYER_CALL1_(fn, opts, ...) HR_CALL1_(fn, opts, __VA_ARGS__, .struct_size = sizeof(opts))
#define HR_LAYER_CALL2_(fn, opts, ...) HR_CALL2_(fn, opts, __VA_ARGS__, .struct_size = sizeof(opts))
#define HR_LAYER_CALL3_(fn, opts, ...) HR_CALL3_(fn, opts, __VA_ARGS__, .struct_size = sizeof(opts))
#define HR_LAYER_CALL4_(fn, opts, ...) HR_CALL4_(fn, opts, __VA_ARGS__, .struct_size = sizeof(opts))
#define HR_LAYER_CALL6_(fn, opts, ...) HR_CALL6_(fn, opts, __VA_ARGS__, .struct_size = sizeof(opts))

/* The options of layers that have no others. */
typedef struct hr_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
} hr_layer_opts;

/* ---- core ---- */

typedef struct hr_dense_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    const char *activation; /* default: none. Copied */
    bool no_bias;
    hr_initializer kernel_initializer; /* default: Glorot's uniform */
    hr_initializer bias_initializer;   /* default: zeros */
    hr_regularizer kernel_regularizer, bias_regularizer;
    hr_constraint kernel_constraint, bias_constraint;
} hr_dense_layer_opts;
/* Dense: activation(x kernel + bias) along the last axis of any rank of 2 and more. Weights: kernel [width, units],
 * bias [units]. */
HR_API hr_layer *hr_dense_layer_with(int64_t units, const hr_dense_layer_opts *opts);
#define hr_dense_layer(...) HR_LAYER_CALL1_(hr_dense_layer_with, hr_dense_layer_opts, __VA_ARGS__)

typedef struct hr_dropout_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    int64_t seed;
} hr_dropout_layer_opts;
/* Dropout: in training a value is 0 with probability `rate`, from 0 to 1, and the others are divided by 1 - rate. */
HR_API hr_layer *hr_dropout_layer_with(float rate, const hr_dropout_layer_opts *opts);
#define hr_dropout_layer(...) HR_LAYER_CALL1_(hr_dropout_layer_with, hr_dropout_layer_opts, __VA_ARGS__)

/* ---- convolutions of steps [n, steps, channels], images [n, height, width, channels] and volumes [n, depth, height,
 * width, channels]. Sizes of windows come by position, a number for each dimension, as in network.h. ---- */

typedef struct hr_conv_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    int64_t strides[3], dilation_rate[3]; /* one number is that of all dimensions: {2} is {2, 2}. Default 1 */
    hr_padding padding;                   /* default HR_VALID; or HR_SAME */
    bool causal;              /* Conv1D, SeparableConv1D: Keras's padding "causal", no step reads those after it */
    int64_t groups;           /* Conv1D to 3D: of channels, each for its own share of the filters. Default 1 */
    int64_t depth_multiplier; /* depthwise and separable ones: filters for each channel. Default 1 */
    const char *activation;   /* default: none. Copied */
    bool no_bias;
    hr_initializer kernel_initializer; /* of depthwise and separable ones the depthwise kernel's. Default: Glorot's */
    hr_initializer pointwise_initializer; /* default: Glorot's uniform */
    hr_initializer bias_initializer;      /* default: zeros */
    hr_regularizer kernel_regularizer, pointwise_regularizer, bias_regularizer;
    hr_constraint kernel_constraint, pointwise_constraint, bias_constraint;
} hr_conv_layer_opts;
/* Conv1D, Conv2D, Conv3D: activation(convolution + bias). Weights: kernel [window..., channels / groups, filters], bias
 * [filters]. Refused: a kernel larger than an input whose size is known, unless .padding is HR_SAME, and channels or
 * filters that are no multiple of the groups. */
HR_API hr_layer *hr_conv1d_layer_with(int64_t filters, int64_t width, const hr_conv_layer_opts *opts);
HR_API hr_layer *hr_conv2d_layer_with(int64_t filters, int64_t height, int64_t width, const hr_conv_layer_opts *opts);
HR_API hr_layer *hr_conv3d_layer_with(int64_t filters, int64_t depth, int64_t height, int64_t width,
                                      const hr_conv_layer_opts *opts);
/* Conv1DTranspose and its kin: lengths become length * stride, with HR_VALID length * stride + max(window - stride, 0).
 * Weights: kernel [window..., filters, channels], bias. */
HR_API hr_layer *hr_conv1d_transpose_layer_with(int64_t filters, int64_t width, const hr_conv_layer_opts *opts);
HR_API hr_layer *hr_conv2d_transpose_layer_with(int64_t filters, int64_t height, int64_t width,
                                                const hr_conv_layer_opts *opts);
HR_API hr_layer *hr_conv3d_transpose_layer_with(int64_t filters, int64_t depth, int64_t height, int64_t width,
                                                const hr_conv_layer_opts *opts);
/* DepthwiseConv1D, DepthwiseConv2D: each channel by its own filters; channel c gives those from c * depth_multiplier on.
 * Weights: depthwise_kernel [window..., channels, depth_multiplier], bias [channels * depth_multiplier]. Strides of both
 * dimensions are equal. */
HR_API hr_layer *hr_depthwise_conv1d_layer_with(int64_t width, const hr_conv_layer_opts *opts);
HR_API hr_layer *hr_depthwise_conv2d_layer_with(int64_t height, int64_t width, const hr_conv_layer_opts *opts);
/* SeparableConv1D, SeparableConv2D: the same, then each pixel by itself. Weights: depthwise_kernel, pointwise_kernel
 * [1..., channels * depth_multiplier, filters], bias [filters]. */
HR_API hr_layer *hr_separable_conv1d_layer_with(int64_t filters, int64_t width, const hr_conv_layer_opts *opts);
HR_API hr_layer *hr_separable_conv2d_layer_with(int64_t filters, int64_t height, int64_t width,
                                                const hr_conv_layer_opts *opts);
#define hr_conv1d_layer(...) HR_LAYER_CALL2_(hr_conv1d_layer_with, hr_conv_layer_opts, __VA_ARGS__)
#define hr_conv2d_layer(...) HR_LAYER_CALL3_(hr_conv2d_layer_with, hr_conv_layer_opts, __VA_ARGS__)
#define hr_conv3d_layer(...) HR_LAYER_CALL4_(hr_conv3d_layer_with, hr_conv_layer_opts, __VA_ARGS__)
#define hr_conv1d_transpose_layer(...) HR_LAYER_CALL2_(hr_conv1d_transpose_layer_with, hr_conv_layer_opts, __VA_ARGS__)
#define hr_conv2d_transpose_layer(...) HR_LAYER_CALL3_(hr_conv2d_transpose_layer_with, hr_conv_layer_opts, __VA_ARGS__)
#define hr_conv3d_transpose_layer(...) HR_LAYER_CALL4_(hr_conv3d_transpose_layer_with, hr_conv_layer_opts, __VA_ARGS__)
#define hr_depthwise_conv1d_layer(...) HR_LAYER_CALL1_(hr_depthwise_conv1d_layer_with, hr_conv_layer_opts, __VA_ARGS__)
#define hr_depthwise_conv2d_layer(...) HR_LAYER_CALL2_(hr_depthwise_conv2d_layer_with, hr_conv_layer_opts, __VA_ARGS__)
#define hr_separable_conv1d_layer(...) HR_LAYER_CALL2_(hr_separable_conv1d_layer_with, hr_conv_layer_opts, __VA_ARGS__)
#define hr_separable_conv2d_layer(...) HR_LAYER_CALL3_(hr_separable_conv2d_layer_with, hr_conv_layer_opts, __VA_ARGS__)

/* ---- pools of steps, images and volumes ---- */

typedef struct hr_pooling_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    int64_t strides[3]; /* one number is that of all dimensions. Default: the window */
    hr_padding padding; /* default HR_VALID; or HR_SAME, whose padding does not count */
} hr_pooling_layer_opts;
/* MaxPooling1D and its kin: the greatest value of each channel in each window. AveragePooling1D and its kin: the mean.
 * Keras's default window is 2 in each dimension. */
HR_API hr_layer *hr_max_pooling1d_layer_with(int64_t width, const hr_pooling_layer_opts *opts);
HR_API hr_layer *hr_max_pooling2d_layer_with(int64_t height, int64_t width, const hr_pooling_layer_opts *opts);
HR_API hr_layer *hr_max_pooling3d_layer_with(int64_t depth, int64_t height, int64_t width,
                                             const hr_pooling_layer_opts *opts);
HR_API hr_layer *hr_average_pooling1d_layer_with(int64_t width, const hr_pooling_layer_opts *opts);
HR_API hr_layer *hr_average_pooling2d_layer_with(int64_t height, int64_t width, const hr_pooling_layer_opts *opts);
HR_API hr_layer *hr_average_pooling3d_layer_with(int64_t depth, int64_t height, int64_t width,
                                                 const hr_pooling_layer_opts *opts);
#define hr_max_pooling1d_layer(...) HR_LAYER_CALL1_(hr_max_pooling1d_layer_with, hr_pooling_layer_opts, __VA_ARGS__)
#define hr_max_pooling2d_layer(...) HR_LAYER_CALL2_(hr_max_pooling2d_layer_with, hr_pooling_layer_opts, __VA_ARGS__)
#define hr_max_pooling3d_layer(...) HR_LAYER_CALL3_(hr_max_pooling3d_layer_with, hr_pooling_layer_opts, __VA_ARGS__)
#define hr_average_pooling1d_layer(...)                                                                                \
    HR_LAYER_CALL1_(hr_average_pooling1d_layer_with, hr_pooling_layer_opts, __VA_ARGS__)
#define hr_average_pooling2d_layer(...)                                                                                \
    HR_LAYER_CALL2_(hr_average_pooling2d_layer_with, hr_pooling_layer_opts, __VA_ARGS__)
#define hr_average_pooling3d_layer(...)                                                                                \
    HR_LAYER_CALL3_(hr_average_pooling3d_layer_with, hr_pooling_layer_opts, __VA_ARGS__)

typedef struct hr_global_pooling_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    bool keepdims; /* dimensions that go stay, with length 1 */
} hr_global_pooling_layer_opts;
/* GlobalMaxPooling1D and its kin: the greatest value of each channel, [n, channels]; GlobalAveragePooling1D and its kin:
 * the mean. GlobalAveragePooling1D takes the mean of the steps of its mask; without any it is 0 (Keras's is NaN). */
HR_API hr_layer *hr_global_max_pooling1d_layer_with(const hr_global_pooling_layer_opts *opts);
HR_API hr_layer *hr_global_max_pooling2d_layer_with(const hr_global_pooling_layer_opts *opts);
HR_API hr_layer *hr_global_max_pooling3d_layer_with(const hr_global_pooling_layer_opts *opts);
HR_API hr_layer *hr_global_average_pooling1d_layer_with(const hr_global_pooling_layer_opts *opts);
HR_API hr_layer *hr_global_average_pooling2d_layer_with(const hr_global_pooling_layer_opts *opts);
HR_API hr_layer *hr_global_average_pooling3d_layer_with(const hr_global_pooling_layer_opts *opts);
#define hr_global_max_pooling1d_layer(...)                                                                             \
    HR_LAYER_CALL0_(hr_global_max_pooling1d_layer_with, hr_global_pooling_layer_opts, __VA_ARGS__)
#define hr_global_max_pooling2d_layer(...)                                                                             \
    HR_LAYER_CALL0_(hr_global_max_pooling2d_layer_with, hr_global_pooling_layer_opts, __VA_ARGS__)
#define hr_global_max_pooling3d_layer(...)                                                                             \
    HR_LAYER_CALL0_(hr_global_max_pooling3d_layer_with, hr_global_pooling_layer_opts, __VA_ARGS__)
#define hr_global_average_pooling1d_layer(...)                                                                         \
    HR_LAYER_CALL0_(hr_global_average_pooling1d_layer_with, hr_global_pooling_layer_opts, __VA_ARGS__)
#define hr_global_average_pooling2d_layer(...)                                                                         \
    HR_LAYER_CALL0_(hr_global_average_pooling2d_layer_with, hr_global_pooling_layer_opts, __VA_ARGS__)
#define hr_global_average_pooling3d_layer(...)                                                                         \
    HR_LAYER_CALL0_(hr_global_average_pooling3d_layer_with, hr_global_pooling_layer_opts, __VA_ARGS__)

/* ---- edges and sizes of steps, images and volumes ---- */

/* ZeroPadding1D and its kin: so many zeros before and after each dimension. */
HR_API hr_layer *hr_zero_padding1d_layer_with(int64_t before, int64_t after, const hr_layer_opts *opts);
HR_API hr_layer *hr_zero_padding2d_layer_with(int64_t top, int64_t bottom, int64_t left, int64_t right,
                                              const hr_layer_opts *opts);
HR_API hr_layer *hr_zero_padding3d_layer_with(int64_t front, int64_t back, int64_t top, int64_t bottom, int64_t left,
                                              int64_t right, const hr_layer_opts *opts);
/* Cropping1D and its kin: without so many values at the edges of each dimension, of which some are left. */
HR_API hr_layer *hr_cropping1d_layer_with(int64_t before, int64_t after, const hr_layer_opts *opts);
HR_API hr_layer *hr_cropping2d_layer_with(int64_t top, int64_t bottom, int64_t left, int64_t right,
                                          const hr_layer_opts *opts);
HR_API hr_layer *hr_cropping3d_layer_with(int64_t front, int64_t back, int64_t top, int64_t bottom, int64_t left,
                                          int64_t right, const hr_layer_opts *opts);
typedef struct hr_up_sampling_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    bool bilinear; /* pixels between pixels are made of both: interpolation "bilinear". Default: "nearest" */
} hr_up_sampling_layer_opts;
/* UpSampling1D and its kin: each step, pixel or voxel so often. */
HR_API hr_layer *hr_up_sampling1d_layer_with(int64_t size, const hr_layer_opts *opts);
HR_API hr_layer *hr_up_sampling2d_layer_with(int64_t height, int64_t width, const hr_up_sampling_layer_opts *opts);
HR_API hr_layer *hr_up_sampling3d_layer_with(int64_t depth, int64_t height, int64_t width, const hr_layer_opts *opts);
#define hr_zero_padding1d_layer(...) HR_LAYER_CALL2_(hr_zero_padding1d_layer_with, hr_layer_opts, __VA_ARGS__)
#define hr_zero_padding2d_layer(...) HR_LAYER_CALL4_(hr_zero_padding2d_layer_with, hr_layer_opts, __VA_ARGS__)
#define hr_zero_padding3d_layer(...) HR_LAYER_CALL6_(hr_zero_padding3d_layer_with, hr_layer_opts, __VA_ARGS__)
#define hr_cropping1d_layer(...) HR_LAYER_CALL2_(hr_cropping1d_layer_with, hr_layer_opts, __VA_ARGS__)
#define hr_cropping2d_layer(...) HR_LAYER_CALL4_(hr_cropping2d_layer_with, hr_layer_opts, __VA_ARGS__)
#define hr_cropping3d_layer(...) HR_LAYER_CALL6_(hr_cropping3d_layer_with, hr_layer_opts, __VA_ARGS__)
#define hr_up_sampling1d_layer(...) HR_LAYER_CALL1_(hr_up_sampling1d_layer_with, hr_layer_opts, __VA_ARGS__)
#define hr_up_sampling2d_layer(...) HR_LAYER_CALL2_(hr_up_sampling2d_layer_with, hr_up_sampling_layer_opts, __VA_ARGS__)
#define hr_up_sampling3d_layer(...) HR_LAYER_CALL3_(hr_up_sampling3d_layer_with, hr_layer_opts, __VA_ARGS__)

/* ---- normalization ---- */

typedef struct hr_batch_normalization_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    int axis;                                                            /* of the channels; default -1 */
    const float *momentum, *epsilon;                                     /* default 0.99, 0.001. Copied */
    bool no_center, no_scale;                                            /* without beta, without gamma */
    hr_initializer beta_initializer, gamma_initializer;                  /* default: zeros, ones */
    hr_initializer moving_mean_initializer, moving_variance_initializer; /* default: zeros, ones */
    hr_regularizer beta_regularizer, gamma_regularizer;
    hr_constraint beta_constraint, gamma_constraint;
} hr_batch_normalization_layer_opts;
/* BatchNormalization: (x - mean) / sqrt(variance + epsilon) * gamma + beta for each channel. In training they are those
 * of the batch, and moving = moving * momentum + batch * (1 - momentum); elsewhere, and if the layer is frozen, the moving
 * ones. Weights: gamma, beta, moving_mean, moving_variance, each [channels]. Inputs of rank 4 and 5 move the variance of
 * a sample, with n - 1, others that of the batch, with n. */
HR_API hr_layer *hr_batch_normalization_layer_with(const hr_batch_normalization_layer_opts *opts);
#define hr_batch_normalization_layer(...)                                                                              \
    HR_LAYER_CALL0_(hr_batch_normalization_layer_with, hr_batch_normalization_layer_opts, __VA_ARGS__)

typedef struct hr_layer_normalization_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    const int64_t *axes; /* of each row, over which means are taken; default: the last one. Copied */
    int axis_count;
    const float *epsilon;                               /* default 0.001. Copied */
    bool no_center, no_scale;                           /* without beta, without gamma */
    hr_initializer beta_initializer, gamma_initializer; /* default: zeros, ones */
    hr_regularizer beta_regularizer, gamma_regularizer;
    hr_constraint beta_constraint, gamma_constraint;
} hr_layer_normalization_layer_opts;
/* LayerNormalization: the same with mean and variance of each row along the axes. Weights: gamma, beta, of the shape of
 * the axes. */
HR_API hr_layer *hr_layer_normalization_layer_with(const hr_layer_normalization_layer_opts *opts);
#define hr_layer_normalization_layer(...)                                                                              \
    HR_LAYER_CALL0_(hr_layer_normalization_layer_with, hr_layer_normalization_layer_opts, __VA_ARGS__)

typedef struct hr_group_normalization_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    int64_t groups;       /* default 32; -1: as many as channels */
    int axis;             /* of the channels; default -1 */
    const float *epsilon; /* default 0.001. Copied */
    bool no_center, no_scale;
    hr_initializer beta_initializer, gamma_initializer; /* default: zeros, ones */
    hr_regularizer beta_regularizer, gamma_regularizer;
    hr_constraint beta_constraint, gamma_constraint;
} hr_group_normalization_layer_opts;
/* GroupNormalization: the same with mean and variance of each row and each group of channels. Weights: gamma, beta,
 * [channels]. */
HR_API hr_layer *hr_group_normalization_layer_with(const hr_group_normalization_layer_opts *opts);
#define hr_group_normalization_layer(...)                                                                              \
    HR_LAYER_CALL0_(hr_group_normalization_layer_with, hr_group_normalization_layer_opts, __VA_ARGS__)

typedef struct hr_unit_normalization_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    const int64_t *axes; /* default: the last one. Copied */
    int axis_count;
} hr_unit_normalization_layer_opts;
/* UnitNormalization: each row divided by its length along the axes, the root of its sum of squares. */
HR_API hr_layer *hr_unit_normalization_layer_with(const hr_unit_normalization_layer_opts *opts);
#define hr_unit_normalization_layer(...)                                                                               \
    HR_LAYER_CALL0_(hr_unit_normalization_layer_with, hr_unit_normalization_layer_opts, __VA_ARGS__)

/* ---- merges: layers of several inputs (hr_connect). A step of their output counts if it does in the mask of each input
 * that has one ---- */

/* Add, Subtract (of two inputs), Multiply, Average, Maximum, Minimum: value by value. Inputs of a lower rank get
 * dimensions of 1 after the batch, and dimensions of 1 broadcast. */
HR_API hr_layer *hr_add_layer_with(const hr_layer_opts *opts);
HR_API hr_layer *hr_subtract_layer_with(const hr_layer_opts *opts);
HR_API hr_layer *hr_multiply_layer_with(const hr_layer_opts *opts);
HR_API hr_layer *hr_average_layer_with(const hr_layer_opts *opts);
HR_API hr_layer *hr_maximum_layer_with(const hr_layer_opts *opts);
HR_API hr_layer *hr_minimum_layer_with(const hr_layer_opts *opts);
#define hr_add_layer(...) HR_LAYER_CALL0_(hr_add_layer_with, hr_layer_opts, __VA_ARGS__)
#define hr_subtract_layer(...) HR_LAYER_CALL0_(hr_subtract_layer_with, hr_layer_opts, __VA_ARGS__)
#define hr_multiply_layer(...) HR_LAYER_CALL0_(hr_multiply_layer_with, hr_layer_opts, __VA_ARGS__)
#define hr_average_layer(...) HR_LAYER_CALL0_(hr_average_layer_with, hr_layer_opts, __VA_ARGS__)
#define hr_maximum_layer(...) HR_LAYER_CALL0_(hr_maximum_layer_with, hr_layer_opts, __VA_ARGS__)
#define hr_minimum_layer(...) HR_LAYER_CALL0_(hr_minimum_layer_with, hr_layer_opts, __VA_ARGS__)

typedef struct hr_concatenate_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    int axis; /* default -1; not that of the batch, 0 */
} hr_concatenate_layer_opts;
/* Concatenate: inputs side by side along an axis; their other dimensions are equal. Along axis 1 masks are put side by
 * side, too. */
HR_API hr_layer *hr_concatenate_layer_with(const hr_concatenate_layer_opts *opts);
#define hr_concatenate_layer(...) HR_LAYER_CALL0_(hr_concatenate_layer_with, hr_concatenate_layer_opts, __VA_ARGS__)

typedef struct hr_dot_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    bool normalize; /* inputs are first divided by their lengths along their axes: products are cosines */
} hr_dot_layer_opts;
/* Dot: sums of products of the rows of two inputs along an axis of each, which counts the batch as 0: of [n, a, k] and
 * [n, k, b] by hr_dot_layer(2, 1) [n, a, b]; of two [n, k] by hr_dot_layer(1, 1) [n, 1]. The result has no mask. */
HR_API hr_layer *hr_dot_layer_with(int axis_a, int axis_b, const hr_dot_layer_opts *opts);
#define hr_dot_layer(...) HR_LAYER_CALL2_(hr_dot_layer_with, hr_dot_layer_opts, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
