/* cache: what it gives in each epoch, what it saves reading, its limit, and the conformance of pipelines with it. */
#include "io/sys.h"
#include "tests/data/ops/wide_rows.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hr_status as_text(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    char text[64];
    const int64_t n = *(const int64_t *)hr_get(in, "value")->data;
    const int size = snprintf(text, sizeof text, "%.*s%lld", (int)(n % 20), "abcdefghijklmnopqrstuvwxyz", (long long)n);
    return hr_set_string(out, "value", text, n % 7 == 0 ? 0 : size);
}

static hr_status add_random(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)user;
    *(int64_t *)hr_set(out, "value") =
        *(const int64_t *)hr_get(in, "value")->data + (int64_t)(hr_call_random(call, 0) % 1000);
    return HR_OK;
}

HR_SAMPLE(cache)
{
    return hr_batch(hr_repeat(hr_shuffle(hr_cache(hr_shuffle(hr_range(70), 20)), 9), .count = HR_I64(4)), 5);
}
HR_SAMPLE(cache_of_strings)
{
    hr_dataset *ds = hr_map(hr_range(90), as_text, NULL, .output = &hr_string_schema);
    return hr_repeat(hr_shuffle(hr_cache(ds), 11), .count = HR_I64(3));
}
HR_SAMPLE(cache_of_batches)
{
    return hr_repeat(hr_cache(hr_batch(hr_batch(hr_shuffle(hr_range(50), 7), 3), 2)), .count = HR_I64(3));
}
HR_SAMPLE(cache_that_is_not_read_to_its_end)
{
    hr_dataset *ds = hr_take(hr_cache(hr_map(hr_shuffle(hr_range(60), 20), add_random, NULL)), 23);
    return hr_repeat(ds, .count = HR_I64(4));
}
HR_SAMPLE(random_map_above_cache)
{
    return hr_repeat(hr_map(hr_cache(hr_shuffle(hr_range(40), 5)), add_random, NULL), .count = HR_I64(3));
}

static hr_dataset *some_rows(const hr_element *element, void *user)
{
    (void)user;
    const int64_t n = *(const int64_t *)hr_get(element, "value")->data;
    return hr_cache(hr_shuffle(hr_range(5 * (n % 4) + 1), 4));
}

HR_SAMPLE(caches_that_are_opened)
{
    return hr_repeat(hr_interleave(hr_range(8), some_rows, NULL, .cycle_length = 3), .count = HR_I64(2));
}
HR_SAMPLE(two_of_one_cache)
{
    hr_dataset *ds = hr_cache(hr_shuffle(hr_range(30), 10));
    return hr_repeat(hr_zip((hr_dataset *const[]){hr_dataset_ref(ds), ds}, 2), .count = HR_I64(3));
}

/* ---- a cache is a dataset: what is opened under one number is another one in each epoch ---- */

static hr_dataset *rows_of_element(const hr_element *element, void *user)
{
    (void)user;
    const int64_t n = *(const int64_t *)hr_get(element, "value")->data;
    return hr_cache(hr_take(hr_skip(hr_range(100), 10 * n), n + 1));
}

static hr_dataset *the_same_rows(const hr_element *element, void *user)
{
    (void)element;
    return hr_dataset_ref(user);
}

static hr_dataset *rows_of_thousand(const hr_element *element, void *user)
{
    (void)element, (void)user;
    return hr_cache(hr_range(1000));
}

static void let_go(void *user) { hr_dataset_unref(user); }

static hr_dataset *caches_of_elements(void)
{
    hr_dataset *ds = hr_take(hr_shuffle(hr_range(10), 10), 3);
    return hr_repeat(hr_flat_map(ds, rows_of_element, NULL), .count = HR_I64(3));
}

