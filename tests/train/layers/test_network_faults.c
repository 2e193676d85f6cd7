/* Layers of neural networks refuse what does not fit. */
#include "tests/testing.h"

#include <headrace/layers.h>
#include <string.h>

static hr_node bad_depth(hr_node x)
{
    return hr_conv2d(hr_placeholder(x.graph, HR_FLOAT, HR_SHAPE(1, 4, 4, -1)), 2, 2, 2);
}
static hr_node bad_rank(hr_node x) { return hr_conv1d(x, 2, 2); }
static hr_node bad_filters(hr_node x) { return hr_conv2d(x, 0, 2, 2); }
static hr_node bad_window(hr_node x) { return hr_separable_conv2d(x, 2, 0, 2); }
static hr_node bad_groups(hr_node x) { return hr_conv2d(x, 4, 2, 2, .groups = 4); }
static hr_node bad_shares(hr_node x) { return hr_conv2d(x, 4, 2, 2, .groups = 3); }
static hr_node bad_groups_back(hr_node x) { return hr_conv2d_transpose(x, 6, 2, 2, .groups = 2); }
static hr_node bad_multiplier(hr_node x) { return hr_depthwise_conv2d(x, 2, 2, .depth_multiplier = INT64_MAX); }
static hr_node bad_strides(hr_node x) { return hr_conv2d_transpose(x, 2, 2, 2, .strides = {INT64_MAX, -3}); }
static hr_node bad_dilations(hr_node x) { return hr_conv2d_transpose(x, 2, 2, 2, .dilations = {INT64_MAX}); }
static hr_node bad_paddings(hr_node x)
{
    return hr_conv2d_transpose(x, 2, 2, 2, .padding = HR_EXPLICIT, .paddings = HR_I64(INT64_MIN, INT64_MAX, 0, 0));
}
static hr_node no_paddings(hr_node x) { return hr_conv2d_transpose(x, 2, 2, 2, .padding = HR_EXPLICIT); }
static hr_node bad_output(hr_node x)
{
    return hr_conv2d_transpose(x, 2, 2, 2, .strides = {2}, .output_padding = HR_I64(0, 2));
}
static hr_node volume(hr_node x) { return hr_expand_dims(x, hr_scalar(x.graph, HR_INT32, 1)); }
static hr_node bad_volume(hr_node x) { return hr_conv3d(x, 2, 1, 2, 2); }
static hr_node bad_volume_groups(hr_node x) { return hr_conv3d(volume(x), 4, 1, 2, 2, .groups = 4); }
static hr_node bad_volume_strides(hr_node x)
{
    return hr_conv3d_transpose(volume(x), 2, 1, 2, 2, .strides = {INT64_MAX, INT64_MIN});
}
static hr_node bad_volume_dilations(hr_node x)
{
    return hr_conv3d_transpose(volume(x), 2, 1, 2, 2, .dilations = {1, INT64_MAX, INT64_MIN});
}
static hr_node bad_volume_output(hr_node x)
{
    return hr_conv3d_transpose(volume(x), 2, 1, 2, 2, .output_padding = HR_I64(0, 0, 1));
}
static hr_node bad_group(hr_node x) { return hr_group_normalization(x, 4); }
static hr_node bad_group_axis(hr_node x) { return hr_group_normalization(x, 2, .axis = &(int){0}); }
static hr_node bad_axis(hr_node x) { return hr_batch_normalization(x, .axis = &(int){4}); }
static hr_node bad_channels(hr_node x)
{
    return hr_batch_normalization(hr_placeholder(x.graph, HR_FLOAT, HR_SHAPE(2, -1)));
}
static hr_node bad_begin(hr_node x) { return hr_layer_normalization(x, .begin_norm_axis = &(int){-5}); }
static hr_node bad_row(hr_node x) { return hr_layer_normalization(hr_placeholder(x.graph, HR_FLOAT, HR_SHAPE(2, -1))); }
static hr_node bad_table(hr_node x) { return hr_embedding(hr_cast_to(x, HR_INT32), 0, 3); }
static hr_node bad_scalar(hr_node x) { return hr_flatten(hr_reduce_sum(x)); }
static hr_node bad_image(hr_node x) { return hr_global_avg_pool(hr_flatten(x)); }
static hr_node bad_pool(hr_node x) { return hr_max_pool1d(x, 2); }

