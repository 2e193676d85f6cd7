/* LinearClassifier, DNNClassifier, DNNLinearCombinedClassifier: logits from columns, a binary head, an optimizer for
 * each half. Variables are named as TensorFlow 2's canned estimators name them. */
#include "train/estimator/estimator_internal.h"
#include "base/cast.h"
#include <headrace/graph_op.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_LAYERS = 24 }; /* summaries are written of so many */

typedef struct classifier {
    hr_column_list linear, dnn, all; /* own references; `all` is both, and borrows */
    int64_t *units;
    int hidden;
    hr_optimizer *linear_optimizer, *dnn_optimizer;
    hr_activation_fn *activation;
    float dropout;
    hr_reduction reduction;
    bool has_linear, has_dnn;
    struct {
        char fraction[64], activation[64];
    } layer[MAX_LAYERS +
            2]; /* tags of summaries: they live as long as any graph; logits and the linear half come last */
} classifier;

/* ---- logits ---- */

static hr_node zero_fraction(hr_node x) { return hr_reduce_mean(hr_cast_to(hr_equal(x, hr_zeros_like(x)), HR_FLOAT)); }

static void summarise_layer(const hr_model_call *call, classifier *c, int i, const char *scope, hr_node layer)
{
    if (call->mode != HR_MODE_TRAIN) return;
    snprintf(c->layer[i].fraction, sizeof c->layer[i].fraction, "%s/fraction_of_zero_values", scope);
    snprintf(c->layer[i].activation, sizeof c->layer[i].activation, "%s/activation", scope);
    hr_spec_summary(call->spec, c->layer[i].fraction, zero_fraction(layer), false);
    hr_spec_summary(call->spec, c->layer[i].activation, layer, true);
}

/* Of all weights of the linear model together. */
static void summarise_weights(const hr_model_call *call)
{
    static const char scope[] = "linear/linear_model/", bias[] = "linear/linear_model/bias_weights";
    hr_graph *g = call->graph;
    hr_node zeros = hr_scalar(g, HR_FLOAT, 0);
    int64_t count = 0;
    for (int i = 0; i < hr_graph_variables(g); i++) {
        const hr_variable_info *v = hr_graph_variable(g, i);
        if (strncmp(v->name, scope, sizeof scope - 1) != 0 || strcmp(v->name, bias) == 0) continue;
        zeros = hr_add(zeros, hr_reduce_sum(hr_cast_to(hr_equal(v->read, hr_zeros_like(v->read)), HR_FLOAT)));
        count += hr_shape_count(v->shape);
    }
    const hr_variable_info *b = hr_variable_named(g, bias);
    if (b) hr_spec_summary(call->spec, "bias", hr_reduce_sum(b->read), false);
    if (count)
        hr_spec_summary(call->spec, "fraction_of_zero_weights", hr_div(zeros, hr_scalar(g, HR_FLOAT, (double)count)),
                        false);
}

static hr_node dnn_logits(const hr_model_call *call, classifier *c)
{
    hr_graph *g = call->graph;
    hr_variable_scope(g, "dnn");
    hr_variable_scope(g, "input_from_feature_columns");
    hr_node net = hr_input_layer(call->features, c->dnn);
    hr_scope_end(g);
    for (int i = 0; i < c->hidden; i++) {
        char name[32], scope[40];
        snprintf(name, sizeof name, "hiddenlayer_%d", i);
        snprintf(scope, sizeof scope, "dnn/%s", name);
        net = hr_dense(net, c->units[i], .name = name, .activation = c->activation);
        if (c->dropout > 0 && call->mode == HR_MODE_TRAIN) net = hr_dropout(net, c->dropout);
        if (i < MAX_LAYERS) summarise_layer(call, c, i, scope, net);
    }
    hr_node logits = hr_dense(net, 1, .name = "logits");
    summarise_layer(call, c, MAX_LAYERS, "dnn/logits", logits);
    hr_scope_end(g);
    return logits;
}

static hr_node linear_logits(const hr_model_call *call, classifier *c)
{
    hr_variable_scope(call->graph, "linear");
    hr_node logits = hr_linear_model(call->features, c->linear);
    hr_scope_end(call->graph);
    if (c->has_dnn)
        summarise_layer(call, c, MAX_LAYERS + 1, "linear", logits);
    else if (call->mode == HR_MODE_TRAIN)
        summarise_weights(call);
    return logits;
}

/* ---- the binary head ---- */

