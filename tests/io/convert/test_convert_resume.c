/* A conversion that is killed, at any call and again and again, and then goes on: its files are those of one that
 * nobody disturbed. From every format, in every way of dealing rows over files. */
#include "io/schema/schema.h"
#include "tests/io/faults.h"
#include "tests/io/conversion.h"
#include "tests/testing.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 2500, KILLS = 8 };

static hr__schema_file schema;
static char *const inputs[] = {"in.csv", "in.jsonl", "in.tfrecord", "in.csv.gz"};
enum { INPUTS = 4 };

typedef struct way {
    const char *out, *to;
    int shards;
    int64_t max_shard_bytes, cut_bytes;
    hr_compression compression;
    bool split, index;
} way;

static const way ways[] = {
    {"out", "tfrecord", .shards = 3, .cut_bytes = 5000},
    {"out", "tfrecord", .shards = 2, .cut_bytes = 9000, .compression = HR_GZIP, .index = true},
    {"out", "csv", .shards = 2, .cut_bytes = 7000, .split = true},
    {"out", "tfrecord", .max_shard_bytes = 20000, .split = true},
    {"out", "jsonl", .max_shard_bytes = 30000, .compression = HR_GZIP},
    {"out/one.tfrecord", "tfrecord", .cut_bytes = 6000, .index = true},
    {"out/one.csv.gz", "csv", .cut_bytes = 6000},
    {"out/one.jsonl", "jsonl", .cut_bytes = 6000},
};
enum { WAYS = sizeof ways / sizeof *ways };

static hr_status convert(char *const *input, const way *w, bool resume, hr_convert_result *r, hr_error *err)
{
    const conversion o = {.inputs = {(char **)(uintptr_t)input, 1},
                          .opts.schema = &schema,
                          .out = w->out,
                          .opts.to = w->to,
                          .opts.shards = w->shards,
                          .opts.max_shard_bytes = w->max_shard_bytes,
                          .opts.cut_bytes = w->cut_bytes,
                          .opts.compression = w->compression,
                          .opts.split_column = w->split ? "row" : NULL,
                          .opts.split_folds = 5,
                          .opts.index = w->index,
                          .opts.resume = resume,
                          .opts.no_sync = true};
    return run_conversion(&o, r, err);
}

static void convert_ok(char *const *input, const way *w, bool resume, int64_t *resumed)
{
    hr_convert_result r;
    hr_error err;
    assert_ok(convert(input, w, resume, &r, &err), &err);
    assert_int_equal(r.written, ROWS);
    *resumed = r.resumed;
    hr_convert_result_clear(&r);
}

static int write_inputs(void **state)
{
    (void)state;
    const char *text = "int64: [row]\nfloat: [temp]\nstring: [name]\n";
    int64_t resumed;
    hr_set_threads(0);
    write_file("s.yaml", text, strlen(text));
    FILE *f = fopen("in.csv", "wb");
    fprintf(f, "row,temp,name\n");
    for (int i = 0; i < ROWS; i++) fprintf(f, "%d,%g,\"name, %d\"\n", i, i / 8.0, i * 7919 % 1000);
    fclose(f);
    if (hr__schema_open("s.yaml", &schema, NULL) != HR_OK) return -1;
    for (int i = 1; i < INPUTS; i++) convert_ok(inputs, &(way){.out = inputs[i]}, false, &resumed);
    return 0;
}

static int clear(void **state)
{
    (void)state;
    hr__schema_clear(&schema);
    return 0;
}

