/* One child of an Arrow struct array, made out: what type its values have, and where those of a row lie. Borrows the
 * arrays. Numbers of values count from the start of the buffers. */
#ifndef HR_ARROW_COLUMN_H
#define HR_ARROW_COLUMN_H

#include <headrace/arrow.h>
#include <headrace/base.h>

typedef struct hr__arrow_column {
    const char *name;
    hr_dtype dtype;
    int64_t width;                          /* values a row; -1: a list of any length */
    bool wide, wide_strings;                /* offsets of lists, of strings have 64 bits */
    bool plain;                             /* fixed width, numbers, no nulls: rows lie side by side */
    const struct ArrowArray *rows, *values; /* the same unless rows are lists */
    const uint8_t *table_valid;             /* the struct array's own bits, and where it begins */
    int64_t table_offset;
} hr__arrow_column;

/* Number `child` of `array`. HR_INVALID_ARGUMENT: a type that is not read, or arrays that do not fit their schema. */
hr_status hr__arrow_column_open(const struct ArrowSchema *schema, const struct ArrowArray *array, int64_t child,
                                hr__arrow_column *out, hr_error *err);

/* The values of a row; *count is -1 where the row is null. False: offsets that do not rise, or leave the values. */
bool hr__arrow_row(const hr__arrow_column *c, int64_t row, int64_t *first, int64_t *count);
bool hr__arrow_is_null(const hr__arrow_column *c, int64_t value);
/* `plain`: the values of a row and those behind it. */
const void *hr__arrow_plain(const hr__arrow_column *c, int64_t row);

bool hr__arrow_converts(hr_dtype from, hr_dtype to);
/* A number as one of `dtype`. False: it does not fit; *to is 0 then. */
bool hr__arrow_number(const hr__arrow_column *c, int64_t value, hr_dtype dtype, void *to);
/* False: offsets that do not rise. */
bool hr__arrow_string(const hr__arrow_column *c, int64_t value, hr_view *out);

#endif
