/* random: its numbers, and the conformance of a pipeline with it. */
#include "tests/data/conformance.h"
#include <string.h>

HR_SAMPLE(random) { return hr_batch(hr_shuffle(hr_take(hr_random_dataset(), 300), 40), 7); }

static void numbers_follow_from_seed_and_epoch(void **state)
{
    (void)state;
    int64_t a[200], b[200];
    hr_dataset *ds = hr_repeat(hr_take(hr_random_dataset(.seed = 5), 100), .count = HR_I64(2));
    assert_int_equal(int64_values(ds, (way){.workers = 2}, a, 200), 200);
    ds = hr_take(hr_random_dataset(.seed = 5), 100);
    assert_int_equal(int64_values(ds, (way){.unit_rows = 3, .seed = 99}, b, 200), 100);
    assert_memory_not_equal(a, a + 100, 100 * sizeof *a);
    for (int i = 0; i < 200; i++) {
        assert_at_least(a[i], 0);
        assert_at_most(a[i], UINT32_MAX);
    }
    ds = hr_repeat(hr_take(hr_random_dataset(.seed = 5, .same_each_epoch = true), 100), .count = HR_I64(2));
    assert_int_equal(int64_values(ds, (way){0}, b, 200), 200);
    assert_memory_equal(b, b + 100, 100 * sizeof *b);
}

HR_ARGUMENTS(random, hr_take(hr_random_dataset(.seed = 3), 30), hr_take(hr_random_dataset(.seed = 4), 30),
             hr_take(hr_random_dataset(.seed = 3, .same_each_epoch = true), 30));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(random),
        HR_CONFORMANCE_OF_ARGUMENTS(random),
        cmocka_unit_test(numbers_follow_from_seed_and_epoch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
