/* Columns to a text and back: what is read again are equal columns, of every kind and with every option. */
#include "feature_columns/config/columns_section.h"
#include "tests/feature_columns/columns_testing.h"

#include <headrace/io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 64 };

static hr_column_set *parsed(const char *yaml)
{
    hr_column_set *set;
    hr_error err;
    assert_ok(hr_column_set_parse("f.yaml", yaml, strlen(yaml), &set, &err), &err);
    return set;
}

static bool has_equal(hr_column_list list, const hr_feature_column *column)
{
    for (int i = 0; i < list.count; i++)
        if (hr__column_digest(list.column[i]) == hr__column_digest(column)) return true;
    return false;
}

/* Takes the columns: writes, reads, compares, writes again. */
static void there_and_back(hr_column_list columns)
{
    char *yaml, *again;
    hr_error err;
    assert_ok(hr_columns_to_yaml(columns, &yaml, &err), &err);
    hr_column_set *set = parsed(yaml);
    for (int i = 0; i < columns.count; i++)
        if (!has_equal(hr_column_set_columns(set), columns.column[i]))
            fail_msg("'%s' is another column in:\n%s", hr_feature_column_info(columns.column[i])->name, yaml);
    assert_ok(hr_column_set_to_yaml(set, &again, &err), &err);
    assert_string_equal(again, yaml);
    hr_column_set_free(set);
    hr_free(yaml);
    hr_free(again);
    for (int i = 0; i < columns.count; i++) hr_feature_column_unref(columns.column[i]);
}

static hr_feature_column *word(void) { return hr_categorical_column_with_identity("word", 9); }

static void write_record(const char *path, const char *word)
{
    hr_record_writer *writer;
    hr_error err;
    const hr_output_opts opts = {.struct_size = sizeof opts, .compression = HR_GZIP};
    assert_ok(hr_record_writer_open(path, &opts, &writer, &err), &err);
    assert_ok(hr_record_write(writer, word, strlen(word), &err), &err);
    assert_ok(hr_record_writer_commit(writer, &err), &err);
}

