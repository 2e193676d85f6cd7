/* Convolutions over volumes as layers. */
#include "train/layers/layers_internal.h"

typedef struct conv3d_layer {
    const char *what; /* the default scope; for messages, too */
    bool transposed;
    int64_t filters, size[3], channels, groups;
    hr_conv3d_opts o;
    hr_volume_opts volume;
} conv3d_layer;

/* One of three numbers, where one that is missing is as the one before it: {2} is {2, 2, 2}. */
static int64_t conv3d_number(const int64_t *given, int d)
{
    for (; d >= 0; d--)
        if (given[d]) return given[d];
    return 1;
}

/* Whether the input and the numbers make a layer; else the graph has failed. */
static bool conv3d_fits(conv3d_layer *l, hr_node x)
{
    const hr_shape shape = hr_node_shape(x);
    char text[128];
    l->groups = l->o.groups ? l->o.groups : 1;
    l->channels = shape.rank == 5 ? shape.dims[4] : -1;
    if (l->channels < 1 || l->filters < 1 || l->size[0] < 1 || l->size[1] < 1 || l->size[2] < 1 || l->groups < 1) {
        hr_node_fail(x.graph, HR_INVALID_ARGUMENT, "layers.shape",
                     "%s: expected an input of rank 5 and of known channels, and filters, a window and groups > 0, "
                     "got %s, %lld, %lld x %lld x %lld, %lld",
                     l->what, hr_shape_text(shape, text, sizeof text), (long long)l->filters, (long long)l->size[0],
                     (long long)l->size[1], (long long)l->size[2], (long long)l->groups);
        return false;
    }
    for (int d = 0; d < 3; d++) {
        const int64_t stride = conv3d_number(l->o.strides, d), dilation = conv3d_number(l->o.dilations, d);
        const int64_t longer = l->o.output_padding ? l->o.output_padding[d] : 0;
        if (stride >= 1 && stride <= INT32_MAX && dilation >= 1 && dilation <= INT32_MAX && longer >= 0 &&
            longer < stride)
            continue;
        hr_node_fail(x.graph, HR_INVALID_ARGUMENT, "layers.shape",
                     "%s: expected strides and dilations from 1 to %d, and an output_padding from 0 to less than the "
                     "stride, got %lld, %lld, %lld",
                     l->what, INT32_MAX, (long long)stride, (long long)dilation, (long long)longer);
        return false;
    }
    if (l->channels % l->groups == 0 && l->filters % l->groups == 0 && (l->groups == 1 || !l->transposed)) return true;
    hr_node_fail(x.graph, HR_INVALID_ARGUMENT, "layers.shape",
                 "%s: expected channels, %lld, and filters, %lld, that are multiples of the groups, %lld%s", l->what,
                 (long long)l->channels, (long long)l->filters, (long long)l->groups,
                 l->transposed ? ", of which this layer has one" : "");
    return false;
}

/* How much longer a length is than that of the input times the stride. */
static int64_t conv3d_longer(const conv3d_layer *l, int d, int64_t stride)
{
    int64_t reach;
    hr_error err;
    if (hr_dim_mul(l->size[d] - 1, conv3d_number(l->o.dilations, d), &reach, &err) != HR_OK) return 0;
    if (l->o.output_padding)
        return reach + 1 - stride - (l->o.padding == HR_SAME ? (reach + 1) / 2 * 2 : 0) + l->o.output_padding[d];
    return l->o.padding == HR_VALID && reach + 1 > stride ? reach + 1 - stride : 0;
}

