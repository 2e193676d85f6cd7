/* Slice and Pad: a block of one tensor is a block of another. */
#include <headrace/kernels.h>
#include <string.h>

static hr_status slice_bounds(hr_shape in, const hr_tensor *begin, const hr_tensor *size, int64_t *at, hr_shape *out,
                              hr_error *err)
{
    HR_TRY(hr_expect_rank("begin", begin->shape, 1, err));
    HR_TRY(hr_expect_rank("size", size->shape, 1, err));
    if (begin->count != in.rank || size->count != in.rank)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected begin and size of %d values, got %lld and %lld", in.rank, (long long)begin->count,
                       (long long)size->count);
    out->rank = in.rank;
    for (int i = 0; i < in.rank; i++) {
        const int64_t wanted = hr_int_at(size, i), length = in.dims[i] < 0 ? HR_MAX_VALUES : in.dims[i];
        at[i] = hr_int_at(begin, i);
        if (at[i] < 0 || at[i] > length || wanted < -1 || wanted > length - at[i])
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.slice",
                           "expected a slice within dimension %d of %lld, got begin %lld and size %lld", i,
                           (long long)in.dims[i], (long long)at[i], (long long)wanted);
        out->dims[i] = wanted >= 0 ? wanted : in.dims[i] < 0 ? -1 : length - at[i];
    }
    return HR_OK;
}

/* A list of dimensions that is known to have another length than `rank`. */
static bool other_length(hr_shape list, int rank)
{
    return rank >= 0 && list.rank >= 1 && list.dims[0] >= 0 && list.dims[0] != rank;
}

static hr_status slice_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *begin = hr_infer_value(s, 1), *size = hr_infer_value(s, 2);
    int64_t at[HR_MAX_RANK];
    if (other_length(s->input[1], s->input[0].rank) || other_length(s->input[2], s->input[0].rank))
        return hr_infer_refuse(s, err, "begin and size for each dimension");
    if (s->input[0].rank >= 0 && begin && size) return slice_bounds(s->input[0], begin, size, at, &s->output[0], err);
    s->output[0] = hr_shape_of_rank(s->input[0].rank);
    return HR_OK;
}

/* A part of a vector. */
static bool slice_known(hr_node node, hr_shape *numbers)
{
    hr_shape all, begin, size;
    if (!hr_known_numbers(hr_node_input(node, 0), &all) || !hr_known_numbers(hr_node_input(node, 1), &begin) ||
        !hr_known_numbers(hr_node_input(node, 2), &size) || begin.rank != 1 || begin.dims[0] < 0)
        return false;
    if (hr_node_shape(node).rank != 1 || hr_node_shape(node).dims[0] < 0) return false;
    numbers->rank = (int)hr_node_shape(node).dims[0];
    if (begin.dims[0] + numbers->rank > all.rank) return false;
    for (int i = 0; i < numbers->rank; i++) numbers->dims[i] = all.dims[begin.dims[0] + i];
    return true;
}

static hr_status slice_compute(hr_kernel *k, hr_error *err)
{
    const int64_t zero[HR_MAX_RANK] = {0};
    int64_t at[HR_MAX_RANK];
    hr_shape shape = {0, {0}};
    hr_tensor scratch, *out;
    HR_TRY(slice_bounds(k->input[0]->shape, k->input[1], k->input[2], at, &shape, err));
    if (hr_shape_equal(shape, k->input[0]->shape)) return hr_kernel_pass(k, 0, 0, shape, err);
    HR_TRY(hr_kernel_begin_output(k, 0, shape, &scratch, &out, err));
    hr_copy_block(k, k->input[0], at, out, zero, shape);
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

/* Pad(g) with begin in front and the rest after it, as columns of a matrix [rank, 2]. */
static void slice_gradient(hr_backward *b)
{
    const hr_node shape = hr_cast_to(hr_shape_of(b->input[0]), hr_node_dtype(b->input[1]));
    const hr_node part = hr_cast_to(hr_shape_of(b->output[0]), hr_node_dtype(b->input[1]));
    const hr_node after = hr_sub(hr_sub(shape, part), b->input[1]);
    const hr_node axis = hr_scalar(b->graph, HR_INT32, 1);
    const hr_node columns[] = {hr_expand_dims(b->input[1], axis), hr_expand_dims(after, axis)};
    b->out[0] = hr_dense_gradient(hr_new_node(b->graph, "Pad", HR_INPUTS(b->grad[0], hr_concat(columns, 2, 1))));
}

static hr_status pad_bounds(hr_shape in, const hr_tensor *paddings, int64_t *at, hr_shape *out, hr_error *err)
{
    if (paddings->shape.rank != 2 || paddings->shape.dims[0] != in.rank || paddings->shape.dims[1] != 2)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected paddings of shape [%d,2]", in.rank);
    out->rank = in.rank;
    for (int i = 0; i < in.rank; i++) {
        const int64_t front = hr_int_at(paddings, 2 * i), back = hr_int_at(paddings, 2 * i + 1);
        if (front < 0 || back < 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.pad", "expected paddings >= 0, got %lld and %lld",
                           (long long)front, (long long)back);
        at[i] = front;
        HR_TRY(hr_dim_add(front, back, &out->dims[i], err));
        HR_TRY(hr_dim_add(in.dims[i], out->dims[i], &out->dims[i], err));
    }
    return HR_OK;
}

static hr_status slice_pad_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *paddings = hr_infer_value(s, 1);
    int64_t at[HR_MAX_RANK];
    if (other_length(s->input[1], s->input[0].rank)) return hr_infer_refuse(s, err, "paddings for each dimension");
    if (s->inputs == 3) HR_TRY(hr_expect_rank("constant_values", s->input[2], 0, err));
    if (s->input[0].rank >= 0 && paddings) return pad_bounds(s->input[0], paddings, at, &s->output[0], err);
    s->output[0] = hr_shape_of_rank(s->input[0].rank);
    return HR_OK;
}

