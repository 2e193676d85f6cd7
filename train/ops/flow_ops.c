/* Identity and its kin: values that pass unchanged, and NoOp, which only waits. */
#include <headrace/kernels.h>

static hr_status pass_compute(hr_kernel *k, hr_error *err)
{
    for (int i = 0; i < k->outputs; i++) HR_TRY(hr_kernel_pass(k, i, i, k->input[i]->shape, err));
    return HR_OK;
}

static void identity_gradient(hr_backward *b)
{
    for (int i = 0; i < b->outputs; i++) b->out[i] = b->slices[i];
}

static hr_status list_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    for (int i = 0; i < s->outputs; i++) {
        s->output[i] = s->input[i];
        hr_infer_pass_handle(s, i, i);
    }
    return HR_OK;
}

static void prevent_gradient(hr_backward *b)
{
    const hr_view message = hr_attr_string(b->node, "message");
    hr_node_fail(b->graph, HR_NOT_FOUND, "graph.gradient", "Gradient explicitly disabled. Reason: %.*s",
                 (int)message.size, message.data);
}

static hr_status no_compute(hr_kernel *k, hr_error *err)
{
    (void)k;
    (void)err;
    return HR_OK;
}

/* What is fed in its place may have another shape than the default. */
static hr_status default_shape(hr_infer *s, hr_error *err)
{
    hr_shape merged;
    s->output[0] = hr_attr_shape(s->node, "shape");
    return hr_shape_merge(s->input[0], s->output[0], &merged) ? HR_OK
                                                              : hr_infer_refuse(s, err, "a default of the shape");
}

static bool identity_known(hr_node node, hr_shape *numbers)
{
    return hr_known_numbers(hr_node_input(node, 0), numbers);
}

const hr_graph_op hr_graph_ops_flow_ops[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "PlaceholderWithDefault",
        .types = "dtype:any",
        .traits = HR_CHEAP,
        .shape = default_shape,
        .compute = pass_compute,
        .gradient = identity_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Identity",
        .types = "T:{any,resource,variant}",
        .traits = HR_CHEAP | HR_PASSES_SLICES,
        .shapes = "=0",
        .compute = pass_compute,
        .gradient = identity_gradient,
        .known = identity_known,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "IdentityN",
        .types = "T:{any,variant}",
        .traits = HR_CHEAP | HR_PASSES_SLICES,
        .shape = list_shape,
        .compute = pass_compute,
        .gradient = identity_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "StopGradient",
        .types = "T:{any,variant}",
        .traits = HR_CHEAP | HR_NO_GRADIENT,
        .shape = hr_infer_unchanged,
        .compute = pass_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "PreventGradient",
        .types = "T:{any,variant}",
        .traits = HR_CHEAP,
        .shape = hr_infer_unchanged,
        .compute = pass_compute,
        .gradient = prevent_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "NoOp",
        .traits = HR_CHEAP | HR_NO_GRADIENT,
        .compute = no_compute,
    },
    HR_GRAPH_OPS_END,
};

HR_UNARY_CONSTRUCTOR(hr_identity, "Identity")
HR_UNARY_CONSTRUCTOR(hr_stop_gradient, "StopGradient")

hr_node hr_identity_n(const hr_node *values, int count)
{
    return hr_node_of_lists("IdentityN", values, count, NULL, 0, NULL);
}

hr_node hr_placeholder_with_default(hr_node value, hr_shape shape)
{
    return hr_new_node(value.graph, "PlaceholderWithDefault", HR_INPUTS(value),
                       HR_ATTRS(HR_SHAPE_ATTR("shape", shape)));
}

hr_node hr_group(hr_graph *g, const hr_node *nodes, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (!nodes || !hr_node_exists(nodes[i])) return hr_failed_node(g);
    return hr_new_node(g, "NoOp", .name = name ? name : "group_deps", .controls = nodes, .control_count = count);
}
