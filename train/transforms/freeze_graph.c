/* freeze_graph: each variable becomes the constant that it is in a session, and what read it takes that. */
#include "train/transforms/freeze_calls.h"
#include "train/transforms/inline_calls.h"

#include <string.h>

static hr_status freeze_refuse(const hr__draft *d, int variable, int taker, hr_error *err)
{
    return hr_fail(err, HR_UNIMPLEMENTED, "transform.variable",
                   "variable '%.100s': expected reads alone, got node '%.100s' (%s) that takes it",
                   d->node[variable]->name, d->node[taker]->name, d->node[taker]->op);
}

static hr_status make_identity(hr__draft *d, int node, hr_dtype dtype, hr_error *err)
{
    d->node[node]->op = "Identity";
    d->node[node]->attrs = 0;
    return hr__draft_set(d, node, &HR_TYPE_ATTR("T", dtype), err);
}

/* ResourceGather: GatherV2 along axis 0. */
static hr_status make_gather(hr__draft *d, int node, hr_dtype dtype, hr_error *err)
{
    draft_node *n = d->node[node];
    const hr_dtype indices = hr__draft_type(d, node, "Tindices");
    const proto_attr *dims = hr__draft_attr(d, node, "batch_dims");
    if (dims && dims->i != 0)
        return hr_fail(err, HR_UNIMPLEMENTED, "transform.variable", "node '%.100s': expected batch_dims 0, got %lld",
                       n->name, (long long)dims->i);
    char *name = hr__arena_get(&d->arena, strlen(n->name) + 8);
    draft_edge *input = hr__arena_get(&d->arena, sizeof *input * ((size_t)n->inputs + 1));
    hr_tensor zero;
    if (!name || !input) return hr__draft_no_memory(err);
    memcpy(name, n->name, strlen(n->name));
    memcpy(name + strlen(n->name), "/axis", 6);
    const int axis = hr__draft_add(d, name, "Const", n->device, 0);
    if (axis < 0) return hr__draft_no_memory(err);
    HR_TRY(hr_tensor_new(&zero, HR_INT32, HR_SCALAR, err));
    *(int32_t *)zero.data = 0;
    HR_TRY(hr__draft_make_const(d, axis, zero, err));
    memcpy(input, n->input, sizeof *input * 2);
    input[2] = (draft_edge){axis, 0};
    memcpy(input + 3, n->input + 2, sizeof *input * (size_t)(n->inputs - 2));
    n->input = input;
    n->inputs++;
    n->op = "GatherV2";
    n->attrs = 0;
    HR_TRY(hr__draft_set(d, node, &HR_TYPE_ATTR("Tparams", dtype), err));
    HR_TRY(hr__draft_set(d, node, &HR_TYPE_ATTR("Tindices", indices), err));
    return hr__draft_set(d, node, &HR_TYPE_ATTR("Taxis", HR_INT32), err);
}

/* A node that takes the handle of a variable as input `i`. *output: by which of its outputs it hands that on; -1: by
 * none. */
static hr_status freeze_taker(hr__draft *d, int variable, const hr__frozen *v, int node, int i, int *output,
                              hr_error *err)
{
    draft_node *n = d->node[node];
    const hr__calling_op *calling = hr__calling_op_named(n->op);
    *output = strcmp(n->op, "Identity") == 0 ? 0 : -1;
    if (calling) return hr__freeze_call(d, v, calling, n->attr, n->attrs, i, output, err);
    if (*output == 0) return make_identity(d, node, v->dtype, err);
    if (i == 0 && strcmp(n->op, "ReadVariableOp") == 0) return make_identity(d, node, v->dtype, err);
    if (i == 0 && strcmp(n->op, "ResourceGather") == 0) return make_gather(d, node, v->dtype, err);
    if (i == 0 && strcmp(n->op, "VariableShape") == 0) {
        n->op = "Shape";
        return hr__draft_set(d, node, &HR_TYPE_ATTR("T", v->dtype), err);
    }
    if (i == 0 && strcmp(n->op, "ResourceGatherNd") == 0) {
        n->op = "GatherNd";
        hr__draft_unset(n, "dtype");
        return hr__draft_set(d, node, &HR_TYPE_ATTR("Tparams", v->dtype), err);
    }
    return freeze_refuse(d, variable, node, err);
}

/* What hands a handle on: to be looked at. */
typedef struct edge_stack {
    draft_edge *edge;
    int depth, capacity;
} edge_stack;

static hr_status stack_push(edge_stack *s, draft_edge edge, hr_error *err)
{
    HR_TRY(hr__grow(&s->edge, s->depth, &s->capacity, sizeof *s->edge, err));
    s->edge[s->depth++] = edge;
    return HR_OK;
}

