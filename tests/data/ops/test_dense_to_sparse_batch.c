/* dense_to_sparse_batch: values and their places, and the conformance of a pipeline with it. */
#include "tests/data/ops/vectors.h"

HR_SAMPLE(dense_to_sparse_batch)
{
    return hr_shuffle(hr_dense_to_sparse_batch(vectors(hr_shuffle(hr_range(200), 30)), 6, HR_SHAPE(9)), 5);
}

static void assert_sparse(hr_dataset *ds, hr_shape shape, const int64_t *index, const int64_t *value, int count)
{
    const hr_element *e;
    hr_iterator *it = iterate(ds, (way){0});
    const hr_status st = hr_next(it, &e);
    if (st != HR_OK) fail_msg("%s", hr_iterator_error(it)->text);
    const hr_tensor *t = hr_get_at(e, 0);
    assert_int_equal(t->layout, HR_SPARSE);
    assert_shape(t->shape, shape);
    assert_int_equal(t->count, count);
    assert_memory_equal(t->data, value, (size_t)count * sizeof *value);
    assert_memory_equal(t->indices, index, (size_t)count * (size_t)shape.rank * sizeof *index);
    hr_iterator_free(it);
}

static void every_value_has_its_place(void **state)
{
    (void)state;
    assert_sparse(hr_dense_to_sparse_batch(vectors(hr_range(3)), 3, HR_SHAPE(4)), HR_SHAPE(3, 4),
                  HR_I64(1, 0, 2, 0, 2, 1), HR_I64(1, 2, 2), 3);
    assert_sparse(hr_dense_to_sparse_batch(vectors(hr_range(3)), 3, HR_SHAPE(-1)), HR_SHAPE(3, 2),
                  HR_I64(1, 0, 2, 0, 2, 1), HR_I64(1, 2, 2), 3);
}

static void rows_of_several_dimensions_have_places_in_the_larger_shape(void **state)
{
    (void)state;
    const hr_tensor t = hr_tensor_of(HR_INT64, HR_SHAPE(1, 2, 2), HR_I64(5, 6, 7, 8));
    assert_sparse(hr_dense_to_sparse_batch(hr_from_tensor_slices(&t, NULL, 1), 1, HR_SHAPE(2, 3)), HR_SHAPE(1, 2, 3),
                  HR_I64(0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1), HR_I64(5, 6, 7, 8), 4);
}

static void rows_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    assert_fails(hr_dense_to_sparse_batch(vectors(hr_range(4)), 2, HR_SHAPE(2)), HR_DATA_LOSS,
                 "dense_to_sparse_batch.too_large");
    assert_fails(hr_dense_to_sparse_batch(vectors(hr_range(4)), 2, HR_SHAPE(2, 2)), HR_INVALID_ARGUMENT,
                 "dense_to_sparse_batch.shape");
    assert_fails(hr_dense_to_sparse_batch(hr_enumerate(hr_range(4)), 2, HR_SHAPE(2)), HR_INVALID_ARGUMENT,
                 "dense_to_sparse_batch.component");
}

HR_ARGUMENTS(dense_to_sparse_batch, hr_dense_to_sparse_batch(vectors(hr_range(20)), 6, HR_SHAPE(9)),
             hr_dense_to_sparse_batch(vectors(hr_range(20)), 5, HR_SHAPE(9)),
             hr_dense_to_sparse_batch(vectors(hr_range(20)), 6, HR_SHAPE(8)));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(dense_to_sparse_batch),
        HR_CONFORMANCE_OF_ARGUMENTS(dense_to_sparse_batch),
        cmocka_unit_test(every_value_has_its_place),
        cmocka_unit_test(rows_of_several_dimensions_have_places_in_the_larger_shape),
        cmocka_unit_test(rows_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
