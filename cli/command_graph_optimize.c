/* headrace graph optimize: a graph frozen, transformed, rewritten by passes. */
#include "cli/graph_files.h"
#include <headrace/pass.h>
#include <headrace/transforms.h>
#include <string.h>

/* What the graph is by now, and its inputs and outputs. */
typedef struct optimizing {
    hr_graph *graph;
    hr_node *output, *input;
    int outputs, inputs;
} optimizing;

static hr_status find_ends(const command_call *call, optimizing *o, hr_error *err)
{
    hr_free(o->output);
    hr_free(o->input);
    o->output = o->input = NULL;
    HR_TRY(nodes_of_flag(call, "outputs", o->graph, &o->output, &o->outputs, err));
    return nodes_of_flag(call, "inputs", o->graph, &o->input, &o->inputs, err);
}

/* Takes `next`. */
static hr_status go_on(const command_call *call, optimizing *o, hr_graph *next, hr_error *err)
{
    hr_graph_free(o->graph);
    o->graph = next;
    return find_ends(call, o, err);
}

static hr_status freeze(const command_call *call, optimizing *o, hr_error *err)
{
    hr_graph *next;
    hr_session *s = hr_session_new(o->graph);
    if (!s) return hr_no_memory(err, "a session");
    hr_status st = run_initializers(call, s, o->graph, err);
    if (st == HR_OK) st = hr_session_restore(s, flag_text(call, "freeze"), NULL, err);
    if (st == HR_OK) st = hr_freeze_graph(s, o->output, o->outputs, &next, err);
    hr_session_free(s);
    return st == HR_OK ? go_on(call, o, next, err) : st;
}

static hr_status transform(const command_call *call, optimizing *o, const char *transforms, hr_error *err)
{
    hr_graph *next;
    HR_TRY(hr_graph_transform(o->graph, transforms, o->output, o->outputs, &next, err, .inputs = o->input,
                              .input_count = o->inputs));
    return go_on(call, o, next, err);
}

static hr_status apply_passes(const command_call *call, optimizing *o, hr_error *err)
{
    hr_graph *next;
    HR_TRY(hr_graph_apply_passes(o->graph, flag_text(call, "passes"), o->output, o->outputs, &next, err,
                                 .inputs = o->input, .input_count = o->inputs));
    return go_on(call, o, next, err);
}

static hr_status optimize_all(const command_call *call, optimizing *o, hr_error *err)
{
    HR_TRY(find_ends(call, o, err));
    if (flag_given(call, "freeze")) HR_TRY(freeze(call, o, err));
    if (flag_given(call, "for-inference")) HR_TRY(transform(call, o, HR_OPTIMIZE_FOR_INFERENCE, err));
    for (int i = 0; i < flag_count(call, "transforms"); i++)
        HR_TRY(transform(call, o, flag_nth(call, "transforms", i), err));
    return flag_given(call, "passes") ? apply_passes(call, o, err) : HR_OK;
}

/* 0, or the exit code of a wrong command line. */
static int check_flags(const command_call *call)
{
    hr_error err;
    if (!flag_given(call, "output")) return usage_error(call, "expected --output with the file to write");
    for (int i = 0; i < flag_count(call, "transforms"); i++)
        if (hr_transforms_check(flag_nth(call, "transforms", i), &err) != HR_OK)
            return usage_error(call, "--transforms: %s", err.text);
    if (flag_given(call, "passes") && hr_rewrite_check(flag_text(call, "passes"), &err) != HR_OK)
        return usage_error(call, "--passes: %s", err.text);
    const bool ends = flag_given(call, "freeze") || flag_given(call, "for-inference") || flag_given(call, "passes");
    if (ends && !flag_given(call, "outputs"))
        return usage_error(call, "expected --outputs with the nodes whose values are wanted");
    return 0;
}

static void list_transforms(void)
{
    for (int i = 0; hr_transform_at(i); i++) {
        const hr_transform_info *t = hr_transform_at(i);
        printf("%s(%s): %s\n", t->name, t->arguments, t->text);
    }
    for (int i = 0; hr_graph_pass_at(i); i++)
        printf("pass %s: %s\n", hr_graph_pass_at(i)->name, hr_graph_pass_at(i)->text);
}

static int graph_optimize_run(command_call *call)
{
    graph_file file = {NULL, NULL};
    hr_error err = {0};
    if (flag_given(call, "list")) list_transforms();
    if (flag_given(call, "list")) return WORKED;
    if (call_arguments(call) != 1) return usage_error(call, "expected one file, found %d", call_arguments(call));
    const int code = check_flags(call);
    if (code != 0) return code;
    hr_status st = read_graph_file(call, &file, &err);
    optimizing o = {.graph = file.graph};
    const int32_t before = hr_graph_size(file.graph);
    if (st == HR_OK) st = optimize_all(call, &o, &err);
    const char *out = flag_text(call, "output");
    if (st == HR_OK) st = write_graph_file(out, o.graph, file.meta, is_meta_name(out), false, &err);
    if (st == HR_OK && !is_standard_output(out))
        printf("%s nodes became %s\n", with_commas(before), with_commas(hr_graph_size(o.graph)));
    file.graph = o.graph;
    hr_free(o.output);
    hr_free(o.input);
    clear_graph_file(&file);
    return st == HR_OK ? WORKED : failed(call, &err);
}

static const flag flags[] = {
    {FLAG_TEXT, "output", 'o', "OUT",
     "the file to write, as text if its name ends in .pbtxt; -: bytes to standard output"},
    {FLAG_LIST, "outputs", 0, "NAMES", "the nodes whose values are wanted"},
    {FLAG_LIST, "inputs", 0, "NAMES", "the nodes that are fed"},
    {FLAG_TEXT, "freeze", 0, "CHECKPOINT", "first make constants of the variables, of their values in a checkpoint"},
    {FLAG_REPEATED, "init", 0, "NAME", "with --freeze, run this node before: of variables that the checkpoint lacks"},
    {FLAG_SWITCH, "for-inference", 0, NULL, "then run the transforms of optimize_for_inference"},
    {FLAG_REPEATED, "transforms", 't', "TEXT", "then run these, such as \"fold_constants remove_nodes(op=Identity)\""},
    {FLAG_TEXT, "passes", 0, "NAMES", "then run these passes of the session: names with commas, exact, all"},
    {FLAG_SWITCH, "list", 0, NULL, "list transforms and passes instead"},
    TAG_SET_FLAG,
    {0},
};

const command command_graph_optimize = {
    .name = "graph optimize",
    .arguments = "[FILE]",
    .summary = "freezes a graph and rewrites it for inference",
    .text = "Reads a GraphDef, a MetaGraphDef or a SavedModel and writes what the outputs need, rewritten. Transforms "
            "have the names and "
            "arguments of TensorFlow's Graph Transform Tool; --list lists them. Outputs keep their names.",
    .examples = "  headrace graph optimize model.ckpt-1000.meta --freeze model.ckpt-1000 --outputs predictions "
                "--for-inference -o frozen.pb\n"
                "  headrace graph optimize frozen.pb --outputs y -t 'quantize_weights(minimum_size=1024)' -o small.pb\n"
                "  headrace graph optimize --list\n",
    .flags = flags,
    .min_arguments = 0,
    .max_arguments = 1,
    .run = graph_optimize_run,
};
