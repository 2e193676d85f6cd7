/* Adagrad: each value's rate falls with the sum of its squared gradients. */
#include "train/optimizers/kind.h"

#include <math.h>

enum { INITIAL_ACCUMULATOR_VALUE = HR__OWN_PARAMETER, EPSILON };

static const char *const names[] = {"learning_rate", "decay", "initial_accumulator_value", "epsilon", NULL};
static const hr__parameter parameters[] = {
    {"learning_rate", 0.001, 0.001, -HUGE_VAL, HUGE_VAL},
    {"decay", 0, 0, 0, HUGE_VAL},
    {NULL, 0.1, 0.1, 0, HUGE_VAL},
    {NULL, 1e-7, 0, 0, HUGE_VAL},
};

static const char *adagrad_name(const hr_optimizer *o)
{
    (void)o;
    return "Adagrad";
}

static int adagrad_slots(const hr_optimizer *o, const hr__slot **slot)
{
    static const hr__slot all[] = {{"accumulator", INITIAL_ACCUMULATOR_VALUE}};
    (void)o;
    *slot = all;
    return 1;
}

static hr_node update_v1(hr__training *t, const hr__target *v)
{
    hr_node rate = hr__number(t, v, HR__LEARNING_RATE);
    if (!hr__is_sparse(v))
        return hr_new_node(t->g, "ResourceApplyAdagrad", HR_INPUTS(v->variable, v->slot[0], rate, v->gradient.values));
    return hr_new_node(t->g, "ResourceSparseApplyAdagrad",
                       HR_INPUTS(v->variable, v->slot[0], rate, v->gradient.values, v->gradient.indices),
                       HR_ATTRS(HR_BOOL_ATTR("_sum_duplicates", true)));
}

static hr_node adagrad_update(hr__training *t, const hr__target *v)
{
    if (t->optimizer->v1) return update_v1(t, v);
    hr_node rate = hr__number(t, v, HR__LEARNING_RATE), epsilon = hr__number(t, v, EPSILON);
    if (!hr__is_sparse(v))
        return hr_new_node(t->g, "ResourceApplyAdagradV2",
                           HR_INPUTS(v->variable, v->slot[0], rate, epsilon, v->gradient.values));
    return hr_new_node(t->g, "ResourceSparseApplyAdagradV2",
                       HR_INPUTS(v->variable, v->slot[0], rate, epsilon, v->gradient.values, v->gradient.indices),
                       HR_ATTRS(HR_BOOL_ATTR("_sum_duplicates", true)));
}

const hr__optimizer_kind hr__optimizer_adagrad = {
    .word = "adagrad",
    .parameters = names,
    .parameter = parameters,
    .name = adagrad_name,
    .slots = adagrad_slots,
    .update = adagrad_update,
};

hr_optimizer *hr_adagrad_with(float learning_rate, const hr_adagrad_opts *opts)
{
    opts = &HR_OPTIONS(hr_adagrad_opts, opts);
    double initial, epsilon;
    const double rate = (double)learning_rate, decay = (double)opts->decay;
    const double *given[HR__PARAMETERS] = {&rate, &decay, hr__given(opts->initial_accumulator_value, &initial),
                                           hr__given(opts->epsilon, &epsilon)};
    return hr__optimizer_new(&hr__optimizer_adagrad, given, opts->v1, opts->learning_rate_node);
}
