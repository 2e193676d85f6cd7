/* The operator in a pipeline: the same rows for any number of workers and unit sizes, labels passed, wrong rows
 * named. */
#include "tests/feature_columns/columns_testing.h"

#include <headrace/arrow.h>
#include <headrace/data.h>

#include <stdio.h>
#include <string.h>

enum { ROWS = 500 };

/* int64 "hour", float "temp", string "origin", int64 "late", a row each. */
static hr_dataset *source(int64_t wrong_row)
{
    static int64_t hour[ROWS], late[ROWS];
    static float temp[ROWS];
    static hr_view origin[ROWS];
    static const char *const airports[] = {"EWR", "JFK", "LGA", "SFO", ""};
    for (int i = 0; i < ROWS; i++) {
        hour[i] = i == wrong_row ? 99 : (i * 7) % 24;
        late[i] = i % 3 == 0;
        temp[i] = (float)(i % 40);
        origin[i] = view(airports[i % 5]);
    }
    const char *const names[] = {"hour", "temp", "origin", "late"};
    const hr_tensor tensors[] = {
        hr_tensor_of(HR_INT64, HR_SHAPE(ROWS), hour),
        hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS), temp),
        hr_tensor_of(HR_STRING, HR_SHAPE(ROWS), origin),
        hr_tensor_of(HR_INT64, HR_SHAPE(ROWS), late),
    };
    return hr_from_tensor_slices(tensors, names, 4);
}

static hr_dataset *transformed(hr_dataset *ds, const char *keep)
{
    hr_feature_column *hour = hr_categorical_column_with_identity("hour", 24);
    hr_feature_column *origin =
        hr_categorical_column_with_vocabulary_list("origin", HR_VOCABULARY("EWR", "JFK", "LGA"));
    hr_feature_column *list[] = {
        hr_crossed_column(HR_CROSS({.key = "origin"}, {.column = hr_feature_column_ref(hour)}), 50),
        hour,
        hr_indicator_column(origin),
        hr_numeric_column("temp", .mean = 10, .std = 2),
        hr_bucketized_column(hr_numeric_column("temp"), HR_F32(10, 20), 2),
    };
    const hr_column_list columns = {list, 5};
    ds = hr_transform_features(ds, columns, .keep = keep);
    for (int i = 0; i < columns.count; i++) hr_feature_column_unref(columns.column[i]);
    return ds;
}

/* A hash of all rows, whatever the batches. */
static uint64_t digest(hr_dataset *ds, int workers, int64_t unit_rows, int64_t *rows)
{
    hr_iterator *it = hr_iterate(ds, .workers = &workers, .unit_rows = unit_rows);
    const hr_element *e;
    hr_status st;
    uint64_t hash = 0;
    *rows = 0;
    while ((st = hr_next(it, &e)) == HR_OK) {
        const hr_tensor *cross = hr_get(e, "hour_X_origin"), *hour = hr_get(e, "hour"), *temp = hr_get(e, "temp");
        const hr_tensor *bucket = hr_get(e, "temp_bucketized"), *origin = hr_get(e, "origin");
        assert_non_null(cross);
        assert_non_null(hour);
        assert_non_null(temp);
        assert_non_null(bucket);
        assert_non_null(origin);
        int64_t n = temp->shape.dims[0];
        assert_int_equal(temp->shape.dims[1], 1);
        for (int64_t r = 0; r < n; r++) {
            hash = hr_fingerprint_cat64(hash, (uint64_t)((const int64_t *)hour->data)[hour->splits[0][r]]);
            hash = hr_fingerprint_cat64(hash, (uint64_t)((const int64_t *)cross->data)[cross->splits[0][r]]);
            hash = hr_fingerprint_cat64(hash, (uint64_t)((const int64_t *)bucket->data)[bucket->splits[0][r]]);
            hash = hr_fingerprint_cat64(hash, (uint64_t)(((const float *)temp->data)[r] * 8));
            hash = hr_fingerprint_cat64(hash, (uint64_t)(origin->splits[0][r + 1] - origin->splits[0][r]));
        }
        *rows += n;
    }
    if (st != HR_END) fail_msg("%s", hr_iterator_error(it)->text);
    hr_iterator_free(it);
    return hash;
}

static void results_do_not_depend_on_workers_units_or_the_place_of_batch(void **state)
{
    (void)state;
    int64_t rows;
    uint64_t expected = digest(transformed(hr_batch(source(-1), 32), NULL), 0, 0, &rows);
    assert_int_equal(rows, ROWS);
    for (int workers = 0; workers <= 2; workers++) {
        assert_int_equal(digest(transformed(hr_batch(source(-1), 7), NULL), workers, 5, &rows), expected);
        assert_int_equal(digest(hr_batch(transformed(source(-1), NULL), 100), workers, 1000, &rows), expected);
    }
}

