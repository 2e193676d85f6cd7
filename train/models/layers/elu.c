/* ELU: x, and alpha (exp(x) - 1) below 0. */
#include <headrace/model_layers.h>

static hr_node elu_call(hr_layer_call *c, void *config)
{
    const float alpha = *(const float *)config;
    const hr_node x = c->input[0], y = hr_elu(x);
    if (alpha == 1) return y;
    return hr_where(hr_greater(x, hr_scalar_like(x, 0)), y, hr_mul(y, hr_scalar_like(x, (double)alpha)));
}

static const hr_layer_kind elu_kind = {
    .head = HR_LAYER_HEAD,
    .name = "ELU",
    .config_size = sizeof(float),
    .call = elu_call,
    .traits = HR_LAYER_KEEPS_MASK,
};

hr_layer *hr_elu_layer_with(const hr_elu_layer_opts *opts)
{
    const hr_elu_layer_opts o = HR_OPTIONS(hr_elu_layer_opts, opts);
    return hr_layer_new(&elu_kind, o.alpha ? o.alpha : HR_F32(1), HR_LAYER_COMMON(&o));
}
