/* concatenate: what it passes, what it refuses, and the conformance of a pipeline with it. */
#include "tests/data/conformance.h"
#include <string.h>

HR_SAMPLE(concatenate)
{
    hr_dataset *first = hr_shuffle(hr_range(150), 40),
               *second = hr_take(hr_shuffle(hr_range(500, .start = 200), 30), 120);
    return hr_batch(hr_concatenate(first, second), 8);
}

static bool below_10(const hr_element *e, void *user)
{
    (void)user;
    return *(const int64_t *)hr_get(e, "value")->data < 10;
}

/* What has ended must not begin again after a restore; one half of the rows is filtered, the other is not. */
HR_SAMPLE(halves_that_end_early)
{
    hr_dataset *first = hr_take_while(hr_repeat(hr_range(12)), below_10, NULL);
    return hr_repeat(hr_concatenate(first, hr_filter(hr_range(40), below_10, NULL)), .count = HR_I64(3));
}

static void concatenate_passes_one_dataset_and_then_the_other(void **state)
{
    (void)state;
    assert_int64_values(hr_concatenate(hr_range(3), hr_range(12, .start = 10)), HR_I64(0, 1, 2, 10, 11), 5);
    assert_int64_values(hr_concatenate(hr_range(0), hr_range(2)), HR_I64(0, 1), 2);
    assert_int64_values(hr_concatenate(hr_range(2), hr_range(0)), HR_I64(0, 1), 2);
    assert_int64_values(hr_batch(hr_concatenate(hr_range(3), hr_range(2)), 4), HR_I64(0, 1, 2, 0, 1), 5);
}

static void a_branch_can_be_concatenated_with_itself(void **state)
{
    (void)state;
    hr_dataset *ds = hr_range(2);
    assert_int64_values(hr_concatenate(hr_dataset_ref(ds), ds), HR_I64(0, 1, 0, 1), 4);
}

static void concatenate_refuses_other_components(void **state)
{
    (void)state;
    const int64_t two[] = {1, 2};
    const hr_tensor t = hr_tensor_of(HR_INT64, HR_SHAPE(2), two);
    assert_fails(hr_concatenate(hr_range(3), hr_list_files("*")), HR_INVALID_ARGUMENT, "input.schema");
    assert_fails(hr_concatenate(hr_range(3), hr_batch(hr_range(3), 2)), HR_INVALID_ARGUMENT, "input.schema");
    assert_fails(hr_concatenate(hr_range(3), hr_from_tensor_slices(&t, NULL, 1)), HR_INVALID_ARGUMENT, "input.schema");
}

static void an_error_of_the_first_dataset_keeps_the_second_away(void **state)
{
    (void)state;
    static run got;
    run_all(&got, hr_concatenate(hr_list_files("there-is-no-such-file"), hr_list_files("nor-this")), (way){0});
    assert_int_equal(got.count, 0);
    assert_status(got.end, HR_INVALID_ARGUMENT);
    assert_text_contains(got.error.text, "there-is-no-such-file");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(concatenate),
        HR_CONFORMANCE(halves_that_end_early),
        cmocka_unit_test(concatenate_passes_one_dataset_and_then_the_other),
        cmocka_unit_test(a_branch_can_be_concatenated_with_itself),
        cmocka_unit_test(concatenate_refuses_other_components),
        cmocka_unit_test(an_error_of_the_first_dataset_keeps_the_second_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
