/* Pools: the greatest value or the mean of windows, and of all steps, pixels or voxels. */
#include <headrace/model_layers.h>

/* ---- windows ---- */

typedef struct pooling_config {
    bool mean;
    int dims; /* 1 to 3 */
    int64_t size[3];
    hr_pooling_layer_opts o;
} pooling_config;

static hr_status pooling_check(const void *config, hr_error *err)
{
    const pooling_config *d = config;
    for (int i = 0; i < d->dims; i++)
        if (d->size[i] < 1 || d->o.strides[i] < 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected a %s of 1 or more, got %lld",
                           d->size[i] < 1 ? "pool size" : "stride",
                           (long long)(d->size[i] < 1 ? d->size[i] : d->o.strides[i]));
    if (d->o.padding == HR_VALID || d->o.padding == HR_SAME) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected padding HR_VALID or HR_SAME, got %d",
                   (int)d->o.padding);
}

static hr_node pooling_call(hr_layer_call *c, void *config)
{
    const pooling_config *d = config;
    const hr_node x = c->input[0];
    const hr_shape shape = hr_node_shape(x);
    const int64_t *s = d->o.strides;
    char text[128];
    for (int i = 0; i < d->dims && d->o.padding == HR_VALID && shape.rank > 0; i++)
        if (shape.dims[i + 1] >= 0 && shape.dims[i + 1] < d->size[i])
            return hr_layer_fail(c, "models.shape",
                                 "expected a pool that fits into the input, got a size of %lld for dimension %d of "
                                 "%s; make it smaller, or give .padding = HR_SAME",
                                 (long long)d->size[i], i + 1, hr_shape_text(shape, text, sizeof text));
    if (d->dims == 3) {
        const hr_volume_opts n = {.struct_size = sizeof n, .strides = {s[0], s[1], s[2]}, .padding = d->o.padding};
        return (d->mean ? hr_avg_pool3d_with : hr_max_pool3d_with)(x, d->size[0], d->size[1], d->size[2], &n);
    }
    const hr_image_opts n = {.struct_size = sizeof n, .strides = {s[0], s[1]}, .padding = d->o.padding};
    if (d->dims == 2) return (d->mean ? hr_avg_pool_with : hr_max_pool_with)(x, d->size[0], d->size[1], &n);
    return (d->mean ? hr_avg_pool1d_with : hr_max_pool1d_with)(x, d->size[0], &n);
}

#define POOLING_KIND(NAME, RANK)                                                                                       \
    {                                                                                                                  \
        .head = HR_LAYER_HEAD, .name = NAME, .config_size = sizeof(pooling_config), .call = pooling_call,              \
        .min_rank = RANK, .max_rank = RANK, .check = pooling_check,                                                    \
    }
static const hr_layer_kind pooling_kinds[2][3] = {
    {POOLING_KIND("MaxPooling1D", 3), POOLING_KIND("MaxPooling2D", 4), POOLING_KIND("MaxPooling3D", 5)},
    {POOLING_KIND("AveragePooling1D", 3), POOLING_KIND("AveragePooling2D", 4), POOLING_KIND("AveragePooling3D", 5)},
};

static hr_layer *pooling_new(bool mean, int dims, const int64_t *size, const hr_pooling_layer_opts *opts)
{
    pooling_config d = {mean, dims, {0}, HR_OPTIONS(hr_pooling_layer_opts, opts)};
    for (int i = 0; i < dims; i++) d.size[i] = size[i];
    return hr_layer_new(&pooling_kinds[d.mean][d.dims - 1], &d, HR_LAYER_COMMON(&d.o));
}

hr_layer *hr_max_pooling1d_layer_with(int64_t width, const hr_pooling_layer_opts *opts)
{
    return pooling_new(false, 1, HR_I64(width), opts);
}

hr_layer *hr_max_pooling2d_layer_with(int64_t height, int64_t width, const hr_pooling_layer_opts *opts)
{
    return pooling_new(false, 2, HR_I64(height, width), opts);
}

hr_layer *hr_max_pooling3d_layer_with(int64_t depth, int64_t height, int64_t width, const hr_pooling_layer_opts *opts)
{
    return pooling_new(false, 3, HR_I64(depth, height, width), opts);
}

