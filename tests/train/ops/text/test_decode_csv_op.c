/* Lines of CSV as columns: what TensorFlow 2.15.1 gave for the same inputs. */
#include "tests/train/ops/node_text.h"

static void records_are_read_as_tensorflow_does(void **state)
{
    (void)state;
    EXPECT_NODE("DecodeCSV", "string[2] '1,a,2.5' '3,,'; int64[1] 7; string[1] 'd'; float32[1] 9",
                "int64[2] 1 3; string[2] 'a' 'd'; float32[2] 2.5 9");
    EXPECT_NODE("DecodeCSV", "string[2] '1,\"a,b\",2.5' '3,\"x\"\"y\",1e2'; int32[0]; string[0]; float32[0]",
                "int32[2] 1 3; string[2] 'a,b' 'x\"y'; float32[2] 2.5 100");
    EXPECT_NODE("DecodeCSV", "string[] '1,2'; int32[1] 0; float32[1] 0", "int32[] 1; float32[] 2");
    EXPECT_NODE("DecodeCSV", "string[2,2] '1' '2' '3' ''; int32[1] 5", NULL);
    EXPECT_NODE("DecodeCSV", "string[1] '1,2,3'; int32[1] 0; int32[1] 0", NULL);
    EXPECT_NODE("DecodeCSV", "string[1] '1'; int32[1] 0; int32[1] 0", NULL);
    EXPECT_NODE("DecodeCSV", "string[1] ''; int32[1] 4", NULL);
    EXPECT_NODE("DecodeCSV", "string[1] ''; int32[0]", NULL);
    EXPECT_NODE("DecodeCSV", "string[1] ',1'; int32[0]; int32[0]", NULL);
    EXPECT_NODE("DecodeCSV", "string[1] 'x'; int32[1] 0", NULL);
    EXPECT_NODE("DecodeCSV", "string[1] ' 1 '; int32[1] 0", "int32[1] 1");
    EXPECT_NODE("DecodeCSV", "string[1] '1.5'; int32[1] 0", NULL);
    EXPECT_NODE("DecodeCSV", "string[1] ' a ,\" b\" '; string[1] ''; string[1] ''", NULL);
    EXPECT_NODE("DecodeCSV", "string[1] '\"a\"b,c'; string[1] ''; string[1] ''", NULL);
    EXPECT_NODE("DecodeCSV", "string[1] 'a\"b,c'; string[1] ''; string[1] ''", NULL);
    EXPECT_NODE("DecodeCSV", "string[1] '\"ab,c'; string[1] ''; string[1] ''", NULL);
    EXPECT_NODE_WITH("DecodeCSV", "string[1] '\"a\"b,c'; string[1] ''; string[1] ''",
                     "string[1] '\"a\"b'; string[1] 'c'", HR_BOOL_ATTR("use_quote_delim", false));
    EXPECT_NODE_WITH("DecodeCSV", "string[1] '1;2'; int32[1] 0; int32[1] 0", "int32[1] 1; int32[1] 2",
                     HR_STRING_ATTR("field_delim", ";"));
    EXPECT_NODE_WITH("DecodeCSV", "string[1] '1 2'; int32[1] 0; int32[1] 0", "int32[1] 1; int32[1] 2",
                     HR_STRING_ATTR("field_delim", " "));
    EXPECT_NODE_WITH("DecodeCSV", "string[1] 'NA,\"NA\"'; int32[1] 6; string[1] 'z'", "int32[1] 6; string[1] 'z'",
                     HR_STRING_ATTR("na_value", "NA"));
    EXPECT_NODE_WITH("DecodeCSV", "string[1] '1,2,3'; int32[1] 0; int32[1] 0", "int32[1] 1; int32[1] 3",
                     HR_INTS_ATTR("select_cols", HR_I64(0, 2), 2));
    EXPECT_NODE_WITH("DecodeCSV", "string[1] '1,2,3'; int32[1] 0; int32[1] 0", NULL,
                     HR_INTS_ATTR("select_cols", HR_I64(2, 0), 2));
    EXPECT_NODE_WITH("DecodeCSV", "string[1] '1,2,3'; int32[1] 0", NULL, HR_INTS_ATTR("select_cols", HR_I64(0, 2), 2));
    EXPECT_NODE_WITH("DecodeCSV", "string[1] '1,2'; int32[1] 0; int32[1] 0", NULL,
                     HR_INTS_ATTR("select_cols", HR_I64(0, 5), 2));
    EXPECT_NODE("DecodeCSV", "string[1] '1,2\\x0a'; int32[1] 0; int32[1] 0", NULL);
    EXPECT_NODE("DecodeCSV", "string[1] '1,a\\x0d\\x0a'; int32[1] 0; string[1] ''", NULL);
    EXPECT_NODE("DecodeCSV", "string[1] '1,2\\x0d'; int32[1] 0; int32[1] 0", NULL);
    EXPECT_NODE("DecodeCSV", "string[1] '1,\"2\"\\x0a'; int32[1] 0; int32[1] 0", NULL);
    EXPECT_NODE("DecodeCSV", "string[1] '1,\"2\\x0a3\"'; int32[1] 0; string[1] ''", "int32[1] 1; string[1] '2\\x0a3'");
    EXPECT_NODE("DecodeCSV", "string[1] '1\\x0a2,3'; string[1] ''; string[1] ''", NULL);
    EXPECT_NODE("DecodeCSV", "string[1] 'a b,c'; string[1] ''; string[1] ''", "string[1] 'a b'; string[1] 'c'");
    EXPECT_NODE("DecodeCSV", "string[1] '1,'; int32[1] 0; string[1] 'q'", "int32[1] 1; string[1] 'q'");
    EXPECT_NODE("DecodeCSV", "string[1] '1,\"\"'; int32[1] 0; string[1] 'q'", "int32[1] 1; string[1] 'q'");
    EXPECT_NODE("DecodeCSV", "string[1] '1,\"\"'; int32[1] 0; string[0]", NULL);
    EXPECT_NODE("DecodeCSV", "string[1] '1e400,-inf,nan'; float32[1] 0; float32[1] 0; float64[1] 0.0",
                "float32[1] inf; float32[1] -inf; float64[1] nan");
    EXPECT_NODE("DecodeCSV", "string[1] '9999999999'; int32[1] 0", NULL);
    EXPECT_NODE("DecodeCSV", "string[1] '+5'; int32[1] 0", NULL);
    EXPECT_NODE("DecodeCSV", "string[1] '1'; int32[2] 1 2", NULL);
    EXPECT_NODE("DecodeCSV", "string[1] '1'; int32[1,1] 1", NULL);
    EXPECT_NODE("DecodeCSV", "string[1] '2'; int32[] 1", "int32[1] 2");
    EXPECT_NODE_WITH("DecodeCSV", "string[1] '1,2'; int32[1] 0; int32[1] 0", NULL, HR_STRING_ATTR("field_delim", ",,"));
    EXPECT_NODE_WITH("DecodeCSV", "string[1] '1\"2'; int32[1] 0", NULL, HR_STRING_ATTR("field_delim", "\""));
    EXPECT_NODE("DecodeCSV", "string[1] '1 , 2'; int32[1] 0; int32[1] 0", "int32[1] 1; int32[1] 2");
    EXPECT_NODE("DecodeCSV", "string[1] ' \"1\" ,2'; int32[1] 0; int32[1] 0", NULL);
    EXPECT_NODE("DecodeCSV", "string[1] '\"1\" ,2'; int32[1] 0; int32[1] 0", NULL);
    EXPECT_NODE("DecodeCSV", "string[1] ' ,2'; int32[1] 3; int32[1] 0", NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(records_are_read_as_tensorflow_does)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
