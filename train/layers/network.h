/* Headrace, layers of neural networks: variables with TensorFlow's names, initial values and arithmetic, and what is
 * computed with them. Included by layers.h.
 *
 *     hr_node net = hr_conv2d(images, 32, 5, 5, .padding = HR_SAME, .activation = hr_relu_fn);
 *     net = hr_max_pool(net, 2, 2);
 *     net = hr_batch_normalization(net, .training = training);
 *     hr_node logits = hr_dense(hr_flatten(net), 10);
 *
 * A layer's .name is the variable scope of its weights: "conv2d", or "conv2d_1", ... if taken. Its activation is called
 * in that scope. Weights have the type of the input, float if it is none of floats. With .not_trainable optimizers leave
 * them alone. */
#ifndef HR_NETWORK_H
#define HR_NETWORK_H

#include <headrace/graph.h>
#include <headrace/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- activations ---- */

/* An activation: applied to each value of a layer's output. These have TensorFlow's names and arithmetic. */
typedef hr_node hr_activation_fn(hr_node x);
HR_API hr_node hr_relu_fn(hr_node x);
HR_API hr_node hr_relu6_fn(hr_node x);
HR_API hr_node hr_elu_fn(hr_node x);
HR_API hr_node hr_selu_fn(hr_node x);
HR_API hr_node hr_sigmoid_fn(hr_node x);
HR_API hr_node hr_tanh_fn(hr_node x);
HR_API hr_node hr_softplus_fn(hr_node x);
HR_API hr_node hr_softsign_fn(hr_node x);
HR_API hr_node hr_leaky_relu_fn(hr_node x); /* with TensorFlow's slope of 0.2 */
HR_API hr_node hr_swish_fn(hr_node x);      /* x * sigmoid(x), also called silu */
HR_API hr_node hr_gelu_fn(hr_node x);       /* x / 2 * (1 + erf(x / sqrt(2))) */
HR_API hr_node hr_softmax_fn(hr_node x);
HR_API hr_node hr_log_softmax_fn(hr_node x);
HR_API hr_node hr_hard_sigmoid_fn(hr_node x); /* 0.2 x + 0.5, from 0 to 1 */
HR_API hr_node hr_exponential_fn(hr_node x);
HR_API hr_node hr_mish_fn(hr_node x);                           /* x * tanh(softplus(x)) */
HR_API hr_node hr_linear_fn(hr_node x);                         /* x itself */
HR_API hr_activation_fn *hr_activation_named(const char *name); /* by name: "relu"; NULL: unknown */
HR_API const char *hr_activation_name_at(int i);                /* NULL after the last */

/* ---- regularizers ---- */

/* What a layer's weights cost: l1 * sum |x| + l2 * sum x^2; with `half_l2`, as in tf.nn.l2_loss and slim, the second
 * sum is halved. A layer that makes a weight adds its cost to the collection "regularization_losses", which
 * hr_get_total_loss sums, unless the graph is eager. */
typedef struct hr_regularizer {
    float l1, l2;
    bool half_l2;
} hr_regularizer;
HR_API hr_regularizer hr_l1(float l1);
HR_API hr_regularizer hr_l2(float l2);
HR_API hr_regularizer hr_l1_l2(float l1, float l2);
/* The cost of `x`, a scalar. */
HR_API hr_node hr_regularization_loss(hr_node x, hr_regularizer regularizer);

/* ---- dense ---- */

typedef struct hr_dense_opts {
    size_t struct_size;
    const char *name;                  /* variable scope; default "dense", or "dense_1", ... if taken */
    hr_activation_fn *activation;      /* default: none */
    hr_initializer kernel_initializer; /* default: Glorot's uniform */
    hr_initializer bias_initializer;   /* default: zeros */
    bool no_bias, not_trainable;
    hr_regularizer kernel_regularizer, bias_regularizer; /* default: none */
    bool slim;                                           /* names as in slim: "fully_connected", "weights", "biases" */
} hr_dense_opts;
/* activation(x kernel + bias) [..., units], for x [..., k] and a kernel [k, units] of the type of x. The rank of x is at
 * least 2, and all dimensions of x but the first are known; else "layers.shape". */
