/* Dense features of sequences, as FIXED_LEN_SEQUENCE parses them, as inputs of columns: their own lengths count, not
 * what a batch pads them with; missing values of a dense feature are missing here, too. */
#include "tests/feature_columns/columns_testing.h"

enum { ROWS = 40 };

/* Row r: r % 3 steps. Each has two numbers, an id (-1 where s is 1), and a word that may be empty. */
static void add_lists(hr_example *ex, int r)
{
    static const char *const text[] = {"a", "", "b"};
    float x[3][2];
    int64_t id[3], total = r;
    hr_view word[3];
    hr_tensor xs[3], ids[3], words[3];
    for (int s = 0; s < 3; s++) {
        x[s][0] = (float)(10 * r + s), x[s][1] = -x[s][0];
        id[s] = s == 1 ? -1 : (r + s) % 5;
        word[s] = view(text[(r + s) % 3]);
        xs[s] = hr_tensor_of(HR_FLOAT, HR_SHAPE(2), x[s]);
        ids[s] = hr_tensor_of(HR_INT64, HR_SHAPE(1), &id[s]);
        words[s] = hr_tensor_of(HR_STRING, HR_SHAPE(1), &word[s]);
    }
    hr_example_add_int64(ex, "total", &total, 1);
    hr_example_add_list(ex, view("x"), xs, r % 3);
    hr_example_add_list(ex, view("id"), ids, r % 3);
    hr_example_add_list(ex, view("word"), words, r % 3);
}

static hr_dataset *records(void) { return example_records(hr_sequence_example_new(), ROWS, add_lists); }

static hr_dataset *parsed(hr_dataset *in)
{
    return hr_parse_sequence_example(
        in, HR_PARSE_SPEC({.key = "total", .dtype = HR_INT64, .shape = HR_SHAPE(1)}),
        HR_PARSE_SPEC({.key = "x", .kind = HR_FIXED_LEN_SEQUENCE, .dtype = HR_FLOAT, .shape = HR_SHAPE(2)},
                      {.key = "id", .kind = HR_FIXED_LEN_SEQUENCE, .dtype = HR_INT64},
                      {.key = "word", .kind = HR_FIXED_LEN_SEQUENCE, .dtype = HR_STRING, .shape = HR_SHAPE(1)}));
}

static hr_feature_column *word_ids(void)
{
    return hr_sequence_categorical_column_with_vocabulary_list("word", HR_VOCABULARY("a", "b"));
}

static hr_dataset *columns_of(hr_dataset *in)
{
    hr_feature_column *list[] = {
        hr_sequence_numeric_column("x", .shape = HR_SHAPE(2), .default_value = 7),
        hr_indicator_column(hr_sequence_categorical_column_with_identity("id", 5)),
        hr_embedding_column(word_ids(), 2),
        hr_numeric_column("total"),
    };
    in = hr_transform_features(in, ((hr_column_list){list, 4}), .keep = "x/lengths");
    for (int i = 0; i < 4; i++) hr_feature_column_unref(list[i]);
    return in;
}

static int32_t length_of(const hr_tensor *t, int64_t row) { return t->splits[0][row + 1] - t->splits[0][row]; }

static void check_numbers(const hr_tensor *x, int64_t at, int r)
{
    assert_int_equal(length_of(x, at), r % 3);
    for (int s = 0; s < r % 3; s++) {
        const float *step = (const float *)x->data + 2 * (x->splits[0][at] + s);
        assert_exactly(step[0], (float)(10 * r + s));
        assert_exactly(step[1], -step[0]);
    }
}

/* The id of the second step is missing; so is a row's second step then, being the last one. */
static void check_ids(const hr_tensor *ids, int64_t at, int r)
{
    assert_int_equal(length_of(ids, at), r % 3 > 0);
    for (int s = 0; s < length_of(ids, at); s++) {
        const int32_t step = ids->splits[0][at] + s, first = ids->splits[1][step];
        assert_int_equal(ids->splits[1][step + 1] - first, 1);
        assert_int_equal(((const int64_t *)ids->data)[first], (r + s) % 5);
    }
}

/* "" is missing: it shortens the row where it is the last one. */
static void check_words(const hr_tensor *words, int64_t at, int r)
{
    int steps = r % 3;
    while (steps > 0 && (r + steps - 1) % 3 == 1) steps--;
    assert_int_equal(length_of(words, at), steps);
    for (int s = 0; s < steps; s++) {
        const int32_t step = words->splits[0][at] + s, first = words->splits[1][step];
        const int word = (r + s) % 3;
        assert_int_equal(words->splits[1][step + 1] - first, word != 1);
        if (word != 1) assert_int_equal(((const int64_t *)words->data)[first], word / 2);
    }
}

