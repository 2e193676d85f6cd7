/* Passes: what they leave of a graph, that results stay the same, and what the copy refuses. */
#include "tests/testing.h"
#include "train/graph/graph_internal.h"
#include "train/graph/pass.h"
#include "train/ops/kernels.h"
#include "train/ops/ops.h"
#include <headrace/nn.h>

#include <math.h>
#include <stdlib.h>
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

/* How many nodes of an op a rewritten graph has; NULL: of all but the Identity that keeps the name of what is fetched. */
static int count_nodes(const char *passes, hr_node fetch, const char *op)
{
    hr_error err;
    hr_rewrite *r;
    int count = 0;
    assert_null(hr_graph_error(g));
    assert_ok(hr_rewrite_new(g, NULL, 0, &fetch, 1, passes, &r, &err), &err);
    for (int32_t id = 0; id < hr_graph_size(hr_rewrite_graph(r)); id++)
        count += !op || strcmp(hr_node_op((hr_node){hr_rewrite_graph(r), id, 0}), op) == 0;
    count -= !op && strcmp(hr_node_op(hr_rewrite_fetch(r, 0)), "Identity") == 0 &&
             strcmp(hr_node_op(fetch), "Identity") != 0;
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

/* ---- each pass: what is left, and that the bits are the same ---- */

/* Runs a fetch with and without a pass. */
static void assert_same_bits(const char *pass, const hr_feed *feeds, int feed_count, hr_node fetch)
{
    hr_error err;
    hr_tensor with, without;
    hr_session *a = hr_session_new(g, .passes = pass), *b = hr_session_new(g, .passes = "none");
    for (int turn = 0; turn < 2; turn++) {
        assert_ok(hr_session_run(a, feeds, feed_count, &fetch, 1, &with, &err), &err);
        assert_ok(hr_session_run(b, feeds, feed_count, &fetch, 1, &without, &err), &err);
        assert_int_equal(with.dtype, without.dtype);
        assert_true(hr_shape_equal(with.shape, without.shape));
        assert_memory_equal(with.data, without.data, (size_t)with.count * hr_dtype_size(with.dtype));
        hr_tensor_clear(&with);
        hr_tensor_clear(&without);
    }
    hr_session_free(a);
    hr_session_free(b);
}

static void identities_are_by_passed(void **state)
{
    (void)state;
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SCALAR, .name = "x"), two[2] = {hr_identity(x), x};
    const hr_node both = hr_new_node(g, "IdentityN", .inputs = two, .input_count = 2);
    const hr_node y = hr_add(hr_stop_gradient(both), hr_node_output(both, 1)), last = hr_identity(y);
    const float ten = 10;
    const hr_feed feed = {x, hr_tensor_of(HR_FLOAT, HR_SCALAR, &ten)};
    assert_int_equal(count_nodes("identity", last, NULL), 3); /* x, AddV2 and what is fetched */
    assert_int_equal(count_nodes("identity", y, NULL), 2);
    assert_float_equal(run("identity", &feed, last), 20, 0);
    assert_same_bits("identity", &feed, 1, last);
}

/* An Identity of TensorFlow 1's variable is when its value is read. */
static void a_read_of_a_reference_variable_stays_where_it_is(void **state)
{
    (void)state;
    const hr_node v =
        hr_new_node(g, "VariableV2", HR_ATTRS(HR_SHAPE_ATTR("shape", HR_SCALAR), HR_TYPE_ATTR("dtype", HR_FLOAT)));
    const hr_node init = hr_new_node(g, "Assign", HR_INPUTS(v, number(1)));
    const hr_node read = hr_new_node(g, "Identity", HR_INPUTS(v), .controls = &init, .control_count = 1);
    const hr_node again = hr_new_node(g, "Assign", HR_INPUTS(v, number(5)), .controls = &read, .control_count = 1);
    const hr_node after = hr_new_node(g, "Identity", HR_INPUTS(v), .controls = &again, .control_count = 1);
    const hr_node sum = hr_add(hr_mul(read, number(10)), after);
    assert_float_equal(run("none", NULL, sum), 15, 0);
    assert_float_equal(run("all", NULL, sum), 15, 0);
    assert_int_equal(count_nodes("identity", sum, "Identity"), 2);
}

static void known_shapes_are_constants(void **state)
{
    (void)state;
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(2, 3), .name = "x");
    const hr_node open = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 3), .name = "open");
    const hr_node shape = hr_shape_of(hr_neg(x)), size = hr_size_of(x), rank = hr_rank_of(open);
    const hr_node unknown = hr_shape_of(open);
    const float values[6] = {0};
    const hr_feed feed = {open, hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 3), values)};
    assert_int_equal(count_nodes("shapes", shape, NULL), 1);
    assert_int_equal(count_nodes("shapes", size, "Const"), 1);
    assert_int_equal(count_nodes("shapes", rank, "Const"), 1);
    assert_int_equal(count_nodes("shapes", unknown, "Shape"), 1);
    assert_same_bits("shapes", &feed, 1, rank);
    assert_same_bits("exact", &feed, 1, unknown);
    const hr_feed fed = {x, hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 3), values)};
    assert_same_bits("shapes", &fed, 1, shape);
    assert_same_bits("shapes", &fed, 1, size);
}

static void equal_nodes_are_computed_once(void **state)
{
    (void)state;
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SCALAR, .name = "x");
    const hr_node a = hr_mul(hr_add(x, number(2)), number(3)), b = hr_mul(number(3), hr_add(number(2), x));
    const hr_node other = hr_mul(hr_add(x, number(2)), number(4)), difference = hr_sub(x, number(2));
    const hr_node sum =
        hr_add(hr_add(a, b), hr_add(other, hr_sub(number(2), hr_add(difference, hr_sub(x, number(2))))));
    const float ten = 10;
    const hr_feed feed = {x, hr_tensor_of(HR_FLOAT, HR_SCALAR, &ten)};
    assert_int_equal(count_nodes("cse", hr_add(a, b), "Mul"), 1);
    assert_int_equal(count_nodes("cse", hr_add(a, b), "Const"), 2);
    assert_int_equal(count_nodes("cse", sum, "Mul"), 2);
    assert_int_equal(count_nodes("cse", sum, "Sub"), 2);
    assert_same_bits("cse", &feed, 1, sum);
}

static void random_numbers_and_reads_are_not_shared(void **state)
{
    (void)state;
    const hr_node shape = hr_const_ints(g, (const int64_t[]){1}, 1, NULL);
    const hr_node a = hr_new_node(g, "RandomUniform", HR_INPUTS(shape), HR_ATTRS(HR_TYPE_ATTR("dtype", HR_FLOAT)));
    const hr_node b = hr_new_node(g, "RandomUniform", HR_INPUTS(shape), HR_ATTRS(HR_TYPE_ATTR("dtype", HR_FLOAT)));
    assert_int_equal(count_nodes("all", hr_sub(a, b), "RandomUniform"), 2);
}

static void control_inputs_that_say_nothing_new_go(void **state)
{
    (void)state;
    hr_error err;
    hr_rewrite *r;
    const hr_node v = hr_get_variable(g, "v", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros());
    const hr_node one = number(1);
    const hr_node first = hr_new_node(g, "AssignVariableOp", HR_INPUTS(v, one));
    const hr_node wait = hr_group(g, &first, 1, NULL), more[3] = {wait, first, one};
    const hr_node second =
        hr_new_node(g, "AssignAddVariableOp", HR_INPUTS(v, one), .controls = more, .control_count = 3);
    const hr_node both[2] = {hr_target(first), hr_target(second)};
    const hr_node last = hr_new_node(g, "ReadVariableOp", HR_INPUTS(v), HR_ATTRS(HR_TYPE_ATTR("dtype", HR_FLOAT)),
                                     .controls = both, .control_count = 2);
    assert_ok(hr_rewrite_new(g, NULL, 0, &last, 1, "controls", &r, &err), &err);
    const hr_node read = hr_rewrite_fetch(r, 0);
    assert_int_equal(hr_node_controls(read), 1);
    assert_string_equal(hr_node_op(hr_node_control(read, 0)), "AssignAddVariableOp");
    assert_int_equal(hr_node_controls(hr_node_control(read, 0)), 1);
    assert_string_equal(hr_node_op(hr_node_control(hr_node_control(read, 0), 0)), "AssignVariableOp");
    hr_rewrite_free(r);
    assert_float_equal(run("all", NULL, last), 2, 0);
}

