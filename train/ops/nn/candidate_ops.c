/* Samplers of classes for losses that look at some classes only, bit for bit TensorFlow's, and the count of each class
 * that they expect. ComputeAccidentalHits finds sampled classes that are true ones. */
#include "train/ops/philox.h"

#include <float.h>
#include <headrace/nn.h>
#include <math.h>
#include <string.h>

/* ---- numbers one by one, as they come out of blocks ---- */

typedef struct number_source {
    const philox *from;
    uint64_t block;
    uint32_t number[4];
    int used; /* of these */
} number_source;

static uint32_t next_32(number_source *s)
{
    if (s->used == 4) {
        philox_block(s->from, s->block++, s->number);
        s->used = 0;
    }
    return s->number[s->used++];
}

static uint64_t next_64(number_source *s)
{
    const uint64_t low = next_32(s);
    return (uint64_t)next_32(s) << 32 | low;
}

/* Below n > 0: numbers that would make some more likely are drawn again. */
static uint64_t below(number_source *s, uint64_t n, bool wide)
{
    const uint64_t greatest = wide ? UINT64_MAX : UINT32_MAX;
    uint64_t number = wide ? next_64(s) : next_32(s);
    if ((n & (n - 1)) == 0) return number & (n - 1);
    while (number < greatest % n + 1) number = wide ? next_64(s) : next_32(s);
    return number % n;
}

/* ---- samplers ---- */

/* A class with a weight of its own: drawn with that, where all are drawn alike, `share` of the time, else `other` is. */
typedef struct fixed_class {
    float weight, share;
    int32_t other;
} fixed_class;

/* How often each class was true, plus 1, as the leaves of a tree of sums: node i has children 2 i and 2 i + 1. */
typedef struct sampler_kind sampler_kind;
typedef struct sampler {
    philox from;
    const sampler_kind *kind;
    int64_t range, sampled, trues;
    bool unique;
    int32_t *sum;
    int64_t leaves; /* sum[leaves + class] */
    struct fixed_class *fixed;
    float total; /* of their weights */
} sampler;

struct sampler_kind {
    const char *op;
    int64_t (*draw)(const sampler *s, number_source *numbers); /* NULL: class i is the i-th */
    float (*probability)(const sampler *s, int64_t class);
    hr_status (*begin)(sampler *s, hr_node node, hr_error *err); /* NULL: it needs nothing */
};

static int64_t draw_uniform(const sampler *s, number_source *numbers)
{
    return (int64_t)below(numbers, (uint64_t)s->range, true);
}

static float probability_uniform(const sampler *s, int64_t class)
{
    (void)class;
    return (float)(1.0 / (double)s->range);
}

static int64_t draw_log_uniform(const sampler *s, number_source *numbers)
{
    const uint32_t first = next_32(numbers);
    const double x = uniform_of_f64(first, next_32(numbers));
    return ((int64_t)exp(x * log1p((double)s->range)) - 1) % s->range;
}

static float probability_log_uniform(const sampler *s, int64_t class)
{
    return (float)(log(((double)class + 2) / ((double)class + 1)) / log1p((double)s->range));
}

static int64_t draw_learned(const sampler *s, number_source *numbers)
{
    int32_t place = (int32_t)below(numbers, (uint64_t)s->sum[1], false);
    int64_t at = 1;
    while (at < s->leaves) {
        at *= 2;
        if (place >= s->sum[at]) place -= s->sum[at++];
    }
    return at - s->leaves;
}

static float probability_learned(const sampler *s, int64_t class)
{
    return (float)s->sum[s->leaves + class] / (float)s->sum[1];
}

static hr_status learn_begin(sampler *s, hr_node node, hr_error *err)
{
    (void)node;
    if (s->range >= INT32_MAX / 2)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "expected range_max below %d, got %lld", INT32_MAX / 2,
                       (long long)s->range);
    for (s->leaves = 1; s->leaves < s->range;) s->leaves *= 2;
    s->sum = hr_calloc((size_t)s->leaves * 2, sizeof *s->sum);
    if (!s->sum) return hr_fail(err, HR_RESOURCE_EXHAUSTED, "memory", "no memory for %lld counts", (long long)s->range);
    for (int64_t i = 0; i < s->range; i++) s->sum[s->leaves + i] = 1;
    for (int64_t i = s->leaves - 1; i > 0; i--) s->sum[i] = s->sum[2 * i] + s->sum[2 * i + 1];
    return HR_OK;
}

