/* Losses: tf.losses. Each is made of ops, in float32 whatever comes in, but cross entropies in the type of the logits;
 * weighed and reduced by compute_weighted_loss, in float32. */
#include "train/layers/layers_internal.h"
#include <headrace/eager.h>

/* ---- shapes ---- */

bool hr__same_shape(hr_node a, hr_node b, const char *what)
{
    hr_shape merged;
    char first[128], second[128];
    if (hr_shape_merge(hr_node_shape(a), hr_node_shape(b), &merged)) return true;
    hr_node_fail(a.graph, HR_INVALID_ARGUMENT, "layers.shape",
                 "%s: expected labels and predictions of one shape, got %s and %s", what,
                 hr_shape_text(hr_node_shape(a), first, sizeof first),
                 hr_shape_text(hr_node_shape(b), second, sizeof second));
    return false;
}

bool hr__weights_fit(hr_node losses, hr_node weights, const char *what)
{
    const hr_shape l = hr_node_shape(losses), w = hr_node_shape(weights);
    if (l.rank < 0 || w.rank <= 0) return true;
    bool fit = l.rank == w.rank;
    for (int i = 0; fit && i < w.rank; i++)
        fit = w.dims[i] == 1 || w.dims[i] < 0 || l.dims[i] < 0 || w.dims[i] == l.dims[i];
    char first[128], second[128];
    if (!fit)
        hr_node_fail(losses.graph, HR_INVALID_ARGUMENT, "layers.weights",
                     "%s: expected weights that broadcast to %s, got %s", what, hr_shape_text(l, first, sizeof first),
                     hr_shape_text(w, second, sizeof second));
    return fit;
}

/* ---- reducing ---- */

static hr_node losses_count_of(hr_node x) { return hr_cast_to(hr_size_of(x), HR_FLOAT); }

/* What the sum is divided by; no node: by nothing. */
static hr_node losses_divisor(hr_node losses, const hr_loss_opts *opts, hr_node weights)
{
    switch (opts->reduction) {
    case HR_SUM_OVER_BATCH_SIZE:
        return losses_count_of(losses);
    case HR_REDUCTION_MEAN:
        return weights.graph ? hr_reduce_sum(hr_mul(weights, hr_ones_like(losses))) : losses_count_of(losses);
    case HR_SUM_BY_NONZERO_WEIGHTS: {
        if (!weights.graph) return losses_count_of(losses);
        hr_node present = hr_cast_to(hr_not_equal(weights, hr_scalar_like(weights, 0)), HR_FLOAT);
        return hr_reduce_sum(hr_mul(present, hr_ones_like(losses)));
    }
    default:
        return (hr_node){0};
    }
}

static hr_node losses_reduce(hr_node losses, const hr_loss_opts *opts)
{
    const hr_dtype dtype = hr_node_dtype(losses);
    losses = hr_cast_to(losses, HR_FLOAT);
    hr_node weights = opts->weights.graph ? hr_cast_to(opts->weights, HR_FLOAT) : (hr_node){0};
    hr_node weighted = weights.graph ? hr_mul(losses, weights) : losses;
    if (opts->reduction == HR_REDUCTION_NONE) return hr_cast_to(weighted, dtype);
    hr_node sum = hr_reduce_sum(weighted), by = losses_divisor(losses, opts, weights);
    return hr_cast_to(by.graph ? hr_div_no_nan(sum, by, .name = "value") : sum, dtype);
}

hr_node hr_compute_weighted_loss_with(hr_node losses, const hr_loss_opts *opts)
{
    opts = &HR_OPTIONS(hr_loss_opts, opts);
    if (!hr_node_exists(losses)) return losses;
    if (opts->weights.graph && !hr__weights_fit(losses, opts->weights, "loss")) return hr_failed_node(losses.graph);
    hr_name_scope(losses.graph, opts->name ? opts->name : "weighted_loss");
    hr_node loss = losses_reduce(losses, opts);
    hr_scope_end(losses.graph);
    if (!opts->not_collected && !hr_graph_is_eager(losses.graph)) hr_add_to_collection(losses.graph, "losses", loss);
    return loss;
}