HR_API hr_node hr_dense_with(hr_node x, int64_t units, const hr_dense_opts *opts);
#define hr_dense(...)                                                                                                  \
    HR_MADE_(HR_CALL2_(hr_dense_with, hr_dense_opts, __VA_ARGS__, .struct_size = sizeof(hr_dense_opts)))

/* [n, ...] as [n, product of the others]. The rank is known; else "layers.shape". */
HR_API hr_node hr_flatten_with(hr_node x, const hr_name_opts *opts);
#define hr_flatten(...) HR_UNARY_CALL_(hr_flatten, __VA_ARGS__)

typedef struct hr_dropout_opts {
    size_t struct_size;
    const char *name;
    int64_t seed;        /* 0: from the graph's seed */
    hr_node noise_shape; /* int vector that broadcasts to x's shape: one draw each; default: that shape */
    hr_node is_training; /* a bool that a run computes: where it is false, x is passed on. Default: always dropped */
} hr_dropout_opts;
/* Sets each value to 0 with probability `rate` and divides the others by 1 - rate. `rate` is at least 0 and less than
 * 1; else "layers.rate". */
HR_API hr_node hr_dropout_with(hr_node x, float rate, const hr_dropout_opts *opts);
#define hr_dropout(...)                                                                                                \
    HR_MADE_(HR_CALL2_(hr_dropout_with, hr_dropout_opts, __VA_ARGS__, .struct_size = sizeof(hr_dropout_opts)))

typedef struct hr_embedding_opts {
    size_t struct_size;
    const char *name;           /* default "embedding" */
    hr_initializer initializer; /* default: uniform from -0.05 to 0.05 */
    hr_regularizer regularizer;
    hr_dtype dtype; /* default float */
    bool not_trainable;
} hr_embedding_opts;
/* Rows of a table "embeddings" [count, width] by ids, int32 or int64 [...]: [..., width]. A run fails for an id outside
 * of [0, count). Sparse ids: hr_embedding_lookup_sparse. */
HR_API hr_node hr_embedding_with(hr_node ids, int64_t count, int64_t width, const hr_embedding_opts *opts);
#define hr_embedding(...)                                                                                              \
    HR_MADE_(HR_CALL3_(hr_embedding_with, hr_embedding_opts, __VA_ARGS__, .struct_size = sizeof(hr_embedding_opts)))

typedef struct hr_embedding_lookup_opts {
    size_t struct_size;
    const char *name;               /* name scope; default "embedding_lookup" */
    hr_partition_strategy strategy; /* default: div, as TensorFlow 2; tf.compat.v1.nn has mod */
    float max_norm;                 /* longer rows are scaled to this norm; default: they are not */
} hr_embedding_lookup_opts;
/* The row of each id, int32 or int64 of any shape: [shape of ids, shape of a row]. `tables`: variables or values, over
 * which the rows are spread, or one; the value of a variable in pieces of rows stands for its pieces. The run fails for
 * an id that there is not. Else "layers.shape". */
HR_API hr_node hr_embedding_lookup_with(const hr_node *tables, int count, hr_node ids,
                                        const hr_embedding_lookup_opts *opts);
#define hr_embedding_lookup(...)                                                                                       \
    HR_MADE_(HR_CALL3_(hr_embedding_lookup_with, hr_embedding_lookup_opts, __VA_ARGS__,                                \
                       .struct_size = sizeof(hr_embedding_lookup_opts)))
/* hr_embedding_lookup_sparse of several variables float [rows, dim], or of one in pieces. */
HR_API hr_node hr_sharded_lookup_sparse_with(const hr_node *tables, int count, hr_node ids, hr_node splits,
                                             const hr_lookup_opts *opts);
