/* Plain fields into columns: of a batch of rows whose fields are found, each column is converted in a loop of its
 * own, so that no branch depends on what kind of column it is. What is not plain is read exactly. */
#include "io/csv/csv_number.h"
#include "io/csv/csv_parser.h"
#include <string.h>

/* A field between tokens, of row `r` of the batch, of a sound row. */
static void put_slow(hr__csv_parser *p, int c, int64_t r, uint32_t begin, uint32_t end)
{
    const char *text = p->block->data + begin;
    size_t size = end - begin;
    bool quoted = p->f->dialect.quotes && size >= 2 && *text == p->f->dialect.quote;
    if (hr__csv_is_bad(p->s, r)) return;
    if (size > 0) p->s->perhaps_rounded[c] = true;
    if (quoted) text++, size -= 2;
    if (hr__csv_put_value(p, c, p->done + r, text, size, quoted) != HR__CSV_GOOD) hr__csv_set_bad(p->s, r);
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

/* The loop over the fields of column `c`: `quick` converts a plain one, `text` of `size` bytes, 1 at least, into
 * out[r]. */
#define FOR_FIELDS(type, quick)                                                                                        \
    const hr__csv_scratch *s = p->s;                                                                                   \
    const char *data = p->block->data;                                                                                 \
    const uint64_t na_sizes = p->f->na.sizes;                                                                          \
    const int64_t rows = p->rows;                                                                                      \
    const uint32_t *token = s->token + p->layout->place[c];                                                            \
    const bool fills = fills_empty(p->f, &p->f->column[c]);                                                            \
    type fill, *out = (type *)p->sink->column[c].values + p->done;                                                     \
    memcpy(&fill, p->f->column[c].fill, sizeof fill);                                                                  \
    if (p->layout->place[c] + 1 == p->layout->fields)                                                                  \
        FOR_ROWS(hr__csv_trim_cr, quick)                                                                               \
    else                                                                                                               \
        FOR_ROWS(trim_nothing, quick)

static void put_int32s(hr__csv_parser *p, int c) { FOR_FIELDS(int32_t, hr__quick_int32(text, size, out + r)) }
static void put_int64s_singly(hr__csv_parser *p, int c) { FOR_FIELDS(int64_t, hr__quick_int64(text, size, out + r)) }

static void csv_columns_put_floats(hr__csv_parser *p, int c)
{
    bool is_long = false;
    FOR_FIELDS(float, (is_long |= size > HR__NEVER_ROUNDED, hr__quick_float(text, size, out + r)))
    p->s->perhaps_rounded[c] |= is_long;
}

static void put_doubles(hr__csv_parser *p, int c) { FOR_FIELDS(double, hr__quick_double(text, size, out + r)) }

/* Of a batch's rows, those whose integer is not plain. */
static void put_other_int64s(hr__csv_parser *p, int c, const hr__csv_fields *f, const uint64_t *plain)
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
static void put_int64s(hr__csv_parser *p, int c)
{
    const hr__csv_column *column = &p->f->column[c];
    const int place = p->layout->place[c];
    if (place + 1 == p->layout->fields || p->f->na.count > 0) {
        put_int64s_singly(p, c);
        return;
    }
    uint64_t plain[HR__CSV_BATCH_ROWS / 64];
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
static void put_unquoted_strings(hr__csv_parser *p, int c) { FOR_FIELDS(hr_view, quick_string(text, size, out + r)) }

static void put_quoted_strings(hr__csv_parser *p, int c)
{
    const char quote = p->f->dialect.quote;
    FOR_FIELDS(hr_view, quick_string(text, size, out + r) && *text != quote)
}

/* What there is no quick way for. */
static void put_slowly(hr__csv_parser *p, int c)
{
    const bool last = p->layout->place[c] + 1 == p->layout->fields;
    const uint32_t *token = p->s->token + p->layout->place[c];
    for (int64_t r = 0; r < p->rows; r++) {
        uint32_t begin = token[p->s->first[r]] + 1, end = token[p->s->first[r] + 1];
        put_slow(p, c, r, begin, last ? hr__csv_trim_cr(p->block->data, begin, end) : end);
    }
}

typedef void put_fields(hr__csv_parser *p, int c);

static put_fields *way_to_put(const hr__csv_parser *p, const hr__csv_column *column)
{
    if (column->time != HR_CSV_NUMBER) return put_slowly;
    switch (column->dtype) {
    case HR_INT64:
        return put_int64s;
    case HR_STRING:
        return p->quotes ? put_quoted_strings : put_unquoted_strings;
    case HR_FLOAT:
        return csv_columns_put_floats;
    case HR_INT32:
        return put_int32s;
    case HR_DOUBLE:
        return put_doubles;
    default:
        return put_slowly;
    }
}

void hr__csv_put_columns(hr__csv_parser *p)
{
    for (int64_t r = 0; p->layout->absent > 0 && r < p->rows; r++) hr__csv_put_absent(p, p->done + r);
    for (int c = 0; c < p->f->columns; c++) {
        p->s->perhaps_rounded[c] = false;
        if (c + 1 != p->layout->absent) way_to_put(p, &p->f->column[c])(p, c);
    }
}
