/* take: what it passes, and the conformance of a pipeline with it. */
#include "tests/data/conformance.h"

HR_SAMPLE(take) { return hr_batch(hr_take(hr_shuffle(hr_range(300), 40, .seed = 1), 177), 8); }

static void take_passes_the_first_elements(void **state)
{
    (void)state;
    assert_int64_values(hr_take(hr_range(7), 3), HR_I64(0, 1, 2), 3);
    assert_int64_values(hr_take(hr_range(7), 0), NULL, 0);
    assert_int64_values(hr_take(hr_range(2), 9), HR_I64(0, 1), 2);
}

static void take_of_a_negative_count_passes_everything(void **state)
{
    (void)state;
    assert_int64_values(hr_take(hr_range(2), -1), HR_I64(0, 1), 2);
    assert_int64_values(hr_take(hr_range(2), -5), HR_I64(0, 1), 2);
}

static void take_counts_batches_as_elements(void **state)
{
    (void)state;
    assert_int64_values(hr_take(hr_batch(hr_range(7), 2), 2), HR_I64(0, 1, 2, 3), 4);
}

static void take_ends_an_endless_input(void **state)
{
    (void)state;
    assert_int64_values(hr_take(hr_repeat(hr_range(2)), 5), HR_I64(0, 1, 0, 1, 0), 5);
}

HR_ARGUMENTS(take, hr_take(hr_range(20), 13), hr_take(hr_range(20), 14), hr_take(hr_range(20), 30),
             hr_take(hr_range(20), -1));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(take),
        HR_CONFORMANCE_OF_ARGUMENTS(take),
        cmocka_unit_test(take_passes_the_first_elements),
        cmocka_unit_test(take_of_a_negative_count_passes_everything),
        cmocka_unit_test(take_counts_batches_as_elements),
        cmocka_unit_test(take_ends_an_endless_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
