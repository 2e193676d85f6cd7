/* The topic initializers: exact values, seeded ones, seeds, distributions. A seed of 0 is none of its own here. */
#include "tests/golden/golden.h"
#include "train/graph/graph_op.h"
#include "train/ops/ops.h"

#include <math.h>
#include <string.h>

static double number(const cJSON *params, const char *name, double usual)
{
    const cJSON *p = golden_get(params, name);
    return p && !cJSON_IsNull(p) ? golden_number_double(p) : usual;
}

/* False: there is no such initializer. */
static bool make_initializer(const char *name, const cJSON *params, hr_initializer *out)
{
    const int64_t seed = golden_int(params, "seed", 0);
    const cJSON *value = golden_get(params, "value"), *p;
    static const char *const known[] = {"seed", "value", "minval", "maxval", "mean", "stddev"};
    cJSON_ArrayForEach(p, params)
    {
        bool found = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) found |= strcmp(known[i], p->string) == 0;
        if (!found) return false;
    }
    if (strcmp(name, "zeros") == 0)
        *out = hr_zeros();
    else if (strcmp(name, "ones") == 0)
        *out = hr_ones();
    else if (strcmp(name, "constant") == 0 && (!value || cJSON_IsNumber(value)))
        *out = hr_constant_value(number(params, "value", 0));
    else if (strcmp(name, "random_uniform") == 0)
        *out = hr_random_uniform(number(params, "minval", 0), number(params, "maxval", 1), seed);
    else if (strcmp(name, "random_normal") == 0)
        *out = hr_random_normal(number(params, "mean", 0), number(params, "stddev", 1), seed);
    else if (strcmp(name, "truncated_normal") == 0)
        *out = hr_truncated_normal(number(params, "mean", 0), number(params, "stddev", 1), seed);
    else if (strcmp(name, "glorot_uniform") == 0)
        *out = hr_glorot_uniform(seed);
    else if (strcmp(name, "glorot_normal") == 0)
        *out = hr_glorot_normal(seed);
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
    else if (!golden_equal_json(c, "values", golden_get(c->json, "expect"), &got))
        result = GOLDEN_DIFFERS;
    hr_tensor_clear(&got);
    return result;
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
        hr_random_seeds(g, golden_int(c->json, "op_seed", 0), &seed1, &seed2);
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

static bool is_zero(const cJSON *seed) { return seed && !cJSON_IsNull(seed) && golden_number_int64(seed) == 0; }

static golden_result run_in(golden_case *c, hr_graph *g)
{
    const char *kind = golden_text(c->json, "kind", ""), *name = golden_text(c->json, "function", "");
    const cJSON *graph_seed = golden_get(c->json, "graph_seed"), *params = golden_get(c->json, "params");
    hr_initializer initializer;
    if (is_zero(graph_seed) || is_zero(golden_get(c->json, "op_seed")) || is_zero(golden_get(params, "seed")))
        return golden_not_built(c, "a seed of 0");
    if (graph_seed && !cJSON_IsNull(graph_seed)) hr_set_random_seed(g, golden_number_int64(graph_seed));
    if (strcmp(kind, "seed") == 0) return compare_seeds(c, g);
    if (strcmp(kind, "default") == 0) return compare_default(c, g);
    if (!make_initializer(name, params, &initializer)) return golden_not_built(c, "%s", name);
    for (int64_t i = 0; i < golden_int(c->json, "nodes_before", 0); i++) hr_scalar(g, HR_FLOAT, 0);
    if (strcmp(kind, "exact") == 0 || strcmp(kind, "seeded") == 0) return compare_values(c, g, &initializer);
    if (strcmp(kind, "distribution") == 0) return compare_moments(c, g, &initializer);
    return golden_not_built(c, "%s", kind);
}

static golden_result run_case(golden_case *c)
{
    hr_graph *g = hr_graph_new();
    const golden_result result = run_in(c, g);
    hr_graph_free(g);
    return result;
}

int main(void) { return golden_main("initializers", GOLDEN_ROOT, run_case); }
