/* Adadelta: the rate of each value follows from the squares of its gradients and of its own changes. */
#include <headrace/optimizer.h>
#include <tgmath.h>

/* Slots: squares of gradients, squares of changes. Numbers: rate, rho, epsilon. */
HR_RULE(adadelta, 2, 1.4, {
    const T rate = p[0], rho = p[1], rest = 1 - p[1], epsilon = p[2];
    for (int64_t i = 0; i < n; i++) {
        a[i] = a[i] * rho + g[i] * g[i] * rest;
        const T change = sqrt(b[i] + epsilon) * (1 / sqrt(a[i] + epsilon)) * g[i];
        w[i] -= change * rate;
        b[i] = b[i] * rho + change * change * rest;
    }
})

/* Of Keras since 2.11. Numbers: rate, rho, 1 - rho, epsilon. */
HR_RULE(keras_adadelta, 2, 1.4, {
    const T rate = p[0], rho = p[1], rest = p[2], epsilon = p[3];
    for (int64_t i = 0; i < n; i++) {
        a[i] = rho * a[i] + rest * g[i] * g[i];
        const T change = -sqrt(b[i] + epsilon) * g[i] / sqrt(a[i] + epsilon);
        b[i] = rho * b[i] + rest * change * change;
        w[i] += rate * change;
    }
})
static const hr_rule *const adadelta_rules[] = {&adadelta_rule, &keras_adadelta_rule, NULL};

/* Inputs: var, accum, accum_update, lr, rho, epsilon, grad [, indices]. */
HR_UPDATE(adadelta_dense, &adadelta_rule, .from = {3, 4, 5}, .grad = 6)
HR_UPDATE(adadelta_sparse, &adadelta_rule, .from = {3, 4, 5}, .grad = 6, .indices = 7)

static hr_status keras_adadelta_dense(hr_kernel *k, hr_error *err)
{
    hr_update update = {&keras_adadelta_rule, .from = {3, 4, 0, 5}, .grad = 6};
    double rho;
    HR_TRY(hr_update_number(k, 4, &rho, err));
    update.p[2] = 1 - rho;
    return hr_update_run(k, &update, err);
}

const hr_graph_op hr_graph_ops_adadelta[] = {
    HR_UPDATE_OPS("Adadelta", adadelta_dense),
    HR_SPARSE_UPDATE_OPS("Adadelta", adadelta_sparse),
    HR_OWN_UPDATE_OP(
        "KerasAdadelta",
        "var:resource, accum:resource, accum_update:resource, lr:float, rho:double, epsilon:double, grad:T",
        keras_adadelta_dense),
    HR_GRAPH_OPS_END,
};

/* ---- the kind ---- */

enum { RHO = HR_OWN_PARAMETER, EPSILON };

static const char *const adadelta_parameters[] = {"learning_rate", "decay", "rho", "epsilon", NULL};
static const hr_parameter_spec adadelta_specs[] = {
    {"learning_rate", 0.001, 0.001, -HUGE_VAL, HUGE_VAL},
    {"decay", 0, 0, 0, HUGE_VAL},
    {"rho", 0.95, 0.95, 0, 1},
    {NULL, 1e-7, 1e-8, 0, HUGE_VAL},
};

static const char *adadelta_title(const hr_optimizer *o)
{
    (void)o;
    return "Adadelta";
}

static int adadelta_slots(const hr_optimizer *o, const hr_slot **slot)
{
    static const hr_slot all[] = {{.name = "accum_grad"}, {.name = "accum_var"}};
    static const hr_slot keras[] = {{.name = "accumulated_grad"}, {.name = "accumulated_delta_var"}};
    *slot = hr_optimizer_is_keras(o) ? keras : all;
    return 2;
}

/* Slots of all rows decay, so that a sparse gradient might as well be dense. */
static hr_node keras_adadelta_update(hr_minimizer *t, const hr_minimize_target *v)
{
    const hr_node rho = hr_scalar(t->g, HR_DOUBLE, hr_optimizer_value(t->optimizer, RHO));
    const hr_node epsilon = hr_scalar(t->g, HR_DOUBLE, hr_optimizer_value(t->optimizer, EPSILON));
    return hr_new_node(t->g, "Headrace>KerasAdadelta",
                       HR_INPUTS(v->variable, v->slot[0], v->slot[1], hr_minimizer_float(t, HR_LEARNING_RATE), rho,
                                 epsilon, hr_minimizer_dense(v)));
}

static hr_node adadelta_update(hr_minimizer *t, const hr_minimize_target *v)
{
    if (hr_optimizer_is_keras(t->optimizer)) return keras_adadelta_update(t, v);
    const hr_node rate = hr_minimizer_number(t, v, HR_LEARNING_RATE), rho = hr_minimizer_number(t, v, RHO);
    const hr_node epsilon = hr_minimizer_number(t, v, EPSILON), grad = v->gradient.values;
    if (!hr_target_is_sparse(v))
        return hr_new_node(t->g, "ResourceApplyAdadelta",
                           HR_INPUTS(v->variable, v->slot[0], v->slot[1], rate, rho, epsilon, grad));
    return hr_new_node(t->g, "ResourceSparseApplyAdadelta",
                       HR_INPUTS(v->variable, v->slot[0], v->slot[1], rate, rho, epsilon, grad, v->gradient.indices),
                       HR_ATTRS(HR_BOOL_ATTR("_sum_duplicates", true)));
}

const hr_optimizer_kind hr_optimizer_kind_adadelta = {
    .head = HR_OPTIMIZER_HEAD,
    .name = "adadelta",
    .parameters = adadelta_parameters,
    .parameter = adadelta_specs,
    .ops = hr_graph_ops_adadelta,
    .rules = adadelta_rules,
    .title = adadelta_title,
    .slots = adadelta_slots,
    .update = adadelta_update,
    .keras = true,
};

hr_optimizer *hr_adadelta_with(float learning_rate, const hr_adadelta_opts *opts)
{
    opts = &HR_OPTIONS(hr_adadelta_opts, opts);
    double rho, epsilon;
    const double rate = (double)learning_rate, decay = (double)opts->decay;
    const double *given[HR_MAX_PARAMETERS] = {&rate, &decay, hr_parameter_given(opts->rho, &rho),
                                              hr_parameter_given(opts->epsilon, &epsilon)};
    return hr_optimizer_new(&hr_optimizer_kind_adadelta, given, HR_OPTIMIZER_COMMON(opts));
}
