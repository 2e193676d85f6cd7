/* Running graphs: feeds and fetches, pruning, errors, memory in place, variables. */
#include "tests/testing.h"

#include <headrace/graph_op.h>
#include <headrace/ops.h>

#include <stdio.h>
#include <string.h>

static hr_graph *g;
static hr_session *s;

static int open_session(void **state)
{
    (void)state;
    g = hr_graph_new();
    s = hr_session_new(g, .workers = &(int){0});
    return g && s ? 0 : -1;
}

static int close_session(void **state)
{
    (void)state;
    hr_session_free(s);
    hr_graph_free(g);
    return 0;
}

static hr_feed feed(hr_node node, hr_shape shape, const float *values)
{
    return (hr_feed){node, hr_tensor_of(HR_FLOAT, shape, values)};
}

static void run(const hr_feed *feeds, int n, hr_node fetch)
{
    hr_error err = {0};
    const hr_node target = hr_target(fetch);
    assert_ok(hr_session_run(s, feeds, n, &target, 1, NULL, &err), &err);
}

static void gives(const hr_feed *feeds, int n, hr_node fetch, const float *expected, int count)
{
    hr_error err = {0};
    hr_tensor out;
    assert_ok(hr_session_run(s, feeds, n, &fetch, 1, &out, &err), &err);
    assert_int_equal(out.count, count);
    for (int i = 0; i < count; i++) assert_float_equal(((float *)out.data)[i], expected[i], 1e-6f);
    hr_tensor_clear(&out);
}

static void fails(const hr_feed *feeds, int n, hr_node fetch, hr_status status, const char *kind)
{
    hr_error err = {0};
    hr_tensor out = {0};
    assert_int_equal(hr_session_run(s, feeds, n, &fetch, 1, &out, &err), status);
    assert_string_equal(err.kind, kind);
    assert_string_equal(hr_session_error(s)->text, err.text);
    assert_null(out.buffer);
}

static hr_node vector(const char *name) { return hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1), .name = name); }

/* ---- feeds ---- */

static void the_batch_may_vary_from_run_to_run(void **state)
{
    (void)state;
    hr_node x = vector("x"), y = hr_reduce_sum(hr_square(x));
    gives((hr_feed[]){feed(x, HR_SHAPE(3), HR_F32(1, 2, 3))}, 1, y, HR_F32(14), 1);
    gives((hr_feed[]){feed(x, HR_SHAPE(1), HR_F32(5))}, 1, y, HR_F32(25), 1);
    gives((hr_feed[]){feed(x, HR_SHAPE(0), HR_F32(0))}, 1, y, HR_F32(0), 1);
    gives((hr_feed[]){feed(x, HR_SHAPE(4), HR_F32(1, 1, 1, 1))}, 1, y, HR_F32(4), 1);
}

static void a_feed_of_another_shape_or_type_is_refused(void **state)
{
    (void)state;
    hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 3), .name = "x");
    fails((hr_feed[]){feed(x, HR_SHAPE(2, 2), HR_F32(1, 2, 3, 4))}, 1, x, HR_INVALID_ARGUMENT, "session.feed");
    assert_text_contains(hr_session_error(s)->text, "'x': expected a dense float32 [?,3], got float32 [2,2]");
    hr_feed ints = {x, hr_tensor_of(HR_INT32, HR_SHAPE(1, 3), ((int32_t[]){1, 2, 3}))};
    fails(&ints, 1, x, HR_INVALID_ARGUMENT, "session.feed");
}

