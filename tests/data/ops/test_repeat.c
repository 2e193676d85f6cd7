/* repeat, and shuffle_and_repeat on top of it. */
#include "tests/data/ops/wide_rows.h"
#include <string.h>

HR_SAMPLE(repeat) { return hr_batch(hr_repeat(hr_shuffle(hr_range(100), 30, .seed = 1), .count = HR_I64(3)), 8); }
HR_SAMPLE(endless_repeat) { return hr_take(hr_batch(hr_repeat(hr_shuffle(hr_range(37), 10)), 8), 60); }
HR_SAMPLE(tiny_epochs) { return hr_shuffle(hr_repeat(hr_range(3), .count = HR_I64(50)), 20); }
HR_SAMPLE(repeat_of_repeat)
{
    hr_dataset *ds = hr_repeat(hr_shuffle(hr_range(9), 4), .count = HR_I64(3));
    return hr_repeat(hr_shuffle(ds, 5), .count = HR_I64(3));
}
HR_SAMPLE(shuffle_and_repeat) { return hr_batch(hr_shuffle_and_repeat(hr_range(100), 30, .count = 3, .seed = 1), 8); }

static void repeat_passes_its_input_count_times(void **state)
{
    (void)state;
    assert_int64_values(hr_repeat(hr_range(2), .count = HR_I64(3)), HR_I64(0, 1, 0, 1, 0, 1), 6);
    assert_int64_values(hr_repeat(hr_range(2), .count = HR_I64(1)), HR_I64(0, 1), 2);
    assert_int64_values(hr_repeat(hr_range(2), .count = HR_I64(0)), NULL, 0);
}

static void repeat_of_any_negative_count_is_for_ever(void **state)
{
    (void)state;
    assert_int64_values(hr_take(hr_repeat(hr_range(2), .count = HR_I64(-5)), 3), HR_I64(0, 1, 0), 3);
    assert_int64_values(hr_take(hr_repeat(hr_range(2), .count = HR_I64(-1)), 3), HR_I64(0, 1, 0), 3);
}

static bool never(const hr_element *e, void *user)
{
    (void)e, (void)user;
    return false;
}

static void repeat_of_nothing_ends_at_once(void **state)
{
    (void)state;
    assert_int64_values(hr_repeat(hr_range(0)), NULL, 0);
    assert_int64_values(hr_repeat(hr_filter(hr_range(50), never, NULL)), NULL, 0);
}

static void repeat_joins_epochs_before_a_batch_and_not_after_it(void **state)
{
    (void)state;
    static run joined, apart;
    run_all(&joined, hr_batch(hr_repeat(hr_range(5), .count = HR_I64(3)), 2), (way){0});
    run_all(&apart, hr_repeat(hr_batch(hr_range(5), 2), .count = HR_I64(3)), (way){0});
    assert_int_equal(joined.count, 8);
    assert_int_equal(apart.count, 9);
}

/* Large batches, with lists and strings, go through as whole units; from there on they are somebody else's to
 * change. */
static void repeat_passes_large_units_on_as_they_are(void **state)
{
    (void)state;
    static run once, twice;
    for (int workers = 0; workers < 3; workers += 2) {
        hr_dataset *ds = hr_batch(wide_text_rows(hr_range(2000)), 300);
        run_all(&once, hr_unbatch(hr_dataset_ref(ds)), (way){.workers = workers});
        run_all(&twice, hr_unbatch(hr_repeat(ds, .count = HR_I64(2))), (way){.workers = workers});
        assert_int_equal(once.count, 2000);
        assert_int_equal(twice.count, 4000);
        for (int i = 0; i < 4000; i++) assert_int_equal(twice.element[i], once.element[i % 2000]);
    }
}

/* Each opens the one below, and that is all. */
static void many_repeats_in_a_chain_take_memory_for_each_not_for_each_pair(void **state)
{
    (void)state;
    enum { REPEATS = 200, EACH = 64 << 10 };
    hr_dataset *ds = hr_range(3);
    for (int i = 0; i < REPEATS; i++) ds = hr_repeat(ds, .count = HR_I64(1));
    watch_memory();
    assert_int64_values(ds, HR_I64(0, 1, 2), 3);
    assert_at_most(most_memory(), REPEATS * EACH);
}

enum { ROWS = 100, EPOCHS = 3 };

