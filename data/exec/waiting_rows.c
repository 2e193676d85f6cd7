/* An operator that holds single rows, such as a shuffle, draws them from all over memory. By column that would be a
 * cache miss for each value, so these rows are stored in row layout, and become columns again when they are
 * gathered. Where no plan looks at them, each has a cell of its own for this and its strings: so a row takes memory as
 * long as it waits, not as long as any other one of its unit. */
#include "data/exec/engine.h"
#include <string.h>

/* Below so many columns the columns themselves are as near. */
enum { FEWEST_COLUMNS = 4 };

/* ---- forms: one list for all rows that are alike ---- */

typedef struct alike_rows {
    struct alike_rows *next;
    bool near; /* their views are */
    hr__row_layouts forms;
    rows *loose; /* rows of each form that lie in cells, of the newest form first */
} alike_rows;

/* `need`: NULL for strings without a row. */
static alike_rows *forms_of(engine *e, bool near, const hr__row_layout *need)
{
    alike_rows *f = e->forms;
    while (f && (f->near != near || !(need ? hr__row_layouts_fit(&f->forms, need) : !f->forms.newest))) f = f->next;
    if (f || !(f = hr_calloc(1, sizeof *f))) return f;
    *f = (alike_rows){.next = e->forms, .near = near};
    return e->forms = f;
}

static const hr__row_layout *waiting_rows_join(engine *e, const hr__row_layout *need)
{
    hr__engine_lock(e);
    alike_rows *f = forms_of(e, false, need);
    const hr__row_layout *form = f ? hr__row_layouts_join(&f->forms, need) : NULL;
    hr__engine_unlock(e);
    return form;
}

static rows *loose_of(engine *e, alike_rows *f, const hr__row_layout *form)
{
    if (f->loose && f->loose->form == form) return f->loose;
    rows *r = hr_malloc(sizeof *r);
    if (!r) return NULL;
    *r = (rows){.c = {.rows = 1, .elements = 1}, .loose = true, .form = form, .engine = e, .next = f->loose};
    return f->loose = r;
}

/* Whose spans are rows in cells, with near views. `need`: NULL for strings alone. NULL: no memory. */
static rows *loose_rows(engine *e, const hr__row_layout *need)
{
    hr__engine_lock(e);
    alike_rows *f = forms_of(e, true, need);
    const hr__row_layout *form = f && need ? hr__row_layouts_join(&f->forms, need) : NULL;
    rows *r = f && (form || !need) ? loose_of(e, f, form) : NULL;
    hr__engine_unlock(e);
    return r;
}

static void loose_free(rows *r)
{
    while (r) {
        rows *next = r->next;
        hr_free(r);
        r = next;
    }
}

void hr__row_layouts_free(engine *e)
{
    while (e->forms) {
        alike_rows *f = e->forms;
        e->forms = f->next;
        loose_free(f->loose);
        hr__row_layouts_clear(&f->forms);
        hr_free(f);
    }
}

/* ---- the strings of a unit ---- */

/* The strings of row `row` in column `i`. */
static hr_view *row_strings(rows *r, int i, int64_t row, int64_t *count)
{
    const hr_column *column = &r->c.column[i];
    int64_t first, end;
    if (r->shape->width[i]) {
        *count = (int64_t)(r->shape->width[i] / sizeof(hr_view));
        first = row * *count;
    } else {
        first = row, end = row + 1;
        for (int k = 0; k < HR_MAX_RAGGED && column->splits[k]; k++)
            first = column->splits[k][first], end = column->splits[k][end];
        *count = end - first;
    }
    return (hr_view *)column->values + first;
}

static bool is_string(const rows *r, int i) { return r->c.schema->field[i].dtype == HR_STRING; }

