/* Gradients against finite differences, in double precision where ops allow it; and what stays sparse. */
#include "tests/testing.h"
#include "tests/train/graph/model.h"

#include <headrace/graph_op.h>

#include <math.h>
#include <string.h>

static double run_scalar(hr_session *s, const hr_feed *feeds, int n, hr_node y)
{
    hr_error err = {0};
    hr_tensor out;
    assert_ok(hr_session_run(s, feeds, n, &y, 1, &out, &err), &err);
    const double value = out.dtype == HR_FLOAT ? (double)*(float *)out.data : *(double *)out.data;
    hr_tensor_clear(&out);
    return value;
}

/* dy/dx at the values given, each against (y(x + h) - y(x - h)) / 2h. */
static void check_differences(hr_graph *g, hr_node x, hr_node y, double *values, int count)
{
    hr_error err = {0};
    hr_tensor out;
    hr_gradient gradient;
    hr_gradients(&y, 1, &x, 1, &gradient);
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    const hr_feed feed = {x, hr_tensor_of(HR_DOUBLE, hr_node_shape(x), values)};
    const hr_node dense = hr_gradient_dense(gradient);
    assert_ok(hr_session_run(s, &feed, 1, &dense, 1, &out, &err), &err);
    assert_int_equal(out.count, count);
    for (int i = 0; i < count; i++) {
        const double h = 1e-5, at = values[i];
        values[i] = at + h;
        const double up = run_scalar(s, &feed, 1, y);
        values[i] = at - h;
        const double down = run_scalar(s, &feed, 1, y);
        values[i] = at;
        const double wanted = (up - down) / (2 * h), got = ((double *)out.data)[i];
        if (fabs(wanted - got) > 1e-6 * (1 + fabs(wanted))) fail_msg("value %d: expected %g, got %g", i, wanted, got);
    }
    hr_tensor_clear(&out);
    hr_session_free(s);
}

static void chains_of_ops_agree_with_finite_differences(void **state)
{
    (void)state;
    double values[] = {0.3, -0.7, 1.2, 0.5, -1.1, 0.9};
    hr_graph *g = hr_graph_new();
    hr_node x = hr_placeholder(g, HR_DOUBLE, HR_SHAPE(2, 3));
    const hr_tensor weights = hr_tensor_of(HR_DOUBLE, HR_SHAPE(3, 2), HR_F64(.5, -1, 2, .25, 1, -.5));
    hr_node w = hr_const(g, &weights);
    hr_node h = hr_tanh(hr_matmul(x, w)), both[] = {hr_sigmoid(h), hr_softmax(hr_mul(h, h))};
    hr_node all = hr_concat(both, 2, 1), row = hr_reduce_mean(all, .axes = HR_I64(0), .axis_count = 1);
    hr_node centred = hr_sub(all, row);
    hr_node y = hr_reduce_sum(hr_div(hr_square(centred), hr_add(hr_exp(all), hr_scalar(g, HR_DOUBLE, 1))));
    check_differences(g, x, y, values, 6);
    hr_graph_free(g);
}

static void shape_ops_agree_with_finite_differences(void **state)
{
    (void)state;
    double values[] = {0.3, -0.7, 1.2, 0.5, -1.1, 0.9, 2, 0.1};
    hr_graph *g = hr_graph_new();
    hr_node x = hr_placeholder(g, HR_DOUBLE, HR_SHAPE(4, 2));
    hr_node t = hr_transpose(x, hr_ints(g, HR_I64(1, 0), 2)), r = hr_reshape(t, hr_ints(g, HR_I64(-1, 2), 2));
    hr_node part = hr_slice(r, hr_ints(g, HR_I64(1, 0), 2), hr_ints(g, HR_I64(2, 2), 2));
    hr_node tiled = hr_tile(part, hr_ints(g, HR_I64(2, 1), 2));
    hr_node rows = hr_gather(tiled, hr_ints(g, HR_I64(0, 3, 3), 3), 0);
    hr_node y = hr_reduce_sum(
        hr_log1p(hr_square(hr_add(rows, hr_squeeze(hr_expand_dims(rows, hr_scalar(g, HR_INT32, 0)), HR_I64(0), 1)))));
    check_differences(g, x, y, values, 8);
    hr_graph_free(g);
}

