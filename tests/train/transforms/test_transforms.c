/* Transforms: a graph gives the same after them as before, and has what they promise; what is wrong is said. */
#include "tests/testing.h"
#include "train/ops/ops.h"
#include <headrace/control_flow.h>
#include <headrace/graph_op.h>
#include <headrace/graphdef.h>
#include <headrace/transforms.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* y = (relu(x w * s) + (1 + 2)) twice, by two chains that are the same, through Identities, on devices. */
static const char *const LAYER =
    "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { "
    "shape { dim { size: -1 } dim { size: 2 } } } } } "
    "node { name: 'w' op: 'Const' device: '/cpu:0' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' "
    "value { "
    "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } dim { size: 3 } } float_val: [1, -2, 3, 4, 5, 6] } } } } "
    "node { name: 's' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { tensor { "
    "dtype: DT_FLOAT tensor_shape { dim { size: 3 } } float_val: [0.5, 2, -1] } } } } "
    "node { name: 'one' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { tensor "
    "{ "
    "dtype: DT_FLOAT tensor_shape { } float_val: 1 } } } } "
    "node { name: 'w_read' op: 'Identity' input: 'w' attr { key: 'T' value { type: DT_FLOAT } } attr { key: '_class' "
    "value { list { s: 'loc:@w' } } } } "
    "node { name: 'product' op: 'MatMul' device: '/gpu:0' input: 'x' input: 'w_read' attr { key: 'T' value { type: "
    "DT_FLOAT } } } "
    "node { name: 'scaled' op: 'Mul' input: 'product' input: 's' attr { key: 'T' value { type: DT_FLOAT } } } "
    "node { name: 'sum' op: 'AddV2' input: 'one' input: 'one' attr { key: 'T' value { type: DT_FLOAT } } } "
    "node { name: 'a' op: 'AddV2' input: 'scaled' input: 'sum' attr { key: 'T' value { type: DT_FLOAT } } } "
    "node { name: 'b' op: 'AddV2' input: 'scaled' input: 'sum' attr { key: 'T' value { type: DT_FLOAT } } } "
    "node { name: 'y' op: 'Mul' input: 'a' input: 'b' attr { key: 'T' value { type: DT_FLOAT } } } "
    "node { name: 'unused' op: 'Neg' input: 'y' attr { key: 'T' value { type: DT_FLOAT } } } "
    "node { name: 'late' op: 'NoOp' input: '^early' } node { name: 'early' op: 'NoOp' } ";

static hr_graph *read_graph(const char *text)
{
    hr_error err;
    hr_graph *g = hr_graph_new();
    assert_ok(hr_graph_import(g, hr_text_view(text), &err, .text = true), &err);
    return g;
}

static void run_layer(hr_graph *g, float out[6])
{
    hr_error err;
    hr_tensor got;
    const hr_node y = hr_graph_node(g, "y:0");
    const hr_feed feed = {hr_graph_node(g, "x:0"), hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2), ((float[]){1, 2, -3, 0.5f}))};
    hr_session *s = hr_session_new(g);
    assert_ok(hr_session_run(s, &feed, 1, &y, 1, &got, &err), &err);
    assert_int_equal(got.count, 6);
    memcpy(out, got.data, 6 * sizeof *out);
    hr_tensor_clear(&got);
    hr_session_free(s);
}

static hr_graph *transformed(hr_graph *g, const char *transforms)
{
    hr_error err = {0};
    hr_graph *out = NULL;
    const hr_node y = hr_graph_node(g, "y:0"), x = hr_graph_node(g, "x:0");
    assert_ok(hr_graph_transform(g, transforms, &y, 1, &out, &err, .inputs = &x, .input_count = 1), &err);
    return out;
}

static int nodes_of(hr_graph *g, const char *op)
{
    int count = 0;
    for (int32_t i = 0; i < hr_graph_size(g); i++) count += strcmp(hr_node_op((hr_node){g, i, 0}), op) == 0;
    return count;
}

/* The graph after a transform gives the same; `nodes` of an op are left. */
static void keeps_results(const char *transforms, const char *op, int nodes)
{
    float before[6], after[6];
    hr_graph *g = read_graph(LAYER), *out = transformed(g, transforms);
    run_layer(g, before);
    run_layer(out, after);
    for (int i = 0; i < 6; i++) assert_near(after[i], before[i], 1e-4);
    assert_int_equal(nodes_of(out, op), nodes);
    hr_graph_free(out);
    hr_graph_free(g);
}

