/* Rows one after the other: pieces of a format's source, encoded in turn. */
#include "io/convert/rows.h"
#include "io/convert/format.h"
#include "io/csv.h"
#include "io/framing.h"

struct hr__rows {
    hr__convert_plan plan;
    void *source;
    hr__convert_piece piece;
    int64_t next; /* in the piece */
    hr_status end;
};

static const hr__format *format_of(hr_file_format id)
{
    return hr__format_named(id == HR_FORMAT_CSV ? "csv" : id == HR_FORMAT_JSON ? "jsonl" : "tfrecord");
}

hr_status hr__rows_open(const char *path, hr_file_format format, const hr__convert_opts *how, hr__rows **out,
                        hr_error *err)
{
    hr__rows *rows = hr_calloc(1, sizeof *rows);
    if (!rows) return hr_no_memory(err, "rows");
    rows->plan = (hr__convert_plan){.opts = how, .from = format_of(format)};
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

/* ---- counting ---- */

static hr_status count_csv(const char *path, const hr__convert_opts *how, int64_t *count, hr_error *err)
{
    enum { PIECE = 256 * 1024 };
    hr__csv_format *format;
    hr__csv_file *file = NULL;
    hr__csv_block block;
    hr_csv_opts csv = hr__csv_opts_of(path, how->csv);
    csv.compression = how->input_compression;
    HR_TRY(hr__csv_format_new(&csv, &format, err));
    hr_status st = hr__csv_open(format, path, &file, err);
    while (st == HR_OK && (st = hr__csv_read(file, PIECE, PIECE, &block, err)) == HR_OK) *count += block.rows;
    hr__csv_close(file);
    hr__csv_format_free(format);
    return st == HR_END ? HR_OK : st;
}

static hr_status count_json(const char *path, const hr__convert_opts *how, int64_t *count, hr_error *err)
{
    hr_json_reader *reader;
    hr_view record;
    hr_status st;
    const hr_json_reader_opts opts = {.struct_size = sizeof opts, .compression = how->input_compression};
    HR_TRY(hr_json_reader_open_with(path, &opts, &reader, err));
    while ((st = hr_json_read(reader, &record, err)) == HR_OK) ++*count;
    hr_json_reader_free(reader);
    return st == HR_END ? HR_OK : st;
}

static hr_status count_records(const char *path, const hr__convert_opts *how, int64_t *count, hr_error *err)
{
    hr_record_reader *reader;
    hr_status st;
    const hr_input_opts opts = {.struct_size = sizeof opts, .compression = how->input_compression};
    HR_TRY(hr_record_reader_open(path, &opts, &reader, err));
    while ((st = hr_record_skip(reader, 1, err)) == HR_OK) ++*count;
    hr_record_reader_free(reader);
    return st == HR_END ? HR_OK : st;
}

hr_status hr__rows_count(const char *path, hr_file_format format, const hr__convert_opts *how, int64_t *count,
                         hr_error *err)
{
    *count = 0;
    if (format == HR_FORMAT_CSV) return count_csv(path, how, count, err);
    return format == HR_FORMAT_JSON ? count_json(path, how, count, err) : count_records(path, how, count, err);
}
