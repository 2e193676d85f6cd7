/* Streaming metrics: tf.metrics. Accumulators are local variables; the update adds a batch and gives the value with it,
 * the value reads what was there before the update of the same run. Here: what all share, and means. */
#include "train/layers/metrics_internal.h"

/* ---- accumulators ---- */

hr_node hr__metric_total(hr_graph *g, const char *name, hr_dtype dtype, hr_shape shape)
{
    return hr_get_variable(g, name, dtype, shape, .initializer = hr_zeros(), .not_trainable = true, .whole = true,
                           .sets = HR_LOCAL_VARIABLES | HR_METRIC_VARIABLES);
}

hr_metric hr__metric_finish(hr_graph *g, const hr_node *total, const hr_node *add, int count, hr__metric_form form)
{
    hr_node now[HR__TOTALS] = {{0}}, update[HR__TOTALS] = {{0}};
    hr_metric metric;
    for (int i = 0; i < count; i++)
        if (!hr_node_exists(total[i]) || !hr_node_exists(add[i])) return hr__metric_failed(g);
    for (int i = 0; i < count; i++) now[i] = hr_identity(total[i]);
    metric.value = form.value(now, form.user);
    for (int i = 0; i < count; i++) update[i] = hr_target(hr_assign_add(total[i], add[i]));
    hr_control_dependencies(g, update, count);
    for (int i = 0; i < count; i++) now[i] = hr_identity(total[i]);
    metric.update = (form.update ? form.update : form.value)(now, form.user);
    hr_control_end(g);
    return metric;
}

void hr__metric_begin(hr_graph *g, const hr_metric_opts *opts, const char *usual)
{
    hr__layer_begin(g, opts->name, usual);
}

hr_metric hr__metric_failed(hr_graph *g)
{
    const hr_node node = hr_failed_node(g);
    return (hr_metric){node, node};
}

hr_node hr__metric_weights(const hr_metric_opts *opts, hr_node like)
{
    if (!opts->weights.graph) return opts->weights;
    hr_node weights = hr_cast_to(opts->weights, HR_FLOAT);
    const hr_shape w = hr_node_shape(weights), l = hr_node_shape(like);
    if (w.rank == l.rank + 1 && w.rank > 0 && w.dims[w.rank - 1] == 1)
        weights = hr_squeeze(weights, (const int64_t[]){-1}, 1);
    else if (w.rank > 0 && w.rank + 1 == l.rank)
        weights = hr_expand_dims(weights, hr_scalar(weights.graph, HR_INT32, -1));
    if (!hr__weights_fit(like, weights, "metric")) return hr_failed_node(weights.graph);
    return hr_mul(weights, hr_ones_like(like));
}

/* [n, 1] beside [n]: the last dimension goes. */
static void level(hr_node *a, hr_node *b)
{
    const hr_shape x = hr_node_shape(*a), y = hr_node_shape(*b);
    if (x.rank == y.rank + 1 && x.rank > 0 && x.dims[x.rank - 1] == 1) *a = hr_squeeze(*a, (const int64_t[]){-1}, 1);
    if (y.rank == x.rank + 1 && y.rank > 0 && y.dims[y.rank - 1] == 1) *b = hr_squeeze(*b, (const int64_t[]){-1}, 1);
}

bool hr__metric_pair(hr_node *labels, hr_node *predictions, const char *what)
{
    if (!hr_node_exists(*labels) || !hr_node_exists(*predictions)) return false;
    level(labels, predictions);
    return hr__same_shape(*labels, *predictions, what);
}

hr_node hr__last_sum(hr_node x) { return hr_reduce_sum(x, .axes = (const int64_t[]){-1}, .axis_count = 1); }
hr_node hr__last_mean(hr_node x) { return hr_reduce_mean(x, .axes = (const int64_t[]){-1}, .axis_count = 1); }

hr_node hr__top_classes(hr_node predictions, int64_t k)
{
    hr_node count = hr_scalar(predictions.graph, HR_INT32, (double)k);
    return hr_node_output(hr_new_node(predictions.graph, "TopKV2", HR_INPUTS(predictions, count)), 1);
}

