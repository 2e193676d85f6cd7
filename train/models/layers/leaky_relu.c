/* LeakyReLU: x, and alpha x below 0. */
#include <headrace/model_layers.h>

static hr_node leaky_relu_call(hr_layer_call *c, void *config)
{
    return hr_leaky_relu(c->input[0], .alpha = (const float *)config);
}

static const hr_layer_kind leaky_relu_kind = {
    .head = HR_LAYER_HEAD,
    .name = "LeakyReLU",
    .config_size = sizeof(float),
    .call = leaky_relu_call,
    .traits = HR_LAYER_KEEPS_MASK,
};

hr_layer *hr_leaky_relu_layer_with(const hr_leaky_relu_layer_opts *opts)
{
    const hr_leaky_relu_layer_opts o = HR_OPTIONS(hr_leaky_relu_layer_opts, opts);
    return hr_layer_new(&leaky_relu_kind, o.alpha ? o.alpha : HR_F32(0.3f), HR_LAYER_COMMON(&o));
}
