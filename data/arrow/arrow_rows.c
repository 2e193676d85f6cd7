/* See arrow_rows.h. The bytes of strings are copied, too, since arrays do not promise readable bytes after their
 * end. */
#include "data/arrow/arrow_rows.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct target {
    const hr__arrow_table *table;
    const hr__arrow_component *c;
    const hr__arrow_column *from;
    hr_work *work;
    hr_columns *rows;
    int field;
    int64_t first;  /* row of the array that is the unit's first */
    int64_t number; /* of the array's first row */
    char *text;     /* where the next string's bytes go */
} target;

HR_PRINTF(4, 5) static void fail_row(const target *t, int64_t row, const char *kind, const char *format, ...)
{
    char what[160];
    hr_error err;
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    const int64_t record = t->number + t->first + row;
    hr_fail(&err, HR_INVALID_ARGUMENT, kind, "%s: row %" PRId64 " of column '%.60s': %s", t->table->who, record,
            t->from->type->name, what);
    err.record = record;
    snprintf(err.feature, sizeof err.feature, "%s", t->from->type->name);
    hr_fail_at(t->work, t->rows, row, &err);
}

static void fail_offsets(const target *t, int64_t row)
{
    fail_row(t, row, "from_arrow.offsets",
             "expected offsets that rise and stay within the values, got others; the "
             "array is damaged");
}

/* ---- strings ---- */

static bool string_of(const target *t, int64_t entry, hr_view *text)
{
    int64_t value;
    return hr__arrow_find(t->from, entry, &value) == HR__ARROW_VALUE && hr__arrow_string(t->from, value, text);
}

/* Bytes of the unit's strings; what is unsound counts for nothing, it is refused later. */
static size_t measure_strings(const target *t)
{
    size_t size = 0;
    for (int64_t row = 0; row < t->rows->rows; row++) {
        int64_t first, count;
        hr_view text;
        if (!hr__arrow_row(t->from, t->first + row, &first, &count)) continue;
        for (int64_t i = first; i < first + count; i++)
            if (string_of(t, i, &text)) size += (size_t)text.size;
    }
    return size;
}

static bool put_string(target *t, int64_t value, hr_view *to)
{
    hr_view from;
    const bool sound = hr__arrow_string(t->from, value, &from);
    const size_t size = sound ? (size_t)from.size : 0;
    if (size) memcpy(t->text, from.data, size);
    *to = (hr_view){t->text, (int64_t)size};
    t->text += size;
    return sound;
}

/* ---- values ---- */

static void clear_values(const target *t, char *to, int64_t count)
{
    memset(to, 0, (size_t)count * hr_dtype_size(t->c->field.dtype));
    for (int64_t i = 0; i < count && t->c->field.dtype == HR_STRING; i++) ((hr_view *)(void *)to)[i].data = "";
}

static void arrow_rows_put_value(target *t, int64_t row, int64_t value, char *to)
{
    const hr_dtype dtype = t->c->field.dtype;
    if (dtype == HR_STRING) {
        if (!put_string(t, value, (hr_view *)(void *)to)) fail_offsets(t, row);
    } else if (!hr__arrow_number(t->from, value, dtype, to)) {
        fail_row(t, row, "from_arrow.range", "expected numbers that fit %s, got another one", hr_dtype_name(dtype));
    }
}

/* Entries first .. first + count - 1 of the column, for row `row`. */
static void put_entries(target *t, int64_t row, int64_t first, int64_t count, char *to)
{
    int64_t value;
    for (int64_t i = 0; i < count; i++, to += hr_dtype_size(t->c->field.dtype)) {
        const hr__arrow_found found = hr__arrow_find(t->from, first + i, &value);
        if (found == HR__ARROW_VALUE) {
            arrow_rows_put_value(t, row, value, to);
            continue;
        }
        clear_values(t, to, 1);
        if (found == HR__ARROW_NULL)
            fail_row(t, row, "from_arrow.null", "expected values, got a null in a list");
        else
            fail_row(t, row, "from_arrow.dictionary", "expected codes of its dictionary, got %" PRId64, value);
    }
}

