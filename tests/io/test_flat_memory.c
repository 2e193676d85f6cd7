/* What goes over whole files takes no more memory for ten times the records: less than a byte for each of them, which
 * leaves room for the samples of an index and for pieces whose size varies. Bytes are counted, of one thread, so that
 * they are the same each time. */
#include "io/schema/schema.h"
#include "tests/io/conversion.h"
#include "tests/testing.h"
#include <headrace/data.h>
#include <headrace/examples.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 10000, MANY = 100000, WIDTH = 900 };

static hr__schema_file schema;

static void write_csv(const char *path, int64_t rows)
{
    char text[WIDTH + 1] = "";
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    memset(text, 'x', WIDTH);
    fprintf(f, "row,temp,name\n");
    for (int64_t i = 0; i < rows; i++) fprintf(f, "%05d,%g,%s\n", (int)i, (double)(i % 100) / 8, text);
    assert_int_equal(fclose(f), 0);
}

/* ---- what is looked at: each goes over a file, and says how many records it found ---- */

static int64_t convert_to(char *path, const char *out)
{
    hr_convert_result r;
    hr_error err;
    const conversion o = {.inputs = {&path, 1}, .opts.schema = &schema, .out = out, .opts.no_sync = true};
    assert_ok(run_conversion(&o, &r, &err), &err);
    const int64_t written = r.written;
    hr_convert_result_clear(&r);
    return written;
}

static int64_t convert_csv(char *path)
{
    return convert_to(path, strstr(path, "few") ? "few.tfrecord" : "many.tfrecord");
}
static int64_t convert_records(char *path) { return convert_to(path, "again.csv"); }

static int64_t count_of(char *path, hr_file_format format)
{
    hr_error err;
    int64_t count;
    assert_ok(hr_count_rows(path, &count, &err, .format = format), &err);
    return count;
}

static int64_t count_csv(char *path) { return count_of(path, HR_FORMAT_CSV); }
static int64_t count_records(char *path) { return count_of(path, HR_FORMAT_TFRECORD); }

static int64_t index_records(char *path)
{
    const hr_record_index_opts opts = {.struct_size = sizeof opts, .anew = true, .keep = true};
    hr_record_index *index;
    hr_error err;
    assert_ok(hr_record_index_open_with(path, &opts, &index, &err), &err);
    const int64_t count = hr_record_index_count(index);
    hr_record_index_free(index);
    return count;
}

static int64_t stats_of(char *path)
{
    const hr_file_list files = {&path, 1};
    hr_stats *stats;
    hr_error err;
    assert_ok(hr_compute_stats_with(&files, NULL, &stats, &err), &err);
    const int64_t records = hr_stats_records(stats);
    hr_stats_free(stats);
    return records;
}

/* ---- held against one another ---- */

static int64_t memory_of(int64_t look(char *path), char *path, int64_t records)
{
    watch_memory();
    assert_int_equal(look(path), records);
    return most_memory();
}

/* Less than a byte a record is more, beside `bounded` bytes that grow up to some limit. */
static void is_flat_but_for(int64_t bounded, int64_t look(char *path), char *few, char *many)
{
    const int64_t of_few = memory_of(look, few, FEW), of_many = memory_of(look, many, MANY);
    assert_in_range(of_few, 1, INT64_MAX);
    if (of_many >= of_few + MANY - FEW + bounded)
        fail_msg("%s: %lld bytes for %d records, %lld for %d", many, (long long)of_few, FEW, (long long)of_many, MANY);
}

static void is_flat(int64_t look(char *path), char *few, char *many) { is_flat_but_for(0, look, few, many); }

static void convert_takes_the_same_memory(void **state)
{
    (void)state;
    is_flat(convert_csv, "few.csv", "many.csv");
    is_flat(convert_records, "few.tfrecord", "many.tfrecord");
}

static void values_of_json_are_bounded_as_a_record(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t max;
    } cases[] = {
        {"{\"a\": [-1,-1,-1,-1,-1,-1,-1,-1]}", 79}, /* ten bytes each */
        {"{\"a\": [1e9,1e9,1e9,1e9]}", 15},         /* four bytes each, beside their text */
        {"{\"a\": \"aaaaaaaaaaaaaaaa\"}", 17},
        {"{\"a\": [1,2,3,4], \"b\": [1,2,3,4], \"c\": [1,2,3,4]}", 30}, /* all features together */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hr_error err;
        hr_json_reader *reader;
        hr_view record;
        const hr_view text = {cases[i].text, (int64_t)strlen(cases[i].text)};
        for (int enough = 0; enough < 2; enough++) {
            const hr_json_reader_opts opts = {.struct_size = sizeof opts, .max_row_bytes = enough ? 200 : cases[i].max};
            assert_ok(hr_json_reader_text_with("text", text, &opts, &reader, &err), &err);
            const hr_status st = hr_json_read(reader, &record, &err);
            if (st != (enough ? HR_OK : HR_INVALID_ARGUMENT)) fail_msg("case %d: %d", (int)i, (int)st);
            if (!enough) assert_string_equal(err.kind, "json.limit");
            hr_json_reader_free(reader);
        }
    }
}