/* False: it ended before it came to that call. */
static bool killed_at(char *const *input, const way *w, int call)
{
    int status;
    const pid_t child = fork();
    assert_at_least(child, 0);
    if (child == 0) {
        faults f = {.call = call, .exits = true};
        hr_convert_result r;
        use_faults(&f);
        convert(input, w, true, &r, NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WEXITSTATUS(status) == 9;
}

static int calls_of(char *const *input, const way *w)
{
    faults f = {.call = -1};
    hr_convert_result r;
    hr_error err;
    assert_int_equal(mkdir("out", 0777), 0);
    use_faults(&f);
    const hr_status st = convert(input, w, true, &r, &err);
    use_faults(NULL);
    assert_ok(st, &err);
    hr_convert_result_clear(&r);
    remove_folder("out");
    return f.calls;
}

/* The files in `out` are those in `whole`; indexes name the time of their file, so theirs are only there. */
static void same_files(void)
{
    hr_file_list whole, out;
    assert_status(hr_match_files("whole/[!.]*\nwhole/*.hridx", &whole, NULL), HR_OK);
    assert_status(hr_match_files("out/[!.]*\nout/*.hridx", &out, NULL), HR_OK);
    assert_int_equal(whole.count, out.count);
    assert_int_equal(files_in("out", false), out.count);
    for (int64_t i = 0; i < whole.count; i++) {
        size_t a, b;
        assert_string_equal(whole.path[i] + strlen("whole"), out.path[i] + strlen("out"));
        if (strstr(out.path[i], ".hridx")) continue;
        char *one = read_whole_file(whole.path[i], &a), *other = read_whole_file(out.path[i], &b);
        if (a != b || memcmp(one, other, a) != 0) fail_msg("%s differs", out.path[i]);
        free(one);
        free(other);
    }
    hr_file_list_clear(&whole);
    hr_file_list_clear(&out);
}

/* Nothing is seen but whole files, and these only as they shall be. */
static void only_whole_files(void)
{
    hr_file_list out;
    if (hr_match_files("out/[!.]*\nout/*.hridx", &out, NULL) != HR_OK) return;
    for (int64_t i = 0; i < out.count; i++) {
        size_t a, b;
        char path[256];
        if (strstr(out.path[i], ".hridx")) continue;
        snprintf(path, sizeof path, "whole%s", out.path[i] + strlen("out"));
        char *one = read_whole_file(path, &a), *other = read_whole_file(out.path[i], &b);
        if (a != b || memcmp(one, other, a) != 0) fail_msg("%s is not whole", out.path[i]);
        free(one);
        free(other);
    }
    hr_file_list_clear(&out);
}

/* Once more, when all is there: of shards up to a size, of which each is compared, every row is said to have been
 * there. */
static void repeat(char *const *input, const way *w)
{
    int64_t resumed;
    convert_ok(input, w, true, &resumed);
    if (w->max_shard_bytes) assert_int_equal(resumed, ROWS);
}

static void killed_anywhere_it_goes_on_to_the_same_files(void **state)
{
    (void)state;
    uint64_t draws = 0;
    int64_t resumed = 0, all = 0;
    for (int i = 0; i < INPUTS; i++)
        for (int k = 0; k < WAYS; k++) {
            const way *w = &ways[k];
            const int calls = calls_of(&inputs[i], w);
            assert_int_equal(mkdir("out", 0777), 0);
            convert_ok(&inputs[i], w, false, &resumed);
            assert_int_equal(rename("out", "whole"), 0);
            assert_int_equal(mkdir("out", 0777), 0);
            for (int n = 0; n < KILLS; n++) {
                if (!killed_at(&inputs[i], w, (int)(hr_random(5, draws++) % (uint64_t)calls))) break;
                only_whole_files();
            }
            convert_ok(&inputs[i], w, true, &resumed);
            all += resumed;
            same_files();
            repeat(&inputs[i], w);
            same_files();
            remove_folder("out");
            remove_folder("whole");
        }
    assert_more(all, ROWS); /* not that each began anew */
}

static hr_status convert_read_as(hr_csv_opts csv, int64_t max_rows, const hr_policy *policy, size_t longest,
                                 hr_error *err)
{
    csv.struct_size = sizeof csv;
    const conversion o = {.inputs = {(char **)(uintptr_t)inputs, 1},
                          .out = "out",
                          .opts.schema = &schema,
                          .opts.csv = &csv,
                          .opts.shards = 2,
                          .opts.cut_bytes = 5000,
                          .opts.max_rows = max_rows,
                          .opts.policy = *policy,
                          .opts.max_record_bytes = longest,
                          .opts.resume = true,
                          .opts.no_sync = true};
    hr_convert_result r;
    const hr_status st = run_conversion(&o, &r, err);
    hr_convert_result_clear(&r);
    return st;
}

/* Rows read another way are other rows: those of a run before must not stand in front of them. */
static void a_run_that_reads_in_another_way_is_refused(void **state)
{
    (void)state;
    static const char *const yes[] = {"yes"}, *const no[] = {"no"};
    const hr_csv_opts ways_to_read[] = {
        {.quoted_never_missing = true},
        {.strings_never_missing = true},
        {.keep_blank_lines = true},
        {.separator = ";"},
        {.skip_rows = 1},
        {.true_values = yes, .true_value_count = 1},
        {.false_values = no, .false_value_count = 1},
    };
    const hr_policy skip = {.on_error = HR_SKIP};
    hr_error err;
    assert_int_equal(mkdir("out", 0777), 0);
    for (int call = 1, status; access("out/.data-.headrace.shards", F_OK) != 0; call++) {
        const pid_t child = fork();
        if (child == 0) {
            faults f = {.call = call, .exits = true};
            use_faults(&f);
            convert_read_as((hr_csv_opts){0}, 0, &skip, 0, NULL);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(WEXITSTATUS(status), 9); /* it has not ended without notes */
    }
    for (size_t i = 0; i < sizeof ways_to_read / sizeof *ways_to_read; i++) {
        assert_status(convert_read_as(ways_to_read[i], 0, &skip, 0, &err), HR_FAILED_PRECONDITION);
        assert_string_equal(err.kind, "shards.resume");
    }
    assert_status(convert_read_as((hr_csv_opts){0}, 2000, &skip, 0, &err), HR_FAILED_PRECONDITION);
    assert_status(convert_read_as((hr_csv_opts){0}, 0, &skip, 1000, &err), HR_FAILED_PRECONDITION);
    assert_ok(convert_read_as((hr_csv_opts){0}, 0, &skip, 0, &err), &err);
    remove_folder("out");
}

static void what_cannot_be_gone_on_with_is_refused(void **state)
{
    (void)state;
    static char *const pipe[] = {"-"};
    hr_convert_result r;
    hr_error err;
    assert_status(convert(pipe, &ways[0], true, &r, &err), HR_FAILED_PRECONDITION);
    assert_string_equal(err.kind, "file.once");
    assert_status(convert(inputs, &(way){.out = "-", .to = "csv"}, true, &r, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "convert.out");
    assert_status(convert(inputs, &(way){.out = "out", .to = "csv", .index = true}, false, &r, &err),
                  HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "convert.index");
    assert_int_equal(files_in("out", true), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_anywhere_it_goes_on_to_the_same_files),
        cmocka_unit_test(a_run_that_reads_in_another_way_is_refused),
        cmocka_unit_test(what_cannot_be_gone_on_with_is_refused),
    };
    return cmocka_run_group_tests(tests, write_inputs, clear);
}
