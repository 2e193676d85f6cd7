/* Const, Placeholder: where values come from. */
#include <headrace/kernels.h>

static hr_status const_shape(hr_infer *s, hr_error *err)
{
    const hr_attr *value = hr_node_attr(s->node, "value");
    if (value->tensor->dtype != hr_attr_type(s->node, "dtype"))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr", "expected a value of type dtype, got another");
    s->output[0] = value->tensor->shape;
    return HR_OK;
}

/* The bytes lie in the graph. */
static hr_status const_compute(hr_kernel *k, hr_error *err)
{
    (void)err;
    hr_kernel_give(k, 0, *hr_node_attr(k->node, "value")->tensor);
    return HR_OK;
}

static bool const_known(hr_node node, hr_shape *numbers)
{
    return hr_shape_from_tensor(hr_node_attr(node, "value")->tensor, numbers);
}

/* A function's input in a file may say what it is a handle of. */
static void placeholder_handle(hr_infer *s)
{
    const hr_attr *types = hr_node_attr(s->node, "_handle_dtypes"), *shapes = hr_node_attr(s->node, "_handle_shapes");
    if (!types || types->kind != HR_ATTR_TYPES || types->count != 1) return;
    s->handle[0].dtype = types->types[0];
    s->handle[0].shape =
        shapes && shapes->kind == HR_ATTR_SHAPES && shapes->count == 1 ? shapes->shapes[0] : HR_UNKNOWN_SHAPE;
}

static hr_status placeholder_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    s->output[0] = hr_attr_shape(s->node, "shape");
    if (s->handle) placeholder_handle(s);
    return HR_OK;
}

static hr_status placeholder_compute(hr_kernel *k, hr_error *err)
{
    char shape[128];
    return hr_fail(err, HR_INVALID_ARGUMENT, "session.feed",
                   "You must feed a value for placeholder tensor '%s' with dtype %s and shape %s",
                   hr_node_name(k->node), hr_dtype_name(hr_node_dtype(k->node)),
                   hr_shape_text(hr_node_shape(k->node), shape, sizeof shape));
}

#define PLACEHOLDER(NAME)                                                                                              \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .types = "dtype:any", .traits = HR_NO_GRADIENT | HR_STATEFUL,          \
        .shape = placeholder_shape, .compute = placeholder_compute,                                                    \
    }

const hr_graph_op hr_graph_ops_source_ops[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Const",
        .types = "dtype:any",
        .traits = HR_FIXED | HR_NO_GRADIENT,
        .shape = const_shape,
        .compute = const_compute,
        .known = const_known,
    },
    PLACEHOLDER("Placeholder"),
    PLACEHOLDER("PlaceholderV2"),
    HR_GRAPH_OPS_END,
};

hr_node hr_placeholder_with(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_placeholder_opts *opts)
{
    const hr_placeholder_opts o = HR_OPTIONS(hr_placeholder_opts, opts);
    return hr_new_node(g, "Placeholder", .name = o.name,
                       HR_ATTRS(HR_TYPE_ATTR("dtype", dtype), HR_SHAPE_ATTR("shape", shape)));
}

hr_node hr_const_with(hr_graph *g, const hr_tensor *value, const hr_name_opts *opts)
{
    const hr_name_opts o = HR_OPTIONS(hr_name_opts, opts);
    if (!value || value->layout != HR_DENSE)
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.attr", "hr_const: expected a dense tensor%s",
                            value ? "" : ", got NULL");
    return hr_new_node(g, "Const", .name = o.name,
                       HR_ATTRS(HR_TENSOR_ATTR("value", value), HR_TYPE_ATTR("dtype", value->dtype)));
}

hr_node hr_scalar(hr_graph *g, hr_dtype dtype, double value) { return hr_const_number(g, dtype, value, NULL); }

/* A variable counts as its value. */
static hr_dtype value_dtype(hr_node x)
{
    hr_handle_info variable;
    return hr_node_dtype(x) == HR_RESOURCE && hr_handle_of(x, &variable) ? variable.dtype : hr_node_dtype(x);
}

hr_node hr_scalar_like(hr_node x, double value)
{
    return hr_node_exists(x) ? hr_scalar(x.graph, value_dtype(x), value) : x;
}

hr_node hr_ints(hr_graph *g, const int64_t *values, int count) { return hr_const_ints(g, values, count, NULL); }

hr_node hr_shape_const(hr_graph *g, hr_shape shape)
{
    if (shape.rank < 0 || shape.rank > HR_MAX_RANK)
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.shape",
                            "hr_shape_const: expected a shape of rank 0 to %d, got rank %d", HR_MAX_RANK, shape.rank);
    return hr_ints(g, shape.dims, shape.rank);
}
