/* How variables begin, variables in pieces, and what is known of a variable by its handle. */
#include "tests/testing.h"

#include <headrace/control_flow.h>
#include <headrace/graph.h>
#include <headrace/graph_op.h>
#include <headrace/ops.h>
#include <math.h>
#include <string.h>

static hr_graph *g;
static hr_session *s;

static int make_graph(void **state)
{
    (void)state;
    g = hr_graph_new();
    return g ? 0 : -1;
}

static int free_graph(void **state)
{
    (void)state;
    hr_session_free(s);
    hr_graph_free(g);
    s = NULL;
    return 0;
}

static hr_tensor value_of(hr_node node)
{
    hr_error err;
    hr_tensor out;
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    if (!s) s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, &node, 1, &out, &err), &err);
    return out;
}

static void expect_floats(hr_node node, int64_t count, const float *expected)
{
    hr_tensor out = value_of(node);
    assert_int_equal(out.dtype, HR_FLOAT);
    assert_int_equal(out.count, count);
    for (int64_t i = 0; i < count; i++)
        if (!(fabsf(((const float *)out.data)[i] - expected[i]) < 1e-6f))
            fail_msg("value %d: expected %g, got %g", (int)i, (double)expected[i],
                     (double)((const float *)out.data)[i]);
    hr_tensor_clear(&out);
}

static void initialize(void)
{
    const hr_node init = hr_global_variables_initializer(g);
    hr_tensor out = value_of(hr_target(init));
    hr_tensor_clear(&out);
}

static void expect_error(const char *kind)
{
    assert_non_null(hr_graph_error(g));
    assert_string_equal(hr_graph_error(g)->kind, kind);
}

/* ---- initializers ---- */

static void large_constants_are_filled_and_small_ones_stored(void **state)
{
    (void)state;
    hr_get_variable(g, "small", HR_FLOAT, HR_SHAPE(2, 3), .initializer = hr_ones());
    hr_get_variable(g, "large", HR_FLOAT, HR_SHAPE(100, 100), .initializer = hr_ones());
    hr_get_variable(g, "texts", HR_STRING, HR_SHAPE(1000), .initializer = hr_zeros());
    assert_string_equal(hr_node_op(hr_graph_node(g, "small/Initializer/ones")), "Const");
    assert_string_equal(hr_node_op(hr_graph_node(g, "large/Initializer/ones")), "Fill");
    assert_string_equal(hr_node_op(hr_graph_node(g, "texts/Initializer/zeros")), "Fill");
    hr_tensor texts = value_of(hr_variable_named(g, "texts")->initial_value);
    assert_int_equal(((const hr_view *)texts.data)[999].size, 0);
    hr_tensor_clear(&texts);
}

static void an_initializer_refuses_types_that_it_has_no_values_of(void **state)
{
    (void)state;
    hr_get_variable(g, "w", HR_INT32, HR_SHAPE(2), .initializer = hr_random_normal(0, 1, 1));
    expect_error("variable.initializer");
}

static void integers_are_drawn_within_their_bounds(void **state)
{
    (void)state;
    hr_get_variable(g, "w", HR_INT64, HR_SHAPE(50), .initializer = hr_random_uniform(-3, 4, 7));
    hr_tensor out = value_of(hr_variable_named(g, "w")->initial_value);
    bool least = false, most = false;
    for (int i = 0; i < 50; i++) {
        const int64_t v = ((const int64_t *)out.data)[i];
        assert_true(v >= -3 && v < 4);
        least |= v == -3;
        most |= v == 3;
    }
    assert_true(least && most);
    hr_tensor_clear(&out);
}

static void too_many_constants_are_refused(void **state)
{
    (void)state;
    static const float three[] = {1, 2, 3};
    const hr_tensor values = hr_tensor_of(HR_FLOAT, HR_SHAPE(3), three);
    hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(2), .initializer = hr_constant_values(&values));
    expect_error("variable.initializer");
}

