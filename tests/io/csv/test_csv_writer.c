/* CSV that is written: the text itself, what is refused, and that a file is there whole or not at all. That it reads
 * back is held in tests/data/ops/test_csv.c. */
#include "tests/testing.h"
#include <headrace/io.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const names[] = {"id", "a,b"};

static void file_is(const char *path, const char *want)
{
    size_t size;
    char *text = read_whole_file(path, &size);
    assert_int_equal(size, strlen(want));
    assert_memory_equal(text, want, size);
    free(text);
}

static void quotes_stand_only_where_they_are_needed(void **state)
{
    (void)state;
    hr_csv_writer *w;
    hr_error err;
    const int64_t id[] = {1, -2, INT64_MIN, 4, 5, 6};
    const hr_view text[] = {{"plain text", 10}, {"a,b", 3}, {"say \"so\"", 8},
                            {"two\nlines", 9},  {"", 0},    {" cr\r", 4}};
    const hr_tensor columns[] = {hr_tensor_of(HR_INT64, HR_SHAPE(6), id), hr_tensor_of(HR_STRING, HR_SHAPE(6), text)};
    assert_ok(hr_csv_writer_open_with("w.csv", names, 2, NULL, &w, &err), &err);
    assert_ok(hr_csv_write(w, columns, &err), &err);
    assert_int_equal(hr_csv_writer_rows(w), 6);
    assert_ok(hr_csv_writer_commit(w, &err), &err);
    file_is("w.csv", "id,\"a,b\"\n1,plain text\n-2,\"a,b\"\n-9223372036854775808,\"say \"\"so\"\"\"\n4,\"two\nlines\"\n"
                     "5,\"\"\n6,\" cr\r\"\n");
}

static void every_type_is_written_so_that_it_reads_back(void **state)
{
    (void)state;
    hr_csv_writer *w;
    hr_error err;
    static const char *const all[] = {"i", "u", "f", "d", "b"};
    const int32_t i = -7;
    const uint64_t u = UINT64_MAX;
    const float f = 0.1f;
    const double d = -INFINITY;
    const bool b = true;
    const hr_tensor columns[] = {hr_tensor_of(HR_INT32, HR_SCALAR, &i), hr_tensor_of(HR_UINT64, HR_SCALAR, &u),
                                 hr_tensor_of(HR_FLOAT, HR_SCALAR, &f), hr_tensor_of(HR_DOUBLE, HR_SCALAR, &d),
                                 hr_tensor_of(HR_BOOL, HR_SCALAR, &b)};
    const hr_csv_writer_opts opts = {.struct_size = sizeof opts, .delimiter = ";", .crlf = true};
    assert_ok(hr_csv_writer_open_with("w.csv", all, 5, &opts, &w, &err), &err);
    assert_ok(hr_csv_write(w, columns, &err), &err);
    assert_ok(hr_csv_writer_commit(w, &err), &err);
    file_is("w.csv", "i;u;f;d;b\r\n-7;18446744073709551615;0.1;-inf;true\r\n");
}

/* A file whose types are looked for has a float there again. */
static void whole_floats_are_written_as_floats(void **state)
{
    (void)state;
    hr_csv_writer *w;
    hr_error err;
    static const char *const both[] = {"f", "d"};
    const float f[] = {1, -0.0f, 16777215, -33554432, 1e30f, NAN, -INFINITY, 1.5f};
    const double d[] = {0, -7, 16777217, 9007199254740992, 1e300, NAN, INFINITY, 0.1};
    const hr_tensor columns[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(8), f), hr_tensor_of(HR_DOUBLE, HR_SHAPE(8), d)};
    assert_ok(hr_csv_writer_open_with("w.csv", both, 2, NULL, &w, &err), &err);
    assert_ok(hr_csv_write(w, columns, &err), &err);
    assert_ok(hr_csv_writer_commit(w, &err), &err);
    file_is("w.csv", "f,d\n1.0,0.0\n-0.0,-7.0\n16777215.0,16777217e0\n-33554432e0,9007199254740992e0\n"
                     "1e+30,1e+300\nnan,nan\n-inf,inf\n1.5,0.1\n");
}

/* Three rows: two values, none, one. */
static hr_tensor lists(const hr_view *text)
{
    static const int32_t splits[] = {0, 2, 2, 3};
    hr_tensor t = hr_tensor_of(HR_STRING, HR_SHAPE(3, -1), text);
    t.layout = HR_RAGGED;
    t.ragged_rank = 1;
    t.count = 3;
    t.splits[0] = splits;
    return t;
}