/* A vector of 2 floats, one thing changed at a time. */
static void a_feed_that_is_no_tensor_is_refused(void **state)
{
    const float values[2] = {1, 2};
    const bool odd[2] = {true, false};
    const unsigned char no_bool = 2;
    hr_node x = hr_placeholder(g, HR_FLOAT, HR_UNKNOWN_SHAPE), y = hr_neg(x);
    const hr_feed good = feed(x, HR_SHAPE(2), values);
    const hr_node bits = hr_placeholder(g, HR_BOOL, HR_UNKNOWN_SHAPE), texts = hr_placeholder(g, HR_STRING, HR_SCALAR);
    (void)state;
    gives(&good, 1, y, (const float[]){-1, -2}, 2);
    for (int i = 0; i < 6; i++) {
        hr_feed bad = good;
        if (i == 0) bad.value.data = NULL;
        if (i == 1) bad.value.shape.rank = 12;
        if (i == 2) bad.value.shape.rank = -3;
        if (i == 3) bad.value.shape = HR_SHAPE(-1);
        if (i == 4) bad.value.shape = HR_SHAPE(INT64_C(1) << 40, INT64_C(1) << 40);
        if (i == 5) bad.value.layout = HR_RAGGED;
        fails(&bad, 1, y, HR_INVALID_ARGUMENT, "session.feed");
    }
    const hr_feed empty = {x, hr_tensor_of(HR_FLOAT, HR_SHAPE(0), NULL)};
    gives(&empty, 1, y, NULL, 0);
    const hr_feed two_bits = {bits, hr_tensor_of(HR_BOOL, HR_SHAPE(2), odd)};
    run(&two_bits, 1, hr_logical_not(bits));
    fails(&(hr_feed){bits, hr_tensor_of(HR_BOOL, HR_SCALAR, &no_bool)}, 1, hr_logical_not(bits), HR_INVALID_ARGUMENT,
          "session.feed");
    fails(&(hr_feed){texts, hr_tensor_of(HR_STRING, HR_SCALAR, &(hr_view){NULL, 5})}, 1, hr_identity(texts),
          HR_INVALID_ARGUMENT, "session.feed");
}

static void a_node_is_fed_once(void **state)
{
    hr_node x = vector("x");
    const hr_feed twice[] = {feed(x, HR_SHAPE(1), (const float[]){1}), feed(x, HR_SHAPE(1), (const float[]){2})};
    (void)state;
    fails(twice, 2, hr_neg(x), HR_INVALID_ARGUMENT, "session.feed");
}

/* A resource is a place in this session: no bytes from outside are one, nor what an op makes of them. */
static void resources_are_neither_fed_nor_fetched_nor_computed_with(void **state)
{
    hr_node handle =
        hr_new_node(g, "VarHandleOp", HR_ATTRS(HR_TYPE_ATTR("dtype", HR_FLOAT), HR_SHAPE_ATTR("shape", HR_SHAPE(2))));
    hr_node read = hr_new_node(g, "ReadVariableOp", HR_INPUTS(handle), HR_ATTRS(HR_TYPE_ATTR("dtype", HR_FLOAT)));
    hr_node other = hr_placeholder(g, HR_RESOURCE, HR_SCALAR);
    const uint64_t bytes[8] = {0};
    (void)state;
    fails(&(hr_feed){handle, hr_tensor_of(HR_RESOURCE, HR_SCALAR, bytes)}, 1, read, HR_INVALID_ARGUMENT,
          "session.feed");
    fails(NULL, 0, handle, HR_INVALID_ARGUMENT, "session.fetch");
    fails(NULL, 0, hr_target(hr_zeros_like(other)), HR_INVALID_ARGUMENT, "graph.kernel");
    assert_null(hr_graph_error(g));
}

static void a_placeholder_of_resources_does_not_run(void **state)
{
    (void)state;
    hr_node read = hr_new_node(g, "ReadVariableOp", HR_INPUTS(hr_placeholder(g, HR_RESOURCE, HR_SCALAR)),
                               HR_ATTRS(HR_TYPE_ATTR("dtype", HR_FLOAT)));
    fails(NULL, 0, read, HR_INVALID_ARGUMENT, "graph.kernel");
}

