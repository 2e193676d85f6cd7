/* Messages say where in a program a node was made. */
#include "tests/testing.h"
#include <headrace/control_flow.h>
#include <headrace/graph_op.h>
#include <headrace/layers.h>
#include <headrace/optimizers.h>
#include <headrace/ops.h>
#include <headrace/tables.h>

#include <stdio.h>
#include <string.h>

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

static void is_made_at(hr_node node, const char *file, int line)
{
    assert_string_equal(hr_node_file(node), file);
    assert_exactly(hr_node_line(node), line);
}

static void nodes_know_the_line_that_made_them(void **state)
{
    (void)state;
    const int line = __LINE__;
    hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(2, 2), .name = "x");
    hr_node y = hr_matmul(x, hr_relu(x));
    hr_node z = hr_new_node(g, "Neg", HR_INPUTS(y));
    is_made_at(x, __FILE__, line + 1);
    is_made_at(y, __FILE__, line + 2);
    is_made_at(hr_node_input(y, 1), __FILE__, line + 2);
    is_made_at(z, __FILE__, line + 3);
    is_made_at((hr_node){0}, "", 0);
}

/* All nodes of a layer, of a loss, of derivatives are made where that was called. */
static void what_the_library_makes_is_made_where_it_was_called(void **state)
{
    (void)state;
    const int line = __LINE__;
    hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(2, 2));
    hr_node y = hr_dense(x, 1);
    hr_minimize(hr_sgd(0.1F), hr_mean_squared_error(y, y));
    int seen[4] = {0};
    for (int32_t i = 0; i < hr_graph_size(g); i++) {
        const hr_node node = {g, i, 0};
        assert_string_equal(hr_node_file(node), __FILE__);
        seen[hr_node_line(node) - line]++;
    }
    assert_exactly(seen[1], 1);
    assert_more(seen[2], 5);
    assert_more(seen[3], 10);
}

static void keep(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)graph, (void)user;
    results[0] = vars[0];
}

/* Calls without options, and those that give no node but what is made of some. */
static void arrays_tables_and_loops_are_made_where_they_were_called(void **state)
{
    (void)state;
    hr_node last;
    const hr_node rows = hr_placeholder(g, HR_FLOAT, HR_SHAPE(4, 2)), size = hr_scalar(g, HR_INT32, 4);
    const int line = __LINE__;
    const hr_tensor_array a = hr_tensor_array_new(size, HR_FLOAT), b = hr_tensor_array_unstack(rows);
    const hr_node element = hr_tensor_array_read(&a, hr_scalar(g, HR_INT32, 1));
    const hr_node joined = hr_concat((hr_node[]){rows, rows}, 2, 0);
    const hr_table t = hr_mutable_table(g, HR_INT64, HR_FLOAT, hr_scalar(g, HR_FLOAT, 0), NULL);
    hr_foldl(keep, NULL, &rows, 1, NULL, &last, 1);
    is_made_at(a.list, __FILE__, line + 1);
    is_made_at(b.list, __FILE__, line + 1);
    is_made_at(element, __FILE__, line + 2);
    is_made_at(joined, __FILE__, line + 3);
    is_made_at(t.handle, __FILE__, line + 4);
    is_made_at(last, __FILE__, line + 5);
}

static void below(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    *(int *)user = __LINE__ + 1;
    results[0] = hr_less(vars[0], hr_scalar(graph, HR_FLOAT, 3), .name = "check");
}

static void more(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_add(vars[0], hr_scalar(graph, HR_FLOAT, 1));
}

static void a_loop_and_what_is_in_it_have_lines_of_their_own(void **state)
{
    (void)state;
    int inner = 0;
    hr_node out, first = hr_scalar(g, HR_FLOAT, 0);
    const int line = __LINE__ + 1;
    hr_while_loop(below, more, &inner, &first, 1, &out);
    is_made_at(out, __FILE__, line);
    const hr_function *condition = hr_function_named(g, hr_attr_func(out, "cond"));
    is_made_at(hr_function_output_at(condition, 0), __FILE__, inner);
    is_made_at(hr_neg_with(first, NULL), "", 0); /* no macro, and no scope */
}

