/* BatchNormalization: by the statistics of the batch in training, by their moving averages elsewhere. */
#include <headrace/model_layers.h>

typedef struct batch_norm_config {
    float momentum, epsilon;
    hr_batch_normalization_layer_opts o;
} batch_norm_config;

/* 1 for steps that count in the statistics, 0 for those that the mask leaves out: [n, steps, 1]; no node: all do. */
static hr_node batch_norm_counted(const hr_layer_call *c, hr_shape shape)
{
    const hr_node mask = c->mask[0];
    if (!mask.graph || shape.rank != 3) return (hr_node){0};
    return hr_expand_dims(hr_cast_to(mask, HR_FLOAT), hr_scalar(mask.graph, HR_INT32, -1));
}

static hr_node batch_norm_call(hr_layer_call *c, void *config)
{
    const batch_norm_config *d = config;
    const hr_batch_normalization_layer_opts *o = &d->o;
    const hr_shape shape = hr_node_shape(c->input[0]);
    const int given = o->axis ? o->axis : -1, axis = given < 0 ? given + shape.rank : given;
    char text[128];
    if (shape.rank < 0 || axis < 1 || axis >= shape.rank || shape.dims[axis] < 1)
        return hr_layer_fail(c, "models.shape",
                             "expected an axis of the input that is not the batch and of a known length, got %d for %s",
                             given, hr_shape_text(shape, text, sizeof text));
    hr_layer_constrain(c, "gamma", o->gamma_constraint);
    hr_layer_constrain(c, "beta", o->beta_constraint);
    return hr_batch_normalization(
        c->input[0], .name = hr_layer_scope(c), .training = c->training && !c->frozen, .axis = &axis,
        .momentum = &d->momentum, .epsilon = &d->epsilon, .beta_initializer = o->beta_initializer,
        .gamma_initializer = o->gamma_initializer, .moving_mean_initializer = o->moving_mean_initializer,
        .moving_variance_initializer = o->moving_variance_initializer, .beta_regularizer = o->beta_regularizer,
        .gamma_regularizer = o->gamma_regularizer, .no_center = o->no_center, .no_scale = o->no_scale,
        .weights = batch_norm_counted(c, shape));
}

static hr_status batch_norm_check(const void *config, hr_error *err)
{
    const batch_norm_config *d = config;
    if (!(d->momentum >= 0 && d->momentum <= 1))
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected a momentum from 0 to 1, got %g",
                       (double)d->momentum);
    if (d->epsilon >= 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected an epsilon of 0 or more, got %g",
                   (double)d->epsilon);
}

static const hr_layer_kind batch_norm_kind = {
    .head = HR_LAYER_HEAD,
    .name = "BatchNormalization",
    .config_size = sizeof(batch_norm_config),
    .call = batch_norm_call,
    .traits = HR_LAYER_KEEPS_MASK,
    .min_rank = 2,
    .check = batch_norm_check,
};

hr_layer *hr_batch_normalization_layer_with(const hr_batch_normalization_layer_opts *opts)
{
    batch_norm_config d = {.o = HR_OPTIONS(hr_batch_normalization_layer_opts, opts)};
    d.momentum = d.o.momentum ? *d.o.momentum : 0.99f;
    d.epsilon = d.o.epsilon ? *d.o.epsilon : 0.001f;
    return hr_layer_new(&batch_norm_kind, &d, HR_LAYER_COMMON(&d.o));
}
