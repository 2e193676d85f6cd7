/* Slices taken by several indices each: GatherNd, ResourceGatherNd. The gradient of rows taken by one index each stays
 * slices; others are scattered. */
#include <headrace/kernels.h>
#include <string.h>

/* indices[:-1] + params[the last dimension of the indices:]. */
static bool slices_shape(hr_shape params, hr_shape indices, hr_shape *out)
{
    if (params.rank < 0 || indices.rank < 1 || indices.dims[indices.rank - 1] < 0) return true;
    const int64_t depth = indices.dims[indices.rank - 1];
    if (depth > params.rank || indices.rank - 1 + params.rank - depth > HR_MAX_RANK) return false;
    *out = indices;
    out->rank--;
    for (int i = (int)depth; i < params.rank; i++) out->dims[out->rank++] = params.dims[i];
    return true;
}

static hr_status gather_nd_slices(hr_kernel *k, const hr_tensor *params, hr_error *err)
{
    const hr_tensor *indices = k->input[1];
    const hr_shape in = params->shape, at = indices->shape;
    hr_shape shape;
    hr_tensor scratch, *out;
    if (in.rank < 1 || at.rank < 1 || !slices_shape(in, at, &shape))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected params of at least one dimension and indices whose last dimension is at most their "
                       "rank %d, got indices of rank %d",
                       in.rank, at.rank);
    HR_TRY(hr_kernel_begin_output(k, 0, shape, &scratch, &out, err));
    const int depth = (int)at.dims[at.rank - 1];
    const size_t run = hr_bytes_from_axis(params, depth);
    const int64_t count = hr_values_before_axis(at, at.rank - 1);
    if (count && params->count == 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "Requested more than 0 entries, but params is empty: expected none");
    for (int64_t i = 0; i < count; i++) {
        int64_t from = 0;
        for (int d = 0; d < depth; d++) {
            const int64_t index = hr_int_at(indices, i * depth + d);
            if (index < 0 || index >= in.dims[d])
                return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index",
                               "indices[%lld] does not index into params: expected 0 to %lld as number %d, got %lld",
                               (long long)i, (long long)in.dims[d] - 1, d, (long long)index);
            from = from * in.dims[d] + index;
        }
        memcpy((char *)out->data + (size_t)i * run, (const char *)params->data + (size_t)from * run, run);
    }
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

static hr_status gather_nd_compute(hr_kernel *k, hr_error *err) { return gather_nd_slices(k, k->input[0], err); }

static hr_status resource_gather_nd_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *params;
    HR_TRY(hr_kernel_borrow(k, 0, &params, err));
    if (params->dtype != hr_node_dtype(k->node))
        return hr_fail(err, HR_INVALID_ARGUMENT, "variable.shape", "expected a variable of %s, got %s",
                       hr_dtype_name(hr_node_dtype(k->node)), hr_dtype_name(params->dtype));
    return gather_nd_slices(k, params, err);
}

static hr_status gather_nd_shape(hr_infer *s, hr_error *err)
{
    hr_handle_info table;
    hr_shape params = s->input[0];
    if (hr_node_dtype(hr_node_input(s->node, 0)) == HR_RESOURCE)
        params = hr_handle_of(hr_node_input(s->node, 0), &table) ? table.shape : HR_UNKNOWN_SHAPE;
    if (params.rank != 0 && s->input[1].rank != 0 && slices_shape(params, s->input[1], &s->output[0])) return HR_OK;
    return hr_infer_refuse(s, err, "indices whose last dimension is at most the rank of the params");
}

static void gather_nd_gradient(hr_backward *b)
{
    const hr_node at = b->input[1];
    const hr_shape indices = hr_node_shape(at);
    const hr_dtype wanted = hr_node_dtype(at);
    const bool variable = hr_node_dtype(b->input[0]) == HR_RESOURCE;
    const hr_node shape =
        variable ? hr_variable_shape(b->input[0], wanted)
                 : hr_new_node(b->graph, "Shape", HR_INPUTS(b->input[0]), HR_ATTRS(HR_TYPE_ATTR("out_type", wanted)));
    if (indices.rank == 2 && indices.dims[1] == 1)
        b->out[0] =
            (hr_gradient){b->grad[0], hr_reshape(at, hr_ints(b->graph, HR_I64(-1), 1)), hr_cast_to(shape, HR_INT64)};
    else
        hr_backward_give(b, 0, hr_new_node(b->graph, "ScatterNd", HR_INPUTS(at, b->grad[0], shape)));
}

const hr_graph_op hr_graph_ops_gather_nd_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "GatherNd",
        .types = "Tparams:any; Tindices:indices",
        .shape = gather_nd_shape,
        .compute = gather_nd_compute,
        .gradient = gather_nd_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ResourceGatherNd",
        .types = "dtype:any; Tindices:indices",
        .traits = HR_STATEFUL | HR_READS_ONLY,
        .shape = gather_nd_shape,
        .compute = resource_gather_nd_compute,
        .gradient = gather_nd_gradient,
    },
    HR_GRAPH_OPS_END,
};

hr_node hr_gather_nd_with(hr_node x, hr_node y, const hr_name_opts *opts)
{
    return hr_binary_node(hr_node_dtype(x) == HR_RESOURCE ? "ResourceGatherNd" : "GatherNd", x, y, opts);
}
