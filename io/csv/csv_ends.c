/* Rows in bytes from anywhere in a file: by masks, and one by one where these cannot judge. Whoever begins within a
 * row, even within quotes, is as a rule in step after the first line end or two; that he is shows where a row is known
 * to begin: what is found from there on is what reading in turn finds. */
#include "io/csv/csv.h"
#include <string.h>

enum { FIRST_ROWS = 512 };

static bool more_ends(hr__csv_ends *e)
{
    const int64_t capacity = e->capacity ? 2 * e->capacity : FIRST_ROWS;
    hr__csv_end *at = e->memory((size_t)capacity * sizeof *at, e->user);
    if (!at) return false;
    if (e->at) memcpy(at, e->at, (size_t)(e->rows + 1) * sizeof *at);
    e->at = at;
    e->capacity = capacity;
    return true;
}

/* They were counted from the end of the row before. */
static void add_ends(hr__csv_ends *e, int64_t rows)
{
    const hr__csv_end before = e->at[e->rows];
    hr__csv_end *end = &e->at[e->rows + 1];
    for (int64_t r = 0; r < rows; r++) {
        end[r].size += before.size;
        end[r].lines += before.lines;
        end[r].blank += before.blank;
    }
    e->rows += rows;
}

/* The next row, which masks cannot judge, and blank lines before it. False: it is not whole. */
static bool add_exact_end(const hr__csv_dialect *d, const char *data, size_t size, bool skip_blank, hr__csv_ends *e)
{
    const size_t from = e->at[e->rows].size;
    size_t at = from, end;
    bool closed = true;
    hr__csv_line is = HR__CSV_BLANK;
    uint32_t blank = 0;
    for (; is != HR__CSV_ROW && closed && at < size; at = end) {
        is = hr__csv_scan_line(d, data, size, at, skip_blank, &end, &closed);
        blank += is == HR__CSV_BLANK;
    }
    if (is != HR__CSV_ROW || !closed) return false;
    e->at[e->rows + 1] =
        (hr__csv_end){(uint32_t)(at - from), (uint32_t)hr__csv_count_lines(data + from, at - from), blank};
    add_ends(e, 1);
    return true;
}

bool hr__csv_find_ends(const hr__csv_dialect *d, const char *data, size_t size, size_t until, bool skip_blank,
                       hr__csv_ends *out)
{
    if (!more_ends(out)) return false;
    if (size > 0 && data[size - 1] == '\r') size--;                  /* perhaps half of a CRLF, */
    out->at[0] = (hr__csv_end){.size = size > 0 && data[0] == '\n'}; /* and so perhaps the other half */
    for (size_t at = out->at[0].size; at < until; at = out->at[out->rows].size) {
        hr__csv_count c;
        if (out->rows + 1 == out->capacity && !more_ends(out)) return false;
        hr__csv_find_rows(d, data + at, size - at, out->capacity - 1 - out->rows, skip_blank, &out->at[out->rows + 1],
                          &c);
        add_ends(out, c.rows);
        if (c.rows == 0 && !add_exact_end(d, data, size, skip_blank, out)) break;
    }
    while (out->rows > 0 && out->at[out->rows - 1].size >= until) out->rows--;
    return true;
}
