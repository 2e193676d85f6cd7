/* FusedBatchNorm and FusedBatchNormV3 with their derivatives: channels shifted and scaled by their mean and variance. LRN
 * with its derivative: values divided by what the channels beside them make up. L2Loss. */
#include <headrace/kernels.h>
#include <math.h>
#include <string.h>

/* ---- batch normalization ---- */

/* All before the channels, and all after them. `mean` and `variance` are those that are used, or come out of it. */
typedef struct norm_work {
    const void *x, *g;
    void *out;
    const float *scale, *offset;
    float *mean, *variance, *by_scale, *by_offset;
    int64_t before, channels, after;
    double epsilon;
    bool training;
} norm_work;

enum { NORM_BLOCK = 16 /* channels that one item has: a cache line, where channels are last */ };

static bool norm_channels_first(hr_node node) { return hr_attr_string(node, "data_format").data[1] == 'C'; }

#define NORM_EACH(...)                                                                                                 \
    for (int64_t i = 0; i < w->before; i++)                                                                            \
        for (int64_t c = c0; c < end; c++)                                                                             \
            for (int64_t j = 0; j < w->after; j++) {                                                                   \
                const int64_t at = (i * w->channels + c) * w->after + j;                                               \
                __VA_ARGS__                                                                                            \
            }
#define NORM(T, V, U, D, S, A, B)                                                                                      \
    static void norm_##S(int64_t first, int64_t last, void *user)                                                      \
    {                                                                                                                  \
        const norm_work *w = user;                                                                                     \
        const T *x = w->x;                                                                                             \
        const double n = (double)(w->before * w->after);                                                               \
        for (int64_t c0 = first * NORM_BLOCK; c0 < last * NORM_BLOCK && c0 < w->channels; c0 += NORM_BLOCK) {          \
            const int64_t end = c0 + NORM_BLOCK < w->channels ? c0 + NORM_BLOCK : w->channels;                         \
            double mean[NORM_BLOCK] = {0}, variance[NORM_BLOCK] = {0}, factor[NORM_BLOCK];                             \
            if (w->training) {                                                                                         \
                NORM_EACH(mean[c - c0] += HR_GET(S, x[at]);)                                                           \
                for (int64_t c = c0; c < end; c++) mean[c - c0] /= n;                                                  \
                NORM_EACH(const double d = HR_GET(S, x[at]) - mean[c - c0]; variance[c - c0] += d * d;)                \
                for (int64_t c = c0; c < end; c++)                                                                     \
                    w->mean[c] = (float)mean[c - c0], w->variance[c] = (float)(variance[c - c0] / n);                  \
            }                                                                                                          \
            for (int64_t c = c0; c < end; c++)                                                                         \
                mean[c - c0] = w->mean[c], factor[c - c0] = w->scale[c] / sqrt(w->variance[c] + w->epsilon);           \
            T *y = w->out;                                                                                             \
            NORM_EACH(y[at] = HR_PUT(S, T, (HR_GET(S, x[at]) - mean[c - c0]) * factor[c - c0] + w->offset[c]);)        \
        }                                                                                                              \
    }                                                                                                                  \
    static void norm_grad_##S(int64_t first, int64_t last, void *user)                                                 \
    {                                                                                                                  \
        const norm_work *w = user;                                                                                     \
        const T *x = w->x, *g = w->g;                                                                                  \
        const double n = (double)(w->before * w->after);                                                               \
        for (int64_t c0 = first * NORM_BLOCK; c0 < last * NORM_BLOCK && c0 < w->channels; c0 += NORM_BLOCK) {          \
            const int64_t end = c0 + NORM_BLOCK < w->channels ? c0 + NORM_BLOCK : w->channels;                         \
            double sum[NORM_BLOCK] = {0}, product[NORM_BLOCK] = {0}, factor[NORM_BLOCK];                               \
            for (int64_t c = c0; c < end; c++) factor[c - c0] = 1 / sqrt(w->variance[c] + w->epsilon);                 \
            NORM_EACH(const double slope = HR_GET(S, g[at]), d = HR_GET(S, x[at]) - (double)w->mean[c];                \
                      sum[c - c0] += slope; product[c - c0] += slope * d * factor[c - c0];)                            \
            for (int64_t c = c0; c < end; c++) {                                                                       \
                w->by_offset[c] = (float)sum[c - c0];                                                                  \
                w->by_scale[c] = (float)product[c - c0];                                                               \
                sum[c - c0] /= n;                                                                                      \
                product[c - c0] *= factor[c - c0] / n;                                                                 \
            }                                                                                                          \
            T *y = w->out;                                                                                             \
            NORM_EACH(double slope = HR_GET(S, g[at]); const double d = HR_GET(S, x[at]) - (double)w->mean[c];         \
                      if (w->training) slope -= sum[c - c0] + d * product[c - c0];                                     \
                      y[at] = HR_PUT(S, T, slope * w->scale[c] * factor[c - c0]);)                                     \
        }                                                                                                              \
    }
