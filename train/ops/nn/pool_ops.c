/* MaxPool, AvgPool, MaxPoolWithArgmax, and their derivatives: the greatest value, with its place, or the mean, of each
 * window and channel. What lies in the padding does not count. */
#include "train/ops/nn/windows.h"
#include <math.h>

/* Of MaxPoolV2 and its derivative, whose last two inputs are ksize and strides. */
static hr_status pool_read_inputs(hr_node node, const hr_tensor *ksize, const hr_tensor *strides, hr__windows *w,
                                  int64_t *size, hr_error *err)
{
    int64_t sizes[4], stride[4];
    if (ksize->shape.rank != 1 || ksize->count != 4 || strides->shape.rank != 1 || strides->count != 4)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected 4 numbers in ksize and strides, got %lld, %lld", (long long)ksize->count,
                       (long long)strides->count);
    for (int i = 0; i < 4; i++) sizes[i] = hr_int_at(ksize, i), stride[i] = hr_int_at(strides, i);
    HR_TRY(hr__windows_read_strides(node, 2, stride, 4, w, err));
    return hr__windows_sizes(w, sizes, 4, size, err);
}

static hr_status pool_shape(hr_infer *s, hr_error *err)
{
    hr__windows w;
    int64_t size[2], before[2];
    HR_TRY(hr__windows_read_pool(s->node, 2, &w, size, err));
    if (s->input[0].rank < 0) return HR_OK;
    HR_TRY(hr__windows_out(&w, size, s->input[0], &s->output[0], before, err));
    for (int d = 0; d < 2; d++) /* TensorFlow runs it all the same */
        if (w.padding != HR__WINDOWS_SAME && s->output[0].dims[w.axis[d]] == 0)
            return hr_infer_refuse(s, err, "a window within the input");
    return HR_OK;
}

static hr_status pool_v2_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *ksize = hr_infer_value(s, 1), *strides = hr_infer_value(s, 2);
    hr__windows w;
    int64_t size[2], before[2];
    if (!ksize || !strides || s->input[0].rank < 0) return HR_OK;
    HR_TRY(pool_read_inputs(s->node, ksize, strides, &w, size, err));
    return hr__windows_out(&w, size, s->input[0], &s->output[0], before, err);
}

static hr_status pool_grad_shape(hr_infer *s, hr_error *err)
{
    hr__windows w;
    int64_t size[2];
    return hr__windows_read_pool(s->node, 2, &w, size, err);
}

typedef struct pool_work {
    const void *x, *g; /* NULL: not needed */
    void *out;
    int64_t depth;
    bool tiles; /* each place is in one window and no more */
    hr__window_grid grid;
} pool_work;

/* Forward, an item is a pixel of the output; backward it is an image. Some channels go together, each place of the
 * window for all of them: channels that lie together become vectors. */
enum { POOL_BLOCK = 64 };
#if defined(__GNUC__) && !defined(__clang__)
#define POOL_IVDEP _Pragma("GCC ivdep") /* what is read and written is not the same memory */
#else
#define POOL_IVDEP
#endif
#define POOL_CHANNELS(STEP, ...)                                                                                       \
    if ((STEP) == 1) {                                                                                                 \
        const int64_t next = 1;                                                                                        \
        POOL_IVDEP for (int64_t c = 0; c < n; c++) __VA_ARGS__                                                         \
    } else {                                                                                                           \
        const int64_t next = (STEP);                                                                                   \
        POOL_IVDEP for (int64_t c = 0; c < n; c++) __VA_ARGS__                                                         \
    }
/* TensorFlow takes the first of equal values, and NaN only where there is nothing else. */
#define FIND_MAX(T, V, S, IS_NAN)                                                                                      \
    V most[POOL_BLOCK] = {0};                                                                                          \
    HR__EACH_PLACE(part)                                                                                               \
    {                                                                                                                  \
        const T *x = (const T *)p->x + at + c0 * grid->of_in.channel;                                                  \
        const bool is_first = at == part.from;                                                                         \
        POOL_CHANNELS(grid->of_in.channel, {                                                                           \
            const V value = HR_GET(S, x[c * next]);                                                                    \
            most[c] = is_first || value > most[c] || IS_NAN(most[c]) ? value : most[c];                                \
        })                                                                                                             \
    }
#define EACH_POOL_BLOCK                                                                                                \
    for (int64_t c0 = 0, n; n = p->depth - c0 < POOL_BLOCK ? p->depth - c0 : POOL_BLOCK, c0 < p->depth; c0 += n)