HR_SAMPLE(caches_of_elements) { return caches_of_elements(); }
HR_SAMPLE(one_cache_that_is_opened_again)
{
    hr_dataset *ds = hr_cache(hr_map(hr_shuffle(hr_range(30), 10), add_random, NULL));
    ds = hr_interleave(hr_range(5), the_same_rows, ds, .cycle_length = 2, .block_length = 3, .user_free = let_go);
    return hr_repeat(ds, .count = HR_I64(2));
}
HR_SAMPLE(branches_at_other_places)
{
    hr_dataset *ds = hr_cache(wide_text_rows(hr_shuffle(hr_range(60), 9)));
    hr_dataset *ahead = hr_skip(hr_dataset_ref(ds), 40), *first = hr_take(hr_dataset_ref(ahead), 7);
    hr_dataset *second = hr_take(hr_dataset_ref(ds), 20), *rest = hr_concatenate(ahead, ds);
    return hr_repeat(hr_concatenate(first, hr_concatenate(second, rest)), .count = HR_I64(2));
}
HR_SAMPLE(one_branch_far_ahead)
{
    hr_dataset *ds = hr_cache(hr_map(hr_shuffle(hr_range(90), 20), add_random, NULL));
    hr_dataset *ahead = hr_skip(hr_dataset_ref(ds), 60);
    return hr_repeat(hr_zip((hr_dataset *const[]){ahead, ds}, 2), .count = HR_I64(2));
}
HR_SAMPLE(branches_of_one_cache_in_a_file)
{
    remove("branches.rows");
    hr_dataset *ds = hr_cache(hr_shuffle(hr_range(80), 9), .file = "branches.rows");
    hr_dataset *ahead = hr_skip(hr_dataset_ref(ds), 30);
    return hr_repeat(hr_zip((hr_dataset *const[]){ahead, ds}, 2), .count = HR_I64(2));
}

/* ---- of many columns, which are stored in row layout ---- */

HR_SAMPLE(cache_of_records)
{
    hr_dataset *ds = hr_cache(wide_rows(hr_range(90)));
    return hr_repeat(hr_batch(hr_shuffle(ds, 25), 4), .count = HR_I64(3));
}
HR_SAMPLE(map_of_records) { return hr_repeat(hr_map(hr_cache(hr_range(60)), add_random, NULL), .count = HR_I64(3)); }
HR_SAMPLE(records_among_other_rows)
{
    hr_dataset *ds = hr_repeat(hr_cache(wide_text_rows(hr_range(30))), .count = HR_I64(2));
    ds = hr_concatenate(ds, hr_cache(wide_text_rows(hr_range(40))));
    return hr_shuffle(hr_concatenate(ds, wide_text_rows(hr_range(20))), 16);
}
HR_SAMPLE(records_beside_columns)
{
    hr_dataset *few = hr_repeat(hr_cache(hr_range(50)), .count = HR_I64(2));
    return hr_batch(hr_shuffle(hr_concatenate(few, hr_range(70)), 30), 6);
}

/* ---- in files: each build of the sample finds none, and later ones that of the first ---- */

static hr_dataset *wide(hr_dataset *ds) { return hr_batch(hr_map(ds, as_text, NULL, .output = &hr_string_schema), 3); }

HR_SAMPLE(cache_in_a_file)
{
    remove("cache.rows");
    return hr_repeat(hr_cache(wide(hr_shuffle(hr_range(80), 9)), .file = "cache.rows"), .count = HR_I64(3));
}
HR_SAMPLE(cache_in_a_file_that_is_there)
{
    return hr_shuffle(hr_cache(wide(hr_shuffle(hr_range(80), 9)), .file = "there.rows"), 7);
}

/* ---- what it gives ---- */

static int calls;

static hr_status counted(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    *(int64_t *)hr_set(out, "value") = 2 * *(const int64_t *)hr_get(in, "value")->data;
    return HR_OK;
}

static void cache_works_on_each_element_once(void **state)
{
    (void)state;
    for (int workers = 0; workers <= 2; workers += 2) {
        static run got;
        calls = 0;
        hr_dataset *ds = hr_repeat(hr_cache(hr_map(hr_range(1000), counted, NULL)), .count = HR_I64(5));
        run_all(&got, ds, (way){.workers = workers});
        assert_status(got.end, HR_END);
        assert_int_equal(got.count, 5000);
        assert_int_equal(calls, 1000);
    }
}

