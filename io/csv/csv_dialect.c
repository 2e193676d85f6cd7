/* How the options say that text is cut into fields; checked once, so that later code need not check a byte. */
#include "io/csv/csv.h"
#include <string.h>

const char *hr_csv_delimiter_of(const char *path) { return path && strstr(path, ".tsv") ? "\t" : NULL; }

hr_csv_opts hr__csv_opts_of(const char *path, const hr_csv_opts *how)
{
    static const char *const after_places[] = {NULL};
    hr_csv_opts o = HR_OPTIONS(hr_csv_opts, how);
    if (!o.delimiter) o.delimiter = hr_csv_delimiter_of(path);
    if (o.no_header && !o.names) o.names = after_places, o.name_count = 0;
    return o;
}

hr_status hr__csv_one_byte(const char *option, const char *text, char otherwise, char *out, hr_error *err)
{
    *out = otherwise;
    if (!text) return HR_OK;
    if (strlen(text) != 1)
        return hr_fail(err, HR_INVALID_ARGUMENT, "csv.delimiter",
                       "csv: expected a %s of one byte, got \"%.20s\"; give .%s = \";\" or another one", option, text,
                       option);
    *out = *text;
    return HR_OK;
}

static hr_status special_twice(const char *a, const char *b, char byte, hr_error *err)
{
    return hr_fail(err, HR_INVALID_ARGUMENT, "csv.delimiter",
                   "csv: expected a %s other than the %s, got '\\x%02x' for both", a, b, (unsigned char)byte);
}

static bool is_line_end(char c) { return c == '\n' || c == '\r'; }

static hr_status check_delimiter(hr__csv_dialect *d, hr_error *err)
{
    d->exact_only = is_line_end(d->delimiter) || (d->quotes && d->delimiter == d->quote);
    if (d->exact_only && !d->tf_compat)
        return hr_fail(err, HR_INVALID_ARGUMENT, "csv.delimiter",
                       "csv: expected a delimiter that is not a quote or a line end, got '\\x%02x'; "
                       ".no_quotes allows the quote",
                       (unsigned char)d->delimiter);
    if (d->quotes && is_line_end(d->quote))
        return hr_fail(err, HR_INVALID_ARGUMENT, "csv.delimiter", "csv: expected a quote that is not a line end");
    return HR_OK;
}

/* An escape that is the quote is how quotes are doubled anyway. */
static hr_status check_escape(const hr_csv_opts *o, hr__csv_dialect *d, hr_error *err)
{
    HR_TRY(hr__csv_one_byte("escape", o->escape, d->quote, &d->escape, err));
    d->escapes = o->escape && !(d->quotes && d->escape == d->quote);
    if (d->escapes && d->escape == d->delimiter) return special_twice("escape", "delimiter", d->escape, err);
    if (d->escapes && is_line_end(d->escape))
        return hr_fail(err, HR_INVALID_ARGUMENT, "csv.delimiter", "csv: expected an escape that is not a line end");
    return HR_OK;
}

static hr_status check_comment(const hr_csv_opts *o, hr__csv_dialect *d, hr_error *err)
{
    d->comment = o->comment;
    d->comment_size = o->comment ? strlen(o->comment) : 0;
    if (d->comment_size == 0 || !strpbrk(o->comment, "\r\n")) return HR_OK;
    return hr_fail(err, HR_INVALID_ARGUMENT, "csv.delimiter", "csv: expected a comment prefix without a line end");
}

hr_status hr__csv_dialect_make(const hr_csv_opts *o, hr__csv_dialect *d, hr_error *err)
{
    *d = (hr__csv_dialect){.quotes = !o->no_quotes, .tf_compat = o->tf_compat};
    HR_TRY(hr__csv_one_byte("delimiter", o->delimiter, ',', &d->delimiter, err));
    HR_TRY(hr__csv_one_byte("quote", o->quote, '"', &d->quote, err));
    HR_TRY(check_delimiter(d, err));
    HR_TRY(check_escape(o, d, err));
    HR_TRY(check_comment(o, d, err));
    d->exact_only |= d->escapes || d->comment_size > 0;
    return HR_OK;
}
