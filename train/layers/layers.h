/* Headrace, layers: build logits, losses and metrics from the components of a batch.
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
 * Variables have TensorFlow's names, scopes and order. The first error stays with the graph (hr_graph_error). */
#ifndef HR_LAYERS_H
#define HR_LAYERS_H

#include <headrace/data.h>
#include <headrace/feature_columns.h>
#include <headrace/graph.h>
#include <headrace/network.h>
#include <headrace/nn.h>
#include <headrace/ops.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- features: the nodes of a batch's components, by name ---- */

typedef struct hr_features hr_features;

/* Makes a placeholder for every component of a schema of batches (or of single elements, which are fed as a batch of
 * one). A dense component is "name", [-1, shape of a row]. A ragged or sparse one has two: "name" with its values, [-1]
 * and the fixed inner dimensions, if any, and "name/row_splits", int32 [-1]. One that is ragged in two levels has a
 * third, "name/step_splits", int32 [-1]. In the names of nodes, '_' replaces each character that a graph does not allow
 * ("mean radius": mean_radius); components are found by their own names. Gives (hr_features_free); NULL: no memory.
 * Copies the names. */
HR_API hr_features *hr_placeholders_for(hr_graph *g, const hr_schema *schema);
HR_API hr_features *hr_features_new(hr_graph *g); /* without components. Gives; NULL: no memory */
/* Adds a component with nodes of your own. `row_splits`: no node if it is dense. Copies the name. */
HR_API hr_status hr_features_add(hr_features *features, const char *name, hr_node values, hr_node row_splits,
                                 bool label);
/* Adds a sequence, which is ragged in two levels: rows of steps, steps of values. Copies the name. */
HR_API hr_status hr_features_add_sequence(hr_features *features, const char *name, hr_node values, hr_node row_splits,
                                          hr_node step_splits);
/* Features that the graph makes itself of serialized tf.Examples, string [n]: predictions without a pipeline, and graphs
 * that can be exported. A ParseExampleV2 of hr_make_parse_example_spec(columns, ...), with its options, and on its
 * outputs the columns: all that hr_transform_features gives, with equal ids (its .tf_compat counts where a column itself
 * has it), and the label and the weight column if the
 * options name them. Layers over such features make TensorFlow's ops only. Vocabularies are tables, which
 * hr_tables_initializer fills. Gives; NULL: no memory, or `serialized` is no node. HR_UNIMPLEMENTED, "column.to_graph":
 * ops cannot say what a column does (a normalizer_fn, a kind from outside without to_graph). */
HR_API hr_features *hr_features_from_examples_with(hr_node serialized, hr_column_list columns,
                                                   const hr_parse_example_spec_opts *opts);
#define hr_features_from_examples(...)                                                                                 \
    HR_CALL2_(hr_features_from_examples_with, hr_parse_example_spec_opts, __VA_ARGS__,                                 \
              .struct_size = sizeof(hr_parse_example_spec_opts))
/* A feature that a graph is given without an Example around it. */
typedef struct hr_given_feature {
    const char *name;             /* as columns know it */
    hr_node values;               /* of each row */
    hr_node indices, dense_shape; /* of a sparse one, int64 [n, 2] and [2], whose values are [n]; else none */
} hr_given_feature;
/* The same of such features: a dense one of one value or list a row. Where columns read lists of any length, those of a
 * dense one are ended by what is missing, "" or -1, as in TensorFlow. HR_NOT_FOUND, "layers.feature": a column reads a
 * feature that is not given. */
HR_API hr_features *hr_features_from_values_with(hr_graph *g, const hr_given_feature *given, int count,
                                                 hr_column_list columns, const hr_parse_example_spec_opts *opts);
#define hr_features_from_values(...)                                                                                   \
    HR_CALL4_(hr_features_from_values_with, hr_parse_example_spec_opts, __VA_ARGS__,                                   \
              .struct_size = sizeof(hr_parse_example_spec_opts))
HR_API void hr_features_free(hr_features *features); /* NULL: nothing */

/* The graph of the features (borrows), and whether they have a component of that name. */
HR_API hr_graph *hr_features_graph(const hr_features *features);
HR_API bool hr_features_has(const hr_features *features, const char *name);
HR_API hr_node hr_feature_values(const hr_features *features, const char *name); /* fails the graph if there is none */
HR_API hr_node hr_feature_row_splits(const hr_features *features, const char *name);  /* no node: dense */
HR_API hr_node hr_feature_step_splits(const hr_features *features, const char *name); /* no node: at most one level */
/* The number of components, and their names. */
HR_API int hr_features_count(const hr_features *features);
HR_API const char *hr_features_name(const hr_features *features, int i); /* borrows from the features */
HR_API hr_node hr_label(const hr_features *features);                    /* the first label; no node if there is none */

