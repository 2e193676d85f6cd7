/* Storage that gives other bytes now and then: what was read wrong once is read again and comes right, counted; what is
 * wrong in the file is damage as ever. */
#include "io/record/record_index.h"
#include "tests/data/conformance.h"
#include "tests/io/faults.h"
#include "tests/io/memory_files.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { RECORDS = 300, SIZE = 40, FRAME = SIZE + 16, MEMORY_RECORDS = 5 };

static void write_records(const char *path, hr_compression compression)
{
    hr_record_writer *w;
    hr_error err;
    const hr_output_opts opts = {.struct_size = sizeof opts, .no_sync = true, .compression = compression};
    assert_ok(hr_record_writer_open(path, &opts, &w, &err), &err);
    for (int i = 0; i < RECORDS; i++) {
        char data[SIZE + 1];
        snprintf(data, sizeof data, "%-*d", SIZE, i);
        for (int b = 8; b < SIZE; b++) data[b] = (char)hr_random((uint64_t)i, (uint64_t)b); /* hard to compress */
        assert_ok(hr_record_write(w, data, SIZE, &err), &err);
    }
    assert_ok(hr_record_writer_commit(w, &err), &err);
}

static int64_t size_of(const char *path)
{
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    return about.st_size;
}

static int warnings;

static void note_warning(hr_level level, const char *text, void *user)
{
    (void)user;
    if (level == HR_WARNING && strstr(text, "may be faulty")) warnings++;
}

/* All records, or those up to damage; how many were misread in *misread. */
static int64_t read_all(const char *path, const hr_policy *policy, int64_t *misread, hr_error *err)
{
    hr_record_reader *reader;
    hr_view record;
    hr_status st;
    int64_t count = 0;
    const hr_record_opts opts = {.struct_size = sizeof opts, .policy = *policy, .buffer_size = 999};
    assert_ok(hr_record_reader_open_with(path, &opts, &reader, err), err);
    for (; (st = hr_record_read(reader, &record, err)) == HR_OK; count++)
        if (policy->on_error == HR_FAIL) assert_int_equal(strtol(record.data, NULL, 10), count);
    if (st == HR_END) *err = (hr_error){0};
    *misread = hr_record_damage(reader).misread;
    hr_record_reader_free(reader);
    return count;
}

static const hr_policy policies[] = {{.on_error = HR_FAIL}, {.on_error = HR_SKIP}, {.on_error = HR_RESYNC}};

static void a_record_that_was_misread_once_comes_right(void **state)
{
    (void)state;
    write_records("f", HR_NONE);
    for (int64_t flip = 1; flip < 3 * FRAME; flip += 5)
        for (int p = 0; p < 3; p++) {
            faults f = {.call = -1, .flip_at = 100 * FRAME + flip, .flips = 1};
            hr_error err;
            int64_t misread;
            use_faults(&f);
            assert_int_equal(read_all("f", &policies[p], &misread, &err), RECORDS);
            use_faults(NULL);
            assert_int_equal(misread, 1);
        }
}

static void what_is_wrong_each_time_is_damage(void **state)
{
    (void)state;
    write_records("f", HR_NONE);
    faults f = {.call = -1, .flip_at = 100 * FRAME + 20, .flips = 1000000};
    hr_error err;
    int64_t misread;
    use_faults(&f);
    assert_int_equal(read_all("f", &policies[0], &misread, &err), 100);
    assert_string_equal(err.kind, "tfrecord.data_crc");
    assert_int_equal(err.record, 100);
    assert_int_equal(misread, 0);
    assert_int_equal(read_all("f", &policies[1], &misread, &err), RECORDS - 1);
    assert_int_equal(misread, 0);
    use_faults(NULL);
}

