/* Metrics of true and false positives and negatives: the counts, precision, recall, AUC and its kin. Counts are of one
 * decision (predictions as truth values, or above a threshold), or of one at each of several thresholds. */
#include "train/layers/metrics_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* In the order of the outputs of Headrace>ThresholdCounts. */
typedef enum kind { TP, FN, TN, FP } kind;
static const char *const kind_names[] = {"true_positives", "false_negatives", "true_negatives", "false_positives"};

/* ---- one decision ---- */

static hr_node as_bool(hr_node x) { return hr_cast_to(x, HR_BOOL); }

static hr_node is_positive(hr_node predictions, const hr_metric_opts *opts)
{
    if (!opts->threshold && !opts->keras) return as_bool(predictions);
    predictions = hr_cast_to(predictions, HR_FLOAT);
    if (!opts->top_k) /* As they are; a value outside of [0, 1] is an error. */
        predictions = hr_new_node(predictions.graph, "Headrace>CheckProbabilities", HR_INPUTS(predictions));
    const double usual = opts->top_k ? -1e10 : 0.5;
    return hr_greater(predictions, hr_scalar_like(predictions, opts->threshold ? (double)*opts->threshold : usual));
}

static hr_node count_true(hr_node hits, const hr_metric_opts *opts)
{
    hr_node ones = hr_cast_to(hits, HR_FLOAT), weights = hr__metric_weights(opts, ones);
    return hr_reduce_sum(weights.graph ? hr_mul(ones, weights) : ones);
}

/* The count of one kind. */
static hr_node count_kind(kind which, hr_node truth, hr_node positive, const hr_metric_opts *opts)
{
    hr_node label = which == TP || which == FN ? truth : hr_logical_not(truth);
    hr_node decision = which == TP || which == FP ? positive : hr_logical_not(positive);
    return count_true(hr_logical_and(label, decision), opts);
}

/* ---- a decision at each threshold ---- */

enum { MOST_THRESHOLDS = 1 << 20 };

/* Keras wants them within [0, 1]. */
static bool threshold_fits(float t, const hr_metric_opts *opts) { return opts->keras ? t >= 0 && t <= 1 : !isnan(t); }

static bool thresholds_sound(hr_graph *g, const hr_metric_opts *opts, const char *what)
{
    const int count = opts->threshold_count, made = opts->num_thresholds ? opts->num_thresholds : 2;
    float wrong = opts->threshold && !threshold_fits(*opts->threshold, opts) ? *opts->threshold : 0;
    bool sound = !opts->threshold || threshold_fits(*opts->threshold, opts);
    if (count < 0 || count > MOST_THRESHOLDS || made < 2 || made > MOST_THRESHOLDS ||
        (count > 0 && !opts->thresholds)) {
        hr_node_fail(g, HR_INVALID_ARGUMENT, "layers.thresholds",
                     "%s: expected 2 to %d thresholds, or a list of at most as many, got %d and %s list of %d", what,
                     MOST_THRESHOLDS, opts->num_thresholds, opts->thresholds ? "a" : "no", count);
        return false;
    }
    for (int i = 0; sound && i < count; i++) sound = threshold_fits(wrong = opts->thresholds[i], opts);
    if (!sound)
        hr_node_fail(g, HR_INVALID_ARGUMENT, "layers.thresholds", "%s: expected thresholds %s, got %g", what,
                     opts->keras ? "from 0 to 1" : "that are numbers", (double)wrong);
    return sound;
}

