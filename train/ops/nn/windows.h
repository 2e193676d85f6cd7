/* Windows over images: strides, dilations and paddings as attributes say, and where a window lies. What convolutions and
 * pools share. */
#ifndef HR_WINDOWS_H
#define HR_WINDOWS_H

#include <headrace/kernels.h>
#include <headrace/nn.h>
#include <stdio.h>
#include <string.h>

/* Of the dimensions of an image, height and width, or of a volume, which has its depth before them. */
enum { HR__WINDOWS_AXES = 3 };
typedef struct hr__windows {
    int axes, axis[HR__WINDOWS_AXES], channel; /* axis, channel: in the data format */
    int64_t stride[HR__WINDOWS_AXES], dilation[HR__WINDOWS_AXES], before[HR__WINDOWS_AXES], after[HR__WINDOWS_AXES];
    enum { HR__WINDOWS_SAME, HR__WINDOWS_VALID, HR__WINDOWS_EXPLICIT } padding;
} hr__windows;

/* The attributes of a node, and strides that it may have as an input. */
static inline hr_status hr__windows_read_strides(hr_node node, int axes, const int64_t *stride, int strides,
                                                 hr__windows *c, hr_error *err)
{
    static const int64_t ones[] = {1, 1, 1, 1, 1};
    int dilations, paddings;
    const int64_t *dilation = hr_attr_ints(node, "dilations", &dilations);
    const int64_t *padding = hr_attr_ints(node, "explicit_paddings", &paddings);
    const bool first = hr_attr_is(node, "data_format", axes == 2 ? "NCHW" : "NCDHW");
    *c = (hr__windows){.axes = axes, .channel = first ? 1 : axes + 1, .padding = HR__WINDOWS_SAME};
    if (!hr_attr_is(node, "padding", "SAME"))
        c->padding = hr_attr_is(node, "padding", "VALID") ? HR__WINDOWS_VALID : HR__WINDOWS_EXPLICIT;
    if (!dilation) dilation = ones, dilations = axes + 2; /* pools have none */
    const int padded = c->padding == HR__WINDOWS_EXPLICIT ? 2 * (axes + 2) : 0;
    if (strides != axes + 2 || dilations != axes + 2 || paddings != padded)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr",
                       "expected %d strides, %d dilations and %d explicit_paddings", axes + 2, axes + 2, padded);
    if (stride[0] != 1 || stride[c->channel] != 1 || dilation[0] != 1 || dilation[c->channel] != 1)
        return hr_fail(err, HR_UNIMPLEMENTED, "graph.kernel",
                       "expected strides and dilations of 1 over batch and depth");
    for (int d = 0; d < axes; d++) {
        const int axis = c->axis[d] = 1 + first + d;
        c->stride[d] = stride[axis];
        c->dilation[d] = dilation[axis];
        if (padded) c->before[d] = padding[2 * axis], c->after[d] = padding[2 * axis + 1];
        if (c->stride[d] < 1 || c->dilation[d] < 1 || c->stride[d] > INT32_MAX || c->dilation[d] > INT32_MAX ||
            c->before[d] < 0 || c->after[d] < 0 || c->before[d] > INT32_MAX || c->after[d] > INT32_MAX)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr",
                           "expected strides and dilations > 0 and paddings >= 0 of at most %d", INT32_MAX);
    }
    return HR_OK;
}

static inline hr_status hr__windows_read(hr_node node, int axes, hr__windows *c, hr_error *err)
{
    int strides;
    const int64_t *stride = hr_attr_ints(node, "strides", &strides);
    return hr__windows_read_strides(node, axes, stride, strides, c, err);
}

/* The window of a pool, `size` along each axis: of the `sizes` numbers of ksize. */
static inline hr_status hr__windows_sizes(const hr__windows *w, const int64_t *ksize, int sizes, int64_t *size,
                                          hr_error *err)
{
    int64_t places = 1;
    if (sizes != w->axes + 2)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr", "expected %d numbers in ksize, got %d", w->axes + 2,
                       sizes);
    if (ksize[0] != 1 || ksize[w->channel] != 1)
        return hr_fail(err, HR_UNIMPLEMENTED, "graph.kernel", "expected a ksize of 1 over batch and depth");
    for (int d = 0; d < w->axes; d++) {
        size[d] = ksize[w->axis[d]];
        if (size[d] < 1 || size[d] > INT32_MAX || w->before[d] >= size[d] || w->after[d] >= size[d])
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr", "expected a ksize > 0 and paddings below it");
        HR_TRY(hr_dim_mul(places, size[d], &places, err));
    }
    return HR_OK;
}