static hr_node losses_weigh(hr_node losses, const hr_loss_opts *opts)
{
    hr_loss_opts inner = *opts;
    inner.name = NULL;
    return hr_compute_weighted_loss_with(losses, &inner);
}

/* ---- losses of one value each ---- */

typedef hr_node elementwise(hr_node labels, hr_node predictions, const hr_loss_opts *opts);

static hr_node one_minus(hr_node x) { return hr_sub(hr_scalar_like(x, 1), x); }

static hr_node squared(hr_node y, hr_node p, const hr_loss_opts *opts)
{
    (void)opts;
    return hr_squared_difference(p, y);
}

static hr_node absolute(hr_node y, hr_node p, const hr_loss_opts *opts)
{
    (void)opts;
    return hr_abs(hr_sub(p, y));
}

static hr_node logarithmic(hr_node y, hr_node p, const hr_loss_opts *opts)
{
    hr_node epsilon = hr_scalar_like(p, opts->epsilon ? (double)*opts->epsilon : 1e-7);
    hr_node first = hr_mul(y, hr_log(hr_add(p, epsilon)));
    hr_node second = hr_mul(one_minus(y), hr_log(hr_add(one_minus(p), epsilon)));
    return hr_sub(hr_neg(first), second);
}

static hr_node hinge(hr_node y, hr_node p, const hr_loss_opts *opts)
{
    (void)opts;
    hr_node sign = hr_sub(hr_mul(y, hr_scalar_like(y, 2)), hr_scalar_like(y, 1));
    return hr_relu(one_minus(hr_mul(sign, p)));
}

static hr_node huber(hr_node y, hr_node p, const hr_loss_opts *opts)
{
    hr_node error = hr_abs(hr_sub(p, y)), delta = hr_scalar_like(p, opts->delta ? (double)*opts->delta : 1);
    hr_node quadratic = hr_minimum(error, delta), linear = hr_sub(error, quadratic);
    return hr_add(hr_mul(hr_scalar_like(p, .5), hr_mul(quadratic, quadratic)), hr_mul(delta, linear));
}

static hr_node cosine(hr_node y, hr_node p, const hr_loss_opts *opts)
{
    const int64_t axis = opts->axis;
    return one_minus(hr_reduce_sum(hr_mul(p, y), .axes = &axis, .axis_count = 1, .keep_dims = true));
}

static hr_node sigmoid_cross_entropy(hr_node z, hr_node x, const hr_loss_opts *opts)
{
    const double s = (double)opts->label_smoothing;
    if (s > 0) z = hr_add(hr_mul(z, hr_scalar_like(z, 1 - s)), hr_scalar_like(z, .5 * s));
    return hr_sigmoid_cross_entropy(x, z);
}

static hr_node loss_of(hr_node labels, hr_node predictions, const hr_loss_opts *opts, const char *name,
                       elementwise *losses)
{
    opts = &HR_OPTIONS(hr_loss_opts, opts);
    if (!hr_node_exists(labels) || !hr_node_exists(predictions))
        return hr_failed_node(labels.graph ? labels.graph : predictions.graph);
    if (!hr__same_shape(labels, predictions, name)) return hr_failed_node(labels.graph);
    hr_name_scope(labels.graph, opts->name ? opts->name : name);
    /* As TensorFlow does: a model in double, or half, has a loss of its type. */
    const hr_dtype dtype = losses == sigmoid_cross_entropy ? hr__layer_type(predictions) : HR_FLOAT;
    hr_node loss = losses_weigh(losses(hr_cast_to(labels, dtype), hr_cast_to(predictions, dtype), opts), opts);
    hr_scope_end(labels.graph);
    return loss;
}

#define LOSS(fn, name, losses)                                                                                         \
    hr_node fn##_with(hr_node labels, hr_node predictions, const hr_loss_opts *opts)                                   \
    {                                                                                                                  \
        return loss_of(labels, predictions, opts, name, losses);                                                       \
    }
