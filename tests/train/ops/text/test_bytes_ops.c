/* Tensors and compressed bytes as strings: what TensorFlow 2.15.1 gave for the same inputs. */
#include "tests/train/ops/node_text.h"

static void tensors_are_strings_and_back(void **state)
{
    (void)state;
    EXPECT_NODE("SerializeTensor", "string[2] 'ab' 'c'",
                "string[] '\\x08\\x07\\x12\\x04\\x12\\x02\\x08\\x02B\\x02abB\\x01c'");
    EXPECT_NODE("SerializeTensor", "float32[] 2", "string[] '\\x08\\x01\\x12\\x00\"\\x04\\x00\\x00\\x00@'");
    EXPECT_NODE_WITH("ParseTensor", "string[] '\\x08\\x01\\x12\\x04\\x12\\x02\\x08\\x02'", "float32[2] 0 0",
                     HR_TYPE_ATTR("out_type", HR_FLOAT));
    EXPECT_NODE_WITH("ParseTensor", "string[] '\\x08\\x07\\x12\\x04\\x12\\x02\\x08\\x02\"\\x05\\x02\\x01abc'",
                     "string[2] 'ab' 'c'", HR_TYPE_ATTR("out_type", HR_STRING));
    EXPECT_NODE_WITH("ParseTensor", "string[] '\\x08\\x07\\x12\\x04\\x12\\x02\\x08\\x02\"\\x05\\x03\\x01abc'", NULL,
                     HR_TYPE_ATTR("out_type", HR_STRING));
    EXPECT_NODE_WITH("ParseTensor", "string[] '\\x08\\x01\\x12\\x04\\x12\\x02\\x08\\x02'", NULL,
                     HR_TYPE_ATTR("out_type", HR_INT32));
    EXPECT_NODE_WITH("ParseTensor", "string[] 'abc'", NULL, HR_TYPE_ATTR("out_type", HR_FLOAT));
    EXPECT_NODE_WITH("ParseTensor", "string[1] '\\x08\\x01\\x12\\x04\\x12\\x02\\x08\\x02'", NULL,
                     HR_TYPE_ATTR("out_type", HR_FLOAT));
}

static void compressed_strings_are_unpacked(void **state)
{
    (void)state;
    EXPECT_NODE_WITH("DecodeCompressed", "string[1,2] 'x\\x9c\\xcbH\\xcd\\xc9\\xc9\\x07\\x00\\x06,\\x02\\x15' ''",
                     "string[1,2] 'hello' ''", HR_STRING_ATTR("compression_type", "ZLIB"));
    EXPECT_NODE_WITH("DecodeCompressed",
                     "string[1] "
                     "'\\x1f\\x8b\\x08\\x00\\x00\\x00\\x00\\x00\\x02\\x03\\xcbH\\x05\\x00\\x87f%"
                     "\\xd1\\x02\\x00\\x00\\x00\\x1f\\x8b\\x08\\x00\\x00\\x00\\x00\\x00\\x02\\x03\\xcb\\xc9\\xc9\\x07\\"
                     "x004\\xb3\\xc9\\xaa\\x03\\x00\\x00\\x00'",
                     "string[1] 'hello'", HR_STRING_ATTR("compression_type", "GZIP"));
    EXPECT_NODE("DecodeCompressed", "string[] 'abc'", "string[] 'abc'");
    EXPECT_NODE_WITH("DecodeCompressed", "string[] 'abc'", NULL, HR_STRING_ATTR("compression_type", "LZ4"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tensors_are_strings_and_back),
                                       cmocka_unit_test(compressed_strings_are_unpacked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
