/* BiasAdd and its gradient; AddN. */
#include <headrace/kernels.h>
#include <string.h>

/* Where the channels of a bias lie. */
static hr_status channel_axis(hr_node node, int rank, int *axis, hr_error *err)
{
    const hr_attr *format = hr_node_attr(node, "data_format"); /* BiasAddV1 has none */
    const bool first = format && strcmp(format->s.data, "NCHW") == 0;
    *axis = 0;
    if (format && !first && strcmp(format->s.data, "NHWC") != 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr", "expected data_format NHWC or NCHW, got \"%.20s\"",
                       format->s.data);
    if (rank < 2)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected at least 2 dimensions, got %d", rank);
    *axis = first ? 1 : rank - 1;
    return HR_OK;
}

/* Values of all dimensions before the axis, and of all after it. */
static void around(hr_shape s, int axis, int64_t *before, int64_t *inner)
{
    *before = *inner = 1;
    for (int i = 0; i < axis; i++) *before *= s.dims[i];
    for (int i = axis + 1; i < s.rank; i++) *inner *= s.dims[i];
}

static hr_status bias_shape(hr_infer *s, hr_error *err)
{
    int axis;
    if (s->input[1].rank >= 0 && s->input[1].rank != 1) return hr_infer_refuse(s, err, "a vector as bias");
    s->output[0] = s->input[0];
    if (s->input[0].rank < 0) return HR_OK;
    HR_TRY(channel_axis(s->node, s->input[0].rank, &axis, err));
    const int64_t channels = s->input[0].dims[axis], bias = s->input[1].rank == 1 ? s->input[1].dims[0] : -1;
    if (channels >= 0 && bias >= 0 && channels != bias) return hr_infer_refuse(s, err, "as many biases as channels");
    if (channels < 0) s->output[0].dims[axis] = bias;
    return HR_OK;
}

typedef struct rows {
    const void *in, *bias;
    void *out;
    int64_t channels, inner;
} rows;

