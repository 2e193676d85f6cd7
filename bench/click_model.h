/* The models of clicks that train and predict: 41 wide columns, 39 deep ones (embeddings of 16, layers 256-128-64), over
 * the Criteo-like rows. */
#ifndef CLICK_MODEL_H
#define CLICK_MODEL_H

#include "bench/bench.h"
#include <headrace/estimator.h>

enum { CLICK_ROWS = 512, WIDE = 41, DEEP = 39, CLICK_LAYERS = 3 };

typedef struct click_model {
    const char *folder; /* of the data */
    bool wide, deep;
    bool in_order;               /* rows are not shuffled */
    int rows;                    /* of a batch; 0: CLICK_ROWS */
    int64_t units[CLICK_LAYERS]; /* of the deep layers; 0: 256, 128, 64 */
    int dimension;               /* of the embeddings; 0: 16 */
    /* its own */
    hr_feature_column *column[WIDE + DEEP];
    int columns;
} click_model;

void click_columns(click_model *m); /* makes its columns: click_estimator does */
/* Gives an estimator; the model lives as long. The configuration has all but the seed. */
hr_estimator *click_estimator(click_model *m, const char *dir, const hr_run_config *config);
/* An input function; `user` is the model whose estimator was made. Batches of m->rows, no shorter one. */
hr_dataset *click_input(void *user);
void click_clear(click_model *m); /* after its estimator */

#endif
