/* The operator kit for plan: many spans at once, where a call for each row would cost more than the row: a shuffle's
 * draws, what interleave passes of its datasets in turn, all that a batch takes of either. */
#include "data/exec/stage.h"
#include <string.h>

static hr_span *add_out(hr_plan *p, int64_t spans)
{
    parts *to = p->top ? p->stage->current->parts : NULL;
    if (!p->top) return hr__spans_add(&p->out, &p->outs, &p->out_capacity, spans);
    return to ? hr__spans_add(&to->span, &to->count, &to->capacity, spans) : NULL;
}

static int64_t *out_count(hr_plan *p) { return p->top ? &p->stage->current->parts->count : &p->outs; }

static void count_out(hr_plan *p, int64_t elements)
{
    p->emitted += elements;
    if (!p->groups) p->room -= elements;
}

/* Where there is no memory hr_emit says so, and drops them. */
void hr_emit_spans(hr_plan *p, const hr_span *span, int64_t spans)
{
    hr_span *to = p->lost ? NULL : add_out(p, spans);
    for (int64_t i = 0; i < spans; i++) {
        if (!to) {
            hr_emit(p, span[i]);
            continue;
        }
        to[i] = span[i];
        count_out(p, span[i].count);
    }
}

/* ---- passing on ---- */

static int64_t waiting_spans(const hr_plan *from, int64_t at_most, int64_t *elements)
{
    const hr_span *span = from->out + from->taken;
    int64_t spans = 0;
    for (*elements = 0; spans < from->outs - from->taken && span[spans].count <= at_most - *elements; spans++)
        *elements += span[spans].count;
    return spans;
}

/* Spans that wait in a node, after the one that was pulled. Neighbours become one, as hr_emit makes them. */
static int64_t pass_waiting(hr_plan *p, int i, int64_t at_most)
{
    input *in = p->in[i];
    int64_t elements;
    hr_plan *from = in->node;
    const int64_t spans = waiting_spans(from, at_most, &elements);
    hr_span *to = spans > 0 && !p->lost ? add_out(p, spans) : NULL;
    if (!to) return 0;
    int64_t count = 0;
    for (const hr_span *next = from->out + from->taken, *end = next + spans; next < end; next++)
        if (count == 0 || !span_joins(&to[count - 1], *next)) to[count++] = *next;
    *out_count(p) -= spans - count;
    from->taken += spans;
    in->first += elements;
    count_out(p, elements);
    hr__input_notice_short(p, i);
    return elements;
}

hr_status hr_pass(hr_plan *p, int i, int64_t at_most, int64_t *passed)
{
    hr_span span;
    HR_TRY(hr_pull(p, i, at_most, &span));
    *passed = span.count;
    hr_emit(p, span);
    if (p->in[i]->node) *passed += pass_waiting(p, i, at_most - span.count);
    return HR_OK;
}

/* ---- rounds ---- */

/* Of the input's unit, or the first span that waits in its node. */
static hr_span at_hand(const hr_plan *p, int i)
{
    const input *in = p->in[i];
    const hr_plan *node = in->node;
    if (node) return node->taken < node->outs ? node->out[node->taken] : (hr_span){0};
    if (in->next >= in->count) return (hr_span){0};
    return (hr_span){&in->rows->c, (int32_t)in->next, (int32_t)(in->count - in->next)};
}

static int64_t whole_rounds(const hr_plan *p, const int *turn, int64_t turns, int64_t block)
{
    int64_t rounds = p->room / turns / block;
    for (int64_t i = 0; i < turns && rounds > 0; i++) {
        const hr_span span = at_hand(p, turn[i]);
        const bool ends = hr__input_ends_short(p, turn[i], p->in[turn[i]]->node ? 1 : span.count);
        const int64_t of_this = (span.count - ends) / block; /* the element that ends all is left to hr_pull */
        if (of_this < rounds) rounds = of_this;
    }
    return rounds;
}

/* The spans of a node change hands; those of a stage are shared with its ring. */
static void use_up(hr_plan *p, int i, hr_span used, int32_t spans)
{
    input *in = p->in[i];
    rows *r = (rows *)used.in;
    if (!in->node) {
        hr__rows_share(r, used.first, used.count, spans);
        in->next += used.count;
        return;
    }
    hr_span *left = &in->node->out[in->node->taken];
    in->first += used.count;
    left->first += used.count;
    left->count -= used.count;
    if (left->count == 0) {
        in->node->taken++;
        spans--;
    }
    if (spans > 0) r->refs += spans; /* none of a loose row */
}

int64_t hr_emit_rounds(hr_plan *p, const int *turn, int64_t turns, int64_t block)
{
    const int64_t rounds = p->error.code || p->lost ? 0 : whole_rounds(p, turn, turns, block);
    hr_span *to = rounds > 0 ? add_out(p, rounds * turns) : NULL;
    if (!to) return 0;
    for (int64_t i = 0; i < turns; i++) {
        hr_span used = at_hand(p, turn[i]);
        used.count = (int32_t)(rounds * block);
        for (int64_t n = 0; n < rounds; n++)
            to[n * turns + i] = (hr_span){used.in, used.first + (int32_t)(n * block), (int32_t)block};
        use_up(p, turn[i], used, (int32_t)rounds);
    }
    count_out(p, rounds * turns * block);
    return rounds;
}
