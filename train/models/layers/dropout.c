/* Dropout: in training, values at random become 0. */
#include <headrace/model_layers.h>

typedef struct dropout_config {
    float rate;
    int64_t seed;
    hr_shape noise_shape;
} dropout_config;

static hr_node dropout_call(hr_layer_call *c, void *config)
{
    const dropout_config *d = config;
    const hr_node x = c->input[0];
    const int rank = hr_node_shape(x).rank;
    if (d->noise_shape.rank > 0 && d->noise_shape.rank != rank)
        return hr_layer_fail(c, "models.rank", "noise_shape: expected %d dimensions, as the input has, got %d", rank,
                             d->noise_shape.rank);
    if (!c->training || d->rate == 0) return hr_identity(x);
    if (d->rate == 1) return hr_zeros_like(x);
    const hr_node noise = d->noise_shape.rank > 0 ? hr_layer_shape(x, d->noise_shape) : (hr_node){0};
    return hr_dropout(x, d->rate, .seed = d->seed, .noise_shape = noise, .name = hr_layer_scope(c));
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
    return hr_layer_new(&dropout_kind, &(dropout_config){rate, o.seed, o.noise_shape}, HR_LAYER_COMMON(&o));
}
