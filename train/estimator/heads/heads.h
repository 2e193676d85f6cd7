/* Headrace, heads: what a model does with its logits. A head knows the loss, the predictions and the metrics of one
 * kind of labels.
 *
 *     hr_estimator *est = hr_dnn_estimator(.model_dir = "model", .dnn_feature_columns = columns,
 *                                          .dnn_hidden_units = HR_UNITS(32), .head = hr_poisson_regression_head());
 *
 * A model function of your own uses one by hr_head_build. Names and defaults are those of TensorFlow 2's heads; with
 * .v1 = true those of tf.compat.v1.estimator. A head is one file that ends with its descriptor and its constructor; it
 * needs no other kit than this header. */
#ifndef HR_HEADS_H
#define HR_HEADS_H

#include <headrace/estimator.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the heads ---- */

/* The options of all heads. A head refuses those that it does not use, "head.argument". */
typedef struct hr_head_opts {
    size_t struct_size;
    const char *name;                    /* metrics become "auc/<name>". Copied */
    const char *weight_column;           /* a component: the weight of each row, 0 or more. Copied */
    hr_vocabulary_list label_vocabulary; /* of classes: labels are these strings, in the order of the classes. Copied */
    const float
        *thresholds; /* of binary and multi-label: further metrics, "accuracy/positive_threshold_0.25". Copied */
    int threshold_count;
    const int64_t *metric_classes; /* of multi-label: with metrics of their own, "auc/class2". Copied */
    int metric_class_count;
    int64_t label_dimension;            /* of regressions: numbers a label; default 1 */
    const hr_reduction *loss_reduction; /* default HR_SUM_OVER_BATCH_SIZE; v1: HR_REDUCTION_SUM */
    bool v1;                            /* losses and metrics of tf.compat.v1.estimator */
    /* The component with the labels; default: the first label, of a part of a multi head the one of its name. Copied */
    const char *label_key;
} hr_head_opts;

#define HR_HEAD_CALL_(fn, ...) fn(&(hr_head_opts){.struct_size = sizeof(hr_head_opts), __VA_ARGS__})

/* Each gives a head (hr_head_free), which keeps its first error; NULL: no memory. */
HR_API hr_head *hr_binary_class_head_with(const hr_head_opts *opts);        /* two classes: labels from 0 to 1 */
HR_API hr_head *hr_regression_head_with(const hr_head_opts *opts);          /* squared difference */
HR_API hr_head *hr_poisson_regression_head_with(const hr_head_opts *opts);  /* counts; logits are their logarithms */
HR_API hr_head *hr_logistic_regression_head_with(const hr_head_opts *opts); /* labels from 0 to 1 */
#define hr_binary_class_head(...) HR_HEAD_CALL_(hr_binary_class_head_with, __VA_ARGS__)
#define hr_regression_head(...) HR_HEAD_CALL_(hr_regression_head_with, __VA_ARGS__)
#define hr_poisson_regression_head(...) HR_HEAD_CALL_(hr_poisson_regression_head_with, __VA_ARGS__)
#define hr_logistic_regression_head(...) HR_HEAD_CALL_(hr_logistic_regression_head_with, __VA_ARGS__)
/* Labels from 0 to n_classes - 1, 3 or more classes. */
HR_API hr_head *hr_multi_class_head_with(int64_t n_classes, const hr_head_opts *opts);
#define hr_multi_class_head(...)                                                                                       \
    HR_CALL1_(hr_multi_class_head_with, hr_head_opts, __VA_ARGS__, .struct_size = sizeof(hr_head_opts))

/* Labels are n_classes numbers, 0 or 1, of 2 or more classes that do not exclude each other. The loss is the mean over
 * the classes. Only without .v1. */
HR_API hr_head *hr_multi_label_head_with(int64_t n_classes, const hr_head_opts *opts);
#define hr_multi_label_head(...)                                                                                       \
    HR_CALL1_(hr_multi_label_head_with, hr_head_opts, __VA_ARGS__, .struct_size = sizeof(hr_head_opts))

/* Heads over one network: HR_HEADS(hr_binary_class_head(.name = "click"), hr_regression_head(.name = "price")). */
typedef struct hr_head_list {
    hr_head *const *head;
    int count;
} hr_head_list;
#define HR_HEADS(...)                                                                                                  \
    ((hr_head_list){(hr_head *const[]){__VA_ARGS__}, (int)(sizeof((hr_head *const[]){__VA_ARGS__}) / sizeof(void *))})
typedef struct hr_multi_head_opts {
    size_t struct_size;
    const float *head_weights; /* of each head's loss, above 0: HR_F32(1, 0.5); default 1. Copied */
} hr_multi_head_opts;
/* TensorFlow's MultiHead: several tasks by one network. Takes the heads, which have different names. Logits are those of
 * the heads, side by side in their order. The labels of a head are the component of its .label_key, or of its name: keep
 * such components where records are parsed. The loss is the sum of the heads' losses times head_weights. Predictions
 * are called "name/key"; metrics "key/name", with "loss/name" for each head. */
HR_API hr_head *hr_multi_head_with(hr_head_list heads, const hr_multi_head_opts *opts);
#define hr_multi_head(...)                                                                                             \
    HR_CALL1_(hr_multi_head_with, hr_multi_head_opts, __VA_ARGS__, .struct_size = sizeof(hr_multi_head_opts))

HR_API void hr_head_free(hr_head *head);                      /* NULL: nothing */
HR_API const hr_error *hr_head_error(const hr_head *head);    /* NULL: none. Borrows */
HR_API int64_t hr_head_logits_dimension(const hr_head *head); /* 0: it has an error */

