/* Learning rates that follow from the number of the step: those of tf.compat.v1.train and of tf.keras.optimizers.schedules,
 * which are the same functions. All arithmetic is in float32. */
#include <headrace/optimizer.h>
#include <math.h>

static const double PI = 3.14159265358979323846;

static hr_node number(hr_node like, double value) { return hr_scalar(like.graph, HR_FLOAT, value); }
static hr_node times(hr_node x, double factor) { return hr_mul(x, number(x, factor)); }
static hr_node plus(hr_node x, double summand) { return hr_add(x, number(x, summand)); }

/* The step as a float. No node: the graph has the error, or there is no graph. */
static hr_node step_of(hr_node step) { return step.graph ? hr_cast_to(step, HR_FLOAT) : step; }

/* Steps as a fraction of `steps`. */
static hr_node elapsed(hr_node step, double steps) { return hr_div(step, number(step, steps)); }

static hr_node exponential(float learning_rate, hr_node step, double steps, double rate, bool staircase)
{
    hr_node p = elapsed(step, steps);
    if (staircase) p = hr_floor(p);
    return times(hr_pow(number(step, rate), p), (double)learning_rate);
}

hr_node hr_exponential_decay_with(float learning_rate, hr_node step, float decay_steps, float decay_rate,
                                  const hr_decay_opts *opts)
{
    opts = &HR_OPTIONS(hr_decay_opts, opts);
    step = step_of(step);
    if (!step.graph) return step;
    return exponential(learning_rate, step, (double)decay_steps, (double)decay_rate, opts->staircase);
}

hr_node hr_natural_exp_decay_with(float learning_rate, hr_node step, float decay_steps, float decay_rate,
                                  const hr_decay_opts *opts)
{
    opts = &HR_OPTIONS(hr_decay_opts, opts);
    step = step_of(step);
    if (!step.graph) return step;
    return exponential(learning_rate, step, (double)decay_steps, (double)expf(-decay_rate), opts->staircase);
}

hr_node hr_inverse_time_decay_with(float learning_rate, hr_node step, float decay_steps, float decay_rate,
                                   const hr_decay_opts *opts)
{
    opts = &HR_OPTIONS(hr_decay_opts, opts);
    step = step_of(step);
    if (!step.graph) return step;
    hr_node p = elapsed(step, (double)decay_steps);
    if (opts->staircase) p = hr_floor(p);
    return hr_div(number(step, (double)learning_rate), plus(times(p, (double)decay_rate), 1));
}

hr_node hr_polynomial_decay_with(float learning_rate, hr_node step, float decay_steps,
                                 const hr_polynomial_decay_opts *opts)
{
    opts = &HR_OPTIONS(hr_polynomial_decay_opts, opts);
    const double end = opts->end_learning_rate ? (double)*opts->end_learning_rate : 0.0001;
    step = step_of(step);
    if (!step.graph) return step;
    hr_node steps = number(step, (double)decay_steps);
    if (opts->cycle) {
        const hr_node started = hr_equal(step, number(step, 0));
        steps = hr_mul(steps, hr_where(started, number(step, 1), hr_ceil(hr_div(step, steps))));
    } else {
        step = hr_minimum(step, steps);
    }
    const hr_node left = hr_sub(number(step, 1), hr_div(step, steps));
    const hr_node power = number(step, opts->power ? (double)*opts->power : 1);
    return plus(times(hr_pow(left, power), (double)(learning_rate - (float)end)), end);
}

hr_node hr_piecewise_constant(hr_node step, const int64_t *boundaries, const float *values, int count)
{
    if (!step.graph) return step;
    if (count < 0 || !values || (count > 0 && !boundaries))
        return hr_node_fail(step.graph, HR_INVALID_ARGUMENT, "optimizer.parameter",
                            "piecewise_constant: expected boundaries, and one value more, got %d boundaries", count);
    step = hr_identity(step); /* a variable is read */
    hr_node value = number(step, (double)values[count]);
    for (int i = count - 1; i >= 0; i--) {
        if (i > 0 && boundaries[i] < boundaries[i - 1])
            return hr_node_fail(step.graph, HR_INVALID_ARGUMENT, "optimizer.parameter",
                                "piecewise_constant: expected boundaries that ascend, got %lld after %lld",
                                (long long)boundaries[i], (long long)boundaries[i - 1]);
        const hr_node bound = hr_scalar(step.graph, hr_node_dtype(step), (double)boundaries[i]);
        value = hr_where(hr_less_equal(step, bound), number(step, (double)values[i]), value);
    }
    return value;
}

