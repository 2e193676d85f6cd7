/* What each node computes, as TensorFlow does: one node a case, with inputs of unknown shape, then what is inferred
 * from known shapes and from constants; and nodes that use a variable. */
#include "tests/train/ops/graph_case.h"

#include <stdio.h>
#include <string.h>

static const cJSON *of(const golden_case *c, const char *key) { return golden_get(c->json, key); }

static bool outputs_fit(golden_case *c, const cJSON *expected, hr_tensor *got, int count)
{
    for (int i = 0; i < count; i++) {
        const cJSON *one = cJSON_GetArrayItem(expected, i);
        char what[32];
        snprintf(what, sizeof what, "output %d", i);
        if (one && !cJSON_IsNull(one) && !golden_equal_json(c, what, one, &got[i])) return false;
    }
    return true;
}

/* The expected outputs, or any of `accept`. */
static bool any_fits(golden_case *c, const cJSON *expected, hr_tensor *got, int count)
{
    const cJSON *other;
    if (outputs_fit(c, expected, got, count)) return true;
    cJSON_ArrayForEach(other, of(c, "accept"))
    {
        if (outputs_fit(c, other, got, count)) return true;
    }
    return false;
}

/* ---- one node ---- */

typedef struct built {
    hr_graph *g;
    hr_node input[CASE_MAX], output[CASE_MAX], node;
    int outputs;
} built;

static built build(const golden_case *c, const hr_graph_op *op, const case_tensors *in, case_inputs how)
{
    built b = {.g = hr_graph_new()};
    for (int i = 0; i < in->count; i++) b.input[i] = case_input(b.g, &in->value[i], how);
    b.node = case_node(b.g, op, of(c, "attrs"), b.input, in->count);
    b.outputs = hr_node_outputs(b.node);
    for (int i = 0; i < b.outputs; i++) b.output[i] = hr_node_output(b.node, i);
    return b;
}

static bool run_and_compare(golden_case *c, const built *b, hr_session *s, const case_tensors *in, const char *key)
{
    hr_feed feeds[CASE_MAX];
    hr_tensor out[CASE_MAX] = {0};
    hr_error err = {0};
    const cJSON *expectation = golden_expectation(c->json, false);
    for (int i = 0; i < in->count; i++) feeds[i] = (hr_feed){b->input[i], in->value[i]};
    const hr_node target = hr_target(b->node);
    const hr_status st = b->outputs ? hr_session_run(s, feeds, in->count, b->output, b->outputs, out, &err)
                                    : hr_session_run(s, feeds, in->count, &target, 1, out, &err);
    if (st != HR_OK) return case_error_fits(c, expectation, &err);
    const char *class = golden_error_class(expectation);
    bool fits = !class;
    if (class) golden_differs(c, "expected %s, got a result", class);
    const cJSON *expected = strcmp(key, "expect") == 0 ? golden_get(expectation, key) : of(c, key);
    if (fits) fits = any_fits(c, expected ? expected : of(c, key), out, b->outputs);
    for (int i = 0; i < b->outputs; i++) hr_tensor_clear(&out[i]);
    return fits;
}

static bool values_fit(golden_case *c, const hr_graph_op *op, const case_tensors *in)
{
    built b = build(c, op, in, CASE_UNKNOWN_SHAPES);
    hr_session *s = hr_session_new(b.g, .workers = &(int){0});
    bool fits = run_and_compare(c, &b, s, in, "expect");
    if (fits && of(c, "expect_second_run")) fits = run_and_compare(c, &b, s, in, "expect_second_run");
    hr_session_free(s);
    hr_graph_free(b.g);
    return fits;
}

static bool inference_fits(golden_case *c, const hr_graph_op *op, const case_tensors *in, case_inputs how)
{
    const bool constants = how == CASE_CONSTANTS;
    const cJSON *shapes = of(c, constants ? "inferred_const" : "inferred");
    const cJSON *refused = of(c, constants ? "static_error_const" : "static_error");
    if (!shapes && !refused) return true;
    built b = build(c, op, in, how);
    bool fits = true;
    if (refused) {
        fits = hr_graph_error(b.g) != NULL;
        if (!fits)
            golden_differs(c, "expected to be refused while the graph is built, %s",
                           constants ? "of constants" : "by shapes");
    } else if (!hr_graph_error(b.g)) {
        for (int i = 0; fits && i < b.outputs; i++)
            fits = case_shape_fits(c, constants ? "of constants" : "by shapes", cJSON_GetArrayItem(shapes, i),
                                   hr_node_shape(b.output[i]));
    } else {
        golden_differs(c, "refused while the graph is built: %s", hr_graph_error(b.g)->text);
        fits = of(c, "error") != NULL;
    }
    hr_graph_free(b.g);
    return fits;
}

