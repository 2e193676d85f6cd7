/* Headrace, estimators: a model function and a folder, with the loops that train, evaluate and predict.
 *
 *     hr_estimator *est = hr_dnn_linear_combined_classifier(
 *         .model_dir = "model", .linear_feature_columns = wide, .dnn_feature_columns = deep,
 *         .dnn_hidden_units = HR_UNITS(128, 64));
 *     hr_estimator_train(est, train_input, NULL, .max_steps = 20000);
 *     hr_estimator_evaluate(est, eval_input, NULL);
 *     printf("%g\n", hr_estimator_result(est, "auc"));
 *     hr_estimator_free(est);
 *
 * An input function gives a dataset of batches (features, label), for example by hr_parse_example with .label. The
 * canned estimators compute their feature columns from these features. A checkpoint saves the iterator's position with
 * the weights, so a stopped training resumes with the next batch. Defaults are those of TensorFlow 2's estimators (mean
 * loss, Keras's optimizers); with .v1 those of tf.compat.v1.estimator. Only one thread at a time may use an
 * estimator. */
#ifndef HR_ESTIMATOR_H
#define HR_ESTIMATOR_H

#include <headrace/data.h>
#include <headrace/feature_columns.h>
#include <headrace/hooks.h>
#include <headrace/layers.h>
#include <headrace/optimizers.h>
#include <headrace/saved_model.h>
#include <headrace/warm_start.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_estimator hr_estimator;

/* Gives the dataset. Called once for each call of train, evaluate or predict that reads input. */
typedef hr_dataset *hr_input_fn(void *user);

/* How any model is trained: TensorFlow's RunConfig. A field that is 0 or NULL has its default. */
typedef struct hr_run_config {
    int64_t tf_random_seed;               /* of initial values, and of a pipeline without a seed; default: random */
    int64_t save_summary_steps;           /* default 100; below 0: none */
    int64_t save_checkpoints_steps;       /* default: save_checkpoints_secs; below 0: no checkpoints */
    double save_checkpoints_secs;         /* default 600 */
    const int64_t *keep_checkpoint_max;   /* default 5; 0: all are kept */
    double keep_checkpoint_every_n_hours; /* default 10000 */
    int64_t log_step_count_steps;         /* default 100; below 0: nothing is logged */
    const int *workers;                   /* threads of pipeline and graph; default: all of the pool */
    size_t budget;                        /* bytes that the pipeline may hold; default: the iterator's */
    /* The configuration of the model as lines of text ("model.batch_size=256"). It is saved in checkpoints. A later
     * training with other lines is refused ("estimator.config"); the message shows the first line that differs.
     * Borrowed as long as the estimator lives. */
    const char *identity;
    double (*now)(void *user); /* seconds since 1970, for what works by time; default: the clock */
    void *now_user;
    bool no_graph_def; /* no "graph.pbtxt", and no ".meta" beside the checkpoints: checkpoint_save_graph_def False */
    bool async_checkpoints; /* a thread writes checkpoints while the training goes on: .async of
                             * hr_checkpoint_saver_hook */
    /* The text of TF_CONFIG, read as by hr_run_config_from_tf_config: every call of the estimator fails if it is wrong,
     * or if it tells of more than one task, HR_UNIMPLEMENTED. Its model_dir counts if no other is given; two that differ
     * are refused, "estimator.model_dir". Default: none; the environment is not looked at. */
    const char *tf_config;
    /* Which passes rewrite the graphs of trainings, evaluations and predictions (hr_session_opts); default:
     * "exact,lookup_matmul": layers over looked-up rows multiply each distinct row of a batch once, for which sums come
     * in another order than without it, the same for any number of threads. Borrowed as long as the estimator lives. */
    const char *passes;
    /* How trainings, evaluations and predictions compute products (hr_session_opts); default: HR_PRODUCTS_FLOAT. Weights
     * are floats in any case. */
    hr_products products;
} hr_run_config;

