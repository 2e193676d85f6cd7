/* Convolutions over steps, images and volumes: Conv, transposed, depthwise and separable ones. */
#include <headrace/model_layers.h>

typedef enum convolution_form {
    CONVOLUTION_PLAIN,
    CONVOLUTION_TRANSPOSED,
    CONVOLUTION_DEPTHWISE,
    CONVOLUTION_SEPARABLE,
} convolution_form;

typedef struct convolution_config {
    convolution_form form;
    int dims; /* 1 to 3 */
    int64_t filters, size[3], output_padding[3];
    hr_conv_layer_opts o; /* .output_padding is no more than whether there is one */
} convolution_config;

/* One number of each dimension, where one that is missing is as the one before it: {2} is {2, 2}. */
static int64_t convolution_number(const int64_t *given, int d)
{
    for (; d >= 0; d--)
        if (given[d]) return given[d];
    return 1;
}

/* ---- arguments ---- */

static hr_status convolution_refuse(hr_error *err, const char *name, const char *expected, int64_t got)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected %s %s, got %lld", name, expected,
                   (long long)got);
}

/* Options that the other forms have. */
static hr_status convolution_check_form(const convolution_config *d, hr_error *err)
{
    const hr_conv_layer_opts *o = &d->o;
    const bool each = d->form == CONVOLUTION_DEPTHWISE || d->form == CONVOLUTION_SEPARABLE;
    if (o->padding != HR_VALID && o->padding != HR_SAME)
        return convolution_refuse(err, "padding", "HR_VALID or HR_SAME", (int64_t)o->padding);
    if (o->causal && (d->dims != 1 || d->form == CONVOLUTION_TRANSPOSED || d->form == CONVOLUTION_DEPTHWISE))
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument",
                       "expected no .causal, which Conv1D and SeparableConv1D alone have");
    if (o->causal && o->padding == HR_SAME)
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument", "expected .causal or padding HR_SAME, got both");
    if (o->groups && o->groups != 1 && d->form != CONVOLUTION_PLAIN)
        return convolution_refuse(err, "groups", "of 1, which this layer has alone", o->groups);
    if (o->output_padding && d->form != CONVOLUTION_TRANSPOSED)
        return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument",
                       "expected no .output_padding, which transposed layers alone have");
    for (int i = 0; i < d->dims && o->output_padding; i++)
        if (d->output_padding[i] < 0 || d->output_padding[i] >= convolution_number(o->strides, i))
            return convolution_refuse(err, "output_padding", "of 0 or more and below the stride", d->output_padding[i]);
    if (o->depth_multiplier && o->depth_multiplier != 1 && !each)
        return convolution_refuse(err, "depth_multiplier", "of depthwise and separable layers only",
                                  o->depth_multiplier);
    return HR_OK;
}

static hr_status convolution_check(const void *config, hr_error *err)
{
    const convolution_config *d = config;
    const hr_conv_layer_opts *o = &d->o;
    const int64_t groups = o->groups ? o->groups : 1;
    HR_TRY(hr_activation_check(o->activation, err));
    if (d->filters < 1) return convolution_refuse(err, "filters", "of 1 or more", d->filters);
    for (int i = 0; i < 3; i++) {
        if (i < d->dims && d->size[i] < 1) return convolution_refuse(err, "kernel size", "of 1 or more", d->size[i]);
        if (o->strides[i] < 0) return convolution_refuse(err, "strides", "of 1 or more", o->strides[i]);
        if (o->dilation_rate[i] < 0)
            return convolution_refuse(err, "dilation_rate", "of 1 or more", o->dilation_rate[i]);
    }
    if (groups < 1) return convolution_refuse(err, "groups", "of 1 or more", groups);
    if (o->depth_multiplier < 0)
        return convolution_refuse(err, "depth_multiplier", "of 1 or more", o->depth_multiplier);
    HR_TRY(convolution_check_form(d, err));
    if (d->filters % groups == 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.argument",
                   "expected filters that are a multiple of the groups, %lld, got %lld", (long long)groups,
                   (long long)d->filters);
}

/* ---- inputs ---- */

/* How many values the kernel reaches over in a dimension; -1: more than there can be. */
static int64_t convolution_reach(const convolution_config *d, int i)
{
    const int64_t dilation = convolution_number(d->o.dilation_rate, i);
    return d->size[i] - 1 > INT32_MAX / dilation ? -1 : (d->size[i] - 1) * dilation + 1;
}