HR_EACH_TYPE(NORM, ~, ~, float32, halves)

static hr_status norm_axis(hr_node node, hr_shape x, int *axis, hr_error *err)
{
    if (x.rank != 4 && x.rank != 5)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected images of rank 4 or 5, got rank %d", x.rank);
    *axis = norm_channels_first(node) ? 1 : x.rank - 1;
    return HR_OK;
}

/* Outputs after the first have a value for each channel, up to output `count`; those beyond are `rest`. */
static hr_status norm_infer(hr_infer *s, int x, int vector, int vectors, int count, hr_shape rest, hr_error *err)
{
    hr_shape channels = HR_SHAPE(-1);
    int axis = 0;
    for (int i = vector; i < vector + vectors; i++)
        if (!hr_shape_merge(channels, s->input[i], &channels))
            return hr_infer_refuse(s, err, "vectors of as many values as there are channels");
    if (s->input[x].rank >= 0) {
        HR_TRY(norm_axis(s->node, s->input[x], &axis, err));
        if (!hr_shape_merge(channels, HR_SHAPE(s->input[x].dims[axis]), &channels))
            return hr_infer_refuse(s, err, "vectors of as many values as there are channels");
        s->output[0] = s->input[x];
        s->output[0].dims[axis] = channels.dims[0];
    }
    for (int i = 1; i < s->outputs; i++) s->output[i] = i < count ? channels : rest;
    return HR_OK;
}

static bool norm_is_given(hr_node node)
{
    return !hr_attr_bool(node, "is_training") || hr_attr_float(node, "exponential_avg_factor") != 1;
}

static hr_status norm_shape(hr_infer *s, hr_error *err)
{
    return norm_infer(s, 0, 1, norm_is_given(s->node) ? 4 : 2, 5, HR_SCALAR, err);
}

static hr_status norm_grad_shape(hr_infer *s, hr_error *err)
{
    if (!hr_shape_merge(s->input[0], s->input[1], &s->output[0]))
        return hr_infer_refuse(s, err, "a gradient of the shape of x");
    return norm_infer(s, 1, 2, 3, 3, HR_SHAPE(0), err);
}

static hr_status norm_begin(hr_kernel *k, int x, int vector, int vectors, norm_work *w, hr_error *err)
{
    const hr_shape shape = k->input[x]->shape;
    hr_tensor *out;
    int axis = 0;
    HR_TRY(norm_axis(k->node, shape, &axis, err));
    for (int i = vector; i < vector + vectors; i++)
        if (k->input[i]->shape.rank != 1 || k->input[i]->count != shape.dims[axis])
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a value for each of %lld channels",
                           (long long)shape.dims[axis]);
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    w->x = k->input[x]->data;
    w->out = out->data;
    w->channels = shape.dims[axis];
    w->before = hr_values_before_axis(shape, axis);
    w->after = norm_channels_first(k->node) ? hr_values_before_axis(shape, shape.rank) : 1;
    if (w->after > 1) w->after /= w->before * w->channels;
    w->epsilon = hr_attr_float(k->node, "epsilon");
    w->training = hr_attr_bool(k->node, "is_training");
    return HR_OK;
}

