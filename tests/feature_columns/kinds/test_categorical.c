/* The columns that make ids: identity, vocabularies, hash buckets, crosses, weights. */
#include "base/cpu.h"
#include "tests/feature_columns/columns_testing.h"

#include <string.h>

static hr_column_values strings(const hr_view *words, int64_t rows, const int32_t *splits)
{
    return (hr_column_values){.dtype = HR_STRING,
                              .rows = rows,
                              .values = words,
                              .count = splits ? splits[rows] : rows,
                              .splits = splits,
                              .width = splits ? 0 : 1,
                              .rank = 1};
}

static void an_id_out_of_range_names_its_row_and_feature(void **state)
{
    (void)state;
    outcome o = {0};
    run_columns(&o, HR_COLUMNS(hr_categorical_column_with_identity("hour", 24)),
                (feature[]){{"hour", INTS(3, 23, 24, 0)}}, 1);
    assert_int_equal(o.failed_row, 2);
    assert_int_equal(o.failed_rows, 1);
    assert_string_equal(o.err.kind, "column.id_range");
    assert_string_equal(o.err.feature, "hour");
    outcome_free(&o);
}

static void an_identity_default_replaces_ids_out_of_range(void **state)
{
    (void)state;
    outcome o = {0};
    hr_column_values ids = INTS(-5, 24, -1, 2);
    ids.splits = SPLITS(0, 2, 2, 4);
    ids.rows = 3;
    run_columns(&o, HR_COLUMNS(hr_categorical_column_with_identity("hour", 24, .default_value = HR_I64(7))),
                (feature[]){{"hour", ids}}, 1);
    assert_ok(o.status, &o.err);
    assert_result(&o.result[0], SPLITS(0, 2, 2, 4), 7, 7, 7, 2);
    outcome_free(&o);
}

static void tf_compat_passes_ids_out_of_range(void **state)
{
    (void)state;
    outcome o = {.tf_compat = true};
    run_columns(&o, HR_COLUMNS(hr_categorical_column_with_identity("hour", 24)), (feature[]){{"hour", INTS(25, -3)}},
                1);
    assert_int_equal(o.failed_rows, 0);
    assert_result(&o.result[0], SPLITS(0, 1, 2), 25, -3);
    outcome_free(&o);
}

static void missing_values_are_left_out_of_dense_features_only(void **state)
{
    (void)state;
    outcome o = {0};
    hr_view words[] = {view("a"), view(""), view(""), view("b")};
    hr_column_values dense = strings(words, 4, NULL), sparse = strings(words, 4, SPLITS(0, 1, 2, 3, 4));
    dense.rows = 2;
    dense.width = 2;
    dense.count = 4;
    run_columns(&o, HR_COLUMNS(hr_categorical_column_with_vocabulary_list("w", HR_VOCABULARY("a", "b"))),
                (feature[]){{"w", dense}}, 1);
    assert_result(&o.result[0], SPLITS(0, 1, 2), 0, 1);
    assert_int_equal(o.result[0].inner[1], 1); /* (0,0) and (1,1) */
    outcome_free(&o);
    run_columns(&o, HR_COLUMNS(hr_categorical_column_with_hash_bucket("w", 10)), (feature[]){{"w", sparse}}, 1);
    assert_int_equal(((const int64_t *)o.result[0].values)[1], 3); /* the empty string is hashed */
    outcome_free(&o);
    run_columns(&o, HR_COLUMNS(hr_categorical_column_with_identity("w", 5)), (feature[]){{"w", INTS(-1, 4)}}, 1);
    assert_result(&o.result[0], SPLITS(0, 0, 1), 4);
    outcome_free(&o);
}

