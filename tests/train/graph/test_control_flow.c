/* Branches, loops and functions: what runs, how often, with what; and what is refused. */
#include "tests/testing.h"
#include "train/graph/graph_internal.h"
#include "train/ops/ops.h"

#include <string.h>
#include <uv.h>

static hr_graph *g;

static int make_graph(void **state)
{
    (void)state;
    g = hr_graph_new();
    return g ? 0 : -1;
}

static int free_graph(void **state)
{
    (void)state;
    hr_graph_free(g);
    return 0;
}

static hr_node number(double value) { return hr_scalar(g, HR_FLOAT, value); }

static float run(hr_session *s, const hr_feed *feed, hr_node fetch)
{
    hr_error err;
    hr_tensor out;
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    assert_ok(hr_session_run(s, feed, feed ? 1 : 0, &fetch, 1, &out, &err), &err);
    const float value = *(const float *)out.data;
    hr_tensor_clear(&out);
    return value;
}

/* ---- branches ---- */

typedef struct branch_nodes {
    hr_node x, w;
} branch_nodes;

static void add_to_w(hr_graph *graph, hr_node *results, void *user)
{
    const branch_nodes *n = user;
    hr_assign_add(n->w, n->x);
    results[0] = hr_mul(n->x, hr_scalar(graph, HR_FLOAT, 2));
}

static void read_w(hr_graph *graph, hr_node *results, void *user)
{
    (void)graph;
    results[0] = hr_neg(((const branch_nodes *)user)->w);
}

static void only_the_branch_that_is_taken_runs(void **state)
{
    (void)state;
    hr_error err;
    hr_node out;
    branch_nodes n = {number(3), hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_ones())};
    const hr_node which = hr_placeholder(g, HR_BOOL, HR_SCALAR);
    hr_cond(which, add_to_w, read_w, &n, &out, 1);
    assert_string_equal(hr_node_op(out), "If");
    assert_true(hr_shape_equal(hr_node_shape(out), HR_SCALAR));
    const hr_node init = hr_global_variables_initializer(g);
    hr_session *s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    const hr_feed yes = {which, hr_tensor_of(HR_BOOL, HR_SCALAR, &(bool){true})},
                  no = {which, hr_tensor_of(HR_BOOL, HR_SCALAR, &(bool){false})};
    assert_exactly(run(s, &no, out), -1);
    assert_exactly(run(s, &yes, out), 6);
    assert_exactly(run(s, &no, out), -4);
    hr_session_free(s);
}

static void give_two(hr_graph *graph, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_scalar(graph, HR_FLOAT, 1);
}

static void give_an_int(hr_graph *graph, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_scalar(graph, HR_INT32, 1);
}

static void give_nothing(hr_graph *graph, hr_node *results, void *user) { (void)graph, (void)results, (void)user; }

static void branches_give_the_same_types(void **state)
{
    (void)state;
    hr_node out;
    hr_cond(hr_const_number(g, HR_BOOL, 1, NULL), give_two, give_an_int, NULL, &out, 1);
    assert_text_contains(hr_graph_error(g)->text, "of one type, got float32 and int32");
    assert_false(hr_node_exists(out));
}

static void a_branch_without_its_result_is_refused(void **state)
{
    (void)state;
    hr_node out;
    hr_cond(hr_const_number(g, HR_BOOL, 1, NULL), give_two, give_nothing, NULL, &out, 1);
    assert_text_contains(hr_graph_error(g)->text, "function 'cond_false': expected as result 0 a node");
}

/* ---- loops ---- */

static void below_limit(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)graph;
    results[0] = hr_less(vars[0], *(const hr_node *)user);
}

static void next_power(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_add(vars[0], hr_scalar(graph, HR_FLOAT, 1));
    results[1] = hr_mul(vars[1], hr_scalar(graph, HR_FLOAT, 2));
}

