/* Which ops of a signature have no kernel: what a run needs, and all that the functions in it may call. */
#include "train/graph/graph_internal.h"
#include "train/saved_model/saved_model_internal.h"

#include <string.h>

typedef struct missing {
    hr_graph *graph; /* whose library has the functions */
    hr__map functions, ops;
    const hr_function **waiting; /* met, and not looked at yet */
    int count, capacity;
    hr__text *out;
} missing;

static hr_status missing_op(missing *m, const hr__node *n, hr_error *err)
{
    hr_error why;
    if (n->in_loop || n->hidden || hr__check_kernel(n, &why) == HR_OK) return HR_OK;
    const hr_status st = hr__map_add(&m->ops, n->op->name, strlen(n->op->name), 0, err);
    if (st == HR_ALREADY_EXISTS) return HR_OK;
    if (st == HR_OK) hr__text_printf(m->out, "%s%s", m->out->size ? ", " : "", n->op->name);
    return st;
}

static hr_status missing_function(missing *m, const hr_func *called, hr_error *err)
{
    const hr_function *f = hr_function_named(m->graph, called->name);
    const hr_status st = f ? hr__map_add(&m->functions, called->name, strlen(called->name), 0, err) : HR_ALREADY_EXISTS;
    if (st == HR_ALREADY_EXISTS) return HR_OK;
    HR_TRY(st);
    HR_TRY(hr__grow(&m->waiting, m->count, &m->capacity, sizeof *m->waiting, err));
    m->waiting[m->count++] = f;
    return HR_OK;
}

static hr_status missing_functions(missing *m, const hr__node *n, hr_error *err)
{
    for (int i = 0; i < n->attrs; i++) {
        const hr_attr *a = &n->attr[i];
        if (a->kind == HR_ATTR_FUNC) HR_TRY(missing_function(m, a->func, err));
        for (int k = 0; a->kind == HR_ATTR_FUNCS && k < a->count; k++) HR_TRY(missing_function(m, &a->funcs[k], err));
    }
    return HR_OK;
}

/* Nodes of one graph that were met. */
typedef struct met_nodes {
    bool *met;
    int32_t *stack, depth;
} met_nodes;

static void meet(met_nodes *w, const hr_graph *g, hr_node node)
{
    if (node.graph != g || node.id < 0 || w->met[node.id]) return;
    w->met[node.id] = true;
    w->stack[w->depth++] = node.id;
}

static hr_status missing_node(missing *m, met_nodes *w, hr_graph *g, int32_t id, hr_error *err)
{
    const hr__node *n = g->nodes[id];
    if (hr_node_exists(n->instead)) {
        meet(w, g, n->instead);
        return HR_OK;
    }
    for (int i = 0; i < n->inputs; i++) meet(w, g, n->input[i]);
    for (int i = 0; i < n->controls; i++) meet(w, g, n->control[i]);
    HR_TRY(missing_op(m, n, err));
    return missing_functions(m, n, err);
}

/* What `wanted` needs, short of `fed`. */
static hr_status missing_nodes(missing *m, hr_graph *g, const hr_node *wanted, int wanted_count, const hr_node *fed,
                               int fed_count, hr_error *err)
{
    met_nodes w = {hr_calloc((size_t)g->node_count + 1, sizeof *w.met),
                   hr_malloc(sizeof *w.stack * ((size_t)g->node_count + 1)), 0};
    hr_status st = w.met && w.stack ? HR_OK : hr_no_memory(err, "the ops of a signature");
    for (int i = 0; st == HR_OK && i < fed_count; i++)
        if (fed[i].graph == g && fed[i].id >= 0) w.met[fed[i].id] = true;
    for (int i = 0; st == HR_OK && i < wanted_count; i++) meet(&w, g, wanted[i]);
    while (st == HR_OK && w.depth > 0) st = missing_node(m, &w, g, w.stack[--w.depth], err);
    hr_free(w.met);
    hr_free(w.stack);
    return st;
}

static int tensor_nodes(hr_graph *g, const hr_meta_tensor *list, int count, hr_node *out)
{
    int found = 0;
    for (int i = 0; i < count; i++) {
        const char *const names[] = {list[i].name, list[i].indices, list[i].dense_shape};
        for (int k = 0; k < 3; k++)
            if (names[k]) out[found++] = hr_graph_node(g, names[k]);
    }
    return found;
}

static hr_status missing_of(missing *m, const hr_meta_signature *s, hr_error *err)
{
    hr_node *node = hr_calloc(3 * ((size_t)s->input_count + (size_t)s->output_count) + 1, sizeof *node);
    if (!node) return hr_no_memory(err, "the ops of a signature");
    const int wanted = tensor_nodes(m->graph, s->outputs, s->output_count, node);
    const int fed = tensor_nodes(m->graph, s->inputs, s->input_count, node + wanted);
    hr_status st = missing_nodes(m, m->graph, node, wanted, node + wanted, fed, err);
    hr_free(node);
    while (st == HR_OK && m->count > 0) {
        const hr_function *f = m->waiting[--m->count];
        st = missing_nodes(m, f->body, f->output, f->outputs, f->input, f->inputs, err);
        if (st == HR_OK) st = missing_nodes(m, f->body, f->control, f->controls, f->input, f->inputs, err);
    }
    return st;
}

hr_status hr__missing_ops(const hr_saved_model *model, const hr_meta_signature *signature, hr__text *out, hr_error *err)
{
    missing m = {.graph = model->graph, .out = out};
    hr_status st = missing_of(&m, signature, err);
    hr__map_free(&m.functions);
    hr__map_free(&m.ops);
    hr_free(m.waiting);
    if (st == HR_OK) st = hr__text_status(out, "the ops of a signature", err);
    return st;
}
