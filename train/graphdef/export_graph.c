/* Writes a graph as a GraphDef: nodes in the order of their file, then as they were made. */
#include "train/graphdef/graphdef_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct exporter {
    const hr_graph *g;
    const hr_graph_export_opts *opts;
    hr__arena arena;
    proto_graph message;
} exporter;

/* ---- attributes ---- */

/* By what they are as bytes. */
static bool same_value(exporter *ex, const hr_attr *a, const hr_attr *b)
{
    if (a->kind != b->kind) return false;
    const proto_entry *x = hr__attr_message(&ex->arena, a), *y = hr__attr_message(&ex->arena, b);
    if (!x || !y) return false;
    const size_t size = protobuf_c_message_get_packed_size(&x->value->base);
    if (size != protobuf_c_message_get_packed_size(&y->value->base)) return false;
    uint8_t *bytes = hr__arena_get(&ex->arena, 2 * size + 1);
    if (!bytes) return false;
    protobuf_c_message_pack(&x->value->base, bytes);
    protobuf_c_message_pack(&y->value->base, bytes + size);
    return memcmp(bytes, bytes + size, size) == 0;
}

static bool is_default(exporter *ex, const hr__node *n, int i)
{
    if (i >= n->sig->attrs || !n->sig->attr[i].has_default) return false;
    return same_value(ex, &n->attr[i], &n->sig->attr[i].value);
}

static int entry_order(const void *a, const void *b)
{
    return strcmp((*(const proto_entry *const *)a)->key, (*(const proto_entry *const *)b)->key);
}

static hr_status put_attrs(exporter *ex, const hr__node *n, proto_node *m, hr_error *err)
{
    m->attr = hr__arena_get(&ex->arena, sizeof *m->attr * ((size_t)n->attrs + 1));
    if (!m->attr) return hr_no_memory(err, "a graph");
    for (int i = 0; i < n->attrs; i++) {
        if (ex->opts->strip_default_attrs && is_default(ex, n, i)) continue;
        m->attr[m->n_attr] = hr__attr_message(&ex->arena, &n->attr[i]);
        if (!m->attr[m->n_attr++]) return hr_no_memory(err, "a graph");
    }
    qsort(m->attr, m->n_attr, sizeof *m->attr, entry_order);
    return HR_OK;
}

/* ---- nodes ---- */

static char *input_text(exporter *ex, hr_node node)
{
    const char *name = hr_node_name(node);
    const size_t size = strlen(name) + 16;
    char *text = hr__arena_get(&ex->arena, size);
    if (!text) return NULL;
    if (node.output > 0)
        snprintf(text, size, "%s:%d", name, node.output);
    else
        snprintf(text, size, "%s%s", node.output < 0 ? "^" : "", name);
    return text;
}

static hr_status put_inputs(exporter *ex, const hr__node *n, proto_node *m, hr_error *err)
{
    m->input = hr__arena_get(&ex->arena, sizeof *m->input * (size_t)(n->inputs + n->controls + 1));
    if (!m->input) return hr_no_memory(err, "a graph");
    for (int i = 0; i < n->inputs + n->controls; i++) {
        m->input[i] = input_text(ex, i < n->inputs ? n->input[i] : n->control[i - n->inputs]);
        if (!m->input[i]) return hr_no_memory(err, "a graph");
    }
    m->n_input = (size_t)(n->inputs + n->controls);
    return HR_OK;
}

static hr_status put_node(exporter *ex, const hr__node *n, hr_error *err)
{
    proto_node *m = hr__arena_get(&ex->arena, sizeof *m);
    if (!m) return hr_no_memory(err, "a graph");
    headrace__proto__node_def__init(m);
    m->name = (char *)(uintptr_t)n->name;
    m->op = (char *)(uintptr_t)n->op->name;
    m->device = (char *)(uintptr_t)n->device;
    ex->message.node[ex->message.n_node++] = m;
    HR_TRY(put_inputs(ex, n, m, err));
    return put_attrs(ex, n, m, err);
}

static int node_order(const void *a, const void *b)
{
    const hr__node *x = *(const hr__node *const *)a, *y = *(const hr__node *const *)b;
    return (x->place > y->place) - (x->place < y->place);
}

static hr_status put_nodes(exporter *ex, hr_error *err)
{
    const size_t count = (size_t)ex->g->node_count;
    const hr__node **nodes = hr__arena_get(&ex->arena, sizeof *nodes * (count + 1));
    ex->message.node = hr__arena_get(&ex->arena, sizeof *ex->message.node * (count + 1));
    if (!nodes || !ex->message.node) return hr_no_memory(err, "a graph");
    for (size_t i = 0; i < count; i++) nodes[i] = ex->g->nodes[i];
    qsort(nodes, count, sizeof *nodes, node_order);
    for (size_t i = 0; i < count; i++) HR_TRY(put_node(ex, nodes[i], err));
    return HR_OK;
}

/* ---- bytes ---- */

static hr_status pack_message(const ProtobufCMessage *message, char **bytes, size_t *size, hr_error *err)
{
    *size = protobuf_c_message_get_packed_size(message);
    *bytes = hr_malloc(*size + 1);
    if (!*bytes) return hr_no_memory(err, "a graph");
    protobuf_c_message_pack(message, (uint8_t *)*bytes);
    (*bytes)[*size] = 0;
    return HR_OK;
}

hr_status hr_graph_export_with(const hr_graph *g, char **bytes, size_t *size, const hr_graph_export_opts *given,
                               hr_error *err)
{
    const hr_graph_export_opts opts = HR_OPTIONS(hr_graph_export_opts, given);
    if (!g || !bytes || !size)
        return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.argument",
                       "hr_graph_export: expected a graph, and places for its bytes and their size");
    if (g->error.code != HR_OK) {
        if (err) *err = g->error;
        return g->error.code;
    }
    exporter ex = {.g = g, .opts = &opts};
    Headrace__Proto__Version version = HEADRACE__PROTO__VERSION__INIT;
    version.producer = HR_GRAPH_VERSION;
    headrace__proto__graph_def__init(&ex.message);
    ex.message.versions = &version;
    hr_status st = put_nodes(&ex, err);
    if (st == HR_OK)
        st = opts.text ? hr__message_text(&ex.message.base, bytes, size, err)
                       : pack_message(&ex.message.base, bytes, size, err);
    hr__arena_free(&ex.arena);
    return st;
}
