/* A head: its kind, its options, and what all kinds do alike: labels and weights of a batch, the reduced loss, names of
 * metrics. */
#include "base/cast.h"
#include "base/constructor.h"
#include "base/descriptor.h"
#include "train/estimator/estimator_internal.h"
#include <headrace/graph_op.h>
#include <headrace/heads.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hr_head {
    const hr_head_kind *kind; /* NULL: it failed */
    hr_head_kind own_kind;    /* `kind` is this one, where the descriptor that was given is shorter than ours */
    void *state;
    void (*clear)(void *state); /* the kind's, also of a head that failed */
    hr_head_opts opts;          /* what it points to is the head's own */
    hr_reduction reduction;
    hr_view *words;  /* the vocabulary */
    hr_view *sorted; /* the same words, sorted; they borrow */
    char *keys[2 * MAX_NAMED];
    int key_count;
    bool is_part; /* of another head */
    hr_error error;
};

/* ---- making ---- */

static const hr__descriptor_kind head_kinds = {
    .what = "head",
    .status = HR_FAILED_PRECONDITION,
    .error = "head.abi",
    .version = HR_HEAD_ABI,
    .size = sizeof(hr_head_kind),
    .min_size = offsetof(hr_head_kind, takes_label),
};

static hr_status refuse(hr_error *err, const char *kind, const char *what)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "head.argument", "head '%.60s': %s", kind, what);
}

static hr_status check_own(const hr_head_kind *kind, const hr_head_opts *o, hr_error *err)
{
    const hr_vocabulary_list *v = &o->label_vocabulary;
    if (!(kind->options & HR_HEAD_VOCABULARY) && v->count)
        return refuse(err, kind->name, "expected no label_vocabulary: labels are numbers");
    if (!(kind->options & HR_HEAD_THRESHOLDS) && o->threshold_count)
        return refuse(err, kind->name, "expected no thresholds, which heads of labels from 0 to 1 have");
    if (!(kind->options & HR_HEAD_METRIC_CLASSES) && o->metric_class_count)
        return refuse(err, kind->name, "expected no metric_classes, which the multi-label head has alone");
    if (o->metric_class_count < 0 || (o->metric_class_count && !o->metric_classes))
        return refuse(err, kind->name, "expected an array of metric_classes, got NULL or a count below 0");
    if (!(kind->options & HR_HEAD_LABEL_DIMENSION) && o->label_dimension)
        return refuse(err, kind->name, "expected no label_dimension, which regressions have alone");
    if (v->count < 0 || (v->count && !v->strings && !v->views))
        return refuse(err, kind->name, "expected strings as label_vocabulary, got numbers or NULL");
    if (o->threshold_count < 0 || (o->threshold_count && !o->thresholds))
        return refuse(err, kind->name, "expected an array of thresholds, got NULL or a count below 0");
    if (o->label_dimension < 0) return refuse(err, kind->name, "expected a label_dimension of 1 or more");
    for (int i = 0; i < o->threshold_count; i++)
        if (!(o->thresholds[i] > 0 && o->thresholds[i] < 1))
            return refuse(err, kind->name, "expected thresholds between 0 and 1");
    const hr_reduction *r = o->loss_reduction;
    if (r && (*r < HR_SUM_BY_NONZERO_WEIGHTS || *r >= HR_REDUCTION_NONE))
        return refuse(err, kind->name, "expected a loss_reduction to one number");
    if (r && !o->v1 && *r != HR_SUM_OVER_BATCH_SIZE && *r != HR_REDUCTION_SUM)
        return refuse(err, kind->name, "expected a sum or sum_over_batch_size as loss_reduction; others need .v1");
    return HR_OK;
}

/* NULL becomes NULL. */
static bool copy_text(const char **text)
{
    if (!*text) return true;
    *text = hr_strdup(*text);
    return *text;
}

static int compare_views(hr_view a, hr_view b)
{
    const int64_t size = a.size < b.size ? a.size : b.size;
    const int c = size > 0 ? memcmp(a.data, b.data, (size_t)size) : 0;
    return c ? c : (a.size > b.size) - (a.size < b.size);
}

static int compare_words(const void *a, const void *b)
{
    return compare_views(*(const hr_view *)a, *(const hr_view *)b);
}