#define hr_sharded_lookup_sparse(...)                                                                                  \
    HR_MADE_(                                                                                                          \
        HR_CALL4_(hr_sharded_lookup_sparse_with, hr_lookup_opts, __VA_ARGS__, .struct_size = sizeof(hr_lookup_opts)))

/* ---- convolutions ---- */

typedef struct hr_conv_opts {
    size_t struct_size;
    const char *name; /* default: that of the layer without hr_ */
    /* As in hr_image_opts (nn.h). In one dimension the first of each counts, and .paddings has two numbers: those before
     * and after; {width - 1, 0} is Keras's "causal". */
    int64_t strides[2], dilations[2];
    hr_padding padding;
    const int64_t *paddings;
    bool channels_first;
    int64_t groups; /* of hr_conv1d and hr_conv2d: of channels, each with its own share of filters; default 1 */
    int64_t depth_multiplier;     /* depthwise and separable ones: filters for each channel; default 1 */
    hr_activation_fn *activation; /* default: none */
    hr_initializer kernel_initializer, pointwise_initializer, bias_initializer; /* default: Glorot's uniform; zeros */
    hr_regularizer kernel_regularizer, pointwise_regularizer, bias_regularizer; /* default: none */
    bool no_bias, not_trainable;
    bool slim; /* names as in slim: "Conv", "Conv2d_transpose", "SeparableConv2d"; "weights" for "kernel", "biases" */
    /* Transposed layers, as in Keras: a number for each dimension, less than its stride, that chooses among the lengths of
     * which the convolution would make that of x: (length - 1) * stride + window + number, less 2 * (window / 2) with
     * HR_SAME. Not with HR_EXPLICIT. Default: the lengths below. */
    const int64_t *output_padding;
} hr_conv_opts;
#define HR_CONV_ .struct_size = sizeof(hr_conv_opts)
/* activation(convolution + bias) of images [n, height, width, depth], or of rows [n, width, depth]. Variables are
 * "kernel" [height, width, depth / groups, filters] and "bias"; of a transposed layer, the kernel is [height, width,
 * filters, depth]; of depthwise ones, "depthwise_kernel" [height, width, depth, depth_multiplier]; a separable one goes
 * on with "pointwise_kernel" [1, 1, depth * depth_multiplier, filters]. In one dimension they lack the height. The depth
 * of x is known; else "layers.shape". */
HR_API hr_node hr_conv1d_with(hr_node x, int64_t filters, int64_t width, const hr_conv_opts *opts);
HR_API hr_node hr_conv2d_with(hr_node x, int64_t filters, int64_t height, int64_t width, const hr_conv_opts *opts);
/* Gives images of size * stride; with HR_VALID of size * stride + max(window - stride, 0). */
HR_API hr_node hr_conv1d_transpose_with(hr_node x, int64_t filters, int64_t width, const hr_conv_opts *opts);
HR_API hr_node hr_conv2d_transpose_with(hr_node x, int64_t filters, int64_t height, int64_t width,
                                        const hr_conv_opts *opts);
HR_API hr_node hr_depthwise_conv1d_with(hr_node x, int64_t width, const hr_conv_opts *opts);
HR_API hr_node hr_depthwise_conv2d_with(hr_node x, int64_t height, int64_t width, const hr_conv_opts *opts);
HR_API hr_node hr_separable_conv1d_with(hr_node x, int64_t filters, int64_t width, const hr_conv_opts *opts);
HR_API hr_node hr_separable_conv2d_with(hr_node x, int64_t filters, int64_t height, int64_t width,
                                        const hr_conv_opts *opts);
