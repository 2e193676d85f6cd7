/* Writing CSV that reads back as the same rows: quotes where they are needed, numbers in the shortest text that gives
 * the same bits, a missing value told from an empty string by its quotes. What cannot be said in CSV is refused. */
#include "base/number.h"
#include "base/text.h"
#include "io/csv/csv.h"
#include "io/csv/csv_writer.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FLUSH = 64 * 1024, TWO_24 = 1 << 24 };

struct hr_csv_writer {
    hr_output *out;
    char *path, *na, *line_end;
    char delimiter, separator; /* separator 0: a cell has one value */
    bool quote_strings, refuse_missing;
    char **name; /* of the columns */
    int columns;
    int64_t rows;
    hr__text text; /* what is not written yet */
};

/* ---- errors ---- */

static hr_status csv_writer_fail(const hr_csv_writer *w, int column, const char *kind, const char *what, hr_error *err)
{
    const char *name = w->name[column];
    hr_fail(err, HR_INVALID_ARGUMENT, kind, "column '%.60s': %s", name, what);
    if (!err) return HR_INVALID_ARGUMENT;
    if (w->out) { /* of text alone, the caller knows the place */
        hr_error_prefix(err, "%s: row %" PRId64 ": ", w->path, w->rows);
        hr_error_file(err, w->path);
        err->record = w->rows;
    }
    err->column = column;
    snprintf(err->feature, sizeof err->feature, "%s", name);
    return HR_INVALID_ARGUMENT;
}

/* ---- one cell ---- */

static bool needs_quotes(const hr_csv_writer *w, const char *text, size_t size)
{
    static const char mark[] = "\xef\xbb\xbf";
    if (size == 0) return true;
    if (size == strlen(w->na) && memcmp(text, w->na, size) == 0) return true;
    if (size >= 3 && memcmp(text, mark, 3) == 0) return true;
    for (size_t i = 0; i < size; i++)
        if (text[i] == w->delimiter || text[i] == '"' || text[i] == '\n' || text[i] == '\r') return true;
    return false;
}

static void put_quoted(hr_csv_writer *w, const char *text, size_t size)
{
    hr__text_byte(&w->text, '"');
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '"') hr__text_byte(&w->text, '"');
        hr__text_byte(&w->text, text[i]);
    }
    hr__text_byte(&w->text, '"');
}

static void csv_writer_put_text(hr_csv_writer *w, const char *text, size_t size, bool quoted)
{
    if (quoted || needs_quotes(w, text, size))
        put_quoted(w, text, size);
    else
        hr__text_bytes(&w->text, text, size);
}

/* Gives a whole float a point, or an exponent where whole numbers with a point are taken for int64: so that a reader
 * that infers types finds a float again. Returns the size. */
static int float_text(char text[HR__NUMBER_TEXT], int size, double value)
{
    if (strpbrk(text, ".en")) return size; /* inf, nan */
    return size + sprintf(text + size, value > -TWO_24 && value < TWO_24 ? ".0" : "e0");
}

/* The text of value `i`; a string's own bytes, or a number's in `buffer`. */
static hr_view csv_writer_text_of(const hr__values *t, int64_t i, char buffer[HR__NUMBER_TEXT])
{
    int size;
    switch (t->dtype) {
    case HR_STRING:
        return ((const hr_view *)t->data)[i];
    case HR_INT32:
        size = hr__format_int64(((const int32_t *)t->data)[i], buffer);
        break;
    case HR_INT64:
        size = hr__format_int64(((const int64_t *)t->data)[i], buffer);
        break;
    case HR_UINT64:
        size = snprintf(buffer, HR__NUMBER_TEXT, "%" PRIu64, ((const uint64_t *)t->data)[i]);
        break;
    case HR_FLOAT:
        size = hr__format_float(((const float *)t->data)[i], buffer);
        size = float_text(buffer, size, ((const float *)t->data)[i]);
        break;
    case HR_DOUBLE:
        size = hr__format_double(((const double *)t->data)[i], buffer);
        size = float_text(buffer, size, ((const double *)t->data)[i]);
        break;
    default:
        size = snprintf(buffer, HR__NUMBER_TEXT, "%s", ((const bool *)t->data)[i] ? "true" : "false");
    }
    return (hr_view){buffer, size};
}