static bool copy_word(hr_view from, hr_view *to)
{
    char *copy = hr_malloc((size_t)from.size + 1);
    if (!copy) return false;
    if (from.size) memcpy(copy, from.data, (size_t)from.size);
    *to = (hr_view){copy, from.size};
    return true;
}

static bool copy_vocabulary(hr_head *h)
{
    hr_vocabulary_list *v = &h->opts.label_vocabulary, given = *v;
    *v = (hr_vocabulary_list){0};
    if (!given.count) return true;
    h->words = hr_calloc((size_t)given.count, sizeof *h->words);
    h->sorted = hr_calloc((size_t)given.count, sizeof *h->sorted);
    if (!h->words || !h->sorted) return false;
    for (int64_t i = 0; i < given.count; i++) {
        hr_view word = {"", 0};
        if (given.views)
            word = given.views[i];
        else if (given.strings[i])
            word = (hr_view){given.strings[i], (int64_t)strlen(given.strings[i])};
        if (!copy_word(word, &h->words[i])) return false;
        v->count = i + 1;
        h->sorted[i] = h->words[i];
    }
    v->views = h->words;
    qsort(h->sorted, (size_t)v->count, sizeof *h->sorted, compare_words);
    return true;
}

static bool copy_options(hr_head *h, const hr_head_opts *given)
{
    hr_head_opts *o = &h->opts;
    *o = *given;
    o->name = o->weight_column = o->label_key = NULL;
    o->thresholds = NULL;
    o->metric_classes = NULL;
    o->loss_reduction = NULL;
    h->reduction = given->loss_reduction ? *given->loss_reduction
                   : given->v1           ? HR_REDUCTION_SUM
                                         : HR_SUM_OVER_BATCH_SIZE;
    if (!o->label_dimension) o->label_dimension = 1;
    const bool words = copy_vocabulary(h);
    const char *name = given->name, *weights = given->weight_column, *label = given->label_key;
    if (!words || !copy_text(&name)) return false;
    o->name = name;
    if (!copy_text(&weights)) return false;
    o->weight_column = weights;
    if (!copy_text(&label)) return false;
    o->label_key = label;
    if (o->threshold_count > 0)
        o->thresholds = hr_memdup(given->thresholds, sizeof(float) * (size_t)o->threshold_count);
    if (o->threshold_count > 0 && !o->thresholds) return false;
    if (o->metric_class_count > 0)
        o->metric_classes = hr_memdup(given->metric_classes, sizeof(int64_t) * (size_t)o->metric_class_count);
    return o->metric_class_count <= 0 || o->metric_classes;
}

static hr_status check_words(const hr_head *h, hr_error *err)
{
    for (int64_t i = 1; i < h->opts.label_vocabulary.count; i++) {
        const hr_view word = h->sorted[i];
        if (compare_views(h->sorted[i - 1], word) == 0)
            return hr_fail(err, HR_INVALID_ARGUMENT, "head.argument",
                           "head '%.60s': expected a label_vocabulary of different strings, got '%.*s' twice",
                           h->kind->name, (int)(word.size < 60 ? word.size : 60), (const char *)word.data);
    }
    return HR_OK;
}

static hr_status fill_head(hr_head *h, const hr_head_kind *given, const void *state, const hr_head_opts *opts)
{
    const void *fits;
    HR_TRY(hr__descriptor_fit(&head_kinds, given, &h->own_kind, &fits, &h->error));
    const hr_head_kind *kind = fits;
    if (kind->state_size && !state) return refuse(&h->error, kind->name, "expected a state, got NULL");
    HR_TRY(check_own(kind, opts, &h->error));
    h->state = kind->state_size ? hr_memdup(state, kind->state_size) : NULL;
    h->clear = kind->clear;
    if ((kind->state_size && !h->state) || !copy_options(h, opts)) return hr_no_memory(&h->error, "a head");
    h->kind = kind;
    HR_TRY(check_words(h, &h->error));
    HR_TRY(kind->check ? kind->check(h, &h->error) : HR_OK);
    int parts;
    hr_head *const *part = hr__head_parts(h, &parts);
    for (int i = 0; i < parts; i++) part[i]->is_part = true;
    return HR_OK;
}

