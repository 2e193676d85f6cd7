/* Schemas found in files and held against them: the types, the record that decided, the same for any number of
 * threads. */
#include "tests/testing.h"
#include <headrace/examples.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hr_file_list files_of(char **path, int count) { return (hr_file_list){path, count}; }

static char *infer(char **path, int count, hr_schema_file **schema)
{
    hr_error err;
    char *text;
    const hr_file_list files = files_of(path, count);
    assert_ok(hr_infer_schema_with(&files, NULL, schema, &err), &err);
    assert_ok(hr_schema_file_text(*schema, &text, &err), &err);
    return text;
}

static void assert_schema(char *path, const char *expected)
{
    hr_schema_file *schema;
    char *text = infer(&path, 1, &schema);
    assert_string_equal(text, expected);
    hr_free(text);
    hr_schema_file_free(schema);
}

static void write_string(const char *path, const char *text) { write_file(path, text, strlen(text)); }

static void every_csv_value_counts_and_empty_ones_say_nothing(void **state)
{
    (void)state;
    write_string("a.csv",
                 "id,x,s,zip,big,none\n1,,a,01,9223372036854775807,\n2,3,,2,9223372036854775808,\n,2.5,7,3,1,\n");
    assert_schema("a.csv", "schema:\n"
                           "  int64:\n"
                           "    - id  # int64 first in record 0: \"1\"; missing in 1 of 3\n"
                           "  float:\n"
                           "    - x  # float first in record 2: \"2.5\"; missing in 1 of 3\n"
                           "  string:\n"
                           "    - s  # string first in record 0: \"a\"; missing in 1 of 3\n"
                           "    - zip  # string first in record 0: \"01\"\n"
                           "    - big  # string first in record 1: \"9223372036854775808\"\n"
                           "    - none  # no value anywhere\n");
    write_string("b.csv", "spaced,wide,inf\n 1,1e38,-inf\n 07,1e39,nan\n");
    assert_schema("b.csv", "schema:\n"
                           "  float:\n"
                           "    - inf  # float first in record 0: \"-inf\"\n"
                           "  string:\n"
                           "    - spaced  # string first in record 1: \" 07\"\n"
                           "    - wide  # string first in record 1: \"1e39\"\n");
}

/* As pandas writes ids with gaps; what float32 rounds is counted. */
static void whole_numbers_beyond_2_to_the_24_are_int64_with_a_point_too(void **state)
{
    (void)state;
    write_string("c.csv", "id,small,mixed,far,huge\n16777216.0,1.0,16777217,9223372036854775807.0,1e400\n"
                          ",2.0,0.5,9223372036854775808.0,1\n16777217.0,,123456.789,1,1\n-16777219,3,7.25,1,1\n");
    assert_schema(
        "c.csv",
        "schema:\n"
        "  int64:\n"
        "    - id  # int64 first in record 2: \"16777217.0\", beyond the whole numbers of float32; missing in 1 of 4\n"
        "  float:\n"
        "    - small  # float first in record 0: \"1.0\"; missing in 1 of 4\n"
        "    - mixed  # float first in record 1: \"0.5\"; float32 rounds 2 values, first in record 0: \"16777217\"\n"
        "  string:\n"
        "    - far  # string first in record 1: \"9223372036854775808.0\"\n"
        "    - huge  # string first in record 0: \"1e400\"\n");
    char *path = "c.csv";
    hr_schema_file *schema;
    hr_stats *stats;
    hr_error err;
    hr_free(infer(&path, 1, &schema));
    assert_int_equal(hr_schema_file_at(schema, 2).rounded, 2);
    const hr_file_list files = files_of(&path, 1);
    assert_ok(hr_compute_stats_with(&files, NULL, &stats, &err), &err);
    for (int i = 0; i < 5; i++) {
        const hr_feature_stats *f = hr_stats_feature(stats, i); /* far, huge, id, mixed, small */
        assert_int_equal(f->rounded, i == 3 ? 2 : 0);
        if (i == 2) {
            assert_exactly(f->min, -16777219);
            assert_exactly(f->max, 16777217);
        }
    }
    hr_stats_free(stats);
    hr_schema_file_free(schema);
}

