/* Serialized SequenceExamples in a graph: what TensorFlow 2.15.1 gave for the same inputs. Of a single record it leaves
 * the outer splits as they were in memory; here they are 0. */
#include "tests/train/ops/node_text.h"

static const hr_dtype text[] = {HR_STRING}, whole[] = {HR_INT64}, real[] = {HR_FLOAT}, narrow[] = {HR_INT32};
static const hr_shape two = {1, {2}}, none = {0, {0}};
static const hr_attr pair = {.name = "context_dense_shapes", .kind = HR_ATTR_SHAPES, .count = 1, .shapes = &two};
static const hr_attr scalar = {
    .name = "feature_list_dense_shapes", .kind = HR_ATTR_SHAPES, .count = 1, .shapes = &none};

/* Keys d, s and r in the context, ld, ls and lr of the lists; `missing`: of which lists may be missing. */
#define KEY(NAME, VALUE)                                                                                               \
    ((hr_attr){                                                                                                        \
        .name = NAME, .kind = HR_ATTR_STRINGS, .count = 1, .strings = (const hr_view[]){{VALUE, sizeof VALUE - 1}}})
#define EXPECT_SEQUENCE(MISSING, INPUTS, EXPECTED)                                                                     \
    EXPECT_NODE_WITH(                                                                                                  \
        "ParseSequenceExample", INPUTS, EXPECTED, HR_INT_ATTR("Ncontext_sparse", 1), HR_INT_ATTR("Ncontext_dense", 1), \
        HR_INT_ATTR("Nfeature_list_sparse", 1), HR_INT_ATTR("Nfeature_list_dense", 1),                                 \
        KEY("feature_list_dense_missing_assumed_empty", MISSING), KEY("context_sparse_keys", "s"),                     \
        KEY("context_dense_keys", "d"), KEY("feature_list_sparse_keys", "ls"), KEY("feature_list_dense_keys", "ld"),   \
        HR_TYPES_ATTR("context_sparse_types", text, 1), HR_TYPES_ATTR("feature_list_dense_types", whole, 1),           \
        HR_TYPES_ATTR("feature_list_sparse_types", text, 1), pair, scalar)
#define EXPECT_SEQUENCE_V2(INPUTS, EXPECTED)                                                                           \
    EXPECT_NODE_WITH(                                                                                                  \
        "ParseSequenceExampleV2", INPUTS, EXPECTED, HR_INT_ATTR("Ncontext_sparse", 1),                                 \
        HR_INT_ATTR("Nfeature_list_sparse", 1), HR_INT_ATTR("Nfeature_list_dense", 1),                                 \
        HR_TYPES_ATTR("context_sparse_types", text, 1), HR_TYPES_ATTR("context_ragged_value_types", whole, 1),         \
        HR_TYPES_ATTR("context_ragged_split_types", whole, 1), HR_TYPES_ATTR("feature_list_dense_types", whole, 1),    \
        HR_TYPES_ATTR("feature_list_sparse_types", text, 1),                                                           \
        HR_TYPES_ATTR("feature_list_ragged_value_types", real, 1),                                                     \
        HR_TYPES_ATTR("feature_list_ragged_split_types", narrow, 1), pair, scalar)

