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

/* ---- what canned estimators share ---- */

bool hr__columns_copy(hr_column_list from, hr_column_list *to); /* own references. False: no memory */
void hr__columns_free(hr_column_list *list);                    /* of such a copy */
/* Both, one after the other; borrows. False: no memory. */
bool hr__columns_join(hr_column_list a, hr_column_list b, hr_column_list *to);
/* The components of the columns, and the weights that a head wants, if there are any: records that are only scored may
 * lack them, as they may lack labels. Takes `ds`. */
hr_dataset *hr__columns_input(hr_dataset *ds, hr_column_list columns, const hr_head *head);
/* What keeps an estimator from working, found at its first use: `lacks`, or what is wrong with its head. NULL:
 * nothing. */
void hr__estimator_refuse(hr_estimator *e, const char *lacks, const hr_head *head);

#endif
