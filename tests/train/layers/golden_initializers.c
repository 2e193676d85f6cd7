/* The topic initializers: exact values, seeded ones and their nodes, seeds, distributions, matrices, pieces. */
#include "tests/golden/golden.h"
#include "train/graph/graph_op.h"
#include "train/ops/ops.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double number(const cJSON *params, const char *name, double usual)
{
    const cJSON *p = golden_get(params, name);
    return p && !cJSON_IsNull(p) ? golden_number_double(p) : usual;
}

/* TensorFlow's seed: none gives 0, 0 the number that stands for it. */
static int64_t seed_of(const cJSON *object, const char *key)
{
    const cJSON *seed = golden_get(object, key);
    if (!seed || cJSON_IsNull(seed)) return 0;
    return golden_number_int64(seed) == 0 ? INT32_MAX : golden_number_int64(seed);
}

static int word(const cJSON *params, const char *name, const char *const *words, int usual)
{
    const char *given = golden_text(params, name, words[usual]);
    int i = 0;
    while (words[i] && strcmp(words[i], given) != 0) i++;
    return i;
}

static hr_initializer make_scaling(const cJSON *params, int64_t seed)
{
    static const char *const modes[] = {"fan_in", "fan_out", "fan_avg", NULL};
    static const char *const kinds[] = {"truncated_normal", "untruncated_normal", "uniform", NULL};
    const char *kind = golden_text(params, "distribution", "normal");
    const int distribution = strcmp(kind, "normal") == 0 ? 0 : word(params, "distribution", kinds, 0);
    return hr_variance_scaling(number(params, "scale", 1), (hr_fan_mode)word(params, "mode", modes, 0),
                               (hr_distribution)distribution, seed);
}

/* `value`: of a list, to be cleared. False: there is no such initializer. */
static bool make_initializer(const cJSON *json, hr_initializer *out, hr_tensor *value)
{
    const char *name = golden_text(json, "function", "");
    const cJSON *params = golden_get(json, "params"), *given = golden_get(params, "value");
    const bool keras = strcmp(golden_text(json, "family", ""), "keras") == 0;
    const int64_t seed = seed_of(params, "seed");
    if (strcmp(name, "constant") == 0 && cJSON_IsArray(given)) {
        if (hr_tensor_new(value, HR_FLOAT, HR_SHAPE(cJSON_GetArraySize(given)), NULL) != HR_OK) return false;
        for (int64_t i = 0; i < value->count; i++)
            ((float *)value->data)[i] = (float)golden_number_double(cJSON_GetArrayItem(given, (int)i));
        *out = golden_bool(params, "verify_shape", false) ? hr_initial_value(value) : hr_constant_values(value);
    } else if (strcmp(name, "constant") == 0)
        *out = hr_constant_value(number(params, "value", 0));
    else if (strcmp(name, "zeros") == 0)
        *out = hr_zeros();
    else if (strcmp(name, "ones") == 0)
        *out = hr_ones();
    else if (strcmp(name, "random_uniform") == 0 || strcmp(name, "RandomUniform") == 0)
        *out = hr_random_uniform(number(params, "minval", keras ? -.05 : 0), number(params, "maxval", keras ? .05 : 1),
                                 seed);
    else if (strcmp(name, "random_normal") == 0 || strcmp(name, "RandomNormal") == 0)
        *out = hr_random_normal(number(params, "mean", 0), number(params, "stddev", keras ? .05 : 1), seed);
    else if (strcmp(name, "truncated_normal") == 0 || strcmp(name, "TruncatedNormal") == 0)
        *out = hr_truncated_normal(number(params, "mean", 0), number(params, "stddev", keras ? .05 : 1), seed);
    else if (strcmp(name, "glorot_uniform") == 0 || strcmp(name, "GlorotUniform") == 0)
        *out = hr_glorot_uniform(seed);
    else if (strcmp(name, "glorot_normal") == 0 || strcmp(name, "GlorotNormal") == 0)
        *out = hr_glorot_normal(seed);
    else if (strcmp(name, "lecun_uniform") == 0 || strcmp(name, "LecunUniform") == 0)
        *out = hr_lecun_uniform(seed);
    else if (strcmp(name, "lecun_normal") == 0 || strcmp(name, "LecunNormal") == 0)
        *out = hr_lecun_normal(seed);
    else if (strcmp(name, "he_uniform") == 0 || strcmp(name, "HeUniform") == 0)
        *out = hr_he_uniform(seed);
    else if (strcmp(name, "he_normal") == 0 || strcmp(name, "HeNormal") == 0)
        *out = hr_he_normal(seed);
    else if (strcmp(name, "variance_scaling") == 0 || strcmp(name, "VarianceScaling") == 0)
        *out = make_scaling(params, seed);
    else if (strcmp(name, "uniform_unit_scaling") == 0)
        *out = hr_uniform_unit_scaling(number(params, "factor", 1), seed);
    else if (strcmp(name, "orthogonal") == 0 || strcmp(name, "Orthogonal") == 0)
        *out = hr_orthogonal(number(params, "gain", 1), seed);
    else if (strcmp(name, "identity") == 0 || strcmp(name, "Identity") == 0)
        *out = hr_eye(number(params, "gain", 1));
    else
        return false;
    return true;
}

