/* Images in other sizes. Along each axis, a place of the output takes some places of the input with a weight each, its
 * taps; the derivative gives them back with the same weights. Places are computed in float, as TensorFlow does. */
#include <headrace/images.h>
#include <headrace/kernels.h>
#include <float.h>
#include <math.h>

/* The taps along one axis: `count` for each place. A weight of 0 is none. */
typedef struct taps {
    int64_t count;
    int64_t *place;
    float *weight;
} taps;

/* How an op's attributes map one axis. */
typedef struct mapping {
    bool corners, centers;
    float scale;
    int64_t in, out;
} mapping;

static mapping mapping_of(hr_node node, int64_t in, int64_t out)
{
    mapping m = {hr_attr_bool(node, "align_corners"), hr_attr_bool(node, "half_pixel_centers"), 0, in, out};
    m.scale = m.corners && out > 1 ? (float)(in - 1) / (float)(out - 1) : (float)in / (float)out;
    return m;
}

static float source_of(const mapping *m, int64_t place)
{
    return m->centers ? ((float)place + .5f) * m->scale - .5f : (float)place * m->scale;
}

static int64_t bound(int64_t place, int64_t length) { return place < 0 ? 0 : place < length ? place : length - 1; }

static void two_taps(const mapping *m, int64_t i, int64_t *place, float *weight)
{
    const float at = source_of(m, i), lower = floorf(at);
    place[1] = bound((int64_t)ceilf(at), m->in);
    place[0] = (int64_t)lower < 0 ? 0 : (int64_t)lower < place[1] ? (int64_t)lower : place[1];
    weight[1] = at - lower;
    weight[0] = 1 - weight[1];
}

/* A cubic spline in steps of 1/1024. About centers, places outside of the image weigh nothing, else they are those at
 * the border. */
static void four_taps(const mapping *m, int64_t i, int64_t *place, float *weight)
{
    const float at = source_of(m, i), lower = floorf(at), a = m->centers ? -.5f : -.75f;
    const float part = (float)lrintf((at - lower) * 1024) / 1024;
    float sum = 0;
    for (int t = 0; t < 4; t++) {
        const int64_t wanted = (int64_t)lower - 1 + t;
        const float x = t < 2 ? part + (float)(1 - t) : 1 - part + (float)(t - 2);
        place[t] = bound(wanted, m->in);
        weight[t] = t == 1 || t == 2 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
        if (m->centers && place[t] != wanted) weight[t] = 0;
        sum += weight[t];
    }
    for (int t = 0; m->centers && t < 4 && fabsf(sum) >= 1000 * FLT_MIN; t++) weight[t] *= 1 / sum;
}

/* The share that a place has of the length that becomes one place. From one corner to itself there is no area; its value
 * counts. */
static void area_taps(const mapping *m, int64_t i, int64_t *place, float *weight, int64_t count)
{
    const float from = (float)i * m->scale, to = (float)(i + 1) * m->scale;
    for (int64_t t = 0; t < count; t++) {
        const float at = floorf(from) + (float)t, end = at + 1 < to ? at + 1 : to, begin = at > from ? at : from;
        place[t] = bound((int64_t)at, m->in);
        weight[t] = end > begin ? (end - begin) / m->scale : m->scale == 0 ? 1 : 0;
    }
}

static hr_status make_taps(hr_kernel *k, const mapping *m, taps *out, hr_error *err)
{
    const bool area = hr_node_is(k->node, "ResizeArea");
    const bool cubic = strncmp(hr_node_op(k->node), "ResizeBicubic", 13) == 0;
    out->count = area ? (int64_t)ceilf(m->scale) + 1 : cubic ? 4 : 2;
    int64_t all;
    HR_TRY(hr_dim_mul(m->out, out->count, &all, err));
    HR_TRY(hr_kernel_array(k, all, sizeof *out->place, "the places of an image", &out->place, err));
    HR_TRY(hr_kernel_array(k, all, sizeof *out->weight, "the places of an image", &out->weight, err));
    for (int64_t i = 0; i < m->out; i++) {
        int64_t *place = out->place + i * out->count;
        float *weight = out->weight + i * out->count;
        if (area)
            area_taps(m, i, place, weight, out->count);
        else
            (cubic ? four_taps : two_taps)(m, i, place, weight);
    }
    return HR_OK;
}

/* Of the image that is read, and of the one that is written. */
typedef struct resizing {
    const void *small; /* what flows back, of a derivative; else the input */
    void *out;
    int64_t in[2], to[2], depth, images;
    taps along[2];
} resizing;

