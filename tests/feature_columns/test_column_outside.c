/* Kinds of columns from outside the library, made of <headrace/column.h> alone, take part in everything: parsing specs,
 * pipelines, crosses, embeddings, sequences; and what breaks the kit's contract is refused. */
#include "examples/hour_of_day.h"
#include "tests/testing.h"

#include <headrace/column_config.h>

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
    assert_status(st, HR_INVALID_ARGUMENT);
    assert_string_equal(hr_iterator_error(it)->kind, "hour.before_1970");
    assert_string_equal(hr_iterator_error(it)->feature, "time");
    hr_iterator_free(it);
}

static void other_columns_are_made_of_a_column_from_outside(void **state)
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
    assert_status(hr_next(it, &e), HR_OK);
    assert_int_equal(hr_element_schema(e)->fields, 1);
    hr_iterator_free(it);
    it = through(rows(0), HR_COLUMNS(hour_of_day_column("time", 0), hour_of_day_column("time", 60)));
    assert_status(hr_next(it, &e), HR_INVALID_ARGUMENT);
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
    refused(hr_feature_column_new(NULL, "", &none, 0), "column.kind");
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

/* ---- kinds that lie: each in one way ---- */

typedef enum lie {
    HONEST,
    NO_STATUS,
    NO_ERROR,
    WIDTH,
    BUCKETS,
    FURTHER_ROWS,
    FEWER_ROWS,
    MORE_VALUES,
    NO_VALUES,
    NO_SPLITS,
    SPLITS_FALL,
    SPLITS_BEYOND,
    NO_STATUS_LATER,
    NO_ERROR_LATER,
    LIES
} lie;

static hr_status lying_describe(const void *spec, const hr_feature_column *const *source, hr_column_builder *out,
                                hr_error *err)
{
    (void)source;
    const lie how = *(const lie *)spec;
    if (how == NO_STATUS) return (hr_status)77;
    if (how == NO_ERROR) return HR_UNAVAILABLE;
    HR_TRY(hr_column_name(out, err, "lying"));
    HR_TRY(hr_column_read_var_len(out, "time", HR_INT64, err));
    hr_column_info *info = hr_column_describe(out);
    info->categorical = true;
    info->num_buckets = how == BUCKETS ? -1 : 10;
    info->width = how == WIDTH ? -1 : 0;
    return HR_OK;
}

static hr_status lying_transform(const void *spec, hr_column_work *w, const hr_column_values *in, hr_column_values *out,
                                 hr_error *err)
{
    const lie how = *(const lie *)spec;
    const int64_t rows = out->rows;
    int64_t *ids = hr_column_ids(w, rows);
    int32_t *splits = hr_column_splits(w);
    (void)in;
    if (how == NO_STATUS_LATER) return HR_WAIT;
    if (how == NO_ERROR_LATER) return HR_UNAVAILABLE;
    if (!ids || !splits) return hr_no_memory(err, "ids");
    for (int64_t r = 0; r < rows; r++) {
        ids[r] = r % 10;
        splits[r + 1] = (int32_t)r + 1;
    }
    out->values = how == NO_VALUES ? NULL : ids;
    out->splits = how == NO_SPLITS ? NULL : splits;
    out->count = how == MORE_VALUES ? 1000 * rows : rows;
    if (how == FURTHER_ROWS) out->rows = 1000 * rows;
    if (how == FEWER_ROWS) out->rows = 0;
    if (how == SPLITS_FALL) splits[1] = -5;
    if (how == SPLITS_BEYOND) splits[rows] = 1000000;
    return HR_OK;
}

static const hr_column_kind lying = {.head = HR_COLUMN_HEAD,
                                     .name = "lying_column",
                                     .spec_size = sizeof(lie),
                                     .describe = lying_describe,
                                     .transform = lying_transform};

