/* Derived features: every kind against values computed by hand, the section of a config file, what is parsed, and rows
 * of a pipeline in any order and batch. */
#include "base/config.h"
#include "feature_columns/derived/derived_section.h"
#include "tests/feature_columns/columns_testing.h"
#include <headrace/derived_kind.h>
#include <math.h>
#include <string.h>

/* ---- records ---- */

static const hr_field file_fields[] = {{.name = "a", .dtype = HR_INT64},
                                       {.name = "b", .dtype = HR_INT64},
                                       {.name = "x", .dtype = HR_FLOAT},
                                       {.name = "s", .dtype = HR_STRING}};
static const hr_schema file = {.fields = 4, .field = file_fields};

/* One record; the values of a field that is missing are NULL. */
static hr_dataset *record_of(const int64_t *a, const int64_t *b, const float *x, const char *s)
{
    hr_view bytes;
    hr_error err;
    hr_example *ex = hr_example_new();
    if (a) hr_example_add_int64(ex, "a", a, 1);
    if (b) hr_example_add_int64(ex, "b", b, 1);
    if (x) hr_example_add_float(ex, "x", x, 1);
    if (s) hr_example_add_bytes(ex, "s", &(hr_view){s, (int64_t)strlen(s)}, 1);
    assert_ok(hr_example_bytes(ex, &bytes, &err), &err);
    const hr_tensor t = hr_tensor_of(HR_STRING, HR_SHAPE(1), &bytes);
    hr_dataset *ds = hr_from_tensor_slices(&t, NULL, 1);
    hr_example_free(ex);
    return ds;
}

/* Takes the feature, and `records`: the value of its one row as a number. */
static double derive(hr_derived_feature *f, hr_dataset *records, hr_dtype dtype)
{
    static const hr_parse_spec none = {0};
    hr_parse_spec *spec, wanted = none;
    hr_error err;
    const hr_element *e;
    const hr_error *failed = hr_derived_error(f);
    if (failed) fail_msg("%s", failed->text);
    const hr_feature want = {.key = hr_derived_name(f)};
    wanted = (hr_parse_spec){&want, 1};
    assert_ok(hr_derived_parse_spec(HR_DERIVED(f), &wanted, &file, &spec, &err), &err);
    hr_dataset *ds = hr_derive_features(hr_parse_example(records, spec), HR_DERIVED(f), .wanted = &wanted);
    hr_iterator *it = hr_iterate(ds);
    if (hr_next(it, &e) != HR_OK) fail_msg("%s", hr_iterator_error(it)->text);
    const hr_tensor *t = hr_get(e, hr_derived_name(f));
    assert_non_null(t);
    assert_int_equal(t->dtype, dtype);
    assert_int_equal(t->count, 1);
    const double got = dtype == HR_INT64 ? (double)*(const int64_t *)t->data : (double)*(const float *)t->data;
    hr_iterator_free(it);
    hr_parse_spec_free(spec);
    hr_derived_unref(f);
    return got;
}

#define RECORD(a_, b_, x_, s_) record_of(HR_I64(a_), HR_I64(b_), HR_F32(x_), s_)
#define NO_A record_of(NULL, HR_I64(2), NULL, NULL)

/* ---- kinds ---- */

static void a_ratio_is_a_quotient(void **state)
{
    (void)state;
    assert_exactly(derive(hr_derived_ratio("r", "a", "b"), RECORD(7, 2, 0, ""), HR_FLOAT), 3.5);
    assert_exactly(derive(hr_derived_ratio("r", "a", "x"), RECORD(1, 2, 0.5f, ""), HR_FLOAT), 2);
    assert_exactly(derive(hr_derived_ratio("r", "a", "b"), RECORD(7, 0, 0, ""), HR_FLOAT), 0);
    assert_exactly(derive(hr_derived_ratio("r", "a", "b", .default_value = -1), RECORD(7, 0, 0, ""), HR_FLOAT), -1);
    assert_exactly(derive(hr_derived_ratio("r", "a", "b", .default_value = -1), NO_A, HR_FLOAT), -1);
}