#define RESIZE(T, V, U, D, S, A, B)                                                                                    \
    static void resize_##S(int64_t first, int64_t last, void *user)                                                    \
    {                                                                                                                  \
        const resizing *r = user;                                                                                      \
        const taps *down = &r->along[0], *across = &r->along[1];                                                       \
        const int64_t d = r->depth;                                                                                    \
        for (int64_t row = first; row < last; row++) {                                                                 \
            const T *image = (const T *)r->small + row / r->to[0] * r->in[0] * r->in[1] * d;                           \
            float *out = (float *)r->out + row * r->to[1] * d;                                                         \
            memset(out, 0, (size_t)(r->to[1] * d) * sizeof *out);                                                      \
            for (int64_t i = row % r->to[0] * down->count; i < (row % r->to[0] + 1) * down->count; i++)                \
                for (int64_t j = 0; j < r->to[1] * across->count; j++) {                                               \
                    const T *from = image + (down->place[i] * r->in[1] + across->place[j]) * d;                        \
                    const float weight = down->weight[i] * across->weight[j];                                          \
                    float *to = out + j / across->count * d;                                                           \
                    for (int64_t c = 0; c < d && weight != 0; c++) to[c] += weight * (float)HR_GET(S, from[c]);        \
                }                                                                                                      \
        }                                                                                                              \
    }
HR_EACH_TYPE(RESIZE, ~, ~, floats, halves, ints)

/* Image by image: `out` is cleared before. */
#define GIVE_BACK(T, V, U, D, S, A, B)                                                                                 \
    static void give_back_##S(int64_t first, int64_t last, void *user)                                                 \
    {                                                                                                                  \
        const resizing *r = user;                                                                                      \
        const taps *down = &r->along[0], *across = &r->along[1];                                                       \
        const int64_t d = r->depth;                                                                                    \
        for (int64_t row = first * r->to[0]; row < last * r->to[0]; row++) {                                           \
            T *image = (T *)r->out + row / r->to[0] * r->in[0] * r->in[1] * d;                                         \
            const float *g = (const float *)r->small + row * r->to[1] * d;                                             \
            for (int64_t i = row % r->to[0] * down->count; i < (row % r->to[0] + 1) * down->count; i++)                \
                for (int64_t j = 0; j < r->to[1] * across->count; j++) {                                               \
                    T *to = image + (down->place[i] * r->in[1] + across->place[j]) * d;                                \
                    const float weight = down->weight[i] * across->weight[j];                                          \
                    for (int64_t c = 0; c < d && weight != 0; c++)                                                     \
                        to[c] = HR_PUT(S, T, HR_GET(S, to[c]) + weight * g[j / across->count * d + c]);                \
                }                                                                                                      \
        }                                                                                                              \
    }
HR_EACH_TYPE(GIVE_BACK, ~, ~, floats, halves)

/* ---- shapes ---- */

static hr_status check_images(hr_shape in, hr_error *err)
{
    char text[128];
    if (in.rank == 4 && in.dims[1] > 0 && in.dims[2] > 0 && in.dims[1] < INT32_MAX && in.dims[2] < INT32_MAX)
        return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                   "input must be 4-dimensional, [n, height, width, channels], of non-zero size, got %s",
                   hr_shape_text(in, text, sizeof text));
}

static hr_status check_attrs(hr_node node, hr_error *err)
{
    if (!hr_attr_bool(node, "align_corners") || !hr_attr_bool(node, "half_pixel_centers")) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.attr",
                   "if half_pixel_centers is true, align_corners must be false");
}