hr_layer *hr_average_pooling1d_layer_with(int64_t width, const hr_pooling_layer_opts *opts)
{
    return pooling_new(true, 1, HR_I64(width), opts);
}

hr_layer *hr_average_pooling2d_layer_with(int64_t height, int64_t width, const hr_pooling_layer_opts *opts)
{
    return pooling_new(true, 2, HR_I64(height, width), opts);
}

hr_layer *hr_average_pooling3d_layer_with(int64_t depth, int64_t height, int64_t width,
                                          const hr_pooling_layer_opts *opts)
{
    return pooling_new(true, 3, HR_I64(depth, height, width), opts);
}

/* ---- everything ---- */

/* The mean of the steps that count; of none it is 0. */
static hr_node global_mean_of_mask(hr_node x, hr_node mask, bool keepdims)
{
    const hr_node counts = hr_expand_dims(hr_cast_to(mask, hr_node_dtype(x)), hr_scalar(x.graph, HR_INT32, 2));
    const hr_node sum = hr_reduce_sum(hr_mul(x, counts), .axes = HR_I64(1), .axis_count = 1, .keep_dims = keepdims);
    return hr_div_no_nan(sum, hr_reduce_sum(counts, .axes = HR_I64(1), .axis_count = 1, .keep_dims = keepdims));
}

static hr_node global_call(hr_layer_call *c, bool mean, const void *config)
{
    const bool keepdims = *(const bool *)config;
    const hr_node x = c->input[0];
    const hr_global_pool_opts n = {.struct_size = sizeof n, .keep_dims = keepdims};
    if (mean && hr_node_shape(x).rank == 3 && c->mask[0].graph) return global_mean_of_mask(x, c->mask[0], keepdims);
    return (mean ? hr_global_avg_pool_with : hr_global_max_pool_with)(x, &n);
}
static hr_node global_max_call(hr_layer_call *c, void *config) { return global_call(c, false, config); }
static hr_node global_average_call(hr_layer_call *c, void *config) { return global_call(c, true, config); }

#define GLOBAL_KIND(NAME, RANK, CALL)                                                                                  \
    {                                                                                                                  \
        .head = HR_LAYER_HEAD, .name = NAME, .config_size = sizeof(bool), .call = CALL, .min_rank = RANK,              \
        .max_rank = RANK,                                                                                              \
    }
static const hr_layer_kind global_kinds[2][3] = {
    {GLOBAL_KIND("GlobalMaxPooling1D", 3, global_max_call), GLOBAL_KIND("GlobalMaxPooling2D", 4, global_max_call),
     GLOBAL_KIND("GlobalMaxPooling3D", 5, global_max_call)},
    {GLOBAL_KIND("GlobalAveragePooling1D", 3, global_average_call),
     GLOBAL_KIND("GlobalAveragePooling2D", 4, global_average_call),
     GLOBAL_KIND("GlobalAveragePooling3D", 5, global_average_call)},
};

static hr_layer *global_new(bool mean, int dims, const hr_global_pooling_layer_opts *opts)
{
    const hr_global_pooling_layer_opts o = HR_OPTIONS(hr_global_pooling_layer_opts, opts);
    return hr_layer_new(&global_kinds[mean][dims - 1], &o.keepdims, HR_LAYER_COMMON(&o));
}

hr_layer *hr_global_max_pooling1d_layer_with(const hr_global_pooling_layer_opts *opts)
{
    return global_new(false, 1, opts);
}
hr_layer *hr_global_max_pooling2d_layer_with(const hr_global_pooling_layer_opts *opts)
{
    return global_new(false, 2, opts);
}
hr_layer *hr_global_max_pooling3d_layer_with(const hr_global_pooling_layer_opts *opts)
{
    return global_new(false, 3, opts);
}
hr_layer *hr_global_average_pooling1d_layer_with(const hr_global_pooling_layer_opts *opts)
{
    return global_new(true, 1, opts);
}
hr_layer *hr_global_average_pooling2d_layer_with(const hr_global_pooling_layer_opts *opts)
{
    return global_new(true, 2, opts);
}
hr_layer *hr_global_average_pooling3d_layer_with(const hr_global_pooling_layer_opts *opts)
{
    return global_new(true, 3, opts);
}
