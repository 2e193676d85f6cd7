/* Integers of one type as those of another: at both ends of every type, and one beyond. */
#include "base/cast.h"
#include "tests/testing.h"

static const struct range {
    hr_dtype dtype;
    int64_t min, max;
} ranges[] = {
    {HR_INT64, INT64_MIN, INT64_MAX}, {HR_INT32, INT32_MIN, INT32_MAX}, {HR_INT16, INT16_MIN, INT16_MAX},
    {HR_INT8, INT8_MIN, INT8_MAX},    {HR_UINT64, 0, INT64_MAX},        {HR_UINT32, 0, UINT32_MAX},
    {HR_UINT16, 0, UINT16_MAX},       {HR_UINT8, 0, UINT8_MAX},         {HR_BOOL, 0, 1},
};
enum { RANGES = sizeof ranges / sizeof *ranges };

static void assert_kept(const struct range *r, int64_t value)
{
    int64_t back, stored[2] = {-1, -1};
    assert_true(hr__store_integer(value, r->dtype, stored));
    assert_true(hr__integer_of(stored, r->dtype, 0, &back));
    assert_int_equal(back, value);
    assert_int_equal(stored[1], -1);
}

static void assert_out_of_range(const struct range *r, int64_t value)
{
    int64_t back = 1, stored[2] = {-1, -1};
    assert_false(hr__store_integer(value, r->dtype, stored));
    assert_true(hr__integer_of(stored, r->dtype, 0, &back));
    assert_int_equal(back, 0);
}

static void both_ends_of_a_type_are_kept_and_what_is_beyond_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < RANGES; i++) {
        assert_kept(&ranges[i], ranges[i].min);
        assert_kept(&ranges[i], ranges[i].max);
        if (ranges[i].min > INT64_MIN) assert_out_of_range(&ranges[i], ranges[i].min - 1);
        if (ranges[i].max < INT64_MAX) assert_out_of_range(&ranges[i], ranges[i].max + 1);
    }
}

static void real_numbers_take_any_integer_rounded(void **state)
{
    (void)state;
    float f;
    double d;
    assert_true(hr__store_integer((1 << 24) + 1, HR_FLOAT, &f));
    assert_exactly(f, (float)(1 << 24));
    assert_true(hr__store_integer((1 << 24) + 1, HR_DOUBLE, &d));
    assert_exactly(d, (double)((1 << 24) + 1));
}

static void what_int64_does_not_hold_is_said(void **state)
{
    (void)state;
    const uint64_t large[] = {UINT64_MAX, INT64_MAX};
    int64_t value = 1;
    assert_false(hr__integer_of(large, HR_UINT64, 0, &value));
    assert_int_equal(value, 0);
    assert_true(hr__integer_of(large, HR_UINT64, 1, &value));
    assert_int_equal(value, INT64_MAX);
    assert_false(hr__integer_of(large, HR_DOUBLE, 0, &value));
    assert_false(hr__store_integer(1, HR_STRING, &(hr_view){0}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_ends_of_a_type_are_kept_and_what_is_beyond_is_refused),
        cmocka_unit_test(real_numbers_take_any_integer_rounded),
        cmocka_unit_test(what_int64_does_not_hold_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
