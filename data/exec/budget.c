/* The byte budget: what a pipeline holds in rows, cells and columns. A unit is planned if it and one more of the
 * largest fit. One is never refused: the one for which everybody downstream waits. So a tight budget cannot deadlock or
 * change the order, and the peak is the budget or what the operators must hold, whichever is more. */
#include "data/exec/engine.h"

size_t hr__rows_size(const rows *r)
{
    size_t size = r->cell_bytes;
    for (const block *b = r->arrays; b; b = b->next) size += b->size;
    for (const block *b = r->bytes; b; b = b->next) size += b->size;
    for (const block *b = r->held; b; b = b->next) size += b->size;
    return size;
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

void hr__budget_learn(stage *s, const unit *u)
{
    const size_t size = u->rows ? hr__rows_size(u->rows) : 0;
    if (size > s->unit_bytes)
        s->unit_bytes = size;
    else
        s->unit_bytes -= (s->unit_bytes - size) / 8;
    if (s->unit_bytes > s->engine->largest_unit) s->engine->largest_unit = s->unit_bytes;
}

/* Nothing is in flight from here to the consumer, and everybody on the way waits. */
static bool is_waited_for(const stage *s)
{
    for (; s->reader; s = s->reader)
        if (s->planned != s->taken || s->reader->blocked_on != s) return false;
    return true;
}

bool hr__budget_fits(engine *e, const stage *s)
{
    const size_t held = atomic_load_explicit(&e->store.held, memory_order_relaxed) + e->reserved;
    if (held + s->unit_bytes + e->largest_unit <= e->budget) return true;
    if (!is_waited_for(s)) return false;
    if (held > e->budget && held - e->budget > e->over_budget) e->over_budget = held - e->budget;
    return true;
}