static golden_result run_op(golden_case *c)
{
    const char *name = golden_text(c->json, "op", "");
    const hr_graph_op *op = hr_graph_op_named(name);
    case_tensors in;
    if (!op) return golden_not_built(c, "op %s", name);
    bool fits = case_tensors_read(of(c, "inputs"), &in);
    if (!fits) golden_differs(c, "inputs are no dense tensors");
    fits = fits && values_fit(c, op, &in) && inference_fits(c, op, &in, CASE_KNOWN_SHAPES) &&
           inference_fits(c, op, &in, CASE_CONSTANTS);
    case_tensors_clear(&in);
    return fits ? GOLDEN_AGREES : GOLDEN_DIFFERS;
}

/* ---- a variable and a node that uses it ---- */

static hr_shape shape_of(const cJSON *json)
{
    const cJSON *item;
    hr_shape shape = {0, {0}};
    cJSON_ArrayForEach(item, golden_get(json, "shape")) shape.dims[shape.rank++] = golden_number_int64(item);
    return shape;
}

static bool variable_fits(golden_case *c, hr_session *s, hr_node variable)
{
    hr_tensor now;
    hr_error err = {0};
    const cJSON *instead = of(c, "default"), *after = golden_whole(of(c, "variable_after"));
    const char *class = golden_text(of(c, "variable_after_error"), "class", NULL);
    if ((!after && !class) || instead) return true;
    if (hr_session_get(s, variable, &now, &err) != HR_OK) {
        if (class && strcmp(hr_status_name(err.code), class) == 0) return true;
        golden_differs(c, "the variable: %s", err.text);
        return false;
    }
    const bool fits = golden_equal_json(c, "the variable", of(c, "variable_after"), &now);
    hr_tensor_clear(&now);
    return fits;
}

static golden_result run_state(golden_case *c)
{
    const char *name = golden_text(c->json, "op", "");
    const hr_graph_op *op = hr_graph_op_named(name);
    const cJSON *initial = of(c, "initial");
    case_tensors in;
    if (!op || strcmp(golden_text(c->json, "variable", ""), "resource") != 0) return golden_not_built(c, "op %s", name);
    if (!case_tensors_read(of(c, "inputs"), &in)) return golden_differs(c, "inputs are no dense tensors");
    built b = {.g = hr_graph_new()};
    const hr_node v = hr_get_variable(b.g, "v", hr_dtype_named(golden_text(initial, "dtype", "")), shape_of(initial),
                                      .initializer = hr_zeros());
    hr_node inputs[CASE_MAX] = {v};
    for (int i = 0; i < in.count; i++) inputs[i + 1] = b.input[i] = case_input(b.g, &in.value[i], CASE_UNKNOWN_SHAPES);
    b.node = case_node(b.g, op, of(c, "attrs"), inputs, in.count + 1);
    b.outputs = hr_node_outputs(b.node);
    for (int i = 0; i < b.outputs; i++) b.output[i] = hr_node_output(b.node, i);
    hr_session *s = hr_session_new(b.g, .workers = &(int){0});
    hr_tensor begin = {0};
    if (!golden_bool(initial, "uninitialized", false) && golden_tensor(initial, &begin)) {
        hr_session_set(s, v, &begin, NULL);
        golden_tensor_clear(&begin);
    }
    const bool fits = run_and_compare(c, &b, s, &in, "expect") && variable_fits(c, s, v);
    hr_session_free(s);
    hr_graph_free(b.g);
    case_tensors_clear(&in);
    return fits ? GOLDEN_AGREES : GOLDEN_DIFFERS;
}

static golden_result run_case(golden_case *c)
{
    const char *kind = golden_text(c->json, "kind", "op");
    if (strcmp(kind, "op") == 0) return run_op(c);
    if (strcmp(kind, "state") == 0) return run_state(c);
    return golden_not_built(c, "kind %s", kind);
}

int main(void) { return golden_main("ops", GOLDEN_ROOT, run_case); }