static void norm_run(hr_kernel *k, norm_work *w)
{
    hr_kernel_parallel(k, (w->channels + NORM_BLOCK - 1) / NORM_BLOCK,
                       3.0 * NORM_BLOCK * (double)(w->before * w->after),
                       (void (*)(int64_t, int64_t, void *))hr_kernel_chosen(k)->run, w);
}

/* Outputs 1 and 2 are the running mean and variance, the latter as of a sample; 3 and 4 what the derivative needs. */
static hr_status norm_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *mean = k->input[3], *variance = k->input[4];
    const double factor = hr_attr_float(k->node, "exponential_avg_factor");
    norm_work w = {.scale = k->input[1]->data, .offset = k->input[2]->data};
    hr_tensor *out[6];
    HR_TRY(norm_begin(k, 0, 1, norm_is_given(k->node) ? 4 : 2, &w, err));
    for (int i = 1; i < k->outputs; i++)
        HR_TRY(hr_kernel_output(k, i, i < 5 ? HR_SHAPE(w.channels) : HR_SCALAR, &out[i], err));
    if (k->outputs == 6) *(float *)out[5]->data = 0;
    w.mean = out[3]->data;
    w.variance = out[4]->data;
    for (int64_t c = 0; !w.training && c < w.channels; c++)
        w.mean[c] = ((float *)mean->data)[c], w.variance[c] = ((float *)variance->data)[c];
    norm_run(k, &w);
    const double n = (double)(w.before * w.after), sample = !w.training ? 1 : n > 1 ? n / (n - 1) : 1;
    for (int64_t c = 0; c < w.channels; c++) {
        double average = w.mean[c], spread = w.variance[c] * sample;
        if (w.training && factor != 1) {
            average = (1 - factor) * ((float *)mean->data)[c] + factor * average;
            spread = (1 - factor) * ((float *)variance->data)[c] + factor * spread;
        }
        ((float *)out[1]->data)[c] = (float)average;
        ((float *)out[2]->data)[c] = (float)spread;
    }
    return HR_OK;
}

static hr_status norm_grad_compute(hr_kernel *k, hr_error *err)
{
    norm_work w = {
        .g = k->input[0]->data, .scale = k->input[2]->data, .mean = k->input[3]->data, .variance = k->input[4]->data};
    hr_tensor *out[5];
    if (!hr_shape_equal(k->input[0]->shape, k->input[1]->shape))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a gradient of the shape of x");
    HR_TRY(norm_begin(k, 1, 2, 3, &w, err));
    for (int i = 1; i < 5; i++) HR_TRY(hr_kernel_output(k, i, HR_SHAPE(i < 3 ? w.channels : 0), &out[i], err));
    w.by_scale = out[1]->data;
    w.by_offset = out[2]->data;
    norm_run(k, &w);
    return HR_OK;
}

static void norm_gradient(hr_backward *b)
{
    const bool v3 = b->outputs == 6, training = hr_attr_bool(b->node, "is_training");
    const hr_node by[] = {hr_backward_grad(b, 0),
                          b->input[0],
                          b->input[1],
                          training ? b->output[3] : b->input[3],
                          training ? b->output[4] : b->input[4],
                          b->output[v3 ? 5 : 0]};
    const hr_attr attrs[] = {*hr_node_attr(b->node, "epsilon"), *hr_node_attr(b->node, "data_format"),
                             *hr_node_attr(b->node, "is_training")};
    const char *const op = hr_node_op(b->node);
    const hr_node node = hr_new_node(b->graph,
                                     v3                             ? "FusedBatchNormGradV3"
                                     : strcmp(op, "FusedBatchNorm") ? "FusedBatchNormGradV2"
                                                                    : "FusedBatchNormGrad",
                                     .inputs = by, .input_count = v3 ? 6 : 5, .attrs = attrs, .attr_count = 3);
    for (int i = 0; i < 3; i++) hr_backward_give(b, i, hr_node_output(node, i));
}

