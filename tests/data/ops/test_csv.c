/* csv: the source's conformance, and what its errors name. */
#include "tests/data/strings.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 300 };

static int write_rows(void **state)
{
    (void)state;
    static char text[64 * ROWS];
    for (int f = 0; f < 2; f++) {
        char path[32];
        size_t used = (size_t)sprintf(text, "id,score,\"a name\"\n");
        for (int r = 0; r < ROWS; r++)
            used +=
                (size_t)sprintf(text + used, "%d,%g,%s\n", f * ROWS + r, r / 4.0, r % 5 ? "plain" : "\"two\nlines\"");
        snprintf(path, sizeof path, "good-%d.csv", f);
        write_file(path, text, used);
        if (f == 1) write_gzip("zipped.csv.gz", text, used);
    }
    size_t lists = (size_t)sprintf(text, "# made by a test\nid,tags\n");
    for (int r = 0; r < ROWS; r++)
        lists += (size_t)sprintf(text + lists, "%s%d,%s\n", r % 9 ? "" : "# a comment\n", r,
                                 r % 3 == 0   ? ""
                                 : r % 3 == 1 ? "one"
                                              : "two;th\\,ree;\\#");
    write_file("lists.csv", text, lists);
    const size_t used = (size_t)sprintf(text, "id,score,a name\n1,2,x\n2,3,y\nthree,4,z\n");
    write_file("bad.csv", text, used);
    size_t many = (size_t)sprintf(text, "id,score,a name\n");
    for (int r = 0; r < ROWS; r++) {
        const char *row = r % 10 == 3   ? "%d,1\n"
                          : r % 10 == 5 ? "%d,1,name,more,more\n"
                          : r % 10 == 7 ? "x%d,1,name\n"
                          : r % 10 == 9 ? "%d,1,\"na\"me\"\n"
                                        : "%d,1,name\n";
        many += (size_t)sprintf(text + many, row, r);
    }
    write_file("uneven.csv", text, many);
    return 0;
}

static hr_dataset *rows(const char *pattern)
{
    static const hr_csv_column columns[] = {{.name = "id", .dtype = HR_INT64}, {.name = "a name", .dtype = HR_STRING}};
    return hr_csv(pattern, .columns = columns, .column_count = 2);
}

HR_SAMPLE(csv) { return hr_batch(hr_shuffle(rows("good-*.csv"), 30), 7); }
HR_SAMPLE(csv_in_epochs) { return hr_repeat(hr_skip(rows("good-1.csv"), 200), .count = HR_I64(3)); }
/* The general path: lists, comments, escapes. */
HR_SAMPLE(csv_lists)
{
    static const hr_csv_column columns[] = {{.name = "tags", .dtype = HR_STRING, .separator = ";"},
                                            {.name = "id", .dtype = HR_INT64}};
    hr_dataset *ds = hr_csv("lists.csv", .columns = columns, .column_count = 2, .comment = "#", .escape = "\\");
    return hr_batch(hr_shuffle(ds, 30), 7);
}
static hr_dataset *uneven(bool fill, bool cut, hr_policy policy)
{
    hr_view text = {"none", 4};
    const hr_tensor none = hr_tensor_of(HR_STRING, HR_SCALAR, &text);
    const hr_csv_column columns[] = {{.name = "id", .dtype = HR_INT64},
                                     {.name = "a name", .dtype = HR_STRING, .default_value = &none}};
    return hr_csv("uneven.csv", .columns = columns, .column_count = 2, .fill_short_rows = fill, .cut_long_rows = cut,
                  .policy = policy);
}

HR_SAMPLE(csv_with_rejects)
{
    return hr_batch(hr_shuffle(uneven(true, false, (hr_policy){.on_error = HR_SKIP}), 30), 7);
}
HR_SAMPLE(csv_gzip) { return hr_batch(hr_shuffle(rows("zipped.csv.gz"), 30), 7); }
HR_SAMPLE(csv_fails) { return rows("bad.csv"); }

