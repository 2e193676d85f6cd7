/* Random values, bit for bit TensorFlow's: Philox 4x32-10 with the two seeds as key and counter. Each node goes on
 * where its last run ended. */
#include <headrace/kernels.h>
#include <math.h>
#include <string.h>
#include <sys/random.h>

typedef struct philox {
    uint32_t key[2], counter[4];
} philox;

static void philox_round(uint32_t c[4], const uint32_t k[2])
{
    const uint64_t p0 = UINT64_C(0xD2511F53) * c[0], p1 = UINT64_C(0xCD9E8D57) * c[2];
    const uint32_t next[4] = {(uint32_t)(p1 >> 32) ^ c[1] ^ k[0], (uint32_t)p1, (uint32_t)(p0 >> 32) ^ c[3] ^ k[1],
                              (uint32_t)p0};
    memcpy(c, next, sizeof next);
}

static void block_at(const philox *p, uint64_t skip, uint32_t out[4])
{
    uint32_t key[2] = {p->key[0], p->key[1]};
    const uint64_t low = (uint64_t)p->counter[1] << 32 | p->counter[0];
    uint64_t high = (uint64_t)p->counter[3] << 32 | p->counter[2];
    const uint64_t moved = low + skip;
    if (moved < low) high++;
    out[0] = (uint32_t)moved;
    out[1] = (uint32_t)(moved >> 32);
    out[2] = (uint32_t)high;
    out[3] = (uint32_t)(high >> 32);
    for (int i = 0; i < 10; i++) {
        if (i > 0) {
            key[0] += 0x9E3779B9u;
            key[1] += 0xBB67AE85u;
        }
        philox_round(out, key);
    }
}

static void skip_blocks(philox *p, uint64_t blocks)
{
    uint64_t low = (uint64_t)p->counter[1] << 32 | p->counter[0];
    low += blocks;
    const bool carry = low < blocks;
    p->counter[0] = (uint32_t)low;
    p->counter[1] = (uint32_t)(low >> 32);
    if (carry && ++p->counter[2] == 0) p->counter[3]++;
}

/* ---- from bits to values ---- */

static float uniform_f32(uint32_t x)
{
    const uint32_t bits = 0x3f800000u | (x & 0x7fffffu);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value - 1;
}

static double uniform_f64(uint32_t x0, uint32_t x1)
{
    const uint64_t bits = UINT64_C(1023) << 52 | (uint64_t)(x0 & 0xfffffu) << 32 | x1;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value - 1;
}

static void normal_f32(const uint32_t x[2], float out[2])
{
    const float u = uniform_f32(x[0]), u1 = u < 1e-7f ? 1e-7f : u;
    const float v = (float)(2 * 3.14159265358979323846) * uniform_f32(x[1]), r = sqrtf(-2 * logf(u1));
    out[0] = sinf(v) * r;
    out[1] = cosf(v) * r;
}

static void normal_f64(const uint32_t x[4], double out[2])
{
    const double u = uniform_f64(x[0], x[1]), u1 = u < 1e-7 ? 1e-7 : u;
    const double v = 2 * 3.14159265358979323846 * uniform_f64(x[2], x[3]), r = sqrt(-2 * log(u1));
    out[0] = sin(v) * r;
    out[1] = cos(v) * r;
}

/* Values of one group: 4 floats or int32, 2 doubles or int64. `group` is its number. */
typedef void group_fn(const philox *p, uint64_t group, void *out, const int64_t *range);

static void uniform_group_f32(const philox *p, uint64_t group, void *out, const int64_t *range)
{
    uint32_t x[4];
    (void)range;
    block_at(p, group, x);
    for (int i = 0; i < 4; i++) ((float *)out)[i] = uniform_f32(x[i]);
}

static void uniform_group_f64(const philox *p, uint64_t group, void *out, const int64_t *range)
{
    uint32_t x[4];
    (void)range;
    block_at(p, group, x);
    for (int i = 0; i < 2; i++) ((double *)out)[i] = uniform_f64(x[2 * i], x[2 * i + 1]);
}

