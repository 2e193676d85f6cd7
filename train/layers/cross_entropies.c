/* Losses of tf.nn, one value an element or a row, without weights and reduction. */
#include "train/layers/layers_internal.h"

static hr_node one_minus(hr_node x) { return hr_sub(hr_scalar_like(x, 1), x); }

/* x with `axis` last. */
static hr_node entropy_axis_last(hr_node x, int axis)
{
    const int rank = hr_node_shape(x).rank;
    hr_shape order = {.rank = rank};
    int n = 0;
    if (axis == rank - 1) return x;
    for (int i = 0; i < rank; i++)
        if (i != axis) order.dims[n++] = i;
    order.dims[n] = axis;
    return hr_transpose(x, hr_shape_const(x.graph, order));
}

/* All dimensions but the last become one. */
static hr_node entropy_rows(hr_node x)
{
    if (hr_node_shape(x).rank == 2) return x;
    hr_node all = hr_shape_const(x.graph, HR_SHAPE(-1));
    hr_node last = hr_strided_slice(hr_cast_to(hr_shape_of(x), hr_node_dtype(all)), {.begin = HR_I64(-1)});
    return hr_reshape(x, hr_concat((const hr_node[]){all, last}, 2, 0));
}

/* A loss a row gets the shape that `x` has without its last dimension. */
static hr_node entropy_unrows(hr_node losses, hr_node x)
{
    if (hr_node_shape(x).rank == 2) return losses;
    return hr_reshape(losses, hr_strided_slice(hr_shape_of(x), {.end = HR_I64(-1)}));
}

hr_node hr_softmax_cross_entropy_with_logits(hr_node labels, hr_node logits, int axis)
{
    if (!hr_node_exists(labels) || !hr_node_exists(logits))
        return hr_failed_node(labels.graph ? labels.graph : logits.graph);
    const int rank = hr_node_shape(logits).rank;
    if (axis < -rank || axis >= rank || hr_node_shape(labels).rank != rank)
        return hr_node_fail(logits.graph, HR_INVALID_ARGUMENT, "layers.shape",
                            "softmax_cross_entropy_with_logits: expected labels and logits of one known rank and an "
                            "axis of theirs, got ranks %d and %d and axis %d",
                            hr_node_shape(labels).rank, rank, axis);
    if (axis < 0) axis += rank;
    labels = entropy_axis_last(labels, axis);
    logits = entropy_axis_last(logits, axis);
    return entropy_unrows(hr_softmax_cross_entropy(entropy_rows(logits), entropy_rows(labels)), logits);
}

hr_node hr_sparse_softmax_cross_entropy_with_logits(hr_node labels, hr_node logits)
{
    if (!hr_node_exists(labels) || !hr_node_exists(logits))
        return hr_failed_node(labels.graph ? labels.graph : logits.graph);
    const int rank = hr_node_shape(logits).rank;
    if (rank < 1 || hr_node_shape(labels).rank != rank - 1)
        return hr_node_fail(logits.graph, HR_INVALID_ARGUMENT, "layers.shape",
                            "sparse_softmax_cross_entropy_with_logits: expected labels of the logits' rank - 1, got "
                            "ranks %d and %d",
                            hr_node_shape(labels).rank, rank);
    if (rank == 2) return hr_sparse_softmax_cross_entropy(logits, labels);
    hr_node classes = hr_reshape(labels, hr_shape_const(labels.graph, HR_SHAPE(-1)));
    return entropy_unrows(hr_sparse_softmax_cross_entropy(entropy_rows(logits), classes), logits);
}

hr_node hr_weighted_cross_entropy_with_logits(hr_node labels, hr_node logits, double pos_weight)
{
    if (!hr_node_exists(labels) || !hr_node_exists(logits))
        return hr_failed_node(labels.graph ? labels.graph : logits.graph);
    if (!hr__same_shape(labels, logits, "weighted_cross_entropy_with_logits")) return hr_failed_node(logits.graph);
    hr_node weight = hr_add(hr_scalar_like(labels, 1), hr_mul(hr_scalar_like(labels, pos_weight - 1), labels));
    hr_node far = hr_add(hr_log1p(hr_exp(hr_neg(hr_abs(logits)))), hr_relu(hr_neg(logits)));
    return hr_add(hr_mul(one_minus(labels), logits), hr_mul(weight, far));
}

/* Stirling's approximation of log(t!); 0 for t in [0, 1]. */
static hr_node stirling(hr_node t)
{
    hr_node power = hr_sub(hr_mul(t, hr_log(t)), t);
    hr_node rest = hr_mul(hr_scalar_like(t, .5), hr_log(hr_mul(hr_scalar_like(t, 6.283185307179586), t)));
    hr_node small = hr_logical_and(hr_greater_equal(t, hr_scalar_like(t, 0)), hr_less_equal(t, hr_scalar_like(t, 1)));
    return hr_where(small, hr_zeros_like(t), hr_add(power, rest));
}

hr_node hr_log_poisson_loss(hr_node targets, hr_node log_input, bool full)
{
    if (!hr_node_exists(targets) || !hr_node_exists(log_input))
        return hr_failed_node(targets.graph ? targets.graph : log_input.graph);
    if (!hr__same_shape(targets, log_input, "log_poisson_loss")) return hr_failed_node(targets.graph);
    hr_node loss = hr_sub(hr_exp(log_input), hr_mul(log_input, targets));
    return full ? hr_add(loss, stirling(targets)) : loss;
}