static void each_transform_keeps_results(void **state)
{
    (void)state;
    keeps_results("", "NoOp", 2);
    keeps_results("strip_unused_nodes", "NoOp", 0);
    keeps_results("fold_constants", "Identity", 0);
    keeps_results("fold_constants(clear_output_shapes=false, ignore_errors=true)", "AddV2", 2);
    keeps_results("remove_nodes(op=Identity)", "Identity", 0);
    keeps_results("remove_nodes(op=Identity, op=Mul)", "Mul", 2); /* of two inputs */
    keeps_results("merge_duplicate_nodes", "AddV2", 2);
    keeps_results("remove_nodes(op=Identity) fold_batch_norms", "Mul", 1);
    keeps_results("fold_batch_norms", "Mul", 2); /* the weights are no constant yet */
    keeps_results("sort_by_execution_order", "NoOp", 2);
    keeps_results("remove_device  set_device(device=\"/cpu:0\")", "NoOp", 2);
    keeps_results("rename_node(old_node_name=scaled,new_node_name='of/another/name')", "Mul", 2);
    keeps_results(HR_OPTIMIZE_FOR_INFERENCE, "Mul", 1);
    keeps_results(HR_OPTIMIZE_FOR_INFERENCE " merge_duplicate_nodes sort_by_execution_order remove_device", "Const", 2);
}

static void devices_and_order_are_as_asked_for(void **state)
{
    (void)state;
    hr_error err;
    char *text;
    size_t size;
    hr_graph *g = read_graph(LAYER);
    hr_graph *out = transformed(g, "set_device(device=\"/cpu:7\", if_default=true) sort_by_execution_order");
    assert_ok(hr_graph_export(out, &text, &size, &err, .text = true), &err);
    assert_text_contains(text, "device: \"/cpu:7\"");
    assert_text_contains(text, "device: \"/gpu:0\"");
    assert_true(strstr(text, "\"early\"") < strstr(text, "\"late\""));
    hr_free(text);
    hr_graph_free(out);
    out = transformed(g, "remove_device");
    assert_ok(hr_graph_export(out, &text, &size, &err, .text = true), &err);
    assert_null(strstr(text, "device"));
    hr_free(text);
    hr_graph_free(out);
    hr_graph_free(g);
}

/* An input in the middle becomes a placeholder, of what is known of it or what is asked for. */
static void inputs_become_placeholders(void **state)
{
    (void)state;
    hr_error err;
    hr_graph *out, *g = read_graph(LAYER);
    const hr_node y = hr_graph_node(g, "y:0"), inputs[] = {hr_graph_node(g, "scaled:0"), hr_graph_node(g, "x")};
    assert_ok(hr_graph_transform(g, "strip_unused_nodes", &y, 1, &out, &err, .inputs = inputs, .input_count = 2), &err);
    const hr_node scaled = hr_graph_node(out, "scaled");
    assert_string_equal(hr_node_op(scaled), "Placeholder");
    assert_shape(hr_node_shape(scaled), HR_SHAPE(-1, 3));
    assert_true(hr_node_exists(hr_graph_node(out, "x")));
    assert_false(hr_node_exists(hr_graph_node(out, "w")));
    hr_graph_free(out);
    assert_ok(hr_graph_transform(g, "strip_unused_nodes(name=scaled, type_for_name=float32, shape_for_name='7,3')", &y,
                                 1, &out, &err, .inputs = inputs, .input_count = 2),
              &err);
    assert_shape(hr_node_shape(hr_graph_node(out, "scaled")), HR_SHAPE(7, 3));
    hr_graph_free(out);
    hr_graph_free(g);
}

/* A weight as a byte is off by less than half a step. */
static void large_weights_become_bytes(void **state)
{
    (void)state;
    hr_graph *g = read_graph(LAYER), *out = transformed(g, "quantize_weights(minimum_size=6)");
    const hr_node w = hr_graph_node(out, "w");
    assert_string_equal(hr_node_op(w), "Dequantize");
    const hr_tensor *bytes = hr_node_attr(hr_node_input(w, 0), "value")->tensor;
    const float *min = hr_node_attr(hr_node_input(w, 1), "value")->tensor->data;
    const float *max = hr_node_attr(hr_node_input(w, 2), "value")->tensor->data;
    const float is[] = {1, -2, 3, 4, 5, 6};
    const double step = ((double)*max - *min) / 255, first = round(*min / step);
    for (int i = 0; i < 6; i++) assert_near((first + ((const uint8_t *)bytes->data)[i]) * step, is[i], step * 0.51);
    assert_string_equal(hr_node_op(hr_graph_node(out, "s")), "Const");
    hr_graph_free(out);
    hr_graph_free(g);
}

