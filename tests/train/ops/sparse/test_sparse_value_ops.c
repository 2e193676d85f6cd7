/* Values of sparse tensors beside TensorFlow 2.15.1, with gradients of the sum of the squares. */
#include "tests/train/ops/node_values.h"

#include <math.h>

static hr_node indices(void) { return CONSTANT(HR_INT64, HR_SHAPE(6, 2), 0, 0, 0, 2, 1, 1, 2, 0, 2, 1, 2, 2); }
static hr_node values(void) { return CONSTANT(HR_DOUBLE, HR_SHAPE(6), 1, 2, 3, 4, 5, 6); }
static hr_node shape(void) { return CONSTANT(HR_INT64, HR_SHAPE(2), 3, 3); }

static hr_node with_dense(const char *op, hr_node x, hr_node dense)
{
    return hr_new_node(g, op, HR_INPUTS(indices(), x, shape(), dense));
}

static void dense_values_broadcast_to_sparse_ones(void **state)
{
    (void)state;
    const hr_node x = values(), row = CONSTANT(HR_DOUBLE, HR_SHAPE(3), 10, 20, 30),
                  column = CONSTANT(HR_DOUBLE, HR_SHAPE(3, 1), 1, 2, 3), one = CONSTANT(HR_DOUBLE, HR_SCALAR, 2);
    EXPECT(with_dense("SparseDenseCwiseAdd", x, row), 0, 11, 32, 23, 14, 25, 36);
    EXPECT(with_dense("SparseDenseCwiseMul", x, column), 0, 1, 2, 6, 12, 15, 18);
    EXPECT(with_dense("SparseDenseCwiseDiv", x, one), 0, .5, 1, 1.5, 2, 2.5, 3);
    const hr_node product = hr_square(with_dense("SparseDenseCwiseMul", x, row)),
                  quotient = hr_square(with_dense("SparseDenseCwiseDiv", x, column));
    EXPECT(derivative(product, x), 0, 200, 3600, 2400, 800, 4000, 10800);
    EXPECT(derivative(product, row), 0, 340, 1360, 2400);
    EXPECT(derivative(quotient, x), 1e-12, 2, 4, 1.5, 8. / 9, 10. / 9, 4. / 3);
    EXPECT(derivative(quotient, column), 1e-12, -10, -2.25, -5.703703703703704);
    EXPECT(derivative(hr_square(with_dense("SparseDenseCwiseMul", x, one)), one), 0, 364);
    expect_failure(with_dense("SparseDenseCwiseAdd", x, CONSTANT(HR_DOUBLE, HR_SHAPE(2), 1, 1)), "graph.shape");
    expect_failure(with_dense("SparseDenseCwiseDiv", x, hr_zeros_like(row)), "graph.division");
    expect_failure(with_dense("SparseDenseCwiseDiv", x, CONSTANT(HR_DOUBLE, HR_SCALAR, -0.)), "graph.division");
    const hr_node zero_elsewhere = CONSTANT(HR_DOUBLE, HR_SHAPE(3, 3), 1, 0, 1, 0, 2, 0, 1, 1, 2);
    EXPECT(with_dense("SparseDenseCwiseDiv", x, zero_elsewhere), 0, 1, 2, 1.5, 4, 5, 3);
}

static void rows_have_a_softmax_of_their_own(void **state)
{
    (void)state;
    const hr_node x = values(), y = hr_new_node(g, "SparseSoftmax", HR_INPUTS(indices(), x, shape()));
    EXPECT(y, 1e-12, 0.26894142136999516, 0.7310585786300049, 1, 0.09003057317038045, 0.2447284710547976,
           0.6652409557748218);
    EXPECT(derivative(hr_square(y), x), 1e-12, -0.18171549534589682, 0.18171549534589684, 0, -0.07571796004928924,
           -0.13010479484068163, 0.205822754889971);
}

static void two_sparse_tensors_are_joined(void **state)
{
    (void)state;
    const hr_node other = CONSTANT(HR_INT64, HR_SHAPE(4, 2), 0, 1, 0, 2, 2, 1, 2, 2),
                  b = CONSTANT(HR_DOUBLE, HR_SHAPE(4), -1, 7, 4, 9);
    const hr_node most =
        hr_new_node(g, "SparseSparseMaximum", HR_INPUTS(indices(), values(), shape(), other, b, shape()));
    const hr_node least =
        hr_new_node(g, "SparseSparseMinimum", HR_INPUTS(indices(), values(), shape(), other, b, shape()));
    EXPECT(most, 0, 0, 0, 0, 1, 0, 2, 1, 1, 2, 0, 2, 1, 2, 2);
    EXPECT(hr_node_output(most, 1), 0, 1, 0, 7, 3, 4, 5, 9);
    EXPECT(hr_node_output(least, 1), 0, 0, -1, 2, 0, 0, 4, 6);
    const hr_node none = CONSTANT(HR_DOUBLE, HR_SHAPE(6), NAN, 1, 1, 1, 1, 1),
                  joined =
                      hr_new_node(g, "SparseSparseMaximum", HR_INPUTS(indices(), none, shape(), other, b, shape()));
    EXPECT(hr_cast_to(hr_is_nan(hr_node_output(joined, 1)), HR_DOUBLE), 0, 1, 0, 0, 0, 0, 0, 0);
    const hr_node wide = CONSTANT(HR_INT64, HR_SHAPE(2), 3, 4);
    expect_failure(hr_new_node(g, "SparseSparseMaximum", HR_INPUTS(indices(), values(), wide, other, b, shape())),
                   "graph.shape");
}

static hr_node split(int64_t axis, int64_t pieces)
{
    return hr_new_node(g, "SparseSplit", HR_INPUTS(hr_scalar(g, HR_INT64, (double)axis), indices(), values(), shape()),
                       HR_ATTRS(HR_INT_ATTR("num_split", pieces)));
}

static void a_sparse_tensor_is_split_and_sliced(void **state)
{
    (void)state;
    const hr_node pieces = split(-1, 2), x = values();
    EXPECT(pieces, 0, 0, 0, 1, 1, 2, 0, 2, 1);
    EXPECT(hr_node_output(pieces, 1), 0, 0, 0, 2, 0);
    EXPECT(hr_node_output(pieces, 2), 0, 1, 3, 4, 5);
    EXPECT(hr_node_output(pieces, 3), 0, 2, 6);
    EXPECT(hr_node_output(pieces, 4), 0, 3, 2);
    EXPECT(hr_node_output(pieces, 5), 0, 3, 1);
    expect_failure(split(1, 4), "graph.shape");
    const hr_node start = CONSTANT(HR_INT64, HR_SHAPE(2), 1, 0), size = CONSTANT(HR_INT64, HR_SHAPE(2), 2, 2);
    const hr_node slice = hr_new_node(g, "SparseSlice", HR_INPUTS(indices(), x, shape(), start, size));
    EXPECT(derivative(hr_square(hr_node_output(slice, 1)), x), 0, 0, 0, 6, 8, 10, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(dense_values_broadcast_to_sparse_ones),
        GRAPH_TEST(rows_have_a_softmax_of_their_own),
        GRAPH_TEST(two_sparse_tensors_are_joined),
        GRAPH_TEST(a_sparse_tensor_is_split_and_sliced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