/* Whatever opens it: openings one after the other or side by side, branches, epochs. */
static void a_cache_is_filled_once(void **state)
{
    (void)state;
    for (int kind = 0; kind < 4; kind++)
        for (int workers = 0; workers <= 8; workers = 4 * workers + 1) {
            static run got;
            hr_dataset *ds = hr_cache(hr_map(hr_range(1000), counted, NULL)), *all = NULL;
            if (kind == 0) all = hr_zip((hr_dataset *const[]){hr_dataset_ref(ds), hr_dataset_ref(ds)}, 2);
            if (kind == 1) all = hr_concatenate(hr_dataset_ref(ds), hr_dataset_ref(ds));
            if (kind == 2) all = hr_flat_map(hr_range(6), the_same_rows, ds);
            if (kind == 3) all = hr_interleave(hr_range(6), the_same_rows, ds, .cycle_length = 3);
            calls = 0;
            run_all(&got, hr_repeat(hr_batch(all, 10), .count = HR_I64(2)), (way){.workers = workers, .unit_rows = 7});
            assert_status(got.end, HR_END);
            assert_int_equal(calls, 1000);
            hr_dataset_unref(ds);
        }
}

/* One that is opened ahead of its turn does not begin to fill: it would stop before the other has what it needs. */
static void a_cache_is_filled_once_on_any_schedule(void **state)
{
    (void)state;
    for (int n = 1; n <= 8; n++) {
        static run got;
        char stall[16];
        hr_dataset *ds = hr_cache(hr_map(hr_range(100), counted, NULL));
        snprintf(stall, sizeof stall, "%d", n);
        setenv("HEADRACE_STALL", stall, 1);
        calls = 0;
        run_all(&got, hr_flat_map(hr_range(6), the_same_rows, ds), (way){.workers = 5, .window = 3, .unit_rows = 4});
        unsetenv("HEADRACE_STALL");
        assert_status(got.end, HR_END);
        assert_int_equal(got.count, 600);
        assert_int_equal(calls, 100);
        hr_dataset_unref(ds);
    }
}

/* A state may lie at any element, and whoever goes on knows no cache of before. */
static void caches_that_a_function_makes_are_restored_anywhere(void **state)
{
    (void)state;
    static const int workers[] = {0, 1, 2, 8};
    for (int w = 0; w < 4; w++) {
        static run want, got;
        const way how = {.workers = workers[w], .unit_rows = 1 + w % 2};
        run_all(&want, caches_of_elements(), how);
        assert_at_least(want.count, 9);
        for (int at = 0; at <= want.count; at++) {
            hr_error err = {0};
            void *saved;
            size_t size;
            hr_iterator *it = iterate(caches_of_elements(), how);
            got.count = 0;
            run_on(&got, it, at);
            assert_ok(hr_iterator_save(it, &saved, &size, &err), &err);
            hr_iterator_free(it);
            it = iterate(caches_of_elements(), (way){.workers = workers[w], .state = saved, .state_size = size});
            run_on(&got, it, MOST_ELEMENTS);
            hr_iterator_free(it);
            hr_free(saved);
            assert_same_run(&want, &got);
        }
    }
}

static void caches_of_a_function_have_rows_of_their_own(void **state)
{
    (void)state;
    int64_t value[100], element[9] = {0}, at = 0;
    const int64_t count = int64_values(caches_of_elements(), (way){0}, value, 100);
    for (int i = 0; i < 9; i++) {
        assert_less(at, count);
        element[i] = value[at] / 10;
        for (int64_t n = 0; n <= element[i]; n++) assert_int_equal(value[at++], 10 * element[i] + n);
    }
    assert_int_equal(at, count);
    assert_memory_not_equal(element, element + 3, 3 * sizeof *element);
}

/* Else whoever draws pairs of two would have each element beside itself. */
static void caches_that_are_alike_draw_differently(void **state)
{
    (void)state;
    int64_t value[80];
    hr_dataset *a = hr_cache(hr_shuffle(hr_range(40), 40)), *b = hr_cache(hr_shuffle(hr_range(40), 40));
    assert_int_equal(int64_values(hr_concatenate(a, b), (way){0}, value, 80), 80);
    assert_memory_not_equal(value, value + 40, 40 * sizeof *value);
}

