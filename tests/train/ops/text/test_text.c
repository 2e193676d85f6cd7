/* Constructors of <headrace/text_ops.h>: what TensorFlow 2.15.1 gives for the same calls of tf.strings and tf.io. */
#include "tests/train/ops/node_text.h"

#include <headrace/io.h>
#include <headrace/text_ops.h>
#include <string.h>

static hr_graph *g;

static int begin(void **state)
{
    (void)state;
    g = hr_graph_new();
    return g ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    hr_graph_free(g);
    return 0;
}

#define TEXTS(...)                                                                                                     \
    hr_texts(g, (const char *const[]){__VA_ARGS__}, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)))

static bool same_values(const hr_tensor *a, const hr_tensor *b)
{
    if (a->dtype != b->dtype || !hr_shape_equal(a->shape, b->shape)) return false;
    if (a->dtype != HR_STRING) return memcmp(a->data, b->data, (size_t)a->count * hr_dtype_size(a->dtype)) == 0;
    for (int64_t i = 0; i < a->count; i++) {
        const hr_view x = ((const hr_view *)a->data)[i], y = ((const hr_view *)b->data)[i];
        if (x.size != y.size || memcmp(x.data, y.data, (size_t)x.size) != 0) return false;
    }
    return true;
}

/* The node's value is this one, as text. */
static void gives(hr_node node, const char *expected)
{
    hr_error err;
    hr_tensor out = {0}, wanted;
    if (hr_graph_error(g)) fail_msg("%s: %s", expected, hr_graph_error(g)->text);
    hr_session *s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, &node, 1, &out, &err), &err);
    assert_int_equal(node_text_read(expected, &wanted), 1);
    if (!same_values(&out, &wanted)) fail_msg("%s: expected %s, got others", hr_node_name(node), expected);
    hr_tensor_clear(&out);
    hr_tensor_clear(&wanted);
    hr_session_free(s);
}

static void strings_change_as_in_tensorflow(void **state)
{
    (void)state;
    const hr_node t = TEXTS(" Ab ", "\xc3\x84x,y", "z");
    gives(hr_string_lower(t), "string[3] ' ab ' '\\xc3\\x84x,y' 'z'");
    gives(hr_string_upper(t), "string[3] ' AB ' '\\xc3\\x84X,Y' 'Z'");
    gives(hr_string_upper(TEXTS("ab"), .utf8 = true), "string[1] 'AB'");
    gives(hr_string_length(t), "int32[3] 4 5 1");
    gives(hr_string_length(t, .utf8 = true, .name = "characters"), "int32[3] 4 4 1");
    gives(hr_string_strip(t), "string[3] 'Ab' '\\xc3\\x84x,y' 'z'");
    const hr_node one = hr_scalar(g, HR_INT32, 1), three = hr_scalar(g, HR_INT32, 3), two = hr_scalar(g, HR_INT64, 2);
    gives(hr_substr(TEXTS("hello", "world"), one, three), "string[2] 'ell' 'orl'");
    gives(hr_substr(TEXTS("h\xc3\xa4llo", "w\xc3\xb6rld"), hr_scalar(g, HR_INT64, -4), two, .utf8 = true),
          "string[2] '\\xc3\\xa4l' '\\xc3\\xb6r'");
}

static void strings_are_joined_and_split(void **state)
{
    (void)state;
    const hr_node parts[] = {TEXTS("a", "b"), TEXTS("c", "d")};
    gives(hr_string_join(parts, 2, "-"), "string[2] 'a-c' 'b-d'");
    gives(hr_string_join(parts, 2, NULL), "string[2] 'ac' 'bd'");
    const hr_node x = hr_reshape(TEXTS("a", "b", "c", "d"), hr_shape_const(g, HR_SHAPE(2, 2)));
    gives(hr_reduce_join(x), "string[] 'abcd'");
    gives(hr_reduce_join(x, .axes = (const int64_t[]){0, 1}, .axis_count = 2, .separator = "+"), "string[] 'a+c+b+d'");
    gives(hr_reduce_join(x, .axes = HR_I64(1), .axis_count = 1, .keep_dims = true), "string[2,1] 'ab' 'cd'");
    const hr_node blanks = hr_string_split(TEXTS("a b  c", "", " d"));
    gives(blanks, "int64[4,2] 0 0 0 1 0 2 2 0");
    gives(hr_node_output(blanks, 1), "string[4] 'a' 'b' 'c' 'd'");
    gives(hr_node_output(blanks, 2), "int64[2] 3 3");
    const hr_node commas = hr_string_split(TEXTS("a,,b,c"), .separator = ",", .max_split = 2);
    gives(hr_node_output(commas, 1), "string[3] 'a' '' 'b,c'");
}

