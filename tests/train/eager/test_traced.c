/* Traced functions: when they are traced, what they capture, what runs, what flows back through calls; and training,
 * eager and traced, beside the same training by a graph. */
#include "tests/testing.h"

#include <headrace/eager.h>
#include <headrace/graphdef.h>
#include <headrace/layers.h>
#include <headrace/ops.h>
#include <headrace/optimizers.h>

#include <string.h>
#include <uv.h>

static hr_graph *g;
static hr_error err;
static int traced;

static int make_graph(void **state)
{
    (void)state;
    traced = 0;
    g = hr_eager_new();
    return g ? 0 : -1;
}

static int free_graph(void **state)
{
    (void)state;
    hr_graph_free(g);
    return 0;
}

static hr_node number(double value) { return hr_scalar(g, HR_FLOAT, value); }

static hr_node zeros(hr_shape shape) { return hr_fill(hr_shape_const(g, shape), number(0)); }

static float value_of(hr_node node)
{
    hr_tensor t;
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    assert_ok(hr_eager_get(node, &t, &err), &err);
    assert_int_equal(t.dtype, HR_FLOAT);
    const float value = *(const float *)t.data;
    hr_tensor_clear(&t);
    return value;
}

static hr_node call(hr_traced *t, hr_node x)
{
    hr_node out;
    assert_ok(hr_traced_call(t, &x, &out, &err), &err);
    return out;
}

/* ---- when it is traced ---- */

static void square_plus_one(hr_graph *graph, const hr_node *inputs, hr_node *results, void *user)
{
    (void)user;
    traced++;
    results[0] = hr_add(hr_square(inputs[0]), hr_scalar_like(inputs[0], 1));
    (void)graph;
}

static void it_is_traced_once_for_each_signature(void **state)
{
    (void)state;
    hr_traced *t = hr_trace(g, square_plus_one, 1, 1, NULL, .name = "f");
    for (int i = 0; i < 3; i++) assert_exactly(value_of(call(t, number(i))), (float)(i * i + 1));
    assert_int_equal(traced, 1);
    assert_exactly(((const double *)hr_eager_tensor(call(t, hr_scalar(g, HR_DOUBLE, 3)))->data)[0], 10);
    call(t, zeros(HR_SHAPE(2)));
    call(t, zeros(HR_SHAPE(3)));
    call(t, zeros(HR_SHAPE(2)));
    assert_int_equal(traced, 4);
    assert_int_equal(hr_traced_count(t), 4);
    assert_non_null(hr_traced_function(t, 3));
    assert_null(hr_traced_function(t, 4));
    hr_traced_free(t);
}

static void a_node_of_another_graph_is_refused(void **state)
{
    (void)state;
    hr_node out;
    hr_traced *t = hr_trace(g, square_plus_one, 1, 1, NULL, .name = "f");
    hr_graph *other = hr_eager_new(), *plain = hr_graph_new();
    const hr_node elsewhere[] = {hr_scalar(other, HR_FLOAT, 1), hr_scalar(plain, HR_FLOAT, 1), {0}};
    for (int i = 0; i < 3; i++) {
        assert_status(hr_traced_call(t, &elsewhere[i], &out, &err), HR_INVALID_ARGUMENT);
        assert_false(hr_node_exists(out));
    }
    assert_exactly(value_of(call(t, number(2))), 5);
    hr_traced_free(t);
    hr_graph_free(other);
    hr_graph_free(plain);
}

