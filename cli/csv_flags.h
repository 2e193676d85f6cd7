/* What the commands share that read CSV: the flags that say how its text is to be taken. */
#ifndef CSV_FLAGS_H
#define CSV_FLAGS_H

#include "cli/command.h"

enum { CSV_NA_VALUES = 64 };

#define CSV_FLAGS                                                                                                      \
    {FLAG_TEXT, "delimiter", 0, "C", "between the fields of a row of CSV; default ,"},                                 \
        {FLAG_REPEATED, "na-value", 0, "TEXT", "counts as missing in a CSV, besides an empty field; may be repeated"}, \
        {FLAG_SWITCH, "quoted-never-missing", 0, NULL,                                                                 \
         "\"\" in CSV that is read is an empty string; default: missing"},                                             \
        {FLAG_TEXT, "separator", 0, "C", "between the values of a field of CSV; default: a field is one value"},       \
        {FLAG_TEXT, "quote", 0, "C", "around fields of CSV that is read; default \""},                                 \
        {FLAG_SWITCH, "no-quotes", 0, NULL, "quotes in CSV that is read are ordinary bytes"},                          \
        {FLAG_TEXT, "escape", 0, "C", "in CSV that is read: the byte behind it means itself"},                         \
        {FLAG_TEXT, "comment", 0, "TEXT", "lines of CSV that begin so are passed over"},                               \
        {FLAG_NUMBER, "skip-lines", 0, "N", "lines of CSV in front of the header"},                                    \
        {FLAG_SWITCH, "fill-short-rows", 0, NULL, "fields that a row of CSV lacks are missing; default: an error"},    \
        {FLAG_SWITCH, "cut-long-rows", 0, NULL, "fields beyond the header's are passed over; default: an error"},      \
    {                                                                                                                  \
        FLAG_SWITCH, "check-utf8", 0, NULL, "strings of CSV must be UTF-8; default: any bytes"                         \
    }

typedef struct csv_flags {
    hr_csv_opts opts;
    const char *na[CSV_NA_VALUES]; /* which the options borrow */
} csv_flags;

/* Reads the flags above. 0, or the exit code of a wrong command line. */
int read_csv_flags(const command_call *call, csv_flags *out);

#endif
