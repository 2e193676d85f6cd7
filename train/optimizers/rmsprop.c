/* RMSProp: divides by the root of a moving average of squared gradients; centered, of their variance. With momentum, and
 * in v1 and in Keras since 2.11 always, epsilon is below the root; legacy Keras without momentum adds it to the root. */
#include <headrace/optimizer.h>
#include <tgmath.h>

/* ---- rules; operations come in the order in which TensorFlow's kernels write them ---- */

/* Slots: squares, momentum. Numbers: rate, rho, momentum, epsilon. */
HR_RULE(rmsprop, 2, 0.9, {
    const T rate = p[0], rest = 1 - p[1], momentum = p[2], epsilon = p[3];
    for (int64_t i = 0; i < n; i++) {
        a[i] += (g[i] * g[i] - a[i]) * rest;
        b[i] = b[i] * momentum + g[i] * rate / sqrt(a[i] + epsilon);
        w[i] -= b[i];
    }
})

/* The same for rows of a sparse gradient, with the rounding of that kernel. */
HR_RULE(rmsprop_rows, 2, 0.9, {
    const T rate = p[0], rho = p[1], rest = 1 - p[1], momentum = p[2], epsilon = p[3];
    for (int64_t i = 0; i < n; i++) {
        a[i] = a[i] * rho + g[i] * g[i] * rest;
        b[i] = b[i] * momentum + 1 / sqrt(a[i] + epsilon) * rate * g[i];
        w[i] -= b[i];
    }
})

/* Slots: means, squares, momentum. */
HR_RULE(rmsprop_centered, 3, 1.2, {
    const T rate = p[0], rest = 1 - p[1], momentum = p[2], epsilon = p[3];
    for (int64_t i = 0; i < n; i++) {
        b[i] += (g[i] * g[i] - b[i]) * rest;
        a[i] += (g[i] - a[i]) * rest;
        c[i] = c[i] * momentum + g[i] * rate / sqrt(b[i] - a[i] * a[i] + epsilon);
        w[i] -= c[i];
    }
})

HR_RULE(rmsprop_centered_rows, 3, 1.2, {
    const T rate = p[0], rho = p[1], rest = 1 - p[1], momentum = p[2], epsilon = p[3];
    for (int64_t i = 0; i < n; i++) {
        b[i] = b[i] * rho + g[i] * g[i] * rest;
        a[i] = a[i] * rho + g[i] * rest;
        c[i] = c[i] * momentum + 1 / sqrt(b[i] + epsilon - a[i] * a[i]) * rate * g[i];
        w[i] -= c[i];
    }
})

/* Legacy Keras's without momentum. Slots: squares [, means]. Numbers: rate, rho, epsilon, sparse: the slots have decayed. */
HR_RULE(rmsprop_plain, 1, 0.8, {
    const T rate = p[0], rho = p[3] != 0 ? 1 : p[1], rest = 1 - p[1], epsilon = p[2];
    for (int64_t i = 0; i < n; i++) {
        a[i] = rho * a[i] + rest * (g[i] * g[i]);
        w[i] -= rate * g[i] / (sqrt(a[i]) + epsilon);
    }
})

HR_RULE(rmsprop_plain_centered, 2, 1, {
    const T rate = p[0], rho = p[3] != 0 ? 1 : p[1], rest = 1 - p[1], epsilon = p[2];
    for (int64_t i = 0; i < n; i++) {
        a[i] = rho * a[i] + rest * (g[i] * g[i]);
        b[i] = rho * b[i] + rest * g[i];
        w[i] -= rate * g[i] / (sqrt(a[i] - b[i] * b[i]) + epsilon);
    }
})

/* Of Keras since 2.11. Slots: squares [, means] [, momentum]. Numbers: rate, rho, epsilon, 1 - rho, momentum; where
 * slots have decayed, rho is 1. */
