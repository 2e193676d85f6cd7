/* Writes a graph as a GraphDef, with the functions of its library. */
#include "train/graphdef/graphdef_internal.h"

#include <stdlib.h>

/* ---- bytes ---- */

hr_status hr__message_bytes(const ProtobufCMessage *message, char **bytes, size_t *size, hr_error *err)
{
    *size = protobuf_c_message_get_packed_size(message);
    *bytes = hr_malloc(*size + 1);
    if (!*bytes) return hr_no_memory(err, "a graph");
    protobuf_c_message_pack(message, (uint8_t *)*bytes);
    (*bytes)[*size] = 0;
    return HR_OK;
}

hr_status hr__message_as(bool text, const ProtobufCMessage *message, char **bytes, size_t *size, hr_error *err)
{
    return text ? hr__message_text(message, bytes, size, err) : hr__message_bytes(message, bytes, size, err);
}

/* ---- the message ---- */

static hr_status put_library(hr__arena *arena, const hr_graph_export_opts *opts, const hr_graph *g,
                             proto_graph *message, hr_error *err)
{
    Headrace__Proto__FunctionDefLibrary *library = hr__arena_get(arena, sizeof *library);
    if (!library) return hr_no_memory(err, "a graph");
    headrace__proto__function_def_library__init(library);
    library->function = hr__arena_get(arena, sizeof *library->function * (size_t)(g->function_count + 1));
    if (!library->function) return hr_no_memory(err, "a graph");
    for (int i = 0; i < g->function_count; i++)
        if (!g->functions[i]->hidden)
            HR_TRY(hr__function_message(arena, opts, g->functions[i], &library->function[library->n_function++], err));
    if (library->n_function > 0) message->library = library;
    return HR_OK;
}

static hr_status put_nodes(hr__arena *arena, const hr_graph_export_opts *opts, const hr_graph *g, proto_graph *message,
                           hr_error *err)
{
    hr__written w;
    HR_TRY(hr__written_begin(&w, g, NULL, err));
    message->node = hr__node_messages(arena, opts, &w, &message->n_node);
    hr__written_end(&w);
    return message->node ? HR_OK : hr_no_memory(err, "a graph");
}

hr_status hr__graph_message(hr__arena *arena, const hr_graph_export_opts *opts, const hr_graph *g, proto_graph **out,
                            hr_error *err)
{
    if (g->error.code != HR_OK) {
        if (err) *err = g->error;
        return g->error.code;
    }
    proto_graph *message = hr__arena_get(arena, sizeof *message);
    Headrace__Proto__Version *version = hr__arena_get(arena, sizeof *version);
    if (!message || !version) return hr_no_memory(err, "a graph");
    headrace__proto__graph_def__init(message);
    headrace__proto__version__init(version);
    version->producer = g->producer > 0 ? g->producer : HR_GRAPH_VERSION;
    version->min_consumer = g->min_consumer;
    message->versions = version;
    *out = message;
    HR_TRY(put_nodes(arena, opts, g, message, err));
    return put_library(arena, opts, g, message, err);
}

hr_status hr_graph_export_with(const hr_graph *g, char **bytes, size_t *size, const hr_graph_export_opts *given,
                               hr_error *err)
{
    const hr_graph_export_opts opts = HR_OPTIONS(hr_graph_export_opts, given);
    if (!g || !bytes || !size)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.argument",
                       "hr_graph_export: expected a graph, and places for its bytes and their size");
    hr__arena arena = {0};
    proto_graph *message;
    hr_status st = hr__graph_message(&arena, &opts, g, &message, err);
    if (st == HR_OK) st = hr__message_as(opts.text, &message->base, bytes, size, err);
    hr__arena_free(&arena);
    return st;
}
