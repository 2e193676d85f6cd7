/* convert: rows into shards, the same for any number of threads; nothing left behind when it fails. */
#include "io/convert/format.h"
#include "io/schema/schema.h"
#include "tests/io/faults.h"
#include "tests/io/conversion.h"
#include "tests/testing.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static hr__schema_file schema;

static int read_schema(void **state)
{
    (void)state;
    const char *text = "int64: [row, late]\nfloat: [temp]\nstring: [name]\n";
    write_file("s.yaml", text, strlen(text));
    return hr__schema_open("s.yaml", &schema, NULL) == HR_OK ? 0 : -1;
}

static int clear_schema(void **state)
{
    (void)state;
    hr__schema_clear(&schema);
    return 0;
}

static conversion options(void)
{
    static char *input[] = {"in.csv"};
    return (conversion){.inputs = {input, 1}, .opts.schema = &schema, .out = "out", .opts.no_sync = true};
}

/* The next record of a shard is what a builder makes of these values; NULL: the field is missing. */
static void next_is(hr_record_reader *reader, int64_t row, const int64_t *late, const float *temp, const char *name)
{
    hr_view got, want;
    hr_error err;
    hr_example *e = hr_example_new();
    hr_example_add_int64(e, "row", &row, 1);
    if (late) hr_example_add_int64(e, "late", late, 1);
    if (temp) hr_example_add_float(e, "temp", temp, 1);
    if (name) hr_example_add_bytes(e, "name", &(hr_view){name, (int64_t)strlen(name)}, 1);
    assert_ok(hr_example_bytes(e, &want, &err), &err);
    assert_ok(hr_record_read(reader, &got, &err), &err);
    assert_int_equal(got.size, want.size);
    assert_memory_equal(got.data, want.data, (size_t)want.size);
    hr_example_free(e);
}

static void open_reader(const char *path, hr_record_reader **reader)
{
    hr_error err;
    assert_ok(hr_record_reader_open(path, NULL, reader, &err), &err);
}

static void rows_become_examples_without_their_missing_fields(void **state)
{
    (void)state;
    const char *text = "name,row,temp,late,unused\n\"a \"\"b\"\"\",-1,2.5,0,x\n,300,,1,x\nc,3,1e3,,x\n";
    char *long_name = calloc(1, 1001);
    char *whole = malloc(2000);
    memset(long_name, 'n', 1000);
    write_file("in.csv", whole, (size_t)sprintf(whole, "%s%s,4,1,1,x\n", text, long_name));
    conversion o = options();
    hr_convert_result r;
    hr_error err;
    hr_record_reader *reader;
    assert_ok(run_conversion(&o, &r, &err), &err);
    assert_int_equal(r.rows, 4);
    assert_int_equal(r.written, 4);
    assert_int_equal(r.dropped, 0);
    assert_int_equal(r.missing[1], 1);
    assert_int_equal(r.missing[2], 1);
    assert_int_equal(r.missing[3], 1);
    hr_convert_result_clear(&r);
    open_reader("out/data-00000-of-00001.tfrecord", &reader);
    next_is(reader, -1, HR_I64(0), HR_F32(2.5f), "a \"b\"");
    next_is(reader, 300, HR_I64(1), NULL, NULL);
    next_is(reader, 3, NULL, HR_F32(1000), "c");
    next_is(reader, 4, HR_I64(1), HR_F32(1), long_name);
    hr_view record;
    assert_status(hr_record_read(reader, &record, &err), HR_END);
    hr_record_reader_free(reader);
    remove_folder("out");
    free(long_name);
    free(whole);
}

/* splitmix64(row) mod 5 of rows 0 .. 19. */
static const int folds[20] = {0, 0, 0, 3, 3, 3, 2, 2, 2, 3, 1, 3, 3, 0, 3, 1, 0, 4, 0, 1};

static void rows_are_split_by_hash_and_dealt_in_order_and_dropped_without_a_required_field(void **state)
{
    (void)state;
    char text[2000];
    size_t size = (size_t)sprintf(text, "row,late,temp,name\n");
    for (int i = 0; i < 20; i++) size += (size_t)sprintf(text + size, "%d,%s,1,x\n", i, i == 4 ? "" : "1");
    write_file("in.csv", text, size);
    conversion o = options();
    const char *const late[] = {"late"};
    o.opts.shards = 3, o.opts.split_column = "row", o.opts.split_folds = 5, o.opts.require = late,
    o.opts.require_count = 1;
    hr_convert_result r;
    hr_error err;
    assert_ok(run_conversion(&o, &r, &err), &err);
    assert_int_equal(r.dropped, 1);
    assert_int_equal(r.written, 19);
    assert_int_equal(r.written_test, 6);
    assert_int_equal(files_in("out", false), 6);
    hr_convert_result_clear(&r);
    for (int test = 0; test < 2; test++) {
        hr_record_reader *reader[3];
        for (int s = 0; s < 3; s++) {
            char path[64];
            sprintf(path, "out/%s-%05d-of-00003.tfrecord", test ? "test" : "train", s);
            open_reader(path, &reader[s]);
        }
        for (int i = 0, n = 0; i < 20; i++)
            if ((folds[i] == 0) == test && i != 4) next_is(reader[n++ % 3], i, HR_I64(1), HR_F32(1), "x");
        hr_view record;
        for (int s = 0; s < 3; s++) assert_status(hr_record_read(reader[s], &record, &err), HR_END);
        for (int s = 0; s < 3; s++) hr_record_reader_free(reader[s]);
    }
    remove_folder("out");
}

