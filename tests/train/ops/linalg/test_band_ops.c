/* Bands of diagonals: what TensorFlow 2.15.1 gave for the same inputs. */
#include "tests/train/ops/node_text.h"

static void bands_are_taken_from_matrices(void **state)
{
    (void)state;
    EXPECT_NODE_WITH("MatrixDiagPartV3", "float32[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] -1 2; float32[] 9",
                     "float32[4,3] 3 8 9 2 7 12 1 6 11 9 5 10", HR_STRING_ATTR("align", "LEFT_RIGHT"));
    EXPECT_NODE_WITH("MatrixDiagPartV3", "float32[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] -1 2; float32[] 9",
                     "float32[4,3] 9 3 8 2 7 12 1 6 11 5 10 9", HR_STRING_ATTR("align", "RIGHT_LEFT"));
    EXPECT_NODE_WITH("MatrixDiagPartV3", "float32[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] -1 2; float32[] 9",
                     "float32[4,3] 3 8 9 2 7 12 1 6 11 5 10 9", HR_STRING_ATTR("align", "LEFT_LEFT"));
    EXPECT_NODE_WITH("MatrixDiagPartV3", "float32[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] -1 2; float32[] 9",
                     "float32[4,3] 9 3 8 2 7 12 1 6 11 9 5 10", HR_STRING_ATTR("align", "RIGHT_RIGHT"));
    EXPECT_NODE("MatrixDiagPartV2", "float32[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] -2 0; float32[] 0",
                "float32[3,3] 1 6 11 5 10 0 9 0 0");
    EXPECT_NODE("MatrixDiagPartV2", "float32[2,2,3] 1 2 3 4 5 6 7 8 9 10 11 12; int32[] 1; float32[] 0",
                "float32[2,2] 2 6 8 12");
    EXPECT_NODE("MatrixDiagPart", "float32[2,3,2] 1 2 3 4 5 6 7 8 9 10 11 12", "float32[2,2] 1 4 7 10");
    EXPECT_NODE("MatrixDiagPart", "float32[4] 1 2 3 4", NULL);
    EXPECT_NODE("MatrixDiagPartV2", "float32[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] -3 0; float32[] 0", NULL);
    EXPECT_NODE("MatrixDiagPartV2", "float32[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] 0 4; float32[] 0", NULL);
    EXPECT_NODE("MatrixDiagPartV2", "float32[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] 1 0; float32[] 0", NULL);
    EXPECT_NODE("MatrixDiagPartV2", "float32[0,3]; int32[] 0; float32[] 0", "float32[0]");
    EXPECT_NODE("MatrixDiagPartV2", "float32[2,0,3]; int32[] 0; float32[] 0", "float32[2,0]");
}

static void bands_are_made_into_matrices(void **state)
{
    (void)state;
    EXPECT_NODE("MatrixDiagV2", "float32[2,3] 0 1 2 3 4 5; int32[2] 0 1; int32[] -1; int32[] -1; float32[] 9",
                "float32[3,3] 3 0 9 9 4 1 9 9 5");
    EXPECT_NODE_WITH("MatrixDiagV3", "float32[2,3] 0 1 2 3 4 5; int32[2] -1 0; int32[] -1; int32[] -1; float32[] 9",
                     "float32[3,3] 0 9 9 4 1 9 9 5 2", HR_STRING_ATTR("align", "LEFT_RIGHT"));
    EXPECT_NODE_WITH("MatrixDiagV3", "float32[2,3] 0 1 2 3 4 5; int32[2] -1 0; int32[] -1; int32[] -1; float32[] 9",
                     "float32[3,3] 0 9 9 3 1 9 9 4 2", HR_STRING_ATTR("align", "RIGHT_LEFT"));
    EXPECT_NODE("MatrixDiagV2", "float32[3] 0 1 2; int32[] 1; int32[] 3; int32[] 5; float32[] 0",
                "float32[3,5] 0 0 0 0 0 0 0 1 0 0 0 0 0 2 0");
    EXPECT_NODE("MatrixDiagV2", "float32[3] 0 1 2; int32[] 1; int32[] 3; int32[] 4; float32[] 0",
                "float32[3,4] 0 0 0 0 0 0 1 0 0 0 0 2");
    EXPECT_NODE("MatrixDiag", "bool[2] 1 0", "bool[2,2] 1 0 0 0");
    EXPECT_NODE("MatrixDiag", "float32[2,0]", "float32[2,0,0]");
    EXPECT_NODE("MatrixDiag", "float32[] 1", NULL);
}

static void bands_are_set_within_matrices(void **state)
{
    (void)state;
    EXPECT_NODE("MatrixSetDiag", "float32[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; float32[3] -1 -2 -3",
                "float32[3,4] -1 2 3 4 5 -2 7 8 9 10 -3 12");
    EXPECT_NODE("MatrixSetDiag", "float32[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; float32[2] -1 -2", NULL);
    EXPECT_NODE("MatrixSetDiag", "float32[2,0]; float32[0]", "float32[2,0]");
    EXPECT_NODE("MatrixSetDiagV2",
                "float32[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; float32[2,3] -1 -2 -3 -4 -5 0; int32[2] -1 0",
                "float32[3,4] -1 2 3 4 -4 -2 7 8 9 -5 -3 12");
    EXPECT_NODE_WITH("MatrixSetDiagV3",
                     "float32[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; float32[2,3] -1 -2 -3 -4 -5 0; int32[2] -1 0",
                     "float32[3,4] -1 2 3 4 -5 -2 7 8 9 0 -3 12", HR_STRING_ATTR("align", "RIGHT_RIGHT"));
    EXPECT_NODE("MatrixSetDiagV3", "float32[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; float32[2] -1 -2; int32[] 4", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bands_are_taken_from_matrices),
                                       cmocka_unit_test(bands_are_made_into_matrices),
                                       cmocka_unit_test(bands_are_set_within_matrices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
