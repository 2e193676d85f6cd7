/* Shape, ShapeN, Size and Rank of what has a known shape become constants. Where branches switch, nothing does: a
 * constant would have a value where the tensor has none. */
#include <headrace/pass.h>
#include <string.h>

/* The numbers that output i of the node gives; -1: they are not known. */
static int known_numbers(hr_node node, int i, int64_t *numbers, bool *scalar)
{
    const char *op = hr_node_op(node);
    const hr_shape shape = hr_node_shape(hr_node_input(node, i));
    *scalar = strcmp(op, "Rank") == 0 || strcmp(op, "Size") == 0;
    numbers[0] = strcmp(op, "Rank") == 0 ? shape.rank : hr_shape_count(shape);
    if (*scalar) return numbers[0] < 0 ? -1 : 1;
    if (hr_shape_count(shape) < 0) return -1;
    memcpy(numbers, shape.dims, sizeof *numbers * (size_t)shape.rank);
    return shape.rank;
}

static bool asks_for_shape(hr_node node)
{
    static const char *const ops[] = {"Shape", "ShapeN", "Size", "Rank"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (hr_node_is(node, ops[i])) return true;
    return false;
}

static hr_status shapes_replace(hr_rewrite *r, hr_node node, int i, hr_error *err)
{
    int64_t numbers[HR_MAX_RANK + 1];
    union {
        int32_t narrow[HR_MAX_RANK + 1];
        int64_t wide[HR_MAX_RANK + 1];
    } values;
    bool scalar;
    const hr_node old = hr_node_output(node, i);
    const hr_dtype dtype = hr_node_dtype(old);
    const int count = known_numbers(node, i, numbers, &scalar);
    if (count < 0) return HR_OK;
    const hr_tensor value = hr_tensor_of(dtype, scalar ? HR_SCALAR : HR_SHAPE(count), &values);
    for (int j = 0; j < count; j++) {
        if (dtype == HR_INT32 && numbers[j] > INT32_MAX) return HR_OK; /* the run says so */
        if (dtype == HR_INT32)
            values.narrow[j] = (int32_t)numbers[j];
        else
            values.wide[j] = numbers[j];
    }
    const hr_node made = hr_new_node(hr_rewrite_graph(r), "Const", .name = hr_node_name(node),
                                     HR_ATTRS(HR_TENSOR_ATTR("value", &value), HR_TYPE_ATTR("dtype", dtype)));
    return hr_node_exists(made) ? hr_rewrite_replace(r, old, made, err) : HR_OK; /* the error is the graph's */
}

static hr_status shapes_run(hr_rewrite *r, hr_error *err)
{
    hr_graph *g = hr_rewrite_graph(r);
    const int32_t size = hr_graph_size(g);
    for (int32_t id = 0; id < size; id++)
        if (hr_node_descriptor((hr_node){g, id, 0})->traits & HR_SWITCHES) return HR_OK;
    for (int32_t id = 0; id < size; id++) {
        const hr_node node = {g, id, 0};
        if (!asks_for_shape(node) || hr_rewrite_is_fed(r, node) || !hr_node_is_pure(node) || hr_node_controls(node) > 0)
            continue;
        for (int i = 0; i < hr_node_outputs(node); i++) HR_TRY(shapes_replace(r, node, i, err));
    }
    return HR_OK;
}

const hr_graph_pass hr_graph_pass_shapes = {
    .head = HR_GRAPH_PASS_HEAD,
    .name = "shapes",
    .text = "makes constants of shapes that are known",
    .traits = HR_PASS_EXACT,
    .run = shapes_run,
};