/* The bytes of each row. Gives the most that one has. */
static size_t measure_strings(rows *r, size_t *sizes)
{
    int64_t count;
    memset(sizes, 0, (size_t)r->c.rows * sizeof *sizes);
    for (int i = 0; i < r->c.schema->fields; i++)
        for (int64_t row = 0; row < r->c.rows && is_string(r, i); row++) {
            const hr_view *view = row_strings(r, i, row, &count);
            for (int64_t k = 0; k < count; k++) sizes[row] += (size_t)view[k].size;
        }
    size_t largest = 0;
    for (int64_t row = 0; row < r->c.rows; row++) largest = sizes[row] > largest ? sizes[row] : largest;
    return largest;
}

/* The bytes of row `row` to `to`; its views become how far each is from `from`, which is NULL for pointers. */
static void move_strings(rows *r, int64_t row, char *to, const char *from)
{
    int64_t count;
    for (int i = 0; i < r->c.schema->fields; i++) {
        if (!is_string(r, i)) continue;
        hr_view *view = row_strings(r, i, row, &count);
        for (int64_t k = 0; k < count; k++) {
            if (view[k].size) memcpy(to, view[k].data, (size_t)view[k].size);
            view[k].data = (const char *)((uintptr_t)to - (uintptr_t)from);
            to += view[k].size;
        }
    }
}

/* The blocks that the strings came from are free again, the first of those that were read for this thread's next unit;
 * not those that the columns lie in. */
static void give_up_bytes(rows *r, hr_work *w)
{
    if (r->aliases) return;
    r->given_up += hr__blocks_size(r->bytes) + hr__blocks_size(r->texts);
    if (!w->hot && r->bytes) {
        w->hot = r->bytes;
        r->bytes = w->hot->next;
        w->hot->next = NULL;
    }
    hr__store_put_blocks(&r->engine->store, r->bytes);
    hr__store_put_blocks(&r->engine->store, r->texts);
    r->bytes = r->texts = NULL;
    r->byte_left = r->text_left = 0;
    hr__parts_return(r->parts);
    r->parts = NULL;
}

/* ---- cells ---- */

/* Where the bytes of a row by itself begin. */
static char *cell_start(const rows *r, int64_t row)
{
    const hr_span cell = span_by_itself(r, row);
    const rows *in = (const rows *)cell.in;
    return in->loose ? cell_bytes(cell_numbered(&in->engine->store, cell.first)) : (char *)in->laid;
}

static rows *new_long_row(rows *r, size_t size)
{
    rows *row = hr__rows_new(r->engine, r->keeps, r->shape);
    if (!row) return NULL;
    row->form = r->in_cells->form;
    row->laid = hr__rows_held(row, size);
    row->c.rows = row->c.elements = 1;
    r->cell_bytes += hr__rows_size(row);
    if (row->laid) return row;
    hr__rows_drop(row);
    return NULL;
}

static bool add_long_rows(rows *r, const size_t *sizes)
{
    for (int64_t row = 0; row < r->c.rows; row++) {
        if (r->cell[row] != NO_CELL) continue;
        if (!r->long_row) {
            r->long_row = hr__rows_held(r, (size_t)r->c.rows * sizeof(rows *));
            if (!r->long_row) return false;
            memset(r->long_row, 0, (size_t)r->c.rows * sizeof(rows *));
        }
        if (!(r->long_row[row] = new_long_row(r, sizes[row]))) return false;
    }
    return true;
}

/* Of these sizes, for rows of `loose`. */
static bool lend_cells(rows *r, rows *loose, const size_t *sizes)
{
    store *store = &r->engine->store;
    int32_t *cell = hr__rows_held(r, (size_t)r->c.rows * sizeof *cell);
    if (!cell || !hr__store_cells(store, sizes, r->c.rows, cell, &r->cell_bytes)) return false;
    r->cell = cell;
    r->in_cells = loose;
    if (add_long_rows(r, sizes)) return true;
    for (int64_t row = 0; row < r->c.rows && r->long_row; row++) hr__rows_drop(r->long_row[row]);
    hr__store_put_cells(store, cell, r->c.rows);
    r->cell = NULL;
    return false;
}

