/* By-passes nodes that give what they take: whoever takes an Identity's output takes its input. Reads of TensorFlow 1's
 * variables stay, since a read is when its value is taken; so do nodes that wait for others, and what is fetched. */
#include <headrace/pass.h>
#include <string.h>

static bool gives_its_inputs(hr_node node)
{
    static const char *const ops[] = {"Identity", "IdentityN", "StopGradient", "PreventGradient",
                                      "PlaceholderWithDefault"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (hr_node_is(node, ops[i])) return true;
    return false;
}

static bool switches(hr_node node) { return (hr_node_descriptor(node)->traits & HR_SWITCHES) != 0; }

/* Where branches switch, a node of several inputs gives nothing if one of them has no value. */
static bool identity_may_go(const hr_rewrite *r, hr_node node, bool any_switch)
{
    return gives_its_inputs(node) && hr_node_is_pure(node) && hr_node_controls(node) == 0 &&
           !hr_rewrite_is_fed(r, node) && !hr_rewrite_is_fetched(r, node) && (hr_node_inputs(node) == 1 || !any_switch);
}

/* Who waits for an Identity of a switch's output waits for that output: the switch alone would not do. */
static hr_status identity_by_pass(hr_rewrite *r, hr_node node, hr_error *err)
{
    for (int i = 0; i < hr_node_outputs(node); i++)
        HR_TRY(hr_rewrite_replace(r, hr_node_output(node, i), hr_rewrite_input(r, node, i), err));
    const hr_node input = hr_rewrite_input(r, node, 0);
    if (hr_node_inputs(node) != 1 || switches(input)) return HR_OK;
    return hr_rewrite_replace(r, hr_target(node), input, err);
}

static hr_status identity_run(hr_rewrite *r, hr_error *err)
{
    hr_graph *g = hr_rewrite_graph(r);
    const int32_t size = hr_graph_size(g);
    bool any_switch = false;
    for (int32_t id = 0; id < size; id++) any_switch |= switches((hr_node){g, id, 0});
    for (int32_t id = 0; id < size; id++) {
        const hr_node node = {g, id, 0};
        if (identity_may_go(r, node, any_switch)) HR_TRY(identity_by_pass(r, node, err));
    }
    return HR_OK;
}

const hr_graph_pass hr_graph_pass_identity = {
    .head = HR_GRAPH_PASS_HEAD,
    .name = "identity",
    .text = "by-passes nodes that give what they take",
    .traits = HR_PASS_EXACT,
    .run = identity_run,
};
