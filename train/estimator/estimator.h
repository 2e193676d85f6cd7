/* Headrace, estimators: a model function, a folder, and the loops that train it, evaluate it, predict with it.
 *
 *     hr_estimator *est = hr_dnn_linear_combined_classifier(
 *         .model_dir = "model", .linear_feature_columns = wide, .dnn_feature_columns = deep,
 *         .dnn_hidden_units = HR_UNITS(128, 64));
 *     hr_estimator_train(est, train_input, NULL, .max_steps = 20000);
 *     hr_estimator_evaluate(est, eval_input, NULL);
 *     printf("%g\n", hr_estimator_result(est, "auc"));
 *     hr_estimator_free(est);
 *
 * An input function gives a dataset of batches (features, label): hr_parse_example with .label; the canned estimators
 * make their columns of its features. Checkpoints save the iterator's position with the weights: a training that was
 * stopped continues with the next batch. Defaults are those of TensorFlow 2's estimators (mean loss, Keras's
 * optimizers). An estimator belongs to one thread at a time. */
#ifndef HR_ESTIMATOR_H
#define HR_ESTIMATOR_H

#include <headrace/data.h>
#include <headrace/feature_columns.h>
#include <headrace/hooks.h>
#include <headrace/layers.h>
#include <headrace/optimizers.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_estimator hr_estimator;

/* Gives the dataset; called once for each train, evaluate, predict. */
typedef hr_dataset *hr_input_fn(void *user);

/* How a model is trained, whatever it is: TensorFlow's RunConfig. Zero is every default. */
typedef struct hr_run_config {
    int64_t tf_random_seed;               /* of initial values, and of the pipeline if it has none; default: drawn */
    int64_t save_summary_steps;           /* default 100; below 0: none */
    int64_t save_checkpoints_steps;       /* default: by seconds; below 0: no checkpoints */
    double save_checkpoints_secs;         /* default 600 */
    const int64_t *keep_checkpoint_max;   /* default 5; 0: all */
    double keep_checkpoint_every_n_hours; /* default 10000 */
    int64_t log_step_count_steps;         /* default 100; below 0: nothing is logged */
    const int *workers;                   /* of pipeline and graph; default: all of the pool */
    size_t budget;                        /* bytes of the pipeline; default: the iterator's */
    /* What the model was made of, as lines of text ("model.batch_size=256"): kept in checkpoints. A later training with
     * other lines is refused with the line that differs. Borrowed as long as the estimator lives. */
    const char *identity;
} hr_run_config;

/* ---- the model function ---- */

/* What a model function is called for: TensorFlow's ModeKeys. */
typedef enum hr_mode { HR_MODE_TRAIN, HR_MODE_EVAL, HR_MODE_PREDICT } hr_mode;

typedef struct hr_estimator_spec hr_estimator_spec; /* what a model function fills in */

/* What a model function is called with. Borrowed for the call. */
typedef struct hr_model_call {
    hr_graph *graph;
    const hr_features *features; /* with the label, but in HR_MODE_PREDICT, where there may be none */
    hr_mode mode;
    const hr_run_config *config;
    hr_estimator_spec *spec;
} hr_model_call;
/* Builds the model in call->graph. What fails in the graph need not be returned. */
typedef hr_status hr_model_fn(const hr_model_call *call, void *user, hr_error *err);

HR_API void hr_spec_loss(hr_estimator_spec *spec, hr_node loss);         /* a scalar: TRAIN and EVAL need it */
HR_API void hr_spec_train_op(hr_estimator_spec *spec, hr_node train_op); /* TRAIN needs it */
/* Names are literals, or live as long as the graph. */
HR_API void hr_spec_prediction(hr_estimator_spec *spec, const char *name, hr_node node);
HR_API void hr_spec_metric(hr_estimator_spec *spec, const char *name, hr_metric metric);
HR_API void hr_spec_summary(hr_estimator_spec *spec, const char *tag, hr_node node, bool histogram);
HR_API void hr_spec_hook(hr_estimator_spec *spec, hr_hook *hook); /* takes: called while training */

/* ---- estimators ---- */

