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

/* Besides nodes there is one number for each loop, behind them: it comes after all NextIterations of the loop and what
 * its Exits wait for, and before its Exits (loop_frames.c). An edge from NextIteration to Merge orders nothing. */
typedef struct sorter {
    const hr__nodes_import *in;
    const hr__loops *loops;
    int32_t count;          /* nodes and loops */
    int32_t *waits;         /* by number: inputs that are not there yet */
    int32_t *first, *taker; /* who takes something of number i: from taker[first[i]] to taker[first[i + 1]] */
    heap ready;
} sorter;

bool hr__is_back_edge(const hr__nodes_import *in, int32_t from, int32_t to)
{
    return from < in->count && to < in->count && strcmp(in->from[from]->op, "NextIteration") == 0 &&
           strcmp(in->from[to]->op, "Merge") == 0;
}

static int32_t edge_count(const sorter *s, int32_t number)
{
    return s->in->first[number + 1] - s->in->first[number] + (s->loops != NULL);
}

/* What a node waits for; -1: nothing. The last edge is to or from its loop. */
static bool edge_between(const sorter *s, int32_t number, int32_t i, int32_t *from, int32_t *to)
{
    const hr__nodes_import *in = s->in;
    const int32_t edges = in->first[number + 1] - in->first[number];
    *from = i < edges ? in->edge[in->first[number] + i].node : number;
    *to = number;
    const int32_t loop = s->loops ? s->loops->frame[number] : -1;
    const char *op = in->from[number]->op;
    if (i < edges) {
        if (*from >= in->count || hr__is_back_edge(in, *from, number)) return false;
        const bool waits = in->edge[in->first[number] + i].output < 0 && strcmp(op, "Exit") == 0;
        if (waits && loop >= 0 && hr__frame_after(in, s->loops, *from) == loop) *to = in->count + loop;
        return true;
    }
    if (loop < 0) return false;
    if (strcmp(op, "Exit") == 0) *from = in->count + loop;
    if (strcmp(op, "NextIteration") == 0) *to = in->count + loop;
    return *from != *to;
}

static hr_status order_begin(sorter *s, hr_error *err)
{
    const int32_t n = s->count;
    int32_t from, to;
    size_t edges = 0;
    for (int32_t i = 0; i < s->in->count; i++) edges += (size_t)edge_count(s, i);
    s->waits = hr_calloc((size_t)n + 1, sizeof *s->waits);
    s->first = hr_calloc((size_t)n + 2, sizeof *s->first);
    s->taker = hr_malloc((edges + 1) * sizeof *s->taker);
    s->ready.node = hr_malloc(((size_t)n + 1) * sizeof *s->ready.node);
    if (!s->waits || !s->first || !s->taker || !s->ready.node) return hr_no_memory(err, "a graph");
    for (int32_t i = 0; i < s->in->count; i++)
        for (int32_t e = 0; e < edge_count(s, i); e++)
            if (edge_between(s, i, e, &from, &to)) s->waits[to]++, s->first[from + 2]++;
    for (int32_t i = 0; i < n; i++) s->first[i + 2] += s->first[i + 1];
    for (int32_t i = 0; i < s->in->count; i++) /* first[i + 1] moves from where i's takers begin to where they end */
        for (int32_t e = 0; e < edge_count(s, i); e++)
            if (edge_between(s, i, e, &from, &to)) s->taker[s->first[from + 1]++] = to;
    for (int32_t i = 0; i < n; i++)
        if (s->waits[i] == 0) heap_push(&s->ready, i);
    return HR_OK;
}

static hr_status cycle(const sorter *s, int32_t done, hr_error *err)
{
    int32_t one = 0;
    while (one < s->in->count - 1 && s->waits[one] == 0) one++;
    return hr_fail(err, HR_INVALID_ARGUMENT, "graphdef.cycle",
                   "expected a graph without cycles, got %d nodes that are in one or come after it, such as '%.100s'",
                   s->count - done, s->in->from[one]->name);
}

hr_status hr__graph_order(hr__nodes_import *in, const hr__loops *loops)
{
    sorter s = {.in = in, .loops = loops, .count = in->count + (loops ? loops->count : 0)};
    int32_t done = 0;
    hr_status st = order_begin(&s, in->err);
    while (st == HR_OK && s.ready.count > 0) {
        const int32_t next = in->order[done++] = heap_pop(&s.ready);
        for (int32_t i = s.first[next]; i < s.first[next + 1]; i++)
            if (--s.waits[s.taker[i]] == 0) heap_push(&s.ready, s.taker[i]);
    }
    if (st == HR_OK && done < s.count) st = cycle(&s, done, in->err);
    hr_free(s.waits);
    hr_free(s.first);
    hr_free(s.taker);
    hr_free(s.ready.node);
    return st;
}
