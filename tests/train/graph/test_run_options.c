/* What a run is told: how long it may take, how much memory, how many threads; and what it tells of its nodes. */
#include "tests/testing.h"
#include "proto/step_stats.pb-c.h"
#include "train/graph/graph_internal.h"

#include <cJSON.h>
#include <headrace/graphdef.h>
#include <headrace/ops.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static hr_graph *g;
static hr_session *s;

static int open_session(void **state)
{
    (void)state;
    hr_set_threads(3);
    g = hr_graph_new();
    s = hr_session_new(g, .passes = "none");
    return g && s ? 0 : -1;
}

static int close_session(void **state)
{
    (void)state;
    hr_session_free(s);
    hr_graph_free(g);
    return 0;
}

static hr_node number(float value) { return hr_scalar(g, HR_FLOAT, (double)value); }

static void run(hr_node node)
{
    hr_error err;
    const hr_node target = hr_target(node);
    assert_ok(hr_session_run(s, NULL, 0, &target, 1, NULL, &err), &err);
}

static float value_of(hr_node node)
{
    hr_error err;
    hr_tensor out;
    assert_ok(hr_session_run(s, NULL, 0, &node, 1, &out, &err), &err);
    const float value = *(const float *)out.data;
    hr_tensor_clear(&out);
    return value;
}

/* ---- time ---- */

static void always(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)vars, (void)user;
    results[0] = hr_const_number(graph, HR_BOOL, 1, NULL);
}

static void turn(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)graph;
    if (user) hr_assign_add(*(const hr_node *)user, vars[0]);
    results[0] = hr_identity(vars[0]);
}

static void leave_as_it_is(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)graph, (void)user;
    results[0] = vars[0];
}

static void is_late(hr_node fetch, const hr_run_opts *opts)
{
    hr_error err;
    hr_tensor out;
    assert_status(hr_session_run_with(s, NULL, 0, &fetch, 1, &out, opts, &err), HR_DEADLINE_EXCEEDED);
    assert_string_equal(err.kind, "session.timeout");
    assert_text_contains(err.text, "longer than its 0.02 seconds");
    assert_string_equal(hr_session_error(s)->kind, "session.timeout");
}

static void an_endless_loop_ends_in_time_and_its_effects_stay(void **state)
{
    (void)state;
    hr_node out, w = hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros()), one = number(1);
    hr_while_loop(always, turn, &w, &one, 1, &out);
    run(hr_global_variables_initializer(g));
    for (int i = 0; i < 2; i++) {
        s->always_parallel = i;
        is_late(out, HR_RUN_OPTS(.timeout = 0.02));
    }
    assert_more(value_of(w), 1);
}

static void a_loop_that_runs_no_node_ends_in_time(void **state)
{
    (void)state;
    hr_node out, first = number(1);
    hr_while_loop(always, leave_as_it_is, NULL, &first, 1, &out);
    is_late(out, HR_RUN_OPTS(.timeout = 0.02));
}

/* f(n) = n > 0 ? f(n - 1) + f(n - 1) : n takes 2^60 calls, which are never too deep. */
static void calls_without_number_end_in_time(void **state)
{
    (void)state;
    const hr_func self = {"f", NULL, 0}, ends = {"ends", NULL, 0}, goes_on = {"goes_on", NULL, 0};
    const hr_dtype floats[] = {HR_FLOAT};
    hr_graph *end = hr_function_begin(g, "ends");
    const hr_node last = hr_function_input(end, HR_FLOAT, HR_SCALAR, "n");
    hr_function_end(end, &last, 1);
    hr_graph *more = hr_function_begin(g, "goes_on");
    hr_node less = hr_sub(hr_function_input(more, HR_FLOAT, HR_SCALAR, "n"), hr_scalar(more, HR_FLOAT, 1)), half[2];
    for (int i = 0; i < 2; i++)
        half[i] = hr_new_node(more, "StatefulPartitionedCall", HR_INPUTS(less),
                              HR_ATTRS(HR_FUNC_ATTR("f", &self), HR_TYPES_ATTR("Tout", floats, 1)));
    const hr_node sum = hr_add(half[0], half[1]);
    hr_function_end(more, &sum, 1);
    hr_graph *body = hr_function_begin(g, "f");
    const hr_node n = hr_function_input(body, HR_FLOAT, HR_SCALAR, "n");
    const hr_node chosen = hr_new_node(body, "If", HR_INPUTS(hr_greater(n, hr_scalar(body, HR_FLOAT, 0)), n),
                                       HR_ATTRS(HR_FUNC_ATTR("then_branch", &goes_on),
                                                HR_FUNC_ATTR("else_branch", &ends), HR_TYPES_ATTR("Tout", floats, 1)));
    const hr_function *f = hr_function_end(body, &chosen, 1);
    hr_node out, first = number(60);
    hr_call_function(f, &first, 1, &out);
    is_late(out, HR_RUN_OPTS(.timeout = 0.02));
}

