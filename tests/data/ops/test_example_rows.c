/* example_rows: the conformance of the source over each format, records equal to those of convert, and what errors
 * name. */
#include "tests/data/strings.h"
#include <headrace/convert.h>

enum { ROWS = 120 };

static hr_schema_file *schema;

static hr_schema_file *schema_of_text(const char *text)
{
    hr_schema_file *out;
    hr_error err;
    write_file("schema.yaml", text, strlen(text));
    assert_ok(hr_schema_file_open("schema.yaml", &out, &err), &err);
    return out;
}

static size_t put_csv(char *text, int r)
{
    return (size_t)sprintf(text, "%d,%s,%s\n", r, r % 7 ? "0.25" : "", r % 5 ? "plain" : "\"two\nlines\"");
}

static size_t put_json(char *text, int r)
{
    return (size_t)sprintf(text, "{\"id\": %d, \"name\": [\"a\", \"b\"]%s}\n%s", r,
                           r % 7 ? ", \"score\": 0.25, \"other\": 1" : "", r % 11 ? "" : "\n");
}

static int write_rows(void **state)
{
    (void)state;
    static char text[80 * ROWS];
    hr_error err;
    schema = schema_of_text("int64: [id]\nfloat: [score]\nstring: [name]\n");
    for (int f = 0; f < 2; f++) {
        char path[32];
        size_t csv = (size_t)sprintf(text, "id,score,name\n");
        for (int r = 0; r < ROWS; r++) csv += put_csv(text + csv, f * ROWS + r);
        snprintf(path, sizeof path, "rows-%d.csv", f);
        write_file(path, text, csv);
        size_t json = 0;
        for (int r = 0; r < ROWS; r++) json += put_json(text + json, f * ROWS + r);
        snprintf(path, sizeof path, "rows-%d.jsonl", f);
        write_file(path, text, json);
        if (f == 1) write_gzip("zipped.jsonl.gz", text, json);
    }
    hr_file_list in = {0};
    assert_ok(hr_match_files("rows-*.jsonl", &in, &err), &err);
    assert_ok(hr_convert(&in, "rows.tfrecord", NULL, &err, .no_sync = true), &err);
    hr_file_list_clear(&in);
    static const char bad[] = "id,score,name\n1,2,x\n2,nought,y\n3,4,z\n";
    write_file("bad.csv", bad, sizeof bad - 1);
    static const char worse[] = "{\"id\": 1}\n\n{\"id\": 2, \"score\": \"x\"}\n{\"id\": 3}\n";
    write_file("bad.jsonl", worse, sizeof worse - 1);
    return 0;
}

static hr_dataset *few(const char *pattern)
{
    return hr_batch(hr_shuffle(hr_example_rows(pattern, .schema = schema), 30), 7);
}

HR_SAMPLE(example_rows) { return few("rows-*.csv"); }
HR_SAMPLE(example_rows_of_json) { return few("rows-*.jsonl"); }
HR_SAMPLE(example_rows_of_gzip) { return few("zipped.jsonl.gz"); }
HR_SAMPLE(example_rows_of_tfrecords) { return few("rows.tfrecord"); }
HR_SAMPLE(example_rows_required)
{
    static const char *const score[] = {"score"};
    return hr_batch(hr_example_rows("rows-*.csv", .schema = schema, .require = score, .require_count = 1), 7);
}
HR_SAMPLE(example_rows_of_functions)
{
    static hr_example_rows_opts opts;
    opts = (hr_example_rows_opts){.struct_size = sizeof opts, .schema = schema};
    return hr_interleave(hr_list_files("rows-*.csv"), hr_example_rows_fn, &opts, .cycle_length = 2);
}
HR_SAMPLE(example_rows_with_rejects)
{
    return hr_example_rows("bad.jsonl", .schema = schema, .policy.on_error = HR_SKIP);
}
HR_SAMPLE(example_rows_fail) { return hr_example_rows("bad.csv", .schema = schema); }

