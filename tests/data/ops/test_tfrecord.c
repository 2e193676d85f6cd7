/* tfrecord: files one after another, compressed or not, damaged at a known place. */
#include "tests/data/conformance.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES = 4, RECORDS = 50 };

static size_t make_record(char *text, int file, int record)
{
    const size_t used = (size_t)sprintf(text, "file %d record %d ", file, record);
    const size_t more = file == 1 && record == 30 ? 600000 : (size_t)(record * 37 % 300);
    memset(text + used, 'x', more);
    return used + more;
}

static void write_records(const char *path, int file, hr_compression compression)
{
    static char text[700000];
    hr_error err;
    hr_record_writer *writer;
    const hr_output_opts opts = {.struct_size = sizeof opts, .compression = compression};
    assert_ok(hr_record_writer_open(path, &opts, &writer, &err), &err);
    for (int r = 0; r < RECORDS; r++) assert_ok(hr_record_write(writer, text, make_record(text, file, r), &err), &err);
    assert_ok(hr_record_writer_commit(writer, &err), &err);
}

static int write_all(void **state)
{
    (void)state;
    for (int f = 0; f < FILES; f++) {
        char path[32];
        snprintf(path, sizeof path, "plain-%d.tfrecord", f);
        write_records(path, f, HR_NONE);
        snprintf(path, sizeof path, "zipped-%d.tfrecord.gz", f);
        write_records(path, f, HR_GZIP);
    }
    write_file("empty.tfrecord", NULL, 0);
    return 0;
}

HR_SAMPLE(tfrecord) { return hr_batch(hr_shuffle(hr_tfrecord("plain-*.tfrecord"), 30), 7); }
HR_SAMPLE(tfrecord_zipped) { return hr_skip(hr_tfrecord("zipped-*.gz"), 20); }
HR_SAMPLE(tfrecord_in_epochs) { return hr_repeat(hr_tfrecord("plain-[02].tfrecord"), .count = HR_I64(3)); }
HR_SAMPLE(tfrecord_resynced)
{
    const hr_policy policy = {.on_error = HR_QUARANTINE, .quarantine_file = "quarantine.jsonl"};
    return hr_batch(hr_shuffle(hr_tfrecord("bad-*", .policy = policy), 30), 7);
}
HR_SAMPLE(tfrecord_over_budget) { return hr_tfrecord("bad-*", .policy = {.on_error = HR_RESYNC, .max_errors = 3}); }
HR_SAMPLE(tfrecord_range)
{
    return hr_batch(hr_shuffle(hr_tfrecord("plain-*.tfrecord", .first = 70, .count = HR_I64(90)), 30), 7);
}
HR_SAMPLE(tfrecord_zipped_range) { return hr_repeat(hr_tfrecord("zipped-*.gz", .first = 170), .count = HR_I64(2)); }
HR_SAMPLE(tfrecord_damaged_range)
{
    return hr_batch(hr_tfrecord("damaged.tfrecord", .first = 10, .count = HR_I64(20), .policy = {.on_error = HR_SKIP}),
                    4);
}
HR_SAMPLE(tfrecord_damaged) { return hr_batch(hr_tfrecord("damaged.tfrecord"), 4); }

static void assert_next(hr_iterator *it, int file, int record)
{
    static char want[700000];
    const hr_element *e;
    const size_t size = make_record(want, file, record);
    if (hr_next(it, &e) != HR_OK) fail_msg("record %d of file %d: %s", record, file, hr_iterator_error(it)->text);
    const hr_view *got = hr_get(e, "value")->data;
    assert_int_equal(got->size, size);
    assert_memory_equal(got->data, want, size);
}

