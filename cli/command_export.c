/* headrace export: a trained model as a SavedModel, which headrace serve and TensorFlow Serving load. */
#include "cli/cli_training.h"

static int export_run(command_call *call)
{
    hr_training *t;
    char *path = NULL;
    hr_error err = {0};
    const int code = open_training(call, &t);
    if (code != WORKED) return code;
    const hr_status st =
        hr_training_export(t, call_argument(call, 1), &path, &err, .raw = flag_given(call, "raw"),
                           .text = flag_given(call, "as-text"), .checkpoint_path = flag_text(call, "checkpoint"));
    hr_training_free(t);
    if (st != HR_OK) return failed(call, &err);
    printf("%s\n", path);
    hr_free(path);
    return WORKED;
}

static const flag flags[] = {
    TRAINING_FLAGS,
    {FLAG_TEXT, "checkpoint", 0, "PREFIX", "this checkpoint; default: the newest complete one in the model's folder"},
    {FLAG_SWITCH, "raw", 0, NULL,
     "requests have a dense tensor for each feature; default: serialized Examples of the schema"},
    {FLAG_SWITCH, "as-text", 0, NULL, "write saved_model.pbtxt"},
    {0},
};

const command command_export = {
    .name = "export",
    .arguments = "FILE.yaml FOLDER",
    .summary = "writes a trained model as a SavedModel, for a server",
    .text = "Writes the graph for predictions, the values of a checkpoint, vocabularies and signatures to "
            "FOLDER/<seconds since 1970>, and prints that name. Each export is a version for headrace serve and "
            "TensorFlow Serving: give FOLDER as --model_base_path.",
    .examples = "  headrace export flights.yaml export/flights --model-dir data/model\n"
                "  headrace export flights.yaml export/flights --raw\n"
                "  headrace serve --model_name=flights --model_base_path=$PWD/export/flights\n",
    .flags = flags,
    .min_arguments = 2,
    .max_arguments = 2,
    .run = export_run,
};