static void unknown_words_get_the_default_or_a_bucket(void **state)
{
    (void)state;
    outcome o = {0};
    hr_view words[] = {view("EWR"), view("SFO"), view("LGA")};
    feature f[] = {{"w", strings(words, 3, SPLITS(0, 1, 2, 3))}};
    run_columns(&o, HR_COLUMNS(hr_categorical_column_with_vocabulary_list("w", HR_VOCABULARY("EWR", "LGA"))), f, 1);
    assert_result(&o.result[0], SPLITS(0, 1, 2, 3), 0, -1, 1);
    outcome_free(&o);
    run_columns(
        &o,
        HR_COLUMNS(hr_categorical_column_with_vocabulary_list("w", HR_VOCABULARY("EWR", "LGA"), .num_oov_buckets = 5)),
        f, 1);
    int64_t bucket = 2 + (int64_t)(hr_fingerprint64("SFO", 3) % 5);
    assert_result(&o.result[0], SPLITS(0, 1, 2, 3), 0, bucket, 1);
    outcome_free(&o);
    run_columns(
        &o,
        HR_COLUMNS(hr_categorical_column_with_vocabulary_list("n", HR_VOCABULARY_INTS(7, -5), .num_oov_buckets = 3)),
        (feature[]){{"n", INTS(-5, 12, 7)}}, 1);
    assert_result(&o.result[0], SPLITS(0, 1, 2, 3), 1, 2 + (int64_t)(hr_fingerprint64("12", 2) % 3), 0);
    outcome_free(&o);
}

static void bad_vocabularies_are_refused(void **state)
{
    (void)state;
    write_file("twice.txt", "a\nb\na\n", 6);
    write_file("blank.txt", "a\n\nb\n", 5);
    write_file("word.txt", "1\n2x\n", 5);
    const hr_vocabulary_list none = {0};
    assert_refused(hr_categorical_column_with_vocabulary_list("w", HR_VOCABULARY("a", "a")), "column.vocabulary");
    assert_refused(hr_categorical_column_with_vocabulary_list("w", none), "column.vocabulary");
    assert_refused(hr_categorical_column_with_vocabulary_list("w", HR_VOCABULARY("a"), .num_oov_buckets = 1,
                                                              .default_value = HR_I64(0)),
                   "column.num_oov_buckets");
    assert_refused(hr_categorical_column_with_vocabulary_list("w", HR_VOCABULARY("a"), .dtype = HR_INT64),
                   "column.dtype");
    assert_refused(hr_categorical_column_with_vocabulary_file("w", "twice.txt"), "column.vocabulary");
    assert_refused(hr_categorical_column_with_vocabulary_file("w", "blank.txt"), "column.vocabulary");
    assert_refused(hr_categorical_column_with_vocabulary_file("w", "word.txt", .dtype = HR_INT64), "column.vocabulary");
    assert_refused(hr_categorical_column_with_vocabulary_file("w", "none.txt"), "column.vocabulary_file");
    assert_refused(hr_categorical_column_with_vocabulary_file("w", "twice.txt", .vocabulary_size = HR_I64(9)),
                   "column.vocabulary");
}

static void a_vocabulary_file_has_a_word_a_line(void **state)
{
    (void)state;
    write_file("words.txt", "red\r\n a b \nblue", 15);
    outcome o = {0};
    hr_view words[] = {view("blue"), view(" a b "), view("red")};
    hr_feature_column *column = hr_categorical_column_with_vocabulary_file("w", "words.txt");
    assert_int_equal(hr_feature_column_info(column)->num_buckets, 3);
    run_columns(&o, HR_COLUMNS(column), (feature[]){{"w", strings(words, 3, SPLITS(0, 1, 2, 3))}}, 1);
    assert_result(&o.result[0], SPLITS(0, 1, 2, 3), 2, 1, 0);
    outcome_free(&o);
}