static int rising(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static hr_node no_memory(hr_graph *g)
{
    hr_error err;
    hr_no_memory(&err, "thresholds");
    return hr_node_fail(g, err.code, err.kind, "%s", err.text);
}

static hr_node threshold_const(hr_graph *g, const float *thresholds, int count)
{
    hr_tensor value;
    hr_error err;
    if (hr_tensor_new(&value, HR_FLOAT, HR_SHAPE(count), &err) != HR_OK)
        return hr_node_fail(g, err.code, err.kind, "%s", err.text);
    memcpy(value.data, thresholds, (size_t)count * sizeof *thresholds);
    qsort(value.data, (size_t)count, sizeof *thresholds, rising);
    hr_node node = hr_const(g, &value, .name = "thresholds");
    hr_tensor_clear(&value);
    return node;
}

/* Node of counts at thresholds that rise: output TP, FN, TN, FP. */
static hr_node count_at(hr_node thresholds, hr_node labels, hr_node predictions, hr_node weights)
{
    const hr_node in[] = {predictions, as_bool(labels), thresholds, weights};
    return hr_new_node(labels.graph, "Headrace>ThresholdCounts", .inputs = in, .input_count = weights.graph ? 4 : 3);
}

/* For each threshold, its place among them in rising order. */
static hr_node threshold_places(hr_graph *g, const float *thresholds, int count)
{
    int64_t *place = hr_calloc((size_t)count, sizeof *place);
    if (!place) return no_memory(g);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) place[i] += thresholds[j] < thresholds[i];
    hr_node places = hr_ints(g, place, count);
    hr_free(place);
    return places;
}

/* ---- what several decisions count ---- */

/* Keras: only the k best classes may be positive; one class of the last axis. */
static bool select_class(hr_node *labels, hr_node *predictions, const hr_metric_opts *opts)
{
    hr_node p = hr_cast_to(*predictions, HR_FLOAT);
    const hr_shape shape = hr_node_shape(p);
    if ((opts->top_k || opts->class_id) && (shape.rank < 1 || shape.dims[shape.rank - 1] < 0)) {
        hr_node_fail(p.graph, HR_INVALID_ARGUMENT, "layers.shape", "metric: expected a known number of classes");
        return false;
    }
    if (opts->top_k) {
        hr_node best = hr_one_hot(hr__top_classes(p, opts->top_k), shape.dims[shape.rank - 1]);
        best = hr_reduce_sum(best, .axes = (const int64_t[]){-2}, .axis_count = 1);
        hr_node others = hr_mul(hr_scalar_like(p, -1e10), hr_sub(hr_scalar_like(p, 1), best));
        *predictions = hr_add(hr_mul(p, best), others);
    }
    if (opts->class_id) {
        const int64_t *id = opts->class_id;
        *labels = hr_strided_slice(*labels, {.ellipsis = true}, {.at = id}, {.new_axis = true});
        *predictions = hr_strided_slice(*predictions, {.ellipsis = true}, {.at = id}, {.new_axis = true});
    }
    return true;
}

/* The counts of `kinds`, added up; `value` of them. v1's "count" of one kind lies in a scope of its kind. */
static hr_metric counts_metric(hr_node labels, hr_node predictions, const hr_metric_opts *opts, const char *usual,
                               const kind *kinds, int n, hr__metric_value *value)
{
    hr_graph *g = labels.graph ? labels.graph : predictions.graph;
    const int count = opts->threshold_count;
    hr_node total[2], add[2];
    if (!hr__metric_pair(&labels, &predictions, usual) || !thresholds_sound(g, opts, usual) ||
        !select_class(&labels, &predictions, opts))
        return hr__metric_failed(g);
    hr__metric_begin(g, opts, usual);
    if (count > 0) {
        hr_node p = hr_cast_to(predictions, HR_FLOAT), places = threshold_places(g, opts->thresholds, count);
        hr_node counts = count_at(threshold_const(g, opts->thresholds, count), labels, p, hr__metric_weights(opts, p));
        for (int i = 0; i < n; i++) add[i] = hr_gather(hr_node_output(counts, (int)kinds[i]), places, 0);
    } else {
        hr_node truth = as_bool(labels), positive = is_positive(predictions, opts);
        for (int i = 0; i < n; i++) add[i] = count_kind(kinds[i], truth, positive, opts);
    }
    for (int i = 0; i < n; i++) {
        const char *name = opts->keras && n == 1 ? "accumulator" : kind_names[kinds[i]];
        const bool scoped = !opts->keras && count == 0;
        if (scoped && n > 1) hr_variable_scope(g, name);
        total[i] = hr__metric_total(g, scoped ? "count" : name, HR_FLOAT, count > 0 ? HR_SHAPE(count) : HR_SCALAR);
        if (scoped && n > 1) hr_scope_end(g);
    }
    hr_metric metric = hr__metric_finish(g, total, add, n, (hr__metric_form){.value = value, .user = opts});
    hr_scope_end(g);
    return metric;
}