hr_head *hr_head_new(const hr_head_kind *kind, const void *state, const hr_head_opts *opts)
{
    opts = &HR_OPTIONS(hr_head_opts, opts);
    hr_head *h = hr_calloc(1, sizeof *h);
    if (h && fill_head(h, kind, state, opts) != HR_OK) h->kind = NULL;
    return h;
}

void hr_head_free(hr_head *h)
{
    if (!h) return;
    for (int64_t i = 0; i < h->opts.label_vocabulary.count; i++) hr_free((void *)h->words[i].data);
    for (int i = 0; i < h->key_count; i++) hr_free(h->keys[i]);
    hr_free(h->words);
    hr_free(h->sorted);
    hr_free((void *)h->opts.name);
    hr_free((void *)h->opts.weight_column);
    hr_free((void *)h->opts.label_key);
    hr_free((void *)h->opts.thresholds);
    hr_free((void *)h->opts.metric_classes);
    if (h->state && h->clear) h->clear(h->state);
    hr_free(h->state);
    hr_free(h);
}

const hr_error *hr_head_error(const hr_head *h)
{
    static const hr_error none = HR__NO_MEMORY_FOR("a head");
    if (!h) return &none;
    return h->error.code ? &h->error : NULL;
}

int64_t hr_head_logits_dimension(const hr_head *h) { return h && h->kind ? h->kind->logits_dimension(h) : 0; }
const void *hr_head_state(const hr_head *h) { return h ? h->state : NULL; }
const hr_head_opts *hr_head_options(const hr_head *h) { return h ? &h->opts : NULL; }

/* ---- the check of a batch ---- */

/* An integer that int64 does not hold is no number here. */
static double number_at(const hr_tensor *t, int64_t i)
{
    int64_t whole;
    if (t->dtype == HR_FLOAT) return (double)((const float *)t->data)[i];
    if (t->dtype == HR_DOUBLE) return ((const double *)t->data)[i];
    return hr__integer_of(t->data, t->dtype, i, &whole) ? (double)whole : NAN;
}

/* The row of value i. */
static int64_t row_of(const hr_tensor *t, int64_t i)
{
    const int64_t rows = t->shape.rank > 0 && t->shape.dims[0] > 0 ? t->shape.dims[0] : 1;
    return t->layout == HR_DENSE ? i / (t->count / rows) : -1;
}

static bool knows_word(const hr_head *h, hr_view word)
{
    int64_t low = 0, high = h->opts.label_vocabulary.count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        const int order = compare_views(word, h->sorted[middle]);
        if (order == 0) return true;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return false;
}

static hr_status check_word(const hr_head *h, const char *field, const hr_tensor *t, int64_t i, hr_error *err)
{
    const hr_view word = ((const hr_view *)t->data)[i];
    if (knows_word(h, word)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "estimator.label_range",
                   "label '%.60s': expected one of the %lld strings of the label vocabulary, found '%.*s'", field,
                   (long long)h->opts.label_vocabulary.count, (int)(word.size < 60 ? word.size : 60),
                   (const char *)word.data);
}

static hr_status check_number(const hr_head *h, const char *field, const hr_tensor *t, int64_t i, hr_error *err)
{
    char expected[120] = "a number";
    const double value = number_at(t, i);
    if (h->kind->takes_label ? h->kind->takes_label(h, value, expected, sizeof expected) : !isnan(value)) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "estimator.label_range", "label '%.60s': expected %s, found %.9g", field,
                   expected, value);
}

/* With any other label the loss would fall without an end, or be no number. */
static hr_status check_labels(const hr_head *h, const hr_tensor *t, const char *field, int64_t *row, hr_error *err)
{
    const bool words = h->opts.label_vocabulary.count && t->dtype == HR_STRING;
    for (int64_t i = 0; i < t->count; i++) {
        const hr_status st = (words ? check_word : check_number)(h, field, t, i, err);
        if (st == HR_OK) continue;
        *row = row_of(t, i);
        return st;
    }
    return HR_OK;
}

static hr_status check_weights(const hr_tensor *t, const char *field, int64_t *row, hr_error *err)
{
    for (int64_t i = 0; i < t->count; i++) {
        const double value = number_at(t, i);
        if (isfinite(value) && value >= 0) continue;
        *row = row_of(t, i);
        return hr_fail(err, HR_INVALID_ARGUMENT, "estimator.weight",
                       "weight '%.60s': expected a number of 0 or more, found %.9g", field, value);
    }
    return HR_OK;
}

