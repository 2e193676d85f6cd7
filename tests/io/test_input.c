/* Reading: pieces, short and interrupted reads, broken disks, pipes, places. */
#include "tests/io/faults.h"
#include "io/input.h"
#include "io/sys.h"
#include "tests/testing.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE = 1000 * 1000 };

static char *make_bytes(void)
{
    char *bytes = malloc(SIZE);
    assert_non_null(bytes);
    for (int i = 0; i < SIZE; i++) bytes[i] = (char)(hr_random(1, (uint64_t)i / 8) >> i % 8 * 8);
    return bytes;
}

static hr_input *open_input(const char *path, hr_compression compression, size_t buffer)
{
    hr_input *in = NULL;
    hr_error err;
    const hr_input_opts opts = {.struct_size = sizeof opts, .compression = compression, .buffer_size = buffer};
    assert_ok(hr_input_open_with(path, &opts, &in, &err), &err);
    return in;
}

/* Reads all of it in steps of `step`, compares with `bytes`. */
static void reads_equal(hr_input *in, const char *bytes, size_t size, size_t step)
{
    hr_error err;
    const char *data;
    size_t got, at = (size_t)hr_input_offset(in);
    for (;;) {
        assert_ok(hr_input_peek(in, step, &data, &got, &err), &err);
        if (got == 0) break;
        size_t take = got < step ? got : step;
        assert_at_most(at + take, size);
        assert_memory_equal(data, bytes + at, take);
        hr_input_consume(in, take);
        at += take;
        assert_int_equal(hr_input_offset(in), at);
    }
    assert_int_equal(at, size);
}

static void write_as(const char *path, hr_compression compression, const char *bytes, size_t size)
{
    hr_output *out;
    hr_error err;
    const hr_output_opts opts = {.struct_size = sizeof opts, .compression = compression, .no_sync = true};
    assert_ok(hr_output_open_with(path, &opts, &out, &err), &err);
    assert_ok(hr_output_write(out, bytes, size, &err), &err);
    assert_ok(hr_output_commit(out, &err), &err);
}

static void any_buffer_and_step_gives_the_same_bytes(void **state)
{
    (void)state;
    char *bytes = make_bytes();
    for (int compression = HR_NONE; compression <= HR_ZLIB; compression++) {
        write_as("f", (hr_compression)compression, bytes, SIZE);
        for (size_t buffer = 0; buffer <= 70000; buffer = buffer * 41 + 1)
            for (size_t step = 1; step < 1000000; step = step * 87 + 700) {
                hr_input *in = open_input("f", (hr_compression)compression, buffer);
                reads_equal(in, bytes, SIZE, step);
                hr_input_free(in);
            }
    }
    free(bytes);
}

static void short_and_interrupted_reads_change_nothing(void **state)
{
    (void)state;
    char *bytes = make_bytes();
    faults f = {.max = 1009, .interrupted = true, .call = -1};
    for (int compression = HR_NONE; compression <= HR_ZLIB; compression++) {
        write_as("f", (hr_compression)compression, bytes, SIZE);
        use_faults(&f);
        hr_input *in = open_input("f", HR_COMPRESSION_AUTO, 0);
        reads_equal(in, bytes, SIZE, 5000);
        hr_input_free(in);
        use_faults(NULL);
    }
    free(bytes);
}

static void a_broken_disk_is_reported_after_the_good_bytes(void **state)
{
    (void)state;
    char *bytes = make_bytes();
    write_file("f", bytes, SIZE);
    faults f = {.max = 100000, .call = 5, .number = EIO}; /* open, the head, three pieces */
    use_faults(&f);
    hr_input *in = open_input("f", HR_NONE, 0);
    hr_error err;
    const char *data;
    size_t size, good = 0;
    hr_status status;
    while ((status = hr_input_peek(in, 1, &data, &size, &err)) == HR_OK) {
        assert_memory_equal(data, bytes + good, size);
        good += size;
        hr_input_consume(in, size);
    }
    assert_status(status, HR_DATA_LOSS);
    assert_string_equal(err.kind, "file.read");
    assert_string_equal(err.file, "f");
    assert_int_equal(err.offset, good);
    assert_int_equal(good, 4096 + 3 * 100000);
    assert_status(hr_input_peek(in, 1, &data, &size, &err), HR_DATA_LOSS); /* and again */
    hr_input_free(in);
    use_faults(NULL);
    free(bytes);
}

