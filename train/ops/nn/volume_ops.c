/* Convolutions and pools over volumes [n, depth, height, width, channels]: Conv3D, MaxPool3D, AvgPool3D, and their
 * derivatives. One item is a voxel of the output or the input, a row of the filter, or a volume. */
#include "train/ops/nn/windows.h"
#include <math.h>

/* Windows of one pair of shapes, in three dimensions. */
typedef struct volume {
    hr__windows windows;
    int64_t before[3], filter[3], in[3], out[3];
    int64_t images, depth, width; /* channels of the input, and of the output */
    const void *x, *w, *g;        /* input, filter, gradient of the output; NULL: not needed */
    const void *y;                /* output, of MaxPool3DGrad */
    void *to;
} volume;

/* ---- attributes and shapes ---- */

static hr_status volume_read(hr_node node, volume *v, hr_error *err)
{
    memset(v, 0, sizeof *v);
    if (hr_attr_is(node, "data_format", "NCDHW"))
        return hr_fail(err, HR_UNIMPLEMENTED, "graph.kernel", "expected data_format NDHWC");
    if (hr_node_attr(node, "ksize")) return hr__windows_read_pool(node, 3, &v->windows, v->filter, err);
    return hr__windows_read(node, 3, &v->windows, err);
}

/* The output of windows over `in`; lengths that are not known are -1. */
static hr_status volume_out(volume *v, hr_shape in, hr_shape *out, hr_error *err)
{
    HR_TRY(hr__windows_out(&v->windows, v->filter, in, out, v->before, err));
    memcpy(v->in, in.dims + 1, sizeof v->in);
    memcpy(v->out, out->dims + 1, sizeof v->out);
    v->images = in.dims[0];
    v->depth = v->width = in.dims[4];
    return HR_OK;
}

/* The same of a convolution by a filter [depth, height, width, in, out]. */
static hr_status volume_conv_out(volume *v, hr_shape in, hr_shape filter, hr_shape *out, hr_error *err)
{
    if (in.rank != 5 || filter.rank != 5)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected an input and a filter of rank 5, got %d and %d", in.rank, filter.rank);
    if (in.dims[4] >= 0 && filter.dims[3] >= 0 && in.dims[4] != filter.dims[3])
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected a filter of the input's channels, %lld, got one of %lld", (long long)in.dims[4],
                       (long long)filter.dims[3]);
    for (int d = 0; d < 3; d++) v->filter[d] = filter.dims[d];
    HR_TRY(volume_out(v, in, out, err));
    v->width = out->dims[4] = filter.dims[4];
    return HR_OK;
}

static hr_status volume_conv_shape(hr_infer *s, hr_error *err)
{
    volume v;
    HR_TRY(volume_read(s->node, &v, err));
    if (s->input[0].rank < 0 || s->input[1].rank < 0) return HR_OK;
    return volume_conv_out(&v, s->input[0], s->input[1], &s->output[0], err);
}

static hr_status volume_pool_shape(hr_infer *s, hr_error *err)
{
    volume v;
    HR_TRY(volume_read(s->node, &v, err));
    return s->input[0].rank < 0 ? HR_OK : volume_out(&v, s->input[0], &s->output[0], err);
}

static hr_status volume_grad_shape(hr_infer *s, hr_error *err)
{
    volume v;
    return volume_read(s->node, &v, err);
}

/* ---- loops ---- */

/* Place number `at` of a box. */
static void volume_place(int64_t at, const int64_t *box, int64_t *place)
{
    place[2] = at % box[2];
    place[1] = at / box[2] % box[1];
    place[0] = at / box[2] / box[1];
}

static int64_t volume_size(const int64_t *box) { return box[0] * box[1] * box[2]; }

/* The voxel of the input that filter place `f` of output place `out` lies on; -1: in the padding. */
static int64_t volume_input(const volume *v, const int64_t *out, int64_t f)
{
    int64_t place[3];
    volume_place(f, v->filter, place);
    for (int d = 0; d < 3; d++) {
        place[d] = out[d] * v->windows.stride[d] - v->before[d] + place[d] * v->windows.dilation[d];
        if (place[d] < 0 || place[d] >= v->in[d]) return -1;
    }
    return (place[0] * v->in[1] + place[1]) * v->in[2] + place[2];
}