/* As tf.function(reduce_retracing=True): [2], then [3] as [None], which takes [4] as well; [2] keeps its own. */
static void shapes_that_differ_are_traced_as_one(void **state)
{
    (void)state;
    hr_traced *t = hr_trace(g, square_plus_one, 1, 1, NULL, .reduce_retracing = true);
    call(t, zeros(HR_SHAPE(2, 5)));
    call(t, zeros(HR_SHAPE(3, 5)));
    call(t, zeros(HR_SHAPE(4, 5)));
    call(t, zeros(HR_SHAPE(2, 5)));
    assert_int_equal(traced, 2);
    assert_shape(hr_node_shape(hr_function_input_at(hr_traced_function(t, 1), 0)), HR_SHAPE(-1, 5));
    call(t, zeros(HR_SHAPE(7)));
    assert_shape(hr_node_shape(hr_function_input_at(hr_traced_function(t, 2), 0)), HR_UNKNOWN_SHAPE);
    hr_traced_free(t);
}

static void an_input_signature_is_traced_once_and_takes_nothing_else(void **state)
{
    (void)state;
    const hr_input_spec spec = {HR_FLOAT, HR_SHAPE(-1)};
    hr_node x, out;
    hr_traced *t = hr_trace(g, square_plus_one, 1, 1, NULL, .name = "f", .input_signature = &spec);
    call(t, zeros(HR_SHAPE(2)));
    call(t, zeros(HR_SHAPE(3)));
    assert_int_equal(traced, 1);
    x = number(1);
    assert_status(hr_traced_call(t, &x, &out, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "traced.signature");
    assert_text_contains(err.text,
                         "function 'f': expected as input 0 float32 [?], by its input_signature, got float32 []");
    assert_null(hr_graph_error(g));
    hr_traced_free(t);
}

/* ---- captures and effects ---- */

typedef struct captured {
    hr_node value, variable;
} captured;

static void with_captures(hr_graph *graph, const hr_node *inputs, hr_node *results, void *user)
{
    (void)graph;
    const captured *c = user;
    results[0] = hr_add(hr_mul(inputs[0], c->value), c->variable);
    hr_assign_add(c->variable, inputs[0]);
    results[1] = hr_identity(c->variable);
}

static void values_and_variables_are_captured_and_effects_are_in_order(void **state)
{
    (void)state;
    hr_node x = number(3), out[2];
    hr_eager_begin(g);
    captured c = {number(10), hr_get_variable(g, "v", HR_FLOAT, HR_SCALAR, .initializer = hr_ones())};
    hr_traced *t = hr_trace(g, with_captures, 1, 2, &c);
    assert_ok(hr_traced_call(t, &x, out, &err), &err);
    assert_exactly(value_of(out[0]), 31);
    assert_exactly(value_of(out[1]), 4);
    hr_eager_end(g, NULL, 0); /* the function holds what it captured */
    assert_ok(hr_traced_call(t, &x, out, &err), &err);
    assert_exactly(value_of(out[0]), 34);
    assert_exactly(value_of(out[1]), 7);
    assert_exactly(value_of(c.variable), 7);
    hr_traced_free(t);
}

static void makes_a_variable(hr_graph *graph, const hr_node *inputs, hr_node *results, void *user)
{
    (void)user;
    hr_variable_scope(graph, "own", .reuse = HR_AUTO_REUSE);
    const hr_node w = hr_get_variable(graph, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_constant_value(5));
    hr_scope_end(graph);
    hr_assign_add(w, hr_reduce_sum(inputs[0]));
    results[0] = hr_identity(w);
}

static void a_variable_is_made_once(void **state)
{
    (void)state;
    hr_traced *t = hr_trace(g, makes_a_variable, 1, 1, NULL);
    assert_exactly(value_of(call(t, number(1))), 6);
    assert_exactly(value_of(call(t, number(1))), 7);
    call(t, zeros(HR_SHAPE(2)));
    assert_exactly(value_of(call(t, number(1))), 8);
    assert_int_equal(hr_graph_variables(g), 1);
    hr_traced_free(t);
}

/* ---- within each other ---- */

static void calls_another(hr_graph *graph, const hr_node *inputs, hr_node *results, void *user)
{
    (void)graph;
    traced += 100;
    hr_node inner;
    hr_error failed;
    results[0] = inputs[0];
    for (int i = 0; i < 2; i++) {
        if (hr_traced_call(user, results, &inner, &failed) != HR_OK) fail_msg("%s", failed.text);
        results[0] = inner;
    }
}

static void a_traced_function_calls_another(void **state)
{
    (void)state;
    hr_traced *inner = hr_trace(g, square_plus_one, 1, 1, NULL), *outer = hr_trace(g, calls_another, 1, 1, inner);
    assert_exactly(value_of(call(outer, number(2))), 26);
    assert_exactly(value_of(call(outer, number(1))), 5);
    assert_int_equal(traced, 101);
    hr_traced_free(outer);
    hr_traced_free(inner);
}

static hr_status recursion;

static void calls_itself(hr_graph *graph, const hr_node *inputs, hr_node *results, void *user)
{
    (void)graph;
    hr_node inner;
    recursion = hr_traced_call(*(hr_traced **)user, inputs, &inner, &err);
    results[0] = inputs[0];
}

static void a_call_of_itself_while_it_is_traced_is_refused(void **state)
{
    (void)state;
    hr_error why;
    hr_traced *t = hr_trace(g, calls_itself, 1, 1, &t);
    const hr_node x = number(1);
    hr_node out;
    const hr_status st = hr_traced_call(t, &x, &out, &why);
    assert_int_equal(recursion, HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "traced.recursion");
    assert_ok(st, &why);
    hr_traced_free(t);
}

static void fails(hr_graph *graph, const hr_node *inputs, hr_node *results, void *user)
{
    (void)user, (void)graph;
    results[0] = hr_matmul(inputs[0], inputs[0]);
}

static void errors_name_the_function(void **state)
{
    (void)state;
    hr_node x = number(1), out;
    hr_traced *t = hr_trace(g, fails, 1, 1, NULL, .name = "product");
    assert_status(hr_traced_call(t, &x, &out, &err), HR_INVALID_ARGUMENT);
    assert_text_begins(err.text, "function 'product");
    assert_int_equal(hr_traced_count(t), 0);
    assert_exactly(value_of(number(2)), 2);
    hr_traced_free(t);
    const hr_input_spec any = {HR_FLOAT, HR_UNKNOWN_SHAPE};
    t = hr_trace(g, fails, 1, 1, NULL, .name = "product", .input_signature = &any);
    x = zeros(HR_SHAPE(2, 3));
    assert_status(hr_traced_call(t, &x, &out, &err), HR_INVALID_ARGUMENT); /* when it runs */
    assert_text_begins(err.text, "function 'product");
    assert_text_contains(err.text, "MatMul");
    assert_null(hr_graph_error(g));
    hr_traced_free(t);
    hr_graph *other = hr_graph_new();
    assert_null(hr_trace(other, fails, 1, 1, NULL));
    assert_string_equal(hr_graph_error(other)->kind, "eager.graph");
    hr_graph_free(other);
}

/* ---- gradients through calls ---- */

static hr_node gradient(hr_tape *tape, hr_node y, hr_node x)
{
    hr_gradient out;
    assert_ok(hr_tape_gradient(tape, &y, 1, &x, 1, &out, &err), &err);
    return hr_node_exists(out.values) ? hr_gradient_dense(out) : out.values;
}

static void cube_and_more(hr_graph *graph, const hr_node *inputs, hr_node *results, void *user)
{
    (void)graph;
    traced++;
    const captured *c = user;
    results[0] = hr_mul(hr_mul(hr_square(inputs[0]), inputs[0]), c->variable);
    results[1] = hr_mul(inputs[1], c->value);
    results[2] = hr_shape_of(inputs[0]);
}

static void gradients_flow_through_calls(void **state)
{
    (void)state;
    captured c = {number(4), hr_get_variable(g, "v", HR_FLOAT, HR_SCALAR, .initializer = hr_constant_value(5))};
    hr_traced *t = hr_trace(g, cube_and_more, 2, 3, &c);
    for (int turn = 0; turn < 3; turn++) {
        const hr_node x[] = {number(2), number(3)};
        hr_node y[3];
        hr_tape *tape = hr_tape_begin(g, .persistent = true);
        hr_tape_watch(tape, x[0]);
        hr_tape_watch(tape, x[1]);
        assert_ok(hr_traced_call(t, x, y, &err), &err);
        assert_exactly(value_of(y[0]), 40);
        assert_exactly(value_of(y[1]), 12);
        assert_exactly(value_of(gradient(tape, y[0], x[0])), 60);
        assert_exactly(value_of(gradient(tape, y[0], c.variable)), 8);
        assert_exactly(value_of(gradient(tape, y[1], x[1])), 4);
        assert_exactly(value_of(gradient(tape, hr_add(y[0], y[1]), x[0])), 60);
        assert_exactly(value_of(gradient(tape, y[1], x[0])), 0); /* TensorFlow gives zeros here, too */
        hr_tape_free(tape);
    }
    assert_int_equal(traced, 1);
    hr_traced_free(t);
}

static void calls_have_second_derivatives(void **state)
{
    (void)state;
    captured c = {number(4), hr_get_variable(g, "v", HR_FLOAT, HR_SCALAR, .initializer = hr_constant_value(5))};
    hr_traced *t = hr_trace(g, cube_and_more, 2, 3, &c);
    const hr_node x[] = {number(2), number(3)};
    hr_node y[3];
    hr_tape *outer = hr_tape_begin(g, .persistent = true), *inner = hr_tape_begin(g);
    hr_tape_watch(outer, x[0]);
    hr_tape_watch(inner, x[0]);
    assert_ok(hr_traced_call(t, x, y, &err), &err);
    const hr_node first = gradient(inner, y[0], x[0]);
    assert_exactly(value_of(first), 60);
    assert_exactly(value_of(gradient(outer, first, x[0])), 60); /* 6 x v */
    assert_exactly(value_of(gradient(outer, first, c.variable)), 12);
    hr_tape_free(inner);
    hr_tape_free(outer);
    hr_traced_free(t);
}

static void looks_up(hr_graph *graph, const hr_node *inputs, hr_node *results, void *user)
{
    (void)graph;
    results[0] = hr_gather(*(const hr_node *)user, inputs[0], 0);
}

static void rows_stay_rows_through_calls(void **state)
{
    (void)state;
    hr_gradient out;
    hr_node table = hr_get_variable(g, "table", HR_FLOAT, HR_SHAPE(5, 2), .initializer = hr_ones()), rows;
    const hr_node ids = hr_ints(g, (int64_t[]){3, 3}, 2);
    hr_traced *t = hr_trace(g, looks_up, 1, 1, &table);
    hr_tape *tape = hr_tape_begin(g);
    assert_ok(hr_traced_call(t, &ids, &rows, &err), &err);
    assert_ok(hr_tape_gradient(tape, &rows, 1, &table, 1, &out, &err), &err);
    assert_true(hr_node_exists(out.indices));
    assert_exactly(((const float *)hr_eager_tensor(hr_gradient_dense(out))->data)[6], 2);
    hr_tape_free(tape);
    hr_traced_free(t);
}

static void not_yet_large(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_less(vars[0], hr_scalar(graph, HR_FLOAT, 100));
}

static void times_v(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)graph;
    results[0] = hr_mul(hr_mul(vars[0], vars[0]), *(const hr_node *)user);
}

