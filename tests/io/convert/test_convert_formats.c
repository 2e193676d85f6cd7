/* Every format into every other: the same rows, by any number of threads, in one file or shards; damage and what a
 * format cannot say are errors that leave nothing behind. */
#include "io/convert/format.h"
#include "io/schema/schema.h"
#include "tests/io/conversion.h"
#include "tests/testing.h"
#include <headrace/examples.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 3000 };

static hr__schema_file schema;

static int prepare(void **state)
{
    (void)state;
    const char *text = "int64: [row, late]\nfloat: [temp]\nstring: [name]\n";
    write_file("s.yaml", text, strlen(text));
    FILE *f = fopen("in.csv", "wb");
    fprintf(f, "row,late,temp,name\n");
    for (int i = 0; i < ROWS; i++)
        fprintf(f, "%d,%s,%g%s,%s\n", i, i % 3 ? i % 2 ? "1" : "0" : "", i / 8.0, i % 8 ? "" : ".0",
                i % 5 ? "\"a, \"\"b\"\"\"" : "plain");
    fclose(f);
    return hr__schema_open("s.yaml", &schema, NULL) == HR_OK ? 0 : -1;
}

static int clear(void **state)
{
    (void)state;
    hr__schema_clear(&schema);
    return 0;
}

static conversion options(char **input, const char *out)
{
    return (conversion){.inputs = {input, 1}, .opts.schema = &schema, .out = out, .opts.no_sync = true};
}

static void convert(conversion o, int64_t rows)
{
    hr_convert_result r;
    hr_error err;
    assert_ok(run_conversion(&o, &r, &err), &err);
    assert_int_equal(r.written, rows);
    hr_convert_result_clear(&r);
}

static void same_bytes(const char *a, const char *b)
{
    size_t x, y;
    char *one = read_whole_file(a, &x), *other = read_whole_file(b, &y);
    if (x != y || memcmp(one, other, x) != 0) fail_msg("%s and %s differ", a, b);
    free(one);
    free(other);
}

static void every_direction_keeps_the_rows(void **state)
{
    (void)state;
    static const char *const format[] = {"csv", "jsonl", "tfrecord"};
    char from[32], to[32], back[32];
    for (int i = 0; i < 3; i++) { /* one of each, all from the CSV */
        snprintf(to, sizeof to, "one.%s", format[i]);
        convert(options((char *[]){"in.csv"}, to), ROWS);
    }
    same_bytes("in.csv", "one.csv");
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            snprintf(from, sizeof from, "one.%s", format[i]);
            snprintf(to, sizeof to, "two-%d.%s", i, format[k]);
            snprintf(back, sizeof back, "one.%s", format[k]);
            convert(options((char *[]){from}, to), ROWS);
            same_bytes(to, back);
        }
}

/* A record whose lists are so long that they are read in blocks: as JSON and as CSV. */
static void write_long_lists(const char *json, const char *csv)
{
    enum { VALUES = 70000 };
    FILE *j = fopen(json, "wb"), *c = fopen(csv, "wb");
    fprintf(j, "{\"f\": [");
    fprintf(c, "i,f,s\n");
    for (int i = 0; i < VALUES; i++) fprintf(j, "%s%d.5", i ? ", " : "", i % 999);
    fprintf(j, "], \"i\": [");
    for (int i = 0; i < VALUES; i++) {
        fprintf(j, "%s%d", i ? ", " : "", i % 2 ? -i : i);
        fprintf(c, "%s%d", i ? ";" : "", i % 2 ? -i : i);
    }
    fprintf(j, "], \"s\": [");
    for (int i = 0; i < VALUES; i++) fprintf(c, "%c%d.5", i ? ';' : ',', i % 999);
    fprintf(c, ",\"");
    for (int i = 0; i < VALUES; i++) {
        fprintf(j, "%s\"%d\\\"\"", i ? ", " : "", i);
        fprintf(c, "%s%d\"\"", i ? ";" : "", i);
    }
    fprintf(j, "]}\n");
    fprintf(c, "\"\n");
    fclose(j);
    fclose(c);
}

static void long_lists_pass_through_every_format(void **state)
{
    (void)state;
    hr__schema_file lists;
    const char *text = "int64: [i]\nfloat: [f]\nstring: [s]\n";
    write_file("lists.yaml", text, strlen(text));
    assert_int_equal(hr__schema_open("lists.yaml", &lists, NULL), HR_OK);
    write_long_lists("long.jsonl", "long.csv");
    conversion o = options((char *[]){"long.jsonl"}, "plain.tfrecord");
    o.opts.schema = NULL;
    convert(o, 1);
    o = options((char *[]){"plain.tfrecord"}, "kept.tfrecord");
    o.opts.schema = &lists;
    convert(o, 1);
    same_bytes("plain.tfrecord", "kept.tfrecord");
    o.out = "kept.jsonl";
    convert(o, 1);
    same_bytes("long.jsonl", "kept.jsonl");
    o.out = "kept.csv";
    o.opts.separator = ";";
    convert(o, 1);
    same_bytes("long.csv", "kept.csv");
    hr__schema_clear(&lists);
}

