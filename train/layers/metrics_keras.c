/* Metrics of tf.keras.metrics that are the mean of a value of each row, and the table of metrics by name. */
#include "train/layers/metrics_internal.h"

#include <string.h>

/* The value of each row; the classes are the last axis. */
typedef hr_node rows_fn(hr_node y, hr_node p, const hr_metric_opts *opts);

static const double epsilon = 1e-7;

static hr_node plus(hr_node x, double value) { return hr_add(x, hr_scalar_like(x, value)); }
static hr_node times(hr_node x, double value) { return hr_mul(x, hr_scalar_like(x, value)); }
static hr_node one_minus(hr_node x) { return hr_sub(hr_scalar_like(x, 1), x); }
static hr_node at_least(hr_node x, double value) { return hr_maximum(x, hr_scalar_like(x, value)); }
static hr_node clipped(hr_node x, double low, double high)
{
    return at_least(hr_minimum(x, hr_scalar_like(x, high)), low);
}

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

static hr_node in_top(hr_node p, hr_node ids, const hr_metric_opts *opts)
{
    hr_node k = hr_scalar(p.graph, HR_INT32, opts->top_k ? (double)opts->top_k : 5);
    return hr_cast_to(hr_new_node(p.graph, "InTopKV2", HR_INPUTS(p, hr_cast_to(ids, HR_INT32), k)), HR_FLOAT);
}

static hr_node top_rows(hr_node y, hr_node p, const hr_metric_opts *opts) { return in_top(p, best_class(y), opts); }
static hr_node sparse_top_rows(hr_node y, hr_node p, const hr_metric_opts *opts)
{
    return in_top(p, class_ids(y, p), opts);
}

/* ---- errors ---- */

static hr_node percentage_rows(hr_node y, hr_node p, const hr_metric_opts *opts)
{
    (void)opts;
    return times(hr__last_mean(hr_abs(hr_div(hr_sub(y, p), at_least(hr_abs(y), epsilon)))), 100);
}

static hr_node logarithmic_rows(hr_node y, hr_node p, const hr_metric_opts *opts)
{
    (void)opts;
    hr_node first = hr_log(plus(at_least(p, epsilon), 1)), second = hr_log(plus(at_least(y, epsilon), 1));
    return hr__last_mean(hr_squared_difference(first, second));
}

static hr_node log_cosh_rows(hr_node y, hr_node p, const hr_metric_opts *opts)
{
    (void)opts;
    hr_node x = hr_sub(p, y);
    return hr__last_mean(plus(hr_add(x, hr_softplus(times(x, -2))), -0.69314718055994530942));
}

static hr_node unit(hr_node x)
{
    hr_node squares = hr_reduce_sum(hr_square(x), .axes = (const int64_t[]){-1}, .axis_count = 1, .keep_dims = true);
    return hr_mul(x, hr_rsqrt(at_least(squares, 1e-12)));
}

static hr_node cosine_rows(hr_node y, hr_node p, const hr_metric_opts *opts)
{
    (void)opts;
    return hr__last_sum(hr_mul(unit(y), unit(p)));
}

/* ---- hinges ---- */

/* Labels of 0 and 1 alone become -1 and 1. */
static hr_node signs(hr_node y)
{
    hr_node zero = hr_equal(y, hr_scalar_like(y, 0)), one = hr_equal(y, hr_scalar_like(y, 1));
    return hr_where(hr_reduce_all(hr_logical_or(zero, one)), plus(times(y, 2), -1), y);
}

static hr_node hinge_of(hr_node y, hr_node p) { return at_least(one_minus(hr_mul(signs(y), p)), 0); }
static hr_node hinge_rows(hr_node y, hr_node p, const hr_metric_opts *opts)
{
    (void)opts;
    return hr__last_mean(hinge_of(y, p));
}
static hr_node squared_hinge_rows(hr_node y, hr_node p, const hr_metric_opts *opts)
{
    (void)opts;
    return hr__last_mean(hr_square(hinge_of(y, p)));
}

static hr_node categorical_hinge_rows(hr_node y, hr_node p, const hr_metric_opts *opts)
{
    (void)opts;
    hr_node others = hr_reduce_max(hr_mul(one_minus(y), p), .axes = (const int64_t[]){-1}, .axis_count = 1);
    return at_least(plus(hr_sub(others, hr__last_sum(hr_mul(y, p))), 1), 0);
}

