/* StridedSlice, its gradient, and values put in the place of a slice: x[2, 1:, ::-1, None, ...]. What a slice takes of
 * each dimension is worked out in one place, by TensorFlow's rules, with bounds that are known or not. */
#include <headrace/kernels.h>
#include <string.h>

enum { SUBSCRIPTS_MAX = 32 }; /* bits of a mask that TensorFlow looks at */

/* A vector of bounds: its values, or those of them that are known to be 0 or more. */
typedef struct bounds {
    const hr_tensor *value; /* NULL: not known */
    hr_shape numbers;       /* then -1 where not known; unknown rank: nothing is */
} bounds;

typedef struct slicing {
    int rank;                                        /* of what is sliced */
    int64_t begin[HR_MAX_RANK], stride[HR_MAX_RANK]; /* where each dimension begins and how it goes on */
    int64_t size[HR_MAX_RANK];                       /* how many places it takes; -1: not known */
    hr_shape out;
    int from[HR_MAX_RANK]; /* of each dimension of `out`, the one that it is a part of; -1: a new one */
} slicing;

/* What one subscript says of a dimension. */
typedef struct subscript {
    bool at;                   /* a place, and the dimension goes */
    bool begin_open, end_open; /* from one end, to the other */
    bool begin_known, end_known;
    int64_t begin, end, stride;
} subscript;

static int64_t bound_value(const hr_tensor *t, int64_t i)
{
    return t->dtype == HR_INT16 ? ((const int16_t *)t->data)[i] : hr_int_at(t, i);
}

static bool bound_at(const bounds *b, int i, int64_t *out)
{
    if (b->value)
        *out = bound_value(b->value, i);
    else if (b->numbers.rank > i && b->numbers.dims[i] >= 0)
        *out = b->numbers.dims[i];
    else
        return false;
    return true;
}

/* A bound counted from the front, within [least, most]. */
static int64_t bound_within(int64_t at, int64_t length, int64_t least, int64_t most)
{
    if (at < 0) at += length;
    return at < least ? least : at > most ? most : at;
}

/* What subscript `p` takes of dimension `d`, of `length` or unknown. */
static hr_status take_dimension(slicing *s, int d, int64_t length, subscript p, hr_error *err)
{
    s->begin[d] = 0, s->stride[d] = p.stride, s->size[d] = p.at ? 1 : -1;
    if (p.stride == 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.slice", "strides[%d] must be non-zero, got 0", d);
    if (length < 0) return HR_OK;
    if (p.at && p.stride < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.slice", "only stride 1 allowed on non-range indexing, got %lld",
                       (long long)p.stride);
    if (p.at) {
        if (p.begin_known) s->begin[d] = p.begin < 0 ? p.begin + length : p.begin;
        if (s->begin[d] >= 0 && (!p.begin_known || s->begin[d] < length)) return HR_OK;
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.slice",
                       "slice index %lld of dimension %d out of bounds, expected one below %lld",
                       (long long)s->begin[d], d, (long long)length);
    }
    if ((!p.begin_open && !p.begin_known) || (!p.end_open && !p.end_known)) return HR_OK;
    const int64_t least = p.stride > 0 ? 0 : -1, most = p.stride > 0 ? length : length - 1;
    const int64_t begin = p.begin_open ? (p.stride > 0 ? least : most) : bound_within(p.begin, length, least, most);
    const int64_t end = p.end_open ? (p.stride > 0 ? most : least) : bound_within(p.end, length, least, most);
    const int64_t span = end - begin;
    s->begin[d] = begin;
    s->size[d] = span == 0 || (span < 0) != (p.stride < 0) ? 0 : span / p.stride + (span % p.stride != 0);
    return HR_OK;
}

static hr_status slicing_put(slicing *s, int64_t size, int from, hr_error *err)
{
    if (s->out.rank == HR_MAX_RANK)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a slice of at most %d dimensions",
                       HR_MAX_RANK);
    s->from[s->out.rank] = from;
    s->out.dims[s->out.rank++] = size;
    return HR_OK;
}

/* Dimensions `from` to `to` - 1 as a whole. */
static hr_status take_whole(slicing *s, hr_shape in, int from, int to, hr_error *err)
{
    for (int d = from; d < to; d++) {
        HR_TRY(take_dimension(s, d, in.dims[d], (subscript){.begin_open = true, .end_open = true, .stride = 1}, err));
        HR_TRY(slicing_put(s, s->size[d], d, err));
    }
    return HR_OK;
}

