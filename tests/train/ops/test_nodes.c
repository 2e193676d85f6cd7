/* Ops whose values are those of TensorFlow 2.15.1, node by node. */
#include "tests/train/ops/node_text.h"

static void numbers_are_counted(void **state)
{
    (void)state;
    EXPECT_NODE("Bincount", "int32[2,2] 1 2 2 7; int32[] 4; float32[2,2] 1 2 3 4", "float32[4] 0 1 5 0");
    EXPECT_NODE("Bincount", "int32[4] 1 2 2 7; int32[] 4; int64[0]", "int64[4] 0 1 2 0");
    EXPECT_NODE("Bincount", "int32[2] 1 -2; int32[] 4; float32[0]", NULL);
    EXPECT_NODE("Bincount", "int32[2] 1 2; int32[] -1; float32[0]", NULL);
    EXPECT_NODE("Bincount", "int32[2] 1 2; int32[] 3; float32[1] 1", NULL);
    EXPECT_NODE("DenseBincount", "int32[2,4] 1 2 2 7 0 0 1 2; int32[] 4; float32[2,4] 1 2 3 4 5 6 7 8",
                "float32[2,4] 0 1 5 0 11 7 8 0");
    EXPECT_NODE_WITH("DenseBincount", "int64[2,4] 1 2 2 7 0 0 1 2; int64[] 4; int32[0]", "int32[2,4] 0 1 1 0 1 1 1 0",
                     HR_BOOL_ATTR("binary_output", true));
    EXPECT_NODE("DenseBincount", "int32[1,2] -1 2; int32[] 4; float32[0]", "float32[1,4] 0 0 1 0");
    EXPECT_NODE("DenseBincount", "int32[2] -1 2; int32[] 4; float32[0]", NULL);
    EXPECT_NODE("DenseBincount", "int32[2] 2 1; int32[] 4; float32[1,2] 1 2", NULL);
}

static void shapes_broadcast(void **state)
{
    (void)state;
    EXPECT_NODE("BroadcastArgs", "int32[2] 2 1; int32[3] 3 1 4", "int32[3] 3 2 4");
    EXPECT_NODE("BroadcastArgs", "int64[1] 0; int64[3] 3 1 1", "int64[3] 3 1 0");
    EXPECT_NODE("BroadcastArgs", "int32[1] 2; int32[3] 3 1 4", NULL);
    EXPECT_NODE("BroadcastArgs", "int32[] 2; int32[3] 3 1 4", NULL);
}

static void optionals_give_what_they_hold(void **state)
{
    (void)state;
    const float x[] = {1, 2};
    const int64_t y = 7;
    hr_graph *g = hr_graph_new();
    const hr_tensor a = hr_tensor_of(HR_FLOAT, HR_SHAPE(2), x), b = hr_tensor_of(HR_INT64, HR_SCALAR, &y);
    const hr_node in[] = {hr_const(g, &a), hr_const(g, &b)}, none = hr_new_node(g, "OptionalNone");
    const hr_node some = hr_new_node(g, "OptionalFromValue", .inputs = in, .input_count = 2);
    const hr_dtype types[] = {HR_FLOAT, HR_INT64}, others[] = {HR_FLOAT, HR_INT32};
    const hr_shape shapes[] = {HR_SHAPE(-1), HR_SCALAR}, wrong[] = {HR_SHAPE(3), HR_SCALAR};
    const hr_attr fits = {.name = "output_shapes", .kind = HR_ATTR_SHAPES, .count = 2, .shapes = shapes};
    const hr_attr differs = {.name = "output_shapes", .kind = HR_ATTR_SHAPES, .count = 2, .shapes = wrong};
#define VALUES(FROM, TYPES, SHAPES)                                                                                    \
    hr_new_node(g, "OptionalGetValue", HR_INPUTS(FROM), HR_ATTRS(HR_TYPES_ATTR("output_types", TYPES, 2), SHAPES))
    const hr_node values = VALUES(some, types, fits);
    const hr_node fetch[] = {values, hr_node_output(values, 1), hr_new_node(g, "OptionalHasValue", HR_INPUTS(some)),
                             hr_new_node(g, "OptionalHasValue", HR_INPUTS(none))};
    const hr_node refused[] = {VALUES(none, types, fits), VALUES(some, others, fits), VALUES(some, types, differs)};
    hr_tensor out[4] = {0};
    hr_error err;
    hr_session *s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, fetch, 4, out, &err), &err);
    assert_exactly(((const float *)out[0].data)[1], 2);
    assert_int_equal(*(const int64_t *)out[1].data, 7);
    assert_true(*(const bool *)out[2].data);
    assert_false(*(const bool *)out[3].data);
    for (int i = 0; i < 4; i++) hr_tensor_clear(&out[i]);
    for (int i = 0; i < 3; i++)
        assert_status(hr_session_run(s, NULL, 0, &refused[i], 1, out, &err), HR_INVALID_ARGUMENT);
    hr_session_free(s);
    hr_graph_free(g);
}

