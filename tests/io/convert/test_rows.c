/* The public calls about formats: a conversion with its progress, rows one by one, names of formats; what they say of
 * NULL, and of options of an older caller. */
#include <headrace/record_sets.h>
#include "tests/testing.h"
#include <headrace/convert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 3000 };

static hr_schema_file *schema;

static int write_rows(void **state)
{
    (void)state;
    static const char text[] = "int64: [id]\nfloat: [x]\nint32: [small]\nlabel: x\n";
    char *csv = malloc(64 * ROWS);
    size_t used = (size_t)sprintf(csv, "id,x,small\n");
    for (int i = 0; i < ROWS; i++) used += (size_t)sprintf(csv + used, "%d,%d.5,%d\n", i, i % 7, i % 100);
    write_file("in.csv", csv, used);
    write_file("s.yaml", text, strlen(text));
    free(csv);
    return hr_schema_file_open("s.yaml", &schema, NULL) == HR_OK ? 0 : -1;
}

static int clear(void **state)
{
    (void)state;
    hr_schema_file_free(schema);
    return 0;
}

static hr_file_list one(const char *path)
{
    static char *names[1];
    names[0] = (char *)(uintptr_t)path;
    return (hr_file_list){names, 1};
}

typedef struct watched {
    int calls;
    int64_t bytes, rows;
    bool falls, stop;
} watched;

static bool watch(const hr_progress *now, void *user)
{
    watched *w = user;
    w->calls++;
    w->falls |= now->bytes < w->bytes || now->records < w->rows || now->bytes > now->total;
    w->bytes = now->bytes;
    w->rows = now->records;
    return !w->stop;
}

static void a_program_converts_and_is_told_how_far_it_is(void **state)
{
    (void)state;
    const hr_file_list in = one("in.csv");
    watched w = {0};
    hr_convert_result r;
    hr_error err;
    assert_ok(hr_convert(&in, "all.tfrecord", &r, &err, .schema = schema, .progress = watch, .user = &w), &err);
    assert_int_equal(r.written, ROWS);
    assert_int_equal(r.missing[0], 0);
    hr_convert_result_clear(&r);
    assert_null(r.missing);
    assert_more(w.calls, 0);
    assert_false(w.falls);
    assert_int_equal(w.rows, ROWS);
    w = (watched){.stop = true};
    assert_status(hr_convert(&in, "none.tfrecord", NULL, &err, .schema = schema, .progress = watch, .user = &w),
                  HR_CANCELLED);
    assert_int_equal(access("none.tfrecord", F_OK), -1);
}

/* The rows of a file of each format are the records that convert makes of it. */
static void rows_of_any_format_are_the_records_that_convert_writes(void **state)
{
    (void)state;
    static const char *const file[] = {"in.csv", "in.jsonl", "all.tfrecord"};
    const hr_file_list in = one("in.csv");
    hr_error err;
    assert_ok(hr_convert(&in, "in.jsonl", NULL, &err, .schema = schema), &err);
    for (int i = 0; i < 3; i++) {
        hr_record_reader *records;
        hr_row_reader *rows;
        hr_view want, got;
        int64_t count = 0, said;
        assert_ok(hr_record_reader_open("all.tfrecord", NULL, &records, &err), &err);
        assert_ok(hr_row_reader_open(file[i], &rows, &err, .schema = schema), &err);
        for (; hr_record_read(records, &want, &err) == HR_OK; count++) {
            assert_ok(hr_row_reader_next(rows, &got, &err), &err);
            assert_int_equal(got.size, want.size);
            assert_memory_equal(got.data, want.data, (size_t)want.size);
        }
        assert_status(hr_row_reader_next(rows, &got, &err), HR_END);
        assert_status(hr_row_reader_next(rows, &got, &err), HR_END);
        assert_int_equal(count, ROWS);
        assert_ok(hr_count_rows(file[i], &said, &err), &err);
        assert_int_equal(said, ROWS);
        hr_row_reader_free(rows);
        hr_record_reader_free(records);
    }
}

