/* Moving averages of variables and of other values, as tf.train.ExponentialMovingAverage keeps them. */
#include <headrace/optimizer.h>
#include <stdio.h>

enum { MAX_NAME = 512 };

static hr_node average_part(hr_node average, const char *part, hr_shape shape)
{
    const hr_variable_info *info = hr_variable_of(average);
    char name[2 * MAX_NAME];
    snprintf(name, sizeof name, "%.500s/%s", info->name, part);
    return hr_get_variable(average.graph, name, info->dtype, shape, .initializer = hr_zeros(), .not_trainable = true,
                           .whole = true);
}

/* 1 - decay, limited to what so few updates are worth. */
static hr_node rest_of(hr_node like, double decay, hr_node updates)
{
    hr_node kept = hr_scalar(like.graph, HR_FLOAT, decay);
    if (updates.graph) {
        const hr_node n = hr_cast_to(updates, HR_FLOAT);
        const hr_node few =
            hr_div(hr_add(hr_scalar(like.graph, HR_FLOAT, 1), n), hr_add(hr_scalar(like.graph, HR_FLOAT, 10), n));
        kept = hr_minimum(kept, few);
    }
    return hr_cast_to(hr_sub(hr_scalar(like.graph, HR_FLOAT, 1), kept), hr_node_dtype(like));
}

/* The average begins at 0, so that early values are too small: a second variable keeps it as it is, a third the number
 * of steps, and the first is corrected by them. */
static hr_node update_debiased(hr_node average, hr_node value, hr_node rest)
{
    const hr_variable_info *info = hr_variable_of(average);
    const hr_node biased = average_part(average, "biased", info->shape);
    const hr_node steps = average_part(average, "local_step", HR_SCALAR);
    if (hr_graph_error(average.graph)) return hr_failed_node(average.graph);
    const hr_node one = hr_scalar(average.graph, info->dtype, 1);
    const hr_node next = hr_sub(biased, hr_mul(hr_sub(biased, value), rest)), step = hr_add(steps, one);
    const hr_node share = hr_sub(one, hr_pow(hr_sub(one, rest), step));
    const hr_node done[] = {hr_target(hr_assign(biased, next)), hr_target(hr_assign(steps, step)),
                            hr_target(hr_assign(average, hr_div(next, share)))};
    return hr_group(average.graph, done, 3, NULL);
}

hr_node hr_assign_moving_average_with(hr_node variable, hr_node value, double decay, const hr_moving_average_opts *opts)
{
    opts = &HR_OPTIONS(hr_moving_average_opts, opts);
    const hr_variable_info *info = hr_variable_of(variable);
    if (!variable.graph || !value.graph) return hr_failed_node(variable.graph ? variable.graph : value.graph);
    if (!info)
        return hr_node_fail(variable.graph, HR_INVALID_ARGUMENT, "optimizer.variable",
                            "moving average: expected a variable, got node '%s'", hr_node_name(variable));
    if (!(decay >= 0 && decay <= 1)) /* NaN as well */
        return hr_node_fail(variable.graph, HR_INVALID_ARGUMENT, "optimizer.parameter",
                            "moving average of '%s': expected a decay from 0 to 1, got %g", info->name, decay);
    value = hr_identity(value);
    const hr_node rest = rest_of(value, decay, opts->num_updates);
    if (opts->zero_debias) return update_debiased(variable, value, rest);
    return hr_assign_sub(variable, hr_mul(hr_sub(variable, value), rest));
}

static void average_name(hr_node of, const hr_moving_average_opts *opts, char name[2 * MAX_NAME])
{
    const hr_variable_info *info = hr_variable_of(of);
    snprintf(name, 2 * MAX_NAME, "%.500s/%.500s", info ? info->name : hr_node_name(of),
             opts->name ? opts->name : "ExponentialMovingAverage");
}

hr_node hr_average_of_with(hr_node of, const hr_moving_average_opts *opts)
{
    opts = &HR_OPTIONS(hr_moving_average_opts, opts);
    char name[2 * MAX_NAME];
    if (!of.graph) return of;
    average_name(of, opts, name);
    const hr_variable_info *info = hr_variable_named(of.graph, name);
    return info ? info->handle : (hr_node){0};
}

hr_node hr_moving_average_with(hr_node of, double decay, const hr_moving_average_opts *opts)
{
    opts = &HR_OPTIONS(hr_moving_average_opts, opts);
    if (!of.graph) return of;
    hr_node average = hr_average_of_with(of, opts);
    if (!average.graph) {
        const hr_variable_info *info = hr_variable_of(of);
        char name[2 * MAX_NAME];
        average_name(of, opts, name);
        average = hr_get_variable(of.graph, name, info ? info->dtype : hr_node_dtype(of),
                                  info ? info->shape : hr_node_shape(of),
                                  .initializer = info ? hr_initial_node(info->initial_value) : hr_zeros(),
                                  .not_trainable = true, .whole = true);
    }
    return hr_assign_moving_average_with(average, of, decay, opts);
}
