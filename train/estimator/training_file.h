/* A training as a file describes it: schema, columns, model, train. What `headrace train`, `evaluate`, `predict` and
 * `bench` read. Not a public header. Every mistake is reported with its line and column, and a suggestion. */
#ifndef HR_TRAINING_H
#define HR_TRAINING_H

#include <headrace/estimator.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr__training hr__training;

/* What the command line says over the file. NULL, 0: as the file says. */
typedef struct hr__training_opts {
    const char *data; /* folder that relative names in the file count from */
    const char *model_dir;
    const char *estimator; /* "linear_classifier", ... */
    const int64_t *seed;
    int64_t epochs, batch_size;
    int64_t max_steps; /* with as many epochs as that takes, unless .epochs says how many */
} hr__training_opts;

hr_status hr__training_open(const char *path, const hr__training_opts *opts, hr__training **out, hr_error *err);
void hr__training_free(hr__training *t); /* NULL: nothing. After the estimators and datasets made of it */

hr_estimator *hr__training_estimator(hr__training *t); /* gives; NULL: no memory */
/* Input functions: `user` is the training. The whole pipeline, over the train section's files or eval_files. */
hr_dataset *hr__training_input(void *user);
hr_dataset *hr__training_eval_input(void *user);
/* Without labels, which the records need not have, and one file after the other; `user` is this. */
typedef struct hr__training_predicted {
    const hr__training *training;
    const hr_tensor *files; /* names, strings [n]; NULL: eval_files */
} hr__training_predicted;
hr_dataset *hr__training_predict_input(void *user);

const char *hr__training_model_dir(const hr__training *t);
const char *hr__training_files(const hr__training *t);      /* the pattern, with the data folder */
const char *hr__training_eval_files(const hr__training *t); /* NULL: the file has none */
int64_t hr__training_batch_size(const hr__training *t);
int64_t hr__training_epochs(const hr__training *t);    /* -1: for ever */
int64_t hr__training_max_steps(const hr__training *t); /* 0: none */
uint64_t hr__training_seed(const hr__training *t);
const char *hr__training_identity(const hr__training *t); /* hr_run_config.identity */

#ifdef __cplusplus
}
#endif
#endif