/* A job of a cluster, and where its tasks are. */
typedef struct hr_cluster_job {
    const char *name;
    const char *const *addresses;
    int count;
} hr_cluster_job;
/* What TF_CONFIG says: TensorFlow's properties of a RunConfig that follow from it. */
typedef struct hr_cluster {
    const char *task_type; /* "worker" if there is no cluster */
    int64_t task_id;
    bool is_chief;
    int num_ps_replicas, num_worker_replicas; /* workers and the chief; 0 for an evaluator, 1 without a cluster */
    int64_t global_id;                        /* in the cluster: the chief is 0, ps come last; -1 for an evaluator */
    const char *master, *evaluation_master;   /* "": this process */
    const char *model_dir;                    /* NULL: not given */
    const char *service;                      /* the text of the object; NULL: not given */
    const hr_cluster_job *jobs;               /* sorted by name; an evaluator has none: it is no part of the cluster */
    int job_count;
} hr_cluster;
/* Reads the text of TF_CONFIG, a JSON object; NULL or "": {}. Gives *cluster (hr_cluster_free). HR_INVALID_ARGUMENT,
 * "estimator.tf_config", with line and column: no object, or a key has another type; a cluster without exactly one chief
 * (or master, never both), without a task type or index, or whose task it does not have; without a cluster, another task
 * than worker 0; an empty model_dir. Other keys are passed over. */
HR_API hr_status hr_run_config_from_tf_config(const char *text, hr_cluster **cluster, hr_error *err);
HR_API void hr_cluster_free(hr_cluster *cluster); /* NULL: nothing */

/* ---- the model function ---- */

/* What a model function builds its model for: TensorFlow's ModeKeys. */
typedef enum hr_mode { HR_MODE_TRAIN, HR_MODE_EVAL, HR_MODE_PREDICT } hr_mode;

typedef struct hr_estimator_spec hr_estimator_spec; /* what a model function fills in */

/* The arguments of a model function. Borrowed for the call. */
typedef struct hr_model_call {
    hr_graph *graph;
    const hr_features *features; /* with the label; in HR_MODE_PREDICT it may be absent */
    hr_mode mode;
    const hr_run_config *config;
    hr_estimator_spec *spec;
} hr_model_call;
/* Builds the model in call->graph. An error of the graph is found without being returned. */
typedef hr_status hr_model_fn(const hr_model_call *call, void *user, hr_error *err);

HR_API void hr_spec_loss(hr_estimator_spec *spec, hr_node loss);         /* a scalar; required for TRAIN and EVAL */
HR_API void hr_spec_train_op(hr_estimator_spec *spec, hr_node train_op); /* required for TRAIN */
/* Names and tags are borrowed as long as the graph lives. At most 64 predictions, 64 metrics, 64 summaries and 32
 * hooks. PREDICT needs at least one prediction. Metrics may not be named "loss" or "global_step": evaluation adds
 * these. */
HR_API void hr_spec_prediction(hr_estimator_spec *spec, const char *name, hr_node node);
HR_API void hr_spec_metric(hr_estimator_spec *spec, const char *name, hr_metric metric);
/* What the model function gave under this name; no node if there is none. For hr_add_metrics. */
HR_API hr_node hr_spec_predicted(const hr_estimator_spec *spec, const char *name);
/* What a signature of an exported model gives, in HR_MODE_PREDICT: `key` NULL is "serving_default", `method`
 * HR_PREDICT_METHOD or its kin (saved_model.h). With a method other than HR_PREDICT_METHOD, it is left out where requests
 * are no Examples. Without any, a model is exported with all of its predictions. Keys are borrowed as long as the graph
 * lives. At most 64 of them with 256 outputs. */
HR_API void hr_spec_export(hr_estimator_spec *spec, const char *key, const char *method, const hr_saved_tensor *outputs,
                           int output_count);
HR_API void hr_spec_summary(hr_estimator_spec *spec, const char *tag, hr_node node, bool histogram);
HR_API void hr_spec_hook(hr_estimator_spec *spec, hr_hook *hook); /* takes; used in the loop of the call's mode */
/* Takes; used in training, where it comes before the caller's hooks, and others after them. */
HR_API void hr_spec_chief_hook(hr_estimator_spec *spec, hr_hook *hook);

/* ---- estimators ---- */

typedef struct hr_estimator_opts {
    size_t struct_size;
    const char *model_dir; /* required; training creates it if it is absent */
    hr_run_config config;
    void (*user_free)(void *user); /* frees `user` with the estimator, or if the estimator cannot be made */
    /* Changes the input function's dataset before the graph sees it, for example by adding feature columns. Takes `ds`,
     * gives the new dataset. */
    hr_dataset *(*prepare)(hr_dataset *ds, void *user);
    /* What the variables begin with while model_dir has no checkpoint: HR_WARM_START("old"). Default: their initial
     * values. Copied. */
    const hr_warm_start_settings *warm_start_from;
} hr_estimator_opts;
/* Gives an estimator (hr_estimator_free); NULL: no memory. */
HR_API hr_estimator *hr_estimator_new_with(hr_model_fn *fn, void *user, const hr_estimator_opts *opts);
#define hr_estimator_new(...)                                                                                          \
    HR_CALL2_(hr_estimator_new_with, hr_estimator_opts, __VA_ARGS__, .struct_size = sizeof(hr_estimator_opts))
