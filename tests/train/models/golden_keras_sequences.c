/* Layers of steps, shapes, activations and noise from the config of a case. */
#include "golden_keras.h"

#include <string.h>

static float number(const cJSON *o, const char *key, double otherwise)
{
    const cJSON *json = golden_get(o, key);
    return (float)(json && !cJSON_IsNull(json) ? golden_number_double(json) : otherwise);
}

static hr_shape ints(const cJSON *o, const char *key)
{
    hr_shape shape = {0};
    const cJSON *item;
    cJSON_ArrayForEach(item, golden_get(o, key)) shape.dims[shape.rank++] = golden_number_int64(item);
    return shape;
}

typedef hr_layer *layer_fn(golden_case *c, const char *name, const cJSON *o);
#define LAYER(fn) static hr_layer *fn(golden_case *c, const char *name, const cJSON *o)

LAYER(embedding)
{
    return hr_embedding_layer(golden_int(o, "input_dim", 0), golden_int(o, "output_dim", 0), .name = name,
                              .mask_zero = golden_bool(o, "mask_zero", false),
                              .embeddings_initializer = keras_initializer(c, o, "embeddings_initializer"),
                              .embeddings_regularizer = keras_regularizer(o, "embeddings_regularizer"),
                              .embeddings_constraint = keras_constraint(o, "embeddings_constraint"));
}

LAYER(activation)
{
    (void)c;
    return hr_activation_layer(golden_text(o, "activation", NULL), .name = name);
}
LAYER(masking)
{
    (void)c;
    return hr_masking_layer(.name = name, .mask_value = number(o, "mask_value", 0));
}
LAYER(flatten)
{
    (void)c;
    return hr_flatten_layer(.name = name,
                            .channels_first = strcmp(golden_text(o, "data_format", ""), "channels_first") == 0);
}
LAYER(reshape)
{
    (void)c;
    return hr_reshape_layer(ints(o, "target_shape"), .name = name);
}
LAYER(permute)
{
    (void)c;
    return hr_permute_layer(ints(o, "dims"), .name = name);
}
LAYER(repeat_vector)
{
    (void)c;
    return hr_repeat_vector_layer(golden_int(o, "n", 0), .name = name);
}

LAYER(relu)
{
    (void)c;
    const float max = number(o, "max_value", -1);
    return hr_relu_layer(.name = name, .max_value = max >= 0 ? &max : NULL,
                         .negative_slope = number(o, "negative_slope", 0), .threshold = number(o, "threshold", 0));
}
LAYER(leaky_relu)
{
    (void)c;
    return hr_leaky_relu_layer(.name = name, .alpha = HR_F32(number(o, "alpha", 0.3)));
}
LAYER(elu)
{
    (void)c;
    return hr_elu_layer(.name = name, .alpha = HR_F32(number(o, "alpha", 1)));
}
LAYER(thresholded_relu)
{
    (void)c;
    return hr_thresholded_relu_layer(.name = name, .theta = HR_F32(number(o, "theta", 1)));
}
LAYER(prelu)
{
    return hr_prelu_layer(.name = name, .shared_axes = ints(o, "shared_axes"),
                          .alpha_initializer = keras_initializer(c, o, "alpha_initializer"),
                          .alpha_regularizer = keras_regularizer(o, "alpha_regularizer"),
                          .alpha_constraint = keras_constraint(o, "alpha_constraint"));
}
LAYER(softmax)
{
    (void)c;
    const int axis = (int)golden_int(o, "axis", -1);
    return hr_softmax_layer(.name = name, .axis = &axis);
}

LAYER(spatial_dropout1d)
{
    (void)c;
    return hr_spatial_dropout1d_layer(number(o, "rate", 0), .name = name);
}
LAYER(spatial_dropout2d)
{
    (void)c;
    return hr_spatial_dropout2d_layer(number(o, "rate", 0), .name = name);
}
LAYER(spatial_dropout3d)
{
    (void)c;
    return hr_spatial_dropout3d_layer(number(o, "rate", 0), .name = name);
}
LAYER(gaussian_noise)
{
    (void)c;
    return hr_gaussian_noise_layer(number(o, "stddev", 0), .name = name);
}
LAYER(gaussian_dropout)
{
    (void)c;
    return hr_gaussian_dropout_layer(number(o, "rate", 0), .name = name);
}
LAYER(alpha_dropout)
{
    (void)c;
    return hr_alpha_dropout_layer(number(o, "rate", 0), .name = name);
}
LAYER(activity_regularization)
{
    (void)c;
    return hr_activity_regularization_layer(number(o, "l1", 0), number(o, "l2", 0), .name = name);
}

