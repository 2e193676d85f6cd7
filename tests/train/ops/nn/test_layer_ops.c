/* The constructors of nn.h. Values and gradients are compared by their sums, each value times a weight of its own; the
 * expected ones are those of TensorFlow 2.15.1 (where it has no gradients of dilated filters: with zeros in the filter). */
#include "tests/testing.h"

#include <headrace/nn.h>
#include <math.h>

static float *formula(int64_t count, int modulus, int step, int from, float scale)
{
    float *values = hr_calloc((size_t)count, sizeof *values);
    for (int64_t i = 0; i < count; i++) values[i] = (float)((i * step + from) % modulus - modulus / 2) * scale;
    return values;
}

static int64_t count_of(hr_shape shape)
{
    int64_t count = 1;
    for (int i = 0; i < shape.rank; i++) count *= shape.dims[i];
    return count;
}

static hr_node constant(hr_graph *g, hr_shape shape, int modulus, int step, int from, float scale)
{
    float *values = formula(count_of(shape), modulus, step, from, scale);
    const hr_tensor t = hr_tensor_of(HR_FLOAT, shape, values);
    const hr_node node = hr_const(g, &t);
    hr_free(values);
    return node;
}

static hr_node weights_of(hr_graph *g, hr_shape shape) { return constant(g, shape, 13, 5, 0, 1); }

/* ---- cases ---- */

