/* Rows taken by index: Gather, GatherV2, ResourceGather. The gradient of rows taken along axis 0 stays slices; along
 * another axis it is a dense sum by index (segment_ops.c). */
#include <headrace/kernels.h>
#include <string.h>

/* ---- gathering ---- */

/* From values[batches][outer][length][run] to out[batches][outer][count][run], by indices[batches][count]. */
typedef struct rows {
    const char *from;
    const hr_tensor *indices;
    char *to;
    int64_t outer, length, count;
    size_t run; /* bytes */
} rows;

static const char *gather_row_of(const rows *r, int64_t i)
{
    const int64_t block = i / r->count, batch = block / r->outer;
    return r->from + (size_t)(block * r->length + hr_int_at(r->indices, batch * r->count + i % r->count)) * r->run;
}

static void gather_take_rows(int64_t first, int64_t last, void *user)
{
    enum { AHEAD = 16 };
    const rows *r = user;
    for (int64_t i = first; i < last; i++) {
        if (i + AHEAD < last) __builtin_prefetch(gather_row_of(r, i + AHEAD));
        memcpy(r->to + (size_t)i * r->run, gather_row_of(r, i), r->run);
    }
}

static hr_status gather_check_indices(const hr_tensor *indices, int64_t length, hr_error *err)
{
    for (int64_t i = 0; i < indices->count; i++) {
        const int64_t at = hr_int_at(indices, i);
        if (at < 0 || at >= length)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index", "indices[%lld] = %lld is not in [0, %lld)",
                           (long long)i, (long long)at, (long long)length);
    }
    return HR_OK;
}

/* in[:axis] + indices[batch:] + in[axis + 1:]; the first `batch` dimensions are common to both. */
static bool gathered(hr_shape in, hr_shape indices, int axis, int batch, hr_shape *out)
{
    if (axis >= in.rank || batch > axis || in.rank - 1 + indices.rank - batch > HR_MAX_RANK) return false;
    out->rank = 0;
    for (int i = 0; i < batch; i++)
        if (in.dims[i] >= 0 && indices.dims[i] >= 0 && in.dims[i] != indices.dims[i]) return false;
    for (int i = 0; i < axis; i++) out->dims[out->rank++] = in.dims[i];
    for (int i = batch; i < indices.rank; i++) out->dims[out->rank++] = indices.dims[i];
    for (int i = axis + 1; i < in.rank; i++) out->dims[out->rank++] = in.dims[i];
    return true;
}

static hr_status gather(hr_kernel *k, const hr_tensor *params, int axis, int batch, hr_error *err)
{
    const hr_tensor *indices = k->input[1];
    hr_shape shape = {0, {0}};
    hr_tensor scratch, *out;
    if (!gathered(params->shape, indices->shape, axis, batch, &shape))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected params and indices that go together in %d batch dimensions", batch);
    HR_TRY(gather_check_indices(indices, params->shape.dims[axis], err));
    rows r = {params->data, indices, NULL, 1, params->shape.dims[axis], 1, hr_dtype_size(params->dtype)};
    for (int i = batch; i < axis; i++) r.outer *= params->shape.dims[i];
    for (int i = batch; i < indices->shape.rank; i++) r.count *= indices->shape.dims[i];
    for (int i = axis + 1; i < params->shape.rank; i++) r.run *= (size_t)params->shape.dims[i];
    HR_TRY(hr_kernel_begin_output(k, 0, shape, &scratch, &out, err));
    r.to = out->data;
    const int64_t runs = out->count ? out->count * (int64_t)hr_dtype_size(out->dtype) / (int64_t)r.run : 0;
    hr_kernel_parallel(k, runs, (double)r.run * .1 + 4, gather_take_rows, &r);
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

/* Gather has none. */
static hr_status batch_dims(hr_node node, int indices_rank, int *out, hr_error *err)
{
    const int64_t batch = hr_attr_int(node, "batch_dims");
    *out = 0;
    if (batch < -indices_rank || batch > indices_rank)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr", "expected batch_dims in [%d, %d], got %lld",
                       -indices_rank, indices_rank, (long long)batch);
    *out = (int)(batch < 0 ? batch + indices_rank : batch);
    return HR_OK;
}

