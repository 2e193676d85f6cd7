/* Rows taken by index: Gather, GatherV2, ResourceGather. The gradient of rows taken along axis 0 stays slices; along
 * another axis, or one that is known only when the graph runs, it is a dense sum by index (segment_ops.c). */
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
    if (hr_shape_count(shape) != 0) HR_TRY(gather_check_indices(indices, params->shape.dims[axis], err));
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

/* values [indices, row], indices [n]. */
static hr_gradient slices(hr_node g, hr_node indices, hr_shape row, hr_node dense_shape)
{
    int64_t dims[HR_MAX_RANK] = {-1};
    for (int i = 1; i < row.rank; i++) dims[i] = row.dims[i];
    const hr_node flat = hr_reshape(indices, hr_ints(g.graph, HR_I64(-1), 1));
    return (hr_gradient){hr_reshape(g, hr_ints(g.graph, dims, row.rank)), flat, dense_shape};
}

static hr_node number64(hr_graph *g, int64_t value)
{
    const hr_tensor t = hr_tensor_of(HR_INT64, HR_SCALAR, &value);
    return hr_const(g, &t);
}

static hr_node vector64(hr_node x) { return hr_reshape(hr_cast_to(x, HR_INT64), hr_ints(x.graph, HR_I64(1), 1)); }

/* The product of shape[begin:begin + size]; size -1: of all that follow. A vector of one. */
static hr_node product(hr_node shape, hr_node begin, hr_node size)
{
    hr_graph *g = shape.graph;
    const hr_node zero = hr_ints(g, HR_I64(0), 1), part = hr_slice(shape, begin, size);
    return hr_new_node(g, "Prod", HR_INPUTS(part, zero), HR_ATTRS(HR_BOOL_ATTR("keep_dims", true)));
}

/* Rows along any axis, summed into a dense gradient of `shape`, where nothing is known before the graph runs. As four
 * dimensions, `from` [batches, outer, rows, inner] becomes [batches, rows, outer, inner], its rows are summed within
 * their batch, and the outcome goes back the same way. */
static hr_node dense_along(const hr_backward *b, hr_node shape, hr_node axis, int batch)
{
    hr_graph *g = b->graph;
    const hr_node zero = hr_cast_to(hr_ints(g, HR_I64(0), 1), HR_INT64), one = vector64(number64(g, 1));
    const hr_node rest = vector64(number64(g, -1)), first = vector64(number64(g, batch));
    const hr_node rank = vector64(hr_size_of(shape)), ids = shape64(b->input[1]);
    const hr_node at = hr_new_node(g, "FloorMod", HR_INPUTS(vector64(axis), rank));
    const hr_node batches = product(shape, zero, first), outer = product(shape, first, hr_sub(at, first));
    const hr_node length = hr_slice(shape, at, one), inner = product(shape, hr_add(at, one), rest);
    const hr_node rows = product(ids, first, rest);

    const hr_node swap = hr_ints(g, HR_I64(0, 2, 1, 3), 4), whole[] = {batches, outer, rows, inner};
    const hr_node swapped = hr_transpose(hr_reshape(b->grad[0], hr_concat(whole, 4, 0)), swap);
    const hr_node flat[] = {hr_mul(batches, rows), hr_mul(outer, inner)}, pairs[] = {batches, rows};
    const hr_node scalar = hr_ints(g, NULL, 0), row_shape[] = {batches, one};
    const hr_node batch_of =
        hr_new_node(g, "Range", HR_INPUTS(number64(g, 0), hr_reshape(batches, scalar), number64(g, 1)));
    const hr_node shift = hr_reshape(hr_mul(batch_of, length), hr_concat(row_shape, 2, 0));
    const hr_node index = hr_add(hr_reshape(hr_cast_to(b->input[1], HR_INT64), hr_concat(pairs, 2, 0)), shift);
    const hr_node sum =
        hr_new_node(g, "UnsortedSegmentSum",
                    HR_INPUTS(hr_reshape(swapped, hr_concat(flat, 2, 0)), hr_reshape(index, hr_mul(batches, rows)),
                              hr_reshape(hr_mul(batches, length), scalar)));
    const hr_node parts[] = {batches, length, outer, inner};
    return hr_reshape(hr_transpose(hr_reshape(sum, hr_concat(parts, 4, 0)), swap), shape);
}

/* False: negative, and the rank that it counts from is not known. */
static bool gather_known_batch(const hr_backward *b, int *batch)
{
    const int rank = hr_node_shape(b->input[1]).rank;
    const int64_t given = hr_attr_int(b->node, "batch_dims");
    *batch = (int)given;
    if (given >= 0 && rank < 0) return true;
    if (rank >= 0 && batch_dims(b->node, rank, batch, NULL) == HR_OK) return true;
    hr_node_fail(b->graph, HR_INVALID_ARGUMENT, "graph.gradient",
                 "gradient of '%s': expected batch_dims >= 0 or indices of known rank, got batch_dims %lld",
                 hr_node_name(b->node), (long long)given);
    return false;
}

/* Slices of a table that is known, or is not, but for its rows. */
static hr_gradient slices_along_rows(const hr_backward *b, hr_shape table, hr_node shape)
{
    bool open = table.rank < 1;
    for (int i = 1; i < table.rank; i++) open |= table.dims[i] < 0;
    return open ? slices_of(b->grad[0], b->input[1], shape) : slices(b->grad[0], b->input[1], table, shape);
}

/* Of an axis that is known to be 0, slices. */
static void gather_gradient(hr_backward *b)
{
    const hr_node axis = b->inputs > 2 ? b->input[2] : (hr_node){NULL, 0, 0};
    const hr_tensor *value = hr_node_constant(axis);
    const hr_shape in = hr_node_shape(b->input[0]);
    const hr_node shape = hr_shape_count(in) < 0 ? shape64(b->input[0]) : gather_known_shape(b->graph, in);
    int batch;
    if (!gather_known_batch(b, &batch)) return;
    if (!axis.graph || (value && value->count == 1 && hr_int_at(value, 0) == 0))
        b->out[0] = slices_along_rows(b, in, shape);
    else
        b->out[0] = hr_dense_gradient(dense_along(b, shape, axis, batch));
}

static void resource_gather_gradient(hr_backward *b)
{
    hr_handle_info table;
    const hr_node shape = hr_variable_shape(b->input[0], HR_INT64);
    int batch;
    if (!gather_known_batch(b, &batch)) return;
    if (!hr_handle_of(b->input[0], &table)) table.shape = HR_UNKNOWN_SHAPE;
    b->out[0] = batch == 0 ? slices_along_rows(b, table.shape, shape)
                           : hr_dense_gradient(dense_along(b, shape, number64(b->graph, batch), batch));
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
