/* Batch normalization with moving averages, and normalization of rows and of groups of their channels. */
#include "train/layers/layers_internal.h"

#include <headrace/control_flow.h>
#include <headrace/eager.h>
#include <headrace/kernels.h>

/* ---- what both share ---- */

/* Halves are normalized in float. */
static hr_dtype norm_type(hr_node x) { return hr_node_dtype(x) == HR_DOUBLE ? HR_DOUBLE : HR_FLOAT; }

/* A value for each channel, in a shape that broadcasts to x. */
static hr_node norm_broadcast(hr_node w, hr_shape shape, int axis)
{
    if (!w.graph || axis == shape.rank - 1) return w;
    hr_shape to = {.rank = shape.rank};
    for (int i = 0; i < shape.rank; i++) to.dims[i] = i == axis ? shape.dims[i] : 1;
    return hr_reshape(w, hr_shape_const(w.graph, to));
}

static hr_node norm_fail(hr_node x, const char *what, int axis)
{
    char text[128];
    return hr_node_fail(x.graph, HR_INVALID_ARGUMENT, "layers.shape",
                        "%s: expected an input of a known rank of 1 or more, of known size along axis %d, got %s", what,
                        axis, hr_shape_text(hr_node_shape(x), text, sizeof text));
}

/* ---- batch normalization ---- */

typedef struct batch_norm {
    hr_batch_normalization_opts o;
    hr_node x, gamma, beta, moving_mean, moving_variance; /* none: no gamma, no beta */
    hr_shape shape;
    int axis;
    float epsilon;
    bool fused;
} batch_norm;

/* The branches: results are the normalized values, the mean and the variance. */
static void batch_norm_of(const batch_norm *b, hr_node mean, hr_node variance, hr_node *results)
{
    const hr_dtype type = hr_node_dtype(b->x);
    const hr_node x = hr_cast_to(b->x, norm_type(b->x));
    const hr_node y = hr_batch_normalize(
        x, norm_broadcast(mean, b->shape, b->axis), norm_broadcast(variance, b->shape, b->axis),
        norm_broadcast(b->beta, b->shape, b->axis), norm_broadcast(b->gamma, b->shape, b->axis), (double)b->epsilon);
    results[0] = hr_cast_to(y, type);
    results[1] = mean;
    results[2] = variance;
}

static hr_node batch_norm_fused(const batch_norm *b, bool inference)
{
    hr_graph *g = b->x.graph;
    const hr_node channels = hr_shape_const(g, HR_SHAPE(b->shape.dims[b->axis]));
    const hr_node scale = b->gamma.graph ? b->gamma : hr_fill(channels, hr_scalar(g, HR_FLOAT, 1));
    const hr_node offset = b->beta.graph ? b->beta : hr_fill(channels, hr_scalar(g, HR_FLOAT, 0));
    return hr_fused_batch_norm(b->x, scale, offset, .inference = inference, .epsilon = b->epsilon,
                               .mean = inference ? b->moving_mean : (hr_node){0},
                               .variance = inference ? b->moving_variance : (hr_node){0},
                               .channels_first = b->axis == 1);
}

/* Where no value counts, both are 0. */
static hr_moments_of batch_norm_weighted(const batch_norm *b, hr_node x, const int64_t *axes, int count)
{
    const hr_node w = hr_mul(hr_cast_to(b->o.weights, hr_node_dtype(x)), hr_ones_like(x));
    const hr_node total = hr_reduce_sum(w, .axes = axes, .axis_count = count);
    const hr_node sum = hr_reduce_sum(hr_mul(w, x), .axes = axes, .axis_count = count);
    const hr_node mean = hr_div_no_nan(sum, total);
    const hr_node far = hr_squared_difference(x, norm_broadcast(mean, b->shape, b->axis));
    const hr_node squares = hr_reduce_sum(hr_mul(w, far), .axes = axes, .axis_count = count);
    return (hr_moments_of){mean, hr_div_no_nan(squares, total)};
}

