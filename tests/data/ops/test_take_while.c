/* take_while: where it ends, and the conformance of a pipeline with it. */
#include "tests/data/conformance.h"

static bool less(const hr_element *e, void *user)
{
    return *(const int64_t *)hr_get(e, "value")->data < *(const int64_t *)user;
}

HR_SAMPLE(take_while)
{
    static const int64_t bound = 290;
    return hr_batch(hr_take_while(hr_shuffle(hr_range(300), 40, .seed = 1), less, (void *)(uintptr_t)&bound), 8);
}

/* It ends in every epoch, over rows that work has changed, below another plan. */
HR_SAMPLE(take_while_in_epochs)
{
    static const int64_t all = INT64_MAX, bound = 30;
    hr_dataset *ds = hr_filter(hr_range(100), less, (void *)(uintptr_t)&all);
    ds = hr_take_while(ds, less, (void *)(uintptr_t)&bound);
    return hr_shuffle(hr_repeat(ds, .count = HR_I64(4)), 10);
}

static hr_dataset *numbers_to(const hr_element *e, void *user)
{
    (void)user;
    return hr_range(3 * *(const int64_t *)hr_get(e, "value")->data);
}

/* It ends in the middle of what was pulled: spans of other datasets are at hand after it. */
HR_SAMPLE(take_while_among_short_spans)
{
    static const int64_t bound = 12;
    hr_dataset *ds = hr_interleave(hr_range(9), numbers_to, NULL, .cycle_length = 2, .block_length = 3);
    return hr_repeat(hr_take_while(hr_take(ds, 50), less, (void *)(uintptr_t)&bound), .count = HR_I64(3));
}

static void take_while_ends_at_the_first_refusal(void **state)
{
    (void)state;
    const hr_tensor t = hr_tensor_of(HR_INT64, HR_SHAPE(6), HR_I64(1, 3, 5, 9, 2, 1));
    const char *const names[] = {"value"};
    assert_int64_values(hr_take_while(hr_from_tensor_slices(&t, names, 1), less, &(int64_t){6}), HR_I64(1, 3, 5), 3);
    assert_int64_values(hr_take_while(hr_range(3), less, &(int64_t){60}), HR_I64(0, 1, 2), 3);
    assert_int64_values(hr_take_while(hr_range(3), less, &(int64_t){0}), NULL, 0);
    assert_int64_values(hr_take_while(hr_range(INT64_MAX), less, &(int64_t){4}), HR_I64(0, 1, 2, 3), 4);
}

static void take_while_asks_about_whole_batches(void **state)
{
    (void)state;
    assert_int64_values(hr_take_while(hr_batch(hr_range(9), 2), less, &(int64_t){3}), HR_I64(0, 1, 2, 3), 4);
}

static void take_while_refuses_no_function(void **state)
{
    (void)state;
    assert_fails(hr_take_while(hr_range(3), NULL, NULL), HR_INVALID_ARGUMENT, "take_while.fn");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(take_while),
        HR_CONFORMANCE(take_while_in_epochs),
        HR_CONFORMANCE(take_while_among_short_spans),
        cmocka_unit_test(take_while_ends_at_the_first_refusal),
        cmocka_unit_test(take_while_asks_about_whole_batches),
        cmocka_unit_test(take_while_refuses_no_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
