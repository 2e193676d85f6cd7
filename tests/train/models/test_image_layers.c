/* Layers of steps, images and volumes: each against sums over windows that are written here. */
#include "tests/testing.h"

#include <headrace/models.h>
#include <math.h>

/* ---- one layer on one batch ---- */

enum { MOST = 4096 };

/* Numbers without a pattern, the same in each run. */
static float noise(int64_t i) { return sinf((float)i * 12.9898f + 1) * 2; }

static hr_tensor input_of(hr_shape shape, float *values)
{
    int64_t count = 1;
    for (int i = 0; i < shape.rank; i++) count *= shape.dims[i];
    assert_true(count <= MOST);
    for (int64_t i = 0; i < count; i++) values[i] = noise(i);
    return hr_tensor_of(HR_FLOAT, shape, values);
}

/* A model of a layer alone for rows of x, and what it makes of x, which the caller clears. */
static hr_model *model_of(hr_layer *layer, const hr_tensor *x, hr_tensor *y)
{
    hr_shape row = {.rank = x->shape.rank - 1};
    for (int i = 0; i < row.rank; i++) row.dims[i] = x->shape.dims[i + 1];
    hr_model *m = hr_sequential(HR_LAYERS(layer), .input_shape = row, .seed = 5);
    if (hr_model_error(m)) fail_msg("%s", hr_model_error(m)->text);
    if (hr_predict_on_batch(m, x, NULL, 1, y) != HR_OK) fail_msg("%s", hr_model_error(m)->text);
    return m;
}

static void assert_close(const hr_tensor *y, hr_shape shape, const float *wanted)
{
    char found[64], expected[64];
    assert_string_equal(hr_shape_text(y->shape, found, sizeof found), hr_shape_text(shape, expected, sizeof expected));
    for (int64_t i = 0; i < y->count; i++) {
        const float got = ((const float *)y->data)[i];
        if (!(fabsf(got - wanted[i]) <= 1e-4f)) fail_msg("value %d: %g, expected %g", (int)i, got, wanted[i]);
    }
}

/* ---- windows, in three dimensions ---- */

typedef struct windows {
    int64_t n, in[3], out[3], size[3], stride[3], dilation[3], before[3];
    int64_t channels, filters, groups;
} windows;

/* Lengths of the output and the padding before each dimension. */
static void windows_place(windows *w, bool same, bool causal)
{
    for (int d = 0; d < 3; d++) {
        const int64_t reach = (w->size[d] - 1) * w->dilation[d] + 1;
        w->out[d] =
            same || causal ? (w->in[d] + w->stride[d] - 1) / w->stride[d] : (w->in[d] - reach) / w->stride[d] + 1;
        const int64_t pad = (w->out[d] - 1) * w->stride[d] + reach - w->in[d];
        w->before[d] = causal ? reach - 1 : same && pad > 0 ? pad / 2 : 0;
    }
}

/* The place in the input, without channels, of place `f` in the window at `o`; -1: outside. */
static int64_t windows_at(const windows *w, int64_t o, int64_t f)
{
    int64_t at = 0, step = 1;
    for (int d = 2; d >= 0; d--) {
        const int64_t i = o % w->out[d] * w->stride[d] + f % w->size[d] * w->dilation[d] - w->before[d];
        o /= w->out[d];
        f /= w->size[d];
        if (i < 0 || i >= w->in[d]) return -1;
        at += i * step;
        step *= w->in[d];
    }
    return at;
}

static int64_t product(const int64_t *three) { return three[0] * three[1] * three[2]; }

