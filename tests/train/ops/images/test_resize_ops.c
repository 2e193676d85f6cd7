/* Images in other sizes, and parts of them, beside TensorFlow 2.15.1: values, and gradients of the sum of their squares. */
#include "tests/train/ops/node_values.h"

#include <headrace/images.h>
#include <stdio.h>

static hr_node image(void) { return CONSTANT(HR_FLOAT, HR_SHAPE(1, 3, 4, 1), 1, 4, 2, 8, 5, 7, 3, 6, 0, 9, 2, 1); }

static const struct {
    hr_resize_method method;
    int height, width;
    bool align_corners, corners;
    double value[20], gradient[12];
} sizes[] = {
    {HR_RESIZE_BILINEAR,
     2,
     3,
     false,
     true,
     {1, 3.33333325, 6.00000048, 2.5, 6.16666651, 3.16666651},
     {2, 4.44444418, 6.22222137, 8.00000191, 2.5, 4.11111069, 3.11111116, 2.11111116, 2.5, 4.11111069, 3.11111116,
      2.11111116}},
    {HR_RESIZE_NEAREST, 2, 3, false, true, {1, 4, 2, 5, 7, 3}, {2, 8, 4, 0, 10, 14, 6, 0, 0, 0, 0, 0}},
    {HR_RESIZE_BICUBIC,
     2,
     3,
     false,
     true,
     {1, 3.37156391, 6.00227833, 2.875, 7.05356836, 2.77097082},
     {0.858650863, 3.68118095, 6.25399017, 7.57269955, 2.48338413, 6.49028063, 4.31591463, 1.79112339, 2.09127092,
      5.4654994, 3.63445425, 1.50831461}},
    {HR_RESIZE_BILINEAR,
     2,
     3,
     false,
     false,
     {2.45833349, 3.5, 6.62500095, 2.45833349, 5.375, 2.25},
     {3.07291675, 3.23958349, 4.28124857, 8.28125286, 2.04861116, 2.62847233, 2.95833278, 3.69791794, 3.07291675,
      4.64583349, 4.59374952, 2.81250048}},
    {HR_RESIZE_NEAREST, 2, 3, false, false, {1, 2, 8, 0, 2, 1}, {2, 0, 4, 16, 0, 0, 0, 0, 0, 0, 4, 2}},
    {HR_RESIZE_BICUBIC,
     2,
     3,
     false,
     false,
     {2.1970675, 3.18978119, 7.07510996, 1.98009813, 5.94616795, 1.86899567},
     {2.7705276, 3.07034278, 4.1461668, 9.77780533, 1.32499087, 2.35517478, 2.62967563, 3.11292338, 2.16392112,
      5.70065451, 5.64710808, 1.81515181}},
    {HR_RESIZE_AREA, 2, 3, false, true, {3, 3.66666675, 6.08333302, 3.33333349, 5.33333302, 2.58333325}, {0}},
    {HR_RESIZE_BILINEAR,
     4,
     5,
     false,
     true,
     {1,   3.4000001, 2.79999995, 4.40000057, 8,   4, 5.80000019, 4.14999962, 4.25000048, 6.5,
      2.5, 6.9000001, 4.69999981, 2.9000001,  3.5, 0, 7.20000029, 4.79999971, 1.5999999,  1},
     {5.94000006, 10.8299999, 11.1599989, 23.6200008, 11.6199999, 16.8499985, 12.1199999, 16.960001, 6.75999975,
      22.7600002, 12.2399979, 7.94000053}},
    {HR_RESIZE_NEAREST,
     4,
     5,
     false,
     true,
     {1, 1, 4, 2, 8, 1, 1, 4, 2, 8, 5, 5, 7, 3, 6, 0, 0, 9, 2, 1},
     {8, 16, 8, 32, 20, 14, 6, 12, 0, 18, 4, 2}},
    {HR_RESIZE_BICUBIC,
     4,
     5,
     false,
     true,
     {1,          3.66351366,  2.3453598,  4.11467218, 8.57628059,  4.62109375, 6.15742588,
      3.79820061, 4.1233139,   7.37441063, 2.875,      7.87497044,  5.11512327, 2.25888705,
      3.38153362, -0.52734375, 8.19783401, 5.59205055, 0.552313149, 0.336089671},
     {4.68417358, 9.41468811, 8.14686298, 24.9366264, 14.0641527, 21.2367973, 11.9916611, 21.0942078, 3.88412142,
      30.1200199, 11.2590151, 2.02913308}},
    {HR_RESIZE_BILINEAR,
     4,
     5,
     true,
     false,
     {1,          3.25,       3,          3.5,        8,          3.66666675, 5.41666698,
      4.33333349, 3.66666675, 6.66666651, 3.33333302, 6.58333349, 5.16666651, 3.08333325,
      4.33333302, 0,          6.75,       5.5,        1.75,       1},
     {6.97222233, 12.0277786, 11.5277777, 22.8055553, 13.333334, 18.333334, 13.083333, 16.916666, 6.69444466,
      20.6388893, 11.3888893, 6.27777815}},
    {HR_RESIZE_NEAREST,
     4,
     5,
     true,
     false,
     {1, 4, 2, 2, 8, 5, 7, 3, 3, 6, 5, 7, 3, 3, 6, 0, 9, 2, 2, 1},
     {2, 8, 8, 16, 20, 28, 24, 24, 0, 18, 8, 2}},
    {HR_RESIZE_BICUBIC,
     4,
     5,
     true,
     false,
     {1,          3.53125,    2.71875,  3.1484375, 8,          4.2977066, 5.80662346, 4.0482254, 3.47037959, 7.18447924,
      3.87213349, 7.58039904, 5.630826, 2.5710237, 4.20546675, 0,         7.69921875, 6.4375,    1.03515625, 1},
     {5.25714684, 11.0996332, 9.99540806, 20.7444878, 16.4036789, 26.8880062, 15.3671198, 18.8826351, 4.30203533,
      25.4953804, 9.78526878, 2.25435305}},
    {HR_RESIZE_BILINEAR,
     4,
     5,
     false,
     false,
     {1,     3.10000014, 3,      3.79999971, 8,     3.5, 5.16250038, 4.25, 3.86249971, 6.75,
      3.125, 6.36250019, 5.1875, 3.07499981, 4.125, 0,   6.30000019, 5.5,  1.70000005, 1},
     {7.6465621, 11.6440639, 11.9415627, 24.2115612, 12.6031246, 15.9828129, 11.96875, 16.1953106, 7.55531216,
      19.6056252, 11.4396877, 6.80562449}},
    {HR_RESIZE_NEAREST,
     4,
     5,
     false,
     false,
     {1, 4, 2, 2, 8, 5, 7, 3, 3, 6, 5, 7, 3, 3, 6, 0, 9, 2, 2, 1},
     {2, 8, 8, 16, 20, 28, 24, 24, 0, 18, 8, 2}},
    {HR_RESIZE_BICUBIC,
     4,
     5,
     false,
     false,
     {0.659420729, 3.12242413,   2.70149255, 3.53918695, 8.3699789,  3.77664661, 5.42896986,
      4.06103802,  3.71405911,   7.28704834, 3.21851373, 7.05791473, 5.52981758, 2.68570757,
      4.04936361,  -0.665077269, 6.98805189, 6.18703318, 1.09881902, 0.686671376},
     {6.12242603, 11.221755, 10.5954027, 25.7197647, 13.9780684, 18.9042358, 11.8628082, 17.0834389, 4.8450489,
      24.2288399, 10.8100338, 3.62234092}},
    {HR_RESIZE_AREA,
     4,
     5,
     false,
     true,
     {1,          3.25,       3,          3.50000024, 7.99999952, 3.66666675, 5.41666698,
      4.33333302, 3.66666675, 6.66666603, 3.33333325, 6.58333349, 5.16666651, 3.08333302,
      4.33333302, 0,          6.75,       5.5,        1.74999988, 0.99999994},
     {0}},
    {HR_RESIZE_AREA,
     4,
     5,
     true,
     false,
     {1,          3,          3.33333349, 2,          8, 3.00000024, 4.66666698, 4.5,        2.50000024, 7, 4.99999952,
      6.33333302, 5.66666651, 2.99999976, 5.99999952, 0, 6.00000095, 6.66666746, 2.00000024, 1.00000012},
     {0}},
};

