/* Headrace, trainings from a file: reads schema, columns, model and the section `train:` of a YAML file
 * (docs/config.md), as the commands train, evaluate and predict do.
 *
 *     hr_training *training;
 *     hr_train_result result;
 *     hr_status st = hr_training_open("flights.yaml", &training, &err, .data = "/data/flights");
 *     if (st == HR_OK) st = hr_training_train(training, &result, &err, .progress = show);
 *     if (st == HR_OK) st = hr_training_evaluate(training, &err);
 *     if (st == HR_OK) printf("auc %.3f\n", hr_training_result(training, "auc"));
 *     if (st == HR_OK) st = hr_training_predict(training, "predictions.csv", &err, .columns = "id,probabilities");
 *     hr_training_free(training);
 *
 * For loops of your own there are the training's estimator and its input functions. */
#ifndef HR_TRAINING_FILE_H
#define HR_TRAINING_FILE_H

#include <headrace/estimator.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_training hr_training;

/* Values that replace those of the file. NULL or 0: the file's. */
typedef struct hr_training_opts {
    size_t struct_size;
    const char *data;      /* the folder of relative names in the file */
    const char *model_dir; /* used as given: .data is not prepended */
    const char *estimator; /* a name of hr_estimator_name_at */
    const int64_t *seed;
    int64_t epochs, batch_size;
    int64_t max_steps; /* with as many epochs as it needs, unless .epochs is given */
    /* Values of the file by their paths: "train.learning_rate=0.01", "model.dnn_hidden_units=[64, 32]". A value is
     * YAML; nothing after the = takes a value away. Errors name the option. Kind: config.set. */
    const char *const *set;
    int set_count;
} hr_training_opts;

/* Reads the file: gives *out; NULL after a failure. An error names line and column, and for an unknown name the nearest
 * known one. No record is read. Kinds of errors: config.*, schema.*, training.*, those of the columns and of the
 * optimizers. */
HR_API hr_status hr_training_open_with(const char *path, const hr_training_opts *opts, hr_training **out,
                                       hr_error *err);
#define hr_training_open(path, out, ...)                                                                               \
    HR_TRAINING_OPEN_(path, out, __VA_ARGS__, .struct_size = sizeof(hr_training_opts))
#define HR_TRAINING_OPEN_(path, out, err, ...)                                                                         \
    hr_training_open_with((path), &(hr_training_opts){__VA_ARGS__}, (out), (err))
HR_API void hr_training_free(hr_training *t); /* NULL: nothing. Free estimators and datasets made of it first */

/* ---- training ---- */

/* The progress of a training. */
typedef struct hr_training_progress {
    int64_t first_step, step; /* global_step at the start of this run, and now */
    float loss;               /* of the last step; NaN: no step was made */
    /* The step that it will end at, an estimate where files are large; 0: unknown, as before the first step, which does
     * not wait for rows to be counted. */
    int64_t last_step;
    double examples_per_second, seconds_left; /* at the pace of this run so far; NaN: unknown */
} hr_training_progress;

typedef struct hr_training_train_opts {
    size_t struct_size;
    /* Called before the first step and after each step, in the calling thread. False stops the training with a
     * checkpoint and without an error; result->finished says whether it was at its end. */
    bool (*progress)(const hr_training_progress *now, void *user);
    void *user;
    hr_profile *profile; /* as of hr_estimator_train */
} hr_training_train_opts;

/* Trains as the file says: from the newest complete checkpoint in the model's folder up to max_steps or the end of the
 * input. Fills in *result, unless NULL. Errors: those of hr_estimator_train. */
HR_API hr_status hr_training_train_with(hr_training *t, const hr_training_train_opts *opts, hr_train_result *result,
                                        hr_error *err);
#define hr_training_train(t, result, ...)                                                                              \
    HR_TRAINING_TRAIN_(t, result, __VA_ARGS__, .struct_size = sizeof(hr_training_train_opts))
#define HR_TRAINING_TRAIN_(t, result, err, ...)                                                                        \
    hr_training_train_with((t), &(hr_training_train_opts){__VA_ARGS__}, (result), (err))

/* ---- evaluating ---- */

typedef struct hr_training_evaluate_opts {
    size_t struct_size;
    const hr_file_list *files; /* default: eval_files. Borrowed for the call */
    /* Called after each batch with the rows so far. False ends the evaluation: HR_CANCELLED. */
    bool (*progress)(int64_t rows, void *user);
    void *user;
} hr_training_evaluate_opts;

/* Evaluates the newest complete checkpoint on the files. Of a binary classifier whose rows have no weights, accuracy
 * (threshold 0.5), the areas under both curves and log loss are exact, in float64, from the probabilities of all rows;
 * of other models the results are the estimator's metrics. All of these are written to <model_dir>/eval. Errors:
 * training.eval_files, and those of hr_estimator_evaluate. */
