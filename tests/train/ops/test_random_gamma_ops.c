/* Gamma and Poisson numbers, value for value those of TensorFlow 2.15.1; the same bytes as other types. */
#include "tests/train/ops/node_values.h"

static hr_node draw(const char *op, int64_t count, hr_node parameter, int64_t seed, int64_t seed2)
{
    return hr_new_node(g, op, HR_INPUTS(hr_ints(g, &count, 1), parameter),
                       HR_ATTRS(HR_INT_ATTR("seed", seed), HR_INT_ATTR("seed2", seed2)));
}

static void gamma_numbers_are_those_of_tensorflow(void **state)
{
    (void)state;
    EXPECT(draw("RandomGamma", 4, CONSTANT(HR_DOUBLE, HR_SHAPE(3), .5, 1, 3), 7, 11), 1e-13, 0.061787459470181445,
           1.3432752825041629, 3.9816466143468077, 0.27283564573211638, 0.21876772371560974, 0.94728861045677903,
           0.017987980862767733, 0.71119255645247992, 0.8790646141095515, 0.17928838968426167, 0.11878533799742005,
           6.1159667210537432);
    EXPECT(draw("RandomGamma", 3, CONSTANT(HR_FLOAT, HR_SCALAR, 2.5), 1, 2), 1e-6, 0.58766871690750122,
           1.4436302185058594, 2.3232834339141846);
}

static void poisson_numbers_are_those_of_tensorflow(void **state)
{
    (void)state;
    EXPECT(draw("RandomPoissonV2", 6, CONSTANT(HR_DOUBLE, HR_SHAPE(3), .5, 4, 50), 7, 11), 0, 0, 3, 51, 0, 1, 45, 0, 3,
           54, 1, 3, 51, 1, 2, 56, 0, 2, 45);
    EXPECT(draw("RandomPoissonV2", 3, CONSTANT(HR_FLOAT, HR_SHAPE(1), 20), 1, 2), 0, 19, 22, 16);
}

/* TensorFlow draws for ever where a rate is above what the type holds. */
static void rates_without_numbers_end(void **state)
{
    (void)state;
    const hr_node rates = CONSTANT(HR_DOUBLE, HR_SHAPE(4), 1e300, INFINITY, NAN, -1);
    const hr_node y = hr_new_node(g, "RandomPoissonV2", HR_INPUTS(hr_ints(g, HR_I64(1), 1), rates),
                                  HR_ATTRS(HR_TYPE_ATTR("dtype", HR_INT32), HR_INT_ATTR("seed", 1)));
    EXPECT(y, 0, INT32_MAX, INT32_MAX, 0, 0);
}

static hr_node bits(hr_node x, hr_dtype type)
{
    return hr_new_node(g, "Bitcast", HR_INPUTS(x), HR_ATTRS(HR_TYPE_ATTR("type", type)));
}

static void bytes_are_read_as_another_type(void **state)
{
    (void)state;
    const hr_node x = CONSTANT(HR_FLOAT, HR_SHAPE(2), 1, 2);
    EXPECT(bits(x, HR_INT32), 0, 1065353216, 1073741824);
    EXPECT(bits(x, HR_DOUBLE), 1e-15, 2.000000473111868);
    EXPECT(bits(unknown(CONSTANT(HR_INT32, HR_SHAPE(1), 258)), HR_UINT8), 0, 2, 1, 0, 0);
    expect_shape(bits(CONSTANT(HR_INT32, HR_SHAPE(1), 258), HR_UINT8), HR_SHAPE(1, 4));
    expect_failure(bits(unknown(CONSTANT(HR_FLOAT, HR_SHAPE(3), 1, 2, 3)), HR_DOUBLE), "graph.shape");
    expect_failure(bits(CONSTANT(HR_FLOAT, HR_SCALAR, 1), HR_DOUBLE), "graph.shape");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(gamma_numbers_are_those_of_tensorflow),
        GRAPH_TEST(poisson_numbers_are_those_of_tensorflow),
        GRAPH_TEST(rates_without_numbers_end),
        GRAPH_TEST(bytes_are_read_as_another_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