HR_API void hr_estimator_free(hr_estimator *e);                   /* NULL: nothing */
HR_API const hr_error *hr_estimator_error(const hr_estimator *e); /* of the last call; NULL: it succeeded. Borrows */
/* An estimator whose evaluations have further metrics: after the model function, `fn` is called with the same arguments,
 * in HR_MODE_EVAL alone. It reads call->features with their label, and hr_spec_predicted, and gives metrics by
 * hr_spec_metric; one that has the name of an earlier one takes its place. Takes `e`, gives the estimator; `user` is
 * borrowed as long as it lives. tf.estimator.add_metrics. */
HR_API hr_estimator *hr_add_metrics(hr_estimator *e, hr_model_fn *fn, void *user);

/* What training has left in model_dir. These read its latest checkpoint (hr_latest_checkpoint). */
/* Gives *prefix (hr_free); NULL: there is none, which is no failure. */
HR_API hr_status hr_estimator_latest_checkpoint(hr_estimator *e, char **prefix);
/* Lends *names, sorted, until the next call of the estimator. HR_NOT_FOUND, "estimator.checkpoint": there is no
 * checkpoint. What checkpoints hold besides variables (headrace/...) is left out. */
HR_API hr_status hr_estimator_variable_names(hr_estimator *e, const char *const **names, int *count);
/* Gives the value of a variable, put together if it has parts (hr_tensor_clear). HR_NOT_FOUND: no checkpoint, or no such
 * name in it. */
HR_API hr_status hr_estimator_variable_value(hr_estimator *e, const char *name, hr_tensor *value);

/* ---- canned estimators ---- */

/* The widths of hidden layers: HR_UNITS(128, 64). Borrows. */
typedef struct hr_units {
    const int64_t *units;
    int count;
} hr_units;
#define HR_UNITS(...)                                                                                                  \
    ((hr_units){(const int64_t[]){__VA_ARGS__}, (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))})

/* What a model does with its logits: heads.h. */
typedef struct hr_head hr_head;

/* Gives an optimizer whose learning rate may be a node of the graph (schedules in optimizers.h). */
typedef hr_optimizer *hr_optimizer_fn(hr_graph *g, void *user);

/* Options of all models of columns. The linear ones use the options linear_*, the DNN ones dnn_*, the combined ones
 * both; of these, a half without columns is left out. */
#define HR_CANNED_OPTIONS                                                                                              \
    const char *model_dir;                                                                                             \
    hr_column_list linear_feature_columns, dnn_feature_columns; /* shared */                                           \
    hr_units dnn_hidden_units;                                                                                         \
    /* Takes; defaults: Ftrl 0.2 and Adagrad 0.001; combined: Ftrl min(0.005, 1 / sqrt(columns)) and Adagrad 0.001.  \
     * v1: those of .v1, alone Adagrad 0.05. */ \
    hr_optimizer *linear_optimizer, *dnn_optimizer;                                                                    \
    /* Called for each graph that trains: gives the optimizer instead, for example with a schedule. */                 \
    hr_optimizer_fn *linear_optimizer_fn, *dnn_optimizer_fn;                                                           \
    void *optimizer_user;                /* of both; borrowed as long as the estimator lives */                        \
    hr_activation_fn *dnn_activation_fn; /* default relu */                                                            \
    float dnn_dropout;                                                                                                 \
    bool batch_norm;                    /* of each hidden layer, after dropout */                                      \
    const hr_combiner *sparse_combiner; /* of the linear half: of a row's ids in a column; default HR_SUM */           \
    bool v1;                            /* as tf.compat.v1.estimator: names, optimizers, losses, metrics */            \
    hr_run_config config;

/* Options of all canned estimators that came later. */
#define HR_CANNED_MORE_OPTIONS                                                                                         \
    const hr_warm_start_settings *warm_start_from; /* as in hr_estimator_opts */                                       \
    /* Of a DNN without .v1: tables of hr_shared_embedding are not trained, as in TensorFlow, which forgets them. */   \
    bool tf_compat;

