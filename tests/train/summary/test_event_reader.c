/* Event files through the public reader: what the writer wrote, forms of TensorFlow 2, and damage. */
#include "tests/testing.h"
#include <float.h>
#include <headrace/io.h>
#include <headrace/summary.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static hr_event_writer *open_writer(const char *folder, const hr_event_writer_opts *opts)
{
    hr_event_writer *w;
    hr_error err = {0};
    assert_ok(hr_event_writer_open_with(folder, opts, &w, &err), &err);
    return w;
}

static hr_event_reader *open_reader(const char *path, const hr_policy *policy)
{
    hr_event_reader *r;
    hr_error err = {0};
    assert_ok(hr_event_reader_open(path, policy, &r, &err), &err);
    return r;
}

static const hr_event *next(hr_event_reader *r, hr_event_kind kind)
{
    const hr_event *e;
    hr_error err = {0};
    assert_ok(hr_event_read(r, &e, &err), &err);
    assert_int_equal(e->kind, kind);
    return e;
}

/* What one function of summary.h gave. */
typedef struct summary {
    char *bytes;
    size_t size;
} summary;

static void write_summary(hr_event_writer *w, summary *s)
{
    hr_error err = {0};
    assert_non_null(s->bytes);
    assert_ok(hr_event_summary_bytes(w, (hr_view){s->bytes, (int64_t)s->size}, 3, &err), &err);
    hr_free(s->bytes);
}