/* For a model function: fills in predictions, metrics and loss, and the check of labels and weights. `logits` is
 * [n, logits dimension]. Gives the loss, to be minimized; no node in HR_MODE_PREDICT. The head lives as long as the
 * graph. A label or weight that a head does not take ends training and evaluation with HR_INVALID_ARGUMENT,
 * "estimator.label_range" or "estimator.weight"; the message names file and record. */
HR_API hr_node hr_head_build(hr_head *head, const hr_model_call *call, hr_node logits);

/* ---- the kit ---- */

/* The version of this kit. */
enum { HR_HEAD_ABI = 1 };

/* What the functions of a kind see. */
typedef struct hr_head_call {
    hr_head *head;
    const hr_model_call *model;
    hr_node logits;    /* float [n, logits dimension] */
    hr_node labels;    /* as `labels` gave them; no node in HR_MODE_PREDICT */
    hr_node losses;    /* as `losses` gave them; from `losses` on */
    hr_node weights;   /* float [n, 1], or of the losses' shape; no node: there are none */
    hr_node shared[4]; /* for the kind, from predictions to metrics */
} hr_head_call;

/* The options of hr_head_opts that not every kind uses. */
enum { HR_HEAD_VOCABULARY = 1, HR_HEAD_THRESHOLDS = 2, HR_HEAD_LABEL_DIMENSION = 4, HR_HEAD_METRIC_CLASSES = 8 };

/* A kind of head. Functions are called in this order; those that may be NULL say so. */
typedef struct hr_head_kind {
    struct {
        uint32_t abi_version, struct_size;
    } head; /* HR_HEAD_HEAD */
    const char *name;
    size_t state_size;
    unsigned options; /* HR_HEAD_VOCABULARY, ... */
    int64_t (*logits_dimension)(const hr_head *head);
    void (*predictions)(hr_head_call *c); /* by hr_spec_prediction */
    /* The labels as numbers; a vocabulary's strings have become classes, int64 [n, 1]. NULL: float of the logits'
     * shape. */
    hr_node (*labels)(hr_head_call *c, hr_node label);
    hr_node (*losses)(hr_head_call *c); /* not reduced, [n, k] */
    void (*metrics)(hr_head_call *c);   /* by hr_head_metric */
    /* Whether a label can be used; else it writes what is expected. NULL: every number but NaN. */
    bool (*takes_label)(const hr_head *head, double label, char *expected, size_t size);
    /* The error of a state or option that cannot be used. NULL: none is refused. */
    hr_status (*check)(const hr_head *head, hr_error *err);
    /* The heads that it is made of, *count of them. NULL: it is none of several. */
    hr_head *const *(*parts)(const hr_head *head, int *count);
    hr_node (*build)(hr_head_call *c); /* of such a head, instead of predictions to metrics: gives the loss */
    void (*clear)(void *state);        /* frees what the state has. NULL: nothing */
    /* After the predictions of a model that is exported: what signatures give besides all predictions, by
     * hr_head_export_classes and hr_head_export_values; the first is the default. NULL: nothing. */
    void (*exports)(hr_head_call *c);
} hr_head_kind;

#define HR_HEAD_HEAD                                                                                                   \
    {                                                                                                                  \
        HR_HEAD_ABI, sizeof(hr_head_kind)                                                                              \
    }

/* Gives a head with a copy of `state`; NULL: no memory. Borrows `kind` for ever. The head has an error if its
 * descriptor does not fit, "head.abi", or an option is refused, "head.argument". */
HR_API hr_head *hr_head_new(const hr_head_kind *kind, const void *state, const hr_head_opts *opts);
/* Builds a part of another head: its predictions are called "name/key", and its labels are those of its name. Gives its
 * loss; no node in HR_MODE_PREDICT. */
HR_API hr_node hr_head_build_part(hr_head *part, const hr_model_call *call, hr_node logits);
HR_API const void *hr_head_state(const hr_head *head);
HR_API const hr_head_opts *hr_head_options(const hr_head *head); /* the head's copy */
/* The signature "classification": scores float [n, k], classes string [n, k]; one of them may be no node. The signature
 * "regression": values float [n, k]. */
HR_API void hr_head_export_classes(const hr_head_call *c, hr_node scores, hr_node classes);
HR_API void hr_head_export_values(const hr_head_call *c, hr_node values);
/* A metric, with the head's name after its key, which is copied. */
HR_API void hr_head_metric(const hr_head_call *c, const char *key, hr_metric metric);
/* The predictions of `classes` classes by their probabilities [n, classes]: probabilities, class_ids, classes,
 * all_class_ids, all_classes. Gives class_ids, int64 [n, 1]. */
HR_API hr_node hr_head_class_predictions(const hr_head_call *c, hr_node probabilities, int64_t classes);
/* The names of all classes for each row, string [n, classes]. */
HR_API hr_node hr_head_all_classes(const hr_head_call *c, int64_t classes);
/* accuracy, precision and recall of probabilities at each of the option .thresholds. */
HR_API void hr_head_threshold_metrics(const hr_head_call *c, hr_node probabilities);
/* The metrics of numbers: average_loss, prediction/mean, label/mean. */
HR_API void hr_head_regression_metrics(const hr_head_call *c, hr_node predictions);

/* The same calls, which tell the line that they are in (graph.h). */
#define hr_head_build(...) HR_MADE_(hr_head_build(__VA_ARGS__))
#define hr_head_build_part(...) HR_MADE_(hr_head_build_part(__VA_ARGS__))
#define hr_head_all_classes(...) HR_MADE_(hr_head_all_classes(__VA_ARGS__))
#define hr_head_class_predictions(...) HR_MADE_(hr_head_class_predictions(__VA_ARGS__))

#ifdef __cplusplus
}
#endif
#endif