/* The same, to be filled. Cells have left the cache, or lie in another one: a later one is on its way meanwhile, as far
 * as an average row fills it. */
static char *cell_to_fill(const rows *r, int64_t row)
{
    enum { AHEAD = 8, LINE = 64, MOST = 16 * LINE };
    const size_t average = r->cell_bytes / (size_t)r->c.rows;
    const char *later = row + AHEAD < r->c.rows ? cell_start(r, row + AHEAD) : NULL;
    for (size_t byte = 0; later && byte < average && byte < MOST; byte += LINE) __builtin_prefetch(later + byte, 1);
    return cell_start(r, row);
}

/* The columns stay. */
static bool strings_wait(rows *r, hr_work *w, size_t *sizes)
{
    rows *loose = loose_rows(r->engine, NULL);
    measure_strings(r, sizes);
    if (!loose || !lend_cells(r, loose, sizes)) return false;
    for (int64_t row = 0; row < r->c.rows; row++) move_strings(r, row, cell_to_fill(r, row), NULL);
    give_up_bytes(r, w);
    return true;
}

/* ---- whole rows ---- */

static void drop_columns(rows *r)
{
    r->given_up += hr__blocks_size(r->arrays);
    hr__store_put_blocks(&r->engine->store, r->arrays);
    r->arrays = NULL;
    r->array_left = 0;
    r->c.column = NULL;
    r->c.origin = NULL;
    r->value_capacity = NULL;
}

/* How many rows are laid at a time, so that they stay in the cache. */
static int64_t laid_step(const hr__row_layout *form)
{
    enum { CACHED = 16 << 10 };
    const int64_t fit = CACHED / (int64_t)(form->size + 1) + 1;
    return fit < HR__LAID_BLOCK ? fit : HR__LAID_BLOCK;
}

/* Each followed by its strings. */
static void lay_into_cells(rows *r, const hr__row_layout *form, char *laid)
{
    const int64_t step = laid_step(form);
    for (int64_t first = 0; first < r->c.rows; first += step) {
        const int64_t left = r->c.rows - first, end = first + (left < step ? left : step);
        for (int64_t row = first; row < end && r->shape->strings; row++) {
            char *at = cell_to_fill(r, row);
            move_strings(r, row, at + form->size, at);
        }
        hr__some_to_row_layout(&r->c, form, first, end - first, laid);
        for (int64_t row = first; row < end; row++)
            memcpy(cell_start(r, row), laid + (size_t)(row - first) * form->size, form->size);
    }
}

/* Those with the shortest views that reach all of a row; *loose: NULL if none do. False: no memory. */
static bool find_near(rows *r, hr__row_layout *need, size_t largest, rows **loose)
{
    static const struct {
        int width;
        size_t reach;
    } views[] = {{4, UINT16_MAX}, {8, UINT32_MAX}};
    *loose = NULL;
    for (int i = 0; i < 2 && !*loose; i++) {
        hr__row_layout_near(need, r->c.schema, views[i].width);
        rows *joined = loose_rows(r->engine, need);
        if (!joined) return false;
        if (largest + joined->form->size <= views[i].reach) *loose = joined;
    }
    return true;
}

/* Nothing of them stays by unit. *done: false if they cannot. False: no memory. */
static bool rows_wait_whole(rows *r, hr_work *w, hr__row_layout *need, size_t *sizes, bool *done)
{
    rows *loose;
    if (!find_near(r, need, measure_strings(r, sizes), &loose)) return false;
    *done = loose != NULL;
    if (!loose) return true;
    const hr__row_layout *form = loose->form;
    for (int64_t row = 0; row < r->c.rows; row++) sizes[row] += form->size;
    char *laid = hr__store_scratch(&w->engine->store, &w->scratch, (size_t)laid_step(form) * form->size);
    if (!laid || !lend_cells(r, loose, sizes)) return false;
    lay_into_cells(r, form, laid);
    r->form = form;
    drop_columns(r);
    give_up_bytes(r, w);
    return true;
}

