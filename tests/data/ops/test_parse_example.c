/* parse_example: dense, sparse and ragged components, before a batch and after it. */
#include "tests/data/conformance.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 150 };

/* Row r: an id, r % 4 words, r % 3 numbers, for odd r a score. */
static void add_features(hr_example *ex, int r)
{
    char text[3][16];
    hr_view word[3];
    const int64_t id = r, numbers[] = {r, 2 * r};
    const float score = (float)r / 2;
    for (int w = 0; w < 3; w++) word[w] = (hr_view){text[w], snprintf(text[w], sizeof text[w], "w%d-%d", r, w)};
    hr_example_add_int64(ex, "id", &id, 1);
    hr_example_add_bytes(ex, "words", word, r % 4);
    hr_example_add_int64(ex, "numbers", numbers, r % 3);
    if (r % 2) hr_example_add_float(ex, "score", &score, 1);
}

/* Some rows with more values than a record of the engine counts, and more than it guesses. */
static void add_many(hr_example *ex, int r)
{
    static int64_t value[304];
    const float pair[] = {(float)r, -1};
    const hr_view word = {"word", r % 5};
    const int64_t counts[] = {1, r % 3, r == 77 ? 300 : r % 7, r == 30 ? 255 : 0};
    char key[2] = "a";
    for (int i = 0; i < 304; i++) value[i] = 1000 * r + i;
    for (int i = 0; i < 4; i++, key[0]++) hr_example_add_int64(ex, key, value + i, counts[i]);
    hr_example_add_bytes(ex, "word", &word, r % 2);
    hr_example_add_float(ex, "pair", pair, 2);
}

/* The examples, but of ten records one has no id, one is no message, and of 100 records all of ten are none. */
static void write_bad_examples(const char *path)
{
    hr_record_writer *writer;
    hr_error err;
    hr_example *ex = hr_example_new();
    assert_ok(hr_record_writer_open(path, &(hr_output_opts){.struct_size = sizeof(hr_output_opts)}, &writer, &err),
              &err);
    for (int r = 0; r < ROWS; r++) {
        hr_view bytes = {"\xff\xff no message", 12};
        hr_example_clear(ex);
        if (r % 10 != 3) add_features(ex, r);
        if (r % 10 != 7 && r / 10 != 5) assert_ok(hr_example_bytes(ex, &bytes, &err), &err);
        assert_ok(hr_record_write(writer, bytes.data, (size_t)bytes.size, &err), &err);
    }
    assert_ok(hr_record_writer_commit(writer, &err), &err);
    hr_example_free(ex);
}

static int write_examples(void **state)
{
    (void)state;
    write_bad_examples("bad.tfrecord");
    write_example_file("many.tfrecord", hr_example_new(), add_many, ROWS);
    write_example_file("examples.tfrecord", hr_example_new(), add_features, ROWS);
    return 0;
}

static hr_dataset *parsed(hr_dataset *in)
{
    static const float none = -1;
    const hr_tensor missing = hr_tensor_of(HR_FLOAT, HR_SCALAR, &none);
    return hr_parse_example(in, HR_PARSE_SPEC({.key = "id", .kind = HR_FIXED_LEN, .dtype = HR_INT64},
                                              {.key = "words", .kind = HR_VAR_LEN, .dtype = HR_STRING},
                                              {.key = "numbers", .kind = HR_RAGGED_FEATURE, .dtype = HR_INT64},
                                              {.key = "score", .dtype = HR_FLOAT, .default_value = &missing}));
}

static hr_dataset *parsed_with(hr_dataset *in, hr_policy policy)
{
    return hr_parse_example(in,
                            HR_PARSE_SPEC({.key = "id", .kind = HR_FIXED_LEN, .dtype = HR_INT64},
                                          {.key = "words", .kind = HR_VAR_LEN, .dtype = HR_STRING},
                                          {.key = "numbers", .kind = HR_RAGGED_FEATURE, .dtype = HR_INT64}),
                            .policy = policy);
}

static const hr_policy skip = {.on_error = HR_SKIP};