static hr_status wait_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    while (!hr_kernel_cancelled(k)) uv_sleep(1);
    HR_TRY(hr_kernel_output(k, 0, HR_SCALAR, &out, err));
    *(float *)out->data = 0;
    return HR_OK;
}

static const hr_graph_op waits = {
    .head = HR_GRAPH_OP_HEAD,
    .name = "Test>Waits",
    .inputs = "",
    .outputs = "y:float",
    .traits = HR_STATEFUL,
    .compute = wait_compute,
};

static void a_kernel_that_waits_sees_that_time_is_over(void **state)
{
    (void)state;
    hr_graph_use(g, &waits);
    is_late(hr_neg(hr_new_node(g, "Test>Waits", .input_count = 0)), HR_RUN_OPTS(.timeout = 0.02));
}

static void a_session_has_a_time_for_runs_that_say_none(void **state)
{
    (void)state;
    hr_node out, first = number(1);
    hr_while_loop(always, turn, NULL, &first, 1, &out);
    hr_session_free(s);
    s = hr_session_new(g, .timeout = 0.02);
    is_late(out, NULL);
    is_late(out, HR_RUN_OPTS(.memory_limit = 1 << 20));
    is_late(out, HR_RUN_OPTS(.timeout = 0.02));
    assert_exactly(value_of(hr_add(first, first)), 2);
}

static void times_and_limits_that_are_none_are_refused(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out;
    const hr_node one = number(1);
    const hr_run_opts *wrong[] = {HR_RUN_OPTS(.timeout = -1), HR_RUN_OPTS(.timeout = (double)NAN),
                                  HR_RUN_OPTS(.memory_limit = -1)};
    for (int i = 0; i < 3; i++) {
        assert_status(hr_session_run_with(s, NULL, 0, &one, 1, &out, wrong[i], &err), HR_INVALID_ARGUMENT);
        assert_string_equal(err.kind, "session.options");
    }
    assert_ok(hr_session_run_with(s, NULL, 0, &one, 1, &out, HR_RUN_OPTS(.timeout = (double)INFINITY), &err), &err);
    hr_tensor_clear(&out);
}

/* ---- memory ---- */

/* rows * columns zeros, whose number only the run knows. */
static hr_node filled(hr_node *shape)
{
    *shape = hr_placeholder(g, HR_INT32, HR_SHAPE(2), .name = "shape");
    return hr_fill(*shape, number(0));
}

static hr_status run_filled(hr_node shape, hr_node fetch, int32_t rows, int32_t columns, const hr_run_opts *opts,
                            hr_error *err)
{
    const int32_t dims[] = {rows, columns};
    const hr_feed feed = {shape, hr_tensor_of(HR_INT32, HR_SHAPE(2), dims)};
    const hr_node target = hr_target(fetch);
    return hr_session_run_with(s, &feed, 1, &target, 1, NULL, opts, err);
}

static void a_huge_tensor_is_refused_before_it_is_allocated(void **state)
{
    (void)state;
    hr_error err;
    hr_node shape, zeros = filled(&shape);
    assert_ok(run_filled(shape, zeros, 1 << 10, 100, HR_RUN_OPTS(.memory_limit = 1 << 20), &err), &err);
    watch_memory();
    assert_status(run_filled(shape, zeros, 1 << 20, 1 << 10, HR_RUN_OPTS(.memory_limit = 1 << 20), &err),
                  HR_RESOURCE_EXHAUSTED);
    assert_less(most_memory(), 1 << 16);
    assert_string_equal(err.kind, "session.memory");
    assert_text_contains(err.text, "node 'Fill' (Fill)");
    assert_text_contains(err.text, "at most 1048576 bytes, but 0 are in use and 4294967296 more are needed");
    assert_ok(run_filled(shape, zeros, 1 << 10, 1 << 10, NULL, &err), &err);
}

