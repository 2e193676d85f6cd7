/* What a session keeps for one node: its state, which is prepared before the node is first computed; and errors that name
 * the node. Plan and executor both need it. */
#include "base/descriptor.h"
#include "train/graph/graph_internal.h"

void hr__blame(hr_error *err, const hr__node *node)
{
    hr_error_prefix(err, "node '%s' (%s): ", node->name, node->op->name);
}

hr_status hr__session_state(hr_session *s, hr_node node, void **out, hr_error *err)
{
    hr__node_state *state = &s->states[node.id];
    const hr__node *n = hr__node_of(node);
    *out = state->state;
    if (state->prepared) return HR_OK;
    if (!state->state) state->state = hr_calloc(1, n->op->state_size + 1);
    if (!state->state) return hr_no_memory(err, "a node");
    hr_error why = {0};
    hr_status st = n->op->prepare ? n->op->prepare(node, s, state->state, &why) : HR_OK;
    st = hr__descriptor_answer(n->op->name, "graph.failed", st, &why);
    if (st != HR_OK) {
        hr_free(state->state);
        state->state = NULL;
        hr__blame(&why, n);
        if (err) *err = why;
        return st;
    }
    state->prepared = true;
    *out = state->state;
    return HR_OK;
}