/* Puts quotes around what the text has from `begin` on, and doubles those in it, from the end to the front. */
static hr_status csv_writer_quote(hr_csv_writer *w, size_t begin, hr_error *err)
{
    size_t quotes = 2, from = w->text.size;
    for (size_t i = begin; i < from; i++) quotes += w->text.data[i] == '"';
    if (!hr__text_reserve(&w->text, quotes)) return hr__text_status(&w->text, "a CSV cell", err);
    w->text.size += quotes;
    char *text = w->text.data;
    size_t to = w->text.size;
    text[to] = '\0';
    text[--to] = '"';
    while (from > begin) {
        text[--to] = text[--from];
        if (text[to] == '"') text[--to] = '"';
    }
    text[--to] = '"';
    return HR_OK;
}

/* Values of a list, with separators between; what would be read back as another list is refused. Few lists need
 * quotes: those get them afterwards. */
static hr_status csv_writer_put_list(hr_csv_writer *w, int c, const hr__values *values, hr_error *err)
{
    char buffer[HR__NUMBER_TEXT];
    const size_t begin = w->text.size;
    const bool quoted = w->quote_strings && values->dtype == HR_STRING;
    int64_t left = values->count;
    hr__blocks blocks;
    hr__blocks_begin(&blocks, values);
    for (const hr__values *t; (t = hr__blocks_next(&blocks));)
        for (int64_t i = 0; i < t->count; i++) {
            hr_view text = csv_writer_text_of(t, i, buffer);
            if (text.size > 0 && memchr(text.data, w->separator, (size_t)text.size))
                return csv_writer_fail(w, c, "csv.separator",
                                       "expected values without the separator, found one with it", err);
            hr__text_bytes(&w->text, text.data, (size_t)text.size);
            if (--left > 0) hr__text_byte(&w->text, w->separator);
        }
    HR_TRY(hr__text_status(&w->text, "a CSV cell", err));
    const bool plain = !quoted && !needs_quotes(w, w->text.data + begin, w->text.size - begin);
    return plain ? HR_OK : csv_writer_quote(w, begin, err);
}

static hr_status put_missing(hr_csv_writer *w, int c, hr_error *err)
{
    if (w->refuse_missing) return csv_writer_fail(w, c, "csv.missing", "expected a value, found none", err);
    hr__text_add(&w->text, w->na);
    return HR_OK;
}

/* `list`: one value is a list, too. */
static hr_status put_cell(hr_csv_writer *w, int c, const hr__values *values, bool list, hr_error *err)
{
    char buffer[HR__NUMBER_TEXT], what[120];
    hr__blocks blocks;
    if (values->count == 0) return put_missing(w, c, err);
    if (w->separator && (list || values->count > 1)) return csv_writer_put_list(w, c, values, err);
    if (values->count > 1) {
        snprintf(what, sizeof what, "expected one value, found %" PRId64 "; give a .separator to write lists",
                 values->count);
        return csv_writer_fail(w, c, "csv.separator", what, err);
    }
    hr__blocks_begin(&blocks, values);
    hr_view text = csv_writer_text_of(hr__blocks_next(&blocks), 0, buffer);
    csv_writer_put_text(w, text.data, (size_t)text.size, w->quote_strings && values->dtype == HR_STRING);
    return HR_OK;
}

/* ---- rows ---- */

static int64_t csv_writer_rows_of(const hr_tensor *t) { return t->shape.rank == 0 ? 1 : t->shape.dims[0]; }

static hr_status check_column(const hr_csv_writer *w, int c, const hr_tensor *t, int64_t rows, hr_error *err)
{
    char what[120] = "";
    if (!hr__csv_has_type(t->dtype))
        snprintf(what, sizeof what, "expected numbers, bools or strings, got %s", hr_dtype_name(t->dtype));
    else if (csv_writer_rows_of(t) != rows)
        snprintf(what, sizeof what, "expected %" PRId64 " rows, as the first column has, got %" PRId64, rows,
                 csv_writer_rows_of(t));
    else if (t->layout != HR_DENSE && (!t->splits[0] || t->shape.rank != 2))
        snprintf(what, sizeof what, "expected one value or one list a row, got deeper ones");
    return what[0] ? csv_writer_fail(w, c, "csv.write", what, err) : HR_OK;
}

