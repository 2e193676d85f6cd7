/* inline_functions: calls become the nodes of their functions. The call itself stays as an IdentityN of the results, so
 * that outputs keep their names. */
#include "train/graph/graph_internal.h"
#include "train/transforms/inline_calls.h"

#include <stdio.h>
#include <string.h>

enum { MOST_NODES = 1 << 20, LONGEST_NAME = 8192 };

/* A call that is being replaced. */
typedef struct inlining {
    hr__draft *d;
    int call; /* its number in the draft */
    const hr_function *function;
    const hr_graph *body;
    int *at;       /* by node of the body: its number in the draft; -1: an input of the function */
    int *argument; /* by node of the body: which input it is */
} inlining;

static hr_status inline_refuse(const inlining *in, const char *what, hr_error *err)
{
    return hr_fail(err, HR_UNIMPLEMENTED, "transform.function", "call '%.100s' of function '%.60s': %s",
                   in->d->node[in->call]->name, in->function->name, what);
}

/* ---- the nodes ---- */

static hr_status copy_attrs(const inlining *in, const hr__node *from, int to, hr_error *err)
{
    hr__draft *d = in->d;
    for (int i = 0; i < from->attrs; i++) HR_TRY(hr__draft_set(d, to, &from->attr[i], err));
    return HR_OK;
}

static hr_status copy_node(inlining *in, int id, hr_error *err)
{
    hr__draft *d = in->d;
    const hr__node *from = in->body->nodes[id];
    const draft_node *call = d->node[in->call];
    const int more = call->inputs - hr__draft_data_inputs(call); /* what the call waits for, each of its nodes does */
    const size_t size = strlen(call->name) + strlen(from->name) + 2;
    char *name = hr__arena_get(&d->arena, size);
    if (from->hidden || from->in_loop)
        return inline_refuse(in, "expected a function without loops of TensorFlow 1", err);
    if (d->count >= MOST_NODES || size > LONGEST_NAME)
        return inline_refuse(in, "expected at most 2^20 nodes in all; it calls itself", err);
    if (!name) return hr__draft_no_memory(err);
    snprintf(name, size, "%s/%s", call->name, from->name);
    in->at[id] = hr__draft_add(d, name, from->sig->op->name, from->device, from->inputs + from->controls + more);
    return in->at[id] < 0 ? hr__draft_no_memory(err) : copy_attrs(in, from, in->at[id], err);
}

/* What stands for a result of the body. */
static bool edge_of(const inlining *in, hr_node node, draft_edge *out)
{
    if (node.graph != in->body || node.id < 0) return false;
    if (in->at[node.id] >= 0)
        *out = (draft_edge){in->at[node.id], node.output};
    else
        *out = in->d->node[in->call]->input[in->argument[node.id]];
    return true;
}

static hr_status copy_edges(const inlining *in, int id, hr_error *err)
{
    const hr__node *from = in->body->nodes[id];
    const draft_node *call = in->d->node[in->call];
    draft_node *to = in->d->node[in->at[id]];
    const int data = hr__draft_data_inputs(call);
    int count = 0;
    for (int i = 0; i < from->inputs; i++)
        if (!edge_of(in, from->input[i], &to->input[count++]))
            return inline_refuse(in, "expected a function that takes from around it nothing but its inputs", err);
    for (int i = 0; i < from->controls; i++)
        if (from->control[i].graph == in->body && in->at[from->control[i].id] >= 0)
            to->input[count++] = (draft_edge){in->at[from->control[i].id], -1};
    for (int i = data; i < call->inputs; i++) to->input[count++] = call->input[i];
    to->inputs = count;
    return HR_OK;
}

/* ---- the call ---- */

static hr_status result_types(const inlining *in, hr_error *err)
{
    const int count = in->function->outputs;
    hr_dtype *type = hr__arena_get(&in->d->arena, sizeof *type * ((size_t)count + 1));
    if (!type) return hr__draft_no_memory(err);
    for (int i = 0; i < count; i++) type[i] = hr_node_dtype(in->function->output[i]);
    in->d->node[in->call]->attrs = 0;
    return count ? hr__draft_set(in->d, in->call, &HR_TYPES_ATTR("T", type, count), err) : HR_OK;
}

