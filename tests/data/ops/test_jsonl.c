/* jsonl: the source's conformance, its values, and what its errors name. */
#include "tests/data/strings.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 300 };

static int write_objects(void **state)
{
    (void)state;
    static char text[96 * ROWS];
    for (int f = 0; f < 2; f++) {
        char path[32];
        size_t used = 0;
        for (int r = 0; r < ROWS; r++)
            used += (size_t)sprintf(text + used,
                                    "{\"id\": %d, \"other\": [{}, \"}\"], \"a name\": \"%s\", \"tags\": [%s]}\n%s",
                                    f * ROWS + r, r % 5 ? "plain" : "two\\nlines", r % 3 ? "\"x\", \"\\u00e9\"" : "",
                                    r % 50 == 7 ? " \t\r\n" : "");
        snprintf(path, sizeof path, "good-%d.jsonl", f);
        write_file(path, text, used);
        if (f == 1) write_gzip("zipped.jsonl.gz", text, used);
    }
    size_t many = 0;
    for (int r = 0; r < ROWS; r++) {
        const char *row = r % 10 == 3   ? "{\"id\": %d}\n"
                          : r % 10 == 5 ? "{\"id\": %d, \"tags\": [\"a\", 1], \"a name\": \"x\"}\n"
                          : r % 10 == 7 ? "{\"id\": %d.5, \"a name\": \"x\"}\n"
                          : r % 10 == 9 ? "{\"id\": %d, \"a name\": \"x\"\n"
                                        : "{\"a name\": null, \"id\": %d, \"tags\": [\"a\", \"b\"]}\n";
        many += (size_t)sprintf(text + many, row, r);
    }
    write_file("uneven.jsonl", text, many);
    static const char bad[] = "{\"id\": 1, \"a name\": \"x\"}\n{\"id\": 2, \"a name\": \"y\"}\n{\"id\": \"3\"}\n";
    write_file("bad.jsonl", bad, sizeof bad - 1);
    return 0;
}

static hr_dataset *rows(const char *pattern)
{
    const hr_jsonl_column columns[] = {{.name = "id", .dtype = HR_INT64},
                                       {.name = "tags", .dtype = HR_STRING, .shape = HR_SHAPE(-1)},
                                       {.name = "a name", .dtype = HR_STRING}};
    return hr_jsonl(pattern, .columns = columns, .column_count = 3);
}

static hr_dataset *uneven(hr_on_error on_error)
{
    hr_view text = {"none", 4};
    const hr_tensor none = hr_tensor_of(HR_STRING, HR_SCALAR, &text);
    const hr_jsonl_column columns[] = {{.name = "id", .dtype = HR_INT64},
                                       {.name = "a name", .dtype = HR_STRING, .default_value = &none},
                                       {.name = "tags", .dtype = HR_STRING, .shape = HR_SHAPE(-1)}};
    return hr_jsonl("uneven.jsonl", .columns = columns, .column_count = 3, .policy = {.on_error = on_error});
}

HR_SAMPLE(jsonl) { return hr_batch(hr_shuffle(rows("good-*.jsonl"), 30), 7); }
HR_SAMPLE(jsonl_in_epochs) { return hr_repeat(hr_skip(rows("good-1.jsonl"), 200), .count = HR_I64(3)); }
HR_SAMPLE(jsonl_gzip) { return hr_batch(hr_shuffle(rows("zipped.jsonl.gz"), 30), 7); }
HR_SAMPLE(jsonl_with_rejects) { return hr_batch(hr_shuffle(uneven(HR_SKIP), 30), 7); }
HR_SAMPLE(jsonl_fails) { return rows("bad.jsonl"); }

static hr_dataset *one_column(hr_dtype dtype, hr_shape shape, const hr_tensor *value, hr_csv_time time, bool keep)
{
    const hr_jsonl_column column = {.name = "id", .dtype = dtype, .shape = shape, .default_value = value, .time = time};
    return hr_jsonl("good-0.jsonl", .columns = &column, .column_count = 1, .keep_missing = keep);
}