static void forget_schema(struct ArrowSchema *schema) { schema->release = NULL; }
static void forget_array(struct ArrowArray *array) { array->release = NULL; }

/* The rows of source() as Arrow arrays that live for ever. */
static hr_dataset *arrow_source(const hr_parse_spec *spec)
{
    static const char *const airports[] = {"EWR", "JFK", "LGA", "SFO", ""};
    static int64_t hour[ROWS];
    static double temp[ROWS];
    static int32_t offset[ROWS + 1];
    static char text[3 * ROWS + 1];
    for (int i = 0; i < ROWS; i++) {
        hour[i] = (i * 7) % 24;
        temp[i] = i % 40;
        offset[i + 1] = (int32_t)(stpcpy(text + offset[i], airports[i % 5]) - text);
    }
    static struct ArrowSchema type[] = {
        {.format = "l", .name = "hour"}, {.format = "g", .name = "temp"}, {.format = "u", .name = "origin"}};
    static const void *buffer[][3] = {{NULL, hour}, {NULL, temp}, {NULL, offset, text}}, *none[] = {NULL};
    static struct ArrowArray array[3];
    static struct ArrowSchema *types[] = {&type[0], &type[1], &type[2]};
    static struct ArrowArray *arrays[] = {&array[0], &array[1], &array[2]};
    for (int i = 0; i < 3; i++)
        array[i] = (struct ArrowArray){
            .length = ROWS, .n_buffers = i < 2 ? 2 : 3, .buffers = buffer[i], .release = forget_array};
    struct ArrowSchema rows_type = {.format = "+s", .n_children = 3, .children = types, .release = forget_schema};
    struct ArrowArray rows = {.length = ROWS, .n_buffers = 1, .buffers = none, .n_children = 3};
    rows.children = arrays;
    rows.release = forget_array;
    return hr_from_arrow(&rows, &rows_type, .spec = spec);
}

static void arrow_rows_go_through_the_same_columns(void **state)
{
    (void)state;
    const hr_parse_spec *spec = HR_PARSE_SPEC({.key = "hour", .dtype = HR_INT64}, {.key = "origin", .dtype = HR_STRING},
                                              {.key = "temp", .dtype = HR_FLOAT});
    int64_t rows;
    const uint64_t want = digest(transformed(hr_batch(source(-1), 32), NULL), 0, 0, &rows);
    assert_int_equal(digest(transformed(hr_batch(arrow_source(spec), 32), NULL), 0, 0, &rows), want);
    assert_int_equal(rows, ROWS);
}

static void only_columns_labels_and_what_is_kept_come_out(void **state)
{
    (void)state;
    hr_dataset *ds = transformed(source(-1), "late\ntemperature");
    const hr_schema *schema = hr_dataset_schema(ds);
    if (!schema) fail_msg("%s", hr_dataset_error(ds)->text);
    const char *const names[] = {"hour", "hour_X_origin", "origin", "temp", "temp_bucketized", "late"};
    assert_int_equal(schema->fields, 6);
    for (int i = 0; i < 6; i++) assert_string_equal(schema->field[i].name, names[i]);
    hr_dataset_unref(ds);
    ds = transformed(source(-1), NULL);
    assert_int_equal(hr_dataset_schema(ds)->fields, 5);
    hr_dataset_unref(ds);
}

static void rows_before_a_wrong_one_are_delivered(void **state)
{
    (void)state;
    hr_iterator *it = hr_iterate(hr_batch(transformed(source(333), NULL), 10));
    const hr_element *e;
    hr_status st;
    int64_t rows = 0;
    while ((st = hr_next(it, &e)) == HR_OK) rows += hr_get(e, "temp")->shape.dims[0];
    assert_int_equal(rows, 333);
    assert_status(st, HR_INVALID_ARGUMENT);
    assert_string_equal(hr_iterator_error(it)->kind, "column.id_range");
    assert_string_equal(hr_iterator_error(it)->feature, "hour");
    hr_iterator_free(it);
}

