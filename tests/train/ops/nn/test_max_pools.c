/* Pools with sizes as inputs, and with the places of what is greatest, beside TensorFlow 2.15.1. */
#include "tests/train/ops/node_values.h"

/* Two images of 3 x 4 pixels and 2 channels: (7 i) mod 13. */
static hr_node images(void)
{
    double values[48];
    for (int i = 0; i < 48; i++) values[i] = 7 * i % 13;
    return constant_of(HR_DOUBLE, HR_SHAPE(2, 3, 4, 2), values);
}

static hr_node with_places(hr_node x, bool whole)
{
    static const int64_t sizes[] = {1, 2, 2, 1};
    return hr_new_node(g, "MaxPoolWithArgmax", HR_INPUTS(x),
                       HR_ATTRS(HR_INTS_ATTR("ksize", sizes, 4), HR_INTS_ATTR("strides", sizes, 4),
                                HR_STRING_ATTR("padding", "SAME"), HR_BOOL_ATTR("include_batch_in_index", whole)));
}

static void places_of_the_greatest_are_told(void **state)
{
    (void)state;
    const hr_node x = images(), each = with_places(x, false), whole = with_places(x, true);
    EXPECT(each, 0, 5, 12, 7, 10, 9, 3, 11, 5, 12, 11, 6, 12, 8, 2, 10, 4);
    EXPECT(hr_node_output(each, 1), 0, 10, 11, 14, 7, 18, 19, 22, 23, 0, 11, 14, 13, 18, 19, 22, 23);
    EXPECT(hr_node_output(whole, 1), 0, 10, 11, 14, 7, 18, 19, 22, 23, 24, 35, 38, 37, 42, 43, 46, 47);
    EXPECT(derivative(hr_square(each), x), 0, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 10, 24, 0, 0, 14, 0, 0, 0, 18, 6, 0, 0, 22,
           10, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 22, 0, 24, 12, 0, 0, 0, 16, 4, 0, 0, 20, 8);
    EXPECT(derivative(hr_square(whole), x), 0, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 10, 24, 0, 0, 14, 0, 0, 0, 18, 6, 0, 0,
           22, 10, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 22, 0, 24, 12, 0, 0, 0, 16, 4, 0, 0, 20, 8);
}

static void sizes_may_be_inputs(void **state)
{
    (void)state;
    const hr_node x = images(), size = CONSTANT(HR_INT32, HR_SHAPE(4), 1, 2, 3, 1),
                  stride = CONSTANT(HR_INT32, HR_SHAPE(4), 1, 1, 2, 1);
    const hr_node y =
        hr_new_node(g, "MaxPoolV2", HR_INPUTS(x, size, stride), HR_ATTRS(HR_STRING_ATTR("padding", "VALID")));
    EXPECT(y, 0, 6, 12, 10, 12, 12, 12, 9, 12);
    EXPECT(derivative(hr_square(y), x), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 48, 12, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0,
           24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 48, 0, 0, 0, 0, 0, 0, 18, 0, 0, 0);
    expect_failure(hr_new_node(g, "MaxPoolV2", HR_INPUTS(x, unknown(stride), CONSTANT(HR_INT32, HR_SHAPE(1), 1)),
                               HR_ATTRS(HR_STRING_ATTR("padding", "VALID"))),
                   "graph.shape");
}

/* Of the sum of cubes of the windows' values, with a weight for each pixel. */
static hr_node second_derivative(hr_node y, hr_node x)
{
    double weights[32];
    for (int k = 0; k < 32; k++) weights[k] = (k * 3 % 7 - 3) / 2.0;
    const hr_node first = derivative(hr_mul(y, hr_square(y)), x);
    return derivative(hr_mul(first, constant_of(HR_DOUBLE, HR_SHAPE(1, 4, 4, 2), weights)), x);
}

static void pools_are_derived_twice(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 3, 2, 1}, strides[] = {1, 2, 1, 1};
    double values[32];
    for (int k = 0; k < 32; k++) values[k] = ((k * 37 + k * k * 5) % 23 - 11) / 4.0;
    const hr_node x = constant_of(HR_DOUBLE, HR_SHAPE(1, 4, 4, 2), values),
                  y = hr_new_node(g, "MaxPool", HR_INPUTS(x),
                                  HR_ATTRS(HR_INTS_ATTR("ksize", sizes, 4), HR_INTS_ATTR("strides", strides, 4),
                                           HR_STRING_ATTR("padding", "SAME"))),
                  z = hr_new_node(g, "MaxPoolV2",
                                  HR_INPUTS(x, CONSTANT(HR_INT32, HR_SHAPE(4), 1, 3, 2, 1),
                                            CONSTANT(HR_INT32, HR_SHAPE(4), 1, 2, 1, 1)),
                                  HR_ATTRS(HR_STRING_ATTR("padding", "SAME")));
    EXPECT(second_derivative(y, x), 0, 0, 0, 0, -5.25, 30, 0, 0, -45, 0, 0, -6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
           -6, 0, -10.5, 15, 0, 0, 45, -10.5);
    EXPECT(second_derivative(z, x), 0, 0, 0, 0, -5.25, 30, 0, 0, -45, 0, 0, -6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
           -6, 0, -10.5, 15, 0, 0, 45, -10.5);
    expect_failure(hr_new_node(g, "MaxPoolGradGrad", HR_INPUTS(x, y, y),
                               HR_ATTRS(HR_INTS_ATTR("ksize", sizes, 4), HR_INTS_ATTR("strides", strides, 4),
                                        HR_STRING_ATTR("padding", "SAME"))),
                   "graph.shape");
}

/* As in TensorFlow, the first of equal values has the gradient. */
static void the_first_of_equals_counts_twice_derived(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 2, 2, 1};
    const hr_node x = CONSTANT(HR_FLOAT, HR_SHAPE(1, 2, 2, 1), 1, 3, 3, 3),
                  y = CONSTANT(HR_FLOAT, HR_SHAPE(1, 1, 1, 1), 3),
                  back = CONSTANT(HR_FLOAT, HR_SHAPE(1, 2, 2, 1), 5, 6, 7, 8);
    EXPECT(hr_new_node(g, "MaxPoolGradGrad", HR_INPUTS(x, y, back),
                       HR_ATTRS(HR_INTS_ATTR("ksize", sizes, 4), HR_INTS_ATTR("strides", sizes, 4),
                                HR_STRING_ATTR("padding", "VALID"))),
           0, 6);
}

static void places_outside_of_the_images_are_refused(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 1, 1, 1};
    const hr_node x = CONSTANT(HR_FLOAT, HR_SHAPE(1, 1, 1, 1), 1), far = CONSTANT(HR_INT64, HR_SHAPE(1, 1, 1, 1), 1);
    expect_failure(hr_new_node(g, "MaxPoolGradWithArgmax", HR_INPUTS(x, x, far),
                               HR_ATTRS(HR_INTS_ATTR("ksize", sizes, 4), HR_INTS_ATTR("strides", sizes, 4),
                                        HR_STRING_ATTR("padding", "SAME"))),
                   "graph.index");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(places_of_the_greatest_are_told),
        GRAPH_TEST(sizes_may_be_inputs),
        GRAPH_TEST(pools_are_derived_twice),
        GRAPH_TEST(the_first_of_equals_counts_twice_derived),
        GRAPH_TEST(places_outside_of_the_images_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
