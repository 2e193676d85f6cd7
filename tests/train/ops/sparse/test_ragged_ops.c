/* Ragged tensors beside TensorFlow 2.15.1, with gradients of the sum of the squares. */
#include "tests/train/ops/node_values.h"

static hr_node ints(int64_t count, const int64_t *numbers)
{
    const hr_tensor t = hr_tensor_of(HR_INT64, HR_SHAPE(count), numbers);
    return hr_const(g, &t);
}
#define INTS(...) ints((int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]){__VA_ARGS__})

static hr_node rows(void) { return CONSTANT(HR_FLOAT, HR_SHAPE(4, 2), 1, 2, 3, 4, 5, 6, 7, 8); }
static hr_node vector(void) { return CONSTANT(HR_FLOAT, HR_SHAPE(3), 1, 2, 3); }

static hr_node range(hr_node starts, hr_node limits, hr_node deltas)
{
    return hr_new_node(g, "RaggedRange", HR_INPUTS(starts, limits, deltas));
}

static void ranges_have_rows_of_any_length(void **state)
{
    (void)state;
    const hr_node whole = range(INTS(0, 5, 8), INTS(3, 5, 0), INTS(1, 1, -3)), tenth = hr_scalar(g, HR_FLOAT, .1);
    EXPECT(whole, 0, 0, 3, 3, 6);
    EXPECT(hr_node_output(whole, 1), 0, 0, 1, 2, 8, 5, 2);
    /* Each is the sum of the one before and the step, in float. */
    EXPECT(hr_node_output(range(hr_zeros_like(tenth), CONSTANT(HR_FLOAT, HR_SHAPE(1), 1), tenth), 1), 0, 0,
           0.10000000149011612, 0.20000000298023224, 0.30000001192092896, 0.4000000059604645, 0.5, 0.6000000238418579,
           0.7000000476837158, 0.8000000715255737, 0.9000000953674316);
    expect_failure(range(INTS(0), INTS(3), INTS(0)), "graph.range");
    expect_failure(range(INTS(0, 1), INTS(3), INTS(1, 1)), "graph.shape");
    expect_failure(range(INTS(INT64_MIN), INTS(INT64_MAX), INTS(1)), "graph.range");
}

static hr_node gather(hr_node values, hr_node indices, int64_t rank)
{
    return hr_new_node(g, "RaggedGather", HR_INPUTS(INTS(0, 2, 3), INTS(0, 1, 3, 4), values, indices),
                       HR_ATTRS(HR_INT_ATTR("PARAMS_RAGGED_RANK", 2), HR_INT_ATTR("OUTPUT_RAGGED_RANK", rank)));
}

static void rows_are_taken_by_index(void **state)
{
    (void)state;
    const hr_node x = rows(), twice = gather(x, CONSTANT(HR_INT32, HR_SHAPE(2, 2), 1, 0, 0, 0), 3);
    EXPECT(twice, 0, 0, 2, 4);
    EXPECT(hr_node_output(twice, 1), 0, 0, 1, 3, 5, 7);
    EXPECT(hr_node_output(twice, 2), 0, 0, 1, 2, 4, 5, 7, 8, 10);
    EXPECT(hr_node_output(twice, 3), 0, 7, 8, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6);
    EXPECT(derivative(hr_square(hr_node_output(twice, 3)), x), 0, 6, 12, 18, 24, 30, 36, 14, 16);
    const hr_node one = gather(x, hr_scalar(g, HR_INT32, 1), 1);
    EXPECT(one, 0, 0, 1);
    EXPECT(hr_node_output(one, 1), 0, 7, 8);
    expect_failure(gather(x, INTS(2), 2), "graph.index");
    expect_failure(gather(x, INTS(1), 3), "graph.shape");
}

static hr_node to_sparse(hr_node first, hr_node second, hr_node values)
{
    return hr_new_node(g, "RaggedTensorToSparse", HR_INPUTS(first, second, values),
                       HR_ATTRS(HR_INT_ATTR("RAGGED_RANK", 2)));
}

static void ragged_tensors_become_sparse(void **state)
{
    (void)state;
    const hr_node x = rows(), s = to_sparse(INTS(0, 2, 3), INTS(0, 1, 3, 4), x);
    EXPECT(s, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1);
    EXPECT(hr_node_output(s, 1), 0, 1, 2, 3, 4, 5, 6, 7, 8);
    EXPECT(hr_node_output(s, 2), 0, 2, 2, 2, 2);
    EXPECT(derivative(hr_square(hr_node_output(s, 1)), x), 0, 2, 4, 6, 8, 10, 12, 14, 16);
    EXPECT(hr_new_node(g, "RaggedTensorToSparse", HR_INPUTS(INTS(0, 2, 2, 3), vector()),
                       HR_ATTRS(HR_INT_ATTR("RAGGED_RANK", 1))),
           0, 0, 0, 0, 1, 2, 0);
    expect_failure(to_sparse(INTS(0, 2, 1), INTS(0, 1), x), "graph.splits");
    expect_failure(to_sparse(INTS(0, 1, 2), INTS(0, 1, 3), x), "graph.splits");
}

