/* A pipeline in steady state calls malloc zero times a batch: files read side by side, shuffled, batched, parsed, and
 * turned into columns. What it needs it has taken by then; opening a file is no steady state, so none ends here. */
#include "tests/testing.h"
#include <headrace/data.h>
#include <headrace/feature_columns.h>
#include <stdio.h>

enum { FILES = 4, RECORDS = 120000, BATCH = 64, WARM = 5200, MEASURED = 2000 };

static void write_file_of_examples(int number)
{
    char path[32], word[32];
    hr_error err;
    hr_record_writer *writer;
    hr_view bytes;
    hr_example *example = hr_example_new();
    snprintf(path, sizeof path, "steady-%d.tfrecord", number);
    assert_ok(hr_record_writer_open(path, NULL, &writer, &err), &err);
    for (int64_t i = 0; i < RECORDS; i++) {
        const int64_t late = i % 3 == 0;
        const float temp = (float)(i % 97);
        const int size = snprintf(word, sizeof word, "%.*s", (int)(i % 16), "abcdefghijklmnop");
        hr_example_clear(example);
        hr_example_add_int64(example, "late", &late, 1);
        hr_example_add_float(example, "temp", &temp, 1);
        hr_example_add_bytes(example, "word", &(hr_view){word, size}, 1);
        assert_ok(hr_example_bytes(example, &bytes, &err), &err);
        assert_ok(hr_record_write(writer, bytes.data, (size_t)bytes.size, &err), &err);
    }
    assert_ok(hr_record_writer_commit(writer, &err), &err);
    hr_example_free(example);
}

static int write_files(void **state)
{
    (void)state;
    for (int i = 0; i < FILES; i++) write_file_of_examples(i);
    hr_set_threads(4);
    return 0;
}

/* ---- pipelines ---- */

static hr_dataset *parsed(void)
{
    const hr_feature features[] = {
        {.key = "late", .kind = HR_FIXED_LEN, .dtype = HR_INT64},
        {.key = "temp", .kind = HR_FIXED_LEN, .dtype = HR_FLOAT},
        {.key = "word", .kind = HR_VAR_LEN, .dtype = HR_STRING},
    };
    hr_dataset *ds = hr_list_files("steady-*.tfrecord", .shuffle = true);
    ds = hr_interleave(ds, hr_tfrecord_fn, NULL, .cycle_length = FILES);
    ds = hr_shuffle(ds, 300);
    ds = hr_batch(ds, BATCH);
    const hr_parse_spec spec = {.feature = features, .features = 3};
    return hr_parse_example(ds, &spec, .label = "late");
}

static hr_dataset *with_columns(void)
{
    hr_feature_column *warmth = hr_bucketized_column(hr_numeric_column("temp"), HR_F32(10, 20), 2);
    hr_feature_column *list[] = {
        hr_crossed_column(HR_CROSS({.key = "word"}, {.column = hr_feature_column_ref(warmth)}), 50),
        hr_indicator_column(hr_categorical_column_with_hash_bucket("word", 100)),
        hr_numeric_column("temp"),
        warmth,
    };
    hr_dataset *ds = hr_transform_features(parsed(), ((hr_column_list){list, 4}));
    for (int i = 0; i < 4; i++) hr_feature_column_unref(list[i]);
    return ds;
}

/* ---- counting ---- */

static void take_batches(hr_iterator *it, int count)
{
    const hr_element *e;
    for (int i = 0; i < count; i++) {
        const hr_status st = hr_next(it, &e);
        if (st != HR_OK) fail_msg("%s", st == HR_END ? "the end" : hr_iterator_error(it)->text);
    }
}

static void assert_allocates_nothing(hr_dataset *ds)
{
    const int workers = 0; /* how many units are ahead, and so how much memory is enough, is timing otherwise */
    hr_iterator *it = hr_iterate(hr_prefetch(ds, HR_AUTOTUNE), .workers = &workers, .unit_rows = 256, .seed = 7);
    take_batches(it, WARM);
    fail_allocation(INT64_MAX);
    take_batches(it, MEASURED);
    assert_int_equal(allocations_since(), 0);
    hr_iterator_free(it);
}

static void parsing_allocates_nothing_a_batch(void **state)
{
    (void)state;
    assert_allocates_nothing(parsed());
}

static void columns_allocate_nothing_a_batch(void **state)
{
    (void)state;
    assert_allocates_nothing(with_columns());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parsing_allocates_nothing_a_batch),
        cmocka_unit_test(columns_allocate_nothing_a_batch),
    };
    return cmocka_run_group_tests(tests, write_files, NULL);
}
