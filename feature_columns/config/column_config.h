/* The `columns:` section of a file that people write, and lists of columns in other sections. Not a public header.
 *
 *     columns:
 *       temp: {numeric: temp, mean: 57, std: 17.9}
 *       origin: {vocabulary_list: [EWR, JFK, LGA]}      # reads the field of its own name, or `field: other`
 *       temp_b: {bucketized: temp, boundaries: [20, 40]}
 *       cross: {crossed: [origin, column temp_b], hash_bucket_size: 128}
 *     ...
 *       dnn_feature_columns: [temp, indicator origin, {embedding: cross, dimension: 8}]
 *
 * What a kind of column understands stands in its own file: hr__column_config. */
#ifndef HR__COLUMN_CONFIG_H
#define HR__COLUMN_CONFIG_H

#include "base/config.h"
#include "feature_columns/columns_internal.h"

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
hr_column_list hr__config_columns_list(const hr__config_columns *c);
const char *const *hr__config_columns_names(const hr__config_columns *c);
/* The first column of a name; NULL: none. */
hr_feature_column *hr__config_columns_find(const hr__config_columns *c, const char *name);

/* The columns, and those that they are made of, as the sections `schema:` and `columns:`. `names` in the section (NULL:
 * TensorFlow's), `schema` (NULL: the columns' own types). Gives *yaml (hr_free). Kind: column.write. */
hr_status hr__columns_write(hr_column_list columns, const char *const *names, const hr_schema *schema, char **yaml,
                            hr_error *err);

/* ---- for the kinds ---- */

typedef struct hr__column_writer hr__column_writer; /* feature_columns/config/config_write.h */

/* `read` makes a column, or several, of a mapping that has the key `word`. `name` is the column's name in the file,
 * NULL in a list. Gives *out, which may have failed. `write` says, pair by pair, the mapping that makes the column. */
typedef struct hr__column_config {
    const hr_column_kind *const *kinds; /* that it makes; ends with NULL */
    const char *word;
    const char *const *keys; /* all that the mapping may have; ends with NULL */
    hr_status (*read)(hr__config_columns *c, const hr__node *map, const char *name, hr_feature_column **out,
                      hr_error *err);
    int64_t (*columns)(const hr__node *map); /* how many the mapping makes, which `out` has room for; NULL: one */
    void (*write)(hr__column_writer *w, const hr_feature_column *column);
} hr__column_config;

const hr__column_config *hr__config_of_kind(const hr_column_kind *kind); /* NULL: it has none */

#define HR_COLUMN_KIND(name) extern const hr__column_config hr__column_config_##name;
#include "feature_columns/kinds/columns.def"
#undef HR_COLUMN_KIND

/* A field by its name: refuses one that the schema lacks. */
hr_status hr__config_field(const hr__config_columns *c, const hr__node *name, hr_dtype *dtype, hr_error *err);
/* The field that a categorical column reads: `field`, or the one of the column's own name. */
hr_status hr__config_own_field(const hr__config_columns *c, const hr__node *map, const char *name, const char **field,
                               hr_dtype *dtype, hr_error *err);
/* What the section `default` says of a field; NULL: nothing. */
const hr__node *hr__config_field_default(const hr__config_columns *c, const char *field);
/* The column that a scalar names: gives a reference. */
hr_status hr__config_reference(hr__config_columns *c, const hr__node *name, hr_feature_column **out, hr_error *err);
/* What stands after `word` and a blank in a scalar; NULL: something else. */
const char *hr__config_behind(const hr__node *node, const char *word);
/* As hr__config_reference, for a name that is only part of the scalar. */
hr_status hr__config_named(hr__config_columns *c, const hr__node *node, const char *name, hr_feature_column **out,
                           hr_error *err);
/* The type named by `dtype`; otherwise *dtype stays what it is. */
hr_status hr__config_dtype(const hr__node *map, hr_dtype *dtype, hr_error *err);
/* A number, or a list of them, as a shape; NULL: *shape stays what it is. */
hr_status hr__config_shape(const hr__node *node, hr_shape *shape, hr_error *err);
/* A numeric column of a field, with the default that `map` or the section gives; `o` holds what else there is. */
hr_status hr__config_numeric(const hr__config_columns *c, const hr__node *map, const hr__node *field,
                             hr_numeric_column_opts *o, hr_feature_column **out, hr_error *err);

#ifdef __cplusplus
}
#endif
#endif
