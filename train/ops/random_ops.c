/* Random values, bit for bit TensorFlow's: Philox 4x32-10 with the two seeds as key and counter. Each node goes on
 * where its last run ended. */
#include "train/ops/philox.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* TensorFlow's numbers of algorithms. */
enum { PHILOX = 1, AUTO_SELECT = 3 };

/* ---- from bits to values ---- */

/* The lowest bits as mantissa of a number from 1 on, less 1. */
static float uniform_of_f16(uint32_t x) { return (float)(x & 0x3ff) / 0x400; }
static float uniform_of_bf16(uint32_t x) { return (float)(x & 0x7f) / 0x80; }

static void normal_pair(const uint32_t *x, float out[2])
{
    const float u = uniform_of_f32(x[0]), u1 = u < 1e-7f ? 1e-7f : u;
    const float v = (float)(2 * 3.14159265358979323846) * uniform_of_f32(x[1]), r = sqrtf(-2 * logf(u1));
    out[0] = sinf(v) * r;
    out[1] = cosf(v) * r;
}

/* Values of group number `group`, of the bits of one block: 2 of 8 bytes, or 4 of fewer. Beyond two deviations a value
 * is drawn again; a group has 64 blocks a value of its own for that. */
typedef void group_fn(const philox *p, uint64_t group, void *out, const uint64_t *range);

