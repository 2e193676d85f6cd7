/* fold_old_batch_norms: a convolution or product with constant weights, normalized by constants
 * (BatchNormWithGlobalNormalization, FusedBatchNorm), becomes one with other weights and a BiasAdd, which has the name of
 * the normalization. y = (x - mean) / sqrt(variance + epsilon) * scale + offset. */
#include "train/transforms/weights.h"

#include <math.h>
#include <string.h>

typedef struct norm {
    int mean, variance, scale, offset; /* which inputs they are */
    const char *epsilon;
} norm;

static bool find_norm(const hr__draft *d, int node, norm *out)
{
    if (hr__draft_is(d, node, "BatchNormWithGlobalNormalization")) {
        *out = (norm){1, 2, 4, 3, "variance_epsilon"};
        if (!hr__draft_bool(d, node, "scale_after_normalization")) out->scale = -1;
        return true;
    }
    const bool fused = hr__draft_is(d, node, "FusedBatchNorm") || hr__draft_is(d, node, "FusedBatchNormV2") ||
                       hr__draft_is(d, node, "FusedBatchNormV3");
    if (!fused || hr__draft_bool(d, node, "is_training")) return false;
    *out = (norm){3, 4, 1, 2, "epsilon"};
    return true;
}

static bool takes_first_output_alone(const hr__draft *d, int node)
{
    for (int i = 0; i < d->count; i++)
        for (int j = 0; !d->node[i]->gone && j < d->node[i]->inputs; j++)
            if (d->node[i]->input[j].node == node && d->node[i]->input[j].output > 0) return false;
    for (int i = 0; i < d->outputs; i++)
        if (d->output[i].node == node && d->output[i].output > 0) return false;
    return true;
}

static bool same_format(const hr__draft *d, int a, int b)
{
    const proto_attr *x = hr__draft_attr(d, a, "data_format"), *y = hr__draft_attr(d, b, "data_format");
    static const char usual[] = "NHWC";
    const bool first = !x || x->value_case != HEADRACE__PROTO__ATTR_VALUE__VALUE_S ||
                       (x->s.len == 4 && memcmp(x->s.data, usual, 4) == 0);
    const bool second = !y || y->value_case != HEADRACE__PROTO__ATTR_VALUE__VALUE_S ||
                        (y->s.len == 4 && memcmp(y->s.data, usual, 4) == 0);
    return first && second;
}

static hr_status make_bias(hr__draft *d, int node, int conv, const double *bias, int64_t channels, hr_error *err)
{
    draft_node *n = d->node[node];
    hr_tensor value;
    char *name = hr__arena_get(&d->arena, strlen(n->name) + 8);
    if (!name) return hr__draft_no_memory(err);
    memcpy(name, n->name, strlen(n->name));
    memcpy(name + strlen(n->name), "_bias", 6);
    const int constant = hr__draft_add(d, name, "Const", n->device, 0);
    if (constant < 0) return hr__draft_no_memory(err);
    HR_TRY(hr_tensor_new(&value, HR_FLOAT, HR_SHAPE(channels), err));
    for (int64_t i = 0; i < channels; i++) ((float *)value.data)[i] = (float)bias[i];
    HR_TRY(hr__draft_make_const(d, constant, value, err));
    n->op = "BiasAdd";
    n->attrs = 0;
    n->inputs = 2;
    n->input[0] = (draft_edge){conv, 0};
    n->input[1] = (draft_edge){constant, 0};
    return hr__draft_set(d, node, &HR_TYPE_ATTR("T", HR_FLOAT), err);
}

static hr_status fold_norm(hr__draft *d, int node, const norm *at, hr_error *err)
{
    hr_tensor weights, mean, variance, scale, offset;
    draft_node *n = d->node[node];
    const int conv = n->input[0].node;
    if (n->inputs != 5 || hr__draft_data_inputs(n) != 5 || n->input[0].output != 0 || hr__draft_is_fed(d, node) ||
        !takes_first_output_alone(d, node) || !hr__weights_are_constant(d, conv, &weights, err) ||
        !same_format(d, node, conv))
        return HR_OK;
    const int64_t channels = hr__weights_channels(d, conv, &weights);
    const proto_attr *epsilon = hr__draft_attr(d, node, at->epsilon);
    if (channels <= 0 || hr__weights_vector(d, n->input[at->mean].node, &mean, err) != channels ||
        hr__weights_vector(d, n->input[at->variance].node, &variance, err) != channels ||
        hr__weights_vector(d, n->input[at->offset].node, &offset, err) != channels ||
        (at->scale >= 0 && hr__weights_vector(d, n->input[at->scale].node, &scale, err) != channels) || !epsilon ||
        epsilon->value_case != HEADRACE__PROTO__ATTR_VALUE__VALUE_F)
        return HR_OK;
    double *factor = hr__arena_get(&d->arena, sizeof *factor * (size_t)channels);
    double *bias = hr__arena_get(&d->arena, sizeof *bias * (size_t)channels);
    if (!factor || !bias) return hr__draft_no_memory(err);
    for (int64_t i = 0; i < channels; i++) {
        factor[i] = 1 / sqrt((double)((const float *)variance.data)[i] + epsilon->f);
        if (at->scale >= 0) factor[i] *= ((const float *)scale.data)[i];
        bias[i] = ((const float *)offset.data)[i] - ((const float *)mean.data)[i] * factor[i];
    }
    draft_edge old[5];
    memcpy(old, n->input, sizeof old);
    HR_TRY(hr__weights_scale(d, conv, &weights, factor, err));
    HR_TRY(make_bias(d, node, conv, bias, channels, err));
    for (int i = 1; i < 5; i++) hr__draft_drop_unused(d, old[i].node);
    return HR_OK;
}

static hr_status fold_old_run(hr__draft *d, const transform_arguments *a, hr_error *err)
{
    (void)a;
    for (int i = 0, count = d->count; i < count; i++) {
        norm at;
        if (find_norm(d, i, &at)) HR_TRY(fold_norm(d, i, &at, err));
    }
    return HR_OK;
}

const hr__transform hr__transform_fold_old_batch_norms = {
    .info = {"fold_old_batch_norms", "", "a normalization by constants goes into the weights before it"},
    .run = fold_old_run,
};