/* At least one column of every kind, and of each without options and with all of them. */
static hr_column_list every_kind(hr_feature_column **list)
{
    int n = 0;
    const int64_t two = 2;
    write_file("words.txt", "a\nb\nc\n", 6);
    write_record("words.gz", "a");
    list[n++] = hr_numeric_column("temp");
    list[n++] = hr_numeric_column("size", .shape = HR_SHAPE(2, 3), .default_value = HR_F32(0.1f), .log1p = true,
                                  .mean = 1.5f, .std = 1 / 3.0f);
    list[n++] = hr_numeric_column("pair", .shape = HR_SHAPE(2), .default_value = (const float[]){1, -2.5f},
                                  .default_values = 2, .min = -1, .max = 1e-7f);
    list[n++] = hr_numeric_column("count", .dtype = HR_INT64);
    list[n++] = hr_bucketized_column(hr_numeric_column("temp", .mean = 3, .std = 2), HR_F32(20), 1);
    list[n++] = hr_bucketized_column(hr_numeric_column("temp"), (const float[]){-1e-3f, 0, 1e20f}, 3);
    list[n++] = word();
    list[n++] = hr_categorical_column_with_identity("id", 5, .default_value = &two, .tf_compat = true);
    list[n++] = hr_categorical_column_with_vocabulary_list(
        "v", HR_VOCABULARY("EWR", "a b", "true", "1", "\"", "\xc3\xa9", "x: y", "-", "# no"), .num_oov_buckets = 3);
    list[n++] =
        hr_categorical_column_with_vocabulary_list("vi", HR_VOCABULARY_INTS(5, -3, INT64_MIN), .default_value = &two);
    list[n++] = hr_categorical_column_with_vocabulary_file("vf", "words.txt", .vocabulary_size = &two);
    list[n++] = hr_categorical_column_with_vocabulary_file("vr", "words.gz", .tfrecord_gzip = true);
    list[n++] = hr_categorical_column_with_hash_bucket("h", 100);
    list[n++] = hr_categorical_column_with_hash_bucket("hi", 100, .dtype = HR_INT32);
    list[n++] = hr_crossed_column(HR_CROSS({.key = "a"}, {.column = word()}, {.key = "b c"}), 50);
    list[n++] = hr_crossed_column(HR_CROSS({.key = "a"}, {.key = "d"}), 50, .hash_key = UINT64_MAX, .tf_compat = true);
    list[n++] = hr_weighted_categorical_column(word(), "weight");
    list[n++] = hr_weighted_categorical_column(word(), "weight_d", .dtype = HR_DOUBLE, .tf_compat = true);
    list[n++] = hr_indicator_column(word());
    list[n++] = hr_embedding_column(word(), 4);
    list[n++] = hr_embedding_column(hr_categorical_column_with_hash_bucket("h", 100), 7, .combiner = HR_SQRTN,
                                    .stddev = HR_F32(0), .mean = 0.25f, .max_norm = 1.1f, .not_trainable = true,
                                    .ckpt_to_load_from = "model/ckpt-1", .tensor_name_in_ckpt = "a/b");
    hr_feature_column *both[] = {word(), hr_categorical_column_with_identity("other", 9)};
    hr_shared_embeddings(both, 2, 3, both, .combiner = HR_SUM);
    list[n++] = both[0];
    list[n++] = both[1];
    hr_feature_column *old = word();
    hr_shared_embeddings(&old, 1, 3, &old, .v1 = true, .shared_embedding_name = "old");
    list[n++] = old;
    list[n++] = hr_embedding_column(word(), 5, .initializer = HR_TABLE_RANDOM_UNIFORM, .minval = -0.05f, .maxval = 1);
    list[n++] = hr_embedding_column(word(), 5, .initializer = HR_TABLE_CONSTANT, .mean = 3);
    list[n++] = hr_embedding_column(word(), 5, .initializer = HR_TABLE_RANDOM_NORMAL);
    list[n++] = hr_embedding_column(hr_sequence_categorical_column_with_identity("steps", 6), 2);
    list[n++] = hr_sequence_numeric_column("speed");
    list[n++] = hr_sequence_numeric_column("way", .shape = HR_SHAPE(2), .default_value = -1, .mean = 1, .std = 2);
    list[n++] = hr_sequence_numeric_column("ticks", .dtype = HR_INT64, .default_value = 16777217);
    list[n++] = hr_numeric_column("large", .dtype = HR_INT64, .default_integers = HR_I64(INT64_MAX));
    list[n++] = hr_numeric_column("bytes", .dtype = HR_UINT8, .shape = HR_SHAPE(2), .default_values = 2,
                                  .default_integers = (const int64_t[]){0, 255});
    assert_at_most(n, MAX);
    return (hr_column_list){list, n};
}

static void every_column_comes_back_equal(void **state)
{
    (void)state;
    hr_feature_column *list[MAX];
    there_and_back(every_kind(list));
}

static void no_kind_is_left_out(void **state)
{
    (void)state;
    hr_feature_column *list[MAX];
    const hr_column_list columns = every_kind(list);
    const hr_column_kind *kind;
    for (int k = 0; (kind = hr__column_kind_at(k)); k++) {
        bool found = false;
        for (int i = 0; i < columns.count; i++) {
            const hr_feature_column *inner = hr_feature_column_source(columns.column[i], 0);
            found |=
                hr_feature_column_kind(columns.column[i]) == kind || (inner && hr_feature_column_kind(inner) == kind);
        }
        if (!found) fail_msg("no %s among the columns that are written and read", kind->name);
    }
    for (int i = 0; i < columns.count; i++) hr_feature_column_unref(columns.column[i]);
}

static const char with_shared[] = "schema:\n"
                                  "  int64: [dest, origin]\n"
                                  "\n"
                                  "columns:\n"
                                  "  origin: {identity: 9}\n"
                                  "  dest: {identity: 9}\n"
                                  "  places: {shared_embeddings: [origin, dest], dimension: 8, combiner: sum}\n"
                                  "  alone: {shared_embeddings: [dest], dimension: 2}\n"
                                  "  named: {embedding: dest, dimension: 4, shared_embedding_name: table}\n"
                                  "  both: {shared_embeddings: [origin, dest], dimension: 4, "
                                  "shared_embedding_name: table, v1: true}\n";