/* Every good row before the one that is wrong comes first. */
static void a_wrong_row_comes_after_the_good_ones(void **state)
{
    (void)state;
    static const char *const text[] = {"id,x,small\n0,1,1\n1,1,1\n2,1,1\nthree,1,1\n4,1,1\n",
                                       "id,x,small\n0,1,1\n1,1,1\n2,1,1\n3\n4,1,1\n",
                                       "{\"id\": 0}\n{\"id\": 1}\n{\"id\": 2}\n{\"id\": three}\n{\"id\": 4}\n"};
    static const char *const file[] = {"value.csv", "fields.csv", "value.jsonl"};
    static const char *const kind[] = {"csv.value", "csv.fields", "json.syntax"};
    for (int i = 0; i < 3; i++) {
        hr_row_reader *rows;
        hr_view row;
        hr_error err;
        write_file(file[i], text[i], strlen(text[i]));
        assert_ok(hr_row_reader_open(file[i], &rows, &err, .schema = schema), &err);
        for (int r = 0; r < 3; r++) assert_ok(hr_row_reader_next(rows, &row, &err), &err);
        for (int r = 0; r < 2; r++) {
            assert_status(hr_row_reader_next(rows, &row, &err), HR_INVALID_ARGUMENT);
            assert_string_equal(err.kind, kind[i]);
            assert_int_equal(err.record, 3);
        }
        hr_row_reader_free(rows);
    }
}

static void names_say_formats(void **state)
{
    (void)state;
    char names[64];
    assert_int_equal(hr_file_format_of("a/b.tsv.gz"), HR_FORMAT_CSV);
    assert_int_equal(hr_file_format_of("a.ndjson"), HR_FORMAT_JSON);
    assert_int_equal(hr_file_format_of("a.parquet"), HR_FORMAT_BY_NAME);
    assert_int_equal(hr_file_format_named("JSONL"), HR_FORMAT_JSON);
    assert_int_equal(hr_file_format_named("tsv"), HR_FORMAT_CSV);
    assert_int_equal(hr_file_format_named("parquet"), HR_FORMAT_BY_NAME);
    assert_string_equal(hr_file_format_name(HR_FORMAT_TFRECORD), "tfrecord");
    assert_string_equal(hr_file_format_name(HR_FORMAT_BY_NAME), "");
    hr_file_format_names(names, sizeof names);
    assert_memory_equal(names, "csv, ", 5);
    assert_non_null(strstr(names, " or "));
    for (int i = HR_FORMAT_BY_NAME + 1; *hr_file_format_name((hr_file_format)i); i++) {
        const char *name = hr_file_format_name((hr_file_format)i);
        assert_non_null(strstr(names, name));
        assert_int_equal(hr_file_format_named(name), i);
    }
    assert_string_equal(hr_csv_delimiter_of("a.tsv"), "\t");
    assert_null(hr_csv_delimiter_of("a.csv"));
    assert_int_equal(hr_compression_at(0), HR_NONE);
    int count = 0;
    while (hr_compression_at(count)) count++;
    assert_more(count, 3);
    assert_int_equal(hr_compression_at(-1), HR_COMPRESSION_AUTO);
}

static void schemas_say_their_label_and_the_types_as_written(void **state)
{
    (void)state;
    const int label = hr_schema_file_label(schema);
    assert_int_not_equal(label, -1);
    assert_string_equal(hr_schema_file_at(schema, label).name, "x");
    for (int i = 0; i < hr_schema_file_count(schema); i++) {
        const hr_schema_file_field f = hr_schema_file_at(schema, i);
        if (strcmp(f.name, "small") != 0) continue;
        assert_int_equal(f.dtype, HR_INT64);
        assert_int_equal(f.written, HR_INT32);
    }
}

static void errors_and_texts_become_json(void **state)
{
    (void)state;
    char *json;
    hr_error err = {0}, told;
    hr_fail(&told, HR_DATA_LOSS, "tfrecord.data_crc", "it is \"damaged\"");
    told.record = 3;
    hr_error_file(&told, "a.tfrecord");
    assert_ok(hr_error_json(&told, &json, &err), &err);
    assert_string_equal(json, "{\"file\":\"a.tfrecord\",\"record\":3,\"kind\":\"tfrecord.data_crc\","
                              "\"reason\":\"it is \\\"damaged\\\"\"}");
    hr_free(json);
    assert_ok(hr_json_quote((hr_view){"a\xff\n", 3}, &json, &err), &err);
    assert_string_equal(json, "\"a\xef\xbf\xbd\\n\"");
    hr_free(json);
    assert_true(hr_is_utf8((hr_view){"gr\xc3\xbc\xc3\x9f", 6}));
    assert_false(hr_is_utf8((hr_view){"\xed\xa0\x80", 3}));
}