static void a_long_peek_that_fails_lends_what_is_there(void **state)
{
    (void)state;
    write_file("f", "abc", 3);
    hr_input *in = open_input("f", HR_NONE, 0);
    const char *data;
    size_t size;
    hr_error err;
    int64_t before = allocations_alive();
    assert_ok(hr_input_peek(in, (size_t)1 << 60, &data, &size, &err), &err); /* a claim that costs no memory */
    assert_int_equal(size, 3);
    assert_memory_equal(data, "abc", 3);
    assert_int_equal(allocations_alive(), before);
    for (int i = 0; i < 64; i++) assert_int_equal(data[3 + i], 0); /* readable */
    hr_input_free(in);
}

static void what_cannot_be_opened_is_named(void **state)
{
    (void)state;
    hr_input *in;
    hr_error err;
    assert_status(hr_input_open_with("missing", NULL, &in, &err), HR_NOT_FOUND);
    assert_string_equal(err.file, "missing");
    hr_output *out;
    hr_file_list list;
    assert_status(hr_input_open_with(NULL, NULL, &in, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "file.argument");
    assert_status(hr_output_open_with(NULL, NULL, &out, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_match_files(NULL, &list, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_match_files_extended(NULL, &list, &err), HR_INVALID_ARGUMENT);
    assert_int_equal(mkdir("folder", 0777), 0);
    assert_status(hr_input_open_with("folder", NULL, &in, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "file.folder");
    assert_text_contains(err.text, "folder");
    write_file("plain", "a,b\n1,2\n", 8);
    const hr_input_opts gzip = {.struct_size = sizeof gzip, .compression = HR_GZIP};
    assert_status(hr_input_open_with("plain", &gzip, &in, &err), HR_DATA_LOSS);
    assert_string_equal(err.kind, "compression.wrong");
    assert_int_equal(err.offset, 0);
}

static void names_and_bytes_decide_and_must_agree(void **state)
{
    (void)state;
    hr_input *in;
    hr_error err;
    write_as("packed", HR_GZIP, "hello", 5);
    in = open_input("packed", HR_COMPRESSION_AUTO, 0);
    reads_equal(in, "hello", 5, 3);
    hr_input_free(in);
    write_as("packed.zlib", HR_COMPRESSION_AUTO, "hello", 5);
    in = open_input("packed.zlib", HR_ZLIB, 0);
    reads_equal(in, "hello", 5, 3);
    hr_input_free(in);
    write_file("plain.gz", "hello", 5);
    assert_status(hr_input_open_with("plain.gz", NULL, &in, &err), HR_DATA_LOSS);
    write_file("tab.tsv", "X\tY\n1\t2\n", 8); /* a right zlib header, and no zlib stream */
    in = open_input("tab.tsv", HR_COMPRESSION_AUTO, 0);
    reads_equal(in, "X\tY\n1\t2\n", 8, 3);
    hr_input_free(in);
    const hr_input_opts none = {.struct_size = sizeof none, .compression = HR_NONE};
    write_file("80.csv", "80,5\n", 5); /* what follows the header is taken as deflated, as far as it goes */
    in = open_input("80.csv", HR_COMPRESSION_AUTO, 0);
    reads_equal(in, "80,5\n", 5, 3);
    hr_input_free(in);
    assert_status(hr_input_open_with("80.csv", &none, &in, &err), HR_OK);
    hr_input_free(in);
    assert_status(hr_input_open_with("packed", &none, &in, &err), HR_DATA_LOSS);
    assert_text_contains(err.text, "gzip");
    write_file("empty.gz", "", 0);
    in = open_input("empty.gz", HR_COMPRESSION_AUTO, 0);
    reads_equal(in, "", 0, 1);
    hr_input_free(in);
}

static void seeking_goes_forward_and_back(void **state)
{
    (void)state;
    char *bytes = make_bytes();
    hr_error err;
    for (int compression = HR_NONE; compression <= HR_ZLIB; compression++) {
        write_as("f", (hr_compression)compression, bytes, SIZE);
        hr_input *in = open_input("f", (hr_compression)compression, 0);
        const int64_t places[] = {500000, 500001, 3, 999999, 0, 1000000};
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            assert_ok(hr_input_seek(in, places[i], &err), &err);
            assert_int_equal(hr_input_offset(in), places[i]);
            reads_equal(in, bytes, SIZE, 70000);
        }
        assert_status(hr_input_seek(in, SIZE + 1, &err), HR_OUT_OF_RANGE);
        hr_input_free(in);
    }
    free(bytes);
}

static void standard_input_and_pipes_are_read(void **state)
{
    (void)state;
    int ends[2], saved = dup(STDIN_FILENO);
    char *bytes = make_bytes();
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], bytes, 60000), 60000);
    close(ends[1]);
    dup2(ends[0], STDIN_FILENO);
    hr_input *in = open_input("-", HR_COMPRESSION_AUTO, 0);
    assert_false(hr__input_has_places(in));
    reads_equal(in, bytes, 60000, 1000);
    hr_error err;
    assert_status(hr_input_seek(in, 0, &err), HR_FAILED_PRECONDITION);
    hr_input_free(in);
    dup2(saved, STDIN_FILENO);
    close(saved);
    close(ends[0]);
    free(bytes);
}