static void numbers_too_small_for_float32_are_counted_as_rounded(void **state)
{
    (void)state;
    write_string("d.csv", "tiny,none\n0.5,0e-99\n1e-46,0.000\n1e-400,1e-40\n-7E-46,-0.0\n");
    assert_schema(
        "d.csv",
        "schema:\n"
        "  float:\n"
        "    - tiny  # float first in record 0: \"0.5\"; float32 rounds 3 values, first in record 1: \"1e-46\"\n"
        "    - none  # float first in record 0: \"0e-99\"\n");
}

static void json_rows_give_kinds_lengths_and_conflicts(void **state)
{
    (void)state;
    write_string("a.jsonl", "{\"b\": [1, 2], \"a\": 1}\n{\"a\": 2.5, \"c\": \"x\"}\n{\"c\": 3}\n");
    assert_schema(
        "a.jsonl",
        "schema:\n"
        "  int64:\n"
        "    - b  # int64 first in record 0: \"1\"; missing in 2 of 3; 2 to 2 values\n"
        "  float:\n"
        "    - a  # float first in record 1: \"2.5\"; int64 first in record 0: \"1\"; missing in 1 of 3\n"
        "  string:\n"
        "    - c  # CONFLICT: string first in record 1: \"x\"; int64 first in record 2: \"3\"; missing in 1 of "
        "3\n");
}

/* Rows of which one, far down, decides. */
static void write_rows(const char *path, int rows, int decisive)
{
    hr_record_writer *w;
    hr_error err;
    hr_example *e = hr_example_new();
    assert_ok(hr_record_writer_open(path, NULL, &w, &err), &err);
    for (int i = 0; i < rows; i++) {
        hr_view record;
        hr_example_clear(e);
        hr_example_add_int64(e, "i", (int64_t[]){i}, 1);
        if (i == decisive)
            hr_example_add_float(e, "x", (float[]){0.5f}, 1);
        else
            hr_example_add_int64(e, "x", (int64_t[]){i}, 1);
        assert_ok(hr_example_bytes(e, &record, &err), &err);
        assert_ok(hr_record_write(w, record.data, (size_t)record.size, &err), &err);
    }
    assert_ok(hr_record_writer_commit(w, &err), &err);
    hr_example_free(e);
}

static void the_deciding_record_is_found_by_any_number_of_threads_and_files(void **state)
{
    (void)state;
    char *few[] = {"a.tfrecord", "b.tfrecord"}, *many[12], names[12][32];
    write_rows("a.tfrecord", 30000, -1);
    write_rows("b.tfrecord", 30000, 27123);
    for (int i = 0; i < 12; i++) {
        snprintf(names[i], sizeof names[i], "m%02d.tfrecord", i);
        many[i] = names[i];
        write_rows(names[i], 500, i == 7 ? 44 : -1);
    }
    char *first[2] = {NULL, NULL};
    for (int threads = 0; threads <= 2; threads += 2)
        for (int set = 0; set < 2; set++) {
            hr_schema_file *schema;
            hr_set_threads(threads);
            char *text = set ? infer(many, 12, &schema) : infer(few, 2, &schema);
            assert_text_contains(text, set ? "float first in m07.tfrecord record 44: \"0.5\""
                                           : "float first in b.tfrecord record 27123: \"0.5\"");
            assert_int_equal(hr_schema_file_count(schema), 2);
            assert_true(hr_schema_file_at(schema, 1).conflict);
            assert_string_equal(hr_schema_file_at(schema, 1).name, "x");
            if (first[set]) assert_string_equal(text, first[set]);
            hr_free(first[set]);
            first[set] = text;
            hr_schema_file_free(schema);
        }
    hr_free(first[0]);
    hr_free(first[1]);
}

static void a_schema_written_is_the_schema_read(void **state)
{
    (void)state;
    const char *yaml = "int64: [row, \"true\"]\nbool: [b]\nfloat: [temp]\nstring: [\"a b\", \"\xc3\xa9\"]\n"
                       "default: {temp: 57.5, row: -3, b: true, \"a b\": \"x\\ty\"}\nlabel: b\n";
    hr_schema_file *a, *b;
    hr_error err;
    char *text;
    write_string("a.yaml", yaml);
    assert_ok(hr_schema_file_open("a.yaml", &a, &err), &err);
    assert_ok(hr_schema_file_text(a, &text, &err), &err);
    write_string("b.yaml", text);
    assert_ok(hr_schema_file_open("b.yaml", &b, &err), &err);
    assert_int_equal(hr_schema_file_diff(a, b, NULL, NULL), 0);
    hr_free(text);
    hr_schema_file_free(a);
    hr_schema_file_free(b);
}

