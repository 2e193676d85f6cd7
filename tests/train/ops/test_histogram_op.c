/* Histograms, counts by row, and rows shuffled by a key: what TensorFlow 2.15.1 gave for the same inputs. */
#include "tests/train/ops/node_text.h"

#include <headrace/graph.h>
#include <headrace/graph_op.h>
#include <headrace/ops.h>

static void values_are_counted_by_bins(void **state)
{
    (void)state;
    EXPECT_NODE("HistogramFixedWidth", "float32[6] -1.0 0.0 1.5 2.0 5.0 15.0; float32[2] 0.0 5.0; int32[] 5",
                "int32[5] 2 1 1 0 2");
    EXPECT_NODE("HistogramFixedWidth", "float32[1] 0.0; float32[2] 0.0 5.0; int32[] 5", "int32[5] 1 0 0 0 0");
    EXPECT_NODE("HistogramFixedWidth", "float32[0]; float32[2] 0.0 5.0; int32[] 5", "int32[5] 0 0 0 0 0");
    EXPECT_NODE_WITH("HistogramFixedWidth", "float64[2,2] -1.0 0.1 4.999 1e+300; float64[2] 0.0 5.0; int32[] 3",
                     "int64[3] 2 0 2", HR_TYPE_ATTR("dtype", HR_INT64));
    EXPECT_NODE("HistogramFixedWidth", "int32[5] -7 0 3 99 2147483647; int32[2] -10 100; int32[] 4",
                "int32[4] 3 0 0 2");
    EXPECT_NODE("HistogramFixedWidth", "int64[5] -7 0 3 99 1152921504606846976; int64[2] -10 100; int32[] 4",
                "int32[4] 3 0 0 2");
    EXPECT_NODE("HistogramFixedWidth", "float32[3] inf -inf 3.0; float32[2] 0.0 5.0; int32[] 5", "int32[5] 1 0 0 1 1");
    EXPECT_NODE("HistogramFixedWidth", "float32[1] nan; float32[2] 0.0 5.0; int32[] 5", NULL);
    EXPECT_NODE("HistogramFixedWidth", "float32[1] 1.0; float32[2] 5.0 5.0; int32[] 5", NULL);
    EXPECT_NODE("HistogramFixedWidth", "float32[1] 1.0; float32[2] 6.0 5.0; int32[] 5", NULL);
    EXPECT_NODE("HistogramFixedWidth", "float32[1] 1.0; float32[2] 0.0 5.0; int32[] 0", NULL);
    EXPECT_NODE("HistogramFixedWidth", "float32[1] 1.0; float32[2] 0.0 5.0; int32[] -2", NULL);
    EXPECT_NODE("HistogramFixedWidth", "float32[1] 1.0; float32[3] 0.0 5.0 6.0; int32[] 2", NULL);
}

static void rows_of_any_length_are_counted(void **state)
{
    (void)state;
    EXPECT_NODE("RaggedBincount", "int64[4] 0 2 2 5; int32[5] 1 1 0 7 2; int32[] 4; float32[0]",
                "float32[3,4] 0.0 2.0 0.0 0.0 0.0 0.0 0.0 0.0 1.0 0.0 1.0 0.0");
    EXPECT_NODE("RaggedBincount", "int64[4] 0 2 2 5; int32[5] 1 1 0 7 2; int32[] 4; float32[5] 0.5 1.0 2.0 3.0 4.0",
                "float32[3,4] 0.0 1.5 0.0 0.0 0.0 0.0 0.0 0.0 2.0 0.0 4.0 0.0");
    EXPECT_NODE("RaggedBincount", "int64[4] 0 2 2 5; int32[5] 1 1 0 7 2; int32[] 4; int32[5] 1 2 3 4 5",
                "int32[3,4] 0 3 0 0 0 0 0 0 3 0 5 0");
    EXPECT_NODE("RaggedBincount", "int64[4] 0 2 2 5; int32[5] 1 1 0 7 2; int32[] 4; int64[5] 1 2 3 4 5",
                "int64[3,4] 0 3 0 0 0 0 0 0 3 0 5 0");
    EXPECT_NODE_WITH("RaggedBincount", "int64[3] 0 3 5; int64[5] 1 1 0 7 2; int64[] 3; float32[0]",
                     "float32[2,3] 1.0 1.0 0.0 0.0 0.0 1.0", HR_BOOL_ATTR("binary_output", true));
    EXPECT_NODE("RaggedBincount", "int64[2] 0 5; int64[5] 1 1 0 7 2; int64[] 0; float32[0]", "float32[1,0]");
    EXPECT_NODE("RaggedBincount", "int64[1] 0; int32[0]; int32[] 3; float32[0]", "float32[0,3]");
    EXPECT_NODE("RaggedBincount", "int64[2] 1 5; int32[5] 1 1 0 7 2; int32[] 3; float32[0]", NULL);
    EXPECT_NODE("RaggedBincount", "int64[2] 0 4; int32[5] 1 1 0 7 2; int32[] 3; float32[0]", NULL);
    EXPECT_NODE("RaggedBincount", "int64[2] 0 5; int32[5] 1 -1 0 7 2; int32[] 3; float32[0]", NULL);
    EXPECT_NODE("RaggedBincount", "int64[2] 0 5; int32[5] 1 1 0 7 2; int32[] -1; float32[0]", NULL);
}

