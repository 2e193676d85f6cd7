/* Tapes: what they record, what flows back, second derivatives; numbers are those of TensorFlow 2.15's GradientTape. */
#include "tests/testing.h"

#include <headrace/eager.h>
#include <headrace/ops.h>
#include <headrace/optimizers.h>

static hr_graph *g;
static hr_error err;

static int make_graph(void **state)
{
    (void)state;
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

static hr_node floats(const float *values, hr_shape shape)
{
    const hr_tensor t = hr_tensor_of(HR_FLOAT, shape, values);
    return hr_const(g, &t);
}

static float float_at(hr_node node, int64_t i)
{
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    const hr_tensor *t = hr_eager_tensor(node);
    assert_non_null(t);
    assert_int_equal(t->dtype, HR_FLOAT);
    assert_less(i, t->count);
    return ((const float *)t->data)[i];
}

static hr_node variable(const char *name, double value)
{
    return hr_get_variable(g, name, HR_FLOAT, HR_SCALAR, .initializer = hr_constant_value(value));
}

static hr_node gradient(hr_tape *tape, hr_node y, hr_node x)
{
    hr_gradient out;
    assert_ok(hr_tape_gradient(tape, &y, 1, &x, 1, &out, &err), &err);
    return out.values;
}

/* ---- what is recorded ---- */

static void a_trainable_variable_is_watched_when_it_is_read(void **state)
{
    (void)state;
    hr_node watched[2],
        w = variable("w", 3),
        frozen = hr_get_variable(g, "frozen", HR_FLOAT, HR_SCALAR, .initializer = hr_ones(), .not_trainable = true);
    hr_tape *tape = hr_tape_begin(g, .persistent = true);
    const hr_node y = hr_mul(hr_mul(w, w), frozen);
    assert_int_equal(hr_tape_watched(tape, watched, 2), 1);
    assert_int_equal(watched[0].id, w.id);
    assert_exactly(float_at(gradient(tape, y, w), 0), 6);
    assert_null(gradient(tape, y, frozen).graph);
    hr_tape_free(tape);
}

static void a_value_is_watched_when_it_is_asked_for(void **state)
{
    (void)state;
    const hr_node x = number(2), other = number(5);
    hr_tape *tape = hr_tape_begin(g, .persistent = true);
    hr_tape_watch(tape, x);
    const hr_node y = hr_mul(hr_square(x), other);
    assert_exactly(float_at(gradient(tape, y, x), 0), 20);
    assert_null(gradient(tape, y, other).graph);
    assert_exactly(float_at(gradient(tape, x, x), 0), 1);
    assert_exactly(float_at(gradient(tape, other, other), 0), 1); /* TensorFlow 2.15: 1 without being watched */
    hr_tape_free(tape);
}

static void a_manual_tape_watches_no_variable_by_itself(void **state)
{
    (void)state;
    const hr_node v = variable("v", 3), w = variable("w", 4);
    hr_tape *tape = hr_tape_begin(g, .manual = true, .persistent = true);
    hr_tape_watch(tape, w);
    const hr_node y = hr_mul(v, w);
    assert_exactly(float_at(gradient(tape, y, w), 0), 3);
    assert_null(gradient(tape, y, v).graph);
    hr_tape_free(tape);
}

static void what_is_done_while_a_tape_is_stopped_is_a_constant_to_it(void **state)
{
    (void)state;
    const hr_node x = number(3);
    hr_tape *tape = hr_tape_begin(g);
    hr_tape_watch(tape, x);
    hr_tape_stop(tape);
    const hr_node constant = hr_square(x);
    hr_tape_resume(tape);
    assert_exactly(float_at(gradient(tape, hr_mul(x, constant), x), 0), 9);
    hr_tape_free(tape);
}

static void a_tape_is_asked_once_unless_it_is_persistent(void **state)
{
    (void)state;
    hr_gradient out;
    const hr_node x = number(3);
    hr_tape *tape = hr_tape_begin(g);
    hr_tape_watch(tape, x);
    const hr_node y = hr_square(x);
    assert_exactly(float_at(gradient(tape, y, x), 0), 6);
    assert_status(hr_tape_gradient(tape, &y, 1, &x, 1, &out, &err), HR_FAILED_PRECONDITION);
    assert_string_equal(err.kind, "tape.used");
    hr_tape_reset(tape);
    hr_tape_resume(tape);
    hr_tape_watch(tape, x);
    assert_exactly(float_at(gradient(tape, hr_mul(x, number(4)), x), 0), 4);
    hr_tape_free(tape);
}

static void a_value_that_is_overwritten_in_a_variable_stays_on_the_tape(void **state)
{
    (void)state;
    const hr_node w = variable("w", 3);
    hr_tape *tape = hr_tape_begin(g);
    const hr_node y = hr_square(w);
    hr_assign(w, number(100));
    assert_exactly(float_at(gradient(tape, y, w), 0), 6);
    hr_tape_free(tape);
}

static void nodes_on_a_tape_outlive_the_end_of_their_block(void **state)
{
    (void)state;
    const hr_node x = number(3);
    hr_tape *tape = hr_tape_begin(g);
    hr_tape_watch(tape, x);
    hr_eager_begin(g);
    const hr_node inner = hr_square(x);
    const hr_node y = hr_square(inner);
    hr_eager_end(g, NULL, 0);
    assert_true(hr_node_exists(y));
    assert_exactly(float_at(gradient(tape, y, x), 0), 108);
    hr_tape_free(tape);
    assert_false(hr_node_exists(y));
    assert_false(hr_node_exists(inner));
}

/* ---- what flows ---- */

static void c_decides_what_the_tape_sees(void **state)
{
    (void)state;
    const hr_node x = number(1.5);
    hr_tape *tape = hr_tape_begin(g);
    hr_tape_watch(tape, x);
    hr_node y = number(1);
    for (int i = 0; i < 5; i++)
        if (i % 2 == 0) y = hr_mul(y, x);
    assert_exactly(float_at(y, 0), 3.375);
    assert_near(float_at(gradient(tape, y, x), 0), 6.75, 1e-6);
    hr_tape_free(tape);
}

static void is_small(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_less(vars[0], hr_scalar(graph, HR_FLOAT, 100));
}

static void squared(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)graph, (void)user;
    results[0] = hr_mul(vars[0], vars[0]);
}

