/* What headrace info has seen of each feature, found by its name. */
#ifndef FEATURE_TABLE_H
#define FEATURE_TABLE_H

#include <headrace/base.h>

typedef struct feature_seen {
    hr_view key; /* any bytes; its own copy */
    hr_dtype dtype;
    bool mixed; /* of several types */
    int64_t records, values;
} feature_seen;

/* Begin with {0}. */
typedef struct feature_table {
    feature_seen **feature; /* in the order in which names came */
    int64_t count, capacity;
    int64_t *slot; /* of a hash table: number of a feature + 1; 0: free. A power of 2 of them, at most half are taken */
    int64_t slots;
} feature_table;

/* The feature of that name, made if there is none. `guess`: its number if it stands where it was in the record
 * before. */
hr_status feature_table_find(feature_table *table, hr_view key, int64_t guess, feature_seen **out, hr_error *err);
void feature_table_free(feature_table *table);

#endif
