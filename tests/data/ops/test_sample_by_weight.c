/* sample_by_weight: conformance, and how often elements come. */
#include "tests/data/conformance.h"
#include <math.h>
#include <string.h>

enum { ROWS = 240 };

/* Elements "value" 0, 1, ... with a "weight" of a fifth of it modulo 11: 0 to 2. */
static hr_dataset *weighted(int64_t rows, double scale, uint64_t seed, bool same)
{
    static int64_t value[20000];
    static float weight[20000];
    static const char *const names[] = {"value", "weight"};
    for (int64_t i = 0; i < rows; i++) value[i] = i, weight[i] = (float)(i % 11) / 5;
    const hr_tensor t[] = {hr_tensor_of(HR_INT64, HR_SHAPE(rows), value),
                           hr_tensor_of(HR_FLOAT, HR_SHAPE(rows), weight)};
    return hr_sample_by_weight(hr_from_tensor_slices(t, names, 2), "weight", .scale = scale, .seed = seed,
                               .same_each_epoch = same);
}

/* Over a shuffle, weights are the rows' own numbers. */
HR_SAMPLE(sample_by_weight)
{
    return hr_batch(hr_sample_by_weight(hr_shuffle(hr_range(40), 10), "value", .scale = 0.07), 7);
}
HR_SAMPLE(sample_by_weight_of_rows) { return hr_repeat(weighted(60, 3, 0, false), .count = HR_I64(2)); }
HR_ARGUMENTS(sample_by_weight, weighted(ROWS, 1, 1, false), weighted(ROWS, 2, 1, false), weighted(ROWS, 1, 2, false),
             weighted(ROWS, 1, 1, true), hr_sample_by_weight(hr_range(3), "value"));

static void elements_come_in_order_and_as_often_as_their_weights_say(void **state)
{
    (void)state;
    static int64_t got[40000], times[11];
    const int rows = 11000, count = int64_values(weighted(rows, 0, 7, false), (way){.workers = 2}, got, 40000);
    for (int i = 0; i < count; i++) {
        if (i > 0) assert_true(got[i] >= got[i - 1]);
        times[got[i] % 11]++;
    }
    for (int w = 0; w < 11; w++) {
        const double mean = rows / 11 * w / 5.0, part = w / 5.0 - floor(w / 5.0);
        if (part == 0) assert_int_equal(times[w], (int)mean);
        assert_true(fabs((double)times[w] - mean) <= 5 * sqrt(rows / 11 * part * (1 - part)));
    }
}

static void whole_weights_repeat_elements_exactly(void **state)
{
    (void)state;
    const int64_t want[] = {1, 2, 2, 3, 3, 3};
    assert_int64_values(hr_sample_by_weight(hr_range(4), "value"), want, 6);
    const int64_t five[] = {1, 1, 1, 1, 1};
    assert_int64_values(hr_sample_by_weight(hr_range(2), "value", .scale = 5), five, 5);
}

static void epochs_have_draws_of_their_own(void **state)
{
    (void)state;
    static int64_t got[8000];
    for (int same = 0; same < 2; same++) {
        hr_dataset *ds = hr_repeat(weighted(ROWS, 0.5, 3, same), .count = HR_I64(2));
        const int count = int64_values(ds, (way){0}, got, 8000);
        int first = 1;
        while (first < count && got[first] >= got[first - 1]) first++;
        const bool alike = count == 2 * first && memcmp(got, got + first, (size_t)first * sizeof *got) == 0;
        assert_int_equal(alike, same);
    }
}

static void weights_that_are_none_are_refused(void **state)
{
    (void)state;
    assert_fails(hr_sample_by_weight(hr_range(3), "weight"), HR_INVALID_ARGUMENT, "sample_by_weight.component");
    assert_fails(hr_sample_by_weight(hr_batch(hr_range(3), 2), "value"), HR_INVALID_ARGUMENT,
                 "sample_by_weight.component");
    assert_fails(hr_sample_by_weight(hr_range(3), "value", .scale = -1), HR_INVALID_ARGUMENT, "sample_by_weight.scale");
    assert_fails(hr_sample_by_weight(hr_range(-3, .step = -1), "value"), HR_INVALID_ARGUMENT,
                 "sample_by_weight.weight");
    assert_fails(hr_sample_by_weight(hr_range(3), "value", .scale = 1e300), HR_INVALID_ARGUMENT,
                 "sample_by_weight.weight");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(sample_by_weight),
        HR_CONFORMANCE(sample_by_weight_of_rows),
        HR_CONFORMANCE_OF_ARGUMENTS(sample_by_weight),
        cmocka_unit_test(elements_come_in_order_and_as_often_as_their_weights_say),
        cmocka_unit_test(whole_weights_repeat_elements_exactly),
        cmocka_unit_test(epochs_have_draws_of_their_own),
        cmocka_unit_test(weights_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