/* The first plan of a session is found by node numbers; those of another graph are others. */
static void a_fetch_of_another_graph_is_refused(void **state)
{
    hr_graph *other = hr_graph_new();
    hr_node here = hr_scalar(g, HR_FLOAT, 1), there = hr_scalar(other, HR_FLOAT, 2);
    (void)state;
    gives(NULL, 0, here, (const float[]){1}, 1);
    fails(NULL, 0, there, HR_INVALID_ARGUMENT, "session.fetch");
    hr_graph_free(other);
}

static void a_placeholder_that_is_needed_must_be_fed(void **state)
{
    (void)state;
    hr_node x = vector("x");
    fails(NULL, 0, hr_square(x), HR_INVALID_ARGUMENT, "session.feed");
    assert_text_contains(hr_session_error(s)->text, "You must feed a value for placeholder tensor 'x'");
}

static void any_tensor_may_be_fed_and_what_it_depends_on_does_not_run(void **state)
{
    (void)state;
    hr_node x = vector("x"), y = hr_square(x), z = hr_neg(y);
    gives((hr_feed[]){feed(y, HR_SHAPE(2), HR_F32(1, 2))}, 1, z, HR_F32(-1, -2), 2);
}

static void a_tensor_that_is_fed_and_fetched_comes_back(void **state)
{
    (void)state;
    hr_node x = vector("x");
    const float values[] = {1, 2};
    hr_error err;
    hr_tensor out;
    const hr_feed f = feed(x, HR_SHAPE(2), values);
    assert_ok(hr_session_run(s, &f, 1, &x, 1, &out, &err), &err);
    assert_memory_equal(out.data, values, sizeof values);
    assert_ptr_not_equal(out.data, values);
    hr_tensor_clear(&out);
}

static void what_is_fed_is_neither_copied_nor_written(void **state)
{
    (void)state;
    hr_node x = vector("x"), y = hr_neg(hr_square(hr_neg(x)));
    const float values[] = {1, 2, 3};
    gives((hr_feed[]){feed(x, HR_SHAPE(3), values)}, 1, y, HR_F32(-1, -4, -9), 3);
    assert_exactly(values[0], 1);
    assert_exactly(values[1], 2);
    assert_exactly(values[2], 3);
}

/* ---- fetches ---- */

static void only_what_the_fetches_need_is_run(void **state)
{
    (void)state;
    hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros());
    hr_node add = hr_assign_add(w, hr_scalar(g, HR_FLOAT, 1)), other = hr_scalar(g, HR_FLOAT, 3);
    run(NULL, 0, hr_global_variables_initializer(g));
    gives(NULL, 0, other, HR_F32(3), 1);
    gives(NULL, 0, w, HR_F32(0), 1);
    run(NULL, 0, add);
    gives(NULL, 0, w, HR_F32(1), 1);
}

static void a_fetch_outlives_later_runs_and_the_session(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor first;
    hr_node x = vector("x"), y = hr_square(x);
    const hr_feed f = feed(x, HR_SHAPE(2), HR_F32(2, 3));
    assert_ok(hr_session_run(s, &f, 1, &y, 1, &first, &err), &err);
    gives((hr_feed[]){feed(x, HR_SHAPE(2), HR_F32(7, 8))}, 1, y, HR_F32(49, 64), 2);
    hr_session_free(s);
    s = NULL;
    assert_exactly(((float *)first.data)[0], 4);
    assert_exactly(((float *)first.data)[1], 9);
    hr_tensor_clear(&first);
}

static void the_same_node_may_be_fetched_twice(void **state)
{
    (void)state;
    hr_error err;
    hr_node y = hr_square(hr_scalar(g, HR_FLOAT, 3)), both[] = {y, y};
    hr_tensor out[2];
    assert_ok(hr_session_run(s, NULL, 0, both, 2, out, &err), &err);
    assert_exactly(*(float *)out[0].data, 9);
    assert_exactly(*(float *)out[1].data, 9);
    hr_tensor_clear(&out[0]);
    hr_tensor_clear(&out[1]);
}

