/* Rows and values read exactly: every rule of CSV, one field after the other. */
#include "base/text.h"
#include "io/csv/csv_parser.h"
#include <string.h>

/* ---- one value ---- */

static void mark_missing(hr__csv_parser *p, hr_column *column, int64_t row)
{
    if (!column->present) {
        const int64_t rows = p->sink->rows ? p->sink->rows : p->block->rows;
        const size_t bytes = (size_t)((rows + 63) / 64) * sizeof(uint64_t);
        column->present = p->sink->bytes(bytes, p->sink->user);
        if (column->present)
            memset(column->present, 0xff, bytes);
        else
            p->no_memory = true;
    }
    if (column->present) column->present[row / 64] &= ~(UINT64_C(1) << row % 64);
}

static hr__csv_verdict put_missing(hr__csv_parser *p, int c, int64_t row)
{
    const hr__csv_column *column = &p->f->column[c];
    hr_column *to = &p->sink->column[c];
    memcpy((char *)to->values + (size_t)row * column->width, column->fill, column->width);
    if (p->f->keep_missing) mark_missing(p, to, row);
    return p->f->keep_missing || column->has_default ? HR__CSV_GOOD : HR__CSV_MISSING;
}

void hr__csv_put_absent(hr__csv_parser *p, int64_t row)
{
    const int c = p->layout->absent - 1;
    if (!p->f->column[c].separator) put_missing(p, c, row);
}

/* A string without doubled quotes or escapes lies in the block as it is. Room is for every string twice: a bad row is
 * read again. */
static hr_view unquote(hr__csv_parser *p, const char *text, size_t size)
{
    const hr__csv_dialect *d = &p->f->dialect;
    if (!memchr(text, d->quote, size) && !(d->escapes && memchr(text, d->escape, size)))
        return (hr_view){text, (int64_t)size};
    if (!p->unquoted) p->unquoted = p->sink->text(2 * p->block->size, p->sink->user);
    if (!p->unquoted) {
        p->no_memory = true;
        return (hr_view){"", 0};
    }
    hr_view view = {p->unquoted, (int64_t)hr__csv_unquote(d, text, size, p->unquoted)};
    p->unquoted += view.size;
    return view;
}

static hr__csv_verdict put_one(const hr__csv_parser *p, const hr__csv_column *column, hr_view view, char *to)
{
    if (column->dtype == HR_STRING) {
        memcpy(to, &view, sizeof view);
        return HR__CSV_GOOD;
    }
    return hr__csv_parse_value(p->f, column, view.data, (size_t)view.size, to) ? HR__CSV_GOOD : HR__CSV_INVALID;
}

/* A list, after those of the rows before: lists are only read row by row. */
static hr__csv_verdict csv_exact_put_list(hr__csv_parser *p, int c, int64_t row, hr_view view)
{
    const hr__csv_column *column = &p->f->column[c];
    hr_column *to = &p->sink->column[c];
    int64_t at = to->splits[0][row], count = 1;
    for (int64_t i = 0; i < view.size; i++) count += view.data[i] == column->separator;
    if (!p->sink->grow(c, at + count, p->sink->user)) {
        p->no_memory = true;
        return HR__CSV_GOOD;
    }
    for (const char *begin = view.data, *end = view.data + view.size; count > 0; count--, at++) {
        const char *next = memchr(begin, column->separator, (size_t)(end - begin));
        hr_view one = {begin, (next ? next : end) - begin};
        hr__csv_verdict v = put_one(p, column, one, (char *)to->values + (size_t)at * column->width);
        if (v != HR__CSV_GOOD) return v;
        if (next) begin = next + 1;
    }
    to->count = at;
    return HR__CSV_GOOD;
}