static void count_and_index_take_the_same_memory(void **state)
{
    (void)state;
    is_flat(count_csv, "few.csv", "many.csv");
    is_flat(count_records, "few.tfrecord", "many.tfrecord");
    is_flat(index_records, "few.tfrecord", "many.tfrecord");
}

static void stats_take_the_same_memory(void **state)
{
    /* A summary of quantiles has up to 20 KB, nearly all of it after so many values that FEW are not enough; each piece
     * that is read at once has one a feature. */
    enum { SUMMARIES = 512 << 10 };
    (void)state;
    is_flat_but_for(SUMMARIES, stats_of, "few.csv", "many.csv");
    is_flat_but_for(SUMMARIES, stats_of, "few.tfrecord", "many.tfrecord");
}

static int write_inputs(void **state)
{
    (void)state;
    const char *text = "int64: [row]\nfloat: [temp]\nstring: [name]\n";
    hr_set_threads(0);
    write_file("s.yaml", text, strlen(text));
    write_csv("few.csv", FEW);
    write_csv("many.csv", MANY);
    return hr__schema_open("s.yaml", &schema, NULL) == HR_OK ? 0 : -1;
}

static int clear(void **state)
{
    (void)state;
    hr__schema_clear(&schema);
    return 0;
}

/* Rows that lack nearly all of many columns: memory for all columns of as many rows as a block holds was gigabytes. */
static void short_rows_of_a_wide_file_take_little_memory(void **state)
{
    (void)state;
    enum { COLUMNS = 20000, ROWS = 20000 };
    hr__config *config;
    hr__schema_file wide;
    hr_error err;
    hr__text names = {0};
    FILE *f = fopen("wide.csv", "wb");
    assert_non_null(f);
    hr__text_add(&names, "int64: [");
    for (int i = 0; i < COLUMNS; i++) hr__text_printf(&names, "%sc%d", i ? "," : "", i);
    fprintf(f, "%s\n", names.data + strlen("int64: ["));
    for (int i = 0; i < ROWS; i++) fputs("1\n", f);
    assert_int_equal(fclose(f), 0);
    hr__text_add(&names, "]");
    assert_ok(hr__config_parse("s.yaml", names.data, names.size, &config, &err), &err);
    assert_ok(hr__schema_read(hr__config_root(config), &wide, &err), &err);
    hr__text_free(&names);
    hr__config_free(config);

    char *path = "wide.csv";
    hr_convert_result r;
    const conversion o = {.inputs = {&path, 1},
                          .opts.schema = &wide,
                          .out = "wide.tfrecord",
                          .opts.no_sync = true,
                          .opts.policy = {.on_error = HR_SKIP}};
    watch_memory();
    assert_ok(run_conversion(&o, &r, &err), &err);
    assert_int_equal(r.rejected, ROWS);
    assert_less(most_memory(), INT64_C(512) << 20);
    hr_convert_result_clear(&r);
    hr__schema_clear(&wide);
}

/* ---- one long row ---- */

enum { MAX = 1 << 20, BOMB = 24 << 20 };

/* `front`, so many letters, `back`. */
static void write_long(const char *path, const char *front, size_t letters, const char *back)
{
    FILE *f = fopen(path, "wb");
    char *text = malloc(letters);
    assert_non_null(f);
    assert_non_null(text);
    memset(text, 'a', letters);
    fputs(front, f);
    assert_int_equal(fwrite(text, 1, letters, f), letters);
    fputs(back, f);
    assert_int_equal(fclose(f), 0);
    free(text);
}

static hr_status infer_long(char *path, hr_error *err)
{
    const hr_survey_opts opts = {.struct_size = sizeof opts, .max_record_bytes = MAX};
    hr_schema_file *found;
    hr_status st = hr_infer_schema_with(&(hr_file_list){&path, 1}, &opts, &found, err);
    hr_schema_file_free(found);
    return st;
}

static hr_status convert_long(char *path, hr_error *err)
{
    hr_convert_result r;
    const conversion o = {.inputs = {&path, 1},
                          .opts.schema = strstr(path, ".csv") ? &schema : NULL,
                          .out = "long.tfrecord",
                          .opts.no_sync = true,
                          .opts.max_record_bytes = MAX};
    const hr_status st = run_conversion(&o, &r, err);
    hr_convert_result_clear(&r);
    return st;
}