/* (x w - mean) / sqrt(variance + epsilon) * scale + offset becomes x w' + b. */
static void a_normalization_goes_into_the_weights(void **state)
{
    (void)state;
    char text[4000];
    static const char *const vector =
        "node { name: '%s' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr "
        "{ key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } } "
        "float_val: [%g, %g] } } } } ";
    int size =
        snprintf(text, sizeof text,
                 "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } } "
                 "node { name: 'w' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' "
                 "value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 1 } dim { size: 1 } dim { size: 1 } "
                 "dim { size: 2 } } float_val: [3, 5] } } } } "
                 "node { name: 'conv' op: 'Conv2D' input: 'x' input: 'w' attr { key: 'T' value { type: DT_FLOAT } } "
                 "attr { key: 'strides' value { list { i: [1, 1, 1, 1] } } } attr { key: 'padding' value { s: "
                 "'SAME' } } } ");
    size += snprintf(text + size, sizeof text - (size_t)size, vector, "mean", 1.0, 2.0);
    size += snprintf(text + size, sizeof text - (size_t)size, vector, "variance", 4.0, 0.25);
    size += snprintf(text + size, sizeof text - (size_t)size, vector, "scale", 10.0, 1.0);
    size += snprintf(text + size, sizeof text - (size_t)size, vector, "offset", 7.0, -7.0);
    snprintf(text + size, sizeof text - (size_t)size,
             "node { name: 'y' op: 'FusedBatchNorm' input: 'conv' input: 'scale' input: 'offset' input: 'mean' input: "
             "'variance' attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'epsilon' value { f: 0 } } attr { key: "
             "'is_training' value { b: false } } }");
    hr_graph *g = read_graph(text), *out = transformed(g, "fold_old_batch_norms");
    const hr_node y = hr_graph_node(out, "y");
    assert_string_equal(hr_node_op(y), "BiasAdd");
    const float *bias = hr_node_attr(hr_node_input(y, 1), "value")->tensor->data;
    const float *w = hr_node_attr(hr_node_input(hr_node_input(y, 0), 1), "value")->tensor->data;
    assert_exactly(w[0], 15);
    assert_exactly(w[1], 10);
    assert_exactly(bias[0], 2);
    assert_exactly(bias[1], -11);
    assert_int_equal(nodes_of(out, "Const"), 2);
    hr_graph_free(out);
    hr_graph_free(g);
}

static void passes_keep_results_and_names(void **state)
{
    (void)state;
    float before[6], after[6];
    hr_error err = {0};
    hr_graph *out, *g = read_graph(LAYER);
    const hr_node outputs[] = {hr_graph_node(g, "y:0"), hr_graph_node(g, "sum:0")};
    const hr_node x = hr_graph_node(g, "x:0");
    run_layer(g, before);
    assert_ok(hr_graph_apply_passes(g, "fold", outputs, 2, &out, &err, .inputs = &x, .input_count = 1), &err);
    run_layer(out, after);
    assert_memory_equal(before, after, sizeof before);
    assert_string_equal(hr_node_op(hr_graph_node(out, "sum")), "Const");
    assert_int_equal(nodes_of(out, "Identity"), 0);
    hr_graph_free(out);
    assert_status(hr_graph_apply_passes(g, "nothing", outputs, 2, &out, &err), HR_INVALID_ARGUMENT);
    assert_status(hr_graph_apply_passes(g, "fold", NULL, 0, &out, &err), HR_INVALID_ARGUMENT);
    hr_graph_free(g);
}

/* ---- freezing ---- */