static void csv_gives_the_rows_of_all_files(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(rows("good-*.csv"), (way){.workers = 2});
    for (int r = 0; r < 2 * ROWS; r++) {
        if (hr_next(it, &e) != HR_OK) fail_msg("row %d: %s", r, hr_iterator_error(it)->text);
        assert_int_equal(*(const int64_t *)hr_get(e, "id")->data, r);
        const hr_view *name = hr_get(e, "a name")->data;
        const char *want = r % ROWS % 5 ? "plain" : "two\nlines";
        assert_int_equal(name->size, strlen(want));
        assert_memory_equal(name->data, want, strlen(want));
    }
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void csv_gives_lists_as_ragged_components(void **state)
{
    (void)state;
    const hr_element *e;
    static const int32_t splits[] = {0, 0, 1, 4};
    static const hr_csv_column columns[] = {{.name = "tags", .dtype = HR_STRING, .separator = ";"}};
    hr_iterator *it = iterate(hr_batch(hr_csv("lists.csv", .columns = columns, .column_count = 1, .comment = "#",
                                              .escape = "\\", .select_cols = (const int[]){1}, .select_count = 1),
                                       3),
                              (way){.workers = 2});
    assert_status(hr_next(it, &e), HR_OK);
    const hr_tensor *tags = hr_get(e, "tags");
    assert_int_equal(tags->layout, HR_RAGGED);
    assert_int_equal(tags->count, 4);
    assert_memory_equal(tags->splits[0], splits, sizeof splits);
    const hr_view *view = tags->data;
    assert_int_equal(view[2].size, 6);
    assert_memory_equal(view[2].data, "th,ree", 6);
    int comments = 0;
    while (hr_next(it, &e) == HR_OK) continue;
    for (const hr_report_line *line = hr_iterator_report(it); line->what; line++)
        if (strcmp(line->what, "csv: comment lines") == 0) comments = (int)line->count;
    assert_int_equal(comments, (ROWS + 8) / 9);
    hr_iterator_free(it);
    it = iterate(hr_csv("lists.csv", .separator = ";", .comment = "#", .escape = "\\"), (way){.workers = 2});
    for (int row = 0; row < 3; row++) assert_status(hr_next(it, &e), HR_OK);
    assert_int_equal(hr_get(e, "tags")->count, 3);
    assert_int_equal(hr_get(e, "id")->count, 1);
    hr_iterator_free(it);
}

/* ---- what hr_csv_writer writes is read back ---- */

enum { BACK = 500 };

typedef struct table {
    int64_t whole[BACK];
    uint64_t big[BACK];
    float single[BACK];
    double real[BACK];
    bool flag[BACK];
    hr_view text[BACK];
    char bytes[BACK][12];
} table;

static void fill_table(table *t, uint64_t seed)
{
    static const char special[] = {',', '"', '\n', '\r', ';', ' ', 'a', 'N', 'A', '#', '\xef', '0'};
    for (int r = 0; r < BACK; r++) {
        const uint64_t n = (uint64_t)r * 100;
        const uint32_t bits = (uint32_t)hr_random(seed, n) & 0x7f7fffff;
        const uint64_t wide = hr_random(seed, n + 1) & UINT64_C(0xffefffffffffffff);
        t->whole[r] = (int64_t)hr_random(seed, n + 2);
        t->big[r] = hr_random(seed, n + 3);
        memcpy(&t->single[r], &bits, sizeof bits);
        memcpy(&t->real[r], &wide, sizeof wide);
        t->flag[r] = hr_random(seed, n + 4) & 1;
        const int64_t size = hr_random_below(seed, n + 5, 12);
        for (int64_t i = 0; i < size; i++)
            t->bytes[r][i] = special[hr_random_below(seed, n + 6 + (uint64_t)i, sizeof special)];
        t->text[r] = (hr_view){t->bytes[r], size};
    }
}

static void write_table(const table *t)
{
    static const char *const names[] = {"whole", "big", "single", "real", "flag", "text"};
    hr_csv_writer *w;
    hr_error err;
    const hr_tensor columns[] = {
        hr_tensor_of(HR_INT64, HR_SHAPE(BACK), t->whole),  hr_tensor_of(HR_UINT64, HR_SHAPE(BACK), t->big),
        hr_tensor_of(HR_FLOAT, HR_SHAPE(BACK), t->single), hr_tensor_of(HR_DOUBLE, HR_SHAPE(BACK), t->real),
        hr_tensor_of(HR_BOOL, HR_SHAPE(BACK), t->flag),    hr_tensor_of(HR_STRING, HR_SHAPE(BACK), t->text),
    };
    assert_ok(hr_csv_writer_open_with("back.csv", names, 6, NULL, &w, &err), &err);
    assert_ok(hr_csv_write(w, columns, &err), &err);
    assert_ok(hr_csv_writer_commit(w, &err), &err);
}

static void assert_reads_back(const table *t)
{
    static const hr_csv_column columns[] = {
        {.name = "whole", .dtype = HR_INT64},  {.name = "big", .dtype = HR_UINT64},
        {.name = "single", .dtype = HR_FLOAT}, {.name = "real", .dtype = HR_DOUBLE},
        {.name = "flag", .dtype = HR_BOOL},    {.name = "text", .dtype = HR_STRING}};
    const hr_element *e;
    hr_iterator *it = iterate(
        hr_batch(hr_csv("back.csv", .columns = columns, .column_count = 6, .quoted_never_missing = true), BACK + 1),
        (way){0});
    if (hr_next(it, &e) != HR_OK) fail_msg("%s", hr_iterator_error(it)->text);
    assert_memory_equal(hr_get(e, "whole")->data, t->whole, sizeof t->whole);
    assert_memory_equal(hr_get(e, "big")->data, t->big, sizeof t->big);
    assert_memory_equal(hr_get(e, "single")->data, t->single, sizeof t->single);
    assert_memory_equal(hr_get(e, "real")->data, t->real, sizeof t->real);
    assert_memory_equal(hr_get(e, "flag")->data, t->flag, sizeof t->flag);
    const hr_view *text = hr_get(e, "text")->data;
    for (int r = 0; r < BACK; r++) {
        assert_int_equal(text[r].size, t->text[r].size);
        if (text[r].size > 0) assert_memory_equal(text[r].data, t->text[r].data, (size_t)text[r].size);
    }
    hr_iterator_free(it);
}

static void csv_reads_back_what_the_writer_wrote(void **state)
{
    (void)state;
    static table t;
    for (uint64_t seed = 0; seed < 8; seed++) {
        fill_table(&t, seed);
        write_table(&t);
        assert_reads_back(&t);
    }
}

static void csv_reads_a_pipe_but_once(void **state)
{
    (void)state;
    static run got;
    static const char text[] = "id,a name\n1,x\n2,y\n";
    int saved = give_input(text, sizeof text - 1);
    assert_fails(hr_csv("-"), HR_INVALID_ARGUMENT, "csv.columns");
    run_all(&got, hr_repeat(rows("-"), .count = HR_I64(2)), (way){0});
    take_input_back(saved);
    assert_int_equal(got.count, 2);
    assert_string_equal(got.error.kind, "source.once");
}

/* Texts that are made anew, their quotes being doubled, stay what they are where rows among them are left out. */
static void texts_outlive_the_rows_that_are_left_out(void **state)
{
    (void)state;
    const hr_element *e;
    static const hr_csv_column columns[] = {{.name = "id", .dtype = HR_INT64},
                                            {.name = "tags", .dtype = HR_STRING, .separator = ";"}};
    static char text[32 * ROWS];
    size_t size = (size_t)sprintf(text, "id,tags\n");
    for (int r = 0; r < ROWS; r++)
        size += (size_t)sprintf(text + size, r % 3 == 2 ? "x%d,\"b\"\"d\"\n" : "%d,\"q\"\"%03d;\"\"\"\n", r, r);
    write_file("quotes.csv", text, size);
    hr_dataset *ds = hr_csv("quotes.csv", .columns = columns, .column_count = 2, .policy.on_error = HR_SKIP);
    hr_iterator *it = iterate(hr_batch(ds, ROWS), (way){.unit_rows = 3});
    if (hr_next(it, &e) != HR_OK) fail_msg("%s", hr_iterator_error(it)->text);
    const int64_t *id = hr_get(e, "id")->data;
    const hr_view *tag = hr_get(e, "tags")->data;
    assert_int_equal(hr_get(e, "id")->count, ROWS / 3 * 2);
    assert_int_equal(hr_get(e, "tags")->count, ROWS / 3 * 4);
    for (int r = 0; r < ROWS / 3 * 2; r++) {
        char expected[16];
        snprintf(expected, sizeof expected, "q\"%03d", (int)id[r]);
        assert_int_equal(tag[2 * r].size, 5);
        assert_memory_equal(tag[2 * r].data, expected, 5);
        assert_int_equal(tag[2 * r + 1].size, 1);
        assert_memory_equal(tag[2 * r + 1].data, "\"", 1);
    }
    hr_iterator_free(it);
}

static void kept_rows_are_of_no_other_format(void **state)
{
    (void)state;
    static run got;
    static const int64_t seven = 7, eight = 8;
    hr_tensor fill = hr_tensor_of(HR_INT64, HR_SCALAR, &seven), other = hr_tensor_of(HR_INT64, HR_SCALAR, &eight);
    const hr_csv_column column = {.name = "id", .dtype = HR_INT64, .default_value = &fill},
                        another = {.name = "id", .dtype = HR_INT64, .default_value = &other},
                        times = {.name = "id", .dtype = HR_INT64, .default_value = &fill, .time = HR_CSV_DATE};
#define OPTS .struct_size = sizeof(hr_csv_opts), .column_count = 1
    const hr_csv_opts first = {OPTS, .columns = &column},
                      others[] = {{OPTS, .columns = &another},
                                  {OPTS, .columns = &times},
                                  {OPTS, .columns = &column, .na_value = "3"},
                                  {OPTS, .columns = &column, .na_values = (const char *[]){"3"}, .na_value_count = 1},
                                  {OPTS, .columns = &column, .skip_rows = 1},
                                  {OPTS, .columns = &column, .fill_short_rows = true},
                                  {OPTS, .columns = &column, .tf_compat = true},
                                  {OPTS, .columns = &column, .select_cols = (int[]){0}, .select_count = 1}};
#undef OPTS
    for (int round = 0; round < 2; round++) {
        run_all(&got, hr_cache(hr_csv_with("good-0.csv", &first), .file = "kept.rows"), (way){0});
        assert_int_equal(got.count, ROWS);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_fails(hr_cache(hr_csv_with("good-0.csv", &others[i]), .file = "kept.rows"), HR_FAILED_PRECONDITION,
                     "cache.other_pipeline");
    hr_tensor_clear(&fill);
    hr_tensor_clear(&other);
}

static void csv_names_file_line_and_column_of_a_wrong_field(void **state)
{
    (void)state;
    static run got;
    run_all(&got, rows("bad.csv"), (way){.workers = 2});
    assert_int_equal(got.count, 2);
    assert_status(got.end, HR_INVALID_ARGUMENT);
    assert_string_equal(got.error.file, "bad.csv");
    assert_int_equal(got.error.line, 4);
    assert_int_equal(got.error.column, 0);
}

/* Of ten rows, number 3 is short, 5 long, 7 no number, 9 has a wrong quote. */
static void assert_rows_but(hr_dataset *ds, const bool *left_out)
{
    const hr_element *e;
    hr_iterator *it = iterate(ds, (way){.workers = 2, .unit_rows = 40});
    for (int r = 0; r < ROWS; r++) {
        if (left_out[r % 10]) continue;
        if (hr_next(it, &e) != HR_OK) fail_msg("row %d: %s", r, hr_iterator_error(it)->text);
        assert_int_equal(*(const int64_t *)hr_get(e, "id")->data, r);
        const hr_view *name = hr_get(e, "a name")->data;
        assert_int_equal(name->size, 4);
        assert_memory_equal(name->data, r % 10 == 3 ? "none" : "name", 4);
    }
    assert_status(hr_next(it, &e), HR_END);
    int64_t passed = 0;
    for (const hr_report_line *line = hr_iterator_report(it); line->what; line++)
        if (strcmp(line->what, "csv: rows skipped") == 0) passed = line->count;
    assert_int_equal(passed, ROWS / 10 * (left_out[3] + left_out[5] + left_out[7] + left_out[9]));
    hr_iterator_free(it);
}

static void csv_leaves_out_wrong_rows_by_a_policy(void **state)
{
    (void)state;
    const hr_policy skip = {.on_error = HR_SKIP};
    assert_rows_but(uneven(false, false, skip), (const bool[10]){[3] = true, [5] = true, [7] = true, [9] = true});
    assert_rows_but(uneven(true, false, skip), (const bool[10]){[5] = true, [7] = true, [9] = true});
    assert_rows_but(uneven(false, true, skip), (const bool[10]){[3] = true, [7] = true, [9] = true});
    assert_rows_but(uneven(true, true, skip), (const bool[10]){[7] = true, [9] = true});
    assert_fails(uneven(true, true, (hr_policy){.on_error = HR_SKIP, .max_errors = 30}), HR_DATA_LOSS, "policy.budget");
}

static void csv_keeps_rejects_with_their_place_and_text(void **state)
{
    (void)state;
    const hr_policy keep = {.on_error = HR_QUARANTINE, .quarantine_file = "rejects.jsonl"};
    for (int epoch = 0; epoch < 2; epoch++) {
        size_t size;
        int lines = 0;
        assert_rows_but(uneven(true, true, keep), (const bool[10]){[7] = true, [9] = true});
        char *text = read_whole_file("rejects.jsonl", &size);
        for (size_t i = 0; i < size; i++) lines += text[i] == '\n';
        text[size - 1] = '\0';
        assert_int_equal(lines, ROWS / 5);
        assert_text_contains(text, "{\"file\":\"uneven.csv\",\"record\":7,\"line\":9,\"offset\":");
        assert_non_null(
            strstr(text, "\"column\":0,\"feature\":\"id\",\"kind\":\"csv.value\",\"reason\":\"uneven.csv:9: "));
        assert_text_contains(text, "\"text\":\"x7,1,name\\n\"}");
        free(text);
    }
}

HR_ARGUMENTS(csv, uneven(true, false, (hr_policy){.on_error = HR_SKIP}), uneven(true, false, (hr_policy){0}),
             uneven(false, false, (hr_policy){.on_error = HR_SKIP}),
             uneven(true, true, (hr_policy){.on_error = HR_SKIP}));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(csv),
        HR_CONFORMANCE_OF_ARGUMENTS(csv),
        HR_CONFORMANCE(csv_in_epochs),
        HR_CONFORMANCE(csv_lists),
        HR_CONFORMANCE(csv_gzip),
        HR_CONFORMANCE(csv_with_rejects),
        HR_CONFORMANCE_OF_FAILURE(csv_fails),
        cmocka_unit_test(csv_leaves_out_wrong_rows_by_a_policy),
        cmocka_unit_test(csv_keeps_rejects_with_their_place_and_text),
        cmocka_unit_test(csv_gives_the_rows_of_all_files),
        cmocka_unit_test(csv_gives_lists_as_ragged_components),
        cmocka_unit_test(csv_reads_back_what_the_writer_wrote),
        cmocka_unit_test(csv_reads_a_pipe_but_once),
        cmocka_unit_test(texts_outlive_the_rows_that_are_left_out),
        cmocka_unit_test(kept_rows_are_of_no_other_format),
        cmocka_unit_test(csv_names_file_line_and_column_of_a_wrong_field),
    };
    return cmocka_run_group_tests(tests, write_rows, NULL);
}