static hr_status slice_pad_compute(hr_kernel *k, hr_error *err)
{
    const int64_t zero[HR_MAX_RANK] = {0};
    int64_t at[HR_MAX_RANK];
    hr_shape shape = {0, {0}};
    hr_tensor *out;
    HR_TRY(pad_bounds(k->input[0]->shape, k->input[1], at, &shape, err));
    if (k->inputs == 3) HR_TRY(hr_expect_rank("constant_values", k->input[2]->shape, 0, err));
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    if (k->inputs == 3) {
        hr_walk fill;
        hr_walk_begin(&fill, shape);
        hr_walk_add(&fill, out);
        hr_walk_add(&fill, k->input[2]);
        hr_walk_copy(k, &fill, hr_dtype_size(out->dtype));
    } else if (out->count) {
        memset(out->data, 0, (size_t)out->count * hr_dtype_size(out->dtype));
    }
    hr_copy_block(k, k->input[0], zero, out, at, k->input[0]->shape);
    return HR_OK;
}

static void slice_pad_gradient(hr_backward *b)
{
    const hr_node front =
        hr_new_node(b->graph, "Slice",
                    HR_INPUTS(b->input[1], hr_ints(b->graph, HR_I64(0, 0), 2), hr_ints(b->graph, HR_I64(-1, 1), 2)));
    const hr_node begin = hr_reshape(front, hr_ints(b->graph, HR_I64(-1), 1));
    const hr_node size = hr_cast_to(hr_shape_of(b->input[0]), hr_node_dtype(b->input[1]));
    b->out[0] = hr_dense_gradient(hr_slice(b->grad[0], begin, size));
}

const hr_graph_op hr_graph_ops_slice_op[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Slice",
        .types = "T:any; Index:indices",
        .shape = slice_shape,
        .compute = slice_compute,
        .known = slice_known,
        .gradient = slice_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Pad",
        .types = "T:{numbers,bool}; Tpaddings:indices",
        .shape = slice_pad_shape,
        .compute = slice_pad_compute,
        .gradient = slice_pad_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "PadV2",
        .types = "T:{numbers,bool}; Tpaddings:indices",
        .shape = slice_pad_shape,
        .compute = slice_pad_compute,
        .gradient = slice_pad_gradient,
    },
    HR_GRAPH_OPS_END,
};

hr_node hr_slice(hr_node x, hr_node begin, hr_node size)
{
    return hr_new_node(x.graph, "Slice", HR_INPUTS(x, begin, size));
}

hr_node hr_pad_with(hr_node x, hr_node paddings, const hr_pad_opts *opts)
{
    static const char *const modes[] = {[HR_PAD_REFLECT] = "REFLECT", [HR_PAD_SYMMETRIC] = "SYMMETRIC"};
    const hr_pad_opts o = HR_OPTIONS(hr_pad_opts, opts);
    if (o.mode > HR_PAD_SYMMETRIC)
        return hr_node_fail(x.graph, HR_INVALID_ARGUMENT, "graph.argument", "hr_pad: expected a hr_pad_mode, got %d",
                            (int)o.mode);
    if (o.mode != HR_PAD_CONSTANT)
        return hr_new_node(x.graph, "MirrorPad", .name = o.name, HR_INPUTS(x, paddings),
                           HR_ATTRS(HR_STRING_ATTR("mode", modes[o.mode])));
    if (o.value.graph) return hr_new_node(x.graph, "PadV2", .name = o.name, HR_INPUTS(x, paddings, o.value));
    return hr_new_node(x.graph, "Pad", .name = o.name, HR_INPUTS(x, paddings));
}
