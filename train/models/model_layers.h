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

/* A list of layers, which the call takes that it is given to. */
typedef struct hr_layer_list {
    hr_layer *const *layer;
    int count;
} hr_layer_list;
#define HR_LAYERS(...)                                                                                                 \
    ((hr_layer_list){(hr_layer *const[]){__VA_ARGS__},                                                                 \
                     (int)(sizeof((hr_layer *const[]){__VA_ARGS__}) / sizeof(void *))})

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

typedef struct hr_activation_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    hr_activation_fn *fn; /* one of your own instead of a name, which is then NULL */
} hr_activation_layer_opts;
/* Activation: a function of each value, by a name of hr_activation_named. */
HR_API hr_layer *hr_activation_layer_with(const char *activation, const hr_activation_layer_opts *opts);
#define hr_activation_layer(...) HR_LAYER_CALL1_(hr_activation_layer_with, hr_activation_layer_opts, __VA_ARGS__)

typedef struct hr_embedding_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    bool mask_zero;                        /* id 0 is a step that is not there, for the layers after it */
    hr_initializer embeddings_initializer; /* default: uniform from -0.05 to 0.05 */
    hr_regularizer embeddings_regularizer;
    hr_constraint embeddings_constraint;
} hr_embedding_layer_opts;
/* Embedding: rows of a table "embeddings" [input_dim, output_dim] by ids from 0 to input_dim - 1, of any rank; numbers of
 * other types are cut to whole ones. A run fails for another id, "graph.index". */
HR_API hr_layer *hr_embedding_layer_with(int64_t input_dim, int64_t output_dim, const hr_embedding_layer_opts *opts);
#define hr_embedding_layer(...) HR_LAYER_CALL2_(hr_embedding_layer_with, hr_embedding_layer_opts, __VA_ARGS__)

typedef struct hr_masking_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    float mask_value;
} hr_masking_layer_opts;
/* Masking: steps of which all values are mask_value become 0 and do not count in the layers after it. */
HR_API hr_layer *hr_masking_layer_with(const hr_masking_layer_opts *opts);
#define hr_masking_layer(...) HR_LAYER_CALL0_(hr_masking_layer_with, hr_masking_layer_opts, __VA_ARGS__)

/* What is computed of the input of a Lambda. */
typedef hr_node hr_lambda_fn(hr_node x, void *user);
typedef struct hr_lambda_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    void (*user_free)(void *user); /* called with the end of the layer; default: nothing */
    bool keeps_mask;               /* default: its output has no mask */
} hr_lambda_layer_opts;
/* Lambda: fn(x, user), which is called for each graph of the model. It makes no variables; a kind of your own can
 * (layer.h). */
HR_API hr_layer *hr_lambda_layer_with(hr_lambda_fn *fn, void *user, const hr_lambda_layer_opts *opts);
#define hr_lambda_layer(...) HR_LAYER_CALL2_(hr_lambda_layer_with, hr_lambda_layer_opts, __VA_ARGS__)

/* ActivityRegularization: its input as it is; each batch costs l1 * sum |x| + l2 * sum x^2, divided by its rows. */
HR_API hr_layer *hr_activity_regularization_layer_with(float l1, float l2, const hr_layer_opts *opts);
#define hr_activity_regularization_layer(...)                                                                          \
    HR_LAYER_CALL2_(hr_activity_regularization_layer_with, hr_layer_opts, __VA_ARGS__)

/* ---- steps: [n, steps, width] ---- */

