/* A CSV file in blocks of whole rows. What a block is depends on sizes asked for; rows, their lines, offsets and
 * numbers do not. Damage of the file is reported after the last whole row before it. */
#include "io/csv/csv.h"
#include "io/csv/csv_tf_input.h"
#include "io/file_system.h"
#include "io/input.h"
#include <stdio.h>
#include <string.h>

enum { SHORT_CELLS = 1 << 20, LONG = 4 << 20 };

struct hr__csv_file {
    const hr__csv_format *format;
    hr__csv_format *naming; /* the same, if its columns are to be those of the header; else NULL */
    char *path;
    hr_input *in;     /* one of the two */
    hr__tf_input *tf; /* .tf_compat, where a compression is given */
    hr__csv_layout layout;
    int64_t offset, line, record; /* of the next row */
    size_t lent;                  /* bytes of the last block, still to be consumed */
    bool lacks_header;
};

static hr_status peek(hr__csv_file *file, size_t want, const char **data, size_t *size, hr_error *err)
{
    return file->tf ? hr__tf_input_peek(file->tf, want, data, size, err)
                    : hr_input_peek(file->in, want, data, size, err);
}

static void consume(hr__csv_file *file, size_t size)
{
    if (file->tf)
        hr__tf_input_consume(file->tf, size);
    else
        hr_input_consume(file->in, size);
}

static void close_input(hr__csv_file *file)
{
    hr_input_free(file->in);
    hr__tf_input_free(file->tf);
    hr_free(file->path);
}

/* The bytes from here on: at least `want`, if the file has them. *at_end: it has no more. *damage: nor can more of
 * them be read, for this reason; HR_OK if nothing is wrong. */
static void csv_reader_look(hr__csv_file *file, size_t want, const char **data, size_t *size, bool *at_end,
                            hr_status *damage, hr_error *err)
{
    *damage = peek(file, want, data, size, err);
    *at_end = *damage == HR_OK && *size < want;
    if (*damage == HR_OK) return;
    hr_status first = peek(file, 0, data, size, NULL); /* what is there already */
    if (first != HR_OK) *size = 0;
}

static hr_status row_too_long(const hr__csv_file *file, hr_error *err)
{
    const char *path = file->path;
    hr_fail(err, HR_INVALID_ARGUMENT, "csv.row_size",
            "%s:%lld: expected a row of at most %zu bytes, found a longer one; is there a quote that is never closed? "
            "Give a larger .max_row_bytes if that is right",
            path, (long long)file->line, file->format->max_row);
    hr_error_file(err, path);
    if (!err) return HR_INVALID_ARGUMENT;
    err->line = file->line;
    err->record = file->record;
    err->offset = file->offset;
    return HR_INVALID_ARGUMENT;
}

/* ---- opening ---- */

static hr_status refuse_compressed(const hr__csv_file *file, const char *data, size_t size, hr_error *err)
{
    const bool gzip = size >= 2 && (unsigned char)data[0] == 0x1f && (unsigned char)data[1] == 0x8b;
    if (!gzip || file->format->compression != HR_NONE || file->format->tf_compat) return HR_OK;
    const char *path = file->path;
    hr_fail(err, HR_DATA_LOSS, "csv.compressed",
            "%s:1: expected text, found the gzip magic 1f 8b at offset 0; give .compression = HR_GZIP", path);
    hr_error_file(err, path);
    if (err) err->line = 1, err->offset = 0, err->length = 2;
    return HR_DATA_LOSS;
}

/* ef bb and no further byte of UTF-8: a mark that lost its end, which would become part of the first name. */
static hr_status refuse_half_mark(const hr__csv_file *file, const char *data, size_t size, hr_error *err)
{
    if (size < 2 || memcmp(data, "\xef\xbb", 2) != 0 || (size > 2 && ((unsigned char)data[2] & 0xc0) == 0x80))
        return HR_OK;
    hr_fail(err, HR_INVALID_ARGUMENT, "csv.mark",
            "%s:1: expected a complete byte order mark, ef bb bf, or none, found ef bb alone; write the file again as "
            "UTF-8",
            file->path);
    hr_error_file(err, file->path);
    if (err) err->line = 1, err->offset = 0, err->length = 2;
    return HR_INVALID_ARGUMENT;
}

