/* Pieces put together along an axis and taken apart: ConcatV2, ConcatOffset, Split, SplitV, Pack, Unpack. An axis makes
 * three numbers of a shape: values before it, along it, after it; all is copying runs of bytes. */
#include "train/ops/kernels.h"

#include <string.h>

static int64_t before_axis(hr_shape s, int axis)
{
    int64_t n = 1;
    for (int i = 0; i < axis; i++) n *= s.dims[i];
    return n;
}

/* Bytes of what lies along and after the axis. */
static size_t bytes_from_axis(const hr_tensor *t, int axis)
{
    size_t n = hr_dtype_size(t->dtype);
    for (int i = axis; i < t->shape.rank; i++) n *= (size_t)t->shape.dims[i];
    return n;
}

static hr_status one_axis(const hr_tensor *axis, int rank, int *out, hr_error *err)
{
    if (axis->count != 1) return hr_fail(err, HR_INVALID_ARGUMENT, "graph.axis", "expected one axis");
    return hr__axis(hr__int_at(axis, 0), rank, out, err);
}

static void concat_no_memory(hr_graph *g)
{
    hr_node_fail(g, HR_RESOURCE_EXHAUSTED, "memory", "no memory for a gradient");
}

/* ---- ConcatV2 ---- */

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
    HR_TRY(one_axis(value, out.rank, &axis, err));
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
    HR_TRY(one_axis(k->input[k->inputs - 1], out->rank, axis, err));
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
        const size_t piece = bytes_from_axis(in, j->axis);
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
    HR_TRY(hr__begin_output(k, 0, shape, &scratch, &out, err));
    if (out->count) {
        joint j = {k, out->data, axis, bytes_from_axis(out, axis)};
        hr_kernel_parallel(k, before_axis(shape, axis), (double)j.row * .15 + 10, join_rows, &j);
    }
    return hr__end_output(k, 0, &scratch, out, err);
}

/* Each input's part of g: Slice(g, offset, shape), with static offsets where they are known. */
static void concat_gradient(hr_backward *b)
{
    const int n = b->inputs - 1;
    const hr_node g = b->grad[0];
    hr_node *shapes = hr_malloc(sizeof *shapes * (size_t)(n + 1));
    if (!shapes) {
        concat_no_memory(b->graph);
        return;
    }
    shapes[0] = b->input[n];
    for (int i = 0; i < n; i++) shapes[i + 1] = hr_shape_of(b->input[i]);
    if (n == 1) {
        b->out[0] = hr_dense_gradient(g);
    } else {
        const hr_node offsets = hr_new_node(b->graph, "ConcatOffset", .inputs = shapes, .input_count = n + 1);
        for (int i = 0; i < n; i++)
            b->out[i] = hr_dense_gradient(hr_slice(g, hr_node_output(offsets, i), shapes[i + 1]));
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
    HR_TRY(hr__axis_input(k->input[0], rank, &axis, err));
    for (int i = 0; i < k->outputs; i++) {
        const hr_tensor *shape = k->input[i + 1];
        hr_tensor *out;
        HR_TRY(hr__expect_rank("a shape", shape->shape, 1, err));
        if (shape->count != rank)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected shapes of one rank");
        if (hr__int_at(shape, axis) < 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected dimensions >= 0, got %lld",
                           (long long)hr__int_at(shape, axis));
        for (int d = 0; d < rank; d++)
            if (d != axis && hr__int_at(shape, d) != hr__int_at(k->input[1], d))
                return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected shapes alike but for axis %d", axis);
        HR_TRY(hr_kernel_output(k, i, shape->shape, &out, err));
        for (int d = 0; d < rank; d++) HR_TRY(hr__put_int(out, d, d == axis ? offset : 0, err));
        HR_TRY(hr_dim_add(offset, hr__int_at(shape, axis), &offset, err));
    }
    return HR_OK;
}

/* ---- Split, SplitV ---- */

static hr_status take_pieces(hr_kernel *k, const hr_tensor *value, int axis, const int64_t *lengths, hr_error *err)
{
    const int64_t zero[HR_MAX_RANK] = {0};
    int64_t at[HR_MAX_RANK] = {0};
    hr_shape shape = value->shape;
    for (int i = 0; i < k->outputs; i++) {
        hr_tensor scratch, *out;
        shape.dims[axis] = lengths[i];
        HR_TRY(hr__begin_output(k, i, shape, &scratch, &out, err));
        hr__copy_block(value, at, out, zero, shape);
        HR_TRY(hr__end_output(k, i, &scratch, out, err));
        at[axis] += lengths[i];
    }
    return HR_OK;
}

static hr_status split_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *value = hr_infer_value(s, 0);
    hr_shape out = s->input[1];
    int axis;
    if (out.rank < 0) return HR_OK;
    if (value) {
        HR_TRY(hr__axis_input(value, out.rank, &axis, err));
        if (out.dims[axis] >= 0 && out.dims[axis] % s->outputs)
            return hr_infer_refuse(s, err, "a dimension that num_split divides");
        if (out.dims[axis] >= 0) out.dims[axis] /= s->outputs;
    }
    for (int d = 0; !value && d < out.rank; d++) out.dims[d] = -1;
    for (int i = 0; i < s->outputs; i++) s->output[i] = out;
    return HR_OK;
}

