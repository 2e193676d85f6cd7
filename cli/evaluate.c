/* headrace evaluate: a trained model on the rows it has not seen. Accuracy, AUC, log loss are exact, in float64, from the
 * probabilities of all rows; the estimator's own metrics go to the event file. */
#include "cli/training.h"
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static hr_status score(const hr_element *element, const char *const *names, const hr_tensor *predictions, int count,
                       void *user, hr_error *err)
{
    const hr_tensor *label = NULL, *logistic = NULL;
    const hr_schema *schema = hr_element_schema(element);
    for (int i = 0; i < schema->fields && !label; i++)
        if (schema->field[i].label) label = hr_get_at(element, i);
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], "logistic") == 0) logistic = &predictions[i];
    if (!label || !logistic || label->count != logistic->count || label->dtype != HR_INT64)
        return hr_fail(err, HR_INVALID_ARGUMENT, "cli.evaluate", "expected an int64 label for each prediction");
    float *wide = hr_malloc(sizeof *wide * (size_t)label->count);
    if (!wide) return hr_no_memory(err, "labels");
    for (int64_t i = 0; i < label->count; i++) wide[i] = (float)((const int64_t *)label->data)[i];
    hr_status st = hr_binary_scores_add(user, wide, logistic->data, label->count, err);
    hr_free(wide);
    return st;
}

/* ---- results by name ---- */

typedef struct figure {
    const char *name;
    double value;
} figure;

enum { FIGURES = 8 };

static void list_figures(const hr_binary_result *r, const hr_estimator *e, figure *out)
{
    const figure list[FIGURES] = {
        {"accuracy", r->accuracy},           {"auc", r->auc},
        {"auc_precision_recall", r->auc_pr}, {"log_loss", r->log_loss},
        {"label/mean", r->label_mean},       {"prediction/mean", r->prediction_mean},
        {"rows", (double)r->count},          {"global_step", hr_estimator_result(e, "global_step")}};
    memcpy(out, list, sizeof list);
}

static void print_text(const figure *f)
{
    for (int i = 0; i < 6; i++) printf("  %-22s %.5f\n", f[i].name, f[i].value);
    printf("  %-22s %s\n  %-22s %s\n", f[6].name, with_commas((int64_t)f[6].value), f[7].name,
           with_commas((int64_t)f[7].value));
}

static void print_as_json(const figure *f)
{
    cJSON *top = cJSON_CreateObject();
    for (int i = 0; i < FIGURES; i++) cJSON_AddNumberToObject(top, f[i].name, f[i].value);
    print_json(top);
}

/* ---- bounds ---- */

/* "auc=0.783": 0 if the figure keeps the bound, 1 if not, 2 for a wrong bound. */
static int check_bound(const command_call *call, const figure *f, const char *text, bool least)
{
    const char *equals = strchr(text, '=');
    char *end;
    double bound = equals ? strtod(equals + 1, &end) : 0;
    int i = 0;
    if (!equals || end == equals + 1 || *end)
        return usage_error(call, "--at-%s: expected NAME=NUMBER, found \"%s\"", least ? "least" : "most", text);
    while (i < FIGURES &&
           (strlen(f[i].name) != (size_t)(equals - text) || strncmp(f[i].name, text, (size_t)(equals - text)) != 0))
        i++;
    if (i == FIGURES) return usage_error(call, "--at-%s: there is no figure \"%s\"", least ? "least" : "most", text);
    if (least ? f[i].value >= bound : f[i].value <= bound) return 0;
    fprintf(stderr, "headrace evaluate: %s is %.5f, expected at %s %g\n", f[i].name, f[i].value,
            least ? "least" : "most", bound);
    return 1;
}

static int check_bounds(const command_call *call, const figure *f)
{
    int code = 0;
    for (int i = 0; i < flag_count(call, "at-least") && code != 2; i++) {
        int one = check_bound(call, f, flag_nth(call, "at-least", i), true);
        code = one > code ? one : code;
    }
    for (int i = 0; i < flag_count(call, "at-most") && code != 2; i++) {
        int one = check_bound(call, f, flag_nth(call, "at-most", i), false);
        code = one > code ? one : code;
    }
    return code;
}

/* ---- the command ---- */

static int evaluate(const command_call *call, hr__training *t)
{
    hr_error err = {0};
    if (!hr__training_eval_files(t)) {
        hr_fail(&err, HR_INVALID_ARGUMENT, "cli.evaluate",
                "%s: train: expected a key 'eval_files', the rows to evaluate on", call_argument(call, 0));
        return failed(call, &err);
    }
    hr_estimator *e = hr__training_estimator(t);
    hr_binary_scores *scores = hr_binary_scores_new();
    hr_binary_result result = {0};
    hr_status st = e && scores ? HR_OK : hr_no_memory(&err, "an evaluation");
    if (st == HR_OK) {
        st = hr_estimator_evaluate(e, hr__training_eval_input, t, .each = score, .each_user = scores);
        if (st != HR_OK) err = *hr_estimator_error(e);
    }
    if (st == HR_OK) st = hr_binary_scores_result(scores, &result, &err);
    int code = st == HR_OK ? 0 : failed(call, &err);
    if (code == 0) {
        figure f[FIGURES];
        list_figures(&result, e, f);
        flag_given(call, "json") ? print_as_json(f) : print_text(f);
        code = check_bounds(call, f);
    }
    hr_binary_scores_free(scores);
    hr_estimator_free(e);
    return code;
}

static int run(command_call *call)
{
    hr__training *t;
    int code = open_training(call, &t);
    if (code != 0) return code;
    code = evaluate(call, t);
    hr__training_free(t);
    return code;
}

static const flag flags[] = {
    TRAINING_FLAGS,
    {FLAG_REPEATED, "at-least", 0, "NAME=X", "end with 1 if the figure is below X, for example auc=0.78"},
    {FLAG_REPEATED, "at-most", 0, "NAME=X", "end with 1 if the figure is above X"},
    {FLAG_SWITCH, "json", 0, NULL, "one line of JSON"},
    {0},
};

const command command_evaluate = {
    .name = "evaluate",
    .arguments = "FILE.yaml",
    .summary = "measures a trained model on other rows",
    .text = "Evaluates the latest checkpoint on the file's eval_files: accuracy (threshold 0.5), areas under the "
            "curves, log\n"
            "loss, exactly, from the probabilities of all rows. The estimator's own metrics go to MODEL_DIR/eval for\n"
            "TensorBoard.",
    .examples =
        "  headrace evaluate flights.yaml --data data --model-dir data/model\n"
        "  headrace evaluate flights.yaml -d data -m data/model --at-least auc=0.783 --at-most log_loss=0.446\n",
    .flags = flags,
    .least_arguments = 1,
    .most_arguments = 1,
    .run = run,
};
