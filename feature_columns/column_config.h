/* The column kit, part three: how config files describe a column (docs/config.md).
 *
 *     columns:
 *       pickup: {hour_of_day: time, seconds_east: -18000}
 *
 * A kind's hr_column_config has the word by which its mapping is recognized, the keys that the mapping may have, and
 * functions that read a column from the mapping and write it. hr_column_kind_register makes the word known. A column
 * that is written must read back as an equal column: test this for your kind, as it is tested for the library's. */
#ifndef HR_COLUMN_CONFIG_H
#define HR_COLUMN_CONFIG_H

#include <headrace/column.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_config_reader hr_config_reader; /* the mapping of one column that is being read */
typedef struct hr_config_writer hr_config_writer; /* the mapping of one column that is being written */
/* A value in the file: a scalar, a list or a mapping. Valid until `read` returns. */
typedef struct hr__node hr_config_value;

enum { HR_COLUMN_CONFIG_ABI = 1 /* the version of this header */ };
#define HR_COLUMN_CONFIG_HEAD                                                                                          \
    {                                                                                                                  \
        HR_COLUMN_CONFIG_ABI, sizeof(hr_column_config)                                                                 \
    }

/* How config files describe the columns of a kind. */
typedef struct hr_column_config {
    hr_column_head head;     /* HR_COLUMN_CONFIG_HEAD */
    const char *word;        /* the key by which the kind is recognized: "hour_of_day" */
    const char *const *keys; /* all keys that the mapping may have, the word among them; ends with NULL */
    /* Makes the column of a mapping that has the key `word`. Gives *out. It may give a failed column: the error then
     * gets the position in the file. */
    hr_status (*read)(hr_config_reader *r, hr_feature_column **out, hr_error *err);
    /* Writes the pairs of the mapping that makes the column. NULL: columns of the kind cannot be written. */
    void (*write)(hr_config_writer *w, const hr_feature_column *column);
    /* How many columns the mapping makes; `read` gives all of them, in out[0], out[1], ... NULL: one. */
    int64_t (*columns)(const hr_config_reader *r);
} hr_column_config;

/* ---- for read: by key ---- */

/* If the key is missing these calls do not change *out. Nor do they if its value is null, but for hr_config_choice,
 * hr_config_dtype and hr_config_shape, which refuse null. */

/* The column's name in the file; NULL: it is an item of a list and has no name. Borrows. */
HR_API const char *hr_config_name(const hr_config_reader *r);
/* Kinds: config.type (another kind of value), config.value (a number outside of min .. max). */
HR_API hr_status hr_config_int(const hr_config_reader *r, const char *key, int64_t min, int64_t max, int64_t *out,
                               hr_error *err);
HR_API hr_status hr_config_uint(const hr_config_reader *r, const char *key, uint64_t *out, hr_error *err);
HR_API hr_status hr_config_double(const hr_config_reader *r, const char *key, double *out, hr_error *err);
HR_API hr_status hr_config_bool(const hr_config_reader *r, const char *key, bool *out, hr_error *err);
HR_API hr_status hr_config_text(const hr_config_reader *r, const char *key, const char **out, hr_error *err);
/* The number of the scalar in a list of `count` names. Kind config.unknown_name: it is none of them; the message calls
 * them `what`. */
HR_API hr_status hr_config_choice(const hr_config_reader *r, const char *key, const char *what,
                                  const char *const *names, int64_t count, int64_t *out, hr_error *err);
HR_API hr_status hr_config_dtype(const hr_config_reader *r, hr_dtype *out, hr_error *err); /* key `dtype` */
/* A dimension, or a list of one to eight dimensions; each is at least 1. */
HR_API hr_status hr_config_shape(const hr_config_reader *r, const char *key, hr_shape *out, hr_error *err);

/* ---- for read: values ---- */

HR_API const hr_config_value *hr_config_get(const hr_config_reader *r, const char *key); /* NULL: it is missing */
/* The same. Kind config.missing_key: it is missing. */
HR_API hr_status hr_config_need(const hr_config_reader *r, const char *key, const hr_config_value **out, hr_error *err);
HR_API const hr_config_value *hr_config_mapping(const hr_config_reader *r); /* the mapping itself, for hr_config_fail */
HR_API bool hr_config_is_list(const hr_config_value *value);
/* How many items a list has. Kind config.type: the value is no list. */
HR_API hr_status hr_config_items(const hr_config_value *list, int64_t *count, hr_error *err);
HR_API const hr_config_value *hr_config_item(const hr_config_value *list, int64_t i); /* 0 .. count - 1 */
HR_API hr_status hr_config_value_int(const hr_config_value *value, int64_t min, int64_t max, int64_t *out,
                                     hr_error *err);
