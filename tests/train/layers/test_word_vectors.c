/* Vectors of words from files of word2vec and GloVe. */
#include "tests/testing.h"
#include <headrace/layers.h>
#include <string.h>

static void write_text(const char *text) { write_file("vectors", text, strlen(text)); }

static void assert_rows(bool binary, const float *expected, int count)
{
    hr_tensor out;
    hr_error err = {0};
    int64_t found = -1;
    assert_ok(hr_word_vectors("vectors", HR_VOCABULARY("b", "none", "a"), &out, &err, .binary = binary,
                              .initializer = hr_constant_value(9), .num_oov_buckets = 1, .found = &found),
              &err);
    assert_int_equal(found, 2);
    assert_int_equal(out.count, count);
    for (int i = 0; i < count; i++) assert_float_equal(((const float *)out.data)[i], expected[i], 0);
    hr_tensor_clear(&out);
}

static void rows_are_those_of_the_words_asked_for_and_others_begin_anew(void **state)
{
    (void)state;
    const float expected[] = {3, -4, 9, 9, 1, 2.5f, 9, 9};
    write_text("3 2\na 1 2.5\nc 7 7\nb 3 -4\n");
    assert_rows(false, expected, 8);
    write_text("a 1 2.5\r\nc 7 7\r\nb 3 -4 \r\na 8 8\r\n"); /* GloVe; the first vector of a word counts */
    assert_rows(false, expected, 8);
}

static void the_binary_form_is_read(void **state)
{
    (void)state;
    const float a[] = {1, 2.5f}, b[] = {3, -4};
    char bytes[64] = "2 2\na ";
    memcpy(bytes + 6, a, 8);
    memcpy(bytes + 14, "\nb ", 3);
    memcpy(bytes + 17, b, 8);
    write_file("vectors", bytes, 25);
    assert_rows(true, (const float[]){3, -4, 9, 9, 1, 2.5f, 9, 9}, 8);
}

static void assert_bad(const char *text, bool binary, int64_t line, const char *part)
{
    hr_tensor out;
    hr_error err = {0};
    write_text(text);
    assert_status(hr_word_vectors("vectors", HR_VOCABULARY("a"), &out, &err, .binary = binary), HR_DATA_LOSS);
    assert_string_equal(err.kind, "layers.word_vectors");
    assert_int_equal(err.line, line);
    assert_text_contains(err.text, part);
}

static void a_file_that_is_none_is_refused_with_its_line(void **state)
{
    (void)state;
    assert_bad("2 2\na 1 2\nb 1 x\n", false, 3, "expected a finite number for each dimension, found x");
    assert_bad("2 2\na 1\nb 1 2\n", false, 2, "found the end of the line");
    assert_bad("1 2\na 1 2 3\n", false, 2, "found more of them");
    assert_bad("2 2\na 1 2\n", false, 3, "found 1, but its first line says 2");
    assert_bad("a 1 2\nb 1 nan\n", false, 2, "found nan");
    assert_bad("1 0\na\n", false, 1, "dimension from 1 to 65536");
    assert_bad("a 1 2\n", true, 1, "a first line \"COUNT DIMENSION\"");
    assert_bad("1 2\na 123", true, 2, "found the end of the file");
    assert_bad("", false, 1, "a word and 1 to 65536 numbers");
}

static void a_table_begins_with_the_vectors(void **state)
{
    (void)state;
    hr_tensor out, got;
    hr_error err = {0};
    write_text("2 2\na 1 2\nb 3 4\n");
    assert_ok(hr_word_vectors("vectors", HR_VOCABULARY("a", "b"), &out, &err), &err);
    hr_graph *g = hr_graph_new();
    const int64_t id = 1;
    const hr_node rows = hr_embedding(hr_ints(g, &id, 1), 2, 2, .initializer = hr_initial_value(&out)),
                  init = hr_target(hr_global_variables_initializer(g));
    hr_tensor_clear(&out);
    hr_session *s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    assert_ok(hr_session_run(s, NULL, 0, &rows, 1, &got, &err), &err);
    assert_float_equal(((const float *)got.data)[1], 4, 0);
    hr_tensor_clear(&got);
    hr_session_free(s);
    hr_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_of_the_words_asked_for_and_others_begin_anew),
        cmocka_unit_test(the_binary_form_is_read),
        cmocka_unit_test(a_file_that_is_none_is_refused_with_its_line),
        cmocka_unit_test(a_table_begins_with_the_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
