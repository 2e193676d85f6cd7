/* ReLU: bent twice: max_value above it, negative_slope (x - threshold) below the threshold. */
#include <headrace/model_layers.h>
#include <math.h>

typedef struct relu_config {
    double max, slope, threshold;
} relu_config;

static hr_node relu_call(hr_layer_call *c, void *config)
{
    const relu_config *r = config;
    const hr_node x = c->input[0], zero = hr_scalar_like(x, 0), threshold = hr_scalar_like(x, r->threshold);
    const hr_node above = hr_cast_to(hr_greater(x, threshold), hr_node_dtype(x));
    hr_node y = r->threshold != 0 ? hr_mul(x, above) : r->max == 6 ? hr_relu6(x) : hr_relu(x);
    if (isfinite(r->max) && !(r->threshold == 0 && r->max == 6))
        y = hr_clip_by_value(y, zero, hr_scalar_like(x, r->max));
    if (r->slope == 0) return y;
    return hr_sub(y, hr_mul(hr_scalar_like(x, r->slope), hr_relu(hr_sub(threshold, x))));
}

static hr_status relu_check(const void *config, hr_error *err)
{
    const relu_config *r = config;
    const bool slope = r->slope >= 0, threshold = r->threshold >= 0;
    if (r->max >= 0 && slope && threshold) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected a %s of 0 or more, got %g",
                   !slope       ? "negative_slope"
                   : !threshold ? "threshold"
                                : "max_value",
                   !slope       ? r->slope
                   : !threshold ? r->threshold
                                : r->max);
}

static const hr_layer_kind relu_kind = {
    .head = HR_LAYER_HEAD,
    .name = "ReLU",
    .config_size = sizeof(relu_config),
    .call = relu_call,
    .traits = HR_LAYER_KEEPS_MASK,
    .check = relu_check,
};

hr_layer *hr_relu_layer_with(const hr_relu_layer_opts *opts)
{
    const hr_relu_layer_opts o = HR_OPTIONS(hr_relu_layer_opts, opts);
    const relu_config r = {o.max_value ? (double)*o.max_value : HUGE_VAL, (double)o.negative_slope,
                           (double)o.threshold};
    return hr_layer_new(&relu_kind, &r, HR_LAYER_COMMON(&o));
}