static void a_logarithm_is_of_a_number_and_an_offset(void **state)
{
    (void)state;
    assert_exactly(derive(hr_derived_log("l", "a", .offset = 1), RECORD(0, 2, 0, ""), HR_FLOAT), 0);
    assert_exactly(derive(hr_derived_log("l", "x"), RECORD(0, 2, 8, ""), HR_FLOAT), (float)log(8));
    assert_exactly(derive(hr_derived_log("l", "x", .default_value = -9), RECORD(0, 2, 0, ""), HR_FLOAT), -9);
    assert_exactly(derive(hr_derived_log("l", "x", .default_value = -9), RECORD(0, 2, NAN, ""), HR_FLOAT), -9);
    assert_exactly(derive(hr_derived_log("l", "a", .default_value = -9), NO_A, HR_FLOAT), -9);
}

static void integers_stay_integers_in_sums(void **state)
{
    (void)state;
    const int64_t large = (INT64_C(1) << 53) - 1;
    assert_exactly(derive(hr_derived_difference("d", "a", "b"), RECORD(7, large, 0, ""), HR_INT64),
                   (double)(7 - large));
    assert_exactly(derive(hr_derived_difference("d", "x", "a"), RECORD(7, 0, 0.5f, ""), HR_FLOAT), -6.5);
    assert_exactly(derive(hr_derived_sum("d", HR_FIELDS("a", "b", "a")), RECORD(3, 5, 0, ""), HR_INT64), 11);
    assert_exactly(derive(hr_derived_sum("d", HR_FIELDS("a", "x")), RECORD(3, 5, 0.25f, ""), HR_FLOAT), 3.25);
    assert_exactly(derive(hr_derived_product("d", HR_FIELDS("a", "b", "b")), RECORD(3, 5, 0, ""), HR_INT64), 75);
    assert_exactly(derive(hr_derived_product("d", HR_FIELDS("x", "b")), RECORD(3, 5, 0.5f, ""), HR_FLOAT), 2.5);
    assert_exactly(derive(hr_derived_sum("d", HR_FIELDS("a", "b"), .default_value = 4), NO_A, HR_INT64), 4);
}

static void comparisons_give_one_or_zero(void **state)
{
    (void)state;
    static const int want[5][3] = {{1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 1, 1}, {0, 0, 1}};
    for (int c = HR_LESS; c <= HR_GREATER; c++)
        for (int b = 0; b < 3; b++) {
            hr_derived_feature *fields = hr_derived_comparison("c", (hr_comparison)c, "a", (hr_operand){.field = "b"});
            assert_exactly(derive(fields, RECORD(5, 6 - b, 0, ""), HR_INT64), want[c][b]);
            hr_derived_feature *constant =
                hr_derived_comparison("c", (hr_comparison)c, "x", (hr_operand){.number = 6 - b});
            assert_exactly(derive(constant, RECORD(0, 0, 5, ""), HR_INT64), want[c][b]);
        }
    /* Numbers that float32 does not hold are equal to themselves. */
    assert_exactly(derive(hr_derived_comparison("c", HR_EQUAL, "x", (hr_operand){.number = 12.45}),
                          RECORD(0, 0, 12.45f, ""), HR_INT64),
                   1);
    assert_exactly(derive(hr_derived_comparison("c", HR_GREATER, "x", (hr_operand){.number = 0.2}),
                          RECORD(0, 0, 0.2f, ""), HR_INT64),
                   0);
    const int64_t large = INT64_C(1) << 60;
    assert_exactly(derive(hr_derived_comparison("c", HR_LESS, "a", (hr_operand){.field = "b"}),
                          RECORD(large, large + 1, 0, ""), HR_INT64),
                   1);
    assert_exactly(derive(hr_derived_comparison("c", HR_EQUAL, "s", (hr_operand){.text = "red"}),
                          RECORD(0, 0, 0, "red"), HR_INT64),
                   1);
    assert_exactly(derive(hr_derived_comparison("c", HR_EQUAL, "s", (hr_operand){.text = "red"}),
                          RECORD(0, 0, 0, "redder"), HR_INT64),
                   0);
    assert_exactly(
        derive(hr_derived_comparison("c", HR_LESS, "a", (hr_operand){.number = 1}, .default_value = 1), NO_A, HR_INT64),
        1);
}

static double part(hr_date_part which, const char *text)
{
    return derive(hr_derived_date_part("d", which, "s", .default_value = -5), RECORD(0, 0, 0, text), HR_INT64);
}

