/* SpatialDropout1D, 2D and 3D: in training, whole channels at random become 0. */
#include <headrace/model_layers.h>

typedef struct spatial_dropout_config {
    float rate;
    int64_t seed;
    bool channels_first;
} spatial_dropout_config;

static hr_node spatial_dropout_call(hr_layer_call *c, void *config)
{
    const spatial_dropout_config *d = config;
    const hr_node x = c->input[0];
    hr_shape channels = {hr_node_shape(x).rank, {-1}};
    for (int i = 1; i < channels.rank; i++) channels.dims[i] = 1;
    channels.dims[d->channels_first ? 1 : channels.rank - 1] = -1;
    if (!c->training || d->rate == 0) return hr_identity(x);
    return hr_dropout(x, d->rate, .seed = d->seed, .noise_shape = hr_layer_shape(x, channels),
                      .name = hr_layer_scope(c));
}

static hr_status spatial_dropout_check(const void *config, hr_error *err)
{
    const spatial_dropout_config *d = config;
    if (d->rate >= 0 && d->rate < 1) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected a rate from 0 to less than 1, got %g",
                   (double)d->rate);
}

#define SPATIAL_KIND(NAME, RANK)                                                                                       \
    {                                                                                                                  \
        .head = HR_LAYER_HEAD, .name = NAME, .config_size = sizeof(spatial_dropout_config),                            \
        .call = spatial_dropout_call, .traits = HR_LAYER_KEEPS_MASK, .min_rank = (RANK), .max_rank = (RANK),           \
        .check = spatial_dropout_check                                                                                 \
    }
static const hr_layer_kind spatial_dropout_kinds[] = {
    SPATIAL_KIND("SpatialDropout1D", 3), SPATIAL_KIND("SpatialDropout2D", 4), SPATIAL_KIND("SpatialDropout3D", 5)};

static hr_layer *spatial_dropout_new(int dimensions, float rate, const hr_spatial_dropout_layer_opts *opts)
{
    const hr_spatial_dropout_layer_opts o = HR_OPTIONS(hr_spatial_dropout_layer_opts, opts);
    return hr_layer_new(&spatial_dropout_kinds[dimensions - 1],
                        &(spatial_dropout_config){rate, o.seed, o.channels_first}, HR_LAYER_COMMON(&o));
}

hr_layer *hr_spatial_dropout1d_layer_with(float rate, const hr_spatial_dropout_layer_opts *opts)
{
    return spatial_dropout_new(1, rate, opts);
}
hr_layer *hr_spatial_dropout2d_layer_with(float rate, const hr_spatial_dropout_layer_opts *opts)
{
    return spatial_dropout_new(2, rate, opts);
}
hr_layer *hr_spatial_dropout3d_layer_with(float rate, const hr_spatial_dropout_layer_opts *opts)
{
    return spatial_dropout_new(3, rate, opts);
}
