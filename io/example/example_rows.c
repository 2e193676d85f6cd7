/* See example_rows.h. A feature of one value is
 *
 *     0a ENTRY 0a KEY key.. 12 FEATURE kind LIST 0a VALUE value..
 *
 * where the words in capitals are lengths. As long as all of them are below 128 they are one byte each, and the whole
 * text before the value is a template. A string has no packed list: 0a VALUE is its own tag and length. */
#include "io/example/example_rows.h"
#include "io/example/example_wire.h"
#include <stdlib.h>

enum { BLOCK = 32 };

typedef struct template
{
    int column;
    hr_dtype dtype;
    char *key;
    size_t key_size;
    size_t size;       /* of what is before the value */
    char bytes[BLOCK]; /* if `small` */
    bool small;        /* fits, and only a long string makes a length of two bytes */
}
template;

struct hr__row_writer {
    template *t; /* sorted by key */
    int count;
    size_t capacity;
};

static int compare_keys(const void *a, const void *b)
{
    const template *x = a, *y = b;
    size_t n = x->key_size < y->key_size ? x->key_size : y->key_size;
    int order = memcmp(x->key, y->key, n);
    return order ? order : (x->key_size > y->key_size) - (x->key_size < y->key_size);
}

static int kind_tag(hr_dtype dtype)
{
    return dtype == HR_STRING ? HR__TAG_1 : dtype == HR_FLOAT || dtype == HR_DOUBLE ? HR__TAG_2 : HR__TAG_3;
}

/* The lengths are those of a value of no bytes: a row puts in its own. */
static void fill_in(template *t)
{
    t->size = 4 + t->key_size + 6;
    t->small = t->size <= BLOCK;
    if (!t->small) return;
    char *p = hr__put_head(t->bytes, HR__TAG_1, t->key_size + 8);
    p = hr__put_head(p, HR__TAG_1, t->key_size);
    memcpy(p, t->key, t->key_size);
    p = hr__put_head(p + t->key_size, HR__TAG_2, 4);
    p = hr__put_head(p, kind_tag(t->dtype), 2);
    hr__put_head(p, HR__TAG_1, 0);
}

hr_status hr__row_writer_new(const hr_field *fields, int count, hr__row_writer **out, hr_error *err)
{
    hr__row_writer *w = hr_calloc(1, sizeof *w);
    *out = NULL;
    if (!w || !(w->t = hr_calloc((size_t)count + 1, sizeof *w->t))) {
        hr_free(w);
        return hr_no_memory(err, "a writer of examples");
    }
    w->capacity = 1 + HR__MAX_VARINT + BLOCK;
    for (; w->count < count; w->count++) {
        template *t = &w->t[w->count];
        t->column = w->count;
        t->dtype = fields[w->count].dtype;
        t->key = hr_strdup(fields[w->count].name);
        if (!t->key) {
            hr__row_writer_free(w);
            return hr_no_memory(err, "a writer of examples");
        }
        t->key_size = strlen(t->key);
        fill_in(t);
        w->capacity += t->key_size + BLOCK + 5 * (1 + HR__MAX_VARINT);
    }
    qsort(w->t, (size_t)w->count, sizeof *w->t, compare_keys);
    *out = w;
    return HR_OK;
}

void hr__row_writer_free(hr__row_writer *w)
{
    if (!w) return;
    for (int i = 0; i < w->count; i++) hr_free(w->t[i].key);
    hr_free(w->t);
    hr_free(w);
}

size_t hr__row_writer_capacity(const hr__row_writer *w) { return w->capacity; }

/* Gives where the value goes: after the template, whose lengths are filled in. */
static inline char *put_template(const template *t, char *p, size_t size)
{
    memcpy(p, t->bytes, BLOCK);
    char *value = p + t->size;
    p[1] = (char)(t->key_size + 8 + size);
    value[-5] = (char)(4 + size);
    value[-3] = (char)(2 + size);
    value[-1] = (char)size;
    return value;
}

/* All before the `list` bytes of a list. */
static char *put_entry(const template *t, char *p, size_t list)
{
    const size_t feature = hr__headed(list);
    p = hr__put_head(p, HR__TAG_1, hr__headed(t->key_size) + hr__headed(feature));
    p = hr__put_head(p, HR__TAG_1, t->key_size);
    memcpy(p, t->key, t->key_size);
    p = hr__put_head(p + t->key_size, HR__TAG_2, feature);
    return hr__put_head(p, kind_tag(t->dtype), list);
}

/* The same where a template will not do. */
static char *put_long(const template *t, char *p, size_t size)
{
    return hr__put_head(put_entry(t, p, hr__headed(size)), HR__TAG_1, size);
}

static inline char *put_front(const template *t, char *p, size_t size)
{
    return t->small && t->key_size + 8 + size < 128 ? put_template(t, p, size) : put_long(t, p, size);
}

