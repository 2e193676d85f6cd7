/* One value in all places: Fill, ZerosLike, OnesLike. */
#include <headrace/kernels.h>
#include <string.h>

static hr_status fill_compute(hr_kernel *k, hr_error *err)
{
    hr_shape shape;
    hr_tensor scratch, *out;
    const hr_tensor *value = k->input[1];
    HR_TRY(hr_shape_input(k->input[0], &shape, err));
    if (value->count != 1) return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected one value to fill with");
    HR_TRY(hr_kernel_begin_output(k, 0, shape, &scratch, &out, err));
    hr_walk w;
    const hr_tensor one = hr_tensor_of(value->dtype, HR_SCALAR, value->data);
    hr_walk_begin(&w, shape);
    hr_walk_add(&w, out);
    hr_walk_add(&w, &one);
    hr_walk_copy(k, &w, hr_dtype_size(out->dtype));
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

/* The value may be a vector of one. */
static void fill_gradient(hr_backward *b)
{
    const hr_node sum = hr_reduce_sum(b->grad[0]);
    const bool scalar = hr_node_shape(b->input[1]).rank == 0;
    b->out[1] = hr_dense_gradient(scalar ? sum : hr_reshape(sum, hr_shape_of(b->input[1])));
}

static hr_status zeros_like_variant(hr_kernel *k, hr_error *err)
{
    hr_tensor zeros;
    HR_TRY(hr_kernel_zeros_like_variant(k, k->input[0], &zeros, err));
    hr_kernel_give(k, 0, zeros);
    return HR_OK;
}

static hr_status zeros_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    if (k->input[0]->dtype == HR_VARIANT) return zeros_like_variant(k, err);
    HR_TRY(hr_kernel_output_over(k, 0, 0, k->input[0]->shape, &out, err));
    if (out->count) memset(out->data, 0, (size_t)out->count * hr_dtype_size(out->dtype));
    return HR_OK;
}

HR_UNARY(one, ((void)x, 1), floats, halves, complexes, ints, bools)

const hr_graph_op hr_graph_ops_fill_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Fill",
        .types = "T:any; index_type:indices",
        .shapes = "?, [] -> shape(0)",
        .compute = fill_compute,
        .gradient = fill_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ZerosLike",
        .types = "T:{any,variant}",
        .traits = HR_NO_GRADIENT,
        .shapes = "=0",
        .compute = zeros_compute,
    },
    HR_SAME_SHAPE_OP("OnesLike", HR_NO_GRADIENT, .2,
                     .kernels = HR_KERNELS(one, floats, halves, complexes, ints, bools)),
    HR_GRAPH_OPS_END,
};

HR_UNARY_CONSTRUCTOR(hr_zeros_like, "ZerosLike")
HR_UNARY_CONSTRUCTOR(hr_ones_like, "OnesLike")
HR_BINARY_CONSTRUCTOR(hr_fill, "Fill")
