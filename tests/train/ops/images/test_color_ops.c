/* Colors of images beside TensorFlow 2.15.1. */
#include "tests/train/ops/node_values.h"

#include <headrace/images.h>

static hr_node colors(void)
{
    return CONSTANT(HR_FLOAT, HR_SHAPE(1, 2, 3, 3), .1, .5, .9, .8, .2, .2, .3, .3, .3, 0, 1, .4, .6, .6, .1, .7, 0,
                    .7);
}

static void colors_change_as_by_tensorflow(void **state)
{
    (void)state;
    const hr_node x = colors();
    EXPECT(hr_rgb_to_hsv(x), 1e-6, 0.583333373, 0.888888836, 0.899999976, 0, 0.75, 0.800000012, 0, 0, 0.300000012,
           0.400000006, 1, 1, 0.166666672, 0.833333313, 0.600000024, 0.833333313, 1, 0.699999988);
    EXPECT(hr_hsv_to_rgb(x), 1e-6, 0.899999976, 0.719999969, 0.449999988, 0.192000017, 0.160000011, 0.200000003, 0.228,
           0.300000012, 0.210000008, 0.400000006, 0, 0, 0.0399999991, 0.0639999881, 0.100000001, 0.699999988,
           0.699999988, 0.699999988);
    EXPECT(hr_adjust_hue(x, .3), 1e-6, 0.899999976, 0.100000001, 0.659999847, 0.319999903, 0.800000012, 0.200000003,
           0.300000012, 0.300000012, 0.300000012, 0.200000286, 0, 1, 0.100000001, 0.600000024, 0.500000119, 0.699999988,
           0.560000122, 0);
    EXPECT(hr_adjust_hue(x, -.45), 1e-6, 0.899999976, 0.740000129, 0.100000001, 0.200000003, 0.619999886, 0.800000012,
           0.300000012, 0.300000012, 0.300000012, 1, 0, 0.299999714, 0.250000089, 0.100000001, 0.600000024, 0,
           0.699999988, 0.210000128);
    EXPECT(hr_adjust_saturation(x, 1.7), 1e-6, 0, 0.449999988, 0.899999976, 0.800000012, 0, 0, 0.300000012, 0.300000012,
           0.300000012, 0, 1, 0.400000095, 0.600000024, 0.600000024, 0, 0.699999988, 0, 0.699999988);
    EXPECT(hr_adjust_contrast(x, 2), 1e-6, -0.216666698, 0.566666663, 1.36666656, 1.1833334, -0.0333333313,
           -0.0333333313, 0.183333337, 0.166666687, 0.166666687, -0.416666687, 1.5666666, 0.366666675, 0.783333361,
           0.76666671, -0.233333349, 0.98333329, -0.433333337, 0.966666639);
}

static void colors_below_zero_change_as_by_tensorflow(void **state)
{
    (void)state;
    const hr_node x = hr_sub(colors(), hr_scalar(g, HR_FLOAT, .5));
    EXPECT(hr_adjust_hue(x, .3), 1e-6, 0.399999976, -0.400000006, 0.159999818, -0.180000126, 0.300000012, -0.300000012,
           -0.199999988, -0.199999988, -0.199999988, -0.299999714, -0.5, 0.5, -0.400000006, 0.100000024, 8.94069672e-08,
           0.199999988, 0.0600001216, -0.5);
    EXPECT(hr_adjust_saturation(x, .5), 1e-6, 0, 0.199999988, 0.399999976, 0.300000012, 0, 0, -0.199999988,
           -0.199999988, -0.199999988, 0, 0.5, 0.200000048, 0.100000024, 0.100000024, 0, 0.199999988, 0, 0.199999988);
    EXPECT(hr_rgb_to_hsv(x), 1e-5, 0.583333373, 2, 0.399999976, 0, 2, 0.300000012, 0, 0, -0.199999988, 0.400000006, 2,
           0.5, 0.166666672, 4.99999905, 0.100000024, 0.833333313, 3.50000024, 0.199999988);
}

static void what_has_no_three_channels_is_refused(void **state)
{
    (void)state;
    expect_failure(hr_rgb_to_hsv(unknown(CONSTANT(HR_FLOAT, HR_SHAPE(1, 2), 1, 2))), "graph.shape");
    expect_failure(hr_adjust_hue(unknown(CONSTANT(HR_FLOAT, HR_SHAPE(3), 1, 2, 3)), 1), "graph.shape");
    expect_failure(hr_adjust_contrast(unknown(CONSTANT(HR_FLOAT, HR_SHAPE(3), 1, 2, 3)), 1), "graph.shape");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(colors_change_as_by_tensorflow),
        GRAPH_TEST(colors_below_zero_change_as_by_tensorflow),
        GRAPH_TEST(what_has_no_three_channels_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
