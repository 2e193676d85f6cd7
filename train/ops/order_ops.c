/* Values in another order, and sums over their order: ReverseV2, Roll, ReverseSequence, Cumsum, Cumprod. */
#include <headrace/kernels.h>
#include <string.h>

/* ---- ReverseV2 ---- */

static hr_status reverse_axes(hr_shape in, const hr_tensor *axes, bool *reversed, hr_error *err)
{
    if (axes->dtype == HR_BOOL) { /* Reverse: of each axis whether */
        if (axes->shape.rank != 1 || axes->count != in.rank)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected %d values in dims, got %lld", in.rank,
                           (long long)axes->count);
        if (in.rank) memcpy(reversed, axes->data, (size_t)in.rank);
        return HR_OK;
    }
    HR_TRY(hr_expect_rank("axis", axes->shape, 1, err));
    for (int64_t i = 0; i < axes->count; i++) {
        int axis;
        HR_TRY(hr_axis(hr_int_at(axes, i), in.rank, &axis, err));
        if (reversed[axis])
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.axis", "axis %d specified more than once.", axis);
        reversed[axis] = true;
    }
    return HR_OK;
}

static hr_status reverse_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *axes = hr_infer_value(s, 1);
    bool reversed[HR_MAX_RANK] = {false};
    if (axes && s->input[0].rank > 0) HR_TRY(reverse_axes(s->input[0], axes, reversed, err));
    return HR_OK;
}

static hr_status reverse_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    bool reversed[HR_MAX_RANK] = {false};
    int64_t step[HR_MAX_RANK];
    hr_walk w;
    hr_tensor scratch, *out;
    if (in->shape.rank == 0)
        return hr_kernel_pass(k, 0, 0, in->shape, err); /* whatever the axes are, as TensorFlow does */
    HR_TRY(reverse_axes(in->shape, k->input[1], reversed, err));
    HR_TRY(hr_kernel_begin_output(k, 0, in->shape, &scratch, &out, err));
    const char *first = in->data;
    hr_walk_steps(in, step);
    for (int d = 0; d < in->shape.rank && in->count; d++) {
        if (!reversed[d]) continue;
        first += (in->shape.dims[d] - 1) * step[d];
        step[d] = -step[d];
    }
    hr_walk_begin(&w, in->shape);
    hr_walk_add(&w, out);
    hr_walk_add_strided(&w, first, step);
    hr_walk_copy(k, &w, hr_dtype_size(in->dtype));
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

static void reverse_gradient(hr_backward *b)
{
    hr_backward_give(b, 0, hr_new_node(b->graph, hr_node_op(b->node), HR_INPUTS(b->grad[0], b->input[1])));
}

/* ---- Roll: shifts along axes; what leaves one end enters at the other ---- */

static hr_status roll_shifts(const hr_kernel *k, int64_t *shift, hr_error *err)
{
    const hr_tensor *shifts = k->input[1], *axes = k->input[2];
    const hr_shape in = k->input[0]->shape;
    if (in.rank < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "input must be 1-D or higher, got a scalar");
    if (shifts->shape.rank > 1 || axes->shape.rank > 1 || shifts->count != axes->count)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "shift and axis must have the same size, scalars or vectors, got %lld and %lld values",
                       (long long)shifts->count, (long long)axes->count);
    for (int64_t i = 0; i < shifts->count; i++) {
        int axis;
        HR_TRY(hr_axis(hr_int_at(axes, i), in.rank, &axis, err));
        const int64_t length = in.dims[axis] ? in.dims[axis] : 1;
        shift[axis] = (shift[axis] + hr_int_at(shifts, i) % length + length) % length;
    }
    return HR_OK;
}

/* In each dimension two parts change places: all pairs of them are blocks. */
static hr_status roll_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    const int rank = in->shape.rank;
    int64_t shift[HR_MAX_RANK] = {0};
    hr_tensor scratch, *out;
    HR_TRY(roll_shifts(k, shift, err));
    HR_TRY(hr_kernel_begin_output(k, 0, in->shape, &scratch, &out, err));
    for (unsigned part = 0; part < 1u << rank; part++) {
        int64_t from[HR_MAX_RANK], to[HR_MAX_RANK];
        hr_shape block = in->shape;
        bool any = true;
        for (int d = 0; d < rank; d++) {
            const int64_t kept = in->shape.dims[d] - shift[d];
            const bool wraps = part >> d & 1;
            from[d] = wraps ? kept : 0;
            to[d] = wraps ? 0 : shift[d];
            block.dims[d] = wraps ? shift[d] : kept;
            any &= block.dims[d] > 0;
        }
        if (any) hr_copy_block(k, in, from, out, to, block);
    }
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

static void roll_gradient(hr_backward *b)
{
    hr_backward_give(b, 0, hr_new_node(b->graph, "Roll", HR_INPUTS(b->grad[0], hr_neg(b->input[1]), b->input[2])));
}

/* ---- ReverseSequence: of each entry of a batch, as many values as its length says ---- */

