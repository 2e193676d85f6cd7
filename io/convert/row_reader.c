/* Rows one after the other: pieces of a format's source, encoded in turn. */
#include "io/convert/format.h"
#include "io/framing.h"

struct hr_row_reader {
    hr_convert_opts how;
    hr__convert_plan plan;
    void *source;
    hr__convert_piece piece;
    void *memory; /* of the piece */
    int64_t next; /* in the piece */
    hr_status end;
};

/* What convert calls these options, and the format that they or the name say. */
static const hr__format *row_reader_how(const char *path, const hr_row_reader_opts *opts, hr_convert_opts *how)
{
    const hr_row_reader_opts o = HR_OPTIONS(hr_row_reader_opts, opts);
    *how = (hr_convert_opts){.struct_size = sizeof *how,
                             .input_compression = o.compression,
                             .schema = o.schema,
                             .csv = o.csv,
                             .max_record_bytes = o.max_record_bytes,
                             .max_rows = o.max_rows};
    return hr__format_with(o.format ? o.format : hr_file_format_of(path));
}

static hr_status row_reader_check(const char *path, const hr_row_reader_opts *opts, const void *out, hr_error *err)
{
    const hr_row_reader_opts o = HR_OPTIONS(hr_row_reader_opts, opts);
    if (o.max_rows < 0)
        return hr_fail(err, HR_INVALID_ARGUMENT, "convert.argument",
                       "rows: .max_rows: expected a number of rows, or 0 for all, got %lld", (long long)o.max_rows);
    if (o.format && !hr_file_format_name(o.format)[0])
        return hr_fail(err, HR_INVALID_ARGUMENT, "convert.argument",
                       "rows: .format: expected one of hr_file_format, got %d; there is no such one", (int)o.format);
    if (path && out) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "convert.argument", "rows: expected %s, got NULL",
                   path ? "where to put the result" : "the name of a file");
}

hr_status hr_row_reader_open_with(const char *path, const hr_row_reader_opts *opts, hr_row_reader **out, hr_error *err)
{
    if (out) *out = NULL;
    HR_TRY(row_reader_check(path, opts, out, err));
    hr_row_reader *r = hr_calloc(1, sizeof *r);
    if (!r) return hr_no_memory(err, "rows");
    r->plan = (hr__convert_plan){.opts = &r->how, .from = row_reader_how(path, opts, &r->how)};
    r->piece.missing = hr_calloc(r->how.schema ? (size_t)r->how.schema->fields : 1, sizeof *r->piece.missing);
    hr_status st = r->piece.missing ? HR_OK : hr_no_memory(err, "rows");
    if (st == HR_OK) st = r->plan.from->open(&r->plan, path, &r->source, err);
    if (st == HR_OK)
        *out = r;
    else
        hr_row_reader_free(r);
    return st;
}

void hr_row_reader_free(hr_row_reader *r)
{
    if (!r) return;
    if (r->source) r->plan.from->close(r->source);
    if (r->piece.own) r->plan.from->piece_free(r->piece.own);
    if (r->memory) r->plan.from->memory_free(r->memory);
    hr_free(r->piece.out);
    hr_free(r->piece.record);
    hr_free(r->piece.missing);
    hr_free(r);
}

/* A piece may have blank lines alone. An error in it is reported after its good rows. */
static hr_status next_piece(hr_row_reader *r, hr_error *err)
{
    hr__convert_piece *piece = &r->piece;
    HR_TRY(r->plan.from->read(r->source, piece, err));
    piece->source = r->source;
    piece->memory = &r->memory;
    piece->records = 0;
    piece->out_used = 0;
    piece->status = HR_OK;
    r->next = 0;
    r->plan.from->encode(&r->plan, piece);
    r->end = piece->status;
    return HR_OK;
}

hr_status hr_row_reader_next(hr_row_reader *r, hr_view *example, hr_error *err)
{
    if (!r || !example)
        return hr_fail(err, HR_INVALID_ARGUMENT, "convert.argument", "rows: expected %s, got NULL",
                       r ? "where to put the row" : "a reader");
    while (r->next == r->piece.records) {
        if (r->end < 0 && err) *err = r->piece.err;
        HR_TRY(r->end);
        HR_TRY(next_piece(r, err));
    }
    const hr__convert_record *row = &r->piece.record[r->next++];
    *example = (hr_view){r->piece.out + row->at + HR__RECORD_HEADER, (int64_t)(row->size - HR__RECORD_FRAME)};
    return HR_OK;
}

hr_status hr_count_rows_with(const char *path, const hr_row_reader_opts *opts, int64_t *count, hr_error *err)
{
    hr_convert_opts how;
    HR_TRY(row_reader_check(path, opts, count, err));
    *count = 0;
    return row_reader_how(path, opts, &how)->count(path, &how, count, err);
}
