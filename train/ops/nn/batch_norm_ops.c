/* FusedBatchNorm and FusedBatchNormV3 with their derivatives: channels shifted and scaled by their mean and variance. */
#include <headrace/kernels.h>
#include <headrace/nn.h>
#include <math.h>
#include <string.h>

/* All before the channels, and all after them. `mean` and `variance` are those that are used, or come out of it. */
typedef struct norm_work {
    hr_kernel *k;
    const void *x, *g; /* g: of the derivative */
    void *out;
    const float *scale, *offset;
    float *mean, *variance, *by_scale, *by_offset;
    int64_t before, channels, after, image; /* image: values of one */
    double epsilon;
    bool training;
    const struct norm_loops *loops;
    int64_t lanes, pieces; /* channels last: values of some whole rows; pieces of the rows, whose sums are added */
    double *sums;          /* [pieces, 2, lanes] */
    double *lane[4];       /* what a loop needs to know of each lane */
} norm_work;

/* ---- loops over groups of `n` lanes; a lane is always of the same channel ---- */

typedef struct norm_groups {
    int64_t count;
    double *const *lane;
} norm_groups;

typedef struct norm_loops {
    size_t size; /* of a value */
    double (*first)(const void *x);
    hr_loop *sums, *out, *grad_sums, *grad_out;
} norm_loops;

#define VALUES_AT(T, i) ((T *)(void *)at[i])
#define EACH_GROUP                                                                                                     \
    for (int64_t group = 0; group < groups->count; group++, x += n, g += n, y += n) HR_EACH_VALUE
#define LANES(T, IN_G, OUT)                                                                                            \
    const norm_groups *groups = user;                                                                                  \
    const double *a = groups->lane[0], *b = groups->lane[1], *c = groups->lane[2], *d = groups->lane[3];               \
    const T *x = VALUES_AT(const T, 0), *g = VALUES_AT(const T, IN_G);                                                 \
    T *y = VALUES_AT(T, OUT);                                                                                          \
    (void)step, (void)a, (void)b, (void)c, (void)d, (void)g, (void)y;
#define NORM(T, V, U, D, S, A, B)                                                                                      \
    HR_LOOP(sums, S)                                                                                                   \
    {                                                                                                                  \
        LANES(T, 0, 0)                                                                                                 \
        double *sum = VALUES_AT(double, 1), *square = VALUES_AT(double, 2);                                            \
        EACH_GROUP                                                                                                     \
        {                                                                                                              \
            const double from = (double)HR_GET(S, x[i]) - a[i];                                                        \
            sum[i] += from;                                                                                            \
            square[i] += from * from;                                                                                  \
        }                                                                                                              \
    }                                                                                                                  \
    HR_LOOP(out, S)                                                                                                    \
    {                                                                                                                  \
        LANES(T, 0, 1)                                                                                                 \
        EACH_GROUP y[i] = HR_PUT(S, T, ((double)HR_GET(S, x[i]) - a[i]) * b[i] + c[i]);                                \
    }                                                                                                                  \
    HR_LOOP(grad_sums, S)                                                                                              \
    {                                                                                                                  \
        LANES(T, 3, 0)                                                                                                 \
        double *sum = VALUES_AT(double, 1), *product = VALUES_AT(double, 2);                                           \
        EACH_GROUP                                                                                                     \
        {                                                                                                              \
            const double slope = (double)HR_GET(S, g[i]);                                                              \
            sum[i] += slope;                                                                                           \
            product[i] += slope * ((double)HR_GET(S, x[i]) - a[i]);                                                    \
        }                                                                                                              \
    }                                                                                                                  \
    HR_LOOP(grad_out, S)                                                                                               \
    {                                                                                                                  \
        LANES(T, 2, 1)                                                                                                 \
        EACH_GROUP y[i] =                                                                                              \
            HR_PUT(S, T, ((double)HR_GET(S, g[i]) - b[i] - ((double)HR_GET(S, x[i]) - a[i]) * c[i]) * d[i]);           \
    }                                                                                                                  \
    static double first_##S(const void *x) { return (double)HR_GET(S, *(const T *)x); }                                \
    static const norm_loops norm_##S = {sizeof(T), first_##S, sums_##S, out_##S, grad_sums_##S, grad_out_##S};
