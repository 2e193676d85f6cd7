/* Conv2D, and its derivatives by the input and by the filter: sums of products over windows, with the channels of the
 * output in the innermost loop. */
#include <headrace/kernels.h>
#include <string.h>

/* ---- windows ---- */

/* Of two dimensions, 0 and 1: height and width. */
typedef struct conv_attrs {
    int axis[2], channel; /* in the data format */
    int64_t stride[2], dilation[2], before[2], after[2];
    enum { CONV_SAME, CONV_VALID, CONV_EXPLICIT } padding;
} conv_attrs;

static bool conv_word(hr_node node, const char *attr, const char *word)
{
    const hr_view v = hr_attr_string(node, attr);
    return (size_t)v.size == strlen(word) && memcmp(v.data, word, (size_t)v.size) == 0;
}

static hr_status conv_read(hr_node node, conv_attrs *c, hr_error *err)
{
    int strides, dilations, paddings;
    const int64_t *stride = hr_attr_ints(node, "strides", &strides);
    const int64_t *dilation = hr_attr_ints(node, "dilations", &dilations);
    const int64_t *padding = hr_attr_ints(node, "explicit_paddings", &paddings);
    const bool first = conv_word(node, "data_format", "NCHW");
    *c = (conv_attrs){.axis = {1 + first, 2 + first}, .channel = first ? 1 : 3, .padding = CONV_SAME};
    if (!conv_word(node, "padding", "SAME"))
        c->padding = conv_word(node, "padding", "VALID") ? CONV_VALID : CONV_EXPLICIT;
    if (strides != 4 || dilations != 4 || paddings != (c->padding == CONV_EXPLICIT ? 8 : 0))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr",
                       "expected 4 strides, 4 dilations and %d explicit_paddings", c->padding == CONV_EXPLICIT ? 8 : 0);
    if (stride[0] != 1 || stride[c->channel] != 1 || dilation[0] != 1 || dilation[c->channel] != 1)
        return hr_fail(err, HR_UNIMPLEMENTED, "graph.kernel",
                       "expected strides and dilations of 1 over batch and depth");
    for (int d = 0; d < 2; d++) {
        c->stride[d] = stride[c->axis[d]];
        c->dilation[d] = dilation[c->axis[d]];
        if (c->padding == CONV_EXPLICIT)
            c->before[d] = padding[2 * c->axis[d]], c->after[d] = padding[2 * c->axis[d] + 1];
        if (c->stride[d] < 1 || c->dilation[d] < 1 || c->stride[d] > INT32_MAX || c->dilation[d] > INT32_MAX ||
            c->before[d] < 0 || c->after[d] < 0 || c->before[d] > INT32_MAX || c->after[d] > INT32_MAX)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr",
                           "expected strides and dilations > 0 and paddings >= 0 of at most %d", INT32_MAX);
    }
    return HR_OK;
}

/* The length of the output along one dimension, -1 if unknown, and the padding before it. */
static hr_status conv_length(const conv_attrs *c, int d, int64_t in, int64_t filter, int64_t *out, int64_t *before,
                             hr_error *err)
{
    int64_t reach, padded;
    *out = -1;
    *before = c->before[d];
    if (in < 0 || filter < 0) return HR_OK;
    HR_TRY(hr_dim_mul(filter ? filter - 1 : 0, c->dilation[d], &reach, err));
    HR_TRY(hr_dim_add(in, c->before[d] + c->after[d], &padded, err));
    const int64_t beyond = padded - reach - 1, stride = c->stride[d];
    *out = c->padding == CONV_SAME ? (in + stride - 1) / stride : (beyond + stride) / stride;
    if (*out < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "Computed output size would be negative: %lld",
                       (long long)*out);
    const int64_t missing = (*out - 1) * c->stride[d] + reach + 1 - in;
    if (c->padding == CONV_SAME) *before = missing > 0 ? missing / 2 : 0;
    return HR_OK;
}

