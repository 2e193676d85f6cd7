/* What a model is trained and measured by: losses of outputs and their sum, metrics, the step of the optimizer. */
#include "train/layers/layers_internal.h"
#include "train/models/models_internal.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- labels and weights as they belong to predictions ---- */

/* Labels [n] beside outputs [n, k] are [n, 1], and of their type unless they are numbers of classes. */
static hr_node matched_labels(hr_node y, hr_node p, bool classes)
{
    if (hr_node_shape(y).rank == 1 && hr_node_shape(p).rank == 2)
        y = hr_expand_dims(y, hr_scalar(y.graph, HR_INT32, 1));
    const hr_dtype of = hr_node_dtype(y);
    return classes && (of == HR_INT32 || of == HR_INT64) ? y : hr_cast_to(y, hr_node_dtype(p));
}

/* The class of each label: a number, or the place of the greatest of several. */
static hr_node label_classes(hr_node y, hr_node p)
{
    const hr_shape shape = hr_node_shape(y);
    const bool one_hot = shape.rank > 1 && shape.dims[shape.rank - 1] > 1 && shape.rank == hr_node_shape(p).rank;
    if (one_hot) return hr_argmax(y, -1);
    if (shape.rank > 1 && shape.dims[shape.rank - 1] == 1) y = hr_squeeze(y, HR_I64(-1), 1);
    const hr_dtype of = hr_node_dtype(y);
    return hr_cast_to(of == HR_FLOAT || of == HR_DOUBLE ? hr_round(y) : y, HR_INT64);
}

/* Weights [n, 1] are [n]. */
static hr_node flat_weights(hr_node w)
{
    const hr_shape shape = hr_node_shape(w);
    w = hr_cast_to(w, HR_FLOAT);
    return shape.rank == 2 && shape.dims[1] == 1 ? hr_squeeze(w, HR_I64(-1), 1) : w;
}

static hr_node product(hr_node a, hr_node b) { return !a.graph ? b : !b.graph ? a : hr_mul(a, b); }

/* Weights [n] of values [n, steps] are [n, 1]. */
static hr_node spread(hr_node w, int rank)
{
    for (int r = hr_node_shape(w).rank; r < rank && r > 0; r++) w = hr_expand_dims(w, hr_scalar(w.graph, HR_INT32, -1));
    return w;
}

/* The weights of the rows of output `i`: of samples and of classes; no node: none. */
static hr_node row_weights(const hr__targets *t, int i, hr_node p)
{
    hr_node w = t->weight[i].graph ? flat_weights(t->weight[i]) : t->weight[i];
    if (!t->class_weights.graph) return w;
    hr_name_scope(p.graph, "class_weight"); /* the name of what a label without a weight fails in */
    hr_node of_class = hr_gather(t->class_weights, label_classes(t->label[i], p), 0);
    hr_scope_end(p.graph);
    const int rank = hr_node_shape(w).rank, own = hr_node_shape(of_class).rank;
    if (w.graph && rank < own) w = spread(w, own);
    if (w.graph && own < rank) of_class = spread(of_class, rank);
    return product(w, of_class);
}

/* `x` [n, 1] beside `like` [n, 3], labels beside outputs or the other way round, is spread over it, as Keras does. */
static hr_node spread_over(hr_node x, hr_node like)
{
    const hr_shape a = hr_node_shape(x), b = hr_node_shape(like);
    if (a.rank < 2 || a.rank != b.rank || a.dims[a.rank - 1] != 1 || b.dims[b.rank - 1] == 1) return x;
    return hr_add(x, hr_zeros_like(like));
}

/* Behind a sigmoid or softmax Keras's cross entropies use the logits, also where it is the one of the other kind; what
 * belongs together finds the loss itself. Gives these logits; no node: there are none. */
static hr_node foreign_logits(const char *function, hr_node p)
{
    const bool binary =
        strcmp(function, "binary_crossentropy") == 0 || strcmp(function, "binary_focal_crossentropy") == 0;
    const bool classes = strcmp(function, "categorical_crossentropy") == 0 ||
                         strcmp(function, "sparse_categorical_crossentropy") == 0 ||
                         strcmp(function, "categorical_focal_crossentropy") == 0;
    const bool foreign = (binary && hr_node_is(p, "Softmax")) || (classes && hr_node_is(p, "Sigmoid"));
    return foreign ? hr_node_input(p, 0) : (hr_node){0};
}

/* ---- losses ---- */