static inline char *example_rows_put_float(const template *t, char *p, float value)
{
    p = put_front(t, p, 4);
    memcpy(p, &value, 4);
    return p + 4;
}

static inline char *put_int64(const template *t, char *p, uint64_t value)
{
    return hr__put_varint(put_front(t, p, hr__varint_size(value)), value);
}

static inline char *put_string(const template *t, char *p, hr_view value)
{
    p = put_front(t, p, (size_t)value.size);
    if (value.size <= BLOCK) /* what is too much is overwritten by what comes next */
        memcpy(p, value.data, BLOCK);
    else
        memcpy(p, value.data, (size_t)value.size);
    return p + value.size;
}

static inline char *example_rows_put_value(const template *t, const hr_column *c, int64_t row, char *p)
{
    switch (t->dtype) {
    case HR_INT64:
        return put_int64(t, p, ((const uint64_t *)c->values)[row]);
    case HR_INT32:
        return put_int64(t, p, (uint64_t)(int64_t)((const int32_t *)c->values)[row]);
    case HR_BOOL:
        return put_int64(t, p, ((const bool *)c->values)[row]);
    case HR_FLOAT:
        return example_rows_put_float(t, p, ((const float *)c->values)[row]);
    case HR_DOUBLE:
        return example_rows_put_float(t, p, (float)((const double *)c->values)[row]);
    default:
        return put_string(t, p, ((const hr_view *)c->values)[row]);
    }
}

/* ---- lists ---- */

static char *example_rows_put_strings(const template *t, const hr_view *value, int64_t count, char *p)
{
    size_t size = 0;
    for (int64_t i = 0; i < count; i++) size += hr__headed((size_t)value[i].size);
    p = put_entry(t, p, size);
    for (int64_t i = 0; i < count; i++) {
        p = hr__put_head(p, HR__TAG_1, (size_t)value[i].size);
        if (value[i].size > 0) memcpy(p, value[i].data, (size_t)value[i].size);
        p += value[i].size;
    }
    return p;
}

static char *example_rows_put_floats(const template *t, const hr_column *c, int64_t from, int64_t end, char *p)
{
    const size_t size = (size_t)(end - from) * sizeof(float);
    p = hr__put_head(put_entry(t, p, hr__headed(size)), HR__TAG_1, size);
    for (int64_t i = from; i < end; i++, p += sizeof(float)) {
        const bool narrow = t->dtype == HR_FLOAT;
        const float value = narrow ? ((const float *)c->values)[i] : (float)((const double *)c->values)[i];
        memcpy(p, &value, sizeof value);
    }
    return p;
}

static uint64_t whole_number(hr_dtype dtype, const void *values, int64_t i)
{
    if (dtype == HR_BOOL) return ((const bool *)values)[i];
    if (dtype == HR_INT32) return (uint64_t)(int64_t)((const int32_t *)values)[i];
    return ((const uint64_t *)values)[i];
}

static char *put_whole_numbers(const template *t, const hr_column *c, int64_t from, int64_t end, char *p)
{
    size_t size = 0;
    for (int64_t i = from; i < end; i++) size += hr__varint_size(whole_number(t->dtype, c->values, i));
    p = hr__put_head(put_entry(t, p, hr__headed(size)), HR__TAG_1, size);
    for (int64_t i = from; i < end; i++) p = hr__put_varint(p, whole_number(t->dtype, c->values, i));
    return p;
}

static char *example_rows_put_list(const template *t, const hr_column *c, int64_t row, char *p)
{
    const int64_t from = c->splits[0][row], end = c->splits[0][row + 1];
    if (from == end) return p;
    if (t->dtype == HR_STRING) return example_rows_put_strings(t, (const hr_view *)c->values + from, end - from, p);
    if (t->dtype == HR_FLOAT || t->dtype == HR_DOUBLE) return example_rows_put_floats(t, c, from, end, p);
    return put_whole_numbers(t, c, from, end, p);
}

/* ---- rows ---- */

/* The head before the features is as long as their size asks for: mostly three bytes. */
char *hr__write_row(const hr__row_writer *w, const hr_column *column, int64_t row, char *to)
{
    char *begin = to + 3, *p = begin;
    for (int i = 0; i < w->count; i++) {
        const template *t = &w->t[i];
        const hr_column *c = &column[t->column];
        if (c->splits[0])
            p = example_rows_put_list(t, c, row, p);
        else if (!c->present || c->present[row / 64] >> row % 64 & 1)
            p = example_rows_put_value(t, c, row, p);
    }
    const size_t size = (size_t)(p - begin);
    if (hr__varint_size(size) != 2) memmove(to + 1 + hr__varint_size(size), begin, size);
    return hr__put_head(to, HR__TAG_1, size) + size;
}