static void dates_have_parts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double part[8];
    } cases[] = {
        {"1970-01-01", {1970, 1, 1, 3, 0, 0, 1, 0}},
        {"2000-02-29T23:59:59Z", {2000, 2, 29, 1, 23, 59, 60, 951868799}},
        {"2024-12-31 06:07", {2024, 12, 31, 1, 6, 7, 366, 1735625220}},
        {"2023-03-01T00:30+01:00", {2023, 2, 28, 1, 23, 30, 59, 1677627000}},
        {"1969-12-31T23:59:59.5Z", {1969, 12, 31, 2, 23, 59, 365, -1}},
        {"1900-03-01", {1900, 3, 1, 3, 0, 0, 60, -2203891200.0}},
        {"yesterday", {-5, -5, -5, -5, -5, -5, -5, -5}},
        {"", {-5, -5, -5, -5, -5, -5, -5, -5}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int p = HR_YEAR; p <= HR_TIMESTAMP; p++)
            if (part((hr_date_part)p, cases[i].text) != cases[i].part[p])
                fail_msg("%s: part %d: expected %g, got %g", cases[i].text, p, cases[i].part[p],
                         part((hr_date_part)p, cases[i].text));
    assert_exactly(derive(hr_derived_date_part("d", HR_YEAR, "a"), RECORD(951868799, 0, 0, ""), HR_INT64), 2000);
    assert_exactly(derive(hr_derived_date_part("d", HR_YEAR, "a"), RECORD(INT64_MAX, 0, 0, ""), HR_INT64), 0);
}

static void a_table_has_the_number_of_a_value(void **state)
{
    (void)state;
    const hr_value_numbers colours = HR_VALUE_NUMBERS({"red", 1.5}, {"blue", 2}, {"-7", 3});
    assert_exactly(derive(hr_derived_map("m", "s", colours), RECORD(0, 0, 0, "blue"), HR_FLOAT), 2);
    assert_exactly(derive(hr_derived_map("m", "s", colours, .default_value = 1), RECORD(0, 0, 0, "blu"), HR_FLOAT), 1);
    assert_exactly(derive(hr_derived_map("m", "s", colours, .default_value = 1), NO_A, HR_FLOAT), 1);
    assert_exactly(derive(hr_derived_map("m", "a", colours), RECORD(-7, 0, 0, ""), HR_FLOAT), 3);
}

static void a_field_has_another_name(void **state)
{
    (void)state;
    hr_derived_feature *f = hr_derived_rename("other", "s");
    hr_feature_column *column = hr_categorical_column_with_vocabulary_list("other", HR_VOCABULARY("p", "q"));
    hr_column_list columns = HR_COLUMNS(column);
    hr_schema all;
    hr_parse_spec *wanted, *spec;
    hr_error err;
    const hr_element *e;
    assert_ok(hr_derived_schema(HR_DERIVED(f), &file, &all, &err), &err);
    assert_int_equal(all.fields, 5);
    assert_int_equal(all.field[4].dtype, HR_STRING);
    assert_ok(hr_make_parse_example_spec(columns, &wanted, &err, .file = &all), &err);
    assert_ok(hr_derived_parse_spec(HR_DERIVED(f), wanted, &file, &spec, &err), &err);
    assert_int_equal(spec->features, 1);
    assert_string_equal(spec->feature[0].key, "s");
    hr_dataset *ds = hr_parse_example(RECORD(0, 0, 0, "q"), spec);
    ds = hr_transform_features(hr_derive_features(ds, HR_DERIVED(f), .wanted = wanted), columns);
    hr_iterator *it = hr_iterate(ds);
    if (hr_next(it, &e) != HR_OK) fail_msg("%s", hr_iterator_error(it)->text);
    assert_int_equal(*(const int64_t *)hr_get_at(e, 0)->data, 1);
    hr_iterator_free(it);
    hr_parse_spec_free(wanted);
    hr_parse_spec_free(spec);
    hr_free((void *)(uintptr_t)all.field);
    hr_feature_column_unref(column);
    hr_derived_unref(f);
}

/* ---- what is refused ---- */

static void assert_list_refused(hr_derived_list list, const char *kind, const char *part_of_text)
{
    hr_schema all;
    hr_error err = {0};
    assert_true(hr_derived_schema(list, &file, &all, &err) < 0);
    assert_string_equal(err.kind, kind);
    if (!strstr(err.text, part_of_text)) fail_msg("%s", err.text);
    assert_null(all.field);
    for (int i = 0; i < list.count; i++) hr_derived_unref(list.feature[i]);
}