static void then_fn(hr_graph *graph, hr_node *results, void *user)
{
    (void)graph;
    results[0] = hr_square(((const hr_node *)user)[1]);
}

static void else_fn(hr_graph *graph, hr_node *results, void *user)
{
    (void)graph;
    results[0] = hr_neg(((const hr_node *)user)[1]);
}

/* user: v, then where the loop's result goes. */
static void loop_and_branch(hr_graph *graph, const hr_node *inputs, hr_node *results, void *user)
{
    hr_node *nodes = user;
    hr_while_loop(not_yet_large, times_v, &nodes[0], inputs, 1, &nodes[1]);
    hr_cond(hr_less(inputs[0], hr_scalar(graph, HR_FLOAT, 10)), then_fn, else_fn, nodes, results, 1);
}

/* 3 -> 2 * 9 = 18 -> 648; squared: y = (2 (2 x^2)^2)^2 = 64 x^8. */
static void gradients_flow_through_loops_and_branches_of_calls(void **state)
{
    (void)state;
    hr_node nodes[2] = {hr_get_variable(g, "v", HR_FLOAT, HR_SCALAR, .initializer = hr_constant_value(2))};
    hr_traced *t = hr_trace(g, loop_and_branch, 1, 1, nodes);
    for (int turn = 0; turn < 2; turn++) {
        const hr_node x = number(3);
        hr_tape *tape = hr_tape_begin(g, .persistent = true);
        hr_tape_watch(tape, x);
        const hr_node y = call(t, x);
        assert_exactly(value_of(y), 648 * 648);
        assert_exactly(value_of(gradient(tape, y, x)), 64 * 8 * 2187);
        assert_exactly(value_of(gradient(tape, y, nodes[0])), 6 * 648 * 648 / 2);
        hr_tape_free(tape);
    }
    hr_traced_free(t);
}

