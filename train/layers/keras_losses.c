/* Losses of Keras: tf.keras.losses. A function makes one loss a row; weights and reductions are the same for all. */
#include "train/layers/layers_internal.h"
#include <headrace/eager.h>

#include <string.h>

typedef hr_node keras_rows(hr_node y, hr_node p, const hr_keras_loss_opts *opts);

static const double keras_epsilon = 1e-7;

/* ---- pieces ---- */

static hr_node keras_one_minus(hr_node x) { return hr_sub(hr_scalar_like(x, 1), x); }

static int64_t keras_axis(const hr_keras_loss_opts *opts) { return opts->axis ? *opts->axis : -1; }

static hr_node keras_mean(hr_node x, int64_t axis) { return hr_reduce_mean(x, .axes = &axis, .axis_count = 1); }

static hr_node keras_sum(hr_node x, int64_t axis) { return hr_reduce_sum(x, .axes = &axis, .axis_count = 1); }

static hr_node keras_clip(hr_node x, double low, double high)
{
    return hr_maximum(hr_minimum(x, hr_scalar_like(x, high)), hr_scalar_like(x, low));
}

static hr_node keras_probabilities(hr_node p) { return keras_clip(p, keras_epsilon, 1 - keras_epsilon); }

/* Labels moved towards `target`, which all classes get of the smoothing. */
static hr_node keras_smoothed(hr_node y, double smoothing, hr_node target)
{
    return hr_add(hr_mul(y, hr_scalar_like(y, 1 - smoothing)), hr_mul(hr_scalar_like(y, smoothing), target));
}

static hr_node keras_smoothed_binary(hr_node y, const hr_keras_loss_opts *opts)
{
    if (opts->label_smoothing == 0) return y;
    return keras_smoothed(y, (double)opts->label_smoothing, hr_scalar_like(y, .5));
}

static hr_node keras_smoothed_classes(hr_node y, const hr_keras_loss_opts *opts)
{
    if (opts->label_smoothing == 0) return y;
    const int64_t axis = keras_axis(opts);
    hr_node classes = hr_reduce_sum(hr_ones_like(y), .axes = &axis, .axis_count = 1, .keep_dims = true);
    return keras_smoothed(y, (double)opts->label_smoothing, hr_reciprocal(classes));
}

/* Predictions are replaced by the logits that are given, and those that an activation made by its input, as Keras does in
 * graphs. */
static bool keras_logits(hr_node *p, const char *activation, const hr_keras_loss_opts *opts)
{
    if (opts->logits.graph) {
        *p = opts->logits;
        return true;
    }
    if (!hr_node_exists(*p) || hr_graph_is_eager(p->graph) || !hr_node_is(*p, activation)) return opts->from_logits;
    *p = hr_node_input(*p, 0);
    return true;
}

/* ---- regression ---- */

static hr_node squared_error(hr_node y, hr_node p, const hr_keras_loss_opts *opts)
{
    (void)opts;
    return keras_mean(hr_squared_difference(p, y), -1);
}

static hr_node absolute_error(hr_node y, hr_node p, const hr_keras_loss_opts *opts)
{
    (void)opts;
    return keras_mean(hr_abs(hr_sub(p, y)), -1);
}

static hr_node percentage_error(hr_node y, hr_node p, const hr_keras_loss_opts *opts)
{
    (void)opts;
    hr_node scale = hr_maximum(hr_abs(y), hr_scalar_like(y, keras_epsilon));
    hr_node mean = keras_mean(hr_abs(hr_div(hr_sub(y, p), scale)), -1);
    return hr_mul(hr_scalar_like(mean, 100), mean);
}

static hr_node keras_log_of(hr_node x)
{
    return hr_log(hr_add(hr_maximum(x, hr_scalar_like(x, keras_epsilon)), hr_scalar_like(x, 1)));
}

static hr_node logarithmic_error(hr_node y, hr_node p, const hr_keras_loss_opts *opts)
{
    (void)opts;
    return keras_mean(hr_squared_difference(keras_log_of(p), keras_log_of(y)), -1);
}

