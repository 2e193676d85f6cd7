/* The pool: every piece is done once, clients share the workers, and nobody waits for more than what is running. */
#include "base/pool.h"
#include "base/quota.h"
#include "tests/testing.h"
#include <limits.h>
#include <stdlib.h>
#include <uv.h>

enum { PIECES = 500, SOME = 16 };

/* Processors that the process may use at once. */
static int usable_processors(void)
{
    const double quota = hr__cpu_quota();
    const int all = (int)uv_available_parallelism();
    return quota > 0 && quota < all ? (int)(quota + 0.999999) : all;
}

/* Before anything has asked for the pool, which looks at the environment once. */
static int set_threads(void **state)
{
    (void)state;
    setenv("HEADRACE_THREADS", "all of them", 1);
    if (hr_threads() != usable_processors() - 1) return -1;
    hr_set_threads(4);
    return 0;
}

static void add_one(int64_t i, void *user) { atomic_fetch_add((atomic_int *)user + i, 1); }

static void a_loop_does_every_piece_once(void **state)
{
    (void)state;
    static atomic_int done[PIECES];
    for (int threads = 0; threads < 6; threads++) {
        hr_set_threads(threads);
        for (int i = 0; i < PIECES; i++) atomic_store(&done[i], 0);
        hr__parallel_for(PIECES, add_one, done);
        for (int i = 0; i < PIECES; i++) assert_int_equal(atomic_load(&done[i]), 1);
    }
    hr__parallel_for(0, add_one, done);
    assert_int_equal(atomic_load(&done[0]), 1);
}

static void add_ten(int64_t i, void *user)
{
    (void)i;
    hr__parallel_for(10, add_one, user);
}

static void a_loop_within_a_loop_runs_inline(void **state)
{
    (void)state;
    static atomic_int done[10];
    hr__parallel_for(20, add_ten, done);
    for (int i = 0; i < 10; i++) assert_int_equal(atomic_load(&done[i]), 20);
}

typedef struct counter {
    hr__client client;
    atomic_int left, done, inside, max;
} counter;

static bool count_one(hr__client *client, int thread)
{
    counter *c = (counter *)client;
    (void)thread;
    if (atomic_fetch_sub(&c->left, 1) <= 0) {
        atomic_store(&c->left, 0);
        return false;
    }
    int inside = atomic_fetch_add(&c->inside, 1) + 1;
    if (inside > atomic_load(&c->max)) atomic_store(&c->max, inside);
    uv_sleep(1);
    atomic_fetch_sub(&c->inside, 1);
    atomic_fetch_add(&c->done, 1);
    return true;
}

static void wait_for(counter *c, int count)
{
    enum { PATIENCE_MS = 20000 };
    for (int ms = 0; ms < PATIENCE_MS && atomic_load(&c->done) < count; ms++) {
        hr__pool_wake(&c->client);
        uv_sleep(1);
    }
    assert_at_least(atomic_load(&c->done), count);
}

static void a_client_gets_no_more_workers_than_it_wants(void **state)
{
    (void)state;
    hr_set_threads(4);
    static counter c;
    c = (counter){.client = {.run_one = count_one, .max_workers = 2}, .left = 40};
    assert_ok(hr__pool_join(&c.client, NULL), (&(hr_error){0}));
    wait_for(&c, 40);
    hr__pool_leave(&c.client);
    assert_int_equal(atomic_load(&c.done), 40);
    assert_in_range(atomic_load(&c.max), 1, 2);
}

static void clients_share_the_workers(void **state)
{
    (void)state;
    static counter c[3];
    for (int i = 0; i < 3; i++) {
        c[i] = (counter){.client = {.run_one = count_one, .max_workers = -1}, .left = 50};
        assert_ok(hr__pool_join(&c[i].client, NULL), (&(hr_error){0}));
    }
    for (int i = 0; i < 3; i++) wait_for(&c[i], 50);
    for (int i = 0; i < 3; i++) hr__pool_leave(&c[i].client);
    for (int i = 0; i < 3; i++) assert_int_equal(atomic_load(&c[i].done), 50);
}

static void who_leaves_waits_for_what_is_running_and_nothing_else(void **state)
{
    (void)state;
    static counter c;
    c = (counter){.client = {.run_one = count_one, .max_workers = -1}, .left = INT_MAX}; /* weeks of work */
    assert_ok(hr__pool_join(&c.client, NULL), (&(hr_error){0}));
    wait_for(&c, 1);
    hr__pool_leave(&c.client);
    assert_int_equal(atomic_load(&c.inside), 0);
    assert_more(atomic_load(&c.left), 0);
}

static void the_number_of_threads_may_change(void **state)
{
    (void)state;
    hr_set_threads(3);
    assert_int_equal(hr_threads(), 3);
    hr_set_threads(-5);
    assert_int_equal(hr_threads(), 0);
    hr_set_threads(100000);
    assert_in_range(hr_threads(), 1, 1024);
    hr_set_threads(2);
    static atomic_int done[PIECES];
    hr__parallel_for(PIECES, add_one, done);
    for (int i = 0; i < PIECES; i++) assert_int_equal(atomic_load(&done[i]), 1);
}

