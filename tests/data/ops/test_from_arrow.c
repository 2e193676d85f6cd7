/* from_arrow: rows of arrays that lie in another library's memory; here they are made by hand. */
#include "tests/data/arrow_arrays.h"

enum { ROWS = 90 };

static hr_dataset *dataset_of(arrow_column table, const arrow_column *children, int count, const hr_parse_spec *spec)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    arrow_make(&table, children, count, &schema, &array);
    hr_dataset *ds = hr_from_arrow(&array, &schema, .spec = spec);
    assert_null(array.release);
    assert_null(schema.release); /* moved */
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

static const arrow_column bag_values = {"l", "item", 3 * ROWS, 0, 2, .buffer = {NULL, bag}};
static const arrow_column pair_values = {"f", "item", 2 * ROWS, 0, 2, .buffer = {NULL, pair}};
static const arrow_column table[] = {
    {"g", "real", ROWS, 0, 2, .buffer = {NULL, real}},
    {"i", "small", ROWS, 0, 2, .buffer = {NULL, small}},
    {"b", "flag", ROWS, 0, 2, .buffer = {NULL, flags}},
    {"u", "text", ROWS, 0, 3, .buffer = {NULL, text_offsets, letters}},
    {"U", "big", ROWS, 0, 3, .buffer = {NULL, big_offsets, letters}},
    {"+l", "bag", ROWS, 0, 2, .buffer = {NULL, bag_offsets}, &bag_values},
    {"+w:2", "pair", ROWS, 0, 1, .buffer = {NULL}, &pair_values},
};
static const arrow_column holes[] = {
    {"i", "small", ROWS, 0, 2, .buffer = {valid, small}},
    {"u", "text", ROWS, 0, 3, .buffer = {valid, text_offsets, letters}},
    {"+l", "bag", ROWS, 0, 2, .buffer = {valid, bag_offsets}, &bag_values},
    {"g", "real", ROWS, 0, 2, .buffer = {valid, real}},
};
static const arrow_column rows_of = {"+s", "", ROWS, 0, 1, .buffer = {NULL}};

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
        assert_status(hr_next(it, &e), HR_OK);
        assert_exactly(*(const double *)hr_get(e, "real")->data, real[r]);
        assert_int_equal(*(const int32_t *)hr_get(e, "small")->data, -r);
        assert_int_equal(*(const bool *)hr_get(e, "flag")->data, r % 2);
        assert_text(hr_get(e, "text"), letters + text_offsets[r], r % 3);
        assert_text(hr_get(e, "big"), letters + text_offsets[r], r % 3);
        assert_int_equal(hr_get(e, "bag")->count, r % 4);
        assert_memory_equal(hr_get(e, "bag")->data, bag + bag_offsets[r], (size_t)(r % 4) * sizeof *bag);
        assert_memory_equal(hr_get(e, "pair")->data, pair + 2 * r, 2 * sizeof *pair);
    }
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
    assert_int_equal(arrow_live, 0);
}

static void nulls_are_missing_features(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(with_holes(), (way){.unit_rows = 7});
    for (int r = 0; r < ROWS; r++) {
        assert_status(hr_next(it, &e), HR_OK);
        assert_int_equal(*(const int64_t *)hr_get(e, "n")->data, is_valid(r) ? -r : 7);
        assert_exactly(*(const float *)hr_get(e, "real")->data, (is_valid(r) ? (float)r / 2 : 0.5f));
        if (is_valid(r))
            assert_text(hr_get(e, "text"), letters + text_offsets[r], r % 3);
        else
            assert_text(hr_get(e, "text"), "none", 4);
        assert_int_equal(hr_get(e, "bag")->count, is_valid(r) ? r % 4 : 0);
    }
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
    assert_int_equal(arrow_live, 0);
}

