/* Passes: what they leave of a graph, that results stay the same, and what the copy refuses. */
#include "tests/testing.h"
#include "train/graph/graph_internal.h"
#include "train/graph/pass.h"
#include "train/ops/ops.h"

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

static hr_node number(double value) { return hr_scalar(g, HR_FLOAT, value); }

/* How many nodes of an op a rewritten graph has; NULL: of all. */
static int count_nodes(const char *passes, hr_node fetch, const char *op)
{
    hr_error err;
    hr_rewrite *r;
    int count = 0;
    assert_null(hr_graph_error(g));
    assert_ok(hr_rewrite_new(g, NULL, 0, &fetch, 1, passes, &r, &err), &err);
    for (int32_t id = 0; id < hr_graph_size(hr_rewrite_graph(r)); id++)
        count += !op || strcmp(hr_node_op((hr_node){hr_rewrite_graph(r), id, 0}), op) == 0;
    hr_rewrite_free(r);
    return count;
}

/* What a session with these passes computes. */
static float run(const char *passes, const hr_feed *feed, hr_node fetch)
{
    hr_error err;
    hr_tensor out;
    hr_session *s = hr_session_new(g, .passes = passes);
    assert_ok(hr_session_run(s, feed, feed ? 1 : 0, &fetch, 1, &out, &err), &err);
    const float value = *(const float *)out.data;
    hr_tensor_clear(&out);
    hr_session_free(s);
    return value;
}

static void the_copy_has_what_is_needed_and_no_more(void **state)
{
    (void)state;
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SCALAR, .name = "x");
    const hr_node y = hr_mul(x, number(2));
    hr_mul(y, y);
    const hr_node z = hr_add(y, y);
    assert_int_equal(count_nodes("none", z, NULL), 4);
    assert_int_equal(hr_graph_size(g), 5);
}

static void what_is_fed_cuts_the_copy(void **state)
{
    (void)state;
    hr_error err;
    hr_rewrite *r;
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SCALAR, .name = "x");
    const hr_node y = hr_mul(x, number(2)), z = hr_add(y, y);
    assert_ok(hr_rewrite_new(g, &y, 1, &z, 1, "none", &r, &err), &err);
    assert_int_equal(hr_graph_size(hr_rewrite_graph(r)), 2);
    assert_string_equal(hr_node_op(hr_rewrite_feed(r, 0)), "Placeholder");
    assert_string_equal(hr_node_op(hr_rewrite_fetch(r, 0)), "AddV2");
    hr_rewrite_free(r);
}

static void constants_are_folded(void **state)
{
    (void)state;
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SCALAR, .name = "x");
    const hr_node six = hr_mul(number(2), number(3)), y = hr_add(x, hr_neg(six));
    const float ten = 10;
    const hr_feed feed = {x, hr_tensor_of(HR_FLOAT, HR_SCALAR, &ten)};
    assert_int_equal(count_nodes("fold", y, NULL), 3);
    assert_int_equal(count_nodes("fold", y, "Mul"), 0);
    assert_int_equal(count_nodes("all,-fold", y, "Mul"), 1);
    assert_float_equal(run("fold", &feed, y), 4, 0);
    assert_float_equal(run("none", &feed, y), 4, 0);
    assert_float_equal(run("fold", NULL, six), 6, 0);
}

static void what_is_fed_is_no_constant(void **state)
{
    (void)state;
    const hr_node two = number(2), six = hr_mul(two, number(3));
    const float ten = 10;
    const hr_feed feed = {two, hr_tensor_of(HR_FLOAT, HR_SCALAR, &ten)};
    assert_float_equal(run("fold", &feed, six), 30, 0);
}

static void what_fails_is_left_to_the_run(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out;
    const hr_node zero = hr_scalar(g, HR_INT32, 0), bad = hr_new_node(g, "FloorDiv", HR_INPUTS(zero, zero));
    assert_int_equal(count_nodes("fold", bad, "FloorDiv"), 1);
    hr_session *s = hr_session_new(g);
    assert_int_equal(hr_session_run(s, NULL, 0, &bad, 1, &out, &err), HR_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "FloorDiv"));
    hr_session_free(s);
}

static void an_operation_that_is_folded_can_be_fetched(void **state)
{
    (void)state;
    hr_error err;
    const hr_node six = hr_target(hr_mul(number(2), number(3)));
    hr_session *s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, &six, 1, NULL, &err), &err);
    hr_session_free(s);
}

static void an_unknown_pass_is_refused(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out;
    hr_rewrite *r;
    const hr_node x = number(1);
    hr_session *s = hr_session_new(g, .passes = "exact,fuze");
    assert_int_equal(hr_session_run(s, NULL, 0, &x, 1, &out, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "graph.pass");
    assert_non_null(strstr(err.text, "'fuze'"));
    assert_int_equal(hr_rewrite_new(g, NULL, 0, &x, 1, "-fuze", &r, &err), HR_INVALID_ARGUMENT);
    hr_session_free(s);
}

/* Where a plan needs a node and the one that extends it, the latter stands for both, in the first one's place. */
static void a_node_that_extends_another_stands_for_both(void **state)
{
    (void)state;
    const hr_node x = number(3), pair[2] = {x, x};
    const hr_node a = hr_new_node(g, "IdentityN", .inputs = &x, .input_count = 1), doubled = hr_add(a, a);
    const hr_node more = hr_new_node(g, "IdentityN", .inputs = pair, .input_count = 2);
    const hr_node sum = hr_add(doubled, hr_node_output(more, 1));
    g->nodes[a.id]->extended = more.id + 1;
    g->nodes[more.id]->extends = a.id + 1;
    assert_int_equal(count_nodes("none", doubled, NULL), 3);
    assert_int_equal(count_nodes("none", sum, "IdentityN"), 1);
    assert_float_equal(run("none", NULL, sum), 9, 0);
}

static void a_node_of_another_graph_takes_no_place(void **state)
{
    (void)state;
    hr_error err;
    hr_rewrite *r;
    const hr_node x = number(1), y = hr_neg(x), z = hr_neg(y);
    assert_ok(hr_rewrite_new(g, NULL, 0, &z, 1, "none", &r, &err), &err);
    assert_int_equal(hr_rewrite_replace(r, hr_rewrite_fetch(r, 0), x, &err), HR_INTERNAL);
    assert_string_equal(err.kind, "graph.pass");
    hr_rewrite_free(r);
}

int main(void)
{
#define ON_A_GRAPH(name) cmocka_unit_test_setup_teardown(name, make_graph, free_graph)
    const struct CMUnitTest tests[] = {
        ON_A_GRAPH(the_copy_has_what_is_needed_and_no_more),
        ON_A_GRAPH(what_is_fed_cuts_the_copy),
        ON_A_GRAPH(constants_are_folded),
        ON_A_GRAPH(what_is_fed_is_no_constant),
        ON_A_GRAPH(what_fails_is_left_to_the_run),
        ON_A_GRAPH(an_operation_that_is_folded_can_be_fetched),
        ON_A_GRAPH(an_unknown_pass_is_refused),
        ON_A_GRAPH(a_node_that_extends_another_stands_for_both),
        ON_A_GRAPH(a_node_of_another_graph_takes_no_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