/* Pixels [FROM, TO) of the output. */
#define EACH_POOL_PIXEL(FROM, TO)                                                                                      \
    hr__pixel pixel = hr__pixel_of(FROM, grid->length);                                                                \
    for (int64_t item = FROM; item < (TO); item++, hr__pixel_next(&pixel, grid->length))
#define MAX_POOL(T, V, U, D, S, IS_NAN, B)                                                                             \
    static void max_##S(int64_t first, int64_t last, void *user)                                                       \
    {                                                                                                                  \
        const pool_work *p = user;                                                                                     \
        const hr__window_grid *grid = &p->grid;                                                                        \
        EACH_POOL_PIXEL(first, last)                                                                                   \
        {                                                                                                              \
            const hr__window_part part = hr__window_part_of(grid, pixel);                                              \
            T *to = (T *)p->out + hr__pixel_at(&grid->of_out, pixel);                                                  \
            EACH_POOL_BLOCK                                                                                            \
            {                                                                                                          \
                FIND_MAX(T, V, S, IS_NAN)                                                                              \
                for (int64_t c = 0; c < n; c++) to[(c0 + c) * grid->of_out.channel] = HR_PUT(S, T, most[c]);           \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void max_grad_##S(int64_t first, int64_t last, void *user)                                                  \
    {                                                                                                                  \
        const pool_work *p = user;                                                                                     \
        const hr__window_grid *grid = &p->grid;                                                                        \
        const int64_t pixels = grid->length[0] * grid->length[1];                                                      \
        EACH_POOL_PIXEL(first *pixels, last *pixels)                                                                   \
        {                                                                                                              \
            const hr__window_part part = hr__window_part_of(grid, pixel);                                              \
            EACH_POOL_BLOCK                                                                                            \
            {                                                                                                          \
                const T *g = (const T *)p->g + hr__pixel_at(&grid->of_out, pixel) + c0 * grid->of_out.channel;         \
                FIND_MAX(T, V, S, IS_NAN)                                                                              \
                V left[POOL_BLOCK]; /* of the gradient, until the place is found that it belongs to */                 \
                for (int64_t c = 0; c < n; c++) left[c] = HR_GET(S, g[c * grid->of_out.channel]);                      \
                HR__EACH_PLACE(part)                                                                                   \
                {                                                                                                      \
                    const T *x = (const T *)p->x + at + c0 * grid->of_in.channel;                                      \
                    T *to = (T *)p->out + at + c0 * grid->of_in.channel;                                               \
                    const bool is_last = at == part.to, tiles = p->tiles;                                              \
                    POOL_CHANNELS(grid->of_in.channel, {                                                               \
                        const bool here = (HR_GET(S, x[c * next]) == most[c]) | (is_last & !!IS_NAN(most[c]));         \
                        const V share = here ? left[c] : 0;                                                            \
                        const V before = tiles ? 0 : HR_GET(S, to[c * next]);                                          \
                        to[c * next] = HR_PUT(S, T, (U)before + (U)share);                                             \
                        left[c] = here ? 0 : left[c];                                                                  \
                    })                                                                                                 \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void max_grad_grad_##S(int64_t first, int64_t last, void *user)                                             \
    {                                                                                                                  \
        const pool_work *p = user;                                                                                     \
        const hr__window_grid *grid = &p->grid;                                                                        \
        EACH_POOL_PIXEL(first, last)                                                                                   \
        {                                                                                                              \
            const hr__window_part part = hr__window_part_of(grid, pixel);                                              \
            EACH_POOL_BLOCK                                                                                            \
            {                                                                                                          \
                T *to = (T *)p->out + hr__pixel_at(&grid->of_out, pixel) + c0 * grid->of_out.channel;                  \
                FIND_MAX(T, V, S, IS_NAN)                                                                              \
                bool found[POOL_BLOCK] = {false};                                                                      \
                HR__EACH_PLACE(part)                                                                                   \
                {                                                                                                      \
                    const T *x = (const T *)p->x + at + c0 * grid->of_in.channel;                                      \
                    const T *g = (const T *)p->g + at + c0 * grid->of_in.channel;                                      \
                    const bool is_last = at == part.to;                                                                \
                    POOL_CHANNELS(grid->of_in.channel, {                                                               \
                        const bool here = HR_GET(S, x[c * next]) == most[c] || (is_last && IS_NAN(most[c]));           \
                        if (here && !found[c]) to[c * grid->of_out.channel] = g[c * next];                             \
                        found[c] |= here;                                                                              \
                    })                                                                                                 \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }
#define AVG_POOL(T, V, U, D, S, A, B)                                                                                  \
    static void avg_##S(int64_t first, int64_t last, void *user)                                                       \
    {                                                                                                                  \
        const pool_work *p = user;                                                                                     \
        const hr__window_grid *grid = &p->grid;                                                                        \
        EACH_POOL_PIXEL(first, last)                                                                                   \
        {                                                                                                              \
            const hr__window_part part = hr__window_part_of(grid, pixel);                                              \
            T *to = (T *)p->out + hr__pixel_at(&grid->of_out, pixel);                                                  \
            const V count = (V)hr__window_part_count(&part);                                                           \
            EACH_POOL_BLOCK                                                                                            \
            {                                                                                                          \
                V sum[POOL_BLOCK] = {0};                                                                               \
                HR__EACH_PLACE(part)                                                                                   \
                {                                                                                                      \
                    const T *x = (const T *)p->x + at + c0 * grid->of_in.channel;                                      \
                    POOL_CHANNELS(grid->of_in.channel, { sum[c] += HR_GET(S, x[c * next]); })                          \
                }                                                                                                      \
                for (int64_t c = 0; c < n; c++) to[(c0 + c) * grid->of_out.channel] = HR_PUT(S, T, sum[c] / count);    \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void avg_grad_##S(int64_t first, int64_t last, void *user)                                                  \
    {                                                                                                                  \
        const pool_work *p = user;                                                                                     \
        const hr__window_grid *grid = &p->grid;                                                                        \
        const int64_t pixels = grid->length[0] * grid->length[1];                                                      \
        EACH_POOL_PIXEL(first *pixels, last *pixels)                                                                   \
        {                                                                                                              \
            const hr__window_part part = hr__window_part_of(grid, pixel);                                              \
            const T *g = (const T *)p->g + hr__pixel_at(&grid->of_out, pixel);                                         \
            const V count = (V)hr__window_part_count(&part);                                                           \
            HR__EACH_PLACE(part)                                                                                       \
            {                                                                                                          \
                T *to = (T *)p->out + at;                                                                              \
                for (int64_t c = 0; c < p->depth; c++) {                                                               \
                    const V share = HR_GET(S, g[c * grid->of_out.channel]) / count;                                    \
                    to[c * grid->of_in.channel] = HR_PUT(S, T, HR_GET(S, to[c * grid->of_in.channel]) + share);        \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }
#define NEVER(x) false
HR_EACH_TYPE(MAX_POOL, isnan, ~, floats, halves)
HR_EACH_TYPE(MAX_POOL, NEVER, ~, ints)
HR_EACH_TYPE(AVG_POOL, ~, ~, floats, halves)

/* ---- compute ---- */

typedef void pool_fn(int64_t first, int64_t last, void *user);

/* They lie side by side, and reach all of the input. */
static bool windows_are_tiles(const hr__window_grid *g)
{
    bool tiles = true;
    for (int d = 0; d < 2; d++)
        tiles = tiles && g->dilation[d] == 1 && g->before[d] == 0 && g->filter[d] == g->stride[d] &&
                g->length[d] <= INT32_MAX && g->length[d] * g->filter[d] == g->in[d];
    return tiles;
}

/* `back`: g is shaped as the pool's output, and what is made as its input `in`; else the other way round. */
static hr_status pool_run(hr_kernel *k, hr_shape in, const hr_tensor *x, const hr_tensor *g, bool back, hr_error *err)
{
    pool_work p = {.x = x ? x->data : NULL, .g = g ? g->data : NULL};
    hr__windows w;
    int64_t size[2];
    hr_shape shape;
    hr_tensor *out;
    if (hr_node_attr(k->node, "ksize"))
        HR_TRY(hr__windows_read_pool(k->node, 2, &w, size, err));
    else
        HR_TRY(pool_read_inputs(k->node, k->input[k->inputs - 2], k->input[k->inputs - 1], &w, size, err));
    HR_TRY(hr__windows_out(&w, size, in, &shape, p.grid.before, err));
    if (g) HR_TRY(hr__windows_check_gradient(g, back ? shape : in, err));
    HR_TRY(hr_kernel_output(k, 0, back ? in : shape, &out, err));
    p.out = out->data;
    p.depth = in.dims[w.channel];
    hr__window_grid_of(&w, in, size, shape, &p.grid);
    if (out->count == 0) return HR_OK;
    p.tiles = x && windows_are_tiles(&p.grid);
    if (back && !p.tiles) memset(out->data, 0, (size_t)out->count * hr_dtype_size(out->dtype));
    const int64_t pixels = shape.dims[w.axis[0]] * shape.dims[w.axis[1]];
    const double each = (double)p.depth * (double)size[0] * (double)size[1];
    hr_kernel_parallel(k, back ? in.dims[0] : in.dims[0] * pixels, back ? each * (double)pixels : each,
                       (pool_fn *)hr_kernel_chosen(k)->run, &p);
    return HR_OK;
}

static hr_status pool_compute(hr_kernel *k, hr_error *err)
{
    return pool_run(k, k->input[0]->shape, k->input[0], NULL, false, err);
}

static hr_status max_grad_compute(hr_kernel *k, hr_error *err)
{
    HR_TRY(hr__windows_check_gradient(k->input[2], k->input[1]->shape, err));
    return pool_run(k, k->input[0]->shape, k->input[0], k->input[2], true, err);
}

/* The gradient at the place of each window's greatest value. */
static hr_status max_grad_grad_compute(hr_kernel *k, hr_error *err)
{
    return pool_run(k, k->input[0]->shape, k->input[0], k->input[2], false, err);
}

static hr_status avg_grad_compute(hr_kernel *k, hr_error *err)
{
    hr_shape in;
    HR_TRY(hr_shape_input(k->input[0], &in, err));
    return pool_run(k, in, NULL, k->input[1], true, err);
}

/* ---- the greatest value and its place; what flows back goes there ---- */

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
            const hr__window_part part = hr__window_part_of(&p->grid, pixel);                                          \
            int64_t place = -1;                                                                                        \
            V most = 0;                                                                                                \
            HR__EACH_PLACE(part)                                                                                       \
            {                                                                                                          \
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
HR_EACH_TYPE(ARGMAX, isnan, ~, floats, halves)
HR_EACH_TYPE(ARGMAX, NEVER, ~, ints)

static hr_status argmax_shape(hr_infer *s, hr_error *err)
{
    hr__windows w;
    int64_t size[2], before[2];
    hr_shape out;
    HR_TRY(hr__windows_read_pool(s->node, 2, &w, size, err));
    if (s->input[0].rank < 0) return HR_OK;
    HR_TRY(hr__windows_out(&w, size, s->input[0], &out, before, err));
    s->output[0] = s->output[1] = out;
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
    HR_TRY(hr__windows_read_pool(k->node, 2, &w, size, err));
    HR_TRY(hr__windows_out(&w, size, in->shape, &shape, p.grid.before, err));
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
                       (pool_fn *)hr_kernel_chosen(k)->run, &p);
    return HR_OK;
}

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

/* ---- gradients ---- */

static void max_gradient(hr_backward *b)
{
    const hr_node inputs[] = {b->input[0], b->output[0], b->grad[0]};
    hr_backward_give(b, 0, hr__windows_derived(b, "MaxPoolGrad", inputs, 3));
}

static void max_v2_gradient(hr_backward *b)
{
    const hr_node inputs[] = {b->input[0], b->output[0], b->grad[0], b->input[1], b->input[2]};
    hr_backward_give(b, 0, hr__windows_derived(b, "MaxPoolGradV2", inputs, 5));
}

/* Each is linear in the gradient that it takes; which place is the greatest does not change. */
static void give_max_grad(hr_backward *b, const char *op)
{
    hr_node inputs[5] = {b->input[0], b->input[1], b->grad[0]};
    for (int i = 3; i < b->inputs; i++) inputs[i] = b->input[i];
    for (int i = 0; i < 2; i++) hr_backward_give(b, i, hr_zeros_like(b->input[i]));
    hr_backward_give(b, 2, hr__windows_derived(b, op, inputs, b->inputs));
}

static void max_grad_gradient(hr_backward *b) { give_max_grad(b, "MaxPoolGradGrad"); }
static void max_grad_v2_gradient(hr_backward *b) { give_max_grad(b, "MaxPoolGradGradV2"); }
static void max_grad_grad_gradient(hr_backward *b) { give_max_grad(b, "MaxPoolGrad"); }
static void max_grad_grad_v2_gradient(hr_backward *b) { give_max_grad(b, "MaxPoolGradV2"); }

static void avg_gradient(hr_backward *b)
{
    const hr_node inputs[] = {hr_shape_of(b->input[0]), b->grad[0]};
    hr_backward_give(b, 0, hr__windows_derived(b, "AvgPoolGrad", inputs, 2));
}

static void avg_grad_gradient(hr_backward *b) { hr_backward_give(b, 1, hr__windows_derived(b, "AvgPool", b->grad, 1)); }

static void argmax_gradient(hr_backward *b)
{
    const hr_node inputs[] = {b->input[0], b->grad[0], b->output[1]};
    if (hr_node_exists(b->grad[0])) hr_backward_give(b, 0, hr__windows_derived(b, "MaxPoolGradWithArgmax", inputs, 3));
}

#define POOL(NAME, SHAPES, SHAPE, COMPUTE, GRADIENT, ...)                                                              \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .shapes = SHAPES, .shape = SHAPE, .compute = COMPUTE,                \
        .gradient = GRADIENT, .kernels = HR_KERNELS(__VA_ARGS__),                                                      \
    }

const hr_graph_op hr_graph_ops_pool_ops[] = {
    POOL("MaxPool", "[?,?,?,?] -> [?,?,?,?]", pool_shape, pool_compute, max_gradient, max, floats, halves, ints),
    POOL("MaxPoolGrad", "=0", pool_grad_shape, max_grad_compute, max_grad_gradient, max_grad, floats, halves, ints),
    POOL("MaxPoolGradGrad", "=1", pool_grad_shape, max_grad_grad_compute, max_grad_grad_gradient, max_grad_grad, floats,
         halves, ints),
    POOL("MaxPoolV2", "[?,?,?,?], [4], [4] -> [?,?,?,?]", pool_v2_shape, pool_compute, max_v2_gradient, max, floats,
         halves, ints),
    POOL("MaxPoolGradV2", "=0", NULL, max_grad_compute, max_grad_v2_gradient, max_grad, floats, halves, ints),
    POOL("MaxPoolGradGradV2", "=1", NULL, max_grad_grad_compute, max_grad_grad_v2_gradient, max_grad_grad, floats,
         halves, ints),
    POOL("AvgPool", "[?,?,?,?] -> [?,?,?,?]", pool_shape, pool_compute, avg_gradient, avg, floats, halves),
    POOL("AvgPoolGrad", "?, [?,?,?,?] -> shape(0)", pool_grad_shape, avg_grad_compute, avg_grad_gradient, avg_grad,
         floats, halves),
    POOL("MaxPoolWithArgmax", "[b,?,?,c] -> [b,?,?,c], [b,?,?,c]", argmax_shape, argmax_compute, argmax_gradient,
         argmax, floats, halves, ints),
    POOL("MaxPoolGradWithArgmax", "=0", NULL, argmax_grad_compute, NULL, give, floats, halves, ints),
    HR_GRAPH_OPS_END,
};

hr_node hr_max_pool_with(hr_node x, int64_t height, int64_t width, const hr_image_opts *opts)
{
    return hr__windows_node("MaxPool", &x, 1, HR_I64(height, width), &HR_OPTIONS(hr_image_opts, opts));
}

hr_node hr_avg_pool_with(hr_node x, int64_t height, int64_t width, const hr_image_opts *opts)
{
    return hr__windows_node("AvgPool", &x, 1, HR_I64(height, width), &HR_OPTIONS(hr_image_opts, opts));
}

/* Rows are images of height 1. */
static hr_node pool_rows(const char *op, hr_node x, int64_t width, const hr_image_opts *opts)
{
    hr_image_opts o = HR_OPTIONS(hr_image_opts, opts);
    const int axis = o.channels_first ? 2 : 1;
    if (!hr_node_exists(x)) return x;
    const hr_node image = hr_expand_dims(x, hr_scalar(x.graph, HR_INT32, axis));
    o.strides[1] = o.strides[0] ? o.strides[0] : width;
    o.strides[0] = 1;
    return hr_squeeze(hr__windows_node(op, &image, 1, HR_I64(1, width), &o), HR_I64(axis), 1);
}

hr_node hr_max_pool1d_with(hr_node x, int64_t width, const hr_image_opts *opts)
{
    return pool_rows("MaxPool", x, width, opts);
}

hr_node hr_avg_pool1d_with(hr_node x, int64_t width, const hr_image_opts *opts)
{
    return pool_rows("AvgPool", x, width, opts);
}
