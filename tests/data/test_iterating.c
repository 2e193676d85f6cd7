/* Looking ahead, not waiting for ever, beginning anew, and whole datasets at once. */
#include "data/element.h"
#include "tests/data/conformance.h"

static int64_t value_of(const hr_element *e) { return *(const int64_t *)hr_get(e, "value")->data; }

static void assert_gives(hr_iterator *it, int64_t want)
{
    const hr_element *e;
    assert_status(hr_next(it, &e), HR_OK);
    assert_int_equal(value_of(e), want);
}

/* As hr_pipeline_from_file leaves one after a failure that nobody looked at. */
static void a_dataset_that_is_null_fails_as_any_other(void **state)
{
    (void)state;
    hr_dataset *none[2] = {hr_range(3), NULL};
    hr_dataset *made[] = {hr_batch(NULL, 2),        hr_unbatch(NULL),
                          hr_shuffle(NULL, 5),      hr_repeat(NULL),
                          hr_map(NULL, NULL, NULL), hr_cache(NULL),
                          hr_enumerate(NULL),       hr_prefetch(NULL, 1),
                          hr_rebatch(NULL, 2),      hr_concatenate(NULL, hr_range(3)),
                          hr_zip(none, 2),          hr_zip(NULL, 2),
                          hr_dataset_ref(NULL)};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) assert_fails(made[i], HR_INVALID_ARGUMENT, "dataset.null");
    assert_fails(hr_apply(hr_range(3), NULL, NULL), HR_INVALID_ARGUMENT, "apply.fn");
    hr_error err;
    int64_t count;
    assert_status(hr_count(NULL, &count, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(hr_dataset_error(NULL)->kind, "dataset.null");
    assert_null(hr_dataset_schema(NULL));
    assert_int_equal(hr_cardinality(NULL), HR_UNKNOWN_CARDINALITY);
    char *text = hr_explain_dataset(NULL);
    assert_non_null(strstr(text, "expected a dataset, got NULL"));
    hr_free(text);
}

static void peek_leaves_the_element_where_it_is(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(hr_range(3), (way){.unit_rows = 1});
    for (int64_t i = 0; i < 3; i++) {
        assert_status(hr_peek(it, &e), HR_OK);
        assert_status(hr_peek(it, &e), HR_OK);
        assert_int_equal(value_of(e), i);
        assert_gives(it, i);
    }
    assert_status(hr_peek(it, &e), HR_END);
    assert_status(hr_next(it, &e), HR_END);
    hr_iterator_free(it);
}

static void a_saved_state_does_not_know_what_was_peeked(void **state)
{
    (void)state;
    void *saved;
    size_t size;
    const hr_element *e;
    hr_error err;
    hr_dataset *ds = hr_shuffle(hr_range(20), 5);
    hr_iterator *it = iterate(hr_dataset_ref(ds), (way){0});
    assert_status(hr_next(it, &e), HR_OK);
    assert_status(hr_peek(it, &e), HR_OK);
    const int64_t second = value_of(e);
    assert_ok(hr_iterator_save(it, &saved, &size, &err), &err);
    hr_iterator_free(it);
    it = iterate(ds, (way){.state = saved, .state_size = size});
    assert_gives(it, second);
    hr_iterator_free(it);
    hr_free(saved);
}

static void without_workers_next_within_does_a_unit_at_a_time(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(hr_shuffle(hr_unbatch(hr_batch(hr_range(900), 3)), 800), (way){.unit_rows = 100});
    int waits = 0;
    hr_status st;
    while ((st = hr_next_within(it, 0, &e)) == HR_WAIT) waits++;
    assert_status(st, HR_OK);
    assert_more(waits, 0); /* the unit that it did was for others */
    int64_t seen = 1;
    while ((st = hr_next_within(it, 1, &e)) != HR_END) seen += st == HR_OK;
    assert_int_equal(seen, 900);
    assert_status(hr_next_within(it, UINT64_MAX, &e), HR_END);
    hr_iterator_free(it);
}

static void an_iterator_begins_anew_with_another_dataset(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(hr_range(2), (way){0});
    assert_gives(it, 0);
    assert_status(hr_iterator_reset(it, NULL), HR_OK);
    assert_gives(it, 0);
    assert_gives(it, 1);
    assert_status(hr_next(it, &e), HR_END);
    assert_status(hr_iterator_reset(it, hr_range(9, .start = 7)), HR_OK);
    assert_gives(it, 7);
    assert_status(hr_iterator_reset(it, hr_batch(hr_range(3), 0)), HR_INVALID_ARGUMENT);
    assert_string_equal(hr_iterator_error(it)->kind, "batch.size");
    assert_status(hr_iterator_reset(it, hr_range(1)), HR_OK);
    assert_null(hr_iterator_error(it));
    assert_gives(it, 0);
    assert_status(hr_iterator_reset(it, hr_enumerate(hr_range(1))), HR_INVALID_ARGUMENT);
    assert_string_equal(hr_iterator_error(it)->kind, "iterator.schema");
    hr_iterator_free(it);
}

static void a_reset_leaks_nothing_whatever_fails(void **state)
{
    (void)state;
    for (int64_t n = 0; n < 60; n++) {
        hr_iterator *it = iterate(hr_range(5), (way){0});
        const hr_element *e;
        hr_next(it, &e);
        fail_allocation(n);
        hr_iterator_reset(it, NULL, .seed = 7);
        while (hr_next(it, &e) == HR_OK) continue;
        allocations_since();
        hr_iterator_free(it);
    }
}

/* ---- numbered runs ---- */

static hr_dataset *few_of(const hr_element *e, void *user)
{
    (void)user;
    return hr_shuffle(hr_range(4 + value_of(e) % 3), 3);
}

static hr_dataset *drawn_in_many_ways(void)
{
    hr_dataset *in[] = {hr_map(hr_shuffle(hr_range(30), 8, .seed = 5), draw_digits, NULL),
                        hr_interleave(hr_shuffle(hr_range(9), 9), few_of, NULL, .cycle_length = 2),
                        hr_take(hr_random_dataset(.seed = 4), 20)};
    return hr_sample_from_datasets(in, 3, .seed = 6);
}

static void runs_by_number_are_the_epochs_of_repeat(void **state)
{
    (void)state;
    enum { RUNS = 4, MOST = 500 };
    static int64_t all[RUNS * MOST], one[RUNS + 1][MOST];
    int64_t seeds[] = {7, 8};
    for (int s = 0; s < 2; s++) {
        const uint64_t seed = (uint64_t)seeds[s];
        const int whole =
            int64_values(hr_repeat(drawn_in_many_ways(), .count = HR_I64(RUNS)), (way){.seed = seed}, all, RUNS * MOST);
        int at = 0, count = 0;
        for (int n = 0; n <= RUNS; n++) {
            count = int64_values(drawn_in_many_ways(), (way){.seed = seed, .epoch = n, .workers = n}, one[n], MOST);
            for (int before = 0; before < n; before++)
                assert_int_not_equal(memcmp(one[n], one[before], (size_t)count * sizeof *one[n]), 0);
            if (n == 0) continue; /* no epoch at all */
            assert_at_most(at + count, whole);
            assert_memory_equal(one[n], all + at, (size_t)count * sizeof *one[n]);
            at += count;
        }
        assert_int_equal(at, whole);
    }
}

static void a_numbered_run_begins_anywhere(void **state)
{
    (void)state;
    static int64_t want[60];
    assert_int_equal(int64_values(hr_map(hr_range(60), draw_digits, NULL), (way){.epoch = 3}, want, 60), 60);
    for (int64_t n = 0; n < 60; n += 7) {
        hr_iterator *it = hr_iterate(hr_map(hr_range(60), draw_digits, NULL), .seed = 7, .epoch = 3, .first = n);
        assert_gives(it, want[n]);
        hr_iterator_free(it);
    }
}

static void a_reset_gives_a_further_epoch_by_the_seed_of_the_first(void **state)
{
    (void)state;
    static int64_t want[40];
    hr_iterator *it = hr_iterate(hr_shuffle(hr_range(20), 20)); /* its seed is drawn */
    const uint64_t seed = hr_iterator_seed(it);
    assert_int_equal(
        int64_values(hr_repeat(hr_shuffle(hr_range(20), 20), .count = HR_I64(2)), (way){.seed = seed}, want, 40), 40);
    for (int64_t n = 2; n > 0; n--) {
        assert_status(hr_iterator_reset(it, NULL, .seed = hr_iterator_seed(it), .epoch = n), HR_OK);
        assert_int_equal(hr_iterator_seed(it), seed);
        for (int i = 0; i < 20; i++) assert_gives(it, want[20 * (n - 1) + i]);
    }
    hr_iterator_free(it);
}

static void an_epoch_that_no_repeat_has_is_refused(void **state)
{
    (void)state;
    const int64_t wrong[] = {-1, INT64_MIN, (INT64_C(1) << 52) + 1, INT64_MAX};
    hr_iterator *it = hr_iterate(hr_range(3), .epoch = INT64_C(1) << 52);
    assert_gives(it, 0);
    for (int i = 0; i < 4; i++) {
        assert_status(hr_iterator_reset(it, NULL, .epoch = wrong[i]), HR_INVALID_ARGUMENT);
        assert_string_equal(hr_iterator_error(it)->kind, "iterator.epoch");
    }
    hr_iterator_free(it);
    it = hr_iterate(hr_range(3), .epoch = -1);
    assert_string_equal(hr_iterator_error(it)->kind, "iterator.epoch");
    hr_iterator_free(it);
}

/* ---- whole datasets ---- */

static hr_status add_up(void *state, const hr_element *in, void *user)
{
    if (user && value_of(in) == 3) return HR_ABORTED;
    *(int64_t *)state += value_of(in);
    return HR_OK;
}

static void whole_datasets_are_counted_and_reduced(void **state)
{
    (void)state;
    hr_error err;
    int64_t count, sum = 100;
    assert_ok(hr_count(hr_batch(hr_range(9), 2), &count, &err), &err);
    assert_int_equal(count, 5);
    assert_ok(hr_reduce(hr_range(5), &sum, add_up, NULL, &err), &err);
    assert_int_equal(sum, 110);
    assert_status(hr_reduce(hr_range(5), &sum, add_up, &sum, &err), HR_ABORTED);
    assert_string_equal(err.kind, "reduce.function");
    assert_status(hr_count(hr_batch(hr_range(9), 0), &count, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "batch.size");
}

static void a_single_element_is_the_only_one(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = hr_get_single_element(hr_range(8, .start = 7), &e);
    assert_int_equal(value_of(e), 7);
    hr_iterator_free(it);
    const int64_t wrong[] = {0, 2, 9};
    for (int i = 0; i < 3; i++) {
        it = hr_get_single_element(hr_range(wrong[i]), &e);
        assert_null(e);
        assert_string_equal(hr_iterator_error(it)->kind, "single_element.count");
        hr_iterator_free(it);
    }
    it = hr_get_single_element(hr_batch(hr_range(3), 0), &e);
    assert_null(e);
    assert_string_equal(hr_iterator_error(it)->kind, "batch.size");
    hr_iterator_free(it);
}

static hr_dataset *last_of(hr_dataset *in, void *user) { return hr_skip(in, *(const int64_t *)user); }

static void apply_puts_a_function_into_a_chain(void **state)
{
    (void)state;
    int64_t two = 2;
    assert_int64_values(hr_apply(hr_range(4), last_of, &two), HR_I64(2, 3), 2);
}

static void assert_looks_at(const hr_element *e, int rank, int64_t first, int64_t count)
{
    const hr_tensor *tensor = hr_get_at(e, 0);
    assert_int_equal(tensor->shape.rank, rank);
    assert_int_equal(tensor->count, count);
    assert_int_equal(*(const int64_t *)tensor->data, first);
}

/* One row's tensor is renewed where it lies, but only by another single row's. */
static void an_element_looks_at_rows_one_by_one_and_side_by_side(void **state)
{
    (void)state;
    int64_t number[] = {10, 11, 12, 13};
    int32_t batch[] = {0, 1, 4};
    hr_column column = {.values = number};
    hr_columns rows = {.schema = &hr_int64_schema, .elements = 4, .rows = 4, .column = &column};
    hr_element e;
    assert_status(hr__element_open(&e, &hr_int64_schema, NULL), HR_OK);
    hr__element_set(&e, &rows, 0, 1);
    assert_looks_at(&e, 0, 11, 1);
    hr__element_set(&e, &rows, 0, 3);
    assert_looks_at(&e, 0, 13, 1);
    hr__element_set_rows(&e, &rows, 1, 4);
    assert_looks_at(&e, 1, 11, 3);
    hr__element_set(&e, &rows, 0, 2);
    assert_looks_at(&e, 0, 12, 1);
    rows.levels = 1;
    rows.elements = 2;
    rows.splits[0] = batch;
    hr__element_set(&e, &rows, 1, 0);
    assert_looks_at(&e, 1, 10, 1);
    hr__element_close(&e);
}

static void units_of_any_number_of_rows_fit_into_memory(void **state)
{
    (void)state;
    const int64_t rows[] = {INT64_MAX, INT64_MAX / 2 + 1, INT64_MIN, -1};
    for (int i = 0; i < 4; i++) {
        hr_iterator *it = iterate(hr_range(INT64_MAX), (way){.unit_rows = rows[i]});
        assert_gives(it, 0);
        assert_gives(it, 1);
        hr_iterator_free(it);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dataset_that_is_null_fails_as_any_other),
        cmocka_unit_test(peek_leaves_the_element_where_it_is),
        cmocka_unit_test(a_saved_state_does_not_know_what_was_peeked),
        cmocka_unit_test(without_workers_next_within_does_a_unit_at_a_time),
        cmocka_unit_test(an_iterator_begins_anew_with_another_dataset),
        cmocka_unit_test(a_reset_leaks_nothing_whatever_fails),
        cmocka_unit_test(runs_by_number_are_the_epochs_of_repeat),
        cmocka_unit_test(a_numbered_run_begins_anywhere),
        cmocka_unit_test(a_reset_gives_a_further_epoch_by_the_seed_of_the_first),
        cmocka_unit_test(an_epoch_that_no_repeat_has_is_refused),
        cmocka_unit_test(whole_datasets_are_counted_and_reduced),
        cmocka_unit_test(a_single_element_is_the_only_one),
        cmocka_unit_test(an_element_looks_at_rows_one_by_one_and_side_by_side),
        cmocka_unit_test(apply_puts_a_function_into_a_chain),
        cmocka_unit_test(units_of_any_number_of_rows_fit_into_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
