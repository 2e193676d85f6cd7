/* headrace graph convert: bytes and text, GraphDef and MetaGraphDef. */
#include "cli/graph_files.h"

static int graph_convert_run(command_call *call)
{
    graph_file file = {NULL, NULL};
    hr_error err = {0};
    const char *out = flag_text(call, "output");
    if (!out) return usage_error(call, "expected --output with the file to write");
    if (flag_given(call, "graph") && flag_given(call, "meta"))
        return usage_error(call, "expected one of --graph and --meta, found both");
    hr_status st = read_graph_file(call, &file, &err);
    const bool meta = flag_given(call, "meta") || is_meta_name(out) || (file.meta && !flag_given(call, "graph"));
    if (st == HR_OK)
        st = write_graph_file(out, file.graph, file.meta, meta && !flag_given(call, "graph"),
                              flag_given(call, "strip-default-attrs"), &err);
    clear_graph_file(&file);
    return st == HR_OK ? WORKED : failed(call, &err);
}

static const flag flags[] = {
    {FLAG_TEXT, "output", 'o', "OUT",
     "the file to write, as text if its name ends in .pbtxt; -: bytes to standard output"},
    {FLAG_SWITCH, "graph", 0, NULL, "write a GraphDef; default: what the file is"},
    {FLAG_SWITCH, "meta", 0, NULL, "write a MetaGraphDef; default: what the file is, or the name says (.meta)"},
    {FLAG_SWITCH, "strip-default-attrs", 0, NULL, "leave attributes out that have the op's default, for older readers"},
    TAG_SET_FLAG,
    {0},
};

const command command_graph_convert = {
    .name = "graph convert",
    .arguments = "FILE",
    .summary = "converts a graph between bytes and text, GraphDef and MetaGraphDef",
    .text = "Reads a GraphDef, a MetaGraphDef or a SavedModel, as bytes, or as text if the name ends in .pbtxt, and "
            "writes it again. All "
            "nodes are checked: ops, names, attributes, types and shapes.",
    .examples = "  headrace graph convert graph.pb -o graph.pbtxt\n"
                "  headrace graph convert model.ckpt-1000.meta --graph -o graph.pb\n",
    .flags = flags,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = graph_convert_run,
};
