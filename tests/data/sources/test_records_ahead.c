/* Records that are read ahead, by several threads, in parts of files: exactly those that one thread reads in turn, with
 * the same errors, counts and saved states, also where a part begins within a record that looks like records itself. */
#include "tests/data/sources/ahead.h"
#include <stdlib.h>

enum { RECORDS = 700, MOST = 400000, LONG = 300000, UNREADABLE = 433 };

/* ---- files: each record is a tf.Example with an unknown field, which is filled ---- */

static char text[MOST];

static size_t put_frame(char *to, const char *data, size_t size)
{
    const uint64_t length = size;
    memcpy(to, &length, 8);
    const uint32_t of_length = hr_crc32c_mask(hr_crc32c(0, to, 8)), of_data = hr_crc32c_mask(hr_crc32c(0, data, size));
    memcpy(to + 8, &of_length, 4);
    memmove(to + 12, data, size);
    memcpy(to + 12 + size, &of_data, 4);
    return size + 16;
}

/* Of frames, as a file of records has them. */
static size_t fill_with_records(char *to, size_t size)
{
    char data[64];
    size_t used = 0;
    for (size_t n = 0; used + sizeof data + 16 <= size; n++) {
        memset(data, (int)('a' + n % 26), sizeof data);
        used += put_frame(to + used, data, n % sizeof data);
    }
    return used;
}

static size_t make_record(int file, int record)
{
    const uint64_t random = hr_random((uint64_t)file, (uint64_t)record);
    size_t size = (size_t)(random % 900);
    char *filler = text + 8;
    if (file == 2 && record == RECORDS / 2) size = LONG;
    if (file == 1)
        size = fill_with_records(filler, 100 + size);
    else
        memset(filler, (int)(random >> 40 & 127), size);
    enum { HEAD = 4 }; /* a tag, and the size in three bytes */
    const char head[HEAD] = {15 << 3 | 2, (char)(128 | (size & 127)), (char)(128 | (size >> 7 & 127)),
                             (char)(size >> 14)};
    memcpy(text, head, HEAD);
    memmove(text + HEAD, filler, size);
    return HEAD + size;
}

static void write_records(const char *path, int file, int records, hr_compression compression)
{
    hr_error err;
    hr_record_writer *writer;
    const hr_output_opts opts = {.struct_size = sizeof opts, .compression = compression, .no_sync = true};
    assert_ok(hr_record_writer_open(path, &opts, &writer, &err), &err);
    for (int r = 0; r < records; r++) {
        const size_t size = make_record(file, r);
        if (file == 3 && r == UNREADABLE) text[0] = 7;
        assert_ok(hr_record_write(writer, text, size, &err), &err);
    }
    assert_ok(hr_record_writer_commit(writer, &err), &err);
}

static char *bytes_of(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *bytes = malloc(2 << 20);
    *size = fread(bytes, 1, 2 << 20, file);
    fclose(file);
    return bytes;
}

static int write_all(void **state)
{
    (void)state;
    char path[32];
    for (int f = 0; f < 3; f++) {
        snprintf(path, sizeof path, "plain-%d.tfrecord", f);
        write_records(path, f, RECORDS, HR_NONE);
        snprintf(path, sizeof path, "zipped-%d.tfrecord.gz", f);
        write_records(path, f, RECORDS / 2, HR_GZIP);
    }
    write_records("unreadable.tfrecord", 3, RECORDS, HR_NONE);
    write_file("plain-empty.tfrecord", NULL, 0);
    return 0;
}

/* ---- the same as in turn ---- */

static int64_t in_parts(hr_dataset *(*make)(void)) { return assert_as_in_turn(make, "tfrecord", "tfrecord_part"); }

static hr_dataset *plain(void) { return hr_tfrecord("plain-*.tfrecord"); }
static hr_dataset *sound(void) { return hr_tfrecord("plain-[02].tfrecord"); }
static hr_dataset *zipped(void) { return hr_tfrecord("zipped-*.gz"); }
static hr_dataset *range(void) { return hr_tfrecord("plain-*.tfrecord", .first = 150, .count = HR_I64(1300)); }
static hr_dataset *shuffled(void) { return hr_batch(hr_shuffle(plain(), 100), 7); }
static hr_dataset *in_epochs(void) { return hr_repeat(zipped(), .count = HR_I64(2)); }

static void records_ahead_are_those_in_turn(void **state)
{
    (void)state;
    in_parts(plain);
    in_parts(range);
    in_parts(shuffled);
    assert_int_equal(in_parts(zipped), 3 * (RECORDS / 2));
    assert_int_equal(in_parts(in_epochs), 6 * (RECORDS / 2));
}

/* Not one part has been looked for in vain, or read again in turn. */
static void parts_of_sound_files_are_read_once(void **state)
{
    (void)state;
    assert_int_equal(in_parts(sound), 2 * RECORDS);
}

