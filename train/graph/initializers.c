/* Initial values of variables, as nodes: constants, and TensorFlow's random ops scaled and shifted. */
#include "train/graph/graph_internal.h"

#include <math.h>

static hr_node zero_strings(hr_graph *g, hr_shape shape)
{
    hr_tensor empty;
    if (hr_tensor_new(&empty, HR_STRING, shape, NULL) != HR_OK) return hr__graph_no_memory(g, "an initial value");
    hr_node node = hr_new_node(g, "Const", .name = "zeros",
                               HR_ATTRS(HR_TENSOR_ATTR("value", &empty), HR_TYPE_ATTR("dtype", HR_STRING)));
    hr_tensor_clear(&empty);
    return node;
}

static hr_node make_constant(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_initializer *self)
{
    const char *name = self->a == 0 ? "zeros" : self->a == 1 ? "ones" : "Const";
    if (dtype == HR_STRING && self->a == 0) return zero_strings(g, shape);
    if (shape.rank == 0) return hr_const_number(g, dtype, self->a, name);
    hr_node dims = hr_const_ints(g, shape.dims, shape.rank, "shape_as_tensor");
    hr_node value = hr_const_number(g, dtype, self->a, "value");
    return hr_new_node(g, "Fill", .name = name, HR_INPUTS(dims, value));
}

static hr_node initializers_make_value(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_initializer *self)
{
    hr_shape merged;
    if (!self->value || self->value->dtype != dtype || !hr_shape_merge(self->value->shape, shape, &merged))
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "variable.initializer",
                            "hr_initial_value: expected the variable's type and shape, got others");
    return hr_new_node(g, "Const", .name = "Const",
                       HR_ATTRS(HR_TENSOR_ATTR("value", self->value), HR_TYPE_ATTR("dtype", dtype)));
}

/* random * scale + shift, the names as TensorFlow has them: "random_uniform/{shape,min,max,RandomUniform,sub,mul}". */
static hr_node random_value(hr_graph *g, hr_dtype dtype, hr_shape shape, int64_t seed, const char *op,
                            const char *scope, double scale, double shift)
{
    int64_t seed1, seed2;
    hr_random_seeds(g, seed, &seed1, &seed2);
    hr_name_scope(g, scope);
    hr_node raw =
        hr_new_node(g, op, HR_INPUTS(hr_const_ints(g, shape.dims, shape.rank, "shape")),
                    HR_ATTRS(HR_INT_ATTR("seed", seed1), HR_INT_ATTR("seed2", seed2), HR_TYPE_ATTR("dtype", dtype)));
    hr_node scaled = hr_new_node(g, "Mul", .name = "mul", HR_INPUTS(raw, hr_const_number(g, dtype, scale, "scale")));
    hr_node shifted =
        hr_new_node(g, "AddV2", .name = "add", HR_INPUTS(scaled, hr_const_number(g, dtype, shift, "shift")));
    hr_scope_end(g);
    return shifted;
}

static hr_node uniform_ints(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_initializer *self)
{
    int64_t seed1, seed2;
    hr_random_seeds(g, self->seed, &seed1, &seed2);
    hr_name_scope(g, "random_uniform");
    hr_node min = hr_const_number(g, dtype, self->a, "min"), bound = hr_const_number(g, dtype, self->b, "max");
    hr_node value = hr_new_node(g, "RandomUniformInt", .name = "random_uniform",
                                HR_INPUTS(hr_const_ints(g, shape.dims, shape.rank, "shape"), min, bound),
                                HR_ATTRS(HR_INT_ATTR("seed", seed1), HR_INT_ATTR("seed2", seed2)));
    hr_scope_end(g);
    return value;
}

static hr_node make_uniform(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_initializer *self)
{
    if (dtype == HR_INT32 || dtype == HR_INT64) return uniform_ints(g, dtype, shape, self);
    const double range = dtype == HR_FLOAT ? (double)((float)self->b - (float)self->a) : self->b - self->a;
    return random_value(g, dtype, shape, self->seed, "RandomUniform", "random_uniform", range, self->a);
}

static hr_node make_normal(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_initializer *self)
{
    return random_value(g, dtype, shape, self->seed, "RandomStandardNormal", "random_normal", self->b, self->a);
}

static hr_node make_truncated(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_initializer *self)
{
    return random_value(g, dtype, shape, self->seed, "TruncatedNormal", "truncated_normal", self->b, self->a);
}

/* A receptive field, the dimensions before the last two, counts into both. */
static double mean_fan(hr_shape shape)
{
    if (shape.rank == 0) return 1;
    if (shape.rank == 1) return (double)shape.dims[0];
    double field = 1;
    for (int i = 0; i < shape.rank - 2; i++) field *= (double)shape.dims[i];
    return field * (double)(shape.dims[shape.rank - 2] + shape.dims[shape.rank - 1]) / 2;
}

static hr_node make_glorot_uniform(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_initializer *self)
{
    const double limit = sqrt(3.0 / fmax(1, mean_fan(shape)));
    if (dtype != HR_FLOAT && dtype != HR_DOUBLE)
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "variable.initializer",
                            "initializer: expected a variable of floats, got %s", hr_dtype_name(dtype));
    const hr_initializer uniform = hr_random_uniform(-limit, limit, self->seed);
    return make_uniform(g, dtype, shape, &uniform);
}

/* The standard deviation that is left of 1 by cutting at two: divided out, so that the variance comes out right. */
static const double TRUNCATED_DEVIATION = 0.87962566103423978;

static hr_node make_glorot_normal(hr_graph *g, hr_dtype dtype, hr_shape shape, const hr_initializer *self)
{
    const double deviation = sqrt(1.0 / fmax(1, mean_fan(shape))) / TRUNCATED_DEVIATION;
    const hr_initializer normal = hr_truncated_normal(0, deviation, self->seed);
    return make_truncated(g, dtype, shape, &normal);
}

hr_initializer hr_zeros(void) { return hr_constant_value(0); }
hr_initializer hr_ones(void) { return hr_constant_value(1); }
hr_initializer hr_constant_value(double value) { return (hr_initializer){.make = make_constant, .a = value}; }
hr_initializer hr_initial_value(const hr_tensor *value)
{
    return (hr_initializer){.make = initializers_make_value, .value = value};
}

hr_initializer hr_random_uniform(double low, double high, int64_t seed)
{
    return (hr_initializer){.make = make_uniform, .a = low, .b = high, .seed = seed};
}

hr_initializer hr_random_normal(double mean, double stddev, int64_t seed)
{
    return (hr_initializer){.make = make_normal, .a = mean, .b = stddev, .seed = seed};
}

hr_initializer hr_truncated_normal(double mean, double stddev, int64_t seed)
{
    return (hr_initializer){.make = make_truncated, .a = mean, .b = stddev, .seed = seed};
}

hr_initializer hr_glorot_uniform(int64_t seed) { return (hr_initializer){.make = make_glorot_uniform, .seed = seed}; }
hr_initializer hr_glorot_normal(int64_t seed) { return (hr_initializer){.make = make_glorot_normal, .seed = seed}; }