static hr_status conv_out(const conv_attrs *c, hr_shape in, hr_shape filter, hr_shape *out, int64_t *before,
                          hr_error *err)
{
    if (in.rank != 4 || filter.rank != 4)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected an input and a filter of rank 4, got %d and %d", in.rank, filter.rank);
    const int64_t depth = in.dims[c->channel];
    if (depth >= 0 && filter.dims[2] >= 0 && depth != filter.dims[2])
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected a filter of the input's depth, %lld, got one of %lld", (long long)depth,
                       (long long)filter.dims[2]);
    *out = in;
    out->dims[c->channel] = filter.dims[3];
    for (int d = 0; d < 2; d++)
        HR_TRY(conv_length(c, d, in.dims[c->axis[d]], filter.dims[d], &out->dims[c->axis[d]], &before[d], err));
    return HR_OK;
}

static hr_status conv_shape(hr_infer *s, hr_error *err)
{
    conv_attrs c;
    int64_t before[2];
    HR_TRY(conv_read(s->node, &c, err));
    if (s->input[0].rank < 0 || s->input[1].rank < 0) return HR_OK;
    HR_TRY(conv_out(&c, s->input[0], s->input[1], &s->output[0], before, err));
    for (int d = 0; d < 2; d++) /* TensorFlow runs it all the same */
        if (c.padding != CONV_SAME && s->output[0].dims[c.axis[d]] == 0)
            return hr_infer_refuse(s, err, "a filter within the input");
    return HR_OK;
}

/* Of as many images as the gradient of the output. */
static hr_status conv_by_input_shape(hr_infer *s, hr_error *err)
{
    hr_shape *out = &s->output[0];
    if (out->rank >= 0 && out->rank != 4) return hr_infer_refuse(s, err, "four input_sizes");
    if (out->rank == 4 && s->input[2].rank == 4 && out->dims[0] < 0) out->dims[0] = s->input[2].dims[0];
    return HR_OK;
}

static hr_status conv_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    (void)session;
    return conv_read(node, state, err);
}

/* ---- loops: one item is a pixel of the output, a pixel of the input, or a row of the filter ---- */

/* How far one goes on in memory, in values, by image, height, width and channel. */
typedef struct conv_steps {
    int64_t image, pixel[2], channel;
} conv_steps;

typedef struct conv_work {
    const void *x, *w, *g; /* input, filter, gradient of the output */
    void *out;
    int64_t images, in[2], length[2], filter[2], depth, width; /* width: channels of the output */
    int64_t stride[2], dilation[2], before[2];
    conv_steps of_in, of_out;
} conv_work;

enum { CONV_BLOCK = 64 /* channels that are summed at once */ };

/* Where filter place `f` of the window of output place `o` lies; false: in the padding. */
static bool conv_place(const conv_work *p, int d, int64_t o, int64_t f, int64_t *at)
{
    *at = o * p->stride[d] - p->before[d] + f * p->dilation[d];
    return *at >= 0 && *at < p->in[d];
}

/* The output place whose window has filter place `f` at input place `at`. */
static bool conv_window(const conv_work *p, int d, int64_t at, int64_t f, int64_t *o)
{
    const int64_t from = at + p->before[d] - f * p->dilation[d];
    *o = from / p->stride[d];
    return from >= 0 && from % p->stride[d] == 0 && *o < p->length[d];
}

/* The loops share this: sums of a block of channels, put into `to` with a step. */
#define CONV_BLOCKS(T, V, S, CHANNELS, TO, STEP, ...)                                                                  \
    for (int64_t c0 = 0; c0 < (CHANNELS); c0 += CONV_BLOCK) {                                                          \
        const int64_t n = (CHANNELS)-c0 < CONV_BLOCK ? (CHANNELS)-c0 : CONV_BLOCK;                                     \
        V sum[CONV_BLOCK] = {0};                                                                                       \
        __VA_ARGS__                                                                                                    \
        for (int64_t c = 0; c < n; c++) (TO)[(c0 + c) * (STEP)] = HR_PUT(S, T, sum[c]);                                \
    }