/* ---- entropies ---- */

static hr_node binary_entropy_rows(hr_node y, hr_node p, const hr_metric_opts *opts)
{
    if (opts->from_logits) return hr__last_mean(hr_sigmoid_cross_entropy(y, p));
    p = clipped(p, epsilon, 1 - epsilon);
    hr_node hit = hr_mul(y, hr_log(plus(p, epsilon))), miss = hr_mul(one_minus(y), hr_log(plus(one_minus(p), epsilon)));
    return hr__last_mean(hr_neg(hr_add(hit, miss)));
}

static hr_node categorical_entropy_rows(hr_node y, hr_node p, const hr_metric_opts *opts)
{
    if (opts->from_logits) return hr_softmax_cross_entropy(p, y);
    p = hr_div(p, hr_reduce_sum(p, .axes = (const int64_t[]){-1}, .axis_count = 1, .keep_dims = true));
    return hr_neg(hr__last_sum(hr_mul(y, hr_log(clipped(p, epsilon, 1 - epsilon)))));
}

static hr_node sparse_entropy_rows(hr_node y, hr_node p, const hr_metric_opts *opts)
{
    if (!opts->from_logits) p = hr_log(clipped(p, epsilon, 1 - epsilon));
    return hr_sparse_softmax_cross_entropy(p, hr_cast_to(class_ids(y, p), HR_INT64));
}

static hr_node divergence_rows(hr_node y, hr_node p, const hr_metric_opts *opts)
{
    (void)opts;
    y = clipped(y, epsilon, 1);
    return hr__last_sum(hr_mul(y, hr_log(hr_div(y, clipped(p, epsilon, 1)))));
}

static hr_node poisson_rows(hr_node y, hr_node p, const hr_metric_opts *opts)
{
    (void)opts;
    return hr__last_mean(hr_sub(p, hr_mul(y, hr_log(plus(p, epsilon)))));
}

/* ---- their means ---- */

/* Both as floats. `classes`: the labels are classes, one axis less than the predictions. */
static hr_metric rows_metric(hr_node labels, hr_node predictions, const hr_metric_opts *given, const char *name,
                             rows_fn *rows, bool classes)
{
    hr_metric_opts opts = HR_OPTIONS(hr_metric_opts, given);
    opts.keras = true;
    const bool sound =
        classes ? hr_node_exists(labels) && hr_node_exists(predictions) : hr__metric_pair(&labels, &predictions, name);
    if (!sound) return hr__metric_failed(labels.graph ? labels.graph : predictions.graph);
    return hr__metric_mean(rows(hr_cast_to(labels, HR_FLOAT), hr_cast_to(predictions, HR_FLOAT), &opts), &opts, name);
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
ROWS_METRIC_(mean_absolute_percentage_error, percentage_rows, false)
ROWS_METRIC_(mean_squared_logarithmic_error, logarithmic_rows, false)
ROWS_METRIC_(logcosh, log_cosh_rows, false)
ROWS_METRIC_(cosine_similarity, cosine_rows, false)
ROWS_METRIC_(hinge, hinge_rows, false)
ROWS_METRIC_(squared_hinge, squared_hinge_rows, false)
ROWS_METRIC_(categorical_hinge, categorical_hinge_rows, false)
ROWS_METRIC_(binary_crossentropy, binary_entropy_rows, false)
ROWS_METRIC_(categorical_crossentropy, categorical_entropy_rows, false)
ROWS_METRIC_(sparse_categorical_crossentropy, sparse_entropy_rows, true)
ROWS_METRIC_(kullback_leibler_divergence, divergence_rows, false)
ROWS_METRIC_(poisson, poisson_rows, false)

/* ---- by name ---- */

hr_metric_fn *hr_metric_named(const char *name)
{
    static const struct {
        const char *name;
        hr_metric_fn *fn;
    } known[] = {
#define HR_METRIC_(n) {#n, hr_metric_##n##_with},
        HR_METRICS_
#undef HR_METRIC_
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0) return known[i].fn;
    return NULL;
}
