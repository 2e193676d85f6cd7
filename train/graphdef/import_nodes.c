/* Nodes of a file: their edges, an order in which they can be made, the nodes. */
#include "train/graphdef/graphdef_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names and edges ---- */

static hr_status import_refuse(const hr__nodes_import *in, const proto_node *n, const char *kind, const char *expected,
                               const char *got)
{
    return hr_fail(in->err, HR_INVALID_ARGUMENT, kind, "node '%.100s': expected %s, got '%.100s'", n->name, expected,
                   got);
}

static hr_status list_names(hr__nodes_import *in)
{
    for (size_t i = 0; i < (size_t)in->count; i++) {
        const proto_node *n = in->from[i];
        const hr_status st = hr__map_add(&in->names, n->name, strlen(n->name), (int64_t)i, in->err);
        if (st == HR_ALREADY_EXISTS) return import_refuse(in, n, "graph.name", "a name of its own", n->name);
        HR_TRY(st);
    }
    for (int32_t i = 0; i < in->inputs; i++) {
        const hr_status st =
            hr__map_add(&in->names, in->input_name[i], strlen(in->input_name[i]), in->count + i, in->err);
        if (st == HR_ALREADY_EXISTS)
            return hr_fail(in->err, HR_INVALID_ARGUMENT, "graph.name",
                           "expected an input of a name of its own, got '%.100s'", in->input_name[i]);
        HR_TRY(st);
    }
    return HR_OK;
}

static int32_t number_of(const hr__nodes_import *in, const char *name, size_t size)
{
    const int64_t *found = hr__map_find(&in->names, name, size);
    return found ? (int32_t)*found : -1;
}

/* "node", "node:1", "^node"; in a function "input", "node:output:0", "^node". False: none of these. */
static bool read_edge(const hr__nodes_import *in, const char *text, hr__edge *out)
{
    const bool control = *text == '^';
    const char *name = text + control, *last = strrchr(name, ':');
    char *end = NULL;
    const bool port = last && isdigit((unsigned char)last[1]);
    const long output = port ? strtol(last + 1, &end, 10) : 0;
    *out = (hr__edge){.output = control ? -1 : (int32_t)output};
    if (port && (*end || output > INT32_MAX / 2 || control)) return false;
    size_t size = port ? (size_t)(last - name) : strlen(name);
    const char *first = port && in->in_function ? memchr(name, ':', size) : NULL;
    if (first) {
        out->port = first + 1;
        out->port_size = (size_t)(last - first) - 1;
        size = (size_t)(first - name);
    }
    out->node = number_of(in, name, size);
    return out->node < in->count || output == 0;
}

static hr_status read_input(const hr__nodes_import *in, const proto_node *n, const char *text, hr__edge *out)
{
    if (!read_edge(in, text, out))
        return import_refuse(in, n, "graph.input",
                             in->in_function ? "an input as input, node:output:0 or ^node"
                                             : "an input as node, node:output or ^node",
                             text);
    return out->node >= 0 ? HR_OK : import_refuse(in, n, "graph.input", "an input that the file has", text);
}

