/* Chains of several operators, on files and without: what each keeps alone, all keep together. */
#include "tests/data/conformance.h"
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <uv.h>

enum { FILES = 5, RECORDS = 60 };

/* ---- files ---- */

static void put_number(FILE *f, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) fputc((int)(value >> 8 * i & 255), f);
}

static void put_record(FILE *f, const char *data, size_t size)
{
    unsigned char length[8];
    for (int i = 0; i < 8; i++) length[i] = (unsigned char)(size >> 8 * i);
    fwrite(length, 1, 8, f);
    put_number(f, hr_crc32c_mask(hr_crc32c(0, length, 8)), 4);
    fwrite(data, 1, size, f);
    put_number(f, hr_crc32c_mask(hr_crc32c(0, data, size)), 4);
}

static const char *path_of(int file)
{
    static char path[FILES][32];
    snprintf(path[file], sizeof path[file], "%d.tfrecord", file);
    return path[file];
}

/* One record of file 1 is larger than any piece that is read at once. */
static int write_files(void **state)
{
    (void)state;
    static char text[600000];
    memset(text, 'x', sizeof text);
    for (int n = 0; n < FILES; n++) {
        FILE *f = fopen(path_of(n), "wb");
        if (!f) return 1;
        for (int r = 0; r < RECORDS; r++) {
            int used = snprintf(text, 64, "file %d record %d", n, r);
            text[used] = ' ';
            put_record(f, text, n == 1 && r == 30 ? sizeof text : (size_t)used + (size_t)(r * 37 % 300));
        }
        if (fclose(f) != 0) return 1;
    }
    return 0;
}

static int64_t value_of(const hr_element *e) { return *(const int64_t *)hr_get(e, "value")->data; }

static hr_dataset *file_of(const hr_element *e, void *user)
{
    (void)user;
    return hr_tfrecord(path_of((int)value_of(e)));
}

static hr_dataset *files(int64_t cycle, int64_t block)
{
    return hr_interleave(hr_range(FILES), file_of, NULL, .cycle_length = cycle, .block_length = block);
}

/* ---- functions ---- */

static const hr_field int64_field = {.name = "value", .dtype = HR_INT64};
static const hr_schema int64_schema = {.levels = 0, .fields = 1, .field = &int64_field};

/* Of one string, or of all in a batch. */
static hr_status hash_of(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)user, (void)call;
    const hr_tensor *text = hr_get(in, "value");
    const hr_view *view = text->data;
    int64_t *value = hr_set(out, "value");
    for (int64_t i = 0; i < text->count; i++) value[i] = (int64_t)hr_fingerprint64(view[i].data, (size_t)view[i].size);
    return HR_OK;
}

static hr_status refuse_one(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    const hr_view *view = hr_get(in, "value")->data;
    const char *bad = "file 3 record 40 ";
    if (view->size >= 17 && memcmp(view->data, bad, strlen(bad)) == 0)
        return hr_call_fail(call, HR_INVALID_ARGUMENT, "refused \"%s\"", bad);
    return hash_of(in, out, call, user);
}

static bool not_of_three(const hr_element *e, void *user)
{
    (void)user;
    return value_of(e) % 3 != 0;
}

static hr_dataset *hashed(hr_dataset *in) { return hr_map(in, hash_of, NULL, .output = &int64_schema); }

/* ---- chains ---- */

HR_SAMPLE(files_interleave_shuffle_repeat_batch_map)
{
    return hashed(hr_batch(hr_repeat(hr_shuffle(files(3, 2), 64, .seed = 1), .count = HR_I64(2)), 7));
}
HR_SAMPLE(files_interleave_shuffle_map_filter_batch)
{
    return hr_batch(hr_filter(hashed(hr_shuffle(files(4, 1), 64)), not_of_three, NULL), 7);
}
HR_SAMPLE(files_shuffle_and_repeat_batch_prefetch)
{
    return hr_take(hr_prefetch(hashed(hr_batch(hr_shuffle_and_repeat(files(2, 5), 100), 16)), 2), 70);
}
HR_SAMPLE(files_one_after_another) { return hr_skip(hashed(hr_tfrecord("*.tfrecord")), 17); }
HR_SAMPLE(filter_then_batch) { return hr_take(hr_batch(hr_filter(hr_range(900), not_of_three, NULL), 8), 70); }
HR_SAMPLE(map_filter_shuffle_batch_map)
{
    hr_dataset *ds = hr_filter(hr_map(hr_range(300), draw_digits, NULL), not_of_three, NULL);
    return hr_map(hr_batch(hr_shuffle(ds, 40), 4), draw_digits, NULL);
}
HR_SAMPLE(batches_shuffled_and_batched)
{
    return hr_repeat(hr_batch(hr_shuffle(hr_batch(hr_range(200), 5), 10), 3), .count = HR_I64(2));
}
HR_SAMPLE(take_skip_take_skip)
{
    return hr_skip(hr_take(hr_skip(hr_take(hr_repeat(hr_shuffle(hr_range(50), 20)), 400), 30), 300), 11);
}
HR_SAMPLE(a_map_fails_after_a_shuffle)
{
    hr_dataset *ds = hr_map(hr_shuffle(files(2, 1), 50), refuse_one, NULL, .output = &int64_schema);
    return hr_batch(ds, 4);
}