static void rows_are_shuffled_by_a_key(void **state)
{
    (void)state;
    EXPECT_NODE("StatelessShuffle", "int32[10] 0 1 2 3 4 5 6 7 8 9; uint64[1] 1; uint64[2] 1 2; int32[] 1",
                "int32[10] 1 8 3 4 9 5 0 2 6 7");
    EXPECT_NODE("StatelessShuffle",
                "int32[10] 0 1 2 3 4 5 6 7 8 9; uint64[1] 9223372036854775813; uint64[2] 1099511627776 "
                "1125899906842624; int32[] 1",
                "int32[10] 3 1 5 9 0 4 7 2 6 8");
    EXPECT_NODE("StatelessShuffle", "string[3] 'a' 'b' 'c'; uint64[1] 1; uint64[2] 1 2; int32[] 1",
                "string[3] 'c' 'b' 'a'");
    EXPECT_NODE(
        "StatelessShuffle",
        "string[3] 'a' 'b' 'c'; uint64[1] 9223372036854775813; uint64[2] 1099511627776 1125899906842624; int32[] 1",
        "string[3] 'c' 'b' 'a'");
    EXPECT_NODE("StatelessShuffle",
                "float32[6,2] 0.0 1.0 2.0 3.0 4.0 5.0 6.0 7.0 8.0 9.0 10.0 11.0; uint64[1] 1; uint64[2] 1 2; int32[] 1",
                "float32[6,2] 10.0 11.0 4.0 5.0 6.0 7.0 8.0 9.0 0.0 1.0 2.0 3.0");
    EXPECT_NODE("StatelessShuffle",
                "float32[6,2] 0.0 1.0 2.0 3.0 4.0 5.0 6.0 7.0 8.0 9.0 10.0 11.0; uint64[1] 9223372036854775813; "
                "uint64[2] 1099511627776 1125899906842624; int32[] 1",
                "float32[6,2] 10.0 11.0 4.0 5.0 0.0 1.0 2.0 3.0 6.0 7.0 8.0 9.0");
    EXPECT_NODE("StatelessShuffle", "int32[] 3; uint64[1] 1; uint64[2] 1 2; int32[] 1", "int32[] 3");
    EXPECT_NODE("StatelessShuffle",
                "int32[] 3; uint64[1] 9223372036854775813; uint64[2] 1099511627776 1125899906842624; int32[] 1",
                "int32[] 3");
    EXPECT_NODE("StatelessShuffle", "int32[1] 7; uint64[1] 1; uint64[2] 1 2; int32[] 1", "int32[1] 7");
    EXPECT_NODE("StatelessShuffle",
                "int32[1] 7; uint64[1] 9223372036854775813; uint64[2] 1099511627776 1125899906842624; int32[] 1",
                "int32[1] 7");
    EXPECT_NODE("StatelessShuffle", "int32[10] 0 1 2 3 4 5 6 7 8 9; uint64[1] 1; uint64[2] 1 2; int32[] 9", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_counted_by_bins),
        cmocka_unit_test(rows_of_any_length_are_counted),
        cmocka_unit_test(rows_are_shuffled_by_a_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
