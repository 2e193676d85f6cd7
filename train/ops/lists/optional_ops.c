/* Values that may be absent: variants of several tensors, or of none. The derivatives of If hand on with them what only
 * one branch has. */
#include <headrace/kernels.h>

typedef struct optional {
    bool present;
    int count;
    hr_tensor *value;
    hr_buffer *memory; /* of the values */
} optional;

static void optional_release(void *value)
{
    optional *o = value;
    while (o->count > 0) hr_buffer_unref(o->value[--o->count].buffer);
    hr_buffer_unref(o->memory);
    o->memory = NULL;
}

static const hr_variant_kind optional_kind = {
    .name = "Optional", .size = sizeof(optional), .release = optional_release};

static hr_status none_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor out;
    void *value;
    HR_TRY(hr_kernel_new_variant(k, &optional_kind, &out, &value, err));
    hr_kernel_give(k, 0, out);
    return HR_OK;
}

static hr_status from_value_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor out;
    void *value;
    HR_TRY(hr_kernel_new_variant(k, &optional_kind, &out, &value, err));
    optional *o = value;
    o->memory = hr_kernel_buffer(k, sizeof *o->value * (size_t)k->inputs);
    if (!o->memory) {
        hr_tensor_clear(&out);
        return hr_no_memory(err, "an optional");
    }
    o->present = true;
    o->value = hr_buffer_data(o->memory);
    for (; o->count < k->inputs; o->count++) o->value[o->count] = hr_kernel_take(k, o->count);
    hr_kernel_give(k, 0, out);
    return HR_OK;
}

static hr_status has_value_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    void *value;
    HR_TRY(hr_kernel_variant(k, 0, &optional_kind, &value, err));
    HR_TRY(hr_kernel_output(k, 0, HR_SCALAR, &out, err));
    *(bool *)out->data = ((const optional *)value)->present;
    return HR_OK;
}

static hr_status get_value_shape(hr_infer *s, hr_error *err)
{
    const hr_attr *shapes = hr_node_attr(s->node, "output_shapes");
    if (shapes->count != s->outputs) return hr_infer_refuse(s, err, "a shape of output_shapes for each output");
    for (int i = 0; i < s->outputs; i++) s->output[i] = shapes->shapes[i];
    return HR_OK;
}

static hr_status get_value_compute(hr_kernel *k, hr_error *err)
{
    const hr_attr *types = hr_node_attr(k->node, "output_types"), *shapes = hr_node_attr(k->node, "output_shapes");
    char found[128], wanted[128];
    hr_shape both;
    void *value;
    HR_TRY(hr_kernel_variant(k, 0, &optional_kind, &value, err));
    const optional *o = value;
    if (!o->present)
        return hr_fail(err, HR_INVALID_ARGUMENT, "optional.none", "The given optional does not have a value.");
    if (o->count != k->outputs)
        return hr_fail(err, HR_INVALID_ARGUMENT, "optional.value", "The given optional has %d components, expected %d",
                       o->count, k->outputs);
    for (int i = 0; i < k->outputs; i++)
        if (o->value[i].dtype != types->types[i] ||
            (i < shapes->count && !hr_shape_merge(o->value[i].shape, shapes->shapes[i], &both)))
            return hr_fail(err, HR_INVALID_ARGUMENT, "optional.value",
                           "The given optional's component %d: expected %s %s, got %s %s", i,
                           hr_dtype_name(types->types[i]), hr_shape_text(shapes->shapes[i], wanted, sizeof wanted),
                           hr_dtype_name(o->value[i].dtype), hr_shape_text(o->value[i].shape, found, sizeof found));
    for (int i = 0; i < k->outputs; i++) {
        hr_buffer_ref(o->value[i].buffer);
        hr_kernel_give(k, i, o->value[i]);
    }
    return HR_OK;
}

enum { MOST = 64 /* values of an optional that is derived */ };

static bool optional_is_derived(hr_backward *b, int values)
{
    if (values > MOST)
        hr_node_fail(b->graph, HR_UNIMPLEMENTED, "graph.gradient", "expected an optional of at most %d values, got %d",
                     MOST, values);
    return values <= MOST;
}

/* What flows to an optional is an optional of what flows to its values, and the other way round. */
static void from_value_gradient(hr_backward *b)
{
    hr_dtype types[MOST];
    hr_shape shapes[MOST];
    if (!optional_is_derived(b, b->inputs)) return;
    for (int i = 0; i < b->inputs; i++) types[i] = hr_node_dtype(b->input[i]), shapes[i] = hr_node_shape(b->input[i]);
    const hr_attr all = {.name = "output_shapes", .kind = HR_ATTR_SHAPES, .count = b->inputs, .shapes = shapes};
    const hr_node values = hr_new_node(b->graph, "OptionalGetValue", HR_INPUTS(b->grad[0]),
                                       HR_ATTRS(HR_TYPES_ATTR("output_types", types, b->inputs), all));
    for (int i = 0; i < b->inputs; i++) b->out[i] = hr_dense_gradient(hr_node_output(values, i));
}

static void get_value_gradient(hr_backward *b)
{
    hr_node grad[MOST];
    if (!optional_is_derived(b, b->outputs)) return;
    for (int i = 0; i < b->outputs; i++) grad[i] = hr_backward_grad(b, i);
    b->out[0] =
        hr_dense_gradient(hr_new_node(b->graph, "OptionalFromValue", .inputs = grad, .input_count = b->outputs));
}

#define OPTIONAL_OP(NAME, KERNEL, ...)                                                                                 \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .compute = KERNEL##_compute, __VA_ARGS__                             \
    }

const hr_graph_op hr_graph_ops_optional_ops[] = {
    OPTIONAL_OP("OptionalNone", none, .traits = HR_CHEAP | HR_NO_GRADIENT, .shapes = "[]"),
    OPTIONAL_OP("OptionalFromValue", from_value, .traits = HR_CHEAP, .shapes = "? -> []",
                .gradient = from_value_gradient),
    OPTIONAL_OP("OptionalHasValue", has_value, .traits = HR_CHEAP | HR_NO_GRADIENT, .shapes = "[] -> []"),
    OPTIONAL_OP("OptionalGetValue", get_value, .traits = HR_CHEAP, .shape = get_value_shape,
                .gradient = get_value_gradient),
    HR_GRAPH_OPS_END,
};