static void shared_embeddings_are_written_as_they_were_read(void **state)
{
    (void)state;
    char *yaml;
    hr_error err;
    hr_column_set *set = parsed(with_shared);
    const hr_column_list all = hr_column_set_columns(set);
    assert_int_equal(all.count, 8);
    for (int i = 2; i < 4; i++) {
        const hr_table_info *table = &hr_feature_column_info(all.column[i])->table;
        assert_string_equal(table->shared_name, "dest_origin_shared_embedding");
        assert_int_equal(table->dimension, 8);
        assert_int_equal(table->combiner, HR_SUM);
    }
    assert_ptr_equal(hr_column_set_find(set, "places"), all.column[2]);
    assert_ok(hr_column_set_to_yaml(set, &yaml, &err), &err);
    assert_string_equal(yaml, with_shared);
    hr_free(yaml);
    hr_column_set_free(set);
}

static void assert_no_set(const char *columns, const char *part)
{
    char yaml[512];
    hr_column_set *set;
    hr_error err;
    snprintf(yaml, sizeof yaml, "schema: {int64: [a, b]}\ncolumns:\n  a: {identity: 9}\n  b: {identity: 8}\n  %s\n",
             columns);
    assert_status(hr_column_set_parse("f.yaml", yaml, strlen(yaml), &set, &err), HR_INVALID_ARGUMENT);
    assert_int_equal(err.line, 5);
    if (!strstr(err.text, part)) fail_msg("expected '%s' in: %s", part, err.text);
}

static void mistakes_in_shared_embeddings_are_named(void **state)
{
    (void)state;
    assert_no_set("s: {shared_embeddings: [], dimension: 2}", "one column or several");
    assert_no_set("s: {shared_embeddings: a, dimension: 2}", "expected");
    assert_no_set("s: {shared_embeddings: [a, b], dimension: 2}", "equally many ids");
    assert_no_set("s: {shared_embeddings: [a, c], dimension: 2}", "unknown column 'c'");
    assert_no_set("s: {shared_embeddings: [a]}", "dimension");
    assert_no_set("s: {shared_embeddings: [a, a], dimension: 2, size: 3}", "size");
}

static void a_file_keeps_its_names_and_types(void **state)
{
    (void)state;
    static const char yaml[] = "schema:\n"
                               "  int64: [hour]\n"
                               "  float: [temp]\n"
                               "\n"
                               "columns:\n"
                               "  warmth: {numeric: temp, mean: 57.0073, std: 17.9025}\n"
                               "  by_hour: {crossed: [hour, column buckets], hash_bucket_size: 9}\n"
                               "  buckets: {bucketized: column warmth, boundaries: [0.1, 20]}\n";
    hr_column_set *set = parsed(yaml);
    char *again;
    hr_error err;
    assert_ok(hr_column_set_to_yaml(set, &again, &err), &err);
    assert_string_equal(again, yaml);
    hr_free(again);
    assert_int_equal(hr_column_set_columns(set).count, 3);
    assert_string_equal(hr_feature_column_info(hr_column_set_find(set, "warmth"))->name, "temp");
    assert_null(hr_column_set_find(set, "temp"));
    assert_int_equal(hr_column_set_schema(set)->fields, 2);
    hr_column_set_free(set);
}

static void nothing(const void *in, hr_dtype dtype, float *out, int64_t count, void *user)
{
    (void)in, (void)dtype, (void)out, (void)count, (void)user;
}

/* Takes the column. */
static void cannot_be_written(hr_feature_column *column, const char *kind)
{
    char *yaml;
    hr_error err;
    assert_status(hr_columns_to_yaml(HR_COLUMNS(column), &yaml, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, kind);
    assert_null(yaml);
    hr_feature_column_unref(column);
}

static void what_a_file_cannot_say_is_an_error(void **state)
{
    (void)state;
    cannot_be_written(hr_numeric_column("x", .normalizer_fn = nothing), "column.write");
    cannot_be_written(hr_categorical_column_with_vocabulary_list("x", HR_VOCABULARY("\xff")), "column.write");
    cannot_be_written(hr_crossed_column(HR_CROSS({.key = "column a"}, {.key = "b"}), 9), "column.write");
    cannot_be_written(hr_numeric_column(""), "column.key");
}

static void sets_without_their_sections_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"columns: {a: {numeric: a}}", "schema: {float: [a]}", "[1]",
                                        "schema: {float: [a]}\ncolumns: {a: {numeric: b}}"};
    for (int i = 0; i < 4; i++) {
        hr_column_set *set;
        hr_error err;
        assert_status(hr_column_set_parse("f.yaml", wrong[i], strlen(wrong[i]), &set, &err), HR_INVALID_ARGUMENT);
        assert_null(set);
        assert_text_begins(err.text, "f.yaml:");
    }
    hr_column_set *set;
    hr_error err;
    assert_status(hr_column_set_open("missing.yaml", &set, &err), HR_NOT_FOUND);
    hr_column_set_free(NULL);
}

