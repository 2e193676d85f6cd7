/* Spans into rows of a unit's own. Strings are gathered as views: the unit holds the spans, and so the bytes, until
 * nobody needs them. */
#include "data/exec/engine.h"
#include <string.h>

enum { AHEAD = 24 }; /* how many runs ahead of the current one the cache is asked for what leads to their values */

typedef struct run {
    const hr_columns *in;
    int64_t from, to; /* at the current level, in the end rows */
} run;

/* ---- one level of splits ---- */

static int64_t runs_length(const run *run, int64_t runs)
{
    int64_t count = 0;
    for (int64_t i = 0; i < runs; i++) count += run[i].to - run[i].from;
    return count;
}

static void gather_spans_copy_splits(int32_t *splits, const int32_t *from, int64_t first, int64_t last, int64_t n)
{
    const int32_t shift = splits[n] - from[first];
    for (int64_t k = first; k < last; k++) splits[++n] = from[k + 1] + shift;
}

/* Of batches, or of ragged column `column`. Leaves the runs at the next level. NULL: no memory. */
static int32_t *gather_level(rows *r, run *run, int64_t runs, int column, int level)
{
    int32_t *splits = hr__rows_array(r, ((size_t)runs_length(run, runs) + 1) * sizeof *splits);
    if (!splits) return NULL;
    splits[0] = 0;
    for (int64_t i = 0, n = 0; i < runs; i++) {
        const hr_columns *in = run[i].in;
        const int32_t *from = column < 0 ? in->splits[level] : in->column[column].splits[level];
        gather_spans_copy_splits(splits, from, run[i].from, run[i].to, n);
        n += run[i].to - run[i].from;
        run[i].from = from[run[i].from];
        run[i].to = from[run[i].to];
    }
    return splits;
}

/* ---- columns ---- */

static inline char *gather_spans_copy_values(char *to, const char *from, size_t width, int64_t first, int64_t count)
{
    const size_t size = (size_t)count * width;
    if (count == 1 && width == sizeof(hr_view))
        memcpy(to, from + (size_t)first * sizeof(hr_view), sizeof(hr_view));
    else if (count == 1 && width == sizeof(int64_t))
        memcpy(to, from + (size_t)first * sizeof(int64_t), sizeof(int64_t));
    else if (size)
        memcpy(to, from + (size_t)first * width, size);
    return to + size;
}

/* More runs than a unit has rows as a rule come from as many inputs, which do not stay in the cache: what leads to the
 * values is on its way step by step before they are copied. */
static inline __attribute__((always_inline)) void ask_for_values(const run *run, int64_t left, int from, size_t width)
{
    enum { STEP = 32 };
    if (left <= 3 * STEP) return;
    const struct run *near = run + STEP;
    __builtin_prefetch(&run[3 * STEP].in->column);
    __builtin_prefetch(&run[2 * STEP].in->column[from].values);
    __builtin_prefetch((const char *)near->in->column[from].values + (size_t)near->from * width);
    if (near->in->origin) __builtin_prefetch(&near->in->origin[near->from]);
}

/* *present: some of them says which of its rows are there. */
static void gather_fixed(hr_column *to, size_t width, const run *run, int64_t runs, int from, bool *present)
{
    const bool far = runs > MAX_UNIT_ROWS;
    char *at = to->values;
    for (int64_t i = 0; i < runs; i++) {
        if (far) ask_for_values(run + i, runs - i, from, width);
        const hr_column *of = &run[i].in->column[from];
        *present |= of->present != NULL;
        at = gather_spans_copy_values(at, of->values, width, run[i].from, run[i].to - run[i].from);
    }
}