static void a_frozen_graph_gives_what_the_session_gave(void **state)
{
    (void)state;
    hr_error err;
    float before[6], after[6];
    hr_graph *frozen, *g = hr_graph_new();
    hr_node x = hr_placeholder(g, HR_FLOAT, HR_SHAPE(-1, 2), .name = "x");
    hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SHAPE(2, 3), .initializer = hr_random_normal(0, 1, 7));
    hr_node table = hr_get_variable(g, "table", HR_FLOAT, HR_SHAPE(5, 3), .initializer = hr_random_normal(0, 1, 8));
    hr_node rows = hr_new_node(g, "ResourceGather", HR_INPUTS(table, hr_const_ints(g, HR_I64(4, 1), 2, "ids")),
                               HR_ATTRS(HR_TYPE_ATTR("dtype", HR_FLOAT)));
    hr_node y = hr_identity(hr_add(hr_matmul(x, w), rows), .name = "y");
    hr_node init = hr_target(hr_global_variables_initializer(g));
    hr_session *s = hr_session_new(g);
    hr_tensor got;
    const hr_feed feed = {x, hr_tensor_of(HR_FLOAT, HR_SHAPE(2, 2), ((float[]){1, 2, -3, 0.5f}))};
    assert_status(hr_freeze_graph(s, &y, 1, &frozen, &err), HR_FAILED_PRECONDITION);
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    assert_ok(hr_session_run(s, &feed, 1, &y, 1, &got, &err), &err);
    memcpy(before, got.data, sizeof before);
    hr_tensor_clear(&got);
    assert_ok(hr_freeze_graph(s, &y, 1, &frozen, &err), &err);
    hr_session_free(s);
    hr_graph_free(g);
    run_layer(frozen, after);
    assert_memory_equal(before, after, sizeof before);
    assert_int_equal(nodes_of(frozen, "VarHandleOp") + nodes_of(frozen, "AssignVariableOp"), 0);
    assert_int_equal(nodes_of(frozen, "GatherV2"), 1);
    assert_int_equal(hr_graph_variables(frozen), 0);
    hr_graph_free(frozen);
}

/* A node that changes a variable is not frozen silently. */
static void what_changes_a_variable_is_not_frozen(void **state)
{
    (void)state;
    hr_error err;
    hr_graph *frozen, *g = hr_graph_new();
    hr_node w = hr_get_variable(g, "w", HR_FLOAT, HR_SCALAR, .initializer = hr_ones());
    hr_node add = hr_assign_add(w, hr_scalar(g, HR_FLOAT, 1)), init = hr_target(hr_global_variables_initializer(g));
    hr_control_dependencies(g, &add, 1);
    hr_node y = hr_identity(hr_scalar(g, HR_FLOAT, 1));
    hr_control_end(g);
    hr_session *s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    assert_status(hr_freeze_graph(s, &y, 1, &frozen, &err), HR_UNIMPLEMENTED);
    assert_string_equal(err.kind, "transform.variable");
    assert_text_contains(err.text, "AssignAddVariableOp");
    assert_null(frozen);
    hr_session_free(s);
    hr_graph_free(g);
}

/* ---- variables in loops and branches ---- */

typedef struct looped {
    hr_node scale, table, offset; /* variables */
    bool assigns;
} looped;

static hr_node read_of(hr_graph *g, hr_node variable)
{
    return hr_new_node(g, "ReadVariableOp", HR_INPUTS(variable), HR_ATTRS(HR_TYPE_ATTR("dtype", HR_FLOAT)));
}

static void below_four(hr_graph *g, const hr_node *vars, hr_node *results, void *user)
{
    const looped *l = user;
    const hr_node four = hr_add(read_of(g, l->scale), hr_scalar(g, HR_FLOAT, 2)); /* the condition reads, too */
    results[0] = hr_less(hr_cast_to(vars[0], HR_FLOAT), four);
}

static void add_offset(hr_graph *g, hr_node *results, void *user) { results[0] = read_of(g, ((looped *)user)->offset); }
static void add_shape(hr_graph *g, hr_node *results, void *user)
{
    const hr_node shape = hr_new_node(g, "VariableShape", HR_INPUTS(((looped *)user)->table),
                                      HR_ATTRS(HR_TYPE_ATTR("out_type", HR_INT32)));
    results[0] = hr_cast_to(
        hr_slice(shape, hr_const_ints(g, HR_I64(0), 1, "first"), hr_const_ints(g, HR_I64(1), 1, "one")), HR_FLOAT);
    results[0] = hr_reshape(results[0], hr_const_ints(g, NULL, 0, "scalar"));
}