static void a_variable_is_named_apart_from_a_name_scope(void **state)
{
    (void)state;
    hr_name_scope(g, "w");
    hr_scope_end(g);
    const hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(2));
    assert_string_equal(hr_node_name(w), "w_1");
    assert_true(hr_node_exists(hr_graph_node(g, "w_1/Initializer/random_uniform/RandomUniform")));
    assert_non_null(hr_variable_named(g, "w"));
}

/* ---- pieces ---- */

static void a_variable_in_pieces_reads_as_the_whole(void **state)
{
    (void)state;
    static const float expected[] = {1, 0, 0, 1, 0, 0, 0, 0, 0, 0};
    hr_variable_scope(g, "s");
    const hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(5, 2), .initializer = hr_eye(1),
                                      .partitioner = hr_fixed_size_partitioner(3, 0));
    hr_scope_end(g);
    assert_string_equal(hr_node_name(w), "s/w");
    assert_true(hr_node_exists(hr_graph_node(g, "s/w/ConcatPartitions/concat")));
    const hr_variable_info *last = hr_variable_named(g, "s/w/part_2");
    assert_non_null(last);
    assert_string_equal(last->piece->full_name, "s/w");
    assert_int_equal(last->piece->offset[0], 4);
    assert_int_equal(last->shape.dims[0], 1);
    assert_int_equal(hr_variable_pieces(g, "s/w", NULL, 0), 3);
    initialize();
    expect_floats(w, 10, expected);
}

static void gradients_reach_the_pieces(void **state)
{
    (void)state;
    static const float expected[] = {2, 2};
    hr_node piece[2];
    hr_gradient gradient[2];
    const hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(4), .initializer = hr_ones(),
                                      .partitioner = hr_fixed_size_partitioner(2, 0));
    const hr_node y = hr_reduce_sum(hr_square(w));
    hr_variable_pieces(g, "w", piece, 2);
    hr_gradients(&y, 1, piece, 2, gradient);
    initialize();
    expect_floats(hr_gradient_dense(gradient[1]), 2, expected);
}

static void a_scope_shares_its_partitioner_and_its_pieces(void **state)
{
    (void)state;
    hr_variable_scope(g, "s", .reuse = HR_AUTO_REUSE, .partitioner = hr_fixed_size_partitioner(2, 0));
    hr_variable_scope(g, "t");
    const hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(4));
    const hr_node again = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(4));
    const hr_node scalar = hr_get_variable(g, "b", HR_FLOAT, HR_SCALAR);
    hr_scope_end(g);
    hr_scope_end(g);
    assert_null(hr_graph_error(g));
    assert_int_equal(w.id, again.id);
    assert_int_equal(hr_variable_pieces(g, "s/t/w", NULL, 0), 2);
    assert_string_equal(hr_node_op(scalar), "VarHandleOp");
    hr_variable_scope(g, "s", .reuse = HR_REUSE);
    hr_variable_scope(g, "t");
    hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(4));
    expect_error("variable.exists");
}

static int64_t pieces(hr_partitioner p, hr_dtype dtype, hr_shape shape) { return p.pieces(&p, dtype, shape); }

static void partitioners_count_as_tensorflow_does(void **state)
{
    (void)state;
    assert_int_equal(pieces(hr_fixed_size_partitioner(8, 0), HR_FLOAT, HR_SHAPE(5, 2)), 5);
    assert_int_equal(pieces(hr_fixed_size_partitioner(2, 1), HR_FLOAT, HR_SHAPE(5, 3)), 2);
    assert_int_equal(pieces(hr_variable_axis_size_partitioner(64, 0, 0), HR_FLOAT, HR_SHAPE(10, 4)), 3);
    assert_int_equal(pieces(hr_variable_axis_size_partitioner(8, 0, 0), HR_FLOAT, HR_SHAPE(10, 4)), 10);
    assert_int_equal(pieces(hr_variable_axis_size_partitioner(8, 0, 4), HR_FLOAT, HR_SHAPE(10, 4)), 4);
    assert_int_equal(pieces(hr_variable_axis_size_partitioner(64, 0, 0), HR_STRING, HR_SHAPE(10, 2)), 5);
    assert_int_equal(pieces(hr_min_max_variable_partitioner(4, 0, 0), HR_FLOAT, HR_SHAPE(10, 4)), 1);
    assert_int_equal(pieces(hr_min_max_variable_partitioner(4, 0, 100), HR_FLOAT, HR_SHAPE(10, 4)), 2);
    assert_int_equal(pieces(hr_min_max_variable_partitioner(4, 0, 1), HR_FLOAT, HR_SHAPE(3, 4)), 3);
}