static hr_status read_edges(hr__nodes_import *in)
{
    size_t edges = 0;
    const size_t nodes = (size_t)in->count;
    for (size_t i = 0; i < nodes; i++) edges += in->from[i]->n_input;
    in->first = hr__arena_get(&in->memory->arena, (nodes + 1) * sizeof *in->first);
    in->edge = hr__arena_get(&in->memory->arena, (edges + 1) * sizeof *in->edge);
    in->order = hr__arena_get(&in->memory->arena, (2 * nodes + 1) * sizeof *in->order);
    in->node = hr__arena_get(&in->memory->arena, (nodes + 1) * sizeof *in->node);
    if (!in->first || !in->edge || !in->order || !in->node || edges > INT32_MAX)
        return hr_no_memory(in->err, "a graph");
    for (size_t i = 0; i < nodes; i++) {
        const proto_node *n = in->from[i];
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
static hr_status check_device(const hr__nodes_import *in, const proto_node *n)
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

/* "loc:@node" of _class; in a function, it may be a node of its caller. */
static hr_status check_colocation(const hr__nodes_import *in, const proto_node *n, const hr_attr *a)
{
    for (int i = 0; !in->in_function && strcmp(a->name, "_class") == 0 && a->kind == HR_ATTR_STRINGS && i < a->count;
         i++) {
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

static void warn_of(const hr__nodes_import *in, const proto_node *n, const char *name)
{
    char text[300];
    if (!in->opts->warn || *name == '_') return;
    snprintf(text, sizeof text, "node '%.100s' (%.60s): the op knows no attribute '%.60s'; it is kept", n->name, n->op,
             name);
    in->opts->warn(text, in->opts->user);
}

static hr_status read_attrs(hr__nodes_import *in, const proto_node *n, const hr__signature *sig, hr_attr *attrs)
{
    for (size_t i = 0; i < n->n_attr; i++) {
        const char *key = n->attr[i]->key;
        const int at = hr__signature_attr(sig, key, strlen(key));
        const hr_status st =
            hr__attr_of_message(in->memory, n->attr[i], at >= 0 ? sig->attr[at].kind : 0, &attrs[i], in->err);
        if (st != HR_OK) hr_error_prefix(in->err, "node '%.100s': ", n->name);
        HR_TRY(st);
        for (size_t j = 0; j < i; j++)
            if (strcmp(attrs[j].name, key) == 0) return import_refuse(in, n, "graph.attr", "an attribute once", key);
        if (at < 0) warn_of(in, n, key);
        HR_TRY(check_colocation(in, n, &attrs[i]));
    }
    return HR_OK;
}

/* None: the node has no such output. */
static hr_node edge_source(const hr__nodes_import *in, const hr__edge *edge)
{
    if (edge->node >= in->count)
        return edge->output < 0 ? hr_target(in->input[edge->node - in->count]) : in->input[edge->node - in->count];
    hr_node from = in->node[edge->node];
    if (edge->port) return hr__output_named(from, edge->port, edge->port_size, edge->output);
    from.output = edge->output;
    return edge->output < hr_node_outputs(from) ? from : (hr_node){0};
}

static hr_status wire(hr__nodes_import *in, int32_t number, hr_node *inputs, int *data)
{
    const proto_node *n = in->from[number];
    for (int32_t e = in->first[number]; e < in->first[number + 1]; e++) {
        hr_node *input = &inputs[e - in->first[number]];
        const bool back = e > in->first[number] && hr__is_back_edge(in, in->edge[e].node, number);
        *input = back ? inputs[0] : edge_source(in, &in->edge[e]); /* set once its node is there */
        if (!hr_node_exists(*input))
            return import_refuse(in, n, "graph.input", "an output that the node has", n->input[e - in->first[number]]);
        *data += in->edge[e].output >= 0;
    }
    return HR_OK;
}

static const char *whole_name(hr__nodes_import *in, const char *name)
{
    if (in->in_function || !in->opts->prefix || !*in->opts->prefix) return name;
    const size_t size = strlen(in->opts->prefix) + strlen(name) + 2;
    char *whole = hr__arena_get(&in->memory->arena, size);
    if (whole) snprintf(whole, size, "%s/%s", in->opts->prefix, name);
    return whole;
}

/* An op that TensorFlow has given up is taken from files of its time alone, and the graph is of that time, then. */
static hr_status check_age(const hr__nodes_import *in, const proto_node *n)
{
    hr_graph *root = hr__root(in->g);
    const int removed = hr__op_removed_in(n->op);
    if (removed == 0) return HR_OK;
    if (in->memory->producer >= removed)
        return hr_fail(in->err, HR_UNIMPLEMENTED, "graphdef.deprecated",
                       "node '%.100s': expected an op of graph version %d, got %s, which graphs have no more since "
                       "version %d",
                       n->name, in->memory->producer, n->op, removed);
    if (root->producer >= removed) root->producer = removed - 1;
    return HR_OK;
}

static hr_status import_node(hr__nodes_import *in, int32_t number)
{
    const proto_node *n = in->from[number];
    hr_node *inputs = hr__arena_get(&in->memory->arena, (n->n_input + 1) * sizeof *inputs);
    hr_attr *attrs = hr__arena_get(&in->memory->arena, (n->n_attr + 1) * sizeof *attrs);
    const char *name = whole_name(in, n->name);
    int data = 0;
    if (!inputs || !attrs || !name) return hr_no_memory(in->err, "a graph");
    const hr__signature *sig = hr__graph_signature(in->g, n->op, in->err);
    if (!sig) {
        hr_error_prefix(in->err, "node '%.100s': ", n->name);
        return in->err ? in->err->code : HR_NOT_FOUND;
    }
    HR_TRY(check_age(in, n));
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

/* ---- loops of TensorFlow 1 ---- */

/* A Merge takes what comes back from the end of its loop. */
static hr_status list_back_edges(hr__nodes_import *in)
{
    for (int32_t to = 0; to < in->count; to++)
        for (int32_t e = in->first[to]; e < in->first[to + 1]; e++) {
            const int32_t from = in->edge[e].node;
            if (!hr__is_back_edge(in, from, to)) continue;
            if (e == in->first[to] || in->edge[e].output != 0 || in->taken_back[from])
                return import_refuse(in, in->from[to], "graphdef.loop",
                                     "a Merge of an Enter and a NextIteration of its own", in->from[from]->name);
            in->taken_back[from] = 1 + e;
        }
    return HR_OK;
}

static hr_status close_loop(hr__nodes_import *in, int32_t number, int32_t merge)
{
    const hr_node to = in->node[merge];
    if (!hr_node_exists(to))
        return import_refuse(in, in->from[merge], "graphdef.loop", "a Merge of an Enter before the NextIteration",
                             in->from[number]->name);
    HR_TRY(hr__node_rewire(to, in->taken_back[number] - 1 - in->first[merge], in->node[number], in->err));
    in->g->nodes[to.id]->shape[0] = HR_UNKNOWN_SHAPE;
    return HR_OK;
}

/* Takes its value from the While that was made of its loop. */
static void leave_loop(hr__nodes_import *in, int32_t number)
{
    const hr_node exit = in->node[number], turn = hr_node_input(exit, 0);
    if (turn.output == 0 && in->loop_output[turn.id].graph) hr__node_of(exit)->instead = in->loop_output[turn.id];
}

/* Of an edge by its number, the node that takes it. */
static int32_t taker_of(const hr__nodes_import *in, int32_t edge)
{
    int32_t low = 0, high = in->count;
    while (high - low > 1) {
        const int32_t middle = low + (high - low) / 2;
        if (in->first[middle] <= edge)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static hr_status import_with_loops(hr__nodes_import *in, hr__loops *loops)
{
    in->loop_output = hr__arena_get(&in->memory->arena, loops->most * sizeof *in->loop_output);
    in->taken_back = hr__arena_get(&in->memory->arena, ((size_t)in->count + 1) * sizeof *in->taken_back);
    if (!in->loop_output || !in->taken_back) return hr_no_memory(in->err, "a graph");
    HR_TRY(list_back_edges(in));
    for (int32_t i = 0; i < in->count + loops->count; i++) {
        const int32_t number = in->order[i];
        if (number >= in->count) {
            HR_TRY(hr__loop_raise(in, loops, number - in->count));
            continue;
        }
        HR_TRY(import_node(in, number));
        const int32_t frame = loops->frame[number];
        const bool exit = strcmp(in->from[number]->op, "Exit") == 0 && frame >= 0;
        hr__node_of(in->node[number])->in_loop = exit ? loops->parent[frame] >= 0 : frame >= 0;
        if (in->taken_back[number]) HR_TRY(close_loop(in, number, taker_of(in, in->taken_back[number] - 1)));
        if (exit) leave_loop(in, number);
    }
    return HR_OK;
}

static hr_status import_in_order(hr__nodes_import *in, hr__loops *loops)
{
    HR_TRY(hr__graph_order(in, loops->frame ? loops : NULL));
    in->place = hr_graph_size(in->g);
    if (loops->frame) return import_with_loops(in, loops);
    for (int32_t i = 0; i < in->count; i++) HR_TRY(import_node(in, in->order[i]));
    return HR_OK;
}

hr_status hr__import_nodes(hr__nodes_import *in)
{
    hr__loops loops;
    HR_TRY(list_names(in));
    HR_TRY(read_edges(in));
    hr_status st = hr__loops_find(in, &loops);
    if (st == HR_OK) st = import_in_order(in, &loops);
    hr__loops_end(&loops);
    return st;
}

hr_status hr__import_result(hr__nodes_import *in, const char *text, bool control, hr_node *out)
{
    hr__edge edge;
    const bool read = read_edge(in, text, &edge) && edge.node >= 0;
    if (control) edge.output = -1;
    if (read) *out = edge_source(in, &edge);
    if (hr_node_exists(*out)) return HR_OK;
    return hr_fail(in->err, HR_INVALID_ARGUMENT, "graph.input", "expected a result that the function has, got '%.100s'",
                   text);
}

void hr__import_end(hr__nodes_import *in) { hr__map_free(&in->names); }
