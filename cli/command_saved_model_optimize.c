/* headrace saved-model optimize: a SavedModel frozen and rewritten for use. */
#include "cli/command.h"
#include <headrace/pass.h>
#include <headrace/saved_model.h>
#include <headrace/transforms.h>
#include <string.h>

/* All of --transforms, one after the other, after those for inference. Gives *out (hr_free); NULL: there are none. */
static hr_status join_transforms(const command_call *call, char **out, hr_error *err)
{
    const bool inference = flag_given(call, "for-inference");
    size_t size = sizeof HR_OPTIMIZE_FOR_INFERENCE + 32;
    *out = NULL;
    for (int i = 0; i < flag_count(call, "transforms"); i++) size += strlen(flag_nth(call, "transforms", i)) + 1;
    if (!inference && flag_count(call, "transforms") == 0) return HR_OK;
    char *all = *out = hr_calloc(size, 1);
    if (!all) return hr_no_memory(err, "transforms");
    if (inference) strcat(all, "inline_functions " HR_OPTIMIZE_FOR_INFERENCE);
    for (int i = 0; i < flag_count(call, "transforms"); i++) {
        strcat(all, " ");
        strcat(all, flag_nth(call, "transforms", i));
    }
    return HR_OK;
}

/* 0, or the exit code of a wrong command line. */
static int check_optimize_flags(const command_call *call)
{
    hr_error err;
    if (!flag_given(call, "output")) return usage_error(call, "expected --output with the folder to write");
    for (int i = 0; i < flag_count(call, "transforms"); i++)
        if (hr_transforms_check(flag_nth(call, "transforms", i), &err) != HR_OK)
            return usage_error(call, "--transforms: %s", err.text);
    if (flag_given(call, "passes") && hr_rewrite_check(flag_text(call, "passes"), &err) != HR_OK)
        return usage_error(call, "--passes: %s", err.text);
    return 0;
}

static int saved_model_optimize_run(command_call *call)
{
    hr_saved_model *m = NULL;
    hr_error err = {0};
    char *transforms = NULL;
    const int code = check_optimize_flags(call);
    if (code != 0) return code;
    hr_status st = hr_saved_model_load(call_argument(call, 0), &m, &err, .tags = flag_text(call, "tag-set"));
    if (st == HR_OK) st = join_transforms(call, &transforms, &err);
    if (st == HR_OK)
        st = hr_saved_model_rewrite(m, flag_text(call, "output"), &err, .freeze = !flag_given(call, "keep-variables"),
                                    .transforms = transforms, .passes = flag_text(call, "passes"),
                                    .text = flag_given(call, "as-text"));
    hr_free(transforms);
    hr_saved_model_unref(m);
    return st == HR_OK ? WORKED : failed(call, &err);
}

static const flag flags[] = {
    {FLAG_TEXT, "output", 'o', "DIR", "the folder to write"},
    {FLAG_TEXT, "tag-set", 0, "TAGS", "of several graphs, that of these tags, such as serve,gpu"},
    {FLAG_SWITCH, "keep-variables", 0, NULL, "variables stay; default: they become constants"},
    {FLAG_SWITCH, "for-inference", 0, NULL, "then inline functions and run the transforms of optimize_for_inference"},
    {FLAG_REPEATED, "transforms", 't', "TEXT", "then run these, such as \"fold_constants remove_nodes(op=Identity)\""},
    {FLAG_TEXT, "passes", 0, "NAMES", "then run these passes of the session: names with commas, exact, all"},
    {FLAG_SWITCH, "as-text", 0, NULL, "write saved_model.pbtxt"},
    {0},
};

const command command_saved_model_optimize = {
    .name = "saved-model optimize",
    .arguments = "DIR",
    .summary = "writes a SavedModel again, smaller and faster: frozen, transformed",
    .text = "Loads a SavedModel and writes what its signatures and its initializer need. Signatures and files stay. "
            "\"headrace graph optimize --list\" lists transforms and passes.",
    .examples = "  headrace saved-model optimize export/1700000000 --for-inference -o small\n"
                "  headrace saved-model optimize model -t 'quantize_weights(minimum_size=1024)' -o small\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = saved_model_optimize_run,
    .underscores = true,
};