#define FLOAT_GROUPS(T, V, U, DTYPE, S, A, B)                                                                          \
    static void uniform_##S(const philox *p, uint64_t group, void *out, const uint64_t *range)                         \
    {                                                                                                                  \
        uint32_t x[4];                                                                                                 \
        (void)range;                                                                                                   \
        philox_block(p, group, x);                                                                                     \
        for (int i = 0; i < 4; i++) ((T *)out)[i] = HR_PUT(S, T, uniform_of_##S(x[i]));                                \
    }                                                                                                                  \
    static void normal_##S(const philox *p, uint64_t group, void *out, const uint64_t *range)                          \
    {                                                                                                                  \
        uint32_t x[4];                                                                                                 \
        float pair[2];                                                                                                 \
        (void)range;                                                                                                   \
        philox_block(p, group, x);                                                                                     \
        for (int i = 0; i < 4; i++) {                                                                                  \
            if (i % 2 == 0) normal_pair(x + i, pair);                                                                  \
            ((T *)out)[i] = HR_PUT(S, T, pair[i % 2]);                                                                 \
        }                                                                                                              \
    }                                                                                                                  \
    static void truncated_##S(const philox *p, uint64_t group, void *out, const uint64_t *range)                       \
    {                                                                                                                  \
        uint32_t x[4];                                                                                                 \
        float pair[2];                                                                                                 \
        int kept = 0;                                                                                                  \
        (void)range;                                                                                                   \
        for (int draw = 0; kept < 4; draw++) {                                                                         \
            if (draw % 2 == 0) philox_block(p, group * 256 + (uint64_t)draw / 2, x);                                   \
            normal_pair(x + draw % 2 * 2, pair);                                                                       \
            for (int i = 0; i < 2 && kept < 4; i++)                                                                    \
                if (fabsf(pair[i]) < 2) ((T *)out)[kept++] = HR_PUT(S, T, pair[i]);                                    \
        }                                                                                                              \
    }
HR_EACH_TYPE(FLOAT_GROUPS, ~, ~, float32, halves)

static void uniform_f64(const philox *p, uint64_t group, void *out, const uint64_t *range)
{
    uint32_t x[4];
    (void)range;
    philox_block(p, group, x);
    for (int i = 0; i < 2; i++) ((double *)out)[i] = uniform_of_f64(x[2 * i], x[2 * i + 1]);
}

static void normal_f64(const philox *p, uint64_t group, void *out, const uint64_t *range)
{
    uint32_t x[4];
    (void)range;
    philox_block(p, group, x);
    normal_pair_f64(x, out);
}

static void truncated_f64(const philox *p, uint64_t group, void *out, const uint64_t *range)
{
    uint32_t x[4];
    double pair[2];
    int kept = 0;
    (void)range;
    for (uint64_t draw = 0; kept < 2; draw++) {
        philox_block(p, group * 128 + draw, x);
        normal_pair_f64(x, pair);
        for (int i = 0; i < 2 && kept < 2; i++)
            if (fabs(pair[i]) < 2) ((double *)out)[kept++] = pair[i];
    }
}

/* All bits, and minval + bits mod (maxval - minval), which wraps. */
static void bits_w4(const philox *p, uint64_t group, void *out, const uint64_t *range)
{
    (void)range;
    philox_block(p, group, out);
}

static void bits_w8(const philox *p, uint64_t group, void *out, const uint64_t *range)
{
    uint32_t x[4];
    (void)range;
    philox_block(p, group, x);
    for (int i = 0; i < 2; i++) ((uint64_t *)out)[i] = (uint64_t)x[2 * i + 1] << 32 | x[2 * i];
}

static void between_w4(const philox *p, uint64_t group, void *out, const uint64_t *range)
{
    uint32_t *x = out;
    philox_block(p, group, x);
    for (int i = 0; i < 4; i++) x[i] = (uint32_t)range[0] + x[i] % (uint32_t)(range[1] - range[0]);
}

static void between_w8(const philox *p, uint64_t group, void *out, const uint64_t *range)
{
    uint64_t *x = out;
    bits_w8(p, group, x, range);
    for (int i = 0; i < 2; i++) x[i] = range[0] + x[i] % (range[1] - range[0]);
}

/* ---- the node's own stream ---- */

#define INTEGER_GROUPS(NAME)                                                                                           \
    (const hr_type_kernel[])                                                                                           \
    {                                                                                                                  \
        {HR_INT32, (void (*)(void))NAME##_w4, NULL}, {HR_UINT32, (void (*)(void))NAME##_w4, NULL},                     \
            {HR_INT64, (void (*)(void))NAME##_w8, NULL}, {HR_UINT64, (void (*)(void))NAME##_w8, NULL},                 \
        {                                                                                                              \
            HR_INVALID_DTYPE, NULL, NULL                                                                               \
        }                                                                                                              \
    }

/* How an op draws, by a part of its name, and by type. */
static const struct random_kind {
    const char *name;
    const hr_type_kernel *group;
} random_kinds[] = {
    {"UniformFullInt", INTEGER_GROUPS(bits)},         {"UniformInt", INTEGER_GROUPS(between)},
    {"Uniform", HR_KERNELS(uniform, floats, halves)}, {"TruncatedNormal", HR_KERNELS(truncated, floats, halves)},
    {"Normal", HR_KERNELS(normal, floats, halves)},
};

/* NULL: the op makes no values of that type. */
static group_fn *random_group_of(const char *op, hr_dtype dtype)
{
    size_t i = 0;
    while (i < sizeof random_kinds / sizeof *random_kinds && !strstr(op, random_kinds[i].name)) i++;
    if (i == sizeof random_kinds / sizeof *random_kinds) return NULL;
    const hr_type_kernel *line = hr_kernel_of_type(random_kinds[i].group, dtype);
    return line ? (group_fn *)line->run : NULL;
}

static hr_status random_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    (void)session;
    return philox_begin(node, state, err);
}

typedef struct draw {
    const philox *from;
    group_fn *group;
    hr_tensor *out;
    uint64_t range[2];
    int64_t each; /* values a group */
} draw;

static void draw_groups(int64_t first, int64_t last, void *user)
{
    const draw *d = user;
    const size_t size = hr_dtype_size(d->out->dtype);
    for (int64_t g = first; g < last; g++) {
        uint64_t values[4];
        const int64_t at = g * d->each, left = d->out->count - at;
        d->group(d->from, (uint64_t)g, values, d->range);
        memcpy((char *)d->out->data + (size_t)at * size, values, (size_t)(left < d->each ? left : d->each) * size);
    }
}

static hr_status range_of(const hr_tensor *min, const hr_tensor *max, uint64_t *range, hr_error *err)
{
    if (min->shape.rank != 0 || max->shape.rank != 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected scalars minval and maxval");
    const int64_t from = hr_int_at(min, 0), to = hr_int_at(max, 0);
    range[0] = (uint64_t)from;
    range[1] = (uint64_t)to;
    if (from < to) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "Need minval < maxval, got %lld >= %lld", (long long)from,
                   (long long)to);
}

/* Values of the shape in input 0, of integers between inputs `bounds` and `bounds` + 1, if there are. `from` goes on. */
static hr_status draw_values(hr_kernel *k, philox *from, int bounds, hr_error *err)
{
    hr_shape shape;
    draw d = {.from = from, .group = random_group_of(hr_node_op(k->node), hr_node_dtype(k->node))};
    HR_TRY(hr_shape_input(k->input[0], &shape, err));
    HR_TRY(hr_kernel_output(k, 0, shape, &d.out, err));
    if (d.out->count && k->inputs > bounds) HR_TRY(range_of(k->input[bounds], k->input[bounds + 1], d.range, err));
    d.each = hr_dtype_size(d.out->dtype) == 8 ? 2 : 4;
    hr_kernel_parallel(k, (d.out->count + d.each - 1) / d.each, 60, draw_groups, &d);
    philox_skip(from, (uint64_t)d.out->count * 256);
    return HR_OK;
}

static hr_status random_compute(hr_kernel *k, hr_error *err) { return draw_values(k, k->state, 1, err); }

/* Often as many values as another node has, in batches of any size: what is known of its shape is known of this. */
static hr_status random_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *value = hr_infer_value(s, 0);
    if (!value && !hr_infer_numbers(s, 0, &s->output[0])) s->output[0] = HR_UNKNOWN_SHAPE;
    if (value && !hr_shape_from_tensor(value, &s->output[0])) return hr_infer_refuse(s, err, "a vector of dimensions");
    return HR_OK;
}

/* ---- a random order of rows ---- */

/* Row i changes places with one of those from i on: one draw of 32 bits each. */
static void shuffle_order(const philox *p, uint32_t *order, uint32_t rows)
{
    uint32_t x[4] = {0};
    for (uint32_t i = 0; i < rows; i++) order[i] = i;
    for (uint32_t i = 0; i + 1 < rows; i++) {
        if (i % 4 == 0) philox_block(p, i / 4, x);
        const uint32_t j = i + x[i % 4] % (rows - i), moved = order[i];
        order[i] = order[j];
        order[j] = moved;
    }
}

/* The rows of input 0 in the order that `from` draws; then it is where the draws end. */
static hr_status shuffle_rows(hr_kernel *k, philox *from, hr_error *err)
{
    const hr_tensor *in = k->input[0];
    hr_tensor scratch, *out;
    const int64_t rows = in->shape.rank > 0 ? in->shape.dims[0] : 1;
    if (rows < 2) return hr_kernel_pass(k, 0, 0, in->shape, err);
    if (rows > UINT32_MAX)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected at most %u rows, got %lld", UINT32_MAX,
                       (long long)rows);
    uint32_t *order;
    HR_TRY(hr_kernel_array(k, rows, sizeof *order, "an order of rows", &order, err));
    HR_TRY(hr_kernel_begin_output(k, 0, in->shape, &scratch, &out, err));
    shuffle_order(from, order, (uint32_t)rows);
    philox_skip(from, ((uint64_t)rows + 2) / 4);
    const size_t row = hr_bytes_from_axis(in, 1);
    for (int64_t i = 0; i < rows; i++)
        memcpy((char *)out->data + (size_t)i * row, (const char *)in->data + (size_t)order[i] * row, row);
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

static hr_status shuffle_compute(hr_kernel *k, hr_error *err) { return shuffle_rows(k, k->state, err); }

/* ---- without a state: key and counter come with each run ---- */

/* One block of a fixed key on the seeds gives the key and the upper half of the counter. */
static hr_status philox_of_seed(const hr_tensor *seed, philox *out, hr_error *err)
{
    uint32_t x[4];
    if (seed->count != 2 || seed->shape.rank != 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "seed must have shape [2], not %lld values",
                       (long long)seed->count);
    const uint64_t first = (uint64_t)hr_int_at(seed, 0), second = (uint64_t)hr_int_at(seed, 1);
    const philox mix = {{0x3ec8f720, 0x02461e29},
                        {(uint32_t)first, (uint32_t)(first >> 32), (uint32_t)second, (uint32_t)(second >> 32)}};
    philox_block(&mix, 0, x);
    *out = (philox){{x[0], x[1]}, {0, 0, x[2], x[3]}};
    return HR_OK;
}

static hr_status stateless_compute(hr_kernel *k, hr_error *err)
{
    philox from;
    HR_TRY(philox_of_seed(k->input[1], &from, err));
    return draw_values(k, &from, 2, err);
}

/* The key and the counter that a seed gives, as numbers of 64 bits, for the ops named V2. */
static hr_status key_compute(hr_kernel *k, hr_error *err)
{
    philox p = {0};
    hr_tensor *key, *counter, *algorithm;
    HR_TRY(philox_of_seed(k->input[0], &p, err));
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(1), &key, err));
    HR_TRY(hr_kernel_output(k, 1, HR_SHAPE(2), &counter, err));
    *(uint64_t *)key->data = (uint64_t)p.key[1] << 32 | p.key[0];
    for (int i = 0; i < 2; i++)
        ((uint64_t *)counter->data)[i] = (uint64_t)p.counter[2 * i + 1] << 32 | p.counter[2 * i];
    if (k->outputs < 3) return HR_OK;
    HR_TRY(hr_kernel_output(k, 2, HR_SCALAR, &algorithm, err));
    *(int32_t *)algorithm->data = PHILOX;
    return HR_OK;
}

