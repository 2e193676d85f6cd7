/* Which values float32 does not hold to the digits written: counted after the rows are converted, of good rows only,
 * if the sink asks for it. Few texts are long enough to need the check. */
#include "io/csv/csv_parser.h"
#include <float.h>
#include <math.h>
#include <string.h>

static void note_value(const hr__csv_parser *p, int c, int64_t row, const char *text, size_t size, bool quoted)
{
    if (hr__csv_is_missing(p->f, &p->f->column[c], text, size, quoted)) return;
    hr__note_rounded(&p->sink->rounded[c], text, size, p->block->record + row);
}

static void count_column(hr__csv_parser *p, int c)
{
    const hr__csv_scratch *s = p->s;
    const char *data = p->block->data;
    const uint32_t *token = s->token + p->layout->place[c];
    const float *value = (const float *)p->sink->column[c].values + p->done;
    for (int64_t r = 0; r < p->rows; r++) {
        const uint32_t begin = token[s->first[r]] + 1, end = token[s->first[r] + 1];
        if (end - begin <= HR__NEVER_ROUNDED && (end == begin || fabsf(value[r]) >= FLT_MIN)) continue;
        if (hr__csv_is_bad(s, r)) continue;
        const char *text = data + begin;
        size_t size = hr__csv_trim_cr(data, begin, end) - begin;
        const bool quoted = p->f->dialect.quotes && size >= 2 && *text == p->f->dialect.quote;
        if (quoted) text++, size -= 2;
        note_value(p, c, p->done + r, text, size, quoted);
    }
}

void hr__csv_count_rounded(hr__csv_parser *p)
{
    for (int c = 0; p->sink->rounded && c < p->f->columns; c++)
        if (p->f->column[c].dtype == HR_FLOAT && p->s->perhaps_rounded[c]) count_column(p, c);
}

static void count_field(hr__csv_parser *p, int c, int64_t row, const char *text, size_t size, bool quoted)
{
    const char separator = p->f->column[c].separator;
    for (const char *end = text + size, *next; separator && (next = memchr(text, separator, (size_t)(end - text)));) {
        note_value(p, c, row, text, (size_t)(next - text), quoted);
        size -= (size_t)(next + 1 - text);
        text = next + 1;
    }
    note_value(p, c, row, text, size, quoted);
}

void hr__csv_count_rounded_row(hr__csv_parser *p, size_t at, int64_t row)
{
    hr__csv_field field = {0};
    if (!p->sink->rounded) return;
    for (int n = 0; n < p->layout->fields && !field.last; n++, at = field.next) {
        hr__csv_scan_field(&p->f->dialect, p->block->data, p->block->size, at, &field);
        const int c = p->layout->column_at[n];
        if (c >= 0 && p->f->column[c].dtype == HR_FLOAT)
            count_field(p, c, row, p->block->data + field.begin, field.end - field.begin, field.quoted);
    }
}