static void learn(sampler *s, const int64_t *classes, int64_t count)
{
    for (int64_t i = 0; i < count && s->sum[1] < INT32_MAX; i++)
        for (int64_t at = s->leaves + classes[i]; at > 0; at /= 2) s->sum[at]++;
}

static int64_t draw_fixed(const sampler *s, number_source *numbers)
{
    const float share = uniform_of_f32(next_32(numbers));
    const int64_t class = (int64_t)below(numbers, (uint64_t)s->range, false);
    return share < s->fixed[class].share ? class : s->fixed[class].other;
}

static float probability_fixed(const sampler *s, int64_t class) { return s->fixed[class].weight / s->total; }

/* Walker's aliases: a class that is less likely than one of all shares its place with one that is more likely. `order`
 * has those that are less likely from the front, the others from the back. */
static void share_places(sampler *s, double *likely, int32_t *order)
{
    int64_t low = 0, high = s->range;
    double sum = 0;
    for (int64_t i = 0; i < s->range; i++) sum += (double)s->fixed[i].weight;
    for (int64_t i = 0; i < s->range; i++) {
        likely[i] = (double)(s->fixed[i].weight * (float)s->range) / sum;
        order[likely[i] < 1 ? low++ : --high] = (int32_t)i;
    }
    while (low > 0 && high < s->range) {
        const int32_t less = order[--low], more = order[high++];
        s->fixed[less].other = more;
        s->fixed[less].share = (float)likely[less];
        likely[more] -= 1 - likely[less];
        order[likely[more] < 1 ? low++ : --high] = more;
    }
    for (int64_t i = 0; i < s->range; i++) { /* what rounding has left over */
        if (i == low) i = high;
        if (i < s->range) s->fixed[order[i]].share = 1, s->fixed[order[i]].other = order[i];
    }
}

/* Reserved ids of the shard, which weigh nothing. */
static int64_t reserved_ids(hr_node node)
{
    const int64_t reserved = hr_attr_int(node, "num_reserved_ids"), shards = hr_attr_int(node, "num_shards"),
                  shard = hr_attr_int(node, "shard");
    return shard < shards && shard < reserved ? (reserved - shard - 1) / shards + 1 : 0;
}

/* Weights to the power of the distortion. Of several shards, every num_shards-th one: as TensorFlow counts, from the
 * number of those that are reserved in this shard. */
static hr_status read_weights(sampler *s, hr_node node, hr_error *err)
{
    const hr_attr *unigrams = hr_node_attr(node, "unigrams");
    const int64_t shards = hr_attr_int(node, "num_shards"), shard = hr_attr_int(node, "shard"),
                  reserved = reserved_ids(node);
    const float distortion = hr_attr_float(node, "distortion");
    int64_t count = reserved, drawn = 0;
    for (int64_t i = 0; i < unigrams->count && count <= s->range; i++) {
        if ((reserved + i) % shards != shard) continue;
        const float weight = powf(unigrams->floats[i], distortion);
        if (!(weight >= 0 && isfinite(weight)))
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range",
                           "expected weights of 0 and more, got %g as number %lld", (double)weight, (long long)i);
        if (count < s->range) s->fixed[count].weight = weight;
        count++;
        drawn += weight > 0;
        s->total += weight;
    }
    if (count == s->range && drawn >= (s->unique ? s->sampled : 1)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range",
                   "expected a weight for each of %lld classes, and enough that are not 0, got %lld and %lld",
                   (long long)s->range, (long long)count, (long long)drawn);
}