static hr_status refuse_90(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)user;
    *(int64_t *)hr_set(out, "value") = value_of(in);
    return value_of(in) == 90 ? hr_call_fail(call, HR_INVALID_ARGUMENT, "refused 90") : HR_OK;
}

static hr_dataset *failing(void) { return hr_map(hr_range(150), refuse_90, NULL); }
static int64_t of_five(const hr_element *e, void *user) { return (void)user, value_of(e) % 5; }

HR_SAMPLE(a_shuffle_gives_what_it_holds_before_a_failure) { return hr_shuffle(failing(), 13); }
HR_SAMPLE(a_shuffle_of_batches_before_a_failure) { return hr_shuffle(hr_batch(hr_batch(failing(), 4), 2), 10); }
HR_SAMPLE(groups_before_a_failure) { return hr_group_by_window(failing(), of_five, NULL, 7); }
HR_SAMPLE(epochs_before_a_failure)
{
    return hr_batch(hr_repeat(hr_shuffle(hr_repeat(hr_shuffle(failing(), 50)), 20)), 8);
}
HR_SAMPLE(datasets_side_by_side_before_a_failure) { return hr_shuffle(hr_concatenate(hr_range(20), failing()), 30); }

static void nothing_held_is_lost_to_a_failure(void **state)
{
    (void)state;
    static run got;
    run_all(&got, hr_shuffle(failing(), 13), (way){0});
    assert_int_equal(got.count, 90);
    run_all(&got, hr_shuffle(failing(), -2), (way){.workers = 2, .unit_rows = 4});
    assert_int_equal(got.count, 90);
    assert_status(got.end, HR_INVALID_ARGUMENT);
}

static void map_then_batch_is_batch_then_map(void **state)
{
    (void)state;
    static run one, other;
    run_all(&one, hr_batch(hashed(hr_shuffle(files(3, 2), 64)), 4), (way){.workers = 2});
    run_all(&other, hashed(hr_batch(hr_shuffle(files(3, 2), 64), 4)), (way){.workers = 2});
    assert_int_equal(one.count, FILES * RECORDS / 4);
    assert_same_run(&one, &other);
}

/* ---- cancel ---- */

static atomic_int calls;

static hr_status count_calls(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    atomic_fetch_add(&calls, 1);
    *(int64_t *)hr_set(out, "value") = value_of(in);
    return HR_OK;
}

static void nothing_is_planned_after_a_cancel(void **state)
{
    (void)state;
    const hr_element *e;
    for (int workers = 0; workers <= 2; workers++) {
        hr_dataset *ds = hr_batch(hr_map(hr_repeat(hr_range(1000)), count_calls, NULL), 10);
        hr_iterator *it = iterate(ds, (way){.workers = workers, .window = 4, .unit_rows = 10});
        for (int i = 0; i < 5; i++) assert_status(hr_next(it, &e), HR_OK);
        hr_cancel(it);
        const int before = atomic_load(&calls);
        assert_status(hr_next(it, &e), HR_CANCELLED);
        hr_iterator_free(it); /* waits for units that were running: one a worker */
        assert_in_range(atomic_load(&calls) - before, 0, 10 * workers);
    }
}

static void cancel_soon(void *it)
{
    uv_sleep(3);
    hr_cancel(it);
}