/* Offsets of the struct array, of its children and of what is in a list add up. */
static void slices_begin_at_their_offsets(void **state)
{
    (void)state;
    fill_table();
    const arrow_column values = {"l", "item", 100, 5, 2, .buffer = {NULL, bag}};
    const arrow_column children[] = {
        {"i", "small", 30, 10, 2, .buffer = {NULL, small}},
        {"u", "text", 30, 10, 3, .buffer = {NULL, text_offsets, letters}},
        {"+l", "bag", 30, 10, 2, .buffer = {NULL, bag_offsets}, &values},
        {"b", "flag", 30, 10, 2, .buffer = {NULL, flags}},
    };
    const arrow_column part = {"+s", "", 20, 3, 1, .buffer = {NULL}};
    const hr_element *e;
    hr_iterator *it = iterate(dataset_of(part, children, 4, NULL), (way){0});
    for (int r = 13; r < 33; r++) {
        assert_status(hr_next(it, &e), HR_OK);
        assert_int_equal(*(const int32_t *)hr_get(e, "small")->data, -r);
        assert_text(hr_get(e, "text"), letters + text_offsets[r], r % 3);
        assert_memory_equal(hr_get(e, "bag")->data, bag + 5 + bag_offsets[r], (size_t)(r % 4) * sizeof *bag);
        assert_int_equal(*(const bool *)hr_get(e, "flag")->data, r % 2);
    }
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

/* ---- further types ---- */

static void assert_refused(hr_dataset *ds, const char *kind, int64_t record)
{
    static run got;
    run_all(&got, ds, (way){0});
    assert_string_equal(got.error.kind, kind);
    assert_int_equal(got.error.record, record);
    assert_int_equal(arrow_live, 0);
}

static void refuse_column(arrow_column c, const hr_parse_spec *spec, const char *kind, int64_t record)
{
    fill_table();
    assert_refused(dataset_of(rows_of, &c, 1, spec), kind, record);
}

/* Of one column, as it is or by a spec: the elements of all its rows. */
static hr_iterator *rows_of_column(arrow_column c, const hr_parse_spec *spec)
{
    fill_table();
    return iterate(dataset_of(rows_of, &c, 1, spec), (way){.unit_rows = 7});
}

static const hr_tensor *next_tensor(hr_iterator *it, const char *name)
{
    const hr_element *e;
    if (hr_next(it, &e) != HR_OK) fail_msg("%s", hr_iterator_error(it)->text);
    return hr_get(e, name);
}

static void free_at_end(hr_iterator *it)
{
    const hr_element *e;
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
    assert_int_equal(arrow_live, 0);
}

/* Codes 0, 1, 2 by turns, from a part of the dictionary, for one a row and for lists. */
static void dictionaries_give_what_their_codes_stand_for(void **state)
{
    (void)state;
    static const int32_t ends[] = {0, 4, 5, 7, 7};
    static const char text[] = "skipabb";
    static int8_t codes[3 * ROWS];
    const arrow_column words = {"u", "", 3, 1, 3, .buffer = {NULL, ends, text}};
    for (int i = 0; i < 3 * ROWS; i++) codes[i] = (int8_t)(i % 3);
    static const char *const meant[] = {"a", "bb", ""};
    hr_iterator *it =
        rows_of_column((arrow_column){"c", "w", ROWS, 0, 2, .buffer = {NULL, codes}, .dictionary = &words}, NULL);
    for (int r = 0; r < ROWS; r++) assert_text(next_tensor(it, "w"), meant[r % 3], (int64_t)strlen(meant[r % 3]));
    free_at_end(it);
    const arrow_column listed = {"c", "item", 3 * ROWS, 0, 2, .buffer = {NULL, codes}, .dictionary = &words};
    it = rows_of_column((arrow_column){"+l", "w", ROWS, 0, 2, .buffer = {NULL, bag_offsets}, &listed}, NULL);
    for (int r = 0; r < ROWS; r++) {
        const hr_tensor *t = next_tensor(it, "w");
        assert_int_equal(t->count, r % 4);
        for (int i = 0; i < r % 4; i++)
            assert_int_equal(((const hr_view *)t->data)[i].size, strlen(meant[(bag_offsets[r] + i) % 3]));
    }
    free_at_end(it);
}

static void codes_and_nulls_of_dictionaries_are_checked(void **state)
{
    (void)state;
    static const int64_t number[] = {7, 8};
    static const uint8_t first_only[] = {1};
    static const uint8_t codes[ROWS] = {[4] = 1, [9] = 2};
    const arrow_column two = {"l", "", 2, 0, 2, .buffer = {NULL, number}},
                       hole = {"l", "", 2, 0, 2, .buffer = {first_only, number}};
    refuse_column((arrow_column){"C", "n", ROWS, 0, 2, .buffer = {NULL, codes}, .dictionary = &two}, NULL,
                  "from_arrow.dictionary", 9);
    refuse_column((arrow_column){"C", "n", ROWS, 0, 2, .buffer = {NULL, codes}, .dictionary = &hole}, NULL,
                  "from_arrow.null", 4);
    refuse_column((arrow_column){"C", "n", ROWS, 0, 2, .buffer = {valid, codes}, .dictionary = &two}, NULL,
                  "from_arrow.null", 3);
}

static void times_are_integers_of_their_unit(void **state)
{
    (void)state;
    static const char *const days[] = {"tdD", "tts", "ttm", "tiM"}, *const others[] = {
                                                                        "tdm",  "ttu",     "ttn",
                                                                        "tss:", "tsm:UTC", "tsu:Europe/Paris",
                                                                        "tsn:", "tDs",     "tDm",
                                                                        "tDu",  "tDn"};
    for (size_t i = 0; i < sizeof days / sizeof *days; i++) {
        hr_iterator *it = rows_of_column((arrow_column){days[i], "t", ROWS, 0, 2, .buffer = {NULL, small}}, NULL);
        for (int r = 0; r < ROWS; r++) assert_int_equal(*(const int32_t *)next_tensor(it, "t")->data, -r);
        free_at_end(it);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        hr_iterator *it = rows_of_column((arrow_column){others[i], "t", ROWS, 0, 2, .buffer = {NULL, bag}}, NULL);
        for (int r = 0; r < ROWS; r++) assert_int_equal(*(const int64_t *)next_tensor(it, "t")->data, 1000 + r);
        free_at_end(it);
    }
}

/* Short ones lie in the view, long ones in one of two buffers. */
static void strings_lie_in_views_or_side_by_side(void **state)
{
    (void)state;
    static char views[16 * ROWS];
    const int64_t sizes[] = {40, 50};
    for (int32_t r = 0; r < ROWS; r++) {
        const int32_t size = r % 20, view[] = {size, 0, r % 2, r % 3};
        memcpy(views + 16 * r, view, sizeof view);
        if (size <= 12) memcpy(views + 16 * r + 4, "abcdefghijkl", (size_t)size);
    }
    hr_iterator *it = rows_of_column(
        (arrow_column){"vu", "v", ROWS, 0, 5, .buffer = {NULL, views, letters, letters + 13, sizes}}, NULL);
    for (int r = 0; r < ROWS; r++) {
        const char *where = r % 20 <= 12 ? "abcdefghijkl" : letters + 13 * (r % 2) + r % 3;
        assert_text(next_tensor(it, "v"), where, r % 20);
    }
    free_at_end(it);
    it = rows_of_column((arrow_column){"w:3", "b", ROWS, 0, 2, .buffer = {NULL, letters}}, NULL);
    for (int r = 0; r < ROWS; r++) assert_text(next_tensor(it, "b"), letters + 3 * r, 3);
    free_at_end(it);
    const int64_t few[] = {40, 10};
    refuse_column((arrow_column){"vz", "v", ROWS, 0, 5, .buffer = {NULL, views, letters, letters, few}}, NULL,
                  "from_arrow.offsets", 13);
}

static void list_views_have_sizes_of_their_own(void **state)
{
    (void)state;
    static int32_t from[ROWS], size[ROWS];
    for (int r = 0; r < ROWS; r++) from[r] = (ROWS - r) % 11, size[r] = r % 4;
    hr_iterator *it =
        rows_of_column((arrow_column){"+vl", "l", ROWS, 0, 3, .buffer = {NULL, from, size}, &bag_values}, NULL);
    for (int r = 0; r < ROWS; r++) {
        const hr_tensor *t = next_tensor(it, "l");
        assert_int_equal(t->count, r % 4);
        assert_memory_equal(t->data, bag + (ROWS - r) % 11, (size_t)(r % 4) * sizeof *bag);
    }
    free_at_end(it);
    size[5] = -1;
    refuse_column((arrow_column){"+vl", "l", ROWS, 0, 3, .buffer = {NULL, from, size}, &bag_values}, NULL,
                  "from_arrow.offsets", 5);
}

/* Offsets and nulls of the structs add to those of what lies in them. */
static void structs_in_structs_give_their_children(void **state)
{
    (void)state;
    const arrow_column inner[] = {{"i", "small", ROWS, 2, 2, .buffer = {NULL, small}},
                                  {"l", "n", ROWS, 0, 2, .buffer = {NULL, bag}}};
    const arrow_column outer = {"+s", "person", ROWS - 2, 1, 1, .buffer = {valid}, inner, .children = 2};
    const int64_t none = -1;
    const hr_tensor missing = hr_tensor_of(HR_INT64, HR_SCALAR, &none);
    fill_table();
    hr_iterator *it =
        iterate(dataset_of((arrow_column){"+s", "", ROWS - 8, 3, 1, .buffer = {NULL}}, &outer, 1,
                           HR_PARSE_SPEC({.key = "person/small", .dtype = HR_INT64, .default_value = &missing},
                                         {.key = "person/n", .dtype = HR_INT64, .default_value = &missing})),
                (way){0});
    for (int r = 0; r < ROWS - 8; r++) {
        const hr_element *e;
        assert_status(hr_next(it, &e), HR_OK);
        const bool there = is_valid(r + 4);
        assert_int_equal(*(const int64_t *)hr_get(e, "person/small")->data, there ? -(r + 6) : -1);
        assert_int_equal(*(const int64_t *)hr_get(e, "person/n")->data, there ? 1000 + r + 4 : -1);
    }
    free_at_end(it);
}

static void a_column_of_nulls_is_what_the_spec_says(void **state)
{
    (void)state;
    const hr_tensor seven = hr_tensor_of(HR_INT64, HR_SCALAR, HR_I64(7));
    hr_iterator *it = rows_of_column((arrow_column){"n", "x", ROWS, 0, 0, .buffer = {NULL}},
                                     HR_PARSE_SPEC({.key = "x", .dtype = HR_INT64, .default_value = &seven}));
    for (int r = 0; r < ROWS; r++) assert_int_equal(*(const int64_t *)next_tensor(it, "x")->data, 7);
    free_at_end(it);
}

static void integers_become_smaller_ones_where_they_fit(void **state)
{
    (void)state;
    hr_iterator *it = rows_of_column(table[2], HR_PARSE_SPEC({.key = "flag", .dtype = HR_UINT8, .widen = true}));
    for (int r = 0; r < ROWS; r++) assert_int_equal(*(const uint8_t *)next_tensor(it, "flag")->data, r % 2);
    free_at_end(it);
    refuse_column(table[1], HR_PARSE_SPEC({.key = "small", .dtype = HR_UINT8, .widen = true}), "from_arrow.range", 1);
    refuse_column(table[1], HR_PARSE_SPEC({.key = "small", .dtype = HR_BOOL, .widen = true}), "from_arrow.range", 1);
}

/* As parse_example gives them: dense, padded to the longest row of a batch. */
static void lists_become_sequences(void **state)
{
    (void)state;
    fill_table();
    hr_dataset *ds = dataset_of(rows_of, &table[5], 1,
                                HR_PARSE_SPEC({.key = "bag", .kind = HR_FIXED_LEN_SEQUENCE, .dtype = HR_INT64}));
    hr_iterator *it = iterate(hr_batch(ds, ROWS), (way){0});
    const hr_tensor *t = next_tensor(it, "bag");
    assert_shape(t->shape, HR_SHAPE(ROWS, 3));
    for (int r = 0; r < ROWS; r++)
        for (int i = 0; i < 3; i++)
            assert_int_equal(((const int64_t *)t->data)[3 * r + i], i < r % 4 ? bag[bag_offsets[r] + i] : 0);
    free_at_end(it);
    refuse_column(table[5],
                  HR_PARSE_SPEC({.key = "bag", .kind = HR_FIXED_LEN_SEQUENCE, .dtype = HR_INT64, .shape = HR_SHAPE(2)}),
                  "from_arrow.count", 1);
}

/* ---- what is refused ---- */

static void types_that_are_not_read_are_refused(void **state)
{
    (void)state;
    const arrow_column words = {"u", "", 3, 0, 3, .buffer = {NULL, text_offsets, letters}};
    const arrow_column coded = {"i", "", 3, 0, 2, .buffer = {NULL, small}, .dictionary = &words};
    const arrow_column wrong[] = {
        {"tiD", "interval", ROWS, 0, 2, .buffer = {NULL, small}},
        {"d:10,2", "decimal", ROWS, 0, 2, .buffer = {NULL, small}},
        {"e", "half", ROWS, 0, 2, .buffer = {NULL, small}},
        {"ii", "odd", ROWS, 0, 2, .buffer = {NULL, small}},
        {"", "none", ROWS, 0, 2, .buffer = {NULL, small}},
        {"w:0", "empty", ROWS, 0, 2, .buffer = {NULL, letters}},
        {"w:x", "text", ROWS, 0, 2, .buffer = {NULL, letters}},
        {"+w:0", "pair", ROWS, 0, 1, .buffer = {NULL}, &pair_values},
        {"+m", "map", ROWS, 0, 2, .buffer = {NULL, bag_offsets}, &bag_values},
        {"+r", "runs", ROWS, 0, 0, .buffer = {NULL}, &bag_values},
        {"g", "codes", ROWS, 0, 2, .buffer = {NULL, real}, .dictionary = &words},
        {"i", "codes of codes", ROWS, 0, 2, .buffer = {NULL, small}, .dictionary = &coded},
        {"n", "nulls", ROWS, 0, 0, .buffer = {NULL}},
        {"+l", "lists of lists", ROWS, 0, 2, .buffer = {NULL, bag_offsets}, &table[5]},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) refuse_column(wrong[i], NULL, "from_arrow.format", -1);
    assert_refused(dataset_of(table[0], NULL, 0, NULL), "from_arrow.format", -1);
}

static void arrays_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    const arrow_column few = {"f", "item", 5, 0, 2, .buffer = {NULL, pair}};
    refuse_column((arrow_column){"i", "n", ROWS, 0, 3, .buffer = {NULL, small}}, NULL, "from_arrow.array", -1);
    refuse_column((arrow_column){"i", "n", ROWS, 0, 2, .buffer = {NULL}}, NULL, "from_arrow.array", -1);
    refuse_column((arrow_column){"i", "n", ROWS - 1, 0, 2, .buffer = {NULL, small}}, NULL, "from_arrow.array", -1);
    refuse_column((arrow_column){"+w:2", "p", ROWS, 0, 1, .buffer = {NULL}, &few}, NULL, "from_arrow.array", -1);
    refuse_column((arrow_column){"+l", "p", ROWS, 0, 2, .buffer = {NULL}, &few}, NULL, "from_arrow.array", -1);
    assert_refused(hr_from_arrow(NULL, NULL), "from_arrow.array", -1);
    assert_refused(dataset_of(rows_of, NULL, 0, NULL), "from_arrow.array", -1);
}

