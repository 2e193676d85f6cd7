/* Ftrl-proximal, the usual optimizer of wide linear models. `beta` comes on top of l2: l2 + beta / (2 * learning
 * rate). */
#include "train/optimizers/kind.h"

#include <math.h>

enum { POWER = HR__OWN_PARAMETER, INITIAL_ACCUMULATOR_VALUE, L1, L2, L2_SHRINKAGE, BETA };

static const char *const names[] = {"learning_rate",
                                    "decay",
                                    "learning_rate_power",
                                    "initial_accumulator_value",
                                    "l1_regularization_strength",
                                    "l2_regularization_strength",
                                    "l2_shrinkage_regularization_strength",
                                    "beta",
                                    NULL};
static const hr__parameter parameters[] = {
    {"learning_rate", 0.001, 0.001, -HUGE_VAL, HUGE_VAL},
    {"decay", 0, 0, 0, HUGE_VAL},
    {"learning_rate_power", -0.5, -0.5, -HUGE_VAL, 0},
    {NULL, 0.1, 0.1, 0, HUGE_VAL},
    {"l1_regularization_strength", 0, 0, 0, HUGE_VAL},
    {"l2_regularization_strength", 0, 0, 0, HUGE_VAL},
    {NULL, 0, 0, 0, HUGE_VAL},
    {"beta", 0, 0, 0, HUGE_VAL},
};

static const char *ftrl_name(const hr_optimizer *o)
{
    (void)o;
    return "Ftrl";
}

static int ftrl_slots(const hr_optimizer *o, const hr__slot **slot)
{
    static const hr__slot all[] = {{"accumulator", INITIAL_ACCUMULATOR_VALUE}, {"linear", 0}};
    (void)o;
    *slot = all;
    return 2;
}

static hr_node adjusted_l2(hr__training *t, const hr__target *v, hr_node rate)
{
    const double *value = t->optimizer->value;
    hr_node l2 = hr__number(t, v, L2);
    if (value[BETA] == 0) return l2;
    /* v1 does this sum before it becomes float32. */
    if (t->optimizer->v1 && !t->optimizer->learning_rate_node.graph)
        return hr__in_type(hr_scalar(t->g, HR_FLOAT, value[L2] + value[BETA] / (2 * value[HR__LEARNING_RATE])), v);
    hr_node twice = hr_mul(hr_scalar(t->g, v->dtype, 2), rate);
    return hr_add(l2, hr_div(hr__number(t, v, BETA), twice));
}

static hr_node ftrl_update(hr__training *t, const hr__target *v)
{
    hr_node rate = hr__number(t, v, HR__LEARNING_RATE);
    hr_node in[10] = {v->variable, v->slot[0], v->slot[1], v->gradient.values};
    int n = 4;
    const bool shrinks = t->optimizer->value[L2_SHRINKAGE] > 0, sparse = hr__is_sparse(v);
    if (sparse) in[n++] = v->gradient.indices;
    in[n++] = rate;
    in[n++] = hr__number(t, v, L1);
    in[n++] = adjusted_l2(t, v, rate);
    if (shrinks) in[n++] = hr__number(t, v, L2_SHRINKAGE);
    in[n++] = hr__number(t, v, POWER);
    if (!sparse)
        return hr_new_node(t->g, shrinks ? "ResourceApplyFtrlV2" : "ResourceApplyFtrl", .inputs = in, .input_count = n);
    return hr_new_node(t->g, shrinks ? "ResourceSparseApplyFtrlV2" : "ResourceSparseApplyFtrl", .inputs = in,
                       .input_count = n, HR_ATTRS(HR_BOOL_ATTR("_sum_duplicates", true)));
}

const hr__optimizer_kind hr__optimizer_ftrl = {
    .word = "ftrl",
    .parameters = names,
    .parameter = parameters,
    .name = ftrl_name,
    .slots = ftrl_slots,
    .update = ftrl_update,
};

hr_optimizer *hr_ftrl_with(float learning_rate, const hr_ftrl_opts *opts)
{
    opts = &HR_OPTIONS(hr_ftrl_opts, opts);
    double power, initial;
    const double rate = (double)learning_rate, decay = (double)opts->decay,
                 l1 = (double)opts->l1_regularization_strength, l2 = (double)opts->l2_regularization_strength,
                 shrinkage = (double)opts->l2_shrinkage_regularization_strength, beta = (double)opts->beta;
    const double *given[HR__PARAMETERS] = {&rate,
                                           &decay,
                                           hr__given(opts->learning_rate_power, &power),
                                           hr__given(opts->initial_accumulator_value, &initial),
                                           &l1,
                                           &l2,
                                           &shrinkage,
                                           &beta};
    return hr__optimizer_new(&hr__optimizer_ftrl, given, opts->v1, opts->learning_rate_node);
}
