/* csv: the source's conformance, and what its errors name. */
#include "tests/data/conformance.h"
#include <stdio.h>
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
    }
    const size_t used = (size_t)sprintf(text, "id,score,a name\n1,2,x\n2,3,y\nthree,4,z\n");
    write_file("bad.csv", text, used);
    return 0;
}

static hr_dataset *rows(const char *pattern)
{
    static const hr_csv_column columns[] = {{"id", HR_INT64, NULL}, {"a name", HR_STRING, NULL}};
    return hr_csv(pattern, .columns = columns, .column_count = 2);
}

HR_SAMPLE(csv) { return hr_batch(hr_shuffle(rows("good-*.csv"), 30), 7); }
HR_SAMPLE(csv_in_epochs) { return hr_repeat(hr_skip(rows("good-1.csv"), 200), .count = HR_I64(3)); }
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
    assert_int_equal(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void csv_names_file_line_and_column_of_a_wrong_field(void **state)
{
    (void)state;
    static run got;
    run_all(&got, rows("bad.csv"), (way){.workers = 2});
    assert_int_equal(got.count, 2);
    assert_int_equal(got.end, HR_INVALID_ARGUMENT);
    assert_string_equal(got.error.file, "bad.csv");
    assert_int_equal(got.error.line, 4);
    assert_int_equal(got.error.column, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(csv),
        HR_CONFORMANCE(csv_in_epochs),
        HR_CONFORMANCE_OF_FAILURE(csv_fails),
        cmocka_unit_test(csv_gives_the_rows_of_all_files),
        cmocka_unit_test(csv_names_file_line_and_column_of_a_wrong_field),
    };
    return cmocka_run_group_tests(tests, write_rows, NULL);
}
