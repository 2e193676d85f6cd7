/* Softmax, LogSoftmax and the cross entropies: rows shifted by their greatest value, so that no exp overflows; a
 * loss and its gradient in one pass. */
#include <headrace/kernels.h>
#include <math.h>
#include <string.h>

/* What one row needs; labels of a row as dense values or as one class. */
typedef struct rows {
    const void *logits, *labels;
    const int64_t *classes;
    void *out, *loss;
    int64_t n, labels_step;
    bool log;
} rows;

#define KERNELS(T, S, EXP, LOG, MAX)                                                                                   \
    static T top_##S(const T *x, int64_t n)                                                                            \
    {                                                                                                                  \
        T top = x[0];                                                                                                  \
        for (int64_t i = 1; i < n; i++) top = MAX(top, x[i]);                                                          \
        return top;                                                                                                    \
    }                                                                                                                  \
    static void softmax_##S(int64_t first, int64_t last, void *user)                                                   \
    {                                                                                                                  \
        const rows *r = user;                                                                                          \
        for (int64_t row = first; row < last; row++) {                                                                 \
            const T *x = (const T *)r->logits + row * r->n;                                                            \
            T *y = (T *)r->out + row * r->n;                                                                           \
            const T top = top_##S(x, r->n);                                                                            \
            T sum = 0;                                                                                                 \
            for (int64_t i = 0; i < r->n; i++) {                                                                       \
                const T e = EXP(x[i] - top);                                                                           \
                sum += e;                                                                                              \
                y[i] = r->log ? x[i] - top : e;                                                                        \
            }                                                                                                          \
            const T scale = r->log ? LOG(sum) : 1 / sum;                                                               \
            for (int64_t i = 0; i < r->n; i++) y[i] = r->log ? y[i] - scale : y[i] * scale;                            \
        }                                                                                                              \
    }                                                                                                                  \
    static void cross_entropy_##S(int64_t first, int64_t last, void *user)                                             \
    {                                                                                                                  \
        const rows *r = user;                                                                                          \
        for (int64_t row = first; row < last; row++) {                                                                 \
            const T *x = (const T *)r->logits + row * r->n;                                                            \
            const T *labels = r->labels ? (const T *)r->labels + row * r->labels_step : NULL;                          \
            T *back = (T *)r->out + row * r->n, loss = 0, sum = 0;                                                     \
            const T top = top_##S(x, r->n);                                                                            \
            for (int64_t i = 0; i < r->n; i++) sum += EXP(x[i] - top);                                                 \
            const T log_sum = LOG(sum);                                                                                \
            for (int64_t i = 0; i < r->n; i++) {                                                                       \
                const T shifted = x[i] - top, label = labels ? labels[i] : i == r->classes[row] ? 1 : 0;               \
                if (labels || label != 0) loss += label * (log_sum - shifted);                                         \
                back[i] = EXP(shifted) / sum - label;                                                                  \
            }                                                                                                          \
            ((T *)r->loss)[row] = loss;                                                                                \
        }                                                                                                              \
    }
KERNELS(float, f32, expf, logf, fmaxf)
KERNELS(double, f64, exp, log, fmax)

static void softmax_run(hr_kernel *k, hr_dtype dtype, int64_t count, rows *r, bool entropy)
{
    void (*fn)(int64_t, int64_t, void *) =
        dtype == HR_FLOAT ? (entropy ? cross_entropy_f32 : softmax_f32) : (entropy ? cross_entropy_f64 : softmax_f64);
    if (r->n > 0) hr_kernel_parallel(k, count, (double)r->n * (entropy ? 12 : 6), fn, r);
}

/* ---- Softmax, LogSoftmax ---- */

static hr_status softmax_shape(hr_infer *s, hr_error *err)
{
    if (s->input[0].rank == 0) return hr_infer_refuse(s, err, "logits of rank 1 or more");
    s->output[0] = s->input[0];
    return HR_OK;
}

