/* The tfrecord source against its files: broken disks, short reads, records of any size in units of any size, many
 * files, pipes, names with special characters, files that changed between save and load. */
#include "io/framing.h"
#include "tests/data/conformance.h"
#include "tests/io/faults.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Record `i` is "i:" and then as many bytes as it should have. */
static void write_records(const char *path, int first, int count, size_t size)
{
    hr_record_writer *writer;
    hr_error err;
    const hr_output_opts opts = {.struct_size = sizeof opts, .no_sync = true};
    char *data = calloc(1, size + 32);
    assert_non_null(data);
    assert_ok(hr_record_writer_open(path, &opts, &writer, &err), &err);
    for (int i = first; i < first + count; i++) {
        memset(data, 'x', size + 31);
        int used = snprintf(data, 32, "%d:", i);
        data[used] = 'x';
        assert_ok(hr_record_write(writer, data, (size_t)used + size, &err), &err);
    }
    assert_ok(hr_record_writer_commit(writer, &err), &err);
    free(data);
}

/* Reads all, which must be first, first + 1, ... Gives how many, and how it ended. */
static int read_numbers(hr_dataset *ds, way w, int first, hr_status *end, hr_error *err)
{
    const hr_element *e;
    hr_iterator *it = iterate(ds, w);
    int count = 0;
    for (; (*end = hr_next(it, &e)) == HR_OK; count++) {
        const hr_view *v = hr_get(e, "value")->data;
        assert_int_equal(strtol(v->data, NULL, 10), first + count);
    }
    if (*end < 0) *err = *hr_iterator_error(it);
    hr_iterator_free(it);
    return count;
}

static void assert_numbers(hr_dataset *ds, way w, int first, int count)
{
    hr_status end;
    hr_error err;
    assert_int_equal(read_numbers(ds, w, first, &end, &err), count);
    assert_status(end, HR_END);
}

static void records_larger_than_any_piece_come_whole(void **state)
{
    (void)state;
    const char *const names[] = {"large", "large.gz"};
    for (int n = 0; n < 2; n++) {
        write_records(names[n], 0, 4, 3000000);
        assert_numbers(hr_tfrecord(names[n]), (way){0}, 0, 4);
        assert_numbers(hr_tfrecord(names[n]), (way){.workers = 2, .unit_rows = 1}, 0, 4);
    }
}

static void short_and_interrupted_reads_change_nothing(void **state)
{
    (void)state;
    write_records("f", 0, 3000, 300);
    write_records("f.gz", 0, 3000, 300);
    faults f = {.max = 4099, .interrupted = true, .call = -1};
    use_faults(&f);
    assert_numbers(hr_tfrecord("f"), (way){0}, 0, 3000);
    assert_numbers(hr_tfrecord("f.gz"), (way){0}, 0, 3000);
    use_faults(NULL);
}

static void a_broken_disk_is_reported_after_every_record_that_was_read(void **state)
{
    (void)state;
    write_records("f", 0, 3000, 300);
    faults f = {.call = -1, .bad_from = 180000};
    use_faults(&f);
    hr_status end;
    hr_error err;
    int count = read_numbers(hr_tfrecord("f"), (way){0}, 0, &end, &err);
    use_faults(NULL);
    assert_status(end, HR_DATA_LOSS);
    assert_string_equal(err.kind, "file.read");
    assert_string_equal(err.file, "f");
    assert_int_equal(err.record, count);
    int64_t offset = 0;
    int whole = -1;
    for (char text[16]; offset <= 180000; whole++) offset += snprintf(text, sizeof text, "%d:", whole + 1) + 300 + 16;
    assert_int_equal(count, whole);
}

static void files_that_follow_each_other_may_be_many_and_empty(void **state)
{
    (void)state;
    for (int f = 0; f < 300; f++) {
        char path[32];
        snprintf(path, sizeof path, "many-%03d%s", f, f % 3 == 1 ? ".gz" : "");
        write_records(path, f / 2 * 5, f % 2 ? 0 : 5, 10);
    }
    assert_numbers(hr_tfrecord("many-*"), (way){0}, 0, 750);
    assert_numbers(hr_take(hr_tfrecord("many-*"), -1), (way){.workers = 2, .unit_rows = 3}, 0, 750);
}

