/* What a pipeline holds stays within its budget, whatever it holds it in; and how far it runs ahead follows from
 * need. */
#include "data/iterator.h"
#include "tests/data/conformance.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { FILES = 16, RECORDS = 60, LARGE = 50000, MIB = 1 << 20 };

static void write_one(const char *path)
{
    static char record[LARGE];
    hr_error err;
    hr_record_writer *writer;
    memset(record, 'x', sizeof record);
    assert_ok(hr_record_writer_open(path, NULL, &writer, &err), &err);
    for (int i = 0; i < RECORDS; i++) assert_ok(hr_record_write(writer, record, sizeof record, &err), &err);
    assert_ok(hr_record_writer_commit(writer, &err), &err);
}

static int write_files(void **state)
{
    (void)state;
    hr_set_threads(4);
    for (int f = 0; f < FILES; f++) {
        char path[32];
        snprintf(path, sizeof path, "large-%02d.tfrecord", f % 100);
        write_one(path);
    }
    return 0;
}

static hr_dataset *side_by_side(int64_t cycle)
{
    return hr_interleave(hr_list_files("large-*.tfrecord"), hr_tfrecord_fn, NULL, .cycle_length = cycle);
}

static int64_t drain(hr_iterator *it, int pause_every)
{
    const hr_element *e;
    int64_t rows = 0, elements = 0;
    hr_status st;
    while ((st = hr_next(it, &e)) == HR_OK) {
        rows += hr_get_at(e, 0)->count;
        if (pause_every && ++elements % pause_every == 0) uv_sleep(1);
    }
    assert_status(st, HR_END);
    return rows;
}

/* The most that was held at once, of a run within `budget`. */
static size_t peak_of(hr_dataset *ds, int64_t rows, size_t budget, int pause_every)
{
    hr_iterator *it = iterate(ds, (way){.workers = 3, .budget = budget});
    assert_int_equal(drain(it, pause_every), rows);
    const size_t peak = it->engine.store.peak;
    hr_iterator_free(it);
    return peak;
}

static void assert_holds_no_more(hr_dataset *ds, int64_t rows, size_t budget, int pause_every)
{
    const size_t peak = peak_of(ds, rows, budget, pause_every);
    if (peak > budget) fail_msg("%zu bytes were held of a budget of %zu", peak, budget);
}

static void assert_stays_within(hr_dataset *ds, size_t budget, int pause_every)
{
    assert_holds_no_more(ds, FILES * RECORDS, budget, pause_every);
}

static size_t peak_so_far(hr_iterator *it)
{
    hr__engine_lock(&it->engine);
    const size_t peak = it->engine.store.peak;
    hr__engine_unlock(&it->engine);
    return peak;
}

/* Without a budget its readers run ahead of a consumer that waits for them: long enough on any machine. */
static void assert_would_hold_more_than(size_t bytes, hr_dataset *ds)
{
    enum { PATIENCE_MS = 20000 };
    const hr_element *e;
    hr_iterator *it = iterate(ds, (way){.workers = 3});
    assert_status(hr_next(it, &e), HR_OK);
    for (int ms = 0; ms < PATIENCE_MS && peak_so_far(it) <= bytes; ms++) uv_sleep(1);
    assert_more(peak_so_far(it), bytes);
    hr_iterator_free(it);
}

static void a_shuffle_of_large_records_stays_within_the_budget(void **state)
{
    (void)state;
    assert_stays_within(hr_batch(hr_shuffle(side_by_side(2), 60), 4), 16 * MIB, 0);
}

static void a_wide_interleave_stays_within_the_budget(void **state)
{
    (void)state;
    assert_would_hold_more_than(12 * MIB, side_by_side(16));
    assert_stays_within(side_by_side(16), 12 * MIB, 0);
}

static void a_slow_consumer_lets_the_pipeline_hold_no_more(void **state)
{
    (void)state;
    assert_stays_within(hr_batch(side_by_side(4), 8), 8 * MIB, 4);
}