/* The shape of a transposed layer's output: lengths times strides, and what they are longer. */
static hr_node conv3d_transposed_shape(const conv3d_layer *l, hr_node x)
{
    const hr_shape in = hr_node_shape(x);
    const hr_node shape = hr_shape_of(x);
    hr_graph *g = x.graph;
    hr_node parts[5];
    hr_error err;
    for (int i = 0; i < 5; i++) {
        int64_t stride = 1, longer = 0, length = i == 4 ? l->filters : in.dims[i], window;
        if (i > 0 && i < 4) {
            stride = conv3d_number(l->o.strides, i - 1);
            longer = conv3d_longer(l, i - 1, stride);
            if (length >= 0) length = hr_dim_mul(length, stride, &window, &err) == HR_OK ? window + longer : 0;
        }
        parts[i] = hr_ints(g, &length, 1);
        if (length >= 0) continue;
        parts[i] = hr_slice(shape, hr_ints(g, HR_I64(i), 1), hr_ints(g, HR_I64(1), 1));
        if (i > 0) parts[i] = hr_add(hr_mul(parts[i], hr_ints(g, &stride, 1)), hr_ints(g, &longer, 1));
    }
    return hr_concat(parts, 5, 0);
}

/* Each group of channels by its share of the filters. */
static hr_node conv3d_sum(const conv3d_layer *l, hr_node x, hr_node kernel)
{
    if (l->transposed) return hr_transposed_convolution3d_with(x, kernel, conv3d_transposed_shape(l, x), &l->volume);
    if (l->groups == 1) return hr_convolution3d_with(x, kernel, &l->volume);
    hr_node *parts = hr_malloc((size_t)l->groups * sizeof *parts);
    if (!parts) return hr_node_fail(x.graph, HR_RESOURCE_EXHAUSTED, "memory", "no memory for %s", l->what);
    const hr_node channels = hr_split(x, (int)l->groups, 4), filters = hr_split(kernel, (int)l->groups, 4);
    for (int i = 0; i < l->groups; i++)
        parts[i] = hr_convolution3d_with(hr_node_output(channels, i), hr_node_output(filters, i), &l->volume);
    const hr_node y = hr_concat(parts, (int)l->groups, 4);
    hr_free(parts);
    return y;
}

static hr_node conv3d_layer_of(conv3d_layer *l, hr_node x, const hr_conv3d_opts *opts)
{
    hr_graph *g = x.graph;
    l->o = HR_OPTIONS(hr_conv3d_opts, opts);
    const hr_conv3d_opts *o = &l->o;
    if (!hr_node_exists(x)) return x;
    if (!conv3d_fits(l, x)) return hr_failed_node(g);
    l->volume = (hr_volume_opts){.struct_size = sizeof l->volume, .padding = o->padding};
    for (int d = 0; d < 3; d++) {
        l->volume.strides[d] = conv3d_number(o->strides, d);
        l->volume.dilations[d] = conv3d_number(o->dilations, d);
    }
    const int64_t inner = l->transposed ? l->filters : l->channels / l->groups;
    const int64_t outer = l->transposed ? l->channels : l->filters;
    const hr__weight kernel = {"kernel",
                               hr__layer_type(x),
                               HR_SHAPE(l->size[0], l->size[1], l->size[2], inner, outer),
                               o->kernel_initializer,
                               o->kernel_regularizer,
                               o->not_trainable};
    const hr__weight bias = {"bias",
                             hr__layer_type(x),
                             HR_SHAPE(l->filters),
                             hr__initializer_or(o->bias_initializer, hr_zeros()),
                             o->bias_regularizer,
                             o->not_trainable};
    hr__layer_begin(g, o->name, l->what);
    hr_node y = conv3d_sum(l, x, hr__layer_weight(g, &kernel));
    if (!o->no_bias) y = hr_bias_add(y, hr__layer_weight(g, &bias));
    if (o->activation) y = o->activation(y);
    hr_scope_end(g);
    return y;
}

hr_node hr_conv3d_with(hr_node x, int64_t filters, int64_t depth, int64_t height, int64_t width,
                       const hr_conv3d_opts *opts)
{
    conv3d_layer l = {.what = "conv3d", .filters = filters, .size = {depth, height, width}};
    return conv3d_layer_of(&l, x, opts);
}

hr_node hr_conv3d_transpose_with(hr_node x, int64_t filters, int64_t depth, int64_t height, int64_t width,
                                 const hr_conv3d_opts *opts)
{
    conv3d_layer l = {
        .what = "conv3d_transpose", .transposed = true, .filters = filters, .size = {depth, height, width}};
    return conv3d_layer_of(&l, x, opts);
}
