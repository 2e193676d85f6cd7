/* Tapes: what they watch, and what they record. A node has a bit for each tape that watches it; an op on such a node is
 * recorded by these tapes, and its outputs have their bits. */
#include "train/eager/eager_internal.h"

#include <string.h>

/* ---- watching ---- */

static hr_status watch(hr_tape *t, int32_t id, hr_error *err)
{
    hr__eager_node *n = (hr__eager_node *)t->graph->nodes[id];
    HR_TRY(hr__grow(&t->watched, t->watched_count, &t->watched_capacity, sizeof *t->watched, err));
    t->watched[t->watched_count++] = id;
    n->watched |= UINT32_C(1) << t->number;
    n->holds++;
    return HR_OK;
}

void hr_tape_watch(hr_tape *t, hr_node node)
{
    if (!t || !t->e) return;
    const hr__eager_node *n = node.graph == t->graph ? hr__eager_node_of(node) : NULL;
    if (!n || !hr__carries_gradient(hr_node_dtype(node)) || n->watched >> t->number & 1) return;
    if (watch(t, node.id, NULL) != HR_OK) hr__graph_no_memory(t->graph, "a tape");
}

/* A trainable variable that is used is watched by the tapes that record, unless they are told what to watch. */
static hr_status watch_variable(hr__eager *e, hr__eager_node *n, int32_t id, hr_error *err)
{
    const hr_variable_info *info = e->graph->variables[n->variable - 1];
    if (!(info->sets & HR_TRAINABLE_VARIABLES)) return HR_OK;
    const uint32_t missing = e->recording & e->automatic & ~n->watched;
    for (int i = 0; missing && i < HR__MAX_TAPES; i++)
        if (missing >> i & 1) HR_TRY(watch(e->tapes[i], id, err));
    return HR_OK;
}

hr_status hr__tapes_watching(hr__eager *e, const hr_node *inputs, int count, uint32_t *tapes, hr_error *err)
{
    *tapes = 0;
    for (int i = 0; i < count; i++) {
        hr__eager_node *n = hr__eager_node_of(inputs[i]);
        if (n->variable) HR_TRY(watch_variable(e, n, inputs[i].id, err));
        if (n->watched && hr__carries_gradient(n->node.type[inputs[i].output])) *tapes |= n->watched;
    }
    *tapes &= e->recording;
    return HR_OK;
}

/* ---- recording ---- */

static hr_status tape_record(hr_tape *t, hr__eager_node *n, const hr__eager_backward *backward, hr_error *err)
{
    HR_TRY(hr__grow(&t->entries, t->count, &t->capacity, sizeof *t->entries, err));
    t->entries[t->count++] = (hr__tape_entry){n->id, backward ? *backward : (hr__eager_backward){0}};
    n->holds++;
    n->recorded++;
    n->watched |= UINT32_C(1) << t->number;
    for (int i = 0; i < n->node.inputs; i++) hr__eager_node_of(n->node.input[i])->holds++;
    return HR_OK;
}

hr_status hr__tapes_record(hr__eager *e, uint32_t tapes, hr__eager_node *n, const hr__eager_backward *backward,
                           hr_error *err)
{
    for (int i = 0; tapes >> i; i++)
        if (tapes >> i & 1) HR_TRY(tape_record(e->tapes[i], n, backward, err));
    return HR_OK;
}

void hr_tape_reset(hr_tape *t)
{
    if (!t) return;
    t->used = false;
    const uint32_t others = ~(UINT32_C(1) << t->number);
    while (t->count > 0) {
        hr__eager_node *n = (hr__eager_node *)t->graph->nodes[t->entries[--t->count].id];
        for (int i = 0; i < n->node.inputs; i++) hr__eager_unhold(t->e, hr__eager_node_of(n->node.input[i]));
        n->watched &= others;
        if (--n->recorded == 0) n->node.inputs = 0;
        hr__eager_unhold(t->e, n);
    }
    while (t->watched_count > 0) {
        hr__eager_node *n = (hr__eager_node *)t->graph->nodes[t->watched[--t->watched_count]];
        n->watched &= others;
        hr__eager_unhold(t->e, n);
    }
}

/* ---- a tape's life ---- */

static int free_number(const hr__eager *e)
{
    for (int i = 0; i < HR__MAX_TAPES; i++)
        if (!e->tapes[i]) return i;
    return -1;
}

hr_tape *hr_tape_begin_with(hr_graph *g, const hr_tape_opts *given)
{
    const hr_tape_opts opts = HR_OPTIONS(hr_tape_opts, given);
    g = hr__innermost(g);
    if (!g) return NULL;
    hr__eager *e = g->at_once ? g->eager : NULL;
    const int number = e ? free_number(e) : 0;
    if (number < 0) {
        hr_node_fail(g, HR_RESOURCE_EXHAUSTED, "tape.count", "hr_tape_begin: expected at most %d tapes at once",
                     HR__MAX_TAPES);
        return NULL;
    }
    hr_tape *t = hr_calloc(1, sizeof *t);
    if (!t) {
        hr__graph_no_memory(g, "a tape");
        return NULL;
    }
    t->e = e;
    t->graph = g;
    t->number = number;
    t->persistent = opts.persistent;
    t->manual = opts.manual;
    if (!e) return t;
    e->tapes[number] = t;
    e->recording |= UINT32_C(1) << number;
    if (!t->manual) e->automatic |= UINT32_C(1) << number;
    return t;
}

void hr_tape_free(hr_tape *t)
{
    if (!t) return;
    hr_tape_reset(t);
    hr_tape_stop(t);
    if (t->e) {
        t->e->automatic &= ~(UINT32_C(1) << t->number);
        t->e->tapes[t->number] = NULL;
    }
    hr_free(t->entries);
    hr_free(t->watched);
    hr_free(t);
}

void hr_tape_stop(hr_tape *t)
{
    if (t && t->e) t->e->recording &= ~(UINT32_C(1) << t->number);
}

void hr_tape_resume(hr_tape *t)
{
    if (t && t->e && !t->used) t->e->recording |= UINT32_C(1) << t->number;
}

int hr_tape_watched(const hr_tape *t, hr_node *out, int max)
{
    int count = 0;
    for (int i = 0; t && i < t->watched_count; i++) {
        if (!((const hr__eager_node *)t->graph->nodes[t->watched[i]])->variable) continue;
        if (out && count < max) out[count] = (hr_node){t->graph, t->watched[i], 0};
        count++;
    }
    return count;
}
