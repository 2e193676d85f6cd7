/* Softmax, LogSoftmax and the cross entropies: rows shifted by their greatest value, so that no exp overflows; a
 * loss and its gradient in one pass. */
#include <headrace/float_math.h>
#include <headrace/kernels.h>
#include <headrace/nn.h>
#include <math.h>
#include <string.h>

/* What one row needs; labels of a row as dense values or as one class. */
typedef struct rows {
    const void *logits, *labels;
    const int64_t *classes;
    void *out, *loss;
    void *exps; /* floats or doubles: the output, or of halves a temporary */
    int64_t n;
    bool log;
} rows;

/* ---- loops over a row: sums and maxima in lanes, so that they are the same for vectors of any width ---- */

enum { LANES = 16 };
#define EACH_LANE(...)                                                                                                 \
    {                                                                                                                  \
        int64_t i0 = 0;                                                                                                \
        for (; i0 + LANES <= n; i0 += LANES) {                                                                         \
            for (int l = 0; l < LANES; l++) __VA_ARGS__                                                                \
        }                                                                                                              \
        for (int l = 0; l < n - i0; l++) __VA_ARGS__                                                                   \
    }
#define FOLD_LANES(STEP)                                                                                               \
    for (int half = LANES / 2; half > 0; half /= 2)                                                                    \
        for (int l = 0; l < half; l++) lanes[l] = STEP(lanes[l], lanes[l + half]);
#define PLUS(a, b) ((a) + (b))
#define GREATER(a, b) ((b) > (a) ? (b) : (a))
#define EXP_float hr_float_exp
#define EXP_double exp
#define LOG_float hr_float_log
#define LOG_double log
#define LOG1P_float hr_float_log1p
#define LOG1P_double log1p
#define ABS_float fabsf
#define ABS_double fabs
#define VALUES_AT(T, i) ((T *)(void *)at[i])

/* What a row is shifted by, and what its exps are divided by. */
typedef struct row_sums {
    double top, sum, log_sum;
} row_sums;