static void gradients_flow_through_loops_that_run_at_once(void **state)
{
    (void)state;
    const hr_node x = number(3);
    hr_node y;
    hr_tape *tape = hr_tape_begin(g);
    hr_tape_watch(tape, x);
    hr_while_loop(is_small, squared, NULL, &x, 1, &y); /* 3, 9, 81, 6561: x^8 */
    assert_exactly(float_at(y, 0), 6561);
    assert_exactly(float_at(gradient(tape, y, x), 0), 8 * 2187);
    hr_tape_free(tape);
}

static void several_ways_from_one_x_are_summed(void **state)
{
    (void)state;
    hr_gradient out[2];
    const hr_node xs[] = {number(2), number(5)};
    hr_tape *tape = hr_tape_begin(g);
    hr_tape_watch(tape, xs[0]);
    hr_tape_watch(tape, xs[1]);
    const hr_node ys[] = {hr_mul(xs[0], xs[1]), hr_square(xs[0]), hr_neg(xs[0])};
    const hr_node seeds[] = {{0}, number(10), number(3)};
    assert_ok(hr_tape_gradient(tape, ys, 3, xs, 2, out, &err, .grad_ys = seeds), &err);
    assert_exactly(float_at(out[0].values, 0), 5 + 40 - 3);
    assert_exactly(float_at(out[1].values, 0), 2);
    hr_tape_free(tape);
}

static void broadcast_inputs_get_gradients_of_their_own_shape(void **state)
{
    (void)state;
    const hr_node x = floats((float[]){1, 2, 3, 4, 5, 6}, HR_SHAPE(2, 3)), b = floats((float[]){1, 0, -1}, HR_SHAPE(3));
    hr_tape *tape = hr_tape_begin(g);
    hr_tape_watch(tape, b);
    const hr_node by = gradient(tape, hr_square(hr_add(x, b)), b);
    assert_shape(hr_node_shape(by), HR_SHAPE(3));
    assert_exactly(float_at(by, 0), 14);
    assert_exactly(float_at(by, 1), 14);
    assert_exactly(float_at(by, 2), 14);
    hr_tape_free(tape);
}