#define hr_conv1d(...) HR_MADE_(HR_CALL3_(hr_conv1d_with, hr_conv_opts, __VA_ARGS__, HR_CONV_))
#define hr_conv2d(...) HR_MADE_(HR_CALL4_(hr_conv2d_with, hr_conv_opts, __VA_ARGS__, HR_CONV_))
#define hr_conv1d_transpose(...) HR_MADE_(HR_CALL3_(hr_conv1d_transpose_with, hr_conv_opts, __VA_ARGS__, HR_CONV_))
#define hr_conv2d_transpose(...) HR_MADE_(HR_CALL4_(hr_conv2d_transpose_with, hr_conv_opts, __VA_ARGS__, HR_CONV_))
#define hr_depthwise_conv1d(...) HR_MADE_(HR_CALL2_(hr_depthwise_conv1d_with, hr_conv_opts, __VA_ARGS__, HR_CONV_))
#define hr_depthwise_conv2d(...) HR_MADE_(HR_CALL3_(hr_depthwise_conv2d_with, hr_conv_opts, __VA_ARGS__, HR_CONV_))
#define hr_separable_conv1d(...) HR_MADE_(HR_CALL3_(hr_separable_conv1d_with, hr_conv_opts, __VA_ARGS__, HR_CONV_))
#define hr_separable_conv2d(...) HR_MADE_(HR_CALL4_(hr_separable_conv2d_with, hr_conv_opts, __VA_ARGS__, HR_CONV_))

typedef struct hr_conv3d_opts {
    size_t struct_size;
    const char *name;                                    /* default: that of the layer without hr_ */
    int64_t strides[3], dilations[3];                    /* as in hr_volume_opts (nn.h) */
    hr_padding padding;                                  /* default HR_VALID; no HR_EXPLICIT */
    int64_t groups;                                      /* of hr_conv3d: as in hr_conv_opts */
    hr_activation_fn *activation;                        /* default: none */
    hr_initializer kernel_initializer, bias_initializer; /* default: Glorot's uniform; zeros */
    hr_regularizer kernel_regularizer, bias_regularizer; /* default: none */
    bool no_bias, not_trainable;
    const int64_t *output_padding; /* of hr_conv3d_transpose: three numbers, as in hr_conv_opts */
} hr_conv3d_opts;
/* activation(convolution + bias) of volumes [n, depth, height, width, channels], whose channels are known; else
 * "layers.shape". Variables: "kernel" [depth, height, width, channels / groups, filters], of the transposed layer
 * [depth, height, width, filters, channels], and "bias". Lengths are as those of images. */
HR_API hr_node hr_conv3d_with(hr_node x, int64_t filters, int64_t depth, int64_t height, int64_t width,
                              const hr_conv3d_opts *opts);
HR_API hr_node hr_conv3d_transpose_with(hr_node x, int64_t filters, int64_t depth, int64_t height, int64_t width,
                                        const hr_conv3d_opts *opts);
#define HR_CONV3D_ .struct_size = sizeof(hr_conv3d_opts)
#define hr_conv3d(...) HR_MADE_(HR_CALL5_(hr_conv3d_with, hr_conv3d_opts, __VA_ARGS__, HR_CONV3D_))
#define hr_conv3d_transpose(...) HR_MADE_(HR_CALL5_(hr_conv3d_transpose_with, hr_conv3d_opts, __VA_ARGS__, HR_CONV3D_))

typedef struct hr_global_pool_opts {
    size_t struct_size;
    const char *name;
    bool channels_first, keep_dims; /* keep_dims: dimensions that go stay, with length 1 */
} hr_global_pool_opts;
/* The mean, or the greatest value, of each channel: [n, channels] of x [n, ..., channels], of a known rank of 3 or more;
 * else "layers.shape". Pools with windows: hr_max_pool and its kin (nn.h). */
HR_API hr_node hr_global_avg_pool_with(hr_node x, const hr_global_pool_opts *opts);
HR_API hr_node hr_global_max_pool_with(hr_node x, const hr_global_pool_opts *opts);
#define hr_global_avg_pool(...)                                                                                        \
    HR_MADE_(HR_CALL1_(hr_global_avg_pool_with, hr_global_pool_opts, __VA_ARGS__,                                      \
                       .struct_size = sizeof(hr_global_pool_opts)))
