/* Rows one after the other: pieces of a format's source, encoded in turn. */
#include "io/convert/row_reader.h"
#include "io/convert/format.h"
#include "io/framing.h"

struct hr__rows {
    hr__convert_plan plan;
    void *source;
    hr__convert_piece piece;
    int64_t next; /* in the piece */
    hr_status end;
};

hr_status hr__rows_open(const char *path, hr_file_format format, const hr__convert_opts *how, hr__rows **out,
                        hr_error *err)
{
    hr__rows *rows = hr_calloc(1, sizeof *rows);
    if (!rows) return hr_no_memory(err, "rows");
    rows->plan = (hr__convert_plan){.opts = how, .from = hr__format_with(format)};
    rows->piece.missing = hr_calloc(how->schema ? (size_t)how->schema->fields : 1, sizeof *rows->piece.missing);
    hr_status st = rows->piece.missing ? HR_OK : hr_no_memory(err, "rows");
    if (st == HR_OK) st = rows->plan.from->open(&rows->plan, path, &rows->source, err);
    if (st == HR_OK)
        *out = rows;
    else
        hr__rows_close(rows);
    return st;
}

void hr__rows_close(hr__rows *rows)
{
    if (!rows) return;
    if (rows->source) rows->plan.from->close(rows->source);
    if (rows->piece.own) rows->plan.from->piece_free(rows->piece.own);
    hr_free(rows->piece.out);
    hr_free(rows->piece.record);
    hr_free(rows->piece.missing);
    hr_free(rows);
}

/* A piece may have blank lines alone. What is wrong in it comes behind its good rows. */
static hr_status next_piece(hr__rows *rows, hr_error *err)
{
    hr__convert_piece *piece = &rows->piece;
    HR_TRY(rows->plan.from->read(rows->source, piece, err));
    piece->source = rows->source;
    piece->records = 0;
    piece->out_used = 0;
    piece->status = HR_OK;
    rows->next = 0;
    rows->plan.from->encode(&rows->plan, piece);
    rows->end = piece->status;
    return HR_OK;
}

hr_status hr__rows_next(hr__rows *rows, hr_view *example, hr_error *err)
{
    while (rows->next == rows->piece.records) {
        if (rows->end < 0 && err) *err = rows->piece.err;
        HR_TRY(rows->end);
        HR_TRY(next_piece(rows, err));
    }
    const hr__convert_record *r = &rows->piece.record[rows->next++];
    *example = (hr_view){rows->piece.out + r->at + HR__RECORD_HEADER, (int64_t)(r->size - HR__RECORD_FRAME)};
    return HR_OK;
}

hr_status hr__rows_count(const char *path, hr_file_format format, const hr__convert_opts *how, int64_t *count,
                         hr_error *err)
{
    *count = 0;
    return hr__format_with(format)->count(path, how, count, err);
}