static hr_status softmax_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    hr_tensor *out;
    if (in->shape.rank < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "logits must have >= 1 dimension, got []");
    HR_TRY(hr_kernel_output_over(k, 0, 0, in->shape, &out, err));
    rows r = {.logits = in->data,
              .out = out->data,
              .n = in->shape.dims[in->shape.rank - 1],
              .log = strcmp(hr_node_op(k->node), "LogSoftmax") == 0};
    softmax_run(k, in->dtype, r.n ? in->count / r.n : 0, &r, false);
    return HR_OK;
}

static hr_node sum_last(hr_node x) { return hr_reduce_sum(x, .axes = HR_I64(-1), .axis_count = 1, .keep_dims = true); }

static void softmax_gradient(hr_backward *b)
{
    const hr_node g = b->grad[0], y = b->output[0];
    b->out[0] = hr_dense_gradient(hr_mul(hr_sub(g, sum_last(hr_mul(g, y))), y));
}

static void log_softmax_gradient(hr_backward *b)
{
    const hr_node g = b->grad[0];
    b->out[0] = hr_dense_gradient(hr_sub(g, hr_mul(sum_last(g), hr_exp(b->output[0]))));
}

/* ---- SoftmaxCrossEntropyWithLogits ---- */

static hr_status dense_shape(hr_infer *s, hr_error *err)
{
    hr_shape both;
    const hr_shape matrix = HR_SHAPE(-1, -1);
    if (!hr_shape_broadcast(s->input[0], s->input[1], &both) || !hr_shape_merge(both, matrix, &both))
        return hr_infer_refuse(s, err, "logits and labels of one shape [batch, classes]");
    s->output[0] = HR_SHAPE(both.dims[0]);
    s->output[1] = both;
    return HR_OK;
}

static hr_status mismatch(const hr_kernel *k, const char *expected, hr_error *err)
{
    char a[128], b[128];
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected %s, got %s and %s", expected,
                   hr_shape_text(k->input[0]->shape, a, sizeof a), hr_shape_text(k->input[1]->shape, b, sizeof b));
}

/* An input spread out to [batch, classes]. */
static const void *spread_out(hr_kernel *k, const hr_tensor *in, hr_shape shape)
{
    if (hr_shape_equal(in->shape, shape)) return in->data;
    const size_t size = hr_dtype_size(in->dtype);
    char *out = hr_kernel_temp(k, (size_t)hr_shape_count(shape) * size);
    for (int64_t i = 0; out && i < shape.dims[0]; i++) {
        for (int64_t j = 0; j < shape.dims[1]; j++) {
            const int64_t column = in->shape.rank < 1 || in->shape.dims[in->shape.rank - 1] == 1 ? 0 : j;
            const int64_t row = in->shape.rank < 2 || in->shape.dims[0] == 1 ? 0 : i;
            const int64_t width = in->shape.rank < 1 ? 1 : in->shape.dims[in->shape.rank - 1];
            memcpy(out + (size_t)(i * shape.dims[1] + j) * size,
                   (const char *)in->data + (size_t)(row * width + column) * size, size);
        }
    }
    return out;
}

static hr_status softmax_dense_compute(hr_kernel *k, hr_error *err)
{
    hr_shape shape;
    hr_tensor *loss, *back;
    if (!hr_shape_broadcast(k->input[0]->shape, k->input[1]->shape, &shape) || shape.rank != 2)
        return mismatch(k, "logits and labels of one shape [batch, classes]", err);
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(shape.dims[0]), &loss, err));
    HR_TRY(hr_kernel_output(k, 1, shape, &back, err));
    rows r = {.logits = spread_out(k, k->input[0], shape),
              .labels = spread_out(k, k->input[1], shape),
              .out = back->data,
              .loss = loss->data,
              .n = shape.dims[1],
              .labels_step = shape.dims[1]};
    if (!r.logits || !r.labels) return hr_no_memory(err, "a cross entropy");
    if (r.n == 0 && loss->count) memset(loss->data, 0, (size_t)loss->count * hr_dtype_size(loss->dtype));
    softmax_run(k, loss->dtype, loss->count, &r, true);
    return HR_OK;
}

