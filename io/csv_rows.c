/* Rows of a block into typed columns. The tokens of some hundred rows at a time are found by masks, then each column is
 * converted in a loop of its own: no branch depends on what kind of column it is. Rows that are not as they should be
 * are only marked there; they are read again, exactly, to say what is wrong with them. */
#include "base/text.h"
#include "io/csv.h"
#include "io/csv_number.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    TOKENS = 4096, /* 16 KiB: they stay in the nearest cache */
    ROWS = 1024,
    WIDEST = 2048, /* fields; wider rows are read exactly */
};

typedef struct scratch {
    uint32_t token[WIDEST + 1 + TOKENS];
    uint32_t row[ROWS];
    uint32_t first[ROWS]; /* index of the token in front of a row's first field */
    uint32_t start[ROWS]; /* offset of a row in the block, for the bad ones and for origins */
    uint64_t bad[ROWS / 64];
} scratch;

size_t hr__csv_scratch_size(void) { return sizeof(scratch); }

/* One block being parsed. */
typedef struct parse {
    const hr__csv_format *f;
    const hr__csv_layout *layout;
    const char *path;
    const hr__csv_block *block;
    scratch *s;
    hr__csv_sink *sink;
    char *unquoted; /* where the next unquoted string goes */
    bool no_memory;
    int64_t done; /* rows before this batch */
    int64_t rows; /* of this batch */
    bool quotes;  /* there may be a quote in it */
} parse;

/* ---- one value, exactly ---- */

typedef enum verdict { GOOD, MISSING, INVALID, NOT_UTF8 } verdict;

static void mark_missing(parse *p, hr_column *column, int64_t row)
{
    if (!column->present) {
        size_t bytes = (size_t)((p->block->rows + 63) / 64) * sizeof(uint64_t);
        column->present = p->sink->bytes(bytes, p->sink->user);
        if (column->present)
            memset(column->present, 0xff, bytes);
        else
            p->no_memory = true;
    }
    if (column->present) column->present[row / 64] &= ~(UINT64_C(1) << row % 64);
}

static verdict put_missing(parse *p, int c, int64_t row)
{
    const hr__csv_column *column = &p->f->column[c];
    hr_column *to = &p->sink->column[c];
    memcpy((char *)to->values + (size_t)row * column->width, column->fill, column->width);
    if (p->f->keep_missing) mark_missing(p, to, row);
    return p->f->keep_missing || column->has_default ? GOOD : MISSING;
}

/* A string without doubled quotes or escapes lies in the block as it is. Room is for every string twice: a bad row is read again. */
static hr_view unquote(parse *p, const char *text, size_t size)
{
    const hr__csv_dialect *d = &p->f->dialect;
    if (!memchr(text, d->quote, size) && !(d->escapes && memchr(text, d->escape, size)))
        return (hr_view){text, (int64_t)size};
    if (!p->unquoted) p->unquoted = p->sink->bytes(2 * p->block->size, p->sink->user);
    if (!p->unquoted) {
        p->no_memory = true;
        return (hr_view){"", 0};
    }
    hr_view view = {p->unquoted, (int64_t)hr__csv_unquote(d, text, size, p->unquoted)};
    p->unquoted += view.size;
    return view;
}

static verdict put_one(const parse *p, const hr__csv_column *column, hr_view view, char *to)
{
    if (column->dtype == HR_STRING) {
        memcpy(to, &view, sizeof view);
        return GOOD;
    }
    return hr__csv_parse_value(p->f, column, view.data, (size_t)view.size, to) ? GOOD : INVALID;
}

/* A list, behind those of the rows before: lists are only read row by row. */
static verdict put_list(parse *p, int c, int64_t row, hr_view view)
{
    const hr__csv_column *column = &p->f->column[c];
    hr_column *to = &p->sink->column[c];
    int64_t at = to->splits[0][row], count = 1;
    for (int64_t i = 0; i < view.size; i++) count += view.data[i] == column->separator;
    if (!p->sink->grow(c, at + count, p->sink->user)) {
        p->no_memory = true;
        return GOOD;
    }
    for (const char *begin = view.data, *end = view.data + view.size; count > 0; count--, at++) {
        const char *next = memchr(begin, column->separator, (size_t)(end - begin));
        hr_view one = {begin, (next ? next : end) - begin};
        verdict v = put_one(p, column, one, (char *)to->values + (size_t)at * column->width);
        if (v != GOOD) return v;
        if (next) begin = next + 1;
    }
    to->count = at;
    return GOOD;
}