static bool loss_takes_classes(const hr__loss *l)
{
    const char *function = l->o.loss ? hr__keras_function(l->o.loss) : NULL;
    return l->o.fn || (function && strncmp(function, "sparse", 6) == 0);
}

static hr_status check_labels(hr_model *m, int i, const hr__loss *l, hr_node y, hr_node p, hr_error *err)
{
    const hr_shape a = hr_node_shape(y), b = hr_node_shape(p);
    char labels[128], outputs[128];
    const char *function = l->o.loss ? hr__keras_function(l->o.loss) : NULL;
    const bool sparse = function && strcmp(function, "sparse_categorical_crossentropy") == 0;
    bool sound = a.rank < 0 || b.rank < 0 || (sparse ? a.rank == b.rank || a.rank == b.rank - 1 : a.rank == b.rank);
    bool spreads = false; /* labels [n, 1] beside outputs [n, 3] */
    const int last = b.rank - 1;
    for (int k = 1; k < a.rank && k < b.rank && sound; k++) {
        const bool differ = a.dims[k] >= 0 && b.dims[k] >= 0 && a.dims[k] != b.dims[k];
        if (sparse && k == last && a.rank == b.rank)
            sound = a.dims[k] == 1 || a.dims[k] < 0;
        else if (differ && k == last && (a.dims[k] == 1 || b.dims[k] == 1) &&
                 !(function && strstr(function, "entropy")))
            spreads = true;
        else
            sound = !differ;
    }
    hr_shape_text(a, labels, sizeof labels);
    hr_shape_text(b, outputs, sizeof outputs);
    if (spreads && !m->compiled.tf_compat)
        hr_log_message(HR_WARNING,
                       "model '%s': labels %s of the output '%s' %s are spread over its values, as in Keras", m->name,
                       labels, m->output_names.at[i], outputs);
    if (sound || l->o.fn) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.labels",
                   "model '%.60s': output '%.60s' is %s, its labels are %s, which '%.40s' cannot compare%s", m->name,
                   m->output_names.at[i], outputs, labels, l->o.loss ? l->o.loss : "its loss",
                   function && strcmp(function, "categorical_crossentropy") == 0 && a.rank > 0 &&
                           a.dims[a.rank - 1] == 1
                       ? "; for numbers of classes there is \"sparse_categorical_crossentropy\""
                   : sparse ? "; for one number a class there is \"categorical_crossentropy\""
                            : "");
}

/* One weight for each row, or for each step of the output. */
static hr_status check_weights(const hr_model *m, int i, hr_node w, hr_node p, hr_error *err)
{
    const hr_shape a = hr_node_shape(w), b = hr_node_shape(p);
    char weights[128], outputs[128];
    bool sound = a.rank <= 1 || (a.rank == 2 && a.dims[1] == 1) || b.rank < 0 || a.rank < b.rank;
    for (int k = 1; k < a.rank && a.rank < b.rank; k++)
        sound &= a.dims[k] < 0 || a.dims[k] == 1 || b.dims[k] < 0 || a.dims[k] == b.dims[k];
    if (sound) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.sample_weight",
                   "model '%.60s': output '%.60s' is %s, its sample weights are %s; expected one for each row%s",
                   m->name, m->output_names.at[i], hr_shape_text(b, outputs, sizeof outputs),
                   hr_shape_text(a, weights, sizeof weights), b.rank > 2 ? ", or for each step" : "");
}

/* Steps that a mask leaves out count nothing, and the loss is divided by the number of the others. */
static hr_node mask_weights(hr_node mask)
{
    const hr_node counted = hr_cast_to(mask, HR_FLOAT);
    const hr_node total = hr_cast_to(hr_size_of(mask), HR_FLOAT);
    return hr_mul(counted, hr_div(total, hr_reduce_sum(counted)));
}

static hr_node output_loss(const hr__loss *l, hr_node y, hr__at at, hr_node weights)
{
    hr_keras_loss_opts o = l->o.options;
    const bool sum = o.reduction == HR_REDUCTION_SUM;
    if (at.mask.graph) {
        const hr_node mask = sum ? hr_cast_to(at.mask, HR_FLOAT) : mask_weights(at.mask);
        weights = weights.graph ? hr_mul(spread(weights, hr_node_shape(mask).rank), mask) : mask;
    }
    if (!o.reduction) o.reduction = HR_SUM_OVER_BATCH_SIZE;
    if (!l->o.fn) {
        o.logits = foreign_logits(hr__keras_function(l->o.loss), at.node);
        o.weights = weights.graph ? spread(weights, hr_node_shape(at.node).rank - 1) : weights;
        return hr_keras_loss_with(l->o.loss, y, at.node, &o);
    }
    const hr_node rows = l->o.fn(y, at.node, l->o.user);
    return hr_compute_weighted_loss(rows,
                                    .weights = weights.graph ? spread(weights, hr_node_shape(rows).rank) : weights,
                                    .reduction = o.reduction, .not_collected = true);
}

