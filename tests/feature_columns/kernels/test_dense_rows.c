/* The kernels of rows with one id each, each against a naive rival: every width around a vector's, any stride, nothing
 * written beside the rows, ids that do not fit. */
#include "base/cpu.h"
#include "feature_columns/kernels/dense_rows.h"
#include "tests/testing.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 200, BUCKETS = 90, WIDEST = 70, UNTOUCHED = 0x5a };

static const unsigned limits[] = {0, HR__AVX2, ~0u};

typedef struct matrix {
    int64_t width, stride;
    float *row;
    size_t bytes;
} matrix;

/* Ends where its last row does, so that a sanitizer sees what is written beyond it. */
static matrix new_matrix(int64_t width, int64_t stride)
{
    matrix m = {width, stride, .bytes = (size_t)((ROWS - 1) * stride + width) * sizeof(float)};
    m.row = malloc(m.bytes);
    assert_non_null(m.row);
    memset(m.row, UNTOUCHED, m.bytes);
    return m;
}

static void assert_same(const matrix *fast, const matrix *naive)
{
    assert_memory_equal(fast->row, naive->row, naive->bytes);
    free(fast->row);
    free(naive->row);
}

static void every_kernel_gathers_the_rows(void **state)
{
    (void)state;
    int64_t ids[ROWS];
    for (int r = 0; r < ROWS; r++) ids[r] = hr_random_below(1, (uint64_t)r, BUCKETS);
    for (int64_t width = 1; width <= WIDEST; width++) {
        float *table = malloc((size_t)(BUCKETS * width) * sizeof *table);
        for (int64_t i = 0; i < BUCKETS * width; i++) table[i] = (float)i;
        for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
            matrix fast = new_matrix(width, width + (int64_t)k), naive = new_matrix(width, width + (int64_t)k);
            hr__cpu_limit(limits[k]);
            hr__gather_rows(table, width, ids, ROWS, fast.row, fast.stride);
            for (int64_t r = 0; r < ROWS; r++)
                for (int64_t d = 0; d < width; d++) naive.row[r * naive.stride + d] = table[ids[r] * width + d];
            assert_same(&fast, &naive);
        }
        free(table);
    }
    hr__cpu_limit(~0u);
}

static void every_kernel_puts_the_ones(void **state)
{
    (void)state;
    const int64_t odd[] = {-1, INT64_MIN, INT64_MAX, INT64_C(1) << 32, (INT64_C(1) << 32) + 3, UINT32_MAX};
    for (int64_t width = 1; width <= WIDEST; width++) {
        int64_t ids[ROWS];
        for (int r = 0; r < ROWS; r++) ids[r] = r % 5 == 0 ? odd[r / 5 % 6] : r % width;
        ids[ROWS - 1] = width; /* the first place beside the row */
        for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
            matrix fast = new_matrix(width, width + 3 * (int64_t)k), naive = new_matrix(width, width + 3 * (int64_t)k);
            hr__cpu_limit(limits[k]);
            hr__one_hot_rows(ids, ROWS, width, fast.row, fast.stride);
            for (int64_t r = 0; r < ROWS; r++)
                for (int64_t d = 0; d < width; d++) naive.row[r * naive.stride + d] = d == ids[r];
            assert_same(&fast, &naive);
        }
    }
    hr__cpu_limit(~0u);
}

static void ids_fit_only_inside_the_table(void **state)
{
    (void)state;
    const int64_t outside[] = {-1, 40, INT64_MIN, INT64_MAX};
    int64_t ids[] = {0, 39, 7, 39, 12};
    assert_true(hr__ids_fit(ids, 5, 40));
    assert_true(hr__ids_fit(ids, 0, 0));
    for (size_t i = 0; i < 4; i++) {
        ids[3] = outside[i];
        assert_false(hr__ids_fit(ids, 5, 40));
        assert_true(hr__ids_fit(ids, 3, 40));
    }
}

static void one_each_is_seen_from_any_row_on(void **state)
{
    (void)state;
    const int32_t each[] = {4, 5, 6, 7}, twice[] = {4, 5, 7, 7}, none[] = {0, 0, 1, 2};
    assert_true(hr__one_each(each, 3));
    assert_true(hr__one_each(none + 1, 2));
    assert_true(hr__one_each(twice, 1));
    assert_false(hr__one_each(twice, 3));
    assert_false(hr__one_each(twice, 2));
    assert_false(hr__one_each(none, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_gathers_the_rows),
        cmocka_unit_test(every_kernel_puts_the_ones),
        cmocka_unit_test(ids_fit_only_inside_the_table),
        cmocka_unit_test(one_each_is_seen_from_any_row_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
