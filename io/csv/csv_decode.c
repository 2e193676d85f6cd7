/* decode_csv: records that are split already, as elements of a string tensor. Its rules are not quite those of files:
 * line ends before a field are skipped, within an unquoted one they are an error, an empty record has no
 * fields, and nothing after the last selected column is looked at. */
#include "io/csv/csv.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct decode {
    const hr__csv_format *f;
    hr_tensor *out;
    int64_t record;
    char *scratch; /* an unquoted field */
    hr_error *err;
} decode;

static hr_status csv_decode_wrong(const decode *d, const char *kind, int column, const char *what)
{
    const char *name = column >= 0 ? d->f->column[column].name : NULL;
    const int field = column >= 0 && d->f->select ? d->f->select[column] : column; /* in the record */
    char place[80] = "";
    if (name)
        snprintf(place, sizeof place, ": column '%.60s'", name);
    else if (field >= 0)
        snprintf(place, sizeof place, ": column %d", field);
    hr_fail(d->err, HR_INVALID_ARGUMENT, kind, "decode_csv: record %" PRId64 "%s: %s", d->record, place, what);
    if (!d->err) return HR_INVALID_ARGUMENT;
    d->err->record = d->record;
    d->err->column = field;
    if (name) snprintf(d->err->feature, sizeof d->err->feature, "%s", name);
    return HR_INVALID_ARGUMENT;
}

static hr_status csv_decode_put_text(const decode *d, int c, void *to, const char *text, size_t size)
{
    hr_view view = {text, (int64_t)size};
    char what[160];
    if (d->f->column[c].dtype == HR_STRING) {
        memcpy(to, &view, sizeof view);
        return HR_OK;
    }
    if (hr__csv_parse_value(d->f, &d->f->column[c], text, size, to)) return HR_OK;
    snprintf(what, sizeof what, "expected %s, got \"%.*s\"; if it means missing, add it to .na_value",
             hr_dtype_name(d->f->column[c].dtype), size > 60 ? 60 : (int)size, text);
    return csv_decode_wrong(d, "csv.value", c, what);
}

static hr_status csv_decode_put_field(const decode *d, int c, const char *text, size_t size)
{
    const hr__csv_column *column = &d->f->column[c];
    char *to = (char *)d->out[c].data + (size_t)d->record * column->width;
    if (!hr__csv_is_missing(d->f, column, text, size, false)) return csv_decode_put_text(d, c, to, text, size);
    memcpy(to, column->fill, column->width);
    return column->has_default ? HR_OK
                               : csv_decode_wrong(d, "csv.missing", c,
                                                  "expected a value, got an empty field; give the column a "
                                                  "default_value");
}

/* ---- fields ---- */

typedef struct cursor {
    const char *at, *end;
} cursor;

static hr_status scan_unquoted(const decode *d, cursor *in, const char **text, size_t *size)
{
    const hr__csv_dialect *dialect = &d->f->dialect;
    *text = in->at;
    for (; in->at < in->end && *in->at != dialect->delimiter; in->at++)
        if (*in->at == '\n' || *in->at == '\r' || (*in->at == dialect->quote && dialect->quotes))
            return csv_decode_wrong(d, "csv.quote", -1,
                                    "expected no quote and no line end in an unquoted field; quote it");
    *size = (size_t)(in->at - *text);
    return HR_OK;
}

/* Called after the opening quote. */
static hr_status scan_quoted(const decode *d, cursor *in, const char **text, size_t *size)
{
    const char *begin = in->at, quote = d->f->dialect.quote;
    bool doubled = false;
    while (in->end - in->at > 1 && !(in->at[0] == quote && in->at[1] == d->f->dialect.delimiter)) {
        if (in->at[0] == quote && in->at[1] != quote)
            return csv_decode_wrong(d, "csv.quote", -1,
                                    "expected a delimiter after the closing quote; double a quote that belongs "
                                    "to the text");
        doubled |= in->at[0] == quote;
        in->at += in->at[0] == quote ? 2 : 1;
    }
    if (in->at >= in->end || *in->at != quote)
        return csv_decode_wrong(d, "csv.quote", -1, "expected a closing quote, found the end of the record");
    *text = begin;
    *size = (size_t)(in->at - begin);
    in->at++;
    if (!doubled) return HR_OK;
    *size = hr__csv_unquote(&d->f->dialect, begin, *size, d->scratch);
    *text = d->scratch;
    return HR_OK;
}

static hr_status scan_field(const decode *d, cursor *in, const char **text, size_t *size)
{
    if (*in->at != d->f->dialect.quote || !d->f->dialect.quotes) return scan_unquoted(d, in, text, size);
    in->at++;
    return scan_quoted(d, in, text, size);
}

/* Strings are copied at the end, by hr_tensor_strings; until then they may not lie in the scratch of the next field. */
static hr_status keep_field(decode *d, int c, const char *text, size_t size)
{
    HR_TRY(csv_decode_put_field(d, c, text, size));
    if (text == d->scratch) d->scratch += size;
    return HR_OK;
}

