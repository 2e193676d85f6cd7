/* Headrace, trainings from a file: reads schema, columns, model and the section `train:` of a YAML file
 * (docs/config.md), as the commands train, evaluate and predict do.
 *
 *     hr_training *training;
 *     hr_train_result result;
 *     hr_status st = hr_training_open("flights.yaml", &training, &err, .data = "/data/flights");
 *     if (st == HR_OK) st = hr_training_train(training, &result, &err, .progress = show);
 *     hr_training_free(training);
 *
 * To evaluate and predict, use the training's estimator with its input functions:
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

/* Values that replace those of the file. NULL or 0: the file's. */
typedef struct hr_training_opts {
    size_t struct_size;
    const char *data;      /* the folder of relative names in the file */
    const char *model_dir; /* used as given: .data is not prepended */
    const char *estimator; /* a name of hr_estimator_name_at */
    const int64_t *seed;
    int64_t epochs, batch_size;
    int64_t max_steps; /* with as many epochs as it needs, unless .epochs is given */
    /* Values of the file by their paths: "train.learning_rate=0.01", "model.dnn_hidden_units=[64, 32]". A value is YAML;
     * nothing after the = takes a value away. Errors name the option. Kind: config.set. */
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
} hr_training_progress;

typedef struct hr_training_train_opts {
    size_t struct_size;
    /* Called before the first step and after each step, in the calling thread. False stops the training with a
     * checkpoint and without an error; result->finished says whether it was at its end. */
    bool (*progress)(const hr_training_progress *now, void *user);
    void *user;
} hr_training_train_opts;

/* Trains as the file says: from the newest complete checkpoint in the model's folder up to max_steps or the end of the
 * input. Fills in *result, unless NULL. Errors: those of hr_estimator_train. */
HR_API hr_status hr_training_train_with(hr_training *t, const hr_training_train_opts *opts, hr_train_result *result,
                                        hr_error *err);
#define hr_training_train(t, result, ...)                                                                              \
    HR_TRAINING_TRAIN_(t, result, __VA_ARGS__, .struct_size = sizeof(hr_training_train_opts))
#define HR_TRAINING_TRAIN_(t, result, err, ...)                                                                        \
    hr_training_train_with((t), &(hr_training_train_opts){__VA_ARGS__}, (result), (err))

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