/* All subscripts of `node`, of which `strides` are known, on a shape of known rank. */
static hr_status slicing_of(hr_node node, hr_shape in, const bounds *begin, const bounds *end, const hr_tensor *strides,
                            slicing *s, hr_error *err)
{
    const uint64_t begins = (uint64_t)hr_attr_int(node, "begin_mask"), ends = (uint64_t)hr_attr_int(node, "end_mask"),
                   news = (uint64_t)hr_attr_int(node, "new_axis_mask"),
                   places = (uint64_t)hr_attr_int(node, "shrink_axis_mask"),
                   dots = (uint64_t)hr_attr_int(node, "ellipsis_mask");
    const int count = (int)strides->count;
    int ellipsis = count, after = 0, d = 0; /* after: dimensions that are taken by subscripts after the ellipsis */
    *s = (slicing){.rank = in.rank};
    if (dots & (dots - 1))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.slice", "Multiple ellipses in slice spec not allowed");
    for (int i = 0; i < count; i++) {
        if (dots >> i & 1) ellipsis = i;
        after += i > ellipsis && !(news >> i & 1);
    }
    for (int i = 0; i <= count; i++) {
        if (i == ellipsis) {
            const int next = in.rank - after > d ? in.rank - after : d;
            HR_TRY(take_whole(s, in, d, next, err));
            d = next;
        } else if (i < count && news >> i & 1) {
            HR_TRY(slicing_put(s, 1, -1, err));
        } else if (i < count) {
            subscript p = {.at = places >> i & 1, .begin_open = begins >> i & 1, .end_open = ends >> i & 1};
            if (d == in.rank)
                return hr_fail(err, HR_INVALID_ARGUMENT, "graph.slice",
                               "Index out of range using input dim %d; input has only %d dims", d, in.rank);
            p.begin_known = bound_at(begin, i, &p.begin);
            p.end_known = bound_at(end, i, &p.end);
            p.stride = bound_value(strides, i);
            HR_TRY(take_dimension(s, d, in.dims[d], p, err));
            if (!p.at) HR_TRY(slicing_put(s, s->size[d], d, err));
            d++;
        }
    }
    return HR_OK;
}

static hr_status strided_bounds_fit(hr_shape begin, hr_shape end, hr_shape strides, hr_error *err)
{
    char x[64], y[64], z[64];
    if (begin.rank == 1 && hr_shape_equal(begin, end) && hr_shape_equal(begin, strides) &&
        begin.dims[0] < SUBSCRIPTS_MAX)
        return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                   "Expected begin, end, and strides to be 1D equal size tensors, but got shapes %s, %s, and %s",
                   hr_shape_text(begin, x, sizeof x), hr_shape_text(end, y, sizeof y),
                   hr_shape_text(strides, z, sizeof z));
}

/* ---- before a run ---- */

static hr_status strided_shape_of(hr_infer *s, hr_shape in, hr_shape *out, hr_error *err)
{
    const hr_tensor *strides = hr_infer_value(s, 3);
    bounds bound[2];
    slicing slice;
    if (in.rank < 0 || !strides) return HR_OK;
    for (int i = 0; i < 2; i++) {
        bound[i].value = hr_infer_value(s, 1 + i);
        if (!hr_infer_numbers(s, 1 + i, &bound[i].numbers)) bound[i].numbers = HR_UNKNOWN_SHAPE;
        const hr_shape shape = bound[i].value ? bound[i].value->shape : strides->shape;
        HR_TRY(strided_bounds_fit(shape, strides->shape, strides->shape, err));
    }
    HR_TRY(slicing_of(s->node, in, &bound[0], &bound[1], strides, &slice, err));
    *out = slice.out;
    return HR_OK;
}

static hr_status strided_shape(hr_infer *s, hr_error *err)
{
    return strided_shape_of(s, s->input[0], &s->output[0], err);
}

static hr_status strided_grad_shape(hr_infer *s, hr_error *err)
{
    hr_shape numbers;
    const hr_tensor *shape = hr_infer_value(s, 0);
    if (shape && !hr_shape_from_tensor(shape, &s->output[0])) return hr_infer_refuse(s, err, "a vector of dimensions");
    if (!shape && hr_infer_numbers(s, 0, &numbers)) s->output[0] = numbers;
    if (!shape && s->output[0].rank < 0 && s->input[0].rank == 1 && s->input[0].dims[0] <= HR_MAX_RANK)
        s->output[0] = hr_shape_of_rank((int)s->input[0].dims[0]);
    return HR_OK;
}

