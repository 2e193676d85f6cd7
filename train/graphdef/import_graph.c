/* Reads a GraphDef: the message, its edges, an order in which its nodes can be made, the nodes. */
#include "train/graphdef/graphdef_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct importer {
    hr_graph *g;
    const hr_graph_import_opts *opts;
    proto_graph *graph;
    hr__import_memory memory;
    hr__map names;  /* to the number in the file */
    int32_t *first; /* edges of node i: from edge[first[i]] to edge[first[i + 1]] */
    hr__edge *edge;
    int32_t *order;
    hr_node *node; /* by number in the file, once made */
    int32_t place; /* of the first one in the graph */
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

/* ---- names and edges ---- */

static hr_status import_refuse(const importer *in, const proto_node *n, const char *kind, const char *expected,
                               const char *got)
{
    return hr_fail(in->err, HR_INVALID_ARGUMENT, kind, "node '%.100s': expected %s, got '%.100s'", n->name, expected,
                   got);
}

static hr_status list_names(importer *in)
{
    for (size_t i = 0; i < in->graph->n_node; i++) {
        const proto_node *n = in->graph->node[i];
        const hr_status st = hr__map_add(&in->names, n->name, strlen(n->name), (int64_t)i, in->err);
        if (st == HR_ALREADY_EXISTS) return import_refuse(in, n, "graph.name", "a name of its own", n->name);
        HR_TRY(st);
    }
    return HR_OK;
}

static int32_t number_of(const importer *in, const char *name, size_t size)
{
    const int64_t *found = hr__map_find(&in->names, name, size);
    return found ? (int32_t)*found : -1;
}

/* "node", "node:1", "^node". */
static hr_status read_input(const importer *in, const proto_node *n, const char *text, hr__edge *out)
{
    const bool control = *text == '^';
    const char *name = text + control, *colon = strrchr(name, ':');
    char *end = NULL;
    const bool port = colon && isdigit((unsigned char)colon[1]);
    const long output = port ? strtol(colon + 1, &end, 10) : 0;
    *out =
        (hr__edge){number_of(in, name, port ? (size_t)(colon - name) : strlen(name)), control ? -1 : (int32_t)output};
    if (out->node < 0) return import_refuse(in, n, "graph.input", "an input that the file has", text);
    if (port && (*end || output > INT32_MAX / 2 || control))
        return import_refuse(in, n, "graph.input", "an input as node, node:output or ^node", text);
    return HR_OK;
}

static hr_status read_edges(importer *in)
{
    size_t edges = 0;
    const size_t nodes = in->graph->n_node;
    for (size_t i = 0; i < nodes; i++) edges += in->graph->node[i]->n_input;
    in->first = hr__arena_get(&in->memory.arena, (nodes + 1) * sizeof *in->first);
    in->edge = hr__arena_get(&in->memory.arena, (edges + 1) * sizeof *in->edge);
    in->order = hr__arena_get(&in->memory.arena, (nodes + 1) * sizeof *in->order);
    in->node = hr__arena_get(&in->memory.arena, (nodes + 1) * sizeof *in->node);
    if (!in->first || !in->edge || !in->order || !in->node || edges > INT32_MAX)
        return hr_no_memory(in->err, "a graph");
    for (size_t i = 0; i < nodes; i++) {
        const proto_node *n = in->graph->node[i];
        in->first[i + 1] = in->first[i];
        for (size_t j = 0; j < n->n_input; j++) {
            hr__edge *edge = &in->edge[in->first[i + 1]++];
            HR_TRY(read_input(in, n, n->input[j], edge));
            if (j > 0 && edge->output >= 0 && edge[-1].output < 0)
                return import_refuse(in, n, "graph.input", "control inputs after all others", n->input[j]);
        }
    }
    return HR_OK;
}

/* ---- devices and places ---- */

/* "/job:worker/replica:0/task:1/device:CPU:0", "/cpu:0". */
static hr_status check_device(const importer *in, const proto_node *n)
{
    static const char *const keys[] = {"job:", "replica:", "task:", "device:", "cpu:", "gpu:"};
    for (const char *at = n->device; *at;) {
        const size_t size = strcspn(at + 1, "/");
        bool known = *at == '/' && size == 0;
        for (size_t i = 0; i < sizeof keys / sizeof *keys && *at == '/'; i++)
            known |= strncasecmp(at + 1, keys[i], strlen(keys[i])) == 0;
        if (!known)
            return import_refuse(in, n, "graphdef.device", "a device as /job:NAME/replica:N/task:N/device:TYPE:N",
                                 n->device);
        at += 1 + size;
    }
    return HR_OK;
}

