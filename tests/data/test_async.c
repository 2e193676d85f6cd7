/* hr_next_async on a loop of the caller's. */
#include "tests/data/conformance.h"
#include <stdatomic.h>
#include <uv.h>

typedef struct reading {
    uv_loop_t loop;
    hr_iterator *it;
    int64_t elements, sum, calls;
    hr_status last;
    bool inside; /* of hr_next_async */
    bool once;
} reading;

static int start_threads(void **state)
{
    (void)state;
    hr_set_threads(4);
    return 0;
}

static void ask(reading *r);

static void take(hr_iterator *it, hr_status status, const hr_element *element, void *user)
{
    reading *r = user;
    assert_ptr_equal(it, r->it);
    assert_false(r->inside);
    r->calls++;
    r->last = status;
    if (status != HR_OK) return;
    const hr_tensor *t = hr_get_at(element, 0);
    for (int64_t i = 0; i < t->count; i++) r->sum += ((const int64_t *)t->data)[i];
    r->elements++;
    if (!r->once) ask(r);
}

static void ask(reading *r)
{
    r->inside = true;
    assert_status(hr_next_async(r->it, &r->loop, take, r), HR_OK);
    r->inside = false;
}

static void open_reading(reading *r, hr_dataset *ds, int workers)
{
    *r = (reading){.last = HR_WAIT};
    assert_int_equal(uv_loop_init(&r->loop), 0);
    r->it = iterate(ds, (way){.workers = workers});
}

static void close_reading(reading *r)
{
    hr_iterator_free(r->it);
    assert_int_equal(uv_run(&r->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&r->loop), 0);
}

static void a_loop_gets_every_element_and_the_end(void **state)
{
    (void)state;
    for (int workers = 0; workers < 4; workers++) {
        reading r;
        open_reading(&r, hr_batch(hr_shuffle(hr_range(50000), 700), 10), workers);
        ask(&r);
        assert_int_equal(uv_run(&r.loop, UV_RUN_DEFAULT), 0);
        assert_status(r.last, HR_END);
        assert_int_equal(r.elements, 5000);
        assert_int_equal(r.sum, INT64_C(50000) * 49999 / 2);
        close_reading(&r);
    }
}

static hr_status fail_at_700(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)user;
    const int64_t value = *(const int64_t *)hr_get_at(in, 0)->data;
    if (value == 700) return hr_call_fail(call, HR_OUT_OF_RANGE, "no %d", 700);
    *(int64_t *)hr_set(out, "value") = value;
    return HR_OK;
}

static void a_loop_gets_the_error_after_the_last_element(void **state)
{
    (void)state;
    reading r;
    open_reading(&r, hr_map(hr_range(1000), fail_at_700, NULL), 2);
    ask(&r);
    uv_run(&r.loop, UV_RUN_DEFAULT);
    assert_status(r.last, HR_OUT_OF_RANGE);
    assert_int_equal(r.elements, 700);
    assert_status(hr_iterator_error(r.it)->code, HR_OUT_OF_RANGE);
    close_reading(&r);
}

/* ---- while it waits ---- */

typedef struct gate {
    uv_sem_t open;
    atomic_int waiting;
} gate;

static hr_status wait_at_gate(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call;
    gate *g = user;
    g->waiting++;
    uv_sem_wait(&g->open);
    uv_sem_post(&g->open);
    *(int64_t *)hr_set(out, "value") = *(const int64_t *)hr_get_at(in, 0)->data;
    return HR_OK;
}

static void open_at_tick(uv_timer_t *timer)
{
    gate *g = timer->data;
    if (g->waiting == 0) return; /* the loop goes on while a worker waits */
    uv_sem_post(&g->open);
    uv_close((uv_handle_t *)timer, NULL);
}

static void the_loop_goes_on_while_workers_are_busy(void **state)
{
    (void)state;
    reading r;
    gate g = {.waiting = 0};
    uv_timer_t timer = {.data = &g};
    assert_int_equal(uv_sem_init(&g.open, 0), 0);
    open_reading(&r, hr_map(hr_range(10), wait_at_gate, &g), 1);
    assert_int_equal(uv_timer_init(&r.loop, &timer), 0);
    uv_timer_start(&timer, open_at_tick, 1, 1);
    ask(&r);
    uv_run(&r.loop, UV_RUN_DEFAULT);
    assert_status(r.last, HR_END);
    assert_int_equal(r.elements, 10);
    close_reading(&r);
    uv_sem_destroy(&g.open);
}

static void cancel_reading(void *user)
{
    reading *r = user;
    hr_cancel(r->it);
}

static void cancel_ends_a_call_that_is_pending(void **state)
{
    (void)state;
    reading r;
    gate g = {.waiting = 0};
    uv_thread_t thread;
    assert_int_equal(uv_sem_init(&g.open, 0), 0);
    open_reading(&r, hr_map(hr_range(10), wait_at_gate, &g), 1);
    ask(&r);
    assert_int_equal(uv_thread_create(&thread, cancel_reading, &r), 0);
    uv_run(&r.loop, UV_RUN_DEFAULT); /* comes back while the worker still waits */
    assert_status(r.last, HR_CANCELLED);
    assert_int_equal(r.calls, 1);
    uv_thread_join(&thread);
    uv_sem_post(&g.open);
    close_reading(&r);
    uv_sem_destroy(&g.open);
}

static void free_ends_a_call_that_is_pending_without_calling_back(void **state)
{
    (void)state;
    for (int workers = 0; workers < 3; workers++) {
        reading r;
        open_reading(&r, hr_repeat(hr_batch(hr_range(1000), 10)), workers);
        ask(&r);
        close_reading(&r);
        assert_int_equal(r.calls, 0);
    }
}

static void one_call_at_a_time_and_one_loop(void **state)
{
    (void)state;
    reading r;
    uv_loop_t other;
    assert_int_equal(uv_loop_init(&other), 0);
    open_reading(&r, hr_range(1000), 1);
    r.once = true;
    ask(&r);
    assert_status(hr_next_async(r.it, &r.loop, take, &r), HR_FAILED_PRECONDITION);
    uv_run(&r.loop, UV_RUN_DEFAULT);
    assert_int_equal(r.elements, 1);
    assert_status(hr_next_async(r.it, &other, take, &r), HR_FAILED_PRECONDITION);
    const hr_element *e;
    assert_status(hr_next(r.it, &e), HR_OK); /* the plain call goes on where the other stopped */
    assert_int_equal(*(const int64_t *)hr_get_at(e, 0)->data, 1);
    close_reading(&r);
    assert_int_equal(uv_loop_close(&other), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loop_gets_every_element_and_the_end),
        cmocka_unit_test(a_loop_gets_the_error_after_the_last_element),
        cmocka_unit_test(the_loop_goes_on_while_workers_are_busy),
        cmocka_unit_test(cancel_ends_a_call_that_is_pending),
        cmocka_unit_test(free_ends_a_call_that_is_pending_without_calling_back),
        cmocka_unit_test(one_call_at_a_time_and_one_loop),
    };
    return cmocka_run_group_tests(tests, start_threads, NULL);
}
