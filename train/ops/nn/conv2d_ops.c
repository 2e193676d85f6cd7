/* Conv2D and DepthwiseConv2dNative, and their derivatives by the input and by the filter: sums of products over windows,
 * with the channels of the output in the innermost loop. An input that is deeper than the filter is taken in groups of
 * channels. _FusedConv2D adds a bias, and applies an element-wise op, while pixels are in the cache. */
#include "train/ops/nn/conv_tiles.h"

typedef struct conv_attrs {
    hr__windows windows;
    bool depthwise; /* each channel of the input is a group of its own, and filter.dims[3] channels come of it */
} conv_attrs;

static hr_status conv_read(hr_node node, conv_attrs *c, hr_error *err)
{
    c->depthwise = strncmp(hr_node_op(node), "Depthwise", 9) == 0;
    HR_TRY(hr__windows_read(node, 2, &c->windows, err));
    if (c->depthwise && c->windows.stride[0] != c->windows.stride[1])
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr", "expected equal strides over height and width");
    return HR_OK;
}

/* The groups of channels that an input of that depth has: each is filtered on its own, for its share of the output's
 * channels. -1: unknown. */
static hr_status conv_groups(const conv_attrs *c, int64_t depth, hr_shape filter, int64_t *groups, hr_error *err)
{
    const int64_t each = filter.dims[2], out = filter.dims[3];
    *groups = depth < 0 || each < 0 ? -1 : depth == each ? 1 : each == 0 || depth % each ? 0 : depth / each;
    if (*groups == 0 || (*groups > 1 && c->depthwise))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       c->depthwise ? "expected a filter of the input's depth, %lld, got one of %lld"
                                    : "expected an input whose depth, %lld, is a multiple of the filter's, %lld",
                       (long long)depth, (long long)each);
    if (*groups > 1 && out % *groups > 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected an output whose depth is a multiple of the number of groups, %lld, got %lld",
                       (long long)*groups, (long long)out);
    return HR_OK;
}

static hr_status conv_out(const conv_attrs *conv, hr_shape in, hr_shape filter, hr_shape *out, int64_t *before,
                          hr_error *err)
{
    const hr__windows *c = &conv->windows;
    int64_t groups;
    if (in.rank != 4 || filter.rank != 4)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected an input and a filter of rank 4, got %d and %d", in.rank, filter.rank);
    HR_TRY(conv_groups(conv, in.dims[c->channel], filter, &groups, err));
    HR_TRY(hr__windows_out(c, filter.dims, in, out, before, err));
    out->dims[c->channel] = filter.dims[3];
    return conv->depthwise ? hr_dim_mul(filter.dims[2], filter.dims[3], &out->dims[c->channel], err) : HR_OK;
}

