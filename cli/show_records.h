/* What show and head share. */
#ifndef SHOW_RECORDS_H
#define SHOW_RECORDS_H

#include "cli/cli_rows.h"

#define SHOW_FLAGS(how_many)                                                                                           \
    {FLAG_NUMBER, "lines", 'n', "N", how_many}, {FLAG_LIST, "features", 'f', "NAMES", "only these: age,words"},        \
        {FLAG_SWITCH, "protobuf", 0, NULL, "use protobuf's JSON mapping"},                                             \
        {FLAG_SWITCH, "raw", 0, NULL, "print the bytes of any records as base64"}, ROWS_FLAGS

#define SHOW_TEXT                                                                                                      \
    "A line has an Example's features and their values: 3 is an int64, 3.0 a float, \"a\" a string; other bytes are "  \
    "{\"$b64\": ...}. A SequenceExample has \"context\" and \"feature_lists\". The lines can be converted back; "      \
    "docs/formats.md describes them. Without --schema, the types of a CSV are inferred from the rows that are "        \
    "shown: from the first N rows with a number of lines, from all rows without one." SURVEY_TEXT

/* Prints the records of all files, at most --lines of them, else `lines`: gives the exit code. */
int show_records(command_call *call, int64_t lines);

#endif
