/* An operator that holds single rows, such as a shuffle, draws them from all over memory. By column that would be a
 * cache miss for each value, so these rows are stored in row layout, and become columns again when they are
 * gathered. Where no plan looks at them, each has a cell of its own for this and its strings: so a row takes memory as
 * long as it waits, not as long as any other one of its unit. */
#include "data/exec/engine.h"
#include <string.h>

/* Below so many columns the columns themselves are as near. */
enum { FEWEST_COLUMNS = 4 };

/* ---- forms: one list for all stages that give rows of one place ---- */

typedef struct place_layouts {
    struct place_layouts *next;
    const hr_dataset *shape;
    hr__row_layouts forms;
} place_layouts;

static place_layouts *forms_of(engine *e, const hr_dataset *shape)
{
    place_layouts *f = e->forms;
    while (f && f->shape != shape) f = f->next;
    if (f || !(f = hr_calloc(1, sizeof *f))) return f;
    *f = (place_layouts){.next = e->forms, .shape = shape};
    return e->forms = f;
}

static const hr__row_layout *waiting_rows_join(engine *e, const hr_dataset *shape, const hr__row_layout *need)
{
    hr__engine_lock(e);
    place_layouts *f = forms_of(e, shape);
    const hr__row_layout *form = f ? hr__row_layouts_join(&f->forms, need) : NULL;
    hr__engine_unlock(e);
    return form;
}

void hr__row_layouts_free(engine *e)
{
    while (e->forms) {
        place_layouts *f = e->forms;
        e->forms = f->next;
        hr__row_layouts_clear(&f->forms);
        hr_free(f);
    }
}

/* ---- strings into cells ---- */

static char *move_strings(char *to, hr_view *view, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (view[i].size) memcpy(to, view[i].data, (size_t)view[i].size);
        view[i].data = to;
        to += view[i].size;
    }
    return to;
}

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

static void measure_strings(rows *r, size_t *sizes)
{
    int64_t count;
    for (int i = 0; i < r->c.schema->fields; i++)
        for (int64_t row = 0; row < r->c.rows && is_string(r, i); row++) {
            const hr_view *view = row_strings(r, i, row, &count);
            for (int64_t k = 0; k < count; k++) sizes[row] += (size_t)view[k].size;
        }
}

static void move_row(rows *r, int64_t row, char *to)
{
    int64_t count;
    for (int i = 0; i < r->c.schema->fields; i++) {
        if (!is_string(r, i)) continue;
        hr_view *view = row_strings(r, i, row, &count);
        to = move_strings(to, view, count);
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

/* `form`: each cell begins with space for a row of it; NULL: none. */
static bool move_to_cells(rows *r, hr_work *w, const hr__row_layout *form)
{
    const size_t before = form ? form->size : 0;
    if ((!r->shape->strings && !form) || r->c.rows == 0) return true;
    size_t *sizes = hr__store_scratch(&w->engine->store, &w->runs, (size_t)r->c.rows * sizeof *sizes);
    cell *cells = hr__rows_held(r, (size_t)r->c.rows * sizeof *cells);
    if (!sizes || !cells) return false;
    for (int64_t row = 0; row < r->c.rows; row++) sizes[row] = before;
    measure_strings(r, sizes);
    if (!hr__store_cells(&r->engine->store, cells, sizes, r->c.rows, &r->cell_bytes)) return false;
    r->cell = cells;
    for (int64_t row = 0; row < r->c.rows; row++) {
        cells[row].spans = 1;
        move_row(r, row, (char *)cells[row].at + before);
    }
    give_up_bytes(r, w);
    return true;
}

/* ---- rows that are held ---- */

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

/* *form: NULL if such rows have no row layout. False: no memory. */
static bool find_layout(rows *r, hr_work *w, const hr__row_layout **form)
{
    *form = NULL;
    hr__row_layout *need = hr__store_scratch(&w->engine->store, &w->runs, hr__row_layout_bytes(r->c.schema->fields));
    if (!need) return false;
    if (!hr__row_layout_measure(&r->c, need)) return true;
    *form = waiting_rows_join(r->engine, r->shape, need);
    return *form != NULL;
}

/* Some rows at a time, which stay in the cache. */
static bool lay_into_cells(rows *r, hr_work *w, const hr__row_layout *form)
{
    enum { CACHED = 16 << 10 };
    const int64_t fit = CACHED / (int64_t)(form->size + 1) + 1, step = fit < HR__LAID_BLOCK ? fit : HR__LAID_BLOCK;
    char *laid = hr__store_scratch(&w->engine->store, &w->runs, (size_t)step * form->size);
    if (!laid) return false;
    for (int64_t first = 0; first < r->c.rows; first += step) {
        const int64_t left = r->c.rows - first, count = left < step ? left : step;
        hr__some_to_row_layout(&r->c, form, first, count, laid);
        for (int64_t i = 0; i < count; i++) memcpy(r->cell[first + i].at, laid + (size_t)i * form->size, form->size);
    }
    r->form = form;
    drop_columns(r);
    return true;
}

/* A unit of numbers takes less than a cell for each row, even if it stays until its last row goes. */
static bool is_worth_cells(const rows *r, const hr__row_layout *form)
{
    enum { SMALL = 128 };
    return r->shape->strings || form->size >= SMALL;
}

/* Each for itself where that can be: its memory is free when it goes, and not when the last row of its unit does, which
 * in a shuffle is many times later. */
bool hr__rows_wait(rows *r, hr_work *w, bool alone)
{
    const hr__row_layout *form = NULL;
    if (r->c.rows == 0) return true;
    if ((alone || r->c.schema->fields >= FEWEST_COLUMNS) && !r->form && !find_layout(r, w, &form)) return false;
    const bool own = alone && form && !r->aliases && is_worth_cells(r, form);
    if (!move_to_cells(r, w, own ? form : NULL)) return false;
    if (own) return lay_into_cells(r, w, form);
    if (!form || r->c.schema->fields < FEWEST_COLUMNS) return true;
    char *laid = hr__rows_held(r, (size_t)r->c.rows * form->size + STRING_SLACK);
    if (!laid) return false;
    hr__columns_to_row_layout(&r->c, form, laid);
    r->laid = laid;
    r->form = form;
    if (alone && !r->aliases) drop_columns(r);
    return true;
}

/* ---- gathering ---- */

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
            set->laid[set->count] = from->laid ? from->laid + (size_t)k * from->form->size : from->cell[k].at;
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