/* Ragged and sparse columns: level by level down to the values. Leaves `low` at the values. */
static bool gather_varying(rows *r, hr_column *to, size_t width, run *low, int64_t runs, int from)
{
    const hr_column *first = &low[0].in->column[from];
    for (int level = 0; level < HR_MAX_RAGGED && first->splits[level]; level++) {
        to->splits[level] = gather_level(r, low, runs, from, level);
        if (!to->splits[level]) return false;
    }
    to->count = runs_length(low, runs);
    to->dense_width = first->dense_width;
    char *at = to->values = hr__rows_array(r, (size_t)to->count * width);
    if (first->inner) to->inner = hr__rows_array(r, (size_t)to->count * sizeof *to->inner);
    if (!at || (first->inner && !to->inner)) return false;
    int64_t *inner = to->inner;
    for (int64_t i = 0; i < runs; i++) {
        const hr_column *of = &low[i].in->column[from];
        const int64_t count = low[i].to - low[i].from;
        at = gather_spans_copy_values(at, of->values, width, low[i].from, count);
        if (inner && count) memcpy(inner, of->inner + low[i].from, (size_t)count * sizeof *inner);
        if (inner) inner += count;
    }
    return true;
}

static bool gather_present(rows *r, hr_column *to, const run *run, int64_t runs, int from)
{
    to->present = hr__rows_array(r, ((size_t)r->c.rows + 63) / 64 * sizeof *to->present);
    if (!to->present) return false;
    memset(to->present, 0, ((size_t)r->c.rows + 63) / 64 * sizeof *to->present);
    for (int64_t i = 0, n = 0; i < runs; i++) {
        const uint64_t *of = run[i].in->column[from].present;
        for (int64_t k = run[i].from; k < run[i].to; k++, n++)
            if (!of || of[k / 64] >> k % 64 & 1) to->present[n / 64] |= UINT64_C(1) << n % 64;
    }
    return true;
}

static bool gather_column(rows *r, int column, const run *run, int64_t runs, int from, struct run *low)
{
    const size_t width = r->shape->width[column];
    hr_column *to = &r->c.column[column];
    bool present = false;
    if (width)
        gather_fixed(to, width, run, runs, from, &present);
    else {
        for (int64_t i = 0; i < runs; i++) present |= run[i].in->column[from].present != NULL;
        memcpy(low, run, (size_t)runs * sizeof *run);
        if (!gather_varying(r, to, hr_dtype_size(r->c.schema->field[column].dtype), low, runs, from)) return false;
    }
    return !present || gather_present(r, to, run, runs, from);
}

/* ---- heads: where rows were read, their numbers ---- */

static bool gather_origins(rows *r, const run *run, int64_t runs)
{
    bool any = false;
    for (int64_t i = 0; i < runs && !any; i++) any = run[i].in->origin != NULL;
    if (!any) return true;
    hr_origin *to = r->c.origin = hr__rows_array(r, (size_t)r->c.rows * sizeof *to);
    if (!to) return false;
    for (int64_t i = 0; i < runs; i++) {
        const int64_t count = run[i].to - run[i].from;
        if (run[i].in->origin)
            gather_spans_copy_values((char *)to, (const char *)run[i].in->origin, sizeof *to, run[i].from, count);
        else
            memset(to, 0xff, (size_t)count * sizeof *to);
        to += count;
    }
    return true;
}

/* Rows of several inputs may have none, some of them: then nobody above asks, or the stage numbers them itself. */
static bool gather_numbers(rows *r, const run *run, int64_t runs)
{
    for (int64_t i = 0; i < runs; i++)
        if (!run[i].in->number) return true;
    int64_t *to = r->c.number = hr__rows_array(r, (size_t)r->c.rows * sizeof *to);
    if (!to) return false;
    for (int64_t i = 0; i < runs; i++) {
        const int64_t count = run[i].to - run[i].from;
        if (count) memcpy(to, run[i].in->number + run[i].from, (size_t)count * sizeof *to);
        to += count;
    }
    return true;
}

/* ---- all of it ---- */

/* Single rows come from all over a shuffle's buffer: their lines are on the way before they are copied. Inline for
 * certain: a call that only prefetches counts as one without effect, and gcc drops it. */
static inline __attribute__((always_inline)) void ask_for_row(hr_span s, size_t width)
{
    __builtin_prefetch((const char *)s.in->column[0].values + (size_t)s.first * width);
    if (s.in->origin) __builtin_prefetch(&s.in->origin[s.first]);
}

