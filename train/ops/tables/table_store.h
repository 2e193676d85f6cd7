/* What a lookup table holds: keys that are int32, int64 or string, and a row of values for each. */
#ifndef HR_TABLE_STORE_H
#define HR_TABLE_STORE_H

#include <headrace/kernels.h>

/* What a table is of. */
typedef struct hr__table_type {
    hr_dtype key, value;
    hr_shape row; /* of the values of one key */
    bool fixed;   /* filled once, by an initializer; else changed at will */
} hr__table_type;

typedef struct hr__table_slot {
    uint32_t tag, row; /* the upper half of the key's hash; 1 + the row, 0: free */
} hr__table_slot;

/* Begins zeroed. Rows stand in the order in which they came, until one is removed. */
typedef struct hr__table {
    hr__table_type type;
    bool initialized; /* of a fixed one */
    hr__table_slot *slots;
    uint64_t mask; /* slots - 1; 0: none yet */
    void *keys;    /* hr_view or int64_t */
    char *values;
    int64_t count, capacity, width; /* width: values of a row */
    size_t value_size;
    struct hr__table_text *texts; /* of a fixed one: where its strings lie. Others own each string */
} hr__table;

/* A key on its way, with its hash. */
typedef struct hr__table_key {
    hr_view text;
    int64_t number;
    uint64_t hash;
} hr__table_key;

void hr__table_begin(hr__table *t, const hr__table_type *type);
void hr__table_clear(hr__table *t); /* drops all it holds; its type stays */
/* Memory for strings that a fixed table shall hold; freed with it. NULL: no memory. */
char *hr__table_text_space(hr__table *t, size_t size);
hr_status hr__table_reserve(hr__table *t, int64_t rows, hr_error *err);
hr__table_key hr__table_key_of(hr_dtype dtype, const void *keys, int64_t i); /* of a tensor's data */
int64_t hr__table_find(const hr__table *t, const hr__table_key *key);        /* the row; -1: none */
static inline void hr__table_prefetch(const hr__table *t, uint64_t hash)
{
    if (t->mask) __builtin_prefetch(&t->slots[hash & t->mask]);
}
/* Adds a row, whose values are laid out as in a tensor. Of a key that is there: `replace` its values, or else leave
 * them if they are the same, and fail, "table.duplicate", if they are not. A fixed table keeps the views of strings
 * (hr__table_text_space), others copy them. */
hr_status hr__table_put(hr__table *t, const hr__table_key *key, const void *values, bool replace, hr_error *err);
void hr__table_remove(hr__table *t, const hr__table_key *key);
static inline size_t hr__table_row_size(const hr__table *t) { return (size_t)t->width * t->value_size; }
/* Fills a fixed table with what `from` holds, which is left empty. If it is filled, it must hold the same, else
 * "table.initialized". */
hr_status hr__table_initialize(hr__table *t, hr__table *from, hr_error *err);

/* ---- table_file.c ---- */

enum { HR__WHOLE_LINE = -2, HR__LINE_NUMBER = -1 };

/* What of each line of a text file is key and value: a column, the whole line, or its number + offset. */
typedef struct hr__table_lines {
    int64_t key, value, vocab_size, offset; /* vocab_size -1: all lines */
    char delimiter;
} hr__table_lines;
/* "table.type": the table's types do not fit that. */
hr_status hr__table_check_lines(const hr__table_type *type, const hr__table_lines *lines, hr_error *err);
/* Fills a fixed table that is empty. */
hr_status hr__table_read(hr__table *t, const char *path, const hr__table_lines *lines, hr_error *err);

#endif
