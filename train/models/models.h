/* Headrace, models: layers put together, trained by one call. Keras's models, with its names and arithmetic.
 *
 *     hr_model *m = hr_sequential(HR_LAYERS(hr_dense_layer(128, .activation = "relu"), hr_dropout_layer(0.2f),
 *                                           hr_dense_layer(10)), .input_shape = HR_SHAPE(784));
 *     hr_compile(m, .optimizer = hr_adam(0.001f), .loss = "sparse_categorical_crossentropy",
 *                .from_logits = true, .metrics = HR_STRINGS("accuracy"));
 *     const hr_history *h = hr_fit(m, rows, .epochs = 5, .validation_data = test,
 *                                  .callbacks = HR_CALLBACKS(hr_early_stopping("val_loss", .patience = 2)));
 *     if (!h) fprintf(stderr, "%s\n", hr_model_error(m)->text);
 *     hr_model_free(m);
 *
 * A model is a graph, a session, variables, an optimizer, losses and metrics as everybody makes them; there is no second
 * engine. Errors stick: a layer or a model that failed passes through later calls, and the first error comes out where
 * results are asked for: NULL or a failure, and hr_model_error says why. A failure of data or arguments in a call
 * (hr_fit, hr_evaluate, ...) is forgotten by the next one; one of the model itself is not. A model belongs to one thread
 * at a time, except for hr_model_stop and hr_model_interrupt. */
#ifndef HR_MODELS_H
#define HR_MODELS_H

#include <headrace/callbacks.h>
#include <headrace/data.h>
#include <headrace/layer.h>
#include <headrace/model_layers.h>
#include <headrace/optimizers.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Lists for arguments. What they name is taken as each call says. */
typedef struct hr_string_list {
    const char *const *text;
    int count;
} hr_string_list;
#define HR_STRINGS(...)                                                                                                \
    ((hr_string_list){(const char *const[]){__VA_ARGS__},                                                              \
                      (int)(sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))})
typedef struct hr_callback_list {
    hr_callback *const *callback;
    int count;
} hr_callback_list;
#define HR_CALLBACKS(...)                                                                                              \
    ((hr_callback_list){(hr_callback *const[]){__VA_ARGS__},                                                           \
                        (int)(sizeof((hr_callback *const[]){__VA_ARGS__}) / sizeof(void *))})

/* ---- a model of layers in a row ---- */

typedef struct hr_sequential_opts {
    size_t struct_size;
    const char *name; /* default "sequential". Copied */
    /* Of a row of the input, without the batch; -1 where it varies. Default (and HR_SCALAR): known with the first
     * batch, or by hr_model_build. */
    hr_shape input_shape;
    hr_dtype input_dtype; /* default float */
    int64_t batch_size;   /* the number of rows of every batch, which stateful layers need; default: any */
    int64_t seed;         /* of initial weights, dropout and the order of rows; default: drawn */
} hr_sequential_opts;
/* Gives a model. Takes the layers. */
HR_API hr_model *hr_sequential_with(hr_layer_list layers, const hr_sequential_opts *opts);
/* HR_LAYERS(...) has commas, which is why the whole argument list is passed on. */
#define hr_sequential(...)                                                                                             \
    HR_CALL1_(hr_sequential_with, hr_sequential_opts, __VA_ARGS__, .struct_size = sizeof(hr_sequential_opts))

/* ---- a model of any layers: several inputs and outputs, shared layers ----
 *
 *     hr_model *m = hr_model_new(.name = "prices");
 *     hr_symbol size = hr_model_input(m, HR_SHAPE(3), .name = "size");
 *     hr_symbol words = hr_model_input(m, HR_SHAPE(20), .name = "words", .dtype = HR_INT32);
 *     hr_symbol mean = hr_connect(hr_global_average_pooling1d_layer(), hr_connect(hr_embedding_layer(1000, 16), words));
 *     hr_symbol all = hr_connect(hr_concatenate_layer(), size, mean);
 *     hr_model_outputs(m, hr_connect(hr_dense_layer(1, .name = "price"), all),
 *                      hr_connect(hr_dense_layer(3, .activation = "softmax", .name = "class"), all));
 */

/* A value within a model: small, and copied freely. It lives as long as its model. */
typedef struct hr_symbol {
    hr_model *model;
    int32_t value; /* from 0 in order of creation; -1: it failed */
    int32_t first; /* the first output of the same call */
} hr_symbol;

