/* headrace evaluate: a trained model on the rows it has not seen. Accuracy, AUC, log loss are exact, in float64, from
 * the probabilities of all rows; the estimator's own metrics go to the event file. */
#include "cli/json_line.h"
#include "cli/cli_training.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct scoring {
    hr_binary_scores *scores;
    progress bar;
    int64_t rows;
} scoring;

static hr_status score(const hr_element *element, const char *const *names, const hr_tensor *predictions, int count,
                       void *user, hr_error *err)
{
    scoring *s = user;
    const hr_tensor *label = NULL, *logistic = NULL;
    const hr_schema *schema = hr_element_schema(element);
    interrupt_at_once(NULL);
    HR_TRY(check_interrupt(err));
    for (int i = 0; i < schema->fields && !label; i++)
        if (schema->field[i].label && !(label = hr_get_at(element, i))) return hr_no_memory(err, "labels");
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], "logistic") == 0) logistic = &predictions[i];
    if (!label || !logistic || label->count != logistic->count ||
        (label->dtype != HR_INT64 && label->dtype != HR_FLOAT))
        return hr_fail(err, HR_INVALID_ARGUMENT, "cli.label", "expected a number as label for each prediction");
    float *wide = hr_malloc(sizeof *wide * (size_t)label->count);
    if (!wide) return hr_no_memory(err, "labels");
    for (int64_t i = 0; i < label->count; i++)
        wide[i] = label->dtype == HR_FLOAT ? ((const float *)label->data)[i] : (float)((const int64_t *)label->data)[i];
    hr_status st = hr_binary_scores_add(s->scores, wide, logistic->data, label->count, err);
    hr_free(wide);
    s->rows += label->count;
    progress_count(&s->bar, -1, s->rows, "rows");
    return st;
}

/* ---- results by name ---- */

enum { FIGURES = 8, FRACTIONS = 6 /* the others are counts */ };
static const char *const figure_name[FIGURES] = {
    "accuracy", "auc", "auc_precision_recall", "log_loss", "label/mean", "prediction/mean", "rows", "global_step"};

static void list_figures(const hr_binary_result *r, const hr_estimator *e, double *value)
{
    const double list[FIGURES] = {r->accuracy,      r->auc,
                                  r->auc_pr,        r->log_loss,
                                  r->label_mean,    r->prediction_mean,
                                  (double)r->count, hr_estimator_result(e, "global_step")};
    memcpy(value, list, sizeof list);
}

static void evaluate_print_text(const double *value)
{
    for (int i = 0; i < FIGURES; i++)
        if (i < FRACTIONS)
            printf("  %-22s %10.5f\n", figure_name[i], value[i]);
        else
            printf("  %-22s %10s\n", figure_name[i], with_commas((int64_t)value[i]));
}

static void evaluate_print_as_json(const double *value)
{
    json_line top;
    json_begin(&top);
    for (int i = 0; i < FIGURES; i++)
        if (i < FRACTIONS)
            json_number(&top, figure_name[i], value[i]);
        else
            json_count(&top, figure_name[i], (int64_t)value[i]);
    json_end(&top);
}

/* ---- bounds: "--at-least auc=0.783" ---- */

typedef struct bound {
    int figure;
    double value;
} bound;

/* 0, or the exit code of a wrong command line. */
static int read_bound(const command_call *call, const char *name, const char *text, bound *out)
{
    char word[64] = "", *end = NULL;
    const char *equals = strchr(text, '=');
    if (equals) snprintf(word, sizeof word, "%.*s", (int)(equals - text), text);
    if (equals) out->value = strtod(equals + 1, &end);
    if (!equals || end == equals + 1 || *end || isnan(out->value))
        return usage_error(call, "--%s: expected NAME=NUMBER, found \"%s\"", name, text);
    for (out->figure = 0; out->figure < FIGURES; out->figure++)
        if (strcmp(figure_name[out->figure], word) == 0) return 0;
    const char *near = hr_suggest(word, figure_name, FIGURES);
    return usage_error(call, "--%s: there is no figure '%s'%s%s%s", name, word, near ? "; did you mean '" : "",
                       near ? near : "", near ? "'?" : "");
}

