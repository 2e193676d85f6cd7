/* Features by key. */
#include "io/survey/feature_table.h"
#include <string.h>

static bool feature_table_is_key(const hr__feature_table *t, int64_t i, hr_view key)
{
    hr_view k = hr__feature_key(t, i);
    return k.size == key.size && (k.size == 0 || memcmp(k.data, key.data, (size_t)k.size) == 0);
}

static hr_status feature_table_add(hr__feature_table *t, hr_view key, hr_error *err)
{
    const size_t count = t->number.count;
    if (count == t->capacity) {
        const size_t capacity = 2 * t->capacity + 32;
        char **grown = hr_realloc(t->entry, capacity * sizeof *grown);
        if (!grown) return hr_no_memory(err, "what is known of features");
        t->entry = grown;
        t->capacity = capacity;
    }
    char *entry = hr_calloc(1, t->size);
    if (!entry) return hr_no_memory(err, "what is known of features");
    hr_status st = hr__map_add(&t->number, key.data, (size_t)key.size, (int64_t)count, err);
    if (st == HR_OK)
        t->entry[count] = entry;
    else
        hr_free(entry);
    return st;
}

hr_status hr__feature_find(hr__feature_table *t, hr_view key, int64_t guess, void **entry, bool *is_new, hr_error *err)
{
    *is_new = false;
    if (guess >= 0 && guess < hr__features(t) && feature_table_is_key(t, guess, key)) {
        *entry = t->entry[guess];
        return HR_OK;
    }
    const int64_t *number = hr__map_find(&t->number, key.data, (size_t)key.size);
    *is_new = !number;
    if (*is_new) HR_TRY(feature_table_add(t, key, err));
    *entry = t->entry[number ? *number : hr__features(t) - 1];
    return HR_OK;
}

void hr__feature_table_free(hr__feature_table *t)
{
    for (int64_t i = 0; i < hr__features(t); i++) hr_free(t->entry[i]);
    hr_free(t->entry);
    hr__map_free(&t->number);
}
