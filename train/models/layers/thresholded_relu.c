/* ThresholdedReLU: x above theta, 0 elsewhere. */
#include <headrace/model_layers.h>

static hr_node thresholded_relu_call(hr_layer_call *c, void *config)
{
    const hr_node x = c->input[0], theta = hr_scalar_like(x, (double)*(const float *)config);
    return hr_mul(x, hr_cast_to(hr_greater(x, theta), hr_node_dtype(x)));
}

static hr_status thresholded_relu_check(const void *config, hr_error *err)
{
    const float theta = *(const float *)config;
    if (theta >= 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected a theta of 0 or more, got %g", (double)theta);
}

static const hr_layer_kind thresholded_relu_kind = {
    .head = HR_LAYER_HEAD,
    .name = "ThresholdedReLU",
    .config_size = sizeof(float),
    .call = thresholded_relu_call,
    .traits = HR_LAYER_KEEPS_MASK,
    .check = thresholded_relu_check,
};

hr_layer *hr_thresholded_relu_layer_with(const hr_thresholded_relu_layer_opts *opts)
{
    const hr_thresholded_relu_layer_opts o = HR_OPTIONS(hr_thresholded_relu_layer_opts, opts);
    return hr_layer_new(&thresholded_relu_kind, o.theta ? o.theta : HR_F32(1), HR_LAYER_COMMON(&o));
}
