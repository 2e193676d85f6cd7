/* OneHot, and MultiHot of rows of ids: what indicator columns are made of. Ids out of range count for nothing. */
#include <headrace/kernels.h>
#include <string.h>

static hr_status expanded(hr_node node, hr_shape in, int64_t depth, int *axis, hr_shape *out, hr_error *err)
{
    if (in.rank == HR_MAX_RANK)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected at most %d dimensions", HR_MAX_RANK - 1);
    const int64_t asked = hr_attr_int(node, "axis");
    if (asked < -1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.axis", "expected an axis >= -1, got %lld", (long long)asked);
    HR_TRY(hr_axis(asked, in.rank + 1, axis, err));
    out->rank = in.rank + 1;
    for (int i = 0; i < out->rank; i++) out->dims[i] = i < *axis ? in.dims[i] : i == *axis ? depth : in.dims[i - 1];
    return HR_OK;
}

static hr_status one_hot_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *depth = hr_infer_value(s, 1);
    int axis;
    for (int i = 1; i < 4; i++) HR_TRY(hr_expect_rank("depth, on_value and off_value", s->input[i], 0, err));
    if (depth && hr_int_at(depth, 0) < 0) return hr_infer_refuse(s, err, "a depth >= 0");
    if (s->input[0].rank < 0) return HR_OK;
    return expanded(s->node, s->input[0], depth ? hr_int_at(depth, 0) : -1, &axis, &s->output[0], err);
}

static int64_t index_at(const hr_tensor *t, int64_t i)
{
    return t->dtype == HR_UINT8  ? ((const uint8_t *)t->data)[i]
           : t->dtype == HR_INT8 ? ((const int8_t *)t->data)[i]
                                 : hr_int_at(t, i);
}

static hr_status one_hot_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    int axis;
    hr_shape shape = {0, {0}};
    hr_tensor scratch, *out;
    for (int i = 1; i < 4; i++) HR_TRY(hr_expect_rank("depth, on_value and off_value", k->input[i]->shape, 0, err));
    const int64_t depth = hr_int_at(k->input[1], 0);
    if (depth < 0) return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a depth >= 0");
    HR_TRY(expanded(k->node, in->shape, depth, &axis, &shape, err));
    const size_t size = hr_dtype_size(k->input[2]->dtype);
    HR_TRY(hr_kernel_begin_output(k, 0, shape, &scratch, &out, err));
    int64_t inner = 1;
    for (int i = axis + 1; i < shape.rank; i++) inner *= shape.dims[i];
    for (int64_t i = 0; i < out->count; i++) memcpy((char *)out->data + (size_t)i * size, k->input[3]->data, size);
    for (int64_t i = 0; i < in->count; i++) {
        const int64_t id = index_at(in, i);
        if (id < 0 || id >= depth) continue;
        const int64_t at = (i / inner * depth + id) * inner + i % inner;
        memcpy((char *)out->data + (size_t)at * size, k->input[2]->data, size);
    }
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

/* ---- MultiHot ---- */

static hr_status multi_hot_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    const int64_t splits = s->input[1].rank == 1 ? s->input[1].dims[0] : -1;
    s->output[0] = HR_SHAPE(splits > 0 ? splits - 1 : -1, hr_attr_int(s->node, "depth"));
    return HR_OK;
}

static hr_status multi_hot_compute(hr_kernel *k, hr_error *err)
{
    const int64_t depth = hr_attr_int(k->node, "depth"), rows = k->input[1]->count - 1;
    const hr_tensor *weights = k->inputs > 2 ? k->input[2] : NULL;
    hr_tensor *out;
    HR_TRY(hr_check_splits(k->input[0], k->input[1], weights, err));
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(rows, depth), &out, err));
    if (out->count)
        hr_count_ids(k->input[0]->data, weights ? weights->data : NULL, k->input[1]->data, rows, depth, out->data,
                     depth);
    return HR_OK;
}

const hr_graph_op hr_graph_ops_onehot_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "OneHot",
        .types = "T:any; TI:{indices,int8,uint8}",
        .traits = HR_NO_GRADIENT,
        .shape = one_hot_shape,
        .compute = one_hot_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>MultiHot",
        .inputs = "ids:int64, row_splits:int32, weights:W*float",
        .outputs = "output:float",
        .attrs = "W:int>=0; depth:int>=0",
        .traits = HR_NO_GRADIENT,
        .shape = multi_hot_shape,
        .compute = multi_hot_compute,
    },
    HR_GRAPH_OPS_END,
};

hr_node hr_one_hot_with(hr_node indices, int64_t depth, const hr_one_hot_opts *opts)
{
    const hr_one_hot_opts o = HR_OPTIONS(hr_one_hot_opts, opts);
    hr_graph *g = indices.graph;
    if (!hr_node_exists(indices)) return indices;
    const hr_dtype dtype = o.on.graph    ? hr_node_dtype(o.on)
                           : o.off.graph ? hr_node_dtype(o.off)
                           : o.dtype     ? o.dtype
                                         : HR_FLOAT;
    return hr_new_node(g, "OneHot", .name = o.name,
                       HR_INPUTS(indices, hr_scalar(g, HR_INT32, (double)depth),
                                 o.on.graph ? o.on : hr_scalar(g, dtype, 1),
                                 o.off.graph ? o.off : hr_scalar(g, dtype, 0)),
                       HR_ATTRS(HR_INT_ATTR("axis", o.axis ? *o.axis : -1)));
}

hr_node hr_eye_matrix(hr_graph *g, hr_dtype dtype, int64_t rows, int64_t columns)
{
    hr_name_scope(g, "eye");
    const hr_node zero = hr_scalar(g, HR_INT64, 0), one = hr_scalar(g, HR_INT64, 1);
    const hr_node row = hr_range_values(zero, hr_scalar(g, HR_INT64, (double)rows), one);
    const hr_node made = hr_one_hot(row, columns, .dtype = dtype);
    hr_scope_end(g);
    return made;
}

hr_node hr_sequence_mask_with(hr_node lengths, const hr_sequence_mask_opts *opts)
{
    const hr_sequence_mask_opts o = HR_OPTIONS(hr_sequence_mask_opts, opts);
    hr_graph *g = lengths.graph;
    if (!hr_node_exists(lengths)) return lengths;
    hr_name_scope(g, o.name ? o.name : "SequenceMask");
    const hr_node zero = hr_scalar_like(lengths, 0), one = hr_scalar_like(lengths, 1);
    const hr_node most = o.max_length ? hr_scalar_like(lengths, (double)*o.max_length) : hr_reduce_max(lengths);
    const hr_node places = hr_range_values(zero, hr_maximum(zero, most), one);
    const hr_node mask = hr_less(places, hr_expand_dims(lengths, hr_scalar(g, HR_INT32, -1)));
    const hr_node made = hr_cast_to(mask, o.dtype ? o.dtype : HR_BOOL);
    hr_scope_end(g);
    return made;
}

hr_node hr_multi_hot(hr_node ids, hr_node splits, hr_node weights, int64_t depth)
{
    const hr_node all[] = {ids, splits, weights};
    return hr_new_node(ids.graph, "Headrace>MultiHot", .inputs = all, .input_count = weights.graph ? 3 : 2,
                       HR_ATTRS(HR_INT_ATTR("depth", depth)));
}