static hr_dataset *with_default(int64_t value)
{
    const hr_tensor t = hr_tensor_of(HR_INT64, HR_SCALAR, &value);
    return one_column(HR_INT64, HR_SCALAR, &t, HR_CSV_NUMBER, false);
}

static hr_dataset *with_text(const char *word)
{
    hr_view text = {word, (int64_t)strlen(word)};
    const hr_tensor t = hr_tensor_of(HR_STRING, HR_SCALAR, &text);
    return one_column(HR_STRING, HR_SCALAR, &t, HR_CSV_NUMBER, false);
}

HR_ARGUMENTS(jsonl, one_column(HR_INT64, HR_SCALAR, NULL, HR_CSV_NUMBER, false),
             one_column(HR_INT32, HR_SCALAR, NULL, HR_CSV_NUMBER, false),
             one_column(HR_INT64, HR_SHAPE(-1), NULL, HR_CSV_NUMBER, false),
             one_column(HR_INT64, HR_SHAPE(1), NULL, HR_CSV_NUMBER, false),
             one_column(HR_INT64, HR_SCALAR, NULL, HR_CSV_DATE, false),
             one_column(HR_INT64, HR_SCALAR, NULL, HR_CSV_NUMBER, true), with_default(1), with_default(2),
             with_text("a"), with_text("b"), uneven(HR_FAIL), uneven(HR_SKIP));

/* ---- values ---- */

static void jsonl_gives_the_rows_of_all_files(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(rows("good-*.jsonl"), (way){.workers = 2});
    for (int r = 0; r < 2 * ROWS; r++) {
        if (hr_next(it, &e) != HR_OK) fail_msg("row %d: %s", r, hr_iterator_error(it)->text);
        assert_int_equal(*(const int64_t *)hr_get(e, "id")->data, r);
        const hr_view *name = hr_get(e, "a name")->data;
        const char *want = r % ROWS % 5 ? "plain" : "two\nlines";
        assert_int_equal(name->size, strlen(want));
        assert_memory_equal(name->data, want, strlen(want));
        const hr_tensor *tags = hr_get(e, "tags");
        assert_int_equal(tags->count, r % ROWS % 3 ? 2 : 0);
        if (tags->count) assert_memory_equal(((const hr_view *)tags->data)[1].data, "\xc3\xa9", 2);
    }
    assert_status(hr_next(it, &e), HR_END);
    int64_t blank = 0;
    for (const hr_report_line *line = hr_iterator_report(it); line->what; line++)
        if (strcmp(line->what, "jsonl: blank lines") == 0) blank = line->count;
    assert_int_equal(blank, 12);
    hr_iterator_free(it);
}