static void an_axis_that_is_not_there_is_refused(void **state)
{
    (void)state;
    hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(4), .partitioner = hr_fixed_size_partitioner(2, 1));
    expect_error("variable.partition");
}

/* ---- what is known along the edges of a handle ---- */

static hr_node raw_variable(const char *name, hr_shape shape)
{
    return hr_new_node(g, "VarHandleOp", .name = name,
                       HR_ATTRS(HR_TYPE_ATTR("dtype", HR_FLOAT), HR_SHAPE_ATTR("shape", shape)));
}

static hr_node numbers(hr_shape shape)
{
    static const float values[] = {1, 2, 3, 4, 5, 6};
    const hr_tensor t = hr_tensor_of(HR_FLOAT, shape, values);
    return hr_const(g, &t);
}

static void assign(hr_node variable, hr_node value)
{
    hr_tensor out = value_of(hr_target(hr_assign(variable, value)));
    hr_tensor_clear(&out);
}

static void a_handle_of_a_node_has_type_and_shape(void **state)
{
    (void)state;
    hr_handle_info info;
    const hr_node v = raw_variable("v", HR_SHAPE(3, 2));
    const hr_node same = hr_new_node(g, "Identity", HR_INPUTS(v), HR_ATTRS(HR_TYPE_ATTR("T", HR_RESOURCE)));
    assert_true(hr_handle_of(same, &info));
    assert_int_equal(info.dtype, HR_FLOAT);
    assert_string_equal(info.name, "v");
    assert_int_equal(info.origin.id, v.id);
    const hr_node read = hr_new_node(g, "ReadVariableOp", HR_INPUTS(same));
    assert_int_equal(hr_node_dtype(read), HR_FLOAT);
    assert_true(hr_shape_equal(hr_node_shape(read), HR_SHAPE(3, 2)));
    assert_null(hr_variable_of(v));
    assert_false(hr_handle_of(read, &info));
}

static void gradients_flow_to_any_handle(void **state)
{
    (void)state;
    static const float dense[] = {2, 4, 6, 8, 10, 12}, rows[] = {0, 0, 6, 8, 0, 0};
    const hr_node v = raw_variable("v", HR_SHAPE(3, 2)), w = raw_variable("w", HR_SHAPE(-1, 2));
    const hr_node x = raw_variable("x", HR_UNKNOWN_SHAPE);
    const hr_node all[] = {v, w, x};
    const hr_node at = hr_ints(g, HR_I64(1), 1);
    const hr_node y[] = {hr_reduce_sum(hr_square(v)), hr_reduce_sum(hr_square(hr_gather(w, at, 0))),
                         hr_reduce_sum(hr_square(hr_gather(x, at, 0)))};
    hr_gradient gradient[3];
    hr_gradients(y, 3, all, 3, gradient);
    for (int i = 0; i < 3; i++) assign(all[i], numbers(HR_SHAPE(3, 2)));
    expect_floats(hr_gradient_dense(gradient[0]), 6, dense);
    expect_floats(hr_gradient_dense(gradient[1]), 6, rows);
    expect_floats(hr_gradient_dense(gradient[2]), 6, rows);
}

