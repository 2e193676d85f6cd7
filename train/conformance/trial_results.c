/* What came out of a trial: results that are as inferred, errors that say something, gradients like their inputs. */
#include "train/conformance/trial.h"

#include <string.h>

/* ---- forward ---- */

/* Reads a byte, so that a sanitizer sees if it is not there. */
static unsigned char read_byte(const void *byte) { return *(const volatile unsigned char *)byte; }

/* Reads all bytes; bools are 0 or 1. */
static void read_all(trial *t, const hr_tensor *out)
{
    const unsigned char *bytes = out->data;
    const int64_t size = out->count * (int64_t)hr_dtype_size(out->dtype);
    for (int64_t i = 0; i < size; i++) {
        const unsigned char byte = read_byte(&bytes[i]);
        if (out->dtype == HR_BOOL && byte > 1)
            hr__trial_wrong(t, "conformance.value", "expected false or true, got a byte of %d", byte);
    }
    for (int64_t i = 0; i < out->count && out->dtype == HR_STRING; i++) {
        const hr_view v = ((const hr_view *)out->data)[i];
        for (int64_t j = 0; j < v.size; j++) read_byte(v.data + j);
    }
}

void hr__trial_check_result(trial *t, hr_node fetched, const hr_tensor *out)
{
    hr_shape both;
    char a[256], b[256];
    if (out->dtype != hr_node_dtype(fetched)) {
        hr__trial_wrong(t, "conformance.type", "inferred %s of '%s:%d', got %s", hr_dtype_name(hr_node_dtype(fetched)),
                        hr_node_name(fetched), fetched.output, hr_dtype_name(out->dtype));
        return;
    }
    if (out->layout != HR_DENSE || out->count != hr_shape_count(out->shape)) {
        hr__trial_wrong(t, "conformance.shape", "expected as many values as the shape of '%s:%d' has, %s, got %lld",
                        hr_node_name(fetched), fetched.output, hr_shape_text(out->shape, a, sizeof a),
                        (long long)out->count);
        return;
    }
    read_all(t, out);
    if (hr_shape_merge(hr_node_shape(fetched), out->shape, &both)) return;
    hr__trial_wrong(t, "conformance.shape", "inferred %s of '%s:%d', got %s",
                    hr_shape_text(hr_node_shape(fetched), a, sizeof a), hr_node_name(fetched), fetched.output,
                    hr_shape_text(out->shape, b, sizeof b));
}

/* "graph.failed": the graph caught the op at it; of a call it may be the function. */
void hr__trial_check_error(trial *t, hr_status st, const hr_error *err)
{
    const bool said = st < HR_OK && err->code == st && err->text[0] && err->kind && err->kind[0];
    if (!said)
        hr__trial_wrong(t, "conformance.error", "expected an error with a text and a kind, got %s", hr_status_name(st));
    else if (strcmp(err->kind, "graph.failed") == 0 && !(t->op->traits & HR_CALLS))
        hr__trial_wrong(t, "conformance.error", "%s", err->text);
}

bool hr__trial_run(trial *t, hr_tensor *out)
{
    hr_error err = {0};
    const hr_status st = hr_session_run(t->s, t->feed, t->feeds, t->fetch, t->fetches, out, &err);
    if (st != HR_OK) {
        hr__trial_check_error(t, st, &err);
        return false;
    }
    for (int i = 0; i < t->fetches; i++)
        if (t->fetch[i].output >= 0) hr__trial_check_result(t, t->fetch[i], &out[i]);
    if (t->refuse_feeds) hr__trial_wrong(t, "conformance.feed", "expected a feed to be refused, got results");
    return true;
}

void hr__trial_clear(trial *t, hr_tensor *out)
{
    for (int i = 0; i < t->fetches; i++) hr_tensor_clear(&out[i]);
}

/* ---- gradients ---- */

bool hr__trial_is_float(hr_dtype dtype) { return dtype == HR_FLOAT || dtype == HR_DOUBLE; }

hr_node hr__trial_derivable(trial *t, hr_node output)
{
    const hr_attr *element = hr_node_attr(output, "element_dtype");
    if (hr_node_dtype(output) != HR_VARIANT || !element || !hr__trial_is_float(element->type)) return output;
    return hr__trial_list_node(t, "TensorListStack", output, hr_const_number(t->g, HR_INT32, -1, NULL), element->type);
}

static bool run_gradient(trial *t, hr_node dense, const hr_tensor *value)
{
    char a[256], b[256];
    hr_tensor out;
    hr_error err = {0};
    if (hr_node_dtype(dense) != value->dtype)
        hr__trial_wrong(t, "conformance.gradient", "expected a gradient of its input's type, %s, got %s",
                        hr_dtype_name(value->dtype), hr_dtype_name(hr_node_dtype(dense)));
    const hr_status st = hr_session_run(t->s, t->feed, t->feeds, &dense, 1, &out, &err);
    if (st != HR_OK) {
        hr__trial_check_error(t, st, &err);
        return false;
    }
    hr__trial_check_result(t, dense, &out);
    if (!hr_shape_equal(out.shape, value->shape))
        hr__trial_wrong(t, "conformance.gradient", "expected a gradient of its input's shape, %s, got %s",
                        hr_shape_text(value->shape, a, sizeof a), hr_shape_text(out.shape, b, sizeof b));
    hr_tensor_clear(&out);
    return true;
}

bool hr__trial_run_gradients(trial *t)
{
    hr_node ys[MAX_FETCHES], xs[MAX_INPUTS];
    hr_gradient by[MAX_INPUTS];
    int y_count = 0, x_count = 0, of[MAX_INPUTS];
    bool any = false;
    for (int i = 0; i < hr_node_outputs(t->node) && y_count < MAX_FETCHES; i++)
        if (hr__trial_is_float(hr_node_dtype(ys[y_count] = hr__trial_derivable(t, hr_node_output(t->node, i)))))
            y_count++;
    for (int i = 0; i < t->inputs; i++) {
        of[x_count] = i;
        if (hr__trial_is_float(t->value[i].dtype)) xs[x_count++] = t->from[i].graph ? t->from[i] : t->input[i];
    }
    if (y_count == 0 || x_count == 0) return false;
    hr_gradients(ys, y_count, xs, x_count, by);
    for (int i = 0; i < x_count; i++) {
        const hr_node dense = by[i].values.graph ? hr_gradient_dense(by[i]) : (hr_node){0};
        if (hr_graph_error(t->g)) return false;
        if (dense.graph) any |= run_gradient(t, dense, &t->value[of[i]]);
    }
    return any;
}
