/* Reads a GraphDef: the message, the functions of its library, its nodes. */
#include "train/graphdef/graphdef_internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct importer {
    hr_graph *g;
    const hr_graph_import_opts *opts;
    proto_graph *graph;
    hr__import_memory memory;
    hr_error *err;
} importer;

/* ---- the message ---- */

static hr_status read_message(importer *in, hr_view bytes)
{
    const ProtobufCMessageDescriptor *type = &headrace__proto__graph_def__descriptor;
    ProtobufCMessage *message;
    HR_TRY(in->opts->text ? hr__message_read_text(type, bytes, &message, in->err)
                          : hr__message_read(type, bytes, &message, in->err));
    in->graph = (proto_graph *)(void *)message;
    if (in->graph->n_node > INT32_MAX / 2)
        return hr_fail(in->err, HR_RESOURCE_EXHAUSTED, "graphdef.nodes", "expected at most %d nodes, got %zu",
                       INT32_MAX / 2, in->graph->n_node);
    const int needs = in->graph->versions ? in->graph->versions->min_consumer : 0;
    if (needs <= HR_GRAPH_VERSION) return HR_OK;
    return hr_fail(in->err, HR_INVALID_ARGUMENT, "graphdef.version",
                   "a graph for readers of version %d and later; this one has version %d, TensorFlow 2.15.1's", needs,
                   HR_GRAPH_VERSION);
}

static hr_status import_functions(importer *in)
{
    const Headrace__Proto__FunctionDefLibrary *library = in->graph->library;
    for (size_t i = 0; library && i < library->n_function; i++)
        HR_TRY(hr__import_function(in->g, in->opts, &in->memory, library->function[i], in->err));
    return HR_OK;
}

static hr_status import_nodes(importer *in)
{
    hr__nodes_import nodes = {.g = in->g,
                              .opts = in->opts,
                              .from = in->graph->node,
                              .count = (int32_t)in->graph->n_node,
                              .memory = &in->memory,
                              .err = in->err};
    const hr_status st = hr__import_nodes(&nodes);
    hr__import_end(&nodes);
    return st;
}

hr_status hr_graph_import_with(hr_graph *g, hr_view bytes, const hr_graph_import_opts *given, hr_error *err)
{
    const hr_graph_import_opts opts = HR_OPTIONS(hr_graph_import_opts, given);
    hr_error failed = {0};
    if (!g) return hr_no_memory(err, "a graph");
    if (g->error.code != HR_OK) {
        if (err) *err = g->error;
        return g->error.code;
    }
    importer in = {.g = g, .opts = &opts, .err = &failed};
    hr_status st = bytes.size < 0 || (bytes.size > 0 && !bytes.data)
                       ? hr_fail(&failed, HR_INVALID_ARGUMENT, "graphdef.argument",
                                 "hr_graph_import: expected bytes, got NULL or a negative size")
                       : HR_OK;
    in.memory.left = ((size_t)(bytes.size > 0 ? bytes.size : 0) + (4 << 20)) * 64;
    if (st == HR_OK) st = read_message(&in, bytes);
    if (st == HR_OK) st = import_functions(&in);
    if (st == HR_OK) st = import_nodes(&in);
    if (st != HR_OK) g->error = failed;
    if (st != HR_OK && err) *err = failed;
    if (in.graph) hr__message_free(&in.graph->base);
    hr__arena_free(&in.memory.arena);
    return st;
}
