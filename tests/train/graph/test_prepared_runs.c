/* Runs that are prepared: callables, whose plan is found once, and runs in parts. */
#include "tests/testing.h"
#include "train/graph/graph_internal.h"

#include <headrace/graphdef.h>
#include <headrace/ops.h>
#include <string.h>

static hr_graph *g;
static hr_session *s;

static int open_session(void **state)
{
    (void)state;
    g = hr_graph_new();
    s = hr_session_new(g, .workers = &(int){0});
    return g && s ? 0 : -1;
}

static int close_session(void **state)
{
    (void)state;
    hr_session_free(s);
    hr_graph_free(g);
    return 0;
}

static hr_node number(double value) { return hr_scalar(g, HR_FLOAT, value); }
static hr_node placeholder(const char *name) { return hr_placeholder(g, HR_FLOAT, HR_SCALAR, .name = name); }
static hr_tensor scalar(const float *value) { return hr_tensor_of(HR_FLOAT, HR_SCALAR, value); }

/* ---- callables ---- */

static float call(const hr_callable *c, float x, float y)
{
    hr_error err;
    hr_tensor out;
    assert_ok(hr_callable_run(c, ((hr_tensor[]){scalar(&x), scalar(&y)}), &out, &err), &err);
    const float value = *(const float *)out.data;
    hr_tensor_clear(&out);
    return value;
}

static void a_callable_computes_what_a_run_does(void **state)
{
    (void)state;
    hr_error err;
    hr_callable *c;
    hr_node x = placeholder("x"), y = placeholder("y"), z = hr_sub(x, y);
    assert_ok(hr_session_make_callable(s, ((hr_node[]){x, y}), 2, &z, 1, &c, &err), &err);
    for (int i = 0; i < 5; i++) assert_exactly(call(c, (float)i, 2), (float)i - 2);
    hr_callable_free(c);
    hr_callable_free(NULL);
}

static void a_callable_gives_variables_and_runs_operations(void **state)
{
    (void)state;
    hr_error err;
    hr_callable *c;
    hr_tensor out[2];
    hr_node v = hr_get_variable(g, "v", HR_FLOAT, HR_SCALAR, .initializer = hr_ones());
    const hr_node init = hr_global_variables_initializer(g), fetches[] = {v, hr_target(hr_assign_add(v, number(1)))};
    assert_ok(hr_session_make_callable(s, NULL, 0, fetches, 2, &c, &err), &err);
    assert_status(hr_callable_run(c, NULL, out, &err), HR_FAILED_PRECONDITION);
    assert_string_equal(hr_session_error(s)->kind, "variable.uninitialized");
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    for (int i = 1; i < 4; i++) {
        assert_ok(hr_callable_run(c, NULL, out, &err), &err);
        assert_exactly(*(float *)out[0].data, i);
        hr_tensor_clear(&out[0]);
    }
    assert_null(hr_session_error(s));
    hr_callable_free(c);
}

