/* pack_sequences: which sequences share a row, what tells them apart, and the conformance of a pipeline with it. */
#include "tests/data/ops/vectors.h"
#include <stdio.h>

static hr_status make_words(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    const int64_t n = *(const int64_t *)hr_get(in, "value")->data;
    hr_set_count(out, "words", n % 4);
    int64_t *weight = hr_set_count(out, "weights", n % 4);
    for (int64_t i = 0; weight && i < n % 4; i++) {
        char text[32];
        const int size = snprintf(text, sizeof text, "word %lld", (long long)n);
        hr_set_string_at(out, "words", i, text, size);
        weight[i] = n + i;
    }
    return HR_OK;
}

static const hr_field word_fields[] = {{.name = "words", .dtype = HR_STRING, .shape = {1, {-1}}},
                                       {.name = "weights", .dtype = HR_INT64, .shape = {1, {-1}}}};
static const hr_schema word_schema = {.fields = 2, .field = word_fields};

HR_SAMPLE(pack_sequences) { return hr_batch(hr_pack_sequences(vectors(hr_shuffle(hr_range(200), 30)), 9), 3); }
HR_SAMPLE(pack_words)
{
    hr_dataset *ds = hr_map(hr_shuffle(hr_range(150), 30), make_words, NULL, .output = &word_schema);
    return hr_shuffle(hr_repeat(hr_pack_sequences(ds, 5, .open_rows = 3), .count = HR_I64(2)), 7);
}

static void assert_row(hr_iterator *it, const int64_t *value, const int64_t *segment, const int64_t *position)
{
    const hr_element *e;
    const hr_status st = hr_next(it, &e);
    if (st != HR_OK) fail_msg("%s", hr_iterator_error(it)->text);
    assert_memory_equal(hr_get(e, "value")->data, value, 4 * sizeof *value);
    assert_memory_equal(hr_get(e, "value/segment_ids")->data, segment, 4 * sizeof *value);
    assert_memory_equal(hr_get(e, "value/positions")->data, position, 4 * sizeof *value);
}

static void sequences_fill_the_first_row_with_room(void **state)
{
    (void)state;
    const hr_element *e;
    /* lengths 1, 2, 3, 4, 0, 1: the first two and the last share a row */
    hr_iterator *it = iterate(hr_pack_sequences(vectors(hr_range(7, .start = 1)), 4), (way){0});
    assert_row(it, HR_I64(1, 2, 2, 6), HR_I64(1, 2, 2, 4), HR_I64(0, 0, 1, 0));
    assert_row(it, HR_I64(3, 3, 3, 0), HR_I64(1, 1, 1, 0), HR_I64(0, 1, 2, 0));
    assert_row(it, HR_I64(4, 4, 4, 4), HR_I64(1, 1, 1, 1), HR_I64(0, 1, 2, 3));
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void with_one_open_row_nothing_is_reordered(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(hr_pack_sequences(vectors(hr_range(5, .start = 2)), 4, .open_rows = 1), (way){0});
    assert_row(it, HR_I64(2, 2, 0, 0), HR_I64(1, 1, 0, 0), HR_I64(0, 1, 0, 0));
    assert_row(it, HR_I64(3, 3, 3, 0), HR_I64(1, 1, 1, 0), HR_I64(0, 1, 2, 0));
    assert_row(it, HR_I64(4, 4, 4, 4), HR_I64(1, 1, 1, 1), HR_I64(0, 1, 2, 3));
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    assert_fails(hr_pack_sequences(vectors(hr_range(5)), 3), HR_INVALID_ARGUMENT, "pack_sequences.too_long");
    assert_fails(hr_pack_sequences(vectors(hr_range(5)), 0), HR_INVALID_ARGUMENT, "pack_sequences.length");
    assert_fails(hr_pack_sequences(hr_range(5), 3), HR_INVALID_ARGUMENT, "pack_sequences.component");
}

HR_ARGUMENTS(pack_sequences, hr_pack_sequences(vectors(hr_range(30)), 7), hr_pack_sequences(vectors(hr_range(30)), 8),
             hr_pack_sequences(vectors(hr_range(30)), 7, .open_rows = 2));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(pack_sequences),
        HR_CONFORMANCE_OF_ARGUMENTS(pack_sequences),
        HR_CONFORMANCE(pack_words),
        cmocka_unit_test(sequences_fill_the_first_row_with_room),
        cmocka_unit_test(with_one_open_row_nothing_is_reordered),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