HR_SAMPLE(parse_bad_then_batch) { return hr_batch(parsed_with(hr_tfrecord("bad.tfrecord"), skip), 7); }
HR_SAMPLE(parse_bad_batches) { return parsed_with(hr_batch(hr_tfrecord("bad.tfrecord"), 4), skip); }
HR_SAMPLE(parse_bad_batches_then_shuffle)
{
    return hr_shuffle(parsed_with(hr_batch(hr_shuffle(hr_tfrecord("bad.tfrecord"), 20), 4), skip), 6);
}

static hr_dataset *records(void) { return hr_tfrecord("examples.tfrecord"); }

HR_SAMPLE(parse_example) { return parsed(hr_batch(hr_shuffle(records(), 30), 7)); }
HR_SAMPLE(parse_then_batch) { return hr_batch(parsed(hr_shuffle(records(), 30)), 7); }
HR_SAMPLE(parse_then_shuffle) { return hr_batch(hr_shuffle(parsed(records()), 30), 4); }
HR_SAMPLE(parse_in_epochs) { return hr_repeat(hr_take(parsed(records()), 40), .count = HR_I64(3)); }

static hr_dataset *parsed_many(hr_dataset *in)
{
    return hr_parse_example(in, HR_PARSE_SPEC({.key = "a", .dtype = HR_INT64},
                                              {.key = "b", .kind = HR_VAR_LEN, .dtype = HR_INT64},
                                              {.key = "c", .kind = HR_RAGGED_FEATURE, .dtype = HR_INT64},
                                              {.key = "d", .kind = HR_VAR_LEN, .dtype = HR_INT64},
                                              {.key = "word", .kind = HR_RAGGED_FEATURE, .dtype = HR_STRING},
                                              {.key = "pair", .dtype = HR_FLOAT, .shape = HR_SHAPE(2)}));
}

static void what_a_shuffle_holds_comes_out_as_it_went_in(void **state)
{
    (void)state;
    static run raw, held;
    for (int64_t unit = 1; unit < 200; unit = 3 * unit + 1) {
        const way w = {.workers = 2, .unit_rows = unit};
        run_all(&raw, parsed_many(hr_shuffle(hr_tfrecord("many.tfrecord"), 40)), w);
        run_all(&held, hr_shuffle(parsed_many(hr_tfrecord("many.tfrecord")), 40), w);
        assert_int_equal(raw.count, ROWS);
        assert_same_run(&raw, &held);
    }
}

static void parsing_before_and_after_a_batch_gives_the_same(void **state)
{
    (void)state;
    static run before, after;
    run_all(&before, hr_batch(parsed(records()), 7), (way){.workers = 2});
    run_all(&after, parsed(hr_batch(records(), 7)), (way){.workers = 2});
    assert_int_equal(before.count, (ROWS + 6) / 7);
    assert_same_run(&before, &after);
}

