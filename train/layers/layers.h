/* Headrace, the layers: from a batch's components to logits, losses and metrics.
 *
 *     hr_features *features = hr_placeholders_for(g, hr_dataset_schema(ds));
 *     hr_node net = hr_input_layer(features, columns);
 *     net = hr_dense(net, 128, .activation = hr_relu_fn, .name = "hiddenlayer_0");
 *     hr_node logits = hr_dense(net, 1, .name = "logits");
 *     hr_node loss = hr_sigmoid_cross_entropy_loss(hr_label(features), logits);
 *
 *     hr_feed_element(features, element, feeds, &count, &err);
 *     hr_session_run(s, feeds, count, &train, 1, NULL, &err);
 *
 * Variables, their names, scopes and order are TensorFlow's. Failures stick to the graph. */
#ifndef HR_LAYERS_H
#define HR_LAYERS_H

#include <headrace/data.h>
#include <headrace/feature_columns.h>
#include <headrace/graph.h>
#include <headrace/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- features: the nodes of a batch's components, by name ---- */

typedef struct hr_features hr_features;

/* A placeholder for every component of the schema of batches (or of single elements, fed as a batch of one): "name",
 * [-1, shape of a row]; a ragged or sparse one has two, its values [-1] and "name/row_splits" int32 [-1]; one that is
 * ragged in two levels a third, "name/step_splits". What a graph does not allow in a name becomes '_' in those of the
 * nodes ("mean radius": mean_radius); components are found by their own names. Gives (hr_features_free); NULL: no
 * memory. Copies the names. */
HR_API hr_features *hr_placeholders_for(hr_graph *g, const hr_schema *schema);
HR_API hr_features *hr_features_new(hr_graph *g); /* empty. Gives; NULL: no memory */
/* One more, made by hand. `row_splits`: none if dense. Copies the name. */
HR_API hr_status hr_features_add(hr_features *features, const char *name, hr_node values, hr_node row_splits,
                                 bool label);
/* One of a sequence, ragged in two levels: rows of steps, steps of values. */
HR_API hr_status hr_features_add_sequence(hr_features *features, const char *name, hr_node values, hr_node row_splits,
                                          hr_node step_splits);
HR_API void hr_features_free(hr_features *features); /* NULL: nothing */

/* The graph they were made in; whether there is a component of that name. */
HR_API hr_graph *hr_features_graph(const hr_features *features);
HR_API bool hr_features_has(const hr_features *features, const char *name);
HR_API hr_node hr_feature_values(const hr_features *features, const char *name); /* fails the graph if there is none */
HR_API hr_node hr_feature_row_splits(const hr_features *features, const char *name);  /* no node: dense */
HR_API hr_node hr_feature_step_splits(const hr_features *features, const char *name); /* no node: at most one level */
/* How many components there are, and their names. */
HR_API int hr_features_count(const hr_features *features);
HR_API const char *hr_features_name(const hr_features *features, int i); /* borrows from the features */
HR_API hr_node hr_label(const hr_features *features);                    /* the first label; no node if there is none */

/* How many feeds an element needs at most. */
HR_API int hr_features_feeds(const hr_features *features);
/* Feeds of a batch, without a copy: they borrow from the element. `feeds` has space for hr_features_feeds of them. */
HR_API hr_status hr_feed_element(const hr_features *features, const hr_element *e, hr_feed *feeds, int *count,
                                 hr_error *err);

/* ---- layers ---- */

/* What follows a dense layer, element by element. The functions carry TensorFlow's names and do as they do. */
typedef hr_node hr_activation_fn(hr_node x);
HR_API hr_node hr_relu_fn(hr_node x);
HR_API hr_node hr_relu6_fn(hr_node x);
HR_API hr_node hr_elu_fn(hr_node x);
HR_API hr_node hr_selu_fn(hr_node x);
HR_API hr_node hr_sigmoid_fn(hr_node x);
HR_API hr_node hr_tanh_fn(hr_node x);
HR_API hr_node hr_softplus_fn(hr_node x);
HR_API hr_node hr_softsign_fn(hr_node x);
HR_API hr_activation_fn *hr_activation_named(const char *name); /* "relu"; NULL: there is none */
HR_API const char *hr_activation_name_at(int i);                /* NULL after the last */