static hr_node same(hr_node x, hr_node w) { return hr_convolution(x, w, .strides = {2}, .padding = HR_SAME); }
static hr_node dilated(hr_node x, hr_node w)
{
    return hr_convolution(x, w, .padding = HR_EXPLICIT, .paddings = HR_I64(1, 2, 0, 3), .dilations = {2, 1});
}
static hr_node groups(hr_node x, hr_node w) { return hr_convolution(x, w, .strides = {1, 2}); }
static hr_node groups_first(hr_node x, hr_node w)
{
    return hr_convolution(x, w, .strides = {2, 1}, .padding = HR_SAME, .channels_first = true);
}
static hr_node depthwise(hr_node x, hr_node w)
{
    return hr_depthwise_convolution(x, w, .strides = {2}, .padding = HR_SAME);
}
static hr_node transpose(hr_node x, hr_node w)
{
    return hr_transposed_convolution(x, w, hr_shape_const(x.graph, HR_SHAPE(2, 5, 6, 3)), .strides = {2},
                                     .padding = HR_SAME);
}
static hr_node greatest(hr_node x, hr_node w)
{
    return hr_mul(hr_max_pool(x, 3, 2, .strides = {2}, .padding = HR_SAME), w);
}
static hr_node greatest_padded(hr_node x, hr_node w)
{
    return hr_mul(hr_max_pool(x, 3, 2, .strides = {2, 1}, .padding = HR_EXPLICIT, .paddings = HR_I64(1, 1, 0, 1)), w);
}
static hr_node average(hr_node x, hr_node w) { return hr_mul(hr_avg_pool(x, 3, 2, .padding = HR_SAME), w); }
static hr_node volume(hr_node x, hr_node w) { return hr_convolution3d(x, w, .strides = {1, 2, 2}, .padding = HR_SAME); }
static hr_node volume_valid(hr_node x, hr_node w) { return hr_convolution3d(x, w, .strides = {2, 1, 1}); }
static hr_node volume_transposed(hr_node x, hr_node w)
{
    return hr_transposed_convolution3d(x, w, hr_shape_const(x.graph, HR_SHAPE(2, 3, 5, 4, 3)), .strides = {2},
                                       .padding = HR_SAME);
}
static hr_node volume_greatest(hr_node x, hr_node w)
{
    return hr_mul(hr_max_pool3d(x, 2, 3, 2, .strides = {1, 2, 2}, .padding = HR_SAME), w);
}
static hr_node volume_average(hr_node x, hr_node w)
{
    return hr_mul(hr_avg_pool3d(x, 2, 3, 2, .strides = {1, 2, 2}, .padding = HR_SAME), w);
}
static hr_node plus_1(hr_node w) { return hr_add(w, hr_scalar_like(w, 1)); }
static hr_node half(hr_node w) { return hr_mul(w, hr_scalar_like(w, 0.5)); }
static hr_node positive(hr_node w) { return hr_add(hr_square(w), hr_scalar_like(w, 0.5)); }
static hr_node fused(hr_node x, hr_node w) { return hr_fused_batch_norm(x, w, plus_1(w), .epsilon = 1e-5f); }
static hr_node fused_mean(hr_node x, hr_node w)
{
    return hr_mul(hr_node_output(hr_fused_batch_norm(x, w, plus_1(w)), 1), w);
}
static hr_node fused_variance(hr_node x, hr_node w)
{
    return hr_mul(hr_node_output(hr_fused_batch_norm(x, w, plus_1(w)), 2), w);
}
static hr_node fused_inference(hr_node x, hr_node w)
{
    return hr_fused_batch_norm(x, w, plus_1(w), .mean = half(w), .variance = positive(w), .inference = true,
                               .epsilon = .01f);
}
static hr_node normalized(hr_node x, hr_node w)
{
    return hr_batch_normalize(x, half(w), positive(w), plus_1(w), w, .01);
}
static hr_node normalized_alone(hr_node x, hr_node w)
{
    return hr_batch_normalize(x, half(w), positive(w), (hr_node){0}, (hr_node){0}, .01);
}
static hr_node mean(hr_node x, hr_node w)
{
    return hr_mul(hr_moments(x, .axes = HR_I64(0, 2), .axis_count = 2).mean, w);
}
static hr_node variance(hr_node x, hr_node w)
{
    return hr_mul(hr_moments(x, .axes = HR_I64(0, -1), .axis_count = 2, .keep_dims = true).variance, w);
}
static hr_node unit(hr_node x, hr_node w) { return hr_mul(hr_l2_normalize(x, -1, 1e-12), w); }
static hr_node l2(hr_node x, hr_node w) { return hr_mul(hr_l2_loss(x), w); }
static hr_node local(hr_node x, hr_node w) { return hr_mul(hr_local_response_normalization(x), w); }
static hr_node local_other(hr_node x, hr_node w)
{
    return hr_mul(hr_local_response_normalization(x, .depth_radius = HR_I64(1), .bias = HR_F32(2), .alpha = HR_F32(.5f),
                                                  .beta = HR_F32(.75f)),
                  w);
}

static hr_node biased(hr_node x, hr_node w) { return hr_bias_add_channels_first(x, w); }

#define S(...)                                                                                                         \
    {                                                                                                                  \
        .rank = sizeof((int[]){__VA_ARGS__}) / sizeof(int), .dims = { __VA_ARGS__ }                                    \
    }
