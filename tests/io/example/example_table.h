/* Memory for what the tf.Example reader makes, and a small writer of Examples in every encoding, for the tests of the
 * reader and its fuzz target. */
#ifndef EXAMPLE_TABLE_H
#define EXAMPLE_TABLE_H

#include "io/example/example_reader.h"
#include <stdlib.h>
#include <string.h>

enum { TABLE_SLOTS = 80, TABLE_ROWS = 160 /* beyond the verdict on their order */ };

/* Columns of TABLE_ROWS rows for the slots of a parser. */
typedef struct table {
    hr__example_rows rows;
    hr__example_column column[TABLE_SLOTS];
    const hr__example_feature *feature;
    int slots;
} table;

static hr_status table_grow(hr__example_rows *rows, int slot, int64_t capacity, hr_error *err)
{
    table *t = rows->user;
    size_t size = hr_dtype_size(t->feature[slot].dtype);
    void *values = realloc(rows->column[slot].values, (size_t)capacity * size);
    if (!values) return hr_no_memory(err, "a list");
    rows->column[slot].values = values;
    rows->column[slot].capacity = capacity;
    return HR_OK;
}

static void table_open(table *t, const hr__example_feature *features, int count)
{
    *t = (table){.feature = features, .slots = count};
    t->rows = (hr__example_rows){.column = t->column, .grow = table_grow, .user = t};
    for (int i = 0; i < count; i++) {
        hr__example_column *c = &t->column[i];
        size_t size = hr_dtype_size(features[i].dtype);
        if (features[i].count >= 0)
            c->values = calloc(TABLE_ROWS * (size_t)features[i].count + 1, size);
        else
            c->splits = calloc(TABLE_ROWS + 1, sizeof *c->splits);
    }
}

static void table_close(table *t)
{
    for (int i = 0; i < t->slots; i++) {
        free(t->column[i].values);
        free(t->column[i].splits);
    }
}

static bool same_values(hr_dtype dtype, const void *a, const void *b, int64_t count)
{
    if (dtype != HR_STRING) return count == 0 || memcmp(a, b, (size_t)count * hr_dtype_size(dtype)) == 0;
    const hr_view *x = a, *y = b;
    for (int64_t i = 0; i < count; i++)
        if (x[i].size != y[i].size || (x[i].size && memcmp(x[i].data, y[i].data, (size_t)x[i].size) != 0)) return false;
    return true;
}

/* Row `row` of slot `slot` is the same in both. */
static inline bool same_cell(const table *a, const table *b, int slot, int64_t row)
{
    const hr__example_feature *f = &a->feature[slot];
    const hr__example_column *x = &a->column[slot], *y = &b->column[slot];
    int64_t first = row * f->count, count = f->count, other = first;
    if (f->count < 0) {
        first = x->splits[row], other = y->splits[row];
        count = x->splits[row + 1] - first;
        if (y->splits[row + 1] - other != count) return false;
    }
    size_t size = hr_dtype_size(f->dtype);
    if (count == 0) return true;
    return same_values(f->dtype, (char *)x->values + (size_t)first * size, (char *)y->values + (size_t)other * size,
                       count);
}

static inline bool same_row(const table *a, const table *b, int64_t row)
{
    for (int i = 0; i < a->slots; i++)
        if (!same_cell(a, b, i, row)) return false;
    return true;
}

/* ---- writing, any encoding ---- */

typedef struct wire {
    uint8_t bytes[1 << 14];
    size_t size;
} wire;

static inline void put_byte(wire *w, unsigned b)
{
    if (w->size + 65 < sizeof w->bytes) w->bytes[w->size++] = (uint8_t)b;
}
static inline void put_bytes(wire *w, const void *data, size_t size)
{
    for (size_t i = 0; i < size; i++) put_byte(w, ((const uint8_t *)data)[i]);
}
static inline void put_number(wire *w, uint64_t v)
{
    for (; v >= 128; v >>= 7) put_byte(w, (unsigned)(v & 127) | 128);
    put_byte(w, (unsigned)v);
}
static inline void put_message(wire *w, unsigned tag, const wire *message)
{
    put_byte(w, tag);
    put_number(w, message->size);
    put_bytes(w, message->bytes, message->size);
}
static inline void put_text(wire *w, unsigned tag, const char *text)
{
    put_byte(w, tag);
    put_number(w, strlen(text));
    put_bytes(w, text, strlen(text));
}
/* A map entry of key and Feature. */
static inline void put_entry(wire *features, const char *key, const wire *feature)
{
    static wire entry;
    entry.size = 0;
    put_text(&entry, 0x0a, key);
    put_message(&entry, 0x12, feature);
    put_message(features, 0x0a, &entry);
}

#endif
