/* Ops of strings: what TensorFlow 2.15.1 gave for the same inputs. */
#include "tests/train/ops/node_text.h"

#include <headrace/graph.h>
#include <headrace/graph_op.h>
#include <headrace/ops.h>
#include <math.h>
#include <string.h>

static hr_node text(hr_graph *g, const char *value)
{
    const hr_view view = hr_text_view(value);
    const hr_tensor t = hr_tensor_of(HR_STRING, HR_SHAPE(1), &view);
    return hr_const(g, &t);
}

static hr_status run(hr_graph *g, hr_node node, hr_tensor *out, hr_error *err)
{
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    hr_session *s = hr_session_new(g);
    const hr_status st = hr_session_run(s, NULL, 0, &node, 1, out, err);
    hr_session_free(s);
    return st;
}

/* NULL: it is refused. Frees the graph. */
static void expect(hr_graph *g, hr_node node, const char *expected)
{
    hr_error err;
    hr_tensor out = {0};
    const hr_status st = run(g, node, &out, &err);
    if (!expected) {
        assert_status(st, HR_INVALID_ARGUMENT);
    } else {
        assert_ok(st, &err);
        const hr_view got = *(const hr_view *)out.data;
        if (got.size != (int64_t)strlen(expected) || memcmp(got.data, expected, (size_t)got.size) != 0)
            fail_msg("%s: expected '%s', got '%.*s'", hr_node_name(node), expected, (int)got.size, got.data);
    }
    hr_tensor_clear(&out);
    hr_graph_free(g);
}

static void numbers_are_read_as_tensorflow_does(void **state)
{
    static const struct {
        const char *text;
        double value;
        bool refused;
    } cases[] = {{" 12 ", 12, false},   {"0x10", 16, false}, {"INF", INFINITY, false}, {"-1e400", -INFINITY, false},
                 {"+5", 5, false},      {"  ", 0, false},    {".5", .5, false},        {"", 0, true},
                 {"infinity", 0, true}, {"1.5f", 0, true},   {"0x1p3", 0, true},       {"1_0", 0, true}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hr_graph *g = hr_graph_new();
        hr_error err;
        hr_tensor out = {0};
        const hr_node node = hr_new_node(g, "StringToNumber", HR_INPUTS(text(g, cases[i].text)),
                                         HR_ATTRS(HR_TYPE_ATTR("out_type", HR_DOUBLE)));
        const hr_status st = run(g, node, &out, &err);
        assert_status(st, cases[i].refused ? HR_INVALID_ARGUMENT : HR_OK);
        if (!cases[i].refused && *(const double *)out.data != cases[i].value) fail_msg("'%s'", cases[i].text);
        hr_tensor_clear(&out);
        hr_graph_free(g);
    }
}

static void numbers_are_written_as_printf_does(void **state)
{
    static const struct {
        double value;
        int64_t width, precision;
        const char *fill, *expected;
        bool scientific, shortest;
    } cases[] = {{1.5, 8, -1, "+", "+1.500000", false, false},      {1.5, -1, 0, "", "2", false, false},
                 {-1.5, 12, -1, "0", "-0001.500000", false, false}, {-INFINITY, 8, -1, "0", "    -inf", false, false},
                 {1.5, 10, 1, "-", "1.5       ", false, false},     {1.5, -1, 2, "", "1.50e+00", true, false},
                 {100000, -1, -1, "", "100000", false, true},       {2, -1, 0, "#", "2.", false, false},
                 {1e300, -1, 200, "xy", NULL, false, false},        {1, -1, -1, "x", NULL, false, false}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hr_graph *g = hr_graph_new();
        const hr_tensor t = hr_tensor_of(HR_DOUBLE, HR_SHAPE(1), &cases[i].value);
        expect(
            g,
            hr_new_node(g, "AsString", HR_INPUTS(hr_const(g, &t)),
                        HR_ATTRS(HR_INT_ATTR("width", cases[i].width), HR_INT_ATTR("precision", cases[i].precision),
                                 HR_STRING_ATTR("fill", cases[i].fill), HR_BOOL_ATTR("scientific", cases[i].scientific),
                                 HR_BOOL_ATTR("shortest", cases[i].shortest))),
            cases[i].expected);
    }
}