/* ---- metrics ---- */

/* "accuracy" and "crossentropy" are those of the labels and the output. */
static const char *metric_asked(const char *name, hr_node label, hr_node p)
{
    static const char *const accuracies[] = {"binary_accuracy", "sparse_categorical_accuracy", "categorical_accuracy"};
    static const char *const entropies[] = {"binary_crossentropy", "sparse_categorical_crossentropy",
                                            "categorical_crossentropy"};
    const hr_shape y = hr_node_shape(label), shape = hr_node_shape(p);
    const bool accuracy = hr__same_word(name, "accuracy") || strcmp(name, "acc") == 0;
    const bool entropy = strcmp(name, "crossentropy") == 0 || strcmp(name, "ce") == 0;
    if (!accuracy && !entropy) return name;
    const int64_t classes = shape.rank > 0 ? shape.dims[shape.rank - 1] : -1;
    const int which = classes == 1                                                                    ? 0
                      : y.rank < shape.rank || (y.rank > 0 && y.dims[y.rank - 1] == 1 && classes > 1) ? 1
                                                                                                      : 2;
    return (accuracy ? accuracies : entropies)[which];
}

hr__metric_at_fn *hr__metric_at(const char *name)
{
    static const struct {
        const char *name;
        hr__metric_at_fn *fn;
    } all[] = {
        {"sensitivity_at_specificity", hr_metric_sensitivity_at_specificity_with},
        {"specificity_at_sensitivity", hr_metric_specificity_at_sensitivity_with},
        {"precision_at_recall", hr_metric_precision_at_recall_with},
        {"recall_at_precision", hr_metric_recall_at_precision_with},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (hr__same_word(name, all[i].name)) return all[i].fn;
    return NULL;
}

static hr_node metric_node(const hr__metric *x, hr_node label, hr__at at, hr_node weights)
{
    hr_metric_opts o = x->o.options;
    const char *name = x->o.fn ? "" : metric_asked(x->o.metric, label, at.node);
    const bool classes = strncasecmp(name, "sparse", 6) == 0 || x->o.fn;
    hr_node y = matched_labels(label, at.node, classes);
    if (!classes) {
        const hr_node alone = y;
        y = spread_over(y, at.node);
        at.node = spread_over(at.node, alone);
    }
    char scope[320];
    size_t n = 0;
    for (const char *p = x->key; *p && n < sizeof scope - 1; p++) scope[n++] = *p == '/' || *p == ' ' ? '_' : *p;
    scope[n] = '\0';
    o.name = scope;
    hr_node w = x->o.weighted ? weights : (hr_node){0};
    if (at.mask.graph) w = product(spread(w, hr_node_shape(at.mask).rank), hr_cast_to(at.mask, HR_FLOAT));
    o.weights = w;
    if (x->o.fn) return x->o.fn(y, at.node, &o).update;
    if (hr__metric_at(x->o.metric)) return hr__metric_at(x->o.metric)(y, at.node, x->o.at, &o).update;
    const char *function = hr__keras_function(name);
    const hr_node logits = function ? foreign_logits(function, at.node) : (hr_node){0};
    if (logits.graph) {
        at.node = logits;
        o.from_logits = true;
    }
    return hr_metric_named(name)(y, at.node, &o).update;
}

static hr_node mean_of(const char *name, hr_node value, hr_node rows)
{
    return hr_metric_mean(value, .name = name, .weights = rows).update;
}

/* ---- together ---- */

static hr_node sum_of_collection(hr_graph *g, const char *name)
{
    int count;
    const hr_node *costs = hr_get_collection(g, name, &count);
    return count ? hr_add_n(costs, count) : (hr_node){0};
}

static hr_status add_output_losses(hr_model *m, hr__function *f, hr__at *at, hr__targets *t, hr_node *losses,
                                   hr_error *err)
{
    hr_name_scope(f->graph, "loss");
    for (int i = 0; i < m->outputs.count; i++) {
        const hr__loss *l = m->compiled.losses.at[i];
        if (!l) continue;
        const hr__at p = at[m->outputs.at[i]];
        const hr_node y = matched_labels(t->label[i], p.node, loss_takes_classes(l));
        HR_TRY(check_labels(m, i, l, y, p.node, err));
        if (t->weight[i].graph && !l->o.fn) HR_TRY(check_weights(m, i, t->weight[i], p.node, err));
        if (!m->compiled.tf_compat && l->o.options.from_logits &&
            (hr_node_is(p.node, "Softmax") || hr_node_is(p.node, "Sigmoid")))
            hr_log_message(HR_WARNING,
                           "model '%s': .from_logits, but the output '%s' is a %s of logits; its logits are used",
                           m->name, m->output_names.at[i], hr_node_op(p.node));
        const bool foreign = l->o.loss && foreign_logits(hr__keras_function(l->o.loss), p.node).graph;
        if (foreign && !m->compiled.tf_compat)
            hr_log_message(
                HR_WARNING,
                "model '%s': the output '%s' is a %s, which '%s' does not expect; its logits are used, as in "
                "Keras",
                m->name, m->output_names.at[i], hr_node_op(p.node), l->o.loss);
        losses[i] = output_loss(l, y, p, row_weights(t, i, p.node));
        const hr_node part =
            l->weight == 1 ? losses[i] : hr_mul(losses[i], hr_scalar_like(losses[i], (double)l->weight));
        t->loss = t->loss.graph ? hr_add(t->loss, part) : part;
    }
    const hr_node costs = sum_of_collection(f->graph, "regularization_losses");
    if (costs.graph) t->loss = t->loss.graph ? hr_add(t->loss, costs) : costs;
    hr_scope_end(f->graph);
    if (t->loss.graph) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "models.no_loss",
                   "model '%.60s': it has no loss to train for; give one by hr_compile(model, .loss = ..)", m->name);
}