static hr_status split_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *value = k->input[1];
    int axis;
    HR_TRY(hr__axis_input(k->input[0], value->shape.rank, &axis, err));
    if (value->shape.dims[axis] % k->outputs)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected a dimension that num_split %d divides, got %lld", k->outputs,
                       (long long)value->shape.dims[axis]);
    int64_t *lengths = hr_kernel_temp(k, sizeof *lengths * (size_t)k->outputs);
    if (!lengths) return hr_no_memory(err, "a split");
    for (int i = 0; i < k->outputs; i++) lengths[i] = value->shape.dims[axis] / k->outputs;
    return take_pieces(k, value, axis, lengths, err);
}

static void join_back(hr_backward *b, hr_node axis, hr_gradient *out)
{
    hr_node *all = hr_malloc(sizeof *all * (size_t)(b->outputs + 1));
    if (!all) {
        concat_no_memory(b->graph);
        return;
    }
    for (int i = 0; i < b->outputs; i++) all[i] = hr_backward_grad(b, i);
    all[b->outputs] = axis;
    *out = hr_dense_gradient(
        b->outputs == 1 ? all[0] : hr_new_node(b->graph, "ConcatV2", .inputs = all, .input_count = b->outputs + 1));
    hr_free(all);
}

static void split_gradient(hr_backward *b) { join_back(b, b->input[0], &b->out[1]); }
static void split_v_gradient(hr_backward *b) { join_back(b, b->input[2], &b->out[0]); }

/* Lengths of all pieces, the one that is -1 filled in if `whole` is known. */
static hr_status piece_lengths(const hr_tensor *sizes, int count, int64_t whole, int64_t *lengths, hr_error *err)
{
    int open = -1;
    int64_t sum = 0;
    bool fits = sizes->count == count;
    for (int i = 0; fits && i < count; i++) {
        lengths[i] = hr__int_at(sizes, i);
        fits = lengths[i] >= 0 || (lengths[i] == -1 && open < 0);
        if (lengths[i] == -1)
            open = i;
        else if (fits)
            HR_TRY(hr_dim_add(sum, lengths[i], &sum, err));
    }
    if (!fits || (whole >= 0 && (sum > whole || (open < 0 && sum != whole))))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected %d sizes that make up a dimension of %lld, with at most one -1", count,
                       (long long)whole);
    if (open >= 0 && whole >= 0) lengths[open] = whole - sum;
    return HR_OK;
}

static hr_status split_v_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *value = hr_infer_value(s, 2), *sizes = hr_infer_value(s, 1);
    hr_shape out = s->input[0];
    int axis;
    if (out.rank < 0) return HR_OK;
    for (int d = 0; !value && d < out.rank; d++) out.dims[d] = -1;
    for (int i = 0; i < s->outputs; i++) s->output[i] = out;
    if (!value) return HR_OK;
    HR_TRY(one_axis(value, out.rank, &axis, err));
    int64_t *lengths = hr_malloc(sizeof *lengths * (size_t)(s->outputs + 1));
    if (!lengths) return hr_no_memory(err, "a split");
    const hr_status st = sizes ? piece_lengths(sizes, s->outputs, out.dims[axis], lengths, err) : HR_OK;
    for (int i = 0; i < s->outputs; i++) s->output[i].dims[axis] = sizes && st == HR_OK ? lengths[i] : -1;
    hr_free(lengths);
    return st;
}

