/* headrace explain: what the input of a training, or a pipeline in a file, will do, before anything runs. */
#include "cli/cli_training.h"

static int explain_run(command_call *call)
{
    input in;
    int code = open_input(call, &in);
    if (code != 0) return code;
    char *text = hr_explain_dataset(in.dataset);
    if (text) fputs(text, stdout);
    if (hr_dataset_error(in.dataset)) code = failed(call, hr_dataset_error(in.dataset));
    hr_free(text);
    hr_dataset_unref(in.dataset);
    close_input(&in);
    return code;
}

static const flag flags[] = {PIPELINE_FLAG, TRAINING_FLAGS, {0}};

const command command_explain = {
    .name = "explain",
    .arguments = "FILE.yaml",
    .summary = "shows the stages of an input, without running it",
    .text =
        "Prints the stages that the pipeline is cut into, from the one that gives batches down to the files: which "
        "operators each has, what it gives, and what is done in another place than it was written. Opens no data. A "
        "file may have a section pipeline: instead of a training, or beside it (--pipeline). `headrace bench "
        "--explain` says what each stage did, and which one is the bottleneck.",
    .examples = "  headrace explain flights.yaml\n"
                "  headrace explain --pipeline flights.yaml\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = explain_run,
};
