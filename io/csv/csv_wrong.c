/* What is wrong with a row, in words, and where: the errors of CSV. */
#include "base/text.h"
#include "io/csv/csv_parser.h"
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

/* What the text of a column stands for. */
static const char *meaning(const hr__csv_column *column)
{
    if (column->time == HR_CSV_DATE) return "a date (2024-02-29)";
    return column->time == HR_CSV_NUMBER ? hr_dtype_name(column->dtype) : "a time (2024-02-29T23:59:59Z)";
}

static void say_missing(const char *expected, const char *text, size_t size, hr__csv_wrong *w)
{
    w->kind = "csv.missing";
    if (size > 0)
        snprintf(w->text, sizeof w->text,
                 "expected %s, got \"%.*s\", which means missing; give the column a default_value", expected,
                 size > 60 ? 60 : (int)size, text);
    else
        snprintf(w->text, sizeof w->text, "expected %s, got an empty field; give the column a default_value", expected);
}

static void say_not_utf8(const hr__csv_block *block, const char *text, size_t size, hr__csv_wrong *w)
{
    const size_t sound = hr__utf8_sound(text, size);
    w->kind = "csv.utf8";
    snprintf(w->text, sizeof w->text, "expected UTF-8, got the byte 0x%02x at offset %" PRId64,
             (unsigned char)text[sound], block->offset + (text - block->data) + (int64_t)sound);
}

static void say_invalid(const char *expected, const char *text, size_t size, hr__csv_wrong *w)
{
    const char *advice = hr__has_decimal_comma(text, size) ? "write numbers with a decimal point"
                                                           : "if it means missing, add it to .na_value";
    w->kind = "csv.value";
    snprintf(w->text, sizeof w->text, "expected %s, got \"%.*s\"%s; %s", expected, size > 60 ? 60 : (int)size, text,
             size > 60 ? "..." : "", advice);
}

void hr__csv_say_value(const hr__csv_parser *p, hr__csv_verdict v, const char *text, size_t size, hr__csv_wrong *w)
{
    const char *expected = meaning(&p->f->column[w->column]);
    if (v == HR__CSV_MISSING)
        say_missing(expected, text, size, w);
    else if (v == HR__CSV_NOT_UTF8)
        say_not_utf8(p->block, text, size, w);
    else
        say_invalid(expected, text, size, w);
}

void hr__csv_say_fault(hr__csv_fault fault, hr__csv_wrong *w)
{
    static const char *const said[] = {
        [HR__CSV_QUOTE_INSIDE] = "expected a delimiter or a line end after the closing quote; double a quote that "
                                 "belongs to the text",
        [HR__CSV_QUOTE_UNQUOTED] = "expected no quote in a field that does not begin with one; quote the field and "
                                   "double the quote, or set .no_quotes",
        [HR__CSV_UNTERMINATED] = "expected a closing quote, found the end of the file",
        [HR__CSV_DANGLING] = "expected a byte after the escape, found the end of the file",
    };
    w->kind = "csv.quote";
    snprintf(w->text, sizeof w->text, "%s", said[fault]);
}

void hr__csv_say_count(const hr__csv_format *f, const hr__csv_layout *l, int fields, hr__csv_wrong *w)
{
    const char *by = f->naming.names > 0 ? ", as .names says" : "";
    w->kind = "csv.fields";
    w->field = w->column = -1;
    if (l->max == INT_MAX)
        snprintf(w->text, sizeof w->text, "expected at least %d fields%s, found %d", l->fields, by, fields);
    else if (l->max > l->fields)
        snprintf(w->text, sizeof w->text, "expected %d to %d fields%s, found %d", l->fields, l->max, by, fields);
    else
        snprintf(w->text, sizeof w->text, "expected %d fields%s, found %d", l->fields, by, fields);
}

void hr__csv_report(const hr__csv_parser *p, size_t at, size_t end, int64_t row, const hr__csv_wrong *w)
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
    error.column = w->column >= 0 ? w->field : -1;
    if (name) snprintf(error.feature, sizeof error.feature, "%s", name);
    p->sink->failed(row, &error, p->sink->user);
}
