/* What is wrong is named as early as it can be: a column's arguments when it is made, lists when they are used, types
 * when the dataset is made, values with their file and record. One table each. */
#include "tests/feature_columns/columns_testing.h"

#include <math.h>
#include <string.h>

/* ---- arguments: the column carries the error ---- */

static hr_feature_column *word(void) { return hr_categorical_column_with_identity("word", 9); }

typedef struct refused {
    hr_feature_column *column;
    const char *kind;
} refused;

static void assert_all_refused(const refused *wrong, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        assert_error_is(hr_feature_column_error(wrong[i].column), i, wrong[i].kind, "expected");
        hr_feature_column_unref(wrong[i].column);
    }
}

static void numbers_and_buckets_are_refused_when_the_column_is_made(void **state)
{
    (void)state;
    static const float nan_boundary[] = {1, NAN}, falling[] = {2, 1}, equal[] = {1, 1};
    const refused wrong[] = {
        {hr_numeric_column(NULL), "column.key"},
        {hr_numeric_column("x", .dtype = HR_STRING), "column.dtype"},
        {hr_numeric_column("x", .shape = HR_SHAPE(2, 0)), "column.shape"},
        {hr_numeric_column("x", .shape = HR_SHAPE(3), .default_value = (const float[]){1, 2}, .default_values = 2),
         "column.default_value"},
        {hr_numeric_column("x", .dtype = HR_INT64, .default_value = HR_F32(0.5f)), "column.default_value"},
        {hr_numeric_column("x", .mean = NAN), "column.normalizer"},
        {hr_bucketized_column(hr_numeric_column("x"), NULL, 0), "column.boundaries"},
        {hr_bucketized_column(hr_numeric_column("x"), nan_boundary, 2), "column.boundaries"},
        {hr_bucketized_column(hr_numeric_column("x"), falling, 2), "column.boundaries"},
        {hr_bucketized_column(hr_numeric_column("x"), equal, 2), "column.boundaries"},
        {hr_bucketized_column(word(), falling, 1), "column.source"},
        {hr_bucketized_column(hr_numeric_column("x", .shape = HR_SHAPE(2, 2)), equal, 1), "column.source"},
    };
    assert_all_refused(wrong, sizeof wrong / sizeof *wrong);
}

static void identities_and_hashes_are_refused_when_the_column_is_made(void **state)
{
    (void)state;
    const int64_t minus = -1, nine = 9;
    const refused wrong[] = {
        {hr_categorical_column_with_identity("", 3), "column.key"},
        {hr_categorical_column_with_identity("x", 0), "column.num_buckets"},
        {hr_categorical_column_with_identity("x", 9, .default_value = &nine), "column.default_value"},
        {hr_categorical_column_with_identity("x", 9, .default_value = &minus), "column.default_value"},
        {hr_categorical_column_with_identity("x", -1), "column.num_buckets"},
        {hr_categorical_column_with_hash_bucket("x", 0), "column.hash_bucket_size"},
        {hr_categorical_column_with_hash_bucket("x", 9, .dtype = HR_FLOAT), "column.dtype"},
    };
    assert_all_refused(wrong, sizeof wrong / sizeof *wrong);
}

static void vocabulary_lists_are_refused_when_the_column_is_made(void **state)
{
    (void)state;
    const int64_t minus = -1;
    const hr_vocabulary_list empty = {0};
    const refused wrong[] = {
        {hr_categorical_column_with_vocabulary_list("x", empty), "column.vocabulary"},
        {hr_categorical_column_with_vocabulary_list("x", HR_VOCABULARY("a", "b", "a")), "column.vocabulary"},
        {hr_categorical_column_with_vocabulary_list("x", HR_VOCABULARY("a"), .dtype = HR_INT64), "column.dtype"},
        {hr_categorical_column_with_vocabulary_list("x", HR_VOCABULARY("a"), .dtype = HR_FLOAT), "column.dtype"},
        {hr_categorical_column_with_vocabulary_list("x", HR_VOCABULARY("a"), .num_oov_buckets = -1),
         "column.num_oov_buckets"},
        {hr_categorical_column_with_vocabulary_list("x", HR_VOCABULARY("a"), .num_oov_buckets = 1,
                                                    .default_value = &minus),
         "column.num_oov_buckets"},
    };
    assert_all_refused(wrong, sizeof wrong / sizeof *wrong);
}