/* "loc:@node" of _class. */
static hr_status check_colocation(const importer *in, const proto_node *n, const hr_attr *a)
{
    for (int i = 0; strcmp(a->name, "_class") == 0 && a->kind == HR_ATTR_STRINGS && i < a->count; i++) {
        const hr_view s = a->strings[i];
        if (s.size < 5 || memcmp(s.data, "loc:@", 5) != 0 || number_of(in, s.data + 5, (size_t)s.size - 5) >= 0)
            continue;
        char name[100];
        snprintf(name, sizeof name, "%.*s", (int)(s.size < 90 ? s.size : 90), s.data);
        return import_refuse(in, n, "graphdef.colocation", "to be placed with a node that the file has", name);
    }
    return HR_OK;
}

/* ---- nodes ---- */

static void warn_of(const importer *in, const proto_node *n, const char *name)
{
    char text[300];
    if (!in->opts->warn || *name == '_') return;
    snprintf(text, sizeof text, "node '%.100s' (%.60s): the op knows no attribute '%.60s'; it is kept", n->name, n->op,
             name);
    in->opts->warn(text, in->opts->user);
}

static hr_status read_attrs(importer *in, const proto_node *n, const hr__signature *sig, hr_attr *attrs)
{
    for (size_t i = 0; i < n->n_attr; i++) {
        const char *key = n->attr[i]->key;
        const int at = hr__signature_attr(sig, key, strlen(key));
        const hr_status st =
            hr__attr_of_message(&in->memory, n->attr[i], at >= 0 ? sig->attr[at].kind : 0, &attrs[i], in->err);
        if (st != HR_OK) hr_error_prefix(in->err, "node '%.100s': ", n->name);
        HR_TRY(st);
        for (size_t j = 0; j < i; j++)
            if (strcmp(attrs[j].name, key) == 0) return import_refuse(in, n, "graph.attr", "an attribute once", key);
        if (at < 0) warn_of(in, n, key);
        HR_TRY(check_colocation(in, n, &attrs[i]));
    }
    return HR_OK;
}

static hr_status wire(importer *in, int32_t number, hr_node *inputs, int *data)
{
    const proto_node *n = in->graph->node[number];
    for (int32_t e = in->first[number]; e < in->first[number + 1]; e++) {
        const hr__edge edge = in->edge[e];
        hr_node from = in->node[edge.node];
        from.output = edge.output;
        if (edge.output >= hr_node_outputs(from))
            return import_refuse(in, n, "graph.input", "an output that the node has", n->input[e - in->first[number]]);
        *data += edge.output >= 0;
        inputs[e - in->first[number]] = from;
    }
    return HR_OK;
}

static const char *whole_name(importer *in, const char *name)
{
    if (!in->opts->prefix || !*in->opts->prefix) return name;
    const size_t size = strlen(in->opts->prefix) + strlen(name) + 2;
    char *whole = hr__arena_get(&in->memory.arena, size);
    if (whole) snprintf(whole, size, "%s/%s", in->opts->prefix, name);
    return whole;
}

static hr_status import_node(importer *in, int32_t number)
{
    const proto_node *n = in->graph->node[number];
    hr_node *inputs = hr__arena_get(&in->memory.arena, (n->n_input + 1) * sizeof *inputs);
    hr_attr *attrs = hr__arena_get(&in->memory.arena, (n->n_attr + 1) * sizeof *attrs);
    const char *name = whole_name(in, n->name);
    int data = 0;
    if (!inputs || !attrs || !name) return hr_no_memory(in->err, "a graph");
    const hr__signature *sig = hr__graph_signature(in->g, n->op, in->err);
    if (!sig) {
        hr_error_prefix(in->err, "node '%.100s': ", n->name);
        return in->err ? in->err->code : HR_NOT_FOUND;
    }
    HR_TRY(check_device(in, n));
    HR_TRY(read_attrs(in, n, sig, attrs));
    HR_TRY(wire(in, number, inputs, &data));
    const hr_node_opts opts = {.name = name,
                               .inputs = inputs,
                               .input_count = data,
                               .attrs = attrs,
                               .attr_count = (int)n->n_attr,
                               .controls = inputs + data,
                               .control_count = (int)n->n_input - data};
    HR_TRY(hr__node_import(in->g, n->op, n->device, &opts, &in->node[number], in->err));
    hr__node_of(in->node[number])->place = in->place + number;
    return HR_OK;
}

static hr_status import_nodes(importer *in)
{
    HR_TRY(list_names(in));
    HR_TRY(read_edges(in));
    HR_TRY(hr__graph_order(in->graph, in->edge, in->first, in->order, in->err));
    in->place = hr_graph_size(in->g);
    for (size_t i = 0; i < in->graph->n_node; i++) HR_TRY(import_node(in, in->order[i]));
    return HR_OK;
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
    if (st == HR_OK) st = import_nodes(&in);
    if (st != HR_OK) g->error = failed;
    if (st != HR_OK && err) *err = failed;
    if (in.graph) hr__message_free(&in.graph->base);
    hr__map_free(&in.names);
    hr__arena_free(&in.memory.arena);
    return st;
}
