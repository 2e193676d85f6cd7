/* A caller of hr_next sleeps only while others do all that can be done: not while the pool's one worker is kept by another
 * iterator. */
#include "data/iterator.h"
#include "tests/testing.h"
#include <uv.h>

enum { PATIENCE_MS = 60000, HELD = 40 };

typedef struct gate {
    int64_t at;
    hr_iterator *_Atomic it; /* whose caller is to be asleep before element `at` goes on */
    uv_thread_t caller;
    _Atomic bool reached, open;
} gate;

static bool is_asleep(hr_iterator *it)
{
    hr__engine_lock(&it->engine);
    const bool asleep = it->engine.consumer_sleeps;
    hr__engine_unlock(&it->engine);
    return asleep;
}

static hr_status pass_gate(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call;
    gate *g = user;
    const uv_thread_t self = uv_thread_self();
    const int64_t value = *(const int64_t *)hr_get(in, "value")->data;
    if (value == g->at && !uv_thread_equal(&self, &g->caller)) {
        atomic_store(&g->reached, true);
        for (int ms = 0; ms < PATIENCE_MS && !(g->it && is_asleep(g->it)); ms++) uv_sleep(1);
    }
    *(int64_t *)hr_set(out, "value") = value;
    return HR_OK;
}

static hr_status stay(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call;
    gate *g = user;
    atomic_store(&g->reached, true);
    for (int ms = 0; ms < 2 * PATIENCE_MS && !atomic_load(&g->open); ms++) uv_sleep(1);
    *(int64_t *)hr_set(out, "value") = *(const int64_t *)hr_get(in, "value")->data;
    return HR_OK;
}

static void wait_until(const _Atomic bool *what)
{
    for (int ms = 0; ms < PATIENCE_MS && !atomic_load(what); ms++) uv_sleep(1);
    assert_true(atomic_load(what));
}

/* The worker is at work on element `at` of one iterator, whose caller sleeps. Then it does as much more of that as its
 * turn allows, goes to the other iterator, and is kept there. */
static void next_returns_after_the_worker_left_at(int64_t at)
{
    static gate here, there;
    const hr_element *e;
    here = (gate){.at = at, .caller = uv_thread_self()};
    there = (gate){0};
    hr_dataset *ds = hr_shuffle(hr_map(hr_range(2 * HELD), pass_gate, &here), HELD);
    hr_iterator *it = hr_iterate(ds, .seed = 7, .window = 1, .unit_rows = 1, .warm_start = true);
    wait_until(&here.reached);
    hr_iterator *other = hr_iterate(hr_map(hr_range(100), stay, &there), .unit_rows = 1, .warm_start = true);
    here.it = it;
    const hr_status st = hr_next_within(it, UINT64_C(1000000) * PATIENCE_MS, &e);
    atomic_store(&there.open, true);
    hr_iterator_free(other);
    hr_iterator_free(it);
    if (st != HR_OK) fail_msg("the worker left after element %d: the caller slept on", (int)at);
}

static void a_caller_wakes_when_the_worker_leaves_work_undone(void **state)
{
    (void)state;
    for (int64_t at = 0; at < HELD / 2; at++) next_returns_after_the_worker_left_at(at);
}

static int start_one_worker(void **state)
{
    (void)state;
    hr_set_threads(1);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_caller_wakes_when_the_worker_leaves_work_undone),
    };
    return cmocka_run_group_tests(tests, start_one_worker, NULL);
}
