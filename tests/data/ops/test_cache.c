/* cache: what it gives in each epoch, what it saves reading, its limit, and the conformance of pipelines with it. */
#include "tests/data/ops/wide_rows.h"
#include <stdio.h>
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

/* ---- of many columns, which are kept as records ---- */

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
        assert_int_equal(got.end, HR_END);
        assert_int_equal(got.count, 5000);
        assert_int_equal(calls, 1000);
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

static void snapshots_of_two_pipelines_lie_side_by_side(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int64_values(hr_snapshot(hr_take(hr_range(10), 2), "snapshots"), HR_I64(0, 1), 2);
        assert_int64_values(hr_snapshot(hr_take(hr_range(10), 3), "snapshots"), HR_I64(0, 1, 2), 3);
    }
    hr_file_list files;
    assert_int_equal(hr_match_files("snapshots/*.rows", &files, NULL), HR_OK);
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
        cmocka_unit_test(snapshots_of_two_pipelines_lie_side_by_side),
        cmocka_unit_test(cache_works_on_each_element_once),
        cmocka_unit_test(cache_gives_every_epoch_alike),
        cmocka_unit_test(cached_rows_are_shuffled_and_batched_as_fresh_ones),
        cmocka_unit_test(cache_keeps_to_its_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