static void wants_more(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_less(vars[0], hr_scalar(graph, HR_FLOAT, 300));
}

static void takes_memory(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    const hr_node zeros = hr_fill(*(const hr_node *)user, vars[0]);
    results[0] = hr_add(vars[0], hr_add(hr_reduce_max(hr_sub(zeros, vars[0])), hr_scalar(graph, HR_FLOAT, 1)));
}

static void memory_that_is_given_back_may_be_taken_again(void **state)
{
    (void)state;
    hr_error err;
    hr_node out, first = number(0), shape = hr_placeholder(g, HR_INT32, HR_SHAPE(2));
    hr_while_loop(wants_more, takes_memory, &shape, &first, 1, &out);
    assert_ok(run_filled(shape, out, 64, 256, HR_RUN_OPTS(.memory_limit = 1 << 18), &err), &err);
    assert_status(run_filled(shape, out, 64, 2560, HR_RUN_OPTS(.memory_limit = 1 << 18), &err), HR_RESOURCE_EXHAUSTED);
    assert_text_contains(err.text, "node 'Fill' (Fill), made at ");
}

static hr_status scratch_compute(hr_kernel *k, hr_error *err)
{
    if (!hr_kernel_temp(k, 1 << 20)) return hr_no_memory(err, "scratch");
    return hr_kernel_pass(k, 0, 0, k->input[0]->shape, err);
}

static const hr_graph_op scratch = {
    .head = HR_GRAPH_OP_HEAD,
    .name = "Test>Scratch",
    .inputs = "x:float",
    .outputs = "y:float",
    .traits = HR_STATEFUL,
    .compute = scratch_compute,
};

static void what_kernels_work_with_counts(void **state)
{
    (void)state;
    hr_error err;
    hr_graph_use(g, &scratch);
    const hr_node y = hr_target(hr_new_node(g, "Test>Scratch", HR_INPUTS(number(1))));
    run(y);
    const hr_status st = hr_session_run_with(s, NULL, 0, &y, 1, NULL, HR_RUN_OPTS(.memory_limit = 1000), &err);
    assert_status(st, HR_RESOURCE_EXHAUSTED);
    assert_string_equal(err.kind, "session.memory");
    assert_text_contains(err.text, "node 'Scratch' (Test>Scratch)");
}

static void texts_of_strings_count(void **state)
{
    (void)state;
    enum { SIZE = 100000 };
    hr_error err;
    hr_tensor out;
    char *bytes = calloc(1, SIZE);
    const hr_view text = {bytes, SIZE};
    const hr_node x = hr_placeholder(g, HR_STRING, HR_SCALAR), y = hr_new_node(g, "Add", HR_INPUTS(x, x));
    const hr_feed feed = {x, hr_tensor_of(HR_STRING, HR_SCALAR, &text)};
    assert_status(hr_session_run_with(s, &feed, 1, &y, 1, &out, HR_RUN_OPTS(.memory_limit = SIZE), &err),
                  HR_RESOURCE_EXHAUSTED);
    assert_string_equal(err.kind, "session.memory");
    assert_ok(hr_session_run_with(s, &feed, 1, &y, 1, &out, HR_RUN_OPTS(.memory_limit = 4 * SIZE), &err), &err);
    assert_int_equal(((const hr_view *)out.data)->size, 2 * SIZE);
    hr_tensor_clear(&out);
    free(bytes);
}

/* What stays of a run, in a variable or with the user, outlives what counted it. */
static void values_outlive_the_run_that_was_counted(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out;
    hr_node v = hr_get_variable(g, "v", HR_FLOAT, HR_SHAPE(1000), .initializer = hr_zeros());
    const hr_node init = hr_global_variables_initializer(g), more = hr_assign_add(v, hr_add(v, number(1)));
    hr_session_free(s);
    s = hr_session_new(g, .memory_limit = 10000);
    run(init);
    for (int i = 0; i < 5; i++) {
        run(more);
        assert_ok(hr_session_run(s, NULL, 0, &v, 1, &out, &err), &err);
        assert_exactly(*(float *)out.data, (float)((1 << (i + 1)) - 1));
        if (i < 4) hr_tensor_clear(&out);
    }
    hr_session_free(s);
    s = NULL;
    assert_exactly(((float *)out.data)[999], 31);
    hr_tensor_clear(&out);
}

