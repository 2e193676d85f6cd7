/* Constructors of random values: nodes of random_ops.c, and what scales and shifts them. */
#include <headrace/graph_op.h>
#include <headrace/ops.h>

/* A node of the op, with the two seeds of a number beside its other attributes. */
static hr_node drawn(const char *op, const hr_node *inputs, int count, int64_t seed, hr_attr attr)
{
    int64_t seed1, seed2;
    for (int i = 0; i < count; i++)
        if (!hr_node_exists(inputs[i])) return hr_failed_node(inputs[0].graph);
    hr_random_seeds(inputs[0].graph, seed, &seed1, &seed2);
    return hr_new_node(inputs[0].graph, op, .inputs = inputs, .input_count = count,
                       HR_ATTRS(HR_INT_ATTR("seed", seed1), HR_INT_ATTR("seed2", seed2), attr));
}
static hr_node values(const char *op, hr_node shape, hr_dtype dtype, int64_t seed)
{
    return drawn(op, &shape, 1, seed, HR_TYPE_ATTR("dtype", dtype));
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

static bool whole(hr_node x) { return hr_node_dtype(x) == HR_INT32 || hr_node_dtype(x) == HR_INT64; }

hr_node hr_uniform_between(hr_node shape, hr_node low, hr_node high, int64_t seed)
{
    if (!hr_node_exists(low)) return hr_failed_node(shape.graph);
    low = hr_node_value(low);
    if (whole(low))
        return drawn("RandomUniformInt", (const hr_node[]){shape, low, high}, 3, seed,
                     HR_TYPE_ATTR("Tout", hr_node_dtype(low)));
    return hr_add(hr_mul(hr_uniform_values(shape, hr_node_dtype(low), seed), hr_sub(high, low)), low);
}

static hr_node around(const char *op, hr_node shape, hr_node mean, hr_node stddev, int64_t seed)
{
    if (!hr_node_exists(mean)) return hr_failed_node(shape.graph);
    mean = hr_node_value(mean);
    return hr_add(hr_mul(values(op, shape, hr_node_dtype(mean), seed), stddev), mean);
}
hr_node hr_normal_around(hr_node shape, hr_node mean, hr_node stddev, int64_t seed)
{
    return around("RandomStandardNormal", shape, mean, stddev, seed);
}
hr_node hr_truncated_normal_around(hr_node shape, hr_node mean, hr_node stddev, int64_t seed)
{
    return around("TruncatedNormal", shape, mean, stddev, seed);
}

hr_node hr_random_shuffle(hr_node x, int64_t seed)
{
    return drawn("RandomShuffle", (const hr_node[]){hr_node_value(x)}, 1, seed,
                 HR_TYPE_ATTR("T", hr_node_dtype(hr_node_value(x))));
}

hr_node hr_categorical(hr_node logits, int64_t count, int64_t seed)
{
    if (!hr_node_exists(logits)) return logits;
    const hr_node inputs[] = {logits, hr_scalar(logits.graph, HR_INT32, (double)count)};
    return drawn("Multinomial", inputs, 2, seed, HR_TYPE_ATTR("output_dtype", HR_INT64));
}

static hr_node stateless(const char *op, hr_node shape, hr_node seeds, hr_dtype dtype)
{
    return hr_new_node(shape.graph, op, HR_INPUTS(shape, seeds), HR_ATTRS(HR_TYPE_ATTR("dtype", dtype)));
}
hr_node hr_stateless_uniform_values(hr_node shape, hr_node seeds, hr_dtype dtype)
{
    return stateless("StatelessRandomUniform", shape, seeds, dtype);
}
hr_node hr_stateless_normal_values(hr_node shape, hr_node seeds, hr_dtype dtype)
{
    return stateless("StatelessRandomNormal", shape, seeds, dtype);
}
hr_node hr_stateless_truncated_normal_values(hr_node shape, hr_node seeds, hr_dtype dtype)
{
    return stateless("StatelessTruncatedNormal", shape, seeds, dtype);
}

hr_node hr_stateless_uniform_between(hr_node shape, hr_node seeds, hr_node low, hr_node high)
{
    if (!hr_node_exists(low)) return hr_failed_node(shape.graph);
    low = hr_node_value(low);
    if (whole(low)) return hr_new_node(shape.graph, "StatelessRandomUniformInt", HR_INPUTS(shape, seeds, low, high));
    return hr_add(hr_mul(hr_stateless_uniform_values(shape, seeds, hr_node_dtype(low)), hr_sub(high, low)), low);
}

hr_node hr_stateless_categorical(hr_node logits, int64_t count, hr_node seeds)
{
    if (!hr_node_exists(logits)) return logits;
    return hr_new_node(logits.graph, "StatelessMultinomial",
                       HR_INPUTS(logits, hr_scalar(logits.graph, HR_INT32, (double)count), seeds));
}