static void without_a_line_it_is_that_of_the_scope(void **state)
{
    (void)state;
    hr_error err;
    const int line = __LINE__ + 1;
    hr_name_scope(g, "outer");
    hr_node x = hr_scalar(g, HR_INT32, 7), zero = hr_scalar(g, HR_INT32, 0);
    hr_node bad = hr_floor_div_with(x, hr_add(zero, zero), NULL);
    hr_scope_end(g);
    is_made_at(bad, __FILE__, line);
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    const hr_node target = hr_target(bad);
    char expected[120];
    snprintf(expected, sizeof expected,
             "node 'outer/FloorDiv' (FloorDiv), made in the scope of test_made_at.c:%d: Integer division", line);
    assert_not_ok(hr_session_run(s, NULL, 0, &target, 1, NULL, &err));
    assert_text_begins(err.text, expected);
    hr_session_free(s);
}

static void divide(hr_graph *body, hr_node *results, void *user)
{
    results[0] = hr_new_node(body, "FloorDiv", HR_INPUTS(hr_scalar(body, HR_INT32, 1), *(const hr_node *)user));
}

/* The pass `branches` calls the branch that is known to be taken. */
static void what_a_pass_made_stands_for_a_node_of_the_graph(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor value;
    hr_node out, x = hr_placeholder(g, HR_INT32, HR_SCALAR), yes = hr_scalar(g, HR_BOOL, 1);
    const int line = __LINE__ + 1;
    hr_cond(yes, divide, divide, &x, &out, 1);
    hr_session *s = hr_session_new(g, .workers = &(int){0}, .passes = "branches");
    const hr_feed zero = {x, hr_tensor_of(HR_INT32, HR_SCALAR, &(int32_t){0})};
    char expected[120];
    snprintf(expected, sizeof expected, "node 'cond' (PartitionedCall), made at test_made_at.c:%d: ", line);
    assert_not_ok(hr_session_run(s, &zero, 1, &out, 1, &value, &err));
    assert_text_begins(err.text, expected);
    hr_session_free(s);
}

/* A binding has lines of another language. */
static void a_binding_says_its_own_places(void **state)
{
    (void)state;
    char file[] = "models/model.py";
    hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(2, 3));
    hr_place_begin(file, 42);
    hr_node y = hr_relu_with(x, NULL), bad = hr_matmul_with(x, y, NULL);
    hr_place_end(bad);
    memset(file, 'x', sizeof file - 1);
    is_made_at(y, "models/model.py", 42);
    assert_text_begins(hr_graph_error(g)->text, "node 'MatMul' (MatMul), made at model.py:42: expected matrices");
    is_made_at(hr_relu_with(x, NULL), "", 0);
    hr_place_begin(NULL, 0);
    is_made_at(hr_place_end(hr_relu_with(x, NULL)), "", 0);
}

/* Further places than a thread keeps: the nodes are made all the same, and the places before come back. */
static void places_may_be_in_places_without_end(void **state)
{
    (void)state;
    hr_node x = hr_placeholder(g, HR_FLOAT, HR_SCALAR);
    for (int i = 1; i <= 100; i++) hr_place_begin("deep.c", i);
    is_made_at(hr_relu_with(x, NULL), "deep.c", 32);
    for (int i = 100; i > 7; i--) hr_place_end(x);
    is_made_at(hr_relu_with(x, NULL), "deep.c", 7);
    for (int i = 7; i > -3; i--) hr_place_end(x);
    is_made_at(hr_relu_with(x, NULL), "", 0);
}

#define IN_A_GRAPH(test) cmocka_unit_test_setup_teardown(test, make_graph, free_graph)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_GRAPH(nodes_know_the_line_that_made_them),
        IN_A_GRAPH(what_the_library_makes_is_made_where_it_was_called),
        IN_A_GRAPH(arrays_tables_and_loops_are_made_where_they_were_called),
        IN_A_GRAPH(a_loop_and_what_is_in_it_have_lines_of_their_own),
        IN_A_GRAPH(without_a_line_it_is_that_of_the_scope),
        IN_A_GRAPH(what_a_pass_made_stands_for_a_node_of_the_graph),
        IN_A_GRAPH(a_binding_says_its_own_places),
        IN_A_GRAPH(places_may_be_in_places_without_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
