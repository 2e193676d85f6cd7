/* Event files, read back. */
#include "tests/io/faults.h"
#include "tests/testing.h"
#include "tests/train/summary/read_events.h"
#include "train/summary/histogram.h"
#include <errno.h>
#include <float.h>
#include <headrace/summary.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static hr_event_writer *open_writer(const char *folder)
{
    hr_event_writer *w;
    hr_error err = {0};
    assert_ok(hr_event_writer_open(folder, &w, &err), &err);
    return w;
}

/* Closes the writer and reads its file. */
static void read_back(hr_event_writer *w, event_list *list)
{
    char path[4096];
    hr_error err = {0};
    snprintf(path, sizeof path, "%s", hr_event_writer_path(w));
    hr_event_writer_free(w);
    assert_ok(read_events(path, list, &err), &err);
}

static void a_file_begins_with_its_version(void **state)
{
    (void)state;
    event_list list;
    read_back(open_writer("version/deeper"), &list);
    assert_int_equal(list.count, 1);
    assert_string_equal(list.event[0]->file_version, "brain.Event:2");
    assert_string_equal(list.event[0]->source_metadata->writer, "headrace");
    assert_more(list.event[0]->wall_time, 1.6e9);
    free_events(&list);
}

static void writers_of_one_folder_have_files_of_their_own(void **state)
{
    (void)state;
    hr_event_writer *a = open_writer("two"), *b = open_writer("two");
    assert_string_not_equal(hr_event_writer_path(a), hr_event_writer_path(b));
    hr_event_writer_free(a);
    hr_event_writer_free(b);
}

static void scalars_of_one_step_share_an_event(void **state)
{
    (void)state;
    event_list list;
    hr_error err = {0};
    float loss = 0.5f, nan = NAN;
    hr_event_writer *w = open_writer("scalars");
    hr_summary_value value[] = {{.tag = "loss", .values = &loss, .count = 1},
                                {.tag = "odd", .values = &nan, .count = 1}};
    assert_ok(hr_event_summary(w, value, 2, 7, &err), &err);
    assert_ok(hr_event_scalar(w, "alone", 3, 1LL << 40, &err), &err);
    read_back(w, &list);
    assert_int_equal(list.count, 3);
    const event *e = list.event[1];
    assert_int_equal(e->step, 7);
    assert_int_equal(e->summary->n_value, 2);
    assert_string_equal(e->summary->value[0]->tag, "loss");
    assert_exactly(e->summary->value[0]->simple_value, 0.5f);
    assert_nan(e->summary->value[1]->simple_value);
    assert_int_equal(list.event[2]->step, 1LL << 40);
    free_events(&list);
}

static void a_histogram_counts_every_value(void **state)
{
    (void)state;
    event_list list;
    hr_error err = {0};
    float values[1000];
    for (int i = 0; i < 1000; i++) values[i] = (float)(i - 300) * 0.01f;
    hr_event_writer *w = open_writer("histogram");
    assert_ok(hr_event_histogram(w, "h", values, 1000, 1, &err), &err);
    assert_ok(hr_event_histogram(w, "none", values, 0, 1, &err), &err);
    read_back(w, &list);
    const Headrace__Proto__Histogram *h = list.event[1]->summary->value[0]->histo;
    double sum = 0;
    for (size_t i = 0; i < h->n_bucket; i++) sum += h->bucket[i];
    assert_exactly(sum, 1000);
    assert_exactly(h->num, 1000);
    assert_exactly(h->min, (double)values[0]);
    assert_exactly(h->max, (double)values[999]);
    for (size_t i = 1; i < h->n_bucket; i++) assert_more(h->bucket_limit[i], h->bucket_limit[i - 1]);
    assert_exactly(list.event[2]->summary->value[0]->histo->min, DBL_MAX);
    free_events(&list);
}

/* TensorFlow's limits, and values on, just below and just above each, of both signs. */
static void a_value_belongs_to_the_first_limit_above_it(void **state)
{
    (void)state;
    enum { MOST = 775 };
    double limit[2 * MOST + 1], v = 1e-12;
    for (int i = 1; i < MOST; i++, v *= 1.1) {
        limit[MOST + i] = v;
        limit[MOST - i] = -v;
    }
    limit[MOST] = 0;
    limit[2 * MOST] = DBL_MAX;
    limit[0] = -DBL_MAX;
    for (int i = 0; i < 2 * MOST; i++) {
        const double near[] = {limit[i], nextafter(limit[i], DBL_MAX), nextafter(limit[i], -DBL_MAX)};
        for (int k = 0; k < 3; k++) {
            hr__histogram h;
            hr_error err = {0};
            int first = 0, used = 0;
            if (!isfinite(near[k])) continue;
            assert_ok(hr__histogram_of(&near[k], 1, &h, &err), &err);
            while (limit[first] <= near[k]) first++;
            while (h.bucket[used] <= 0) used++;
            assert_exactly(h.limit[used], limit[first]);
            hr__histogram_clear(&h);
        }
    }
}

