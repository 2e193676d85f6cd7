/* Zeros around steps, images and volumes, and what lies at their edges taken away. */
#include <headrace/model_layers.h>

typedef struct padding_config {
    int dims;         /* 1 to 3 */
    int64_t edges[6]; /* before and after each dimension */
} padding_config;

static hr_status padding_check(const void *config, hr_error *err)
{
    const padding_config *d = config;
    for (int i = 0; i < 2 * d->dims; i++)
        if (d->edges[i] < 0 || d->edges[i] > INT32_MAX)
            return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument",
                           "expected numbers from 0 to %d before and after each dimension, got %lld", INT32_MAX,
                           (long long)d->edges[i]);
    return HR_OK;
}

static hr_node padding_call(hr_layer_call *c, void *config)
{
    const padding_config *d = config;
    int64_t paddings[2 * 5] = {0};
    for (int i = 0; i < 2 * d->dims; i++) paddings[2 + i] = d->edges[i];
    const hr_tensor edges = hr_tensor_of(HR_INT64, HR_SHAPE(d->dims + 2, 2), paddings);
    return hr_pad(c->input[0], hr_const(c->graph, &edges));
}

static hr_node cropping_call(hr_layer_call *c, void *config)
{
    const padding_config *d = config;
    const hr_shape shape = hr_node_shape(c->input[0]);
    hr_subscript parts[4] = {{0}};
    int64_t ends[3];
    char text[128];
    for (int i = 0; i < d->dims; i++) {
        const int64_t *edge = d->edges + 2 * i;
        if (shape.rank > 0 && shape.dims[i + 1] >= 0 && edge[0] + edge[1] >= shape.dims[i + 1])
            return hr_layer_fail(
                c, "models.shape", "expected to crop less than the length of dimension %d of %s, got %lld and %lld",
                i + 1, hr_shape_text(shape, text, sizeof text), (long long)edge[0], (long long)edge[1]);
        ends[i] = -edge[1];
        parts[i + 1] = (hr_subscript){.begin = edge, .end = edge[1] ? &ends[i] : NULL};
    }
    return hr_strided_slice_with(c->input[0], parts, d->dims + 1);
}

#define PADDING_KIND(NAME, RANK, CALL)                                                                                 \
    {                                                                                                                  \
        .head = HR_LAYER_HEAD, .name = NAME, .config_size = sizeof(padding_config), .call = CALL, .min_rank = RANK,    \
        .max_rank = RANK, .check = padding_check,                                                                      \
    }
static const hr_layer_kind padding_kinds[] = {
    PADDING_KIND("ZeroPadding1D", 3, padding_call),
    PADDING_KIND("ZeroPadding2D", 4, padding_call),
    PADDING_KIND("ZeroPadding3D", 5, padding_call),
};
static const hr_layer_kind cropping_kinds[] = {
    PADDING_KIND("Cropping1D", 3, cropping_call),
    PADDING_KIND("Cropping2D", 4, cropping_call),
    PADDING_KIND("Cropping3D", 5, cropping_call),
};

static hr_layer *padding_new(const hr_layer_kind *kinds, padding_config d, const hr_layer_opts *opts)
{
    const hr_layer_opts o = HR_OPTIONS(hr_layer_opts, opts);
    return hr_layer_new(&kinds[d.dims - 1], &d, HR_LAYER_COMMON(&o));
}

hr_layer *hr_zero_padding1d_layer_with(int64_t before, int64_t after, const hr_layer_opts *opts)
{
    return padding_new(padding_kinds, (padding_config){1, {before, after}}, opts);
}

hr_layer *hr_zero_padding2d_layer_with(int64_t top, int64_t bottom, int64_t left, int64_t right,
                                       const hr_layer_opts *opts)
{
    return padding_new(padding_kinds, (padding_config){2, {top, bottom, left, right}}, opts);
}

hr_layer *hr_zero_padding3d_layer_with(int64_t front, int64_t back, int64_t top, int64_t bottom, int64_t left,
                                       int64_t right, const hr_layer_opts *opts)
{
    return padding_new(padding_kinds, (padding_config){3, {front, back, top, bottom, left, right}}, opts);
}

hr_layer *hr_cropping1d_layer_with(int64_t before, int64_t after, const hr_layer_opts *opts)
{
    return padding_new(cropping_kinds, (padding_config){1, {before, after}}, opts);
}

hr_layer *hr_cropping2d_layer_with(int64_t top, int64_t bottom, int64_t left, int64_t right, const hr_layer_opts *opts)
{
    return padding_new(cropping_kinds, (padding_config){2, {top, bottom, left, right}}, opts);
}

hr_layer *hr_cropping3d_layer_with(int64_t front, int64_t back, int64_t top, int64_t bottom, int64_t left,
                                   int64_t right, const hr_layer_opts *opts)
{
    return padding_new(cropping_kinds, (padding_config){3, {front, back, top, bottom, left, right}}, opts);
}
