/* One piece of a CSV on its way through convert: parsed, encoded, framed, on any thread. Not a public header. */
#ifndef HR_CONVERT_CSV_ROWS_H
#define HR_CONVERT_CSV_ROWS_H

#include "io/convert/format.h"
#include "io/csv/csv.h"
#include "io/example/example_rows.h"

/* How a CSV whose columns are the fields of a schema is read, and its rows are written. `path` is a file of its kind, by
 * whose name the delimiter goes. Of the options, .columns and .keep_missing do not count. Gives *format; and *writer,
 * unless NULL. */
hr_status hr__csv_of_schema(const char *path, const hr_schema_file *schema, const hr_csv_opts *how,
                            hr__csv_format **format, hr__row_writer **writer, hr_error *err);

/* A CSV file, and what its rows are. */
typedef struct hr__csv_source {
    const char *path;
    hr__csv_format *format;
    hr__row_writer *writer;
    hr__csv_file *file;
    const hr__csv_layout *layout;
    int split;          /* the column by which rows are split, -1: they are not */
    bool *require;      /* a column of the schema */
    hr__policy *policy; /* of the plan */
    int64_t left;       /* rows that are still to be read, at most */
} hr__csv_source;

/* Copies the rows of a block into the piece. */
hr_status hr__csv_piece_take(const hr__csv_source *source, hr__convert_piece *piece, const hr__csv_block *block,
                             hr_error *err);
void hr__csv_piece_encode(const hr__convert_plan *plan, hr__convert_piece *piece);
void hr__csv_piece_free(void *own);
void hr__csv_table_free(void *memory);

#endif