/* A number of a vector, or a part of it, by constant bounds. */
static bool strided_known(hr_node node, hr_shape *numbers)
{
    const bounds begin = {.value = hr_node_constant(hr_node_input(node, 1))};
    const bounds end = {.value = hr_node_constant(hr_node_input(node, 2))};
    const hr_tensor *strides = hr_node_constant(hr_node_input(node, 3));
    hr_shape all;
    slicing s;
    if (!begin.value || !end.value || !strides || hr_node_shape(hr_node_input(node, 0)).rank != 1) return false;
    if (!hr_known_numbers(hr_node_input(node, 0), &all)) return false;
    if (slicing_of(node, HR_SHAPE(all.rank), &begin, &end, strides, &s, NULL) != HR_OK || s.out.rank > 1) return false;
    numbers->rank = (int)s.size[0];
    for (int i = 0; i < numbers->rank; i++) numbers->dims[i] = all.dims[s.begin[0] + i * s.stride[0]];
    return true;
}

/* ---- runs ---- */

static hr_status strided_read(const hr_kernel *k, hr_shape in, slicing *s, hr_error *err)
{
    const bounds begin = {.value = k->input[1]}, end = {.value = k->input[2]};
    HR_TRY(strided_bounds_fit(k->input[1]->shape, k->input[2]->shape, k->input[3]->shape, err));
    HR_TRY(slicing_of(k->node, in, &begin, &end, k->input[3], s, err));
    if (hr_shape_count(s->out) >= 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a slice of at most %lld values",
                   (long long)HR_MAX_VALUES);
}

/* The slice of `whole` as an operand of a walk through the slice's sizes by dimension. */
static void add_sliced(hr_walk *w, const hr_tensor *whole, const slicing *s)
{
    int64_t step[HR_MAX_RANK];
    const char *first = whole->data;
    hr_walk_steps(whole, step);
    for (int d = 0; d < s->rank; d++) {
        first += s->begin[d] * step[d];
        step[d] = s->size[d] > 1 ? step[d] * s->stride[d] : 0;
    }
    hr_walk_add_strided(w, first, step);
}

static hr_shape slicing_space(const slicing *s)
{
    hr_shape space = {s->rank, {0}};
    memcpy(space.dims, s->size, sizeof *s->size * (size_t)s->rank);
    return space;
}

static bool is_whole(const slicing *s, hr_shape in)
{
    bool whole = hr_shape_equal(slicing_space(s), in);
    for (int d = 0; d < s->rank; d++) whole &= s->size[d] <= 1 || s->stride[d] == 1;
    return whole;
}

static hr_status strided_compute(hr_kernel *k, hr_error *err)
{
    slicing s;
    hr_walk w;
    hr_tensor scratch, *out;
    const hr_tensor *in = k->input[0];
    HR_TRY(strided_read(k, in->shape, &s, err));
    if (is_whole(&s, in->shape)) return hr_kernel_pass(k, 0, 0, s.out, err);
    HR_TRY(hr_kernel_begin_output(k, 0, s.out, &scratch, &out, err));
    const hr_shape space = slicing_space(&s);
    hr_tensor dense = hr_tensor_of(out->dtype, space, out->data);
    hr_walk_begin(&w, space);
    hr_walk_add(&w, &dense);
    if (out->count) add_sliced(&w, in, &s);
    hr_walk_copy(k, &w, hr_dtype_size(in->dtype));
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

/* `value`, which broadcasts to the slice, in the place of the slice of `to`. */
static hr_status put_slice(hr_kernel *k, hr_tensor *to, const slicing *s, const hr_tensor *value, hr_error *err)
{
    char x[128], y[128];
    hr_walk w;
    hr_shape in = value->shape, both;
    int64_t own[HR_MAX_RANK], step[HR_MAX_RANK] = {0};
    if (hr_shape_count(s->out) == 0) return HR_OK;
    if (value->dtype != to->dtype)
        return hr_fail(err, HR_INVALID_ARGUMENT, "variable.shape", "expected values of %s, got %s",
                       hr_dtype_name(to->dtype), hr_dtype_name(value->dtype));
    while (in.rank > s->out.rank && in.dims[0] == 1) memmove(in.dims, in.dims + 1, sizeof *in.dims * (size_t)--in.rank);
    if (!hr_shape_broadcast(in, s->out, &both) || !hr_shape_equal(both, s->out))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "Cannot broadcast input shape %s into final shape %s",
                       hr_shape_text(value->shape, x, sizeof x), hr_shape_text(s->out, y, sizeof y));
    const hr_tensor trimmed = hr_tensor_of(value->dtype, in, value->data);
    hr_walk_steps(&trimmed, own);
    for (int i = 0, at = s->out.rank - in.rank; i < in.rank; i++)
        if (in.dims[i] != 1 && s->from[at + i] >= 0) step[s->from[at + i]] = own[i];
    hr_walk_begin(&w, slicing_space(s));
    add_sliced(&w, to, s);
    hr_walk_add_strided(&w, value->data, step);
    hr_walk_copy(k, &w, hr_dtype_size(to->dtype));
    return HR_OK;
}

