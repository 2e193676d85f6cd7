/* Examples to JSON and back: what is written, that nothing is lost, what a schema makes of plain rows, what is
 * refused. */
#include "tests/testing.h"
#include <headrace/examples.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hr_view view_of(const char *text) { return (hr_view){text, (int64_t)strlen(text)}; }

/* The record of a line of JSON, in hexadecimal. */
static hr_status read_line(const char *json, const hr_schema_file *schema, char *hex, hr_error *err)
{
    hr_json_reader *r;
    hr_view record;
    const hr_json_reader_opts opts = {.struct_size = sizeof opts, .schema = schema};
    assert_ok(hr_json_reader_text_with("rows", view_of(json), &opts, &r, err), err);
    hr_status st = hr_json_read(r, &record, err);
    *hex = '\0';
    for (int64_t i = 0; st == HR_OK && i < record.size; i++) hex += sprintf(hex, "%02x", (unsigned char)record.data[i]);
    hr_json_reader_free(r);
    return st;
}

static void to_json(hr_view record, bool protobuf, char *out)
{
    hr_json_writer *w;
    hr_error err;
    hr_view json;
    const hr_json_writer_opts opts = {.struct_size = sizeof opts, .protobuf = protobuf};
    assert_ok(hr_json_writer_new_with(&opts, &w, &err), &err);
    assert_ok(hr_example_to_json(w, record, &json, &err), &err);
    memcpy(out, json.data, (size_t)json.size + 1);
    hr_json_writer_free(w);
}

/* The message is written as `json`, and both forms give its very bytes again. */
static void goes_there_and_back(hr_example *e, const char *json)
{
    hr_view record;
    hr_error err;
    char line[4096], hex[4096], expected[4096] = "";
    assert_ok(hr_example_bytes(e, &record, &err), &err);
    for (int64_t i = 0; i < record.size; i++) sprintf(expected + 2 * i, "%02x", (unsigned char)record.data[i]);
    for (int protobuf = 0; protobuf < 2; protobuf++) {
        to_json(record, protobuf, line);
        if (!protobuf) assert_string_equal(line, json);
        assert_ok(read_line(line, NULL, hex, &err), &err);
        assert_string_equal(hex, expected);
    }
    hr_example_clear(e);
}

static void every_kind_and_every_emptiness_comes_back(void **state)
{
    (void)state;
    hr_example *e = hr_sequence_example_new();
    goes_there_and_back(e, "{}");
    hr_example_set_present(e, true, false);
    goes_there_and_back(e, "{\"features\": {}}");
    hr_example_set_present(e, true, true);
    goes_there_and_back(e, "{\"context\": {}, \"feature_lists\": {}}");
    hr_example_set_present(e, false, true);
    goes_there_and_back(e, "{\"feature_lists\": {}}");
    hr_example_add_int64(e, "a", (int64_t[]){INT64_MIN}, 1);
    hr_example_add_int64(e, "b", (int64_t[]){INT64_MAX, 0, -1}, 3);
    hr_example_add_int64(e, "c", NULL, 0);
    goes_there_and_back(e,
                        "{\"a\": -9223372036854775808, \"b\": [9223372036854775807, 0, -1], \"c\": {\"$int64\": []}}");
    hr_example_add_float(e, "a", (float[]){1}, 1);
    hr_example_add_float(e, "b", (float[]){0.1f, -0.0f, 3.4028235e38f, 1e-45f}, 4);
    hr_example_add_float(e, "c", NULL, 0);
    hr_example_add_float(e, "d", (float[]){NAN, INFINITY, -INFINITY}, 3);
    goes_there_and_back(e, "{\"a\": 1.0, \"b\": [0.1, -0.0, 3.4028235e+38, 1e-45], \"c\": {\"$float\": []}, "
                           "\"d\": [{\"$float\": \"NaN\"}, {\"$float\": \"Infinity\"}, {\"$float\": \"-Infinity\"}]}");
    hr_example_add_bytes(e, "a", (hr_view[]){{"x\0\"", 3}}, 1);
    hr_example_add_bytes(e, "b", (hr_view[]){{"\xff\xfe", 2}, {"\xc3\xa9", 2}}, 2);
    hr_example_add_bytes(e, "c", NULL, 0);
    hr_example_add_bytes(e, "d", (hr_view[]){{"\xff", 1}}, 1);
    goes_there_and_back(
        e, "{\"a\": \"x\\u0000\\\"\", \"b\": [{\"$b64\": \"//4=\"}, \"\xc3\xa9\"], \"c\": {\"$bytes\": []}, "
           "\"d\": {\"$b64\": \"/w==\"}}");
    const hr_tensor none = {0};
    hr_example_add(e, view_of("a"), &none);
    goes_there_and_back(e, "{\"a\": null}");
    hr_example_free(e);
}

