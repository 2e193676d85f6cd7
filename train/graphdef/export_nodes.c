/* Nodes as messages, in the order of their file, then as they were made. */
#include "train/graphdef/graphdef_internal.h"
#include <headrace/pass.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct exporter {
    const hr_graph_export_opts *opts;
    hr__arena *arena;
} exporter;

/* ---- attributes ---- */

/* By what they are as bytes. */
static bool same_value(const exporter *ex, const hr_attr *a, const hr_attr *b)
{
    if (a->kind != b->kind) return false;
    const proto_entry *x = hr__attr_message(ex->arena, a), *y = hr__attr_message(ex->arena, b);
    if (!x || !y) return false;
    const size_t size = protobuf_c_message_get_packed_size(&x->value->base);
    if (size != protobuf_c_message_get_packed_size(&y->value->base)) return false;
    uint8_t *bytes = hr__arena_get(ex->arena, 2 * size + 1);
    if (!bytes) return false;
    protobuf_c_message_pack(&x->value->base, bytes);
    protobuf_c_message_pack(&y->value->base, bytes + size);
    return memcmp(bytes, bytes + size, size) == 0;
}

static bool is_default(const exporter *ex, const hr__node *n, int i)
{
    if (i >= n->sig->attrs || !n->sig->attr[i].has_default) return false;
    return same_value(ex, &n->attr[i], &n->sig->attr[i].value);
}

static int entry_order(const void *a, const void *b)
{
    return strcmp((*(const proto_entry *const *)a)->key, (*(const proto_entry *const *)b)->key);
}

static bool put_attrs(const exporter *ex, const hr__node *n, proto_node *m)
{
    m->attr = hr__arena_get(ex->arena, sizeof *m->attr * ((size_t)n->attrs + 1));
    for (int i = 0; m->attr && i < n->attrs; i++) {
        if (ex->opts->strip_default_attrs && is_default(ex, n, i)) continue;
        m->attr[m->n_attr] = hr__attr_message(ex->arena, &n->attr[i]);
        if (!m->attr[m->n_attr++]) return false;
    }
    if (m->attr) qsort(m->attr, m->n_attr, sizeof *m->attr, entry_order);
    return m->attr != NULL;
}

/* ---- inputs ---- */

static bool is_input(const hr__written *w, hr_node node)
{
    for (int i = 0; w->function && i < w->function->inputs; i++)
        if (w->input[i].id == node.id) return true;
    return false;
}

char *hr__input_text(hr__arena *arena, const hr__written *w, hr_node node)
{
    const char *name = hr_node_name(node);
    int index = node.output;
    const bool by_name = w->function && node.output >= 0 && !is_input(w, node);
    const char *port = by_name ? hr__output_argument(node, &index) : "";
    const size_t length = strlen(name), size = length + strlen(port) + 20;
    char *text = hr__arena_get(arena, size);
    if (!text) return NULL;
    if (by_name) {
        snprintf(text, size, "%s:%s:%d", name, port, index);
    } else if (node.output > 0) {
        snprintf(text, size, "%s:%d", name, node.output);
    } else {
        const bool waits = node.output < 0;
        if (waits) *text = '^';
        memcpy(text + waits, name, length + 1);
    }
    return text;
}

static bool put_inputs(const exporter *ex, const hr__written *w, const hr__node *n, proto_node *m)
{
    m->input = hr__arena_get(ex->arena, sizeof *m->input * (size_t)(n->inputs + n->controls + 1));
    for (int i = 0; m->input && i < n->inputs + n->controls; i++) {
        m->input[i] = hr__input_text(ex->arena, w, i < n->inputs ? n->input[i] : n->control[i - n->inputs]);
        if (!m->input[i]) return false;
    }
    m->n_input = (size_t)(n->inputs + n->controls);
    return m->input != NULL;
}

/* ---- what is written ---- */