typedef struct hr_classifier_opts {
    size_t struct_size;
    HR_CANNED_OPTIONS
    int64_t n_classes;                   /* default 2 */
    hr_vocabulary_list label_vocabulary; /* labels are these strings; default: numbers. Copied */
    const char *weight_column;           /* a component with the weight of each row. Copied */
    const hr_reduction *loss_reduction;  /* default HR_SUM_OVER_BATCH_SIZE; v1: HR_REDUCTION_SUM */
    HR_CANNED_MORE_OPTIONS
} hr_classifier_opts;
/* Of two classes a label is 0, 1 or a number between, of more a class from 0 on. Another one, or NaN, ends training and
 * evaluation with HR_INVALID_ARGUMENT; the message names file and record. All optimizers are taken in any case. NULL:
 * no memory. */
HR_API hr_estimator *hr_linear_classifier_with(const hr_classifier_opts *opts);
HR_API hr_estimator *hr_dnn_classifier_with(const hr_classifier_opts *opts);
HR_API hr_estimator *hr_dnn_linear_combined_classifier_with(const hr_classifier_opts *opts);

typedef struct hr_regressor_opts {
    size_t struct_size;
    HR_CANNED_OPTIONS
    int64_t label_dimension;   /* numbers a label; default 1 */
    const char *weight_column; /* as of a classifier */
    const hr_reduction *loss_reduction;
    HR_CANNED_MORE_OPTIONS
} hr_regressor_opts;
/* The squared difference to labels that are numbers. */
HR_API hr_estimator *hr_linear_regressor_with(const hr_regressor_opts *opts);
HR_API hr_estimator *hr_dnn_regressor_with(const hr_regressor_opts *opts);
HR_API hr_estimator *hr_dnn_linear_combined_regressor_with(const hr_regressor_opts *opts);

typedef struct hr_head_estimator_opts {
    size_t struct_size;
    HR_CANNED_OPTIONS
    hr_head *head; /* takes; required */
    HR_CANNED_MORE_OPTIONS
} hr_head_estimator_opts;
/* The same models with any head: TensorFlow's LinearEstimator, ... .v1 of the estimator says nothing of its head. */
HR_API hr_estimator *hr_linear_estimator_with(const hr_head_estimator_opts *opts);
HR_API hr_estimator *hr_dnn_estimator_with(const hr_head_estimator_opts *opts);
HR_API hr_estimator *hr_dnn_linear_combined_estimator_with(const hr_head_estimator_opts *opts);

typedef struct hr_baseline_opts {
    size_t struct_size;
    const char *model_dir;
    hr_head *head;           /* takes; required */
    hr_optimizer *optimizer; /* takes; default Ftrl 0.3 */
    bool v1;
    hr_run_config config;
    const hr_warm_start_settings *warm_start_from; /* as in hr_estimator_opts */
} hr_baseline_opts;
/* Sees no features: a bias for each logit, which a model has to beat. Its input has a component besides the labels. */
HR_API hr_estimator *hr_baseline_estimator_with(const hr_baseline_opts *opts);

/* Options of RNN estimators: recurrent layers over sequence columns, one after the other, then logits of the last
 * step. */
#define HR_RNN_ESTIMATOR_OPTIONS                                                                                       \
    const char *model_dir;                                                                                             \
    /* Shared. Of sequences: columns for hr_sequence_features, at least one. Context: dense columns of the whole \
     * row, which stand beside each of its steps. */     \
    hr_column_list sequence_feature_columns, context_feature_columns;                                                  \
    hr_units units; /* of each layer, at least one */                                                                  \
    /* The layers: hr_lstm_with, hr_gru_with, or a function of your own that keeps their contract; default \
     * hr_simple_rnn_with. Called with .lengths, .return_sequences, .cell_only in the scope of its cells. */           \
    hr_rnn_fn *cell_type;                                                                                              \
    bool return_sequences;         /* a label and a prediction for each step; default: for each row */                 \
    hr_optimizer *optimizer;       /* takes; default Adagrad 0.05 with a clipnorm of 5 */                              \
    hr_optimizer_fn *optimizer_fn; /* called for each graph that trains: gives the optimizer instead */                \
    void *optimizer_user;          /* of it; borrowed as long as the estimator lives */                                \
    hr_run_config config;