typedef struct hr_estimator_opts {
    size_t struct_size;
    const char *model_dir; /* required; made if it is not there */
    hr_run_config config;
    void (*user_free)(void *user);
    /* What comes between the input function's dataset and the graph: columns. Takes `ds`, gives the dataset. */
    hr_dataset *(*prepare)(hr_dataset *ds, void *user);
} hr_estimator_opts;
/* Never NULL but for lack of memory. */
HR_API hr_estimator *hr_estimator_new_with(hr_model_fn *fn, void *user, const hr_estimator_opts *opts);
#define hr_estimator_new(...)                                                                                          \
    HR_CALL2_(hr_estimator_new_with, hr_estimator_opts, __VA_ARGS__, .struct_size = sizeof(hr_estimator_opts))
HR_API void hr_estimator_free(hr_estimator *e);                   /* NULL: nothing */
HR_API const hr_error *hr_estimator_error(const hr_estimator *e); /* of the last call; NULL: it went well. Borrows */

/* ---- canned ones ---- */

/* The widths of hidden layers: HR_UNITS(128, 64). Borrows. */
typedef struct hr_units {
    const int64_t *units;
    int count;
} hr_units;
#define HR_UNITS(...)                                                                                                  \
    ((hr_units){(const int64_t[]){__VA_ARGS__}, (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))})

typedef struct hr_classifier_opts {
    size_t struct_size;
    const char *model_dir;
    hr_column_list linear_feature_columns, dnn_feature_columns; /* shared */
    hr_units dnn_hidden_units;
    hr_optimizer *linear_optimizer, *dnn_optimizer; /* takes; defaults: Ftrl 0.2 and Adagrad 0.001; combined: Ftrl
                                                       min(0.005, 1 / sqrt(columns)) and Adagrad 0.001 */
    hr_activation_fn *dnn_activation_fn;            /* default relu */
    float dnn_dropout;
    hr_reduction loss_reduction; /* default HR_SUM_OVER_BATCH_SIZE */
    hr_run_config config;
} hr_classifier_opts;
/* Classes 0 and 1: a label outside of [0, 1], or NaN, ends training and evaluation with HR_INVALID_ARGUMENT, its file
 * and record. Each takes its half of the options. */
HR_API hr_estimator *hr_linear_classifier_with(const hr_classifier_opts *opts);
HR_API hr_estimator *hr_dnn_classifier_with(const hr_classifier_opts *opts);
HR_API hr_estimator *hr_dnn_linear_combined_classifier_with(const hr_classifier_opts *opts);
/* The names by which files and `--estimator` call them: "linear_classifier", ...; NULL after the last. */
HR_API const char *hr_estimator_name_at(int i);
#define HR_CLASSIFIER_(fn, ...) fn(&(hr_classifier_opts){.struct_size = sizeof(hr_classifier_opts), __VA_ARGS__})
#define hr_linear_classifier(...) HR_CLASSIFIER_(hr_linear_classifier_with, __VA_ARGS__)
#define hr_dnn_classifier(...) HR_CLASSIFIER_(hr_dnn_classifier_with, __VA_ARGS__)
#define hr_dnn_linear_combined_classifier(...) HR_CLASSIFIER_(hr_dnn_linear_combined_classifier_with, __VA_ARGS__)

/* ---- training ---- */

/* What a training came to. */
typedef struct hr_train_result {
    int64_t first_step, last_step; /* global_step before and after */
    bool finished;                 /* the input, or max_steps, is at its end: another call would do nothing */
    bool resumed;                  /* it went on from a checkpoint */
    float loss;                    /* of the last step; NaN: there was none */
    double seconds, input_seconds; /* of the loop; of it, waiting for batches */
} hr_train_result;

typedef struct hr_train_opts {
    size_t struct_size;
    int64_t steps;         /* so many more; or */
    int64_t max_steps;     /* until global_step is there; default: until the input ends */
    hr_hook *const *hooks; /* takes */
    int hook_count;
    hr_train_result *result;                  /* filled in */
    const hr_saver_listener *saving_listener; /* called around checkpoints; borrowed */
} hr_train_opts;
/* Trains on the batches of fn(user), from the newest checkpoint on, and saves a checkpoint at the end. Returns HR_OK
 * even if the training had already ended. */