/* The voxel of the output whose window has filter place `f` on input place `in`; -1: none. */
static int64_t volume_output(const volume *v, const int64_t *in, int64_t f)
{
    int64_t place[3];
    volume_place(f, v->filter, place);
    for (int d = 0; d < 3; d++) {
        const int64_t from = in[d] + v->before[d] - place[d] * v->windows.dilation[d];
        if (from < 0 || from % v->windows.stride[d] || from / v->windows.stride[d] >= v->out[d]) return -1;
        place[d] = from / v->windows.stride[d];
    }
    return (place[0] * v->out[1] + place[1]) * v->out[2] + place[2];
}

enum { VOLUME_BLOCK = 32 /* channels that are summed at once */ };

/* Sums of a block of `count` channels, which the statements add to, put into `to`. */
#define VOLUME_SUMS(T, V, S, COUNT, TO, ...)                                                                           \
    for (int64_t c0 = 0; c0 < (COUNT); c0 += VOLUME_BLOCK) {                                                           \
        const int64_t n = (COUNT)-c0 < VOLUME_BLOCK ? (COUNT)-c0 : VOLUME_BLOCK;                                       \
        V sum[VOLUME_BLOCK] = {0};                                                                                     \
        __VA_ARGS__                                                                                                    \
        for (int64_t c = 0; c < n; c++) (TO)[c0 + c] = HR_PUT(S, T, sum[c]);                                           \
    }
#define VOLUME_CONV(T, V, U, D, S, A, B)                                                                               \
    static void conv_##S(int64_t first, int64_t last, void *user)                                                      \
    {                                                                                                                  \
        const volume *v = user;                                                                                        \
        const int64_t voxels = volume_size(v->out), all = volume_size(v->in), places = volume_size(v->filter);         \
        for (int64_t item = first; item < last; item++) {                                                              \
            int64_t place[3];                                                                                          \
            volume_place(item % voxels, v->out, place);                                                                \
            VOLUME_SUMS(                                                                                               \
                T, V, S, v->width, (T *)v->to + item * v->width, for (int64_t f = 0; f < places; f++) {                \
                    const int64_t at = volume_input(v, place, f);                                                      \
                    if (at < 0) continue;                                                                              \
                    const T *x = (const T *)v->x + (item / voxels * all + at) * v->depth;                              \
                    const T *w = (const T *)v->w + f * v->depth * v->width + c0;                                       \
                    for (int64_t i = 0; i < v->depth; i++, w += v->width)                                              \
                        for (int64_t c = 0; c < n; c++) sum[c] += HR_GET(S, x[i]) * HR_GET(S, w[c]);                   \
                })                                                                                                     \
        }                                                                                                              \
    }                                                                                                                  \
    static void by_input_##S(int64_t first, int64_t last, void *user)                                                  \
    {                                                                                                                  \
        const volume *v = user;                                                                                        \
        const int64_t voxels = volume_size(v->in), all = volume_size(v->out), places = volume_size(v->filter);         \
        for (int64_t item = first; item < last; item++) {                                                              \
            int64_t place[3];                                                                                          \
            volume_place(item % voxels, v->in, place);                                                                 \
            VOLUME_SUMS(                                                                                               \
                T, V, S, v->depth, (T *)v->to + item * v->depth, for (int64_t f = 0; f < places; f++) {                \
                    const int64_t at = volume_output(v, place, f);                                                     \
                    if (at < 0) continue;                                                                              \
                    const T *g = (const T *)v->g + (item / voxels * all + at) * v->width;                              \
                    const T *w = (const T *)v->w + (f * v->depth + c0) * v->width;                                     \
                    for (int64_t c = 0; c < n; c++, w += v->width)                                                     \
                        for (int64_t o = 0; o < v->width; o++) sum[c] += HR_GET(S, g[o]) * HR_GET(S, w[o]);            \
                })                                                                                                     \
        }                                                                                                              \
    }                                                                                                                  \
    static void by_filter_##S(int64_t first, int64_t last, void *user)                                                 \
    {                                                                                                                  \
        const volume *v = user;                                                                                        \
        const int64_t voxels = volume_size(v->out), all = volume_size(v->in);                                          \
        for (int64_t item = first; item < last; item++)                                                                \
            VOLUME_SUMS(                                                                                               \
                T, V, S, v->width, (T *)v->to + item * v->width, for (int64_t o = 0; o < v->images * voxels; o++) {    \
                    int64_t place[3];                                                                                  \
                    volume_place(o % voxels, v->out, place);                                                           \
                    const int64_t at = volume_input(v, place, item / v->depth);                                        \
                    if (at < 0) continue;                                                                              \
                    const T x = ((const T *)v->x)[(o / voxels * all + at) * v->depth + item % v->depth];               \
                    const T *g = (const T *)v->g + o * v->width + c0;                                                  \
                    for (int64_t c = 0; c < n; c++) sum[c] += HR_GET(S, x) * HR_GET(S, g[c]);                          \
                })                                                                                                     \
    }