static void wrong_feeds_of_a_callable_are_refused(void **state)
{
    (void)state;
    hr_error err;
    hr_callable *c;
    hr_tensor out;
    hr_node x = placeholder("x"), y = hr_neg(x), none = {0};
    const int32_t wrong = 1;
    assert_status(hr_session_make_callable(s, &none, 1, &y, 1, &c, &err), HR_INVALID_ARGUMENT);
    assert_null(c);
    assert_status(hr_session_make_callable(s, NULL, 1, &y, 1, &c, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_session_make_callable(s, &x, 1, NULL, 1, &c, &err), HR_INVALID_ARGUMENT);
    assert_ok(hr_session_make_callable(s, &x, 1, &y, 1, &c, &err), &err);
    const hr_tensor value = hr_tensor_of(HR_INT32, HR_SCALAR, &wrong);
    assert_status(hr_callable_run(c, &value, &out, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "session.feed");
    assert_text_contains(err.text, "feed of node 'x'");
    assert_status(hr_callable_run(c, NULL, &out, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_callable_run(NULL, &value, &out, &err), HR_INVALID_ARGUMENT);
    hr_callable_free(c);
}

/* More plans than a session keeps come and go; calls then allocate nothing, so that the plan was there. */
static void a_callable_keeps_its_plan(void **state)
{
    (void)state;
    hr_error err;
    hr_callable *c;
    hr_node x = placeholder("x"), y = placeholder("y"), z = hr_mul(x, y);
    assert_ok(hr_session_make_callable(s, ((hr_node[]){x, y}), 2, &z, 1, &c, &err), &err);
    for (int i = 0; i < 4; i++) assert_exactly(call(c, 3, (float)i), 3 * i);
    for (int i = 0; i < 2 * HR__MAX_PLANS; i++) {
        hr_tensor out;
        const hr_node other = hr_add(number(i), number(1));
        assert_ok(hr_session_run(s, NULL, 0, &other, 1, &out, &err), &err);
        hr_tensor_clear(&out);
    }
    fail_allocation(-1);
    for (int i = 0; i < 4; i++) assert_exactly(call(c, 3, (float)i), 3 * i);
    assert_int_equal(allocations_since(), 0);
    hr_callable_free(c);
}

typedef struct caller {
    const hr_callable *c;
    float x;
    int wrong;
} caller;

static void call_often(void *user)
{
    caller *one = user;
    hr_error err;
    hr_tensor out, value = scalar(&one->x);
    for (int i = 0; i < 200; i++) {
        const bool fine = hr_callable_run(one->c, &value, &out, &err) == HR_OK;
        one->wrong += !fine || *(const float *)out.data != one->x + 1;
        if (fine) hr_tensor_clear(&out);
    }
}

static void several_threads_run_one_callable(void **state)
{
    (void)state;
    enum { MANY = 4 };
    hr_error err;
    hr_callable *c;
    uv_thread_t thread[MANY];
    caller one[MANY];
    hr_node x = placeholder("x"), y = hr_add(hr_identity(x), number(1));
    assert_ok(hr_session_make_callable(s, &x, 1, &y, 1, &c, &err), &err);
    for (int i = 0; i < MANY; i++) one[i] = (caller){c, (float)i, 0};
    for (int i = 0; i < MANY; i++) assert_int_equal(uv_thread_create(&thread[i], call_often, &one[i]), 0);
    for (int i = 0; i < MANY; i++) uv_thread_join(&thread[i]);
    for (int i = 0; i < MANY; i++) assert_exactly(one[i].wrong, 0);
    hr_callable_free(c);
}

/* ---- runs in parts ---- */

/* b = a + 1 + v; c = b * y; the count goes up each time that b is computed. */
typedef struct parts {
    hr_node x, y, v, b, c, count;
    hr_partial *run;
} parts;

static parts begin_parts(void)
{
    hr_error err;
    parts p = {.x = placeholder("x"), .y = placeholder("y")};
    p.v = hr_get_variable(g, "v", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros());
    p.count = hr_assign_add(p.v, hr_identity(p.x));
    p.b = hr_add(hr_identity(p.x), number(1), .name = "b");
    p.c = hr_mul(p.b, p.y, .name = "c");
    const hr_node init = hr_global_variables_initializer(g);
    const hr_node feeds[] = {p.x, p.y}, fetches[] = {p.b, p.c, hr_target(p.count), p.x};
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    assert_ok(hr_partial_run_setup(s, feeds, 2, fetches, 4, &p.run, &err), &err);
    return p;
}

static void part_gives(hr_partial *p, const hr_feed *feeds, int count, hr_node fetch, float expected)
{
    hr_error err;
    hr_tensor out;
    assert_ok(hr_partial_run(p, feeds, count, &fetch, 1, &out, &err), &err);
    assert_exactly(*(const float *)out.data, expected);
    hr_tensor_clear(&out);
}

static void part_fails(hr_partial *p, const hr_feed *feeds, int count, hr_node fetch, const char *text)
{
    hr_error err;
    hr_tensor out;
    assert_status(hr_partial_run(p, feeds, count, &fetch, 1, &out, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "session.partial");
    assert_text_contains(err.text, text);
}

static hr_feed feed_of(hr_node node, const float *value) { return (hr_feed){node, scalar(value)}; }

static void what_a_part_computes_stays_for_the_next_one(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor v;
    parts p = begin_parts();
    float x = 4, y = 10;
    const hr_feed first = feed_of(p.x, &x), second = feed_of(p.y, &y);
    part_gives(p.run, &first, 1, p.b, 5);
    x = -1; /* what was fed was copied */
    part_gives(p.run, &second, 1, p.c, 50);
    part_gives(p.run, NULL, 0, p.x, 4);
    assert_ok(hr_session_get(s, p.v, &v, &err), &err);
    assert_exactly(*(float *)v.data, 4); /* once, and without being fetched */
    hr_tensor_clear(&v);
    hr_partial_free(p.run);
    hr_partial_free(NULL);
}

static void mistakes_of_a_part_change_nothing(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out;
    parts p = begin_parts();
    const float four = 4, ten = 10;
    const hr_feed x = feed_of(p.x, &four), y = feed_of(p.y, &ten), b = feed_of(p.b, &four), twice[] = {x, x};
    part_fails(NULL, NULL, 0, p.b, "expected one of hr_partial_run_setup, got NULL");
    part_fails(p.run, NULL, 0, p.b, "what can be computed from what is fed so far, got 'b'");
    part_fails(p.run, &x, 1, p.c, "what can be computed from what is fed so far, got 'c'");
    part_fails(p.run, NULL, 0, p.x, "what can be computed from what is fed so far, got 'x'");
    part_fails(p.run, &b, 1, p.b, "got 'b' which it was not given");
    part_fails(p.run, twice, 2, p.b, "got 'x' again");
    part_fails(p.run, &x, 1, p.v, "got 'v' which it was not given");
    part_fails(p.run, NULL, 1, p.b, "expected 1 feeds and 1 fetches, got NULL");
    const hr_feed wrong = {p.x, hr_tensor_of(HR_FLOAT, HR_SHAPE(1), &four)};
    assert_status(hr_partial_run(p.run, &wrong, 1, &p.b, 1, &out, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "session.feed");
    part_gives(p.run, &x, 1, p.b, 5);
    part_fails(p.run, &x, 1, p.x, "got 'x' again");
    part_fails(p.run, NULL, 0, p.b, "got 'b' again");
    part_gives(p.run, &y, 1, p.c, 50);
    hr_partial_free(p.run);
}

static void a_part_may_fetch_nothing(void **state)
{
    (void)state;
    hr_error err;
    parts p = begin_parts();
    const float four = 4, ten = 10;
    const hr_feed x = feed_of(p.x, &four), y = feed_of(p.y, &ten);
    assert_ok(hr_partial_run(p.run, &y, 1, NULL, 0, NULL, &err), &err);
    assert_ok(hr_partial_run(p.run, &x, 1, &(hr_node){0}, 0, NULL, &err), &err);
    part_gives(p.run, NULL, 0, p.c, 50);
    hr_partial_free(p.run);
}

static void after_a_part_that_failed_all_fail(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out;
    hr_partial *p;
    hr_node x = hr_placeholder(g, HR_INT32, HR_SCALAR), y = hr_placeholder(g, HR_INT32, HR_SCALAR);
    hr_node quotient = hr_floor_div(hr_scalar(g, HR_INT32, 7), x), sum = hr_add(hr_identity(x), y);
    assert_ok(hr_partial_run_setup(s, ((hr_node[]){x, y}), 2, ((hr_node[]){quotient, sum}), 2, &p, &err), &err);
    const hr_feed zero = {x, hr_tensor_of(HR_INT32, HR_SCALAR, &(int32_t){0})},
                  one = {y, hr_tensor_of(HR_INT32, HR_SCALAR, &(int32_t){1})};
    assert_status(hr_partial_run(p, &zero, 1, NULL, 0, NULL, &err), HR_INVALID_ARGUMENT);
    assert_text_contains(err.text, "node 'FloorDiv'");
    assert_status(hr_partial_run(p, &one, 1, &sum, 1, &out, &err), HR_FAILED_PRECONDITION);
    assert_text_contains(err.text, "expected no part to have failed, but: node 'FloorDiv'");
    hr_partial_free(p);
    const hr_feed both[] = {{x, one.value}, one};
    assert_ok(hr_session_run(s, both, 2, &quotient, 1, &out, &err), &err);
    hr_tensor_clear(&out);
}

static void a_part_takes_options_and_is_cancelled(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out;
    hr_run_stats *stats;
    parts p = begin_parts();
    const float four = 4;
    const hr_feed x = feed_of(p.x, &four);
    assert_ok(hr_partial_run_with(p.run, &x, 1, &p.b, 1, &out, HR_RUN_OPTS(.stats = &stats), &err), &err);
    hr_tensor_clear(&out);
    assert_more(stats->count, 1);
    hr_run_stats_free(stats);
    hr_session_cancel(s);
    assert_status(hr_partial_run(p.run, NULL, 0, &p.x, 1, &out, &err), HR_CANCELLED);
    hr_partial_free(p.run);
}

static void what_comes_after_a_feed_waits_for_it(void **state)
{
    (void)state;
    hr_error err;
    hr_partial *p;
    hr_node x = placeholder("x"), y = placeholder("y");
    hr_control_dependencies(g, &y, 1);
    hr_node after = hr_neg(x, .name = "after");
    hr_control_end(g);
    assert_ok(hr_partial_run_setup(s, ((hr_node[]){x, y}), 2, &after, 1, &p, &err), &err);
    const float one = 1;
    part_fails(p, &(hr_feed){x, scalar(&one)}, 1, after, "what can be computed from what is fed so far, got 'after'");
    part_gives(p, (hr_feed[]){{x, scalar(&one)}, {y, scalar(&one)}}, 2, after, -1);
    hr_partial_free(p);
}

/* Other runs of the session go on meanwhile, also with the same plan. */
static void parts_of_two_runs_do_not_see_each_other(void **state)
{
    (void)state;
    hr_error err;
    hr_partial *p[2];
    hr_node x = placeholder("x"), y = placeholder("y"), b = hr_add(hr_identity(x), number(1)), c = hr_mul(b, y);
    for (int i = 0; i < 2; i++)
        assert_ok(hr_partial_run_setup(s, ((hr_node[]){x, y}), 2, ((hr_node[]){b, c}), 2, &p[i], &err), &err);
    const float value[] = {1, 2, 3};
    part_gives(p[0], &(hr_feed){x, scalar(&value[0])}, 1, b, 2);
    part_gives(p[1], &(hr_feed){x, scalar(&value[1])}, 1, b, 3);
    part_gives(p[0], &(hr_feed){y, scalar(&value[2])}, 1, c, 6);
    part_gives(p[1], &(hr_feed){y, scalar(&value[2])}, 1, c, 9);
    for (int i = 0; i < 2; i++) hr_partial_free(p[i]);
}

/* ---- allocations that fail ---- */

static hr_status life(hr_error *err)
{
    hr_callable *c = NULL;
    hr_partial *p = NULL;
    hr_run_stats *stats = NULL;
    char *bytes = NULL;
    size_t size = 0;
    hr_tensor out = {0};
    hr_status st = HR_RESOURCE_EXHAUSTED;
    const float one = 1, two = 2;
    hr_graph *graph = hr_graph_new();
    hr_session *session = graph ? hr_session_new(graph, .workers = &(int){0}, .memory_limit = 1 << 20) : NULL;
    if (session) {
        hr_node x = hr_placeholder(graph, HR_FLOAT, HR_SCALAR), y = hr_placeholder(graph, HR_FLOAT, HR_SCALAR);
        hr_node sum = hr_add(x, y), minus = hr_neg(x), feeds[] = {x, y}, fetches[] = {sum, minus};
        const hr_tensor values[] = {scalar(&one), scalar(&two)};
        const hr_feed first = {x, values[0]}, second = {y, values[1]};
        st = hr_session_make_callable(session, feeds, 2, &sum, 1, &c, err);
        if (st == HR_OK) st = hr_callable_run_with(c, values, &out, HR_RUN_OPTS(.timeout = 60, .stats = &stats), err);
        hr_tensor_clear(&out);
        if (st == HR_OK) st = hr_run_stats_trace(stats, "trace.json", err);
        if (st == HR_OK) st = hr_run_stats_export(stats, &bytes, &size, err);
        if (st == HR_OK) st = hr_partial_run_setup(session, feeds, 2, fetches, 2, &p, err);
        if (st == HR_OK) st = hr_partial_run(p, &first, 1, &minus, 1, &out, err);
        hr_tensor_clear(&out);
        if (st == HR_OK) st = hr_partial_run(p, &second, 1, &sum, 1, &out, err);
        hr_tensor_clear(&out);
    }
    hr_free(bytes);
    hr_run_stats_free(stats);
    hr_callable_free(c);
    hr_partial_free(p);
    hr_session_free(session);
    hr_graph_free(graph);
    return st;
}

static void each_allocation_may_fail(void **state)
{
    (void)state;
    hr_error err = {0};
    assert_ok(life(&err), &err);
    const int64_t before = allocations_alive();
    fail_allocation(-1);
    assert_ok(life(&err), &err);
    const int64_t all = allocations_since();
    assert_more(all, 30);
    for (int64_t n = 0; n < all; n++) {
        fail_allocation(n);
        const hr_status st = life(&err);
        allocations_since();
        if (st != HR_RESOURCE_EXHAUSTED)
            fail_msg("allocation %d of %d failed, and the answer was %s", (int)n, (int)all, hr_status_name(st));
        if (allocations_alive() != before) fail_msg("allocation %d failed, and memory is lost", (int)n);
    }
}

#define IN_A_SESSION(test) cmocka_unit_test_setup_teardown(test, open_session, close_session)

/* ---- libraries of kernels ---- */

static atomic_int loads;

static void count_load(void) { atomic_fetch_add(&loads, 1); }

static hr_status loaded_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, HR_SCALAR, &out, err));
    *(float *)out->data = 1;
    return HR_OK;
}

static const hr_graph_op loaded = {
    .head = HR_GRAPH_OP_HEAD,
    .name = "Test>Loaded",
    .inputs = "",
    .outputs = "y:float",
    .shape = hr_infer_scalar,
    .load = count_load,
    .compute = loaded_compute,
};

/* The first of this program's tests: no session has loaded anything before. */
static void the_first_session_alone_loads_what_its_kernels_need(void **state)
{
    (void)state;
    hr_set_threads(2);
    hr_graph *empty = hr_graph_new(), *graph = hr_graph_new();
    hr_graph_use(graph, &loaded);
    (void)hr_new_node(graph, "Test>Loaded", .input_count = 0);
    hr_session_free(hr_session_new(empty));
    assert_int_equal(atomic_load(&loads), 0);
    hr_session_free(hr_session_new(graph, .workers = &(int){0})); /* which has no thread but the caller's */
    assert_int_equal(atomic_load(&loads), 0);
    for (int i = 0; i < 2; i++) {
        hr_session_free(hr_session_new(graph)); /* waits for the loader */
        assert_int_equal(atomic_load(&loads), 1);
    }
    hr_graph_free(empty);
    hr_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_session_alone_loads_what_its_kernels_need),
        IN_A_SESSION(a_callable_computes_what_a_run_does),
        IN_A_SESSION(a_callable_gives_variables_and_runs_operations),
        IN_A_SESSION(wrong_feeds_of_a_callable_are_refused),
        IN_A_SESSION(a_callable_keeps_its_plan),
        IN_A_SESSION(several_threads_run_one_callable),
        IN_A_SESSION(what_a_part_computes_stays_for_the_next_one),
        IN_A_SESSION(mistakes_of_a_part_change_nothing),
        IN_A_SESSION(a_part_may_fetch_nothing),
        IN_A_SESSION(after_a_part_that_failed_all_fail),
        IN_A_SESSION(a_part_takes_options_and_is_cancelled),
        IN_A_SESSION(what_comes_after_a_feed_waits_for_it),
        IN_A_SESSION(parts_of_two_runs_do_not_see_each_other),
        cmocka_unit_test(each_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
