/* from_arrow: rows of arrays that lie in another library's memory; here they are made by hand. */
#include "tests/data/conformance.h"
#include <headrace/arrow.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 90 };

/* An array as a test writes it down. */
typedef struct column {
    const char *format, *name;
    int64_t length, offset;
    int buffers;
    const void *buffer[3];
    const struct column *child; /* of a list */
    struct ArrowSchema *dictionary;
} column;

static int live; /* structs that are not released yet */

static void release_schema(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        schema->children[i]->release(schema->children[i]);
        free(schema->children[i]);
    }
    free(schema->children);
    schema->release = NULL;
    live--;
}

static void release_array(struct ArrowArray *array)
{
    for (int64_t i = 0; i < array->n_children; i++) {
        array->children[i]->release(array->children[i]);
        free(array->children[i]);
    }
    free(array->children);
    free(array->buffers);
    array->release = NULL;
    live--;
}

static void make(const column *c, const column *children, int count, struct ArrowSchema *schema,
                 struct ArrowArray *array)
{
    *schema = (struct ArrowSchema){.format = c->format, .name = c->name, .flags = ARROW_FLAG_NULLABLE};
    *array = (struct ArrowArray){.length = c->length, .null_count = -1, .offset = c->offset, .n_buffers = c->buffers};
    schema->dictionary = c->dictionary;
    schema->release = release_schema;
    array->release = release_array;
    array->buffers = calloc(3, sizeof *array->buffers);
    memcpy(array->buffers, c->buffer, sizeof c->buffer);
    schema->n_children = array->n_children = count;
    schema->children = calloc((size_t)count + 1, sizeof *schema->children);
    array->children = calloc((size_t)count + 1, sizeof *array->children);
    for (int i = 0; i < count; i++) {
        schema->children[i] = calloc(1, sizeof **schema->children);
        array->children[i] = calloc(1, sizeof **array->children);
        make(&children[i], children[i].child, children[i].child != NULL, schema->children[i], array->children[i]);
    }
    live += 2;
}

static hr_dataset *dataset_of(column table, const column *children, int count, const hr_parse_spec *spec)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    make(&table, children, count, &schema, &array);
    hr_dataset *ds = hr_from_arrow(&array, &schema, .spec = spec);
    assert_true(!array.release && !schema.release); /* moved */
    return ds;
}

/* ---- a table of every type ---- */

static double real[ROWS];
static int32_t small[ROWS], bag_offsets[ROWS + 1], text_offsets[ROWS + 1];
static int64_t big_offsets[ROWS + 1], bag[3 * ROWS];
static float pair[2 * ROWS];
static uint8_t flags[(ROWS + 7) / 8], valid[(ROWS + 7) / 8];
static char letters[3 * ROWS];

static bool is_valid(int row) { return row % 7 != 3; }

/* Row r has r % 4 values in its bag and r % 3 letters. */
static void fill_table(void)
{
    memset(valid, 0, sizeof valid);
    for (int r = 0; r < ROWS; r++) {
        real[r] = r / 2.0;
        small[r] = -r;
        pair[2 * r] = (float)r, pair[2 * r + 1] = (float)-r;
        if (r % 2) flags[r / 8] = (uint8_t)(flags[r / 8] | 1 << r % 8);
        if (is_valid(r)) valid[r / 8] = (uint8_t)(valid[r / 8] | 1 << r % 8);
        bag_offsets[r + 1] = bag_offsets[r] + r % 4;
        big_offsets[r + 1] = text_offsets[r + 1] = text_offsets[r] + r % 3;
    }
    for (int i = 0; i < 3 * ROWS; i++) bag[i] = 1000 + i;
    for (int i = 0; i < 3 * ROWS; i++) letters[i] = (char)('a' + i % 26);
}

static const column bag_values = {"l", "item", 3 * ROWS, 0, 2, {NULL, bag}, NULL, NULL};
static const column pair_values = {"f", "item", 2 * ROWS, 0, 2, {NULL, pair}, NULL, NULL};
static const column table[] = {
    {"g", "real", ROWS, 0, 2, {NULL, real}, NULL, NULL},
    {"i", "small", ROWS, 0, 2, {NULL, small}, NULL, NULL},
    {"b", "flag", ROWS, 0, 2, {NULL, flags}, NULL, NULL},
    {"u", "text", ROWS, 0, 3, {NULL, text_offsets, letters}, NULL, NULL},
    {"U", "big", ROWS, 0, 3, {NULL, big_offsets, letters}, NULL, NULL},
    {"+l", "bag", ROWS, 0, 2, {NULL, bag_offsets}, &bag_values, NULL},
    {"+w:2", "pair", ROWS, 0, 1, {NULL}, &pair_values, NULL},
};
static const column holes[] = {
    {"i", "small", ROWS, 0, 2, {valid, small}, NULL, NULL},
    {"u", "text", ROWS, 0, 3, {valid, text_offsets, letters}, NULL, NULL},
    {"+l", "bag", ROWS, 0, 2, {valid, bag_offsets}, &bag_values, NULL},
    {"g", "real", ROWS, 0, 2, {valid, real}, NULL, NULL},
};
static const column rows_of = {"+s", "", ROWS, 0, 1, {NULL}, NULL, NULL};

