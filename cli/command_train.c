/* headrace train: trains the model of a training file. Ctrl-C stops between two steps, with a checkpoint. */
#include "cli/cli_training.h"
#include "cli/json_line.h"
#include <headrace/io.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- the line that is drawn while it runs ---- */

typedef struct watch {
    progress bar;
    int64_t total, batch; /* total: steps there will be, 0: unknown */
    bool runs;
    double started;
    float loss; /* of a moment ago */
} watch;

static void train_draw(watch *w, int64_t first, int64_t step)
{
    char detail[160];
    double seconds = now_seconds() - w->started, rate = (double)((step - first) * w->batch) / (seconds + 1e-9);
    snprintf(detail, sizeof detail, "step %s, loss %.4f, %s examples/s", with_commas(step), (double)w->loss,
             with_commas((int64_t)rate));
    progress_show(&w->bar, w->total ? (double)step / (double)w->total : -1, detail);
}

/* Called before the first step, too: from then on a signal stops the training between two steps. */
static bool train_show(const hr_training_progress *now, void *user)
{
    watch *w = user;
    if (!w->runs) {
        interrupt_at_once(NULL);
        w->runs = true;
        w->started = now_seconds();
        progress_start(&w->bar, "training");
    } else {
        if (!isnan(now->loss)) w->loss += (now->loss - w->loss) * (now->step - now->first_step < 20 ? 0.5f : 0.02f);
        if (progress_due(&w->bar)) train_draw(w, now->first_step, now->step);
    }
    return !interrupted();
}

/* ---- how many steps there will be ---- */

enum { SAMPLE = 64 << 20 }; /* bytes that are read to count records: beyond them, the files' sizes tell */

static int64_t records_in(const char *path)
{
    hr_record_reader *reader;
    int64_t records = 0;
    if (hr_record_reader_open(path, NULL, &reader, NULL) != HR_OK) return 0;
    while (hr_record_skip(reader, 1, NULL) == HR_OK && !interrupted()) records++;
    hr_record_reader_free(reader);
    return records;
}

static int64_t file_size(const char *path)
{
    const int64_t size = hr_path_size(path);
    return size > 0 ? size : 0;
}

/* Small data is counted; of large data, as many whole files as the sample holds. 0: it cannot be known, or would take
 * too long. */
static int64_t train_count_records(const hr_file_list *files)
{
    int64_t records = 0, counted = 0;
    const int64_t total = hr_paths_size(files);
    if (total < 0) return 0; /* what is read once is left for the training */
    for (int64_t i = 0; i < files->count && counted + file_size(files->path[i]) <= SAMPLE; i++) {
        records += records_in(files->path[i]);
        counted += file_size(files->path[i]);
    }
    return counted ? (int64_t)((double)records * ((double)total / (double)counted) + 0.5) : 0;
}

/* 0: unknown. Fails if there are no files at all, or CSV, before a folder is made for the model. */
static hr_status expected_steps(const hr_training *t, int64_t *steps, hr_error *err)
{
    hr_file_list files = {0};
    int64_t epochs = hr_training_epochs(t), max = hr_training_max_steps(t), batch = hr_training_batch_size(t);
    HR_TRY(hr_match_files(hr_training_files(t), &files, err));
    const hr_status st = need_tfrecords(&files, err);
    int64_t rows = 0;
    if (epochs >= 0 && st == HR_OK && __builtin_mul_overflow(train_count_records(&files), epochs, &rows)) rows = 0;
    hr_file_list_clear(&files);
    *steps = rows / batch + (rows % batch != 0);
    if (max && (!*steps || max < *steps)) *steps = max;
    return st;
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
    watch w = {.batch = hr_training_batch_size(t)};
    hr_error err = {0};
    hr_train_result result = {0};
    hr_status st = expected_steps(t, &w.total, &err);
    if (st == HR_OK) st = hr_training_train(t, &result, &err, .progress = train_show, .user = &w);
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