static hr_node keras_huber(hr_node y, hr_node p, const hr_keras_loss_opts *opts)
{
    const double d = opts->delta ? (double)*opts->delta : 1;
    hr_node error = hr_sub(p, y), size = hr_abs(error), delta = hr_scalar_like(p, d), half = hr_scalar_like(p, .5);
    hr_node linear = hr_sub(hr_mul(delta, size), hr_mul(half, hr_square(delta)));
    return keras_mean(hr_where(hr_less_equal(size, delta), hr_mul(half, hr_square(error)), linear), -1);
}

static hr_node log_cosh(hr_node y, hr_node p, const hr_keras_loss_opts *opts)
{
    (void)opts;
    hr_node x = hr_sub(p, y), far = hr_softplus(hr_mul(hr_scalar_like(x, -2), x));
    return keras_mean(hr_sub(hr_add(x, far), hr_scalar_like(x, 0.69314718055994531)), -1);
}

static hr_node poisson(hr_node y, hr_node p, const hr_keras_loss_opts *opts)
{
    (void)opts;
    return keras_mean(hr_sub(p, hr_mul(y, hr_log(hr_add(p, hr_scalar_like(p, keras_epsilon))))), -1);
}

static hr_node kl_divergence(hr_node y, hr_node p, const hr_keras_loss_opts *opts)
{
    (void)opts;
    y = keras_clip(y, keras_epsilon, 1);
    return keras_sum(hr_mul(y, hr_log(hr_div(y, keras_clip(p, keras_epsilon, 1)))), -1);
}

static hr_node keras_unit(hr_node x, int64_t axis)
{
    hr_node sum = hr_reduce_sum(hr_square(x), .axes = &axis, .axis_count = 1, .keep_dims = true);
    return hr_mul(x, hr_rsqrt(hr_maximum(sum, hr_scalar_like(x, 1e-12))));
}

static hr_node cosine_similarity(hr_node y, hr_node p, const hr_keras_loss_opts *opts)
{
    const int64_t axis = keras_axis(opts);
    return hr_neg(keras_sum(hr_mul(keras_unit(y, axis), keras_unit(p, axis)), axis));
}

/* ---- margins ---- */

/* Labels that are all 0 or 1 become -1 and 1. */
static hr_node keras_margin(hr_node y, hr_node p)
{
    hr_node one = hr_scalar_like(y, 1), zero = hr_scalar_like(y, 0);
    hr_node binary = hr_reduce_all(hr_logical_or(hr_equal(y, zero), hr_equal(y, one)));
    hr_node sign = hr_where(binary, hr_sub(hr_mul(hr_scalar_like(y, 2), y), one), y);
    return hr_maximum(keras_one_minus(hr_mul(sign, p)), zero);
}

static hr_node keras_hinge(hr_node y, hr_node p, const hr_keras_loss_opts *opts)
{
    (void)opts;
    return keras_mean(keras_margin(y, p), -1);
}

static hr_node squared_hinge(hr_node y, hr_node p, const hr_keras_loss_opts *opts)
{
    (void)opts;
    return keras_mean(hr_square(keras_margin(y, p)), -1);
}

static hr_node categorical_hinge(hr_node y, hr_node p, const hr_keras_loss_opts *opts)
{
    (void)opts;
    const int64_t last = -1;
    hr_node other = hr_reduce_max(hr_mul(keras_one_minus(y), p), .axes = &last, .axis_count = 1);
    hr_node margin = hr_sub(other, keras_sum(hr_mul(y, p), -1));
    return hr_maximum(hr_add(margin, hr_scalar_like(margin, 1)), hr_scalar_like(margin, 0));
}

/* ---- cross entropies ---- */