/* ---- LRN ---- */

typedef struct lrn_work {
    const void *x, *y, *g; /* y, g: of the derivative */
    void *out;
    int64_t depth, radius;
    double bias, alpha, beta;
} lrn_work;

#define LRN(T, V, U, D, S, A, B)                                                                                       \
    static double norm_of_##S(const lrn_work *w, const T *x, int64_t d, int64_t *from, int64_t *to)                    \
    {                                                                                                                  \
        double sum = 0;                                                                                                \
        *from = d > w->radius ? d - w->radius : 0;                                                                     \
        *to = w->depth - d > w->radius ? d + w->radius + 1 : w->depth;                                                 \
        for (int64_t i = *from; i < *to; i++) sum += (double)HR_GET(S, x[i]) * HR_GET(S, x[i]);                        \
        return w->bias + w->alpha * sum;                                                                               \
    }                                                                                                                  \
    static void lrn_##S(int64_t first, int64_t last, void *user)                                                       \
    {                                                                                                                  \
        const lrn_work *w = user;                                                                                      \
        int64_t from, to;                                                                                              \
        for (int64_t at = first * w->depth; at < last * w->depth; at++) {                                              \
            const T *x = (const T *)w->x + at / w->depth * w->depth;                                                   \
            const double norm = norm_of_##S(w, x, at % w->depth, &from, &to);                                          \
            ((T *)w->out)[at] = HR_PUT(S, T, HR_GET(S, x[at % w->depth]) * pow(norm, -w->beta));                       \
        }                                                                                                              \
    }                                                                                                                  \
    static void lrn_grad_##S(int64_t first, int64_t last, void *user)                                                  \
    {                                                                                                                  \
        const lrn_work *w = user;                                                                                      \
        int64_t from, to;                                                                                              \
        for (int64_t at = first * w->depth; at < last * w->depth; at++) {                                              \
            const int64_t row = at / w->depth * w->depth, own = at % w->depth;                                         \
            const T *x = (const T *)w->x + row, *y = (const T *)w->y + row, *g = (const T *)w->g + row;                \
            double sum = pow(norm_of_##S(w, x, own, &from, &to), -w->beta) * HR_GET(S, g[own]);                        \
            for (int64_t d = from, a, b; d < to; d++)                                                                  \
                sum -= 2 * w->alpha * w->beta * HR_GET(S, x[own]) * HR_GET(S, y[d]) * HR_GET(S, g[d]) /                \
                       norm_of_##S(w, x, d, &a, &b);                                                                   \
            ((T *)w->out)[at] = HR_PUT(S, T, sum);                                                                     \
        }                                                                                                              \
    }
HR_EACH_TYPE(LRN, ~, ~, float32, halves)

static hr_status lrn_compute(hr_kernel *k, hr_error *err)
{
    const bool grad = k->inputs == 3;
    const hr_tensor *x = k->input[grad];
    hr_tensor *out;
    if (x->shape.rank != 4 ||
        (grad && (!hr_shape_equal(x->shape, k->input[0]->shape) || !hr_shape_equal(x->shape, k->input[2]->shape))))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected inputs of rank 4 and of one shape");
    HR_TRY(hr_kernel_output(k, 0, x->shape, &out, err));
    lrn_work w = {.x = x->data,
                  .y = grad ? k->input[2]->data : NULL,
                  .g = grad ? k->input[0]->data : NULL,
                  .out = out->data,
                  .depth = x->shape.dims[3],
                  .radius = hr_attr_int(k->node, "depth_radius"),
                  .bias = hr_attr_float(k->node, "bias"),
                  .alpha = hr_attr_float(k->node, "alpha"),
                  .beta = hr_attr_float(k->node, "beta")};
    const double reach = (double)(w.radius < w.depth ? 2 * w.radius + 1 : w.depth);
    if (out->count)
        hr_kernel_parallel(k, out->count / w.depth, (double)w.depth * (grad ? reach * reach : reach + 20),
                           (void (*)(int64_t, int64_t, void *))hr_kernel_chosen(k)->run, &w);
    return HR_OK;
}

static void lrn_gradient(hr_backward *b)
{
    static const char *const names[] = {"depth_radius", "bias", "alpha", "beta"};
    hr_attr attrs[4];
    for (int i = 0; i < 4; i++) attrs[i] = *hr_node_attr(b->node, names[i]);
    hr_backward_give(b, 0,
                     hr_new_node(b->graph, "LRNGrad", HR_INPUTS(b->grad[0], b->input[0], b->output[0]), .attrs = attrs,
                                 .attr_count = 4));
}

/* ---- L2Loss ---- */

#define L2(T, V, U, D, S, A, B)                                                                                        \
    static void l2_##S(const hr_tensor *x, void *out)                                                                  \
    {                                                                                                                  \
        double sum = 0;                                                                                                \
        for (int64_t i = 0; i < x->count; i++)                                                                         \
            sum += (double)HR_GET(S, ((const T *)x->data)[i]) * HR_GET(S, ((const T *)x->data)[i]);                    \
        *(T *)out = HR_PUT(S, T, sum / 2);                                                                             \
    }
HR_EACH_TYPE(L2, ~, ~, floats, halves)

static hr_status l2_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, HR_SCALAR, &out, err));
    ((void (*)(const hr_tensor *, void *))hr_kernel_chosen(k)->run)(k->input[0], out->data);
    return HR_OK;
}