static void rows_that_are_looked_up_have_gradients_of_rows(void **state)
{
    (void)state;
    hr_gradient out;
    const hr_node table = hr_get_variable(g, "table", HR_FLOAT, HR_SHAPE(4, 2), .initializer = hr_ones());
    hr_tape *tape = hr_tape_begin(g);
    const hr_node rows = hr_gather(table, hr_ints(g, (int64_t[]){2, 0, 2}, 3), 0);
    assert_ok(hr_tape_gradient(tape, &rows, 1, &table, 1, &out, &err), &err);
    assert_true(hr_node_exists(out.indices));
    assert_shape(hr_node_shape(out.values), HR_SHAPE(3, 2));
    const hr_node dense = hr_gradient_dense(out);
    assert_shape(hr_node_shape(dense), HR_SHAPE(4, 2));
    assert_exactly(float_at(dense, 4), 2);
    assert_exactly(float_at(dense, 2), 0);
    hr_tape_free(tape);
}

static void an_x_that_no_y_depends_on_gets_none_or_zeros(void **state)
{
    (void)state;
    hr_gradient out;
    const hr_node x = floats((float[]){1, 2}, HR_SHAPE(2)), y = number(3);
    hr_tape *tape = hr_tape_begin(g, .persistent = true);
    hr_tape_watch(tape, x);
    hr_tape_watch(tape, y);
    assert_ok(hr_tape_gradient(tape, &y, 1, &x, 1, &out, &err), &err);
    assert_null(out.values.graph);
    assert_ok(hr_tape_gradient(tape, &y, 1, &x, 1, &out, &err, .zeros = true), &err);
    assert_shape(hr_node_shape(out.values), HR_SHAPE(2));
    assert_exactly(float_at(out.values, 1), 0);
    hr_tape_free(tape);
}

static void an_earlier_tape_gives_second_derivatives(void **state)
{
    (void)state;
    const hr_node x = number(2);
    hr_tape *outer = hr_tape_begin(g), *inner = hr_tape_begin(g);
    hr_tape_watch(outer, x);
    hr_tape_watch(inner, x);
    const hr_node y = hr_mul(hr_square(x), x);
    const hr_node first = gradient(inner, y, x);
    assert_exactly(float_at(first, 0), 12);
    assert_exactly(float_at(gradient(outer, first, x), 0), 12);
    hr_tape_free(inner);
    hr_tape_free(outer);
}

static void a_persistent_tape_that_records_sees_its_own_gradients(void **state)
{
    (void)state;
    const hr_node x = number(2);
    hr_tape *tape = hr_tape_begin(g, .persistent = true);
    hr_tape_watch(tape, x);
    const hr_node first = gradient(tape, hr_mul(hr_square(x), x), x);
    assert_exactly(float_at(gradient(tape, first, x), 0), 12);
    hr_tape_free(tape);
}

static void a_jacobian_has_a_row_for_each_value(void **state)
{
    (void)state;
    hr_node jacobian;
    const hr_node x = floats((float[]){1, 2, 3}, HR_SHAPE(3)), w = floats((float[]){1, 0, 2, 1, 0, 1}, HR_SHAPE(2, 3));
    hr_tape *tape = hr_tape_begin(g, .persistent = true);
    hr_tape_watch(tape, x);
    const hr_node y = hr_square(hr_reshape(hr_matmul(w, hr_reshape(x, hr_shape_const(g, HR_SHAPE(3, 1)))),
                                           hr_shape_const(g, HR_SHAPE(2)))); /* (x0 + 2 x2)^2, (x0 + x2)^2 */
    assert_ok(hr_tape_jacobian(tape, y, x, &jacobian, &err), &err);
    assert_shape(hr_node_shape(jacobian), HR_SHAPE(2, 3));
    static const float expected[] = {14, 0, 28, 8, 0, 8};
    for (int i = 0; i < 6; i++) assert_exactly(float_at(jacobian, i), expected[i]);
    hr_tape_free(tape);
}