static hr_status size_of_output(const hr_tensor *size, hr_shape *shape, hr_error *err)
{
    const int32_t *to = size->data;
    if (size->shape.rank != 1 || size->count != 2 || to[0] < 1 || to[1] < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected a size of two numbers above 0, got %lld numbers", (long long)size->count);
    shape->dims[1] = to[0];
    shape->dims[2] = to[1];
    return HR_OK;
}

static hr_status resize_shape(hr_infer *s, hr_error *err)
{
    hr_shape size;
    (void)err;
    if (hr_infer_numbers(s, 1, &size) && size.rank == 2)
        for (int i = 0; i < 2; i++) s->output[0].dims[1 + i] = size.dims[i];
    return HR_OK;
}

/* ---- weights ---- */

static hr_status prepare_taps(hr_kernel *k, resizing *r, hr_shape in, hr_shape to, hr_error *err)
{
    r->images = in.dims[0];
    r->depth = in.dims[3];
    for (int i = 0; i < 2; i++) {
        r->in[i] = in.dims[1 + i];
        r->to[i] = to.dims[1 + i];
        const mapping m = mapping_of(k->node, r->in[i], r->to[i]);
        HR_TRY(make_taps(k, &m, &r->along[i], err));
    }
    return HR_OK;
}

static double resize_cost(const resizing *r)
{
    return (double)r->to[1] * (double)r->depth * (double)r->along[0].count * (double)r->along[1].count;
}

static hr_status resize_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    resizing r = {.small = in->data};
    hr_shape shape = in->shape;
    hr_tensor *out;
    HR_TRY(check_attrs(k->node, err));
    HR_TRY(check_images(shape, err));
    HR_TRY(size_of_output(k->input[1], &shape, err));
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    if (out->count == 0) return HR_OK;
    r.out = out->data;
    HR_TRY(prepare_taps(k, &r, in->shape, shape, err));
    hr_kernel_parallel(k, r.images * r.to[0], resize_cost(&r),
                       (void (*)(int64_t, int64_t, void *))hr_kernel_chosen(k)->run, &r);
    return HR_OK;
}

static hr_status resize_grad_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *g = k->input[0];
    const hr_shape in = k->input[1]->shape;
    resizing r = {.small = g->data};
    hr_tensor *out;
    HR_TRY(check_attrs(k->node, err));
    HR_TRY(check_images(in, err));
    HR_TRY(check_images(g->shape, err));
    if (g->shape.dims[0] != in.dims[0] || g->shape.dims[3] != in.dims[3])
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected as many images and channels in the gradient as in the image, got %lld and %lld",
                       (long long)g->shape.dims[0], (long long)in.dims[0]);
    HR_TRY(hr_kernel_output(k, 0, in, &out, err));
    if (out->count == 0) return HR_OK;
    r.out = out->data;
    memset(out->data, 0, (size_t)out->count * hr_dtype_size(out->dtype));
    HR_TRY(prepare_taps(k, &r, in, g->shape, err));
    hr_kernel_parallel(k, r.images, resize_cost(&r) * (double)r.to[0],
                       (void (*)(int64_t, int64_t, void *))hr_kernel_chosen(k)->run, &r);
    return HR_OK;
}

/* ---- the nearest place: values of any type are copied ---- */

static int64_t nearest_of(const mapping *m, int64_t place)
{
    const float at = m->centers ? ((float)place + .5f) * m->scale : (float)place * m->scale;
    return bound((int64_t)(m->corners ? roundf(at) : floorf(at)), m->in);
}

static hr_status nearest_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    hr_shape shape = in->shape;
    hr_tensor *out;
    HR_TRY(check_attrs(k->node, err));
    HR_TRY(check_images(shape, err));
    HR_TRY(size_of_output(k->input[1], &shape, err));
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    const mapping down = mapping_of(k->node, in->shape.dims[1], shape.dims[1]);
    const mapping across = mapping_of(k->node, in->shape.dims[2], shape.dims[2]);
    const size_t pixel = (size_t)shape.dims[3] * hr_dtype_size(in->dtype);
    if (pixel == 0) return HR_OK;
    char *to = out->data;
    for (int64_t row = 0; row < shape.dims[0] * down.out; row++) {
        const int64_t y = row / down.out * down.in + nearest_of(&down, row % down.out);
        for (int64_t x = 0; x < across.out; x++, to += pixel)
            memcpy(to, (const char *)in->data + (size_t)(y * across.in + nearest_of(&across, x)) * pixel, pixel);
    }
    return HR_OK;
}

typedef void nearest_add_fn(const void *g, void *out, int64_t count);
#define NEAREST_ADD(T, V, U, D, S, A, B)                                                                               \
    static void nearest_add_##S(const void *g, void *out, int64_t count)                                               \
    {                                                                                                                  \
        T *to = out;                                                                                                   \
        for (int64_t i = 0; i < count; i++)                                                                            \
            to[i] = HR_PUT(S, T, (U)HR_GET(S, to[i]) + (U)HR_GET(S, ((const T *)g)[i]));                               \
    }
HR_EACH_TYPE(NEAREST_ADD, ~, ~, floats, halves, ints)