LOSS(hr_mean_squared_error, "mean_squared_error", squared)
LOSS(hr_absolute_difference, "absolute_difference", absolute)
LOSS(hr_cosine_distance, "cosine_distance_loss", cosine)
LOSS(hr_log_loss, "log_loss", logarithmic)
LOSS(hr_hinge_loss, "hinge_loss", hinge)
LOSS(hr_huber_loss, "huber_loss", huber)
LOSS(hr_sigmoid_cross_entropy_loss, "sigmoid_cross_entropy_loss", sigmoid_cross_entropy)

/* ---- losses of a row ---- */

/* The number of weights of each row that are not 0. */
static hr_node pairwise_present(hr_node d, hr_node weights, const hr_reduce_opts *row)
{
    hr_node present = hr_ones_like(d);
    if (weights.graph)
        present = hr_mul(hr_cast_to(hr_not_equal(weights, hr_scalar_like(weights, 0)), HR_FLOAT), present);
    return hr_reduce_sum_with(present, row);
}

static hr_node pairwise_squared(hr_node d, hr_node weights)
{
    int64_t axes[HR_MAX_RANK];
    const int count = hr_node_shape(d).rank - 1;
    for (int i = 0; i < count; i++) axes[i] = i + 1;
    const hr_reduce_opts row = {.struct_size = sizeof row, .axes = axes, .axis_count = count, .keep_dims = true};
    hr_node n = pairwise_present(d, weights, &row), zero = hr_scalar_like(n, 0), two = hr_scalar_like(n, 2);
    hr_node others = hr_sub(n, hr_scalar_like(n, 1));
    hr_node squares = hr_reduce_sum_with(hr_square(d), &row), square = hr_square(hr_reduce_sum_with(d, &row));
    hr_node first = hr_mul(two, hr_div_no_nan(squares, hr_maximum(others, zero)));
    hr_node second = hr_mul(two, hr_div_no_nan(square, hr_maximum(hr_mul(n, others), zero)));
    hr_node losses = hr_sub(first, second), sum = hr_reduce_sum(weights.graph ? hr_mul(losses, weights) : losses);
    return hr_where(hr_greater(hr_reduce_sum(n), zero), sum, hr_zeros_like(sum));
}

hr_node hr_mean_pairwise_squared_error_with(hr_node labels, hr_node predictions, const hr_loss_opts *opts)
{
    static const char *const name = "mean_pairwise_squared_error";
    opts = &HR_OPTIONS(hr_loss_opts, opts);
    if (!hr_node_exists(labels) || !hr_node_exists(predictions))
        return hr_failed_node(labels.graph ? labels.graph : predictions.graph);
    hr_graph *g = labels.graph;
    if (!hr__same_shape(labels, predictions, name)) return hr_failed_node(g);
    if (hr_node_shape(predictions).rank < 2)
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "layers.shape",
                            "%s: expected rows, a known rank of at least 2, got %d", name,
                            hr_node_shape(predictions).rank);
    if (opts->weights.graph && !hr__weights_fit(predictions, opts->weights, "mean_pairwise_squared_error"))
        return hr_failed_node(g);
    hr_name_scope(g, opts->name ? opts->name : name);
    hr_node difference = hr_sub(hr_cast_to(predictions, HR_FLOAT), hr_cast_to(labels, HR_FLOAT));
    hr_node weights = opts->weights.graph ? hr_cast_to(opts->weights, HR_FLOAT) : (hr_node){0};
    hr_node loss = pairwise_squared(difference, weights);
    hr_scope_end(g);
    if (!opts->not_collected && !hr_graph_is_eager(g)) hr_add_to_collection(g, "losses", loss);
    return loss;
}

static hr_node softmax_cross_entropy(hr_node labels, hr_node logits, const hr_loss_opts *opts)
{
    const double s = (double)opts->label_smoothing;
    labels = hr_cast_to(labels, hr__layer_type(logits));
    if (s > 0) {
        const hr_shape shape = hr_node_shape(labels);
        const int64_t classes = shape.rank > 0 ? shape.dims[shape.rank - 1] : -1;
        if (classes < 1)
            return hr_node_fail(labels.graph, HR_INVALID_ARGUMENT, "layers.shape",
                                "softmax_cross_entropy_loss: expected a known number of classes to smooth labels");
        labels = hr_add(hr_mul(labels, hr_scalar_like(labels, 1 - s)), hr_scalar_like(labels, s / (double)classes));
    }
    return hr_softmax_cross_entropy(hr_cast_to(logits, hr__layer_type(logits)), hr_stop_gradient(labels));
}