enum { MANY = 60000 };

static void write_many(void)
{
    char *text = malloc(MANY * 40);
    size_t size = (size_t)sprintf(text, "row,late,temp,name\n");
    for (int i = 0; i < MANY; i++)
        size +=
            (size_t)sprintf(text + size, "%d,%d,%d.25,%s\n", i, i % 2, i, i % 7 ? "plain" : "\"quoted\n\"\"two\"\"\"");
    write_file("in.csv", text, size);
    free(text);
}

static void files_are_the_same_for_any_number_of_threads(void **state)
{
    (void)state;
    uint32_t want[10] = {0};
    write_many();
    for (int threads = 0; threads < 4; threads++) {
        conversion o = options();
        hr_convert_result r;
        hr_error err;
        hr_set_threads(threads);
        o.opts.shards = 5, o.opts.split_column = "row", o.opts.split_folds = 5;
        assert_ok(run_conversion(&o, &r, &err), &err);
        assert_int_equal(r.rows, MANY);
        hr_convert_result_clear(&r);
        for (int f = 0; f < 10; f++) {
            char path[64];
            size_t size;
            sprintf(path, "out/%s-%05d-of-00005.tfrecord", f < 5 ? "train" : "test", f % 5);
            char *bytes = read_whole_file(path, &size);
            uint32_t crc = hr_crc32c(0, bytes, size);
            free(bytes);
            if (threads == 0) want[f] = crc;
            assert_int_equal(crc, want[f]);
        }
    }
    remove_folder("out");
}

/* What was written has the rows of both files in turn, in whichever pieces they were encoded. */
static void rows_are_dealt_in_turn_across_pieces(void **state)
{
    (void)state;
    enum { SHARDS = 7 };
    static char *input[] = {"in.csv", "in.csv"};
    write_many();
    for (int threads = 0; threads < 3; threads++) {
        hr_record_reader *reader[2][SHARDS];
        int64_t dealt[2] = {0};
        hr_convert_result r;
        hr_error err;
        conversion o = options();
        hr_set_threads(threads);
        o.inputs = (hr_file_list){input, 2};
        o.opts.shards = SHARDS, o.opts.split_column = "row", o.opts.split_folds = 5;
        assert_ok(run_conversion(&o, &r, &err), &err);
        int64_t bytes = 0;
        for (int f = 0; f < 2 * SHARDS; f++) {
            char path[64];
            sprintf(path, "out/%s-%05d-of-%05d.tfrecord", f < SHARDS ? "train" : "test", f % SHARDS, SHARDS);
            open_reader(path, &reader[f / SHARDS][f % SHARDS]);
            bytes += hr_path_size(path);
        }
        for (int64_t n = 0; n < 2 * MANY; n++) {
            const int64_t i = n % MANY;
            const int test = hr__convert_is_test(&o.opts, i);
            next_is(reader[test][dealt[test]++ % SHARDS], i, HR_I64(i % 2), HR_F32((float)i + 0.25f),
                    i % 7 ? "plain" : "quoted\n\"two\"");
        }
        assert_int_equal(r.written, dealt[0] + dealt[1]);
        assert_int_equal(r.written_test, dealt[1]);
        for (int f = 0; f < 2 * SHARDS; f++) {
            hr_view record;
            assert_status(hr_record_read(reader[f / SHARDS][f % SHARDS], &record, &err), HR_END);
            hr_record_reader_free(reader[f / SHARDS][f % SHARDS]);
        }
        assert_int_equal(r.bytes_out, bytes);
        hr_convert_result_clear(&r);
    }
    remove_folder("out");
}

static bool stop_later(const hr_progress *p, void *user)
{
    (void)user;
    return p->records < 20000;
}

static void fails(conversion o, hr_status code, const char *kind, const char *said)
{
    hr_convert_result r;
    hr_error err;
    assert_int_equal(run_conversion(&o, &r, &err), code);
    hr_convert_result_clear(&r);
    if (strcmp(err.kind, kind) != 0 || !strstr(err.text, said)) fail_msg("%s: %s", err.kind, err.text);
    assert_int_equal(files_in("out", false), -1); /* not even the folder */
}

