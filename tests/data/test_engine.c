/* The engine as its user meets it: what conformance cannot ask of every operator. */
#include "tests/data/ops/wide_rows.h"
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

enum { FILES = 4, RECORDS = 3000, LONGEST = 100000 };

/* ---- files of records: "FILE RECORD ....", of all lengths: none, some steps of a cell, more than a cell may have
 * ---- */

static int64_t record_size(int file, int64_t record)
{
    if (record == 17) return LONGEST;
    return record % 50 == 3 ? 0 : 12 + (file * 131 + record * 17) % 400;
}

static void fill_record(char *to, int file, int64_t record, int64_t size)
{
    memset(to, 'a' + (int)(record % 26), (size_t)size);
    char head[32];
    snprintf(head, sizeof head, "%03d %07d ", file % 1000, (int)(record % 10000000));
    if (size) memcpy(to, head, 12);
}

static void write_records(void)
{
    static char bytes[LONGEST];
    char path[32];
    for (int f = 0; f < FILES; f++) {
        hr_error err;
        hr_record_writer *writer;
        snprintf(path, sizeof path, "engine-%d.tfrecord", f % 10);
        assert_ok(hr_record_writer_open(path, NULL, &writer, &err), &err);
        for (int64_t r = 0; r < RECORDS; r++) {
            fill_record(bytes, f, r, record_size(f, r));
            assert_ok(hr_record_write(writer, bytes, (size_t)record_size(f, r), &err), &err);
        }
        assert_ok(hr_record_writer_commit(writer, &err), &err);
    }
}

static int write_files(void **state)
{
    (void)state;
    write_records();
    hr_set_threads(8);
    return 0;
}

static hr_dataset *records(void)
{
    return hr_interleave(hr_list_files("engine-*.tfrecord", .shuffle = true), hr_tfrecord_fn, NULL, .cycle_length = 4);
}

static hr_iterator *start(hr_dataset *ds, int workers) { return iterate(ds, (way){.workers = workers}); }

/* Elements until the end or `most`; the status met last. */
static hr_status drain(hr_iterator *it, int64_t max, int64_t *count)
{
    const hr_element *e;
    hr_status st = HR_OK;
    for (*count = 0; *count < max && (st = hr_next(it, &e)) == HR_OK; ++*count) {}
    return st;
}

/* ---- bytes ---- */

static void check_record(const hr_view *v)
{
    static char want[LONGEST];
    if (v->size == 0) return;
    const int file = atoi(v->data), record = atoi(v->data + 4);
    assert_int_equal(v->size, record_size(file, record));
    fill_record(want, file, record, v->size);
    assert_memory_equal(v->data, want, (size_t)v->size);
}

static void check_records(hr_iterator *it, int64_t records)
{
    const hr_element *e;
    int64_t rows = 0;
    hr_status st;
    while ((st = hr_next(it, &e)) == HR_OK) {
        const hr_tensor *t = hr_get(e, "value");
        for (int64_t i = 0; i < t->count; i++) check_record((const hr_view *)t->data + i);
        rows += t->count;
    }
    assert_status(st, HR_END);
    assert_int_equal(rows, records);
    hr_iterator_free(it);
}

static void strings_of_every_length_live_until_the_next_element(void **state)
{
    (void)state;
    for (int workers = 0; workers < 3; workers++) {
        check_records(start(hr_batch(hr_shuffle(records(), 500), 32), workers), FILES * RECORDS);
        hr_dataset *runs = hr_repeat(hr_flat_map(hr_list_files("engine-*.tfrecord"), hr_tfrecord_fn, NULL),
                                     .count = HR_I64(2)); /* whole units pass, without a copy */
        check_records(start(hr_batch(hr_shuffle(runs, 500), 32), workers), 2 * FILES * RECORDS);
    }
}

/* ---- memory ---- */

static hr_status twice(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    *(int64_t *)hr_set(out, "value") = 2 * *(const int64_t *)hr_get(in, "value")->data;
    return HR_OK;
}