/* sum * scale + table[i] + (offset, or the rows of the table) */
static void next_sum(hr_graph *g, const hr_node *vars, hr_node *results, void *user)
{
    const looped *l = user;
    hr_node row =
        hr_new_node(g, "ResourceGather", HR_INPUTS(l->table, vars[0]), HR_ATTRS(HR_TYPE_ATTR("dtype", HR_FLOAT)));
    hr_node more;
    hr_cond(hr_equal(vars[0], hr_scalar(g, HR_INT32, 1)), add_offset, add_shape, user, &more, 1);
    if (l->assigns) {
        const hr_node add = hr_assign_add(l->scale, hr_scalar(g, HR_FLOAT, 1));
        hr_control_dependencies(g, &add, 1);
        row = hr_identity(row);
        hr_control_end(g);
    }
    results[0] = hr_add(vars[0], hr_scalar(g, HR_INT32, 1));
    results[1] = hr_add(hr_add(hr_mul(vars[1], read_of(g, l->scale)), row), more);
}

static hr_session *loop_session(looped *l, hr_graph *g, hr_node *y)
{
    hr_error err;
    hr_node out[2];
    l->scale = hr_get_variable(g, "scale", HR_FLOAT, HR_SCALAR, .initializer = hr_constant_value(2));
    l->table = hr_get_variable(g, "table", HR_FLOAT, HR_SHAPE(5), .initializer = hr_random_normal(0, 1, 7));
    l->offset = hr_get_variable(g, "offset", HR_FLOAT, HR_SCALAR, .initializer = hr_constant_value(-3));
    const hr_node x = hr_placeholder(g, HR_FLOAT, HR_SCALAR, .name = "x");
    hr_while_loop(below_four, next_sum, l, ((hr_node[]){hr_scalar(g, HR_INT32, 0), x}), 2, out);
    *y = hr_identity(out[1], .name = "y");
    hr_session *s = hr_session_new(g);
    const hr_node init = hr_target(hr_global_variables_initializer(g));
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    return s;
}

static float run_loop(hr_graph *g, hr_session *s)
{
    hr_error err;
    hr_tensor got;
    const hr_node y = hr_graph_node(g, "y:0");
    const hr_feed feed = {hr_graph_node(g, "x:0"), hr_tensor_of(HR_FLOAT, HR_SCALAR, (float[]){1.5f})};
    assert_ok(hr_session_run(s, &feed, 1, &y, 1, &got, &err), &err);
    const float value = *(const float *)got.data;
    hr_tensor_clear(&got);
    return value;
}

static int handles_taken(hr_graph *g, const char *op)
{
    int taken = 0;
    for (int32_t i = 0; i < hr_graph_size(g); i++) {
        const hr_node node = {g, i, 0};
        if (strcmp(hr_node_op(node), op) != 0) continue;
        for (int j = 0; j < hr_node_inputs(node); j++) taken += hr_node_dtype(hr_node_input(node, j)) == HR_RESOURCE;
    }
    return taken;
}

static void variables_that_loops_and_branches_read_are_frozen(void **state)
{
    (void)state;
    hr_error err;
    looped l = {.assigns = false};
    hr_node y;
    hr_graph *frozen, *g = hr_graph_new(), *again = hr_graph_new();
    hr_session *s = loop_session(&l, g, &y);
    assert_int_equal(handles_taken(g, "While"), 3);
    assert_ok(hr_freeze_graph(s, &y, 1, &frozen, &err), &err);
    assert_int_equal(nodes_of(frozen, "VarHandleOp"), 0);
    assert_int_equal(handles_taken(frozen, "While"), 0);
    const float before = run_loop(g, s);
    hr_session_free(s);
    s = hr_session_new(frozen);
    assert_near(run_loop(frozen, s), before, 1e-6);
    hr_session_free(s);
    /* What was frozen is a graph like others: it is written, and read again. */
    char *bytes;
    size_t size;
    assert_ok(hr_graph_export(frozen, &bytes, &size, &err), &err);
    const hr_view view = {bytes, (int64_t)size};
    assert_ok(hr_graph_import(again, view, &err), &err);
    hr_free(bytes);
    s = hr_session_new(again);
    assert_near(run_loop(again, s), before, 1e-6);
    hr_session_free(s);
    hr_graph_free(again);
    hr_graph_free(frozen);
    hr_graph_free(g);
}