static void no_allocation_failure_leaks(void **state)
{
    (void)state;
    hr_feature_column *list[MAX];
    const hr_column_list columns = every_kind(list);
    const int64_t alive = allocations_alive();
    for (int64_t n = 0;; n++) {
        char *yaml;
        hr_error err;
        fail_allocation(n);
        hr_status st = hr_columns_to_yaml(columns, &yaml, &err);
        const int64_t count = allocations_since();
        hr_free(yaml);
        assert_int_equal(allocations_alive(), alive);
        if (n >= count) break;
        if (st != HR_OK) assert_status(st, HR_RESOURCE_EXHAUSTED);
    }
    for (int i = 0; i < columns.count; i++) hr_feature_column_unref(columns.column[i]);
}

/* Numeric columns, crosses of two of them, and names that are one scope. */
static void many_columns_are_read_found_and_written(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    hr__text yaml = {0};
    hr_error err;
    hr_parse_spec *spec;
    char *written, name[32];
    hr__text_add(&yaml, "schema:\n  int64:\n");
    for (int i = 0; i < MANY; i++) hr__text_printf(&yaml, "    - field %d\n", i);
    hr__text_add(&yaml, "  default:\n");
    for (int i = 0; i < MANY; i += 2) hr__text_printf(&yaml, "    field %d: %d\n", i, i);
    hr__text_add(&yaml, "columns:\n");
    for (int i = 0; i < MANY; i++)
        hr__text_printf(&yaml, i % 2 ? "  c%d: {identity: 9, field: field %d}\n" : "  c%d: {numeric: field %d}\n", i,
                        i);
    for (int i = 1; i + 2 < MANY; i += 2)
        hr__text_printf(&yaml, "  x%d: {crossed: [column c%d, column c%d], hash_bucket_size: 7}\n", i, i, i + 2);
    hr_column_set *set = parsed(yaml.data);
    const hr_column_list all = hr_column_set_columns(set);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "c%d", i);
        assert_ptr_equal(hr_column_set_find(set, name), all.column[i]);
    }
    assert_null(hr_column_set_find(set, "c"));
    assert_ok(hr_make_parse_example_spec(all, &spec, &err, .file = hr_column_set_schema(set)), &err);
    assert_int_equal(spec->features, MANY);
    hr_parse_spec_free(spec);

    const hr_feature_column **sorted = malloc((size_t)all.count * sizeof *sorted);
    assert_ok(hr_sort_columns(all, HR_LINEAR_MODEL, sorted, &err), &err);
    free(sorted);

    assert_ok(hr_column_set_to_yaml(set, &written, &err), &err);
    hr_column_set_free(set);
    set = parsed(written);
    assert_int_equal(hr_column_set_columns(set).count, all.count);
    hr_column_set_free(set);
    hr_free(written);
    hr__text_free(&yaml);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_column_comes_back_equal),
        cmocka_unit_test(no_kind_is_left_out),
        cmocka_unit_test(shared_embeddings_are_written_as_they_were_read),
        cmocka_unit_test(mistakes_in_shared_embeddings_are_named),
        cmocka_unit_test(a_file_keeps_its_names_and_types),
        cmocka_unit_test(what_a_file_cannot_say_is_an_error),
        cmocka_unit_test(sets_without_their_sections_are_refused),
        cmocka_unit_test(many_columns_are_read_found_and_written),
        cmocka_unit_test(no_allocation_failure_leaks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