static void a_loop_runs_as_long_as_its_condition_holds(void **state)
{
    (void)state;
    hr_node out[2], limit = hr_placeholder(g, HR_FLOAT, HR_SCALAR);
    hr_while_loop(below_limit, next_power, &limit, ((hr_node[]){number(0), number(1)}), 2, out);
    hr_session *s = hr_session_new(g);
    for (int i = 0; i < 20; i++) {
        const float most = (float)i;
        const hr_feed feed = {limit, hr_tensor_of(HR_FLOAT, HR_SCALAR, &most)};
        assert_exactly(run(s, &feed, out[1]), (float)(1 << i));
    }
    hr_session_free(s);
}

static void a_loop_ends_after_its_maximum_of_iterations(void **state)
{
    (void)state;
    hr_node out[2], limit = number(1e30);
    hr_while_loop(below_limit, next_power, &limit, ((hr_node[]){number(0), number(1)}), 2, out,
                  .maximum_iterations = 7);
    hr_session *s = hr_session_new(g);
    assert_exactly(run(s, NULL, out[1]), 128);
    hr_session_free(s);
}

static void grow(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_concat(((hr_node[]){vars[0], vars[0]}), 2, 0);
    (void)graph;
}

static void is_short(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_less(hr_reduce_sum(vars[0]), hr_scalar(graph, HR_FLOAT, 100));
}

static void a_variable_of_a_loop_keeps_its_shape_unless_it_may_vary(void **state)
{
    (void)state;
    hr_node out, first = hr_fill(hr_ints(g, HR_I64(1), 1), number(1));
    hr_while_loop(is_short, grow, NULL, &first, 1, &out, .shapes = (hr_shape[]){HR_SHAPE(-1)});
    hr_session *s = hr_session_new(g);
    assert_exactly(run(s, NULL, hr_reduce_sum(out)), 128);
    hr_session_free(s);
    hr_while_loop(is_short, grow, NULL, &first, 1, &out);
    assert_text_contains(hr_graph_error(g)->text, "expected variable 0 to stay float32 [1], got float32 [2]");
}

/* A loop in a branch in a loop, with a variable that all of them see. */
static void inner_body(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    const branch_nodes *n = user;
    hr_assign_add(n->w, hr_scalar(graph, HR_FLOAT, 1));
    results[0] = hr_add(vars[0], hr_scalar(graph, HR_FLOAT, 1));
}

static void below_three(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_less(vars[0], hr_scalar(graph, HR_FLOAT, 3));
}

static void loop_within(hr_graph *graph, hr_node *results, void *user)
{
    const hr_node zero = hr_scalar(graph, HR_FLOAT, 0);
    hr_while_loop(below_three, inner_body, user, &zero, 1, results);
}

static void minus_one(hr_graph *graph, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_scalar(graph, HR_FLOAT, -1);
}

static void outer_body(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    hr_node given;
    const hr_node even = hr_less(hr_floor_mod(vars[0], hr_scalar(graph, HR_FLOAT, 2)), hr_scalar(graph, HR_FLOAT, 1));
    hr_cond(even, loop_within, minus_one, user, &given, 1);
    results[0] = hr_add(vars[0], hr_scalar(graph, HR_FLOAT, 1));
    results[1] = hr_add(vars[1], given);
}

static void loop_limit(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_less(vars[0], hr_scalar(graph, HR_FLOAT, 10));
}

static void loops_and_branches_stand_within_each_other(void **state)
{
    (void)state;
    for (int workers = 0; workers < 3; workers++) {
        hr_error err;
        hr_tensor w;
        hr_node out[2];
        hr_graph_free(g);
        g = hr_graph_new();
        hr_set_threads(workers);
        branch_nodes n = {{0}, hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros())};
        hr_while_loop(loop_limit, outer_body, &n, ((hr_node[]){number(0), number(0)}), 2, out);
        const hr_node init = hr_global_variables_initializer(g);
        hr_session *s = hr_session_new(g);
        s->always_parallel = workers > 0;
        assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
        for (int i = 1; i <= 3; i++) {
            assert_exactly(run(s, NULL, out[1]), 5 * 3 - 5);
            assert_ok(hr_session_get(s, n.w, &w, &err), &err);
            assert_exactly(*(float *)w.data, (float)(15 * i));
            hr_tensor_clear(&w);
        }
        hr_session_free(s);
    }
}

