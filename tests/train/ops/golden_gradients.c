/* The gradient of each op, as tf.gradients builds it: floats are fed, integers are constants, as in real graphs. Those
 * of whole graphs from files, made here and as TensorFlow made them; and models that are trained. */
#include "tests/train/ops/graph_case.h"
#include "train/graphdef/graphdef.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cJSON *of(const golden_case *c, const char *key) { return golden_get(c->json, key); }
static bool is_float(hr_dtype dtype) { return dtype == HR_FLOAT || dtype == HR_DOUBLE; }

/* What one case makes. */
typedef struct gradient_case {
    hr_graph *g;
    hr_node input[CASE_MAX], y[CASE_MAX], grad_y[CASE_MAX], x[CASE_MAX];
    int ys, xs;
    hr_gradient out[CASE_MAX];
} gradient_case;

static void build(golden_case *c, const hr_graph_op *op, const case_tensors *in, const case_tensors *up,
                  gradient_case *k)
{
    const cJSON *item;
    k->g = hr_graph_new();
    for (int i = 0; i < in->count; i++)
        k->input[i] =
            case_input(k->g, &in->value[i], is_float(in->value[i].dtype) ? CASE_KNOWN_SHAPES : CASE_CONSTANTS);
    const hr_node node = case_node(k->g, op, of(c, "attrs"), k->input, in->count);
    cJSON_ArrayForEach(item, of(c, "outputs_used"))
    {
        k->y[k->ys] = hr_node_output(node, (int)golden_number_int64(item));
        if (k->ys < up->count) k->grad_y[k->ys] = hr_const(k->g, &up->value[k->ys]);
        k->ys++;
    }
    cJSON_ArrayForEach(item, of(c, "wrt")) k->x[k->xs++] = k->input[golden_number_int64(item)];
    hr_gradients(k->y, k->ys, k->x, k->xs, k->out, .grad_ys = k->grad_y);
}

/* Slices as JSON, summed into a dense tensor. */
static bool dense_sum(const cJSON *json, hr_tensor *out)
{
    hr_tensor values, indices, shape;
    if (!golden_tensor(golden_get(json, "values"), &values)) return false;
    if (!golden_tensor(golden_get(json, "indices"), &indices)) return false;
    hr_shape dense = values.shape;
    if (golden_get(json, "dense_shape") && golden_tensor(golden_get(json, "dense_shape"), &shape)) {
        hr_shape_from_tensor(&shape, &dense);
        golden_tensor_clear(&shape);
    }
    if (hr_tensor_new(out, values.dtype, dense, NULL) != HR_OK) return false;
    const size_t size = hr_dtype_size(values.dtype);
    memset(out->data, 0, (size_t)out->count * size);
    const int64_t width = indices.count ? values.count / indices.count : 0;
    for (int64_t i = 0; i < values.count; i++) {
        const int64_t row =
            indices.dtype == HR_INT32 ? ((int32_t *)indices.data)[i / width] : ((int64_t *)indices.data)[i / width];
        const int64_t at = row * width + i % width;
        if (values.dtype == HR_FLOAT)
            ((float *)out->data)[at] += ((float *)values.data)[i];
        else
            ((double *)out->data)[at] += ((double *)values.data)[i];
    }
    golden_tensor_clear(&values);
    golden_tensor_clear(&indices);
    return true;
}

static bool one_fits(golden_case *c, const char *what, const cJSON *expected, hr_tensor *got)
{
    hr_tensor dense;
    if (!golden_bool(expected, "indexed_slices", false)) return golden_equal_json(c, what, expected, got);
    if (!dense_sum(expected, &dense)) {
        golden_differs(c, "%s: not a case of slices", what);
        return false;
    }
    const cJSON *tolerance = of(c, "tolerance");
    const bool fits =
        golden_equal(c, what, &dense, got, tolerance ? golden_number_double(golden_get(tolerance, "rtol")) : 0,
                     tolerance ? golden_number_double(golden_get(tolerance, "atol")) : 0);
    hr_tensor_clear(&dense);
    return fits;
}