/* One loss an element. */
static hr_node binary_entropy(hr_node y, hr_node p, const hr_keras_loss_opts *opts)
{
    if (keras_logits(&p, "Sigmoid", opts))
        return hr__same_shape(y, p, "binary_crossentropy") ? hr_sigmoid_cross_entropy(p, y) : hr_failed_node(p.graph);
    p = keras_probabilities(p);
    hr_node epsilon = hr_scalar_like(p, keras_epsilon);
    hr_node of_one = hr_mul(y, hr_log(hr_add(p, epsilon)));
    hr_node of_zero = hr_mul(keras_one_minus(y), hr_log(hr_add(keras_one_minus(p), epsilon)));
    return hr_neg(hr_add(of_one, of_zero));
}

static hr_node binary_crossentropy(hr_node y, hr_node p, const hr_keras_loss_opts *opts)
{
    return keras_mean(binary_entropy(keras_smoothed_binary(y, opts), p, opts), keras_axis(opts));
}

static double keras_alpha(const hr_keras_loss_opts *opts) { return opts->alpha ? (double)*opts->alpha : .25; }

/* How far a probability is from certain, to the power of gamma. */
static hr_node keras_focus(hr_node p, const hr_keras_loss_opts *opts)
{
    return hr_pow(keras_one_minus(p), hr_scalar_like(p, opts->gamma ? (double)*opts->gamma : 2));
}

/* `a` where the label is 1, `b` where it is 0. */
static hr_node keras_by_label(hr_node y, hr_node a, hr_node b)
{
    return hr_add(hr_mul(y, a), hr_mul(keras_one_minus(y), b));
}

static hr_node binary_focal_crossentropy(hr_node y, hr_node p, const hr_keras_loss_opts *opts)
{
    y = keras_smoothed_binary(y, opts);
    hr_node probability = opts->from_logits ? hr_sigmoid(p) : p, alpha = hr_scalar_like(p, keras_alpha(opts));
    hr_node right = keras_by_label(y, probability, keras_one_minus(probability));
    hr_node loss = hr_mul(keras_focus(right, opts), binary_entropy(y, p, opts));
    if (opts->class_balancing) loss = hr_mul(keras_by_label(y, alpha, keras_one_minus(alpha)), loss);
    return keras_mean(loss, keras_axis(opts));
}

/* Divides by the sum over the classes, and clips. */
static hr_node keras_normalized(hr_node p, int64_t axis)
{
    return keras_probabilities(hr_div(p, hr_reduce_sum(p, .axes = &axis, .axis_count = 1, .keep_dims = true)));
}

static hr_node categorical_crossentropy(hr_node y, hr_node p, const hr_keras_loss_opts *opts)
{
    const int64_t axis = keras_axis(opts);
    y = keras_smoothed_classes(y, opts);
    if (!hr__same_shape(y, p, "categorical_crossentropy")) return hr_failed_node(p.graph);
    if (keras_logits(&p, "Softmax", opts)) return hr_softmax_cross_entropy_with_logits(y, p, (int)axis);
    return hr_neg(keras_sum(hr_mul(y, hr_log(keras_normalized(p, axis))), axis));
}

static hr_node categorical_focal_crossentropy(hr_node y, hr_node p, const hr_keras_loss_opts *opts)
{
    const int64_t axis = keras_axis(opts);
    y = keras_smoothed_classes(y, opts);
    if (!hr__same_shape(y, p, "categorical_focal_crossentropy")) return hr_failed_node(p.graph);
    if (keras_logits(&p, "Softmax", opts)) p = hr_softmax(p);
    p = keras_normalized(p, axis);
    hr_node weight = hr_mul(keras_focus(p, opts), hr_scalar_like(p, keras_alpha(opts)));
    return keras_sum(hr_mul(weight, hr_neg(hr_mul(y, hr_log(p)))), axis);
}

/* Labels of one column lose it, where predictions have a row for each. */
static hr_node keras_classes(hr_node y, hr_node p)
{
    const int rank = hr_node_shape(p).rank;
    y = hr_cast_to(y, HR_INT64);
    return rank > 0 && hr_node_shape(y).rank == rank ? hr_squeeze(y, (const int64_t[]){-1}, 1) : y;
}