/* ---- branches ---- */

static void make_double(hr_graph *graph, hr_node *results, void *user)
{
    (void)graph;
    results[0] = hr_add(*(hr_node *)user, *(hr_node *)user);
}

static void make_square(hr_graph *graph, hr_node *results, void *user)
{
    (void)graph;
    results[0] = hr_mul(*(hr_node *)user, *(hr_node *)user);
}

static hr_node decide(bool value)
{
    const hr_tensor t = hr_tensor_of(HR_BOOL, HR_SCALAR, &value);
    return hr_new_node(g, "Const", HR_ATTRS(HR_TENSOR_ATTR("value", &t), HR_TYPE_ATTR("dtype", HR_BOOL)));
}

static void a_constant_decides_for_a_branch(void **state)
{
    (void)state;
    hr_node x = hr_placeholder(g, HR_FLOAT, HR_SCALAR, .name = "x"), yes, no, asked;
    const hr_node ask = hr_placeholder(g, HR_BOOL, HR_SCALAR, .name = "ask");
    const float five = 5;
    const hr_feed feed = {x, hr_tensor_of(HR_FLOAT, HR_SCALAR, &five)};
    hr_cond(decide(true), make_double, make_square, &x, &yes, 1);
    hr_cond(decide(false), make_double, make_square, &x, &no, 1);
    hr_cond(ask, make_double, make_square, &x, &asked, 1);
    assert_float_equal(run("branches", &feed, yes), 10, 0);
    assert_float_equal(run("branches", &feed, no), 25, 0);
    assert_int_equal(count_nodes("branches", yes, "If") + count_nodes("branches", yes, "StatelessIf"), 0);
    assert_int_equal(count_nodes("branches", asked, "PartitionedCall"), 0);
    assert_int_equal(count_nodes("branches", hr_where(decide(true), x, hr_neg(x)), NULL), 1);
    assert_int_equal(count_nodes("branches", hr_where(decide(false), x, hr_neg(x)), "Neg"), 1);
}

static void what_a_switch_never_takes_goes(void **state)
{
    (void)state;
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SCALAR, .name = "x");
    const hr_node ask = hr_placeholder(g, HR_BOOL, HR_SCALAR, .name = "ask"), predicates[2] = {decide(false), ask};
    hr_node merged[2];
    for (int i = 0; i < 2; i++) {
        const hr_node sides = hr_new_node(g, "Switch", HR_INPUTS(x, predicates[i]));
        const hr_node pivot = hr_identity(hr_node_output(sides, 0));
        hr_control_dependencies(g, &pivot, 1);
        const hr_node one = number(1);
        hr_control_end(g);
        merged[i] =
            hr_new_node(g, "Merge", HR_INPUTS(hr_add(hr_node_output(sides, 0), one), hr_neg(hr_node_output(sides, 1))));
    }
    const float five = 5;
    const bool no = false, yes = true;
    hr_feed feeds[2] = {{x, hr_tensor_of(HR_FLOAT, HR_SCALAR, &five)}, {ask, hr_tensor_of(HR_BOOL, HR_SCALAR, &no)}};
    assert_int_equal(count_nodes("branches", merged[0], "Merge"), 0);
    assert_int_equal(count_nodes("branches", merged[0], "Switch"), 0);
    assert_int_equal(count_nodes("branches", merged[0], "Neg"), 0);
    assert_int_equal(count_nodes("exact", merged[1], "Identity"), 1); /* whoever waits for it waits for that side */
    assert_float_equal(run("exact", feeds, merged[0]), 6, 0);
    assert_same_bits("exact", feeds, 2, merged[1]);
    feeds[1].value.data = (void *)&yes;
    assert_same_bits("exact", feeds, 2, merged[1]);
}

/* What a tool finds by its name keeps that, and has ops that files can have. */
static void what_is_fetched_keeps_its_name_in_a_copy_for_tools(void **state)
{
    (void)state;
    hr_error err;
    hr_rewrite *r;
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(1 << 24), .name = "x"), y = hr_square(x);
    const hr_node two[2] = {hr_exp(y, .name = "first"), hr_exp(y, .name = "second")};
    assert_ok(hr_rewrite_new(g, NULL, 0, two, 2, NULL, &r, &err), &err);
    assert_string_equal(hr_node_op(hr_rewrite_fetch(r, 0)), "Exp");
    assert_string_equal(hr_node_op(hr_rewrite_fetch(r, 1)), "Identity");
    hr_rewrite_free(r);
}

/* ---- fusing ---- */

enum { MANY = 9000 * 512 };

static float *many_values(void)
{
    float *values = malloc(sizeof *values * MANY);
    assert_non_null(values);
    for (int i = 0; i < MANY; i++) values[i] = (float)(i % 1001) / 100 - 5;
    return values;
}

static void chains_are_computed_block_by_block(void **state)
{
    (void)state;
    float *values = many_values();
    const hr_shape shapes[] = {HR_SHAPE(MANY), HR_SHAPE(MANY / 1000, 1000), HR_SHAPE(1, MANY),
                               HR_SHAPE(2, 3, MANY / 6)};
    for (int i = 0; i < (UNDER_TSAN ? 2 : 4); i++) {
        const hr_shape shape = shapes[i].rank == 2 && i == 1 ? HR_SHAPE(-1, 1000) : shapes[i];
        const hr_node x = hr_placeholder(g, HR_FLOAT, shape), linear = hr_add(hr_mul(x, number(0.5)), number(1));
        const hr_node chosen = hr_where(hr_greater(linear, number(0)), hr_tanh(linear), hr_mul(linear, x));
        const hr_node y = hr_cast_to(hr_sub(chosen, number(2)), HR_DOUBLE);
        const hr_feed feed = {x, hr_tensor_of(HR_FLOAT, shapes[i], values)};
        assert_int_equal(count_nodes("fuse", y, NULL), 6); /* x, four constants, the chain */
        assert_same_bits("fuse", &feed, 1, y);
        const hr_feed middle = {linear, feed.value};
        assert_int_equal(count_nodes("fuse", linear, "Mul"), 0);
        const hr_feed both[2] = {feed, middle};
        assert_same_bits("fuse", both, 2, y); /* what is fed in the middle of a chain cuts it */
    }
    free(values);
}

static void a_chain_with_rows_and_columns_is_cut_along_rows(void **state)
{
    (void)state;
    float *values = many_values();
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 512)), bias = hr_placeholder(g, HR_FLOAT, HR_SHAPE(512));
    const hr_node weight = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 1));
    const hr_node y = hr_mul(hr_relu(hr_add(x, bias)), weight);
    const hr_feed feeds[3] = {{x, hr_tensor_of(HR_FLOAT, HR_SHAPE(MANY / 512, 512), values)},
                              {bias, hr_tensor_of(HR_FLOAT, HR_SHAPE(512), values + 77)},
                              {weight, hr_tensor_of(HR_FLOAT, HR_SHAPE(MANY / 512, 1), values)}};
    assert_int_equal(count_nodes("fuse", y, NULL), 4);
    assert_same_bits("fuse", feeds, 3, y);
    free(values);
}

static void what_others_take_is_not_within_a_chain(void **state)
{
    (void)state;
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(MANY)), a = hr_add(x, number(1)), b = hr_mul(a, a);
    const hr_node sum = hr_new_node(g, "Sum", HR_INPUTS(a, hr_scalar(g, HR_INT32, 0)));
    const hr_node y = hr_add(hr_mul(b, number(2)), sum);
    assert_int_equal(count_nodes("fuse", y, "AddV2"), 1);
    assert_int_equal(count_nodes("fuse", y, "Mul"), 0);
    const hr_node small = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1)), few = hr_add(hr_mul(small, small), small);
    assert_int_equal(count_nodes("fuse", few, "Mul"), 1);
}

