/* Work on a unit: its spans become rows of its own, the work operators have them in turn, and where the reader holds
 * single rows, they move into cells while they are still in the cache (waiting_rows.c). */
#include "data/exec/engine.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- errors ---- */

/* The line that begins at an offset of a file of text, from 1. 0: it cannot be told, as of what is read once. */
static int64_t line_at(const char *name, int64_t offset)
{
    hr_input *in;
    const char *data;
    size_t size;
    int64_t line = 1, passed = 0;
    if (hr_path_size(name) < 0 || hr_input_open_with(name, NULL, &in, NULL) != HR_OK) return 0;
    while (passed < offset && hr_input_peek(in, 1, &data, &size, NULL) == HR_OK && size > 0) {
        if ((int64_t)size > offset - passed) size = (size_t)(offset - passed);
        const char *const end = data + size;
        for (const char *at = data; (at = memchr(at, '\n', (size_t)(end - at))); at++) line++;
        hr_input_consume(in, size);
        passed += (int64_t)size;
    }
    hr_input_free(in);
    return passed == offset ? line : 0;
}

static void name_place(engine *e, const hr_columns *c, int64_t row, bool lines, hr_error *err)
{
    if (err->file[0] || !c->origin || row >= c->rows || c->origin[row].file < 0) return;
    const hr_origin *from = &c->origin[row];
    hr__engine_lock(e);
    const noted_file file = e->file[from->file]; /* its name lives as long as the engine */
    hr__engine_unlock(e);
    hr_error_file(err, file.name);
    const bool numbered = from->record != UINT32_MAX;
    if (numbered && err->record < 0) err->record = from->record;
    if (err->offset < 0) err->offset = from->offset;
    const int64_t line = lines && file.has_lines ? line_at(file.name, from->offset) : 0;
    if (line > 0) err->line = line;
    if (numbered && line == 0) hr_error_prefix(err, "record %" PRIu32 ": ", from->record);
    hr_error_prefix(err, "%s:%" PRId64 ": ", err->file, line > 0 ? line : from->offset);
}

void hr__name_place(engine *e, const hr_columns *c, int64_t row, hr_error *err) { name_place(e, c, row, false, err); }

void hr__name_line(engine *e, const hr_columns *c, int64_t row, hr_error *err) { name_place(e, c, row, true, err); }

static void cut_at(hr_work *w, hr_columns *c, int64_t row, const hr_error *err)
{
    hr_error *to = &w->unit->error;
    *to = *err;
    if (to->code >= 0)
        hr_fail(to, HR_INTERNAL, "op.failed", "%s: failed without an error", w->op ? w->op->ds->op->name : "gather");
    hr__name_line(w->engine, c, row, to);
    w->unit->partial |= hr__rows_cut(c, row);
}

bool hr__ignorable(const hr_error *err) { return err->code != HR_RESOURCE_EXHAUSTED && err->code != HR_CANCELLED; }

void hr__tell_ignored(const hr_dataset *by, const hr_error *err)
{
    if (by->op->ignored) by->op->ignored(by->spec, err);
}

static void work_no_memory(hr_work *w, hr_columns *c)
{
    hr_error err;
    hr_no_memory(&err, "a unit of rows");
    if (c)
        cut_at(w, c, 0, &err);
    else
        w->unit->error = err;
}

/* Without memory to note it, it must not end the unit as an error of its own: that might be ignored above. */
static void ignore_at(hr_work *w, hr_columns *c, int64_t row, const hr_error *err)
{
    hr_error placed = *err;
    if (!w->failed) w->failed = hr_calloc((size_t)(c->rows + 63) / 64, sizeof *w->failed);
    if (!w->failed) {
        work_no_memory(w, c);
        return;
    }
    hr__name_place(w->engine, c, row, &placed);
    w->failed[row / 64] |= UINT64_C(1) << row % 64;
    hr__tell_ignored(w->op->ignores, &placed);
}

void hr_fail_at(hr_work *w, hr_columns *c, int64_t row, const hr_error *err)
{
    if (row < 0) row = 0;
    if (row >= c->rows) return; /* after one that failed: cut off already */
    if (w->op && w->op->ignores && hr__ignorable(err))
        ignore_at(w, c, row, err);
    else
        cut_at(w, c, row, err);
}

