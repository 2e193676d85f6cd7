/* Values repeated or rearranged: BroadcastTo, Tile, Transpose, InvertPermutation. */
#include <headrace/kernels.h>
#include <string.h>

/* ---- copying along strides: value i of the output comes from a place that follows from its indices ---- */

/* Fills `out` from `in`, whose index in dimension d of the output moves by stride[d] values; period[d], unless 0, wraps
 * it around. */
static void gather_strided(const hr_tensor *in, const int64_t *stride, const int64_t *period, hr_tensor *out)
{
    const size_t size = hr_dtype_size(in->dtype);
    const int rank = out->shape.rank;
    int64_t index[HR_MAX_RANK] = {0};
    const char *from = in->data;
    char *to = out->data;
    for (int64_t i = 0; i < out->count; i++, to += size) {
        int64_t at = 0;
        for (int d = 0; d < rank; d++) at += (period[d] ? index[d] % period[d] : index[d]) * stride[d];
        memcpy(to, from + (size_t)at * size, size);
        for (int d = rank - 1; d >= 0; d--) {
            if (++index[d] < out->shape.dims[d]) break;
            index[d] = 0;
        }
    }
}

static void row_major(hr_shape s, int64_t *stride)
{
    int64_t step = 1;
    for (int d = s.rank - 1; d >= 0; d--) {
        stride[d] = step;
        step *= s.dims[d];
    }
}

static hr_status tile_fill(hr_kernel *k, hr_shape shape, const int64_t *stride, const int64_t *period, hr_error *err)
{
    hr_tensor scratch, *out;
    HR_TRY(hr_kernel_begin_output(k, 0, shape, &scratch, &out, err));
    gather_strided(k->input[0], stride, period, out);
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

/* ---- BroadcastTo ---- */

static hr_status broadcast_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *value = hr_infer_value(s, 1);
    hr_shape to, both;
    if (value) {
        if (!hr_shape_from_tensor(value, &to) || !hr_shape_broadcast(s->input[0], to, &both))
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

typedef struct spread {
    const float *from;
    float *to;
    int64_t inner;
    int step;
    const hr_broadcast *plan;
} spread;

/* Runs of one value or of a row, the common cases, for floats. */
static void spread_runs(int64_t first, int64_t last, void *user)
{
    const spread *w = user;
    for (int64_t i = first; i < last; i++) {
        int64_t a, b;
        hr_broadcast_run(w->plan, i, &a, &b);
        float *to = w->to + i * w->inner;
        if (w->step) {
            memcpy(to, w->from + a, (size_t)w->inner * sizeof *to);
        } else {
            for (int64_t j = 0; j < w->inner; j++) to[j] = w->from[a];
        }
    }
}

static hr_status broadcast_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    char a[128], b[128];
    hr_shape to;
    hr_broadcast plan;
    hr_tensor *out;
    HR_TRY(hr_shape_input(k->input[1], &to, err));
    HR_TRY(hr_broadcast_plan(in->shape, to, &plan, err));
    if (!hr_shape_equal(plan.shape, to))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "Incompatible shapes: %s vs. %s",
                       hr_shape_text(in->shape, a, sizeof a), hr_shape_text(to, b, sizeof b));
    if (hr_shape_equal(in->shape, to)) return hr_kernel_pass(k, 0, 0, to, err);
    if (in->dtype == HR_FLOAT) {
        HR_TRY(hr_kernel_output(k, 0, to, &out, err));
        spread w = {in->data, out->data, plan.inner, plan.step_a, &plan};
        if (out->count) hr_kernel_parallel(k, plan.outer, (double)plan.inner * .2 + 10, spread_runs, &w);
        return HR_OK;
    }
    int64_t stride[HR_MAX_RANK] = {0}, own[HR_MAX_RANK], whole[HR_MAX_RANK] = {0};
    row_major(in->shape, own);
    for (int d = 1; d <= in->shape.rank; d++)
        if (in->shape.dims[in->shape.rank - d] != 1) stride[to.rank - d] = own[in->shape.rank - d];
    return tile_fill(k, to, stride, whole, err);
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
    s->output[0].rank = s->input[0].rank;
    for (int i = 0; i < s->output[0].rank; i++) s->output[0].dims[i] = -1;
    return HR_OK;
}

static hr_status tile_compute(hr_kernel *k, hr_error *err)
{
    int64_t stride[HR_MAX_RANK];
    hr_shape shape = {0, {0}};
    HR_TRY(tiled(k->input[0]->shape, k->input[1], &shape, err));
    row_major(k->input[0]->shape, stride);
    return tile_fill(k, shape, stride, k->input[0]->shape.dims, err);
}

/* [m0, d0, m1, d1, ...], summed over the multiples. */
static void tile_gradient(hr_backward *b)
{
    const int rank = hr_node_shape(b->input[0]).rank;
    int64_t even[HR_MAX_RANK];
    if (rank < 0 || 2 * rank > HR_MAX_RANK) {
        hr_node_fail(b->graph, HR_UNIMPLEMENTED, "graph.gradient",
                     "gradient of Tile: expected a known rank of at most %d", HR_MAX_RANK / 2);
        return;
    }
    for (int i = 0; i < rank; i++) even[i] = 2 * i;
    const hr_node shape = hr_cast_to(hr_shape_of(b->input[0]), hr_node_dtype(b->input[1]));
    const hr_node pairs =
        hr_new_node(b->graph, "Pack", HR_INPUTS(b->input[1], shape), HR_ATTRS(HR_INT_ATTR("axis", 1)));
    const hr_node split = hr_reshape(pairs, hr_ints(b->graph, HR_I64(-1), 1));
    const hr_node apart = hr_reshape(b->grad[0], split);
    const hr_node sum = hr_new_node(b->graph, "Sum", HR_INPUTS(apart, hr_ints(b->graph, even, rank)));
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
    s->output[0].rank = s->input[0].rank;
    for (int i = 0; i < s->output[0].rank; i++) s->output[0].dims[i] = -1;
    return HR_OK;
}

static hr_status transpose_compute(hr_kernel *k, hr_error *err)
{
    int from[HR_MAX_RANK];
    int64_t own[HR_MAX_RANK], stride[HR_MAX_RANK], whole[HR_MAX_RANK] = {0};
    hr_shape shape = {0, {0}};
    HR_TRY(permuted(k->input[0]->shape, k->input[1], &shape, from, err));
    row_major(k->input[0]->shape, own);
    for (int d = 0; d < shape.rank; d++) stride[d] = own[from[d]];
    return tile_fill(k, shape, stride, whole, err);
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

hr_node hr_broadcast_to_with(hr_node x, hr_node y, const hr_name_opts *opts)
{
    return hr_binary_node("BroadcastTo", x, y, opts);
}
hr_node hr_tile_with(hr_node x, hr_node y, const hr_name_opts *opts) { return hr_binary_node("Tile", x, y, opts); }
hr_node hr_transpose_with(hr_node x, hr_node y, const hr_name_opts *opts)
{
    return hr_binary_node("Transpose", x, y, opts);
}
