/* What the files of the topic keras share: models and data from a case's JSON. */
#ifndef GOLDEN_KERAS_H
#define GOLDEN_KERAS_H

#include "tests/golden/golden.h"

#include <headrace/models.h>

/* ---- layers from their JSON (golden_keras_layers.c) ---- */

/* The layer of a class with its config; NULL: not built, or a config that was not read, which c->why says. */
hr_layer *keras_layer(golden_case *c, const cJSON *json);
/* The same of convolutions, pools, edges, normalizations and merges; NULL: another class (golden_keras_images.c). */
hr_layer *keras_image_layer(golden_case *c, const char *class, const char *name, const cJSON *config);
/* Those of golden_keras_sequences.c; NULL: it is none of them. */
hr_layer *keras_sequence_layer(golden_case *c, const char *class, const char *name, const cJSON *config);
/* What a config has, by Keras's names. A text lives as long as the case. */
hr_initializer keras_initializer(golden_case *c, const cJSON *config, const char *key);
hr_regularizer keras_regularizer(const cJSON *config, const char *key);
hr_constraint keras_constraint(const cJSON *config, const char *key);

/* ---- models (golden_keras_models.c) ---- */

/* The model of a case; NULL: c->why says what lacks. An error of the model is in the model. */
hr_model *keras_model(golden_case *c, const cJSON *json);

/* ---- compile (golden_keras_compile.c) ---- */

/* Compiles the model; false: c->why says what is not built. What fails is in the model. */
bool keras_compile(golden_case *c, hr_model *m, const cJSON *json, bool tf_compat);

/* ---- data (golden_keras_data.c) ---- */

enum { KERAS_TENSORS = 16 };
/* Tensors with the names that datasets of models have: "0/p", "1/o", "2". */
typedef struct keras_data {
    hr_tensor tensor[KERAS_TENSORS];
    char name[KERAS_TENSORS][64];
    const char *names[KERAS_TENSORS];
    int count;
} keras_data;
/* Reads the fields x, y, sample_weight of `json` with this prefix ("", "val_") that are there. */
bool keras_read_data(golden_case *c, const cJSON *json, const char *prefix, keras_data *out);
void keras_data_clear(keras_data *d);
hr_dataset *keras_dataset(const keras_data *d);
/* Rows first .. last - 1 of all, as views. */
void keras_rows(const keras_data *d, int64_t first, int64_t last, hr_tensor *out);

/* ---- callbacks (golden_keras_callbacks.c) ---- */

enum { KERAS_CALLBACKS = 8, KERAS_CALLS = 256 };
/* Callbacks of a case, and what they note. */
typedef struct keras_callbacks {
    hr_callback *callback[KERAS_CALLBACKS];
    int count;
    int64_t best_epoch, stopped_epoch;
    char call[KERAS_CALLS][128];
    int calls;
    const cJSON *by_epoch; /* of a scheduler */
    double factor;
    char csv[256], separator;
} keras_callbacks;
/* False: c->why says what is not built. */
bool keras_read_callbacks(golden_case *c, const cJSON *fit, keras_callbacks *k);
golden_result keras_compare_callbacks(golden_case *c, const keras_callbacks *k, const cJSON *expect);

/* ---- runs (golden_keras_run.c) ---- */

golden_result keras_run(golden_case *c, bool tf_compat);

/* ---- other kinds of cases ---- */
golden_result keras_builds(golden_case *c);  /* layers alone */
golden_result keras_files(golden_case *c);   /* files of weights */
golden_result keras_summary(golden_case *c); /* the text of a summary */

#endif