/* As Excel writes "Unicode text". No text of UTF-8 begins so. */
static hr_status refuse_utf16(const hr__csv_file *file, const char *data, size_t size, hr_error *err)
{
    if (size < 2 || (memcmp(data, "\xff\xfe", 2) != 0 && memcmp(data, "\xfe\xff", 2) != 0)) return HR_OK;
    hr_fail(err, HR_INVALID_ARGUMENT, "csv.mark",
            "%s:1: expected UTF-8, found the byte order mark of UTF-16; write the file again as UTF-8: "
            "iconv -f UTF-16 -t UTF-8",
            file->path);
    hr_error_file(err, file->path);
    if (err) err->line = 1, err->offset = 0, err->length = 2;
    return HR_INVALID_ARGUMENT;
}

static hr_status skip_mark(hr__csv_file *file, hr_error *err)
{
    const char *data;
    size_t size;
    bool at_end;
    hr_status damage;
    csv_reader_look(file, 3, &data, &size, &at_end, &damage, err);
    if (damage != HR_OK) return damage;
    HR_TRY(refuse_compressed(file, data, size, err));
    if (!file->format->tf_compat) HR_TRY(refuse_half_mark(file, data, size, err));
    if (!file->format->tf_compat) HR_TRY(refuse_utf16(file, data, size, err));
    if (file->format->tf_compat || size < 3 || memcmp(data, "\xef\xbb\xbf", 3) != 0) return HR_OK;
    consume(file, 3);
    file->offset = 3;
    return HR_OK;
}

static size_t first_look(const hr__csv_file *file)
{
    enum { USUAL = 65536 };
    return file->format->max_row < USUAL ? file->format->max_row : USUAL;
}

/* How much to look at next where `want` bytes were no whole row. False: no row is that long. */
static bool look_further(const hr__csv_file *file, size_t *want)
{
    const size_t max = file->format->max_row;
    if (*want >= max) return false;
    const size_t more = *want < LONG ? *want : *want / 4; /* of a long row, not as much again of what follows it */
    *want = *want < max - more ? *want + more : max;
    return true;
}

/* Lends the next row; length 0: the file is at its end. */
static hr_status read_row(hr__csv_file *file, const hr__csv_dialect *d, const char **data, size_t *length,
                          hr__csv_line *is, hr_error *err)
{
    for (size_t want = first_look(file);;) {
        size_t size;
        bool at_end, closed = false;
        hr_status damage;
        csv_reader_look(file, want + 1, data, &size, &at_end, &damage, err);
        if (size > want) size = want;
        *length = 0;
        *is = HR__CSV_ROW;
        if (size > 0) *is = hr__csv_scan_line(d, *data, size, 0, false, length, &closed);
        if (closed || (at_end && damage == HR_OK)) return HR_OK;
        if (damage != HR_OK) return damage;
        if (!look_further(file, &want)) return row_too_long(file, err);
    }
}

static void csv_reader_pass(hr__csv_file *file, const char *data, size_t length)
{
    file->line += hr__csv_count_lines(data, length);
    file->offset += (int64_t)length;
    consume(file, length);
}

/* Passes over `count` rows of this dialect, and the comments before what follows. */
static hr_status pass_rows(hr__csv_file *file, const hr__csv_dialect *d, int64_t count, hr_error *err)
{
    while (count > 0 || d->comment_size > 0) {
        const char *data;
        size_t length;
        hr__csv_line is;
        HR_TRY(read_row(file, d, &data, &length, &is, err));
        if (length == 0 || (count == 0 && is != HR__CSV_COMMENT)) return HR_OK;
        if (is != HR__CSV_COMMENT) count--;
        csv_reader_pass(file, data, length);
    }
    return HR_OK;
}