static void a_row_without_values_is_missing_and_one_with_several_a_list(void **state)
{
    (void)state;
    hr_csv_writer *w;
    hr_error err;
    const hr_view text[] = {{"red", 3}, {"green", 5}, {"NA", 2}}, last_empty[] = {{"", 0}, {"", 0}, {"", 0}};
    const hr_tensor column = lists(text), empty = lists(last_empty);
    hr_csv_writer_opts opts = {.struct_size = sizeof opts, .separator = ";", .na_value = "NA", .no_header = true};
    assert_ok(hr_csv_writer_open_with("w.csv", names, 1, &opts, &w, &err), &err);
    assert_ok(hr_csv_write(w, &column, &err), &err);
    assert_ok(hr_csv_write(w, &empty, &err), &err);
    assert_ok(hr_csv_writer_commit(w, &err), &err);
    file_is("w.csv", "red;green\nNA\n\"NA\"\n;\nNA\n\"\"\n");

    opts.refuse_missing = true;
    assert_ok(hr_csv_writer_open_with("w.csv", names, 1, &opts, &w, &err), &err);
    assert_status(hr_csv_write(w, &column, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "csv.missing");
    assert_int_equal(err.record, 1);
    assert_string_equal(err.feature, "id");
    assert_int_equal(hr_csv_writer_rows(w), 1);
    assert_ok(hr_csv_writer_commit(w, &err), &err);
    file_is("w.csv", "red;green\n");
}

static void refused(const hr_csv_writer_opts *opts, const hr_tensor *columns, int count, const char *kind)
{
    hr_csv_writer *w;
    hr_error err = {.kind = ""};
    assert_ok(hr_csv_writer_open_with("none.csv", names, count, opts, &w, &err), &err);
    assert_status(hr_csv_write(w, columns, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, kind);
    hr_csv_writer_discard(w);
    assert_int_equal(access("none.csv", F_OK), -1);
}

static void what_would_read_back_as_something_else_is_refused(void **state)
{
    (void)state;
    const hr_view with_separator[] = {{"a;b", 3}, {"c", 1}, {"d", 1}};
    const int64_t three[] = {1, 2, 3};
    const hr_csv_writer_opts none = {.struct_size = sizeof none};
    const hr_csv_writer_opts list = {.struct_size = sizeof list, .separator = ";"};
    const hr_tensor texts = lists(with_separator);
    const hr_tensor uneven[] = {hr_tensor_of(HR_INT64, HR_SHAPE(3), three), hr_tensor_of(HR_INT64, HR_SHAPE(2), three)};
    const hr_tensor odd = hr_tensor_of(HR_INT8, HR_SHAPE(3), three);
    refused(&none, &texts, 1, "csv.separator");
    refused(&list, &texts, 1, "csv.separator");
    refused(&none, uneven, 2, "csv.write");
    refused(&none, &odd, 1, "csv.write");
}

static void options_that_could_not_be_read_back_are_refused(void **state)
{
    (void)state;
    hr_csv_writer *w;
    const hr_csv_writer_opts bad[] = {
        {.struct_size = sizeof *bad, .delimiter = "\""},
        {.struct_size = sizeof *bad, .delimiter = ";;"},
        {.struct_size = sizeof *bad, .separator = ","},
        {.struct_size = sizeof *bad, .na_value = "a,b"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        hr_error err;
        assert_status(hr_csv_writer_open_with("w.csv", names, 2, &bad[i], &w, &err), HR_INVALID_ARGUMENT);
        assert_string_equal(err.kind, "csv.delimiter");
        assert_null(w);
    }
}

static void every_failed_allocation_leaves_no_file(void **state)
{
    (void)state;
    const hr_view text[] = {{"red", 3}, {"green", 5}, {"blue", 4}};
    const hr_tensor column = lists(text);
    const hr_csv_writer_opts opts = {
        .struct_size = sizeof opts, .separator = ";", .output = &(hr_output_opts){.no_sync = true}};
    const int64_t alive = allocations_alive();
    hr_status st = HR_OUT_OF_RANGE;
    for (int64_t n = 0; st != HR_OK; n++) {
        hr_csv_writer *w;
        hr_error err;
        fail_allocation(n);
        st = hr_csv_writer_open_with("n.csv", names, 1, &opts, &w, &err);
        if (st == HR_OK) st = hr_csv_write(w, &column, &err);
        if (st == HR_OK)
            st = hr_csv_writer_commit(w, &err);
        else
            hr_csv_writer_discard(w);
        allocations_since();
        if (st != HR_OK) assert_status(st, HR_RESOURCE_EXHAUSTED);
        assert_int_equal(access("n.csv", F_OK) == 0, st == HR_OK);
        assert_int_equal(allocations_alive(), alive);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotes_stand_only_where_they_are_needed),
        cmocka_unit_test(every_type_is_written_so_that_it_reads_back),
        cmocka_unit_test(whole_floats_are_written_as_floats),
        cmocka_unit_test(a_row_without_values_is_missing_and_one_with_several_a_list),
        cmocka_unit_test(what_would_read_back_as_something_else_is_refused),
        cmocka_unit_test(options_that_could_not_be_read_back_are_refused),
        cmocka_unit_test(every_failed_allocation_leaves_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