static bool kind_fits(golden_case *c, const char *what, const cJSON *expected, hr_gradient got)
{
    const bool slices = golden_bool(expected, "indexed_slices", false);
    if (cJSON_IsNull(expected) != (got.values.graph == NULL))
        golden_differs(c, "%s: expected %s gradient", what, cJSON_IsNull(expected) ? "no" : "a");
    else if (got.values.graph && slices != (got.indices.graph != NULL))
        golden_differs(c, "%s: expected a %s gradient", what, slices ? "sparse" : "dense");
    else
        return true;
    return false;
}

static bool compare(golden_case *c, gradient_case *k, const case_tensors *in)
{
    const cJSON *expected = of(c, "expect");
    hr_node fetch[CASE_MAX];
    hr_tensor out[CASE_MAX] = {0};
    hr_feed feeds[CASE_MAX];
    hr_error err = {0};
    int fetches = 0, n = 0, at[CASE_MAX];
    char what[32];
    for (int i = 0; i < k->xs && !hr_graph_error(k->g); i++) {
        snprintf(what, sizeof what, "of input %d", i);
        if (!of(c, "error") && !kind_fits(c, what, cJSON_GetArrayItem(expected, i), k->out[i])) return false;
        if (!k->out[i].values.graph) continue;
        at[fetches] = i;
        fetch[fetches++] = hr_gradient_dense(k->out[i]);
    }
    for (int i = 0; i < in->count; i++)
        if (is_float(in->value[i].dtype)) feeds[n++] = (hr_feed){k->input[i], in->value[i]};
    hr_session *s = hr_session_new(k->g, .workers = &(int){0}, .passes = getenv("HEADRACE_PASSES"));
    const hr_status st = hr_session_run(s, feeds, n, fetch, fetches, out, &err);
    hr_session_free(s);
    bool fits = st == HR_OK ? !of(c, "error") : case_error_fits(c, c->json, &err);
    if (st == HR_OK && !fits) golden_differs(c, "expected an error, got a result");
    for (int i = 0; st == HR_OK && i < fetches; i++) {
        snprintf(what, sizeof what, "of input %d", at[i]);
        fits = fits && one_fits(c, what, cJSON_GetArrayItem(expected, at[i]), &out[i]);
        hr_tensor_clear(&out[i]);
    }
    return fits;
}

static golden_result run_op(golden_case *c)
{
    const char *name = golden_text(c->json, "op", "");
    const hr_graph_op *op = hr_graph_op_named(name);
    case_tensors in = {.count = 0}, up = {.count = 0};
    of(c, "finite_difference"); /* false at kinks, where differences would prove nothing */
    golden_whole(of(c, "tolerance"));
    of(c, "built_from"); /* the ops of TensorFlow's gradient: ours may be others, and give the same values */
    if (!op) return golden_not_built(c, "op %s", name);
    bool fits = case_tensors_read(of(c, "inputs"), &in) && case_tensors_read(of(c, "upstream"), &up);
    if (!fits) golden_differs(c, "inputs are no dense tensors");
    if (fits) {
        gradient_case *k = calloc(1, sizeof *k);
        build(c, op, &in, &up, k);
        fits = compare(c, k, &in);
        hr_graph_free(k->g);
        free(k);
    }
    case_tensors_clear(&in);
    case_tensors_clear(&up);
    return fits ? GOLDEN_AGREES : GOLDEN_DIFFERS;
}

/* ---- graphs of files ---- */

/* What is run: nodes with what they are expected to give, in order. */
typedef struct checks {
    hr_node fetch[CASE_MAX];
    const cJSON *expected[CASE_MAX];
    int count;
} checks;

static void check_also(checks *k, hr_node fetch, const cJSON *expected)
{
    if (k->count == CASE_MAX) return;
    k->fetch[k->count] = hr_node_dtype(fetch) == HR_RESOURCE ? hr_identity(fetch) : fetch;
    k->expected[k->count++] = expected;
}

/* A graph of a file; *result says why there is none. */
static hr_graph *read_graph(golden_case *c, const char *file, golden_result *result)
{
    hr_error err = {0};
    const hr_view bytes = golden_file(c, file);
    hr_graph *g = hr_graph_new();
    const hr_status st = bytes.size < 0 ? HR_NOT_FOUND : hr_graph_import(g, bytes, &err, .text = false);
    free((void *)(uintptr_t)bytes.data);
    *result = st == HR_OK              ? GOLDEN_AGREES
              : st == HR_UNIMPLEMENTED ? golden_not_built(c, "%s", err.text)
                                       : golden_differs(c, "%s: %s", file, err.text);
    if (st == HR_OK) return g;
    hr_graph_free(g);
    return NULL;
}

