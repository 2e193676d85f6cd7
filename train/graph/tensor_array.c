/* Tensor arrays: lists of tensors, read and written by index. */
#include "base/constructor.h"
#include "train/graph/graph_internal.h"

static hr_node element_shape_node(hr_graph *g, hr_shape shape)
{
    return shape.rank < 0 ? hr_const_number(g, HR_INT32, -1, "element_shape")
                          : hr_const_ints(g, shape.dims, shape.rank, "element_shape");
}

static hr_shape shape_of_rows(hr_shape shape)
{
    hr_shape row = HR_UNKNOWN_SHAPE;
    if (shape.rank < 1) return row;
    row.rank = shape.rank - 1;
    for (int i = 0; i < row.rank; i++) row.dims[i] = shape.dims[i + 1];
    return row;
}

hr_tensor_array hr_place_end_array(hr_tensor_array made)
{
    hr_place_end(made.list);
    return made;
}

hr_tensor_array hr_tensor_array_new_with(hr_node size, hr_dtype dtype, const hr_tensor_array_opts *given)
{
    const hr_tensor_array_opts opts = HR_OPTIONS(hr_tensor_array_opts, given);
    hr_tensor_array a = {.dtype = dtype,
                         .element_shape = opts.element_shape ? *opts.element_shape : HR_UNKNOWN_SHAPE,
                         .dynamic_size = opts.dynamic_size};
    a.list = hr_new_node(size.graph, "TensorListReserve", .name = "TensorArray",
                         HR_INPUTS(element_shape_node(size.graph, a.element_shape), size),
                         HR_ATTRS(HR_TYPE_ATTR("element_dtype", dtype)));
    return a;
}

hr_tensor_array hr_tensor_array_unstack(hr_node rows)
{
    const hr_node value = hr_node_value(rows);
    hr_tensor_array a = {.dtype = hr_node_dtype(value), .element_shape = shape_of_rows(hr_node_shape(value))};
    a.list = hr_new_node(value.graph, "TensorListFromTensor", .name = "TensorArrayUnstack",
                         HR_INPUTS(value, element_shape_node(value.graph, a.element_shape)));
    return a;
}

/* Of NULL: one without a type, whose nodes fail. */
hr_tensor_array hr_tensor_array_of(const hr_tensor_array *like, hr_node list)
{
    hr_tensor_array a = {.dtype = HR_INVALID_DTYPE, .element_shape = HR_UNKNOWN_SHAPE};
    if (like) a = *like;
    a.list = list;
    return a;
}

static bool is_array(const hr_tensor_array *a, hr_graph *g, const char *call)
{
    if (!a) hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.argument", "%s: expected a tensor array, got NULL", call);
    return a;
}

hr_node hr_tensor_array_read(const hr_tensor_array *a, hr_node index)
{
    if (!is_array(a, index.graph, "hr_tensor_array_read")) return hr_failed_node(index.graph);
    return hr_new_node(index.graph, "TensorListGetItem", .name = "TensorArrayRead",
                       HR_INPUTS(a->list, index, element_shape_node(index.graph, a->element_shape)),
                       HR_ATTRS(HR_TYPE_ATTR("element_dtype", a->dtype)));
}

hr_tensor_array hr_tensor_array_write(const hr_tensor_array *a, hr_node index, hr_node value)
{
    if (!is_array(a, index.graph, "hr_tensor_array_write"))
        return hr_tensor_array_of(NULL, hr_failed_node(index.graph));
    return hr_tensor_array_of(a, hr_new_node(index.graph, "TensorListSetItem", .name = "TensorArrayWrite",
                                             HR_INPUTS(a->list, index, hr_node_value(value)),
                                             HR_ATTRS(HR_TYPE_ATTR("element_dtype", a->dtype),
                                                      HR_BOOL_ATTR("resize_if_index_out_of_bounds", a->dynamic_size))));
}

hr_node hr__tensor_array_rows(const hr_tensor_array *a, int64_t count)
{
    if (!a) return hr_failed_node(NULL);
    return hr_new_node(a->list.graph, "TensorListStack", .name = "TensorArrayStack",
                       HR_INPUTS(a->list, element_shape_node(a->list.graph, a->element_shape)),
                       HR_ATTRS(HR_TYPE_ATTR("element_dtype", a->dtype), HR_INT_ATTR("num_elements", count)));
}

hr_node hr_tensor_array_stack(const hr_tensor_array *a) { return hr__tensor_array_rows(a, -1); }

hr_node hr_tensor_array_size(const hr_tensor_array *a)
{
    if (!a) return hr_failed_node(NULL);
    return hr_new_node(a->list.graph, "TensorListLength", .name = "TensorArraySize", HR_INPUTS(a->list));
}
