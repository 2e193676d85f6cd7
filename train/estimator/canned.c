/* Canned estimators: a network, a head, and an optimizer for each half. */
#include "train/estimator/networks.h"
#include <headrace/heads.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct canned {
    network net;
    hr_head *head;
    hr_optimizer *linear_optimizer, *dnn_optimizer; /* a baseline's is the linear one */
    hr_optimizer_fn *linear_optimizer_fn, *dnn_optimizer_fn;
    void *optimizer_user;
} canned;

/* The options that all models of columns have in common: their structs begin with these. */
typedef struct canned_opts {
    size_t struct_size;
    HR_CANNED_OPTIONS
} canned_opts;

typedef struct more_opts {
    HR_CANNED_MORE_OPTIONS
} more_opts;

/* ---- the model function ---- */

/* TensorFlow 1 cuts the name of a slot by the length of its scope from that of a variable in pieces. */
static const char *slot_scope(const network *net)
{
    if (net->combined || net->baseline) return NULL;
    return net->dnn ? "t_0" : "part_0";
}

/* Variables of the optimizer itself, for example the powers of Adam. TensorFlow counts a scope for each part of a head
 * before its own. */
static const char *name_prefix(const network *net)
{
    if (!net->v1) return net->training_scope;
    if (net->combined || net->baseline) return "head";
    return net->dnn ? "dnn/head" : "linear/head";
}

/* A reference. */
static hr_optimizer *optimizer_of(const canned *c, bool dnn, hr_graph *g)
{
    hr_optimizer_fn *fn = dnn ? c->dnn_optimizer_fn : c->linear_optimizer_fn;
    if (fn) return fn(g, c->optimizer_user);
    return hr_optimizer_ref(dnn ? c->dnn_optimizer : c->linear_optimizer);
}

static hr_node minimize_part(const network *net, hr_optimizer *optimizer, hr_node loss, const char *scope, hr_node step)
{
    return hr_minimize(optimizer, loss, .var_scope = scope, .global_step = step, .name_prefix = name_prefix(net),
                       .slot_scope = slot_scope(net));
}

/* Both halves move by the same gradients; the step is counted once, by the first. The averages of batch normalization
 * move with them. */
static void add_train_op(const hr_model_call *call, const canned *c, hr_node loss)
{
    const network *net = &c->net;
    hr_node part[3], step = hr_global_step(call->graph), none = {0};
    int parts = 0, updates;
    if (net->baseline) part[parts++] = minimize_part(net, optimizer_of(c, false, call->graph), loss, "baseline", step);
    if (net->dnn) part[parts++] = minimize_part(net, optimizer_of(c, true, call->graph), loss, "dnn", step);
    if (net->linear)
        part[parts++] = minimize_part(net, optimizer_of(c, false, call->graph), loss, "linear", net->dnn ? none : step);
    const hr_node *update = hr_get_collection(call->graph, "update_ops", &updates);
    if (updates > 0) part[parts++] = hr_group(call->graph, update, updates, "update_ops");
    hr_spec_train_op(call->spec, parts == 1 ? part[0] : hr_group(call->graph, part, parts, "train_op"));
}

static hr_status canned_fn(const hr_model_call *call, void *user, hr_error *err)
{
    canned *c = user;
    (void)err;
    const hr_node logits = hr__network_logits(&c->net, call, hr_head_logits_dimension(c->head));
    const hr_node loss = hr_head_build(c->head, call, logits);
    if (call->mode == HR_MODE_TRAIN) add_train_op(call, c, loss);
    return HR_OK;
}

static hr_dataset *transform(hr_dataset *ds, void *user)
{
    const canned *c = user;
    return hr__columns_input(ds, c->net.all, c->head);
}

/* ---- making ---- */

static void free_canned(void *user)
{
    canned *c = user;
    if (!c) return;
    hr__columns_free(&c->net.linear_columns);
    hr__columns_free(&c->net.dnn_columns);
    hr_free((void *)c->net.all.column);
    hr_free(c->net.units);
    hr_head_free(c->head);
    hr_optimizer_free(c->linear_optimizer);
    hr_optimizer_free(c->dnn_optimizer);
    hr_free(c);
}

static hr_optimizer *default_linear(const network *net)
{
    if (!net->combined) return hr_ftrl(0.2f, .v1 = net->v1);
    const float rate = net->linear_columns.count ? 1 / sqrtf((float)net->linear_columns.count) : 0.005f;
    return hr_ftrl(rate < 0.005f ? rate : 0.005f, .v1 = net->v1);
}

static hr_optimizer *default_dnn(const network *net)
{
    return hr_adagrad(net->v1 && !net->combined ? 0.05f : 0.001f, .v1 = net->v1);
}