static void nodes_added_after_a_run_are_known(void **state)
{
    (void)state;
    hr_node x = hr_scalar(g, HR_FLOAT, 3);
    gives(NULL, 0, hr_square(x), HR_F32(9), 1);
    gives(NULL, 0, hr_neg(x), HR_F32(-3), 1);
}

/* ---- in place ---- */

/* x is used again after what could have been computed in its memory. */
static void memory_that_others_still_need_is_not_written(void **state)
{
    (void)state;
    hr_node x = hr_square(vector("x")), y = hr_neg(x), z = hr_exp(hr_sub(x, x)), sum = hr_add(hr_add(y, x), z);
    hr_node in = hr_graph_node(g, "x"), all[] = {sum, x, y};
    const hr_feed f = feed(in, HR_SHAPE(2), HR_F32(2, 3));
    hr_tensor out[3];
    hr_error err;
    assert_ok(hr_session_run(s, &f, 1, all, 3, out, &err), &err);
    assert_exactly(((float *)out[0].data)[1], 1);
    assert_exactly(((float *)out[1].data)[1], 9);
    assert_exactly(((float *)out[2].data)[1], -9);
    for (int i = 0; i < 3; i++) hr_tensor_clear(&out[i]);
}

static void reshaped_values_share_memory_and_are_not_written(void **state)
{
    (void)state;
    hr_node x = hr_square(vector("x")), r = hr_reshape(x, hr_ints(g, HR_I64(2, 1), 2)), n = hr_neg(r);
    hr_node both[] = {hr_add(hr_reduce_sum(n), hr_reduce_sum(x)), x};
    const hr_feed f = feed(hr_graph_node(g, "x"), HR_SHAPE(2), HR_F32(2, 3));
    hr_tensor out[2];
    hr_error err;
    assert_ok(hr_session_run(s, &f, 1, both, 2, out, &err), &err);
    assert_exactly(*(float *)out[0].data, 0);
    assert_exactly(((float *)out[1].data)[1], 9);
    hr_tensor_clear(&out[0]);
    hr_tensor_clear(&out[1]);
}

static void a_value_read_before_an_update_stays_as_it_was(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor before;
    hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(2), .initializer = hr_ones());
    hr_node add = hr_assign_add(w, hr_fill(hr_ints(g, HR_I64(2), 1), hr_scalar(g, HR_FLOAT, 1)));
    run(NULL, 0, hr_global_variables_initializer(g));
    assert_ok(hr_session_get(s, w, &before, &err), &err);
    run(NULL, 0, add);
    run(NULL, 0, add);
    assert_exactly(((float *)before.data)[0], 1);
    gives(NULL, 0, w, HR_F32(3, 3), 2);
    hr_tensor_clear(&before);
}

static void two_variables_of_one_initial_value_are_apart(void **state)
{
    (void)state;
    hr_node a = hr_get_variable(g, "a", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros());
    hr_node b = hr_get_variable(g, "b", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros());
    run(NULL, 0, hr_global_variables_initializer(g));
    run(NULL, 0, hr_assign(b, a));
    run(NULL, 0, hr_assign_add(a, hr_scalar(g, HR_FLOAT, 5)));
    gives(NULL, 0, a, HR_F32(5), 1);
    gives(NULL, 0, b, HR_F32(0), 1);
}

/* ---- order ---- */