static int nodes_named(hr_graph *g, const cJSON *names, hr_node *out)
{
    int count = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, names)
    {
        if (count < CASE_MAX) out[count++] = hr_graph_node(g, item->valuestring);
    }
    return count;
}

/* A sparse one is three: NAME/indices, NAME/values, NAME/shape. */
static void feed_also(hr_graph *g, const cJSON *input, hr_feed *feeds, int *count)
{
    static const char *const parts[] = {"indices", "values", "dense_shape"};
    char name[200];
    const bool sparse = golden_bool(input, "sparse", false);
    for (int i = 0; i < (sparse ? 3 : 1) && *count < CASE_MAX; i++) {
        hr_feed *feed = &feeds[*count];
        snprintf(name, sizeof name, sparse ? "%s/%s" : "%s", input->string, i == 2 ? "shape" : parts[i]);
        feed->node = hr_graph_node(g, name);
        *count += golden_tensor(sparse ? golden_get(input, parts[i]) : input, &feed->value);
    }
}

/* Whether an op of the graph is not built: then it has no gradient, either. */
static bool lacks_op(golden_case *c, hr_graph *g)
{
    for (int i = 0; i < hr_graph_size(g); i++) {
        const char *op = hr_node_op((hr_node){g, i, 0});
        const hr_graph_op *known = hr_graph_op_named(op);
        const bool of_loop = strcmp(op, "Enter") == 0 || strcmp(op, "Exit") == 0 || strcmp(op, "NextIteration") == 0 ||
                             strcmp(op, "LoopCond") == 0;
        if (known || of_loop) continue;
        golden_not_built(c, "op %s", op);
        return true;
    }
    return false;
}

/* Runs it and compares; where an error is expected, with that. */
static golden_result run_checks(golden_case *c, hr_graph *g, hr_session *s, const cJSON *inputs, const checks *k)
{
    hr_feed feeds[CASE_MAX];
    hr_tensor out[CASE_MAX] = {0};
    hr_error err = {0};
    const cJSON *item;
    char what[200];
    int n = 0;
    cJSON_ArrayForEach(item, golden_fields(inputs)) feed_also(g, item, feeds, &n);
    const hr_status st = hr_session_run(s, feeds, n, k->fetch, k->count, out, &err);
    golden_result result = GOLDEN_AGREES;
    if (st == HR_UNIMPLEMENTED)
        result = golden_not_built(c, "%s", err.text);
    else if (st == HR_NOT_FOUND && !of(c, "error") && lacks_op(c, g))
        result = GOLDEN_NOT_BUILT;
    else if (st != HR_OK)
        result = case_error_fits(c, c->json, &err) ? GOLDEN_AGREES : GOLDEN_DIFFERS;
    else if (of(c, "error"))
        result = golden_differs(c, "expected an error, got a result");
    for (int i = 0; i < k->count; i++) {
        snprintf(what, sizeof what, "%d, '%.150s'", i, hr_node_name(k->fetch[i]));
        if (st == HR_OK && result == GOLDEN_AGREES && k->expected[i] && !one_fits(c, what, k->expected[i], &out[i]))
            result = GOLDEN_DIFFERS;
        hr_tensor_clear(&out[i]);
    }
    for (int i = 0; i < n; i++) golden_tensor_clear(&feeds[i].value);
    return result;
}

static golden_result run_alone(golden_case *c, hr_graph *g, const cJSON *inputs, const checks *k)
{
    hr_session *s = hr_session_new(g, .workers = &(int){0}, .passes = getenv("HEADRACE_PASSES"));
    const golden_result result = run_checks(c, g, s, inputs, k);
    hr_session_free(s);
    return result;
}

