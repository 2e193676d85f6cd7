/* The same values in another shape, and shapes computed from shapes: Reshape, ExpandDims, Squeeze,
 * BroadcastArgs, BroadcastGradientArgs. */
#include <headrace/kernels.h>
#include <string.h>

/* ---- Reshape ---- */

static hr_status cannot(hr_shape from, hr_shape to, hr_error *err)
{
    char x[128], y[128];
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a shape for all values of %s, got %s",
                   hr_shape_text(from, x, sizeof x), hr_shape_text(to, y, sizeof y));
}

/* Fills in the one -1 of `to`, if the number of values is known. [0,4] to [-1,0] gives [4,0], as TensorFlow has it. */
static hr_status resolve(hr_shape from, hr_shape to, hr_shape *out, hr_error *err)
{
    int open = -1;
    int64_t known = 1;
    const int64_t count = hr_shape_count(from);
    *out = to;
    for (int i = 0; i < to.rank; i++) {
        if (to.dims[i] < -1 || (to.dims[i] == -1 && open >= 0)) return cannot(from, to, err);
        if (to.dims[i] == -1)
            open = i;
        else if (__builtin_mul_overflow(known, to.dims[i], &known))
            return cannot(from, to, err);
    }
    if (count < 0) return HR_OK;
    if (open < 0) return known == count ? HR_OK : cannot(from, to, err);
    if (known == 0 && count == 0) {
        int64_t others = 1;
        for (int i = 0; i < from.rank; i++) others *= from.dims[i] ? from.dims[i] : 1;
        out->dims[open] = others;
        return HR_OK;
    }
    if (known == 0 || count % known) return cannot(from, to, err);
    out->dims[open] = count / known;
    return HR_OK;
}

/* Beside a 0, TensorFlow does not say what -1 stands for before the run. */
static hr_status leave_open(hr_shape to, hr_shape *out)
{
    bool zero = false;
    for (int i = 0; i < to.rank; i++) zero |= to.dims[i] == 0;
    for (int i = 0; i < to.rank; i++)
        if (zero && to.dims[i] == -1) out->dims[i] = -1;
    return HR_OK;
}

/* Dimensions that are known in part: one that is not follows from the others, if all values are known. */
static hr_status reshape_known(hr_infer *s, hr_shape to, hr_error *err)
{
    int open = 0;
    for (int i = 0; i < to.rank; i++) open += to.dims[i] < 0;
    s->output[0] = to;
    if (open > 1 || hr_shape_count(s->input[0]) <= 0) return HR_OK;
    HR_TRY(resolve(s->input[0], to, &s->output[0], err));
    return leave_open(to, &s->output[0]);
}

static hr_status reshape_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *value = hr_infer_value(s, 1);
    hr_shape to;
    if (value) {
        if (!hr_shape_from_tensor(value, &to)) return hr_infer_refuse(s, err, "a vector of dimensions");
        HR_TRY(resolve(s->input[0], to, &s->output[0], err));
        return leave_open(to, &s->output[0]);
    }
    if (hr_infer_numbers(s, 1, &to)) return reshape_known(s, to, err);
    if (s->input[1].rank == 1 && s->input[1].dims[0] >= 0 && s->input[1].dims[0] <= HR_MAX_RANK) {
        s->output[0].rank = (int)s->input[1].dims[0];
        for (int i = 0; i < s->output[0].rank; i++) s->output[0].dims[i] = -1;
        if (s->output[0].rank == 1) s->output[0].dims[0] = hr_shape_count(s->input[0]);
    }
    return HR_OK;
}

static hr_status reshape_compute(hr_kernel *k, hr_error *err)
{
    hr_shape to, shape;
    if (!hr_shape_from_tensor(k->input[1], &to))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a vector of at most %d dimensions",
                       HR_MAX_RANK);
    HR_TRY(resolve(k->input[0]->shape, to, &shape, err));
    return hr_kernel_pass(k, 0, 0, shape, err);
}

