/* Units of rows, and the spans that share them. A unit's rows are read by one stage only, whose plan runs one thread at
 * a time: so its references are plain numbers, and what other threads give up goes back to that plan. What comes back
 * after the stage is gone is counted by one thread at a time, too. */
#include "data/exec/engine.h"
#include <string.h>

/* ---- memory of rows ---- */

static rows *recycled_rows(engine *e)
{
    hr__lock_awake(&e->store.lock);
    rows *r = e->free_rows;
    if (r) e->free_rows = r->next;
    uv_mutex_unlock(&e->store.lock);
    return r ? r : hr_malloc(sizeof *r);
}

rows *hr__rows_new(engine *e, hr_dataset *keeps, const hr_dataset *shape)
{
    rows *r = recycled_rows(e);
    if (!r) return NULL;
    *r = (rows){.refs = 1, .engine = e, .keeps = hr_dataset_ref(keeps), .shape = shape};
    r->c.schema = &shape->out.schema;
    return r;
}

static void *take_bytes(rows *r, block **chain, char **at, size_t *left, size_t size)
{
    if (*left < size) {
        block *b = hr__store_block(&r->engine->store, size);
        if (!b) return NULL;
        b->next = *chain;
        *chain = b;
        *at = block_bytes(b);
        *left = b->size;
    }
    void *p = *at;
    *at += size;
    *left -= size;
    return p;
}

void *hr__rows_array(rows *r, size_t size)
{
    return take_bytes(r, &r->arrays, &r->array_at, &r->array_left, (size + 63) & ~(size_t)63);
}

void *hr__rows_bytes(rows *r, size_t size)
{
    return take_bytes(r, &r->bytes, &r->byte_at, &r->byte_left, (size + 15) & ~(size_t)15);
}

/* Short ones lie side by side: the bytes after each are those of the next one, or the block's slack. A long one has a
 * block of its own, and those after it go on where they were. */
void *hr__rows_text(rows *r, size_t size)
{
    enum { SHARED = 16 << 10, LONG = SHARED / 8 };
    block *b;
    if (r->text_left <= size) { /* none of no bytes either, if there is no block yet */
        if (!(b = hr__store_block(&r->engine->store, size < LONG ? SHARED : size))) return NULL;
        b->next = r->texts;
        r->texts = b;
        if (size >= LONG) return block_bytes(b);
        r->text_at = block_bytes(b);
        r->text_left = b->size;
    }
    void *p = r->text_at;
    r->text_at += size;
    r->text_left -= size;
    return p;
}

void *hr__rows_held(rows *r, size_t size)
{
    block *b = hr__store_block(&r->engine->store, size);
    if (!b) return NULL;
    b->next = r->held;
    r->held = b;
    return block_bytes(b);
}

size_t hr__column_stride(size_t width, int64_t capacity) { return (((size_t)capacity * width + 63) / 64 | 1) * 64; }

static size_t field_bytes(const hr_dataset *shape, int i, int64_t capacity)
{
    return shape->width[i] ? hr__column_stride(shape->width[i], capacity)
                           : hr__column_stride(sizeof(int32_t), capacity + 1);
}

bool hr__rows_columns(rows *r, const hr_dataset *shape, int64_t capacity)
{
    const int fields = shape->out.schema.fields;
    const size_t heads = hr__column_stride(sizeof(hr_column), fields),
                 rooms = hr__column_stride(sizeof(int64_t), fields);
    size_t total = heads + rooms;
    for (int i = 0; i < fields; i++) total += field_bytes(shape, i, capacity);
    char *at = hr__rows_array(r, total);
    if (!at) return false;
    r->shape = shape;
    r->c.schema = &shape->out.schema;
    r->c.column = memset(at, 0, heads + rooms);
    r->value_capacity = (int64_t *)(void *)(at + heads);
    r->capacity = capacity;
    at += heads + rooms;
    for (int i = 0; i < fields; i++) {
        hr_column *column = &r->c.column[i];
        if (shape->width[i])
            column->values = at;
        else
            memset(column->splits[0] = (int32_t *)(void *)at, 0, ((size_t)capacity + 1) * sizeof(int32_t));
        at += field_bytes(shape, i, capacity);
    }
    return true;
}

/* ---- spans ---- */

enum { BIN = 256, AHEAD = 16 };

/* Cells that are free now, given back some at a time. */
typedef struct cell_bin {
    store *store;
    int count;
    int32_t number[BIN];
} cell_bin;

static void bin_empty(cell_bin *bin)
{
    if (bin->count) hr__store_put_cells(bin->store, bin->number, bin->count);
    bin->count = 0;
}