HR_EACH_TYPE(NORM, ~, ~, float32, halves)

/* ---- groups of a run, and of pieces of rows ---- */

enum { NORM_LANES = 64, NORM_PIECE = 65536 /* values */, NORM_PIECES = 64 };

/* Values first to last - 1; `sums` NULL: written. */
static void norm_run_of(const norm_work *w, int64_t first, int64_t last, hr_loop *loop, double *sums)
{
    const int64_t size = (int64_t)w->loops->size, groups = (last - first) / w->lanes, rest = (last - first) % w->lanes;
    char *at[4] = {(char *)w->x + first * size, (char *)sums, (char *)(sums + w->lanes),
                   w->g ? (char *)w->g + first * size : NULL};
    if (!sums) at[1] = (char *)w->out + first * size, at[2] = at[3];
    loop(at, NULL, w->lanes, &(norm_groups){groups, w->lane});
    if (rest == 0) return;
    const int64_t done = groups * w->lanes * size;
    for (int i = 0; i < 4; i++)
        if (at[i] && !(sums && (i == 1 || i == 2))) at[i] += done;
    loop(at, NULL, rest, &(norm_groups){1, w->lane});
}

static void norm_piece(const norm_work *w, int64_t piece, int64_t *first, int64_t *last)
{
    const int64_t groups = w->before / (w->lanes / w->channels);
    *first = groups * piece / w->pieces * w->lanes;
    *last = piece + 1 == w->pieces ? w->before * w->channels : groups * (piece + 1) / w->pieces * w->lanes;
}

static void norm_add(int64_t first, int64_t last, void *user)
{
    const norm_work *w = user;
    for (int64_t piece = first; piece < last; piece++) {
        int64_t from, to;
        double *sums = w->sums + piece * 2 * w->lanes;
        norm_piece(w, piece, &from, &to);
        memset(sums, 0, (size_t)(2 * w->lanes) * sizeof *sums);
        norm_run_of(w, from, to, w->g ? w->loops->grad_sums : w->loops->sums, sums);
    }
}

static void norm_write(int64_t first, int64_t last, void *user)
{
    const norm_work *w = user;
    for (int64_t piece = first; piece < last; piece++) {
        int64_t from, to;
        norm_piece(w, piece, &from, &to);
        norm_run_of(w, from, to, w->g ? w->loops->grad_out : w->loops->out, NULL);
    }
}

/* A number of each channel for its lanes. */
static void norm_spread(const norm_work *w, int i)
{
    for (int64_t l = w->channels; l < w->lanes; l++) w->lane[i][l] = w->lane[i][l - w->channels];
}

/* The sums of channels, in the first piece's. */
static void norm_fold(const norm_work *w)
{
    for (int64_t piece = 1; piece < w->pieces; piece++)
        for (int64_t i = 0; i < 2 * w->lanes; i++) w->sums[i] += w->sums[piece * 2 * w->lanes + i];
    for (int64_t i = 0; i < 2; i++)
        for (int64_t l = w->channels; l < w->lanes; l++)
            w->sums[i * w->lanes + l % w->channels] += w->sums[i * w->lanes + l];
}

/* ---- what is between sums and results ---- */

/* The first value of a channel: near its mean, as a rule. */
static double norm_first(const norm_work *w, int64_t c)
{
    return w->before * w->after == 0 ? 0 : w->loops->first((const char *)w->x + c * w->after * (int64_t)w->loops->size);
}

/* The mean of each channel and its variance, from sums of distances from its first value. */
static void norm_moments(const norm_work *w)
{
    const double n = (double)(w->before * w->after);
    for (int64_t c = 0; c < w->channels; c++) {
        const double from = w->sums[c] / n, variance = w->sums[w->lanes + c] / n - from * from;
        w->mean[c] = (float)(w->lane[0][c] + from);
        w->variance[c] = (float)(variance > 0 || variance != variance ? variance : 0);
    }
}