static hr_status conv_shape(hr_infer *s, hr_error *err)
{
    conv_attrs c;
    int64_t before[2];
    HR_TRY(conv_read(s->node, &c, err));
    if (s->input[0].rank < 0 || s->input[1].rank < 0) return HR_OK;
    HR_TRY(conv_out(&c, s->input[0], s->input[1], &s->output[0], before, err));
    for (int d = 0; d < 2; d++) /* TensorFlow runs it all the same */
        if (c.windows.padding != HR__WINDOWS_SAME && s->output[0].dims[c.windows.axis[d]] == 0)
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

typedef struct conv_work {
    const void *x, *w, *g; /* input, filter, gradient of the output */
    void *out;
    int64_t groups, depth, width; /* depth: input channels of a group; width: all channels of the output */
    hr__window_grid grid;
    hr__conv_tiles tiles; /* of floats */
} conv_work;

enum { CONV_BLOCK = 64 /* channels that are summed at once */ };

/* The output place whose window has filter place `f` at input place `at`. */
static bool conv_window(const hr__window_grid *g, int d, int64_t at, int64_t f, int64_t *o)
{
    const int64_t from = at + g->before[d] - f * g->dilation[d];
    *o = from / g->stride[d];
    return from >= 0 && from % g->stride[d] == 0 && *o < g->length[d];
}

/* The loops share this: sums of a block of channels, put into `to` with a step. */
#define CONV_BLOCKS(T, V, S, CHANNELS, TO, STEP, ...)                                                                  \
    for (int64_t c0 = 0; c0 < (CHANNELS); c0 += CONV_BLOCK) {                                                          \
        const int64_t n = (CHANNELS)-c0 < CONV_BLOCK ? (CHANNELS)-c0 : CONV_BLOCK;                                     \
        V sum[CONV_BLOCK] = {0};                                                                                       \
        __VA_ARGS__                                                                                                    \
        for (int64_t c = 0; c < n; c++) (TO)[(c0 + c) * (STEP)] = HR_PUT(S, T, sum[c]);                                \
    }
/* Adds to a block of output channels what channel `i` of their group of the input at `x` gives, times `y`. */
#define CONV_ADD(V, U, S, X, I, Y, STEP)                                                                               \
    for (int64_t c = 0, group = c0 / per_group, end = per_group - c0 % per_group; c < n; end += per_group, group++) {  \
        const V value = HR_GET(S, (X)[(group * p->depth + (I)) * grid->of_in.channel]);                                \
        for (; c < (end < n ? end : n); c++) sum[c] = (V)((U)sum[c] + (U)value * (U)HR_GET(S, (Y)[c * (STEP)]));       \
    }

#define CONV(T, V, U, D, S, A, B)                                                                                      \
    static void forward_##S(int64_t first, int64_t last, void *user)                                                   \
    {                                                                                                                  \
        const conv_work *p = user;                                                                                     \
        const hr__window_grid *grid = &p->grid;                                                                        \
        const int64_t per_group = p->width / p->groups;                                                                \
        for (int64_t item = first; item < last; item++) {                                                              \
            const hr__pixel pixel = hr__pixel_of(item, grid->length);                                                  \
            T *to = (T *)p->out + hr__pixel_at(&grid->of_out, pixel);                                                  \
            CONV_BLOCKS(                                                                                               \
                T, V, S, p->width, to, grid->of_out.channel,                                                           \
                for (int64_t f = 0, at; f < grid->filter[0] * grid->filter[1]; f++) {                                  \
                    if (!hr__window_at(grid, pixel, f, &at)) continue;                                                 \
                    const T *x = (const T *)p->x + at, *row = (const T *)p->w + f * p->depth * p->width + c0;          \
                    for (int64_t i = 0; i < p->depth; i++, row += p->width) CONV_ADD(V, U, S, x, i, row, 1)            \
                })                                                                                                     \
        }                                                                                                              \
    }                                                                                                                  \
    static void by_input_##S(int64_t first, int64_t last, void *user)                                                  \
    {                                                                                                                  \
        const conv_work *p = user;                                                                                     \
        const hr__window_grid *grid = &p->grid;                                                                        \
        const int64_t per_group = p->width / p->groups, step = grid->of_out.channel;                                   \
        for (int64_t item = first; item < last; item++) {                                                              \
            const hr__pixel pixel = hr__pixel_of(item, grid->in);                                                      \
            hr__pixel from = pixel;                                                                                    \
            T *to = (T *)p->out + hr__pixel_at(&grid->of_in, pixel);                                                   \
            CONV_BLOCKS(                                                                                               \
                T, V, S, p->groups * p->depth, to, grid->of_in.channel,                                                \
                for (int64_t f = 0; f < grid->filter[0] * grid->filter[1]; f++) {                                      \
                    if (!conv_window(grid, 0, pixel.h, f / grid->filter[1], &from.h) ||                                \
                        !conv_window(grid, 1, pixel.w, f % grid->filter[1], &from.w))                                  \
                        continue;                                                                                      \
                    const T *all = (const T *)p->g + hr__pixel_at(&grid->of_out, from);                                \
                    for (int64_t c = 0; c < n; c++) {                                                                  \
                        const int64_t group = (c0 + c) / p->depth, i = (c0 + c) % p->depth;                            \
                        const T *g = all + group * per_group * step;                                                   \
                        const T *row = (const T *)p->w + (f * p->depth + i) * p->width + group * per_group;            \
                        for (int64_t o = 0; o < per_group; o++)                                                        \
                            sum[c] = (V)((U)sum[c] + (U)HR_GET(S, g[o * step]) * (U)HR_GET(S, row[o]));                \
                    }                                                                                                  \
                })                                                                                                     \
        }                                                                                                              \
    }
#define CONV_BY_FILTER(T, V, U, D, S, A, B)                                                                            \
    static void by_filter_##S(int64_t first, int64_t last, void *user)                                                 \
    {                                                                                                                  \
        const conv_work *p = user;                                                                                     \
        const hr__window_grid *grid = &p->grid;                                                                        \
        const int64_t per_group = p->width / p->groups;                                                                \
        for (int64_t item = first; item < last; item++) {                                                              \
            T *to = (T *)p->out + item * p->width;                                                                     \
            CONV_BLOCKS(                                                                                               \
                T, V, S, p->width, to, 1,                                                                              \
                for (int64_t o = 0, at; o < grid->images * grid->length[0] * grid->length[1]; o++) {                   \
                    const hr__pixel pixel = hr__pixel_of(o, grid->length);                                             \
                    if (!hr__window_at(grid, pixel, item / p->depth, &at)) continue;                                   \
                    const T *x = (const T *)p->x + at,                                                                 \
                            *g = (const T *)p->g + hr__pixel_at(&grid->of_out, pixel) + c0 * grid->of_out.channel;     \
                    CONV_ADD(V, U, S, x, item % p->depth, g, grid->of_out.channel)                                     \
                })                                                                                                     \
        }                                                                                                              \
    }
HR_EACH_TYPE(CONV, ~, ~, floats, halves, int32)
HR_EACH_TYPE(CONV_BY_FILTER, ~, ~, floats, halves)

/* ---- compute ---- */

typedef void conv_fn(int64_t first, int64_t last, void *user);

/* Checks all shapes; `g` is the gradient of the output, NULL: forward. */
static hr_status conv_plan(hr_kernel *k, hr_shape in, hr_shape filter, const hr_tensor *g, conv_work *p, hr_shape *out,
                           hr_error *err)
{
    const conv_attrs *c = k->state;
    HR_TRY(conv_out(c, in, filter, out, p->grid.before, err));
    if (g) HR_TRY(hr__windows_check_gradient(g, *out, err));
    HR_TRY(conv_groups(c, in.dims[c->windows.channel], filter, &p->groups, err));
    if (c->depthwise) p->groups = filter.dims[2];
    p->depth = c->depthwise ? 1 : filter.dims[2];
    p->width = out->dims[c->windows.channel];
    hr__window_grid_of(&c->windows, in, filter.dims, *out, &p->grid);
    return HR_OK;
}

/* `user` of `fn` is `p`, or what begins with it. */
static hr_status conv_run(hr_kernel *k, conv_work *p, hr_shape shape, int64_t items, conv_fn *fn, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    p->out = out->data;
    p->tiles.out = out->data;
    if (out->count == 0) return HR_OK;
    const double products = (double)p->grid.images * (double)p->grid.length[0] * (double)p->grid.length[1] *
                            (double)p->grid.filter[0] * (double)p->grid.filter[1] * (double)p->depth * (double)p->width;
    hr_kernel_parallel(k, items, products * .15 / (double)items + 5, fn, p);
    return HR_OK;
}

static void conv_in_tiles(int64_t first, int64_t last, void *user)
{
    conv_work *p = user;
    hr__conv_tiles_pixels(first, last, &p->tiles);
}

/* Floats whose channels lie together go in tiles. */
static bool conv_fits_tiles(const hr_kernel *k, const conv_work *p)
{
    return hr_kernel_chosen(k)->dtype == HR_FLOAT && !((const conv_attrs *)k->state)->depthwise &&
           p->grid.of_in.channel == 1 && p->grid.of_out.channel == 1;
}

static void conv_take_tiles(conv_work *p, bool by_input)
{
    p->tiles = (hr__conv_tiles){.grid = p->grid,
                                .groups = p->groups,
                                .depth = p->depth,
                                .width = p->width / p->groups,
                                .x = p->x,
                                .w = p->w,
                                .g = p->g,
                                .by_input = by_input};
}

/* The loop over pixels. */
static conv_fn *conv_loop(hr_kernel *k, conv_work *p, bool by_input)
{
    if (conv_fits_tiles(k, p)) {
        conv_take_tiles(p, by_input);
        if (hr__conv_tiles_pack(k, &p->tiles)) return conv_in_tiles;
    }
    return (conv_fn *)hr_kernel_chosen(k)->run;
}

static hr_status conv_compute(hr_kernel *k, hr_error *err)
{
    conv_work p = {.x = k->input[0]->data, .w = k->input[1]->data};
    hr_shape out;
    HR_TRY(conv_plan(k, k->input[0]->shape, k->input[1]->shape, NULL, &p, &out, err));
    return conv_run(k, &p, out, p.grid.images * p.grid.length[0] * p.grid.length[1], conv_loop(k, &p, false), err);
}

static hr_status conv_by_input(hr_kernel *k, hr_error *err)
{
    conv_work p = {.w = k->input[1]->data, .g = k->input[2]->data};
    hr_shape in, out;
    HR_TRY(hr_shape_input(k->input[0], &in, err));
    HR_TRY(conv_plan(k, in, k->input[1]->shape, k->input[2], &p, &out, err));
    return conv_run(k, &p, in, p.grid.images * p.grid.in[0] * p.grid.in[1], conv_loop(k, &p, true), err);
}

static hr_status conv_by_filter(hr_kernel *k, hr_error *err)
{
    conv_work p = {.x = k->input[0]->data, .g = k->input[2]->data};
    hr_shape filter, out;
    HR_TRY(hr_shape_input(k->input[1], &filter, err));
    HR_TRY(conv_plan(k, k->input[0]->shape, filter, k->input[2], &p, &out, err));
    if (!conv_fits_tiles(k, &p) || hr_shape_count(filter) == 0 || hr_shape_count(out) == 0)
        return conv_run(k, &p, filter, p.grid.filter[0] * p.grid.filter[1] * p.depth,
                        (conv_fn *)hr_kernel_chosen(k)->run, err);
    hr_tensor *to;
    HR_TRY(hr_kernel_output(k, 0, filter, &to, err));
    conv_take_tiles(&p, false);
    p.tiles.out = to->data;
    return hr__conv_tiles_by_filter(k, &p.tiles, err);
}

/* ---- with a bias and what follows it ---- */

typedef struct conv_fused_state {
    conv_attrs attrs; /* where conv_plan looks for them */
    hr_epilogue epilogue;
} conv_fused_state;

typedef struct conv_fused_work {
    conv_work p;
    conv_fn *forward;
    const hr_epilogue *epilogue;
    const hr_tensor *bias;
} conv_fused_work;

static hr_status conv_prepare_fused(hr_node node, hr_session *session, void *state, hr_error *err)
{
    conv_fused_state *st = state;
    HR_TRY(conv_prepare(node, session, &st->attrs, err));
    if (!hr_attr_is(node, "data_format", "NHWC") || !hr_attr_is(node, "filter_format", "HWIO"))
        return hr_fail(err, HR_UNIMPLEMENTED, "graph.kernel", "expected data_format NHWC and filter_format HWIO");
    return hr_epilogue_read(node, &st->epilogue, err);
}

static void forward_fused(int64_t first, int64_t last, void *user)
{
    conv_fused_work *w = user;
    w->forward(first, last, &w->p);
    char *rows = (char *)w->p.out + (size_t)(first * w->p.width) * w->epilogue->size;
    hr_epilogue_run(w->epilogue, w->bias, rows, last - first);
}

static hr_status conv_fused_compute(hr_kernel *k, hr_error *err)
{
    const conv_fused_state *st = k->state;
    conv_fused_work w = {
        .p = {.x = k->input[0]->data, .w = k->input[1]->data}, .epilogue = &st->epilogue, .bias = k->input[2]};
    const hr__window_grid *grid = &w.p.grid;
    hr_shape out;
    HR_TRY(conv_plan(k, k->input[0]->shape, k->input[1]->shape, NULL, &w.p, &out, err));
    if (k->input[2]->dtype != k->input[0]->dtype)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.type", "expected a bias of the input's type");
    HR_TRY(hr_epilogue_check(k->input[2], w.p.width, err));
    w.forward = conv_loop(k, &w.p, false);
    return conv_run(k, &w.p, out, grid->images * grid->length[0] * grid->length[1], forward_fused, err);
}

/* ---- gradients ---- */

#define CONV_OP(NAME, SHAPES, COMPUTE, GRADIENT, ...)                                                                  \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .kernels = HR_KERNELS(__VA_ARGS__), SHAPES,                            \
        .state_size = sizeof(conv_attrs), .prepare = conv_prepare, .compute = COMPUTE, .gradient = GRADIENT,           \
    }