static bool gather_side(rows *r, const hr_span *span, int64_t runs, int side, int sides, int *column, run *run)
{
    const hr_columns *first = span[side].in;
    struct run *low = run + runs;
    const bool asks = first->levels == 0 && first->schema->fields > 0 && runs <= MAX_UNIT_ROWS;
    const size_t width = asks ? r->shape->width[*column] : 0;
    for (int64_t i = 0; i < runs; i++) {
        hr_span s = span[i * sides + side];
        run[i] = (struct run){s.in, s.first, (int64_t)s.first + s.count};
        if (width && i + AHEAD < runs) __builtin_prefetch(span[(i + AHEAD) * sides + side].in->column);
        if (width && s.count == 1) ask_for_row(s, width);
    }
    for (int l = 0; l < first->levels; l++) {
        int32_t *splits = gather_level(r, run, runs, -1, l);
        if (!splits) return false;
        if (side == 0) r->c.splits[r->c.levels++] = splits;
    }
    if (side == 0) {
        r->c.rows = runs_length(run, runs);
        if (!hr__rows_columns(r, r->shape, r->c.rows) || !gather_origins(r, run, runs) || !gather_numbers(r, run, runs))
            return false;
    }
    for (int c = 0; c < first->schema->fields; c++)
        if (!gather_column(r, (*column)++, run, runs, c, low)) return false;
    return true;
}

/* `sides` spans in turn go side by side. Levels above theirs are there. */
static bool gather_columns(rows *r, const hr_span *span, int64_t spans, int sides, hr_work *w)
{
    const int64_t runs = spans / sides;
    int column = 0;
    run *run = hr__store_scratch(&w->engine->store, &w->runs, (size_t)runs * 2 * sizeof *run);
    bool done = run != NULL;
    for (int side = 0; side < sides && done; side++) done = gather_side(r, span, runs, side, sides, &column, run);
    return done;
}

/* Spans of which some are in row layout alone: these become columns first. */
static bool gather_mixed(rows *r, const hr_span *span, int64_t spans, hr_work *w)
{
    rows *fresh = hr__rows_new(r->engine, r->keeps, r->shape);
    hr_span *all = hr__store_scratch(&w->engine->store, &w->scratch, (size_t)spans * 2 * sizeof *all),
            *bare = all + spans;
    bool done = fresh && all;
    int64_t bares = 0;
    for (int64_t i = 0; i < spans && done; i++) {
        if (!are_bare(span[i].in)) continue;
        bare[bares++] = span[i];
        fresh->c.rows += span[i].count;
    }
    done = done && hr__gather_laid_rows(fresh, bare, bares, w);
    for (int64_t i = 0, row = 0; i < spans && done; i++) {
        all[i] = are_bare(span[i].in) ? (hr_span){&fresh->c, (int32_t)row, span[i].count} : span[i];
        if (are_bare(span[i].in)) row += span[i].count;
    }
    done = done && gather_columns(r, all, spans, 1, w);
    hr__rows_drop(fresh);
    return done;
}

/* A long run is copied faster by column, if it has any. */
static bool gather_spans_gather(rows *r, const hr_span *span, int64_t spans, int sides, hr_work *w)
{
    int64_t elements = 0, bare = 0, laid_spans = 0;
    for (int64_t i = 0; i < spans; i++) {
        elements += span[i].count;
        bare += are_bare(span[i].in);
        laid_spans += ((const rows *)span[i].in)->form != NULL;
    }
    if (bare > 0 && laid_spans < spans) return gather_mixed(r, span, spans, w);
    if (sides > 1 || laid_spans < spans || (bare == 0 && elements >= 2 * spans))
        return gather_columns(r, span, spans, sides, w);
    r->c.rows = elements;
    return hr__gather_laid_rows(r, span, spans, w);
}

static bool place_cuts(rows *r, const unit *u)
{
    r->c.elements = u->cuts ? u->cuts : u->elements;
    if (!u->cuts) return true;
    int32_t *splits = r->c.splits[r->c.levels++] = hr__rows_array(r, ((size_t)u->cuts + 1) * sizeof *splits);
    if (!splits) return false;
    splits[0] = 0;
    memcpy(splits + 1, u->cut, (size_t)u->cuts * sizeof *splits);
    return true;
}

