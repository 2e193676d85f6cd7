/* A kind of optimizer as a program of its own would add it, by the installed headers alone: signs of a moving average of
 * the gradients, m = beta m + (1 - beta) g, w -= rate sign(m); with dense and sparse gradients. */
#include <headrace/optimizer.h>
#include <math.h>

enum { BETA = HR_OWN_PARAMETER };

/* Numbers: rate, beta. */
HR_RULE(signs, 1, 0.4, {
    const T rate = p[0], beta = p[1];
    for (int64_t i = 0; i < n; i++) {
        a[i] = beta * a[i] + (1 - beta) * g[i];
        w[i] -= a[i] > 0 ? rate : a[i] < 0 ? -rate : 0;
    }
})
static const hr_rule *const signs_rules[] = {&signs_rule, NULL};

static hr_status signs_compute(hr_kernel *k, hr_error *err)
{
    hr_update update = {&signs_rule, .grad = 4, .indices = k->inputs > 5 ? 5 : 0};
    for (int i = 0; i < 2; i++) HR_TRY(hr_update_number(k, 2 + i, &update.p[i], err));
    return hr_update_run(k, &update, err);
}

const hr_graph_op outside_signs_ops[] = {
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Outside>ApplySigns",
        .inputs = "var:resource, m:resource, rate:T, beta:T, grad:T",
        .attrs = "T:floats",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .compute = signs_compute,
    },
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Outside>SparseApplySigns",
        .inputs = "var:resource, m:resource, rate:T, beta:T, grad:T, indices:Tindices",
        .attrs = "T:floats; Tindices:indices; _sum_duplicates:bool=true",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .compute = signs_compute,
    },
    HR_GRAPH_OPS_END,
};

static const char *signs_title(const hr_optimizer *o)
{
    (void)o;
    return "Signs";
}

static int signs_slots(const hr_optimizer *o, const hr_slot **slot)
{
    static const hr_slot all[] = {{.name = "m"}};
    (void)o;
    *slot = all;
    return 1;
}

static hr_node signs_update(hr_minimizer *t, const hr_minimize_target *v)
{
    const bool sparse = hr_target_is_sparse(v);
    const hr_node in[] = {v->variable,
                          v->slot[0],
                          hr_minimizer_number(t, v, HR_LEARNING_RATE),
                          hr_minimizer_number(t, v, BETA),
                          v->gradient.values,
                          v->gradient.indices};
    return hr_new_node(t->g, sparse ? "Outside>SparseApplySigns" : "Outside>ApplySigns", .inputs = in,
                       .input_count = sparse ? 6 : 5);
}

static const char *const signs_parameters[] = {"learning_rate", "decay", "beta", NULL};
static const hr_parameter_spec signs_specs[] = {
    {"learning_rate", 0.01, 0.01, 0, HUGE_VAL},
    {"decay", 0, 0, 0, HUGE_VAL},
    {NULL, 0.5, 0.5, 0, 1},
};

const hr_optimizer_kind outside_signs = {
    .head = HR_OPTIMIZER_HEAD,
    .name = "signs",
    .parameters = signs_parameters,
    .parameter = signs_specs,
    .ops = outside_signs_ops,
    .rules = signs_rules,
    .title = signs_title,
    .slots = signs_slots,
    .update = signs_update,
};

hr_optimizer *outside_signs_new(double rate)
{
    const double *given[HR_MAX_PARAMETERS] = {&rate};
    return hr_optimizer_new(&outside_signs, given, NULL);
}
