/* fold_batch_norms: a product or convolution with constant weights, times a constant of each channel, becomes one with
 * scaled weights. The node keeps the name of the multiplication. */
#include "train/transforms/weights.h"

#include <string.h>

static hr_status fold_mul(hr__draft *d, int mul, int by, hr_error *err)
{
    hr_tensor weights, factor;
    draft_node *n = d->node[mul];
    const int conv = n->input[1 - by].node, constant = n->input[by].node;
    if (n->inputs != 2 || n->input[0].output != 0 || n->input[1].output != 0 ||
        !hr__weights_are_constant(d, conv, &weights, err))
        return HR_OK;
    const int64_t channels = hr__weights_vector(d, constant, &factor, err);
    const proto_attr *format = hr__draft_attr(d, conv, "data_format");
    const bool last = !format || format->value_case != HEADRACE__PROTO__ATTR_VALUE__VALUE_S || format->s.len != 4 ||
                      memcmp(format->s.data, "NHWC", 4) == 0;
    if (channels <= 0 || !last || channels != hr__weights_channels(d, conv, &weights)) return HR_OK;
    double *scale = hr__arena_get(&d->arena, sizeof *scale * (size_t)channels);
    if (!scale) return hr__draft_no_memory(err);
    for (int64_t i = 0; i < channels; i++) scale[i] = ((const float *)factor.data)[i];
    HR_TRY(hr__weights_scale(d, conv, &weights, scale, err));
    const char *name = n->name;
    *n = *d->node[conv];
    n->name = name;
    d->node[conv]->gone = true;
    d->node[conv]->inputs = 0; /* they are the other node's now */
    hr__draft_drop_unused(d, constant);
    return HR_OK;
}

static hr_status fold_batch_norms_run(hr__draft *d, const transform_arguments *a, hr_error *err)
{
    (void)a;
    for (int i = 0, count = d->count; i < count; i++)
        for (int by = 1; by >= 0; by--)
            if (hr__draft_is(d, i, "Mul") && !hr__draft_is_fed(d, i)) HR_TRY(fold_mul(d, i, by, err));
    return HR_OK;
}

const hr__transform hr__transform_fold_batch_norms = {
    .info = {"fold_batch_norms", "", "a multiplication of channels goes into the weights before it"},
    .run = fold_batch_norms_run,
};