static void assert_settles(hr_dataset *ds, int64_t warm, int64_t measured, int64_t at_most)
{
    int64_t count;
    hr_iterator *it = iterate(ds, (way){.unit_rows = 256}); /* the size of units follows from timing otherwise */
    assert_status(drain(it, warm, &count), HR_OK);
    fail_allocation(INT64_MAX);
    assert_status(drain(it, measured, &count), HR_OK);
    assert_in_range(allocations_since(), 0, at_most);
    hr_iterator_free(it);
}

/* A shuffle is asked now and then what it still needs, and takes memory to tell. */
static void a_settled_pipeline_allocates_nothing(void **state)
{
    (void)state;
    assert_settles(hr_batch(hr_range(1 << 22), 64), 2000, 2000, 0);
    assert_settles(hr_batch(hr_map(hr_shuffle(hr_range(1 << 22), 100), twice, NULL), 64), 8000, 4000, 4);
    assert_settles(hr_take(hr_range(1 << 22), 1 << 21), 100000, 100000, 0);
}

/* From the middle of the second epoch, of 400 batches: the rows are there, in memory or in a file. */
static void a_settled_pipeline_over_cached_rows_allocates_nothing(void **state)
{
    (void)state;
    remove("settled.rows");
    for (int in_file = 0; in_file < 2; in_file++) {
        hr_dataset *ds = wide_rows(hr_range(400 * 32));
        ds = in_file ? hr_cache(ds, .file = "settled.rows") : hr_cache(ds);
        assert_settles(hr_repeat(hr_batch(hr_shuffle(ds, 1000), 32), .count = HR_I64(2)), 600, 100, 4);
    }
}

static int64_t reported(hr_iterator *it, const char *what)
{
    for (const hr_report_line *line = hr_iterator_report(it); line->what; line++)
        if (strcmp(line->what, what) == 0) return line->count;
    return -1;
}

static void a_budget_too_small_is_reported_and_one_that_is_large_enough_is_not(void **state)
{
    (void)state;
    int64_t count;
    hr_iterator *it = iterate(hr_batch(hr_shuffle(records(), 2000), 64), (way){.workers = 2, .budget = 64 << 10});
    assert_status(drain(it, INT64_MAX, &count), HR_END);
    assert_more(reported(it, "budget.exceeded_bytes"), 0);
    hr_iterator_free(it);
    it = iterate(hr_batch(hr_shuffle(records(), 2000), 64), (way){.workers = 2, .budget = 256 << 20});
    assert_status(drain(it, INT64_MAX, &count), HR_END);
    assert_int_equal(reported(it, "budget.exceeded_bytes"), -1);
    hr_iterator_free(it);
}

/* ---- states ---- */

static void the_state_of_interleaved_files_in_a_shuffle_is_below_a_kibibyte(void **state)
{
    (void)state;
    int64_t count;
    size_t size;
    hr_error err;
    void *saved;
    hr_iterator *it = start(hr_batch(hr_shuffle(records(), 10000), 32), 2);
    assert_status(drain(it, 100, &count), HR_OK);
    assert_ok(hr_iterator_save(it, &saved, &size, &err), &err);
    if (size > 1024) fail_msg("%zu bytes", size);
    hr_free(saved);
    hr_iterator_free(it);
}

static int64_t first_value(const hr_element *e) { return *(const int64_t *)hr_get_at(e, 0)->data; }

/* ---- errors ---- */

static hr_status refuse_record(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    const hr_view *v = hr_get(in, "value")->data;
    if (v->size && memcmp(v->data, user, 12) == 0) return hr_call_fail(call, HR_INVALID_ARGUMENT, "not this one");
    return hr_set_string(out, "value", v->data, v->size);
}

static void an_error_after_a_shuffle_names_file_and_offset_of_its_record(void **state)
{
    (void)state;
    for (int workers = 0; workers < 3; workers++) {
        int64_t count;
        const hr_element *e;
        hr_dataset *ds = hr_map(hr_shuffle(records(), 700), refuse_record, (void *)(uintptr_t) "002 0000020 ");
        hr_iterator *it = start(hr_batch(ds, 16), workers);
        assert_status(drain(it, INT64_MAX, &count), HR_INVALID_ARGUMENT);
        const hr_error *err = hr_iterator_error(it);
        assert_text_contains(err->file, "engine-2.tfrecord");
        assert_more(err->offset, LONGEST);
        assert_text_contains(err->text, "not this one");
        assert_status(hr_next(it, &e), HR_INVALID_ARGUMENT); /* it is final */
        hr_iterator_free(it);
    }
}

