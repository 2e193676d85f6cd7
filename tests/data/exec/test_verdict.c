/* hr_judge: what binds a run and what would help, from numbers that are made up here; and the reasons for idle threads, as
 * an iterator sees them. */
#include "data/exec/usage.h"
#include "tests/data/conformance.h"
#include <headrace/data.h>
#include <stdio.h>
#include <time.h>

static hr_stage_stats stage_of(const char *name, int depth, double plan, double work, double alive)
{
    hr_stage_stats s = {.depth = depth, .units = 100, .rows = 1000, .plan_seconds = plan, .work_seconds = work};
    snprintf(s.name, sizeof s.name, "%s", name);
    s.alive_seconds = alive;
    s.unit_bytes = 1000;
    return s;
}

/* Ten seconds of two threads, on as many processors: a source and a parse. `caller`: seconds in hr_next. */
static hr_iterator_stats two_stages(double plan, double work, double caller)
{
    hr_iterator_stats s = {.threads = 2, .processors = 2, .seconds = 10, .caller_seconds = caller, .stages = 2};
    s.stage[0] = stage_of("parse", 1, 0.1, work, 10);
    s.stage[1] = stage_of("source", 2, plan, 0.1, 10);
    return s;
}

static hr_verdict judged(hr_iterator_stats s)
{
    hr_verdict v;
    hr_judge(&s, &v);
    return v;
}

static void assert_about(double got, double want)
{
    if (got < 0.99 * want || got > 1.01 * want) fail_msg("got %g, want %g", got, want);
}

static void nothing_has_run(void **state)
{
    (void)state;
    const hr_verdict v = judged((hr_iterator_stats){.threads = 2, .processors = 2, .seconds = 1});
    assert_int_equal(v.by, HR_BOUND_UNKNOWN);
    assert_int_equal(v.stage, -1);
    assert_about(v.next_thread, 1);
    assert_about(v.cache, 1);
}

static void a_consumer_that_is_always_at_work_binds(void **state)
{
    (void)state;
    const hr_verdict v = judged(two_stages(2, 3, 0.5));
    assert_int_equal(v.by, HR_BOUND_CONSUMER);
    assert_about(v.share, 0.95);
    assert_about(v.next_thread, 1); /* it is one thread */
    assert_about(v.cache, 1);
}

static void a_plan_that_never_rests_binds(void **state)
{
    (void)state;
    const hr_verdict v = judged(two_stages(9.5, 3, 10));
    assert_int_equal(v.by, HR_BOUND_PLAN);
    assert_int_equal(v.stage, 1);
    assert_about(v.share, 0.95);
    assert_about(v.next_thread, 1);
    assert_about(v.cache, 9.5 / 1.55); /* the parse is left, which two threads share */
}

static void plans_side_by_side_share_the_time(void **state)
{
    (void)state;
    hr_iterator_stats s = two_stages(9.5, 9.5, 10);
    s.stage[1].alive_seconds = 40; /* four files at a time */
    const hr_verdict v = judged(s);
    assert_int_equal(v.by, HR_BOUND_WORK);
    assert_int_equal(v.stage, 0);
}

static void work_binds_where_threads_are_busy(void **state)
{
    (void)state;
    hr_iterator_stats s = two_stages(4, 15, 10);
    hr_verdict v = judged(s);
    assert_int_equal(v.by, HR_BOUND_WORK);
    assert_int_equal(v.stage, 0);
    assert_about(v.next_thread, 1); /* both processors are in use */
    assert_about(v.next_processor, 1.5);
    s.processors = 8;
    assert_about(judged(s).next_thread, 1.5);
    s.threads = 1, s.caller_seconds = 10, s.seconds = 19.2;
    s.stage[0].alive_seconds = s.stage[1].alive_seconds = 19.2;
    assert_about(judged(s).next_thread, 2);
}

static void who_sleeps_needs_threads_and_no_processor(void **state)
{
    (void)state;
    hr_iterator_stats s = two_stages(0.1, 19, 10);
    s.stage[0].work_asleep = 0.9;
    const hr_verdict v = judged(s);
    assert_int_equal(v.by, HR_BOUND_WORK);
    assert_true(v.asleep);
    assert_about(v.next_thread, 1.5);
}