static void convolve(const windows *w, const float *x, const float *kernel, const float *bias, float *y)
{
    const int64_t in = product(w->in), out = product(w->out), size = product(w->size);
    const int64_t depth = w->channels / w->groups, share = w->filters / w->groups;
    for (int64_t i = 0; i < w->n * out * w->filters; i++) {
        const int64_t k = i % w->filters, o = i / w->filters % out, n = i / w->filters / out;
        y[i] = bias ? bias[k] : 0;
        for (int64_t f = 0; f < size; f++) {
            const int64_t at = windows_at(w, o, f);
            for (int64_t c = 0; c < depth && at >= 0; c++)
                y[i] +=
                    x[(n * in + at) * w->channels + k / share * depth + c] * kernel[(f * depth + c) * w->filters + k];
        }
    }
}

/* `w` is the convolution that this is the way back of: from its output x to its input y. */
static void convolve_back(const windows *w, const float *x, const float *kernel, const float *bias, float *y)
{
    const int64_t in = product(w->in), out = product(w->out), size = product(w->size);
    for (int64_t i = 0; i < w->n * in * w->channels; i++) y[i] = bias[i % w->channels];
    for (int64_t i = 0; i < w->n * out * w->filters; i++)
        for (int64_t f = 0; f < size; f++) {
            const int64_t k = i % w->filters, o = i / w->filters % out, n = i / w->filters / out;
            const int64_t at = windows_at(w, o, f);
            for (int64_t c = 0; c < w->channels && at >= 0; c++)
                y[(n * in + at) * w->channels + c] += x[i] * kernel[(f * w->channels + c) * w->filters + k];
        }
}

static hr_shape shape_of(int dims, int64_t n, const int64_t *three, int64_t channels)
{
    hr_shape shape = {.rank = dims + 2, .dims = {n}};
    for (int d = 0; d < dims; d++) shape.dims[1 + d] = three[3 - dims + d];
    shape.dims[dims + 1] = channels;
    return shape;
}

/* The bias, which begins as 0, becomes something. */
static void weights_of(hr_model *m, hr_tensor *weights, int count)
{
    assert_int_equal(hr_model_weights(m), count);
    for (int i = 0; i < count; i++) assert_int_equal(hr_get_weight(m, i, &weights[i], NULL), HR_OK);
    float *bias = (float *)(uintptr_t)weights[count - 1].data;
    for (int64_t i = 0; i < weights[count - 1].count; i++) bias[i] = 0.25f * (float)(i + 1);
    assert_int_equal(hr_set_weights(m, weights, count, NULL), HR_OK);
}

static void check_convolution(hr_layer *layer, int dims, windows w, bool same, bool causal)
{
    static float x[MOST], y[MOST];
    hr_tensor got, weights[2];
    const hr_tensor in = input_of(shape_of(dims, w.n, w.in, w.channels), x);
    hr_model *m = model_of(layer, &in, &got);
    hr_tensor_clear(&got);
    weights_of(m, weights, 2);
    assert_int_equal(hr_predict_on_batch(m, &in, NULL, 1, &got), HR_OK);
    windows_place(&w, same, causal);
    convolve(&w, x, weights[0].data, weights[1].data, y);
    assert_close(&got, shape_of(dims, w.n, w.out, w.filters), y);
    hr_tensor_clear(&got);
    for (int i = 0; i < 2; i++) hr_tensor_clear(&weights[i]);
    hr_model_free(m);
}