enum { CHANNELS_AT_ONCE = 64 };
#define PLUS(T, U, S, a, b) HR_PUT(S, T, (U)HR_GET(S, a) + (U)HR_GET(S, b))
#define BIAS(T, V, U, D, S, A, B)                                                                                      \
    static void bias_##S(int64_t first, int64_t last, void *user)                                                      \
    {                                                                                                                  \
        const rows *r = user;                                                                                          \
        const T *in = r->in, *bias = r->bias;                                                                          \
        T *out = r->out;                                                                                               \
        const int64_t n = r->channels;                                                                                 \
        for (int64_t i = first; i < last; i++) {                                                                       \
            if (r->inner == 1) {                                                                                       \
                for (int64_t c = 0; c < n; c++) out[i * n + c] = PLUS(T, U, S, in[i * n + c], bias[c]);                \
                continue;                                                                                              \
            }                                                                                                          \
            for (int64_t c = 0; c < n; c++) {                                                                          \
                const int64_t at = (i * n + c) * r->inner;                                                             \
                for (int64_t j = 0; j < r->inner; j++) out[at + j] = PLUS(T, U, S, in[at + j], bias[c]);               \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void sum_##S(const rows *r, int64_t before)                                                                 \
    {                                                                                                                  \
        for (int64_t c0 = 0; c0 < r->channels; c0 += CHANNELS_AT_ONCE) {                                               \
            const int64_t n = r->channels - c0 < CHANNELS_AT_ONCE ? r->channels - c0 : CHANNELS_AT_ONCE;               \
            U sum[CHANNELS_AT_ONCE] = {0};                                                                             \
            for (int64_t i = 0; i < before; i++) {                                                                     \
                const T *in = (const T *)r->in + (i * r->channels + c0) * r->inner;                                    \
                if (r->inner == 1) {                                                                                   \
                    for (int64_t c = 0; c < n; c++) sum[c] += (U)HR_GET(S, in[c]);                                     \
                    continue;                                                                                          \
                }                                                                                                      \
                for (int64_t c = 0; c < n; c++)                                                                        \
                    for (int64_t j = 0; j < r->inner; j++) sum[c] += (U)HR_GET(S, in[c * r->inner + j]);               \
            }                                                                                                          \
            for (int64_t c = 0; c < n; c++) ((T *)r->out)[c0 + c] = HR_PUT(S, T, sum[c]);                              \
        }                                                                                                              \
    }                                                                                                                  \
    static void add_##S(int64_t first, int64_t last, void *user)                                                       \
    {                                                                                                                  \
        const rows *r = user;                                                                                          \
        const T *in = r->in;                                                                                           \
        T *out = r->out;                                                                                               \
        for (int64_t i = first; i < last; i++) out[i] = PLUS(T, U, S, out[i], in[i]);                                  \
    }                                                                                                                  \
    static const kernels_of sums_##S = {bias_##S, sum_##S, add_##S};

typedef struct kernels_of {
    void (*bias)(int64_t first, int64_t last, void *user);
    void (*sum)(const rows *r, int64_t before);
    void (*add)(int64_t first, int64_t last, void *user);
} kernels_of;
HR_EACH_TYPE(BIAS, ~, ~, floats, halves, ints, complexes)
#define KERNELS HR_KERNEL_STRUCTS(sums, floats, halves, ints, complexes)

static const kernels_of *kernels(hr_dtype dtype) { return hr_kernel_of_type(KERNELS, dtype)->more; }

static hr_status bias_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *value = k->input[0], *bias = k->input[1];
    int64_t before;
    int axis;
    hr_tensor *out;
    char a[128], b[128];
    HR_TRY(channel_axis(k->node, value->shape.rank, &axis, err));
    if (bias->shape.rank != 1 || bias->count != value->shape.dims[axis])
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected as many biases as channels, got %s and %s",
                       hr_shape_text(value->shape, a, sizeof a), hr_shape_text(bias->shape, b, sizeof b));
    HR_TRY(hr_kernel_output_over(k, 0, 0, value->shape, &out, err));
    rows r = {value->data, bias->data, out->data, bias->count, 1};
    around(value->shape, axis, &before, &r.inner);
    if (out->count == 0) return HR_OK; /* of which there may be very many rows */
    hr_kernel_parallel(k, before, .3 * (double)(r.channels * r.inner) + 5, kernels(value->dtype)->bias, &r);
    return HR_OK;
}

static void bias_gradient(hr_backward *b)
{
    const hr_attr *format = hr_node_attr(b->node, "data_format");
    const hr_attr given = format ? *format : HR_STRING_ATTR("data_format", "NHWC");
    b->out[0] = hr_dense_gradient(b->grad[0]);
    b->out[1] = hr_dense_gradient(hr_new_node(b->graph, "BiasAddGrad", HR_INPUTS(b->grad[0]), HR_ATTRS(given)));
}

static hr_status bias_grad_shape(hr_infer *s, hr_error *err)
{
    int axis;
    s->output[0] = HR_SHAPE(-1);
    if (s->input[0].rank < 0) return HR_OK;
    HR_TRY(channel_axis(s->node, s->input[0].rank, &axis, err));
    s->output[0] = HR_SHAPE(s->input[0].dims[axis]);
    return HR_OK;
}

static hr_status bias_grad_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    int64_t before;
    int axis;
    hr_tensor *out;
    HR_TRY(channel_axis(k->node, in->shape.rank, &axis, err));
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(in->shape.dims[axis]), &out, err));
    rows r = {in->data, NULL, out->data, out->count, 1};
    around(in->shape, axis, &before, &r.inner);
    if (out->count) kernels(in->dtype)->sum(&r, in->count ? before : 0);
    return HR_OK;
}

/* Each channel's in all places; with channels first, ones follow them. */
static void bias_grad_gradient(hr_backward *b)
{
    hr_graph *g = b->graph;
    const hr_attr *format = hr_node_attr(b->node, "data_format");
    hr_node channels = b->grad[0];
    if (format && strcmp(format->s.data, "NCHW") == 0) {
        const hr_node one = hr_ints(g, HR_I64(1), 1);
        const hr_node rest = hr_reshape(hr_sub(hr_rank_of(b->input[0]), hr_scalar(g, HR_INT32, 2)), one);
        const hr_node ones = hr_new_node(g, "Fill", HR_INPUTS(rest, hr_scalar(g, HR_INT32, 1)));
        const hr_node shape[] = {hr_ints(g, HR_I64(-1), 1), ones};
        channels = hr_reshape(channels, hr_concat(shape, 2, 0));
    }
    hr_backward_give(b, 0, hr_new_node(g, "BroadcastTo", HR_INPUTS(channels, hr_shape_of(b->input[0]))));
}

