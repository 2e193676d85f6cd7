/* headrace predict: the probability of each row of eval_files, a line each, in the order of the files. */
#include "cli/training.h"
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

static int predict(const command_call *call, hr__training *t)
{
    hr_error err = {0};
    printing p = {0};
    if (!hr__training_eval_files(t)) return lacks_eval_files(call, "predict");
    hr_estimator *e = hr__training_estimator(t);
    if (!e) {
        hr_no_memory(&err, "an estimator");
        return failed(call, &err);
    }
    progress_start(&p.bar, "predicting");
    p.bar.watched &= !isatty(STDOUT_FILENO); /* where the lines themselves can be watched */
    hr_status st = hr_estimator_predict(e, hr__training_eval_input, t, print_batch, &p);
    progress_end(&p.bar);
    int code = st == HR_OK ? WORKED : failed(call, hr_estimator_error(e));
    hr_estimator_free(e);
    return code;
}

static int run(command_call *call)
{
    hr__training *t;
    int code = open_training(call, &t);
    if (code != WORKED) return code;
    code = predict(call, t);
    hr__training_free(t);
    return code;
}

static const flag flags[] = {TRAINING_FLAGS, {0}};

const command command_predict = {
    .name = "predict",
    .arguments = "FILE.yaml",
    .summary = "prints a trained model's probability for each row",
    .text = "Prints the probability of class 1 for each record of the file's eval_files, one a line, in a fixed order: "
            "the files are interleaved as in evaluate. The latest checkpoint is asked.",
    .examples = "  headrace predict flights.yaml --data data --model-dir data/model > probabilities.txt\n",
    .flags = flags,
    .least_arguments = 1,
    .most_arguments = 1,
    .run = run,
};