static void convolutions_sum_what_windows_cover(void **state)
{
    (void)state;
    const windows one = {.n = 2,
                         .in = {1, 1, 9},
                         .size = {1, 1, 3},
                         .stride = {1, 1, 1},
                         .dilation = {1, 1, 1},
                         .channels = 4,
                         .filters = 6,
                         .groups = 1};
    windows w = one;
    check_convolution(hr_conv1d_layer(6, 3), 1, w, false, false);
    w.groups = 2;
    w.stride[2] = 2;
    check_convolution(hr_conv1d_layer(6, 3, .strides = {2}, .groups = 2, .padding = HR_SAME), 1, w, true, false);
    w = one;
    w.dilation[2] = 2;
    check_convolution(hr_conv1d_layer(6, 3, .dilation_rate = {2}, .causal = true), 1, w, false, true);
    w = (windows){.n = 2,
                  .in = {1, 7, 6},
                  .size = {1, 3, 2},
                  .stride = {1, 2, 1},
                  .dilation = {1, 1, 1},
                  .channels = 2,
                  .filters = 3,
                  .groups = 1};
    check_convolution(hr_conv2d_layer(3, 3, 2, .strides = {2, 1}), 2, w, false, false);
    w = (windows){.n = 2,
                  .in = {4, 5, 3},
                  .size = {2, 3, 2},
                  .stride = {2, 2, 2},
                  .dilation = {1, 1, 1},
                  .channels = 4,
                  .filters = 2,
                  .groups = 2};
    check_convolution(hr_conv3d_layer(2, 2, 3, 2, .strides = {2}, .padding = HR_SAME, .groups = 2), 3, w, true, false);
    w.dilation[0] = 3;
    w.groups = w.stride[0] = w.stride[1] = w.stride[2] = 1;
    check_convolution(hr_conv3d_layer(2, 2, 3, 2, .dilation_rate = {3, 1, 1}), 3, w, false, false);
}

/* The lengths of `w` are those of the layer's input, which are the output of the convolution. */
static void check_transposed(hr_layer *layer, int dims, windows w, bool same, const int64_t *longer)
{
    static float x[MOST], y[MOST];
    hr_tensor got, weights[2];
    const hr_tensor in = input_of(shape_of(dims, w.n, w.in, w.filters), x);
    hr_model *m = model_of(layer, &in, &got);
    hr_tensor_clear(&got);
    weights_of(m, weights, 2);
    assert_int_equal(hr_predict_on_batch(m, &in, NULL, 1, &got), HR_OK);
    for (int d = 0; d < 3; d++) {
        w.in[d] = w.in[d] * w.stride[d] + (longer ? longer[d] : 0);
        if (!longer && !same && w.size[d] > w.stride[d]) w.in[d] += w.size[d] - w.stride[d];
    }
    windows_place(&w, same, false);
    convolve_back(&w, x, weights[0].data, weights[1].data, y);
    assert_close(&got, shape_of(dims, w.n, w.in, w.channels), y);
    hr_tensor_clear(&got);
    for (int i = 0; i < 2; i++) hr_tensor_clear(&weights[i]);
    hr_model_free(m);
}

static void transposed_convolutions_go_the_way_back(void **state)
{
    (void)state;
    windows w = {.n = 2,
                 .in = {1, 1, 5},
                 .size = {1, 1, 3},
                 .stride = {1, 1, 2},
                 .dilation = {1, 1, 1},
                 .channels = 3,
                 .filters = 2,
                 .groups = 1};
    check_transposed(hr_conv1d_transpose_layer(3, 3, .strides = {2}), 1, w, false, NULL);
    check_transposed(hr_conv1d_transpose_layer(3, 3, .strides = {2}, .padding = HR_SAME), 1, w, true, NULL);
    /* 4 * 2 + 3 + 1, and the same less 2, as longer than 5 * 2. */
    check_transposed(hr_conv1d_transpose_layer(3, 3, .strides = {2}, .output_padding = HR_I64(1)), 1, w, false,
                     HR_I64(0, 0, 2));
    check_transposed(hr_conv1d_transpose_layer(3, 3, .strides = {2}, .output_padding = HR_I64(0), .padding = HR_SAME),
                     1, w, true, HR_I64(0, 0, -1));
    w.in[1] = 4;
    w.size[1] = 2;
    w.stride[1] = 3;
    check_transposed(hr_conv2d_transpose_layer(3, 2, 3, .strides = {3, 2}), 2, w, false, NULL);
    w.in[0] = 2;
    w.size[0] = 2;
    check_transposed(hr_conv3d_transpose_layer(3, 2, 2, 3, .strides = {1, 3, 2}), 3, w, false, NULL);
    check_transposed(hr_conv3d_transpose_layer(3, 2, 2, 3, .strides = {1, 3, 2}, .padding = HR_SAME), 3, w, true, NULL);
    check_transposed(hr_conv3d_transpose_layer(3, 2, 2, 3, .strides = {1, 3, 2}, .output_padding = HR_I64(0, 1, 1)), 3,
                     w, false, HR_I64(1, 0, 2));
}