typedef struct hr_model_opts {
    size_t struct_size;
    const char *name; /* default "model". Copied */
    int64_t seed;     /* of initial weights, dropout and the order of rows; default: drawn */
} hr_model_opts;
HR_API hr_model *hr_model_new_with(const hr_model_opts *opts); /* gives; NULL: no memory */
#define hr_model_new(...) HR_CALL0_(hr_model_new_with, hr_model_opts, .struct_size = sizeof(hr_model_opts), __VA_ARGS__)
HR_API void hr_model_free(hr_model *m); /* NULL: nothing */

typedef struct hr_model_input_opts {
    size_t struct_size;
    const char *name;   /* default "input_1", "input_2", ... Copied */
    hr_dtype dtype;     /* default float */
    int64_t batch_size; /* as in hr_sequential */
} hr_model_input_opts;
/* An input. `shape` is that of a row, without the batch; of one number, HR_SCALAR. */
HR_API hr_symbol hr_model_input_with(hr_model *m, hr_shape shape, const hr_model_input_opts *opts);
#define hr_model_input(...)                                                                                            \
    HR_CALL2_(hr_model_input_with, hr_model_input_opts, __VA_ARGS__, .struct_size = sizeof(hr_model_input_opts))
/* What a layer makes of these. The first call takes the layer; in further ones it is shared, with its weights. A layer
 * belongs to one model: another one refuses it, "models.shared". */
HR_API hr_symbol hr_connect_all(hr_layer *layer, const hr_symbol *inputs, int count);
#define hr_connect(layer, ...)                                                                                         \
    hr_connect_all((layer), (const hr_symbol[]){__VA_ARGS__},                                                          \
                   (int)(sizeof((const hr_symbol[]){__VA_ARGS__}) / sizeof(hr_symbol)))
/* Another output of the same call: of a recurrent layer with .return_state its states, from 1 on. */
HR_API hr_symbol hr_symbol_output(hr_symbol s, int i);
HR_API hr_shape hr_symbol_shape(hr_symbol s); /* with the batch, which is -1 */
/* Ends the construction. Labels and losses follow the order of the outputs, or name the layers that make them. */
HR_API hr_status hr_model_outputs_of(hr_model *m, const hr_symbol *outputs, int count);
#define hr_model_outputs(m, ...)                                                                                       \
    hr_model_outputs_of((m), (const hr_symbol[]){__VA_ARGS__},                                                         \
                        (int)(sizeof((const hr_symbol[]){__VA_ARGS__}) / sizeof(hr_symbol)))
/* A model from some values of `of` to others, with the same layers and weights, which both then train: such as the
 * encoder of an autoencoder. Gives; it shares what it needs, so either may be freed first. Values that the inputs do not
 * determine are refused, "models.disconnected". */
HR_API hr_model *hr_submodel(hr_model *of, const hr_symbol *inputs, int input_count, const hr_symbol *outputs,
                             int output_count);
/* What a layer of a model makes, Keras's layer.output; the inputs and outputs of a model, by number: values for hr_submodel,
 * and for hr_connect, which adds layers that the model itself does not get. The layer was called once, and the model is
 * built; else "models.layer", "models.not_built". */
HR_API hr_symbol hr_layer_output(hr_model *m, const hr_layer *layer);
HR_API hr_symbol hr_model_input_symbol(hr_model *m, int i);
HR_API hr_symbol hr_model_output_symbol(hr_model *m, int i);
/* A model as a layer of another one. Takes the model, with the weights that it has. NULL name: the model's. */
HR_API hr_layer *hr_model_layer(hr_model *inner, const char *name);

/* ---- looking at a model ---- */

HR_API const hr_error *hr_model_error(const hr_model *m); /* of the last call, or of the model; NULL: none. Borrows */
HR_API const char *hr_model_name(const hr_model *m);      /* "sequential", or what it was given */
/* Makes the weights for rows of this shape, or for those of hr_sequential's .input_shape (rank -1). Done by the first
 * batch otherwise. */
