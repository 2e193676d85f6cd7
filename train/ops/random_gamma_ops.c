/* RandomGamma and RandomPoissonV2, value for value TensorFlow's: each value has 256 blocks of bits of its own. */
#include "train/ops/philox.h"
#include <float.h>

enum { BLOCKS_A_VALUE = 256, MOST_TRIES = 10000 };

/* The stream of one value: uniform and normal numbers come from it in turns, two a block, the second one first. */
typedef struct stream {
    const philox *from;
    uint64_t block;
    double uniform[2], normal[2];
    int uniforms, normals; /* that are left */
} stream;

static double next_uniform(stream *s)
{
    uint32_t x[4];
    if (s->uniforms == 0) {
        philox_block(s->from, s->block++, x);
        for (int i = 0; i < 2; i++) s->uniform[i] = uniform_of_f64(x[2 * i], x[2 * i + 1]);
        s->uniforms = 2;
    }
    return s->uniform[--s->uniforms];
}

static double next_normal(stream *s)
{
    uint32_t x[4];
    if (s->normals == 0) {
        philox_block(s->from, s->block++, x);
        normal_pair_f64(x, s->normal);
        s->normals = 2;
    }
    return s->normal[--s->normals];
}

/* ---- one value ---- */

/* By rejection of a transformed normal number (Marsaglia and Tsang); an exponential one if alpha is 1. */
static double gamma_value(stream *s, double alpha, double most)
{
    const bool is_less = alpha < 1;
    const double d = alpha + (is_less ? 2. / 3 : -1. / 3), c = 1. / 3 / sqrt(d);
    (void)most;
    if (alpha == 1) return -log1p(-next_uniform(s));
    for (int i = 0; i < MOST_TRIES; i++) {
        const double x = next_normal(s);
        double v = 1 + c * x;
        if (v <= 0) continue;
        v = v * v * v;
        const double u = next_uniform(s);
        if (u < 1 - 0.0331 * (x * x) * (x * x) || log(u) < 0.5 * x * x + d * (1 - v + log(v)))
            return is_less ? d * v * pow(next_uniform(s), 1 / alpha) : d * v;
    }
    return NAN;
}

/* Of small rates, how many uniform numbers have a product above exp(-rate) (Knuth). */
static double few_events(stream *s, double rate)
{
    const double least = exp(-rate);
    double product = 1, count = 0;
    for (int i = 0; i < MOST_TRIES; i++, count++) {
        product *= next_uniform(s);
        if (product <= least) break;
    }
    return count;
}

/* Of others, by rejection of a transformed uniform number (Hoermann). */
static double many_events(stream *s, double rate, double most)
{
    const double log_rate = log(rate), b = 0.931 + 2.53 * sqrt(rate), a = -0.059 + 0.02483 * b;
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    for (int i = 0; i < MOST_TRIES; i++) {
        const double u = next_uniform(s) - 0.5, v = next_uniform(s), shifted = 0.5 - fabs(u);
        const double k = floor((2 * a / shifted + b) * u + rate + 0.43);
        int sign;
        if (k > most) continue;
        if (shifted >= 0.07 && v <= 0.9277 - 3.6224 / (b - 2)) return k;
        if (k < 0 || (shifted < 0.013 && v > shifted)) continue;
        if (log(v * inverse_alpha / (a / (shifted * shifted) + b)) <= -rate + k * log_rate - lgamma_r(k + 1, &sign))
            return k;
    }
    return most;
}

static double poisson_value(stream *s, double rate, double most)
{
    if (!(rate < INFINITY)) return isnan(rate) ? 0 : most;
    return rate < 10 ? few_events(s, rate) : many_events(s, rate, most);
}

/* ---- all values ---- */

typedef double read_fn(const void *values, int64_t i);
typedef void write_fn(void *values, int64_t i, double value);
#define READ_WRITE(T, V, U, D, S, A, B)                                                                                \
    static double read_##S(const void *values, int64_t i) { return (double)HR_GET(S, ((const T *)values)[i]); }        \
    static void write_##S(void *values, int64_t i, double value) { ((T *)values)[i] = HR_PUT(S, T, (V)value); }