/* What a function's datasets kept goes with them: memory does not grow with the number of openings. */
static void caches_that_nobody_can_open_again_are_freed(void **state)
{
    (void)state;
    int64_t max[2];
    for (int i = 0; i < 2; i++) {
        hr_iterator *it = iterate(hr_flat_map(hr_range(i ? 1000 : 100), rows_of_thousand, NULL), (way){0});
        const hr_element *e;
        watch_memory();
        while (hr_next(it, &e) == HR_OK) {}
        max[i] = most_memory();
        assert_null(hr_iterator_error(it));
        hr_iterator_free(it);
    }
    /* Nine hundred caches take 18 MiB. What runs ahead differs by some hundred KiB on a loaded machine. */
    assert_less(max[1], max[0] + (1 << 20));
}

static void two_pipelines_do_not_share_a_file(void **state)
{
    (void)state;
    remove("shared.rows");
    hr_dataset *a = hr_cache(hr_range(500), .file = "shared.rows"), *b = hr_cache(hr_range(600), .file = "shared.rows");
    assert_fails(hr_concatenate(a, b), HR_FAILED_PRECONDITION, "cache.other_pipeline");
}

/* One filler of a file, however many branches want it. */
static void branches_of_a_file_give_the_same_rows(void **state)
{
    (void)state;
    for (int workers = 0; workers <= 2; workers++) {
        static run want, got;
        remove("branch.rows");
        hr_dataset *kept = hr_cache(hr_map(hr_shuffle(hr_range(500), 100), add_random, NULL), .file = "branch.rows");
        for (int again = 0; again < 2; again++) {
            hr_dataset *both = hr_zip((hr_dataset *const[]){hr_dataset_ref(kept), hr_dataset_ref(kept)}, 2);
            run_all(&got, both, (way){.workers = workers, .unit_rows = 20});
            if (workers == 0 && !again) want = got;
            assert_same_run(&want, &got);
        }
        hr_dataset_unref(kept);
    }
}

/* ---- another run puts a file of its own in the place of this one's ---- */

static int open_and_replace(const char *path, int flags, mode_t mode)
{
    const int fd = open(path, flags, mode);
    if (fd >= 0 && strcmp(path, "mine.rows") == 0) (void)!rename("other.rows", path);
    return fd;
}

static int rename_and_replace(const char *from, const char *to)
{
    const int done = rename(from, to);
    return done == 0 && strcmp(to, "mine.rows") == 0 ? rename("other.rows", to) : done;
}

static hr_dataset *rows_in(const char *file) { return hr_cache(wide(hr_shuffle(hr_range(900), 90)), .file = file); }

static void a_file_may_be_replaced_while_it_is_read(void **state)
{
    (void)state;
    static run want, got;
    for (int kind = 0; kind < 3; kind++) { /* 0: the file is there; 1: it is made; 2: it is loaded */
        hr__sys sys = *hr__sys_get();
        sys.open = kind == 1 ? sys.open : open_and_replace;
        sys.rename = kind == 1 ? rename_and_replace : sys.rename;
        remove("mine.rows"), remove("other.rows");
        run_all(&got, rows_in("other.rows"), (way){.seed = 8, .unit_rows = 5});
        run_all(&want, hr_repeat(rows_in("mine.rows"), .count = HR_I64(2)), (way){.unit_rows = 30});
        if (kind == 1) remove("mine.rows");
        hr_dataset *ds = kind == 2 ? hr_load("mine.rows") : rows_in("mine.rows");
        hr__sys_set(&sys);
        run_all(&got, hr_repeat(ds, .count = HR_I64(2)), (way){.unit_rows = 30, .workers = kind});
        hr__sys_set(NULL);
        assert_same_run(&want, &got);
        assert_null(fopen("other.rows", "rb"));
    }
}

static void cache_gives_every_epoch_alike(void **state)
{
    (void)state;
    int64_t value[60];
    const int count =
        int64_values(hr_repeat(hr_cache(hr_map(hr_shuffle(hr_range(20), 20), add_random, NULL)), .count = HR_I64(3)),
                     (way){.unit_rows = 3}, value, 60);
    assert_int_equal(count, 60);
    assert_memory_equal(value, value + 20, 20 * sizeof *value);
    assert_memory_equal(value, value + 40, 20 * sizeof *value);
    assert_int64_values(hr_cache(hr_range(0)), NULL, 0);
}

