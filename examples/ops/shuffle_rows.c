/* Example>ShuffleRows: the rows of a tensor in a random order, another one in each run, and that order. The n-th run of
 * a session draws the same for the same seeds, on any machine and with any number of threads. The gradient puts rows
 * back where they came from. */
#include "example_ops.h"

#include <headrace/kernels.h>
#include <string.h>

/* What a node keeps in a session. Since the op is HR_STATEFUL, its runs come one after the other. */
typedef struct shuffle_state {
    uint64_t key, runs;
} shuffle_state;

static hr_status shuffle_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    (void)session, (void)err;
    shuffle_state *st = state;
    st->key = hr_random((uint64_t)hr_attr_int(node, "seed"), (uint64_t)hr_attr_int(node, "seed2"));
    return HR_OK;
}

static void draw_order(shuffle_state *st, int32_t *order, int64_t rows)
{
    const uint64_t key = hr_random(st->key, st->runs++);
    for (int64_t i = 0; i < rows; i++) {
        const int64_t j = hr_random_below(key, (uint64_t)i, i + 1);
        order[i] = order[j];
        order[j] = (int32_t)i;
    }
}

static hr_status shuffle_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    hr_tensor *out, *order;
    if (in->shape.rank == 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "shuffle_rows.shape", "expected rows, got a scalar");
    const int64_t rows = in->shape.dims[0];
    if (rows > INT32_MAX)
        return hr_fail(err, HR_INVALID_ARGUMENT, "shuffle_rows.shape", "expected at most %d rows, got %lld", INT32_MAX,
                       (long long)rows);
    HR_TRY(hr_kernel_output(k, 0, in->shape, &out, err));
    HR_TRY(hr_kernel_output(k, 1, HR_SHAPE(rows), &order, err));
    draw_order(k->state, order->data, rows);
    const size_t size = hr_bytes_from_axis(in, 1);
    for (int64_t i = 0; i < rows && size > 0; i++)
        memcpy((char *)out->data + (size_t)i * size,
               (const char *)in->data + (size_t)((const int32_t *)order->data)[i] * size, size);
    return HR_OK;
}

/* Row i came from row order[i]: what flows to that row is row i of the gradient. */
static void shuffle_gradient(hr_backward *b)
{
    const hr_node back = hr_new_node(b->graph, "InvertPermutation", HR_INPUTS(b->output[1]));
    hr_backward_give(b, 0, hr_gather(b->grad[0], back, 0));
}

const hr_graph_op shuffle_rows_ops[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Example>ShuffleRows",
        .inputs = "rows:T",
        .outputs = "shuffled:T, order:int32",
        .attrs = "T: numbers; seed: int = 0; seed2: int = 0",
        .traits = HR_STATEFUL,
        .state_size = sizeof(shuffle_state),
        .shapes = "[n,...] -> [n,...], [n]",
        .prepare = shuffle_prepare,
        .compute = shuffle_compute,
        .gradient = shuffle_gradient,
    },
    HR_GRAPH_OPS_END,
};
