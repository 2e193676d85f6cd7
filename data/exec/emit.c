/* The operator kit for plan: emitting into the unit, rows of sources. */
#include "data/exec/engine.h"
#include <string.h>

/* ---- op.h: emitting ---- */

static bool push_out(hr_plan *p, hr_span span)
{
    if (p->top) return p->stage->current->parts && hr__parts_add(p->stage->current->parts, span);
    hr_span *to = hr__spans_add(&p->out, &p->outs, &p->out_capacity, 1);
    if (to) *to = span;
    return to != NULL;
}

/* Once one span is lost for lack of memory, no later one may pass. */
static void emit(hr_plan *p, hr_span span)
{
    if (!p->lost && push_out(p, span)) return;
    p->lost = true;
    hr__plan_node_no_memory(p);
    hr_span_drop(span);
}

/* A whole unit of the stage below, large enough to be one by itself: where nothing is to be done with its rows, they
 * pass without a copy. */
static bool is_a_unit(const hr_plan *p, hr_span span)
{
    enum { FEWEST_ROWS = 256 };
    return p->top && !p->groups && p->stage->works == 0 && p->emitted == 0 && span.first == 0 &&
           span.count == span.in->elements && span.in->rows >= FEWEST_ROWS;
}

void hr_emit(hr_plan *p, hr_span span)
{
    const bool unit = is_a_unit(p, span);
    emit(p, span);
    if (p->lost) return;
    p->emitted += span.count;
    if (!p->groups) p->room = unit ? 0 : p->room - span.count;
}

void hr_emit_all(hr_plan *p, const hr_span *part)
{
    for (int i = 0; i < p->ds->inputs; i++) emit(p, part[i]);
    if (p->lost) return;
    p->emitted += part[0].count;
    p->room -= part[0].count;
}

int64_t hr_room(const hr_plan *p) { return p->room; }

/* What the reader takes together best lies in one unit: its memory is free again at once, and used by the next. */
int64_t hr__whole_groups(const stage *s, int64_t room, int64_t max)
{
    if (!s->group) return room;
    const int64_t first = s->group - s->given % s->group; /* what is left of the one that was begun */
    if (first > max) return room;
    return first + (room > first ? (room - first) / s->group * s->group : 0);
}

int64_t hr_room_for(const hr_plan *p, int64_t fit)
{
    if (fit > p->room) fit = p->room;
    return p->top ? hr__whole_groups(p->stage, fit, 2 * fit < p->room ? 2 * fit : p->room) : fit;
}

int64_t hr_emitted(const hr_plan *p) { return p->emitted; }
void hr_end_unit(hr_plan *p) { p->cut = true; }
const hr_schema *hr_plan_schema(const hr_plan *p) { return &p->ds->out.schema; }
uint64_t hr_plan_identity(const hr_plan *p) { return p->below ? hr__dataset_identity(p->below) : 0; }
bool hr_plan_failed(const hr_plan *p) { return p->error.code != HR_OK; }
bool hr_plan_cancelled(const hr_plan *p) { return engine_cancelled(p->stage->engine); }

void hr_close_element(hr_plan *p)
{
    unit *u = p->stage->current;
    if (u->cuts == u->cut_capacity && !p->lost) {
        const int64_t capacity = u->cut_capacity ? 2 * u->cut_capacity : 16;
        int32_t *grown = hr_realloc(u->cut, (size_t)capacity * sizeof *grown);
        p->lost = grown == NULL;
        if (grown) u->cut = grown, u->cut_capacity = capacity;
    }
    if (p->lost) {
        hr__plan_node_no_memory(p);
        return;
    }
    u->cut[u->cuts++] = (int32_t)p->emitted;
    p->closed = p->emitted;
    p->partial |= p->error.code != HR_OK;
    p->room--;
}

/* ---- op.h: sources ---- */

void *hr_unit(hr_plan *p) { return p->top ? p->stage->current->blob : p->blob; }

hr_columns *hr_unit_rows(hr_plan *p, int64_t capacity)
{
    rows *r = hr__rows_new(p->stage->engine, p->ds, p->ds);
    if (!r) return NULL;
    hr_origin *origin =
        hr__rows_columns(r, p->ds, capacity) ? hr__rows_array(r, (size_t)capacity * sizeof *origin) : NULL;
    if (!origin) {
        hr__rows_drop(r);
        return NULL;
    }
    r->c.origin = memset(origin, 0xff, (size_t)capacity * sizeof *origin);
    hr__rows_drop(p->filling);
    p->filling = r;
    p->cut = true;
    return &r->c;
}

hr_columns *hr__unit_laid_rows(hr_plan *p, const hr__row_layout *form, const char *laid, int64_t count)
{
    rows *r = hr__rows_new(p->stage->engine, p->ds, p->ds);
    if (!r) return NULL;
    r->form = form;
    r->laid = laid;
    r->c.rows = count;
    hr__rows_drop(p->filling);
    p->filling = r;
    p->cut = true;
    return &r->c;
}

/* A block of its own, if this thread has one that it used a moment ago: it is still in the cache. */
void *hr_unit_bytes(hr_plan *p, size_t size)
{
    rows *r = p->filling;
    hr_work *w = p->stage->planner;
    if (!r) return NULL;
    if (w && w->hot && w->hot->size >= size && w->hot->size / 2 <= size && r->byte_left < size) {
        w->hot->next = r->bytes;
        r->bytes = w->hot;
        w->hot = NULL;
        r->byte_left = 0;
        return block_bytes(r->bytes);
    }
    return hr__rows_bytes(r, size);
}

void hr_unit_holds(hr_plan *p, hr_span span)
{
    rows *r = p->filling;
    if (r && !r->parts) r->parts = hr__parts_new(p->stage->returns);
    if (r && r->parts && hr__parts_add(r->parts, span)) return;
    p->lost = true;
    hr__plan_node_no_memory(p);
    hr_span_drop(span);
}

size_t hr_unit_size(const hr_plan *p) { return p->stage->engine->unit_size; }
