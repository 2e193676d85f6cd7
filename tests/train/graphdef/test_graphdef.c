/* Graphs as files: what is written is read again, and what is hostile is refused within bounds. */
#include "proto/message.h"
#include "tests/testing.h"
#include "train/ops/ops.h"
#include <headrace/graph_op.h>
#include <headrace/graphdef.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hr_graph *model(void)
{
    hr_graph *g = hr_graph_new();
    hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 2), .name = "x");
    hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(2, 1), .initializer = hr_ones());
    hr_node y = hr_matmul(x, w);
    const hr_view words[] = {{"a", 1}, {"b\n\"\\\0c", 6}, {"", 0}};
    const hr_tensor list = hr_tensor_of(HR_STRING, HR_SHAPE(3), words);
    hr_const(g, &list, .name = "words");
    hr_control_dependencies(g, &y, 1);
    hr_identity(y, .name = "y");
    hr_control_end(g);
    hr_global_variables_initializer(g);
    assert_null(hr_graph_error(g));
    return g;
}

static float run_model(hr_graph *g)
{
    hr_error err;
    hr_tensor out;
    const hr_node init = hr_target(hr_graph_node(g, "init")), y = hr_graph_node(g, "y:0");
    const hr_feed feed = {hr_graph_node(g, "x:0"), hr_tensor_of(HR_FLOAT, HR_SHAPE(1, 2), ((float[]){3, 4}))};
    hr_session *s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    assert_ok(hr_session_run(s, &feed, 1, &y, 1, &out, &err), &err);
    const float value = *(const float *)out.data;
    hr_tensor_clear(&out);
    hr_session_free(s);
    return value;
}

static void a_graph_is_written_and_read_again(void **state)
{
    static const char *const paths[] = {"g.pb", "g.pbtxt"};
    (void)state;
    hr_error err;
    hr_graph *g = model();
    for (int i = 0; i < 2; i++) {
        hr_graph *read = hr_graph_new();
        assert_ok(hr_graph_write(g, paths[i], &err), &err);
        assert_ok(hr_graph_read(read, paths[i], &err), &err);
        assert_int_equal(hr_graph_size(read), hr_graph_size(g));
        const hr_attr *words = hr_node_attr(hr_graph_node(read, "words"), "value");
        assert_int_equal(((const hr_view *)words->tensor->data)[1].size, 6);
        assert_memory_equal(((const hr_view *)words->tensor->data)[1].data, "b\n\"\\\0c", 6);
        assert_exactly(run_model(read), 7);
        hr_graph_free(read);
    }
    hr_graph_free(g);
}

static void attributes_with_defaults_are_left_out_where_asked(void **state)
{
    (void)state;
    hr_error err;
    char *whole, *less;
    size_t size, less_size;
    hr_graph *g = model();
    assert_ok(hr_graph_export(g, &whole, &size, &err, .text = true), &err);
    assert_ok(hr_graph_export(g, &less, &less_size, &err, .text = true, .strip_default_attrs = true), &err);
    assert_non_null(strstr(whole, "transpose_a"));
    assert_null(strstr(less, "transpose_a"));
    assert_non_null(strstr(less, "shared_name")); /* not its default */
    hr_graph *read = hr_graph_new();
    assert_ok(hr_graph_import(read, ((hr_view){less, (int64_t)less_size}), &err, .text = true), &err);
    assert_exactly(run_model(read), 7);
    hr_graph_free(read);
    hr_free(whole);
    hr_free(less);
    hr_graph_free(g);
}

static void names_get_the_prefix(void **state)
{
    (void)state;
    hr_error err;
    hr_graph *g = hr_graph_new();
    const char *text = "node { name: 'a' op: 'NoOp' } node { name: 'b' op: 'NoOp' input: '^a' }";
    for (int i = 0; i < 2; i++)
        assert_ok(hr_graph_import(g, hr_text_view(text), &err, .text = true, .prefix = i ? "two" : "one"), &err);
    assert_string_equal(hr_node_name(hr_node_control(hr_graph_node(g, "two/b"), 0)), "two/a");
    assert_int_equal(hr_graph_size(g), 4);
    hr_graph_free(g);
}

/* ---- what is refused ---- */

static void refuses(const char *text, hr_status status, const char *kind, const char *part)
{
    hr_error err = {0};
    hr_graph *g = hr_graph_new();
    assert_status(hr_graph_import(g, hr_text_view(text), &err, .text = true), status);
    assert_string_equal(err.kind, kind);
    assert_text_contains(err.text, part);
    assert_non_null(hr_graph_error(g));
    hr_graph_free(g);
}

