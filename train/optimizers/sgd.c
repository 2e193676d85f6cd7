/* Gradient descent, plain or with momentum. A sparse gradient without momentum is subtracted slice by slice. */
#include "train/optimizers/kind.h"

#include <math.h>

enum { MOMENTUM = HR__OWN_PARAMETER, NESTEROV };

static const char *const names[] = {"learning_rate", "decay", "momentum", "nesterov", NULL};
static const hr__parameter parameters[] = {
    {"learning_rate", 0.01, 0.01, -HUGE_VAL, HUGE_VAL},
    {"decay", 0, 0, 0, HUGE_VAL},
    {"momentum", 0, 0, 0, 1},
    {NULL, 0, 0, 0, 1},
};

static const char *sgd_name(const hr_optimizer *o)
{
    if (!o->v1) return "SGD";
    return o->value[MOMENTUM] != 0 ? "Momentum" : "GradientDescent";
}

static int sgd_slots(const hr_optimizer *o, const hr__slot **slot)
{
    static const hr__slot all[] = {{"momentum", 0}};
    *slot = all;
    return o->value[MOMENTUM] != 0;
}

static hr_node plain(hr__training *t, const hr__target *v)
{
    hr_node rate = hr__number(t, v, HR__LEARNING_RATE);
    if (!hr__is_sparse(v))
        return hr_new_node(t->g, "ResourceApplyGradientDescent", HR_INPUTS(v->variable, rate, v->gradient.values));
    return hr_new_node(t->g, "Headrace>ResourceSparseApplyGradientDescent",
                       HR_INPUTS(v->variable, rate, v->gradient.values, v->gradient.indices));
}

static hr_node sgd_update(hr__training *t, const hr__target *v)
{
    const hr_optimizer *o = t->optimizer;
    if (o->value[MOMENTUM] == 0) return plain(t, v);
    const hr_attr nesterov = HR_BOOL_ATTR("use_nesterov", o->value[NESTEROV] != 0);
    hr_node rate = hr__number(t, v, HR__LEARNING_RATE), momentum = hr__number(t, v, MOMENTUM);
    if (!hr__is_sparse(v))
        return hr_new_node(t->g, o->v1 ? "ResourceApplyMomentum" : "ResourceApplyKerasMomentum",
                           HR_INPUTS(v->variable, v->slot[0], rate, v->gradient.values, momentum), HR_ATTRS(nesterov));
    return hr_new_node(t->g, o->v1 ? "ResourceSparseApplyMomentum" : "ResourceSparseApplyKerasMomentum",
                       HR_INPUTS(v->variable, v->slot[0], rate, v->gradient.values, v->gradient.indices, momentum),
                       HR_ATTRS(nesterov, HR_BOOL_ATTR("_sum_duplicates", true)));
}

const hr__optimizer_kind hr__optimizer_sgd = {
    .word = "sgd",
    .parameters = names,
    .parameter = parameters,
    .name = sgd_name,
    .slots = sgd_slots,
    .update = sgd_update,
};

hr_optimizer *hr_sgd_with(float learning_rate, const hr_sgd_opts *opts)
{
    opts = &HR_OPTIONS(hr_sgd_opts, opts);
    const double rate = (double)learning_rate, decay = (double)opts->decay, momentum = (double)opts->momentum,
                 nesterov = opts->nesterov;
    const double *given[HR__PARAMETERS] = {&rate, &decay, &momentum, &nesterov};
    return hr__optimizer_new(&hr__optimizer_sgd, given, opts->v1, opts->learning_rate_node);
}