static hr_status algorithm_compute(hr_kernel *k, hr_error *err)
{
    hr_tensor *out;
    HR_TRY(hr_kernel_output(k, 0, HR_SCALAR, &out, err));
    *(int32_t *)out->data = PHILOX;
    return HR_OK;
}

/* What inputs 1 to 3 say: a key, a counter, an algorithm. */
static hr_status philox_of_key(const hr_kernel *k, philox *out, hr_error *err)
{
    const hr_tensor *key = k->input[1], *counter = k->input[2], *algorithm = k->input[3];
    if (key->shape.rank != 1 || key->count != 1 || counter->shape.rank != 1 || counter->count < 2)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected a key of shape [1] and a counter of shape [2], got %lld and %lld values",
                       (long long)key->count, (long long)counter->count);
    HR_TRY(hr_expect_rank("alg", algorithm->shape, 0, err));
    const int32_t chosen = *(const int32_t *)algorithm->data;
    if (chosen != PHILOX && chosen != AUTO_SELECT)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range",
                       "Unsupported algorithm id: expected 1 (Philox) or 3 (any), got %d", (int)chosen);
    const uint64_t bits = *(const uint64_t *)key->data, *at = counter->data;
    *out = (philox){{(uint32_t)bits, (uint32_t)(bits >> 32)},
                    {(uint32_t)at[0], (uint32_t)(at[0] >> 32), (uint32_t)at[1], (uint32_t)(at[1] >> 32)}};
    return HR_OK;
}

