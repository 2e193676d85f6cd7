/* See csv_flags.h. */
#include "cli/csv_flags.h"
#include <string.h>

/* 0 also where the flag is not given: then *out is NULL. */
static int read_byte(const command_call *call, const char *name, const char **out)
{
    *out = flag_text(call, name);
    if (*out && strcmp(*out, "\\t") == 0) *out = "\t";
    if (!*out || strlen(*out) == 1) return 0;
    return usage_error(call, "--%s: expected one byte, found \"%s\"", name, *out);
}

/* The values of a flag that may be repeated. */
static int csv_flags_read_all(const command_call *call, const char *name, const char **to, int max, int *count)
{
    *count = flag_count(call, name);
    if (*count > max) return usage_error(call, "--%s: at most %d of them", name, max);
    for (int i = 0; i < *count; i++) to[i] = flag_nth(call, name, i);
    return 0;
}

static int csv_flags_read_names(const command_call *call, csv_flags *out)
{
    hr_csv_opts *o = &out->opts;
    o->names = flag_words(call, "columns", &o->name_count);
    o->no_header = o->names || flag_given(call, "no-header");
    o->rename = out->rename;
    o->drop = out->drop;
    const int code = csv_flags_read_all(call, "rename", out->rename, CSV_RENAMES, &o->rename_count);
    return code ? code : csv_flags_read_all(call, "drop", out->drop, CSV_RENAMES, &o->drop_count);
}

static int read_missing(const command_call *call, csv_flags *out)
{
    int count;
    const int code = csv_flags_read_all(call, "na-value", out->na, CSV_NA_VALUES, &count);
    if (code != 0) return code;
    out->opts.na_value = count > 0 ? out->na[0] : NULL; /* which also stands for them in CSV that is written */
    out->opts.na_values = out->na + 1;
    out->opts.na_value_count = count > 1 ? count - 1 : 0;
    return csv_flags_read_names(call, out);
}

int read_csv_flags(const command_call *call, csv_flags *out)
{
    hr_csv_opts *o = &out->opts;
    *o = (hr_csv_opts){.struct_size = sizeof *o,
                       .no_quotes = flag_given(call, "no-quotes"),
                       .quoted_never_missing = flag_given(call, "quoted-never-missing"),
                       .comment = flag_text(call, "comment"),
                       .skip_lines = flag_number(call, "skip-lines", 0),
                       .fill_short_rows = flag_given(call, "fill-short-rows"),
                       .cut_long_rows = flag_given(call, "cut-long-rows"),
                       .max_row_bytes = flag_max_record(call),
                       .check_utf8 = flag_given(call, "check-utf8")};
    int code = read_byte(call, "delimiter", &o->delimiter);
    if (code == 0) code = read_byte(call, "separator", &o->separator);
    if (code == 0) code = read_byte(call, "quote", &o->quote);
    if (code == 0) code = read_byte(call, "escape", &o->escape);
    return code ? code : read_missing(call, out);
}
