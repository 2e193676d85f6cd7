/* What is known of each feature, found by key: entries of any one size, zeroed when they are new, in the order in
 * which keys came. Not a public header. */
#ifndef HR_FEATURE_TABLE_H
#define HR_FEATURE_TABLE_H

#include "base/hash_map.h"

/* Begin with {.size = sizeof(entry)}. */
typedef struct hr__feature_table {
    size_t size;
    hr__map number;
    char **entry; /* each of its own memory: they do not move */
    size_t capacity;
} hr__feature_table;

/* The entry of a key. `guess`: its number, if it is where it was in the record before; -1: none. */
hr_status hr__feature_find(hr__feature_table *table, hr_view key, int64_t guess, void **entry, bool *is_new,
                           hr_error *err);
static inline int64_t hr__features(const hr__feature_table *table) { return table->number.count; }
static inline hr_view hr__feature_key(const hr__feature_table *table, int64_t i)
{
    return hr__map_key(&table->number, (uint32_t)i);
}
void hr__feature_table_free(hr__feature_table *table); /* what entries point to is the caller's */

#endif