static hr_status keyed_compute(hr_kernel *k, hr_error *err)
{
    philox from;
    HR_TRY(philox_of_key(k, &from, err));
    return draw_values(k, &from, 4, err);
}

static hr_status keyed_shuffle_compute(hr_kernel *k, hr_error *err)
{
    philox from;
    HR_TRY(philox_of_key(k, &from, err));
    return shuffle_rows(k, &from, err);
}

/* ---- classes by their logits ---- */

/* What the finite logits up to each class weigh together; the sum of all. */
typedef double weigh_fn(const void *logits, double *sums, int64_t classes);
#define WEIGH(T, V, U, DTYPE, S, A, B)                                                                                 \
    static double weigh_##S(const void *logits, double *sums, int64_t classes)                                         \
    {                                                                                                                  \
        const T *x = logits;                                                                                           \
        double max = -DBL_MAX, sum = 0;                                                                                \
        for (int64_t i = 0; i < classes; i++)                                                                          \
            if (isfinite(HR_GET(S, x[i]))) max = fmax(max, (double)HR_GET(S, x[i]));                                   \
        for (int64_t i = 0; i < classes; i++) {                                                                        \
            if (isfinite(HR_GET(S, x[i]))) sum += exp((double)HR_GET(S, x[i]) - max);                                  \
            sums[i] = sum;                                                                                             \
        }                                                                                                              \
        return sum;                                                                                                    \
    }
HR_EACH_TYPE(WEIGH, ~, ~, floats, halves)

/* Draw number `i` of numbers from 0 to 1, of 64 bits each. */
static double draw_at(const philox *p, uint64_t i)
{
    uint32_t x[4];
    philox_block(p, i / 2, x);
    return uniform_of_f64(x[i % 2 * 2], x[i % 2 * 2 + 1]);
}

/* The first class whose sum is above `weight`; if there is none, the number of classes. */
static int64_t class_of(double weight, const double *sums, int64_t classes)
{
    int64_t first = 0;
    while (classes > 0) {
        const int64_t half = classes / 2;
        if (weight < sums[first + half]) {
            classes = half;
        } else {
            first += half + 1;
            classes -= half + 1;
        }
    }
    return first;
}

static hr_status draw_classes(hr_kernel *k, philox *from, hr_error *err)
{
    const hr_tensor *logits = k->input[0], *number = k->input[1];
    hr_tensor *out;
    if (logits->shape.rank != 2 || number->shape.rank != 0 || *(const int32_t *)number->data < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected a matrix of logits and num_samples of 0 or more, got rank %d and rank %d",
                       logits->shape.rank, number->shape.rank);
    const int64_t samples = *(const int32_t *)number->data, rows = logits->shape.dims[0],
                  classes = logits->shape.dims[1];
    if (classes < 1) return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "num_classes should be positive, got 0");
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(rows, samples), &out, err));
    double *sums;
    HR_TRY(hr_kernel_array(k, classes, sizeof *sums, "the weights of classes", &sums, err));
    weigh_fn *weigh = (weigh_fn *)hr_kernel_chosen(k)->run;
    for (int64_t row = 0; row < rows && samples; row++) {
        const double sum =
            weigh((const char *)logits->data + (size_t)row * hr_bytes_from_axis(logits, 1), sums, classes);
        for (int64_t i = row * samples; i < (row + 1) * samples; i++)
            HR_TRY(hr_put_int(out, i, class_of(draw_at(from, (uint64_t)i) * sum, sums, classes), err));
    }
    philox_skip(from, (uint64_t)(rows * ((samples + 3) / 4 * 4)) * 2 * 256);
    return HR_OK;
}