/* A depthwise kernel [window..., c, m] is that of c groups, [window..., 1, c m]. */
static void check_depthwise(hr_layer *layer, int dims, windows w, bool causal, int64_t filters)
{
    static float x[MOST], y[MOST], z[MOST];
    hr_tensor got, weights[3];
    const int count = filters ? 3 : 2;
    const hr_tensor in = input_of(shape_of(dims, w.n, w.in, w.channels), x);
    hr_model *m = model_of(layer, &in, &got);
    hr_tensor_clear(&got);
    weights_of(m, weights, count);
    assert_int_equal(hr_predict_on_batch(m, &in, NULL, 1, &got), HR_OK);
    windows_place(&w, false, causal);
    convolve(&w, x, weights[0].data, filters ? NULL : weights[1].data, y);
    windows across = {.n = w.n,
                      .in = {w.out[0], w.out[1], w.out[2]},
                      .size = {1, 1, 1},
                      .stride = {1, 1, 1},
                      .dilation = {1, 1, 1},
                      .channels = w.filters,
                      .filters = filters,
                      .groups = 1};
    windows_place(&across, false, false);
    if (filters) convolve(&across, y, weights[1].data, weights[2].data, z);
    assert_close(&got, shape_of(dims, w.n, w.out, filters ? filters : w.filters), filters ? z : y);
    hr_tensor_clear(&got);
    for (int i = 0; i < count; i++) hr_tensor_clear(&weights[i]);
    hr_model_free(m);
}

static void depthwise_convolutions_keep_channels_apart(void **state)
{
    (void)state;
    windows w = {.n = 2,
                 .in = {1, 1, 7},
                 .size = {1, 1, 3},
                 .stride = {1, 1, 1},
                 .dilation = {1, 1, 1},
                 .channels = 3,
                 .filters = 6,
                 .groups = 3};
    check_depthwise(hr_depthwise_conv1d_layer(3, .depth_multiplier = 2), 1, w, false, 0);
    check_depthwise(hr_separable_conv1d_layer(4, 3, .depth_multiplier = 2, .causal = true), 1, w, true, 4);
    w.in[1] = 5;
    w.size[1] = 2;
    w.stride[1] = w.stride[2] = 2;
    check_depthwise(hr_depthwise_conv2d_layer(2, 3, .depth_multiplier = 2, .strides = {2}), 2, w, false, 0);
    check_depthwise(hr_separable_conv2d_layer(4, 2, 3, .depth_multiplier = 2, .strides = {2}), 2, w, false, 4);
}

/* ---- pools ---- */

static void check_pool(hr_layer *layer, int dims, windows w, bool same, bool mean)
{
    static float x[MOST], y[MOST];
    hr_tensor got;
    const hr_tensor in = input_of(shape_of(dims, w.n, w.in, w.channels), x);
    hr_model *m = model_of(layer, &in, &got);
    windows_place(&w, same, false);
    const int64_t all = product(w.in), out = product(w.out), size = product(w.size);
    for (int64_t i = 0; i < w.n * out * w.channels; i++) {
        const int64_t o = i / w.channels % out, n = i / w.channels / out;
        int count = 0;
        y[i] = mean ? 0 : -1000;
        for (int64_t f = 0; f < size; f++) {
            const int64_t at = windows_at(&w, o, f);
            if (at < 0) continue;
            const float value = x[(n * all + at) * w.channels + i % w.channels];
            y[i] = mean ? y[i] + value : fmaxf(y[i], value);
            count++;
        }
        if (mean) y[i] /= (float)count;
    }
    assert_close(&got, shape_of(dims, w.n, w.out, w.channels), y);
    hr_tensor_clear(&got);
    hr_model_free(m);
}

