/* Boxes cut out of images, each in one size. A box [y1, x1, y2, x2] is in parts of the image's height and width. */
#include <headrace/images.h>
#include <headrace/kernels.h>
#include <math.h>

typedef struct cropping {
    const void *image; /* or what flows back */
    const float *boxes, *g;
    const int32_t *of; /* the image of each box */
    void *out;
    int64_t boxes_count, in[2], to[2], depth, images;
    float outside;
    bool nearest;
} cropping;

/* Where in the image place `i` of box `b` lies along an axis, 0 or 1; false: outside. */
static bool crop_at(const cropping *c, int64_t b, int axis, int64_t i, float *at)
{
    const float from = c->boxes[4 * b + axis], to = c->boxes[4 * b + axis + 2], last = (float)(c->in[axis] - 1);
    const float scale = c->to[axis] > 1 ? (to - from) * last / (float)(c->to[axis] - 1) : 0;
    *at = c->to[axis] > 1 ? from * last + (float)i * scale : .5f * (from + to) * last;
    return *at >= 0 && *at <= last;
}

/* The four pixels around a place, and how far between them it lies. */
typedef struct corner {
    int64_t at[2][2]; /* values from the first one of the image */
    float y, x;
} corner;

/* Beyond 2^24 floats are not exact: they may round to the place after the last one. */
static int64_t within(float place, int64_t length)
{
    const int64_t at = (int64_t)place;
    return at < length ? at : length - 1;
}

static bool corner_of(const cropping *c, int64_t b, int64_t i, int64_t j, corner *out)
{
    float y, x;
    if (!crop_at(c, b, 0, i, &y) || !crop_at(c, b, 1, j, &x)) return false;
    const int64_t row[] = {within(c->nearest ? roundf(y) : floorf(y), c->in[0]), within(ceilf(y), c->in[0])};
    const int64_t column[] = {within(c->nearest ? roundf(x) : floorf(x), c->in[1]), within(ceilf(x), c->in[1])};
    for (int p = 0; p < 4; p++)
        out->at[p / 2][p % 2] = ((c->of[b] * c->in[0] + row[p / 2]) * c->in[1] + column[p % 2]) * c->depth;
    out->y = c->nearest ? 0 : y - floorf(y);
    out->x = c->nearest ? 0 : x - floorf(x);
    return true;
}

#define CROP(T, V, U, D, S, A, B)                                                                                      \
    static void crop_##S(int64_t first, int64_t last, void *user)                                                      \
    {                                                                                                                  \
        const cropping *c = user;                                                                                      \
        const T *image = c->image;                                                                                     \
        float *out = (float *)c->out + first * c->to[1] * c->depth;                                                    \
        for (int64_t p = first * c->to[1]; p < last * c->to[1]; p++, out += c->depth) {                                \
            corner k;                                                                                                  \
            const bool inside = corner_of(c, p / c->to[1] / c->to[0], p / c->to[1] % c->to[0], p % c->to[1], &k);      \
            for (int64_t d = 0; d < c->depth; d++) {                                                                   \
                out[d] = c->outside;                                                                                   \
                if (!inside) continue;                                                                                 \
                const float a = (float)HR_GET(S, image[k.at[0][0] + d]);                                               \
                out[d] = a;                                                                                            \
                if (c->nearest) continue;                                                                              \
                const float b = (float)HR_GET(S, image[k.at[0][1] + d]), e = (float)HR_GET(S, image[k.at[1][0] + d]),  \
                            f = (float)HR_GET(S, image[k.at[1][1] + d]);                                               \
                const float top = a + (b - a) * k.x, bottom = e + (f - e) * k.x;                                       \
                out[d] = top + (bottom - top) * k.y;                                                                   \
            }                                                                                                          \
        }                                                                                                              \
    }
HR_EACH_TYPE(CROP, ~, ~, floats, halves, ints)

/* All boxes one after the other, since they may overlap; `out` is cleared before. */
typedef void crop_back_fn(const cropping *c);
#define CROP_BACK(T, V, U, D, S, A, B)                                                                                 \
    static void crop_back_##S(const cropping *c)                                                                       \
    {                                                                                                                  \
        const int64_t box = c->to[0] * c->to[1];                                                                       \
        for (int64_t p = 0; p < c->boxes_count * box; p++) {                                                           \
            corner k;                                                                                                  \
            if (!corner_of(c, p / box, p / c->to[1] % c->to[0], p % c->to[1], &k)) continue;                           \
            for (int64_t d = 0; d < c->depth; d++)                                                                     \
                for (int q = 0; q < (c->nearest ? 1 : 4); q++) {                                                       \
                    T *to = (T *)c->out + k.at[q / 2][q % 2] + d;                                                      \
                    const float weight = (q / 2 ? k.y : 1 - k.y) * (q % 2 ? k.x : 1 - k.x);                            \
                    *to = HR_PUT(S, T, HR_GET(S, *to) + weight * c->g[p * c->depth + d]);                              \
                }                                                                                                      \
        }                                                                                                              \
    }