static void images_are_resized_as_by_tensorflow(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const hr_node x = image(),
                      y = hr_resize_images(x, sizes[i].height, sizes[i].width, .method = sizes[i].method,
                                           .align_corners = sizes[i].align_corners, .corners = sizes[i].corners);
        char what[64];
        (void)snprintf(what, sizeof what, "method %d, %d x %d, %d %d", sizes[i].method, sizes[i].height, sizes[i].width,
                       sizes[i].align_corners, sizes[i].corners);
        expect_values(y, sizes[i].value, sizes[i].height * sizes[i].width, 1e-5, what);
        if (sizes[i].method != HR_RESIZE_AREA)
            expect_values(derivative(hr_square(y), x), sizes[i].gradient, 12, 1e-4, what);
    }
}

static const struct {
    bool nearest;
    int height, width;
    double value[24], by_image[12], by_boxes[16];
} crops[] = {
    {false,
     2,
     3,
     {1,  3,  8,  0,  5.5, 1,  3.38000011, 3.79999995, 5.75999928, 4.44000006, 5.19999981, 3.57999992,
      -1, -1, -1, -1, -1,  -1, 5,          5,          5,          5,          5,          5},
     {4.83920002, 6.49680042, 7.3536005, 20.838398, 5.62240028, 37.0495987, 37.311203, 6.23279762, 2.48639989,
      8.64559937, 8.4392004, 4.00479937},
     {0, -133.5, 0, -133.5, 55.0800209, 67.5600128, -95.519989, 82.9199905, 0, 0, 0, 0, 0, -360, 0, -360}},
    {false,
     1,
     1,
     {5, 4.80000019, 5.37000036, 5},
     {0, 1.17809999, 0.85589993, 0, 0, 20.6029015, 17.7030983, 0, 0, 0, 0, 0},
     {0, -60, 0, -60, 19.2000008, -54.7200012, 19.2000008, -54.7200012, 24.7020035, -61.2180061, 24.7020035,
      -61.2180061, 0, -60, 0, -60}},
    {true,
     2,
     3,
     {1, 2, 8, 0, 2, 1, 1, 2, 8, 5, 3, 6, -1, -1, -1, -1, -1, -1, 3, 3, 3, 3, 3, 3},
     {4, 0, 8, 32, 10, 0, 42, 12, 0, 0, 4, 2},
     {0, -54, 0, -54, -4.39998245, 96, -143.199982, 217.200012, 0, 0, 0, 0, 0, -216, 0, -216}},
    {true,
     1,
     1,
     {3, 3, 7, 3},
     {0, 0, 0, 0, 0, 14, 18, 0, 0, 0, 0, 0},
     {0, -36, 0, -36, 12, -34.1999969, 12, -34.1999969, 32.2000046, -79.8000031, 32.2000046, -79.8000031, 0, -36, 0,
      -36}},
};

