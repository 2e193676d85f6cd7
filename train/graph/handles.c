/* What is known of a variable from any node that hands it on. */
#include "train/graph/graph_internal.h"

#include <string.h>

/* From any node that only passes the variable on: its handle, reads, identities, inputs of functions. */
static hr_node trace(hr_node node)
{
    for (;;) {
        node = hr__capture_origin(node);
        const bool passes =
            strcmp(hr_node_op(node), "ReadVariableOp") == 0 || strcmp(hr_node_op(node), "Identity") == 0;
        if (!passes || hr_node_inputs(node) != 1) return node;
        node = hr_node_input(node, 0);
    }
}

const hr_variable_info *hr_variable_of(hr_node node)
{
    const hr_node origin = trace(node);
    const hr__node *n = hr__node_of(origin);
    return n && n->variable > 0 ? origin.graph->variables[n->variable - 1] : NULL;
}

hr_node hr__node_value(hr_node node)
{
    if (hr_node_dtype(node) != HR_RESOURCE) return node;
    const hr_variable_info *info = hr_variable_of(node);
    if (!info) return node;
    bool ordered = false;
    for (int i = 0; i < node.graph->control_count; i++) ordered |= node.graph->controls[i].count > 0;
    if (!ordered && hr_node_exists(info->read) && info->read.graph == node.graph) return info->read;
    return hr_new_node(node.graph, "ReadVariableOp", HR_INPUTS(node), HR_ATTRS(HR_TYPE_ATTR("dtype", info->dtype)));
}