typedef struct hr_rnn_classifier_opts {
    size_t struct_size;
    HR_RNN_ESTIMATOR_OPTIONS
    int64_t n_classes; /* these as of hr_classifier_opts */
    hr_vocabulary_list label_vocabulary;
    const char *weight_column;
    const hr_reduction *loss_reduction;
} hr_rnn_classifier_opts;
typedef struct hr_rnn_estimator_opts {
    size_t struct_size;
    HR_RNN_ESTIMATOR_OPTIONS
    hr_head *head; /* takes; required */
} hr_rnn_estimator_opts;
/* tf.estimator.experimental.RNNClassifier, and RNNEstimator with any head. Steps after the end of a row are masked:
 * they change nothing. With .return_sequences labels and weights are lists with a value for each step, else
 * "graph.assert", or matrices padded as the steps; losses and metrics are over the steps that there are, and
 * predictions are [n, steps, ...] beside "sequence_mask", bool [n, steps]. NULL: no memory. */
HR_API hr_estimator *hr_rnn_classifier_with(const hr_rnn_classifier_opts *opts);
HR_API hr_estimator *hr_rnn_estimator_with(const hr_rnn_estimator_opts *opts);
#define hr_rnn_classifier(...)                                                                                         \
    hr_rnn_classifier_with(&(hr_rnn_classifier_opts){.struct_size = sizeof(hr_rnn_classifier_opts), __VA_ARGS__})
#define hr_rnn_estimator(...)                                                                                          \
    hr_rnn_estimator_with(&(hr_rnn_estimator_opts){.struct_size = sizeof(hr_rnn_estimator_opts), __VA_ARGS__})

/* The names of these estimators in configuration files and in `--estimator`: "linear_classifier", ...; NULL after the
 * last. */
HR_API const char *hr_estimator_name_at(int i);
#define HR_CLASSIFIER_(fn, ...) fn(&(hr_classifier_opts){.struct_size = sizeof(hr_classifier_opts), __VA_ARGS__})
#define hr_linear_classifier(...) HR_CLASSIFIER_(hr_linear_classifier_with, __VA_ARGS__)
#define hr_dnn_classifier(...) HR_CLASSIFIER_(hr_dnn_classifier_with, __VA_ARGS__)
#define hr_dnn_linear_combined_classifier(...) HR_CLASSIFIER_(hr_dnn_linear_combined_classifier_with, __VA_ARGS__)
#define HR_REGRESSOR_(fn, ...) fn(&(hr_regressor_opts){.struct_size = sizeof(hr_regressor_opts), __VA_ARGS__})
#define hr_linear_regressor(...) HR_REGRESSOR_(hr_linear_regressor_with, __VA_ARGS__)
#define hr_dnn_regressor(...) HR_REGRESSOR_(hr_dnn_regressor_with, __VA_ARGS__)
#define hr_dnn_linear_combined_regressor(...) HR_REGRESSOR_(hr_dnn_linear_combined_regressor_with, __VA_ARGS__)
#define HR_HEAD_ESTIMATOR_(fn, ...)                                                                                    \
    fn(&(hr_head_estimator_opts){.struct_size = sizeof(hr_head_estimator_opts), __VA_ARGS__})
#define hr_linear_estimator(...) HR_HEAD_ESTIMATOR_(hr_linear_estimator_with, __VA_ARGS__)
#define hr_dnn_estimator(...) HR_HEAD_ESTIMATOR_(hr_dnn_estimator_with, __VA_ARGS__)
#define hr_dnn_linear_combined_estimator(...) HR_HEAD_ESTIMATOR_(hr_dnn_linear_combined_estimator_with, __VA_ARGS__)
#define hr_baseline_estimator(...)                                                                                     \
    hr_baseline_estimator_with(&(hr_baseline_opts){.struct_size = sizeof(hr_baseline_opts), __VA_ARGS__})

/* ---- training ---- */

/* The result of a training. */
typedef struct hr_train_result {
    int64_t first_step, last_step; /* global_step before and after */
    bool finished;                 /* the input has ended or max_steps is reached: another call would do nothing */
    bool resumed;                  /* the training resumed from a checkpoint */
    float loss;                    /* of the last step; NaN: no step was made */
    double seconds, input_seconds; /* of the loop; the part of it that waited for batches */
} hr_train_result;

