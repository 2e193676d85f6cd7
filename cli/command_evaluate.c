/* headrace evaluate: a trained model on rows that it has not seen. */
#include "cli/cli_training.h"
#include "cli/json_line.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- results by name ---- */

static bool is_count(const char *name) { return strcmp(name, "rows") == 0 || strcmp(name, "global_step") == 0; }

static void evaluate_print_text(const hr_training *t)
{
    int width = 22;
    for (int i = 0; i < hr_training_results(t); i++) {
        const int size = (int)strlen(hr_training_result_name(t, i));
        if (size > width) width = size;
    }
    for (int i = 0; i < hr_training_results(t); i++) {
        const char *name = hr_training_result_name(t, i);
        const double value = hr_training_result(t, name);
        if (is_count(name))
            printf("  %-*s %10s\n", width, name, with_commas((int64_t)value));
        else
            printf("  %-*s %10.5f\n", width, name, value);
    }
}

static void evaluate_print_as_json(const hr_training *t)
{
    json_line top;
    json_begin(&top);
    for (int i = 0; i < hr_training_results(t); i++) {
        const char *name = hr_training_result_name(t, i);
        const double value = hr_training_result(t, name);
        if (is_count(name))
            json_count(&top, name, (int64_t)value);
        else
            json_number(&top, name, value);
    }
    json_end(&top);
}

/* ---- bounds: "--at-least auc=0.783" ---- */

typedef struct bound {
    char name[128];
    double value;
} bound;

/* 0, or the exit code of a wrong command line. */
static int read_bound(const command_call *call, const char *flag, const char *text, bound *out)
{
    char *end = NULL;
    const char *equals = strchr(text, '=');
    if (equals) snprintf(out->name, sizeof out->name, "%.*s", (int)(equals - text), text);
    if (equals) out->value = strtod(equals + 1, &end);
    if (!equals || end == equals + 1 || *end || isnan(out->value))
        return usage_error(call, "--%s: expected NAME=NUMBER, found \"%s\"", flag, text);
    return 0;
}

/* The results have this name; 0, or the exit code. */
static int find_bound(const command_call *call, const char *flag, const hr_training *t, const char *word)
{
    enum { MOST = 128 };
    const char *names[MOST];
    int count = 0;
    for (; count < hr_training_results(t) && count < MOST; count++) {
        names[count] = hr_training_result_name(t, count);
        if (strcmp(names[count], word) == 0) return 0;
    }
    const char *near = hr_suggest(word, names, count);
    return usage_error(call, "--%s: there is no figure '%s'%s%s%s", flag, word, near ? "; did you mean '" : "",
                       near ? near : "", near ? "'?" : "");
}

/* What misses its bound is said. */
static int compare_bound(const bound *b, bool min, double value)
{
    if (min ? value >= b->value : value <= b->value) return WORKED;
    fprintf(stderr, "headrace evaluate: %s is %.5f, expected at %s %g\n", b->name, value, min ? "least" : "most",
            b->value);
    return FAILED;
}

/* `t` NULL: only whether the bounds are well written. `measured`: the values are those of an evaluation. */
static int check_bounds(const command_call *call, const char *flag, const hr_training *t, bool measured)
{
    int code = WORKED;
    for (int i = 0; i < flag_count(call, flag); i++) {
        bound b;
        int wrong = read_bound(call, flag, flag_nth(call, flag, i), &b);
        if (!wrong && t) wrong = find_bound(call, flag, t, b.name);
        if (wrong) return wrong;
        if (measured && compare_bound(&b, strcmp(flag, "at-least") == 0, hr_training_result(t, b.name)) != WORKED)
            code = FAILED;
    }
    return code;
}

static int check_all_bounds(const command_call *call, const hr_training *t, bool measured)
{
    const int min = check_bounds(call, "at-least", t, measured);
    if (min == WRONG_USE) return min;
    const int max = check_bounds(call, "at-most", t, measured);
    return max == WRONG_USE || min == WORKED ? max : min;
}

/* ---- the command ---- */

/* Called after the first batch, too: until then a signal ends the process at once. */
static bool evaluate_show(int64_t rows, void *user)
{
    interrupt_at_once(NULL);
    progress_count(user, -1, rows, "rows");
    return !interrupted();
}

/* The files of --files; none: those of the training. */
static hr_status evaluate_files(const command_call *call, hr_file_list *files, hr_error *err)
{
    for (int i = 0; i < flag_count(call, "files"); i++) {
        hr_file_list some = {0};
        hr_status st = match_argument(flag_nth(call, "files", i), &some, err);
        for (int64_t k = 0; k < some.count && st == HR_OK; k++) st = hr_file_list_add(files, some.path[k], err);
        hr_file_list_clear(&some);
        HR_TRY(st);
    }
    return HR_OK;
}

static hr_status evaluate_measure(const command_call *call, hr_training *t, hr_error *err)
{
    progress bar;
    hr_file_list files = {0};
    hr_status st = evaluate_files(call, &files, err);
    progress_start(&bar, "evaluating");
    if (st == HR_OK)
        st =
            hr_training_evaluate(t, err, .files = files.count ? &files : NULL, .progress = evaluate_show, .user = &bar);
    progress_end(&bar);
    hr_file_list_clear(&files);
    return st;
}

static int evaluate(const command_call *call, hr_training *t)
{
    hr_error err = {0};
    const int wrong = hr_training_results(t) ? check_all_bounds(call, t, false) : WORKED;
    if (wrong != WORKED) return wrong;
    if (evaluate_measure(call, t, &err) != HR_OK) return failed(call, &err);
    flag_given(call, "json") ? evaluate_print_as_json(t) : evaluate_print_text(t);
    return check_all_bounds(call, t, true);
}

static int evaluate_run(command_call *call)
{
    hr_training *t;
    int code = check_all_bounds(call, NULL, false);
    if (code != WORKED) return code;
    catch_interrupt();
    interrupt_at_once("evaluate"); /* until rows come: see evaluate_show() */
    code = open_training(call, &t);
    if (code != WORKED) return code;
    code = evaluate(call, t);
    hr_training_free(t);
    return code;
}

static const flag flags[] = {
    TRAINING_FLAGS,
    {FLAG_REPEATED, "files", 0, "PATTERN", "evaluate on these files instead of the eval_files; may be repeated"},
    {FLAG_REPEATED, "at-least", 0, "NAME=X", "exit with 1 if this figure is below X, for example auc=0.78"},
    {FLAG_REPEATED, "at-most", 0, "NAME=X", "exit with 1 if this figure is above X"},
    {FLAG_SWITCH, "json", 0, NULL, "one line of JSON"},
    {0},
};

const command command_evaluate = {
    .name = "evaluate",
    .arguments = "FILE.yaml",
    .summary = "measures a trained model on rows that it has not seen",
    .text =
        "Evaluates the newest complete checkpoint on the eval_files, or on those of --files. Of a binary classifier "
        "without weights, accuracy (threshold 0.5), the areas under both curves and log loss are computed exactly, "
        "from the probabilities of all rows; of other models the estimator's metrics are printed. Those are "
        "written to MODEL_DIR/eval, for TensorBoard.",
    .examples =
        "  headrace evaluate flights.yaml --data data --model-dir data/model\n"
        "  headrace evaluate flights.yaml -d data -m data/model --at-least auc=0.783 --at-most log_loss=0.446\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = evaluate_run,
};