/* The content of a field, its quotes taken off. */
static verdict put_value(parse *p, int c, int64_t row, const char *text, size_t size, bool quoted)
{
    const hr__csv_column *column = &p->f->column[c];
    if (column->dtype == HR_STRING && p->f->check_utf8 && hr__utf8_sound(text, size) < size) return NOT_UTF8;
    const bool as_is = size == 0 || !(quoted || p->f->dialect.escapes);
    hr_view view = as_is ? (hr_view){text, (int64_t)size} : unquote(p, text, size);
    const bool missing = hr__csv_is_missing(p->f, column, view.data, (size_t)view.size, quoted);
    if (column->separator) return missing || view.size == 0 ? GOOD : put_list(p, c, row, view);
    if (missing) return put_missing(p, c, row);
    return put_one(p, column, view, (char *)p->sink->column[c].values + (size_t)row * column->width);
}

/* ---- columns: quick where the text is plain, else as above ---- */

static bool is_bad(const scratch *s, int64_t row) { return s->bad[row / 64] >> row % 64 & 1; }
static void set_bad(scratch *s, int64_t row) { s->bad[row / 64] |= UINT64_C(1) << row % 64; }

/* A field between tokens, of row `r` of the batch, of a sound row. */
static void put_slow(parse *p, int c, int64_t r, uint32_t begin, uint32_t end)
{
    const char *text = p->block->data + begin;
    size_t size = end - begin;
    bool quoted = p->f->dialect.quotes && size >= 2 && *text == p->f->dialect.quote;
    if (is_bad(p->s, r)) return;
    if (quoted) text++, size -= 2;
    if (put_value(p, c, p->done + r, text, size, quoted) != GOOD) set_bad(p->s, r);
}

/* Of the last field of a row: the CR of a CRLF is none of it. */
static inline uint32_t trim_cr(const char *data, uint32_t begin, uint32_t end)
{
    return end > begin && data[end] == '\n' && data[end - 1] == '\r' ? end - 1 : end;
}

static inline uint32_t trim_nothing(const char *data, uint32_t begin, uint32_t end)
{
    (void)data, (void)begin;
    return end;
}

/* Whether an empty field is the default value, and nothing else is to be done. */
static bool fills_empty(const hr__csv_format *f, const hr__csv_column *column)
{
    return column->has_default && !f->keep_missing && !(column->dtype == HR_STRING && f->strings_never_missing);
}

/* An empty field is `fill`, if it `fills`, without a call: it is as common as any. */
#define FOR_ROWS(trim, quick)                                                                                          \
    for (int64_t r = 0; r < rows; r++) {                                                                               \
        const uint32_t begin = token[s->first[r]] + 1, end = trim(data, begin, token[s->first[r] + 1]);                \
        const char *text = data + begin;                                                                               \
        const size_t size = end - begin;                                                                               \
        if (size == 0) out[r] = fill;                                                                                  \
        if (!(size == 0 ? fills : (quick)) ||                                                                          \
            ((na_sizes >> (size & 63) & 1) && hr__csv_words_have(&p->f->na, text, size)))                              \
            put_slow(p, c, r, begin, end);                                                                             \
    }

/* The loop over the fields of column `c`: `quick` converts a plain one, `text` of `size` bytes, 1 at least, into out[r]. */
#define FOR_FIELDS(type, quick)                                                                                        \
    const scratch *s = p->s;                                                                                           \
    const char *data = p->block->data;                                                                                 \
    const uint64_t na_sizes = p->f->na.sizes;                                                                          \
    const int64_t rows = p->rows;                                                                                      \
    const uint32_t *token = s->token + p->layout->place[c];                                                            \
    const bool fills = fills_empty(p->f, &p->f->column[c]);                                                            \
    type fill, *out = (type *)p->sink->column[c].values + p->done;                                                     \
    memcpy(&fill, p->f->column[c].fill, sizeof fill);                                                                  \
    if (p->layout->place[c] + 1 == p->layout->fields)                                                                  \
        FOR_ROWS(trim_cr, quick)                                                                                       \
    else                                                                                                               \
        FOR_ROWS(trim_nothing, quick)