HR_RULE(keras_rmsprop, 1, 0.8, {
    const T rate = p[0], rho = p[1], epsilon = p[2], rest = p[3];
    for (int64_t i = 0; i < n; i++) {
        a[i] = rho * a[i] + rest * (g[i] * g[i]);
        w[i] -= rate * g[i] / sqrt(a[i] + epsilon);
    }
})
HR_RULE(keras_rmsprop_centered, 2, 1, {
    const T rate = p[0], rho = p[1], epsilon = p[2], rest = p[3];
    for (int64_t i = 0; i < n; i++) {
        a[i] = rho * a[i] + rest * (g[i] * g[i]);
        b[i] = rho * b[i] + rest * g[i];
        w[i] -= rate * g[i] / sqrt(a[i] - b[i] * b[i] + epsilon);
    }
})
HR_RULE(keras_rmsprop_momentum, 2, 1, {
    const T rate = p[0], rho = p[1], epsilon = p[2], rest = p[3], momentum = p[4];
    for (int64_t i = 0; i < n; i++) {
        a[i] = rho * a[i] + rest * (g[i] * g[i]);
        b[i] = momentum * b[i] + rate * g[i] / sqrt(a[i] + epsilon);
        w[i] -= b[i];
    }
})
HR_RULE(keras_rmsprop_centered_momentum, 3, 1.2, {
    const T rate = p[0], rho = p[1], epsilon = p[2], rest = p[3], momentum = p[4];
    for (int64_t i = 0; i < n; i++) {
        a[i] = rho * a[i] + rest * (g[i] * g[i]);
        b[i] = rho * b[i] + rest * g[i];
        c[i] = momentum * c[i] + rate * g[i] / sqrt(a[i] - b[i] * b[i] + epsilon);
        w[i] -= c[i];
    }
})

static const hr_rule *const rmsprop_rules[] = {&rmsprop_rule,
                                               &rmsprop_rows_rule,
                                               &rmsprop_centered_rule,
                                               &rmsprop_centered_rows_rule,
                                               &rmsprop_plain_rule,
                                               &rmsprop_plain_centered_rule,
                                               &keras_rmsprop_rule,
                                               &keras_rmsprop_centered_rule,
                                               &keras_rmsprop_momentum_rule,
                                               &keras_rmsprop_centered_momentum_rule,
                                               NULL};

/* ---- ops ---- */

/* Inputs: var, ms, mom, lr, rho, momentum, epsilon, grad [, indices]; centered: var, mg, ms, mom, lr, .... */
HR_UPDATE(rmsprop_dense, &rmsprop_rule, .from = {3, 4, 5, 6}, .grad = 7)
HR_UPDATE(rmsprop_sparse, &rmsprop_rows_rule, .from = {3, 4, 5, 6}, .grad = 7, .indices = 8)
HR_UPDATE(centered_dense, &rmsprop_centered_rule, .from = {4, 5, 6, 7}, .grad = 8)
HR_UPDATE(centered_sparse, &rmsprop_centered_rows_rule, .from = {4, 5, 6, 7}, .grad = 8, .indices = 9)
HR_UPDATE(plain_dense, &rmsprop_plain_rule, .from = {2, 3, 4}, .grad = 5)
HR_UPDATE(plain_sparse, &rmsprop_plain_rule, .from = {2, 3, 4}, .p = {[3] = 1}, .grad = 5, .indices = 6, .decays = {1})
HR_UPDATE(plain_centered_dense, &rmsprop_plain_centered_rule, .from = {3, 4, 5}, .grad = 6)
HR_UPDATE(plain_centered_sparse, &rmsprop_plain_centered_rule, .from = {3, 4, 5}, .p = {[3] = 1}, .grad = 6,
          .indices = 7, .decays = {1, 1})

/* Inputs: var, the rule's slots, lr, rho, momentum, epsilon, grad [, indices]. Without momentum, rows stay that have no
 * gradient, but their slots decay; with it the gradient is dense. */