static hr_status split_v_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *value = k->input[0];
    int axis;
    HR_TRY(one_axis(k->input[2], value->shape.rank, &axis, err));
    int64_t *lengths = hr_kernel_temp(k, sizeof *lengths * (size_t)(k->outputs + 1));
    if (!lengths) return hr_no_memory(err, "a split");
    HR_TRY(piece_lengths(k->input[1], k->outputs, value->shape.dims[axis], lengths, err));
    return take_pieces(k, value, axis, lengths, err);
}

/* ---- Pack, Unpack ---- */

static hr_status pack_out(hr_node node, hr_shape in, int count, int *axis, hr_shape *out, hr_error *err)
{
    if (in.rank == HR_MAX_RANK)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected at most %d dimensions", HR_MAX_RANK);
    HR_TRY(hr__axis(hr_attr_int(node, "axis"), in.rank + 1, axis, err));
    out->rank = in.rank + 1;
    for (int i = 0; i < out->rank; i++) out->dims[i] = i < *axis ? in.dims[i] : i == *axis ? count : in.dims[i - 1];
    return HR_OK;
}

static hr_status pack_shape(hr_infer *s, hr_error *err)
{
    hr_shape in = HR_UNKNOWN_SHAPE;
    int axis;
    for (int i = 0; i < s->inputs; i++)
        if (!hr_shape_merge(in, s->input[i], &in)) return hr_infer_refuse(s, err, "inputs of one shape");
    return in.rank < 0 ? HR_OK : pack_out(s->node, in, s->inputs, &axis, &s->output[0], err);
}

static hr_status pack_compute(hr_kernel *k, hr_error *err)
{
    int axis;
    hr_shape shape = {0, {0}};
    hr_tensor scratch, *out;
    HR_TRY(pack_out(k->node, k->input[0]->shape, k->inputs, &axis, &shape, err));
    for (int i = 1; i < k->inputs; i++)
        if (!hr_shape_equal(k->input[i]->shape, k->input[0]->shape))
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected inputs of one shape");
    HR_TRY(hr__begin_output(k, 0, shape, &scratch, &out, err));
    const size_t piece = bytes_from_axis(k->input[0], axis);
    const int64_t rows = before_axis(shape, axis);
    char *at = out->data;
    for (int64_t r = 0; r < rows && piece; r++)
        for (int i = 0; i < k->inputs; i++, at += piece)
            memcpy(at, (const char *)k->input[i]->data + (size_t)r * piece, piece);
    return hr__end_output(k, 0, &scratch, out, err);
}

static void pack_gradient(hr_backward *b)
{
    const hr_node parts =
        hr_new_node(b->graph, "Unpack", HR_INPUTS(b->grad[0]),
                    HR_ATTRS(HR_INT_ATTR("num", b->inputs), HR_INT_ATTR("axis", hr_attr_int(b->node, "axis"))));
    for (int i = 0; i < b->inputs; i++) b->out[i] = hr_dense_gradient(hr_node_output(parts, i));
}

static hr_status unpack_out(hr_node node, hr_shape in, int count, int *axis, hr_shape *out, hr_error *err)
{
    HR_TRY(hr__axis(hr_attr_int(node, "axis"), in.rank, axis, err));
    if (in.dims[*axis] >= 0 && in.dims[*axis] != count)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected num = %lld outputs, got %d",
                       (long long)in.dims[*axis], count);
    out->rank = in.rank - 1;
    for (int i = 0; i < out->rank; i++) out->dims[i] = in.dims[i < *axis ? i : i + 1];
    return HR_OK;
}

static hr_status unpack_shape(hr_infer *s, hr_error *err)
{
    int axis;
    for (int i = 0; i < s->outputs && s->input[0].rank >= 0; i++)
        HR_TRY(unpack_out(s->node, s->input[0], s->outputs, &axis, &s->output[i], err));
    return HR_OK;
}

