/* A hash table of rows: 8 bytes a slot, so that a lookup touches one line of memory for a key that is not there. Keys
 * and values stand side by side in the order in which they came. Reading is safe from any thread while nobody writes. */
#include "train/ops/tables/table_store.h"

#include <string.h>

enum { MAX_ROWS = INT32_MAX };

typedef struct hr__table_text {
    struct hr__table_text *next;
    char bytes[];
} hr__table_text;

static bool texts_are_own(const hr__table *t) { return !t->type.fixed; }
static size_t key_size(const hr__table *t) { return t->type.key == HR_STRING ? sizeof(hr_view) : sizeof(int64_t); }

void hr__table_begin(hr__table *t, const hr__table_type *type)
{
    t->type = *type;
    t->width = hr_shape_count(type->row);
    t->value_size = type->value == HR_STRING ? sizeof(hr_view) : hr_dtype_size(type->value);
}

/* ---- strings ---- */

char *hr__table_text_space(hr__table *t, size_t size)
{
    hr__table_text *text = hr_malloc(sizeof *text + size);
    if (!text) return NULL;
    text->next = t->texts;
    t->texts = text;
    return text->bytes;
}

static bool own_text(hr_view *view)
{
    char *copy = view->size ? hr_memdup(view->data, (size_t)view->size) : NULL;
    if (view->size && !copy) return false;
    view->data = copy;
    return true;
}

static void drop_texts(hr_view *views, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (views[i].size) hr_free((void *)views[i].data);
        views[i] = (hr_view){NULL, 0};
    }
}

static char *row_at(const hr__table *t, int64_t row) { return t->values + (size_t)row * hr__table_row_size(t); }

static void drop_row_texts(hr__table *t, int64_t row)
{
    if (!texts_are_own(t)) return;
    if (t->type.key == HR_STRING) drop_texts((hr_view *)t->keys + row, 1);
    if (t->type.value == HR_STRING) drop_texts((hr_view *)(void *)row_at(t, row), t->width);
}

void hr__table_clear(hr__table *t)
{
    for (int64_t i = 0; i < t->count; i++) drop_row_texts(t, i);
    for (hr__table_text *next, *text = t->texts; text; text = next) {
        next = text->next;
        hr_free(text);
    }
    hr_free(t->slots);
    hr_free(t->keys);
    hr_free(t->values);
    const hr__table_type type = t->type;
    *t = (hr__table){.type = {0}};
    hr__table_begin(t, &type);
}

/* ---- keys ---- */