/* Not of a cancelled unit: rows after the one it had reached are not filled in. */
static void drop_failed(hr_work *w)
{
    rows *r = w->unit->rows;
    const int64_t before = r->c.elements;
    if (engine_cancelled(w->engine) || hr__rows_drop_failed(r, w->failed, w))
        hr__count(w->engine, "ignored", before - r->c.elements);
    else
        work_no_memory(w, &r->c);
    hr_free(w->failed);
    w->failed = NULL;
}

/* ---- the unit ---- */

static bool number_rows(unit *u)
{
    hr_columns *c = &u->rows->c;
    c->number = hr__rows_array(u->rows, (size_t)c->rows * sizeof *c->number);
    for (int64_t r = 0; c->number && r < c->rows; r++) c->number[r] = u->first_row + r;
    return c->number != NULL;
}

/* After one has failed as a whole there are no rows, and perhaps not the columns that the next one expects. */
static void run_operators(stage *s, unit *u, hr_work *w)
{
    hr_status st = HR_OK;
    for (int i = 0; i < s->works && st >= 0 && !engine_cancelled(w->engine); i++) {
        hr_error err = {0};
        const hr_op *op = s->work[i].ds->op;
        w->op = &s->work[i];
        const void *blob = s->work[i].ds == s->top->ds ? u->blob : NULL;
        st = op->work(s->work[i].ds->spec, blob, w, &u->rows->c, &err);
        st = hr__op_answer(op, st, &err);
        if (st < 0) cut_at(w, &u->rows->c, 0, &err);
        if (w->failed) drop_failed(w);
    }
}

/* Rows that come as records stay so if nothing but the operator that gave them works on them. */
static bool stay_bare(const stage *s)
{
    return s->blind && !s->numbered && (s->works == 0 || (s->works == 1 && s->work[0].ds == s->top->ds));
}

void hr__unit_work(stage *s, unit *u, hr_work *w)
{
    w->unit = u;
    w->stage = s;
    w->op = NULL;
    if (u->parts && u->parts->count && !u->rows && !hr__unit_gather(s, u, w)) work_no_memory(w, NULL);
    if (!u->rows) return;
    if (are_bare(&u->rows->c) && !stay_bare(s) && !hr__rows_unfold(u->rows, w)) {
        work_no_memory(w, &u->rows->c);
        return;
    }
    if (s->numbered && u->first_row >= 0 && !number_rows(u)) work_no_memory(w, &u->rows->c);
    run_operators(s, u, w);
    if (engine_cancelled(w->engine)) return;            /* its columns may not be filled in */
    if (!s->reader->numbered) u->rows->c.number = NULL; /* nobody above asks, and they would be held for nothing */
    if (s->cells && !are_bare(&u->rows->c) && !hr__rows_wait(u->rows, w, s->blind)) work_no_memory(w, &u->rows->c);
    if (!u->rows->shape->strings && !u->rows->aliases) {
        hr__parts_return(u->rows->parts);
        u->rows->parts = NULL;
    }
}

/* ---- op.h for work ---- */

bool hr_work_cancelled(const hr_work *w) { return engine_cancelled(w->engine); }
bool hr_work_tf_compat(const hr_work *w) { return w->op->settings.tf_compat; }
bool hr_work_partial(const hr_work *w) { return w->unit->partial; }
void *hr_scratch(hr_work *w, size_t bytes) { return hr__store_scratch(&w->engine->store, &w->scratch, bytes); }

void hr_row_place(hr_work *w, const hr_columns *c, int64_t row, hr_error *err)
{
    hr__name_place(w->engine, c, row, err);
}

void *hr_row_bytes(hr_work *w, hr_columns *c, size_t bytes)
{
    (void)w; /* not among the bytes of strings: these are given up when strings move into cells */
    return hr__rows_array((rows *)c, bytes + STRING_SLACK);
}

void *hr_row_text(hr_work *w, hr_columns *c, size_t bytes)
{
    (void)w;
    return hr__rows_text((rows *)c, bytes);
}

