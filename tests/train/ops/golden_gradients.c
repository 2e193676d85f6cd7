/* The gradient of each op, as tf.gradients builds it: floats are fed, integers are constants, as in real graphs. */
#include "tests/train/ops/graph_case.h"

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

static golden_result run_case(golden_case *c)
{
    const char *name = golden_text(c->json, "op", ""), *kind = golden_text(c->json, "kind", "op");
    const hr_graph_op *op = hr_graph_op_named(name);
    case_tensors in = {.count = 0}, up = {.count = 0};
    if (strcmp(kind, "op") != 0) return golden_not_built(c, "kind %s", kind);
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

int main(void) { return golden_main("gradients", GOLDEN_ROOT, run_case); }
