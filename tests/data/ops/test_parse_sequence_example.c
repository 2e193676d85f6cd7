/* parse_sequence_example: a context and feature lists of every kind, before a batch and after it. */
#include "tests/data/conformance.h"
#include <stdio.h>
#include <string.h>

enum { ROWS = 120 };

static int words_of(int row, int step) { return (row + step) % 3; }

/* Row r: an id, r % 3 tags; r % 4 steps of a pair of numbers; for odd r a list of words, (r + s) % 3 in step s. */
static void add_row(hr_example *ex, int r)
{
    char text[3][16];
    hr_view word[3];
    const int64_t id = r;
    int64_t pair[4][2];
    hr_tensor step[4], words[4];
    hr_view own[4][3];
    char steps[4][3][24];
    for (int i = 0; i < 3; i++) word[i] = (hr_view){text[i], snprintf(text[i], sizeof text[i], "tag%d", r + i)};
    hr_example_add_int64(ex, "id", &id, 1);
    hr_example_add_bytes(ex, "tags", word, r % 3);
    for (int s = 0; s < 4; s++) {
        pair[s][0] = 100 * r + s;
        pair[s][1] = -s;
        step[s] = hr_tensor_of(HR_INT64, HR_SHAPE(2), pair[s]);
        for (int i = 0; i < 3; i++)
            own[s][i] = (hr_view){steps[s][i], snprintf(steps[s][i], sizeof steps[s][i], "w%d-%d-%d", r, s, i)};
        words[s] = hr_tensor_of(HR_STRING, HR_SHAPE(words_of(r, s)), own[s]);
    }
    hr_example_add_list(ex, (hr_view){"pairs", 5}, step, r % 4);
    if (r % 2) hr_example_add_list(ex, (hr_view){"words", 5}, words, r % 4);
}

/* Every fourth one is cut. */
static void write_bad_examples(void)
{
    hr_record_writer *writer;
    hr_error err;
    hr_view bytes;
    hr_example *ex = hr_sequence_example_new();
    assert_ok(hr_record_writer_open("bad.tfrecord", NULL, &writer, &err), &err);
    for (int r = 0; r < ROWS; r++) {
        hr_example_clear(ex);
        add_row(ex, r);
        assert_ok(hr_example_bytes(ex, &bytes, &err), &err);
        assert_ok(hr_record_write(writer, bytes.data, (size_t)bytes.size - (r % 4 == 1), &err), &err);
    }
    assert_ok(hr_record_writer_commit(writer, &err), &err);
    hr_example_free(ex);
}

static int write_examples(void **state)
{
    (void)state;
    write_bad_examples();
    write_example_file("sequences.tfrecord", hr_sequence_example_new(), add_row, ROWS);
    return 0;
}

static hr_dataset *records(void) { return hr_tfrecord("sequences.tfrecord"); }

static hr_dataset *parsed(hr_dataset *in)
{
    return hr_parse_sequence_example(
        in,
        HR_PARSE_SPEC({.key = "id", .kind = HR_FIXED_LEN, .dtype = HR_INT64},
                      {.key = "tags", .kind = HR_VAR_LEN, .dtype = HR_STRING}),
        HR_PARSE_SPEC({.key = "pairs", .kind = HR_FIXED_LEN_SEQUENCE, .dtype = HR_INT64, .shape = {1, {2}}},
                      {.key = "words", .kind = HR_VAR_LEN, .dtype = HR_STRING}));
}

static hr_dataset *ragged(hr_dataset *in)
{
    return hr_parse_sequence_example(
        in, NULL,
        HR_PARSE_SPEC({.key = "words", .kind = HR_RAGGED_FEATURE, .dtype = HR_STRING},
                      {.key = "pairs", .kind = HR_RAGGED_FEATURE, .dtype = HR_INT64},
                      {.key = "pairs", .name = "again", .kind = HR_RAGGED_FEATURE, .dtype = HR_INT64}));
}

static hr_dataset *required(hr_dataset *in)
{
    return hr_parse_sequence_example(
        in, NULL, HR_PARSE_SPEC({.key = "words", .kind = HR_FIXED_LEN_SEQUENCE, .dtype = HR_STRING, .required = true}));
}

HR_SAMPLE(parse_sequence_example) { return parsed(hr_batch(hr_shuffle(records(), 30), 7)); }
HR_SAMPLE(parse_then_batch) { return hr_batch(ragged(hr_shuffle(records(), 30)), 7); }
HR_SAMPLE(parse_then_shuffle) { return hr_batch(hr_shuffle(parsed(records()), 30), 4); }
HR_SAMPLE(parse_what_fails) { return required(hr_skip(records(), 1)); }

static void parsing_before_and_after_a_batch_gives_the_same(void **state)
{
    (void)state;
    static run before, after;
    run_all(&before, hr_batch(parsed(records()), 7), (way){.workers = 2});
    run_all(&after, parsed(hr_batch(records(), 7)), (way){.workers = 2});
    assert_int_equal(before.count, (ROWS + 6) / 7);
    assert_same_run(&before, &after);
}

