/* ZeroOut, the op of TensorFlow's guide "Create an op": the first value stays, all others become zero. Of int32, and of
 * floats, which have a gradient: the same op, over the gradient that comes in. */
#include "example_ops.h"

#include <headrace/kernels.h>
#include <string.h>

static hr_status zero_out_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    const size_t size = hr_dtype_size(in->dtype);
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, in->shape, &out, err));
    if (out->count == 0) return HR_OK;
    memset(out->data, 0, (size_t)out->count * size);
    memcpy(out->data, in->data, size);
    return HR_OK;
}

static void zero_out_gradient(hr_backward *b)
{
    hr_backward_give(b, 0, hr_new_node(b->graph, "ZeroOut", HR_INPUTS(b->grad[0])));
}

const hr_graph_op zero_out_ops[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ZeroOut",
        .inputs = "to_zero:T",
        .outputs = "zeroed:T",
        .attrs = "T: type in {int32,float32,float64} = int32",
        .shapes = "=0",
        .compute = zero_out_compute,
        .gradient = zero_out_gradient,
    },
    HR_GRAPH_OPS_END,
};