static void gradients_flow_through_functions_of_the_library(void **state)
{
    (void)state;
    hr_graph *body = hr_function_begin(g, "cube");
    const hr_node in = hr_function_input(body, HR_FLOAT, HR_SCALAR, "x"), out = hr_mul(hr_square(in), in);
    const hr_function *f = hr_function_end(body, &out, 1);
    const hr_node x = number(2);
    hr_node y;
    hr_tape *tape = hr_tape_begin(g, .persistent = true);
    hr_tape_watch(tape, x);
    hr_call_function(f, &x, 1, &y);
    assert_exactly(value_of(y), 8);
    const hr_node first = gradient(tape, y, x);
    assert_exactly(value_of(first), 12);
    assert_exactly(value_of(gradient(tape, first, x)), 12);
    hr_tape_free(tape);
}

/* ---- training: the same by a graph, eagerly, and traced ---- */

enum { STEPS = 30, ROWS = 8 };

static void batch_of(int step, float *x, float *y)
{
    step %= 3;
    for (int i = 0; i < ROWS; i++) {
        x[2 * i] = (float)hr_random_below(5, (uint64_t)(step * 100 + i), 1000) / 500 - 1;
        x[2 * i + 1] = (float)hr_random_below(6, (uint64_t)(step * 100 + i), 1000) / 500 - 1;
        y[i] = x[2 * i] > x[2 * i + 1];
    }
}