HR_API hr_status hr_model_build(hr_model *m, hr_shape input_shape);
/* Its layers in Keras's order, inputs among them, and one by its name, or NULL, "models.layer". Borrow from the model. */
HR_API int hr_model_layers(const hr_model *m);
HR_API hr_layer *hr_model_layer_at(const hr_model *m, int i);
HR_API hr_layer *hr_get_layer(hr_model *m, const char *name);
/* Optimizers leave its weights alone, and those of layers within it; or not any more. Counts from the next hr_compile on. */
HR_API void hr_layer_freeze(hr_layer *layer, bool frozen);
/* Of the first call of a layer: what shape its input and its output have, with the batch; rank -1: it was not called. */
HR_API hr_shape hr_layer_output_shape(const hr_layer *layer);

typedef struct hr_summary_text_opts {
    size_t struct_size;
    int64_t line_length; /* default 65, or 98 where layers branch */
    const double *positions;
    bool show_trainable, expand_nested;
} hr_summary_text_opts;
/* A table of layers, shapes and weights, as model.summary() prints it. Gives (hr_free); NULL: not built yet, or no memory. */
HR_API char *hr_model_summary_with(hr_model *m, const hr_summary_text_opts *opts);
#define hr_model_summary(...)                                                                                          \
    HR_CALL1_(hr_model_summary_with, hr_summary_text_opts, __VA_ARGS__, .struct_size = sizeof(hr_summary_text_opts))

/* What is known of a weight. Borrows from the model. */
typedef struct hr_weight_info {
    const char *name; /* as in Keras, without ":0": "dense/kernel" */
    hr_dtype dtype;
    hr_shape shape;
    bool trainable; /* and its layer is not frozen */
    const hr_layer *layer;
} hr_weight_info;
/* The weights in the order of get_weights: layer by layer, those that are trained first. */
HR_API int hr_model_weights(hr_model *m);
HR_API hr_weight_info hr_model_weight(hr_model *m, int i);
/* Reads one (gives, hr_tensor_clear), and sets all of them, in this order. Shapes must agree, "models.weights". */
HR_API hr_status hr_get_weight(hr_model *m, int i, hr_tensor *out, hr_error *err);
HR_API hr_status hr_set_weights(hr_model *m, const hr_tensor *weights, int count, hr_error *err);

/* ---- compile ---- */

/* A loss of one's own: of labels and predictions one number for each row, [n] or [n, steps]. */
typedef hr_node hr_loss_fn(hr_node labels, hr_node predictions, void *user);
/* What an output is trained for. */
typedef struct hr_output_loss {
    const char *output;         /* the layer that makes it; NULL: in the order of the outputs */
    const char *loss;           /* by its name (hr_keras_loss); NULL and no fn: this output is not trained */
    hr_keras_loss_opts options; /* of the loss; .weights and .name do not count */
    hr_loss_fn *fn;             /* one's own instead */
    void *user;
    const float *weight; /* loss_weights: its part of the whole; default 1 */
} hr_output_loss;
typedef struct hr_loss_list {
    const hr_output_loss *loss;
    int count;
} hr_loss_list;
#define HR_LOSSES(...)                                                                                                 \
    ((hr_loss_list){(const hr_output_loss[]){__VA_ARGS__},                                                             \
                    (int)(sizeof((const hr_output_loss[]){__VA_ARGS__}) / sizeof(hr_output_loss))})
/* A metric of one output. */
typedef struct hr_output_metric {
    const char *output; /* NULL: of every output that has a loss */
    const char *metric; /* by its name (hr_metric_named), or "accuracy", "crossentropy", which ask the loss */
    const char *key;    /* in logs; default: as Keras makes it of the name */
    hr_metric_opts options;
    double at;        /* of those at a value of another rate, such as "precision_at_recall": that value */
    hr_metric_fn *fn; /* one's own instead, with a key */
    bool weighted;    /* sample and class weights count */
} hr_output_metric;
typedef struct hr_metric_list {
    const hr_output_metric *metric;
    int count;
} hr_metric_list;
#define HR_METRICS(...)                                                                                                \
    ((hr_metric_list){(const hr_output_metric[]){__VA_ARGS__},                                                         \
                      (int)(sizeof((const hr_output_metric[]){__VA_ARGS__}) / sizeof(hr_output_metric))})

/* A learning rate as a function of the step, which is an int64 scalar, from 0: a float scalar, such as that of
 * hr_exponential_decay (optimizers.h). Called once for each graph. */
