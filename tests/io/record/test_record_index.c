/* The index: what it says of files of every compression, that any record can be gone to, and when it is refused. */
#include "io/record/record_index.h"
#include "io/compression.h"
#include "io/framing.h"
#include "tests/testing.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RECORDS = 1000 };

/* Record i: its number in text, and i * 37 % 900 bytes more. */
static size_t make_record(int64_t i, char *data)
{
    const size_t head = (size_t)sprintf(data, "%lld ", (long long)i), size = head + (size_t)(i * 37 % 900);
    for (size_t b = head; b < size; b++) data[b] = (char)hr_random((uint64_t)i, b);
    return size;
}

/* Zstandard needs libzstd. */
static bool is_built_in(hr_compression compression)
{
    void *encoder;
    const hr_codec *codec = hr__codec_of(compression);
    if (!codec->coding) return true;
    if (codec->coding->encoder_new(codec->form, 0, &encoder, NULL) != HR_OK) return false;
    codec->coding->encoder_free(encoder);
    return true;
}

static void write_records(const char *path, hr_compression compression, int64_t count)
{
    hr_record_writer *w;
    hr_error err;
    char data[1000];
    const hr_output_opts opts = {.struct_size = sizeof opts, .compression = compression, .no_sync = true};
    assert_ok(hr_record_writer_open(path, &opts, &w, &err), &err);
    for (int64_t i = 0; i < count; i++) assert_ok(hr_record_write(w, data, make_record(i, data), &err), &err);
    assert_ok(hr_record_writer_commit(w, &err), &err);
}

static hr_record_index *open_index(const char *path, hr_record_index_opts opts)
{
    hr_record_index *index = NULL;
    hr_error err;
    opts.struct_size = sizeof opts;
    assert_ok(hr_record_index_open_with(path, &opts, &index, &err), &err);
    return index;
}

static void reads_range(hr_record_reader *reader, const hr_record_index *index, int64_t first, int64_t count)
{
    hr_error err;
    hr_view record;
    char data[1000];
    const int64_t end = count < 0 ? RECORDS : first + count;
    assert_ok(hr_record_reader_range(reader, index, first, count, &err), &err);
    for (int64_t i = first; i < end; i++) {
        assert_ok(hr_record_read(reader, &record, &err), &err);
        assert_int_equal(record.size, make_record(i, data));
        assert_memory_equal(record.data, data, (size_t)record.size);
    }
    assert_status(hr_record_read(reader, &record, &err), HR_END);
}

static void any_range_can_be_read_of_every_compression(void **state)
{
    (void)state;
    static const int64_t first[] = {0, 1, 63, 64, 65, 500, 130, 999, 1000, 700, 0},
                         count[] = {10, 0, 2, 1, 200, -1, 1, 1, 0, -1, -1};
    for (int i = 0; hr_compression_at(i); i++) {
        const hr_compression c = hr_compression_at(i);
        if (!is_built_in(c)) continue;
        hr_error err;
        hr_record_reader *reader;
        write_records("f", c, RECORDS);
        hr_record_index *index = open_index("f", (hr_record_index_opts){.keep = true, .anew = true});
        assert_int_equal(hr_record_index_count(index), RECORDS);
        assert_true(hr_record_index_was_made(index));
        hr_record_index_free(index);
        assert_ok(hr_record_index_read("f", &index, &err), &err);
        assert_int_equal(hr_record_index_count(index), RECORDS);
        assert_false(hr_record_index_was_made(index));
        if (hr__codec_of(c)->frames) assert_more(index->places, 1);
        assert_ok(hr_record_reader_open("f", NULL, &reader, &err), &err);
        for (size_t i = 0; i < sizeof first / sizeof *first; i++) reads_range(reader, index, first[i], count[i]);
        for (size_t i = 0; i < sizeof first / sizeof *first; i += 3) reads_range(reader, NULL, first[i], count[i]);
        assert_status(hr_record_reader_range(reader, index, 990, 11, &err), HR_OUT_OF_RANGE);
        assert_string_equal(err.kind, "index.range");
        assert_status(hr_record_reader_range(reader, index, -1, 1, &err), HR_OUT_OF_RANGE);
        assert_status(hr_record_reader_range(reader, NULL, 1001, 1, &err), HR_OUT_OF_RANGE);
        assert_status(hr_record_reader_range(reader, NULL, -1, 1, &err), HR_OUT_OF_RANGE);
        reads_range(reader, index, 5, 5);
        hr_record_reader_free(reader);
        hr_record_index_free(index);
    }
}