static void a_loop_in_steady_state_allocates_nothing(void **state)
{
    (void)state;
    hr_error err;
    branch_nodes n = {{0}, hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros())};
    hr_node out[2];
    hr_while_loop(loop_limit, outer_body, &n, ((hr_node[]){number(0), number(0)}), 2, out);
    const hr_node init = hr_global_variables_initializer(g);
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    for (int i = 0; i < 6; i++) {
        if (i == 3) fail_allocation(-1);
        assert_exactly(run(s, NULL, out[1]), 5 * 3 - 5);
    }
    assert_int_equal(allocations_since(), 0);
    hr_session_free(s);
}

/* ---- functions ---- */

static void a_function_is_called_with_what_it_captured(void **state)
{
    (void)state;
    hr_node three = number(3), out[2];
    hr_graph *body = hr_function_begin(g, "scale");
    const hr_node x = hr_function_input(body, HR_FLOAT, HR_SCALAR, "x"), y = hr_mul(x, three);
    const hr_function *f = hr_function_end(body, &y, 1);
    assert_non_null(f);
    assert_int_equal(hr_function_inputs(f), 1);
    hr_call_function(f, (hr_node[]){number(5)}, 1, &out[0]);
    hr_call_function(f, (hr_node[]){out[0]}, 1, &out[1]);
    assert_string_equal(hr_node_op(out[1]), "PartitionedCall");
    hr_session *s = hr_session_new(g);
    assert_exactly(run(s, NULL, out[1]), 45);
    hr_session_free(s);
    assert_ptr_equal(hr_function_named(g, "scale"), f);
    hr_call_function(f, NULL, 0, out);
    assert_text_contains(hr_graph_error(g)->text, "function 'scale': expected 1 inputs, got 0");
}

static void divide(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    results[0] = hr_floor_div(vars[0], *(const hr_node *)user);
    (void)graph;
}

static void always(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)vars, (void)user;
    results[0] = hr_const_number(graph, HR_BOOL, 1, NULL);
}

static void an_error_in_a_function_names_the_nodes_on_the_way(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor value;
    hr_node out, by = hr_placeholder(g, HR_INT32, HR_SCALAR), first = hr_scalar(g, HR_INT32, 1);
    hr_while_loop(always, divide, &by, &first, 1, &out);
    hr_session *s = hr_session_new(g);
    const hr_feed feed = {by, hr_tensor_of(HR_INT32, HR_SCALAR, &(int32_t){0})};
    assert_status(hr_session_run(s, &feed, 1, &out, 1, &value, &err), HR_INVALID_ARGUMENT);
    assert_text_begins(err.text, "node 'while' (StatelessWhile), made at test_control_flow.c:");
    assert_text_contains(err.text, ": node 'FloorDiv' (FloorDiv), made at ");
    assert_text_contains(err.text, ": Integer division by zero");
    hr_session_free(s);
}

static void stay(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)graph, (void)user;
    results[0] = hr_neg(vars[0]);
}

static void cancel_soon(void *session)
{
    uv_sleep(30);
    hr_session_cancel(session);
}

static void an_endless_loop_is_cancelled(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor value;
    uv_thread_t other;
    hr_node out, first = number(1);
    hr_while_loop(always, stay, NULL, &first, 1, &out);
    hr_session *s = hr_session_new(g);
    assert_int_equal(uv_thread_create(&other, cancel_soon, s), 0);
    assert_status(hr_session_run(s, NULL, 0, &out, 1, &value, &err), HR_CANCELLED);
    uv_thread_join(&other);
    hr_session_free(s);
}

/* Two loops that would never end, and one that fails: its error is told, not that the others gave up for it. */
static void an_error_in_one_function_ends_the_calls_of_all_others(void **state)
{
    (void)state;
    hr_error err;
    hr_set_threads(3);
    hr_node first = number(1), by = hr_placeholder(g, HR_INT32, HR_SCALAR), one = hr_scalar(g, HR_INT32, 1), out[3];
    for (int i = 0; i < 2; i++) hr_while_loop(always, stay, NULL, &first, 1, &out[i]);
    hr_while_loop(always, divide, &by, &one, 1, &out[2]);
    hr_session *s = hr_session_new(g);
    s->always_parallel = true;
    const hr_feed feed = {by, hr_tensor_of(HR_INT32, HR_SCALAR, &(int32_t){0})};
    for (int i = 0; i < 20; i++) {
        hr_tensor values[3];
        assert_status(hr_session_run(s, &feed, 1, out, 3, values, &err), HR_INVALID_ARGUMENT);
        assert_text_begins(err.text, "node 'while_2' (StatelessWhile), made at ");
        assert_text_contains(err.text, ": Integer division by zero");
    }
    hr_session_free(s);
}

