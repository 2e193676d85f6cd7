/* A piece of CSV text becomes framed records: a function of the text alone. */
#include "io/convert/csv_shards.h"
#include "io/framing.h"
#include <string.h>

/* "-1;" takes ten bytes: in lists, no text takes more than this many times its size. */
enum { PAD = 64, LIST_BYTES = 4 };

struct more_bytes {
    struct more_bytes *next;
    char data[];
};

/* The values of a column of lists. */
typedef struct list_values {
    void *values;
    size_t capacity;
} list_values;

/* What a piece keeps from file to file. */
typedef struct csv_piece {
    char *text;
    size_t text_capacity;
    hr__csv_block block;
    const hr__csv_format *format; /* of the current file */
    hr_column *column;
    list_values *list; /* a column each */
    int lists;
    char *values;
    size_t values_capacity;
    void *scratch;
    uint64_t *rejected; /* a bit a row, if there is a policy */
    size_t rejected_capacity;
    struct more_bytes *bytes; /* what the parser asked for */
    int64_t good;             /* rows before the one that ends all; without one, all of them */
    hr__convert_piece *piece;
} csv_piece;

static bool csv_shards_grow(void *pointer, size_t *capacity, size_t size)
{
    void *p;
    memcpy(&p, pointer, sizeof p);
    if (size <= *capacity) return true;
    hr_free(p); /* what was in it is not needed any more */
    p = hr_malloc(size + size / 4);
    *capacity = p ? size + size / 4 : 0;
    memcpy(pointer, &p, sizeof p);
    return p != NULL;
}

static void free_bytes(csv_piece *own)
{
    for (struct more_bytes *next; own->bytes; own->bytes = next) {
        next = own->bytes->next;
        hr_free(own->bytes);
    }
}

void hr__csv_piece_free(void *memory)
{
    csv_piece *own = memory;
    if (!own) return;
    free_bytes(own);
    for (int c = 0; c < own->lists; c++) hr_free(own->list[c].values);
    hr_free(own->list);
    hr_free(own->text);
    hr_free(own->column);
    hr_free(own->values);
    hr_free(own->scratch);
    hr_free(own->rejected);
    hr_free(own);
}

static hr_status csv_shards_make(const hr__csv_source *source, hr__convert_piece *piece, hr_error *err)
{
    csv_piece *own = piece->own = hr_calloc(1, sizeof *own);
    if (!own) return hr_no_memory(err, "convert");
    own->piece = piece;
    own->column = hr_calloc((size_t)source->format->columns + 1, sizeof *own->column);
    own->list = hr_calloc((size_t)source->format->columns + 1, sizeof *own->list);
    own->lists = own->list ? source->format->columns : 0;
    own->scratch = hr_malloc(hr__csv_scratch_size());
    return own->column && own->list && own->scratch ? HR_OK : hr_no_memory(err, "convert");
}

hr_status hr__csv_piece_take(const hr__csv_source *source, hr__convert_piece *piece, const hr__csv_block *block,
                             hr_error *err)
{
    if (!piece->own) HR_TRY(csv_shards_make(source, piece, err));
    csv_piece *own = piece->own;
    if (!csv_shards_grow(&own->text, &own->text_capacity, block->size + PAD))
        return hr_no_memory(err, "convert: a piece of text");
    memcpy(own->text, block->data, block->size);
    hr__csv_release(source->file);
    memset(own->text + block->size, 0, PAD);
    own->block = *block;
    own->block.data = own->text;
    piece->first = block->record;
    piece->rows = block->rows;
    piece->blank = block->blank;
    return HR_OK;
}

/* ---- parsing ---- */

static void *more_bytes(size_t size, void *user)
{
    csv_piece *own = user;
    struct more_bytes *bytes = hr_malloc(sizeof *bytes + size + PAD);
    if (!bytes) return NULL;
    bytes->next = own->bytes;
    own->bytes = bytes;
    return bytes->data;
}

static bool csv_shards_grow_list(int c, int64_t count, void *user)
{
    csv_piece *own = user;
    list_values *list = &own->list[c];
    const size_t size = (size_t)count * own->format->column[c].width;
    if (size <= list->capacity) return true;
    void *values = hr_realloc(list->values, 2 * size + PAD);
    if (!values) return false;
    *list = (list_values){values, 2 * size};
    own->column[c].values = values;
    return true;
}

/* A row that the policy skips, or the failure that ends all. */
static void note_failure(int64_t row, const hr_error *error, void *user)
{
    csv_piece *own = user;
    hr__convert_piece *piece = own->piece;
    hr__policy *policy = ((const hr__csv_source *)piece->source)->policy;
    if (piece->status != HR_OK) return;
    piece->err = *error;
    if (!hr__policy_covers(policy, error)) {
        piece->status = error->code;
    } else {
        const hr_view text = {own->block.data + (error->offset - own->block.offset), error->length};
        own->rejected[row / 64] |= UINT64_C(1) << row % 64;
        piece->rejected++;
        piece->status = hr__policy_take(policy, error, text, &piece->err);
    }
    if (piece->status != HR_OK) own->good = row;
}

static hr_status clear_rejected(const hr__csv_source *source, csv_piece *own, hr_error *err)
{
    const size_t size = ((size_t)own->block.rows / 64 + 1) * sizeof *own->rejected;
    if (!source->policy) return HR_OK;
    if (!csv_shards_grow(&own->rejected, &own->rejected_capacity, size)) return hr_no_memory(err, "convert: rows");
    memset(own->rejected, 0, size);
    return HR_OK;
}