typedef struct hr_recurrent_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    bool return_sequences; /* the outputs of all steps, [n, steps, units]; default: of the last one, [n, units] */
    bool return_state; /* its states after the last step are further outputs (hr_symbol_output): h, of an LSTM h, c */
    bool go_backwards; /* from the last step to the first; so are the outputs of .return_sequences */
    bool stateful;     /* row i goes on from row i of the batch before, until hr_reset_states */
    bool zero_masked;  /* outputs of masked steps are 0; default: those of the step before */
    const char *activation;               /* default: tanh. Copied */
    const char *recurrent_activation;     /* of gates; default: sigmoid. Copied */
    hr_initializer kernel_initializer;    /* default: Glorot's uniform */
    hr_initializer recurrent_initializer; /* default: orthogonal */
    hr_initializer bias_initializer;      /* default: zeros, of an LSTM's forget gate ones */
    hr_regularizer kernel_regularizer, recurrent_regularizer, bias_regularizer;
    hr_constraint kernel_constraint, recurrent_constraint, bias_constraint;
    bool no_bias;
    bool no_forget_bias;              /* LSTM: Keras's unit_forget_bias=False, its bias begins with zeros everywhere */
    bool reset_before;                /* GRU: Keras's reset_after=False */
    float dropout, recurrent_dropout; /* in training, of inputs and of states, the same places in all steps */
    int64_t seed;                     /* of these; 0: the model's */
} hr_recurrent_layer_opts;
/* SimpleRNN, LSTM and GRU (hr_lstm and its kin of network.h). Further inputs are the initial states, h, of an LSTM h and
 * c, [n, units]; default: zeros. Steps that the mask of the input leaves out keep output and states. Weights are in
 * "NAME/lstm_cell": kernel [width, gates * units], recurrent_kernel [units, gates * units], bias [gates * units], of a
 * GRU [2, 3 units]; gates are i, f, c, o of an LSTM and z, r, h of a GRU. */
HR_API hr_layer *hr_simple_rnn_layer_with(int64_t units, const hr_recurrent_layer_opts *opts);
HR_API hr_layer *hr_lstm_layer_with(int64_t units, const hr_recurrent_layer_opts *opts);
HR_API hr_layer *hr_gru_layer_with(int64_t units, const hr_recurrent_layer_opts *opts);
#define hr_simple_rnn_layer(...) HR_LAYER_CALL1_(hr_simple_rnn_layer_with, hr_recurrent_layer_opts, __VA_ARGS__)
#define hr_lstm_layer(...) HR_LAYER_CALL1_(hr_lstm_layer_with, hr_recurrent_layer_opts, __VA_ARGS__)
#define hr_gru_layer(...) HR_LAYER_CALL1_(hr_gru_layer_with, hr_recurrent_layer_opts, __VA_ARGS__)

/* SimpleRNNCell, LSTMCell and GRUCell: what these layers do in a step, for hr_rnn_layer, which has the options
 * .return_sequences, .return_state, .go_backwards, .stateful and .zero_masked in their place. */
HR_API hr_layer *hr_simple_rnn_cell_with(int64_t units, const hr_recurrent_layer_opts *opts);
HR_API hr_layer *hr_lstm_cell_with(int64_t units, const hr_recurrent_layer_opts *opts);
HR_API hr_layer *hr_gru_cell_with(int64_t units, const hr_recurrent_layer_opts *opts);
#define hr_simple_rnn_cell(...) HR_LAYER_CALL1_(hr_simple_rnn_cell_with, hr_recurrent_layer_opts, __VA_ARGS__)
#define hr_lstm_cell(...) HR_LAYER_CALL1_(hr_lstm_cell_with, hr_recurrent_layer_opts, __VA_ARGS__)
#define hr_gru_cell(...) HR_LAYER_CALL1_(hr_gru_cell_with, hr_recurrent_layer_opts, __VA_ARGS__)
/* StackedRNNCells: several cells (taken) as one, each of which reads in every step what the one before has made; of at
 * most 15 states, two of an LSTM's and one of the others'. Their states are one after the other. */
HR_API hr_layer *hr_stacked_rnn_cells_with(hr_layer_list cells, const hr_layer_opts *opts);
/* HR_LAYERS(...) has commas, which is why the whole argument list is passed on. */
#define hr_stacked_rnn_cells(...) HR_LAYER_CALL1_(hr_stacked_rnn_cells_with, hr_layer_opts, __VA_ARGS__)

