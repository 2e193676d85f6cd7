/* The `columns:` section of a config file, and lists of columns in other sections. Not a public header.
 *
 *     columns:
 *       temp: {numeric: temp, mean: 57, std: 17.9}
 *       origin: {vocabulary_list: [EWR, JFK, LGA]}      # reads the field of its own name, or `field: other`
 *       temp_b: {bucketized: temp, boundaries: [20, 40]}
 *       cross: {crossed: [origin, column temp_b], hash_bucket_size: 128}
 *     ...
 *       dnn_feature_columns: [temp, indicator origin, {embedding: cross, dimension: 8}]
 *
 * What the mapping of a kind may hold is said in the kind's own file: hr_column_config. */
#ifndef HR__COLUMNS_SECTION_H
#define HR__COLUMNS_SECTION_H

#include "base/config.h"
#include "feature_columns/columns_internal.h"
#include <headrace/column_config.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr__config_columns hr__config_columns;

/* Makes every column of the mapping (NULL: none). `schema`: the fields that records have; `defaults`: the mapping from
 * fields to values for missing ones (NULL: none). Both, and the nodes, are borrowed until hr__config_columns_free. */
HR_API hr_status hr__columns_from_config(const hr__node *columns, const hr_schema *schema, const hr__node *defaults,
                                         hr__config_columns **out, hr_error *err);
HR_API void hr__config_columns_free(hr__config_columns *c);

/* A list such as dnn_feature_columns: names, `indicator NAME`, or mappings as in the section. Gives
 * (hr__column_list_free). */
HR_API hr_status hr__column_list_from_config(hr__config_columns *c, const hr__node *list, hr_column_list *out,
                                             hr_error *err);
HR_API void hr__column_list_free(hr_column_list *list);

/* All columns of the section in the order of the file, and their names there, which are one for those that a mapping
 * makes together. Borrow from `c`. */
HR_API hr_column_list hr__config_columns_list(const hr__config_columns *c);
const char *const *hr__config_columns_names(const hr__config_columns *c);
/* The first column of a name; NULL: none. */
hr_feature_column *hr__config_columns_find(const hr__config_columns *c, const char *name);

/* The columns, and those that they are made of, as the sections `schema:` and `columns:`. `names` in the section (NULL:
 * TensorFlow's), `schema` (NULL: the columns' own types). Gives *yaml (hr_free). Kind: column.write. */
hr_status hr__columns_write(hr_column_list columns, const char *const *names, const hr_schema *schema, char **yaml,
                            hr_error *err);

/* ---- for column_reader.c ---- */

/* What a kind's `read` is given. */
struct hr_config_reader {
    hr__config_columns *columns;
    const hr__node *map;
    const char *name; /* NULL: in a list */
};

/* The type of the field `name`, which stands at `node`. */
hr_status hr__config_field_type(const hr__config_columns *c, const hr__node *node, const char *name, hr_dtype *dtype,
                                hr_error *err);
/* What the section `default` says of a field; NULL: nothing. */
const hr__node *hr__config_default_of(const hr__config_columns *c, const char *field);
/* The one column of that name; `node` is where it is asked for. Gives a reference. */
hr_status hr__config_named(hr__config_columns *c, const hr__node *node, const char *name, hr_feature_column **out,
                           hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
