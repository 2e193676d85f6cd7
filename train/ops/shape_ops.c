/* What a shape is, as a tensor: Shape, ShapeN, Size, Rank. */
#include <headrace/kernels.h>

static hr_status shapes_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    for (int i = 0; i < s->outputs; i++) s->output[i] = HR_SHAPE(s->input[i].rank);
    return HR_OK;
}

static hr_status shapes_compute(hr_kernel *k, hr_error *err)
{
    for (int i = 0; i < k->outputs; i++) {
        const hr_shape shape = k->input[i]->shape;
        hr_tensor *out;
        HR_TRY(hr_kernel_output(k, i, HR_SHAPE(shape.rank), &out, err));
        for (int d = 0; d < shape.rank; d++) HR_TRY(hr_put_int(out, d, shape.dims[d], err));
    }
    return HR_OK;
}

static hr_status size_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, HR_SCALAR, &out, err));
    return hr_put_int(out, 0, k->input[0]->count, err);
}

static hr_status rank_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, HR_SCALAR, &out, err));
    return hr_put_int(out, 0, k->input[0]->shape.rank, err);
}

static bool shapes_known(hr_node node, hr_shape *numbers)
{
    *numbers = hr_node_shape(hr_node_input(node, node.output));
    return true;
}

static bool size_known(hr_node node, hr_shape *numbers)
{
    *numbers = HR_SHAPE(hr_shape_count(hr_node_shape(hr_node_input(node, 0))));
    return true;
}

static bool rank_known(hr_node node, hr_shape *numbers)
{
    *numbers = HR_SHAPE(hr_node_shape(hr_node_input(node, 0)).rank);
    return true;
}

const hr_graph_op hr_graph_ops_shape_ops[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Shape",
        .types = "T:{any,variant}; out_type:indices",
        .traits = HR_CHEAP | HR_NO_GRADIENT,
        .shape = shapes_shape,
        .compute = shapes_compute,
        .known = shapes_known,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ShapeN",
        .types = "T:{any,variant}; out_type:indices",
        .traits = HR_CHEAP | HR_NO_GRADIENT,
        .shape = shapes_shape,
        .compute = shapes_compute,
        .known = shapes_known,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Size",
        .types = "T:{any,variant}; out_type:indices",
        .traits = HR_CHEAP | HR_NO_GRADIENT,
        .shapes = "[]",
        .compute = size_compute,
        .known = size_known,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Rank",
        .types = "T:{any,variant}",
        .traits = HR_CHEAP | HR_NO_GRADIENT,
        .shapes = "[]",
        .compute = rank_compute,
        .known = rank_known,
    },
    HR_GRAPH_OPS_END,
};

HR_UNARY_CONSTRUCTOR(hr_shape_of, "Shape")
HR_UNARY_CONSTRUCTOR(hr_size_of, "Size")
HR_UNARY_CONSTRUCTOR(hr_rank_of, "Rank")

hr_node hr_shape_n(const hr_node *values, int count)
{
    return hr_node_of_lists("ShapeN", values, count, NULL, 0, NULL);
}
