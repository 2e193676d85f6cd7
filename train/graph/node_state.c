/* A graph in a session: what each node keeps between runs, made and prepared when a plan first needs it. */
#include "base/descriptor.h"
#include "train/graph/graph_internal.h"

#include <string.h>

static void node_state_free(const hr__node *n, hr__node_state *state)
{
    for (int i = 0; state->fixed && i < n->outputs; i++) hr_buffer_unref(state->fixed[i].buffer);
    hr_free(state->fixed);
    if (state->prepared && n->op->release) n->op->release(state->state);
    if (state->alone) uv_mutex_destroy(state->alone);
    hr_free(state->alone);
    hr_free(state->state);
    hr_free(state);
}

void hr__instance_free(hr__instance *in)
{
    for (int32_t i = 0; i < in->state_count; i++)
        if (in->states[i]) node_state_free(in->graph->nodes[i], in->states[i]);
    hr_free(in->states);
}

/* The graph has grown. */
static hr_status widen_states(hr__instance *in, hr_error *err)
{
    const int32_t nodes = in->graph->node_count;
    if (in->state_count >= nodes) return HR_OK;
    hr__node_state **grown = hr_realloc(in->states, sizeof *grown * (size_t)nodes);
    if (!grown) return hr_no_memory(err, "a session");
    memset(grown + in->state_count, 0, sizeof *grown * (size_t)(nodes - in->state_count));
    in->states = grown;
    in->state_count = nodes;
    return HR_OK;
}

static hr_status make_alone(hr__node_state *state, hr_error *err)
{
    uv_mutex_t *lock = hr_malloc(sizeof *lock);
    if (lock && uv_mutex_init(lock) == 0) {
        state->alone = lock;
        return HR_OK;
    }
    hr_free(lock);
    return hr_no_memory(err, "a node");
}

static hr_status node_state_prepare(hr__instance *in, int32_t id, hr__node_state *state, hr_error *err)
{
    const hr__node *n = in->graph->nodes[id];
    const hr_node node = {in->graph, id, n->outputs > 0 ? 0 : -1};
    state->state = hr_calloc(1, n->op->state_size + 1);
    if (!state->state) return hr_no_memory(err, "a node");
    if ((n->op->traits & (HR_STATEFUL | HR_CALLS)) == HR_STATEFUL && n->op->state_size > 0)
        HR_TRY(make_alone(state, err));
    hr_error why = {0};
    hr_status st = n->op->prepare ? n->op->prepare(node, in->session, state->state, &why) : HR_OK;
    st = hr__descriptor_answer(n->op->name, "graph.failed", st, &why);
    state->prepared = st == HR_OK;
    if (st == HR_OK) return HR_OK;
    hr__blame(&why, n);
    if (err) *err = why;
    return st;
}

hr_status hr__node_state_get(hr__instance *in, int32_t id, hr__node_state **out, hr_error *err)
{
    HR_TRY(widen_states(in, err));
    *out = in->states[id];
    if (*out) return HR_OK;
    hr__node_state *state = hr_calloc(1, sizeof *state);
    if (!state) return hr_no_memory(err, "a node");
    const hr_status st = node_state_prepare(in, id, state, err);
    if (st != HR_OK) {
        node_state_free(in->graph->nodes[id], state);
        return st;
    }
    *out = in->states[id] = state;
    return HR_OK;
}

hr_status hr_session_kept(hr_session *s, hr_node node, void **kept, size_t *size, hr_error *err)
{
    hr__node_state *state = NULL;
    *kept = NULL;
    *size = 0;
    if (!s || node.graph != s->graph || node.id < 0 || node.id >= s->graph->node_count)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.argument",
                       "session_kept: expected a node of the session's graph");
    const hr_graph_op *op = s->graph->nodes[node.id]->op;
    if (op->kept == 0 || op->kept > op->state_size) return HR_OK;
    uv_mutex_lock(&s->planning);
    const hr_status st = hr__node_state_get(&s->instance, node.id, &state, err);
    uv_mutex_unlock(&s->planning);
    if (st != HR_OK) return st;
    *kept = state->state;
    *size = op->kept;
    return HR_OK;
}

hr_status hr__fixed_outputs(hr__instance *in, int32_t id, const hr_tensor **out, hr_error *err)
{
    hr__node_state *state;
    const hr__node *n = in->graph->nodes[id];
    HR_TRY(hr__node_state_get(in, id, &state, err));
    *out = state->fixed;
    if (state->fixed) return HR_OK;
    hr_tensor *outputs = hr_calloc((size_t)n->outputs + 1, sizeof *outputs);
    if (!outputs) return hr_no_memory(err, "a constant");
    const hr_status st = hr__compute_alone(in->session, (hr_node){in->graph, id, 0}, state->state, outputs, err);
    if (st != HR_OK) {
        hr_free(outputs);
        return st;
    }
    *out = state->fixed = outputs;
    return HR_OK;
}