static void pools_take_the_greatest_or_the_mean_of_windows(void **state)
{
    (void)state;
    windows w = {.n = 2, .in = {1, 1, 7}, .size = {1, 1, 2}, .stride = {1, 1, 2}, .dilation = {1, 1, 1}, .channels = 3};
    check_pool(hr_max_pooling1d_layer(2), 1, w, false, false);
    w.stride[2] = 1;
    check_pool(hr_average_pooling1d_layer(2, .strides = {1}, .padding = HR_SAME), 1, w, true, true);
    w.in[1] = 5;
    w.size[1] = w.stride[1] = w.stride[2] = 3;
    w.size[2] = 2;
    check_pool(hr_max_pooling2d_layer(3, 2, .strides = {3}, .padding = HR_SAME), 2, w, true, false);
    check_pool(hr_average_pooling2d_layer(3, 2, .strides = {3}), 2, w, false, true);
    w.in[0] = 4;
    w.size[0] = w.stride[0] = 2;
    w.stride[2] = 2;
    check_pool(hr_max_pooling3d_layer(2, 3, 2), 3, w, false, false);
    check_pool(hr_average_pooling3d_layer(2, 3, 2, .padding = HR_SAME), 3, w, true, true);
}

static void global_pools_take_all_there_is(void **state)
{
    (void)state;
    static float x[MOST];
    hr_layer *const layers[] = {hr_global_max_pooling1d_layer(), hr_global_average_pooling1d_layer(),
                                hr_global_max_pooling2d_layer(), hr_global_average_pooling2d_layer(),
                                hr_global_max_pooling3d_layer(), hr_global_average_pooling3d_layer(.keepdims = true)};
    for (int i = 0; i < 6; i++) {
        const int dims = i / 2 + 1;
        const int64_t lengths[] = {2, 3, 4}, count = dims == 1 ? 4 : dims == 2 ? 12 : 24;
        const hr_tensor in = input_of(shape_of(dims, 2, lengths, 2), x);
        float y[4];
        hr_tensor got;
        hr_model *m = model_of(layers[i], &in, &got);
        for (int k = 0; k < 4; k++) {
            y[k] = i % 2 ? 0 : -1000;
            for (int64_t p = 0; p < count; p++) {
                const float value = x[(k / 2 * count + p) * 2 + k % 2];
                y[k] = i % 2 ? y[k] + value / (float)count : fmaxf(y[k], value);
            }
        }
        assert_close(&got, i == 5 ? HR_SHAPE(2, 1, 1, 1, 2) : HR_SHAPE(2, 2), y);
        hr_tensor_clear(&got);
        hr_model_free(m);
    }
}

/* A layer that masks steps of 0. */
static hr_node masked_call(hr_layer_call *c, void *config)
{
    (void)config;
    const hr_node zero = hr_scalar_like(c->input[0], 0);
    c->output_mask[0] = hr_reduce_any(hr_not_equal(c->input[0], zero), .axes = HR_I64(2), .axis_count = 1);
    return hr_add(c->input[0], hr_scalar_like(c->input[0], 1));
}
static const hr_layer_kind masked_kind = {.head = HR_LAYER_HEAD, .name = "Masked", .call = masked_call};

static void masked_steps_have_no_part_in_a_mean(void **state)
{
    (void)state;
    static const float x[] = {1, 2, 0, 0, 3, 6, 0, 0, 0, 0, 0, 0};
    static const float y[] = {3, 5, 0, 0};
    const hr_tensor in = hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 3, 2), x);
    hr_tensor got;
    hr_model *m = hr_sequential(HR_LAYERS(hr_layer_new(&masked_kind, NULL, NULL), hr_global_average_pooling1d_layer()),
                                .input_shape = HR_SHAPE(3, 2));
    assert_int_equal(hr_predict_on_batch(m, &in, NULL, 1, &got), HR_OK);
    assert_close(&got, HR_SHAPE(2, 2), y);
    hr_tensor_clear(&got);
    hr_model_free(m);
}