/* f(n) = n <= 0 ? 0 : n + f(n - 1). Its own name is known while it is made. */
static void a_function_may_call_itself_until_it_is_too_deep(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor value;
    const hr_func self = {"sum", NULL, 0}, ends = {"ends", NULL, 0}, goes_on = {"goes_on", NULL, 0};
    const hr_dtype floats[] = {HR_FLOAT};
    hr_graph *end = hr_function_begin(g, "ends");
    const hr_node zero = hr_mul(hr_function_input(end, HR_FLOAT, HR_SCALAR, "n"), hr_scalar(end, HR_FLOAT, 0));
    hr_function_end(end, &zero, 1);
    hr_graph *more = hr_function_begin(g, "goes_on");
    const hr_node n = hr_function_input(more, HR_FLOAT, HR_SCALAR, "n");
    const hr_node rest = hr_new_node(more, "PartitionedCall", HR_INPUTS(hr_sub(n, hr_scalar(more, HR_FLOAT, 1))),
                                     HR_ATTRS(HR_FUNC_ATTR("f", &self), HR_TYPES_ATTR("Tout", floats, 1)));
    const hr_node sum = hr_add(n, rest);
    hr_function_end(more, &sum, 1);
    hr_graph *body = hr_function_begin(g, "sum");
    const hr_node m = hr_function_input(body, HR_FLOAT, HR_SCALAR, "n");
    const hr_node positive = hr_greater(m, hr_scalar(body, HR_FLOAT, 0));
    const hr_node chosen = hr_new_node(body, "StatelessIf", HR_INPUTS(positive, m),
                                       HR_ATTRS(HR_FUNC_ATTR("then_branch", &goes_on),
                                                HR_FUNC_ATTR("else_branch", &ends), HR_TYPES_ATTR("Tout", floats, 1)));
    const hr_function *f = hr_function_end(body, &chosen, 1);
    hr_node out, first = hr_placeholder(g, HR_FLOAT, HR_SCALAR);
    hr_call_function(f, &first, 1, &out);
    hr_session *s = hr_session_new(g);
    const hr_feed some = {first, hr_tensor_of(HR_FLOAT, HR_SCALAR, &(float){50})},
                  many = {first, hr_tensor_of(HR_FLOAT, HR_SCALAR, &(float){5000})};
    assert_exactly(run(s, &some, out), 50 * 51 / 2);
    assert_status(hr_session_run(s, &many, 1, &out, 1, &value, &err), HR_RESOURCE_EXHAUSTED);
    assert_string_equal(err.kind, "graph.depth");
    assert_text_contains(err.text, "made at test_control_flow.c");
    assert_text_contains(err.text, ": function '");
    assert_text_contains(err.text, "expected at most 200 calls within each other");
    assert_null(strstr(strstr(err.text, "node '") + 1, "node '"));
    assert_exactly(run(s, &some, out), 50 * 51 / 2);
    hr_session_free(s);
}

/* ---- Switch and Merge ---- */