static void lists_of_steps_come_back(void **state)
{
    (void)state;
    hr_example *e = hr_sequence_example_new();
    const hr_tensor steps[] = {
        hr_tensor_of(HR_INT64, HR_SHAPE(2), ((int64_t[]){1, 2})),
        hr_tensor_of(HR_INT64, HR_SHAPE(0), NULL),
        {0},
        hr_tensor_of(HR_FLOAT, HR_SHAPE(1), (float[]){2.5f}),
        hr_tensor_of(HR_STRING, HR_SHAPE(2), ((hr_view[]){{"a", 1}, {"\xff", 1}})),
    };
    hr_example_add_int64(e, "feature", (int64_t[]){7}, 1);
    hr_example_add_list(e, view_of("feature_list"), steps, 0);
    hr_example_add_list(e, view_of("w"), steps, 5);
    goes_there_and_back(e, "{\"context\": {\"feature\": 7}, \"feature_lists\": {\"feature_list\": [], \"w\": [[1, 2], "
                           "{\"$int64\": []}, null, 2.5, [\"a\", {\"$b64\": \"/w==\"}]]}}");
    hr_example_free(e);
}

static void keys_of_any_bytes_come_back(void **state)
{
    (void)state;
    static const char *const keys[][2] = {
        {"", ""},
        {"$x", "$$x"},
        {"$$", "$$$"},
        {"$b64:x", "$$b64:x"},
        {"\xff", "$b64:/w=="},
        {"context", "context"},
        {"$\xff", "$b64:JP8="},
        {"feature_lists", "feature_lists"},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char json[256], line[256], hex[256], expected[256] = "";
        hr_view record;
        hr_error err;
        hr_example *e = hr_example_new();
        hr_example_add_int64(e, keys[i][0], (int64_t[]){1}, 1);
        assert_ok(hr_example_bytes(e, &record, &err), &err);
        for (int64_t k = 0; k < record.size; k++) sprintf(expected + 2 * k, "%02x", (unsigned char)record.data[k]);
        snprintf(json, sizeof json, "{\"%s\": 1}", keys[i][1]);
        to_json(record, false, line);
        assert_string_equal(line, json);
        assert_ok(read_line(line, NULL, hex, &err), &err);
        assert_string_equal(hex, expected);
        hr_example_free(e);
    }
}

static void other_nans_keep_their_bits(void **state)
{
    (void)state;
    const uint32_t bits[] = {0x7fc00001, 0xffc00000, 0x7f800001};
    float values[3];
    memcpy(values, bits, sizeof bits);
    hr_example *e = hr_example_new();
    hr_view record, again;
    hr_error err;
    char line[512];
    hr_json_reader *r;
    hr_example_add_float(e, "a", values, 3);
    assert_ok(hr_example_bytes(e, &record, &err), &err);
    to_json(record, false, line);
    assert_string_equal(line, "{\"a\": [{\"$float\": \"0x7fc00001\"}, {\"$float\": \"0xffc00000\"}, {\"$float\": "
                              "\"0x7f800001\"}]}");
    assert_ok(hr_json_reader_text_with("rows", view_of(line), NULL, &r, &err), &err);
    assert_ok(hr_json_read(r, &again, &err), &err);
    assert_int_equal(again.size, record.size);
    assert_memory_equal(again.data, record.data, (size_t)record.size);
    hr_json_reader_free(r);
    hr_example_free(e);
}

static void protobuf_form_is_that_of_its_json_mapping(void **state)
{
    (void)state;
    hr_example *e = hr_example_new();
    hr_view record;
    hr_error err;
    char line[512], hex[512], other[512];
    hr_example_add_int64(e, "age", (int64_t[]){3}, 1);
    hr_example_add_float(e, "f", (float[]){1.5f, NAN}, 2);
    hr_example_add_bytes(e, "w", (hr_view[]){{"a", 1}}, 1);
    assert_ok(hr_example_bytes(e, &record, &err), &err);
    to_json(record, true, line);
    assert_string_equal(line, "{\"features\": {\"feature\": {\"age\": {\"int64List\": {\"value\": [\"3\"]}}, \"f\": "
                              "{\"floatList\": {\"value\": [1.5, \"NaN\"]}}, \"w\": {\"bytesList\": {\"value\": "
                              "[\"YQ==\"]}}}}}");
    hr_example_free(e);
    assert_ok(read_line("{\"features\":{\"feature\":{\"a\":{\"int64_list\":{\"value\":[3]}}}}}", NULL, hex, &err),
              &err);
    assert_ok(read_line("{\"a\": 3}", NULL, other, &err), &err);
    assert_string_equal(hex, other);
}

