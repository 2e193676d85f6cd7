/* Columns of sequences: steps out of lists, out of feature lists, what is filled in, and a pipeline's batches of
 * them. */
#include "tests/feature_columns/columns_testing.h"

#include <string.h>

static hr_feature_column *words(void)
{
    return hr_sequence_categorical_column_with_vocabulary_list("words", HR_VOCABULARY("a", "b", "c"));
}

/* ---- steps ---- */

static void assert_steps(const hr_column_values *v, const int32_t *steps, const int32_t *step_splits)
{
    for (int64_t r = 0; r <= v->rows; r++) assert_int_equal(v->steps[r], steps[r]);
    for (int64_t s = 0; s <= v->steps[v->rows]; s++) assert_int_equal(v->step_splits[s], step_splits[s]);
}

static void each_place_of_a_list_is_a_step(void **state)
{
    (void)state;
    /* Row 0: steps 0 and 2; row 1: step 0; row 2: none. */
    const hr_view value[] = {view("a"), view("b"), view("c")};
    const int64_t inner[] = {0, 2, 0};
    const feature f = {
        "words",
        {.dtype = HR_STRING, .rows = 3, .values = value, .count = 3, .splits = SPLITS(0, 2, 3, 3), .inner = inner}};
    outcome o = {0};
    run_columns(&o, HR_COLUMNS(words()), &f, 1);
    assert_ok(o.status, &o.err);
    assert_result(&o.result[0], SPLITS(0, 2, 3, 3), 0, 1, 2);
    assert_steps(&o.result[0], SPLITS(0, 3, 4, 4), SPLITS(0, 1, 1, 2, 3));
    outcome_free(&o);
}

static void a_dense_feature_has_missing_steps(void **state)
{
    (void)state;
    const int64_t value[] = {-1, 2, -1, 1, -1, -1};
    const feature f = {"id", {.dtype = HR_INT64, .rows = 2, .values = value, .count = 6, .width = 3, .rank = 1}};
    outcome o = {0};
    run_columns(&o, HR_COLUMNS(hr_sequence_categorical_column_with_identity("id", 3)), &f, 1);
    assert_ok(o.status, &o.err);
    assert_steps(&o.result[0], SPLITS(0, 2, 3), SPLITS(0, 0, 1, 2));
    assert_int_equal(o.result[0].dense_steps, 3);
    outcome_free(&o);
}

static void a_row_of_two_dimensions_has_several_ids_a_step(void **state)
{
    (void)state;
    const int64_t value[] = {1, 2, -1, -1, 0, -1}; /* [1, 3, 2] */
    const feature f = {
        "id", {.dtype = HR_INT64, .rows = 1, .values = value, .count = 6, .width = 6, .rank = 2, .dense_steps = 3}};
    outcome o = {0};
    run_columns(&o, HR_COLUMNS(hr_sequence_categorical_column_with_identity("id", 3)), &f, 1);
    assert_ok(o.status, &o.err);
    assert_result(&o.result[0], SPLITS(0, 3), 1, 2, 0);
    assert_steps(&o.result[0], SPLITS(0, 3), SPLITS(0, 2, 2, 3));
    outcome_free(&o);
}

static void values_out_of_the_order_of_steps_fail_their_row(void **state)
{
    (void)state;
    const int64_t value[] = {0, 1, 2}, inner[] = {0, 2, 1};
    const feature f = {
        "id", {.dtype = HR_INT64, .rows = 2, .values = value, .count = 3, .splits = SPLITS(0, 1, 3), .inner = inner}};
    outcome o = {0};
    run_columns(&o, HR_COLUMNS(hr_sequence_categorical_column_with_identity("id", 3)), &f, 1);
    assert_int_equal(o.failed_row, 1);
    assert_string_equal(o.err.kind, "column.sequence");
    assert_steps(&o.result[0], SPLITS(0, 1, 2), SPLITS(0, 1, 3));
    outcome_free(&o);
}

/* ---- numbers ---- */