typedef struct hr_dense_opts {
    size_t struct_size;
    const char *name;                  /* variable scope; default "dense", made unique */
    hr_activation_fn *activation;      /* default: none */
    hr_initializer kernel_initializer; /* default: Glorot's uniform */
    hr_initializer bias_initializer;   /* default: zeros */
    bool no_bias, not_trainable;
} hr_dense_opts;
/* activation(x kernel + bias), x [..., k], kernel [k, units]. */
HR_API hr_node hr_dense_with(hr_node x, int64_t units, const hr_dense_opts *opts);
#define hr_dense(...) HR_CALL2_(hr_dense_with, hr_dense_opts, __VA_ARGS__, .struct_size = sizeof(hr_dense_opts))

typedef struct hr_input_layer_opts {
    size_t struct_size;
    const char *name; /* variable scope; default "input_layer" */
    bool not_trainable;
    bool
        tf_compat; /* refuse columns whose names are no legal scopes ("mean radius"); default: '_' stands for the rest */
} hr_input_layer_opts;
/* Dense columns, in the order of their names, one beside the other: float [n, sum of widths]. */
HR_API hr_node hr_input_layer_with(const hr_features *features, hr_column_list columns,
                                   const hr_input_layer_opts *opts);
#define hr_input_layer(...)                                                                                            \
    HR_CALL2_(hr_input_layer_with, hr_input_layer_opts, __VA_ARGS__, .struct_size = sizeof(hr_input_layer_opts))

/* Columns of sequences, in the order of their names, side by side at every step: [n, most steps, sum of widths], float
 * (or the one type of sequence_numeric columns); steps that a row does not have are zero, or a column's default.
 * `sequence_length` (NULL: not asked for): int64 [n]. Columns that disagree about a row's length fail the run. The
 * scope is "sequence_features", unless named. */
HR_API hr_node hr_sequence_features_with(const hr_features *features, hr_column_list columns, hr_node *sequence_length,
                                         const hr_input_layer_opts *opts);
#define hr_sequence_features(...)                                                                                      \
    HR_CALL3_(hr_sequence_features_with, hr_input_layer_opts, __VA_ARGS__, .struct_size = sizeof(hr_input_layer_opts))
/* `context` [n, c] after every step of `sequence` [n, steps, w]: [n, steps, w + c]. */
HR_API hr_node hr_concatenate_context_input(hr_node context, hr_node sequence);

typedef struct hr_linear_model_opts {
    size_t struct_size;
    const char *name;                   /* variable scope; default "linear_model" */
    int64_t units;                      /* default 1 */
    const hr_combiner *sparse_combiner; /* default HR_SUM */
    bool not_trainable;
} hr_linear_model_opts;
/* The sum over columns of weights by ids (or values times weights), and a bias: float [n, units]. All begin at 0. */
HR_API hr_node hr_linear_model_with(const hr_features *features, hr_column_list columns,
                                    const hr_linear_model_opts *opts);
#define hr_linear_model(...)                                                                                           \
    HR_CALL2_(hr_linear_model_with, hr_linear_model_opts, __VA_ARGS__, .struct_size = sizeof(hr_linear_model_opts))

typedef struct hr_dropout_opts {
    size_t struct_size;
    const char *name;
    int64_t seed;
} hr_dropout_opts;
/* Each value 0 with probability `rate`, the others divided by 1 - rate. */
HR_API hr_node hr_dropout_with(hr_node x, float rate, const hr_dropout_opts *opts);
#define hr_dropout(...) HR_CALL2_(hr_dropout_with, hr_dropout_opts, __VA_ARGS__, .struct_size = sizeof(hr_dropout_opts))

/* ---- losses: tf.losses; labels first ---- */