static void rows_that_are_wrong_are_named(void **state)
{
    (void)state;
    const arrow_column few = {"f", "item", 5, 0, 2, .buffer = {NULL, pair}};
    const arrow_column gaps = {"l", "item", 3 * ROWS, 0, 2, .buffer = {valid, bag}};
    static int64_t large[ROWS] = {[9] = INT64_C(1) << 40};
    static int32_t falling[ROWS + 1] = {[4] = 5, [5] = 2};
    refuse_column(holes[0], NULL, "from_arrow.null", 3);
    refuse_column((arrow_column){"+l", "p", ROWS, 0, 2, .buffer = {NULL, bag_offsets}, &few}, NULL,
                  "from_arrow.offsets", 3);
    refuse_column((arrow_column){"+l", "p", ROWS, 0, 2, .buffer = {NULL, bag_offsets}, &gaps}, NULL, "from_arrow.null",
                  3);
    refuse_column((arrow_column){"u", "t", ROWS, 0, 3, .buffer = {NULL, falling, letters}}, NULL, "from_arrow.offsets",
                  4);
    refuse_column((arrow_column){"l", "n", ROWS, 0, 2, .buffer = {NULL, large}},
                  HR_PARSE_SPEC({.key = "n", .dtype = HR_INT32, .widen = true}), "from_arrow.range", 9);
    refuse_column(table[5], HR_PARSE_SPEC({.key = "bag", .dtype = HR_INT64}), "from_arrow.count", 0);
}