/* Where the values of row r begin. */
static int64_t begin_of(const hr_tensor *t, int64_t rows, int64_t r)
{
    return t->layout == HR_DENSE ? t->count / rows * r : t->splits[0][r];
}

/* Of a row that is refused nothing is written. */
static hr_status put_row(hr_csv_writer *w, const hr_tensor *columns, int64_t rows, int64_t r, hr_error *err)
{
    const size_t before = w->text.size;
    hr_status st = HR_OK;
    for (int c = 0; c < w->columns && st == HR_OK; c++) {
        const hr_tensor *t = &columns[c];
        if (c > 0) hr__text_byte(&w->text, w->delimiter);
        const int64_t begin = begin_of(t, rows, r), count = begin_of(t, rows, r + 1) - begin;
        const char *data = (const char *)t->data + (size_t)begin * hr_dtype_size(t->dtype);
        const hr__values values = {.dtype = t->dtype, .count = count, .data = data};
        st = put_cell(w, c, &values, t->layout != HR_DENSE, err);
    }
    hr__text_add(&w->text, w->line_end);
    if (st == HR_OK)
        w->rows++;
    else
        w->text.size = before;
    return st;
}

static hr_status csv_writer_flush(hr_csv_writer *w, hr_error *err)
{
    HR_TRY(hr__text_status(&w->text, "CSV rows", err));
    hr_status st = w->text.size ? hr_output_write(w->out, w->text.data, w->text.size, err) : HR_OK;
    hr__text_clear(&w->text);
    return st;
}

static hr_status check_columns(const hr_csv_writer *w, const hr_tensor *columns, int64_t *rows, hr_error *err)
{
    *rows = csv_writer_rows_of(&columns[0]);
    for (int c = 0; c < w->columns; c++) HR_TRY(check_column(w, c, &columns[c], *rows, err));
    return HR_OK;
}

hr_status hr_csv_write(hr_csv_writer *w, const hr_tensor *columns, hr_error *err)
{
    int64_t rows;
    HR_TRY(check_columns(w, columns, &rows, err));
    for (int64_t r = 0; r < rows; r++) {
        HR_TRY(put_row(w, columns, rows, r, err));
        if (w->text.size >= FLUSH) HR_TRY(csv_writer_flush(w, err));
    }
    return HR_OK;
}

hr_status hr__csv_text_header(hr_csv_writer *w, hr_view *bytes, hr_error *err)
{
    *bytes = (hr_view){w->text.data, (int64_t)w->text.size};
    return hr__text_status(&w->text, "CSV rows", err);
}

/* The writer's own text stands aside: what is written goes to *to. */
hr_status hr__csv_text_row(hr_csv_writer *w, const hr__values *const *columns, hr__text *to, hr_error *err)
{
    static const hr__values none = {.dtype = HR_INVALID_DTYPE};
    const hr__text own = w->text;
    const size_t before = to->size;
    hr_status st = HR_OK;
    w->text = *to;
    for (int c = 0; c < w->columns && st == HR_OK; c++) {
        if (c > 0) hr__text_byte(&w->text, w->delimiter);
        st = put_cell(w, c, columns[c] ? columns[c] : &none, true, err);
    }
    hr__text_add(&w->text, w->line_end);
    if (st == HR_OK) st = hr__text_status(&w->text, "CSV rows", err);
    if (st == HR_OK)
        w->rows++;
    else
        w->text.size = before;
    *to = w->text;
    w->text = own;
    return st;
}

/* ---- opening and closing ---- */

static hr_status check_byte(const char *text, const char *option, char otherwise, char *out, hr_error *err)
{
    *out = otherwise;
    if (!text) return HR_OK;
    if (strlen(text) != 1 || strchr("\"\r\n", *text))
        return hr_fail(err, HR_INVALID_ARGUMENT, "csv.delimiter",
                       "csv_writer: .%s: expected one byte that is no quote and no line end, got \"%.20s\"", option,
                       text);
    *out = *text;
    return HR_OK;
}

