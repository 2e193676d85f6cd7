/* Metrics of the k classes predicted first, which are compared as sets with the labels of each row. Accumulators are
 * float64. */
#include "train/layers/metrics_internal.h"

#include <stdio.h>

/* ---- sets ---- */

static hr_node axis_added(hr_node x, double axis) { return hr_expand_dims(x, hr_scalar(x.graph, HR_INT32, axis)); }

static hr_node any_of_last(hr_node x) { return hr_reduce_any(x, .axes = (const int64_t[]){-1}, .axis_count = 1); }

/* [..., m, n]: whether a[..., m] equals b[..., n]. */
static hr_node each_equal(hr_node a, hr_node b) { return hr_equal(axis_added(a, -1), axis_added(b, -2)); }

/* [..., m]: whether a[..., m] is among b[..., :]. */
static hr_node among(hr_node a, hr_node b) { return any_of_last(each_equal(a, b)); }

/* Whether no id before it in its row is the same. */
static hr_node first_of_its_kind(hr_node ids)
{
    hr_graph *g = ids.graph;
    hr_node length = hr_strided_slice(hr_shape_of(ids), {.at = (const int64_t[]){-1}});
    hr_node place = hr_new_node(g, "Range", HR_INPUTS(hr_scalar(g, HR_INT32, 0), length, hr_scalar(g, HR_INT32, 1)));
    hr_node before = hr_less(axis_added(place, 0), axis_added(place, 1)); /* [m, n]: n is before m */
    return hr_logical_not(any_of_last(hr_logical_and(each_equal(ids, ids), before)));
}

/* For each row, how many different ids (of one class, if asked) are in `others`, or are not: float64. */
static hr_node set_count(hr_node ids, hr_node others, bool common, const hr_metric_opts *opts)
{
    hr_node counted = among(ids, others);
    if (!common) counted = hr_logical_not(counted);
    counted = hr_logical_and(counted, first_of_its_kind(ids));
    if (opts->class_id) counted = hr_logical_and(counted, hr_equal(ids, hr_scalar_like(ids, (double)*opts->class_id)));
    return hr__last_sum(hr_cast_to(counted, HR_DOUBLE));
}

/* ---- shapes ---- */

/* Labels [n] beside predictions [n, k] are one label a row. */
static bool at_k_pair(hr_node *labels, hr_node predictions, const char *what)
{
    if (!hr_node_exists(*labels) || !hr_node_exists(predictions)) return false;
    const int l = hr_node_shape(*labels).rank, p = hr_node_shape(predictions).rank;
    if (p == l + 1 && l >= 0) *labels = axis_added(*labels, -1);
    *labels = hr_cast_to(*labels, HR_INT64);
    if (l < 0 || p < 1 || p == l || p == l + 1) return true;
    hr_node_fail(labels->graph, HR_INVALID_ARGUMENT, "layers.shape",
                 "%s: expected labels of the rank of the predictions, %d, or one less, got %d", what, p, l);
    return false;
}

/* What rows count times their weights, summed. */
static hr_node weighed_sum(hr_node rows, const hr_metric_opts *opts)
{
    if (!opts->weights.graph) return hr_reduce_sum(rows);
    const int w = hr_node_shape(opts->weights).rank, r = hr_node_shape(rows).rank;
    if (w > 0 && r >= 0 && w != r)
        return hr_node_fail(rows.graph, HR_INVALID_ARGUMENT, "layers.weights",
                            "metric at k: expected a weight a row, rank %d, got rank %d", r, w);
    return hr_reduce_sum(hr_mul(rows, hr_cast_to(opts->weights, HR_DOUBLE)));
}

/* "recall_at_3_class2"; without k, "recall_at_k". */
static const char *at_k_name(char out[HR__NAME], const char *what, int64_t k, const hr_metric_opts *opts)
{
    char number[32] = "k", class_name[32] = "";
    if (k > 0) snprintf(number, sizeof number, "%lld", (long long)k);
    if (opts->class_id) snprintf(class_name, sizeof class_name, "_class%lld", (long long)*opts->class_id);
    snprintf(out, HR__NAME, "%s_at_%s%s", what, number, class_name);
    return out;
}

/* ---- recall, precision ---- */

static hr_node share_value(const hr_node *totals, const void *user)
{
    (void)user;
    return hr_div(totals[0], hr_add(totals[0], totals[1]));
}

/* Of the predicted ids or of the labels, the share that is both. */
static hr_metric share_at(hr_node labels, hr_node ids, int64_t k, const hr_metric_opts *opts, bool of_predicted)
{
    hr_graph *g = labels.graph ? labels.graph : ids.graph;
    const char *what = of_predicted ? "precision" : "recall";
    char scope[HR__NAME], hit[HR__NAME], miss[HR__NAME];
    if (!at_k_pair(&labels, ids, what)) return hr__metric_failed(g);
    ids = hr_cast_to(ids, HR_INT64);
    hr__metric_begin(g, opts, at_k_name(scope, what, k, opts));
    at_k_name(hit, "true_positive", k, opts);
    at_k_name(miss, of_predicted ? "false_positive" : "false_negative", k, opts);
    const hr_node total[] = {hr__metric_total(g, hit, HR_DOUBLE, HR_SCALAR),
                             hr__metric_total(g, miss, HR_DOUBLE, HR_SCALAR)};
    hr_node missed = of_predicted ? set_count(ids, labels, false, opts) : set_count(labels, ids, false, opts);
    const hr_node add[] = {weighed_sum(set_count(ids, labels, true, opts), opts), weighed_sum(missed, opts)};
    hr_metric metric = hr__metric_finish(g, total, add, 2, (hr__metric_form){.value = share_value});
    hr_scope_end(g);
    return metric;
}