typedef struct hr_rnn_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    bool return_sequences, return_state, go_backwards, stateful, zero_masked; /* as of hr_recurrent_layer_opts */
} hr_rnn_layer_opts;
/* RNN: a cell (taken) over the steps, such as hr_rnn_layer(hr_stacked_rnn_cells(HR_LAYERS(hr_lstm_cell(8),
 * hr_lstm_cell(4)))). Further inputs are the initial states of all cells. Weights are in "NAME/lstm_cell", of several
 * cells in "NAME/stacked_rnn_cells/lstm_cell", "NAME/stacked_rnn_cells/lstm_cell_1". */
HR_API hr_layer *hr_rnn_layer_with(hr_layer *cell, const hr_rnn_layer_opts *opts);
#define hr_rnn_layer(...) HR_LAYER_CALL1_(hr_rnn_layer_with, hr_rnn_layer_opts, __VA_ARGS__)

typedef struct hr_bidirectional_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    hr_merge_mode merge;      /* default: side by side */
    bool no_merge;            /* Keras's merge_mode=None: two outputs, forward and backward */
    hr_layer *backward_layer; /* default: as the other one. One of its own has .go_backwards. Taken */
} hr_bidirectional_layer_opts;
/* Bidirectional: a recurrent layer (taken) in both directions, whose outputs are merged, of .return_sequences step by
 * step, where masked steps give 0. Initial states are further inputs, states with .return_state further outputs: first
 * those of the forward one. Weights are in "NAME/forward_LAYER" and "NAME/backward_LAYER". */
HR_API hr_layer *hr_bidirectional_layer_with(hr_layer *layer, const hr_bidirectional_layer_opts *opts);
#define hr_bidirectional_layer(...)                                                                                    \
    HR_LAYER_CALL1_(hr_bidirectional_layer_with, hr_bidirectional_layer_opts, __VA_ARGS__)
/* TimeDistributed: a layer (taken) for each step of [n, steps, ...] by itself. Its weights are in "NAME", without its own
 * name; those of a model (hr_model_layer) keep the names of its layers. */
HR_API hr_layer *hr_time_distributed_layer_with(hr_layer *layer, const hr_layer_opts *opts);
#define hr_time_distributed_layer(...) HR_LAYER_CALL1_(hr_time_distributed_layer_with, hr_layer_opts, __VA_ARGS__)

/* ---- shapes: of rows, without the batch ---- */

typedef struct hr_flatten_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    bool channels_first; /* the channels, dimension 1, become the last one before */
} hr_flatten_layer_opts;
/* Flatten: each row as a vector; [n] becomes [n, 1]. */
HR_API hr_layer *hr_flatten_layer_with(const hr_flatten_layer_opts *opts);
#define hr_flatten_layer(...) HR_LAYER_CALL0_(hr_flatten_layer_with, hr_flatten_layer_opts, __VA_ARGS__)
/* Reshape: the values of each row in another shape, of which one dimension may be -1: what the others leave. */
HR_API hr_layer *hr_reshape_layer_with(hr_shape target_shape, const hr_layer_opts *opts);
#define hr_reshape_layer(...) HR_LAYER_CALL1_(hr_reshape_layer_with, hr_layer_opts, __VA_ARGS__)
/* Permute: dimension i of the result is dims[i - 1] of the input, counted from 1: HR_SHAPE(2, 1) turns matrices. */
HR_API hr_layer *hr_permute_layer_with(hr_shape dims, const hr_layer_opts *opts);
#define hr_permute_layer(...) HR_LAYER_CALL1_(hr_permute_layer_with, hr_layer_opts, __VA_ARGS__)
/* RepeatVector: vectors [batch, width] as so many equal steps, [batch, times, width]. */
HR_API hr_layer *hr_repeat_vector_layer_with(int64_t times, const hr_layer_opts *opts);
#define hr_repeat_vector_layer(...) HR_LAYER_CALL1_(hr_repeat_vector_layer_with, hr_layer_opts, __VA_ARGS__)

/* ---- activations with arguments ---- */