static void join(const char *difference, void *user)
{
    strcat(user, difference);
    strcat(user, "\n");
}

static void as_many_records_are_looked_at_as_are_asked_for(void **state)
{
    (void)state;
    static char *paths[] = {"m0.csv",     "m1.csv",     "m.jsonl",    "m.tfrecord", "m.tfrecord",
                            "m.tfrecord", "m.tfrecord", "m.tfrecord", "m.tfrecord", "m.tfrecord"};
    static const int first[] = {0, 2, 3}, files[] = {2, 8, 1}; /* few, as many as slots, records */
    write_string("m0.csv", "x\n1\n2\n");
    write_string("m1.csv", "x\n3\nlate\n");
    write_string("m.jsonl", "{\"x\": 1}\n{\"x\": 2}\n{\"x\": \"late\"}\n");
    write_rows("m.tfrecord", 10, 4);
    for (size_t i = 0; i < sizeof first / sizeof *first; i++) {
        const hr_file_list list = files_of(paths + first[i], files[i]);
        const int64_t decides = i == 0 ? 4 : i == 1 ? 3 : 5;
        for (int64_t max = 1; max <= decides; max++) {
            const hr_survey_opts opts = {.struct_size = sizeof opts, .max_records = max};
            hr_schema_file *schema;
            hr_error err;
            assert_ok(hr_infer_schema_with(&list, &opts, &schema, &err), &err);
            const hr_schema_file_field x = hr_schema_file_at(schema, hr_schema_file_count(schema) - 1);
            assert_int_equal(x.dtype == HR_INT64, max < decides);
            hr_schema_file_free(schema);
        }
    }
}

static void differences_are_told_one_by_one(void **state)
{
    (void)state;
    hr_schema_file *a, *b;
    hr_error err;
    char all[512] = "";
    write_string("a.yaml", "int64: [x, y, z]\nlabel: z\ndefault: {x: 1}\n");
    write_string("b.yaml", "float: [y]\nint64: [x, z, w]\ndefault: {x: 2}\n");
    assert_ok(hr_schema_file_open("a.yaml", &a, &err), &err);
    assert_ok(hr_schema_file_open("b.yaml", &b, &err), &err);
    assert_int_equal(hr_schema_file_diff(a, b, join, all), 4);
    assert_string_equal(all, "~ x: another default\n~ y: int64, float\n+ int64 w\n~ label: z, none\n");
    hr_schema_file_free(a);
    hr_schema_file_free(b);
}

static bool keep_text(const hr_error *deviation, void *user)
{
    strcat(user, deviation->text);
    strcat(user, "\n");
    return true;
}

static void every_deviation_names_its_record_and_field(void **state)
{
    (void)state;
    hr_schema_file *schema;
    hr_error err;
    int64_t count;
    char all[1024] = "", *path = "a.csv", *records = "a.jsonl";
    write_string("s.yaml", "int64: [i]\nfloat: [x]\nbool: [b]\nint32: [never]\n");
    write_string("a.csv", "i,x,b,new\n1,2.5,true,\nx,,2,1\n,y,,\n");
    write_string("a.jsonl", "{\"i\": 1, \"x\": 3, \"never\": 3000000000}\n{\"i\": \"a\", \"b\": 1}\n");
    assert_ok(hr_schema_file_open("s.yaml", &schema, &err), &err);
    const hr_file_list csv = files_of(&path, 1), json = files_of(&records, 1);
    assert_ok(hr_check_schema_with(&csv, schema, NULL, keep_text, all, &count, &err), &err);
    assert_string_equal(all, "a.csv: record 1: feature 'new' is not in the schema\n"
                             "a.csv: record 1: feature 'i': expected int64, found text \"x\"\n"
                             "a.csv: record 1: feature 'b': expected bool, found text \"2\"\n"
                             "a.csv: record 2: feature 'x': expected float32, found text \"y\"\n"
                             "feature 'never': expected in some record, found in none\n");
    assert_int_equal(count, 5);
    all[0] = '\0';
    assert_ok(hr_check_schema_with(&json, schema, NULL, keep_text, all, &count, &err), &err);
    assert_string_equal(all,
                        "a.jsonl: record 0: feature 'never': expected int32, found a number out of range 3000000000\n"
                        "a.jsonl: record 1: feature 'i': expected int64, found string \"a\"\n");
    hr_schema_file_free(schema);
}