/* ---- means ---- */

static hr_node mean_value(const hr_node *totals, const void *user)
{
    const hr_metric_opts *opts = user;
    hr_node count = opts->keras ? totals[1] : hr_maximum(totals[1], hr_scalar_like(totals[1], 0));
    return hr_div_no_nan(totals[0], count, .name = "value");
}

static hr_metric metrics_mean_of(hr_node values, const hr_metric_opts *opts)
{
    hr_graph *g = values.graph;
    const hr_node total[] = {hr__metric_total(g, "total", HR_FLOAT, HR_SCALAR),
                             hr__metric_total(g, "count", HR_FLOAT, HR_SCALAR)};
    values = hr_cast_to(values, HR_FLOAT);
    hr_node weights = hr__metric_weights(opts, values);
    const hr_node add[] = {hr_reduce_sum(weights.graph ? hr_mul(values, weights) : values),
                           weights.graph ? hr_reduce_sum(weights) : hr_cast_to(hr_size_of(values), HR_FLOAT)};
    return hr__metric_finish(g, total, add, 2, (hr__metric_form){.value = mean_value, .user = opts});
}

hr_metric hr__metric_mean(hr_node values, const hr_metric_opts *opts, const char *usual)
{
    if (!hr_node_exists(values)) return hr__metric_failed(values.graph);
    hr__metric_begin(values.graph, opts, usual);
    hr_metric metric = metrics_mean_of(values, opts);
    hr_scope_end(values.graph);
    return metric;
}

hr_metric hr_metric_mean_with(hr_node values, const hr_metric_opts *opts)
{
    return hr__metric_mean(values, &HR_OPTIONS(hr_metric_opts, opts), "mean");
}

static hr_node as_it_is(const hr_node *totals, const void *user)
{
    (void)user;
    return totals[0];
}

hr_metric hr_metric_sum_with(hr_node values, const hr_metric_opts *opts)
{
    opts = &HR_OPTIONS(hr_metric_opts, opts);
    hr_graph *g = values.graph;
    if (!hr_node_exists(values)) return hr__metric_failed(g);
    hr__metric_begin(g, opts, "sum");
    const hr_node total = hr__metric_total(g, "total", HR_FLOAT, HR_SCALAR);
    values = hr_cast_to(values, HR_FLOAT);
    hr_node weights = hr__metric_weights(opts, values);
    const hr_node add = hr_reduce_sum(weights.graph ? hr_mul(values, weights) : values);
    hr_metric metric = hr__metric_finish(g, &total, &add, 1, (hr__metric_form){.value = as_it_is});
    hr_scope_end(g);
    return metric;
}

hr_metric hr_metric_mean_tensor_with(hr_node values, const hr_metric_opts *opts)
{
    opts = &HR_OPTIONS(hr_metric_opts, opts);
    hr_graph *g = values.graph;
    if (!hr_node_exists(values)) return hr__metric_failed(g);
    hr__metric_begin(g, opts, opts->keras ? "mean_tensor" : "mean");
    const hr_shape shape = hr_node_shape(values);
    const hr_node total[] = {hr__metric_total(g, opts->keras ? "total" : "total_tensor", HR_FLOAT, shape),
                             hr__metric_total(g, opts->keras ? "count" : "count_tensor", HR_FLOAT, shape)};
    values = hr_cast_to(values, HR_FLOAT);
    hr_node weights = hr__metric_weights(opts, values);
    const hr_node add[] = {weights.graph ? hr_mul(values, weights) : values,
                           weights.graph ? weights : hr_ones_like(values)};
    hr_metric metric = hr__metric_finish(g, total, add, 2, (hr__metric_form){.value = mean_value, .user = opts});
    hr_scope_end(g);
    return metric;
}

hr_metric hr_metric_percentage_below_with(hr_node values, float threshold, const hr_metric_opts *opts)
{
    opts = &HR_OPTIONS(hr_metric_opts, opts);
    if (!hr_node_exists(values)) return hr__metric_failed(values.graph);
    return hr__metric_mean(hr_less(values, hr_scalar_like(values, (double)threshold)), opts,
                           "percentage_below_threshold");
}