enum { COLUMNS = sizeof table / sizeof *table, HOLES = sizeof holes / sizeof *holes };

static hr_dataset *whole(void)
{
    fill_table();
    return dataset_of(rows_of, table, COLUMNS, NULL);
}

static hr_dataset *with_holes(void)
{
    fill_table();
    hr_view nothing = {"none", 4};
    const hr_tensor seven = hr_tensor_of(HR_INT64, HR_SHAPE(1), HR_I64(7)),
                    none = hr_tensor_of(HR_STRING, HR_SCALAR, &nothing),
                    half = hr_tensor_of(HR_FLOAT, HR_SCALAR, HR_F32(0.5));
    static hr_feature feature[4];
    feature[0] =
        (hr_feature){.key = "small", .dtype = HR_INT64, .shape = HR_SHAPE(1), .default_value = &seven, .name = "n"};
    feature[1] = (hr_feature){.key = "text", .dtype = HR_STRING, .default_value = &none};
    feature[2] = (hr_feature){.key = "bag", .kind = HR_VAR_LEN, .dtype = HR_INT64};
    feature[3] = (hr_feature){.key = "real", .dtype = HR_FLOAT, .default_value = &half};
    return dataset_of(rows_of, holes, HOLES, &(hr_parse_spec){feature, 4});
}

HR_SAMPLE(from_arrow) { return hr_batch(hr_shuffle(with_holes(), 20), 4); }
HR_SAMPLE(arrow_as_it_is) { return hr_take(whole(), 70); }

static void assert_text(const hr_tensor *tensor, const char *want, int64_t size)
{
    const hr_view *view = tensor->data;
    assert_int_equal(view->size, size);
    assert_memory_equal(view->data, want, (size_t)size);
}

