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

/* The value as a double: element `at`. */
static double value_at(hr_dataset *ds, int at, hr_dtype dtype)
{
    const hr_element *e;
    hr_iterator *it = iterate(hr_skip(ds, at), (way){0});
    assert_status(hr_next(it, &e), HR_OK);
    const hr_tensor *t = hr_get(e, "value");
    assert_int_equal(t->dtype, dtype);
    const double value = dtype == HR_INT32    ? *(const int32_t *)t->data
                         : dtype == HR_FLOAT  ? (double)*(const float *)t->data
                         : dtype == HR_DOUBLE ? *(const double *)t->data
                                              : (double)*(const uint64_t *)t->data;
    hr_iterator_free(it);
    return value;
}

static void a_range_may_be_of_other_numbers(void **state)
{
    (void)state;
    const hr_dtype dtypes[] = {HR_INT32, HR_FLOAT, HR_DOUBLE, HR_UINT64};
    for (int i = 0; i < 4; i++)
        assert_exactly(value_at(hr_range(9, .start = 1, .step = 3, .dtype = dtypes[i]), 2, dtypes[i]), 7);
    assert_fails(hr_range(9, .dtype = HR_STRING), HR_INVALID_ARGUMENT, "range.dtype");
}

static void a_counter_has_no_end(void **state)
{
    (void)state;
    hr_dataset *ds = hr_counter(.start = 3, .step = -2);
    assert_int_equal(hr_cardinality(ds), HR_INFINITE_CARDINALITY);
    assert_int64_values(hr_take(ds, 3), HR_I64(3, 1, -1), 3);
    assert_int64_values(hr_take(hr_counter(), 2), HR_I64(0, 1), 2);
}

HR_ARGUMENTS(range, hr_range(20), hr_range(21, .start = 1), hr_range(40, .step = 2), hr_range(21),
             hr_range(20, .dtype = HR_FLOAT), hr_take(hr_counter(), 9));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(range),
        HR_CONFORMANCE_OF_ARGUMENTS(range),
        HR_CONFORMANCE(plain_range),
        cmocka_unit_test(range_counts_up_and_down),
        cmocka_unit_test(range_stops_before_it_overflows),
        cmocka_unit_test(a_range_may_be_of_other_numbers),
        cmocka_unit_test(a_counter_has_no_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