static void a_block_that_fails_ends_the_run(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out;
    int32_t *values = malloc(sizeof *values * MANY);
    assert_non_null(values);
    for (int i = 0; i < MANY; i++) values[i] = i == MANY - 7 ? 0 : 1;
    const hr_node x = hr_placeholder(g, HR_INT32, HR_SHAPE(MANY));
    const hr_node y = hr_add(hr_new_node(g, "FloorDiv", HR_INPUTS(x, x)), x);
    const hr_feed feed = {x, hr_tensor_of(HR_INT32, HR_SHAPE(MANY), values)};
    assert_int_equal(count_nodes("fuse", y, "FloorDiv"), 0);
    hr_session *s = hr_session_new(g);
    assert_int_equal(hr_session_run(s, &feed, 1, &y, 1, &out, &err), HR_INVALID_ARGUMENT);
    assert_non_null(strstr(err.text, "FloorDiv"));
    assert_non_null(strstr(err.text, "division by zero"));
    values[MANY - 7] = 1;
    assert_ok(hr_session_run(s, &feed, 1, &y, 1, &out, &err), &err);
    hr_tensor_clear(&out);
    hr_session_free(s);
    free(values);
}

static void is_few(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_less(vars[0], hr_scalar(graph, HR_INT32, 3));
}

static void double_and_move(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_add(vars[0], hr_scalar(graph, HR_INT32, 1));
    results[1] =
        hr_sub(hr_mul(hr_identity(vars[1]), hr_scalar(graph, HR_FLOAT, 1.5)), hr_scalar(graph, HR_FLOAT, 0.25));
}

static void passes_run_within_functions(void **state)
{
    (void)state;
    float *values = many_values();
    const hr_node vars[2] = {hr_scalar(g, HR_INT32, 0), hr_placeholder(g, HR_FLOAT, HR_SHAPE(MANY))};
    hr_node out[2];
    const hr_feed feed = {vars[1], hr_tensor_of(HR_FLOAT, HR_SHAPE(MANY), values)};
    hr_while_loop(is_few, double_and_move, NULL, vars, 2, out);
    assert_same_bits("exact", &feed, 1, out[1]);
    assert_same_bits("all", &feed, 1, out[1]);
    free(values);
}

/* More plans than a session keeps: what passes made goes with its plan. */
static void dropped_plans_drop_what_passes_made(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out;
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 512));
    const float values[512] = {1};
    const hr_feed feed = {x, hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 512), values)};
    hr_session *s = hr_session_new(g);
    for (int i = 0; i < HR__MAX_PLANS + 20; i++) {
        const hr_node y = hr_relu(hr_add(x, number(i)));
        assert_ok(hr_session_run(s, &feed, 1, &y, 1, &out, &err), &err);
        assert_float_equal(*(const float *)out.data, 1 + i, 0);
        hr_tensor_clear(&out);
    }
    hr_session_free(s);
}

/* ---- arithmetic ---- */

/* What is left has `nodes` nodes, and its values are those of the graph as it is. */
static void assert_simplified(const hr_feed *feed, hr_node y, int nodes)
{
    hr_error err;
    hr_tensor out[2];
    assert_int_equal(count_nodes("identity,cse,arithmetic", y, NULL), nodes);
    for (int i = 0; i < 2; i++) {
        hr_session *s = hr_session_new(g, .passes = i ? "arithmetic" : "none");
        assert_ok(hr_session_run(s, feed, 1, &y, 1, &out[i], &err), &err);
        hr_session_free(s);
    }
    assert_true(hr_shape_equal(out[0].shape, out[1].shape));
    const float *a = out[0].data, *b = out[1].data;
    for (int64_t i = 0; i < out[0].count; i++) assert_true(fabsf(a[i] - b[i]) <= 1e-6f * fmaxf(1, fabsf(a[i])));
    hr_tensor_clear(&out[0]);
    hr_tensor_clear(&out[1]);
}

static hr_node turn(hr_node x, int64_t first, int64_t second)
{
    return hr_new_node(g, "Transpose", HR_INPUTS(x, hr_const_ints(g, (const int64_t[]){first, second}, 2, NULL)));
}

static hr_node shape_as(hr_node x, int64_t rows, int64_t columns)
{
    return hr_new_node(g, "Reshape", HR_INPUTS(x, hr_const_ints(g, (const int64_t[]){rows, columns}, 2, NULL)));
}

static void what_cancels_goes_and_powers_become_cheap(void **state)
{
    (void)state;
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(2, 3)), y = hr_exp(x);
    const float values[6] = {0.5f, 1, 1.5f, 2, 3, 4};
    const hr_feed feed = {x, hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 3), values)};
    assert_simplified(&feed, hr_neg(hr_neg(y)), 2);
    assert_simplified(&feed, hr_relu(hr_relu(x)), 2);
    assert_simplified(&feed, hr_add(hr_mul(number(1), y), number(0)), 2);
    assert_simplified(&feed, hr_sub(hr_div(y, number(1)), number(0)), 2);
    assert_simplified(&feed, hr_add(x, hr_neg(y)), 3);
    assert_simplified(&feed, hr_add(hr_neg(x), y), 3);
    assert_simplified(&feed, hr_sub(x, hr_neg(y)), 3);
    assert_simplified(&feed, hr_mul(y, y), 3);
    assert_simplified(&feed, hr_div(x, hr_sqrt(x)), 3);
    assert_simplified(&feed, hr_square(hr_sub(x, y)), 3);
    assert_simplified(&feed, hr_log(hr_softmax(x)), 2);
    const double powers[] = {2, 0.5, -0.5, -1, 1, 3, 2.5};
    const int left[] = {2, 2, 2, 2, 1, 3, 3};
    for (int i = 0; i < 7; i++) assert_simplified(&feed, hr_pow(x, number(powers[i])), left[i]);
    assert_simplified(&feed, turn(turn(y, 1, 0), 1, 0), 2);
    assert_simplified(&feed, turn(y, 0, 1), 2);
    assert_simplified(&feed, turn(y, 1, 0), 4);
    assert_simplified(&feed, shape_as(y, 2, 3), 2);
    assert_simplified(&feed, shape_as(shape_as(y, 6, 1), 3, 2), 4);
    assert_simplified(&feed, hr_cast_to(hr_cast_to(y, HR_DOUBLE), HR_FLOAT), 2);
    assert_simplified(&feed, hr_cast_to(hr_cast_to(y, HR_INT32), HR_FLOAT), 4);
}

/* ---- layers ---- */

static hr_node convolve(hr_node x, hr_node w, const char *format)
{
    const int64_t ones[4] = {1, 1, 1, 1};
    return hr_new_node(g, "Conv2D", HR_INPUTS(x, w),
                       HR_ATTRS(HR_INTS_ATTR("strides", ones, 4), HR_STRING_ATTR("padding", "SAME"),
                                HR_STRING_ATTR("data_format", format)));
}

static void layers_become_one_node(void **state)
{
    (void)state;
    static const char *const activations[] = {"Relu", "Relu6", "Elu", "LeakyRelu", "Tanh", "Sigmoid"};
    float values[300 * 5];
    for (int i = 0; i < 300 * 5; i++) values[i] = (float)(i * 37 % 101) / 20 - 2.5f;
    values[7] = NAN, values[23] = INFINITY, values[31] = -0.0f;
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 5)), w = hr_placeholder(g, HR_FLOAT, HR_SHAPE(5, -1));
    const hr_node row = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1));
    const hr_node images = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, -1, -1, 5));
    const hr_node filter = hr_placeholder(g, HR_FLOAT, HR_SHAPE(2, 2, 5, 3));
    const hr_node three = hr_placeholder(g, HR_FLOAT, HR_SHAPE(3));
    const hr_node matmul = hr_bias_add(hr_matmul(x, w), row);
    const hr_node conv = hr_add(three, convolve(images, filter, "NHWC"));
    hr_feed feeds[6] = {{x, hr_tensor_of(HR_FLOAT, HR_SHAPE(300, 5), values)},
                        {w, hr_tensor_of(HR_FLOAT, HR_SHAPE(5, 3), values + 40)},
                        {row, hr_tensor_of(HR_FLOAT, HR_SHAPE(3), values + 9)},
                        {images, hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 10, 10, 5), values)},
                        {filter, hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2, 5, 3), values + 50)},
                        {three, hr_tensor_of(HR_FLOAT, HR_SHAPE(3), values + 9)}};
    assert_int_equal(count_nodes("fuse_dense", matmul, "_FusedMatMul"), 1);
    assert_int_equal(count_nodes("fuse_dense", conv, "_FusedConv2D"), 1);
    assert_same_bits("fuse_dense", feeds, 3, matmul);
    assert_same_bits("fuse_dense", feeds + 3, 3, conv);
    for (int i = 0; i < 6; i++) {
        const hr_node a = hr_unary_node(activations[i], hr_bias_add(hr_matmul(x, w), row), NULL);
        const hr_node b = hr_unary_node(activations[i], hr_add(three, convolve(images, filter, "NHWC")), NULL);
        assert_int_equal(count_nodes("fuse_dense", a, NULL), 4);
        assert_int_equal(count_nodes("fuse_dense", b, NULL), 4);
        assert_same_bits("fuse_dense", feeds, 3, a);
        assert_same_bits("fuse_dense", feeds + 3, 3, b);
    }
    feeds[1].value = hr_tensor_of(HR_FLOAT, HR_SHAPE(5, 1), values + 40); /* as a linear model has it */
    feeds[2].value = hr_tensor_of(HR_FLOAT, HR_SHAPE(1), values + 9);
    assert_same_bits("fuse_dense", feeds, 3, hr_sigmoid(matmul));
    feeds[0].value = hr_tensor_of(HR_FLOAT, HR_SHAPE(0, 5), values);
    assert_same_bits("fuse_dense", feeds, 3, hr_sigmoid(matmul));
}

