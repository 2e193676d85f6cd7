/* Evaluates a training. Of a binary classifier the scores are computed from the probabilities of all rows, exactly;
 * what the estimator's metrics say goes to the event file. */
#include "train/training/training_internal.h"
#include <math.h>
#include <string.h>

/* ---- results by name ---- */

static const char *const exact_names[] = {"accuracy",        "auc",  "auc_precision_recall", "log_loss", "label/mean",
                                          "prediction/mean", "rows", "global_step"};
enum { EXACT_NAMES = sizeof exact_names / sizeof *exact_names };

static bool is_exact(const hr_training *t)
{
    return !t->multi_head && t->head->kind->exact && !t->head->opts.weight_column;
}

double hr_training_result(const hr_training *t, const char *name)
{
    for (int i = 0; t && name && i < t->result_count; i++)
        if (strcmp(t->results[i].name, name) == 0) return t->results[i].value;
    return (double)NAN;
}

int hr_training_results(const hr_training *t)
{
    return !t ? 0 : t->results ? t->result_count : is_exact(t) * EXACT_NAMES;
}

const char *hr_training_result_name(const hr_training *t, int i)
{
    if (i < 0 || i >= hr_training_results(t)) return NULL;
    return t->results ? t->results[i].name : exact_names[i];
}

static hr_status evaluate_add(hr_training *t, const char *name, double value, hr_error *err)
{
    t->results[t->result_count].name = hr_strdup(name);
    if (!t->results[t->result_count].name) return hr_no_memory(err, "results");
    t->results[t->result_count++].value = value;
    return HR_OK;
}

static hr_status evaluate_empty(hr_training *t, int count, hr_error *err)
{
    for (int i = 0; i < t->result_count; i++) hr_free(t->results[i].name);
    t->result_count = 0;
    hr_free(t->results);
    t->results = hr_calloc((size_t)count + 1, sizeof *t->results);
    return t->results ? HR_OK : hr_no_memory(err, "results");
}

static hr_status evaluate_keep_exact(hr_training *t, const hr_estimator *e, const hr_binary_result *r, hr_error *err)
{
    const double value[EXACT_NAMES] = {r->accuracy,      r->auc,
                                       r->auc_pr,        r->log_loss,
                                       r->label_mean,    r->prediction_mean,
                                       (double)r->count, hr_estimator_result(e, "global_step")};
    HR_TRY(evaluate_empty(t, EXACT_NAMES, err));
    for (int i = 0; i < EXACT_NAMES; i++) HR_TRY(evaluate_add(t, exact_names[i], value[i], err));
    return HR_OK;
}

static hr_status evaluate_keep(hr_training *t, const hr_estimator *e, int64_t rows, hr_error *err)
{
    const int count = hr_estimator_results(e);
    HR_TRY(evaluate_empty(t, count + 1, err));
    for (int i = 0; i < count; i++) {
        const char *name = hr_estimator_result_name(e, i);
        if (strcmp(name, "global_step") != 0) HR_TRY(evaluate_add(t, name, hr_estimator_result(e, name), err));
    }
    HR_TRY(evaluate_add(t, "rows", (double)rows, err));
    return evaluate_add(t, "global_step", hr_estimator_result(e, "global_step"), err);
}

/* ---- the rows ---- */

typedef struct scoring {
    const hr_training *training;
    hr_binary_scores *scores; /* NULL: none are asked for */
    hr_training_evaluate_opts opts;
    int64_t rows;
} scoring;

/* A label as a number: of a string, its class. */
static float label_at(const hr_training *t, const hr_tensor *label, int64_t i)
{
    const hr_vocabulary_list *v = &t->head->opts.label_vocabulary;
    if (label->dtype == HR_FLOAT) return ((const float *)label->data)[i];
    if (label->dtype == HR_INT64) return (float)((const int64_t *)label->data)[i];
    const hr_view word = ((const hr_view *)label->data)[i];
    return v->count > 1 && word.size == v->views[1].size &&
           (word.size == 0 || memcmp(word.data, v->views[1].data, (size_t)word.size) == 0);
}

static hr_status score_pairs(scoring *s, const hr_tensor *label, const hr_tensor *logistic, hr_error *err)
{
    if (!logistic || label->count != logistic->count ||
        (label->dtype != HR_INT64 && label->dtype != HR_FLOAT && label->dtype != HR_STRING))
        return hr_fail(err, HR_INVALID_ARGUMENT, "training.label", "expected one label for each prediction");
    float *wide = hr_malloc(sizeof *wide * ((size_t)label->count + 1));
    if (!wide) return hr_no_memory(err, "labels");
    for (int64_t i = 0; i < label->count; i++) wide[i] = label_at(s->training, label, i);
    const hr_status st = hr_binary_scores_add(s->scores, wide, logistic->data, label->count, err);
    hr_free(wide);
    return st;
}

static hr_status score_batch(const hr_element *element, const char *const *names, const hr_tensor *predictions,
                             int count, void *user, hr_error *err)
{
    scoring *s = user;
    const hr_tensor *label = NULL, *logistic = NULL;
    const hr_schema *schema = hr_element_schema(element);
    for (int i = 0; i < schema->fields && !label; i++)
        if (schema->field[i].label && !(label = hr_get_at(element, i))) return hr_no_memory(err, "labels");
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], "logistic") == 0) logistic = &predictions[i];
    if (s->scores && label) HR_TRY(score_pairs(s, label, logistic, err));
    if (label) s->rows += label->shape.rank > 0 ? label->shape.dims[0] : label->count;
    if (!s->opts.progress || s->opts.progress(s->rows, s->opts.user)) return HR_OK;
    return hr_fail(err, HR_CANCELLED, "training.cancelled", "evaluate: .progress has ended it");
}

/* ---- the call ---- */

static hr_status evaluate_measure(hr_training *t, hr_estimator *e, hr_tensor *names, scoring *s, hr_error *err)
{
    hr_binary_result exact;
    hr_training_predicted files = {t, s->opts.files ? names : NULL};
    const hr_status st =
        hr_estimator_evaluate(e, hr__training_scored_input, &files, .each = score_batch, .each_user = s);
    if (st != HR_OK) {
        if (err) *err = *hr_estimator_error(e);
        return st;
    }
    if (s->rows == 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "training.rows", "evaluate: expected at least one row, found none");
    if (!s->scores) return evaluate_keep(t, e, s->rows, err);
    HR_TRY(hr_binary_scores_result(s->scores, &exact, err));
    return evaluate_keep_exact(t, e, &exact, err);
}

hr_status hr_training_evaluate_with(hr_training *t, hr_error *err, const hr_training_evaluate_opts *opts)
{
    scoring s = {.training = t, .opts = HR_OPTIONS(hr_training_evaluate_opts, opts)};
    hr_tensor names = {0};
    if (!t) return hr_fail(err, HR_INVALID_ARGUMENT, "training.argument", "evaluate: expected a training, got NULL");
    HR_TRY(hr__training_need_files(t, s.opts.files, "evaluate", err));
    if (s.opts.files) HR_TRY(hr__training_file_names(s.opts.files, &names, err));
    if (is_exact(t)) s.scores = hr_binary_scores_new();
    hr_estimator *e = hr_training_estimator(t);
    const bool made = e && (s.scores || !is_exact(t));
    const hr_status st = made ? evaluate_measure(t, e, &names, &s, err) : hr_no_memory(err, "an evaluation");
    hr_estimator_free(e);
    hr_binary_scores_free(s.scores);
    hr_tensor_clear(&names);
    return st;
}
