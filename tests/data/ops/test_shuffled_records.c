/* shuffled_records: every record once, in an order that is random over all files; damage named with its place. */
#include "data/permutation.h"
#include "tests/data/conformance.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILES = 3, RECORDS = 150, ALL = FILES * RECORDS };

/* Its number over all files in four digits, and more; one is longer than what is read at a time. */
static size_t make_record(char *text, int number)
{
    const size_t used = (size_t)sprintf(text, "%04d ", number);
    const size_t more = number == 170 ? 40000 : (size_t)(number * 37 % 300);
    memset(text + used, 'x', more);
    return used + more;
}

static void write_records(const char *path, int first, int count, hr_compression compression)
{
    static char text[50000];
    hr_error err;
    hr_record_writer *writer;
    const hr_output_opts opts = {.struct_size = sizeof opts, .compression = compression, .no_sync = true};
    assert_ok(hr_record_writer_open(path, &opts, &writer, &err), &err);
    for (int r = 0; r < count; r++) assert_ok(hr_record_write(writer, text, make_record(text, first + r), &err), &err);
    assert_ok(hr_record_writer_commit(writer, &err), &err);
}

static int write_all(void **state)
{
    (void)state;
    for (int f = 0; f < FILES; f++) {
        char path[32];
        snprintf(path, sizeof path, "plain-%d.tfrecord", 2 * f);
        write_records(path, f * RECORDS, RECORDS, HR_NONE);
    }
    write_records("plain-1.tfrecord", 0, 0, HR_NONE); /* empty, between others */
    write_records("zipped.tfrecord.gz", 0, 10, HR_GZIP);
    write_records("framed-0.tfrecord.lz4", 0, 2 * RECORDS, HR_LZ4);
    write_records("framed-1.tfrecord", 2 * RECORDS, RECORDS, HR_NONE);
    write_records("damaged.tfrecord", 0, 100, HR_NONE);
    hr_record_index *index;
    hr_error err;
    assert_ok(hr_record_index_open_with("damaged.tfrecord", NULL, &index, &err), &err);
    hr_record_index_free(index);
    FILE *f = fopen("damaged.tfrecord", "r+b");
    assert_non_null(f);
    assert_int_equal(fseek(f, 14, SEEK_SET), 0); /* in the first record's data */
    fputc('#', f);
    fclose(f);
    return 0;
}

HR_SAMPLE(shuffled_records) { return hr_batch(hr_shuffled_records("plain-*.tfrecord", .seed = 3), 7); }
HR_SAMPLE(shuffled_records_in_epochs)
{
    return hr_repeat(hr_take(hr_shuffled_records("plain-[02].tfrecord"), 60), .count = HR_I64(3));
}
HR_SAMPLE(shuffled_records_of_frames) { return hr_batch(hr_shuffled_records("framed-*", .seed = 3), 7); }
HR_SAMPLE(shuffled_records_of_a_shard)
{
    return hr_shuffled_records("plain-*.tfrecord", .num_shards = 4, .index = 3, .uneven = HR_UNEVEN_PAD);
}
HR_SAMPLE(shuffled_records_damaged) { return hr_shuffled_records("damaged.tfrecord"); }

/* The numbers of the records, each of which must be whole. Takes `ds`. */
static int numbers(hr_dataset *ds, way w, int *number)
{
    static char want[50000];
    const hr_element *e;
    hr_iterator *it = iterate(ds, w);
    int count = 0;
    hr_status st;
    while ((st = hr_next(it, &e)) == HR_OK) {
        const hr_view record = *(const hr_view *)hr_get(e, "value")->data;
        assert_at_least(record.size, 5);
        assert_less(count, 3 * ALL);
        number[count] = atoi(record.data);
        const size_t size = make_record(want, number[count++]);
        assert_int_equal(record.size, size);
        assert_memory_equal(record.data, want, size);
    }
    if (st != HR_END) fail_msg("%s", hr_iterator_error(it)->text);
    hr_iterator_free(it);
    return count;
}

static void assert_each_once(const int *number)
{
    bool seen[ALL] = {false};
    for (int i = 0; i < ALL; i++) {
        assert_at_least(number[i], 0);
        assert_less(number[i], ALL);
        assert_false(seen[number[i]]);
        seen[number[i]] = true;
    }
}