static void a_schema_says_what_plain_rows_mean(void **state)
{
    (void)state;
    hr_schema_file *schema;
    hr_error err;
    char hex[512], expected[512];
    const char *yaml = "int64: [i]\nint32: [small]\nbool: [b]\nfloat: [x]\nstring: [s]\n";
    write_file("s.yaml", yaml, strlen(yaml));
    assert_ok(hr_schema_file_open("s.yaml", &schema, &err), &err);
    static const char *const same[][2] = {
        {"{\"x\": 3, \"i\": 4, \"other\": {\"deep\": [1, {}]}, \"s\": null}", "{\"i\": 4, \"x\": 3.0}"},
        {"{\"i\": 16777217.0, \"small\": -7.00}", "{\"i\": 16777217, \"small\": -7}"},
        {"{\"x\": [], \"b\": true, \"s\": [\"a\"]}", "{\"b\": 1, \"s\": \"a\", \"x\": {\"$float\": []}}"},
        {"{\"x\": \"NaN\", \"unknown\": {\"$b64\": \"AA==\"}}", "{\"x\": {\"$float\": \"NaN\"}}"},
        {"{\"x\": NaN}", "{\"x\": {\"$float\": \"NaN\"}}"},
        {"{\"features\": {\"x\": 1, \"y\": 2}}", "{\"x\": 1.0}"},
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        assert_ok(read_line(same[i][0], schema, hex, &err), &err);
        assert_ok(read_line(same[i][1], NULL, expected, &err), &err);
        assert_string_equal(hex, expected);
    }
    static const char *const wrong[][3] = {
        {"{\"i\": 1.5}", "json.type", "rows:1:7: feature 'i': expected a whole number, found 1.5"},
        {"{\"i\": \"1\"}", "json.type", "expected a whole number, found \"1\""},
        {"{\"i\": 9223372036854775808}", "json.range", "expected a number that int64 can hold"},
        {"{\"small\": 3000000000}", "json.range", "expected a number that int32 can hold"},
        {"{\"i\": 9223372036854775808.0}", "json.range", "expected a number that int64 can hold"},
        {"{\"x\": -1e400}", "json.range", "expected a number that float32 can hold"},
        {"{\"b\": 2}", "json.type", "expected false, true, 0 or 1, found 2"},
        {"{\"x\": 1e39}", "json.range", "expected a number that float32 can hold"},
        {"{\"x\": \"a\"}", "json.type", "expected a number"},
        {"{\"s\": 1}", "json.type", "expected a string, found 1"},
        {"{\"x\": [null]}", "json.type", "expected a number, found null"},
        {"{\"features\": {\"feature\": {\"x\": {\"int64List\": {}}}}}", "json.type", "expected values of float32"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_status(read_line(wrong[i][0], schema, hex, &err), HR_INVALID_ARGUMENT);
        if (strcmp(err.kind, wrong[i][1]) != 0 || !strstr(err.text, wrong[i][2])) fail_msg("%s", err.text);
    }
    hr_schema_file_free(schema);
}

static void mistakes_name_record_line_and_feature(void **state)
{
    (void)state;
    static const char *const wrong[][3] = {
        {"{\"a\": [1, 2.5]}", "json.type",
         "rows:1:11: feature 'a': expected a whole number, as before, or a .schema that says float, found 2.5"},
        {"{\"a\": [\"x\", 1]}", "json.type", "expected a string, as before, found 1"},
        {"{\"a\": {\"b\": 1}}", "json.type", "expected a value, an array, or an object with one of $int64"},
        {"{\"a\": {\"$int\": 1}}", "json.type", "an object with one of $int64, $float, $bytes, $b64, found \"$int\""},
        {"{\"a\": {\"$b64\": \"A\"}}", "json.type", "expected base64"},
        {"{\"a\": {\"$float\": \"0x3f800000\"}}", "json.type", "expected a number"},
        {"{\"a\": 1, \"a\": 2}", "json.key", "expected each key once"},
        {"{\"$b64:A\": 1}", "json.key", "expected base64 after"},
        {"[1]", "json.type", "rows:1:1: expected an object, found an array; write its objects one after the other"},
        {"{\"feature_lists\": {\"a\": 1}}", "json.type", "expected an array of steps, found 1"},
        {"{\"a\": [[1]]}", "json.type", "found an array"},
    };
    hr_error err;
    char hex[512];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_status(read_line(wrong[i][0], NULL, hex, &err), HR_INVALID_ARGUMENT);
        if (strcmp(err.kind, wrong[i][1]) != 0 || !strstr(err.text, wrong[i][2])) fail_msg("%s", err.text);
    }
    hr_json_reader *r;
    hr_view record;
    write_file("rows.jsonl", "{\"a\": 1}\n\n{\"a\": x}", 19);
    assert_ok(hr_json_reader_open_with("rows.jsonl", NULL, &r, &err), &err);
    assert_ok(hr_json_read(r, &record, &err), &err);
    assert_int_equal(hr_json_reader_line(r), 1);
    assert_status(hr_json_read(r, &record, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_json_read(r, &record, &err), HR_INVALID_ARGUMENT);
    assert_int_equal(hr_json_reader_line(r), 3);
    assert_int_equal(hr_json_reader_offset(r), 10);
    assert_int_equal(err.record, 1);
    assert_int_equal(err.line, 3);
    assert_int_equal(err.offset, 16);
    assert_string_equal(err.file, "rows.jsonl");
    hr_json_reader_free(r);
}

static void only_wanted_features_are_written(void **state)
{
    (void)state;
    hr_example *e = hr_example_new();
    hr_view record, json;
    hr_error err;
    hr_json_writer *w;
    hr_example_add_int64(e, "a", (int64_t[]){1}, 1);
    hr_example_add_int64(e, "b", (int64_t[]){2}, 1);
    assert_ok(hr_example_bytes(e, &record, &err), &err);
    const hr_json_writer_opts opts = {
        .struct_size = sizeof opts, .features = (const char *[]){"b"}, .feature_count = 1};
    assert_ok(hr_json_writer_new_with(&opts, &w, &err), &err);
    assert_ok(hr_example_to_json(w, record, &json, &err), &err);
    assert_string_equal(json.data, "{\"b\": 2}");
    assert_status(hr_example_to_json(w, view_of("\x0a\x7f"), &json, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "example.wire");
    hr_json_writer_free(w);
    const hr_json_writer_opts nameless = {.struct_size = sizeof nameless, .feature_count = 1};
    assert_status(hr_json_writer_new_with(&nameless, &w, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "json.features");
    hr_example_free(e);
}

static void a_lack_of_memory_leaks_nothing(void **state)
{
    (void)state;
    const char *text = "{\"a\": [1, 2], \"\\n\": \"x\", \"feature_lists\": {\"b\": [1.0]}}";
    const int64_t alive = allocations_alive();
    hr_status st = HR_RESOURCE_EXHAUSTED;
    for (int64_t n = 0; st != HR_OK; n++) {
        hr_json_reader *r;
        hr_json_writer *w = NULL;
        hr_view record, json;
        hr_error err;
        fail_allocation(n);
        st = hr_json_reader_text_with("rows", view_of(text), NULL, &r, &err);
        if (st == HR_OK) st = hr_json_read(r, &record, &err);
        if (st == HR_OK) st = hr_json_writer_new_with(NULL, &w, &err);
        if (st == HR_OK) st = hr_example_to_json(w, record, &json, &err);
        allocations_since();
        assert_status_either(st, HR_OK, HR_RESOURCE_EXHAUSTED);
        hr_json_reader_free(r);
        hr_json_writer_free(w);
        assert_int_equal(allocations_alive(), alive);
        assert_less(n, 100);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_and_every_emptiness_comes_back),
        cmocka_unit_test(lists_of_steps_come_back),
        cmocka_unit_test(keys_of_any_bytes_come_back),
        cmocka_unit_test(other_nans_keep_their_bits),
        cmocka_unit_test(protobuf_form_is_that_of_its_json_mapping),
        cmocka_unit_test(a_schema_says_what_plain_rows_mean),
        cmocka_unit_test(mistakes_name_record_line_and_feature),
        cmocka_unit_test(only_wanted_features_are_written),
        cmocka_unit_test(a_lack_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