/* The model is one function for all of them. */
static hr_node loss_of(hr_graph *graph, hr_node x, hr_node y)
{
    hr_variable_scope(graph, "model", .reuse = HR_AUTO_REUSE);
    const hr_node hidden = hr_dense(x, 6, .name = "hidden", .kernel_initializer = hr_random_normal(0, 1, 3));
    const hr_node logits =
        hr_dense(hr_relu(hidden), 1, .name = "logits", .kernel_initializer = hr_random_normal(0, 1, 4));
    hr_scope_end(graph);
    return hr_reduce_mean(hr_sigmoid_cross_entropy(logits, y));
}

static void train_by_graph(hr_optimizer *optimizer, float *losses)
{
    float xs[2 * ROWS], ys[ROWS];
    hr_graph *graph = hr_graph_new();
    const hr_node x = hr_placeholder(graph, HR_FLOAT, HR_SHAPE(-1, 2)),
                  y = hr_placeholder(graph, HR_FLOAT, HR_SHAPE(-1, 1));
    const hr_node loss = loss_of(graph, x, y), step = hr_minimize(optimizer, loss);
    const hr_node init = hr_global_variables_initializer(graph), fetches[] = {loss, step};
    hr_session *s = hr_session_new(graph);
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    for (int i = 0; i < STEPS; i++) {
        hr_tensor out[2];
        batch_of(i, xs, ys);
        const hr_feed feeds[] = {{x, hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS, 2), xs)},
                                 {y, hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS, 1), ys)}};
        assert_ok(hr_session_run(s, feeds, 2, fetches, 2, out, &err), &err);
        losses[i] = *(const float *)out[0].data;
        hr_tensor_clear(&out[0]);
    }
    hr_session_free(s);
    hr_graph_free(graph);
}

