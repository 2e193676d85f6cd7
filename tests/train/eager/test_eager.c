/* Eager graphs: what nodes compute when they are made, how long they live, variables, branches, errors. */
#include "tests/testing.h"

#include <headrace/eager.h>
#include <headrace/graphdef.h>
#include <headrace/layers.h>
#include <headrace/ops.h>

#include <string.h>

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

/* ---- values ---- */

static void a_node_has_its_value_when_it_is_made(void **state)
{
    (void)state;
    const hr_node a = floats((float[]){1, 2, 3, 4}, HR_SHAPE(2, 2)), b = hr_matmul(a, a, .transpose_b = true);
    static const float expected[] = {5, 11, 11, 25};
    assert_true(hr_graph_is_eager(g));
    assert_shape(hr_node_shape(b), HR_SHAPE(2, 2));
    assert_memory_equal(hr_eager_tensor(b)->data, expected, sizeof expected);
    assert_memory_equal(hr_eager_tensor(hr_square(a))->data, ((float[]){1, 4, 9, 16}), 16);
    assert_memory_equal(hr_eager_tensor(a)->data, ((float[]){1, 2, 3, 4}), 16);
}

static void the_same_op_takes_other_shapes_and_types(void **state)
{
    (void)state;
    const hr_node a = floats((float[]){1, 2, 3}, HR_SHAPE(3)), i = hr_ints(g, (int64_t[]){1, 2}, 2);
    for (int turn = 0; turn < 3; turn++) {
        assert_exactly(value_of(hr_reduce_sum(hr_add(a, a))), 12);
        assert_exactly(value_of(hr_add(number(1), number(2))), 3);
        assert_int_equal(((const int32_t *)hr_eager_tensor(hr_add(i, i))->data)[1], 4);
        assert_exactly(
            value_of(hr_matmul(floats((float[]){1, 2}, HR_SHAPE(1, 2)), floats((float[]){3, 4}, HR_SHAPE(2, 1)))), 11);
    }
}

static void outputs_after_the_first_are_outputs_of_the_node(void **state)
{
    (void)state;
    const hr_node x = floats((float[]){1, 2, 3, 4}, HR_SHAPE(4));
    const hr_node parts =
        hr_new_node(g, "Split", HR_INPUTS(hr_scalar(g, HR_INT32, 0), x), HR_ATTRS(HR_INT_ATTR("num_split", 2)));
    assert_int_equal(hr_node_outputs(parts), 2);
    assert_exactly(value_of(hr_node_output(parts, 1)), 3);
    assert_exactly(value_of(hr_reduce_sum(hr_concat((hr_node[]){parts, hr_node_output(parts, 1)}, 2, 0))), 10);
}

static void a_tensor_is_taken_without_a_copy(void **state)
{
    (void)state;
    hr_tensor t;
    assert_ok(hr_tensor_new(&t, HR_FLOAT, HR_SHAPE(2), &err), &err);
    float *data = t.data;
    data[0] = data[1] = 7;
    const hr_node x = hr_eager_take(g, &t);
    assert_null(t.buffer);
    assert_ptr_equal(hr_eager_tensor(x)->data, data);
    assert_exactly(value_of(hr_reduce_sum(x)), 14);
    hr_tensor borrowed = hr_tensor_of(HR_FLOAT, HR_SCALAR, &(float){3});
    assert_exactly(value_of(hr_eager_take(g, &borrowed)), 3);
    hr_tensor strings;
    assert_ok(hr_tensor_strings(&strings, HR_SHAPE(1), &(hr_view){"abc", 3}, &err), &err);
    const hr_node text = hr_eager_take(g, &strings);
    assert_int_equal(((const hr_view *)hr_eager_tensor(text)->data)->size, 3);
}

/* ---- how long they live ---- */

static void what_is_not_kept_goes_at_the_end_of_its_block(void **state)
{
    (void)state;
    const hr_node before = number(1);
    hr_eager_begin(g);
    const hr_node gone = number(2), kept = hr_add(before, gone);
    hr_eager_begin(g);
    const hr_node inner = hr_add(kept, kept);
    hr_eager_end(g, &inner, 1);
    assert_exactly(value_of(inner), 6);
    hr_eager_end(g, &kept, 1);
    assert_true(hr_node_exists(before));
    assert_false(hr_node_exists(gone));
    assert_false(hr_node_exists(inner));
    assert_exactly(value_of(kept), 3);
    assert_null(hr_eager_tensor(gone));
    assert_int_not_equal(hr_eager_get(gone, &(hr_tensor){0}, &err), HR_OK);
    assert_string_equal(err.kind, "eager.value");
}

