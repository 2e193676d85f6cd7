/* TensorFlow 1's branches: Switch gives its value to one output and leaves the other without; Merge takes the input that
 * has one; RefSwitch and RefMerge hand on variables; ControlTrigger waits for nodes of branches, whether or not they were taken. */
#include <headrace/kernels.h>

static hr_status switch_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    s->output[0] = s->output[1] = s->input[0];
    for (int i = 0; i < 2; i++) hr_infer_pass_handle(s, 0, i);
    return HR_OK;
}

static hr_status switch_compute(hr_kernel *k, hr_error *err)
{
    if (k->input[1]->count != 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a scalar as predicate");
    const int taken = *(const bool *)k->input[1]->data;
    hr_kernel_leave_out(k, !taken);
    return hr_kernel_pass(k, taken, 0, k->input[0]->shape, err);
}

static hr_node side_of(const hr_backward *b, hr_node value, int i)
{
    return hr_node_output(hr_new_node(b->graph, "Switch", HR_INPUTS(value, b->input[1])), i);
}

static hr_node merge_of(hr_graph *g, hr_node x, hr_node y)
{
    return hr_new_node(g, "Merge", .inputs = (hr_node[]){x, y}, .input_count = 2);
}

/* What comes back from the branch that was taken; it is zero if nothing does. Slices if one side is. */
static void switch_gradient(hr_backward *b)
{
    hr_gradient both[] = {b->slices[0], b->slices[1]};
    const hr_node x = b->input[0], indices = both[0].indices.graph ? both[0].indices : both[1].indices;
    for (int i = 0; i < 2; i++)
        if (indices.graph)
            both[i] = hr_gradient_slices(both[i], side_of(b, x, i), hr_node_dtype(indices));
        else if (!both[i].values.graph)
            both[i] = hr_dense_gradient(side_of(b, hr_gradient_zeros(x), i));
    b->out[0] = hr_dense_gradient(merge_of(b->graph, both[0].values, both[1].values));
    if (!indices.graph) return;
    b->out[0].indices = merge_of(b->graph, both[0].indices, both[1].indices);
    b->out[0].dense_shape = hr_node_dtype(x) == HR_RESOURCE ? hr_variable_shape(x, HR_INT64)
                                                            : hr_new_node(b->graph, "Shape", HR_INPUTS(x),
                                                                          HR_ATTRS(HR_TYPE_ATTR("out_type", HR_INT64)));
}

/* What all inputs have in common. */
static hr_status merge_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    hr_shape common = s->input[0];
    for (int i = 1; i < s->inputs; i++) {
        if (s->input[i].rank != common.rank) common = HR_UNKNOWN_SHAPE;
        for (int d = 0; d < common.rank; d++)
            if (s->input[i].dims[d] != common.dims[d]) common.dims[d] = -1;
    }
    s->output[0] = common;
    s->output[1] = HR_SCALAR;
    hr_infer_pass_handle(s, 0, 0);
    return HR_OK;
}

static hr_status merge_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *index;
    int i = 0;
    while (i < k->inputs - 1 && !hr_kernel_has_input(k, i)) i++;
    HR_TRY(hr_kernel_pass(k, 0, i, k->input[i]->shape, err));
    HR_TRY(hr_kernel_output(k, 1, HR_SCALAR, &index, err));
    *(int32_t *)index->data = i;
    return HR_OK;
}

/* Only the input that was taken gets something. */
static void merge_gradient(hr_backward *b)
{
    const hr_gradient all = b->slices[0];
    if (!all.values.graph) return;
    for (int i = 0; i < b->inputs; i++) {
        const hr_node taken =
            hr_new_node(b->graph, "Equal", HR_INPUTS(b->output[1], hr_const_number(b->graph, HR_INT32, i, NULL)));
        b->out[i] = all;
        b->out[i].values = hr_node_output(hr_new_node(b->graph, "Switch", HR_INPUTS(all.values, taken)), 1);
        if (!all.indices.graph) continue;
        b->out[i].indices = hr_node_output(hr_new_node(b->graph, "Switch", HR_INPUTS(all.indices, taken)), 1);
    }
}

static hr_status trigger_compute(hr_kernel *k, hr_error *err)
{
    (void)k, (void)err;
    return HR_OK;
}

const hr_graph_op hr_graph_ops_switch_ops[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Switch",
        .types = "T:{any,resource,variant}",
        .traits = HR_CHEAP | HR_SWITCHES | HR_PASSES_SLICES,
        .shape = switch_shape,
        .compute = switch_compute,
        .gradient = switch_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Merge",
        .types = "T:{any,resource,variant}",
        .traits = HR_CHEAP | HR_MERGES | HR_PASSES_SLICES,
        .shape = merge_shape,
        .compute = merge_compute,
        .gradient = merge_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "RefSwitch",
        .types = "T:any",
        .traits = HR_CHEAP | HR_READS_ONLY | HR_SWITCHES,
        .shape = switch_shape,
        .compute = switch_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "RefMerge",
        .types = "T:any",
        .traits = HR_CHEAP | HR_READS_ONLY | HR_MERGES,
        .shape = merge_shape,
        .compute = merge_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ControlTrigger",
        .traits = HR_CHEAP | HR_MERGES,
        .compute = trigger_compute,
    },
    HR_GRAPH_OPS_END,
};