/* ---- edges and sizes ---- */

static void check_values(hr_layer *layer, hr_shape in, const float *x, hr_shape out, const float *y)
{
    const hr_tensor tensor = hr_tensor_of(HR_FLOAT, in, x);
    hr_tensor got;
    hr_model *m = model_of(layer, &tensor, &got);
    assert_close(&got, out, y);
    hr_tensor_clear(&got);
    hr_model_free(m);
}

static void edges_are_added_and_cut_off(void **state)
{
    (void)state;
    static const float x[] = {1, 2, 3, 4, 5, 6, 7, 8};
    check_values(hr_zero_padding1d_layer(1, 2), HR_SHAPE(1, 2, 2), x, HR_SHAPE(1, 5, 2),
                 (float[]){0, 0, 1, 2, 3, 4, 0, 0, 0, 0});
    check_values(hr_zero_padding2d_layer(1, 0, 0, 1), HR_SHAPE(1, 2, 2, 1), x, HR_SHAPE(1, 3, 3, 1),
                 (float[]){0, 0, 0, 1, 2, 0, 3, 4, 0});
    check_values(hr_zero_padding3d_layer(0, 1, 0, 0, 1, 0), HR_SHAPE(1, 1, 2, 2, 1), x, HR_SHAPE(1, 2, 2, 3, 1),
                 (float[]){0, 1, 2, 0, 3, 4, 0, 0, 0, 0, 0, 0});
    check_values(hr_cropping1d_layer(2, 1), HR_SHAPE(1, 4, 2), x, HR_SHAPE(1, 1, 2), (float[]){5, 6});
    check_values(hr_cropping2d_layer(1, 0, 0, 3), HR_SHAPE(1, 2, 4, 1), x, HR_SHAPE(1, 1, 1, 1), (float[]){5});
    check_values(hr_cropping3d_layer(0, 1, 1, 0, 0, 0), HR_SHAPE(1, 2, 2, 2, 1), x, HR_SHAPE(1, 1, 1, 2, 1),
                 (float[]){3, 4});
}

static void values_are_repeated_or_made_between(void **state)
{
    (void)state;
    static const float x[] = {1, 2, 3, 4};
    check_values(hr_up_sampling1d_layer(2), HR_SHAPE(1, 2, 2), x, HR_SHAPE(1, 4, 2), (float[]){1, 2, 1, 2, 3, 4, 3, 4});
    check_values(hr_up_sampling2d_layer(1, 2), HR_SHAPE(1, 2, 2, 1), x, HR_SHAPE(1, 2, 4, 1),
                 (float[]){1, 1, 2, 2, 3, 3, 4, 4});
    check_values(hr_up_sampling3d_layer(2, 1, 1), HR_SHAPE(1, 1, 2, 2, 1), x, HR_SHAPE(1, 2, 2, 2, 1),
                 (float[]){1, 2, 3, 4, 1, 2, 3, 4});
    /* Centers of new pixels lie at a quarter and three quarters of old ones. */
    check_values(hr_up_sampling2d_layer(1, 2, .bilinear = true), HR_SHAPE(1, 2, 2, 1), x, HR_SHAPE(1, 2, 4, 1),
                 (float[]){1, 1.25f, 1.75f, 2, 3, 3.25f, 3.75f, 4});
}