#define CONV(T, V, U, D, S, A, B)                                                                                      \
    static void forward_##S(int64_t first, int64_t last, void *user)                                                   \
    {                                                                                                                  \
        const conv_work *p = user;                                                                                     \
        for (int64_t item = first; item < last; item++) {                                                              \
            const int64_t ow = item % p->length[1], oh = item / p->length[1] % p->length[0];                           \
            const int64_t image = item / p->length[1] / p->length[0];                                                  \
            T *to = (T *)p->out + image * p->of_out.image + oh * p->of_out.pixel[0] + ow * p->of_out.pixel[1];         \
            CONV_BLOCKS(                                                                                               \
                T, V, S, p->width, to, p->of_out.channel, for (int64_t f = 0; f < p->filter[0] * p->filter[1]; f++) {  \
                    int64_t h, w;                                                                                      \
                    if (!conv_place(p, 0, oh, f / p->filter[1], &h) || !conv_place(p, 1, ow, f % p->filter[1], &w))    \
                        continue;                                                                                      \
                    const T *x =                                                                                       \
                        (const T *)p->x + image * p->of_in.image + h * p->of_in.pixel[0] + w * p->of_in.pixel[1];      \
                    const T *row = (const T *)p->w + f * p->depth * p->width + c0;                                     \
                    for (int64_t i = 0; i < p->depth; i++, row += p->width) {                                          \
                        const V value = HR_GET(S, x[i * p->of_in.channel]);                                            \
                        for (int64_t c = 0; c < n; c++) sum[c] = (V)((U)sum[c] + (U)value * (U)HR_GET(S, row[c]));     \
                    }                                                                                                  \
                })                                                                                                     \
        }                                                                                                              \
    }                                                                                                                  \
    static void by_input_##S(int64_t first, int64_t last, void *user)                                                  \
    {                                                                                                                  \
        const conv_work *p = user;                                                                                     \
        for (int64_t item = first; item < last; item++) {                                                              \
            const int64_t w = item % p->in[1], h = item / p->in[1] % p->in[0], image = item / p->in[1] / p->in[0];     \
            T *to = (T *)p->out + image * p->of_in.image + h * p->of_in.pixel[0] + w * p->of_in.pixel[1];              \
            CONV_BLOCKS(                                                                                               \
                T, V, S, p->depth, to, p->of_in.channel, for (int64_t f = 0; f < p->filter[0] * p->filter[1]; f++) {   \
                    int64_t oh, ow;                                                                                    \
                    if (!conv_window(p, 0, h, f / p->filter[1], &oh) || !conv_window(p, 1, w, f % p->filter[1], &ow))  \
                        continue;                                                                                      \
                    const T *g =                                                                                       \
                        (const T *)p->g + image * p->of_out.image + oh * p->of_out.pixel[0] + ow * p->of_out.pixel[1]; \
                    const T *row = (const T *)p->w + (f * p->depth + c0) * p->width;                                   \
                    for (int64_t c = 0; c < n; c++, row += p->width)                                                   \
                        for (int64_t o = 0; o < p->width; o++)                                                         \
                            sum[c] = (V)((U)sum[c] + (U)HR_GET(S, g[o * p->of_out.channel]) * (U)HR_GET(S, row[o]));   \
                })                                                                                                     \
        }                                                                                                              \
    }