static bool is_rejected(const csv_piece *own, int64_t row)
{
    return own->rejected && own->rejected[row / 64] >> row % 64 & 1;
}

/* Of its values; of lists, of their splits. */
static size_t column_size(const hr__csv_column *column, size_t rows)
{
    const size_t size = column->separator ? (rows + 1) * sizeof(int32_t) : rows * column->width;
    return (size + 2 * PAD) / PAD * PAD;
}

/* A column starts a cache line after the end of the one before, so that columns never lie a multiple of 4096 apart by
 * themselves. */
static hr_status lay_out_columns(const hr__csv_source *source, csv_piece *own, hr_error *err)
{
    const hr__csv_format *f = own->format = source->format;
    const size_t rows = (size_t)own->block.rows;
    size_t size = 0;
    for (int c = 0; c < f->columns; c++) size += column_size(&f->column[c], rows);
    if (!csv_shards_grow(&own->values, &own->values_capacity, size)) return hr_no_memory(err, "convert: rows");
    size = 0;
    for (int c = 0; c < f->columns; c++) {
        void *here = own->values + size;
        own->column[c] = (hr_column){.values = here, .count = own->block.rows};
        if (f->column[c].separator) own->column[c] = (hr_column){.values = own->list[c].values, .splits = {here}};
        if (f->column[c].separator) own->column[c].splits[0][0] = 0;
        size += column_size(&f->column[c], rows);
    }
    return HR_OK;
}

static hr_status csv_shards_parse(const hr__csv_source *source, hr__convert_piece *piece)
{
    csv_piece *own = piece->own;
    hr__csv_sink sink = {
        .column = own->column, .bytes = more_bytes, .grow = csv_shards_grow_list, .failed = note_failure, .user = own};
    sink.rounded = piece->rounded;
    own->good = 0; /* of what cannot be parsed at all */
    HR_TRY(lay_out_columns(source, own, &piece->err));
    HR_TRY(clear_rejected(source, own, &piece->err));
    own->good = own->block.rows;
    const hr_status st =
        hr__csv_parse(source->format, source->layout, source->path, &own->block, own->scratch, &sink, &piece->err);
    if (st != HR_OK) own->good = 0;
    return st != HR_OK ? st : piece->status;
}

/* ---- encoding ---- */

static bool csv_shards_is_there(const hr_column *column, int64_t row)
{
    if (column->splits[0]) return column->splits[0][row + 1] > column->splits[0][row];
    return !column->present || column->present[row / 64] >> row % 64 & 1;
}

static bool is_dropped(const hr__csv_source *source, const csv_piece *own, int64_t row)
{
    for (int c = 0; c < source->format->columns; c++)
        if (source->require[c] && !csv_shards_is_there(&own->column[c], row)) return true;
    return false;
}

static hr_status find_split(const hr__convert_plan *plan, hr__convert_piece *piece, int64_t row, bool *test)
{
    const hr__csv_source *source = piece->source;
    *test = false;
    if (source->split < 0) return HR_OK;
    const hr_column *column = &((csv_piece *)piece->own)->column[source->split];
    const int64_t at = column->splits[0] ? column->splits[0][row] : row;
    const bool several = column->splits[0] && column->splits[0][row + 1] - at > 1;
    if (several || !csv_shards_is_there(column, row)) return hr__convert_no_split(plan->opts, source->path, piece, row);
    *test = hr__convert_is_test(plan->opts, ((const int64_t *)column->values)[at]);
    return HR_OK;
}

static void csv_shards_frame(const hr__csv_source *source, hr__convert_piece *piece, int64_t row, bool test)
{
    const csv_piece *own = piece->own;
    char *data = hr__piece_data(piece);
    hr__piece_add(piece, row, (size_t)(hr__write_row(source->writer, own->column, row, data) - data), test);
}

static hr_status csv_shards_encode(const hr__convert_plan *plan, hr__convert_piece *piece)
{
    const hr__csv_source *source = piece->source;
    const csv_piece *own = piece->own;
    const size_t rows = (size_t)(own->block.rows - piece->rejected);
    const size_t bytes = source->format->lists ? LIST_BYTES * own->block.size : own->block.size;
    const size_t capacity = rows * (hr__row_writer_capacity(source->writer) + HR__RECORD_FRAME) + bytes;
    HR_TRY(hr__piece_reserve(piece, capacity, rows, &piece->err));
    for (int64_t r = 0; r < own->good; r++) {
        bool test;
        if (is_rejected(own, r)) continue;
        if (is_dropped(source, own, r)) {
            piece->dropped++;
            continue;
        }
        HR_TRY(find_split(plan, piece, r, &test));
        csv_shards_frame(source, piece, r, test);
        for (int c = 0; c < source->format->columns; c++) piece->missing[c] += !csv_shards_is_there(&own->column[c], r);
    }
    return HR_OK;
}

/* A long row is in memory as text or as records, and both only for a while. */
static void free_long_text(csv_piece *own)
{
    enum { RETAINED = 4 << 20 };
    if (own->text_capacity <= RETAINED) return;
    hr_free(own->text);
    own->text = NULL;
    own->text_capacity = 0;
}

void hr__csv_piece_encode(const hr__convert_plan *plan, hr__convert_piece *piece)
{
    const hr_status parsed = csv_shards_parse(piece->source, piece);
    const hr_status encoded = csv_shards_encode(plan, piece); /* where parsing failed, the rows before */
    piece->status = encoded == HR_OK ? parsed : encoded;
    free_bytes(piece->own);
    free_long_text(piece->own);
}