static void a_pipe_is_read_in_order(void **state)
{
    (void)state;
    int ends[2], saved = dup(STDIN_FILENO);
    size_t size;
    write_records("f", 0, 100, 300);
    char *bytes = read_whole_file("f", &size);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], bytes, size), size);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    assert_numbers(hr_tfrecord("-"), (way){.unit_rows = 7}, 0, 100);
    dup2(saved, STDIN_FILENO);
    close(saved);
    close(ends[0]);
    free(bytes);
}

static void a_function_of_a_name_takes_it_as_it_stands(void **state)
{
    (void)state;
    write_records("odd[0]*", 0, 10, 3);
    write_records("odd0", 100, 10, 3);
    hr_dataset *names = hr_list_files("odd\\[0]\\*");
    assert_numbers(hr_interleave(names, hr_tfrecord_fn, NULL), (way){0}, 0, 10);
}

static void a_record_longer_than_allowed_is_refused(void **state)
{
    (void)state;
    write_records("f", 0, 3, 100);
    assert_fails(hr_tfrecord("f", .max_record_bytes = 50), HR_DATA_LOSS, "tfrecord.length_limit");
    assert_numbers(hr_tfrecord("f", .max_record_bytes = 102), (way){0}, 0, 3);
}

/* The first record is a hole of more than 1 GiB, which nobody reads. */
static void a_range_may_lie_after_a_record_of_any_length(void **state)
{
    (void)state;
    const uint64_t length = ((uint64_t)1 << 30) + 100;
    const int64_t one = 1;
    char header[HR__RECORD_HEADER];
    size_t size;
    write_records("short", 0, 1, 10);
    char *record = read_whole_file("short", &size);
    FILE *f = fopen("long", "wb");
    assert_non_null(f);
    hr__record_header(header, length);
    assert_int_equal(fwrite(header, 1, sizeof header, f), sizeof header);
    assert_int_equal(fseek(f, (long)length + HR__RECORD_FRAME, SEEK_SET), 0);
    assert_int_equal(fwrite(record, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    free(record);
    assert_numbers(hr_tfrecord("long", .max_record_bytes = length, .first = 1, .count = &one), (way){0}, 0, 1);
    hr_status end;
    hr_error err;
    read_numbers(hr_tfrecord("long", .first = 1), (way){0}, 0, &end, &err);
    assert_string_equal(err.kind, "tfrecord.length_limit");
    assert_int_equal(remove("long"), 0);
}

static void a_state_of_other_files_is_refused(void **state)
{
    (void)state;
    write_records("s-1", 0, 50, 10);
    write_records("s-2", 50, 50, 10);
    static run got;
    size_t size;
    hr_error err;
    void *saved = NULL;
    hr_iterator *it = iterate(hr_tfrecord("s-*"), (way){0});
    got.count = 0;
    run_on(&got, it, 60);
    assert_ok(hr_iterator_save(it, &saved, &size, &err), &err);
    hr_iterator_free(it);
    assert_numbers(hr_tfrecord("s-*"), (way){.state = saved, .state_size = size}, 60, 40);
    write_records("s-0", 0, 5, 10);
    run_all(&got, hr_tfrecord("s-*"), (way){.state = saved, .state_size = size});
    assert_status(got.end, HR_FAILED_PRECONDITION);
    assert_int_equal(remove("s-0"), 0);
    write_records("s-2", 50, 60, 10);
    run_all(&got, hr_tfrecord("s-*"), (way){.state = saved, .state_size = size});
    assert_status(got.end, HR_FAILED_PRECONDITION);
    assert_text_contains(got.error.text, "s-2");
    hr_free(saved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_larger_than_any_piece_come_whole),
        cmocka_unit_test(short_and_interrupted_reads_change_nothing),
        cmocka_unit_test(a_broken_disk_is_reported_after_every_record_that_was_read),
        cmocka_unit_test(files_that_follow_each_other_may_be_many_and_empty),
        cmocka_unit_test(a_pipe_is_read_in_order),
        cmocka_unit_test(a_function_of_a_name_takes_it_as_it_stands),
        cmocka_unit_test(a_record_longer_than_allowed_is_refused),
        cmocka_unit_test(a_range_may_lie_after_a_record_of_any_length),
        cmocka_unit_test(a_state_of_other_files_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
