/* Two ops as a program of its own would add them, by the installed headers alone: Outside>SquaredGap, (a - b)^2 of
 * numbers broadcast together, with a gradient; and Outside>Reverse, values of any type in reverse along an axis. */
#include <headrace/kernels.h>
#include <string.h>

/* ---- SquaredGap ---- */

HR_BINARY(gap, (x - y) * (x - y), floats, halves)
HR_BINARY(gap, ((U)x - (U)y) * ((U)x - (U)y), ints)

/* 2 (x - y) for x, its negative for y. */
static hr_node slope(hr_node x, hr_node y) { return hr_mul(hr_scalar_like(x, 2), hr_sub(x, y)); }
HR_BINARY_GRADIENT(gap, hr_mul(g, slope(x, y)), hr_neg(hr_mul(g, slope(x, y))))

/* ---- Reverse ---- */

static hr_status reverse_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *value = hr_infer_value(s, 1);
    int axis;
    if (value && s->input[0].rank >= 0) HR_TRY(hr_axis_input(value, s->input[0].rank, &axis, err));
    s->output[0] = s->input[0];
    return HR_OK;
}

static hr_status reverse_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    hr_tensor scratch, *out;
    int axis;
    HR_TRY(hr_axis_input(k->input[1], in->shape.rank, &axis, err));
    HR_TRY(hr_kernel_begin_output(k, 0, in->shape, &scratch, &out, err));
    const int64_t blocks = hr_values_before_axis(in->shape, axis), length = in->shape.dims[axis];
    const size_t row = length ? hr_bytes_from_axis(in, axis) / (size_t)length : 0;
    for (int64_t block = 0; block < blocks; block++)
        for (int64_t i = 0; i < length && row; i++)
            memcpy((char *)out->data + (size_t)(block * length + i) * row,
                   (const char *)in->data + (size_t)(block * length + length - 1 - i) * row, row);
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

const hr_graph_op outside_ops[] = {
    HR_BROADCAST_OP("Outside>SquaredGap", HR_COMMUTATIVE, .5, .inputs = "a:T, b:T", .outputs = "gap:T",
                    .attrs = "T:type", .kernels = HR_KERNELS(gap, floats, halves, ints), .gradient = gap_gradient),
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Outside>Reverse",
        .inputs = "x:T, axis:Tidx",
        .outputs = "y:T",
        .attrs = "T:any; Tidx:indices=int32",
        .shape = reverse_shape,
        .compute = reverse_compute,
    },
    HR_GRAPH_OPS_END,
};

hr_node outside_squared_gap(hr_node a, hr_node b) { return hr_binary_node("Outside>SquaredGap", a, b, NULL); }