/* The max number of feeds of an element. */
HR_API int hr_features_feeds(const hr_features *features);
/* Makes the feeds of a batch without a copy: they borrow from the element. `feeds` has a capacity of
 * hr_features_feeds. */
HR_API hr_status hr_feed_element(const hr_features *features, const hr_element *e, hr_feed *feeds, int *count,
                                 hr_error *err);

/* ---- layers over feature columns; others: network.h ---- */

typedef struct hr_input_layer_opts {
    size_t struct_size;
    const char *name; /* variable scope; default "input_layer", or "input_layer_1", ... if taken */
    bool not_trainable;
    /* Refuses columns whose names are no legal scopes ("mean radius"). Default: '_' replaces illegal characters. */
    bool tf_compat;
    bool freeze_shared; /* tables of hr_shared_embedding columns without .v1 lie at the root and are not trained */
} hr_input_layer_opts;
/* Concatenates dense columns, sorted by name: float [n, sum of widths]. */
HR_API hr_node hr_input_layer_with(const hr_features *features, hr_column_list columns,
                                   const hr_input_layer_opts *opts);
#define hr_input_layer(...)                                                                                            \
    HR_MADE_(                                                                                                          \
        HR_CALL2_(hr_input_layer_with, hr_input_layer_opts, __VA_ARGS__, .struct_size = sizeof(hr_input_layer_opts)))

/* Concatenates columns of sequences, sorted by name, at every step: [n, max steps, sum of widths], float (or the type
 * of the sequence_numeric columns, if all have the same). Missing steps of shorter rows are zero, or the default value
 * of the column. Gives the number of steps of each row in *sequence_length, int64 [n], unless NULL. A run fails if
 * columns have different lengths in a row. The default scope is "sequence_features", or "sequence_features_1", ... if
 * taken. */
HR_API hr_node hr_sequence_features_with(const hr_features *features, hr_column_list columns, hr_node *sequence_length,
                                         const hr_input_layer_opts *opts);
#define hr_sequence_features(...)                                                                                      \
    HR_MADE_(HR_CALL3_(hr_sequence_features_with, hr_input_layer_opts, __VA_ARGS__,                                    \
                       .struct_size = sizeof(hr_input_layer_opts)))
/* Appends `context` [n, c] to every step of `sequence` [n, steps, w]: [n, steps, w + c]. */
HR_API hr_node hr_concatenate_context_input(hr_node context, hr_node sequence);

typedef struct hr_word_vectors_opts {
    size_t struct_size;
    bool binary;                /* word2vec's binary form; default: its text, or GloVe's, without a first line */
    hr_initializer initializer; /* of words that the file does not have, and of buckets; default: zeros */
    int64_t num_oov_buckets;    /* rows after those of the words */
    int64_t *found;             /* how many of the words the file has; filled in, unless NULL */
} hr_word_vectors_opts;
/* The vectors that a file has for the words of a vocabulary: float [words + num_oov_buckets, dimension] in *out, gives
 * (hr_tensor_clear). The first vector of a word counts. The file may be of any size: only these rows are kept. A table
 * begins with them by .initializer = hr_initial_value(&out); for an embedding column, write them into a checkpoint
 * (hr_bundle_add) and name it in .ckpt_to_load_from. HR_NOT_FOUND: there is no such file. HR_DATA_LOSS,
 * "layers.word_vectors": it is none; the error has line and offset. */
HR_API hr_status hr_word_vectors_with(const char *file, hr_vocabulary_list words, hr_tensor *out, hr_error *err,
                                      const hr_word_vectors_opts *opts);
#define hr_word_vectors(...)                                                                                           \
    HR_CALL4_(hr_word_vectors_with, hr_word_vectors_opts, __VA_ARGS__, .struct_size = sizeof(hr_word_vectors_opts))

typedef struct hr_linear_model_opts {
    size_t struct_size;
    const char *name;                   /* variable scope; default "linear_model", or "linear_model_1", ... */
    int64_t units;                      /* default 1 */
    const hr_combiner *sparse_combiner; /* default HR_SUM */
    bool not_trainable;
} hr_linear_model_opts;
/* The sum over all columns of the weights of their ids, or of values times weights, plus a bias: float [n, units].
 * Weights and bias begin at 0. */
HR_API hr_node hr_linear_model_with(const hr_features *features, hr_column_list columns,
                                    const hr_linear_model_opts *opts);