static hr_status copy_input(hr_kernel *k, hr_error *e) { return hr_kernel_pass(k, 0, 0, k->input[0]->shape, e); }

static const hr_graph_op flat = {.head = HR_GRAPH_OP_HEAD,
                                 .name = "Test>Flat",
                                 .inputs = "x:float",
                                 .outputs = "y:float",
                                 .attrs = "",
                                 .compute = copy_input};

static void an_op_without_a_gradient_is_named(void **state)
{
    (void)state;
    hr_gradient out;
    const hr_node x = number(2);
    hr_graph_use(g, &flat);
    hr_tape *tape = hr_tape_begin(g);
    hr_tape_watch(tape, x);
    const hr_node y = hr_new_node(g, "Test>Flat", HR_INPUTS(x));
    assert_exactly(float_at(y, 0), 2);
    assert_status(hr_tape_gradient(tape, &y, 1, &x, 1, &out, &err), HR_NOT_FOUND);
    assert_text_contains(err.text, "No gradient defined for operation 'Test>Flat' (op type: Test>Flat)");
    assert_null(hr_graph_error(g));
    hr_tape_free(tape);
}

static void what_is_no_node_of_the_graph_is_refused(void **state)
{
    (void)state;
    hr_gradient out;
    const hr_node x = number(1), none = {0};
    hr_tape *tape = hr_tape_begin(g, .persistent = true);
    assert_status(hr_tape_gradient(tape, &x, 1, &none, 1, &out, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "tape.gradient");
    assert_status(hr_tape_gradient(tape, &none, 1, &x, 1, &out, &err), HR_INVALID_ARGUMENT);
    hr_node other_seed = floats((float[]){1, 2}, HR_SHAPE(2)), y = hr_square(x);
    hr_tape_watch(tape, x);
    y = hr_square(x);
    assert_status(hr_tape_gradient(tape, &y, 1, &x, 1, &out, &err, .grad_ys = &other_seed), HR_INVALID_ARGUMENT);
    assert_text_contains(err.text, "float32 [2]");
    hr_tape_free(tape);
}

static void so_many_tapes_are_refused(void **state)
{
    (void)state;
    hr_tape *tapes[32];
    for (int i = 0; i < 32; i++) assert_non_null(tapes[i] = hr_tape_begin(g));
    assert_null(hr_tape_begin(g));
    assert_string_equal(hr_graph_error(g)->kind, "tape.count");
    hr_eager_forget_error(g);
    for (int i = 0; i < 32; i++) hr_tape_free(tapes[i]);
    hr_tape *again = hr_tape_begin(g);
    assert_non_null(again);
    hr_tape_free(again);
}

static void a_tape_that_is_left_goes_with_its_graph(void **state)
{
    (void)state;
    hr_tape *tape = hr_tape_begin(g);
    hr_square(variable("w", 1));
    (void)tape;
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, make_graph, free_graph)
    const struct CMUnitTest tests[] = {
        T(a_trainable_variable_is_watched_when_it_is_read),
        T(a_value_is_watched_when_it_is_asked_for),
        T(a_manual_tape_watches_no_variable_by_itself),
        T(what_is_done_while_a_tape_is_stopped_is_a_constant_to_it),
        T(a_tape_is_asked_once_unless_it_is_persistent),
        T(a_value_that_is_overwritten_in_a_variable_stays_on_the_tape),
        T(nodes_on_a_tape_outlive_the_end_of_their_block),
        T(c_decides_what_the_tape_sees),
        T(gradients_flow_through_loops_that_run_at_once),
        T(several_ways_from_one_x_are_summed),
        T(broadcast_inputs_get_gradients_of_their_own_shape),
        T(rows_that_are_looked_up_have_gradients_of_rows),
        T(an_x_that_no_y_depends_on_gets_none_or_zeros),
        T(an_earlier_tape_gives_second_derivatives),
        T(a_persistent_tape_that_records_sees_its_own_gradients),
        T(a_jacobian_has_a_row_for_each_value),
        T(an_op_without_a_gradient_is_named),
        T(what_is_no_node_of_the_graph_is_refused),
        T(so_many_tapes_are_refused),
        T(a_tape_that_is_left_goes_with_its_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
