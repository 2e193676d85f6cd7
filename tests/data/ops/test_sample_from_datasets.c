/* sample_from_datasets: proportions, ends, and the conformance of a pipeline with it. */
#include "tests/data/conformance.h"
#include <math.h>
#include <stdlib.h>

static const double weights[] = {1, 0, 3};

static hr_dataset *three(hr_dataset *a, hr_dataset *b, hr_dataset *c, const double *weight, bool exact)
{
    hr_dataset *in[] = {a, b, c};
    return hr_sample_from_datasets(in, 3, .weights = weight, .exact_proportions = exact);
}

HR_SAMPLE(sample_from_datasets)
{
    return hr_batch(three(hr_shuffle(hr_range(90), 9), hr_take(hr_range(900), 70), hr_range(60), NULL, false), 7);
}
HR_SAMPLE(sample_exactly)
{
    return hr_repeat(three(hr_shuffle(hr_range(40), 9), hr_range(70), hr_range(60), (double[]){1, 2, 2}, true),
                     .count = HR_I64(2));
}
HR_SAMPLE(sample_until_one_is_empty)
{
    hr_dataset *in[] = {hr_shuffle(hr_range(80), 9), hr_take(hr_range(900), 90)};
    return hr_sample_from_datasets(in, 2, .stop_on_empty_dataset = true, .seed = 3);
}

static hr_dataset *constant(int64_t value) { return hr_repeat(hr_range(value + 1, .start = value)); }

static void datasets_come_as_often_as_their_weights_say(void **state)
{
    (void)state;
    static int64_t value[4000];
    int found[3] = {0};
    hr_dataset *ds = hr_take(three(constant(0), constant(1), constant(2), weights, false), 4000);
    assert_int_equal(int64_values(ds, (way){0}, value, 4000), 4000);
    for (int i = 0; i < 4000; i++) found[value[i]]++;
    assert_int_equal(found[1], 0);
    assert_true(abs(found[0] - 1000) < 150); /* five and a half standard deviations */
}

static void exact_proportions_are_spread_evenly(void **state)
{
    (void)state;
    assert_int64_values(hr_take(three(constant(0), constant(1), constant(2), weights, true), 8),
                        HR_I64(2, 0, 2, 2, 2, 0, 2, 2), 8);
}

static void the_others_go_on_when_one_has_ended(void **state)
{
    (void)state;
    int64_t value[20];
    hr_dataset *ds = three(hr_range(2), hr_range(5), hr_range(4), NULL, false);
    assert_int_equal(int64_values(ds, (way){.unit_rows = 3}, value, 20), 11);
    ds = three(hr_range(2), constant(1), hr_range(4), weights, false); /* what is never drawn keeps nothing open */
    assert_int_equal(int64_values(ds, (way){.unit_rows = 3}, value, 20), 6);
}

static void weights_are_checked(void **state)
{
    (void)state;
    assert_fails(three(hr_range(2), hr_range(5), hr_range(4), (double[]){1, -1, 1}, false), HR_INVALID_ARGUMENT,
                 "sample.weights");
    assert_fails(three(hr_range(2), hr_range(5), hr_range(4), (double[]){0, 0, 0}, false), HR_INVALID_ARGUMENT,
                 "sample.weights");
    assert_fails(three(hr_range(2), hr_range(5), hr_range(4), (double[]){1, (double)NAN, 1}, false),
                 HR_INVALID_ARGUMENT, "sample.weights");
    assert_fails(hr_sample_from_datasets(NULL, 0), HR_INVALID_ARGUMENT, "sample.datasets");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(sample_from_datasets),
        HR_CONFORMANCE(sample_exactly),
        HR_CONFORMANCE(sample_until_one_is_empty),
        cmocka_unit_test(datasets_come_as_often_as_their_weights_say),
        cmocka_unit_test(exact_proportions_are_spread_evenly),
        cmocka_unit_test(the_others_go_on_when_one_has_ended),
        cmocka_unit_test(weights_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
