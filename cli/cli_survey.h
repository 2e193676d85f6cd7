/* What the commands share that go over whole files: flags, the bar. */
#ifndef SURVEY_COMMAND_H
#define SURVEY_COMMAND_H

#include "cli/csv_flags.h"
#include <headrace/examples.h>

#define SURVEY_FLAGS                                                                                                   \
    {FLAG_TEXT, "format", 0, "FORMAT", "default: by the files' names"},                                                \
        {FLAG_TEXT, "compression", 0, "TYPE", "default: by the files' first bytes"}, CSV_FLAGS

#define SURVEY_TEXT                                                                                                    \
    "\n\nFiles are TFRecords of tf.Example, JSON lines (.json, .jsonl, .ndjson) or CSV (.csv, .tsv), compressed or "   \
    "not. Files with other names are TFRecords, or CSV if there are flags of CSV: --columns, --no-header, "            \
    "--delimiter and others. A FILE may be a pattern in quotes; - is standard input." CSV_TEXT

typedef struct survey_run {
    hr_survey_opts opts;
    csv_flags csv; /* which they borrow */
    hr_file_list files;
    progress bar;
} survey_run;

/* Reads the flags above. 0, or the exit code of a wrong command line. */
int read_survey_flags(const command_call *call, survey_run *run);
/* Files whose names all say no format are CSV if flags say how CSV is read. */
void take_csv_by_flags(survey_run *run, const hr_file_list *files);
/* Finds the files of the arguments from number `first` on and begins: the bar is drawn, Ctrl-C asks for an end.
 * end_survey also after a failure. */
hr_status begin_survey(const command_call *call, int first, survey_run *run, hr_error *err);
void end_survey(survey_run *run);
/* A schema file, or the schema of a data file, by the name: .yaml and .yml are schemas. Gives *out. */
hr_status schema_of(const char *path, survey_run *run, hr_schema_file **out, hr_error *err);

#endif