static void put_int32s(parse *p, int c) { FOR_FIELDS(int32_t, hr__quick_int32(text, size, out + r)) }
static void put_int64s_singly(parse *p, int c) { FOR_FIELDS(int64_t, hr__quick_int64(text, size, out + r)) }
static void put_floats(parse *p, int c) { FOR_FIELDS(float, hr__quick_float(text, size, out + r)) }
static void put_doubles(parse *p, int c) { FOR_FIELDS(double, hr__quick_double(text, size, out + r)) }

/* Of a batch's rows, those whose integer is not plain. */
static void put_other_int64s(parse *p, int c, const hr__csv_fields *f, const uint64_t *plain)
{
    int64_t *out = (int64_t *)p->sink->column[c].values + p->done;
    for (int64_t w = 0; w * 64 < f->rows; w++) {
        const int64_t rows = f->rows - w * 64;
        const uint64_t all = rows < 64 ? (UINT64_C(1) << rows) - 1 : ~UINT64_C(0);
        for (uint64_t bits = all & ~plain[w]; bits; bits &= bits - 1) {
            const int64_t r = w * 64 + __builtin_ctzll(bits);
            const uint32_t begin = f->token[f->first[r]] + 1, end = f->token[f->first[r] + 1];
            if (end == begin || !hr__quick_int64(f->data + begin, end - begin, out + r)) put_slow(p, c, r, begin, end);
        }
    }
}

/* Side by side, but where a field may end in a CR, or a number may mean that it is missing. */
static void put_int64s(parse *p, int c)
{
    const hr__csv_column *column = &p->f->column[c];
    const int place = p->layout->place[c];
    if (place + 1 == p->layout->fields || p->f->na.count > 0) {
        put_int64s_singly(p, c);
        return;
    }
    uint64_t plain[ROWS / 64];
    int64_t fill;
    memcpy(&fill, column->fill, sizeof fill);
    const hr__csv_fields f = {p->block->data, p->s->token + place, p->s->first, p->rows};
    hr__csv_put_integers(&f, fills_empty(p->f, column) ? &fill : NULL, (int64_t *)p->sink->column[c].values + p->done,
                         plain);
    put_other_int64s(p, c, &f, plain);
}

static inline bool quick_string(const char *text, size_t size, hr_view *out)
{
    *out = (hr_view){text, (int64_t)size};
    return true;
}

/* Where there are no quotes, strings are not looked at at all. */
static void put_unquoted_strings(parse *p, int c) { FOR_FIELDS(hr_view, quick_string(text, size, out + r)) }

static void put_quoted_strings(parse *p, int c)
{
    const char quote = p->f->dialect.quote;
    FOR_FIELDS(hr_view, quick_string(text, size, out + r) && *text != quote)
}

/* What there is no quick way for. */
static void put_slowly(parse *p, int c)
{
    const bool last = p->layout->place[c] + 1 == p->layout->fields;
    const uint32_t *token = p->s->token + p->layout->place[c];
    for (int64_t r = 0; r < p->rows; r++) {
        uint32_t begin = token[p->s->first[r]] + 1, end = token[p->s->first[r] + 1];
        put_slow(p, c, r, begin, last ? trim_cr(p->block->data, begin, end) : end);
    }
}

typedef void put_fields(parse *p, int c);

static put_fields *way_to_put(const parse *p, const hr__csv_column *column)
{
    if (column->time != HR_CSV_NUMBER) return put_slowly;
    switch (column->dtype) {
    case HR_INT64:
        return put_int64s;
    case HR_STRING:
        return p->quotes ? put_quoted_strings : put_unquoted_strings;
    case HR_FLOAT:
        return put_floats;
    case HR_INT32:
        return put_int32s;
    case HR_DOUBLE:
        return put_doubles;
    default:
        return put_slowly;
    }
}