static hr_status add_logs(hr_model *m, hr__function *f, hr__at *at, hr__targets *t, const hr_node *losses,
                          hr_error *err)
{
    const hr_node first = f->feeds.at[0];
    const hr_node rows = hr_cast_to(hr_gather(hr_shape_of(first), hr_scalar(f->graph, HR_INT32, 0), 0), HR_FLOAT);
    HR_TRY(hr__function_fetch(f, mean_of("loss", t->loss, rows), "loss", err));
    for (int i = 0; i < m->outputs.count && m->outputs.count > 1; i++) {
        char key[300];
        if (!losses[i].graph) continue;
        (void)snprintf(key, sizeof key, "%s_loss", m->output_names.at[i]);
        HR_TRY(hr__function_fetch(f, mean_of(key, losses[i], rows), key, err));
    }
    for (int k = 0; k < m->compiled.metrics.count; k++) {
        const hr__metric *x = m->compiled.metrics.at[k];
        const hr__at p = at[m->outputs.at[x->output]];
        const hr_node label = t->label[x->output];
        if (!label.graph)
            return hr_fail(err, HR_INVALID_ARGUMENT, "models.labels",
                           "model '%.60s': metric '%.60s': the data have no labels for the output '%.60s'", m->name,
                           x->key, m->output_names.at[x->output]);
        HR_TRY(hr__function_fetch(f, metric_node(x, label, p, row_weights(t, x->output, p.node)), x->key, err));
    }
    return HR_OK;
}

hr_status hr__add_losses(hr_model *m, hr__function *f, hr__at *at, hr__targets *t, hr_error *err)
{
    hr_node *losses = hr_calloc((size_t)m->outputs.count, sizeof *losses);
    hr_status st = losses ? HR_OK : hr_no_memory(err, "a loss");
    if (st == HR_OK) st = add_output_losses(m, f, at, t, losses, err);
    if (st == HR_OK) st = add_logs(m, f, at, t, losses, err);
    hr_free(losses);
    return st;
}

/* ---- the step ---- */

typedef struct trained {
    hr__function *f;
    HR__LIST(hr_node) variables;
    HR__LIST(const char *) titles;
    HR__LIST(hr_constraint) constraints;
} trained;

static hr_status trained_step(void *user, hr_layer *layer, hr__layer_variable *weight, bool frozen)
{
    trained *t = user;
    (void)frozen;
    const hr_variable_info *v = hr_variable_named(t->f->graph, weight->name);
    if (!v || !weight->trainable || layer->frozen_now || weight->maker->frozen_now) return HR_OK;
    hr_node *variable = HR__LIST_ADD(&t->variables);
    const char **title = HR__LIST_ADD(&t->titles);
    hr_constraint *constraint = HR__LIST_ADD(&t->constraints);
    if (!variable || !title || !constraint) return HR_RESOURCE_EXHAUSTED;
    *variable = v->handle;
    *title = weight->title;
    *constraint = weight->constraint;
    return HR_OK;
}