#define ROW_LOOPS(T, V, U, D, S, A, B)                                                                                 \
    HR_LOOP(top, S)                                                                                                    \
    {                                                                                                                  \
        const T *x = VALUES_AT(const T, 1);                                                                            \
        V lanes[LANES];                                                                                                \
        (void)step, (void)user;                                                                                        \
        for (int l = 0; l < LANES; l++) lanes[l] = -(V)HUGE_VAL;                                                       \
        EACH_LANE(lanes[l] = GREATER(lanes[l], HR_GET(S, x[i0 + l]));)                                                 \
        FOLD_LANES(GREATER)                                                                                            \
        VALUES_AT(row_sums, 0)->top = (double)lanes[0];                                                                \
    }                                                                                                                  \
    HR_LOOP(exps, S)                                                                                                   \
    {                                                                                                                  \
        row_sums *row = VALUES_AT(row_sums, 0);                                                                        \
        V *e = VALUES_AT(V, 1), lanes[LANES] = {0};                                                                    \
        const T *x = VALUES_AT(const T, 2);                                                                            \
        const V top = (V)row->top;                                                                                     \
        (void)step, (void)user;                                                                                        \
        HR_EACH_VALUE e[i] = EXP_##V((V)(HR_GET(S, x[i]) - top));                                                      \
        EACH_LANE(lanes[l] += e[i0 + l];)                                                                              \
        FOLD_LANES(PLUS)                                                                                               \
        row->sum = (double)lanes[0];                                                                                   \
        row->log_sum = (double)LOG_##V(lanes[0]);                                                                      \
    }                                                                                                                  \
    HR_LOOP(scaled, S)                                                                                                 \
    {                                                                                                                  \
        const V scale = 1 / (V)((const row_sums *)user)->sum, *e = VALUES_AT(const V, 1);                              \
        T *out = VALUES_AT(T, 0);                                                                                      \
        (void)step;                                                                                                    \
        HR_EACH_VALUE out[i] = HR_PUT(S, T, e[i] * scale);                                                             \
    }                                                                                                                  \
    HR_LOOP(logs, S)                                                                                                   \
    {                                                                                                                  \
        const V top = (V)((const row_sums *)user)->top, log_sum = (V)((const row_sums *)user)->log_sum;                \
        const T *x = VALUES_AT(const T, 2);                                                                            \
        T *out = VALUES_AT(T, 0);                                                                                      \
        (void)step;                                                                                                    \
        HR_EACH_VALUE out[i] = HR_PUT(S, T, (V)(HR_GET(S, x[i]) - top) - log_sum);                                     \
    }                                                                                                                  \
    HR_LOOP(dense_loss, S)                                                                                             \
    {                                                                                                                  \
        const V top = (V)((const row_sums *)user)->top, log_sum = (V)((const row_sums *)user)->log_sum;                \
        const T *x = VALUES_AT(const T, 1), *label = VALUES_AT(const T, 2);                                            \
        V lanes[LANES] = {0};                                                                                          \
        (void)step;                                                                                                    \
        EACH_LANE(lanes[l] += (V)HR_GET(S, label[i0 + l]) * (log_sum - (V)(HR_GET(S, x[i0 + l]) - top));)              \
        FOLD_LANES(PLUS)                                                                                               \
        *VALUES_AT(T, 0) = HR_PUT(S, T, lanes[0]);                                                                     \
    }                                                                                                                  \
    HR_LOOP(dense_back, S)                                                                                             \
    {                                                                                                                  \
        const V sum = (V)((const row_sums *)user)->sum, *e = VALUES_AT(const V, 1);                                    \
        const T *label = VALUES_AT(const T, 2);                                                                        \
        T *out = VALUES_AT(T, 0);                                                                                      \
        (void)step;                                                                                                    \
        HR_EACH_VALUE out[i] = HR_PUT(S, T, e[i] / sum - (V)HR_GET(S, label[i]));                                      \
    }                                                                                                                  \
    HR_LOOP(sigmoid_loss, S)                                                                                           \
    {                                                                                                                  \
        const T *logits = VALUES_AT(const T, 1), *labels = VALUES_AT(const T, 2);                                      \
        T *out = VALUES_AT(T, 0);                                                                                      \
        (void)step, (void)user;                                                                                        \
        HR_EACH_VALUE                                                                                                  \
        {                                                                                                              \
            const V x = HR_GET(S, logits[i]), positive = x > 0 ? x : 0;                                                \
            out[i] = HR_PUT(S, T, positive - x * (V)HR_GET(S, labels[i]) + LOG1P_##V(EXP_##V(-ABS_##V(x))));           \
        }                                                                                                              \
    }
HR_EACH_TYPE(ROW_LOOPS, ~, ~, floats, halves)

/* ---- rows, by these loops ---- */

typedef struct softmax_fns {
    void (*softmax)(int64_t first, int64_t last, void *user);
    void (*cross_entropy)(int64_t first, int64_t last, void *user);
    void (*sigmoid)(int64_t first, int64_t last, void *user);
    size_t exp_size;
} softmax_fns;
#define SOFTMAX_ROWS(T, V, U, D, S, A, B)                                                                              \
    static row_sums exps_of_row_##S(const rows *r, int64_t row)                                                        \
    {                                                                                                                  \
        row_sums sums;                                                                                                 \
        char *const at[] = {(char *)&sums, (char *)r->exps + row * r->n * (int64_t)sizeof(V),                          \
                            (char *)r->logits + row * r->n * (int64_t)sizeof(T)};                                      \
        top_##S((char *[]){at[0], at[2]}, NULL, r->n, NULL);                                                           \
        exps_##S(at, NULL, r->n, NULL);                                                                                \
        return sums;                                                                                                   \
    }                                                                                                                  \
    static void softmax_##S(int64_t first, int64_t last, void *user)                                                   \
    {                                                                                                                  \
        const rows *r = user;                                                                                          \
        for (int64_t row = first; row < last; row++) {                                                                 \
            const row_sums sums = exps_of_row_##S(r, row);                                                             \
            char *const at[] = {(char *)r->out + row * r->n * (int64_t)sizeof(T),                                      \
                                (char *)r->exps + row * r->n * (int64_t)sizeof(V),                                     \
                                (char *)r->logits + row * r->n * (int64_t)sizeof(T)};                                  \
            (r->log ? logs_##S : scaled_##S)(at, NULL, r->n, &sums);                                                   \
        }                                                                                                              \
    }                                                                                                                  \
    static void cross_entropy_##S(int64_t first, int64_t last, void *user)                                             \
    {                                                                                                                  \
        const rows *r = user;                                                                                          \
        for (int64_t row = first; row < last; row++) {                                                                 \
            const row_sums sums = exps_of_row_##S(r, row);                                                             \
            const int64_t begin = row * r->n * (int64_t)sizeof(T);                                                     \
            char *const out = (char *)r->out + begin, *const x = (char *)r->logits + begin;                            \
            char *const e = (char *)r->exps + row * r->n * (int64_t)sizeof(V), *const loss =                           \
                                                                                   (char *)((T *)r->loss + row);       \
            if (r->labels) {                                                                                           \
                char *const labels = (char *)r->labels + begin;                                                        \
                dense_loss_##S((char *[]){loss, x, labels}, NULL, r->n, &sums);                                        \
                dense_back_##S((char *[]){out, e, labels}, NULL, r->n, &sums);                                         \
                continue;                                                                                              \
            }                                                                                                          \
            const int64_t class = r->classes[row];                                                                     \
            const V of_class = (V)HR_GET(S, ((const T *)(void *)x)[class]) - (V)sums.top;                              \
            *(T *)(void *)loss = HR_PUT(S, T, (V)sums.log_sum - of_class);                                             \
            scaled_##S((char *[]){out, e}, NULL, r->n, &sums);                                                         \
            ((T *)(void *)out)[class] = HR_PUT(S, T, EXP_##V(of_class) / (V)sums.sum - 1);                             \
        }                                                                                                              \
    }                                                                                                                  \
    static void sigmoid_##S(int64_t first, int64_t last, void *user)                                                   \
    {                                                                                                                  \
        const rows *r = user;                                                                                          \
        const int64_t begin = first * (int64_t)sizeof(T);                                                              \
        sigmoid_loss_##S((char *[]){(char *)r->out + begin, (char *)r->logits + begin, (char *)r->labels + begin},     \
                         NULL, last - first, NULL);                                                                    \
    }                                                                                                                  \
    static const softmax_fns fns_##S = {softmax_##S, cross_entropy_##S, sigmoid_##S, sizeof(V)};
HR_EACH_TYPE(SOFTMAX_ROWS, ~, ~, floats, halves)

/* Memory for the exps: that of the output, if its values are as wide. */
static hr_status softmax_run(hr_kernel *k, int64_t count, rows *r, bool entropy, hr_error *err)
{
    const softmax_fns *fns = hr_kernel_chosen(k)->more;
    if (r->n == 0) return HR_OK;
    r->exps = fns->exp_size == hr_dtype_size(hr_kernel_chosen(k)->dtype)
                  ? r->out
                  : hr_kernel_temp(k, (size_t)(count * r->n) * fns->exp_size);
    if (!r->exps) return hr_no_memory(err, "exps");
    hr_kernel_parallel(k, count, (double)r->n * 2, entropy ? fns->cross_entropy : fns->softmax, r);
    return HR_OK;
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
    rows r = {.n = in->shape.dims[in->shape.rank - 1], .log = hr_node_is(k->node, "LogSoftmax")};
    const void *logits = in->data; /* LogSoftmax reads them again when their exps are there */
    HR_TRY(r.log ? hr_kernel_output(k, 0, in->shape, &out, err) : hr_kernel_output_over(k, 0, 0, in->shape, &out, err));
    r.logits = logits;
    r.out = out->data;
    return softmax_run(k, r.n ? out->count / r.n : 0, &r, false, err);
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
              .n = shape.dims[1]};
    if (!r.logits || !r.labels) return hr_no_memory(err, "a cross entropy");
    if (r.n == 0 && loss->count) memset(loss->data, 0, (size_t)loss->count * hr_dtype_size(loss->dtype));
    return softmax_run(k, loss->count, &r, true, err);
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
    int64_t *classes;
    HR_TRY(hr_kernel_array(k, labels->count, sizeof *classes, "a cross entropy", &classes, err));
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
    return softmax_run(k, labels->count, &r, true, err);
}

static void sparse_gradient(hr_backward *b) { b->out[0] = hr_dense_gradient(gradient_by_logits(b)); }

/* ---- sigmoid cross entropy, in one node ---- */

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
    hr_kernel_parallel(k, out->count, 4, ((const softmax_fns *)hr_kernel_chosen(k)->more)->sigmoid, &r);
    return HR_OK;
}

