/* What files of this room share. Not a public header. */
#ifndef HR_MODELS_INTERNAL_H
#define HR_MODELS_INTERNAL_H

#include "base/hash_map.h"
#include "train/graph/graph_op.h"
#include "train/models/models.h"

#include <signal.h>

/* An array that grows: NAME##_add makes place for one more at the end, zeroed, or gives NULL. */
#define HR__LIST(TYPE)                                                                                                 \
    struct {                                                                                                           \
        TYPE *at;                                                                                                      \
        int count, capacity;                                                                                           \
    }
void *hr__list_add(void *list, size_t size);
#define HR__LIST_ADD(list) hr__list_add((list), sizeof *(list)->at)

/* ---- layers (layer.c) ---- */

/* A variable of a layer. */
typedef struct hr__layer_variable {
    char *name;     /* in graphs */
    char *title;    /* as in Keras: without the models around its own */
    char *path;     /* in files, within the layer: "kernel", "cell/bias" */
    bool trainable; /* but for a frozen layer */
    bool state;     /* no weight: kept from batch to batch */
    hr_constraint constraint;
    const struct hr_layer *maker; /* the layer, or one within it */
} hr__layer_variable;

struct hr_layer {
    const hr_layer_kind *kind;
    hr_layer_kind own_kind;
    void *config;
    char *name; /* NULL: the model gives one */
    bool frozen;
    hr_regularizer activity;
    hr_error error;                         /* code HR_OK: none */
    struct hr__body *body;                  /* the model that it belongs to; NULL: not yet */
    int index;                              /* within it */
    char *scope;                            /* of its variables in the body's graphs */
    HR__LIST(hr__layer_variable) variables; /* in the order in which the first call made them */
    bool called;
    hr_shape output_shape;
    bool frozen_now;                   /* as it was at hr_compile */
    HR__LIST(struct hr_layer *) inner; /* layers within it, which it owns */
    bool wrapped;                      /* is within another one */
    bool input;                        /* stands for an input of the model */
    hr_model *model;                   /* that is within it, or within its inner layer; NULL: none */
};

void hr__layer_free(hr_layer *layer); /* NULL: nothing */

/* ---- the body of a model: its layers, what they were called with, its weights (body.c) ---- */

typedef struct hr__call {
    hr_layer *layer;
    int inputs, *input; /* numbers of values */
    int first, outputs; /* its values */
} hr__call;

typedef struct hr__value {
    int call;
    hr_node node, mask; /* in the graph of predictions */
} hr__value;

/* Shared by a model and its submodels. */
typedef struct hr__body {
    int refs;
    hr_error error;
    int64_t seed;
    HR__LIST(hr_layer *) layers; /* in the order in which they were first called */
    HR__LIST(hr__call) calls;
    HR__LIST(hr__value) values;
    hr__map names;       /* of layers, and how often a kind's name was used: "dense/" */
    hr_graph *graph;     /* of predictions */
    hr_session *session; /* has the weights; made when it is first needed */
    int initialized;     /* variables of the graph that have their initial values */
    bool exporting;      /* calls are made in a graph for TensorFlow */
} hr__body;

/* The name of a class in snake case, as Keras makes it; of at most size - 1 bytes. */
void hr__snake_case(const char *class, char *out, size_t size);
hr__body *hr__body_new(int64_t seed);
void hr__body_unref(hr__body *b);
/* Gives the layer a name, if it has none, and a place. Another model's is refused. */
hr_status hr__body_take(hr__body *b, hr_layer *layer);
/* Calls a layer in the graph of predictions and remembers it; gives the number of its first value, or -1. */
int hr__body_call(hr__body *b, hr_layer *layer, const int *inputs, int count);
/* The session; every variable of the graph has a value. */
hr_status hr__body_session(hr__body *b, hr_error *err);

/* A value in some graph: a node and its mask. */
typedef struct hr__at {
    hr_node node, mask;
} hr__at;
/* Calls a layer in any graph of the body. `out` has HR_MAX_LAYER_OUTPUTS places; gives how many are filled, or -1: the
 * graph failed. */
int hr__layer_place(hr_layer *layer, hr_graph *g, const hr__at *inputs, int count, bool training, hr__at *out);
/* All calls that lead from `inputs` to `outputs` again, in another graph: the nodes of `at` for the inputs are given,
 * those for all values that are needed are filled in. */
hr_status hr__body_replay(hr__body *b, hr_graph *g, const int *outputs, int count, bool training, hr__at *at,
                          hr_error *err);
/* Marks the calls that `outputs` need, up to `inputs`. HR_INVALID_ARGUMENT, "models.disconnected". */
hr_status hr__body_needed(hr__body *b, const int *inputs, int input_count, const int *outputs, int output_count,
                          bool *call, hr_error *err);

