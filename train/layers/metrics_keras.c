/* Metrics of tf.keras.metrics that are the mean of a value of each row, and the table of metrics by name. */
#include "train/layers/metrics_internal.h"

#include <string.h>

/* The value of each row; the classes are the last axis. */
typedef hr_node rows_fn(hr_node y, hr_node p, const hr_metric_opts *opts);

/* ---- accuracies ---- */

static hr_node matches(hr_node a, hr_node b) { return hr_cast_to(hr_equal(a, b), HR_FLOAT); }
static hr_node best_class(hr_node x) { return hr_argmax(x, -1); }

static hr_node binary_rows(hr_node y, hr_node p, const hr_metric_opts *opts)
{
    hr_node threshold = hr_scalar_like(p, opts->threshold ? (double)*opts->threshold : 0.5);
    return hr__last_mean(matches(y, hr_cast_to(hr_greater(p, threshold), HR_FLOAT)));
}

static hr_node categorical_rows(hr_node y, hr_node p, const hr_metric_opts *opts)
{
    (void)opts;
    return matches(best_class(y), best_class(p));
}

/* Labels [n, 1] beside predictions [n, classes] are [n]. */
static hr_node class_ids(hr_node y, hr_node p)
{
    const bool column = hr_node_shape(y).rank == hr_node_shape(p).rank;
    return column ? hr_squeeze(y, (const int64_t[]){-1}, 1) : y;
}

static hr_node sparse_rows(hr_node y, hr_node p, const hr_metric_opts *opts)
{
    (void)opts;
    return matches(class_ids(y, p), hr_cast_to(best_class(p), HR_FLOAT));
}

/* Predictions of steps, [n, steps, classes], are taken as rows. */
static hr_node in_top(hr_node p, hr_node ids, const hr_metric_opts *opts)
{
    const hr_shape shape = hr_node_shape(p);
    const hr_node rows = hr_shape_of(ids);
    ids = hr_cast_to(ids, HR_INT32);
    if (shape.rank > 2) {
        p = hr_reshape(p, hr_shape_const(p.graph, HR_SHAPE(-1, shape.dims[shape.rank - 1])));
        ids = hr_reshape(ids, hr_shape_const(ids.graph, HR_SHAPE(-1)));
    }
    const hr_node right = hr_cast_to(hr_in_top_k(p, ids, opts->top_k ? opts->top_k : 5), HR_FLOAT);
    return shape.rank > 2 ? hr_reshape(right, rows) : right;
}

static hr_node top_rows(hr_node y, hr_node p, const hr_metric_opts *opts) { return in_top(p, best_class(y), opts); }
static hr_node sparse_top_rows(hr_node y, hr_node p, const hr_metric_opts *opts)
{
    return in_top(p, class_ids(y, p), opts);
}

/* ---- losses, row by row ---- */

static hr_node loss_rows(const char *loss, hr_node y, hr_node p, const hr_metric_opts *opts)
{
    const hr_keras_loss_opts of_loss = {.from_logits = opts->from_logits, .label_smoothing = opts->label_smoothing};
    return hr__keras_rows(loss, y, p, &of_loss);
}

/* The metric is the similarity, the loss its negative. */
static hr_node cosine_rows(hr_node y, hr_node p, const hr_metric_opts *opts)
{
    return hr_neg(loss_rows("cosine_similarity", y, p, opts));
}

/* ---- their means ---- */

/* Both as floats; without `rows` the losses of that name. `classes`: the labels are classes, one axis less than the
 * predictions. */
static hr_metric rows_metric(hr_node labels, hr_node predictions, const hr_metric_opts *given, const char *name,
                             rows_fn *rows, bool classes)
{
    hr_metric_opts opts = HR_OPTIONS(hr_metric_opts, given);
    opts.keras = true;
    const bool sound =
        classes ? hr_node_exists(labels) && hr_node_exists(predictions) : hr__metric_pair(&labels, &predictions, name);
    if (!sound) return hr__metric_failed(labels.graph ? labels.graph : predictions.graph);
    const hr_node p = hr_cast_to(predictions, HR_FLOAT), y = hr_cast_to(labels, HR_FLOAT);
    return hr__metric_mean(rows ? rows(y, p, &opts) : loss_rows(name, y, p, &opts), &opts, name);
}

#define ROWS_METRIC_(name, rows, classes)                                                                              \
    hr_metric hr_metric_##name##_with(hr_node labels, hr_node predictions, const hr_metric_opts *opts)                 \
    {                                                                                                                  \
        return rows_metric(labels, predictions, opts, #name, rows, classes);                                           \
    }
ROWS_METRIC_(binary_accuracy, binary_rows, false)
ROWS_METRIC_(categorical_accuracy, categorical_rows, false)
ROWS_METRIC_(sparse_categorical_accuracy, sparse_rows, true)
ROWS_METRIC_(top_k_categorical_accuracy, top_rows, false)
ROWS_METRIC_(sparse_top_k_categorical_accuracy, sparse_top_rows, true)
ROWS_METRIC_(cosine_similarity, cosine_rows, false)
ROWS_METRIC_(mean_absolute_percentage_error, NULL, false)
ROWS_METRIC_(mean_squared_logarithmic_error, NULL, false)
ROWS_METRIC_(logcosh, NULL, false)
ROWS_METRIC_(hinge, NULL, false)
ROWS_METRIC_(squared_hinge, NULL, false)
ROWS_METRIC_(categorical_hinge, NULL, false)
ROWS_METRIC_(binary_crossentropy, NULL, false)
ROWS_METRIC_(categorical_crossentropy, NULL, false)
ROWS_METRIC_(sparse_categorical_crossentropy, NULL, true)
ROWS_METRIC_(kullback_leibler_divergence, NULL, false)
ROWS_METRIC_(poisson, NULL, false)

/* ---- by name ---- */

/* Also what Keras calls them else: by the class, and by the names of the loss. */
hr_metric_fn *hr_metric_named(const char *name)
{
    static const struct {
        const char *name;
        hr_metric_fn *fn;
    } known[] = {
#define HR_METRIC_(n) {#n, hr_metric_##n##_with},
        HR_METRICS_
#undef HR_METRIC_
        {"acc", hr_metric_accuracy_with},
        {"cosine_proximity", hr_metric_cosine_similarity_with},
        {"log_cosh_error", hr_metric_logcosh_with},
        {"kl_divergence", hr_metric_kullback_leibler_divergence_with},
    };
    const char *loss = hr__keras_function(name);
    for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
        if (hr__same_word(known[i].name, loss ? loss : name)) return known[i].fn;
    return NULL;
}