/* The gradients that this library makes. */
static golden_result made_gradients(golden_case *c, hr_graph *g, const case_tensors *up)
{
    hr_node y[CASE_MAX], x[CASE_MAX], stop[CASE_MAX], grad_y[CASE_MAX];
    hr_gradient out[CASE_MAX];
    checks k = {.count = 0};
    char what[32];
    const int ys = nodes_named(g, of(c, "ys"), y), xs = nodes_named(g, of(c, "xs"), x);
    const int stops = nodes_named(g, of(c, "stop_gradients"), stop);
    for (int i = 0; i < up->count; i++) grad_y[i] = hr_const(g, &up->value[i]);
    hr_gradients(y, ys, x, xs, out, .grad_ys = up->count ? grad_y : NULL, .stop_gradients = stop, .stop_count = stops,
                 .zero_unconnected = strcmp(golden_text(c->json, "unconnected_gradients", "none"), "zero") == 0);
    for (int i = 0; i < ys; i++) check_also(&k, y[i], cJSON_GetArrayItem(of(c, "forward"), i));
    for (int i = 0; i < xs && !hr_graph_error(g); i++) {
        const cJSON *expected = cJSON_GetArrayItem(of(c, "expect"), i);
        snprintf(what, sizeof what, "of x %d", i);
        if (!of(c, "error") && !kind_fits(c, what, expected, out[i])) return GOLDEN_DIFFERS;
        if (out[i].values.graph) check_also(&k, hr_gradient_dense(out[i]), expected);
    }
    return run_alone(c, g, of(c, "inputs"), &k);
}

/* Those that are in the file: a name, or the two of slices. */
static hr_node gradient_named(hr_graph *g, const cJSON *name, const cJSON *expected)
{
    hr_tensor shape;
    if (cJSON_IsString(name)) return hr_graph_node(g, name->valuestring);
    hr_gradient slices = {hr_graph_node(g, golden_text(name, "values", "")),
                          hr_graph_node(g, golden_text(name, "indices", "")),
                          {NULL, 0, 0}};
    if (!golden_tensor(golden_get(expected, "dense_shape"), &shape)) return (hr_node){0};
    slices.dense_shape = hr_const(g, &shape);
    golden_tensor_clear(&shape);
    return hr_gradient_dense(slices);
}

static golden_result read_gradients(golden_case *c)
{
    golden_result result;
    checks k = {.count = 0};
    const cJSON *expected = of(c, "expect"), *names = of(c, "gradient_tensors");
    hr_graph *g = read_graph(c, golden_text(c->json, "graph_with_gradients", ""), &result);
    for (int i = 0; g && i < cJSON_GetArraySize(names); i++) {
        const cJSON *name = cJSON_GetArrayItem(names, i);
        if (!cJSON_IsNull(name))
            check_also(&k, gradient_named(g, name, cJSON_GetArrayItem(expected, i)), cJSON_GetArrayItem(expected, i));
    }
    if (g) result = run_alone(c, g, of(c, "inputs"), &k);
    hr_graph_free(g);
    return result;
}

static golden_result run_graph(golden_case *c)
{
    golden_result result;
    case_tensors up;
    of(c, "finite_difference");
    golden_whole(of(c, "tolerance"));
    if (of(c, "error")) golden_whole(of(c, "forward"));
    if (!case_tensors_read(of(c, "upstream"), &up)) return golden_differs(c, "upstream is no dense tensor");
    hr_graph *g = read_graph(c, golden_text(c->json, "graph", ""), &result);
    if (g) result = made_gradients(c, g, &up);
    hr_graph_free(g);
    case_tensors_clear(&up);
    return result == GOLDEN_AGREES && of(c, "graph_with_gradients") ? read_gradients(c) : result;
}

/* ---- models ---- */

static golden_result run_named(golden_case *c, hr_graph *g, hr_session *s, const char *name, const cJSON *inputs)
{
    checks k = {.count = 0};
    check_also(&k, hr_target(hr_graph_node(g, name)), NULL);
    return run_checks(c, g, s, inputs, &k);
}

