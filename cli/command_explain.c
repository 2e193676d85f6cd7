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
    .summary = "shows the stages of an input without running it",
    .text = "Prints the stages of the pipeline, from the one that gives batches down to the files: the operators of "
            "each, its output, and operators that the engine has moved. It opens no data. The "
            "file has a training, a section pipeline:, or both; --pipeline selects the section. `headrace bench "
            "--explain` shows what each stage did, and which one is the bottleneck.",
    .examples = "  headrace explain flights.yaml\n"
                "  headrace explain --pipeline flights.yaml\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = explain_run,
};