static hr_status convert_lines(char *path, hr_error *err)
{
    hr_convert_result r;
    const conversion o = {.inputs = {&path, 1},
                          .out = "long.tfrecord",
                          .opts.no_sync = true,
                          .opts.policy = {.on_error = HR_SKIP},
                          .opts.max_record_bytes = MAX};
    const hr_status st = run_conversion(&o, &r, err);
    hr_convert_result_clear(&r);
    return st;
}

static hr_status count_long(char *path, hr_error *err)
{
    int64_t count;
    return hr_count_rows(path, &count, err, .max_record_bytes = MAX);
}

static hr_status iterate(hr_dataset *ds, hr_error *err)
{
    const hr_element *e;
    const int workers = 0;
    hr_iterator *it = hr_iterate(ds, .workers = &workers);
    hr_status st;
    while ((st = hr_next(it, &e)) == HR_OK) continue;
    if (st < 0) *err = *hr_iterator_error(it);
    hr_iterator_free(it);
    return st == HR_END ? HR_OK : st;
}

static hr_status csv_long(char *path, hr_error *err) { return iterate(hr_csv(path, .max_row_bytes = MAX), err); }

static hr_status text_long(char *path, hr_error *err)
{
    return iterate(hr_text_lines(path, .max_row_bytes = MAX), err);
}

/* A row of just the limit is read; one byte more is refused, with the line and the option; and one that is far longer
 * takes no more memory than twice the limit and what little every file takes. */
static void a_row_takes_no_more_memory_than_its_limit(void **state)
{
    (void)state;
    static const struct {
        hr_status (*look)(char *path, hr_error *err);
        char *path;
        const char *front, *back, *kind, *place;
        size_t around; /* bytes of the row beside the letters */
    } looks[] = {
        {infer_long, "long.csv", "row,temp,name\n1,2,", "\n", "csv.row_size", "long.csv:2: ", 5},
        {convert_long, "long.csv", "row,temp,name\n1,2,", "\n", "csv.row_size", "long.csv:2: ", 5},
        {count_long, "long.csv", "row,temp,name\n1,2,", "\n", "csv.row_size", "long.csv:2: ", 5},
        {csv_long, "long.csv", "row,temp,name\n1,2,", "\n", "csv.row_size", "long.csv:2: ", 5},
        {csv_long, "long.csv", "", "\n", "csv.row_size", "long.csv:1: ", 1},
        {text_long, "long.txt", "", "\n", "text.line_size", "long.txt:1: ", 1},
        {infer_long, "long.jsonl", "{\"a\": 1}\n{\"a\": \"", "\"}\n", "json.limit", "long.jsonl:2:", 9},
        {convert_long, "long.jsonl", "{\"a\": 1}\n{\"a\": \"", "\"}\n", "json.limit", "long.jsonl:2:", 9},
        {count_long, "long.jsonl", "{\"a\": 1}\n{\"a\": \"", "\"}\n", "json.limit", "long.jsonl:2:", 9},
        {convert_lines, "long.jsonl", "{\"a\": 1}\n{\"a\": \"", "\"}\n", "json.limit", "long.jsonl:2:", 10},
    };
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
        hr_error err = {0};
        write_long(looks[i].path, looks[i].front, MAX - looks[i].around, looks[i].back);
        assert_ok(looks[i].look(looks[i].path, &err), &err);
        for (int bomb = 0; bomb < 2; bomb++) {
            write_long(looks[i].path, looks[i].front, bomb ? BOMB : MAX + 1 - looks[i].around, looks[i].back);
            watch_memory();
            if (looks[i].look(looks[i].path, &err) != HR_INVALID_ARGUMENT) fail_msg("look %d was let pass", (int)i);
            const int64_t max = most_memory();
            assert_string_equal(err.kind, looks[i].kind);
            assert_text_contains(err.text, "1048576 bytes");
            assert_text_contains(err.text, "ive a larger .max_r"); /* "give" or "Give" */
            assert_text_begins(err.text, looks[i].place);
            if (bomb && max >= 2 * MAX + (8 << 20)) fail_msg("%s: %lld bytes", err.text, (long long)max);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convert_takes_the_same_memory),
        cmocka_unit_test(values_of_json_are_bounded_as_a_record),
        cmocka_unit_test(count_and_index_take_the_same_memory),
        cmocka_unit_test(stats_take_the_same_memory),
        cmocka_unit_test(a_row_takes_no_more_memory_than_its_limit),
        cmocka_unit_test(short_rows_of_a_wide_file_take_little_memory),
    };
    return cmocka_run_group_tests(tests, write_inputs, clear);
}
