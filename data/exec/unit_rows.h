/* Rows of a unit, spans of them, and the parts that a unit was gathered from. Operators see the columns alone. */
#ifndef HR_ROWS_H
#define HR_ROWS_H

#include "data/dataset.h"
#include "data/exec/store.h"
#include "data/rows/row_layout.h"
#include <headrace/data.h>

typedef struct engine engine;
typedef struct rows rows;

/* The spans that a unit was gathered from: held as long as its strings point into their rows. They are counted by the
 * plan of `home`, so that is where they go back to. */
typedef struct parts {
    struct parts *next;
    struct returns *home;
    hr_span *span; /* the first element's, the next one's, ...: one each, but `sides` of zip */
    int64_t count, capacity;
    int sides;
} parts;

/* Where parts wait for their plan to drop them. Outlives the stage if rows do. Guarded by the engine's lock. */
typedef struct returns {
    engine *engine;
    parts *list;
    int64_t out;  /* parts that have not come back */
    bool dead;    /* the stage is gone: its parts are orphans */
    parts *spare; /* of the plan alone: to be used again */
} returns;

struct rows {
    hr_columns c;  /* first: operators see only this */
    int32_t refs;  /* spans, and the ring; touched by the plan of the one stage that reads these rows: no atomic */
    bool aliases;  /* columns are those of `parts` */
    bool loose;    /* no unit, but all rows of one layout in cells of the store: those of a span are one, `first` is the
                     number of its cell, and the cell has the references */
    bool overlaps; /* several spans may name this unit for the same row */
    /* Rows that each lie by themselves, in cells of these numbers (NULL: they do not) as rows of `in_cells`, or if they
     * are long, as units of one row. Of bare rows this is all, and shared in their place; of others it is their strings,
     * which every span of them holds. */
    int32_t *cell;
    rows *in_cells, **long_row; /* NULL: none is long, or this one is not */
    /* The rows in this layout; NULL: they are in columns only. Without c.column: only here. They lie at `laid`, or if
     * that is NULL at the start of their cells, before the strings. */
    const hr__row_layout *form;
    const char *laid;
    rows *next; /* of the free list */
    engine *engine;
    hr_dataset *keeps;       /* the schemas' owner: rows may outlive the input that made them */
    const hr_dataset *shape; /* whose schema these rows have */
    block *arrays;           /* what lives as long as the rows */
    block *bytes, *texts;    /* what cells replace: what a source has read, and strings that work made */
    char *array_at, *byte_at, *text_at;
    size_t array_left, byte_left, text_left;
    parts *parts;
    size_t cell_bytes;
    size_t given_up; /* bytes of blocks that were needed while the unit was worked on */
    block *held;     /* cells and rows in row layout: they stay when columns go */
    int64_t capacity, *value_capacity;
};

/* Rows in row layout alone, without columns. Only gathering sees them: see stage.blind. */
static inline bool are_bare(const hr_columns *c) { return !c->column; }

/* Of rows that lie by themselves. */
static inline hr_span span_by_itself(const rows *r, int64_t row)
{
    if (r->cell[row] == NO_CELL) return (hr_span){&r->long_row[row]->c, 0, 1};
    return (hr_span){&r->in_cells->c, r->cell[row], 1};
}

rows *hr__rows_new(engine *e, hr_dataset *keeps, const hr_dataset *shape);
/* Bytes of a column, rounded up to odd multiples of a cache line: no two of 64 neighbours lie a multiple of 4096 bytes
 * apart, where writing rows would have all of them in one set of the cache. */
size_t hr__column_stride(size_t width, int64_t capacity);
void *hr__rows_array(rows *r, size_t size);                                /* on a cache line; NULL: no memory */
void *hr__rows_bytes(rows *r, size_t size);                                /* for strings */
void *hr__rows_text(rows *r, size_t size);                                 /* the same, many a block, at any address */
void *hr__rows_held(rows *r, size_t size);                                 /* stays when columns go */
bool hr__rows_columns(rows *r, const hr_dataset *shape, int64_t capacity); /* new columns; sets capacity */
void hr__rows_share(rows *r, int64_t first, int64_t count, int32_t spans); /* so many together */
hr_span hr__rows_give(rows *r, int64_t first, int64_t count);              /* what the ring gives nobody again */
void hr__rows_drop(rows *r); /* one reference to all of them. NULL: nothing */
int64_t hr__span_rows(hr_span span);

/* Neighbours become one again: a unit that is a whole run of another need not be copied. */
static inline bool span_joins(hr_span *last, hr_span span)
{
    if (last->in != span.in || last->first + last->count != span.first || ((rows *)span.in)->loose) return false;
    ((rows *)span.in)->refs--;
    last->count += span.count;
    return true;
}

/* Makes an array longer and gives the first of `more` new ones, to be filled in; NULL: no memory, and it is as it
 * was. */
hr_span *hr__spans_add(hr_span **span, int64_t *count, int64_t *capacity, int64_t more);

parts *hr__parts_new(returns *home);
bool hr__parts_add(parts *p, hr_span span);      /* takes the span if there is memory */
void hr__parts_return(parts *p);                 /* from anywhere, without the lock. NULL: nothing */
void hr__parts_drop(returns *home, parts *list); /* by the plan that counts them */
returns *hr__returns_new(engine *e);
void hr__returns_close(returns *home); /* the stage goes: no thread is inside it */

/* waiting_rows.c. False: no memory. */
bool hr__rows_wait(rows *r, hr_work *w, bool alone); /* alone: nobody needs their columns before they are gathered */
bool hr__gather_laid_rows(rows *r, const hr_span *span, int64_t spans, hr_work *w); /* r->c.rows of them */

/* gather_spans.c */
bool hr__rows_drop_failed(rows *r, const uint64_t *failed, hr_work *w); /* and their elements; false: no memory */
bool hr__rows_unfold(rows *r, hr_work *w);      /* of bare ones: into columns; false: no memory */
bool hr__rows_cut(hr_columns *c, int64_t rows); /* true: the last element is short now */

/* budget.c */
size_t hr__blocks_size(const block *b); /* of a chain */
size_t hr__rows_size(const rows *r);    /* what they hold themselves */
size_t hr__strings_size(const rows *r); /* what their strings take, whoever holds them: about */

#endif