static void parts_are_counted_from_both_ends(void **state)
{
    static const struct {
        const char *text;
        int64_t at, length;
        bool utf8;
        const char *expected;
    } cases[] = {{"abcd", 1, 2, false, "bc"},
                 {"abcd", -3, 2, false, "bc"},
                 {"abcd", 4, 2, false, ""},
                 {"abcd", 1, -2, false, "bcd"},
                 {"abcd", 5, 1, false, NULL},
                 {"ab", -3, 1, false, NULL},
                 {"\u00e9a\u00e9", 1, 2, true, "a\u00e9"},
                 {"\u00e9a\u00e9", -1, 2, true, "\u00e9"},
                 {"\u00e9a", 3, 1, true, NULL},
                 {"\u00e9", INT64_MIN, INT64_MAX, true, NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hr_graph *g = hr_graph_new();
        const hr_tensor at = hr_tensor_of(HR_INT64, HR_SCALAR, &cases[i].at);
        const hr_tensor length = hr_tensor_of(HR_INT64, HR_SCALAR, &cases[i].length);
        expect(g,
               hr_new_node(g, "Substr", HR_INPUTS(text(g, cases[i].text), hr_const(g, &at), hr_const(g, &length)),
                           HR_ATTRS(HR_STRING_ATTR("unit", cases[i].utf8 ? "UTF8_CHAR" : "BYTE"))),
               cases[i].expected);
    }
}

static void strings_are_changed_one_by_one(void **state)
{
    static const struct {
        const char *op, *text, *expected;
    } cases[] = {{"StringLower", "\u00c0B", "\u00c0b"},
                 {"StringUpper", "az", "AZ"},
                 {"StringStrip", " \t\n\v\f\rab ", "ab"},
                 {"EncodeBase64", "ab", "YWI"},
                 {"EncodeBase64", "?\?>", "Pz8-"},
                 {"DecodeBase64", "YQ", "a"},
                 {"DecodeBase64", "YQ==", "a"},
                 {"DecodeBase64", "YR==", "a"},
                 {"DecodeBase64", "", ""},
                 {"DecodeBase64", "YQ=", NULL},
                 {"DecodeBase64", "Y", NULL},
                 {"DecodeBase64", "Y+/_", NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hr_graph *g = hr_graph_new();
        expect(g, hr_new_node(g, cases[i].op, HR_INPUTS(text(g, cases[i].text))), cases[i].expected);
    }
}

static void strings_are_joined_over_axes_in_their_order(void **state)
{
    static const int64_t orders[2][2] = {{0, 1}, {1, 0}};
    static const char *const expected[] = {"a-c-b-d", "a-b-c-d"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        hr_graph *g = hr_graph_new();
        const hr_view letters[] = {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}};
        const hr_tensor t = hr_tensor_of(HR_STRING, HR_SHAPE(2, 2), letters);
        expect(g,
               hr_new_node(g, "ReduceJoin", HR_INPUTS(hr_const(g, &t), hr_ints(g, orders[i], 2)),
                           HR_ATTRS(HR_STRING_ATTR("separator", "-"))),
               expected[i]);
    }
}

/* NULL: the pattern is refused, as RE2 does. */
static void patterns_are_those_of_re2(void **state)
{
    static const struct {
        const char *text, *pattern, *rewrite, *expected;
    } cases[] = {
        {"xaab", "a*", "<\\0>", "<>x<aa>b<>"},
        {"\u00e9", "a*", "-", "-\u00e9-"},
        {"xaab", "(?P<x>a)", "<\\1>", "x<a><a>b"},
        {"xaab", "(a)", "\\2", "xaab"},
        {"xaab", "(a)", "\\x", "xb"},
        {"xaab", "(a)", "$1", "x$1$1b"},
        {"a\n", "a$", "b", "a\n"},
        {"a\n", "(?m)a$", "b", "b\n"},
        {"a\v b", "\\s", "_", "a\v_b"},
        {"a\v b", "[^\\S]", "_", "a\v_b"},
        {"a]b", "[]]", "_", "a_b"},
        {"a.b", "\\Q.\\E", "_", "a_b"},
        {"aAb", "(?i)a", "_", "__b"},
        {"S", "\\123", "_", "_"},
        {"a", "(?=a)", "", NULL},
        {"a", "(?<x>a)", "", NULL},
        {"a", "(a)\\1", "", NULL},
        {"a", "a++", "", NULL},
        {"a", "a{1001}", "", NULL},
        {"a", "(?>a)", "", NULL},
        {"a", "(*FAIL)", "", NULL},
        {"a", "[a-", "", NULL},
        {"a", "\\", "", NULL},
        {"a", "\\Z", "", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hr_graph *g = hr_graph_new();
        expect(g,
               hr_new_node(
                   g, "StaticRegexReplace", HR_INPUTS(text(g, cases[i].text)),
                   HR_ATTRS(HR_STRING_ATTR("pattern", cases[i].pattern), HR_STRING_ATTR("rewrite", cases[i].rewrite))),
               cases[i].expected);
    }
}

static void a_full_match_takes_bytes_that_are_no_characters(void **state)
{
    (void)state;
    EXPECT_NODE_WITH("StaticRegexFullMatch", "string[6] '' 'x' '\\xff' 'x\\xffx' '\\xffx' 'x\\xff'",
                     "bool[6] 1 1 0 0 0 0", HR_STRING_ATTR("pattern", "x*"));
}

/* In a time that grows as the text: with its square, this would take minutes. */
static void a_long_text_is_replaced_at_many_places(void **state)
{
    enum { PAIRS = 200000 };
    char *pairs = hr_malloc(2 * PAIRS + 1);
    (void)state;
    for (int i = 0; i < PAIRS; i++) memcpy(pairs + (ptrdiff_t)2 * i, "ab", 2);
    pairs[2 * PAIRS] = 0;
    hr_graph *g = hr_graph_new();
    hr_error err;
    hr_tensor out = {0};
    const hr_node node = hr_new_node(g, "StaticRegexReplace", HR_INPUTS(text(g, pairs)),
                                     HR_ATTRS(HR_STRING_ATTR("pattern", "b*"), HR_STRING_ATTR("rewrite", "-")));
    assert_ok(run(g, node, &out, &err), &err);
    assert_int_equal(((const hr_view *)out.data)->size, 2 * PAIRS + 1);
    hr_tensor_clear(&out);
    hr_graph_free(g);
    hr_free(pairs);
}

/* RE2 needs one step a byte; here it would be 2 to the 40th. */
static void a_pattern_that_takes_too_long_fails(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    hr_error err;
    hr_tensor out = {0};
    const hr_node node =
        hr_new_node(g, "StaticRegexFullMatch", HR_INPUTS(text(g, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab")),
                    HR_ATTRS(HR_STRING_ATTR("pattern", "(a|aa)*[cd]")));
    const hr_status st = run(g, node, &out, &err);
    assert_status(st, HR_RESOURCE_EXHAUSTED);
    assert_string_equal(err.kind, "graph.pattern_limit");
    hr_graph_free(g);
}

static void old_buckets_are_tensorflows(void **state)
{
    (void)state;
    EXPECT_NODE_WITH("StringToHashBucket", "string[4] '' 'a' 'headrace runs' '\\xff'",
                     "int64[4] 283899 535868 300747 190936", HR_INT_ATTR("num_buckets", 1000000));
}

static void bytes_that_are_no_characters_stand_alone(void **state)
{
    (void)state;
    EXPECT_NODE("RegexReplace", "string[1] 'x\\xff\\xc3y'; string[] 'a|b|'; string[] '-'",
                "string[1] '-x-\\xff-\\xc3-y-'");
    EXPECT_NODE("RegexReplace", "string[1] '\\xff'; string[] ''; string[] '-'", "string[1] '-\\xff-'");
    EXPECT_NODE("RegexReplace", "string[1] '\\xc3\\xa4\\xff'; string[] 'a|b|'; string[] '-'",
                "string[1] '-\\xc3\\xa4-\\xff-'");
    EXPECT_NODE("RegexReplace", "string[1] '\\xff\\xfe'; string[] '.'; string[] '-'", "string[1] '\\xff\\xfe'");
    EXPECT_NODE("RegexReplace", "string[1] '\\xe2\\x82x\\xff'; string[] 'x*'; string[] '-'",
                "string[1] '-\\xe2-\\x82-\\xff-'");
    EXPECT_NODE("RegexReplace", "string[1] 'a\\xf0\\x9f\\x98b'; string[] 'c|'; string[] '-'",
                "string[1] '-a-\\xf0-\\x9f-\\x98-b-'");
    EXPECT_NODE("RegexReplace", "string[1] '\\xe2\\x82\\xac\\xe2\\x82'; string[] ''; string[] '-'",
                "string[1] '-\\xe2\\x82\\xac-\\xe2-\\x82-'");
    EXPECT_NODE("RegexReplace", "string[1] 'ab\\xff'; string[] 'a|b|'; string[] '-'", "string[1] '--\\xff-'");
}

static void tensors_are_formatted_as_tensorflow_does(void **state)
{
    (void)state;
    EXPECT_NODE("StringFormat", "int32[3] 1 2 3", "string[] '[1 2 3]'");
    EXPECT_NODE_WITH("StringFormat", "int32[3] 1 2 3", "string[] 'a [1 2 3] b'", HR_STRING_ATTR("template", "a %s b"));
    EXPECT_NODE("StringFormat", "int32[10] 0 1 2 3 4 5 6 7 8 9", "string[] '[0 1 2 ... 7 8 9]'");
    EXPECT_NODE_WITH("StringFormat", "int32[10] 0 1 2 3 4 5 6 7 8 9", "string[] '[0 1 ... 8 9]'",
                     HR_INT_ATTR("summarize", 2));
    EXPECT_NODE_WITH("StringFormat", "int32[3] 1 2 3", "string[] '[ ...]'", HR_INT_ATTR("summarize", 0));
    EXPECT_NODE_WITH("StringFormat", "int32[1,3] 1 2 3", "string[] '[\\x0a ...]'", HR_INT_ATTR("summarize", 0));
    EXPECT_NODE_WITH("StringFormat", "int32[] 7", "string[] '...'", HR_INT_ATTR("summarize", 0));
    EXPECT_NODE_WITH("StringFormat", "int32[10] 0 1 2 3 4 5 6 7 8 9", "string[] '[0 1 2 3 4 5 6 7 8 9]'",
                     HR_INT_ATTR("summarize", -1));
    EXPECT_NODE_WITH(
        "StringFormat", "int32[2,3,4] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23",
        "string[] '[[[0 ... 3]\\x0a  ...\\x0a  [8 ... 11]]\\x0a\\x0a [[12 ... 15]\\x0a  ...\\x0a  [20 ... 23]]]'",
        HR_INT_ATTR("summarize", 1));
    EXPECT_NODE_WITH("StringFormat", "int32[4,6] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23",
                     "string[] '[[0 1 ... 4 5]\\x0a [6 7 ... 10 11]\\x0a [12 13 ... 16 17]\\x0a [18 19 ... 22 23]]'",
                     HR_INT_ATTR("summarize", 2));
    EXPECT_NODE_WITH("StringFormat", "int32[4,2] 0 1 2 3 4 5 6 7",
                     "string[] '[[0 1]\\x0a [2 3]\\x0a [4 5]\\x0a [6 7]]'", HR_INT_ATTR("summarize", -1));
    EXPECT_NODE_WITH("StringFormat", "float32[6] 1.5 -2 1.00000002e+20 0.333333343 nan -inf",
                     "string[] '[1.5 -2 1e+20 0.333333343 nan -inf]'", HR_INT_ATTR("summarize", 9));
    EXPECT_NODE_WITH("StringFormat", "float64[3] 1.5 0.3333333333333333 1e-07",
                     "string[] '[1.5 0.33333333333333331 1e-07]'", HR_INT_ATTR("summarize", 9));
    EXPECT_NODE_WITH("StringFormat", "string[3] 'a' 'b\"c\\x0a' '\\xc3\\xa9'",
                     "string[] '[\"a\" \"b\\x5c\"c\\x5cn\" \"\\xc3\\xa9\"]'", HR_INT_ATTR("summarize", 9));
    EXPECT_NODE("StringFormat", "string[] 'x'", "string[] '\"x\"'");
    EXPECT_NODE_WITH("StringFormat", "bool[] 1; int64[] 7", "string[] '1 and 7'",
                     HR_STRING_ATTR("template", "%s and %s"));
    EXPECT_NODE_WITH("StringFormat", "bool[] 1", "string[] '1 x'", HR_STRING_ATTR("template", "{} x"),
                     HR_STRING_ATTR("placeholder", "{}"));
    EXPECT_NODE_WITH("StringFormat", "bool[] 1", NULL, HR_STRING_ATTR("template", "none"));
    EXPECT_NODE_WITH("StringFormat", "bool[] 1", NULL, HR_STRING_ATTR("template", "%s %s"));
    EXPECT_NODE("StringFormat", "float32[0]", "string[] '[]'");
    EXPECT_NODE("StringFormat", "float32[2,0]", "string[] '[\\x0a ...]'");
    EXPECT_NODE("StringFormat", "float32[0,2]", "string[] '[]'");
    EXPECT_NODE_WITH("StringFormat", "uint8[2] 1 2; int8[1] -1", "string[] '[1 2][-1]'",
                     HR_STRING_ATTR("template", "%s%s"));
    EXPECT_NODE("StringFormat", "float16[1] 15872", "string[] '[1.5]'");
    EXPECT_NODE_WITH("StringFormat", "int32[3] 0 1 2", "string[] '[ ...]'", HR_INT_ATTR("summarize", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_formatted_as_tensorflow_does),
        cmocka_unit_test(bytes_that_are_no_characters_stand_alone),
        cmocka_unit_test(old_buckets_are_tensorflows),
        cmocka_unit_test(numbers_are_read_as_tensorflow_does),
        cmocka_unit_test(numbers_are_written_as_printf_does),
        cmocka_unit_test(parts_are_counted_from_both_ends),
        cmocka_unit_test(strings_are_changed_one_by_one),
        cmocka_unit_test(strings_are_joined_over_axes_in_their_order),
        cmocka_unit_test(patterns_are_those_of_re2),
        cmocka_unit_test(a_full_match_takes_bytes_that_are_no_characters),
        cmocka_unit_test(a_long_text_is_replaced_at_many_places),
        cmocka_unit_test(a_pattern_that_takes_too_long_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
