/* A layer, a loss, a metric and a callback as a program of its own would add them, by the installed headers alone: the
 * values of a row times a factor each, which is learned and never below 0. */
#include <headrace/models.h>

#include <math.h>

/* ---- the layer ---- */

typedef struct scale_config {
    double first;
} scale_config;

static hr_node scale_call(hr_layer_call *c, void *config)
{
    const hr_shape shape = hr_node_shape(c->input[0]);
    const int64_t width = shape.rank > 0 ? shape.dims[shape.rank - 1] : -1;
    if (width < 1) return hr_layer_fail(c, "outside.shape", "expected an input of a known width");
    const hr_node factor = hr_layer_weight(c, "factor", HR_SHAPE(width), .constraint = hr_non_neg(),
                                           .initializer = hr_constant_value(((scale_config *)config)->first));
    return hr_mul(c->input[0], factor);
}

static hr_status scale_check(const void *config, hr_error *err)
{
    const scale_config *s = config;
    if (s->first >= 0) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "outside.first", "expected a first factor of 0 or more, got %g", s->first);
}

static const hr_layer_kind scale_kind = {
    .head = HR_LAYER_HEAD,
    .name = "Scale",
    .config_size = sizeof(scale_config),
    .call = scale_call,
    .traits = HR_LAYER_KEEPS_MASK,
    .min_rank = 2,
    .check = scale_check,
};

hr_layer *outside_scale_layer(double first);
hr_layer *outside_scale_layer(double first) { return hr_layer_new(&scale_kind, &(scale_config){first}, NULL); }

/* ---- loss and metric ---- */

/* The fourth power of the error, for each row. */
hr_node outside_loss(hr_node labels, hr_node predictions, void *user);
hr_node outside_loss(hr_node labels, hr_node predictions, void *user)
{
    const int64_t last = -1;
    (void)user;
    return hr_reduce_mean(hr_square(hr_squared_difference(labels, predictions)), .axes = &last, .axis_count = 1);
}

/* The greatest error is not kept from batch to batch here: the mean of the greatest errors of batches. */
hr_metric outside_metric(hr_node labels, hr_node predictions, const hr_metric_opts *opts);
hr_metric outside_metric(hr_node labels, hr_node predictions, const hr_metric_opts *opts)
{
    return hr_metric_mean(hr_reduce_max(hr_abs(hr_sub(predictions, labels))), .name = opts->name);
}

/* ---- callback ---- */

typedef struct half_state {
    double *best;
} half_state;

/* Stops as soon as the loss is half of what it was in the first epoch. */
static hr_status half_epoch_end(void *state, const hr_callback_call *call, hr_error *err)
{
    half_state *s = state;
    const double loss = hr_logs_get(call->logs, "loss");
    if (call->number == 0) *s->best = loss;
    if (loss <= *s->best / 2) hr_model_stop(call->model);
    return hr_logs_set(call->logs, "share", loss / *s->best, err);
}

static const hr_callback_kind half_kind = {
    .head = HR_CALLBACK_HEAD, .name = "half", .state_size = sizeof(half_state), .epoch_end = half_epoch_end};

hr_callback *outside_half(double *first);
hr_callback *outside_half(double *first) { return hr_callback_new(&half_kind, &(half_state){first}, NULL); }
