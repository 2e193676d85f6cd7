/* SpaceToBatchND: blocks of positions become examples of their own, by which TensorFlow makes convolutions with holes of
 * such without. BatchToSpaceND puts them back. */
#include <headrace/kernels.h>
#include <string.h>

/* How the two sides lie: [batch, space..., rest...] and [product of block * batch, cells..., rest...]. */
typedef struct blocks {
    int count; /* of dimensions in blocks */
    int64_t block[HR_MAX_RANK], front[HR_MAX_RANK], back[HR_MAX_RANK], product;
} blocks;

/* Reads inputs 1 and 2: the block, and what is put around the space or cut off from it. */
static hr_status blocks_of(hr_shape in, const hr_tensor *block, const hr_tensor *edges, blocks *b, hr_error *err)
{
    *b = (blocks){.product = 1};
    HR_TRY(hr_expect_rank("block_shape", block->shape, 1, err));
    HR_TRY(hr_expect_rank("paddings", edges->shape, 2, err));
    if (block->count >= in.rank || edges->shape.dims[0] != block->count || edges->shape.dims[1] != 2)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected a block for some dimensions after the first of %d, and two edges for each, got %lld "
                       "and %lld",
                       in.rank, (long long)block->count, (long long)edges->shape.dims[0]);
    b->count = (int)block->count;
    for (int i = 0; i < b->count; i++) {
        b->block[i] = hr_int_at(block, i);
        b->front[i] = hr_int_at(edges, 2 * i);
        b->back[i] = hr_int_at(edges, 2 * i + 1);
        if (b->block[i] < 1 || b->front[i] < 0 || b->back[i] < 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.pad",
                           "expected a block of 1 or more and edges of 0 or more, got %lld, %lld and %lld",
                           (long long)b->block[i], (long long)b->front[i], (long long)b->back[i]);
        HR_TRY(hr_dim_mul(b->product, b->block[i], &b->product, err));
    }
    return HR_OK;
}

static hr_status not_in_blocks(int64_t length, int64_t block, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a length in blocks of %lld, got %lld",
                   (long long)block, (long long)length);
}

/* The shape of the batch's side of `in`. A length below 0 is unknown. */
static hr_status batch_side(hr_shape in, const blocks *b, hr_shape *out, hr_error *err)
{
    *out = in;
    if (in.dims[0] >= 0) HR_TRY(hr_dim_mul(in.dims[0], b->product, &out->dims[0], err));
    for (int i = 0; i < b->count; i++) {
        int64_t *length = &out->dims[i + 1];
        if (*length < 0) continue;
        HR_TRY(hr_dim_add(*length, b->front[i], length, err));
        HR_TRY(hr_dim_add(*length, b->back[i], length, err));
        if (*length % b->block[i] != 0) return not_in_blocks(*length, b->block[i], err);
        *length /= b->block[i];
    }
    return HR_OK;
}

/* The shape of the space's side. */
static hr_status space_side(hr_shape in, const blocks *b, hr_shape *out, hr_error *err)
{
    *out = in;
    if (in.dims[0] >= 0 && in.dims[0] % b->product != 0) return not_in_blocks(in.dims[0], b->product, err);
    if (in.dims[0] >= 0) out->dims[0] /= b->product;
    for (int i = 0; i < b->count; i++) {
        int64_t *length = &out->dims[i + 1];
        if (*length < 0) continue;
        HR_TRY(hr_dim_mul(*length, b->block[i], length, err));
        if (b->front[i] > *length || b->back[i] > *length - b->front[i])
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.pad", "expected to cut off %lld at most, got %lld and %lld",
                           (long long)*length, (long long)b->front[i], (long long)b->back[i]);
        *length -= b->front[i] + b->back[i];
    }
    return HR_OK;
}

