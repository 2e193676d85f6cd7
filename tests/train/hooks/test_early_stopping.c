/* Early stopping beside TensorFlow's cases: what is refused, what is passed over, how often it looks. */
#include "tests/testing.h"
#include <headrace/hooks.h>
#include <headrace/ops.h>
#include <math.h>
#include <stdlib.h>

static double now_of(void *now) { return *(double *)now; }

static void write_values(const char *folder, const char *tag, const float *values, int count)
{
    hr_event_writer *w;
    hr_error err = {0};
    assert_ok(hr_event_writer_open(folder, &w, &err), &err);
    for (int i = 0; i < count; i++) assert_ok(hr_event_scalar(w, tag, values[i], 10 * (i + 1), &err), &err);
    hr_event_writer_free(w);
}

static const char *after_five; /* a folder that gets an evaluation after five steps; NULL: none */

/* Runs so many steps, one a second, and gives after how many of them a stop was requested; -1: after none. */
static int run_steps(hr_hook *hook, int runs, double *now, hr_status *st, hr_error *err)
{
    hr_graph *g = hr_graph_new();
    const hr_node step = hr_target(hr_assign_add(hr_global_step(g), hr_scalar(g, HR_INT64, 1)));
    hr_monitored_session *m = hr_monitored_session_new(g, &hook, 1, .now = now_of, .user = now);
    int stopped = -1;
    for (int i = 0; i < runs && stopped < 0 && hr_monitored_run(m, NULL, 0, &step, 1, NULL, NULL) == HR_OK; i++) {
        if (hr_stop_requested(m)) stopped = i + 1;
        if (i == 4 && after_five) write_values(after_five, "loss", (float[]){2}, 1);
        *now += 1;
    }
    *st = hr_monitored_session_close(m, false, err);
    hr_graph_free(g);
    return stopped;
}

static void a_metric_that_is_not_there_is_told(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_status st;
    double now = 0;
    write_values("lacking", "loss", (float[]){1}, 1);
    run_steps(hr_stop_if_lower_hook("lacking", "auc", 0.5, .run_every_steps = 1), 1, &now, &st, &err);
    assert_int_equal(st, HR_NOT_FOUND);
    assert_string_equal(err.kind, "hooks.metric");
    assert_int_equal(run_steps(hr_stop_if_lower_hook("lacking", "auc", 0.5, .run_every_steps = 1, .min_steps = 11), 1,
                               &now, &st, &err),
                     -1);
    assert_ok(st, &err);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_status st;
    double now = 0;
    run_steps(hr_stop_if_no_decrease_hook("none", "loss", 0), 1, &now, &st, &err);
    assert_string_equal(err.kind, "hooks.steps");
    run_steps(hr_stop_if_higher_hook("none", "loss", 1, .run_every_steps = 1, .run_every_secs = 1), 1, &now, &st, &err);
    assert_string_equal(err.kind, "hooks.interval");
    run_steps(hr_stop_if_higher_hook(NULL, "loss", 1), 1, &now, &st, &err);
    assert_string_equal(err.kind, "hooks.argument");
    run_steps(hr_stop_if_higher_hook("none", NULL, 1), 1, &now, &st, &err);
    assert_string_equal(err.kind, "hooks.argument");
}

/* The first look is after the first run, before there is an evaluation; the next one 60 seconds later. */
static void it_looks_once_a_minute(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_status st;
    double now = 1000;
    after_five = "minute";
    assert_int_equal(run_steps(hr_stop_if_higher_hook("minute", "loss", 1), 100, &now, &st, &err), 61);
    after_five = NULL;
    assert_ok(st, &err);
}

static void nan_is_worse_than_any_number(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_status st;
    double now = 0;
    write_values("nan", "loss", (float[]){NAN, 3, 2, 1}, 4);
    assert_int_equal(
        run_steps(hr_stop_if_no_decrease_hook("nan", "loss", 20, .run_every_steps = 1), 1, &now, &st, &err), -1);
    write_values("nan2", "loss", (float[]){3, NAN, NAN}, 3);
    assert_int_equal(
        run_steps(hr_stop_if_no_decrease_hook("nan2", "loss", 20, .run_every_steps = 1), 1, &now, &st, &err), 1);
}

/* Another process may be in the middle of a record. */
static void an_unfinished_record_is_passed_over(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_status st;
    double now = 0;
    write_values("cut", "loss", (float[]){3, 2}, 2);
    assert_int_equal(system("for f in cut/*; do head -c -3 \"$f\" > \"$f.tfevents.cut\" && rm \"$f\"; done"), 0);
    assert_int_equal(run_steps(hr_stop_if_lower_hook("cut", "loss", 2.5, .run_every_steps = 1), 1, &now, &st, &err),
                     -1);
    assert_ok(st, &err);
    assert_int_equal(run_steps(hr_stop_if_lower_hook("cut", "loss", 3.5, .run_every_steps = 1), 1, &now, &st, &err), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_metric_that_is_not_there_is_told),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(it_looks_once_a_minute),
        cmocka_unit_test(nan_is_worse_than_any_number),
        cmocka_unit_test(an_unfinished_record_is_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
