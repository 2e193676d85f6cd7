/* sharded_records: for any number of ranks equally long shares, which together are all records once; what is said of
 * them. */
#include "tests/data/conformance.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALL = 29, MAX = 64 };

static void write_records(const char *path, int first, int count)
{
    char text[16];
    hr_error err;
    hr_record_writer *writer;
    const hr_output_opts opts = {.struct_size = sizeof opts, .no_sync = true};
    assert_ok(hr_record_writer_open(path, &opts, &writer, &err), &err);
    for (int r = first; r < first + count; r++)
        assert_ok(hr_record_write(writer, text, (size_t)sprintf(text, "%d ", r), &err), &err);
    assert_ok(hr_record_writer_commit(writer, &err), &err);
}

static int write_all(void **state)
{
    (void)state;
    write_records("uneven-0.tfrecord", 0, 10);
    write_records("uneven-1.tfrecord", 10, 0);
    write_records("uneven-2.tfrecord", 10, 17);
    write_records("uneven-3.tfrecord", 27, 2);
    for (int f = 0; f < 4; f++) {
        char path[32];
        snprintf(path, sizeof path, "even-%d.tfrecord", f);
        write_records(path, 6 * f, 6);
    }
    write_records("none.tfrecord", 0, 0);
    return 0;
}

/* The numbers of the records. Takes `ds`. */
static int numbers(hr_dataset *ds, int *number)
{
    const hr_element *e;
    hr_iterator *it = iterate(ds, (way){.workers = 1});
    int count = 0;
    hr_status st;
    while ((st = hr_next(it, &e)) == HR_OK) {
        assert_less(count, MAX);
        number[count++] = atoi(((const hr_view *)hr_get(e, "value")->data)->data);
    }
    if (st != HR_END) fail_msg("%s", hr_iterator_error(it)->text);
    hr_iterator_free(it);
    return count;
}

/* How often each record is read by all ranks together; gives how many one rank reads. */
static int read_by_all(int ranks, hr_uneven uneven, int *times)
{
    int number[MAX], first = -1;
    memset(times, 0, ALL * sizeof *times);
    for (int rank = 0; rank < ranks; rank++) {
        const int count = numbers(hr_sharded_records("uneven-*.tfrecord", ranks, rank, .uneven = uneven), number);
        if (first >= 0) assert_int_equal(count, first);
        first = count;
        for (int i = 0; i < count; i++) times[number[i]]++;
    }
    return first;
}

static void every_rank_reads_as_many_and_the_last_are_dropped(void **state)
{
    (void)state;
    int times[ALL];
    for (int ranks = 1; ranks <= 4; ranks++) {
        assert_int_equal(read_by_all(ranks, HR_UNEVEN_DROP, times), ALL / ranks);
        for (int i = 0; i < ALL; i++) assert_int_equal(times[i], i < ALL / ranks * ranks);
    }
}

static void every_rank_reads_as_many_and_the_first_are_read_again(void **state)
{
    (void)state;
    int times[ALL];
    for (int ranks = 1; ranks <= 4; ranks++) {
        const int each = (ALL + ranks - 1) / ranks;
        assert_int_equal(read_by_all(ranks, HR_UNEVEN_PAD, times), each);
        for (int i = 0; i < ALL; i++) assert_int_equal(times[i], 1 + (i < each * ranks - ALL));
    }
    assert_int_equal(read_by_all(50, HR_UNEVEN_PAD, times), 1); /* more ranks than records */
    for (int i = 0; i < ALL; i++) assert_int_equal(times[i], 1 + (i < 50 - ALL));
    assert_int_equal(read_by_all(50, HR_UNEVEN_DROP, times), 0);
}

static int64_t batches_of(int ranks, int rank, hr_uneven uneven, int64_t *rows)
{
    const hr_element *e;
    int64_t batches = 0;
    hr_iterator *it = iterate(hr_batch(hr_sharded_records("uneven-*.tfrecord", ranks, rank, .uneven = uneven), 4),
                              (way){.workers = 2});
    for (*rows = 0; hr_next(it, &e) == HR_OK; batches++) *rows += hr_get(e, "value")->count;
    assert_null(hr_iterator_error(it));
    hr_iterator_free(it);
    return batches;
}

static void every_rank_makes_as_many_batches_of_the_same_sizes(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 5; ranks++)
        for (hr_uneven uneven = HR_UNEVEN_DROP; uneven <= HR_UNEVEN_PAD; uneven++) {
            int64_t first_rows, rows;
            const int64_t first = batches_of(ranks, 0, uneven, &first_rows);
            for (int rank = 1; rank < ranks; rank++) {
                assert_int_equal(batches_of(ranks, rank, uneven, &rows), first);
                assert_int_equal(rows, first_rows);
            }
        }
}