/* To the header, or to the first row. */
static hr_status pass_front(hr__csv_file *file, hr_error *err)
{
    static const hr__csv_dialect lines = {.delimiter = ','};
    HR_TRY(pass_rows(file, &lines, file->format->skip_lines, err));
    return file->format->header ? pass_rows(file, &file->format->dialect, 0, err) : HR_OK;
}

/* Lends the first row where there is no header, after blank lines and comments, and consumes nothing. */
static hr_status look_at_first_row(hr__csv_file *file, const char **data, size_t *length, hr_error *err)
{
    const hr__csv_dialect *d = &file->format->dialect;
    for (size_t want = first_look(file);;) {
        size_t size, begin = 0, end = 0;
        bool at_end, closed = true;
        hr_status damage;
        hr__csv_line is = HR__CSV_BLANK;
        csv_reader_look(file, want + 1, data, &size, &at_end, &damage, err);
        if (size > want) size = want;
        while (is != HR__CSV_ROW && closed && end < size) {
            begin = end;
            is = hr__csv_scan_line(d, *data, size, begin, true, &end, &closed);
        }
        *data += begin;
        *length = is == HR__CSV_ROW ? end - begin : 0;
        if ((is == HR__CSV_ROW && closed) || (at_end && damage == HR_OK)) return HR_OK;
        if (damage != HR_OK) return damage;
        if (!look_further(file, &want)) return row_too_long(file, err);
    }
}

/* Lends the header, or the first row where there is none. */
static hr_status csv_reader_read_header(hr__csv_file *file, const char **data, size_t *length, hr_error *err)
{
    hr__csv_line is;
    HR_TRY(pass_front(file, err));
    if (!file->format->header) return look_at_first_row(file, data, length, err);
    return read_row(file, &file->format->dialect, data, length, &is, err);
}

static hr_status no_header(hr__csv_file *file, hr_error *err)
{
    file->lacks_header = true;
    if (!file->format->tf_compat) return hr__csv_layout_make(file->format, file->path, NULL, 0, &file->layout, err);
    const char *path = file->path;
    hr_fail(err, HR_INVALID_ARGUMENT, "csv.header", "%s: expected a header, found an empty file", path);
    hr_error_file(err, path);
    return HR_INVALID_ARGUMENT;
}

static hr_status take_header(hr__csv_file *file, hr_error *err)
{
    const char *data, *path = file->path;
    size_t length;
    HR_TRY(csv_reader_read_header(file, &data, &length, err));
    if (file->naming) HR_TRY(hr__csv_format_name(file->naming, path, data, length, err));
    if (length == 0) return no_header(file, err);
    HR_TRY(hr__csv_layout_make(file->format, path, data, length, &file->layout, err));
    csv_reader_pass(file, data, length);
    return file->format->skip_rows > 0 ? pass_rows(file, &file->format->dialect, file->format->skip_rows, err) : HR_OK;
}

/* Without a header: columns that are found by name need to know how many fields there are. */
static hr_status take_first_row(hr__csv_file *file, hr_error *err)
{
    const char *data = NULL;
    size_t length = 0;
    const hr__csv_format *f = file->format;
    if (f->by_name || file->naming || f->columns == 0)
        HR_TRY(csv_reader_read_header(file, &data, &length, err));
    else
        HR_TRY(pass_front(file, err));
    if (file->naming) HR_TRY(hr__csv_format_name(file->naming, file->path, data, length, err));
    return hr__csv_layout_make(f, file->path, length > 0 ? data : NULL, length, &file->layout, err);
}

static hr_status csv_reader_open_input(hr__csv_file *file, const char *path, hr_error *err)
{
    const hr__csv_format *f = file->format;
    const hr_input_opts opts = {.struct_size = sizeof opts, .compression = f->compression, .wake = f->wake};
    if (!(file->path = hr_strdup(path))) return hr_no_memory(err, "csv");
    if (f->tf_compat && f->compression != HR_COMPRESSION_AUTO && !hr_path_reads_once(path))
        HR_TRY(hr__tf_input_open(path, f->compression, &file->tf, err));
    else
        HR_TRY(hr_input_open_with(path, &opts, &file->in, err));
    return skip_mark(file, err);
}

