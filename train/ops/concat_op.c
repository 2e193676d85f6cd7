/* Pieces put together along an axis: ConcatV2, and ConcatOffset, which its gradient needs. What lies along and after the
 * axis is one run of bytes of each input. */
#include <headrace/kernels.h>
#include <string.h>

static hr_status concat_shape(hr_infer *s, hr_error *err)
{
    const int n = s->inputs - 1;
    const hr_tensor *value = hr_infer_value(s, n);
    int axis;
    hr_shape out = HR_UNKNOWN_SHAPE;
    for (int i = 0; i < n; i++) {
        if (s->input[i].rank == 0) return hr_infer_refuse(s, err, "inputs of rank 1 or more");
        if (out.rank < 0) out = s->input[i];
        if (s->input[i].rank >= 0 && s->input[i].rank != out.rank) return hr_infer_refuse(s, err, "inputs of one rank");
    }
    if (out.rank < 0) return HR_OK;
    if (!value) {
        for (int d = 0; d < out.rank; d++) out.dims[d] = -1;
        s->output[0] = out;
        return HR_OK;
    }
    HR_TRY(hr_axis_of_one(value, out.rank, &axis, err));
    int64_t along = 0;
    for (int i = 0; i < n; i++) {
        hr_shape other = s->input[i];
        if (other.rank < 0) {
            along = -1;
            continue;
        }
        const int64_t length = other.dims[axis];
        HR_TRY(hr_dim_add(along, length, &along, err));
        other.dims[axis] = out.dims[axis];
        if (!hr_shape_merge(out, other, &out)) return hr_infer_refuse(s, err, "inputs alike but for the axis");
    }
    out.dims[axis] = along;
    s->output[0] = out;
    return HR_OK;
}

/* Inputs of shape [0] beside others of higher rank are not accepted: ranks must agree. */
static hr_status concat_out(const hr_kernel *k, int *axis, hr_shape *out, hr_error *err)
{
    *out = k->input[0]->shape;
    if (out->rank == 0) return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected inputs of rank 1 or more");
    HR_TRY(hr_axis_of_one(k->input[k->inputs - 1], out->rank, axis, err));
    for (int i = 1; i < k->inputs - 1; i++) {
        hr_shape s = k->input[i]->shape;
        char a[128], b[128];
        const int64_t length = s.rank == out->rank ? s.dims[*axis] : 0;
        if (s.rank == out->rank) s.dims[*axis] = out->dims[*axis];
        if (!hr_shape_equal(s, *out))
            return hr_fail(
                err, HR_INVALID_ARGUMENT, "graph.shape", "expected inputs alike but for axis %d, got %s and %s", *axis,
                hr_shape_text(k->input[0]->shape, a, sizeof a), hr_shape_text(k->input[i]->shape, b, sizeof b));
        HR_TRY(hr_dim_add(out->dims[*axis], length, &out->dims[*axis], err));
    }
    return HR_OK;
}

typedef struct joint {
    const hr_kernel *k;
    char *out;
    int axis;
    size_t row;
} joint;

static void join_rows(int64_t first, int64_t last, void *user)
{
    const joint *j = user;
    size_t offset = 0;
    for (int i = 0; i < j->k->inputs - 1; i++) {
        const hr_tensor *in = j->k->input[i];
        const size_t piece = hr_bytes_from_axis(in, j->axis);
        for (int64_t r = first; r < last && piece; r++)
            memcpy(j->out + (size_t)r * j->row + offset, (const char *)in->data + (size_t)r * piece, piece);
        offset += piece;
    }
}