/* Each epoch has every element, and they come in different orders; an element comes at most `buffer` - 1 early. */
static void assert_epochs(const int64_t *value, int buffer)
{
    int moved = 0;
    for (int e = 0; e < EPOCHS; e++) {
        bool seen[ROWS] = {false};
        for (int i = 0; i < ROWS; i++) {
            const int64_t v = value[e * ROWS + i];
            assert_at_least(v, 0);
            assert_less(v, ROWS);
            assert_false(seen[v]);
            assert_at_least(i, v - buffer + 1);
            seen[v] = true;
            moved += e > 0 && v != value[i];
        }
    }
    assert_more(moved, ROWS);
}

static void shuffle_and_repeat_gives_whole_epochs_each_in_a_new_order(void **state)
{
    (void)state;
    int64_t value[ROWS * EPOCHS + 1], plain[ROWS * EPOCHS + 1];
    hr_dataset *ds = hr_shuffle_and_repeat(hr_range(ROWS), 30, .count = EPOCHS);
    assert_int_equal(int64_values(ds, (way){.workers = 2}, value, ROWS * EPOCHS + 1), ROWS * EPOCHS);
    assert_epochs(value, 30);

    ds = hr_repeat(hr_shuffle(hr_range(ROWS), 30), .count = HR_I64(EPOCHS));
    assert_int_equal(int64_values(ds, (way){0}, plain, ROWS * EPOCHS + 1), ROWS * EPOCHS);
    assert_memory_equal(value, plain, ROWS * EPOCHS * sizeof *value);
}

static void shuffle_and_repeat_is_for_ever_by_default(void **state)
{
    (void)state;
    int64_t value[90];
    assert_int_equal(int64_values(hr_take(hr_shuffle_and_repeat(hr_range(7), 3), 90), (way){0}, value, 90), 90);
    assert_int_equal(int64_values(hr_take(hr_shuffle_and_repeat(hr_range(7), 3, .count = -1), 90), (way){0}, value, 90),
                     90);
}

static void shuffle_and_repeat_refuses_other_negative_counts(void **state)
{
    (void)state;
    assert_fails(hr_shuffle_and_repeat(hr_range(7), 3, .count = -2), HR_INVALID_ARGUMENT, "shuffle_and_repeat.count");
    assert_fails(hr_shuffle_and_repeat(hr_range(7), 0), HR_INVALID_ARGUMENT, "shuffle.buffer_size");
}

/* Takes up to `most` values of so many epochs from where `state` says, and saves the state there. Gives *state. */
static int take_values(int64_t count, void **state, size_t *size, int64_t *value, int max)
{
    const hr_element *e;
    int taken = 0;
    hr_dataset *ds =
        hr_shuffle_and_repeat(hr_map(hr_range(20), draw_digits, NULL), 7, .count = count, .extendable = true);
    hr_iterator *it = hr_iterate(hr_prefetch(hr_batch(ds, 1), 2), .seed = 5, .state = *state, .state_size = *size);
    while (taken < max && hr_next(it, &e) == HR_OK) value[taken++] = *(const int64_t *)hr_get(e, "value")->data;
    assert_null(hr_iterator_error(it));
    hr_free(*state);
    assert_status(hr_iterator_save(it, state, size, NULL), HR_OK);
    hr_iterator_free(it);
    return taken;
}

/* Stopped anywhere in two epochs, or at their end: with a count of four it gives the rest of four, with one it ends. */
static void an_extendable_repeat_goes_on_with_another_count(void **test_state)
{
    (void)test_state;
    int64_t want[81], got[81], rest[81];
    size_t size = 0;
    void *state = NULL;
    assert_int_equal(take_values(4, &state, &size, want, 81), 80);
    for (int stop = 0; stop <= 41; stop++) {
        hr_free(state);
        state = NULL;
        size = 0;
        int n = take_values(2, &state, &size, got, stop);
        assert_int_equal(n, stop < 40 ? stop : 40);
        n += take_values(4, &state, &size, got + n, 81 - n);
        assert_int_equal(n, 80);
        assert_memory_equal(got, want, sizeof *got * 80);
        assert_int_equal(take_values(1, &state, &size, rest, 81), 0);
    }
    hr_free(state);
}