/* [n, 2] of the two values, for a batch of n. */
static hr_node for_each_row(hr_node pair, hr_node batch)
{
    hr_graph *g = pair.graph;
    const int32_t one = 1, zero = 0;
    hr_tensor first = hr_tensor_of(HR_INT32, HR_SHAPE(1), &zero), size = hr_tensor_of(HR_INT32, HR_SHAPE(1), &one);
    hr_node rows = hr_slice(hr_shape_of(batch), hr_const(g, &first), hr_const(g, &size));
    hr_node times[] = {rows, hr_const(g, &size)};
    return hr_tile(hr_expand_dims(pair, hr_scalar(g, HR_INT32, 0)), hr_concat(times, 2, 0));
}

static void add_predictions(const hr_model_call *call, hr_node logits, hr_node logistic)
{
    hr_graph *g = call->graph;
    const hr_view names[] = {{"0", 1}, {"1", 1}};
    const int32_t ids[] = {0, 1};
    hr_tensor name = hr_tensor_of(HR_STRING, HR_SHAPE(2), names), id = hr_tensor_of(HR_INT32, HR_SHAPE(2), ids);
    hr_node both[] = {hr_zeros_like(logits), logits}, class_names = hr_const(g, &name);
    hr_node probabilities = hr_softmax(hr_concat(both, 2, 1), .name = "probabilities");
    hr_node class_ids = hr_expand_dims(hr_argmax(probabilities, 1), hr_scalar(g, HR_INT32, 1), .name = "class_ids");
    hr_spec_prediction(call->spec, "logits", logits);
    hr_spec_prediction(call->spec, "logistic", logistic);
    hr_spec_prediction(call->spec, "probabilities", probabilities);
    hr_spec_prediction(call->spec, "class_ids", class_ids);
    hr_spec_prediction(call->spec, "classes", hr_gather(class_names, class_ids, 0));
    hr_spec_prediction(call->spec, "all_class_ids", for_each_row(hr_const(g, &id), logits));
    hr_spec_prediction(call->spec, "all_classes", for_each_row(class_names, logits));
}

static void add_metrics(const hr_model_call *call, hr_node labels, hr_node losses, hr_node logistic)
{
    hr_estimator_spec *s = call->spec;
    hr_node positive = hr_cast_to(hr_greater(logistic, hr_scalar_like(logistic, 0.5)), HR_FLOAT);
    hr_metric label_mean = hr_metric_mean(labels, .name = "label/mean");
    hr_node one = hr_scalar_like(labels, 1);
    hr_metric baseline = {hr_maximum(label_mean.value, hr_sub(one, label_mean.value)), label_mean.update};
    hr_spec_metric(s, "average_loss", hr_metric_mean(losses, .name = "average_loss"));
    hr_spec_metric(s, "accuracy", hr_metric_accuracy(labels, positive, .name = "accuracy"));
    hr_spec_metric(s, "accuracy_baseline", baseline);
    hr_spec_metric(s, "label/mean", label_mean);
    hr_spec_metric(s, "prediction/mean", hr_metric_mean(logistic, .name = "prediction/mean"));
    hr_spec_metric(s, "precision",
                   hr_metric_precision(labels, logistic, .threshold = HR_F32(0.5f), .name = "precision"));
    hr_spec_metric(s, "recall", hr_metric_recall(labels, logistic, .threshold = HR_F32(0.5f), .name = "recall"));
    hr_spec_metric(s, "auc", hr_metric_auc(labels, logistic, .keras = true, .name = "auc"));
    hr_spec_metric(s, "auc_precision_recall",
                   hr_metric_auc(labels, logistic, .keras = true, .curve = HR_PR, .summation = HR_CAREFUL_INTERPOLATION,
                                 .name = "auc_precision_recall"));
}

static hr_node labels_of(const hr_model_call *call, hr_node logits)
{
    hr_node label = hr_label(call->features);
    if (!hr_node_exists(label))
        return hr_node_fail(call->graph, HR_INVALID_ARGUMENT, "estimator.label",
                            "classifier: expected a label among the components, found none; say which feature is the "
                            "label where records are parsed");
    if (hr_node_dtype(label) == HR_STRING)
        return hr_node_fail(call->graph, HR_INVALID_ARGUMENT, "estimator.label",
                            "classifier: expected numbers from 0 to 1 as labels, but label '%.60s' is a string",
                            hr_node_name(label));
    return hr_reshape(hr_cast_to(label, HR_FLOAT), hr_shape_of(logits));
}

/* An integer that int64 does not hold is no number here. */
static double label_value(const hr_tensor *t, int64_t i)
{
    int64_t whole;
    if (t->dtype == HR_FLOAT) return (double)((const float *)t->data)[i];
    if (t->dtype == HR_DOUBLE) return ((const double *)t->data)[i];
    return hr__integer_of(t->data, t->dtype, i, &whole) ? (double)whole : NAN;
}