static void norm_forward(const norm_work *w)
{
    for (int64_t c = 0; c < w->channels; c++) {
        w->lane[0][c] = (double)w->mean[c];
        w->lane[1][c] = (double)w->scale[c] / sqrt((double)w->variance[c] + w->epsilon);
        w->lane[2][c] = (double)w->offset[c];
    }
}

static void norm_backward(const norm_work *w)
{
    const double n = (double)(w->before * w->after);
    for (int64_t c = 0; c < w->channels; c++) {
        const double factor = 1 / sqrt((double)w->variance[c] + w->epsilon), sum = w->sums[c],
                     product = w->sums[w->lanes + c] * factor;
        w->by_offset[c] = (float)sum;
        w->by_scale[c] = (float)product;
        w->lane[1][c] = w->training ? sum / n : 0;
        w->lane[2][c] = w->training ? product * factor / n : 0;
        w->lane[3][c] = (double)w->scale[c] * factor;
    }
}

/* Sums, what follows from them, results. `add` and `write` go through all values. */
static void norm_all(norm_work *w, void (*add)(norm_work *w), void (*write)(norm_work *w))
{
    for (int64_t c = 0; c < w->channels; c++) w->lane[0][c] = w->g ? (double)w->mean[c] : norm_first(w, c);
    norm_spread(w, 0);
    if (w->g || w->training) add(w);
    if (w->g)
        norm_backward(w);
    else if (w->training)
        norm_moments(w);
    if (!w->g) norm_forward(w);
    for (int i = 0; i < 4; i++) norm_spread(w, i);
    write(w);
}

/* ---- channels last: pieces of rows ---- */

static void norm_add_rows(norm_work *w)
{
    hr_kernel_parallel(w->k, w->pieces, (double)(w->before * w->channels) / (double)w->pieces, norm_add, w);
    norm_fold(w);
}

static void norm_write_rows(norm_work *w)
{
    hr_kernel_parallel(w->k, w->pieces, (double)(w->before * w->channels) / (double)w->pieces, norm_write, w);
}

static hr_status norm_rows(norm_work *w, hr_error *err)
{
    const int64_t count = w->before * w->channels;
    w->lanes = w->channels < NORM_LANES ? (NORM_LANES + w->channels - 1) / w->channels * w->channels : w->channels;
    w->pieces = count / NORM_PIECE < 1 ? 1 : count / NORM_PIECE > NORM_PIECES ? NORM_PIECES : count / NORM_PIECE;
    double *all = hr_kernel_temp(w->k, (size_t)((2 * w->pieces + 4) * w->lanes) * sizeof *all);
    if (!all) return hr_no_memory(err, "sums of channels");
    memset(all, 0, (size_t)((2 * w->pieces + 4) * w->lanes) * sizeof *all);
    for (int i = 0; i < 4; i++) w->lane[i] = all + i * w->lanes;
    w->sums = all + 4 * w->lanes;
    norm_all(w, norm_add_rows, norm_write_rows);
    return HR_OK;
}

/* ---- channels first: a channel is a run in each image ---- */

static void norm_add_runs(norm_work *w)
{
    for (int64_t i = 0; i < w->before; i++) {
        const int64_t at = i * w->image;
        norm_run_of(w, at, at + w->after, w->g ? w->loops->grad_sums : w->loops->sums, w->sums);
    }
    norm_fold(w);
}

static void norm_write_runs(norm_work *w)
{
    for (int64_t i = 0; i < w->before; i++) {
        const int64_t at = i * w->image;
        norm_run_of(w, at, at + w->after, w->g ? w->loops->grad_out : w->loops->out, NULL);
    }
}

static void norm_channels(int64_t first, int64_t last, void *user)
{
    const norm_work *all = user;
    for (int64_t c = first; c < last; c++) {
        double memory[6 * NORM_LANES] = {0};
        const int64_t at = c * all->after * (int64_t)all->loops->size;
        norm_work w = *all;
        w.x = (const char *)all->x + at;
        w.g = all->g ? (const char *)all->g + at : NULL;
        w.out = (char *)all->out + at;
        w.scale += c;
        if (w.offset) w.offset += c;
        w.mean += c;
        w.variance += c;
        if (w.by_scale) w.by_scale += c, w.by_offset += c;
        w.channels = w.pieces = 1;
        w.lanes = NORM_LANES;
        for (int i = 0; i < 4; i++) w.lane[i] = memory + i * NORM_LANES;
        w.sums = memory + 4 * NORM_LANES;
        norm_all(&w, norm_add_runs, norm_write_runs);
    }
}