/* A span of one row that is in nothing but its cell names this instead of its unit. So whatever a plan keeps of a unit,
 * the unit goes at once. */
static bool is_in_cells(const rows *r) { return r->cell && are_bare(&r->c); }

/* In place of the cell's number: the unit has given its row away. */
enum { TAKEN = NO_CELL - 1 };

static inline __attribute__((always_inline)) void ask_for_cell(hr_span cell)
{
    const rows *r = (const rows *)cell.in;
    if (r->loose) __builtin_prefetch(cell_numbered(&r->engine->store, cell.first), 1);
}

static hr_span share_cell(hr_span cell)
{
    rows *r = (rows *)cell.in;
    if (r->loose)
        cell_hold(cell_numbered(&r->engine->store, cell.first));
    else
        r->refs++;
    return cell;
}

static void share_cells(const rows *r, int64_t first, int64_t end)
{
    const int64_t last = hr_first_row(&r->c, end);
    for (int64_t row = hr_first_row(&r->c, first); row < last; row++) share_cell(span_by_itself(r, row));
}

void hr__rows_share(rows *r, int64_t first, int64_t count, int32_t spans)
{
    r->refs += spans;
    if (r->cell && !is_in_cells(r)) share_cells(r, first, first + count);
}

static hr_span share_row(rows *r, int32_t row)
{
    if (row + AHEAD < r->c.rows && r->cell[row + AHEAD] != TAKEN) ask_for_cell(span_by_itself(r, row + AHEAD));
    return share_cell(span_by_itself(r, row));
}

/* The row's cell changes hands: nothing is counted, or it would have to be fetched from memory. Where several spans may
 * have the row, the others still find it in the unit. */
static hr_span take_row(rows *r, int32_t row)
{
    if (r->overlaps) return share_row(r, row);
    const hr_span taken = span_by_itself(r, row);
    r->cell[row] = TAKEN;
    return taken;
}

hr_span hr_span_share(hr_span span, int32_t first, int32_t count)
{
    rows *r = (rows *)span.in;
    if (r->loose) return share_cell(span);
    if (count == 1 && is_in_cells(r)) return share_row(r, span.first + first);
    r->overlaps = true;
    hr__rows_share(r, span.first + first, count, 1);
    return (hr_span){span.in, span.first + first, count};
}

hr_span hr__rows_give(rows *r, int64_t first, int64_t count)
{
    if (count == 1 && is_in_cells(r)) return take_row(r, (int32_t)first);
    hr__rows_share(r, first, count, 1);
    return (hr_span){&r->c, (int32_t)first, (int32_t)count};
}

hr_span hr_span_take(hr_span *span, int32_t count)
{
    const hr_span all = *span;
    rows *r = (rows *)all.in;
    const bool by_itself = count == 1 && !r->loose && is_in_cells(r), last = count == all.count;
    if (last)
        *span = (hr_span){0};
    else
        span->first += count, span->count -= count;
    if (!by_itself) {
        if (!last) r->refs++; /* what its rows hold in cells goes with them */
        return (hr_span){all.in, all.first, count};
    }
    const hr_span taken = take_row(r, all.first);
    if (last) hr_span_drop(all);
    return taken;
}

static void drop_cells(const rows *r, int64_t first, int64_t end, cell_bin *bin);

static void rows_free(rows *r, cell_bin *bin)
{
    engine *e = r->engine;
    if (is_in_cells(r)) drop_cells(r, 0, r->c.rows, bin);
    hr__parts_return(r->parts);
    hr__store_put_blocks(&e->store, r->arrays);
    hr__store_put_blocks(&e->store, r->bytes);
    hr__store_put_blocks(&e->store, r->texts);
    hr__store_put_blocks(&e->store, r->held);
    hr_dataset_unref(r->keeps);
    hr__lock_awake(&e->store.lock);
    r->next = e->free_rows;
    e->free_rows = r;
    uv_mutex_unlock(&e->store.lock);
}

static void drop_loose(int32_t number, cell_bin *bin)
{
    if (!cell_leave(cell_numbered(bin->store, number))) return;
    bin->number[bin->count++] = number;
    if (bin->count == BIN) bin_empty(bin);
}

static inline void drop_span(hr_span span, cell_bin *bin)
{
    rows *r = (rows *)span.in;
    if (r->loose) {
        drop_loose(span.first, bin);
        return;
    }
    if (r->cell && !is_in_cells(r))
        drop_cells(r, hr_first_row(&r->c, span.first), hr_first_row(&r->c, span.first + span.count), bin);
    if (--r->refs == 0) rows_free(r, bin);
}

