/* Blocks of LSTM steps and their derivatives: TensorFlow 2.15.1's, of numbers made by a formula, as sums with such
 * numbers. */
#include "tests/testing.h"

#include <headrace/graph_op.h>
#include <headrace/kernels.h>
#include <math.h>
#include <string.h>

enum { STEPS = 4, ROWS = 3, WIDTH = 2, UNITS = 3, VALUES = 7, GRADIENTS = 8, ROOM = 128 };

static const struct lstm_case {
    const char *op;
    bool peephole;
    float clip;
    int64_t used;
    bool half;
    double values[VALUES], gradients[GRADIENTS];
} cases[] = {
    {"BlockLSTM",
     false,
     0,
     4,
     false,
     {-1.26847434f, -0.0232291295f, -1.00920873f, -0.649148985f, 1.0388828f, -0.0175729477f, 0.0600271499f},
     {0.330275017f, 0.377640346f, -0.410581572f, -0.357390525f, 0, 0, 0, -0.00346393733f}},
    {"BlockLSTM",
     true,
     0.300000012f,
     3,
     false,
     {-0.214215702f, 0.981604685f, 0.190596661f, 0.291613362f, 2.22021335f, 0.960058724f, 0.482426837f},
     {0.278793309f, -0.130854549f, -0.679565004f, 0.209994066f, 0.00630746114f, 0.0163451217f, -0.00362063764f,
      0.300230746f}},
    {"BlockLSTMV2",
     false,
     0,
     2,
     false,
     {-0.227859662f, -0.512131811f, 0.197643522f, -0.172602314f, 0.460101026f, -0.483968168f, -0.318934161f},
     {-0.337822975f, -0.0884268547f, 0.576534818f, -0.809549053f, 0, 0, 0, 1.0203461f}},
    {"BlockLSTMV2",
     true,
     0.300000012f,
     4,
     false,
     {-1.3934785f, -0.735780119f, -0.47395334f, -0.787624945f, -0.537537257f, -0.719170621f, -0.489280032f},
     {-0.109086373f, -0.0950559625f, 0.467548438f, -0.172483901f, -0.011217206f, 0.0185709833f, 0.00175137187f,
      0.149665115f}},
    {"BlockLSTMV2", true, 0, 0, false, {0, 0, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0}},
    {"BlockLSTMV2",
     true,
     0,
     4,
     true,
     {-1.40483404f, -1.09093141f, -0.475097706f, -0.857539101f, -0.63075687f, -1.05013795f, -0.692584082f},
     {-0.0402807492f, -0.108684083f, 0.498266625f, -0.216571063f, -0.000988770602f, 0.0299487314f, -0.00443847611f,
      0.230336927f}},
    {"LSTMBlockCell",
     false,
     0,
     1,
     false,
     {0.5421962f, 0.578087529f, 1.21998597f, 0.696988254f, 1.40476408f, 0.554094237f, 0.219805161f},
     {0.0110193911f, 0.100320954f, 0, 0, 0}},
    {"LSTMBlockCell",
     true,
     0.300000012f,
     1,
     false,
     {0.565313263f, 0.499527062f, 1.17054782f, 0.754785248f, 1.40476408f, 0.488950253f, 0.217226469f},
     {-0.0658602087f, 0.13763808f, 0.000176964062f, 0.0267688524f, -0.0030961736f}},
};

static float number(int64_t k, int64_t seed) { return (float)((k * 37 + seed * 11 + k * k * seed) % 41 - 20) / 25.0f; }

static hr_node made(hr_graph *g, const struct lstm_case *c, hr_shape shape, int64_t seed)
{
    float room[ROOM];
    const int64_t count = hr_shape_count(shape);
    for (int64_t k = 0; k < count; k++) room[k] = number(k, seed);
    const hr_tensor value = hr_tensor_of(HR_FLOAT, shape, room);
    return hr_cast_to(hr_const(g, &value), c->half ? HR_HALF : HR_FLOAT);
}

