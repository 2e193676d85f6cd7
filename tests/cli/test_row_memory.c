/* A long row (as a record or as text, read or written, whichever is longer) is in memory at most twice, whatever the
 * command does with it: its peak is compared with that of the same command over a file of short rows. Only without
 * sanitizers, whose allocators keep what is freed. */
#include "tests/testing.h"
#include <fcntl.h>
#include <headrace/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROW = 12 << 20, BESIDE = 8 << 20, ROWS = 2000, LENGTH = 6 << 20 /* of an array */, WORDS = 9 /* and a NULL */ };

/* ---- files ---- */

static void put(hr_output *out, const char *text)
{
    hr_error err;
    assert_ok(hr_output_write(out, text, strlen(text), &err), &err);
}

/* `head`, half of the rows, a long one of `front`, `unit` over and over, `back`, and the other half. This process stays
 * small: what it has in memory counts for its children. */
static void write_rows(const char *path, const char *head, const char *row, const char *front, const char *unit,
                       const char *back, size_t bytes)
{
    char piece[4096] = "";
    hr_output *out;
    hr_error err;
    const size_t size = strlen(path);
    const hr_output_opts opts = {.struct_size = sizeof opts,
                                 .compression = strcmp(path + size - 3, ".gz") == 0 ? HR_GZIP : HR_NONE,
                                 .no_sync = true};
    while (strlen(piece) + strlen(unit) < sizeof piece) strcat(piece, unit);
    assert_ok(hr_output_open_with(path, &opts, &out, &err), &err);
    put(out, head);
    for (int half = 0; half < 2; half++) {
        for (int i = 0; i < ROWS; i++) put(out, row);
        if (half || !bytes) continue;
        put(out, front);
        for (size_t at = 0; at < bytes; at += strlen(piece)) put(out, piece);
        put(out, back);
    }
    assert_ok(hr_output_commit(out, &err), &err);
}

/* ---- the command ---- */

static int64_t peak_of(const char *const *words, const char *in)
{
    char *call[WORDS + 3] = {HEADRACE_COMMAND};
    int status, n = 1;
    struct rusage used;
    for (; words[n - 1]; n++) call[n] = (char *)(uintptr_t)(strcmp(words[n - 1], "IN") == 0 ? in : words[n - 1]);
    const pid_t child = fork();
    if (child == 0) {
        const int nowhere = open("/dev/null", O_WRONLY);
        dup2(nowhere, 1);
        execv(call[0], call);
        _exit(127);
    }
    assert_int_equal(wait4(child, &status, 0, &used), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("headrace %s %s: status %d", words[0], in, status);
    return (int64_t)used.ru_maxrss * 1024;
}

/* `many` has a long row: the peak is at most so many times its size and what is beside it more than `usual`. */
static void takes_rows(int times, const char *const *words, int64_t usual, const char *many, int64_t row)
{
    const int64_t max = peak_of(words, many) - usual;
    if (max >= times * row + BESIDE)
        fail_msg("headrace %s %s %s: %lld bytes more for a row of %lld", words[0], words[2] && words[3] ? words[3] : "",
                 many, (long long)max, (long long)row);
}

static const char *const looks[][WORDS] = {
    {"count", "IN"},
    {"verify", "IN"},
    {"show", "IN"},
    {"stats", "IN"},
    {"schema", "infer", "IN"},
    {"convert", "IN", "-o", "o.tfrecord"},
    {"convert", "IN", "-o", "o.jsonl"},
    {"convert", "IN", "-o", "o.csv", "-s", "s.yaml"},
};

/* `packed`: the same file, compressed; NULL: there is none. */
static void all_take_twice_the_row(const char *few, const char *many, const char *packed)
{
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
        const int64_t usual = peak_of(looks[i], few);
        takes_rows(2, looks[i], usual, many, ROW);
        if (packed) takes_rows(2, looks[i], usual, packed, ROW);
    }
}

/* ---- the tests ---- */

static void csv_row_is_in_memory_twice(void **state)
{
    (void)state;
    write_rows("few.csv", "a,b\n", "1,short\n", "", "x", "", 0);
    write_rows("many.csv", "a,b\n", "1,short\n", "2,", "x", "\n", ROW);
    write_rows("many.csv.gz", "a,b\n", "1,short\n", "2,", "x", "\n", ROW);
    all_take_twice_the_row("few.csv", "many.csv", "many.csv.gz");
}

static void line_of_json_is_in_memory_twice(void **state)
{
    (void)state;
    const char *row = "{\"a\": 1, \"b\": \"short\"}\n";
    write_rows("few.jsonl", "", row, "", "x", "", 0);
    write_rows("many.jsonl", "", row, "{\"a\": 2, \"b\": \"", "x", "\"}\n", ROW);
    write_rows("many.jsonl.gz", "", row, "{\"a\": 2, \"b\": \"", "x", "\"}\n", ROW);
    all_take_twice_the_row("few.jsonl", "many.jsonl", "many.jsonl.gz");
}

