/* The dense layer, what flattens its input, and dropout. */
#include "train/layers/layers_internal.h"

#include <headrace/control_flow.h>

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
    const hr_dtype type = hr__layer_type(x);
    const int64_t width = shape.dims[shape.rank - 1];
    const hr__weight kernel = {opts->slim ? "weights" : "kernel",
                               type,
                               HR_SHAPE(width, units),
                               opts->kernel_initializer,
                               opts->kernel_regularizer,
                               opts->not_trainable};
    const hr__weight bias = {opts->slim ? "biases" : "bias",
                             type,
                             HR_SHAPE(units),
                             hr__initializer_or(opts->bias_initializer, hr_zeros()),
                             opts->bias_regularizer,
                             opts->not_trainable};
    const hr_node weights = hr__layer_weight(g, &kernel);
    hr_node y = hr_matmul(as_matrix(x, shape), weights);
    if (!opts->no_bias) y = hr_bias_add(y, hr__layer_weight(g, &bias));
    y = as_before(y, shape, units);
    return opts->activation ? opts->activation(y) : y;
}

hr_node hr_dense_with(hr_node x, int64_t units, const hr_dense_opts *opts)
{
    opts = &HR_OPTIONS(hr_dense_opts, opts);
    char text[128];
    const hr_shape shape = hr_node_shape(x);
    if (!hr_node_exists(x)) return x;
    if (units < 1 || !has_width(shape))
        return hr_node_fail(x.graph, HR_INVALID_ARGUMENT, "layers.shape",
                            "dense: expected an input [n, width] of known width and units > 0, got %s and %lld units",
                            hr_shape_text(shape, text, sizeof text), (long long)units);
    hr__layer_begin(x.graph, opts->name, opts->slim ? "fully_connected" : "dense");
    hr_node y = layer(x, shape, units, opts);
    hr_scope_end(x.graph);
    return y;
}

/* ---- dropout ---- */

typedef struct dropout {
    hr_node x;
    double rate;
    hr_dropout_opts o;
} dropout;

/* Both as branches: `user` is the dropout. */
static void dropout_drop(hr_graph *g, hr_node *results, void *user)
{
    const dropout *d = user;
    const hr_dtype type = hr_node_dtype(d->x);
    (void)g;
    const hr_node scaled = hr_mul(d->x, hr_scalar_like(d->x, 1 / (1 - d->rate)));
    const hr_node shape = d->o.noise_shape.graph ? d->o.noise_shape : hr_shape_of(d->x);
    const hr_node random = hr_uniform_values(shape, type, d->o.seed);
    const hr_node keep = hr_greater_equal(random, hr_scalar_like(d->x, d->rate));
    results[0] = hr_mul(scaled, hr_cast_to(keep, type));
}

static void dropout_pass(hr_graph *g, hr_node *results, void *user)
{
    (void)g;
    results[0] = hr_identity(((const dropout *)user)->x);
}

hr_node hr_dropout_with(hr_node x, float rate, const hr_dropout_opts *opts)
{
    dropout d = {.x = x, .rate = (double)rate, .o = HR_OPTIONS(hr_dropout_opts, opts)};
    hr_node y;
    if (!hr_node_exists(x)) return x;
    if (!(rate >= 0 && rate < 1))
        return hr_node_fail(x.graph, HR_INVALID_ARGUMENT, "layers.rate",
                            "dropout: expected a rate from 0 to less than 1, got %g", (double)rate);
    if (rate == 0) return x;
    hr_name_scope(x.graph, d.o.name ? d.o.name : "dropout");
    if (d.o.is_training.graph)
        hr_cond(d.o.is_training, dropout_drop, dropout_pass, &d, &y, 1);
    else
        dropout_drop(x.graph, &y, &d);
    hr_scope_end(x.graph);
    return y;
}

hr_node hr_flatten_with(hr_node x, const hr_name_opts *opts)
{
    const hr_name_opts o = HR_OPTIONS(hr_name_opts, opts);
    const hr_shape shape = hr_node_shape(x);
    hr_error err;
    int64_t width = 1;
    char text[128];
    if (!hr_node_exists(x)) return x;
    hr_status st = shape.rank < 1 ? HR_INVALID_ARGUMENT : HR_OK;
    for (int i = 1; i < shape.rank && st == HR_OK; i++) st = hr_dim_mul(width, shape.dims[i], &width, &err);
    if (st != HR_OK)
        return hr_node_fail(x.graph, HR_INVALID_ARGUMENT, "layers.shape",
                            "flatten: expected an input of a known rank of 1 or more, got %s",
                            hr_shape_text(shape, text, sizeof text));
    hr_name_scope(x.graph, o.name ? o.name : "flatten");
    hr_node to = hr_shape_const(x.graph, HR_SHAPE(width < 0 ? shape.dims[0] : -1, width));
    if (width < 0 && shape.dims[0] < 0)
        to = hr_concat(
            (const hr_node[]){hr_slice(hr_shape_of(x), hr_ints(x.graph, HR_I64(0), 1), hr_ints(x.graph, HR_I64(1), 1)),
                              hr_ints(x.graph, HR_I64(-1), 1)},
            2, 0);
    const hr_node y = hr_reshape(x, to);
    hr_scope_end(x.graph);
    return y;
}
