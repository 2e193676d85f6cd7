/* from_sparse_tensor_slices: conformance, and the rows of tensors of two and three dimensions. */
#include "tests/data/conformance.h"
#include <stdlib.h>
#include <string.h>

enum { ROWS = 120, WIDTH = 10 };

/* Row r has r % 4 values. */
static hr_dataset *rows(int64_t count, int64_t step, int64_t width, int64_t more)
{
    static int64_t index[4 * ROWS * 2], value[4 * ROWS];
    int64_t values = 0;
    for (int64_t r = 0; r < count; r++)
        for (int64_t k = 0; k < r % 4; k++, values++) {
            index[2 * values] = r, index[2 * values + 1] = k * step + r % 2;
            value[values] = 100 * r + k + more;
        }
    hr_tensor t = {.dtype = HR_INT64,
                   .layout = HR_SPARSE,
                   .shape = HR_SHAPE(count, width),
                   .count = values,
                   .data = value,
                   .indices = index};
    return hr_from_sparse_tensor_slices(&t);
}

HR_SAMPLE(from_sparse_tensor_slices) { return hr_batch(hr_shuffle(rows(ROWS, 2, WIDTH, 0), 30), 7); }
HR_ARGUMENTS(from_sparse_tensor_slices, rows(ROWS, 2, WIDTH, 0), rows(ROWS, 3, WIDTH, 0), rows(ROWS, 2, WIDTH + 1, 0),
             rows(ROWS - 1, 2, WIDTH, 0), rows(ROWS, 2, WIDTH, 1));

static void sparse_rows_have_their_values_and_places(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(rows(ROWS, 2, WIDTH, 0), (way){.workers = 2, .unit_rows = 7});
    for (int64_t r = 0; r < ROWS; r++) {
        assert_status(hr_next(it, &e), HR_OK);
        const hr_tensor *t = hr_get(e, "value");
        assert_int_equal(t->layout, HR_SPARSE);
        assert_int_equal(t->shape.rank, 1);
        assert_int_equal(t->shape.dims[0], WIDTH);
        assert_int_equal(t->count, r % 4);
        for (int64_t k = 0; k < r % 4; k++) {
            assert_int_equal(((const int64_t *)t->data)[k], 100 * r + k);
            assert_int_equal(t->indices[k], 2 * k + r % 2);
        }
    }
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void sparse_rows_of_three_dimensions_are_matrices(void **state)
{
    (void)state;
    const int64_t index[] = {0, 0, 1, 0, 1, 2, 2, 1, 0};
    const hr_view text[] = {{"a", 1}, {"b", 1}, {"c", 1}};
    const hr_tensor t = {.dtype = HR_STRING,
                         .layout = HR_SPARSE,
                         .shape = HR_SHAPE(3, 2, 3),
                         .count = 3,
                         .data = (void *)(uintptr_t)text,
                         .indices = index};
    const hr_element *e;
    hr_iterator *it = iterate(hr_from_sparse_tensor_slices(&t), (way){0});
    const int64_t counts[] = {2, 0, 1}, places[] = {0, 1, 1, 2, 1, 0};
    for (int r = 0, v = 0; r < 3; v += (int)counts[r++]) {
        assert_status(hr_next(it, &e), HR_OK);
        const hr_tensor *got = hr_get(e, "value");
        assert_int_equal(got->shape.rank, 2);
        assert_int_equal(got->count, counts[r]);
        if (got->count > 0) assert_memory_equal(got->indices, places + 2 * v, (size_t)counts[r] * 2 * sizeof *places);
        if (got->count > 0) assert_int_equal(*((const hr_view *)got->data)->data, "a c"[r]);
    }
    hr_iterator_free(it);
}

static void what_is_no_sparse_tensor_is_refused(void **state)
{
    (void)state;
    const int64_t value[2] = {0}, outside[] = {0, 0, 0, 5}, back[] = {1, 0, 0, 1}, twice[] = {0, 1, 0, 1};
    const hr_tensor dense = hr_tensor_of(HR_INT64, HR_SHAPE(2), value);
    hr_tensor t = {
        .dtype = HR_INT64, .layout = HR_SPARSE, .shape = HR_SHAPE(2, 5), .count = 2, .data = (void *)(uintptr_t)value};
    assert_fails(hr_from_sparse_tensor_slices(NULL), HR_INVALID_ARGUMENT, "from_sparse_tensor_slices.tensor");
    assert_fails(hr_from_sparse_tensor_slices(&dense), HR_INVALID_ARGUMENT, "from_sparse_tensor_slices.tensor");
    assert_fails(hr_from_sparse_tensor_slices(&t), HR_INVALID_ARGUMENT, "from_sparse_tensor_slices.tensor");
    for (int i = 0; i < 3; i++) {
        t.indices = i == 0 ? outside : i == 1 ? back : twice;
        assert_fails(hr_from_sparse_tensor_slices(&t), HR_INVALID_ARGUMENT, "from_sparse_tensor_slices.indices");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(from_sparse_tensor_slices),
        HR_CONFORMANCE_OF_ARGUMENTS(from_sparse_tensor_slices),
        cmocka_unit_test(sparse_rows_have_their_values_and_places),
        cmocka_unit_test(sparse_rows_of_three_dimensions_are_matrices),
        cmocka_unit_test(what_is_no_sparse_tensor_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
