/* Columns of a config file, and its mistakes. */
#include "feature_columns/config/columns_section.h"
#include "tests/feature_columns/columns_testing.h"

#include <stdio.h>
#include <string.h>

static const hr_field fields[] = {
    {.name = "temp", .dtype = HR_FLOAT},    {.name = "hour", .dtype = HR_INT64},  {.name = "late", .dtype = HR_INT64},
    {.name = "origin", .dtype = HR_STRING}, {.name = "dest", .dtype = HR_STRING},
};
static const hr_schema schema = {.fields = 5, .field = fields};

/* `text` has the keys columns, list and default. */
static hr_status read(const char *text, hr_column_list *list, hr_error *err)
{
    hr__config *config;
    hr__config_columns *columns;
    *list = (hr_column_list){0};
    HR_TRY(hr__config_parse("f.yaml", text, strlen(text), &config, err));
    const hr__node *root = hr__config_root(config);
    hr_status st =
        hr__columns_from_config(hr__node_get(root, "columns"), &schema, hr__node_get(root, "default"), &columns, err);
    if (st == HR_OK) {
        st = hr__column_list_from_config(columns, hr__node_get(root, "list"), list, err);
        hr__config_columns_free(columns);
    }
    hr__config_free(config);
    return st;
}

static const char good[] =
    "default: {temp: 57.5}\n"
    "columns:\n"
    "  cross: {crossed: [origin, column hour], hash_bucket_size: 256}\n"
    "  temp: {numeric: temp, mean: 57, std: 18}\n"
    "  hour: {identity: 24}\n"
    "  origin: {vocabulary_list: [EWR, JFK, LGA]}\n"
    "  to: {hash_bucket: 64, field: dest}\n"
    "  temp_b: {bucketized: temp, boundaries: [20, 40]}\n"
    "list: [temp, cross, temp_b, indicator origin, {embedding: to, dimension: 8, combiner: sum}]\n";

/* A name may stand for several columns, in a list for all of them, and nowhere for one. */
static void a_name_of_shared_embeddings_lists_all_of_them(void **state)
{
    (void)state;
    hr_column_list list;
    hr_error err;
    static const char shared[] = "columns:\n"
                                 "  from: {hash_bucket: 9, field: origin}\n"
                                 "  to: {hash_bucket: 9, field: dest}\n"
                                 "  places: {shared_embeddings: [from, to], dimension: 4}\n";
    char text[512];
    snprintf(text, sizeof text, "%slist: [places, from, {shared_embeddings: [to], dimension: 2}]\n", shared);
    assert_ok(read(text, &list, &err), &err);
    static const char *const names[] = {"origin_shared_embedding", "dest_shared_embedding", "origin",
                                        "dest_shared_embedding"};
    assert_int_equal(list.count, 4);
    for (int i = 0; i < 4; i++) assert_string_equal(hr_feature_column_info(list.column[i])->name, names[i]);
    hr__column_list_free(&list);
    snprintf(text, sizeof text, "%slist: [{indicator: places}]\n", shared);
    assert_status(read(text, &list, &err), HR_INVALID_ARGUMENT);
    assert_text_contains(err.text, "expected one column, found 'places', which makes 2");
}

static void every_kind_of_item_makes_its_column(void **state)
{
    (void)state;
    hr_column_list list;
    hr_error err;
    assert_ok(read(good, &list, &err), &err);
    assert_int_equal(list.count, 5);
    const char *names[] = {"temp", "hour_X_origin", "temp_bucketized", "origin_indicator", "dest_embedding"};
    for (int i = 0; i < 5; i++) assert_string_equal(hr_feature_column_info(list.column[i])->name, names[i]);
    const hr_column_info *dest = hr_feature_column_info(list.column[4]);
    assert_int_equal(dest->width, 8);
    assert_int_equal(dest->num_buckets, 64);
    assert_int_equal(dest->table.combiner, HR_SUM);
    hr_parse_spec *spec;
    assert_ok(hr_make_parse_example_spec(list, &spec, &err, .file = &schema), &err);
    assert_int_equal(spec->features, 4);
    assert_exactly(((const float *)spec->feature[3].default_value->data)[0], 57.5f); /* "temp" is the last */
    hr_parse_spec_free(spec);
    hr__column_list_free(&list);
}

static void refuse(const char *text, const char *kind, const char *part)
{
    hr_column_list list;
    hr_error err;
    assert_status(read(text, &list, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, kind);
    if (!strstr(err.text, part)) fail_msg("expected \"%s\" in: %s", part, err.text);
    assert_text_begins(err.text, "f.yaml:");
}

static void mistakes_name_their_place_and_the_nearest_name(void **state)
{
    (void)state;
    refuse("columns: {t: {numeric: tmp}}\nlist: []", "config.unknown_name", "1:24: ");
    refuse("columns: {t: {numeric: tmp}}\nlist: []", "config.unknown_name", "'temp'");
    refuse("columns: {t: {numerik: temp}}\nlist: []", "config.unknown_name", "'numeric'");
    refuse("columns: {t: {numeric: temp, maen: 3}}\nlist: []", "config.unknown_key", "'mean'");
    refuse("columns: {hour: {identity: 24}}\nlist: [hours]", "config.unknown_name", "'hour'");
    refuse("columns: {t: {bucketized: temp, boundaries: [2, 1]}}\nlist: []", "column.boundaries", "1:14");
    refuse("columns: {t: {numeric: origin}}\nlist: []", "config.value", "string");
    refuse("columns: {x: {crossed: [temp, origin], hash_bucket_size: 9}}\nlist: []", "config.value", "bucketized");
    refuse("columns: {t: {numeric: temp, mean: 3}}\nlist: []", "config.type", "std");
    refuse("columns: {t: {numeric: temp, identity: 3}}\nlist: []", "config.value", "one kind");
    refuse("columns: {hour: {identity: 0}}\nlist: []", "config.value", "1:28");
    refuse("default: {hour: 3}\ncolumns: {hour: {identity: 24}}\nlist: []", "config.value", "default");
    refuse("columns: {h: {identity: 24}}\nlist: []", "config.unknown_name", "'h'");
}

static void a_column_made_of_itself_is_refused(void **state)
{
    (void)state;
    refuse("columns: {a: {crossed: [column b, origin], hash_bucket_size: 9},\n"
           "          b: {crossed: [column a, dest], hash_bucket_size: 9}}\nlist: []",
           "config.circle", "itself");
}

static void no_allocation_failure_leaks(void **state)
{
    (void)state;
    int64_t alive = allocations_alive();
    for (int64_t n = 0;; n++) {
        hr_column_list list;
        hr_error err;
        fail_allocation(n);
        hr_status st = read(good, &list, &err);
        int64_t count = allocations_since();
        hr__column_list_free(&list);
        assert_int_equal(allocations_alive(), alive);
        if (n >= count) break;
        if (st != HR_OK) assert_status(st, HR_RESOURCE_EXHAUSTED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_of_shared_embeddings_lists_all_of_them),
        cmocka_unit_test(every_kind_of_item_makes_its_column),
        cmocka_unit_test(mistakes_name_their_place_and_the_nearest_name),
        cmocka_unit_test(a_column_made_of_itself_is_refused),
        cmocka_unit_test(no_allocation_failure_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