static void record_is_in_memory_twice(void **state)
{
    (void)state;
    peak_of((const char *const[]){"convert", "IN", "-o", "few.tfrecord", NULL}, "few.csv");
    peak_of((const char *const[]){"convert", "IN", "-o", "many.tfrecord", NULL}, "many.csv");
    all_take_twice_the_row("few.tfrecord", "many.tfrecord", NULL);
}

/* What commands do with a record whose feature `b` has many values. */
static const struct {
    const char *words[WORDS];
    enum { NO_TEXT, JSON, CSV } writes;
} ways[] = {
    {{"count", "IN"}, NO_TEXT},
    {{"verify", "IN"}, NO_TEXT},
    {{"stats", "IN"}, NO_TEXT},
    {{"schema", "infer", "IN"}, NO_TEXT},
    {{"schema", "check", "IN", "--schema", "lists.yaml"}, NO_TEXT},
    {{"convert", "IN", "-o", "o.tfrecord"}, NO_TEXT},
    {{"convert", "IN", "-o", "o.tfrecord", "-s", "lists.yaml"}, NO_TEXT},
    {{"show", "IN"}, JSON},
    {{"grep", "b!=7", "IN"}, JSON},
    {{"convert", "IN", "-o", "o.jsonl"}, JSON},
    {{"convert", "IN", "-o", "o.csv", "-s", "lists.yaml", "--separator", ";"}, CSV},
};
enum { WAYS = sizeof ways / sizeof *ways };

static const char *const short_lists = "{\"a\": [1, 2], \"b\": []}\n";

#define OF_FLOATS "int64: [a]\nfloat: [b]\n"
#define OF_INT64 "int64: [a, b]\n"
#define OF_STRINGS "int64: [a]\nstring: [b]\n"

static void write_lists_schema(const char *text) { write_file("lists.yaml", text, strlen(text)); }

static void measure_short_lists(const char *few, int64_t usual[WAYS])
{
    write_lists_schema(OF_FLOATS);
    for (int i = 0; i < WAYS; i++) usual[i] = peak_of(ways[i].words, few);
}

/* `size`: of what is read, as text or record; `json`, `csv`: of the text that it becomes. */
static void lists_take_twice_the_row(const int64_t *usual, const char *many, int64_t size, int64_t json, int64_t csv)
{
    for (int i = 0; i < WAYS; i++) {
        const int64_t text = ways[i].writes == JSON ? json : ways[i].writes == CSV ? csv : 0;
        takes_rows(2, ways[i].words, usual[i], many, text > size ? text : size);
    }
}

/* The record of an array may be longer than its text: ten bytes of "-1,". */
static void array_is_in_memory_twice(void **state)
{
    (void)state;
    static const struct {
        const char *unit, *last, *schema;
        int64_t size, json;
    } of[] = {{"1.5,", "1.5]}\n", OF_FLOATS, LENGTH, LENGTH / 4 * 5},
              {"1,", "1]}\n", OF_INT64, LENGTH, LENGTH / 2 * 3},
              {"-1,", "-1]}\n", OF_INT64, LENGTH / 3 * 10, LENGTH / 3 * 4},
              {"\"a\",", "\"a\"]}\n", OF_STRINGS, LENGTH, LENGTH / 4 * 5}};
    int64_t usual[WAYS];
    write_rows("few.jsonl", "", short_lists, "", "x", "", 0);
    measure_short_lists("few.jsonl", usual);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        write_lists_schema(of[i].schema);
        write_rows("many.jsonl", "", short_lists, "{\"b\": [", of[i].unit, of[i].last, LENGTH);
        lists_take_twice_the_row(usual, "many.jsonl", of[i].size, of[i].json, LENGTH);
    }
}

/* A byte of the record is a value. */
static void record_of_small_numbers_is_in_memory_twice(void **state)
{
    (void)state;
    static const char *const info[] = {"info", "IN", NULL};
    int64_t usual[WAYS];
    write_rows("few.jsonl", "", short_lists, "", "x", "", 0);
    write_rows("many.jsonl", "", short_lists, "{\"b\": [", "1,", "1]}\n", 2 * LENGTH);
    peak_of((const char *const[]){"convert", "IN", "-o", "few.tfrecord", NULL}, "few.jsonl");
    peak_of((const char *const[]){"convert", "IN", "-o", "many.tfrecord", NULL}, "many.jsonl");
    measure_short_lists("few.tfrecord", usual);
    write_lists_schema(OF_INT64);
    lists_take_twice_the_row(usual, "many.tfrecord", LENGTH, 3 * LENGTH, 2 * LENGTH);
    takes_rows(2, info, peak_of(info, "few.tfrecord"), "many.tfrecord", LENGTH);
}

static int write_schema(void **state)
{
    (void)state;
    const char *text = "int64: [a]\nstring: [b]\n";
    write_file("s.yaml", text, strlen(text));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_row_is_in_memory_twice),
        cmocka_unit_test(line_of_json_is_in_memory_twice),
        cmocka_unit_test(record_is_in_memory_twice),
        cmocka_unit_test(array_is_in_memory_twice),
        cmocka_unit_test(record_of_small_numbers_is_in_memory_twice),
    };
    return cmocka_run_group_tests(tests, write_schema, NULL);
}
