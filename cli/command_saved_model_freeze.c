/* headrace saved-model freeze: the graph of a SavedModel as one file, with its variables as constants. */
#include "cli/command.h"
#include <headrace/saved_model.h>

static int saved_model_freeze_run(command_call *call)
{
    hr_saved_model *m = NULL;
    hr_graph *frozen = NULL;
    hr_error err = {0};
    const char *out = flag_text(call, "output");
    const hr_saved_model_rewrite_opts opts = {.struct_size = sizeof opts, .freeze = true};
    if (!out) return usage_error(call, "expected --output with the file to write");
    hr_status st = hr_saved_model_load(call_argument(call, 0), &m, &err, .tags = flag_text(call, "tag-set"));
    if (st == HR_OK) st = hr_saved_model_rewritten_graph(m, &opts, &frozen, &err);
    if (st == HR_OK) st = hr_graph_write(frozen, out, &err);
    if (st == HR_OK) printf("%s nodes\n", with_commas(hr_graph_size(frozen)));
    hr_graph_free(frozen);
    hr_saved_model_unref(m);
    return st == HR_OK ? WORKED : failed(call, &err);
}

static const flag flags[] = {
    {FLAG_TEXT, "output", 'o', "OUT", "the file to write, a GraphDef, as text if its name ends in .pbtxt"},
    {FLAG_TEXT, "tag-set", 0, "TAGS", "of several graphs, that of these tags, such as serve,gpu"},
    {0},
};

const command command_saved_model_freeze = {
    .name = "saved-model freeze",
    .arguments = "DIR",
    .summary = "writes the graph of a SavedModel with its variables as constants",
    .text = "Loads a SavedModel and writes a GraphDef with what its signatures and its initializer need. Their tensors "
            "keep their names: \"headrace graph run\" runs it. \"headrace saved-model optimize\" writes a SavedModel.",
    .examples = "  headrace saved-model freeze export/1700000000 -o frozen.pb\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = saved_model_freeze_run,
    .underscores = true,
};
