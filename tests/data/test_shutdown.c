/* How runs end: called off while they work or wait, closed and opened again and again. */
#include "tests/data/conformance.h"
#include <dirent.h>
#include <fcntl.h>
#include <headrace/op.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

static int start_threads(void **state)
{
    (void)state;
    hr_set_threads(4);
    return 0;
}

static hr_status next(hr_iterator *it)
{
    const hr_element *e;
    return hr_next(it, &e);
}

static hr_status drain(hr_iterator *it)
{
    hr_status st;
    while ((st = next(it)) == HR_OK) {}
    return st;
}

/* ---- an operator that counts what is planned and worked on, and works until a gate opens ---- */

typedef struct counted {
    atomic_int planned, working;
    uv_sem_t gate;
} counted;

static hr_status counted_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)state, (void)err;
    counted *c = *(counted *const *)spec;
    hr_span span;
    HR_TRY(hr_pull(p, 0, hr_room(p), &span));
    c->planned++;
    hr_emit(p, span);
    return HR_OK;
}

static hr_status counted_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)unit, (void)w, (void)rows, (void)err;
    counted *c = *(counted *const *)spec;
    c->working++;
    uv_sem_wait(&c->gate);
    uv_sem_post(&c->gate);
    return HR_OK;
}

static const hr_op op_counted = {
    .head = HR_OP_HEAD, .name = "counted", .spec_size = sizeof(counted *), .plan = counted_plan, .work = counted_work};

typedef struct canceller {
    hr_iterator *it;
    counted *counted;
    int workers, planned; /* planned: when it was called off */
} canceller;

/* Calls it off when every thread works on a unit, and lets them go then. */
static void cancel_busy(void *user)
{
    canceller *c = user;
    while (c->counted->working <= c->workers) uv_sleep(1);
    hr_cancel(c->it);
    c->planned = c->counted->planned;
    uv_sem_post(&c->counted->gate);
}

static void cancel_plans_nothing_more_and_waits_for_running_units_only(void **state)
{
    (void)state;
    for (int workers = 0; workers < 4; workers++) {
        counted counts = {.planned = 0}, *spec = &counts;
        uv_thread_t thread;
        assert_int_equal(uv_sem_init(&counts.gate, 0), 0);
        hr_dataset *in = hr_repeat(hr_range(1 << 20));
        canceller c = {iterate(hr_dataset_new(&op_counted, &spec, &in, 1), (way){.workers = workers, .unit_rows = 16}),
                       &counts, workers, 0};
        assert_int_equal(uv_thread_create(&thread, cancel_busy, &c), 0);
        assert_status(drain(c.it), HR_CANCELLED);
        uv_thread_join(&thread);
        hr_iterator_free(c.it);
        assert_int_equal(counts.planned, c.planned);
        assert_int_equal(counts.working, workers + 1);
        uv_sem_destroy(&counts.gate);
    }
}

static void cancel_soon(void *iterator)
{
    uv_sleep(2);
    hr_cancel(iterator);
}

static void assert_can_be_cancelled(hr_dataset *ds, int workers)
{
    uv_thread_t thread;
    hr_iterator *it = iterate(ds, (way){.workers = workers});
    assert_int_equal(uv_thread_create(&thread, cancel_soon, it), 0);
    assert_status(drain(it), HR_CANCELLED);
    uv_thread_join(&thread);
    hr_iterator_free(it);
}

static void a_long_skip_can_be_cancelled(void **state)
{
    (void)state;
    for (int workers = 0; workers < 3; workers++)
        assert_can_be_cancelled(hr_skip(hr_range(INT64_C(1) << 60), INT64_C(1) << 59), workers);
}

static void a_silent_pipe_can_be_cancelled(void **state)
{
    (void)state;
    static const hr_csv_column id = {.name = "id", .dtype = HR_INT64};
    unlink("silent");
    assert_int_equal(mkfifo("silent", 0600), 0);
    for (int workers = 0; workers < 3; workers++) {
        assert_can_be_cancelled(hr_tfrecord("silent"), workers); /* nobody has it open to write */
        const int writer = open("silent", O_RDWR);
        assert_can_be_cancelled(hr_tfrecord("silent"), workers);
        assert_can_be_cancelled(hr_csv("silent", .columns = &id, .column_count = 1), workers);
        close(writer);
    }
}

/* ---- called off in the middle of a unit ---- */

static hr_status halfway_check(const void *spec, const hr_schema *const *in, hr_schema_builder *out, hr_error *err)
{
    (void)spec, (void)in;
    return hr_schema_set(out, &hr_string_schema, err);
}

static hr_status halfway_plan(const void *spec, void *state, hr_plan *p, hr_error *err)
{
    (void)spec, (void)state;
    hr_columns *rows = hr_unit_rows(p, 16);
    if (!rows) return hr_no_memory(err, "rows");
    rows->rows = 16;
    return HR_OK;
}