static void zeros_keep_their_sign_in_segments(void **state)
{
    (void)state;
    EXPECT_NODE("SparseSegmentMean", "float32[1,2] -0 1; int32[1] 0; int32[1] 0", "float32[1,2] -0 1");
    EXPECT_NODE("SparseSegmentMean", "float32[1,2] -0 1; int32[2] 0 0; int32[2] 0 0", "float32[1,2] -0 1");
    EXPECT_NODE("SparseSegmentMean", "float32[1,2] -0 1; int32[9] 0 0 0 0 0 0 0 0 0; int32[9] 0 0 0 0 0 0 0 0 0",
                "float32[1,2] -0 1");
    EXPECT_NODE("SparseSegmentSum", "float32[1,2] -0 1; int32[1] 0; int32[1] 0", "float32[1,2] -0 1");
    EXPECT_NODE("SparseSegmentSum", "float32[1,2] -0 1; int32[2] 0 0; int32[2] 0 0", "float32[1,2] -0 2");
    EXPECT_NODE("SparseSegmentSum", "float32[1,2] -0 1; int32[9] 0 0 0 0 0 0 0 0 0; int32[9] 0 0 0 0 0 0 0 0 0",
                "float32[1,2] -0 9");
    EXPECT_NODE("SparseSegmentSqrtN", "float32[1,2] -0 1; int32[1] 0; int32[1] 0", "float32[1,2] -0 1");
    EXPECT_NODE("SparseSegmentSqrtN", "float32[1,2] -0 1; int32[2] 0 0; int32[2] 0 0", "float32[1,2] -0 1.41421354");
    EXPECT_NODE("SparseSegmentSqrtN", "float32[1,2] -0 1; int32[9] 0 0 0 0 0 0 0 0 0; int32[9] 0 0 0 0 0 0 0 0 0",
                "float32[1,2] -0 3");
    EXPECT_NODE("SegmentMean", "float32[1,2] -0 1; int32[1] 0", "float32[1,2] -0 1");
    EXPECT_NODE("SegmentMean", "float32[2,2] -0 1 -0 1; int32[2] 0 0", "float32[1,2] 0 1");
    EXPECT_NODE("SegmentMean", "float32[3,2] -0 1 -0 1 -0 1; int32[3] 0 0 0", "float32[1,2] 0 1");
    EXPECT_NODE("SegmentSum", "float32[1,2] -0 1; int32[1] 0", "float32[1,2] -0 1");
    EXPECT_NODE("SegmentSum", "float32[2,2] -0 1 -0 1; int32[2] 0 0", "float32[1,2] 0 2");
    EXPECT_NODE("SegmentSum", "float32[3,2] -0 1 -0 1 -0 1; int32[3] 0 0 0", "float32[1,2] 0 3");
    EXPECT_NODE("SegmentMax", "float32[1,2] -0 1; int32[1] 0", "float32[1,2] -0 1");
    EXPECT_NODE("SegmentMax", "float32[2,2] -0 1 -0 1; int32[2] 0 0", "float32[1,2] -0 1");
    EXPECT_NODE("SegmentMax", "float32[3,2] -0 1 -0 1 -0 1; int32[3] 0 0 0", "float32[1,2] -0 1");
    EXPECT_NODE("SegmentProd", "float32[1,2] -0 1; int32[1] 0", "float32[1,2] -0 1");
    EXPECT_NODE("SegmentProd", "float32[2,2] -0 1 -0 1; int32[2] 0 0", "float32[1,2] 0 1");
    EXPECT_NODE("SegmentProd", "float32[3,2] -0 1 -0 1 -0 1; int32[3] 0 0 0", "float32[1,2] -0 1");
    EXPECT_NODE("UnsortedSegmentSum", "float32[1,2] -0 1; int32[1] 0; int32[] 1", "float32[1,2] 0 1");
}

