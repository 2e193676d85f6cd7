/* One leaf of an Arrow struct array, made out: what its schema says of it, and where the values of a row lie in an
 * array of that schema. Borrows the arrays. An entry is a value as the row lists it; with a dictionary it is a code for
 * a value. */
#ifndef HR_ARROW_COLUMN_H
#define HR_ARROW_COLUMN_H

#include <headrace/arrow.h>
#include <headrace/base.h>

enum { HR__ARROW_DEPTH = 8 /* structs in structs */ };

/* How values lie in an array. */
typedef enum hr__arrow_form {
    HR__ARROW_FIXED, /* side by side */
    HR__ARROW_BITS,
    HR__ARROW_STRINGS, /* offsets of 32 bits, and bytes */
    HR__ARROW_LARGE_STRINGS,
    HR__ARROW_BYTES, /* strings of `size` bytes each */
    HR__ARROW_VIEWS, /* 16 bytes each: short ones lie in there, others in one of several buffers */
    HR__ARROW_NOTHING,
} hr__arrow_form;

typedef struct hr__arrow_values {
    const char *format;
    hr__arrow_form form;
    hr_dtype dtype; /* HR_INVALID_DTYPE: all are null */
    int64_t size;
} hr__arrow_values;

/* How many values a row has, and where they begin. */
typedef enum hr__arrow_list {
    HR__ARROW_SCALAR,
    HR__ARROW_FIXED_LIST,
    HR__ARROW_LIST, /* offsets of 32 bits */
    HR__ARROW_LARGE_LIST,
    HR__ARROW_LIST_VIEW, /* offsets and sizes */
    HR__ARROW_LARGE_LIST_VIEW,
} hr__arrow_list;

typedef struct hr__arrow_type {
    const char *name, *format; /* of the rows */
    int64_t path[HR__ARROW_DEPTH];
    int depth; /* which child of which child: what leads to the leaf */
    hr__arrow_list list;
    int64_t width; /* values a row; -1: any number */
    hr__arrow_values values;
    bool coded;             /* `values` are a dictionary's; */
    hr__arrow_values codes; /* codes for them are what rows list */
} hr__arrow_type;

/* The type of `schema`; *out has name, path and depth already, and borrows. HR_INVALID_ARGUMENT: one that is not
 * read. */
hr_status hr__arrow_type_of(const struct ArrowSchema *schema, hr__arrow_type *out, hr_error *err);
/* Values of a type can become `dtype`, if they fit. */
bool hr__arrow_converts(const hr__arrow_type *type, hr_dtype dtype);

typedef struct hr__arrow_column {
    const hr__arrow_type *type;
    const struct ArrowArray *rows, *entries,
        *values; /* entries are rows unless those are lists, values entries unless coded */
    struct {
        const uint8_t *valid; /* NULL: all */
        int64_t offset;       /* of all the structs down to here */
    } parent[HR__ARROW_DEPTH];
    bool plain; /* fixed width, numbers, no nulls: rows lie side by side */
} hr__arrow_column;

/* The leaf of `table`. HR_INVALID_ARGUMENT: an array that does not fit its type. */
hr_status hr__arrow_column_open(const hr__arrow_type *type, const struct ArrowArray *table, hr__arrow_column *out,
                                hr_error *err);

/* The entries of a row; *count is -1 where the row is null. False: offsets that do not rise, or leave the entries. */
bool hr__arrow_row(const hr__arrow_column *c, int64_t row, int64_t *first, int64_t *count);
/* The values of a row of a plain column; those of later rows follow. */
const void *hr__arrow_plain(const hr__arrow_column *c, int64_t row);

typedef enum hr__arrow_found { HR__ARROW_VALUE, HR__ARROW_NULL, HR__ARROW_NO_CODE } hr__arrow_found;
/* The value that an entry stands for. HR__ARROW_NO_CODE: the dictionary has none of that number. */
hr__arrow_found hr__arrow_find(const hr__arrow_column *c, int64_t entry, int64_t *value);

/* A number as one of `dtype`. False: it does not fit; *to is 0 then. */
bool hr__arrow_number(const hr__arrow_column *c, int64_t value, hr_dtype dtype, void *to);
/* False: it leaves the bytes. */
bool hr__arrow_string(const hr__arrow_column *c, int64_t value, hr_view *out);

#endif