static hr_node count_value(const hr_node *totals, const void *user)
{
    (void)user;
    return hr_identity(totals[0]);
}

static hr_node share_value(const hr_node *totals, const void *user)
{
    const hr_metric_opts *opts = user;
    if (opts->keras || opts->threshold_count == 0)
        return hr_div_no_nan(totals[0], hr_add(totals[0], totals[1]), .name = "value");
    hr_node epsilon = hr_scalar_like(totals[0], 1e-7);
    return hr_div(totals[0], hr_add(hr_add(epsilon, totals[0]), totals[1]), .name = "value");
}

#define COUNT_METRIC_(fn, which)                                                                                       \
    hr_metric fn##_with(hr_node labels, hr_node predictions, const hr_metric_opts *opts)                               \
    {                                                                                                                  \
        return counts_metric(labels, predictions, &HR_OPTIONS(hr_metric_opts, opts), kind_names[which],                \
                             &(const kind){which}, 1, count_value);                                                    \
    }
COUNT_METRIC_(hr_metric_true_positives, TP)
COUNT_METRIC_(hr_metric_false_negatives, FN)
COUNT_METRIC_(hr_metric_true_negatives, TN)
COUNT_METRIC_(hr_metric_false_positives, FP)

hr_metric hr_metric_precision_with(hr_node labels, hr_node predictions, const hr_metric_opts *opts)
{
    opts = &HR_OPTIONS(hr_metric_opts, opts);
    return counts_metric(labels, predictions, opts, opts->threshold_count ? "precision_at_thresholds" : "precision",
                         (const kind[]){TP, FP}, 2, share_value);
}

hr_metric hr_metric_recall_with(hr_node labels, hr_node predictions, const hr_metric_opts *opts)
{
    opts = &HR_OPTIONS(hr_metric_opts, opts);
    return counts_metric(labels, predictions, opts, opts->threshold_count ? "recall_at_thresholds" : "recall",
                         (const kind[]){TP, FN}, 2, share_value);
}

/* ---- curves ---- */

/* 0, 1 / (n - 1), ..., 1, whose ends are `low` and `high`; or those of the options between these ends. */
static hr_node curve_thresholds(hr_graph *g, const hr_metric_opts *opts, double low, double high, int *count)
{
    const int given = opts->threshold_count, n = given ? given + 2 : opts->num_thresholds ? opts->num_thresholds : 200;
    *count = n;
    float *t = hr_calloc((size_t)n, sizeof *t);
    if (!t) return no_memory(g);
    for (int i = 1; i < n - 1; i++) t[i] = given ? opts->thresholds[i - 1] : (float)((double)i / (double)(n - 1));
    t[0] = (float)low;
    t[n - 1] = (float)high;
    hr_node thresholds = threshold_const(g, t, n);
    hr_free(t);
    return thresholds;
}

/* Column `i` of a matrix. */
static hr_node column(hr_node matrix, int64_t i) { return hr_strided_slice(matrix, {.ellipsis = true}, {.at = &i}); }

/* For each label, the counts of its column: [thresholds, labels]. */
static void count_columns(hr_node thresholds, hr_node labels, hr_node p, hr_node weights, int64_t columns,
                          hr_node add[4])
{
    for (int i = 0; i < 4; i++) add[i] = (hr_node){0};
    for (int64_t c = 0; c < columns; c++) {
        hr_node w = weights.graph ? column(weights, c) : weights;
        hr_node counts = count_at(thresholds, column(labels, c), column(p, c), w);
        for (int i = 0; i < 4; i++) {
            hr_node one = hr_expand_dims(hr_node_output(counts, i), hr_scalar(p.graph, HR_INT32, -1));
            add[i] = c ? hr_concat((const hr_node[]){add[i], one}, 2, 1) : one;
        }
    }
}