static bool at_k_sound(hr_node labels, hr_node predictions, int64_t k)
{
    if (!hr_node_exists(labels) || !hr_node_exists(predictions)) return false;
    if (k >= 1) return true;
    hr_node_fail(predictions.graph, HR_INVALID_ARGUMENT, "layers.k", "metric at k: expected k of at least 1, got %lld",
                 (long long)k);
    return false;
}

hr_metric hr_metric_recall_at_k_with(hr_node labels, hr_node predictions, int64_t k, const hr_metric_opts *opts)
{
    if (!at_k_sound(labels, predictions, k)) return hr__metric_failed(labels.graph ? labels.graph : predictions.graph);
    return share_at(labels, hr__top_classes(predictions, k), k, &HR_OPTIONS(hr_metric_opts, opts), false);
}

hr_metric hr_metric_precision_at_k_with(hr_node labels, hr_node predictions, int64_t k, const hr_metric_opts *opts)
{
    if (!at_k_sound(labels, predictions, k)) return hr__metric_failed(labels.graph ? labels.graph : predictions.graph);
    return share_at(labels, hr__top_classes(predictions, k), k, &HR_OPTIONS(hr_metric_opts, opts), true);
}

hr_metric hr_metric_recall_at_top_k_with(hr_node labels, hr_node ids, const hr_metric_opts *opts)
{
    opts = &HR_OPTIONS(hr_metric_opts, opts);
    return share_at(labels, ids, opts->top_k, opts, false);
}

hr_metric hr_metric_precision_at_top_k_with(hr_node labels, hr_node ids, const hr_metric_opts *opts)
{
    opts = &HR_OPTIONS(hr_metric_opts, opts);
    return share_at(labels, ids, opts->top_k, opts, true);
}

/* ---- average precision ---- */

/* For each row, the sum over the places that hold a label of the precision up to there, divided by the number of
 * labels, at most k. Labels below 0 and beyond the classes do not count. */
static hr_node row_precision(hr_node labels, hr_node predictions, int64_t k)
{
    hr_graph *g = labels.graph;
    hr_node last = hr_scalar(g, HR_INT32, -1);
    hr_node hit = hr_cast_to(among(hr_cast_to(hr__top_classes(predictions, k), HR_INT64), labels), HR_DOUBLE);
    hr_node hits = hr_new_node(g, "Cumsum", HR_INPUTS(hit, last));
    hr_node places = hr_new_node(g, "Cumsum", HR_INPUTS(hr_ones_like(hit), last));
    hr_node sum = hr__last_sum(hr_mul(hr_div(hits, places), hit));
    hr_node classes = hr_strided_slice(hr_shape_of(predictions), {.at = (const int64_t[]){-1}});
    hr_node known = hr_logical_and(hr_greater_equal(labels, hr_scalar_like(labels, 0)),
                                   hr_less(labels, hr_cast_to(classes, HR_INT64)));
    hr_node relevant = hr__last_sum(hr_cast_to(known, HR_DOUBLE));
    return hr_div(sum, hr_minimum(relevant, hr_scalar_like(relevant, (double)k)));
}

static hr_node average_value(const hr_node *totals, const void *user)
{
    (void)user;
    return hr_div_no_nan(totals[1], totals[0]);
}

hr_metric hr_metric_average_precision_at_k_with(hr_node labels, hr_node predictions, int64_t k,
                                                const hr_metric_opts *opts)
{
    opts = &HR_OPTIONS(hr_metric_opts, opts);
    hr_graph *g = labels.graph ? labels.graph : predictions.graph;
    char scope[HR__NAME];
    if (!at_k_sound(labels, predictions, k) || !at_k_pair(&labels, predictions, "average_precision"))
        return hr__metric_failed(g);
    hr__metric_begin(g, opts, at_k_name(scope, "average_precision", k, &(const hr_metric_opts){0}));
    const hr_node total[] = {hr__metric_total(g, "max_1", HR_DOUBLE, HR_SCALAR),
                             hr__metric_total(g, "total", HR_DOUBLE, HR_SCALAR)};
    hr_node precision = row_precision(labels, predictions, k);
    const hr_node add[] = {weighed_sum(hr_ones_like(precision), opts), weighed_sum(precision, opts)};
    hr_metric metric = hr__metric_finish(g, total, add, 2, (hr__metric_form){.value = average_value});
    hr_scope_end(g);
    return metric;
}