/* ---- rows that are held ---- */

/* In row layout beside their columns. */
static bool lay_beside(rows *r, const hr__row_layout *need, bool alone)
{
    const hr__row_layout *form = waiting_rows_join(r->engine, need);
    char *laid = form ? hr__rows_held(r, (size_t)r->c.rows * form->size + STRING_SLACK) : NULL;
    if (!laid) return false;
    hr__columns_to_row_layout(&r->c, form, laid);
    r->laid = laid;
    r->form = form;
    if (alone && !r->aliases) drop_columns(r);
    return true;
}

/* A unit of numbers takes less than cells, even if it stays until its last row goes. */
static bool is_worth_cells(const rows *r, const hr__row_layout *need)
{
    enum { SMALL = 128 };
    return r->shape->strings || need->size >= SMALL;
}

/* Each for itself where that can be: its memory is free when it goes, and not when the last row of its unit does, which
 * in a shuffle is many times later. */
bool hr__rows_wait(rows *r, hr_work *w, bool alone)
{
    const int fields = r->c.schema->fields;
    const bool many = fields >= FEWEST_COLUMNS;
    if (r->c.rows == 0) return true;
    size_t *sizes = hr__store_scratch(&w->engine->store, &w->runs,
                                      (size_t)r->c.rows * sizeof *sizes + hr__row_layout_bytes(fields));
    if (!sizes) return false;
    hr__row_layout *need = (hr__row_layout *)(void *)(sizes + r->c.rows);
    bool laid = (alone || many) && !r->form && hr__row_layout_measure(&r->c, need), done = false;
    if (laid && alone && !r->aliases && is_worth_cells(r, need)) {
        if (!rows_wait_whole(r, w, need, sizes, &done)) return false;
        if (done) return true;
        laid = false;
    }
    if (r->shape->strings && !strings_wait(r, w, sizes)) return false;
    return !laid || !many || lay_beside(r, need, alone);
}

/* ---- gathering ---- */

static inline const char *laid_row(const rows *r, int64_t row)
{
    if (r->loose) return cell_bytes(cell_numbered(&r->engine->store, (int32_t)row));
    return r->laid ? r->laid + (size_t)row * r->form->size : cell_start(r, row);
}

typedef struct sorter {
    hr__laid_rows *set;
    int64_t sets;
} sorter;

/* Forms are few: one in the end. */
static hr__laid_rows *set_of(sorter *s, const hr__row_layout *form)
{
    int64_t i = 0;
    while (i < s->sets && s->set[i].form != form) i++;
    if (i == s->sets) s->set[s->sets++] = (hr__laid_rows){.form = form};
    return &s->set[i];
}

static void find_laid_rows(sorter *s, const hr_span *span, int64_t spans)
{
    int32_t row = 0;
    for (int64_t i = 0; i < spans; i++) {
        const rows *from = (const rows *)span[i].in;
        hr__laid_rows *set = set_of(s, from->form);
        for (int64_t k = span[i].first; k < (int64_t)span[i].first + span[i].count; k++) {
            set->laid[set->count] = laid_row(from, k);
            set->row[set->count++] = row++;
        }
    }
}

/* Records by their form. NULL: no memory. */
static hr__laid_rows *sort_laid_rows(const hr_span *span, int64_t spans, int64_t rows, hr_work *w, int64_t *sets)
{
    const size_t each = sizeof(char *) + sizeof(int32_t);
    char *memory =
        hr__store_scratch(&w->engine->store, &w->runs, (size_t)spans * sizeof(hr__laid_rows) + (size_t)rows * each);
    if (!memory) return NULL;
    sorter s = {(hr__laid_rows *)(void *)memory, 0};
    const char **laid = (const char **)(void *)(s.set + spans);
    int32_t *row = (int32_t *)(void *)(laid + rows);
    for (int64_t i = 0; i < spans; i++) set_of(&s, ((const struct rows *)span[i].in)->form)->count += span[i].count;
    for (int64_t i = 0; i < s.sets; i++) {
        s.set[i].laid = laid;
        s.set[i].row = row;
        laid += s.set[i].count;
        row += s.set[i].count;
        s.set[i].count = 0;
    }
    find_laid_rows(&s, span, spans);
    *sets = s.sets;
    return s.set;
}

