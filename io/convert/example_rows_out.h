/* Sources whose rows are serialized tf.Examples already: a piece holds them as they came; which of their features
 * stay is decided on any thread. Not a public header. */
#ifndef HR_CONVERT_EXAMPLES_H
#define HR_CONVERT_EXAMPLES_H

#include "io/convert/format.h"

/* ---- one record ---- */

/* For one thread. */
typedef struct hr__row_keeper {
    hr_example_walk *walk;
    hr__walk_contents contents; /* of the record that was looked at last */
    hr_example *kept;           /* what was kept of it */
    const hr__values **values;  /* of the schema's fields; made for the first record */
} hr__row_keeper;

hr_status hr__row_keeper_make(hr__row_keeper *keeper, hr_error *err); /* clear also after a failure */
void hr__row_keeper_clear(hr__row_keeper *keeper);
/* Says whether a record lacks a value in one of these fields, so that it is left out. Its contents are known then. */
hr_status hr__row_look(hr__row_keeper *keeper, hr_view example, const char *const *require, int count, bool *dropped,
                       hr_error *err);
/* Keeps the schema's features of that record, each of the schema's type; counts those that are missing (NULL: not). The
 * record stays where it is until hr__example_put has copied keeper->kept. */
hr_status hr__row_keep(hr__row_keeper *keeper, const hr__schema_file *schema, int64_t *missing, hr_error *err);

/* ---- pieces of a source ---- */

/* The next record, borrowed until the next call; HR_END: there is none. */
typedef hr_status hr__example_read_fn(void *source, hr_view *example, hr_error *err);
/* Fills a piece by this function. `path` lives as long as the source. */
hr_status hr__examples_read(hr__example_read_fn *read, void *source, const char *path, hr__convert_piece *piece,
                            int64_t *number, hr_error *err);
void hr__examples_encode(const hr__convert_plan *plan, hr__convert_piece *piece);
void hr__examples_free(void *own);

#endif