static void a_budget_too_small_for_one_unit_works_and_is_told(void **state)
{
    (void)state;
    for (int workers = 0; workers < 4; workers++) {
        hr_iterator *it = iterate(hr_batch(hr_shuffle(side_by_side(3), 20), 4), (way){.workers = workers, .budget = 1});
        assert_int_equal(drain(it, 0), FILES * RECORDS);
        char *text = hr_explain(it);
        assert_text_contains(text, "The budget is too small");
        hr_free(text);
        hr_iterator_free(it);
    }
}

/* ---- strings that functions make ---- */

static hr_status make_text(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    static const char text[1000];
    (void)in, (void)call, (void)user;
    return hr_set_string(out, "value", text, sizeof text);
}

/* Of a unit the last row leaves a shuffle long after most others: with strings as old as that it is 18 MB. */
static void strings_of_a_map_are_held_no_longer_than_their_rows(void **state)
{
    (void)state;
    enum { ROWS = 20000, BUFFER = 2000 };
    hr_dataset *ds = hr_map(hr_range(ROWS), make_text, NULL, .output = &hr_string_schema);
    assert_holds_no_more(hr_batch(hr_shuffle(ds, BUFFER), 100), ROWS, 9 * MIB, 0);
}

/* ---- rows in a shuffle ---- */

/* From `smallest` on, each as much larger than the one before as makes the last one the largest. */
static void write_growing(const char *path, int64_t smallest, int64_t largest, int64_t records)
{
    static char record[2 * MIB];
    hr_error err;
    hr_record_writer *writer;
    assert_ok(hr_record_writer_open(path, NULL, &writer, &err), &err);
    for (int64_t i = 0; i < records; i++) {
        const int64_t size = smallest + (largest - smallest) * i / records;
        assert_ok(hr_record_write(writer, record, (size_t)size, &err), &err);
    }
    assert_ok(hr_record_writer_commit(writer, &err), &err);
}

static hr_status make_vector(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    enum { VALUES = 1000 };
    (void)call, (void)user;
    int64_t *to = hr_set(out, "vector");
    for (int i = 0; i < VALUES; i++) to[i] = *(const int64_t *)hr_get_at(in, 0)->data;
    return HR_OK;
}

/* Of a unit of a hundred rows the last one leaves a shuffle after five times as many draws as it has rows. */
static void numbers_are_held_no_longer_than_their_rows(void **state)
{
    (void)state;
    enum { ROWS = 8000, BUFFER = 1000 };
    const hr_field field = {.name = "vector", .dtype = HR_INT64, .shape = HR_SHAPE(1000)};
    hr_dataset *ds = hr_map(hr_range(ROWS), make_vector, NULL, .output = &(hr_schema){.fields = 1, .field = &field});
    hr_iterator *it = iterate(hr_shuffle(ds, BUFFER), (way){.workers = 3, .budget = 8 * MIB});
    assert_int_equal(drain(it, 0), ROWS * 1000);
    assert_less(it->engine.store.peak, 20 * MIB);
    hr_iterator_free(it);
}

static void short_strings_are_held_no_longer_than_their_rows(void **state)
{
    (void)state;
    enum { ROWS = 200000, BUFFER = 20000, A_ROW = 250 };
    write_growing("short.records", 10, 10, ROWS);
    hr_dataset *ds = hr_batch(hr_shuffle(hr_tfrecord("short.records"), BUFFER), 100);
    assert_holds_no_more(ds, ROWS, MIB + BUFFER * A_ROW, 0);
}

/* What a row of 10 bytes takes beside its span, of 16 bytes: itself, where it was read, where its string lies, 4 bytes
 * of the cell. No more of it after many draws than at first. */
static void assert_short_rows_take_little(hr_dataset *in, int64_t rows, int64_t buffer)
{
#if HR__UNDER_TSAN
    enum { A_ROW = 30 + STRING_SLACK, UNITS = 4 * MIB };
#else
    enum { A_ROW = 30, UNITS = 4 * MIB };
#endif
    const size_t budget = UNITS + (size_t)buffer * A_ROW;
    hr_iterator *it =
        iterate(hr_batch(hr_shuffle(in, buffer), 100), (way){.workers = 3, .budget = budget, .unit_rows = 200});
    assert_int_equal(drain(it, 0), rows);
    assert_at_most(it->engine.store.peak, budget);
    hr_iterator_free(it);
}

