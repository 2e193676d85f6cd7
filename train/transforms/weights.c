/* See weights.h. The channels of weights are the last dimension, of a depthwise convolution the last two. */
#include "train/transforms/weights.h"

#include <string.h>

static bool is_depthwise(const hr__draft *d, int node) { return hr__draft_is(d, node, "DepthwiseConv2dNative"); }

bool hr__weights_are_constant(hr__draft *d, int node, hr_tensor *weights, hr_error *err)
{
    bool is = false;
    const bool product = hr__draft_is(d, node, "MatMul") && !hr__draft_bool(d, node, "transpose_b");
    if (!product && !hr__draft_is(d, node, "Conv2D") && !is_depthwise(d, node)) return false;
    const draft_node *n = d->node[node];
    if (n->inputs < 2 || n->input[1].output != 0 || hr__draft_uses(d, node) != 1 || hr__draft_is_output(d, node) ||
        hr__draft_is_fed(d, node) || hr__draft_type(d, node, "T") != HR_FLOAT)
        return false;
    if (hr__draft_value(d, n->input[1].node, &is, weights, err) != HR_OK) return false;
    return is && weights->dtype == HR_FLOAT && weights->shape.rank == (product ? 2 : 4);
}

int64_t hr__weights_channels(const hr__draft *d, int node, const hr_tensor *weights)
{
    const int last = weights->shape.rank - 1;
    return weights->shape.dims[last] * (is_depthwise(d, node) ? weights->shape.dims[last - 1] : 1);
}

hr_status hr__weights_scale(hr__draft *d, int node, const hr_tensor *weights, const double *scale, hr_error *err)
{
    hr_tensor scaled;
    const int64_t channels = hr__weights_channels(d, node, weights);
    const int before = d->node[node]->input[1].node;
    draft_node *old = d->node[before];
    const int own = hr__draft_add(d, old->name, "Const", old->device, 0);
    if (own < 0) return hr__draft_no_memory(err);
    HR_TRY(hr_tensor_new(&scaled, HR_FLOAT, weights->shape, err));
    for (int64_t i = 0; i < weights->count; i++)
        ((float *)scaled.data)[i] = (float)(((const float *)weights->data)[i] * scale[i % channels]);
    HR_TRY(hr__draft_make_const(d, own, scaled, err));
    d->node[node]->input[1] = (draft_edge){own, 0};
    hr__draft_drop_unused(d, before);
    if (!old->gone) return HR_OK;
    d->node[own]->name = old->name;
    return hr__map_set(&d->names, old->name, strlen(old->name), own, err);
}

int64_t hr__weights_vector(hr__draft *d, int node, hr_tensor *vector, hr_error *err)
{
    bool is = false;
    if (hr__draft_value(d, node, &is, vector, err) != HR_OK || !is) return -1;
    return vector->dtype == HR_FLOAT && vector->shape.rank == 1 ? vector->count : -1;
}
