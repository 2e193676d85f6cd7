/* from_tensor_slices: rows of several tensors side by side. */
#include "tests/data/conformance.h"
#include <stdio.h>

enum { ROWS = 90 };

static hr_dataset *table(void)
{
    static int64_t matrix[ROWS][2];
    static hr_view text[ROWS];
    static char bytes[ROWS][8];
    for (int r = 0; r < ROWS; r++) {
        matrix[r][0] = r, matrix[r][1] = -r;
        text[r] = (hr_view){bytes[r], snprintf(bytes[r], sizeof bytes[r], "r%d", r * r)};
    }
    hr_tensor tensors[] = {hr_tensor_of(HR_INT64, HR_SHAPE(ROWS, 2), matrix),
                           hr_tensor_of(HR_STRING, HR_SHAPE(ROWS), text)};
    return hr_from_tensor_slices(tensors, (const char *const[]){"matrix", "text"}, 2);
}

/* Three rows, or what there is of them. */
static hr_dataset *numbered(int64_t first)
{
    hr_dataset *slices = table();
    const hr_op *op = hr_dataset_op(slices); /* NULL: no memory for them */
    if (!op) return slices;
    hr_dataset *ds = op->by_number(slices, hr_range(first + 3, .start = first));
    hr_dataset_unref(slices);
    return ds;
}

HR_SAMPLE(from_tensor_slices) { return hr_batch(hr_shuffle(table(), 20), 4); }
HR_SAMPLE(slices_by_number) { return hr_batch(hr_ignore_errors(numbered(ROWS - 2)), 4); }
HR_SAMPLE(slices_in_epochs) { return hr_repeat(table(), .count = HR_I64(3)); }

static void slices_have_the_rows_of_each_tensor(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(table(), (way){.unit_rows = 7});
    for (int64_t r = 0; r < ROWS; r++) {
        assert_status(hr_next(it, &e), HR_OK);
        const hr_tensor *matrix = hr_get(e, "matrix"), *text = hr_get(e, "text");
        assert_shape(matrix->shape, HR_SHAPE(2));
        assert_memory_equal(matrix->data, HR_I64(r, -r), 2 * sizeof(int64_t));
        char want[32];
        const int size = snprintf(want, sizeof want, "r%lld", (long long)(r * r));
        const hr_view *view = text->data;
        assert_int_equal(view->size, size);
        assert_memory_equal(view->data, want, (size_t)size);
    }
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

/* A shuffle right above moves numbers; one above a prefetch moves the rows. */
static void rows_by_number_have_the_order_of_moved_rows(void **state)
{
    (void)state;
    static run numbers, rows;
    for (int size = 1; size <= ROWS + 1; size += 30) {
        run_all(&numbers, hr_shuffle(table(), size, .seed = 4), (way){.unit_rows = 7});
        run_all(&rows, hr_shuffle(hr_prefetch(table(), 1), size, .seed = 4), (way){.unit_rows = 7});
        assert_same_run(&numbers, &rows);
    }
}

static void numbers_are_those_of_rows(void **state)
{
    (void)state;
    static run got;
    run_all(&got, numbered(ROWS - 3), (way){0});
    assert_status(got.end, HR_END);
    assert_int_equal(got.count, 3);
    run_all(&got, numbered(ROWS - 2), (way){0});
    assert_status(got.end, HR_OUT_OF_RANGE);
    assert_int_equal(got.count, 2);
    run_all(&got, numbered(-1), (way){0});
    assert_status(got.end, HR_OUT_OF_RANGE);
    assert_int_equal(got.count, 0);
    run_all(&got, hr_ignore_errors(numbered(-1)), (way){0});
    assert_status(got.end, HR_END);
    assert_int_equal(got.count, 2);
}

static void slices_need_equally_many_rows(void **state)
{
    (void)state;
    static run got;
    hr_tensor tensors[] = {hr_tensor_of(HR_INT64, HR_SHAPE(2), HR_I64(1, 2)),
                           hr_tensor_of(HR_INT64, HR_SHAPE(3), HR_I64(1, 2, 3))};
    run_all(&got, hr_from_tensor_slices(tensors, NULL, 2), (way){0});
    assert_status(got.end, HR_INVALID_ARGUMENT);
    hr_tensor scalar = hr_tensor_of(HR_INT64, HR_SCALAR, HR_I64(1));
    run_all(&got, hr_from_tensor_slices(&scalar, NULL, 1), (way){0});
    assert_status(got.end, HR_INVALID_ARGUMENT);
}

static void slices_need_values(void **state)
{
    (void)state;
    run got;
    const hr_dtype dtypes[] = {HR_INT64, HR_STRING};
    for (int i = 0; i < 2; i++) {
        const hr_tensor t = {.dtype = dtypes[i], .shape = HR_SHAPE(3), .count = 3};
        run_all(&got, hr_from_tensor_slices(&t, NULL, 1), (way){0});
        assert_status(got.end, HR_INVALID_ARGUMENT);
        run_all(&got, hr_from_tensors(&t, NULL, 1), (way){0});
        assert_status(got.end, HR_INVALID_ARGUMENT);
    }
}

static hr_dataset *slices(const int64_t *value, int64_t rows, const char *name)
{
    const hr_tensor t = hr_tensor_of(HR_INT64, HR_SHAPE(rows), value);
    return hr_from_tensor_slices(&t, &name, 1);
}

HR_ARGUMENTS(from_tensor_slices, slices(HR_I64(1, 2, 3, 4), 4, "a"), slices(HR_I64(1, 2, 3, 5), 4, "a"),
             slices(HR_I64(1, 2, 3), 3, "a"), slices(HR_I64(1, 2, 3, 4), 4, "b"));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(from_tensor_slices),
        HR_CONFORMANCE_OF_ARGUMENTS(from_tensor_slices),
        HR_CONFORMANCE(slices_in_epochs),
        HR_CONFORMANCE(slices_by_number),
        cmocka_unit_test(slices_have_the_rows_of_each_tensor),
        cmocka_unit_test(rows_by_number_have_the_order_of_moved_rows),
        cmocka_unit_test(numbers_are_those_of_rows),
        cmocka_unit_test(slices_need_equally_many_rows),
        cmocka_unit_test(slices_need_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