/* A list that was made by hand, of any number of names, takes more. */
static void lists_of_files_grow(void **state)
{
    (void)state;
    hr_error err;
    hr_file_list list = {hr_malloc(3 * sizeof(char *)), 3};
    for (int i = 0; i < 3; i++) list.path[i] = hr_strdup("x");
    for (int i = 0; i < 20; i++) assert_ok(hr_file_list_add(&list, "y", &err), &err);
    assert_int_equal(list.count, 23);
    assert_string_equal(list.path[22], "y");
    hr_file_list_clear(&list);
    assert_int_equal(hr_paths_size(&(hr_file_list){(char *[]){"in.csv", "none"}, 2}), -1);
    assert_more(hr_path_size("in.csv"), ROWS);
}

static void nothing_is_refused(void **state)
{
    (void)state;
    const hr_file_list in = one("in.csv");
    hr_error err;
    hr_row_reader *rows;
    hr_view row;
    const char *from, *to;
    char *text;
    int64_t count;
    assert_status(hr_convert_with(NULL, "o.tfrecord", NULL, NULL, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "convert.inputs");
    assert_status(hr_convert_with(&in, NULL, NULL, NULL, NULL), HR_INVALID_ARGUMENT);
    assert_status(hr_convert_with(&in, "o.tfrecord", NULL, NULL, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "convert.schema");
    assert_status(hr_convert(&in, "o.tfrecord", NULL, &err, .schema = schema, .require_count = 2), HR_INVALID_ARGUMENT);
    hr_convert_result_clear(NULL);
    assert_status(hr_convert_formats(NULL, NULL, NULL, NULL, NULL, NULL), HR_INVALID_ARGUMENT);
    assert_ok(hr_convert_formats(&in, "x.jsonl", NULL, &from, &to, &err), &err);
    assert_string_equal(from, "csv");
    assert_string_equal(to, "jsonl");
    assert_status(hr_convert_parse_split(NULL, &text, &count, NULL), HR_INVALID_ARGUMENT);
    assert_status(hr_convert_parse_split("row:5", NULL, NULL, NULL), HR_INVALID_ARGUMENT);
    assert_status(hr_row_reader_open_with(NULL, NULL, &rows, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "convert.argument");
    assert_status(hr_row_reader_open_with("in.csv", NULL, NULL, NULL), HR_INVALID_ARGUMENT);
    assert_status(hr_row_reader_open_with("in.csv", NULL, &rows, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "convert.schema");
    assert_null(rows);
    assert_status(hr_row_reader_next(NULL, &row, NULL), HR_INVALID_ARGUMENT);
    hr_row_reader_free(NULL);
    assert_status(hr_count_rows_with("in.csv", NULL, NULL, NULL), HR_INVALID_ARGUMENT);
    assert_ok(hr_count_rows_with("in.csv", NULL, &count, &err), &err);
    assert_status(hr_file_list_add(NULL, "x", NULL), HR_INVALID_ARGUMENT);
    hr_file_list_clear(NULL);
    assert_status(hr_error_json(NULL, &text, NULL), HR_INVALID_ARGUMENT);
    assert_status(hr_json_quote((hr_view){"", 0}, NULL, NULL), HR_INVALID_ARGUMENT);
    assert_int_equal(hr_file_format_of(NULL), HR_FORMAT_BY_NAME);
    assert_int_equal(hr_file_format_named(NULL), HR_FORMAT_BY_NAME);
    assert_null(hr_csv_delimiter_of(NULL));
    assert_int_equal(hr_schema_file_label(NULL), -1);
    assert_int_equal(hr_path_size(NULL), -1);
    assert_false(hr_path_is_special(NULL));
    assert_false(hr_path_reads_once(NULL));
    assert_status(hr_need_files_again(NULL, "", NULL), HR_OK);
    assert_null(hr_suggest(NULL, NULL, 3));
}

/* What a caller computed wrongly: never all rows, or none, in silence. */
static void hostile_numbers_are_refused(void **state)
{
    (void)state;
    hr_row_reader *rows;
    hr_error err;
    int64_t count;
    char *no_name[] = {NULL};
    const char *no_field[] = {NULL};
    hr_schema_file *found;
    const hr_file_list in = one("in.csv"), null = {no_name, 1}, negative = {NULL, -3};
    hr_convert_opts o = {.struct_size = sizeof o, .schema = schema, .max_rows = -1};
    hr_row_reader_opts r = {.struct_size = sizeof r, .schema = schema, .max_rows = INT64_MIN};
    hr_survey_opts s = {.struct_size = sizeof s, .max_records = -1};
    assert_status(hr_convert_with(&in, "h.tfrecord", &o, NULL, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "convert.argument");
    o.max_rows = 0;
    assert_status(hr_convert_with(&in, "", &o, NULL, &err), HR_INVALID_ARGUMENT); /* not the root of the machine */
    assert_string_equal(err.kind, "convert.out");
    o.require = no_field;
    o.require_count = 1;
    assert_status(hr_convert_with(&in, "h.tfrecord", &o, NULL, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "convert.field");
    o.require_count = 0;
    assert_status(hr_convert_with(&null, "h.tfrecord", &o, NULL, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "convert.inputs");
    assert_status(hr_convert_with(&negative, "h.tfrecord", &o, NULL, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_row_reader_open_with("in.csv", &r, &rows, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_count_rows_with("in.csv", &r, &count, &err), HR_INVALID_ARGUMENT);
    r.max_rows = 0;
    r.format = (hr_file_format)99;
    assert_status(hr_row_reader_open_with("in.csv", &r, &rows, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "convert.argument");
    assert_status(hr_infer_schema_with(&in, &s, &found, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "survey.argument");
    assert_status(hr_infer_schema_with(&null, NULL, &found, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_merge_records_with(&null, "h.tfrecord", NULL, NULL, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "records.argument");
    assert_status(hr_shuffle_records_with(&negative, "h.tfrecord", NULL, NULL, &err), HR_INVALID_ARGUMENT);
    assert_int_equal(hr_path_size("h.tfrecord"), -1);
    r = (hr_row_reader_opts){.struct_size = sizeof r, .max_rows = 2};
    assert_ok(hr_count_rows_with("in.csv", &r, &count, &err), &err);
    assert_int_equal(count, 2);
}

/* Options that end after .schema: nothing beyond them is read, as memory that ends there shows. */
static void options_of_an_older_caller_are_taken(void **state)
{
    (void)state;
    const size_t size = offsetof(hr_convert_opts, shards), rows_size = offsetof(hr_row_reader_opts, csv);
    const hr_file_list in = one("in.csv");
    hr_convert_opts now = {.struct_size = size, .schema = schema};
    hr_row_reader_opts rows_now = {.struct_size = rows_size, .schema = schema};
    hr_convert_opts *old = malloc(size);
    hr_row_reader_opts *rows_old = malloc(rows_size);
    hr_row_reader *reader;
    hr_error err;
    memcpy(old, &now, size);
    memcpy(rows_old, &rows_now, rows_size);
    assert_ok(hr_convert_with(&in, "old.tfrecord", old, NULL, &err), &err);
    assert_ok(hr_row_reader_open_with("in.csv", rows_old, &reader, &err), &err);
    hr_row_reader_free(reader);
    free(old);
    free(rows_old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_converts_and_is_told_how_far_it_is),
        cmocka_unit_test(rows_of_any_format_are_the_records_that_convert_writes),
        cmocka_unit_test(a_wrong_row_comes_after_the_good_ones),
        cmocka_unit_test(names_say_formats),
        cmocka_unit_test(schemas_say_their_label_and_the_types_as_written),
        cmocka_unit_test(errors_and_texts_become_json),
        cmocka_unit_test(lists_of_files_grow),
        cmocka_unit_test(nothing_is_refused),
        cmocka_unit_test(hostile_numbers_are_refused),
        cmocka_unit_test(options_of_an_older_caller_are_taken),
    };
    return cmocka_run_group_tests(tests, write_rows, clear);
}
