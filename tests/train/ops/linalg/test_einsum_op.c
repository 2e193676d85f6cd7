/* Einsum beside TensorFlow 2.15.1: values, and gradients of the sum of their squares. */
#include "tests/train/ops/node_values.h"

#include <headrace/linalg.h>

/* Value i of input k is ((7 i + 3 k) mod 11 - 5) / 4. */
static hr_node numbers(hr_shape shape, int k, bool known)
{
    double values[64];
    for (int i = 0; i < hr_shape_count(shape); i++) values[i] = ((7 * i + 3 * k) % 11 - 5) / 4.0;
    const hr_node node = constant_of(HR_DOUBLE, shape, values);
    return known ? node : unknown(node);
}

static const struct {
    const char *equation;
    hr_shape shape[2];
    int values;
    double value[16], gradient[2][16];
} cases[] = {
    {"ij,jk->ik",
     {{2, {2, 3}}, {2, {3, 2}}},
     4,
     {0.25, -1.9375, -1.3125, 1.375},
     {{-5.09375, 3.03125, 0.5, 4.75, -2.71875, -2.625}, {-3.90625, 8.28125, -0.40625, -1.25, 1.71875, -0.125}}},
    {"bij,bjk->kib",
     {{3, {2, 1, 3}}, {3, {2, 3, 2}}},
     4,
     {0.25, -1.6875, -1.9375, 1},
     {{-5.09375, 3.03125, 0.5, 4.875, -1.65625, -2.6875},
      {-0.625, 4.84375, 0.25, -1.9375, -0.25, 1.9375, -4.21875, 2.5, -0.84375, 0.5, 2.53125, -1.5}}},
    {"aab,b->a",
     {{3, {2, 2, 3}}, {1, {3}}},
     2,
     {1.125, -1},
     {{-1.125, 2.8125, 0.5625, 0, 0, 0, 0, 0, 0, 1, -2.5, -0.5}, {-4.3125, 1.625, 1.375}}},
    {"ii->i", {{2, {3, 3}}, {-1, {0}}}, 3, {-1.25, 0.25, -1}, {{-2.5, 0, 0, 0, 0.5, 0, 0, 0, -2}, {0}}},
    {"i->ii", {{1, {2}}, {-1, {0}}}, 4, {-1.25, 0, 0, 0.5}, {{-2.5, 1}, {0}}},
    {"...ij,jk->...ki",
     {{3, {2, 1, 2}}, {2, {2, 2}}},
     4,
     {0.75, -1.9375, 0.5625, -1.5625},
     {{-5.59375, 3.28125, -4.46875, 2.625}, {-2.4375, 6.40625, 2.15625, -5.84375}}},
    {"i...,...i->...",
     {{3, {2, 1, 2}}, {3, {3, 1, 2}}},
     6,
     {0, 1.3125, 0.0625, -0.8125, -1.25, 0.5},
     {{-2.46875, -0.71875, -0.09375, 4.5}, {1.3125, 3.28125, -0.96875, -2.09375, 3.625, 2.5}}},
    {"abc,d->cd",
     {{3, {2, 1, 2}}, {1, {2}}},
     4,
     {0.875, -2.1875, -0.875, 2.1875},
     {{-6.34375, 6.34375, -6.34375, 6.34375}, {-6.125, 15.3125}}},
    {"abcb->ca", {{4, {2, 2, 1, 2}}, {-1, {0}}}, 2, {0, 0.25}, {{0, 0, 0, 0, 0.5, 0, 0, 0.5}, {0}}},
    {"a...c->c...",
     {{3, {2, 2, 2}}, {-1, {0}}},
     4,
     {-1, 0.5, -0.25, 1.25},
     {{-2, -0.5, 1, 2.5, -2, -0.5, 1, 2.5}, {0}}},
    {"ab,ab->",
     {{2, {2, 2}}, {2, {2, 2}}},
     1,
     {0.1875},
     {{-0.1875, 0.46875, 0.09375, -0.28125}, {-0.46875, 0.1875, -0.1875, 0.46875}}},
};

static void equations_give_what_tensorflow_gives(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int known = 0; known < 2; known++) {
            const int count = cases[i].shape[1].rank < 0 ? 1 : 2;
            hr_node inputs[2];
            for (int k = 0; k < count; k++) inputs[k] = numbers(cases[i].shape[k], k, known);
            const hr_node y = hr_einsum_with(cases[i].equation, inputs, count), loss = hr_square(y);
            expect_values(y, cases[i].value, cases[i].values, 1e-12, cases[i].equation);
            for (int k = 0; k < count; k++)
                expect_values(derivative(loss, inputs[k]), cases[i].gradient[k], hr_shape_count(cases[i].shape[k]),
                              1e-12, cases[i].equation);
        }
}

/* As tf.einsum("ij,jk,kl", a, b, c), which is a b c. */
static void several_inputs_and_no_output_are_written_shortly(void **state)
{
    (void)state;
    const hr_node a = numbers(HR_SHAPE(1, 2), 0, true), b = numbers(HR_SHAPE(2, 2), 1, true),
                  c = numbers(HR_SHAPE(2, 1), 2, true);
    EXPECT(hr_einsum("ij, jk, kl", a, b, c), 0, 1.640625);
    EXPECT(hr_einsum("...i,...i->...", a, a), 0, 1.8125);
    EXPECT(hr_einsum("ba", b), 0, -0.5, 0.25, 1.25, -0.75);
}

static void expect_refused(const char *equation, const char *kind)
{
    hr_graph *own = hr_graph_new();
    static const float values[6] = {0};
    const hr_tensor t = hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 3), values);
    const hr_node in = hr_const(own, &t);
    hr_einsum(equation, in, in);
    assert_non_null(hr_graph_error(own));
    assert_string_equal(hr_graph_error(own)->kind, kind);
    hr_graph_free(own);
}

static void equations_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    expect_refused("ij,jk->ik", "graph.shape");
    expect_refused("ij,ijk->i", "graph.shape");
    expect_refused("ij->i", "graph.equation");
    expect_refused("ij,ij,ij->i", "graph.equation");
    expect_refused("ij,ij->k", "graph.equation");
    expect_refused("...j,...j->j", "graph.equation");
    expect_refused("......j,...j->...", "graph.equation");
    expect_refused("i1,i1->i", "graph.equation");
    expect_refused("abcdefghij,ij->i", "graph.equation");
    expect_refused("ij,ij->i->", "graph.equation");
    expect_refused(NULL, "graph.equation");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(equations_give_what_tensorflow_gives, make_graph, free_graph),
        cmocka_unit_test_setup_teardown(several_inputs_and_no_output_are_written_shortly, make_graph, free_graph),
        cmocka_unit_test(equations_that_do_not_fit_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
