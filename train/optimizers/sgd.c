/* Gradient descent, plain or with momentum. A sparse gradient without momentum is subtracted slice by slice. */
#include <headrace/optimizer.h>
#include <tgmath.h>

/* ---- rules; operations come in the order in which TensorFlow's kernels write them ---- */

/* Numbers: rate. */
HR_RULE(descent, 0, 0.2, {
    const T rate = p[0];
    for (int64_t i = 0; i < n; i++) w[i] -= g[i] * rate;
})

/* Numbers: rate, momentum, nesterov (0 or 1). */
HR_RULE(momentum, 1, 0.3, {
    const T rate = p[0], momentum = p[1];
    if (p[2] != 0) {
        for (int64_t i = 0; i < n; i++) {
            a[i] = a[i] * momentum + g[i];
            w[i] -= g[i] * rate + a[i] * momentum * rate;
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        a[i] = a[i] * momentum + g[i];
        w[i] -= a[i] * rate;
    }
})

/* The same numbers. The slot keeps the rate, too. */
HR_RULE(keras_momentum, 1, 0.3, {
    const T rate = p[0], momentum = p[1];
    if (p[2] != 0) {
        for (int64_t i = 0; i < n; i++) {
            a[i] = a[i] * momentum - g[i] * rate;
            w[i] += a[i] * momentum - g[i] * rate;
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        a[i] = a[i] * momentum - g[i] * rate;
        w[i] += a[i];
    }
})

/* Rows of a sparse gradient, of a slot that has decayed everywhere; then everything moves by the slot. */
HR_RULE(momentum_add, 1, 0.3, {
    const T rate = p[0];
    for (int64_t i = 0; i < n; i++) a[i] -= g[i] * rate;
    if (p[2] != 0)
        for (int64_t i = 0; i < n; i++) w[i] -= g[i] * rate;
})
HR_RULE(momentum_move, 1, 0.2, {
    const T share = p[2] != 0 ? p[1] : 1;
    for (int64_t i = 0; i < n; i++) w[i] += a[i] * share;
})

static const hr_rule *const sgd_rules[] = {&descent_rule,      &momentum_rule,      &keras_momentum_rule,
                                           &momentum_add_rule, &momentum_move_rule, NULL};

/* ---- ops ---- */

HR_UPDATE(descent_dense, &descent_rule, .from = {1}, .grad = 2)
HR_UPDATE(descent_sparse, &descent_rule, .from = {1}, .grad = 2, .indices = 3)
HR_UPDATE(momentum_dense, &momentum_rule, .from = {2, 4}, .grad = 3, .flag = "use_nesterov", .flag_to = 2)
HR_UPDATE(momentum_sparse, &momentum_rule, .from = {2, 5}, .grad = 3, .indices = 4, .flag = "use_nesterov",
          .flag_to = 2)
HR_UPDATE(keras_dense, &keras_momentum_rule, .from = {2, 4}, .grad = 3, .flag = "use_nesterov", .flag_to = 2)
HR_UPDATE(keras_sparse, &keras_momentum_rule, .from = {2, 5}, .grad = 3, .indices = 4, .flag = "use_nesterov",
          .flag_to = 2)

HR_UPDATE(keras_all_rows, &momentum_add_rule, .from = {2, 5}, .grad = 3, .indices = 4, .flag = "use_nesterov",
          .flag_to = 2, .decays = {1}, .sweep = &momentum_move_rule)

const hr_graph_op hr_graph_ops_sgd[] = {
    HR_UPDATE_OPS("GradientDescent", descent_dense),
    HR_UPDATE_OPS("Momentum", momentum_dense),
    HR_SPARSE_UPDATE_OPS("Momentum", momentum_sparse),
    HR_UPDATE_OP("ResourceApplyKerasMomentum", keras_dense),
    HR_SPARSE_UPDATE_OP("ResourceSparseApplyKerasMomentum", keras_sparse),
    /* TensorFlow takes ResourceScatterAdd of -alpha * delta: one more pass over the rows. */
    HR_OWN_SPARSE_UPDATE_OP("ResourceSparseApplyGradientDescent", "var:resource, alpha:T, delta:T, indices:Tindices",
                            descent_sparse),
    /* Of Keras since 2.11, where rows go on moving; a chain of assignments and scatters. */
    {
        .head = HR_GRAPH_OP_HEAD,
        .name = "Headrace>SparseKerasSGD",
        .inputs = "var:resource, accum:resource, lr:T, grad:T, indices:Tindices, momentum:T",
        .attrs = "T:floats; Tindices:indices; use_nesterov:bool=false; _sum_duplicates:bool=false",
        .traits = HR_STATEFUL | HR_NO_GRADIENT,
        .compute = keras_all_rows,
    },
    HR_GRAPH_OPS_END,
};

/* ---- the kind ---- */

enum { MOMENTUM = HR_OWN_PARAMETER, NESTEROV };

static const char *const sgd_parameters[] = {"learning_rate", "decay", "momentum", "nesterov", NULL};
static const hr_parameter_spec sgd_specs[] = {
    {"learning_rate", 0.01, 0.01, -HUGE_VAL, HUGE_VAL},
    {"decay", 0, 0, 0, HUGE_VAL},
    {"momentum", 0, 0, 0, 1},
    {NULL, 0, 0, 0, 1},
};

static const char *sgd_title(const hr_optimizer *o)
{
    if (!hr_optimizer_is_v1(o)) return "SGD";
    return hr_optimizer_value(o, MOMENTUM) != 0 ? "Momentum" : "GradientDescent";
}

static int sgd_slots(const hr_optimizer *o, const hr_slot **slot)
{
    static const hr_slot all[] = {{.name = "momentum"}}, keras[] = {{.name = "m"}};
    *slot = hr_optimizer_is_keras(o) ? keras : all;
    return hr_optimizer_is_keras(o) || hr_optimizer_value(o, MOMENTUM) != 0;
}

static hr_node plain(hr_minimizer *t, const hr_minimize_target *v)
{
    hr_node rate = hr_minimizer_number(t, v, HR_LEARNING_RATE);
    if (!hr_target_is_sparse(v))
        return hr_new_node(t->g, "ResourceApplyGradientDescent", HR_INPUTS(v->variable, rate, v->gradient.values));
    return hr_new_node(t->g, "Headrace>ResourceSparseApplyGradientDescent",
                       HR_INPUTS(v->variable, rate, v->gradient.values, v->gradient.indices));
}

static hr_node sgd_update(hr_minimizer *t, const hr_minimize_target *v)
{
    const hr_optimizer *o = t->optimizer;
    const bool keras = hr_optimizer_is_keras(o);
    if (hr_optimizer_value(o, MOMENTUM) == 0 && !keras) return plain(t, v);
    const hr_attr nesterov = HR_BOOL_ATTR("use_nesterov", hr_optimizer_value(o, NESTEROV) != 0);
    const hr_node rate = hr_minimizer_number(t, v, HR_LEARNING_RATE);
    const hr_node momentum =
        keras ? hr_minimizer_cast(hr_minimizer_float(t, MOMENTUM), v) : hr_minimizer_number(t, v, MOMENTUM);
    if (!hr_target_is_sparse(v))
        return hr_new_node(t->g, hr_optimizer_is_v1(o) ? "ResourceApplyMomentum" : "ResourceApplyKerasMomentum",
                           HR_INPUTS(v->variable, v->slot[0], rate, v->gradient.values, momentum), HR_ATTRS(nesterov));
    return hr_new_node(t->g,
                       keras                   ? "Headrace>SparseKerasSGD"
                       : hr_optimizer_is_v1(o) ? "ResourceSparseApplyMomentum"
                                               : "ResourceSparseApplyKerasMomentum",
                       HR_INPUTS(v->variable, v->slot[0], rate, v->gradient.values, v->gradient.indices, momentum),
                       HR_ATTRS(nesterov, HR_BOOL_ATTR("_sum_duplicates", true)));
}

const hr_optimizer_kind hr_optimizer_kind_sgd = {
    .head = HR_OPTIMIZER_HEAD,
    .name = "sgd",
    .parameters = sgd_parameters,
    .parameter = sgd_specs,
    .ops = hr_graph_ops_sgd,
    .rules = sgd_rules,
    .title = sgd_title,
    .slots = sgd_slots,
    .update = sgd_update,
    .keras = true,
};

hr_optimizer *hr_sgd_with(float learning_rate, const hr_sgd_opts *opts)
{
    opts = &HR_OPTIONS(hr_sgd_opts, opts);
    const double rate = (double)learning_rate, decay = (double)opts->decay, momentum = (double)opts->momentum,
                 nesterov = opts->nesterov;
    const double *given[HR_MAX_PARAMETERS] = {&rate, &decay, &momentum, &nesterov};
    return hr_optimizer_new(&hr_optimizer_kind_sgd, given, HR_OPTIMIZER_COMMON(opts));
}