static void lengths_that_vary_are_known_in_a_run(void **state)
{
    (void)state;
    static const float x[] = {1, 2, 3, 4, 5, 6};
    const hr_tensor in = hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 3, 2), x);
    hr_tensor got;
    hr_model *m = hr_sequential(HR_LAYERS(hr_up_sampling1d_layer(2), hr_cropping1d_layer(3, 1),
                                          hr_conv1d_transpose_layer(1, 2, .strides = {2}),
                                          hr_global_max_pooling1d_layer(.keepdims = true)),
                                .input_shape = HR_SHAPE(-1, 2));
    if (hr_model_error(m)) fail_msg("%s", hr_model_error(m)->text);
    const float kernel[] = {1, 0, 0, 2}, bias = 1;
    const hr_tensor weights[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 1, 2), kernel),
                                 hr_tensor_of(HR_FLOAT, HR_SHAPE(1), &bias)};
    assert_int_equal(hr_set_weights(m, weights, 2, NULL), HR_OK);
    assert_int_equal(hr_predict_on_batch(m, &in, NULL, 1, &got), HR_OK);
    assert_close(&got, HR_SHAPE(1, 1, 1), (float[]){13}); /* steps 3 4 and 5 6 are left */
    hr_tensor_clear(&got);
    hr_model_free(m);
}

/* ---- weights and mistakes ---- */

static void weights_have_keras_names_costs_and_limits(void **state)
{
    (void)state;
    hr_model *m = hr_sequential(
        HR_LAYERS(hr_separable_conv2d_layer(2, 1, 1, .name = "c", .kernel_initializer = hr_ones(),
                                            .pointwise_initializer = hr_constant_value(2),
                                            .kernel_regularizer = hr_l1(1), .pointwise_regularizer = hr_l2(1),
                                            .kernel_constraint = hr_unit_norm(2), .pointwise_constraint = hr_non_neg()),
                  hr_global_average_pooling2d_layer()),
        .input_shape = HR_SHAPE(2, 2, 2));
    const char *const names[] = {"c/depthwise_kernel", "c/pointwise_kernel", "c/bias"};
    assert_int_equal(hr_model_weights(m), 3);
    for (int i = 0; i < 3; i++) assert_string_equal(hr_model_weight(m, i).name, names[i]);
    assert_int_equal(hr_compile(m, .optimizer = hr_sgd(100), .loss = "mse"), HR_OK);
    static const float x[8] = {1, 1, 1, 1, 1, 1, 1, 1}, y[] = {0, 0};
    const hr_tensor both[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 2, 2, 2), x),
                              hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 2), y)};
    const hr_logs *logs = hr_train_on_batch(m, both, NULL, 2);
    assert_non_null(logs);
    assert_true(fabs(hr_logs_get(logs, "loss") - (16 + 2 + 4 * 4)) < 1e-4);
    hr_tensor each, across;
    assert_int_equal(hr_get_weight(m, 0, &each, NULL), HR_OK);
    assert_int_equal(hr_get_weight(m, 1, &across, NULL), HR_OK);
    const float *w = each.data;
    assert_true(fabsf(w[0] * w[0] + w[1] * w[1] - 1) < 1e-4f);
    for (int i = 0; i < 4; i++) assert_true(((const float *)across.data)[i] == 0);
    hr_tensor_clear(&each);
    hr_tensor_clear(&across);
    hr_model_free(m);
}

/* The model has the error already when it is made. */
static void check_refused(hr_layer *layer, hr_shape row, const char *kind, const char *words)
{
    hr_model *m = hr_sequential(HR_LAYERS(layer), .input_shape = row);
    const hr_error *err = hr_model_error(m);
    assert_non_null(err);
    assert_string_equal(err->kind, kind);
    if (!strstr(err->text, words)) fail_msg("expected \"%s\" in: %s", words, err->text);
    hr_model_free(m);
}

