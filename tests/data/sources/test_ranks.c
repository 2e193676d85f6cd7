/* Ranks that go on as another number of ranks, as data/README.md says: over both runs each record comes once. */
#include "tests/data/conformance.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "readme_ranks.h"

enum { FILES = 4, RECORDS = 60, ALL = FILES * RECORDS, BATCH = 5, STEPS = 4, HAD = 3 * STEPS * BATCH };
static const char files[] = "ranks-of/*.tfrecord";

/* Records of their numbers over all files. */
static int write_files(void **state)
{
    (void)state;
    char path[64], text[16];
    hr_error err;
    hr_record_writer *writer;
    mkdir("ranks-of", 0777);
    for (int f = 0; f < FILES; f++) {
        snprintf(path, sizeof path, "ranks-of/%d.tfrecord", f);
        assert_ok(hr_record_writer_open(path, NULL, &writer, &err), &err);
        for (int r = f * RECORDS; r < (f + 1) * RECORDS; r++) {
            const int size = snprintf(text, sizeof text, "%08d ", r);
            assert_ok(hr_record_write(writer, text, (size_t)size, &err), &err);
        }
        assert_ok(hr_record_writer_commit(writer, &err), &err);
    }
    return 0;
}

/* Counts the records of at most `steps` batches. Returns how many batches there were. */
static int count_records(hr_iterator *it, int steps, int *times)
{
    const hr_element *e;
    int step = 0;
    for (; step < steps && hr_next(it, &e) == HR_OK; step++) {
        const hr_tensor *t = hr_get(e, "value");
        assert_int_equal(t->count, BATCH);
        for (int64_t i = 0; i < t->count; i++) times[atoi(((const hr_view *)t->data)[i].data)]++;
    }
    assert_null(hr_iterator_error(it));
    return step;
}

static void assert_each_once(const int *times)
{
    for (int r = 0; r < ALL; r++)
        if (times[r] != 1) fail_msg("record %d came %d times", r, times[r]);
}

static void three_ranks_go_on_as_two(void **state)
{
    (void)state;
    int times[ALL] = {0};
    for (int rank = 0; rank < 3; rank++) {
        hr_iterator *it = iterate(share_of_rank(files, 0, 3, rank, BATCH), (way){.workers = rank});
        assert_int_equal(count_records(it, STEPS, times), STEPS);
        hr_iterator_free(it);
    }
    for (int rank = 0; rank < 2; rank++) {
        hr_iterator *it = iterate(share_of_rank(files, HAD, 2, rank, BATCH), (way){.workers = rank});
        assert_int_equal(count_records(it, ALL, times), (ALL - HAD) / 2 / BATCH);
        hr_iterator_free(it);
    }
    assert_each_once(times);
}

/* And as three, each from its own state. */
static void three_ranks_go_on_as_three(void **state)
{
    (void)state;
    int times[ALL] = {0};
    for (int rank = 0; rank < 3; rank++) {
        void *saved;
        size_t size;
        hr_error err;
        hr_iterator *it = iterate(share_of_rank(files, 0, 3, rank, BATCH), (way){.workers = rank});
        assert_int_equal(count_records(it, STEPS, times), STEPS);
        assert_ok(hr_iterator_save(it, &saved, &size, &err), &err);
        hr_iterator_free(it);
        it = iterate(share_of_rank(files, 0, 3, rank, BATCH), (way){.state = saved, .state_size = size});
        count_records(it, ALL, times);
        hr_iterator_free(it);
        hr_free(saved);
    }
    assert_each_once(times);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_ranks_go_on_as_two),
        cmocka_unit_test(three_ranks_go_on_as_three),
    };
    return cmocka_run_group_tests(tests, write_files, NULL);
}
