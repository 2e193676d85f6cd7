/* What a bucketized column reads of a numeric one. Not a public header. */
#ifndef HR__NUMERIC_H
#define HR__NUMERIC_H

#include <headrace/column_config.h>
#include <headrace/column_kernels.h>

/* A numeric column of a field, with the default that the mapping or the schema gives; `o` holds the other options. */
hr_status hr__numeric_read(const hr_config_reader *r, const hr_config_value *field, hr_numeric_column_opts *o,
                           hr_feature_column **out, hr_error *err);

#endif
