/* headrace explain: what the input of a training file will do, before anything runs. */
#include "cli/training.h"

static int run(command_call *call)
{
    hr__training *t;
    int code = open_training(call, &t);
    if (code != 0) return code;
    hr_dataset *ds = hr__training_input(t);
    char *text = hr_explain_dataset(ds);
    if (text) fputs(text, stdout);
    if (hr_dataset_error(ds)) code = failed(call, hr_dataset_error(ds));
    hr_free(text);
    hr_dataset_unref(ds);
    hr__training_free(t);
    return code;
}

static const flag flags[] = {TRAINING_FLAGS, {0}};

const command command_explain = {
    .name = "explain",
    .arguments = "FILE.yaml",
    .summary = "shows the stages of a training's input, without running it",
    .text =
        "Prints the stages that the pipeline is cut into, from the one that gives batches down to the files: which\n"
        "operators each has, what it gives, and what is done in another place than it was written. Opens no data.\n"
        "`headrace bench --explain` says what each stage did, and which one is the bottleneck.",
    .examples = "  headrace explain flights.yaml\n",
    .flags = flags,
    .least_arguments = 1,
    .most_arguments = 1,
    .run = run,
};