/* Input 1 is the size of the images that were resized. */
static hr_status nearest_grad_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *g = k->input[0];
    hr_shape shape = g->shape;
    hr_tensor *out;
    HR_TRY(check_images(shape, err));
    HR_TRY(size_of_output(k->input[1], &shape, err));
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    if (out->count == 0) return HR_OK;
    memset(out->data, 0, (size_t)out->count * hr_dtype_size(out->dtype));
    const mapping down = mapping_of(k->node, shape.dims[1], g->shape.dims[1]);
    const mapping across = mapping_of(k->node, shape.dims[2], g->shape.dims[2]);
    const int64_t depth = shape.dims[3];
    const size_t pixel = (size_t)depth * hr_dtype_size(g->dtype);
    const char *from = g->data;
    for (int64_t row = 0; row < shape.dims[0] * down.out; row++) {
        const int64_t y = row / down.out * down.in + nearest_of(&down, row % down.out);
        for (int64_t x = 0; x < across.out; x++, from += pixel)
            ((nearest_add_fn *)hr_kernel_chosen(k)->run)(
                from, (char *)out->data + (size_t)(y * across.in + nearest_of(&across, x)) * pixel, depth);
    }
    return HR_OK;
}

/* ---- gradients ---- */

static hr_node with_attrs(const hr_backward *b, const char *op, hr_node x, hr_node y)
{
    return hr_new_node(b->graph, op, HR_INPUTS(x, y),
                       HR_ATTRS(HR_BOOL_ATTR("align_corners", hr_attr_bool(b->node, "align_corners")),
                                HR_BOOL_ATTR("half_pixel_centers", hr_attr_bool(b->node, "half_pixel_centers"))));
}

static void bilinear_gradient(hr_backward *b)
{
    hr_backward_give(b, 0, with_attrs(b, "ResizeBilinearGrad", b->grad[0], b->input[0]));
}

static void bicubic_gradient(hr_backward *b)
{
    hr_backward_give(b, 0, with_attrs(b, "ResizeBicubicGrad", b->grad[0], b->input[0]));
}

static void nearest_gradient(hr_backward *b)
{
    const int64_t first = 1, end = 3;
    const hr_node size = hr_strided_slice(hr_shape_of(b->input[0]), {.begin = &first, .end = &end});
    hr_backward_give(b, 0, with_attrs(b, "ResizeNearestNeighborGrad", b->grad[0], size));
}

#define SIZED(NAME, COMPUTE, GRADIENT, KERNELS)                                                                        \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .shapes = "[b,?,?,c], [2] -> [b,?,?,c]", .shape = resize_shape,      \
        .compute = COMPUTE, .gradient = GRADIENT, .kernels = KERNELS,                                                  \
    }
#define BACK(NAME)                                                                                                     \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .shapes = "[b,?,?,c], [b,h,w,c] -> [b,h,w,c]",                       \
        .compute = resize_grad_compute, .kernels = HR_KERNELS(give_back, floats, halves),                              \
    }

const hr_graph_op hr_graph_ops_resize_ops[] = {
    SIZED("ResizeBilinear", resize_compute, bilinear_gradient, HR_KERNELS(resize, floats, halves, ints)),
    SIZED("ResizeBicubic", resize_compute, bicubic_gradient, HR_KERNELS(resize, floats, halves, ints)),
    SIZED("ResizeArea", resize_compute, NULL, HR_KERNELS(resize, floats, halves, ints)),
    SIZED("ResizeNearestNeighbor", nearest_compute, nearest_gradient, NULL),
    SIZED("ResizeNearestNeighborGrad", nearest_grad_compute, NULL, HR_KERNELS(nearest_add, floats, halves, ints)),
    BACK("ResizeBilinearGrad"),
    BACK("ResizeBicubicGrad"),
    HR_GRAPH_OPS_END,
};

hr_node hr_resize_images_with(hr_node images, int64_t height, int64_t width, const hr_resize_opts *opts)
{
    static const char *const ops[] = {"ResizeBilinear", "ResizeNearestNeighbor", "ResizeBicubic", "ResizeArea"};
    const hr_resize_opts o = HR_OPTIONS(hr_resize_opts, opts);
    const hr_node size = hr_ints(images.graph, (const int64_t[]){height, width}, 2);
    if (o.method > HR_RESIZE_AREA)
        return hr_node_fail(images.graph, HR_INVALID_ARGUMENT, "graph.argument",
                            "hr_resize_images: expected a method, got %d", (int)o.method);
    const hr_attr attrs[] = {HR_BOOL_ATTR("align_corners", o.align_corners),
                             HR_BOOL_ATTR("half_pixel_centers", !o.align_corners && !o.corners)};
    return hr_new_node(images.graph, ops[o.method], .name = o.name, HR_INPUTS(images, size), .attrs = attrs,
                       .attr_count = o.method == HR_RESIZE_AREA ? 1 : 2);
}