/* The step of a training loop of one's own: it runs eagerly, or is traced. */
static void train_step(hr_graph *graph, const hr_node *inputs, hr_node *results, void *user)
{
    hr_variable_gradient by[8];
    hr_node xs[8];
    hr_gradient gradients[8];
    hr_error failed;
    hr_tape *tape = hr_tape_begin(graph);
    results[0] = loss_of(graph, inputs[0], inputs[1]);
    int count = 0;
    for (int i = 0; i < hr_graph_variables(graph); i++)
        if (hr_graph_variable(graph, i)->sets & HR_TRAINABLE_VARIABLES)
            xs[count++] = hr_graph_variable(graph, i)->handle;
    if (hr_tape_gradient(tape, results, 1, xs, count, gradients, &failed) != HR_OK) fail_msg("%s", failed.text);
    for (int i = 0; i < count; i++) by[i] = (hr_variable_gradient){xs[i], gradients[i]};
    hr_apply_gradients(hr_optimizer_ref(user), graph, by, count, NULL);
    hr_tape_free(tape);
}

static void train_by_hand(hr_optimizer *optimizer, bool trace, float *losses)
{
    float xs[2 * ROWS], ys[ROWS];
    hr_graph *own = hr_eager_new();
    hr_traced *t = hr_trace(own, train_step, 2, 1, optimizer, .name = "train_step");
    for (int i = 0; i < STEPS; i++) {
        hr_node loss;
        batch_of(i, xs, ys);
        hr_eager_begin(own);
        const hr_tensor x = hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS, 2), xs),
                        y = hr_tensor_of(HR_FLOAT, HR_SHAPE(ROWS, 1), ys);
        const hr_node inputs[] = {hr_const(own, &x), hr_const(own, &y)};
        if (trace)
            assert_ok(hr_traced_call(t, inputs, &loss, &err), &err);
        else
            train_step(own, inputs, &loss, optimizer);
        if (hr_graph_error(own)) fail_msg("%s", hr_graph_error(own)->text);
        losses[i] = *(const float *)hr_eager_tensor(loss)->data;
        hr_eager_end(own, NULL, 0);
    }
    assert_int_equal(hr_traced_count(t), trace);
    hr_traced_free(t);
    hr_optimizer_free(optimizer);
    hr_graph_free(own);
}

static hr_optimizer *optimizer_at(int i)
{
    return i == 0   ? hr_sgd(0.5f)
           : i == 1 ? hr_adam(0.05f)
           : i == 2 ? hr_adagrad(0.2f)
           : i == 3 ? hr_ftrl(0.2f)
           : i == 4 ? hr_adam(0.05f, .v1 = true)
                    : hr_sgd(0.2f, .momentum = 0.9f, .decay = 0.01f);
}

static void training_goes_the_same_way_by_graph_eagerly_and_traced(void **state)
{
    (void)state;
    float by_graph[STEPS], eagerly[STEPS], by_trace[STEPS];
    for (int i = 0; i < 6; i++) {
        train_by_graph(optimizer_at(i), by_graph); /* steps 0 and 27 see the same batch */
        train_by_hand(optimizer_at(i), false, eagerly);
        train_by_hand(optimizer_at(i), true, by_trace);
        assert_less(by_graph[27], by_graph[0]);
        assert_memory_equal(eagerly, by_graph, sizeof by_graph);
        assert_memory_equal(by_trace, by_graph, sizeof by_graph);
    }
}