static hr_layer *recurrent(golden_case *c, const char *name, const cJSON *o,
                           hr_layer *(*make)(int64_t units, const hr_recurrent_layer_opts *opts))
{
    const hr_recurrent_layer_opts r = {.struct_size = sizeof r,
                                       .name = name,
                                       .activation = golden_text(o, "activation", NULL),
                                       .recurrent_activation = golden_text(o, "recurrent_activation", NULL),
                                       .no_bias = !golden_bool(o, "use_bias", true),
                                       .no_forget_bias = !golden_bool(o, "unit_forget_bias", true),
                                       .reset_before = !golden_bool(o, "reset_after", true),
                                       .return_sequences = golden_bool(o, "return_sequences", false),
                                       .return_state = golden_bool(o, "return_state", false),
                                       .go_backwards = golden_bool(o, "go_backwards", false),
                                       .stateful = golden_bool(o, "stateful", false),
                                       .kernel_initializer = keras_initializer(c, o, "kernel_initializer"),
                                       .recurrent_initializer = keras_initializer(c, o, "recurrent_initializer"),
                                       .bias_initializer = keras_initializer(c, o, "bias_initializer"),
                                       .kernel_regularizer = keras_regularizer(o, "kernel_regularizer"),
                                       .recurrent_regularizer = keras_regularizer(o, "recurrent_regularizer"),
                                       .bias_regularizer = keras_regularizer(o, "bias_regularizer"),
                                       .kernel_constraint = keras_constraint(o, "kernel_constraint"),
                                       .recurrent_constraint = keras_constraint(o, "recurrent_constraint"),
                                       .bias_constraint = keras_constraint(o, "bias_constraint"),
                                       .activity_regularizer = keras_regularizer(o, "activity_regularizer")};
    return make(golden_int(o, "units", 0), &r);
}
LAYER(simple_rnn) { return recurrent(c, name, o, hr_simple_rnn_layer_with); }
LAYER(lstm) { return recurrent(c, name, o, hr_lstm_layer_with); }
LAYER(gru) { return recurrent(c, name, o, hr_gru_layer_with); }

LAYER(bidirectional)
{
    static const char *const modes[] = {"concat", "sum", "mul", "ave"};
    const cJSON *json = golden_get(o, "merge_mode");
    hr_layer *layer = keras_layer(c, golden_get(o, "layer"));
    int mode = 0;
    while (json && mode < 4 && !(cJSON_IsString(json) && strcmp(json->valuestring, modes[mode]) == 0)) mode++;
    return layer
               ? hr_bidirectional_layer(layer, .name = name, .merge = (hr_merge_mode)(mode % 4), .no_merge = mode == 4)
               : NULL;
}
LAYER(time_distributed)
{
    hr_layer *layer = keras_layer(c, golden_get(o, "layer"));
    return layer ? hr_time_distributed_layer(layer, .name = name) : NULL;
}

static const struct {
    const char *class;
    layer_fn *make;
} classes[] = {
    {"Activation", activation},
    {"ActivityRegularization", activity_regularization},
    {"AlphaDropout", alpha_dropout},
    {"Bidirectional", bidirectional},
    {"ELU", elu},
    {"Embedding", embedding},
    {"Flatten", flatten},
    {"GaussianDropout", gaussian_dropout},
    {"GaussianNoise", gaussian_noise},
    {"GRU", gru},
    {"LSTM", lstm},
    {"LeakyReLU", leaky_relu},
    {"Masking", masking},
    {"PReLU", prelu},
    {"Permute", permute},
    {"ReLU", relu},
    {"RepeatVector", repeat_vector},
    {"Reshape", reshape},
    {"SimpleRNN", simple_rnn},
    {"Softmax", softmax},
    {"SpatialDropout1D", spatial_dropout1d},
    {"SpatialDropout2D", spatial_dropout2d},
    {"SpatialDropout3D", spatial_dropout3d},
    {"TimeDistributed", time_distributed},
    {"ThresholdedReLU", thresholded_relu},
};

hr_layer *keras_sequence_layer(golden_case *c, const char *class, const char *name, const cJSON *config)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strcmp(classes[i].class, class) == 0) return classes[i].make(c, name, config);
    return NULL;
}