static void normal_group_f32(const philox *p, uint64_t group, void *out, const int64_t *range)
{
    uint32_t x[4];
    (void)range;
    block_at(p, group, x);
    normal_f32(x, out);
    normal_f32(x + 2, (float *)out + 2);
}

static void normal_group_f64(const philox *p, uint64_t group, void *out, const int64_t *range)
{
    uint32_t x[4];
    (void)range;
    block_at(p, group, x);
    normal_f64(x, out);
}

/* Beyond two deviations a value is drawn again; a group has 256 blocks of its own for that. */
static void truncated_group_f32(const philox *p, uint64_t group, void *out, const int64_t *range)
{
    uint32_t x[4];
    float pair[2];
    int kept = 0;
    (void)range;
    for (int draw = 0; kept < 4; draw++) {
        if (draw % 2 == 0) block_at(p, group * 256 + (uint64_t)draw / 2, x);
        normal_f32(x + draw % 2 * 2, pair);
        for (int i = 0; i < 2 && kept < 4; i++)
            if (fabsf(pair[i]) < 2) ((float *)out)[kept++] = pair[i];
    }
}

static void truncated_group_f64(const philox *p, uint64_t group, void *out, const int64_t *range)
{
    uint32_t x[4];
    double pair[2];
    int kept = 0;
    (void)range;
    for (uint64_t draw = 0; kept < 2; draw++) {
        block_at(p, group * 256 + draw, x);
        normal_f64(x, pair);
        for (int i = 0; i < 2 && kept < 2; i++)
            if (fabs(pair[i]) < 2) ((double *)out)[kept++] = pair[i];
    }
}

/* minval + x mod (maxval - minval), without overflow. */
static void int_group_i32(const philox *p, uint64_t group, void *out, const int64_t *range)
{
    uint32_t x[4];
    block_at(p, group, x);
    for (int i = 0; i < 4; i++)
        ((int32_t *)out)[i] = (int32_t)((uint32_t)range[0] + x[i] % (uint32_t)(range[1] - range[0]));
}

static void int_group_i64(const philox *p, uint64_t group, void *out, const int64_t *range)
{
    uint32_t x[4];
    block_at(p, group, x);
    for (int i = 0; i < 2; i++) {
        const uint64_t bits = (uint64_t)x[2 * i + 1] << 32 | x[2 * i];
        ((int64_t *)out)[i] = (int64_t)((uint64_t)range[0] + bits % ((uint64_t)range[1] - (uint64_t)range[0]));
    }
}

/* ---- the node's own stream ---- */

typedef struct random_state {
    philox philox;
    group_fn *group;
} random_state;

static group_fn *random_group_of(const char *op, hr_dtype dtype)
{
    const bool wide = dtype == HR_DOUBLE || dtype == HR_INT64;
    if (strcmp(op, "RandomUniform") == 0) return wide ? uniform_group_f64 : uniform_group_f32;
    if (strcmp(op, "RandomStandardNormal") == 0) return wide ? normal_group_f64 : normal_group_f32;
    if (strcmp(op, "TruncatedNormal") == 0) return wide ? truncated_group_f64 : truncated_group_f32;
    return wide ? int_group_i64 : int_group_i32;
}

static hr_status random_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    (void)session;
    random_state *st = state;
    uint64_t seeds[2] = {(uint64_t)hr_attr_int(node, "seed"), (uint64_t)hr_attr_int(node, "seed2")};
    if (seeds[0] == 0 && seeds[1] == 0 && getentropy(seeds, sizeof seeds) != 0)
        return hr_fail(err, HR_UNAVAILABLE, "graph.random",
                       "expected random bytes from the system for a seed, got none");
    st->philox = (philox){{(uint32_t)seeds[0], (uint32_t)(seeds[0] >> 32)},
                          {0, 0, (uint32_t)seeds[1], (uint32_t)(seeds[1] >> 32)}};
    st->group = random_group_of(hr_node_op(node), hr_node_dtype(node));
    return HR_OK;
}

