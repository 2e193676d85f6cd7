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

static int read_missing(const command_call *call, csv_flags *out)
{
    const int count = flag_count(call, "na-value");
    if (count > CSV_NA_VALUES) return usage_error(call, "--na-value: at most %d of them", CSV_NA_VALUES);
    for (int i = 0; i < count; i++) out->na[i] = flag_nth(call, "na-value", i);
    out->opts.na_value = count > 0 ? out->na[0] : NULL; /* which also stands for them in CSV that is written */
    out->opts.na_values = out->na + 1;
    out->opts.na_value_count = count > 1 ? count - 1 : 0;
    return 0;
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
                       .check_utf8 = flag_given(call, "check-utf8")};
    int code = read_byte(call, "delimiter", &o->delimiter);
    if (code == 0) code = read_byte(call, "separator", &o->separator);
    if (code == 0) code = read_byte(call, "quote", &o->quote);
    if (code == 0) code = read_byte(call, "escape", &o->escape);
    return code ? code : read_missing(call, out);
}
