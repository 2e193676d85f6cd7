/* ragged_batch: splits and values, and the conformance of a pipeline with it. */
#include "tests/data/ops/vectors.h"

HR_SAMPLE(ragged_batch) { return hr_shuffle(hr_ragged_batch(vectors(hr_shuffle(hr_range(200), 30)), 6), 5); }

static void rows_keep_their_lengths(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(hr_ragged_batch(vectors(hr_range(4)), 4), (way){0});
    assert_status(hr_next(it, &e), HR_OK);
    const hr_tensor *t = hr_get_at(e, 0);
    assert_int_equal(t->layout, HR_RAGGED);
    assert_int_equal(t->count, 6);
    assert_memory_equal(t->splits[0], ((const int32_t[]){0, 0, 1, 3, 6}), 5 * sizeof(int32_t));
    assert_memory_equal(t->data, HR_I64(1, 2, 2, 3, 3, 3), 6 * sizeof(int64_t));
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void what_is_of_one_shape_stays_dense(void **state)
{
    (void)state;
    assert_int64_values(hr_ragged_batch(hr_range(5), 2, .drop_remainder = true), HR_I64(0, 1, 2, 3), 4);
    assert_fails(hr_ragged_batch(hr_range(5), 0), HR_INVALID_ARGUMENT, "batch.size");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(ragged_batch),
        cmocka_unit_test(rows_keep_their_lengths),
        cmocka_unit_test(what_is_of_one_shape_stays_dense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