typedef struct hr_relu_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    const float *max_value; /* default: none */
    float negative_slope, threshold;
} hr_relu_layer_opts;
/* ReLU: max_value from there on, x from `threshold` on, negative_slope * (x - threshold) below it. */
HR_API hr_layer *hr_relu_layer_with(const hr_relu_layer_opts *opts);
#define hr_relu_layer(...) HR_LAYER_CALL0_(hr_relu_layer_with, hr_relu_layer_opts, __VA_ARGS__)

typedef struct hr_leaky_relu_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    const float *alpha; /* default: 0.3 */
} hr_leaky_relu_layer_opts;
/* LeakyReLU: x, and alpha * x below 0. */
HR_API hr_layer *hr_leaky_relu_layer_with(const hr_leaky_relu_layer_opts *opts);
#define hr_leaky_relu_layer(...) HR_LAYER_CALL0_(hr_leaky_relu_layer_with, hr_leaky_relu_layer_opts, __VA_ARGS__)

typedef struct hr_elu_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    const float *alpha; /* default: 1 */
} hr_elu_layer_opts;
/* ELU: x, and alpha * (exp(x) - 1) below 0. */
HR_API hr_layer *hr_elu_layer_with(const hr_elu_layer_opts *opts);
#define hr_elu_layer(...) HR_LAYER_CALL0_(hr_elu_layer_with, hr_elu_layer_opts, __VA_ARGS__)

typedef struct hr_thresholded_relu_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    const float *theta; /* default: 1 */
} hr_thresholded_relu_layer_opts;
/* ThresholdedReLU: x above theta, 0 elsewhere. */
HR_API hr_layer *hr_thresholded_relu_layer_with(const hr_thresholded_relu_layer_opts *opts);
#define hr_thresholded_relu_layer(...)                                                                                 \
    HR_LAYER_CALL0_(hr_thresholded_relu_layer_with, hr_thresholded_relu_layer_opts, __VA_ARGS__)

typedef struct hr_prelu_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    hr_shape shared_axes;             /* axes, from 1, along which alpha is one number: HR_SHAPE(1, 2). Default: none */
    hr_initializer alpha_initializer; /* default: zeros */
    hr_regularizer alpha_regularizer;
    hr_constraint alpha_constraint;
} hr_prelu_layer_opts;
/* PReLU: x, and alpha * x below 0, with a weight "alpha" of the shape of a row; shared axes have 1. */
HR_API hr_layer *hr_prelu_layer_with(const hr_prelu_layer_opts *opts);
#define hr_prelu_layer(...) HR_LAYER_CALL0_(hr_prelu_layer_with, hr_prelu_layer_opts, __VA_ARGS__)

typedef struct hr_softmax_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    const int *axis; /* with the batch; default: -1 */
} hr_softmax_layer_opts;
/* Softmax: exp(x) divided by its sum along an axis. */
HR_API hr_layer *hr_softmax_layer_with(const hr_softmax_layer_opts *opts);
#define hr_softmax_layer(...) HR_LAYER_CALL0_(hr_softmax_layer_with, hr_softmax_layer_opts, __VA_ARGS__)

/* ---- noise: in training alone ---- */

typedef struct hr_dropout_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    int64_t seed; /* 0: the model's */
    /* Of what is drawn, with the batch: where it has 1, all values along that dimension go or stay together; -1 is the
     * dimension of the input. Default (and HR_SCALAR): the input's. */
    hr_shape noise_shape;
} hr_dropout_layer_opts;
/* Dropout: in training a value is 0 with probability `rate`, from 0 to 1, and the others are divided by 1 - rate. */
HR_API hr_layer *hr_dropout_layer_with(float rate, const hr_dropout_layer_opts *opts);
#define hr_dropout_layer(...) HR_LAYER_CALL1_(hr_dropout_layer_with, hr_dropout_layer_opts, __VA_ARGS__)

