/* Positions moved into the batch or the depth, and back: what TensorFlow 2.15.1 gave for the same inputs. */
#include "tests/train/ops/node_text.h"

static void blocks_become_examples(void **state)
{
    (void)state;
    EXPECT_NODE("SpaceToBatchND", "float32[1,3,4,1] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] 2 2; int32[2,2] 1 0 0 2",
                "float32[4,2,3,1] 0 0 0 5 7 0 0 0 0 6 8 0 1 3 0 9 11 0 2 4 0 10 12 0");
    EXPECT_NODE("SpaceToBatchND",
                "int32[2,5,2] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19; int64[1] 3; int64[1,2] 0 1",
                "int32[6,2,2] 0 1 6 7 10 11 16 17 2 3 8 9 12 13 18 19 4 5 0 0 14 15 0 0");
    EXPECT_NODE("SpaceToBatchND", "int32[2,2] 1 2 3 4; int32[0]; int32[0,2]", "int32[2,2] 1 2 3 4");
    EXPECT_NODE("SpaceToBatchND", "float32[0,4,2]; int32[1] 2; int32[1,2] 0 0", "float32[0,2,2]");
    EXPECT_NODE("SpaceToBatchND", "float32[1,0,1]; int32[1] 2; int32[1,2] 1 1", "float32[2,1,1] 0 0");
    EXPECT_NODE("SpaceToBatchND", "float32[1,3] 1 2 3; int32[1] 2; int32[1,2] 0 0", NULL);
    EXPECT_NODE("SpaceToBatchND", "float32[1,3] 1 2 3; int32[1] 0; int32[1,2] 0 0", NULL);
    EXPECT_NODE("SpaceToBatchND", "float32[1,3] 1 2 3; int32[1] 1; int32[1,2] 1 -1", NULL);
    EXPECT_NODE("SpaceToBatchND", "float32[1,3] 1 2 3; int32[2] 1 1; int32[2,2] 0 0 0 0", NULL);
    EXPECT_NODE("SpaceToBatchND", "float32[1,3] 1 2 3; int32[1] 3; int32[2,2] 0 0 0 0", NULL);
    EXPECT_NODE("SpaceToBatchND", "float32[] 1; int32[0]; int32[0,2]", NULL);
    EXPECT_NODE("SpaceToBatchND", "float32[1,1] 1; int64[1] 9223372036854775807; int64[1,2] 9223372036854775807 5",
                NULL);
}

static void examples_become_blocks(void **state)
{
    (void)state;
    EXPECT_NODE("BatchToSpaceND",
                "int32[4,3,2,1] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23; int32[2] 2 2; "
                "int32[2,2] 1 0 0 2",
                "int32[1,5,2,1] 12 18 2 8 14 20 4 10 16 22");
    EXPECT_NODE("BatchToSpaceND",
                "int32[6,2,2] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23; int32[1] 3; "
                "int32[1,2] 2 1",
                "int32[2,3,2] 16 17 2 3 10 11 20 21 6 7 14 15");
    EXPECT_NODE("BatchToSpaceND", "float32[2,1] 1 2; int32[1] 2; int32[1,2] 1 1", "float32[1,0]");
    EXPECT_NODE("BatchToSpaceND", "float32[2,1] 1 2; int32[1] 2; int32[1,2] 2 1", NULL);
    EXPECT_NODE("BatchToSpaceND", "float32[3,1] 1 2 3; int32[1] 2; int32[1,2] 0 0", NULL);
}

static void squares_become_depth_and_back(void **state)
{
    static const char all[] = "int32[1,2,4,4] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 "
                              "27 28 29 30 31";
    const hr_attr two = HR_INT_ATTR("block_size", 2);
    (void)state;
    EXPECT_NODE_WITH("SpaceToDepth", all,
                     "int32[1,1,2,16] 0 1 2 3 4 5 6 7 16 17 18 19 20 21 22 23 8 9 10 11 12 13 14 15 24 25 26 27 28 29 "
                     "30 31",
                     two);
    EXPECT_NODE_WITH("DepthToSpace", all,
                     "int32[1,4,8,1] 0 1 4 5 8 9 12 13 2 3 6 7 10 11 14 15 16 17 20 21 24 25 28 29 18 19 22 23 26 27 "
                     "30 31",
                     two);
    EXPECT_NODE_WITH("DepthToSpace", "int32[1,1,2,8] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15",
                     "int32[1,2,4,2] 0 1 2 3 8 9 10 11 4 5 6 7 12 13 14 15", two);
    EXPECT_NODE_WITH("SpaceToDepth", "int32[1,3,2,1] 1 2 3 4 5 6", NULL, two);
    EXPECT_NODE_WITH("DepthToSpace", "int32[1,1,1,6] 1 2 3 4 5 6", NULL, two);
    EXPECT_NODE_WITH("DepthToSpace", "int32[1,4] 1 2 3 4", NULL, two);
}

static void gradients_go_back_to_the_space(void **state)
{
    static const float expected[] = {13, 19, 14, 20, 4, 10, 5, 11, 16, 22, 17, 23};
    float up[24];
    hr_graph *g = hr_graph_new();
    hr_error err;
    hr_tensor out;
    (void)state;
    for (int i = 0; i < 24; i++) up[i] = (float)(i + 1);
    const hr_tensor weights = hr_tensor_of(HR_FLOAT, HR_SHAPE(4, 2, 3, 1), up);
    const hr_tensor in = hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 3, 4, 1), expected);
    const hr_node x = hr_const(g, &in), block = hr_ints(g, HR_I64(2, 2), 2);
    const hr_node edges = hr_reshape(hr_ints(g, HR_I64(1, 0, 0, 2), 4), hr_ints(g, HR_I64(2, 2), 2));
    const hr_node y = hr_mul(hr_new_node(g, "SpaceToBatchND", HR_INPUTS(x, block, edges)), hr_const(g, &weights));
    hr_gradient by;
    hr_gradients(&y, 1, &x, 1, &by);
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    hr_session *s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, &by.values, 1, &out, &err), &err);
    assert_int_equal(out.count, 12);
    assert_memory_equal(out.data, expected, sizeof expected);
    hr_tensor_clear(&out);
    hr_session_free(s);
    hr_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_become_examples),
        cmocka_unit_test(examples_become_blocks),
        cmocka_unit_test(squares_become_depth_and_back),
        cmocka_unit_test(gradients_go_back_to_the_space),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