HR_API hr_status hr_config_value_double(const hr_config_value *value, double *out, hr_error *err);
HR_API hr_status hr_config_value_text(const hr_config_value *value, const char **out, hr_error *err); /* borrows */
/* All bytes of a scalar of any type. Borrows. */
HR_API hr_status hr_config_value_bytes(const hr_config_value *value, hr_view *out, hr_error *err);
/* What follows `word` and a blank in a scalar: "temp" in `column temp`. NULL: it has another form. Borrows. */
HR_API const char *hr_config_after(const hr_config_value *value, const char *word);
/* Fails with HR_INVALID_ARGUMENT, kind config.value. The message begins with the file, line, column and path of the
 * value. */
HR_API hr_status hr_config_fail(const hr_config_value *value, hr_error *err, const char *format, ...) HR_PRINTF(3, 4);
/* Fails with "expected EXPECTED, found ...", kind config.type. */
HR_API hr_status hr_config_expected(const hr_config_value *value, const char *expected, hr_error *err);

/* ---- for read: fields of the schema, and other columns ---- */

/* The type of the field that a scalar names. Kind config.unknown_name: the schema has no such field. */
HR_API hr_status hr_config_field(const hr_config_reader *r, const hr_config_value *name, hr_dtype *dtype,
                                 hr_error *err);
/* The field that a categorical column reads: that of the key `field`, or the one with the column's own name. Borrows
 * *field. Kinds: config.missing_key (neither is given), config.unknown_name, config.value (the schema has a default for
 * the field, which a categorical column does not allow). */
HR_API hr_status hr_config_own_field(const hr_config_reader *r, const char **field, hr_dtype *dtype, hr_error *err);
/* The default of a field, from the section `default` of the schema; NULL: it has none. */
HR_API const hr_config_value *hr_config_field_default(const hr_config_reader *r, const char *field);
/* The column that a scalar names, with or without `column ` before the name. Gives a reference. */
HR_API hr_status hr_config_column(hr_config_reader *r, const hr_config_value *name, hr_feature_column **out,
                                  hr_error *err);
/* The same for a name that is only a part of the scalar, as hr_config_after gives it. `at` is for messages. */
HR_API hr_status hr_config_column_named(hr_config_reader *r, const hr_config_value *at, const char *name,
                                        hr_feature_column **out, hr_error *err);

/* ---- for write: "key: value" pairs of the mapping, in the order of the calls ---- */

/* The first error is kept, and reported when all columns are written. */

HR_API void hr_config_write_text(hr_config_writer *w, const char *key, const char *text); /* quoted if needed */
HR_API void hr_config_write_int(hr_config_writer *w, const char *key, int64_t value);     /* decimal */
HR_API void hr_config_write_uint(hr_config_writer *w, const char *key, uint64_t value);   /* decimal */
HR_API void hr_config_write_float(hr_config_writer *w, const char *key,
                                  float value); /* with just enough digits to read back */
HR_API void hr_config_write_double(hr_config_writer *w, const char *key, double value); /* the same */
HR_API void hr_config_write_bool(hr_config_writer *w, const char *key, bool value);     /* true or false */
/* Lists of numbers. */
HR_API void hr_config_write_ints(hr_config_writer *w, const char *key, const int64_t *values, int64_t count);
HR_API void hr_config_write_floats(hr_config_writer *w, const char *key, const float *values, int64_t count);
HR_API void hr_config_write_shape(hr_config_writer *w, const char *key, hr_shape shape);
/* Writes `field: key`, unless the column's own name in the file is `key`. */
HR_API void hr_config_write_own_field(hr_config_writer *w, const char *key);
/* Writes `dtype`, unless it is int64, float32 or string, which the schema has. */
HR_API void hr_config_write_dtype(hr_config_writer *w, hr_dtype dtype);
/* Writes the name in the file of a column that this one is made of. The second writes "column NAME", for values that
 * may also be the name of a field. */
HR_API void hr_config_write_column(hr_config_writer *w, const char *key, const hr_feature_column *column);
HR_API void hr_config_write_source(hr_config_writer *w, const char *key, const hr_feature_column *column);

/* A list: begin, items, end. */
HR_API void hr_config_begin_list(hr_config_writer *w, const char *key);
HR_API void hr_config_item_text(hr_config_writer *w, hr_view text);
HR_API void hr_config_item_int(hr_config_writer *w, int64_t value);
HR_API void hr_config_item_column(hr_config_writer *w, const hr_feature_column *column); /* NAME */
HR_API void hr_config_item_source(hr_config_writer *w, const hr_feature_column *column); /* "column NAME" */
HR_API void hr_config_end_list(hr_config_writer *w);

/* The first source of the column that is written; if its mapping makes several columns, of each of them. Borrows until
 * the next call. NULL: no memory; *count is then 1. */
HR_API const hr_feature_column *const *hr_config_write_sources(hr_config_writer *w, int *count);
/* Fails because a config file cannot describe this column: "..., got WHAT", kind column.write. */
HR_API void hr_config_write_impossible(hr_config_writer *w, const char *what);

#ifdef __cplusplus
}
#endif
#endif