/* The input, if the layer can take it; else a failed node. */
static hr_node convolution_input(hr_layer_call *c, const convolution_config *d)
{
    const hr_shape shape = hr_node_shape(c->input[0]);
    const int64_t groups = d->o.groups ? d->o.groups : 1;
    const int64_t channels = shape.rank > 0 ? shape.dims[shape.rank - 1] : -1;
    const bool inside = d->o.padding == HR_VALID && !d->o.causal && d->form != CONVOLUTION_TRANSPOSED;
    char text[128];
    if (channels < 1)
        return hr_layer_fail(c, "models.shape",
                             "expected an input of a known number of channels, its last dimension, got %s",
                             hr_shape_text(shape, text, sizeof text));
    if (channels % groups != 0)
        return hr_layer_fail(c, "models.shape",
                             "expected channels that are a multiple of the groups, %lld, got %lld, of %s",
                             (long long)groups, (long long)channels, hr_shape_text(shape, text, sizeof text));
    for (int i = 0; i < d->dims && inside; i++) {
        const int64_t reach = convolution_reach(d, i), length = shape.dims[i + 1];
        if (length < 0 || (reach > 0 && reach <= length)) continue;
        return hr_layer_fail(
            c, "models.shape",
            "expected a kernel that fits into the input, got a size of %lld with a dilation_rate of %lld for "
            "dimension %d of %s; make it smaller, or give .padding = HR_SAME",
            (long long)d->size[i], (long long)convolution_number(d->o.dilation_rate, i), i + 1,
            hr_shape_text(shape, text, sizeof text));
    }
    return c->input[0];
}

/* ---- nodes ---- */

static hr_node convolution_of_volumes(hr_layer_call *c, const convolution_config *d)
{
    const hr_conv_layer_opts *o = &d->o;
    hr_conv3d_opts n = {.struct_size = sizeof n,
                        .name = hr_layer_scope(c),
                        .padding = o->padding,
                        .groups = o->groups,
                        .activation = hr_activation_named(o->activation),
                        .kernel_initializer = o->kernel_initializer,
                        .bias_initializer = o->bias_initializer,
                        .kernel_regularizer = o->kernel_regularizer,
                        .bias_regularizer = o->bias_regularizer,
                        .no_bias = o->no_bias,
                        .output_padding = o->output_padding ? d->output_padding : NULL};
    for (int i = 0; i < 3; i++) {
        n.strides[i] = convolution_number(o->strides, i);
        n.dilations[i] = convolution_number(o->dilation_rate, i);
    }
    return (d->form == CONVOLUTION_PLAIN ? hr_conv3d_with : hr_conv3d_transpose_with)(
        c->input[0], d->filters, d->size[0], d->size[1], d->size[2], &n);
}

static hr_node convolution_of(const convolution_config *d, hr_node x, const hr_conv_opts *n)
{
    const int64_t f = d->filters, a = d->size[0], b = d->size[1];
    switch (d->form) {
    case CONVOLUTION_TRANSPOSED:
        return d->dims == 1 ? hr_conv1d_transpose_with(x, f, a, n) : hr_conv2d_transpose_with(x, f, a, b, n);
    case CONVOLUTION_DEPTHWISE:
        return d->dims == 1 ? hr_depthwise_conv1d_with(x, a, n) : hr_depthwise_conv2d_with(x, a, b, n);
    case CONVOLUTION_SEPARABLE:
        return d->dims == 1 ? hr_separable_conv1d_with(x, f, a, n) : hr_separable_conv2d_with(x, f, a, b, n);
    default:
        return d->dims == 1 ? hr_conv1d_with(x, f, a, n) : hr_conv2d_with(x, f, a, b, n);
    }
}

static hr_node convolution_call(hr_layer_call *c, void *config)
{
    const convolution_config *d = config;
    const hr_conv_layer_opts *o = &d->o;
    const bool each = d->form == CONVOLUTION_DEPTHWISE || d->form == CONVOLUTION_SEPARABLE;
    const int64_t before[] = {convolution_reach(d, 0) - 1, 0};
    const hr_node x = convolution_input(c, d);
    if (!hr_node_exists(x)) return x;
    hr_layer_constrain(c, each ? "depthwise_kernel" : "kernel", o->kernel_constraint);
    if (d->form == CONVOLUTION_SEPARABLE) hr_layer_constrain(c, "pointwise_kernel", o->pointwise_constraint);
    hr_layer_constrain(c, "bias", o->bias_constraint);
    if (d->dims == 3) return convolution_of_volumes(c, d);
    hr_conv_opts n = {.struct_size = sizeof n,
                      .name = hr_layer_scope(c),
                      .padding = o->causal ? HR_EXPLICIT : o->padding,
                      .paddings = o->causal ? before : NULL,
                      .groups = o->groups,
                      .depth_multiplier = o->depth_multiplier,
                      .activation = hr_activation_named(o->activation),
                      .kernel_initializer = o->kernel_initializer,
                      .pointwise_initializer = o->pointwise_initializer,
                      .bias_initializer = o->bias_initializer,
                      .kernel_regularizer = o->kernel_regularizer,
                      .pointwise_regularizer = o->pointwise_regularizer,
                      .bias_regularizer = o->bias_regularizer,
                      .no_bias = o->no_bias,
                      .output_padding = o->output_padding ? d->output_padding : NULL};
    for (int i = 0; i < d->dims; i++) {
        n.strides[i] = convolution_number(o->strides, i);
        n.dilations[i] = convolution_number(o->dilation_rate, i);
    }
    return convolution_of(d, x, &n);
}