/* What the options lack; an estimator that has them says so at its first use. */
static const char *what_lacks(const canned_opts *o, bool linear, bool dnn)
{
    if ((linear && o->linear_feature_columns.count && !o->linear_feature_columns.column) ||
        (dnn && o->dnn_feature_columns.count && !o->dnn_feature_columns.column) ||
        (dnn && o->dnn_hidden_units.count && !o->dnn_hidden_units.units))
        return "arrays of columns and hidden units, got NULL with a count above 0";
    if (linear && dnn && !o->linear_feature_columns.count && !o->dnn_feature_columns.count)
        return "linear_feature_columns or dnn_feature_columns, got none";
    return NULL;
}

/* False: no memory. */
static bool fill_network(network *net, const canned_opts *o, bool linear, bool dnn)
{
    *net = (network){.combined = linear && dnn,
                     .v1 = o->v1,
                     .batch_norm = o->batch_norm,
                     .dropout = o->dnn_dropout,
                     .activation = o->dnn_activation_fn ? o->dnn_activation_fn : hr_relu_fn,
                     .combiner = o->sparse_combiner ? *o->sparse_combiner : HR_SUM,
                     .hidden = o->dnn_hidden_units.count};
    net->linear = linear && (!dnn || o->linear_feature_columns.count);
    net->dnn = dnn && (!linear || o->dnn_feature_columns.count);
    net->units = hr_memdup(o->dnn_hidden_units.units, sizeof *net->units * (size_t)net->hidden);
    return net->units && (!linear || hr__columns_copy(o->linear_feature_columns, &net->linear_columns)) &&
           (!dnn || hr__columns_copy(o->dnn_feature_columns, &net->dnn_columns)) &&
           hr__columns_join(net->linear_columns, net->dnn_columns, &net->all);
}

static void name_training_scope(network *net, const hr_head *head)
{
    int parts = 0;
    if (head) hr__head_parts(head, &parts);
    snprintf(net->training_scope, sizeof net->training_scope, parts ? "training_%d" : "training", parts);
}

/* Takes the head. What is wrong with it, or `lacks`, is found at the first use. */
static hr_estimator *estimator_of(canned *c, const char *model_dir, const hr_run_config *config,
                                  const hr_warm_start_settings *warm, const char *lacks, hr_head *head)
{
    hr_estimator_opts opts = {.struct_size = sizeof opts,
                              .model_dir = model_dir,
                              .config = *config,
                              .user_free = free_canned,
                              .prepare = c->net.baseline ? NULL : transform,
                              .warm_start_from = warm};
    c->head = head;
    name_training_scope(&c->net, head);
    hr_estimator *e = hr_estimator_new_with(canned_fn, c, &opts);
    if (!e) return NULL;
    e->columns = c->net.all;
    e->sees_no_features = c->net.baseline;
    e->v1_names = c->net.v1 && !c->net.baseline;
    hr__estimator_refuse(e, lacks, head);
    return e;
}

/* `given` begins with the common options. Takes the head. */
static hr_estimator *new_canned(const void *given, more_opts more, hr_head *head, bool linear, bool dnn)
{
    canned_opts usable, *o = &usable;
    memcpy(o, given, sizeof usable);
    const char *lacks = what_lacks(o, linear, dnn);
    if (lacks) {
        o->linear_feature_columns = o->dnn_feature_columns = (hr_column_list){0};
        o->dnn_hidden_units = (hr_units){0};
    }
    canned *c = hr_calloc(1, sizeof *c);
    if (!c) {
        hr_optimizer_free(o->linear_optimizer);
        hr_optimizer_free(o->dnn_optimizer);
        hr_head_free(head);
        return NULL;
    }
    c->linear_optimizer = o->linear_optimizer;
    c->dnn_optimizer = o->dnn_optimizer;
    c->linear_optimizer_fn = o->linear_optimizer_fn;
    c->dnn_optimizer_fn = o->dnn_optimizer_fn;
    c->optimizer_user = o->optimizer_user;
    if (!fill_network(&c->net, o, linear, dnn)) {
        hr_head_free(head);
        free_canned(c);
        return NULL;
    }
    if (c->net.linear && !c->linear_optimizer) c->linear_optimizer = default_linear(&c->net);
    if (c->net.dnn && !c->dnn_optimizer) c->dnn_optimizer = default_dnn(&c->net);
    c->net.forgets_shared = more.tf_compat && dnn && !o->v1;
    return estimator_of(c, o->model_dir, &o->config, more.warm_start_from, lacks, head);
}

/* ---- with a head of labels ---- */

static hr_estimator *new_classifier(const hr_classifier_opts *given, bool linear, bool dnn)
{
    const hr_classifier_opts o = HR_OPTIONS(hr_classifier_opts, given);
    const hr_head_opts head = {.struct_size = sizeof head,
                               .weight_column = o.weight_column,
                               .label_vocabulary = o.label_vocabulary,
                               .loss_reduction = o.loss_reduction,
                               .v1 = o.v1};
    const bool binary = o.n_classes == 0 || o.n_classes == 2;
    return new_canned(&o, (more_opts){o.warm_start_from, o.tf_compat},
                      binary ? hr_binary_class_head_with(&head) : hr_multi_class_head_with(o.n_classes, &head), linear,
                      dnn);
}