static void without_a_schema_records_pass_to_the_byte(void **state)
{
    (void)state;
    conversion o = options((char *[]){"one.tfrecord"}, "all.tfrecord.gz");
    o.opts.schema = NULL;
    convert(o, ROWS);
    o.inputs.path = (char *[]){"all.tfrecord.gz"};
    o.out = "all.tfrecord";
    convert(o, ROWS);
    same_bytes("one.tfrecord", "all.tfrecord");
}

static void several_files_are_read_one_after_the_other(void **state)
{
    (void)state;
    conversion o = options((char *[]){"one.tfrecord", "one.tfrecord"}, "twice.jsonl");
    size_t one, two;
    o.inputs.count = 2;
    convert(o, 2 * ROWS);
    char *a = read_whole_file("one.jsonl", &one), *b = read_whole_file("twice.jsonl", &two);
    assert_int_equal(two, 2 * one);
    assert_memory_equal(a, b, one);
    assert_memory_equal(a, b + one, one);
    free(a);
    free(b);
}

/* Each shard of a CSV has a header, so that it can be read by itself. */
static void shards_of_text_stand_alone(void **state)
{
    (void)state;
    conversion o = options((char *[]){"one.tfrecord"}, "out");
    hr_convert_result r;
    hr_error err;
    o.opts.to = "csv", o.opts.max_shard_bytes = 20000, o.opts.compression = HR_GZIP;
    assert_ok(run_conversion(&o, &r, &err), &err);
    assert_more(r.files, 2);
    char *path[64], number[64][64];
    for (int i = 0; i < r.files; i++) {
        snprintf(number[i], sizeof number[i], "out/data-%05d-of-%05d.csv.gz", i, (int)r.files);
        path[i] = number[i];
    }
    o = options(path, "joined.csv");
    o.inputs.count = r.files;
    hr_convert_result_clear(&r);
    convert(o, ROWS);
    same_bytes("joined.csv", "in.csv");
    o = options((char *[]){"one.jsonl"}, "fixed");
    o.opts.to = "csv", o.opts.shards = 2;
    convert(o, ROWS);
    size_t size;
    for (int i = 0; i < 2; i++) {
        char *text = read_whole_file(i ? "fixed/data-00001-of-00002.csv" : "fixed/data-00000-of-00002.csv", &size);
        assert_memory_equal(text, "row,late,temp,name\n", 19);
        free(text);
    }
    assert_int_equal(system("rm -r out fixed"), 0);
}

static void rows_are_split_and_dropped_whatever_their_format(void **state)
{
    (void)state;
    static char *input[] = {"in.csv", "one.jsonl", "one.tfrecord"};
    const char *const late[] = {"late"};
    for (int i = 0; i < 3; i++) {
        conversion o = options(&input[i], i ? "other" : "first");
        hr_convert_result r;
        hr_error err;
        o.opts.split_column = "row", o.opts.split_folds = 5, o.opts.require = late, o.opts.require_count = 1;
        assert_ok(run_conversion(&o, &r, &err), &err);
        assert_int_equal(r.rows, ROWS);
        assert_int_equal(r.dropped, ROWS / 3);
        assert_more(r.written_test, 300);
        assert_less(r.written_test, 500);
        hr_convert_result_clear(&r);
        if (i == 0) continue;
        same_bytes("first/train-00000-of-00001.tfrecord", "other/train-00000-of-00001.tfrecord");
        same_bytes("first/test-00000-of-00001.tfrecord", "other/test-00000-of-00001.tfrecord");
    }
    assert_int_equal(system("rm -r first other"), 0);
}

static void fails(conversion o, const char *kind, const char *said)
{
    hr_convert_result r;
    hr_error err;
    assert_int_not_equal(run_conversion(&o, &r, &err), HR_OK);
    hr_convert_result_clear(&r);
    if (strcmp(err.kind, kind) != 0 || !strstr(err.text, said)) fail_msg("%s: %s", err.kind, err.text);
    assert_int_not_equal(access(o.out, F_OK), 0);
}