/* The records of a conversion with these options come out of the source, in the same order. */
static void assert_as_converted(const char *pattern, const hr_convert_opts *how, const hr_example_rows_opts *opts)
{
    hr_error err;
    hr_file_list in = {0};
    hr_convert_result result;
    const hr_element *a, *b;
    assert_ok(hr_match_files(pattern, &in, &err), &err);
    assert_ok(hr_convert_with(&in, "converted.tfrecord", how, &result, &err), &err);
    hr_iterator *got = iterate(hr_example_rows_with(pattern, opts), (way){0});
    hr_iterator *want = iterate(hr_tfrecord("converted.tfrecord"), (way){0});
    int64_t rows = 0;
    for (hr_status st; (st = hr_next(want, &a)) != HR_END; rows++) {
        assert_status(st, HR_OK);
        assert_status(hr_next(got, &b), HR_OK);
        const hr_view x = *(const hr_view *)hr_get(a, "value")->data, y = *(const hr_view *)hr_get(b, "value")->data;
        assert_int_equal(x.size, y.size);
        assert_memory_equal(x.data, y.data, (size_t)x.size);
    }
    assert_status(hr_next(got, &b), HR_END);
    assert_int_equal(rows, result.written);
    assert_true(rows > 0);
    hr_convert_result_clear(&result);
    hr_iterator_free(got);
    hr_iterator_free(want);
    hr_file_list_clear(&in);
    remove("converted.tfrecord");
}

static void records_are_those_of_convert(void **state)
{
    (void)state;
    static const char *const score[] = {"score"};
    static const char *const patterns[] = {"rows-*.csv", "rows-*.jsonl", "rows.tfrecord"};
    for (size_t i = 0; i < 3; i++)
        for (int required = 0; required < 2; required++)
            for (int typed = i > 0 ? 0 : 1; typed < 2; typed++) {
                const hr_convert_opts how = {.struct_size = sizeof how,
                                             .schema = typed ? schema : NULL,
                                             .require = score,
                                             .require_count = required,
                                             .from = i == 0   ? "csv"
                                                     : i == 1 ? "jsonl"
                                                              : "tfrecord",
                                             .no_sync = true};
                assert_as_converted(patterns[i], &how,
                                    &(hr_example_rows_opts){.struct_size = sizeof(hr_example_rows_opts),
                                                            .schema = how.schema,
                                                            .require = score,
                                                            .require_count = required});
            }
}

/* A record has fields that the schema does not name. */
static void whole_records_keep_what_the_schema_does_not_name(void **state)
{
    (void)state;
    static const char *const score[] = {"score"};
    static const char narrow_text[] = "int64: [id]\nfloat: [score]\n";
    hr_schema_file *narrow = schema_of_text(narrow_text);
    for (int required = 0; required < 2; required++) {
        const hr_convert_opts how = {.struct_size = sizeof how,
                                     .require = score,
                                     .require_count = required,
                                     .from = "tfrecord",
                                     .no_sync = true};
        hr_example_rows_opts opts = {.struct_size = sizeof opts,
                                     .schema = narrow,
                                     .require = score,
                                     .require_count = required,
                                     .whole_records = true};
        assert_as_converted("rows.tfrecord", &how, &opts);
        opts.policy.on_error = HR_SKIP; /* rows are looked at: what the schema names is kept */
        hr_convert_opts chosen = how;
        chosen.schema = narrow;
        assert_as_converted("rows.tfrecord", &chosen, &opts);
    }
    hr_schema_file_free(narrow);
}

/* Lists, texts that stand for nothing, narrow types, a file without its label. */
static void the_dialect_of_a_csv_is_that_of_convert(void **state)
{
    (void)state;
    static const char text[] = "n;tags;small;yes;wide\n1;a|bb;7;true;1e300\nNA;;8;0;0.1\n3;c;;1;\n";
    hr_schema_file *wide = schema_of_text("int64: [n, late]\nstring: [tags]\nint32: [small]\nbool: [yes]\n"
                                          "double: [wide]\nlabel: late\n");
    const hr_csv_opts csv = {.struct_size = sizeof csv, .delimiter = ";", .na_value = "NA", .separator = "|"};
    static const char fits[] = "n;tags;small;yes;wide\n1;2|3;7;true;1e30\nNA;;8;0;0.1\n3;4;;1;\n";
    write_file("wide.csv", fits, sizeof fits - 1);
    const hr_convert_opts how = {.struct_size = sizeof how, .schema = wide, .csv = &csv, .no_sync = true};
    const hr_example_rows_opts opts = {.struct_size = sizeof opts, .schema = wide, .csv = &csv};
    assert_as_converted("wide.csv", &how, &opts);
    write_file("wide.csv", text, sizeof text - 1);
    assert_fails(hr_example_rows_with("wide.csv", &opts), HR_INVALID_ARGUMENT, "csv.value");
    hr_schema_file_free(wide);
}