#define FORWARD .shapes = "[?,?,?,?], [?,?,?,?] -> [?,?,?,?]", .shape = conv_shape
#define BY_FILTER .shapes = "[?,?,?,?], ?, [?,?,?,?] -> shape(1)"
#define BY_INPUT .shapes = "?, [?,?,?,?], [?,?,?,?] -> shape(0)"
#define BY_INPUT_AND_GRADIENT BY_INPUT, .shape = conv_by_input_shape

const hr_graph_op hr_graph_ops_conv2d_ops[] = {
    CONV_OP("Conv2D", FORWARD, conv_compute, hr__conv_gradient, forward, floats, halves, int32),
    CONV_OP("Conv2DBackpropInput", BY_INPUT_AND_GRADIENT, conv_by_input, hr__conv_by_input_gradient, by_input, floats,
            halves, int32),
    CONV_OP("Conv2DBackpropFilter", BY_FILTER, conv_by_filter, hr__conv_by_filter_gradient, by_filter, floats, halves),
    CONV_OP("DepthwiseConv2dNative", FORWARD, conv_compute, hr__conv_gradient, forward, floats, halves),
    CONV_OP("DepthwiseConv2dNativeBackpropInput", BY_INPUT, conv_by_input, hr__conv_by_input_gradient, by_input, floats,
            halves),
    CONV_OP("DepthwiseConv2dNativeBackpropFilter", BY_FILTER, conv_by_filter, hr__conv_by_filter_gradient, by_filter,
            floats, halves),
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "_FusedConv2D",
        .kernels = HR_KERNELS(forward, floats),
        .shapes = "[?,?,?,?], [?,?,?,c], [c] -> [?,?,?,?]",
        .state_size = sizeof(conv_fused_state),
        .shape = conv_shape,
        .prepare = conv_prepare_fused,
        .compute = conv_fused_compute,
    },
    HR_GRAPH_OPS_END,
};

hr_node hr_convolution_with(hr_node x, hr_node filter, const hr_image_opts *opts)
{
    return hr__windows_node("Conv2D", (const hr_node[]){x, filter}, 2, NULL, &HR_OPTIONS(hr_image_opts, opts));
}

hr_node hr_depthwise_convolution_with(hr_node x, hr_node filter, const hr_image_opts *opts)
{
    return hr__windows_node("DepthwiseConv2dNative", (const hr_node[]){x, filter}, 2, NULL,
                            &HR_OPTIONS(hr_image_opts, opts));
}

hr_node hr_transposed_convolution_with(hr_node x, hr_node filter, hr_node shape, const hr_image_opts *opts)
{
    return hr__windows_node("Conv2DBackpropInput", (const hr_node[]){shape, filter, x}, 3, NULL,
                            &HR_OPTIONS(hr_image_opts, opts));
}