static void patterns_are_replaced(void **state)
{
    (void)state;
    gives(hr_regex_replace(TEXTS("a1b22", "x"), "[0-9]+", "<\\0>"), "string[2] 'a<1>b<22>' 'x'");
    gives(hr_regex_replace(TEXTS("a1b22"), "[0-9]+", "", .first_only = true), "string[1] 'ab22'");
    gives(hr_regex_full_match(TEXTS("ab", "abc"), "a.."), "bool[2] 0 1");
}

static void numbers_become_text_and_back(void **state)
{
    (void)state;
    const hr_tensor pair = hr_tensor_of(HR_FLOAT, HR_SHAPE(2), HR_F32(1.5f, -2.25f));
    const hr_node x = hr_const(g, &pair);
    gives(hr_as_string(x), "string[2] '1.500000' '-2.250000'");
    gives(hr_as_string(x, .precision = HR_I64(1)), "string[2] '1.5' '-2.2'");
    gives(hr_as_string(hr_scalar(g, HR_FLOAT, 1.5), .scientific = true), "string[] '1.500000e+00'");
    gives(hr_as_string(x, .shortest = true), "string[2] '1.5' '-2.25'");
    gives(hr_as_string(hr_ints(g, (const int64_t[]){7, -7}, 2), .width = 4, .fill = "0"), "string[2] '0007' '-007'");
    gives(hr_string_to_number(TEXTS("1.5", "-2"), HR_FLOAT), "float32[2] 1.5 -2");
    gives(hr_string_to_number(TEXTS("12"), HR_INT64), "int64[1] 12");
    gives(hr_string_to_hash_bucket(TEXTS("hello", "1"), 10), "int64[2] 6 9");
}

static void bytes_are_numbers(void **state)
{
    (void)state;
    gives(hr_decode_raw(TEXTS("\x01\x02", "\x03\x04"), HR_INT16), "int16[2,1] 513 1027");
    gives(hr_decode_raw(TEXTS("\x01\x02"), HR_INT16, .big_endian = true), "int16[1,1] 258");
    gives(hr_encode_base64(TEXTS("a?>\xc3\xbf"), false), "string[1] 'YT8-w78'");
    gives(hr_encode_base64(TEXTS("a"), true), "string[1] 'YQ=='");
    gives(hr_decode_base64(TEXTS("YQ")), "string[1] 'a'");
}

/* Two records: ids 1 2 | none, x 3 | missing, steps 5 6 | 7. */
static hr_node two_records(void)
{
    hr_error err;
    hr_view made, record[2];
    hr_example *ex = hr_example_new();
    hr_tensor all = {0};
    assert_ok(hr_tensor_new(&all, HR_STRING, HR_SHAPE(2), &err), &err);
    for (int r = 0; r < 2; r++) {
        hr_example_clear(ex);
        if (r == 0) hr_example_add_int64(ex, "ids", (const int64_t[]){1, 2}, 2);
        if (r == 0) hr_example_add_float(ex, "x", HR_F32(3), 1);
        hr_example_add_int64(ex, "steps", r == 0 ? (const int64_t[]){5, 6} : HR_I64(7), 2 - r);
        assert_ok(hr_example_bytes(ex, &made, &err), &err);
        record[r] = (hr_view){hr_memdup(made.data, (size_t)made.size), made.size};
        ((hr_view *)all.data)[r] = record[r];
    }
    hr_example_free(ex);
    const hr_node node = hr_const(g, &all);
    hr_tensor_clear(&all);
    for (int r = 0; r < 2; r++) hr_free((void *)(uintptr_t)record[r].data);
    return node;
}