/* Every type, in every way to write it. */
static void jsonl_reads_each_type_exactly(void **state)
{
    (void)state;
    static const char text[] =
        "{\"i\": -2147483648, \"l\": 9223372036854775807, \"u\": 18446744073709551615, \"f\": 0.1, \"d\": 0.1, \"b\": "
        "true, "
        "\"s\": {\"$b64\": \"//4=\"}, \"t\": \"1970-01-02\", \"m\": [[1, 2, 3], [4, 5, 6]], \"$$x\": 7.0}\n"
        "{\"d\": NaN, \"f\": {\"$float\": \"-Infinity\"}, \"b\": 0, \"u\": {\"$int64\": 5}, \"s\": {\"$bytes\": \"\"}, "
        "\"m\": {\"$int64\": [[6, 5, 4], [3, 2, 1]]}, \"i\": 1, \"l\": 2, \"t\": \"1969-12-31\", \"$$x\": 8}\r\n";
    write_file("types.jsonl", text, sizeof text - 1);
    const hr_jsonl_column columns[] = {
        {.name = "i", .dtype = HR_INT32},  {.name = "l", .dtype = HR_INT64},
        {.name = "u", .dtype = HR_UINT64}, {.name = "f", .dtype = HR_FLOAT},
        {.name = "d", .dtype = HR_DOUBLE}, {.name = "b", .dtype = HR_BOOL},
        {.name = "s", .dtype = HR_STRING}, {.name = "t", .dtype = HR_INT64, .time = HR_CSV_DATE},
        {.name = "$x", .dtype = HR_INT64}, {.name = "m", .dtype = HR_INT32, .shape = HR_SHAPE(2, 3)}};
    const hr_element *e;
    hr_iterator *it = iterate(hr_batch(hr_jsonl("types.jsonl", .columns = columns, .column_count = 10), 2), (way){0});
    if (hr_next(it, &e) != HR_OK) fail_msg("%s", hr_iterator_error(it)->text);
    assert_memory_equal(hr_get(e, "i")->data, ((const int32_t[]){INT32_MIN, 1}), 8);
    assert_memory_equal(hr_get(e, "l")->data, ((const int64_t[]){INT64_MAX, 2}), 16);
    assert_memory_equal(hr_get(e, "u")->data, ((const uint64_t[]){UINT64_MAX, 5}), 16);
    assert_memory_equal(hr_get(e, "f")->data, ((const float[]){0.1f, -INFINITY}), 8);
    assert_true(((const double *)hr_get(e, "d")->data)[0] == 0.1);
    assert_true(isnan(((const double *)hr_get(e, "d")->data)[1]));
    assert_memory_equal(hr_get(e, "b")->data, ((const bool[]){true, false}), 2);
    assert_memory_equal(hr_get(e, "t")->data, ((const int64_t[]){1, -1}), 16);
    assert_memory_equal(hr_get(e, "$x")->data, ((const int64_t[]){7, 8}), 16);
    assert_memory_equal(hr_get(e, "m")->data, ((const int32_t[]){1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1}), 48);
    assert_int_equal(hr_get(e, "m")->shape.rank, 3);
    const hr_view *s = hr_get(e, "s")->data;
    assert_int_equal(s[0].size, 2);
    assert_memory_equal(s[0].data, "\xff\xfe", 2);
    assert_int_equal(s[1].size, 0);
    hr_iterator_free(it);
}

static void jsonl_fills_in_what_is_missing(void **state)
{
    (void)state;
    static const char text[] = "{}\n{\"a\": 1, \"p\": [1, 2], \"s\": \"x\"}\n{\"a\": null, \"p\": null, \"s\": null}\n";
    write_file("missing.jsonl", text, sizeof text - 1);
    hr_view words[] = {{"left", 4}, {"right", 5}};
    const hr_tensor pair = hr_tensor_of(HR_FLOAT, HR_SHAPE(2), ((float[]){3, 4})),
                    both = hr_tensor_of(HR_STRING, HR_SHAPE(2), words), one = hr_tensor_of(HR_STRING, HR_SCALAR, words);
    const hr_jsonl_column columns[] = {{.name = "a", .dtype = HR_INT64},
                                       {.name = "p", .dtype = HR_FLOAT, .shape = HR_SHAPE(2), .default_value = &pair},
                                       {.name = "q", .dtype = HR_STRING, .shape = HR_SHAPE(2), .default_value = &both},
                                       {.name = "s", .dtype = HR_STRING, .default_value = &one},
                                       {.name = "w", .dtype = HR_STRING, .shape = HR_SHAPE(2), .default_value = &one}};
    const hr_element *e;
    hr_dataset *ds = hr_jsonl("missing.jsonl", .columns = columns, .column_count = 5, .keep_missing = true);
    hr_iterator *it = iterate(hr_batch(ds, 3), (way){0});
    if (hr_next(it, &e) != HR_OK) fail_msg("%s", hr_iterator_error(it)->text);
    assert_memory_equal(hr_get(e, "a")->data, ((const int64_t[]){0, 1, 0}), 24);
    assert_memory_equal(hr_get(e, "p")->data, ((const float[]){3, 4, 1, 2, 3, 4}), 24);
    const hr_view *q = hr_get(e, "q")->data, *s = hr_get(e, "s")->data, *w = hr_get(e, "w")->data;
    assert_memory_equal(q[1].data, "right", 5);
    assert_int_equal(s[0].size, 4);
    assert_int_equal(s[1].size, 1);
    assert_memory_equal(w[5].data, "left", 4);
    hr_iterator_free(it);
}