/* ---- means of errors ---- */

static hr_graph *graph_of(hr_node labels, hr_node predictions)
{
    return labels.graph ? labels.graph : predictions.graph;
}

hr_metric hr_metric_accuracy_with(hr_node labels, hr_node predictions, const hr_metric_opts *opts)
{
    opts = &HR_OPTIONS(hr_metric_opts, opts);
    if (!hr__metric_pair(&labels, &predictions, "accuracy")) return hr__metric_failed(graph_of(labels, predictions));
    return hr__metric_mean(hr_equal(hr_cast_to(predictions, hr_node_dtype(labels)), labels), opts, "accuracy");
}

/* Keras first takes the mean of each row. */
static hr_metric mean_of_errors(hr_node errors, const hr_metric_opts *opts, const char *usual)
{
    return hr__metric_mean(opts->keras ? hr__last_mean(errors) : errors, opts, usual);
}

hr_metric hr_metric_mean_squared_error_with(hr_node labels, hr_node predictions, const hr_metric_opts *opts)
{
    static const char name[] = "mean_squared_error";
    opts = &HR_OPTIONS(hr_metric_opts, opts);
    if (!hr__metric_pair(&labels, &predictions, name)) return hr__metric_failed(graph_of(labels, predictions));
    return mean_of_errors(hr_squared_difference(labels, predictions), opts, name);
}

hr_metric hr_metric_root_mean_squared_error_with(hr_node labels, hr_node predictions, const hr_metric_opts *opts)
{
    static const char name[] = "root_mean_squared_error";
    opts = &HR_OPTIONS(hr_metric_opts, opts);
    if (!hr__metric_pair(&labels, &predictions, name)) return hr__metric_failed(graph_of(labels, predictions));
    hr_metric mean = hr__metric_mean(hr_squared_difference(labels, predictions), opts, name);
    return (hr_metric){hr_sqrt(mean.value), hr_sqrt(mean.update)};
}

hr_metric hr_metric_mean_absolute_error_with(hr_node labels, hr_node predictions, const hr_metric_opts *opts)
{
    static const char name[] = "mean_absolute_error";
    opts = &HR_OPTIONS(hr_metric_opts, opts);
    if (!hr__metric_pair(&labels, &predictions, name)) return hr__metric_failed(graph_of(labels, predictions));
    return mean_of_errors(hr_abs(hr_sub(predictions, labels)), opts, name);
}

hr_metric hr_metric_mean_relative_error_with(hr_node labels, hr_node predictions, hr_node normalizer,
                                             const hr_metric_opts *opts)
{
    static const char name[] = "mean_relative_error";
    opts = &HR_OPTIONS(hr_metric_opts, opts);
    if (!hr__metric_pair(&labels, &predictions, name) || !hr__metric_pair(&predictions, &normalizer, name))
        return hr__metric_failed(graph_of(labels, predictions));
    hr_node none = hr_equal(normalizer, hr_scalar_like(normalizer, 0));
    hr_node relative = hr_div(hr_abs(hr_sub(labels, predictions)), normalizer);
    return hr__metric_mean(hr_where(none, hr_zeros_like(labels), relative), opts, name);
}

hr_metric hr_metric_mean_cosine_distance_with(hr_node labels, hr_node predictions, int axis, const hr_metric_opts *opts)
{
    static const char name[] = "mean_cosine_distance";
    opts = &HR_OPTIONS(hr_metric_opts, opts);
    if (!hr__metric_pair(&labels, &predictions, name)) return hr__metric_failed(graph_of(labels, predictions));
    hr_node products =
        hr_reduce_sum(hr_mul(predictions, labels), .axes = (const int64_t[]){axis}, .axis_count = 1, .keep_dims = true);
    hr_metric mean = hr__metric_mean(products, opts, name);
    hr_node one = hr_scalar_like(mean.value, 1);
    return (hr_metric){hr_sub(one, mean.value), hr_sub(one, mean.update)};
}