/* As TensorFlow's binary head: with any other label the loss would fall without an end. */
static hr_status check_labels(const hr_element *element, int64_t *row, hr_error *err)
{
    const hr_schema *schema = hr_element_schema(element);
    int field = 0;
    while (field < schema->fields && !schema->field[field].label) field++;
    if (field == schema->fields) return HR_OK;

    const hr_tensor *t = hr_get_at(element, field);
    if (!t) return hr_no_memory(err, "labels");
    const int64_t rows = t->shape.rank > 0 && t->shape.dims[0] > 0 ? t->shape.dims[0] : 1;
    for (int64_t i = 0; i < t->count; i++) {
        const double value = label_value(t, i);
        if (value >= 0 && value <= 1) continue;
        if (t->layout == HR_DENSE) *row = i / (t->count / rows);
        return hr_fail(err, HR_INVALID_ARGUMENT, "estimator.label_range",
                       "label '%.60s': expected 0 or 1, or a number between, for a binary classifier, found %.9g",
                       schema->field[field].name, value);
    }
    return HR_OK;
}

/* ---- training ---- */

static hr_node minimize_part(const hr_optimizer *optimizer, hr_node loss, const char *scope, hr_node step)
{
    return hr_minimize(hr_optimizer_ref((hr_optimizer *)optimizer), loss, .var_scope = scope, .global_step = step,
                       .name_prefix = "training");
}

/* Both halves move by the same gradients; the step is counted once, by the first. */
static void add_train_op(const hr_model_call *call, const classifier *c, hr_node loss)
{
    hr_node part[2], step = hr_global_step(call->graph), none = {0};
    int parts = 0;
    if (c->has_dnn) part[parts++] = minimize_part(c->dnn_optimizer, loss, "dnn", step);
    if (c->has_linear) part[parts++] = minimize_part(c->linear_optimizer, loss, "linear", c->has_dnn ? none : step);
    hr_spec_train_op(call->spec, parts == 1 ? part[0] : hr_group(call->graph, part, parts, "train_op"));
}

static hr_status classifier_fn(const hr_model_call *call, void *user, hr_error *err)
{
    classifier *c = user;
    (void)err;
    hr_node logits = {0};
    if (c->has_dnn) logits = dnn_logits(call, c);
    if (c->has_linear) {
        hr_node linear = linear_logits(call, c);
        logits = c->has_dnn ? hr_add(logits, linear) : linear;
    }
    hr_node logistic = hr_sigmoid(logits, .name = "logistic");
    add_predictions(call, logits, logistic);
    if (call->mode == HR_MODE_PREDICT) return HR_OK;
    hr_node labels = labels_of(call, logits);
    call->spec->check = check_labels;
    hr_node loss = hr_sigmoid_cross_entropy_loss(labels, logits, .reduction = c->reduction);
    hr_spec_loss(call->spec, loss);
    if (call->mode == HR_MODE_TRAIN)
        add_train_op(call, c, loss);
    else
        add_metrics(call, labels, hr_sigmoid_cross_entropy(logits, labels), logistic);
    return HR_OK;
}

/* ---- making ---- */

static hr_dataset *transform(hr_dataset *ds, void *user)
{
    return hr_transform_features(ds, ((classifier *)user)->all);
}

static void free_list(hr_column_list *list)
{
    for (int i = 0; i < list->count; i++) hr_feature_column_unref(list->column[i]);
    hr_free((void *)list->column);
}

static void free_classifier(void *user)
{
    classifier *c = user;
    if (!c) return;
    free_list(&c->linear);
    free_list(&c->dnn);
    hr_free((void *)c->all.column);
    hr_free(c->units);
    hr_optimizer_free(c->linear_optimizer);
    hr_optimizer_free(c->dnn_optimizer);
    hr_free(c);
}

static bool canned_copy_list(hr_column_list from, hr_column_list *to)
{
    hr_feature_column **copy = hr_calloc((size_t)from.count + 1, sizeof *copy);
    if (!copy) return false;
    for (int i = 0; i < from.count; i++) copy[i] = hr_feature_column_ref(from.column[i]);
    *to = (hr_column_list){copy, from.count};
    return true;
}

static bool join_lists(classifier *c)
{
    hr_feature_column **all = hr_calloc((size_t)(c->linear.count + c->dnn.count) + 1, sizeof *all);
    if (!all) return false;
    int n = 0;
    for (int i = 0; i < c->linear.count; i++) all[n++] = c->linear.column[i];
    for (int i = 0; i < c->dnn.count; i++) all[n++] = c->dnn.column[i];
    c->all = (hr_column_list){all, n};
    return true;
}