/* Nobody has the pipe open for writing: neither opening nor reading may wait where nothing wakes them. */
static void a_wait_for_a_pipe_can_be_ended(void **state)
{
    (void)state;
    int ends[2];
    hr_input *in;
    hr_error err;
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "", 1), 1);
    const hr_input_opts woken = {.struct_size = sizeof woken, .wake = &ends[0]};
    assert_status(hr_input_open_with("fifo", &woken, &in, &err), HR_CANCELLED);
    hr_interrupt_by(ends[0]);
    assert_status(hr_input_open_with("fifo", NULL, &in, &err), HR_CANCELLED);
    hr_output *out;
    assert_status(hr_output_open_with("fifo", NULL, &out, &err), HR_CANCELLED);
    assert_string_equal(err.file, "fifo");

    /* What is there is read nevertheless: the caller says when he stops. */
    const int writer = open("fifo", O_RDWR);
    char bytes[100] = {0};
    const char *data;
    size_t size;
    assert_int_equal(write(writer, bytes, sizeof bytes), sizeof bytes);
    assert_ok(hr_input_open_with("fifo", NULL, &in, &err), &err);
    assert_status(hr_input_peek(in, sizeof bytes + 1, &data, &size, &err), HR_CANCELLED);
    assert_int_equal(size, sizeof bytes);
    hr_input_free(in);
    close(writer);
    hr_interrupt_by(-1);
    close(ends[0]);
    close(ends[1]);
    unlink("fifo");
}

static void every_failing_allocation_is_an_error_and_leaks_nothing(void **state)
{
    (void)state;
    char *bytes = make_bytes();
    for (int compression = HR_NONE; compression <= HR_ZLIB; compression++) {
        write_as("f", (hr_compression)compression, bytes, SIZE);
        const int64_t before = allocations_alive();
        bool whole = false;
        for (int64_t n = 0; !whole; n++) {
            hr_input *in = NULL;
            hr_error err;
            const char *data;
            size_t size;
            fail_allocation(n);
            hr_status status = hr_input_open_with("f", NULL, &in, &err);
            if (status == HR_OK) status = hr_input_peek(in, SIZE + 1, &data, &size, &err);
            whole = allocations_since() <= n;
            assert_int_equal(status, whole ? HR_OK : HR_RESOURCE_EXHAUSTED);
            if (in) hr_input_free(in);
            assert_int_equal(allocations_alive(), before);
        }
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_buffer_and_step_gives_the_same_bytes),
        cmocka_unit_test(short_and_interrupted_reads_change_nothing),
        cmocka_unit_test(a_broken_disk_is_reported_after_the_good_bytes),
        cmocka_unit_test(a_long_peek_that_fails_lends_what_is_there),
        cmocka_unit_test(what_cannot_be_opened_is_named),
        cmocka_unit_test(names_and_bytes_decide_and_must_agree),
        cmocka_unit_test(seeking_goes_forward_and_back),
        cmocka_unit_test(standard_input_and_pipes_are_read),
        cmocka_unit_test(a_wait_for_a_pipe_can_be_ended),
        cmocka_unit_test(every_failing_allocation_is_an_error_and_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