typedef struct draw {
    const random_state *state;
    hr_tensor *out;
    const int64_t *range;
    int64_t each; /* values a group */
} draw;

static void draw_groups(int64_t first, int64_t last, void *user)
{
    const draw *d = user;
    const size_t size = hr_dtype_size(d->out->dtype);
    for (int64_t g = first; g < last; g++) {
        double values[4];
        const int64_t at = g * d->each, left = d->out->count - at;
        d->state->group(&d->state->philox, (uint64_t)g, values, d->range);
        memcpy((char *)d->out->data + (size_t)at * size, values, (size_t)(left < d->each ? left : d->each) * size);
    }
}

static hr_status range_of(const hr_tensor *min, const hr_tensor *max, int64_t *range, hr_error *err)
{
    if (min->count != 1 || max->count != 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected scalars minval and maxval");
    range[0] = hr_int_at(min, 0);
    range[1] = hr_int_at(max, 0);
    if (range[0] < range[1]) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "Need minval < maxval, got %lld >= %lld",
                   (long long)range[0], (long long)range[1]);
}

static hr_status random_compute(hr_kernel *k, hr_error *err)
{
    random_state *st = k->state;
    hr_shape shape;
    int64_t range[2] = {0, 0};
    draw d = {.state = st, .range = range};
    HR_TRY(hr_shape_input(k->input[0], &shape, err));
    HR_TRY(hr_kernel_output(k, 0, shape, &d.out, err));
    if (d.out->count && k->inputs > 2) HR_TRY(range_of(k->input[1], k->input[2], range, err));
    d.each = hr_dtype_size(d.out->dtype) == 8 ? 2 : 4;
    hr_kernel_parallel(k, (d.out->count + d.each - 1) / d.each, 60, draw_groups, &d);
    skip_blocks(&st->philox, (uint64_t)d.out->count * 256);
    return HR_OK;
}

/* As many values as another node has, often in batches of any size: what is known of that one is known of this. */
static hr_status random_shape(hr_infer *s, hr_error *err)
{
    const hr_tensor *value = hr_infer_value(s, 0);
    const hr_node dims = hr_node_input(s->node, 0);
    if (!value && strcmp(hr_node_op(dims), "Shape") == 0) s->output[0] = hr_node_shape(hr_node_input(dims, 0));
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
        if (i % 4 == 0) block_at(p, i / 4, x);
        const uint32_t j = i + x[i % 4] % (rows - i), moved = order[i];
        order[i] = order[j];
        order[j] = moved;
    }
}

static hr_status shuffle_compute(hr_kernel *k, hr_error *err)
{
    random_state *st = k->state;
    const hr_tensor *in = k->input[0];
    hr_tensor scratch, *out;
    const int64_t rows = in->shape.rank > 0 ? in->shape.dims[0] : 1;
    if (rows < 2) return hr_kernel_pass(k, 0, 0, in->shape, err);
    if (rows > UINT32_MAX)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected at most %u rows, got %lld", UINT32_MAX,
                       (long long)rows);
    uint32_t *order = hr_kernel_temp(k, (size_t)rows * sizeof *order);
    if (!order) return hr_no_memory(err, "an order of rows");
    HR_TRY(hr_kernel_begin_output(k, 0, in->shape, &scratch, &out, err));
    shuffle_order(&st->philox, order, (uint32_t)rows);
    skip_blocks(&st->philox, ((uint64_t)rows + 2) / 4);
    const size_t row = hr_bytes_from_axis(in, 1);
    for (int64_t i = 0; i < rows; i++)
        memcpy((char *)out->data + (size_t)i * row, (const char *)in->data + (size_t)order[i] * row, row);
    return hr_kernel_end_output(k, 0, &scratch, out, err);
}

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
    block_at(&mix, 0, x);
    *out = (philox){{x[0], x[1]}, {0, 0, x[2], x[3]}};
    return HR_OK;
}

