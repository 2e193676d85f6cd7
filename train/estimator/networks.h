/* The networks of canned estimators: logits from columns. Not a public header. */
#ifndef HR_NETWORKS_H
#define HR_NETWORKS_H

#include "train/estimator/estimator_internal.h"

enum { MAX_LAYERS = 24 }; /* summaries are written of so many */

/* What a model is made of, and its options. */
typedef struct network {
    bool linear, dnn, baseline, combined;            /* combined: of both halves, though one may be left out */
    hr_column_list linear_columns, dnn_columns, all; /* own references; `all` is both, and borrows */
    int64_t *units;
    int hidden;
    hr_activation_fn *activation;
    float dropout;
    bool batch_norm, v1;
    bool forgets_shared; /* tables of shared embeddings are not trained */
    hr_combiner combiner;
    char training_scope[32]; /* of variables of optimizers without v1 */
    /* Tags of summaries: they live as long as any graph. Logits and the linear half come last. */
    struct {
        char fraction[80], activation[80];
    } layer[MAX_LAYERS + 2];
} network;

/* [n, dimension]: the sum of the halves. */
hr_node hr__network_logits(network *net, const hr_model_call *call, int64_t dimension);

#endif