/* Back to the shape of the input, a constant if it is known. */
static void reshape_gradient(hr_backward *b)
{
    const hr_shape shape = hr_node_shape(b->input[0]);
    const hr_node back = hr_shape_count(shape) >= 0 ? hr_shape_const(b->graph, shape) : hr_shape_of(b->input[0]);
    b->out[0] = hr_dense_gradient(hr_reshape(b->grad[0], back));
}

/* ---- ExpandDims ---- */

static hr_status shaping_expand(hr_shape in, int64_t axis, hr_shape *out, hr_error *err)
{
    int at;
    if (in.rank == HR_MAX_RANK)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected at most %d dimensions", HR_MAX_RANK);
    HR_TRY(hr_axis(axis, in.rank + 1, &at, err));
    out->rank = in.rank + 1;
    for (int i = 0; i < out->rank; i++) out->dims[i] = i < at ? in.dims[i] : i == at ? 1 : in.dims[i - 1];
    return HR_OK;
}

static hr_status expand_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *axis = hr_infer_value(s, 1);
    if (s->input[0].rank < 0 || !axis || axis->count != 1) return HR_OK;
    return shaping_expand(s->input[0], hr_int_at(axis, 0), &s->output[0], err);
}

static hr_status expand_compute(hr_kernel *k, hr_error *err)
{
    hr_shape shape = {0, {0}};
    if (k->input[1]->count != 1) return hr_fail(err, HR_INVALID_ARGUMENT, "graph.axis", "expected one axis");
    HR_TRY(shaping_expand(k->input[0]->shape, hr_int_at(k->input[1], 0), &shape, err));
    return hr_kernel_pass(k, 0, 0, shape, err);
}

/* The same numbers as a scalar or a vector. */
static bool shaping_known(hr_node node, hr_shape *numbers) { return hr_known_numbers(hr_node_input(node, 0), numbers); }

/* ---- Squeeze ---- */

static hr_status shaping_squeezed(hr_node node, hr_shape in, hr_shape *out, hr_error *err)
{
    const hr_attr *axes = hr_node_attr(node, "squeeze_dims");
    bool drop[HR_MAX_RANK] = {false};
    for (int i = 0; i < axes->count; i++) {
        int axis;
        HR_TRY(hr_axis(axes->ints[i], in.rank, &axis, err));
        if (in.dims[axis] >= 0 && in.dims[axis] != 1)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                           "Can not squeeze dim[%d], expected a dimension of 1, "
                           "got %lld",
                           axis, (long long)in.dims[axis]);
        drop[axis] = true;
    }
    *out = (hr_shape){0, {0}};
    for (int i = 0; i < in.rank; i++)
        if (!(axes->count ? drop[i] : in.dims[i] == 1)) out->dims[out->rank++] = in.dims[i];
    return HR_OK;
}

static hr_status squeeze_shape(hr_infer *s, hr_error *err)
{
    const hr_attr *axes = hr_node_attr(s->node, "squeeze_dims");
    if (s->input[0].rank < 0) return HR_OK;
    for (int i = 0; axes->count == 0 && i < s->input[0].rank; i++)
        if (s->input[0].dims[i] < 0) return HR_OK;
    return shaping_squeezed(s->node, s->input[0], &s->output[0], err);
}

static hr_status squeeze_compute(hr_kernel *k, hr_error *err)
{
    hr_shape shape;
    HR_TRY(shaping_squeezed(k->node, k->input[0]->shape, &shape, err));
    return hr_kernel_pass(k, 0, 0, shape, err);
}

/* ---- BroadcastGradientArgs: over which axes to sum so that a broadcast is undone ---- */

static hr_status put_axes(hr_kernel *k, int i, const int64_t *axes, int count, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, i, HR_SHAPE(count), &out, err));
    for (int a = 0; a < count; a++) HR_TRY(hr_put_int(out, a, axes[a], err));
    return HR_OK;
}

static int64_t from_end(hr_shape s, int i) { return i <= s.rank ? s.dims[s.rank - i] : 1; }

