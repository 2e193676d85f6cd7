/* Rows put into parts by number, and parts put together by index: DynamicPartition, DynamicStitch. */
#include <headrace/kernels.h>
#include <string.h>

/* `all` without the dimensions of `front`, which it must begin with. */
static hr_status partition_rest(hr_shape all, hr_shape front, const char *what, hr_shape *rest, hr_error *err)
{
    char x[128], y[128];
    bool fits = all.rank >= front.rank;
    for (int i = 0; fits && i < front.rank; i++)
        fits = all.dims[i] == front.dims[i] || all.dims[i] < 0 || front.dims[i] < 0;
    if (!fits)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "data.shape must start with %s.shape, got %s and %s",
                       what, hr_shape_text(all, x, sizeof x), hr_shape_text(front, y, sizeof y));
    rest->rank = all.rank - front.rank;
    memcpy(rest->dims, all.dims + front.rank, sizeof *rest->dims * (size_t)rest->rank);
    return HR_OK;
}

/* `count` rows of `row`. */
static hr_status rows_of(int64_t count, hr_shape row, hr_shape *out, hr_error *err)
{
    if (row.rank == HR_MAX_RANK)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected at most %d dimensions", HR_MAX_RANK);
    *out = row;
    memmove(out->dims + 1, row.dims, sizeof *row.dims * (size_t)row.rank);
    out->dims[0] = count;
    out->rank++;
    return HR_OK;
}

/* ---- DynamicPartition ---- */

static hr_status partition_shape(hr_infer *s, hr_error *err)
{
    hr_shape row;
    if (s->input[0].rank < 0 || s->input[1].rank < 0) return HR_OK;
    HR_TRY(partition_rest(s->input[0], s->input[1], "partitions", &row, err));
    for (int i = 0; i < s->outputs; i++) HR_TRY(rows_of(-1, row, &s->output[i], err));
    return HR_OK;
}

static hr_status partition_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0], *parts = k->input[1];
    const int32_t *part = parts->data;
    hr_shape row, shape;
    HR_TRY(partition_rest(in->shape, parts->shape, "partitions", &row, err));
    const size_t size = hr_bytes_from_axis(in, parts->shape.rank);
    for (int64_t i = 0; i < parts->count; i++)
        if (part[i] < 0 || part[i] >= k->outputs)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index", "partitions[%lld] = %d is not in [0, %d)",
                           (long long)i, part[i], k->outputs);
    for (int p = 0; p < k->outputs; p++) {
        hr_tensor scratch, *out;
        int64_t count = 0;
        for (int64_t i = 0; i < parts->count; i++) count += part[i] == p;
        HR_TRY(rows_of(count, row, &shape, err));
        HR_TRY(hr_kernel_begin_output(k, p, shape, &scratch, &out, err));
        char *to = out->data;
        for (int64_t i = 0; i < parts->count && size; i++) {
            if (part[i] != p) continue;
            memcpy(to, (const char *)in->data + (size_t)i * size, size);
            to += size;
        }
        HR_TRY(hr_kernel_end_output(k, p, &scratch, out, err));
    }
    return HR_OK;
}

/* Rows go back to where they came from: the numbers of the rows are put into parts, too. */
static void partition_gradient(hr_backward *b)
{
    hr_graph *g = b->graph;
    hr_node all[128];
    const hr_node parts = b->input[1];
    if (b->outputs > 64) {
        hr_node_fail(g, HR_UNIMPLEMENTED, "graph.gradient", "gradient of '%s': expected at most 64 partitions, got %d",
                     hr_node_name(b->node), b->outputs);
        return;
    }
    const hr_node numbers = hr_reshape(
        hr_new_node(g, "Range", HR_INPUTS(hr_scalar(g, HR_INT32, 0), hr_size_of(parts), hr_scalar(g, HR_INT32, 1))),
        hr_shape_of(parts));
    const hr_node from = hr_new_node(g, "DynamicPartition", HR_INPUTS(numbers, parts),
                                     HR_ATTRS(HR_INT_ATTR("num_partitions", b->outputs)));
    for (int i = 0; i < b->outputs; i++) {
        all[i] = hr_node_output(from, i);
        all[b->outputs + i] = hr_backward_grad(b, i);
    }
    const hr_node stitched = hr_new_node(g, "DynamicStitch", .inputs = all, .input_count = 2 * b->outputs);
    hr_backward_give(b, 0, hr_reshape(stitched, hr_shape_of(b->input[0])));
}