#define hr_global_max_pool(...)                                                                                        \
    HR_MADE_(HR_CALL1_(hr_global_max_pool_with, hr_global_pool_opts, __VA_ARGS__,                                      \
                       .struct_size = sizeof(hr_global_pool_opts)))

/* ---- normalization ---- */

typedef struct hr_batch_normalization_opts {
    size_t struct_size;
    const char *name;                /* default "batch_normalization" */
    bool training;                   /* the batch's own mean and variance; default: their moving averages */
    hr_node is_training;             /* the same as a bool that a run computes; default: .training */
    const int *axis;                 /* of the channels; default -1 */
    const float *momentum, *epsilon; /* default 0.99, 0.001 */
    hr_initializer beta_initializer, gamma_initializer;                  /* default: zeros, ones */
    hr_initializer moving_mean_initializer, moving_variance_initializer; /* default: zeros, ones */
    hr_regularizer beta_regularizer, gamma_regularizer;                  /* default: none */
    bool no_center, no_scale;                                            /* without "beta", without "gamma" */
    bool not_fused; /* default: of rank 4 and 5, with channels first or last, FusedBatchNormV3 */
    bool not_trainable;
    /* Of values in the mean and the variance of a batch, such as 0 for steps that a mask leaves out; broadcast to x.
     * Default: all count alike. Never fused. */
    hr_node weights;
} hr_batch_normalization_opts;
/* (x - mean) / sqrt(variance + epsilon) * gamma + beta for each channel. In training, the nodes that move
 * "moving_mean" and "moving_variance" are in the collection "update_ops": a program runs them with each step, for example
 * by hr_control_dependencies around its optimizer. An eager graph moves them at once. A fused layer moves the variance
 * of a sample, with n - 1, others that of the batch, with n, as TensorFlow does. Of half floats, variables are float.
 * The rank of x and its channels are known; else "layers.shape". */
HR_API hr_node hr_batch_normalization_with(hr_node x, const hr_batch_normalization_opts *opts);
#define hr_batch_normalization(...)                                                                                    \
    HR_MADE_(HR_CALL1_(hr_batch_normalization_with, hr_batch_normalization_opts, __VA_ARGS__,                          \
                       .struct_size = sizeof(hr_batch_normalization_opts)))

typedef struct hr_layer_normalization_opts {
    size_t struct_size;
    const char *name;           /* default "layer_normalization" */
    const int *begin_norm_axis; /* from here to the last axis means are taken; default -1, as in Keras; slim: 1 */
    const float *epsilon;       /* default 0.001, as in Keras; slim: 1e-12 */
    const int
        *begin_params_axis; /* from here on "beta" and "gamma" have dimensions; default: begin_norm_axis; slim: -1 */
    hr_initializer beta_initializer, gamma_initializer; /* default: zeros, ones */
    hr_regularizer beta_regularizer, gamma_regularizer; /* default: none */
    bool no_center, no_scale, not_trainable;
} hr_layer_normalization_opts;
/* (x - mean) / sqrt(variance + epsilon) * gamma + beta, where mean and variance are those of each row. The rank of x and
 * the dimensions that variables have are known; else "layers.shape". */
HR_API hr_node hr_layer_normalization_with(hr_node x, const hr_layer_normalization_opts *opts);
#define hr_layer_normalization(...)                                                                                    \
    HR_MADE_(HR_CALL1_(hr_layer_normalization_with, hr_layer_normalization_opts, __VA_ARGS__,                          \
                       .struct_size = sizeof(hr_layer_normalization_opts)))