static void batch_norm_training(hr_graph *g, hr_node *results, void *user)
{
    const batch_norm *b = user;
    (void)g;
    if (b->fused) {
        results[0] = batch_norm_fused(b, false);
        for (int i = 1; i < 3; i++) results[i] = hr_node_output(results[0], i);
        return;
    }
    int64_t axes[HR_MAX_RANK];
    int count = 0;
    for (int i = 0; i < b->shape.rank; i++)
        if (i != b->axis) axes[count++] = i;
    const hr_node x = hr_cast_to(b->x, norm_type(b->x));
    const hr_moments_of m =
        b->o.weights.graph ? batch_norm_weighted(b, x, axes, count) : hr_moments(x, .axes = axes, .axis_count = count);
    batch_norm_of(b, m.mean, m.variance, results);
}

static void batch_norm_inference(hr_graph *g, hr_node *results, void *user)
{
    const batch_norm *b = user;
    (void)g;
    const hr_node mean = hr_identity(b->moving_mean), variance = hr_identity(b->moving_variance);
    if (!b->fused) {
        batch_norm_of(b, mean, variance, results);
        return;
    }
    results[0] = batch_norm_fused(b, true);
    results[1] = mean;
    results[2] = variance;
}

/* moving -= (moving - value) * (1 - momentum): nothing where no training has given `value`, which is `moving` then. */
static void batch_norm_move(hr_node moving, hr_node value, float momentum)
{
    hr_graph *g = moving.graph;
    hr_name_scope(g, "AssignMovingAvg");
    const hr_node step = hr_mul(hr_sub(moving, value), hr_scalar_like(moving, 1 - (double)momentum));
    const hr_node update = hr_assign_sub(moving, step);
    if (!hr_graph_is_eager(g)) hr_add_to_collection(g, "update_ops", update);
    hr_scope_end(g);
}

static hr_node batch_norm_weight(const batch_norm *b, const char *name, hr_initializer initializer,
                                 hr_regularizer regularizer)
{
    const hr__weight weight = {name,        norm_type(b->x), HR_SHAPE(b->shape.dims[b->axis]),
                               initializer, regularizer,     b->o.not_trainable};
    return hr__layer_weight(b->x.graph, &weight);
}

/* In one piece, so that one op moves it. */
static hr_node batch_norm_average(const batch_norm *b, const char *name, hr_initializer initializer)
{
    return hr_get_variable(b->x.graph, name, norm_type(b->x), HR_SHAPE(b->shape.dims[b->axis]),
                           .initializer = initializer, .not_trainable = true, .whole = true);
}

/* In TensorFlow's order. */
static void batch_norm_weights(batch_norm *b)
{
    const hr_batch_normalization_opts *o = &b->o;
    const hr_initializer ones = hr_ones(), zeros = hr_zeros();
    if (!o->no_scale)
        b->gamma = batch_norm_weight(b, "gamma", hr__initializer_or(o->gamma_initializer, ones), o->gamma_regularizer);
    if (!o->no_center)
        b->beta = batch_norm_weight(b, "beta", hr__initializer_or(o->beta_initializer, zeros), o->beta_regularizer);
    b->moving_mean = batch_norm_average(b, "moving_mean", hr__initializer_or(o->moving_mean_initializer, zeros));
    b->moving_variance =
        batch_norm_average(b, "moving_variance", hr__initializer_or(o->moving_variance_initializer, ones));
}