static const struct layer_case {
    const char *name;
    hr_node (*make)(hr_node x, hr_node w);
    hr_shape x, w, y;
    double sum, by_x, by_w;
} cases[] = {
    {"same", same, S(2, 5, 6, 3), S(3, 2, 3, 4), S(2, 3, 3, 4), -29.4375, -211.25, -147},
    {"dilated", dilated, S(2, 5, 6, 3), S(3, 2, 3, 4), S(2, 4, 8, 4), 31.75, -1092.5, -30.5},
    {"groups", groups, S(2, 5, 6, 6), S(3, 2, 2, 6), S(2, 3, 3, 6), 55.375, 347.75, 141.75},
    {"groups_first", groups_first, S(2, 6, 5, 6), S(3, 2, 3, 4), S(2, 4, 3, 6), -53.9375, -424.5, -577},
    {"depthwise", depthwise, S(2, 5, 6, 3), S(3, 2, 3, 2), S(2, 3, 3, 6), -128.6875, 101.5, 113.5},
    {"transpose", transpose, S(2, 3, 3, 4), S(3, 2, 3, 4), S(2, 5, 6, 3), -23.125, -211.25, 0.5},
    {"greatest", greatest, S(2, 5, 6, 3), S(1), S(2, 3, 3, 3), 12.125, -31, 145.5},
    {"greatest_padded", greatest_padded, S(2, 5, 6, 3), S(1), S(2, 3, 6, 3), -3.375, -212, -40.5},
    {"average", average, S(2, 5, 6, 3), S(1), S(2, 2, 3, 3), 6.88541667, -1.5, 82.625},
    {"volume", volume, S(2, 3, 5, 4, 3), S(2, 3, 2, 3, 4), S(2, 3, 3, 2, 4), -48.375, 184.25, 991},
    {"volume_valid", volume_valid, S(2, 3, 5, 4, 3), S(2, 3, 2, 3, 4), S(2, 1, 3, 3, 4), -37.5, 168.5, -288.5},
    {"volume_transposed", volume_transposed, S(2, 2, 3, 2, 4), S(2, 3, 2, 3, 4), S(2, 3, 5, 4, 3), -361.4375, 110,
     -445.75},
    {"volume_greatest", volume_greatest, S(2, 3, 5, 4, 3), S(1), S(2, 3, 3, 2, 3), 1.375, -4, 16.5},
    {"volume_average", volume_average, S(2, 3, 5, 4, 3), S(1), S(2, 3, 3, 2, 3), -3.67708331, 0.375, -44.125},
    {"fused", fused, S(2, 3, 2, 3), S(3), S(2, 3, 2, 3), 27.3185938, 192.436975, 23.8683462},
    {"fused_mean", fused_mean, S(2, 3, 2, 3), S(3), S(3), -0.40625, 0, -4.375},
    {"fused_variance", fused_variance, S(2, 3, 2, 3), S(3), S(3), 2.10416675, 0, 38.1666673},
    {"fused_inference", fused_inference, S(2, 3, 2, 3), S(3), S(2, 3, 2, 3), 15.12871, 118.980647, 41.602294},
    {"normalized", normalized, S(2, 3, 2, 3), S(3), S(2, 3, 2, 3), 15.1287096, 118.980647, 56.2401364},
    {"normalized_alone", normalized_alone, S(2, 3, 2, 3), S(3), S(2, 3, 2, 3), 17.0468259, 535.513553, -19.2301135},
    {"mean", mean, S(2, 3, 2, 3), S(1), S(3, 3), 1.6875, -2.625, 20.25},
    {"variance", variance, S(2, 3, 2, 3), S(1), S(1, 3, 2, 1), -0.133680403, 9.60416675, -1.60416555},
    {"unit", unit, S(4, 5), S(1), S(4, 5), -3.16806102, -73.2985033, -38.0167313},
    {"l2", l2, S(4, 5), S(1), S(1), 19.6875, 33, 236.25},
    {"local", local, S(2, 2, 2, 6), S(1), S(2, 2, 2, 6), 0.402584452, -127.340737, 4.83101177},
    {"local_other", local_other, S(2, 2, 2, 6), S(1), S(2, 2, 2, 6), 1.00482044, -124.817895, 12.0578413},
    {"bias", biased, S(2, 3, 2, 2), S(3), S(2, 3, 2, 2), 32.25, 351, 39},
};

static hr_node score(hr_node y) { return hr_reduce_sum(hr_mul(y, weights_of(y.graph, hr_node_shape(y)))); }