HR_EACH_TYPE(READ_WRITE, ~, ~, floats, halves, signed_ints)

/* The greatest number of the type, as the next double below it where it is none. */
static double most_of(hr_dtype dtype)
{
    return dtype == HR_INT32   ? INT32_MAX
           : dtype == HR_INT64 ? 9223372036854774784.
           : dtype == HR_HALF  ? 65504
           : dtype == HR_FLOAT ? (double)FLT_MAX
                               : DBL_MAX;
}

typedef struct drawing {
    const philox *from;
    const void *parameter;
    void *out;
    int64_t parameters, samples;
    read_fn *read;
    write_fn *write;
    double most;
    double (*value)(stream *s, double parameter, double most);
} drawing;

/* Value number i is sample i % samples of parameter i / samples. */
static void draw_some(int64_t first, int64_t last, void *user)
{
    const drawing *d = user;
    for (int64_t i = first; i < last; i++) {
        const int64_t parameter = i / d->samples;
        stream s = {.from = d->from, .block = BLOCKS_A_VALUE * (uint64_t)i};
        d->write(d->out, i % d->samples * d->parameters + parameter,
                 d->value(&s, d->read(d->parameter, parameter), d->most));
    }
}

static hr_status draw_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    (void)session;
    return philox_begin(node, state, err);
}

static hr_status draw_compute(hr_kernel *k, hr_error *err)
{
    philox *own = k->state;
    const hr_tensor *parameter = k->input[1];
    const bool gamma = hr_node_is(k->node, "RandomGamma");
    hr_shape shape;
    hr_tensor *out;
    HR_TRY(hr_shape_input(k->input[0], &shape, err));
    const int64_t samples = hr_shape_count(shape);
    if (shape.rank + parameter->shape.rank > HR_MAX_RANK)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected at most %d dimensions, got %d and %d",
                       HR_MAX_RANK, shape.rank, parameter->shape.rank);
    for (int d = 0; d < parameter->shape.rank; d++) shape.dims[shape.rank++] = parameter->shape.dims[d];
    HR_TRY(hr_kernel_output(k, 0, shape, &out, err));
    if (out->count == 0) return HR_OK;
    drawing d = {.from = own,
                 .parameter = parameter->data,
                 .out = out->data,
                 .parameters = parameter->count,
                 .samples = samples,
                 .most = most_of(out->dtype),
                 .value = gamma ? gamma_value : poisson_value};
    const hr_type_kernel *reads = HR_KERNELS(read, floats, halves, signed_ints);
    const hr_type_kernel *writes = HR_KERNELS(write, floats, halves, signed_ints);
    d.read = (read_fn *)hr_kernel_of_type(reads, parameter->dtype)->run;
    d.write = (write_fn *)hr_kernel_of_type(writes, out->dtype)->run;
    hr_kernel_parallel(k, out->count, 200, draw_some, &d);
    philox_skip(own, (uint64_t)out->count * BLOCKS_A_VALUE);
    return HR_OK;
}

static hr_status draw_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *value = hr_infer_value(s, 0);
    const hr_shape parameter = s->input[1];
    hr_shape out;
    if (!value || parameter.rank < 0) return HR_OK;
    if (!hr_shape_from_tensor(value, &out) || out.rank + parameter.rank > HR_MAX_RANK)
        return hr_infer_refuse(s, err, "a vector of dimensions, and at most 8 in all");
    for (int d = 0; d < parameter.rank; d++) out.dims[out.rank++] = parameter.dims[d];
    s->output[0] = out;
    return HR_OK;
}

#define DRAW(NAME, TYPES, TRAITS)                                                                                      \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .types = TYPES, .traits = HR_STATEFUL | (TRAITS),                    \
        .state_size = sizeof(philox), .kept = sizeof(philox), .shape = draw_shape, .prepare = draw_prepare,            \
        .compute = draw_compute,                                                                                       \
    }

const hr_graph_op hr_graph_ops_random_gamma_ops[] = {
    DRAW("RandomGamma", "S:indices", 0), /* TensorFlow derives it by alpha, which this does not */
    DRAW("RandomPoissonV2", "S:indices", HR_NO_GRADIENT),
    HR_GRAPH_OPS_END,
};