static hr_status gather_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *value = s->inputs > 2 ? hr_infer_value(s, 2) : NULL;
    const hr_shape in = s->input[0], indices = s->input[1];
    int axis = 0, batch;
    if (in.rank == 0) return hr_infer_refuse(s, err, "params of rank 1 or more");
    if (in.rank < 0 || indices.rank < 0) return HR_OK;
    HR_TRY(batch_dims(s->node, indices.rank, &batch, err));
    if (s->inputs > 2 && !value) {
        s->output[0].rank = in.rank - 1 + indices.rank - batch;
        for (int i = 0; i < s->output[0].rank && i < HR_MAX_RANK; i++) s->output[0].dims[i] = -1;
        return s->output[0].rank <= HR_MAX_RANK ? HR_OK : hr_infer_refuse(s, err, "fewer dimensions");
    }
    if (value) HR_TRY(hr_axis_input(value, in.rank, &axis, err));
    if (!gathered(in, indices, axis, batch, &s->output[0]))
        return hr_infer_refuse(s, err, "params and indices that go together");
    return HR_OK;
}

static hr_status gather_compute(hr_kernel *k, hr_error *err)
{
    int axis = 0, batch;
    if (k->input[0]->shape.rank < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "params must be at least 1 dimensional");
    HR_TRY(batch_dims(k->node, k->input[1]->shape.rank, &batch, err));
    if (k->inputs > 2) HR_TRY(hr_axis_input(k->input[2], k->input[0]->shape.rank, &axis, err));
    return gather(k, k->input[0], axis, batch, err);
}

static hr_status resource_gather_shape(hr_infer *s, hr_error *err)
{
    hr_handle_info table;
    int batch;
    if (!hr_handle_of(hr_node_input(s->node, 0), &table) || table.shape.rank < 1 || s->input[1].rank < 0) return HR_OK;
    HR_TRY(batch_dims(s->node, s->input[1].rank, &batch, err));
    if (!gathered(table.shape, s->input[1], batch, batch, &s->output[0]))
        return hr_infer_refuse(s, err, "a variable and indices that go together");
    return HR_OK;
}

static hr_status resource_gather_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *params;
    int batch;
    HR_TRY(hr_kernel_borrow(k, 0, &params, err));
    HR_TRY(batch_dims(k->node, k->input[1]->shape.rank, &batch, err));
    if (params->shape.rank < 1 || params->dtype != hr_node_dtype(k->node))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a variable of rows");
    return gather(k, params, batch, batch, err);
}

/* ---- gradients ---- */

static hr_node shape64(hr_node x)
{
    return hr_new_node(x.graph, "Shape", HR_INPUTS(x), HR_ATTRS(HR_TYPE_ATTR("out_type", HR_INT64)));
}

static hr_node gather_known_shape(hr_graph *g, hr_shape shape)
{
    const hr_tensor t = hr_tensor_of(HR_INT64, HR_SHAPE(shape.rank), shape.dims);
    return hr_const(g, &t);
}

/* Slices whose row is only known when the graph runs: values [n, shape[1:]]. */
static hr_gradient slices_of(hr_node g, hr_node indices, hr_node shape)
{
    const hr_node flat = hr_reshape(indices, hr_ints(g.graph, HR_I64(-1), 1));
    const hr_node row = hr_slice(shape, hr_ints(g.graph, HR_I64(1), 1), hr_ints(g.graph, HR_I64(-1), 1));
    const hr_node count = hr_new_node(g.graph, "Shape", HR_INPUTS(flat), HR_ATTRS(HR_TYPE_ATTR("out_type", HR_INT64)));
    const hr_node both[] = {count, row};
    return (hr_gradient){hr_reshape(g, hr_concat(both, 2, 0)), flat, shape};
}