static void a_layer_without_inputs_is_its_bias(void **state)
{
    (void)state;
    const float values[4] = {-1, 0, 1, 2};
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 0)), w = hr_placeholder(g, HR_FLOAT, HR_SHAPE(0, 4));
    const hr_node row = hr_placeholder(g, HR_FLOAT, HR_SHAPE(4));
    const hr_feed feeds[3] = {{x, hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 0), values)},
                              {w, hr_tensor_of(HR_FLOAT, HR_SHAPE(0, 4), values)},
                              {row, hr_tensor_of(HR_FLOAT, HR_SHAPE(4), values)}};
    assert_same_bits("fuse_dense", feeds, 3, hr_relu(hr_bias_add(hr_matmul(x, w), row)));
}

static void a_layer_whose_parts_others_need_stays(void **state)
{
    (void)state;
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 5)), w = hr_placeholder(g, HR_FLOAT, HR_SHAPE(5, 3));
    const hr_node row = hr_placeholder(g, HR_FLOAT, HR_SHAPE(3)), open = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1));
    const hr_node product = hr_matmul(x, w), sum = hr_bias_add(product, row), y = hr_relu(sum);
    const hr_node images = hr_placeholder(g, HR_FLOAT, HR_SHAPE(1, 5, 4, 4));
    const hr_node filter = hr_placeholder(g, HR_FLOAT, HR_SHAPE(2, 2, 5, 3));
    const hr_node of_nchw = hr_new_node(g, "BiasAdd", HR_INPUTS(convolve(images, filter, "NCHW"), row),
                                        HR_ATTRS(HR_STRING_ATTR("data_format", "NCHW")));
    const hr_node d = hr_placeholder(g, HR_DOUBLE, HR_SHAPE(3, 3)), wait = hr_matmul(x, w);
    hr_control_dependencies(g, &wait, 1);
    const hr_node waits = hr_bias_add(hr_matmul(x, w), row);
    hr_control_end(g);
    assert_int_equal(count_nodes("fuse_dense", hr_add(y, product), "MatMul"), 1);
    assert_int_equal(count_nodes("fuse_dense", hr_add(y, sum), "Relu"), 1);
    assert_int_equal(count_nodes("fuse_dense", hr_add(y, sum), "_FusedMatMul"), 1);
    assert_int_equal(count_nodes("fuse_dense", hr_add(hr_matmul(x, w), open), "MatMul"), 1);
    assert_int_equal(count_nodes("fuse_dense", hr_add(hr_matmul(x, w), hr_matmul(x, w)), "MatMul"), 2);
    assert_int_equal(count_nodes("fuse_dense", hr_bias_add(hr_matmul(d, d), hr_cast_to(row, HR_DOUBLE)), "MatMul"), 1);
    assert_int_equal(count_nodes("fuse_dense", of_nchw, "Conv2D"), 1);
    assert_int_equal(count_nodes("fuse_dense", waits, "MatMul"), 2);
    const float values[15] = {1, 2, 3, -4, -5, -6, 7, 8, -9};
    const hr_feed fed[2] = {{product, hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 3), values)},
                            {row, hr_tensor_of(HR_FLOAT, HR_SHAPE(3), values)}};
    assert_same_bits("fuse_dense", fed, 2, y);
}

static void an_error_of_a_layer_names_its_line(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out;
    const float values[6] = {0};
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(2, -1)), w = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 2));
    const hr_node row = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1)), y = hr_relu(hr_bias_add(hr_matmul(x, w), row));
    hr_feed feeds[3] = {{x, hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 3), values)},
                        {w, hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2), values)},
                        {row, hr_tensor_of(HR_FLOAT, HR_SHAPE(2), values)}};
    hr_session *s = hr_session_new(g, .passes = "fuse_dense");
    assert_int_equal(hr_session_run(s, feeds, 3, &y, 1, &out, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "graph.shape");
    assert_non_null(strstr(err.text, "test_passes.c:"));
    feeds[1].value.shape = HR_SHAPE(3, 2), feeds[1].value.count = 6;
    feeds[2].value.shape = HR_SHAPE(3), feeds[2].value.count = 3;
    assert_int_equal(hr_session_run(s, feeds, 3, &y, 1, &out, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "graph.shape");
    hr_session_free(s);
}

/* Nodes that TensorFlow's own passes make, as a file may have them. */
static void fused_nodes_of_files_say_what_they_fuse(void **state)
{
    (void)state;
    static const struct {
        const char *ops[2];
        int count, args;
        hr_status status;
    } cases[] = {{{"BiasAdd", "Elu"}, 2, 1, HR_OK},
                 {{"BiasAdd"}, 1, 1, HR_OK},
                 {{0}, 0, 1, HR_INVALID_ARGUMENT},
                 {{"BiasAdd"}, 1, 2, HR_INVALID_ARGUMENT},
                 {{"Relu", "BiasAdd"}, 2, 1, HR_UNIMPLEMENTED},
                 {{"BiasAdd", "Exp"}, 2, 1, HR_UNIMPLEMENTED},
                 {{"FusedBatchNorm"}, 1, 1, HR_UNIMPLEMENTED}};
    hr_error err;
    hr_tensor out;
    const hr_node one = hr_new_node(g, "Reshape", HR_INPUTS(number(-3), hr_const_ints(g, (int64_t[]){1, 1}, 2, NULL)));
    const hr_node bias = hr_new_node(g, "Reshape", HR_INPUTS(number(2), hr_const_ints(g, (int64_t[]){1}, 1, NULL)));
    const hr_node inputs[4] = {one, hr_neg(hr_neg(hr_square(one))), bias, bias};
    hr_session *s = hr_session_new(g);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const hr_view ops[2] = {hr_text_view(cases[i].ops[0]), hr_text_view(cases[i].ops[1])};
        const hr_attr fused = {.name = "fused_ops", .kind = HR_ATTR_STRINGS, .count = cases[i].count, .strings = ops};
        const hr_node y = hr_new_node(g, "_FusedMatMul", .inputs = inputs, .input_count = 2 + cases[i].args,
                                      HR_ATTRS(fused, HR_INT_ATTR("num_args", cases[i].args)));
        assert_null(hr_graph_error(g));
        assert_int_equal(hr_session_run(s, NULL, 0, &y, 1, &out, &err), cases[i].status);
        if (cases[i].status != HR_OK) continue;
        assert_float_equal(*(const float *)out.data, cases[i].count == 2 ? expm1f(-25) : -25, 0);
        hr_tensor_clear(&out);
    }
    hr_session_free(s);
}

/* ---- lookups ---- */