static void a_histogram_of_nan_is_refused_by_name(void **state)
{
    (void)state;
    hr_error err = {0};
    float values[] = {1, NAN};
    hr_event_writer *w = open_writer("nan");
    assert_status(hr_event_histogram(w, "dnn/activation", values, 2, 1, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "summary.histogram");
    assert_text_contains(err.text, "dnn/activation");
    assert_status(hr_event_summary(w, &(hr_summary_value){.tag = "s", .values = values, .count = 2}, 1, 1, &err),
                  HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "summary.scalar");
    hr_event_writer_free(w);
}

static void texts_and_session_logs_are_written(void **state)
{
    (void)state;
    event_list list;
    hr_error err = {0};
    hr_event_writer *w = open_writer("logs");
    assert_ok(hr_event_text(w, "note", "so it is", 2, &err), &err);
    assert_ok(hr_event_session(w, HR_SESSION_CHECKPOINT, "m/model.ckpt", 3, &err), &err);
    assert_ok(hr_event_graph(w, (hr_view){"\x0a\x00", 2}, &err), &err);
    read_back(w, &list);
    const summary_value *note = list.event[1]->summary->value[0];
    assert_string_equal(note->tag, "note");
    assert_string_equal(note->metadata->plugin_data->plugin_name, "text");
    assert_memory_equal(note->tensor->string_val[0].data, "so it is", 8);
    assert_int_equal(list.event[2]->session_log->status, 3);
    assert_string_equal(list.event[2]->session_log->checkpoint_path, "m/model.ckpt");
    assert_int_equal(list.event[3]->graph_def.len, 2);
    free_events(&list);
}

static void a_record_is_in_the_file_as_soon_as_it_is_written(void **state)
{
    (void)state;
    event_list list;
    hr_error err = {0};
    hr_event_writer *w = open_writer("soon");
    for (int i = 0; i < 3; i++) {
        assert_ok(hr_event_scalar(w, "x", (float)i, i, &err), &err);
        assert_ok(read_events(hr_event_writer_path(w), &list, &err), &err);
        assert_int_equal(list.count, i + 2);
        free_events(&list);
    }
    hr_event_writer_free(w);
}

static int events_in(const char *path)
{
    event_list list;
    hr_error err = {0};
    assert_ok(read_events(path, &list, &err), &err);
    const int count = list.count;
    free_events(&list);
    return count;
}

static hr_event_writer *open_waiting(const char *folder, int64_t max_queue, double flush_secs, int64_t max_file_bytes)
{
    hr_event_writer *w;
    hr_error err = {0};
    const hr_event_writer_opts opts = {.struct_size = sizeof opts,
                                       .max_queue = &max_queue,
                                       .flush_secs = &flush_secs,
                                       .filename_suffix = ".v2",
                                       .max_file_bytes = max_file_bytes};
    assert_ok(hr_event_writer_open_with(folder, &opts, &w, &err), &err);
    return w;
}

static void events_wait_until_the_queue_is_full(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_event_writer *w = open_waiting("queue", 2, 1e9, 0);
    assert_text_contains(hr_event_writer_path(w), ".v2");
    const int expected[] = {1, 1, 4, 4};
    for (int i = 0; i < 4; i++) {
        assert_ok(hr_event_scalar(w, "x", 0, i, &err), &err);
        assert_int_equal(events_in(hr_event_writer_path(w)), expected[i]);
    }
    assert_ok(hr_event_writer_flush(w, &err), &err);
    assert_int_equal(events_in(hr_event_writer_path(w)), 5);
    hr_event_writer_free(w);
}

static void events_wait_no_longer_than_they_may(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_event_writer *w = open_waiting("time", 1000, 0.01, 0);
    for (int64_t i = 0; events_in(hr_event_writer_path(w)) == 1; i++)
        assert_ok(hr_event_scalar(w, "x", 0, i, &err), &err);
    hr_event_writer_free(w);
}

static void a_file_that_is_large_is_followed_by_another(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_event_writer *w = open_waiting("roll", 3, 1e9, 300);
    hr_scalar_point *points;
    int64_t count;
    char first[4096];
    snprintf(first, sizeof first, "%s", hr_event_writer_path(w));
    for (int64_t i = 0; i < 100; i++) assert_ok(hr_event_scalar(w, "x", (float)i, i, &err), &err);
    assert_true(strcmp(hr_event_writer_path(w), first) > 0);
    hr_event_writer_free(w);
    assert_true(events_in(first) < 12);
    assert_ok(hr_event_scalars("roll", "x", &points, &count, &err), &err);
    assert_int_equal(count, 100);
    for (int64_t i = 0; i < count; i++) assert_int_equal(points[i].step, i); /* names are in order */
    hr_free(points);
}

/* ---- a disk that fails ---- */

static void short_and_interrupted_writes_are_completed(void **state)
{
    (void)state;
    hr_error err = {0};
    faults f = {.max = 3, .interrupted = true, .call = -1};
    use_faults(&f);
    hr_event_writer *w = open_waiting("short", 5, 1e9, 0);
    for (int i = 0; i < 20; i++) assert_ok(hr_event_scalar(w, "x", 0, i, &err), &err);
    assert_ok(hr_event_writer_flush(w, &err), &err);
    use_faults(NULL);
    assert_int_equal(events_in(hr_event_writer_path(w)), 21);
    hr_event_writer_free(w);
}

/* Whichever call fails, the file ends with a whole record, and a later flush writes what waited. */
static void a_full_disk_leaves_whole_records(void **state)
{
    (void)state;
    int failed = 0;
    for (int call = 2; call < 60; call++) {
        char folder[32];
        hr_error err = {0};
        snprintf(folder, sizeof folder, "full%d", call);
        faults f = {.max = 50, .call = call, .number = ENOSPC};
        use_faults(&f);
        hr_event_writer *w;
        const hr_event_writer_opts opts = {
            .struct_size = sizeof opts, .max_queue = HR_I64(2), .flush_secs = HR_F64(1e9)};
        if (hr_event_writer_open_with(folder, &opts, &w, &err) != HR_OK) {
            use_faults(NULL);
            continue;
        }
        int lost = 0;
        for (int i = 0; i < 20; i++) {
            if (hr_event_scalar(w, "x", 0, i, &err) == HR_OK) continue;
            assert_string_equal(err.kind, "file.write");
            assert_text_contains(err.text, folder);
            events_in(hr_event_writer_path(w)); /* it can be read */
            lost++;
        }
        if (hr_event_writer_flush(w, &err) != HR_OK) assert_ok(hr_event_writer_flush(w, &err), &err);
        use_faults(NULL);
        assert_int_equal(events_in(hr_event_writer_path(w)), 21 - lost);
        assert_true(lost <= 1);
        failed += lost;
        hr_event_writer_free(w);
    }
    assert_more(failed, 5);
}

static void a_folder_that_is_a_file_is_reported(void **state)
{
    (void)state;
    hr_event_writer *w;
    hr_error err = {0};
    write_file("plain", "x", 1);
    assert_not_ok(hr_event_writer_open("plain", &w, &err));
    assert_null(w);
    assert_text_contains(err.text, "plain");
    assert_not_ok(hr_event_writer_open("plain/below", &w, &err));
}

static void tags_keep_what_tensorboard_understands(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"loss", "loss"}, {"//a b&c", "a_b_c"}, {"a.b-c/d_1", "a.b-c/d_1"}, {"", ""}, {"x:0", "x_0"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char *tag = hr_summary_tag(pairs[i][0]);
        assert_string_equal(tag, pairs[i][1]);
        hr_free(tag);
    }
}