static void a_read_sees_the_updates_made_before_it_and_no_later_ones(void **state)
{
    (void)state;
    hr_error err;
    hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_zeros());
    hr_node one = hr_scalar(g, HR_FLOAT, 1), first = hr_assign_add(w, one);
    hr_control_dependencies(g, &first, 1);
    hr_node between = hr_identity(w);
    hr_control_end(g);
    hr_node second = hr_assign_add(w, one), all[] = {hr_target(second), between};
    hr_tensor out[2];
    run(NULL, 0, hr_global_variables_initializer(g));
    assert_ok(hr_session_run(s, NULL, 0, all, 2, out, &err), &err);
    assert_exactly(*(float *)out[1].data, 1);
    hr_tensor_clear(&out[1]);
    gives(NULL, 0, w, HR_F32(2), 1);
}

/* ---- errors ---- */

static void an_uninitialized_variable_is_named(void **state)
{
    (void)state;
    hr_node w = hr_get_variable(g, "dnn/w", HR_FLOAT, HR_SHAPE(2));
    fails(NULL, 0, hr_square(w), HR_FAILED_PRECONDITION, "variable.uninitialized");
    assert_text_contains(hr_session_error(s)->text, "'dnn/w'");
}

static void a_failed_node_is_named_and_the_session_goes_on(void **state)
{
    (void)state;
    hr_node a = hr_placeholder(g, HR_FLOAT, HR_UNKNOWN_SHAPE, .name = "a");
    hr_node b = hr_placeholder(g, HR_FLOAT, HR_UNKNOWN_SHAPE, .name = "b"), y = hr_square(hr_matmul(a, b));
    const hr_feed bad[] = {feed(a, HR_SHAPE(1, 2), HR_F32(1, 2)), feed(b, HR_SHAPE(1, 1), HR_F32(1))};
    const hr_feed good[] = {feed(a, HR_SHAPE(1, 2), HR_F32(1, 2)), feed(b, HR_SHAPE(2, 1), HR_F32(3, 4))};
    fails(bad, 2, y, HR_INVALID_ARGUMENT, "graph.shape");
    assert_text_begins(hr_session_error(s)->text, "node 'BatchMatMulV2' (BatchMatMulV2), made at ");
    assert_text_contains(hr_session_error(s)->text, ": expected inner dimensions to agree");
    gives(good, 2, y, HR_F32(121), 1);
    assert_null(hr_session_error(s));
}

static void a_value_of_another_shape_is_not_assigned(void **state)
{
    (void)state;
    hr_error err;
    hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(2), .initializer = hr_ones());
    const hr_tensor three = hr_tensor_of(HR_FLOAT, HR_SHAPE(3), HR_F32(1, 2, 3));
    assert_status(hr_session_set(s, w, &three, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "variable.shape");
}

static void cancel_ends_the_next_run_and_no_further_one(void **state)
{
    (void)state;
    hr_node y = hr_square(hr_scalar(g, HR_FLOAT, 3));
    hr_session_cancel(s);
    fails(NULL, 0, y, HR_CANCELLED, "session.cancelled");
    gives(NULL, 0, y, HR_F32(9), 1);
}

/* ---- memory ---- */

static void a_run_in_steady_state_allocates_nothing(void **state)
{
    (void)state;
    hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 4), .name = "x");
    hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(4, 3)), b = hr_get_variable(g, "b", HR_FLOAT, HR_SHAPE(3));
    hr_node loss = hr_reduce_mean(hr_square(hr_relu(hr_bias_add(hr_matmul(x, w), b)))), vars[] = {w, b};
    hr_gradient grads[2];
    hr_gradients(&loss, 1, vars, 2, grads);
    hr_node fetches[] = {loss, hr_target(hr_assign_sub(w, grads[0].values)),
                         hr_target(hr_assign_sub(b, grads[1].values))};
    run(NULL, 0, hr_global_variables_initializer(g));
    float values[32] = {1, 2, 3};
    const hr_feed full = feed(x, HR_SHAPE(8, 4), values), last = feed(x, HR_SHAPE(5, 4), values);
    hr_error err;
    for (int i = 0; i < 12; i++) {
        hr_tensor out[3];
        if (i == 4) fail_allocation(-1);
        assert_ok(hr_session_run(s, i % 3 == 2 ? &last : &full, 1, fetches, 3, out, &err), &err);
        hr_tensor_clear(&out[0]);
    }
    assert_int_equal(allocations_since(), 0);
}