/* The four counts at the thresholds from `low` to `high`, and `value` of them. */
static hr_metric curve_metric(hr_node labels, hr_node predictions, const hr_metric_opts *opts, const char *usual,
                              double low, double high, hr__metric_form form)
{
    hr_graph *g = labels.graph ? labels.graph : predictions.graph;
    int count;
    hr_node total[4], add[4];
    if (!hr__metric_pair(&labels, &predictions, usual) || !thresholds_sound(g, opts, usual) ||
        !select_class(&labels, &predictions, opts))
        return hr__metric_failed(g);
    const hr_shape shape = hr_node_shape(predictions);
    if (opts->multi_label && (shape.rank != 2 || shape.dims[1] < 1)) {
        hr_node_fail(g, HR_INVALID_ARGUMENT, "layers.shape", "%s: expected predictions [n, labels]", usual);
        return hr__metric_failed(g);
    }
    hr__metric_begin(g, opts, usual);
    hr_node thresholds = curve_thresholds(g, opts, low, high, &count), p = hr_cast_to(predictions, HR_FLOAT);
    if (hr_node_exists(thresholds)) {
        if (opts->from_logits) p = hr_sigmoid(p);
        hr_node weights = hr__metric_weights(opts, p);
        if (opts->multi_label) {
            count_columns(thresholds, labels, p, weights, shape.dims[1], add);
        } else {
            hr_node counts = count_at(thresholds, labels, p, weights);
            for (int i = 0; i < 4; i++) add[i] = hr_node_output(counts, i);
        }
        if (opts->curve == HR_PR && !opts->keras) add[TN] = hr_zeros_like(add[TN]); /* v1's update leaves them */
        const hr_shape vector = HR_SHAPE(count), matrix = HR_SHAPE(count, shape.dims[1]);
        for (int i = 0; i < 4; i++)
            total[i] = hr__metric_total(g, kind_names[i], HR_FLOAT, opts->multi_label ? matrix : vector);
    }
    hr_metric metric = hr_node_exists(thresholds) ? hr__metric_finish(g, total, add, 4, form) : hr__metric_failed(g);
    hr_scope_end(g);
    return metric;
}

static hr_node area_of(const hr_node *counts, const hr_metric_opts *opts)
{
    return hr_new_node(counts[0].graph, "Headrace>AreaUnderCurve", .inputs = counts, .input_count = 4,
                       HR_ATTRS(HR_BOOL_ATTR("pr", opts->curve == HR_PR), HR_BOOL_ATTR("keras", opts->keras),
                                HR_INT_ATTR("summation", opts->summation)));
}

/* The area, or the mean of the areas of the labels. */
static hr_node area_value(const hr_node *counts, const void *user)
{
    const hr_metric_opts *opts = user;
    if (!opts->multi_label) return area_of(counts, opts);
    const int64_t columns = hr_node_shape(counts[0]).dims[1];
    hr_node sum = {0};
    for (int64_t c = 0; c < columns; c++) {
        hr_node of[4];
        for (int i = 0; i < 4; i++) of[i] = column(counts[i], c);
        hr_node area = area_of(of, opts);
        sum = c ? hr_add(sum, area) : area;
    }
    return hr_div(sum, hr_scalar_like(sum, (double)columns));
}

hr_metric hr_metric_auc_with(hr_node labels, hr_node predictions, const hr_metric_opts *opts)
{
    opts = &HR_OPTIONS(hr_metric_opts, opts);
    return curve_metric(labels, predictions, opts, "auc", 0 - 1e-7, 1 + 1e-7,
                        (hr__metric_form){.value = area_value, .user = opts});
}

/* ---- one rate where another reaches a value ---- */