static hr_shape shape_of(const cJSON *list)
{
    hr_shape shape = {0, {0}};
    const cJSON *d;
    cJSON_ArrayForEach(d, list)
    {
        if (shape.rank < HR_MAX_RANK) shape.dims[shape.rank++] = golden_number_int64(d);
    }
    return shape;
}

static hr_status compute(hr_graph *g, const hr_initializer *initializer, hr_dtype dtype, hr_shape shape, hr_tensor *out,
                         hr_error *err)
{
    hr_node node = initializer->make(g, dtype, shape, initializer);
    hr_session *s = hr_session_new(g);
    const hr_status st = hr_session_run(s, NULL, 0, &node, 1, out, err);
    hr_session_free(s);
    return st;
}

/* All nodes, in the order in which they were made, and the seeds of the random ones. */
static bool nodes_fit(golden_case *c, hr_graph *g)
{
    const cJSON *nodes = golden_get(c->json, "nodes"), *op;
    char got[256];
    for (int32_t i = 0; nodes && i < hr_graph_size(g); i++) {
        const hr_node node = {g, i, 0};
        const cJSON *expected = cJSON_GetArrayItem(nodes, i);
        snprintf(got, sizeof got, "%s:%s", hr_node_name(node), hr_node_op(node));
        if (expected && strcmp(expected->valuestring, got) == 0) continue;
        golden_differs(c, "expected as node %d %s, got %s", i, expected ? expected->valuestring : "none", got);
        return false;
    }
    if (nodes && hr_graph_size(g) != cJSON_GetArraySize(nodes)) {
        golden_differs(c, "%d nodes, expected %d", hr_graph_size(g), cJSON_GetArraySize(nodes));
        return false;
    }
    cJSON_ArrayForEach(op, golden_get(c->json, "ops"))
    {
        const hr_node node = hr_graph_node(g, golden_text(op, "name", ""));
        if (strcmp(hr_node_op(node), golden_text(op, "op", "?")) == 0 &&
            hr_attr_int(node, "seed") == golden_int(op, "seed", -1) &&
            hr_attr_int(node, "seed2") == golden_int(op, "seed2", -1))
            continue;
        golden_differs(c, "expected node %s of other seeds", golden_text(op, "name", ""));
        return false;
    }
    return true;
}

static golden_result compare_values(golden_case *c, hr_graph *g, const hr_initializer *initializer)
{
    hr_error err;
    hr_tensor got = {0};
    const char *class = golden_error_class(golden_expectation(c->json, false));
    const hr_status st = compute(g, initializer, hr_dtype_named(golden_text(c->json, "dtype", "float32")),
                                 shape_of(golden_get(c->json, "shape")), &got, &err);
    golden_result result = GOLDEN_AGREES;
    if (class)
        result = strcmp(hr_status_name(st), class) == 0 ? GOLDEN_AGREES : golden_differs(c, "expected %s", class);
    else if (st != HR_OK)
        result = golden_differs(c, "%s", err.text);
    else if (!golden_equal_json(c, "values", golden_get(c->json, "expect"), &got) || !nodes_fit(c, g))
        result = GOLDEN_DIFFERS;
    hr_tensor_clear(&got);
    return result;
}