/* The whole model in floats, by its loss: looser, but through lookups. */
static void a_wide_and_deep_model_agrees_with_finite_differences(void **state)
{
    (void)state;
    hr_error err = {0};
    model_batch batch;
    hr_graph *g = hr_graph_new();
    hr_set_random_seed(g, 9);
    const model m = model_build(g, 8);
    hr_node dense[MODEL_VARIABLES];
    for (int v = 0; v < MODEL_VARIABLES; v++) dense[v] = hr_gradient_dense(m.gradient[v]);
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    model_fill(&m, &batch, 1, 32);
    assert_ok(hr_session_run(s, NULL, 0, &m.init, 1, NULL, &err), &err);
    for (int v = 0; v < MODEL_VARIABLES; v++) {
        hr_tensor grad, value, moved;
        assert_ok(hr_session_run(s, batch.feeds, 4, &dense[v], 1, &grad, &err), &err);
        assert_ok(hr_session_get(s, m.variable[v], &value, &err), &err);
        for (int64_t i = 0; i < value.count; i += 1 + value.count / 7) {
            double loss[2];
            for (int side = 0; side < 2; side++) {
                assert_ok(hr_tensor_new(&moved, HR_FLOAT, value.shape, &err), &err);
                memcpy(moved.data, value.data, (size_t)value.count * sizeof(float));
                ((float *)moved.data)[i] += side ? -0.01f : 0.01f;
                assert_ok(hr_session_set(s, m.variable[v], &moved, &err), &err);
                hr_tensor_clear(&moved);
                loss[side] = run_scalar(s, batch.feeds, 4, m.loss);
            }
            assert_float_equal((float)((loss[0] - loss[1]) / 0.02), ((float *)grad.data)[i], 2e-3f);
        }
        assert_ok(hr_session_set(s, m.variable[v], &value, &err), &err);
        hr_tensor_clear(&grad);
        hr_tensor_clear(&value);
    }
    hr_session_free(s);
    hr_graph_free(g);
}

static void gradients_of_looked_up_tables_stay_slices(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    const model m = model_build(g, 8);
    for (int v = 0; v < MODEL_VARIABLES; v++)
        assert_int_equal(m.gradient[v].indices.graph != NULL, v >= 4); /* the tables */
    hr_graph_free(g);
}

static void two_lookups_of_one_table_are_put_one_after_the_other(void **state)
{
    (void)state;
    hr_error err = {0};
    hr_tensor out[2];
    hr_gradient gradient;
    hr_graph *g = hr_graph_new();
    hr_node table = hr_get_variable(g, "t", HR_FLOAT, HR_SHAPE(4, 2), .initializer = hr_ones());
    hr_node a = hr_gather(table, hr_ints(g, HR_I64(1, 2), 2), 0), b = hr_gather(table, hr_ints(g, HR_I64(2), 1), 0);
    hr_node y = hr_add(hr_reduce_sum(a), hr_mul(hr_reduce_sum(b), hr_scalar(g, HR_FLOAT, 3)));
    hr_gradients(&y, 1, &table, 1, &gradient);
    assert_true(hr_node_exists(gradient.indices));
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    hr_node init = hr_global_variables_initializer(g), fetch[] = {gradient.indices, hr_gradient_dense(gradient)};
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    assert_ok(hr_session_run(s, NULL, 0, fetch, 2, out, &err), &err);
    assert_int_equal(out[0].count, 3);
    const float wanted[] = {0, 0, 1, 1, 4, 4, 0, 0};
    assert_memory_equal(out[1].data, wanted, sizeof wanted);
    hr_tensor_clear(&out[0]);
    hr_tensor_clear(&out[1]);
    hr_session_free(s);
    hr_graph_free(g);
}