/* The same to 1e-6 with and without a pass, and one lookup in place of what was there. */
static void assert_combined(const hr_feed *feeds, int count, hr_node y)
{
    hr_error err;
    hr_tensor out[2];
    assert_int_equal(count_nodes("gather_combine", y, "Headrace>GatherCombine"), 1);
    for (int i = 0; i < 2; i++) {
        hr_session *s = hr_session_new(g, .passes = i ? "gather_combine" : "none");
        assert_ok(hr_session_run(s, feeds, count, &y, 1, &out[i], &err), &err);
        hr_session_free(s);
    }
    assert_true(hr_shape_equal(out[0].shape, out[1].shape));
    const float *a = out[0].data, *b = out[1].data;
    for (int64_t i = 0; i < out[0].count; i++)
        assert_true((isnan(a[i]) && isnan(b[i])) || a[i] == b[i] || fabsf(a[i] - b[i]) <= 1e-6f * fabsf(a[i]));
    hr_tensor_clear(&out[0]);
    hr_tensor_clear(&out[1]);
}

static hr_node column_of(hr_node w) { return hr_expand_dims(w, hr_scalar(g, HR_INT32, 1)); }
static hr_node sum_segments(hr_node rows, hr_node of) { return hr_new_node(g, "SegmentSum", HR_INPUTS(rows, of)); }

typedef struct lookup_inputs {
    hr_node table, ids, segments, weights;
    hr_feed feeds[4];
} lookup_inputs;

/* A table of 5 rows; segments 0, 0, 2, 2, 2. */
static lookup_inputs make_lookup(void)
{
    static const float rows[15] = {1, -2, 3, 0.5f, 7, 9, -1, 0, 2, 4, 4, -4, 8, INFINITY, 0},
                       weights[5] = {1, -2, 0, 3, 0.25f};
    static const int64_t ids[5] = {4, 0, 2, 2, 1};
    static const int32_t segments[5] = {0, 0, 2, 2, 2};
    lookup_inputs l = {.table = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 3)),
                       .ids = hr_placeholder(g, HR_INT64, HR_SHAPE(-1)),
                       .segments = hr_placeholder(g, HR_INT32, HR_SHAPE(-1)),
                       .weights = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1))};
    l.feeds[0] = (hr_feed){l.table, hr_tensor_of(HR_FLOAT, HR_SHAPE(5, 3), rows)};
    l.feeds[1] = (hr_feed){l.ids, hr_tensor_of(HR_INT64, HR_SHAPE(5), ids)};
    l.feeds[2] = (hr_feed){l.segments, hr_tensor_of(HR_INT32, HR_SHAPE(5), segments)};
    l.feeds[3] = (hr_feed){l.weights, hr_tensor_of(HR_FLOAT, HR_SHAPE(5), weights)};
    return l;
}

static void rows_that_are_combined_are_not_gathered(void **state)
{
    (void)state;
    lookup_inputs l = make_lookup();
    const hr_node rows = hr_gather(l.table, l.ids, 0),
                  mean = hr_new_node(g, "SegmentMean", HR_INPUTS(rows, l.segments));
    assert_combined(l.feeds, 3, sum_segments(hr_identity(hr_gather(l.table, l.ids, 0)), l.segments));
    assert_combined(l.feeds, 3, mean);
    l.feeds[1].value.shape = HR_SHAPE(0), l.feeds[1].value.count = 0;
    l.feeds[2].value.shape = HR_SHAPE(0), l.feeds[2].value.count = 0;
    assert_combined(l.feeds, 3, mean);
    static const int64_t pairs[6] = {0, 1, 3, 3, 2, 4};
    const hr_node many = hr_placeholder(g, HR_INT64, HR_SHAPE(-1, 2)),
                  none = hr_placeholder(g, HR_INT64, HR_SHAPE(2, 0));
    const hr_feed feeds[2] = {l.feeds[0], {many, hr_tensor_of(HR_INT64, HR_SHAPE(3, 2), pairs)}};
    const hr_feed empty[2] = {l.feeds[0], {none, hr_tensor_of(HR_INT64, HR_SHAPE(2, 0), pairs)}};
    assert_combined(feeds, 2, hr_reduce_sum(hr_gather(l.table, many, 0), .axes = HR_I64(1), .axis_count = 1));
    assert_combined(feeds, 2, hr_reduce_mean(hr_gather(l.table, many, 0), .axes = HR_I64(-2), .axis_count = 1));
    assert_combined(empty, 2, hr_reduce_mean(hr_gather(l.table, none, 0), .axes = HR_I64(1), .axis_count = 1));
    assert_combined(empty, 2, hr_reduce_sum(hr_gather(l.table, none, 0), .axes = HR_I64(1), .axis_count = 1));
}

static void rows_with_weights_are_combined(void **state)
{
    (void)state;
    lookup_inputs l = make_lookup();
    const hr_node column = column_of(l.weights);
    for (int i = 0; i < 3; i++) {
        hr_node y = sum_segments(hr_mul(hr_gather(l.table, l.ids, 0), column), l.segments);
        if (i == 1) y = hr_div_no_nan(y, sum_segments(column, l.segments));
        if (i == 2) y = hr_div_no_nan(y, hr_sqrt(sum_segments(hr_pow(column, number(2)), l.segments)));
        assert_combined(l.feeds, 4, y);
    }
    const hr_node y = sum_segments(hr_mul(column, hr_gather(l.table, l.ids, 0)), l.segments);
    l.feeds[3].value.shape = HR_SHAPE(1), l.feeds[3].value.count = 1; /* one weight for all */
    assert_combined(l.feeds, 4, y);
}

/* As tf.nn.embedding_lookup_sparse writes it. The variable is read before it changes. */
static void a_lookup_of_unique_ids_reads_where_the_gather_stood(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out[2];
    const int64_t numbers[2][3] = {{1, 1, 0}, {0, 0, 2}};
    hr_node in[2];
    const hr_node v = hr_get_variable(g, "table", HR_FLOAT, HR_SHAPE(2, 1), .initializer = hr_ones());
    for (int i = 0; i < 2; i++) in[i] = hr_placeholder(g, HR_INT64, HR_SHAPE(-1));
    const hr_feed feeds[2] = {{in[0], hr_tensor_of(HR_INT64, HR_SHAPE(3), numbers[0])},
                              {in[1], hr_tensor_of(HR_INT64, HR_SHAPE(3), numbers[1])}};
    const hr_node unique = hr_new_node(g, "Unique", HR_INPUTS(in[0]));
    const hr_node rows = hr_identity(hr_gather(v, unique, 0));
    const hr_node more = hr_const_number(g, HR_FLOAT, 10, NULL);
    const hr_node ten = hr_fill(hr_const_ints(g, (const int64_t[]){2, 1}, 2, NULL), more);
    const hr_node add = hr_new_node(g, "AssignAddVariableOp", HR_INPUTS(v, ten));
    const hr_node late = hr_new_node(g, "SparseSegmentMean", HR_INPUTS(rows, hr_node_output(unique, 1), in[1]));
    const hr_node fetches[2] = {late, hr_target(add)}, init = hr_global_variables_initializer(g);
    assert_int_equal(count_nodes("gather_combine", late, "Headrace>ResourceGatherCombine"), 1);
    assert_int_equal(count_nodes("gather_combine", late, "Unique"), 0);
    hr_session *s = hr_session_new(g, .passes = "gather_combine");
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    for (int turn = 0; turn < 2; turn++) {
        assert_ok(hr_session_run(s, feeds, 2, fetches, 2, out, &err), &err);
        const float *means = out[0].data;
        assert_float_equal(means[0], 1 + 10 * turn, 0);
        assert_float_equal(means[1], 0, 0);
        assert_float_equal(means[2], 1 + 10 * turn, 0);
        hr_tensor_clear(&out[0]);
    }
    hr_session_free(s);
}

