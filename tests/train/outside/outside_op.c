/* Two ops as a program of its own would add them, by the installed headers alone: Outside>SquaredGap, (a - b)^2 of
 * numbers broadcast together, with a gradient; and Outside>Reverse, values of any type in reverse along an axis. */
#include <headrace/kernels.h>
#include <string.h>

/* ---- SquaredGap ---- */

#define GAP(T, U, DTYPE, SUFFIX)                                                                                       \
    static void gap_##SUFFIX(const T *a, int step_a, const T *b, int step_b, T *out, int64_t n)                        \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const U gap = (U)((U)a[i * step_a] - (U)b[i * step_b]);                                                    \
            out[i] = (T)(gap * gap);                                                                                   \
        }                                                                                                              \
    }
HR_NUMBER_TYPES(GAP)

static hr_status gap_compute(hr_kernel *k, hr_error *err)
{
    hr_broadcast plan;
    hr_tensor *out;
    HR_TRY(hr_broadcast_plan(k->input[0]->shape, k->input[1]->shape, &plan, err));
    HR_TRY(hr_kernel_output(k, 0, plan.shape, &out, err));
    for (int64_t i = 0; i < plan.outer; i++) {
        int64_t a, b;
        hr_broadcast_run(&plan, i, &a, &b);
        switch (out->dtype) {
#define RUN(T, U, DTYPE, SUFFIX)                                                                                       \
    case DTYPE:                                                                                                        \
        gap_##SUFFIX((const T *)k->input[0]->data + a, plan.step_a, (const T *)k->input[1]->data + b, plan.step_b,     \
                     (T *)out->data + i * plan.inner, plan.inner);                                                     \
        break;
            HR_NUMBER_TYPES(RUN)
#undef RUN
        default:
            break;
        }
    }
    return HR_OK;
}

/* 2 (a - b) for a, its negative for b. */
static void gap_gradient(hr_backward *b)
{
    const hr_node x = b->input[0], y = b->input[1];
    const hr_node slope = hr_mul(hr_scalar_like(x, 2), hr_sub(x, y)), g = hr_mul(b->grad[0], slope);
    b->out[0] = hr_dense_gradient(hr_gradient_unbroadcast(g, x, y));
    b->out[1] = hr_dense_gradient(hr_gradient_unbroadcast(hr_neg(g), y, x));
}

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
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Outside>SquaredGap",
        .inputs = "a:T, b:T",
        .outputs = "gap:T",
        .attrs = "T:numbers",
        .traits = HR_COMMUTATIVE,
        .shape = hr_infer_broadcast,
        .compute = gap_compute,
        .gradient = gap_gradient,
    },
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