/* All that a graph has, or what the results of a function need. */
static hr_status copy_written(hr__written *w, hr_error *err)
{
    hr_graph *g = hr_function_graph(w->function);
    const hr_function *f = w->function;
    const int count = f ? f->outputs + f->controls : w->g->node_count;
    hr_node *fetch = hr_malloc(sizeof *fetch * ((size_t)count + 1));
    if (!fetch) return hr_no_memory(err, "a graph");
    for (int i = 0; i < count; i++)
        fetch[i] = !f               ? (hr_node){(hr_graph *)(uintptr_t)w->g, i, -1}
                   : i < f->outputs ? f->output[i]
                                    : f->control[i - f->outputs];
    if (!g) g = (hr_graph *)(uintptr_t)w->g; /* only read */
    const hr_status st =
        hr__rewrite_begin(g, f ? f->input : NULL, f ? f->inputs : 0, fetch, count, false, &w->copy, err);
    hr_free(fetch);
    if (st == HR_OK) w->g = hr_rewrite_graph(w->copy);
    return st;
}

hr_status hr__written_begin(hr__written *w, const hr_graph *g, const hr_function *function, hr_error *err)
{
    *w = (hr__written){.g = g, .function = function, .input = function ? function->input : NULL};
    if (!g->has_extended) return HR_OK;
    const int inputs = hr_function_inputs(function);
    w->input = hr_malloc(sizeof *w->input * ((size_t)inputs + 1));
    hr_status st = w->input ? copy_written(w, err) : hr_no_memory(err, "a graph");
    for (int i = 0; st == HR_OK && i < inputs; i++) w->input[i] = hr_rewrite_feed(w->copy, i);
    if (st != HR_OK) hr_free(w->input);
    return st;
}

void hr__written_end(hr__written *w)
{
    if (!w->copy) return;
    hr_free(w->input);
    hr_rewrite_free(w->copy);
}

hr_node hr__written_output(const hr__written *w, int i)
{
    return w->copy ? hr_rewrite_fetch(w->copy, i) : w->function->output[i];
}

hr_node hr__written_control(const hr__written *w, int i)
{
    return w->copy ? hr_rewrite_fetch(w->copy, w->function->outputs + i) : w->function->control[i];
}

/* ---- nodes ---- */

static proto_node *node_message(const exporter *ex, const hr__written *w, const hr__node *n)
{
    proto_node *m = hr__arena_get(ex->arena, sizeof *m);
    if (!m) return NULL;
    headrace__proto__node_def__init(m);
    m->name = (char *)(uintptr_t)n->name;
    m->op = (char *)(uintptr_t)n->op->name;
    m->device = (char *)(uintptr_t)n->device;
    return put_inputs(ex, w, n, m) && put_attrs(ex, n, m) ? m : NULL;
}

static int node_order(const void *a, const void *b)
{
    const hr__node *x = *(const hr__node *const *)a, *y = *(const hr__node *const *)b;
    return (x->place > y->place) - (x->place < y->place);
}

proto_node **hr__node_messages(hr__arena *arena, const hr_graph_export_opts *opts, const hr__written *w, size_t *count)
{
    const hr_graph *g = w->g;
    const exporter ex = {opts, arena};
    const hr__node **nodes = hr__arena_get(arena, sizeof *nodes * ((size_t)g->node_count + 1));
    proto_node **messages = hr__arena_get(arena, sizeof *messages * ((size_t)g->node_count + 1));
    *count = 0;
    if (!nodes || !messages) return NULL;
    for (int32_t i = 0; i < g->node_count && !g->at_once; i++) /* an eager graph has values, and its library */
        if (!g->nodes[i]->hidden && !is_input(w, (hr_node){NULL, i, 0})) nodes[(*count)++] = g->nodes[i];
    qsort(nodes, *count, sizeof *nodes, node_order);
    for (size_t i = 0; i < *count; i++)
        if (!(messages[i] = node_message(&ex, w, nodes[i]))) return NULL;
    return messages;
}