/* ---- threads ---- */

static atomic_int inside, most;

static void piece(int64_t first, int64_t last, void *user)
{
    (void)first, (void)last, (void)user;
    const int now = atomic_fetch_add(&inside, 1) + 1;
    for (int was = atomic_load(&most); was < now && !atomic_compare_exchange_weak(&most, &was, now);) {}
    uv_sleep(2);
    atomic_fetch_sub(&inside, 1);
}

static hr_status pieces_compute(hr_kernel *k, hr_error *err)
{
    hr_kernel_parallel(k, 16, 1e6, piece, NULL);
    return hr_kernel_pass(k, 0, 0, k->input[0]->shape, err);
}

static const hr_graph_op in_pieces = {
    .head = HR_GRAPH_OP_HEAD,
    .name = "Test>Pieces",
    .inputs = "x:float",
    .outputs = "y:float",
    .traits = HR_STATEFUL,
    .compute = pieces_compute,
};

static int threads_of_a_kernel(const int *workers, const int *kernel_workers, hr_node y)
{
    atomic_store(&most, 0);
    hr_session_free(s);
    s = hr_session_new(g, .workers = workers, .kernel_workers = kernel_workers);
    run(y);
    return atomic_load(&most);
}

static void a_kernel_has_as_many_workers_as_it_may_have(void **state)
{
    (void)state;
    hr_graph_use(g, &in_pieces);
    const hr_node y = hr_new_node(g, "Test>Pieces", HR_INPUTS(number(1)));
    assert_exactly(threads_of_a_kernel(NULL, &(int){0}, y), 1);
    assert_exactly(threads_of_a_kernel(NULL, &(int){1}, y), 2);
    assert_exactly(threads_of_a_kernel(&(int){0}, NULL, y), 1);
    assert_more(threads_of_a_kernel(NULL, NULL, y), 1);
}

/* ---- what the nodes did ---- */

static const hr_node_stats *stats_of(const hr_run_stats *stats, const char *name, int64_t from)
{
    for (int64_t i = from; i < stats->count; i++)
        if (strcmp(stats->nodes[i].name, name) == 0) return &stats->nodes[i];
    fail_msg("no node '%s' among %d", name, (int)stats->count);
    return NULL;
}

static void below_three(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_less(vars[0], hr_scalar(graph, HR_FLOAT, 3), .name = "check");
}

static void one_more(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_add(vars[0], hr_scalar(graph, HR_FLOAT, 1), .name = "more");
}

/* A loop in a loop: the outer one runs once, the inner one three times. */
static void inner_loop(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)graph;
    hr_while_loop(below_three, one_more, user, vars, 1, results, .name = "inner");
}

static hr_run_stats *recorded(hr_node fetch)
{
    hr_error err;
    hr_tensor out;
    hr_run_stats *stats;
    assert_ok(hr_session_run_with(s, NULL, 0, &fetch, 1, &out, HR_RUN_OPTS(.stats = &stats), &err), &err);
    assert_exactly(*(float *)out.data, 3);
    hr_tensor_clear(&out);
    return stats;
}

static void nodes_of_functions_are_recorded_with_their_calls(void **state)
{
    (void)state;
    hr_node out, first = hr_neg(number(0), .name = "first");
    hr_while_loop(below_three, inner_loop, NULL, &first, 1, &out, .name = "outer");
    for (int run = 0; run < 8; run++) {
        s->always_parallel = run % 2;
        hr_run_stats *stats = recorded(out);
        const hr_node_stats *outer = stats_of(stats, "outer", 0), *more = stats_of(stats, "more", 0);
        assert_string_equal(outer->calls, "");
        assert_string_equal(outer->function, "");
        assert_exactly(outer->bytes, 4);
        assert_string_equal(more->op, "AddV2");
        assert_string_equal(more->calls, "outer;inner");
        assert_text_contains(more->function, "while_body");
        assert_at_least(more->begin, outer->begin);
        assert_at_most(more->end, outer->end);
        assert_at_most(outer->end, stats->nanoseconds);
        assert_more(stats->started, INT64_C(1600000000) * 1000000);
        int rounds = 0;
        for (int64_t i = 0; i < stats->count; i++) {
            rounds += strcmp(stats->nodes[i].name, "more") == 0;
            assert_at_least(stats->nodes[i].begin, i ? stats->nodes[i - 1].begin : 0);
            assert_at_least(stats->nodes[i].end, stats->nodes[i].begin);
        }
        assert_exactly(rounds, 3);
        hr_run_stats_free(stats);
    }
}