static void check_all(const hr_element *e, int64_t at, int r)
{
    assert_exactly(((const float *)hr_get(e, "total")->data)[at], (float)r);
    assert_int_equal(((const int64_t *)hr_get(e, "x/lengths")->data)[at], r % 3);
    check_numbers(hr_get(e, "x"), at, r);
    check_ids(hr_get(e, "id"), at, r);
    check_words(hr_get(e, "word"), at, r);
}

static void check(hr_dataset *ds, int workers, int64_t unit_rows)
{
    check_rows(ds, workers, unit_rows, ROWS, check_all);
}

static void dense_lists_beside_a_context_keep_their_own_lengths(void **state)
{
    (void)state;
    for (int workers = 0; workers <= 2; workers++) {
        check(columns_of(parsed(hr_batch(records(), 16))), workers, 1000);
        check(hr_batch(columns_of(parsed(records())), 7), workers, 5);
        check(hr_batch(hr_unbatch(columns_of(hr_batch(parsed(records()), 3))), 9), workers, 4);
    }
}

/* ---- of plain Examples ---- */

static void add_flat(hr_example *ex, int r)
{
    static const float x[] = {1, 2, 3, 4};
    static const int64_t id[] = {3, -1, 0};
    hr_example_add_float(ex, "x", x, r ? 4 : 2);
    hr_example_add_int64(ex, "id", id, r ? 3 : 0);
}

static hr_dataset *examples(const hr_parse_spec *spec)
{
    return hr_parse_example(hr_batch(example_records(hr_example_new(), 2, add_flat), 2), spec);
}

/* Takes the columns; gives the components of the one batch, until the iterator goes. */
static hr_iterator *one_batch(hr_dataset *ds, hr_column_list columns, const hr_element **e)
{
    ds = hr_transform_features(ds, columns);
    for (int i = 0; i < columns.count; i++) hr_feature_column_unref(columns.column[i]);
    hr_iterator *it = hr_iterate(ds);
    if (hr_next(it, e) != HR_OK) fail_msg("%s", hr_iterator_error(it)->text);
    return it;
}

/* A flat sequence is a list: the column's shape says what a step is. -1 of its ids is missing, as in any dense
 * feature. */
static void a_flat_sequence_is_a_list_of_present_values(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = one_batch(
        examples(HR_PARSE_SPEC({.key = "x", .kind = HR_FIXED_LEN_SEQUENCE, .dtype = HR_FLOAT},
                               {.key = "id", .kind = HR_FIXED_LEN_SEQUENCE, .dtype = HR_INT64})),
        HR_COLUMNS(hr_sequence_numeric_column("x", .shape = HR_SHAPE(2)), hr_categorical_column_with_identity("id", 4)),
        &e);
    const hr_tensor *x = hr_get(e, "x"), *id = hr_get(e, "id");
    assert_int_equal(length_of(x, 0), 1);
    assert_int_equal(length_of(x, 1), 2);
    assert_int_equal(length_of(id, 0), 0);
    assert_int_equal(length_of(id, 1), 2);
    assert_int_equal(((const int64_t *)id->data)[0], 3);
    assert_int_equal(((const int64_t *)id->data)[1], 0);
    hr_iterator_free(it);
}

/* ---- what is refused ---- */

static void steps_of_another_shape_are_refused_when_the_dataset_is_made(void **state)
{
    (void)state;
    const struct {
        hr_feature_column *column;
        const char *kind, *part;
    } wrong[] = {
        {hr_sequence_numeric_column("x", .shape = HR_SHAPE(3)), "column.width", "3 values a step, got 2"},
        {hr_numeric_column("x", .shape = HR_SHAPE(2)), "column.layout", "'x'"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const hr_parse_spec *spec =
            HR_PARSE_SPEC({.key = "x", .kind = HR_FIXED_LEN_SEQUENCE, .dtype = HR_FLOAT, .shape = HR_SHAPE(2)});
        hr_dataset *ds = hr_transform_features(examples(spec), HR_COLUMNS(wrong[i].column));
        hr_feature_column_unref(wrong[i].column);
        assert_error_is(hr_dataset_error(ds), i, wrong[i].kind, wrong[i].part);
        hr_dataset_unref(ds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_lists_beside_a_context_keep_their_own_lengths),
        cmocka_unit_test(a_flat_sequence_is_a_list_of_present_values),
        cmocka_unit_test(steps_of_another_shape_are_refused_when_the_dataset_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