static hr_status transform_lying(lie how, hr_error *err)
{
    hr_feature_column *column = hr_feature_column_new(&lying, &how, NULL, 0);
    const hr_element *e;
    hr_status st;
    hr_iterator *it = hr_iterate(hr_transform_features(rows(1), HR_COLUMNS(column)));
    while ((st = hr_next(it, &e)) == HR_OK) {}
    if (st < 0) *err = *hr_iterator_error(it);
    hr_iterator_free(it);
    hr_feature_column_unref(column);
    return st;
}

static void a_kind_that_lies_is_an_error(void **state)
{
    (void)state;
    hr_error err;
    assert_int_equal(transform_lying(HONEST, &err), HR_END);
    for (lie how = NO_STATUS; how < LIES; how++) {
        const bool own = how == NO_ERROR || how == NO_ERROR_LATER;
        assert_status(transform_lying(how, &err), own ? HR_UNAVAILABLE : HR_INTERNAL);
        assert_string_equal(err.kind, "column.kind");
        assert_non_null(strstr(err.text, "lying_column"));
    }
}

/* ---- descriptors of another size ---- */

static void a_kind_without_the_newest_field_loads(void **state)
{
    (void)state;
    static hr_column_kind old; /* as a plug-in has it that was built before .config was there */
    memcpy(&old, &ratio, offsetof(hr_column_kind, config));
    memset((char *)&old + offsetof(hr_column_kind, config), 0xee, sizeof old - offsetof(hr_column_kind, config));
    old.head.struct_size = offsetof(hr_column_kind, config);
    hr_feature_column *both[] = {hr_numeric_column("fare"), hr_numeric_column("miles")};
    hr_feature_column *column = hr_feature_column_new(&old, "", both, 2);
    assert_null(hr_feature_column_error(column));
    assert_ptr_equal(hr_feature_column_kind(column), &old);
    char *yaml;
    hr_error err;
    assert_status(hr_columns_to_yaml((hr_column_list){&column, 1}, &yaml, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "column.write");
    hr_iterator *it = through(rows(0), (hr_column_list){&column, 1});
    const hr_element *e;
    assert_status(hr_next(it, &e), HR_OK);
    assert_float_equal(((const float *)hr_get(e, "fare_by_miles")->data)[3], 10, 0);
    hr_iterator_free(it);
}

static void a_kind_with_a_further_field_loads_if_that_is_zero(void **state)
{
    (void)state;
    static struct {
        hr_column_kind kind;
        void *further;
    } newer;
    newer.kind = ratio;
    newer.kind.head.struct_size = sizeof newer;
    hr_feature_column *both[] = {hr_numeric_column("fare"), hr_numeric_column("miles")};
    hr_feature_column *column = hr_feature_column_new(&newer.kind, "", both, 2);
    assert_null(hr_feature_column_error(column));
    hr_feature_column_unref(column);
    newer.further = &newer;
    hr_feature_column *again[] = {hr_numeric_column("fare"), hr_numeric_column("miles")};
    refused(hr_feature_column_new(&newer.kind, "", again, 2), "column.kind");
}

/* ---- in a config file ---- */

static const char with_hours[] = "schema: {int64: [time], float: [fare]}\n"
                                 "columns:\n"
                                 "  hour: {hour_of_day: time, seconds_east: 3600}\n"
                                 "  shown: {indicator: hour}\n";

static hr_status parse(const char *yaml, hr_column_set **set, hr_error *err)
{
    return hr_column_set_parse("f.yaml", yaml, strlen(yaml), set, err);
}

static void assert_not_read(const char *yaml, const char *text)
{
    hr_column_set *set;
    hr_error err;
    assert_status(parse(yaml, &set, &err), HR_INVALID_ARGUMENT);
    if (!strstr(err.text, text)) fail_msg("expected \"%s\" in: %s", text, err.text);
}

static void a_registered_kind_is_read_and_written(void **state)
{
    (void)state;
    hr_column_set *set, *again;
    hr_error err;
    char *yaml;
    assert_not_read(with_hours, "unknown kind of column 'hour_of_day'");
    hr_feature_column *column = hour_of_day_column("time", 0);
    assert_status(hr_columns_to_yaml((hr_column_list){&column, 1}, &yaml, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "column.write");
    assert_false(hr_feature_column_is(column, "hour_of_day_column"));

    assert_ok(hour_of_day_register(&err), &err);
    assert_true(hr_feature_column_is(column, "hour_of_day_column"));
    hr_feature_column_unref(column);
    assert_ok(parse(with_hours, &set, &err), &err);
    assert_string_equal(hr_feature_column_info(hr_column_set_find(set, "hour"))->name, "time_hour");
    assert_ok(hr_column_set_to_yaml(set, &yaml, &err), &err);
    if (!strstr(yaml, "hour: {hour_of_day: time, seconds_east: 3600}")) fail_msg("got %s", yaml);
    assert_ok(parse(yaml, &again, &err), &err);
    hr_free(yaml);
    assert_ok(hr_column_set_to_yaml(again, &yaml, &err), &err);
    hr_free(yaml);
    hr_column_set_free(again);
    hr_column_set_free(set);

    assert_not_read("schema: {int64: [time]}\ncolumns:\n  h: {hour_of_dy: time}\n", "did you mean 'hour_of_day'");
    assert_not_read("schema: {int64: [time]}\ncolumns:\n  h: {hour_of_day: time, east: 1}\n", "unknown key 'east'");
    assert_not_read("schema: {float: [time]}\ncolumns:\n  h: {hour_of_day: time}\n",
                    "f.yaml:3:20: columns.h.hour_of_day: expected a field of int64, found 'time' of float32");
}

static hr_status read_nothing(hr_config_reader *r, hr_feature_column **out, hr_error *err)
{
    *out = hr_numeric_column(hr_config_name(r));
    (void)err;
    return HR_OK;
}

static void a_kind_is_registered_once_and_whole(void **state)
{
    (void)state;
    static hr_column_config config = {.head = HR_COLUMN_CONFIG_HEAD, .word = "numeric", .read = read_nothing};
    static hr_column_kind kind;
    hr_error err;
    assert_status(hour_of_day_register(&err), HR_ALREADY_EXISTS);
    assert_string_equal(err.kind, "column.registered");
    assert_status(hr_column_kind_register(&ratio, &err), HR_INVALID_ARGUMENT); /* it has no .config */
    kind = ratio;
    kind.config = &config;
    assert_status(hr_column_kind_register(&kind, &err), HR_INVALID_ARGUMENT); /* no keys */
    config.keys = (const char *const[]){"numeric", NULL};
    assert_status(hr_column_kind_register(&kind, &err), HR_ALREADY_EXISTS); /* the library's own word */
    config.word = "ratio";
    config.head.abi_version = 99;
    assert_status(hr_column_kind_register(&kind, &err), HR_INTERNAL);
    config.head.abi_version = HR_COLUMN_CONFIG_ABI;
    config.head.struct_size = offsetof(hr_column_config, columns); /* an older one */
    assert_ok(hr_column_kind_register(&kind, &err), &err);
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
        cmocka_unit_test(other_columns_are_made_of_a_column_from_outside),
        cmocka_unit_test(equal_ones_are_computed_once),
        cmocka_unit_test(broken_contracts_are_refused),
        cmocka_unit_test(a_kind_that_lies_is_an_error),
        cmocka_unit_test(a_kind_without_the_newest_field_loads),
        cmocka_unit_test(a_kind_with_a_further_field_loads_if_that_is_zero),
        cmocka_unit_test(a_registered_kind_is_read_and_written),
        cmocka_unit_test(a_kind_is_registered_once_and_whole),
        cmocka_unit_test(a_wrong_type_is_refused_before_any_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