static hr_status unpack_compute(hr_kernel *k, hr_error *err)
{
    int axis;
    hr_shape shape = {0, {0}};
    const hr_tensor *in = k->input[0];
    HR_TRY(unpack_out(k->node, in->shape, k->outputs, &axis, &shape, err));
    const int64_t rows = before_axis(in->shape, axis);
    const size_t piece = rows && k->outputs ? (size_t)(in->count / rows / k->outputs) * hr_dtype_size(in->dtype) : 0;
    for (int i = 0; i < k->outputs; i++) {
        hr_tensor scratch, *out;
        HR_TRY(hr__begin_output(k, i, shape, &scratch, &out, err));
        for (int64_t r = 0; r < rows && piece; r++)
            memcpy((char *)out->data + (size_t)r * piece, (const char *)in->data + (size_t)(r * k->outputs + i) * piece,
                   piece);
        HR_TRY(hr__end_output(k, i, &scratch, out, err));
    }
    return HR_OK;
}

static void unpack_gradient(hr_backward *b)
{
    hr_node *all = hr_malloc(sizeof *all * (size_t)(b->outputs + 1));
    if (!all) {
        concat_no_memory(b->graph);
        return;
    }
    for (int i = 0; i < b->outputs; i++) all[i] = hr_backward_grad(b, i);
    b->out[0] = hr_dense_gradient(hr_new_node(b->graph, "Pack", .inputs = all, .input_count = b->outputs,
                                              HR_ATTRS(HR_INT_ATTR("axis", hr_attr_int(b->node, "axis")))));
    hr_free(all);
}

const hr_graph_op hr_graph_ops_concat_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ConcatV2",
        .inputs = "values:N*T, axis:Tidx",
        .outputs = "output:T",
        .attrs = "N:int>=1; T:any; Tidx:indices=int32",
        .shape = concat_shape,
        .compute = concat_compute,
        .gradient = concat_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ConcatOffset",
        .inputs = "concat_dim:int32, shape:N*shape_type",
        .outputs = "offset:N*shape_type",
        .attrs = "N:int>=1; shape_type:indices=int32",
        .traits = HR_CHEAP | HR_NO_GRADIENT,
        .shape = offset_shape,
        .compute = offset_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Split",
        .inputs = "split_dim:int32, value:T",
        .outputs = "output:num_split*T",
        .attrs = "num_split:int>=1; T:any",
        .shape = split_shape,
        .compute = split_compute,
        .gradient = split_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "SplitV",
        .inputs = "value:T, size_splits:Tlen, split_dim:int32",
        .outputs = "output:num_split*T",
        .attrs = "num_split:int>=1; T:any; Tlen:indices=int64",
        .shape = split_v_shape,
        .compute = split_v_compute,
        .gradient = split_v_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Pack",
        .inputs = "values:N*T",
        .outputs = "output:T",
        .attrs = "N:int>=1; T:any; axis:int=0",
        .shape = pack_shape,
        .compute = pack_compute,
        .gradient = pack_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Unpack",
        .inputs = "value:T",
        .outputs = "output:num*T",
        .attrs = "num:int>=0; T:any; axis:int=0",
        .shape = unpack_shape,
        .compute = unpack_compute,
        .gradient = unpack_gradient,
    },
    HR_GRAPH_OPS_END,
};

hr_node hr_concat(const hr_node *values, int count, int axis)
{
    if (!values || count < 1) return (hr_node){0};
    if (count == 1) return values[0];
    hr_graph *g = values[0].graph;
    hr_node *all = hr_malloc(sizeof *all * (size_t)(count + 1));
    if (!all) return hr_node_fail(g, HR_RESOURCE_EXHAUSTED, "memory", "no memory for a concatenation");
    memcpy(all, values, sizeof *all * (size_t)count);
    all[count] = hr_scalar(g, HR_INT32, axis);
    const hr_node joined = hr_new_node(g, "ConcatV2", .inputs = all, .input_count = count + 1);
    hr_free(all);
    return joined;
}