/* ---- AddN: from the first input on, one after the other ---- */

static hr_status add_n_shape(hr_infer *s, hr_error *err)
{
    s->output[0] = s->input[0];
    for (int i = 1; i < s->inputs; i++)
        if (!hr_shape_merge(s->output[0], s->input[i], &s->output[0]))
            return hr_infer_refuse(s, err, "inputs of one shape");
    return HR_OK;
}

static hr_status add_n_variants(hr_kernel *k, hr_error *err)
{
    hr_tensor sum = *k->input[0];
    hr_buffer_ref(sum.buffer);
    for (int i = 1; i < k->inputs; i++) {
        hr_tensor more;
        const hr_status st = hr_kernel_add_variants(k, &sum, k->input[i], &more, err);
        hr_buffer_unref(sum.buffer);
        HR_TRY(st);
        sum = more;
    }
    hr_kernel_give(k, 0, sum);
    return HR_OK;
}

static hr_status add_n_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *first = k->input[0];
    hr_tensor *out;
    char a[128], b[128];
    for (int i = 1; i < k->inputs; i++)
        if (!hr_shape_equal(first->shape, k->input[i]->shape))
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected inputs of one shape, got %s and %s",
                           hr_shape_text(first->shape, a, sizeof a), hr_shape_text(k->input[i]->shape, b, sizeof b));
    if (k->inputs == 1) return hr_kernel_pass(k, 0, 0, first->shape, err);
    if (first->dtype == HR_VARIANT) return add_n_variants(k, err);
    const void *begin = first->data;
    HR_TRY(hr_kernel_output_over(k, 0, 0, first->shape, &out, err));
    if (out->data != begin && out->count) memcpy(out->data, begin, (size_t)out->count * hr_dtype_size(out->dtype));
    for (int i = 1; i < k->inputs; i++) {
        rows r = {.in = k->input[i]->data, .out = out->data};
        hr_kernel_parallel(k, out->count, .3, kernels(out->dtype)->add, &r);
    }
    return HR_OK;
}

static void add_n_gradient(hr_backward *b)
{
    for (int i = 0; i < b->inputs; i++) b->out[i] = hr_dense_gradient(b->grad[0]);
}

#define BIAS_ADD(NAME)                                                                                                 \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .kernels = KERNELS, .shape = bias_shape, .compute = bias_compute,      \
        .gradient = bias_gradient,                                                                                     \
    }

const hr_graph_op hr_graph_ops_bias_ops[] = {
    BIAS_ADD("BiasAdd"),
    BIAS_ADD("BiasAddV1"),
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "BiasAddGrad",
        .kernels = KERNELS,
        .shape = bias_grad_shape,
        .compute = bias_grad_compute,
        .gradient = bias_grad_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "AddN",
        .types = "T:{numbers,float16,bfloat16,complex64,complex128,variant}",
        .traits = HR_COMMUTATIVE,
        .shape = add_n_shape,
        .compute = add_n_compute,
        .gradient = add_n_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "AccumulateNV2",
        .kernels = KERNELS,
        .traits = HR_COMMUTATIVE,
        .shape = add_n_shape,
        .compute = add_n_compute,
        .gradient = add_n_gradient,
    },
    HR_GRAPH_OPS_END,
};

HR_BINARY_CONSTRUCTOR(hr_bias_add, "BiasAdd")

hr_node hr_bias_add_channels_first_with(hr_node x, hr_node y, const hr_name_opts *opts)
{
    const hr_name_opts o = HR_OPTIONS(hr_name_opts, opts);
    return hr_new_node(x.graph, "BiasAdd", .name = o.name, HR_INPUTS(x, y),
                       HR_ATTRS(HR_STRING_ATTR("data_format", "NCHW")));
}

hr_node hr_add_n(const hr_node *values, int count)
{
    if (!values || count < 1) return (hr_node){0};
    return count == 1 ? values[0] : hr_new_node(NULL, "AddN", .inputs = values, .input_count = count);
}
