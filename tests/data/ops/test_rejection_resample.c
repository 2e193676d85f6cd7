/* rejection_resample: the proportions of what passes, and the conformance of a pipeline with it. */
#include "tests/data/conformance.h"

static const double target[] = {1, 1, 2}, input[] = {0.5, 0.25, 0.25};

/* Half of the numbers are of class 0, a quarter each of the others. */
static int64_t class_of(const hr_element *e, void *user)
{
    (void)user;
    const int64_t value = *(const int64_t *)hr_get(e, "value")->data;
    return value == 777777 ? 9 : value % 4 < 2 ? 0 : value % 4 - 1;
}

static hr_dataset *resampled(hr_dataset *in, const double *initial)
{
    return hr_rejection_resample(in, class_of, NULL, target, 3, .initial_dist = initial, .seed = 5);
}

static hr_dataset *rejected(hr_dataset *in, const double *initial)
{
    return hr_rejection_resample(in, class_of, NULL, target, 3, .initial_dist = initial, .seed = 5,
                                 .reject_only = true);
}

HR_SAMPLE(rejection_resample) { return hr_batch(resampled(hr_shuffle(hr_range(400), 30), NULL), 4); }
HR_SAMPLE(resample_by_rejection_alone) { return hr_repeat(rejected(hr_range(200), NULL), .count = HR_I64(2)); }
HR_SAMPLE(resample_of_known_classes) { return hr_shuffle(resampled(hr_range(400), input), 20); }

/* Of about `want` elements. */
static void assert_proportions(hr_dataset *ds, int want)
{
    const hr_element *e;
    int found[3] = {0}, all = 0;
    hr_iterator *it = iterate(ds, (way){0});
    for (; hr_next(it, &e) == HR_OK; all++) {
        const int64_t class = *(const int64_t *)hr_get(e, "0")->data, value = *(const int64_t *)hr_get(e, "1")->data;
        assert_int_equal(class, value % 4 < 2 ? 0 : value % 4 - 1);
        found[class]++;
    }
    hr_iterator_free(it);
    assert_in_range(all, want - 400, want + 400);
    for (int c = 0; c < 3; c++)
        assert_in_range(found[c], (uintmax_t)all * (uintmax_t)target[c] / 4 - 160,
                        (uintmax_t)all * (uintmax_t)target[c] / 4 + 160);
}

static void classes_pass_in_the_proportions_asked_for(void **state)
{
    (void)state;
    /* Half of what is given comes as it is, so that a third of the other pass is: 8000 / 1.5. */
    assert_proportions(resampled(hr_range(8000), input), 5333);
    assert_proportions(resampled(hr_range(8000), NULL), 5333);
    /* All of class 2, half of 1, a quarter of 0. */
    assert_proportions(rejected(hr_range(8000), input), 4000);
    assert_proportions(rejected(hr_range(8000), NULL), 4000);
}

static void nothing_is_rejected_where_the_proportions_are_right(void **state)
{
    (void)state;
    const hr_element *e;
    for (int only = 0; only < 2; only++) {
        int64_t next = 0;
        hr_iterator *it = iterate(
            hr_rejection_resample(hr_range(500), class_of, NULL, input, 3, .initial_dist = input, .reject_only = only),
            (way){0});
        for (; hr_next(it, &e) == HR_OK; next++) assert_int_equal(*(const int64_t *)hr_get(e, "1")->data, next);
        hr_iterator_free(it);
        assert_int_equal(next, 500);
    }
}

static void what_has_no_class_is_refused(void **state)
{
    (void)state;
    const double none[] = {1, 0, 1};
    assert_fails(resampled(hr_range(777778, .start = 777777), input), HR_INVALID_ARGUMENT, "rejection_resample.class");
    assert_fails(resampled(hr_range(9), none), HR_INVALID_ARGUMENT, "rejection_resample.dist");
    assert_fails(hr_rejection_resample(hr_range(9), class_of, NULL, target, 0), HR_INVALID_ARGUMENT,
                 "rejection_resample.classes");
    assert_fails(hr_rejection_resample(hr_batch(hr_range(9), 2), class_of, NULL, target, 3), HR_INVALID_ARGUMENT,
                 "rejection_resample.classes");
}

HR_ARGUMENTS(rejection_resample, resampled(hr_range(60), NULL), resampled(hr_range(60), input),
             rejected(hr_range(60), NULL), hr_rejection_resample(hr_range(60), class_of, NULL, target, 3, .seed = 6),
             hr_rejection_resample(hr_range(60), class_of, NULL, input, 3, .seed = 5));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(rejection_resample),
        HR_CONFORMANCE_OF_ARGUMENTS(rejection_resample),
        HR_CONFORMANCE(resample_of_known_classes),
        HR_CONFORMANCE(resample_by_rejection_alone),
        cmocka_unit_test(nothing_is_rejected_where_the_proportions_are_right),
        cmocka_unit_test(classes_pass_in_the_proportions_asked_for),
        cmocka_unit_test(what_has_no_class_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
