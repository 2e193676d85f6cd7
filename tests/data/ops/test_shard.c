/* shard: what it passes, and the conformance of a pipeline with it. */
#include "tests/data/conformance.h"

HR_SAMPLE(shard) { return hr_batch(hr_shard(hr_shuffle(hr_range(300), 40, .seed = 1), 3, 1), 8); }

static void shard_passes_one_element_of_so_many(void **state)
{
    (void)state;
    assert_int64_values(hr_shard(hr_range(7), 3, 0), HR_I64(0, 3, 6), 3);
    assert_int64_values(hr_shard(hr_range(7), 3, 2), HR_I64(2, 5), 2);
    assert_int64_values(hr_shard(hr_range(3), 1, 0), HR_I64(0, 1, 2), 3);
    assert_int64_values(hr_shard(hr_range(2), 5, 4), NULL, 0);
}

static void shards_together_are_the_whole(void **state)
{
    (void)state;
    bool seen[100] = {false};
    for (int index = 0; index < 7; index++) {
        int64_t value[100];
        const int count = int64_values(hr_shard(hr_range(100), 7, index), (way){.unit_rows = 3}, value, 100);
        for (int i = 0; i < count; i++) {
            assert_false(seen[value[i]]);
            seen[value[i]] = true;
        }
    }
    for (int i = 0; i < 100; i++) assert_true(seen[i]);
}

static void shard_counts_batches_as_elements(void **state)
{
    (void)state;
    assert_int64_values(hr_shard(hr_batch(hr_range(7), 2), 2, 1), HR_I64(2, 3, 6), 3);
}

static void shard_counts_on_through_the_epochs_below_it(void **state)
{
    (void)state;
    assert_int64_values(hr_shard(hr_repeat(hr_range(4), .count = HR_I64(2)), 3, 1), HR_I64(1, 0, 3), 3);
    assert_int64_values(hr_repeat(hr_shard(hr_range(4), 3, 1), .count = HR_I64(2)), HR_I64(1, 1), 2);
}

static void shard_takes_numbers_without_bound(void **state)
{
    (void)state;
    assert_int64_values(hr_shard(hr_range(5), INT64_MAX, 3), HR_I64(3), 1);
    assert_int64_values(hr_shard(hr_range(5), INT64_MAX, INT64_MAX - 1), NULL, 0);
}

static void shard_refuses_an_index_that_is_none(void **state)
{
    (void)state;
    assert_fails(hr_shard(hr_range(5), 0, 0), HR_INVALID_ARGUMENT, "shard.num_shards");
    assert_fails(hr_shard(hr_range(5), 3, 3), HR_INVALID_ARGUMENT, "shard.index");
    assert_fails(hr_shard(hr_range(5), 3, -1), HR_INVALID_ARGUMENT, "shard.index");
}

HR_ARGUMENTS(shard, hr_shard(hr_range(30), 4, 1), hr_shard(hr_range(30), 4, 2), hr_shard(hr_range(30), 3, 1),
             hr_shard(hr_range(31), 1, 0));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(shard),
        HR_CONFORMANCE_OF_ARGUMENTS(shard),
        cmocka_unit_test(shard_passes_one_element_of_so_many),
        cmocka_unit_test(shards_together_are_the_whole),
        cmocka_unit_test(shard_counts_batches_as_elements),
        cmocka_unit_test(shard_counts_on_through_the_epochs_below_it),
        cmocka_unit_test(shard_takes_numbers_without_bound),
        cmocka_unit_test(shard_refuses_an_index_that_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