/* What flows back to a place is the sum of what flows into where it was taken to. */
static void sum_what_was_taken(const int64_t *dims, const int32_t *indices, int axis, int batch, const float *dy,
                               float *dx)
{
    int64_t outer = 1, batches = 1, inner = 1, rows = 1;
    for (int i = 0; i < axis; i++) outer *= dims[i];
    for (int i = 0; i < batch; i++) batches *= dims[i];
    for (int i = axis + 1; i < 3; i++) inner *= dims[i];
    for (int i = batch; i < 2; i++) rows *= 2;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t r = 0; r < rows; r++)
            for (int64_t n = 0; n < inner; n++)
                dx[(o * dims[axis] + indices[o / (outer / batches) * rows + r]) * inner + n] += *dy++;
}

/* An axis that is fed, or a constant one of a table of which nothing is known. */
static void rows_of_unknown_shapes_along_any_axis_have_a_gradient(void **state)
{
    (void)state;
    static const struct {
        int axis, batch;
    } cases[] = {{0, 0}, {1, 0}, {2, 0}, {-1, 0}, {1, 1}, {-2, -1}, {2, 1}, {2, 2}};
    const int64_t dims[] = {2, 2, 3};
    const int32_t indices[] = {0, 1, 1, 1};
    const float values[12] = {0};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const int axis = cases[i / 2].axis, batch = cases[i / 2].batch;
        float up[24], expected[12] = {0};
        hr_error err = {0};
        hr_gradient by;
        hr_tensor out, y_now;
        hr_graph *g = hr_graph_new();
        const hr_node x = hr_placeholder(g, HR_FLOAT, HR_UNKNOWN_SHAPE), fed = hr_placeholder(g, HR_INT32, HR_SCALAR);
        const hr_node ids = hr_placeholder(g, HR_INT32, batch < 0 ? HR_SHAPE(-1, -1) : HR_UNKNOWN_SHAPE);
        const hr_node along = i % 2 ? fed : hr_scalar(g, HR_INT32, axis);
        const hr_node y =
            hr_new_node(g, "GatherV2", HR_INPUTS(x, ids, along), HR_ATTRS(HR_INT_ATTR("batch_dims", batch)));
        const hr_node seed = hr_placeholder(g, HR_FLOAT, HR_UNKNOWN_SHAPE);
        hr_gradients(&y, 1, &x, 1, &by, .grad_ys = &seed);
        assert_int_equal(by.indices.graph != NULL, axis == 0 && i % 2 == 0);
        hr_session *s = hr_session_new(g, .workers = &(int){0});
        hr_feed feeds[] = {{x, hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2, 3), values)},
                           {fed, hr_tensor_of(HR_INT32, HR_SCALAR, &axis)},
                           {ids, hr_tensor_of(HR_INT32, HR_SHAPE(2, 2), indices)},
                           {seed, {0}}};
        assert_ok(hr_session_run(s, feeds, 3, &y, 1, &y_now, &err), &err);
        for (int n = 0; n < 24; n++) up[n] = (float)(n + 1);
        feeds[3].value = hr_tensor_of(HR_FLOAT, y_now.shape, up);
        sum_what_was_taken(dims, indices, axis < 0 ? axis + 3 : axis, batch < 0 ? batch + 2 : batch, up, expected);
        const hr_node dense = hr_gradient_dense(by);
        assert_ok(hr_session_run(s, feeds, 4, &dense, 1, &out, &err), &err);
        assert_int_equal(out.count, 12);
        assert_memory_equal(out.data, expected, sizeof expected);
        hr_tensor_clear(&out);
        hr_tensor_clear(&y_now);
        hr_session_free(s);
        hr_graph_free(g);
    }
}