const char *hr__head_label_key(const hr_head *h)
{
    if (h->opts.label_key || !h->is_part) return h->opts.label_key;
    return h->opts.name;
}

static hr_status check_fields(const hr_head *h, const hr_element *element, int64_t *row, hr_error *err)
{
    const hr_schema *schema = hr_element_schema(element);
    const char *key = hr__head_label_key(h);
    bool labelled = false;
    for (int i = 0; i < schema->fields; i++) {
        const char *name = schema->field[i].name;
        const bool label = (key ? strcmp(name, key) == 0 : schema->field[i].label) && !labelled;
        const bool weight = h->opts.weight_column && strcmp(name, h->opts.weight_column) == 0;
        if (!label && !weight) continue;
        const hr_tensor *t = hr_get_at(element, i);
        if (!t) return hr_no_memory(err, "labels");
        labelled |= label;
        HR_TRY(label ? check_labels(h, t, name, row, err) : check_weights(t, name, row, err));
    }
    return HR_OK;
}

hr_head *const *hr__head_parts(const hr_head *h, int *count)
{
    *count = 0;
    return h->kind && h->kind->parts ? h->kind->parts(h, count) : NULL;
}

static hr_status check_element(const hr_element *element, const void *user, int64_t *row, hr_error *err)
{
    const hr_head *h = user;
    int parts;
    hr_head *const *part = hr__head_parts(h, &parts);
    if (!part) return check_fields(h, element, row, err);
    for (int i = 0; i < parts; i++) HR_TRY(check_element(element, part[i], row, err));
    return HR_OK;
}

/* ---- labels and weights as nodes ---- */

static hr_node column_of(hr_node values)
{
    const int64_t shape[] = {-1, 1};
    return hr_reshape(values, hr_ints(values.graph, shape, 2));
}

/* Strings [n] or [n, 1] as places in the vocabulary, int64 [n, 1]. */
static hr_node places_of(const hr_head *h, hr_node label)
{
    hr_graph *g = label.graph;
    const hr_tensor words = hr_tensor_of(HR_STRING, HR_SHAPE(1, h->opts.label_vocabulary.count), h->words);
    const hr_node same = hr_cast_to(hr_equal(column_of(label), hr_const(g, &words)), HR_FLOAT);
    return column_of(hr_argmax(same, 1));
}

/* No node: there is none. */
static hr_node label_component(const hr_head *h, const hr_features *features)
{
    const char *key = hr__head_label_key(h);
    if (!key) return hr_label(features);
    const bool dense = hr_features_has(features, key) && !hr_node_exists(hr_feature_row_splits(features, key));
    return dense ? hr_feature_values(features, key) : (hr_node){0};
}

static hr_node labels_of(hr_head_call *c)
{
    const hr_head *h = c->head;
    hr_graph *g = c->model->graph;
    hr_node label = label_component(h, c->model->features);
    const char *key = hr__head_label_key(h);
    const bool words = h->opts.label_vocabulary.count;
    if (!hr_node_exists(label) && key)
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "estimator.label",
                            "head '%.60s': expected a dense component '%.60s' with its labels, found none; parse it as "
                            "a feature, or say another one by .label_key",
                            h->kind->name, key);
    if (!hr_node_exists(label))
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "estimator.label",
                            "head '%.60s': expected a label among the components, found none; say which feature is the "
                            "label where records are parsed",
                            h->kind->name);
    if (words != (hr_node_dtype(label) == HR_STRING))
        return hr_node_fail(g, HR_INVALID_ARGUMENT, "estimator.label",
                            "head '%.60s': expected %s, but label '%.60s' is %s", h->kind->name,
                            words ? "strings of the label vocabulary" : "numbers as labels", hr_node_name(label),
                            words ? "a number" : "a string");
    if (words) label = places_of(h, label);
    if (h->kind->labels) return h->kind->labels(c, label);
    return hr_reshape(hr_cast_to(label, HR_FLOAT), hr_shape_of(c->logits));
}