static void a_variable_that_a_loop_changes_is_not_frozen(void **state)
{
    (void)state;
    hr_error err;
    looped l = {.assigns = true};
    hr_node y;
    hr_graph *frozen, *g = hr_graph_new();
    hr_session *s = loop_session(&l, g, &y);
    assert_status(hr_freeze_graph(s, &y, 1, &frozen, &err), HR_UNIMPLEMENTED);
    assert_string_equal(err.kind, "transform.variable");
    assert_text_contains(err.text, "'scale'");
    assert_text_contains(err.text, "(AssignAddVariableOp) of function");
    hr_session_free(s);
    hr_graph_free(g);
}

/* An If whose branches both are the function. */
static hr_node branch_to(hr_graph *g, const hr_function *f, hr_node handle)
{
    const hr_func func = {.name = (char *)(uintptr_t)hr_function_name(f)};
    const hr_dtype in = HR_RESOURCE, out = HR_FLOAT;
    return hr_new_node(g, "If", HR_INPUTS(hr_greater(hr_scalar(g, HR_FLOAT, 1), hr_scalar(g, HR_FLOAT, 0)), handle),
                       HR_ATTRS(HR_TYPES_ATTR("Tin", &in, 1), HR_TYPES_ATTR("Tout", &out, 1),
                                HR_FUNC_ATTR("then_branch", &func), HR_FUNC_ATTR("else_branch", &func)));
}

/* Each function has one before as both of its branches, so that copies for each caller double with each level. */
static void functions_that_double_at_each_level_are_refused(void **state)
{
    (void)state;
    enum { LEVELS = 40 };
    hr_error err;
    hr_graph *frozen, *g = hr_graph_new();
    const hr_node v = hr_get_variable(g, "v", HR_FLOAT, HR_SCALAR, .initializer = hr_ones());
    const hr_function *f = NULL;
    for (int level = 0; level < LEVELS; level++) {
        hr_graph *body = hr_function_begin(g, "level");
        const hr_node handle = hr_function_input(body, HR_RESOURCE, HR_SCALAR, "handle");
        const hr_node result = f ? branch_to(body, f, handle) : read_of(body, handle);
        f = hr_function_end(body, &result, 1);
        assert_non_null(f);
    }
    const hr_node y = branch_to(g, f, v), init = hr_target(hr_global_variables_initializer(g));
    hr_session *s = hr_session_new(g);
    assert_ok(hr_session_run(s, NULL, 0, &init, 1, NULL, &err), &err);
    assert_status(hr_freeze_graph(s, &y, 1, &frozen, &err), HR_UNIMPLEMENTED);
    assert_string_equal(err.kind, "transform.variable");
    assert_text_contains(err.text, "calls of functions");
    assert_null(frozen);
    hr_session_free(s);
    hr_graph_free(g);
}

static void freezing_a_loop_may_lack_memory(void **state)
{
    (void)state;
    hr_error err;
    looped l = {.assigns = false};
    hr_node y;
    hr_graph *g = hr_graph_new();
    hr_session *s = loop_session(&l, g, &y);
    for (int64_t n = 0;; n += 1 + n / 20) {
        hr_graph *frozen = NULL;
        fail_allocation(n);
        const hr_status st = hr_freeze_graph(s, &y, 1, &frozen, &err);
        const int64_t made = allocations_since();
        fail_allocation(INT64_MAX);
        hr_graph_free(frozen);
        if (st != HR_OK) assert_status(st, HR_RESOURCE_EXHAUSTED);
        if (made <= n) break;
    }
    hr_session_free(s);
    hr_graph_free(g);
}

/* ---- what is wrong ---- */

static void transform_refuses(const char *transforms, const char *kind, const char *part)
{
    hr_error err = {0};
    hr_graph *g = read_graph(LAYER), *out;
    const hr_node y = hr_graph_node(g, "y:0");
    assert_not_ok(hr_graph_transform(g, transforms, &y, 1, &out, &err));
    assert_string_equal(err.kind, kind);
    assert_text_contains(err.text, part);
    assert_null(out);
    hr_graph_free(g);
}

#define CALL(node, name, input, of)                                                                                    \
    node " { name: '" name "' op: 'StatefulPartitionedCall' " input " attr { key: 'Tin' value { list { type: "         \
         "DT_RESOURCE type: DT_FLOAT } } } attr { key: 'Tout' value { list { type: DT_FLOAT } } } attr { key: 'f' "    \
         "value { "                                                                                                    \
         "func { name: '" of "' } } } } "