static void damage_is_an_error_with_its_place(void **state)
{
    (void)state;
    hr_schema_file *schema;
    hr_error err;
    char *path = "a.tfrecord";
    const hr_file_list files = files_of(&path, 1);
    write_rows("a.tfrecord", 20000, -1);
    size_t size;
    char *bytes = read_whole_file("a.tfrecord", &size);
    bytes[size - 30] ^= 1;
    write_file("a.tfrecord", bytes, size);
    free(bytes);
    assert_status(hr_infer_schema_with(&files, NULL, &schema, &err), HR_DATA_LOSS);
    assert_string_equal(err.kind, "tfrecord.data_crc");
    assert_int_equal(err.record, 19999);
    assert_null(schema);
    hr_record_writer *w;
    assert_ok(hr_record_writer_open("a.tfrecord", NULL, &w, &err), &err);
    assert_ok(hr_record_write(w, "\x0a\x7f", 2, &err), &err);
    assert_ok(hr_record_writer_commit(w, &err), &err);
    assert_status(hr_infer_schema_with(&files, NULL, &schema, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "example.wire");
    assert_int_equal(err.record, 0);
    assert_string_equal(err.file, "a.tfrecord");
}

static bool stop(const hr_progress *now, void *user)
{
    assert_at_most(now->bytes, now->total);
    return ++*(int *)user < 2;
}

static void progress_can_stop_it(void **state)
{
    (void)state;
    int calls = 0;
    const hr_survey_opts opts = {.struct_size = sizeof opts, .progress = stop, .user = &calls};
    hr_schema_file *schema;
    hr_error err;
    char *path = "a.tfrecord";
    const hr_file_list files = files_of(&path, 1);
    write_rows("a.tfrecord", 100000, -1);
    assert_status(hr_infer_schema_with(&files, &opts, &schema, &err), HR_CANCELLED);
    assert_int_equal(calls, 2);
}

static void a_lack_of_memory_leaks_nothing(void **state)
{
    (void)state;
    char *path[] = {"a.csv", "a.jsonl"};
    write_string("a.csv", "i,s\n1,a\n\"2\"\"\",\n");
    write_string("a.jsonl", "{\"i\": 1}\n");
    hr_set_threads(0);
    for (int f = 0; f < 2; f++) {
        const hr_file_list files = files_of(&path[f], 1);
        const int64_t alive = allocations_alive();
        hr_status st = HR_RESOURCE_EXHAUSTED;
        for (int64_t n = 0; st != HR_OK && n < 400; n++) {
            hr_schema_file *schema;
            char *text = NULL;
            hr_error err;
            fail_allocation(n);
            st = hr_infer_schema_with(&files, NULL, &schema, &err);
            if (st == HR_OK) st = hr_schema_file_text(schema, &text, &err);
            allocations_since();
            hr_free(text);
            hr_schema_file_free(schema);
            if (st != HR_OK && st != HR_RESOURCE_EXHAUSTED) fail_msg("%s", err.text);
            assert_int_equal(allocations_alive(), alive);
        }
        assert_status(st, HR_OK);
    }
}

/* Ten times as many columns take ten times as long; where each was looked for among all, this took minutes. */
enum { WIDE = 40000 };

/* A header in an order that is not sorted, and a row. */
static void write_wide(const char *path)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (int i = 0; i < WIDE; i++) fprintf(f, "%sc%d", i ? "," : "", (int)((int64_t)i * 7919 % WIDE));
    for (int i = 0; i < WIDE; i++) fprintf(f, "%s%d", i ? "," : "\n", i % 10);
    fputs("\n", f);
    fclose(f);
}

static bool count_asks(const hr_progress *now, void *user)
{
    int *left = user;
    (void)now;
    return --*left != 0;
}

static void columns_may_be_many(void **state)
{
    (void)state;
    hr_error err;
    hr_schema_file *schema, *again;
    hr_stats *stats;
    int64_t deviations;
    char *path = "wide.csv";
    write_wide(path);
    char *text = infer(&path, 1, &schema);
    assert_int_equal(hr_schema_file_count(schema), WIDE);
    write_string("wide.yaml", text);
    hr_free(text);
    assert_ok(hr_schema_file_open("wide.yaml", &again, &err), &err);
    assert_int_equal(hr_schema_file_diff(schema, again, NULL, NULL), 0);
    const hr_file_list files = files_of(&path, 1);
    assert_ok(hr_check_schema_with(&files, again, NULL, NULL, NULL, &deviations, &err), &err);
    assert_int_equal(deviations, 0);
    hr_schema_file_free(again);
    const hr_survey_opts opts = {.struct_size = sizeof opts, .schema = schema};
    assert_ok(hr_compute_stats_with(&files, &opts, &stats, &err), &err);
    assert_int_equal(hr_stats_features(stats), WIDE);
    hr_stats_free(stats);
    hr_schema_file_free(schema);
}

