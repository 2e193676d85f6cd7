/* TFRecord: known bytes, any size, any damage, no memory for lengths that are only claimed. */
#include "io/framing.h"
#include "tests/io/faults.h"
#include "tests/testing.h"
#include <errno.h>
#include <headrace/record_sets.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static void write_records(const char *path, const size_t *sizes, int count)
{
    hr_record_writer *writer;
    hr_error err;
    const hr_output_opts opts = {.struct_size = sizeof opts, .no_sync = true};
    assert_ok(hr_record_writer_open(path, &opts, &writer, &err), &err);
    for (int i = 0; i < count; i++) {
        char *data = malloc(sizes[i] + 1);
        assert_non_null(data);
        memset(data, 'a' + i % 26, sizes[i]);
        assert_ok(hr_record_write(writer, data, sizes[i], &err), &err);
        free(data);
    }
    assert_ok(hr_record_writer_commit(writer, &err), &err);
}

static void records_have_the_bytes_that_tensorflow_writes(void **state)
{
    (void)state;
    hr_record_writer *writer;
    hr_error err;
    assert_ok(hr_record_writer_open("f", NULL, &writer, &err), &err);
    assert_ok(hr_record_write(writer, "", 0, &err), &err);
    assert_ok(hr_record_write(writer, "abc", 3, &err), &err);
    assert_ok(hr_record_writer_commit(writer, &err), &err);
    static const char expected[] = "\0\0\0\0\0\0\0\0\x29\x03\x98\x07\xd8\xea\x82\xa2"
                                   "\3\0\0\0\0\0\0\0\xb0\x99\x49\x0e"
                                   "abc\x6e\x57\xf1\x21";
    size_t size;
    char *bytes = read_whole_file("f", &size);
    assert_int_equal(size, sizeof expected - 1);
    assert_memory_equal(bytes, expected, size);
    free(bytes);
}

static void records_of_any_size_come_back(void **state)
{
    (void)state;
    const size_t sizes[] = {0, 1, 7, 4096, 262143, 262144, 262145, 3000000, 5, 0};
    const char *const names[] = {"f", "f.gz", "f.zlib"};
    for (int n = 0; n < 3; n++) {
        write_records(names[n], sizes, 10);
        hr_record_reader *reader;
        hr_error err;
        hr_view record;
        int64_t offset = 0;
        assert_ok(hr_record_reader_open(names[n], NULL, &reader, &err), &err);
        for (int i = 0; i < 10; i++) {
            assert_ok(hr_record_read(reader, &record, &err), &err);
            assert_int_equal(record.size, sizes[i]);
            assert_int_equal(hr_record_offset(reader), offset);
            offset += record.size + HR__RECORD_FRAME;
            for (int64_t b = 0; b < record.size; b += 997) assert_int_equal(record.data[b], 'a' + i);
        }
        assert_status(hr_record_read(reader, &record, &err), HR_END);
        assert_status(hr_record_read(reader, &record, &err), HR_END);
        hr_record_reader_free(reader);
    }
}

/* Reads a file's records: how many, and what then. */
static hr_status read_to_end(const char *path, int *count, hr_error *err)
{
    hr_record_reader *reader;
    hr_view record;
    const hr_input_opts none = {.struct_size = sizeof none, .compression = HR_NONE};
    hr_status status = hr_record_reader_open(path, &none, &reader, err);
    if (status != HR_OK) return status;
    for (*count = 0; (status = hr_record_read(reader, &record, err)) == HR_OK; ++*count) {}
    hr_error again;
    assert_int_equal(hr_record_read(reader, &record, &again), status);
    if (status < 0) assert_string_equal(again.text, err->text);
    hr_record_reader_free(reader);
    return status;
}