static hr_status keras_rmsprop_run(hr_kernel *k, const hr_rule *rule, bool sparse, hr_error *err)
{
    const int at = rule->slots + 1;
    hr_update update = {rule, .from = {at, sparse ? 0 : at + 1, at + 3, 0, at + 2}, .grad = at + 4};
    double rho;
    HR_TRY(hr_update_number(k, at + 1, &rho, err));
    update.p[1] = 1;
    update.p[3] = 1 - rho;
    update.p[5] = rho;
    if (sparse) update.indices = at + 5;
    for (int slot = 0; slot < rule->slots && sparse; slot++) update.decays[slot] = 5;
    return hr_update_run(k, &update, err);
}

#define KERAS_RMSPROP(NAME, RULE, SPARSE)                                                                              \
    static hr_status NAME(hr_kernel *k, hr_error *err) { return keras_rmsprop_run(k, &RULE, SPARSE, err); }
KERAS_RMSPROP(keras_rmsprop_dense, keras_rmsprop_rule, false)
KERAS_RMSPROP(keras_rmsprop_sparse, keras_rmsprop_rule, true)
KERAS_RMSPROP(keras_centered_dense, keras_rmsprop_centered_rule, false)
KERAS_RMSPROP(keras_centered_sparse, keras_rmsprop_centered_rule, true)
KERAS_RMSPROP(keras_momentum_dense, keras_rmsprop_momentum_rule, false)
KERAS_RMSPROP(keras_centered_momentum_dense, keras_rmsprop_centered_momentum_rule, false)
#undef KERAS_RMSPROP

#define NUMBERS "lr:float, rho:double, momentum:double, epsilon:double, grad:T"
#define CENTERED_INPUTS "var:resource, velocity:resource, average_gradient:resource, "
const hr_graph_op hr_graph_ops_rmsprop[] = {
    HR_UPDATE_OPS("RMSProp", rmsprop_dense),
    HR_SPARSE_UPDATE_OPS("RMSProp", rmsprop_sparse),
    HR_UPDATE_OPS("CenteredRMSProp", centered_dense),
    HR_SPARSE_UPDATE_OPS("CenteredRMSProp", centered_sparse),
    /* In TensorFlow chains of element-wise ops and assignments. */
    HR_OWN_UPDATE_OP("ResourceApplyKerasRMSprop", "var:resource, ms:resource, lr:T, rho:T, epsilon:T, grad:T",
                     plain_dense),
    HR_OWN_SPARSE_UPDATE_OP("ResourceSparseApplyKerasRMSprop",
                            "var:resource, ms:resource, lr:T, rho:T, epsilon:T, grad:T, indices:Tindices",
                            plain_sparse),
    HR_OWN_UPDATE_OP("ResourceApplyKerasCenteredRMSprop",
                     "var:resource, ms:resource, mg:resource, lr:T, rho:T, epsilon:T, grad:T", plain_centered_dense),
    HR_OWN_SPARSE_UPDATE_OP("ResourceSparseApplyKerasCenteredRMSprop",
                            "var:resource, ms:resource, mg:resource, lr:T, rho:T, epsilon:T, grad:T, indices:Tindices",
                            plain_centered_sparse),
    /* Of Keras since 2.11. */
    HR_OWN_UPDATE_OP("KerasRMSprop", "var:resource, velocity:resource, " NUMBERS, keras_rmsprop_dense),
    HR_OWN_SPARSE_UPDATE_OP("SparseKerasRMSprop", "var:resource, velocity:resource, " NUMBERS ", indices:Tindices",
                            keras_rmsprop_sparse),
    HR_OWN_UPDATE_OP("KerasCenteredRMSprop", CENTERED_INPUTS NUMBERS, keras_centered_dense),
    HR_OWN_SPARSE_UPDATE_OP("SparseKerasCenteredRMSprop", CENTERED_INPUTS NUMBERS ", indices:Tindices",
                            keras_centered_sparse),
    HR_OWN_UPDATE_OP("KerasMomentumRMSprop", "var:resource, velocity:resource, mom:resource, " NUMBERS,
                     keras_momentum_dense),
    HR_OWN_UPDATE_OP("KerasCenteredMomentumRMSprop", CENTERED_INPUTS "mom:resource, " NUMBERS,
                     keras_centered_momentum_dense),
    HR_GRAPH_OPS_END,
};
#undef NUMBERS
#undef CENTERED_INPUTS

