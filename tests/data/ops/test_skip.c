/* skip: what it drops, and the conformance of a pipeline with it. */
#include "tests/data/conformance.h"

HR_SAMPLE(skip) { return hr_batch(hr_skip(hr_shuffle(hr_range(300), 40, .seed = 1), 123), 8); }

static void skip_drops_the_first_elements(void **state)
{
    (void)state;
    assert_int64_values(hr_skip(hr_range(7), 3), HR_I64(3, 4, 5, 6), 4);
    assert_int64_values(hr_skip(hr_range(2), 0), HR_I64(0, 1), 2);
    assert_int64_values(hr_skip(hr_range(7), 7), NULL, 0);
    assert_int64_values(hr_skip(hr_range(7), 8), NULL, 0);
}

static void skip_of_a_negative_count_drops_everything(void **state)
{
    (void)state;
    assert_int64_values(hr_skip(hr_range(7), -1), NULL, 0);
    assert_int64_values(hr_skip(hr_range(7), INT64_MIN), NULL, 0);
}

static void skip_counts_batches_as_elements(void **state)
{
    (void)state;
    assert_int64_values(hr_skip(hr_batch(hr_range(7), 2), 2), HR_I64(4, 5, 6), 3);
}

static void skip_drops_anew_in_every_epoch(void **state)
{
    (void)state;
    assert_int64_values(hr_repeat(hr_skip(hr_range(4), 2), .count = HR_I64(2)), HR_I64(2, 3, 2, 3), 4);
}

HR_ARGUMENTS(skip, hr_skip(hr_range(20), 3), hr_skip(hr_range(20), 4), hr_skip(hr_range(20), 30),
             hr_skip(hr_range(20), -1));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(skip),
        HR_CONFORMANCE_OF_ARGUMENTS(skip),
        cmocka_unit_test(skip_drops_the_first_elements),
        cmocka_unit_test(skip_of_a_negative_count_drops_everything),
        cmocka_unit_test(skip_counts_batches_as_elements),
        cmocka_unit_test(skip_drops_anew_in_every_epoch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