static hr_node number64(hr_graph *g, int64_t value)
{
    const hr_tensor t = hr_tensor_of(HR_INT64, HR_SCALAR, &value);
    return hr_const(g, &t);
}

/* values [indices, row], indices [n]. */
static hr_gradient slices(hr_node g, hr_node indices, hr_shape row, hr_node dense_shape)
{
    int64_t dims[HR_MAX_RANK] = {-1};
    for (int i = 1; i < row.rank; i++) dims[i] = row.dims[i];
    const hr_node flat = hr_reshape(indices, hr_ints(g.graph, HR_I64(-1), 1));
    return (hr_gradient){hr_reshape(g, hr_ints(g.graph, dims, row.rank)), flat, dense_shape};
}

/* Rows along another axis, dense: that axis comes to the front, rows are summed, and it goes back. */
static hr_node dense_along(const hr_backward *b, int axis)
{
    const hr_shape in = hr_node_shape(b->input[0]);
    const int n = hr_node_shape(b->input[1]).rank, rank = in.rank - 1 + n;
    int64_t front[HR_MAX_RANK], back[HR_MAX_RANK], rows[HR_MAX_RANK] = {-1};
    for (int i = 0; i < n; i++) front[i] = axis + i;
    for (int i = 0; i < axis; i++) front[n + i] = i;
    for (int i = axis + n; i < rank; i++) front[i] = i;
    for (int i = 0, at = 1; i < in.rank; i++) {
        back[i] = i == axis ? 0 : i < axis ? i + 1 : i;
        if (i != axis) rows[at++] = in.dims[i];
    }
    const hr_node g = hr_transpose(b->grad[0], hr_ints(b->graph, front, rank));
    const hr_node flat = hr_reshape(b->input[1], hr_ints(b->graph, HR_I64(-1), 1));
    const hr_node sum = hr_new_node(
        b->graph, "UnsortedSegmentSum",
        HR_INPUTS(hr_reshape(g, hr_ints(b->graph, rows, in.rank)), flat, number64(b->graph, in.dims[axis])));
    return hr_transpose(sum, hr_ints(b->graph, back, in.rank));
}

/* With batch dimensions: a table [batches * length, rows], indices shifted by their batch, both of known shape. */
static hr_gradient batched_gradient(const hr_backward *b, int axis)
{
    hr_graph *g = b->graph;
    const hr_shape in = hr_node_shape(b->input[0]), ids = hr_node_shape(b->input[1]);
    int batch = 0;
    int64_t batches = 1, count = 1, inner = 1, shifts[64];
    const bool known = hr_shape_count(in) >= 0 && hr_shape_count(ids) >= 0 &&
                       batch_dims(b->node, ids.rank, &batch, NULL) == HR_OK && batch == axis;
    for (int i = 0; known && i < batch; i++) batches *= in.dims[i];
    for (int i = batch; known && i < ids.rank; i++) count *= ids.dims[i];
    for (int i = axis + 1; known && i < in.rank; i++) inner *= in.dims[i];
    if (!known || batches > 64) {
        hr_node_fail(g, HR_UNIMPLEMENTED, "graph.gradient",
                     "gradient of '%s': expected known shapes, batch_dims as axis, and at most 64 batches",
                     hr_node_name(b->node));
        return (hr_gradient){0};
    }
    for (int64_t i = 0; i < batches; i++) shifts[i] = i * in.dims[axis];
    const hr_node shift = hr_reshape(hr_cast_to(hr_ints(g, shifts, (int)batches), hr_node_dtype(b->input[1])),
                                     hr_ints(g, HR_I64(batches, 1), 2));
    const hr_node flat = hr_add(hr_reshape(b->input[1], hr_ints(g, HR_I64(batches, count), 2)), shift);
    const hr_node rows = hr_reshape(b->grad[0], hr_ints(g, HR_I64(batches * count, inner), 2));
    const hr_node sum =
        hr_new_node(g, "UnsortedSegmentSum",
                    HR_INPUTS(rows, hr_reshape(flat, hr_ints(g, HR_I64(-1), 1)), number64(g, batches * in.dims[axis])));
    return hr_dense_gradient(hr_reshape(sum, hr_shape_const(g, in)));
}

