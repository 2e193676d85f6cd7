/* Rows of a block into typed columns. The tokens of some hundred rows at a time are found by masks, then the columns
 * are converted. Rows that are not as they should be are only marked there; they are read again, exactly, to say what
 * is wrong with them. */
#include "base/text.h"
#include "io/csv/csv_parser.h"
#include <inttypes.h>
#include <string.h>

size_t hr__csv_scratch_size(void) { return sizeof(hr__csv_scratch); }

static size_t content_size(const char *data, size_t begin, size_t end) /* without the line end at `end` */
{
    return hr__csv_trim_cr(data, (uint32_t)begin, (uint32_t)end) - begin;
}

/* Takes the tokens' rows into the batch: blank lines go, rows of another number of fields are bad. */
static void take_rows(hr__csv_parser *p, uint32_t from, uint32_t before, const hr__csv_tokens *t)
{
    const hr__csv_layout *l = p->layout;
    hr__csv_scratch *s = p->s;
    for (size_t i = from; i < t->rows; i++) {
        const uint32_t first = before, last = t->row[i], start = s->token[first] + 1;
        const int fields = (int)(last - first);
        before = last;
        if (l->skip_blank && fields == 1 && content_size(p->block->data, start, s->token[last]) == 0) continue;
        const int64_t r = p->rows++;
        s->start[r] = start;
        s->first[r] = first;
        if (hr__csv_fits(l, fields)) continue;
        s->first[r] = 0;
        hr__csv_set_bad(s, r);
    }
}

/* A row that the masks cannot do: exactly, later, as a bad one. */
static size_t take_exact_row(hr__csv_parser *p, size_t at)
{
    bool closed;
    hr__csv_scratch *s = p->s;
    size_t end = hr__csv_scan_row(&p->f->dialect, p->block->data, p->block->size, at, &closed);
    char c = p->block->data[at];
    if (p->layout->skip_blank && (c == '\n' || c == '\r')) return end;
    const int64_t r = p->rows++;
    s->start[r] = (uint32_t)at;
    s->first[r] = 0;
    hr__csv_set_bad(s, r);
    return end;
}

/* Fills a batch from `at` on; gives where the next one begins. Row starts follow from the token before: so one is put
 * before the first. Tokens 0 .. fields are those of a row of empty fields, for bad rows. */
static size_t fill_batch(hr__csv_parser *p, size_t at)
{
    hr__csv_scratch *s = p->s;
    const hr__csv_block *b = p->block;
    const uint32_t dummies = (uint32_t)p->layout->fields + 1;
    hr__csv_tokens t = {.token = s->token, .row = s->row, .tokens = dummies, .row_capacity = HR__CSV_BATCH_ROWS};
    t.token_capacity = sizeof s->token / sizeof *s->token;
    for (uint32_t i = 0; i < dummies; i++) s->token[i] = i - 1;
    memset(s->bad, 0, sizeof s->bad);
    p->rows = 0;
    while (at < b->size && t.tokens + 128 <= t.token_capacity && t.rows + 64 <= t.row_capacity) {
        const uint32_t before = (uint32_t)t.tokens, from = (uint32_t)t.rows;
        s->token[t.tokens++] = (uint32_t)at - 1;
        hr__csv_tokenise(&p->f->dialect, b->data, b->size, at, &t);
        take_rows(p, from, before, &t);
        const bool stuck = t.done == at;
        at = t.done;
        if (at < b->size && (stuck || t.fault)) {
            if (stuck && !t.fault && p->rows > 0 && t.tokens > dummies + 1) break; /* perhaps only space was short */
            at = take_exact_row(p, at);
            t.row_capacity--;
        }
    }
    p->quotes = t.quotes;
    return at;
}

static void put_origins(hr__csv_parser *p)
{
    if (!p->sink->origin) return;
    for (int64_t r = 0; r < p->rows; r++)
        p->sink->origin[p->done + r] =
            hr_origin_of(p->sink->file, p->block->record + p->done + r, p->block->offset + p->s->start[r]);
}

static void put_batch(hr__csv_parser *p)
{
    hr__csv_put_columns(p);
    hr__csv_count_rounded(p);
    put_origins(p);
    for (int64_t w = 0; w < HR__CSV_BATCH_ROWS / 64; w++)
        for (uint64_t bits = p->s->bad[w]; bits; bits &= bits - 1) {
            int64_t r = w * 64 + __builtin_ctzll(bits);
            hr__csv_put_row(p, p->s->start[r], p->done + r);
        }
    p->done += p->rows;
}

static void put_rows_exactly(hr__csv_parser *p)
{
    const hr__csv_block *b = p->block;
    bool closed;
    for (size_t at = 0, end; at < b->size && p->done < p->end; at = end) {
        if (hr__csv_scan_line(&p->f->dialect, b->data, b->size, at, p->layout->skip_blank, &end, &closed) !=
            HR__CSV_ROW)
            continue;
        if (p->sink->origin)
            p->sink->origin[p->done] = hr_origin_of(p->sink->file, b->record + p->done, b->offset + (int64_t)at);
        hr__csv_put_row(p, at, p->done++);
    }
}

hr_status hr__csv_parse(const hr__csv_format *f, const hr__csv_layout *layout, const char *path,
                        const hr__csv_block *block, void *scratch_memory, hr__csv_sink *sink, hr_error *err)
{
    hr__csv_parser p = {.f = f, .layout = layout, .path = path, .block = block, .s = scratch_memory, .sink = sink};
    p.done = sink->first;
    p.end = sink->first + block->rows;
    if (!sink->text) sink->text = sink->bytes;
    const bool exactly = f->dialect.exact_only || f->lists || layout->fields >= HR__CSV_WIDEST;
    if (exactly || (f->check_utf8 && hr__utf8_sound(block->data, block->size) < block->size))
        put_rows_exactly(&p);
    else
        for (size_t at = 0; at < block->size;) {
            at = fill_batch(&p, at);
            put_batch(&p);
        }
    if (p.no_memory) return hr_no_memory(err, "csv");
    if (p.done == p.end) return HR_OK;
    return hr_fail(err, HR_INTERNAL, "csv.rows", "%s:%" PRId64 ": expected %" PRId64 " rows in a block, found %" PRId64,
                   path, block->line, block->rows, p.done - sink->first);
}