/* How the losses of the elements become one number. */
typedef enum hr_reduction {
    HR_SUM_BY_NONZERO_WEIGHTS, /* v1's default */
    HR_SUM_OVER_BATCH_SIZE,    /* v2's: sum / number of elements */
    HR_REDUCTION_SUM,
    HR_REDUCTION_MEAN, /* sum / sum of weights */
    HR_REDUCTION_NONE,
} hr_reduction;

typedef struct hr_loss_opts {
    size_t struct_size;
    const char *name;       /* name scope; default: the loss's */
    hr_node weights;        /* scalar, or broadcast to the losses; default 1 */
    hr_reduction reduction; /* default HR_SUM_BY_NONZERO_WEIGHTS */
    float label_smoothing;  /* of the cross entropies but the sparse one */
    bool not_collected;     /* default: added to the collection "losses" */
    const float *delta;     /* of the Huber loss; default 1 */
    const float *epsilon;   /* of the log loss; default 1e-7 */
    int axis;               /* of the cosine distance */
} hr_loss_opts;

/* Weighs and reduces any losses. */
HR_API hr_node hr_compute_weighted_loss_with(hr_node losses, const hr_loss_opts *opts);
#define hr_compute_weighted_loss(...)                                                                                  \
    HR_CALL1_(hr_compute_weighted_loss_with, hr_loss_opts, __VA_ARGS__, .struct_size = sizeof(hr_loss_opts))

#define HR_LOSS_(fn) HR_API hr_node fn##_with(hr_node labels, hr_node predictions, const hr_loss_opts *opts);
#define HR_LOSS_CALL_(fn, ...) HR_CALL2_(fn##_with, hr_loss_opts, __VA_ARGS__, .struct_size = sizeof(hr_loss_opts))
HR_LOSS_(hr_mean_squared_error)
HR_LOSS_(hr_absolute_difference)
HR_LOSS_(hr_cosine_distance)                   /* 1 - the product along .axis; vectors of length 1 are assumed */
HR_LOSS_(hr_log_loss)                          /* predictions: probabilities */
HR_LOSS_(hr_hinge_loss)                        /* labels 0 or 1 */
HR_LOSS_(hr_huber_loss)                        /* square near 0, linear beyond .delta */
HR_LOSS_(hr_sigmoid_cross_entropy_loss)        /* predictions: logits of the labels' shape */
HR_LOSS_(hr_softmax_cross_entropy_loss)        /* labels [n, k], logits [n, k] */
HR_LOSS_(hr_sparse_softmax_cross_entropy_loss) /* labels: classes [n] or [n, 1] */
#define hr_mean_squared_error(...) HR_LOSS_CALL_(hr_mean_squared_error, __VA_ARGS__)
#define hr_absolute_difference(...) HR_LOSS_CALL_(hr_absolute_difference, __VA_ARGS__)
#define hr_cosine_distance(...) HR_LOSS_CALL_(hr_cosine_distance, __VA_ARGS__)
#define hr_log_loss(...) HR_LOSS_CALL_(hr_log_loss, __VA_ARGS__)
#define hr_hinge_loss(...) HR_LOSS_CALL_(hr_hinge_loss, __VA_ARGS__)
#define hr_huber_loss(...) HR_LOSS_CALL_(hr_huber_loss, __VA_ARGS__)
#define hr_sigmoid_cross_entropy_loss(...) HR_LOSS_CALL_(hr_sigmoid_cross_entropy_loss, __VA_ARGS__)
#define hr_softmax_cross_entropy_loss(...) HR_LOSS_CALL_(hr_softmax_cross_entropy_loss, __VA_ARGS__)
#define hr_sparse_softmax_cross_entropy_loss(...) HR_LOSS_CALL_(hr_sparse_softmax_cross_entropy_loss, __VA_ARGS__)

/* All of the collection "losses", and of "regularization_losses", added up; an error if there are none. */
HR_API hr_node hr_get_total_loss(hr_graph *g);

/* ---- streaming metrics: tf.metrics; local variables "<name>/total", ... ---- */