static void parse_example_gives_what_was_written(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(parsed(records()), (way){0});
    for (int r = 0; r < ROWS; r++) {
        if (hr_next(it, &e) != HR_OK) fail_msg("row %d: %s", r, hr_iterator_error(it)->text);
        assert_int_equal(*(const int64_t *)hr_get(e, "id")->data, r);
        assert_int_equal(hr_get(e, "words")->count, r % 4);
        assert_int_equal(hr_get(e, "numbers")->count, r % 3);
        assert_exactly(*(const float *)hr_get(e, "score")->data, (r % 2 ? (float)r / 2 : -1));
        for (int w = 0; w < r % 4; w++) {
            char want[16];
            const hr_view *word = (const hr_view *)hr_get(e, "words")->data + w;
            assert_int_equal(word->size, snprintf(want, sizeof want, "w%d-%d", r, w));
            assert_memory_equal(word->data, want, (size_t)word->size);
        }
    }
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void a_missing_feature_without_a_default_names_file_and_feature(void **state)
{
    (void)state;
    static run got;
    hr_dataset *ds = hr_shuffle(records(), 10);
    ds = hr_parse_single_example(ds, HR_PARSE_SPEC({.key = "score", .kind = HR_FIXED_LEN, .dtype = HR_FLOAT}));
    run_all(&got, ds, (way){.workers = 2});
    assert_status(got.end, HR_INVALID_ARGUMENT);
    assert_string_equal(got.error.feature, "score");
    assert_string_equal(got.error.file, "examples.tfrecord");
}

/* The ids that are good, in order. */
static int good_ids(int64_t *id)
{
    int count = 0;
    for (int r = 0; r < ROWS; r++)
        if (r % 10 != 3 && r % 10 != 7 && r / 10 != 5) id[count++] = r;
    return count;
}

static void assert_ids(hr_dataset *ds)
{
    int64_t want[ROWS];
    const int count = good_ids(want);
    const hr_element *e;
    hr_status st;
    int seen = 0;
    hr_iterator *it = iterate(ds, (way){.workers = 2, .unit_rows = 16});
    while ((st = hr_next(it, &e)) == HR_OK) {
        const hr_tensor *id = hr_get(e, "id");
        assert_more(id->count, 0);
        for (int64_t i = 0; i < id->count; i++) assert_int_equal(((const int64_t *)id->data)[i], want[seen++]);
    }
    assert_status(st, HR_END);
    assert_int_equal(seen, count);
    hr_iterator_free(it);
}

static void rows_that_do_not_parse_are_left_out_by_a_policy(void **state)
{
    (void)state;
    assert_ids(parsed_with(hr_tfrecord("bad.tfrecord"), skip));
    assert_ids(hr_batch(parsed_with(hr_tfrecord("bad.tfrecord"), skip), 7));
    assert_ids(parsed_with(hr_batch(hr_tfrecord("bad.tfrecord"), 7), skip)); /* whole batches of them, too */
    assert_fails(parsed_with(hr_batch(hr_batch(hr_tfrecord("bad.tfrecord"), 3), 2), skip), HR_INVALID_ARGUMENT,
                 "policy.batches");
    assert_ids(hr_unbatch(parsed_with(hr_batch(hr_tfrecord("bad.tfrecord"), 9), skip)));
}

static void records_that_do_not_parse_are_kept_in_quarantine(void **state)
{
    (void)state;
    const hr_policy keep = {.on_error = HR_QUARANTINE, .quarantine_file = "quarantine.jsonl"};
    for (int epoch = 0; epoch < 2; epoch++) {
        size_t size;
        int lines = 0;
        assert_ids(parsed_with(hr_batch(hr_tfrecord("bad.tfrecord"), 7), keep));
        char *text = read_whole_file("quarantine.jsonl", &size);
        for (size_t i = 0; i < size; i++) lines += text[i] == '\n';
        int64_t id[ROWS];
        assert_int_equal(lines, ROWS - good_ids(id));
        assert_memory_equal(text, "{\"file\":\"bad.tfrecord\",\"record\":", 32);
        free(text);
    }
}

static void a_budget_of_rows_ends_the_pipeline(void **state)
{
    (void)state;
    const hr_policy few = {.on_error = HR_SKIP, .max_errors = 20},
                    share = {.on_error = HR_SKIP, .max_error_share = 0.01};
    assert_fails(parsed_with(hr_tfrecord("bad.tfrecord"), few), HR_DATA_LOSS, "policy.budget");
    assert_fails(parsed_with(hr_tfrecord("bad.tfrecord"), share), HR_DATA_LOSS, "policy.budget");
    assert_fails(parsed_with(hr_tfrecord("bad.tfrecord"), (hr_policy){.max_errors = -1}), HR_INVALID_ARGUMENT,
                 "policy.limit");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(parse_example),
        HR_CONFORMANCE(parse_then_batch),
        HR_CONFORMANCE(parse_then_shuffle),
        HR_CONFORMANCE(parse_in_epochs),
        HR_CONFORMANCE(parse_bad_then_batch),
        HR_CONFORMANCE(parse_bad_batches),
        HR_CONFORMANCE(parse_bad_batches_then_shuffle),
        cmocka_unit_test(rows_that_do_not_parse_are_left_out_by_a_policy),
        cmocka_unit_test(records_that_do_not_parse_are_kept_in_quarantine),
        cmocka_unit_test(a_budget_of_rows_ends_the_pipeline),
        cmocka_unit_test(what_a_shuffle_holds_comes_out_as_it_went_in),
        cmocka_unit_test(parsing_before_and_after_a_batch_gives_the_same),
        cmocka_unit_test(parse_example_gives_what_was_written),
        cmocka_unit_test(a_missing_feature_without_a_default_names_file_and_feature),
    };
    return cmocka_run_group_tests(tests, write_examples, NULL);
}