static void mistakes_are_told_when_the_model_is_made(void **state)
{
    (void)state;
    check_refused(hr_conv1d_layer(2, 5), HR_SHAPE(4, 2), "models.shape", "a size of 5 with a dilation_rate of 1");
    check_refused(hr_conv2d_layer(2, 2, 3, .dilation_rate = {1, 2}), HR_SHAPE(4, 4, 2), "models.shape", "[?,4,4,2]");
    check_refused(hr_conv1d_layer(2, 2, .groups = 2), HR_SHAPE(4, 3), "models.shape", "groups, 2, got 3");
    check_refused(hr_conv2d_layer(3, 2, 2, .groups = 2), HR_SHAPE(4, 4, 2), "models.argument", "groups, 2, got 3");
    check_refused(hr_conv2d_layer(0, 2, 2), HR_SHAPE(4, 4, 2), "models.argument", "filters");
    check_refused(hr_conv2d_layer(1, 0, 2), HR_SHAPE(4, 4, 2), "models.argument", "kernel size");
    check_refused(hr_conv2d_layer(1, 2, 2, .strides = {-1}), HR_SHAPE(4, 4, 2), "models.argument", "strides");
    check_refused(hr_conv2d_layer(1, 2, 2, .causal = true), HR_SHAPE(4, 4, 2), "models.argument", "causal");
    check_refused(hr_conv2d_layer(1, 2, 2, .depth_multiplier = 2), HR_SHAPE(4, 4, 2), "models.argument", "multiplier");
    check_refused(hr_conv2d_layer(1, 2, 2, .padding = HR_EXPLICIT), HR_SHAPE(4, 4, 2), "models.argument", "HR_SAME");
    check_refused(hr_conv2d_layer(1, 2, 2, .activation = "rely"), HR_SHAPE(4, 4, 2), "models.activation", "rely");
    check_refused(hr_conv2d_layer(1, 2, 2), HR_SHAPE(4, 4), "models.rank", "rank 4");
    check_refused(hr_conv3d_layer(1, 1, 1, 1), HR_SHAPE(4, 4, 4, -1), "models.shape", "number of channels");
    check_refused(hr_depthwise_conv2d_layer(2, 2, .groups = 2), HR_SHAPE(4, 4, 2), "models.argument", "groups");
    check_refused(hr_conv2d_layer(1, 2, 2, .output_padding = HR_I64(0, 0)), HR_SHAPE(4, 4, 2), "models.argument",
                  "transposed");
    check_refused(hr_conv1d_transpose_layer(1, 2, .strides = {2}, .output_padding = HR_I64(2)), HR_SHAPE(4, 2),
                  "models.argument", "below the stride, got 2");
    check_refused(hr_max_pooling2d_layer(2, 5), HR_SHAPE(4, 4, 2), "models.shape", "a size of 5 for dimension 2");
    check_refused(hr_max_pooling1d_layer(0), HR_SHAPE(4, 2), "models.argument", "pool size");
    check_refused(hr_zero_padding1d_layer(-1, 0), HR_SHAPE(4, 2), "models.argument", "got -1");
    check_refused(hr_cropping2d_layer(0, 0, 2, 2), HR_SHAPE(4, 4, 2), "models.shape", "dimension 2 of [?,4,4,2]");
    check_refused(hr_up_sampling1d_layer(0), HR_SHAPE(4, 2), "models.argument", "size");
    check_refused(hr_up_sampling2d_layer(2, 2, .bilinear = true), HR_SHAPE(-1, 4, 2), "models.shape", "known height");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_sum_what_windows_cover),
        cmocka_unit_test(transposed_convolutions_go_the_way_back),
        cmocka_unit_test(depthwise_convolutions_keep_channels_apart),
        cmocka_unit_test(pools_take_the_greatest_or_the_mean_of_windows),
        cmocka_unit_test(global_pools_take_all_there_is),
        cmocka_unit_test(masked_steps_have_no_part_in_a_mean),
        cmocka_unit_test(edges_are_added_and_cut_off),
        cmocka_unit_test(values_are_repeated_or_made_between),
        cmocka_unit_test(lengths_that_vary_are_known_in_a_run),
        cmocka_unit_test(weights_have_keras_names_costs_and_limits),
        cmocka_unit_test(mistakes_are_told_when_the_model_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