/* A sum of products of a fed number and a variable each; then each variable is lowered by its gradient, the number. */
static void many_variables_and_feeds_run_as_few_do(void **state)
{
    (void)state;
    enum { MANY = 10000 };
    static hr_node x[MANY], v[MANY], part[MANY];
    static hr_gradient gradient[MANY];
    static hr_feed feeds[MANY];
    static const float two = 2;
    hr_error err = {0};
    float total = 0;
    for (int i = 0; i < MANY; i++) {
        char name[32];
        snprintf(name, sizeof name, "v%d", i);
        v[i] = hr_get_variable(g, name, HR_FLOAT, HR_SHAPE(1), .initializer = hr_constant_value(i % 7));
        x[i] = hr_placeholder(g, HR_FLOAT, HR_SHAPE(1), .name = "x");
        feeds[i] = feed(x[i], HR_SHAPE(1), &two);
        part[i] = hr_mul(x[i], v[i]);
        total += 2 * (float)(i % 7);
    }
    hr_node loss = hr_add_n(part, MANY);
    hr_gradients(&loss, 1, v, MANY, gradient);
    for (int i = 0; i < MANY; i++) part[i] = hr_target(hr_assign_sub(v[i], gradient[i].values));
    hr_node train = hr_group(g, part, MANY, "train");
    run(NULL, 0, hr_global_variables_initializer(g));
    gives(feeds, MANY, loss, &total, 1);
    run(feeds, MANY, train);
    for (int i = 0; i < MANY; i++) {
        hr_tensor value;
        assert_ptr_equal(hr_variable_of(v[i]), hr_variable_named(g, hr_node_name(v[i])));
        assert_ok(hr_session_get(s, v[i], &value, &err), &err);
        assert_exactly(*(const float *)value.data, (float)(i % 7) - 2);
        hr_tensor_clear(&value);
    }
    feeds[MANY - 1] = feeds[7];
    fails(feeds, MANY, loss, HR_INVALID_ARGUMENT, "session.feed");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_session, close_session)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_batch_may_vary_from_run_to_run),
        TEST(a_feed_of_another_shape_or_type_is_refused),
        TEST(a_feed_that_is_no_tensor_is_refused),
        TEST(a_node_is_fed_once),
        TEST(resources_are_neither_fed_nor_fetched_nor_computed_with),
        TEST(a_placeholder_of_resources_does_not_run),
        TEST(a_fetch_of_another_graph_is_refused),
        TEST(a_placeholder_that_is_needed_must_be_fed),
        TEST(any_tensor_may_be_fed_and_what_it_depends_on_does_not_run),
        TEST(a_tensor_that_is_fed_and_fetched_comes_back),
        TEST(what_is_fed_is_neither_copied_nor_written),
        TEST(only_what_the_fetches_need_is_run),
        TEST(a_fetch_outlives_later_runs_and_the_session),
        TEST(the_same_node_may_be_fetched_twice),
        TEST(nodes_added_after_a_run_are_known),
        TEST(memory_that_others_still_need_is_not_written),
        TEST(reshaped_values_share_memory_and_are_not_written),
        TEST(a_value_read_before_an_update_stays_as_it_was),
        TEST(two_variables_of_one_initial_value_are_apart),
        TEST(a_read_sees_the_updates_made_before_it_and_no_later_ones),
        TEST(an_uninitialized_variable_is_named),
        TEST(a_failed_node_is_named_and_the_session_goes_on),
        TEST(a_value_of_another_shape_is_not_assigned),
        TEST(cancel_ends_the_next_run_and_no_further_one),
        TEST(a_run_in_steady_state_allocates_nothing),
        TEST(many_variables_and_feeds_run_as_few_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