static void drop_cells(const rows *r, int64_t first, int64_t end, cell_bin *bin)
{
    for (int64_t row = first; row < end; row++)
        if (r->cell[row] != TAKEN) drop_span(span_by_itself(r, row), bin);
}

void hr_span_drop(hr_span span)
{
    if (!span.in) return;
    cell_bin bin;
    bin.store = &((rows *)span.in)->engine->store;
    bin.count = 0;
    drop_span(span, &bin);
    bin_empty(&bin);
}

void hr__rows_drop(rows *r)
{
    if (r) hr_span_drop((hr_span){&r->c, 0, (int32_t)r->c.elements});
}

int64_t hr__span_rows(hr_span span)
{
    return hr_first_row(span.in, (int64_t)span.first + span.count) - hr_first_row(span.in, span.first);
}

/* ---- parts ---- */

returns *hr__returns_new(engine *e)
{
    returns *home = hr_calloc(1, sizeof *home);
    if (home) home->engine = e;
    return home;
}

parts *hr__parts_new(returns *home)
{
    parts *p = home->spare;
    if (p)
        home->spare = p->next;
    else if (!(p = hr_calloc(1, sizeof *p)))
        return NULL;
    p->next = NULL;
    p->home = home;
    p->sides = 1;
    hr__engine_lock(home->engine);
    home->out++;
    hr__engine_unlock(home->engine);
    return p;
}

hr_span *hr__spans_add(hr_span **span, int64_t *count, int64_t *capacity, int64_t more)
{
    if (*count + more > *capacity) {
        const int64_t wanted = *count + more > 2 * *capacity ? *count + more + 15 : 2 * *capacity;
        hr_span *grown = hr_realloc(*span, (size_t)wanted * sizeof *grown);
        if (!grown) return NULL;
        *span = grown;
        *capacity = wanted;
    }
    *count += more;
    return *span + (*count - more);
}

bool hr__parts_add(parts *p, hr_span span)
{
    hr_span *last = p->count ? &p->span[p->count - 1] : NULL;
    if (last && p->sides == 1 && span_joins(last, span)) return true;
    hr_span *to = hr__spans_add(&p->span, &p->count, &p->capacity, 1);
    if (to) *to = span;
    return to != NULL;
}

static void drop_spans(parts *p)
{
    cell_bin bin;
    bin.store = &p->home->engine->store;
    bin.count = 0;
    for (int64_t i = 0; i < p->count; i++) {
        if (i + AHEAD < p->count) ask_for_cell(p->span[i + AHEAD]);
        drop_span(p->span[i], &bin);
    }
    bin_empty(&bin);
    p->count = 0;
}

void hr__parts_drop(returns *home, parts *list)
{
    while (list) {
        parts *next = list->next;
        drop_spans(list);
        list->next = home->spare;
        home->spare = list;
        list = next;
    }
}

static void parts_free(parts *p)
{
    hr_free(p->span);
    hr_free(p);
}

static parts *next_orphan(engine *e)
{
    hr__engine_lock(e);
    parts *p = e->orphans;
    if (p) e->orphans = p->next;
    e->drops_orphans = p != NULL;
    hr__engine_unlock(e);
    return p;
}

static void drop_orphan(parts *p)
{
    returns *home = p->home;
    drop_spans(p);
    parts_free(p);
    hr__engine_lock(home->engine);
    const bool last = --home->out == 0;
    hr__engine_unlock(home->engine);
    if (last) hr_free(home);
}

/* Parts whose stage is gone come from the plans of several others, once these took over units of it: one thread at a
 * time counts their spans, also those of what goes with them. */
void hr__parts_return(parts *p)
{
    if (!p) return;
    returns *home = p->home;
    engine *e = home->engine;
    hr__engine_lock(e);
    parts **list = home->dead ? &e->orphans : &home->list;
    p->next = *list;
    *list = p;
    if (!home->dead) home->out--;
    const bool drops = e->orphans && !e->drops_orphans;
    e->drops_orphans |= drops;
    hr__engine_unlock(e);
    while (drops && (p = next_orphan(e)) != NULL) drop_orphan(p);
}

static void free_spare(returns *home)
{
    while (home->spare) {
        parts *next = home->spare->next;
        parts_free(home->spare);
        home->spare = next;
    }
}

/* What comes back while this drops what had come back before is dropped in the next round. */
void hr__returns_close(returns *home)
{
    for (;;) {
        free_spare(home);
        hr__engine_lock(home->engine);
        parts *list = home->list;
        home->list = NULL;
        home->dead = list == NULL;
        const bool gone = home->dead && home->out == 0;
        hr__engine_unlock(home->engine);
        if (gone) hr_free(home);
        if (!list) return;
        hr__parts_drop(home, list);
    }
}