static hr_status fail_at_500(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    if (first_value(in) == 500) return hr_call_fail(call, HR_OUT_OF_RANGE, "500");
    return twice(in, out, call, user);
}

static bool is_positive(const hr_element *in, void *user)
{
    (void)user;
    return first_value(in) > 0;
}

static void rows_before_an_error_are_delivered_in_a_short_batch(void **state)
{
    (void)state;
    for (int workers = 0; workers < 3; workers++) {
        const hr_element *e;
        hr_status st;
        int64_t rows = 0, last = 0;
        hr_iterator *it = start(hr_batch(hr_map(hr_range(1000), fail_at_500, NULL), 64), workers);
        while ((st = hr_next(it, &e)) == HR_OK) rows += last = hr_get(e, "value")->count;
        assert_status(st, HR_OUT_OF_RANGE);
        assert_int_equal(rows, 500);
        assert_int_equal(last, 500 % 64);
        hr_iterator_free(it);
    }
}

static void a_batch_that_an_error_cut_short_is_never_without_the_error(void **state)
{
    (void)state;
    for (int workers = 0; workers < 3; workers++) {
        int64_t count;
        hr_dataset *ds = hr_batch(hr_map(hr_range(1000), fail_at_500, NULL), 64);
        hr_iterator *it = start(hr_take(hr_take(ds, 8), 8), workers);
        assert_status(drain(it, INT64_MAX, &count), HR_OUT_OF_RANGE);
        assert_int_equal(count, 8);
        hr_iterator_free(it);
        ds = hr_batch(hr_filter(hr_map(hr_range(1000), fail_at_500, NULL), is_positive, NULL), 64);
        it = start(hr_take(ds, 8), workers);
        assert_status(drain(it, INT64_MAX, &count), HR_OUT_OF_RANGE);
        hr_iterator_free(it);
    }
}

static void a_failed_dataset_gives_its_error_at_the_first_element(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = start(hr_batch(hr_take(hr_batch(hr_range(9), 0), 3), 2), 1);
    assert_status(hr_next(it, &e), HR_INVALID_ARGUMENT);
    assert_string_equal(hr_iterator_error(it)->kind, "batch.size");
    hr_iterator_free(it);
}

/* ---- cancel ---- */

static hr_status slow(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    uv_sleep(1);
    return twice(in, out, call, user);
}

typedef struct canceller {
    hr_iterator *it;
    atomic_int calls; /* of the function that is slow */
} canceller;

static hr_status slow_and_counted(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    atomic_fetch_add(&((canceller *)user)->calls, 1);
    return slow(in, out, call, NULL);
}

static void cancel_when_busy(void *user)
{
    canceller *c = user;
    while (atomic_load(&c->calls) == 0) uv_sleep(1);
    hr_cancel(c->it);
}

static void cancel_ends_a_call_that_waits(void **state)
{
    enum { HOURS = 1 << 22 }; /* of a millisecond a row */
    (void)state;
    for (int workers = 0; workers < 3; workers++) {
        int64_t count;
        uv_thread_t thread;
        canceller c = {.calls = 0};
        c.it = start(hr_batch(hr_map(hr_range(HOURS), slow_and_counted, &c), HOURS), workers);
        assert_int_equal(uv_thread_create(&thread, cancel_when_busy, &c), 0);
        assert_status(drain(c.it, INT64_MAX, &count), HR_CANCELLED);
        uv_thread_join(&thread);
        hr_iterator_free(c.it);
    }
}

/* ---- sharing ---- */

static void count_to_the_end(void *count)
{
    hr_iterator *it = hr_iterate(hr_batch(hr_map(hr_shuffle(hr_range(20000), 300), twice, NULL), 100));
    drain(it, INT64_MAX, count);
    hr_iterator_free(it);
}

static void iterators_of_several_threads_share_the_workers(void **state)
{
    (void)state;
    uv_thread_t thread[4];
    int64_t count[4];
    for (int i = 0; i < 4; i++) assert_int_equal(uv_thread_create(&thread[i], count_to_the_end, &count[i]), 0);
    for (int i = 0; i < 4; i++) {
        uv_thread_join(&thread[i]);
        assert_int_equal(count[i], 200);
    }
}