/* ---- what is wrong with a row ---- */

typedef struct wrong {
    const char *kind;
    int field, column; /* -1: the row as a whole */
    char text[200];
} wrong;

/* What the text of a column stands for. */
static const char *meaning(const hr__csv_column *column)
{
    if (column->time == HR_CSV_DATE) return "a date (2024-02-29)";
    return column->time == HR_CSV_NUMBER ? hr_dtype_name(column->dtype) : "a time (2024-02-29T23:59:59Z)";
}

static void say_value(const parse *p, int c, verdict v, const char *text, size_t size, wrong *w)
{
    const char *dtype = meaning(&p->f->column[c]);
    w->column = c;
    if (v == MISSING) {
        w->kind = "csv.missing";
        snprintf(w->text, sizeof w->text, "expected %s, got an empty field; give the column a default_value", dtype);
        if (size > 0)
            snprintf(w->text, sizeof w->text,
                     "expected %s, got \"%.*s\", which means missing; give the column a default_value", dtype,
                     size > 60 ? 60 : (int)size, text);
        return;
    }
    if (v == NOT_UTF8) {
        const size_t sound = hr__utf8_sound(text, size);
        w->kind = "csv.utf8";
        snprintf(w->text, sizeof w->text, "expected UTF-8, got the byte 0x%02x at offset %" PRId64,
                 (unsigned char)text[sound], p->block->offset + (text - p->block->data) + (int64_t)sound);
        return;
    }
    w->kind = "csv.value";
    snprintf(w->text, sizeof w->text, "expected %s, got \"%.*s\"%s; if it means missing, add it to .na_value", dtype,
             size > 60 ? 60 : (int)size, text, size > 60 ? "..." : "");
}

static void say_fault(hr__csv_fault fault, wrong *w)
{
    static const char *const said[] = {
        [HR__CSV_QUOTE_INSIDE] = "expected a delimiter or a line end behind the closing quote; double a quote that "
                                 "belongs to the text",
        [HR__CSV_QUOTE_UNQUOTED] = "expected no quote in a field that does not begin with one; quote the field and "
                                   "double the quote, or set .no_quotes",
        [HR__CSV_UNTERMINATED] = "expected a closing quote, found the end of the file",
        [HR__CSV_DANGLING] = "expected a byte behind the escape, found the end of the file",
    };
    w->kind = "csv.quote";
    snprintf(w->text, sizeof w->text, "%s", said[fault]);
}

static void say_count(const hr__csv_layout *l, int fields, wrong *w)
{
    w->kind = "csv.fields";
    w->field = w->column = -1;
    snprintf(w->text, sizeof w->text, "expected %s%d fields, found %d", l->exact ? "" : "at least ", l->fields, fields);
}

/* The fields that a short row lacks: from number `n` on. */
static bool fill_row(parse *p, int n, int64_t row, wrong *w)
{
    const hr__csv_layout *l = p->layout;
    for (; n < l->fields; n++) {
        const int c = l->column_at[n];
        const verdict v = c >= 0 ? put_value(p, c, row, "", 0, false) : GOOD;
        if (v == GOOD) continue;
        *w = (wrong){.field = n, .column = c};
        say_value(p, c, v, "", 0, w);
        return false;
    }
    p->sink->filled++;
    return true;
}

