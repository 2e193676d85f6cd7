/* The dense forms of a batch side by side: every form in its place, in the order of names, and what cannot be done
 * named. */
#include "tests/feature_columns/columns_testing.h"

#include <headrace/data.h>
#include <string.h>

enum { ROWS = 3, COLUMNS = 4, WIDTH = 2 + 3 + 2 + 1 };

static hr_dataset *source(void)
{
    static const int64_t kind[ROWS] = {2, 0, 1};
    static const float pair[ROWS * 2] = {1, 2, 3, 4, 5, 6}, price[ROWS] = {7, 8, 9}, share[ROWS] = {.5f, 2, 4};
    const hr_tensor tensors[] = {
        hr_tensor_of(HR_INT64, HR_SHAPE(ROWS), kind),
        hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS, 2), pair),
        hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS), price),
        hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS), share),
    };
    const char *const names[] = {"kind", "pair", "price", "share"};
    return hr_from_tensor_slices(tensors, names, 4);
}

static hr_feature_column *kinds(void) { return hr_categorical_column_with_identity("kind", 3); }

/* In the order of their names: kind_embedding, kind_weighted_by_share_indicator, pair, price. */
static void make_columns(hr_feature_column **column)
{
    column[0] = hr_numeric_column("price");
    column[1] = hr_numeric_column("pair", .shape = HR_SHAPE(2));
    column[2] = hr_indicator_column(hr_weighted_categorical_column(kinds(), "share"));
    column[3] = hr_embedding_column(kinds(), 2);
}

typedef struct fixture {
    hr_feature_column *column[COLUMNS];
    const hr_feature_column *sorted[COLUMNS];
    hr_iterator *it;
    const hr_element *batch;
} fixture;

/* The first `transformed` columns go through the pipeline, in batches if `batch_size` is not 0. */
static void open_fixture(fixture *f, int transformed, int64_t batch_size)
{
    hr_error err;
    make_columns(f->column);
    assert_ok(hr_sort_columns((hr_column_list){f->column, COLUMNS}, HR_INPUT_LAYER, f->sorted, &err), &err);
    hr_dataset *ds = source();
    if (batch_size) ds = hr_batch(ds, batch_size);
    f->it = hr_iterate(hr_transform_features(ds, ((hr_column_list){f->column, transformed})));
    assert_status(hr_next(f->it, &f->batch), HR_OK);
}

static void close_fixture(fixture *f)
{
    hr_iterator_free(f->it);
    for (int i = 0; i < COLUMNS; i++) hr_feature_column_unref(f->column[i]);
}

static const float table[] = {10, 11, 20, 21, 30, 31};
static const float *const tables[COLUMNS] = {table};

static void each_form_has_its_place_in_the_row(void **state)
{
    (void)state;
    const float expected[ROWS][WIDTH] = {
        {30, 31, 0, 0, .5f, 1, 2, 7},
        {10, 11, 2, 0, 0, 3, 4, 8},
        {20, 21, 0, 4, 0, 5, 6, 9},
    };
    float out[ROWS][WIDTH];
    fixture f;
    hr_error err;
    open_fixture(&f, COLUMNS, ROWS);
    assert_int_equal(hr_dense_width(f.sorted, COLUMNS), WIDTH);
    assert_ok(hr_dense_features(f.sorted, COLUMNS, f.batch, tables, &out[0][0], &err), &err);
    assert_memory_equal(out, expected, sizeof out);

    /* Some of them, which need no table. */
    float narrow[ROWS][3];
    assert_int_equal(hr_dense_width(f.sorted + 2, 2), 3);
    assert_ok(hr_dense_features(f.sorted + 2, 2, f.batch, NULL, &narrow[0][0], &err), &err);
    for (int r = 0; r < ROWS; r++) assert_memory_equal(narrow[r], expected[r] + 5, sizeof narrow[r]);
    close_fixture(&f);
}

static void assert_wrong(const fixture *f, const float *const *with, const char *kind, const char *text)
{
    float out[ROWS * WIDTH];
    hr_error err;
    assert_status(hr_dense_features(f->sorted, COLUMNS, f->batch, with, out, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, kind);
    if (!strstr(err.text, text)) fail_msg("%s", err.text);
}

static void what_cannot_be_done_is_named(void **state)
{
    (void)state;
    fixture f;
    open_fixture(&f, COLUMNS, ROWS);
    assert_wrong(&f, NULL, "column.table", "kind_embedding");
    close_fixture(&f);
    open_fixture(&f, 2, ROWS);
    assert_wrong(&f, tables, "column.batch", "\"kind\"");
    close_fixture(&f);
    open_fixture(&f, COLUMNS, 0);
    assert_wrong(&f, tables, "column.batch", "got one of shape");
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_form_has_its_place_in_the_row),
        cmocka_unit_test(what_cannot_be_done_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
