/* What a user adds from outside, by the installed headers alone, works as what the library brings: the files outside_*.c
 * are compiled without any private header (tests/kits.cmake). */
#include "tests/testing.h"

#include <headrace/train.h>
#include <string.h>

extern const hr_graph_op outside_ops[];
hr_node outside_squared_gap(hr_node a, hr_node b);

static hr_graph *g;
static hr_session *s;

static int make_graph(void **state)
{
    (void)state;
    g = hr_graph_new();
    for (const hr_graph_op *op = outside_ops; op->name; op++) hr_graph_use(g, op);
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

static hr_node floats(int64_t rows, int64_t columns, const float *values)
{
    const hr_tensor t = hr_tensor_of(HR_FLOAT, HR_SHAPE(rows, columns), values);
    return hr_const(g, &t);
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
    assert_int_equal(out.count, count);
    for (int64_t i = 0; i < count; i++) assert_float_equal(((const float *)out.data)[i], expected[i], 0);
    hr_tensor_clear(&out);
}

static void an_op_broadcasts_in_every_type_of_numbers(void **state)
{
    (void)state;
    const hr_node a = floats(2, 1, (const float[]){1, 4}), b = floats(1, 3, (const float[]){0, 1, 3});
    const hr_node gap = outside_squared_gap(a, b);
    assert_string_equal(hr_node_name(gap), "SquaredGap");
    expect_floats(gap, 6, (const float[]){1, 0, 4, 16, 9, 1});
    const hr_node bytes = outside_squared_gap(hr_cast_to(a, HR_INT8), hr_cast_to(b, HR_INT8));
    expect_floats(hr_cast_to(bytes, HR_FLOAT), 6, (const float[]){1, 0, 4, 16, 9, 1});
}

static void an_op_has_a_gradient(void **state)
{
    (void)state;
    const hr_node x[] = {floats(2, 1, (const float[]){1, 4}), floats(1, 3, (const float[]){0, 1, 3})};
    const hr_node gap = outside_squared_gap(x[0], x[1]);
    hr_gradient out[2];
    hr_gradients(&gap, 1, x, 2, out);
    expect_floats(out[0].values, 2, (const float[]){2 * (1 + 0 - 2), 2 * (4 + 3 + 1)});
    expect_floats(out[1].values, 3, (const float[]){-2 * (1 + 4), -2 * (0 + 3), -2 * (-2 + 1)});
}

static void an_op_moves_strings_and_reads_an_axis(void **state)
{
    (void)state;
    const hr_view words[] = {hr_text_view("a"), hr_text_view("bb"), hr_text_view("a longer one, of its own")};
    const hr_tensor t = hr_tensor_of(HR_STRING, HR_SHAPE(1, 3), words);
    const hr_node x = hr_const(g, &t);
    hr_tensor out = value_of(hr_new_node(g, "Outside>Reverse", HR_INPUTS(x, hr_scalar(g, HR_INT32, -1))));
    for (int i = 0; i < 3; i++) {
        const hr_view word = ((const hr_view *)out.data)[i];
        assert_int_equal(word.size, words[2 - i].size);
        assert_memory_equal(word.data, words[2 - i].data, (size_t)word.size);
    }
    hr_tensor_clear(&out);
    assert_false(hr_node_exists(hr_new_node(g, "Outside>Reverse", HR_INPUTS(x, hr_scalar(g, HR_INT32, 2)))));
    assert_non_null(strstr(hr_graph_error(g)->text, "expected an axis in [-2, 2), got 2"));
}

int main(void)
{
#define IN_GRAPH(test) cmocka_unit_test_setup_teardown(test, make_graph, free_graph)
    const struct CMUnitTest tests[] = {
        IN_GRAPH(an_op_broadcasts_in_every_type_of_numbers),
        IN_GRAPH(an_op_has_a_gradient),
        IN_GRAPH(an_op_moves_strings_and_reads_an_axis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