static void rows_that_others_need_are_gathered(void **state)
{
    (void)state;
    lookup_inputs l = make_lookup();
    const hr_node rows = hr_gather(l.table, l.ids, 0), sum = sum_segments(rows, l.segments);
    const hr_node open = hr_placeholder(g, HR_INT64, HR_UNKNOWN_SHAPE);
    const char *op = "Headrace>GatherCombine", *pass = "gather_combine";
    assert_int_equal(count_nodes(pass, hr_add(hr_reduce_sum(rows), hr_reduce_sum(sum)), op), 0);
    assert_int_equal(count_nodes(pass, sum_segments(hr_gather(l.table, l.ids, 1), l.segments), op), 0);
    assert_int_equal(count_nodes(pass, sum_segments(hr_gather(l.table, open, 0), l.segments), op), 0);
    const hr_node all = hr_gather(l.table, l.ids, 0);
    assert_int_equal(count_nodes(pass, hr_reduce_sum(all, .axes = HR_I64(1), .axis_count = 1), op), 0);
    const hr_node kept =
        hr_reduce_sum(hr_gather(l.table, l.ids, 0), .axes = HR_I64(0), .axis_count = 1, .keep_dims = true);
    assert_int_equal(count_nodes(pass, kept, op), 0);
    const hr_node wide = sum_segments(hr_cast_to(hr_gather(l.table, l.ids, 0), HR_DOUBLE), l.segments);
    assert_int_equal(count_nodes(pass, wide, op), 0);
}

static void a_lookup_refuses_what_its_parts_refuse(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out;
    lookup_inputs l = make_lookup();
    const hr_node y = sum_segments(hr_gather(l.table, l.ids, 0), l.segments);
    const int64_t beyond[5] = {0, 1, 5, 0, 0};
    const int32_t falling[5] = {0, 1, 0, 1, 1};
    for (int with = 0; with < 2; with++) {
        hr_session *s = hr_session_new(g, .passes = with ? "gather_combine" : "none");
        for (int i = 0; i < 3; i++) {
            hr_feed feeds[3] = {l.feeds[0], l.feeds[1], l.feeds[2]};
            if (i == 0) feeds[1].value.data = (void *)beyond;
            if (i == 1) feeds[2].value.data = (void *)falling;
            if (i == 2) feeds[2].value.shape = HR_SHAPE(4), feeds[2].value.count = 4;
            assert_int_equal(hr_session_run(s, feeds, 3, &y, 1, &out, &err), HR_INVALID_ARGUMENT);
        }
        hr_session_free(s);
    }
}

/* ---- cross entropies ---- */

/* To 1e-6 the same with and without the pass, and computed by one node of that op. */
static void assert_entropy(const hr_feed *feeds, int count, hr_node y, const char *op)
{
    hr_error err;
    hr_tensor out[2];
    assert_int_equal(count_nodes("cross_entropy", y, op), 1);
    assert_int_equal(count_nodes("cross_entropy", y, "Log"), 0);
    for (int i = 0; i < 2; i++) {
        hr_session *s = hr_session_new(g, .passes = i ? "cross_entropy" : "none");
        assert_ok(hr_session_run(s, feeds, count, &y, 1, &out[i], &err), &err);
        hr_session_free(s);
    }
    assert_true(hr_shape_equal(out[0].shape, out[1].shape));
    const float *a = out[0].data, *b = out[1].data;
    for (int64_t i = 0; i < out[0].count; i++) assert_true(fabsf(a[i] - b[i]) <= 1e-6f * fmaxf(1, fabsf(a[i])));
    hr_tensor_clear(&out[0]);
    hr_tensor_clear(&out[1]);
}

static hr_node sum_of_rows(hr_node x) { return hr_reduce_sum(x, .axes = HR_I64(-1), .axis_count = 1); }

static hr_node one_hot_of(hr_node classes, int64_t depth)
{
    return hr_new_node(g, "OneHot",
                       HR_INPUTS(classes, hr_const_number(g, HR_INT32, (double)depth, NULL), number(1), number(0)));
}

static const float some_logits[12] = {1, -2, 0.5f, 3, 0, 0, 0, 0, -1, 4, 2, -3};
static const float some_labels[12] = {1, 0, 0, 0, 0.25f, 0.25f, 0.25f, 0.25f, 0, 0.5f, 0.5f, 0};

static void entropies_of_softmax_are_one_node(void **state)
{
    (void)state;
    const char *op = "SoftmaxCrossEntropyWithLogits";
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 4)), y = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 4));
    hr_feed feeds[2] = {{x, hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 4), some_logits)},
                        {y, hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 4), some_labels)}};
    assert_entropy(feeds, 2, hr_neg(sum_of_rows(hr_mul(y, hr_log(hr_softmax(x))))), op);
    assert_entropy(feeds, 2, sum_of_rows(hr_neg(hr_mul(hr_log_softmax(x), y))), op);
    const hr_node p = hr_softmax(x), both = hr_neg(sum_of_rows(hr_mul(y, hr_log(p))));
    assert_entropy(feeds, 2, hr_add(both, hr_reduce_sum(p)), op); /* who else takes the softmax has it */
    feeds[0].value = hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 4), some_logits);
    assert_entropy(feeds, 2, both, op); /* one row of logits for all labels */
}

/* A class beyond the last one has no loss. */
static void entropies_of_classes_need_no_one_hot(void **state)
{
    (void)state;
    const int64_t classes[3] = {2, 4, -1};
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(3, 4)), of = hr_placeholder(g, HR_INT64, HR_SHAPE(3));
    const hr_feed feeds[2] = {{x, hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 4), some_logits)},
                              {of, hr_tensor_of(HR_INT64, HR_SHAPE(3), classes)}};
    const hr_node y = hr_neg(sum_of_rows(hr_mul(one_hot_of(of, 4), hr_log(hr_softmax(x)))));
    assert_entropy(feeds, 2, y, "SparseSoftmaxCrossEntropyWithLogits");
    assert_int_equal(count_nodes("cross_entropy", y, "OneHot"), 0);
    const hr_node open = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 4));
    const hr_node z = hr_neg(sum_of_rows(hr_mul(one_hot_of(of, 4), hr_log(hr_softmax(open)))));
    assert_int_equal(count_nodes("cross_entropy", z, "OneHot"), 1);
}

static hr_node written_sigmoid(hr_node x, hr_node y)
{
    const hr_node p = hr_sigmoid(x), other = hr_mul(hr_sub(number(1), y), hr_log(hr_sub(number(1), p)));
    return hr_neg(hr_add(hr_mul(y, hr_log(p)), other));
}

static void entropies_of_sigmoid_are_stable(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out;
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(3, 4)), y = hr_placeholder(g, HR_FLOAT, HR_SHAPE(3, 4));
    const hr_node open = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 4));
    const hr_feed feeds[2] = {{x, hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 4), some_logits)},
                              {y, hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 4), some_labels)}};
    const hr_feed one_row[2] = {{open, hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 4), some_logits)}, feeds[1]};
    assert_entropy(feeds, 2, written_sigmoid(x, y), "Headrace>SigmoidCrossEntropyWithLogits");
    assert_entropy(one_row, 2, written_sigmoid(open, y), "Log1p");
    const float large[4] = {200, -200, 200, -200}, labels[12] = {1, 0, 0, 1};
    const hr_feed far[2] = {{open, hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 4), large)},
                            {y, hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 4), labels)}};
    const hr_node loss = written_sigmoid(open, y);
    hr_session *s = hr_session_new(g, .passes = "all");
    assert_ok(hr_session_run(s, far, 2, &loss, 1, &out, &err), &err);
    for (int i = 0; i < 4; i++) assert_float_equal(((const float *)out.data)[i], i < 2 ? 0 : 200, 0);
    hr_tensor_clear(&out);
    hr_session_free(s);
}

static void what_is_no_entropy_stays(void **state)
{
    (void)state;
    const char *pass = "cross_entropy", *op = "SoftmaxCrossEntropyWithLogits";
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 4)), y = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 4));
    const hr_node open = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, -1)), log = hr_log(hr_softmax(x));
    const hr_node first = hr_reduce_sum(hr_mul(y, hr_log(hr_softmax(x))), .axes = HR_I64(0), .axis_count = 1);
    assert_int_equal(count_nodes(pass, hr_neg(first), op), 0);
    assert_int_equal(count_nodes(pass, hr_neg(sum_of_rows(hr_mul(open, hr_log(hr_softmax(x))))), op), 0);
    assert_int_equal(count_nodes(pass, hr_neg(sum_of_rows(hr_mul(y, hr_log(hr_softmax(open))))), op), 0);
    assert_int_equal(count_nodes(pass, hr_add(hr_neg(sum_of_rows(hr_mul(y, log))), hr_reduce_sum(log)), op), 0);
    assert_int_equal(count_nodes(pass, sum_of_rows(hr_mul(y, hr_log(hr_softmax(x)))), op), 0);
    const hr_node p = hr_sigmoid(x), q = hr_sigmoid(y);
    const hr_node other = hr_mul(hr_sub(number(1), y), hr_log(hr_sub(number(1), q)));
    assert_int_equal(count_nodes(pass, hr_neg(hr_add(hr_mul(y, hr_log(p)), other)), "Log"), 2);
    const hr_node one =
        hr_new_node(g, "Reshape", HR_INPUTS(number(1), hr_const_ints(g, (int64_t[]){1, 1, 1}, 3, NULL)));
    const hr_node high = hr_mul(hr_sub(one, y), hr_log(hr_sub(one, p)));
    assert_int_equal(count_nodes("fold,cross_entropy", hr_neg(hr_add(hr_mul(y, hr_log(p)), high)), "Log"), 2);
}