/* Reads the row at `at` exactly into row `row`: true if it is good; otherwise the first thing that is wrong. */
static bool put_row(parse *p, size_t at, int64_t row, size_t *end, wrong *w)
{
    const hr__csv_layout *l = p->layout;
    const char *data = p->block->data;
    hr__csv_field field = {0};
    int n = 0;
    bool good = true;
    for (; !field.last; n++, at = field.next) {
        hr__csv_scan_field(&p->f->dialect, data, p->block->size, at, &field);
        if (!good) continue;
        const int c = n < l->fields ? l->column_at[n] : -1;
        *w = (wrong){.field = n, .column = c};
        if (field.fault != HR__CSV_SOUND) {
            say_fault(field.fault, w);
            good = false;
        } else if (c >= 0) {
            size_t size = field.end - field.begin;
            verdict v = put_value(p, c, row, data + field.begin, size, field.quoted);
            good = v == GOOD;
            if (!good) say_value(p, c, v, data + field.begin, size, w);
        }
    }
    *end = at;
    if (!good || n == l->fields || (n > l->fields && !l->exact)) return good;
    if (n < l->fields && p->f->fill_short) return fill_row(p, n, row, w);
    if (n > l->fields && p->f->cut_long) return p->sink->cut++, true;
    say_count(l, n, w);
    return false;
}

static void report(const parse *p, size_t at, size_t end, int64_t row, const wrong *w)
{
    hr_error error;
    const hr__csv_block *b = p->block;
    const int64_t line = b->line + hr__csv_count_lines(b->data, at);
    const char *name = w->column >= 0 ? p->f->column[w->column].name : NULL;
    if (name)
        hr_fail(&error, HR_INVALID_ARGUMENT, w->kind, "%s:%" PRId64 ": column '%.60s' (field %d): %s", p->path, line,
                name, w->field, w->text);
    else if (w->field >= 0)
        hr_fail(&error, HR_INVALID_ARGUMENT, w->kind, "%s:%" PRId64 ": field %d: %s", p->path, line, w->field, w->text);
    else
        hr_fail(&error, HR_INVALID_ARGUMENT, w->kind, "%s:%" PRId64 ": %s", p->path, line, w->text);
    hr_error_file(&error, p->path);
    error.line = line;
    error.record = b->record + row;
    error.offset = b->offset + (int64_t)at;
    error.length = (int64_t)(end - at);
    error.column = w->column;
    if (name) snprintf(error.feature, sizeof error.feature, "%s", name);
    p->sink->failed(row, &error, p->sink->user);
}

/* Row `row` of the lists: what its fields added, or nothing if it is no row. */
static void close_lists(parse *p, int64_t row, bool good)
{
    for (int c = 0; p->f->lists && c < p->f->columns; c++) {
        hr_column *column = &p->sink->column[c];
        if (!p->f->column[c].separator) continue;
        if (!good) column->count = column->splits[0][row];
        column->splits[0][row + 1] = (int32_t)column->count;
    }
}

static void put_row_or_report(parse *p, size_t at, int64_t row)
{
    wrong w;
    size_t end;
    const bool good = put_row(p, at, row, &end, &w);
    close_lists(p, row, good);
    if (!good) report(p, at, end, row, &w);
}

/* ---- batches of rows ---- */

static size_t content_size(const char *data, size_t begin, size_t end) /* without the line end at `end` */
{
    return trim_cr(data, (uint32_t)begin, (uint32_t)end) - begin;
}

/* Takes the tokens' rows into the batch: blank lines go, rows of another number of fields are bad. */
static void take_rows(parse *p, uint32_t from, uint32_t before, const hr__csv_tokens *t)
{
    const hr__csv_layout *l = p->layout;
    scratch *s = p->s;
    for (size_t i = from; i < t->rows; i++) {
        const uint32_t first = before, last = t->row[i], start = s->token[first] + 1;
        const int fields = (int)(last - first);
        before = last;
        if (l->skip_blank && fields == 1 && content_size(p->block->data, start, s->token[last]) == 0) continue;
        const int64_t r = p->rows++;
        s->start[r] = start;
        s->first[r] = first;
        if (fields == l->fields || (fields > l->fields && !l->exact)) continue;
        s->first[r] = 0;
        set_bad(s, r);
    }
}

/* A row that the masks cannot do: exactly, later, as a bad one. */
static size_t take_exact_row(parse *p, size_t at)
{
    bool closed;
    scratch *s = p->s;
    size_t end = hr__csv_scan_row(&p->f->dialect, p->block->data, p->block->size, at, &closed);
    char c = p->block->data[at];
    if (p->layout->skip_blank && (c == '\n' || c == '\r')) return end;
    const int64_t r = p->rows++;
    s->start[r] = (uint32_t)at;
    s->first[r] = 0;
    set_bad(s, r);
    return end;
}