static hr_status multinomial_compute(hr_kernel *k, hr_error *err) { return draw_classes(k, k->state, err); }

static hr_status stateless_multinomial_compute(hr_kernel *k, hr_error *err)
{
    philox from;
    HR_TRY(philox_of_seed(k->input[2], &from, err));
    return draw_classes(k, &from, err);
}

static hr_status multinomial_shape(hr_infer *s, hr_error *err)
{
    hr_shape number;
    (void)err;
    if (hr_infer_numbers(s, 1, &number)) s->output[0].dims[1] = number.dims[0];
    return HR_OK;
}

#define FLOATS "{floats,float16,bfloat16}"
#define STATELESS(NAME, TYPES, SHAPES, COMPUTE)                                                                        \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .types = TYPES, .traits = HR_NO_GRADIENT, .shapes = SHAPES,            \
        .shape = random_shape, .compute = COMPUTE,                                                                     \
    }
#define BOTH(NAME, TYPES, RANGE)                                                                                       \
    STATELESS(NAME, TYPES, NULL, stateless_compute),                                                                   \
        STATELESS(NAME "V2", TYPES, "?, [1], [?], []" RANGE " -> ?", keyed_compute)
#define KEY(NAME, TRAITS, SHAPES, COMPUTE)                                                                             \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .traits = HR_NO_GRADIENT | (TRAITS), .shapes = SHAPES,                 \
        .compute = COMPUTE,                                                                                            \
    }
#define STREAM(NAME, TYPES, SHAPE, COMPUTE)                                                                            \
    .head = HR_GRAPH_OP_HEAD, .name = NAME, .types = TYPES, .traits = HR_STATEFUL | HR_NO_GRADIENT,                    \
    .state_size = sizeof(philox), .kept = sizeof(philox), .shape = SHAPE, .prepare = random_prepare,                   \
    .compute = COMPUTE

const hr_graph_op hr_graph_ops_random_ops[] = {
    {STREAM("RandomUniform", "dtype:" FLOATS, random_shape, random_compute)},
    {STREAM("RandomStandardNormal", "dtype:" FLOATS, random_shape, random_compute)},
    {STREAM("TruncatedNormal", "dtype:" FLOATS, random_shape, random_compute)},
    {STREAM("RandomUniformInt", "Tout:indices", random_shape, random_compute)},
    {STREAM("RandomShuffle", "T:any", hr_infer_unchanged, shuffle_compute)},
    BOTH("StatelessRandomUniform", "dtype:" FLOATS, ""),
    BOTH("StatelessRandomNormal", "dtype:" FLOATS, ""),
    BOTH("StatelessTruncatedNormal", "dtype:" FLOATS, ""),
    BOTH("StatelessRandomUniformInt", "dtype:indices", ", ?, ?"),
    BOTH("StatelessRandomUniformFullInt", NULL, ""),
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "StatelessShuffle",
        .types = "T:any",
        .traits = HR_NO_GRADIENT,
        .shapes = "?, [1], [?], [] -> =0",
        .compute = keyed_shuffle_compute,
    },
    KEY("StatelessRandomGetKeyCounter", 0, "[2] -> [1], [2]", key_compute),
    KEY("StatelessRandomGetKeyCounterAlg", 0, "[2] -> [1], [2], []", key_compute),
    KEY("StatelessRandomGetAlg", HR_STATEFUL, "[]", algorithm_compute),
    {
        STREAM("Multinomial", NULL, multinomial_shape, multinomial_compute),
        .shapes = "[b,?], [] -> [b,?]",
        .kernels = HR_KERNELS(weigh, floats, halves),
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "StatelessMultinomial",
        .traits = HR_NO_GRADIENT,
        .shapes = "[b,?], [], [2] -> [b,?]",
        .shape = multinomial_shape,
        .compute = stateless_multinomial_compute,
        .kernels = HR_KERNELS(weigh, floats, halves),
    },
    HR_GRAPH_OPS_END,
};