typedef hr_node hr_schedule_fn(hr_node step, void *user);

typedef struct hr_compile_opts {
    size_t struct_size;
    hr_optimizer *optimizer;    /* default: RMSprop. Taken */
    const char *optimizer_name; /* or by name, with Keras's defaults: "adam", "rmsprop" */
    hr_schedule_fn *schedule;   /* the learning rate in place of the optimizer's number */
    void *schedule_user;
    const char *loss;    /* of every output, by name; a class's name or a function's, as hr_keras_loss */
    bool from_logits;    /* of that loss */
    hr_loss_list losses; /* of each output instead; copied */
    hr_string_list metrics, weighted_metrics; /* of every output, by name */
    hr_metric_list metric_list;               /* after these: with options, of one output */
    /* Does as Keras does, also where it is wrong: class weights and sample weights together are refused; labels [n, 1]
     * are compared with outputs [n, 3] under mse. Default: both are multiplied; such labels are warned of. */
    bool tf_compat;
} hr_compile_opts;
/* Says how the model is trained and measured. Weights stay; the optimizer starts anew. Names of losses and metrics are
 * checked at once: "models.loss", "models.metric". */
HR_API hr_status hr_compile_with(hr_model *m, const hr_compile_opts *opts);
#define hr_compile(...) HR_CALL1_(hr_compile_with, hr_compile_opts, __VA_ARGS__, .struct_size = sizeof(hr_compile_opts))

/* ---- data ----
 *
 * A dataset gives inputs, labels and weights of rows. Its components are found by their names:
 *
 *     "0" or "0/NAME", "1" or "1/NAME", "2" or "2/NAME"   inputs, labels, sample weights, as of hr_zip, or of
 *                                     hr_from_tensor_slices(tensors, NULL, 2); NAME is an input's or an
 *                                     output's, or a number in their order
 *     any other name                  labels are the components that the dataset says are labels; if it says none,
 *                                     those with the names of outputs. The others are inputs, by the names of the
 *                                     model's inputs, or the only one; .sample_weight names the weights
 *
 * Rows [n] become [n, 1], and the other way round, as the model's input wants them; numbers are cast to its type. A
 * dataset of single rows is permuted, batched and split by hr_fit, as Keras does with arrays; one of batches is taken as
 * it is. Single rows whose number is not known beforehand (hr_cardinality) keep their order, which the log says: shuffle
 * them by hr_shuffle. Data of an unknown number, and those of validations, begin anew each time, by one seed: that of
 * epoch e, from 0, draw as number e + 1 of hr_iterate's .epoch, so hr_shuffle gives them in another order, and they are
 * those that hr_repeat gives. Data that give nothing but in the first epoch end the training, with a warning. Data
 * without an end need a number of steps, "models.endless". */

/* The weight of the rows of a class. Classes are 0, 1, ... without gaps: HR_CLASS_WEIGHTS({0, 1}, {1, 2.5f}). */
typedef struct hr_class_weight {
    int64_t label;
    float weight;
} hr_class_weight;
typedef struct hr_class_weight_list {
    const hr_class_weight *weight;
    int count;
} hr_class_weight_list;
#define HR_CLASS_WEIGHTS(...)                                                                                          \
    ((hr_class_weight_list){(const hr_class_weight[]){__VA_ARGS__},                                                    \
                            (int)(sizeof((const hr_class_weight[]){__VA_ARGS__}) / sizeof(hr_class_weight))})

/* ---- fit ---- */

/* What a training has seen: numbers by epoch. Borrows from the model, until its next hr_fit. */
typedef struct hr_history {
    int epochs;           /* that were run, */
    const int64_t *epoch; /* and their numbers */
    int keys;             /* "loss", "accuracy", "val_loss", ... in Keras's order */
    const char *const *key;
    const double *const *values; /* of each key; */
    const int *counts;           /* those of val_ keys may be fewer */
    bool interrupted;            /* by hr_model_stop or hr_model_interrupt */
} hr_history;
/* The values of a key, *count of them; NULL: there is none. */
HR_API const double *hr_history_of(const hr_history *h, const char *key, int *count);
HR_API double hr_history_last(const hr_history *h, const char *key); /* NaN: there is none */