/* ---- models ---- */

typedef struct hr__function hr__function;
typedef struct hr__history hr__history;
void hr__history_free(hr__history *h); /* NULL: nothing */

/* The loss of an output, with what its options point to. */
typedef struct hr__loss {
    hr_output_loss o; /* neither a name nor a function: the output is not trained */
    int axis;
    float delta, alpha, gamma, weight;
    int64_t ignore_class;
} hr__loss;

/* A metric of an output, with what its options point to. */
typedef struct hr__metric {
    hr_output_metric o;
    int output;
    float threshold, *thresholds;
    int64_t class_id;
    char *key; /* with the output's name if there are several */
} hr__metric;

/* A value of an optimizer out of a file, which waits until the training has its graph. */
typedef struct hr__kept {
    char *path;  /* as in Keras's files: "optimizer/_variables/1" */
    char *title; /* the name of the variable in the file */
    hr_tensor value;
} hr__kept;
typedef HR__LIST(hr__kept) hr__kept_list;
void hr__kept_clear(hr__kept_list *kept);

/* What hr_compile was told, copied. */
typedef struct hr__compiled {
    hr_optimizer *optimizer;
    hr_schedule_fn *schedule;
    void *schedule_user;
    /* As they were told; for each output they are found when the model is built. */
    HR__LIST(hr__loss *) given_losses;
    HR__LIST(hr__metric *) given_metrics;
    bool one_loss;                  /* the first one is every output's */
    HR__LIST(hr__loss *) losses;    /* of each output; NULL: it is not trained. Borrow from those above */
    HR__LIST(hr__metric *) metrics; /* in the order of the logs; owned */
    bool resolved;
    bool tf_compat;
    bool begun;          /* the optimizer's variables have their initial values */
    bool new_rate_given; /* hr_model_set_learning_rate before the first step */
    double new_rate;
    hr__kept_list kept;
} hr__compiled;

/* How a training is to end: as its arguments say, by hr_model_stop, by hr_model_interrupt. */
enum { HR__GOES_ON, HR__STOPPED, HR__INTERRUPTED };

struct hr_model {
    hr__body *body;
    char *name;
    hr_error error; /* of the last call */
    bool functional;
    HR__LIST(int) inputs; /* values */
    HR__LIST(int) outputs;
    HR__LIST(char *) output_names;
    /* Of hr_sequential before it is built. */
    HR__LIST(hr_layer *) pending;
    hr_shape input_shape;
    hr_dtype input_dtype;
    int64_t batch_size;
    bool built;
    HR__LIST(hr_layer *) order; /* the layers in Keras's order */

    bool is_compiled;
    hr__compiled compiled;
    hr__function *train, *test, *predict;
    hr_logs *logs;
    hr__history *history;
    struct hr__fitting *fitting; /* under way; NULL: none */
    volatile sig_atomic_t stop;  /* how the training is to end */
};

/* Refuse a number below 0, and a list that is NULL but has a count: "models.argument". */
hr_status hr__number_check(const char *call, const char *name, int64_t value, hr_error *err);
hr_status hr__list_check(const char *call, const char *name, const void *list, int count, hr_error *err);
/* Fails the call: the error stays until the next one. */
hr_status hr__model_failed(hr_model *m, const hr_error *err);
/* Begins a call: forgets the error of the one before. The model's own error, if there is one. */
hr_status hr__model_begin(hr_model *m, hr_error *err);
/* Makes the weights, for rows of data of that shape if they are not known (rank -1: they must be). */
hr_status hr__model_built(hr_model *m, hr_shape shape, hr_dtype dtype, hr_error *err);
/* The layers in Keras's order, and the names of the outputs. */
hr_status hr__model_order(hr_model *m, hr_error *err);

/* The model is built, and its session has all weights. */
hr_status hr__weights_ready(hr_model *m, hr_error *err);
/* Calls `fn` for each weight in the order of get_weights, those within models, too; another answer than HR_OK ends it. */
typedef hr_status hr__weight_fn(void *user, hr_layer *layer, hr__layer_variable *weight, bool frozen);
hr_status hr__each_weight(hr_model *m, hr__weight_fn *fn, void *user);

/* ---- compile (compile.c) ---- */
void hr__compiled_clear(hr__compiled *c);
/* Finds the loss and the metrics of each output of a model that is built. */
hr_status hr__compiled_resolve(hr_model *m, hr_error *err);

/* ---- data (batch.c) ---- */