HR_EACH_TYPE(VOLUME_CONV, ~, ~, floats, halves)

/* A channel of a window at a time; a gradient's item is a whole volume, since windows overlap. TensorFlow gives the
 * gradient of a greatest value to all that are equal to it. */
#define VOLUME_POOL(T, V, U, D, S, A, B)                                                                               \
    static void max_##S(int64_t first, int64_t last, void *user)                                                       \
    {                                                                                                                  \
        const volume *v = user;                                                                                        \
        const int64_t voxels = volume_size(v->out), all = volume_size(v->in), places = volume_size(v->filter);         \
        for (int64_t at = first * v->depth; at < last * v->depth; at++) {                                              \
            const int64_t o = at / v->depth;                                                                           \
            const T *x = (const T *)v->x + o / voxels * all * v->depth + at % v->depth;                                \
            int64_t place[3];                                                                                          \
            V most = -INFINITY;                                                                                        \
            volume_place(o % voxels, v->out, place);                                                                   \
            for (int64_t f = 0; f < places; f++) {                                                                     \
                const int64_t in = volume_input(v, place, f);                                                          \
                if (in >= 0 && !(HR_GET(S, x[in * v->depth]) <= most)) most = HR_GET(S, x[in * v->depth]);             \
            }                                                                                                          \
            ((T *)v->to)[at] = HR_PUT(S, T, most);                                                                     \
        }                                                                                                              \
    }                                                                                                                  \
    static void avg_##S(int64_t first, int64_t last, void *user)                                                       \
    {                                                                                                                  \
        const volume *v = user;                                                                                        \
        const int64_t voxels = volume_size(v->out), all = volume_size(v->in), places = volume_size(v->filter);         \
        for (int64_t at = first * v->depth; at < last * v->depth; at++) {                                              \
            const int64_t o = at / v->depth;                                                                           \
            const T *x = (const T *)v->x + o / voxels * all * v->depth + at % v->depth;                                \
            int64_t place[3], count = 0;                                                                               \
            V sum = 0;                                                                                                 \
            volume_place(o % voxels, v->out, place);                                                                   \
            for (int64_t f = 0; f < places; f++) {                                                                     \
                const int64_t in = volume_input(v, place, f);                                                          \
                if (in >= 0) sum += HR_GET(S, x[in * v->depth]), count++;                                              \
            }                                                                                                          \
            ((T *)v->to)[at] = HR_PUT(S, T, sum / (V)count);                                                           \
        }                                                                                                              \
    }                                                                                                                  \
    static void pool_grad_##S(int64_t first, int64_t last, void *user)                                                 \
    {                                                                                                                  \
        const volume *v = user;                                                                                        \
        const int64_t voxels = volume_size(v->out), all = volume_size(v->in), places = volume_size(v->filter);         \
        for (int64_t at = first * voxels * v->depth; at < last * voxels * v->depth; at++) {                            \
            const int64_t o = at / v->depth, from = o / voxels * all * v->depth + at % v->depth;                       \
            const V slope = HR_GET(S, ((const T *)v->g)[at]);                                                          \
            int64_t place[3], count = 0;                                                                               \
            volume_place(o % voxels, v->out, place);                                                                   \
            for (int64_t f = 0; f < places && !v->x; f++) count += volume_input(v, place, f) >= 0;                     \
            for (int64_t f = 0; f < places; f++) {                                                                     \
                const int64_t in = volume_input(v, place, f), i = from + in * v->depth;                                \
                if (in < 0 || (v->x && HR_GET(S, ((const T *)v->x)[i]) != HR_GET(S, ((const T *)v->y)[at]))) continue; \
                T *to = (T *)v->to + i;                                                                                \
                *to = HR_PUT(S, T, HR_GET(S, *to) + (v->x ? slope : slope / (V)count));                                \
            }                                                                                                          \
        }                                                                                                              \
    }
HR_EACH_TYPE(VOLUME_POOL, ~, ~, float32, halves)

/* ---- compute ---- */

typedef void volume_fn(int64_t first, int64_t last, void *user);

/* Each item takes as many products as `each`. */
static hr_status volume_run(hr_kernel *k, volume *v, hr_shape shape, int64_t items, double each, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    v->to = out->data;
    if (out->count == 0) return HR_OK;
    memset(out->data, 0, (size_t)out->count * hr_dtype_size(out->dtype));
    hr_kernel_parallel(k, items, each * .3 + 5, (volume_fn *)hr_kernel_chosen(k)->run, v);
    return HR_OK;
}