static void every_record_comes_once_in_another_order_each_epoch(void **state)
{
    (void)state;
    static int number[3 * ALL];
    hr_dataset *ds = hr_repeat(hr_shuffled_records("plain-*.tfrecord"), .count = HR_I64(2));
    assert_int_equal(numbers(ds, (way){.workers = 2}, number), 2 * ALL);
    assert_each_once(number);
    assert_each_once(number + ALL);
    assert_memory_not_equal(number, number + ALL, ALL * sizeof *number);
}

static void order_may_be_the_same_each_epoch(void **state)
{
    (void)state;
    static int number[3 * ALL];
    hr_dataset *ds = hr_shuffled_records("plain-*.tfrecord", .seed = 5, .same_each_epoch = true);
    assert_int_equal(numbers(hr_repeat(ds, .count = HR_I64(2)), (way){0}, number), 2 * ALL);
    assert_memory_equal(number, number + ALL, ALL * sizeof *number);
}

/* A buffer's first element is one of its first size; here it is any. */
static void first_record_is_from_anywhere(void **state)
{
    (void)state;
    static int number[3 * ALL];
    int in_part[5] = {0};
    for (uint64_t seed = 1; seed <= 100; seed++) {
        numbers(hr_take(hr_shuffled_records("plain-*.tfrecord", .seed = seed), 1), (way){0}, number);
        in_part[number[0] * 5 / ALL]++;
    }
    for (int i = 0; i < 5; i++) assert_in_range(in_part[i], 8, 35);
}

static void permutation_is_one_of_every_size(void **state)
{
    (void)state;
    for (int64_t count = 1; count < 300; count++) {
        const permutation p = permutation_of((uint64_t)count * 77, count);
        bool seen[300] = {false};
        for (int64_t i = 0; i < count; i++) {
            const int64_t at = permutation_at(&p, i);
            assert_at_least(at, 0);
            assert_less(at, count);
            assert_false(seen[at]);
            seen[at] = true;
        }
    }
    const permutation huge = permutation_of(1, INT64_C(1) << 60);
    assert_int_not_equal(permutation_at(&huge, 0), permutation_at(&huge, (INT64_C(1) << 60) - 1));
}

/* All orders of 4, each about as often. */
static void permutations_are_alike_likely(void **state)
{
    (void)state;
    int often[256] = {0}, kinds = 0;
    for (uint64_t key = 0; key < 4800; key++) {
        const permutation p = permutation_of(hr_random(9, key), 4);
        int code = 0;
        for (int64_t i = 0; i < 4; i++) code = code * 4 + (int)permutation_at(&p, i);
        kinds += often[code]++ == 0;
    }
    assert_int_equal(kinds, 24);
    for (int i = 0; i < 256; i++)
        if (often[i]) assert_in_range(often[i], 100, 320);
}

static void index_is_kept_where_asked_for(void **state)
{
    (void)state;
    static int number[3 * ALL];
    hr_record_index *index;
    hr_error err;
    write_records("kept.tfrecord", 0, 70, HR_NONE);
    assert_status(hr_record_index_read("kept.tfrecord", &index, &err), HR_NOT_FOUND);
    assert_int_equal(numbers(hr_shuffled_records("kept.tfrecord", .keep_index = true), (way){0}, number), 70);
    assert_ok(hr_record_index_read("kept.tfrecord", &index, &err), &err);
    hr_record_index_free(index);
}

/* The file has other records when the second epoch begins; the first one goes on with those it has opened. */
static void an_epoch_finds_what_has_changed_since_the_one_before(void **state)
{
    (void)state;
    enum { MANY = 9000, FEW = 90 };
    const hr_element *e;
    int count = 0;
    write_records("changed.tfrecord", 0, MANY, HR_NONE);
    hr_dataset *ds = hr_repeat(hr_shuffled_records("changed.tfrecord"), .count = HR_I64(2));
    hr_iterator *it = hr_iterate(ds, .workers = &(int){0});
    for (; hr_next(it, &e) == HR_OK; count++) {
        if (count == 0) write_records("changed.tfrecord", MANY, FEW, HR_NONE);
        const hr_view record = *(const hr_view *)hr_get(e, "value")->data;
        assert_int_equal(atoi(record.data) < MANY, count < MANY);
    }
    assert_null(hr_iterator_error(it));
    assert_int_equal(count, MANY + FEW);
    hr_iterator_free(it);
}

