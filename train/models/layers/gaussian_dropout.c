/* GaussianDropout: in training, values are multiplied by random ones around 1. */
#include <headrace/model_layers.h>
#include <math.h>

typedef struct gaussian_dropout_config {
    double rate;
    int64_t seed;
} gaussian_dropout_config;

static hr_node gaussian_dropout_call(hr_layer_call *c, void *config)
{
    const gaussian_dropout_config *d = config;
    const hr_node x = c->input[0];
    if (!c->training || d->rate == 0) return hr_identity(x);
    const hr_node one = hr_scalar_like(x, 1), deviation = hr_scalar_like(x, sqrt(d->rate / (1 - d->rate)));
    return hr_mul(x, hr_normal_around(hr_shape_of(x), one, deviation, d->seed));
}

static hr_status gaussian_dropout_check(const void *config, hr_error *err)
{
    const gaussian_dropout_config *d = config;
    if (d->rate >= 0 && d->rate < 1) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected a rate from 0 to less than 1, got %g",
                   d->rate);
}

static const hr_layer_kind gaussian_dropout_kind = {
    .head = HR_LAYER_HEAD,
    .name = "GaussianDropout",
    .config_size = sizeof(gaussian_dropout_config),
    .call = gaussian_dropout_call,
    .traits = HR_LAYER_KEEPS_MASK,
    .check = gaussian_dropout_check,
};

hr_layer *hr_gaussian_dropout_layer_with(float rate, const hr_noise_layer_opts *opts)
{
    const hr_noise_layer_opts o = HR_OPTIONS(hr_noise_layer_opts, opts);
    return hr_layer_new(&gaussian_dropout_kind, &(gaussian_dropout_config){(double)rate, o.seed}, HR_LAYER_COMMON(&o));
}
