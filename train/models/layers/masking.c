/* Masking: steps of which all values are one number do not count in the layers after it. */
#include <headrace/model_layers.h>

static hr_node masking_call(hr_layer_call *c, void *config)
{
    const hr_node x = c->input[0], differs = hr_not_equal(x, hr_scalar_like(x, (double)*(const float *)config));
    c->output_mask[0] = hr_reduce_any(differs, .axes = HR_I64(-1), .axis_count = 1);
    const hr_node counts = hr_reduce_any(differs, .axes = HR_I64(-1), .axis_count = 1, .keep_dims = true);
    return hr_mul(x, hr_cast_to(counts, hr_node_dtype(x)));
}

static const hr_layer_kind masking_kind = {
    .head = HR_LAYER_HEAD,
    .name = "Masking",
    .config_size = sizeof(float),
    .call = masking_call,
    .min_rank = 2,
};

hr_layer *hr_masking_layer_with(const hr_masking_layer_opts *opts)
{
    const hr_masking_layer_opts o = HR_OPTIONS(hr_masking_layer_opts, opts);
    return hr_layer_new(&masking_kind, &o.mask_value, HR_LAYER_COMMON(&o));
}