static void a_compressed_file_is_read_again_from_its_front(void **state)
{
    (void)state;
    static const hr_compression all[] = {HR_GZIP, HR_ZLIB, HR_LZ4};
    for (int c = 0; c < 3; c++) {
        write_records("f", all[c]);
        const int64_t size = size_of("f");
        int64_t healed = 0;
        for (int64_t flip = 70; flip < size; flip += size / 40) {
            faults f = {.call = -1, .flip_at = flip, .flips = 1};
            hr_error err;
            int64_t misread;
            use_faults(&f);
            assert_int_equal(read_all("f", &policies[0], &misread, &err), RECORDS);
            use_faults(NULL);
            healed += misread;
        }
        assert_in_range(healed, 30, 60);
    }
}

static int64_t reported(hr_iterator *it, const char *what)
{
    for (const hr_report_line *line = hr_iterator_report(it); line->what; line++)
        if (strstr(line->what, what)) return line->count;
    return 0;
}

/* All records through a pipeline; gives how many were misread. */
static int64_t pipeline_gives_all(hr_dataset *ds, way w, int64_t records)
{
    const hr_element *e;
    hr_status st;
    int64_t count = 0;
    hr_iterator *it = iterate(ds, w);
    for (; (st = hr_next(it, &e)) == HR_OK; count++) {}
    if (st != HR_END) fail_msg("%s", hr_iterator_error(it)->text);
    assert_int_equal(count, records);
    const int64_t misread = reported(it, "only when re-read");
    assert_in_range(misread, 0, records); /* a byte of compressed data may spoil several */
    hr_iterator_free(it);
    return misread;
}

/* A piece may be read of which the wrong record is not taken: so each read in turn is the wrong one. */
static int64_t pipelines_give_all(hr_dataset *make(const hr_policy *), const hr_policy *policy, int64_t flip,
                                  int workers)
{
    int64_t misread = 0;
    bool flipped = true;
    for (int n = 0; flipped; n++) {
        faults f = {.call = -1, .flip_at = flip, .flips = 1, .flip_first = n};
        use_faults(&f);
        misread += pipeline_gives_all(make(policy), (way){.workers = workers, .unit_rows = 30}, RECORDS);
        use_faults(NULL);
        flipped = f.flip_reads > n;
    }
    return misread;
}

static hr_dataset *make_tfrecord(const hr_policy *policy) { return hr_tfrecord("f", .policy = *policy); }

static void pipelines_read_damage_again(void **state)
{
    (void)state;
    static const hr_compression all[] = {HR_NONE, HR_GZIP};
    for (int c = 0; c < 2; c++) {
        write_records("f", all[c]);
        const int64_t middle = size_of("f") / 2;
        for (int64_t flip = middle; flip < middle + FRAME; flip += 7)
            for (int p = 0; p < 3; p++)
                for (int workers = 0; workers < 3; workers += 2)
                    assert_more(pipelines_give_all(make_tfrecord, &policies[p], flip, workers), 0);
    }
}

static hr_dataset *make_shuffled(const hr_policy *policy)
{
    (void)policy;
    return hr_shuffled_records("f", .seed = 3);
}

static void pipelines_of_random_records_read_damage_again(void **state)
{
    (void)state;
    write_records("f", HR_NONE);
    assert_more(pipelines_give_all(make_shuffled, policies, 100 * FRAME + 30, 0), 0);
    assert_more(pipelines_give_all(make_shuffled, policies, 100 * FRAME + 3, 0), 0);
}

static void a_read_that_is_wrong_once_does_not_spoil_an_index(void **state)
{
    (void)state;
    write_records("f", HR_NONE);
    faults f = {.call = -1, .flip_at = 100 * FRAME + 3, .flips = 1};
    hr_record_index *index = NULL;
    hr_error err;
    use_faults(&f);
    const hr_status st = hr_record_index_open_with("f", &(hr_record_index_opts){.anew = true}, &index, &err);
    use_faults(NULL);
    assert_ok(st, &err);
    assert_int_equal(hr_record_index_count(index), RECORDS);
    hr_record_index_free(index);
}