/* Where position `row` of the batch's side lies in the space's side; -1: in the edges. */
static int64_t place_in_space(const blocks *b, hr_shape space, hr_shape batch, int64_t row)
{
    int64_t cells = 1, all = 1, at = 0;
    for (int i = 1; i <= b->count; i++) cells *= batch.dims[i];
    int64_t part = row / cells / space.dims[0], cell = row % cells;
    const int64_t example = row / cells % space.dims[0];
    for (int i = b->count - 1; i >= 0; i--) { /* from the fastest dimension on */
        const int64_t length = space.dims[i + 1];
        const int64_t inside = cell % batch.dims[i + 1] * b->block[i] + part % b->block[i] - b->front[i];
        if (inside < 0 || inside >= length) return -1;
        at += inside * all;
        all *= length;
        part /= b->block[i];
        cell /= batch.dims[i + 1];
    }
    return example * all + at;
}

static hr_status blocks_compute(hr_kernel *k, bool to_batch, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    blocks b;
    hr_shape shape;
    hr_tensor scratch, *out;
    HR_TRY(blocks_of(in->shape, k->input[1], k->input[2], &b, err));
    HR_TRY((to_batch ? batch_side : space_side)(in->shape, &b, &shape, err));
    HR_TRY(hr_kernel_begin_output(k, 0, shape, &scratch, &out, err));
    const hr_shape space = to_batch ? in->shape : shape, batch = to_batch ? shape : in->shape;
    size_t size = hr_dtype_size(in->dtype);
    int64_t rows = in->count && out->count ? 1 : 0;
    for (int i = 0; i <= b.count; i++) rows *= batch.dims[i];
    for (int i = b.count + 1; i < in->shape.rank; i++) size *= (size_t)in->shape.dims[i];
    if (to_batch && out->count) memset(out->data, 0, (size_t)out->count * hr_dtype_size(in->dtype));
    for (int64_t row = 0; row < rows; row++) {
        const int64_t at = place_in_space(&b, space, batch, row);
        if (at < 0) continue;
        memcpy((char *)out->data + (size_t)(to_batch ? row : at) * size,
               (const char *)in->data + (size_t)(to_batch ? at : row) * size, size);
    }
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

static hr_status blocks_infer(hr_infer *s, bool to_batch, hr_error *err)
{
    const hr_tensor *block = hr_infer_value(s, 1), *edges = hr_infer_value(s, 2);
    blocks b;
    s->output[0] = hr_shape_of_rank(s->input[0].rank);
    if (s->input[0].rank < 0 || !block || !edges) return HR_OK;
    HR_TRY(blocks_of(s->input[0], block, edges, &b, err));
    return (to_batch ? batch_side : space_side)(s->input[0], &b, &s->output[0], err);
}

static hr_status to_batch_shape(hr_infer *s, hr_error *err) { return blocks_infer(s, true, err); }
static hr_status to_space_shape(hr_infer *s, hr_error *err) { return blocks_infer(s, false, err); }
static hr_status to_batch_compute(hr_kernel *k, hr_error *err) { return blocks_compute(k, true, err); }
static hr_status to_space_compute(hr_kernel *k, hr_error *err) { return blocks_compute(k, false, err); }

static void blocks_back(hr_backward *b, const char *op)
{
    hr_backward_give(b, 0, hr_new_node(b->graph, op, HR_INPUTS(b->grad[0], b->input[1], b->input[2])));
}

static void to_batch_gradient(hr_backward *b) { blocks_back(b, "BatchToSpaceND"); }
static void to_space_gradient(hr_backward *b) { blocks_back(b, "SpaceToBatchND"); }

const hr_graph_op hr_graph_ops_space_batch_ops[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "SpaceToBatchND",
        .types = "T:{numbers,bool}; Tblock_shape:indices; Tpaddings:indices",
        .shape = to_batch_shape,
        .compute = to_batch_compute,
        .gradient = to_batch_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "BatchToSpaceND",
        .types = "T:{numbers,bool}; Tblock_shape:indices; Tcrops:indices",
        .shape = to_space_shape,
        .compute = to_space_compute,
        .gradient = to_space_gradient,
    },
    HR_GRAPH_OPS_END,
};
