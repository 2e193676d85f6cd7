/* The exact reading of CSV, a byte at a time: what a field is, and what is wrong with it. The masks of csv_kernels.c
 * are a faster way to the same result for valid rows; all other rows are read here. */
#include "io/csv/csv.h"
#include <string.h>

static bool is_line_end(char c) { return c == '\n' || c == '\r'; }

/* Closes the field at the delimiter or line end at `p`, or at the end of the data. */
static void close_field(const hr__csv_dialect *d, const char *data, size_t size, size_t p, hr__csv_field *f)
{
    f->next = p;
    f->last = p == size || data[p] != d->delimiter;
    f->closed = p < size;
    if (p == size) return;
    bool crlf = data[p] == '\r' && data[p] != d->delimiter && p + 1 < size && data[p + 1] == '\n';
    /* A CR that is the last byte so far may be half of a CRLF. */
    if (data[p] == '\r' && f->last && p + 1 == size) f->closed = false;
    f->next = p + 1 + crlf;
}

static bool ends_field(const hr__csv_dialect *d, char c) { return c == d->delimiter || is_line_end(c); }

/* An escape takes the byte after it along. */
static bool escape_at(const hr__csv_dialect *d, const char *data, size_t size, size_t p, hr__csv_field *f)
{
    if (!d->escapes || data[p] != d->escape) return false;
    f->doubled = true;
    if (p + 1 < size) return true;
    f->fault = HR__CSV_DANGLING;
    return false;
}

static void scan_unquoted(const hr__csv_dialect *d, const char *data, size_t size, size_t p, hr__csv_field *f)
{
    while (p < size && !ends_field(d, data[p])) {
        if (data[p] == d->quote && d->quotes) f->fault = HR__CSV_QUOTE_UNQUOTED;
        p += escape_at(d, data, size, p, f) ? 2 : 1;
    }
    f->end = p;
    close_field(d, data, size, p, f);
}

/* The rest of the line after a fault belongs to its row. */
static void give_up_row(const char *data, size_t size, size_t p, hr__csv_field *f)
{
    while (p < size && !is_line_end(data[p])) p++;
    f->end = p;
    f->last = true;
    f->closed = p + 1 < size || (p < size && data[p] == '\n');
    f->next = p < size ? p + 1 + (data[p] == '\r' && p + 1 < size && data[p + 1] == '\n') : p;
}

static void scan_quoted(const hr__csv_dialect *d, const char *data, size_t size, size_t p, hr__csv_field *f)
{
    f->quoted = true;
    for (f->begin = p; p < size; p++) {
        if (escape_at(d, data, size, p, f)) {
            p++;
            continue;
        }
        if (data[p] != d->quote) continue;
        if (p + 1 == size || ends_field(d, data[p + 1])) {
            f->end = p;
            close_field(d, data, size, p + 1, f);
            return;
        }
        p++;
        if (data[p] == d->quote) {
            f->doubled = true;
            continue;
        }
        f->fault = HR__CSV_QUOTE_INSIDE;
        if (!d->tf_compat) {
            give_up_row(data, size, p, f);
            return;
        }
    }
    f->fault = HR__CSV_UNTERMINATED;
    f->end = f->next = size;
    f->last = true;
}

void hr__csv_scan_field(const hr__csv_dialect *d, const char *data, size_t size, size_t at, hr__csv_field *field)
{
    *field = (hr__csv_field){.begin = at};
    if (d->quotes && at < size && data[at] == d->quote)
        scan_quoted(d, data, size, at + 1, field);
    else
        scan_unquoted(d, data, size, at, field);
}

size_t hr__csv_scan_row(const hr__csv_dialect *d, const char *data, size_t size, size_t at, bool *closed)
{
    hr__csv_field field;
    do {
        hr__csv_scan_field(d, data, size, at, &field);
        at = field.next;
    } while (!field.last);
    *closed = field.closed;
    return at;
}

/* The text goes on as the prefix of a comment does, as far as it goes. */
static bool may_be_comment(const hr__csv_dialect *d, const char *text, size_t size)
{
    return d->comment_size > 0 && size > 0 &&
           memcmp(text, d->comment, size < d->comment_size ? size : d->comment_size) == 0;
}

hr__csv_line hr__csv_scan_line(const hr__csv_dialect *d, const char *data, size_t size, size_t at, bool skip_blank,
                               size_t *end, bool *closed)
{
    static const hr__csv_dialect lines = {.delimiter = ','};
    if (may_be_comment(d, data + at, size - at) && size - at >= d->comment_size) {
        *end = hr__csv_scan_row(&lines, data, size, at, closed);
        return HR__CSV_COMMENT;
    }
    *end = hr__csv_scan_row(d, data, size, at, closed);
    return skip_blank && (data[at] == '\n' || data[at] == '\r') ? HR__CSV_BLANK : HR__CSV_ROW;
}

int64_t hr__csv_count_lines(const char *data, size_t size)
{
    int64_t lines = 0;
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n' || (data[i] == '\r' && !(i + 1 < size && data[i + 1] == '\n'));
    return lines;
}

size_t hr__csv_unquote(const hr__csv_dialect *d, const char *from, size_t size, char *to)
{
    size_t out = 0;
    for (size_t i = 0; i < size; i++) {
        const bool more = i + 1 < size;
        if (more && d->escapes && from[i] == d->escape)
            i++;
        else if (more && d->quotes && from[i] == d->quote && from[i + 1] == d->quote)
            i++;
        to[out++] = from[i];
    }
    return out;
}