static hr_node keras_kept(hr_node y, const hr_keras_loss_opts *opts)
{
    return hr_not_equal(y, hr_const_number(y.graph, HR_INT64, (double)*opts->ignore_class, NULL));
}

static hr_node sparse_categorical_crossentropy(hr_node y, hr_node p, const hr_keras_loss_opts *opts)
{
    if (!keras_logits(&p, "Softmax", opts)) p = hr_log(keras_probabilities(p));
    y = keras_classes(y, p);
    if (!opts->ignore_class) return hr_sparse_softmax_cross_entropy_with_logits(y, p);
    hr_node kept = keras_kept(y, opts);
    y = hr_where(kept, y, hr_zeros_like(y));
    p = hr_where(hr_expand_dims(kept, hr_const_number(p.graph, HR_INT32, -1, NULL)), p, hr_zeros_like(p));
    hr_node losses = hr_sparse_softmax_cross_entropy_with_logits(y, p);
    return hr_where(kept, losses, hr_zeros_like(losses));
}

/* ---- all of them ---- */

typedef struct keras_loss {
    const char *function; /* the name of the class is the same in other letters: MeanSquaredError */
    const char *alias, *other;
    keras_rows *rows;
    bool sparse; /* labels are classes */
} keras_loss;

static const keras_loss keras_losses[] = {
    {"mean_squared_error", "mse", NULL, squared_error, false},
    {"mean_absolute_error", "mae", NULL, absolute_error, false},
    {"mean_absolute_percentage_error", "mape", NULL, percentage_error, false},
    {"mean_squared_logarithmic_error", "msle", NULL, logarithmic_error, false},
    {"huber", "huber_loss", NULL, keras_huber, false},
    {"log_cosh", NULL, NULL, log_cosh, false},
    {"poisson", NULL, NULL, poisson, false},
    {"kl_divergence", "kld", "kullback_leibler_divergence", kl_divergence, false},
    {"cosine_similarity", NULL, NULL, cosine_similarity, false},
    {"hinge", NULL, NULL, keras_hinge, false},
    {"squared_hinge", NULL, NULL, squared_hinge, false},
    {"categorical_hinge", NULL, NULL, categorical_hinge, false},
    {"binary_crossentropy", "bce", NULL, binary_crossentropy, false},
    {"binary_focal_crossentropy", NULL, NULL, binary_focal_crossentropy, false},
    {"categorical_crossentropy", NULL, NULL, categorical_crossentropy, false},
    {"categorical_focal_crossentropy", NULL, NULL, categorical_focal_crossentropy, false},
    {"sparse_categorical_crossentropy", NULL, NULL, sparse_categorical_crossentropy, true},
};

static char folded(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

bool hr__same_word(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (*a == '_') a++;
        while (*b == '_') b++;
        if (folded(*a) != folded(*b)) return false;
        if (!*a) return true;
    }
}

static const keras_loss *keras_find(const char *name)
{
    for (size_t i = 0; name && i < sizeof keras_losses / sizeof *keras_losses; i++) {
        const keras_loss *l = &keras_losses[i];
        if (hr__same_word(name, l->function) || (l->alias && hr__same_word(name, l->alias)) ||
            (l->other && hr__same_word(name, l->other)))
            return l;
    }
    return NULL;
}

const char *hr__keras_function(const char *name)
{
    const keras_loss *loss = keras_find(name);
    return loss ? loss->function : NULL;
}

hr_node hr__keras_rows(const char *function, hr_node labels, hr_node predictions, const hr_keras_loss_opts *opts)
{
    return keras_find(function)->rows(labels, predictions, opts);
}

/* A last dimension of 1 that only one side has goes away. */
static hr_node keras_squeezed(hr_node x, hr_node other)
{
    const hr_shape shape = hr_node_shape(x);
    const int rank = hr_node_shape(other).rank;
    if (rank < 0 || shape.rank != rank + 1 || shape.dims[rank] > 1) return x;
    return hr_squeeze(x, (const int64_t[]){-1}, 1);
}