static void sequences_become_tensors(void **state)
{
    (void)state;
    EXPECT_SEQUENCE(
        "",
        "string[2] '\\x0a.\\x0a\\x11\\x0a\\x01d\\x12\\x0c\\x12\\x0a\\x0a\\x08\\x00\\x00\\xc0?\\x00\\x00 "
        "@\\x0a\\x0a\\x0a\\x01r\\x12\\x05\\x1a\\x03\\x0a\\x01\\x03\\x0a\\x0d\\x0a\\x01s\\x12\\x08\\x0a\\x06\\x0a\\x01x"
        "\\x0a\\x01y\\x12X\\x0a\\x1b\\x0a\\x02ld\\x12\\x15\\x0a\\x05\\x1a\\x03\\x0a\\x01\\x01\\x0a\\x05\\x1a\\x03\\x0a"
        "\\x01\\x02\\x0a\\x05\\x1a\\x03\\x0a\\x01\\x03\\x0a\\x1e\\x0a\\x02lr\\x12\\x18\\x0a\\x08\\x12\\x06\\x0a\\x04\\x"
        "00\\x00\\x80?\\x0a\\x0c\\x12\\x0a\\x0a\\x08\\x00\\x00\\x00@\\x00\\x00@@"
        "\\x0a\\x19\\x0a\\x02ls\\x12\\x13\\x0a\\x05\\x0a\\x03\\x0a\\x01p\\x0a\\x00\\x0a\\x08\\x0a\\x06\\x0a\\x01q\\x0a"
        "\\x01r' "
        "'\\x0a\\x13\\x0a\\x11\\x0a\\x01d\\x12\\x0c\\x12\\x0a\\x0a\\x08\\x00\\x00\\x90@\\x00\\x00\\xb0@"
        "\\x12\\x17\\x0a\\x0d\\x0a\\x02ld\\x12\\x07\\x0a\\x05\\x1a\\x03\\x0a\\x01\\x07\\x0a\\x06\\x0a\\x02ls\\x12\\x00'"
        "; string[0]; float32[0]",
        "int64[2,2] 0 0 0 1; string[2] 'x' 'y'; int64[2] 2 2; float32[2,2] 1.5 2.5 4.5 5.5; int64[3,3] 0 0 0 0 2 0 0 2 "
        "1; string[3] 'p' 'q' 'r'; int64[3] 2 3 2; int64[2,3] 1 2 3 7 0 0; int64[2] 3 1");
    EXPECT_SEQUENCE(
        "",
        "string[1] '\\x0a.\\x0a\\x11\\x0a\\x01d\\x12\\x0c\\x12\\x0a\\x0a\\x08\\x00\\x00\\xc0?\\x00\\x00 "
        "@\\x0a\\x0a\\x0a\\x01r\\x12\\x05\\x1a\\x03\\x0a\\x01\\x03\\x0a\\x0d\\x0a\\x01s\\x12\\x08\\x0a\\x06\\x0a\\x01x"
        "\\x0a\\x01y\\x12X\\x0a\\x1b\\x0a\\x02ld\\x12\\x15\\x0a\\x05\\x1a\\x03\\x0a\\x01\\x01\\x0a\\x05\\x1a\\x03\\x0a"
        "\\x01\\x02\\x0a\\x05\\x1a\\x03\\x0a\\x01\\x03\\x0a\\x1e\\x0a\\x02lr\\x12\\x18\\x0a\\x08\\x12\\x06\\x0a\\x04\\x"
        "00\\x00\\x80?\\x0a\\x0c\\x12\\x0a\\x0a\\x08\\x00\\x00\\x00@\\x00\\x00@@"
        "\\x0a\\x19\\x0a\\x02ls\\x12\\x13\\x0a\\x05\\x0a\\x03\\x0a\\x01p\\x0a\\x00\\x0a\\x08\\x0a\\x06\\x0a\\x01q\\x0a"
        "\\x01r'; string[0]; float32[0]",
        "int64[2,2] 0 0 0 1; string[2] 'x' 'y'; int64[2] 1 2; float32[1,2] 1.5 2.5; int64[3,3] 0 0 0 0 2 0 0 2 1; "
        "string[3] 'p' 'q' 'r'; int64[3] 1 3 2; int64[1,3] 1 2 3; int64[1] 3");
    EXPECT_SEQUENCE(
        "",
        "string[1] '\\x0a\\x13\\x0a\\x11\\x0a\\x01d\\x12\\x0c\\x12\\x0a\\x0a\\x08\\x00\\x00\\x90@\\x00\\x00\\xb0@'; "
        "string[0]; float32[0]",
        NULL);
    EXPECT_SEQUENCE(
        "ld",
        "string[1] '\\x0a\\x13\\x0a\\x11\\x0a\\x01d\\x12\\x0c\\x12\\x0a\\x0a\\x08\\x00\\x00\\x90@\\x00\\x00\\xb0@'; "
        "string[0]; float32[0]",
        "int64[0,2]; string[0]; int64[2] 1 0; float32[1,2] 4.5 5.5; int64[0,3]; string[0]; int64[3] 1 0 0; int64[1,0]; "
        "int64[1] 0");
    EXPECT_SEQUENCE(
        "ld",
        "string[2] "
        "'\\x0a\\x13\\x0a\\x11\\x0a\\x01d\\x12\\x0c\\x12\\x0a\\x0a\\x08\\x00\\x00\\x90@\\x00\\x00\\xb0@"
        "\\x12\\x17\\x0a\\x0d\\x0a\\x02ld\\x12\\x07\\x0a\\x05\\x1a\\x03\\x0a\\x01\\x07\\x0a\\x06\\x0a\\x02ls\\x12\\x00'"
        " '\\x0a\\x13\\x0a\\x11\\x0a\\x01d\\x12\\x0c\\x12\\x0a\\x0a\\x08\\x00\\x00\\x90@\\x00\\x00\\xb0@'; string[0]; "
        "float32[0]",
        "int64[0,2]; string[0]; int64[2] 2 0; float32[2,2] 4.5 5.5 4.5 5.5; int64[0,3]; string[0]; int64[3] 2 0 0; "
        "int64[2,1] 7 0; int64[2] 1 0");
    EXPECT_SEQUENCE(
        "",
        "string[] '\\x0a.\\x0a\\x11\\x0a\\x01d\\x12\\x0c\\x12\\x0a\\x0a\\x08\\x00\\x00\\xc0?\\x00\\x00 "
        "@\\x0a\\x0a\\x0a\\x01r\\x12\\x05\\x1a\\x03\\x0a\\x01\\x03\\x0a\\x0d\\x0a\\x01s\\x12\\x08\\x0a\\x06\\x0a\\x01x"
        "\\x0a\\x01y\\x12X\\x0a\\x1b\\x0a\\x02ld\\x12\\x15\\x0a\\x05\\x1a\\x03\\x0a\\x01\\x01\\x0a\\x05\\x1a\\x03\\x0a"
        "\\x01\\x02\\x0a\\x05\\x1a\\x03\\x0a\\x01\\x03\\x0a\\x1e\\x0a\\x02lr\\x12\\x18\\x0a\\x08\\x12\\x06\\x0a\\x04\\x"
        "00\\x00\\x80?\\x0a\\x0c\\x12\\x0a\\x0a\\x08\\x00\\x00\\x00@\\x00\\x00@@"
        "\\x0a\\x19\\x0a\\x02ls\\x12\\x13\\x0a\\x05\\x0a\\x03\\x0a\\x01p\\x0a\\x00\\x0a\\x08\\x0a\\x06\\x0a\\x01q\\x0a"
        "\\x01r'; string[0]; float32[0]",
        "int64[2,1] 0 1; string[2] 'x' 'y'; int64[1] 2; float32[2] 1.5 2.5; int64[3,2] 0 0 2 0 2 1; string[3] 'p' 'q' "
        "'r'; int64[2] 3 2; int64[3] 1 2 3; int64[] 3");
    EXPECT_SEQUENCE(
        "ld",
        "string[2] '\\x0a\\x13\\x0a\\x11\\x0a\\x01d\\x12\\x0c\\x12\\x0a\\x0a\\x08\\x00\\x00\\x90@\\x00\\x00\\xb0@' "
        "'abc'; "
        "string[0]; float32[0]",
        NULL);
    EXPECT_SEQUENCE("", "string[1] 'abc'; string[0]; float32[0]", NULL);
    EXPECT_SEQUENCE("", "string[0]; string[0]; float32[0]", NULL);
    EXPECT_SEQUENCE("", "string[1] '\\x12\\x08\\x0a\\x06\\x0a\\x02ld\\x12\\x00'; string[0]; float32[0]", NULL);
    EXPECT_SEQUENCE("", "string[1] '\\x12\\x08\\x0a\\x06\\x0a\\x02ld\\x12\\x00'; string[0]; float32[2] 8 9",
                    "int64[0,2]; string[0]; int64[2] 1 0; float32[1,2] 8 9; int64[0,3]; string[0]; int64[3] 1 0 0; "
                    "int64[1,0]; int64[1] 0");
    EXPECT_SEQUENCE("",
                    "string[1] "
                    "'\\x0a\\x0f\\x0a\\x0d\\x0a\\x01d\\x12\\x08\\x12\\x06\\x0a\\x04\\x00\\x00\\xc0?"
                    "\\x12\\x08\\x0a\\x06\\x0a\\x02ld\\x12\\x00'; string[0]; float32[0]",
                    NULL);
    EXPECT_SEQUENCE("",
                    "string[1] "
                    "'\\x0a\\x0d\\x0a\\x0b\\x0a\\x01d\\x12\\x06\\x1a\\x04\\x0a\\x02\\x01\\x02\\x12\\x08\\x0a\\x06\\x0a"
                    "\\x02ld\\x12\\x00'; string[0]; float32[0]",
                    NULL);
    EXPECT_SEQUENCE(
        "",
        "string[1] '\\x0a\\x13\\x0a\\x11\\x0a\\x01d\\x12\\x0c\\x12\\x0a\\x0a\\x08\\x00\\x00\\xc0?\\x00\\x00 "
        "@\\x12\\x12\\x0a\\x10\\x0a\\x02ld\\x12\\x0a\\x0a\\x08\\x12\\x06\\x0a\\x04\\x00\\x00\\xc0?'; string[0]; "
        "float32[0]",
        NULL);
    EXPECT_SEQUENCE(
        "",
        "string[1] '\\x0a\\x13\\x0a\\x11\\x0a\\x01d\\x12\\x0c\\x12\\x0a\\x0a\\x08\\x00\\x00\\xc0?\\x00\\x00 "
        "@\\x12\\x10\\x0a\\x0e\\x0a\\x02ld\\x12\\x08\\x0a\\x06\\x1a\\x04\\x0a\\x02\\x01\\x02'; string[0]; float32[0]",
        NULL);
}