HR_EACH_TYPE(CROP_BACK, ~, ~, floats, halves)

/* How the value of a place changes as the sides of its box move. */
#define BOX_BACK(T, V, U, D, S, A, B)                                                                                  \
    static void box_back_##S(const cropping *c)                                                                        \
    {                                                                                                                  \
        const int64_t box = c->to[0] * c->to[1];                                                                       \
        const T *image = c->image;                                                                                     \
        for (int64_t p = 0; p < c->boxes_count * box; p++) {                                                           \
            const int64_t place[] = {p / c->to[1] % c->to[0], p % c->to[1]};                                           \
            float by[2] = {0, 0}, *out = (float *)c->out + p / box * 4;                                                \
            corner k;                                                                                                  \
            if (!corner_of(c, p / box, place[0], place[1], &k)) continue;                                              \
            for (int64_t d = 0; d < c->depth; d++) {                                                                   \
                const float a = (float)HR_GET(S, image[k.at[0][0] + d]), b = (float)HR_GET(S, image[k.at[0][1] + d]),  \
                            e = (float)HR_GET(S, image[k.at[1][0] + d]), f = (float)HR_GET(S, image[k.at[1][1] + d]);  \
                const float g = c->g[p * c->depth + d];                                                                \
                by[0] += ((1 - k.x) * (e - a) + k.x * (f - b)) * g;                                                    \
                by[1] += ((1 - k.y) * (b - a) + k.y * (f - e)) * g;                                                    \
            }                                                                                                          \
            for (int axis = 0; axis < 2; axis++) {                                                                     \
                const float last = (float)(c->in[axis] - 1);                                                           \
                const float far = c->to[axis] > 1 ? (float)place[axis] * last / (float)(c->to[axis] - 1) : .5f * last; \
                out[axis] += by[axis] * (last - far);                                                                  \
                out[axis + 2] += by[axis] * far;                                                                       \
            }                                                                                                          \
        }                                                                                                              \
    }
HR_EACH_TYPE(BOX_BACK, ~, ~, floats, halves, ints)

/* ---- compute ---- */

/* Checks boxes, and that each is of an image that is there. */
static hr_status read_boxes(const hr_kernel *k, const hr_tensor *boxes, const hr_tensor *of, hr_shape image,
                            cropping *c, hr_error *err)
{
    const hr_view method = hr_attr_string(k->node, "method");
    if (image.rank != 4 || image.dims[1] < 1 || image.dims[2] < 1 || image.dims[1] >= INT32_MAX ||
        image.dims[2] >= INT32_MAX || boxes->shape.rank != 2 || boxes->shape.dims[1] != 4 || of->shape.rank != 1 ||
        of->shape.dims[0] != boxes->shape.dims[0])
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected images [n, height, width, channels] of non-zero size, boxes [m, 4], box_ind [m], got "
                       "ranks %d, %d, %d",
                       image.rank, boxes->shape.rank, of->shape.rank);
    *c = (cropping){.boxes = boxes->data,
                    .of = of->data,
                    .boxes_count = of->count,
                    .in = {image.dims[1], image.dims[2]},
                    .depth = image.dims[3],
                    .images = image.dims[0],
                    .outside = hr_attr_float(k->node, "extrapolation_value"),
                    .nearest = method.size == 7};
    for (int64_t i = 0; i < of->count; i++)
        if (c->of[i] < 0 || c->of[i] >= c->images)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.index",
                           "box_index has values outside [0, batch_size): %d of %lld", (int)c->of[i],
                           (long long)c->images);
    return HR_OK;
}

static hr_status crop_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *image = k->input[0], *size = k->input[3];
    const int32_t *to = size->data;
    cropping c;
    hr_tensor *out;
    HR_TRY(read_boxes(k, k->input[1], k->input[2], image->shape, &c, err));
    for (int64_t i = 0; i < 4 * c.boxes_count; i++)
        if (!isfinite(c.boxes[i]))
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range",
                           "expected finite numbers in boxes, got %g in box %lld", (double)c.boxes[i],
                           (long long)(i / 4));
    if (size->shape.rank != 1 || size->count != 2 || to[0] < 1 || to[1] < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected a crop_size of two numbers above 0, got %lld numbers", (long long)size->count);
    c.to[0] = to[0], c.to[1] = to[1];
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(c.boxes_count, c.to[0], c.to[1], c.depth), &out, err));
    if (out->count == 0) return HR_OK;
    c.image = image->data;
    c.out = out->data;
    hr_kernel_parallel(k, c.boxes_count * c.to[0], 10 * (double)c.to[1] * (double)c.depth,
                       (void (*)(int64_t, int64_t, void *))hr_kernel_chosen(k)->run, &c);
    return HR_OK;
}