static void hashes_are_those_of_tensorflow(void **state)
{
    (void)state;
    outcome o = {0};
    hr_view words[] = {view("omar"), view("stringer"), view("marlo")};
    run_columns(&o, HR_COLUMNS(hr_categorical_column_with_hash_bucket("w", 10)),
                (feature[]){{"w", strings(words, 3, SPLITS(0, 1, 2, 3))}}, 1);
    assert_result(&o.result[0], SPLITS(0, 1, 2, 3), 6, 4, 1);
    outcome_free(&o);
    run_columns(&o, HR_COLUMNS(hr_categorical_column_with_hash_bucket("w", 10, .dtype = HR_INT64)),
                (feature[]){{"w", INTS(101, 201, 301)}}, 1);
    assert_result(&o.result[0], SPLITS(0, 1, 2, 3), 3, 7, 5);
    outcome_free(&o);
    const uint64_t large[] = {UINT64_MAX - 1, UINT64_C(1) << 63, 5};
    run_columns(&o, HR_COLUMNS(hr_categorical_column_with_hash_bucket("w", 1000, .dtype = HR_UINT64)),
                (feature[]){{"w", {.dtype = HR_UINT64, .rows = 3, .values = large, .count = 3, .width = 1, .rank = 1}}},
                1);
    assert_result(&o.result[0], SPLITS(0, 1, 2, 3), 88, 496, 971);
    outcome_free(&o);
    assert_refused(hr_categorical_column_with_hash_bucket("w", 0), "column.hash_bucket_size");
    assert_refused(hr_categorical_column_with_hash_bucket("w", 5, .dtype = HR_FLOAT), "column.dtype");
}

static void all_kernels_give_the_same_hashes(void **state)
{
    (void)state;
    enum { N = 2003 };
    static char text[N + 128];
    static hr_view words[N];
    static uint64_t hash[N];
    for (int i = 0; i < N + 128; i++) text[i] = (char)hr_random(8, (uint64_t)i);
    for (int i = 0; i < N; i++) { /* runs of lengths that the kernel takes whole, and mixed ones */
        int64_t size = i < 1000 ? hr_random_below(9, (uint64_t)i, 9) + 8 : hr_random_below(9, (uint64_t)i, 40);
        words[i] = (hr_view){text + i, size};
    }
    for (unsigned features = 0; features < 16; features = features * 2 + 1) {
        hr__cpu_limit(features);
        memset(hash, 0, sizeof hash);
        hr_fingerprint64_many(words, N, hash);
        for (int i = 0; i < N; i++) assert_int_equal(hash[i], hr_fingerprint64(words[i].data, (size_t)words[i].size));
    }
    hr__cpu_limit(~0u);
}

static void remainders_are_exact_for_every_divisor(void **state)
{
    (void)state;
    const uint64_t extremes[] = {0, 1, 2, UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63, INT64_MAX};
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t by = i < 7 ? extremes[i] : hr_random(5, i) >> hr_random_below(6, i, 64);
        if (by == 0) by = 1;
        hr_divisor d = hr_divisor_of(by);
        uint64_t value = hr_random(7, i), multiple = value / by * by;
        assert_int_equal(hr_remainder(d, value), value % by);
        assert_int_equal(hr_remainder(d, multiple), 0);
        assert_int_equal(hr_remainder(d, multiple - 1), (multiple - 1) % by);
        assert_int_equal(hr_remainder(d, UINT64_MAX), UINT64_MAX % by);
        assert_int_equal(hr_remainder(d, 0), 0);
    }
}

