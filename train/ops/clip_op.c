/* ClipByValue: values between a least and a greatest one. */
#include <headrace/kernels.h>

#define CLIP(T, V, U, DTYPE, SUFFIX, NAME, EXPR)                                                                       \
    HR_LOOP(NAME, SUFFIX)                                                                                              \
    {                                                                                                                  \
        (void)user;                                                                                                    \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const V x = HR_GET(SUFFIX, *(const T *)(const void *)(at[1] + i * step[1]));                               \
            const V low = HR_GET(SUFFIX, *(const T *)(const void *)(at[2] + i * step[2]));                             \
            const V high = HR_GET(SUFFIX, *(const T *)(const void *)(at[3] + i * step[3]));                            \
            const V upto = x > high ? high : x;                                                                        \
            ((T *)(void *)at[0])[i] = HR_PUT(SUFFIX, T, upto < low ? low : upto);                                      \
        }                                                                                                              \
    }
HR_EACH_TYPE(CLIP, clip, ~, floats, halves, ints)

static hr_status clip_compute(hr_kernel *k, hr_error *err)
{
    const hr_shape shape = k->input[0]->shape;
    for (int i = 1; i < 3; i++)
        if (k->input[i]->shape.rank != 0 && !hr_shape_equal(k->input[i]->shape, shape))
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected bounds of the input's shape, or scalars");
    return hr_compute_walk(k, k->input, shape, err);
}

/* What was clipped flows to its bound. */
static void clip_gradient(hr_backward *b)
{
    const hr_node g = b->grad[0], x = b->input[0], zeros = hr_zeros_like(g);
    const hr_node below = hr_less(x, b->input[1]), above = hr_greater(x, b->input[2]);
    hr_backward_give_unbroadcast(b, 0, hr_where(hr_logical_or(below, above), zeros, g));
    hr_backward_give_unbroadcast(b, 1, hr_where(below, g, zeros));
    hr_backward_give_unbroadcast(b, 2, hr_where(above, g, zeros));
}

const hr_graph_op hr_graph_ops_clip_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ClipByValue",
        .traits = HR_ELEMENT_WISE,
        .kernels = HR_KERNELS(clip, floats, halves, ints),
        .nanoseconds = .5,
        .shapes = "=0",
        .compute = clip_compute,
        .gradient = clip_gradient,
    },
    HR_GRAPH_OPS_END,
};

HR_TERNARY_CONSTRUCTOR(hr_clip_by_value, "ClipByValue")
