/* Dropout: in training, values at random become 0. */
#include <headrace/model_layers.h>

typedef struct dropout_config {
    float rate;
    int64_t seed;
} dropout_config;

static hr_node dropout_call(hr_layer_call *c, void *config)
{
    const dropout_config *d = config;
    if (!c->training || d->rate == 0) return hr_identity(c->input[0]);
    if (d->rate == 1) return hr_zeros_like(c->input[0]);
    return hr_dropout(c->input[0], d->rate, .seed = d->seed, .name = hr_layer_scope(c));
}

static hr_status dropout_check(const void *config, hr_error *err)
{
    const dropout_config *d = config;
    if (d->rate >= 0 && d->rate <= 1) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected a rate from 0 to 1, got %g", (double)d->rate);
}

static const hr_layer_kind dropout_kind = {
    .head = HR_LAYER_HEAD,
    .name = "Dropout",
    .config_size = sizeof(dropout_config),
    .call = dropout_call,
    .traits = HR_LAYER_KEEPS_MASK,
    .check = dropout_check,
};

hr_layer *hr_dropout_layer_with(float rate, const hr_dropout_layer_opts *opts)
{
    const hr_dropout_layer_opts o = HR_OPTIONS(hr_dropout_layer_opts, opts);
    return hr_layer_new(&dropout_kind, &(dropout_config){rate, o.seed}, HR_LAYER_COMMON(&o));
}