hr_node hr_batch_normalization_with(hr_node x, const hr_batch_normalization_opts *opts)
{
    batch_norm b = {.o = HR_OPTIONS(hr_batch_normalization_opts, opts), .x = x, .shape = hr_node_shape(x)};
    const bool chosen = b.o.is_training.graph != NULL;
    const float momentum = b.o.momentum ? *b.o.momentum : 0.99f;
    hr_error err;
    hr_node results[3];
    if (!hr_node_exists(x)) return x;
    if (b.shape.rank < 1 || hr_axis(b.o.axis ? *b.o.axis : -1, b.shape.rank, &b.axis, &err) != HR_OK ||
        b.shape.dims[b.axis] < 0)
        return norm_fail(x, "batch_normalization", b.o.axis ? *b.o.axis : -1);
    b.epsilon = b.o.epsilon ? *b.o.epsilon : 0.001f;
    b.fused = !b.o.not_fused && !b.o.weights.graph && (b.shape.rank == 4 || b.shape.rank == 5) &&
              hr_node_dtype(x) != HR_DOUBLE && (b.axis == 1 || b.axis == b.shape.rank - 1);
    hr__layer_begin(x.graph, b.o.name, "batch_normalization");
    batch_norm_weights(&b);
    if (chosen)
        hr_cond(b.o.is_training, batch_norm_training, batch_norm_inference, &b, results, 3);
    else
        (b.o.training ? batch_norm_training : batch_norm_inference)(x.graph, results, &b);
    if (chosen || b.o.training) {
        batch_norm_move(b.moving_mean, results[1], momentum);
        batch_norm_move(b.moving_variance, results[2], momentum);
    }
    hr_scope_end(x.graph);
    return results[0];
}

/* ---- rows ---- */

/* A weight of the dimensions from `axis` on. */
static hr_node layer_norm_weight(hr_node x, int axis, const char *name, hr_initializer initializer,
                                 hr_regularizer regularizer, bool not_trainable)
{
    const hr_shape shape = hr_node_shape(x);
    hr_shape own = {.rank = shape.rank - axis};
    for (int i = 0; i < own.rank; i++) own.dims[i] = shape.dims[axis + i];
    const hr__weight weight = {name, norm_type(x), own, initializer, regularizer, not_trainable};
    return hr__layer_weight(x.graph, &weight);
}

hr_node hr_layer_normalization_with(hr_node x, const hr_layer_normalization_opts *opts)
{
    const hr_layer_normalization_opts o = HR_OPTIONS(hr_layer_normalization_opts, opts);
    const hr_shape shape = hr_node_shape(x);
    const int begin = o.begin_norm_axis ? *o.begin_norm_axis : -1;
    int norm = 0, params = 0, count = 0;
    int64_t axes[HR_MAX_RANK];
    hr_node gamma = {0}, beta = {0};
    hr_error err;
    if (!hr_node_exists(x)) return x;
    bool fits = shape.rank >= 1 && hr_axis(begin, shape.rank, &norm, &err) == HR_OK &&
                hr_axis(o.begin_params_axis ? *o.begin_params_axis : begin, shape.rank, &params, &err) == HR_OK;
    for (int i = params; fits && !(o.no_scale && o.no_center) && i < shape.rank; i++) fits = shape.dims[i] >= 0;
    if (!fits) return norm_fail(x, "layer_normalization", o.begin_params_axis ? *o.begin_params_axis : begin);
    for (int i = norm; i < shape.rank; i++) axes[count++] = i;
    hr__layer_begin(x.graph, o.name, "layer_normalization");
    if (!o.no_scale)
        gamma = layer_norm_weight(x, params, "gamma", hr__initializer_or(o.gamma_initializer, hr_ones()),
                                  o.gamma_regularizer, o.not_trainable);
    if (!o.no_center)
        beta = layer_norm_weight(x, params, "beta", hr__initializer_or(o.beta_initializer, hr_zeros()),
                                 o.beta_regularizer, o.not_trainable);
    const hr_node values = hr_cast_to(x, norm_type(x));
    const hr_moments_of m = hr_moments(values, .axes = axes, .axis_count = count, .keep_dims = true);
    const hr_node y =
        hr_batch_normalize(values, m.mean, m.variance, beta, gamma, (double)(o.epsilon ? *o.epsilon : 0.001f));
    hr_scope_end(x.graph);
    return hr_cast_to(y, hr_node_dtype(x));
}