static hr_status strided_grad_compute(hr_kernel *k, hr_error *err)
{
    char x[128], y[128];
    slicing s;
    hr_shape shape;
    hr_tensor scratch, *out;
    HR_TRY(hr_shape_input(k->input[0], &shape, err));
    HR_TRY(strided_read(k, shape, &s, err));
    if (!hr_shape_equal(s.out, k->input[4]->shape))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "shape of dy was %s instead of %s",
                       hr_shape_text(k->input[4]->shape, x, sizeof x), hr_shape_text(s.out, y, sizeof y));
    HR_TRY(hr_kernel_begin_output(k, 0, shape, &scratch, &out, err));
    if (out->count) memset(out->data, 0, (size_t)out->count * hr_dtype_size(out->dtype));
    HR_TRY(put_slice(k, out, &s, k->input[4], err));
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

static hr_status strided_update_compute(hr_kernel *k, hr_error *err)
{
    slicing s;
    hr_tensor scratch, *out;
    const hr_tensor *in = k->input[0];
    HR_TRY(strided_read(k, in->shape, &s, err));
    if (in->dtype == HR_STRING)
        HR_TRY(hr_kernel_begin_output(k, 0, in->shape, &scratch, &out, err));
    else
        HR_TRY(hr_kernel_output_over(k, 0, 0, in->shape, &out, err));
    if (out->data != in->data && in->count) memcpy(out->data, in->data, (size_t)in->count * hr_dtype_size(in->dtype));
    HR_TRY(put_slice(k, out, &s, k->input[4], err));
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

static hr_status strided_assign_compute(hr_kernel *k, hr_error *err)
{
    slicing s;
    hr_tensor *to;
    HR_TRY(hr_kernel_update(k, 0, &to, err));
    HR_TRY(strided_read(k, to->shape, &s, err));
    return put_slice(k, to, &s, k->input[4], err);
}

/* ---- gradients ---- */

/* A node with the masks and bounds of `b`'s: its inputs are `first`, the bounds, and `last` if there is one. */
static hr_node strided_alike(const hr_backward *b, const char *op, hr_node first, hr_node last)
{
    const hr_dtype index = hr_node_dtype(b->input[1]) == HR_INT64 ? HR_INT64 : HR_INT32;
    const hr_node inputs[] = {first, hr_cast_to(b->input[1], index), hr_cast_to(b->input[2], index),
                              hr_cast_to(b->input[3], index), last};
    const hr_attr masks[] = {HR_INT_ATTR("begin_mask", hr_attr_int(b->node, "begin_mask")),
                             HR_INT_ATTR("end_mask", hr_attr_int(b->node, "end_mask")),
                             HR_INT_ATTR("ellipsis_mask", hr_attr_int(b->node, "ellipsis_mask")),
                             HR_INT_ATTR("new_axis_mask", hr_attr_int(b->node, "new_axis_mask")),
                             HR_INT_ATTR("shrink_axis_mask", hr_attr_int(b->node, "shrink_axis_mask"))};
    return hr_new_node(b->graph, op, .inputs = inputs, .input_count = last.graph ? 5 : 4, .attrs = masks,
                       .attr_count = sizeof masks / sizeof *masks);
}

static void strided_gradient(hr_backward *b)
{
    const hr_dtype index = hr_node_dtype(b->input[1]) == HR_INT64 ? HR_INT64 : HR_INT32;
    const hr_node shape = hr_cast_to(hr_shape_of(b->input[0]), index);
    hr_backward_give(b, 0, strided_alike(b, "StridedSliceGrad", shape, b->grad[0]));
}

static void strided_grad_gradient(hr_backward *b)
{
    hr_backward_give(b, 4, strided_alike(b, "StridedSlice", b->grad[0], (hr_node){0}));
}

/* What is replaced gets nothing; the value gets its slice, summed where it was broadcast. */
static void strided_update_gradient(hr_backward *b)
{
    const hr_node slice = strided_alike(b, "StridedSlice", b->grad[0], (hr_node){0});
    const hr_node value = hr_gradient_unbroadcast(slice, b->input[4], slice);
    hr_backward_give(b, 0, strided_alike(b, "TensorStridedSliceUpdate", b->grad[0], hr_scalar_like(b->grad[0], 0)));
    hr_backward_give(b, 4, value);
}

#define STRIDED_ASSIGN(NAME, SHAPE)                                                                                    \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .types = "T:{numbers,bool,float16,bfloat16}; Index:indices",           \
        .traits = HR_STATEFUL, .shape = SHAPE, .compute = strided_assign_compute,                                      \
    }

