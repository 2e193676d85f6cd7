/* The JSON reader's tokens and refusals, whatever pieces the text comes in; base64. */
#include "io/json/json_reader.h"
#include "io/json/json_writer.h"
#include "tests/testing.h"
#include <stdio.h>
#include <string.h>

/* All tokens in one line: "{ K:a 12 }". */
static hr_status tokens(hr__json_reader *r, char *out, hr_error *err)
{
    static const char *const word[] = {"", "null", "false", "true", "", "S:", "K:", "{", "}", "[", "]"};
    *out = '\0';
    for (;;) {
        HR_TRY(hr__json_next(r, err));
        if (r->token.kind == HR__JSON_NONE) return HR_OK;
        out += sprintf(out, "%s%.*s ", word[r->token.kind],
                       r->token.kind >= HR__JSON_NUMBER && r->token.kind <= HR__JSON_KEY ? (int)r->token.text.size : 0,
                       r->token.text.data);
    }
}

/* The same from memory and from a file that is read byte by byte. */
static hr_status read_both(const char *text, size_t size, char *out, hr_error *err)
{
    hr__json_reader r = {0};
    hr__json_begin_text(&r, "text", (hr_view){text, (int64_t)size});
    hr_status st = tokens(&r, out, err);
    hr__json_reader_clear(&r);
    for (size_t piece = 1; piece <= 7; piece += 6) {
        char again[4096];
        hr_error other;
        hr_input *in;
        write_file("text", text, size);
        const hr_input_opts opts = {.struct_size = sizeof opts, .compression = HR_NONE, .buffer_size = piece};
        assert_ok(hr_input_open_with("text", &opts, &in, &other), &other);
        hr__json_reader file = {0};
        hr__json_begin_input(&file, in, 0);
        assert_int_equal(tokens(&file, again, &other), st);
        assert_string_equal(again, out);
        if (st != HR_OK) assert_string_equal(other.text, err->text);
        hr__json_reader_clear(&file);
        hr_input_free(in);
    }
    return st;
}

static void every_value_is_a_token(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", ""},
        {" \n\t", ""},
        {"\xef\xbb\xbf{}", "{ } "},
        {"{\"a\": [1, -2.5e+3, null], \"\": {\"b\":true}}[false]\n",
         "{ K:a [ 1 -2.5e+3 null ] K: { K:b true } } [ false ] "},
        {"18446744073709551615 -0 0.10 1E5 NaN -Infinity", "18446744073709551615 -0 0.10 1E5 NaN -Infinity "},
        {"\"a\\n\\u00e9\\ud83d\\ude00\\/\"", "S:a\n\xc3\xa9\xf0\x9f\x98\x80/ "},
        {"[[],{}]", "[ [ ] { } ] "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[4096];
        hr_error err;
        assert_ok(read_both(cases[i][0], strlen(cases[i][0]), out, &err), &err);
        assert_string_equal(out, cases[i][1]);
    }
}

