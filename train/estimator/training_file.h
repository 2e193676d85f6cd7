/* Headrace, trainings from a file: schema, columns, model and the section `train:` of a YAML file (docs/config.md), as
 * the commands train, evaluate and predict read it.
 *
 *     hr_training *training;
 *     hr_train_result result;
 *     hr_status st = hr_training_open("flights.yaml", &training, &err, .data = "/data/flights");
 *     if (st == HR_OK) st = hr_training_train(training, &result, &err, .progress = show);
 *     hr_training_free(training);
 *
 * To evaluate and predict, hand the estimator of the training its input functions:
 *
 *     hr_estimator *e = hr_training_estimator(training);
 *     st = hr_estimator_evaluate(e, hr_training_eval_input, training);
 *     hr_estimator_free(e); */
#ifndef HR_TRAINING_FILE_H
#define HR_TRAINING_FILE_H

#include <headrace/estimator.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_training hr_training;

/* What is to hold instead of what the file says. NULL, 0: as the file says. */
typedef struct hr_training_opts {
    size_t struct_size;
    const char *data;      /* the folder that relative names in the file count from */
    const char *model_dir; /* as it stands: .data is not put before it */
    const char *estimator; /* by its name: hr_estimator_name_at */
    const int64_t *seed;
    int64_t epochs, batch_size;
    int64_t max_steps; /* with as many epochs as that takes, unless .epochs says how many */
} hr_training_opts;

/* Reads the file: gives *out; NULL after a failure. Every mistake is named with its line and column, and with the
 * nearest name where one is unknown. No record is read. Kinds: config.*, schema.*, training.*, those of the columns and
 * of the optimizers. */
HR_API hr_status hr_training_open_with(const char *path, const hr_training_opts *opts, hr_training **out,
                                       hr_error *err);
#define hr_training_open(path, out, ...)                                                                               \
    HR_TRAINING_OPEN_(path, out, __VA_ARGS__, .struct_size = sizeof(hr_training_opts))
#define HR_TRAINING_OPEN_(path, out, err, ...)                                                                         \
    hr_training_open_with((path), &(hr_training_opts){__VA_ARGS__}, (out), (err))
HR_API void hr_training_free(hr_training *t); /* NULL: nothing. After the estimators and datasets made of it */

/* ---- training ---- */

/* How far a training is. */
typedef struct hr_training_progress {
    int64_t first_step, step; /* global_step where this run began, and now */
    float loss;               /* of the last step; NaN: there was none */
} hr_training_progress;

typedef struct hr_training_train_opts {
    size_t struct_size;
    /* Called once before the first step and after each, from the calling thread. False: the training stops, with a
     * checkpoint; that is no failure, and result->finished says that there was more to do. */
    bool (*progress)(const hr_training_progress *now, void *user);
    void *user;
} hr_training_train_opts;

/* Trains by the file: from the latest checkpoint of the model's folder up to its steps or the end of its input. *result
 * (NULL: not wanted) says what it came to. Errors: those of hr_estimator_train. */
HR_API hr_status hr_training_train_with(hr_training *t, const hr_training_train_opts *opts, hr_train_result *result,
                                        hr_error *err);
#define hr_training_train(t, result, ...)                                                                              \
    HR_TRAINING_TRAIN_(t, result, __VA_ARGS__, .struct_size = sizeof(hr_training_train_opts))
#define HR_TRAINING_TRAIN_(t, result, err, ...)                                                                        \
    hr_training_train_with((t), &(hr_training_train_opts){__VA_ARGS__}, (result), (err))

/* ---- its estimator and its input, for loops of one's own ---- */

HR_API hr_estimator *hr_training_estimator(hr_training *t); /* gives; NULL: no memory, or `t` is NULL */
/* Input functions: `user` is the training. The whole pipeline, over the files of the section or its eval_files. */
HR_API hr_dataset *hr_training_input(void *user);
HR_API hr_dataset *hr_training_eval_input(void *user);
/* Without labels, which the records need not have, and one file after the other; `user` is this. */
typedef struct hr_training_predicted {
    const hr_training *training;
    const hr_tensor *files; /* names, strings [n]; NULL: eval_files */
} hr_training_predicted;
HR_API hr_dataset *hr_training_predict_input(void *user);

/* ---- what it says; texts are borrowed as long as the training lives ---- */

/* The values of the file, or those of the options that replaced them. */
HR_API const char *hr_training_model_dir(const hr_training *t);  /* the folder of the model */
HR_API const char *hr_training_files(const hr_training *t);      /* the pattern, with the data folder */
HR_API const char *hr_training_eval_files(const hr_training *t); /* NULL: the file has none */
HR_API int64_t hr_training_batch_size(const hr_training *t);     /* rows of a step */
HR_API int64_t hr_training_epochs(const hr_training *t);         /* -1: for ever */
HR_API int64_t hr_training_max_steps(const hr_training *t);      /* 0: none */
HR_API uint64_t hr_training_seed(const hr_training *t);          /* of shuffling and of initial values */
HR_API const char *hr_training_identity(const hr_training *t);   /* hr_run_config.identity */

#ifdef __cplusplus
}
#endif
#endif