/* rows * rows' or columns' * columns, whichever are fewer: gain squared times the identity. */
static golden_result compare_gram(golden_case *c, hr_graph *g, const hr_initializer *initializer)
{
    hr_error err;
    hr_tensor got;
    const cJSON *expect = golden_get(c->json, "expect");
    const double square = number(expect, "gain_squared", 0),
                 within = number(golden_whole(golden_get(c->json, "tolerance")), "atol", 0);
    if (compute(g, initializer, HR_FLOAT, shape_of(golden_get(c->json, "shape")), &got, &err) != HR_OK)
        return golden_differs(c, "%s", err.text);
    const float *x = got.data;
    const int64_t columns = got.shape.dims[got.shape.rank - 1], rows = got.count / columns;
    const int64_t n = rows < columns ? rows : columns, others = got.count / n;
    const int64_t next = rows < columns ? columns : 1, along = rows < columns ? 1 : columns;
    double worst = n == golden_int(expect, "size", -1) ? 0 : 1;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double dot = 0;
            for (int64_t k = 0; k < others; k++)
                dot += (double)x[i * next + k * along] * (double)x[j * next + k * along];
            worst = fmax(worst, fabs(dot - (i == j ? square : 0)));
        }
    hr_tensor_clear(&got);
    return worst <= within * fmax(1, square) ? GOLDEN_AGREES : golden_differs(c, "it is %g off", worst);
}

/* A variable in parts: values within the bounds of the whole, and, of one op seed, equal parts. */
static golden_result compare_parts(golden_case *c, hr_graph *g, const hr_initializer *initializer)
{
    hr_error err;
    hr_tensor part[16] = {0};
    hr_node piece[16];
    const cJSON *expect = golden_get(c->json, "expect"), *shapes = golden_get(c->json, "parts");
    const double bound = golden_number_double(cJSON_GetArrayItem(golden_get(expect, "bounds"), 1));
    const int count = cJSON_GetArraySize(shapes);
    hr_get_variable(g, "v", HR_FLOAT, shape_of(golden_get(c->json, "shape")), .initializer = *initializer,
                    .partitioner = hr_fixed_size_partitioner(count, 0));
    if (count > 16 || hr_variable_pieces(g, "v", piece, 16) != count) return golden_differs(c, "other pieces");
    hr_session *s = hr_session_new(g);
    for (int i = 0; i < count; i++) piece[i] = hr_variable_of(piece[i])->initial_value;
    const hr_status st = hr_session_run(s, NULL, 0, piece, count, part, &err);
    golden_result result = st == HR_OK ? GOLDEN_AGREES : golden_differs(c, "%s", err.text);
    float largest = 0;
    for (int i = 0; i < count && st == HR_OK; i++) {
        const bool equal = golden_bool(expect, "parts_equal", true);
        if (!equal || !hr_shape_equal(part[i].shape, shape_of(cJSON_GetArrayItem(shapes, i))) ||
            memcmp(part[i].data, part[0].data, (size_t)part[0].count * sizeof(float)) != 0)
            result = golden_differs(c, "part %d is another", i);
        for (int64_t j = 0; j < part[i].count; j++) largest = fmaxf(largest, fabsf(((const float *)part[i].data)[j]));
    }
    for (int i = 0; i < count; i++) hr_tensor_clear(&part[i]);
    hr_session_free(s);
    if (result == GOLDEN_AGREES &&
        ((double)largest > bound || fabs((double)largest - number(expect, "largest", 0)) > 1e-6))
        result = golden_differs(c, "values up to %g", (double)largest);
    return result;
}

static golden_result compare_fans(golden_case *c)
{
    const cJSON *expect = golden_get(c->json, "expect");
    double in, out;
    hr_fans(shape_of(golden_get(c->json, "shape")), &in, &out);
    if (in == number(expect, "fan_in", -1) && out == number(expect, "fan_out", -1)) return GOLDEN_AGREES;
    return golden_differs(c, "got %g and %g", in, out);
}

