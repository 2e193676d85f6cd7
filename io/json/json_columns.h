/* Objects of JSON lines as rows of typed columns: a member is the value of the column that its key names. The tokens are
 * json_reader.h's. Not a public header. */
#ifndef HR_JSON_COLUMNS_H
#define HR_JSON_COLUMNS_H

#include "io/json/json_reader.h"
#include <headrace/columns.h>
#include <headrace/io.h>

/* A column: its arguments, checked and copied. */
typedef struct hr__json_column {
    char *name;
    hr_dtype dtype;
    size_t width; /* of one value */
    hr_csv_time time;
    hr_shape shape; /* of a row: all dimensions known, or one that varies, a list */
    int64_t count;  /* values of a row; -1: a list */
    bool has_default;
    char *fill; /* `count` values: the default, or zeros and empty strings; NULL of a list */
    char *text; /* bytes of the default's strings */
} hr__json_column;

typedef struct hr__json_format {
    hr__json_column *column;
    int columns;
    int *by_name; /* their numbers, sorted by name */
    bool keep_missing;
} hr__json_format;

/* Adds a column to a format with space for it; refuses wrong arguments. Kinds: json.columns, json.dtype, json.default. */
hr_status hr__json_format_add(hr__json_format *format, const char *name, hr_dtype dtype, hr_csv_time time,
                              hr_shape shape, const hr_tensor *default_value, hr_error *err);
/* After the last column: finds two of one name. */
hr_status hr__json_format_finish(hr__json_format *format, hr_error *err);
void hr__json_format_clear(hr__json_format *format);

/* Where the values go. */
typedef struct hr__json_sink {
    hr_column *column; /* one a column of the format; values have space for all rows, lists have splits[0] */
    int64_t rows;      /* of this space */
    void *(*bytes)(size_t size, void *user);             /* memory that lives as long as the rows; NULL: none */
    void *(*text)(size_t size, void *user);              /* the same for strings alone */
    bool (*grow)(int column, int64_t count, void *user); /* space for so many values of a list; false: no memory */
    void *user;
    uint64_t *seen;   /* a bit a column, scratch */
    hr__text scratch; /* freed by the caller */
} hr__json_sink;

/* Reads the line that `r` begins, an object and nothing else, into row `row`. Rows are read in order; one may be read
 * again until the next one is. Strings point into the line, unless they had escapes. Kinds: json.*; HR_RESOURCE_EXHAUSTED:
 * no memory. */
hr_status hr__json_read_row(const hr__json_format *format, hr__json_reader *r, int64_t row, hr__json_sink *sink,
                            hr_error *err);
/* Puts zeros, empty strings and empty lists there: of a row that is left out. */
void hr__json_clear_row(const hr__json_format *format, int64_t row, hr__json_sink *sink);

#endif