/* ---- kinds and constructors ---- */

#define CONVOLUTION_KIND(NAME, RANK)                                                                                   \
    {                                                                                                                  \
        .head = HR_LAYER_HEAD, .name = NAME, .config_size = sizeof(convolution_config), .call = convolution_call,      \
        .min_rank = RANK, .max_rank = RANK, .check = convolution_check,                                                \
    }

static const hr_layer_kind convolution_kinds[4][3] = {
    [CONVOLUTION_PLAIN] = {CONVOLUTION_KIND("Conv1D", 3), CONVOLUTION_KIND("Conv2D", 4), CONVOLUTION_KIND("Conv3D", 5)},
    [CONVOLUTION_TRANSPOSED] = {CONVOLUTION_KIND("Conv1DTranspose", 3), CONVOLUTION_KIND("Conv2DTranspose", 4),
                                CONVOLUTION_KIND("Conv3DTranspose", 5)},
    [CONVOLUTION_DEPTHWISE] = {CONVOLUTION_KIND("DepthwiseConv1D", 3), CONVOLUTION_KIND("DepthwiseConv2D", 4)},
    [CONVOLUTION_SEPARABLE] = {CONVOLUTION_KIND("SeparableConv1D", 3), CONVOLUTION_KIND("SeparableConv2D", 4)},
};

static hr_layer *convolution_new(convolution_form form, int dims, int64_t filters, const int64_t *size,
                                 const hr_conv_layer_opts *opts)
{
    convolution_config d = {form, dims, filters, {0}, {0}, HR_OPTIONS(hr_conv_layer_opts, opts)};
    for (int i = 0; i < dims; i++) {
        d.size[i] = size[i];
        if (d.o.output_padding) d.output_padding[i] = d.o.output_padding[i];
    }
    d.o.activation = hr_activation_kept(d.o.activation);
    return hr_layer_new(&convolution_kinds[d.form][d.dims - 1], &d, HR_LAYER_COMMON(&d.o));
}

hr_layer *hr_conv1d_layer_with(int64_t filters, int64_t width, const hr_conv_layer_opts *opts)
{
    return convolution_new(CONVOLUTION_PLAIN, 1, filters, HR_I64(width), opts);
}

hr_layer *hr_conv2d_layer_with(int64_t filters, int64_t height, int64_t width, const hr_conv_layer_opts *opts)
{
    return convolution_new(CONVOLUTION_PLAIN, 2, filters, HR_I64(height, width), opts);
}

hr_layer *hr_conv3d_layer_with(int64_t filters, int64_t depth, int64_t height, int64_t width,
                               const hr_conv_layer_opts *opts)
{
    return convolution_new(CONVOLUTION_PLAIN, 3, filters, HR_I64(depth, height, width), opts);
}

hr_layer *hr_conv1d_transpose_layer_with(int64_t filters, int64_t width, const hr_conv_layer_opts *opts)
{
    return convolution_new(CONVOLUTION_TRANSPOSED, 1, filters, HR_I64(width), opts);
}

hr_layer *hr_conv2d_transpose_layer_with(int64_t filters, int64_t height, int64_t width, const hr_conv_layer_opts *opts)
{
    return convolution_new(CONVOLUTION_TRANSPOSED, 2, filters, HR_I64(height, width), opts);
}

hr_layer *hr_conv3d_transpose_layer_with(int64_t filters, int64_t depth, int64_t height, int64_t width,
                                         const hr_conv_layer_opts *opts)
{
    return convolution_new(CONVOLUTION_TRANSPOSED, 3, filters, HR_I64(depth, height, width), opts);
}

hr_layer *hr_depthwise_conv1d_layer_with(int64_t width, const hr_conv_layer_opts *opts)
{
    return convolution_new(CONVOLUTION_DEPTHWISE, 1, 1, HR_I64(width), opts);
}

hr_layer *hr_depthwise_conv2d_layer_with(int64_t height, int64_t width, const hr_conv_layer_opts *opts)
{
    return convolution_new(CONVOLUTION_DEPTHWISE, 2, 1, HR_I64(height, width), opts);
}

hr_layer *hr_separable_conv1d_layer_with(int64_t filters, int64_t width, const hr_conv_layer_opts *opts)
{
    return convolution_new(CONVOLUTION_SEPARABLE, 1, filters, HR_I64(width), opts);
}

hr_layer *hr_separable_conv2d_layer_with(int64_t filters, int64_t height, int64_t width, const hr_conv_layer_opts *opts)
{
    return convolution_new(CONVOLUTION_SEPARABLE, 2, filters, HR_I64(height, width), opts);
}
