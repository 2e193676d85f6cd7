/* prefetch: changes no element. */
#include "tests/data/conformance.h"

HR_SAMPLE(prefetch) { return hr_prefetch(hr_batch(hr_shuffle(hr_range(300), 40), 7), HR_AUTOTUNE); }
HR_SAMPLE(prefetch_in_the_middle)
{
    return hr_take(hr_prefetch(hr_prefetch(hr_shuffle(hr_range(300), 40), 3), 1), 177);
}

static void prefetch_changes_no_element(void **state)
{
    (void)state;
    assert_int64_values(hr_prefetch(hr_range(4), 2), HR_I64(0, 1, 2, 3), 4);
    assert_int64_values(hr_prefetch(hr_range(4), 0), HR_I64(0, 1, 2, 3), 4);
}

static void prefetch_refuses_negative_sizes_but_autotune(void **state)
{
    (void)state;
    static run got;
    run_all(&got, hr_prefetch(hr_range(4), -2), (way){0});
    assert_status(got.end, HR_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(prefetch),
        HR_CONFORMANCE(prefetch_in_the_middle),
        cmocka_unit_test(prefetch_changes_no_element),
        cmocka_unit_test(prefetch_refuses_negative_sizes_but_autotune),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