/* ---- damage ---- */

static void jsonl_leaves_bad_rows_out(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(hr_batch(uneven(HR_SKIP), ROWS), (way){.unit_rows = 3});
    if (hr_next(it, &e) != HR_OK) fail_msg("%s", hr_iterator_error(it)->text);
    const int64_t *id = hr_get(e, "id")->data;
    const hr_tensor *tags = hr_get(e, "tags");
    assert_int_equal(hr_get(e, "id")->count, ROWS / 10 * 7);
    for (int64_t i = 0; i < ROWS / 10 * 7; i++) {
        assert_true(id[i] % 10 != 5 && id[i] % 10 != 7 && id[i] % 10 != 9);
        assert_int_equal(tags->splits[0][i + 1] - tags->splits[0][i], id[i] % 10 == 3 ? 0 : 2);
    }
    hr_iterator_free(it);
}

static void assert_row_fails(const char *line, hr_jsonl_column column, const char *kind, const char *text)
{
    char file[256];
    const hr_element *e;
    const int size = snprintf(file, sizeof file, "{\"x\": 1}\n%s\n", line);
    write_file("wrong.jsonl", file, (size_t)size);
    column.name = "x";
    hr_iterator *it =
        iterate(hr_jsonl("wrong.jsonl", .columns = &column, .column_count = 1, .keep_missing = true), (way){0});
    hr_status st;
    do st = hr_next(it, &e);
    while (st == HR_OK);
    const hr_error *err = hr_iterator_error(it);
    assert_string_equal(err->kind, kind);
    if (!strstr(err->text, text)) fail_msg("expected \"%s\" in \"%s\"", text, err->text);
    assert_string_equal(err->file, "wrong.jsonl");
    if (column.shape.rank == 0 && column.dtype != HR_STRING) {
        assert_int_equal(err->line, 2);
        assert_int_equal(err->record, 1);
        assert_true(err->offset >= 9);
    }
    hr_iterator_free(it);
}

static void jsonl_says_what_is_wrong_and_where(void **state)
{
    (void)state;
    const hr_jsonl_column whole = {.dtype = HR_INT32}, natural = {.dtype = HR_UINT64}, real = {.dtype = HR_FLOAT},
                          text = {.dtype = HR_STRING}, truth = {.dtype = HR_BOOL},
                          list = {.dtype = HR_INT64, .shape = HR_SHAPE(-1)};
    assert_row_fails("{\"x\": 1.5}", whole, "json.type",
                     "wrong.jsonl:2:7: column 'x': expected a whole number, found 1.5");
    assert_row_fails("{\"x\": 3000000000}", whole, "json.range", "a number that int32 can hold");
    assert_row_fails("{\"x\": -1}", natural, "json.range", "a number that uint64 can hold");
    assert_row_fails("{\"x\": 1e99}", real, "json.range", "a number that float32 can hold");
    assert_row_fails("{\"x\": \"1\"}", real, "json.type", "expected a number, found \"1\"");
    assert_row_fails("{\"x\": 2}", truth, "json.type", "expected true, false, 0 or 1, found 2");
    assert_row_fails("{\"x\": 1}", text, "json.type", "expected a string, found 1");
    assert_row_fails("{\"x\": 1}", list, "json.type", "expected an array, found 1");
    assert_row_fails("{\"x\": [1]}", whole, "json.type", "expected a whole number, found an array");
    assert_row_fails("{\"x\": {\"y\": 1}}", whole, "json.type", "an object of one of $int64");
    assert_row_fails("{\"x\": 1, \"x\": 2}", whole, "json.key", "each key once");
    assert_row_fails("{\"x\": 1} {\"x\": 2}", whole, "json.line", "one JSON object a line");
    assert_row_fails("[1]", whole, "json.type", "expected an object, found an array");
    assert_row_fails("{\"x\": 1", whole, "json.syntax", "'}'");
}