static void mistakes_stick_to_the_dataset(void **state)
{
    (void)state;
    hr_feature_column *column = hr_numeric_column("tmep");
    hr_dataset *ds = hr_transform_features(source(-1), HR_COLUMNS(column));
    assert_string_equal(hr_dataset_error(ds)->kind, "column.missing_feature");
    assert_text_contains(hr_dataset_error(ds)->text, "'temp'");
    hr_dataset_unref(ds);
    hr_feature_column_unref(column);

    column = hr_bucketized_column(hr_numeric_column("temp"), HR_F32(40), 1);
    ds = hr_transform_features(hr_transform_features(source(-1), HR_COLUMNS(column)), HR_COLUMNS(column));
    assert_string_equal(hr_dataset_error(ds)->kind, "column.missing_feature");
    assert_text_contains(hr_dataset_error(ds)->text, "already transformed");
    hr_dataset_unref(ds);
    hr_feature_column_unref(column);

    column = hr_numeric_column("origin");
    ds = hr_transform_features(source(-1), HR_COLUMNS(column));
    assert_string_equal(hr_dataset_error(ds)->kind, "column.dtype");
    hr_dataset_unref(ds);
    hr_feature_column_unref(column);

    column = hr_numeric_column("temp", .shape = HR_SHAPE(0));
    ds = hr_transform_features(source(-1), HR_COLUMNS(column));
    assert_string_equal(hr_dataset_error(ds)->kind, "column.shape");
    hr_dataset_unref(ds);
    hr_feature_column_unref(column);
}

static void no_allocation_failure_leaks_while_the_dataset_is_made(void **state)
{
    (void)state;
    const int64_t alive = allocations_alive();
    for (int64_t n = 0;; n++) {
        fail_allocation(n);
        hr_dataset *ds = transformed(source(-1), "late");
        int64_t count = allocations_since();
        const hr_error *err = hr_dataset_error(ds);
        if (n < count) {
            assert_non_null(err);
            assert_status(err->code, HR_RESOURCE_EXHAUSTED);
        }
        hr_dataset_unref(ds);
        assert_int_equal(allocations_alive(), alive);
        if (n >= count) break;
    }
}

/* Numbers, ids, and labels that pass; the label has the name of no column. */
static void many_columns_go_through(void **state)
{
    (void)state;
    enum { MANY = 70000 }; /* more than 16 bits count */
    static hr_feature_column *column[MANY];
    const hr_column_list columns = {column, MANY};
    static hr_feature feature[MANY];
    static char name[MANY][16];
    hr_error err;
    const hr_element *e;
    hr_view bytes;
    hr_example *example = hr_example_new();
    hr_tensor no_time = hr_tensor_of(HR_INT64, HR_SCALAR, HR_I64(0));
    for (int i = 0; i < MANY; i++) {
        snprintf(name[i], sizeof name[i], "f%d", (i * 7919) % MANY);
        hr_example_add_int64(example, name[i], HR_I64(i % 9), 1);
        column[i] = i % 2 ? hr_categorical_column_with_identity(name[i], 9) : hr_numeric_column(name[i]);
        feature[i] = (hr_feature){.key = name[i],
                                  .kind = i % 2 ? HR_VAR_LEN : HR_FIXED_LEN,
                                  .dtype = HR_INT64,
                                  .default_value = i % 2 ? NULL : &no_time};
    }
    assert_ok(hr_example_bytes(example, &bytes, &err), &err);
    const hr_tensor record = hr_tensor_of(HR_STRING, HR_SHAPE(1), &bytes);
    hr_dataset *ds = hr_from_tensor_slices(&record, (const char *[]){"record"}, 1);
    const hr_parse_spec spec = {.feature = feature, .features = MANY};
    ds = hr_parse_example(hr_batch(ds, 1), &spec);
    ds = hr_transform_features(ds, columns, .keep = "f8\nf12");
    assert_string_equal(hr_dataset_error(ds)->kind, "column.duplicate_name");
    hr_dataset_unref(ds);

    ds = hr_from_tensor_slices(&record, (const char *[]){"record"}, 1);
    ds = hr_transform_features(hr_parse_example(hr_batch(ds, 1), &spec), columns);
    hr_iterator *it = hr_iterate(ds, .workers = &(int){0});
    assert_status(hr_next(it, &e), HR_OK);
    for (int i = 0; i < MANY; i++) {
        const hr_tensor *t = hr_get(e, name[i]);
        if (i % 2)
            assert_int_equal(*(const int64_t *)t->data, i % 9);
        else
            assert_exactly(*(const float *)t->data, (float)(i % 9));
    }
    hr_iterator_free(it);
    hr_example_free(example);
    for (int i = 0; i < MANY; i++) hr_feature_column_unref(column[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_do_not_depend_on_workers_units_or_the_place_of_batch),
        cmocka_unit_test(arrow_rows_go_through_the_same_columns),
        cmocka_unit_test(only_columns_labels_and_what_is_kept_come_out),
        cmocka_unit_test(rows_before_a_wrong_one_are_delivered),
        cmocka_unit_test(mistakes_stick_to_the_dataset),
        cmocka_unit_test(many_columns_go_through),
        cmocka_unit_test(no_allocation_failure_leaks_while_the_dataset_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
