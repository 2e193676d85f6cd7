/* Streaming metrics: tf.metrics. Accumulators are local variables; the update adds a batch and gives the value with it,
 * the value reads what was there before the update of the same run. */
#include "train/layers/layers_internal.h"

#include <stdio.h>

/* ---- accumulators ---- */

static hr_node accumulator(hr_graph *g, const char *name, hr_shape shape)
{
    return hr_get_variable(g, name, HR_FLOAT, shape, .initializer = hr_zeros(), .not_trainable = true,
                           .sets = HR_LOCAL_VARIABLES | HR_METRIC_VARIABLES);
}

typedef hr_node value_fn(const hr_node *totals, const hr_metric_opts *opts);

/* Reads of the accumulators, given to `value`: once as they are, once after `updates`. */
static hr_metric metrics_finish(hr_graph *g, const hr_node *variable, const hr_node *add, int count, value_fn *value,
                                const hr_metric_opts *opts)
{
    hr_node total[4] = {{0}}, update[4] = {{0}};
    hr_metric metric;
    for (int i = 0; i < count; i++) total[i] = hr_identity(variable[i]);
    metric.value = value(total, opts);
    for (int i = 0; i < count; i++) update[i] = hr_target(hr_assign_add(variable[i], add[i]));
    hr_control_dependencies(g, update, count);
    for (int i = 0; i < count; i++) total[i] = hr_identity(variable[i]);
    metric.update = value(total, opts);
    hr_control_end(g);
    return metric;
}

static void metrics_begin(hr_graph *g, const hr_metric_opts *opts, const char *usual)
{
    char name[HR__NAME];
    hr_variable_scope(g, opts->name ? opts->name : hr__unique_scope(g, usual, name));
}

static hr_metric failed(hr_graph *g)
{
    const hr_node node = hr_failed_node(g);
    return (hr_metric){node, node};
}

/* Weights in the shape of what they weigh; no node: none. */
static hr_node metrics_spread(const hr_metric_opts *opts, hr_node like)
{
    if (!opts->weights.graph) return opts->weights;
    hr_node weights = hr_cast_to(opts->weights, HR_FLOAT);
    const hr_shape w = hr_node_shape(weights), l = hr_node_shape(like);
    if (w.rank == l.rank + 1 && w.rank > 0 && w.dims[w.rank - 1] == 1)
        weights = hr_squeeze(weights, (const int64_t[]){-1}, 1);
    else if (w.rank > 0 && w.rank + 1 == l.rank)
        weights = hr_expand_dims(weights, hr_scalar(weights.graph, HR_INT32, -1));
    return hr_mul(weights, hr_ones_like(like));
}

/* ---- mean, accuracy ---- */

static hr_node mean_value(const hr_node *totals, const hr_metric_opts *opts)
{
    (void)opts;
    return hr_div_no_nan(totals[0], hr_maximum(totals[1], hr_scalar_like(totals[1], 0)), .name = "value");
}

static hr_metric metrics_mean_of(hr_node values, const hr_metric_opts *opts)
{
    hr_graph *g = values.graph;
    const hr_node variable[] = {accumulator(g, "total", HR_SCALAR), accumulator(g, "count", HR_SCALAR)};
    values = hr_cast_to(values, HR_FLOAT);
    hr_node weights = metrics_spread(opts, values);
    if (weights.graph) {
        const hr_node add[] = {hr_reduce_sum(hr_mul(values, weights)), hr_reduce_sum(weights)};
        return metrics_finish(g, variable, add, 2, mean_value, opts);
    }
    const hr_node add[] = {hr_reduce_sum(values), hr_cast_to(hr_size_of(values), HR_FLOAT)};
    return metrics_finish(g, variable, add, 2, mean_value, opts);
}

hr_metric hr_metric_mean_with(hr_node values, const hr_metric_opts *opts)
{
    opts = &HR_OPTIONS(hr_metric_opts, opts);
    if (!hr_node_exists(values)) return failed(values.graph);
    metrics_begin(values.graph, opts, "mean");
    hr_metric metric = metrics_mean_of(values, opts);
    hr_scope_end(values.graph);
    return metric;
}

/* [n, 1] beside [n]: the last dimension goes. */
static void level(hr_node *a, hr_node *b)
{
    const hr_shape x = hr_node_shape(*a), y = hr_node_shape(*b);
    if (x.rank == y.rank + 1 && x.rank > 0 && x.dims[x.rank - 1] == 1) *a = hr_squeeze(*a, (const int64_t[]){-1}, 1);
    if (y.rank == x.rank + 1 && y.rank > 0 && y.dims[y.rank - 1] == 1) *b = hr_squeeze(*b, (const int64_t[]){-1}, 1);
}

static bool metrics_sound(hr_node *labels, hr_node *predictions, const char *what)
{
    if (!hr_node_exists(*labels) || !hr_node_exists(*predictions)) return false;
    level(labels, predictions);
    return hr__same_shape(*labels, *predictions, what);
}

hr_metric hr_metric_accuracy_with(hr_node labels, hr_node predictions, const hr_metric_opts *opts)
{
    opts = &HR_OPTIONS(hr_metric_opts, opts);
    hr_graph *g = labels.graph ? labels.graph : predictions.graph;
    if (!metrics_sound(&labels, &predictions, "accuracy")) return failed(g);
    metrics_begin(g, opts, "accuracy");
    hr_node same = hr_equal(hr_cast_to(predictions, hr_node_dtype(labels)), labels);
    hr_metric metric = metrics_mean_of(hr_cast_to(same, HR_FLOAT), opts);
    hr_scope_end(g);
    return metric;
}

/* ---- precision, recall ---- */

static hr_node as_bool(hr_node x) { return hr_cast_to(x, HR_BOOL); }

