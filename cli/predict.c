/* headrace predict: the probability of each row of eval_files, a line each, in the order of the files. */
#include "cli/training.h"
#include <string.h>

static hr_status print_batch(const hr_element *element, const char *const *names, const hr_tensor *predictions,
                             int count, void *user, hr_error *err)
{
    (void)element, (void)user, (void)err;
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], "logistic") != 0) continue;
        const float *p = predictions[i].data;
        for (int64_t r = 0; r < predictions[i].count; r++) printf("%.9g\n", (double)p[r]);
    }
    return ferror(stdout) ? hr_fail(err, HR_RESOURCE_EXHAUSTED, "cli.write", "standard output cannot be written")
                          : HR_OK;
}

static int run(command_call *call)
{
    hr__training *t;
    hr_error err = {0};
    int code = open_training(call, &t);
    if (code != 0) return code;
    hr_estimator *e = hr__training_eval_files(t) ? hr__training_estimator(t) : NULL;
    hr_status st = HR_INVALID_ARGUMENT;
    if (!hr__training_eval_files(t))
        hr_fail(&err, st, "cli.predict", "%s: train: expected a key 'eval_files', the rows to predict",
                call_argument(call, 0));
    else if (!e)
        st = hr_no_memory(&err, "an estimator");
    else if ((st = hr_estimator_predict(e, hr__training_eval_input, t, print_batch, NULL)) != HR_OK)
        err = *hr_estimator_error(e);
    code = st == HR_OK ? 0 : failed(call, &err);
    hr_estimator_free(e);
    hr__training_free(t);
    return code;
}

static const flag flags[] = {TRAINING_FLAGS, {0}};

const command command_predict = {
    .name = "predict",
    .arguments = "FILE.yaml",
    .summary = "prints a trained model's probability for each row",
    .text = "Prints the probability of class 1 for each record of the file's eval_files, one a line, in a fixed order: "
            "the\n"
            "files are interleaved as in evaluate.",
    .examples = "  headrace predict flights.yaml --data data --model-dir data/model > probabilities.txt\n",
    .flags = flags,
    .least_arguments = 1,
    .most_arguments = 1,
    .run = run,
};
