/* See feature_table.h: open addressing, the next slot is tried where one is taken. */
#include "cli/feature_table.h"
#include <string.h>

static bool feature_table_is(const feature_seen *f, hr_view key)
{
    return f->key.size == key.size && (key.size == 0 || memcmp(f->key.data, key.data, (size_t)key.size) == 0);
}

/* The slot of the key, or the free one where it belongs. */
static int64_t *feature_table_slot(const feature_table *t, hr_view key)
{
    const uint64_t mask = (uint64_t)t->slots - 1;
    uint64_t at = hr_fingerprint64(key.data, (size_t)key.size) & mask;
    while (t->slot[at] && !feature_table_is(t->feature[t->slot[at] - 1], key)) at = (at + 1) & mask;
    return &t->slot[at];
}

static hr_status feature_table_grow(feature_table *t, hr_error *err)
{
    const int64_t capacity = t->capacity ? 2 * t->capacity : 64;
    feature_seen **feature = hr_realloc(t->feature, (size_t)capacity * sizeof *feature);
    if (feature) t->feature = feature;
    int64_t *slot = hr_calloc((size_t)capacity * 2, sizeof *slot);
    if (!feature || !slot) {
        hr_free(slot);
        return hr_no_memory(err, "what is known of features");
    }
    hr_free(t->slot);
    t->slot = slot;
    t->slots = 2 * capacity;
    t->capacity = capacity;
    for (int64_t i = 0; i < t->count; i++) *feature_table_slot(t, feature[i]->key) = i + 1;
    return HR_OK;
}

hr_status feature_table_find(feature_table *t, hr_view key, int64_t guess, feature_seen **out, hr_error *err)
{
    if (guess < t->count && feature_table_is(t->feature[guess], key)) {
        *out = t->feature[guess];
        return HR_OK;
    }
    if (t->count == t->capacity) HR_TRY(feature_table_grow(t, err));
    int64_t *slot = feature_table_slot(t, key);
    if (!*slot) {
        feature_seen *f = hr_calloc(1, sizeof *f + (size_t)key.size);
        if (!f) return hr_no_memory(err, "what is known of features");
        f->key = (hr_view){(char *)(f + 1), key.size};
        if (key.size) memcpy(f + 1, key.data, (size_t)key.size);
        t->feature[t->count++] = f;
        *slot = t->count;
    }
    *out = t->feature[*slot - 1];
    return HR_OK;
}

void feature_table_free(feature_table *t)
{
    for (int64_t i = 0; i < t->count; i++) hr_free(t->feature[i]);
    hr_free(t->feature);
    hr_free(t->slot);
    *t = (feature_table){0};
}