static void another_thread_can_cancel(void **state)
{
    (void)state;
    for (int n = 0; n < 4; n++) {
        const hr_element *e;
        hr_status st;
        uv_thread_t other;
        hr_dataset *ds = hr_batch(hr_repeat(hr_shuffle(files(3, 1), 30)), 8);
        hr_iterator *it = iterate(ds, (way){.workers = n, .window = 4});
        assert_int_equal(uv_thread_create(&other, cancel_soon, it), 0);
        while ((st = hr_next(it, &e)) == HR_OK) continue;
        assert_int_equal(uv_thread_join(&other), 0);
        assert_status(st, HR_CANCELLED);
        hr_iterator_free(it);
    }
}

static bool never(const hr_element *e, void *user)
{
    (void)e, (void)user;
    return false;
}

static void an_endless_search_can_be_cancelled(void **state)
{
    (void)state;
    for (int n = 0; n < 3; n++) {
        const hr_element *e;
        uv_thread_t other;
        hr_dataset *ds = hr_batch(hr_filter(hr_range(INT64_MAX), never, NULL), 8);
        hr_iterator *it = iterate(ds, (way){.workers = n, .window = 4});
        assert_int_equal(uv_thread_create(&other, cancel_soon, it), 0);
        assert_status(hr_next(it, &e), HR_CANCELLED);
        assert_int_equal(uv_thread_join(&other), 0);
        hr_iterator_free(it);
    }
}

/* ---- sharing ---- */

static void two_iterators_of_one_dataset_do_not_disturb_each_other(void **state)
{
    (void)state;
    static run alone, first, second;
    hr_dataset *ds = hr_batch(hr_shuffle(files(3, 2), 64), 4);
    run_all(&alone, hr_dataset_ref(ds), (way){0});
    hr_iterator *a = iterate(hr_dataset_ref(ds), (way){.workers = 2}), *b = iterate(ds, (way){.workers = 2});
    memset(&first, 0, sizeof first);
    memset(&second, 0, sizeof second);
    while (first.end == HR_OK || second.end == HR_OK) {
        if (first.end == HR_OK) run_on(&first, a, 2);
        if (second.end == HR_OK) run_on(&second, b, 3);
    }
    hr_iterator_free(a);
    hr_iterator_free(b);
    assert_same_run(&alone, &first);
    assert_same_run(&alone, &second);
}

static void an_iterator_of_a_branch_outlives_the_other(void **state)
{
    (void)state;
    hr_dataset *ds = hr_range(6);
    assert_int64_values(hr_take(hr_dataset_ref(ds), 2), HR_I64(0, 1), 2);
    assert_int64_values(hr_skip(ds, 4), HR_I64(4, 5), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(files_interleave_shuffle_repeat_batch_map),
        HR_CONFORMANCE(files_interleave_shuffle_map_filter_batch),
        HR_CONFORMANCE(files_shuffle_and_repeat_batch_prefetch),
        HR_CONFORMANCE(files_one_after_another),
        HR_CONFORMANCE(filter_then_batch),
        HR_CONFORMANCE(map_filter_shuffle_batch_map),
        HR_CONFORMANCE(batches_shuffled_and_batched),
        HR_CONFORMANCE(take_skip_take_skip),
        HR_CONFORMANCE_OF_FAILURE(a_map_fails_after_a_shuffle),
        HR_CONFORMANCE_OF_FAILURE(a_shuffle_gives_what_it_holds_before_a_failure),
        HR_CONFORMANCE_OF_FAILURE(a_shuffle_of_batches_before_a_failure),
        HR_CONFORMANCE_OF_FAILURE(groups_before_a_failure),
        HR_CONFORMANCE_OF_FAILURE(epochs_before_a_failure),
        HR_CONFORMANCE_OF_FAILURE(datasets_side_by_side_before_a_failure),
        cmocka_unit_test(nothing_held_is_lost_to_a_failure),
        cmocka_unit_test(map_then_batch_is_batch_then_map),
        cmocka_unit_test(nothing_is_planned_after_a_cancel),
        cmocka_unit_test(another_thread_can_cancel),
        cmocka_unit_test(an_endless_search_can_be_cancelled),
        cmocka_unit_test(two_iterators_of_one_dataset_do_not_disturb_each_other),
        cmocka_unit_test(an_iterator_of_a_branch_outlives_the_other),
    };
    return cmocka_run_group_tests(tests, write_files, NULL);
}