/* x > 0 ? sqrt(x) : -x; an assignment that only one branch lets happen, by a control input. */
static void only_one_side_of_a_switch_runs(void **state)
{
    (void)state;
    for (int workers = 0; workers < 3; workers++) {
        hr_error err;
        hr_tensor w, value;
        hr_graph_free(g);
        g = hr_graph_new();
        hr_set_threads(workers);
        hr_node v = hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros());
        hr_node x = hr_placeholder(g, HR_FLOAT, HR_SCALAR), positive = hr_greater(x, number(0));
        hr_node sides = hr_new_node(g, "Switch", HR_INPUTS(x, positive));
        hr_node no = hr_neg(hr_node_output(sides, 0)), yes = hr_sqrt(hr_node_output(sides, 1));
        hr_control_dependencies(g, &yes, 1);
        hr_node add = hr_assign_add(v, number(1));
        hr_control_end(g);
        hr_node merged = hr_new_node(g, "Merge", HR_INPUTS(no, yes)), out = hr_add(merged, number(100));
        const hr_node init = hr_global_variables_initializer(g), fetch[] = {out, hr_target(add)};
        hr_session *s = hr_session_new(g);
        s->always_parallel = workers > 0;
        assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
        for (int i = 0; i < 10; i++) {
            hr_tensor got[2];
            const float in = i % 2 ? 9 : -4;
            const hr_feed feed = {x, hr_tensor_of(HR_FLOAT, HR_SCALAR, &in)};
            assert_ok(hr_session_run(s, &feed, 1, fetch, 2, got, &err), &err);
            assert_exactly(*(float *)got[0].data, i % 2 ? 103 : 104);
            hr_tensor_clear(&got[0]);
            assert_status(hr_session_run(s, &feed, 1, i % 2 ? &no : &yes, 1, &value, &err), HR_INVALID_ARGUMENT);
            assert_string_equal(err.kind, "session.fetch");
        }
        assert_ok(hr_session_get(s, v, &w, &err), &err);
        assert_exactly(*(float *)w.data, 5);
        hr_tensor_clear(&w);
        hr_session_free(s);
    }
}

/* ---- at the same time ---- */

typedef struct looper {
    hr_session *session;
    hr_node limit, out;
    int wrong;
} looper;

static void loop_often(void *user)
{
    looper *l = user;
    for (int i = 0; i < 40; i++) {
        hr_error err;
        hr_tensor out;
        const float most = (float)(i % 10);
        const hr_feed feed = {l->limit, hr_tensor_of(HR_FLOAT, HR_SCALAR, &most)};
        if (hr_session_run(l->session, &feed, 1, &l->out, 1, &out, &err) != HR_OK) {
            l->wrong++;
            continue;
        }
        l->wrong += *(const float *)out.data != (float)(1 << (i % 10));
        hr_tensor_clear(&out);
    }
}

static void loops_run_in_several_threads(void **state)
{
    (void)state;
    hr_node out[2], limit = hr_placeholder(g, HR_FLOAT, HR_SCALAR);
    hr_set_threads(2);
    hr_while_loop(below_limit, next_power, &limit, ((hr_node[]){number(0), number(1)}), 2, out);
    hr_session *s = hr_session_new(g);
    s->always_parallel = true;
    uv_thread_t threads[4];
    looper of[4];
    for (int i = 0; i < 4; i++) {
        of[i] = (looper){s, limit, out[1], 0};
        assert_int_equal(uv_thread_create(&threads[i], loop_often, &of[i]), 0);
    }
    for (int i = 0; i < 4; i++) uv_thread_join(&threads[i]);
    for (int i = 0; i < 4; i++) assert_int_equal(of[i].wrong, 0);
    hr_session_free(s);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_graph, free_graph)
    const struct CMUnitTest tests[] = {
        TEST(only_the_branch_that_is_taken_runs),
        TEST(branches_give_the_same_types),
        TEST(a_branch_without_its_result_is_refused),
        TEST(a_loop_runs_as_long_as_its_condition_holds),
        TEST(a_loop_ends_after_its_maximum_of_iterations),
        TEST(a_variable_of_a_loop_keeps_its_shape_unless_it_may_vary),
        TEST(loops_and_branches_stand_within_each_other),
        TEST(a_loop_in_steady_state_allocates_nothing),
        TEST(a_function_is_called_with_what_it_captured),
        TEST(an_error_in_a_function_names_the_nodes_on_the_way),
        TEST(an_endless_loop_is_cancelled),
        TEST(an_error_in_one_function_ends_the_calls_of_all_others),
        TEST(a_function_may_call_itself_until_it_is_too_deep),
        TEST(only_one_side_of_a_switch_runs),
        TEST(loops_run_in_several_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