static hr_node last_axis(hr_node g) { return hr_expand_dims(g, hr_scalar(g.graph, HR_INT32, -1)); }

/* By the logits. The gradient's own gradient flows on as well: through softmax - labels. */
static hr_node gradient_by_logits(hr_backward *b)
{
    const hr_node to_logits = hr_mul(last_axis(hr_backward_grad(b, 0)), b->output[1]), gg = b->grad[1];
    if (!hr_node_exists(gg)) return to_logits;
    const hr_node softmax = hr_softmax(b->input[0]);
    return hr_add(to_logits, hr_mul(hr_sub(gg, sum_last(hr_mul(gg, softmax))), softmax));
}

static void dense_gradient(hr_backward *b)
{
    const hr_node g = hr_backward_grad(b, 0), logits = b->input[0], to_logits = gradient_by_logits(b);
    const hr_node to_labels = hr_mul(last_axis(g), hr_neg(hr_log_softmax(logits)));
    b->out[0] = hr_dense_gradient(hr_gradient_unbroadcast(to_logits, logits, b->input[1]));
    b->out[1] = hr_dense_gradient(hr_gradient_unbroadcast(to_labels, b->input[1], logits));
}

/* ---- SparseSoftmaxCrossEntropyWithLogits ---- */

static hr_status sparse_shape(hr_infer *s, hr_error *err)
{
    hr_shape logits, labels;
    const hr_shape matrix = HR_SHAPE(-1, -1), vector = HR_SHAPE(-1);
    if (!hr_shape_merge(s->input[0], matrix, &logits) || !hr_shape_merge(s->input[1], vector, &labels) ||
        (logits.dims[0] >= 0 && labels.dims[0] >= 0 && logits.dims[0] != labels.dims[0]))
        return hr_infer_refuse(s, err, "logits [batch, classes] and labels [batch]");
    s->output[0] = labels.dims[0] >= 0 ? labels : HR_SHAPE(logits.dims[0]);
    s->output[1] = logits;
    return HR_OK;
}

static hr_status softmax_sparse_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *logits = k->input[0], *labels = k->input[1];
    hr_tensor *loss, *back;
    if (logits->shape.rank != 2 || labels->shape.rank != 1 || logits->shape.dims[0] != labels->count)
        return mismatch(k, "logits [batch, classes] and labels [batch]", err);
    const int64_t n = logits->shape.dims[1];
    int64_t *classes = hr_kernel_temp(k, sizeof *classes * (size_t)labels->count);
    if (!classes) return hr_no_memory(err, "a cross entropy");
    for (int64_t i = 0; i < labels->count; i++) {
        classes[i] = hr_int_at(labels, i);
        if (classes[i] < 0 || classes[i] >= n)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.label",
                           "expected labels in [0, %lld), got %lld at %lld; look at the number of classes",
                           (long long)n, (long long)classes[i], (long long)i);
    }
    HR_TRY(hr_kernel_output(k, 0, labels->shape, &loss, err));
    HR_TRY(hr_kernel_output(k, 1, logits->shape, &back, err));
    rows r = {.logits = logits->data, .classes = classes, .out = back->data, .loss = loss->data, .n = n};
    softmax_run(k, logits->dtype, labels->count, &r, true);
    return HR_OK;
}

static void sparse_gradient(hr_backward *b) { b->out[0] = hr_dense_gradient(gradient_by_logits(b)); }

/* ---- sigmoid cross entropy, in one node ---- */

