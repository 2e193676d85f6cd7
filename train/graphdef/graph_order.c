/* In which order the nodes of a file are made: inputs before what takes them, and what is free in the order of the
 * file. */
#include "train/graphdef/graphdef_internal.h"

#include <string.h>

/* Nodes whose inputs are all there, the first of the file on top. */
typedef struct heap {
    int32_t *node;
    int32_t count;
} heap;

static void heap_push(heap *h, int32_t node)
{
    int32_t at = h->count++;
    for (; at > 0 && h->node[(at - 1) / 2] > node; at = (at - 1) / 2) h->node[at] = h->node[(at - 1) / 2];
    h->node[at] = node;
}

static int32_t heap_pop(heap *h)
{
    const int32_t top = h->node[0], last = h->node[--h->count];
    int32_t at = 0;
    for (;;) {
        int32_t child = 2 * at + 1;
        if (child + 1 < h->count && h->node[child + 1] < h->node[child]) child++;
        if (child >= h->count || h->node[child] >= last) break;
        h->node[at] = h->node[child];
        at = child;
    }
    h->node[at] = last;
    return top;
}

typedef struct sorter {
    int32_t nodes;
    int32_t *waits;         /* by node: inputs that are not there yet */
    int32_t *first, *taker; /* who takes something of node i: from taker[first[i]] to taker[first[i + 1]] */
    heap ready;
} sorter;

static hr_status order_begin(sorter *s, const hr__edge *edges, const int32_t *first, hr_error *err)
{
    const int32_t n = s->nodes;
    s->waits = hr_calloc((size_t)n + 1, sizeof *s->waits);
    s->first = hr_calloc((size_t)n + 2, sizeof *s->first);
    s->taker = hr_malloc(((size_t)first[n] + 1) * sizeof *s->taker);
    s->ready.node = hr_malloc(((size_t)n + 1) * sizeof *s->ready.node);
    if (!s->waits || !s->first || !s->taker || !s->ready.node) return hr_no_memory(err, "a graph");
    for (int32_t i = 0; i < n; i++)
        for (int32_t e = first[i]; e < first[i + 1]; e++)
            if (edges[e].node < n) s->waits[i]++, s->first[edges[e].node + 2]++;
    for (int32_t i = 0; i < n; i++) s->first[i + 2] += s->first[i + 1];
    for (int32_t i = 0; i < n; i++) /* first[i + 1] moves from where i's takers begin to where they end */
        for (int32_t e = first[i]; e < first[i + 1]; e++)
            if (edges[e].node < n) s->taker[s->first[edges[e].node + 1]++] = i;
    for (int32_t i = 0; i < n; i++)
        if (s->waits[i] == 0) heap_push(&s->ready, i);
    return HR_OK;
}

static hr_status cycle(proto_node *const *node, const sorter *s, int32_t done, hr_error *err)
{
    int32_t one = -1;
    for (int32_t i = 0; i < s->nodes; i++) {
        if (s->waits[i] == 0) continue;
        if (one < 0) one = i;
        if (strcmp(node[i]->op, "NextIteration") == 0)
            return hr_fail(err, HR_UNIMPLEMENTED, "graphdef.loop",
                           "node '%.100s': loops of Enter and NextIteration are not read yet", node[i]->name);
    }
    return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.cycle",
                   "expected a graph without cycles, got %d nodes that are in one or come after it, such as '%.100s'",
                   s->nodes - done, node[one]->name);
}

hr_status hr__graph_order(proto_node *const *node, int32_t count, const hr__edge *edges, const int32_t *first,
                          int32_t *order, hr_error *err)
{
    sorter s = {.nodes = count};
    int32_t done = 0;
    hr_status st = order_begin(&s, edges, first, err);
    while (st == HR_OK && s.ready.count > 0) {
        const int32_t next = order[done++] = heap_pop(&s.ready);
        for (int32_t i = s.first[next]; i < s.first[next + 1]; i++)
            if (--s.waits[s.taker[i]] == 0) heap_push(&s.ready, s.taker[i]);
    }
    if (st == HR_OK && done < s.nodes) st = cycle(node, &s, done, err);
    hr_free(s.waits);
    hr_free(s.first);
    hr_free(s.taker);
    hr_free(s.ready.node);
    return st;
}
