/* The column kit, part three: how a column is said in a config file (docs/config.md).
 *
 *     columns:
 *       pickup: {hour_of_day: time, seconds_east: -18000}
 *
 * A kind says with an hr_column_config which word begins its mapping, which keys the mapping may have, and how a column
 * is read from it and written into it. hr_column_kind_register makes the word known. What is written must read back as
 * an equal column: the tests of the library's kinds hold that, and a test of yours should. */
#ifndef HR_COLUMN_CONFIG_H
#define HR_COLUMN_CONFIG_H

#include <headrace/column.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hr_config_reader hr_config_reader; /* the mapping of one column, while it is read */
typedef struct hr_config_writer hr_config_writer; /* the same, while it is written */
/* A value in the file: a scalar, a list or a mapping. Lives as long as the call that it is read in. */
typedef struct hr__node hr_config_value;

enum { HR_COLUMN_CONFIG_ABI = 1 /* the version of this header */ };
#define HR_COLUMN_CONFIG_HEAD                                                                                          \
    {                                                                                                                  \
        HR_COLUMN_CONFIG_ABI, sizeof(hr_column_config)                                                                 \
    }

/* How config files say the columns of a kind. */
typedef struct hr_column_config {
    hr_column_head head;     /* HR_COLUMN_CONFIG_HEAD */
    const char *word;        /* the key that tells the kind: "hour_of_day" */
    const char *const *keys; /* all keys that the mapping may have, the word among them; ends with NULL */
    /* Makes the column of a mapping that has the key `word`. Gives *out, which may have failed: its error then gets the
     * place in the file. */
    hr_status (*read)(hr_config_reader *r, hr_feature_column **out, hr_error *err);
    /* Says, pair by pair, the mapping that makes the column. NULL: it cannot be written. */
    void (*write)(hr_config_writer *w, const hr_feature_column *column);
    /* How many columns the mapping makes, all of which `read` puts into `out`; NULL: one. */
    int64_t (*columns)(const hr_config_reader *r);
} hr_column_config;

/* ---- for read: by key. Where the key is missing, or its value is null, *out stays what it is ---- */

/* What the column is called in the file; NULL: it stands in a list and has no name. Borrows. */
HR_API const char *hr_config_name(const hr_config_reader *r);
/* Kinds: config.type for another kind of value, config.value for a number outside of min .. max. */
HR_API hr_status hr_config_int(const hr_config_reader *r, const char *key, int64_t min, int64_t max, int64_t *out,
                               hr_error *err);
HR_API hr_status hr_config_uint(const hr_config_reader *r, const char *key, uint64_t *out, hr_error *err);
HR_API hr_status hr_config_double(const hr_config_reader *r, const char *key, double *out, hr_error *err);
HR_API hr_status hr_config_bool(const hr_config_reader *r, const char *key, bool *out, hr_error *err);
HR_API hr_status hr_config_text(const hr_config_reader *r, const char *key, const char **out, hr_error *err);
/* The place of the scalar among `count` names. `what` is the word for them in the error: config.unknown_name. */
HR_API hr_status hr_config_choice(const hr_config_reader *r, const char *key, const char *what,
                                  const char *const *names, int64_t count, int64_t *out, hr_error *err);
HR_API hr_status hr_config_dtype(const hr_config_reader *r, hr_dtype *out, hr_error *err); /* key `dtype` */
/* A number, or a list of one to eight numbers. */
HR_API hr_status hr_config_shape(const hr_config_reader *r, const char *key, hr_shape *out, hr_error *err);

/* ---- for read: values ---- */

HR_API const hr_config_value *hr_config_get(const hr_config_reader *r, const char *key); /* NULL: it is missing */
/* The same; a missing one fails: config.missing_key. */
HR_API hr_status hr_config_need(const hr_config_reader *r, const char *key, const hr_config_value **out, hr_error *err);
HR_API const hr_config_value *hr_config_mapping(const hr_config_reader *r); /* the mapping itself, for errors */
HR_API bool hr_config_is_list(const hr_config_value *value);
/* The items of a list; config.type: it is none. */
HR_API hr_status hr_config_items(const hr_config_value *list, int64_t *count, hr_error *err);
HR_API const hr_config_value *hr_config_item(const hr_config_value *list, int64_t i); /* 0 .. count - 1 */
HR_API hr_status hr_config_value_int(const hr_config_value *value, int64_t min, int64_t max, int64_t *out,
                                     hr_error *err);