static void arrow_rows_fill_row(target *t, int64_t row, char *to)
{
    const int64_t want = t->c->count;
    int64_t first, count;
    const bool sound = hr__arrow_row(t->from, t->first + row, &first, &count);
    if (sound && count == want) {
        put_entries(t, row, first, count, to);
        return;
    }
    clear_values(t, to, want);
    if (!sound)
        fail_offsets(t, row);
    else if (count >= 0)
        fail_row(t, row, "from_arrow.count", "expected %" PRId64 " values, as the shape has, got %" PRId64, want,
                 count);
    else if (t->c->default_values)
        memcpy(to, t->c->default_values, (size_t)want * hr_dtype_size(t->c->field.dtype));
    else
        fail_row(t, row, "from_arrow.null", "expected a value, got null; give it a default by a spec, or fill it");
}

static void fill_dense(target *t)
{
    hr_column *to = &t->rows->column[t->field];
    const int64_t rows = t->rows->rows;
    const hr__arrow_type *type = t->from->type;
    const size_t width = (size_t)t->c->count * hr_dtype_size(t->c->field.dtype);
    if (t->from->plain && type->values.dtype == t->c->field.dtype && type->width == t->c->count && rows > 0) {
        memcpy(to->values, hr__arrow_plain(t->from, t->first), (size_t)rows * width);
        return;
    }
    for (int64_t row = 0; row < rows; row++) arrow_rows_fill_row(t, row, (char *)to->values + (size_t)row * width);
}

/* How many entries the row gives: none if it is wrong. Nulls are empty lists. */
static int64_t arrow_rows_list_of(const target *t, int64_t row, int64_t *first)
{
    int64_t count;
    if (!hr__arrow_row(t->from, t->first + row, first, &count)) {
        fail_offsets(t, row);
        return 0;
    }
    if (count > 0 && count % t->c->group != 0) {
        fail_row(t, row, "from_arrow.count", "expected a multiple of %" PRId64 " values, got %" PRId64, t->c->group,
                 count);
        return 0;
    }
    return count < 0 ? 0 : count;
}

static hr_status fill_list(target *t, hr_error *err)
{
    hr_column *to = &t->rows->column[t->field];
    const size_t size = hr_dtype_size(t->c->field.dtype);
    to->splits[0][0] = 0;
    for (int64_t row = 0; row < t->rows->rows; row++) {
        int64_t first;
        const int64_t count = arrow_rows_list_of(t, row, &first);
        if (to->count + count > INT32_MAX)
            return hr_fail(err, HR_RESOURCE_EXHAUSTED, "from_arrow.count",
                           "%s: column '%.60s': expected at most %d values in a unit of rows, got more", t->table->who,
                           t->from->type->name, INT32_MAX);
        HR_TRY(hr_grow_column(t->work, t->rows, t->field, to->count + count, err));
        put_entries(t, row, first, count, (char *)to->values + (size_t)to->count * size);
        to->count += count;
        to->splits[0][row + 1] = (int32_t)to->count;
    }
    return HR_OK;
}

/* Rows that failed are cut off: values after the last one that is left do not count. */
static void cut_lists(const hr__arrow_table *t, hr_columns *rows)
{
    for (int i = 0; i < t->components; i++)
        if (t->component[i].count < 0) rows->column[i].count = rows->column[i].splits[0][rows->rows];
}

hr_status hr__arrow_fill(const hr__arrow_table *table, const hr__arrow_batch *batch, int64_t first, hr_work *w,
                         hr_columns *rows, hr_error *err)
{
    hr_columns before; /* dense columns are there already, lists are not */
    if (table->lists) HR_TRY(hr_new_columns(w, rows, &before, err));
    for (int i = 0; i < table->components; i++) {
        target t = {.table = table, .c = &table->component[i], .from = &batch->column[i], .work = w, .rows = rows};
        t.field = i;
        t.first = first;
        t.number = batch->first;
        if (t.c->field.dtype == HR_STRING) {
            t.text = hr_row_text(w, rows, measure_strings(&t));
            if (!t.text) return hr_no_memory(err, table->who);
        }
        if (t.c->count >= 0)
            fill_dense(&t);
        else
            HR_TRY(fill_list(&t, err));
    }
    cut_lists(table, rows);
    return HR_OK;
}
