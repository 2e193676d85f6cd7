/* range: as Python's. */
#include "tests/data/conformance.h"

HR_SAMPLE(range) { return hr_batch(hr_range(500, .start = -100, .step = 3), 7); }
HR_SAMPLE(plain_range) { return hr_range(200); }

static void range_counts_up_and_down(void **state)
{
    (void)state;
    assert_int64_values(hr_range(4), HR_I64(0, 1, 2, 3), 4);
    assert_int64_values(hr_range(20, .start = 3, .step = 4), HR_I64(3, 7, 11, 15, 19), 5);
    assert_int64_values(hr_range(0, .start = 10, .step = -3), HR_I64(10, 7, 4, 1), 4);
    assert_int64_values(hr_range(0), NULL, 0);
    assert_int64_values(hr_range(0, .start = 5, .step = 1), NULL, 0);
    assert_int64_values(hr_range(-3), NULL, 0);
}

static void range_stops_before_it_overflows(void **state)
{
    (void)state;
    assert_int64_values(hr_range(INT64_MAX, .start = INT64_MAX - 3, .step = 2), HR_I64(INT64_MAX - 3, INT64_MAX - 1),
                        2);
    assert_int64_values(hr_range(INT64_MIN, .start = INT64_MIN + 3, .step = -2), HR_I64(INT64_MIN + 3, INT64_MIN + 1),
                        2);
    assert_int64_values(hr_range(INT64_MAX, .start = INT64_MIN, .step = INT64_MAX),
                        HR_I64(INT64_MIN, -1, INT64_MAX - 1), 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(range),
        HR_CONFORMANCE(plain_range),
        cmocka_unit_test(range_counts_up_and_down),
        cmocka_unit_test(range_stops_before_it_overflows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