typedef struct hr_fit_opts {
    size_t struct_size;
    int64_t batch_size;          /* of a dataset of single rows; default 32 */
    int64_t epochs;              /* the number of the epoch to end before; default 1 */
    int64_t initial_epoch;       /* the first one's number */
    hr_callback_list callbacks;  /* taken */
    double validation_split;     /* the last so many of the rows are for validation; of single rows in memory */
    hr_dataset *validation_data; /* taken; counts before .validation_split */
    bool no_shuffle;             /* default: single rows are in a new order in every epoch */
    uint64_t seed;               /* of that order; default: the pipeline's */
    hr_class_weight_list class_weight;
    const char *sample_weight; /* the component with weights, of data with names of its own */
    /* Default: until the data ends. With it, data go on from epoch to epoch: single rows are repeated, batches are not
     * but where the epoch is all of them. Data that end too early end the training, with a warning. */
    int64_t steps_per_epoch;
    int64_t validation_steps, validation_batch_size; /* default: all; .batch_size */
    int64_t validation_freq;                         /* every so many epochs; default 1 */
    const int64_t *validation_epochs;                /* or after these, counted from 1, */
    int validation_epoch_count;
} hr_fit_opts;
/* Trains. Takes `data`. Gives what it has seen, or NULL. */
HR_API const hr_history *hr_fit_with(hr_model *m, hr_dataset *data, const hr_fit_opts *opts);
#define hr_fit(...) HR_CALL2_(hr_fit_with, hr_fit_opts, __VA_ARGS__, .struct_size = sizeof(hr_fit_opts))
/* The training ends after the batch that is under way: its epoch is closed as usual, with validation, and hr_fit gives
 * what it has seen. What Keras calls stop_training. From any thread, from a signal handler, or from a callback. */
HR_API void hr_model_stop(hr_model *m);
/* The same, but the training is to go on some other time (hr_backup_and_restore): the epoch that is under way is not
 * closed, so it has neither validation nor an epoch_end, and the history lacks it. What Ctrl-C does in Keras. */
HR_API void hr_model_interrupt(hr_model *m);

/* ---- evaluate, predict ---- */

typedef struct hr_model_evaluate_opts {
    size_t struct_size;
    int64_t batch_size; /* of a dataset of single rows; default 32 */
    int64_t steps;      /* default: until the data ends */
    const char *sample_weight;
    hr_callback_list callbacks; /* taken */
} hr_model_evaluate_opts;
/* Loss and metrics over a dataset (taken). Borrows from the model until its next call; NULL: a failure. */
HR_API const hr_logs *hr_model_evaluate_with(hr_model *m, hr_dataset *data, const hr_model_evaluate_opts *opts);
#define hr_model_evaluate(...)                                                                                         \
    HR_CALL2_(hr_model_evaluate_with, hr_model_evaluate_opts, __VA_ARGS__,                                             \
              .struct_size = sizeof(hr_model_evaluate_opts))

typedef struct hr_model_predict_opts {
    size_t struct_size;
    int64_t batch_size, steps;
    hr_callback_list callbacks; /* taken */
} hr_model_predict_opts;
/* The outputs for all rows of a dataset (taken): one tensor for each output of the model in `out` (gives,
 * hr_tensor_clear). Labels and weights in the data are ignored. It needs no hr_compile. */
HR_API hr_status hr_model_predict_with(hr_model *m, hr_dataset *data, hr_tensor *out,
                                       const hr_model_predict_opts *opts);
#define hr_model_predict(...)                                                                                          \
    HR_CALL3_(hr_model_predict_with, hr_model_predict_opts, __VA_ARGS__, .struct_size = sizeof(hr_model_predict_opts))

/* ---- one batch ---- */

typedef struct hr_on_batch_opts {
    size_t struct_size;
    hr_class_weight_list class_weight;
    bool keep_metrics; /* metrics go on from the batch before. Default: of this batch alone */
} hr_on_batch_opts;
/* A step on one batch, and the metrics of one. `tensors` are called as components of data: names NULL for "0", "1", ... */
HR_API const hr_logs *hr_train_on_batch_with(hr_model *m, const hr_tensor *tensors, const char *const *names, int count,
                                             const hr_on_batch_opts *opts);
HR_API const hr_logs *hr_test_on_batch_with(hr_model *m, const hr_tensor *tensors, const char *const *names, int count,
                                            const hr_on_batch_opts *opts);