static void expect(hr_session *s, const struct lstm_case *c, const char *what, hr_node node, int count, int64_t seed,
                   const double *expected)
{
    hr_error err;
    hr_tensor got;
    for (int i = 0; i < count; i++) {
        const hr_node fetch = hr_cast_to(hr_node_output(node, i), HR_FLOAT);
        assert_ok(hr_session_run(s, NULL, 0, &fetch, 1, &got, &err), &err);
        double sum = 0;
        for (int64_t k = 0; k < got.count; k++) sum += (double)(((const float *)got.data)[k] * number(k, seed));
        if (!(fabs(sum - expected[i]) <= (c->half ? 0.01 : 2e-5)))
            fail_msg("%s %d, %s %d: expected %.9g, got %.9g", c->op, (int)(c - cases), what, i, expected[i], sum);
        hr_tensor_clear(&got);
    }
}

static void check_case(const struct lstm_case *c)
{
    hr_graph *g = hr_graph_new();
    const bool cell = c->op[0] == 'L', second = strcmp(c->op, "BlockLSTMV2") == 0;
    const hr_shape x = cell ? HR_SHAPE(ROWS, WIDTH) : HR_SHAPE(STEPS, ROWS, WIDTH), state = HR_SHAPE(ROWS, UNITS),
                   all = cell ? state : HR_SHAPE(STEPS, ROWS, UNITS);
    hr_node in[20];
    int count = 0;
    if (!cell) in[count++] = hr_scalar(g, HR_INT64, (double)c->used);
    const hr_shape shapes[] = {x,
                               state,
                               state,
                               HR_SHAPE(WIDTH + UNITS, 4 * UNITS),
                               HR_SHAPE(UNITS),
                               HR_SHAPE(UNITS),
                               HR_SHAPE(UNITS),
                               HR_SHAPE(4 * UNITS)};
    for (int i = 0; i < 8; i++) in[count++] = made(g, c, shapes[i], 1 + i);
    const hr_attr attrs[] = {HR_FLOAT_ATTR("cell_clip", c->clip), HR_BOOL_ATTR("use_peephole", c->peephole),
                             HR_FLOAT_ATTR("forget_bias", 0.75f)};
    const hr_node y =
        hr_new_node(g, c->op, .inputs = in, .input_count = count, .attrs = attrs, .attr_count = second ? 2 : 3);
    for (int i = 0; i < (cell ? 6 : 7); i++) in[count++] = hr_node_output(y, i);
    in[count++] = made(g, c, all, 11);
    in[count++] = made(g, c, all, 12);
    const hr_node by = hr_new_node(g,
                                   cell     ? "LSTMBlockCellGrad"
                                   : second ? "BlockLSTMGradV2"
                                            : "BlockLSTMGrad",
                                   .inputs = in, .input_count = count, .attrs = attrs + 1, .attr_count = 1);
    if (hr_graph_error(g)) fail_msg("%s", hr_graph_error(g)->text);
    hr_session *s = hr_session_new(g);
    expect(s, c, "value", y, VALUES, 10, c->values);
    expect(s, c, "gradient", by, cell ? 5 : 8, 13, c->gradients);
    hr_session_free(s);
    hr_graph_free(g);
}

static void blocks_and_cells_give_tensorflow_s_values(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check_case(&cases[i]);
}