hr_node hr_softmax_cross_entropy_loss_with(hr_node labels, hr_node logits, const hr_loss_opts *opts)
{
    opts = &HR_OPTIONS(hr_loss_opts, opts);
    if (!hr_node_exists(labels) || !hr_node_exists(logits))
        return hr_failed_node(labels.graph ? labels.graph : logits.graph);
    if (!hr__same_shape(labels, logits, "softmax_cross_entropy_loss")) return hr_failed_node(labels.graph);
    hr_name_scope(labels.graph, opts->name ? opts->name : "softmax_cross_entropy_loss");
    hr_node loss = losses_weigh(softmax_cross_entropy(labels, logits, opts), opts);
    hr_scope_end(labels.graph);
    return loss;
}

/* A last dimension of 1 that the other side does not have goes away. */
static hr_node losses_squeezed(hr_node x, int rank)
{
    const hr_shape shape = hr_node_shape(x);
    if (shape.rank != rank + 1 || shape.dims[rank] != 1) return x;
    return hr_squeeze(x, (const int64_t[]){-1}, 1);
}

/* Logits of any rank: a class a row. */
static hr_node sparse_softmax(hr_node labels, hr_node logits)
{
    const hr_shape shape = hr_node_shape(logits);
    logits = hr_cast_to(logits, hr__layer_type(logits));
    if (shape.rank <= 2) return hr_sparse_softmax_cross_entropy(logits, labels);
    hr_graph *g = logits.graph;
    hr_node rows = hr_reshape(logits, hr_shape_const(g, HR_SHAPE(-1, shape.dims[shape.rank - 1])));
    hr_node losses = hr_sparse_softmax_cross_entropy(rows, hr_reshape(labels, hr_shape_const(g, HR_SHAPE(-1))));
    return hr_reshape(losses, hr_shape_of(labels));
}

hr_node hr_sparse_softmax_cross_entropy_loss_with(hr_node labels, hr_node logits, const hr_loss_opts *opts)
{
    opts = &HR_OPTIONS(hr_loss_opts, opts);
    hr_loss_opts inner = *opts;
    if (!hr_node_exists(labels) || !hr_node_exists(logits))
        return hr_failed_node(labels.graph ? labels.graph : logits.graph);
    const int rank = hr_node_shape(logits).rank - 1;
    hr_name_scope(labels.graph, opts->name ? opts->name : "sparse_softmax_cross_entropy_loss");
    if (rank >= 0) labels = losses_squeezed(labels, rank);
    if (inner.weights.graph && rank >= 0) inner.weights = losses_squeezed(inner.weights, rank);
    if (hr_node_dtype(labels) != HR_INT32) labels = hr_cast_to(labels, HR_INT64);
    hr_node loss = losses_weigh(sparse_softmax(labels, logits), &inner);
    hr_scope_end(labels.graph);
    return loss;
}

/* ---- all of them ---- */

hr_node hr_get_total_loss(hr_graph *g)
{
    int losses, others;
    const hr_node *loss = hr_get_collection(g, "losses", &losses);
    const hr_node *other = hr_get_collection(g, "regularization_losses", &others);
    if (losses + others == 0)
        return hr_node_fail(g, HR_FAILED_PRECONDITION, "layers.losses",
                            "get_total_loss: expected at least one loss in the collection \"losses\"");
    hr_node *all = hr_malloc((size_t)(losses + others) * sizeof *all);
    if (!all) return hr_node_fail(g, HR_RESOURCE_EXHAUSTED, "memory", "no memory for losses");
    for (int i = 0; i < losses; i++) all[i] = loss[i];
    for (int i = 0; i < others; i++) all[losses + i] = other[i];
    hr_node total = losses + others == 1 ? all[0] : hr_add_n(all, losses + others);
    hr_free(all);
    return total;
}