uint64_t hr_row_key(const hr_work *w, const hr_columns *c, int64_t row, uint64_t seed)
{
    if (!seed) seed = w->op->settings.seed ? w->op->settings.seed : w->engine->seed;
    uint64_t key = hr_random(hr_random(w->stage->path, seed), (uint64_t)w->op->ds->place);
    return hr_random(key, (uint64_t)c->number[row]);
}

static void keep_values(hr_column *c, size_t width, const uint64_t *bits, int64_t rows)
{
    char *to = c->values;
    for (int64_t r = 0; r < rows; r++) {
        if (!(bits[r / 64] >> r % 64 & 1)) continue;
        const char *from = (const char *)c->values + (size_t)r * width;
        if (to != from) memmove(to, from, width);
        to += width;
    }
}

static void keep_heads(hr_columns *c, const uint64_t *bits)
{
    int64_t kept = 0;
    for (int64_t r = 0; r < c->rows; r++) {
        if (!(bits[r / 64] >> r % 64 & 1)) continue;
        if (c->number) c->number[kept] = c->number[r];
        if (c->origin) c->origin[kept] = c->origin[r];
        kept++;
    }
    c->rows = c->elements = kept;
}

/* Columns of varying width are gathered again. */
static hr_status keep_gathered(hr_work *w, hr_columns *c, const uint64_t *bits, hr_error *err)
{
    const size_t words = (size_t)(c->rows + 63) / 64;
    uint64_t *dropped = hr_malloc(words * sizeof *dropped);
    for (size_t i = 0; dropped && i < words; i++) dropped[i] = ~bits[i];
    const bool done = dropped && hr__rows_drop_failed((rows *)c, dropped, w);
    hr_free(dropped);
    return done ? HR_OK : hr_no_memory(err, "filtered rows");
}

hr_status hr_keep_rows(hr_work *w, hr_columns *c, const uint64_t *bits, hr_error *err)
{
    const rows *r = (const rows *)c;
    bool fixed = true;
    if (c->levels > 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "filter.batched", "%s: rows cannot be dropped from batches",
                       w->op->ds->op->name);
    for (int i = 0; i < c->schema->fields; i++) fixed &= r->shape->width[i] > 0 && !c->column[i].present;
    if (!fixed) return keep_gathered(w, c, bits, err);
    for (int i = 0; i < c->schema->fields; i++) keep_values(&c->column[i], r->shape->width[i], bits, c->rows);
    keep_heads(c, bits);
    return HR_OK;
}

hr_status hr_new_columns(hr_work *w, hr_columns *c, hr_columns *before, hr_error *err)
{
    *before = *c;
    if (hr__rows_columns((rows *)c, w->op->ds, c->rows)) return HR_OK;
    return hr_no_memory(err, "columns");
}

void hr_adopt_schema(hr_work *w, hr_columns *c)
{
    ((rows *)c)->shape = w->op->ds;
    c->schema = &w->op->ds->out.schema;
}

static bool grow_values(rows *r, hr_column *column, int64_t capacity, size_t width)
{
    char *values = hr__rows_array(r, hr__column_stride(width, capacity));
    if (!values) return false;
    if (column->count) memcpy(values, column->values, (size_t)column->count * width);
    column->values = values;
    if (!column->inner) return true;
    int64_t *inner = hr__rows_array(r, (size_t)capacity * sizeof *inner);
    if (!inner) return false;
    if (column->count) memcpy(inner, column->inner, (size_t)column->count * sizeof *inner);
    column->inner = inner;
    return true;
}

hr_status hr_grow_column(hr_work *w, hr_columns *c, int field, int64_t count, hr_error *err)
{
    (void)w;
    rows *r = (rows *)c;
    int64_t capacity = r->value_capacity[field];
    if (count <= capacity) return HR_OK;
    if (capacity + capacity / 2 > count) count = capacity + capacity / 2;
    if (!grow_values(r, &c->column[field], count, hr_dtype_size(c->schema->field[field].dtype)))
        return hr_no_memory(err, "a column's values");
    r->value_capacity[field] = count;
    return HR_OK;
}

int64_t hr_work_count(hr_work *w, const char *what, int64_t count) { return hr__count(w->engine, what, count); }
void hr_plan_count(hr_plan *p, const char *what, int64_t count) { hr__count(p->stage->engine, what, count); }
