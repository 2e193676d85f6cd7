/* Layers of a case: convolutions, pools, edges, normalizations and merges. */
#include "golden_keras.h"

#include <string.h>

/* ---- arguments ---- */

/* The dimensions of "Conv2DTranspose": 2. */
static int dims_of(const char *class) { return class[strcspn(class, "123")] - '0'; }

/* A number for each dimension: one is that of all. */
static void numbers(const cJSON *o, const char *key, int count, int64_t otherwise, int64_t *out)
{
    const cJSON *json = golden_get(o, key);
    if (cJSON_IsNull(json)) json = NULL;
    for (int i = 0; i < count; i++) {
        const cJSON *one = json && cJSON_IsArray(json) ? cJSON_GetArrayItem(json, i) : json;
        out[i] = one ? (int64_t)golden_number_double(one) : otherwise;
    }
}

/* Two for each dimension: a number is both, a list of numbers is one for each dimension, of one dimension both. */
static void edges(const cJSON *o, const char *key, int dims, int64_t *out)
{
    const cJSON *json = golden_get(o, key);
    for (int i = 0; i < 2 * dims; i++) {
        const cJSON *one = json && cJSON_IsArray(json) ? cJSON_GetArrayItem(json, dims == 1 ? i : i / 2) : json;
        if (one && cJSON_IsArray(one)) one = cJSON_GetArrayItem(one, i % 2);
        out[i] = one ? (int64_t)golden_number_double(one) : 1;
    }
}

static hr_padding padding_of(const cJSON *o)
{
    return strcmp(golden_text(o, "padding", "valid"), "same") == 0 ? HR_SAME : HR_VALID;
}

/* ---- layers ---- */

typedef hr_layer *layer_fn(golden_case *c, const char *class, const char *name, const cJSON *o);

static hr_layer *convolution(golden_case *c, const char *class, const char *name, const cJSON *o)
{
    const int dims = dims_of(class);
    const bool each = strncmp(class, "Depth", 5) == 0 || strncmp(class, "Sep", 3) == 0;
    const int64_t filters = golden_int(o, "filters", 0);
    int64_t size[3], longer[3];
    hr_conv_layer_opts n = {.struct_size = sizeof n,
                            .name = name,
                            .padding = padding_of(o),
                            .causal = strcmp(golden_text(o, "padding", ""), "causal") == 0,
                            .groups = golden_int(o, "groups", 1),
                            .depth_multiplier = golden_int(o, "depth_multiplier", 1),
                            .activation = golden_text(o, "activation", NULL),
                            .no_bias = !golden_bool(o, "use_bias", true)};
    n.kernel_initializer = keras_initializer(c, o, each ? "depthwise_initializer" : "kernel_initializer");
    n.kernel_regularizer = keras_regularizer(o, each ? "depthwise_regularizer" : "kernel_regularizer");
    n.kernel_constraint = keras_constraint(o, each ? "depthwise_constraint" : "kernel_constraint");
    n.pointwise_initializer = keras_initializer(c, o, "pointwise_initializer");
    n.pointwise_regularizer = keras_regularizer(o, "pointwise_regularizer");
    n.pointwise_constraint = keras_constraint(o, "pointwise_constraint");
    n.bias_initializer = keras_initializer(c, o, "bias_initializer");
    n.bias_regularizer = keras_regularizer(o, "bias_regularizer");
    n.bias_constraint = keras_constraint(o, "bias_constraint");
    n.activity_regularizer = keras_regularizer(o, "activity_regularizer");
    numbers(o, "kernel_size", dims, 0, size);
    numbers(o, "strides", dims, 1, n.strides);
    numbers(o, "dilation_rate", dims, 1, n.dilation_rate);
    const cJSON *output = golden_get(o, "output_padding");
    numbers(o, "output_padding", dims, 0, longer);
    if (output && !cJSON_IsNull(output)) n.output_padding = longer;
    const int64_t a = size[0], b = size[1], d = size[2];
    if (strncmp(class, "Depth", 5) == 0)
        return dims == 1 ? hr_depthwise_conv1d_layer_with(a, &n) : hr_depthwise_conv2d_layer_with(a, b, &n);
    if (each)
        return dims == 1 ? hr_separable_conv1d_layer_with(filters, a, &n)
                         : hr_separable_conv2d_layer_with(filters, a, b, &n);
    if (strstr(class, "Transpose"))
        return dims == 1   ? hr_conv1d_transpose_layer_with(filters, a, &n)
               : dims == 2 ? hr_conv2d_transpose_layer_with(filters, a, b, &n)
                           : hr_conv3d_transpose_layer_with(filters, a, b, d, &n);
    return dims == 1   ? hr_conv1d_layer_with(filters, a, &n)
           : dims == 2 ? hr_conv2d_layer_with(filters, a, b, &n)
                       : hr_conv3d_layer_with(filters, a, b, d, &n);
}

