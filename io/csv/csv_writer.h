/* A writer of CSV without a file of its own: header and rows as bytes. Not a public header. */
#ifndef HR_CSV_WRITER_H
#define HR_CSV_WRITER_H

#include "base/text.h"
#include "io/example/example_walk.h"
#include <headrace/io.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As hr_csv_writer_open_with, but that opts->output is not looked at; `name` stands in errors. Gives;
 * hr_csv_writer_discard. */
hr_status hr__csv_text_new(const char *name, const char *const *names, int columns, const hr_csv_writer_opts *opts,
                           hr_csv_writer **out, hr_error *err);
/* The header's line; borrowed until the next call. Before any row. */
hr_status hr__csv_text_header(hr_csv_writer *writer, hr_view *bytes, hr_error *err);
/* Appends a row to a text: the values of each column, as a list if there is a separator; NULL or none: a missing one.
 * After a failure nothing of it is there. */
hr_status hr__csv_text_row(hr_csv_writer *writer, const hr__values *const *columns, hr__text *to, hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