static void a_value_that_was_given_outlives_the_graph(void **state)
{
    (void)state;
    hr_tensor t;
    hr_graph *own = hr_eager_new();
    assert_ok(hr_eager_get(hr_square(hr_scalar(own, HR_FLOAT, 3)), &t, &err), &err);
    hr_graph_free(own);
    assert_exactly(*(const float *)t.data, 9);
    hr_tensor_clear(&t);
}

static void a_step_that_was_made_before_allocates_nothing(void **state)
{
    (void)state;
    const hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(3), .initializer = hr_ones());
    for (int i = 0; i < 20; i++) {
        if (i == 10) fail_allocation(1 << 30);
        hr_eager_begin(g);
        hr_name_scope(g, "step");
        const hr_node y = hr_reduce_sum(hr_mul(hr_add(w, number(1)), w));
        hr_assign_add(w, hr_mul(w, number(0.5)));
        hr_scope_end(g);
        hr_eager_end(g, &y, 0);
    }
    assert_int_equal(allocations_since(), 0);
    assert_at_most(hr_graph_size(g), 40);
}

/* ---- variables ---- */

static void a_variable_has_its_first_value_when_it_is_made(void **state)
{
    (void)state;
    const hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(2), .initializer = hr_constant_value(2));
    const hr_node before = hr_identity(w);
    hr_assign_add(w, floats((float[]){1, 5}, HR_SHAPE(2)));
    assert_exactly(value_of(before), 2);
    assert_exactly(value_of(w), 3);
    hr_assign(w, floats((float[]){10, 20}, HR_SHAPE(2)));
    assert_exactly(value_of(hr_reduce_sum(w)), 30);
    const hr_node wrong = hr_assign(w, floats((float[]){10}, HR_SHAPE(1)));
    assert_false(hr_node_exists(wrong));
    assert_text_contains(hr_graph_error(g)->text, "variable 'w': expected a value of float32 [2], got float32 [1]");
}

static void variables_outlive_blocks_and_are_found_by_scope(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        hr_eager_begin(g);
        hr_variable_scope(g, "model", .reuse = HR_AUTO_REUSE);
        const hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros());
        hr_assign_add(w, number(1));
        hr_scope_end(g);
        hr_eager_end(g, NULL, 0);
    }
    assert_int_equal(hr_graph_variables(g), 1);
    assert_exactly(value_of(hr_variable_named(g, "model/w")->handle), 3);
}

static void variables_are_shared_with_a_session(void **state)
{
    (void)state;
    hr_graph *graph = hr_graph_new();
    const hr_node w = hr_get_variable(graph, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_constant_value(5));
    const hr_node init = hr_global_variables_initializer(graph), more = hr_assign_add(w, hr_scalar(graph, HR_FLOAT, 1));
    hr_session *s = hr_session_new(graph);
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    hr_graph *eager = hr_eager_new(.share = s);
    const hr_node same = hr_get_variable(eager, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros());
    hr_tensor t;
    assert_ok(hr_eager_get(same, &t, &err), &err);
    assert_exactly(*(const float *)t.data, 5);
    hr_tensor_clear(&t);
    hr_assign_add(same, hr_scalar(eager, HR_FLOAT, 10));
    assert_ok(hr_session_run(s, NULL, 0, &more, 1, NULL, &err), &err);
    assert_ok(hr_session_get(s, w, &t, &err), &err);
    assert_exactly(*(const float *)t.data, 16);
    hr_tensor_clear(&t);
    hr_graph_free(eager);
    hr_session_free(s);
    hr_graph_free(graph);
}

/* ---- branches, layers, random numbers ---- */

static int branches_called;

static void twice(hr_graph *graph, hr_node *results, void *user)
{
    branches_called++;
    results[0] = hr_mul(*(const hr_node *)user, hr_scalar(graph, HR_FLOAT, 2));
}

static void minus(hr_graph *graph, hr_node *results, void *user)
{
    (void)graph;
    branches_called++;
    results[0] = hr_neg(*(const hr_node *)user);
}