static void each_kind_is_read_as_it_was_written(void **state)
{
    (void)state;
    hr_error err = {0};
    summary s;
    const float loss = 0.5f, weights[] = {-1, 2, 2};
    const double wide[] = {-1, 2, 2};
    hr_event_writer *w = open_writer("kinds", NULL);
    const hr_summary_value two[] = {{"loss", &loss, 1, false}, {"weights", weights, 3, true}};
    assert_ok(hr_event_summary(w, two, 2, 3, &err), &err);
    assert_ok(hr_event_text(w, "note", "well", 3, &err), &err);
    assert_ok(hr_summary_image((hr_view){"i", 1}, 1, 2, 3, (const uint8_t *)"abcdef", &s.bytes, &s.size, &err), &err);
    write_summary(w, &s);
    assert_ok(hr_summary_histogram_v2((hr_view){"v2", 2}, wide, 3, 3, &s.bytes, &s.size, &err), &err);
    write_summary(w, &s);
    assert_ok(hr_event_graph(w, (hr_view){"gr", 2}, &err), &err);
    assert_ok(hr_event_meta_graph(w, (hr_view){"met", 3}, 3, &err), &err);
    assert_ok(hr_event_run_metadata(w, "step_3", (hr_view){"r", 1}, 3, &err), &err);
    assert_status(hr_event_run_metadata(w, "step_3", (hr_view){"r", 1}, 4, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "summary.tag");
    assert_ok(hr_event_session(w, HR_SESSION_CHECKPOINT, "m/model.ckpt", 3, &err), &err);
    hr_event_writer_free(w);

    hr_event_reader *r = open_reader("kinds", NULL);
    const hr_event *e = next(r, HR_EVENT_VERSION);
    assert_memory_equal(e->bytes.data, "brain.Event:2", 13);
    e = next(r, HR_EVENT_SCALAR);
    assert_string_equal(e->tag, "loss");
    assert_true(hr_is_event_file(e->file));
    assert_exactly(e->scalar, 0.5);
    assert_int_equal(e->step, 3);
    assert_int_equal(e->value_count, 2);
    assert_more(e->wall_time, 1.6e9);
    e = next(r, HR_EVENT_HISTOGRAM);
    assert_int_equal(e->value, 1);
    assert_exactly(e->sum, 3);
    assert_exactly(e->buckets[0], -DBL_MAX);
    double counted = 0;
    for (int64_t i = 0; i < e->bucket_count; i++) counted += e->buckets[3 * i + 2];
    assert_exactly(counted, 3);
    e = next(r, HR_EVENT_TEXT);
    assert_string_equal(e->plugin, "text");
    assert_int_equal(e->text_count, 1);
    assert_memory_equal(e->texts[0].data, "well", 4);
    e = next(r, HR_EVENT_IMAGE);
    assert_int_equal(e->width, 2);
    assert_int_equal(e->channels, 3);
    assert_memory_equal(e->bytes.data, "\x89PNG", 4);
    e = next(r, HR_EVENT_HISTOGRAM);
    assert_int_equal(e->bucket_count, 3);
    const double rows[] = {-1, 0, 1, 0, 1, 0, 1, 2, 2};
    assert_memory_equal(e->buckets, rows, sizeof rows);
    assert_exactly(e->num, 3);
    assert_nan(e->sum);
    assert_int_equal(next(r, HR_EVENT_GRAPH)->bytes.size, 2);
    assert_int_equal(next(r, HR_EVENT_META_GRAPH)->bytes.size, 3);
    assert_string_equal(next(r, HR_EVENT_RUN_METADATA)->tag, "step_3");
    e = next(r, HR_EVENT_SESSION);
    assert_int_equal(e->session, HR_SESSION_CHECKPOINT);
    assert_memory_equal(e->bytes.data, "m/model.ckpt", 12);
    for (int i = 0; i < 2; i++) assert_status(hr_event_read(r, &e, &err), HR_END);
    hr_event_reader_free(r);
}

/* TensorFlow 1 writes the metadata of a tag once in a file. */
static void a_tag_keeps_the_kind_that_its_first_value_had(void **state)
{
    (void)state;
    hr_error err = {0};
    summary s;
    char *metadata;
    size_t metadata_size;
    const hr_view number = {"\x08\x01\x12\x00\x22\x04\x00\x00\x80\x3f", 10};
    hr_event_writer *w = open_writer("once", NULL);
    assert_ok(hr_summary_metadata("scalars", "Shown", NULL, 1, &metadata, &metadata_size, &err), &err);
    const hr_view said = {metadata, (int64_t)metadata_size};
    assert_ok(hr_summary_tensor((hr_view){"s", 1}, number, said, &s.bytes, &s.size, &err), &err);
    write_summary(w, &s);
    /* A value with a tensor and nothing else: tag "s", field 8. */
    const hr_view bare = {"\x0a\x0f\x0a\x01s\x42\x0a\x08\x01\x12\x00\x22\x04\x00\x00\x80\x3f", 17};
    assert_ok(hr_event_summary_bytes(w, bare, 3, &err), &err);
    hr_free(metadata);
    hr_event_writer_free(w);
    hr_event_reader *r = open_reader("once", NULL);
    next(r, HR_EVENT_VERSION);
    assert_string_equal(next(r, HR_EVENT_SCALAR)->display_name, "Shown");
    const hr_event *e = next(r, HR_EVENT_SCALAR);
    assert_exactly(e->scalar, 1);
    assert_string_equal(e->plugin, "");
    assert_int_equal(e->bytes.size, 10);
    hr_event_reader_free(r);
}

static void write_scalars(const char *folder, int64_t start, int64_t end)
{
    hr_error err = {0};
    hr_event_writer *w = open_writer(folder, NULL);
    assert_ok(hr_event_session(w, HR_SESSION_START, NULL, start, &err), &err);
    for (int64_t i = start; i < end; i++) assert_ok(hr_event_scalar(w, "loss", (float)i, i, &err), &err);
    hr_event_writer_free(w);
}

static void a_restart_replaces_later_points(void **state)
{
    (void)state;
    hr_scalar_point *points;
    int64_t count;
    hr_error err = {0};
    write_scalars("restart", 0, 100);
    write_scalars("restart", 40, 42);
    write_file("restart/model.ckpt", "x", 1);
    assert_ok(hr_event_scalars("restart", "loss", &points, &count, &err), &err);
    assert_int_equal(count, 42);
    for (int64_t i = 0; i < count; i++) assert_int_equal(points[i].step, i);
    hr_free(points);
    assert_ok(hr_event_scalars("restart", "other", &points, &count, &err), &err);
    assert_int_equal(count, 0);
    hr_free(points);
}

/* ---- damage ---- */

static const char *const three[] = {"\x10\x01\x1a\x01v", "\xff\xff\xff", "\x10\x02\x1a\x01v"};
static const char *const path = "x.tfevents.1";

static void write_three(void)
{
    hr_record_writer *w;
    hr_error err = {0};
    assert_ok(hr_record_writer_open(path, NULL, &w, &err), &err);
    for (int i = 0; i < 3; i++) assert_ok(hr_record_write(w, three[i], strlen(three[i]), &err), &err);
    assert_ok(hr_record_writer_commit(w, &err), &err);
}

static void count_damage(const hr_error *error, hr_view bytes, void *user)
{
    assert_string_equal(error->kind, "event.record");
    assert_int_equal(bytes.size, 3);
    ++*(int *)user;
}

static void a_record_that_is_no_event_is_told_with_its_place(void **state)
{
    (void)state;
    const hr_event *e;
    hr_error err = {0};
    int told = 0;
    write_three();
    hr_event_reader *r = open_reader(path, NULL);
    next(r, HR_EVENT_VERSION);
    assert_status(hr_event_read(r, &e, &err), HR_DATA_LOSS);
    assert_string_equal(err.kind, "event.record");
    assert_string_equal(err.file, path);
    assert_int_equal(err.record, 1);
    assert_int_equal(err.offset, 21);
    assert_null(e);
    assert_int_equal(next(r, HR_EVENT_VERSION)->step, 2);
    hr_event_reader_free(r);

    r = open_reader(path, &(hr_policy){.on_error = HR_SKIP, .on_damage = count_damage, .user = &told});
    assert_int_equal(next(r, HR_EVENT_VERSION)->step, 1);
    assert_int_equal(next(r, HR_EVENT_VERSION)->step, 2);
    assert_status(hr_event_read(r, &e, &err), HR_END);
    assert_int_equal(told, 1);
    hr_event_reader_free(r);
}

static void a_cut_file_gives_what_is_whole(void **state)
{
    (void)state;
    char all[256];
    const hr_event *e;
    hr_error err = {0};
    write_three();
    FILE *f = fopen(path, "rb");
    const size_t size = fread(all, 1, sizeof all, f);
    fclose(f);
    write_file("cut.tfevents", all, size - 3);
    hr_event_reader *r = open_reader("cut.tfevents", &(hr_policy){.on_error = HR_FAIL});
    next(r, HR_EVENT_VERSION);
    assert_status(hr_event_read(r, &e, &err), HR_DATA_LOSS); /* it is no event */
    for (int i = 0; i < 2; i++) {
        assert_status(hr_event_read(r, &e, &err), HR_DATA_LOSS);
        assert_string_equal(err.file, "cut.tfevents");
        assert_int_equal(err.offset, 40);
    }
    hr_event_reader_free(r);
}

static void what_is_not_there_is_reported(void **state)
{
    (void)state;
    hr_event_reader *r;
    hr_scalar_point *points;
    int64_t count;
    hr_error err = {0};
    assert_status(hr_event_reader_open("absent", NULL, &r, &err), HR_NOT_FOUND);
    assert_null(r);
    mkdir("empty", 0777);
    write_file("empty/x", "x", 1);
    assert_status(hr_event_reader_open("empty", NULL, &r, &err), HR_NOT_FOUND);
    assert_text_contains(err.text, "tfevents");
    assert_status(hr_event_scalars("absent", "t", &points, &count, &err), HR_NOT_FOUND);
    assert_false(hr_is_event_file("x.tfevents/model.ckpt"));
    assert_false(hr_is_event_file(NULL));
}

static hr_status read_all(void)
{
    hr_event_reader *r;
    const hr_event *e;
    hr_error err = {0};
    hr_status st = hr_event_reader_open("memory", NULL, &r, &err);
    if (st != HR_OK) return st;
    while ((st = hr_event_read(r, &e, &err)) == HR_OK)
        ;
    hr_event_reader_free(r);
    return st;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    hr_error err = {0};
    const float values[] = {1, 2};
    hr_event_writer *w = open_writer("memory", NULL);
    assert_ok(hr_event_histogram(w, "h", values, 2, 1, &err), &err);
    assert_ok(hr_event_text(w, "t", "text", 1, &err), &err);
    hr_event_writer_free(w);
    const int64_t before = allocations_alive();
    fail_allocation(-1);
    assert_status(read_all(), HR_END);
    const int64_t count = allocations_since();
    assert_more(count, 8);
    for (int64_t i = 0; i < count; i++) {
        fail_allocation(i);
        const hr_status st = read_all();
        allocations_since();
        assert_status_either(st, HR_END, HR_RESOURCE_EXHAUSTED);
        assert_int_equal(allocations_alive(), before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_is_read_as_it_was_written),
        cmocka_unit_test(a_tag_keeps_the_kind_that_its_first_value_had),
        cmocka_unit_test(a_restart_replaces_later_points),
        cmocka_unit_test(a_record_that_is_no_event_is_told_with_its_place),
        cmocka_unit_test(a_cut_file_gives_what_is_whole),
        cmocka_unit_test(what_is_not_there_is_reported),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