static void values_and_gradients_are_those_of_tensorflow(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct layer_case *c = &cases[i];
        hr_graph *g = hr_graph_new();
        const hr_node in[] = {constant(g, c->x, 11, 7, 0, .25f), constant(g, c->w, 11, 7, 3, .25f)};
        const hr_node y = c->make(in[0], in[1]);
        if (hr_graph_error(g)) fail_msg("%s: %s", c->name, hr_graph_error(g)->text);
        if (!hr_shape_equal(hr_node_shape(y), c->y)) fail_msg("%s: another shape", c->name);
        const hr_node sum = score(y);
        hr_gradient by[2];
        hr_gradients(&sum, 1, in, 2, by, .zero_unconnected = true);
        const hr_node sums[] = {sum, score(by[0].values), score(by[1].values)};
        const double expected[] = {c->sum, c->by_x, c->by_w};
        hr_session *s = hr_session_new(g);
        hr_tensor out[3];
        hr_error err;
        assert_ok(hr_session_run(s, NULL, 0, sums, 3, out, &err), &err);
        for (int j = 0; j < 3; j++) {
            const double got = (double)*(const float *)out[j].data;
            if (fabs(got - expected[j]) > 1e-5 * (1 + fabs(expected[j])) * 2)
                fail_msg("%s, sum %d: expected %.9g, got %.9g", c->name, j, expected[j], got);
            hr_tensor_clear(&out[j]);
        }
        hr_session_free(s);
        hr_graph_free(g);
    }
}

static void targets_are_among_the_k_greatest_or_not(void **state)
{
    (void)state;
    static const int64_t targets[] = {1, 0, 4, 2};
    hr_graph *g = hr_graph_new();
    const hr_tensor t = hr_tensor_of(HR_INT64, HR_SHAPE(4), targets);
    const hr_node in = hr_in_top_k(constant(g, HR_SHAPE(4, 5), 11, 7, 0, .25f), hr_const(g, &t), 2);
    hr_session *s = hr_session_new(g);
    hr_tensor out;
    hr_error err;
    assert_ok(hr_session_run(s, NULL, 0, &in, 1, &out, &err), &err);
    assert_memory_equal(out.data, ((const bool[]){true, false, true, true}), 4);
    hr_tensor_clear(&out);
    hr_session_free(s);
    hr_graph_free(g);
}

/* ---- what does not fit ---- */

static hr_node uneven(hr_node x, hr_node w) { return hr_convolution(x, w); }
static hr_node no_paddings(hr_node x, hr_node w) { return hr_convolution(x, w, .padding = HR_EXPLICIT); }
static hr_node unknown_padding(hr_node x, hr_node w) { return hr_convolution(x, w, .padding = (hr_padding)7); }
static hr_node back(hr_node x, hr_node w) { return hr_convolution(x, w, .strides = {-1}); }
static hr_node dilated_pool(hr_node x, hr_node w) { return hr_add(hr_max_pool(x, 2, 2, .dilations = {2}), w); }
static hr_node padded_mean(hr_node x, hr_node w)
{
    return hr_add(hr_avg_pool(x, 2, 2, .padding = HR_EXPLICIT, .paddings = HR_I64(0, 0, 0, 0)), w);
}
static hr_node no_window(hr_node x, hr_node w) { return hr_add(hr_max_pool(x, 0, 2, .strides = {1}), w); }
static hr_node no_mean(hr_node x, hr_node w) { return hr_fused_batch_norm(x, w, w, .inference = true); }

