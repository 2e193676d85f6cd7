/* A small wide and deep model with its training step, for tests of running and differentiating. */
#ifndef MODEL_H
#define MODEL_H

#include <headrace/graph.h>
#include <headrace/nn.h>
#include <headrace/ops.h>

enum { MODEL_VARIABLES = 6, MODEL_ROWS = 64, MODEL_IDS = 3, MODEL_BUCKETS = 50, MODEL_DIM = 4, MODEL_DENSE = 5 };

typedef struct model {
    hr_node dense, ids, splits, labels; /* to be fed */
    hr_node logits, loss, init, train;
    hr_node variable[MODEL_VARIABLES];
    hr_gradient gradient[MODEL_VARIABLES];
} model;

/* In `g`; the step is plain gradient descent. */
model model_build(hr_graph *g, int width);

typedef struct model_batch {
    float dense[MODEL_ROWS * MODEL_DENSE], labels[MODEL_ROWS];
    int64_t ids[MODEL_ROWS * MODEL_IDS];
    int32_t splits[MODEL_ROWS + 1];
    hr_feed feeds[4];
} model_batch;
/* Batch number `number`, of `rows`; ids below 0 and empty rows among them. */
void model_fill(const model *m, model_batch *batch, int number, int rows);

#endif