#define hr_train_on_batch(...)                                                                                         \
    HR_CALL4_(hr_train_on_batch_with, hr_on_batch_opts, __VA_ARGS__, .struct_size = sizeof(hr_on_batch_opts))
#define hr_test_on_batch(...)                                                                                          \
    HR_CALL4_(hr_test_on_batch_with, hr_on_batch_opts, __VA_ARGS__, .struct_size = sizeof(hr_on_batch_opts))
/* The outputs for one batch of inputs. */
HR_API hr_status hr_predict_on_batch(hr_model *m, const hr_tensor *tensors, const char *const *names, int count,
                                     hr_tensor *out);
/* The states that stateful layers keep between batches become 0. */
HR_API hr_status hr_reset_states(hr_model *m);

/* ---- what the optimizer knows ---- */

/* That of the next step; under a schedule that of the last one, as in Keras. */
HR_API hr_status hr_model_learning_rate(hr_model *m, double *rate);
HR_API hr_status hr_model_set_learning_rate(hr_model *m, double rate);  /* refused under a schedule, "models.rate" */
HR_API hr_status hr_model_iterations(hr_model *m, int64_t *iterations); /* steps since hr_compile */
/* The variables that the optimizer has, from its first step on: how many, and each by number. Lends *name, such as
 * "Adam/m/dense/kernel", and gives *out. */
HR_API int hr_model_optimizer_variables(hr_model *m);
HR_API hr_status hr_model_optimizer_variable(hr_model *m, int i, const char **name, hr_tensor *out);

/* ---- files ---- */

/* Weights, and the optimizer's state from its first step on, in TensorFlow's checkpoint format with Keras's keys and
 * graph of objects: PATH.index and PATH.data-00000-of-00001, and the file `checkpoint` of the folder, which is made. Keras
 * loads them by model.load_weights(PATH), and the other way round. A file of that name is replaced as a whole: the data of
 * every other one are in PATH.data-00001-of-00002, so that a kill leaves the old file or the new one. */
HR_API hr_status hr_save_weights(hr_model *m, const char *path, hr_error *err);
typedef struct hr_load_weights_opts {
    size_t struct_size;
    bool expect_partial; /* weights that the file does not have stay as they are */
} hr_load_weights_opts;
/* Layers are found by their place in the model, whatever they are called. A file that lacks weights of the model,
 * "models.file_weights", or has others of another shape, "models.file_shapes", is refused before anything is changed. PATH
 * may be a folder: its latest checkpoint, or a SavedModel, of Keras or of hr_save_model. The optimizer goes on with the
 * state in the file, if the model is compiled with one of the same kind; else this is left out, with a warning. hr_compile
 * after it begins anew. */
HR_API hr_status hr_load_weights_with(hr_model *m, const char *path, hr_error *err, const hr_load_weights_opts *opts);
#define hr_load_weights(...)                                                                                           \
    HR_CALL3_(hr_load_weights_with, hr_load_weights_opts, __VA_ARGS__, .struct_size = sizeof(hr_load_weights_opts))

/* Writes a SavedModel in Keras's form. TensorFlow, TensorFlow Serving and `headrace serve` run its signature
 * "serving_default", which has the names of the model's inputs and outputs. It has the weights, the states of layers, and
 * from the first step on those of the optimizer and the metrics, by which hr_load_weights and Keras's load_weights go on;
 * tf.keras.models.load_model makes layers of it, whose arguments it does not know. A folder that is not empty is refused,
 * "savedmodel.exists"; it is written whole or not at all. */
HR_API hr_status hr_save_model(hr_model *m, const char *folder, hr_error *err);

/* ---- below ---- */

/* The graph of predictions, its placeholders and results, and the session with the weights: for what models do not do.
 * Borrow from the model. */
HR_API hr_graph *hr_model_graph(hr_model *m);
HR_API hr_session *hr_model_session(hr_model *m);
HR_API int hr_model_inputs(const hr_model *m);
HR_API int hr_model_output_count(const hr_model *m);
HR_API hr_node hr_model_input_node(hr_model *m, int i);
HR_API hr_node hr_model_output_node(hr_model *m, int i);
HR_API const char *hr_model_input_name(const hr_model *m, int i);
HR_API const char *hr_model_output_name(const hr_model *m, int i);

#ifdef __cplusplus
}
#endif
#endif
