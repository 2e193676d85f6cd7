/* MaxPoolWithArgmax: the greatest value of each window and channel, and where it lies; what flows back goes there. */
#include "train/ops/nn/windows.h"
#include <math.h>

typedef struct argmax_work {
    const void *x;
    void *out, *place;
    bool wide;            /* places are int64 */
    int64_t depth, image; /* values of an image; 0: places count from the first image */
    hr__window_grid grid;
} argmax_work;

/* An item is a pixel of the output. The first of equal values counts; in a window without values, none. */
#define ARGMAX(T, V, U, D, S, IS_NAN, B)                                                                               \
    static void argmax_##S(int64_t first, int64_t last, void *user)                                                    \
    {                                                                                                                  \
        const argmax_work *p = user;                                                                                   \
        for (int64_t i = first * p->depth; i < last * p->depth; i++) {                                                 \
            const hr__pixel pixel = hr__pixel_of(i / p->depth, p->grid.length);                                        \
            int64_t place = -1, at;                                                                                    \
            V most = 0;                                                                                                \
            for (int64_t f = 0; f < p->grid.filter[0] * p->grid.filter[1]; f++) {                                      \
                if (!hr__window_at(&p->grid, pixel, f, &at)) continue;                                                 \
                const V value = HR_GET(S, ((const T *)p->x)[at + i % p->depth]);                                       \
                if (place < 0 || value > most || IS_NAN(most)) most = value, place = at + i % p->depth;                \
            }                                                                                                          \
            ((T *)p->out)[i] = HR_PUT(S, T, most);                                                                     \
            place = place < 0 ? 0 : place - pixel.image * p->image;                                                    \
            if (p->wide)                                                                                               \
                ((int64_t *)p->place)[i] = place;                                                                      \
            else                                                                                                       \
                ((int32_t *)p->place)[i] = (int32_t)place;                                                             \
        }                                                                                                              \
    }
#define NEVER(x) false
HR_EACH_TYPE(ARGMAX, isnan, ~, floats, halves)
HR_EACH_TYPE(ARGMAX, NEVER, ~, ints)

static hr_status argmax_sizes(hr_node node, hr_shape in, hr__windows *w, int64_t *size, hr_shape *out, int64_t *before,
                              hr_error *err)
{
    int sizes;
    const int64_t *ksize = hr_attr_ints(node, "ksize", &sizes);
    HR_TRY(hr__windows_read(node, w, err));
    *out = in;
    if (sizes != 4 || ksize[0] != 1 || ksize[3] != 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr", "expected 4 numbers in ksize, 1 over batch and depth");
    for (int d = 0; d < 2; d++) {
        size[d] = ksize[1 + d];
        if (size[d] < 1 || size[d] > INT32_MAX)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr", "expected a ksize > 0, got %lld",
                           (long long)size[d]);
        HR_TRY(
            hr__windows_length(w, d, in.rank == 4 ? in.dims[1 + d] : -1, size[d], &out->dims[1 + d], &before[d], err));
    }
    return HR_OK;
}

static hr_status argmax_shape(hr_infer *s, hr_error *err)
{
    hr__windows w;
    int64_t size[2], before[2];
    hr_shape out;
    HR_TRY(argmax_sizes(s->node, s->input[0], &w, size, &out, before, err));
    if (s->input[0].rank == 4) s->output[0] = s->output[1] = out;
    return HR_OK;
}

static hr_status argmax_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    argmax_work p = {.x = in->data};
    hr__windows w;
    int64_t size[2];
    hr_shape shape;
    hr_tensor *out, *place;
    if (in->shape.rank != 4)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected an input of rank 4, got %d", in->shape.rank);
    HR_TRY(argmax_sizes(k->node, in->shape, &w, size, &shape, p.grid.before, err));
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    HR_TRY(hr_kernel_output(k, 1, shape, &place, err));
    p.wide = place->dtype == HR_INT64;
    if (!p.wide && in->count > INT32_MAX)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected at most %d values for int32 places, got %lld",
                       INT32_MAX, (long long)in->count);
    p.out = out->data;
    p.place = place->data;
    p.depth = in->shape.dims[3];
    p.image = hr_attr_bool(k->node, "include_batch_in_index") ? 0 : in->shape.dims[1] * in->shape.dims[2] * p.depth;
    hr__window_grid_of(&w, in->shape, size, shape, &p.grid);
    if (out->count == 0) return HR_OK;
    hr_kernel_parallel(k, out->count / p.depth, (double)p.depth * (double)size[0] * (double)size[1],
                       (void (*)(int64_t, int64_t, void *))hr_kernel_chosen(k)->run, &p);
    return HR_OK;
}

/* ---- what flows back ---- */

typedef void give_fn(const void *g, int64_t i, void *out, int64_t to);
#define GIVE(T, V, U, D, S, A, B)                                                                                      \
    static void give_##S(const void *g, int64_t i, void *out, int64_t to)                                              \
    {                                                                                                                  \
        ((T *)out)[to] = HR_PUT(S, T, (U)HR_GET(S, ((T *)out)[to]) + (U)HR_GET(S, ((const T *)g)[i]));                 \
    }
HR_EACH_TYPE(GIVE, ~, ~, floats, halves, ints)

static hr_status argmax_grad_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0], *g = k->input[1], *place = k->input[2];
    hr_tensor *out;
    if (in->shape.rank != 4 || !hr_shape_equal(g->shape, place->shape) || g->shape.rank != 4 ||
        g->shape.dims[0] != in->shape.dims[0])
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected images, and a gradient and places of one shape for as many, got ranks %d, %d, %d",
                       in->shape.rank, g->shape.rank, place->shape.rank);
    HR_TRY(hr_kernel_output(k, 0, in->shape, &out, err));
    if (out->count) memset(out->data, 0, (size_t)out->count * hr_dtype_size(out->dtype));
    const int64_t images = in->shape.dims[0], own = images ? in->count / images : 0,
                  each = images ? g->count / images : 0;
    const bool whole = hr_attr_bool(k->node, "include_batch_in_index");
    for (int64_t i = 0; i < g->count; i++) {
        const int64_t at = hr_int_at(place, i), most = whole ? in->count : own;
        if (at < 0 || at >= most)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index", "expected argmax in [0, %lld), got %lld",
                           (long long)most, (long long)at);
        ((give_fn *)hr_kernel_chosen(k)->run)(g->data, i, out->data, whole ? at : i / each * own + at);
    }
    return HR_OK;
}

static void argmax_gradient(hr_backward *b)
{
    static const char *const names[] = {"ksize", "strides", "padding", "include_batch_in_index"};
    hr_attr attrs[4];
    if (!hr_node_exists(b->grad[0])) return;
    for (int i = 0; i < 4; i++) attrs[i] = *hr_node_attr(b->node, names[i]);
    hr_backward_give(b, 0,
                     hr_new_node(b->graph, "MaxPoolGradWithArgmax", HR_INPUTS(b->input[0], b->grad[0], b->output[1]),
                                 .attrs = attrs, .attr_count = 4));
}

const hr_graph_op hr_graph_ops_max_pool_argmax_ops[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "MaxPoolWithArgmax",
        .shapes = "[b,?,?,c] -> [b,?,?,c], [b,?,?,c]",
        .shape = argmax_shape,
        .compute = argmax_compute,
        .gradient = argmax_gradient,
        .kernels = HR_KERNELS(argmax, floats, halves, ints),
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "MaxPoolGradWithArgmax",
        .shapes = "=0",
        .compute = argmax_grad_compute,
        .kernels = HR_KERNELS(give, floats, halves, ints),
    },
    HR_GRAPH_OPS_END,
};