static void an_index_of_each_64th_record_is_made_anew(void **state)
{
    (void)state;
    static int number[3 * ALL];
    hr_record_index *index;
    hr_error err;
    write_records("sparse.tfrecord", 0, 70, HR_NONE);
    const hr_record_index_opts keep = {.struct_size = sizeof keep, .keep = true};
    assert_ok(hr_record_index_open_with("sparse.tfrecord", &keep, &index, &err), &err);
    hr_record_index_free(index);
    for (int i = 0; i < 2; i++)
        assert_int_equal(numbers(hr_shuffled_records("sparse.tfrecord", .keep_index = true), (way){0}, number), 70);
    const hr_record_index_opts each = {.struct_size = sizeof each, .every_record = true};
    assert_ok(hr_record_index_open_with("sparse.tfrecord", &each, &index, &err), &err);
    assert_false(hr_record_index_was_made(index));
    hr_record_index_free(index);
}

/* Records larger than a frame, so that each lies in some of them. */
static void frames_are_begun_where_a_record_is(void **state)
{
    (void)state;
    enum { LARGE = 9, SIZE = 400000 };
    static char bytes[SIZE];
    hr_error err;
    hr_record_writer *writer;
    bool seen[LARGE] = {false};
    const hr_element *e;
    hr_status st;
    assert_ok(hr_record_writer_open("large.tfrecord.lz4", NULL, &writer, &err), &err);
    for (int r = 0; r < LARGE; r++) {
        for (int i = 0; i < SIZE; i++) bytes[i] = (char)hr_random((uint64_t)r, (uint64_t)i);
        bytes[0] = (char)r;
        assert_ok(hr_record_write(writer, bytes, SIZE, &err), &err);
    }
    assert_ok(hr_record_writer_commit(writer, &err), &err);
    hr_iterator *it = iterate(hr_shuffled_records("large.tfrecord.lz4"), (way){.workers = 2});
    while ((st = hr_next(it, &e)) == HR_OK) {
        const hr_view v = *(const hr_view *)hr_get(e, "value")->data;
        const int r = v.data[0];
        assert_at_least(r, 0);
        assert_less(r, LARGE);
        assert_false(seen[r]);
        assert_int_equal(v.size, SIZE);
        for (int i = 1; i < SIZE; i += 997) assert_int_equal(v.data[i], (char)hr_random((uint64_t)r, (uint64_t)i));
        seen[r] = true;
    }
    assert_status(st, HR_END);
    for (int r = 0; r < LARGE; r++) assert_true(seen[r]);
    hr_iterator_free(it);
}

/* ---- shards ---- */

static hr_dataset *shard_of(int ranks, int rank, hr_uneven uneven)
{
    return hr_shuffled_records("plain-*.tfrecord", .seed = 11, .num_shards = ranks, .index = rank, .uneven = uneven);
}

static void shards_take_turns_in_one_order(void **state)
{
    (void)state;
    static int whole[3 * ALL], number[3 * ALL];
    assert_int_equal(numbers(hr_shuffled_records("plain-*.tfrecord", .seed = 11), (way){0}, whole), ALL);
    for (int ranks = 1; ranks <= 7; ranks++)
        for (int rank = 0; rank < ranks; rank++) {
            const int dropped = numbers(shard_of(ranks, rank, HR_UNEVEN_DROP), (way){.workers = rank % 3}, number);
            assert_int_equal(dropped, ALL / ranks);
            for (int i = 0; i < dropped; i++) assert_int_equal(number[i], whole[i * ranks + rank]);
            const int padded = numbers(shard_of(ranks, rank, HR_UNEVEN_PAD), (way){0}, number);
            assert_int_equal(padded, (ALL + ranks - 1) / ranks);
            for (int i = 0; i < padded; i++) assert_int_equal(number[i], whole[(i * ranks + rank) % ALL]);
        }
}

/* Two ranks have had a part of the order; other numbers of ranks go on after it. */
static void any_number_of_shards_goes_on_after_what_others_had(void **state)
{
    (void)state;
    enum { HAD = 2 * 75 };
    static int whole[3 * ALL], number[3 * ALL];
    numbers(hr_shuffled_records("plain-*.tfrecord", .seed = 11), (way){0}, whole);
    for (int ranks = 1; ranks <= 4; ranks++)
        for (int rank = 0; rank < ranks; rank++) {
            hr_dataset *ds =
                hr_shuffled_records("plain-*.tfrecord", .seed = 11, .num_shards = ranks, .index = rank, .first = HAD);
            assert_int_equal(numbers(ds, (way){.workers = rank}, number), (ALL - HAD) / ranks);
            for (int i = 0; i < (ALL - HAD) / ranks; i++) assert_int_equal(number[i], whole[HAD + i * ranks + rank]);
        }
    assert_int_equal(numbers(hr_shuffled_records("plain-*.tfrecord", .first = ALL + 5), (way){0}, number), 0);
    assert_fails(hr_shuffled_records("plain-*.tfrecord", .first = -1), HR_INVALID_ARGUMENT, "shuffled_records.first");
}