static void files_of_other_systems_are_read_again(void **state)
{
    (void)state;
    for (int i = 0; i < MEMORY_FILES; i++) {
        const int64_t frame = (int64_t)strlen(memory_files[i].name) + 16;
        const bool plain = !strstr(memory_files[i].name, ".gz");
        memory_read.flip_at = plain ? 2 * frame + 14 : (int64_t)memory_files[i].size / 2;
        memory_read.max = 50;
        hr_record_reader *reader;
        hr_view record;
        hr_error err;
        memory_read.flips = 1;
        memory_read.flip_reads = 0;
        assert_ok(hr_record_reader_open(memory_files[i].name, NULL, &reader, &err), &err);
        for (int r = 0; r < MEMORY_RECORDS; r++) assert_ok(hr_record_read(reader, &record, &err), &err);
        assert_status(hr_record_read(reader, &record, &err), HR_END);
        assert_int_equal(hr_record_damage(reader).misread, 1);
        hr_record_reader_free(reader);
        int64_t misread = 0;
        for (memory_read.flip_first = 0; memory_read.flip_first < 3; memory_read.flip_first++) {
            memory_read.flip_reads = 0;
            misread += pipeline_gives_all(hr_tfrecord(memory_files[i].name), (way){.workers = 2}, MEMORY_RECORDS);
        }
        assert_more(misread, 0); /* a byte of compressed data may spoil several */
        memory_read.flip_first = 0;
        assert_int_equal(memory_read.open, 0);
    }
    memory_read.flips = 0;
}

/* What the second look no longer finds was there: the end that it finds is not the file's. */
static void a_file_that_ends_before_the_second_look_is_cut(void **state)
{
    (void)state;
    memory_file *file = &memory_files[0];
    const size_t whole = file->size, frame = strlen(file->name) + 16;
    const hr_element *e;
    hr_record_reader *reader;
    hr_view record;
    hr_error err;
    memory_read.max = frame;
    memory_read.flip_at = 2 * (int64_t)frame + 3;
    memory_read.shrink_to = 2 * frame;
    memory_read.flips = 1;
    memory_read.flip_reads = 0;
    assert_ok(hr_record_reader_open(file->name, NULL, &reader, &err), &err);
    for (int r = 0; r < 2; r++) assert_ok(hr_record_read(reader, &record, &err), &err);
    assert_status(hr_record_read(reader, &record, &err), HR_DATA_LOSS);
    hr_record_reader_free(reader);
    int cut = 0;
    for (memory_read.flip_first = 0; memory_read.flip_first < 4; memory_read.flip_first++) { /* some take samples */
        file->size = whole;
        memory_read.flip_reads = 0;
        hr_iterator *it = iterate(hr_tfrecord(file->name), (way){0});
        for (int r = 0; r < 2; r++) assert_status(hr_next(it, &e), HR_OK);
        if (hr_next(it, &e) == HR_DATA_LOSS) cut += hr_iterator_error(it)->record == 2;
        hr_iterator_free(it);
    }
    assert_int_equal(cut, 1);
    file->size = whole;
    memory_read = (memory_reads){.max = 1000, .bad_offset = -1};
}

static void it_is_told_to_the_log(void **state)
{
    (void)state;
    write_records("f", HR_NONE);
    faults f = {.call = -1, .flip_at = 100 * FRAME + 30, .flips = 1};
    hr_error err;
    int64_t misread;
    warnings = 0;
    hr_set_log(note_warning, NULL);
    use_faults(&f);
    read_all("f", &policies[0], &misread, &err);
    use_faults(NULL);
    hr_set_log(NULL, NULL);
    assert_int_equal(warnings, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_that_was_misread_once_comes_right),
        cmocka_unit_test(what_is_wrong_each_time_is_damage),
        cmocka_unit_test(a_compressed_file_is_read_again_from_its_front),
        cmocka_unit_test(pipelines_read_damage_again),
        cmocka_unit_test(pipelines_of_random_records_read_damage_again),
        cmocka_unit_test(a_read_that_is_wrong_once_does_not_spoil_an_index),
        cmocka_unit_test(files_of_other_systems_are_read_again),
        cmocka_unit_test(a_file_that_ends_before_the_second_look_is_cut),
        cmocka_unit_test(it_is_told_to_the_log),
    };
    return cmocka_run_group_tests(tests, fill_memory_files, empty_memory_files);
}