static void every_cut_and_flipped_bit_is_named_with_record_and_offset(void **state)
{
    (void)state;
    const size_t sizes[] = {3, 0, 20};
    const int64_t begin[] = {0, 19, 35, 71};
    write_records("f", sizes, 3);
    size_t size;
    char *bytes = read_whole_file("f", &size);
    hr_error err;
    int count, whole;
    for (size_t cut = 0; cut <= size; cut++) {
        for (whole = 0; whole < 3 && begin[whole + 1] <= (int64_t)cut;) whole++;
        write_file("g", bytes, cut);
        hr_status status = read_to_end("g", &count, &err);
        assert_int_equal(count, whole);
        assert_int_equal(status, begin[whole] == (int64_t)cut ? HR_END : HR_DATA_LOSS);
        if (status == HR_END) continue;
        assert_string_equal(err.kind, "tfrecord.truncated");
        assert_int_equal(err.offset, begin[whole]);
        assert_int_equal(err.record, whole);
        assert_string_equal(err.file, "g");
    }
    for (size_t bit = 0; bit < 8 * size; bit++) {
        for (whole = 0; begin[whole + 1] <= (int64_t)bit / 8;) whole++;
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
        write_file("g", bytes, size);
        assert_status(read_to_end("g", &count, &err), HR_DATA_LOSS);
        assert_int_equal(count, whole);
        assert_int_equal(err.offset, begin[whole]);
        assert_string_equal(err.kind,
                            (int64_t)bit / 8 - begin[whole] < 12 ? "tfrecord.length_crc" : "tfrecord.data_crc");
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
    }
    free(bytes);
}

static void messages_say_where_what_was_expected_and_found(void **state)
{
    (void)state;
    static const char damaged[] = "\3\0\0\0\0\0\0\0\xb0\x99\x49\x0e"
                                  "abc\0\0\0\0";
    int count;
    hr_error err;
    write_file("train-00003.tfrecord", damaged, sizeof damaged - 1);
    assert_status(read_to_end("train-00003.tfrecord", &count, &err), HR_DATA_LOSS);
    assert_string_equal(err.text,
                        "train-00003.tfrecord:0: record 0: expected data checksum 0x00000000, got 0x21f1576e; "
                        "the file is truncated or corrupt");
}

/* A header that claims `length` bytes, with the right checksum, and a few bytes after it. */
static void write_claim(const char *path, uint64_t length)
{
    char bytes[HR__RECORD_HEADER + 8] = {0};
    hr__record_header(bytes, length);
    write_file(path, bytes, sizeof bytes);
}

static void a_claimed_length_costs_no_memory(void **state)
{
    (void)state;
    const uint64_t lengths[] = {
        9, 1 << 20, HR__RECORD_LIMIT, HR__RECORD_LIMIT + 1, 1000000000000, UINT64_MAX - 3, UINT64_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        hr_error err;
        int count;
        write_claim("f", lengths[i]);
        assert_status(read_to_end("f", &count, &err), HR_DATA_LOSS);
        assert_string_equal(err.kind, lengths[i] > HR__RECORD_LIMIT ? "tfrecord.length_limit" : "tfrecord.truncated");
    }
    hr_record_reader *reader;
    hr_error err;
    hr_view record;
    const hr_record_opts any = {.struct_size = sizeof any, .max_record_bytes = SIZE_MAX};
    write_claim("f", UINT64_MAX - 3); /* with its frame, 12 bytes: a size_t goes round */
    assert_ok(hr_record_reader_open_with("f", &any, &reader, &err), &err);
    assert_status(hr_record_read(reader, &record, &err), HR_DATA_LOSS);
    assert_string_equal(err.kind, "tfrecord.length_limit");
    hr_record_reader_free(reader);
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
#if !HR__UNDER_ASAN
    assert_less(used.ru_maxrss, 200 * 1024); /* KiB */
#endif
}

static void skipping_looks_at_lengths_only(void **state)
{
    (void)state;
    const size_t sizes[] = {3, 5, 7};
    write_records("f", sizes, 3);
    size_t size;
    char *bytes = read_whole_file("f", &size);
    bytes[13] = 'x'; /* the first record's data */
    write_file("f", bytes, size);
    free(bytes);
    hr_record_reader *reader;
    hr_error err;
    hr_view record;
    assert_ok(hr_record_reader_open("f", NULL, &reader, &err), &err);
    assert_ok(hr_record_skip(reader, 2, &err), &err);
    assert_ok(hr_record_read(reader, &record, &err), &err);
    assert_int_equal(record.size, 7);
    assert_status(hr_record_skip(reader, 1, &err), HR_END);
    hr_record_reader_free(reader);
}