typedef struct hr_group_normalization_opts {
    size_t struct_size;
    const char *name;                                   /* default "group_normalization" */
    const int *axis;                                    /* of the channels; default -1 */
    const float *epsilon;                               /* default 0.001 */
    hr_initializer beta_initializer, gamma_initializer; /* default: zeros, ones */
    hr_regularizer beta_regularizer, gamma_regularizer; /* default: none */
    bool no_center, no_scale, not_trainable;
} hr_group_normalization_opts;
/* (x - mean) / sqrt(variance + epsilon) * gamma + beta, where mean and variance are those of each row and each of so many
 * groups of channels that lie side by side; "gamma" and "beta" are [channels]. -1: as many groups as channels (instance
 * normalization). The rank of x is 2 or more, the channels are known and a multiple of the groups, and of the other
 * dimensions at most one is not known; else "layers.shape". */
HR_API hr_node hr_group_normalization_with(hr_node x, int64_t groups, const hr_group_normalization_opts *opts);
#define hr_group_normalization(...)                                                                                    \
    HR_MADE_(HR_CALL2_(hr_group_normalization_with, hr_group_normalization_opts, __VA_ARGS__,                          \
                       .struct_size = sizeof(hr_group_normalization_opts)))

/* ---- recurrent layers: those of tf.keras.layers ---- */

/* How hr_bidirectional puts its two directions together: side by side, or value by value. */
typedef enum hr_merge_mode { HR_MERGE_CONCAT, HR_MERGE_SUM, HR_MERGE_MUL, HR_MERGE_AVE } hr_merge_mode;
typedef struct hr_rnn_opts {
    size_t struct_size;
    const char *name; /* variable scope; default "simple_rnn", "lstm", "gru" or "bidirectional", or "lstm_1", ... */
    hr_node lengths;  /* [n], int32 or int64: steps from there on are masked; default: none are */
    hr_node mask;     /* [n, steps], bool or numbers: steps of 0 are masked; default: none are */
    bool return_sequences; /* the outputs of all steps, [n, steps, units]; default: of the last one, [n, units] */
    bool go_backwards;     /* from the last step to the first; so are the outputs of .return_sequences */
    bool zero_masked;      /* outputs of masked steps are 0; default: those of the step before */
    const hr_node *initial_state;           /* [n, units]: h, of an LSTM h and c; default: zeros */
    hr_node *state;                         /* gives what these are after the last step; default: nothing */
    hr_activation_fn *activation;           /* default: tanh */
    hr_activation_fn *recurrent_activation; /* of gates; default: sigmoid */
    hr_initializer kernel_initializer;      /* default: Glorot's uniform */
    hr_initializer recurrent_initializer;   /* default: orthogonal */
    hr_initializer bias_initializer;        /* default: zeros, of an LSTM's forget gate ones */
    bool no_bias, not_trainable;
    bool no_forget_bias; /* LSTM: its bias begins with zeros everywhere */
    bool
        reset_before; /* GRU: as Keras's reset_after=False, the state is reset before the product; the bias is [3 units] */
    float dropout;    /* of inputs, the same places in all steps; as hr_dropout, which is for training alone */
    int64_t seed;     /* of that; 0: the graph's */
    hr_merge_mode merge; /* of hr_bidirectional */
    /* The cell is the layer's only scope, "lstm_cell", or "lstm_cell_1", ... if taken, or .name: the variables of a cell
     * of tf.keras.layers.RNN and StackedRNNCells in the current scope. Not of hr_bidirectional. */
    bool cell_only;
    hr_regularizer kernel_regularizer, recurrent_regularizer, bias_regularizer; /* default: none */
    float recurrent_dropout; /* of states, the same places in all steps. With it each gate drops places of its own, of
                              * inputs, too */
    /* TensorFlow is to derive the graph. An LSTM is then a BlockLSTM: of a BlockLSTMV2 TensorFlow takes the derivative of
     * gates in another order. */
    bool for_tensorflow;
} hr_rnn_opts;
/* Layers over the steps of x, float [n, steps, width], whose width is known; else "layers.shape". A masked step keeps
 * output and state as they are. Variables: "lstm/lstm_cell/kernel" [width, gates * units], "recurrent_kernel" [units,
 * gates * units], "bias" [gates * units], of a GRU [2, 3 units]; gates are i, f, c, o of an LSTM and z, r, h of a GRU. An
 * LSTM with its own activations is one node, BlockLSTMV2. */