static void what_cannot_be_said_is_refused(void **state)
{
    (void)state;
    const char *lists = "{\"row\": 1, \"temp\": [1.5, 2.5]}\n{\"row\": 2, \"name\": \"x\"}\n";
    write_file("lists.jsonl", lists, strlen(lists));
    conversion o = options((char *[]){"lists.jsonl"}, "new.csv");
    fails(o, "csv.separator", "column 'temp': expected one value, found 2");
    o.opts.separator = ";";
    convert(o, 2);
    size_t size;
    char *text = read_whole_file("new.csv", &size);
    const char *want = "row,late,temp,name\n1,,1.5;2.5,\n2,,,x\n";
    assert_int_equal(size, strlen(want));
    assert_memory_equal(text, want, size);
    free(text);
    unlink("new.csv");
    o = options((char *[]){"lists.jsonl"}, "new.csv");
    o.opts.schema = NULL;
    fails(o, "convert.schema", "columns of a CSV");
    o.opts.to = "xml";
    fails(o, "convert.format", " or tfrecord, got \"xml\"");
    o = options((char *[]){"one.tfrecord"}, "new.jsonl");
    o.opts.shards = 2;
    fails(o, "convert.out", "got one file, 'new.jsonl'");
    o = options(NULL, "new.jsonl");
    o.inputs.count = 0;
    fails(o, "convert.inputs", "got none");
    o = options((char *[]){"in.csv"}, "new.jsonl");
    o.opts.from = "tfrecord";
    fails(o, "tfrecord.length_crc", "in.csv");
}

static void a_record_is_counted_from_the_beginning_of_its_file(void **state)
{
    (void)state;
    enum { BEFORE = 20000 }; /* several pieces */
    FILE *f = fopen("far.jsonl", "wb");
    for (int i = 0; i < BEFORE; i++) fprintf(f, "{\"row\": %d}\n", i);
    fprintf(f, "{\"temp\": [1.5, 2.5]}\n");
    fclose(f);
    convert(options((char *[]){"far.jsonl"}, "far.tfrecord"), BEFORE + 1);
    fails(options((char *[]){"far.tfrecord"}, "far.csv"), "csv.separator", "far.tfrecord: record 20000: ");
}

static void lines_without_a_row_are_counted(void **state)
{
    (void)state;
    const char *text = "row,late,temp,name\n\n1,0,2.5,x\n\n\n2,0,2.5,y\n";
    write_file("blank.csv", text, strlen(text));
    conversion o = options((char *[]){"blank.csv"}, "blank.jsonl");
    hr_convert_result r;
    hr_error err;
    assert_ok(run_conversion(&o, &r, &err), &err);
    assert_int_equal(r.rows, 2);
    assert_int_equal(r.blank, 3);
    hr_convert_result_clear(&r);
}

static void keep_warning(hr_level level, const char *text, void *user)
{
    if (level == HR_WARNING) snprintf(user, 512, "%s", text);
}

static void the_first_value_that_is_rounded_is_named_whatever_its_field(void **state)
{
    (void)state;
    char said[512] = "";
    const char *text = "a,b\n1,1\n1,16777217\n33554433,16777219\n";
    write_file("wide.csv", text, strlen(text));
    write_file("wide.yaml", "float: [a, b]\n", 14);
    hr__schema_file wide;
    hr_convert_result r;
    hr_error err;
    assert_ok(hr__schema_open("wide.yaml", &wide, &err), &err);
    conversion o = options((char *[]){"wide.csv"}, "wide.tfrecord");
    o.opts.schema = &wide;
    hr_set_log(keep_warning, said);
    assert_ok(run_conversion(&o, &r, &err), &err);
    hr_set_log(NULL, NULL);
    hr_convert_result_clear(&r);
    hr__schema_clear(&wide);
    if (!strstr(said, "rounds 3 values, first in record 1: \"16777217\" of 'b'")) fail_msg("%s", said);
}