static void a_dataset_may_be_iterated_twice_at_once(void **state)
{
    (void)state;
    const hr_element *a, *b;
    hr_dataset *ds = hr_batch(hr_shuffle(hr_range(5000), 300, .seed = 4), 10);
    hr_iterator *one = start(hr_dataset_ref(ds), 2), *two = start(ds, 1);
    hr_status st;
    while ((st = hr_next(one, &a)) == HR_OK) {
        assert_status(hr_next(two, &b), HR_OK);
        assert_memory_equal(hr_get_at(a, 0)->data, hr_get_at(b, 0)->data, 10 * sizeof(int64_t));
    }
    assert_status(st, HR_END);
    assert_status(hr_next(two, &b), HR_END);
    hr_iterator_free(one);
    hr_iterator_free(two);
}

/* ---- batches of batches, maps over batches ---- */

static hr_status sum_batch(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    const hr_tensor *t = hr_get(in, "value");
    const int64_t *from = t->data;
    int64_t *to = hr_set(out, "value"), sum = 0;
    for (int64_t i = 0; i < t->count; i++) sum += from[i];
    for (int64_t i = 0; i < t->count; i++) to[i] = sum;
    return t->shape.rank == 1 ? HR_OK : HR_INTERNAL;
}

static void a_map_over_batches_sees_whole_ones(void **state)
{
    (void)state;
    for (int64_t unit = 1; unit < 40; unit += 13) {
        const hr_element *e;
        hr_dataset *ds = hr_batch(hr_map(hr_batch(hr_range(12), 3), sum_batch, NULL), 2);
        hr_iterator *it = iterate(ds, (way){.workers = 1, .unit_rows = unit});
        assert_status(hr_next(it, &e), HR_OK);
        const hr_tensor *t = hr_get(e, "value");
        const int64_t want[] = {3, 3, 3, 12, 12, 12};
        assert_int_equal(t->shape.rank, 2);
        assert_int_equal(t->shape.dims[0], 2);
        assert_int_equal(t->shape.dims[1], 3);
        assert_memory_equal(t->data, want, sizeof want);
        hr_iterator_free(it);
    }
}

static void a_batch_of_unequal_batches_is_refused(void **state)
{
    (void)state;
    const hr_element *e;
    hr_iterator *it = start(hr_batch(hr_batch(hr_range(8), 3), 3), 0);
    assert_status(hr_next(it, &e), HR_INVALID_ARGUMENT);
    assert_string_equal(hr_iterator_error(it)->kind, "batch.uneven");
    hr_iterator_free(it);
}

/* ---- explain ---- */

static void explain_names_the_operators_and_the_bottleneck(void **state)
{
    (void)state;
    int64_t count;
    hr_iterator *it = start(hr_batch(hr_map(hr_take(hr_range(3000), 30), slow, NULL), 10), 1);
    assert_status(drain(it, INT64_MAX, &count), HR_END);
    char *text = hr_explain(it);
    assert_non_null(text);
    assert_text_contains(text, "range(0, 3000) > take(30)");
    assert_text_contains(text, "map");
    assert_text_contains(text, "bottleneck");
    hr_free(text);
    hr_iterator_free(it);
}

static void assert_says(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("\"%s\" is not in:\n%s", part, text);
}

static void explain_counts_errors(void **state)
{
    (void)state;
    int64_t count;
    hr_iterator *it = start(hr_map(hr_range(1000), fail_at_500, NULL), 0);
    assert_status(drain(it, INT64_MAX, &count), HR_OUT_OF_RANGE);
    char *text = hr_explain(it);
    assert_says(text, "errors");
    assert_says(text, " 1  range(0, 1000) > map");
    hr_free(text);
    hr_iterator_free(it);
}

