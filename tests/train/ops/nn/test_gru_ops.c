/* GRUBlockCell and its derivatives: sums of TensorFlow 2.15.1's values with numbers made by a formula; those of weights
 * by TensorFlow's tape through the same formulas. */
#include "tests/testing.h"

#include <headrace/graph_op.h>
#include <headrace/ops.h>

enum { ROWS = 3, WIDTH = 2, UNITS = 3, INPUTS = 6, ROOM = 64 };

static hr_graph *g;
static hr_session *s;
static hr_node in[INPUTS];
static const hr_shape shapes[INPUTS] = {
    {2, {ROWS, WIDTH}},          {2, {ROWS, UNITS}}, {2, {WIDTH + UNITS, 2 * UNITS}},
    {2, {WIDTH + UNITS, UNITS}}, {1, {2 * UNITS}},   {1, {UNITS}}};

static float number(int64_t k, int64_t seed) { return (float)((k * 37 + seed * 11 + k * k * seed) % 41 - 20) / 25.0f; }

static hr_node made(hr_shape shape, int64_t seed)
{
    float room[ROOM];
    const int64_t count = hr_shape_count(shape);
    for (int64_t k = 0; k < count; k++) room[k] = number(k, seed);
    const hr_tensor value = hr_tensor_of(HR_FLOAT, shape, room);
    return hr_const(g, &value);
}

static int make_cell(void **state)
{
    (void)state;
    g = hr_graph_new();
    for (int i = 0; i < INPUTS; i++) in[i] = made(shapes[i], 1 + i);
    return 0;
}

static int free_cell(void **state)
{
    (void)state;
    hr_session_free(s);
    hr_graph_free(g);
    s = NULL;
    return 0;
}

static void expect(hr_node node, int64_t seed, double expected)
{
    hr_error err;
    hr_tensor got;
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    if (!s) s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, &node, 1, &got, &err), &err);
    double sum = 0;
    for (int64_t k = 0; k < got.count; k++) sum += (double)(((const float *)got.data)[k] * number(k, seed));
    assert_near(sum, expected, 1e-5);
    hr_tensor_clear(&got);
}

static void a_cell_gives_tensorflow_s_values(void **state)
{
    (void)state;
    static const double values[] = {0.549225688, 0.958332896, 0.742224216, 0.0670322627},
                        gradients[] = {-0.0530288033, -0.367316365, 0.271309912, -0.000695110532};
    const hr_node cell = hr_new_node(g, "GRUBlockCell", .inputs = in, .input_count = INPUTS);
    hr_node all[INPUTS + 4];
    for (int i = 0; i < INPUTS; i++) all[i] = in[i];
    for (int i = 0; i < 3; i++) all[INPUTS + i] = hr_node_output(cell, i);
    all[INPUTS + 3] = made(shapes[1], 11);
    const hr_node by = hr_new_node(g, "GRUBlockCellGrad", .inputs = all, .input_count = INPUTS + 4);
    for (int i = 0; i < 4; i++) expect(hr_node_output(cell, i), 10, values[i]);
    for (int i = 0; i < 4; i++) expect(hr_node_output(by, i), 13, gradients[i]);
}

static void its_state_is_derived_by_all_inputs(void **state)
{
    (void)state;
    static const double expected[] = {-0.053028807,  -0.367316425,  0.0165873598,
                                      -0.0191463716, 0.00686198566, -0.0267645195};
    const hr_node cell = hr_new_node(g, "GRUBlockCell", .inputs = in, .input_count = INPUTS);
    const hr_node loss = hr_reduce_sum(hr_mul(hr_node_output(cell, 3), made(shapes[1], 11)));
    hr_gradient by[INPUTS];
    hr_gradients(&loss, 1, in, INPUTS, by);
    for (int i = 0; i < INPUTS; i++) expect(hr_gradient_dense(by[i]), 13, expected[i]);
}

static void weights_that_do_not_fit_fail_the_run(void **state)
{
    (void)state;
    hr_error err;
    hr_tensor out;
    const hr_node wrong = made(HR_SHAPE(WIDTH, UNITS), 1);
    in[3] =
        hr_new_node(g, "PlaceholderWithDefault", HR_INPUTS(wrong), HR_ATTRS(HR_SHAPE_ATTR("shape", HR_SHAPE(-1, -1))));
    const hr_node cell = hr_new_node(g, "GRUBlockCell", .inputs = in, .input_count = INPUTS);
    s = hr_session_new(g);
    assert_status(hr_session_run(s, NULL, 0, &cell, 1, &out, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "graph.shape");
}

int main(void)
{
#define TEST(NAME) cmocka_unit_test_setup_teardown(NAME, make_cell, free_cell)
    const struct CMUnitTest tests[] = {
        TEST(a_cell_gives_tensorflow_s_values),
        TEST(its_state_is_derived_by_all_inputs),
        TEST(weights_that_do_not_fit_fail_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
