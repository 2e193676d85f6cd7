/* Select and SelectV2: values of one input or another by a condition. */
#include <headrace/kernels.h>

#define SELECT(T, V, U, DTYPE, SUFFIX, NAME, B)                                                                        \
    HR_LOOP(NAME, SUFFIX)                                                                                              \
    {                                                                                                                  \
        const bool *c = (const bool *)at[1];                                                                           \
        const T *t = (const T *)(const void *)at[2], *e = (const T *)(const void *)at[3];                              \
        T *z = (T *)(void *)at[0];                                                                                     \
        const int64_t size = (int64_t)sizeof(T), go_t = step[2] / size, go_e = step[3] / size;                         \
        (void)user;                                                                                                    \
        if (step[1] == 1 && go_t == 1 && go_e == 1) {                                                                  \
            HR_EACH_VALUE z[i] = c[i] ? t[i] : e[i];                                                                   \
        } else {                                                                                                       \
            for (int64_t i = 0; i < n; i++) z[i] = c[i * step[1]] ? t[i * go_t] : e[i * go_e];                         \
        }                                                                                                              \
    }
HR_EACH_TYPE(SELECT, select, ~, widths)

/* The first version: t and e alike; the condition like them, a scalar, or a vector that chooses rows. */
static hr_status select_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor condition = *k->input[0];
    const hr_shape shape = k->input[1]->shape;
    const hr_tensor *const rows[] = {&condition, k->input[1], k->input[2]};
    char c[128], t[128], e[128];
    const bool plain = condition.shape.rank == 0 || hr_shape_equal(condition.shape, shape);
    const bool by_row = condition.shape.rank == 1 && shape.rank > 1 && condition.shape.dims[0] == shape.dims[0];
    if ((!plain && !by_row) || !hr_shape_equal(shape, k->input[2]->shape))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected shapes that go together, got %s, %s and %s",
                       hr_shape_text(condition.shape, c, sizeof c), hr_shape_text(shape, t, sizeof t),
                       hr_shape_text(k->input[2]->shape, e, sizeof e));
    if (plain) return hr_compute_broadcast(k, err);
    condition.shape.rank = shape.rank;
    for (int i = 1; i < shape.rank; i++) condition.shape.dims[i] = 1;
    return hr_compute_walk(k, rows, shape, err);
}

static void select_gradient(hr_backward *b)
{
    const hr_node g = b->grad[0], c = b->input[0], zeros = hr_zeros_like(g);
    hr_backward_give(b, 1, hr_new_node(b->graph, "Select", HR_INPUTS(c, g, zeros)));
    hr_backward_give(b, 2, hr_new_node(b->graph, "Select", HR_INPUTS(c, zeros, g)));
}

static void select_v2_gradient(hr_backward *b)
{
    const hr_node g = b->grad[0], c = b->input[0], zeros = hr_zeros_like(g);
    hr_backward_give_unbroadcast(b, 1, hr_where(c, g, zeros));
    hr_backward_give_unbroadcast(b, 2, hr_where(c, zeros, g));
}

const hr_graph_op hr_graph_ops_select_op[] = {
    HR_BROADCAST_OP("SelectV2", 0, .5, .kernels = HR_KERNELS(select, any), .gradient = select_v2_gradient),
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Select",
        .kernels = HR_KERNELS(select, any),
        .nanoseconds = .5,
        .shapes = "merge(1,2)",
        .compute = select_compute,
        .gradient = select_gradient,
    },
    HR_GRAPH_OPS_END,
};

hr_node hr_where(hr_node condition, hr_node x, hr_node y)
{
    return hr_new_node(condition.graph, "SelectV2", HR_INPUTS(condition, x, y));
}
