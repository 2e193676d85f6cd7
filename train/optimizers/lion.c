/* Lion: steps of equal size in the direction of the sign of a mean of gradients. Keras has it since 2.13. */
#include <headrace/optimizer.h>
#include <tgmath.h>

/* Slot: mean of gradients. Numbers: rate, beta1, beta2. */
HR_RULE(lion, 1, 0.5, {
    const T rate = p[0], beta1 = p[1], beta2 = p[2], rest1 = 1 - p[1], rest2 = 1 - p[2];
    for (int64_t i = 0; i < n; i++) {
        const T x = a[i] * beta1 + g[i] * rest1;
        w[i] -= x > 0 ? rate : x < 0 ? -rate : x * 0;
        a[i] = a[i] * beta2 + g[i] * rest2;
    }
})
static const hr_rule *const lion_rules[] = {&lion_rule, NULL};

HR_UPDATE(lion_dense, &lion_rule, .from = {2, 3, 4}, .grad = 5)

/* In TensorFlow a chain of element-wise ops. */
const hr_graph_op hr_graph_ops_lion[] = {
    HR_OWN_UPDATE_OP("KerasLion", "var:resource, m:resource, lr:float, beta1:float, beta2:float, grad:T", lion_dense),
    HR_GRAPH_OPS_END,
};

/* ---- the kind ---- */

enum { BETA1 = HR_OWN_PARAMETER, BETA2 };

static const char *const lion_parameters[] = {"learning_rate", "decay", "beta1", "beta2", NULL};
static const hr_parameter_spec lion_specs[] = {
    {"learning_rate", 0.0001, 0.0001, -HUGE_VAL, HUGE_VAL},
    {NULL, 0, 0, 0, 0},
    {NULL, 0.9, 0.9, HR_ABOVE_ZERO, 1},
    {NULL, 0.99, 0.99, 0, 1},
};

static const char *lion_title(const hr_optimizer *o)
{
    (void)o;
    return "Lion";
}

static int lion_slots(const hr_optimizer *o, const hr_slot **slot)
{
    static const hr_slot all[] = {{.name = "m"}};
    (void)o;
    *slot = all;
    return 1;
}

/* All rows move, so that a sparse gradient might as well be dense. */
static hr_node lion_update(hr_minimizer *t, const hr_minimize_target *v)
{
    return hr_new_node(t->g, "Headrace>KerasLion",
                       HR_INPUTS(v->variable, v->slot[0], hr_minimizer_float(t, HR_LEARNING_RATE),
                                 hr_minimizer_float(t, BETA1), hr_minimizer_float(t, BETA2), hr_minimizer_dense(v)));
}

const hr_optimizer_kind hr_optimizer_kind_lion = {
    .head = HR_OPTIMIZER_HEAD,
    .name = "lion",
    .parameters = lion_parameters,
    .parameter = lion_specs,
    .ops = hr_graph_ops_lion,
    .rules = lion_rules,
    .title = lion_title,
    .slots = lion_slots,
    .update = lion_update,
    .keras = true,
    .keras_only = true,
};

hr_optimizer *hr_lion_with(float learning_rate, const hr_lion_opts *opts)
{
    opts = &HR_OPTIONS(hr_lion_opts, opts);
    double beta1, beta2;
    const double rate = (double)learning_rate, decay = (double)opts->decay;
    const double *given[HR_MAX_PARAMETERS] = {&rate, &decay, hr_parameter_given(opts->beta1, &beta1),
                                              hr_parameter_given(opts->beta2, &beta2)};
    return hr_optimizer_new(&hr_optimizer_kind_lion, given, HR_OPTIMIZER_COMMON(opts));
}