typedef struct hr_train_opts {
    size_t struct_size;
    /* At most one of the two; default: until the input ends. */
    int64_t steps;         /* the number of steps to make */
    int64_t max_steps;     /* until global_step has reached it */
    hr_hook *const *hooks; /* takes */
    int hook_count;
    hr_train_result *result;                  /* filled in, unless NULL */
    const hr_saver_listener *saving_listener; /* called before and after each checkpoint; borrowed */
    /* The input begins anew, as in each call of TensorFlow's train, by a seed in the same order: for further rounds over
     * an input that has ended, or another one. Default: it goes on where the checkpoint has it, so that an input that
     * has ended gives no step, and another one is refused. */
    bool new_input;
    /* Has all that the steps took afterwards, and what the input did (<headrace/profile.h>); a trace that it has, the
     * spans of both. Default: none. Borrowed for the call. */
    hr_profile *profile;
} hr_train_opts;
/* Trains on the batches of fn(user). Resumes from the newest complete checkpoint of model_dir, if there is one, and
 * saves a checkpoint at the end. Returns HR_OK, too, if nothing was left to do. After HR_ABORTED or HR_UNAVAILABLE, of a
 * hook or a run, it goes on from the newest checkpoint, weights and input alike, as .recovers of
 * hr_monitored_session_new: without checkpoints from the beginning. */
HR_API hr_status hr_estimator_train_with(hr_estimator *e, hr_input_fn *fn, void *user, const hr_train_opts *opts);
#define hr_estimator_train(...)                                                                                        \
    HR_CALL3_(hr_estimator_train_with, hr_train_opts, __VA_ARGS__, .struct_size = sizeof(hr_train_opts))

/* ---- evaluating and predicting ---- */

/* Called for each batch with the input element and the model's predictions: `count` names and tensors. All arguments
 * are borrowed for the call. HR_END ends the loop, which then returns HR_OK; any other status but HR_OK is returned. */
typedef hr_status hr_batch_fn(const hr_element *element, const char *const *names, const hr_tensor *predictions,
                              int count, void *user, hr_error *err);

typedef struct hr_evaluate_opts {
    size_t struct_size;
    int64_t steps;               /* max number of batches; default: all */
    const char *checkpoint_path; /* default: the newest complete one in model_dir */
    const char *name;            /* events go to <model_dir>/eval_<name>; default: <model_dir>/eval */
    hr_batch_fn *each;           /* NULL: none; for example to compute scores of your own */
    void *each_user;
    hr_hook *const *hooks; /* takes */
    int hook_count;
    bool initial_values; /* without a checkpoint, evaluates the initial values, as TensorFlow; default: HR_NOT_FOUND */
} hr_evaluate_opts;
/* Computes the model's metrics over the input, keeps them as results with "loss" (its mean over the batches) and
 * "global_step", and writes all but "global_step" to an event file. HR_NOT_FOUND: there is no checkpoint. */
HR_API hr_status hr_estimator_evaluate_with(hr_estimator *e, hr_input_fn *fn, void *user, const hr_evaluate_opts *opts);
#define hr_estimator_evaluate(...)                                                                                     \
    HR_CALL3_(hr_estimator_evaluate_with, hr_evaluate_opts, __VA_ARGS__, .struct_size = sizeof(hr_evaluate_opts))
/* The results of the last evaluation, sorted by name. NaN or NULL: there is no such result. */
HR_API double hr_estimator_result(const hr_estimator *e, const char *name);
HR_API int hr_estimator_results(const hr_estimator *e);
HR_API const char *hr_estimator_result_name(const hr_estimator *e, int i);

typedef struct hr_predict_opts {
    size_t struct_size;
    const char *checkpoint_path; /* default: the newest complete one in model_dir */
    hr_hook *const *hooks;       /* takes; their end is not called if `each` ends the loop */
    int hook_count;
    /* The predictions that are computed, by name; names that the model does not have are passed over, but if none is
     * left, that is HR_INVALID_ARGUMENT, "estimator.predict_keys". Default: all. */
    const char *const *predict_keys;
    int predict_key_count;
} hr_predict_opts;
/* Calls `each` with every batch of fn(user) and its predictions. HR_NOT_FOUND: there is no checkpoint. */
HR_API hr_status hr_estimator_predict_with(hr_estimator *e, hr_input_fn *fn, void *user, hr_batch_fn *each,
                                           void *each_user, const hr_predict_opts *opts);