static void a_scalar_is_reversed_along_any_axis(void **state)
{
    (void)state;
    EXPECT_NODE("ReverseV2", "float32[] 1; int32[0]", "float32[] 1");
    EXPECT_NODE("ReverseV2", "float32[] 1; int32[1] 0", "float32[] 1");
}

static void no_index_is_wrong_where_nothing_is_taken(void **state)
{
    (void)state;
    EXPECT_NODE("GatherV2", "float32[3,4,0]; int32[1] -1; int32[] 0", "float32[1,4,0]");
    EXPECT_NODE("Gather", "float32[3,4,0]; int32[1] -1", "float32[1,4,0]");
    EXPECT_NODE("GatherV2", "float32[3,4,0]; int32[1] 77; int32[] 1", "float32[3,1,0]");
    EXPECT_NODE("GatherV2", "float32[0,4]; int32[1] 0; int32[] 0", NULL);
    EXPECT_NODE("GatherV2", "float32[0,0]; int32[1] 0; int32[] 0", "float32[1,0]");
    EXPECT_NODE("GatherV2", "float32[0,3,2]; int32[1] 9; int32[] 1", "float32[0,1,2]");
}

static void halves_go_to_even_in_one_mode_only(void **state)
{
    (void)state;
    EXPECT_NODE_WITH("QuantizeV2", "float32[2] 1 2.5; float32[] 0; float32[] 5", NULL, HR_TYPE_ATTR("T", HR_QUINT8),
                     HR_STRING_ATTR("mode", "MIN_COMBINED"), HR_STRING_ATTR("round_mode", "HALF_TO_EVEN"));
    EXPECT_NODE_WITH("QuantizeV2", "float32[2] 1 2.5; float32[] 0; float32[] 5", NULL, HR_TYPE_ATTR("T", HR_QUINT8),
                     HR_STRING_ATTR("mode", "MIN_FIRST"), HR_STRING_ATTR("round_mode", "HALF_TO_EVEN"));
}

/* TensorFlow ends the process. */
static void abort_ends_the_run(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    hr_error err;
    const hr_node node = hr_new_node(g, "Abort", HR_ATTRS(HR_STRING_ATTR("error_msg", "enough")));
    const hr_node target = hr_target(node);
    hr_session *s = hr_session_new(g);
    assert_status(hr_session_run(s, NULL, 0, &target, 1, NULL, &err), HR_ABORTED);
    assert_text_contains(err.text, "enough");
    hr_session_free(s);
    hr_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(abort_ends_the_run),
                                       cmocka_unit_test(zeros_keep_their_sign_in_segments),
                                       cmocka_unit_test(a_scalar_is_reversed_along_any_axis),
                                       cmocka_unit_test(no_index_is_wrong_where_nothing_is_taken),
                                       cmocka_unit_test(halves_go_to_even_in_one_mode_only),
                                       cmocka_unit_test(numbers_are_counted),
                                       cmocka_unit_test(shapes_broadcast),
                                       cmocka_unit_test(optionals_give_what_they_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