/* The second of three shards goes on where it stood, also where its run begins again in front. */
static void a_share_goes_on_from_its_state(void **state)
{
    (void)state;
    int want[MAX], got[MAX];
    for (int rank = 0; rank < 3; rank++) {
        const hr_element *e;
        hr_error err;
        void *saved;
        size_t size;
        const int count = numbers(hr_sharded_records("uneven-*.tfrecord", 3, rank, .uneven = HR_UNEVEN_PAD), want);
        hr_iterator *it = iterate(hr_sharded_records("uneven-*.tfrecord", 3, rank, .uneven = HR_UNEVEN_PAD), (way){0});
        for (int i = 0; i < 7; i++) assert_status(hr_next(it, &e), HR_OK);
        assert_ok(hr_iterator_save(it, &saved, &size, &err), &err);
        hr_iterator_free(it);
        it = iterate(hr_sharded_records("uneven-*.tfrecord", 3, rank, .uneven = HR_UNEVEN_PAD),
                     (way){.workers = 2, .state = saved, .state_size = size});
        for (int i = 7; i < count; i++) {
            assert_status(hr_next(it, &e), HR_OK);
            got[i] = atoi(((const hr_view *)hr_get(e, "value")->data)->data);
        }
        assert_status(hr_next(it, &e), HR_END);
        assert_memory_equal(want + 7, got + 7, (size_t)(count - 7) * sizeof *want);
        hr_iterator_free(it);
        hr_free(saved);
    }
}

static void files_that_go_round_are_read_whole(void **state)
{
    (void)state;
    int number[MAX];
    for (int rank = 0; rank < 2; rank++) {
        assert_int_equal(numbers(hr_sharded_records("even-*.tfrecord", 2, rank), number), 12);
        for (int i = 0; i < 12; i++) assert_int_equal(number[i], 12 * rank + i);
    }
}

static void what_does_not_go_round_is_an_error_unless_said(void **state)
{
    (void)state;
    int number[MAX];
    assert_fails(hr_sharded_records("uneven-*.tfrecord", 2, 0), HR_FAILED_PRECONDITION, "sharded_records.uneven");
    assert_int_equal(numbers(hr_sharded_records("uneven-*.tfrecord", 1, 0), number), ALL);
    assert_int_equal(numbers(hr_sharded_records("none.tfrecord", 3, 1, .uneven = HR_UNEVEN_PAD), number), 0);
    assert_fails(hr_sharded_records("even-*.tfrecord", 0, 0), HR_INVALID_ARGUMENT, "shard.num_shards");
    assert_fails(hr_sharded_records("even-*.tfrecord", 2, 2), HR_INVALID_ARGUMENT, "shard.index");
    assert_fails(hr_sharded_records("even-*.tfrecord", 2, 1, .uneven = (hr_uneven)7), HR_INVALID_ARGUMENT,
                 "sharded_records.uneven");
    assert_fails(hr_sharded_records_with(NULL, 2, 1, NULL), HR_INVALID_ARGUMENT, "source.pattern");
    assert_fails(hr_sharded_records("missing.tfrecord", 2, 1), HR_NOT_FOUND, "file.open");
}

static void keep_text(hr_level level, const char *text, void *user)
{
    if (level == HR_INFO && strstr(text, "sharded_records")) snprintf(user, 400, "%s", text);
}

static void a_rank_says_what_it_will_read(void **state)
{
    (void)state;
    char text[400] = "";
    hr_set_log(keep_text, text);
    hr_dataset_unref(hr_sharded_records("uneven-*.tfrecord", 2, 1, .uneven = HR_UNEVEN_PAD));
    hr_set_log(NULL, NULL);
    assert_string_equal(text,
                        "sharded_records: shard 1 of 2 reads 15 of 29 records: from ./uneven-2.tfrecord, record 5, to "
                        "./uneven-0.tfrecord, record 0, and the first records again after the last one");
}

static void index_is_kept_where_asked_for(void **state)
{
    (void)state;
    hr_record_index *index;
    hr_error err;
    hr_dataset_unref(hr_sharded_records("even-3.tfrecord", 2, 1, .keep_index = true));
    assert_ok(hr_record_index_read("even-3.tfrecord", &index, &err), &err);
    assert_int_equal(hr_record_index_count(index), 6);
    hr_record_index_free(index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rank_reads_as_many_and_the_last_are_dropped),
        cmocka_unit_test(every_rank_reads_as_many_and_the_first_are_read_again),
        cmocka_unit_test(every_rank_makes_as_many_batches_of_the_same_sizes),
        cmocka_unit_test(a_share_goes_on_from_its_state),
        cmocka_unit_test(files_that_go_round_are_read_whole),
        cmocka_unit_test(what_does_not_go_round_is_an_error_unless_said),
        cmocka_unit_test(a_rank_says_what_it_will_read),
        cmocka_unit_test(index_is_kept_where_asked_for),
    };
    return cmocka_run_group_tests(tests, write_all, NULL);
}