/* Of tables one after the other, and beside each other. */
static void slices_stay_slices_through_a_concatenation(void **state)
{
    (void)state;
    for (int axis = 0; axis < 2; axis++) {
        const float expected[2][2][6] = {{{0, 0, 2, 2, 0, 0}, {1, 1, 0, 0, 0, 0}},
                                         {{0, 0, 2, 2, 1, 1}, {0, 0, 2, 2, 1, 1}}};
        const int64_t rows[2][3] = {{1, 3, 1}, {1, 2, 1}};
        hr_error err = {0};
        hr_gradient by[2];
        hr_tensor out[2];
        hr_graph *g = hr_graph_new();
        const hr_node x[] = {hr_placeholder(g, HR_FLOAT, HR_SHAPE(3, 2)), hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 2))};
        const hr_node y = hr_gather(hr_concat(x, 2, axis), hr_ints(g, rows[axis], 3), 0);
        hr_gradients(&y, 1, x, 2, by);
        assert_non_null(by[0].indices.graph);
        assert_non_null(by[1].indices.graph);
        const hr_node dense[] = {hr_gradient_dense(by[0]), hr_gradient_dense(by[1])};
        const float values[6] = {0};
        const hr_tensor fed = hr_tensor_of(HR_FLOAT, HR_SHAPE(3, 2), values);
        const hr_feed feeds[] = {{x[0], fed}, {x[1], fed}};
        hr_session *s = hr_session_new(g, .workers = &(int){0});
        assert_ok(hr_session_run(s, feeds, 2, dense, 2, out, &err), &err);
        for (int i = 0; i < 2; i++) {
            assert_memory_equal(out[i].data, expected[axis][i], sizeof expected[axis][i]);
            hr_tensor_clear(&out[i]);
        }
        hr_session_free(s);
        hr_graph_free(g);
    }
}

static void what_does_not_depend_on_x_has_no_gradient(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    hr_node x = hr_placeholder(g, HR_FLOAT, HR_SCALAR), z = hr_placeholder(g, HR_FLOAT, HR_SCALAR);
    hr_node y = hr_mul(hr_square(x), hr_stop_gradient(z)), xs[] = {x, z};
    hr_gradient out[2];
    hr_gradients(&y, 1, xs, 2, out);
    assert_true(hr_node_exists(out[0].values));
    assert_null(out[1].values.graph);
    assert_null(hr_graph_error(g));
    hr_graph_free(g);
}

static void second_derivatives_are_gradients_of_gradients(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    hr_node x = hr_placeholder(g, HR_FLOAT, HR_SCALAR), y = hr_mul(hr_square(x), x);
    hr_gradient first, second;
    hr_gradients(&y, 1, &x, 1, &first);
    hr_gradients(&first.values, 1, &x, 1, &second);
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    const hr_feed feed = {x, hr_tensor_of(HR_FLOAT, HR_SCALAR, &(float){2})};
    assert_float_equal((float)run_scalar(s, &feed, 1, first.values), 12, 1e-5f);
    assert_float_equal((float)run_scalar(s, &feed, 1, second.values), 12, 1e-5f);
    hr_session_free(s);
    hr_graph_free(g);
}

/* Ones in the type of y: of 16 bits, too. */
static void a_derivative_begins_with_ones_of_any_float_type(void **state)
{
    static const struct {
        hr_dtype dtype;
        uint16_t one;
    } types[] = {{HR_HALF, 0x3c00}, {HR_BFLOAT16, 0x3f80}};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        hr_graph *g = hr_graph_new();
        hr_session *s = hr_session_new(g, .workers = &(int){0});
        const uint16_t values[2] = {0, 0};
        const hr_tensor t = hr_tensor_of(types[i].dtype, HR_SHAPE(2), values);
        const hr_node x = hr_const(g, &t), y = hr_reshape(x, hr_ints(g, HR_I64(2, 1), 2));
        hr_gradient by;
        hr_tensor out;
        hr_error err;
        hr_gradients(&y, 1, &x, 1, &by);
        assert_ok(hr_session_run(s, NULL, 0, &by.values, 1, &out, &err), &err);
        assert_int_equal(out.dtype, types[i].dtype);
        for (int j = 0; j < 2; j++) assert_int_equal(((const uint16_t *)out.data)[j], types[i].one);
        hr_tensor_clear(&out);
        hr_session_free(s);
        hr_graph_free(g);
    }
}