static void a_short_row_that_waits_takes_little_beside_its_bytes(void **state)
{
    (void)state;
    enum { ROWS = 600000, LARGE_BUFFER = 500000, BUFFER = 100000 };
    write_growing("short-0.records", 10, 10, ROWS / 2);
    write_growing("short-1.records", 10, 10, ROWS / 2);
    assert_short_rows_take_little(hr_tfrecord("short-?.records"), ROWS, LARGE_BUFFER);
    assert_short_rows_take_little(hr_tfrecord("short-?.records"), ROWS, BUFFER);
    hr_dataset *files = hr_list_files("short-?.records");
    assert_short_rows_take_little(hr_interleave(files, hr_tfrecord_fn, NULL, .cycle_length = 2), ROWS, BUFFER);
}

/* ---- units of large rows ---- */

static hr_status make_large(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    static const char text[MIB];
    (void)in, (void)call, (void)user;
    return hr_set_string(out, "value", text, sizeof text);
}

static void rows_are_found_large_before_a_unit_has_many(void **state)
{
    (void)state;
    enum { ROWS = 40 };
    hr_dataset *ds = hr_map(hr_range(ROWS), make_large, NULL, .output = &hr_string_schema);
    assert_less(peak_of(ds, ROWS, 8 * MIB, 0), 16 * MIB);
}

static void a_unit_of_unbatch_is_as_large_as_its_batches(void **state)
{
    (void)state;
    hr_dataset *ds = hr_batch(hr_unbatch(hr_batch(side_by_side(2), 20)), 20);
    assert_less(peak_of(ds, FILES * RECORDS, 8 * MIB, 0), 10 * MIB); /* 11 and more, if it counts rows */
}

/* Units of thousands of rows were best, and then each takes as much as all of them. */
static void a_unit_of_large_rows_does_not_wait_for_more(void **state)
{
    (void)state;
    enum { SMALL = 6000, GROWN = 40 };
    write_growing("sudden-0.records", 100, 100, SMALL);
    write_growing("sudden-1.records", MIB, MIB, GROWN);
    hr_dataset *const in[] = {hr_tfrecord("sudden-?.records"), hr_tfrecord("sudden-?.records")};
    assert_holds_no_more(hr_zip(in, 2), SMALL + GROWN, 16 * MIB, 0);
}

/* ---- memory that is free again ---- */

/* All that a run takes from the allocator: the budget, what waits in the shuffle, and some for each thread. */
static void assert_takes_no_more(int64_t smallest, int64_t largest, int64_t records, int64_t buffer, size_t budget)
{
    enum { BESIDES = 16 * MIB };
    write_growing("growing.records", smallest, largest, records);
    watch_memory();
    hr_iterator *it =
        iterate(hr_shuffle(hr_tfrecord("growing.records"), buffer), (way){.workers = 3, .budget = budget});
    assert_int_equal(drain(it, 0), records);
    hr_iterator_free(it);
    const int64_t max = (int64_t)budget + buffer * largest + BESIDES;
    if (most_memory() > max) fail_msg("%" PRId64 " bytes were taken, %" PRId64 " expected", most_memory(), max);
}

static void what_large_rows_leave_behind_is_given_back(void **state)
{
    (void)state;
    assert_takes_no_more(16 << 10, MIB, 150, 4, 4 * MIB);
}

static void what_small_rows_leave_behind_is_given_back(void **state)
{
    (void)state;
    assert_takes_no_more(100, 4000, 20000, 300, 4 * MIB);
}

/* ---- before the first row ---- */

/* What a row needs comes with it: the units that workers read ahead, and the cells that rows of a shuffle wait in. */
static void assert_take_little(hr_dataset *ds, int workers)
{
    enum { ITERATORS = 100, EACH = 24 << 10, PATIENCE_MS = 5 };
    hr_iterator *it[ITERATORS];
    watch_memory();
    for (int i = 0; i < ITERATORS; i++) it[i] = iterate(hr_dataset_ref(ds), (way){.workers = workers});
    uv_sleep(PATIENCE_MS);
    assert_at_most(most_memory(), ITERATORS * EACH);
    for (int i = 0; i < ITERATORS; i++) hr_iterator_free(it[i]);
    hr_dataset_unref(ds);
}

