/* Adam. v1 keeps the powers of both betas in variables, multiplied after each step; v2 takes them from the
 * iterations. */
#include "train/optimizers/kind.h"

#include <math.h>
#include <stdio.h>

enum { BETA1 = HR__OWN_PARAMETER, BETA2, EPSILON };

static const char *const names[] = {"learning_rate", "decay", "beta1", "beta2", "epsilon", NULL};
static const hr__parameter parameters[] = {
    {"learning_rate", 0.001, 0.001, -HUGE_VAL, HUGE_VAL},
    {"decay", 0, 0, 0, HUGE_VAL},
    {"beta_1", 0.9, 0.9, 0, 1},
    {"beta_2", 0.999, 0.999, 0, 1},
    {NULL, 1e-7, 1e-8, 0, HUGE_VAL},
};

static const char *adam_name(const hr_optimizer *o)
{
    (void)o;
    return "Adam";
}

static int adam_slots(const hr_optimizer *o, const hr__slot **slot)
{
    static const hr__slot all[] = {{"m", 0}, {"v", 0}};
    (void)o;
    *slot = all;
    return 2;
}

/* "beta1_power", or what is free. */
static hr_node power_variable(hr__training *t, const char *base, double initial)
{
    char full[HR__SCOPE];
    snprintf(full, sizeof full, "%.400s%s", t->prefix, base);
    for (int i = 1; hr_variable_named(t->g, full); i++) snprintf(full, sizeof full, "%.400s%s_%d", t->prefix, base, i);
    return hr_get_variable(t->g, full, HR_FLOAT, HR_SCALAR, .initializer = hr_constant_value(initial),
                           .not_trainable = true);
}

static void adam_begin(hr__training *t)
{
    const double *value = t->optimizer->value;
    for (int i = 0; i < 2; i++) {
        if (t->optimizer->v1) {
            t->power_variable[i] = power_variable(t, i ? "beta2_power" : "beta1_power", value[BETA1 + i]);
            const hr_variable_info *info = hr_variable_of(t->power_variable[i]);
            t->power[i] = info ? info->read : t->power_variable[i];
        } else {
            hr_node step = hr_cast_to(hr_add(t->iterations, hr_scalar(t->g, HR_INT64, 1)), HR_FLOAT);
            t->power[i] = hr_pow(t->hyper[BETA1 + i], step);
        }
    }
}

static hr_node adam_update(hr__training *t, const hr__target *v)
{
    hr_node number[] = {hr__in_type(t->power[0], v), hr__in_type(t->power[1], v), hr__number(t, v, HR__LEARNING_RATE),
                        hr__number(t, v, BETA1),     hr__number(t, v, BETA2),     hr__number(t, v, EPSILON)};
#define NUMBERS number[0], number[1], number[2], number[3], number[4], number[5]
    if (!hr__is_sparse(v))
        return hr_new_node(t->g, "ResourceApplyAdam",
                           HR_INPUTS(v->variable, v->slot[0], v->slot[1], NUMBERS, v->gradient.values));
    return hr_new_node(
        t->g, "Headrace>ResourceSparseApplyAdam",
        HR_INPUTS(v->variable, v->slot[0], v->slot[1], NUMBERS, v->gradient.values, v->gradient.indices));
#undef NUMBERS
}

static int adam_finish(hr__training *t, hr_node *out)
{
    if (!t->optimizer->v1) return 0;
    for (int i = 0; i < 2; i++) {
        hr_node next = hr_mul(t->power[i], hr_scalar(t->g, HR_FLOAT, t->optimizer->value[BETA1 + i]));
        out[i] = hr_target(hr_assign(t->power_variable[i], next));
    }
    return 2;
}

const hr__optimizer_kind hr__optimizer_adam = {
    .word = "adam",
    .parameters = names,
    .parameter = parameters,
    .name = adam_name,
    .slots = adam_slots,
    .begin = adam_begin,
    .update = adam_update,
    .finish = adam_finish,
};

hr_optimizer *hr_adam_with(float learning_rate, const hr_adam_opts *opts)
{
    opts = &HR_OPTIONS(hr_adam_opts, opts);
    double beta1, beta2, epsilon;
    const double rate = (double)learning_rate, decay = (double)opts->decay;
    const double *given[HR__PARAMETERS] = {&rate, &decay, hr__given(opts->beta1, &beta1),
                                           hr__given(opts->beta2, &beta2), hr__given(opts->epsilon, &epsilon)};
    return hr__optimizer_new(&hr__optimizer_adam, given, opts->v1, opts->learning_rate_node);
}