static void grad_ys_are_like_ys(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        hr_graph *g = hr_graph_new(), *other = hr_graph_new();
        const hr_node x = hr_scalar(g, HR_FLOAT, 3), y = hr_square(x);
        const hr_node bad = i == 0   ? hr_scalar(g, HR_DOUBLE, 1)
                            : i == 1 ? hr_reshape(x, hr_ints(g, HR_I64(1), 1))
                                     : hr_scalar(other, HR_FLOAT, 1);
        hr_gradient by;
        hr_gradients(&y, 1, &x, 1, &by, .grad_ys = &bad);
        assert_non_null(hr_graph_error(g));
        assert_string_equal(hr_graph_error(g)->kind, "graph.gradient");
        hr_graph_free(g);
        hr_graph_free(other);
    }
}

/* Of a product two gradients, which wait for each other; of a square one, which waits for nobody. */
static void gradients_of_a_node_may_wait_for_each_other(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    const hr_node x[] = {hr_placeholder(g, HR_FLOAT, HR_SCALAR), hr_placeholder(g, HR_FLOAT, HR_SCALAR)};
    const hr_node y = hr_mul(x[0], hr_square(x[1]));
    hr_gradient plain[2], gated[2];
    hr_gradients(&y, 1, x, 2, plain);
    hr_gradients(&y, 1, x, 2, gated, .gate_gradients = true);
    assert_int_equal(hr_node_controls(plain[0].values), 0);
    assert_int_equal(hr_node_controls(gated[0].values), 1);
    assert_string_equal(hr_node_name(gated[0].values), "gradients_1/Mul_grad/tuple/control_dependency");
    assert_int_equal(hr_node_controls(hr_node_control(gated[0].values, 0)), 2);
    assert_int_equal(hr_node_controls(gated[1].values), 0);
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    const hr_feed feeds[] = {{x[0], hr_tensor_of(HR_FLOAT, HR_SCALAR, &(float){2})},
                             {x[1], hr_tensor_of(HR_FLOAT, HR_SCALAR, &(float){3})}};
    assert_float_equal((float)run_scalar(s, feeds, 2, gated[0].values), 9, 0);
    assert_float_equal((float)run_scalar(s, feeds, 2, gated[1].values), 12, 0);
    hr_session_free(s);
    hr_graph_free(g);
}

static void a_missing_gradient_is_named(void **state)
{
    (void)state;
    hr_graph *g = hr_graph_new();
    hr_node x = hr_placeholder(g, HR_FLOAT, HR_SCALAR), y = hr_new_node(g, "SoftsignGrad", HR_INPUTS(x, x));
    hr_gradient out;
    hr_gradients(&y, 1, &x, 1, &out);
    assert_string_equal(hr_graph_error(g)->kind, "graph.gradient");
    assert_status(hr_graph_error(g)->code, HR_NOT_FOUND);
    hr_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_of_ops_agree_with_finite_differences),
        cmocka_unit_test(shape_ops_agree_with_finite_differences),
        cmocka_unit_test(a_wide_and_deep_model_agrees_with_finite_differences),
        cmocka_unit_test(gradients_of_looked_up_tables_stay_slices),
        cmocka_unit_test(two_lookups_of_one_table_are_put_one_after_the_other),
        cmocka_unit_test(rows_of_unknown_shapes_along_any_axis_have_a_gradient),
        cmocka_unit_test(slices_stay_slices_through_a_concatenation),
        cmocka_unit_test(what_does_not_depend_on_x_has_no_gradient),
        cmocka_unit_test(second_derivatives_are_gradients_of_gradients),
        cmocka_unit_test(a_derivative_begins_with_ones_of_any_float_type),
        cmocka_unit_test(grad_ys_are_like_ys),
        cmocka_unit_test(gradients_of_a_node_may_wait_for_each_other),
        cmocka_unit_test(a_missing_gradient_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
