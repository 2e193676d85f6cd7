/* Gradients brought to a norm or a range, as tf.clip_by_norm, tf.clip_by_global_norm and tf.clip_by_value do. */
#include "train/optimizers/optimizers_internal.h"

static hr_node number_like(hr_node x, double value) { return hr_scalar(x.graph, hr_node_dtype(x), value); }

hr_node hr_clip_by_norm(hr_node x, double norm)
{
    if (!x.graph) return x;
    if (!(norm >= 0)) /* NaN as well */
        return hr_node_fail(x.graph, HR_INVALID_ARGUMENT, "optimizer.parameter",
                            "clip_by_norm: expected a norm of at least 0, got %g", norm);
    const hr_node squares = hr_reduce_sum(hr_square(x)), most = number_like(x, norm);
    const hr_node positive = hr_greater(squares, number_like(x, 0));
    const hr_node safe = hr_where(positive, squares, number_like(x, 1));
    const hr_node length = hr_where(positive, hr_sqrt(safe), squares);
    return hr_div(hr_mul(x, most), hr_maximum(length, most));
}

hr_node hr_global_norm(const hr_variable_gradient *gradients, int count)
{
    hr_node sum = {0};
    for (int i = 0; gradients && i < count; i++) {
        const hr_node values = gradients[i].gradient.values;
        if (!values.graph) continue;
        const hr_node squares = hr_reduce_sum(hr_square(values));
        sum = sum.graph ? hr_add(sum, hr_cast_to(squares, hr_node_dtype(sum))) : squares;
    }
    return sum.graph ? hr_sqrt(sum) : sum;
}

void hr_clip_by_global_norm(hr_variable_gradient *gradients, int count, double norm, hr_node global_norm)
{
    if (!global_norm.graph) global_norm = hr_global_norm(gradients, count);
    if (!global_norm.graph || !gradients) return;
    const hr_node one = number_like(global_norm, 1), most = number_like(global_norm, norm);
    const hr_node scale = hr_mul(most, hr_minimum(hr_div(one, global_norm), hr_div(one, most)));
    /* An infinite norm makes all gradients NaN, so that it is seen. */
    const hr_node seen = hr_add(scale, hr_sub(global_norm, global_norm));
    for (int i = 0; i < count; i++) {
        hr_node *values = &gradients[i].gradient.values;
        if (values->graph) *values = hr_mul(*values, hr_cast_to(seen, hr_node_dtype(*values)));
    }
}

/* Of more than one limit, Keras since 2.11 takes the first of: a norm each, a norm of all, values. */
void hr__minimizer_clip(hr_minimizer *t, hr_variable_gradient *gradients, int count)
{
    const hr_optimizer_common *by = &t->optimizer->common;
    const bool norms = by->clipnorm > 0 || by->global_clipnorm > 0, values_too = !by->keras || !norms;
    for (int i = 0; i < count; i++) {
        hr_node *values = &gradients[i].gradient.values;
        if (!values->graph) continue;
        if (by->clipvalue > 0 && values_too)
            *values = hr_minimum(hr_maximum(*values, number_like(*values, -by->clipvalue)),
                                 number_like(*values, by->clipvalue));
        if (by->clipnorm > 0) *values = hr_clip_by_norm(*values, by->clipnorm);
    }
    if (by->global_clipnorm > 0) hr_clip_by_global_norm(gradients, count, by->global_clipnorm, (hr_node){0});
}