static hr_status become_identity(const inlining *in, hr_error *err)
{
    const hr_function *f = in->function;
    draft_node *call = in->d->node[in->call];
    draft_edge *input = hr__arena_get(&in->d->arena, sizeof *input * ((size_t)f->outputs + (size_t)f->controls + 1));
    int count = 0;
    if (!input) return hr__draft_no_memory(err);
    for (int i = 0; i < f->outputs; i++)
        if (!edge_of(in, f->output[i], &input[count++])) return inline_refuse(in, "expected results of its own", err);
    for (int i = 0; i < f->controls; i++)
        if (f->control[i].graph == in->body && in->at[f->control[i].id] >= 0)
            input[count++] = (draft_edge){in->at[f->control[i].id], -1};
    HR_TRY(result_types(in, err));
    call->op = f->outputs ? "IdentityN" : "NoOp";
    call->input = input;
    call->inputs = count;
    return HR_OK;
}

static hr_status inline_body(inlining *in, hr_error *err)
{
    const draft_node *call = in->d->node[in->call];
    const int data = hr__draft_data_inputs(call);
    if (in->function->inputs != data) return inline_refuse(in, "expected as many inputs as the function has", err);
    for (int i = 0; i < in->body->node_count; i++) in->at[i] = in->argument[i] = -1;
    for (int i = 0; i < data; i++) in->argument[in->function->input[i].id] = i;
    for (int i = 0; i < in->body->node_count; i++)
        if (in->argument[i] < 0) HR_TRY(copy_node(in, i, err));
    for (int i = 0; i < in->body->node_count; i++)
        if (in->at[i] >= 0) HR_TRY(copy_edges(in, i, err));
    return become_identity(in, err);
}

/* NULL: it is no call, or of a function that the graph lacks. */
static const hr_function *called_by(const hr__draft *d, int node)
{
    const bool call = hr__draft_is(d, node, "PartitionedCall") || hr__draft_is(d, node, "StatefulPartitionedCall");
    const proto_attr *f = call ? hr__draft_attr(d, node, "f") : NULL;
    if (!f || f->value_case != HEADRACE__PROTO__ATTR_VALUE__VALUE_FUNC || !f->func) return NULL;
    return hr_function_named(d->source, f->func->name);
}

static hr_status inline_call(hr__draft *d, int call, const hr_function *f, hr_error *err)
{
    inlining in = {d, call, f, f->body, NULL, NULL};
    const size_t size = (size_t)f->body->node_count + 1;
    in.at = hr__arena_get(&d->arena, sizeof *in.at * size);
    in.argument = hr__arena_get(&d->arena, sizeof *in.argument * size);
    return in.at && in.argument ? inline_body(&in, err) : hr__draft_no_memory(err);
}

static bool takes_a_handle(const hr_function *f)
{
    for (int i = 0; i < f->inputs; i++)
        if (hr_node_dtype(f->input[i]) == HR_RESOURCE) return true;
    return false;
}

hr_status hr__inline_calls(hr__draft *d, bool of_handles, hr_error *err)
{
    for (int i = 0; i < d->count; i++) { /* nodes are added meanwhile, and calls among them */
        const hr_function *f = called_by(d, i);
        if (f && (!of_handles || takes_a_handle(f))) HR_TRY(inline_call(d, i, f, err));
    }
    return HR_OK;
}

static hr_status inline_functions_run(hr__draft *d, const transform_arguments *a, hr_error *err)
{
    (void)a;
    return hr__inline_calls(d, false, err);
}

const hr__transform hr__transform_inline_functions = {
    .info = {"inline_functions", "", "calls of functions become the functions' nodes"},
    .run = inline_functions_run,
};