/* ---- DynamicStitch ---- */

static hr_status stitch_shape(hr_infer *s, hr_error *err)
{
    const int n = s->inputs / 2;
    hr_shape row = HR_UNKNOWN_SHAPE;
    int64_t rows = 0;
    for (int i = 0; i < n; i++) {
        const hr_tensor *index = hr_infer_value(s, i);
        hr_shape rest;
        for (int64_t j = 0; index && rows >= 0 && j < index->count; j++)
            if (((const int32_t *)index->data)[j] >= rows) rows = (int64_t)((const int32_t *)index->data)[j] + 1;
        if (!index) rows = -1;
        if (s->input[i].rank < 0 || s->input[n + i].rank < 0) continue;
        HR_TRY(partition_rest(s->input[n + i], s->input[i], "indices", &rest, err));
        if (!hr_shape_merge(row, rest, &row)) return hr_infer_refuse(s, err, "rows of one shape");
    }
    return row.rank < 0 ? HR_OK : rows_of(rows, row, &s->output[0], err);
}

static hr_status stitch_compute(hr_kernel *k, hr_error *err)
{
    const int n = k->inputs / 2;
    int64_t rows = 0;
    hr_shape row = HR_UNKNOWN_SHAPE, rest, shape;
    hr_tensor scratch, *out;
    for (int i = 0; i < n; i++) {
        const int32_t *index = k->input[i]->data;
        HR_TRY(partition_rest(k->input[n + i]->shape, k->input[i]->shape, "indices", &rest, err));
        if (!hr_shape_merge(row, rest, &row))
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected data with rows of one shape");
        for (int64_t j = 0; j < k->input[i]->count; j++) {
            if (index[j] < 0)
                return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index", "indices[%d] is out of range: %d at %lld", i,
                               index[j], (long long)j);
            if (index[j] >= rows) rows = (int64_t)index[j] + 1;
        }
    }
    HR_TRY(rows_of(rows, row, &shape, err));
    HR_TRY(hr_kernel_begin_output(k, 0, shape, &scratch, &out, err));
    const size_t size = hr_bytes_from_axis(out, 1);
    if (out->count) memset(out->data, 0, (size_t)out->count * hr_dtype_size(out->dtype));
    for (int i = 0; i < n; i++)
        for (int64_t j = 0; j < k->input[i]->count && size; j++)
            memcpy((char *)out->data + (size_t)((const int32_t *)k->input[i]->data)[j] * size,
                   (const char *)k->input[n + i]->data + (size_t)j * size, size);
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

static void stitch_gradient(hr_backward *b)
{
    const int n = b->inputs / 2;
    for (int i = 0; i < n; i++) hr_backward_give(b, n + i, hr_gather(b->grad[0], b->input[i], 0));
}

#define STITCH_OP(NAME)                                                                                                \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .types = "T:any", .shape = stitch_shape, .compute = stitch_compute,  \
        .gradient = stitch_gradient,                                                                                   \
    }

const hr_graph_op hr_graph_ops_partition_ops[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "DynamicPartition",
        .types = "T:any",
        .shape = partition_shape,
        .compute = partition_compute,
        .gradient = partition_gradient,
    },
    STITCH_OP("DynamicStitch"),
    STITCH_OP("ParallelDynamicStitch"),
    HR_GRAPH_OPS_END,
};

hr_node hr_dynamic_partition(hr_node x, hr_node parts, int count)
{
    return hr_new_node(x.graph, "DynamicPartition", HR_INPUTS(x, parts),
                       HR_ATTRS(HR_INT_ATTR("num_partitions", count)));
}

hr_node hr_dynamic_stitch(const hr_node *indices, const hr_node *values, int count)
{
    return hr_node_of_lists("DynamicStitch", indices, count, values, count, NULL);
}
