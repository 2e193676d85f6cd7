/* choose_from_datasets: what the choices give, where it ends, and the conformance of a pipeline with it. */
#include "tests/data/conformance.h"

static hr_status modulo_3(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    *(int64_t *)hr_set(out, "value") = *(const int64_t *)hr_get(in, "value")->data % 3;
    return HR_OK;
}

static hr_dataset *turns(int64_t n) { return hr_map(hr_shuffle(hr_range(n), 20), modulo_3, NULL); }

HR_SAMPLE(choose_from_datasets)
{
    hr_dataset *in[] = {hr_shuffle(hr_range(80), 9), hr_take(hr_range(900), 70), hr_batch(hr_range(60), 1)};
    in[2] = hr_unbatch(in[2]);
    return hr_batch(hr_choose_from_datasets(in, 3, turns(300), .go_on = true), 7);
}
HR_SAMPLE(choose_until_one_is_empty)
{
    hr_dataset *in[] = {hr_range(80), hr_take(hr_shuffle(hr_range(900), 8), 40), hr_range(90, .start = 9)};
    return hr_repeat(hr_choose_from_datasets(in, 3, turns(300)), .count = HR_I64(2));
}

static hr_dataset *choices(const int64_t *choice, int64_t count)
{
    const hr_tensor t = hr_tensor_of(HR_INT64, HR_SHAPE(count), choice);
    return hr_from_tensor_slices(&t, (const char *const[]){"value"}, 1);
}

static hr_dataset *two(const int64_t *choice, int64_t count, bool go_on)
{
    hr_dataset *in[] = {hr_range(2), hr_range(14, .start = 10)};
    return hr_choose_from_datasets(in, 2, choices(choice, count), .go_on = go_on);
}

static void choices_say_whose_element_is_next(void **state)
{
    (void)state;
    assert_int64_values(two(HR_I64(1, 1, 0, 1), 4, false), HR_I64(10, 11, 0, 12), 4);
    assert_int64_values(two(HR_I64(0, 0, 0, 1), 4, false), HR_I64(0, 1), 2);
    assert_int64_values(two(HR_I64(0, 0, 0, 1), 4, true), HR_I64(0, 1, 10), 3);
}

static void wrong_choices_are_refused(void **state)
{
    (void)state;
    assert_fails(two(HR_I64(0, 2), 2, false), HR_INVALID_ARGUMENT, "choose.range");
    assert_fails(two(HR_I64(-1), 1, false), HR_INVALID_ARGUMENT, "choose.range");
    assert_fails(hr_choose_from_datasets(NULL, 0, hr_range(3)), HR_INVALID_ARGUMENT, "choose.datasets");
    hr_dataset *in[] = {hr_range(2)}, *other[] = {hr_range(2), hr_enumerate(hr_range(3))};
    assert_fails(hr_choose_from_datasets(in, 1, hr_batch(hr_range(3), 2)), HR_INVALID_ARGUMENT, "choose.choice");
    assert_fails(hr_choose_from_datasets(other, 2, hr_range(3)), HR_INVALID_ARGUMENT, "input.schema");
}

static hr_dataset *chosen(int datasets, bool go_on)
{
    hr_dataset *in[] = {hr_range(9), hr_range(30, .start = 10), hr_range(20)};
    if (datasets < 3) hr_dataset_unref(in[2]);
    return hr_choose_from_datasets(in, datasets, hr_take(hr_repeat(hr_range(2)), 40), .go_on = go_on);
}

HR_ARGUMENTS(choose_from_datasets, chosen(2, false), chosen(2, true), chosen(3, false));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(choose_from_datasets),        HR_CONFORMANCE_OF_ARGUMENTS(choose_from_datasets),
        HR_CONFORMANCE(choose_until_one_is_empty),   cmocka_unit_test(choices_say_whose_element_is_next),
        cmocka_unit_test(wrong_choices_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