/* Records `first` on of all files as one list. */
static void assert_range(hr_dataset *ds, int first, int count)
{
    const hr_element *e;
    hr_iterator *it = iterate(ds, (way){.workers = 2});
    for (int n = first; n < first + count; n++) assert_next(it, n / RECORDS, n % RECORDS);
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void tfrecord_reads_exact_ranges_of_all_files(void **state)
{
    (void)state;
    static const int from[] = {0, 1, 49, 50, 51, 80, 99, 120, 199, 200}, of[] = {0, 1, 2, 49, 50, 51, 100, 200};
    const int all = FILES * RECORDS;
    for (size_t i = 0; i < sizeof from / sizeof *from; i++) {
        assert_range(hr_tfrecord("plain-*.tfrecord", .first = from[i]), from[i], all - from[i]);
        for (size_t c = 0; c < sizeof of / sizeof *of && from[i] + of[c] <= all; c++) {
            assert_range(hr_tfrecord("plain-*.tfrecord", .first = from[i], .count = HR_I64(of[c])), from[i], of[c]);
            assert_range(hr_tfrecord("zipped-*", .first = from[i], .count = HR_I64(of[c])), from[i], of[c]);
        }
    }
    hr_dataset *ds = hr_tfrecord("plain-*.tfrecord", .first = 3, .count = HR_I64(20));
    assert_int_equal(hr_cardinality(ds), 20);
    hr_dataset_unref(ds);
}

/* The index says how many; a file without one is counted. */
static void tfrecord_uses_the_index_beside_a_file(void **state)
{
    (void)state;
    hr_error err;
    hr_record_index *index;
    write_records("beside.tfrecord", 0, HR_NONE);
    assert_ok(hr_record_index_open_with("beside.tfrecord", NULL, &index, &err), &err);
    assert_ok(hr_record_index_write(index, &err), &err);
    hr_record_index_free(index);
    assert_range(hr_tfrecord("beside.tfrecord", .first = 20, .count = HR_I64(10)), 20, 10);
    write_records("beside.tfrecord", 1, HR_NONE); /* a stale one is not believed */
    assert_range(hr_tfrecord("beside.tfrecord", .first = 20, .count = HR_I64(0)), 20, 0);
    assert_int_equal(remove("beside.tfrecord.hridx"), 0);
}

static void tfrecord_counts_damaged_records_of_a_range(void **state)
{
    (void)state;
    static run got;
    const hr_policy skip = {.on_error = HR_SKIP};
    run_all(&got, hr_tfrecord("damaged.tfrecord", .first = 15, .count = HR_I64(6), .policy = skip),
            (way){.workers = 2});
    assert_status(got.end, HR_END);
    assert_int_equal(got.count, 5); /* without record 20 */
}

static void tfrecord_refuses_ranges_that_are_not_there(void **state)
{
    (void)state;
    assert_fails(hr_tfrecord("plain-*.tfrecord", .first = 201), HR_OUT_OF_RANGE, "index.range");
    assert_fails(hr_tfrecord("plain-*.tfrecord", .first = 150, .count = HR_I64(51)), HR_OUT_OF_RANGE, "index.range");
    assert_fails(hr_tfrecord("plain-*.tfrecord", .first = 1, .count = HR_I64(INT64_MAX - 1)), HR_OUT_OF_RANGE,
                 "index.range");
    assert_fails(hr_tfrecord("plain-*.tfrecord", .first = -1), HR_INVALID_ARGUMENT, "tfrecord.range");
    assert_fails(hr_tfrecord("plain-*.tfrecord", .count = HR_I64(-1)), HR_INVALID_ARGUMENT, "tfrecord.range");
    assert_fails(hr_tfrecord("cut.tfrecord", .first = 1), HR_DATA_LOSS, "tfrecord.truncated");
}

static void assert_records(hr_dataset *ds, const int *file, int files)
{
    const hr_element *e;
    hr_iterator *it = iterate(ds, (way){.workers = 2});
    for (int n = 0; n < files * RECORDS; n++) assert_next(it, file[n / RECORDS], n % RECORDS);
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void tfrecord_reads_files_in_the_order_of_their_names(void **state)
{
    (void)state;
    assert_records(hr_tfrecord("plain-*.tfrecord"), (int[]){0, 1, 2, 3}, 4);
    assert_records(hr_tfrecord("zipped-*.tfrecord.gz"), (int[]){0, 1, 2, 3}, 4);
    assert_records(hr_tfrecord("zipped-1.tfrecord.gz", .compression = HR_GZIP), (int[]){1}, 1);
    assert_records(hr_tfrecord("empty.tfrecord"), NULL, 0);
}

/* Flips a bit of record 20 of file 2, in its data. */
static int damage(void **state)
{
    (void)state;
    static char text[700000];
    size_t size, at = 12 + 3;
    char *bytes = read_whole_file("plain-2.tfrecord", &size);
    for (int r = 0; r < 20; r++) at += 16 + make_record(text, 2, r);
    bytes[at] ^= 4;
    write_file("damaged.tfrecord", bytes, size);
    write_file("cut.tfrecord", bytes, at);
    bytes[at + 20 * 16] ^= 4; /* in one of the next records, and two lengths */
    bytes[0] ^= 4;
    bytes[size - 100] ^= 4;
    write_file("bad-0.tfrecord", bytes, size);
    free(bytes);
    bytes = read_whole_file("zipped-3.tfrecord.gz", &size); /* nothing follows a cut stream but the next file */
    write_file("bad-1.tfrecord.gz", bytes, size - size / 3);
    free(bytes);
    return write_records("bad-2.tfrecord", 0, HR_NONE), 0;
}

static int64_t reported(hr_iterator *it, const char *what)
{
    int64_t count = 0;
    for (const hr_report_line *line = hr_iterator_report(it); line->what; line++)
        if (strcmp(line->what, what) == 0) count = line->count;
    return count;
}

static void tfrecord_counts_what_its_policy_passes_over(void **state)
{
    (void)state;
    static run all;
    hr_iterator *it = iterate(hr_tfrecord("bad-*", .policy = {.on_error = HR_RESYNC}), (way){.workers = 2});
    all.count = 0;
    run_on(&all, it, MOST_ELEMENTS);
    assert_status(all.end, HR_END);
    assert_more(all.count, 2 * RECORDS);
    assert_less(all.count, 3 * RECORDS);
    assert_int_equal(reported(it, "tfrecord: damaged records skipped"), 5);
    assert_more(reported(it, "tfrecord: bytes skipped"), 100);
    hr_iterator_free(it);
}

/* Stopped anywhere, saved and gone on: what is read a second time is not kept a second time. */
static void tfrecord_keeps_what_it_passes_over_once(void **state)
{
    (void)state;
    static run part;
    const hr_policy policy = {.on_error = HR_QUARANTINE, .quarantine_file = "once.jsonl"};
    for (int stop = 1; stop < 2 * RECORDS; stop += 7) {
        hr_error err;
        void *saved;
        size_t size;
        int lines = 0;
        hr_iterator *it = iterate(hr_shuffle(hr_tfrecord("bad-*", .policy = policy), 20), (way){.workers = 2});
        part.count = 0;
        run_on(&part, it, stop);
        assert_ok(hr_iterator_save(it, &saved, &size, &err), &err);
        hr_iterator_free(it);
        run_all(&part, hr_shuffle(hr_tfrecord("bad-*", .policy = policy), 20),
                (way){.state = saved, .state_size = size});
        assert_status(part.end, HR_END);
        hr_free(saved);
        char *text = read_whole_file("once.jsonl", &size);
        for (size_t i = 0; i < size; i++) lines += text[i] == '\n';
        free(text);
        assert_int_equal(lines, 5); /* as tfrecord_counts_what_its_policy_passes_over says */
    }
}

static void tfrecord_over_its_budget_says_so(void **state)
{
    (void)state;
    assert_fails(hr_tfrecord("bad-*", .policy = {.on_error = HR_RESYNC, .max_errors = 4}), HR_DATA_LOSS,
                 "policy.budget");
    assert_fails(hr_tfrecord("bad-*", .policy = {.on_error = HR_SKIP}), HR_DATA_LOSS, "tfrecord.length_crc");
    assert_fails(hr_tfrecord("bad-*", .policy = {.on_error = HR_QUARANTINE}), HR_INVALID_ARGUMENT,
                 "policy.quarantine_file");
    assert_fails(hr_tfrecord("bad-*", .checks = (hr_checks)3), HR_INVALID_ARGUMENT, "tfrecord.checks");
}

static void tfrecord_looks_at_the_checksums_that_are_asked_for(void **state)
{
    (void)state;
    static run got;
    run_all(&got, hr_tfrecord("damaged.tfrecord", .checks = HR_CHECKS_HEADER), (way){.workers = 2});
    assert_status(got.end, HR_END);
    assert_int_equal(got.count, RECORDS);
    run_all(&got, hr_tfrecord("damaged.tfrecord", .checks = HR_CHECKS_NONE), (way){.workers = 2});
    assert_int_equal(got.count, RECORDS);
}

static void tfrecord_names_file_record_and_offset_of_damage(void **state)
{
    (void)state;
    static run got;
    run_all(&got, hr_tfrecord("damaged.tfrecord"), (way){.workers = 2});
    assert_int_equal(got.count, 20);
    assert_status(got.end, HR_DATA_LOSS);
    assert_string_equal(got.error.file, "damaged.tfrecord");
    assert_int_equal(got.error.record, 20);
    run_all(&got, hr_tfrecord("cut.tfrecord"), (way){.workers = 2});
    assert_int_equal(got.count, 20);
    assert_status(got.end, HR_DATA_LOSS);
}

static void tfrecord_of_a_missing_file_fails(void **state)
{
    (void)state;
    static run got;
    run_all(&got, hr_tfrecord("missing.tfrecord"), (way){0});
    assert_status(got.end, HR_NOT_FOUND);
    assert_text_contains(got.error.text, "missing.tfrecord");
    run_all(&got, hr_tfrecord("."), (way){0});
    assert_less(got.end, 0);
}

static int write_and_damage(void **state) { return write_all(state) || damage(state); }

HR_ARGUMENTS(tfrecord, hr_tfrecord("plain-*.tfrecord"), hr_tfrecord("plain-*.tfrecord", .first = 3),
             hr_tfrecord("plain-*.tfrecord", .count = HR_I64(70)),
             hr_tfrecord("plain-*.tfrecord", .checks = HR_CHECKS_NONE),
             hr_tfrecord("plain-*.tfrecord", .policy = {.on_error = HR_SKIP}),
             hr_tfrecord("plain-*.tfrecord", .compression = HR_NONE));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(tfrecord),
        HR_CONFORMANCE_OF_ARGUMENTS(tfrecord),
        HR_CONFORMANCE(tfrecord_zipped),
        HR_CONFORMANCE(tfrecord_in_epochs),
        HR_CONFORMANCE(tfrecord_resynced),
        HR_CONFORMANCE(tfrecord_range),
        HR_CONFORMANCE(tfrecord_zipped_range),
        HR_CONFORMANCE(tfrecord_damaged_range),
        HR_CONFORMANCE_OF_FAILURE(tfrecord_over_budget),
        HR_CONFORMANCE_OF_FAILURE(tfrecord_damaged),
        cmocka_unit_test(tfrecord_counts_what_its_policy_passes_over),
        cmocka_unit_test(tfrecord_keeps_what_it_passes_over_once),
        cmocka_unit_test(tfrecord_over_its_budget_says_so),
        cmocka_unit_test(tfrecord_looks_at_the_checksums_that_are_asked_for),
        cmocka_unit_test(tfrecord_reads_files_in_the_order_of_their_names),
        cmocka_unit_test(tfrecord_reads_exact_ranges_of_all_files),
        cmocka_unit_test(tfrecord_uses_the_index_beside_a_file),
        cmocka_unit_test(tfrecord_counts_damaged_records_of_a_range),
        cmocka_unit_test(tfrecord_refuses_ranges_that_are_not_there),
        cmocka_unit_test(tfrecord_names_file_record_and_offset_of_damage),
        cmocka_unit_test(tfrecord_of_a_missing_file_fails),
    };
    return cmocka_run_group_tests(tests, write_and_damage, NULL);
}