HR_UNARY_GRADIENT(l2, hr_mul(x, g))

#define NORM_OP(NAME, TYPES, SHAPE, COMPUTE, GRADIENT, ...)                                                            \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .types = TYPES, .kernels = HR_KERNELS(__VA_ARGS__), .shape = SHAPE,  \
        .compute = COMPUTE, .gradient = GRADIENT,                                                                      \
    }
#define NN_OP(NAME, SHAPES, COMPUTE, GRADIENT, ...)                                                                    \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .kernels = HR_KERNELS(__VA_ARGS__), .shapes = SHAPES,                \
        .compute = COMPUTE, .gradient = GRADIENT,                                                                      \
    }

const hr_graph_op hr_graph_ops_norm_ops[] = {
    NORM_OP("FusedBatchNorm", NULL, norm_shape, norm_compute, norm_gradient, norm, float32),
    NORM_OP("FusedBatchNormV2", "U:{float}", norm_shape, norm_compute, norm_gradient, norm, float32, halves),
    NORM_OP("FusedBatchNormV3", "U:{float}", norm_shape, norm_compute, norm_gradient, norm, float32, halves),
    NORM_OP("FusedBatchNormGrad", NULL, norm_grad_shape, norm_grad_compute, NULL, norm_grad, float32),
    NORM_OP("FusedBatchNormGradV2", "U:{float}", norm_grad_shape, norm_grad_compute, NULL, norm_grad, float32, halves),
    NORM_OP("FusedBatchNormGradV3", "U:{float}", norm_grad_shape, norm_grad_compute, NULL, norm_grad, float32, halves),
    NN_OP("LRN", "[a,b,c,d] -> [a,b,c,d]", lrn_compute, lrn_gradient, lrn, float32, halves),
    NN_OP("LRNGrad", "merge", lrn_compute, NULL, lrn_grad, float32, halves),
    NN_OP("L2Loss", "? -> []", l2_compute, l2_gradient, l2, floats, halves),
    HR_GRAPH_OPS_END,
};