hr_status hr__csv_copy_header(const hr__csv_format *format, const char *path, char **header, size_t *size,
                              hr_error *err)
{
    hr__csv_file file = {.format = format, .line = 1};
    const char *data;
    *header = NULL;
    hr_status st = csv_reader_open_input(&file, path, err);
    if (st == HR_OK) st = csv_reader_read_header(&file, &data, size, err);
    if (st == HR_OK && !(*header = hr_memdup(data, *size))) st = hr_no_memory(err, "csv");
    close_input(&file);
    return st;
}

hr_status hr__csv_format_from_header(hr__csv_format *f, const char *path, hr_error *err)
{
    char *row;
    size_t size;
    HR_TRY(hr__csv_copy_header(f, path, &row, &size, err));
    hr_status st = hr__csv_format_name(f, path, row, size, err);
    hr_free(row);
    return st;
}

static hr_status csv_reader_begin(hr__csv_file *file, const char *path, hr_error *err)
{
    const hr__csv_format *f = file->format;
    HR_TRY(csv_reader_open_input(file, path, err));
    if (f->header) return take_header(file, err);
    return take_first_row(file, err);
}

static hr_status csv_reader_open_file(const hr__csv_format *format, hr__csv_format *naming, const char *path,
                                      hr__csv_file **out, hr_error *err)
{
    *out = NULL;
    hr__csv_file *file = hr_calloc(1, sizeof *file);
    if (!file) return hr_no_memory(err, "csv");
    file->format = format;
    file->naming = naming;
    file->line = 1;
    hr_status st = csv_reader_begin(file, path, err);
    if (st != HR_OK) {
        hr__csv_close(file);
        return st;
    }
    *out = file;
    return HR_OK;
}

hr_status hr__csv_open(const hr__csv_format *format, const char *path, hr__csv_file **out, hr_error *err)
{
    return csv_reader_open_file(format, NULL, path, out, err);
}

hr_status hr__csv_open_all(hr__csv_format *format, const char *path, hr__csv_file **out, hr_error *err)
{
    return csv_reader_open_file(format, format, path, out, err);
}

void hr__csv_close(hr__csv_file *file)
{
    if (!file) return;
    close_input(file);
    hr__csv_layout_clear(&file->layout);
    hr_free(file);
}

const hr__csv_layout *hr__csv_file_layout(const hr__csv_file *file) { return &file->layout; }

bool hr__csv_lacks_header(const hr__csv_file *file) { return file->lacks_header; }

int64_t hr__csv_compressed_offset(const hr__csv_file *file)
{
    return file->in ? hr_input_compressed_offset(file->in) : -1;
}

/* ---- cutting ---- */

/* Adds one row, read exactly. False: it is not whole yet. */
static bool add_row(const hr__csv_file *file, const char *data, size_t size, bool at_end, hr__csv_count *sum)
{
    bool closed;
    size_t end;
    const hr__csv_line is =
        hr__csv_scan_line(&file->format->dialect, data, size, sum->size, file->layout.skip_blank, &end, &closed);
    if (!closed && !at_end) return false;
    sum->rows += is == HR__CSV_ROW;
    sum->blank += is == HR__CSV_BLANK;
    sum->comments += is == HR__CSV_COMMENT;
    sum->lines += hr__csv_count_lines(data + sum->size, end - sum->size);
    sum->size = end;
    return true;
}

/* Blank lines are rows where there is but one column. */
static void add_rows_by_masks(const hr__csv_file *file, const char *data, size_t size, int64_t max_rows,
                              hr__csv_count *sum)
{
    hr__csv_count c;
    int64_t left = max_rows - sum->rows;
    hr__csv_count_rows(&file->format->dialect, data + sum->size, size - sum->size, left, file->layout.skip_blank, &c);
    sum->rows += c.rows;
    sum->blank += c.blank;
    sum->lines += c.lines;
    sum->size += c.size;
}

/* The whole rows at the beginning of the bytes, at most max_rows, and blank lines before them. All of them get
 * memory for every column, so of rows that are too short for theirs only so many are taken as have SHORT_CELLS. */