#define SIGMOID_LOOPS(T, S, EXP, LOG1P, ABS)                                                                           \
    static void sigmoid_loss_##S(int64_t first, int64_t last, void *user)                                              \
    {                                                                                                                  \
        const rows *r = user;                                                                                          \
        const T *logits = r->logits, *labels = r->labels;                                                              \
        for (int64_t i = first; i < last; i++) {                                                                       \
            const T x = logits[i];                                                                                     \
            ((T *)r->out)[i] = (x > 0 ? x : 0) - x * labels[i] + LOG1P(EXP(-ABS(x)));                                  \
        }                                                                                                              \
    }
SIGMOID_LOOPS(float, f32, expf, log1pf, fabsf)
SIGMOID_LOOPS(double, f64, exp, log1p, fabs)

static hr_status sigmoid_shape(hr_infer *s, hr_error *err)
{
    if (hr_shape_merge(s->input[0], s->input[1], &s->output[0])) return HR_OK;
    return hr_infer_refuse(s, err, "logits and labels of one shape");
}

static hr_status sigmoid_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    if (!hr_shape_equal(k->input[0]->shape, k->input[1]->shape))
        return mismatch(k, "logits and labels of one shape", err);
    HR_TRY(hr_kernel_output(k, 0, k->input[0]->shape, &out, err));
    rows r = {.logits = k->input[0]->data, .labels = k->input[1]->data, .out = out->data};
    hr_kernel_parallel(k, out->count, 12, out->dtype == HR_FLOAT ? sigmoid_loss_f32 : sigmoid_loss_f64, &r);
    return HR_OK;
}

static void softmax_sigmoid_gradient(hr_backward *b)
{
    b->out[0] = hr_dense_gradient(hr_mul(b->grad[0], hr_sub(hr_sigmoid(b->input[0]), b->input[1])));
    b->out[1] = hr_dense_gradient(hr_mul(b->grad[0], hr_neg(b->input[0])));
}

#define SOFTMAX(NAME, GRADIENT)                                                                                        \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .types = "T:floats", .shape = softmax_shape,                           \
        .compute = softmax_compute, .gradient = GRADIENT,                                                              \
    }

const hr_graph_op hr_graph_ops_softmax_op[] = {
    SOFTMAX("Softmax", softmax_gradient),
    SOFTMAX("LogSoftmax", log_softmax_gradient),
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "SoftmaxCrossEntropyWithLogits",
        .types = "T:floats",
        .shape = dense_shape,
        .compute = softmax_dense_compute,
        .gradient = dense_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "SparseSoftmaxCrossEntropyWithLogits",
        .types = "T:floats; Tlabels:indices",
        .shape = sparse_shape,
        .compute = softmax_sparse_compute,
        .gradient = sparse_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>SigmoidCrossEntropyWithLogits",
        .inputs = "logits:T, labels:T",
        .outputs = "loss:T",
        .attrs = "T:floats",
        .shape = sigmoid_shape,
        .compute = sigmoid_compute,
        .gradient = softmax_sigmoid_gradient,
    },
    HR_GRAPH_OPS_END,
};

hr_node hr_softmax_with(hr_node x, const hr_name_opts *opts) { return hr_unary_node("Softmax", x, opts); }
hr_node hr_log_softmax_with(hr_node x, const hr_name_opts *opts) { return hr_unary_node("LogSoftmax", x, opts); }

hr_node hr_softmax_cross_entropy_with(hr_node x, hr_node y, const hr_name_opts *opts)
{
    return hr_binary_node("SoftmaxCrossEntropyWithLogits", x, y, opts);
}

hr_node hr_sparse_softmax_cross_entropy_with(hr_node x, hr_node y, const hr_name_opts *opts)
{
    return hr_binary_node("SparseSoftmaxCrossEntropyWithLogits", x, y, opts);
}

hr_node hr_sigmoid_cross_entropy_with(hr_node x, hr_node y, const hr_name_opts *opts)
{
    return hr_binary_node("Headrace>SigmoidCrossEntropyWithLogits", x, y, opts);
}
