/* Softmax: along an axis, the exponentials divided by their sum. */
#include <headrace/model_layers.h>

/* As with Keras, what a mask of every value leaves out gets next to nothing. */
static hr_node less_masked(const hr_layer_call *c, hr_node x)
{
    const hr_node mask = c->mask[0];
    if (!mask.graph || hr_node_shape(mask).rank != hr_node_shape(x).rank) return x;
    const hr_node out = hr_sub(hr_scalar_like(x, 1), hr_cast_to(mask, hr_node_dtype(x)));
    return hr_add(x, hr_mul(out, hr_scalar_like(x, hr_node_dtype(x) == HR_HALF ? -65504 : -1e9)));
}

static hr_node softmax_call(hr_layer_call *c, void *config)
{
    const hr_node x = less_masked(c, c->input[0]);
    const int rank = hr_node_shape(x).rank, given = *(const int *)config, axis = given < 0 ? given + rank : given;
    hr_shape order = {rank, {0}};
    if (axis < 0 || axis >= rank)
        return hr_layer_fail(c, "models.rank", "axis %d: expected one of an input of rank %d", given, rank);
    if (axis == rank - 1) return hr_softmax(x);
    for (int i = 0; i < rank; i++) order.dims[i] = i;
    order.dims[axis] = rank - 1;
    order.dims[rank - 1] = axis;
    const hr_node turn = hr_shape_const(c->graph, order);
    return hr_transpose(hr_softmax(hr_transpose(x, turn)), turn);
}

static const hr_layer_kind softmax_kind = {
    .head = HR_LAYER_HEAD,
    .name = "Softmax",
    .config_size = sizeof(int),
    .call = softmax_call,
    .traits = HR_LAYER_KEEPS_MASK,
    .min_rank = 1,
};

hr_layer *hr_softmax_layer_with(const hr_softmax_layer_opts *opts)
{
    const hr_softmax_layer_opts o = HR_OPTIONS(hr_softmax_layer_opts, opts);
    return hr_layer_new(&softmax_kind, o.axis ? o.axis : (const int[]){-1}, HR_LAYER_COMMON(&o));
}