static void numbers_fill_whole_steps_with_the_default(void **state)
{
    (void)state;
    const float value[] = {1, 2, 3, 4};
    const feature f = {"x", {.dtype = HR_FLOAT, .rows = 3, .values = value, .count = 4, .splits = SPLITS(0, 3, 4, 4)}};
    outcome o = {0};
    run_columns(&o, HR_COLUMNS(hr_sequence_numeric_column("x", .shape = HR_SHAPE(2), .default_value = 9)), &f, 1);
    assert_ok(o.status, &o.err);
    const hr_column_values *v = &o.result[0];
    static const float expected[] = {1, 2, 3, 9, 4, 9};
    assert_int_equal(v->count, 6);
    assert_memory_equal(v->values, expected, sizeof expected);
    for (int r = 0; r <= 3; r++) assert_int_equal(v->steps[r], SPLITS(0, 2, 3, 3)[r]);
    outcome_free(&o);
}

static void integers_stay_integers(void **state)
{
    (void)state;
    const int64_t value[] = {10, 20};
    const feature f = {"x", {.dtype = HR_INT64, .rows = 2, .values = value, .count = 2, .splits = SPLITS(0, 1, 2)}};
    outcome o = {0};
    run_columns(&o, HR_COLUMNS(hr_sequence_numeric_column("x", .dtype = HR_INT64)), &f, 1);
    assert_ok(o.status, &o.err);
    assert_int_equal(o.result[0].dtype, HR_INT64);
    assert_memory_equal(o.result[0].values, value, sizeof value);
    outcome_free(&o);
}

static void what_is_filled_in_is_exact(void **state)
{
    (void)state;
    const int64_t value[] = {10};
    const feature f = {"x", {.dtype = HR_INT64, .rows = 1, .values = value, .count = 1, .splits = SPLITS(0, 1)}};
    outcome o = {0};
    run_columns(
        &o,
        HR_COLUMNS(hr_sequence_numeric_column("x", .dtype = HR_INT64, .shape = HR_SHAPE(2), .default_value = 16777217)),
        &f, 1);
    assert_ok(o.status, &o.err);
    assert_int_equal(((const int64_t *)o.result[0].values)[1], 16777217);
    assert_exactly(hr__transformer_output(o.transformer, 0)->info->padding, 16777217);
    outcome_free(&o);
}

static void what_is_filled_in_is_not_normalized(void **state)
{
    (void)state;
    const int64_t value[] = {10, 20, 30};
    const feature f = {"x", {.dtype = HR_INT64, .rows = 2, .values = value, .count = 3, .splits = SPLITS(0, 1, 3)}};
    outcome o = {0};
    run_columns(&o,
                HR_COLUMNS(hr_sequence_numeric_column("x", .dtype = HR_INT64, .shape = HR_SHAPE(2), .default_value = -1,
                                                      .mean = 10, .std = 10)),
                &f, 1);
    assert_ok(o.status, &o.err);
    assert_int_equal(o.result[0].dtype, HR_FLOAT);
    static const float expected[] = {0, -1, 1, 2};
    assert_memory_equal(o.result[0].values, expected, sizeof expected);
    outcome_free(&o);
}

static void steps_of_too_many_numbers_fail_their_row(void **state)
{
    (void)state;
    const float value[] = {1, 2, 3, 4};
    const feature f = {"x",
                       {.dtype = HR_FLOAT,
                        .rows = 2,
                        .values = value,
                        .count = 4,
                        .splits = SPLITS(0, 2, 4),
                        .steps = SPLITS(0, 2, 3),
                        .step_splits = SPLITS(0, 1, 2, 4)}};
    outcome o = {0};
    run_columns(&o, HR_COLUMNS(hr_sequence_numeric_column("x")), &f, 1);
    assert_int_equal(o.failed_row, 1);
    assert_string_equal(o.err.kind, "column.sequence");
    assert_int_equal(o.result[0].count, 2);
    outcome_free(&o);
}

/* ---- what is refused ---- */

