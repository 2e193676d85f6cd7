/* Steps, pixels and voxels several times each, or pixels between them. */
#include <headrace/images.h>
#include <headrace/model_layers.h>

typedef struct up_sampling_config {
    int dims; /* 1 to 3 */
    int64_t size[3];
    bool bilinear;
} up_sampling_config;

static hr_status up_sampling_check(const void *config, hr_error *err)
{
    const up_sampling_config *d = config;
    for (int i = 0; i < d->dims; i++)
        if (d->size[i] < 1 || d->size[i] > INT32_MAX)
            return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected a size of 1 to %d, got %lld",
                           INT32_MAX, (long long)d->size[i]);
    return HR_OK;
}

/* So many times a length; -1: not known, or more than there can be. */
static int64_t up_sampling_length(int64_t length, int64_t size)
{
    return length < 0 || length > INT32_MAX / size ? -1 : length * size;
}

/* Each value along an axis so often. What lies within one is a row of a matrix, which is tiled; if its length or two
 * others are not known, values are gathered. */
static hr_node up_sampling_along(hr_node x, int axis, int64_t size)
{
    hr_shape shape = hr_node_shape(x);
    int64_t row = 1;
    int unknown = 0;
    for (int i = axis + 1; i < shape.rank; i++) row = shape.dims[i] < 1 ? -1 : up_sampling_length(row, shape.dims[i]);
    shape.dims[axis] = up_sampling_length(shape.dims[axis], size);
    for (int i = 0; i < shape.rank; i++) unknown += shape.dims[i] < 0;
    if (size == 1) return x;
    if (row < 1 || unknown > 1) return hr_repeat_values(x, hr_scalar(x.graph, HR_INT32, (double)size), axis);
    const hr_node rows = hr_reshape(x, hr_shape_const(x.graph, HR_SHAPE(-1, 1, row)));
    return hr_reshape(hr_tile(rows, hr_shape_const(x.graph, HR_SHAPE(1, size, 1))), hr_shape_const(x.graph, shape));
}

static hr_node up_sampling_call(hr_layer_call *c, void *config)
{
    const up_sampling_config *d = config;
    const hr_shape shape = hr_node_shape(c->input[0]);
    char text[128];
    hr_node y = c->input[0];
    for (int i = d->dims; i > 0 && !d->bilinear; i--) y = up_sampling_along(y, i, d->size[i - 1]);
    if (!d->bilinear) return y;
    const int64_t height = shape.rank == 4 ? up_sampling_length(shape.dims[1], d->size[0]) : -1;
    const int64_t width = shape.rank == 4 ? up_sampling_length(shape.dims[2], d->size[1]) : -1;
    if (height >= 0 && width >= 0) return hr_resize_images(y, height, width);
    return hr_layer_fail(c, "models.shape", "expected images of a known height and width, got %s",
                         hr_shape_text(shape, text, sizeof text));
}

#define UP_SAMPLING_KIND(NAME, RANK)                                                                                   \
    {                                                                                                                  \
        .head = HR_LAYER_HEAD, .name = NAME, .config_size = sizeof(up_sampling_config), .call = up_sampling_call,      \
        .min_rank = RANK, .max_rank = RANK, .check = up_sampling_check,                                                \
    }
static const hr_layer_kind up_sampling_kinds[] = {
    UP_SAMPLING_KIND("UpSampling1D", 3),
    UP_SAMPLING_KIND("UpSampling2D", 4),
    UP_SAMPLING_KIND("UpSampling3D", 5),
};

static hr_layer *up_sampling_new(up_sampling_config d, const hr_layer_common *common)
{
    return hr_layer_new(&up_sampling_kinds[d.dims - 1], &d, common);
}

hr_layer *hr_up_sampling1d_layer_with(int64_t size, const hr_layer_opts *opts)
{
    const hr_layer_opts o = HR_OPTIONS(hr_layer_opts, opts);
    return up_sampling_new((up_sampling_config){1, {size}, false}, HR_LAYER_COMMON(&o));
}

hr_layer *hr_up_sampling2d_layer_with(int64_t height, int64_t width, const hr_up_sampling_layer_opts *opts)
{
    const hr_up_sampling_layer_opts o = HR_OPTIONS(hr_up_sampling_layer_opts, opts);
    return up_sampling_new((up_sampling_config){2, {height, width}, o.bilinear}, HR_LAYER_COMMON(&o));
}

hr_layer *hr_up_sampling3d_layer_with(int64_t depth, int64_t height, int64_t width, const hr_layer_opts *opts)
{
    const hr_layer_opts o = HR_OPTIONS(hr_layer_opts, opts);
    return up_sampling_new((up_sampling_config){3, {depth, height, width}, false}, HR_LAYER_COMMON(&o));
}