static void shards_that_do_not_go_round_are_an_error_unless_said(void **state)
{
    (void)state;
    static int number[3 * ALL];
    assert_int_equal(numbers(shard_of(9, 8, HR_UNEVEN_ERROR), (way){0}, number), ALL / 9);
    assert_fails(shard_of(7, 0, HR_UNEVEN_ERROR), HR_FAILED_PRECONDITION, "sharded_records.uneven");
    assert_fails(shard_of(7, 7, HR_UNEVEN_DROP), HR_INVALID_ARGUMENT, "shard.index");
    assert_fails(shard_of(-1, 0, HR_UNEVEN_DROP), HR_INVALID_ARGUMENT, "shard.num_shards");
    assert_fails(shard_of(7, 0, (hr_uneven)9), HR_INVALID_ARGUMENT, "sharded_records.uneven");
}

static void damage_is_named_with_its_place(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(hr_shuffled_records("damaged.tfrecord"), (way){0});
    while (hr_next(it, &e) == HR_OK) assert_non_null(hr_get(e, "value"));
    const hr_error *err = hr_iterator_error(it);
    assert_non_null(err);
    assert_string_equal(err->kind, "tfrecord.data_crc");
    assert_string_equal(err->file, "damaged.tfrecord");
    assert_int_equal(err->record, 0);
    hr_iterator_free(it);
    int64_t sound = 0;
    hr_error none;
    assert_ok(hr_count(hr_ignore_errors(hr_shuffled_records("damaged.tfrecord")), &sound, &none), &none);
    assert_int_equal(sound, 99);
}

static void refuses_what_it_cannot_read_in_any_order(void **state)
{
    (void)state;
    assert_fails(hr_shuffled_records("zipped.tfrecord.gz"), HR_INVALID_ARGUMENT, "shuffled_records.compressed");
    assert_fails(hr_shuffled_records(NULL), HR_INVALID_ARGUMENT, "source.pattern");
    assert_fails(hr_shuffled_records_with("missing.tfrecord", NULL), HR_NOT_FOUND, "file.open");
}

HR_ARGUMENTS(shuffled_records, hr_shuffled_records("plain-*.tfrecord", .seed = 3),
             hr_shuffled_records("plain-*.tfrecord", .seed = 4),
             hr_shuffled_records("plain-*.tfrecord", .seed = 3, .same_each_epoch = true),
             hr_shuffled_records("plain-*.tfrecord", .seed = 3, .first = 5),
             hr_shuffled_records("plain-*.tfrecord", .seed = 3, .num_shards = 2),
             hr_shuffled_records("plain-*.tfrecord", .seed = 3, .num_shards = 2, .index = 1),
             hr_shuffled_records("plain-*.tfrecord", .seed = 3, .uneven = HR_UNEVEN_PAD));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(shuffled_records),
        HR_CONFORMANCE_OF_ARGUMENTS(shuffled_records),
        HR_CONFORMANCE(shuffled_records_in_epochs),
        HR_CONFORMANCE(shuffled_records_of_frames),
        HR_CONFORMANCE(shuffled_records_of_a_shard),
        HR_CONFORMANCE_OF_FAILURE(shuffled_records_damaged),
        cmocka_unit_test(every_record_comes_once_in_another_order_each_epoch),
        cmocka_unit_test(order_may_be_the_same_each_epoch),
        cmocka_unit_test(first_record_is_from_anywhere),
        cmocka_unit_test(permutation_is_one_of_every_size),
        cmocka_unit_test(permutations_are_alike_likely),
        cmocka_unit_test(index_is_kept_where_asked_for),
        cmocka_unit_test(an_epoch_finds_what_has_changed_since_the_one_before),
        cmocka_unit_test(an_index_of_each_64th_record_is_made_anew),
        cmocka_unit_test(frames_are_begun_where_a_record_is),
        cmocka_unit_test(shards_take_turns_in_one_order),
        cmocka_unit_test(any_number_of_shards_goes_on_after_what_others_had),
        cmocka_unit_test(shards_that_do_not_go_round_are_an_error_unless_said),
        cmocka_unit_test(damage_is_named_with_its_place),
        cmocka_unit_test(refuses_what_it_cannot_read_in_any_order),
    };
    return cmocka_run_group_tests(tests, write_all, NULL);
}
