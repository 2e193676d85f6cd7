/* Passes: what they leave of a graph, that results stay the same, and what the copy refuses. */
#include "tests/train/passes/rewritten.h"
#include "train/graph/graph_internal.h"

#include <math.h>
#include <stdlib.h>

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

/* A run fills what is one value again and again as fast as it would copy it. What is computed of it is folded. */
static void what_is_filled_is_kept_only_if_it_is_small(void **state)
{
    (void)state;
    const int64_t few[] = {16}, many[] = {1 << 16};
    const hr_tensor of_few = hr_tensor_of(HR_INT64, HR_SHAPE(1), few),
                    of_many = hr_tensor_of(HR_INT64, HR_SHAPE(1), many);
    const hr_node small = hr_fill(hr_const(g, &of_few), number(3)), large = hr_fill(hr_const(g, &of_many), number(3));
    const hr_node sum = hr_reduce_sum(large), x = hr_placeholder(g, HR_FLOAT, HR_SCALAR, .name = "x");
    assert_int_equal(count_nodes("fold", hr_add(x, small), "Fill"), 0);
    assert_int_equal(count_nodes("fold", hr_add(x, large), "Fill"), 1);
    assert_int_equal(count_nodes("fold", hr_add(x, sum), "Fill"), 0);
    assert_float_equal(run("fold", NULL, sum), 3 * 65536, 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_A_GRAPH(the_copy_has_what_is_needed_and_no_more),
        ON_A_GRAPH(what_is_fed_cuts_the_copy),
        ON_A_GRAPH(constants_are_folded),
        ON_A_GRAPH(what_is_filled_is_kept_only_if_it_is_small),
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