/* ---- in files, and in threads ---- */

static void a_traced_function_is_exported_with_the_library(void **state)
{
    (void)state;
    char *text;
    size_t size;
    hr_traced *t = hr_trace(g, square_plus_one, 1, 1, NULL, .name = "f");
    call(t, number(2));
    assert_ok(hr_graph_export(g, &text, &size, &err, .text = true), &err);
    assert_text_contains(text, "name: \"f\"");
    hr_graph *again = hr_graph_new();
    assert_ok(hr_graph_import(again, ((hr_view){text, (int64_t)size}), &err, .text = true), &err);
    hr_node x = hr_scalar(again, HR_FLOAT, 4), y;
    hr_call_function(hr_function_named(again, "f"), &x, 1, &y);
    hr_session *s = hr_session_new(again);
    hr_tensor out;
    assert_ok(hr_session_run(s, NULL, 0, &y, 1, &out, &err), &err);
    assert_exactly(*(const float *)out.data, 17);
    hr_tensor_clear(&out);
    hr_session_free(s);
    hr_graph_free(again);
    hr_free(text);
    hr_traced_free(t);
}

enum { THREADS = 3, TURNS = 200 };

static void adds_inputs(hr_graph *graph, const hr_node *inputs, hr_node *results, void *user)
{
    (void)user;
    const hr_node v = hr_get_variable(graph, "v", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros());
    hr_assign_add(v, inputs[0]);
    results[0] = hr_identity(v);
}

static void add_in_thread(void *user)
{
    hr_graph *own = hr_eager_new(.share = hr_eager_session(user));
    hr_traced *t = hr_trace(own, adds_inputs, 1, 1, NULL);
    for (int i = 0; i < TURNS; i++) {
        hr_node out;
        hr_error failed;
        hr_eager_begin(own);
        const hr_node one = hr_scalar(own, HR_FLOAT, 1);
        if (hr_traced_call(t, &one, &out, &failed) != HR_OK) fail_msg("%s", failed.text);
        hr_assign_add(hr_variable_named(own, "v")->handle, one);
        hr_eager_end(own, NULL, 0);
    }
    hr_traced_free(t);
    hr_graph_free(own);
}

static void graphs_of_several_threads_share_variables(void **state)
{
    (void)state;
    uv_thread_t thread[THREADS];
    const hr_node v = hr_get_variable(g, "v", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros());
    for (int i = 0; i < THREADS; i++) assert_int_equal(uv_thread_create(&thread[i], add_in_thread, g), 0);
    for (int i = 0; i < THREADS; i++) uv_thread_join(&thread[i]);
    assert_exactly(value_of(v), 2 * THREADS * TURNS);
}

static void a_call_in_steady_state_allocates_nothing(void **state)
{
    (void)state;
    captured c = {number(4), hr_get_variable(g, "v", HR_FLOAT, HR_SCALAR, .initializer = hr_ones())};
    hr_traced *t = hr_trace(g, with_captures, 1, 2, &c);
    for (int i = 0; i < 20; i++) {
        if (i == 10) fail_allocation(1 << 30);
        hr_node out[2];
        hr_eager_begin(g);
        const hr_node x = number(1);
        assert_int_equal(hr_traced_call(t, &x, out, &err), HR_OK);
        hr_eager_end(g, NULL, 0);
    }
    assert_int_equal(allocations_since(), 0);
    fail_allocation(-1);
    hr_traced_free(t);
}

static hr_traced *freed_within;

static void frees_itself(hr_graph *graph, const hr_node *inputs, hr_node *results, void *user)
{
    hr_node again;
    (void)graph, (void)user;
    hr_traced_free(freed_within);
    assert_int_equal(hr_traced_call(freed_within, inputs, &again, &err), HR_INVALID_ARGUMENT);
    results[0] = hr_neg(inputs[0]);
}

