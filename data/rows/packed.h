/* Rows in one piece of memory, column by column: what cache and snapshot keep. The same bytes lie in memory and, after
 * a checksum, in files, so they are checked when they are opened and then taken at their word. Numbers are
 * little-endian. */
#ifndef HR_PACKED_H
#define HR_PACKED_H

#include <headrace/op.h>

typedef struct hr__packed_column {
    int depth; /* of splits; 0: the same number of values in every row */
    const int32_t *splits[HR_MAX_RAGGED];
    const uint64_t *present; /* NULL: all */
    const int64_t *inner;    /* NULL: 0, 1, 2, ... */
    int64_t count, dense_width;
    int width;            /* bytes of a value here, which may be fewer than its type has */
    const char *values;   /* of strings: their bytes, side by side */
    const uint32_t *ends; /* of strings: where each begins in them, and the end of the last one */
} hr__packed_column;

typedef struct hr__packed {
    void *own; /* NULL: its memory is somebody else's */
    const char *bytes;
    size_t size;
    int64_t elements, rows;
    int levels;
    const int32_t *splits[HR_MAX_LEVELS];
    const hr_origin *origin; /* NULL: not kept */
    hr__packed_column *column;
} hr__packed;

/* Copies all of `rows`, their origins as well if `origins`. Gives *out (hr__packed_clear). */
hr_status hr__pack(const hr_columns *rows, bool origins, hr__packed *out, hr_error *err);
/* Borrows `bytes`, whoever wrote them, and `column`, one for each field: HR_DATA_LOSS if they are not rows of
 * `schema`. */
hr_status hr__packed_open(const char *bytes, size_t size, const hr_schema *schema, hr__packed_column *column,
                          hr__packed *out, hr_error *err);
void hr__packed_clear(hr__packed *packed);

/* Where the rows of each element begin, and the last one's end: gives elements + 1 numbers (hr_free). NULL: no
 * memory. */
int32_t *hr__packed_first_rows(const hr__packed *packed);
/* For work: fills in the elements from `first` on, as many as `rows` has. Strings point into what was packed. */
hr_status hr__packed_fill(const hr__packed *packed, int64_t first, hr_work *w, hr_columns *rows, hr_error *err);

#endif