/* What a component of the data is to the model. */
typedef enum hr__role { HR__UNUSED, HR__INPUT, HR__LABEL, HR__WEIGHT } hr__role;
typedef struct hr__component {
    hr__role role;
    int of; /* which input or output; of weights of all outputs, how many there are */
    hr_dtype dtype;
    hr_shape shape; /* with the batch, -1 */
} hr__component;
/* The components of a batch, in its order. */
typedef struct hr__data_signature {
    HR__LIST(hr__component) part;
} hr__data_signature;
/* Finds what each component is. `labels`: whether they are wanted. */
hr_status hr__signature_of(hr_model *m, const hr_schema *schema, const char *sample_weight, bool labels,
                           hr__data_signature *out, hr_error *err);
/* The name, if the dataset has a component of it; else NULL. */
const char *hr__component_named(const hr_dataset *ds, const char *name);
bool hr__signature_equal(const hr__data_signature *a, const hr__data_signature *b);
void hr__signature_clear(hr__data_signature *s);

/* ---- functions: graphs for training, evaluation and predictions (function.c) ---- */

typedef enum hr__phase { HR__TRAIN, HR__TEST, HR__PREDICT } hr__phase;
struct hr__function {
    hr__phase phase;
    hr_graph *graph; /* of its own, but for its variables */
    hr_session *session;
    hr__data_signature signature;
    bool weighted_classes;
    HR__LIST(hr_node) feeds;   /* those of the signature that count, then the class weights */
    HR__LIST(int) fed;         /* which components these are; -1: the class weights */
    HR__LIST(hr_node) fetches; /* values of logs or outputs, then what runs */
    HR__LIST(char *) keys;
    HR__LIST(int) variables; /* how many the graph had when each result was added: those of metrics come before */
    int results;             /* how many fetches are given */
    hr_callable *run;
    hr_node reset;                    /* of metrics */
    hr_optimizer_variables optimizer; /* of training: what the optimizer has made */
    HR__LIST(char *) slot_titles;     /* of optimizer.slot, as in Keras: without the models around the weight's own */
    hr_node rate;                     /* the learning rate of the next step */
    hr_node averages;                 /* gives the weights their averages; no node: there are none */
    hr_callable *resetting;
};
/* Gives the function for data of that signature: the one that the model has, or a new one, which takes the signature. */
hr_status hr__function_for(hr_model *m, hr__phase phase, hr__data_signature *s, bool class_weights, hr__function **out,
                           hr_error *err);
void hr__function_free(hr__function *f); /* NULL: nothing */
/* Metrics begin anew. */
hr_status hr__function_reset(hr__function *f, hr_error *err);
/* Runs it on one batch. `values`: the components of the batch; `out`: f->results tensors, given. */
hr_status hr__function_run(hr__function *f, const hr_tensor *const *values, const hr_tensor *class_weights,
                           hr_tensor *out, hr_error *err);
/* The name of a variable of the optimizer, as Keras has it. */
const char *hr__function_title(const hr__function *f, const hr_variable_info *variable);
/* Adds a fetch; with a key a result. */
hr_status hr__function_fetch(hr__function *f, hr_node node, const char *key, hr_error *err);

/* Labels and weights of outputs, and what becomes of them (objective.c). */
typedef struct hr__targets {
    hr_node *label, *weight; /* of each output; no node: none */
    hr_node class_weights;
    hr_node loss;
} hr__targets;
/* The metric of that name which is one rate at a value of another; NULL: none. */
typedef hr_metric hr__metric_at_fn(hr_node labels, hr_node predictions, double at, const hr_metric_opts *opts);
hr__metric_at_fn *hr__metric_at(const char *name);
/* Adds the losses, t->loss and the metrics, as results. */
hr_status hr__add_losses(hr_model *m, hr__function *f, hr__at *at, hr__targets *t, hr_error *err);
/* Adds the optimizer's step. */
hr_status hr__add_training(hr_model *m, hr__function *f, hr_node loss, hr_error *err);

/* ---- data as batches (feed.c) ---- */

/* Batches of a dataset, epoch by epoch. */
typedef struct hr__feed {
    hr_iterator *it;
    int fields;
    int64_t steps; /* of an epoch, -1: until the data end */
    const hr_tensor **values;
    hr_tensor class_weights;
} hr__feed;
/* A dataset of batches; single rows are batched. Takes `ds`. */
hr_dataset *hr__batched(hr_dataset *ds, int64_t batch_size);
/* Its schema, if a model can use it. */
hr_status hr__data_schema(hr_model *m, hr_dataset *ds, const hr_schema **out, hr_error *err);
/* The function for these data; a model that is not built yet is built for them. */
hr_status hr__prepare(hr_model *m, hr__phase phase, const hr_schema *schema, const char *sample_weight, bool classes,
                      hr__function **out, hr_error *err);