static void many_iterators_take_little_before_their_first_row(void **state)
{
    (void)state;
    const int workers[] = {0, 1, 2, 8};
    for (int i = 0; i < 4; i++) {
        assert_take_little(hr_batch(hr_shuffle(side_by_side(3), 1000), 32), workers[i]);
        assert_take_little(hr_tfrecord("large-*.tfrecord"), workers[i]);
    }
}

static void with_a_warm_start_rows_are_read_ahead_of_the_first_call(void **state)
{
    (void)state;
    enum { PATIENCE_MS = 20000 };
    const int workers = 1;
    hr_iterator *it = hr_iterate(hr_tfrecord("large-*.tfrecord"), .workers = &workers, .warm_start = true);
    for (int ms = 0; ms < PATIENCE_MS && peak_so_far(it) < LARGE; ms++) uv_sleep(1);
    assert_at_least(peak_so_far(it), LARGE);
    assert_int_equal(drain(it, 0), FILES * RECORDS);
    hr_iterator_free(it);
}

/* ---- windows ---- */

static stage *find_stage(hr_iterator *it, const char *name)
{
    for (int i = 0; i < it->engine.stages; i++)
        if (strcmp(it->engine.stage[i]->top->ds->op->name, name) == 0) return it->engine.stage[i];
    fail_msg("no stage of %s", name);
    return NULL;
}

static void a_window_grows_when_what_was_full_is_found_empty(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(hr_batch(hr_range(1 << 20), 16), (way){.workers = 2});
    assert_status(hr_next(it, &e), HR_OK);
    hr__engine_lock(&it->engine);
    stage *s = find_stage(it, "batch");
    s->window = 1; /* hr_next may have found it empty, and made it wider, already */
    s->was_full = false;
    hr__stage_starves(s); /* it never was full */
    assert_int_equal(s->window, 1);
    for (int i = 0; i < 10; i++) {
        s->was_full = true;
        hr__stage_starves(s);
    }
    assert_int_equal(s->window, s->ring_units);
    assert_more(s->window, 1);
    hr__engine_unlock(&it->engine);
    char *text = hr_explain(it);
    assert_text_contains(text, "runs further ahead than at first");
    hr_free(text);
    hr_iterator_free(it);
}

static void a_window_that_was_asked_for_stays(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = iterate(hr_prefetch(hr_batch(hr_range(1 << 20), 16), 5), (way){.workers = 2});
    assert_status(hr_next(it, &e), HR_OK);
    hr__engine_lock(&it->engine);
    stage *s = find_stage(it, "batch");
    s->was_full = true;
    hr__stage_starves(s);
    assert_int_equal(s->window, 5);
    hr__engine_unlock(&it->engine);
    hr_iterator_free(it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shuffle_of_large_records_stays_within_the_budget),
        cmocka_unit_test(a_wide_interleave_stays_within_the_budget),
        cmocka_unit_test(a_slow_consumer_lets_the_pipeline_hold_no_more),
        cmocka_unit_test(a_budget_too_small_for_one_unit_works_and_is_told),
        cmocka_unit_test(strings_of_a_map_are_held_no_longer_than_their_rows),
        cmocka_unit_test(numbers_are_held_no_longer_than_their_rows),
        cmocka_unit_test(short_strings_are_held_no_longer_than_their_rows),
        cmocka_unit_test(a_short_row_that_waits_takes_little_beside_its_bytes),
        cmocka_unit_test(rows_are_found_large_before_a_unit_has_many),
        cmocka_unit_test(a_unit_of_unbatch_is_as_large_as_its_batches),
        cmocka_unit_test(a_unit_of_large_rows_does_not_wait_for_more),
        cmocka_unit_test(what_large_rows_leave_behind_is_given_back),
        cmocka_unit_test(what_small_rows_leave_behind_is_given_back),
        cmocka_unit_test(many_iterators_take_little_before_their_first_row),
        cmocka_unit_test(with_a_warm_start_rows_are_read_ahead_of_the_first_call),
        cmocka_unit_test(a_window_grows_when_what_was_full_is_found_empty),
        cmocka_unit_test(a_window_that_was_asked_for_stays),
    };
    return cmocka_run_group_tests(tests, write_files, NULL);
}