static void only_the_branch_that_is_taken_is_called(void **state)
{
    (void)state;
    hr_node x = number(4), out;
    branches_called = 0;
    hr_cond(hr_less(x, number(5)), twice, minus, &x, &out, 1);
    assert_exactly(value_of(out), 8);
    hr_cond(hr_less(x, number(3)), twice, minus, &x, &out, 1);
    assert_exactly(value_of(out), -4);
    assert_int_equal(branches_called, 2);
    hr_branch_fn *const branches[] = {twice, minus};
    hr_switch_case(hr_scalar(g, HR_INT32, 1), branches, 2, &x, &out, 1);
    assert_exactly(value_of(out), -4);
    hr_switch_case(hr_scalar(g, HR_INT32, 0), branches, 2, &x, &out, 1);
    assert_exactly(value_of(out), 8);
    assert_int_equal(branches_called, 4);
}

static void always(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)vars, (void)user;
    results[0] = hr_scalar(graph, HR_BOOL, 1);
}

static void plus_one(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_add(vars[0], hr_scalar(graph, HR_FLOAT, 1));
}

static void no_result(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)graph, (void)vars, (void)results, (void)user;
}

static void a_loop_ends_after_its_maximum_or_its_failure(void **state)
{
    (void)state;
    const hr_node x = number(0);
    hr_node out;
    hr_while_loop(always, plus_one, NULL, &x, 1, &out, .maximum_iterations = 7);
    assert_exactly(value_of(out), 7);
    hr_while_loop(no_result, plus_one, NULL, &x, 1, &out);
    assert_exactly(value_of(out), 0);
}

static void layers_compute_at_once(void **state)
{
    (void)state;
    const hr_node x = floats((float[]){1, 2, 3, 4}, HR_SHAPE(2, 2));
    for (int i = 0; i < 2; i++) {
        hr_variable_scope(g, "model", .reuse = HR_AUTO_REUSE);
        const hr_node y = hr_dense(x, 3, .name = "hidden", .kernel_initializer = hr_ones());
        hr_scope_end(g);
        assert_shape(hr_node_shape(y), HR_SHAPE(2, 3));
        assert_exactly(value_of(y), 3);
    }
    assert_int_equal(hr_graph_variables(g), 2);
}

static void random_ops_with_a_seed_go_on_and_begin_anew_with_the_graphs(void **state)
{
    (void)state;
    const hr_node shape = hr_ints(g, (int64_t[]){1}, 1);
    const float a = value_of(hr_uniform_values(shape, HR_FLOAT, 7)),
                b = value_of(hr_uniform_values(shape, HR_FLOAT, 7));
    assert_differs(a, b);
    hr_set_random_seed(g, 0);
    assert_exactly(value_of(hr_uniform_values(shape, HR_FLOAT, 7)), a);
    assert_exactly(value_of(hr_uniform_values(shape, HR_FLOAT, 7)), b);
}

/* tf.random.set_seed(1), then tf.random.uniform and tf.random.normal, of TensorFlow 2.15. */
static void the_graphs_seed_gives_tensorflows_numbers(void **state)
{
    (void)state;
    const hr_node two = hr_ints(g, (int64_t[]){2}, 1);
    for (int turn = 0; turn < 2; turn++) {
        hr_set_random_seed(g, 1);
        const float *a = hr_eager_tensor(hr_uniform_values(two, HR_FLOAT, 0))->data,
                    *b = hr_eager_tensor(hr_uniform_values(two, HR_FLOAT, 0))->data,
                    *c = hr_eager_tensor(hr_normal_values(two, HR_FLOAT, 0))->data;
        assert_near(a[0], 0.16513085f, 1e-8);
        assert_near(a[1], 0.9014813f, 1e-7);
        assert_near(b[0], 0.51010704f, 1e-7);
        assert_near(b[1], 0.44353175f, 1e-7);
        assert_near(c[0], -0.45701224f, 1e-6);
        hr_set_random_seed(g, 1);
        const hr_node one = hr_ints(g, (int64_t[]){1}, 1);
        assert_near(value_of(hr_uniform_values(one, HR_FLOAT, 7)), 0.78784764f, 1e-7);
        assert_near(value_of(hr_uniform_values(one, HR_FLOAT, 7)), 0.8899392f, 1e-7);
    }
}

/* ---- errors ---- */