typedef struct rate_at {
    const hr_metric_opts *opts;
    kind rate[2], at[2]; /* totals[first] / (totals[first] + totals[second]) */
    double target;
    bool last; /* of the nearest, the last; default: the first */
} rate_at;

static hr_node rate_of(const hr_node *totals, const kind of[2], const hr_metric_opts *opts)
{
    hr_node hits = totals[of[0]], all = hr_add(hits, totals[of[1]]);
    return opts->keras ? hr_div_no_nan(hits, all) : hr_div(hits, hr_add(all, hr_scalar_like(all, 1e-7)));
}

/* Keras: the best rate where the other is at least the target, 0 if it never is. v1: the rate where it is nearest. */
static hr_node rate_value(const hr_node *totals, const void *user)
{
    const rate_at *r = user;
    hr_node rate = rate_of(totals, r->rate, r->opts), at = rate_of(totals, r->at, r->opts);
    hr_node target = hr_scalar_like(at, r->target);
    if (r->opts->keras) return hr_reduce_max(hr_where(hr_greater_equal(at, target), rate, hr_zeros_like(rate)));
    hr_node away = hr_abs(hr_sub(at, target));
    if (!r->last) return hr_gather(rate, hr_argmin(away, 0), 0);
    /* The last: where the number of nearest ones so far is first the greatest. */
    hr_node nearest = hr_cast_to(hr_equal(away, hr_reduce_min(away)), HR_INT64);
    hr_node so_far = hr_new_node(away.graph, "Cumsum", HR_INPUTS(nearest, hr_scalar(away.graph, HR_INT32, 0)));
    return hr_gather(rate, hr_argmax(so_far, 0), 0);
}

static hr_metric rate_metric(hr_node labels, hr_node predictions, rate_at r, const char *name)
{
    hr_graph *g = labels.graph ? labels.graph : predictions.graph;
    if (!(r.target >= 0 && r.target <= 1)) {
        hr_node_fail(g, HR_INVALID_ARGUMENT, "layers.rate", "%s: expected a rate from 0 to 1, got %g", name, r.target);
        return hr__metric_failed(g);
    }
    const double low = r.opts->keras ? 0 : 0 - 1e-7, high = r.opts->keras ? 1 : r.last ? 1 - 1e-7 : 1 + 1e-7;
    return curve_metric(labels, predictions, r.opts, name, low, high,
                        (hr__metric_form){.value = rate_value, .user = &r});
}

hr_metric hr_metric_sensitivity_at_specificity_with(hr_node labels, hr_node predictions, double specificity,
                                                    const hr_metric_opts *opts)
{
    opts = &HR_OPTIONS(hr_metric_opts, opts);
    return rate_metric(labels, predictions, (rate_at){opts, {TP, FN}, {TN, FP}, specificity, false},
                       "sensitivity_at_specificity");
}

hr_metric hr_metric_specificity_at_sensitivity_with(hr_node labels, hr_node predictions, double sensitivity,
                                                    const hr_metric_opts *opts)
{
    opts = &HR_OPTIONS(hr_metric_opts, opts);
    return rate_metric(labels, predictions, (rate_at){opts, {TN, FP}, {TP, FN}, sensitivity, true},
                       "specificity_at_sensitivity");
}

hr_metric hr_metric_precision_at_recall_with(hr_node labels, hr_node predictions, double recall,
                                             const hr_metric_opts *opts)
{
    hr_metric_opts o = HR_OPTIONS(hr_metric_opts, opts);
    o.keras = true;
    return rate_metric(labels, predictions, (rate_at){&o, {TP, FP}, {TP, FN}, recall, false}, "precision_at_recall");
}

hr_metric hr_metric_recall_at_precision_with(hr_node labels, hr_node predictions, double precision,
                                             const hr_metric_opts *opts)
{
    hr_metric_opts o = HR_OPTIONS(hr_metric_opts, opts);
    o.keras = true;
    return rate_metric(labels, predictions, (rate_at){&o, {TP, FN}, {TP, FP}, precision, false}, "recall_at_precision");
}