static hr_node is_positive(hr_node predictions, const hr_metric_opts *opts)
{
    if (!opts->threshold) return as_bool(predictions);
    /* As they are; a value outside of [0, 1] is an error. */
    predictions =
        hr_new_node(predictions.graph, "Headrace>CheckProbabilities", HR_INPUTS(hr_cast_to(predictions, HR_FLOAT)));
    return hr_greater(predictions, hr_scalar_like(predictions, (double)*opts->threshold));
}

static hr_node count_true(hr_node hits, const hr_metric_opts *opts)
{
    hr_node ones = hr_cast_to(hits, HR_FLOAT), weights = metrics_spread(opts, ones);
    return hr_reduce_sum(weights.graph ? hr_mul(ones, weights) : ones);
}

static hr_node metrics_share(const hr_node *totals, const hr_metric_opts *opts)
{
    (void)opts;
    return hr_div_no_nan(totals[0], hr_add(totals[0], totals[1]), .name = "value");
}

/* Of the positives, `of` (predicted or true), those that are both. */
static hr_metric share_of_hits(hr_node labels, hr_node predictions, const hr_metric_opts *opts, const char *name,
                               bool of_predicted)
{
    hr_graph *g = labels.graph ? labels.graph : predictions.graph;
    if (!metrics_sound(&labels, &predictions, name)) return failed(g);
    metrics_begin(g, opts, name);
    hr_node truth = as_bool(labels), positive = is_positive(predictions, opts);
    hr_node missed = of_predicted ? hr_logical_and(hr_logical_not(truth), positive)
                                  : hr_logical_and(truth, hr_logical_not(positive));
    const hr_node variable[] = {
        accumulator(g, "true_positives/count", HR_SCALAR),
        accumulator(g, of_predicted ? "false_positives/count" : "false_negatives/count", HR_SCALAR)};
    const hr_node add[] = {count_true(hr_logical_and(truth, positive), opts), count_true(missed, opts)};
    hr_metric metric = metrics_finish(g, variable, add, 2, metrics_share, opts);
    hr_scope_end(g);
    return metric;
}

hr_metric hr_metric_precision_with(hr_node labels, hr_node predictions, const hr_metric_opts *opts)
{
    opts = &HR_OPTIONS(hr_metric_opts, opts);
    return share_of_hits(labels, predictions, opts, "precision", true);
}

hr_metric hr_metric_recall_with(hr_node labels, hr_node predictions, const hr_metric_opts *opts)
{
    opts = &HR_OPTIONS(hr_metric_opts, opts);
    return share_of_hits(labels, predictions, opts, "recall", false);
}

/* ---- auc ---- */

/* Just outside of [0, 1] at both ends, so that each curve has its ends. */
static hr_node make_thresholds(hr_graph *g, int count)
{
    hr_tensor value;
    hr_error err;
    if (count < 2)
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "layers.thresholds", "auc: expected at least 2 thresholds, got %d",
                            count);
    if (hr_tensor_new(&value, HR_FLOAT, HR_SHAPE(count), &err) != HR_OK)
        return hr_node_fail(g, err.code, err.kind, "%s", err.text);
    float *t = value.data;
    for (int i = 1; i < count - 1; i++) t[i] = (float)((double)i / (double)(count - 1));
    t[0] = (float)(0 - 1e-7);
    t[count - 1] = (float)(1 + 1e-7);
    hr_node thresholds = hr_const(g, &value, .name = "thresholds");
    hr_tensor_clear(&value);
    return thresholds;
}

static hr_node area(const hr_node *counts, const hr_metric_opts *opts)
{
    return hr_new_node(counts[0].graph, "Headrace>AreaUnderCurve", .inputs = counts, .input_count = 4,
                       HR_ATTRS(HR_BOOL_ATTR("pr", opts->curve == HR_PR), HR_BOOL_ATTR("keras", opts->keras),
                                HR_INT_ATTR("summation", opts->summation)));
}

static hr_metric auc_of(hr_node labels, hr_node predictions, const hr_metric_opts *opts)
{
    static const char *const names[] = {"true_positives", "false_negatives", "true_negatives", "false_positives"};
    hr_graph *g = labels.graph;
    const int count = opts->num_thresholds ? opts->num_thresholds : 200;
    hr_node thresholds = make_thresholds(g, count), variable[4], add[4];
    if (!hr_node_exists(thresholds)) return failed(g);
    hr_node p = hr_cast_to(predictions, HR_FLOAT), weights = metrics_spread(opts, p);
    /* True positives, false negatives, true negatives, false positives: one value a threshold each. */
    const hr_node in[] = {p, as_bool(labels), thresholds, weights};
    hr_node counts = hr_new_node(g, "Headrace>ThresholdCounts", .inputs = in, .input_count = weights.graph ? 4 : 3);
    for (int i = 0; i < 4; i++) variable[i] = accumulator(g, names[i], HR_SHAPE(count));
    for (int i = 0; i < 4; i++) add[i] = hr_node_output(counts, i);
    if (opts->curve == HR_PR && !opts->keras) add[2] = hr_zeros_like(add[2]); /* v1's update does not touch them */
    return metrics_finish(g, variable, add, 4, area, opts);
}

hr_metric hr_metric_auc_with(hr_node labels, hr_node predictions, const hr_metric_opts *opts)
{
    opts = &HR_OPTIONS(hr_metric_opts, opts);
    hr_graph *g = labels.graph ? labels.graph : predictions.graph;
    if (!metrics_sound(&labels, &predictions, "auc")) return failed(g);
    metrics_begin(g, opts, "auc");
    hr_metric metric = auc_of(labels, predictions, opts);
    hr_scope_end(g);
    return metric;
}