/* The progress is asked within a row, too: a stop takes no longer than some thousand columns. */
static void a_long_row_can_be_stopped_in_its_middle(void **state)
{
    (void)state;
    hr_error err;
    hr_schema_file *schema;
    int left = 0;
    char *path = "wide.csv";
    write_wide(path);
    const hr_file_list files = files_of(&path, 1);
    hr_set_threads(0);
    const hr_survey_opts opts = {.struct_size = sizeof opts, .progress = count_asks, .user = &left};
    assert_ok(hr_infer_schema_with(&files, &opts, &schema, &err), &err);
    hr_schema_file_free(schema);
    const int asked = -left;
    assert_more(asked, WIDE / 0x4000);
    for (int stop = 2; stop <= asked; stop += 2) {
        left = stop;
        assert_status(hr_infer_schema_with(&files, &opts, &schema, &err), HR_CANCELLED);
        assert_null(schema);
    }
}

static void nothing_is_refused(void **state)
{
    (void)state;
    const hr_file_list none = {0};
    hr_schema_file *schema;
    hr_stats *stats;
    hr_vocabulary *words;
    hr_error err;
    char *text;
    int64_t count;
    assert_int_equal(hr_infer_schema(NULL, &schema, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "survey.argument");
    assert_int_equal(hr_infer_schema(&none, NULL, NULL), HR_INVALID_ARGUMENT);
    assert_int_equal(hr_compute_stats(NULL, &stats, &err), HR_INVALID_ARGUMENT);
    assert_int_equal(hr_compute_stats_with(&none, NULL, NULL, NULL), HR_INVALID_ARGUMENT);
    assert_int_equal(hr_stats_columns_text(NULL, HR_NORMALIZE_MIN_MAX, NULL, &text, NULL), HR_INVALID_ARGUMENT);
    assert_int_equal(hr_check_schema(NULL, NULL, NULL, NULL, &count, &err), HR_INVALID_ARGUMENT);
    assert_int_equal(hr_check_schema(&none, NULL, NULL, NULL, &count, NULL), HR_INVALID_ARGUMENT);
    assert_int_equal(hr_count_vocabulary(NULL, "x", &words, &err), HR_INVALID_ARGUMENT);
    assert_int_equal(hr_count_vocabulary(&none, NULL, &words, NULL), HR_INVALID_ARGUMENT);
    assert_int_equal(hr_vocabulary_write(NULL, "out", NULL), HR_INVALID_ARGUMENT);
    assert_int_equal(hr_schema_file_open(NULL, &schema, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "schema.argument");
    assert_int_equal(hr_schema_file_open("s.yaml", NULL, NULL), HR_INVALID_ARGUMENT);
    assert_int_equal(hr_schema_file_set_types(NULL, "x=float", NULL), HR_INVALID_ARGUMENT);
    assert_int_equal(hr_schema_file_text(NULL, &text, NULL), HR_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_csv_value_counts_and_empty_ones_say_nothing),
        cmocka_unit_test(whole_numbers_beyond_2_to_the_24_are_int64_with_a_point_too),
        cmocka_unit_test(numbers_too_small_for_float32_are_counted_as_rounded),
        cmocka_unit_test(json_rows_give_kinds_lengths_and_conflicts),
        cmocka_unit_test(the_deciding_record_is_found_by_any_number_of_threads_and_files),
        cmocka_unit_test(a_schema_written_is_the_schema_read),
        cmocka_unit_test(as_many_records_are_looked_at_as_are_asked_for),
        cmocka_unit_test(differences_are_told_one_by_one),
        cmocka_unit_test(every_deviation_names_its_record_and_field),
        cmocka_unit_test(damage_is_an_error_with_its_place),
        cmocka_unit_test(progress_can_stop_it),
        cmocka_unit_test(columns_may_be_many),
        cmocka_unit_test(a_long_row_can_be_stopped_in_its_middle),
        cmocka_unit_test(a_lack_of_memory_leaks_nothing),
        cmocka_unit_test(nothing_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