/* ---- the kind ---- */

enum { RHO = HR_OWN_PARAMETER, MOMENTUM, EPSILON, CENTERED };

static const char *const rmsprop_parameters[] = {"learning_rate", "decay",    "rho", "momentum",
                                                 "epsilon",       "centered", NULL};
static const hr_parameter_spec rmsprop_specs[] = {
    {"learning_rate", 0.001, 0.001, -HUGE_VAL, HUGE_VAL},
    {"decay", 0, 0, 0, HUGE_VAL},
    {"rho", 0.9, 0.9, 0, 1},
    {"momentum", 0, 0, 0, 1},
    {NULL, 1e-7, 1e-10, 0, HUGE_VAL},
    {NULL, 0, 0, 0, 1},
};

static const char *rmsprop_title(const hr_optimizer *o) { return hr_optimizer_is_v1(o) ? "RMSProp" : "RMSprop"; }

static int keras_rmsprop_slots(const hr_optimizer *o, const hr_slot **slot)
{
    static const hr_slot momentum[] = {
        {.name = "velocity"}, {.name = "momentum", .round = 1}, {.name = "average_gradient", .round = 2}};
    static const hr_slot plain[] = {{.name = "velocity"}, {.name = "average_gradient", .round = 1}};
    const bool moves = hr_optimizer_value(o, MOMENTUM) != 0;
    *slot = moves ? momentum : plain;
    return 1 + moves + (hr_optimizer_value(o, CENTERED) != 0);
}

/* Which slots there are, in the order in which they are made: v1's always have momentum, and begin with squares of 1. */
static int rmsprop_slots(const hr_optimizer *o, const hr_slot **slot)
{
    static const hr_slot v1[] = {{.name = "rms", .constant = 1}, {.name = "momentum"}};
    static const hr_slot v1_centered[] = {{.name = "rms", .constant = 1}, {.name = "mg"}, {.name = "momentum"}};
    static const hr_slot plain[] = {{.name = "rms"}, {.name = "mg"}};
    static const hr_slot keras[] = {{.name = "rms"}, {.name = "momentum"}, {.name = "mg"}};
    const bool centered = hr_optimizer_value(o, CENTERED) != 0;
    if (hr_optimizer_is_keras(o)) return keras_rmsprop_slots(o, slot);
    if (hr_optimizer_is_v1(o)) {
        *slot = centered ? v1_centered : v1;
        return centered ? 3 : 2;
    }
    const bool momentum = hr_optimizer_value(o, MOMENTUM) != 0;
    *slot = momentum ? keras : plain;
    return 1 + momentum + centered;
}

static hr_node rmsprop_node(hr_minimizer *t, const hr_minimize_target *v, const char *dense, const char *sparse,
                            hr_node *in, int n)
{
    in[n++] = v->gradient.values;
    if (!hr_target_is_sparse(v)) return hr_new_node(t->g, dense, .inputs = in, .input_count = n);
    in[n++] = v->gradient.indices;
    return hr_new_node(t->g, sparse, .inputs = in, .input_count = n, HR_ATTRS(HR_BOOL_ATTR("_sum_duplicates", true)));
}