HR_API hr_status hr_training_evaluate_with(hr_training *t, hr_error *err, const hr_training_evaluate_opts *opts);
#define hr_training_evaluate(...)                                                                                      \
    HR_CALL2_(hr_training_evaluate_with, hr_training_evaluate_opts, __VA_ARGS__,                                       \
              .struct_size = sizeof(hr_training_evaluate_opts))
/* The results of the last evaluation, with "rows" and "global_step". NaN or NULL: there is no such result. Where the
 * names are known before, they are there before, with values that are NaN. */
HR_API double hr_training_result(const hr_training *t, const char *name);
HR_API int hr_training_results(const hr_training *t);
HR_API const char *hr_training_result_name(const hr_training *t, int i);

/* ---- predicting ---- */

typedef struct hr_training_predict_opts {
    size_t struct_size;
    const hr_file_list *files; /* default: eval_files. Borrowed for the call */
    /* Fields of the rows, also those that the model does not see, and predictions, by their names with commas between
     * them: "id,probabilities,class_ids". A name that is both means the field. Default: the prediction that the model
     * is for, a line for each row, without a header: logistic (the probability of class 1), classes, predictions, or
     * probabilities; of several heads that of each, with commas between them. Lists of a CSV have the separator of
     * `train: csv`. */
    const char *columns;
    /* "csv", "jsonl" or "tfrecord"; default: by the name of the output, else csv. A prediction of several numbers is
     * NAME_0, NAME_1, ... in a CSV, and a list elsewhere. */
    const char *to;
    bool (*progress)(int64_t rows, void *user); /* as of an evaluation */
    void *user;
} hr_training_predict_opts;

/* Writes a line or record for each row of the files, in their order, into the file `out` ("-": standard output), which
 * has its name when all is written. Numbers are written exactly. Rows need no label. With fields among the columns
 * the files are read twice, so they may not be pipes. Errors: training.eval_files, training.columns, training.format, those
 * of hr_estimator_predict, and of writing. */
HR_API hr_status hr_training_predict_with(hr_training *t, const char *out, hr_error *err,
                                          const hr_training_predict_opts *opts);
#define hr_training_predict(...)                                                                                       \
    HR_CALL3_(hr_training_predict_with, hr_training_predict_opts, __VA_ARGS__,                                         \
              .struct_size = sizeof(hr_training_predict_opts))

/* ---- exporting ---- */

typedef struct hr_training_export_opts {
    size_t struct_size;
    /* Requests have a dense tensor for each feature that the model reads; default: serialized Examples, with features of
     * the types that `schema:` says. */
    bool raw;
    bool text;                   /* saved_model.pbtxt */
    const char *checkpoint_path; /* default: the newest complete one */
} hr_training_export_opts;

/* Writes the model as a SavedModel to `base`/<seconds since 1970>, as hr_estimator_export does. Gives *path (hr_free),
 * unless it is NULL. Errors: training.export (a model of derived fields needs .raw), those of hr_estimator_export. */
HR_API hr_status hr_training_export_with(hr_training *t, const char *base, char **path, hr_error *err,
                                         const hr_training_export_opts *opts);
#define hr_training_export(t, base, path, ...)                                                                         \
    HR_TRAINING_EXPORT_(t, base, path, __VA_ARGS__, .struct_size = sizeof(hr_training_export_opts))
#define HR_TRAINING_EXPORT_(t, base, path, err, ...)                                                                   \
    hr_training_export_with((t), (base), (path), (err), &(hr_training_export_opts){__VA_ARGS__})

/* ---- its estimator and its input, for loops of your own ---- */

HR_API hr_estimator *hr_training_estimator(hr_training *t); /* gives; NULL: no memory, or `t` is NULL */
/* Input functions; `user` is the training. They give the whole pipeline, over `files` or `eval_files` of the
 * section. */
HR_API hr_dataset *hr_training_input(void *user);
HR_API hr_dataset *hr_training_eval_input(void *user);
/* The `user` of hr_training_predict_input. */
typedef struct hr_training_predicted {
    const hr_training *training;
    const hr_tensor *files; /* names, strings [n]; NULL: eval_files */
} hr_training_predicted;
/* An input function that reads no labels, which the records may lack, and reads the files one after the other. */
HR_API hr_dataset *hr_training_predict_input(void *user);

/* ---- its values; texts are borrowed as long as the training lives ---- */

/* The values of the file, or those of the options that replaced them. */
HR_API const char *hr_training_model_dir(const hr_training *t);  /* the model's folder */
HR_API const char *hr_training_files(const hr_training *t);      /* the pattern, after the data folder was prepended */
HR_API const char *hr_training_eval_files(const hr_training *t); /* NULL: the file has none */
HR_API int64_t hr_training_batch_size(const hr_training *t);     /* rows in a step */
HR_API int64_t hr_training_epochs(const hr_training *t);         /* -1: endless */
HR_API int64_t hr_training_max_steps(const hr_training *t);      /* 0: none */
HR_API uint64_t hr_training_seed(const hr_training *t);          /* of shuffling and of initial values */
HR_API const char *hr_training_identity(const hr_training *t);   /* hr_run_config.identity */

#ifdef __cplusplus
}
#endif
#endif