static void jsonl_refuses_wrong_arguments(void **state)
{
    (void)state;
    const hr_tensor t = hr_tensor_of(HR_INT32, HR_SCALAR, &(int32_t){1});
    const hr_jsonl_column twice[] = {{.name = "x", .dtype = HR_INT64}, {.name = "x", .dtype = HR_INT64}};
    assert_fails(hr_jsonl("good-0.jsonl"), HR_INVALID_ARGUMENT, "json.columns");
    assert_fails(hr_jsonl("good-0.jsonl", .columns = twice, .column_count = 2), HR_INVALID_ARGUMENT, "json.columns");
    assert_fails(hr_jsonl("good-0.jsonl", .columns = twice, .column_count = 1, .label = "y"), HR_INVALID_ARGUMENT,
                 "json.columns");
    assert_fails(one_column(HR_INT8, HR_SCALAR, NULL, HR_CSV_NUMBER, false), HR_INVALID_ARGUMENT, "json.dtype");
    assert_fails(one_column(HR_FLOAT, HR_SCALAR, NULL, HR_CSV_DATE, false), HR_INVALID_ARGUMENT, "json.dtype");
    assert_fails(one_column(HR_INT64, HR_SHAPE(2, -1), NULL, HR_CSV_NUMBER, false), HR_INVALID_ARGUMENT,
                 "json.columns");
    assert_fails(one_column(HR_INT64, HR_SCALAR, &t, HR_CSV_NUMBER, false), HR_INVALID_ARGUMENT, "json.default");
    assert_fails(one_column(HR_INT32, HR_SHAPE(-1), &t, HR_CSV_NUMBER, false), HR_INVALID_ARGUMENT, "json.default");
    assert_fails(rows("bad.jsonl"), HR_INVALID_ARGUMENT, "json.type");
    assert_fails(hr_jsonl("uneven.jsonl", .columns = twice, .column_count = 1), HR_INVALID_ARGUMENT, "json.missing");
}

static void jsonl_opens_the_files_of_interleave(void **state)
{
    (void)state;
    static const hr_jsonl_column column = {.name = "id", .dtype = HR_INT64};
    hr_jsonl_opts opts = {.struct_size = sizeof opts, .columns = &column, .column_count = 1};
    hr_dataset *ds = hr_interleave(hr_list_files("good-*.jsonl"), hr_jsonl_fn, &opts, .cycle_length = 2);
    const hr_element *e;
    hr_iterator *it = iterate(ds, (way){.workers = 2});
    for (int r = 0; r < 6; r++) {
        if (hr_next(it, &e) != HR_OK) fail_msg("%s", hr_iterator_error(it)->text);
        assert_int_equal(*(const int64_t *)hr_get(e, "id")->data, r / 2 + r % 2 * ROWS);
    }
    hr_iterator_free(it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(jsonl),
        HR_CONFORMANCE(jsonl_in_epochs),
        HR_CONFORMANCE(jsonl_gzip),
        HR_CONFORMANCE(jsonl_with_rejects),
        HR_CONFORMANCE_OF_FAILURE(jsonl_fails),
        HR_CONFORMANCE_OF_ARGUMENTS(jsonl),
        cmocka_unit_test(jsonl_gives_the_rows_of_all_files),
        cmocka_unit_test(jsonl_reads_each_type_exactly),
        cmocka_unit_test(jsonl_fills_in_what_is_missing),
        cmocka_unit_test(jsonl_leaves_bad_rows_out),
        cmocka_unit_test(jsonl_says_what_is_wrong_and_where),
        cmocka_unit_test(jsonl_refuses_wrong_arguments),
        cmocka_unit_test(jsonl_opens_the_files_of_interleave),
    };
    return cmocka_run_group_tests(tests, write_objects, NULL);
}
