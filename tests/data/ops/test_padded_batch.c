/* padded_batch: what is padded with what, and the conformance of a pipeline with it. */
#include "tests/data/ops/vectors.h"

HR_SAMPLE(padded_batch) { return hr_shuffle(hr_padded_batch(vectors(hr_shuffle(hr_range(200), 30)), 6), 5); }
HR_SAMPLE(padded_to_a_width)
{
    return hr_padded_batch(vectors(hr_shuffle(hr_range(200), 30)), 6, .padded_shapes = &HR_SHAPE(7),
                           .padding_values = &(hr_tensor){.count = 1, .dtype = HR_INT64, .data = (void *)HR_I64(-1)});
}
HR_SAMPLE(padded_too_narrow)
{
    return hr_padded_batch(vectors(hr_range(40, .start = 5)), 3, .padded_shapes = &HR_SHAPE(3));
}

static void assert_tensor(hr_dataset *ds, hr_shape shape, const int64_t *want)
{
    const hr_element *e;
    hr_iterator *it = iterate(ds, (way){.unit_rows = 2});
    const hr_status st = hr_next(it, &e);
    if (st != HR_OK) fail_msg("%s", hr_iterator_error(it)->text);
    const hr_tensor *t = hr_get_at(e, 0);
    assert_shape(t->shape, shape);
    assert_memory_equal(t->data, want, (size_t)hr_shape_count(shape) * sizeof *want);
    hr_iterator_free(it);
}

static void rows_are_padded_to_the_longest_of_their_batch(void **state)
{
    (void)state;
    assert_tensor(hr_padded_batch(vectors(hr_range(4)), 4), HR_SHAPE(4, 3), HR_I64(0, 0, 0, 1, 0, 0, 2, 2, 0, 3, 3, 3));
    assert_tensor(hr_padded_batch(vectors(hr_range(2)), 4), HR_SHAPE(2, 1), HR_I64(0, 1));
}

static void rows_are_padded_to_the_shape_that_is_asked_for(void **state)
{
    (void)state;
    const hr_tensor minus = hr_tensor_of(HR_INT64, HR_SCALAR, HR_I64(-1));
    assert_tensor(hr_padded_batch(vectors(hr_range(2)), 4, .padded_shapes = &HR_SHAPE(2), .padding_values = &minus),
                  HR_SHAPE(2, 2), HR_I64(-1, -1, 1, -1));
    assert_tensor(hr_padded_batch(vectors(hr_range(4, .start = 2)), 4, .padded_shapes = &HR_SHAPE(4)), HR_SHAPE(2, 4),
                  HR_I64(2, 2, 0, 0, 3, 3, 3, 0));
}

static void known_shapes_are_padded_in_every_dimension(void **state)
{
    (void)state;
    const hr_tensor t = hr_tensor_of(HR_INT64, HR_SHAPE(1, 2, 1), HR_I64(5, 6));
    hr_dataset *ds = hr_from_tensor_slices(&t, NULL, 1);
    assert_tensor(hr_padded_batch(ds, 1, .padded_shapes = &HR_SHAPE(-1, 3)), HR_SHAPE(1, 2, 3),
                  HR_I64(5, 0, 0, 6, 0, 0));
}

static void strings_are_padded_with_strings(void **state)
{
    (void)state;
    const hr_element *e;
    const hr_tensor t = hr_tensor_of(HR_STRING, HR_SHAPE(1, 1), &(hr_view){"ab", 2});
    const hr_tensor dash = hr_tensor_of(HR_STRING, HR_SCALAR, &(hr_view){"-", 1});
    hr_dataset *ds = hr_from_tensor_slices(&t, NULL, 1);
    hr_iterator *it = iterate(hr_padded_batch(ds, 2, .padded_shapes = &HR_SHAPE(2), .padding_values = &dash), (way){0});
    assert_status(hr_next(it, &e), HR_OK);
    const hr_view *view = hr_get_at(e, 0)->data;
    assert_memory_equal(view[0].data, "ab", 2);
    assert_int_equal(view[1].size, 1);
    assert_memory_equal(view[1].data, "-", 1);
    hr_iterator_free(it);
}

static void padded_batch_refuses_what_cannot_be_padded(void **state)
{
    (void)state;
    const hr_tensor text = hr_tensor_of(HR_STRING, HR_SCALAR, &(hr_view){"-", 1});
    assert_fails(hr_padded_batch(vectors(hr_range(4)), 2, .padded_shapes = &HR_SHAPE(2, 2)), HR_INVALID_ARGUMENT,
                 "padded_batch.shape");
    assert_fails(hr_padded_batch(vectors(hr_range(4)), 2, .padding_values = &text), HR_INVALID_ARGUMENT,
                 "padded_batch.value");
    assert_fails(hr_padded_batch(vectors(hr_range(4)), 4, .padded_shapes = &HR_SHAPE(2)), HR_DATA_LOSS,
                 "padded_batch.too_long");
    assert_fails(hr_padded_batch(hr_batch(hr_range(4), 2), 4, .padded_shapes = &HR_SCALAR), HR_UNIMPLEMENTED,
                 "padded_batch.levels");
    assert_fails(hr_padded_batch(vectors(hr_range(4)), 0), HR_INVALID_ARGUMENT, "batch.size");
}

static void a_plain_batch_refuses_uneven_rows(void **state)
{
    (void)state;
    assert_fails(hr_batch(vectors(hr_range(2)), 2), HR_INVALID_ARGUMENT, "batch.rows");
    assert_fails(hr_window(vectors(hr_range(2)), 2), HR_INVALID_ARGUMENT, "batch.rows");
    assert_tensor(hr_batch(vectors(hr_range(12, .start = 2, .step = 5)), 2), HR_SHAPE(2, 2), HR_I64(2, 2, 7, 7));
}

static hr_dataset *padded_to(int64_t width, int64_t pad)
{
    const hr_tensor value = {.count = 1, .dtype = HR_INT64, .data = &pad};
    return hr_padded_batch(vectors(hr_range(20)), 6, .padded_shapes = &HR_SHAPE(width), .padding_values = &value);
}

HR_ARGUMENTS(padded_batch, padded_to(7, 0), padded_to(8, 0), padded_to(7, 5));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(padded_batch),
        HR_CONFORMANCE_OF_ARGUMENTS(padded_batch),
        HR_CONFORMANCE(padded_to_a_width),
        HR_CONFORMANCE_OF_FAILURE(padded_too_narrow),
        cmocka_unit_test(rows_are_padded_to_the_longest_of_their_batch),
        cmocka_unit_test(rows_are_padded_to_the_shape_that_is_asked_for),
        cmocka_unit_test(known_shapes_are_padded_in_every_dimension),
        cmocka_unit_test(strings_are_padded_with_strings),
        cmocka_unit_test(padded_batch_refuses_what_cannot_be_padded),
        cmocka_unit_test(a_plain_batch_refuses_uneven_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