/* When it is made, or, as TensorFlow does with some attributes, when it runs. */
static void refuse(hr_node y, hr_graph *g, hr_error *err)
{
    hr_tensor out;
    hr_session *s = hr_session_new(g);
    const hr_node init = hr_target(hr_global_variables_initializer(g));
    hr_status st = hr_session_run(s, NULL, 0, &init, 1, NULL, err);
    if (st == HR_OK) st = hr_session_run(s, NULL, 0, &y, 1, &out, err);
    assert_not_ok(st);
    hr_session_free(s);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    static const struct {
        hr_node (*make)(hr_node x);
        const char *text;
    } wrong[] = {
        {bad_depth, "conv2d: expected an input of rank 4 and of known depth"},
        {bad_rank, "conv1d: expected an input of rank 3"},
        {bad_filters, "got [2,4,4,6], 0, 2 x 2, 1, 1"},
        {bad_window, "separable_conv2d: expected"},
        {bad_output, "output_padding from 0 to less than the stride, 2, got 2"},
        {bad_volume, "conv3d: expected an input of rank 5"},
        {bad_volume_groups, "that are multiples of the groups, 4"},
        {bad_volume_strides, "strides"},
        {bad_volume_dilations, "dilations"},
        {bad_volume_output, "less than the stride, got 1, 1, 1"},
        {bad_group, "groups that divide the channels, 6"},
        {bad_group_axis, "group_normalization: expected"},
        {bad_groups, "that are multiples of the groups, 4"},
        {bad_shares, "that are multiples of the groups, 3"},
        {bad_groups_back, "of which this layer has one"},
        {bad_multiplier, "depthwise_conv2d: expected"},
        {bad_strides, "expected strides"},
        {bad_dilations, "expected strides and dilations"},
        {bad_paddings, "paddings"},
        {no_paddings, "expected four .paddings"},
        {bad_axis, "batch_normalization: expected"},
        {bad_channels, "batch_normalization: expected"},
        {bad_begin, "layer_normalization: expected"},
        {bad_row, "layer_normalization: expected"},
        {bad_table, "embedding: expected"},
        {bad_scalar, "flatten: expected"},
        {bad_image, "global_average_pooling: expected"},
        {bad_pool, "rank 4"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        hr_graph *g = hr_graph_new();
        hr_error err;
        const hr_node shape = hr_shape_const(g, HR_SHAPE(2, 4, 4, 6));
        refuse(wrong[i].make(hr_fill(shape, hr_scalar(g, HR_FLOAT, 1))), g, &err);
        if (!strstr(err.text, wrong[i].text)) fail_msg("%zu: expected '%s', got '%s'", i, wrong[i].text, err.text);
        hr_graph_free(g);
    }
}

static void no_node_gives_no_node(void **state)
{
    (void)state;
    const hr_node none = {0};
    const hr_node all[] = {hr_conv1d(none, 1, 1),
                           hr_conv2d(none, 1, 1, 1),
                           hr_conv2d_transpose(none, 1, 1, 1),
                           hr_depthwise_conv2d(none, 1, 1),
                           hr_separable_conv1d(none, 1, 1),
                           hr_separable_conv2d(none, 1, 1, 1),
                           hr_batch_normalization(none),
                           hr_layer_normalization(none),
                           hr_embedding(none, 1, 1),
                           hr_flatten(none),
                           hr_global_avg_pool(none),
                           hr_global_max_pool(none),
                           hr_max_pool1d(none, 1),
                           hr_avg_pool1d(none, 1)};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) assert_false(hr_node_exists(all[i]));
}

/* Each allocation fails once: then the graph has an error, or what failed was not needed. */
static void a_net_without_memory_has_an_error(void **state)
{
    (void)state;
    bool whole = false;
    for (int64_t n = 0; !whole; n++) {
        fail_allocation(n);
        hr_graph *g = hr_graph_new();
        hr_node y = {0};
        if (g) {
            const hr_node training = hr_placeholder(g, HR_BOOL, HR_SCALAR);
            y = hr_conv2d_transpose(hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, -1, 3, 2)), 2, 2, 2,
                                    .kernel_regularizer = hr_l2(1));
            y = hr_batch_normalization(y, .is_training = training);
            y = hr_dropout(hr_layer_normalization(hr_flatten(hr_max_pool(y, 2, 2)), .begin_norm_axis = &(int){1},
                                                  .no_center = true, .no_scale = true),
                           0.5f, .is_training = training);
        }
        whole = allocations_since() <= n;
        if (g) assert_true(hr_node_exists(y) || hr_graph_error(g));
        if (whole) assert_true(hr_node_exists(y));
        hr_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(no_node_gives_no_node),
        cmocka_unit_test(a_net_without_memory_has_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