#define CONV_BY_FILTER(T, V, U, D, S, A, B)                                                                            \
    static void by_filter_##S(int64_t first, int64_t last, void *user)                                                 \
    {                                                                                                                  \
        const conv_work *p = user;                                                                                     \
        for (int64_t item = first; item < last; item++) {                                                              \
            const int64_t i = item % p->depth, f = item / p->depth;                                                    \
            T *to = (T *)p->out + item * p->width;                                                                     \
            CONV_BLOCKS(                                                                                               \
                T, V, S, p->width, to, 1, for (int64_t o = 0; o < p->images * p->length[0] * p->length[1]; o++) {      \
                    const int64_t ow = o % p->length[1], oh = o / p->length[1] % p->length[0];                         \
                    const int64_t image = o / p->length[1] / p->length[0];                                             \
                    int64_t h, w;                                                                                      \
                    if (!conv_place(p, 0, oh, f / p->filter[1], &h) || !conv_place(p, 1, ow, f % p->filter[1], &w))    \
                        continue;                                                                                      \
                    const V value = HR_GET(S, ((const T *)p->x)[image * p->of_in.image + h * p->of_in.pixel[0] +       \
                                                                w * p->of_in.pixel[1] + i * p->of_in.channel]);        \
                    const T *g = (const T *)p->g + image * p->of_out.image + oh * p->of_out.pixel[0] +                 \
                                 ow * p->of_out.pixel[1] + c0 * p->of_out.channel;                                     \
                    for (int64_t c = 0; c < n; c++)                                                                    \
                        sum[c] = (V)((U)sum[c] + (U)value * (U)HR_GET(S, g[c * p->of_out.channel]));                   \
                })                                                                                                     \
        }                                                                                                              \
    }
HR_EACH_TYPE(CONV, ~, ~, floats, halves, int32)
HR_EACH_TYPE(CONV_BY_FILTER, ~, ~, floats, halves)

/* ---- compute ---- */

typedef void conv_fn(int64_t first, int64_t last, void *user);

static conv_steps conv_steps_of(const conv_attrs *c, hr_shape s)
{
    int64_t step[4] = {s.dims[1] * s.dims[2] * s.dims[3], s.dims[2] * s.dims[3], s.dims[3], 1};
    return (conv_steps){step[0], {step[c->axis[0]], step[c->axis[1]]}, step[c->channel]};
}

/* Checks all shapes; `g` is the gradient of the output, NULL: forward. */
static hr_status conv_plan(hr_kernel *k, hr_shape in, hr_shape filter, const hr_tensor *g, conv_work *p, hr_shape *out,
                           hr_error *err)
{
    const conv_attrs *c = k->state;
    char a[128], b[128];
    HR_TRY(conv_out(c, in, filter, out, p->before, err));
    if (g && !hr_shape_equal(g->shape, *out))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected out_backprop of shape %s, got %s",
                       hr_shape_text(*out, a, sizeof a), hr_shape_text(g->shape, b, sizeof b));
    p->images = in.dims[0];
    p->depth = filter.dims[2];
    p->width = filter.dims[3];
    for (int d = 0; d < 2; d++) {
        p->in[d] = in.dims[c->axis[d]];
        p->length[d] = out->dims[c->axis[d]];
        p->filter[d] = filter.dims[d];
        p->stride[d] = c->stride[d];
        p->dilation[d] = c->dilation[d];
    }
    p->of_in = conv_steps_of(c, in);
    p->of_out = conv_steps_of(c, *out);
    return HR_OK;
}

static hr_status conv_run(hr_kernel *k, conv_work *p, hr_shape shape, int64_t items, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    p->out = out->data;
    if (out->count == 0) return HR_OK;
    const double products = (double)p->images * (double)p->length[0] * (double)p->length[1] * (double)p->filter[0] *
                            (double)p->filter[1] * (double)p->depth * (double)p->width;
    hr_kernel_parallel(k, items, products * .15 / (double)items + 5, (conv_fn *)hr_kernel_chosen(k)->run, p);
    return HR_OK;
}

static hr_status conv_compute(hr_kernel *k, hr_error *err)
{
    conv_work p = {.x = k->input[0]->data, .w = k->input[1]->data};
    hr_shape out;
    HR_TRY(conv_plan(k, k->input[0]->shape, k->input[1]->shape, NULL, &p, &out, err));
    return conv_run(k, &p, out, p.images * p.length[0] * p.length[1], err);
}

