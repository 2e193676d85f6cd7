/* AlphaDropout: in training, values at random become the least one of selu; mean and variance stay. */
#include <headrace/model_layers.h>
#include <math.h>

typedef struct alpha_dropout_config {
    double rate;
    int64_t seed;
} alpha_dropout_config;

static hr_node alpha_dropout_call(hr_layer_call *c, void *config)
{
    static const double least = -1.6732632423543772848170429916717 * 1.0507009873554804934193349852946;
    const alpha_dropout_config *d = config;
    const hr_node x = c->input[0];
    if (!c->training || d->rate == 0) return hr_identity(x);
    const double a = 1 / sqrt((1 - d->rate) * (1 + d->rate * least * least)), b = -a * least * d->rate;
    const hr_node drawn = hr_uniform_values(hr_shape_of(x), hr_node_dtype(x), d->seed);
    const hr_node kept = hr_greater_equal(drawn, hr_scalar_like(x, d->rate));
    return hr_add(hr_mul(hr_where(kept, x, hr_scalar_like(x, least)), hr_scalar_like(x, a)), hr_scalar_like(x, b));
}

static hr_status alpha_dropout_check(const void *config, hr_error *err)
{
    const alpha_dropout_config *d = config;
    if (d->rate >= 0 && d->rate < 1) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected a rate from 0 to less than 1, got %g",
                   d->rate);
}

static const hr_layer_kind alpha_dropout_kind = {
    .head = HR_LAYER_HEAD,
    .name = "AlphaDropout",
    .config_size = sizeof(alpha_dropout_config),
    .call = alpha_dropout_call,
    .traits = HR_LAYER_KEEPS_MASK,
    .check = alpha_dropout_check,
};

hr_layer *hr_alpha_dropout_layer_with(float rate, const hr_noise_layer_opts *opts)
{
    const hr_noise_layer_opts o = HR_OPTIONS(hr_noise_layer_opts, opts);
    return hr_layer_new(&alpha_dropout_kind, &(alpha_dropout_config){(double)rate, o.seed}, HR_LAYER_COMMON(&o));
}