static void csv_reader_cut(const hr__csv_file *file, const char *data, size_t size, bool at_end, int64_t max_rows,
                           hr__csv_count *sum)
{
    const int64_t fields = file->layout.fields > 0 ? file->layout.fields : 1; /* a byte each, in a sound row */
    const int64_t max = (int64_t)size / fields + SHORT_CELLS / fields + 1;
    *sum = (hr__csv_count){0};
    if (max < max_rows) max_rows = max;
    /* Whether a CR at the end belongs to a CRLF is not known before the next byte. */
    if (!at_end && size > 0 && data[size - 1] == '\r') size--;
    while (sum->size < size && sum->rows < max_rows) {
        if (!file->format->dialect.exact_only) add_rows_by_masks(file, data, size, max_rows, sum);
        if (sum->size == size || sum->rows == max_rows) return;
        if (!add_row(file, data, size, at_end, sum)) return;
    }
}

static void csv_reader_give(hr__csv_file *file, const char *data, const hr__csv_count *sum, hr__csv_block *block)
{
    *block = (hr__csv_block){.data = data, .size = sum->size, .rows = sum->rows, .blank = sum->blank};
    block->comments = sum->comments;
    block->offset = file->offset;
    block->line = file->line;
    block->record = file->record;
    file->offset += (int64_t)sum->size;
    file->line += sum->lines;
    file->record += sum->rows;
    file->lent = sum->size;
}

void hr__csv_release(hr__csv_file *file)
{
    consume(file, file->lent);
    file->lent = 0;
}

hr_status hr__csv_read(hr__csv_file *file, size_t bytes, int64_t max_rows, hr__csv_block *block, hr_error *err)
{
    hr__csv_release(file);
    for (size_t want = bytes < file->format->max_row ? bytes : file->format->max_row;;) {
        const char *data;
        size_t size;
        bool at_end;
        hr_status damage;
        hr__csv_count sum;
        csv_reader_look(file, want + 1, &data, &size, &at_end, &damage, err);
        if (size > want) size = want; /* so that blocks stay small; more of it is not the end */
        csv_reader_cut(file, data, size, at_end, want > bytes ? 1 : max_rows,
                       &sum); /* a long row is a block of its own */
        if (sum.size > 0) {
            csv_reader_give(file, data, &sum, block);
            return HR_OK;
        }
        if (damage != HR_OK) return damage;
        if (at_end) return HR_END;
        if (!look_further(file, &want)) return row_too_long(file, err);
    }
}

bool hr__csv_is_plain(const hr__csv_file *file) { return file->in && hr__input_has_places(file->in); }

hr_status hr__csv_read_into(hr__csv_file *file, char *to, size_t size, int64_t max_rows, hr__csv_block *block,
                            hr_error *err)
{
    size_t got;
    hr__csv_count sum;
    const size_t max = file->format->max_row;
    if (size > max + 1) size = max + 1;
    hr_status damage = hr__input_read_at(file->in, file->offset, to, size, &got, err);
    if (got == 0) return damage == HR_OK ? HR_END : damage;
    csv_reader_cut(file, to, got < max ? got : max, damage == HR_OK && got < size, max_rows, &sum);
    if (sum.size == 0 && damage != HR_OK) return damage;
    if (sum.size == 0 && size > max) return row_too_long(file, err);
    csv_reader_give(file, to, &sum, block);
    file->lent = 0;
    return HR_OK;
}

hr_status hr__csv_seek(hr__csv_file *file, int64_t offset, int64_t line, int64_t record, hr_error *err)
{
    HR_TRY(file->tf ? hr__tf_input_seek(file->tf, offset, err) : hr_input_seek(file->in, offset, err));
    file->offset = offset;
    file->line = line;
    file->record = record;
    file->lent = 0;
    return HR_OK;
}

void hr__csv_tell(const hr__csv_file *file, int64_t *offset, int64_t *line, int64_t *record)
{
    *offset = file->offset;
    *line = file->line;
    *record = file->record;
}