static void every_mistake_is_refused_where_it_stands(void **state)
{
    (void)state;
    static const struct {
        const char *text, *kind, *said;
    } cases[] = {
        {"\xef\xbb{}", "json.syntax", "text:1:3: expected a whole byte order mark, ef bb bf, found '{'"},
        {"\xef", "json.syntax", "text:1:2: expected a whole byte order mark, ef bb bf, found the end of the text"},
        {"{\"a\" 1}", "json.syntax", "text:1:6: expected ':' after a key, found '1'"},
        {"{\"a\": 1,}", "json.syntax", "text:1:9: expected a key in quotes, found '}'"},
        {"{\"a\": 1\n \"b\"", "json.syntax", "text:2:2: expected ',' or '}', found '\"'"},
        {"[1 2]", "json.syntax", "text:1:4: expected ',' or ']', found '2'"},
        {"[1,]", "json.syntax", "text:1:4: expected a value, found ']'"},
        {"[1}", "json.syntax", "text:1:3: expected ',' or ']', found '}'"},
        {"{\"a\": [", "json.syntax", "text:1:8: expected ']', found the end of the text"},
        {"{a: 1}", "json.syntax", "text:1:2: expected a key in quotes, found 'a'"},
        {"\n\n  nul", "json.syntax", "text:3:3: expected a number, true, false or null, found \"nul\""},
        {"01", "json.syntax", "found \"01\""},
        {"1.", "json.syntax", "found \"1.\""},
        {"+1", "json.syntax", "found \"+1\""},
        {"-", "json.syntax", "found \"-\""},
        {"\"abc", "json.syntax", "text:1:5: expected a closing quote, found the end of the text"},
        {"\"a\nb\"", "json.syntax", "text:1:3: expected control characters as \\u00.., found the byte 0x0a"},
        {"\"\\x\"", "json.syntax", "text:1:3: expected one of \"\\/bfnrtu after a backslash, found 'x'"},
        {"\"\\u12g4\"", "json.syntax", "text:1:6: expected four hexadecimal digits after \\u, found 'g'"},
        {"\"\\ud800\"", "json.utf8", "text:1:1: expected pairs of surrogates, found \\ud800 alone"},
        {"\"\\udc00\"", "json.utf8", "found \\udc00 alone"},
        {" \"\xff\"", "json.utf8", "text:1:2: expected UTF-8"},
        {"\x01", "json.syntax", "found the byte 0x01"},
        {"}", "json.syntax", "expected a value, found '}'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[4096];
        hr_error err = {0};
        assert_status(read_both(cases[i].text, strlen(cases[i].text), out, &err), HR_INVALID_ARGUMENT);
        if (strcmp(err.kind, cases[i].kind) != 0 || !strstr(err.text, cases[i].said)) fail_msg("%s", err.text);
        assert_string_equal(err.file, "text");
        assert_at_least(err.line, 1);
        assert_at_least(err.offset, 0);
    }
}

static void sixty_four_levels_are_read_and_one_more_is_refused(void **state)
{
    (void)state;
    char text[200], out[4096];
    hr_error err;
    memset(text, '[', 65);
    memset(text + 64, ']', 64);
    assert_ok(read_both(text, 128, out, &err), &err);
    memset(text, '[', 65);
    assert_status(read_both(text, 65, out, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "json.depth");
}

static void a_value_is_skipped_whole(void **state)
{
    (void)state;
    const char *text = "{\"a\": {\"b\": [[1], {\"c\": 2}]}, \"d\": 5}";
    hr__json_reader r = {0};
    hr_error err;
    hr__json_begin_text(&r, "text", (hr_view){text, (int64_t)strlen(text)});
    for (int i = 0; i < 3; i++) assert_ok(hr__json_next(&r, &err), &err);
    assert_ok(hr__json_skip(&r, &err), &err);
    assert_ok(hr__json_next(&r, &err), &err);
    assert_int_equal(r.token.kind, HR__JSON_KEY);
    assert_memory_equal(r.token.text.data, "d", 1);
    hr__json_reader_clear(&r);
}

static void base64_is_read_in_both_alphabets_and_nothing_else(void **state)
{
    (void)state;
    static const struct {
        const char *text, *bytes;
        int64_t size;
    } good[] = {{"", "", 0},           {"/w==", "\xff", 1},        {"_w", "\xff", 1}, {"//4=", "\xff\xfe", 2},
                {"AAAA", "\0\0\0", 3}, {"--__", "\xfb\xef\xff", 3}};
    static const char *const bad[] = {"A", "/x==", "/w=", "//==", "====", "AA AA", "/w==/w==", "\xc3\xa9=="};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        hr__text bytes = {0};
        hr__text_add(&bytes, "");
        assert_true(hr__base64_decode((hr_view){good[i].text, (int64_t)strlen(good[i].text)}, &bytes));
        assert_int_equal(bytes.size, good[i].size);
        assert_memory_equal(bytes.data, good[i].bytes, (size_t)good[i].size);
        hr__text_free(&bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hr__text bytes = {0};
        if (hr__base64_decode((hr_view){bad[i], (int64_t)strlen(bad[i])}, &bytes)) fail_msg("%s", bad[i]);
        hr__text_free(&bytes);
    }
}

static void floats_are_written_so_that_they_stay_floats(void **state)
{
    (void)state;
    hr__text out = {0};
    hr__json_writer w = {.to = &out};
    hr__json_begin(&w, '[');
    hr__json_float(&w, 1);
    hr__json_float(&w, 0.1f);
    hr__json_float(&w, -1e30f);
    hr__json_float(&w, -0.0f);
    hr__json_float(&w, -1 / 0.0f);
    hr__json_int64(&w, INT64_MIN);
    hr__json_end(&w, ']');
    assert_string_equal(out.data, "[1.0, 0.1, -1e+30, -0.0, \"-Infinity\", -9223372036854775808]");
    hr__text_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_is_a_token),
        cmocka_unit_test(every_mistake_is_refused_where_it_stands),
        cmocka_unit_test(sixty_four_levels_are_read_and_one_more_is_refused),
        cmocka_unit_test(a_value_is_skipped_whole),
        cmocka_unit_test(base64_is_read_in_both_alphabets_and_nothing_else),
        cmocka_unit_test(floats_are_written_so_that_they_stay_floats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
