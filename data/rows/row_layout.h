/* Row layout: all values of a row side by side, each number in as few bytes as the rows around it need. Rows that are
 * drawn one by one in a random order, or cached for later epochs, lie like this: a row is a cache line or two, where
 * by column it is a line for each value, and an id below 32768 takes 2 bytes instead of 8.
 *
 * A layout says where things are in a row, all rows being of one size: the origin if there is one, then counts, then
 * values. Layouts grow: one that serves new rows serves those before as well, so rows of one place soon share one.
 *
 * Strings are views of 16 bytes. Where the bytes of a string lie beside its row, the view may be near: how far they are
 * from the row's start, and their size, in 4 bytes or 8. */
#ifndef HR_ROW_LAYOUT_H
#define HR_ROW_LAYOUT_H

#include <headrace/op.h>

typedef struct hr__row_slot {
    uint32_t at;       /* of its values in a row */
    uint32_t count_at; /* counted: of the byte that says how many there are */
    uint32_t capacity; /* the most values that a row has */
    uint8_t width;     /* bytes of a value in the row ... */
    uint8_t value;     /* ... and in a column */
    bool varies, counted;
} hr__row_slot;

enum { HR__ORIGIN_PARTS = 3 };

typedef struct hr__row_layout {
    struct hr__row_layout *older;
    uint32_t size; /* of a row */
    bool origins;  /* each begins with one: its file, record and offset are numbers as others are */
    int slots;     /* one a field */
    hr__row_slot origin[HR__ORIGIN_PARTS];
    hr__row_slot slot[];
} hr__row_layout;

/* The layouts of one place, the newest first. Its owner guards it. */
typedef struct hr__row_layouts {
    hr__row_layout *newest;
} hr__row_layouts;

size_t hr__row_layout_bytes(int fields);
/* What these rows need, into `form` of that many bytes. False: such rows have no row layout (batches, sparse places,
 * long or uneven lists). */
bool hr__row_layout_measure(const hr_columns *rows, hr__row_layout *form);
/* Such rows have views of `width` bytes, 4 or 8. The data of those in their columns is then no pointer, but the distance
 * from the row's start; this and the size must fit in half of the width. */
void hr__row_layout_near(hr__row_layout *need, const hr_schema *schema, int width);
/* These layouts may serve such rows as well: they have as many fields, of values and rows of the same sizes. */
bool hr__row_layouts_fit(const hr__row_layouts *forms, const hr__row_layout *need);
/* The newest layout, or a further one, that serves what `need` does; lives as long as `forms`. NULL: no memory. */
const hr__row_layout *hr__row_layouts_join(hr__row_layouts *forms, const hr__row_layout *need);
void hr__row_layouts_clear(hr__row_layouts *forms);

/* Writes `rows`, which the layout serves: form->size bytes each. Strings go as views, or near views. */
void hr__columns_to_row_layout(const hr_columns *rows, const hr__row_layout *form, char *to);
/* The same of `count` of them, at most HR__LAID_BLOCK. */
enum { HR__LAID_BLOCK = 64 };
void hr__some_to_row_layout(const hr_columns *rows, const hr__row_layout *form, int64_t first, int64_t count, char *to);

/* Rows of one layout, and which row of a unit each becomes. */
typedef struct hr__laid_rows {
    const hr__row_layout *form;
    const char **laid;
    int32_t *row;
    int64_t count;
} hr__laid_rows;

/* How many values field `i` has in all of them. */
int64_t hr__laid_rows_count(const hr__laid_rows *set, int64_t sets, int i);
/* Field `i` has one value in every row. */
bool hr__laid_rows_have_one(const hr__laid_rows *set, int64_t sets, int i);
/* Fills in the splits of field `i`, of `rows` rows in all. */
void hr__laid_rows_splits(const hr__laid_rows *set, int64_t sets, int i, int64_t rows, int32_t *splits);
/* Fills in the values of all columns, whose splits are there, and `origin`, if that is wanted. Columns that vary
 * have space for one value more. */
void hr__laid_rows_to_columns(const hr__laid_rows *set, int64_t sets, hr_column *column, hr_origin *origin);

/* For plan, instead of hr_unit_rows: the unit's rows are `count` rows in row layout, which outlive them. NULL: no
 * memory. */
hr_columns *hr__unit_laid_rows(hr_plan *p, const hr__row_layout *form, const char *laid, int64_t count);

#endif
