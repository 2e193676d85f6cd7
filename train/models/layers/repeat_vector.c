/* RepeatVector: a vector n times, as steps. */
#include <headrace/model_layers.h>

static hr_node repeat_vector_call(hr_layer_call *c, void *config)
{
    const hr_node step = hr_expand_dims(c->input[0], hr_scalar(c->graph, HR_INT32, 1));
    return hr_tile(step, hr_shape_const(c->graph, HR_SHAPE(1, *(const int64_t *)config, 1)));
}

static hr_status repeat_vector_check(const void *config, hr_error *err)
{
    const int64_t n = *(const int64_t *)config;
    if (n > 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected n of 1 or more, got %lld", (long long)n);
}

static const hr_layer_kind repeat_vector_kind = {
    .head = HR_LAYER_HEAD,
    .name = "RepeatVector",
    .config_size = sizeof(int64_t),
    .call = repeat_vector_call,
    .min_rank = 2,
    .max_rank = 2,
    .check = repeat_vector_check,
};

hr_layer *hr_repeat_vector_layer_with(int64_t times, const hr_layer_opts *opts)
{
    const hr_layer_opts o = HR_OPTIONS(hr_layer_opts, opts);
    return hr_layer_new(&repeat_vector_kind, &times, HR_LAYER_COMMON(&o));
}
