/* One op: found by its signature, run on the values of its inputs, recorded by the tapes that watch one of them. */
#include "train/eager/eager_internal.h"

#include <stdio.h>
#include <string.h>

/* ---- inputs ---- */

static hr_status check_input(const hr__eager *e, hr_node input, int i, hr_error *err)
{
    const hr__node *n = input.graph == e->graph ? hr__node_of(input) : NULL;
    if (n && input.output >= 0 && input.output < n->outputs) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.input", "expected as input %d a node of the eager graph, got %s", i,
                   !input.graph              ? "none"
                   : input.graph != e->graph ? "one of another graph"
                   : input.id < 0            ? "one that failed"
                   : n                       ? "one without a value"
                                             : "one that is gone (hr_eager_end)");
}

static hr_status call_widen(hr__eager *e, int inputs, hr_error *err)
{
    if (inputs <= e->input_capacity) return HR_OK;
    const int wanted = inputs > 16 ? 2 * inputs : 16;
    const hr_tensor **input = hr_realloc(e->input, sizeof *input * (size_t)wanted);
    if (!input) return hr_no_memory(err, "an eager op");
    e->input = input;
    int32_t *slot = hr_realloc(e->slot, sizeof *slot * (size_t)wanted);
    if (!slot) return hr_no_memory(err, "an eager op");
    memset(slot, 0, sizeof *slot * (size_t)wanted);
    e->slot = slot;
    e->input_capacity = wanted;
    return HR_OK;
}

/* Variables whose values are taken are read. */
static hr_status read_variables(hr__eager *e, const hr__eager_op *op, const hr_node *inputs, int count, hr_node *out,
                                hr_error *err)
{
    for (int i = 0; i < count; i++) {
        out[i] = inputs[i];
        if (!op->reads[i]) continue;
        const int variable = hr__eager_node_of(inputs[i])->variable;
        const hr_attr dtype = HR_TYPE_ATTR("dtype", e->graph->variables[variable - 1]->dtype);
        const hr_node_opts opts = {.inputs = &inputs[i], .input_count = 1, .attrs = &dtype, .attr_count = 1};
        HR_TRY(hr__eager_call(e, "ReadVariableOp", &opts, &out[i], err));
    }
    return HR_OK;
}

/* ---- the op ---- */

static hr_status call_compute(hr__eager *e, const hr__eager_op *op, hr__eager_node *n, hr_error *err)
{
    const hr_node handle = {e->graph, n->id, n->node.outputs > 0 ? 0 : -1};
    for (int i = 0; i < n->node.inputs; i++) {
        const hr_node in = n->node.input[i];
        e->input[i] = &hr__eager_node_of(in)->out[in.output];
    }
    hr__step step;
    memset(&step, 0, sizeof step);
    step.node = &n->node;
    step.handle = handle;
    step.state = op->state->state;
    step.alone = op->state->alone;
    step.slot = e->slot;
    step.resources = op->resources;
    e->frame.slots = n->out;
    e->frame.input = e->input;
    err->code = HR_OK;
    err->kind = NULL;
    HR_TRY(hr__compute(&e->frame, &step, err));
    for (int i = 0; i < n->node.outputs; i++) n->node.shape[i] = n->out[i].shape;
    return HR_OK;
}

/* "MatMul: what is wrong; inputs: float32 [2,3], float32 [4,5]"; before it, where the call is, if that is known. */
static void name_inputs(hr_graph *g, const char *op, const hr_node *inputs, int count, hr_error *err)
{
    char text[sizeof err->text];
    hr__shape_name shape;
    size_t at = 0;
    text[0] = 0;
    for (int i = 0; i < count && at < sizeof text; i++) {
        const int n = snprintf(text + at, sizeof text - at, "%s%s %s",
                               i ? ", " : "; inputs: ", hr_dtype_name(hr_node_dtype(inputs[i])),
                               hr__shape_in(&shape, hr_node_shape(inputs[i])));
        at += n > 0 ? (size_t)n : 0;
    }
    const size_t have = strlen(err->text);
    snprintf(err->text + have, sizeof err->text - have, "%.300s", text);
    hr__made made = {0};
    if (strncmp(err->text, "node '", 6) == 0) return;
    if (hr__made_here(g, &made, NULL) == HR_OK && made.file)
        hr__blame_made(err, op, op, made);
    else
        hr_error_prefix(err, "%s: ", op);
}

static bool may_be_derived(const hr__node *n)
{
    return n->override ? n->override->gradient != NULL : !(n->op->traits & HR_NO_GRADIENT);
}