/* What all rows of the large batch give is what each of them gives alone; no product depends on threads. */
static void rows_do_not_depend_on_their_neighbours(void **state)
{
    (void)state;
    enum { MANY = 150, WIDE = 20 };
    static float x[STEPS * MANY * WIDE];
    const struct lstm_case c = {.op = "BlockLSTMV2"};
    hr_error err;
    hr_tensor out[2];
    hr_graph *g = hr_graph_new();
    for (int64_t k = 0; k < STEPS * MANY * WIDE; k++) x[k] = number(k / WIDE % MANY % 5 + k % WIDE, 3);
    const hr_tensor value = hr_tensor_of(HR_FLOAT, HR_SHAPE(STEPS, MANY, WIDE), x);
    const hr_node zeros = hr_fill(hr_ints(g, (const int64_t[]){MANY, UNITS}, 2), hr_scalar(g, HR_FLOAT, 0)),
                  in = hr_const(g, &value), peephole = made(g, &c, HR_SHAPE(UNITS), 1),
                  w = hr_tile(made(g, &c, HR_SHAPE(1, 4 * UNITS), 4),
                              hr_ints(g, (const int64_t[]){WIDE + UNITS, 1}, 2));
    hr_node y = hr_new_node(g, "BlockLSTMV2",
                            HR_INPUTS(hr_scalar(g, HR_INT64, STEPS), in, zeros, zeros, w, peephole, peephole, peephole,
                                      made(g, &c, HR_SHAPE(4 * UNITS), 8)));
    hr_gradient by;
    y = hr_node_output(y, 6);
    hr_gradients(&y, 1, &in, 1, &by);
    const hr_node fetches[] = {y, by.values};
    hr_session *s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, fetches, 2, out, &err), &err);
    hr_tensor alone[2];
    hr_session *one = hr_session_new(g, .workers = &(int){0});
    assert_ok(hr_session_run(one, NULL, 0, fetches, 2, alone, &err), &err);
    for (int o = 0; o < 2; o++) {
        assert_memory_equal(out[o].data, alone[o].data, (size_t)out[o].count * sizeof(float));
        hr_tensor_clear(&alone[o]);
        const int64_t width = o ? WIDE : UNITS;
        const float *v = out[o].data;
        for (int64_t t = 0; t < STEPS; t++)
            for (int64_t i = 5 * width; i < MANY * width; i++)
                assert_near(v[t * MANY * width + i], v[t * MANY * width + i % (5 * width)], 1e-5);
        hr_tensor_clear(&out[o]);
    }
    hr_session_free(one);
    hr_session_free(s);
    hr_graph_free(g);
}

static void wrong_shapes_and_lengths_fail_the_run(void **state)
{
    (void)state;
    const struct lstm_case *c = &cases[2];
    for (int wrong = 0; wrong < 4; wrong++) {
        hr_error err;
        hr_tensor out;
        hr_graph *g = hr_graph_new();
        const hr_node u = made(g, c, HR_SHAPE(UNITS), 1), state_node = made(g, c, HR_SHAPE(ROWS, UNITS), 2),
                      w = made(g, c, HR_SHAPE(wrong == 1 ? WIDTH : WIDTH + UNITS, 4 * UNITS), 3),
                      b = made(g, c, HR_SHAPE(wrong == 2 ? 4 * UNITS - 1 : 4 * UNITS), 3);
        const hr_node y =
            hr_new_node(g, "BlockLSTMV2",
                        HR_INPUTS(hr_scalar(g, HR_INT64,
                                            wrong == 3 ? STEPS + 1
                                            : wrong    ? 1
                                                       : -1),
                                  made(g, c, HR_SHAPE(STEPS, ROWS, WIDTH), 1), state_node, state_node, w, u, u, u,
                                  hr_new_node(g, "PlaceholderWithDefault", HR_INPUTS(b),
                                              HR_ATTRS(HR_SHAPE_ATTR("shape", HR_SHAPE(-1))))));
        hr_session *s = hr_session_new(g);
        assert_status(hr_session_run(s, NULL, 0, &y, 1, &out, &err), HR_INVALID_ARGUMENT);
        assert_string_equal(err.kind, "graph.shape");
        hr_session_free(s);
        hr_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_and_cells_give_tensorflow_s_values),
        cmocka_unit_test(rows_do_not_depend_on_their_neighbours),
        cmocka_unit_test(wrong_shapes_and_lengths_fail_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