static void a_failure_is_given_at_once_with_the_shapes(void **state)
{
    (void)state;
    hr_node out;
    const hr_node a = floats((float[]){1, 2, 3, 4, 5, 6}, HR_SHAPE(2, 3)), b = floats((float[]){1, 2}, HR_SHAPE(1, 2));
    assert_ok(hr_eager_op(g, "MatMul", &out, &err, HR_INPUTS(a, a), HR_ATTRS(HR_BOOL_ATTR("transpose_a", true))), &err);
    for (int turn = 0; turn < 2; turn++) { /* before and after the op has its place in the set */
        assert_status(hr_eager_op(g, "MatMul", &out, &err, HR_INPUTS(a, b)), HR_INVALID_ARGUMENT);
        assert_text_begins(err.text, "MatMul: ");
        assert_text_contains(err.text, "inputs: float32 [2,3], float32 [1,2]");
        assert_false(hr_node_exists(out));
        assert_null(hr_graph_error(g));
        assert_ok(hr_eager_op(g, "MatMul", &out, &err, HR_INPUTS(b, b), HR_ATTRS(HR_BOOL_ATTR("transpose_b", true))),
                  &err);
    }
    assert_status(hr_eager_op(g, "MatMull", &out, &err, HR_INPUTS(a, b)), HR_NOT_FOUND);
    assert_status(hr_eager_op(g, "MatMul", &out, &err, HR_INPUTS(a)), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "graph.inputs");
    assert_status(hr_eager_op(g, "Placeholder", &out, &err, HR_ATTRS(HR_TYPE_ATTR("dtype", HR_FLOAT))),
                  HR_INVALID_ARGUMENT);
    assert_status(hr_eager_op(g, "Switch", &out, &err, HR_INPUTS(a, hr_scalar(g, HR_BOOL, 1))), HR_UNIMPLEMENTED);
    assert_string_equal(err.kind, "eager.op");
}

static void half(hr_graph *graph, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_scalar(graph, HR_FLOAT, 0.5);
}

static void below_three(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_less(vars[0], hr_scalar(graph, HR_FLOAT, 3));
}

static void one_more(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)user;
    results[0] = hr_add(vars[0], hr_scalar(graph, HR_FLOAT, 1));
}

static void doubled(hr_graph *graph, const hr_node *vars, hr_node *results, void *user)
{
    (void)graph, (void)user;
    results[0] = hr_add(vars[0], vars[0]);
}

/* All that a step of a training may do, by turns. */
static void train_step(hr_node w, int i)
{
    hr_gradient by;
    hr_node scale = number(0.1), count = number(i % 3), rows;
    hr_tape *tape = hr_tape_begin(g);
    const hr_node x = floats((float[]){1, 2, 3, (float)i}, HR_SHAPE(2, 2));
    const hr_node loss = hr_reduce_mean(hr_square(hr_matmul(x, w)));
    assert_ok(hr_tape_gradient(tape, &loss, 1, &w, 1, &by, &err), &err);
    hr_assign_sub(w, hr_mul(by.values, number(0.001)));
    hr_tape_free(tape);
    if (i % 4 == 0) hr_cond(hr_scalar(g, HR_BOOL, i % 8 == 0), half, half, NULL, &scale, 1);
    if (i % 4 == 1) hr_while_loop(below_three, one_more, NULL, &count, 1, &count);
    if (i % 4 == 2) hr_map_loop(doubled, NULL, &x, 1, &rows, 1);
    if (i % 4 == 2) hr_scan_loop(doubled, NULL, &x, 1, NULL, &rows, 1);
    if (i % 4 == 2) hr_mean_squared_error(x, x);
    if (i % 4 == 3) {
        hr_name_scope(g, "scope");
        hr_new_node(g, "RandomStandardNormal", HR_INPUTS(hr_ints(g, HR_I64(2, 3), 2)),
                    HR_ATTRS(HR_TYPE_ATTR("dtype", HR_FLOAT)));
        hr_scope_end(g);
    }
}

static void memory_of_a_long_training_does_not_grow(void **state)
{
    (void)state;
    const hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(2, 2));
    for (int i = 0; i < 4000; i++) {
        if (i == 2000) watch_memory();
        hr_eager_begin(g);
        train_step(w, i);
        hr_eager_end(g, NULL, 0);
    }
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    assert_at_most(most_memory(), 65536);
}