HR_API hr_status hr_config_value_double(const hr_config_value *value, double *out, hr_error *err);
HR_API hr_status hr_config_value_text(const hr_config_value *value, const char **out, hr_error *err); /* borrows */
/* Any scalar with all of its bytes. Borrows. */
HR_API hr_status hr_config_value_bytes(const hr_config_value *value, hr_view *out, hr_error *err);
/* What stands after `word` and a blank in a scalar: "temp" of `column temp`; NULL: something else. Borrows. */
HR_API const char *hr_config_after(const hr_config_value *value, const char *word);
/* Fails with HR_INVALID_ARGUMENT, kind config.value, and the file, line, column and path of the value before the
 * text. */
HR_API hr_status hr_config_fail(const hr_config_value *value, hr_error *err, const char *format, ...) HR_PRINTF(3, 4);
/* Fails with "expected EXPECTED, found ...": config.type. */
HR_API hr_status hr_config_expected(const hr_config_value *value, const char *expected, hr_error *err);

/* ---- for read: fields of the schema, and other columns ---- */

/* The type of the field that a scalar names; a field that the schema lacks is refused: config.unknown_name. */
HR_API hr_status hr_config_field(const hr_config_reader *r, const hr_config_value *name, hr_dtype *dtype,
                                 hr_error *err);
/* The field that a categorical column reads: that of the key `field`, or of the column's own name. Borrows *field. */
HR_API hr_status hr_config_own_field(const hr_config_reader *r, const char **field, hr_dtype *dtype, hr_error *err);
/* What the schema's section `default` says of a field; NULL: nothing. */
HR_API const hr_config_value *hr_config_field_default(const hr_config_reader *r, const char *field);
/* The column that a scalar names, with or without `column ` before the name. Gives a reference. */
HR_API hr_status hr_config_column(hr_config_reader *r, const hr_config_value *name, hr_feature_column **out,
                                  hr_error *err);
/* The same for a name that is only a part of the scalar, such as hr_config_after gives it. */
HR_API hr_status hr_config_column_named(hr_config_reader *r, const hr_config_value *at, const char *name,
                                        hr_feature_column **out, hr_error *err);

/* ---- for write: "key: value" pairs of the mapping, in the order of the calls. What goes wrong sticks ---- */

HR_API void hr_config_write_text(hr_config_writer *w, const char *key, const char *text); /* quoted where need be */
HR_API void hr_config_write_int(hr_config_writer *w, const char *key, int64_t value);     /* decimal */
HR_API void hr_config_write_uint(hr_config_writer *w, const char *key, uint64_t value);   /* decimal */
HR_API void hr_config_write_float(hr_config_writer *w, const char *key, float value);   /* as few digits as read back */
HR_API void hr_config_write_double(hr_config_writer *w, const char *key, double value); /* the same */
HR_API void hr_config_write_bool(hr_config_writer *w, const char *key, bool value);     /* true or false */
/* Lists of numbers. */
HR_API void hr_config_write_ints(hr_config_writer *w, const char *key, const int64_t *values, int64_t count);
HR_API void hr_config_write_floats(hr_config_writer *w, const char *key, const float *values, int64_t count);
HR_API void hr_config_write_shape(hr_config_writer *w, const char *key, hr_shape shape);
/* `field: key`, where the column's own name in the file is another. */
HR_API void hr_config_write_own_field(hr_config_writer *w, const char *key);
/* `dtype`, where a schema cannot say it. */
HR_API void hr_config_write_dtype(hr_config_writer *w, hr_dtype dtype);
/* The name in the file of a column that this one is made of; the second writes "column NAME", for where a field's name
 * could stand as well. */
HR_API void hr_config_write_column(hr_config_writer *w, const char *key, const hr_feature_column *column);
HR_API void hr_config_write_source(hr_config_writer *w, const char *key, const hr_feature_column *column);

/* A list: begin, items, end. */
HR_API void hr_config_begin_list(hr_config_writer *w, const char *key);
HR_API void hr_config_item_text(hr_config_writer *w, hr_view text);
HR_API void hr_config_item_int(hr_config_writer *w, int64_t value);
HR_API void hr_config_item_column(hr_config_writer *w, const hr_feature_column *column); /* NAME */
HR_API void hr_config_item_source(hr_config_writer *w, const hr_feature_column *column); /* "column NAME" */
HR_API void hr_config_end_list(hr_config_writer *w);

/* The first source of the column that is written, and of each column that its mapping makes together with it. Borrows
 * until the next call; NULL: no memory, and *count is 1. */
HR_API const hr_feature_column *const *hr_config_write_sources(hr_config_writer *w, int *count);
/* A config file cannot say this column: "..., got WHAT", kind column.write. */
HR_API void hr_config_write_impossible(hr_config_writer *w, const char *what);

#ifdef __cplusplus
}
#endif
#endif