static hr_status conv_compute(hr_kernel *k, hr_error *err)
{
    volume v;
    hr_shape out;
    HR_TRY(volume_read(k->node, &v, err));
    HR_TRY(volume_conv_out(&v, k->input[0]->shape, k->input[1]->shape, &out, err));
    v.x = k->input[0]->data;
    v.w = k->input[1]->data;
    return volume_run(k, &v, out, v.images * volume_size(v.out),
                      (double)volume_size(v.filter) * (double)v.depth * (double)v.width, err);
}

static hr_status by_input_compute(hr_kernel *k, hr_error *err)
{
    volume v;
    hr_shape in, out;
    HR_TRY(volume_read(k->node, &v, err));
    HR_TRY(hr_shape_input(k->input[0], &in, err));
    HR_TRY(volume_conv_out(&v, in, k->input[1]->shape, &out, err));
    HR_TRY(hr__windows_check_gradient(k->input[2], out, err));
    v.w = k->input[1]->data;
    v.g = k->input[2]->data;
    return volume_run(k, &v, in, v.images * volume_size(v.in),
                      (double)volume_size(v.filter) * (double)v.depth * (double)v.width, err);
}

static hr_status by_filter_compute(hr_kernel *k, hr_error *err)
{
    volume v;
    hr_shape filter, out;
    HR_TRY(volume_read(k->node, &v, err));
    HR_TRY(hr_shape_input(k->input[1], &filter, err));
    HR_TRY(volume_conv_out(&v, k->input[0]->shape, filter, &out, err));
    HR_TRY(hr__windows_check_gradient(k->input[2], out, err));
    v.x = k->input[0]->data;
    v.g = k->input[2]->data;
    return volume_run(k, &v, filter, volume_size(v.filter) * v.depth,
                      (double)v.images * (double)volume_size(v.out) * (double)v.width, err);
}

static hr_status pool_compute(hr_kernel *k, hr_error *err)
{
    volume v;
    hr_shape out;
    HR_TRY(volume_read(k->node, &v, err));
    HR_TRY(volume_out(&v, k->input[0]->shape, &out, err));
    v.x = k->input[0]->data;
    return volume_run(k, &v, out, v.images * volume_size(v.out), (double)volume_size(v.filter) * (double)v.depth, err);
}

/* Of the mean, input 0 is the shape of the input; of the greatest value, the input itself, and input 1 the output. */
static hr_status pool_grad_compute(hr_kernel *k, hr_error *err)
{
    const bool max = k->inputs == 3;
    const hr_tensor *g = k->input[max ? 2 : 1];
    volume v;
    hr_shape in = k->input[0]->shape, out;
    HR_TRY(volume_read(k->node, &v, err));
    if (!max) HR_TRY(hr_shape_input(k->input[0], &in, err));
    HR_TRY(volume_out(&v, in, &out, err));
    HR_TRY(hr__windows_check_gradient(g, out, err));
    if (max) {
        HR_TRY(hr__windows_check_gradient(k->input[1], out, err));
        if (k->input[0]->dtype != g->dtype)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.type", "expected an input of the gradient's type");
        v.x = k->input[0]->data;
        v.y = k->input[1]->data;
    }
    v.g = g->data;
    return volume_run(k, &v, in, v.images, (double)volume_size(v.out) * (double)volume_size(v.filter) * (double)v.depth,
                      err);
}

/* ---- gradients ---- */

static void max_gradient(hr_backward *b)
{
    const hr_node inputs[] = {b->input[0], b->output[0], b->grad[0]};
    hr_backward_give(b, 0, hr__windows_derived(b, "MaxPool3DGrad", inputs, 3));
}

static void avg_gradient(hr_backward *b)
{
    const hr_node inputs[] = {hr_shape_of(b->input[0]), b->grad[0]};
    hr_backward_give(b, 0, hr__windows_derived(b, "AvgPool3DGrad", inputs, 2));
}

static void avg_grad_gradient(hr_backward *b)
{
    hr_backward_give(b, 1, hr__windows_derived(b, "AvgPool3D", b->grad, 1));
}

#define FIVE "[?,?,?,?,?]"
#define VOLUME_OP(NAME, SHAPES, SHAPE, COMPUTE, GRADIENT, TYPES, ...)                                                  \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .types = TYPES, .kernels = HR_KERNELS(__VA_ARGS__), .shapes = SHAPES,  \
        .shape = SHAPE, .compute = COMPUTE, .gradient = GRADIENT,                                                      \
    }

