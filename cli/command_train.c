/* headrace train: trains the model of a training file. Ctrl-C stops between two steps, with a checkpoint. */
#include "cli/cli_training.h"
#include "cli/json_line.h"
#include <headrace/io.h>
#include <headrace/profile.h>
#include <inttypes.h>
#include <math.h>

/* ---- the line that is drawn while it runs ---- */

typedef struct watch {
    progress bar;
    bool runs;
    float loss; /* of a moment ago */
} watch;

static void train_draw(watch *w, const hr_training_progress *now)
{
    char detail[160];
    snprintf(detail, sizeof detail, "step %s, loss %.4f, %s examples/s", with_commas(now->step), (double)w->loss,
             with_commas((int64_t)now->examples_per_second));
    progress_show(&w->bar, now->last_step ? (double)now->step / (double)now->last_step : -1, detail);
}

/* Called before the first step, too: from then on a signal stops the training between two steps. */
static bool train_show(const hr_training_progress *now, void *user)
{
    watch *w = user;
    if (!w->runs) {
        interrupt_at_once(NULL);
        w->runs = true;
        progress_start(&w->bar, "training");
    } else {
        if (!isnan(now->loss)) w->loss += (now->loss - w->loss) * (now->step - now->first_step < 20 ? 0.5f : 0.02f);
        if (progress_due(&w->bar)) train_draw(w, now);
    }
    return !interrupted();
}

/* ---- what it came to ---- */

static void train_print_summary(const hr_training *t, const hr_train_result *r)
{
    int64_t steps = r->last_step - r->first_step;
    double rows = (double)(steps * hr_training_batch_size(t)), seconds = r->seconds > 0 ? r->seconds : 1e-9;
    if (steps == 0 && r->finished) {
        printf("The training in %s has already ended, at step %s; there is nothing to do.\n"
               "Larger --epochs or --steps continue it.\n",
               hr_training_model_dir(t), with_commas(r->last_step));
        return;
    }
    printf("%s%s step%s in %.1f s, %s examples/s; loss of the last step %.4f\n",
           r->resumed && r->first_step > 0 ? "resumed; " : "", with_commas(steps), steps == 1 ? "" : "s", r->seconds,
           with_commas((int64_t)(rows / seconds)), (double)r->loss);
    printf("%.0f %% of the time was spent waiting for input\n", 100 * r->input_seconds / seconds);
    printf("%s at step %s, %s/model.ckpt-%" PRId64 "\n", r->finished ? "ended" : "stopped", with_commas(r->last_step),
           hr_training_model_dir(t), r->last_step);
    if (!r->finished) printf("The same command continues from there.\n");
}

static void train_print_as_json(const hr_training *t, const hr_train_result *r, hr_profile *profile)
{
    hr_profile_report report;
    json_line top;
    json_begin(&top);
    json_count(&top, "first_step", r->first_step);
    json_count(&top, "last_step", r->last_step);
    json_bool(&top, "finished", r->finished);
    json_bool(&top, "resumed", r->resumed);
    json_number(&top, "loss", (double)r->loss);
    json_number(&top, "seconds", r->seconds);
    json_number(&top, "input_seconds", r->input_seconds);
    json_count(&top, "batch_size", hr_training_batch_size(t));
    json_text(&top, "model_dir", hr_training_model_dir(t));
    if (profile && hr_profile_report_of(profile, &report, NULL) == HR_OK) {
        json_number(&top, "step_seconds", report.step_seconds);
        json_number(&top, "step_seconds_without_input", report.without_input);
        json_number(&top, "step_seconds_without_nodes", report.without_nodes);
        json_text(&top, "binds", report.input_binds ? "input" : "compute");
    }
    json_end(&top);
}

/* What --profile and --trace ask for. */
typedef struct watched {
    hr_trace *trace;
    hr_profile *profile; /* NULL: nothing is */
} watched;

static hr_status train_watch(const command_call *call, watched *w, hr_error *err)
{
    *w = (watched){0};
    if (!flag_given(call, "profile") && !flag_given(call, "trace")) return HR_OK;
    if (flag_given(call, "trace")) w->trace = hr_trace_new();
    if (w->trace || !flag_given(call, "trace")) w->profile = hr_profile_new(.trace = w->trace);
    return w->profile ? HR_OK : hr_no_memory(err, "a profile");
}

static hr_status train_print_profile(const command_call *call, const watched *w, hr_error *err)
{
    if (flag_given(call, "profile") && !flag_given(call, "json")) {
        char *text = hr_profile_text(w->profile);
        if (!text) return hr_no_memory(err, "a profile");
        printf("\n%s", text);
        hr_free(text);
    }
    return w->trace ? hr_trace_write(w->trace, flag_text(call, "trace"), err) : HR_OK;
}

static int train(const command_call *call, hr_training *t, const watched *watched)
{
    watch w = {.runs = false};
    hr_error err = {0};
    hr_train_result result = {0};
    hr_status st = hr_training_train(t, &result, &err, .progress = train_show, .user = &w, .profile = watched->profile);
    progress_end(&w.bar);
    if (st == HR_OK && flag_given(call, "json"))
        train_print_as_json(t, &result, watched->profile);
    else if (st == HR_OK)
        train_print_summary(t, &result);
    if (st == HR_OK) st = train_print_profile(call, watched, &err);
    const int code = st == HR_OK ? WORKED : failed(call, &err);
    return st == HR_OK && !result.finished && interrupted() ? INTERRUPTED : code;
}

static int train_run(command_call *call)
{
    hr_training *t;
    catch_interrupt();
    interrupt_at_once("train"); /* until the model is built: see train_show() */
    int code = open_training(call, &t);
    if (code != 0) return code;
    watched w;
    hr_error err = {0};
    code = train_watch(call, &w, &err) == HR_OK ? train(call, t, &w) : failed(call, &err);
    hr_profile_free(w.profile);
    hr_trace_free(w.trace);
    hr_training_free(t);
    return code;
}

static const flag flags[] = {
    TRAINING_FLAGS,
    {FLAG_COUNT, "steps", 0, "N",
     "train until step N, for as many epochs as that takes; with --epochs at most for these"},
    {FLAG_SWITCH, "profile", 0, NULL, "show where the time went, and whether the input or compute binds"},
    {FLAG_TEXT, "trace", 0, "OUT",
     "write each node and each unit of the input as a span of time, for chrome://tracing or Perfetto"},
    {FLAG_SWITCH, "json", 0, NULL, "the summary as a line of JSON"},
    {0},
};

const command command_train = {
    .name = "train",
    .arguments = "FILE.yaml",
    .summary = "trains a model on TFRecords",
    .text = "Trains the model that the file describes: schema, columns, model, train. Checkpoints and event files "
            "(for TensorBoard) are written to the model directory. Ctrl-C stops after the current step and writes a "
            "checkpoint, which includes the position in the input: the same command continues exactly there. A "
            "training that has ended prints so; larger --epochs or --steps continue it.",
    .examples = "  headrace train flights.yaml --data data --model-dir data/model\n"
                "  headrace train flights.yaml -d data -m /tmp/linear --estimator linear_classifier --seed 2\n"
                "  headrace train flights.yaml --data data --model-dir data/model --epochs 10   # after 5: 5 more\n"
                "  headrace train flights.yaml --data data --model-dir /tmp/trial --steps 200 --profile\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = train_run,
};