#define SIGNATURE(name)                                                                                                \
    "signature { name: '" name "' input_arg { name: 'v' type: DT_RESOURCE } input_arg { name: 'a' type: DT_FLOAT } "   \
    "output_arg { name: 'r' type: DT_FLOAT } } "
#define Y_CALLS_OUTER CALL("node", "y", "input: 'w' input: 'x'", "outer")
#define OUTER_CALLS_INNER CALL("node_def", "call", "input: 'v' input: 'a'", "inner")
#define INNER SIGNATURE("inner")
#define OUTER SIGNATURE("outer")
/* y = outer(w, x), which calls inner(v, a) = a * v. */
static const char *const CALLS =
    "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } } "
    "node { name: 'w' op: 'VarHandleOp' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { "
    "shape { } } } attr { key: 'shared_name' value { s: 'w' } } } " Y_CALLS_OUTER "library { function { " INNER
    "node_def { name: 'read' op: 'ReadVariableOp' input: 'v' attr { key: 'dtype' value { type: DT_FLOAT } } } "
    "node_def { name: 'm' op: 'Mul' input: 'a' input: 'read:value:0' attr { key: 'T' value { type: DT_FLOAT } } } "
    "node_def { name: 'after' op: 'NoOp' input: '^m' } ret { key: 'r' value: 'm:z:0' } control_ret { key: 'c' value: "
    "'after' } } function { " OUTER OUTER_CALLS_INNER "ret { key: 'r' value: 'call:output:0' } } }";

static void calls_become_the_nodes_of_their_functions(void **state)
{
    (void)state;
    hr_error err;
    hr_graph *g = read_graph(CALLS), *inlined, *frozen;
    const hr_node y = hr_graph_node(g, "y:0"), w = hr_graph_node(g, "w");
    const hr_tensor three = hr_tensor_of(HR_FLOAT, HR_SCALAR, (float[]){3});
    assert_ok(hr_graph_transform(g, "inline_functions", &y, 1, &inlined, &err), &err);
    assert_string_equal(hr_node_op(hr_graph_node(inlined, "y")), "IdentityN");
    assert_string_equal(hr_node_op(hr_graph_node(inlined, "y/call/m")), "Mul");
    assert_int_equal(hr_node_controls(hr_graph_node(inlined, "y/call")), 1);
    hr_session *s = hr_session_new(g);
    assert_ok(hr_session_set(s, w, &three, &err), &err);
    assert_ok(hr_freeze_graph(s, &y, 1, &frozen, &err), &err);
    hr_session_free(s);
    s = hr_session_new(frozen);
    hr_tensor got;
    const hr_node out = hr_graph_node(frozen, "y:0");
    const hr_feed feed = {hr_graph_node(frozen, "x:0"), hr_tensor_of(HR_FLOAT, HR_SCALAR, (float[]){5})};
    assert_ok(hr_session_run(s, &feed, 1, &out, 1, &got, &err), &err);
    assert_near(*(const float *)got.data, 15, 1e-6);
    hr_tensor_clear(&got);
    hr_session_free(s);
    hr_graph_free(frozen);
    hr_graph_free(inlined);
    hr_graph_free(g);
}

#define Y_CALLS_F CALL("node", "y", "input: 'w' input: 'x'", "f")
#define F_CALLS_F CALL("node_def", "again", "input: 'v' input: 'a'", "f")
#define F SIGNATURE("f")
static void functions_that_call_themselves_are_not_inlined(void **state)
{
    (void)state;
    static const char *const SELF =
        "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } } "
        "node { name: 'w' op: 'VarHandleOp' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { "
        "shape { } } } } " Y_CALLS_F "library { function { " F F_CALLS_F "ret { key: 'r' value: 'again:output:0' } } }";
    hr_error err;
    hr_graph *g = read_graph(SELF), *out;
    const hr_node y = hr_graph_node(g, "y:0");
    assert_status(hr_graph_transform(g, "inline_functions", &y, 1, &out, &err), HR_UNIMPLEMENTED);
    assert_string_equal(err.kind, "transform.function");
    hr_graph_free(g);
}

