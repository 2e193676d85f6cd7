/* Rows of columns as tf.Examples, by templates: what is the same in every row is written once, a row copies it and puts
 * in lengths and values. The bytes are those of hr_example. Not a public header. */
#ifndef HR_EXAMPLE_ROWS_H
#define HR_EXAMPLE_ROWS_H

#include <headrace/columns.h>

typedef struct hr__row_writer hr__row_writer;

/* For fields of dtype HR_INT64, HR_FLOAT, HR_STRING, and HR_INT32, HR_BOOL, HR_DOUBLE, which are stored as one of
 * these: one dense scalar column each, or one with splits, of lists. 64 bytes after strings can be read, as in all
 * columns. Copies the names. Gives. */
hr_status hr__row_writer_new(const hr_field *fields, int count, hr__row_writer **out, hr_error *err);
void hr__row_writer_free(hr__row_writer *writer); /* NULL: nothing */
/* Bytes that a row can take at most, besides those of its strings, and of the values of its lists with their
 * lengths. */
size_t hr__row_writer_capacity(const hr__row_writer *writer);
/* Writes row `row` of the columns; values that are not `present`, and lists without any, are left out. Gives the
 * end. */
char *hr__write_row(const hr__row_writer *writer, const hr_column *column, int64_t row, char *to);

#endif
