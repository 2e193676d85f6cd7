/* The csv operator over a format that is made already, and what makes a format another one. */
#ifndef HR_CSV_SOURCE_H
#define HR_CSV_SOURCE_H

#include "io/csv/csv.h"
#include <headrace/examples.h>
#include <headrace/op.h>

/* The rows of one file. Borrows the format, which outlives the dataset; of the options only the policy counts. */
hr_dataset *hr__csv_of_format(const char *path, hr__csv_format *format, const hr_csv_opts *opts);

/* The fields of a schema as columns, with `present` bits, as hr__csv_of_schema reads them. `literal`: the pattern is one
 * file's name. */
hr_dataset *hr__csv_of_schema_rows(const char *pattern, bool literal, const char *one_file,
                                   const hr_schema_file *schema, const hr_csv_opts *opts);

/* Tells hr_identify what of the format makes other rows (csv_identity.c). */
void hr__csv_identify(const hr__csv_format *format, uint64_t *sum);

#endif
