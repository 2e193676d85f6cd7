/* group_by_reducer: one element a key, and the conformance of a pipeline with it. */
#include "tests/data/conformance.h"

static int64_t modulo_7(const hr_element *e, void *user)
{
    (void)user;
    return 3 - *(const int64_t *)hr_get(e, "value")->data % 7;
}

static hr_status add_up(void *state, const hr_element *in, void *user)
{
    (void)user;
    const int64_t value = *(const int64_t *)hr_get(in, "value")->data;
    *(int64_t *)state += value;
    return value < 1000 ? HR_OK : HR_OUT_OF_RANGE;
}

static hr_status sum_of(int64_t key, const void *state, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    *(int64_t *)hr_set(out, "value") = *(const int64_t *)state * 10 + key;
    return HR_OK;
}

static hr_dataset *sums_from(hr_dataset *in, int64_t initial, uint64_t seed)
{
    return hr_group_by_reducer(in, modulo_7, NULL, .reduce = add_up, .finalize = sum_of, .output = &hr_int64_schema,
                               .state_size = sizeof(int64_t), .initial = &initial, .seed = seed);
}

static hr_dataset *sums(hr_dataset *in) { return sums_from(in, 100, 0); }

HR_SAMPLE(group_by_reducer) { return hr_repeat(sums(hr_shuffle(hr_range(151, .start = 1), 30)), .count = HR_I64(3)); }

static void keys_come_in_rising_order(void **state)
{
    (void)state;
    assert_int64_values(sums(hr_range(9)), HR_I64(1057, 1048, 1039, 1030, 1021, 1092, 1073), 7);
    assert_int64_values(sums(hr_range(0)), NULL, 0);
}

static void a_function_may_fail(void **state)
{
    (void)state;
    assert_fails(sums(hr_range(2000)), HR_OUT_OF_RANGE, "group_by_reducer.function");
    assert_fails(hr_group_by_reducer(hr_range(3), modulo_7, NULL), HR_INVALID_ARGUMENT, "group_by_reducer.function");
}

HR_ARGUMENTS(group_by_reducer, sums_from(hr_range(40), 100, 0), sums_from(hr_range(40), 101, 0),
             sums_from(hr_range(40), 100, 3));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(group_by_reducer),
        HR_CONFORMANCE_OF_ARGUMENTS(group_by_reducer),
        cmocka_unit_test(keys_come_in_rising_order),
        cmocka_unit_test(a_function_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