/* ---- loops ---- */

typedef struct hoisted_loop {
    hr_node w, limit; /* from around the loop */
} hoisted_loop;

static void is_below_limit(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    const hoisted_loop *l = user;
    (void)graph;
    results[0] = hr_less(vars[0], hr_add(l->limit, l->limit));
}

static void take_turn(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    const hoisted_loop *l = user;
    const hr_node two = hr_scalar(graph, HR_FLOAT, 2);
    const hr_node product = hr_matmul(hr_tanh(hr_mul(l->w, two)), l->w);
    results[0] = hr_add(vars[0], hr_scalar(graph, HR_FLOAT, 1));
    results[1] = hr_add(vars[1], hr_mul(product, vars[0]));
}

/* How many nodes of an op the body of the one loop has that a rewritten graph has; -1: there is no loop. */
static int count_in_body(const char *pass, hr_node fetch, const char *which, const char *op)
{
    hr_error err;
    hr_rewrite *r;
    int count = -1;
    assert_null(hr_graph_error(g));
    assert_ok(hr_rewrite_new(g, NULL, 0, &fetch, 1, pass, &r, &err), &err);
    for (int32_t id = 0; id < hr_graph_size(hr_rewrite_graph(r)); id++) {
        const hr_node loop = {hr_rewrite_graph(r), id, 0};
        if (!strstr(hr_node_op(loop), "While")) continue;
        hr_graph *in = hr_function_graph(hr_function_named(loop.graph, hr_node_attr(loop, which)->func->name));
        count = 0;
        for (int32_t i = 0; i < hr_graph_size(in); i++) count += strcmp(hr_node_op((hr_node){in, i, 0}), op) == 0;
    }
    hr_rewrite_free(r);
    return count;
}

static void what_no_turn_changes_is_computed_before_the_loop(void **state)
{
    (void)state;
    const float values[4] = {0.5f, -1, 2, 0.25f};
    for (int turns = 0; turns < 8; turns += 6) {
        const float half = (float)turns / 2;
        const hr_node w = hr_placeholder(g, HR_FLOAT, HR_SHAPE(2, 2)), limit = hr_placeholder(g, HR_FLOAT, HR_SCALAR);
        const hr_node vars[2] = {number(0), hr_mul(w, number(0))};
        hoisted_loop l = {w, limit};
        hr_node out[2];
        const hr_feed feeds[2] = {{w, hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2), values)},
                                  {limit, hr_tensor_of(HR_FLOAT, HR_SCALAR, &half)}};
        hr_while_loop(is_below_limit, take_turn, &l, vars, 2, out);
        assert_int_equal(count_nodes("hoist", out[1], "MatMul"), 1);
        assert_int_equal(count_nodes("hoist", out[1], "Tanh"), 1);
        assert_int_equal(count_in_body("hoist", out[1], "cond", "AddV2"), 0);
        assert_int_equal(count_in_body("none", out[1], "body", "Tanh"), 1);
        assert_same_bits("hoist", feeds, 2, out[1]);
        assert_same_bits("hoist", feeds, 2, out[0]);
        assert_same_bits("all", feeds, 2, out[0]);
    }
}

/* Of unknown shapes a product may fail, which a loop without turns does not. */
static void what_may_fail_stays_in_the_loop(void **state)
{
    (void)state;
    const float none = 0, values[6] = {0};
    const hr_node w = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, -1)), limit = hr_placeholder(g, HR_FLOAT, HR_SCALAR);
    const hr_node vars[2] = {number(0), hr_placeholder(g, HR_FLOAT, HR_SHAPE(2, 2))};
    hoisted_loop l = {w, limit};
    hr_node out[2];
    const hr_feed feeds[3] = {{w, hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 3), values)},
                              {limit, hr_tensor_of(HR_FLOAT, HR_SCALAR, &none)},
                              {vars[1], hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2), values)}};
    const hr_shape open[2] = {HR_SCALAR, HR_SHAPE(-1, -1)};
    hr_while_loop(is_below_limit, take_turn, &l, vars, 2, out, .shapes = open);
    assert_int_equal(count_nodes("hoist", out[1], "MatMul"), 0);
    assert_same_bits("hoist", feeds, 3, out[1]);
}

static void draw_in_turn(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    const hoisted_loop *l = user;
    const hr_node shape = hr_const_ints(graph, (const int64_t[]){2, 2}, 2, NULL);
    const hr_node drawn =
        hr_new_node(graph, "RandomUniform", HR_INPUTS(shape), HR_ATTRS(HR_TYPE_ATTR("dtype", HR_FLOAT)));
    results[0] = hr_add(vars[0], hr_scalar(graph, HR_FLOAT, 1));
    results[1] = hr_add(vars[1], hr_mul(drawn, hr_tanh(l->w)));
}

static void a_loop_with_effects_stays(void **state)
{
    (void)state;
    const hr_node w = hr_placeholder(g, HR_FLOAT, HR_SHAPE(2, 2)), limit = hr_placeholder(g, HR_FLOAT, HR_SCALAR);
    const hr_node vars[2] = {number(0), hr_mul(w, number(0))};
    hoisted_loop l = {w, limit};
    hr_node out[2];
    hr_while_loop(is_below_limit, draw_in_turn, &l, vars, 2, out);
    assert_int_equal(count_nodes("hoist", out[1], "Tanh"), 0);
}

/* ---- a training ---- */

enum { STEPS = 30, ROWS = 64, WIDTH = 16 };

/* Losses of a small network, trained by hand: reads, gradients, updates. */
static void train(const char *passes, float *losses)
{
    hr_error err;
    hr_graph *graph = hr_graph_new();
    hr_set_random_seed(graph, 7);
    const hr_node x = hr_placeholder(graph, HR_FLOAT, HR_SHAPE(-1, WIDTH)),
                  y = hr_placeholder(graph, HR_FLOAT, HR_SHAPE(-1, 1));
    const hr_node w[4] = {hr_get_variable(graph, "w1", HR_FLOAT, HR_SHAPE(WIDTH, 32)),
                          hr_get_variable(graph, "b1", HR_FLOAT, HR_SHAPE(32), .initializer = hr_zeros()),
                          hr_get_variable(graph, "w2", HR_FLOAT, HR_SHAPE(32, 1)),
                          hr_get_variable(graph, "b2", HR_FLOAT, HR_SHAPE(1), .initializer = hr_zeros())};
    const hr_node hidden = hr_relu(hr_bias_add(hr_matmul(x, w[0]), w[1]));
    const hr_node logits = hr_bias_add(hr_matmul(hidden, w[2]), w[3]);
    const hr_node each = hr_square(hr_sub(hr_sigmoid(logits), y));
    const hr_node axes = hr_const_ints(graph, (const int64_t[]){0, 1}, 2, NULL);
    const hr_node loss = hr_new_node(graph, "Mean", HR_INPUTS(hr_identity(each), axes));
    hr_gradient gradients[4];
    hr_node updates[5] = {loss};
    hr_gradients(&loss, 1, w, 4, gradients);
    for (int i = 0; i < 4; i++)
        updates[i + 1] = hr_target(hr_new_node(graph, "ResourceApplyGradientDescent",
                                               HR_INPUTS(w[i], hr_scalar(graph, HR_FLOAT, 0.5), gradients[i].values)));
    assert_null(hr_graph_error(graph));
    float rows[ROWS * WIDTH], labels[ROWS];
    for (int i = 0; i < ROWS * WIDTH; i++) rows[i] = (float)(i * 37 % 101) / 50 - 1;
    for (int i = 0; i < ROWS; i++) labels[i] = rows[i * WIDTH] > 0;
    const hr_feed feeds[2] = {{x, hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS, WIDTH), rows)},
                              {y, hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS, 1), labels)}};
    hr_session *s = hr_session_new(graph, .passes = passes);
    const hr_node init = hr_global_variables_initializer(graph);
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    for (int i = 0; i < STEPS; i++) {
        hr_tensor out[5];
        assert_ok(hr_session_run(s, feeds, 2, updates, 5, out, &err), &err);
        losses[i] = *(const float *)out[0].data;
        hr_tensor_clear(&out[0]);
    }
    hr_session_free(s);
    hr_graph_free(graph);
}