/* `value` NULL: only whether the bounds are well written. What misses its bound is said. */
static int check_bounds(const command_call *call, const char *name, const double *value)
{
    int code = WORKED;
    bool min = strcmp(name, "at-least") == 0;
    for (int i = 0; i < flag_count(call, name); i++) {
        bound b;
        int wrong = read_bound(call, name, flag_nth(call, name, i), &b);
        if (wrong || !value) code = wrong;
        if (wrong) break;
        if (!value || (min ? value[b.figure] >= b.value : value[b.figure] <= b.value)) continue;
        fprintf(stderr, "headrace evaluate: %s is %.5f, expected at %s %g\n", figure_name[b.figure], value[b.figure],
                min ? "least" : "most", b.value);
        code = FAILED;
    }
    return code;
}

/* ---- the command ---- */

static hr_status evaluate_measure(hr_estimator *e, hr_training *t, double *value, hr_error *err)
{
    scoring s = {.scores = hr_binary_scores_new()};
    hr_binary_result result = {0};
    if (!s.scores || !e) {
        hr_binary_scores_free(s.scores);
        return hr_no_memory(err, "an evaluation");
    }
    progress_start(&s.bar, "evaluating");
    hr_status st = hr_estimator_evaluate(e, hr_training_eval_input, t, .each = score, .each_user = &s);
    progress_end(&s.bar);
    if (st != HR_OK) *err = *hr_estimator_error(e);
    if (st == HR_OK) st = hr_binary_scores_result(s.scores, &result, err);
    if (st == HR_OK) list_figures(&result, e, value);
    hr_binary_scores_free(s.scores);
    return st;
}

static int evaluate(const command_call *call, hr_training *t)
{
    hr_error err = {0};
    double value[FIGURES];
    const int code = check_eval_files(call, t, "evaluate on");
    if (code != 0) return code;
    hr_estimator *e = hr_training_estimator(t);
    hr_status st = evaluate_measure(e, t, value, &err);
    hr_estimator_free(e);
    if (st != HR_OK) return failed(call, &err);
    flag_given(call, "json") ? evaluate_print_as_json(value) : evaluate_print_text(value);
    int min = check_bounds(call, "at-least", value), max = check_bounds(call, "at-most", value);
    return min == WORKED ? max : min;
}

static int evaluate_run(command_call *call)
{
    hr_training *t;
    int code = check_bounds(call, "at-least", NULL);
    if (code == WORKED) code = check_bounds(call, "at-most", NULL);
    if (code != WORKED) return code;
    catch_interrupt();
    interrupt_at_once("evaluate"); /* until rows come: see score() */
    code = open_training(call, &t);
    if (code != WORKED) return code;
    code = evaluate(call, t);
    hr_training_free(t);
    return code;
}

static const flag flags[] = {
    TRAINING_FLAGS,
    {FLAG_REPEATED, "at-least", 0, "NAME=X", "exit with 1 if this figure is below X, for example auc=0.78"},
    {FLAG_REPEATED, "at-most", 0, "NAME=X", "exit with 1 if this figure is above X"},
    {FLAG_SWITCH, "json", 0, NULL, "one line of JSON"},
    {0},
};

const command command_evaluate = {
    .name = "evaluate",
    .arguments = "FILE.yaml",
    .summary = "measures a trained model on the evaluation files",
    .text = "Evaluates the newest complete checkpoint on the eval_files. Accuracy (threshold 0.5), the areas under "
            "both curves and log loss are computed exactly, from the probabilities of all rows. The estimator's own "
            "metrics are written to MODEL_DIR/eval, for TensorBoard.",
    .examples =
        "  headrace evaluate flights.yaml --data data --model-dir data/model\n"
        "  headrace evaluate flights.yaml -d data -m data/model --at-least auc=0.783 --at-most log_loss=0.446\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = evaluate_run,
};