HR_API hr_status hr_estimator_train_with(hr_estimator *e, hr_input_fn *fn, void *user, const hr_train_opts *opts);
#define hr_estimator_train(...)                                                                                        \
    HR_CALL3_(hr_estimator_train_with, hr_train_opts, __VA_ARGS__, .struct_size = sizeof(hr_train_opts))

/* ---- evaluating and predicting ---- */

/* One batch: the element that came in, and what the model says of it. All borrowed until it returns. Anything but HR_OK
 * ends the loop with that; HR_END ends it well. */
typedef hr_status hr_batch_fn(const hr_element *element, const char *const *names, const hr_tensor *predictions,
                              int count, void *user, hr_error *err);

typedef struct hr_evaluate_opts {
    size_t struct_size;
    int64_t steps;               /* so many batches; default: all */
    const char *checkpoint_path; /* default: the latest */
    const char *name;            /* results go to <model_dir>/eval_<name>; default: eval */
    hr_batch_fn *each;           /* for scores of one's own */
    void *each_user;
} hr_evaluate_opts;
/* Runs the model's metrics over the input, keeps them as results ("loss", "global_step", ...), and writes them as
 * events. HR_NOT_FOUND: there is no checkpoint. */
HR_API hr_status hr_estimator_evaluate_with(hr_estimator *e, hr_input_fn *fn, void *user, const hr_evaluate_opts *opts);
#define hr_estimator_evaluate(...)                                                                                     \
    HR_CALL3_(hr_estimator_evaluate_with, hr_evaluate_opts, __VA_ARGS__, .struct_size = sizeof(hr_evaluate_opts))
/* Of the last evaluation, in the order of their names. NaN, NULL: there is none. */
HR_API double hr_estimator_result(const hr_estimator *e, const char *name);
HR_API int hr_estimator_results(const hr_estimator *e);
HR_API const char *hr_estimator_result_name(const hr_estimator *e, int i);

typedef struct hr_predict_opts {
    size_t struct_size;
    const char *checkpoint_path;
} hr_predict_opts;
/* Calls `each` with every batch of fn(user) and the predictions for it. HR_NOT_FOUND: there is no checkpoint. */
HR_API hr_status hr_estimator_predict_with(hr_estimator *e, hr_input_fn *fn, void *user, hr_batch_fn *each,
                                           void *each_user, const hr_predict_opts *opts);
#define hr_estimator_predict(e, fn, user, each, ...)                                                                   \
    HR_PREDICT_(e, fn, user, each, __VA_ARGS__, .struct_size = sizeof(hr_predict_opts))
#define HR_PREDICT_(e, fn, user, each, each_user, ...)                                                                 \
    hr_estimator_predict_with((e), (fn), (user), (each), (each_user), &(hr_predict_opts){__VA_ARGS__})

/* ---- training and evaluating in turn ---- */

/* What hr_train_and_evaluate trains on and evaluates with: TensorFlow's TrainSpec and EvalSpec. */
typedef struct hr_train_spec {
    hr_input_fn *input_fn;
    void *user;
    int64_t max_steps;
    hr_hook *const *hooks;
    int hook_count;
} hr_train_spec;
typedef struct hr_eval_spec {
    hr_input_fn *input_fn;
    void *user;
    const int64_t *steps; /* default 100; 0: all */
    const char *name;
    const int64_t *throttle_secs; /* default 600: not more often */
} hr_eval_spec;
/* Either as an argument: HR_TRAIN_SPEC(.input_fn = train_input, .max_steps = 20000). */
#define HR_TRAIN_SPEC(...) (&(hr_train_spec){__VA_ARGS__})
#define HR_EVAL_SPEC(...) (&(hr_eval_spec){__VA_ARGS__})
/* Trains; evaluates after checkpoints (but the first), at least throttle_secs apart, and at the end. A training that
 * was at max_steps already is not evaluated. */
HR_API hr_status hr_train_and_evaluate(hr_estimator *e, const hr_train_spec *train, const hr_eval_spec *eval);

#ifdef __cplusplus
}
#endif
#endif
