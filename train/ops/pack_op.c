/* Tensors of one shape put together along a new axis, and taken apart again: Pack, Unpack. */
#include <headrace/kernels.h>
#include <string.h>

static hr_status pack_out(hr_node node, hr_shape in, int count, int *axis, hr_shape *out, hr_error *err)
{
    if (in.rank == HR_MAX_RANK)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected at most %d dimensions", HR_MAX_RANK);
    HR_TRY(hr_axis(hr_attr_int(node, "axis"), in.rank + 1, axis, err));
    out->rank = in.rank + 1;
    for (int i = 0; i < out->rank; i++) out->dims[i] = i < *axis ? in.dims[i] : i == *axis ? count : in.dims[i - 1];
    return HR_OK;
}

static hr_status pack_shape(hr_infer *s, hr_error *err)
{
    hr_shape in = HR_UNKNOWN_SHAPE;
    int axis;
    for (int i = 0; i < s->inputs; i++)
        if (!hr_shape_merge(in, s->input[i], &in)) return hr_infer_refuse(s, err, "inputs of one shape");
    return in.rank < 0 ? HR_OK : pack_out(s->node, in, s->inputs, &axis, &s->output[0], err);
}

static hr_status pack_compute(hr_kernel *k, hr_error *err)
{
    int axis;
    hr_shape shape = {0, {0}};
    hr_tensor scratch, *out;
    HR_TRY(pack_out(k->node, k->input[0]->shape, k->inputs, &axis, &shape, err));
    for (int i = 1; i < k->inputs; i++)
        if (!hr_shape_equal(k->input[i]->shape, k->input[0]->shape))
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected inputs of one shape");
    HR_TRY(hr_kernel_begin_output(k, 0, shape, &scratch, &out, err));
    const size_t piece = hr_bytes_from_axis(k->input[0], axis);
    const int64_t rows = hr_values_before_axis(shape, axis);
    char *at = out->data;
    for (int64_t r = 0; r < rows && piece; r++)
        for (int i = 0; i < k->inputs; i++, at += piece)
            memcpy(at, (const char *)k->input[i]->data + (size_t)r * piece, piece);
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

/* Scalars side by side. */
static bool pack_known(hr_node node, hr_shape *numbers)
{
    const int count = hr_node_inputs(node);
    if (count > HR_MAX_RANK || hr_node_shape(node).rank != 1) return false;
    *numbers = hr_shape_of_rank(count);
    for (int i = 0; i < count; i++) {
        hr_shape one;
        if (hr_known_numbers(hr_node_input(node, i), &one) && one.rank == 1) numbers->dims[i] = one.dims[0];
    }
    return true;
}

static void pack_gradient(hr_backward *b)
{
    const hr_node parts =
        hr_new_node(b->graph, "Unpack", HR_INPUTS(b->grad[0]),
                    HR_ATTRS(HR_INT_ATTR("num", b->inputs), HR_INT_ATTR("axis", hr_attr_int(b->node, "axis"))));
    for (int i = 0; i < b->inputs; i++) b->out[i] = hr_dense_gradient(hr_node_output(parts, i));
}

static hr_status unpack_out(hr_node node, hr_shape in, int count, int *axis, hr_shape *out, hr_error *err)
{
    HR_TRY(hr_axis(hr_attr_int(node, "axis"), in.rank, axis, err));
    if (in.dims[*axis] >= 0 && in.dims[*axis] != count)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected num = %lld outputs, got %d",
                       (long long)in.dims[*axis], count);
    out->rank = in.rank - 1;
    for (int i = 0; i < out->rank; i++) out->dims[i] = in.dims[i < *axis ? i : i + 1];
    return HR_OK;
}

static hr_status unpack_shape(hr_infer *s, hr_error *err)
{
    int axis;
    for (int i = 0; i < s->outputs && s->input[0].rank >= 0; i++)
        HR_TRY(unpack_out(s->node, s->input[0], s->outputs, &axis, &s->output[i], err));
    return HR_OK;
}

static hr_status unpack_compute(hr_kernel *k, hr_error *err)
{
    int axis;
    hr_shape shape = {0, {0}};
    const hr_tensor *in = k->input[0];
    HR_TRY(unpack_out(k->node, in->shape, k->outputs, &axis, &shape, err));
    const int64_t rows = hr_values_before_axis(in->shape, axis);
    const size_t piece = rows && k->outputs ? (size_t)(in->count / rows / k->outputs) * hr_dtype_size(in->dtype) : 0;
    for (int i = 0; i < k->outputs; i++) {
        hr_tensor scratch, *out;
        HR_TRY(hr_kernel_begin_output(k, i, shape, &scratch, &out, err));
        for (int64_t r = 0; r < rows && piece; r++)
            memcpy((char *)out->data + (size_t)r * piece, (const char *)in->data + (size_t)(r * k->outputs + i) * piece,
                   piece);
        HR_TRY(hr_kernel_end_output(k, i, &scratch, out, err));
    }
    return HR_OK;
}

static void unpack_gradient(hr_backward *b)
{
    hr_node *all = hr_malloc(sizeof *all * (size_t)(b->outputs + 1));
    if (!all) {
        hr_node_fail(b->graph, HR_RESOURCE_EXHAUSTED, "memory", "no memory for a gradient");
        return;
    }
    for (int i = 0; i < b->outputs; i++) all[i] = hr_backward_grad(b, i);
    b->out[0] = hr_dense_gradient(hr_new_node(b->graph, "Pack", .inputs = all, .input_count = b->outputs,
                                              HR_ATTRS(HR_INT_ATTR("axis", hr_attr_int(b->node, "axis")))));
    hr_free(all);
}

const hr_graph_op hr_graph_ops_pack_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Pack",
        .types = "T:any",
        .shape = pack_shape,
        .compute = pack_compute,
        .known = pack_known,
        .gradient = pack_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Unpack",
        .types = "T:any",
        .shape = unpack_shape,
        .compute = unpack_compute,
        .gradient = unpack_gradient,
    },
    HR_GRAPH_OPS_END,
};

hr_node hr_stack(const hr_node *values, int count, int axis)
{
    return hr_node_of_lists("Pack", values, count, NULL, 0, &(hr_node_opts){HR_ATTRS(HR_INT_ATTR("axis", axis))});
}

hr_node hr_unstack(hr_node x, int count, int axis)
{
    const hr_shape shape = hr_node_shape(x);
    if (!hr_node_exists(x)) return x;
    const int64_t at = axis < 0 ? (int64_t)axis + shape.rank : axis;
    if (count == 0 && (at < 0 || at >= shape.rank || shape.dims[at] < 0 || shape.dims[at] > INT32_MAX)) {
        char text[128];
        return hr_node_fail(x.graph, HR_INVALID_ARGUMENT, "graph.shape",
                            "hr_unstack: expected a number of slices, or an axis of known length, got axis %d of %s",
                            axis, hr_shape_text(shape, text, sizeof text));
    }
    return hr_new_node(x.graph, "Unpack", HR_INPUTS(x),
                       HR_ATTRS(HR_INT_ATTR("num", count ? count : shape.dims[at]), HR_INT_ATTR("axis", axis)));
}