static void vocabulary_files_are_refused_when_the_column_is_made(void **state)
{
    (void)state;
    const int64_t nine = 9, none = 0, two = 2;
    write_file("empty.txt", "", 0);
    write_file("twice.txt", "a\nb\na\n", 6);
    write_file("blank.txt", "a\n\nb\n", 5);
    write_file("text.txt", "1\ntwo\n", 6);
    const refused wrong[] = {
        {hr_categorical_column_with_vocabulary_file("x", "missing.txt"), "column.vocabulary_file"},
        {hr_categorical_column_with_vocabulary_file("x", "empty.txt"), "column.vocabulary"},
        {hr_categorical_column_with_vocabulary_file("x", "twice.txt"), "column.vocabulary"},
        {hr_categorical_column_with_vocabulary_file("x", "blank.txt"), "column.vocabulary"},
        {hr_categorical_column_with_vocabulary_file("x", "text.txt", .dtype = HR_INT64), "column.vocabulary"},
        {hr_categorical_column_with_vocabulary_file("x", "twice.txt", .vocabulary_size = &none),
         "column.vocabulary_size"},
        {hr_categorical_column_with_vocabulary_file("x", "twice.txt", .vocabulary_size = &nine), "column.vocabulary"},
        {hr_categorical_column_with_vocabulary_file("x", "empty.txt", .vocabulary_size = &two),
         "column.vocabulary_size"},
    };
    assert_all_refused(wrong, sizeof wrong / sizeof *wrong);
}

static void crosses_and_weights_are_refused_when_the_column_is_made(void **state)
{
    (void)state;
    const refused wrong[] = {
        {hr_crossed_column(HR_CROSS({.key = "a"}), 9), "column.cross_key"},
        {hr_crossed_column(HR_CROSS({.key = "a"}, {.key = ""}), 9), "column.cross_key"},
        {hr_crossed_column(HR_CROSS({.key = "a"}, {.column = hr_categorical_column_with_hash_bucket("b", 3)}), 9),
         "column.cross_key"},
        {hr_crossed_column(HR_CROSS({.key = "a"}, {.column = hr_numeric_column("b")}), 9), "column.cross_key"},
        {hr_crossed_column(HR_CROSS({.key = "a"}, {.column = hr_weighted_categorical_column(word(), "w")}), 9),
         "column.cross_key"},
        {hr_crossed_column(HR_CROSS({.key = "a"}, {.key = "b"}), 0), "column.hash_bucket_size"},
        {hr_weighted_categorical_column(word(), "word"), "column.spec_conflict"},
        {hr_weighted_categorical_column(word(), "w", .dtype = HR_STRING), "column.dtype"},
        {hr_weighted_categorical_column(hr_numeric_column("x"), "w"), "column.source"},
    };
    assert_all_refused(wrong, sizeof wrong / sizeof *wrong);
}

static void indicators_and_embeddings_are_refused_when_the_column_is_made(void **state)
{
    (void)state;
    const refused wrong[] = {
        {hr_indicator_column(hr_numeric_column("x")), "column.source"},
        {hr_embedding_column(hr_numeric_column("x"), 2), "column.source"},
        {hr_embedding_column(word(), 0), "column.dimension"},
        {hr_embedding_column(word(), -2), "column.dimension"},
        {hr_embedding_column(word(), 2, .max_norm = -1), "column.embedding"},
        {hr_embedding_column(word(), 2, .initializer = HR_TABLE_RANDOM_UNIFORM), "column.embedding"},
        {hr_embedding_column(word(), 2, .combiner = (hr_combiner)9), "column.combiner"},
        {hr_embedding_column(word(), 2, .ckpt_to_load_from = "c"), "column.checkpoint"},
        /* The first mistake goes through whatever is made of the column. */
        {hr_embedding_column(hr_weighted_categorical_column(hr_categorical_column_with_identity("x", 0), "w"), 2),
         "column.num_buckets"},
    };
    assert_all_refused(wrong, sizeof wrong / sizeof *wrong);
}