static hr_status freeze_inputs(hr__draft *d, int variable, const hr__frozen *v, int node, draft_edge from,
                               edge_stack *s, hr_error *err)
{
    for (int j = 0; j < d->node[node]->inputs; j++) {
        int output;
        if (d->node[node]->input[j].node != from.node || d->node[node]->input[j].output != from.output) continue;
        HR_TRY(freeze_taker(d, variable, v, node, j, &output, err));
        if (output >= 0) HR_TRY(stack_push(s, (draft_edge){node, output}, err));
    }
    return HR_OK;
}

/* All that take the handle, by a stack: Identity may follow Identity. */
static hr_status freeze_takers(hr__draft *d, int variable, const hr__frozen *v, hr_error *err)
{
    edge_stack s = {0};
    hr_status st = stack_push(&s, (draft_edge){variable, 0}, err);
    while (st == HR_OK && s.depth > 0) {
        const draft_edge from = s.edge[--s.depth];
        for (int i = 0, count = d->count; st == HR_OK && i < count; i++)
            if (!d->node[i]->gone) st = freeze_inputs(d, variable, v, i, from, &s, err);
    }
    hr_free(s.edge);
    return st;
}

/* A reference variable gives its value to whoever does not take the variable itself. */
static hr_status check_reference(const hr__draft *d, int variable, hr_node handle, hr_error *err)
{
    hr_graph *g = handle.graph;
    for (int i = 0; i < d->count; i++) {
        const hr__node *n = hr__node_of(hr_graph_node(g, d->node[i]->name));
        for (int j = 0; !d->node[i]->gone && n && j < n->inputs && j < d->node[i]->inputs; j++)
            if (d->node[i]->input[j].node == variable && hr__input_is_ref(n, j))
                return freeze_refuse(d, variable, i, err);
    }
    return HR_OK;
}

static hr_status freeze_variable(hr__draft *d, hr_session *s, int variable, hr_error *err)
{
    hr_tensor value;
    const bool resource = hr__draft_is(d, variable, "VarHandleOp");
    const hr_node handle = hr_graph_node(s->graph, d->node[variable]->name);
    if (!resource) HR_TRY(check_reference(d, variable, handle, err));
    HR_TRY(hr_session_get(s, handle, &value, err));
    const hr__frozen frozen = {d->node[variable]->name, value.dtype, value.shape};
    HR_TRY(hr__draft_make_const(d, variable, value, err));
    return resource ? freeze_takers(d, variable, &frozen, err) : HR_OK;
}

static bool is_assigned(const hr__draft *d, int variable)
{
    for (int i = 0; i < d->count; i++)
        if (hr__draft_is(d, i, "AssignVariableOp") && d->node[i]->inputs > 0 && d->node[i]->input[0].node == variable)
            return true;
    return false;
}

hr_status hr_freeze_graph_with(hr_session *s, const hr_node *outputs, int output_count, const hr_freeze_opts *given,
                               hr_graph **out, hr_error *err)
{
    const hr_freeze_opts opts = HR_OPTIONS(hr_freeze_opts, given);
    hr__draft d;
    if (!s) return hr_no_memory(err, "a session");
    if (!out || output_count <= 0 || !outputs)
        return hr_fail(err, HR_INVALID_ARGUMENT, "transform.output",
                       "hr_freeze_graph: expected outputs and a place for the graph, got none");
    *out = NULL;
    hr_status st = hr__draft_begin(&d, s->graph, outputs, output_count, NULL, 0, err);
    if (st == HR_OK) st = hr__draft_sweep(&d, err);
    if (st == HR_OK) st = hr__inline_calls(&d, true, err); /* a handle that a function takes is out of reach in there */
    if (st == HR_OK) st = hr__draft_sweep(&d, err);
    for (int i = 0, count = d.count; st == HR_OK && i < count; i++)
        if ((hr__draft_is(&d, i, "VarHandleOp") || hr__draft_is(&d, i, "VariableV2")) &&
            !(opts.keep_assigned && is_assigned(&d, i)))
            st = freeze_variable(&d, s, i, err);
    if (st == HR_OK) st = hr__draft_build(&d, out, err);
    if (st != HR_OK) hr_error_prefix(err, "freeze_graph: ");
    hr__draft_end(&d);
    return st;
}

hr_status hr_freeze_graph(hr_session *s, const hr_node *outputs, int output_count, hr_graph **out, hr_error *err)
{
    return hr_freeze_graph_with(s, outputs, output_count, NULL, out, err);
}