static void wrong_transforms_are_refused(void **state)
{
    (void)state;
    transform_refuses("fold_everything", "transform.name", "'fold_everything'");
    transform_refuses("remove_device(op=x)", "transform.argument", "it has none");
    transform_refuses("remove_nodes(op=Identity", "transform.argument", "',' or ')'");
    transform_refuses("remove_nodes(op='Identity)", "transform.argument", "value in quotes");
    transform_refuses("remove_nodes(op)", "transform.argument", "'='");
    transform_refuses("remove_nodes", "transform.argument", "an op");
    transform_refuses("remove_nodes(op=Neg, max_inputs=two)", "transform.argument", "a whole number");
    transform_refuses("fold_constants(ignore_errors=1)", "transform.argument", "true or false");
    transform_refuses(")", "transform.argument", "column 1");
    transform_refuses("rename_node(old_node_name=none, new_node_name=b)", "transform.argument", "'none'");
    transform_refuses("rename_node(old_node_name=a, new_node_name=b)", "transform.argument", "no node has");
    transform_refuses("rename_node(old_node_name=y, new_node_name=z)", "transform.output", "'y'");
    transform_refuses("rename_node(old_node_name=a, new_node_name='_ !')", "graph.name", "_ !");
    transform_refuses("set_device(device=moon)", "graphdef.device", "moon");
    hr_error err;
    hr_graph *g = read_graph(LAYER), *out;
    assert_status(hr_graph_transform(g, "strip_unused_nodes", NULL, 0, &out, &err), HR_INVALID_ARGUMENT);
    assert_string_equal(err.kind, "transform.output");
    assert_ok(hr_graph_transform(g, "remove_device", NULL, 0, &out, &err), &err);
    hr_graph_free(out);
    hr_graph_free(g);
}

static void every_transform_has_a_line_and_is_found(void **state)
{
    (void)state;
    for (int i = 0; hr_transform_at(i); i++) {
        const hr_transform_info *t = hr_transform_at(i);
        hr_error err;
        assert_ok(hr_transforms_check(t->name, &err), &err);
        assert_true(*t->text != 0);
        assert_true(i == 0 || strcmp(hr_transform_at(i - 1)->name, t->name) < 0);
    }
    assert_null(hr_transform_at(-1));
}

static hr_status life_of_transforms(hr_error *err)
{
    hr_graph *g = hr_graph_new(), *out = NULL;
    *err = (hr_error){0};
    hr_status st = g ? hr_graph_import(g, hr_text_view(LAYER), err, .text = true) : HR_RESOURCE_EXHAUSTED;
    const hr_node y = hr_graph_node(g, "y:0");
    if (st == HR_OK)
        st = hr_graph_transform(g,
                                HR_OPTIMIZE_FOR_INFERENCE " merge_duplicate_nodes quantize_weights(minimum_size=2) "
                                                          "set_device(device='/cpu:0') sort_by_execution_order",
                                &y, 1, &out, err);
    hr_graph_free(out);
    hr_graph_free(g);
    return st;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    hr_error err;
    fail_allocation(-1);
    assert_ok(life_of_transforms(&err), &err);
    const int64_t all = allocations_since(), before = allocations_alive();
    for (int64_t n = 0; n < all; n += n < 300 ? 1 : 5) {
        fail_allocation(n);
        const hr_status st = life_of_transforms(&err);
        allocations_since();
        if (st != HR_RESOURCE_EXHAUSTED && st != HR_OK)
            fail_msg("allocation %d: %s: %s", (int)n, hr_status_name(st), err.text);
        assert_int_equal(allocations_alive(), before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_transform_keeps_results),
        cmocka_unit_test(devices_and_order_are_as_asked_for),
        cmocka_unit_test(inputs_become_placeholders),
        cmocka_unit_test(large_weights_become_bytes),
        cmocka_unit_test(a_normalization_goes_into_the_weights),
        cmocka_unit_test(passes_keep_results_and_names),
        cmocka_unit_test(a_frozen_graph_gives_what_the_session_gave),
        cmocka_unit_test(what_changes_a_variable_is_not_frozen),
        cmocka_unit_test(variables_that_loops_and_branches_read_are_frozen),
        cmocka_unit_test(a_variable_that_a_loop_changes_is_not_frozen),
        cmocka_unit_test(functions_that_double_at_each_level_are_refused),
        cmocka_unit_test(freezing_a_loop_may_lack_memory),
        cmocka_unit_test(calls_become_the_nodes_of_their_functions),
        cmocka_unit_test(functions_that_call_themselves_are_not_inlined),
        cmocka_unit_test(wrong_transforms_are_refused),
        cmocka_unit_test(every_transform_has_a_line_and_is_found),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