/* A leak would fail the test, too. */
static void a_function_that_frees_itself_lives_until_its_call_ends(void **state)
{
    (void)state;
    hr_node out;
    const hr_node x = number(3);
    freed_within = hr_trace(g, frees_itself, 1, 1, NULL);
    assert_ok(hr_traced_call(freed_within, &x, &out, &err), &err);
    assert_exactly(value_of(out), -3);
}

static void fails_once(hr_graph *graph, const hr_node *inputs, hr_node *results, void *user)
{
    bool *failed = user;
    results[0] = inputs[0];
    if (*failed) return;
    *failed = true;
    results[0] = hr_matmul(inputs[0], hr_scalar(graph, HR_FLOAT, 1));
}

static void a_trace_that_failed_leaves_its_name(void **state)
{
    (void)state;
    bool failed = false;
    hr_node out;
    const hr_node x = number(3);
    hr_traced *t = hr_trace(g, fails_once, 1, 1, &failed, .name = "f");
    char *bytes;
    size_t size;
    assert_not_ok(hr_traced_call(t, &x, &out, &err));
    assert_null(hr_function_named(g, "f"));
    assert_ok(hr_traced_call(t, &x, &out, &err), &err);
    assert_string_equal(hr_function_name(hr_traced_function(t, 0)), "f");
    assert_ptr_equal(hr_function_named(g, "f"), hr_traced_function(t, 0));
    assert_ok(hr_graph_export(g, &bytes, &size, &err, .text = true), &err);
    assert_null(strstr(bytes, "MatMul"));
    hr_free(bytes);
    hr_traced_free(t);
}

static void every_failing_allocation_is_an_error_without_a_leak(void **state)
{
    (void)state;
    const int64_t before = allocations_alive();
    for (int64_t n = 0;; n++) {
        bool well = false;
        fail_allocation(n);
        hr_graph *own = hr_eager_new();
        hr_traced *t = own ? hr_trace(own, square_plus_one, 1, 1, NULL) : NULL;
        if (t) {
            const hr_node x = hr_scalar(own, HR_FLOAT, 3);
            hr_node y;
            hr_gradient by;
            hr_tape *tape = hr_tape_begin(own);
            hr_tape_watch(tape, x);
            well = tape && hr_traced_call(t, &x, &y, &err) == HR_OK &&
                   hr_tape_gradient(tape, &y, 1, &x, 1, &by, &err) == HR_OK && hr_node_exists(by.values) &&
                   *(const float *)hr_eager_tensor(by.values)->data == 6;
            hr_tape_free(tape);
        }
        hr_traced_free(t);
        hr_graph_free(own);
        const bool done = allocations_since() <= n;
        assert_int_equal(allocations_alive(), before);
        if (!done) continue;
        assert_true(well);
        break;
    }
    fail_allocation(-1);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, make_graph, free_graph)
    const struct CMUnitTest tests[] = {
        T(it_is_traced_once_for_each_signature),
        T(a_node_of_another_graph_is_refused),
        T(shapes_that_differ_are_traced_as_one),
        T(an_input_signature_is_traced_once_and_takes_nothing_else),
        T(values_and_variables_are_captured_and_effects_are_in_order),
        T(a_variable_is_made_once),
        T(a_traced_function_calls_another),
        T(a_call_of_itself_while_it_is_traced_is_refused),
        T(errors_name_the_function),
        T(a_function_that_frees_itself_lives_until_its_call_ends),
        T(a_trace_that_failed_leaves_its_name),
        T(gradients_flow_through_calls),
        T(calls_have_second_derivatives),
        T(rows_stay_rows_through_calls),
        T(gradients_flow_through_loops_and_branches_of_calls),
        T(gradients_flow_through_functions_of_the_library),
        T(training_goes_the_same_way_by_graph_eagerly_and_traced),
        T(a_traced_function_is_exported_with_the_library),
        T(graphs_of_several_threads_share_variables),
        T(a_call_in_steady_state_allocates_nothing),
        T(every_failing_allocation_is_an_error_without_a_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