/* The single form: a sequence is [steps, 2], a list of words has a place (step, position) for each. */
static void parse_sequence_example_gives_what_was_written(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(parsed(records()), (way){0});
    for (int r = 0; r < ROWS; r++) {
        if (hr_next(it, &e) != HR_OK) fail_msg("row %d: %s", r, hr_iterator_error(it)->text);
        const hr_tensor *pairs = hr_get(e, "pairs"), *words = hr_get(e, "words");
        assert_int_equal(*(const int64_t *)hr_get(e, "id")->data, r);
        assert_int_equal(hr_get(e, "tags")->count, r % 3);
        assert_int_equal(*(const int64_t *)hr_get(e, "pairs/lengths")->data, r % 4);
        assert_int_equal(pairs->shape.rank, 2);
        assert_int_equal(pairs->shape.dims[0], r % 4);
        for (int s = 0; s < r % 4; s++) {
            assert_int_equal(((const int64_t *)pairs->data)[2 * s], 100 * r + s);
            assert_int_equal(((const int64_t *)pairs->data)[2 * s + 1], -s);
        }
        int64_t n = 0;
        for (int s = 0; r % 2 && s < r % 4; s++) {
            for (int i = 0; i < words_of(r, s); i++, n++) {
                char want[24];
                const hr_view *word = (const hr_view *)words->data + n;
                assert_int_equal(words->indices[2 * n], s);
                assert_int_equal(words->indices[2 * n + 1], i);
                assert_int_equal(word->size, snprintf(want, sizeof want, "w%d-%d-%d", r, s, i));
                assert_memory_equal(word->data, want, (size_t)word->size);
            }
        }
        assert_int_equal(words->count, n);
    }
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void a_batch_of_sequences_is_padded_to_its_longest(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(hr_batch(parsed(records()), 4), (way){0});
    assert_status(hr_next(it, &e), HR_OK);
    const hr_tensor *pairs = hr_get(e, "pairs"), *lengths = hr_get(e, "pairs/lengths");
    assert_int_equal(pairs->shape.rank, 3);
    assert_int_equal(pairs->shape.dims[0], 4);
    assert_int_equal(pairs->shape.dims[1], 3);
    for (int r = 0; r < 4; r++) {
        assert_int_equal(((const int64_t *)lengths->data)[r], r);
        for (int s = 0; s < 3; s++)
            assert_int_equal(((const int64_t *)pairs->data)[(3 * r + s) * 2], s < r ? 100 * r + s : 0);
    }
    hr_iterator_free(it);
}

static void a_ragged_list_has_steps_and_then_values(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(ragged(hr_batch(records(), 4)), (way){0});
    assert_status(hr_next(it, &e), HR_OK);
    const hr_tensor *pairs = hr_get(e, "pairs"), *again = hr_get(e, "again");
    static const int32_t rows[] = {0, 0, 1, 3, 6}, steps[] = {0, 2, 4, 6, 8, 10, 12};
    assert_int_equal(pairs->ragged_rank, 2);
    assert_memory_equal(pairs->splits[0], rows, sizeof rows);
    assert_memory_equal(pairs->splits[1], steps, sizeof steps);
    assert_int_equal(again->count, pairs->count);
    assert_memory_equal(again->data, pairs->data, (size_t)pairs->count * sizeof(int64_t));
    hr_iterator_free(it);
}

static void a_partition_without_the_steps_of_its_list_names_file_and_feature(void **state)
{
    (void)state;
    static run got;
    static const hr_partition lengths[] = {{HR_ROW_LENGTHS, "absent", 0}};
    run_all(&got,
            hr_parse_sequence_example(records(), NULL,
                                      HR_PARSE_SPEC({.key = "pairs",
                                                     .kind = HR_RAGGED_FEATURE,
                                                     .dtype = HR_INT64,
                                                     .partitions = lengths,
                                                     .partition_count = 1})),
            (way){0});
    assert_status(got.end, HR_INVALID_ARGUMENT);
    assert_string_equal(got.error.kind, "example.partition");
    assert_string_equal(got.error.feature, "pairs");
    assert_string_equal(got.error.file, "sequences.tfrecord");
    assert_int_equal(got.error.record, 1);
}

/* No splits of no values: TensorFlow wants the 0 that they begin with. */
static void no_splits_in_a_context_are_none_but_in_tf_compat(void **state)
{
    (void)state;
    static const hr_partition splits[] = {{HR_ROW_SPLITS, "no splits", 0}};
    for (int tf_compat = 0; tf_compat < 2; tf_compat++) {
        const hr_element *e;
        hr_iterator *it = iterate(hr_parse_sequence_example(records(),
                                                            HR_PARSE_SPEC({.key = "no values",
                                                                           .kind = HR_RAGGED_FEATURE,
                                                                           .dtype = HR_INT64,
                                                                           .partitions = splits,
                                                                           .partition_count = 1}),
                                                            NULL, .tf_compat = tf_compat),
                                  (way){0});
        assert_int_equal(hr_next(it, &e), tf_compat ? HR_INVALID_ARGUMENT : HR_OK);
        hr_iterator_free(it);
    }
}

static void a_required_list_that_is_missing_names_file_and_feature(void **state)
{
    (void)state;
    static run got;
    run_all(&got, required(records()), (way){.workers = 2});
    assert_status(got.end, HR_INVALID_ARGUMENT);
    assert_string_equal(got.error.kind, "example.missing");
    assert_string_equal(got.error.feature, "words");
    assert_string_equal(got.error.file, "sequences.tfrecord");
}

static void a_step_of_another_size_than_the_shape_is_refused(void **state)
{
    (void)state;
    assert_fails(
        hr_parse_sequence_example(records(), NULL,
                                  HR_PARSE_SPEC({.key = "pairs", .kind = HR_FIXED_LEN_SEQUENCE, .dtype = HR_INT64})),
        HR_INVALID_ARGUMENT, "example.count");
}

static void a_spec_that_contradicts_itself_is_refused_when_it_is_made(void **state)
{
    (void)state;
    assert_fails(hr_parse_sequence_example(records(), NULL, NULL), HR_INVALID_ARGUMENT, "parse_example.spec");
    assert_fails(hr_parse_sequence_example(records(), NULL, HR_PARSE_SPEC({.key = "pairs", .dtype = HR_INT64})),
                 HR_INVALID_ARGUMENT, "parse_example.spec");
    assert_fails(hr_parse_sequence_example(
                     records(), HR_PARSE_SPEC({.key = "id", .kind = HR_FIXED_LEN_SEQUENCE, .dtype = HR_INT64}), NULL),
                 HR_INVALID_ARGUMENT, "parse_example.spec");
    assert_fails(hr_parse_sequence_example(records(), HR_PARSE_SPEC({.key = "a", .dtype = HR_INT64}),
                                           HR_PARSE_SPEC({.key = "a", .kind = HR_VAR_LEN, .dtype = HR_INT64})),
                 HR_INVALID_ARGUMENT, "schema.duplicate");
}

static hr_dataset *parsed_bad(hr_dataset *in)
{
    return hr_parse_sequence_example(
        in, HR_PARSE_SPEC({.key = "id", .kind = HR_FIXED_LEN, .dtype = HR_INT64}),
        HR_PARSE_SPEC({.key = "words", .kind = HR_RAGGED_FEATURE, .dtype = HR_STRING},
                      {.key = "pairs", .kind = HR_FIXED_LEN_SEQUENCE, .dtype = HR_INT64, .shape = {1, {2}}}),
        .policy = {.on_error = HR_SKIP});
}

HR_SAMPLE(parse_bad_then_batch) { return hr_batch(parsed_bad(hr_tfrecord("bad.tfrecord")), 5); }
HR_SAMPLE(parse_bad_batches) { return hr_shuffle(parsed_bad(hr_batch(hr_tfrecord("bad.tfrecord"), 5)), 4); }

static void sequences_that_do_not_parse_are_left_out_by_a_policy(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(parsed_bad(hr_tfrecord("bad.tfrecord")), (way){.workers = 2});
    for (int r = 0; r < ROWS; r++) {
        if (r % 4 == 1) continue;
        assert_status(hr_next(it, &e), HR_OK);
        assert_int_equal(*(const int64_t *)hr_get(e, "id")->data, r);
    }
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(parse_sequence_example),
        HR_CONFORMANCE(parse_then_batch),
        HR_CONFORMANCE(parse_bad_then_batch),
        HR_CONFORMANCE(parse_bad_batches),
        cmocka_unit_test(sequences_that_do_not_parse_are_left_out_by_a_policy),
        HR_CONFORMANCE(parse_then_shuffle),
        HR_CONFORMANCE_OF_FAILURE(parse_what_fails),
        cmocka_unit_test(parsing_before_and_after_a_batch_gives_the_same),
        cmocka_unit_test(parse_sequence_example_gives_what_was_written),
        cmocka_unit_test(a_batch_of_sequences_is_padded_to_its_longest),
        cmocka_unit_test(a_ragged_list_has_steps_and_then_values),
        cmocka_unit_test(a_partition_without_the_steps_of_its_list_names_file_and_feature),
        cmocka_unit_test(no_splits_in_a_context_are_none_but_in_tf_compat),
        cmocka_unit_test(a_required_list_that_is_missing_names_file_and_feature),
        cmocka_unit_test(a_step_of_another_size_than_the_shape_is_refused),
        cmocka_unit_test(a_spec_that_contradicts_itself_is_refused_when_it_is_made),
    };
    return cmocka_run_group_tests(tests, write_examples, NULL);
}