static void wrong_graphs_are_refused_by_name(void **state)
{
    (void)state;
    refuses("node { name: 'a' op: 'NoOp' input: '^b' } node { name: 'b' op: 'NoOp' input: '^a' }", HR_INVALID_ARGUMENT,
            "graphdef.cycle", "2 nodes");
    refuses("node { name: 'a' op: 'NoOp' } nodes { }", HR_INVALID_ARGUMENT, "proto.text", "line 1, column 31");
    refuses("node { name: 'a' op: 'NoOp'", HR_INVALID_ARGUMENT, "proto.text", "or its end");
    refuses("node { name: 'a op: 'NoOp' }", HR_INVALID_ARGUMENT, "proto.text", "");
    refuses("node { name: '' name: 'a' op: 'NoOp' }", HR_INVALID_ARGUMENT, "proto.text", "a field once, not again");
    refuses("node { name: 'a' op: 'Nothing' }", HR_NOT_FOUND, "graph.op", "node 'a'");
    refuses("node { name: 'a' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { "
            "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 1000000000000 } } float_val: 1 } } } }",
            HR_RESOURCE_EXHAUSTED, "graphdef.tensor", "node 'a': attribute 'value'");
    refuses("node { name: 'a' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { "
            "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 4611686018427387904 } dim { size: 16 } } } } } }",
            HR_INVALID_ARGUMENT, "graphdef.tensor", "a whole shape");
    refuses("node { name: 'a' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { "
            "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } } tensor_content: 'abc' } } } }",
            HR_INVALID_ARGUMENT, "graphdef.tensor", "expected 8 bytes of content for its shape, got 3");
}

/* An attribute of a function of an attribute ..., as text and as bytes. */
static void deep_messages_are_refused(void **state)
{
    enum { DEEP = 20000 };
    (void)state;
    hr_error err;
    const char *open = "func { attr { value { ";
    char *text = malloc(DEEP * strlen(open) + 64), *to = text;
    to += sprintf(to, "node { attr { value { ");
    for (int i = 0; i < DEEP; i++) to += sprintf(to, "%s", open);
    hr_graph *g = hr_graph_new();
    assert_status(hr_graph_import(g, ((hr_view){text, to - text}), &err, .text = true), HR_RESOURCE_EXHAUSTED);
    assert_string_equal(err.kind, "proto.depth");
    hr_graph_free(g);
    free(text);
}

/* The same as bytes, from the inside out: a tag and a length of two bytes around what is there. */
static void deep_bytes_are_refused(void **state)
{
    static const uint8_t around[] = {0x52, 0x12, 0x12}; /* func in a value, value in an entry, entry in a function */
    (void)state;
    hr_error err;
    uint8_t bytes[4096], *at = bytes + sizeof bytes;
    for (int i = 0; i < 1204; i++) {
        const size_t size = (size_t)(bytes + sizeof bytes - at);
        *--at = (uint8_t)(size >> 7);
        *--at = (uint8_t)(size & 0x7f) | 0x80;
        *--at = i == 1202 ? 0x2a : i == 1203 ? 0x0a : around[i % 3]; /* the last two: an attribute of a node */
    }
    hr_graph *g = hr_graph_new();
    assert_status(hr_graph_import(g, ((hr_view){(char *)at, bytes + sizeof bytes - at}), &err), HR_RESOURCE_EXHAUSTED);
    assert_string_equal(err.kind, "proto.depth");
    hr_graph_free(g);
}

static void bytes_that_ask_for_much_memory_are_refused(void **state)
{
    enum { NODES = 4 << 20 };
    (void)state;
    hr_error err;
    char *bytes = malloc(2 * NODES); /* nodes without anything */
    for (int i = 0; i < NODES; i++) bytes[2 * i] = 0x0a, bytes[2 * i + 1] = 0;
    hr_graph *g = hr_graph_new();
    assert_true(hr_graph_import(g, ((hr_view){bytes, 2 * NODES}), &err) != HR_OK);
    hr_graph_free(g);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_is_written_and_read_again),
        cmocka_unit_test(attributes_with_defaults_are_left_out_where_asked),
        cmocka_unit_test(names_get_the_prefix),
        cmocka_unit_test(wrong_graphs_are_refused_by_name),
        cmocka_unit_test(deep_messages_are_refused),
        cmocka_unit_test(deep_bytes_are_refused),
        cmocka_unit_test(bytes_that_ask_for_much_memory_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