static hr_status conv_by_input(hr_kernel *k, hr_error *err)
{
    conv_work p = {.w = k->input[1]->data, .g = k->input[2]->data};
    hr_shape in, out;
    HR_TRY(hr_shape_input(k->input[0], &in, err));
    HR_TRY(conv_plan(k, in, k->input[1]->shape, k->input[2], &p, &out, err));
    return conv_run(k, &p, in, p.images * p.in[0] * p.in[1], err);
}

static hr_status conv_by_filter(hr_kernel *k, hr_error *err)
{
    conv_work p = {.x = k->input[0]->data, .g = k->input[2]->data};
    hr_shape filter, out;
    HR_TRY(hr_shape_input(k->input[1], &filter, err));
    HR_TRY(conv_plan(k, k->input[0]->shape, filter, k->input[2], &p, &out, err));
    return conv_run(k, &p, filter, p.filter[0] * p.filter[1] * p.depth, err);
}

/* ---- gradients ---- */

/* A node of the same windows. */
static hr_node conv_node(const hr_backward *b, const char *op, hr_node x, hr_node y, hr_node z)
{
    static const char *const names[] = {"strides", "padding", "explicit_paddings", "data_format", "dilations"};
    enum { COUNT = sizeof names / sizeof *names };
    const hr_node inputs[] = {x, y, z};
    hr_attr attrs[COUNT];
    for (int i = 0; i < COUNT; i++) attrs[i] = *hr_node_attr(b->node, names[i]);
    return hr_new_node(b->graph, op, .inputs = inputs, .input_count = z.graph ? 3 : 2, .attrs = attrs,
                       .attr_count = COUNT);
}

static void conv_gradient(hr_backward *b)
{
    const hr_node x = b->input[0], w = b->input[1], g = b->grad[0];
    hr_backward_give(b, 0, conv_node(b, "Conv2DBackpropInput", hr_shape_of(x), w, g));
    hr_backward_give(b, 1, conv_node(b, "Conv2DBackpropFilter", x, hr_shape_of(w), g));
}

static void by_input_gradient(hr_backward *b)
{
    const hr_node w = b->input[1], g = b->grad[0];
    hr_backward_give(b, 1, conv_node(b, "Conv2DBackpropFilter", g, hr_shape_of(w), b->input[2]));
    hr_backward_give(b, 2, conv_node(b, "Conv2D", g, w, (hr_node){0}));
}

static void by_filter_gradient(hr_backward *b)
{
    const hr_node x = b->input[0], g = b->grad[0];
    hr_backward_give(b, 0, conv_node(b, "Conv2DBackpropInput", hr_shape_of(x), g, b->input[2]));
    hr_backward_give(b, 2, conv_node(b, "Conv2D", x, g, (hr_node){0}));
}

#define CONV_OP(NAME, SHAPES, COMPUTE, GRADIENT, ...)                                                                  \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .kernels = HR_KERNELS(__VA_ARGS__), SHAPES,                            \
        .state_size = sizeof(conv_attrs), .prepare = conv_prepare, .compute = COMPUTE, .gradient = GRADIENT,           \
    }

#define FORWARD .shapes = "[?,?,?,?], [?,?,?,?] -> [?,?,?,?]", .shape = conv_shape
#define BY_INPUT .shapes = "?, [?,?,?,?], [?,?,?,?] -> shape(0)", .shape = conv_by_input_shape

const hr_graph_op hr_graph_ops_conv2d_ops[] = {
    CONV_OP("Conv2D", FORWARD, conv_compute, conv_gradient, forward, floats, halves, int32),
    CONV_OP("Conv2DBackpropInput", BY_INPUT, conv_by_input, by_input_gradient, by_input, floats, halves, int32),
    CONV_OP("Conv2DBackpropFilter", .shapes = "[?,?,?,?], ?, [?,?,?,?] -> shape(1)", conv_by_filter, by_filter_gradient,
            by_filter, floats, halves),
    HR_GRAPH_OPS_END,
};