typedef hr_node hr_rnn_fn(hr_node x, int64_t units, const hr_rnn_opts *opts);
HR_API hr_node hr_simple_rnn_with(hr_node x, int64_t units, const hr_rnn_opts *opts);
HR_API hr_node hr_lstm_with(hr_node x, int64_t units, const hr_rnn_opts *opts);
HR_API hr_node hr_gru_with(hr_node x, int64_t units, const hr_rnn_opts *opts);
#define HR_RNN_CALL_(fn, ...)                                                                                          \
    HR_MADE_(HR_CALL2_(fn##_with, hr_rnn_opts, __VA_ARGS__, .struct_size = sizeof(hr_rnn_opts)))
#define hr_simple_rnn(...) HR_RNN_CALL_(hr_simple_rnn, __VA_ARGS__)
#define hr_lstm(...) HR_RNN_CALL_(hr_lstm, __VA_ARGS__)
#define hr_gru(...) HR_RNN_CALL_(hr_gru, __VA_ARGS__)
/* One of these layers (hr_lstm_with) in both directions, merged at each step, as tf.keras.layers.Bidirectional: scopes
 * "bidirectional/forward_lstm" and "bidirectional/backward_lstm". Both states, forward first, are in .initial_state and
 * .state. With .return_sequences, masked steps give 0. */
HR_API hr_node hr_bidirectional_with(hr_rnn_fn *layer, hr_node x, int64_t units, const hr_rnn_opts *opts);
#define hr_bidirectional(...)                                                                                          \
    HR_MADE_(HR_CALL3_(hr_bidirectional_with, hr_rnn_opts, __VA_ARGS__, .struct_size = sizeof(hr_rnn_opts)))

/* The same calls, which tell the line that they are in (graph.h). */
#define hr_regularization_loss(...) HR_MADE_(hr_regularization_loss(__VA_ARGS__))
#define hr_relu_fn(...) HR_MADE_(hr_relu_fn(__VA_ARGS__))
#define hr_relu6_fn(...) HR_MADE_(hr_relu6_fn(__VA_ARGS__))
#define hr_elu_fn(...) HR_MADE_(hr_elu_fn(__VA_ARGS__))
#define hr_selu_fn(...) HR_MADE_(hr_selu_fn(__VA_ARGS__))
#define hr_sigmoid_fn(...) HR_MADE_(hr_sigmoid_fn(__VA_ARGS__))
#define hr_tanh_fn(...) HR_MADE_(hr_tanh_fn(__VA_ARGS__))
#define hr_softplus_fn(...) HR_MADE_(hr_softplus_fn(__VA_ARGS__))
#define hr_softsign_fn(...) HR_MADE_(hr_softsign_fn(__VA_ARGS__))
#define hr_leaky_relu_fn(...) HR_MADE_(hr_leaky_relu_fn(__VA_ARGS__))
#define hr_swish_fn(...) HR_MADE_(hr_swish_fn(__VA_ARGS__))
#define hr_gelu_fn(...) HR_MADE_(hr_gelu_fn(__VA_ARGS__))
#define hr_softmax_fn(...) HR_MADE_(hr_softmax_fn(__VA_ARGS__))
#define hr_log_softmax_fn(...) HR_MADE_(hr_log_softmax_fn(__VA_ARGS__))
#define hr_hard_sigmoid_fn(...) HR_MADE_(hr_hard_sigmoid_fn(__VA_ARGS__))
#define hr_exponential_fn(...) HR_MADE_(hr_exponential_fn(__VA_ARGS__))
#define hr_mish_fn(...) HR_MADE_(hr_mish_fn(__VA_ARGS__))
#define hr_linear_fn(...) HR_MADE_(hr_linear_fn(__VA_ARGS__))

#ifdef __cplusplus
}
#endif
#endif