/* What flows back has the crops' shape. */
static hr_status read_crops(const hr_tensor *g, cropping *c, hr_error *err)
{
    if (g->shape.rank != 4 || g->shape.dims[0] != c->boxes_count || g->shape.dims[3] != c->depth)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected a gradient of %lld boxes and %lld channels, got rank %d", (long long)c->boxes_count,
                       (long long)c->depth, g->shape.rank);
    c->g = g->data;
    c->to[0] = g->shape.dims[1], c->to[1] = g->shape.dims[2];
    return HR_OK;
}

static hr_status run_back(hr_kernel *k, cropping *c, hr_shape shape, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    if (out->count == 0) return HR_OK;
    memset(out->data, 0, (size_t)out->count * hr_dtype_size(out->dtype));
    c->out = out->data;
    if (c->to[0] > 0 && c->to[1] > 0) ((crop_back_fn *)hr_kernel_chosen(k)->run)(c);
    return HR_OK;
}

static hr_status crop_back_compute(hr_kernel *k, hr_error *err)
{
    cropping c;
    hr_shape image;
    HR_TRY(hr_shape_input(k->input[3], &image, err));
    HR_TRY(read_boxes(k, k->input[1], k->input[2], image, &c, err));
    HR_TRY(read_crops(k->input[0], &c, err));
    return run_back(k, &c, image, err);
}

static hr_status box_back_compute(hr_kernel *k, hr_error *err)
{
    cropping c;
    HR_TRY(read_boxes(k, k->input[2], k->input[3], k->input[1]->shape, &c, err));
    HR_TRY(read_crops(k->input[0], &c, err));
    c.image = k->input[1]->data;
    return run_back(k, &c, k->input[2]->shape, err);
}

static hr_status crop_shape(hr_infer *s, hr_error *err)
{
    hr_shape size;
    (void)err;
    if (hr_infer_numbers(s, 3, &size) && size.rank == 2)
        for (int i = 0; i < 2; i++) s->output[0].dims[1 + i] = size.dims[i];
    return HR_OK;
}

static void crop_gradient(hr_backward *b)
{
    const hr_attr method = *hr_node_attr(b->node, "method");
    const hr_dtype dtype = hr_node_dtype(b->input[0]);
    const hr_node image = b->input[0], boxes = b->input[1], of = b->input[2];
    if (dtype == HR_FLOAT || dtype == HR_DOUBLE || dtype == HR_HALF)
        hr_backward_give(b, 0,
                         hr_new_node(b->graph, "CropAndResizeGradImage",
                                     HR_INPUTS(b->grad[0], boxes, of, hr_shape_of(image)),
                                     HR_ATTRS(HR_TYPE_ATTR("T", dtype), method)));
    hr_backward_give(b, 1, hr_new_node(b->graph, "CropAndResizeGradBoxes", HR_INPUTS(b->grad[0], image, boxes, of)));
}

const hr_graph_op hr_graph_ops_crop_ops[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "CropAndResize",
        .shapes = "[?,?,?,c], [n,4], [n], [2] -> [n,?,?,c]",
        .shape = crop_shape,
        .compute = crop_compute,
        .gradient = crop_gradient,
        .kernels = HR_KERNELS(crop, floats, halves, ints),
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "CropAndResizeGradImage",
        .shapes = "[n,?,?,c], [n,4], [n], [4] -> shape(3)",
        .compute = crop_back_compute,
        .kernels = HR_KERNELS(crop_back, floats, halves),
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "CropAndResizeGradBoxes",
        .shapes = "[n,?,?,c], [?,?,?,c], [n,4], [n] -> [n,4]",
        .compute = box_back_compute,
        .kernels = HR_KERNELS(box_back, floats, halves, ints),
    },
    HR_GRAPH_OPS_END,
};

hr_node hr_crop_and_resize_with(hr_node images, hr_node boxes, hr_node box_indices, int64_t height, int64_t width,
                                const hr_crop_opts *opts)
{
    const hr_crop_opts o = HR_OPTIONS(hr_crop_opts, opts);
    return hr_new_node(
        images.graph, "CropAndResize", .name = o.name,
        HR_INPUTS(images, boxes, box_indices, hr_ints(images.graph, (const int64_t[]){height, width}, 2)),
        HR_ATTRS(HR_STRING_ATTR("method", o.nearest ? "nearest" : "bilinear"),
                 HR_FLOAT_ATTR("extrapolation_value", o.outside)));
}
