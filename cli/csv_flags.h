/* What the commands share that read CSV: the flags that say how its text is to be taken. */
#ifndef CSV_FLAGS_H
#define CSV_FLAGS_H

#include "cli/command.h"

enum { CSV_NA_VALUES = 64, CSV_RENAMES = 256 };

#define CSV_FLAGS                                                                                                      \
    {FLAG_TEXT, "delimiter", 0, "C", "between the fields of a row of CSV; default ,"},                                 \
        {FLAG_SWITCH, "no-header", 0, NULL,                                                                            \
         "the first line of CSV is a row; columns are called column_0, column_1, ..."},                                \
        {FLAG_LIST, "columns", 0, "NAMES", "the names of the columns of CSV without a header: age,name"},              \
        {FLAG_REPEATED, "rename", 0, "OLD=NEW",                                                                        \
         "another name for a column of CSV; '#3=NEW' renames the one at position 3, from 0; may be repeated"},         \
        {FLAG_REPEATED, "drop", 0, "NAME", "ignore this column of CSV, or '#3'; may be repeated"},                     \
        {FLAG_REPEATED, "na-value", 0, "TEXT",                                                                         \
         "a text that is a missing value in a CSV, as an empty field is; may be repeated"},                            \
        {FLAG_SWITCH, "quoted-never-missing", 0, NULL,                                                                 \
         "an empty field of CSV in quotes is an empty string; default: a missing value"},                              \
        {FLAG_TEXT, "separator", 0, "C", "between the values of a field of CSV; default: a field is one value"},       \
        {FLAG_TEXT, "quote", 0, "C", "around fields of CSV input; default \""},                                        \
        {FLAG_SWITCH, "no-quotes", 0, NULL, "quotes in CSV input are ordinary bytes"},                                 \
        {FLAG_TEXT, "escape", 0, "C", "in CSV input, the byte after it stands for itself"},                            \
        {FLAG_TEXT, "comment", 0, "TEXT", "skip lines of CSV that begin with this text"},                              \
        {FLAG_NUMBER, "skip-lines", 0, "N", "skip N lines of CSV before the header"},                                  \
        {FLAG_SWITCH, "fill-short-rows", 0, NULL, "fields that a row of CSV lacks are missing; default: an error"},    \
        {FLAG_SWITCH, "cut-long-rows", 0, NULL, "fields beyond the header's are ignored; default: an error"},          \
        MAX_RECORD_FLAG,                                                                                               \
    {                                                                                                                  \
        FLAG_SWITCH, "check-utf8", 0, NULL, "strings of CSV must be UTF-8; default: any bytes"                         \
    }

/* For the text of their help. */
#define CSV_TEXT                                                                                                       \
    "\n\nThe header names the columns of a CSV. A column without a name, as in files of pandas and R, is called "      \
    "column_0, after its position. --columns names the columns of a CSV without a header and implies --no-header. "    \
    "--rename and --drop use the names of the file; schemas and features use the new ones."

typedef struct csv_flags {
    hr_csv_opts opts;
    const char *na[CSV_NA_VALUES]; /* which the options borrow, as the next two */
    const char *rename[CSV_RENAMES], *drop[CSV_RENAMES];
} csv_flags;

/* Reads the flags above. 0, or the exit code of a wrong command line. `flags` stays where it is as long as its options
 * are used. */
int read_csv_flags(const command_call *call, csv_flags *flags);

#endif
