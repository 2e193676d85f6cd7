/* options: the seed of what stands below. */
#include "tests/data/conformance.h"

static hr_dataset *with_seed(uint64_t seed) { return hr_options(hr_shuffle(hr_range(300), 40), .seed = seed); }

HR_SAMPLE(options) { return hr_batch(with_seed(5), 7); }
HR_SAMPLE(options_in_the_middle)
{
    return hr_shuffle(hr_take(hr_options(hr_shuffle(hr_range(99), 9), .seed = 3), 90), 9);
}

static void options_give_a_seed_to_what_has_none(void **state)
{
    (void)state;
    int64_t a[300], b[300];
    int64_values(with_seed(5), (way){.seed = 1}, a, 300);
    int64_values(with_seed(5), (way){.seed = 2, .workers = 2}, b, 300);
    assert_memory_equal(a, b, sizeof a);
    int64_values(with_seed(6), (way){.seed = 1}, b, 300);
    assert_memory_not_equal(a, b, sizeof a);
}

HR_ARGUMENTS(options, with_seed(5), with_seed(6),
             hr_options(hr_shuffle(hr_range(300), 40), .seed = 5, .tf_compat = true));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(options),
        HR_CONFORMANCE_OF_ARGUMENTS(options),
        HR_CONFORMANCE(options_in_the_middle),
        cmocka_unit_test(options_give_a_seed_to_what_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