static void sequences_become_tensors_by_keys_that_are_fed(void **state)
{
    (void)state;
    EXPECT_SEQUENCE_V2(
        "string[2] '\\x0a.\\x0a\\x11\\x0a\\x01d\\x12\\x0c\\x12\\x0a\\x0a\\x08\\x00\\x00\\xc0?\\x00\\x00 "
        "@\\x0a\\x0a\\x0a\\x01r\\x12\\x05\\x1a\\x03\\x0a\\x01\\x03\\x0a\\x0d\\x0a\\x01s\\x12\\x08\\x0a\\x06\\x0a\\x01x"
        "\\x0a\\x01y\\x12X\\x0a\\x1b\\x0a\\x02ld\\x12\\x15\\x0a\\x05\\x1a\\x03\\x0a\\x01\\x01\\x0a\\x05\\x1a\\x03\\x0a"
        "\\x01\\x02\\x0a\\x05\\x1a\\x03\\x0a\\x01\\x03\\x0a\\x1e\\x0a\\x02lr\\x12\\x18\\x0a\\x08\\x12\\x06\\x0a\\x04\\x"
        "00\\x00\\x80?\\x0a\\x0c\\x12\\x0a\\x0a\\x08\\x00\\x00\\x00@\\x00\\x00@@"
        "\\x0a\\x19\\x0a\\x02ls\\x12\\x13\\x0a\\x05\\x0a\\x03\\x0a\\x01p\\x0a\\x00\\x0a\\x08\\x0a\\x06\\x0a\\x01q\\x0a"
        "\\x01r' "
        "'\\x0a\\x13\\x0a\\x11\\x0a\\x01d\\x12\\x0c\\x12\\x0a\\x0a\\x08\\x00\\x00\\x90@\\x00\\x00\\xb0@"
        "\\x12\\x17\\x0a\\x0d\\x0a\\x02ld\\x12\\x07\\x0a\\x05\\x1a\\x03\\x0a\\x01\\x07\\x0a\\x06\\x0a\\x02ls\\x12\\x00'"
        "; string[0]; string[1] 's'; string[1] 'd'; string[1] 'r'; string[1] 'ls'; string[1] 'ld'; string[1] 'lr'; "
        "bool[1] 0; float32[0]",
        "int64[2,2] 0 0 0 1; string[2] 'x' 'y'; int64[2] 2 2; float32[2,2] 1.5 2.5 4.5 5.5; int64[1] 3; int64[3] 0 1 "
        "1; int64[3,3] 0 0 0 0 2 0 0 2 1; string[3] 'p' 'q' 'r'; int64[3] 2 3 2; int64[2,3] 1 2 3 7 0 0; int64[2] 3 1; "
        "float32[3] 1 2 3; int32[3] 0 2 2; int32[3] 0 1 3");
    EXPECT_SEQUENCE_V2(
        "string[1] '\\x0a\\x13\\x0a\\x11\\x0a\\x01d\\x12\\x0c\\x12\\x0a\\x0a\\x08\\x00\\x00\\x90@\\x00\\x00\\xb0@'; "
        "string[0]; string[1] 's'; string[1] 'd'; string[1] 'r'; string[1] 'ls'; string[1] 'ld'; string[1] 'lr'; "
        "bool[1] 0; float32[0]",
        NULL);
    EXPECT_SEQUENCE_V2(
        "string[1] '\\x0a\\x13\\x0a\\x11\\x0a\\x01d\\x12\\x0c\\x12\\x0a\\x0a\\x08\\x00\\x00\\x90@\\x00\\x00\\xb0@'; "
        "string[0]; string[1] 's'; string[1] 'd'; string[1] 'r'; string[1] 'ls'; string[1] 'ld'; string[1] 'lr'; "
        "bool[1] 1; float32[0]",
        "int64[0,2]; string[0]; int64[2] 1 0; float32[1,2] 4.5 5.5; int64[0]; int64[2] 0 0; int64[0,3]; string[0]; "
        "int64[3] 1 0 0; int64[1,0]; int64[1] 0; float32[0]; int32[2] 0 0; int32[1] 0");
    EXPECT_SEQUENCE_V2(
        "string[] '\\x0a.\\x0a\\x11\\x0a\\x01d\\x12\\x0c\\x12\\x0a\\x0a\\x08\\x00\\x00\\xc0?\\x00\\x00 "
        "@\\x0a\\x0a\\x0a\\x01r\\x12\\x05\\x1a\\x03\\x0a\\x01\\x03\\x0a\\x0d\\x0a\\x01s\\x12\\x08\\x0a\\x06\\x0a\\x01x"
        "\\x0a\\x01y\\x12X\\x0a\\x1b\\x0a\\x02ld\\x12\\x15\\x0a\\x05\\x1a\\x03\\x0a\\x01\\x01\\x0a\\x05\\x1a\\x03\\x0a"
        "\\x01\\x02\\x0a\\x05\\x1a\\x03\\x0a\\x01\\x03\\x0a\\x1e\\x0a\\x02lr\\x12\\x18\\x0a\\x08\\x12\\x06\\x0a\\x04\\x"
        "00\\x00\\x80?\\x0a\\x0c\\x12\\x0a\\x0a\\x08\\x00\\x00\\x00@\\x00\\x00@@"
        "\\x0a\\x19\\x0a\\x02ls\\x12\\x13\\x0a\\x05\\x0a\\x03\\x0a\\x01p\\x0a\\x00\\x0a\\x08\\x0a\\x06\\x0a\\x01q\\x0a"
        "\\x01r'; string[0]; string[1] 's'; string[1] 'd'; string[1] 'r'; string[1] 'ls'; string[1] 'ld'; string[1] "
        "'lr'; bool[1] 0; float32[0]",
        "int64[2,1] 0 1; string[2] 'x' 'y'; int64[1] 2; float32[2] 1.5 2.5; int64[1] 3; int64[] 0; int64[3,2] 0 0 2 0 "
        "2 1; string[3] 'p' 'q' 'r'; int64[2] 3 2; int64[3] 1 2 3; int64[] 3; float32[3] 1 2 3; int32[] 0; int32[3] 0 "
        "1 3");
    EXPECT_SEQUENCE_V2("string[0]; string[0]; string[1] 's'; string[1] 'd'; string[1] 'r'; string[1] 'ls'; string[1] "
                       "'ld'; string[1] 'lr'; bool[1] 0; float32[0]",
                       NULL);
    EXPECT_SEQUENCE_V2("string[1] 'abc'; string[0]; string[1] 's'; string[1] 'd'; string[1] 'r'; string[1] 'ls'; "
                       "string[1] 'ld'; string[1] 'lr'; bool[1] 0; float32[0]",
                       NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sequences_become_tensors),
                                       cmocka_unit_test(sequences_become_tensors_by_keys_that_are_fed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