/* Mixes all bits into all (the finalizer of SplitMix64). */
static uint64_t hash_number(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

hr__table_key hr__table_key_of(hr_dtype dtype, const void *keys, int64_t i)
{
    hr__table_key key = {{NULL, 0}, 0, 0};
    if (dtype == HR_STRING) {
        key.text = ((const hr_view *)keys)[i];
        key.hash = hr_fingerprint64(key.text.data, (size_t)key.text.size);
    } else {
        key.number = dtype == HR_INT32 ? ((const int32_t *)keys)[i] : ((const int64_t *)keys)[i];
        key.hash = hash_number((uint64_t)key.number);
    }
    return key;
}

static bool row_is(const hr__table *t, int64_t row, const hr__table_key *key)
{
    if (t->type.key != HR_STRING) return ((const int64_t *)t->keys)[row] == key->number;
    const hr_view at = ((const hr_view *)t->keys)[row];
    return at.size == key->text.size && (at.size == 0 || memcmp(at.data, key->text.data, (size_t)at.size) == 0);
}

static uint64_t hash_of_row(const hr__table *t, int64_t row)
{
    return t->type.key == HR_STRING ? hr__table_key_of(HR_STRING, t->keys, row).hash
                                    : hr__table_key_of(HR_INT64, t->keys, row).hash;
}

/* ---- slots ---- */

static hr__table_slot *slot_of(const hr__table *t, const hr__table_key *key)
{
    const uint32_t tag = (uint32_t)(key->hash >> 32);
    for (uint64_t i = key->hash & t->mask; t->mask; i = (i + 1) & t->mask) {
        hr__table_slot *slot = &t->slots[i];
        if (!slot->row || (slot->tag == tag && row_is(t, slot->row - 1, key))) return slot;
    }
    return NULL;
}

static void enter(hr__table *t, uint64_t hash, int64_t row)
{
    uint64_t i = hash & t->mask;
    while (t->slots[i].row) i = (i + 1) & t->mask;
    t->slots[i] = (hr__table_slot){(uint32_t)(hash >> 32), (uint32_t)row + 1};
}

static hr_status grow_slots(hr__table *t, int64_t rows, hr_error *err)
{
    uint64_t slots = 16;
    while (slots < (uint64_t)rows * 2) slots *= 2;
    if (t->mask && slots <= t->mask + 1) return HR_OK;
    hr__table_slot *grown = hr_calloc((size_t)slots, sizeof *grown);
    if (!grown) return hr_no_memory(err, "a table");
    hr_free(t->slots);
    t->slots = grown;
    t->mask = slots - 1;
    for (int64_t i = 0; i < t->count; i++) enter(t, hash_of_row(t, i), i);
    return HR_OK;
}

hr_status hr__table_reserve(hr__table *t, int64_t rows, hr_error *err)
{
    if (rows > MAX_ROWS)
        return hr_fail(err, HR_RESOURCE_EXHAUSTED, "table.size", "expected a table of at most %d keys, got %lld",
                       MAX_ROWS, (long long)rows);
    if (rows > t->capacity) {
        const int64_t capacity = rows > 2 * t->capacity ? rows : 2 * t->capacity;
        const size_t row = hr__table_row_size(t);
        if (row > 0 && (size_t)capacity > SIZE_MAX / 2 / row) return hr_no_memory(err, "a table");
        void *keys = hr_realloc(t->keys, (size_t)capacity * key_size(t));
        if (keys) t->keys = keys;
        char *values = hr_realloc(t->values, (size_t)capacity * row + 1);
        if (values) t->values = values;
        if (!keys || !values) return hr_no_memory(err, "a table");
        t->capacity = capacity;
    }
    return grow_slots(t, rows, err);
}

int64_t hr__table_find(const hr__table *t, const hr__table_key *key)
{
    const hr__table_slot *slot = slot_of(t, key);
    return slot ? (int64_t)slot->row - 1 : -1;
}

/* ---- changing ---- */

static bool same_values(const hr__table *t, int64_t row, const void *values)
{
    if (t->type.value != HR_STRING) return memcmp(row_at(t, row), values, hr__table_row_size(t)) == 0;
    const hr_view *a = (const hr_view *)(const void *)row_at(t, row), *b = values;
    for (int64_t i = 0; i < t->width; i++)
        if (a[i].size != b[i].size || (a[i].size && memcmp(a[i].data, b[i].data, (size_t)a[i].size) != 0)) return false;
    return true;
}

static hr_status refuse_duplicate(const hr__table *t, const hr__table_key *key, hr_error *err)
{
    if (t->type.key == HR_STRING)
        return hr_fail(err, HR_FAILED_PRECONDITION, "table.duplicate",
                       "HashTable has different value for same key: expected one value for key '%.*s', got another",
                       (int)(key->text.size < 60 ? key->text.size : 60), key->text.size ? key->text.data : "");
    return hr_fail(err, HR_FAILED_PRECONDITION, "table.duplicate",
                   "HashTable has different value for same key: expected one value for key %lld, got another",
                   (long long)key->number);
}

/* Copies of values into a row that has none; on a failure it has none again. */
static hr_status write_values(hr__table *t, int64_t row, const void *values, hr_error *err)
{
    memcpy(row_at(t, row), values, hr__table_row_size(t));
    hr_view *views = (hr_view *)(void *)row_at(t, row);
    for (int64_t i = 0; t->type.value == HR_STRING && texts_are_own(t) && i < t->width; i++) {
        if (own_text(&views[i])) continue;
        drop_texts(views, i);
        return hr_no_memory(err, "a table");
    }
    return HR_OK;
}

static hr_status replace_values(hr__table *t, int64_t row, const void *values, hr_error *err)
{
    const size_t size = hr__table_row_size(t);
    void *old = t->type.value == HR_STRING ? hr_memdup(row_at(t, row), size) : NULL;
    if (t->type.value == HR_STRING && size && !old) return hr_no_memory(err, "a table");
    const hr_status st = write_values(t, row, values, err);
    if (old && st == HR_OK) drop_texts(old, t->width);
    if (old && st != HR_OK) memcpy(row_at(t, row), old, size);
    hr_free(old);
    return st;
}

hr_status hr__table_put(hr__table *t, const hr__table_key *key, const void *values, bool replace, hr_error *err)
{
    const int64_t row = hr__table_find(t, key);
    if (row >= 0 && replace) return replace_values(t, row, values, err);
    if (row >= 0) return same_values(t, row, values) ? HR_OK : refuse_duplicate(t, key, err);
    HR_TRY(hr__table_reserve(t, t->count + 1, err));
    hr_view text = key->text;
    const bool own = t->type.key == HR_STRING && texts_are_own(t);
    if (own && !own_text(&text)) return hr_no_memory(err, "a table");
    const hr_status st = write_values(t, t->count, values, err);
    if (st != HR_OK) {
        if (own) drop_texts(&text, 1);
        return st;
    }
    if (t->type.key == HR_STRING)
        ((hr_view *)t->keys)[t->count] = text;
    else
        ((int64_t *)t->keys)[t->count] = key->number;
    enter(t, key->hash, t->count++);
    return HR_OK;
}

/* Whatever may have been pushed on by the slot comes nearer to its place. */
static void free_slot(hr__table *t, uint64_t hole)
{
    for (uint64_t i = (hole + 1) & t->mask; t->slots[i].row; i = (i + 1) & t->mask) {
        const uint64_t home = hash_of_row(t, t->slots[i].row - 1) & t->mask;
        if (((i - home) & t->mask) < ((i - hole) & t->mask)) continue;
        t->slots[hole] = t->slots[i];
        hole = i;
    }
    t->slots[hole].row = 0;
}

/* The last row takes the place of the one that goes. */
void hr__table_remove(hr__table *t, const hr__table_key *key)
{
    hr__table_slot *slot = slot_of(t, key);
    if (!slot || !slot->row) return;
    const int64_t row = (int64_t)slot->row - 1, last = t->count - 1;
    free_slot(t, (uint64_t)(slot - t->slots));
    drop_row_texts(t, row);
    if (row < last) {
        uint64_t i = hash_of_row(t, last) & t->mask;
        while (t->slots[i].row != (uint32_t)last + 1) i = (i + 1) & t->mask;
        t->slots[i].row = (uint32_t)row + 1;
        memcpy((char *)t->keys + (size_t)row * key_size(t), (char *)t->keys + (size_t)last * key_size(t), key_size(t));
        memcpy(row_at(t, row), row_at(t, last), hr__table_row_size(t));
    }
    t->count--;
}

static bool holds_all(const hr__table *t, const hr__table *other)
{
    if (t->count != other->count) return false;
    for (int64_t i = 0; i < other->count; i++) {
        const hr__table_key key = hr__table_key_of(t->type.key == HR_STRING ? HR_STRING : HR_INT64, other->keys, i);
        const int64_t row = hr__table_find(t, &key);
        if (row < 0 || !same_values(t, row, row_at(other, i))) return false;
    }
    return true;
}

hr_status hr__table_initialize(hr__table *t, hr__table *from, hr_error *err)
{
    if (t->initialized && !holds_all(t, from))
        return hr_fail(err, HR_FAILED_PRECONDITION, "table.initialized",
                       "Table was already initialized with different data: expected its %lld keys, got %lld",
                       (long long)t->count, (long long)from->count);
    if (t->initialized) return HR_OK;
    const hr__table_type type = t->type;
    hr__table_clear(t);
    *t = *from;
    t->initialized = true;
    *from = (hr__table){.type = {0}};
    hr__table_begin(from, &type);
    return HR_OK;
}
