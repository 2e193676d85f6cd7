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

/* Weights for `count` draws: of dataset 0, 1, 2, 0, 1, ... alone, or a half each of two of them. */
static hr_dataset *in_turn(hr_dtype dtype, int count, bool halves)
{
    static float narrow[600];
    static double wide[600];
    for (int i = 0; i < 3 * count; i++) wide[i] = i % 3 == i / 3 % 3 || (halves && i % 3 == 2);
    for (int i = 0; i < 3 * count; i++) narrow[i] = (float)wide[i];
    const hr_tensor t =
        hr_tensor_of(dtype, HR_SHAPE(count, 3), dtype == HR_FLOAT ? (const void *)narrow : (const void *)wide);
    return hr_from_tensor_slices(&t, NULL, 1);
}

static hr_dataset *varying(hr_dataset *a, hr_dataset *b, hr_dataset *c, hr_dataset *weight, bool stop)
{
    hr_dataset *in[] = {a, b, c};
    return hr_sample_from_datasets(in, 3, .weights_dataset = weight, .stop_on_empty_dataset = stop);
}

HR_SAMPLE(sample_by_a_dataset_of_weights)
{
    hr_dataset *weight = hr_repeat(in_turn(HR_FLOAT, 50, true), .count = HR_I64(4));
    return hr_batch(varying(hr_shuffle(hr_range(90), 9), hr_take(hr_range(900), 30), hr_range(60), weight, false), 7);
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
    assert_less(abs(found[0] - 1000), 150); /* five and a half standard deviations */
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

static void each_draw_may_have_weights_of_its_own(void **state)
{
    (void)state;
    for (int dtype = HR_FLOAT; dtype <= HR_DOUBLE; dtype++) {
        hr_dataset *ds = varying(constant(0), constant(1), constant(2), in_turn((hr_dtype)dtype, 7, false), false);
        assert_int64_values(ds, HR_I64(0, 1, 2, 0, 1, 2, 0), 7); /* its end is the end */
    }
    /* A draw of what has ended uses its weights, too. */
    assert_int64_values(varying(constant(0), hr_range(1), constant(2), in_turn(HR_DOUBLE, 9, false), false),
                        HR_I64(0, 0, 2, 0, 2, 0, 2), 7);
    assert_int64_values(varying(constant(0), hr_range(1), constant(2), in_turn(HR_DOUBLE, 9, false), true),
                        HR_I64(0, 0, 2, 0), 4);
    assert_int64_values(varying(hr_range(1), hr_range(1), hr_range(1), hr_repeat(in_turn(HR_FLOAT, 3, false)), false),
                        HR_I64(0, 0, 0), 3);
}

static void a_dataset_of_weights_is_checked(void **state)
{
    (void)state;
    const hr_tensor two = hr_tensor_of(HR_DOUBLE, HR_SHAPE(1, 2), ((double[]){1, 1}));
    const hr_tensor none = hr_tensor_of(HR_DOUBLE, HR_SHAPE(2, 3), ((double[]){1, 1, 1, 0, 0, 0}));
    assert_fails(varying(hr_range(9), hr_range(9), hr_range(9), hr_from_tensor_slices(&two, NULL, 1), false),
                 HR_INVALID_ARGUMENT, "sample.weights");
    assert_fails(varying(hr_range(9), hr_range(9), hr_range(9), hr_range(9), false), HR_INVALID_ARGUMENT,
                 "sample.weights");
    assert_fails(varying(hr_range(9), hr_range(9), hr_range(9), hr_from_tensor_slices(&none, NULL, 1), false),
                 HR_INVALID_ARGUMENT, "sample.weights");
}

static hr_dataset *drawn_with(hr_sample_from_datasets_opts opts)
{
    hr_dataset *in[] = {hr_range(20), hr_range(50, .start = 10)};
    return hr_sample_from_datasets_with(in, 2, &opts);
}
#define drawn(...)                                                                                                     \
    drawn_with((hr_sample_from_datasets_opts){__VA_ARGS__, .struct_size = sizeof(hr_sample_from_datasets_opts)})

HR_ARGUMENTS(sample_from_datasets, drawn(.seed = 3), drawn(.seed = 4), drawn(.seed = 3, .same_each_epoch = true),
             drawn(.seed = 3, .stop_on_empty_dataset = true), drawn(.seed = 3, .exact_proportions = true),
             drawn(.seed = 3, .weights = (const double[]){1, 2}));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(sample_from_datasets),
        HR_CONFORMANCE_OF_ARGUMENTS(sample_from_datasets),
        HR_CONFORMANCE(sample_exactly),
        HR_CONFORMANCE(sample_until_one_is_empty),
        cmocka_unit_test(datasets_come_as_often_as_their_weights_say),
        cmocka_unit_test(exact_proportions_are_spread_evenly),
        cmocka_unit_test(the_others_go_on_when_one_has_ended),
        HR_CONFORMANCE(sample_by_a_dataset_of_weights),
        cmocka_unit_test(each_draw_may_have_weights_of_its_own),
        cmocka_unit_test(a_dataset_of_weights_is_checked),
        cmocka_unit_test(weights_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
