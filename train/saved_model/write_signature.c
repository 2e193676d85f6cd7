/* Signatures from nodes, held by what their methods ask for. */
#include "train/saved_model/writer.h"

#include <stdio.h>
#include <string.h>

enum { MOST_TENSORS = 1000 };

static hr_status refuse_signature(const hr_saved_signature *s, const char *expected, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "savedmodel.signature", "signature '%.60s': expected %s",
                   s->key ? s->key : "serving_default", expected);
}

static const hr_saved_tensor *tensor_of_key(const hr_saved_tensor *list, int count, const char *key)
{
    for (int i = 0; i < count; i++)
        if (list[i].key && strcmp(list[i].key, key) == 0) return &list[i];
    return NULL;
}

static hr_status check_one(const hr_saved_signature *s, const char *method, hr_error *err)
{
    const hr_saved_tensor *in = tensor_of_key(s->inputs, s->input_count, "inputs");
    const bool examples = s->input_count == 1 && in && hr_node_dtype(in->node) == HR_STRING;
    if (strcmp(method, HR_CLASSIFY_METHOD) == 0) {
        const hr_saved_tensor *classes = tensor_of_key(s->outputs, s->output_count, "classes");
        const hr_saved_tensor *scores = tensor_of_key(s->outputs, s->output_count, "scores");
        if (!examples || s->output_count != (classes != NULL) + (scores != NULL) || s->output_count == 0 ||
            (classes && hr_node_dtype(classes->node) != HR_STRING) ||
            (scores && hr_node_dtype(scores->node) != HR_FLOAT))
            return refuse_signature(s,
                                    "one input 'inputs' of strings, and of 'classes', strings, and 'scores', "
                                    "float32, one or both as outputs, as it classifies",
                                    err);
    }
    if (strcmp(method, HR_REGRESS_METHOD) == 0) {
        const hr_saved_tensor *out = tensor_of_key(s->outputs, s->output_count, "outputs");
        if (!examples || s->output_count != 1 || !out || hr_node_dtype(out->node) != HR_FLOAT)
            return refuse_signature(
                s, "one input 'inputs' of strings and one output 'outputs' of float32, as it regresses", err);
    }
    if (strcmp(method, HR_PREDICT_METHOD) == 0 && (s->input_count < 1 || s->output_count < 1))
        return refuse_signature(s, "one input and one output or more, as it predicts", err);
    return HR_OK;
}

/* ---- nodes to names ---- */

/* "x:0" of the node of that name in the copy. */
static hr_status name_of(const hr__written_graph *to, const hr_saved_signature *s, const hr_saved_tensor *t,
                         hr_node node, char **name, hr_error *err)
{
    const size_t size = strlen(hr_node_name(node)) + 16;
    *name = NULL;
    if (!hr_node_exists(node) || node.output < 0 || !hr_node_exists(hr_graph_node(to->g, hr_node_name(node)))) {
        char expected[200];
        snprintf(expected, sizeof expected, "a tensor of the graph for '%.60s', got '%.60s'", t->key ? t->key : "",
                 hr_node_name(node));
        return refuse_signature(s, expected, err);
    }
    *name = hr_malloc(size);
    if (!*name) return hr_no_memory(err, "a signature");
    snprintf(*name, size, "%s:%d", hr_node_name(node), node.output);
    return HR_OK;
}

static hr_status tensor_names(const hr__written_graph *to, const hr_saved_signature *s, const hr_saved_tensor *t,
                              hr_meta_tensor *out, hr_error *err)
{
    char *name[3] = {0};
    if (!t->key || !*t->key) return refuse_signature(s, "a key of each tensor, got none", err);
    hr_status st = name_of(to, s, t, t->node, &name[0], err);
    const bool sparse = t->indices.graph || t->dense_shape.graph;
    if (st == HR_OK && sparse) st = name_of(to, s, t, t->indices, &name[1], err);
    if (st == HR_OK && sparse) st = name_of(to, s, t, t->dense_shape, &name[2], err);
    *out = (hr_meta_tensor){t->key, name[0], name[1], name[2], hr_node_dtype(t->node), hr_node_shape(t->node)};
    if (sparse) out->shape = HR_UNKNOWN_SHAPE;
    return st;
}

static hr_status all_names(const hr__written_graph *to, const hr_saved_signature *s, hr_meta_tensor *tensor,
                           hr_error *err)
{
    for (int i = 0; i < s->input_count; i++) HR_TRY(tensor_names(to, s, &s->inputs[i], &tensor[i], err));
    for (int i = 0; i < s->output_count; i++)
        HR_TRY(tensor_names(to, s, &s->outputs[i], &tensor[s->input_count + i], err));
    return HR_OK;
}

hr_status hr__write_signature(hr__written_graph *to, const hr_saved_signature *s, hr_error *err)
{
    const char *method = s->method ? s->method : HR_PREDICT_METHOD;
    if (s->input_count < 0 || s->output_count < 0 || s->input_count > MOST_TENSORS || s->output_count > MOST_TENSORS ||
        (s->input_count > 0 && !s->inputs) || (s->output_count > 0 && !s->outputs))
        return refuse_signature(s, "its inputs and outputs, at most 1000 of each", err);
    if (s->key && strncmp(s->key, "__saved_model", 13) == 0)
        return refuse_signature(s, "a key that does not begin with __saved_model", err);
    HR_TRY(check_one(s, method, err));
    const size_t count = (size_t)s->input_count + (size_t)s->output_count;
    hr_meta_tensor *tensor = hr_calloc(count + 1, sizeof *tensor);
    if (!tensor) return hr_no_memory(err, "a signature");
    hr_status st = all_names(to, s, tensor, err);
    const hr_meta_signature out = {
        s->key ? s->key : "serving_default", method, tensor, tensor + s->input_count, s->input_count, s->output_count};
    if (st == HR_OK) st = hr_meta_graph_add_signature(to->meta, &out, err);
    for (size_t i = 0; i < count; i++) {
        hr_free((char *)(uintptr_t)tensor[i].name);
        hr_free((char *)(uintptr_t)tensor[i].indices);
        hr_free((char *)(uintptr_t)tensor[i].dense_shape);
    }
    hr_free(tensor);
    return st;
}
