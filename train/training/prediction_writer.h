/* Rows of named columns into a file of any format: what a training predicts. Not a public header. */
#ifndef HR_PREDICTION_WRITER_H
#define HR_PREDICTION_WRITER_H

#include <headrace/examples.h>
#include <headrace/io.h>

/* A column of some rows: dense, with so many values each, or ragged in one level. Borrows. */
typedef struct hr__prediction_column {
    const char *name;
    hr_tensor values;
} hr__prediction_column;

typedef struct hr__prediction_writer hr__prediction_writer;
/* `format`: HR_FORMAT_BY_NAME: by the name, else CSV. Of a CSV: `separator`, one byte between the values of a list (NULL:
 * lists are an error), and `plain`, no header. Gives *out (hr__prediction_writer_commit,
 * hr__prediction_writer_discard). */
hr_status hr__prediction_writer_open(const char *path, hr_file_format format, const char *separator, bool plain,
                                     hr__prediction_writer **out, hr_error *err);
/* Adds rows. The columns are the same in each call. A dense column of several values a row is NAME_0, NAME_1, ... in a
 * CSV. Types: int32, int64, float32, string. */
hr_status hr__prediction_writer_add(hr__prediction_writer *writer, const hr__prediction_column *columns, int count,
                                    int64_t rows, hr_error *err);
hr_status hr__prediction_writer_commit(hr__prediction_writer *writer, hr_error *err); /* takes it */
void hr__prediction_writer_discard(hr__prediction_writer *writer);                    /* takes it. NULL: nothing */

#endif