static void gather_gradient(hr_backward *b)
{
    const hr_attr *value =
        b->inputs > 2 && strcmp(hr_node_op(b->input[2]), "Const") == 0 ? hr_node_attr(b->input[2], "value") : NULL;
    const hr_shape in = hr_node_shape(b->input[0]);
    int axis = 0;
    if (in.rank < 1 || (b->inputs > 2 && !value) ||
        (value && hr_axis_input(value->tensor, in.rank, &axis, NULL) != HR_OK)) {
        hr_node_fail(b->graph, HR_UNIMPLEMENTED, "graph.gradient",
                     "gradient of '%s': expected a constant axis and params of known rank", hr_node_name(b->node));
        return;
    }
    if (hr_attr_int(b->node, "batch_dims") != 0) {
        b->out[0] = batched_gradient(b, axis);
        return;
    }
    int open = 0;
    for (int i = 0; i < in.rank; i++) open += in.dims[i] < 0 && i != axis;
    if (axis == 0 && open == 0) {
        const hr_node shape = in.dims[0] < 0 ? shape64(b->input[0]) : gather_known_shape(b->graph, in);
        b->out[0] = slices(b->grad[0], b->input[1], in, shape);
    } else if (open == 0 && in.dims[axis] >= 0 && hr_node_shape(b->input[1]).rank >= 0) {
        b->out[0] = hr_dense_gradient(dense_along(b, axis));
    } else {
        hr_node_fail(b->graph, HR_UNIMPLEMENTED, "graph.gradient", "gradient of '%s': expected params of known shape",
                     hr_node_name(b->node));
    }
}

static void resource_gather_gradient(hr_backward *b)
{
    hr_handle_info table;
    if (hr_attr_int(b->node, "batch_dims") != 0) {
        hr_node_fail(b->graph, HR_UNIMPLEMENTED, "graph.gradient", "gradient of '%s': expected batch_dims 0, got %lld",
                     hr_node_name(b->node), (long long)hr_attr_int(b->node, "batch_dims"));
        return;
    }
    const hr_node shape = hr_variable_shape(b->input[0], HR_INT64);
    int open = !hr_handle_of(b->input[0], &table) || table.shape.rank < 1;
    for (int i = 1; i < table.shape.rank; i++) open += table.shape.dims[i] < 0;
    b->out[0] = open ? slices_of(b->grad[0], b->input[1], shape) : slices(b->grad[0], b->input[1], table.shape, shape);
}

const hr_graph_op hr_graph_ops_gather_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "GatherV2",
        .types = "Tparams:any; Tindices:indices; Taxis:indices",
        .shape = gather_shape,
        .compute = gather_compute,
        .gradient = gather_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Gather",
        .types = "Tparams:any; Tindices:indices",
        .shape = gather_shape,
        .compute = gather_compute,
        .gradient = gather_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ResourceGather",
        .types = "dtype:any; Tindices:indices",
        .traits = HR_STATEFUL | HR_READS_ONLY,
        .shape = resource_gather_shape,
        .compute = resource_gather_compute,
        .gradient = resource_gather_gradient,
    },
    HR_GRAPH_OPS_END,
};

hr_node hr_gather(hr_node params, hr_node indices, int axis)
{
    hr_handle_info table;
    if (axis == 0 && hr_node_dtype(params) == HR_RESOURCE && hr_handle_of(params, &table))
        return hr_new_node(params.graph, "ResourceGather", HR_INPUTS(params, indices));
    return hr_new_node(params.graph, "GatherV2", HR_INPUTS(params, indices, hr_scalar(params.graph, HR_INT32, axis)));
}
