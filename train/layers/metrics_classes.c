/* Metrics of classes, which are numbers from 0: the mean of the classes' accuracies and of their intersections over
 * unions. A label or prediction beyond the classes fails the run. */
#include "train/layers/metrics_internal.h"

static hr_node flat(hr_node x) { return hr_reshape(x, hr_ints(x.graph, (const int64_t[]){-1}, 1)); }

/* Adds values[i] at indices[i] of zeros of `shape`. */
static hr_node scattered(hr_node indices, hr_node values, hr_shape shape)
{
    hr_node dims = hr_cast_to(hr_shape_const(values.graph, shape), HR_INT64);
    return hr_new_node(values.graph, "ScatterNd", HR_INPUTS(indices, values, dims));
}

static hr_node as_column(hr_node x) { return hr_expand_dims(x, hr_scalar(x.graph, HR_INT32, 1)); }

/* Weights of flat values, one each. */
static hr_node flat_weights(const hr_metric_opts *opts, hr_node like, hr_dtype dtype)
{
    hr_node weights = opts->weights;
    hr_node ones = hr_cast_to(hr_ones_like(like), dtype);
    if (!weights.graph) return ones;
    weights = hr_cast_to(weights, dtype);
    return hr_mul(ones, hr_node_shape(weights).rank > 1 ? flat(weights) : weights);
}

static bool classes_sound(hr_node *labels, hr_node *predictions, int num_classes, const char *what)
{
    if (!hr__metric_pair(labels, predictions, what)) return false;
    *labels = flat(hr_cast_to(*labels, HR_INT64));
    *predictions = flat(hr_cast_to(*predictions, HR_INT64));
    if (num_classes > 0) return true;
    hr_node_fail(labels->graph, HR_INVALID_ARGUMENT, "layers.classes", "%s: expected at least 1 class, got %d", what,
                 num_classes);
    return false;
}

/* ---- intersection over union ---- */

static hr_node sum_over(hr_node x, int64_t axis)
{
    return hr_cast_to(hr_reduce_sum(x, .axes = &axis, .axis_count = 1), HR_FLOAT);
}

/* The mean over the classes that occur in labels or predictions; 0 if none does. */
static hr_node iou_value(const hr_node *totals, const void *user)
{
    (void)user;
    hr_node matrix = totals[0];
    hr_node both = hr_cast_to(hr_new_node(matrix.graph, "DiagPart", HR_INPUTS(matrix)), HR_FLOAT);
    hr_node either = hr_sub(hr_add(sum_over(matrix, 0), sum_over(matrix, 1)), both);
    hr_node seen = hr_reduce_sum(hr_cast_to(hr_not_equal(either, hr_scalar_like(either, 0)), HR_FLOAT));
    hr_node positive = hr_greater(either, hr_scalar_like(either, 0));
    hr_node shares = hr_div(both, hr_where(positive, either, hr_ones_like(either)));
    return hr_div_no_nan(hr_reduce_sum(shares), seen, .name = "value");
}

static hr_node matrix_value(const hr_node *totals, const void *user)
{
    (void)user;
    return hr_identity(totals[0]);
}

hr_metric hr_metric_mean_iou_with(hr_node labels, hr_node predictions, int num_classes, const hr_metric_opts *opts)
{
    opts = &HR_OPTIONS(hr_metric_opts, opts);
    hr_graph *g = labels.graph ? labels.graph : predictions.graph;
    const hr_dtype dtype = opts->keras ? HR_FLOAT : HR_DOUBLE;
    if (!classes_sound(&labels, &predictions, num_classes, "mean_iou")) return hr__metric_failed(g);
    hr__metric_begin(g, opts, "mean_iou");
    const hr_shape shape = HR_SHAPE(num_classes, num_classes);
    const hr_node total = hr__metric_total(g, "total_confusion_matrix", dtype, shape);
    const hr_node add =
        hr_confusion_matrix(labels, predictions, num_classes, .weights = flat_weights(opts, labels, dtype));
    hr_metric metric =
        hr__metric_finish(g, &total, &add, 1, (hr__metric_form){iou_value, opts->keras ? NULL : matrix_value, NULL});
    hr_scope_end(g);
    return metric;
}

/* ---- accuracy of each class ---- */

static hr_node accuracies(const hr_node *totals, const void *user)
{
    (void)user;
    return hr_div_no_nan(totals[1], hr_maximum(totals[0], hr_scalar_like(totals[0], 0)));
}

static hr_node mean_accuracy(const hr_node *totals, const void *user)
{
    return hr_reduce_mean(accuracies(totals, user), .name = "mean_accuracy");
}

hr_metric hr_metric_mean_per_class_accuracy_with(hr_node labels, hr_node predictions, int num_classes,
                                                 const hr_metric_opts *opts)
{
    opts = &HR_OPTIONS(hr_metric_opts, opts);
    hr_graph *g = labels.graph ? labels.graph : predictions.graph;
    if (!classes_sound(&labels, &predictions, num_classes, "mean_per_class_accuracy")) return hr__metric_failed(g);
    hr__metric_begin(g, opts, "mean_accuracy");
    const hr_shape shape = HR_SHAPE(num_classes);
    const hr_node total[] = {hr__metric_total(g, "total", HR_FLOAT, shape),
                             hr__metric_total(g, "count", HR_FLOAT, shape)};
    hr_node weights = flat_weights(opts, labels, HR_FLOAT), same = hr_cast_to(hr_equal(labels, predictions), HR_FLOAT);
    const hr_node add[] = {scattered(as_column(labels), weights, shape),
                           scattered(as_column(labels), hr_mul(same, weights), shape)};
    hr_metric metric = hr__metric_finish(g, total, add, 2, (hr__metric_form){mean_accuracy, accuracies, NULL});
    hr_scope_end(g);
    return metric;
}
