/* Sources whose rows are serialized tf.Examples already: a piece holds them as they came; which of their features
 * stay is decided on any thread. Not a public header. */
#ifndef HR_CONVERT_EXAMPLES_H
#define HR_CONVERT_EXAMPLES_H

#include "io/convert/format.h"

/* The next record, borrowed until the next call; HR_END: there is none. */
typedef hr_status hr__example_read_fn(void *source, hr_view *example, hr_error *err);
/* Fills a piece by this function. `path` lives as long as the source. */
hr_status hr__examples_read(hr__example_read_fn *read, void *source, const char *path, hr__convert_piece *piece,
                            int64_t *number, hr_error *err);
void hr__examples_encode(const hr__convert_plan *plan, hr__convert_piece *piece);
void hr__examples_free(void *own);

#endif
