/* Convolutions as layers, and pools of whole images. Rows [n, width, depth] are images of height 1. */
#include "train/layers/layers_internal.h"

#include <stdio.h>

typedef struct conv_layer {
    const char *what, *slim; /* the default scope, and slim's; for messages, too */
    enum { CONV_PLAIN, CONV_DEPTHWISE, CONV_SEPARABLE, CONV_TRANSPOSED } kind;
    bool flat; /* one dimension */
    int64_t filters, size[2], depth, groups, multiplier;
    hr_dtype dtype;
    hr_conv_opts o;
    int64_t paddings[4];
    hr_image_opts image;
} conv_layer;

static hr_node conv_axis(hr_graph *g, int64_t axis) { return hr_scalar(g, HR_INT32, (double)axis); }

/* ---- arguments ---- */

/* Both numbers of {2}, which is {2, 2}, and of nothing, which is {1, 1}. */
static void conv_pair(const int64_t *given, int64_t *out)
{
    out[0] = given[0] ? given[0] : 1;
    out[1] = given[1] ? given[1] : out[0];
}

/* One dimension's options are those of a width. Strides of a depthwise one are equal all the same. */
static void conv_options(conv_layer *l)
{
    hr_image_opts *image = &l->image;
    *image = (hr_image_opts){.struct_size = sizeof *image,
                             .padding = l->o.padding,
                             .paddings = l->o.paddings,
                             .channels_first = l->o.channels_first};
    conv_pair(l->o.strides, image->strides);
    conv_pair(l->o.dilations, image->dilations);
    l->groups = l->o.groups ? l->o.groups : 1;
    l->multiplier = l->o.depth_multiplier ? l->o.depth_multiplier : 1;
    if (!l->flat) return;
    image->strides[1] = image->strides[0];
    image->dilations[1] = image->dilations[0];
    image->dilations[0] = 1;
    if (l->kind == CONV_PLAIN || l->kind == CONV_TRANSPOSED) image->strides[0] = 1;
    for (int i = 0; i < 2 && l->o.paddings; i++) l->paddings[2 + i] = l->o.paddings[i];
    if (l->o.paddings) image->paddings = l->paddings;
}

/* Whether the input and the numbers make a layer; else the graph has failed. */
static bool conv_fits(conv_layer *l, hr_node x)
{
    const hr_shape shape = hr_node_shape(x);
    const int rank = l->flat ? 3 : 4;
    char text[128];
    int64_t channels;
    hr_error err;
    l->depth = shape.rank == rank ? shape.dims[l->o.channels_first ? 1 : rank - 1] : -1;
    if (l->depth < 1 || l->filters < 1 || l->size[0] < 1 || l->size[1] < 1 || l->groups < 1 || l->multiplier < 1 ||
        hr_dim_mul(l->depth, l->multiplier, &channels, &err) != HR_OK) {
        hr_node_fail(x.graph, HR_INVALID_ARGUMENT, "layers.shape",
                     "%s: expected an input of rank %d and of known depth, and filters, a window, groups and a "
                     "multiplier > 0, got %s, %lld, %lld x %lld, %lld, %lld",
                     l->what, rank, hr_shape_text(shape, text, sizeof text), (long long)l->filters,
                     (long long)l->size[0], (long long)l->size[1], (long long)l->groups, (long long)l->multiplier);
        return false;
    }
    for (int d = l->flat; d < 2 && l->o.output_padding; d++)
        if (l->o.output_padding[d - l->flat] < 0 || l->o.output_padding[d - l->flat] >= l->image.strides[d]) {
            hr_node_fail(x.graph, HR_INVALID_ARGUMENT, "layers.shape",
                         "%s: expected an output_padding from 0 to less than the stride, %lld, got %lld", l->what,
                         (long long)l->image.strides[d], (long long)l->o.output_padding[d - l->flat]);
            return false;
        }
    if (l->depth % l->groups == 0 && l->filters % l->groups == 0 && (l->groups == 1 || l->kind == CONV_PLAIN))
        return true;
    hr_node_fail(x.graph, HR_INVALID_ARGUMENT, "layers.shape",
                 "%s: expected a depth, %lld, and filters, %lld, that are multiples of the groups, %lld%s", l->what,
                 (long long)l->depth, (long long)l->filters, (long long)l->groups,
                 l->kind == CONV_PLAIN ? "" : ", of which this layer has one");
    return false;
}

/* ---- parts ---- */

/* A kernel, whose variable lacks the height if the layer is flat. */
static hr_node conv_weight(const conv_layer *l, hr_graph *g, const char *name, hr_shape shape,
                           hr_initializer initializer, hr_regularizer regularizer)
{
    if (l->flat) shape = HR_SHAPE(shape.dims[1], shape.dims[2], shape.dims[3]);
    const hr__weight weight = {name, l->dtype, shape, initializer, regularizer, l->o.not_trainable};
    const hr_node kernel = hr__layer_weight(g, &weight);
    return l->flat ? hr_expand_dims(kernel, conv_axis(g, 0)) : kernel;
}

/* The length along dimension d of what a transposed layer makes of a length, -1 if that is unknown: *longer than
 * length * stride, or shorter. What is out of range is refused by the op. */