static void a_dataset_is_explained_before_it_runs(void **state)
{
    (void)state;
    hr_dataset *ds = hr_interleave(hr_list_files("nowhere-*"), hr_tfrecord_fn, NULL);
    ds = hr_batch(hr_parse_example(hr_shuffle(ds, 100), HR_PARSE_SPEC({.key = "age", .dtype = HR_INT64})), 8);
    char *text = hr_explain_dataset(ds);
    assert_says(text, "list_files(nowhere-*) > interleave(cycle_length 4, block_length 1) > shuffle(100) > "
                      "batch(8) > parse_example(features 1)\n");
    assert_says(text, "gives age: int64 [?]");
    assert_says(text, "rewritten: parse_example is written below batch and done above it");
    hr_free(text);
    ds = hr_options(hr_prefetch(hr_take(ds, 3), 2), .unordered = true, .seed = 7);
    text = hr_explain_dataset(ds);
    assert_says(text, "take(3)\n  gives");
    assert_says(text, "\n  under options(unordered, seed 7)\n  under prefetch(2)\n");
    hr_free(text);
    hr_dataset_unref(ds);
    ds = hr_batch(hr_range(9), 2);
    text = hr_explain_dataset(ds);
    assert_says(text, "; 5 elements\n");
    hr_free(text);
    hr_dataset_unref(ds);
    ds = hr_batch(hr_range(9), 0);
    text = hr_explain_dataset(ds);
    assert_says(text, "cannot run: batch: ");
    hr_free(text);
    hr_dataset_unref(ds);
}

/* ---- trace ---- */

static int64_t check_trace(const cJSON *top)
{
    int64_t rows = 0;
    const cJSON *event;
    cJSON_ArrayForEach(event, cJSON_GetObjectItem(top, "traceEvents"))
    {
        const char *phase = cJSON_GetStringValue(cJSON_GetObjectItem(event, "ph"));
        if (strcmp(phase, "X") != 0) continue;
        assert_at_least(cJSON_GetObjectItem(event, "dur")->valuedouble, 0);
        const cJSON *args = cJSON_GetObjectItem(event, "args");
        const char *stage = cJSON_GetStringValue(cJSON_GetObjectItem(args, "stage"));
        const bool work = strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(event, "name")), "work") == 0;
        if (work && strcmp(stage, "range > batch > map") == 0) rows += cJSON_GetObjectItem(args, "rows")->valueint;
    }
    return rows;
}

static void a_trace_has_every_unit(void **state)
{
    (void)state;
    for (int workers = 0; workers < 3; workers++) {
        int64_t count;
        hr_iterator *it =
            hr_iterate(hr_batch(hr_map(hr_range(5000), twice, NULL), 10), .workers = &workers, .trace = "trace.json");
        assert_status(drain(it, INT64_MAX, &count), HR_END);
        hr_iterator_free(it);
        size_t size;
        char *text = read_whole_file("trace.json", &size);
        cJSON *top = cJSON_ParseWithLength(text, size);
        assert_non_null(top);
        assert_int_equal(check_trace(top), 5000);
        cJSON_Delete(top);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_of_every_length_live_until_the_next_element),
        cmocka_unit_test(a_settled_pipeline_allocates_nothing),
        cmocka_unit_test(a_settled_pipeline_over_cached_rows_allocates_nothing),
        cmocka_unit_test(a_budget_too_small_is_reported_and_one_that_is_large_enough_is_not),
        cmocka_unit_test(the_state_of_interleaved_files_in_a_shuffle_is_below_a_kibibyte),
        cmocka_unit_test(an_error_after_a_shuffle_names_file_and_offset_of_its_record),
        cmocka_unit_test(rows_before_an_error_are_delivered_in_a_short_batch),
        cmocka_unit_test(a_batch_that_an_error_cut_short_is_never_without_the_error),
        cmocka_unit_test(a_failed_dataset_gives_its_error_at_the_first_element),
        cmocka_unit_test(cancel_ends_a_call_that_waits),
        cmocka_unit_test(iterators_of_several_threads_share_the_workers),
        cmocka_unit_test(a_dataset_may_be_iterated_twice_at_once),
        cmocka_unit_test(a_map_over_batches_sees_whole_ones),
        cmocka_unit_test(a_batch_of_unequal_batches_is_refused),
        cmocka_unit_test(explain_names_the_operators_and_the_bottleneck),
        cmocka_unit_test(explain_counts_errors),
        cmocka_unit_test(a_dataset_is_explained_before_it_runs),
        cmocka_unit_test(a_trace_has_every_unit),
    };
    return cmocka_run_group_tests(tests, write_files, NULL);
}
