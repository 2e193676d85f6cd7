/* The csv operator over a format that is made already, and what makes a format another one. */
#ifndef HR_CSV_SOURCE_H
#define HR_CSV_SOURCE_H

#include "io/csv/csv.h"
#include <headrace/op.h>

/* The rows of one file. Borrows the format, which outlives the dataset; of the options only the policy counts. */
hr_dataset *hr__csv_of_format(const char *path, hr__csv_format *format, const hr_csv_opts *opts);

/* Tells hr_identify what of the format makes other rows (csv_identity.c). */
void hr__csv_identify(const hr__csv_format *format, uint64_t *sum);

#endif
