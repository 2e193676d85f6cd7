/* UnsortedSegmentSum: rows summed by index. Rows of negative ids are dropped. */
#include <headrace/kernels.h>
#include <string.h>

static hr_status segment_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *count = hr_infer_value(s, 2);
    const hr_shape data = s->input[0], ids = s->input[1];
    if (count && (count->count != 1 || hr_int_at(count, 0) < 0))
        return hr_infer_refuse(s, err, "one num_segments >= 0");
    if (data.rank < 0 || ids.rank < 0) return HR_OK;
    bool fits = ids.rank <= data.rank && data.rank - ids.rank < HR_MAX_RANK;
    for (int i = 0; fits && i < ids.rank; i++)
        fits = ids.dims[i] < 0 || data.dims[i] < 0 || ids.dims[i] == data.dims[i];
    if (!fits) return hr_infer_refuse(s, err, "segment_ids shaped as the first dimensions of data");
    s->output[0].rank = data.rank - ids.rank + 1;
    s->output[0].dims[0] = count ? hr_int_at(count, 0) : -1;
    for (int i = ids.rank; i < data.rank; i++) s->output[0].dims[i - ids.rank + 1] = data.dims[i];
    return HR_OK;
}

#define SEGMENT_SUM(T, U, D, S)                                                                                        \
    static void segment_sum_##S(const void *data, int64_t width, const hr_tensor *ids, void *out)                      \
    {                                                                                                                  \
        const T *from = data;                                                                                          \
        for (int64_t i = 0; i < ids->count; i++, from += width) {                                                      \
            const int64_t id = hr_int_at(ids, i);                                                                      \
            T *to = (T *)out + (id < 0 ? 0 : id) * width;                                                              \
            for (int64_t j = 0; j < width && id >= 0; j++) to[j] = (T)((U)to[j] + (U)from[j]);                         \
        }                                                                                                              \
    }
HR_NUMBER_TYPES(SEGMENT_SUM)

static hr_status segment_output(hr_kernel *k, int64_t *width, hr_tensor **out, hr_error *err)
{
    const hr_tensor *data = k->input[0], *ids = k->input[1];
    const int64_t segments = k->input[2]->count == 1 ? hr_int_at(k->input[2], 0) : -1;
    hr_shape shape = {data->shape.rank - ids->shape.rank + 1, {segments}};
    char a[128], b[128];
    bool fits = shape.rank >= 1 && shape.rank <= HR_MAX_RANK;
    for (int i = 0; fits && i < ids->shape.rank; i++) fits = ids->shape.dims[i] == data->shape.dims[i];
    if (!fits)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected segment_ids shaped as the first dimensions of data, got %s and %s",
                       hr_shape_text(ids->shape, a, sizeof a), hr_shape_text(data->shape, b, sizeof b));
    *width = 1;
    for (int i = 1; i < shape.rank; i++) *width *= shape.dims[i] = data->shape.dims[i - 1 + ids->shape.rank];
    for (int64_t i = 0; i < ids->count; i++)
        if (hr_int_at(ids, i) >= segments)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index",
                           "segment_ids[%lld] = %lld is out of range [0, %lld)", (long long)i,
                           (long long)hr_int_at(ids, i), (long long)segments);
    return hr_kernel_output(k, 0, shape, out, err);
}

static hr_status segment_compute(hr_kernel *k, hr_error *err)
{
    int64_t width;
    hr_tensor *out;
    HR_TRY(segment_output(k, &width, &out, err));
    if (out->count) memset(out->data, 0, (size_t)out->count * hr_dtype_size(out->dtype));
    switch (out->dtype) {
#define CASE(T, U, D, S)                                                                                               \
    case D:                                                                                                            \
        segment_sum_##S(k->input[0]->data, width, k->input[1], out->data);                                             \
        break;
        HR_NUMBER_TYPES(CASE)
#undef CASE
    default:
        break;
    }
    return HR_OK;
}

/* Rows of g by id; those of negative ids are zero. */
static void segment_gradient(hr_backward *b)
{
    const hr_node zero = hr_scalar_like(b->input[1], 0);
    const hr_node rows = hr_gather(b->grad[0], hr_maximum(b->input[1], zero), 0);
    hr_node kept = hr_greater_equal(b->input[1], zero);
    const int data = hr_node_shape(b->input[0]).rank, ids = hr_node_shape(b->input[1]).rank;
    if (data < 0 || ids < 0) {
        hr_node_fail(b->graph, HR_UNIMPLEMENTED, "graph.gradient", "gradient of '%s': expected inputs of known rank",
                     hr_node_name(b->node));
        return;
    }
    for (int i = ids; i < data; i++) kept = hr_expand_dims(kept, hr_scalar(b->graph, HR_INT32, -1));
    b->out[0] = hr_dense_gradient(hr_where(kept, rows, hr_zeros_like(rows)));
}

const hr_graph_op hr_graph_ops_segment_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "UnsortedSegmentSum",
        .types = "T:numbers; Tindices:indices; Tnumsegments:indices",
        .shape = segment_shape,
        .compute = segment_compute,
        .gradient = segment_gradient,
    },
    HR_GRAPH_OPS_END,
};