/* Weights of one rank more lose their last dimension; of one less, they get one. */
static hr_node keras_weights(hr_node weights, hr_node losses)
{
    const int rank = hr_node_shape(losses).rank, own = hr_node_shape(weights).rank;
    weights = hr_cast_to(weights, hr_node_dtype(losses));
    if (rank < 0 || own <= 0) return weights;
    if (own == rank + 1) return hr_squeeze(weights, (const int64_t[]){-1}, 1);
    return own + 1 == rank ? hr_expand_dims(weights, hr_const_number(weights.graph, HR_INT32, -1, NULL)) : weights;
}

/* What weighs the rows: of ignored classes nothing, so that the mean is that of the others. */
static hr_node keras_mask(hr_node labels, hr_node predictions, hr_node losses, const hr_keras_loss_opts *opts)
{
    hr_node mask = hr_cast_to(keras_kept(keras_classes(labels, predictions), opts), hr_node_dtype(losses));
    if (opts->reduction == HR_REDUCTION_SUM || opts->reduction == HR_REDUCTION_NONE) return mask;
    hr_node total = hr_cast_to(hr_size_of(mask), hr_node_dtype(mask));
    return hr_mul(mask, hr_div(total, hr_reduce_sum(mask)));
}

static hr_node keras_reduced(hr_node losses, const hr_keras_loss_opts *opts)
{
    if (opts->reduction == HR_REDUCTION_NONE) return losses;
    hr_node sum = hr_reduce_sum(losses);
    if (opts->reduction == HR_REDUCTION_SUM) return sum;
    return hr_div_no_nan(sum, hr_cast_to(hr_size_of(losses), hr_node_dtype(losses)));
}

static hr_node keras_made(const keras_loss *loss, hr_node y, hr_node p, const hr_keras_loss_opts *opts)
{
    if (hr_node_dtype(p) != HR_DOUBLE) p = hr_cast_to(p, HR_FLOAT);
    hr_node labels = keras_squeezed(y, p), predictions = keras_squeezed(p, y);
    if (!loss->sparse) labels = hr_cast_to(labels, hr_node_dtype(p));
    hr_keras_loss_opts of_rows = *opts;
    if (opts->logits.graph) of_rows.logits = keras_squeezed(hr_cast_to(opts->logits, hr_node_dtype(p)), y);
    hr_node losses = loss->rows(labels, predictions, &of_rows);
    if (!hr_node_exists(losses)) return losses;
    hr_node weights = opts->weights.graph ? keras_weights(opts->weights, losses) : (hr_node){0};
    if (loss->sparse && opts->ignore_class) {
        hr_node mask = keras_mask(labels, predictions, losses, opts);
        weights = weights.graph ? hr_mul(weights, mask) : mask;
    }
    return keras_reduced(weights.graph ? hr_mul(losses, weights) : losses, opts);
}

hr_node hr_keras_loss_with(const char *name, hr_node labels, hr_node predictions, const hr_keras_loss_opts *opts)
{
    opts = &HR_OPTIONS(hr_keras_loss_opts, opts);
    hr_graph *g = labels.graph ? labels.graph : predictions.graph;
    const bool found = !opts->logits.graph || hr_node_exists(opts->logits);
    if (!hr_node_exists(labels) || !hr_node_exists(predictions) || !found) return hr_failed_node(g);
    const keras_loss *loss = keras_find(name);
    if (!loss)
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "layers.loss",
                            "keras_loss: expected the name of a loss, got \"%s\"", name ? name : "");
    if (opts->reduction == HR_REDUCTION_MEAN || (unsigned)opts->reduction > HR_REDUCTION_NONE)
        return hr_node_fail(
            g, HR_INVALID_ARGUMENT, "layers.loss", "%s: expected a reduction by sum, by batch size or none, got %s, %d",
            name, opts->reduction == HR_REDUCTION_MEAN ? "HR_REDUCTION_MEAN" : "no hr_reduction", (int)opts->reduction);
    hr_name_scope(g, opts->name ? opts->name : loss->function);
    hr_node made = keras_made(loss, labels, predictions, opts);
    hr_scope_end(g);
    return made;
}