static void examples_become_nodes(void **state)
{
    (void)state;
    hr_parsed_feature out[5];
    const hr_tensor nine = hr_tensor_of(HR_DOUBLE, HR_SHAPE(1), &(const double){9});
    const hr_parse_spec *spec =
        HR_PARSE_SPEC({.key = "ids", .kind = HR_VAR_LEN, .dtype = HR_INT32},
                      {.key = "x", .dtype = HR_DOUBLE, .shape = HR_SHAPE(1), .default_value = &nine},
                      {.key = "steps", .kind = HR_FIXED_LEN_SEQUENCE, .dtype = HR_INT64, .shape = HR_SCALAR});
    const hr_parse_spec *others = HR_PARSE_SPEC({.key = "ids", .kind = HR_RAGGED_FEATURE, .dtype = HR_INT64},
                                                {.key = "steps", .kind = HR_VAR_LEN, .dtype = HR_INT64});
    hr_parse_example_nodes(two_records(), spec, out);
    hr_parse_example_nodes(two_records(), others, out + 3);
    gives(out[0].values, "int32[2] 1 2");
    gives(out[0].indices, "int64[2,2] 0 0 0 1");
    gives(out[0].dense_shape, "int64[2] 2 2");
    gives(out[1].values, "float64[2,1] 3 9");
    gives(out[2].values, "int64[2,2] 5 6 7 0");
    gives(out[3].values, "int64[2] 1 2");
    gives(out[3].row_splits, "int32[3] 0 2 2");
    gives(out[4].values, "int64[3] 5 6 7");
    gives(out[4].indices, "int64[3,2] 0 0 0 1 1 0");
    assert_null(out[1].indices.graph);
    assert_null(out[3].indices.graph);
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    hr_parsed_feature out[1];
    hr_parse_example_nodes((hr_node){0}, HR_PARSE_SPEC({.key = "x"}), out);
    assert_null(out[0].values.graph);
    assert_false(hr_node_exists(hr_string_join(NULL, 2, NULL)));
    assert_false(hr_node_exists(hr_string_lower((hr_node){0})));
    assert_false(hr_node_exists(hr_string_split((hr_node){0})));
    assert_false(hr_node_exists(hr_reduce_join((hr_node){0})));
    assert_false(hr_node_exists(hr_texts(NULL, NULL, 0)));
    hr_parse_example_nodes(TEXTS("x"), NULL, NULL);
    hr_parse_example_nodes(TEXTS("x"), HR_PARSE_SPEC({.key = "x"}), NULL);
    gives(hr_regex_replace(TEXTS("x"), NULL, NULL), "string[1] 'x'");
    assert_null(hr_graph_error(g));
    hr_parse_example_nodes(TEXTS("x"), HR_PARSE_SPEC({.key = "x", .kind = HR_SPARSE_FEATURE}), out);
    assert_false(hr_node_exists(out[0].values));
    assert_string_equal(hr_graph_error(g)->kind, "text.feature");
}

static void unknown_ranks_need_axes(void **state)
{
    (void)state;
    assert_false(hr_node_exists(hr_reduce_join(hr_placeholder(g, HR_STRING, HR_UNKNOWN_SHAPE))));
    assert_string_equal(hr_graph_error(g)->kind, "graph.shape");
}

#define GRAPH_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)
int main(void)
{
    const struct CMUnitTest tests[] = {
        GRAPH_TEST(strings_change_as_in_tensorflow),
        GRAPH_TEST(strings_are_joined_and_split),
        GRAPH_TEST(patterns_are_replaced),
        GRAPH_TEST(numbers_become_text_and_back),
        GRAPH_TEST(bytes_are_numbers),
        GRAPH_TEST(examples_become_nodes),
        GRAPH_TEST(wrong_arguments_are_refused),
        GRAPH_TEST(unknown_ranks_need_axes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