bool hr__unit_gather(stage *s, unit *u, hr_work *w)
{
    rows *r = hr__rows_new(s->engine, s->ds, hr__stage_shape(s));
    if (!r) return false;
    const bool done =
        place_cuts(r, u) &&
        (hr__unit_can_alias(s, u) ? hr__unit_alias(r, u)
                                  : gather_spans_gather(r, u->parts->span, u->parts->count, u->parts->sides, w));
    r->parts = u->parts;
    u->parts = NULL;
    if (done)
        u->rows = r;
    else
        hr__rows_drop(r);
    return done;
}

static int64_t whole_elements(const rows *r, const uint64_t *failed, hr_span *span)
{
    int64_t spans = 0;
    for (int64_t e = 0; e < r->c.elements; e++) {
        bool bad = false;
        for (int64_t row = hr_first_row(&r->c, e); row < hr_first_row(&r->c, e + 1); row++)
            bad |= failed[row / 64] >> row % 64 & 1;
        if (!bad) span[spans++] = (hr_span){(hr_columns *)&r->c, (int32_t)e, 1};
    }
    return spans;
}

/* Whoever has a pointer to `r` keeps it: what is gathered again changes places with what was there. */
static void swap_rows(rows *r, rows *fresh)
{
    rows old = *r;
    *r = *fresh;
    *fresh = old;
    r->parts = old.parts;
    r->bytes = old.bytes;
    r->byte_at = old.byte_at;
    r->byte_left = old.byte_left;
    r->texts = old.texts;
    r->text_at = old.text_at;
    r->text_left = old.text_left;
    fresh->parts = NULL;
    fresh->bytes = fresh->texts = NULL;
    hr__rows_drop(fresh);
}

bool hr__rows_unfold(rows *r, hr_work *w)
{
    rows *fresh = hr__rows_new(r->engine, r->keeps, r->shape);
    bool done = fresh != NULL;
    if (done) {
        fresh->c.rows = fresh->c.elements = r->c.rows;
        done = hr__gather_laid_rows(fresh, &(hr_span){&r->c, 0, (int32_t)r->c.rows}, 1, w);
    }
    if (done)
        swap_rows(r, fresh);
    else
        hr__rows_drop(fresh);
    return done;
}

/* An operator may have made strings by hr_row_bytes: views of the rows that stay point to them. */
static void keep_texts(rows *from, rows *to)
{
    block **end = &to->arrays;
    if (!from->shape->strings) return;
    while (*end) end = &(*end)->next;
    *end = from->arrays;
    from->arrays = NULL;
}

bool hr__rows_drop_failed(rows *r, const uint64_t *failed, hr_work *w)
{
    rows *fresh = hr__rows_new(r->engine, r->keeps, r->shape);
    hr_span *span = hr_malloc(((size_t)r->c.elements + 1) * sizeof *span);
    bool done = fresh && span;
    if (done) {
        int64_t spans = fresh->c.elements = whole_elements(r, failed, span);
        if (spans == 0) span[spans++] = (hr_span){&r->c, 0, 0};
        done = gather_spans_gather(fresh, span, spans, 1, w);
    }
    hr_free(span);
    if (!done) {
        hr__rows_drop(fresh);
        return false;
    }
    keep_texts(r, fresh);
    swap_rows(r, fresh);
    return true;
}

/* Leaves `rows` rows; the last element at each level may be short then. Of none there need be no splits yet. */
bool hr__rows_cut(hr_columns *c, int64_t rows)
{
    bool partial = false;
    c->rows = c->elements = rows;
    for (int l = c->levels - 1; l >= 0 && rows > 0; l--) {
        int64_t n = 0, end = c->elements;
        while (c->splits[l][n] < end) n++;
        partial |= c->splits[l][n] != end;
        c->splits[l][n] = (int32_t)end;
        c->elements = n;
    }
    return partial;
}
