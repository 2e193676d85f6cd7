/* AdamW: Adam that decays weights by default. All but the decay is Adam's. */
#include <headrace/optimizer.h>
#include <math.h>

extern const hr_optimizer_kind hr_optimizer_kind_adam;

const hr_graph_op hr_graph_ops_adamw[] = {HR_GRAPH_OPS_END};
static const hr_rule *const adamw_rules[] = {NULL};

static const char *const adamw_parameters[] = {"learning_rate", "decay",   "beta1", "beta2",
                                               "epsilon",       "amsgrad", "lazy",  NULL};
static const hr_parameter_spec adamw_specs[] = {
    {"learning_rate", 0.001, 0.001, -HUGE_VAL, HUGE_VAL},
    {"decay", 0, 0, 0, HUGE_VAL},
    {"beta_1", 0.9, 0.9, 0, 1},
    {"beta_2", 0.999, 0.999, 0, 1},
    {NULL, 1e-7, 1e-8, 0, HUGE_VAL},
    {NULL, 0, 0, 0, 1},
    {NULL, 0, 0, 0, 1},
};

static const char *adamw_title(const hr_optimizer *o)
{
    (void)o;
    return "AdamW";
}

static int adamw_slots(const hr_optimizer *o, const hr_slot **slot) { return hr_optimizer_kind_adam.slots(o, slot); }

static void adamw_begin(hr_minimizer *t) { hr_optimizer_kind_adam.begin(t); }

static hr_node adamw_update(hr_minimizer *t, const hr_minimize_target *v)
{
    return hr_optimizer_kind_adam.update(t, v);
}

static int adamw_finish(hr_minimizer *t, hr_node *out) { return hr_optimizer_kind_adam.finish(t, out); }

static hr_status adamw_check(const hr_optimizer *o, hr_error *err) { return hr_optimizer_kind_adam.check(o, err); }

const hr_optimizer_kind hr_optimizer_kind_adamw = {
    .head = HR_OPTIMIZER_HEAD,
    .name = "adamw",
    .parameters = adamw_parameters,
    .parameter = adamw_specs,
    .ops = hr_graph_ops_adamw,
    .rules = adamw_rules,
    .title = adamw_title,
    .slots = adamw_slots,
    .begin = adamw_begin,
    .update = adamw_update,
    .finish = adamw_finish,
    .check = adamw_check,
    .keras = true,
    .weight_decay = 0.004,
};

hr_optimizer *hr_adamw_with(float learning_rate, float weight_decay, const hr_adam_opts *opts)
{
    opts = &HR_OPTIONS(hr_adam_opts, opts);
    double beta1, beta2, epsilon;
    const double rate = (double)learning_rate, decay = (double)opts->decay, amsgrad = opts->amsgrad, lazy = opts->lazy;
    hr_optimizer_common common = *HR_OPTIMIZER_COMMON(opts);
    common.weight_decay = (double)weight_decay;
    const double *given[HR_MAX_PARAMETERS] = {&rate,
                                              &decay,
                                              hr_parameter_given(opts->beta1, &beta1),
                                              hr_parameter_given(opts->beta2, &beta2),
                                              hr_parameter_given(opts->epsilon, &epsilon),
                                              &amsgrad,
                                              &lazy};
    return hr_optimizer_new(&hr_optimizer_kind_adamw, given, &common);
}