static void what_was_recorded_outlives_session_and_graph(void **state)
{
    (void)state;
    hr_run_stats *stats = recorded(hr_add(number(1), number(2), .name = "sum"));
    hr_session_free(s);
    hr_graph_free(g);
    s = NULL;
    g = NULL;
    assert_string_equal(stats_of(stats, "sum", 0)->op, "AddV2");
    hr_run_stats_free(stats);
}

static void a_run_that_fails_tells_what_it_did(void **state)
{
    (void)state;
    hr_error err;
    hr_run_stats *stats;
    hr_node out, one = number(1), endless;
    hr_while_loop(always, turn, NULL, &one, 1, &endless);
    out = hr_target(endless);
    assert_status(hr_session_run_with(s, NULL, 0, &out, 1, NULL, HR_RUN_OPTS(.timeout = 0.01, .stats = &stats), &err),
                  HR_DEADLINE_EXCEEDED);
    assert_string_equal(stats_of(stats, "Identity", 0)->calls, "while");
    assert_at_most(stats->count, 1 << 20);
    hr_run_stats_free(stats);
    out = (hr_node){0};
    stats = (hr_run_stats *)&err;
    assert_not_ok(hr_session_run_with(s, NULL, 0, &out, 1, NULL, HR_RUN_OPTS(.stats = &stats), &err));
    assert_null(stats);
}