static hr_status pass_on(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    const hr_tensor *t = hr_get(in, "value");
    int64_t *to = hr_set(out, "value");
    if (to) memcpy(to, t->data, (size_t)t->count * sizeof *to);
    return HR_OK;
}

static void count_values(hr_iterator *it, int *times, int *batches)
{
    const hr_element *e;
    for (*batches = 0; hr_next(it, &e) == HR_OK; ++*batches)
        for (int64_t i = 0; i < hr_get(e, "value")->count; i++) times[((const int64_t *)hr_get(e, "value")->data)[i]]++;
    assert_null(hr_iterator_error(it));
}

/* The last batch of an end is short. What comes after begins with a new one, and no row is lost between. */
static void an_extended_repeat_loses_no_row_at_the_end_that_was(void **test_state)
{
    (void)test_state;
    int times[20] = {0}, batches;
    void *state = NULL;
    size_t size = 0;
    for (int count = 1; count <= 4; count++) {
        hr_dataset *ds = hr_shuffle_and_repeat(hr_range(20), 7, .count = count, .seed = 1, .extendable = true);
        ds = hr_prefetch(hr_map(hr_batch(ds, 8), pass_on, NULL), 2);
        hr_iterator *it = hr_iterate(ds, .state = state, .state_size = size);
        count_values(it, times, &batches);
        assert_int_equal(batches, 3);
        for (int i = 0; i < 20; i++) assert_int_equal(times[i], count);
        hr_free(state);
        assert_status(hr_iterator_save(it, &state, &size, NULL), HR_OK);
        hr_iterator_free(it);
    }
    hr_free(state);
}

/* Ways to read an extendable repeat up to its end: from the same stage, from another one, through batches of batches,
 * beside another one, and through operators that count what passes. Gives how many batches 20 rows are. */
static int read_to_its_end(int kind, int64_t count, hr_dataset **ds)
{
    hr_dataset *in = hr_repeat(hr_shuffle(hr_range(20), 7), .count = &count, .extendable = true);
    if (kind == 1) in = hr_map(in, pass_on, NULL);
    if (kind == 3) in = hr_zip((hr_dataset *const[]){hr_dataset_ref(in), in}, 2);
    if (kind == 4) in = hr_take(hr_skip(in, 0), 1000);
    if (kind == 5) in = hr_cache(hr_map(in, pass_on, NULL));
    *ds = hr_batch(in, 8);
    if (kind == 2) *ds = hr_map(hr_batch(hr_unbatch(hr_map(*ds, pass_on, NULL)), 5), pass_on, NULL);
    if (kind == 6) *ds = hr_batch(hr_batch(hr_unbatch(*ds), 3), 2);
    return kind == 2 || kind == 6 ? 4 : 3;
}

/* Saved when the last element was taken (`seen`: and its end was), with units of other sizes in each run. */
static void extend_three_times(int kind, int workers, bool seen)
{
    static const int64_t unit_rows[] = {0, 1, 3, 30};
    int times[20] = {0}, batches;
    void *state = NULL;
    size_t size = 0;
    for (int count = 1; count <= 3; count++) {
        hr_error err;
        hr_dataset *ds;
        const hr_element *e;
        batches = read_to_its_end(kind, count, &ds);
        hr_iterator *it = iterate(ds, (way){.workers = workers,
                                            .unit_rows = unit_rows[(count + workers + kind) % 4],
                                            .state = state,
                                            .state_size = size});
        for (int n = 0; n < batches; n++) {
            if (next_soon(it, &e) != HR_OK) fail_msg("kind %d, count %d: the end after %d batches", kind, count, n);
            const hr_tensor *t = hr_get_at(e, 0);
            for (int64_t i = 0; i < t->count; i++) times[((const int64_t *)t->data)[i]]++;
        }
        for (int i = 0; i < 20; i++)
            if (times[i] != count) fail_msg("kind %d, count %d: row %d came %d times", kind, count, i, times[i]);
        if (seen) assert_status(next_soon(it, &e), HR_END);
        hr_free(state);
        assert_ok(hr_iterator_save(it, &state, &size, &err), &err);
        hr_iterator_free(it);
    }
    hr_free(state);
}

static void an_extended_repeat_loses_no_row_however_it_is_read(void **test_state)
{
    (void)test_state;
    for (int kind = 0; kind < 7; kind++)
        for (int workers = 0; workers <= 2; workers++)
            for (int seen = 0; seen < 2; seen++) extend_three_times(kind, workers, seen);
}