/* The windows of a pool, and their size, by attributes alone. */
static inline hr_status hr__windows_read_pool(hr_node node, int axes, hr__windows *w, int64_t *size, hr_error *err)
{
    int sizes;
    const int64_t *ksize = hr_attr_ints(node, "ksize", &sizes);
    HR_TRY(hr__windows_read(node, axes, w, err));
    return hr__windows_sizes(w, ksize, sizes, size, err);
}

/* The length of the output along one dimension, -1 if unknown, and the padding before it. */
static inline hr_status hr__windows_length(const hr__windows *c, int d, int64_t in, int64_t filter, int64_t *out,
                                           int64_t *before, hr_error *err)
{
    int64_t reach, padded;
    *out = -1;
    *before = c->before[d];
    if (in < 0 || filter < 0) return HR_OK;
    HR_TRY(hr_dim_mul(filter ? filter - 1 : 0, c->dilation[d], &reach, err));
    HR_TRY(hr_dim_add(in, c->before[d] + c->after[d], &padded, err));
    const int64_t beyond = padded - reach - 1, stride = c->stride[d];
    *out = c->padding == HR__WINDOWS_SAME ? (in + stride - 1) / stride : (beyond + stride) / stride;
    if (*out < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a window within the input, %lld, got %lld",
                       (long long)padded, (long long)(reach + 1));
    const int64_t missing = (*out - 1) * c->stride[d] + reach + 1 - in;
    if (c->padding == HR__WINDOWS_SAME) *before = missing > 0 ? missing / 2 : 0;
    return HR_OK;
}

/* The shape of the output, but for channels, of windows of these sizes, and the paddings before. */
static inline hr_status hr__windows_out(const hr__windows *w, const int64_t *size, hr_shape in, hr_shape *out,
                                        int64_t *before, hr_error *err)
{
    if (in.rank != w->axes + 2)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected an input of rank %d, got %d", w->axes + 2,
                       in.rank);
    *out = in;
    for (int d = 0; d < w->axes; d++)
        HR_TRY(hr__windows_length(w, d, in.dims[w->axis[d]], size[d], &out->dims[w->axis[d]], &before[d], err));
    return HR_OK;
}

/* A gradient must have the shape of the output. */
static inline hr_status hr__windows_check_gradient(const hr_tensor *g, hr_shape out, hr_error *err)
{
    char a[128], b[128];
    if (hr_shape_equal(g->shape, out)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a gradient of shape %s, got %s",
                   hr_shape_text(out, a, sizeof a), hr_shape_text(g->shape, b, sizeof b));
}

/* How far one goes on in memory, in values, by image, height, width and channel. */
typedef struct hr__window_steps {
    int64_t image, pixel[2], channel;
} hr__window_steps;

static inline hr__window_steps hr__window_steps_of(const hr__windows *w, hr_shape s)
{
    const int64_t step[4] = {s.dims[1] * s.dims[2] * s.dims[3], s.dims[2] * s.dims[3], s.dims[3], 1};
    return (hr__window_steps){step[0], {step[w->axis[0]], step[w->axis[1]]}, step[w->channel]};
}

/* The windows of one pair of shapes: places of the input, of the output, and of a window. */
typedef struct hr__window_grid {
    int64_t images, in[2], length[2], filter[2], stride[2], dilation[2], before[2];
    hr__window_steps of_in, of_out;
} hr__window_grid;

static inline void hr__window_grid_of(const hr__windows *w, hr_shape in, const int64_t *filter, hr_shape out,
                                      hr__window_grid *g)
{
    g->images = in.dims[0];
    for (int d = 0; d < 2; d++) {
        g->in[d] = in.dims[w->axis[d]];
        g->length[d] = out.dims[w->axis[d]];
        g->filter[d] = filter[d];
        g->stride[d] = w->stride[d];
        g->dilation[d] = w->dilation[d];
    }
    g->of_in = hr__window_steps_of(w, in);
    g->of_out = hr__window_steps_of(w, out);
}

