/* Values repeated or rearranged: BroadcastTo, Tile, Transpose, InvertPermutation. */
#include <headrace/kernels.h>
#include <string.h>

/* Output 0 of shape `shape` from input 0; `w` walks through the places of the output in their order and has no operand
 * yet: the input moves by `step` bytes. */
static hr_status tile_fill(hr_kernel *k, hr_shape shape, hr_walk *w, const int64_t *step, hr_error *err)
{
    hr_tensor scratch, *out;
    int64_t row_major[HR_WALK_RANK];
    HR_TRY(hr_kernel_begin_output(k, 0, shape, &scratch, &out, err));
    int64_t size = (int64_t)hr_dtype_size(out->dtype);
    for (int d = w->rank - 1; d >= 0; size *= w->dims[d--]) row_major[d] = size;
    hr_walk_add_strided(w, out->data, row_major);
    hr_walk_add_strided(w, k->input[0]->data, step);
    hr_walk_copy(k, w, hr_dtype_size(out->dtype));
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

/* ---- BroadcastTo ---- */

static hr_status broadcast_shape(hr_infer *s, hr_error *err)
{
    hr_shape to, both;
    if (hr_infer_numbers(s, 1, &to)) {
        if (!hr_shape_broadcast(s->input[0], to, &both))
            return hr_infer_refuse(s, err, "a shape that the input broadcasts to");
        s->output[0] = to;
    } else if (s->input[1].rank == 1 && s->input[1].dims[0] >= 0 && s->input[1].dims[0] <= HR_MAX_RANK) {
        /* What is longer than 1 stays as it is. */
        hr_shape in = s->input[0], *out = &s->output[0];
        out->rank = (int)s->input[1].dims[0];
        for (int i = 1; i <= out->rank; i++) {
            const int64_t length = i <= in.rank ? in.dims[in.rank - i] : -1;
            out->dims[out->rank - i] = length > 1 ? length : -1;
        }
    }
    return HR_OK;
}

static hr_status broadcast_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    char a[128], b[128];
    hr_shape to, both;
    hr_tensor scratch, *out;
    hr_walk w;
    HR_TRY(hr_shape_input(k->input[1], &to, err));
    if (!hr_shape_broadcast(in->shape, to, &both) || !hr_shape_equal(both, to))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "Incompatible shapes: %s vs. %s",
                       hr_shape_text(in->shape, a, sizeof a), hr_shape_text(to, b, sizeof b));
    if (hr_shape_equal(in->shape, to)) return hr_kernel_pass(k, 0, 0, to, err);
    HR_TRY(hr_kernel_begin_output(k, 0, to, &scratch, &out, err));
    hr_walk_begin(&w, to);
    hr_walk_add(&w, out);
    hr_walk_add(&w, in);
    hr_walk_copy(k, &w, hr_dtype_size(out->dtype));
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

static void broadcast_gradient(hr_backward *b)
{
    b->out[0] = hr_dense_gradient(hr_gradient_unbroadcast(b->grad[0], b->input[0], b->output[0]));
}

/* A vector that is known to have another length than `rank`. */
static bool known_length(hr_shape vector, int rank)
{
    return rank >= 0 && vector.rank == 1 && vector.dims[0] >= 0 && vector.dims[0] != rank;
}

/* ---- Tile ---- */

static hr_status tiled(hr_shape in, const hr_tensor *multiples, hr_shape *out, hr_error *err)
{
    HR_TRY(hr_expect_rank("multiples", multiples->shape, 1, err));
    if (multiples->count != in.rank)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected %d multiples, got %lld", in.rank,
                       (long long)multiples->count);
    out->rank = in.rank;
    for (int i = 0; i < in.rank; i++) {
        const int64_t n = hr_int_at(multiples, i);
        if (n < 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected multiples >= 0, got %lld", (long long)n);
        HR_TRY(hr_dim_mul(in.dims[i], n, &out->dims[i], err));
    }
    return HR_OK;
}

static hr_status tile_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *value = hr_infer_value(s, 1);
    if (known_length(s->input[1], s->input[0].rank)) return hr_infer_refuse(s, err, "a multiple for each dimension");
    if (s->input[0].rank >= 0 && value) return tiled(s->input[0], value, &s->output[0], err);
    const hr_shape in = s->input[0];
    hr_shape times, *out = &s->output[0];
    *out = hr_shape_of_rank(in.rank);
    if (in.rank < 0 || !hr_infer_numbers(s, 1, &times) || times.rank != in.rank) return HR_OK;
    for (int i = 0; i < in.rank; i++)
        if (in.dims[i] >= 0 && times.dims[i] >= 0) HR_TRY(hr_dim_mul(in.dims[i], times.dims[i], &out->dims[i], err));
    return HR_OK;
}

/* Each dimension is two: how often, along which the input stands still, and its own. */
static hr_status tile_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    int64_t own[HR_MAX_RANK] = {0}, step[HR_WALK_RANK] = {0};
    hr_shape shape = {0, {0}};
    hr_walk w = {.rank = 2 * in->shape.rank};
    HR_TRY(tiled(in->shape, k->input[1], &shape, err));
    hr_walk_steps(in, own);
    for (int d = 0; d < shape.rank; d++) {
        w.dims[2 * d] = hr_int_at(k->input[1], d);
        w.dims[2 * d + 1] = in->shape.dims[d];
        step[2 * d + 1] = own[d];
    }
    return tile_fill(k, shape, &w, step, err);
}