/* ---- columns for them: in one piece, and columns of one value a row share their splits ---- */

typedef struct columns_plan {
    const hr__laid_rows *set;
    int64_t sets, rows;
    const hr_dataset *shape;
} columns_plan;

static bool varies(const columns_plan *p, int i) { return p->shape->width[i] == 0; }
static bool has_one(const columns_plan *p, int i) { return hr__laid_rows_have_one(p->set, p->sets, i); }
static size_t splits_size(const columns_plan *p) { return hr__column_stride(sizeof(int32_t), p->rows + 1); }

static size_t values_size(const columns_plan *p, int i, int64_t count)
{
    if (!varies(p, i)) return hr__column_stride(p->shape->width[i], p->rows);
    return hr__column_stride(hr_dtype_size(p->shape->out.schema.field[i].dtype), count + 1);
}

static size_t measure_columns(const columns_plan *p, hr_column *column)
{
    size_t size = splits_size(p);
    for (int i = 0; i < p->shape->out.schema.fields; i++) {
        column[i] = (hr_column){0};
        if (varies(p, i)) column[i].count = hr__laid_rows_count(p->set, p->sets, i);
        size += values_size(p, i, column[i].count);
        if (varies(p, i) && !has_one(p, i)) size += splits_size(p);
    }
    return size;
}

static void lay_columns(const columns_plan *p, hr_column *column, char *at)
{
    int32_t *shared = (int32_t *)(void *)at;
    for (int64_t row = 0; row <= p->rows; row++) shared[row] = (int32_t)row;
    at += splits_size(p);
    for (int i = 0; i < p->shape->out.schema.fields; i++) {
        column[i].values = at;
        at += values_size(p, i, column[i].count);
        if (!varies(p, i)) continue;
        column[i].splits[0] = has_one(p, i) ? shared : (int32_t *)(void *)at;
        if (has_one(p, i)) continue;
        hr__laid_rows_splits(p->set, p->sets, i, p->rows, column[i].splits[0]);
        at += splits_size(p);
    }
}

static bool new_columns(rows *r, const columns_plan *p)
{
    const int fields = p->shape->out.schema.fields;
    r->c.column = hr__rows_array(r, (size_t)fields * sizeof *r->c.column);
    r->value_capacity = hr__rows_array(r, (size_t)fields * sizeof *r->value_capacity);
    char *at = r->c.column && r->value_capacity ? hr__rows_array(r, measure_columns(p, r->c.column)) : NULL;
    if (!at) return false;
    lay_columns(p, r->c.column, at);
    for (int i = 0; i < fields; i++) r->value_capacity[i] = r->c.column[i].count;
    r->capacity = p->rows;
    return true;
}

bool hr__gather_laid_rows(rows *r, const hr_span *span, int64_t spans, hr_work *w)
{
    int64_t sets;
    const hr__laid_rows *set = sort_laid_rows(span, spans, r->c.rows, w, &sets);
    if (!set || !new_columns(r, &(columns_plan){set, sets, r->c.rows, r->shape})) return false;
    bool origins = false;
    for (int64_t i = 0; i < sets; i++) origins |= set[i].form->origins;
    if (origins && !(r->c.origin = hr__rows_array(r, (size_t)r->c.rows * sizeof *r->c.origin))) return false;
    hr__laid_rows_to_columns(set, sets, r->c.column, r->c.origin);
    return true;
}