static hr_dataset *parsed(void)
{
    static const hr_feature feature = {.key = "a", .kind = HR_VAR_LEN, .dtype = HR_INT64};
    static const hr_parse_spec spec = {&feature, 1};
    return hr_parse_single_example(hr_tfrecord("unreadable.tfrecord"), &spec);
}

static void rows_of_parts_know_their_records(void **state)
{
    (void)state;
    in_parts(parsed);
    assert_int_equal(got.count, UNREADABLE);
    assert_int_equal(got.error.record, UNREADABLE);
}

/* Also where a unit would have room for records of two parts, which count from different ones. */
static void assert_records_are_counted(way w)
{
    hr_iterator *it = iterate(plain(), w);
    const hr_element *e;
    hr_error place = {0};
    int64_t rows = 0;
    for (; next_soon(it, &e) == HR_OK; rows++) {
        const int64_t record = place.record;
        hr_fail(&place, HR_UNKNOWN, "test", "here");
        hr_iterator_locate(it, 0, &place);
        assert_int_equal(place.record, place.offset == 0 ? 0 : record + 1);
    }
    assert_int_equal(rows, 3 * RECORDS);
    hr_iterator_free(it);
}

static void records_of_parts_are_counted_from_the_front(void **state)
{
    (void)state;
    static const int64_t units[] = {3, 8, 64, 1000};
    for (int i = 0; i < 12; i++)
        assert_records_are_counted((way){.workers = 8, .unit_rows = units[i % 4], .budget = (size_t)1 << (20 + i / 4)});
}

/* ---- damage ---- */

static hr_policy policy;
static hr_dataset *damaged(void) { return hr_tfrecord("damaged-*", .policy = policy); }

static void assert_damage_is_told_as_in_turn(void)
{
    static const hr_on_error kinds[] = {HR_FAIL, HR_SKIP, HR_RESYNC};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        policy = (hr_policy){.on_error = kinds[k]};
        in_parts(damaged);
    }
}

static void damage_is_told_as_in_turn(void **state)
{
    (void)state;
    size_t size;
    char *bytes = bytes_of("plain-0.tfrecord", &size);
    write_records("damaged-2.tfrecord", 2, RECORDS, HR_NONE);
    for (size_t at = 30; at < size; at += size / 7) {
        bytes[at] ^= 32;
        write_file("damaged-1.tfrecord", bytes, at % 2 ? size : at + 1);
        bytes[at] ^= 32;
        assert_damage_is_told_as_in_turn();
    }
    memset(bytes + size / 2, 0, 70000);
    write_file("damaged-1.tfrecord", bytes, size);
    assert_damage_is_told_as_in_turn();
    free(bytes);
}

static void damage_of_compressed_files_is_told_as_in_turn(void **state)
{
    (void)state;
    size_t size;
    char *bytes = bytes_of("zipped-0.tfrecord.gz", &size);
    write_records("damaged-0.gz", 1, RECORDS / 2, HR_GZIP);
    write_records("damaged-2.gz", 2, RECORDS / 2, HR_GZIP);
    for (size_t at = 3; at < size; at += size / 3) {
        bytes[at] ^= 32;
        write_file("damaged-1.gz", bytes, at % 2 ? size : at + 1);
        bytes[at] ^= 32;
        assert_damage_is_told_as_in_turn();
    }
    free(bytes);
}

static hr_dataset *ignoring(void) { return hr_ignore_errors(hr_tfrecord("damaged-*")); }

static void ignored_damage_ends_the_list_as_in_turn(void **state)
{
    (void)state;
    size_t size;
    char *bytes = bytes_of("zipped-0.tfrecord.gz", &size);
    write_records("damaged-0.gz", 1, RECORDS / 2, HR_GZIP);
    bytes[size / 2] ^= 1;
    write_file("damaged-1.gz", bytes, size);
    free(bytes);
    in_parts(ignoring);
}

/* ---- states ---- */

static void states_are_those_in_turn(void **state)
{
    (void)state;
    for (int after = 0; after < 3 * RECORDS; after += 171) {
        assert_same_state(plain, after, (way){.workers = 8});
        assert_same_state(range, after, (way){.workers = 3});
        assert_same_state(zipped, after, (way){.workers = 2});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_ahead_are_those_in_turn),
        cmocka_unit_test(parts_of_sound_files_are_read_once),
        cmocka_unit_test(rows_of_parts_know_their_records),
        cmocka_unit_test(records_of_parts_are_counted_from_the_front),
        cmocka_unit_test(damage_is_told_as_in_turn),
        cmocka_unit_test(damage_of_compressed_files_is_told_as_in_turn),
        cmocka_unit_test(ignored_damage_ends_the_list_as_in_turn),
        cmocka_unit_test(states_are_those_in_turn),
    };
    return cmocka_run_group_tests(tests, write_all, NULL);
}
