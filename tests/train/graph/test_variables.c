/* How variables begin, and variables in pieces. */
#include "tests/testing.h"

#include <headrace/graph.h>
#include <headrace/graph_op.h>
#include <headrace/hooks.h>
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

int main(void)
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, make_graph, free_graph)
    const struct CMUnitTest tests[] = {
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