/* One a row, or one a logit. */
static hr_node weights_of(const hr_head_call *c)
{
    const char *column = c->head->opts.weight_column;
    const hr_node none = {0};
    if (!column) return none;
    if (!hr_features_has(c->model->features, column))
        return hr_node_fail(c->model->graph, HR_INVALID_ARGUMENT, "estimator.weight",
                            "weight '%.60s': expected a component of this name in the input, found none", column);
    const hr_node values = hr_feature_values(c->model->features, column);
    if (hr_node_dtype(values) == HR_STRING || hr_node_exists(hr_feature_row_splits(c->model->features, column)))
        return hr_node_fail(c->model->graph, HR_INVALID_ARGUMENT, "estimator.weight",
                            "weight '%.60s': expected one number a row, got strings or lists", column);
    const hr_shape shape = hr_node_shape(values);
    const int64_t wide = shape.rank == 2 ? shape.dims[1] : 1;
    const bool each = wide > 1 && wide == hr_head_logits_dimension(c->head) && hr_node_shape(c->losses).dims[1] == wide;
    return each ? hr_cast_to(values, HR_FLOAT) : column_of(hr_cast_to(values, HR_FLOAT));
}

/* ---- building ---- */

/* The head's copy, which lives as long as the graph. NULL: no memory. */
static const char *keep_key(hr_head *h, const char *key)
{
    for (int i = 0; i < h->key_count; i++)
        if (strcmp(h->keys[i], key) == 0) return h->keys[i];
    char *copy = h->key_count < 2 * MAX_NAMED ? hr_strdup(key) : NULL;
    if (copy) h->keys[h->key_count++] = copy;
    return copy;
}

/* "auc", or "auc/name". */
static const char *key_of(hr_head *h, const char *key)
{
    char full[256];
    snprintf(full, sizeof full, "%.120s%s%.120s", key, h->opts.name ? "/" : "", h->opts.name ? h->opts.name : "");
    return keep_key(h, full);
}

/* The same; without memory the graph has failed. */
static const char *key_for(const hr_head_call *c, const char *key)
{
    hr_error err;
    const char *full = key_of(c->head, key);
    if (full) return full;
    const hr_status code = hr_no_memory(&err, "the name of a metric");
    hr_node_fail(c->model->graph, code, err.kind, "%s", err.text);
    return key;
}

void hr_head_metric(const hr_head_call *c, const char *key, hr_metric metric)
{
    if (c && key) hr_spec_metric(c->model->spec, key_for(c, key), metric);
}

static void summarise_loss(const hr_head_call *c, hr_node loss)
{
    hr_head *h = c->head;
    if (c->model->mode != HR_MODE_TRAIN) return;
    if (h->opts.name) hr_spec_summary(c->model->spec, key_for(c, "loss"), loss, false);
    if (!h->opts.v1 || h->reduction != HR_REDUCTION_SUM) return;
    hr_node each = hr_ones_like(c->losses);
    if (hr_node_exists(c->weights)) each = hr_mul(each, c->weights);
    hr_spec_summary(c->model->spec, key_for(c, "average_loss"), hr_div(loss, hr_reduce_sum(each)), false);
}

/* ---- what is exported ---- */

/* The first one is the default, too. */
static void head_export(const hr_head_call *c, const char *key, const char *method, const hr_saved_tensor *outputs,
                        int count)
{
    hr_estimator_spec *spec = c->model->spec;
    if (spec->exports == 0) hr_spec_export(spec, NULL, method, outputs, count);
    hr_spec_export(spec, key, method, outputs, count);
}

void hr_head_export_classes(const hr_head_call *c, hr_node scores, hr_node classes)
{
    hr_saved_tensor outputs[2];
    int count = 0;
    if (!c) return;
    if (scores.graph) outputs[count++] = HR_SAVED("scores", scores);
    if (classes.graph) outputs[count++] = HR_SAVED("classes", classes);
    head_export(c, "classification", HR_CLASSIFY_METHOD, outputs, count);
}

void hr_head_export_values(const hr_head_call *c, hr_node values)
{
    const hr_saved_tensor output = HR_SAVED("outputs", values);
    if (c) head_export(c, "regression", HR_REGRESS_METHOD, &output, 1);
}

/* All predictions, after what the kind itself exports; of several heads, the first one's default is that of all. */
static void export_predictions(const hr_head_call *c)
{
    hr_estimator_spec *spec = c->model->spec;
    hr_saved_tensor all[MAX_NAMED];
    if (c->head->kind->build && spec->exports > 0)
        hr_spec_export(spec, NULL, spec->export[0].method, spec->exported + spec->export[0].first,
                       spec->export[0].count);
    for (int i = 0; i < spec->predictions; i++) all[i] = HR_SAVED(spec->prediction[i].name, spec->prediction[i].node);
    head_export(c, "predict", HR_PREDICT_METHOD, all, spec->predictions);
}