static void a_trace_is_written_as_chrome_reads_it(void **state)
{
    (void)state;
    hr_error err;
    size_t size;
    hr_node out, first = number(0);
    hr_while_loop(below_three, one_more, NULL, &first, 1, &out);
    hr_run_stats *stats = recorded(out);
    assert_ok(hr_run_stats_trace(stats, "trace.json", &err), &err);
    char *text = read_whole_file("trace.json", &size);
    cJSON *top = cJSON_ParseWithLength(text, size), *event;
    int rounds = 0;
    cJSON_ArrayForEach(event, cJSON_GetObjectItem(top, "traceEvents"))
    {
        const cJSON *args = cJSON_GetObjectItem(event, "args"), *calls = cJSON_GetObjectItem(args, "calls");
        if (!calls || strcmp(cJSON_GetObjectItem(args, "name")->valuestring, "more") != 0) continue;
        assert_string_equal(calls->valuestring, "while");
        assert_string_equal(cJSON_GetObjectItem(event, "name")->valuestring, "AddV2");
        assert_exactly(cJSON_GetObjectItem(args, "bytes")->valueint, 4);
        rounds++;
    }
    assert_exactly(rounds, 3);
    cJSON_Delete(top);
    free(text);
    assert_status(hr_run_stats_trace(stats, "no/such/folder/trace.json", &err), HR_NOT_FOUND);
    assert_status(hr_run_stats_trace(stats, NULL, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_run_stats_trace(NULL, "trace.json", &err), HR_INVALID_ARGUMENT);
    hr_run_stats_free(stats);
}

/* The bytes are TensorFlow's: RunMetadata of one device. */
static void a_record_is_exported_as_run_metadata(void **state)
{
    (void)state;
    hr_error err;
    char *bytes;
    size_t size;
    hr_node out, first = number(0);
    hr_while_loop(below_three, one_more, NULL, &first, 1, &out);
    hr_run_stats *stats = recorded(out);
    assert_ok(hr_run_stats_export(stats, &bytes, &size, &err), &err);
    Headrace__Proto__RunMetadata *m = headrace__proto__run_metadata__unpack(NULL, size, (uint8_t *)bytes);
    assert_non_null(m);
    const Headrace__Proto__DeviceStepStats *device = m->step_stats->dev_stats[0];
    assert_string_equal(device->device, "/job:localhost/replica:0/task:0/device:CPU:0");
    assert_exactly(device->n_node_stats, stats->count);
    assert_string_equal(device->thread_names[0]->value, "caller");
    for (int64_t i = 0; i < stats->count; i++) {
        const Headrace__Proto__NodeExecStats *node = device->node_stats[i];
        assert_string_equal(node->node_name, stats->nodes[i].name);
        assert_exactly(node->all_start_nanos, stats->started * 1000 + stats->nodes[i].begin);
        assert_exactly(node->all_end_rel_nanos, stats->nodes[i].end - stats->nodes[i].begin);
        assert_exactly(node->memory[0]->total_bytes, stats->nodes[i].bytes);
    }
    assert_string_equal(device->node_stats[0]->timeline_label, "while = StatelessWhile()");
    assert_string_equal(device->node_stats[1]->timeline_label, "while;check = Less()");
    headrace__proto__run_metadata__free_unpacked(m, NULL);
    hr_free(bytes);
    assert_status(hr_run_stats_export(NULL, &bytes, &size, &err), HR_INVALID_ARGUMENT);
    hr_run_stats_free(stats);
}

/* ---- at the same time ---- */

typedef struct one_of_many {
    hr_node shape, fine, endless;
    int number, wrong;
} one_of_many;

static void run_often(void *user)
{
    one_of_many *one = user;
    hr_error err;
    hr_run_stats *stats;
    for (int i = 0; i < 30; i++) {
        const hr_status limited = run_filled(one->shape, one->fine, 300, 300, HR_RUN_OPTS(.memory_limit = 1000), &err);
        const hr_status recorded = run_filled(one->shape, one->fine, 3, 3, HR_RUN_OPTS(.stats = &stats), &err);
        const hr_status timed = one->number == 0 && i % 10 == 0
                                    ? run_filled(one->shape, one->endless, 3, 3, HR_RUN_OPTS(.timeout = 0.002), &err)
                                    : HR_DEADLINE_EXCEEDED;
        one->wrong += limited != HR_RESOURCE_EXHAUSTED || recorded != HR_OK || timed != HR_DEADLINE_EXCEEDED;
        hr_run_stats_free(stats);
    }
}

static void runs_with_other_options_do_not_see_each_other(void **state)
{
    (void)state;
    enum { MANY = 4 };
    uv_thread_t thread[MANY];
    one_of_many one[MANY];
    hr_node shape, zeros = filled(&shape), first = hr_reduce_sum(zeros), endless;
    hr_while_loop(always, turn, NULL, &first, 1, &endless);
    s->always_parallel = true;
    for (int i = 0; i < MANY; i++) {
        one[i] = (one_of_many){shape, hr_reduce_sum(hr_exp(zeros)), endless, i, 0};
    }
    for (int i = 0; i < MANY; i++) assert_int_equal(uv_thread_create(&thread[i], run_often, &one[i]), 0);
    for (int i = 0; i < MANY; i++) uv_thread_join(&thread[i]);
    for (int i = 0; i < MANY; i++) assert_exactly(one[i].wrong, 0);
}

#define IN_A_SESSION(test) cmocka_unit_test_setup_teardown(test, open_session, close_session)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_SESSION(an_endless_loop_ends_in_time_and_its_effects_stay),
        IN_A_SESSION(a_loop_that_runs_no_node_ends_in_time),
        IN_A_SESSION(calls_without_number_end_in_time),
        IN_A_SESSION(a_kernel_that_waits_sees_that_time_is_over),
        IN_A_SESSION(a_session_has_a_time_for_runs_that_say_none),
        IN_A_SESSION(times_and_limits_that_are_none_are_refused),
        IN_A_SESSION(a_huge_tensor_is_refused_before_it_is_allocated),
        IN_A_SESSION(memory_that_is_given_back_may_be_taken_again),
        IN_A_SESSION(what_kernels_work_with_counts),
        IN_A_SESSION(texts_of_strings_count),
        IN_A_SESSION(values_outlive_the_run_that_was_counted),
        IN_A_SESSION(a_kernel_has_as_many_workers_as_it_may_have),
        IN_A_SESSION(nodes_of_functions_are_recorded_with_their_calls),
        IN_A_SESSION(what_was_recorded_outlives_session_and_graph),
        IN_A_SESSION(a_run_that_fails_tells_what_it_did),
        IN_A_SESSION(a_trace_is_written_as_chrome_reads_it),
        IN_A_SESSION(a_record_is_exported_as_run_metadata),
        IN_A_SESSION(runs_with_other_options_do_not_see_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
