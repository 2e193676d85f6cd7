/* Kinds of columns from outside the library, made of <headrace/column.h> alone, take part in everything: parsing specs,
 * pipelines, crosses, embeddings, sequences; and what breaks the kit's contract is refused. */
#include "examples/hour_of_day.h"
#include "tests/testing.h"

#include <string.h>

/* ---- a dense kind: one feature by another, from two columns ---- */

static hr_status ratio_describe(const void *spec, const hr_feature_column *const *source, hr_column_builder *out,
                                hr_error *err)
{
    (void)spec;
    const hr_column_info *a = hr_feature_column_info(source[0]), *b = hr_feature_column_info(source[1]);
    HR_TRY(hr_column_name(out, err, "%s_by_%s", a->name, b->name));
    hr_column_info *info = hr_column_describe(out);
    info->dense = HR_COLUMN_VALUES;
    info->width = a->width;
    return HR_OK;
}

static hr_status ratio_transform(const void *spec, hr_column_work *w, const hr_column_values *in, hr_column_values *out,
                                 hr_error *err)
{
    (void)spec;
    float *value = hr_column_floats(w, in[0].count);
    if (!value) return hr_fail(err, HR_RESOURCE_EXHAUSTED, "memory", "no memory for a ratio");
    for (int64_t i = 0; i < in[0].count; i++)
        value[i] = ((const float *)in[0].values)[i] / ((const float *)in[1].values)[i];
    *out = in[0];
    out->values = value;
    return HR_OK;
}

static const hr_column_kind ratio = {
    .head = HR_COLUMN_HEAD, .name = "ratio_column", .describe = ratio_describe, .transform = ratio_transform};

static hr_feature_column *ratio_column(const char *a, const char *b)
{
    hr_feature_column *both[] = {hr_numeric_column(a), hr_numeric_column(b)};
    return hr_feature_column_new(&ratio, "", both, 2);
}

/* ---- a pipeline ---- */

enum { ROWS = 4 };

static hr_dataset *rows(int64_t last_time)
{
    static int64_t time[ROWS];
    static const float fare[] = {10, 20, 30, 40}, miles[] = {2, 5, 10, 4};
    const int64_t given[] = {0, 3600, 86399, last_time};
    memcpy(time, given, sizeof given);
    const hr_tensor all[] = {hr_tensor_of(HR_INT64, HR_SHAPE(ROWS, 1), time),
                             hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS, 1), fare),
                             hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS, 1), miles)};
    static const char *const names[] = {"time", "fare", "miles"};
    return hr_batch(hr_from_tensor_slices(all, names, 3), ROWS);
}

/* Transforms by the columns, which it takes. */
static hr_iterator *through(hr_dataset *ds, hr_column_list columns)
{
    ds = hr_transform_features(ds, columns);
    for (int i = 0; i < columns.count; i++) hr_feature_column_unref(columns.column[i]);
    return hr_iterate(ds);
}

static void ids_and_values_come_out_of_the_pipeline(void **state)
{
    (void)state;
    hr_feature_column *hour = hour_of_day_column("time", 3600);
    hr_iterator *it = through(rows(7200), HR_COLUMNS(hour, ratio_column("fare", "miles")));
    const hr_element *e;
    if (hr_next(it, &e) != HR_OK) fail_msg("%s", hr_iterator_error(it)->text);
    static const int64_t hours[] = {1, 2, 0, 3};
    static const float by[] = {5, 4, 3, 10};
    assert_memory_equal(hr_get(e, "time_hour")->data, hours, sizeof hours);
    assert_memory_equal(hr_get(e, "fare_by_miles")->data, by, sizeof by);
    hr_iterator_free(it);
}

static void its_failing_rows_are_named(void **state)
{
    (void)state;
    hr_iterator *it = through(hr_unbatch(rows(-5)), HR_COLUMNS(hour_of_day_column("time", 0)));
    const hr_element *e;
    hr_status st;
    int n = 0;
    while ((st = hr_next(it, &e)) == HR_OK) n++;
    assert_int_equal(n, 3);
    assert_int_equal(st, HR_INVALID_ARGUMENT);
    assert_string_equal(hr_iterator_error(it)->kind, "hour.before_1970");
    assert_string_equal(hr_iterator_error(it)->feature, "time");
    hr_iterator_free(it);
}

