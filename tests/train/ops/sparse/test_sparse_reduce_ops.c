/* Sparse tensors over axes, added, crossed, and with their empty rows filled: what TensorFlow 2.15.1 gave for the same inputs. */
#include "tests/train/ops/node_text.h"

static void axes_are_reduced_once(void **state)
{
    (void)state;
    EXPECT_NODE("SparseReduceMax", "int64[4,2] 0 0 0 1 1 1 2 0; float32[4] -1 -2 5 -7; int64[2] 4 2; int32[1] 0",
                "float32[2] -1 5");
    EXPECT_NODE("SparseReduceSum", "int64[4,2] 0 0 0 1 1 1 2 0; float32[4] -1 -2 5 -7; int64[2] 4 2; int32[1] 0",
                "float32[2] -8 3");
    EXPECT_NODE_WITH("SparseReduceMax", "int64[4,2] 0 0 0 1 1 1 2 0; float32[4] -1 -2 5 -7; int64[2] 4 2; int32[1] 1",
                     "float32[4,1] -1 5 -7 0", HR_BOOL_ATTR("keep_dims", true));
    EXPECT_NODE_WITH("SparseReduceSum", "int64[4,2] 0 0 0 1 1 1 2 0; float32[4] -1 -2 5 -7; int64[2] 4 2; int32[1] 1",
                     "float32[4,1] -3 5 -7 0", HR_BOOL_ATTR("keep_dims", true));
    EXPECT_NODE("SparseReduceMax", "int64[4,2] 0 0 0 1 1 1 2 0; float32[4] -1 -2 5 -7; int64[2] 4 2; int32[2] 0 1",
                "float32[] 5");
    EXPECT_NODE("SparseReduceSum", "int64[4,2] 0 0 0 1 1 1 2 0; float32[4] -1 -2 5 -7; int64[2] 4 2; int32[2] 0 1",
                "float32[] -5");
    EXPECT_NODE("SparseReduceMax", "int64[4,2] 0 0 0 1 1 1 2 0; float32[4] -1 -2 5 -7; int64[2] 4 2; int32[0]",
                "float32[4,2] -1 -2 0 5 -7 0 0 0");
    EXPECT_NODE("SparseReduceSum", "int64[4,2] 0 0 0 1 1 1 2 0; float32[4] -1 -2 5 -7; int64[2] 4 2; int32[0]",
                "float32[4,2] -1 -2 0 5 -7 0 0 0");
    EXPECT_NODE("SparseReduceMax", "int64[4,2] 0 0 0 1 1 1 2 0; float32[4] -1 -2 5 -7; int64[2] 4 2; int32[2] 0 0",
                "float32[2] -1 5");
    EXPECT_NODE("SparseReduceSum", "int64[4,2] 0 0 0 1 1 1 2 0; float32[4] -1 -2 5 -7; int64[2] 4 2; int32[2] 0 0",
                "float32[2] -8 3");
    EXPECT_NODE("SparseReduceMax", "int64[2,2] 0 0 0 1; float32[2] nan 1; int64[2] 1 2; int32[1] 1", "float32[1] 1");
    EXPECT_NODE("SparseReduceMax", "int64[2,2] 0 0 0 1; float32[2] 1 nan; int64[2] 1 2; int32[1] 1", "float32[1] nan");
    EXPECT_NODE("SparseReduceSum", "int64[2,2] 0 0 1 1; float32[2] 1 2; int64[2] 2 2; int32[2] 0 0", "float32[2] 1 2");
    EXPECT_NODE("SparseReduceSum", "int64[2,2] 0 0 1 1; float32[2] 1 2; int64[2] 2 2; int32[2] 0 -2", "float32[2] 1 2");
    EXPECT_NODE_WITH("SparseReduceSum", "int64[2,2] 0 0 1 1; float32[2] 1 2; int64[2] 2 2; int32[3] 0 -2 1",
                     "float32[1,1] 3", HR_BOOL_ATTR("keep_dims", true));
    EXPECT_NODE("SparseReduceSum", "int64[2,2] 0 0 1 1; float32[2] 1 2; int64[2] 2 2; int32[3] 1 1 1",
                "float32[2] 1 2");
}

