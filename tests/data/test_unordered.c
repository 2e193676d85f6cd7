/* Order that is freed where a user asks: nothing is lost, nothing comes twice, and a state is exact or refused. Every
 * test holds for any interleaving of threads. */
#include "tests/data/conformance.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { COUNT = 200, EPOCHS = 2 };

static int64_t value_of(const hr_element *e) { return *(const int64_t *)hr_get(e, "value")->data; }

static hr_status same(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)call, (void)user;
    const hr_tensor *from = hr_get(in, "value");
    memcpy(hr_set(out, "value"), from->data, (size_t)from->count * sizeof(int64_t));
    return HR_OK;
}

static hr_status refuse_88(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    if (value_of(in) == 88) return hr_call_fail(call, HR_INVALID_ARGUMENT, "refused 88");
    return same(in, out, call, user);
}

static hr_dataset *tens(const hr_element *e, void *user)
{
    (void)user;
    const int64_t n = value_of(e);
    return hr_map(hr_range(10 * n + 10, .start = 10 * n), same, NULL, .unordered = true);
}

/* Each gives 0 to COUNT - 1 EPOCHS times, in any order. */
static hr_dataset *mapped(void)
{
    return hr_repeat(hr_map(hr_range(COUNT), same, NULL, .unordered = true), .count = HR_I64(EPOCHS));
}
static hr_dataset *shuffled(void)
{
    return hr_shuffle(hr_map(hr_repeat(hr_range(COUNT), .count = HR_I64(EPOCHS)), same, NULL, .unordered = true), 20);
}
static hr_dataset *batched(void)
{
    hr_dataset *ds = hr_batch(hr_map(hr_range(COUNT), same, NULL), 8, .unordered = true);
    return hr_unbatch(hr_repeat(ds, .count = HR_I64(EPOCHS)));
}
static hr_dataset *opened(void)
{
    hr_dataset *ds = hr_interleave(hr_range(COUNT / 10), tens, NULL, .unordered = true);
    return hr_cache(hr_repeat(ds, .count = HR_I64(EPOCHS)));
}
static hr_dataset *all_free(void)
{
    hr_dataset *ds = hr_interleave(hr_shuffle(hr_range(COUNT / 10), 5), tens, NULL, .cycle_length = 3);
    ds = hr_unbatch(hr_map(hr_batch(ds, 4), same, NULL, .vectorized = true));
    return hr_options(hr_repeat(ds, .count = HR_I64(EPOCHS)), .unordered = true);
}
static hr_dataset *(*const pipelines[])(void) = {mapped, shuffled, batched, opened, all_free};
enum { PIPELINES = sizeof pipelines / sizeof *pipelines };

static const int worker_counts[] = {0, 1, 2, 8};

/* At most `at_most` further elements. */
static hr_status tally_on(hr_iterator *it, int *seen, int at_most)
{
    const hr_element *e;
    hr_status st = HR_OK;
    for (; at_most > 0 && (st = hr_next(it, &e)) == HR_OK; at_most--) {
        assert_in_range(value_of(e), 0, COUNT - 1);
        seen[value_of(e)]++;
    }
    return st;
}

static void assert_seen(const int *seen, int from, int to, int times)
{
    for (int v = from; v < to; v++)
        if (seen[v] != times) fail_msg("%d came %d times, not %d", v, seen[v], times);
}

static void nothing_is_lost_and_nothing_comes_twice(void **state)
{
    (void)state;
    for (int n = 0; n < PIPELINES * 8; n++) {
        int seen[COUNT] = {0};
        const way w = {.workers = worker_counts[n % 4], .window = n % 3 ? 8 : 0, .unit_rows = n % 2 ? 3 : 1};
        setenv("HEADRACE_STALL", n % 2 ? "1" : "2", 1);
        hr_iterator *it = iterate(pipelines[n / 8](), w);
        unsetenv("HEADRACE_STALL");
        assert_status(tally_on(it, seen, INT32_MAX), HR_END);
        assert_seen(seen, 0, COUNT, EPOCHS);
        hr_iterator_free(it);
    }
}

static void go_on(hr_dataset *ds, const void *saved, size_t size, int *seen)
{
    hr_iterator *it = iterate(ds, (way){.workers = 2, .unit_rows = 2, .state = saved, .state_size = size});
    assert_status(tally_on(it, seen, INT32_MAX), HR_END);
    assert_seen(seen, 0, COUNT, EPOCHS);
    hr_iterator_free(it);
}

/* Returns whether there was a state. */
static bool stop_at(hr_dataset *(*pipeline)(void), int k, way w)
{
    int seen[COUNT] = {0};
    void *saved;
    size_t size;
    hr_error err;
    hr_iterator *it = iterate(pipeline(), w);
    tally_on(it, seen, k);
    const hr_status st = hr_iterator_save(it, &saved, &size, &err);
    hr_iterator_free(it);
    if (st == HR_OK)
        go_on(pipeline(), saved, size, seen);
    else
        assert_string_equal(err.kind, "state.unordered");
    hr_free(saved);
    return st == HR_OK;
}