static void wrong_features_are_refused(void **state)
{
    (void)state;
    assert_list_refused(HR_DERIVED(hr_derived_ratio("r", "q", "r")), "derived.field", "'q'");
    assert_list_refused(
        HR_DERIVED(hr_derived_ratio("r", "q", "p"), hr_derived_ratio("q", "a", "r"), hr_derived_ratio("p", "a", "a")),
        "derived.circle", "not made of itself");
    assert_list_refused(HR_DERIVED(hr_derived_ratio("a", "a", "b")), "derived.name", "field of the records");
    assert_list_refused(HR_DERIVED(hr_derived_ratio("q", "a", "b"), hr_derived_ratio("q", "a", "b")), "derived.name",
                        "derived feature before it");
    assert_list_refused(HR_DERIVED(hr_derived_ratio("q", "a", "s")), "derived.dtype", "'q'");
    assert_list_refused(HR_DERIVED(hr_derived_comparison("q", HR_LESS, "s", (hr_operand){.text = "x"})),
                        "derived.dtype", "only equal");
    assert_list_refused(HR_DERIVED(hr_derived_comparison("q", HR_EQUAL, "a", (hr_operand){.text = "x"})),
                        "derived.dtype", "a number and a text");
    assert_list_refused(HR_DERIVED(hr_derived_date_part("q", HR_DAY, "x")), "derived.dtype", "floats");
    assert_list_refused(HR_DERIVED(hr_derived_sum("q", HR_FIELDS("a"), .default_value = 0.5)), "derived.default",
                        "0.5");
    assert_list_refused(HR_DERIVED(hr_derived_rename("", "a")), "derived.name", "name of the feature");
    assert_list_refused(HR_DERIVED(hr_derived_map("q", "a", (hr_value_numbers){0})), "derived.argument", "table");
    assert_list_refused((hr_derived_list){(hr_derived_feature *const[]){NULL}, 1}, "derived.null", "NULL");
}

static void rows_without_a_result_in_range_fail(void **state)
{
    (void)state;
    hr_parse_spec *spec;
    hr_error err;
    const hr_element *e;
    hr_derived_feature *f = hr_derived_sum("d", HR_FIELDS("a", "b"));
    const hr_feature want = {.key = "d"};
    const hr_parse_spec wanted = {&want, 1};
    assert_ok(hr_derived_parse_spec(HR_DERIVED(f), &wanted, &file, &spec, &err), &err);
    hr_iterator *it =
        hr_iterate(hr_derive_features(hr_parse_example(RECORD(INT64_MAX, 1, 0, ""), spec), HR_DERIVED(f)));
    assert_int_equal(hr_next(it, &e), HR_OUT_OF_RANGE);
    assert_string_equal(hr_iterator_error(it)->kind, "derived.range");
    hr_iterator_free(it);
    hr_parse_spec_free(spec);
    hr_derived_unref(f);
}

/* ---- the section of a config file ---- */

static hr_status read_section(const char *yaml, hr_derived_list *out, hr_error *err)
{
    hr__config *config;
    *out = (hr_derived_list){0};
    HR_TRY(hr__config_parse("t.yaml", yaml, strlen(yaml), &config, err));
    const hr__node *root = hr__config_root(config);
    const hr_status st =
        hr__derived_from_config(hr__node_get(root, "derived"), &file, hr__node_get(root, "default"), out, err);
    hr__config_free(config);
    return st;
}

static void the_section_makes_every_kind(void **state)
{
    (void)state;
    static const char yaml[] = "derived:\n"
                               "  second: {ratio: [first, b], default: 2}\n"
                               "  first: {log: a, offset: 1}\n"
                               "  far: {at_least: [a, 1000]}\n"
                               "  less: {less: [a, x]}\n"
                               "  red: {equal: [s, red]}\n"
                               "  quoted: {equal: [s, \"a\"]}\n"
                               "  day: {weekday: s}\n"
                               "  since: {seconds: s}\n"
                               "  weight: {map: s, values: {red: 1.5, blue: 2}, default: 1}\n"
                               "  number: {map: a, values: {1: 1.5}}\n"
                               "  old: {rename: s}\n"
                               "  all: {sum: [a, b, far]}\n"
                               "  of: {product: [a, x]}\n"
                               "  minus: {difference: [a, b]}\n"
                               "default: {b: 4}\n";
    hr_derived_list list;
    hr_schema all;
    hr_parse_spec *spec;
    hr_error err = {0};
    assert_ok(read_section(yaml, &list, &err), &err);
    assert_int_equal(list.count, 14);
    assert_ok(hr_derived_schema(list, &file, &all, &err), &err);
    assert_string_equal(all.field[4].name, "second");
    assert_int_equal(all.field[4].dtype, HR_FLOAT);
    assert_int_equal(all.field[6].dtype, HR_INT64);
    const hr_feature want = {.key = "second"};
    const hr_parse_spec wanted = {&want, 1};
    assert_ok(hr_derived_parse_spec(list, &wanted, &file, &spec, &err), &err);
    assert_int_equal(spec->features, 2);
    assert_string_equal(spec->feature[0].key, "a");
    assert_int_equal(spec->feature[0].kind, HR_VAR_LEN);
    assert_int_equal(spec->feature[1].kind, HR_FIXED_LEN);
    assert_exactly((double)*(const int64_t *)spec->feature[1].default_value->data, 4);
    hr_parse_spec_free(spec);
    hr_free((void *)(uintptr_t)all.field);
    hr__derived_list_free(&list);
}

