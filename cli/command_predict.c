/* headrace predict: the probability of each record, a line each, in the order of the files. */
#include "cli/cli_training.h"
#include <string.h>
#include <unistd.h>

typedef struct printing {
    progress bar;
    int64_t rows;
} printing;

static hr_status print_batch(const hr_element *element, const char *const *names, const hr_tensor *predictions,
                             int count, void *user, hr_error *err)
{
    printing *p = user;
    (void)element;
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], "logistic") != 0) continue;
        const float *value = predictions[i].data;
        for (int64_t r = 0; r < predictions[i].count; r++)
            if (printf("%.9g\n", (double)value[r]) < 0) return output_error(err);
        p->rows += predictions[i].count;
    }
    progress_count(&p->bar, -1, p->rows, "rows");
    return HR_OK;
}

/* The names after the training file as strings. Gives *out. */
static hr_status named_files(const command_call *call, hr_tensor *out, hr_error *err)
{
    hr_file_list files;
    HR_TRY(match_arguments_from(call, 1, call_arguments(call), &files, err));
    hr_status st = need_tfrecords(&files, err);
    hr_view *name = st == HR_OK ? hr_calloc((size_t)files.count + 1, sizeof *name) : NULL;
    if (st == HR_OK && !name) st = hr_no_memory(err, "names of files");
    for (int64_t i = 0; name && i < files.count; i++)
        name[i] = (hr_view){files.path[i], (int64_t)strlen(files.path[i])};
    if (st == HR_OK) st = hr_tensor_strings(out, HR_SHAPE(files.count), name, err);
    hr_free(name);
    hr_file_list_clear(&files);
    return st;
}

static hr_status predict_rows(hr_training *t, const hr_tensor *files, hr_error *err)
{
    printing p = {0};
    hr_training_predicted predicted = {t, files};
    hr_estimator *e = hr_training_estimator(t);
    if (!e) return hr_no_memory(err, "an estimator");
    progress_start(&p.bar, "predicting");
    p.bar.watched &= !isatty(STDOUT_FILENO); /* where the lines themselves can be watched */
    const hr_status st = hr_estimator_predict(e, hr_training_predict_input, &predicted, print_batch, &p);
    progress_end(&p.bar);
    if (st != HR_OK) *err = *hr_estimator_error(e);
    hr_estimator_free(e);
    return st;
}

static int predict(const command_call *call, hr_training *t)
{
    hr_error err = {0};
    hr_tensor files = {0};
    const bool named = call_arguments(call) > 1;
    const int code = named ? 0 : check_eval_files(call, t, "predict");
    if (code != 0) return code;
    hr_status st = named ? named_files(call, &files, &err) : HR_OK;
    if (st == HR_OK) st = predict_rows(t, named ? &files : NULL, &err);
    hr_tensor_clear(&files);
    return st == HR_OK ? WORKED : failed(call, &err);
}

static int predict_run(command_call *call)
{
    hr_training *t;
    int code = open_training(call, &t);
    if (code != WORKED) return code;
    code = predict(call, t);
    hr_training_free(t);
    return code;
}

static const flag flags[] = {TRAINING_FLAGS, {0}};

const command command_predict = {
    .name = "predict",
    .arguments = "FILE.yaml [RECORDS...]",
    .summary = "prints a trained model's probability for each row",
    .text = "Prints the probability of class 1 for each record, one on each line. The records are those of the given "
            "TFRecords, or those of the training file's eval_files, file by file in the order of their names, as "
            "`headrace show` prints them. Records need no label: convert takes a CSV without the label's column, with "
            "the schema of the training. The newest complete checkpoint is used.",
    .examples = "  headrace predict flights.yaml --data data --model-dir data/model > probabilities.txt\n"
                "  headrace predict flights.yaml -d data -m data/model 'new/*.tfrecord' > probabilities.txt\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = -1,
    .run = predict_run,
};