static void a_state_is_exact_or_refused(void **state)
{
    (void)state;
    for (int n = 0; n < PIPELINES * 6; n++) {
        setenv("HEADRACE_STALL", "3", 1);
        stop_at(pipelines[n / 6], 1 + 61 * (n % 6), (way){.workers = 2 + n % 2, .window = 6, .unit_rows = 1 + n % 3});
        unsetenv("HEADRACE_STALL");
    }
}

static void one_thread_alone_keeps_order(void **state)
{
    (void)state;
    for (int n = 0; n < PIPELINES; n++)
        for (int k = 0; k < 400; k += 133) stop_at(pipelines[n], k, (way){.unit_rows = 3});
    assert_true(stop_at(mapped, 133, (way){.unit_rows = 3}));
    assert_true(stop_at(shuffled, 133, (way){.unit_rows = 3}));
    assert_true(stop_at(batched, 133, (way){.unit_rows = 3}));
    assert_int64_values(hr_map(hr_range(4), same, NULL, .unordered = true), HR_I64(0, 1, 2, 3), 4);
}

/* ---- one that takes its time ---- */

typedef struct late {
    uv_thread_t consumer;
    atomic_bool waiting, given; /* element 0 waits; the consumer has another one */
} late;

/* The consumer's own thread cannot wait for itself. */
static hr_status wait_for_others(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    late *l = user;
    const uv_thread_t self = uv_thread_self();
    if (value_of(in) == 0 && !uv_thread_equal(&self, &l->consumer)) {
        atomic_store(&l->waiting, true);
        for (int ms = 0; ms < 20000 && !atomic_load(&l->given); ms++) uv_sleep(1);
    }
    return same(in, out, call, NULL);
}

static void what_is_done_passes_what_takes_long(void **state)
{
    (void)state;
    int seen[COUNT] = {0};
    const hr_element *e;
    hr_error err;
    void *saved;
    size_t size;
    late l = {.consumer = uv_thread_self()};
    hr_dataset *ds = hr_map(hr_range(COUNT), wait_for_others, &l, .unordered = true);
    hr_iterator *it = iterate(ds, (way){.workers = 2, .window = 4, .unit_rows = 1});
    assert_status(hr_next(it, &e), HR_OK);
    const bool passed = value_of(e) != 0;
    if (atomic_load(&l.waiting)) assert_true(passed);
    seen[value_of(e)]++;
    atomic_store(&l.given, true);
    const hr_status st = hr_iterator_save(it, &saved, &size, &err);
    if (passed) assert_status(st, HR_FAILED_PRECONDITION);
    if (passed) assert_string_equal(err.kind, "state.unordered");
    hr_free(saved);
    assert_status(tally_on(it, seen, INT32_MAX), HR_END);
    assert_seen(seen, 0, COUNT, 1);
    hr_iterator_free(it);
}

static void what_was_before_an_error_comes_before_it(void **state)
{
    (void)state;
    for (int n = 0; n < 8; n++) {
        int seen[COUNT] = {0};
        setenv("HEADRACE_STALL", "5", 1);
        hr_iterator *it = iterate(hr_map(hr_range(COUNT), refuse_88, NULL, .unordered = true),
                                  (way){.workers = worker_counts[n % 4], .window = 8, .unit_rows = 1 + n / 4});
        unsetenv("HEADRACE_STALL");
        assert_status(tally_on(it, seen, INT32_MAX), HR_INVALID_ARGUMENT);
        assert_seen(seen, 0, 88, 1);
        assert_seen(seen, 88, 89, 0);
        hr_iterator_free(it);
    }
}

/* ---- num_parallel_calls, buffers: checked, and no more ---- */

static void parallel_calls_change_nothing(void **state)
{
    (void)state;
    assert_int64_values(hr_map(hr_range(3), same, NULL, .num_parallel_calls = 2), HR_I64(0, 1, 2), 3);
    assert_int64_values(hr_map(hr_range(3), same, NULL, .num_parallel_calls = HR_AUTOTUNE), HR_I64(0, 1, 2), 3);
    assert_int64_values(hr_batch(hr_range(3), 2, .num_parallel_calls = 9), HR_I64(0, 1, 2), 3);
    assert_int64_values(hr_interleave(hr_range(1), tens, NULL, .cycle_length = 2, .num_parallel_calls = 2),
                        HR_I64(0, 1, 2, 3, 4, 5, 6, 7, 8, 9), 10);
    assert_fails(hr_map(hr_range(3), same, NULL, .num_parallel_calls = -2), HR_INVALID_ARGUMENT, "parallel_calls");
    assert_fails(hr_batch(hr_range(3), 2, .num_parallel_calls = -2), HR_INVALID_ARGUMENT, "parallel_calls");
    assert_fails(hr_interleave(hr_range(3), tens, NULL, .cycle_length = 2, .num_parallel_calls = 3),
                 HR_INVALID_ARGUMENT, "parallel_calls");
}

HR_SAMPLE(unordered_map) { return mapped(); }

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost_and_nothing_comes_twice),
        cmocka_unit_test(a_state_is_exact_or_refused),
        cmocka_unit_test(one_thread_alone_keeps_order),
        cmocka_unit_test(what_is_done_passes_what_takes_long),
        cmocka_unit_test(what_was_before_an_error_comes_before_it),
        cmocka_unit_test(parallel_calls_change_nothing),
        HR_CONFORMS_(unordered_map, can_be_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