static int64_t conv_transposed_length(const conv_layer *l, int d, int64_t in, int64_t *longer)
{
    const hr_image_opts *o = &l->image;
    const int64_t stride = o->strides[d];
    int64_t reach, length;
    hr_error err;
    *longer = 0;
    if (stride < 1 || stride > INT32_MAX || hr_dim_mul(l->size[d] - 1, o->dilations[d], &reach, &err) != HR_OK ||
        hr_dim_mul(in, stride, &length, &err) != HR_OK)
        return in;
    if (o->padding == HR_VALID && reach + 1 > stride) *longer = reach + 1 - stride;
    if (l->o.output_padding && o->padding != HR_EXPLICIT && d >= l->flat)
        *longer =
            reach + 1 - stride - (o->padding == HR_SAME ? (reach + 1) / 2 * 2 : 0) + l->o.output_padding[d - l->flat];
    if (o->padding == HR_EXPLICIT && o->paddings) {
        *longer = reach + 1 - stride;
        for (int i = 2 * d; i < 2 * d + 2; i++)
            if (o->paddings[i] >= 0 && o->paddings[i] <= INT32_MAX) *longer -= o->paddings[i];
    }
    return length < 0 ? -1 : length + *longer;
}

/* The shape of a transposed layer's output: the batch is that of x, and lengths follow from its lengths. */
static hr_node conv_transposed_shape(const conv_layer *l, hr_node x)
{
    const hr_shape in = hr_node_shape(x);
    hr_graph *g = x.graph;
    const int first = l->o.channels_first ? 2 : 1;
    const hr_node shape = hr_shape_of(x);
    hr_node parts[4];
    for (int i = 0; i < 4; i++) {
        const int d = i - first;
        int64_t longer = 0, length = i == 0 ? in.dims[0] : l->filters;
        if (d == 0 || d == 1) length = conv_transposed_length(l, d, in.dims[i], &longer);
        if (length >= 0) {
            parts[i] = hr_ints(g, &length, 1);
            continue;
        }
        parts[i] = hr_slice(shape, hr_ints(g, HR_I64(i), 1), hr_ints(g, HR_I64(1), 1));
        if (i > 0) parts[i] = hr_add(hr_mul(parts[i], hr_ints(g, &l->image.strides[d], 1)), hr_ints(g, &longer, 1));
    }
    return hr_concat(parts, 4, 0);
}

static hr_node conv_sum(const conv_layer *l, hr_node x)
{
    const hr_conv_opts *o = &l->o;
    const int64_t h = l->size[0], w = l->size[1];
    hr_graph *g = x.graph;
    if (l->kind == CONV_TRANSPOSED) {
        const hr_node kernel = conv_weight(l, g, o->slim ? "weights" : "kernel", HR_SHAPE(h, w, l->filters, l->depth),
                                           o->kernel_initializer, o->kernel_regularizer);
        return hr_transposed_convolution_with(x, kernel, conv_transposed_shape(l, x), &l->image);
    }
    if (l->kind == CONV_PLAIN) {
        const hr_node kernel =
            conv_weight(l, g, o->slim ? "weights" : "kernel", HR_SHAPE(h, w, l->depth / l->groups, l->filters),
                        o->kernel_initializer, o->kernel_regularizer);
        return hr_convolution_with(x, kernel, &l->image);
    }
    const hr_node each =
        conv_weight(l, g, o->slim ? "depthwise_weights" : "depthwise_kernel", HR_SHAPE(h, w, l->depth, l->multiplier),
                    o->kernel_initializer, o->kernel_regularizer);
    if (l->kind == CONV_DEPTHWISE) return hr_depthwise_convolution_with(x, each, &l->image);
    const hr_node across = conv_weight(l, g, o->slim ? "pointwise_weights" : "pointwise_kernel",
                                       HR_SHAPE(1, 1, l->depth * l->multiplier, l->filters), o->pointwise_initializer,
                                       o->pointwise_regularizer);
    return hr_convolution(hr_depthwise_convolution_with(x, each, &l->image), across,
                          .channels_first = o->channels_first);
}

static hr_node conv_layer_of(conv_layer *l, hr_node x, const hr_conv_opts *opts)
{
    hr_graph *g = x.graph;
    l->o = HR_OPTIONS(hr_conv_opts, opts);
    if (!hr_node_exists(x)) return x;
    conv_options(l);
    if (!conv_fits(l, x)) return hr_failed_node(g);
    l->dtype = hr__layer_type(x);
    if (l->kind == CONV_DEPTHWISE) l->filters = l->depth * l->multiplier;
    hr__layer_begin(g, l->o.name, l->o.slim ? l->slim : l->what);
    if (l->flat) x = hr_expand_dims(x, conv_axis(g, l->o.channels_first ? 2 : 1));
    hr_node y = conv_sum(l, x);
    if (!l->o.no_bias) {
        const hr__weight bias = {l->o.slim ? "biases" : "bias", l->dtype,
                                 HR_SHAPE(l->filters),          hr__initializer_or(l->o.bias_initializer, hr_zeros()),
                                 l->o.bias_regularizer,         l->o.not_trainable};
        const hr_node values = hr__layer_weight(g, &bias);
        y = l->o.channels_first ? hr_bias_add_channels_first(y, values) : hr_bias_add(y, values);
    }
    if (l->flat) y = hr_squeeze(y, HR_I64(l->o.channels_first ? 2 : 1), 1);
    if (l->o.activation) y = l->o.activation(y);
    hr_scope_end(g);
    return y;
}

