/* make_parse_example_spec, and the order of a list. */
#include "tests/feature_columns/columns_testing.h"

#include <string.h>

static const hr_feature *feature_named(const hr_parse_spec *spec, const char *key)
{
    for (int i = 0; i < spec->features; i++)
        if (strcmp(spec->feature[i].key, key) == 0) return &spec->feature[i];
    return NULL;
}

static void unref_all(hr_column_list columns)
{
    for (int i = 0; i < columns.count; i++) hr_feature_column_unref(columns.column[i]);
}

static void columns_share_the_features_that_they_read(void **state)
{
    (void)state;
    hr_feature_column *hour = hr_categorical_column_with_identity("hour", 24);
    hr_feature_column *list[] = {
        hour,
        hr_numeric_column("temp", .default_value = HR_F32(57)),
        hr_bucketized_column(hr_numeric_column("temp", .default_value = HR_F32(57)), HR_F32(20), 1),
        hr_crossed_column(HR_CROSS({.key = "origin"}, {.column = hr_feature_column_ref(hour)}), 9),
    };
    const hr_column_list columns = {list, 4};
    hr_parse_spec *spec;
    hr_error err;
    assert_ok(hr_make_parse_example_spec(columns, &spec, &err, .label = "late"), &err);
    assert_int_equal(spec->features, 4);
    assert_string_equal(spec->feature[0].key, "hour");
    assert_int_equal(feature_named(spec, "late")->dtype, HR_INT64);
    assert_int_equal(feature_named(spec, "origin")->kind, HR_VAR_LEN);
    assert_exactly(((const float *)feature_named(spec, "temp")->default_value->data)[0], 57);
    hr_parse_spec_free(spec);
    unref_all(columns);
}

static void a_feature_is_parsed_in_the_type_that_the_file_has(void **state)
{
    (void)state;
    const hr_field fields[] = {{.name = "distance", .dtype = HR_INT64}};
    const hr_schema file = {.fields = 1, .field = fields};
    hr_parse_spec *spec;
    hr_error err;
    hr_feature_column *distance = hr_numeric_column("distance", .default_value = HR_F32(1048));
    assert_ok(hr_make_parse_example_spec(HR_COLUMNS(distance), &spec, &err, .file = &file), &err);
    assert_int_equal(spec->feature[0].dtype, HR_INT64);
    assert_int_equal(((const int64_t *)spec->feature[0].default_value->data)[0], 1048);
    hr_parse_spec_free(spec);
    hr_feature_column_unref(distance);

    distance = hr_numeric_column("distance", .default_value = HR_F32(1048.5f));
    assert_status(hr_make_parse_example_spec(HR_COLUMNS(distance), &spec, &err, .file = &file), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "column.default_value");
    hr_feature_column_unref(distance);
}

static void conflict(hr_feature_column *a, hr_feature_column *b, const char *kind)
{
    hr_parse_spec *spec;
    hr_error err;
    const hr_column_list columns = HR_COLUMNS(a, b);
    assert_status(hr_make_parse_example_spec(columns, &spec, &err, .label = "y"), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, kind);
    assert_null(spec);
    unref_all(columns);
}

static void different_ways_to_parse_a_feature_are_refused(void **state)
{
    (void)state;
    conflict(hr_numeric_column("a"), hr_numeric_column("a", .shape = HR_SHAPE(2)), "column.spec_conflict");
    conflict(hr_numeric_column("a"), hr_numeric_column("a", .default_value = HR_F32(1)), "column.spec_conflict");
    conflict(hr_numeric_column("a"), hr_categorical_column_with_identity("a", 3), "column.spec_conflict");
    conflict(hr_numeric_column("a"), hr_numeric_column("y"), "column.label");
    conflict(hr_numeric_column("a"), hr_numeric_column("b", .shape = HR_SHAPE(-2)), "column.shape");
    conflict(hr_numeric_column("a"), NULL, "column.null");
    conflict(hr_indicator_column(NULL), hr_embedding_column(NULL, 3), "column.null");
}

