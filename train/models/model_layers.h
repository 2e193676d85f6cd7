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

#ifdef __cplusplus
}
#endif
#endif
