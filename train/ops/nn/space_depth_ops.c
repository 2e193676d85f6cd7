/* SpaceToDepth: the values of a square of positions become one position's. DepthToSpace puts them back, as models that
 * enlarge images end. */
#include <headrace/kernels.h>

/* The shape of the other side of images `in`, whose unknown lengths are below 0. */
static hr_status other_side(hr_node node, hr_shape in, bool to_depth, hr_shape *out, hr_error *err)
{
    const int64_t block = hr_attr_int(node, "block_size");
    int64_t square;
    if (!hr_attr_is(node, "data_format", "NHWC"))
        return hr_fail(err, HR_UNIMPLEMENTED, "graph.kernel", "expected data_format NHWC");
    HR_TRY(hr_expect_rank("input", in, 4, err));
    HR_TRY(hr_dim_mul(block, block, &square, err));
    *out = in;
    for (int i = 1; i < 4; i++) {
        const int64_t by = i == 3 ? square : block;
        if (in.dims[i] < 0) continue;
        if ((i == 3) == to_depth) {
            HR_TRY(hr_dim_mul(in.dims[i], by, &out->dims[i], err));
        } else if (in.dims[i] % by == 0) {
            out->dims[i] = in.dims[i] / by;
        } else {
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected dimension %d in blocks of %lld, got %lld",
                           i, (long long)by, (long long)in.dims[i]);
        }
    }
    return HR_OK;
}

/* A value has six indices: example, row of squares, row in it, column of squares, column in it, depth. The depth's side
 * has them in another order. */
static hr_status squares_compute(hr_kernel *k, bool to_depth, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    const size_t size = hr_dtype_size(in->dtype);
    const int64_t block = hr_attr_int(k->node, "block_size");
    hr_shape shape;
    hr_tensor scratch, *out;
    hr_walk w;
    HR_TRY(other_side(k->node, in->shape, to_depth, &shape, err));
    HR_TRY(hr_kernel_begin_output(k, 0, shape, &scratch, &out, err));
    const hr_shape deep = to_depth ? shape : in->shape;
    const int64_t rows = deep.dims[1], columns = deep.dims[2], depth = deep.dims[3] / (block * block);
    const int64_t wide = columns * block * depth, one = (int64_t)size, place = block * block * depth * one;
    const int64_t in_space[] = {rows * block * wide * one, block * wide * one, wide * one,
                                block * depth * one,       depth * one,        one};
    const int64_t in_depth[] = {rows * columns * place, columns * place, block * depth * one, place, depth * one, one};
    hr_walk_begin(&w, HR_SHAPE(deep.dims[0], rows, block, columns, block, depth));
    hr_walk_add_strided(&w, out->data, to_depth ? in_depth : in_space);
    hr_walk_add_strided(&w, in->data, to_depth ? in_space : in_depth);
    if (out->count) hr_walk_copy(k, &w, size);
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

static hr_status squares_infer(hr_infer *s, bool to_depth, hr_error *err)
{
    s->output[0] = hr_shape_of_rank(4);
    if (s->input[0].rank < 0 || !hr_attr_is(s->node, "data_format", "NHWC")) return HR_OK;
    return other_side(s->node, s->input[0], to_depth, &s->output[0], err);
}

static hr_status to_depth_shape(hr_infer *s, hr_error *err) { return squares_infer(s, true, err); }
static hr_status to_space_shape(hr_infer *s, hr_error *err) { return squares_infer(s, false, err); }
static hr_status to_depth_compute(hr_kernel *k, hr_error *err) { return squares_compute(k, true, err); }
static hr_status to_space_compute(hr_kernel *k, hr_error *err) { return squares_compute(k, false, err); }

static void squares_back(hr_backward *b, const char *op)
{
    const hr_attr block = *hr_node_attr(b->node, "block_size");
    hr_backward_give(b, 0, hr_new_node(b->graph, op, HR_INPUTS(b->grad[0]), HR_ATTRS(block)));
}

static void to_depth_gradient(hr_backward *b) { squares_back(b, "DepthToSpace"); }
static void to_space_gradient(hr_backward *b) { squares_back(b, "SpaceToDepth"); }

const hr_graph_op hr_graph_ops_space_depth_ops[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "SpaceToDepth",
        .types = "T:{numbers,bool}",
        .shape = to_depth_shape,
        .compute = to_depth_compute,
        .gradient = to_depth_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "DepthToSpace",
        .types = "T:{numbers,bool}",
        .shape = to_space_shape,
        .compute = to_space_compute,
        .gradient = to_space_gradient,
    },
    HR_GRAPH_OPS_END,
};