hr_estimator *hr_linear_classifier_with(const hr_classifier_opts *o) { return new_classifier(o, true, false); }
hr_estimator *hr_dnn_classifier_with(const hr_classifier_opts *o) { return new_classifier(o, false, true); }
hr_estimator *hr_dnn_linear_combined_classifier_with(const hr_classifier_opts *o)
{
    return new_classifier(o, true, true);
}

static hr_estimator *new_regressor(const hr_regressor_opts *given, bool linear, bool dnn)
{
    const hr_regressor_opts o = HR_OPTIONS(hr_regressor_opts, given);
    hr_head *head = hr_regression_head(.weight_column = o.weight_column, .label_dimension = o.label_dimension,
                                       .loss_reduction = o.loss_reduction, .v1 = o.v1);
    return new_canned(&o, (more_opts){o.warm_start_from, o.tf_compat}, head, linear, dnn);
}

hr_estimator *hr_linear_regressor_with(const hr_regressor_opts *o) { return new_regressor(o, true, false); }
hr_estimator *hr_dnn_regressor_with(const hr_regressor_opts *o) { return new_regressor(o, false, true); }
hr_estimator *hr_dnn_linear_combined_regressor_with(const hr_regressor_opts *o) { return new_regressor(o, true, true); }

static hr_estimator *with_head(const hr_head_estimator_opts *given, bool linear, bool dnn)
{
    const hr_head_estimator_opts o = HR_OPTIONS(hr_head_estimator_opts, given);
    return new_canned(&o, (more_opts){o.warm_start_from, o.tf_compat}, o.head, linear, dnn);
}

hr_estimator *hr_linear_estimator_with(const hr_head_estimator_opts *o) { return with_head(o, true, false); }
hr_estimator *hr_dnn_estimator_with(const hr_head_estimator_opts *o) { return with_head(o, false, true); }
hr_estimator *hr_dnn_linear_combined_estimator_with(const hr_head_estimator_opts *o)
{
    return with_head(o, true, true);
}

hr_estimator *hr_baseline_estimator_with(const hr_baseline_opts *given)
{
    const hr_baseline_opts o = HR_OPTIONS(hr_baseline_opts, given);
    canned *c = hr_calloc(1, sizeof *c);
    if (!c) {
        hr_optimizer_free(o.optimizer);
        hr_head_free(o.head);
        return NULL;
    }
    c->net = (network){.baseline = true, .v1 = o.v1};
    c->linear_optimizer = o.optimizer ? o.optimizer : hr_ftrl(0.3f, .v1 = o.v1);
    return estimator_of(c, o.model_dir, &o.config, o.warm_start_from, NULL, o.head);
}

/* ---- as a file names them ---- */

/* A baseline by the options of the other models. */
static hr_estimator *baseline_of(const hr_head_estimator_opts *o)
{
    hr_optimizer_free(o->dnn_optimizer);
    return hr_baseline_estimator(.model_dir = o->model_dir, .head = o->head, .optimizer = o->linear_optimizer,
                                 .v1 = o->v1, .config = o->config, .warm_start_from = o->warm_start_from);
}

#define CANNED(of, suffix, kind, fn, ...)                                                                              \
    const hr__canned hr__canned_##of##_##suffix = {.name = #of "_" #suffix, .head = kind, .make = fn, __VA_ARGS__};
#define CANNED_ALL(of, fn, ...)                                                                                        \
    CANNED(of, classifier, "class", fn, __VA_ARGS__)                                                                   \
    CANNED(of, regressor, "regression", fn, __VA_ARGS__)                                                               \
    CANNED(of, estimator, NULL, fn, __VA_ARGS__)
CANNED_ALL(linear, hr_linear_estimator_with, .linear = true)
CANNED_ALL(dnn, hr_dnn_estimator_with, .dnn = true)
CANNED_ALL(dnn_linear_combined, hr_dnn_linear_combined_estimator_with, .linear = true, .dnn = true)
CANNED_ALL(baseline, baseline_of, .baseline = true)

/* ---- by name ---- */

static const hr__canned *const listed[] = {
#define HR_ESTIMATOR(name) &hr__canned_##name,
#include "train/estimator/estimators.def"
#undef HR_ESTIMATOR
};
enum { LISTED = sizeof listed / sizeof *listed };

const char *hr_estimator_name_at(int i) { return i >= 0 && i < LISTED ? listed[i]->name : NULL; }

const hr__canned *hr__canned_named(const char *name)
{
    for (int i = 0; i < LISTED; i++)
        if (strcmp(listed[i]->name, name) == 0) return listed[i];
    return NULL;
}