static void columns_come_as_they_are(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(whole(), (way){.unit_rows = 7});
    for (int r = 0; r < ROWS; r++) {
        assert_int_equal(hr_next(it, &e), HR_OK);
        assert_true(*(const double *)hr_get(e, "real")->data == real[r]);
        assert_int_equal(*(const int32_t *)hr_get(e, "small")->data, -r);
        assert_int_equal(*(const bool *)hr_get(e, "flag")->data, r % 2);
        assert_text(hr_get(e, "text"), letters + text_offsets[r], r % 3);
        assert_text(hr_get(e, "big"), letters + text_offsets[r], r % 3);
        assert_int_equal(hr_get(e, "bag")->count, r % 4);
        assert_memory_equal(hr_get(e, "bag")->data, bag + bag_offsets[r], (size_t)(r % 4) * sizeof *bag);
        assert_memory_equal(hr_get(e, "pair")->data, pair + 2 * r, 2 * sizeof *pair);
    }
    assert_int_equal(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
    assert_int_equal(live, 0);
}

static void nulls_are_missing_features(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(with_holes(), (way){.unit_rows = 7});
    for (int r = 0; r < ROWS; r++) {
        assert_int_equal(hr_next(it, &e), HR_OK);
        assert_int_equal(*(const int64_t *)hr_get(e, "n")->data, is_valid(r) ? -r : 7);
        assert_true(*(const float *)hr_get(e, "real")->data == (is_valid(r) ? (float)r / 2 : 0.5f));
        if (is_valid(r))
            assert_text(hr_get(e, "text"), letters + text_offsets[r], r % 3);
        else
            assert_text(hr_get(e, "text"), "none", 4);
        assert_int_equal(hr_get(e, "bag")->count, is_valid(r) ? r % 4 : 0);
    }
    assert_int_equal(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
    assert_int_equal(live, 0);
}

/* Offsets of the struct array, of its children and of what is in a list add up. */
static void slices_begin_at_their_offsets(void **state)
{
    (void)state;
    fill_table();
    const column values = {"l", "item", 100, 5, 2, {NULL, bag}, NULL, NULL};
    const column children[] = {
        {"i", "small", 30, 10, 2, {NULL, small}, NULL, NULL},
        {"u", "text", 30, 10, 3, {NULL, text_offsets, letters}, NULL, NULL},
        {"+l", "bag", 30, 10, 2, {NULL, bag_offsets}, &values, NULL},
        {"b", "flag", 30, 10, 2, {NULL, flags}, NULL, NULL},
    };
    const column part = {"+s", "", 20, 3, 1, {NULL}, NULL, NULL};
    const hr_element *e;
    hr_iterator *it = iterate(dataset_of(part, children, 4, NULL), (way){0});
    for (int r = 13; r < 33; r++) {
        assert_int_equal(hr_next(it, &e), HR_OK);
        assert_int_equal(*(const int32_t *)hr_get(e, "small")->data, -r);
        assert_text(hr_get(e, "text"), letters + text_offsets[r], r % 3);
        assert_memory_equal(hr_get(e, "bag")->data, bag + 5 + bag_offsets[r], (size_t)(r % 4) * sizeof *bag);
        assert_int_equal(*(const bool *)hr_get(e, "flag")->data, r % 2);
    }
    assert_int_equal(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

/* ---- what is refused ---- */

static void assert_refused(hr_dataset *ds, const char *kind, int64_t record)
{
    static run got;
    run_all(&got, ds, (way){0});
    assert_string_equal(got.error.kind, kind);
    assert_int_equal(got.error.record, record);
    assert_int_equal(live, 0);
}

static void refuse_column(column c, const hr_parse_spec *spec, const char *kind, int64_t record)
{
    fill_table();
    assert_refused(dataset_of(rows_of, &c, 1, spec), kind, record);
}

static void types_that_are_not_read_are_refused(void **state)
{
    (void)state;
    struct ArrowSchema words = {.format = "u"};
    refuse_column((column){"tdD", "day", ROWS, 0, 2, {NULL, small}, NULL, NULL}, NULL, "from_arrow.format", -1);
    refuse_column((column){"i", "word", ROWS, 0, 2, {NULL, small}, NULL, &words}, NULL, "from_arrow.format", -1);
    refuse_column((column){"+m", "map", ROWS, 0, 2, {NULL, bag_offsets}, &bag_values, NULL}, NULL, "from_arrow.format",
                  -1);
    assert_refused(dataset_of(table[0], NULL, 0, NULL), "from_arrow.format", -1);
}

static void arrays_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    const column few = {"f", "item", 5, 0, 2, {NULL, pair}, NULL, NULL};
    refuse_column((column){"i", "n", ROWS, 0, 3, {NULL, small}, NULL, NULL}, NULL, "from_arrow.array", -1);
    refuse_column((column){"i", "n", ROWS, 0, 2, {NULL}, NULL, NULL}, NULL, "from_arrow.array", -1);
    refuse_column((column){"i", "n", ROWS - 1, 0, 2, {NULL, small}, NULL, NULL}, NULL, "from_arrow.array", -1);
    refuse_column((column){"+w:2", "p", ROWS, 0, 1, {NULL}, &few, NULL}, NULL, "from_arrow.array", -1);
    refuse_column((column){"+l", "p", ROWS, 0, 2, {NULL}, &few, NULL}, NULL, "from_arrow.array", -1);
    assert_refused(hr_from_arrow(NULL, NULL), "from_arrow.array", -1);
    assert_refused(dataset_of(rows_of, NULL, 0, NULL), "from_arrow.array", -1);
}

static void rows_that_are_wrong_are_named(void **state)
{
    (void)state;
    const column few = {"f", "item", 5, 0, 2, {NULL, pair}, NULL, NULL};
    const column gaps = {"l", "item", 3 * ROWS, 0, 2, {valid, bag}, NULL, NULL};
    static int64_t large[ROWS] = {[9] = INT64_C(1) << 40};
    static int32_t falling[ROWS + 1] = {[4] = 5, [5] = 2};
    refuse_column(holes[0], NULL, "from_arrow.null", 3);
    refuse_column((column){"+l", "p", ROWS, 0, 2, {NULL, bag_offsets}, &few, NULL}, NULL, "from_arrow.offsets", 3);
    refuse_column((column){"+l", "p", ROWS, 0, 2, {NULL, bag_offsets}, &gaps, NULL}, NULL, "from_arrow.null", 3);
    refuse_column((column){"u", "t", ROWS, 0, 3, {NULL, falling, letters}, NULL, NULL}, NULL, "from_arrow.offsets", 4);
    refuse_column((column){"l", "n", ROWS, 0, 2, {NULL, large}, NULL, NULL},
                  HR_PARSE_SPEC({.key = "n", .dtype = HR_INT32, .widen = true}), "from_arrow.range", 9);
    refuse_column(table[5], HR_PARSE_SPEC({.key = "bag", .dtype = HR_INT64}), "from_arrow.count", 0);
}

static void specs_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    refuse_column(table[1], HR_PARSE_SPEC({.key = "n", .dtype = HR_INT64}), "from_arrow.column", -1);
    refuse_column(table[1], HR_PARSE_SPEC({.key = "small", .dtype = HR_STRING}), "from_arrow.dtype", -1);
    refuse_column(table[0], HR_PARSE_SPEC({.key = "real", .dtype = HR_INT64}), "from_arrow.dtype", -1);
    refuse_column(table[1], HR_PARSE_SPEC({.key = "small", .kind = HR_FIXED_LEN_SEQUENCE, .dtype = HR_INT64}),
                  "from_arrow.feature", -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(from_arrow),
        HR_CONFORMANCE(arrow_as_it_is),
        cmocka_unit_test(columns_come_as_they_are),
        cmocka_unit_test(nulls_are_missing_features),
        cmocka_unit_test(slices_begin_at_their_offsets),
        cmocka_unit_test(types_that_are_not_read_are_refused),
        cmocka_unit_test(arrays_that_do_not_fit_are_refused),
        cmocka_unit_test(rows_that_are_wrong_are_named),
        cmocka_unit_test(specs_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