static hr_status check_count(const decode *d, int found)
{
    char what[80];
    if (found == d->f->columns) return HR_OK;
    snprintf(what, sizeof what, "expected %d fields, found %d", d->f->columns, found);
    return csv_decode_wrong(d, "csv.fields", -1, what);
}

/* What a record's fields are is known before any is converted: a wrong number of them is the first thing to say. */
static hr_status csv_decode_walk(decode *d, hr_view record, bool put, int *found)
{
    const hr__csv_format *f = d->f;
    cursor in = {record.data, record.data + record.size};
    int place = 0, column = 0;
    *found = 0;
    while (record.size > 0 && in.at < in.end) {
        const char *text = in.at;
        size_t size = 0;
        if (*in.at == '\n' || *in.at == '\r') {
            in.at++;
            continue;
        }
        HR_TRY(scan_field(d, &in, &text, &size));
        in.at++; /* the delimiter */
        if (f->select && f->select[column] != place++) continue;
        if (put) HR_TRY(keep_field(d, column, text, size));
        column++;
        *found = column;
        if (f->select && column == f->selects) return HR_OK;
    }
    if (record.size == 0 || record.data[record.size - 1] != f->dialect.delimiter) return HR_OK;
    if (f->select && f->select[column] != place) return HR_OK;
    *found = column + 1;
    return put ? csv_decode_put_field(d, column, "", 0) : HR_OK;
}

static hr_status decode_record(decode *d, hr_view record)
{
    int found;
    HR_TRY(csv_decode_walk(d, record, false, &found));
    HR_TRY(check_count(d, found));
    return csv_decode_walk(d, record, true, &found);
}

/* ---- the tensors ---- */

static hr_status decode_all(const hr__csv_format *f, const hr_tensor *records, hr_tensor *out, char *scratch,
                            hr_error *err)
{
    decode d = {.f = f, .out = out, .scratch = scratch, .err = err};
    for (int c = 0; c < f->columns; c++) HR_TRY(hr_tensor_new(&out[c], f->column[c].dtype, records->shape, err));
    for (; d.record < records->count; d.record++) HR_TRY(decode_record(&d, ((const hr_view *)records->data)[d.record]));
    for (int c = 0; c < f->columns; c++) {
        if (f->column[c].dtype != HR_STRING) continue;
        hr_tensor owned;
        HR_TRY(hr_tensor_strings(&owned, records->shape, out[c].data, err));
        hr_tensor_clear(&out[c]);
        out[c] = owned;
    }
    return HR_OK;
}

static hr_status csv_decode_check_arguments(const hr_tensor *records, const hr__csv_format *f, hr_error *err)
{
    if (records->dtype != HR_STRING || records->layout != HR_DENSE)
        return hr_fail(err, HR_INVALID_ARGUMENT, "csv.records", "decode_csv: expected a dense string tensor, got %s",
                       hr_dtype_name(records->dtype));
    for (int i = 1; i < f->selects; i++)
        if (f->select[i] <= f->select[i - 1])
            return hr_fail(err, HR_INVALID_ARGUMENT, "csv.select",
                           "decode_csv: .select_cols: expected rising places, got %d", f->select[i]);
    if (f->exclude)
        return hr_fail(err, HR_INVALID_ARGUMENT, "csv.select",
                       "decode_csv: .exclude_cols is for files; give .select_cols");
    if (!f->dialect.escapes && !f->dialect.comment_size && !f->lists && !f->skip_lines && !f->quoted_never_missing &&
        !f->check_utf8)
        return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "csv.records",
                   "decode_csv: .escape, .comment, .skip_lines, .separator, .quoted_never_missing and .check_utf8 are "
                   "for files: use hr_csv");
}

hr_status hr_decode_csv_with(const hr_tensor *records, hr_tensor *out, const hr_csv_opts *opts, hr_error *err)
{
    hr__csv_format *f;
    hr_csv_opts own = HR_OPTIONS(hr_csv_opts, opts);
    own.no_header = true;
    for (int c = 0; c < own.column_count; c++) out[c] = (hr_tensor){0};
    HR_TRY(hr__csv_format_new(&own, &f, err));
    size_t bytes = 1;
    for (int64_t i = 0; records->dtype == HR_STRING && i < records->count; i++)
        bytes += (size_t)((const hr_view *)records->data)[i].size;
    char *scratch = hr_malloc(2 * bytes);
    hr_status st = scratch ? csv_decode_check_arguments(records, f, err) : hr_no_memory(err, "decode_csv");
    if (st == HR_OK) st = decode_all(f, records, out, scratch, err);
    for (int c = 0; st != HR_OK && c < f->columns; c++) hr_tensor_clear(&out[c]);
    hr_free(scratch);
    hr__csv_format_free(f);
    return st;
}