static void mistakes_in_the_section_have_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *kind, *text;
    } cases[] = {
        {"derived: {q: {rato: [a, b]}}", "config.unknown_name", "t.yaml:1:15: "},
        {"derived: {q: {rato: [a, b]}}", "config.unknown_name", "did you mean 'ratio'"},
        {"derived:\n  q: {ratio: [a, bb]}", "config.unknown_name", "t.yaml:2:18: "},
        {"derived:\n  q: {ratio: [a]}", "config.type", "t.yaml:2:14: "},
        {"derived:\n  q: {ratio: a}", "config.type", "t.yaml:2:14: "},
        {"derived:\n  q: {ratio: [a, b], sum: [a]}", "config.value", "'ratio' and 'sum'"},
        {"derived:\n  q: {ratio: [a, b], of: 3}", "config.unknown_key", "'of'"},
        {"derived:\n  q: {log: a, offst: 3}", "config.unknown_key", "did you mean 'offset'"},
        {"derived:\n  q: {log: a, offset: x}", "config.type", "t.yaml:2:23: "},
        {"derived:\n  q: {ratio: [q, b]}", "derived.circle", "t.yaml:2:6: "},
        {"derived:\n  p: {ratio: [q, b]}\n  q: {sum: [p]}", "derived.circle", "not made of itself"},
        {"derived:\n  a: {sum: [b]}", "derived.name", "t.yaml:2:3: "},
        {"derived:\n  q: {sum: [s]}", "derived.dtype", "t.yaml:2:6: "},
        {"derived:\n  q: {less: [a, far]}", "config.unknown_name", "unknown field 'far'"},
        {"derived:\n  q: {less: [a, 9007199254740994]}", "config.type", "2^53"},
        {"derived:\n  q: {map: s}", "config.missing_key", "values"},
        {"derived:\n  q: {map: s, values: {}}", "config.type", "values"},
        {"derived:\n  q: {rename: s, default: 1}", "config.value", "t.yaml:2:27: "},
        {"derived:\n  q: {sum: [a], default: 1.5}", "derived.default", "1.5"},
        {"derived: [a]", "config.type", "t.yaml:1:10: "},
        {"derived: {q: }", "config.type", "t.yaml:1:"},
        {"derived: {q: {}}", "config.type", "such as {ratio: [a, b]}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hr_derived_list list;
        hr_error err = {0};
        assert_true(read_section(cases[i].yaml, &list, &err) < 0);
        if (strcmp(err.kind, cases[i].kind) != 0 || !strstr(err.text, cases[i].text))
            fail_msg("%zu: %s: %s", i, err.kind, err.text);
        assert_int_equal(list.count, 0);
    }
}

/* ---- pipelines ---- */

enum { ROWS = 500 };

static void add_numbers(hr_example *ex, int row)
{
    const int64_t a = row, b = row % 7;
    const float x = (float)row / 4;
    if (row % 5) hr_example_add_int64(ex, "a", &a, 1);
    hr_example_add_int64(ex, "b", &b, 1);
    hr_example_add_float(ex, "x", &x, 1);
}

static void check_numbers(const hr_element *batch, int64_t at, int row)
{
    const float ratio = row % 5 == 0 ? -1 : row % 7 == 0 ? -1 : (float)((double)row / (row % 7));
    assert_exactly(((const float *)hr_get(batch, "ratio")->data)[at], ratio);
    assert_exactly(((const float *)hr_get(batch, "twice")->data)[at], (float)((double)ratio + (double)ratio));
    assert_int_equal(((const int64_t *)hr_get(batch, "late")->data)[at], row >= 100);
    assert_exactly(((const float *)hr_get(batch, "x")->data)[at], (float)row / 4);
}