static void a_file_without_records_has_an_index(void **state)
{
    (void)state;
    for (int i = 0; hr_compression_at(i); i++) {
        const hr_compression c = hr_compression_at(i);
        if (!is_built_in(c)) continue;
        write_records("none", c, 0);
        hr_record_index_free(open_index("none", (hr_record_index_opts){.keep = true, .anew = true}));
        hr_record_index *index = open_index("none", (hr_record_index_opts){0});
        assert_false(hr_record_index_was_made(index));
        assert_int_equal(hr_record_index_count(index), 0);
        assert_int_equal(hr_record_index_bytes(index), 0);
        hr_record_index_free(index);
    }
}

static void stale_is(const char *path, const char *why)
{
    hr_record_index *index;
    hr_error err;
    assert_status(hr_record_index_read(path, &index, &err), HR_FAILED_PRECONDITION);
    assert_string_equal(err.kind, "index.stale");
    if (!strstr(err.text, why)) fail_msg("%s", err.text);
    index = open_index(path, (hr_record_index_opts){0}); /* is made anew */
    assert_true(hr_record_index_was_made(index));
    hr_record_index_free(index);
}

static void set_time(const char *path, const struct stat *s)
{
    const struct timespec times[2] = {s->st_atim, s->st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void quiet(hr_level level, const char *text, void *user) { (void)level, (void)text, (void)user; }

static void an_index_of_another_file_is_refused_with_the_reason(void **state)
{
    (void)state;
    struct stat before;
    hr_error err;
    hr_record_index *index;
    hr_set_log(quiet, NULL);
    unlink("s.hridx");
    write_records("s", HR_NONE, 200);
    assert_int_equal(stat("s", &before), 0);
    assert_status(hr_record_index_read("s", &index, &err), HR_NOT_FOUND);
    hr_record_index_free(open_index("s", (hr_record_index_opts){.keep = true}));
    struct stat later = before;
    later.st_mtim.tv_sec += 7;
    set_time("s", &later);
    stale_is("s", "time of change");
    set_time("s", &before);
    assert_ok(hr_record_index_read("s", &index, &err), &err);
    hr_record_index_free(index);
    size_t size;
    char *bytes = read_whole_file("s", &size);
    write_file("s", bytes, size - 100);
    assert_status(hr_record_index_read("s", &index, &err), HR_FAILED_PRECONDITION);
    assert_text_contains(err.text, "size");
    char first[1000];
    const size_t length = make_record(0, first);
    hr__record_header(bytes, length + 1); /* other records of the same size in all */
    write_file("s", bytes, size);
    set_time("s", &before);
    assert_status(hr_record_index_read("s", &index, &err), HR_FAILED_PRECONDITION);
    assert_text_contains(err.text, "sampled headers");
    free(bytes);
    hr_set_log(NULL, NULL);
}

static void every_damage_of_an_index_is_noticed(void **state)
{
    (void)state;
    hr_error err;
    hr_record_index *index;
    size_t size;
    write_records("d", HR_LZ4, 300);
    hr_record_index_free(open_index("d", (hr_record_index_opts){.keep = true}));
    char *bytes = read_whole_file("d.hridx", &size);
    for (size_t cut = 0; cut < size; cut += 3) {
        write_file("d.hridx", bytes, cut);
        assert_status(hr_record_index_read("d", &index, &err), HR_DATA_LOSS);
        assert_string_equal(err.kind, "index.damaged");
    }
    for (size_t bit = 0; bit < 8 * size; bit += 5) {
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
        write_file("d.hridx", bytes, size);
        const hr_status st = hr_record_index_read("d", &index, &err);
        assert_int_equal(st, strcmp(err.kind, "index.version") == 0 ? HR_FAILED_PRECONDITION : HR_DATA_LOSS);
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
    }
    write_file("d.hridx", bytes, size);
    assert_ok(hr_record_index_read("d", &index, &err), &err);
    hr_record_index_free(index);
    free(bytes);
}

static void damage_of_a_file_is_named_as_the_reader_names_it(void **state)
{
    (void)state;
    hr_record_index *index;
    hr_record_reader *reader;
    hr_error by_index, by_reader;
    size_t size;
    write_records("w", HR_NONE, 5);
    char *bytes = read_whole_file("w", &size);
    for (size_t cut = 0; cut <= size; cut++) {
        write_file("x", bytes, cut);
        const hr_status st = hr_record_index_open_with("x", NULL, &index, &by_index);
        assert_ok(hr_record_reader_open("x", NULL, &reader, &by_reader), &by_reader);
        assert_int_equal(st == HR_OK ? HR_END : st, hr_record_skip(reader, INT64_MAX, &by_reader));
        if (st == HR_OK) hr_record_index_free(index);
        if (st != HR_OK) assert_string_equal(by_index.text, by_reader.text);
        hr_record_reader_free(reader);
    }
    free(bytes);
}

/* A file of two records, the first longer than 1 GiB: a hole. */
static void a_limit_of_ones_own_holds_for_the_pass_too(void **state)
{
    (void)state;
    const int64_t long_one = ((int64_t)1 << 30) + 100, second = long_one + HR__RECORD_FRAME;
    char header[HR__RECORD_HEADER];
    hr_error err;
    hr_record_index *index;
    write_records("short", HR_NONE, 1);
    size_t size;
    char *record = read_whole_file("short", &size);
    FILE *f = fopen("long", "wb");
    assert_non_null(f);
    hr__record_header(header, (uint64_t)long_one);
    assert_int_equal(fwrite(header, 1, sizeof header, f), sizeof header);
    assert_int_equal(fseek(f, second, SEEK_SET), 0);
    assert_int_equal(fwrite(record, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    free(record);

    assert_status(hr_record_index_open_with("long", NULL, &index, &err), HR_DATA_LOSS);
    assert_string_equal(err.kind, "tfrecord.length_limit");
    hr_record_index_opts opts = {.struct_size = sizeof opts, .max_record_bytes = (size_t)1 << 31};
    assert_ok(hr_record_index_open_with("long", &opts, &index, &err), &err);
    assert_int_equal(hr_record_index_count(index), 2);
    assert_int_equal(hr_record_index_bytes(index), second + (int64_t)size);
    hr_record_index_free(index);
    opts.max_record_bytes = 1000;
    assert_status(hr_record_index_open_with("long", &opts, &index, &err), HR_DATA_LOSS);
    assert_int_equal(remove("long"), 0);
}

static void many_files_are_indexed_by_all_threads(void **state)
{
    (void)state;
    enum { FILES = 9 };
    char name[FILES][8], *path[FILES];
    hr_record_index *index[FILES];
    hr_error err;
    for (int i = 0; i < FILES; i++) {
        sprintf(name[i], "m%d", i);
        path[i] = name[i];
        write_records(path[i], HR_NONE, i * 10);
    }
    const hr_file_list files = {path, FILES};
    for (int threads = 0; threads < 3; threads++) {
        hr_set_threads(threads);
        assert_ok(hr_record_index_open_all(&files, NULL, index, &err), &err);
        for (int i = 0; i < FILES; i++) {
            assert_int_equal(hr_record_index_count(index[i]), i * 10);
            hr_record_index_free(index[i]);
        }
    }
    write_file("m4", "no records at all", 17);
    write_file("m7", "nor here", 8);
    assert_status(hr_record_index_open_all(&files, NULL, index, &err), HR_DATA_LOSS);
    assert_string_equal(err.file, "m4");
}

static void the_text_form_goes_both_ways(void **state)
{
    (void)state;
    hr_error err;
    hr_record_index *index, *again;
    write_records("t", HR_NONE, RECORDS);
    index = open_index("t", (hr_record_index_opts){0});
    assert_ok(hr_record_index_write_text(index, "t.idx", &err), &err);
    size_t size;
    char *text = read_whole_file("t.idx", &size);
    assert_memory_equal(text, "0 18\n18 55\n73 92\n", 17);
    assert_ok(hr_record_index_read_text("t", "t.idx", &again, &err), &err);
    assert_int_equal(again->records, index->records);
    assert_int_equal(again->samples, index->samples);
    assert_memory_equal(again->sample, index->sample, (size_t)index->samples * sizeof *index->sample);
    hr_record_index_free(again);
    write_file("u.idx", text, size - 1); /* the last line's end may be missing */
    assert_ok(hr_record_index_read_text("t", "u.idx", &again, &err), &err);
    hr_record_index_free(again);
    static const char *const wrong[] = {"0 18\n19 55\n", "0\n", "0 18\n18 x\n", "x", "0 3\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_file("u.idx", wrong[i], strlen(wrong[i]));
        assert_status(hr_record_index_read_text("t", "u.idx", &again, &err), HR_INVALID_ARGUMENT);
        assert_string_equal(err.kind, "index.text");
    }
    write_file("u.idx", "0 18\n", 5);
    assert_status(hr_record_index_read_text("t", "u.idx", &again, &err), HR_FAILED_PRECONDITION);
    assert_string_equal(err.kind, "index.stale");
    hr_record_index_free(index);
    free(text);
    write_records("t.gz", HR_GZIP, 3);
    index = open_index("t.gz", (hr_record_index_opts){0});
    assert_status(hr_record_index_write_text(index, "t.idx", &err), HR_FAILED_PRECONDITION);
    hr_record_index_free(index);
}

static void a_lack_of_memory_leaks_nothing(void **state)
{
    (void)state;
    write_records("l", HR_LZ4, 300);
    hr_set_threads(0);
    hr_set_log(quiet, NULL);
    int64_t count = 1;
    for (int64_t n = -1; n < count; n++) {
        hr_error err;
        hr_record_index *index = NULL;
        const int64_t alive = allocations_alive();
        unlink("l.hridx");
        fail_allocation(n < 0 ? INT64_MAX : n);
        const hr_record_index_opts opts = {.struct_size = sizeof opts, .keep = true};
        hr_status st = hr_record_index_open_with("l", &opts, &index, &err);
        if (st == HR_OK) hr_record_index_free(index);
        if (st == HR_OK) st = hr_record_index_read("l", &index, &err);
        if (st == HR_OK) hr_record_index_free(index);
        const int64_t made = allocations_since();
        if (n < 0) count = made;
        if (st != HR_OK) assert_status(st, HR_RESOURCE_EXHAUSTED);
        assert_int_equal(allocations_alive(), alive);
    }
    hr_set_log(NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_range_can_be_read_of_every_compression),
        cmocka_unit_test(a_file_without_records_has_an_index),
        cmocka_unit_test(an_index_of_another_file_is_refused_with_the_reason),
        cmocka_unit_test(every_damage_of_an_index_is_noticed),
        cmocka_unit_test(damage_of_a_file_is_named_as_the_reader_names_it),
        cmocka_unit_test(a_limit_of_ones_own_holds_for_the_pass_too),
        cmocka_unit_test(many_files_are_indexed_by_all_threads),
        cmocka_unit_test(the_text_form_goes_both_ways),
        cmocka_unit_test(a_lack_of_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