static void a_session_gets_and_sets_any_variable(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor got;
    const hr_node v = raw_variable("v", HR_SHAPE(2));
    const hr_node r = hr_new_node(g, "VariableV2", .name = "r",
                                  HR_ATTRS(HR_TYPE_ATTR("dtype", HR_FLOAT), HR_SHAPE_ATTR("shape", HR_SHAPE(2))));
    const hr_tensor value = hr_tensor_of(HR_FLOAT, HR_SHAPE(2), HR_F32(3, 4));
    s = hr_session_new(g);
    assert_ok(hr_session_set(s, v, &value, &err), &err);
    assert_ok(hr_session_set(s, r, &value, &err), &err);
    expect_floats(hr_add(v, r), 2, HR_F32(6, 8));
    assert_ok(hr_session_get(s, v, &got, &err), &err);
    assert_int_equal(got.count, 2);
    hr_tensor_clear(&got);
}

static void a_read_of_another_type_is_refused(void **state)
{
    (void)state;
    const hr_node v = raw_variable("v", HR_SHAPE(2));
    hr_new_node(g, "ReadVariableOp", HR_INPUTS(v), HR_ATTRS(HR_TYPE_ATTR("dtype", HR_DOUBLE)));
    expect_error("variable.shape");
}

static void double_it(hr_graph *graph, hr_node *results, void *user)
{
    (void)graph;
    const hr_node v = *(const hr_node *)user;
    results[0] = hr_add(v, v);
}

static void read_it(hr_graph *graph, hr_node *results, void *user)
{
    (void)graph;
    results[0] = hr_new_node(NULL, "ReadVariableOp", HR_INPUTS(*(const hr_node *)user));
}

static void branches_know_the_handles_that_they_capture(void **state)
{
    (void)state;
    hr_node v = raw_variable("v", HR_SHAPE(2)), out;
    hr_cond(hr_scalar(g, HR_BOOL, 1), double_it, read_it, &v, &out, 1);
    assign(v, numbers(HR_SHAPE(2)));
    expect_floats(out, 2, HR_F32(2, 4));
}

/* ---- scatters that no golden case has ---- */

static void scatter(const char *op, hr_node variable, hr_node indices, hr_node updates)
{
    hr_tensor out = value_of(hr_target(hr_new_node(g, op, HR_INPUTS(variable, indices, updates))));
    hr_tensor_clear(&out);
}

static void scatters_change_rows_and_slices(void **state)
{
    (void)state;
    const hr_node v = raw_variable("v", HR_SHAPE(3, 2)), two = hr_ints(g, HR_I64(2, 2), 2);
    static const int32_t place[] = {1, 1};
    const hr_tensor at = hr_tensor_of(HR_INT32, HR_SHAPE(1, 2), place),
                    one = hr_tensor_of(HR_FLOAT, HR_SHAPE(1), HR_F32(10));
    const hr_node point = hr_const(g, &at), ten = hr_const(g, &one);
    assign(v, numbers(HR_SHAPE(3, 2)));
    scatter("ResourceScatterMul", v, two, numbers(HR_SHAPE(2, 2)));
    expect_floats(hr_identity(v), 6, HR_F32(1, 2, 3, 4, 15, 48));
    scatter("ResourceScatterDiv", v, two, hr_scalar(g, HR_FLOAT, 2));
    expect_floats(hr_identity(v), 6, HR_F32(1, 2, 3, 4, 3.75, 12));
    scatter("ResourceScatterMin", v, two, hr_scalar(g, HR_FLOAT, 5));
    expect_floats(hr_identity(v), 6, HR_F32(1, 2, 3, 4, 3.75, 5));
    scatter("ResourceScatterMax", v, hr_ints(g, HR_I64(0), 1), hr_scalar(g, HR_FLOAT, 1.5));
    expect_floats(hr_identity(v), 6, HR_F32(1.5, 2, 3, 4, 3.75, 5));
    scatter("ResourceScatterNdUpdate", v, point, ten);
    expect_floats(hr_identity(v), 6, HR_F32(1.5, 2, 3, 10, 3.75, 5));
    scatter("ResourceScatterNdSub", v, point, ten);
    expect_floats(hr_identity(v), 6, HR_F32(1.5, 2, 3, 0, 3.75, 5));
}

