/* load and hr_save: what comes back, damage, and the conformance of pipelines with it. */
#include "tests/data/conformance.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 120 };

/* Row r: an id, r % 4 words, r % 3 places of a sparse row, two floats. */
static void add_features(hr_example *ex, int r)
{
    char text[3][16];
    hr_view word[3];
    const int64_t id = r, place[] = {r % 5, r % 5 + 3};
    const float pair[] = {(float)r / 2, -1};
    for (int w = 0; w < 3; w++) word[w] = (hr_view){text[w], snprintf(text[w], sizeof text[w], "w%d-%d", r, w)};
    hr_example_add_int64(ex, "id", &id, 1);
    hr_example_add_bytes(ex, "words", word, r % 4);
    hr_example_add_bytes(ex, "rest", word, r % 2);
    hr_example_add_int64(ex, "place", place, r % 3);
    hr_example_add_float(ex, "value", pair, r % 3);
    hr_example_add_float(ex, "pair", pair, 2);
}

/* Every layout that there is. */
static hr_dataset *parsed(void)
{
    static const char *const place[] = {"place"};
    return hr_parse_example(hr_tfrecord("wide.tfrecord"),
                            HR_PARSE_SPEC({.key = "id", .dtype = HR_INT64},
                                          {.key = "words", .kind = HR_VAR_LEN, .dtype = HR_STRING},
                                          {.key = "rest", .kind = HR_FIXED_LEN_SEQUENCE, .dtype = HR_STRING},
                                          {.key = "pair", .dtype = HR_FLOAT, .shape = HR_SHAPE(2)},
                                          {.key = "value",
                                           .name = "sparse",
                                           .kind = HR_SPARSE_FEATURE,
                                           .dtype = HR_FLOAT,
                                           .shape = HR_SHAPE(9),
                                           .index_keys = place}),
                            .label = "id");
}

static hr_dataset *rows(hr_dataset *ds) { return hr_enumerate(ds); }

static int save_all(void **state)
{
    (void)state;
    hr_error err;
    write_example_file("wide.tfrecord", hr_example_new(), add_features, ROWS);
    assert_ok(hr_save(parsed(), "parsed.rows", &err), &err);
    assert_ok(hr_save(hr_batch(hr_batch(parsed(), 3), 2), "batches.rows", &err), &err);
    return 0;
}

HR_SAMPLE(load) { return hr_batch(hr_shuffle(hr_load("parsed.rows"), 20), 7); }
HR_SAMPLE(load_batches) { return hr_repeat(hr_shuffle(hr_load("batches.rows"), 5), .count = HR_I64(3)); }

static void what_is_loaded_is_what_was_saved(void **state)
{
    (void)state;
    static run want, got;
    for (int i = 0; i < 2; i++) {
        const way w = {.workers = 2, .unit_rows = i ? 13 : 0};
        run_all(&want, parsed(), w);
        run_all(&got, hr_load("parsed.rows"), w);
        assert_int_equal(got.count, ROWS);
        assert_same_run(&want, &got);
        run_all(&want, hr_batch(hr_batch(parsed(), 3), 2), w);
        run_all(&got, hr_load("batches.rows"), w);
        assert_same_run(&want, &got);
    }
    hr_dataset *ds = hr_load("parsed.rows");
    assert_true(hr_dataset_schema(ds)->field[0].label);
    hr_dataset_unref(ds);
}

static void a_file_may_be_saved_from_itself(void **state)
{
    (void)state;
    hr_error err;
    assert_ok(hr_save(hr_range(5), "self.rows", &err), &err);
    assert_ok(hr_save(hr_concatenate(hr_load("self.rows"), hr_range(2)), "self.rows", &err), &err);
    hr_dataset *loaded = hr_load("self.rows");
    assert_int_equal(hr_cardinality(loaded), 7);
    assert_int64_values(loaded, HR_I64(0, 1, 2, 3, 4, 0, 1), 7);
    assert_ok(hr_save(hr_range(0), "self.rows", &err), &err);
    assert_int64_values(hr_load("self.rows"), NULL, 0);
}

static void what_cannot_be_saved_or_loaded_says_so(void **state)
{
    (void)state;
    hr_error err;
    assert_status(hr_save(hr_tfrecord("none.tfrecord"), "none.rows", &err), HR_NOT_FOUND);
    assert_null(fopen("none.rows", "rb"));
    assert_fails(hr_load("none.rows"), HR_NOT_FOUND, "file.open");
    assert_fails(hr_load(NULL), HR_INVALID_ARGUMENT, "load.file");
    assert_fails(hr_load("wide.tfrecord"), HR_DATA_LOSS, "rows.damaged");
}

static void rows_that_change_under_a_dataset_are_refused(void **state)
{
    (void)state;
    hr_error err;
    assert_ok(hr_save(hr_range(5), "change.rows", &err), &err);
    hr_dataset *ds = hr_load("change.rows");
    assert_ok(hr_save(hr_enumerate(hr_range(5)), "change.rows", &err), &err);
    assert_fails(ds, HR_FAILED_PRECONDITION, "load.changed");
}

/* Every cut and every flipped bit is met when the file is opened, or when its piece is read. */
static void damage_of_a_file_is_told(void **state)
{
    (void)state;
    static run got;
    hr_error err;
    assert_status(hr_save(rows(hr_range(40)), "sound.rows", &err), HR_OK);
    size_t size;
    char *bytes = read_whole_file("sound.rows", &size);
    for (size_t at = 0; at < size; at += 3) {
        bytes[at] ^= 16;
        write_file("bad.rows", bytes, size);
        bytes[at] ^= 16;
        run_all(&got, hr_load("bad.rows"), (way){0});
        assert_status(got.end, HR_DATA_LOSS);
        write_file("bad.rows", bytes, at);
        run_all(&got, hr_load("bad.rows"), (way){0});
        assert_status(got.end, HR_DATA_LOSS);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(load),
        HR_CONFORMANCE(load_batches),
        cmocka_unit_test(what_is_loaded_is_what_was_saved),
        cmocka_unit_test(a_file_may_be_saved_from_itself),
        cmocka_unit_test(what_cannot_be_saved_or_loaded_says_so),
        cmocka_unit_test(rows_that_change_under_a_dataset_are_refused),
        cmocka_unit_test(damage_of_a_file_is_told),
    };
    return cmocka_run_group_tests(tests, save_all, NULL);
}