/* The second epoch shuffles what is kept, the first one what was made. A skip of nothing stands where the cache does:
 * what is random depends on an operator's place. */
static void cached_rows_are_shuffled_and_batched_as_fresh_ones(void **state)
{
    (void)state;
    static run want, got;
    const way ways[] = {{.unit_rows = 7}, {.unit_rows = 300, .workers = 2}, {.workers = 2}};
    for (int kind = 0; kind < 4; kind++)
        for (int w = 0; w < 3; w++) {
            const char *file = kind & 1 ? "shuffled.rows" : NULL;
            hr_dataset *ds = kind & 2 ? wide_text_rows(hr_range(1000)) : wide_rows(hr_range(1000));
            hr_dataset *fresh = hr_repeat(hr_skip(hr_dataset_ref(ds), 0), .count = HR_I64(3));
            hr_dataset *kept = hr_repeat(hr_cache(ds, .file = file), .count = HR_I64(3));
            remove("shuffled.rows");
            run_all(&want, hr_batch(hr_shuffle(fresh, 300), 64), ways[w]);
            run_all(&got, hr_batch(hr_shuffle(kept, 300), 64), ways[w]);
            assert_int_equal(want.count, 47);
            assert_same_run(&want, &got);
        }
}

static void cache_keeps_to_its_limit(void **state)
{
    (void)state;
    assert_fails(hr_cache(hr_range(10000), .max_bytes = 4000), HR_RESOURCE_EXHAUSTED, "cache.limit");
    assert_int64_values(hr_cache(hr_range(3), .max_bytes = 4000), HR_I64(0, 1, 2), 3);
}

static void a_cache_in_a_file_serves_later_runs(void **state)
{
    (void)state;
    static run first, second;
    remove("once.rows");
    for (int i = 0; i < 3; i++) {
        calls = 0;
        hr_dataset *ds = hr_cache(hr_map(hr_range(1000), counted, NULL), .file = "once.rows");
        run_all(i ? &second : &first, ds, (way){.workers = i, .unit_rows = 7 * i});
        assert_int_equal(calls, i ? 0 : 1000);
        if (i) assert_same_run(&first, &second);
    }
}

static void a_cache_in_a_file_refuses_another_pipeline(void **state)
{
    (void)state;
    static run got;
    remove("other.rows");
    run_all(&got, hr_cache(hr_take(hr_range(10), 5), .file = "other.rows"), (way){0});
    assert_int_equal(got.count, 5);
    assert_fails(hr_cache(hr_take(hr_range(10), 6), .file = "other.rows"), HR_FAILED_PRECONDITION,
                 "cache.other_pipeline");
    assert_fails(hr_cache(hr_range(5), .file = "other.rows"), HR_FAILED_PRECONDITION, "cache.other_pipeline");
}

static void add_row(hr_example *ex, int row)
{
    const int64_t value = row;
    hr_example_add_int64(ex, "value", &value, 1);
}

static void a_cache_in_a_file_refuses_changed_data(void **state)
{
    (void)state;
    static run got;
    remove("data.rows");
    for (int rows = 5; rows < 7; rows++) {
        write_example_file("data.tfrecord", hr_example_new(), add_row, rows);
        hr_dataset *ds = hr_cache(hr_tfrecord("data.tfrecord"), .file = "data.rows");
        if (rows > 5) {
            assert_fails(ds, HR_FAILED_PRECONDITION, "cache.source_changed");
            continue;
        }
        run_all(&got, ds, (way){0});
        assert_int_equal(got.count, 5);
    }
    remove("data.tfrecord"); /* gone is not changed */
    run_all(&got, hr_cache(hr_tfrecord("data.tfrecord"), .file = "data.rows"), (way){0});
    assert_int_equal(got.count, 5);
}

static void an_epoch_that_stops_leaves_no_file(void **state)
{
    (void)state;
    static run got;
    remove("half.rows");
    hr_iterator *it = iterate(hr_cache(hr_range(100000), .file = "half.rows"), (way){.unit_rows = 10});
    run_on(&got, it, 30);
    hr_iterator_free(it);
    assert_null(fopen("half.rows", "rb"));
}