static hr_status run_node(hr__eager *e, hr__eager_op *op, const hr_node *inputs, int count,
                          const hr__eager_backward *backward, hr_node *out, hr_error *err)
{
    hr__eager_node *n;
    uint32_t tapes = 0;
    HR_TRY(hr__eager_node_new(e, op->node, op->ops, count, &n, err));
    if (count) memcpy((hr_node *)(uintptr_t)n->node.input, inputs, sizeof *inputs * (size_t)count);
    hr_status st = call_compute(e, op, n, err);
    if (e->graph->override) n->node.override = hr__override_of(e->graph, n->node.op->name);
    if (st == HR_OK && e->recording && may_be_derived(&n->node)) {
        st = hr__tapes_watching(e, inputs, count, &tapes, err);
        if (st == HR_OK && tapes) st = hr__tapes_record(e, tapes, n, backward, err);
    }
    if (!n->recorded) n->node.inputs = 0; /* these may go before it */
    if (st != HR_OK) {
        hr__eager_forget_last(e, n);
        return st;
    }
    *out = (hr_node){e->graph, n->id, n->node.outputs > 0 ? 0 : -1};
    return HR_OK;
}

hr_status hr__eager_run(hr__eager *e, hr__eager_op *op, const hr_node *inputs, int count,
                        const hr__eager_backward *backward, hr_node *out, hr_error *err)
{
    hr_node few[16], *read = NULL;
    HR_TRY(call_widen(e, count, err));
    if (!op->reads) return run_node(e, op, inputs, count, backward, out, err);
    read = count <= 16 ? few : hr_malloc(sizeof *read * (size_t)count);
    if (!read) return hr_no_memory(err, "an eager op");
    hr_status st = read_variables(e, op, inputs, count, read, err);
    if (st == HR_OK) st = run_node(e, op, read, count, backward, out, err);
    if (read != few) hr_free(read);
    return st;
}

/* A constant needs no kernel. */
static hr_status copy_constant(hr__eager *e, const hr_tensor *value, hr_node *out, hr_error *err)
{
    hr_tensor copy = {0};
    int64_t count;
    HR_TRY(hr__check_tensor(value, "graph.attr", &count, err));
    if (value->dtype == HR_STRING) {
        HR_TRY(hr_tensor_strings(&copy, value->shape, value->data, err));
    } else {
        const size_t bytes = (size_t)count * hr_dtype_size(value->dtype);
        copy = hr_tensor_of(value->dtype, value->shape, NULL);
        copy.count = count;
        copy.buffer = hr__buffers_get(e->session->buffers, NULL, bytes);
        if (!copy.buffer) return hr_no_memory(err, "a constant");
        copy.data = hr_buffer_data(copy.buffer);
        if (bytes) memcpy(copy.data, value->data, bytes);
    }
    return hr__eager_constant(e, &copy, out, err);
}

static const hr_tensor *constant_value(const char *op, const hr_node_opts *opts)
{
    if (strcmp(op, "Const") != 0 || opts->input_count) return NULL;
    const hr_tensor *value = NULL;
    for (int i = 0; i < opts->attr_count; i++)
        if (opts->attrs[i].kind == HR_ATTR_TENSOR && strcmp(opts->attrs[i].name, "value") == 0)
            value = opts->attrs[i].tensor;
    for (int i = 0; value && i < opts->attr_count; i++)
        if (opts->attrs[i].kind == HR_ATTR_TYPE && opts->attrs[i].type != value->dtype) return NULL;
    return value;
}

hr_status hr__eager_call(hr__eager *e, const char *name, const hr_node_opts *opts, hr_node *out, hr_error *err)
{
    hr__eager_op *op = NULL;
    hr_error failed;
    failed.code = HR_OK;
    const hr_tensor *value = constant_value(name, opts);
    hr_status st = HR_OK;
    for (int i = 0; st == HR_OK && i < opts->input_count; i++) st = check_input(e, opts->inputs[i], i, &failed);
    const bool sound = st == HR_OK;
    if (sound && value)
        st = copy_constant(e, value, out, &failed);
    else if (sound && (st = hr__eager_find_op(e, name, opts, &op, &failed)) == HR_OK)
        st = hr__eager_run(e, op, opts->inputs, opts->input_count, NULL, out, &failed);
    if (st == HR_OK) return HR_OK;
    name_inputs(e->graph, name, opts->inputs, sound ? opts->input_count : 0, &failed);
    if (err) *err = failed;
    return st;
}