static void idle_threads_have_a_reason(void **state)
{
    (void)state;
    hr_iterator_stats s = two_stages(1, 8, 10);
    s.window_seconds = 10, s.processors = 8;
    hr_verdict v = judged(s);
    assert_int_equal(v.by, HR_BOUND_WINDOW);
    assert_about(v.share, 0.5);
    assert_about(v.larger_window, 2);
    assert_about(v.next_thread, 1);
    s.window_seconds = 0, s.budget_seconds = 10;
    v = judged(s);
    assert_int_equal(v.by, HR_BOUND_BUDGET);
    assert_about(v.larger_window, 1);
    s.budget_seconds = 0, s.index_seconds = 5;
    v = judged(s);
    assert_int_equal(v.by, HR_BOUND_INDEX);
    assert_about(v.index, 2);
}

/* No share beyond the whole, no gain below 1, and a stage that there is: whatever the times are. */
static void any_numbers_have_a_verdict(void **state)
{
    (void)state;
    static const double times[] = {0, 1e-9, 0.5, 10, 1e12};
    static const int64_t counts[] = {0, 1, INT64_MAX};
    uint64_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        hr_iterator_stats s = {.threads = (int)(hr_random(seed, 0) % 5), .stages = (int)(hr_random(seed, 1) % 4)};
        double *const of_run[] = {&s.processors,     &s.seconds,        &s.wait_seconds, &s.caller_seconds,
                                  &s.window_seconds, &s.budget_seconds, &s.index_seconds};
        for (uint64_t k = 0; k < sizeof of_run / sizeof *of_run; k++) *of_run[k] = times[hr_random(seed, 2 + k) % 5];
        for (int k = 0; k < s.stages; k++) {
            const uint64_t at = 20 + 10 * (uint64_t)k;
            s.stage[k] = stage_of("stage", k + 1, times[hr_random(seed, at) % 5], times[hr_random(seed, at + 1) % 5],
                                  times[hr_random(seed, at + 2) % 5]);
            s.stage[k].units = counts[hr_random(seed, at + 3) % 3];
            s.stage[k].unit_bytes = counts[hr_random(seed, at + 4) % 3];
            s.stage[k].plan_asleep = (double)(hr_random(seed, at + 5) % 2);
        }
        const hr_verdict v = judged(s);
        assert_true(v.share >= 0 && v.share <= 1);
        assert_true(v.stage >= -1 && v.stage < s.stages);
        assert_true(v.next_thread >= 1 && v.next_processor >= 1 && v.larger_window >= 1 && v.index >= 1);
        assert_true(v.cache >= 1 && v.cache_bytes >= 0);
        seed = hr_random(seed, 99);
    }
}

/* ---- as an iterator sees it ---- */

/* One element of sixteen holds up all behind it. */
static hr_status sleepy(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)out, (void)call, (void)user;
    if (*(const int64_t *)hr_get_at(in, 0)->data % 16 == 0) nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    return HR_OK;
}

static hr_verdict judged_run(hr_dataset *ds, const hr_iterate_opts *opts)
{
    const hr_element *e;
    hr_iterator_stats stats;
    hr_verdict v;
    hr_iterator *it = hr_iterate_with(ds, opts);
    while (hr_next(it, &e) == HR_OK) continue;
    assert_null(hr_iterator_error(it));
    hr_iterator_stats_of(it, &stats);
    hr_judge(&stats, &v);
    hr_iterator_free(it);
    return v;
}

static hr_status asleep_always(const hr_element *in, hr_builder *out, hr_call *call, void *user)
{
    (void)in, (void)out, (void)call, (void)user;
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    return HR_OK;
}

static void a_function_that_sleeps_is_found(void **state)
{
    (void)state;
    const int workers = 1;
    const hr_iterate_opts opts = {.struct_size = sizeof opts, .workers = &workers};
    const hr_verdict v = judged_run(hr_map(hr_range(200), asleep_always, NULL), &opts);
    assert_int_equal(v.by, HR_BOUND_WORK);
    assert_true(v.asleep);
    assert_true(v.next_thread > 1.3); /* whatever the processors are */
}

