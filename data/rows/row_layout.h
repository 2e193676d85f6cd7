/* Rows as records: all values of a row side by side, each number in as few bytes as the rows around it need. Rows that
 * are drawn one here, one there, or kept for later epochs, lie like this: a row is a cache line or two, where by column
 * it is a line for each value, and an id below 32768 takes 2 bytes instead of 8.
 *
 * A form says where things are in a record, all of one size: the origin if there is one, then counts, then values.
 * Forms grow: one that serves new rows serves those before as well, so rows of one place soon share one. */
#ifndef HR_ROW_RECORDS_H
#define HR_ROW_RECORDS_H

#include <headrace/op.h>

typedef struct hr__record_slot {
    uint32_t at;       /* of its values in a record */
    uint32_t count_at; /* counted: of the byte that says how many there are */
    uint32_t most;     /* how many there is room for */
    uint8_t width;     /* bytes of a value in the record ... */
    uint8_t value;     /* ... and in a column */
    bool varies, counted;
} hr__record_slot;

typedef struct hr__record_form {
    struct hr__record_form *older;
    uint32_t size; /* of a record */
    bool origins;  /* each begins with one */
    int slots;     /* one a field */
    hr__record_slot slot[];
} hr__record_form;

/* The forms of one place, the newest first. Its owner guards it. */
typedef struct hr__record_forms {
    hr__record_form *newest;
} hr__record_forms;

size_t hr__record_form_bytes(int fields);
/* What these rows need, into `form` of that many bytes. False: such rows are no records (batches, sparse places, long
 * or uneven lists). */
bool hr__record_form_measure(const hr_columns *rows, hr__record_form *form);
/* The newest form, or a further one, that serves what `need` does; lives as long as `forms`. NULL: no memory. */
const hr__record_form *hr__record_forms_join(hr__record_forms *forms, const hr__record_form *need);
void hr__record_forms_clear(hr__record_forms *forms);

/* Writes `rows`, which the form serves: form->size bytes each. Strings go as views. */
void hr__columns_to_records(const hr_columns *rows, const hr__record_form *form, char *to);

/* Records of one form, and which row each becomes. */
typedef struct hr__record_set {
    const hr__record_form *form;
    const char **record;
    int32_t *row;
    int64_t count;
} hr__record_set;

/* How many values field `i` has in all of them. */
int64_t hr__records_count(const hr__record_set *set, int64_t sets, int i);
/* Field `i` has one value in every row. */
bool hr__records_have_one(const hr__record_set *set, int64_t sets, int i);
/* Fills in the splits of field `i`, of `rows` rows in all. */
void hr__records_splits(const hr__record_set *set, int64_t sets, int i, int64_t rows, int32_t *splits);
/* Fills in the values of all columns, whose splits are there, and `origin`, if that is wanted. Of columns that vary
 * there is room for one value more. */
void hr__records_to_columns(const hr__record_set *set, int64_t sets, hr_column *column, hr_origin *origin);

/* For plan, instead of hr_unit_rows: the unit's rows are `count` records, which outlive them. NULL: no memory. */
hr_columns *hr__unit_records(hr_plan *p, const hr__record_form *form, const char *record, int64_t count);

#endif
