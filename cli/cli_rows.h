/* What show, head and grep share: the records of files of any format as serialized Examples. */
#ifndef ROWS_H
#define ROWS_H

#include "cli/cli_survey.h"
#include <headrace/convert.h>

#define ROWS_FLAGS                                                                                                     \
    {FLAG_TEXT, "schema", 's', "FILE", "types of CSV and JSON fields; default: of CSV, found in a pass before"},       \
        SURVEY_FLAGS

/* How rows are read, and the files. */
typedef struct row_files {
    survey_run survey;
    hr_schema_file *schema; /* as given */
    hr_schema_file *found;  /* of CSV without one */
    hr_row_reader_opts how;
} row_files;

/* Reads the flags above. 0, or the exit code of a wrong command line. */
int read_row_flags(const command_call *call, row_files *rows);
/* Finds the files of the arguments from number `first` on, and the types of CSV. clear_row_files also after a
 * failure. */
hr_status begin_rows(const command_call *call, int first, row_files *rows, hr_error *err);
void clear_row_files(row_files *rows);

/* One of them, open. */
typedef struct row_source {
    hr_record_reader *records; /* TFRecords */
    hr_row_reader *rows;       /* other formats */
} row_source;
/* Of CSV no more rows than `most` are looked at. */
hr_status open_rows(row_files *files, const char *path, int64_t max, row_source *out, hr_error *err);
/* The next record, borrowed until the next call. HR_END: there is none. */
hr_status next_row(row_source *source, hr_view *record, hr_error *err);
void close_rows(row_source *source);

/* What is known of the features before any record is read. NULL: nothing. */
const hr_schema_file *schema_of_rows(const row_files *files);

/* A writer of records as lines of JSON: the features that --features names, else all. Gives *out. */
hr_status new_json_writer(const command_call *call, bool protobuf, hr_json_writer **out, hr_error *err);

#endif