static void crosses_are_those_of_tensorflow(void **state)
{
    (void)state;
    outcome o = {0};
    hr_view a[] = {view("batch1-FC1-F1")}, b[] = {view("batch1-FC2-F1")}, c[] = {view("batch1-FC3-F1")};
    const int32_t *one = SPLITS(0, 1);
    feature f[] = {{"a", strings(a, 1, one)}, {"b", strings(b, 1, one)}, {"c", strings(c, 1, one)}};
    run_columns(&o, HR_COLUMNS(hr_crossed_column(HR_CROSS({.key = "a"}, {.key = "b"}, {.key = "c"}), 100)), f, 3);
    assert_result(&o.result[0], one, 83);
    outcome_free(&o);

    hr_column_values pairs = FLOATS(-1, .5f, .5f, 1);
    pairs.rows = 2;
    pairs.width = 2;
    hr_view words[] = {view("cA"), view("cB"), view("cC")};
    hr_feature_column *bucketized = hr_bucketized_column(hr_numeric_column("a", .shape = HR_SHAPE(2)), HR_F32(0, 1), 2);
    hr_feature_column *cross = hr_crossed_column(HR_CROSS({.column = bucketized}, {.key = "c"}), 5, .hash_key = 5);
    assert_string_equal(hr_feature_column_info(cross)->name, "a_bucketized_X_c");
    run_columns(&o, HR_COLUMNS(cross), (feature[]){{"a", pairs}, {"c", strings(words, 2, SPLITS(0, 1, 3))}}, 2);
    assert_result(&o.result[0], SPLITS(0, 2, 6), 1, 0, 1, 3, 4, 2);
    outcome_free(&o);
}

static void a_row_without_a_value_has_no_cross(void **state)
{
    (void)state;
    outcome o = {0};
    hr_view a[] = {view("x"), view("y")}, b[] = {view("z")};
    run_columns(&o, HR_COLUMNS(hr_crossed_column(HR_CROSS({.key = "a"}, {.key = "b"}), 100)),
                (feature[]){{"a", strings(a, 2, SPLITS(0, 1, 2))}, {"b", strings(b, 2, SPLITS(0, 0, 1))}}, 2);
    assert_int_equal(o.result[0].count, 1);
    assert_int_equal(o.result[0].splits[1], 0);
    outcome_free(&o);
}

static void what_cannot_be_crossed_is_refused(void **state)
{
    (void)state;
    assert_refused(hr_crossed_column(HR_CROSS({.key = "a"}), 10), "column.cross_key");
    assert_refused(hr_crossed_column(HR_CROSS({.key = "a"}, {.key = "b"}), 0), "column.hash_bucket_size");
    assert_refused(
        hr_crossed_column(HR_CROSS({.key = "a"}, {.column = hr_categorical_column_with_hash_bucket("b", 9)}), 10),
        "column.cross_key");
    assert_refused(hr_crossed_column(HR_CROSS({.key = "a"}, {.column = hr_numeric_column("b")}), 10),
                   "column.cross_key");
    assert_refused(hr_crossed_column(HR_CROSS({.key = "a"}, {.key = NULL}), 10), "column.cross_key");
}

static void floats_are_not_cut_to_integers_unseen(void **state)
{
    (void)state;
    outcome o = {0};
    feature f[] = {{"a", FLOATS(1.5f)}, {"b", INTS(4)}};
    run_columns(&o, HR_COLUMNS(hr_crossed_column(HR_CROSS({.key = "a"}, {.key = "b"}), 10)), f, 2);
    assert_string_equal(o.err.kind, "column.cross_float");
    outcome_free(&o);
    run_columns(&o, HR_COLUMNS(hr_crossed_column(HR_CROSS({.key = "a"}, {.key = "b"}), 10, .tf_compat = true)), f, 2);
    assert_ok(o.status, &o.err);
    outcome_free(&o);
}

static void weights_that_do_not_pair_name_their_row(void **state)
{
    (void)state;
    outcome o = {0};
    hr_column_values ids = INTS(1, 2, 3), weights = FLOATS(.5f, 2, 4);
    ids.rows = weights.rows = 2;
    ids.splits = SPLITS(0, 2, 3);
    weights.splits = SPLITS(0, 1, 3);
    run_columns(&o, HR_COLUMNS(hr_weighted_categorical_column(hr_categorical_column_with_identity("i", 5), "w")),
                (feature[]){{"i", ids}, {"w", weights}}, 2);
    assert_int_equal(o.failed_rows, 2);
    assert_int_equal(o.failed_row, 0);
    assert_string_equal(o.err.kind, "column.weights");
    outcome_free(&o);
    weights.splits = ids.splits;
    run_columns(&o, HR_COLUMNS(hr_weighted_categorical_column(hr_categorical_column_with_identity("i", 5), "w")),
                (feature[]){{"i", ids}, {"w", weights}}, 2);
    assert_int_equal(o.failed_rows, 0);
    assert_exactly(o.result[0].weights[1], 2);
    outcome_free(&o);
}