/* What the model gives for a batch, and the derivatives of its loss. */
static golden_result model_forward(golden_case *c)
{
    golden_result result;
    hr_node x[CASE_MAX];
    hr_gradient out[CASE_MAX];
    checks k = {.count = 0};
    const cJSON *item, *gradients = golden_fields(of(c, "gradients")), *names = of(c, "trainable");
    hr_graph *g = read_graph(c, golden_text(c->json, "forward_graph", ""), &result);
    if (!g) return result;
    const hr_node loss = hr_graph_node(g, "loss:0");
    const int xs = nodes_named(g, names, x);
    hr_gradients(&loss, 1, x, xs, out);
    cJSON_ArrayForEach(item, golden_fields(of(c, "forward"))) check_also(&k, hr_graph_node(g, item->string), item);
    for (int i = 0; i < xs && result == GOLDEN_AGREES; i++) {
        const char *name = cJSON_GetArrayItem(names, i)->valuestring;
        const cJSON *expected = golden_get(gradients, name);
        if (!hr_graph_error(g) && !kind_fits(c, name, expected, out[i])) result = GOLDEN_DIFFERS;
        if (out[i].values.graph) check_also(&k, hr_gradient_dense(out[i]), expected);
    }
    hr_session *s = hr_session_new(g, .workers = &(int){0}, .passes = getenv("HEADRACE_PASSES"));
    if (result == GOLDEN_AGREES)
        result = run_named(c, g, s, golden_text(golden_fields(of(c, "init")), "forward", ""), NULL);
    if (result == GOLDEN_AGREES) result = run_checks(c, g, s, cJSON_GetArrayItem(of(c, "batches"), 0), &k);
    hr_session_free(s);
    hr_graph_free(g);
    return result;
}

/* The model as TensorFlow trains it: its gradients, then a step for each batch. */
static golden_result model_train(golden_case *c)
{
    golden_result result;
    checks gradients = {.count = 0}, after = {.count = 0};
    const cJSON *item, *batch, *expected = of(c, "gradients");
    hr_tensor losses;
    int step = 0;
    hr_graph *g = read_graph(c, golden_text(c->json, "train_graph", ""), &result);
    if (!g) return result;
    cJSON_ArrayForEach(item, golden_fields(of(c, "gradient_tensors"))) check_also(
        &gradients, gradient_named(g, item, golden_get(expected, item->string)), golden_get(expected, item->string));
    cJSON_ArrayForEach(item, golden_fields(of(c, "variables_after")))
        check_also(&after, hr_graph_node(g, item->string), item);
    if (!golden_tensor(of(c, "losses"), &losses)) losses = (hr_tensor){0};
    hr_session *s = hr_session_new(g, .workers = &(int){0}, .passes = getenv("HEADRACE_PASSES"));
    result = run_named(c, g, s, golden_text(of(c, "init"), "train", ""), NULL);
    batch = cJSON_GetArrayItem(of(c, "batches"), 0);
    if (result == GOLDEN_AGREES) result = run_checks(c, g, s, batch, &gradients);
    for (; batch && result == GOLDEN_AGREES; batch = batch->next, step++) {
        checks loss = {.count = 0};
        cJSON *one = cJSON_Parse("{\"dtype\":\"float32\",\"shape\":[],\"values\":[0]}");
        cJSON_SetNumberValue(golden_get(one, "values")->child, step < losses.count ? ((float *)losses.data)[step] : 0);
        check_also(&loss, hr_graph_node(g, "loss:0"), one);
        result = run_checks(c, g, s, batch, &loss);
        if (result == GOLDEN_AGREES) result = run_named(c, g, s, golden_text(c->json, "train", ""), batch);
        cJSON_Delete(one);
    }
    if (result == GOLDEN_AGREES) result = run_checks(c, g, s, NULL, &after);
    golden_tensor_clear(&losses);
    hr_session_free(s);
    hr_graph_free(g);
    return result;
}

static golden_result run_model(golden_case *c)
{
    golden_whole(of(c, "op_types"));
    golden_whole(of(c, "initial")); /* what the initializer sets: all numbers that follow depend on it */
    const golden_result result = model_forward(c);
    return result == GOLDEN_AGREES ? model_train(c) : result;
}

static golden_result run_case(golden_case *c)
{
    const char *kind = golden_text(c->json, "kind", "op");
    if (strcmp(kind, "op") == 0) return run_op(c);
    if (strcmp(kind, "graph") == 0) return run_graph(c);
    if (strcmp(kind, "model") == 0) return run_model(c);
    return golden_not_built(c, "kind %s", kind);
}

int main(void) { return golden_main("gradients", GOLDEN_ROOT, run_case); }
