/* group_by_window: windows, leftovers, keys without end, and the conformance of a pipeline with it. */
#include "tests/data/conformance.h"

static int64_t modulo(const hr_element *e, void *user)
{
    return *(const int64_t *)hr_get(e, "value")->data % *(const int64_t *)user;
}

static int64_t key_plus_one(int64_t key, void *user)
{
    (void)user;
    return key + 1;
}

static hr_status twice(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    *(int64_t *)hr_set(out, "value") = 2 * *(const int64_t *)hr_get(in, "value")->data;
    return HR_OK;
}

static int64_t three = 3, many = 61;

HR_SAMPLE(group_by_window)
{
    return hr_shuffle(hr_group_by_window(hr_shuffle(hr_range(200), 30), modulo, &three, 5), 4);
}
HR_SAMPLE(groups_in_batches)
{
    hr_dataset *ds = hr_map(hr_shuffle(hr_range(150), 30), twice, NULL); /* done before anybody asks for a key */
    ds = hr_group_by_window(ds, modulo, &many, 4, .batch_size = 3, .drop_remainder = true);
    return hr_repeat(ds, .count = HR_I64(2));
}
HR_SAMPLE(groups_of_many_sizes)
{
    return hr_group_by_window(hr_repeat(hr_range(90), .count = HR_I64(2)), modulo, &many, 0,
                              .window_size_fn = key_plus_one);
}

static void windows_leave_when_they_are_full_and_the_rest_by_key(void **state)
{
    (void)state;
    assert_int64_values(hr_group_by_window(hr_range(8, .start = 1), modulo, &three, 2), HR_I64(1, 4, 2, 5, 3, 6, 7), 7);
    assert_int64_values(hr_group_by_window(hr_range(9), modulo, &three, 0, .window_size_fn = key_plus_one),
                        HR_I64(0, 3, 1, 4, 6, 2, 5, 8, 7), 9);
    assert_int64_values(hr_group_by_window(hr_range(8), modulo, &three, 3, .batch_size = 2, .drop_remainder = true),
                        HR_I64(0, 3, 1, 4, 2, 5), 6);
}

static hr_status only_key_0(int64_t key, void *user, hr_error *err)
{
    (void)user;
    return key == 0 ? HR_OK : hr_fail(err, HR_OUT_OF_RANGE, "test.window", "not key %lld", (long long)key);
}

static void windows_are_refused(void **state)
{
    (void)state;
    assert_fails(hr_group_by_window(hr_range(4), modulo, &three, 0), HR_INVALID_ARGUMENT, "group_by_window.size");
    assert_fails(hr_group_by_window(hr_range(4), modulo, &three, 2, .window_size_fn = key_plus_one),
                 HR_INVALID_ARGUMENT, "group_by_window.size");
    assert_fails(hr_group_by_window(hr_range(4), NULL, NULL, 2), HR_INVALID_ARGUMENT, "group_by_window.key");
    assert_fails(hr_group_by_window(hr_range(4), modulo, &three, 1, .check = only_key_0), HR_OUT_OF_RANGE,
                 "test.window");
    assert_fails(hr_group_by_window(hr_range(1, .start = -1), modulo, &three, 0, .window_size_fn = key_plus_one),
                 HR_INVALID_ARGUMENT, "group_by_window.size");
}

HR_ARGUMENTS(group_by_window, hr_group_by_window(hr_range(40), modulo, &three, 6),
             hr_group_by_window(hr_range(40), modulo, &three, 5),
             hr_group_by_window(hr_range(40), modulo, &three, 6, .batch_size = 4),
             hr_group_by_window(hr_range(40), modulo, &three, 6, .drop_remainder = true));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(group_by_window),
        HR_CONFORMANCE_OF_ARGUMENTS(group_by_window),
        HR_CONFORMANCE(groups_in_batches),
        HR_CONFORMANCE(groups_of_many_sizes),
        cmocka_unit_test(windows_leave_when_they_are_full_and_the_rest_by_key),
        cmocka_unit_test(windows_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
