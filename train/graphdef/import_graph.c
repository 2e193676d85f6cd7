/* Reads a GraphDef: the message, the functions of its library, its nodes. */
#include "train/graphdef/graphdef_internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct importer {
    hr_graph *g;
    const hr_graph_import_opts *opts;
    const proto_graph *graph;
    hr__import_memory memory;
    hr_error *err;
} importer;

/* ---- versions ---- */

/* TensorFlow's rule: who reads must not be older than the writer asks for, nor one of those that it names. */
static hr_status check_versions(const proto_graph *graph, hr_error *err)
{
    const Headrace__Proto__Version *v = graph->versions;
    if (!v) return HR_OK;
    if (v->producer < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.version", "expected a writer's version from 0 on, got %d",
                       v->producer);
    if (v->min_consumer > HR_GRAPH_VERSION)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.version",
                       "a graph for readers of version %d and later; this one has version %d, TensorFlow 2.15.1's",
                       v->min_consumer, HR_GRAPH_VERSION);
    for (size_t i = 0; i < v->n_bad_consumers; i++)
        if (v->bad_consumers[i] == HR_GRAPH_VERSION)
            return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.version",
                           "a graph that readers of version %d must not take, and this one has that version",
                           HR_GRAPH_VERSION);
    return HR_OK;
}

/* The graph is as old as the oldest of its parts, since older ops may be in it. */
static void take_versions(hr_graph *g, const proto_graph *graph)
{
    const int producer = graph->versions ? graph->versions->producer : 0;
    const int known = g->producer > 0 ? g->producer : HR_GRAPH_VERSION;
    g->producer = producer > 0 && producer < known ? producer : known;
    if (graph->versions && graph->versions->min_consumer > g->min_consumer)
        g->min_consumer = graph->versions->min_consumer;
}

/* ---- the parts ---- */

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

hr_status hr__import_graph_message(hr_graph *g, const proto_graph *graph, size_t bytes,
                                   const hr_graph_import_opts *opts, hr_error *err)
{
    importer in = {.g = g, .opts = opts, .graph = graph, .err = err};
    in.memory.left = (bytes + (4 << 20)) * 64;
    in.memory.producer = graph->versions ? graph->versions->producer : 0;
    if (graph->n_node > INT32_MAX / 2)
        return hr_fail(err, HR_RESOURCE_EXHAUSTED, "graphdef.nodes", "expected at most %d nodes, got %zu",
                       INT32_MAX / 2, graph->n_node);
    hr_status st = check_versions(graph, err);
    if (st == HR_OK) take_versions(g, graph);
    if (st == HR_OK) st = import_functions(&in);
    if (st == HR_OK) st = import_nodes(&in);
    hr__arena_free(&in.memory.arena);
    return st;
}

/* ---- bytes and text ---- */

hr_status hr__import_check(hr_graph *g, hr_view bytes, hr_error *err)
{
    if (!g) return hr_no_memory(err, "a graph");
    if (g->error.code != HR_OK) {
        if (err) *err = g->error;
        return g->error.code;
    }
    if (g->at_once)
        return hr_fail(err, HR_INVALID_ARGUMENT, "eager.graph",
                       "hr_graph_import: expected a graph that is not eager; read the file into one, and run it by a "
                       "session that shares variables");
    if (bytes.size >= 0 && (bytes.size == 0 || bytes.data)) return HR_OK;
    hr_fail(&g->error, HR_INVALID_ARGUMENT, "graphdef.argument",
            "hr_graph_import: expected bytes, got NULL or a negative size");
    if (err) *err = g->error;
    return HR_INVALID_ARGUMENT;
}

hr_status hr_graph_import_with(hr_graph *g, hr_view bytes, const hr_graph_import_opts *given, hr_error *err)
{
    const hr_graph_import_opts opts = HR_OPTIONS(hr_graph_import_opts, given);
    const ProtobufCMessageDescriptor *type = &headrace__proto__graph_def__descriptor;
    ProtobufCMessage *message = NULL;
    hr_error failed = {0};
    HR_TRY(hr__import_check(g, bytes, err));
    hr_status st = opts.text ? hr__message_read_text(type, bytes, &message, &failed)
                             : hr__message_read(type, bytes, &message, &failed);
    if (st == HR_OK)
        st =
            hr__import_graph_message(g, (const proto_graph *)(const void *)message, (size_t)bytes.size, &opts, &failed);
    if (st != HR_OK) g->error = failed;
    if (st != HR_OK && err) *err = failed;
    hr__message_free(message);
    return st;
}