/* Of one or two levels of splits, or of a size and rows. */
static hr_node to_tensor(hr_node shape, hr_node values, hr_node otherwise, bool by_rows, hr_node first, hr_node second)
{
    static const hr_view splits[] = {{"ROW_SPLITS", 10}, {"ROW_SPLITS", 10}},
                         by_row[] = {{"FIRST_DIM_SIZE", 14}, {"VALUE_ROWIDS", 12}};
    const hr_node inputs[] = {shape, values, otherwise, first, second};
    const int parts = hr_node_exists(second) ? 2 : 1;
    const hr_attr types = {
        .name = "row_partition_types", .kind = HR_ATTR_STRINGS, .count = parts, .strings = by_rows ? by_row : splits};
    return hr_new_node(g, "RaggedTensorToTensor", .inputs = inputs, .input_count = 3 + parts, .attrs = &types,
                       .attr_count = 1);
}

static const hr_node none;

static void ragged_tensors_become_dense(void **state)
{
    (void)state;
    const hr_node x = vector(), any = INTS(-1, -1), zero = hr_scalar(g, HR_FLOAT, 0), splits = INTS(0, 2, 2, 3);
    EXPECT(to_tensor(any, x, zero, false, splits, none), 0, 1, 2, 0, 0, 3, 0);
    EXPECT(to_tensor(INTS(2, 3), x, hr_scalar(g, HR_FLOAT, 9), false, splits, none), 0, 1, 2, 9, 9, 9, 9);
    EXPECT(to_tensor(INTS(1, -1), x, zero, false, splits, none), 0, 1, 2);
    EXPECT(to_tensor(any, x, zero, true, hr_scalar(g, HR_INT64, 4), INTS(0, 0, 3)), 0, 1, 2, 0, 0, 0, 0, 3, 0);
    EXPECT(to_tensor(hr_scalar(g, HR_INT64, -1), rows(), CONSTANT(HR_FLOAT, HR_SHAPE(2), 8, 9), false, INTS(0, 2, 3),
                     INTS(0, 1, 3, 4)),
           0, 1, 2, 8, 9, 3, 4, 5, 6, 7, 8, 8, 9, 8, 9, 8, 9);
}

static void dense_forms_have_gradients(void **state)
{
    (void)state;
    const hr_node x = vector(), half = hr_scalar(g, HR_FLOAT, .5), deep = rows(),
                  pair = CONSTANT(HR_FLOAT, HR_SHAPE(2), .5, .25);
    const hr_node cut = hr_square(to_tensor(INTS(2, 3), x, half, false, INTS(0, 2, 2, 3), none));
    EXPECT(derivative(cut, x), 0, 2, 4, 0);
    EXPECT(derivative(cut, half), 0, 4);
    const hr_node whole =
        hr_square(to_tensor(hr_scalar(g, HR_INT64, -1), deep, pair, false, INTS(0, 2, 3), INTS(0, 1, 3, 4)));
    EXPECT(derivative(whole, deep), 0, 2, 4, 6, 8, 10, 12, 14, 16);
    EXPECT(derivative(whole, pair), 0, 4, 2);
}

static void partitions_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    const hr_node x = vector(), any = INTS(-1, -1), zero = hr_scalar(g, HR_FLOAT, 0), size = hr_scalar(g, HR_INT64, 2);
    expect_failure(to_tensor(any, x, zero, false, INTS(0, 2, 1, 3), none), "graph.splits");
    expect_failure(to_tensor(any, x, zero, false, INTS(1, 2, 3), none), "graph.splits");
    expect_failure(to_tensor(any, x, zero, false, INTS(0, 2, 2, 4), none), "graph.splits");
    expect_failure(to_tensor(any, x, zero, true, size, INTS(0, 1, 5)), "graph.splits");
    expect_failure(to_tensor(any, x, zero, true, size, INTS(0, 1, 0)), "graph.splits");
    expect_failure(to_tensor(INTS(-1), x, zero, false, INTS(0, 3), none), "graph.shape");
    expect_failure(to_tensor(INTS(2, 2), x, zero, true, hr_scalar(g, HR_INT64, 0x1p61), INTS(0, 0, 1)), "graph.shape");
    expect_failure(to_tensor(any, x, CONSTANT(HR_FLOAT, HR_SHAPE(2), 1, 2), false, INTS(0, 3), none), "graph.shape");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(ranges_have_rows_of_any_length), GRAPH_TEST(rows_are_taken_by_index),
        GRAPH_TEST(ragged_tensors_become_sparse),   GRAPH_TEST(ragged_tensors_become_dense),
        GRAPH_TEST(dense_forms_have_gradients),     GRAPH_TEST(partitions_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