static hr_status write_some(void)
{
    hr_event_writer *w;
    hr_error err = {0};
    float values[] = {1, 2, 3};
    hr_status st = hr_event_writer_open("memory", &w, &err);
    if (st != HR_OK) return st;
    st = hr_event_scalar(w, "a", 1, 1, &err);
    if (st == HR_OK) st = hr_event_histogram(w, "h", values, 3, 1, &err);
    if (st == HR_OK) st = hr_event_text(w, "t", "text", 1, &err);
    hr_event_writer_free(w);
    return st;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    int64_t before = allocations_alive();
    fail_allocation(-1);
    assert_status(write_some(), HR_OK);
    int64_t count = allocations_since();
    assert_more(count, 4);
    for (int64_t i = 0; i < count; i++) {
        fail_allocation(i);
        hr_status st = write_some();
        allocations_since();
        assert_status_either(st, HR_OK, HR_RESOURCE_EXHAUSTED);
        assert_int_equal(allocations_alive(), before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_begins_with_its_version),
        cmocka_unit_test(writers_of_one_folder_have_files_of_their_own),
        cmocka_unit_test(scalars_of_one_step_share_an_event),
        cmocka_unit_test(a_histogram_counts_every_value),
        cmocka_unit_test(a_value_belongs_to_the_first_limit_above_it),
        cmocka_unit_test(a_histogram_of_nan_is_refused_by_name),
        cmocka_unit_test(texts_and_session_logs_are_written),
        cmocka_unit_test(a_record_is_in_the_file_as_soon_as_it_is_written),
        cmocka_unit_test(events_wait_until_the_queue_is_full),
        cmocka_unit_test(events_wait_no_longer_than_they_may),
        cmocka_unit_test(a_file_that_is_large_is_followed_by_another),
        cmocka_unit_test(short_and_interrupted_writes_are_completed),
        cmocka_unit_test(a_full_disk_leaves_whole_records),
        cmocka_unit_test(a_folder_that_is_a_file_is_reported),
        cmocka_unit_test(tags_keep_what_tensorboard_understands),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
