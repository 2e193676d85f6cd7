/* Dense: a product with a matrix of weights, a bias and an activation. */
#include <headrace/model_layers.h>

typedef struct dense_config {
    int64_t units;
    hr_dense_layer_opts o;
} dense_config;

static hr_node dense_call(hr_layer_call *c, void *config)
{
    const dense_config *d = config;
    hr_layer_constrain(c, "kernel", d->o.kernel_constraint);
    hr_layer_constrain(c, "bias", d->o.bias_constraint);
    return hr_dense(c->input[0], d->units, .name = hr_layer_scope(c),
                    .activation = hr_activation_named(d->o.activation), .kernel_initializer = d->o.kernel_initializer,
                    .bias_initializer = d->o.bias_initializer, .kernel_regularizer = d->o.kernel_regularizer,
                    .bias_regularizer = d->o.bias_regularizer, .no_bias = d->o.no_bias);
}

static hr_status dense_check(const void *config, hr_error *err)
{
    const dense_config *d = config;
    HR_TRY(hr_activation_check(d->o.activation, err));
    if (d->units > 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected units of 1 or more, got %lld",
                   (long long)d->units);
}

static const hr_layer_kind dense_kind = {
    .head = HR_LAYER_HEAD,
    .name = "Dense",
    .config_size = sizeof(dense_config),
    .call = dense_call,
    .traits = HR_LAYER_KEEPS_MASK,
    .min_rank = 2,
    .check = dense_check,
};

hr_layer *hr_dense_layer_with(int64_t units, const hr_dense_layer_opts *opts)
{
    dense_config d = {units, HR_OPTIONS(hr_dense_layer_opts, opts)};
    d.o.activation = hr_activation_kept(d.o.activation);
    return hr_layer_new(&dense_kind, &d, HR_LAYER_COMMON(&d.o));
}