/* Refuses data without an end if `steps`, which is the call's option of that name, is 0: "models.endless". NULL: nothing. */
hr_status hr__ends_check(const char *call, const char *option, const hr_dataset *ds, int64_t steps, hr_error *err);
/* Opens the dataset (takes it), repeated so many times. Seed and epoch are those of hr_iterate. */
hr_status hr__feed_open(hr__feed *f, hr_dataset *ds, int64_t repeat, uint64_t seed, int64_t epoch, hr_error *err);
/* Goes on where hr_iterator_save was asked. */
hr_status hr__feed_resume(hr__feed *f, const void *state, size_t size, hr_error *err);
/* Begins anew, as that epoch by the same seed. */
hr_status hr__feed_restart(hr__feed *f, int64_t epoch, hr_error *err);
void hr__feed_close(hr__feed *f);
/* The next batch: f->values. HR_END: there is none. */
hr_status hr__feed_next(hr__feed *f, hr_error *err);
/* One batch through a function; the running results go to the logs. */
hr_status hr__step_run(hr__function *f, const hr_tensor *const *values, const hr_tensor *class_weights, hr_logs *logs,
                       hr_error *err);
hr_status hr__class_weights(hr_model *m, hr_class_weight_list list, hr_tensor *out, hr_error *err);

/* ---- evaluation (evaluate.c) ---- */
typedef struct hr__evaluation {
    hr_dataset *ds; /* of batches; taken */
    int64_t steps;
    uint64_t seed; /* of the data, */
    int64_t epoch; /* and the number of this run over them; 0: none */
    const char *sample_weight;
    hr_callback_list callbacks;
    hr_callback_call call;
} hr__evaluation;
hr_status hr__evaluate(hr_model *m, hr__evaluation *e, hr_logs *logs, hr_error *err);

/* ---- training (fit.c, training_state.c) ---- */

/* A training that is under way. */
typedef struct hr__fitting {
    hr_model *m;
    const hr_fit_opts *o;
    hr_dataset *train, *validation; /* batches; validation may be NULL */
    hr__function *f;
    hr__feed d;
    hr_logs *logs, *batch_logs;
    hr_callback_call call;
    int64_t batches;                /* of the epoch that is under way */
    int64_t next_epoch, next_batch; /* where it goes on, if it is saved now */
    bool rows;                      /* the data were single rows */
    bool ended;                     /* the data have, before steps_per_epoch */
    bool read;                      /* data of an unknown length must begin anew */
    bool closing;                   /* t->logs are those of an epoch that the history does not have yet */
} hr__fitting;

/* ---- history (history.c) ---- */
hr__history *hr__history_new(void);
hr_status hr__history_add(hr__history *h, int64_t epoch, const hr_logs *logs, hr_error *err);
/* Puts a key with its values back; and the numbers of the epochs. */
hr_status hr__history_put(hr__history *h, const char *key, const double *values, int count, hr_error *err);
hr_status hr__history_epochs(hr__history *h, const int64_t *epochs, int count, hr_error *err);
const hr_history *hr__history_show(hr__history *h, bool interrupted);

/* ---- the optimizer's state (optimizer_state.c) ---- */
/* The rate that was set before the training had its graph. */
hr_status hr__optimizer_set_rate(hr_model *m, hr__function *f, hr_error *err);
/* The state that was kept of a file becomes that of the optimizer; if it does not fit, it is left out with a warning. */
hr_status hr__optimizer_restore(hr_model *m, const hr__function *f, hr_error *err);
const hr_tensor *hr__kept_named(const hr__compiled *c, const char *path); /* NULL: there is none */
/* At the end of a fit: weights that have averages become these. */
hr_status hr__optimizer_end(hr__function *f, hr_error *err);

/* ---- logs (logs.c) ---- */
hr_logs *hr__logs_new(void);
void hr__logs_free(hr_logs *logs);
void hr__logs_clear(hr_logs *logs);

/* ---- callbacks (callback.c) ---- */
typedef enum hr__moment {
    HR__TRAIN_BEGIN,
    HR__TRAIN_END,
    HR__EPOCH_BEGIN,
    HR__EPOCH_END,
    HR__TRAIN_BATCH_BEGIN,
    HR__TRAIN_BATCH_END,
    HR__TEST_BEGIN,
    HR__TEST_END,
    HR__TEST_BATCH_BEGIN,
    HR__TEST_BATCH_END,
    HR__PREDICT_BEGIN,
    HR__PREDICT_END,
    HR__PREDICT_BATCH_BEGIN,
    HR__PREDICT_BATCH_END,
} hr__moment;
hr_status hr__callbacks_call(hr_callback_list callbacks, hr__moment moment, const hr_callback_call *call,
                             hr_error *err);
/* What callbacks know of the training. */
hr_status hr__callbacks_save(hr_callback_list callbacks, hr_bundle_writer *to, hr_error *err);
hr_status hr__callbacks_restore(hr_callback_list callbacks, hr_bundle *from, hr_error *err);
void hr__callbacks_free(hr_callback_list callbacks);

#endif