/* Fills a batch from `at` on; gives where the next one begins. Row starts follow from the token before: so one is put
 * in front of the first. Tokens 0 .. fields are those of a row of empty fields, for bad rows. */
static size_t fill_batch(parse *p, size_t at)
{
    scratch *s = p->s;
    const hr__csv_block *b = p->block;
    const uint32_t dummies = (uint32_t)p->layout->fields + 1;
    hr__csv_tokens t = {.token = s->token, .row = s->row, .tokens = dummies, .row_room = ROWS};
    t.token_room = sizeof s->token / sizeof *s->token;
    for (uint32_t i = 0; i < dummies; i++) s->token[i] = i - 1;
    memset(s->bad, 0, sizeof s->bad);
    p->rows = 0;
    while (at < b->size && t.tokens + 128 <= t.token_room && t.rows + 64 <= t.row_room) {
        const uint32_t before = (uint32_t)t.tokens, from = (uint32_t)t.rows;
        s->token[t.tokens++] = (uint32_t)at - 1;
        hr__csv_tokenise(&p->f->dialect, b->data, b->size, at, &t);
        take_rows(p, from, before, &t);
        const bool stuck = t.done == at;
        at = t.done;
        if (at < b->size && (stuck || t.fault)) {
            if (stuck && !t.fault && p->rows > 0 && t.tokens > dummies + 1) break; /* perhaps only room was short */
            at = take_exact_row(p, at);
            t.row_room--;
        }
    }
    p->quotes = t.quotes;
    return at;
}

static void put_origins(parse *p)
{
    if (!p->sink->origin) return;
    for (int64_t r = 0; r < p->rows; r++)
        p->sink->origin[p->done + r] =
            hr_origin_of(p->sink->file, p->block->record + p->done + r, p->block->offset + p->s->start[r]);
}

static void put_batch(parse *p)
{
    for (int c = 0; c < p->f->columns; c++) way_to_put(p, &p->f->column[c])(p, c);
    put_origins(p);
    for (int64_t w = 0; w < ROWS / 64; w++)
        for (uint64_t bits = p->s->bad[w]; bits; bits &= bits - 1) {
            int64_t r = w * 64 + __builtin_ctzll(bits);
            put_row_or_report(p, p->s->start[r], p->done + r);
        }
    p->done += p->rows;
}

static void put_rows_exactly(parse *p)
{
    const hr__csv_block *b = p->block;
    bool closed;
    for (size_t at = 0, end; at < b->size && p->done < b->rows; at = end) {
        if (hr__csv_scan_line(&p->f->dialect, b->data, b->size, at, p->layout->skip_blank, &end, &closed) !=
            HR__CSV_ROW)
            continue;
        if (p->sink->origin)
            p->sink->origin[p->done] = hr_origin_of(p->sink->file, b->record + p->done, b->offset + (int64_t)at);
        put_row_or_report(p, at, p->done++);
    }
}

hr_status hr__csv_parse(const hr__csv_format *f, const hr__csv_layout *layout, const char *path,
                        const hr__csv_block *block, void *scratch_memory, hr__csv_sink *sink, hr_error *err)
{
    parse p = {.f = f, .layout = layout, .path = path, .block = block, .s = scratch_memory, .sink = sink};
    const bool exactly = f->dialect.exact_only || f->lists || layout->fields >= WIDEST;
    if (exactly || (f->check_utf8 && hr__utf8_sound(block->data, block->size) < block->size))
        put_rows_exactly(&p);
    else
        for (size_t at = 0; at < block->size;) {
            at = fill_batch(&p, at);
            put_batch(&p);
        }
    if (p.no_memory) return hr_no_memory(err, "csv");
    if (p.done == block->rows) return HR_OK;
    return hr_fail(err, HR_INTERNAL, "csv.rows", "%s:%" PRId64 ": expected %" PRId64 " rows in a block, found %" PRId64,
                   path, block->line, block->rows, p.done);
}