static hr_status fixed_begin(sampler *s, hr_node node, hr_error *err)
{
    if (hr_attr_string(node, "vocab_file").size > 0)
        return hr_fail(err, HR_UNIMPLEMENTED, "graph.kernel", "expected weights in unigrams, got a vocab_file");
    const int64_t reserved = reserved_ids(node), unigrams = hr_node_attr(node, "unigrams")->count;
    if (reserved > s->range || s->range - reserved > unigrams || s->range >= INT32_MAX)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "expected a weight for each of %lld classes, got %lld",
                       (long long)s->range, (long long)unigrams);
    s->fixed = hr_calloc((size_t)s->range, sizeof *s->fixed);
    double *likely = hr_malloc((size_t)s->range * sizeof *likely);
    int32_t *order = hr_malloc((size_t)s->range * sizeof *order);
    hr_status st = s->fixed && likely && order ? read_weights(s, node, err)
                                               : hr_fail(err, HR_RESOURCE_EXHAUSTED, "memory",
                                                         "no memory for %lld weights", (long long)s->range);
    if (st == HR_OK) {
        share_places(s, likely, order);
    } else {
        hr_free(s->fixed);
        s->fixed = NULL;
    }
    hr_free(likely);
    hr_free(order);
    return st;
}

static const sampler_kind sampler_kinds[] = {
    {"AllCandidateSampler", NULL, NULL, NULL},
    {"UniformCandidateSampler", draw_uniform, probability_uniform, NULL},
    {"LogUniformCandidateSampler", draw_log_uniform, probability_log_uniform, NULL},
    {"LearnedUnigramCandidateSampler", draw_learned, probability_learned, learn_begin},
    {"FixedUnigramCandidateSampler", draw_fixed, probability_fixed, fixed_begin},
    {"ThreadUnsafeUnigramCandidateSampler", draw_learned, probability_learned, learn_begin},
};

static hr_status sampler_prepare(hr_node node, hr_session *session, void *state, hr_error *err)
{
    (void)session;
    sampler *s = state;
    for (size_t i = 0; i < sizeof sampler_kinds / sizeof *sampler_kinds; i++)
        if (hr_node_is(node, sampler_kinds[i].op)) s->kind = &sampler_kinds[i];
    s->sampled = hr_attr_int(node, "num_sampled");
    s->trues = hr_attr_int(node, "num_true");
    s->unique = hr_attr_bool(node, "unique");
    s->range = s->kind->draw ? hr_attr_int(node, "range_max") : s->sampled;
    HR_TRY(philox_begin(node, &s->from, err));
    return s->kind->begin ? s->kind->begin(s, node, err) : HR_OK;
}

static void sampler_release(void *state)
{
    sampler *s = state;
    hr_free(s->sum);
    hr_free(s->fixed);
}

/* ---- a batch ---- */

/* Classes that were drawn: places by their hash, -1 where there is none. False: it was there. */
static bool remember(int64_t *seen, int64_t places, int64_t class)
{
    uint64_t at = (uint64_t) class * UINT64_C(0x9E3779B97F4A7C15) >> 20;
    while (seen[at & (uint64_t)(places - 1)] != -1)
        if (seen[at++ & (uint64_t)(places - 1)] == class) return false;
    seen[at & (uint64_t)(places - 1)] = class;
    return true;
}

static hr_status draw_unique(hr_kernel *k, const sampler *s, number_source *numbers, int64_t *out, int64_t *tries,
                             hr_error *err)
{
    int64_t places = 2;
    while (places < 2 * s->sampled) places *= 2;
    int64_t *seen;
    HR_TRY(hr_kernel_array(k, places, sizeof *seen, "classes", &seen, err));
    memset(seen, -1, (size_t)places * sizeof *seen);
    for (int64_t found = 0; found < s->sampled;) {
        if (++*tries % 65536 == 0 && (hr_kernel_cancelled(k) || *tries >= INT32_MAX - 65536))
            return hr_fail(err, HR_CANCELLED, "session.cancelled", "cancelled after %lld draws", (long long)*tries);
        out[found] = s->kind->draw(s, numbers);
        found += remember(seen, places, out[found]);
    }
    return HR_OK;
}