/* What a head of its own kind makes: its loss, reduced. */
static hr_node build_loss(hr_head_call *c)
{
    hr_head *h = c->head;
    const hr_node none = {0};
    h->kind->predictions(c);
    if (c->model->mode == HR_MODE_PREDICT) return none;
    c->labels = labels_of(c);
    c->losses = h->kind->losses(c);
    c->weights = weights_of(c);
    const hr_node loss = hr_compute_weighted_loss(c->losses, .weights = c->weights, .reduction = h->reduction,
                                                  .not_collected = h->is_part);
    summarise_loss(c, loss);
    if (c->model->mode == HR_MODE_EVAL) h->kind->metrics(c);
    return loss;
}

static hr_node build_any(hr_head *h, const hr_model_call *model, hr_node logits)
{
    const hr_error *wrong = hr_head_error(h);
    if (wrong) return hr_node_fail(model->graph, wrong->code, wrong->kind, "%s", wrong->text);
    hr_head_call c = {.head = h, .model = model, .logits = logits};
    const hr_node loss = h->kind->build ? h->kind->build(&c) : build_loss(&c);
    if (model->mode != HR_MODE_PREDICT) return loss;
    if (h->kind->exports) h->kind->exports(&c);
    export_predictions(&c);
    return loss;
}

hr_node hr_head_build(hr_head *h, const hr_model_call *model, hr_node logits)
{
    const hr_node none = {0};
    if (!model || !model->graph || !model->spec) return none;
    const hr_node loss = build_any(h, model, logits);
    if (model->mode == HR_MODE_PREDICT || !h || !h->kind) return none;
    model->spec->check = check_element;
    model->spec->check_user = h;
    hr_spec_loss(model->spec, loss);
    return loss;
}

/* ---- a part of another head ---- */

/* "name/key": the head's copy. NULL: no memory. */
static const char *part_key(hr_head *h, const char *key)
{
    char full[256];
    snprintf(full, sizeof full, "%.120s/%.120s", h->opts.name ? h->opts.name : "", key);
    return keep_key(h, full);
}

/* What the part has given to `from`. */
static void pass_on(hr_head *h, const hr_estimator_spec *from, hr_estimator_spec *to)
{
    for (int i = 0; i < from->predictions; i++)
        hr_spec_prediction(to, part_key(h, from->prediction[i].name), from->prediction[i].node);
    for (int i = 0; i < from->exports; i++) {
        const bool first = strcmp(from->export[i].key, "serving_default") == 0;
        hr_spec_export(to, first ? keep_key(h, h->opts.name ? h->opts.name : "") : part_key(h, from->export[i].key),
                       from->export[i].method, from->exported + from->export[i].first, from->export[i].count);
    }
    for (int i = 0; i < from->metrics; i++) hr_spec_metric(to, from->metric[i].name, from->metric[i].metric);
    for (int i = 0; i < from->summaries; i++)
        hr_spec_summary(to, from->summary[i].tag, from->summary[i].node, from->summary[i].histogram);
    for (int i = 0; i < from->hooks; i++) hr_spec_hook(to, from->hook[i]);
    for (int i = 0; i < from->chief_hooks; i++) hr_spec_chief_hook(to, from->chief_hook[i]);
    to->full |= from->full;
    to->nameless |= from->nameless;
}

hr_node hr_head_build_part(hr_head *part, const hr_model_call *call, hr_node logits)
{
    if (!call || !call->graph || !call->spec) return (hr_node){0};
    hr_estimator_spec *own = hr_calloc(1, sizeof *own);
    if (!own) return hr_node_fail(call->graph, HR_RESOURCE_EXHAUSTED, "memory", "no memory for a head");
    hr_model_call inner = *call;
    inner.spec = own;
    hr_variable_scope(call->graph, part && part->opts.name ? part->opts.name : "head"); /* metrics have variables */
    const hr_node loss = build_any(part, &inner, logits);
    hr_scope_end(call->graph);
    if (part) pass_on(part, own, call->spec);
    hr_free(own);
    return loss;
}