static void rows_are_counted_over_files(void **state)
{
    (void)state;
    static const char *const ids[] = {"id"};
    static const char lines[] = "{\"id\": 1}\n\n{\"score\": 2}\r\n  \n{\"id\": 3}";
    write_file("few.json", lines, sizeof lines - 1);
    hr_dataset *ds = hr_example_rows("few.json", .require = ids, .require_count = 1);
    const hr_element *e;
    hr_iterator *it = iterate(ds, (way){0});
    for (int i = 0; i < 2; i++) assert_status(hr_next(it, &e), HR_OK);
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void assert_error(hr_dataset *ds, const char *kind, const char *text, int64_t line)
{
    const hr_element *e;
    hr_status st;
    hr_iterator *it = iterate(ds, (way){0});
    while ((st = hr_next(it, &e)) == HR_OK) {}
    assert_true(st < 0);
    const hr_error *err = hr_iterator_error(it);
    assert_string_equal(err->kind, kind);
    if (!strstr(err->text, text)) fail_msg("%s", err->text);
    if (line > 0) assert_int_equal(err->line, line);
    hr_iterator_free(it);
}

static void errors_name_file_and_line(void **state)
{
    (void)state;
    static const char two[] = "{\"id\": 1} {\"id\": 2}\n";
    write_file("two.jsonl", two, sizeof two - 1);
    assert_error(hr_example_rows("bad.csv", .schema = schema), "csv.value", "bad.csv:3", 3);
    assert_error(hr_example_rows("bad.jsonl", .schema = schema), "json.type", "bad.jsonl:3:", 3);
    assert_error(hr_example_rows("two.jsonl"), "example_rows.line", "two.jsonl:1: expected one JSON object a line", 1);
    hr_schema_file *other = schema_of_text("string: [id]\n");
    assert_error(hr_example_rows("rows.tfrecord", .schema = other), "convert.type",
                 "rows.tfrecord: record 0: feature 'id': expected string", -1);
    hr_schema_file_free(other);
}

static void rows_that_cannot_be_read_are_left_out_by_a_policy(void **state)
{
    (void)state;
    static const char *const patterns[] = {"bad.csv", "bad.jsonl"};
    for (int i = 0; i < 2; i++) {
        const hr_element *e;
        hr_iterator *it = iterate(hr_example_rows(patterns[i], .schema = schema, .policy.on_error = HR_SKIP), (way){0});
        for (int r = 0; r < 2; r++) assert_status(hr_next(it, &e), HR_OK);
        assert_status(hr_next(it, &e), HR_END);
        hr_iterator_free(it);
    }
}

static void arguments_that_cannot_be_right_are_refused(void **state)
{
    (void)state;
    static const char *const other[] = {"scores"};
    assert_fails(hr_example_rows("rows-*.csv"), HR_INVALID_ARGUMENT, "example_rows.schema");
    assert_fails(hr_example_rows("rows-0.*", .schema = schema), HR_INVALID_ARGUMENT, "example_rows.format");
    assert_fails(hr_example_rows("rows-*.csv", .schema = schema, .require = other, .require_count = 1),
                 HR_INVALID_ARGUMENT, "example_rows.require");
    assert_fails(hr_example_rows(NULL), HR_INVALID_ARGUMENT, "example_rows.pattern");
    assert_fails(hr_example_rows("none-*.csv", .schema = schema), HR_NOT_FOUND, "file.no_match");
}

static int forget(void **state)
{
    (void)state;
    hr_schema_file_free(schema);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_those_of_convert),
        cmocka_unit_test(whole_records_keep_what_the_schema_does_not_name),
        cmocka_unit_test(the_dialect_of_a_csv_is_that_of_convert),
        cmocka_unit_test(rows_are_counted_over_files),
        cmocka_unit_test(errors_name_file_and_line),
        cmocka_unit_test(rows_that_cannot_be_read_are_left_out_by_a_policy),
        cmocka_unit_test(arguments_that_cannot_be_right_are_refused),
        HR_CONFORMANCE(example_rows),
        HR_CONFORMANCE(example_rows_of_json),
        HR_CONFORMANCE(example_rows_of_gzip),
        HR_CONFORMANCE(example_rows_of_tfrecords),
        HR_CONFORMANCE(example_rows_required),
        HR_CONFORMANCE(example_rows_of_functions),
        HR_CONFORMANCE(example_rows_with_rejects),
        HR_CONFORMANCE_OF_FAILURE(example_rows_fail),
    };
    return cmocka_run_group_tests(tests, write_rows, forget);
}