#define hr_linear_model(...)                                                                                           \
    HR_MADE_(HR_CALL2_(hr_linear_model_with, hr_linear_model_opts, __VA_ARGS__,                                        \
                       .struct_size = sizeof(hr_linear_model_opts)))

/* ---- losses: those of tf.losses; the labels are the first argument ---- */

/* How the losses of all elements are reduced to one number. */
typedef enum hr_reduction {
    HR_SUM_BY_NONZERO_WEIGHTS, /* sum / number of weights that are not 0: the default of TensorFlow 1 */
    HR_SUM_OVER_BATCH_SIZE,    /* sum / number of elements: the default of TensorFlow 2 */
    HR_REDUCTION_SUM,
    HR_REDUCTION_MEAN, /* sum / sum of weights */
    HR_REDUCTION_NONE, /* not reduced */
} hr_reduction;

typedef struct hr_loss_opts {
    size_t struct_size;
    const char *name;       /* name scope; default: the loss's */
    hr_node weights;        /* a scalar, or of the losses' rank and broadcast to them; default 1 */
    hr_reduction reduction; /* default HR_SUM_BY_NONZERO_WEIGHTS */
    float label_smoothing;  /* of the sigmoid and the softmax cross entropy */
    bool not_collected;     /* default: the loss is added to the collection "losses", unless the graph is eager */
    const float *delta;     /* of the Huber loss; default 1 */
    const float *epsilon;   /* of the log loss; default 1e-7 */
    int axis;               /* of the cosine distance */
} hr_loss_opts;

/* Multiplies losses of your own by the weights and reduces them. */
HR_API hr_node hr_compute_weighted_loss_with(hr_node losses, const hr_loss_opts *opts);
#define hr_compute_weighted_loss(...)                                                                                  \
    HR_MADE_(HR_CALL1_(hr_compute_weighted_loss_with, hr_loss_opts, __VA_ARGS__, .struct_size = sizeof(hr_loss_opts)))

