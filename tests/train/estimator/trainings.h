/* What the tests of estimators share: records on disk that can be learnt from, and classifiers of every kind for
 * them. */
#ifndef TRAININGS_H
#define TRAININGS_H

#include <headrace/estimator.h>

enum { ROWS = 240, FILES = 4 };

/* Writes data-0.tfrecord ... of examples {age float, sex and town strings, label int64} into `folder`, emptied before.
 * The label follows from age and sex. */
void write_rows(const char *folder, int rows);
void write_rows_with_nan(const char *folder, int rows); /* one age is no number */
void write_rows_with_label(const char *folder, int rows, int row,
                           double label); /* labels are floats; this one's is given */

typedef enum which { LINEAR, DNN, COMBINED } which;

typedef struct classifier_spec {
    which kind;
    const char *model_dir;
    const int *workers;
    const char *identity;
    int64_t save_steps; /* 0: by the clock */
    bool async;
    hr_products products;
    bool large; /* layers and embeddings whose products are worth several threads */
} classifier_spec;
hr_estimator *new_test_classifier(const classifier_spec *spec);

/* An input function: the folder's files, shuffled, `epochs` times, in batches of `batch`. */
typedef struct test_input {
    const char *folder;
    int64_t epochs, batch;
    bool float_label;
} test_input;
hr_dataset *test_input_fn(void *user);
hr_dataset *test_eval_fn(void *user); /* in order, once */

#endif