/* (1 - alpha) (1 + cos(pi x)) / 2 + alpha */
static hr_node cosine(hr_node x, hr_node factor, double alpha)
{
    const hr_node wave = hr_mul(plus(hr_cos(times(x, PI)), 1), factor);
    return plus(times(wave, 1 - alpha), alpha);
}

hr_node hr_cosine_decay_with(float learning_rate, hr_node step, float decay_steps, const hr_cosine_decay_opts *opts)
{
    opts = &HR_OPTIONS(hr_cosine_decay_opts, opts);
    const double warmup = opts->warmup_target ? (double)opts->warmup_steps : 0;
    const double top = (double)(opts->warmup_target ? *opts->warmup_target : learning_rate);
    step = step_of(step);
    if (!step.graph) return step;
    const hr_node end = number(step, warmup + (double)decay_steps);
    const hr_node past = elapsed(plus(hr_minimum(step, end), -warmup), (double)decay_steps);
    const hr_node decayed = times(cosine(past, number(step, 0.5), (double)opts->alpha), top);
    if (warmup <= 0) return decayed;
    const hr_node rising = plus(times(elapsed(step, warmup), top - (double)learning_rate), (double)learning_rate);
    return hr_where(hr_less(step, number(step, warmup)), rising, decayed);
}

hr_node hr_cosine_decay_restarts_with(float learning_rate, hr_node step, float first_decay_steps,
                                      const hr_cosine_restarts_opts *opts)
{
    opts = &HR_OPTIONS(hr_cosine_restarts_opts, opts);
    const double t = opts->t_mul ? (double)*opts->t_mul : 2, m = opts->m_mul ? (double)*opts->m_mul : 1;
    step = step_of(step);
    if (!step.graph) return step;
    hr_node past = elapsed(step, (double)first_decay_steps), restarts;
    if (t == 1) {
        restarts = hr_floor(past);
        past = hr_sub(past, restarts);
    } else {
        const hr_node grown = hr_log(hr_sub(number(step, 1), times(past, 1 - t)));
        restarts = hr_floor(hr_div(grown, hr_log(number(step, t))));
        const hr_node length = hr_pow(number(step, t), restarts);
        past = hr_div(hr_sub(past, hr_div(hr_sub(number(step, 1), length), number(step, 1 - t))), length);
    }
    const hr_node factor = times(hr_pow(number(step, m), restarts), 0.5);
    return times(cosine(past, factor, (double)opts->alpha), (double)learning_rate);
}

hr_node hr_linear_cosine_decay_with(float learning_rate, hr_node step, float decay_steps,
                                    const hr_linear_cosine_opts *opts)
{
    opts = &HR_OPTIONS(hr_linear_cosine_opts, opts);
    const double periods = opts->num_periods ? (double)*opts->num_periods : 0.5;
    const double beta = opts->beta ? (double)*opts->beta : 0.001;
    step = step_of(step);
    if (!step.graph) return step;
    step = hr_minimum(step, number(step, (double)decay_steps));
    hr_node linear = elapsed(hr_sub(number(step, (double)decay_steps), step), (double)decay_steps);
    if (opts->initial_variance > 0) {
        const double fading = opts->variance_decay ? (double)*opts->variance_decay : 0.55;
        const hr_node spread =
            hr_sqrt(hr_div(number(step, (double)opts->initial_variance), hr_pow(plus(step, 1), number(step, fading))));
        linear = hr_add(linear, hr_mul(hr_normal_values(hr_shape_of(linear), HR_FLOAT, opts->seed), spread));
    }
    const hr_node past = elapsed(step, (double)decay_steps);
    const hr_node wave = times(plus(hr_cos(times(times(past, 2 * periods), PI)), 1), 0.5);
    return times(plus(hr_mul(plus(linear, (double)opts->alpha), wave), beta), (double)learning_rate);
}