static hr_dataset *noting_the_end(int kind, int64_t count)
{
    hr_dataset *ds = hr_repeat(hr_range(5), .count = &count, .extendable = true);
    if (kind == 0) return hr_shuffle(ds, 3, .seed = 7);
    return kind == 1 ? hr_concatenate(ds, hr_range(2)) : hr_repeat(ds, .count = HR_I64(1));
}

static void what_notes_that_its_input_has_ended_does_not_go_on_above_an_extended_repeat(void **test_state)
{
    (void)test_state;
    for (int kind = 0; kind < 3; kind++) {
        void *state;
        size_t size;
        hr_error err;
        const hr_element *e;
        hr_status st;
        hr_iterator *it = hr_iterate(noting_the_end(kind, 2));
        while ((st = hr_next(it, &e)) == HR_OK) {}
        assert_status(st, HR_END);
        assert_ok(hr_iterator_save(it, &state, &size, &err), &err);
        hr_iterator_free(it);
        it = hr_iterate(noting_the_end(kind, 3), .state = state, .state_size = size);
        assert_status(hr_next(it, &e), kind == 0 ? HR_DATA_LOSS : HR_END);
        if (kind == 0) assert_string_equal(hr_iterator_error(it)->kind, "shuffle.input_changed");
        hr_iterator_free(it);
        hr_free(state);
    }
}

static void a_repeat_that_is_not_extendable_keeps_its_count(void **test_state)
{
    (void)test_state;
    void *state;
    size_t size;
    hr_error err;
    hr_iterator *it = hr_iterate(hr_repeat(hr_range(3), .count = HR_I64(2)));
    assert_ok(hr_iterator_save(it, &state, &size, &err), &err);
    hr_iterator_free(it);
    for (int extendable = 0; extendable < 2; extendable++) {
        it = hr_iterate(hr_repeat(hr_range(3), .count = HR_I64(2 + !extendable), .extendable = extendable),
                        .state = state, .state_size = size);
        assert_string_equal(hr_iterator_error(it)->kind, "state.other_arguments");
        hr_iterator_free(it);
    }
    hr_free(state);
}

HR_ARGUMENTS(repeat, hr_repeat(hr_range(7), .count = HR_I64(3)), hr_repeat(hr_range(7), .count = HR_I64(2)),
             hr_take(hr_repeat(hr_range(7)), 30), hr_repeat(hr_range(7), .count = HR_I64(0)),
             hr_repeat(hr_range(0), .count = HR_I64(3)));

int main(void)
{
    const struct CMUnitTest tests[] = {
        HR_CONFORMANCE(repeat),
        HR_CONFORMANCE_OF_ARGUMENTS(repeat),
        HR_CONFORMANCE(endless_repeat),
        HR_CONFORMANCE(tiny_epochs),
        HR_CONFORMANCE(repeat_of_repeat),
        HR_CONFORMANCE(shuffle_and_repeat),
        cmocka_unit_test(repeat_passes_its_input_count_times),
        cmocka_unit_test(repeat_of_any_negative_count_is_for_ever),
        cmocka_unit_test(repeat_of_nothing_ends_at_once),
        cmocka_unit_test(repeat_joins_epochs_before_a_batch_and_not_after_it),
        cmocka_unit_test(repeat_passes_large_units_on_as_they_are),
        cmocka_unit_test(many_repeats_in_a_chain_take_memory_for_each_not_for_each_pair),
        cmocka_unit_test(shuffle_and_repeat_gives_whole_epochs_each_in_a_new_order),
        cmocka_unit_test(shuffle_and_repeat_is_for_ever_by_default),
        cmocka_unit_test(shuffle_and_repeat_refuses_other_negative_counts),
        cmocka_unit_test(an_extendable_repeat_goes_on_with_another_count),
        cmocka_unit_test(an_extended_repeat_loses_no_row_at_the_end_that_was),
        cmocka_unit_test(an_extended_repeat_loses_no_row_however_it_is_read),
        cmocka_unit_test(what_notes_that_its_input_has_ended_does_not_go_on_above_an_extended_repeat),
        cmocka_unit_test(a_repeat_that_is_not_extendable_keeps_its_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
