/* Passes on whole runs: loops, a training, and each allocation that may fail. */
#include "tests/train/passes/rewritten.h"

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
    const struct CMUnitTest tests[] = {
        ON_A_GRAPH(what_no_turn_changes_is_computed_before_the_loop),
        ON_A_GRAPH(what_may_fail_stays_in_the_loop),
        ON_A_GRAPH(a_loop_with_effects_stays),
        ON_A_GRAPH(each_allocation_may_fail),
        ON_A_GRAPH(a_training_is_the_same_bit_for_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