static hr_status concat_compute(hr_kernel *k, hr_error *err)
{
    int axis;
    hr_shape shape;
    hr_tensor scratch, *out;
    HR_TRY(concat_out(k, &axis, &shape, err));
    HR_TRY(hr_kernel_begin_output(k, 0, shape, &scratch, &out, err));
    if (out->count) {
        joint j = {k, out->data, axis, hr_bytes_from_axis(out, axis)};
        hr_kernel_parallel(k, hr_values_before_axis(shape, axis), (double)j.row * .15 + 10, join_rows, &j);
    }
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

/* Which rows of slices are those of one input; the others become rows of zeros at its first row. */
static hr_gradient slices_within(hr_gradient all, hr_node offset, hr_node shape)
{
    hr_graph *g = shape.graph;
    const hr_node zero = hr_ints(g, HR_I64(0), 1), one = hr_ints(g, HR_I64(1), 1);
    const hr_dtype type = hr_node_dtype(all.indices);
    const hr_node at = hr_sub(all.indices, hr_cast_to(hr_slice(offset, zero, one), type));
    const hr_node begins = hr_new_node(g, "GreaterEqual", HR_INPUTS(at, hr_scalar(g, type, 0)));
    const hr_node ends = hr_new_node(g, "Less", HR_INPUTS(at, hr_cast_to(hr_slice(shape, zero, one), type)));
    const hr_node inside = hr_new_node(g, "LogicalAnd", HR_INPUTS(begins, ends));
    const hr_node nothing = hr_new_node(g, "ZerosLike", HR_INPUTS(all.values)); /* Select: a condition for each row */
    return (hr_gradient){hr_new_node(g, "Select", HR_INPUTS(inside, all.values, nothing)),
                         hr_where(inside, at, hr_scalar(g, type, 0)), shape};
}

/* The same rows of each input, of these some columns. */
static hr_gradient slices_beside(hr_gradient all, hr_node offset, hr_node shape)
{
    hr_graph *g = shape.graph;
    const hr_node one = hr_ints(g, HR_I64(1), 1), rest = hr_ints(g, HR_I64(-1), 1);
    const hr_node size[] = {rest, hr_slice(shape, one, rest)};
    return (hr_gradient){hr_slice(all.values, offset, hr_concat(size, 2, 0)), all.indices, shape};
}

/* Each input's part of g: Slice(g, offset, shape), with static offsets where they are known. Slices stay slices where
 * the axis is known to be the rows, or not to be. */
static void concat_gradient(hr_backward *b)
{
    const int n = b->inputs - 1;
    const hr_gradient all = b->slices[0];
    const hr_tensor *value = hr_node_constant(b->input[n]);
    int axis;
    const bool known = value && hr_axis_of_one(value, hr_node_shape(b->output[0]).rank, &axis, NULL) == HR_OK;
    if (n == 1) {
        b->out[0] = all;
        return;
    }
    hr_node *shapes = hr_malloc(sizeof *shapes * (size_t)(n + 1));
    if (!shapes) {
        hr_node_fail(b->graph, HR_RESOURCE_EXHAUSTED, "memory", "no memory for a gradient");
        return;
    }
    const bool sliced = all.indices.graph && known;
    const hr_node g = sliced ? all.values : hr_gradient_dense(all);
    shapes[0] = b->input[n];
    for (int i = 0; i < n; i++) shapes[i + 1] = hr_shape_of(b->input[i]);
    const hr_node offsets = hr_new_node(b->graph, "ConcatOffset", .inputs = shapes, .input_count = n + 1);
    for (int i = 0; i < n; i++) {
        const hr_node offset = hr_node_output(offsets, i), shape = shapes[i + 1];
        b->out[i] = !sliced     ? hr_dense_gradient(hr_slice(g, offset, shape))
                    : axis == 0 ? slices_within(all, offset, shape)
                                : slices_beside(all, offset, shape);
    }
    hr_free(shapes);
}

static hr_status offset_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    for (int i = 0; i < s->outputs; i++) s->output[i] = s->input[i + 1];
    return HR_OK;
}

static hr_status offset_compute(hr_kernel *k, hr_error *err)
{
    int axis;
    int64_t offset = 0;
    const int rank = k->input[1]->count <= HR_MAX_RANK ? (int)k->input[1]->count : 0;
    HR_TRY(hr_axis_input(k->input[0], rank, &axis, err));
    for (int i = 0; i < k->outputs; i++) {
        const hr_tensor *shape = k->input[i + 1];
        hr_tensor *out;
        HR_TRY(hr_expect_rank("a shape", shape->shape, 1, err));
        if (shape->count != rank)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected shapes of one rank");
        if (hr_int_at(shape, axis) < 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected dimensions >= 0, got %lld",
                           (long long)hr_int_at(shape, axis));
        for (int d = 0; d < rank; d++)
            if (d != axis && hr_int_at(shape, d) != hr_int_at(k->input[1], d))
                return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected shapes alike but for axis %d", axis);
        HR_TRY(hr_kernel_output(k, i, shape->shape, &out, err));
        for (int d = 0; d < rank; d++) HR_TRY(hr_put_int(out, d, d == axis ? offset : 0, err));
        HR_TRY(hr_dim_add(offset, hr_int_at(shape, axis), &offset, err));
    }
    return HR_OK;
}

/* Vectors one after the other. */
static bool concat_known(hr_node node, hr_shape *numbers)
{
    *numbers = (hr_shape){0, {0}};
    for (int i = 0; i + 1 < hr_node_inputs(node); i++) {
        const hr_node in = hr_node_input(node, i);
        const hr_shape shape = hr_node_shape(in);
        hr_shape part;
        if (shape.rank != 1) return false;
        if (!hr_known_numbers(in, &part))
            part = hr_shape_of_rank(shape.dims[0] <= HR_MAX_RANK ? (int)shape.dims[0] : -1);
        if (part.rank < 0 || numbers->rank + part.rank > HR_MAX_RANK) return false;
        for (int j = 0; j < part.rank; j++) numbers->dims[numbers->rank++] = part.dims[j];
    }
    return true;
}

const hr_graph_op hr_graph_ops_concat_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ConcatV2",
        .types = "T:any; Tidx:indices",
        .traits = HR_PASSES_SLICES,
        .shape = concat_shape,
        .compute = concat_compute,
        .known = concat_known,
        .gradient = concat_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ConcatOffset",
        .types = "shape_type:indices",
        .traits = HR_CHEAP | HR_NO_GRADIENT,
        .shape = offset_shape,
        .compute = offset_compute,
    },
    HR_GRAPH_OPS_END,
};

hr_node hr_concat(const hr_node *values, int count, int axis)
{
    if (!values || count < 1) return (hr_node){0};
    if (count == 1) return values[0];
    const hr_node at = hr_scalar(values[0].graph, HR_INT32, axis);
    return hr_node_of_lists("ConcatV2", values, count, &at, 1, NULL);
}
