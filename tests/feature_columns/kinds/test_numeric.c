/* numeric_column and bucketized_column. */
#include "base/cpu.h"
#include "tests/feature_columns/columns_testing.h"

#include <math.h>
#include <stdlib.h>

static void numbers_of_any_type_become_float32(void **state)
{
    (void)state;
    outcome o = {0};
    run_columns(&o, HR_COLUMNS(hr_numeric_column("a")), (feature[]){{"a", INTS(3, -1, 16777217)}}, 1);
    assert_ok(o.status, &o.err);
    const float *v = o.result[0].values;
    assert_exactly(v[0], 3);
    assert_exactly(v[1], -1);
    assert_exactly(v[2], 16777216);
    outcome_free(&o);
}

static void mean_and_std_are_applied_in_float32(void **state)
{
    (void)state;
    outcome o = {0};
    run_columns(&o, HR_COLUMNS(hr_numeric_column("a", .mean = 57.0073f, .std = 17.9025f)),
                (feature[]){{"a", FLOATS(39.02f, 57.0073f)}}, 1);
    const float *v = o.result[0].values;
    assert_exactly(v[0], (39.02f - 57.0073f) / 17.9025f);
    assert_exactly(v[1], 0);
    outcome_free(&o);
}

static void log1p_comes_before_min_and_max(void **state)
{
    (void)state;
    outcome o = {0};
    run_columns(&o, HR_COLUMNS(hr_numeric_column("a", .log1p = true, .min = 1, .max = 3)),
                (feature[]){{"a", INTS(0, 19, -1)}}, 1);
    const float *v = o.result[0].values;
    assert_exactly(v[0], -0.5f);
    assert_exactly(v[1], (log1pf(19) - 1) / 2);
    assert_exactly(v[2], -INFINITY);
    outcome_free(&o);
    assert_refused(hr_numeric_column("a", .min = 3, .max = 1), "column.normalizer");
    assert_refused(hr_numeric_column("a", .max = 1, .std = 1), "column.normalizer");
}

static void times(const void *in, hr_dtype dtype, float *out, int64_t count, void *user)
{
    assert_int_equal(dtype, HR_INT64);
    for (int64_t i = 0; i < count; i++) out[i] = (float)(((const int64_t *)in)[i] * *(const int64_t *)user);
}

static void normalizer_sees_the_parsed_type(void **state)
{
    (void)state;
    outcome o = {0};
    int64_t by = 3;
    run_columns(&o, HR_COLUMNS(hr_numeric_column("a", .normalizer_fn = times, .user = &by)),
                (feature[]){{"a", INTS(3, 16777217)}}, 1);
    const float *v = o.result[0].values;
    assert_exactly(v[0], 9);
    assert_exactly(v[1], 50331652);
    outcome_free(&o);
}

static void ragged_strings_and_wrong_widths_are_refused(void **state)
{
    (void)state;
    outcome o = {0};
    hr_column_values ragged = FLOATS(1, 2);
    ragged.splits = SPLITS(0, 1, 2);
    run_columns(&o, HR_COLUMNS(hr_numeric_column("a")), (feature[]){{"a", ragged}}, 1);
    assert_string_equal(o.err.kind, "column.layout");
    outcome_free(&o);
    hr_view words[] = {view("1")};
    run_columns(&o, HR_COLUMNS(hr_numeric_column("a")),
                (feature[]){{"a", {.dtype = HR_STRING, .rows = 1, .values = words, .count = 1, .width = 1}}}, 1);
    assert_string_equal(o.err.kind, "column.dtype");
    outcome_free(&o);
    run_columns(&o, HR_COLUMNS(hr_numeric_column("a", .shape = HR_SHAPE(2))), (feature[]){{"a", FLOATS(1, 2)}}, 1);
    assert_string_equal(o.err.kind, "column.width");
    outcome_free(&o);
}

static void bad_arguments_are_refused_when_the_column_is_made(void **state)
{
    (void)state;
    assert_refused(hr_numeric_column(""), "column.key");
    assert_refused(hr_numeric_column("a", .shape = HR_SHAPE(0)), "column.shape");
    assert_refused(hr_numeric_column("a", .dtype = HR_STRING), "column.dtype");
    assert_refused(hr_numeric_column("a", .dtype = HR_INT64, .default_value = HR_F32(1.5f)), "column.default_value");
    assert_refused(hr_numeric_column("a", .shape = HR_SHAPE(3), .default_value = HR_F32(1, 2), .default_values = 2),
                   "column.default_value");
    assert_refused(hr_numeric_column("a", .dtype = HR_INT32, .default_integers = HR_I64(INT64_C(1) << 31)),
                   "column.default_value");
    assert_refused(hr_numeric_column("a", .dtype = HR_UINT8, .default_integers = HR_I64(-1)), "column.default_value");
    assert_refused(hr_numeric_column("a", .default_value = HR_F32(1), .default_integers = HR_I64(1)),
                   "column.default_value");
    assert_refused(hr_numeric_column("a", .std = NAN), "column.normalizer");
    assert_refused(hr_bucketized_column(hr_numeric_column("a"), HR_F32(1, 1), 2), "column.boundaries");
    assert_refused(hr_bucketized_column(hr_numeric_column("a"), HR_F32(NAN), 1), "column.boundaries");
    assert_refused(hr_bucketized_column(hr_numeric_column("a"), NULL, 0), "column.boundaries");
    assert_refused(hr_bucketized_column(hr_numeric_column("a", .shape = HR_SHAPE(2, 2)), HR_F32(1), 1),
                   "column.source");
    assert_refused(hr_bucketized_column(hr_categorical_column_with_identity("a", 3), HR_F32(1), 1), "column.source");
    assert_refused(hr_bucketized_column(hr_numeric_column(""), HR_F32(1), 1), "column.key"); /* the first error */
}