static hr_layer *pool(golden_case *c, const char *class, const char *name, const cJSON *o)
{
    (void)c;
    const int dims = dims_of(class);
    const bool max = strncmp(class, "Max", 3) == 0;
    int64_t size[3];
    hr_pooling_layer_opts n = {.struct_size = sizeof n, .name = name, .padding = padding_of(o)};
    numbers(o, "pool_size", dims, 2, size);
    numbers(o, "strides", dims, 0, n.strides);
    if (dims == 1) return (max ? hr_max_pooling1d_layer_with : hr_average_pooling1d_layer_with)(size[0], &n);
    if (dims == 2) return (max ? hr_max_pooling2d_layer_with : hr_average_pooling2d_layer_with)(size[0], size[1], &n);
    return (max ? hr_max_pooling3d_layer_with : hr_average_pooling3d_layer_with)(size[0], size[1], size[2], &n);
}

static hr_layer *global_pool(golden_case *c, const char *class, const char *name, const cJSON *o)
{
    (void)c;
    static hr_layer *(*const made[2][3])(const hr_global_pooling_layer_opts *) = {
        {hr_global_max_pooling1d_layer_with, hr_global_max_pooling2d_layer_with, hr_global_max_pooling3d_layer_with},
        {hr_global_average_pooling1d_layer_with, hr_global_average_pooling2d_layer_with,
         hr_global_average_pooling3d_layer_with}};
    const hr_global_pooling_layer_opts n = {
        .struct_size = sizeof n, .name = name, .keepdims = golden_bool(o, "keepdims", false)};
    return made[strstr(class, "Average") != NULL][dims_of(class) - 1](&n);
}

static hr_layer *padding(golden_case *c, const char *class, const char *name, const cJSON *o)
{
    (void)c;
    const int dims = dims_of(class);
    const bool zeros = class[0] == 'Z';
    const hr_layer_opts n = {.struct_size = sizeof n, .name = name};
    int64_t e[6];
    edges(o, zeros ? "padding" : "cropping", dims, e);
    if (dims == 1) return (zeros ? hr_zero_padding1d_layer_with : hr_cropping1d_layer_with)(e[0], e[1], &n);
    if (dims == 2) return (zeros ? hr_zero_padding2d_layer_with : hr_cropping2d_layer_with)(e[0], e[1], e[2], e[3], &n);
    return (zeros ? hr_zero_padding3d_layer_with : hr_cropping3d_layer_with)(e[0], e[1], e[2], e[3], e[4], e[5], &n);
}

static hr_layer *up_sampling(golden_case *c, const char *class, const char *name, const cJSON *o)
{
    (void)c;
    const int dims = dims_of(class);
    int64_t size[3];
    numbers(o, "size", dims, 2, size);
    if (dims == 1) return hr_up_sampling1d_layer(size[0], .name = name);
    if (dims == 3) return hr_up_sampling3d_layer(size[0], size[1], size[2], .name = name);
    return hr_up_sampling2d_layer(size[0], size[1], .name = name,
                                  .bilinear = strcmp(golden_text(o, "interpolation", ""), "bilinear") == 0);
}

static float epsilon_of(const cJSON *o)
{
    const cJSON *json = golden_get(o, "epsilon");
    return json ? (float)golden_number_double(json) : 0.001f;
}

static hr_layer *batch_norm(golden_case *c, const char *class, const char *name, const cJSON *o)
{
    (void)class;
    const cJSON *json = golden_get(o, "momentum");
    const float momentum = json ? (float)golden_number_double(json) : 0.99f, epsilon = epsilon_of(o);
    return hr_batch_normalization_layer(.name = name, .axis = (int)golden_int(o, "axis", -1), .momentum = &momentum,
                                        .epsilon = &epsilon, .no_center = !golden_bool(o, "center", true),
                                        .no_scale = !golden_bool(o, "scale", true),
                                        .beta_initializer = keras_initializer(c, o, "beta_initializer"),
                                        .gamma_initializer = keras_initializer(c, o, "gamma_initializer"),
                                        .moving_mean_initializer = keras_initializer(c, o, "moving_mean_initializer"),
                                        .moving_variance_initializer =
                                            keras_initializer(c, o, "moving_variance_initializer"),
                                        .beta_regularizer = keras_regularizer(o, "beta_regularizer"),
                                        .gamma_regularizer = keras_regularizer(o, "gamma_regularizer"),
                                        .beta_constraint = keras_constraint(o, "beta_constraint"),
                                        .gamma_constraint = keras_constraint(o, "gamma_constraint"));
}

static hr_layer *layer_norm(golden_case *c, const char *class, const char *name, const cJSON *o)
{
    (void)class;
    const cJSON *axis = golden_get(o, "axis");
    const int count = axis && cJSON_IsArray(axis) ? cJSON_GetArraySize(axis) : 1;
    const float epsilon = epsilon_of(o);
    int64_t axes[HR_MAX_RANK];
    numbers(o, "axis", count < HR_MAX_RANK ? count : HR_MAX_RANK, -1, axes);
    return hr_layer_normalization_layer(.name = name, .axes = axes, .axis_count = count, .epsilon = &epsilon,
                                        .no_center = !golden_bool(o, "center", true),
                                        .no_scale = !golden_bool(o, "scale", true),
                                        .beta_initializer = keras_initializer(c, o, "beta_initializer"),
                                        .gamma_initializer = keras_initializer(c, o, "gamma_initializer"),
                                        .beta_regularizer = keras_regularizer(o, "beta_regularizer"),
                                        .gamma_regularizer = keras_regularizer(o, "gamma_regularizer"),
                                        .beta_constraint = keras_constraint(o, "beta_constraint"),
                                        .gamma_constraint = keras_constraint(o, "gamma_constraint"));
}

