/* What each node computes, as TensorFlow does: one node a case, with inputs of unknown shape, then what is inferred
 * from known shapes and from constants; and nodes that use a variable. */
#include "tests/train/ops/graph_case.h"

#include <headrace/arrays.h>
#include <headrace/eager.h>
#include <headrace/graphdef.h>
#include <headrace/network.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cJSON *of(const golden_case *c, const char *key) { return golden_get(c->json, key); }

static const char *const sparse_parts[] = {"indices", "values", "dense_shape"};

/* A sparse output is three. */
static bool outputs_fit(golden_case *c, const cJSON *expected, hr_tensor *got, int count)
{
    const cJSON *one = expected ? expected->child : NULL;
    for (int i = 0, part = 0; i < count && one; i++) {
        const bool sparse = golden_bool(one, "sparse", false);
        const cJSON *json = sparse ? golden_get(one, sparse_parts[part]) : one;
        char what[32];
        snprintf(what, sizeof what, "output %d", i);
        if (!cJSON_IsNull(json) && !golden_equal_json(c, what, json, &got[i])) return false;
        part = sparse ? (part + 1) % 3 : 0;
        if (part == 0) one = one->next;
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
    hr_session *s = hr_session_new(b.g, .workers = &(int){0}, .passes = getenv("HEADRACE_PASSES"));
    bool fits = run_and_compare(c, &b, s, in, "expect");
    if (fits && of(c, "expect_second_run")) fits = run_and_compare(c, &b, s, in, "expect_second_run");
    hr_session_free(s);
    hr_graph_free(b.g);
    return fits;
}

/* The same in an eager graph. */
static bool eager_value_fits(golden_case *c, const hr_graph_op *op, const hr_node *inputs, int count, hr_graph *g,
                             const char *key)
{
    hr_tensor out[CASE_MAX] = {0};
    const cJSON *expectation = golden_expectation(c->json, false);
    const hr_node node = case_node(g, op, of(c, "attrs"), inputs, count);
    if (hr_graph_error(g)) return case_error_fits(c, expectation, hr_graph_error(g));
    const int outputs = hr_node_outputs(node);
    for (int i = 0; i < outputs; i++) hr_eager_get(hr_node_output(node, i), &out[i], NULL);
    const char *class = golden_error_class(expectation);
    if (class) golden_differs(c, "eager: expected %s, got a result", class);
    const cJSON *expected = strcmp(key, "expect") == 0 ? golden_get(expectation, key) : of(c, key);
    const bool fits = !class && any_fits(c, expected ? expected : of(c, key), out, outputs);
    for (int i = 0; i < outputs; i++) hr_tensor_clear(&out[i]);
    return fits;
}

static bool eager_values_fit(golden_case *c, const hr_graph_op *op, const case_tensors *in)
{
    hr_graph *g = hr_eager_new(.workers = &(int){0});
    hr_node inputs[CASE_MAX];
    for (int i = 0; i < in->count; i++) inputs[i] = case_input(g, &in->value[i], CASE_CONSTANTS);
    const bool skips = op->traits & (HR_SWITCHES | HR_MERGES) || strcmp(op->name, "Placeholder") == 0;
    bool fits = skips || eager_value_fits(c, op, inputs, in->count, g, "expect");
    if (!skips && fits && of(c, "expect_second_run"))
        fits = eager_value_fits(c, op, inputs, in->count, g, "expect_second_run");
    hr_graph_free(g);
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
    fits = fits && values_fit(c, op, &in) && eager_values_fit(c, op, &in) &&
           inference_fits(c, op, &in, CASE_KNOWN_SHAPES) && inference_fits(c, op, &in, CASE_CONSTANTS);
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
    const char *kind = golden_text(c->json, "variable", "");
    if (!op || (strcmp(kind, "resource") != 0 && strcmp(kind, "ref") != 0)) return golden_not_built(c, "op %s", name);
    if (!case_tensors_read(of(c, "inputs"), &in)) return golden_differs(c, "inputs are no dense tensors");
    built b = {.g = hr_graph_new()};
    const hr_dtype dtype = hr_dtype_named(golden_text(initial, "dtype", ""));
    const hr_node v =
        strcmp(kind, "ref") == 0
            ? hr_new_node(b.g, "VariableV2", .name = "v",
                          HR_ATTRS(HR_TYPE_ATTR("dtype", dtype), HR_SHAPE_ATTR("shape", shape_of(initial))))
            : hr_get_variable(b.g, "v", dtype, shape_of(initial), .initializer = hr_zeros());
    hr_node inputs[CASE_MAX] = {v};
    for (int i = 0; i < in.count; i++) inputs[i + 1] = b.input[i] = case_input(b.g, &in.value[i], CASE_UNKNOWN_SHAPES);
    b.node = case_node(b.g, op, of(c, "attrs"), inputs, in.count + 1);
    b.outputs = hr_node_outputs(b.node);
    for (int i = 0; i < b.outputs; i++) b.output[i] = hr_node_output(b.node, i);
    hr_session *s = hr_session_new(b.g, .workers = &(int){0}, .passes = getenv("HEADRACE_PASSES"));
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

/* ---- a graph of a file, run several times in one session ---- */

/* The file of a feed, beside the cases. */
static hr_tensor path_of(const golden_case *c, const cJSON *name, char *path, size_t size, hr_view *view)
{
    snprintf(path, size, "%s/%s", c->folder, name->valuestring);
    *view = hr_text_view(path);
    return hr_tensor_of(HR_STRING, HR_SCALAR, view);
}

/* Graphs that TensorFlow's sharing of memory decides. It hands out what a variable holds without a copy, so that later
 * updates show in what was read before; here a value that was read stays what it was. */
static bool shares_memory_there(const golden_case *c)
{
    static const char *const names[] = {
        "control_dependencies", /* Identity of a reference variable, used before and after AssignAdd */
        "stateful_while",       /* 2 and then 4 are added up to 8, since the 2 has become 4 meanwhile */
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(c->name, names[i]) == 0) return true;
    return false;
}

/* A tensor is fed to the node of its name, a list to NAME_0 and so on, a sparse tensor to the nodes of its parts. */
static bool add_feed(hr_graph *g, const char *name, const cJSON *item, hr_feed *feeds, int *count)
{
    char part[256];
    int at = 0;
    const cJSON *one;
    bool read = true;
    if (cJSON_IsArray(item)) {
        cJSON_ArrayForEach(one, item)
        {
            snprintf(part, sizeof part, "%s_%d", name, at++);
            read &= add_feed(g, part, one, feeds, count);
        }
        return read;
    }
    if (golden_bool(item, "sparse", false)) {
        for (int i = 0; i < 3; i++) {
            snprintf(part, sizeof part, "%s/%s", name, i == 2 ? "shape" : sparse_parts[i]);
            read &= add_feed(g, part, golden_get(item, sparse_parts[i]), feeds, count);
        }
        return read;
    }
    if (*count == CASE_MAX || !golden_tensor(item, &feeds[*count].value)) return false;
    feeds[(*count)++].node = hr_graph_node(g, name);
    return true;
}

static golden_result run_once(golden_case *c, hr_graph *g, hr_session *s, const cJSON *run, const char *feeds_key)
{
    hr_feed feeds[CASE_MAX];
    hr_node fetches[CASE_MAX];
    hr_tensor out[CASE_MAX] = {0};
    char path[4][1024];
    hr_view view[4];
    hr_error err = {0};
    const cJSON *item, *expectation = golden_expectation(run, false);
    int feed_count = 0, files = 0, count = 0, values;
    cJSON_ArrayForEach(item, golden_fields(of(c, "file_feeds")))
    {
        if (files == 4) break;
        feeds[feed_count++] =
            (hr_feed){hr_graph_node(g, item->string), path_of(c, item, path[files], sizeof path[files], &view[files])};
        files++;
    }
    cJSON_ArrayForEach(item, golden_fields(golden_get(run, feeds_key)))
    {
        if (!add_feed(g, item->string, item, feeds, &feed_count)) return golden_differs(c, "a feed cannot be read");
    }
    cJSON_ArrayForEach(item, golden_get(run, "fetches"))
    {
        fetches[count] = hr_graph_node(g, item->valuestring);
        if (fetches[count++].graph) continue;
        count--;
        for (int i = 0; i < 3; i++) { /* a sparse tensor */
            char part[256];
            snprintf(part, sizeof part, "%s/%s", item->valuestring, i == 2 ? "shape" : sparse_parts[i]);
            fetches[count++] = hr_graph_node(g, part);
        }
    }
    values = count;
    cJSON_ArrayForEach(item, golden_get(run, "targets")) fetches[count++] =
        hr_target(hr_graph_node(g, item->valuestring));
    const hr_status st = hr_session_run(s, feeds, feed_count, fetches, count, out, &err);
    const char *class = golden_error_class(expectation);
    golden_result result = GOLDEN_AGREES;
    if (st == HR_UNIMPLEMENTED && strcmp(err.kind, "graph.kernel") == 0)
        result = golden_not_built(c, "%s", err.text);
    else if (st != HR_OK)
        result = case_error_fits(c, expectation, &err) ? GOLDEN_AGREES : GOLDEN_DIFFERS;
    else if (class)
        result = golden_differs(c, "expected %s, got a result", class);
    else if (!outputs_fit(c, golden_get(expectation, "expect"), out, values))
        result = GOLDEN_DIFFERS;
    if (result == GOLDEN_DIFFERS && shares_memory_there(c))
        result = golden_not_built(c, "values that later updates of their variable change");
    for (int i = 0; i < count; i++) hr_tensor_clear(&out[i]);
    for (int i = files; i < feed_count; i++) golden_tensor_clear(&feeds[i].value);
    return result;
}

/* Of a function of TensorFlow's library, the graph that it made of its parameters and weights, which runs once. */
static golden_result run_graph(golden_case *c, bool function)
{
    hr_error err = {0};
    const cJSON *run;
    const hr_view bytes = golden_file(c, golden_text(c->json, "graph", ""));
    hr_graph *g = hr_graph_new();
    const hr_status st = bytes.size < 0 ? HR_NOT_FOUND : hr_graph_import(g, bytes, &err, .text = false);
    golden_result result = GOLDEN_AGREES;
    free((void *)(uintptr_t)bytes.data);
    if (st != HR_OK)
        result = st == HR_UNIMPLEMENTED ? golden_not_built(c, "%s", err.text) : golden_differs(c, "%s", err.text);
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    if (function) golden_whole(of(c, "function")), golden_whole(of(c, "params")), golden_whole(of(c, "weights"));
    cJSON_ArrayForEach(run, of(c, "runs"))
    {
        if (result == GOLDEN_AGREES) result = run_once(c, g, s, run, "feeds");
    }
    if (function && result == GOLDEN_AGREES) result = run_once(c, g, s, c->json, "inputs");
    hr_session_free(s);
    hr_graph_free(g);
    return result;
}

/* ---- functions that the library has as constructors ---- */

static hr_node make_function(hr_graph *g, const golden_case *c, const hr_node *in)
{
    const cJSON *params = of(c, "params"), *noise = golden_get(params, "noise_shape"), *item;
    if (strcmp(golden_text(c->json, "function", ""), "boolean_mask") == 0) return hr_boolean_mask(in[0], in[1], 0);
    hr_shape shape = HR_SCALAR;
    cJSON_ArrayForEach(item, noise) shape.dims[shape.rank++] = golden_number_int64(item);
    return hr_dropout(in[0], (float)golden_get(params, "rate")->valuedouble,
                      .noise_shape = shape.rank ? hr_shape_const(g, shape) : (hr_node){0});
}

/* One of two values in each place, whole columns of one, and about as many as expected that are not 0. */
static bool draws_fit(golden_case *c, const hr_tensor *got)
{
    const cJSON *expected = of(c, "expect"), *share = golden_get(expected, "kept_share");
    const double low = cJSON_GetArrayItem(golden_get(expected, "values"), 0)->valuedouble;
    const double high = cJSON_GetArrayItem(golden_get(expected, "values"), 1)->valuedouble;
    const bool columns = golden_bool(expected, "whole_columns", false);
    const float *value = got->data;
    const int64_t width = got->shape.dims[1];
    int64_t kept = 0;
    for (int64_t i = 0; i < got->count; i++) {
        if ((value[i] != (float)low && value[i] != (float)high) || (columns && value[i] != value[i % width])) {
            golden_differs(c, "value %lld is %g, beside %g", (long long)i, (double)value[i], (double)value[i % width]);
            return false;
        }
        kept += value[i] != (float)low;
    }
    const double part = (double)kept / (double)got->count;
    if (!cJSON_IsArray(share) ||
        (part >= cJSON_GetArrayItem(share, 0)->valuedouble && part <= cJSON_GetArrayItem(share, 1)->valuedouble))
        return true;
    golden_differs(c, "kept %g of the values", part);
    return false;
}

static bool function_fits(golden_case *c, hr_graph *g, hr_node node, const hr_feed *feeds, int feed_count)
{
    const cJSON *expectation = golden_expectation(c->json, false);
    hr_tensor out[2] = {{0}, {0}};
    hr_error err = {0};
    if (hr_graph_error(g)) return case_error_fits(c, expectation, hr_graph_error(g));
    hr_session *s = hr_session_new(g, .workers = &(int){0});
    hr_status st = hr_session_run(s, feeds, feed_count, &node, 1, &out[0], &err);
    if (st == HR_OK) st = hr_session_run(s, feeds, feed_count, &node, 1, &out[1], &err);
    bool fits = st == HR_OK ? !golden_error_class(expectation) && draws_fit(c, &out[0]) && draws_fit(c, &out[1])
                            : case_error_fits(c, expectation, &err);
    /* Whole columns may be the same by chance, in one of 16 runs. */
    if (st == HR_OK && fits && !golden_bool(of(c, "expect"), "whole_columns", false) &&
        memcmp(out[0].data, out[1].data, (size_t)out[0].count * sizeof(float)) == 0) {
        golden_differs(c, "the second run is the same");
        fits = false;
    }
    for (int i = 0; i < 2; i++) hr_tensor_clear(&out[i]);
    hr_session_free(s);
    return fits;
}

/* Also a tensor of one number in all places. */
static bool read_value(const cJSON *json, hr_tensor *out)
{
    const cJSON *fill = golden_get(json, "fill");
    if (!fill) return golden_tensor(json, out);
    const hr_shape shape = shape_of(json);
    *out = hr_tensor_of(hr_dtype_named(golden_text(json, "dtype", "")), shape,
                        malloc((size_t)hr_shape_count(shape) * sizeof(float)));
    if (!out->data || out->dtype != HR_FLOAT) return false;
    for (int64_t i = 0; i < out->count; i++) ((float *)out->data)[i] = (float)fill->valuedouble;
    return true;
}

static golden_result run_function(golden_case *c)
{
    const char *names[] = {"x", "m"};
    hr_tensor value[2] = {{0}, {0}};
    hr_graph *g = hr_graph_new();
    hr_feed feeds[2] = {0};
    hr_node in[2] = {{0}, {0}};
    int count = 0;
    for (int i = 0; i < 2; i++) {
        const cJSON *json = golden_get(of(c, "inputs"), names[i]);
        if (!json || !read_value(json, &value[i])) continue;
        in[count] = case_input(g, &value[i], CASE_KNOWN_SHAPES);
        feeds[count] = (hr_feed){in[count], value[i]};
        count++;
    }
    golden_whole(of(c, "params")), golden_whole(of(c, "expect"));
    const hr_node node = make_function(g, c, in);
    const bool fits = count > 0 && function_fits(c, g, node, feeds, count);
    for (int i = 0; i < count; i++) golden_tensor_clear(&value[i]);
    hr_graph_free(g);
    return fits ? GOLDEN_AGREES : GOLDEN_DIFFERS;
}

static bool has_constructor(const golden_case *c)
{
    const char *name = golden_text(c->json, "function", "");
    return strcmp(name, "nn.dropout") == 0 || strcmp(name, "boolean_mask") == 0;
}

static golden_result run_case(golden_case *c)
{
    const char *kind = golden_text(c->json, "kind", "op");
    if (strcmp(kind, "op") == 0) return run_op(c);
    if (strcmp(kind, "state") == 0) return run_state(c);
    if (strcmp(kind, "graph") == 0) return run_graph(c, false);
    if (strcmp(kind, "function") == 0 && of(c, "graph")) return run_graph(c, true);
    if (has_constructor(c)) return run_function(c);
    return golden_not_built(c, "kind %s", kind);
}

int main(void) { return golden_main("ops", GOLDEN_ROOT, run_case); }