#define hr_estimator_predict(e, fn, user, each, ...)                                                                   \
    HR_PREDICT_(e, fn, user, each, __VA_ARGS__, .struct_size = sizeof(hr_predict_opts))
#define HR_PREDICT_(e, fn, user, each, each_user, ...)                                                                 \
    hr_estimator_predict_with((e), (fn), (user), (each), (each_user), &(hr_predict_opts){__VA_ARGS__})

/* ---- exporting ---- */

typedef struct hr_serving_input hr_serving_input; /* what a serving function fills in */

/* The arguments of a serving function. Borrowed for the call. */
typedef struct hr_serving_call {
    hr_graph *graph;
    hr_column_list columns; /* .columns of the export, or else those of a canned estimator */
    hr_serving_input *input;
} hr_serving_call;
/* Makes the features of a model that is served, in call->graph, and says by hr_serving_receive what requests are made
 * of: TensorFlow's serving_input_receiver_fn. Gives the features; NULL: no memory, or *err. */
typedef hr_features *hr_serving_fn(const hr_serving_call *call, void *user, hr_error *err);
/* A tensor of requests, HR_SAVED("examples", node). With a name, it is one of that alternative way of asking, whose
 * signatures are called "NAME:KEY"; NULL: of the first way. Copies key and name. At most 64 tensors. */
HR_API void hr_serving_receive(hr_serving_input *input, const char *alternative, hr_saved_tensor tensor);
/* Requests are serialized Examples, "examples", parsed by the spec of the columns; `user`: NULL, or a
 * hr_parse_example_spec_opts. TensorFlow's build_parsing_serving_input_receiver_fn. */
HR_API hr_features *hr_parsing_serving_input(const hr_serving_call *call, void *user, hr_error *err);
/* Requests have a dense tensor for each feature that the columns read: rows of numbers, and of words or ids as many as
 * the longest row has, ended by "" or -1. build_raw_serving_input_receiver_fn. */
HR_API hr_features *hr_raw_serving_input(const hr_serving_call *call, void *user, hr_error *err);

/* A file for `assets.extra`. */
typedef struct hr_extra_file {
    const char *name, *path;
} hr_extra_file;
typedef struct hr_export_opts {
    size_t struct_size;
    hr_serving_fn *serving_fn;   /* default: hr_parsing_serving_input */
    void *serving_user;          /* borrowed */
    hr_column_list columns;      /* for the serving function; default: the canned estimator's. Borrowed */
    const char *checkpoint_path; /* default: the newest complete one in model_dir */
    bool text;                   /* saved_model.pbtxt */
    bool keep_default_attrs;     /* default: attributes that have their op's default are left out */
    const hr_extra_file *extra;  /* copied to `assets.extra`. Borrowed */
    int extra_count;
} hr_export_opts;
/* Writes a SavedModel to `base`/<seconds since 1970>: the model function's graph for HR_MODE_PREDICT over the features
 * of the serving function, the values of a checkpoint, vocabularies, and a signature for each export of its heads:
 * "serving_default", "classification", "regression", "predict". TensorFlow's export_saved_model. Gives *path (hr_free),
 * unless it is NULL. HR_NOT_FOUND: there is no checkpoint. HR_UNIMPLEMENTED, "column.to_graph": a column cannot be in a
 * graph. */
HR_API hr_status hr_estimator_export_with(hr_estimator *e, const char *base, char **path, const hr_export_opts *opts);
#define hr_estimator_export(e, base, ...)                                                                              \
    HR_ESTIMATOR_EXPORT_(e, base, __VA_ARGS__, .struct_size = sizeof(hr_export_opts))
#define HR_ESTIMATOR_EXPORT_(e, base, path, ...)                                                                       \
    hr_estimator_export_with((e), (base), (path), &(hr_export_opts){__VA_ARGS__})

/* ---- exporting after evaluations ---- */

/* Decides after which evaluations a model is exported, and which exports are kept: tf.estimator.LatestExporter,
 * BestExporter, FinalExporter. Exports go to <model_dir>/export/<name>/<seconds since 1970>. */
