/* Gradients in place of an op's own, for nodes that are made within a scope. */
#include "train/graph/graph_internal.h"

#include <string.h>

void hr_gradient_override(hr_graph *g, const char *op, void (*gradient)(hr_backward *b))
{
    if (!g) return;
    g = hr__innermost(g);
    hr__override *o = hr__arena_get(&g->arena, sizeof *o);
    const char *name = op ? hr__arena_text(&g->arena, op, strlen(op)) : NULL;
    if (!op)
        hr_node_fail(g, HR_INVALID_ARGUMENT, "graph.gradient", "hr_gradient_override: expected an op's name, got NULL");
    else if (!o || !name)
        hr__graph_no_memory(g, "a gradient");
    if (!o || !name) return;
    *o = (hr__override){g->override, name, gradient};
    g->override = o;
}

void hr_gradient_override_end(hr_graph *g)
{
    g = hr__innermost(g);
    if (g && g->override) g->override = g->override->outer;
}

const hr__override *hr__override_of(const hr_graph *g, const char *op)
{
    for (; g; g = g->outer)
        for (const hr__override *o = g->override; o; o = o->outer)
            if (strcmp(o->op, op) == 0) return o;
    return NULL;
}