/* ---- groups of channels ---- */

/* The shape of x with the channels split into groups. False: two dimensions or more are not known. */
static bool group_norm_shape(hr_shape shape, int axis, int64_t groups, hr_shape *split)
{
    int unknown = 0;
    *split = (hr_shape){.rank = shape.rank + 1};
    for (int i = 0; i < shape.rank; i++) {
        split->dims[i < axis ? i : i + 1] = shape.dims[i];
        unknown += shape.dims[i] < 0;
    }
    split->dims[axis] = groups;
    split->dims[axis + 1] = shape.dims[axis] / groups;
    return unknown <= 1;
}

/* A weight for each channel, in a shape that broadcasts to the groups. */
static hr_node group_norm_weight(hr_node x, int axis, hr_shape split, const char *name, hr_initializer initializer,
                                 hr_regularizer regularizer, bool not_trainable)
{
    const hr__weight weight = {name,        norm_type(x), HR_SHAPE(split.dims[axis] * split.dims[axis + 1]),
                               initializer, regularizer,  not_trainable};
    hr_shape to = {.rank = split.rank};
    for (int i = 0; i < to.rank; i++) to.dims[i] = i == axis || i == axis + 1 ? split.dims[i] : 1;
    return hr_reshape(hr__layer_weight(x.graph, &weight), hr_shape_const(x.graph, to));
}

hr_node hr_group_normalization_with(hr_node x, int64_t groups, const hr_group_normalization_opts *opts)
{
    const hr_group_normalization_opts o = HR_OPTIONS(hr_group_normalization_opts, opts);
    const hr_shape shape = hr_node_shape(x);
    int axis = 0, count = 0;
    int64_t axes[HR_MAX_RANK];
    char text[128];
    hr_shape split;
    hr_node gamma = {0}, beta = {0};
    hr_error err;
    if (!hr_node_exists(x)) return x;
    if (shape.rank < 2 || shape.rank == HR_MAX_RANK ||
        hr_axis(o.axis ? *o.axis : -1, shape.rank, &axis, &err) != HR_OK || axis < 1 || shape.dims[axis] < 1)
        return norm_fail(x, "group_normalization", o.axis ? *o.axis : -1);
    if (groups == -1) groups = shape.dims[axis];
    if (groups < 1 || shape.dims[axis] % groups != 0 || !group_norm_shape(shape, axis, groups, &split))
        return hr_node_fail(x.graph, HR_INVALID_ARGUMENT, "layers.shape",
                            "group_normalization: expected groups that divide the channels, %lld, and at most one "
                            "dimension that is not known, got %lld groups of %s",
                            (long long)shape.dims[axis], (long long)groups, hr_shape_text(shape, text, sizeof text));
    for (int i = 1; i < split.rank; i++)
        if (i != axis) axes[count++] = i;
    hr__layer_begin(x.graph, o.name, "group_normalization");
    if (!o.no_scale)
        gamma = group_norm_weight(x, axis, split, "gamma", hr__initializer_or(o.gamma_initializer, hr_ones()),
                                  o.gamma_regularizer, o.not_trainable);
    if (!o.no_center)
        beta = group_norm_weight(x, axis, split, "beta", hr__initializer_or(o.beta_initializer, hr_zeros()),
                                 o.beta_regularizer, o.not_trainable);
    const hr_node values = hr_reshape(hr_cast_to(x, norm_type(x)), hr_shape_const(x.graph, split));
    const hr_moments_of m = hr_moments(values, .axes = axes, .axis_count = count, .keep_dims = true);
    const hr_node y =
        hr_batch_normalize(values, m.mean, m.variance, beta, gamma, (double)(o.epsilon ? *o.epsilon : 0.001f));
    hr_scope_end(x.graph);
    return hr_cast_to(hr_reshape(y, hr_shape_const(x.graph, shape)), hr_node_dtype(x));
}