static hr_node keras_rmsprop_update(hr_minimizer *t, const hr_minimize_target *v)
{
    const hr_optimizer *o = t->optimizer;
    const bool centered = hr_optimizer_value(o, CENTERED) != 0, momentum = hr_optimizer_value(o, MOMENTUM) != 0;
    hr_node in[10] = {v->variable, v->slot[0]};
    int n = 2;
    if (centered) in[n++] = v->slot[momentum ? 2 : 1];
    if (momentum) in[n++] = v->slot[1];
    in[n++] = hr_minimizer_float(t, HR_LEARNING_RATE);
    for (int i = RHO; i <= EPSILON; i++) in[n++] = hr_scalar(t->g, HR_DOUBLE, hr_optimizer_value(o, i));
    if (!momentum)
        return centered
                   ? rmsprop_node(t, v, "Headrace>KerasCenteredRMSprop", "Headrace>SparseKerasCenteredRMSprop", in, n)
                   : rmsprop_node(t, v, "Headrace>KerasRMSprop", "Headrace>SparseKerasRMSprop", in, n);
    in[n++] = hr_minimizer_dense(v);
    return hr_new_node(t->g, centered ? "Headrace>KerasCenteredMomentumRMSprop" : "Headrace>KerasMomentumRMSprop",
                       .inputs = in, .input_count = n);
}

static hr_node rmsprop_update(hr_minimizer *t, const hr_minimize_target *v)
{
    const hr_optimizer *o = t->optimizer;
    if (hr_optimizer_is_keras(o)) return keras_rmsprop_update(t, v);
    const bool v1 = hr_optimizer_is_v1(o), centered = hr_optimizer_value(o, CENTERED) != 0;
    const bool momentum = v1 || hr_optimizer_value(o, MOMENTUM) != 0;
    const hr_node rms = v->slot[0], mg = v->slot[v1 || !momentum ? 1 : 2], mom = v->slot[v1 && centered ? 2 : 1];
    hr_node in[10] = {v->variable};
    int n = 1;
    if (momentum && centered) in[n++] = mg;
    in[n++] = rms;
    if (!momentum && centered) in[n++] = mg;
    if (momentum) in[n++] = mom;
    in[n++] = hr_minimizer_number(t, v, HR_LEARNING_RATE);
    in[n++] = hr_minimizer_number(t, v, RHO);
    if (momentum) in[n++] = hr_minimizer_number(t, v, MOMENTUM);
    in[n++] = hr_minimizer_number(t, v, EPSILON);
    if (momentum)
        return centered
                   ? rmsprop_node(t, v, "ResourceApplyCenteredRMSProp", "ResourceSparseApplyCenteredRMSProp", in, n)
                   : rmsprop_node(t, v, "ResourceApplyRMSProp", "ResourceSparseApplyRMSProp", in, n);
    return centered ? rmsprop_node(t, v, "Headrace>ResourceApplyKerasCenteredRMSprop",
                                   "Headrace>ResourceSparseApplyKerasCenteredRMSprop", in, n)
                    : rmsprop_node(t, v, "Headrace>ResourceApplyKerasRMSprop",
                                   "Headrace>ResourceSparseApplyKerasRMSprop", in, n);
}

const hr_optimizer_kind hr_optimizer_kind_rmsprop = {
    .head = HR_OPTIMIZER_HEAD,
    .name = "rmsprop",
    .parameters = rmsprop_parameters,
    .parameter = rmsprop_specs,
    .ops = hr_graph_ops_rmsprop,
    .rules = rmsprop_rules,
    .title = rmsprop_title,
    .slots = rmsprop_slots,
    .update = rmsprop_update,
    .keras = true,
    .ema_overwrite_frequency = 100,
};

hr_optimizer *hr_rmsprop_with(float learning_rate, const hr_rmsprop_opts *opts)
{
    opts = &HR_OPTIONS(hr_rmsprop_opts, opts);
    double rho, epsilon;
    const double rate = (double)learning_rate, decay = (double)opts->decay, momentum = (double)opts->momentum,
                 centered = opts->centered;
    const double *given[HR_MAX_PARAMETERS] = {
        &rate,    &decay, hr_parameter_given(opts->rho, &rho), &momentum, hr_parameter_given(opts->epsilon, &epsilon),
        &centered};
    return hr_optimizer_new(&hr_optimizer_kind_rmsprop, given, HR_OPTIMIZER_COMMON(opts));
}