static void a_vocabulary_file_is_named_with_its_line(void **state)
{
    (void)state;
    write_file("blank.txt", "a\n\nb\n", 5);
    hr_feature_column *column = hr_categorical_column_with_vocabulary_file("x", "blank.txt");
    assert_string_equal(hr_feature_column_error(column)->file, "blank.txt");
    assert_int_equal(hr_feature_column_error(column)->line, 2);
    hr_feature_column_unref(column);
    column = hr_categorical_column_with_vocabulary_file("x", "missing.txt");
    assert_string_equal(hr_feature_column_error(column)->file, "missing.txt");
    hr_feature_column_unref(column);
}

/* ---- features: the dataset carries the error, before any data ---- */

static hr_dataset *features(void)
{
    static const float x[] = {1, 2, 3, 4};
    static const int64_t id[] = {0, 1};
    const hr_view words[] = {view("a"), view("b")};
    const hr_tensor all[] = {hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2), x), hr_tensor_of(HR_INT64, HR_SHAPE(2, 1), id),
                             hr_tensor_of(HR_STRING, HR_SHAPE(2, 1), words)};
    static const char *const names[] = {"x", "id", "word"};
    return hr_from_tensor_slices(all, names, 3);
}

static void features_are_refused_when_the_dataset_is_made(void **state)
{
    (void)state;
    const struct {
        hr_feature_column *column;
        const char *kind, *part;
    } wrong[] = {
        {hr_numeric_column("z"), "column.missing_feature", "'z'"},
        {hr_categorical_column_with_identity("idd", 2), "column.missing_feature", "did you mean 'id'"},
        {hr_numeric_column("word"), "column.dtype", "string"},
        {hr_numeric_column("x"), "column.width", "2"},
        {hr_categorical_column_with_identity("x", 2), "column.dtype", "'x'"},
        {hr_categorical_column_with_identity("word", 2), "column.dtype", "integers"},
        {hr_categorical_column_with_hash_bucket("id", 2), "column.dtype", "strings"},
        {hr_categorical_column_with_hash_bucket("word", 2, .dtype = HR_INT64), "column.dtype", "integers"},
        {hr_categorical_column_with_vocabulary_list("id", HR_VOCABULARY("a")), "column.dtype", "strings"},
        {hr_weighted_categorical_column(hr_categorical_column_with_identity("id", 2), "word"), "column.dtype", "word"},
        {hr_sequence_numeric_column("x"), "column.layout", "dense"},
        {hr_numeric_column("x", .shape = HR_SHAPE(-1)), "column.shape", "> 0"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        hr_dataset *ds = hr_transform_features(features(), HR_COLUMNS(wrong[i].column));
        assert_error_is(hr_dataset_error(ds), i, wrong[i].kind, wrong[i].part);
        hr_dataset_unref(ds);
        hr_feature_column_unref(wrong[i].column);
    }
}

static void columns_of_one_name_are_refused(void **state)
{
    (void)state;
    hr_feature_column *a = hr_categorical_column_with_identity("id", 2),
                      *b = hr_categorical_column_with_identity("id", 3);
    hr_dataset *ds = hr_transform_features(features(), HR_COLUMNS(a, b));
    assert_string_equal(hr_dataset_error(ds)->kind, "column.duplicate_name");
    assert_text_contains(hr_dataset_error(ds)->text, "'id'");
    hr_dataset_unref(ds);
    hr_feature_column_unref(a);
    hr_feature_column_unref(b);
}

/* ---- values: the row fails, with its file and record ---- */

enum { RECORDS = 8, WRONG = 5 };

typedef struct values {
    int64_t id[2];
    int ids;
    float weight[2];
    int weights;
    float x[3];
    int xs;
} values;

static void write_records(const values *wrong)
{
    static const values right = {{1, 2}, 2, {.5f, .5f}, 2, {1, 2}, 2};
    hr_record_writer *writer;
    hr_error err;
    const hr_output_opts opts = {.struct_size = sizeof opts};
    hr_example *ex = hr_example_new();
    assert_ok(hr_record_writer_open("r.tfrecord", &opts, &writer, &err), &err);
    for (int r = 0; r < RECORDS; r++) {
        const values *v = r == WRONG ? wrong : &right;
        hr_view bytes;
        hr_example_clear(ex);
        hr_example_add_int64(ex, "id", v->id, v->ids);
        hr_example_add_float(ex, "weight", v->weight, v->weights);
        hr_example_add_float(ex, "x", v->x, v->xs);
        assert_ok(hr_example_bytes(ex, &bytes, &err), &err);
        assert_ok(hr_record_write(writer, bytes.data, (size_t)bytes.size, &err), &err);
    }
    assert_ok(hr_record_writer_commit(writer, &err), &err);
    hr_example_free(ex);
}

/* Reads the records through columns; gives the error of the one that is wrong. */
static hr_error first_error(bool batched)
{
    hr_parse_spec *spec;
    hr_error err;
    hr_feature_column *list[] = {
        hr_weighted_categorical_column(hr_categorical_column_with_identity("id", 9), "weight"),
        hr_numeric_column("x", .shape = HR_SHAPE(2)),
    };
    const hr_column_list columns = {list, 2};
    assert_ok(hr_make_parse_example_spec(columns, &spec, &err), &err);
    hr_dataset *ds = hr_tfrecord("r.tfrecord");
    if (batched) ds = hr_batch(ds, 4);
    ds = hr_transform_features(hr_parse_example(ds, spec), columns);
    hr_parse_spec_free(spec);
    hr_feature_column_unref(list[0]);
    hr_feature_column_unref(list[1]);
    hr_iterator *it = hr_iterate(ds);
    const hr_element *e;
    hr_status st;
    while ((st = hr_next(it, &e)) == HR_OK) continue;
    assert_status(st, HR_INVALID_ARGUMENT);
    err = *hr_iterator_error(it);
    hr_iterator_free(it);
    return err;
}

static void values_are_refused_with_their_record(void **state)
{
    (void)state;
    const struct {
        values values;
        const char *kind, *feature;
    } wrong[] = {
        {{{1, 9}, 2, {1, 1}, 2, {1, 2}, 2}, "column.id_range", "id"},
        {{{1, -3}, 2, {1, 1}, 2, {1, 2}, 2}, "column.id_range", "id"},
        {{{1, 2}, 2, {1}, 1, {1, 2}, 2}, "column.weights", "weight"},
        {{{0}, 0, {1}, 1, {1, 2}, 2}, "column.weights", "weight"},
        {{{1, 2}, 2, {1, 1}, 2, {1, 2, 3}, 3}, "example.count", "x"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        write_records(&wrong[i].values);
        for (int batched = 0; batched < 2; batched++) {
            const hr_error err = first_error(batched);
            if (strcmp(err.kind, wrong[i].kind) != 0 || strcmp(err.feature, wrong[i].feature) != 0)
                fail_msg("number %zu: expected %s of '%s', got %s of '%s': %s", i, wrong[i].kind, wrong[i].feature,
                         err.kind, err.feature, err.text);
            assert_string_equal(err.file, "r.tfrecord");
            assert_more(err.offset, 0);
            assert_int_equal(err.record, WRONG);
            assert_text_contains(err.text, "record 5: ");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_buckets_are_refused_when_the_column_is_made),
        cmocka_unit_test(identities_and_hashes_are_refused_when_the_column_is_made),
        cmocka_unit_test(vocabulary_lists_are_refused_when_the_column_is_made),
        cmocka_unit_test(vocabulary_files_are_refused_when_the_column_is_made),
        cmocka_unit_test(crosses_and_weights_are_refused_when_the_column_is_made),
        cmocka_unit_test(indicators_and_embeddings_are_refused_when_the_column_is_made),
        cmocka_unit_test(a_vocabulary_file_is_named_with_its_line),
        cmocka_unit_test(features_are_refused_when_the_dataset_is_made),
        cmocka_unit_test(columns_of_one_name_are_refused),
        cmocka_unit_test(values_are_refused_with_their_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
