/* The rows of one file of any format, one after the other, as serialized tf.Examples: as convert would write them.
 * For tools that look at single rows. Not a public header. */
#ifndef HR_CONVERT_ROWS_H
#define HR_CONVERT_ROWS_H

#include "io/convert/converter.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr__rows hr__rows;

/* Of `how` count .schema, which a CSV needs, .csv and .input_compression; it is borrowed until the rows are closed. */
hr_status hr__rows_open(const char *path, hr_file_format format, const hr__convert_opts *how, hr__rows **out,
                        hr_error *err);
/* The next row, borrowed until the next call. HR_END: there is none. A failure is final. */
hr_status hr__rows_next(hr__rows *rows, hr_view *example, hr_error *err);
void hr__rows_close(hr__rows *rows); /* NULL: nothing */

/* How many there are, without looking at what is in them but for JSON, which must be such. Of `how` as above; no
 * schema is needed. */
hr_status hr__rows_count(const char *path, hr_file_format format, const hr__convert_opts *how, int64_t *count,
                         hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
