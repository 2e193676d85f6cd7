/* The dense layer and dropout. */
#include "train/layers/layers_internal.h"

#include <stdio.h>
#include <string.h>

static bool scope_is_taken(const hr_graph *g, const char *scope)
{
    char full[2 * HR__NAME];
    const int size = snprintf(full, sizeof full, "%.500s%s/", hr_variable_scope_name(g), scope);
    for (int i = 0; i < hr_graph_variables(g); i++)
        if (strncmp(hr_graph_variable(g, i)->name, full, (size_t)size) == 0) return true;
    return false;
}

const char *hr__unique_scope(hr_graph *g, const char *base, char out[HR__NAME])
{
    snprintf(out, HR__NAME, "%.480s", base);
    for (int i = 1; scope_is_taken(g, out); i++) snprintf(out, HR__NAME, "%.480s_%d", base, i);
    return out;
}

/* x [n, k] or [..., k], whose dimensions but the first must then be known: as [-1, k]. */
static hr_node as_matrix(hr_node x, hr_shape shape)
{
    return shape.rank == 2 ? x : hr_reshape(x, hr_shape_const(x.graph, HR_SHAPE(-1, shape.dims[shape.rank - 1])));
}

static hr_node as_before(hr_node y, hr_shape shape, int64_t units)
{
    if (shape.rank == 2) return y;
    shape.dims[0] = -1;
    shape.dims[shape.rank - 1] = units;
    return hr_reshape(y, hr_shape_const(y.graph, shape));
}

static bool has_width(hr_shape shape)
{
    if (shape.rank < 2 || shape.dims[shape.rank - 1] < 1) return false;
    for (int i = 1; i < shape.rank - 1; i++)
        if (shape.dims[i] < 0) return false;
    return true;
}

static hr_node layer(hr_node x, hr_shape shape, int64_t units, const hr_dense_opts *opts)
{
    hr_graph *g = x.graph;
    const hr_initializer zeros = hr_zeros();
    const hr_initializer bias = opts->bias_initializer.make ? opts->bias_initializer : zeros;
    const int64_t width = shape.dims[shape.rank - 1];
    hr_node kernel = hr_get_variable(g, "kernel", HR_FLOAT, HR_SHAPE(width, units),
                                     .initializer = opts->kernel_initializer, .not_trainable = opts->not_trainable);
    hr_node y = hr_matmul(as_matrix(x, shape), kernel);
    if (!opts->no_bias)
        y = hr_bias_add(y, hr_get_variable(g, "bias", HR_FLOAT, HR_SHAPE(units), .initializer = bias,
                                           .not_trainable = opts->not_trainable));
    y = as_before(y, shape, units);
    return opts->activation ? opts->activation(y) : y;
}

hr_node hr_dense_with(hr_node x, int64_t units, const hr_dense_opts *opts)
{
    opts = &HR_OPTIONS(hr_dense_opts, opts);
    char name[HR__NAME], text[128];
    const hr_shape shape = hr_node_shape(x);
    if (!hr_node_exists(x)) return x;
    if (units < 1 || !has_width(shape))
        return hr_node_fail(x.graph, HR_INVALID_ARGUMENT, "layers.shape",
                            "dense: expected an input [n, width] of known width and units > 0, got %s and %lld units",
                            hr_shape_text(shape, text, sizeof text), (long long)units);
    hr_variable_scope(x.graph, opts->name ? opts->name : hr__unique_scope(x.graph, "dense", name));
    hr_node y = layer(x, shape, units, opts);
    hr_scope_end(x.graph);
    return y;
}

hr_node hr_dropout_with(hr_node x, float rate, const hr_dropout_opts *opts)
{
    opts = &HR_OPTIONS(hr_dropout_opts, opts);
    if (!hr_node_exists(x)) return x;
    if (!(rate >= 0 && rate < 1))
        return hr_node_fail(x.graph, HR_INVALID_ARGUMENT, "layers.rate",
                            "dropout: expected a rate from 0 to less than 1, got %g", (double)rate);
    if (rate == 0) return x;
    hr_name_scope(x.graph, opts->name ? opts->name : "dropout");
    hr_node scaled = hr_mul(x, hr_scalar_like(x, 1 / (1 - (double)rate)));
    hr_node random = hr_uniform_values(hr_shape_of(x), hr_node_dtype(x), opts->seed);
    hr_node keep = hr_greater_equal(random, hr_scalar_like(x, (double)rate));
    hr_node y = hr_mul(scaled, hr_cast_to(keep, hr_node_dtype(x)));
    hr_scope_end(x.graph);
    return y;
}