static hr_status stateless_compute(hr_kernel *k, hr_error *err)
{
    static const size_t prefix = sizeof "Stateless" - 1;
    const char *op = hr_node_op(k->node) + prefix;
    const bool truncated = strcmp(op, "TruncatedNormal") == 0, uniform = strcmp(op, "RandomUniform") == 0;
    const char *same = truncated                             ? "TruncatedNormal"
                       : uniform                             ? "RandomUniform"
                       : strcmp(op, "RandomUniformInt") == 0 ? "RandomUniformInt"
                                                             : "RandomStandardNormal";
    random_state st;
    hr_shape shape;
    int64_t range[2] = {0, 0};
    draw d = {.state = &st, .range = range};
    HR_TRY(philox_of_seed(k->input[1], &st.philox, err));
    HR_TRY(hr_shape_input(k->input[0], &shape, err));
    HR_TRY(hr_kernel_output(k, 0, shape, &d.out, err));
    if (d.out->count && k->inputs > 3) HR_TRY(range_of(k->input[2], k->input[3], range, err));
    st.group = random_group_of(same, d.out->dtype);
    d.each = hr_dtype_size(d.out->dtype) == 8 ? 2 : 4;
    hr_kernel_parallel(k, (d.out->count + d.each - 1) / d.each, 60, draw_groups, &d);
    return HR_OK;
}

#define STATELESS(NAME, TYPES)                                                                                         \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .types = TYPES "; T:indices; Tseed:indices", .traits = HR_NO_GRADIENT, \
        .shape = random_shape, .compute = stateless_compute,                                                           \
    }
#define RANDOM(NAME)                                                                                                   \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = NAME, .types = "dtype:floats; T:indices",                                    \
        .traits = HR_STATEFUL | HR_NO_GRADIENT, .state_size = sizeof(random_state), .shape = random_shape,             \
        .prepare = random_prepare, .compute = random_compute,                                                          \
    }

const hr_graph_op hr_graph_ops_random_ops[] = {
    RANDOM("RandomUniform"),
    RANDOM("RandomStandardNormal"),
    RANDOM("TruncatedNormal"),
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "RandomUniformInt",
        .types = "Tout:indices; T:indices",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .state_size = sizeof(random_state),
        .shape = random_shape,
        .prepare = random_prepare,
        .compute = random_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "RandomShuffle",
        .types = "T:any",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .state_size = sizeof(random_state),
        .shape = hr_infer_unchanged,
        .prepare = random_prepare,
        .compute = shuffle_compute,
    },
    STATELESS("StatelessRandomUniform", "dtype:floats"),
    STATELESS("StatelessRandomNormal", "dtype:floats"),
    STATELESS("StatelessTruncatedNormal", "dtype:floats"),
    STATELESS("StatelessRandomUniformInt", "dtype:indices"),
    HR_GRAPH_OPS_END,
};

static hr_node values(const char *op, hr_node shape, hr_dtype dtype, int64_t seed)
{
    int64_t seed1, seed2;
    if (!hr_node_exists(shape)) return shape;
    hr_random_seeds(shape.graph, seed, &seed1, &seed2);
    return hr_new_node(shape.graph, op, HR_INPUTS(shape),
                       HR_ATTRS(HR_INT_ATTR("seed", seed1), HR_INT_ATTR("seed2", seed2), HR_TYPE_ATTR("dtype", dtype)));
}

hr_node hr_uniform_values(hr_node shape, hr_dtype dtype, int64_t seed)
{
    return values("RandomUniform", shape, dtype, seed);
}
hr_node hr_normal_values(hr_node shape, hr_dtype dtype, int64_t seed)
{
    return values("RandomStandardNormal", shape, dtype, seed);
}
hr_node hr_truncated_normal_values(hr_node shape, hr_dtype dtype, int64_t seed)
{
    return values("TruncatedNormal", shape, dtype, seed);
}