/* 1 - (1 - p)^tries where several tries gave the same class. */
static float expected_count(const sampler *s, int64_t class, int64_t tries)
{
    if (!s->kind->probability) return 1;
    const float p = s->kind->probability(s, class);
    return tries == s->sampled ? p * (float)tries : -expm1f((float)tries * log1pf(-p));
}

static hr_status check_classes(const sampler *s, const hr_tensor *classes, hr_error *err)
{
    if (classes->shape.rank != 2 || classes->shape.dims[1] != s->trues)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape", "expected true_classes [n, %lld]", (long long)s->trues);
    if (s->unique && s->sampled > s->range)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "Sampler's range is too small: %lld of %lld classes",
                       (long long)s->sampled, (long long)s->range);
    for (int64_t i = 0; i < classes->count; i++) {
        const int64_t class = ((const int64_t *)classes->data)[i];
        if (class < 0 || class >= s->range)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graph.range", "true class %lld is not in [0, %lld)",
                           (long long)class, (long long)s->range);
    }
    return HR_OK;
}

static hr_status sampler_compute(hr_kernel *k, hr_error *err)
{
    sampler *s = k->state;
    const hr_tensor *classes = k->input[0];
    hr_tensor *sampled, *of_true, *of_sampled;
    number_source numbers = {.from = &s->from, .used = 4};
    HR_TRY(check_classes(s, classes, err));
    HR_TRY(hr_kernel_output(k, 0, HR_SHAPE(s->sampled), &sampled, err));
    HR_TRY(hr_kernel_output(k, 1, classes->shape, &of_true, err));
    HR_TRY(hr_kernel_output(k, 2, HR_SHAPE(s->sampled), &of_sampled, err));
    int64_t *out = sampled->data, tries = 0;
    if (s->unique && s->kind->draw) {
        HR_TRY(draw_unique(k, s, &numbers, out, &tries, err));
    } else {
        for (int64_t i = 0; i < s->sampled; i++) out[i] = s->kind->draw ? s->kind->draw(s, &numbers) : i;
        tries = s->sampled;
    }
    for (int64_t i = 0; i < s->sampled; i++) ((float *)of_sampled->data)[i] = expected_count(s, out[i], tries);
    const int64_t *class = classes->data;
    for (int64_t i = 0; i < classes->count; i++) ((float *)of_true->data)[i] = expected_count(s, class[i], tries);
    philox_skip(&s->from, (uint64_t)s->sampled * 512);
    if (s->sum) learn(s, class, classes->count);
    return HR_OK;
}

static hr_status sampler_shape(hr_infer *s, hr_error *err)
{
    const int64_t sampled = hr_attr_int(s->node, "num_sampled");
    s->output[0] = s->output[2] = HR_SHAPE(sampled);
    return hr_shape_merge(s->input[0], HR_SHAPE(-1, hr_attr_int(s->node, "num_true")), &s->output[1])
               ? HR_OK
               : hr_infer_refuse(s, err, "true classes [n, num_true]");
}

/* ---- sampled classes that are true ones ---- */

/* The last place of each class, by its hash. */
typedef struct class_places {
    int64_t *place, places;
    const int64_t *class;
} class_places;

static int64_t *place_of(const class_places *p, int64_t class)
{
    uint64_t at = (uint64_t) class * UINT64_C(0x9E3779B97F4A7C15) >> 20;
    for (;; at++) {
        int64_t *place = &p->place[at & (uint64_t)(p->places - 1)];
        if (*place == -1 || p->class[*place] == class) return place;
    }
}

