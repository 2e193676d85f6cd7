/* headrace predict: what a model says of each row, in the order of the files. */
#include "cli/cli_training.h"
#include <unistd.h>

/* Called after the first batch, too: until then a signal ends the process at once. */
static bool predict_show(int64_t rows, void *user)
{
    interrupt_at_once(NULL);
    progress_count(user, -1, rows, "rows");
    return !interrupted();
}

static hr_status predict_rows(const command_call *call, hr_training *t, const hr_file_list *files, hr_error *err)
{
    progress bar;
    const char *out = flag_text(call, "output");
    progress_start(&bar, "predicting");
    bar.watched &= (out && !is_standard_output(out)) || !isatty(STDOUT_FILENO); /* else the lines can be watched */
    const hr_status st =
        hr_training_predict(t, out ? out : "-", err, .files = files, .columns = flag_text(call, "columns"),
                            .to = flag_text(call, "to"), .progress = predict_show, .user = &bar);
    progress_end(&bar);
    return st;
}

static int predict(const command_call *call, hr_training *t)
{
    hr_error err = {0};
    hr_file_list files = {0};
    const bool named = call_arguments(call) > 1;
    hr_status st = named ? match_arguments_from(call, 1, call_arguments(call), &files, &err) : HR_OK;
    if (st == HR_OK) st = predict_rows(call, t, named ? &files : NULL, &err);
    hr_file_list_clear(&files);
    return st == HR_OK ? WORKED : failed(call, &err);
}

static int predict_run(command_call *call)
{
    hr_training *t;
    catch_interrupt();
    interrupt_at_once("predict"); /* until rows come: see predict_show() */
    int code = open_training(call, &t);
    if (code != WORKED) return code;
    code = predict(call, t);
    hr_training_free(t);
    return code;
}

static const flag flags[] = {
    TRAINING_FLAGS,
    {FLAG_TEXT, "columns", 0, "NAMES", "fields of the rows and predictions: id,probabilities,class_ids"},
    {FLAG_TEXT, "to", 0, "FORMAT", "the format of the output; default: by its name, else csv"},
    {FLAG_TEXT, "output", 'o', "OUT", "the file to write; default: standard output"},
    {0},
};

const command command_predict = {
    .name = "predict",
    .arguments = "FILE.yaml [ROWS...]",
    .summary = "writes what a trained model says of each row",
    .text = "Writes a line for each row: of a binary classifier the probability of class 1, of others the class, the "
            "number or the probabilities. With --columns it is a CSV with a header, lines of JSON or TFRecords of the "
            "columns that are named: fields of the rows, also ones that the model does not see, and predictions: "
            "logits, logistic, probabilities, class_ids, classes, predictions. In a CSV a prediction of several "
            "numbers is NAME_0, NAME_1, ...\n\nThe rows are those of the given files, or those of the training file's "
            "eval_files, file by file in the order of their names. They need no label. With fields among the columns, "
            "files are read twice, so they cannot be pipes. The newest complete checkpoint is used.",
    .examples = "  headrace predict flights.yaml --data data --model-dir data/model > probabilities.txt\n"
                "  headrace predict flights.yaml -d data -m data/model 'new/*.tfrecord' > probabilities.txt\n"
                "  headrace predict flights.yaml -d data -m data/model --columns row,probabilities,class_ids -o "
                "out.csv\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = -1,
    .run = predict_run,
};