static hr_dataset *numbers(hr_derived_list list, bool batch_first)
{
    static const hr_feature features[] = {{.key = "a", .kind = HR_VAR_LEN, .dtype = HR_INT64},
                                          {.key = "b", .dtype = HR_INT64, .shape = {.rank = 1, .dims = {1}}},
                                          {.key = "x", .dtype = HR_FLOAT}};
    const hr_parse_spec spec = {features, 3};
    hr_dataset *ds = example_records(hr_example_new(), ROWS, add_numbers);
    if (batch_first) ds = hr_batch(ds, 32);
    ds = hr_derive_features(hr_parse_example(ds, &spec), list, .label = "late");
    return batch_first ? ds : hr_batch(ds, 32);
}

static void rows_are_derived_before_and_after_a_batch_by_any_threads(void **state)
{
    (void)state;
    hr_derived_list list = HR_DERIVED(hr_derived_sum("twice", HR_FIELDS("ratio", "ratio")),
                                      hr_derived_ratio("ratio", "a", "b", .default_value = -1),
                                      hr_derived_comparison("late", HR_AT_LEAST, "x", (hr_operand){.number = 25}));
    for (int batch_first = 0; batch_first < 2; batch_first++)
        for (int workers = 0; workers < 4; workers += 3)
            for (int64_t unit = 1; unit <= 64; unit += 63)
                check_rows(numbers(list, batch_first), workers, unit, ROWS, check_numbers);
    hr_dataset *ds = numbers(list, true);
    const hr_schema *schema = hr_dataset_schema(ds);
    assert_int_equal(schema->fields, 6);
    assert_true(schema->field[5].label);
    hr_dataset_unref(ds);
    ds = hr_derive_features(example_records(hr_example_new(), 1, add_numbers), list, .label = "a");
    assert_string_equal(hr_dataset_error(ds)->kind, "derived.field");
    hr_dataset_unref(ds);
    for (int i = 0; i < list.count; i++) hr_derived_unref(list.feature[i]);
}

/* ---- a kind from outside ---- */

static hr_status parity_type(const void *spec, const hr_dtype *in, int count, hr_dtype *out, hr_error *err)
{
    (void)spec;
    (void)in;
    (void)count;
    (void)err;
    *out = HR_INT64;
    return HR_OK;
}

static hr_status parity_compute(const void *spec, hr_derived_work *w, const hr_derived_values *in, int64_t rows,
                                void *out, bool *missing, hr_error *err)
{
    (void)w;
    (void)err;
    for (int64_t r = 0; r < rows; r++) {
        const int64_t value = ((const int64_t *)in->values)[r];
        ((int64_t *)out)[r] = value % *(const int64_t *)spec;
        missing[r] |= value < 0;
    }
    return HR_OK;
}

static void a_kind_may_come_from_outside(void **state)
{
    (void)state;
    const int64_t by = 4;
    hr_derived_kind parity = {.head = HR_DERIVED_HEAD,
                              .name = "parity",
                              .spec_size = sizeof by,
                              .type = parity_type,
                              .compute = parity_compute};
    assert_exactly(derive(hr_derived_new(&parity, &by, "p", HR_FIELDS("a"), 9), RECORD(7, 0, 0, ""), HR_INT64), 3);
    assert_exactly(derive(hr_derived_new(&parity, &by, "p", HR_FIELDS("a"), 9), RECORD(-7, 0, 0, ""), HR_INT64), 9);
    parity.head.abi_version++;
    hr_derived_feature *f = hr_derived_new(&parity, &by, "p", HR_FIELDS("a"), 9);
    assert_string_equal(hr_derived_error(f)->kind, "derived.kind");
    hr_derived_unref(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ratio_is_a_quotient),
        cmocka_unit_test(a_logarithm_is_of_a_number_and_an_offset),
        cmocka_unit_test(integers_stay_integers_in_sums),
        cmocka_unit_test(comparisons_give_one_or_zero),
        cmocka_unit_test(dates_have_parts),
        cmocka_unit_test(a_table_has_the_number_of_a_value),
        cmocka_unit_test(a_field_has_another_name),
        cmocka_unit_test(wrong_features_are_refused),
        cmocka_unit_test(rows_without_a_result_in_range_fail),
        cmocka_unit_test(the_section_makes_every_kind),
        cmocka_unit_test(mistakes_in_the_section_have_their_place),
        cmocka_unit_test(rows_are_derived_before_and_after_a_batch_by_any_threads),
        cmocka_unit_test(a_kind_may_come_from_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