static void boxes_are_cut_out_as_by_tensorflow(void **state)
{
    (void)state;
    const hr_node of = CONSTANT(HR_INT32, HR_SHAPE(4), 0, 0, 0, 0);
    const hr_node boxes =
        CONSTANT(HR_FLOAT, HR_SHAPE(4, 4), 0, 0, 1, 1, .2, .1, .7, .9, -.3, .5, 1.2, .4, .5, .5, .5, .5);
    for (size_t i = 0; i < sizeof crops / sizeof *crops; i++) {
        const hr_node x = image(), y = hr_crop_and_resize(x, boxes, of, crops[i].height, crops[i].width,
                                                          .nearest = crops[i].nearest, .outside = -1);
        expect_values(y, crops[i].value, 4 * crops[i].height * crops[i].width, 1e-5, "crops");
        expect_values(derivative(hr_square(y), x), crops[i].by_image, 12, 1e-4, "a derivative by the image");
        expect_values(derivative(hr_square(y), boxes), crops[i].by_boxes, 16, 1e-3, "a derivative by boxes");
    }
}

static void other_types_and_sizes_work(void **state)
{
    (void)state;
    const hr_node x = CONSTANT(HR_UINT8, HR_SHAPE(1, 1, 2, 1), 10, 20),
                  text = CONSTANT(HR_INT64, HR_SHAPE(1, 1, 2, 1), 1, 2);
    EXPECT(hr_resize_images(x, 1, 4), 1e-5, 10, 12.5, 17.5, 20);
    EXPECT(hr_resize_images(text, 2, 2, .method = HR_RESIZE_NEAREST), 0, 1, 2, 1, 2);
    EXPECT(hr_resize_images(x, 2, 3, .method = HR_RESIZE_AREA, .align_corners = true), 1e-5, 10, 10, 20, 10, 10, 20);
    expect_failure(hr_resize_images(x, 0, 4), "graph.shape");
    static const char *const both_ways[] = {"ResizeBilinear", "ResizeBicubic", "ResizeNearestNeighbor"};
    for (size_t i = 0; i < sizeof both_ways / sizeof *both_ways; i++)
        expect_failure(
            hr_new_node(g, both_ways[i], HR_INPUTS(x, CONSTANT(HR_INT32, HR_SHAPE(2), 2, 2)),
                        HR_ATTRS(HR_BOOL_ATTR("align_corners", true), HR_BOOL_ATTR("half_pixel_centers", true))),
            "graph.attr");
    expect_failure(hr_resize_images(unknown(hr_squeeze(x, NULL, 0)), 1, 4), "graph.shape");
    expect_failure(
        hr_crop_and_resize(x, CONSTANT(HR_FLOAT, HR_SHAPE(1, 4), 0, 0, 1, 1), CONSTANT(HR_INT32, HR_SHAPE(1), 1), 1, 1),
        "graph.index");
    expect_failure(hr_crop_and_resize(x, CONSTANT(HR_FLOAT, HR_SHAPE(1, 4), 0, 0, INFINITY, 1),
                                      CONSTANT(HR_INT32, HR_SHAPE(1), 0), 1, 1),
                   "graph.range");
    expect_failure(hr_crop_and_resize(x, CONSTANT(HR_FLOAT, HR_SHAPE(1, 4), 0, NAN, 1, 1),
                                      CONSTANT(HR_INT32, HR_SHAPE(1), 0), 1, 1),
                   "graph.range");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(images_are_resized_as_by_tensorflow),
        GRAPH_TEST(boxes_are_cut_out_as_by_tensorflow),
        GRAPH_TEST(other_types_and_sizes_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