/* After the step, weights that have a limit are brought back to it. */
static hr_status add_constraints(hr__function *f, const trained *t, hr_node step, hr_error *err)
{
    hr_control_dependencies(f->graph, &step, 1);
    hr_status st = HR_OK;
    for (int i = 0; i < t->variables.count && st == HR_OK; i++) {
        const hr_constraint *c = &t->constraints.at[i];
        const hr_variable_info *v = hr_variable_of(t->variables.at[i]);
        if (!c->apply) continue;
        const hr_node value =
            hr_new_node(f->graph, "ReadVariableOp", HR_INPUTS(v->handle), HR_ATTRS(HR_TYPE_ATTR("dtype", v->dtype)));
        st = hr__function_fetch(f, hr_target(hr_assign(v->handle, c->apply(c, value))), NULL, err);
    }
    hr_control_end(f->graph);
    return st;
}

/* The optimizer's step; with a schedule its rate is a node of the number of steps. */
static hr_node optimizer_step(hr_model *m, hr__function *f, hr_node loss, const trained *t)
{
    hr_minimize_opts o = {.struct_size = sizeof o,
                          .var_list = t->variables.at,
                          .var_count = t->variables.count,
                          .variables = &f->optimizer};
    hr_optimizer *optimizer = hr_optimizer_ref(m->compiled.optimizer);
    if (m->compiled.schedule) {
        o.global_step = hr_get_variable(f->graph, "optimizer/iteration", HR_INT64, HR_SCALAR, .initializer = hr_zeros(),
                                        .not_trainable = true);
        f->rate = m->compiled.schedule(hr_identity(o.global_step), m->compiled.schedule_user);
        optimizer = hr_optimizer_with_rate(optimizer, f->rate);
    }
    const hr_node step = hr_minimize_with(optimizer, loss, &o);
    if (!m->compiled.schedule) f->rate = f->optimizer.learning_rate;
    for (int i = 0; i < f->optimizer.count && !f->averages.graph; i++)
        if (strcmp(f->optimizer.slot[i].name, "average") == 0)
            f->averages = hr_overwrite_with_averages(f->graph, &f->optimizer);
    return hr_target(step);
}

/* "Adam/m/outer/dense/kernel" of the weight "outer/dense/kernel" is called "Adam/m/dense/kernel". */
static char *slot_title(const char *name, const char *weight, const char *title)
{
    const char *at = strstr(name, weight);
    if (!at) return hr_strdup(name);
    const size_t size = strlen(name) + strlen(title) + 1;
    char *made = hr_malloc(size);
    if (made) (void)snprintf(made, size, "%.*s%s%s", (int)(at - name), name, title, at + strlen(weight));
    return made;
}

static hr_status add_slot_titles(hr__function *f, const trained *t)
{
    for (int i = 0; i < f->optimizer.count; i++) {
        const hr_node weight = f->optimizer.slot[i].weight;
        const hr_variable_info *slot = hr_variable_of(f->optimizer.slot[i].variable), *of = hr_variable_of(weight);
        if (!slot || !of) return HR_OK; /* the graph has the error */
        int k = 0;
        while (k < t->variables.count - 1 && t->variables.at[k].id != weight.id) k++;
        char **title = HR__LIST_ADD(&f->slot_titles);
        if (title) *title = slot_title(slot->name, of->name, t->titles.at[k]);
        if (!title || !*title) return HR_RESOURCE_EXHAUSTED;
    }
    return HR_OK;
}

hr_status hr__add_training(hr_model *m, hr__function *f, hr_node loss, hr_error *err)
{
    trained t = {.f = f};
    hr_status st = hr__each_weight(m, trained_step, &t);
    if (st == HR_OK && t.variables.count > 0) {
        const hr_node step = optimizer_step(m, f, loss, &t);
        st = hr__function_fetch(f, step, NULL, err);
        if (st == HR_OK) st = add_constraints(f, &t, step, err);
        if (st == HR_OK) st = add_slot_titles(f, &t);
    }
    if (st == HR_RESOURCE_EXHAUSTED) st = hr_no_memory(err, "a model");
    hr_free(t.variables.at);
    hr_free(t.titles.at);
    hr_free(t.constraints.at);
    return st;
}