static void equal_columns_are_computed_once_and_others_of_one_name_refused(void **state)
{
    (void)state;
    outcome o = {0};
    hr_view words[] = {view("a")};
    feature f[] = {{"w", strings(words, 1, SPLITS(0, 1))}};
    hr_feature_column *list[] = {
        hr_categorical_column_with_hash_bucket("w", 9),
        hr_indicator_column(hr_categorical_column_with_hash_bucket("w", 9)),
        hr_embedding_column(hr_categorical_column_with_hash_bucket("w", 9), 4),
    };
    const hr_column_list columns = {list, 3};
    run_columns(&o, columns, f, 1);
    assert_int_equal(hr__transformer_outputs(o.transformer), 1);
    outcome_free(&o);
    run_columns(&o,
                HR_COLUMNS(hr_categorical_column_with_hash_bucket("w", 9),
                           hr_indicator_column(hr_categorical_column_with_hash_bucket("w", 8))),
                f, 1);
    assert_string_equal(o.err.kind, "column.duplicate_name");
    outcome_free(&o);
}

static hr_feature_column *everything(void)
{
    hr_feature_column *hour = hr_categorical_column_with_identity("hour", 24);
    hr_feature_column *words = hr_categorical_column_with_vocabulary_list("w", HR_VOCABULARY("a", "b"));
    hr_feature_column *cross = hr_crossed_column(HR_CROSS({.key = "x"}, {.column = hour}, {.column = words}), 50);
    return hr_embedding_column(hr_weighted_categorical_column(cross, "score"), 3, .ckpt_to_load_from = "m",
                               .tensor_name_in_ckpt = "t");
}

static void no_allocation_failure_leaks(void **state)
{
    (void)state;
    int64_t alive = allocations_alive();
    for (int64_t n = 0;; n++) {
        fail_allocation(n);
        hr_feature_column *column = everything();
        int64_t count = allocations_since();
        const hr_error *err = hr_feature_column_error(column);
        if (err) assert_status(err->code, HR_RESOURCE_EXHAUSTED);
        hr_feature_column_unref(column);
        assert_int_equal(allocations_alive(), alive);
        if (n >= count) break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_out_of_range_names_its_row_and_feature),
        cmocka_unit_test(an_identity_default_replaces_ids_out_of_range),
        cmocka_unit_test(tf_compat_passes_ids_out_of_range),
        cmocka_unit_test(missing_values_are_left_out_of_dense_features_only),
        cmocka_unit_test(unknown_words_get_the_default_or_a_bucket),
        cmocka_unit_test(bad_vocabularies_are_refused),
        cmocka_unit_test(a_vocabulary_file_has_a_word_a_line),
        cmocka_unit_test(hashes_are_those_of_tensorflow),
        cmocka_unit_test(all_kernels_give_the_same_hashes),
        cmocka_unit_test(remainders_are_exact_for_every_divisor),
        cmocka_unit_test(crosses_are_those_of_tensorflow),
        cmocka_unit_test(a_row_without_a_value_has_no_cross),
        cmocka_unit_test(what_cannot_be_crossed_is_refused),
        cmocka_unit_test(floats_are_not_cut_to_integers_unseen),
        cmocka_unit_test(weights_that_do_not_pair_name_their_row),
        cmocka_unit_test(equal_columns_are_computed_once_and_others_of_one_name_refused),
        cmocka_unit_test(no_allocation_failure_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