hr__csv_verdict hr__csv_put_value(hr__csv_parser *p, int c, int64_t row, const char *text, size_t size, bool quoted)
{
    const hr__csv_column *column = &p->f->column[c];
    if (column->dtype == HR_STRING && p->f->check_utf8 && hr__utf8_sound(text, size) < size) return HR__CSV_NOT_UTF8;
    const bool as_is = size == 0 || !(quoted || p->f->dialect.escapes);
    hr_view view = as_is ? (hr_view){text, (int64_t)size} : unquote(p, text, size);
    const bool missing = hr__csv_is_missing(p->f, column, view.data, (size_t)view.size, quoted);
    const bool no_value = missing || (view.size == 0 && !(quoted && p->f->quoted_never_missing));
    if (column->separator) return no_value ? HR__CSV_GOOD : csv_exact_put_list(p, c, row, view);
    if (missing) return put_missing(p, c, row);
    return put_one(p, column, view, (char *)p->sink->column[c].values + (size_t)row * column->width);
}

/* ---- one row ---- */

/* -1: field `n` is not wanted. */
static int column_of(const hr__csv_parser *p, int n) { return n < p->layout->fields ? p->layout->column_at[n] : -1; }

/* The text of field `n`, if a column wants it. False: it cannot have it. */
static bool csv_exact_put_field(hr__csv_parser *p, int n, int64_t row, const char *text, size_t size, bool quoted,
                                hr__csv_wrong *w)
{
    const int c = column_of(p, n);
    const hr__csv_verdict v = c < 0 ? HR__CSV_GOOD : hr__csv_put_value(p, c, row, text, size, quoted);
    if (v == HR__CSV_GOOD) return true;
    w->field = n;
    w->column = c;
    hr__csv_say_value(p, v, text, size, w);
    return false;
}

/* The fields that a short row lacks: from number `n` on. */
static bool csv_exact_fill_row(hr__csv_parser *p, int n, int64_t row, hr__csv_wrong *w)
{
    for (; n < p->layout->fields; n++)
        if (!csv_exact_put_field(p, n, row, "", 0, false, w)) return false;
    p->sink->filled++;
    return true;
}

static bool put_scanned(hr__csv_parser *p, int n, int64_t row, const hr__csv_field *field, hr__csv_wrong *w)
{
    if (field->fault == HR__CSV_SOUND)
        return csv_exact_put_field(p, n, row, p->block->data + field->begin, field->end - field->begin, field->quoted,
                                   w);
    w->field = n;
    w->column = column_of(p, n);
    hr__csv_say_fault(field->fault, w);
    return false;
}

/* Whether a row may have `fields` fields; what it lacks is filled. */
static bool settle_count(hr__csv_parser *p, int fields, int64_t row, hr__csv_wrong *w)
{
    const hr__csv_layout *l = p->layout;
    if (hr__csv_fits(l, fields)) return true;
    if (fields < l->fields && p->f->fill_short) return csv_exact_fill_row(p, fields, row, w);
    if (fields > l->max && p->f->cut_long) return p->sink->cut++, true;
    hr__csv_say_count(p->f, l, fields, w);
    return false;
}

/* True if the row is good; otherwise the first thing that is wrong. *end is where it ends, in both cases. */
static bool read_row(hr__csv_parser *p, size_t at, int64_t row, size_t *end, hr__csv_wrong *w)
{
    hr__csv_field field = {0};
    int n = 0;
    bool good = true;
    for (; !field.last; n++, at = field.next) {
        hr__csv_scan_field(&p->f->dialect, p->block->data, p->block->size, at, &field);
        good = good && put_scanned(p, n, row, &field, w);
    }
    *end = at;
    return good && settle_count(p, n, row, w);
}

/* Row `row` of the lists: what its fields added, or nothing if it is no row. */
static void close_lists(hr__csv_parser *p, int64_t row, bool good)
{
    for (int c = 0; p->f->lists && c < p->f->columns; c++) {
        hr_column *column = &p->sink->column[c];
        if (!p->f->column[c].separator) continue;
        if (!good) column->count = column->splits[0][row];
        column->splits[0][row + 1] = (int32_t)column->count;
    }
}

void hr__csv_put_row(hr__csv_parser *p, size_t at, int64_t row)
{
    hr__csv_wrong w;
    size_t end;
    const bool good = read_row(p, at, row, &end, &w);
    if (p->layout->absent > 0) hr__csv_put_absent(p, row);
    close_lists(p, row, good);
    if (good)
        hr__csv_count_rounded_row(p, at, row);
    else
        hr__csv_report(p, at, end, row, &w);
}