static void a_failure_leaves_nothing_behind(void **state)
{
    (void)state;
    conversion o = options();
    write_many();
    o.opts.progress = stop_later;
    fails(o, HR_CANCELLED, "cancelled", "cancelled after");
    o = options();
    o.opts.split_column = "row", o.opts.split_folds = 1;
    fails(o, HR_INVALID_ARGUMENT, "convert.split", "2 folds or more");
    o.opts.split_column = "temp", o.opts.split_folds = 5;
    fails(o, HR_INVALID_ARGUMENT, "convert.split", "'temp' of float32");
    o.opts.split_column = "rwo";
    fails(o, HR_INVALID_ARGUMENT, "convert.field", "did you mean 'row'?");
    o = options();
    o.opts.shards = 20000;
    fails(o, HR_INVALID_ARGUMENT, "shards.count", "got 20000");
    o = options();
    o.inputs.path = (char *[]){"none.csv"};
    fails(o, HR_NOT_FOUND, "file.open", "none.csv");
    const char *bad = "row,late,temp,name\n0,1,1,x\n1,1,high,x\n2,one,1,x\n";
    write_file("in.csv", bad, strlen(bad));
    fails(options(), HR_INVALID_ARGUMENT, "csv.value",
          "in.csv:3: column 'temp' (field 2): expected float32, got \"high\"");
    write_file("in.csv", "", 0);
    fails(options(), HR_INVALID_ARGUMENT, "csv.header", "in.csv");
    const char *no_row = "row,late,temp,name\n,1,1,x\n";
    write_file("in.csv", no_row, strlen(no_row));
    o = options();
    o.opts.split_column = "row", o.opts.split_folds = 5;
    fails(o, HR_INVALID_ARGUMENT, "convert.split", "record 0");
    o = options();
    o.out = "in.csv/out";
    fails(o, HR_INVALID_ARGUMENT, "shards.folder", "in.csv/out");
}

/* Whichever call fails, of reading, writing or giving files their names. */
static void a_full_disk_leaves_nothing_behind(void **state)
{
    (void)state;
    conversion o = options();
    write_many();
    o.opts.shards = 3;
    for (int call = 0;; call += call < 10 ? 1 : 7) {
        hr_convert_result r;
        hr_error err;
        faults f = {.call = call, .number = ENOSPC};
        use_faults(&f);
        const hr_status st = run_conversion(&o, &r, &err);
        use_faults(NULL);
        hr_convert_result_clear(&r);
        if (f.calls <= call) break;
        assert_status(st, HR_RESOURCE_EXHAUSTED);
        assert_memory_equal(err.kind, "file.", 5);
        assert_int_equal(files_in("out", false), -1);
    }
    assert_int_equal(files_in("out", false), 3);
    remove_folder("out");
}

static void shards_of_another_conversion_are_refused(void **state)
{
    (void)state;
    const char *text = "row,late,temp,name\n0,1,1,x\n";
    conversion o = options();
    hr_convert_result r;
    hr_error err;
    write_file("in.csv", text, strlen(text));
    o.opts.shards = 2;
    for (int i = 0; i < 2; i++) { /* the same ones are replaced */
        assert_ok(run_conversion(&o, &r, &err), &err);
        hr_convert_result_clear(&r);
    }
    o.opts.shards = 3;
    assert_status(run_conversion(&o, &r, &err), HR_ALREADY_EXISTS);
    hr_convert_result_clear(&r);
    assert_string_equal(err.kind, "shards.leftover");
    assert_int_equal(files_in("out", false), 2);
    remove_folder("out");
}

static void split_texts_are_read(void **state)
{
    (void)state;
    char *column;
    int64_t folds;
    assert_status(hr_convert_parse_split("my:row:5", &column, &folds, NULL), HR_OK);
    assert_string_equal(column, "my:row");
    assert_int_equal(folds, 5);
    hr_free(column);
    static const char *const wrong[] = {"", "row", "row:", ":5", "row:1", "row:x", "row:-5"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_status(hr_convert_parse_split(wrong[i], &column, &folds, NULL), HR_INVALID_ARGUMENT);
}

static void a_lack_of_memory_leaves_nothing_behind(void **state)
{
    (void)state;
    const char *text = "row,late,temp,name\n0,1,1,\"a\"\"b\"\n";
    hr_set_threads(0);
    write_file("in.csv", text, strlen(text));
    conversion o = options();
    hr_convert_result r;
    hr_error err;
    fail_allocation(INT64_MAX);
    assert_ok(run_conversion(&o, &r, &err), &err);
    hr_convert_result_clear(&r);
    const int64_t count = allocations_since();
    remove_folder("out");
    for (int64_t n = 0; n < count; n++) {
        const int64_t alive = allocations_alive();
        fail_allocation(n);
        hr_status st = run_conversion(&o, &r, &err);
        allocations_since();
        hr_convert_result_clear(&r);
        assert_status(st, HR_RESOURCE_EXHAUSTED);
        assert_int_equal(allocations_alive(), alive);
        assert_int_equal(files_in("out", false), -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_become_examples_without_their_missing_fields),
        cmocka_unit_test(rows_are_split_by_hash_and_dealt_in_order_and_dropped_without_a_required_field),
        cmocka_unit_test(files_are_the_same_for_any_number_of_threads),
        cmocka_unit_test(rows_are_dealt_in_turn_across_pieces),
        cmocka_unit_test(a_failure_leaves_nothing_behind),
        cmocka_unit_test(a_full_disk_leaves_nothing_behind),
        cmocka_unit_test(shards_of_another_conversion_are_refused),
        cmocka_unit_test(split_texts_are_read),
        cmocka_unit_test(a_lack_of_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, read_schema, clear_schema);
}