static hr_status norm_run(norm_work *w, hr_error *err)
{
    w->loops = hr_kernel_chosen(w->k)->more;
    w->image = w->channels * w->after;
    if (w->channels == 0) return HR_OK;
    if (w->after == 1) return norm_rows(w, err);
    hr_kernel_parallel(w->k, w->channels, 2.0 * (double)(w->before * w->after), norm_channels, w);
    return HR_OK;
}

/* ---- shapes and compute ---- */

static bool norm_channels_first(hr_node node) { return hr_attr_string(node, "data_format").data[1] == 'C'; }

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

/* Outputs 1 and 2 are the running mean and variance, the latter as of a sample; 3 and 4 what the derivative needs. */
static hr_status norm_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *mean = k->input[3], *variance = k->input[4];
    const double factor = hr_attr_float(k->node, "exponential_avg_factor");
    norm_work w = {.k = k, .scale = k->input[1]->data, .offset = k->input[2]->data};
    hr_tensor *out[6];
    HR_TRY(norm_begin(k, 0, 1, norm_is_given(k->node) ? 4 : 2, &w, err));
    for (int i = 1; i < k->outputs; i++)
        HR_TRY(hr_kernel_output(k, i, i < 5 ? HR_SHAPE(w.channels) : HR_SCALAR, &out[i], err));
    if (k->outputs == 6) *(float *)out[5]->data = 0;
    w.mean = out[3]->data;
    w.variance = out[4]->data;
    for (int64_t c = 0; !w.training && c < w.channels; c++)
        w.mean[c] = ((float *)mean->data)[c], w.variance[c] = ((float *)variance->data)[c];
    HR_TRY(norm_run(&w, err));
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
    norm_work w = {.k = k,
                   .g = k->input[0]->data,
                   .scale = k->input[2]->data,
                   .mean = k->input[3]->data,
                   .variance = k->input[4]->data};
    hr_tensor *out[5];
    if (!hr_shape_equal(k->input[0]->shape, k->input[1]->shape))
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected a gradient of the shape of x");
    HR_TRY(norm_begin(k, 1, 2, 3, &w, err));
    for (int i = 1; i < 5; i++) HR_TRY(hr_kernel_output(k, i, HR_SHAPE(i < 3 ? w.channels : 0), &out[i], err));
    w.by_scale = out[1]->data;
    w.by_offset = out[2]->data;
    return norm_run(&w, err);
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

#define NORM_OP(NAME, TYPES, SHAPE, COMPUTE, GRADIENT, ...)                                                            \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .types = TYPES, .kernels = HR_KERNEL_STRUCTS(norm, __VA_ARGS__),     \
        .shape = SHAPE, .compute = COMPUTE, .gradient = GRADIENT,                                                      \
    }

const hr_graph_op hr_graph_ops_batch_norm_ops[] = {
    NORM_OP("FusedBatchNorm", NULL, norm_shape, norm_compute, norm_gradient, float32),
    NORM_OP("FusedBatchNormV2", "U:{float}", norm_shape, norm_compute, norm_gradient, float32, halves),
    NORM_OP("FusedBatchNormV3", "U:{float}", norm_shape, norm_compute, norm_gradient, float32, halves),
    NORM_OP("FusedBatchNormGrad", NULL, norm_grad_shape, norm_grad_compute, NULL, float32),
    NORM_OP("FusedBatchNormGradV2", "U:{float}", norm_grad_shape, norm_grad_compute, NULL, float32, halves),
    NORM_OP("FusedBatchNormGradV3", "U:{float}", norm_grad_shape, norm_grad_compute, NULL, float32, halves),
    HR_GRAPH_OPS_END,
};