static void an_error_sticks_until_it_is_forgotten(void **state)
{
    (void)state;
    const hr_node a = floats((float[]){1, 2}, HR_SHAPE(2)), b = floats((float[]){1, 2, 3}, HR_SHAPE(3));
    const hr_node bad = hr_add(a, b), worse = hr_neg(bad);
    assert_false(hr_node_exists(worse));
    assert_text_begins(hr_graph_error(g)->text, "node 'AddV2' (AddV2), made at test_eager.c:");
    assert_text_contains(hr_graph_error(g)->text, "inputs: float32 [2], float32 [3]");
    assert_int_equal(hr_eager_get(worse, &(hr_tensor){0}, &err), HR_INVALID_ARGUMENT);
    hr_eager_forget_error(g);
    assert_exactly(value_of(hr_reduce_sum(hr_add(a, a))), 6);
}

static void what_is_for_graphs_that_are_run_is_refused(void **state)
{
    (void)state;
    hr_gradient out;
    const hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR), y = hr_square(w);
    hr_session *s = hr_session_new(g);
    assert_status(hr_session_run(s, NULL, 0, &y, 1, &(hr_tensor){0}, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "eager.graph");
    hr_session_free(s);
    assert_status(hr_graph_import(g, ((hr_view){"", 0}), &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "eager.graph");
    hr_eager_forget_error(g);
    hr_gradients(&y, 1, &w, 1, &out);
    assert_text_contains(hr_graph_error(g)->text, "hr_tape_begin");
    hr_eager_forget_error(g);
    hr_graph *other = hr_graph_new();
    const hr_node foreign = hr_scalar(other, HR_FLOAT, 1);
    assert_status(hr_eager_op(g, "Neg", &(hr_node){0}, &err, HR_INPUTS(foreign)), HR_INVALID_ARGUMENT);
    assert_text_contains(err.text, "one of another graph");
    hr_graph_free(other);
}

static void every_failing_allocation_is_an_error_without_a_leak(void **state)
{
    (void)state;
    const int64_t before = allocations_alive();
    for (int64_t n = 0;; n++) {
        bool well = false;
        fail_allocation(n);
        hr_graph *own = hr_eager_new();
        if (own) {
            hr_eager_begin(own);
            const hr_node w = hr_get_variable(own, "w", HR_FLOAT, HR_SHAPE(2, 2), .initializer = hr_ones());
            hr_tape *tape = hr_tape_begin(own, .persistent = true);
            const hr_node y = hr_reduce_sum(hr_matmul(w, hr_square(w)));
            hr_gradient out;
            well = tape && hr_tape_gradient(tape, &y, 1, &w, 1, &out, &err) == HR_OK && hr_node_exists(out.values);
            hr_eager_end(own, NULL, 0);
            well = well && !hr_graph_error(own);
            hr_tape_free(tape);
        }
        hr_graph_free(own);
        const bool done = allocations_since() <= n;
        assert_int_equal(allocations_alive(), before);
        if (done) {
            assert_true(well);
            break;
        }
    }
    fail_allocation(-1);
}

int main(void)
{
#define T(test) cmocka_unit_test_setup_teardown(test, make_graph, free_graph)
    const struct CMUnitTest tests[] = {
        T(a_node_has_its_value_when_it_is_made),
        T(the_same_op_takes_other_shapes_and_types),
        T(outputs_after_the_first_are_outputs_of_the_node),
        T(a_tensor_is_taken_without_a_copy),
        T(what_is_not_kept_goes_at_the_end_of_its_block),
        T(a_value_that_was_given_outlives_the_graph),
        T(a_step_that_was_made_before_allocates_nothing),
        T(a_variable_has_its_first_value_when_it_is_made),
        T(variables_outlive_blocks_and_are_found_by_scope),
        T(variables_are_shared_with_a_session),
        T(only_the_branch_that_is_taken_is_called),
        T(a_loop_ends_after_its_maximum_or_its_failure),
        T(layers_compute_at_once),
        T(random_ops_with_a_seed_go_on_and_begin_anew_with_the_graphs),
        T(the_graphs_seed_gives_tensorflows_numbers),
        T(a_failure_is_given_at_once_with_the_shapes),
        T(memory_of_a_long_training_does_not_grow),
        T(an_error_sticks_until_it_is_forgotten),
        T(what_is_for_graphs_that_are_run_is_refused),
        T(every_failing_allocation_is_an_error_without_a_leak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