static hr_status copy_options(hr_csv_writer *w, const hr_csv_writer_opts *o, hr_error *err)
{
    HR_TRY(check_byte(o->delimiter, "delimiter", ',', &w->delimiter, err));
    HR_TRY(check_byte(o->separator, "separator", 0, &w->separator, err));
    if (w->separator == w->delimiter)
        return hr_fail(err, HR_INVALID_ARGUMENT, "csv.delimiter",
                       "csv_writer: expected a .separator other than the delimiter, got '%c' for both", w->delimiter);
    w->quote_strings = o->quote_strings;
    w->refuse_missing = o->refuse_missing;
    w->line_end = o->crlf ? "\r\n" : "\n";
    w->na = hr_strdup(o->na_value ? o->na_value : "");
    if (!w->na) return hr_no_memory(err, "csv_writer");
    hr_csv_writer plain = {.na = "", .delimiter = w->delimiter};
    if (w->na[0] == '\0' || !needs_quotes(&plain, w->na, strlen(w->na))) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "csv.delimiter",
                   "csv_writer: .na_value: expected a text that needs no quotes, got \"%.20s\"", w->na);
}

static hr_status copy_names(hr_csv_writer *w, const char *const *names, int count, hr_error *err)
{
    if (count < 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "csv.columns", "csv_writer: expected at least one column, got %d",
                       count);
    w->name = hr_calloc((size_t)count, sizeof *w->name);
    for (; w->name && w->columns < count; w->columns++)
        if (!(w->name[w->columns] = hr_strdup(names[w->columns]))) break;
    return w->columns == count ? HR_OK : hr_no_memory(err, "csv_writer");
}

static void put_header(hr_csv_writer *w)
{
    for (int c = 0; c < w->columns; c++) {
        if (c > 0) hr__text_byte(&w->text, w->delimiter);
        csv_writer_put_text(w, w->name[c], strlen(w->name[c]), false);
    }
    hr__text_add(&w->text, w->line_end);
}

static void close_writer(hr_csv_writer *w)
{
    for (int c = 0; c < w->columns; c++) hr_free(w->name[c]);
    hr_free(w->name);
    hr_free(w->path);
    hr_free(w->na);
    hr__text_free(&w->text);
    hr_free(w);
}

static hr_status fill_writer(hr_csv_writer *w, const char *path, const char *const *names, int columns,
                             const hr_csv_writer_opts *o, hr_error *err)
{
    if (!(w->path = hr_strdup(path))) return hr_no_memory(err, "csv_writer");
    HR_TRY(copy_options(w, o, err));
    HR_TRY(copy_names(w, names, columns, err));
    if (!o->no_header) put_header(w);
    return HR_OK;
}

hr_status hr__csv_text_new(const char *name, const char *const *names, int columns, const hr_csv_writer_opts *opts,
                           hr_csv_writer **out, hr_error *err)
{
    const hr_csv_writer_opts o = HR_OPTIONS(hr_csv_writer_opts, opts);
    *out = NULL;
    hr_csv_writer *w = hr_calloc(1, sizeof *w);
    if (!w) return hr_no_memory(err, "csv_writer");
    hr_status st = fill_writer(w, name, names, columns, &o, err);
    if (st == HR_OK)
        *out = w;
    else
        close_writer(w);
    return st;
}

hr_status hr_csv_writer_open_with(const char *path, const char *const *names, int columns,
                                  const hr_csv_writer_opts *opts, hr_csv_writer **out, hr_error *err)
{
    const hr_csv_writer_opts o = HR_OPTIONS(hr_csv_writer_opts, opts);
    HR_TRY(hr__csv_text_new(path, names, columns, &o, out, err));
    hr_status st = hr_output_open_with(path, o.output, &(*out)->out, err);
    if (st == HR_OK) return HR_OK;
    close_writer(*out);
    *out = NULL;
    return st;
}

int64_t hr_csv_writer_rows(const hr_csv_writer *w) { return w->rows; }

hr_status hr_csv_writer_commit(hr_csv_writer *w, hr_error *err)
{
    hr_status st = csv_writer_flush(w, err);
    if (st == HR_OK)
        st = hr_output_commit(w->out, err);
    else
        hr_output_discard(w->out);
    close_writer(w);
    return st;
}

void hr_csv_writer_discard(hr_csv_writer *w)
{
    if (!w) return;
    hr_output_discard(w->out);
    close_writer(w);
}