static void classifiers_and_regressors_have_labels_and_weights(void **state)
{
    (void)state;
    hr_parse_spec *spec;
    hr_error err;
    hr_feature_column *age = hr_numeric_column("age");
    const hr_column_list columns = HR_COLUMNS(age);
    assert_ok(hr_classifier_parse_example_spec(columns, "late", &spec, &err, .weight_column = "weight"), &err);
    assert_int_equal(spec->features, 3);
    assert_int_equal(feature_named(spec, "late")->dtype, HR_INT64);
    assert_shape(feature_named(spec, "late")->shape, HR_SHAPE(1));
    assert_int_equal(feature_named(spec, "weight")->dtype, HR_FLOAT);
    assert_int_equal(feature_named(spec, "weight")->kind, HR_FIXED_LEN);
    hr_parse_spec_free(spec);

    assert_ok(
        hr_regressor_parse_example_spec(columns, "y", &spec, &err, .label_dimension = 2, .label_default = HR_F32(0.5f)),
        &err);
    const hr_feature *y = feature_named(spec, "y");
    assert_int_equal(y->dtype, HR_FLOAT);
    assert_shape(y->shape, HR_SHAPE(2));
    assert_exactly(((const float *)y->default_value->data)[1], 0.5f);
    hr_parse_spec_free(spec);

    assert_status(hr_classifier_parse_example_spec(columns, "age", &spec, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_classifier_parse_example_spec(columns, "y", &spec, &err, .weight_column = "y"),
                  HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "column.label");
    assert_status(hr_regressor_parse_example_spec(columns, "", &spec, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_regressor_parse_example_spec(columns, "y", &spec, &err, .label_dimension = -1),
                  HR_INVALID_ARGUMENT);
    assert_null(spec);
    hr_feature_column_unref(age);
}

static hr_status sorted_names(hr_column_list columns, hr_column_layer layer, const char *first, hr_error *err)
{
    const hr_feature_column *sorted[8];
    hr_status st = hr_sort_columns(columns, layer, sorted, err);
    if (st == HR_OK) assert_string_equal(hr_feature_column_info(sorted[0])->name, first);
    unref_all(columns);
    return st;
}

static void lists_are_in_the_order_of_bytes(void **state)
{
    (void)state;
    hr_error err;
    hr_feature_column *names[] = {hr_numeric_column("a"), hr_numeric_column("_x"), hr_numeric_column("B"),
                                  hr_numeric_column("\xc3\xa9")};
    const hr_column_list four = {names, 4};
    assert_ok(sorted_names(four, HR_LINEAR_MODEL, "B", &err), &err);
    sorted_names(HR_COLUMNS(hr_numeric_column("a"), hr_numeric_column("a")), HR_LINEAR_MODEL, "", &err);
    assert_string_equal(err.kind, "column.duplicate_name");
    sorted_names(HR_COLUMNS(hr_categorical_column_with_identity("a", 2)), HR_INPUT_LAYER, "", &err);
    assert_string_equal(err.kind, "column.not_dense");
    assert_ok(sorted_names(HR_COLUMNS(hr_numeric_column("a b")), HR_INPUT_LAYER, "a b", &err), &err);
    sorted_names(HR_COLUMNS(hr_numeric_column("a b")), HR_TF_INPUT_LAYER, "", &err);
    assert_string_equal(err.kind, "column.scope");
    hr_feature_column *blank = hr_categorical_column_with_identity("a b", 2),
                      *line = hr_categorical_column_with_identity("a_b", 3);
    sorted_names(HR_COLUMNS(hr_embedding_column(blank, 2), hr_embedding_column(line, 2)), HR_INPUT_LAYER, "", &err);
    assert_string_equal(err.kind, "column.scope");
    assert_text_contains(err.text, "'a_b_embedding' and 'a b_embedding', which both become 'a_b_embedding'");
    sorted_names(HR_COLUMNS(hr_numeric_column("a b"), hr_numeric_column("a:b")), HR_LINEAR_MODEL, "", &err);
    assert_string_equal(err.kind, "column.scope");
    hr_feature_column *one = hr_categorical_column_with_identity("a", 2),
                      *other = hr_categorical_column_with_identity("b", 3);
    hr_shared_embeddings(&one, 1, 4, &one, .shared_embedding_name = "t");
    hr_shared_embeddings(&other, 1, 4, &other, .shared_embedding_name = "t");
    sorted_names(HR_COLUMNS(one, other), HR_INPUT_LAYER, "", &err);
    assert_string_equal(err.kind, "column.shared");
    const hr_column_list none = {0};
    sorted_names(none, HR_INPUT_LAYER, "", &err);
    assert_string_equal(err.kind, "column.empty_list");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_share_the_features_that_they_read),
        cmocka_unit_test(a_feature_is_parsed_in_the_type_that_the_file_has),
        cmocka_unit_test(different_ways_to_parse_a_feature_are_refused),
        cmocka_unit_test(classifiers_and_regressors_have_labels_and_weights),
        cmocka_unit_test(lists_are_in_the_order_of_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
