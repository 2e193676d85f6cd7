/* batch: sizes, remainders, batches of batches. */
#include "tests/data/conformance.h"

HR_SAMPLE(batch) { return hr_shuffle(hr_batch(hr_shuffle(hr_range(300), 40), 7), 5); }
HR_SAMPLE(batch_of_batches) { return hr_take(hr_batch(hr_batch(hr_shuffle(hr_range(300), 40), 5), 3), 17); }
HR_SAMPLE(batch_larger_than_a_unit) { return hr_batch(hr_shuffle(hr_range(3000), 100), 1100); }

static void assert_sizes(hr_dataset *ds, const int64_t *size, int count)
{
    const hr_element *e;
    hr_iterator *it = iterate(ds, (way){.unit_rows = 3});
    for (int i = 0; i < count; i++) {
        assert_int_equal(hr_next(it, &e), HR_OK);
        assert_int_equal(hr_get(e, "value")->shape.rank, 1);
        assert_int_equal(hr_get(e, "value")->shape.dims[0], size[i]);
    }
    assert_int_equal(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void batch_keeps_or_drops_the_remainder(void **state)
{
    (void)state;
    assert_sizes(hr_batch(hr_range(7), 3), HR_I64(3, 3, 1), 3);
    assert_sizes(hr_batch(hr_range(7), 3, .drop_remainder = true), HR_I64(3, 3), 2);
    assert_sizes(hr_batch(hr_range(6), 3), HR_I64(3, 3), 2);
    assert_sizes(hr_batch(hr_range(2), 9), HR_I64(2), 1);
    assert_sizes(hr_batch(hr_range(2), 9, .drop_remainder = true), NULL, 0);
    assert_sizes(hr_batch(hr_range(0), 9), NULL, 0);
}

static void batch_refuses_sizes_below_one(void **state)
{
    (void)state;
    static run got;
    static const int64_t sizes[] = {0, -1, INT64_MIN};
    for (int i = 0; i < 3; i++) {
        run_all(&got, hr_batch(hr_range(5), sizes[i]), (way){0});
        assert_int_equal(got.end, HR_INVALID_ARGUMENT);
    }
}

static void batches_of_one_shape_can_be_batched(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(hr_batch(hr_batch(hr_range(12), 2), 3), (way){0});
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hr_next(it, &e), HR_OK);
        assert_true(hr_shape_equal(hr_get(e, "value")->shape, HR_SHAPE(3, 2)));
    }
    assert_int_equal(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void batches_of_different_shapes_cannot(void **state)
{
    (void)state;
    static run got;
    run_all(&got, hr_batch(hr_batch(hr_range(7), 2), 4), (way){0});
    assert_int_equal(got.end, HR_INVALID_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(batch),
        HR_CONFORMANCE(batch_of_batches),
        HR_CONFORMANCE(batch_larger_than_a_unit),
        cmocka_unit_test(batch_keeps_or_drops_the_remainder),
        cmocka_unit_test(batch_refuses_sizes_below_one),
        cmocka_unit_test(batches_of_one_shape_can_be_batched),
        cmocka_unit_test(batches_of_different_shapes_cannot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