static void a_training_is_the_same_bit_for_bit(void **state)
{
    (void)state;
    float none[STEPS], exact[STEPS], all[STEPS];
    train("none", none);
    train("exact", exact);
    train("all", all);
    assert_memory_equal(none, exact, sizeof none);
    assert_true(none[STEPS - 1] < none[0]);
    for (int i = 0; i < STEPS; i++) assert_float_equal(all[i], none[i], 1e-5);
}

/* ---- allocations that fail ---- */

/* A plan that every pass changes, and its run. */
static hr_status life(hr_error *err)
{
    hr_tensor out = {0};
    hr_status st = HR_RESOURCE_EXHAUSTED;
    const float values[512] = {1};
    hr_graph *graph = hr_graph_new();
    hr_session *s = graph ? hr_session_new(graph, .workers = &(int){0}, .passes = "all") : NULL;
    if (s) {
        const hr_node x = hr_placeholder(graph, HR_FLOAT, HR_SHAPE(-1, 512)), two = hr_scalar(graph, HR_FLOAT, 2);
        const hr_node same[2] = {hr_add(hr_identity(x), two), hr_add(x, two)};
        const hr_node power = hr_mul(two, hr_scalar(graph, HR_FLOAT, 1)), rank = hr_cast_to(hr_rank_of(x), HR_FLOAT);
        const hr_node y = hr_pow(hr_mul(same[0], hr_neg(hr_neg(same[1]))), power);
        hr_control_dependencies(graph, same, 2);
        const hr_node weights = hr_fill(hr_const_ints(graph, (const int64_t[]){512, 1}, 2, NULL), two);
        const hr_node bias = hr_expand_dims(two, hr_scalar(graph, HR_INT32, 0));
        const hr_node layer = hr_relu(hr_bias_add(hr_matmul(y, weights), bias));
        const hr_node last = hr_add(hr_add(hr_relu(y), rank), layer);
        hr_control_end(graph);
        const hr_feed feed = {x, hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 512), values)};
        st = hr_session_run(s, &feed, 1, &last, 1, &out, err);
        hr_tensor_clear(&out);
    }
    hr_session_free(s);
    hr_graph_free(graph);
    return st;
}

/* A loop with something to hoist, a lookup, an entropy. */
static hr_status life_of_a_loop(hr_error *err)
{
    hr_tensor out = {0};
    hr_status st = HR_RESOURCE_EXHAUSTED;
    const float values[4] = {0, 1, 2, 3}, half = 0.5f;
    hr_graph *graph = hr_graph_new();
    hr_session *s = graph ? hr_session_new(graph, .workers = &(int){0}, .passes = "all") : NULL;
    if (s) {
        const hr_node w = hr_placeholder(graph, HR_FLOAT, HR_SHAPE(2, 2));
        const hr_node limit = hr_placeholder(graph, HR_FLOAT, HR_SCALAR), vars[2] = {hr_scalar(graph, HR_FLOAT, 0), w};
        hoisted_loop l = {w, limit};
        hr_node loop[2] = {{0}};
        hr_while_loop(is_below_limit, take_turn, &l, vars, 2, loop);
        const hr_node of = hr_const_ints(graph, (const int64_t[]){1, 0}, 2, NULL);
        const hr_node in = hr_const_ints(graph, (const int64_t[]){0, 1}, 2, NULL);
        const hr_node rows = hr_new_node(graph, "SegmentSum", HR_INPUTS(hr_gather(loop[1], of, 0), in));
        const hr_node late = hr_new_node(graph, "SegmentMean", HR_INPUTS(hr_gather(loop[1], of, 0), hr_sub(of, of)));
        const hr_node entropy = hr_neg(sum_of_rows(hr_mul(w, hr_log(hr_softmax(rows)))));
        const hr_node last = hr_add(entropy, hr_reduce_sum(late));
        const hr_feed feeds[2] = {{w, hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2), values)},
                                  {limit, hr_tensor_of(HR_FLOAT, HR_SCALAR, &half)}};
        st = hr_session_run(s, feeds, 2, &last, 1, &out, err);
        hr_tensor_clear(&out);
    }
    hr_session_free(s);
    hr_graph_free(graph);
    return st;
}

static void survive(hr_status (*live)(hr_error *err))
{
    hr_error err = {0};
    assert_ok(live(&err), &err);
    const int64_t before = allocations_alive();
    fail_allocation(-1);
    assert_ok(live(&err), &err);
    const int64_t all = allocations_since();
    for (int64_t n = 0; n < all; n++) {
        fail_allocation(n);
        const hr_status st = live(&err);
        allocations_since();
        if (st != HR_RESOURCE_EXHAUSTED) assert_ok(st, &err);
        assert_int_equal(allocations_alive(), before);
    }
}

static void each_allocation_may_fail(void **state)
{
    (void)state;
    survive(life);
    survive(life_of_a_loop);
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
        ON_A_GRAPH(identities_are_by_passed),
        ON_A_GRAPH(a_read_of_a_reference_variable_stays_where_it_is),
        ON_A_GRAPH(known_shapes_are_constants),
        ON_A_GRAPH(equal_nodes_are_computed_once),
        ON_A_GRAPH(random_numbers_and_reads_are_not_shared),
        ON_A_GRAPH(control_inputs_that_say_nothing_new_go),
        ON_A_GRAPH(a_constant_decides_for_a_branch),
        ON_A_GRAPH(what_a_switch_never_takes_goes),
        ON_A_GRAPH(what_is_fetched_keeps_its_name_in_a_copy_for_tools),
        ON_A_GRAPH(chains_are_computed_block_by_block),
        ON_A_GRAPH(a_chain_with_rows_and_columns_is_cut_along_rows),
        ON_A_GRAPH(what_others_take_is_not_within_a_chain),
        ON_A_GRAPH(a_block_that_fails_ends_the_run),
        ON_A_GRAPH(passes_run_within_functions),
        ON_A_GRAPH(dropped_plans_drop_what_passes_made),
        ON_A_GRAPH(what_cancels_goes_and_powers_become_cheap),
        ON_A_GRAPH(layers_become_one_node),
        ON_A_GRAPH(a_layer_without_inputs_is_its_bias),
        ON_A_GRAPH(a_layer_whose_parts_others_need_stays),
        ON_A_GRAPH(an_error_of_a_layer_names_its_line),
        ON_A_GRAPH(fused_nodes_of_files_say_what_they_fuse),
        ON_A_GRAPH(rows_that_are_combined_are_not_gathered),
        ON_A_GRAPH(rows_with_weights_are_combined),
        ON_A_GRAPH(a_lookup_of_unique_ids_reads_where_the_gather_stood),
        ON_A_GRAPH(rows_that_others_need_are_gathered),
        ON_A_GRAPH(a_lookup_refuses_what_its_parts_refuse),
        ON_A_GRAPH(entropies_of_softmax_are_one_node),
        ON_A_GRAPH(entropies_of_classes_need_no_one_hot),
        ON_A_GRAPH(entropies_of_sigmoid_are_stable),
        ON_A_GRAPH(what_is_no_entropy_stays),
        ON_A_GRAPH(what_no_turn_changes_is_computed_before_the_loop),
        ON_A_GRAPH(what_may_fail_stays_in_the_loop),
        ON_A_GRAPH(a_loop_with_effects_stays),
        ON_A_GRAPH(each_allocation_may_fail),
        ON_A_GRAPH(a_training_is_the_same_bit_for_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