static void other_columns_are_made_of_it(void **state)
{
    (void)state;
    hr_error err;
    hr_parse_spec *spec;
    hr_feature_column *hour = hour_of_day_column("time", 0);
    hr_feature_column *list[] = {
        hr_crossed_column(HR_CROSS({.column = hr_feature_column_ref(hour)}, {.key = "origin"}), 100),
        hr_indicator_column(hr_feature_column_ref(hour)),
        hr_embedding_column(hr_feature_column_ref(hour), 4),
        hr_embedding_column(hr_sequence_categorical_column(hour), 2),
    };
    static const char *const names[] = {"origin_X_time_hour", "time_hour_indicator", "time_hour_embedding",
                                        "time_hour_embedding"};
    for (int i = 0; i < 4; i++) {
        if (hr_feature_column_error(list[i])) fail_msg("%s", hr_feature_column_error(list[i])->text);
        assert_string_equal(hr_feature_column_info(list[i])->name, names[i]);
    }
    assert_int_equal(hr_feature_column_info(list[2])->num_buckets, 24);
    const hr_column_list columns = {list, 4};
    assert_ok(hr_make_parse_example_spec(columns, &spec, &err), &err);
    assert_int_equal(spec->features, 2);
    assert_string_equal(spec->feature[1].key, "time");
    hr_parse_spec_free(spec);
    for (int i = 0; i < 4; i++) hr_feature_column_unref(list[i]);
}

static void equal_ones_are_computed_once(void **state)
{
    (void)state;
    hr_iterator *it = through(rows(0), HR_COLUMNS(hour_of_day_column("time", 0), hour_of_day_column("time", 0)));
    const hr_element *e;
    assert_int_equal(hr_next(it, &e), HR_OK);
    assert_int_equal(hr_element_schema(e)->fields, 1);
    hr_iterator_free(it);
    it = through(rows(0), HR_COLUMNS(hour_of_day_column("time", 0), hour_of_day_column("time", 60)));
    assert_int_equal(hr_next(it, &e), HR_INVALID_ARGUMENT);
    assert_string_equal(hr_iterator_error(it)->kind, "column.duplicate_name");
    hr_iterator_free(it);
}

/* Takes the column. */
static void refused(hr_feature_column *column, const char *kind)
{
    assert_non_null(hr_feature_column_error(column));
    assert_string_equal(hr_feature_column_error(column)->kind, kind);
    hr_feature_column_unref(column);
}

static hr_status no_name(const void *spec, const hr_feature_column *const *source, hr_column_builder *out,
                         hr_error *err)
{
    (void)spec, (void)source, (void)out, (void)err;
    return HR_OK;
}

static void broken_contracts_are_refused(void **state)
{
    (void)state;
    hr_column_kind kind = ratio;
    hr_feature_column *none = NULL;
    refused(hour_of_day_column("time", 86400), "hour.zone");
    kind.head.abi_version = 99;
    refused(hr_feature_column_new(&kind, "", &none, 0), "column.kind");
    kind = ratio;
    kind.head.struct_size = 8;
    hr_feature_column *source = hr_numeric_column("x");
    refused(hr_feature_column_new(&kind, "", &source, 1), "column.kind");
    kind = ratio;
    kind.describe = no_name;
    refused(hr_feature_column_new(&kind, "", &none, 0), "column.kind");
    kind.describe = NULL;
    refused(hr_feature_column_new(&kind, "", &none, 0), "column.kind");
}

static void a_wrong_type_is_refused_before_any_data(void **state)
{
    (void)state;
    hr_feature_column *column = hour_of_day_column("fare", 0);
    hr_dataset *ds = hr_transform_features(rows(0), HR_COLUMNS(column));
    assert_string_equal(hr_dataset_error(ds)->kind, "hour.dtype");
    hr_dataset_unref(ds);
    hr_feature_column_unref(column);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_and_values_come_out_of_the_pipeline),
        cmocka_unit_test(its_failing_rows_are_named),
        cmocka_unit_test(other_columns_are_made_of_it),
        cmocka_unit_test(equal_ones_are_computed_once),
        cmocka_unit_test(broken_contracts_are_refused),
        cmocka_unit_test(a_wrong_type_is_refused_before_any_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
