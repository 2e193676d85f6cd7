/* headrace train: trains the model of a training file. Ctrl-C stops between two steps, with a checkpoint. */
#include "cli/cli_training.h"
#include "cli/json_line.h"
#include <headrace/io.h>
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

static void train_print_as_json(const hr_training *t, const hr_train_result *r)
{
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
    json_end(&top);
}

static int train(const command_call *call, hr_training *t)
{
    watch w = {.runs = false};
    hr_error err = {0};
    hr_train_result result = {0};
    const hr_status st = hr_training_train(t, &result, &err, .progress = train_show, .user = &w);
    progress_end(&w.bar);
    const int code = st == HR_OK ? WORKED : failed(call, &err);
    if (st == HR_OK && flag_given(call, "json"))
        train_print_as_json(t, &result);
    else if (st == HR_OK)
        train_print_summary(t, &result);
    return st == HR_OK && !result.finished && interrupted() ? INTERRUPTED : code;
}

static int train_run(command_call *call)
{
    hr_training *t;
    catch_interrupt();
    interrupt_at_once("train"); /* until the model is built: see train_show() */
    int code = open_training(call, &t);
    if (code != 0) return code;
    code = train(call, t);
    hr_training_free(t);
    return code;
}

static const flag flags[] = {
    TRAINING_FLAGS,
    {FLAG_COUNT, "steps", 0, "N",
     "train until step N, for as many epochs as that takes; with --epochs at most for these"},
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
                "  headrace train flights.yaml --data data --model-dir data/model --epochs 10   # after 5: 5 more\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = train_run,
};