static void specs_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    refuse_column(table[1], HR_PARSE_SPEC({.key = "n", .dtype = HR_INT64}), "from_arrow.column", -1);
    refuse_column(table[1], HR_PARSE_SPEC({.key = "small", .dtype = HR_STRING}), "from_arrow.dtype", -1);
    refuse_column(table[0], HR_PARSE_SPEC({.key = "real", .dtype = HR_INT64}), "from_arrow.dtype", -1);
    refuse_column(table[1],
                  HR_PARSE_SPEC({.key = "small",
                                 .kind = HR_SPARSE_FEATURE,
                                 .dtype = HR_INT64,
                                 .shape = HR_SHAPE(3),
                                 .index_keys = (const char *const[]){"at"}}),
                  "from_arrow.feature", -1);
}

HR_ARGUMENTS(from_arrow, whole(), with_holes());

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(from_arrow),
        HR_CONFORMANCE_OF_ARGUMENTS(from_arrow),
        HR_CONFORMANCE(arrow_as_it_is),
        cmocka_unit_test(columns_come_as_they_are),
        cmocka_unit_test(nulls_are_missing_features),
        cmocka_unit_test(slices_begin_at_their_offsets),
        cmocka_unit_test(dictionaries_give_what_their_codes_stand_for),
        cmocka_unit_test(codes_and_nulls_of_dictionaries_are_checked),
        cmocka_unit_test(times_are_integers_of_their_unit),
        cmocka_unit_test(strings_lie_in_views_or_side_by_side),
        cmocka_unit_test(list_views_have_sizes_of_their_own),
        cmocka_unit_test(structs_in_structs_give_their_children),
        cmocka_unit_test(a_column_of_nulls_is_what_the_spec_says),
        cmocka_unit_test(integers_become_smaller_ones_where_they_fit),
        cmocka_unit_test(lists_become_sequences),
        cmocka_unit_test(types_that_are_not_read_are_refused),
        cmocka_unit_test(arrays_that_do_not_fit_are_refused),
        cmocka_unit_test(rows_that_are_wrong_are_named),
        cmocka_unit_test(specs_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