static void sequences_are_refused_where_there_are_no_steps(void **state)
{
    (void)state;
    assert_refused(hr_weighted_categorical_column(words(), "w"), "column.sequence");
    assert_refused(hr_crossed_column(HR_CROSS({.column = words()}, {.key = "b"}), 9), "column.sequence");
    assert_refused(hr_sequence_categorical_column(words()), "column.sequence");
    assert_refused(hr_sequence_categorical_column(hr_numeric_column("x")), "column.source");
    assert_refused(hr_sequence_categorical_column(hr_crossed_column(HR_CROSS({.key = "a"}, {.key = "b"}), 9)),
                   "column.source");
    assert_refused(hr_sequence_numeric_column("x", .dtype = HR_STRING), "column.dtype");
    assert_refused(hr_sequence_numeric_column("x", .shape = HR_SHAPE(0)), "column.shape");
    assert_refused(hr_sequence_numeric_column("x", .dtype = HR_INT64, .default_value = 0.5f), "column.default_value");
    assert_refused(hr_sequence_numeric_column("x", .dtype = HR_INT64, .default_value = 0x1p54), "column.default_value");
    assert_refused(hr_sequence_numeric_column("x", .dtype = HR_INT32, .default_value = 0x1p31), "column.default_value");
    assert_refused(hr_sequence_numeric_column(""), "column.key");
}

static void layers_tell_sequences_from_other_columns(void **state)
{
    (void)state;
    const hr_feature_column *sorted[2];
    hr_error err;
    hr_feature_column *sequence = hr_indicator_column(words()), *plain = hr_numeric_column("x");
    hr_feature_column *numbers = hr_sequence_numeric_column("y"), *ids = words();
    assert_true(hr_feature_column_info(sequence)->sequence);
    assert_ok(hr_sort_columns(HR_COLUMNS(sequence), HR_SEQUENCE_FEATURES, sorted, &err), &err);
    const struct {
        hr_feature_column *column;
        hr_column_layer layer;
    } wrong[] = {{sequence, HR_INPUT_LAYER},
                 {sequence, HR_LINEAR_MODEL},
                 {numbers, HR_LINEAR_MODEL},
                 {plain, HR_SEQUENCE_FEATURES}};
    for (int i = 0; i < 4; i++) {
        assert_status(hr_sort_columns(HR_COLUMNS(wrong[i].column), wrong[i].layer, sorted, &err), HR_INVALID_ARGUMENT);
        assert_string_equal(err.kind, "column.sequence");
    }
    assert_ok(hr_sort_columns(HR_COLUMNS(ids), HR_LINEAR_MODEL, sorted, &err), &err); /* as TensorFlow: it sums them */
    hr_feature_column_unref(sequence);
    hr_feature_column_unref(plain);
    hr_feature_column_unref(numbers);
    hr_feature_column_unref(ids);
}

/* ---- the arithmetic of the dense form ---- */

static void steps_are_padded_row_by_row(void **state)
{
    (void)state;
    const float value[] = {1, 2, 3, 4, 5, 6}, padding[] = {-1, -2};
    float out[12];
    hr_pad_sequence(value, 2 * sizeof(float), SPLITS(0, 2, 2, 3), 3, 2, padding, out);
    static const float expected[] = {1, 2, 3, 4, -1, -2, -1, -2, 5, 6, -1, -2};
    assert_memory_equal(out, expected, sizeof expected);
}