static hr_status refuses_700(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)out, (void)user;
    return *(const int64_t *)hr_get(in, "value")->data == 700 ? hr_call_fail(call, HR_INVALID_ARGUMENT, "refused")
                                                              : HR_OK;
}

/* The input ends there for the cache, too, but what it has is not all. */
static void an_input_that_fails_leaves_no_file(void **state)
{
    (void)state;
    for (int workers = 0; workers <= 2; workers += 2) {
        static run got;
        remove("failed.rows");
        hr_dataset *ds = hr_shuffle(hr_map(hr_range(1000), refuses_700, NULL), 10, .seed = 1);
        run_all(&got, hr_cache(ds, .file = "failed.rows"), (way){.workers = workers, .unit_rows = 50});
        assert_status(got.end, HR_INVALID_ARGUMENT);
        assert_int_equal(got.count, 700);
        assert_null(fopen("failed.rows", "rb"));
    }
}

static void snapshots_of_two_pipelines_lie_side_by_side(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int64_values(hr_snapshot(hr_take(hr_range(10), 2), "snapshots"), HR_I64(0, 1), 2);
        assert_int64_values(hr_snapshot(hr_take(hr_range(10), 3), "snapshots"), HR_I64(0, 1, 2), 3);
    }
    hr_file_list files;
    assert_status(hr_match_files("snapshots/*.rows", &files, NULL), HR_OK);
    assert_int_equal(files.count, 2);
    for (int64_t i = 0; i < files.count; i++) remove(files.path[i]);
    hr_file_list_clear(&files);
}

int main(void)
{
    static run first;
    run_all(&first, hr_cache(wide(hr_shuffle(hr_range(80), 9)), .file = "there.rows"), (way){0});
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(cache),
        HR_CONFORMANCE(cache_of_strings),
        HR_CONFORMANCE(cache_of_batches),
        HR_CONFORMANCE(cache_that_is_not_read_to_its_end),
        HR_CONFORMANCE(random_map_above_cache),
        HR_CONFORMANCE(caches_that_are_opened),
        HR_CONFORMANCE(two_of_one_cache),
        HR_CONFORMANCE(caches_of_elements),
        HR_CONFORMANCE(one_cache_that_is_opened_again),
        HR_CONFORMANCE(branches_at_other_places),
        HR_CONFORMANCE(one_branch_far_ahead),
        HR_CONFORMANCE(branches_of_one_cache_in_a_file),
        HR_CONFORMANCE(cache_of_records),
        HR_CONFORMANCE(map_of_records),
        HR_CONFORMANCE(records_among_other_rows),
        HR_CONFORMANCE(records_beside_columns),
        HR_CONFORMANCE(cache_in_a_file),
        HR_CONFORMANCE(cache_in_a_file_that_is_there),
        cmocka_unit_test(a_cache_in_a_file_serves_later_runs),
        cmocka_unit_test(a_cache_in_a_file_refuses_another_pipeline),
        cmocka_unit_test(a_cache_in_a_file_refuses_changed_data),
        cmocka_unit_test(an_epoch_that_stops_leaves_no_file),
        cmocka_unit_test(an_input_that_fails_leaves_no_file),
        cmocka_unit_test(snapshots_of_two_pipelines_lie_side_by_side),
        cmocka_unit_test(cache_works_on_each_element_once),
        cmocka_unit_test(a_cache_is_filled_once),
        cmocka_unit_test(a_cache_is_filled_once_on_any_schedule),
        cmocka_unit_test(caches_that_a_function_makes_are_restored_anywhere),
        cmocka_unit_test(caches_of_a_function_have_rows_of_their_own),
        cmocka_unit_test(caches_that_are_alike_draw_differently),
        cmocka_unit_test(caches_that_nobody_can_open_again_are_freed),
        cmocka_unit_test(two_pipelines_do_not_share_a_file),
        cmocka_unit_test(branches_of_a_file_give_the_same_rows),
        cmocka_unit_test(a_file_may_be_replaced_while_it_is_read),
        cmocka_unit_test(cache_gives_every_epoch_alike),
        cmocka_unit_test(cached_rows_are_shuffled_and_batched_as_fresh_ones),
        cmocka_unit_test(cache_keeps_to_its_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