static void integers_are_not_divided_by_zero(void **state)
{
    (void)state;
    hr_error err;
    const hr_node v = hr_get_variable(g, "v", HR_INT32, HR_SHAPE(2), .initializer = hr_ones());
    initialize();
    const hr_node zero = hr_scalar(g, HR_INT32, 0), at = hr_ints(g, HR_I64(1), 1);
    const hr_node divide = hr_target(hr_new_node(g, "ResourceScatterDiv", HR_INPUTS(v, at, zero)));
    assert_int_equal(hr_session_run(s, NULL, 0, &divide, 1, NULL, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "graph.range");
}

/* ---- variables by reference ---- */

static void a_temporary_variable_is_new_in_each_run(void **state)
{
    (void)state;
    const hr_node t = hr_new_node(g, "TemporaryVariable",
                                  HR_ATTRS(HR_TYPE_ATTR("dtype", HR_FLOAT), HR_SHAPE_ATTR("shape", HR_SHAPE(2))));
    const hr_node begun = hr_new_node(g, "Assign", HR_INPUTS(t, numbers(HR_SHAPE(2))));
    const hr_node added = hr_new_node(g, "AssignAdd", HR_INPUTS(begun, numbers(HR_SHAPE(2))));
    const hr_node end =
        hr_new_node(g, "DestroyTemporaryVariable", HR_INPUTS(added), HR_ATTRS(HR_STRING_ATTR("var_name", "")));
    const hr_node early = hr_identity(hr_new_node(g, "RefIdentity", HR_INPUTS(t)));
    for (int i = 0; i < 2; i++) expect_floats(end, 2, HR_F32(2, 4));
    hr_error err;
    hr_tensor out;
    assert_status(hr_session_run(s, NULL, 0, &early, 1, &out, &err), HR_FAILED_PRECONDITION);
}

static hr_node reference(const char *name)
{
    return hr_new_node(g, "VariableV2", .name = name,
                       HR_ATTRS(HR_TYPE_ATTR("dtype", HR_FLOAT), HR_SHAPE_ATTR("shape", HR_SHAPE(2))));
}

static void a_branch_changes_the_variable_that_it_was_given(void **state)
{
    (void)state;
    const hr_node v = reference("v"), yes = hr_placeholder(g, HR_BOOL, HR_SCALAR);
    const hr_node begin = hr_new_node(g, "Assign", HR_INPUTS(v, numbers(HR_SHAPE(2))));
    const hr_node sides = hr_new_node(g, "RefSwitch", HR_INPUTS(v, yes));
    const hr_node less = hr_new_node(g, "AssignSub", HR_INPUTS(sides, numbers(HR_SHAPE(2))));
    const hr_node more = hr_new_node(g, "AssignAdd", HR_INPUTS(hr_node_output(sides, 1), numbers(HR_SHAPE(2))));
    const hr_node both = hr_new_node(g, "RefMerge", HR_INPUTS(less, more));
    const hr_node doubled = hr_new_node(g, "AssignAdd", HR_INPUTS(both, numbers(HR_SHAPE(2))));
    expect_floats(begin, 2, HR_F32(1, 2));
    for (int i = 0; i < 2; i++) {
        hr_error err;
        hr_tensor out;
        const bool taken = i == 0;
        const hr_feed feed = {yes, hr_tensor_of(HR_BOOL, HR_SCALAR, &taken)};
        assert_ok(hr_session_run(s, &feed, 1, &doubled, 1, &out, &err), &err);
        assert_memory_equal(out.data, HR_F32(3, 6), 2 * sizeof(float));
        hr_tensor_clear(&out);
    }
    expect_floats(hr_identity(v), 2, HR_F32(3, 6));
}

/* 2048 is the least float16 after which odd numbers are missing: a sum is rounded to even. */
static void half_floats_are_added_in_place(void **state)
{
    (void)state;
    const hr_node v = hr_new_node(g, "VarHandleOp", .name = "h",
                                  HR_ATTRS(HR_TYPE_ATTR("dtype", HR_HALF), HR_SHAPE_ATTR("shape", HR_SCALAR)));
    const hr_node read = hr_new_node(g, "ReadVariableOp", HR_INPUTS(v));
    assign(v, hr_scalar(g, HR_HALF, 2048));
    hr_tensor out = value_of(hr_target(hr_assign_add(v, hr_scalar(g, HR_HALF, 3))));
    out = value_of(read);
    assert_int_equal(*(const uint16_t *)out.data, 0x6802); /* 2052 */
    hr_tensor_clear(&out);
    out = value_of(hr_target(hr_assign_sub(v, hr_scalar(g, HR_HALF, 52))));
    out = value_of(read);
    assert_int_equal(*(const uint16_t *)out.data, 0x67d0); /* 2000 */
    hr_tensor_clear(&out);
}

static void a_variable_is_destroyed(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out;
    const hr_node v = raw_variable("v", HR_SHAPE(2)), read = hr_new_node(g, "ReadVariableOp", HR_INPUTS(v));
    assign(v, numbers(HR_SHAPE(2)));
    expect_floats(read, 2, HR_F32(1, 2));
    out = value_of(hr_target(hr_new_node(g, "DestroyResourceOp", HR_INPUTS(v))));
    assert_status(hr_session_run(s, NULL, 0, &read, 1, &out, &err), HR_FAILED_PRECONDITION);
}

static void expect_names(hr_node node, int count, const char *const *names)
{
    hr_tensor out = value_of(node);
    assert_int_equal(out.count, count);
    for (int i = 0; i < count; i++) {
        const hr_view name = ((const hr_view *)out.data)[i];
        assert_int_equal(name.size, strlen(names[i]));
        assert_memory_equal(name.data, names[i], strlen(names[i]));
    }
    hr_tensor_clear(&out);
}

static void what_has_no_value_is_reported(void **state)
{
    (void)state;
    const char *const all[] = {"w", "v", "counts"}, *const rest[] = {"v", "counts"};
    expect_names(hr_report_uninitialized_variables(g, 0), 0, NULL);
    hr_get_variable(g, "counts", HR_INT64, HR_SHAPE(2), .sets = HR_LOCAL_VARIABLES);
    hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(2));
    hr_get_variable(g, "v", HR_FLOAT, HR_SHAPE(2));
    const hr_node report = hr_report_uninitialized_variables(g, 0),
                  trained = hr_report_uninitialized_variables(g, HR_TRAINABLE_VARIABLES);
    expect_names(report, 3, all);
    value_of(hr_target(hr_variable_named(g, "w")->initializer));
    expect_names(report, 2, rest);
    expect_names(trained, 1, rest);
    initialize();
    expect_names(report, 1, rest + 1);
    expect_names(trained, 0, NULL);
    expect_names(hr_report_uninitialized_variables(g, ~0u), 1, rest + 1);
    hr_report_uninitialized_variables(NULL, 0);
}

