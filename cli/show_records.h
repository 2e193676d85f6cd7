/* What show and head share. */
#ifndef SHOW_RECORDS_H
#define SHOW_RECORDS_H

#include "cli/cli_rows.h"

#define SHOW_FLAGS(how_many)                                                                                           \
    {FLAG_NUMBER, "lines", 'n', "N", how_many}, {FLAG_LIST, "features", 'f', "NAMES", "only these: age,words"},        \
        {FLAG_SWITCH, "protobuf", 0, NULL, "the form of protobuf's JSON mapping"},                                     \
        {FLAG_SWITCH, "raw", 0, NULL, "the records' bytes as base64, whatever they are"}, ROWS_FLAGS

#define SHOW_TEXT                                                                                                      \
    "A line is an Example's features and their values: 3 is an int64, 3.0 a float, \"a\" a string; other bytes "       \
    "are {\"$b64\": ...}. A SequenceExample has \"context\" and \"feature_lists\". What is shown can be "              \
    "converted back, and the form is described in docs/formats.md. Without --schema the types of a CSV are found "     \
    "in the rows shown; with a number of them no more is read, without one all rows are read before." SURVEY_TEXT

/* Prints the records of all files, at most --lines of them, else `lines`: gives the exit code. */
int show_records(command_call *call, int64_t lines);

#endif