const hr_graph_op hr_graph_ops_volume_ops[] = {
    VOLUME_OP("Conv3D", "[n,?,?,?,c], [?,?,?,c,o] -> [n,?,?,?,o]", volume_conv_shape, conv_compute, hr__conv_gradient,
              NULL, conv, floats, halves),
    VOLUME_OP("Conv3DBackpropInputV2", "?, " FIVE ", " FIVE " -> shape(0)", volume_grad_shape, by_input_compute,
              hr__conv_by_input_gradient, "Tshape:indices", by_input, floats, halves),
    VOLUME_OP("Conv3DBackpropFilterV2", FIVE ", ?, " FIVE " -> shape(1)", volume_grad_shape, by_filter_compute,
              hr__conv_by_filter_gradient, NULL, by_filter, floats, halves),
    VOLUME_OP("MaxPool3D", FIVE " -> " FIVE, volume_pool_shape, pool_compute, max_gradient, NULL, max, float32, halves),
    VOLUME_OP("MaxPool3DGrad", "=0", volume_grad_shape, pool_grad_compute, NULL, "TInput:{float,float16,bfloat16}",
              pool_grad, float32, halves),
    VOLUME_OP("AvgPool3D", FIVE " -> " FIVE, volume_pool_shape, pool_compute, avg_gradient, NULL, avg, float32, halves),
    VOLUME_OP("AvgPool3DGrad", "?, " FIVE " -> shape(0)", volume_grad_shape, pool_grad_compute, avg_grad_gradient, NULL,
              pool_grad, float32, halves),
    HR_GRAPH_OPS_END,
};

/* ---- constructors ---- */

/* Three numbers of options as the five of an attribute: one that is missing is as the one before it. */
static void volume_five(const int64_t *given, const int64_t *otherwise, int64_t *out)
{
    out[0] = out[4] = 1;
    for (int d = 0; d < 3; d++) out[1 + d] = given[d] ? given[d] : d && given[0] ? out[d] : otherwise[d];
}

/* `size`: a pool's window; NULL: a convolution. */
static hr_node volume_made(const char *op, const hr_node *inputs, int count, const int64_t *size,
                           const hr_volume_opts *o)
{
    static const char *const words[] = {"VALID", "SAME", "EXPLICIT"};
    static const int64_t ones[] = {1, 1, 1}, none[] = {0, 0, 0};
    int64_t strides[5], other[5];
    volume_five(o->strides, size ? size : ones, strides);
    volume_five(size ? none : o->dilations, size ? size : ones, other);
    if (size && (o->dilations[0] || o->dilations[1] || o->dilations[2]))
        return hr_node_fail(inputs[0].graph, HR_INVALID_ARGUMENT, "graph.attr",
                            "%s: expected no dilations, which pools lack", op);
    return hr_new_node(
        inputs[0].graph, op, .name = o->name, .inputs = inputs, .input_count = count,
        HR_ATTRS(HR_INTS_ATTR("strides", strides, 5), HR_INTS_ATTR(size ? "ksize" : "dilations", other, 5),
                 HR_STRING_ATTR("padding", (unsigned)o->padding <= HR_EXPLICIT ? words[o->padding] : "?")));
}

hr_node hr_convolution3d_with(hr_node x, hr_node filter, const hr_volume_opts *opts)
{
    return volume_made("Conv3D", (const hr_node[]){x, filter}, 2, NULL, &HR_OPTIONS(hr_volume_opts, opts));
}

hr_node hr_transposed_convolution3d_with(hr_node x, hr_node filter, hr_node shape, const hr_volume_opts *opts)
{
    return volume_made("Conv3DBackpropInputV2", (const hr_node[]){shape, filter, x}, 3, NULL,
                       &HR_OPTIONS(hr_volume_opts, opts));
}

hr_node hr_max_pool3d_with(hr_node x, int64_t depth, int64_t height, int64_t width, const hr_volume_opts *opts)
{
    return volume_made("MaxPool3D", &x, 1, HR_I64(depth, height, width), &HR_OPTIONS(hr_volume_opts, opts));
}

hr_node hr_avg_pool3d_with(hr_node x, int64_t depth, int64_t height, int64_t width, const hr_volume_opts *opts)
{
    return volume_made("AvgPool3D", &x, 1, HR_I64(depth, height, width), &HR_OPTIONS(hr_volume_opts, opts));
}
