/* GaussianNoise: in training, random values around 0 are added. */
#include <headrace/model_layers.h>

typedef struct gaussian_noise_config {
    double stddev;
    int64_t seed;
} gaussian_noise_config;

static hr_node gaussian_noise_call(hr_layer_call *c, void *config)
{
    const gaussian_noise_config *n = config;
    const hr_node x = c->input[0];
    if (!c->training || n->stddev == 0) return hr_identity(x);
    return hr_add(x, hr_normal_around(hr_shape_of(x), hr_scalar_like(x, 0), hr_scalar_like(x, n->stddev), n->seed));
}

static hr_status gaussian_noise_check(const void *config, hr_error *err)
{
    const gaussian_noise_config *n = config;
    if (n->stddev >= 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected a stddev of 0 or more, got %g", n->stddev);
}

static const hr_layer_kind gaussian_noise_kind = {
    .head = HR_LAYER_HEAD,
    .name = "GaussianNoise",
    .config_size = sizeof(gaussian_noise_config),
    .call = gaussian_noise_call,
    .traits = HR_LAYER_KEEPS_MASK,
    .check = gaussian_noise_check,
};

hr_layer *hr_gaussian_noise_layer_with(float stddev, const hr_noise_layer_opts *opts)
{
    const hr_noise_layer_opts o = HR_OPTIONS(hr_noise_layer_opts, opts);
    return hr_layer_new(&gaussian_noise_kind, &(gaussian_noise_config){(double)stddev, o.seed}, HR_LAYER_COMMON(&o));
}
