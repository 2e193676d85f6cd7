/* assert_cardinality and hr_cardinality: what is passed, refused and told. */
#include "tests/data/conformance.h"

HR_SAMPLE(assert_cardinality) { return hr_batch(hr_assert_cardinality(hr_shuffle(hr_range(300), 40), 300), 7); }
HR_SAMPLE(too_many) { return hr_batch(hr_assert_cardinality(hr_shuffle(hr_range(300), 40), 200), 7); }
HR_SAMPLE(too_few) { return hr_assert_cardinality(hr_shuffle(hr_range(300), 40), 301); }

static bool is_even(const hr_element *e, void *user)
{
    (void)user;
    return *(const int64_t *)hr_get(e, "value")->data % 2 == 0;
}

static void assert_cardinality_refuses_a_wrong_number(void **state)
{
    (void)state;
    assert_int64_values(hr_assert_cardinality(hr_filter(hr_range(4), is_even, NULL), 2), HR_I64(0, 2), 2);
    assert_int64_values(hr_assert_cardinality(hr_range(2), HR_UNKNOWN_CARDINALITY), HR_I64(0, 1), 2);
    assert_fails(hr_assert_cardinality(hr_range(4), 3), HR_FAILED_PRECONDITION, "assert_cardinality.wrong");
    assert_fails(hr_assert_cardinality(hr_range(4), 5), HR_FAILED_PRECONDITION, "assert_cardinality.wrong");
    assert_fails(hr_assert_cardinality(hr_range(4), HR_INFINITE_CARDINALITY), HR_FAILED_PRECONDITION,
                 "assert_cardinality.wrong");
    assert_fails(hr_assert_cardinality(hr_range(4), -3), HR_INVALID_ARGUMENT, "assert_cardinality.count");
}

static void assert_tells(hr_dataset *ds, int64_t want)
{
    assert_int_equal(hr_cardinality(ds), want);
    hr_dataset_unref(ds);
}

static void datasets_tell_how_many_elements_they_have(void **state)
{
    (void)state;
    assert_tells(hr_batch(hr_skip(hr_range(10), 1), 4), 3);
    assert_tells(hr_batch(hr_skip(hr_range(10), 1), 4, .drop_remainder = true), 2);
    assert_tells(hr_window(hr_range(10), 3, .shift = 2, .stride = 2), 5);
    assert_tells(hr_window(hr_range(10), 3, .shift = 2, .stride = 2, .drop_remainder = true), 3);
    assert_tells(hr_shard(hr_range(10), 3, 0), 4);
    assert_tells(hr_repeat(hr_range(10)), HR_INFINITE_CARDINALITY);
    assert_tells(hr_take(hr_repeat(hr_range(10)), 7), 7);
    assert_tells(hr_repeat(hr_range(10), .count = HR_I64(3)), 30);
    assert_tells(hr_enumerate(hr_range(10)), 10);
    assert_tells(hr_concatenate(hr_range(10), hr_filter(hr_range(4), is_even, NULL)), HR_UNKNOWN_CARDINALITY);
    assert_tells(hr_concatenate(hr_range(10), hr_repeat(hr_range(4))), HR_INFINITE_CARDINALITY);
    assert_tells(hr_range(3, .step = -1), 0);
    assert_tells(hr_batch(hr_range(3), 0), HR_UNKNOWN_CARDINALITY);
}

HR_ARGUMENTS(assert_cardinality, hr_assert_cardinality(hr_range(30), 30), hr_assert_cardinality(hr_range(30), -2));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(assert_cardinality),
        HR_CONFORMANCE_OF_ARGUMENTS(assert_cardinality),
        HR_CONFORMANCE_OF_FAILURE(too_many),
        HR_CONFORMANCE_OF_FAILURE(too_few),
        cmocka_unit_test(assert_cardinality_refuses_a_wrong_number),
        cmocka_unit_test(datasets_tell_how_many_elements_they_have),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