static hr_status hits_compute(hr_kernel *k, hr_error *err)
{
    const hr_tensor *classes = k->input[0], *sampled = k->input[1];
    const int64_t trues = hr_attr_int(k->node, "num_true"), *class = classes->data;
    hr_tensor *out[3];
    if (classes->shape.rank != 2 || classes->shape.dims[1] != trues || sampled->shape.rank != 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graph.shape",
                       "expected true_classes [n, %lld] and a vector of candidates", (long long)trues);
    class_places p = {.places = 2, .class = sampled->data};
    while (p.places < 2 * sampled->count) p.places *= 2;
    HR_TRY(hr_kernel_array(k, p.places, sizeof *p.place, "classes", &p.place, err));
    memset(p.place, -1, (size_t)p.places * sizeof *p.place);
    for (int64_t i = 0; i < sampled->count; i++) *place_of(&p, p.class[i]) = i;
    int64_t hits = 0;
    for (int64_t i = 0; i < classes->count; i++) hits += *place_of(&p, class[i]) >= 0;
    for (int i = 0; i < 3; i++) HR_TRY(hr_kernel_output(k, i, HR_SHAPE(hits), &out[i], err));
    for (int64_t i = 0, hit = 0; i < classes->count; i++) {
        const int64_t place = *place_of(&p, class[i]);
        if (place < 0) continue;
        ((int32_t *)out[0]->data)[hit] = (int32_t)(i / trues);
        ((int64_t *)out[1]->data)[hit] = place;
        ((float *)out[2]->data)[hit++] = -FLT_MAX;
    }
    return HR_OK;
}

#define SAMPLER(NAME)                                                                                                  \
    {                                                                                                                  \
        .head = HR_GRAPH_OP_HEAD, .name = (NAME), .traits = HR_STATEFUL | HR_NO_GRADIENT,                              \
        .state_size = sizeof(sampler), .shape = sampler_shape, .prepare = sampler_prepare, .release = sampler_release, \
        .compute = sampler_compute                                                                                     \
    }

const hr_graph_op hr_graph_ops_candidate_ops[] = {
    SAMPLER("AllCandidateSampler"),
    SAMPLER("UniformCandidateSampler"),
    SAMPLER("LogUniformCandidateSampler"),
    SAMPLER("LearnedUnigramCandidateSampler"),
    SAMPLER("FixedUnigramCandidateSampler"),
    SAMPLER("ThreadUnsafeUnigramCandidateSampler"),
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "ComputeAccidentalHits",
        .traits = HR_NO_GRADIENT,
        .shapes = "[n,?], [?] -> [h], [h], [h]",
        .compute = hits_compute,
    },
    HR_GRAPH_OPS_END,
};

hr_candidates hr_sample_candidates(hr_node labels, hr_sampler sampler, int64_t num_sampled, int64_t range_max,
                                   const hr_sampler_opts *given)
{
    static const char *const ops[] = {"LogUniformCandidateSampler", "UniformCandidateSampler",
                                      "LearnedUnigramCandidateSampler", "AllCandidateSampler"};
    const hr_sampler_opts opts = HR_OPTIONS(hr_sampler_opts, given);
    const hr_node failed = hr_failed_node(labels.graph);
    hr_candidates out = {failed, failed, failed};
    const hr_shape shape = hr_node_shape(labels);
    if (!hr_node_exists(labels)) return out;
    if (shape.rank != 2 || shape.dims[1] < 1 || (unsigned)sampler >= sizeof ops / sizeof *ops) {
        hr_node_fail(labels.graph, HR_INVALID_ARGUMENT, "graph.shape",
                     "candidates: expected labels [n, k] of a known k, and a sampler, got rank %d", shape.rank);
        return out;
    }
    int64_t seed, seed2;
    hr_random_seeds(labels.graph, opts.seed, &seed, &seed2);
    const hr_attr attrs[] = {HR_INT_ATTR("num_true", shape.dims[1]),
                             HR_INT_ATTR("num_sampled", num_sampled),
                             HR_BOOL_ATTR("unique", !opts.repeats),
                             HR_INT_ATTR("seed", seed),
                             HR_INT_ATTR("seed2", seed2),
                             HR_INT_ATTR("range_max", range_max)};
    const hr_node classes = hr_cast_to(labels, HR_INT64);
    const hr_node node = hr_new_node(labels.graph, ops[sampler], .name = opts.name, .inputs = &classes,
                                     .input_count = 1, .attrs = attrs, .attr_count = sampler == HR_ALL_SAMPLER ? 5 : 6);
    out.sampled = node;
    out.true_expected = hr_node_output(node, 1);
    out.sampled_expected = hr_node_output(node, 2);
    return out;
}