static void a_record_file_can_begin_like_a_compressed_one(void **state)
{
    (void)state;
    const size_t sizes[] = {0x9c78, 0x088b1f}; /* the first bytes of zlib's and of gzip's header */
    for (int i = 0; i < 2; i++) {
        hr_record_reader *reader;
        hr_error err;
        hr_view record;
        write_records("f", &sizes[i], 1);
        assert_ok(hr_record_reader_open("f", NULL, &reader, &err), &err);
        assert_ok(hr_record_read(reader, &record, &err), &err);
        assert_int_equal(record.size, sizes[i]);
        hr_record_reader_free(reader);
    }
}

static void a_full_disk_leaves_the_old_records(void **state)
{
    (void)state;
    const size_t size = 10;
    int count;
    hr_error err;
    write_records("f", &size, 1);
    hr_record_writer *writer;
    assert_ok(hr_record_writer_open("f", NULL, &writer, &err), &err);
    faults f = {.call = 0, .number = ENOSPC};
    use_faults(&f);
    assert_ok(hr_record_write(writer, "abc", 3, &err), &err);
    assert_status(hr_record_writer_commit(writer, &err), HR_RESOURCE_EXHAUSTED);
    use_faults(NULL);
    assert_string_equal(err.kind, "file.write");
    assert_status(read_to_end("f", &count, &err), HR_END);
    assert_int_equal(count, 1);
}

/* What lies beyond struct_size is not the caller's to know: here it is what no newer library may look at. */
static void options_end_where_an_older_caller_says(void **state)
{
    (void)state;
    hr_error err;
    hr_view record;
    hr_input *in;
    hr_record_reader *reader;
    hr_repair_report report;
    hr_input_opts old_input = {.struct_size = offsetof(hr_input_opts, buffer_size), .buffer_size = SIZE_MAX};
    hr_record_opts old_record = {.struct_size = offsetof(hr_record_opts, checks), .policy.on_error = (hr_on_error)99};
    hr_repair_opts old_repair = {.struct_size = offsetof(hr_repair_opts, max_record_bytes), .max_record_bytes = 1};
    hr_record_writer *writer;
    assert_ok(hr_record_writer_open("old", NULL, &writer, &err), &err);
    assert_ok(hr_record_write(writer, "abc", 3, &err), &err);
    assert_ok(hr_record_writer_commit(writer, &err), &err);

    assert_ok(hr_input_open_with("old", &old_input, &in, &err), &err);
    hr_input_free(in);
    assert_ok(hr_record_reader_open("old", &old_input, &reader, &err), &err);
    hr_record_reader_free(reader);
    assert_ok(hr_record_reader_open_with("old", &old_record, &reader, &err), &err);
    assert_ok(hr_record_read(reader, &record, &err), &err);
    hr_record_reader_free(reader);
    assert_ok(hr_repair_records_with("old", "new", &old_repair, &report, &err), &err);
    assert_int_equal(report.records, 1);
}

static void sizes_that_cannot_be_are_refused(void **state)
{
    (void)state;
    hr_error err;
    hr_view record;
    hr_record_index *index;
    hr_record_reader *reader;
    hr_record_writer *writer;
    static const char long_record[100000];
    assert_ok(hr_record_writer_open("sizes", NULL, &writer, &err), &err);
    assert_ok(hr_record_write(writer, long_record, sizeof long_record, &err), &err);
    assert_ok(hr_record_writer_commit(writer, &err), &err);

    const hr_record_opts opts = {.struct_size = sizeof opts, .buffer_size = SIZE_MAX, .policy.on_error = HR_RESYNC};
    assert_ok(hr_record_reader_open_with("sizes", &opts, &reader, &err), &err);
    assert_status(hr_record_read(reader, &record, &err), HR_RESOURCE_EXHAUSTED);
    hr_record_reader_free(reader);

    assert_ok(hr_record_index_open_with("sizes", NULL, &index, &err), &err);
    assert_ok(hr_record_reader_open("sizes", NULL, &reader, &err), &err);
    assert_status(hr_record_reader_range(reader, index, INT64_MAX / 2, INT64_MAX, &err), HR_OUT_OF_RANGE);
    assert_text_contains(err.text, "to 9223372036854775807");
    hr_record_reader_free(reader);
    hr_record_index_free(index);

    assert_ok(hr_record_reader_open("sizes", NULL, &reader, &err), &err);
    assert_ok(hr_record_reader_range(reader, NULL, 1, INT64_MAX, &err), &err);
    assert_status(hr_record_read(reader, &record, &err), HR_END);
    hr_record_reader_free(reader);

    assert_ok(hr_repair_records_with("sizes", "repaired", NULL, NULL, &err), &err);
    assert_status(hr_repair_records_with("none", "repaired", NULL, NULL, &err), HR_NOT_FOUND);
}

