/* A piece of CSV text becomes framed records: a function of the text alone. */
#include "io/convert_rows.h"
#include "io/framing.h"
#include <string.h>

enum { PAD = 64 };

struct hr__convert_bytes {
    struct hr__convert_bytes *next;
    char data[];
};

static bool grow(void *pointer, size_t *room, size_t size)
{
    void *p;
    memcpy(&p, pointer, sizeof p);
    if (size <= *room) return true;
    hr_free(p); /* what was in it is not needed any more */
    p = hr_malloc(size + size / 4);
    *room = p ? size + size / 4 : 0;
    memcpy(pointer, &p, sizeof p);
    return p != NULL;
}

hr_status hr__convert_piece_make(hr__convert_piece *piece, int columns, int files, hr_error *err)
{
    piece->column = hr_calloc((size_t)columns + 1, sizeof *piece->column);
    piece->missing = hr_calloc((size_t)columns + 1, sizeof *piece->missing);
    piece->first = hr_calloc((size_t)files, sizeof *piece->first);
    piece->last = hr_calloc((size_t)files, sizeof *piece->last);
    piece->scratch = hr_malloc(hr__csv_scratch_size());
    bool good = piece->column && piece->missing && piece->first && piece->last && piece->scratch;
    return good ? HR_OK : hr_no_memory(err, "convert");
}

static void free_bytes(hr__convert_piece *piece)
{
    for (struct hr__convert_bytes *next; piece->bytes; piece->bytes = next) {
        next = piece->bytes->next;
        hr_free(piece->bytes);
    }
}

void hr__convert_piece_free(hr__convert_piece *piece)
{
    free_bytes(piece);
    hr_free(piece->text);
    hr_free(piece->column);
    hr_free(piece->values);
    hr_free(piece->scratch);
    hr_free(piece->out);
    hr_free(piece->record);
    hr_free(piece->missing);
    hr_free(piece->first);
    hr_free(piece->last);
}

hr_status hr__convert_piece_take(hr__convert_piece *piece, const hr__csv_block *block, hr_error *err)
{
    if (!grow(&piece->text, &piece->text_room, block->size + PAD)) return hr_no_memory(err, "convert: a piece of text");
    memcpy(piece->text, block->data, block->size);
    memset(piece->text + block->size, 0, PAD);
    piece->block = *block;
    piece->block.data = piece->text;
    return HR_OK;
}

/* ---- parsing ---- */

static void *more_bytes(size_t size, void *user)
{
    hr__convert_piece *piece = user;
    struct hr__convert_bytes *bytes = hr_malloc(sizeof *bytes + size + PAD);
    if (!bytes) return NULL;
    bytes->next = piece->bytes;
    piece->bytes = bytes;
    return bytes->data;
}

static void note_failure(int64_t row, const hr_error *error, void *user)
{
    hr__convert_piece *piece = user;
    (void)row;
    if (piece->status != HR_OK) return;
    piece->status = error->code;
    piece->err = *error;
}

/* A column starts a cache line behind where the one before ends, so that columns never lie a multiple of 4096 apart by
 * themselves. */
static hr_status lay_out_columns(const hr__convert_plan *plan, hr__convert_piece *piece)
{
    const size_t rows = (size_t)piece->block.rows;
    size_t size = 0;
    for (int c = 0; c < plan->format->columns; c++)
        size += (rows * plan->format->column[c].width + 2 * PAD) / PAD * PAD;
    if (!grow(&piece->values, &piece->values_room, size)) return hr_no_memory(&piece->err, "convert: rows");
    size = 0;
    for (int c = 0; c < plan->format->columns; c++) {
        piece->column[c] = (hr_column){.values = piece->values + size, .count = piece->block.rows};
        size += (rows * plan->format->column[c].width + 2 * PAD) / PAD * PAD;
    }
    return HR_OK;
}

static hr_status parse(const hr__convert_plan *plan, hr__convert_piece *piece)
{
    hr__csv_sink sink = {.column = piece->column, .bytes = more_bytes, .failed = note_failure, .user = piece};
    HR_TRY(lay_out_columns(plan, piece));
    HR_TRY(hr__csv_parse(plan->format, plan->layout, plan->opts->input, &piece->block, piece->scratch, &sink,
                         &piece->err));
    return piece->status;
}

/* ---- encoding ---- */

static uint64_t splitmix64(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static bool is_there(const hr_column *column, int64_t row)
{
    return !column->present || column->present[row / 64] >> row % 64 & 1;
}

static bool is_dropped(const hr__convert_plan *plan, const hr__convert_piece *piece, int64_t row)
{
    for (int c = 0; c < plan->format->columns; c++)
        if (plan->require[c] && !is_there(&piece->column[c], row)) return true;
    return false;
}

static hr_status find_split(const hr__convert_plan *plan, hr__convert_piece *piece, int64_t row, bool *test)
{
    *test = false;
    if (plan->split < 0) return HR_OK;
    const hr_column *column = &piece->column[plan->split];
    if (is_there(column, row)) {
        const uint64_t number = (uint64_t)((const int64_t *)column->values)[row];
        *test = splitmix64(number) % (uint64_t)plan->opts->split_folds == 0;
        return HR_OK;
    }
    hr_fail(&piece->err, HR_INVALID_ARGUMENT, "convert.split",
            "%s: record %lld: expected a value of '%.60s', by which rows are split, got an empty field",
            plan->opts->input, (long long)(piece->block.record + row), plan->opts->split_column);
    hr_error_file(&piece->err, plan->opts->input);
    piece->err.record = piece->block.record + row;
    return HR_INVALID_ARGUMENT;
}

static char *frame(const hr__convert_plan *plan, hr__convert_piece *piece, int64_t row, char *to)
{
    char *data = to + HR__RECORD_HEADER, *end = hr__write_row(plan->writer, piece->column, row, data);
    hr__record_header(to, (uint64_t)(end - data));
    hr__record_footer(end, data, (size_t)(end - data));
    return end + HR__RECORD_FOOTER;
}

static hr_status encode(const hr__convert_plan *plan, hr__convert_piece *piece)
{
    const size_t rows = (size_t)piece->block.rows;
    const size_t room = rows * (hr__row_writer_room(plan->writer) + HR__RECORD_FRAME) + piece->block.size;
    const bool good = grow(&piece->out, &piece->out_room, room) &&
                      grow(&piece->record, &piece->record_room, rows * sizeof *piece->record + 1);
    if (!good) return hr_no_memory(&piece->err, "convert: records");
    char *p = piece->out;
    for (int64_t r = 0; r < piece->block.rows; r++) {
        if (is_dropped(plan, piece, r)) {
            piece->dropped++;
            continue;
        }
        hr__convert_record *record = &piece->record[piece->records++];
        HR_TRY(find_split(plan, piece, r, &record->test));
        record->at = (size_t)(p - piece->out);
        p = frame(plan, piece, r, p);
        record->size = (size_t)(p - piece->out) - record->at;
        for (int c = 0; c < plan->format->columns; c++) piece->missing[c] += !is_there(&piece->column[c], r);
    }
    return HR_OK;
}

void hr__convert_piece_encode(const hr__convert_plan *plan, hr__convert_piece *piece)
{
    piece->records = piece->dropped = 0;
    piece->status = HR_OK;
    memset(piece->missing, 0, (size_t)plan->format->columns * sizeof *piece->missing);
    hr_status st = parse(plan, piece);
    if (st == HR_OK) st = encode(plan, piece);
    piece->status = st;
    free_bytes(piece);
}