const hr_graph_op hr_graph_ops_strided_slice_ops[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "StridedSlice",
        .types = "T:any",
        .shapes = "?, [n], [n], [n] -> ?",
        .shape = strided_shape,
        .compute = strided_compute,
        .known = strided_known,
        .gradient = strided_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "StridedSliceGrad",
        .types = "T:any; Index:indices",
        .shapes = "[m], [n], [n], [n], ? -> ?",
        .shape = strided_grad_shape,
        .compute = strided_grad_compute,
        .gradient = strided_grad_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "TensorStridedSliceUpdate",
        .types = "T:any; Index:indices",
        .shapes = "[...], [n], [n], [n], ? -> [...]",
        .compute = strided_update_compute,
        .gradient = strided_update_gradient,
    },
    STRIDED_ASSIGN("StridedSliceAssign", hr_infer_unchanged),
    STRIDED_ASSIGN("ResourceStridedSliceAssign", NULL),
    HR_GRAPH_OPS_END,
};

hr_node hr_strided_slice_with(hr_node x, const hr_subscript *subscripts, int count)
{
    int64_t bound[3][SUBSCRIPTS_MAX] = {{0}}, begin = 0, end = 0, ellipsis = 0, news = 0, places = 0;
    if (count < 0 || count >= SUBSCRIPTS_MAX || (count > 0 && !subscripts))
        return hr_node_fail(x.graph, HR_INVALID_ARGUMENT, "graph.slice",
                            "hr_strided_slice: expected at most %d subscripts, got %d", SUBSCRIPTS_MAX - 1, count);
    for (int i = 0; i < count; i++) {
        const hr_subscript *s = &subscripts[i];
        const int64_t *from = s->at ? s->at : s->begin, bit = (int64_t)1 << i;
        bound[0][i] = from ? *from : 0;
        bound[1][i] = s->at ? *s->at + (*s->at < INT64_MAX) : s->end ? *s->end : 0;
        bound[2][i] = s->step ? s->step : 1;
        begin |= from ? 0 : bit, end |= s->at || s->end ? 0 : bit, places |= s->at ? bit : 0;
        ellipsis |= s->ellipsis ? bit : 0, news |= s->new_axis ? bit : 0;
    }
    hr_node bounds[3];
    for (int i = 0; i < 3; i++) bounds[i] = hr_ints(x.graph, bound[i], count);
    bool wide = false;
    for (int i = 0; i < 3; i++) wide |= hr_node_dtype(bounds[i]) == HR_INT64;
    for (int i = 0; i < 3 && wide; i++) bounds[i] = hr_cast_to(bounds[i], HR_INT64);
    return hr_new_node(x.graph, "StridedSlice", HR_INPUTS(x, bounds[0], bounds[1], bounds[2]),
                       HR_ATTRS(HR_INT_ATTR("begin_mask", begin), HR_INT_ATTR("end_mask", end),
                                HR_INT_ATTR("ellipsis_mask", ellipsis), HR_INT_ATTR("new_axis_mask", news),
                                HR_INT_ATTR("shrink_axis_mask", places)));
}
