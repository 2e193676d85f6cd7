/* StringJoin: strings of several inputs, place by place, with a separator. */
#include <headrace/kernels.h>
#include <headrace/text_ops.h>

/* All but scalars are of one shape. */
static hr_status join_shape(hr_infer *s, hr_error *err)
{
    hr_shape all = HR_SCALAR;
    bool open = false;
    for (int i = 0; i < s->inputs; i++) {
        open |= s->input[i].rank < 0;
        if (s->input[i].rank <= 0) continue;
        if (!hr_shape_merge(all.rank == 0 ? HR_UNKNOWN_SHAPE : all, s->input[i], &all))
            return hr_infer_refuse(s, err, "inputs of one shape, or scalars");
    }
    s->output[0] = all.rank == 0 && open ? HR_UNKNOWN_SHAPE : all;
    return HR_OK;
}

static hr_status join_compute(hr_kernel *k, hr_error *err)
{
    const hr_view separator = hr_attr_string(k->node, "separator");
    hr_shape shape = HR_SCALAR;
    hr_strings strings = {0};
    for (int i = 0; i < k->inputs; i++) {
        const hr_shape in = k->input[i]->shape;
        if (in.rank > 0 && shape.rank > 0 && !hr_shape_equal(in, shape))
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected inputs of one shape, or scalars");
        if (in.rank > 0) shape = in;
    }
    for (int64_t n = 0; n < hr_shape_count(shape); n++) {
        for (int i = 0; i < k->inputs; i++) {
            if (i > 0) hr_strings_add(&strings, separator);
            hr_strings_add(&strings, ((const hr_view *)k->input[i]->data)[k->input[i]->shape.rank ? n : 0]);
        }
        hr_strings_end(&strings);
    }
    return hr_strings_give(&strings, k, 0, shape, err);
}

const hr_graph_op hr_graph_ops_string_join_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "StringJoin",
        .traits = HR_NO_GRADIENT,
        .shape = join_shape,
        .compute = join_compute,
    },
    HR_GRAPH_OPS_END,
};

hr_node hr_string_join(const hr_node *texts, int count, const char *separator)
{
    if (!texts || count < 1) return (hr_node){0};
    return hr_new_node(NULL, "StringJoin", .inputs = texts, .input_count = count,
                       HR_ATTRS(HR_STRING_ATTR("separator", separator)));
}