static hr_node five(hr_node x) { return hr_expand_dims(x, hr_scalar(x.graph, HR_INT32, 0)); }
static hr_node thin_volume(hr_node x, hr_node w) { return hr_convolution3d(five(x), w); }
static hr_node flat_volume(hr_node x, hr_node w) { return hr_convolution3d(x, w); }
static hr_node explicit_volume(hr_node x, hr_node w) { return hr_convolution3d(five(x), w, .padding = HR_EXPLICIT); }
static hr_node back_volume(hr_node x, hr_node w) { return hr_convolution3d(five(x), w, .strides = {1, -1}); }
static hr_node dilated_volume(hr_node x, hr_node w)
{
    return hr_add(hr_avg_pool3d(five(x), 1, 1, 1, .dilations = {2}), w);
}
static hr_node no_volume(hr_node x, hr_node w) { return hr_add(hr_max_pool3d(five(x), 0, 1, 1, .strides = {1}), w); }

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    static const struct {
        hr_node (*make)(hr_node x, hr_node w);
        hr_shape w;
        const char *text;
    } wrong[] = {
        {uneven, S(3, 2, 4, 6), "expected an input whose depth, 6, is a multiple of the filter's, 4"},
        {uneven, S(3, 2, 2, 4), "a multiple of the number of groups, 3, got 4"},
        {uneven, S(3, 2, 0, 4), "a multiple of the filter's, 0"},
        {uneven, S(3, 2, 12, 4), "a multiple of the filter's, 12"},
        {uneven, S(7, 2, 6, 4), "expected a window within the input, 5, got 7"},
        {no_paddings, S(3, 2, 6, 4), "expected four .paddings with HR_EXPLICIT, got none"},
        {unknown_padding, S(3, 2, 6, 4), "padding"},
        {back, S(3, 2, 6, 4), "strides"},
        {dilated_pool, S(1), "expected no dilations, which pools lack"},
        {padded_mean, S(1), "explicit_paddings"},
        {no_window, S(1), "ksize"},
        {thin_volume, S(1, 2, 2, 4, 4), "Dimensions must be equal, but are 6 and 4"},
        {thin_volume, S(9, 2, 2, 6, 4), "expected a window within the input, 2, got 9"},
        {flat_volume, S(1, 2, 2, 6, 4), "rank"},
        {explicit_volume, S(1, 2, 2, 6, 4), "padding"},
        {back_volume, S(1, 2, 2, 6, 4), "strides"},
        {dilated_volume, S(1), "expected no dilations, which pools lack"},
        {no_volume, S(1), "ksize"},
        {no_mean, S(6), "expected a .mean and a .variance with .inference"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        hr_graph *g = hr_graph_new();
        const hr_node y =
            wrong[i].make(constant(g, HR_SHAPE(2, 5, 6, 6), 11, 7, 0, 1), hr_placeholder(g, HR_FLOAT, wrong[i].w));
        assert_false(hr_node_exists(y));
        if (!hr_graph_error(g) || !strstr(hr_graph_error(g)->text, wrong[i].text))
            fail_msg("%zu: expected '%s', got '%s'", i, wrong[i].text,
                     hr_graph_error(g) ? hr_graph_error(g)->text : "no error");
        hr_graph_free(g);
    }
    const hr_node none = {0};
    assert_false(hr_node_exists(hr_convolution(none, none)));
    assert_false(hr_node_exists(hr_transposed_convolution(none, none, none)));
    assert_false(hr_node_exists(hr_max_pool(none, 2, 2)));
    assert_false(hr_node_exists(hr_fused_batch_norm(none, none, none)));
    assert_false(hr_node_exists(hr_batch_normalize(none, none, none, none, none, 1)));
    assert_false(hr_node_exists(hr_convolution3d(none, none)));
    assert_false(hr_node_exists(hr_transposed_convolution3d(none, none, none)));
    assert_false(hr_node_exists(hr_max_pool3d(none, 1, 1, 1)));
    assert_false(hr_node_exists(hr_avg_pool3d(none, 1, 1, 1)));
    assert_false(hr_node_exists(hr_moments(none).mean));
    assert_false(hr_node_exists(hr_l2_normalize(none, 0, 0)));
    assert_false(hr_node_exists(hr_local_response_normalization(none)));
    assert_false(hr_node_exists(hr_in_top_k(none, none, 1)));
    assert_false(hr_node_exists(hr_bias_add_channels_first(none, none)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_and_gradients_are_those_of_tensorflow),
        cmocka_unit_test(targets_are_among_the_k_greatest_or_not),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