typedef struct hr_exporter hr_exporter;
/* Writes an export into the folder `dir`, which is empty and gets its name afterwards. */
typedef hr_status hr_export_fn(const char *dir, const char *checkpoint, void *user, hr_error *err);
typedef struct hr_exporter_opts {
    size_t struct_size;
    const int64_t *exports_to_keep; /* default 5; 0: all. Older folders named by ten digits are removed */
    /* For the best exporter: the result that it compares, strictly; default "loss", and smaller is better. NaN is worse
     * than any number. */
    const char *metric;
    bool larger_is_better;
    bool tf_compat; /* nothing is better than NaN */
    /* Without a function of one's own, how SavedModels are exported; its checkpoint_path is the evaluation's. Default:
     * requests are serialized Examples. Borrowed as long as the exporter lives. */
    const hr_export_opts *saved_model;
} hr_exporter_opts;
/* Latest: after every evaluation. Best: where the evaluation is better than any before, and after the first one, even
 * if an earlier process has found a better one. Final: only after the last one, and all are kept. `fn` NULL: a SavedModel,
 * as by hr_estimator_export. `user` is borrowed as long as the exporter lives. NULL: no memory. */
HR_API hr_exporter *hr_latest_exporter_with(const char *name, hr_export_fn *fn, void *user,
                                            const hr_exporter_opts *opts);
HR_API hr_exporter *hr_best_exporter_with(const char *name, hr_export_fn *fn, void *user, const hr_exporter_opts *opts);
HR_API hr_exporter *hr_final_exporter_with(const char *name, hr_export_fn *fn, void *user,
                                           const hr_exporter_opts *opts);
#define HR_EXPORTER_(fn, ...) HR_CALL3_(fn, hr_exporter_opts, __VA_ARGS__, .struct_size = sizeof(hr_exporter_opts))
#define hr_latest_exporter(...) HR_EXPORTER_(hr_latest_exporter_with, __VA_ARGS__)
#define hr_best_exporter(...) HR_EXPORTER_(hr_best_exporter_with, __VA_ARGS__)
#define hr_final_exporter(...) HR_EXPORTER_(hr_final_exporter_with, __VA_ARGS__)
HR_API void hr_exporter_free(hr_exporter *x); /* NULL: nothing */
/* Asks an exporter after an evaluation of `e`, whose results it looks at; `final`: it was the last one.
 * hr_train_and_evaluate does it for those of its eval spec. "estimator.export": it cannot be done. */
HR_API hr_status hr_exporter_export(hr_exporter *x, hr_estimator *e, const char *checkpoint, bool final, hr_error *err);
HR_API const char *hr_exporter_exported(const hr_exporter *x); /* what the last call has made; NULL: nothing. Borrows */

/* ---- training and evaluating in turn ---- */

/* The inputs and limits of hr_train_and_evaluate: TensorFlow's TrainSpec and EvalSpec. */
typedef struct hr_train_spec {
    hr_input_fn *input_fn;
    void *user;
    int64_t max_steps;     /* default: until the input ends */
    hr_hook *const *hooks; /* takes */
    int hook_count;
    const hr_saver_listener *saving_listeners; /* called in this order, before the evaluation; borrowed for the call */
    int saving_listener_count;
} hr_train_spec;
typedef struct hr_eval_spec {
    hr_input_fn *input_fn;
    void *user;
    const int64_t *steps;          /* max number of batches; default 100; 0: all */
    const char *name;              /* as in hr_evaluate_opts */
    const int64_t *throttle_secs;  /* min seconds between two evaluations; default 600 */
    hr_exporter *const *exporters; /* asked after each evaluation, in this order; borrowed for the call */
    int exporter_count;
    /* Called before each evaluation, with hooks_user: puts at most `max` new hooks into `hooks`, and returns how
     * many. A hook lives for one session, and there is one for each evaluation. */
    int (*hooks)(hr_hook **hooks, int max, void *user);
    void *hooks_user;
} hr_eval_spec;
/* A spec as an argument: HR_TRAIN_SPEC(.input_fn = train_input, .max_steps = 20000). */
#define HR_TRAIN_SPEC(...) (&(hr_train_spec){__VA_ARGS__})
#define HR_EVAL_SPEC(...) (&(hr_eval_spec){__VA_ARGS__})
/* Trains, and evaluates after each checkpoint except the first, at least throttle_secs apart, and at the end. Needs
 * checkpoints ("estimator.listener"). If max_steps was reached before, nothing is trained or evaluated. */
HR_API hr_status hr_train_and_evaluate(hr_estimator *e, const hr_train_spec *train, const hr_eval_spec *eval);

#ifdef __cplusplus
}
#endif
#endif