/* As if it had been called off in front of the first row: its columns are what the memory was before. */
static hr_status halfway_work(const void *spec, const void *unit, hr_work *w, hr_columns *rows, hr_error *err)
{
    (void)unit, (void)w, (void)err;
    for (int64_t r = 0; r < rows->rows; r++) ((hr_view *)rows->column[0].values)[r] = (hr_view){(const void *)8, 8};
    hr_cancel(**(hr_iterator * *const *)spec);
    return HR_OK;
}

static const hr_op op_halfway = {.head = HR_OP_HEAD,
                                 .name = "halfway",
                                 .spec_size = sizeof(hr_iterator **),
                                 .check = halfway_check,
                                 .plan = halfway_plan,
                                 .work = halfway_work};

/* A shuffle above must not keep strings that are not there. */
static void what_was_called_off_halfway_is_not_kept(void **state)
{
    (void)state;
    hr_iterator *it = NULL, **which = &it;
    hr_dataset *ds = hr_dataset_new(&op_halfway, &which, NULL, 0);
    it = iterate(hr_shuffle(ds, 32), (way){.unit_rows = 16});
    assert_status(next(it), HR_CANCELLED);
    hr_iterator_free(it);
}

/* ---- a pipe that speaks: all of it comes, however slowly ---- */

static void write_slowly(void *bytes)
{
    const hr_view *all = bytes;
    const int to = open("slow", O_WRONLY);
    for (int64_t i = 0; i < all->size; i += 7) {
        const size_t left = (size_t)(all->size - i);
        if (write(to, (const char *)all->data + i, left < 7 ? left : 7) < 0) break;
    }
    close(to);
}

static void a_slow_pipe_is_read_to_its_end(void **state)
{
    (void)state;
    char bytes[4096];
    hr_error err;
    hr_record_writer *writer;
    assert_ok(hr_record_writer_open("slow.tfrecord", NULL, &writer, &err), &err);
    for (int i = 0; i < 100; i++) assert_ok(hr_record_write(writer, "sixteen letters.", 16, &err), &err);
    assert_ok(hr_record_writer_commit(writer, &err), &err);
    const int file = open("slow.tfrecord", O_RDONLY);
    hr_view all = {bytes, read(file, bytes, sizeof bytes)};
    close(file);
    unlink("slow");
    assert_int_equal(mkfifo("slow", 0600), 0);
    for (int workers = 0; workers < 2; workers++) {
        uv_thread_t thread;
        int rows = 0;
        assert_int_equal(uv_thread_create(&thread, write_slowly, &all), 0);
        hr_iterator *it = iterate(hr_tfrecord("slow"), (way){.workers = workers});
        while (next(it) == HR_OK) rows++;
        uv_thread_join(&thread);
        assert_null(hr_iterator_error(it));
        assert_int_equal(rows, 100);
        hr_iterator_free(it);
    }
}

/* ---- rounds ---- */

static int entries(const char *folder)
{
    int count = 0;
    DIR *d = opendir(folder);
    while (d && readdir(d)) count++;
    if (d) closedir(d);
    return count;
}

static void one_round(int round)
{
    hr_dataset *ds = hr_interleave(hr_list_files("slow.tfrecord"), hr_tfrecord_fn, NULL);
    ds = hr_batch(hr_shuffle(hr_repeat(ds), 50), 8);
    hr_iterator *it = iterate(ds, (way){.workers = round % 4});
    for (int i = 0; i < round % 5; i++) assert_status(next(it), HR_OK);
    hr_iterator_free(it);
}

/* A thread that was joined may still be seen for a moment. */
static void assert_entries_come_down_to(const char *folder, int count)
{
    enum { PATIENCE_MS = 20000 };
    for (int ms = 0; ms < PATIENCE_MS && entries(folder) > count; ms++) uv_sleep(1);
    assert_in_range(entries(folder), 0, count);
}

/* HEADRACE_ROUNDS: how many, for soaks. */
static void opening_and_closing_leaves_nothing_behind(void **state)
{
    (void)state;
    const char *asked = getenv("HEADRACE_ROUNDS");
    const int rounds = asked ? atoi(asked) : 300;
    for (int i = 0; i < 20; i++) one_round(i); /* the pool's threads are there now */
    const int64_t memory = allocations_alive();
    const int threads = entries("/proc/self/task"), files = entries("/proc/self/fd");
    for (int i = 0; i < rounds; i++) one_round(i);
    assert_int_equal(allocations_alive(), memory);
    assert_entries_come_down_to("/proc/self/task", threads);
    assert_entries_come_down_to("/proc/self/fd", files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cancel_plans_nothing_more_and_waits_for_running_units_only),
        cmocka_unit_test(a_long_skip_can_be_cancelled),
        cmocka_unit_test(a_silent_pipe_can_be_cancelled),
        cmocka_unit_test(what_was_called_off_halfway_is_not_kept),
        cmocka_unit_test(a_slow_pipe_is_read_to_its_end),
        cmocka_unit_test(opening_and_closing_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, start_threads, NULL);
}