/* Run `update` on each batch (it gives the value so far), fetch `value` at the end. */
typedef struct hr_metric {
    hr_node value, update;
} hr_metric;

/* What the area is taken under, and how it is summed: TensorFlow's `curve` and `summation_method`. */
typedef enum hr_curve { HR_ROC, HR_PR } hr_curve;
typedef enum hr_auc_summation { HR_TRAPEZOIDAL, HR_CAREFUL_INTERPOLATION, HR_MINORING, HR_MAJORING } hr_auc_summation;
typedef struct hr_metric_opts {
    size_t struct_size;
    const char *name; /* variable scope; default: the metric's, made unique */
    hr_node weights;  /* broadcast to the values; default 1 */
    /* auc only */
    int num_thresholds; /* default 200 */
    hr_curve curve;
    hr_auc_summation summation;
    bool keras; /* without the 1e-6 that v1 adds to each rate, undefined rates 0: what v2 estimators report */
    /* precision, recall only */
    const float *threshold; /* positive if above; default: labels and predictions cast to bool */
} hr_metric_opts;
#define HR_METRIC_CALL1_(fn, ...)                                                                                      \
    HR_CALL1_(fn##_with, hr_metric_opts, __VA_ARGS__, .struct_size = sizeof(hr_metric_opts))
#define HR_METRIC_CALL2_(fn, ...)                                                                                      \
    HR_CALL2_(fn##_with, hr_metric_opts, __VA_ARGS__, .struct_size = sizeof(hr_metric_opts))
/* TensorFlow's metrics of these names: the mean of values, the share of equal pairs, the area under a curve, precision and
 * recall. Predictions of AUC are probabilities; those of the others are compared, or taken as true where not 0. */
HR_API hr_metric hr_metric_mean_with(hr_node values, const hr_metric_opts *opts);
HR_API hr_metric hr_metric_accuracy_with(hr_node labels, hr_node predictions, const hr_metric_opts *opts);
HR_API hr_metric hr_metric_auc_with(hr_node labels, hr_node predictions, const hr_metric_opts *opts);
HR_API hr_metric hr_metric_precision_with(hr_node labels, hr_node predictions, const hr_metric_opts *opts);
HR_API hr_metric hr_metric_recall_with(hr_node labels, hr_node predictions, const hr_metric_opts *opts);
#define hr_metric_mean(...) HR_METRIC_CALL1_(hr_metric_mean, __VA_ARGS__)
#define hr_metric_accuracy(...) HR_METRIC_CALL2_(hr_metric_accuracy, __VA_ARGS__)
#define hr_metric_auc(...) HR_METRIC_CALL2_(hr_metric_auc, __VA_ARGS__)
#define hr_metric_precision(...) HR_METRIC_CALL2_(hr_metric_precision, __VA_ARGS__)
#define hr_metric_recall(...) HR_METRIC_CALL2_(hr_metric_recall, __VA_ARGS__)

/* ---- exact scores of a binary classifier, in float64, without a graph ---- */

typedef struct hr_binary_scores hr_binary_scores;
/* The scores of a binary classifier. */
typedef struct hr_binary_result {
    int64_t count, positives;
    double auc;      /* area under ROC, ties count half; NaN if one class is missing */
    double auc_pr;   /* average precision; NaN without positives */
    double log_loss; /* mean; probabilities clipped to [1e-7, 1 - 1e-7] */
    double accuracy; /* class 1 if the probability is above 0.5 */
    double label_mean, prediction_mean;
} hr_binary_result;
HR_API hr_binary_scores *hr_binary_scores_new(void); /* gives; NULL: no memory */
/* Labels: positive if not 0. Keeps 8 bytes a pair. */
HR_API hr_status hr_binary_scores_add(hr_binary_scores *s, const float *labels, const float *probabilities,
                                      int64_t count, hr_error *err);
HR_API hr_status hr_binary_scores_result(hr_binary_scores *s, hr_binary_result *out, hr_error *err);
HR_API void hr_binary_scores_free(hr_binary_scores *s); /* NULL: nothing */

#ifdef __cplusplus
}
#endif
#endif
