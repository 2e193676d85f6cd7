/* The byte budget: what a pipeline holds in rows, cells and columns. A unit is reserved before it is planned, and
 * planned if it and those that may be waited for meanwhile fit. One is never refused: the one for which everybody
 * downstream waits. So a tight budget cannot deadlock or change the order, and the peak is the budget or what the
 * operators must hold, whichever is more. Memory that is free again counts as well, but never stands in the way: the
 * store gives it back to the allocator where the budget would be passed. */
#include "data/exec/engine.h"

size_t hr__blocks_size(const block *b)
{
    size_t size = 0;
    for (; b; b = b->next) size += block_takes(b);
    return size;
}

size_t hr__rows_size(const rows *r)
{
    return r->cell_bytes + hr__blocks_size(r->arrays) + hr__blocks_size(r->bytes) + hr__blocks_size(r->texts) +
           hr__blocks_size(r->held);
}

/* About: some of a column's strings stand for all of them. Where rows may be missing nobody knows what lies there. */
static size_t column_strings(const rows *r, int i)
{
    enum { SAMPLES = 4 };
    const hr_column *c = &r->c.column[i];
    const size_t width = r->shape->width[i];
    if (c->present) return 0;
    const int64_t count = width ? r->c.rows * (int64_t)(width / sizeof(hr_view)) : c->count;
    const int64_t step = count / SAMPLES + 1;
    int64_t size = 0, seen = 0;
    for (int64_t k = 0; k < count; k += step, seen++) size += ((const hr_view *)c->values)[k].size;
    return seen ? (size_t)(size / seen * count) : 0;
}

size_t hr__strings_size(const rows *r)
{
    size_t size = 0;
    if (are_bare(&r->c)) return 0; /* in cells, which are counted, or not the pipeline's */
    for (int i = 0; i < r->c.schema->fields && r->shape->strings; i++)
        if (r->c.schema->field[i].dtype == HR_STRING) size += column_strings(r, i);
    return size;
}

/* ---- how large a unit may be ---- */

size_t hr__budget_of_unit(const engine *e)
{
    enum { UNITS = 16 };
    return e->budget / UNITS;
}

/* Its share of the unit that it is from. */
static size_t span_size(hr_span span)
{
    const rows *r = (const rows *)span.in;
    if (r->loose) return hr__cell_size(cell_numbered(&r->engine->store, span.first));
    const size_t own = hr__rows_size(r), strings = hr__strings_size(r);
    return (own > strings ? own : strings) / (size_t)r->c.elements * (size_t)span.count;
}

/* Each is looked at once, but the last ones, which may become longer. */
bool hr__budget_ends(const engine *e, unit *u)
{
    const parts *p = u->parts;
    size_t last = 0;
    for (; u->weighed < p->count - p->sides; u->weighed++) u->weight += span_size(p->span[u->weighed]);
    for (int64_t i = u->weighed; i < p->count; i++) last += span_size(p->span[i]);
    return u->weight + last > hr__budget_of_unit(e);
}

/* ---- what to reserve for a unit ---- */

static void budget_set_unit(stage *s, size_t bytes)
{
    s->engine->stages_bytes += bytes - s->unit_bytes;
    s->unit_bytes = bytes;
}

/* Stages that have given nothing yet, such as files opened now, are taken to be like one beside them. */
static void budget_teach_beside(const stage *s)
{
    engine *e = s->engine;
    for (int i = 0; i < e->stages; i++) {
        stage *t = e->stage[i];
        if (t->reader == s->reader && t->planned == 0 && t->unit_bytes < s->unit_bytes)
            budget_set_unit(t, s->unit_bytes);
    }
}

/* About its largest unit so far, and less again only where units have become much smaller. */
void hr__budget_learn(stage *s, const unit *u)
{
    enum { BESIDE_ROWS = 1024 /* its tokens and log entries: some small blocks */ };
    const size_t size = (u->rows ? hr__rows_size(u->rows) + u->rows->given_up : 0) + BESIDE_ROWS;
    if (size > s->unit_bytes)
        budget_set_unit(s, size);
    else if (size < s->unit_bytes / 2)
        budget_set_unit(s, s->unit_bytes - (s->unit_bytes - size) / 8);
    if (size > s->engine->largest_unit) s->engine->largest_unit = size;
    if (size <= s->reader->input_bytes) return;
    s->reader->input_bytes = size;
    budget_teach_beside(s);
}

/* ---- what fits ---- */

/* Nothing is in flight from here to the consumer, and everybody on the way waits. */
static bool is_waited_for(const stage *s)
{
    for (; s->reader; s = s->reader)
        if (s->planned != s->taken || s->reader->blocked_on != s) return false;
    return true;
}

/* Its unit, one more of the largest, and one of each stage from there to the consumer. */
static bool first_unit_fits(const engine *e, const stage *s, size_t held)
{
    if (held + s->unit_bytes + (size_t)s->depth * e->largest_unit <= e->budget) return true; /* as a rule */
    size_t bytes = held + s->unit_bytes + e->largest_unit;
    for (const stage *r = s->reader; r->reader; r = r->reader) bytes += r->unit_bytes;
    return bytes <= e->budget;
}

bool hr__budget_fits_more(const engine *e)
{
    return atomic_load_explicit(&e->store.held, memory_order_relaxed) + e->reserved + e->stages_bytes <= e->budget;
}

/* What a stage plans beyond its first unit leaves memory for one more unit of every stage: an operator that reads
 * several inputs in turn may come to wait for each of them while it holds what the others gave. */
bool hr__budget_fits(engine *e, const stage *s)
{
    const size_t held = atomic_load_explicit(&e->store.held, memory_order_relaxed) + e->reserved;
    if (s->planned > s->taken) return held + s->unit_bytes + e->stages_bytes <= e->budget;
    if (first_unit_fits(e, s, held)) return true;
    if (!is_waited_for(s)) return false;
    if (held > e->budget && held - e->budget > e->over_budget) e->over_budget = held - e->budget;
    return true;
}