static hr_status sequence_expect(const hr_kernel *k, int64_t batch, int64_t along, hr_error *err)
{
    const hr_shape in = k->input[0]->shape;
    const hr_tensor *lengths = k->input[1];
    HR_TRY(hr_expect_rank("seq_lengths", lengths->shape, 1, err));
    if (batch < 0 || along < 0 || batch >= in.rank || along >= in.rank || batch == along)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.axis",
                       "expected two axes of the input, of rank %d, as batch_dim and seq_dim, got %lld and %lld",
                       in.rank, (long long)batch, (long long)along);
    if (lengths->count != in.dims[batch])
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected %lld seq_lengths, one for each of batch_dim, "
                       "got %lld",
                       (long long)in.dims[batch], (long long)lengths->count);
    for (int64_t i = 0; i < lengths->count; i++)
        if (hr_int_at(lengths, i) < 0 || hr_int_at(lengths, i) > in.dims[along])
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "expected seq_lengths(%lld) in [0, %lld], got %lld",
                           (long long)i, (long long)in.dims[along], (long long)hr_int_at(lengths, i));
    return HR_OK;
}

static hr_status sequence_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    const int64_t batch = hr_attr_int(k->node, "batch_dim"), along = hr_attr_int(k->node, "seq_dim");
    int64_t step[HR_MAX_RANK], back[HR_MAX_RANK];
    hr_tensor scratch, *out;
    HR_TRY(sequence_expect(k, batch, along, err));
    HR_TRY(hr_kernel_begin_output(k, 0, in->shape, &scratch, &out, err));
    hr_walk_steps(in, step);
    memcpy(back, step, sizeof back);
    back[along] = -step[along];
    for (int64_t i = 0; i < in->shape.dims[batch] && in->count; i++) {
        const int64_t length = hr_int_at(k->input[1], i), at = i * step[batch];
        for (int part = 0; part < 2; part++) { /* what is reversed, and the rest */
            hr_walk w;
            hr_shape space = in->shape;
            const int64_t from = part == 0 ? 0 : length * step[along];
            space.dims[batch] = 1;
            space.dims[along] = part == 0 ? length : in->shape.dims[along] - length;
            hr_walk_begin(&w, space);
            hr_walk_add_strided(&w, (const char *)out->data + at + from, step);
            hr_walk_add_strided(&w, (const char *)in->data + at + (part ? from : (length - 1) * step[along]),
                                part ? step : back);
            if (space.dims[along] > 0) hr_walk_copy(k, &w, hr_dtype_size(in->dtype));
        }
    }
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

static void sequence_gradient(hr_backward *b)
{
    hr_backward_give(b, 0,
                     hr_new_node(b->graph, "ReverseSequence", HR_INPUTS(b->grad[0], b->input[1]),
                                 HR_ATTRS(HR_INT_ATTR("seq_dim", hr_attr_int(b->node, "seq_dim")),
                                          HR_INT_ATTR("batch_dim", hr_attr_int(b->node, "batch_dim")))));
}

/* ---- Cumsum, Cumprod ---- */

typedef struct scan {
    int64_t count, step; /* of values along the axis; step in values, below 0: from the end */
    bool exclusive;
} scan;

/* Scans of `n` neighbours, each along the axis. */
#define SCAN(T, V, U, DTYPE, SUFFIX, NAME, BEGIN, EXPRESSION)                                                          \
    static void NAME##_##SUFFIX(const void *in, void *out, int64_t n, const scan *s)                                   \
    {                                                                                                                  \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            const T *x = (const T *)in + i;                                                                            \
            T *z = (T *)out + i, total = HR_PUT(SUFFIX, T, BEGIN);                                                     \
            for (int64_t j = 0; j < s->count; j++, x += s->step, z += s->step) {                                       \
                const V a = HR_GET(SUFFIX, total), b = HR_GET(SUFFIX, *x);                                             \
                const T next = HR_PUT(SUFFIX, T, EXPRESSION);                                                          \
                *z = s->exclusive ? total : next;                                                                      \
                total = next;                                                                                          \
            }                                                                                                          \
        }                                                                                                              \
    }
#define SCAN_SUM(T, V, U, DTYPE, SUFFIX, A, B) SCAN(T, V, U, DTYPE, SUFFIX, cumsum, 0, (U)a + (U)b)
#define SCAN_PRODUCT(T, V, U, DTYPE, SUFFIX, A, B) SCAN(T, V, U, DTYPE, SUFFIX, cumprod, 1, (U)a *(U)b)
HR_EACH_TYPE(SCAN_SUM, ~, ~, floats, halves, ints, complexes)
HR_EACH_TYPE(SCAN_PRODUCT, ~, ~, floats, halves, ints, complexes)

static hr_status scan_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *axis = hr_infer_value(s, 1);
    int at;
    if (axis && s->input[0].rank >= 0) HR_TRY(hr_axis_input(axis, s->input[0].rank, &at, err));
    return HR_OK;
}