#define HR_LOSS_(fn) HR_API hr_node fn##_with(hr_node labels, hr_node predictions, const hr_loss_opts *opts);
#define HR_LOSS_CALL_(fn, ...)                                                                                         \
    HR_MADE_(HR_CALL2_(fn##_with, hr_loss_opts, __VA_ARGS__, .struct_size = sizeof(hr_loss_opts)))
HR_LOSS_(hr_mean_squared_error)
HR_LOSS_(hr_absolute_difference)
HR_LOSS_(hr_cosine_distance)                   /* 1 - the inner product along .axis; vectors must have length 1 */
HR_LOSS_(hr_log_loss)                          /* predictions: probabilities */
HR_LOSS_(hr_hinge_loss)                        /* labels 0 or 1 */
HR_LOSS_(hr_huber_loss)                        /* quadratic up to .delta, then linear */
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

/* The mean square of what differs between the pairs of a row, where differences are predictions - labels: for each row
 * 2 sum(d^2) / (n - 1) - 2 sum(d)^2 / (n (n - 1)), where n is the number of its weights that are not 0, times the
 * weights, summed. .reduction is not used. */
HR_LOSS_(hr_mean_pairwise_squared_error)
#define hr_mean_pairwise_squared_error(...) HR_LOSS_CALL_(hr_mean_pairwise_squared_error, __VA_ARGS__)

/* The sum of the collections "losses" and "regularization_losses". It is an error if both are empty. */
HR_API hr_node hr_get_total_loss(hr_graph *g);

/* ---- losses: those of tf.nn, not reduced ---- */

/* sum(labels * (log(sum(exp(logits))) - logits)) along `axis`, which the result lacks. Labels have a gradient, too; for
 * none, as in softmax_cross_entropy_with_logits of version 1, give hr_stop_gradient(labels). Both have one shape of a
 * known rank; else "layers.shape". */
HR_API hr_node hr_softmax_cross_entropy_with_logits(hr_node labels, hr_node logits, int axis);
/* The same of classes: labels [...], int32 or int64, logits [..., k]. The run fails for a label outside of [0, k). */
HR_API hr_node hr_sparse_softmax_cross_entropy_with_logits(hr_node labels, hr_node logits);
/* (1 - z) x + (1 + (pos_weight - 1) z) (log1p(exp(-|x|)) + max(-x, 0)) of labels z and logits x of one shape. For a
 * weight of 1 there is hr_sigmoid_cross_entropy (ops.h). */
HR_API hr_node hr_weighted_cross_entropy_with_logits(hr_node labels, hr_node logits, double pos_weight);
/* exp(log_input) - log_input * targets. `full` adds t log(t) - t + log(2 pi t) / 2 for targets t outside of [0, 1]. */
HR_API hr_node hr_log_poisson_loss(hr_node targets, hr_node log_input, bool full);

typedef struct hr_sampled_loss_opts {
    size_t struct_size;
    const char *name; /* name scope; default: the loss's */
    /* Sampled classes that are true ones do not count; default: of the softmax they do not, of nce they do. */
    const bool *remove_accidental_hits;
    const hr_candidates *candidates; /* default: num_sampled of num_classes, hr_sample_candidates' log-uniform ones */
    int64_t seed;                    /* of these; 0: from the graph's seed */
} hr_sampled_loss_opts;
/* For training with many classes: losses, float [n], of the true classes and num_sampled others alone. weights [classes,
 * width] and biases [classes] are variables, also in pieces, or values, labels [n, k] the k true classes of each row,
 * int64 or int32, inputs float [n, width]; else "layers.shape". Logits are inputs weights + biases - log(how often the class is expected). nce sums the
 * sigmoid cross entropies of each class, the softmax divides 1 among the true classes. */
HR_API hr_node hr_nce_loss_with(hr_node weights, hr_node biases, hr_node labels, hr_node inputs, int64_t num_sampled,
                                int64_t num_classes, const hr_sampled_loss_opts *opts);
HR_API hr_node hr_sampled_softmax_loss_with(hr_node weights, hr_node biases, hr_node labels, hr_node inputs,
                                            int64_t num_sampled, int64_t num_classes, const hr_sampled_loss_opts *opts);
#define HR_SAMPLED_CALL_(fn, ...)                                                                                      \
    HR_MADE_(HR_CALL6_(fn##_with, hr_sampled_loss_opts, __VA_ARGS__, .struct_size = sizeof(hr_sampled_loss_opts)))
#define hr_nce_loss(...) HR_SAMPLED_CALL_(hr_nce_loss, __VA_ARGS__)
#define hr_sampled_softmax_loss(...) HR_SAMPLED_CALL_(hr_sampled_softmax_loss, __VA_ARGS__)

/* ---- losses: those of tf.keras.losses ---- */

typedef struct hr_keras_loss_opts {
    size_t struct_size;
    const char *name;            /* name scope; default: the loss's */
    hr_node weights;             /* sample_weight: broadcast to the losses of the rows; default 1 */
    hr_reduction reduction;      /* default HR_SUM_OVER_BATCH_SIZE; or HR_REDUCTION_SUM, HR_REDUCTION_NONE */
    bool from_logits;            /* cross entropies: predictions are logits; default: probabilities */
    float label_smoothing;       /* cross entropies but the sparse one */
    const int *axis;             /* cross entropies but the sparse one, cosine similarity; default -1 */
    const float *delta;          /* Huber; default 1 */
    const float *alpha, *gamma;  /* focal ones; default 0.25 and 2 */
    bool class_balancing;        /* binary focal: weighs classes by alpha and 1 - alpha */
    const int64_t *ignore_class; /* sparse: rows of this class count nothing; default: none */
    /* Cross entropies: the logits of the predictions, of the same shape, which they then use. Binary focal takes its
     * factor from the predictions all the same. Default: those of a sigmoid or softmax that the loss itself finds. */
    hr_node logits;
} hr_keras_loss_opts;
/* A loss by its name in Keras: of the class ("MeanSquaredError"), the function ("mean_squared_error") or the short one
 * ("mse"); case and '_' do not matter. With labels y and predictions p, [n, ..., k], losses are made along the last dimension, [n, ...]:
 *
 *     mse, mae, mape, msle            means of (p - y)^2, |p - y|, 100 |y - p| / max(|y|, 1e-7),
 *                                     (log(max(p, 1e-7) + 1) - log(max(y, 1e-7) + 1))^2
 *     huber                           mean of e^2 / 2 up to delta, then delta |e| - delta^2 / 2, where e = p - y
 *     logcosh                         mean of e + softplus(-2 e) - log(2)
 *     poisson                         mean of p - y log(p + 1e-7)
 *     kld                             sum of y log(y / p), both clipped to [1e-7, 1]
 *     cosine_similarity               -sum of y p, both divided by their norms
 *     hinge, squared_hinge            mean of max(1 - y p, 0), and of its square; labels that are all 0 or 1 become -1, 1
 *     categorical_hinge               max(max((1 - y) p) - sum(y p) + 1, 0)
 *     binary_crossentropy             mean of -y log(p + 1e-7) - (1 - y) log(1 - p + 1e-7), p clipped
 *     binary_focal_crossentropy       the same, times (1 - p_t)^gamma, p_t the probability of the label
 *     categorical_crossentropy        -sum of y log(p), p divided by its sum and clipped
 *     categorical_focal_crossentropy  -sum of alpha (1 - p)^gamma y log(p)
 *     sparse_categorical_crossentropy the same of classes: y [n, ...] or [n, ..., 1]
 *
 * Probabilities are clipped to [1e-7, 1 - 1e-7]. In a graph, predictions of a Sigmoid or a Softmax are computed from its
 * logits, as in Keras. Losses are float, of double predictions double. They are not collected. Errors: "layers.loss", an unknown name or reduction;
 * "layers.shape". */
HR_API hr_node hr_keras_loss_with(const char *name, hr_node labels, hr_node predictions,
                                  const hr_keras_loss_opts *opts);
#define hr_keras_loss(...)                                                                                             \
    HR_MADE_(HR_CALL3_(hr_keras_loss_with, hr_keras_loss_opts, __VA_ARGS__, .struct_size = sizeof(hr_keras_loss_opts)))

/* ---- streaming metrics: tf.metrics; local variables "<name>/total", ... ---- */

/* Run `update` with each batch: its result is the value of the metric so far. Fetch `value` at the end. */
typedef struct hr_metric {
    hr_node value, update;
} hr_metric;

/* The curve whose area is computed, and how the area is summed: TensorFlow's `curve` and `summation_method`. */
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
    /* As tf.keras.metrics: undefined rates are 0, errors are averaged over the last axis before they are weighed.
     * Default: as tf.metrics, which adds 1e-6 to each rate of auc. */
    bool keras;
    /* Of the metrics that count positives: a prediction above it is positive. Default: one that is not 0; .keras: 0.5 */
    const float *threshold;
    const float
        *thresholds; /* threshold_count of them, instead: the metric is a vector. Of auc: those between 0 and 1 */
    int threshold_count;
    const int64_t *class_id; /* this class alone counts; default: all */
    int64_t top_k;           /* of .keras and *top_k*: the k best classes count; default: all, or 5 */
    bool multi_label;        /* auc of predictions [n, labels]: the mean of the labels' areas */
    bool from_logits;        /* auc, entropies: predictions are logits */
    float label_smoothing;   /* binary and categorical entropy */
} hr_metric_opts;
#define HR_METRIC_CALL1_(fn, ...)                                                                                      \
    HR_CALL1_(fn##_with, hr_metric_opts, __VA_ARGS__, .struct_size = sizeof(hr_metric_opts))
#define HR_METRIC_CALL2_(fn, ...)                                                                                      \
    HR_CALL2_(fn##_with, hr_metric_opts, __VA_ARGS__, .struct_size = sizeof(hr_metric_opts))
#define HR_METRIC_CALL3_(fn, ...)                                                                                      \
    HR_CALL3_(fn##_with, hr_metric_opts, __VA_ARGS__, .struct_size = sizeof(hr_metric_opts))
/* TensorFlow's metrics of these names: the mean of values, the fraction of equal pairs, the area under a curve,
 * precision and recall. AUC expects probabilities. Accuracy compares labels and predictions. Precision and recall take
 * labels as positive that are not 0, and predictions by .threshold. */
HR_API hr_metric hr_metric_mean_with(hr_node values, const hr_metric_opts *opts);
HR_API hr_metric hr_metric_sum_with(hr_node values, const hr_metric_opts *opts);
/* The mean at each place of values of one shape, which must be known. */
HR_API hr_metric hr_metric_mean_tensor_with(hr_node values, const hr_metric_opts *opts);
HR_API hr_metric hr_metric_percentage_below_with(hr_node values, float threshold, const hr_metric_opts *opts);

/* Metrics of labels and predictions alone. With .thresholds, those that count positives are tf.metrics'
 * *_at_thresholds. From binary_accuracy on they are Keras's, as with .keras: means of a value of each row, whose
 * classes are the last axis; labels of sparse_* are classes [n] or [n, 1]. */
#define HR_METRICS_                                                                                                    \
    HR_METRIC_(accuracy)                                                                                               \
    HR_METRIC_(auc)                                                                                                    \
    HR_METRIC_(precision)                                                                                              \
    HR_METRIC_(recall)                                                                                                 \
    HR_METRIC_(true_positives)                                                                                         \
    HR_METRIC_(true_negatives)                                                                                         \
    HR_METRIC_(false_positives)                                                                                        \
    HR_METRIC_(false_negatives)                                                                                        \
    HR_METRIC_(mean_squared_error)                                                                                     \
    HR_METRIC_(root_mean_squared_error)                                                                                \
    HR_METRIC_(mean_absolute_error)                                                                                    \
    HR_METRIC_(binary_accuracy)                                                                                        \
    HR_METRIC_(categorical_accuracy)                                                                                   \
    HR_METRIC_(sparse_categorical_accuracy)                                                                            \
    HR_METRIC_(top_k_categorical_accuracy)                                                                             \
    HR_METRIC_(sparse_top_k_categorical_accuracy)                                                                      \
    HR_METRIC_(mean_absolute_percentage_error)                                                                         \
    HR_METRIC_(mean_squared_logarithmic_error)                                                                         \
    HR_METRIC_(logcosh)                                                                                                \
    HR_METRIC_(cosine_similarity)                                                                                      \
    HR_METRIC_(hinge)                                                                                                  \
    HR_METRIC_(squared_hinge)                                                                                          \
    HR_METRIC_(categorical_hinge)                                                                                      \
    HR_METRIC_(binary_crossentropy)                                                                                    \
    HR_METRIC_(categorical_crossentropy)                                                                               \
    HR_METRIC_(sparse_categorical_crossentropy)                                                                        \
    HR_METRIC_(kullback_leibler_divergence)                                                                            \
    HR_METRIC_(poisson)
#define HR_METRIC_(name)                                                                                               \
    HR_API hr_metric hr_metric_##name##_with(hr_node labels, hr_node predictions, const hr_metric_opts *opts);
HR_METRICS_
#undef HR_METRIC_
typedef hr_metric hr_metric_fn(hr_node labels, hr_node predictions, const hr_metric_opts *opts);
/* The metric of labels and predictions of that name, such as "auc", or of one that Keras has for it: "AUC", "mse",
 * "KLDivergence". Case and '_' do not matter. NULL: there is none. */
HR_API hr_metric_fn *hr_metric_named(const char *name);

/* Labels are classes from 0 to num_classes - 1. The update of mean_iou is the matrix of labels and predictions, that of
 * mean_per_class_accuracy a vector of the classes' accuracies. A class that was never seen counts as 0 in the second,
 * and not at all in the first. */
HR_API hr_metric hr_metric_mean_iou_with(hr_node labels, hr_node predictions, int num_classes,
                                         const hr_metric_opts *opts);
HR_API hr_metric hr_metric_mean_per_class_accuracy_with(hr_node labels, hr_node predictions, int num_classes,
                                                        const hr_metric_opts *opts);
/* Errors divided by `normalizer`, of the labels' shape; 0 where it is 0. */
HR_API hr_metric hr_metric_mean_relative_error_with(hr_node labels, hr_node predictions, hr_node normalizer,
                                                    const hr_metric_opts *opts);
/* 1 - the mean inner product along `axis`; vectors must have length 1. */
HR_API hr_metric hr_metric_mean_cosine_distance_with(hr_node labels, hr_node predictions, int axis,
                                                     const hr_metric_opts *opts);
/* One rate at the threshold where another is nearest to a value. With .keras, and always for the last two: the best
 * rate where the other is at least that value; 0 if it never is. The value is from 0 to 1, else "layers.rate". */
HR_API hr_metric hr_metric_sensitivity_at_specificity_with(hr_node labels, hr_node predictions, double specificity,
                                                           const hr_metric_opts *opts);
HR_API hr_metric hr_metric_specificity_at_sensitivity_with(hr_node labels, hr_node predictions, double sensitivity,
                                                           const hr_metric_opts *opts);
HR_API hr_metric hr_metric_precision_at_recall_with(hr_node labels, hr_node predictions, double recall,
                                                    const hr_metric_opts *opts);
HR_API hr_metric hr_metric_recall_at_precision_with(hr_node labels, hr_node predictions, double precision,
                                                    const hr_metric_opts *opts);
/* Labels [..., labels] or [...], predictions [..., classes]: the k classes of the largest predictions are compared with
 * the labels as sets; equal ones in the order of the classes. Float64; NaN before any data. *_at_top_k: `ids` are the
 * classes themselves. */
HR_API hr_metric hr_metric_recall_at_k_with(hr_node labels, hr_node predictions, int64_t k, const hr_metric_opts *opts);
HR_API hr_metric hr_metric_precision_at_k_with(hr_node labels, hr_node predictions, int64_t k,
                                               const hr_metric_opts *opts);
HR_API hr_metric hr_metric_average_precision_at_k_with(hr_node labels, hr_node predictions, int64_t k,
                                                       const hr_metric_opts *opts);
HR_API hr_metric hr_metric_recall_at_top_k_with(hr_node labels, hr_node ids, const hr_metric_opts *opts);
HR_API hr_metric hr_metric_precision_at_top_k_with(hr_node labels, hr_node ids, const hr_metric_opts *opts);
#define hr_metric_mean(...) HR_METRIC_CALL1_(hr_metric_mean, __VA_ARGS__)
#define hr_metric_sum(...) HR_METRIC_CALL1_(hr_metric_sum, __VA_ARGS__)
#define hr_metric_mean_tensor(...) HR_METRIC_CALL1_(hr_metric_mean_tensor, __VA_ARGS__)
#define hr_metric_accuracy(...) HR_METRIC_CALL2_(hr_metric_accuracy, __VA_ARGS__)
#define hr_metric_auc(...) HR_METRIC_CALL2_(hr_metric_auc, __VA_ARGS__)
#define hr_metric_precision(...) HR_METRIC_CALL2_(hr_metric_precision, __VA_ARGS__)
#define hr_metric_recall(...) HR_METRIC_CALL2_(hr_metric_recall, __VA_ARGS__)
#define hr_metric_true_positives(...) HR_METRIC_CALL2_(hr_metric_true_positives, __VA_ARGS__)
#define hr_metric_true_negatives(...) HR_METRIC_CALL2_(hr_metric_true_negatives, __VA_ARGS__)
#define hr_metric_false_positives(...) HR_METRIC_CALL2_(hr_metric_false_positives, __VA_ARGS__)
#define hr_metric_false_negatives(...) HR_METRIC_CALL2_(hr_metric_false_negatives, __VA_ARGS__)
#define hr_metric_mean_squared_error(...) HR_METRIC_CALL2_(hr_metric_mean_squared_error, __VA_ARGS__)
#define hr_metric_root_mean_squared_error(...) HR_METRIC_CALL2_(hr_metric_root_mean_squared_error, __VA_ARGS__)
#define hr_metric_mean_absolute_error(...) HR_METRIC_CALL2_(hr_metric_mean_absolute_error, __VA_ARGS__)
#define hr_metric_binary_accuracy(...) HR_METRIC_CALL2_(hr_metric_binary_accuracy, __VA_ARGS__)
#define hr_metric_categorical_accuracy(...) HR_METRIC_CALL2_(hr_metric_categorical_accuracy, __VA_ARGS__)
#define hr_metric_sparse_categorical_accuracy(...) HR_METRIC_CALL2_(hr_metric_sparse_categorical_accuracy, __VA_ARGS__)
#define hr_metric_top_k_categorical_accuracy(...) HR_METRIC_CALL2_(hr_metric_top_k_categorical_accuracy, __VA_ARGS__)
#define hr_metric_sparse_top_k_categorical_accuracy(...)                                                               \
    HR_METRIC_CALL2_(hr_metric_sparse_top_k_categorical_accuracy, __VA_ARGS__)
#define hr_metric_mean_absolute_percentage_error(...)                                                                  \
    HR_METRIC_CALL2_(hr_metric_mean_absolute_percentage_error, __VA_ARGS__)
#define hr_metric_mean_squared_logarithmic_error(...)                                                                  \
    HR_METRIC_CALL2_(hr_metric_mean_squared_logarithmic_error, __VA_ARGS__)
#define hr_metric_logcosh(...) HR_METRIC_CALL2_(hr_metric_logcosh, __VA_ARGS__)
#define hr_metric_cosine_similarity(...) HR_METRIC_CALL2_(hr_metric_cosine_similarity, __VA_ARGS__)
#define hr_metric_hinge(...) HR_METRIC_CALL2_(hr_metric_hinge, __VA_ARGS__)
#define hr_metric_squared_hinge(...) HR_METRIC_CALL2_(hr_metric_squared_hinge, __VA_ARGS__)
#define hr_metric_categorical_hinge(...) HR_METRIC_CALL2_(hr_metric_categorical_hinge, __VA_ARGS__)
#define hr_metric_binary_crossentropy(...) HR_METRIC_CALL2_(hr_metric_binary_crossentropy, __VA_ARGS__)
#define hr_metric_categorical_crossentropy(...) HR_METRIC_CALL2_(hr_metric_categorical_crossentropy, __VA_ARGS__)
#define hr_metric_sparse_categorical_crossentropy(...)                                                                 \
    HR_METRIC_CALL2_(hr_metric_sparse_categorical_crossentropy, __VA_ARGS__)
#define hr_metric_kullback_leibler_divergence(...) HR_METRIC_CALL2_(hr_metric_kullback_leibler_divergence, __VA_ARGS__)
#define hr_metric_poisson(...) HR_METRIC_CALL2_(hr_metric_poisson, __VA_ARGS__)
#define hr_metric_recall_at_top_k(...) HR_METRIC_CALL2_(hr_metric_recall_at_top_k, __VA_ARGS__)
#define hr_metric_precision_at_top_k(...) HR_METRIC_CALL2_(hr_metric_precision_at_top_k, __VA_ARGS__)
#define hr_metric_percentage_below(...) HR_METRIC_CALL2_(hr_metric_percentage_below, __VA_ARGS__)
#define hr_metric_mean_iou(...) HR_METRIC_CALL3_(hr_metric_mean_iou, __VA_ARGS__)
#define hr_metric_mean_per_class_accuracy(...) HR_METRIC_CALL3_(hr_metric_mean_per_class_accuracy, __VA_ARGS__)
#define hr_metric_mean_relative_error(...) HR_METRIC_CALL3_(hr_metric_mean_relative_error, __VA_ARGS__)
#define hr_metric_mean_cosine_distance(...) HR_METRIC_CALL3_(hr_metric_mean_cosine_distance, __VA_ARGS__)
#define hr_metric_sensitivity_at_specificity(...) HR_METRIC_CALL3_(hr_metric_sensitivity_at_specificity, __VA_ARGS__)
#define hr_metric_specificity_at_sensitivity(...) HR_METRIC_CALL3_(hr_metric_specificity_at_sensitivity, __VA_ARGS__)
#define hr_metric_precision_at_recall(...) HR_METRIC_CALL3_(hr_metric_precision_at_recall, __VA_ARGS__)
#define hr_metric_recall_at_precision(...) HR_METRIC_CALL3_(hr_metric_recall_at_precision, __VA_ARGS__)
#define hr_metric_recall_at_k(...) HR_METRIC_CALL3_(hr_metric_recall_at_k, __VA_ARGS__)
#define hr_metric_precision_at_k(...) HR_METRIC_CALL3_(hr_metric_precision_at_k, __VA_ARGS__)
#define hr_metric_average_precision_at_k(...) HR_METRIC_CALL3_(hr_metric_average_precision_at_k, __VA_ARGS__)

/* ---- exact scores of a binary classifier, in float64, without a graph ---- */

typedef struct hr_binary_scores hr_binary_scores;
/* The scores. */
typedef struct hr_binary_result {
    int64_t count, positives;
    double auc;      /* area under ROC, where ties count half; NaN if one class is missing */
    double auc_pr;   /* average precision; NaN without positives */
    double log_loss; /* the mean; probabilities are clipped to [1e-7, 1 - 1e-7] */
    double accuracy; /* class 1 is predicted if the probability is above 0.5 */
    double label_mean, prediction_mean;
} hr_binary_result;
HR_API hr_binary_scores *hr_binary_scores_new(void); /* gives; NULL: no memory */
/* Adds `count` pairs of label and probability. A label is positive if it is not 0; a probability outside of [0, 1] is
 * refused, "scores.probability". Needs 8 bytes of memory for each pair. */
HR_API hr_status hr_binary_scores_add(hr_binary_scores *s, const float *labels, const float *probabilities,
                                      int64_t count, hr_error *err);
/* Computes the scores of all pairs added so far. */
HR_API hr_status hr_binary_scores_result(hr_binary_scores *s, hr_binary_result *out, hr_error *err);
HR_API void hr_binary_scores_free(hr_binary_scores *s); /* NULL: nothing */

/* The same calls, which tell the line that they are in (graph.h). */
#define hr_concatenate_context_input(...) HR_MADE_(hr_concatenate_context_input(__VA_ARGS__))
#define hr_get_total_loss(...) HR_MADE_(hr_get_total_loss(__VA_ARGS__))
#define hr_softmax_cross_entropy_with_logits(...) HR_MADE_(hr_softmax_cross_entropy_with_logits(__VA_ARGS__))
#define hr_sparse_softmax_cross_entropy_with_logits(...)                                                               \
    HR_MADE_(hr_sparse_softmax_cross_entropy_with_logits(__VA_ARGS__))
#define hr_weighted_cross_entropy_with_logits(...) HR_MADE_(hr_weighted_cross_entropy_with_logits(__VA_ARGS__))
#define hr_log_poisson_loss(...) HR_MADE_(hr_log_poisson_loss(__VA_ARGS__))

#ifdef __cplusplus
}
#endif
#endif