/* Pixel number `item` of images of that height and width. */
typedef struct hr__pixel {
    int64_t image, h, w;
} hr__pixel;
static inline hr__pixel hr__pixel_of(int64_t item, const int64_t *size)
{
    return (hr__pixel){item / size[1] / size[0], item / size[1] % size[0], item % size[1]};
}

static inline void hr__pixel_next(hr__pixel *p, const int64_t *size)
{
    if (++p->w < size[1]) return;
    p->w = 0;
    if (++p->h < size[0]) return;
    p->h = 0;
    p->image++;
}

static inline int64_t hr__pixel_at(const hr__window_steps *s, hr__pixel p)
{
    return p.image * s->image + p.h * s->pixel[0] + p.w * s->pixel[1];
}

/* Where in the input place `f` of the window of an output pixel lies; false: in the padding. */
static inline bool hr__window_at(const hr__window_grid *g, hr__pixel out, int64_t f, int64_t *at)
{
    const int64_t h = out.h * g->stride[0] - g->before[0] + f / g->filter[1] * g->dilation[0];
    const int64_t w = out.w * g->stride[1] - g->before[1] + f % g->filter[1] * g->dilation[1];
    if (h < 0 || h >= g->in[0] || w < 0 || w >= g->in[1]) return false;
    *at = hr__pixel_at(&g->of_in, (hr__pixel){out.image, h, w});
    return true;
}

/* The part of an output pixel's window, of a pool, that is not in the padding: its places [first, last) in both dimensions, where
 * the first and the last of them lie in the input, and how far apart they are. */
typedef struct hr__window_part {
    int64_t first[2], last[2], step[2], from, to;
} hr__window_part;

static inline hr__window_part hr__window_part_of(const hr__window_grid *g, hr__pixel out)
{
    const int64_t pixel[2] = {out.h, out.w};
    hr__window_part p = {.from = out.image * g->of_in.image};
    for (int d = 0; d < 2; d++) {
        const int64_t start = pixel[d] * g->stride[d] - g->before[d], beyond = g->in[d] - start;
        p.first[d] = start < 0 ? -start : 0;
        p.last[d] = beyond < g->filter[d] ? beyond : g->filter[d];
        p.step[d] = g->of_in.pixel[d];
        p.from += start * g->of_in.pixel[d] + p.first[d] * p.step[d];
    }
    p.to = p.from + (p.last[0] - p.first[0] - 1) * p.step[0] + (p.last[1] - p.first[1] - 1) * p.step[1];
    return p;
}

/* How many places the part has. */
static inline int64_t hr__window_part_count(const hr__window_part *p)
{
    const int64_t high = p->last[0] - p->first[0], wide = p->last[1] - p->first[1];
    return high > 0 && wide > 0 ? high * wide : 0;
}

/* A loop over the places of a part, row by row: `at` is where each lies. */
#define HR__EACH_PLACE(PART)                                                                                           \
    for (int64_t h_ = (PART).first[0], line_ = (PART).from; h_ < (PART).last[0]; h_++, line_ += (PART).step[0])        \
        for (int64_t w_ = (PART).first[1], at = line_; w_ < (PART).last[1]; w_++, at += (PART).step[1])

/* ---- gradients ---- */

/* A node with the windows of the one that is derived. */
static inline hr_node hr__windows_derived(const hr_backward *b, const char *op, const hr_node *inputs, int count)
{
    static const char *const names[] = {"strides", "padding",           "data_format",           "dilations",
                                        "ksize",   "explicit_paddings", "include_batch_in_index"};
    enum { COUNT = sizeof names / sizeof *names };
    hr_attr attrs[COUNT];
    const int known = strncmp(op, "MaxPoolGradGrad", 15) == 0 ? COUNT - 2 : COUNT; /* it pads as SAME or VALID only */
    int found = 0;
    for (int i = 0; i < known; i++)
        if (hr_node_attr(b->node, names[i])) attrs[found++] = *hr_node_attr(b->node, names[i]);
    return hr_new_node(b->graph, op, .inputs = inputs, .input_count = count, .attrs = attrs, .attr_count = found);
}