static hr_optimizer *default_linear(const classifier *c)
{
    if (!c->has_dnn) return hr_ftrl(0.2f);
    float rate = c->linear.count ? 1 / sqrtf((float)c->linear.count) : 0.005f;
    return hr_ftrl(rate < 0.005f ? rate : 0.005f);
}

/* Arrays that are NULL though they have a length; an estimator that has them says so at its first use. */
static bool lacks_array(const hr_classifier_opts *o, bool linear, bool dnn)
{
    return (linear && o->linear_feature_columns.count && !o->linear_feature_columns.column) ||
           (dnn && o->dnn_feature_columns.count && !o->dnn_feature_columns.column) ||
           (dnn && o->dnn_hidden_units.count && !o->dnn_hidden_units.units);
}

static hr_estimator *new_classifier(const hr_classifier_opts *given, bool linear, bool dnn)
{
    hr_classifier_opts usable = HR_OPTIONS(hr_classifier_opts, given), *o = &usable;
    const bool lacking = lacks_array(o, linear, dnn);
    if (lacking) {
        o->linear_feature_columns = o->dnn_feature_columns = (hr_column_list){0};
        o->dnn_hidden_units = (hr_units){0};
    }
    classifier *c = hr_calloc(1, sizeof *c);
    hr_estimator_opts opts = {.struct_size = sizeof opts,
                              .model_dir = o->model_dir,
                              .config = o->config,
                              .user_free = free_classifier,
                              .prepare = transform};
    if (!c) {
        hr_optimizer_free(o->linear_optimizer);
        hr_optimizer_free(o->dnn_optimizer);
        return NULL;
    }
    c->has_linear = linear;
    c->has_dnn = dnn;
    c->linear_optimizer = o->linear_optimizer;
    c->dnn_optimizer = o->dnn_optimizer;
    c->activation = o->dnn_activation_fn ? o->dnn_activation_fn : hr_relu_fn;
    c->dropout = o->dnn_dropout;
    c->reduction = o->loss_reduction ? o->loss_reduction : HR_SUM_OVER_BATCH_SIZE;
    c->hidden = o->dnn_hidden_units.count;
    c->units = hr_memdup(o->dnn_hidden_units.units, sizeof *c->units * (size_t)c->hidden);
    bool memory = c->units && (!linear || canned_copy_list(o->linear_feature_columns, &c->linear)) &&
                  (!dnn || canned_copy_list(o->dnn_feature_columns, &c->dnn)) && join_lists(c);
    if (linear && !c->linear_optimizer) c->linear_optimizer = default_linear(c);
    if (dnn && !c->dnn_optimizer) c->dnn_optimizer = hr_adagrad(0.001f);
    if (!memory) {
        free_classifier(c);
        return NULL;
    }
    hr_estimator *e = hr_estimator_new_with(classifier_fn, c, &opts);
    if (e && lacking)
        hr_fail(&e->wrong, HR_INVALID_ARGUMENT, "estimator.argument",
                "classifier: expected arrays of columns and hidden units, got NULL with a count above 0");
    return e;
}

hr_estimator *hr_linear_classifier_with(const hr_classifier_opts *o) { return new_classifier(o, true, false); }
hr_estimator *hr_dnn_classifier_with(const hr_classifier_opts *o) { return new_classifier(o, false, true); }
hr_estimator *hr_dnn_linear_combined_classifier_with(const hr_classifier_opts *o)
{
    return new_classifier(o, true, true);
}

const hr__canned hr__canned_linear_classifier = {
    .name = "linear_classifier",
    .linear = true,
    .make = hr_linear_classifier_with,
};
const hr__canned hr__canned_dnn_classifier = {
    .name = "dnn_classifier",
    .dnn = true,
    .make = hr_dnn_classifier_with,
};
const hr__canned hr__canned_dnn_linear_combined_classifier = {
    .name = "dnn_linear_combined_classifier",
    .linear = true,
    .dnn = true,
    .make = hr_dnn_linear_combined_classifier_with,
};

/* ---- by name ---- */

static const hr__canned *const canned[] = {
#define HR_ESTIMATOR(name) &hr__canned_##name,
#include "train/estimator/estimators.def"
#undef HR_ESTIMATOR
};
enum { CANNED = sizeof canned / sizeof *canned };

const char *hr_estimator_name_at(int i) { return i >= 0 && i < CANNED ? canned[i]->name : NULL; }

const hr__canned *hr__canned_named(const char *name)
{
    for (int i = 0; i < CANNED; i++)
        if (strcmp(canned[i]->name, name) == 0) return canned[i];
    return NULL;
}