/* As a pipeline whose consumer waits for what they do. */
static void what_is_running_goes_on_with_the_workers_it_has(void **state)
{
    (void)state;
    hr_set_threads(4);
    static counter c;
    c = (counter){.client = {.run_one = count_one, .max_workers = 4}, .left = 300};
    assert_ok(hr__pool_join(&c.client, NULL), (&(hr_error){0}));
    wait_for(&c, 1);
    hr_set_threads(0);
    wait_for(&c, 300);
    hr__pool_leave(&c.client);
    assert_int_equal(atomic_load(&c.done), 300);
    hr_set_threads(4);
}

/* ---- a thread that waits ---- */

typedef struct helped {
    hr__client client;
    const void *group;
    hr__waiter waiter;
    atomic_int started, done, pieces, by_caller;
    atomic_int first[2]; /* the pieces that the caller and a worker took first; -1: none */
} helped;

static bool both_have_begun(const helped *h)
{
    return atomic_load(&h->first[0]) >= 0 && atomic_load(&h->first[1]) >= 0;
}

/* Waits until the caller and a worker have a piece each. Where the caller takes none, not for long. */
static void wait_for_caller(int64_t i, void *user)
{
    helped *h = user;
    enum { PATIENCE_MS = 5000, IMPATIENCE_MS = 10 };
    const int patience = h->group == h->waiter.group ? PATIENCE_MS : IMPATIENCE_MS;
    atomic_compare_exchange_strong(&h->first[hr__pool_thread() > 0], &(int){-1}, (int)i);
    if (hr__pool_thread() == 0) atomic_fetch_add(&h->by_caller, 1);
    for (int ms = 0; ms < patience && !both_have_begun(h); ms++) uv_sleep(1);
    atomic_fetch_add(&h->pieces, 1);
}

static bool start_loop(hr__client *client, int thread)
{
    helped *h = (helped *)client;
    (void)thread;
    if (atomic_exchange(&h->started, 1) == 1) return false;
    hr__parallel_for_group(h->group, -1, SOME, wait_for_caller, h);
    atomic_store(&h->done, 1);
    hr__waiter_call(&h->waiter);
    return true;
}

/* The only worker runs a loop while this thread waits. */
static const helped *loop_of_a_worker(const void *of_loop, const void *of_waiter)
{
    static helped h;
    h = (helped){.client = {.run_one = start_loop, .max_workers = -1}, .group = of_loop, .first = {-1, -1}};
    hr_set_threads(1);
    assert_ok(hr__waiter_begin(&h.waiter, of_waiter, NULL), (&(hr_error){0}));
    assert_ok(hr__pool_join(&h.client, NULL), (&(hr_error){0}));
    hr__pool_wake(&h.client);
    while (!atomic_load(&h.done)) hr__waiter_wait(&h.waiter);
    hr__pool_leave(&h.client);
    hr__waiter_end(&h.waiter);
    assert_int_equal(atomic_load(&h.pieces), SOME);
    return &h;
}

static int pieces_by_a_waiter(const void *of_loop, const void *of_waiter)
{
    return atomic_load(&loop_of_a_worker(of_loop, of_waiter)->by_caller);
}

static void who_waits_helps_with_loops_of_its_group(void **state)
{
    (void)state;
    static const char mine, other;
    assert_more(pieces_by_a_waiter(&mine, &mine), 0);
    assert_int_equal(pieces_by_a_waiter(&other, &mine), 0);
    assert_int_equal(pieces_by_a_waiter(NULL, &mine), 0);
}

/* Whoever begins the loop: else what a thread reads lies in the cache of the one that computed it. */
static void a_thread_begins_with_the_same_range_of_each_loop(void **state)
{
    (void)state;
    static const char mine;
    const helped *h = loop_of_a_worker(&mine, &mine);
    assert_int_equal(atomic_load(&h->first[0]), 0);
    assert_int_equal(atomic_load(&h->first[1]), SOME / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_begins_with_the_same_range_of_each_loop), /* first: there is no second worker yet */
        cmocka_unit_test(a_loop_does_every_piece_once),
        cmocka_unit_test(a_loop_within_a_loop_runs_inline),
        cmocka_unit_test(a_client_gets_no_more_workers_than_it_wants),
        cmocka_unit_test(clients_share_the_workers),
        cmocka_unit_test(who_leaves_waits_for_what_is_running_and_nothing_else),
        cmocka_unit_test(the_number_of_threads_may_change),
        cmocka_unit_test(what_is_running_goes_on_with_the_workers_it_has),
        cmocka_unit_test(who_waits_helps_with_loops_of_its_group),
    };
    return cmocka_run_group_tests(tests, set_threads, NULL);
}