static void entries_are_added_in_order(void **state)
{
    (void)state;
    EXPECT_NODE("SparseAdd",
                "int64[3,2] 0 0 1 1 2 0; float32[3] 1 2 3; int64[2] 3 2; int64[2,2] 0 1 1 1; float32[2] 10 -2; "
                "int64[2] 3 2; float32[] 0",
                "int64[4,2] 0 0 0 1 1 1 2 0; float32[4] 1 10 0 3; int64[2] 3 2");
    EXPECT_NODE("SparseAdd",
                "int64[3,2] 0 0 1 1 2 0; float32[3] 1 2 3; int64[2] 3 2; int64[2,2] 0 1 1 1; float32[2] 10 -2; "
                "int64[2] 3 2; float32[] 1.5",
                "int64[3,2] 0 0 0 1 2 0; float32[3] 1 10 3; int64[2] 3 2");
    EXPECT_NODE("SparseAdd",
                "int64[3,2] 0 0 1 1 2 0; int32[3] 1 2 3; int64[2] 3 2; int64[2,2] 0 1 1 1; int32[2] 10 -2; int64[2] 3 "
                "2; int32[] 3",
                "int64[3,2] 0 0 0 1 2 0; int32[3] 1 10 3; int64[2] 3 2");
    EXPECT_NODE("SparseAdd",
                "int64[0,2]; float32[0]; int64[2] 3 2; int64[1,2] 0 1; float32[1] 10; int64[2] 3 2; float32[] 0",
                "int64[1,2] 0 1; float32[1] 10; int64[2] 3 2");
    EXPECT_NODE("SparseAdd",
                "int64[1,2] 0 1; float32[1] 1; int64[2] 3 2; int64[1,2] 0 1; float32[1] 10; int64[2] 3 3; float32[] 0",
                NULL);
}

static void empty_rows_are_filled(void **state)
{
    (void)state;
    EXPECT_NODE("SparseFillEmptyRows", "int64[2,2] 2 0 0 0; float32[2] 1 2; int64[2] 3 2; float32[] 0",
                "int64[3,2] 0 0 1 0 2 0; float32[3] 2 0 1; bool[3] 0 1 0; int64[2] 2 0");
    EXPECT_NODE("SparseFillEmptyRows", "int64[1,2] 3 0; float32[1] 1; int64[2] 3 2; float32[] 0", NULL);
    EXPECT_NODE("SparseFillEmptyRows", "int64[0,2]; float32[0]; int64[2] 0 2; float32[] 0",
                "int64[0,2]; float32[0]; bool[0]; int64[0]");
    EXPECT_NODE("SparseFillEmptyRows", "int64[0,0]; float32[0]; int64[0]; float32[] 0", NULL);
    EXPECT_NODE("SparseFillEmptyRows", "int64[1,0]; float32[1] 1; int64[0]; float32[] 0", NULL);
    EXPECT_NODE("SparseFillEmptyRows", "int64[0,2]; float32[0]; int64[2] 2 2; float32[1] 0", NULL);
    EXPECT_NODE("SparseFillEmptyRows", "int64[1,2] 0 0; float32[1] 1; int64[1] 2; float32[] 0", NULL);
    EXPECT_NODE("SparseFillEmptyRows", "int64[1,2] 0 0; float32[1] 1; int64[3] 2 3 4; float32[] 0", NULL);
}

#define CROSS(INPUTS, EXPECTED, INTERNAL, OUT)                                                                         \
    EXPECT_NODE_WITH("SparseCross", INPUTS, EXPECTED, HR_INT_ATTR("N", 0), HR_INT_ATTR("num_buckets", 10),             \
                     HR_BOOL_ATTR("hashed_output", (OUT) == HR_INT64), HR_INT_ATTR("hash_key", 1),                     \
                     HR_TYPES_ATTR("sparse_types", NULL, 0), HR_TYPE_ATTR("out_type", OUT),                            \
                     HR_TYPE_ATTR("internal_type", INTERNAL))

static void numbers_are_crossed_as_numbers_only(void **state)
{
    (void)state;
    CROSS("string[1,1] 'a'; string[1,1] 'b'", "int64[1,2] 0 0; int64[1] 3; int64[2] 1 1", HR_INT64, HR_INT64);
    CROSS("string[1,1] 'a'; string[1,1] 'b'", "int64[1,2] 0 0; int64[1] 3; int64[2] 1 1", HR_STRING, HR_INT64);
    CROSS("int64[1,1] 1; int64[1,1] 2", "int64[1,2] 0 0; int64[1] 9; int64[2] 1 1", HR_INT64, HR_INT64);
    CROSS("int64[1,1] 1; int64[1,1] 2", NULL, HR_STRING, HR_INT64);
    CROSS("string[1,1] 'a'; int64[1,1] 2", NULL, HR_STRING, HR_STRING);
    CROSS("string[1,1] 'a'; int64[1,1] 2", "int64[1,2] 0 0; string[1] 'a_X_2'; int64[2] 1 1", HR_INT64, HR_STRING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_crossed_as_numbers_only), cmocka_unit_test(axes_are_reduced_once),
        cmocka_unit_test(entries_are_added_in_order), cmocka_unit_test(empty_rows_are_filled)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