/* Of the convolution of that name: the node itself, or its derivative, kind "BackpropInput" or "BackpropFilter". */
static inline hr_node hr__conv_node(const hr_backward *b, const char *kind, hr_node x, hr_node y, hr_node z)
{
    static const char *const names[] = {"Conv2D", "Conv3D", "DepthwiseConv2dNative"};
    const hr_node inputs[] = {x, y, z};
    char op[64] = "";
    for (int i = 0; i < 3; i++)
        if (strncmp(hr_node_op(b->node), names[i], strlen(names[i])) == 0)
            (void)snprintf(op, sizeof op, "%s%s%s", names[i], kind, i == 1 && kind[0] ? "V2" : "");
    return hr__windows_derived(b, op, inputs, hr_node_exists(z) ? 3 : 2);
}

static inline void hr__conv_gradient(hr_backward *b)
{
    const hr_node x = b->input[0], w = b->input[1], g = b->grad[0];
    hr_backward_give(b, 0, hr__conv_node(b, "BackpropInput", hr_shape_of(x), w, g));
    hr_backward_give(b, 1, hr__conv_node(b, "BackpropFilter", x, hr_shape_of(w), g));
}

static inline void hr__conv_by_input_gradient(hr_backward *b)
{
    const hr_node w = b->input[1], g = b->grad[0];
    hr_backward_give(b, 1, hr__conv_node(b, "BackpropFilter", g, hr_shape_of(w), b->input[2]));
    hr_backward_give(b, 2, hr__conv_node(b, "", g, w, (hr_node){0}));
}

static inline void hr__conv_by_filter_gradient(hr_backward *b)
{
    const hr_node x = b->input[0], g = b->grad[0];
    hr_backward_give(b, 0, hr__conv_node(b, "BackpropInput", hr_shape_of(x), g, b->input[2]));
    hr_backward_give(b, 2, hr__conv_node(b, "", x, g, (hr_node){0}));
}

/* ---- constructors ---- */

/* The two numbers of options as the four of an attribute. */
static inline void hr__windows_pair(const int64_t *given, const int64_t *otherwise, bool channels_first, int64_t *out)
{
    const int64_t h = given[0] ? given[0] : otherwise[0], w = given[1] ? given[1] : given[0] ? h : otherwise[1];
    out[0] = out[1] = out[3] = 1;
    out[1 + channels_first] = h;
    out[2 + channels_first] = w;
}

/* A node of windows as `o` says. `size`: a pool's window; NULL: a convolution. */
static inline hr_node hr__windows_node(const char *op, const hr_node *inputs, int input_count, const int64_t *size,
                                       const hr_image_opts *o)
{
    static const char *const words[] = {"VALID", "SAME", "EXPLICIT"};
    static const int64_t ones[] = {1, 1}, same[] = {0, 0};
    int64_t strides[4], other[4], paddings[8] = {0};
    const bool is_explicit = o->padding == HR_EXPLICIT;
    hr__windows_pair(o->strides, size ? size : ones, o->channels_first, strides);
    hr__windows_pair(size ? same : o->dilations, size ? size : ones, o->channels_first, other);
    for (int i = 0; i < 4 && o->paddings; i++) paddings[2 + 2 * o->channels_first + i] = o->paddings[i];
    const hr_attr attrs[] = {
        HR_INTS_ATTR("strides", strides, 4), HR_INTS_ATTR(size ? "ksize" : "dilations", other, 4),
        HR_STRING_ATTR("padding", o->padding >= HR_VALID && o->padding <= HR_EXPLICIT ? words[o->padding] : "?"),
        HR_STRING_ATTR("data_format", o->channels_first ? "NCHW" : "NHWC"),
        HR_INTS_ATTR("explicit_paddings", paddings, 8)};
    if (is_explicit && !o->paddings)
        return hr_node_fail(inputs[0].graph, HR_INVALID_ARGUMENT, "graph.attr",
                            "%s: expected four .paddings with HR_EXPLICIT, got none", op);
    if (size && (o->dilations[0] || o->dilations[1]))
        return hr_node_fail(inputs[0].graph, HR_INVALID_ARGUMENT, "graph.attr",
                            "%s: expected no dilations, which pools lack", op);
    return hr_new_node(inputs[0].graph, op, .name = o->name, .inputs = inputs, .input_count = input_count,
                       .attrs = attrs, .attr_count = is_explicit ? 5 : 4);
}

#endif