int main(void)
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, make_graph, free_graph)
    const struct CMUnitTest tests[] = {
        TEST(a_temporary_variable_is_new_in_each_run),
        TEST(a_branch_changes_the_variable_that_it_was_given),
        TEST(a_variable_is_destroyed),
        TEST(what_has_no_value_is_reported),
        TEST(half_floats_are_added_in_place),
        TEST(large_constants_are_filled_and_small_ones_stored),
        TEST(an_initializer_refuses_types_that_it_has_no_values_of),
        TEST(integers_are_drawn_within_their_bounds),
        TEST(too_many_constants_are_refused),
        TEST(a_variable_is_named_apart_from_a_name_scope),
        TEST(a_variable_in_pieces_reads_as_the_whole),
        TEST(gradients_reach_the_pieces),
        TEST(a_scope_shares_its_partitioner_and_its_pieces),
        TEST(partitioners_count_as_tensorflow_does),
        TEST(an_axis_that_is_not_there_is_refused),
        TEST(a_handle_of_a_node_has_type_and_shape),
        TEST(gradients_flow_to_any_handle),
        TEST(a_session_gets_and_sets_any_variable),
        TEST(a_read_of_another_type_is_refused),
        TEST(branches_know_the_handles_that_they_capture),
        TEST(scatters_change_rows_and_slices),
        TEST(integers_are_not_divided_by_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