static hr_layer *group_norm(golden_case *c, const char *class, const char *name, const cJSON *o)
{
    (void)class;
    const float epsilon = epsilon_of(o);
    return hr_group_normalization_layer(.name = name, .groups = golden_int(o, "groups", 32),
                                        .axis = (int)golden_int(o, "axis", -1), .epsilon = &epsilon,
                                        .no_center = !golden_bool(o, "center", true),
                                        .no_scale = !golden_bool(o, "scale", true),
                                        .beta_initializer = keras_initializer(c, o, "beta_initializer"),
                                        .gamma_initializer = keras_initializer(c, o, "gamma_initializer"),
                                        .beta_regularizer = keras_regularizer(o, "beta_regularizer"),
                                        .gamma_regularizer = keras_regularizer(o, "gamma_regularizer"),
                                        .beta_constraint = keras_constraint(o, "beta_constraint"),
                                        .gamma_constraint = keras_constraint(o, "gamma_constraint"));
}

static hr_layer *unit_norm(golden_case *c, const char *class, const char *name, const cJSON *o)
{
    (void)c;
    (void)class;
    const cJSON *axis = golden_get(o, "axis");
    const int count = axis && cJSON_IsArray(axis) ? cJSON_GetArraySize(axis) : 1;
    int64_t axes[HR_MAX_RANK];
    numbers(o, "axis", count < HR_MAX_RANK ? count : HR_MAX_RANK, -1, axes);
    return hr_unit_normalization_layer(.name = name, .axes = axes, .axis_count = count);
}

static hr_layer *merge(golden_case *c, const char *class, const char *name, const cJSON *o)
{
    (void)c;
    (void)o;
    static const struct {
        const char *class;
        hr_layer *(*make)(const hr_layer_opts *);
    } merges[] = {{"Add", hr_add_layer_with},           {"Subtract", hr_subtract_layer_with},
                  {"Multiply", hr_multiply_layer_with}, {"Average", hr_average_layer_with},
                  {"Maximum", hr_maximum_layer_with},   {"Minimum", hr_minimum_layer_with}};
    for (size_t i = 0; i < sizeof merges / sizeof *merges; i++)
        if (strcmp(class, merges[i].class) == 0)
            return merges[i].make(&(hr_layer_opts){.struct_size = sizeof(hr_layer_opts), .name = name});
    return NULL;
}

static hr_layer *concatenate(golden_case *c, const char *class, const char *name, const cJSON *o)
{
    (void)c;
    (void)class;
    return hr_concatenate_layer(.name = name, .axis = (int)golden_int(o, "axis", -1));
}

static hr_layer *dot(golden_case *c, const char *class, const char *name, const cJSON *o)
{
    (void)c;
    (void)class;
    int64_t axes[2];
    numbers(o, "axes", 2, 0, axes);
    return hr_dot_layer((int)axes[0], (int)axes[1], .name = name, .normalize = golden_bool(o, "normalize", false));
}

/* ---- by class ---- */

/* Classes of one dimension or more: the part of the name before the number. */
static const struct {
    const char *class;
    bool dims;
    layer_fn *make;
} classes[] = {
    {"Conv", true, convolution},
    {"DepthwiseConv", true, convolution},
    {"SeparableConv", true, convolution},
    {"MaxPooling", true, pool},
    {"AveragePooling", true, pool},
    {"GlobalMaxPooling", true, global_pool},
    {"GlobalAveragePooling", true, global_pool},
    {"ZeroPadding", true, padding},
    {"Cropping", true, padding},
    {"UpSampling", true, up_sampling},
    {"BatchNormalization", false, batch_norm},
    {"LayerNormalization", false, layer_norm},
    {"GroupNormalization", false, group_norm},
    {"UnitNormalization", false, unit_norm},
    {"Add", false, merge},
    {"Subtract", false, merge},
    {"Multiply", false, merge},
    {"Average", false, merge},
    {"Maximum", false, merge},
    {"Minimum", false, merge},
    {"Concatenate", false, concatenate},
    {"Dot", false, dot},
};

hr_layer *keras_image_layer(golden_case *c, const char *class, const char *name, const cJSON *o)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        const size_t length = strlen(classes[i].class);
        if (strncmp(class, classes[i].class, length) != 0) continue;
        if (classes[i].dims ? class[length] >= '1' && class[length] <= '3' : class[length] == '\0')
            return classes[i].make(c, class, name, o);
    }
    return NULL;
}