/* ---- the layers ---- */

hr_node hr_conv1d_with(hr_node x, int64_t filters, int64_t width, const hr_conv_opts *opts)
{
    conv_layer l = {
        .what = "conv1d", .slim = "Conv", .kind = CONV_PLAIN, .flat = true, .filters = filters, .size = {1, width}};
    return conv_layer_of(&l, x, opts);
}

hr_node hr_conv2d_with(hr_node x, int64_t filters, int64_t height, int64_t width, const hr_conv_opts *opts)
{
    conv_layer l = {.what = "conv2d", .slim = "Conv", .kind = CONV_PLAIN, .filters = filters, .size = {height, width}};
    return conv_layer_of(&l, x, opts);
}

hr_node hr_conv1d_transpose_with(hr_node x, int64_t filters, int64_t width, const hr_conv_opts *opts)
{
    conv_layer l = {.what = "conv1d_transpose",
                    .slim = "Conv1d_transpose",
                    .kind = CONV_TRANSPOSED,
                    .flat = true,
                    .filters = filters,
                    .size = {1, width}};
    return conv_layer_of(&l, x, opts);
}

hr_node hr_conv2d_transpose_with(hr_node x, int64_t filters, int64_t height, int64_t width, const hr_conv_opts *opts)
{
    conv_layer l = {.what = "conv2d_transpose",
                    .slim = "Conv2d_transpose",
                    .kind = CONV_TRANSPOSED,
                    .filters = filters,
                    .size = {height, width}};
    return conv_layer_of(&l, x, opts);
}

hr_node hr_depthwise_conv1d_with(hr_node x, int64_t width, const hr_conv_opts *opts)
{
    conv_layer l = {.what = "depthwise_conv1d",
                    .slim = "SeparableConv1d",
                    .kind = CONV_DEPTHWISE,
                    .flat = true,
                    .filters = 1,
                    .size = {1, width}};
    return conv_layer_of(&l, x, opts);
}

hr_node hr_depthwise_conv2d_with(hr_node x, int64_t height, int64_t width, const hr_conv_opts *opts)
{
    conv_layer l = {.what = "depthwise_conv2d",
                    .slim = "SeparableConv2d",
                    .kind = CONV_DEPTHWISE,
                    .filters = 1,
                    .size = {height, width}};
    return conv_layer_of(&l, x, opts);
}

hr_node hr_separable_conv1d_with(hr_node x, int64_t filters, int64_t width, const hr_conv_opts *opts)
{
    conv_layer l = {.what = "separable_conv1d",
                    .slim = "SeparableConv1d",
                    .kind = CONV_SEPARABLE,
                    .flat = true,
                    .filters = filters,
                    .size = {1, width}};
    return conv_layer_of(&l, x, opts);
}

hr_node hr_separable_conv2d_with(hr_node x, int64_t filters, int64_t height, int64_t width, const hr_conv_opts *opts)
{
    conv_layer l = {.what = "separable_conv2d",
                    .slim = "SeparableConv2d",
                    .kind = CONV_SEPARABLE,
                    .filters = filters,
                    .size = {height, width}};
    return conv_layer_of(&l, x, opts);
}

/* ---- pools of whole images ---- */

static hr_node conv_global_pool(hr_node x, const hr_global_pool_opts *opts, const char *name,
                                hr_node (*reduce)(hr_node x, const hr_reduce_opts *opts))
{
    const hr_global_pool_opts o = HR_OPTIONS(hr_global_pool_opts, opts);
    const int rank = hr_node_shape(x).rank;
    int64_t axes[HR_MAX_RANK];
    char text[128];
    if (!hr_node_exists(x)) return x;
    if (rank < 3)
        return hr_node_fail(x.graph, HR_INVALID_ARGUMENT, "layers.shape",
                            "%s: expected an input of a known rank of 3 or more, got %s", name,
                            hr_shape_text(hr_node_shape(x), text, sizeof text));
    for (int i = 0; i < rank - 2; i++) axes[i] = i + 1 + o.channels_first;
    return reduce(x, &(hr_reduce_opts){.struct_size = sizeof(hr_reduce_opts),
                                       .name = o.name ? o.name : name,
                                       .axes = axes,
                                       .axis_count = rank - 2,
                                       .keep_dims = o.keep_dims});
}

hr_node hr_global_avg_pool_with(hr_node x, const hr_global_pool_opts *opts)
{
    return conv_global_pool(x, opts, "global_average_pooling", hr_reduce_mean_with);
}

hr_node hr_global_max_pool_with(hr_node x, const hr_global_pool_opts *opts)
{
    return conv_global_pool(x, opts, "global_max_pooling", hr_reduce_max_with);
}
