/* What the commands share that read CSV: the flags that say how its text is to be taken. */
#ifndef CSV_FLAGS_H
#define CSV_FLAGS_H

#include "cli/command.h"

enum { CSV_NA_VALUES = 64, CSV_RENAMES = 256 };

#define CSV_FLAGS                                                                                                      \
    {FLAG_TEXT, "delimiter", 0, "C", "between the fields of a row of CSV; default ,"},                                 \
        {FLAG_SWITCH, "no-header", 0, NULL, "the first line of CSV is a row; columns are called column_0, column_1"},  \
        {FLAG_LIST, "columns", 0, "NAMES", "names of the columns of CSV without a header: age,name"},                  \
        {FLAG_REPEATED, "rename", 0, "OLD=NEW",                                                                        \
         "another name for a column of CSV; '#3=NEW': for the one at place 3, from 0; may be repeated"},               \
        {FLAG_REPEATED, "drop", 0, "NAME", "read CSV as if it had no such column, or '#3'; may be repeated"},          \
        {FLAG_REPEATED, "na-value", 0, "TEXT", "counts as missing in a CSV, besides an empty field; may be repeated"}, \
        {FLAG_SWITCH, "quoted-never-missing", 0, NULL,                                                                 \
         "\"\" in CSV that is read is an empty string; default: missing"},                                             \
        {FLAG_TEXT, "separator", 0, "C", "between the values of a field of CSV; default: a field is one value"},       \
        {FLAG_TEXT, "quote", 0, "C", "around fields of CSV that is read; default \""},                                 \
        {FLAG_SWITCH, "no-quotes", 0, NULL, "quotes in CSV that is read are ordinary bytes"},                          \
        {FLAG_TEXT, "escape", 0, "C", "in CSV that is read: the byte after it means itself"},                          \
        {FLAG_TEXT, "comment", 0, "TEXT", "lines of CSV that begin so are passed over"},                               \
        {FLAG_NUMBER, "skip-lines", 0, "N", "lines of CSV in front of the header"},                                    \
        {FLAG_SWITCH, "fill-short-rows", 0, NULL, "fields that a row of CSV lacks are missing; default: an error"},    \
        {FLAG_SWITCH, "cut-long-rows", 0, NULL, "fields beyond the header's are passed over; default: an error"},      \
        MAX_RECORD_FLAG,                                                                                               \
    {                                                                                                                  \
        FLAG_SWITCH, "check-utf8", 0, NULL, "strings of CSV must be UTF-8; default: any bytes"                         \
    }

/* For the text of their help. */
#define CSV_TEXT                                                                                                       \
    "\n\nThe columns of a CSV are called as its header says, column_0 (after its place) where that is empty, as in "   \
    "files of pandas and R. Without a header they are what --columns says; with it --no-header goes without saying. "  \
    "--rename and --drop go by these names, schemas and features by the new ones."

typedef struct csv_flags {
    hr_csv_opts opts;
    const char *na[CSV_NA_VALUES]; /* which the options borrow, as the next two */
    const char *rename[CSV_RENAMES], *drop[CSV_RENAMES];
} csv_flags;

/* Reads the flags above. 0, or the exit code of a wrong command line. `flags` stays where it is as long as its options
 * are used. */
int read_csv_flags(const command_call *call, csv_flags *flags);

#endif