static void types_that_disagree_with_the_schema_are_named(void **state)
{
    (void)state;
    const char *other = "string: [row]\n";
    hr__schema_file text;
    hr_error err;
    write_file("other.yaml", other, strlen(other));
    assert_ok(hr__schema_open("other.yaml", &text, &err), &err);
    conversion o = options((char *[]){"one.tfrecord"}, "new.tfrecord");
    o.opts.schema = &text;
    fails(o, "convert.type", "one.tfrecord: record 0: feature 'row': expected string, as the schema says, found int64");
    assert_ok(hr_schema_file_set_types(&text, "row=int64", &err), &err);
    convert(o, ROWS);
    unlink("new.tfrecord");
    assert_status(hr_schema_file_set_types(&text, "row=integer", &err), HR_INVALID_ARGUMENT);
    assert_status(hr_schema_file_set_types(&text, "wor=int64", &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "schema.types");
    hr__schema_clear(&text);
}

static void names_tell_one_file_from_a_folder(void **state)
{
    (void)state;
    assert_true(hr__convert_is_file("-"));
    assert_true(hr__convert_is_file("/dev/null"));
    assert_true(hr__convert_is_file("a/b.csv"));
    assert_true(hr__convert_is_file("a/b.jsonl.gz"));
    assert_true(hr__convert_is_file("b.tfrecord"));
    assert_false(hr__convert_is_file("out"));
    assert_false(hr__convert_is_file("out.d"));
    assert_false(hr__convert_is_file(".csv"));
    assert_int_equal(system("mkdir folder.csv"), 0);
    assert_false(hr__convert_is_file("folder.csv"));
    assert_int_equal(system("rmdir folder.csv"), 0);
}

static void nothing_leaks_where_memory_is_short(void **state)
{
    (void)state;
    const char *line = "{\"row\": 1, \"name\": \"x\"}\n";
    write_file("short.jsonl", line, strlen(line));
    conversion o = options((char *[]){"short.jsonl"}, "new.csv");
    hr_convert_result r;
    hr_error err;
    hr_set_threads(0);
    hr_status st = HR_RESOURCE_EXHAUSTED;
    for (int64_t n = 0; st != HR_OK; n++) {
        const int64_t alive = allocations_alive();
        fail_allocation(n);
        st = run_conversion(&o, &r, &err);
        if (allocations_since() > n) assert_status(st, HR_RESOURCE_EXHAUSTED);
        hr_convert_result_clear(&r);
        assert_int_equal(allocations_alive(), alive);
    }
    unlink("new.csv");
}

/* Rows by turns an Example and none, in several pieces: those that are none are passed over, in one file and in shards
 * alike, or the first of them is the error. */
static void records_that_are_no_examples_go_the_way_of_the_policy(void **state)
{
    (void)state;
    enum { PAIRS = 20000 };
    hr_record_writer *w;
    hr_convert_result r;
    hr_error err;
    assert_ok(hr_record_writer_open("no.tfrecord", &(hr_output_opts){.no_sync = true}, &w, &err), &err);
    for (int i = 0; i < PAIRS; i++) {
        assert_ok(hr_record_write(w, "", 0, &err), &err);
        assert_ok(hr_record_write(w, "no example", 10, &err), &err);
    }
    assert_ok(hr_record_writer_commit(w, &err), &err);
    conversion o = {.inputs = {(char *[]){"no.tfrecord"}, 1}, .out = "no.jsonl", .opts.no_sync = true};
    assert_status(run_conversion(&o, &r, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "example.wire");
    assert_string_equal(err.file, "no.tfrecord");
    assert_int_equal(err.record, 1);
    assert_text_contains(err.text, "no.tfrecord: record 1: ");
    hr_convert_result_clear(&r);
    assert_int_equal(access("no.jsonl", F_OK), -1);

    for (int shards = 0; shards <= 3; shards += 3) {
        o.out = shards ? "no" : "no.jsonl";
        o.opts.to = "jsonl";
        o.opts.shards = shards;
        o.opts.policy = (hr_policy){.on_error = HR_SKIP};
        assert_ok(run_conversion(&o, &r, &err), &err);
        assert_int_equal(r.rows, 2 * PAIRS);
        assert_int_equal(r.written, PAIRS);
        assert_int_equal(r.rejected, PAIRS);
        hr_convert_result_clear(&r);
    }
    size_t size, shard;
    free(read_whole_file("no.jsonl", &size));
    free(read_whole_file("no/data-00001-of-00003.jsonl", &shard));
    assert_int_equal(size, 3 * PAIRS); /* "{}" and a line end */
    assert_int_equal(shard, 3 * ((PAIRS + 1) / 3));
    o.opts.policy.max_errors = 5;
    assert_status(run_conversion(&o, &r, &err), HR_DATA_LOSS);
    assert_string_equal(err.kind, "policy.budget");
    hr_convert_result_clear(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_direction_keeps_the_rows),
        cmocka_unit_test(long_lists_pass_through_every_format),
        cmocka_unit_test(without_a_schema_records_pass_to_the_byte),
        cmocka_unit_test(several_files_are_read_one_after_the_other),
        cmocka_unit_test(shards_of_text_stand_alone),
        cmocka_unit_test(rows_are_split_and_dropped_whatever_their_format),
        cmocka_unit_test(what_cannot_be_said_is_refused),
        cmocka_unit_test(a_record_is_counted_from_the_beginning_of_its_file),
        cmocka_unit_test(lines_without_a_row_are_counted),
        cmocka_unit_test(the_first_value_that_is_rounded_is_named_whatever_its_field),
        cmocka_unit_test(types_that_disagree_with_the_schema_are_named),
        cmocka_unit_test(names_tell_one_file_from_a_folder),
        cmocka_unit_test(records_that_are_no_examples_go_the_way_of_the_policy),
        cmocka_unit_test(nothing_leaks_where_memory_is_short),
    };
    return cmocka_run_group_tests(tests, prepare, clear);
}