/* As TensorFlow: the file's integer is parsed exactly, and the column casts it to the nearest float32. */
static void integers_keep_their_defaults_exactly_up_to_the_cast(void **state)
{
    (void)state;
    const int64_t odd = (1 << 24) + 1;
    hr_parse_spec *spec;
    hr_error err;
    hr_feature_column *column = hr_numeric_column("a", .dtype = HR_INT64, .default_integers = &odd);
    assert_ok(hr_make_parse_example_spec(HR_COLUMNS(column), &spec, &err), &err);
    assert_int_equal(spec->feature[0].dtype, HR_INT64);
    assert_int_equal(*(const int64_t *)spec->feature[0].default_value->data, odd);
    hr_parse_spec_free(spec);
    outcome o = {0};
    run_columns(&o, HR_COLUMNS(column), (feature[]){{"a", INTS(odd, INT64_MIN)}}, 1);
    assert_ok(o.status, &o.err);
    assert_exactly(((const float *)o.result[0].values)[0], 16777216.0f);
    assert_exactly(((const float *)o.result[0].values)[1], -0x1p63f);
    outcome_free(&o);
}

static void a_value_on_a_boundary_lies_above_it(void **state)
{
    (void)state;
    outcome o = {0};
    run_columns(&o, HR_COLUMNS(hr_bucketized_column(hr_numeric_column("a"), HR_F32(0, 1, 10), 3)),
                (feature[]){{"a", FLOATS(-1, 0, .999f, 1, 10, NAN, INFINITY, -INFINITY, -0.0f, -1e-45f)}}, 1);
    assert_result(&o.result[0], SPLITS(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10), 0, 1, 1, 2, 3, 3, 3, 0, 1, 1);
    outcome_free(&o);
}

static void components_of_a_vector_have_ids_of_their_own(void **state)
{
    (void)state;
    outcome o = {0};
    hr_column_values pairs = FLOATS(-1, .5f, .5f, 1);
    pairs.rows = 2;
    pairs.width = 2;
    hr_feature_column *b = hr_bucketized_column(hr_numeric_column("a", .shape = HR_SHAPE(2)), HR_F32(0, 1), 2);
    const hr_column_info *info = hr_feature_column_info(b);
    assert_string_equal(info->name, "a_bucketized");
    assert_true(info->categorical);
    assert_int_equal(info->dense, HR_COLUMN_COUNTS);
    assert_int_equal(info->num_buckets, 6);
    run_columns(&o, HR_COLUMNS(b), (feature[]){{"a", pairs}}, 1);
    assert_result(&o.result[0], SPLITS(0, 2, 4), 0, 4, 1, 5);
    outcome_free(&o);
}

static float no_denormal(float x)
{
    hr_bucketize_boundaries(&x, 1);
    return x;
}

static void all_kernels_give_the_same_buckets(void **state)
{
    (void)state;
    enum { N = 1003, MAX = 100 };
    static float x[N], boundaries[MAX];
    static int64_t portable[N], fast[N];
    for (int b = 0; b < MAX; b++) boundaries[b] = (float)b / 8 - 4;
    for (int i = 0; i < N; i++) x[i] = (float)(int64_t)hr_random_below(1, (uint64_t)i, 200) / 16 - 6;
    x[5] = NAN;
    x[40] = -0.0f;
    x[77] = 1e-45f;
    x[1000] = INFINITY;
    const int counts[] = {1, 2, 10, 33, 64, 65, 100};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        hr__cpu_limit(0);
        hr_bucketize(x, N, boundaries, counts[c], portable);
        for (unsigned features = 1; features < 16; features = features * 2 + 1) {
            hr__cpu_limit(features);
            hr_bucketize(x, N, boundaries, counts[c], fast);
            assert_memory_equal(portable, fast, sizeof fast);
        }
        for (int i = 0; i < N; i++) { /* the naive rival */
            int64_t expected = 0;
            for (int b = 0; b < counts[c]; b++) expected += isnan(x[i]) || no_denormal(x[i]) >= boundaries[b];
            assert_int_equal(portable[i], expected);
        }
    }
    hr__cpu_limit(~0u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_any_type_become_float32),
        cmocka_unit_test(mean_and_std_are_applied_in_float32),
        cmocka_unit_test(log1p_comes_before_min_and_max),
        cmocka_unit_test(normalizer_sees_the_parsed_type),
        cmocka_unit_test(ragged_strings_and_wrong_widths_are_refused),
        cmocka_unit_test(bad_arguments_are_refused_when_the_column_is_made),
        cmocka_unit_test(integers_keep_their_defaults_exactly_up_to_the_cast),
        cmocka_unit_test(a_value_on_a_boundary_lies_above_it),
        cmocka_unit_test(components_of_a_vector_have_ids_of_their_own),
        cmocka_unit_test(all_kernels_give_the_same_buckets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