static void a_small_budget_is_found(void **state)
{
    (void)state;
    static const hr_field large = {.name = "image", .dtype = HR_FLOAT, .shape = {.rank = 1, .dims = {1 << 16}}};
    static const hr_schema schema = {.fields = 1, .field = &large};
    const int workers = 1;
    const hr_iterate_opts opts = {.struct_size = sizeof opts, .workers = &workers, .budget = 1 << 17, .unit_rows = 1};
    const hr_verdict v = judged_run(hr_map(hr_range(100), asleep_always, NULL, .output = &schema), &opts);
    assert_int_equal(v.by, HR_BOUND_BUDGET);
}

/* Of a run over records in any order: with a kept index there is nothing to pass over. */
static double index_seconds_of(hr_dataset *ds)
{
    const hr_element *e;
    hr_iterator_stats stats;
    hr_iterator *it = hr_iterate(ds, .seed = 1);
    while (hr_next(it, &e) == HR_OK) continue;
    assert_null(hr_iterator_error(it));
    hr_iterator_stats_of(it, &stats);
    hr_iterator_free(it);
    return stats.index_seconds;
}

static void passes_over_files_without_an_index_are_counted(void **state)
{
    (void)state;
    hr_error err;
    hr_record_writer *writer;
    assert_ok(hr_record_writer_open("records", NULL, &writer, &err), &err);
    for (int i = 0; i < 20000; i++) assert_ok(hr_record_write(writer, "a record", 8, &err), &err);
    assert_ok(hr_record_writer_commit(writer, &err), &err);
    assert_true(index_seconds_of(hr_shuffled_records("records")) > 0);
    assert_true(index_seconds_of(hr_tfrecord("records", .first = 100)) > 0);
    assert_true(index_seconds_of(hr_tfrecord("records")) == 0);
    assert_true(index_seconds_of(hr_shuffled_records("records", .keep_index = true)) > 0);
    assert_true(index_seconds_of(hr_shuffled_records("records")) == 0);
    assert_true(index_seconds_of(hr_tfrecord("records", .first = 100)) == 0);
}

static void a_narrow_window_is_found(void **state)
{
    (void)state;
    const int workers = 1;
    const hr_iterate_opts opts = {.struct_size = sizeof opts, .workers = &workers, .window = 1};
    const hr_verdict v = judged_run(hr_batch(hr_map(hr_range(640), sleepy, NULL), 4), &opts);
    assert_int_equal(v.by, HR_BOUND_WINDOW);
    assert_true(v.larger_window > 1.3);
}

static void a_thread_that_sleeps_is_told_from_one_that_works(void **state)
{
    (void)state;
    usage from = hr__thread_usage(), to;
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    to = hr__thread_usage();
    assert_true(hr__asleep_ns(&from, &to, 20000000) > 10000000);
    const usage busy = {to.cpu_ns + 1000, to.sleeps};
    assert_int_equal(hr__asleep_ns(&to, &busy, 5000), 0); /* it lost its processor, and did not wait */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_has_run),
        cmocka_unit_test(a_consumer_that_is_always_at_work_binds),
        cmocka_unit_test(a_plan_that_never_rests_binds),
        cmocka_unit_test(plans_side_by_side_share_the_time),
        cmocka_unit_test(work_binds_where_threads_are_busy),
        cmocka_unit_test(who_sleeps_needs_threads_and_no_processor),
        cmocka_unit_test(idle_threads_have_a_reason),
        cmocka_unit_test(any_numbers_have_a_verdict),
        cmocka_unit_test(a_function_that_sleeps_is_found),
        cmocka_unit_test(a_small_budget_is_found),
        cmocka_unit_test(passes_over_files_without_an_index_are_counted),
        cmocka_unit_test(a_narrow_window_is_found),
        cmocka_unit_test(a_thread_that_sleeps_is_told_from_one_that_works),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
