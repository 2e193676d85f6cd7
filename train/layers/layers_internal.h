/* What files of this room share. Not a public header. */
#ifndef HR_LAYERS_INTERNAL_H
#define HR_LAYERS_INTERNAL_H

#include "train/graph/graph_op.h"
#include "train/layers/layers.h"

#include <headrace/column_graph.h>

enum { HR__NAME = 512 };

/* Begins the variable scope of a layer, which hr_scope_end ends: `name`; NULL: `base`, made unique. */
void hr__layer_begin(hr_graph *g, const char *name, const char *base);
/* The type of the weights of a layer over `x`: that of x, or float. */
hr_dtype hr__layer_type(hr_node x);
/* A variable of the current scope. What it costs goes to the collection "regularization_losses". */
typedef struct hr__weight {
    const char *name;
    hr_dtype dtype;
    hr_shape shape;
    hr_initializer initializer;
    hr_regularizer regularizer;
    bool not_trainable;
} hr__weight;
hr_node hr__layer_weight(hr_graph *g, const hr__weight *w);
hr_initializer hr__initializer_or(hr_initializer given, hr_initializer otherwise);

/* Floats as a variable of that shape would begin; zeros for an initializer that is none. Gives *out. */
hr_status hr__initial_values(hr_initializer initializer, hr_shape shape, int64_t seed, hr_tensor *out, hr_error *err);

/* ---- ids, fed or made by the graph (lookups.c) ---- */

/* Ids of rows, or of steps. If they are fed, with splits; if the graph makes them itself, with the number of the row of
 * each id, int64 [n], and how many rows there are. */
typedef struct hr__ids {
    hr_node ids, weights; /* weights: none */
    hr_node splits;
    hr_node segments, count;
    bool all_count; /* no id is below 0 */
} hr__ids;
/* Those of a column's component; by step if it is a sequence's and they are wanted so. On a failure the graph has the
 * error. */
hr_status hr__ids_of(const hr_features *features, const hr_column_info *info, bool by_step, hr__ids *out);
hr_node hr__ids_look_up(const hr__ids *in, hr_node table, hr_combiner combiner,
                        float max_norm);                 /* [count, dimension] */
hr_node hr__ids_count(const hr__ids *in, int64_t depth); /* [count, depth] */
hr_node hr__rows_of(hr_node indices);                    /* the rows of indices [n, 2] */
/* Sequences that the graph makes itself: the lengths of rows, on which all columns must agree, and steps [steps, width]
 * at their rows and places, [rows, most steps, width]. */
hr_node hr__lengths_by_ops(const hr_node *splits, int count);
hr_node hr__padded_by_ops(hr_node steps, hr_node indices, hr_node lengths, int64_t width, hr_node padding);

/* Rows no longer than max_norm, if it is above 0: each along its last `rank` dimensions; -1: not known, which fails. */
hr_node hr__clipped_rows(hr_node rows, int rank, float max_norm);

/* A node as kinds of columns know it, and the other way. */
static inline hr_node hr__from_column(hr_column_node n) { return (hr_node){n.graph, n.id, n.output}; }
static inline hr_column_node hr__to_column(hr_node n) { return (hr_column_node){n.graph, n.id, n.output}; }

/* ---- features that a graph makes itself ---- */

/* A component of which each value, or each step, has its row and place: int64 [n, 2]; `all_count`: no id is below 0.
 * Copies the name. */
hr_status hr__features_add_sparse(hr_features *features, const char *name, hr_node values, hr_node row_splits,
                                  hr_node step_splits, hr_node indices, bool all_count);
bool hr__feature_all_count(const hr_features *features, const char *name);
hr_node hr__feature_indices(const hr_features *features, const char *name); /* no node: dense, or fed */
void hr__features_set_rows(hr_features *features, hr_node rows);            /* how many rows there are, int64 */
hr_node hr__features_rows(const hr_features *features);
/* `value`, of which a run fails with this message unless all of `condition` holds. */
hr_node hr__checked(hr_node value, hr_node condition, const char *message);

/* Makes the nodes of columns, of each column once, from those of the features of a spec. Borrows both. */
typedef struct hr__column_maker hr__column_maker;
hr__column_maker *hr__column_maker_new(hr_graph *g, const hr_parse_spec *spec, const hr_column_nodes *raw);
void hr__column_maker_free(hr__column_maker *m); /* NULL: nothing */
hr_status hr__column_nodes(hr__column_maker *m, const hr_feature_column *column, hr_column_nodes *out, hr_error *err);

/* The dense form of a column, float [n, width]; makes an embedding's table in the current variable scope. */
hr_node hr__dense_column(const hr_features *features, const hr_column_info *info, bool not_trainable);

/* The same labels and predictions, both float32, if their shapes agree. */
bool hr__same_shape(hr_node a, hr_node b, const char *what);
/* Whether weights are a scalar, or of the rank of what they weigh with each dimension equal or 1; else the graph fails. */
bool hr__weights_fit(hr_node values, hr_node weights, const char *what);

/* ---- Keras: one set of losses, which are metrics, too (keras_losses.c) ---- */

/* The name of its function, "mean_squared_error", of any name that Keras has for a loss; NULL: it has none of it. */
const char *hr__keras_function(const char *name);
/* The losses of the rows by the function of that name. Labels and predictions are float or double. */
hr_node hr__keras_rows(const char *function, hr_node labels, hr_node predictions, const hr_keras_loss_opts *opts);
/* Whether two names are the same but for case and '_'. */
bool hr__same_word(const char *a, const char *b);

#endif
