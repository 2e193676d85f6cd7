/* A tensor taken apart along an axis: Split into equal pieces, SplitV into pieces of given lengths. */
#include <headrace/kernels.h>

static hr_status split_pieces(hr_kernel *k, const hr_tensor *value, int axis, const int64_t *lengths, hr_error *err)
{
    const int64_t zero[HR_MAX_RANK] = {0};
    int64_t at[HR_MAX_RANK] = {0};
    hr_shape shape = value->shape;
    for (int i = 0; i < k->outputs; i++) {
        hr_tensor scratch, *out;
        shape.dims[axis] = lengths[i];
        HR_TRY(hr_kernel_begin_output(k, i, shape, &scratch, &out, err));
        hr_copy_block(k, value, at, out, zero, shape);
        HR_TRY(hr_kernel_end_output(k, i, &scratch, out, err));
        at[axis] += lengths[i];
    }
    return HR_OK;
}

static hr_status split_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *value = hr_infer_value(s, 0);
    hr_shape out = s->input[1];
    int axis;
    if (out.rank < 0) return HR_OK;
    if (value) {
        HR_TRY(hr_axis_input(value, out.rank, &axis, err));
        if (out.dims[axis] >= 0 && out.dims[axis] % s->outputs)
            return hr_infer_refuse(s, err, "a dimension that num_split divides");
        if (out.dims[axis] >= 0) out.dims[axis] /= s->outputs;
    }
    for (int d = 0; !value && d < out.rank; d++) out.dims[d] = -1;
    for (int i = 0; i < s->outputs; i++) s->output[i] = out;
    return HR_OK;
}

static hr_status split_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *value = k->input[1];
    int axis;
    HR_TRY(hr_axis_input(k->input[0], value->shape.rank, &axis, err));
    if (value->shape.dims[axis] % k->outputs)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected a dimension that num_split %d divides, got %lld", k->outputs,
                       (long long)value->shape.dims[axis]);
    int64_t *lengths;
    HR_TRY(hr_kernel_array(k, k->outputs, sizeof *lengths, "a split", &lengths, err));
    for (int i = 0; i < k->outputs; i++) lengths[i] = value->shape.dims[axis] / k->outputs;
    return split_pieces(k, value, axis, lengths, err);
}

static void split_join_back(hr_backward *b, hr_node axis, hr_gradient *out)
{
    hr_node *all = hr_malloc(sizeof *all * (size_t)(b->outputs + 1));
    if (!all) {
        hr_node_fail(b->graph, HR_RESOURCE_EXHAUSTED, "memory", "no memory for a gradient");
        return;
    }
    for (int i = 0; i < b->outputs; i++) all[i] = hr_backward_grad(b, i);
    all[b->outputs] = axis;
    *out = hr_dense_gradient(
        b->outputs == 1 ? all[0] : hr_new_node(b->graph, "ConcatV2", .inputs = all, .input_count = b->outputs + 1));
    hr_free(all);
}

static void split_gradient(hr_backward *b) { split_join_back(b, b->input[0], &b->out[1]); }
static void split_v_gradient(hr_backward *b) { split_join_back(b, b->input[2], &b->out[0]); }

/* Lengths of all pieces, the one that is -1 filled in if `whole` is known. */
static hr_status split_lengths(const hr_tensor *sizes, int count, int64_t whole, int64_t *lengths, hr_error *err)
{
    int open = -1;
    int64_t sum = 0;
    bool fits = sizes->count == count;
    for (int i = 0; fits && i < count; i++) {
        lengths[i] = hr_int_at(sizes, i);
        fits = lengths[i] >= 0 || (lengths[i] == -1 && open < 0);
        if (lengths[i] == -1)
            open = i;
        else if (fits)
            HR_TRY(hr_dim_add(sum, lengths[i], &sum, err));
    }
    if (!fits || (whole >= 0 && (sum > whole || (open < 0 && sum != whole))))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected %d sizes that make up a dimension of %lld, with at most one -1", count,
                       (long long)whole);
    if (open >= 0 && whole >= 0) lengths[open] = whole - sum;
    return HR_OK;
}

static hr_status split_v_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *value = hr_infer_value(s, 2), *sizes = hr_infer_value(s, 1);
    hr_shape out = s->input[0];
    int axis;
    if (out.rank < 0) return HR_OK;
    for (int d = 0; !value && d < out.rank; d++) out.dims[d] = -1;
    for (int i = 0; i < s->outputs; i++) s->output[i] = out;
    if (!value) return HR_OK;
    HR_TRY(hr_axis_of_one(value, out.rank, &axis, err));
    int64_t *lengths = hr_malloc(sizeof *lengths * (size_t)(s->outputs + 1));
    if (!lengths) return hr_no_memory(err, "a split");
    const hr_status st = sizes ? split_lengths(sizes, s->outputs, out.dims[axis], lengths, err) : HR_OK;
    for (int i = 0; i < s->outputs; i++) s->output[i].dims[axis] = sizes && st == HR_OK ? lengths[i] : -1;
    hr_free(lengths);
    return st;
}

static hr_status split_v_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *value = k->input[0];
    int axis;
    HR_TRY(hr_axis_of_one(k->input[2], value->shape.rank, &axis, err));
    int64_t *lengths;
    HR_TRY(hr_kernel_array(k, k->outputs + 1, sizeof *lengths, "a split", &lengths, err));
    HR_TRY(split_lengths(k->input[1], k->outputs, value->shape.dims[axis], lengths, err));
    return split_pieces(k, value, axis, lengths, err);
}

const hr_graph_op hr_graph_ops_split_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Split",
        .types = "T:any",
        .shape = split_shape,
        .compute = split_compute,
        .gradient = split_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "SplitV",
        .types = "T:any; Tlen:indices",
        .shape = split_v_shape,
        .compute = split_v_compute,
        .gradient = split_v_gradient,
    },
    HR_GRAPH_OPS_END,
};

hr_node hr_split(hr_node x, int count, int axis)
{
    if (!hr_node_exists(x)) return x;
    return hr_new_node(x.graph, "Split", HR_INPUTS(hr_scalar(x.graph, HR_INT32, axis), x),
                       HR_ATTRS(HR_INT_ATTR("num_split", count)));
}

hr_node hr_split_sizes(hr_node x, const int64_t *sizes, int count, int axis)
{
    if (!hr_node_exists(x)) return x;
    return hr_new_node(x.graph, "SplitV",
                       HR_INPUTS(x, hr_ints(x.graph, sizes, count), hr_scalar(x.graph, HR_INT32, axis)),
                       HR_ATTRS(HR_INT_ATTR("num_split", count)));
}