/* A decoder goes on after a flipped bit: what it makes then holds copies of records that were before, checksums and
 * all. What is saved is a part of what was written, in its order, and what is lost is told. */
static void a_damaged_stream_gives_no_record_twice_or_out_of_order(void **state)
{
    (void)state;
    enum { POOL = 150, RECORDS = 900, SIZE = 44, PER_MEMBER = 300, FLIPS = 150 };
    static char pool[POOL][SIZE];
    static int record[RECORDS];
    hr_error err;
    uint64_t random = 1;
    for (int i = 0; i < POOL * SIZE; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        (&pool[0][0])[i] = (char)(random >> 56);
    }
    for (int several = 0; several < 2; several++) {
        FILE *f = fopen("whole.gz", "wb");
        for (int from = 0; from < RECORDS; from += several ? PER_MEMBER : RECORDS) {
            hr_record_writer *w;
            size_t size;
            assert_ok(hr_record_writer_open("member.gz", &(hr_output_opts){.level = 6, .no_sync = true}, &w, &err),
                      &err);
            for (int i = from; i < from + (several ? PER_MEMBER : RECORDS); i++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                record[i] = i < POOL ? i : (int)(random >> 40) % POOL;
                assert_ok(hr_record_write(w, pool[record[i]], SIZE, &err), &err);
            }
            assert_ok(hr_record_writer_commit(w, &err), &err);
            char *member = read_whole_file("member.gz", &size);
            fwrite(member, 1, size, f);
            free(member);
        }
        fclose(f);
        size_t size;
        char *bytes = read_whole_file("whole.gz", &size);
        for (int flip = 0; flip < FLIPS; flip++) {
            const size_t at = 10 + (size - 20) * (size_t)flip / FLIPS;
            hr_repair_report report;
            hr_record_reader *reader;
            hr_view got;
            bytes[at] ^= (char)(1 << flip % 8);
            write_file("bad.gz", bytes, size);
            bytes[at] ^= (char)(1 << flip % 8);
            assert_ok(hr_repair_records_with("bad.gz", "good", NULL, &report, &err), &err);
            if (report.lost.errors <= 0) assert_int_equal(report.records, RECORDS);
            assert_ok(hr_record_reader_open("good", NULL, &reader, &err), &err);
            for (int i = 0; hr_record_read(reader, &got, &err) == HR_OK; i++) {
                while (i < RECORDS && memcmp(got.data, pool[record[i]], SIZE) != 0) i++;
                if (i == RECORDS) fail_msg("flip at byte %zu: a record that is not there in this order", at);
            }
            hr_record_reader_free(reader);
        }
        free(bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_have_the_bytes_that_tensorflow_writes),
        cmocka_unit_test(records_of_any_size_come_back),
        cmocka_unit_test(every_cut_and_flipped_bit_is_named_with_record_and_offset),
        cmocka_unit_test(messages_say_where_what_was_expected_and_found),
        cmocka_unit_test(a_claimed_length_costs_no_memory),
        cmocka_unit_test(skipping_looks_at_lengths_only),
        cmocka_unit_test(a_record_file_can_begin_like_a_compressed_one),
        cmocka_unit_test(a_full_disk_leaves_the_old_records),
        cmocka_unit_test(a_damaged_stream_gives_no_record_twice_or_out_of_order),
        cmocka_unit_test(sizes_that_cannot_be_are_refused),
        cmocka_unit_test(options_end_where_an_older_caller_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
