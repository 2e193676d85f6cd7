/* window: which elements each one has, and the conformance of a pipeline with it. */
#include "tests/data/conformance.h"
#include <stdio.h>

static hr_dataset *shuffled(int64_t n) { return hr_shuffle(hr_range(n), 20); }

HR_SAMPLE(window) { return hr_shuffle(hr_window(shuffled(150), 5, .shift = 2, .stride = 3), 10); }
HR_SAMPLE(window_by_window) { return hr_window(shuffled(200), 4); }
HR_SAMPLE(windows_far_apart)
{
    return hr_repeat(hr_window(shuffled(100), 2, .shift = 7, .drop_remainder = true), .count = HR_I64(3));
}

static hr_status as_text(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    char text[32];
    const int size =
        snprintf(text, sizeof text, "element %lld", (long long)*(const int64_t *)hr_get(in, "value")->data);
    return hr_set_string(out, "value", text, size);
}

HR_SAMPLE(window_of_strings)
{
    return hr_unbatch(
        hr_window(hr_shuffle(hr_map(hr_range(80), as_text, NULL, .output = &hr_string_schema), 9), 3, .shift = 1));
}

static void windows_overlap_by_their_shift(void **state)
{
    (void)state;
    assert_int64_values(hr_window(hr_range(4), 3, .shift = 1), HR_I64(0, 1, 2, 1, 2, 3, 2, 3, 3), 9);
    assert_int64_values(hr_window(hr_range(4), 3, .shift = 1, .drop_remainder = true), HR_I64(0, 1, 2, 1, 2, 3), 6);
    assert_int64_values(hr_window(hr_range(9), 2, .shift = 4), HR_I64(0, 1, 4, 5, 8), 5);
    assert_int64_values(hr_window(hr_range(5), 3, .shift = 2, .stride = 2), HR_I64(0, 2, 4, 2, 4, 4), 6);
}

static void windows_without_options_are_batches(void **state)
{
    (void)state;
    static run windows, batches;
    run_all(&windows, hr_window(hr_range(20), 6), (way){.unit_rows = 2});
    run_all(&batches, hr_batch(hr_range(20), 6), (way){0});
    assert_same_run(&batches, &windows);
    assert_int64_values(hr_window(hr_range(0), 3), NULL, 0);
}

static void windows_may_be_larger_than_all_data(void **state)
{
    (void)state;
    assert_int64_values(hr_window(hr_range(3), INT32_MAX, .stride = INT32_MAX), HR_I64(0), 1);
    assert_int64_values(hr_window(hr_range(3), INT32_MAX, .drop_remainder = true), NULL, 0);
    assert_int64_values(hr_window(hr_range(3), 1, .shift = INT32_MAX), HR_I64(0), 1);
}

static void window_refuses_sizes_below_one(void **state)
{
    (void)state;
    assert_fails(hr_window(hr_range(3), 0), HR_INVALID_ARGUMENT, "window.size");
    assert_fails(hr_window(hr_range(3), 2, .shift = -1), HR_INVALID_ARGUMENT, "window.size");
    assert_fails(hr_window(hr_range(3), 2, .stride = -1), HR_INVALID_ARGUMENT, "window.size");
}

HR_ARGUMENTS(window, hr_window(hr_range(20), 4, .shift = 2, .stride = 2),
             hr_window(hr_range(20), 5, .shift = 2, .stride = 2), hr_window(hr_range(20), 4, .shift = 3, .stride = 2),
             hr_window(hr_range(20), 4, .shift = 2, .stride = 3),
             hr_window(hr_range(20), 4, .shift = 2, .stride = 2, .drop_remainder = true));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(window),
        HR_CONFORMANCE_OF_ARGUMENTS(window),
        HR_CONFORMANCE(window_by_window),
        HR_CONFORMANCE(windows_far_apart),
        HR_CONFORMANCE(window_of_strings),
        cmocka_unit_test(windows_overlap_by_their_shift),
        cmocka_unit_test(windows_without_options_are_batches),
        cmocka_unit_test(windows_may_be_larger_than_all_data),
        cmocka_unit_test(window_refuses_sizes_below_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