/* [m0, d0, m1, d1, ...], summed over the multiples. */
static void tile_gradient(hr_backward *b)
{
    hr_graph *g = b->graph;
    const hr_node shape = hr_cast_to(hr_shape_of(b->input[0]), hr_node_dtype(b->input[1]));
    const hr_node pairs = hr_new_node(g, "Pack", HR_INPUTS(b->input[1], shape), HR_ATTRS(HR_INT_ATTR("axis", 1)));
    const hr_node split = hr_reshape(pairs, hr_ints(g, HR_I64(-1), 1)), step = hr_scalar(g, HR_INT32, 2);
    const hr_node even = hr_new_node(g, "Range", HR_INPUTS(hr_scalar(g, HR_INT32, 0), hr_size_of(split), step));
    const hr_node sum = hr_new_node(g, "Sum", HR_INPUTS(hr_reshape(b->grad[0], split), even));
    b->out[0] = hr_dense_gradient(hr_reshape(sum, shape));
}

/* ---- Transpose ---- */

static hr_status permuted(hr_shape in, const hr_tensor *perm, hr_shape *out, int *from, hr_error *err)
{
    bool seen[HR_MAX_RANK] = {false};
    HR_TRY(hr_expect_rank("perm", perm->shape, 1, err));
    if (perm->count != in.rank)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a permutation of %d axes, got %lld", in.rank,
                       (long long)perm->count);
    out->rank = in.rank;
    for (int i = 0; i < in.rank; i++) {
        const int64_t axis = hr_int_at(perm, i);
        if (axis < 0 || axis >= in.rank)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.axis", "expected axes in [0, %d), got %lld", in.rank,
                           (long long)axis);
        from[i] = (int)axis;
        if (seen[from[i]])
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.axis", "expected a permutation, got axis %d twice",
                           from[i]);
        seen[from[i]] = true;
        out->dims[i] = in.dims[from[i]];
    }
    return HR_OK;
}

static hr_status transpose_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *value = hr_infer_value(s, 1);
    int from[HR_MAX_RANK];
    if (known_length(s->input[1], s->input[0].rank)) return hr_infer_refuse(s, err, "an axis for each dimension");
    if (s->input[0].rank >= 0 && value) return permuted(s->input[0], value, &s->output[0], from, err);
    s->output[0] = hr_shape_of_rank(s->input[0].rank);
    return HR_OK;
}

static hr_status transpose_compute(hr_kernel *k, hr_error *err)
{
    int from[HR_MAX_RANK];
    int64_t own[HR_MAX_RANK] = {0}, step[HR_MAX_RANK] = {0};
    hr_shape shape = {0, {0}};
    hr_walk w;
    HR_TRY(permuted(k->input[0]->shape, k->input[1], &shape, from, err));
    hr_walk_steps(k->input[0], own);
    for (int d = 0; d < shape.rank; d++) step[d] = own[from[d]];
    hr_walk_begin(&w, shape);
    return tile_fill(k, shape, &w, step, err);
}

static void transpose_gradient(hr_backward *b)
{
    const hr_node back = hr_new_node(b->graph, "InvertPermutation", HR_INPUTS(b->input[1]));
    b->out[0] = hr_dense_gradient(hr_transpose(b->grad[0], back));
}

static hr_status invert_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *x = k->input[0];
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, x->shape, &out, err));
    if (x->shape.rank != 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "invert_permutation expects a 1D vector.");
    if (out->count) memset(out->data, 0xff, (size_t)out->count * hr_dtype_size(out->dtype));
    for (int64_t i = 0; i < x->count; i++) {
        const int64_t at = hr_int_at(x, i);
        if (at < 0 || at >= x->count || hr_int_at(out, at) != -1)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.axis",
                           "expected a permutation, got %lld twice or out of range", (long long)at);
        HR_TRY(hr_put_int(out, at, i, err));
    }
    return HR_OK;
}

const hr_graph_op hr_graph_ops_tile_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "BroadcastTo",
        .types = "T:any; Tidx:indices",
        .shape = broadcast_shape,
        .compute = broadcast_compute,
        .gradient = broadcast_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Tile",
        .types = "T:any; Tmultiples:indices",
        .shape = tile_shape,
        .compute = tile_compute,
        .gradient = tile_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Transpose",
        .types = "T:any; Tperm:indices",
        .shape = transpose_shape,
        .compute = transpose_compute,
        .gradient = transpose_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "InvertPermutation",
        .types = "T:indices",
        .traits = HR_CHEAP | HR_NO_GRADIENT,
        .shape = hr_infer_unchanged,
        .compute = invert_compute,
    },
    HR_GRAPH_OPS_END,
};

HR_BINARY_CONSTRUCTOR(hr_broadcast_to, "BroadcastTo")
HR_BINARY_CONSTRUCTOR(hr_tile, "Tile")
HR_BINARY_CONSTRUCTOR(hr_transpose, "Transpose")
HR_UNARY_CONSTRUCTOR(hr_invert_permutation, "InvertPermutation")