static void softmax_sigmoid_gradient(hr_backward *b)
{
    b->out[0] = hr_dense_gradient(hr_mul(b->grad[0], hr_sub(hr_sigmoid(b->input[0]), b->input[1])));
    b->out[1] = hr_dense_gradient(hr_mul(b->grad[0], hr_neg(b->input[0])));
}

#define SOFTMAX(NAME, GRADIENT)                                                                                        \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .kernels = HR_KERNEL_STRUCTS(fns, floats, halves),                     \
        .shape = softmax_shape, .compute = softmax_compute, .gradient = GRADIENT,                                      \
    }

const hr_graph_op hr_graph_ops_softmax_op[] = {
    SOFTMAX("Softmax", softmax_gradient),
    SOFTMAX("LogSoftmax", log_softmax_gradient),
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "SoftmaxCrossEntropyWithLogits",
        .kernels = HR_KERNEL_STRUCTS(fns, floats, halves),
        .shape = dense_shape,
        .compute = softmax_dense_compute,
        .gradient = dense_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "SparseSoftmaxCrossEntropyWithLogits",
        .kernels = HR_KERNEL_STRUCTS(fns, floats, halves),
        .types = "Tlabels:indices",
        .shape = sparse_shape,
        .compute = softmax_sparse_compute,
        .gradient = sparse_gradient,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>SigmoidCrossEntropyWithLogits",
        .inputs = "logits:T, labels:T",
        .outputs = "loss:T",
        .attrs = "T: type in {bfloat16,float16,float32,float64}",
        .kernels = HR_KERNEL_STRUCTS(fns, floats, halves),
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