static hr_status args_compute(hr_kernel *k, hr_error *err)
{
    hr_shape a, b, both;
    if (!hr_shape_from_tensor(k->input[0], &a) || !hr_shape_from_tensor(k->input[1], &b))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected two shapes");
    if (!hr_shape_broadcast(a, b, &both)) return cannot(a, b, err);
    int64_t axes_a[HR_MAX_RANK], axes_b[HR_MAX_RANK];
    int count_a = 0, count_b = 0;
    for (int i = both.rank; i >= 1; i--) {
        const int64_t x = from_end(a, i), y = from_end(b, i);
        if (x == 1) axes_a[count_a++] = both.rank - i;
        if (y == 1) axes_b[count_b++] = both.rank - i;
    }
    if (hr_shape_equal(a, b)) count_a = count_b = 0;
    HR_TRY(put_axes(k, 0, axes_a, count_a, err));
    return put_axes(k, 1, axes_b, count_b, err);
}

static hr_status args_shape(hr_infer *s, hr_error *err)
{
    (void)err;
    s->output[0] = s->output[1] = HR_SHAPE(-1);
    return HR_OK;
}

/* ---- BroadcastArgs: what two shapes broadcast to ---- */

static hr_status broadcast_args_compute(hr_kernel *k, hr_error *err)
{
    hr_shape a, b, both;
    if (!hr_shape_from_tensor(k->input[0], &a) || !hr_shape_from_tensor(k->input[1], &b))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected two shapes");
    if (!hr_shape_broadcast(a, b, &both)) return cannot(a, b, err);
    return put_axes(k, 0, both.dims, both.rank, err);
}

static hr_status broadcast_args_shape(hr_infer *s, hr_error *err)
{
    const hr_shape a = s->input[0], b = s->input[1];
    for (int i = 0; i < 2; i++) HR_TRY(hr_expect_rank("a shape", s->input[i], 1, err));
    const bool known = a.rank == 1 && b.rank == 1 && a.dims[0] >= 0 && b.dims[0] >= 0;
    s->output[0] = HR_SHAPE(!known ? -1 : a.dims[0] > b.dims[0] ? a.dims[0] : b.dims[0]);
    return HR_OK;
}

static bool broadcast_args_known(hr_node node, hr_shape *numbers)
{
    hr_shape a, b;
    return hr_known_numbers(hr_node_input(node, 0), &a) && hr_known_numbers(hr_node_input(node, 1), &b) &&
           hr_shape_count(a) >= 0 && hr_shape_count(b) >= 0 && hr_shape_broadcast(a, b, numbers);
}

const hr_graph_op hr_graph_ops_shaping_ops[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Reshape",
        .types = "T:any; Tshape:indices",
        .traits = HR_CHEAP,
        .shape = reshape_shape,
        .compute = reshape_compute,
        .known = shaping_known,
        .gradient = reshape_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ExpandDims",
        .types = "T:any; Tdim:indices",
        .traits = HR_CHEAP,
        .shape = expand_shape,
        .compute = expand_compute,
        .known = shaping_known,
        .gradient = reshape_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Squeeze",
        .types = "T:any",
        .traits = HR_CHEAP,
        .shape = squeeze_shape,
        .compute = squeeze_compute,
        .known = shaping_known,
        .gradient = reshape_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "BroadcastArgs",
        .types = "T:indices",
        .traits = HR_CHEAP | HR_NO_GRADIENT,
        .shape = broadcast_args_shape,
        .compute = broadcast_args_compute,
        .known = broadcast_args_known,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "BroadcastGradientArgs",
        .types = "T:indices",
        .traits = HR_CHEAP | HR_NO_GRADIENT,
        .shape = args_shape,
        .compute = args_compute,
    },
    HR_GRAPH_OPS_END,
};

HR_BINARY_CONSTRUCTOR(hr_broadcast_shapes, "BroadcastArgs")
HR_BINARY_CONSTRUCTOR(hr_reshape, "Reshape")
HR_BINARY_CONSTRUCTOR(hr_expand_dims, "ExpandDims")

hr_node hr_squeeze(hr_node x, const int64_t *axes, int axis_count)
{
    return hr_new_node(x.graph, "Squeeze", HR_INPUTS(x), HR_ATTRS(HR_INTS_ATTR("squeeze_dims", axes, axis_count)));
}
