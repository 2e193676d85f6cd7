/* Sources over a registered file system: what they match and read is what lies in it, stopped and gone on or not. */
#include "tests/data/conformance.h"
#include "tests/io/memory_files.h"
#include <string.h>

enum { RECORDS = 5 };

/* The elements are strings, these: from number `first` on. */
static void assert_texts(hr_iterator *it, const char *const *text, int first, int count)
{
    const hr_element *e;
    for (int n = first; n < count; n++) {
        if (hr_next(it, &e) != HR_OK) fail_msg("element %d: %s", n, hr_iterator_error(it)->text);
        const hr_view *got = hr_get(e, "value")->data;
        assert_int_equal(got->size, strlen(text[n]));
        assert_memory_equal(got->data, text[n], strlen(text[n]));
    }
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void list_files_matches_in_another_file_system(void **state)
{
    (void)state;
    static const char *const names[] = {"mem://a/x-0.tfrecord", "mem://a/x-1.tfrecord"};
    assert_texts(iterate(hr_list_files("mem://a/x-*"), (way){.workers = 2}), names, 0, 2);
    assert_fails(hr_list_files("mem://a/z-*"), HR_INVALID_ARGUMENT, "list_files.no_match");
}

/* The records of both files: each is the name of its file. */
static const char *const of_both[] = {"mem://a/x-0.tfrecord", "mem://a/x-0.tfrecord", "mem://a/x-0.tfrecord",
                                      "mem://a/x-0.tfrecord", "mem://a/x-0.tfrecord", "mem://a/x-1.tfrecord",
                                      "mem://a/x-1.tfrecord", "mem://a/x-1.tfrecord", "mem://a/x-1.tfrecord",
                                      "mem://a/x-1.tfrecord"};

static void tfrecord_reads_from_another_file_system(void **state)
{
    (void)state;
    static const char *const zipped[] = {"mem://a/b/y.gz", "mem://a/b/y.gz", "mem://a/b/y.gz", "mem://a/b/y.gz",
                                         "mem://a/b/y.gz"};
    for (memory_read.max = 1; memory_read.max < 400; memory_read.max *= 7) {
        assert_texts(iterate(hr_tfrecord("mem://a/x-*"), (way){.workers = 2}), of_both, 0, 2 * RECORDS);
        assert_texts(iterate(hr_tfrecord("mem://a/b/y.gz"), (way){.workers = 2}), zipped, 0, RECORDS);
    }
    memory_read.max = 1000;
    assert_texts(iterate(hr_interleave(hr_list_files("mem://a/x-*"), hr_tfrecord_fn, NULL, .cycle_length = 1),
                         (way){.workers = 2}),
                 of_both, 0, 2 * RECORDS);
    assert_texts(iterate(hr_tfrecord("mem://a/x-*", .first = 3, .count = HR_I64(4)), (way){0}), of_both + 3, 0, 4);
    assert_fails(hr_tfrecord("mem://none"), HR_NOT_FOUND, "file.open");
    assert_int_equal(memory_read.open, 0);
}

/* A record's bytes as rows and lines: what they are does not matter, only that all ways give the same. */
static hr_dataset *rows_of(const char *path, bool tf_compat)
{
    static const hr_csv_column column = {.name = "value", .dtype = HR_STRING};
    return hr_csv(path, .columns = &column, .column_count = 1, .no_header = true, .no_quotes = true,
                  .delimiter = "\x01", .policy.on_error = HR_SKIP, .compression = HR_GZIP, .tf_compat = tf_compat,
                  .keep_missing = true);
}

static void csv_reads_from_another_file_system_in_both_modes(void **state)
{
    (void)state;
    hr_error err;
    void *saved;
    size_t size;
    const hr_element *a, *b;
    hr_iterator *by_us = iterate(rows_of("mem://a/b/y.gz", false), (way){0});
    hr_iterator *by_tf = iterate(rows_of("mem://a/b/y.gz", true), (way){.workers = 2});
    assert_status(hr_next(by_us, &a), HR_OK);
    if (hr_next(by_tf, &b) != HR_OK) fail_msg("%s", hr_iterator_error(by_tf)->text);
    const hr_view *x = hr_get(a, "value")->data, *y = hr_get(b, "value")->data;
    assert_int_equal(x->size, y->size);
    assert_memory_equal(x->data, y->data, (size_t)x->size);
    assert_ok(hr_iterator_save(by_tf, &saved, &size, &err), &err);
    hr_iterator *rest = iterate(rows_of("mem://a/b/y.gz", true), (way){.state = saved, .state_size = size});
    for (hr_status st = HR_OK; st == HR_OK;) {
        st = hr_next(by_tf, &a);
        assert_int_equal(hr_next(rest, &b), st);
        assert_at_least(st, HR_OK);
    }
    hr_free(saved);
    hr_iterator_free(by_us);
    hr_iterator_free(by_tf);
    hr_iterator_free(rest);
    assert_fails(rows_of("mem://none", true), HR_NOT_FOUND, "file.open");
    assert_int_equal(memory_read.open, 0);
}

static void a_saved_state_goes_on_in_it(void **state)
{
    (void)state;
    for (int stop = 0; stop <= 2 * RECORDS; stop++) {
        hr_error err;
        void *saved;
        size_t size;
        const hr_element *e;
        hr_iterator *it = iterate(hr_tfrecord("mem://a/x-*"), (way){.workers = 2});
        for (int n = 0; n < stop; n++) assert_status(hr_next(it, &e), HR_OK);
        assert_ok(hr_iterator_save(it, &saved, &size, &err), &err);
        hr_iterator_free(it);
        it = iterate(hr_tfrecord("mem://a/x-*"), (way){.state = saved, .state_size = size});
        assert_texts(it, of_both, stop, 2 * RECORDS);
        hr_free(saved);
    }
}

static void a_read_that_fails_ends_the_pipeline(void **state)
{
    (void)state;
    memory_read.max = memory_read.bad_offset = 36; /* after the first record */
    assert_fails(hr_tfrecord("mem://a/x-0.tfrecord"), HR_DATA_LOSS, "file.read");
    memory_read.max = 1000;
    memory_read.bad_offset = -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list_files_matches_in_another_file_system),
        cmocka_unit_test(tfrecord_reads_from_another_file_system),
        cmocka_unit_test(csv_reads_from_another_file_system_in_both_modes),
        cmocka_unit_test(a_saved_state_goes_on_in_it),
        cmocka_unit_test(a_read_that_fails_ends_the_pipeline),
    };
    return cmocka_run_group_tests(tests, fill_memory_files, empty_memory_files);
}
