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
} csv_piece;

/* The rows of a piece as columns. A thread has one of these and uses it for piece after piece, so that it stays in the
 * thread's cache. */
typedef struct csv_table {
    const hr__csv_format *format; /* of the current file */
    const hr__csv_block *block;
    hr__convert_piece *piece;
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
} csv_table;

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

static void free_bytes(csv_table *table)
{
    for (struct more_bytes *next; table->bytes; table->bytes = next) {
        next = table->bytes->next;
        hr_free(table->bytes);
    }
}

void hr__csv_piece_free(void *own)
{
    csv_piece *piece = own;
    hr_free(piece->text);
    hr_free(piece);
}

void hr__csv_table_free(void *memory)
{
    csv_table *table = memory;
    free_bytes(table);
    for (int c = 0; c < table->lists; c++) hr_free(table->list[c].values);
    hr_free(table->list);
    hr_free(table->column);
    hr_free(table->values);
    hr_free(table->scratch);
    hr_free(table->rejected);
    hr_free(table);
}

hr_status hr__csv_piece_take(const hr__csv_source *source, hr__convert_piece *piece, const hr__csv_block *block,
                             hr_error *err)
{
    if (!piece->own) piece->own = hr_calloc(1, sizeof(csv_piece));
    csv_piece *own = piece->own;
    if (!own || !csv_shards_grow(&own->text, &own->text_capacity, block->size + PAD))
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

/* Gives. NULL: no memory. */
static csv_table *table_make(const hr__csv_source *source)
{
    csv_table *table = hr_calloc(1, sizeof *table);
    if (!table) return NULL;
    table->column = hr_calloc((size_t)source->format->columns + 1, sizeof *table->column);
    table->list = hr_calloc((size_t)source->format->columns + 1, sizeof *table->list);
    table->lists = table->list ? source->format->columns : 0;
    table->scratch = hr_malloc(hr__csv_scratch_size());
    if (table->column && table->list && table->scratch) return table;
    hr__csv_table_free(table);
    return NULL;
}

static void *more_bytes(size_t size, void *user)
{
    csv_table *table = user;
    struct more_bytes *bytes = hr_malloc(sizeof *bytes + size + PAD);
    if (!bytes) return NULL;
    bytes->next = table->bytes;
    table->bytes = bytes;
    return bytes->data;
}

static bool csv_shards_grow_list(int c, int64_t count, void *user)
{
    csv_table *table = user;
    list_values *list = &table->list[c];
    const size_t size = (size_t)count * table->format->column[c].width;
    if (size <= list->capacity) return true;
    void *values = hr_realloc(list->values, 2 * size + PAD);
    if (!values) return false;
    *list = (list_values){values, 2 * size};
    table->column[c].values = values;
    return true;
}

/* A row that the policy skips, or the failure that ends all. */
static void note_failure(int64_t row, const hr_error *error, void *user)
{
    csv_table *table = user;
    hr__convert_piece *piece = table->piece;
    hr__policy *policy = ((const hr__csv_source *)piece->source)->policy;
    if (piece->status != HR_OK) return;
    piece->err = *error;
    if (!hr__policy_covers(policy, error)) {
        piece->status = error->code;
    } else {
        const hr_view text = {table->block->data + (error->offset - table->block->offset), error->length};
        table->rejected[row / 64] |= UINT64_C(1) << row % 64;
        piece->rejected++;
        piece->status = hr__policy_take(policy, error, text, &piece->err);
    }
    if (piece->status != HR_OK) table->good = row;
}

static hr_status clear_rejected(const hr__csv_source *source, csv_table *table, hr_error *err)
{
    const size_t size = ((size_t)table->block->rows / 64 + 1) * sizeof *table->rejected;
    if (!source->policy) return HR_OK;
    if (!csv_shards_grow(&table->rejected, &table->rejected_capacity, size)) return hr_no_memory(err, "convert: rows");
    memset(table->rejected, 0, size);
    return HR_OK;
}

static bool is_rejected(const csv_table *table, int64_t row)
{
    return table->rejected && table->rejected[row / 64] >> row % 64 & 1;
}

/* Of its values; of lists, of their splits. */
static size_t column_size(const hr__csv_column *column, size_t rows)
{
    const size_t size = column->separator ? (rows + 1) * sizeof(int32_t) : rows * column->width;
    return (size + 2 * PAD) / PAD * PAD;
}

/* A column starts a cache line after the end of the one before, so that columns never lie a multiple of 4096 apart by
 * themselves. */
static hr_status lay_out_columns(const hr__csv_source *source, csv_table *table, hr_error *err)
{
    const hr__csv_format *f = table->format = source->format;
    const size_t rows = (size_t)table->block->rows;
    size_t size = 0;
    for (int c = 0; c < f->columns; c++) size += column_size(&f->column[c], rows);
    if (!csv_shards_grow(&table->values, &table->values_capacity, size)) return hr_no_memory(err, "convert: rows");
    size = 0;
    for (int c = 0; c < f->columns; c++) {
        void *here = table->values + size;
        table->column[c] = (hr_column){.values = here, .count = table->block->rows};
        if (f->column[c].separator) table->column[c] = (hr_column){.values = table->list[c].values, .splits = {here}};
        if (f->column[c].separator) table->column[c].splits[0][0] = 0;
        size += column_size(&f->column[c], rows);
    }
    return HR_OK;
}

static hr_status csv_shards_parse(const hr__csv_source *source, hr__convert_piece *piece)
{
    csv_table *table = *piece->memory;
    hr__csv_sink sink = {.column = table->column,
                         .bytes = more_bytes,
                         .grow = csv_shards_grow_list,
                         .failed = note_failure,
                         .user = table};
    sink.rounded = piece->rounded;
    table->good = 0; /* of what cannot be parsed at all */
    HR_TRY(lay_out_columns(source, table, &piece->err));
    HR_TRY(clear_rejected(source, table, &piece->err));
    table->good = table->block->rows;
    const hr_status st =
        hr__csv_parse(source->format, source->layout, source->path, table->block, table->scratch, &sink, &piece->err);
    if (st != HR_OK) table->good = 0;
    return st != HR_OK ? st : piece->status;
}

/* ---- encoding ---- */

static bool csv_shards_is_there(const hr_column *column, int64_t row)
{
    if (column->splits[0]) return column->splits[0][row + 1] > column->splits[0][row];
    return !column->present || column->present[row / 64] >> row % 64 & 1;
}

static bool is_dropped(const hr__csv_source *source, const csv_table *table, int64_t row)
{
    for (int c = 0; c < source->format->columns; c++)
        if (source->require[c] && !csv_shards_is_there(&table->column[c], row)) return true;
    return false;
}

static hr_status find_split(const hr__convert_plan *plan, hr__convert_piece *piece, int64_t row, bool *test)
{
    const hr__csv_source *source = piece->source;
    *test = false;
    if (source->split < 0) return HR_OK;
    const hr_column *column = &((const csv_table *)*piece->memory)->column[source->split];
    const int64_t at = column->splits[0] ? column->splits[0][row] : row;
    const bool several = column->splits[0] && column->splits[0][row + 1] - at > 1;
    if (several || !csv_shards_is_there(column, row)) return hr__convert_no_split(plan->opts, source->path, piece, row);
    *test = hr__convert_is_test(plan->opts, ((const int64_t *)column->values)[at]);
    return HR_OK;
}

static void csv_shards_frame(const hr__csv_source *source, hr__convert_piece *piece, int64_t row, bool test)
{
    const csv_table *table = *piece->memory;
    char *data = hr__piece_data(piece);
    hr__piece_add(piece, row, (size_t)(hr__write_row(source->writer, table->column, row, data) - data), test);
}

static hr_status csv_shards_encode(const hr__convert_plan *plan, hr__convert_piece *piece)
{
    const hr__csv_source *source = piece->source;
    const csv_table *table = *piece->memory;
    const size_t rows = (size_t)(table->block->rows - piece->rejected);
    const size_t bytes = source->format->lists ? LIST_BYTES * table->block->size : table->block->size;
    const size_t capacity = rows * (hr__row_writer_capacity(source->writer) + HR__RECORD_FRAME) + bytes;
    HR_TRY(hr__piece_reserve(piece, capacity, rows, &piece->err));
    for (int64_t r = 0; r < table->good; r++) {
        bool test;
        if (is_rejected(table, r)) continue;
        if (is_dropped(source, table, r)) {
            piece->dropped++;
            continue;
        }
        HR_TRY(find_split(plan, piece, r, &test));
        csv_shards_frame(source, piece, r, test);
        for (int c = 0; c < source->format->columns; c++)
            piece->missing[c] += !csv_shards_is_there(&table->column[c], r);
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
    if (!*piece->memory) *piece->memory = table_make(piece->source);
    csv_table *table = *piece->memory;
    if (!table) {
        piece->status = hr_no_memory(&piece->err, "convert");
        return;
    }
    table->piece = piece;
    table->block = &((const csv_piece *)piece->own)->block;
    const hr_status parsed = csv_shards_parse(piece->source, piece);
    const hr_status encoded = csv_shards_encode(plan, piece); /* where parsing failed, the rows before */
    piece->status = encoded == HR_OK ? parsed : encoded;
    free_bytes(table);
    free_long_text(piece->own);
}