static void lengths_must_agree(void **state)
{
    (void)state;
    const int32_t *const steps[] = {SPLITS(0, 2, 3), SPLITS(0, 2, 4)};
    const char *const names[] = {"a", "b"};
    int64_t lengths[2];
    hr_error err;
    assert_ok(hr_sequence_lengths(steps, names, 1, 2, lengths, &err), &err);
    assert_int_equal(lengths[0], 2);
    assert_int_equal(lengths[1], 1);
    assert_status(hr_sequence_lengths(steps, names, 2, 2, lengths, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "column.sequence_length");
    assert_text_contains(err.text, "'b'");
}

/* ---- in a pipeline ---- */

enum { ROWS = 60 };

/* Row r: r % 4 steps; step s has (r + s) % 3 words and one number. */
static void add_lists(hr_example *ex, int r)
{
    static const char *const text[] = {"a", "b", "c", "d"};
    hr_view own[4][3];
    float number[4];
    hr_tensor word[4], numbers[4];
    for (int s = 0; s < 4; s++) {
        for (int i = 0; i < 3; i++) own[s][i] = view(text[(r + s + i) % 4]);
        number[s] = (float)(10 * r + s);
        word[s] = hr_tensor_of(HR_STRING, HR_SHAPE((r + s) % 3), own[s]);
        numbers[s] = hr_tensor_of(HR_FLOAT, HR_SHAPE(1), &number[s]);
    }
    hr_example_add_list(ex, view("words"), word, r % 4);
    hr_example_add_list(ex, view("x"), numbers, r % 4);
}

static hr_dataset *records(void) { return example_records(hr_sequence_example_new(), ROWS, add_lists); }

static hr_dataset *sequences(hr_dataset *in)
{
    hr_parse_spec *spec;
    hr_error err;
    hr_feature_column *list[] = {hr_embedding_column(words(), 4), hr_sequence_numeric_column("x")};
    const hr_column_list columns = {list, 2};
    assert_ok(hr_make_parse_example_spec(columns, &spec, &err), &err);
    in = hr_transform_features(hr_parse_sequence_example(in, NULL, spec), columns);
    hr_parse_spec_free(spec);
    hr_feature_column_unref(list[0]);
    hr_feature_column_unref(list[1]);
    return in;
}

/* Steps after the last word of a row do not count: nobody sees those that follow. */
static int steps_of(int r)
{
    int steps = r % 4;
    while (steps > 0 && (r + steps - 1) % 3 == 0) steps--;
    return steps;
}

static void check_words(const hr_tensor *word, int64_t at, int r)
{
    const int32_t *rows = word->splits[0], *steps = word->splits[1];
    assert_int_equal(rows[at + 1] - rows[at], steps_of(r));
    for (int s = 0; s < steps_of(r); s++) {
        const int32_t first = steps[rows[at] + s];
        assert_int_equal(steps[rows[at] + s + 1] - first, (r + s) % 3);
        for (int i = 0; i < (r + s) % 3; i++) {
            const int id = (r + s + i) % 4;
            assert_int_equal(((const int64_t *)word->data)[first + i], id == 3 ? -1 : id);
        }
    }
}

static void check_both(const hr_element *e, int64_t at, int r)
{
    const hr_tensor *word = hr_get(e, "words"), *x = hr_get(e, "x");
    assert_non_null(word);
    assert_non_null(x);
    assert_int_equal(word->ragged_rank, 2);
    assert_int_equal(x->ragged_rank, 1);
    check_words(word, at, r);
    assert_int_equal(x->splits[0][at + 1] - x->splits[0][at], r % 4);
    for (int s = 0; s < r % 4; s++) assert_exactly(((const float *)x->data)[x->splits[0][at] + s], (float)(10 * r + s));
}

static void check(hr_dataset *ds, int workers, int64_t unit_rows)
{
    check_rows(ds, workers, unit_rows, ROWS, check_both);
}

static void feature_lists_come_through_whatever_workers_units_and_the_place_of_batch(void **state)
{
    (void)state;
    for (int workers = 0; workers <= 2; workers++) {
        check(hr_batch(sequences(records()), 7), workers, 5);
        check(sequences(hr_batch(records(), 16)), workers, 1000);
        check(hr_batch(hr_unbatch(hr_batch(sequences(records()), 3)), 9), workers, 4);
    }
}

static void no_allocation_failure_leaks(void **state)
{
    (void)state;
    const int64_t alive = allocations_alive();
    for (int64_t n = 0;; n++) {
        fail_allocation(n);
        hr_feature_column *e = hr_embedding_column(words(), 4), *x = hr_sequence_numeric_column("x");
        const int64_t count = allocations_since();
        hr_feature_column_unref(e);
        hr_feature_column_unref(x);
        assert_int_equal(allocations_alive(), alive);
        if (n >= count) break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_place_of_a_list_is_a_step),
        cmocka_unit_test(a_dense_feature_has_missing_steps),
        cmocka_unit_test(a_row_of_two_dimensions_has_several_ids_a_step),
        cmocka_unit_test(values_out_of_the_order_of_steps_fail_their_row),
        cmocka_unit_test(numbers_fill_whole_steps_with_the_default),
        cmocka_unit_test(integers_stay_integers),
        cmocka_unit_test(what_is_filled_in_is_exact),
        cmocka_unit_test(what_is_filled_in_is_not_normalized),
        cmocka_unit_test(steps_of_too_many_numbers_fail_their_row),
        cmocka_unit_test(sequences_are_refused_where_there_are_no_steps),
        cmocka_unit_test(layers_tell_sequences_from_other_columns),
        cmocka_unit_test(steps_are_padded_row_by_row),
        cmocka_unit_test(lengths_must_agree),
        cmocka_unit_test(feature_lists_come_through_whatever_workers_units_and_the_place_of_batch),
        cmocka_unit_test(no_allocation_failure_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
