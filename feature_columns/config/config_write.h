/* Columns written as people write them: what the kinds' `write` in feature_columns/config/column_config.h is made of. Not a
 * public header. */
#ifndef HR__COLUMN_CONFIG_WRITE_H
#define HR__COLUMN_CONFIG_WRITE_H

#include "base/text.h"
#include "feature_columns/config/column_config.h"

/* The writer has one mapping under way. What goes wrong sticks. */

/* "key: value" of the mapping, in the order of the calls. */
void hr__write_text(hr__column_writer *w, const char *key, const char *text);
void hr__write_int(hr__column_writer *w, const char *key, int64_t value);
void hr__write_uint(hr__column_writer *w, const char *key, uint64_t value);
void hr__write_float(hr__column_writer *w, const char *key, float value); /* as few digits as give it back */
void hr__write_true(hr__column_writer *w, const char *key);
void hr__write_false(hr__column_writer *w, const char *key);
void hr__write_double(hr__column_writer *w, const char *key, double value);
void hr__write_ints(hr__column_writer *w, const char *key, const int64_t *values, int64_t count);
void hr__write_floats(hr__column_writer *w, const char *key, const float *values, int64_t count);
void hr__write_shape(hr__column_writer *w, const char *key, hr_shape shape);
/* The name under which a column that this one is made of stands in the section. */
void hr__write_column(hr__column_writer *w, const char *key, const hr_feature_column *column);
/* `field: key`, where the column's own name in the section is another. */
void hr__write_own_field(hr__column_writer *w, const char *key);
/* `dtype`, where a schema cannot say it. */
void hr__write_dtype(hr__column_writer *w, hr_dtype dtype);

/* A list: begin, items, end. */
void hr__write_begin_list(hr__column_writer *w, const char *key);
void hr__write_item_text(hr__column_writer *w, hr_view text);
void hr__write_item_int(hr__column_writer *w, int64_t value);
void hr__write_item_column(hr__column_writer *w, const hr_feature_column *column); /* "column NAME" */
void hr__write_item_name(hr__column_writer *w, const hr_feature_column *column);   /* NAME */
void hr__write_end_list(hr__column_writer *w);

/* The first sources of the column that is written and of those that its mapping makes together with it. Lends them
 * until the next call; NULL: no memory, and *count is 1. */
const hr_feature_column *const *hr__write_sources(hr__column_writer *w, int *count);

/* The same as "column NAME", where a field could stand as well. */
void hr__write_source(hr__column_writer *w, const char *key, const hr_feature_column *column);

/* What a file cannot say: "... is a function". */
void hr__write_impossible(hr__column_writer *w, const char *what);

#endif