typedef struct hr_spatial_dropout_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    int64_t seed;        /* 0: the model's */
    bool channels_first; /* default: the last dimension is that of channels */
} hr_spatial_dropout_layer_opts;
/* SpatialDropout: as Dropout, but whole channels of [n, steps, channels], of images, or of volumes. `rate` is less
 * than 1. */
HR_API hr_layer *hr_spatial_dropout1d_layer_with(float rate, const hr_spatial_dropout_layer_opts *opts);
HR_API hr_layer *hr_spatial_dropout2d_layer_with(float rate, const hr_spatial_dropout_layer_opts *opts);
HR_API hr_layer *hr_spatial_dropout3d_layer_with(float rate, const hr_spatial_dropout_layer_opts *opts);
#define hr_spatial_dropout1d_layer(...)                                                                                \
    HR_LAYER_CALL1_(hr_spatial_dropout1d_layer_with, hr_spatial_dropout_layer_opts, __VA_ARGS__)
#define hr_spatial_dropout2d_layer(...)                                                                                \
    HR_LAYER_CALL1_(hr_spatial_dropout2d_layer_with, hr_spatial_dropout_layer_opts, __VA_ARGS__)
#define hr_spatial_dropout3d_layer(...)                                                                                \
    HR_LAYER_CALL1_(hr_spatial_dropout3d_layer_with, hr_spatial_dropout_layer_opts, __VA_ARGS__)

typedef struct hr_noise_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    int64_t seed; /* 0: the model's */
} hr_noise_layer_opts;
/* GaussianNoise adds numbers of mean 0 and deviation stddev. GaussianDropout multiplies by numbers of mean 1 and
 * deviation sqrt(rate / (1 - rate)). AlphaDropout sets values to the least one of selu and keeps mean and variance. */
HR_API hr_layer *hr_gaussian_noise_layer_with(float stddev, const hr_noise_layer_opts *opts);
HR_API hr_layer *hr_gaussian_dropout_layer_with(float rate, const hr_noise_layer_opts *opts);
HR_API hr_layer *hr_alpha_dropout_layer_with(float rate, const hr_noise_layer_opts *opts);
#define hr_gaussian_noise_layer(...) HR_LAYER_CALL1_(hr_gaussian_noise_layer_with, hr_noise_layer_opts, __VA_ARGS__)
#define hr_gaussian_dropout_layer(...) HR_LAYER_CALL1_(hr_gaussian_dropout_layer_with, hr_noise_layer_opts, __VA_ARGS__)
#define hr_alpha_dropout_layer(...) HR_LAYER_CALL1_(hr_alpha_dropout_layer_with, hr_noise_layer_opts, __VA_ARGS__)
/* ---- convolutions of steps [n, steps, channels], images [n, height, width, channels] and volumes [n, depth, height,
 * width, channels]. Sizes of windows come by position, a number for each dimension, as in network.h. ---- */

typedef struct hr_conv_layer_opts {
    size_t struct_size;
    HR_LAYER_OPTIONS
    int64_t strides[3], dilation_rate[3]; /* one number is that of all dimensions: {2} is {2, 2}. Default 1 */
    hr_padding padding;                   /* default HR_VALID; or HR_SAME */
    bool causal;                   /* Conv1D, SeparableConv1D: Keras's padding "causal", no step reads those after it */
    int64_t groups;                /* Conv1D to 3D: of channels, each for its own share of the filters. Default 1 */
    const int64_t *output_padding; /* transposed ones: a number for each dimension, below its stride, which is added */
    int64_t depth_multiplier;      /* depthwise and separable ones: filters for each channel. Default 1 */
    const char *activation;        /* default: none. Copied */
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
/* Conv1DTranspose and its kin: lengths become length * stride, with HR_VALID length * stride + max(window - stride, 0);
 * with .output_padding (length - 1) * stride + window + that, less 2 * (window / 2) with HR_SAME. Weights: kernel [window..., filters, channels], bias. */
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
 * a sample, with n - 1, others that of the batch, with n. Steps that a mask leaves out do not count in them. */
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