static golden_result compare_moments(golden_case *c, hr_graph *g, const hr_initializer *initializer)
{
    hr_error err;
    hr_tensor got;
    const cJSON *expect = golden_get(c->json, "expect"), *bounds = golden_get(expect, "bounds");
    if (compute(g, initializer, HR_FLOAT, shape_of(golden_get(c->json, "shape")), &got, &err) != HR_OK)
        return golden_differs(c, "%s", err.text);
    double mean = 0, square = 0, min = HUGE_VAL, max = -HUGE_VAL;
    for (int64_t i = 0; i < got.count; i++) {
        const double x = (double)((const float *)got.data)[i];
        mean += x / (double)got.count;
        square += x * x / (double)got.count;
        min = fmin(min, x);
        max = fmax(max, x);
    }
    hr_tensor_clear(&got);
    const double deviation = sqrt(square - mean * mean);
    if (fabs(mean - number(expect, "mean", mean)) > number(expect, "mean_within", 0))
        return golden_differs(c, "mean %g", mean);
    if (fabs(deviation - number(expect, "std", deviation)) > number(expect, "std_within", 0))
        return golden_differs(c, "standard deviation %g", deviation);
    if (cJSON_GetArraySize(bounds) == 2 && (min < golden_number_double(cJSON_GetArrayItem(bounds, 0)) - 1e-6 ||
                                            max > golden_number_double(cJSON_GetArrayItem(bounds, 1)) + 1e-6))
        return golden_differs(c, "values from %g to %g", min, max);
    return GOLDEN_AGREES;
}

static bool same_pair(const cJSON *expected, int64_t seed1, int64_t seed2)
{
    const cJSON *first = cJSON_GetArrayItem(expected, 0), *second = cJSON_GetArrayItem(expected, 1);
    if (cJSON_IsNull(first)) return seed1 == 0 && seed2 == 0;
    return golden_number_int64(first) == seed1 && golden_number_int64(second) == seed2;
}

static golden_result compare_seeds(golden_case *c, hr_graph *g)
{
    static const char *const calls[] = {"first_call", "second_call"};
    for (int i = 0; i < 2; i++) {
        int64_t seed1, seed2;
        hr_random_seeds(g, seed_of(c->json, "op_seed"), &seed1, &seed2);
        if (!same_pair(golden_get(golden_get(c->json, "expect"), calls[i]), seed1, seed2))
            return golden_differs(c, "%s gives %lld, %lld", calls[i], (long long)seed1, (long long)seed2);
    }
    return GOLDEN_AGREES;
}

/* The default of get_variable, by the node that makes the first value. */
static golden_result compare_default(golden_case *c, hr_graph *g)
{
    const hr_dtype dtype = hr_dtype_named(golden_text(c->json, "dtype", ""));
    hr_get_variable(g, "v", dtype, HR_SHAPE(2, 2));
    const bool random = hr_node_exists(hr_graph_node(g, "v/Initializer/random_uniform/RandomUniform"));
    const cJSON *nodes = golden_get(golden_get(c->json, "expect"), "initializer_nodes");
    const bool expected = strcmp(cJSON_GetArrayItem(nodes, 0)->valuestring, "random_uniform") == 0;
    if (hr_graph_error(g)) return golden_differs(c, "%s", hr_graph_error(g)->text);
    return random == expected ? GOLDEN_AGREES : golden_differs(c, "it is%s random", random ? "" : " not");
}

static golden_result run_in(golden_case *c, hr_graph *g, hr_tensor *value)
{
    const char *kind = golden_text(c->json, "kind", "");
    hr_initializer initializer;
    hr_set_random_seed(g, seed_of(c->json, "graph_seed"));
    if (strcmp(kind, "seed") == 0) return compare_seeds(c, g);
    if (strcmp(kind, "default") == 0) return compare_default(c, g);
    if (strcmp(kind, "fans") == 0) return compare_fans(c);
    if (!make_initializer(c->json, &initializer, value))
        return golden_not_built(c, "%s", golden_text(c->json, "function", ""));
    for (int64_t i = 0; i < golden_int(c->json, "nodes_before", 0); i++) hr_scalar(g, HR_FLOAT, 0);
    if (strcmp(kind, "exact") == 0 || strcmp(kind, "seeded") == 0) return compare_values(c, g, &initializer);
    if (strcmp(kind, "distribution") == 0) return compare_moments(c, g, &initializer);
    if (strcmp(kind, "orthogonal") == 0) return compare_gram(c, g, &initializer);
    if (strcmp(kind, "partitioned") == 0) return compare_parts(c, g, &initializer);
    return golden_not_built(c, "%s", kind);
}

static golden_result run_case(golden_case *c)
{
    hr_tensor value = {0};
    hr_graph *g = hr_graph_new();
    const golden_result result = run_in(c, g, &value);
    hr_graph_free(g);
    hr_tensor_clear(&value);
    return result;
}

int main(void) { return golden_main("initializers", GOLDEN_ROOT, run_case); }