static hr_status scan_compute(hr_kernel *k, hr_error *err)
{
    void (*const run)(const void *, void *, int64_t, const scan *) =
        (void (*)(const void *, void *, int64_t, const scan *))hr_kernel_chosen(k)->run;
    const hr_tensor *in = k->input[0];
    int axis;
    hr_tensor *out;
    HR_TRY(hr_axis_input(k->input[1], in->shape.rank, &axis, err));
    HR_TRY(hr_kernel_output_over(k, 0, 0, in->shape, &out, err));
    const int64_t length = in->shape.dims[axis], size = (int64_t)hr_dtype_size(in->dtype);
    const int64_t before = hr_values_before_axis(in->shape, axis), after = in->count ? in->count / before / length : 0;
    const bool reverse = hr_attr_bool(k->node, "reverse");
    const scan s = {length, reverse ? -after : after, hr_attr_bool(k->node, "exclusive")};
    for (int64_t b = 0; b < before && after; b++) {
        const int64_t first = (b * length + (reverse ? length - 1 : 0)) * after * size;
        run((const char *)in->data + first, (char *)out->data + first, after, &s);
    }
    return HR_OK;
}

static hr_node scan_back(const hr_backward *b, const char *op, hr_node x, bool reverse)
{
    return hr_new_node(
        b->graph, op, HR_INPUTS(x, b->input[1]),
        HR_ATTRS(HR_BOOL_ATTR("exclusive", hr_attr_bool(b->node, "exclusive")), HR_BOOL_ATTR("reverse", reverse)));
}

static void cumsum_gradient(hr_backward *b)
{
    hr_backward_give(b, 0, scan_back(b, "Cumsum", b->grad[0], !hr_attr_bool(b->node, "reverse")));
}

static void cumprod_gradient(hr_backward *b)
{
    const bool reverse = hr_attr_bool(b->node, "reverse");
    const hr_node product = hr_mul(scan_back(b, "Cumprod", b->input[0], reverse), b->grad[0]);
    hr_backward_give(b, 0, hr_div_no_nan(scan_back(b, "Cumsum", product, !reverse), b->input[0]));
}

#define ORDER_OP(NAME, GRADIENT, ...)                                                                                  \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .shapes = "=0", .gradient = (GRADIENT), __VA_ARGS__                  \
    }

const hr_graph_op hr_graph_ops_order_ops[] = {
    ORDER_OP("Cumprod", cumprod_gradient, .shape = scan_shape, .compute = scan_compute, .types = "Tidx:indices",
             .kernels = HR_KERNELS(cumprod, floats, halves, ints, complexes)),
    ORDER_OP("Cumsum", cumsum_gradient, .shape = scan_shape, .compute = scan_compute, .types = "Tidx:indices",
             .kernels = HR_KERNELS(cumsum, floats, halves, ints, complexes)),
    ORDER_OP("ReverseSequence", sequence_gradient, .compute = sequence_compute, .types = "T:any; Tlen:indices"),
    ORDER_OP("Reverse", reverse_gradient, .shape = reverse_shape, .compute = reverse_compute,
             .types = "T:{numbers,bool,complex64,complex128,string}"),
    ORDER_OP("ReverseV2", reverse_gradient, .shape = reverse_shape, .compute = reverse_compute,
             .types = "T:any; Tidx:indices"),
    ORDER_OP("Roll", roll_gradient, .compute = roll_compute, .types = "T:any; Tshift:indices; Taxis:indices"),
    HR_GRAPH_OPS_END,
};

HR_BINARY_CONSTRUCTOR(hr_reverse, "ReverseV2")
HR_TERNARY_CONSTRUCTOR(hr_roll, "Roll")

hr_node hr_reverse_sequence(hr_node x, hr_node lengths, int seq_axis, int batch_axis)
{
    return hr_new_node(x.graph, "ReverseSequence", HR_INPUTS(x, lengths),
                       HR_ATTRS(HR_INT_ATTR("seq_dim", seq_axis), HR_INT_ATTR("batch_dim", batch_axis)));
}

static hr_node cumulative(const char *op, hr_node x, int axis, const hr_cumulative_opts *opts)
{
    const hr_cumulative_opts o = HR_OPTIONS(hr_cumulative_opts, opts);
    if (!hr_node_exists(x)) return x;
    return hr_new_node(x.graph, op, .name = o.name, HR_INPUTS(x, hr_scalar(x.graph, HR_INT32, axis)),
                       HR_ATTRS(HR_BOOL_ATTR("exclusive", o.exclusive), HR_BOOL_ATTR("reverse", o.reverse)));
}
hr_node hr_cumsum_with(hr_node x, int axis, const hr_cumulative_opts *opts)
{
    return cumulative("Cumsum", x, axis, opts);
}
hr_node hr_cumprod_with(hr_node x, int axis, const hr_cumulative_opts *opts)
{
    return cumulative("Cumprod", x, axis, opts);
}
